# SPDX-License-Identifier: MIT
"""Probes at the calls of functions, by uprobes (-x inproc=off) and in the process (all).

calls.cc is built twice: with a linkage table, and without one (-fno-plt), where functions of libraries are called through a word in memory. Of each, the
same scripts print the same, and what the program itself knows of its calls; exceptions, longjmp(), backtrace() and signals in the middle of all come out as
without probes; and the code is that of before when dtrace has ended or was killed.
"""
import os, re, signal, subprocess, sys, time

import tracing
from tracing import PATIENCE, Tracer, bad, check, lines_of

TMP, SRC = os.environ["TMP"], os.environ["SRC"]
LIBRARY = f"{TMP}/libcome.so"
ROUNDS = 5


class Target(tracing.Target):
    def __init__(self, file):
        super().__init__(file, LIBRARY=LIBRARY)

    def call(self, what=f"o{ROUNDS}"):
        return super().call(what)


P = "pid$target:a.out"
N = ROUNDS
# name, script, what the sorted lines must be (None: only the same), whether all places must be in the process
SCRIPTS = [
    ("counts", f"{P}:called:call,{P}:plain:call,{P}:tail:call,{P}:recursive:call,{P}:malloc:call,{P}:free:call {{ @[probefunc, probename] = count(); }}",
     [f"called call {2 * N}", f"free call {N}", f"malloc call {N}", f"plain call {2 * N}", f"recursive call {9 * N}", f"tail call {N}"], True),
    ("patterns", f"{P}:*al*:call,{P}:str*:call {{ @[probefunc] = count(); }}", None, False),
    ("all calls", f"{P}:[!f]*:call {{ @[probemod, probefunc] = count(); }}", None, False),
    ("calls in a library", 'pid$target:libc.so.6:*strtol*:call { @[probemod] = count(); }', None, False),
    ("arguments", f'{P}:called:call {{ @[arg0, arg1] = count(); }}', sorted(f"{i} {k} 1" for i in range(N) for k in (1, 2)), True),
    ("six arguments", f"{P}:eight:call {{ @[arg0, arg1, arg2, arg3, arg4, arg5] = count(); }}", sorted(f"{i} 1 2 3 4 5 2" for i in range(N)), True),
    ("arguments on the stack", f"{P}:eight:call,{P}:eight_tail:call {{ @[probefunc, arg6, arg7] = count(); }}",
     sorted([f"eight 6 7 {N}", f"eight 60 70 {N}", f"eight_tail 60 70 {N}"]), False),
    ("arguments of what libraries have", f"{P}:malloc:call {{ @[arg0] = count(); }}", sorted(f"{i + 1} 1" for i in range(N)), True),
    ("the caller, and registers", f"{P}:plain:call,{P}:eight:call,{P}:malloc:call {{ @[probefunc, ucaller, uregs[R_PC] - ucaller, uregs[R_SP]] = count(); }}", None, True),
    ("predicates", f"{P}:recursive:call /arg0 > 2/ {{ @[arg0] = count(); @s = sum(arg0 * 3 - 1); }}", None, True),
    ("beside entries, returns and offsets",
     f"{P}:tail:entry,{P}:tail:return,{P}:tail:,{P}:plain:call,{P}:plain:entry {{ @[probefunc, probename == \"call\", probename == \"entry\"] = count(); }}", None, False),
    ("variables of threads", f"{P}:recursive:call {{ self->n = arg0; }} {P}:recursive:entry /self->n/ {{ @[self->n == arg0] = count(); self->n = 0; }}", None, False),
    ("clauses of both kinds", f'{P}:called:call {{ @n = count(); }} {P}:plain:call {{ @[stringof(execname), copyin(uregs[R_RSP], 1) != NULL] = count(); }}', None, False),
    ("stacks", f"{P}:plain:call {{ @[ufunc(ucaller), ufunc(uregs[R_PC])] = count(); @s[ustack(2)] = count(); }}", None, False),
]


def same(t, name, script, want, is_whole):
    got = {}
    results = []
    for mode in ("off", "all"):
        tracer = Tracer(mode, script, t.pid)
        results.append(t.call())
        got[mode], places = tracer.end()
        if mode == "all":
            some = name != "stacks" and name != "arguments on the stack"
            check(f"{name}: places in the process", isinstance(places, tuple) and (not some or places[0] > 0) and (not is_whole or places[1] == 0) or places, True)
    check(f"{name}: the output", lines_of(got["all"]), lines_of(got["off"]))
    check(f"{name}: what the program computes", results, [t.result] * 2)
    if want is not None:
        check(f"{name}: what the program has done", lines_of(got["all"]), want)


def places(t):
    """ucaller is the call itself: the addresses behind it are those to which the function returns."""
    tracer = Tracer("all", f'{P}:called:call {{ @[ucaller - uregs[R_PC], ucaller] = count(); }}', t.pid)
    t.call()
    calls = [l.split() for l in lines_of(tracer.end()[0])]
    base = int(subprocess.run(["nm", t.file], capture_output=True, text=True, check=True).stdout.split(" T called\n")[0].splitlines()[-1], 16)
    behind = {int(x) + base for x in t.ask("?")[:-1]}
    with open(f"/proc/{t.pid}/maps") as maps:
        bias = min(int(l.split("-")[0], 16) for l in maps if t.file in l)
    at = {int(c[1]) - bias + 5 for c in calls}
    check("the place of a call", at <= behind and len(at) == 2 and all(c[0] == "0" for c in calls) or (calls, behind), True)


