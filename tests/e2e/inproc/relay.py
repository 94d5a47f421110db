# SPDX-License-Identifier: MIT
"""Places that are relayed (-x inproc): the same output of the same scripts as by uprobes.

SCRIPTS has a script for each kind of clause that runs in the kernel alone: stacks, strings, speculations, variables shared with other
providers. A row says how many of their places may be uprobes, because relays would cost
no less there. Then: a filter that is false costs no trap, the process may be
stopped, execute another program, have children, and lose its tracer, and one that may make no file in memory gets uprobes.
"""
import os, signal, subprocess, sys, time

import tracing
from tracing import PATIENCE, bad, check, lines_of, report

TMP, SRC, CC = os.environ["TMP"], os.environ["SRC"], os.environ.get("CC", "cc")
FILE = f"{TMP}/same"
ROUNDS = 5


def check_that(what, good, seen):
    if not good:
        bad.append(f"{what}: {seen!r}")


class Target(tracing.Target):
    def __init__(self, *argv):
        super().__init__(*(argv or [FILE]))

    def call(self, what=ROUNDS):
        return super().call(what)

    def files(self):
        return sorted(os.readlink(f"/proc/{self.pid}/fd/{n}") for n in os.listdir(f"/proc/{self.pid}/fd"))

    def state(self):
        with open(f"/proc/{self.pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0]

    def cpu_time(self):
        return time.clock_gettime((~self.pid << 3) | 2)


class Tracer(tracing.Tracer):
    def end(self, how=signal.SIGINT):
        """Returns the output, and how many places were (in the process, uprobes, relayed)."""
        out = super().end(how)[0]
        return out, self.places[0][1] if self.places else self.err


P = "pid$target:a.out"
# name, script, how many places may be uprobes, how many must be in the process
SCRIPTS = [
    ("ustack() at entries", f"{P}:add:entry,{P}:six:entry,{P}:nothing:entry {{ @[probefunc, ustack()] = count(); }}", 1, 0),
    ("ustack() at entries with a predicate", f"{P}:fib:entry /arg0 == 1/ {{ @[ustack(4)] = count(); }} {P}:six:entry /arg1 == 1/ {{ ustack(); }}", 0, 0),
    ("ustack() at returns", f"{P}:ways:return,{P}:rounds:return,{P}:fib:return {{ @[probefunc, arg0, ustack()] = count(); }}", 1, 0),
    ("ustack() in a library", 'pid$target:libc.so.6:qsort_r:entry,pid$target:libc.so.6:qsort_r:return { @[probename, ustack()] = count(); }', 2, 0),
    ("callers", f"{P}:add:entry,{P}:ways:return,{P}:rounds:entry {{ @[probefunc, ufunc(ucaller), ustackdepth] = count(); }}", 2, 0),
    ("registers", f'{P}:add:entry,{P}:ways:return,{P}:rounds:entry {{ @[execname, probefunc, uregs[R_RIP], uregs[R_RSP], uregs[R_RBP]] = count(); }}', 3, 0),
    ("values of returns", f'{P}:ways:return {{ printf("%s %x %d\\n", execname, arg0, arg1); }}', 1, 0),
    ("arguments, also on the stack", f'{P}:six:entry {{ printf("%s %d %d %d %d %d %d %d %d\\n", execname, arg0, arg1, arg2, arg3, arg4, arg5, arg6 != 0, arg7 != 0); }}', 0, 0),
    ("strings of the process", 'pid$target:libc.so.6:strtol*:entry { @[probefunc, copyinstr(arg0)] = count(); }', 9, 0),
    ("speculations", f'{P}:ways:entry {{ self->s = speculation(); speculate(self->s); printf("in %d\\n", arg0); }}'
                     f' {P}:ways:return /self->s && arg1 > 0/ {{ commit(self->s); self->s = 0; }} {P}:ways:return /self->s/ {{ discard(self->s); self->s = 0; }}', 1, 0),
    ("variables that system calls set", f"syscall::write:entry {{ self->n = arg2; }} {P}:add:entry /self->n/ {{ @[self->n] = count(); }}", 0, 0),
    ("clauses of all kinds", f"{P}:add:entry {{ @n = count(); }} {P}:ways:return {{ @u[ustack()] = count(); }} {P}:ways:return /arg1 > 3/ {{ @s = sum(arg1); }}"
                             f" {P}:rounds:entry {{ @e[execname] = count(); }}", 2, 1),
    ("functions in the window of their returns", f"{P}:add:entry {{ @n[probename] = count(); }} {P}:add:return {{ @u[ustack()] = count(); }}", 1, 0),
]


def same(t, name, script, nuprobes, nnative):
    got = {}
    for mode in ("off", "all"):
        tracer = Tracer(mode, script, t.pid)
        t.call()
        t.call(2)
        got[mode], places = tracer.end()
        if mode == "all":
            check_that(f"{name}: places are relayed", isinstance(places, tuple) and places[2] > 0 and places[1] <= nuprobes and places[0] >= nnative, places)
    check(f"{name}: the output", lines_of(got["all"]), lines_of(got["off"]))
    check_that(f"{name}: there is some", lines_of(got["off"]), got)


def filters(t):
    """A predicate that is false costs nanoseconds, and one that is true a trap."""
    times = {}
    for what, script in (("nothing", f"{P}:nothing:entry /arg0 == 0x5a5a5a/ {{ ustack(); }}"), ("false", f"{P}:add:entry /arg0 == -1/ {{ @[execname] = count(); }}"),
                         ("true", f"{P}:add:entry /arg0 >= 0/ {{ @[execname] = count(); }}")):
        tracer = Tracer("all", script, t.pid)
        before = t.cpu_time()
        t.call(20000)
        times[what] = t.cpu_time() - before
        out, places = tracer.end()
        if what != "nothing":
            check_that(f"filters: {what}: the place is relayed", isinstance(places, tuple) and places[2] == 1, places)
            check(f"filters: {what}: what fires", lines_of(out), ["same 26666"] if what == "true" else [])
    cost = {what: (times[what] - times["nothing"]) / 26666 * 1e9 for what in times}
    check_that("filters: one that is false is much cheaper", cost["false"] < cost["true"] / 5, cost)


def stops(t):
    for action in ("stop()", f"raise({int(signal.SIGSTOP)})"):
        tracer = Tracer("all", f'{P}:ways:return /arg1 == -1/ {{ {action}; printf("%d\\n", arg1); }}', t.pid, "-w")
        t.tell(1)
        until = time.monotonic() + 30 * PATIENCE
        while t.state() != "T" and time.monotonic() < until:
            time.sleep(0.01)
        check(f"{action}: the state of the process", t.state(), "T")
        os.kill(t.pid, signal.SIGCONT)
        line = t.p.stdout.readline()
        check_that(f"{action}: it goes on", line.strip().lstrip("-").isdigit(), line)
        out, places = tracer.end()
        check(f"{action}: the output", lines_of(out), ["-1"])
        check_that(f"{action}: the place is relayed", isinstance(places, tuple) and places[2] > 0 and places[1] == 0, places)


ALL = f"{P}:add:entry,{P}:ways:return,{P}:rounds:return,{P}:fib:return,pid$target:libc.so.6:qsort:return {{ @[execname, probefunc] = count(); }}"


def detaches(t):
    before, files = t.code(), t.files()
    tracer = Tracer("all", ALL, t.pid)
    check_that("detached: the code was changed", t.code() != before, "it is the same")
    check_that("detached: the slots are mapped privately", any(" r-xp " in l and "fathom-relays" in l for l in t.maps()), t.maps())
    check("detached: the files of the process", t.files(), files)
    t.call()
    tracer.end()
    check("detached: the code is that of before", t.code() == before, True)
    check("detached: no uprobe is left", b"\xcc\xe9" in slots_of(t), False)
    t.call()


def slots_of(t):
    out = b""
    with open(f"/proc/{t.pid}/mem", "rb") as mem:
        for line in t.maps():
            if "fathom-relays" in line:
                start, end = (int(x, 16) for x in line.split()[0].split("-"))
                mem.seek(start)
                out += mem.read(end - start)
    return out


def killed(t):
    """The kernel takes the uprobes, and the keeper the jumps."""
    before = t.code()
    tracer = Tracer("all", ALL, t.pid)
    t.call()
    check_that("killed: the code was changed", t.code() != before, "it is the same")
    tracer.end(signal.SIGKILL)
    until = time.monotonic() + 30 * PATIENCE
    while (t.code() != before or b"\xcc\xe9" in slots_of(t)) and time.monotonic() < until:
        t.call()
    check("killed: the code is that of before", t.code() == before, True)
    check("killed: no uprobe is left", b"\xcc\xe9" in slots_of(t), False)
    t.call()


def children(t):
    tracer = Tracer("all", f"{P}:add:entry,{P}:ways:return {{ @[execname, probefunc] = count(); }}", t.pid)
    t.call("f")
    t.call(2)
    t.call("t")
    out, places = tracer.end()
    check("children fire nothing, threads do", lines_of(out), ["same add 6", "same ways 5"])
    check_that("children: the places are relayed", isinstance(places, tuple) and places[2] > 1, places)


def executes():
    """The process executes its program once more: probes are uprobes there, and nothing of ours is left in it."""
    got = {}
    for mode in ("off", "all"):
        t = Target()
        tracer = Tracer(mode, ALL, t.pid, "-x", "libstop")
        t.call()
        check("exec: it begins again", t.call("e"), 0)
        t.call(2)
        got[mode], places = tracer.end()
        if mode == "all":
            check_that("exec: places were relayed", isinstance(places, tuple) and places[2] > 3, places)
        t.call()
        check("exec: nothing of ours is left", slots_of(t), b"")
        check("exec: the process ends well", t.end(), 0)
    check("exec: the output", lines_of(got["all"]), lines_of(got["off"]))
    check_that("exec: the second program's calls", "exe fib 16" in lines_of(got["off"]), got)


def refused():
    """A process that may make no file of code in memory: uprobes, with the reason."""
    pid_file = f"{TMP}/refused.pid"
    p = subprocess.run(["unshare", "-pf", "--kill-child", "sh", "-c", "echo 2 >/proc/sys/vm/memfd_noexec"], capture_output=True)
    if p.returncode:
        print("skip: no vm.memfd_noexec in PID namespaces")
        return
    t = Target("unshare", "-pf", "--kill-child", "sh", "-c", f"echo 2 >/proc/sys/vm/memfd_noexec; exec {FILE}")
    with open(f"/proc/{t.pid}/task/{t.pid}/children") as f:
        t.pid = int(f.read().split()[0])
    tracer = Tracer("auto", f"{P}:ways:return,{P}:rounds:return {{ @[execname, probefunc] = count(); }}", t.pid)
    t.call()
    out, places = tracer.end()
    check("refused: what fires", lines_of(out), ["same rounds 1", f"same ways {ROUNDS}"])
    check_that("refused: none is relayed", isinstance(places, tuple) and places[2] == 0 and places[1] > 1, places)
    check_that("refused: why", "the process may make no file of code in memory: Permission denied" in tracer.err, tracer.err)
    t.end()


def samples():
    """A process that cannot tell the CPU tests no clause with it, and leaves sample() of the same probe to the kernel."""
    t = Target("env", "GLIBC_TUNABLES=glibc.pthread.rseq=0", FILE)
    for mode in ("off", "auto"):
        tracer = Tracer(mode, f'{P}:add:entry /sample(1000, 100000)/ {{ @["sample"] = count(); }} {P}:add:entry /cpu == 77777/ {{ @["never"] = count(); }}', t.pid)
        t.call(20000)
        out, places = tracer.end()
        n = {line.split()[0]: int(line.split()[1]) for line in lines_of(out)}
        # 265 of 26,666 are expected, with a deviation of 16
        check_that(f"samples: {mode}: one byte of 100,000", 150 < n.get("sample", 0) < 400 and "never" not in n, n)
    check("samples: the process ends well", t.end(), 0)


PYTHON = """
import locale, sys
def inner(n):
    return locale.setlocale(0)
def outer(n):
    return [inner(i) for i in range(n)] and inner(n)
print(0, flush=True)
for line in sys.stdin:
    outer(int(line))
    print(int(line), flush=True)
"""


def languages():
    """jstack() of a Python program, at a function of libc."""
    with open(f"{TMP}/relay.py", "w") as f:
        f.write(PYTHON)
    t = Target("python3", f"{TMP}/relay.py")
    t.call(100)  # the interpreter specializes its code
    got = {}
    for mode in ("off", "all"):
        tracer = Tracer(mode, "pid$target:libc.so.6:setlocale:entry,pid$target:libc.so.6:setlocale:return { @[probename, jstack(20)] = count(); @l[lfunc] = count(); }", t.pid)
        t.call(3)
        got[mode], places = tracer.end()
        if mode == "all":
            check_that("jstack(): places are relayed", isinstance(places, tuple) and places[2] > 0, places)
    check("jstack(): the output", lines_of(got["all"]), lines_of(got["off"]))
    check_that("jstack(): frames of Python", "inner" in got["off"] and "outer" in got["off"], got)
    check("jstack(): the process ends well", t.end(), 0)


subprocess.run([CC, "-O2", "-pthread", "-o", FILE, f"{SRC}/tests/e2e/inproc/same.c", "-ldl"], check=True)
only = os.environ.get("ONLY", "")
t = Target()
for row in SCRIPTS:
    if only in row[0]:
        same(t, *row)
for f in (filters, stops, detaches, killed, children):
    if only in f.__name__:
        f(t)
check("the process ends well", t.end(), 0)
for f in (executes, refused, samples, languages):
    if only in f.__name__:
        f()
sys.exit(report())
