# SPDX-License-Identifier: MIT
"""Plays the kernel for the capturer: a pipe with the head of a core, a process that waits. Nothing here needs core_pattern."""
import glob, os, random, re, struct, subprocess, sys
sys.path.insert(0, os.path.dirname(__file__))
from capturing import *

if os.geteuid():
    skip("not root")
os.chdir(TMP)
store = Store()
HAS_LOG = os.path.exists("/dev/log")


def maps_of(pid):
    for line in open(f"/proc/{pid}/maps"):
        m = re.match(r"(\w+)-(\w+) (....) (\w+) \S+ (\d+)", line)
        start, end = int(m[1], 16), int(m[2], 16)
        yield start, end - start, (4 if m[3][0] == "r" else 0) | (2 if m[3][1] == "w" else 0) | (1 if m[3][2] == "x" else 0)


def note(kind, desc, name=b"CORE\0"):
    pad = lambda b: b + b"\0" * (-len(b) % 4)
    return struct.pack("<III", len(name), len(desc), kind) + pad(name) + pad(desc)


def head_of(pid, sp=None):
    """What the kernel would write first of that process: header, program headers, notes."""
    loads = list(maps_of(pid))
    sp = sp or int(open(f"/proc/{pid}/syscall").read().split()[-2], 16)
    status = bytearray(336)
    struct.pack_into("<i", status, 12, 11)
    struct.pack_into("<i", status, 32, pid)
    struct.pack_into("<Q", status, 112 + 19 * 8, sp)
    notes = note(1, bytes(status)) + note(0x53494749, struct.pack("<iii4xQ", 11, 0, 1, 0x1234) + bytes(104)) + note(6, open(f"/proc/{pid}/auxv", "rb").read())
    offset = 64 + 56 * (len(loads) + 1)
    out = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, len(loads) + 1, 0, 0, 0)
    out += struct.pack("<IIQQQQQQ", 4, 0, offset, 0, 0, len(notes), 0, 4)
    for start, size, flags in loads:
        # readable and private or not: the test's programs hide nothing
        out += struct.pack("<IIQQQQQQ", 1, flags, offset + len(notes), start, 0, size if flags & 2 else 0, size, 4096)
    return out + notes


def reads_more(p):
    """Waits until the capturer wants more than it got, or ends."""
    while p.poll() is None:
        try:
            if "pipe_read" in open(f"/proc/{p.pid}/wchan").read():
                return
        except OSError:
            pass
        time.sleep(0.001)


def feed(head, pid, pidfd=None, ends=False, stops=False, prefix=()):
    """
    Runs the capturer with that head; its exit status and the line in the kernel's log. The kernel's end is closed before it starts (ends), when it
    wants more than there is (stops), or when it has ended.
    """
    kmsg = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    os.lseek(kmsg, 0, os.SEEK_END)
    r, w = os.pipe()
    args = [str(pid), str(pid), "11", "1", "1", "0", "0", "0"] + (["3"] if pidfd is not None else [])
    preexec = None
    if pidfd is not None:
        os.set_inheritable(pidfd, True)
        preexec = lambda: os.dup2(pidfd, 3)
    if ends:
        os.close(w)
    p = subprocess.Popen([*prefix, store.program, "config=" + store.config, "pipe", *args], stdin=r, preexec_fn=preexec, close_fds=pidfd is None)
    os.close(r)
    try:
        if not ends:
            os.write(w, head)
        if stops:
            reads_more(p)
            os.close(w)
            ends = True
    except BrokenPipeError:
        pass
    status = p.wait(timeout=100)
    if not ends:
        os.close(w)
    text = b""
    try:
        while True:
            text += os.read(kmsg, 8192)
    except (BlockingIOError, BrokenPipeError):
        pass
    os.close(kmsg)
    lines = [l for l in text.decode(errors="replace").splitlines() if f"fathom-crash-capture[{p.pid}]" in l]
    return status, lines


def refused(what, result, words):
    status, lines = result
    check(status == 1 and not store.ids() and not glob.glob(store.dir + "/.2*"), f"{what}: refused", f"{status} {os.listdir(store.dir)}")
    check(HAS_LOG or (len(lines) == 1 and words in lines[0]), f"{what}: a line in the log", lines)


