# SPDX-License-Identifier: MIT
"""
Each way of memprof works with the levels that its page names, on alice's processes and no others, and says which level is missing where one
is. A service that was given capabilities has all of them and no quotas, also where the file has capabilities. A picture is no file of /proc.
"""
import re, signal, time
from world import *

enter()
MEMPROF = f"{HOME}/memprof"
shutil.copy(f"{BUILD}/src/cmd/memprof/memprof", MEMPROF)
os.chmod(MEMPROF, 0o755)
RUBY, NODE = "/usr/bin/ruby3.1", shutil.which("node")
PY_TEXT = """
import time
class Session:
    def __init__(self): self.data = bytearray(40000)
keep = []
while True:
    keep.append(Session())
    if len(keep) > 1000: keep.clear()
    time.sleep(0.002)
"""
RB_TEXT = "$k = []; loop { 100.times { $k << \"a#{1}\" }; $k.clear if $k.size > 100000; sleep 0.002 }"
JS_TEXT = "let k = []; function make() { for (let i = 0; i < 10000; i++) k.push({a: i}); if (k.length > 300000) k = []; } setInterval(make, 5);"


def give_capabilities(text):
    r = subprocess.run(["setcap", *(["-r"] if not text else [text]), MEMPROF], capture_output=True, text=True)
    if r.returncode:
        skip(f"setcap {text}: {r.stderr.strip()}")


def start(*argv):
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENV, **user(ALICE))


def memprof(*args, who=ALICE, **kwargs):
    return run(who, [MEMPROF, *args], **kwargs)


def given(words):
    levels(f"user {ALICE}: {words}\n" if words else "")


def shows(pattern, what, *args):
    """A server may be slow to make what is looked for: it is looked at again."""
    for _ in range(4):
        r = memprof(*args)
        if r.returncode or re.search(pattern, r.stdout, re.M):
            break
    check(r.returncode == 0 and re.search(pattern, r.stdout, re.M) and " needs " not in r.stderr, what, r)


def sizes(pid):
    """Room of the largest hash table that a process holds, that of its aggregation."""
    most = 0
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}") as f:
                text = f.read()
        except OSError:
            continue
        if re.search(r"^map_type:\s*1$", text, re.M):
            most = max(most, int(re.search(r"^max_entries:\s*(\d+)$", text, re.M)[1]))
    return most


def begin(*argv, **kwargs):
    """A session that traces until it gets SIGINT."""
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV, **kwargs)


def end(p):
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=SECONDS)
    return p.returncode, out, err


def room(*argv, **kwargs):
    """The size of the aggregations of a session, once it traces: its first report is there."""
    p = begin(*argv, "-i", "1", **kwargs)
    p.stdout.readline()
    most = sizes(p.pid)
    r = end(p)
    check(r[0] == 0 and most, f"{argv} is traced", (r, most))
    return most


def services(bob, alices):
    """With the capabilities that the package gives the file, and without any, a service has what it was given, and is no user with quotas."""
    most = room(MEMPROF, "-p", bob)
    with open(f"{SRC}/debian/fathom.postinst") as f:
        package = re.search(r"^\s*capabilities='([^']+)'$", f.read(), re.M)[1]
    caps = ",".join("+" + c for c in ("bpf", "perfmon", "sys_ptrace", "dac_read_search", "checkpoint_restore"))
    service = ["setpriv", f"--reuid={CAROL}", f"--regid={CAROL}", "--clear-groups", f"--inh-caps={caps}", f"--ambient-caps={caps}", MEMPROF]
    for file in "", package:
        give_capabilities(file)
        for args in ["alive", "-n", "1"], ["leaks"], ["malloc", "-d", "1", "-n", "1"], ["-d", "1", "-n", "1"], ["objects", "-x", "maxrate=1000000", "-d", "1"]:
            r = subprocess.run([*service, *args, "-p", bob], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=ENV, timeout=SECONDS)
            check(r.returncode == 0 and r.stdout and " needs " not in r.stderr, f"{args} of a service, {file}", r)
        mine = room(*service, "-p", bob)
        check(mine == most, f"a service's aggregations have the room of root's, {file}", (mine, most))
    mine = room(MEMPROF, "-p", alices, **user(ALICE))
    check(mine < most, "alice's have less, because her sessions share a quota", (mine, most))


