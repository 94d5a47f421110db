# SPDX-License-Identifier: MIT
"""Probes of programs (USDT) by uprobes (-x inproc=off) and in the process (auto): the same output of the same scripts.

The program fires probes whose arguments are in registers, numbers, and words of the stack, of all sizes; probes with counters, with several sites, and of a
library. Counters are 0 again when dtrace has ended, in whatever way. bpftrace is on the same nops before and after.
"""
import os, re, shutil, signal, subprocess, sys, time

import tracing
from tracing import PATIENCE, Tracer, check, lines_of, report

TMP, SRC, CC = os.environ["TMP"], os.environ["SRC"], os.environ.get("CC", "cc")
FILE, LIBRARY = f"{TMP}/usdt", f"{TMP}/libfired.so"
ROUNDS = 5


class Target(tracing.Target):
    def __init__(self):
        super().__init__(FILE, LIBRARY)
        self.clean = self.code()

    def call(self, what=ROUNDS):
        return super().call(what)

    def code(self):
        return super().code(LIBRARY)

    def counters(self):
        """Bits: which counters are not 0: often, asked, twice, that of the library."""
        return self.call("c")

    def counters_until(self, want):
        """The same, when they are what they must become: the kernel lowers them some time after a tracer has ended."""
        until = time.monotonic() + 30 * PATIENCE
        while self.counters() != want and time.monotonic() < until:
            time.sleep(0.02)
        return self.counters()


K = "kinds$target:::"
REGISTERS = ["s1", "u1", "s2", "u2", "s4", "u4", "s8", "u8", "high", "c1", "c8", "two"]
STACK = ["m1", "m2", "m4", "mu4", "m8", "red"]
N = ROUNDS
WANT = {"s1": lambda i: i - 100, "u1": lambda i: i + 200, "s2": lambda i: i - 30000, "u2": lambda i: (i + 60000) & 0xffff, "s4": lambda i: i - 2000000000,
        "u4": lambda i: (i + 4000000000) & 0xffffffff, "s8": lambda i: i - 5, "u8": lambda i: i + 0xfedcba9876543210 - (1 << 64), "high": lambda i: i,
        "c1": lambda i: -7, "c8": lambda i: 0x123456789abcdef, "two": lambda i: 3 * i, "m1": lambda i: -i, "m2": lambda i: (i + 65000) & 0xffff,
        "m4": lambda i: -i, "mu4": lambda i: i, "m8": lambda i: i << 40, "red": lambda i: 7 * i, "caller": lambda i: i}


def values(names):
    return sorted(f"{n} {WANT[n](i)}" for n in names for i in range(N))


def probes(names):
    return ",".join(K + n for n in names)


