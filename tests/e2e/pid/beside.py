# SPDX-License-Identifier: MIT
"""Two tracers side by side: uprobes of dtrace, bpftrace and perf at the same instruction of the same process.

TABLE has the pairs. The process calls the function 3 times before the first tracer comes, 5 times before the second one does, 7 times with both,
11 times when one has ended, and twice at the end, when its code must be that of its file.
"""
import os, re, shutil, signal, subprocess, sys

DTRACE, TMP, SRC, CC = os.environ["DTRACE"], os.environ["TMP"], os.environ["SRC"], os.environ.get("CC", "cc")
PATIENCE = int(os.environ.get("PATIENCE", 1))
FILE = f"{TMP}/beside"
bad = []


class Target:
    """The traced process: the child of this one, or the command of a dtrace."""

    def __init__(self, argv=(FILE,), is_waiting=False):
        self.p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.pid = self.p.pid
        if is_waiting:
            self.answered()
        else:
            self.call(3)

    def call(self, n):
        self.p.stdin.write(f"{n}\n")
        self.p.stdin.flush()
        self.answered()

    def answered(self):
        if not self.p.stdout.readline().strip().isdigit():
            raise ValueError(f"the process does not answer: {self.p.stderr.read()}")

    def end(self):
        out, err = self.p.communicate(timeout=60 * PATIENCE)
        return self.p.returncode, out.strip(), err


class Tracer:
    """argv: prints a line 'ready' when its probes are in place, and the number of firings after SIGINT."""

    def __init__(self, argv):
        self.p = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in self.p.stdout:
            if "ready" in line:
                return
        raise ValueError(f"{argv}: {self.p.stderr.read()}")

    def end(self):
        self.p.send_signal(signal.SIGINT)
        out, err = self.p.communicate(timeout=60 * PATIENCE)
        found = re.search(r"^(?:@: )?(\d+)$", out, re.M)
        return int(found.group(1)) if found and not self.p.returncode else f"{out} {err}"


def dtrace(probe):
    return lambda pid: Tracer([DTRACE, "-qn", probe + '{ @ = count(); } tick-20ms { printf("ready\\n"); } END { printa("%@d\\n", @); }', "-p", str(pid)])


def bpftrace(probe, *flags):
    def start(pid):
        words = [w.replace("PID", str(pid)) for w in flags]
        return Tracer(["bpftrace", *words, "-e", probe.replace("FILE", FILE) + ' { @ = count(); } interval:ms:20 { printf("ready\\n"); }'])

    return start


class Perf:
    """perf counts with an event of its own in tracefs."""

    def __init__(self, pid):
        self.name = f"probe_beside:work_{pid}"
        self.run("perf", "probe", "-q", "-x", FILE, f"work_{pid}=work")
        for fifo in ("ctl", "ack"):
            if not os.path.exists(f"{TMP}/{fifo}"):
                os.mkfifo(f"{TMP}/{fifo}")
        ctl, ack = os.open(f"{TMP}/ctl", os.O_RDWR), os.open(f"{TMP}/ack", os.O_RDWR)
        self.p = subprocess.Popen(["perf", "stat", "-x,", "-D", "-1", "--control", f"fd:{ctl},{ack}", "-e", self.name, "-p", str(pid)],
                                  stderr=subprocess.PIPE, text=True, pass_fds=(ctl, ack))
        os.write(ctl, b"enable\n")
        os.read(ack, 16)
        os.close(ctl)
        os.close(ack)

    def run(self, *argv):
        p = subprocess.run(argv, capture_output=True, text=True)
        if p.returncode:
            raise OSError(p.stderr)

    def end(self):
        self.p.send_signal(signal.SIGINT)
        _, err = self.p.communicate(timeout=60 * PATIENCE)
        self.run("perf", "probe", "-q", "-d", self.name)
        found = re.search(r"^(\d+),", err, re.M)
        return int(found.group(1)) if found else err


PID = dtrace("pid$target:a.out:work:entry")
USDT = dtrace("beside$target:::hit")
B_ALL = bpftrace("uprobe:FILE:work")
B_PID = bpftrace("uprobe:FILE:work", "-p", "PID")
B_USDT = bpftrace("usdt:FILE:beside:hit", "-p", "PID")
# the first to come, the second one, who ends first
TABLE = [
    ("dtrace, dtrace", PID, PID, "12"),
    ("dtrace, bpftrace of all", PID, B_ALL, "12"),
    ("bpftrace of all, dtrace", B_ALL, PID, "12"),
    ("dtrace, bpftrace", PID, B_PID, "1"),
    ("bpftrace, dtrace", B_PID, PID, "2"),
    ("dtrace, perf", PID, Perf, "2"),
    ("perf, dtrace", Perf, PID, "1"),
    ("usdt: dtrace, dtrace", USDT, USDT, "12"),
    ("usdt: dtrace, bpftrace", USDT, B_USDT, "1"),
    ("usdt: bpftrace, dtrace", B_USDT, USDT, "2"),
]
# dtrace -c, of a file on which another tracer has a probe, or gets one: what dtrace is told, the other one, and what that counts if it has come first
COMMANDS = [
    ("pid", "pid$target:a.out:work:entry", B_ALL, 21, ()),
    ("pid, main", "pid$target:a.out:work:entry", bpftrace("uprobe:FILE:main, uprobe:FILE:work"), 22, ("-x", "evaltime=main")),
    ("pid, dtrace", "pid$target:a.out:work:entry", PID, 11, ()),
    ("usdt", "beside$target:::hit", bpftrace("usdt:FILE:beside:hit"), 21, ()),
]


