# SPDX-License-Identifier: MIT
"""Several processes at once with -x inproc: the output is that of uprobes, whichever of them have jumps.

Two processes of one program, and one of another, make as many calls as they are told. What a process may be refused for is tried with one that must not
read the time stamp counter.
"""
import os, re, signal, subprocess, sys, time

import tracing
from tracing import DTRACE, PATIENCE, Target, check, lines_of, report

TMP, SRC, CC = os.environ["TMP"], os.environ["SRC"], os.environ.get("CC", "cc")
OTHER = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#define OWN __attribute__((noinline, noclone, noipa))
static volatile long kept;
OWN long add(long a, long b)
{
	kept += a; /* too short for a jump without it */
	return a * b;
}
OWN long other(long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += add(i, 2) + strtol("3", NULL, 10);
	return sum;
}
static int in_clone(void *arg)
{
	printf("%d\n", getpid());
	pause();
	return 0;
}
int main(void)
{
	char line[64];
	static char stack[65536];

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("0\n");
	while (fgets(line, sizeof(line), stdin)) {
		if (line[0] == 't') /* no time stamps */
			printf("%d\n", prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
		else if (line[0] == 'c') /* another process with the same memory, which says its id */
			(void)clone(in_clone, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
		else
			printf("%ld\n", other(atol(line)));
	}
	return 0;
}
"""


class Tracer(tracing.Tracer):
    """names: what the script calls the processes; they are put in place of A, B and C."""

    def __init__(self, mode, script, targets, *flags, grabs=True):
        for name, t in zip("ABC", targets):
            script = re.sub(rf"pid{name}\b", f"pid{t.pid}", script)
        super().__init__(mode, script, [t.pid for t in targets] if grabs else [], *flags)

    def end(self, how=signal.SIGINT):
        out = super().end(how)[0]
        return lines_of(out), {pid: counts[:2] for pid, counts in self.places}


def both(what, script, targets, calls, want, check_places=None, **kw):
    """The same output by uprobes and in the processes; want: what the programs have done, or None."""
    got = {}
    for mode in ("off", "all"):
        tracer = Tracer(mode, script, targets, **kw)
        for t, n in zip(targets, calls):
            t.call(n)
        got[mode], places = tracer.end()
    check(f"{what}: the output", got["all"], got["off"])
    if want is not None:
        check(f"{what}: what the programs have done", got["all"], sorted(want))
    for t in targets:
        n, k = places.get(t.pid, (0, 0))
        check(f"{what}: places of process {t.file}", (check_places or (lambda n, k: n > 0 and k == 0))(n, k) or tracer.err, True)


def refuses(a, c):
    """One process is refused: its probes are uprobes, those of the other are not; with all it is an error."""
    d = Target(f"{TMP}/other")
    check("refused: PR_SET_TSC", d.call("t"), 0)
    script = "pid*:a.out:add:entry { @[pid] = count(); }"
    tracer = Tracer("auto", script, [a, d])
    a.call(2), d.call(3)
    got, places = tracer.end()
    check("refused: what fires", got, sorted([f"{a.pid} 2", f"{d.pid} 3"]))
    check("refused: places", places, {a.pid: (1, 0), d.pid: (0, 1)})
    check("refused: the reason", "time stamp counter" in tracer.err or tracer.err, True)
    p = subprocess.run([DTRACE, "-q", "-x", "inproc=all", "-p", str(a.pid), "-p", str(d.pid), "-n", script + " tick-1s { exit(0); }"],
                       capture_output=True, text=True, timeout=60 * PATIENCE)
    check("refused: all is an error", (p.returncode != 0 and "time stamp counter" in p.stderr and str(d.pid) in p.stderr) or p.stderr, True)
    check("refused: it ends well", d.end(), 0)


def first_only(a, b):
    """pid$target means the first of several targets: of the other one no places are counted, but that there are none is said."""
    tracer = Tracer("auto", "pid$target:a.out:six:entry { @[pid] = count(); }", [a, b])
    a.call(2), b.call(3)
    got, places = tracer.end()
    check("the first only: what fires", got, [f"{a.pid} 2"])
    check("the first only: places", places, {a.pid: (1, 0)})
    check("the first only: the other", f"no description means a place in process {b.pid}\n" in tracer.err or tracer.err, True)


def ends_all(a, b):
    """exit() in one process ends the session of both, with its status."""
    tracer = Tracer("all", "pidA:a.out:six:entry { @ = count(); } pidB:a.out:add:entry /arg0 == 2/ { exit(7); }", [a, b])
    a.call(3)
    since = time.monotonic()
    b.call(5)
    got, places = tracer.end(None)
    check("exit(): status", tracer.p.returncode, 7)
    check("exit(): what the other has counted", got, ["3"])
    check("exit(): soon", time.monotonic() - since < 5 * PATIENCE, True)


def one_ends(b):
    """A process ends while the others go on; what it has counted stays."""
    d, e = Target(f"{TMP}/other"), Target(f"{TMP}/other")
    tracer = Tracer("all", "pid*:a.out:add:entry { @[pid] = count(); @all = count(); }", [b, d, e])
    d.call(4)
    check("one ends: well", d.end(), 0)
    e.call(5)
    e.p.kill()
    e.p.wait()
    b.call(2)
    got, places = tracer.end()
    check("one ends: counts", got, sorted([f"{b.pid} 2", f"{d.pid} 4", f"{e.pid} 5", "11"]))


def killed(targets):
    """The tracer is killed: the keeper takes the jumps out of all."""
    before = [t.code() for t in targets]
    tracer = Tracer("all", "pid*:a.out::entry,pid*:libc.so.6:str*:entry { @ = count(); }", targets)
    check("killed: all were changed", [t.code() != x for t, x in zip(targets, before)], [True] * len(targets))
    tracer.end(signal.SIGKILL)
    until = time.monotonic() + 30 * PATIENCE
    while [t.code() for t in targets] != before and time.monotonic() < until:
        for t in targets:
            t.call(1)
    check("killed: all are as before", [t.code() == x for t, x in zip(targets, before)], [True] * len(targets))


def shares_memory():
    """Two processes with one memory: uprobes in both."""
    d = Target(f"{TMP}/other")
    twin = type("Twin", (), {"pid": d.call("c"), "file": d.file})
    script = "pid*:a.out:add:entry { @[pid] = count(); }"
    tracer = Tracer("auto", script, [d, twin])
    d.call(3)
    got, places = tracer.end()
    check("one memory: what fires", got, [f"{d.pid} 3"])
    check("one memory: no jumps", {pid: n for pid, (n, k) in places.items()}, {d.pid: 0, twin.pid: 0})
    check("one memory: the reason", "may share their memory" in tracer.err or tracer.err, True)
    os.kill(twin.pid, signal.SIGKILL)
    check("one memory: it ends well", d.end(), 0)


def drops(a, c):
    """Records that find no room are counted, and it is said in which process."""
    tracer = Tracer("all", 'pidA:a.out:six:entry { printf("a\\n"); } pidB:a.out:add:entry { @ = count(); printf("c\\n"); }', [a, c], "-b", "4k", "-x", "bufresize=manual",
                    "-x", "switchrate=500ms")
    a.call(3), c.call(20000)
    got, places = tracer.end()
    said = {int(pid): int(n) for pid, n in re.findall(r"of the drops, process (\d+) itself has had (\d+) of records, 0 of aggregations, 0 of variables", tracer.err)}
    check("drops: in which process", list(said), [c.pid])
    check("drops: with what is there, they are all", said.get(c.pid, 0) + got.count("c"), 20000)
    check("drops: the other has all", got.count("a"), 3)
    check("drops: so says the sum", sum(int(x) for x in re.findall(r"(\d+) drops? on CPU", tracer.err)), said.get(c.pid, 0))


with open(f"{TMP}/other.c", "w") as f:
    f.write(OTHER)
subprocess.run([CC, "-O2", "-pthread", "-o", f"{TMP}/same", f"{SRC}/tests/e2e/inproc/same.c", "-ldl"], check=True)
subprocess.run([CC, "-O1", "-o", f"{TMP}/other", f"{TMP}/other.c"], check=True)
a, b, c = Target(f"{TMP}/same"), Target(f"{TMP}/same"), Target(f"{TMP}/other")
both("one program", "pid*:a.out:six:entry { @[pid] = count(); @all = count(); @sum = sum(arg0); }", [a, b], [4, 5],
     [f"{a.pid} 4", f"{b.pid} 5", "9", f"{6 + 10}"])
both("two programs", "pid*:a.out:add:entry { @[probeprov, probefunc] = count(); @all = count(); }", [a, c], [0, 5], [f"pid{c.pid} add 5", "5"])
both("three", 'pid*:a.out:add:entry { printf("%d %d\\n", pid, arg0); }', [a, b, c], [1, 2, 3], None)
both("a library", "pid*:libc.so.6:strtol:entry { @[pid] = count(); }", [a, c], [3, 6],
     [f"{a.pid} 4", f"{c.pid} 7"])  # atol() calls it, too
both("named, and no targets", "pidA:a.out:six:entry,pidB:a.out:other:entry { @[probefunc] = count(); }", [a, c], [3, 6], ["six 3", "other 1"], grabs=False)
both("variables of threads", "pid*:a.out:ways:entry,pid*:a.out:other:entry { self->n = arg0 + 1; } pid*:a.out:ways:return,pid*:a.out:other:return /self->n/ "
     "{ @[pid, self->n] = count(); self->n = 0; }", [a, b, c], [2, 3, 9],
     [f"{a.pid} {i} 1" for i in (1, 2)] + [f"{b.pid} {i} 1" for i in (1, 2, 3)] + [f"{c.pid} 10 1"])
both("a variable of all", "pid*:a.out:six:entry,pid*:a.out:other:entry { n++; @[n] = count(); }", [a, b, c], [2, 1, 9], [f"{i} 1" for i in (1, 2, 3, 4)],
     lambda n, k: n == 0)
both("a variable of one", "pidA:a.out:six:entry { n++; @[n] = count(); } pidB:a.out:six:entry { @b = count(); }", [a, b], [2, 3], ["1 1", "2 1", "3"])
refuses(a, c)
first_only(a, b)
ends_all(a, c)
one_ends(b)
killed([a, b, c])
shares_memory()
drops(a, c)
for t in (a, b, c):
    check("a process ends well", t.end(), 0)
sys.exit(report())
