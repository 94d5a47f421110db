#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Probes on functions of processes: Fathom and bpftrace side by side, medians and ratios.

    bench/funcs.py [--build build] [--runs 3] [--only NAME] [--json bench/funcs.json] [--many]

Cost: nanoseconds added to one call of a function that begins with the named instruction (bench/funcs.c), less
the same loop untraced just before. Floor: the same for an empty BPF program on that instruction (bench/floor.c); what is above it is ours. Table: seconds from start to the first table of a program of 1,000 functions, and of
all functions of the C library. bpftrace needs minutes to take 1,000 probes off: only with --many.
"""
import os, subprocess, sys, tempfile, time

from pairs import Bench, added_to_loop, build_c, build_floor

CALLS = 200_000


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
    bench = Bench("funcs", flags=["--many"], width=44)
    opts, dt, row = bench.opts, bench.dtrace, bench.row
    with tempfile.TemporaryDirectory() as tmp:
        exe, floor = build_c(tmp, "funcs"), build_floor(tmp)
        cost = lambda func, argv: added_to_loop([exe, func, str(CALLS)], argv)

        def dtq(probe):
            return [dt, "-qn", f'pid$target:a.out:{probe} {{ @ = count(); }} tick-50ms {{ printf("READY\\n"); }}', "-p", "PID"]

        def btq(kind, func):
            return ["bpftrace", "-B", "line", "-p", "PID", "-e",
                    f'{kind}:{exe}:{func} {{ @ = count(); }} interval:ms:50 {{ printf("READY\\n"); }}']

        bench.heading()
        for func in ("push", "endbr"):
            row(f"entry of a function: {func}, empty program", lambda f=func: cost(f, [floor, exe, f"f_{f}"]), None, "ns", "the floor")
        for func, target in (("push", "<= 800 ns"), ("endbr", "<= 800 ns"), ("mov", "stepped by the kernel")):
            row(f"entry of a function: {func}", lambda f=func: cost(f, dtq(f"f_{f}:entry")),
                lambda f=func: cost(f, btq("uprobe", f"f_{f}")), "ns", target)
        for func in ("endbr", "mov", "push"):  # a replaced return address costs what the first instruction costs, and a little
            row(f"return of a function: {func}", lambda f=func: cost(f, dtq(f"f_{f}:return")),
                lambda f=func: cost(f, btq("uretprobe", f"f_{f}")), "ns", "<= 1.0")
        many = thousand(tmp)
        table = '{ @[probefunc] = count(); } tick-100ms { printa("row %s %@d\\n", @); exit(0); }'
        row("1,000 functions: start to first table", lambda: first_table([dt, "-qn", "pid$target:a.out:fn_*:entry " + table, "-c", many]),
            (lambda: first_table(["bpftrace", "-c", many, "-e",
                                  f"uprobe:{many}:fn_* {{ @[func] = count(); }} interval:ms:100 {{ print(@); exit(); }}"])) if opts.many else None,
            "s", "<= 1.5 s", runs=1 if opts.many else None)
        row("all functions of libc: start to first table", lambda: first_table([dt, "-qn", "pid$target:libc.so.6::entry " + table, "-c", many]),
            None, "s", "<= 3 s")
    bench.save()


if __name__ == "__main__":
    sys.exit(main())