# name, script, the sorted lines of the output (None: only the same), how many places are in the process and how many are uprobes (None: any)
SCRIPTS = [
    ("registers", probes(REGISTERS) + ' { printf("%s %d\\n", probename, arg0); }', values(REGISTERS), (len(REGISTERS), 0)),
    ("words of the stack", probes(STACK) + ' { printf("%s %d\\n", probename, arg0); }', values(STACK), (len(STACK), 0)),
    ("addresses", K + 'address { @[arg0 == uregs[R_RIP], arg0 > 4096] = count(); }', [f"0 1 {N}"], (1, 0)),
    ("memory elsewhere", K + 'caller { printf("%s %d\\n", probename, arg0); } ' + K + "global { @[arg0 >= 0] = count(); }",
     sorted(values(["caller"]) + [f"1 {N}"]), (0, 2)),
    ("memory elsewhere that nobody reads", K + "caller," + K + "global { @[probename] = count(); }", [f"caller {N}", f"global {N}"], (2, 0)),
    ("arguments that are not there", K + "s1 { @[arg1, arg9] = count(); }", [f"0 0 {N}"], (1, 0)),
    ("registers of the machine", K + "s8 { @[arg0, uregs[R_RIP] > 0, uregs[R_RSP] > 0] = count(); }", None, (1, 0)),
    ("typed arguments", K + "s4 { @ = sum(args[0]); }", None, (1, 0)),
    ("all", 'kinds$target:::,app$target:::,lib$target::: { @[probeprov, probemod, probefunc, probename] = count(); }', None, None),
    ("several sites", 'app$target:::twice { printf("%d\\n", arg0); }', sorted(str(i + k) for i in range(N) for k in (0, 1)), None),
    ("a library", 'lib$target:::fired { @[probemod, arg0] = count(); }', sorted(f"libfired.so {i} 1" for i in range(N)), (1, 0)),
    ("counters", 'app$target:::asked { @ = count(); }', [str(N)], (1, 0)),
    ("variables of threads", 'self long n; app$target:usdt::often { self->n += arg0; } app$target:usdt::twice /self->n/ { @[self->n] = count(); self->n = 0; }',
     [f"3 {N}"], (3, 0)),
    ("a place behind that has other ways", K + "joins { @ = count(); }", [str(N // 2)], (0, 1)),
    ("beside functions", 'pid$target:a.out:often:entry,pid$target:a.out:often:return,pid$target:a.out:twice:entry,pid$target:a.out:twice:return '
     '{ @[probefunc, probename] = count(); } app$target:::often,app$target:::twice { @[probefunc, probename] = count(); }', None, None),
]


def same(t, name, script, want, where):
    got = {}
    for mode in ("off", "auto"):
        tracer = Tracer(mode, script, t.pid)
        t.call()
        got[mode], places = tracer.end()
        if mode == "auto":
            check(f"{name}: places", places if where or not isinstance(places, tuple) else places[0] > 0, where or True)
        check(f"{name}: what is said ({mode})", [l for l in tracer.err.splitlines() if " probed in process" not in l and l.strip()], [])
    check(f"{name}: the output", lines_of(got["auto"]), lines_of(got["off"]))
    if want is not None:
        check(f"{name}: what the program has done", lines_of(got["auto"]), want)


def counters(t):
    """Raised while somebody is there, and 0 again afterwards, also when the tracer is killed."""
    check("counters: before", t.counters_until(0), 0)
    for how in (signal.SIGINT, signal.SIGKILL):
        tracer = Tracer("auto", "app$target:::asked,app$target:::twice,lib$target:::fired { @ = count(); }", t.pid)
        check(f"counters: while it is traced ({how})", t.counters(), 14)
        other = Tracer("auto", "app$target:::often,app$target:::asked { @[probename] = count(); }", t.pid)
        check(f"counters: by two ({how})", t.counters(), 15)
        t.call()
        out, places = other.end()
        check("counters: the second tracer", lines_of(out), [f"asked {N}", f"often {3 * N}"])
        check(f"counters: when the second one has gone ({how})", t.counters_until(14), 14)
        out = tracer.end(how)[0]
        until = time.monotonic() + 30 * PATIENCE
        while t.code() != t.clean and time.monotonic() < until:
            t.call(1)
        check(f"counters: in the end ({how})", (t.counters_until(0), t.code() == t.clean), (0, True))


def beside(t):
    """bpftrace on the same nops: it comes and goes while our windows are there, and the other way round."""
    script = "app$target:::often,app$target:::twice,kinds$target:::s8,kinds$target:::two { @[probename] = count(); }"
    want = [f"often {3 * N}", f"s8 {N}", f"twice {2 * N}", f"two {N}"]
    theirs = "".join(f"usdt:{FILE}:{p} {{ @[\"{p.split(':')[1]}\"] = count(); }}\n" for p in ("app:often", "app:twice", "kinds:s8", "kinds:two"))

    def peer():
        p = subprocess.Popen(["bpftrace", "-p", str(t.pid), "-e", theirs + 'interval:ms:50 { printf("READY\\n"); }'], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
        for line in p.stdout:
            if "READY" in line:
                return p
        raise ValueError("bpftrace does not begin")

    def peer_end(p):
        p.send_signal(signal.SIGINT)
        return dict(re.findall(r"@\[(\w+)\]: (\d+)", p.communicate(timeout=60 * PATIENCE)[0]))

    check("beside bpftrace: the counters before", t.counters_until(0), 0)
    counted = {"often": str(3 * N), "twice": str(2 * N), "s8": str(N), "two": str(N)}
    tracer = Tracer("auto", script, t.pid)
    p = peer()
    t.call()
    check("beside bpftrace, which came later: its counts", peer_end(p), counted)
    check("beside bpftrace: the counters", t.counters(), 5)
    out, places = tracer.end()
    check("beside bpftrace, which came later", lines_of(out), want)
    check("beside bpftrace: in the process", places, (5, 0))
    p = peer()
    tracer = Tracer("auto", script, t.pid)
    t.call()
    out, places = tracer.end()
    check("beside bpftrace, which was first", lines_of(out), want)
    t.call(1)
    check("beside bpftrace, which was first: its counts", peer_end(p), {k: str(int(v) + int(v) // N) for k, v in counted.items()})
    check("beside bpftrace: the counters in the end", t.counters_until(0), 0)


subprocess.run([CC, "-O2", f"-I{SRC}/include", "-o", FILE, f"{SRC}/tests/e2e/inproc/usdt.c", "-ldl"], check=True)
subprocess.run([CC, "-O2", f"-I{SRC}/include", "-shared", "-fPIC", "-DLIBRARY", "-o", LIBRARY, f"{SRC}/tests/e2e/inproc/usdt.c"], check=True)
only = os.environ.get("ONLY", "")
t = Target()
for row in SCRIPTS:
    if only in row[0]:
        same(t, *row)
for f in (counters, beside):
    if only not in f.__name__:
        continue
    if f is beside and not shutil.which("bpftrace"):
        print("skip: no bpftrace")
        continue
    f(t)
check("the process ends well", t.end(), 0)
sys.exit(report())