def check(what, got, want):
    if got != want:
        bad.append(f"{what}: {got} instead of {want}")


def pair(what, first, second, ends):
    t = Target()
    a = first(t.pid)
    t.call(5)
    b = second(t.pid)
    t.call(7)
    early, late = (a, b) if ends == "1" else (b, a)
    counts = {early: early.end()}
    t.call(11)
    counts[late] = late.end()
    t.call(2)
    both = (counts[a], counts[b])
    check(f"{what}, {ends} ends first", both, (12, 18) if ends == "1" else (23, 7))
    check(f"{what}: the process", t.end(), (0, "same", ""))


def command(what, probe, other, counted, flags):
    """The process that the other tracer is there for ends behind the command, and one of the two has come first."""
    argv = [DTRACE, "-qn", probe + '{ @ = count(); } END { printa("%@d\\n", @); }', "-o", f"{TMP}/counted", *flags, "-c", FILE]
    for order in ("before", "behind"):
        idle = Target()
        o = other(idle.pid) if order == "before" else None
        if os.path.exists(f"{TMP}/counted"):
            os.unlink(f"{TMP}/counted")
        t = Target(argv)
        o = o or other(idle.pid)
        t.call(7)
        check(f"-c {what}, {order}: the command", t.end()[::2], (0, ""))
        check(f"-c {what}, {order}", open(f"{TMP}/counted").read().split(), ["10"])
        idle.call(11)
        check(f"-c {what}, {order}: the other", o.end(), counted if order == "before" else 11 if other is PID else 18)
        check(f"-c {what}, {order}: the idle process", idle.end(), (0, "same", ""))


def elsewhere():
    """
    main() is probed in another process only, and work() in all: the kernel looks for uprobes in the new process, too, and takes an int3 in its
    main() for the one of the other process.
    """
    idle = Target()
    others = [dtrace("pid$target:a.out:main:entry")(idle.pid), B_ALL(idle.pid)]
    os.unlink(f"{TMP}/counted")
    t = Target([DTRACE, "-qn", 'pid$target:a.out:work:entry { @ = count(); } END { printa("%@d\\n", @); }', "-o", f"{TMP}/counted",
                "-x", "evaltime=main", "-c", FILE])
    check("main() is probed elsewhere", t.end()[::2], (0, ""))
    check("main() is probed elsewhere, work()", open(f"{TMP}/counted").read().split(), ["3"])
    others[0].end()  # it has counted nothing, and shows nothing
    check("bpftrace beside", others[1].end(), 3)
    check("elsewhere: the process", idle.end(), (0, "same", ""))


def meanwhile():
    """A probe of another tracer at the breakpoint of dtrace goes, or comes, while the process runs to it."""
    argv = ["env", "WAIT=1", DTRACE, "-qn", 'pid$target:a.out:work:entry { @ = count(); } END { printa("%@d\\n", @); }', "-o", f"{TMP}/counted",
            "-x", "evaltime=main", "-c", FILE]
    start = bpftrace("uprobe:FILE:main")
    for what in ("goes", "comes"):
        os.unlink(f"{TMP}/counted")
        other = start(0) if what == "goes" else None
        t = Target(argv, is_waiting=True)
        if other:
            other.end()
            t.p.stdin.write("go\n")
            t.call(7)
            code, _, err = t.end()
            check("a probe goes", (code, err, open(f"{TMP}/counted").read().split()), (0, "", ["7"]))
        else:  # it replaces the breakpoint
            other = start(0)
            t.p.wait()
            code, _, err = t.end()
            check("a probe comes", (code, "another tracer has placed a probe at the instruction" in err), (1, True))
            other.end()


def is_there(kind):
    """Tries whether a tracer works here at all, alone."""
    t = Target()
    try:
        tracer = kind(t.pid)
        t.call(1)
        if tracer.end() != 1:
            raise ValueError("it counts nothing")
        return True
    except (OSError, ValueError) as e:
        print(f"left out: {e}")
        return False
    finally:
        t.p.kill()
        t.end()


if subprocess.run([CC, "-O1", f"-I{SRC}/include", "-o", FILE, f"{SRC}/tests/e2e/pid/beside.c"]).returncode:
    sys.exit("cannot build it")
out_of_reach = set()
if not shutil.which("bpftrace"):
    out_of_reach |= {B_ALL, B_PID, B_USDT}
if not shutil.which("perf") or not is_there(Perf):
    out_of_reach.add(Perf)
for what, first, second, ends in TABLE:
    if not out_of_reach & {first, second}:
        for one in ends:
            pair(what, first, second, one)
for what, probe, other, counted, flags in COMMANDS:
    if other is PID or B_ALL not in out_of_reach:
        command(what, probe, other, counted, flags)
if B_ALL not in out_of_reach:
    elsewhere()
    meanwhile()
sys.exit("\n".join(bad) if bad else 0)
