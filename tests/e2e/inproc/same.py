# SPDX-License-Identifier: MIT
"""Pid probes by uprobes (-x inproc=off) and in the process (all): the same output of the same scripts.

One process makes the same calls for each run. SCRIPTS has the scripts, with what the program itself knows about their output where that is short;
and each says how many of its places may be uprobes. Then: exit() ends a session at once, a tracer that is killed leaves the code as it was, children
fire nothing, libraries that come later are probed, and a process that is being debugged is refused.
"""
import os, re, signal, subprocess, sys, time

import tracing
from tracing import DTRACE, PATIENCE, Tracer, check, lines_of, report

TMP, SRC, CC = os.environ["TMP"], os.environ["SRC"], os.environ.get("CC", "cc")
FILE, LIBRARY = f"{TMP}/same", f"{TMP}/libcome.so"
ROUNDS = 5


class Target(tracing.Target):
    def __init__(self):
        super().__init__(FILE)

    def call(self, what=ROUNDS):
        return super().call(what)


P = "pid$target:a.out"
N = ROUNDS
# name, script, what the sorted lines of the output must be (None: only the same), whether all places must be in the process
SCRIPTS = [
    ("entries", f"{P}:add:entry,{P}:nothing:entry,{P}:six:entry {{ @[probefunc] = count(); }}",
     [f"add {N + 1}", f"nothing {N}", f"six {N}"], False),
    ("entries and returns of all functions", f"{P}::entry,{P}::return {{ @[probefunc, probename] = count(); }}", None, False),
    ("a library", 'pid$target:libc.so.6:qsort:entry,pid$target:libc.so.6:strtol:entry,pid$target:libc.so.6:strlen:entry { @[probemod, probefunc] = count(); }',
     None, False),
    ("arguments", f'{P}:six:entry {{ printf("%d %d %d %d %d %d\\n", arg0, arg1, arg2, arg3, arg4, arg5); }}',
     sorted(f"{i} 1 2 3 4 5" for i in range(N)), False),
    ("returns", f'{P}:ways:return {{ printf("%x %d %s\\n", arg0, arg1, probename); }}', None, False),
    ("predicates", f"{P}:fib:entry /arg0 > 2 && arg0 != 4/ {{ @[arg0] = count(); @s = sum(arg0 * 3 - 1); }}", None, False),
    ("functions of aggregations",
     f"{P}:fib:entry {{ @a = avg(arg0); @b = min(arg0); @c = max(arg0); @d = sum(arg0); @e = stddev(arg0); @q = quantize(arg0); @l = lquantize(arg0, 0, 6, 2); }}",
     None, False),
    ("a function that pops its return address", f"{P}:popped:entry {{ @[arg0, ucaller] = count(); }} {P}:popped:return {{ @r[arg1] = count(); }}", None, True),
    ("the same, relayed", f"{P}:add:entry {{ @n = count(); }} {P}:popped:entry /arg0 > 1/ {{ @[execname, ucaller] = count(); }}", None, False),
    ("variables of threads", f"{P}:ways:entry {{ self->n = arg0 + 1; }} {P}:ways:return /self->n/ {{ @[self->n, arg1] = count(); self->n = 0; }}", None, True),
    ("latencies", f"{P}:rounds:entry {{ self->at = timestamp; }} {P}:rounds:return /self->at/ {{ @[timestamp > self->at && timestamp - self->at < 60000000000] = count(); self->at = 0; }}",
     ["1 1"], True),
    ("instructions, with registers and flags",
     f'{P}:six:[0-9a-f]*,{P}:fib:[0-9a-f]*,{P}:ways:[0-9a-f]* {{ @[probefunc, probename, uregs[R_RAX], uregs[R_RDI], uregs[R_RSP], uregs[R_RFL] & 0x8c5] = count(); }}',
     None, False),
    ("clauses of both kinds", f'{P}:add:entry {{ @n = count(); }} {P}:six:entry {{ @[stringof(execname), copyin(uregs[R_RSP], 1) != NULL] = count(); }}', None, False),
]


def same(t, name, script, want, is_whole):
    got = {}
    for mode in ("off", "all"):
        tracer = Tracer(mode, script, t.pid)
        t.call()
        got[mode], places = tracer.end()
        if mode == "all":
            check(f"{name}: some places are in the process", isinstance(places, tuple) and places[0] > 0 and (not is_whole or places[1] == 0) or places, True)
    check(f"{name}: the output", lines_of(got["all"]), lines_of(got["off"]))
    if want is not None:
        check(f"{name}: what the program has done", lines_of(got["all"]), want)


def exits(t):
    """exit() in the process: the session ends, and with the status."""
    tracer = Tracer("all", f"{P}:add:entry /arg0 == 2/ {{ exit(7); }}", t.pid)
    since = time.monotonic()
    t.call()
    out, places = tracer.end(None)
    check("exit(): its status", tracer.p.returncode, 7)
    check("exit(): in the process", isinstance(places, tuple) and places[0] > 0 or places, True)
    check("exit(): soon", time.monotonic() - since < 5 * PATIENCE, True)


