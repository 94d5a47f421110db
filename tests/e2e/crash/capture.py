# SPDX-License-Identifier: MIT
"""The capturer under this kernel's core_pattern. The former program of the chain is one that keeps the kernel's own core of the same
crash, so that each byte that was copied is compared with it."""
import fcntl, json, os, re, resource, signal, socket, struct, subprocess, sys, threading
sys.path.insert(0, os.path.dirname(__file__))
from capturing import *

MDB = os.path.join(BUILD, "src/cmd/mdb/mdb")
if not can_write_pattern():
    skip("core_pattern cannot be written here")
os.chdir(TMP)
os.chmod(TMP, 0o755)
subprocess.run(["cc", "-g", "-O0", "-pthread", "-o", "dies", SRC + "/tests/e2e/crash/dies.c"], check=True)
DIES = os.path.join(TMP, "dies")
with open("save", "w") as f:
    # What others of root's lose meanwhile gets to where the kernel would have put it.
    f.write(f"""#!/bin/sh
case $6 in
*!dies | *!loops) ;;
*) [ "$2" != 0 ] || exec cat > /proc/$1/cwd/core; exit ;;
esac
cat > {TMP}/kernel.$1.part
echo "$@" > {TMP}/args.$1
mv {TMP}/kernel.$1.part {TMP}/kernel.$1
""")
os.chmod("save", 0o755)
store = Store()
# whether the kernel knows %F: what is captured says it, too
status = subprocess.run([f"{BUILD}/src/cmd/crash/fathom-crash", "-o", "json", "status"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
has_pidfd = json.loads(status)["rows"][0]["way"] != "pipe"


def wait_for(path, seconds=60):
    end = time.monotonic() + seconds
    while not os.path.exists(path) and time.monotonic() < end:
        time.sleep(0.01)
    return os.path.exists(path)


def captured(how, *args, want=None, **kwargs):
    """Lets the program crash, and checks what holds for every capture; returns the capture and the kernel's core."""
    pid, sig = die(DIES, how, *args, **kwargs)
    check(sig == (want or signal.SIGSEGV), f"{how}: the signal that the parent sees", sig)
    c = store.wait(pid)
    if not c or not wait_for(f"kernel.{pid}"):
        check(False, f"{how}: no capture", os.listdir(store.dir))
        return None, None
    ours, kernels = Core(c.path("core")), Core(f"kernel.{pid}")
    difference = cores_differ(ours, kernels)
    check(not difference, f"{how}: the core beside the kernel's", difference)
    check(c.number("signal") == sig and c.number("pid") == pid and c.keys["exe"] == DIES, f"{how}: what is told", c.text)
    check(c.keys["way"] == ("socket" if open(PATTERN).read()[0] == "@" else "pidfd" if has_pidfd else "pipe"), f"{how}: the way", c.text)
    check("cut" not in c.keys and c.number("holes") == 0, f"{how}: nothing is cut", c.text)
    sps = ours.stack_pointers()
    check(c.number("threads") == len(sps) == c.number("threads_copied"), f"{how}: threads", c.text)
    for sp in sps[:1] + sps[-1:]:
        check(ours.memory(sp, 64) is not None, f"{how}: the stack at {sp:#x}")
    check(not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", c.read("capture")), f"{how}: control characters", c.text)
    for folder, dirs, files in os.walk(c.folder):
        for n in dirs + files:
            st = os.lstat(os.path.join(folder, n))
            check(st.st_uid == 0 and not st.st_mode & 0o077, f"{how}: who can read {n}", oct(st.st_mode))
    return c, kernels


def gdb_stack(core):
    text = subprocess.run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "bt", "-ex", "p list->next->next->name", DIES, core],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300).stdout
    return [l for l in text.splitlines() if re.match(r"#\d|\$1", l)]  # the first frame twice


def mdb_stack(core):
    r = subprocess.run([MDB, "-o", "json", "-e", "::stack", core], capture_output=True, text=True, timeout=120)
    return re.findall(r"dies`(\w+)", r.stdout)


def test_signals():
    for how, sig in (("abrt", signal.SIGABRT), ("fpe", signal.SIGFPE), ("ill", signal.SIGILL), ("bus", signal.SIGBUS), ("quit", signal.SIGQUIT)):
        c, _ = captured(how, want=sig)
        if c and how == "bus":
            check(c.number("si_code") == 2 and "si_addr" in c.keys, "bus: BUS_ADRERR", c.text)
        if c and how == "quit":
            check("si_addr" not in c.keys, "quit: a signal that was sent has no address", c.text)


def test_stack():
    with open("stderr.txt", "w") as log:
        c, kernels = captured("log", stderr=log)
    if not c:
        return
    check(c.number("si_addr") == 0x1234 and c.number("si_code") == 1, "segv: the address", c.text)
    check(c.read("log") == open("stderr.txt", "rb").read()[-65536:], "the log's end")
    check(c.read("proc/cmdline") == f"{DIES}\0log\0".encode(), "cmdline")
    check(b"\tdies\t" in c.read("proc/task") and c.keys["cwd"] == TMP, "task, cwd", c.text)
    check(f"2\t{TMP}/stderr.txt\t{os.path.getsize('stderr.txt')}\t".encode() in c.read("proc/fd"), "fd", c.read("proc/fd"))
    check(set(os.listdir(c.path("proc"))) == {"status", "cmdline", "environ", "maps", "limits", "cgroup", "io", "auxv", "mountinfo", "stat",
                                               "oom_score", "smaps_rollup", "uid_map", "fd", "task"}, "files of /proc", os.listdir(c.path("proc")))
    note = subprocess.run(["readelf", "-n", DIES], capture_output=True, text=True).stdout
    check(c.keys.get("exe_build_id") == re.search(r"Build ID: (\w+)", note).group(1), "build id", c.text)
    names = [n for n in mdb_stack(c.path("core"))]
    check(names[:6] == ["die", "fail", "fail", "fail", "fail", "main"], "mdb's stack", names)
    if shutil.which("gdb"):
        ours, theirs = gdb_stack(c.path("core")), gdb_stack(kernels.path)
        check(ours == theirs and len(ours) == 8 and "node 3" in ours[-1], "gdb's stack", f"{ours}\n{theirs}")
    args = open(f"args.{c.keys['pid']}").read().split()
    check(args == [c.keys["pid"], "0", "11", "%", "dies", DIES.replace("/", "!"), "3" if has_pidfd else "-"], "arguments of the former program", args)


def test_threads():
    c, _ = captured("thread")
    check(c and c.number("tid") != c.number("pid"), "thread: the crashed one", c and c.text)
    c, _ = captured("many")
    check(c and c.number("threads") == 501, "500 threads", c and c.text)
    c, _ = captured("leader")
    check(c and c.read("proc/maps") and c.read("proc/cmdline"), "the first thread has ended: its files are read by another")
    c, _ = captured("altstack", want=signal.SIGABRT)
    if c:
        names = mdb_stack(c.path("core"))
        check(names[:1] == ["on_signal"] and names[-2:-1] == ["main"] and names.count("fail") == 4, "a handler on another stack", names)


def test_heap():
    store.configure(keep_core="heap", chain=CHAIN)
    c, kernels = captured("segv", "24")
    store.configure(chain=CHAIN)
    if not c:
        return
    ours = Core(c.path("core"))
    for va, msz, off, fsz, flags in kernels.loads:
        if not flags & 2:
            continue
        for at in range(0, fsz, 4096):
            page = kernels.data[off + at:off + at + 4096]
            if page.strip(b"\0") and ours.memory(va + at, 4096) != page:
                check(False, f"heap: the page at {va + at:#x} is not in the core")
                return
    check(c.keys["kept"] == "heap" and 12 << 20 < c.number("bytes_copied") < 16 << 20, "heap: pages that were touched", c.text)
    check(os.stat(c.path("core")).st_blocks * 512 < 16 << 20, "heap: pages that were not are holes")
    store.configure(keep_core="heap", max_bytes=1 << 20, chain=CHAIN)
    pid, _ = die(DIES, "segv", "24")
    c = store.wait(pid)
    check(c and c.keys["kept"] == "stacks" and c.keys["keep"] == "heap" and "1048576" in c.keys.get("cut", "") and
          c.number("bytes_copied") < 1 << 20 and mdb_stack(c.path("core"))[:2] == ["die", "fail"], "heap: more than may be copied", c and c.text)
    store.configure(chain=CHAIN)


def test_places():
    os.mkdir("gone")
    c, _ = captured("cwd", cwd="gone")
    check(c and c.keys["cwd"].endswith("/gone (deleted)"), "cwd that is gone", c and c.text)
    captured("closed")
    os.mkdir("empty", 0o777)
    os.symlink("/etc/passwd", "empty/core")
    captured("segv", cwd="empty")
    check(os.listdir("empty") == ["core"], "nothing is written where the process was", os.listdir("empty"))


def test_name(pattern):
    c, _ = captured("name")
    check(c and c.keys["comm"] == "\\x1b[31m\\x0aUid:\\x090\\x5c" and b"\t\\x1b[31m\\x0aUid:\\x090\\x5c\t" in c.read("proc/task"), "a name of escapes",
          c and c.text)
    # The kernel's ids, not a line that the process writes; without a pidfd they are read in a file that has its name.
    pattern.write(store.pattern("%P %I %s %t %d %c %u %g"))
    pid, sig = die(DIES, "name", user=65534, group=65534)
    c = store.wait(pid)
    check(c and c.keys["way"] == "pipe" and all(c.keys[k] == "65534" for k in ("uid", "gid", "euid", "egid")), "ids beside a name like a line",
          c.text if c else (pid, sig, store.counts(), store.ids()))
    pattern.write(store.pattern())


def test_rights(pattern):
    pid, _ = die(DIES, "nodump")
    file = "/proc/sys/fs/suid_dumpable"
    old = open(file).read()
    try:
        open(file, "w").write("2")
        changed, _ = die(DIES, "ids")
    finally:
        open(file, "w").write(old)
    c = store.wait(changed)
    check(c and c.keys["dumpable"] == "2" and c.keys["uid"] == c.keys["euid"] == "65534" and os.stat(c.path("core")).st_uid == 0,
          "a process that has changed its ids: root's", c and c.text)
    check(not store.ids(pid), "a process that must not be dumped")
    if subprocess.run(["unshare", "-Urpf", "true"], capture_output=True).returncode:
        print("skip: no user namespaces")
        return
    r = subprocess.run(["unshare", "-Urpf", "--kill-child", DIES, "segv"], capture_output=True)
    found = [c for c in map(lambda i: Capture(os.path.join(store.dir, i)), store.ids()) if c.keys.get("ns_pid") == "1"]
    end = time.monotonic() + 60
    while not found and time.monotonic() < end:
        time.sleep(0.01)
        found = [c for c in map(lambda i: Capture(os.path.join(store.dir, i)), store.ids()) if c.keys.get("ns_pid") == "1"]
    check(found and found[0].number("pid") != 1 and Core(found[0].path("core")).stack_pointers(), "in namespaces of users and pids", r)


def test_socket(pattern):
    """The kernel connects to our socket: no arguments, and who it is by the socket's pidfd."""
    if "socket" not in (open("/proc/sys/kernel/core_modes").read() if os.path.exists("/proc/sys/kernel/core_modes") else ""):
        print("skip: core_pattern knows no sockets")
        return
    path = TMP + "/sock"
    server = subprocess.Popen([store.program, "config=" + store.config, "socket", path])
    try:
        check(wait_for(path), "the socket")
        pattern.write("@@" + path)
        c, _ = captured("thread")
        check(c and c.number("tid") != c.number("pid") and c.number("si_addr") == 0x1234 and c.keys["uid"] == "0" and c.keys["dumpable"] == "1" and
              c.keys["core_limit"] == str(resource.getrlimit(resource.RLIMIT_CORE)[0] % 2**64), "by the socket", c and c.text)
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(60)
            s.connect(path)
            s.sendall(struct.pack("<IIQ", 16, 16, 15))
            try:
                said = s.recv(16)
            except ConnectionResetError:
                said = b""
            check(said == b"" and not store.ids(os.getpid()), "one that connects and is not being dumped", said)
    finally:
        pattern.write(store.pattern())
        server.kill()
        server.wait()


def test_loop():
    """Of eight crashes at once two are captured, the others counted; the former program gets all."""
    store.configure(captures=2, window_s=600, chain=CHAIN)
    shutil.copy(DIES, "loops")
    program = os.path.join(TMP, "loops")
    pids, threads = [], []
    for _ in range(8):
        t = threading.Thread(target=lambda: pids.append(die(program, "segv")[0]))
        t.start()
        threads.append(t)
    for t in threads:
        t.join()
    for pid in pids:
        check(wait_for(f"kernel.{pid}"), "a crash that is only counted: the former program gets its core")
        check(not store.wait(pid, 0) or not cores_differ(Core(store.wait(pid).path("core")), Core(f"kernel.{pid}")), "two at once")
    end = time.monotonic() + 60
    while time.monotonic() < end and not [c for c in store.counts() if c["exe"] == program and c["last_id"] and c["counted_ever"] >= 6]:
        time.sleep(0.01)
    count = [c for c in store.counts() if c["exe"] == program]
    check(len(count) == 1 and len(count[0]["times"]) == 2 and count[0]["counted_ever"] == 6 and count[0]["signal"] == 11, "crash loop", count)
    while time.monotonic() < end and sum(len(store.ids(pid)) for pid in pids) < 2:  # they are written while others are counted already
        time.sleep(0.01)
    check(sum(len(store.ids(pid)) for pid in pids) == 2, "captures of a loop", store.ids())
    store.configure(chain=CHAIN)


def test_lock():
    """A crash that waits for the lock of its count, while another one is captured, is only counted: its time is not that of its begin."""
    program = shutil.copy(DIES, os.path.join(TMP, "waits"))
    store.configure(captures=1, window_s=600)
    store.wait(die(program, "segv")[0])
    for name in os.listdir(store.dir + "/counts"):
        f = open(f"{store.dir}/counts/{name}", "r+b")
        if b"/waits\0" in f.read():
            break
    fcntl.flock(f, fcntl.LOCK_EX)
    pids = []
    t = threading.Thread(target=lambda: pids.append(die(program, "segv")[0]))
    t.start()
    end = time.monotonic() + 60
    while time.monotonic() < end and not re.search(rf"-> FLOCK .*:{os.fstat(f.fileno()).st_ino} ", open("/proc/locks").read()):
        time.sleep(0.01)
    os.pwrite(f.fileno(), struct.pack("<16Q", time.time_ns(), *[0] * 15), 8)
    f.close()
    t.join()
    end = time.monotonic() + 60
    while time.monotonic() < end and not (count := [c for c in store.counts() if c["exe"] == program and c["pid"] == pids[0]]):
        time.sleep(0.01)
    check(count and count[0]["counted"] == 1 and not store.ids(pids[0]), "a crash that waits for the lock", (count, store.ids(pids[0])))
    store.configure(chain=CHAIN)


def test_analyser():
    """The analyser has the lock of the entry from its first instruction on; nobody else could get it in between."""
    if subprocess.run(["cc", "-O2", "-static", "-o", "analyser", SRC + "/tests/e2e/crash/analyser.c"], capture_output=True).returncode:
        print("skip: no static programs can be made here")
        return
    program = shutil.copy(DIES, os.path.join(TMP, "seen"))
    store.configure(analyser=f"{TMP}/analyser")
    said = []
    for _ in range(16):
        c = store.wait(die(program, "segv")[0])
        told = f"{store.config}.{c.name if c else 'none'}"
        said.append(c and wait_for(told) and open(told).read())
    check(said == ["ours"] * 16, "the analyser's lock of the entry", said)
    store.configure(chain=CHAIN)


def test_apport():
    """The pattern of Ubuntu's handler: specifiers within words."""
    words = "-p%p -s%s -c%c -d%d -P%P -u%u -g%g -F%F -- %E" if has_pidfd else "-p%p -s%s -c%c -d%d -P%P -u%u -g%g -- %E"
    store.configure(chain=f"{TMP}/save %P 1 - - - %E {words}")  # save looks at the first and the sixth
    c, _ = captured("abrt", want=signal.SIGABRT, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (4096, 8192)))
    if c:
        pid = c.keys["pid"]
        want = [pid, "1", "-", "-", "-", DIES.replace("/", "!"), f"-p{pid}", "-s6", "-c4096", "-d1", f"-P{pid}", "-u0", "-g0", *(["-F3"] if has_pidfd else []), "--", DIES.replace("/", "!")]
        args = open(f"args.{pid}").read().split()
        check(args == want, "arguments of apport", args)
    store.configure(chain=CHAIN)


CHAIN = f"{TMP}/save %P %u %s %% %e %E {'%F' if has_pidfd else '-'}"
configure = store.configure
store.configure = lambda **keys: configure(**{"captures": 16, "window_s": 1, **keys})
store.configure(chain=CHAIN)
with Pattern(store.pattern()) as pattern:
    for test in (test_stack, test_signals, test_threads, test_heap, test_places, test_apport, lambda: test_name(pattern), lambda: test_rights(pattern),
                 lambda: test_socket(pattern), test_loop, test_lock, test_analyser):
        # On a fast machine all tests together have more crashes of one program in a second than are captured.
        for name in os.listdir(store.dir + "/counts") if os.path.isdir(store.dir + "/counts") else []:
            os.unlink(f"{store.dir}/counts/{name}")
        test()
left = [n for n in os.listdir(store.dir) if n.startswith(".")]
check(not left, "entries that are not finished", left)
done()