def unwinds(t):
    """Exceptions, longjmp() and backtrace() through calls that are probed, and signals meanwhile."""
    want = {what: t.call(what) for what in ("e9", "j9", "b7")}
    for mode in ("off", "all"):
        tracer = Tracer(mode, f"{P}::call,pid$target:libc.so.6:malloc:call,pid$target:libstdc*::call,pid$target:libgcc_s*::call {{ @ = count(); }}", t.pid)
        check(f"{mode}: through calls", {what: t.call(what) for what in want}, want)
        t.call("t0")
        t.call("s300" if mode == "all" else "s20")
        t.call("T0")
        found = tracer.end()[1]
        check(f"{mode}: some are in the process", isinstance(found, tuple) and found[0] > 100 or found, True if mode == "all" else "")
    t.call("t0")
    for _ in range(5):  # probes come and go while threads make the calls
        tracer = Tracer("all", f"{P}::call,pid$target:libc.so.6:malloc:call {{ @ = count(); }}", t.pid)
        t.call("s20")
        tracer.end()
    t.call("T0")
    check("after all", {what: t.call(what) for what in want}, want)


def back(t):
    """The code is as before: when dtrace ends, when it is killed, and when its keeper is, too."""
    before = t.code()
    script = f"{P}::call,pid$target:libc.so.6:malloc:call {{ @ = count(); }}"
    tracer = Tracer("all", script, t.pid)
    check("the code is changed", t.code() != before, True)
    tracer.end()
    is_clean("ended", t, before)
    tracer = Tracer("all", script, t.pid)
    tracer.end(signal.SIGKILL)
    is_clean("killed", t, before)
    tracer = Tracer("all", script, t.pid)
    with open(f"/proc/{tracer.p.pid}/task/{tracer.p.pid}/children") as f:
        keepers = [int(x) for x in f.read().split()]
    tracer.p.send_signal(signal.SIGSTOP)
    for pid in keepers:
        os.kill(pid, signal.SIGKILL)
    tracer.end(signal.SIGKILL)
    until = time.monotonic() + 30 * PATIENCE
    while any(runs(pid) for pid in keepers) and time.monotonic() < until:
        t.call()  # they hold the region until they have ended
    check("left: what the program computes", t.call(), t.result)
    check("left: the calls are changed", t.code() != before, True)
    tracer = Tracer("off", f"{P}:called:call {{ @ = count(); }}", t.pid)
    t.call()
    check("left: what fires", lines_of(tracer.end()[0]), [f"{2 * N}"])
    check("left: that it is said", bool(re.search(r"has left [1-9]\d* jumps? in process \d+: taken back", tracer.err)) or tracer.err, True)
    is_clean("left", t, before)


def is_clean(what, t, before):
    """The keeper takes breakpoints out for a moment after the end of dtrace."""
    until = time.monotonic() + 60 * PATIENCE
    while t.code() != before and time.monotonic() < until:
        t.call()
    check(f"{what}: the code is that of before", t.code() == before, True)


def runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def others(t):
    """Children fire nothing; what comes later is found, by uprobes."""
    tracer = Tracer("all", f"{P}:called:call {{ @ = count(); }}", t.pid)
    t.call(f"f{N}")
    t.call("o2")
    check("children fire nothing", lines_of(tracer.end()[0]), ["4"])
    for mode in ("off", "all"):
        t = Target(t.file)
        tracer = Tracer(mode, f"pid$target:libcome.so:strlen:call,pid$target:libcome.so:comes:call {{ @[probefunc] = count(); }}", t.pid, "-Z", "-x", "libstop")
        until = time.monotonic() + 30 * PATIENCE
        t.call("l3")
        t.call("l3")
        got = lines_of(tracer.end()[0])
        check(f"{mode}: a library that comes", got, ["comes 6", "strlen 6"])
        check("it ends well", t.end(), 0)


def main():
    flags = ["-O2", "-fPIE", "-pie", "-pthread", "-D_FORTIFY_SOURCE=0", "-fno-builtin", "-rdynamic", f"{SRC}/tests/e2e/inproc/calls.cc", "-ldl"]
    subprocess.run(["c++", *flags, "-o", f"{TMP}/calls"], check=True)
    subprocess.run(["c++", "-fno-plt", "-Wl,-z,now", *flags, "-o", f"{TMP}/noplt"], check=True)
    with open(f"{TMP}/come.c", "w") as f:
        f.write("unsigned long strlen(const char *);\n"
                "__attribute__((noinline, noclone, noipa)) long comes(long n) { return n; }\n"
                "long come(long n) { long sum = 0; for (long i = 0; i < n; i++) sum += comes(i) + strlen(\"abc\"); return sum; }\n")
    subprocess.run(["cc", "-O1", "-fno-builtin", "-fPIC", "-shared", "-o", LIBRARY, f"{TMP}/come.c"], check=True)
    for file in ("calls", "noplt"):
        t = Target(f"{TMP}/{file}")
        t.result = t.call()
        nbad = len(bad)
        for script in SCRIPTS:
            same(t, *script)
        places(t)
        unwinds(t)
        back(t)
        others(t)
        check("the process ends well", t.end(), 0)
        bad[nbad:] = [f"{file}: {b}" for b in bad[nbad:]]
    print("\n".join(bad) or "ok")
    return 1 if bad else 0


sys.exit(main())