subprocess.run(["mkfifo", "fifo"], check=True)
fifo = os.open("fifo", os.O_RDWR)
victim = subprocess.Popen(["sleep", "1000"], stderr=fifo)
other = subprocess.Popen(["sleep", "1000"])
try:
    pid = victim.pid
    while "/sleep" not in os.readlink(f"/proc/{pid}/exe") or len(open(f"/proc/{pid}/syscall").read().split()) < 9:
        time.sleep(0.01)
    store.configure(captures=16, window_s=1)
    head = head_of(pid)

    # as it should be
    status, _ = feed(head, pid)
    c = store.wait(pid, 0)
    check(status == 0 and c, "a capture", os.listdir(store.dir))
    if c:
        core = Core(c.path("core"))
        sp = core.stack_pointers()[0]
        with open(f"/proc/{pid}/mem", "rb", 0) as mem:
            check(core.memory(sp, 256) == os.pread(mem.fileno(), 256, sp), "the stack")
        check(c.number("si_addr") == 0x1234 and c.keys["way"] == "pipe" and not os.path.exists(c.path("log")), "no log is read from a FIFO", c.text)
        shutil.rmtree(c.folder)

    # kernels before 6.7 tell each page, later ones which are there: the same pages are copied
    store.configure(captures=16, window_s=1, keep_core="heap")
    memory = []
    for prefix in ([], ["strace", "-f", "-o", "trace", "-e", "trace=ioctl", "-e", "inject=ioctl:error=ENOTTY"] if shutil.which("strace") else []):
        status, _ = feed(head, pid, prefix=prefix)
        c = store.wait(pid, 0)
        check(status == 0 and c and c.keys["kept"] == "heap" and "cut" not in c.keys, f"the heap {prefix}", c and c.text)
        core = Core(c.path("core"))
        memory.append([(va, fsz, core.memory(va, fsz)) for va, _, _, fsz, _ in core.loads if fsz])
        shutil.rmtree(c.folder)
    check(memory[0] == memory[1] and len(memory[0]) > 5, "pages that are present", [[m[:2] for m in x] for x in memory])
    if not shutil.which("strace"):
        print("skip: strace is not installed")
    store.configure(captures=16, window_s=1)

    # CVE-2025-4598, 2025-5054, 2019-15790, 2020-15702: another process with that pid
    refused("a core that has ended", feed(head, pid, ends=True), "did not wait")
    fd = os.pidfd_open(other.pid)
    refused("the pidfd of another process", feed(head, pid, pidfd=fd), f"{other.pid}")
    os.close(fd)
    if os.path.exists("/proc/sys/kernel/core_modes"):
        fd = os.pidfd_open(pid)
        refused("a process that the kernel does not dump", feed(head, pid, pidfd=fd), "not the one")
        os.close(fd)
    gone = subprocess.Popen(["true"])
    gone.wait()
    refused("a pid of nobody", feed(head, gone.pid), "/proc/")

    # CVE-2015-3315, 2015-5287, 2020-8831: stores that others could have made
    os.chmod(store.dir, 0o755)
    refused("a store that others can open", feed(head, pid), "0700")
    os.chmod(store.dir, 0o700)
    os.chown(store.dir, 65534, 65534)
    refused("a store of another user", feed(head, pid), "0700")
    os.chown(store.dir, 0, 0)
    os.symlink(store.dir, "link")
    store.configure(store=TMP + "/link")
    refused("a store behind a symbolic link", feed(head, pid), "link")
    store.configure(store=TMP + "/none")
    refused("no store", feed(head, pid), "none")
    store.configure(captures=16, window_s=1)
    os.unlink(store.dir + "/lock")
    os.symlink("/etc/passwd", store.dir + "/lock")
    refused("a lock behind a symbolic link", feed(head, pid), "lock")
    os.unlink(store.dir + "/lock")
    if not os.path.exists("/var/lib/fathom/crash"):
        os.chmod(store.config, 0o666)
        status, lines = feed(head, pid)
        check(status == 1 and not store.ids() and (HAS_LOG or "only root can write" in lines[0]), "a configuration that others can write", lines)
        os.chmod(store.config, 0o600)

    # a disk that is full
    os.mkdir("small")
    store.configure(store=TMP + "/small")
    mount = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=2m,mode=700 none {TMP}/small && exec \"$@\"", "-"]
    refused("a disk that is full", feed(head, pid, prefix=mount), "nearly full")
    store.configure(captures=16, window_s=1)

    # a former program that does not read, and one that is not there, hold nothing
    store.configure(captures=16, window_s=1, chain="/bin/true %P")
    status, _ = feed(head, pid)
    check(status == 0 and store.wait(pid, 0), "a former program that reads nothing")
    store.configure(captures=16, window_s=1, chain="/nonexistent " + "%E" * 400)
    status, _ = feed(head, pid)
    check(status == 0, "a former program that is not there")
    store.configure(captures=16, window_s=1)

    # heads that are damaged: a capture or none, in bounded time, and no signal
    rnd, whole = random.Random(28), 0
    store.configure(captures=16, window_s=1, keep_core="heap", max_wait_ms=200)
    for i in range(60):
        bad = bytearray(head)
        for _ in range(rnd.choice((1, 3, 30))):
            at = rnd.randrange(rnd.choice((64, 64 + 56 * 3, len(bad))))
            bad[at:at + 1] = struct.pack("<Q", rnd.choice((0, 1, 2**64 - 1, 2**63, 4096, rnd.getrandbits(64))))[:rnd.choice((1, 2, 4, 8))]
        if i % 4 == 0:
            bad = bad[:rnd.randrange(len(bad))]
        shutil.rmtree(f"{store.dir}/counts", ignore_errors=True)  # sixteen a second are captured
        status, lines = feed(bytes(bad), pid, stops=True)
        check(status in (0, 1), f"damaged head {i}", f"{status} {lines}")
        for name in store.ids():
            file = f"{store.dir}/{name}/core"
            if bad[4] == 2 and os.path.exists(file):
                core = Core(file)
                check(all(off + fsz <= len(core.data) for _, _, off, fsz, _ in core.loads), f"damaged head {i}: the core", core.loads)
                whole += 1
            shutil.rmtree(f"{store.dir}/{name}")
    check(whole > 5, "no damaged head gave a core", whole)
    check(not glob.glob(store.dir + "/.2*"), "entries that are not finished", os.listdir(store.dir))
finally:
    for p in (victim, other):
        p.kill()
        p.wait()
done()