def killed(t):
    """The keeper takes the jumps back; the process goes on."""
    before = t.code()
    tracer = Tracer("all", f"{P}::entry,{P}::return,pid$target:libc.so.6::entry {{ @ = count(); }}", t.pid)
    t.call()
    check("killed: the code was changed", t.code() != before, True)
    tracer.end(signal.SIGKILL)
    until = time.monotonic() + 30 * PATIENCE
    while t.code() != before and time.monotonic() < until:
        t.call()
    check("killed: the code is that of before", t.code() == before, True)


def left(t):
    """Tracer and keeper are killed: the jumps stay, and the next dtrace takes them back and says so."""
    before = t.code()
    tracer = Tracer("all", f"{P}::entry,{P}::return {{ @ = count(); }}", t.pid)
    with open(f"/proc/{tracer.p.pid}/task/{tracer.p.pid}/children") as f:
        keepers = [int(x) for x in f.read().split()]
    check("left: a keeper", len(keepers) > 0, True)
    tracer.p.send_signal(signal.SIGSTOP)
    for pid in keepers:
        os.kill(pid, signal.SIGKILL)
    tracer.end(signal.SIGKILL)
    t.call()
    # the keeper may not be dead yet, and holds the region until the kernel has closed all that it had: the next dtrace waits for that
    check("left: the jumps have stayed", t.code() != before, True)
    tracer = Tracer("off", f"{P}:add:entry,{P}:ways:return {{ @[probefunc] = count(); }}", t.pid)
    t.call(2)
    out = tracer.end()[0]
    check("left: what fires", lines_of(out), ["add 2", "ways 2"])
    check("left: that it is said", bool(re.search(r"has left [1-9]\d* jumps? in process \d+: taken back", tracer.err)) or tracer.err, True)
    check("left: the code is that of before", t.code() == before, True)
    tracer = Tracer("all", f"{P}:add:entry {{ @ = count(); }}", t.pid)
    tracer.end()
    check("left: there is nothing more", "has left" in tracer.err, False)


def children(t):
    tracer = Tracer("all", f"{P}:add:entry {{ @ = count(); }}", t.pid)
    t.call("f")
    t.call(2)
    t.call("t")
    check("children fire nothing, threads do", lines_of(tracer.end()[0]), ["6"])


def follows(t):
    """With -x follow=fork the probes of children fire, by uprobes."""
    tracer = Tracer("auto", f"{P}:add:entry {{ @ = count(); }}", t.pid, "-x", "follow=fork")
    t.call("f")
    t.call(2)
    out, places = tracer.end()
    check("children that are followed", lines_of(out), ["6"])
    check("children that are followed: the place of the parent is in the process", places, (1, 0))


def stuck(t):
    """A thread waits for a child of vfork() when windows are to be written, and goes on waiting: uprobes."""
    before = t.code()
    t.call("v")
    tracer = Tracer("auto", f"{P}:add:entry,{P}:ways:return {{ @[probefunc] = count(); }}", t.pid)
    t.call(2)
    tracer.p.send_signal(signal.SIGINT)
    out, err = tracer.p.communicate(timeout=60 * PATIENCE)
    check("vfork: what fires", lines_of(out), ["add 2", "ways 2"])
    check("vfork: why they are uprobes", "of vfork(), and cannot be stopped; the probes in the process are uprobes" in err or err, True)
    t.call("w")
    check("vfork: the code is that of before", t.code() == before, True)


def copied():
    """A process that executes a second copy of a page of its file: both jump, and so does the C library, far from the file."""
    t = Target()
    check("copied: its own result", t.call("m"), 42)
    got = {}
    for mode in ("off", "all"):
        tracer = Tracer(mode, f"{P}:add:entry,pid$target:libc.so.6:strtol:entry {{ @[probefunc] = count(); }}", t.pid)
        t.call("m")
        t.call(2)
        got[mode], places = tracer.end()
    check("copied: what fires", lines_of(got["all"]), lines_of(got["off"]))
    check("copied: in the copy, too", "add 3" in lines_of(got["all"]) or got["all"], True)
    check("copied: all is in the process", places, (2, 0))
    check("copied: the process ends well", t.end(), 0)


def crowded():
    """A process without room for the buffers within reach: they lie elsewhere."""
    t = Target()
    t.call("c")
    script = f'{P}:add:entry,{P}:ways:return {{ @[probefunc, arg1] = count(); printf("%d\\n", arg1); }}'
    got = {}
    for mode in ("off", "all"):
        tracer = Tracer(mode, script, t.pid)
        if mode == "all":
            with open(f"/proc/{t.pid}/maps") as maps:
                parts = [([int(x, 16) for x in l.split()[0].split("-")], l.split()[1], "/dev/zero" in l) for l in maps]
            head = [at[1] for at, perms, is_shared in parts if perms == "r--s" and is_shared]
            code = [at[1] for at, perms, _ in parts if perms == "r-xp" and at[0] in head]
            data = [at[0] for at, perms, is_shared in parts if perms == "rw-s" and is_shared]
            check("crowded: code and data lie apart", len(head) == len(code) == len(data) == 1 and code != data or parts, True)
        t.call()
        t.call("f")
        got[mode], places = tracer.end()
    check("crowded: what fires", lines_of(got["all"]), lines_of(got["off"]))
    check("crowded: all is in the process", isinstance(places, tuple) and places[0] > 1 and places[1] == 0 or places, True)
    check("crowded: the process ends well", t.end(), 0)


