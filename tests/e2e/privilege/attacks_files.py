# SPDX-License-Identifier: MIT
"""
alice names files of the kernel, which tells a process about itself what she must not know, and lets it change itself; and what is no file.
"""
import re, signal, socket
from world import *

enter()
levels(f"user {ALICE}: dtrace_user, dtrace_proc\n")
BEGIN = 'BEGIN { printf("traced\\n"); exit(0); }'
MAPS = r"[0-9a-f]{8,16}-[0-9a-f]{8,16} [r-]"


def is_told(text):
    """Whether a message shows a line of /proc/self/maps."""
    return re.search(MAPS, text) is not None


def what_the_kernel_tells_dtrace():
    """No file of /proc is read for alice: not by its name, a link, or a descriptor, and not as a file of a library."""
    os.makedirs(f"{home(ALICE)}/lib")
    os.symlink("/proc/self/maps", f"{home(ALICE)}/maps")
    os.symlink("/proc/self/maps", f"{home(ALICE)}/lib/maps.d")
    root = subprocess.run([DTRACE, "-s", "/proc/self/maps"], capture_output=True, text=True, env=ENV)
    check(is_told(root.stderr), "a message shows the line of a file that is no script", root)
    for path in "/proc/self/maps", "/proc/thread-self/smaps", "/proc/self/numa_maps", "/proc/self/stat", "maps":
        for args in (["-s", path], [path], ["-C", "-s", path], ["-x", f"flamebase={path}", "-x", "oformat=flame", "-n", BEGIN]):
            r = dtrace(ALICE, *args)
            said = r.stdout + r.stderr
            check(r.returncode == 1 and not is_told(said) and "line 1" not in said, f"{args} is read", r)
            check("a file of /proc" in said and "hint: " in said, f"{args} is refused with a reason", r)
    r = dtrace(ALICE, "-L", "lib", "-n", BEGIN)
    check(r.returncode == 1 and "a file of /proc" in r.stderr and not is_told(r.stderr), "a file of a library", r)
    # alice's own line, which she has opened before the command was executed: the kernel asks who reads
    r = run(ALICE, ["sh", "-c", f"exec {DTRACE} -s /proc/self/fd/0 </proc/self/stat"])
    check(r.returncode == 1 and "a file of /proc" in r.stderr, "a descriptor of one", r)
    with open(f"{home(ALICE)}/plain.d", "w") as f:
        f.write(BEGIN)
    for command in f"exec {DTRACE} -q -s /proc/self/fd/7 7<plain.d", f"exec {DTRACE} -q -s /dev/stdin <plain.d", f"cat plain.d | {DTRACE} -q -s /proc/self/fd/0":
        r = run(ALICE, ["sh", "-c", command])
        check(r.returncode == 0 and r.stdout.strip() == "traced", f"what {command} reads is elsewhere", r)


def threads(pid):
    return {tid: open(f"/proc/{pid}/task/{tid}/comm").read().strip() for tid in os.listdir(f"/proc/{pid}/task")}


def names_of_threads():
    """By the name of a thread the sessions of alice tell each other what they have taken: no output of hers is written there."""
    name = "/proc/thread-self/comm"
    for form, args in ("text", []), ("picture", ["-x", "oformat=flame"]):
        r = dtrace(ALICE, *args, "-o", name, "-n", BEGIN)
        check(r.returncode == 1 and name in r.stderr and (not args or "is one of /proc" in r.stderr), f"-o with {form}", r)
    for option in "ctypes", "dtypes":
        r = dtrace(ALICE, "-q", "-x", f"{option}={name}", "-n", BEGIN)
        check("a file of /proc" in r.stderr, f"option {option}", r)
    p = subprocess.Popen([DTRACE, "-wqn", 'BEGIN { printf("on\\n"); p = pid; } proc:::exec-success /execname == "true"/ { go = 1; } '
                          'tick-20hz /go && !done/ { done = 1; freopen("/proc/self/task/%d/comm", p + 1); printf("q0m0p"); freopen(""); } tick-20hz /done && ++n == 10/ { printf("off\\n"); }'],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV, **user(ALICE))
    check(p.stdout.readline() == "on\n", "a session that runs")
    before = threads(p.pid)
    check(any(name.startswith("q") and name.endswith("p") and name[1:2] != "0" for name in before.values()), "a thread says what it has taken", before)
    run(ALICE, ["true"])
    while (line := p.stdout.readline()) and not line.endswith("off\n"):
        pass
    check(threads(p.pid) == before, "freopen() has changed the name of a thread", (before, threads(p.pid)))
    p.send_signal(signal.SIGINT)
    said = p.communicate(timeout=SECONDS)[1]
    check("couldn't freopen()" in said, "freopen() is refused", said)


def what_is_no_file():
    """Folders, devices, sockets, fifos and busy programs: a message or what the device does, and an end."""
    os.mkfifo(f"{home(ALICE)}/fifo")
    os.chown(f"{home(ALICE)}/fifo", ALICE, ALICE)
    s = socket.socket(socket.AF_UNIX)
    s.bind(f"{home(ALICE)}/socket")
    os.chown(f"{home(ALICE)}/socket", ALICE, ALICE)
    os.symlink("loop", f"{home(ALICE)}/loop")
    for path in ".", "socket", "loop", "/dev/kmsg", "/dev/full", f"{HOME}/calls", "/proc/1/fd/0", "x" * 300:
        for args in (["-o", path, "-n", BEGIN], ["-wqn", f'BEGIN {{ freopen("{path}"); printf("x"); exit(0); }}'], ["-L", path, "-n", BEGIN], ["-s", path]):
            r = dtrace(ALICE, *args)
            check(r.returncode in (0, 1) and (r.returncode == 0 or r.stderr.strip()), f"{[a[:60] for a in args]}", (r.returncode, r.stdout[:500], r.stderr[:500]))
    for args in (["-L", "fifo", "-n", BEGIN], ["--core", "fifo", "-n", BEGIN]):
        r = dtrace(ALICE, *args)
        check(r.returncode == 1 and r.stderr, f"{args} does not wait for somebody", r)


what_the_kernel_tells_dtrace()
names_of_threads()
what_is_no_file()
done()