def caught(pid):
    """Whether a process has a handler for SIGUSR1, which would end it otherwise."""
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"^SigCgt:\s*(\w+)$", f.read(), re.M)[1], 16) >> (signal.SIGUSR1 - 1) & 1


def pictures(pid):
    """A picture is written to what the name means at the beginning and at the end, unless that is a file of /proc."""
    path = f"{home(ALICE)}/out.svg"
    r = memprof("malloc", "-d", "1", "--flame", "/proc/thread-self/comm", "-p", pid)
    check(r.returncode == 1 and re.match(r"memprof: '/proc/thread-self/comm' is a file of /proc, .*\nhint: ", r.stderr) and not r.stdout, "a picture in /proc", r)
    with open(path, "w") as f:
        f.write("x" * 4000000)
    os.chown(path, ALICE, ALICE)
    r = memprof("malloc", "-d", "1", "--flame", path, "-p", pid)
    text = open(path).read()
    check(r.returncode == 0 and text.startswith("<?xml") and text.rstrip().endswith("</svg>"), "a picture in place of another file", (r, text[-200:]))
    r = memprof("malloc", "-d", "1", "--flame", "/dev/null", "-p", pid)
    check(r.returncode == 0, "a picture in a device", r)
    p = begin(MEMPROF, "malloc", "--flame", path, "-p", pid, **user(ALICE))
    while p.poll() is None and not caught(p.pid):
        time.sleep(0.01)
    p.send_signal(signal.SIGUSR1)
    for line in p.stderr:  # once it traces; the file has been looked at before
        if "the picture is made at the end" in line:
            break
    names = [n for n in os.listdir(f"/proc/{p.pid}/task") if re.fullmatch(r"q\d+m\d+p\n", open(f"/proc/{p.pid}/task/{n}/comm").read())]
    check(len(names) == 1, "the thread whose name is what the session has taken", names)
    os.unlink(path)
    os.symlink(f"/proc/self/task/{names[0]}/comm", path)
    r = end(p)
    check(r[0] == 1 and "is a file of /proc" in r[2], "a picture whose name has become a link to /proc", r)
    os.unlink(path)


def runtimes_await(programs):
    """Until each has mapped the files of its runtime."""
    last = {"py": "libc.so", "rb": "libruby", "js": "libc.so"}
    for name, p in programs.items():
        while p.poll() is None and last[name] not in open(f"/proc/{p.pid}/maps").read():
            time.sleep(0.02)


give_capabilities("cap_bpf,cap_perfmon=ip")
programs = {"py": start("/usr/bin/python3", "-c", PY_TEXT)}
if os.path.exists(RUBY):
    programs["rb"] = start(RUBY, "--disable-gems", "-e", RB_TEXT)
if NODE:
    programs["js"] = start(NODE, "-e", JS_TEXT)