def forges(t):
    """A process that changes the records it has made: they are dropped and counted, and the session goes on."""
    for _ in range(10):
        tracer = Tracer("all", f'{P}:add:entry {{ printf("%d\\n", arg0); }}', t.pid, "-x", "switchrate=500ms")
        check("forged: the process has found records", t.call("h") > 0, True)
        t.call(3)
        out = tracer.end()[0]
        drops = sum(int(x) for x in re.findall(r"(\d+) drops? on CPU", tracer.err))
        # 50 rounds call it 66 times, 3 of them 4 times
        check("forged: those that are left, and those that are counted", len(lines_of(out)) + drops, 70)
        if drops:  # else all were read before they were changed
            return
    check("forged: some are counted", tracer.err, "drops")


def comes(t):
    """A library that is opened while probes are in place."""
    with open(f"{TMP}/come.c", "w") as f:
        f.write("long from_library(long n) { return n + 38; }\n")
    subprocess.run([CC, "-O1", "-shared", "-fPIC", "-o", LIBRARY, f"{TMP}/come.c"], check=True)
    tracer = Tracer("all", f"{P}:add:entry,pid$target:libcome.so:from_library:entry {{ @[probefunc] = count(); }}", t.pid, "-Z", "-x", "libstop")
    check("the library's function", t.call(LIBRARY), 42)
    t.call(1)
    check("a library that comes", lines_of(tracer.end()[0]), ["add 1", "from_library 1"])


def comes_and_shares():
    """A clause on a library that comes later shares a variable with others: all of them run in the kernel from the beginning."""
    t = Target()
    tracer = Tracer("all", f"{P}:add:entry {{ n++; }} pid$target:libcome.so:from_library:entry {{ @[n] = count(); }}", t.pid, "-Z", "-x", "libstop")
    t.call(2)
    check("shares: the library's function", t.call(LIBRARY), 42)
    out, places = tracer.end()
    check("shares: what fires", lines_of(out), ["2 1"])
    check("shares: its clauses run in the kernel", isinstance(places, tuple) and places[0] == 0 or places, True)
    check("shares: the process ends well", t.end(), 0)


def command():
    """A process of -c, from its first instruction of main() on."""
    outs = {}
    for mode in ("off", "all"):
        p = subprocess.run([DTRACE, "-q", "-x", "inprocsum", "-x", f"inproc={mode}", "-c", FILE, "-n", f"{P}:add:entry {{ @[probefunc, arg1] = count(); }} END {{ printa(@); }}"],
                           input="4\n", capture_output=True, text=True, timeout=120 * PATIENCE)
        outs[mode] = lines_of(p.stdout)
        if mode == "all":
            check("-c: places in the process", bool(re.search(r"[1-9]\d* places? probed in process", p.stderr)) or p.stderr, True)
    check("-c: the output", outs["all"], outs["off"])


def refused(t):
    """A process that is being debugged: an error with all, uprobes with auto."""
    gdb = subprocess.Popen(["gdb", "-q", "-nx", "-p", str(t.pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    gdb.stdin.write("echo HELD\\n\n")
    gdb.stdin.flush()
    while "HELD" not in gdb.stdout.readline():
        pass
    script = f"{P}:add:entry {{ @ = count(); }} tick-10ms {{ exit(0); }}"
    p = {mode: subprocess.run([DTRACE, "-qv", "-x", f"inproc={mode}", "-p", str(t.pid), "-n", script], capture_output=True, text=True, timeout=60 * PATIENCE)
         for mode in ("all", "auto")}
    gdb.communicate("detach\nquit\n", timeout=60 * PATIENCE)
    check("refused: all is an error", p["all"].returncode != 0 and "inproc" in p["all"].stderr or p["all"].stderr, True)
    check("refused: auto is uprobes", p["auto"].returncode == 0 and " 0 places probed in process" in " " + p["auto"].stderr or p["auto"].stderr, True)


subprocess.run([CC, "-O2", "-pthread", "-o", FILE, f"{SRC}/tests/e2e/inproc/same.c", "-ldl"], check=True)
t = Target()
only = os.environ.get("ONLY", "")
for row in SCRIPTS:
    if only in row[0]:
        same(t, *row)
for f in (exits, killed, left, children, follows, stuck, forges, comes):
    if only in f.__name__:
        f(t)
if only in "comes_and_shares":
    comes_and_shares()
if only in "crowded":
    crowded()
if only in "copied":
    copied()
if only in "command":
    command()
if only in "refused":
    if subprocess.run(["sh", "-c", "command -v gdb"], capture_output=True).returncode == 0:
        refused(t)
    else:
        print("skip: no gdb")
check("the process ends well", t.end(), 0)
sys.exit(report())
