#!/usr/bin/env python3
"""Probes on functions of processes: Fathom and bpftrace side by side, medians and ratios.

    bench/funcs.py [--build build] [--runs 3] [--only NAME] [--json bench/funcs.json] [--many]

Cost: nanoseconds added to one call of a function that begins with the named instruction (bench/funcs.c), less
the same loop untraced just before. Floor: the same for an empty BPF program on that instruction (bench/floor.c); what is above it is ours. Table: seconds from start to the first table of a program of 1,000 functions, and of
all functions of the C library. bpftrace needs minutes to take 1,000 probes off: only with --many.
"""
import argparse, json, os, platform, signal, statistics, subprocess, sys, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CALLS = 200_000


class Loop:
    """bench/funcs.c, running: a line makes it call its function CALLS times."""

    def __init__(self, exe, func, calls=CALLS):
        self.p = subprocess.Popen([exe, func, str(calls)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ns(self):
        self.p.stdin.write("\n")
        self.p.stdin.flush()
        return float(self.p.stdout.readline())

    def end(self):
        self.p.stdin.close()
        self.p.wait()


def cost(exe, func, argv, calls=CALLS):
    loop = Loop(exe, func, calls)
    base = loop.ns()
    t = subprocess.Popen([w.replace("PID", str(loop.p.pid)) for w in argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True)
    while "READY" not in t.stdout.readline():
        if t.poll() is not None:
            raise RuntimeError(f"{argv} ended")
    loop.ns()
    traced = loop.ns()
    loop.end()
    t.send_signal(signal.SIGINT)
    t.stdout.read()
    t.wait()
    return traced - base


def first_table(argv):
    start = time.monotonic()
    t = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    took = next((time.monotonic() - start for line in t.stdout if "row " in line or "@[" in line), float("nan"))
    t.stdout.read()
    t.wait()
    return took


def thousand(folder):
    """A program that calls each of its 1,000 functions now and then."""
    src, exe = os.path.join(folder, "thousand.c"), os.path.join(folder, "thousand")
    with open(src, "w") as f:
        f.write("#include <unistd.h>\n")
        for i in range(1000):
            f.write(f"__attribute__((noinline)) int fn_{i}(int a) {{ __asm__ volatile(\"\" ::: \"memory\"); return a + {i}; }}\n")
        f.write("int main(void) { for (;;) { int s = 0;\n" + "".join(f"s += fn_{i}(s);\n" for i in range(1000)) + "usleep(10000); } }\n")
    subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-o", exe, src], check=True)
    return exe


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", default=os.path.join(ROOT, "build"))
    ap.add_argument("--runs", type=int, default=3)
    ap.add_argument("--only", default="")
    ap.add_argument("--many", action="store_true")
    ap.add_argument("--json", default=os.path.join(ROOT, "bench/funcs.json"))
    opts = ap.parse_args()
    dt = os.path.join(os.path.abspath(opts.build), "src/cmd/dtrace/dtrace")
    raw = {}
    with tempfile.TemporaryDirectory() as tmp:
        exe = os.path.join(tmp, "funcs")
        floor = os.path.join(tmp, "floor")
        subprocess.run(["gcc", "-O2", "-o", exe, os.path.join(ROOT, "bench/funcs.c")], check=True)
        subprocess.run(["gcc", "-O2", "-o", floor, os.path.join(ROOT, "bench/floor.c"), "-lbpf", "-lelf"], check=True)

        def row(name, ours, theirs, unit, target, runs=None):
            if opts.only not in name:
                return
            a, b = [], []
            for _ in range(runs or opts.runs):
                a.append(ours())
                if theirs:
                    b.append(theirs())
            raw[name] = {"unit": unit, "fathom": a, "bpftrace": b}
            ma, mb = statistics.median(a), statistics.median(b) if b else float("nan")
            print(f"{name:<44} {ma:12.3f} {mb:12.3f} {unit:>4} {ma / mb:8.3f}   {target}", flush=True)

        def dtq(probe):
            return [dt, "-qn", f'pid$target:a.out:{probe} {{ @ = count(); }} tick-50ms {{ printf("READY\\n"); }}', "-p", "PID"]

        def btq(kind, func):
            return ["bpftrace", "-B", "line", "-p", "PID", "-e",
                    f'{kind}:{exe}:{func} {{ @ = count(); }} interval:ms:50 {{ printf("READY\\n"); }}']

        print(f"kernel {platform.release()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, {opts.runs} runs, medians; ratio = fathom / bpftrace")
        print(f"{'what':<44} {'fathom':>12} {'bpftrace':>12} {'unit':>4} {'ratio':>8}   target")
        for func in ("push", "endbr"):
            row(f"entry of a function: {func}, empty program", lambda f=func: cost(exe, f, [floor, exe, f"f_{f}"]), None, "ns", "the floor")
        for func, target in (("push", "<= 800 ns"), ("endbr", "<= 800 ns"), ("mov", "stepped by the kernel")):
            row(f"entry of a function: {func}", lambda f=func: cost(exe, f, dtq(f"f_{f}:entry")),
                lambda f=func: cost(exe, f, btq("uprobe", f"f_{f}")), "ns", target)
        for func in ("endbr", "mov", "push"):  # a replaced return address costs what the first instruction costs, and a little
            row(f"return of a function: {func}", lambda f=func: cost(exe, f, dtq(f"f_{f}:return")),
                lambda f=func: cost(exe, f, btq("uretprobe", f"f_{f}")), "ns", "<= 1.0")
        many = thousand(tmp)
        table = '{ @[probefunc] = count(); } tick-100ms { printa("row %s %@d\\n", @); exit(0); }'
        row("1,000 functions: start to first table", lambda: first_table([dt, "-qn", "pid$target:a.out:fn_*:entry " + table, "-c", many]),
            (lambda: first_table(["bpftrace", "-c", many, "-e",
                                  f"uprobe:{many}:fn_* {{ @[func] = count(); }} interval:ms:100 {{ print(@); exit(); }}"])) if opts.many else None,
            "s", "<= 1.5 s", runs=1 if opts.many else None)
        row("all functions of libc: start to first table", lambda: first_table([dt, "-qn", "pid$target:libc.so.6::entry " + table, "-c", many]),
            None, "s", "<= 3 s")
    with open(opts.json, "w") as f:
        json.dump({"kernel": platform.release(), "cpus": os.cpu_count(), "runs": opts.runs, "raw": raw}, f, indent=1)


if __name__ == "__main__":
    sys.exit(main())