bobs = subprocess.Popen(["/bin/sleep", "600"], stdin=subprocess.DEVNULL, env=ENV, **user(BOB))
try:
    runtimes_await(programs)
    pid = {name: str(p.pid) for name, p in programs.items()}
    PROC = "dtrace_user, dtrace_proc"
    given(PROC)
    shows(r"<string>:4 \(__init__\)", "what grows", "-d", "2", "-p", pid["py"])
    shows(r"<string>:4 \(__init__\)", "malloc", "malloc", "-d", "2", "-p", pid["py"])
    shows(r"^ +[\d.]+ k?M?B +in \d+ blocks have leaked|0 B  in 0 blocks", "leaks -d", "leaks", "-d", "2", "-p", pid["py"])
    shows(r"made by|-e:1:String", "objects of Ruby", "objects", "-d", "2", "-p", pid["rb"]) if "rb" in pid else print("skip: there is no ruby3.1")
    shows(r"make at ", "sample", "sample", "-d", "3", "-p", pid["js"]) if NODE else print("skip: there is no node")
    r = memprof("-d", "1", "-c", "/usr/bin/python3 -c 'x = [bytearray(5000) for i in range(2000)]'")
    check(r.returncode == 0 and "<string>:1" in r.stdout, "a command", r)
    # what needs more says so, with a remedy, and nothing else
    for have, want, args in (("dtrace_user", PROC, []), ("dtrace_proc", PROC, []), ("dtrace_user", PROC, ["malloc"]), ("dtrace_proc", PROC, ["objects"]), ("dtrace_user", PROC, ["sample"]),
                             ("dtrace_user", PROC, ["leaks", "-d"]), (PROC, "dtrace_kernel", ["malloc", "-r"]), (PROC, PROC + ", proc_owner", ["objects", "of Python"])):
        given(have)
        flags = {"leaks": ["-d", "1"]}.get(args[0], ["-d", "1", "-r", "4k"] if "-r" in args else ["-d", "1"]) if args else ["-d", "1"]
        r = memprof(*args[:1], *flags, "-p", pid["py"])
        line = f"memprof: {' '.join(['memprof', *args])} needs {want}; you are user {ALICE}: {have} (by {LEVELS}:1)\n"
        line += "hint: ask root for it: fathom-privileges(5); memprof alive, holds and leaks need no level\n"
        check(r.returncode == 1 and r.stderr == line and not r.stdout, f"{args} with {have}", (r, line))
    given("dtrace_kernel")
    r = memprof("malloc", "-r", "4k", "-d", "2", "-p", pid["py"])
    check(r.returncode == 0 and "<string>:4 (__init__)" in r.stdout, "malloc -r", r)
    given(PROC + ", proc_owner")
    r = memprof("objects", "-x", "maxrate=1000000", "-d", "2", "-p", pid["py"])
    check(r.returncode == 0 and "<string>:7:Session" in r.stdout, "objects of Python", r)
    # ways that look at what is there need none, and leave another user's process alone, with capabilities of the file or without
    given("")
    for caps in "cap_bpf,cap_perfmon=ip", "":
        give_capabilities(caps)
        shows(r"python  Session$", f"alive, {caps}", "alive", "-n", "0", "-p", pid["py"])
        shows(r"keep in frame", f"holds, {caps}", "holds", "-p", pid["py"], "Session")
        shows(r"in \d+ blocks have leaked", f"leaks, {caps}", "leaks", "-p", pid["py"])
        for args in ["alive"], ["holds"], ["leaks"]:
            r = memprof(*args, "-p", str(bobs.pid), *(["8 bytes"] if args == ["holds"] else []))
            check(r.returncode == 1 and r.stderr.startswith(f"memprof: cannot copy process {bobs.pid}: ") and not r.stdout, f"{args} of bob's, {caps}", r)
        for args in [], ["malloc"], ["objects"], ["sample"], ["leaks"]:
            r = memprof(*args, "-d", "1", "-p", pid["py"])
            check(r.returncode == 1 and not r.stdout and len(r.stderr.splitlines()) == 2 and re.match(rf"memprof: user {ALICE} has no level: " if caps else r"memprof: .*(CAP_BPF|root|privilege)", r.stderr)
                  and "\nhint: " in r.stderr, f"{args} without a level, {caps}", r)
    # the levels are there, and the file has lost its capabilities
    given(PROC)
    r = memprof("-d", "1", "-p", pid["py"])
    check(r.returncode == 1 and f"user {ALICE} has a level" in r.stderr.replace("memprof: ", "") and "setcap cap_bpf,cap_perfmon=ip /usr/sbin/memprof" in r.stderr, "a file without capabilities", r)
    give_capabilities("cap_bpf,cap_perfmon=ip")
    for args in [], ["malloc"], ["leaks"]:
        r = memprof(*args, "-d", "1", "-p", str(bobs.pid))
        check(r.returncode == 1 and not r.stdout and str(bobs.pid) in r.stderr, f"{args} of bob's", r)
    r = memprof("alive", "-n", "1", "-p", pid["py"], env={"DTRACE_OPT_BUFSIZE": "1m"})
    check(r.returncode == 0 and "\\n" not in r.stderr, "an option of the environment", r)
    pictures(pid["py"])
    programs["bob's"] = subprocess.Popen(["/usr/bin/python3", "-c", PY_TEXT], stdin=subprocess.DEVNULL, env=ENV, **user(BOB))
    runtimes_await({"py": programs["bob's"]})
    services(str(programs["bob's"].pid), pid["py"])
finally:
    for p in [*programs.values(), bobs]:
        p.kill()
        p.wait()
done()
