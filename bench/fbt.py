#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Functions of the kernel: Fathom and bpftrace side by side, medians and ratios.

    sudo bench/fbt.py [--build build] [--runs 3] [--only NAME] [--json bench/fbt.json]
    tools/vm -k linux-image-6.12.117+deb12-cloud-amd64 'bench/fbt.py --build $BUILD'     # where this machine's kernel has no kprobes

All functions: each entry is counted. attach: from the start of the tracer to its first timer, which is set when all functions are traced; detach: from
SIGINT to its end; memory: of the process at most, and what the whole machine has less meanwhile; 'programs' is how much longer twenty
programs take to start and end meanwhile. A hit: nanoseconds added to one getppid(), less the same loop untraced just before; 'an empty
program' is one that the kernel calls in the same way (bench/kfloor.c): what is above it is ours.
"""
import os, re, subprocess, sys, tempfile, time

from pairs import Bench, Tracer, added, build_c

CALLS, LOOPS = 20_000, 15  # the fastest loop counts: an emulated machine is stopped again and again
os.environ["BPFTRACE_MAX_PROBES"] = "1000000"
ALL_D = 'fbt:::entry { @ = count(); } tick-10ms { printf("READY\\n"); }'
ALL_B = 'kprobe:* { @ = count(); } interval:ms:10 { printf("READY\\n"); }'


def available():
    """Megabytes."""
    return int(re.search(r"MemAvailable: +(\d+)", open("/proc/meminfo").read())[1]) / 1024


def programs():
    start = time.monotonic()
    for _ in range(20):
        subprocess.run(["/bin/true"], check=True)
    return time.monotonic() - start


class All:
    """
    One run of a tracer on all functions: attach and detach in seconds, megabytes, and what programs take meanwhile. The empty program
    (bench/kfloor.c) does nothing but make the link: what it takes is the kernel's share.
    """

    def __init__(self, argv):
        before, usual = available(), programs()
        start = time.monotonic()
        tracer = Tracer(argv)
        self.attach = time.monotonic() - start
        self.machine = before - available()
        self.peak = int(re.search(r"VmHWM:\s+(\d+)", open(f"/proc/{tracer.proc.pid}/status").read())[1]) / 1024
        self.programs = programs() / usual
        start = time.monotonic()
        tracer.stop()
        self.detach = time.monotonic() - start


def main():
    bench = Bench("fbt", width=44, unit_width=5, alone="-")
    try:
        names = [l.split()[0] for l in open("/sys/kernel/tracing/available_filter_functions")]
    except OSError as e:
        sys.exit(f"functions of this kernel cannot be traced: {e}")
    func = next(n for n in names if re.fullmatch(r"(__do|__x64|__se)_sys_getppid", n))
    tmp = tempfile.mkdtemp()
    load, kfloor = build_c(tmp, "load"), build_c(tmp, "kfloor", "-lbpf")
    bench.heading()

    def hit(argv):
        loop = lambda: float(subprocess.run([load, "getppid", str(CALLS)], check=True, capture_output=True, text=True).stdout)
        return added(lambda: min(loop() for _ in range(LOOPS)), argv)

    begin = 'BEGIN { printf("READY\\n"); } '
    # more than eight functions have one link (or a kprobe each); the others are not called meanwhile
    many = [n for n in names if re.fullmatch(r"(__do|__x64|__se)_sys_(s?et|s?get)[a-z]*id(16)?", n)]
    for name, way, d, b in (
            ("entry", "fentry", f"fbt::{func}:entry", f"kfunc:{func}"),
            ("return", "fexit", f"fbt::{func}:return", f"kretfunc:{func}"),
            ("entry, one of many", "multi", ",".join(f"fbt::{n}:entry" for n in many), ",".join(f"kprobe:{n}" for n in many)),
            ("return, one of many", "multi-return", ",".join(f"fbt::{n}:return" for n in many), ",".join(f"kretprobe:{n}" for n in many))):
        row, ours = bench.row, [bench.dtrace, "-qn", begin + d + " { @ = count(); }"]
        theirs = ["bpftrace", "-B", "line", "-e", begin + b + " { @ = count(); }"]
        row(f"{name}: an empty program", lambda: hit([kfloor, way, *(many if "multi" in way else [func])]), None, "ns", "")
        row(name, lambda: hit(ours), lambda: hit(theirs), "ns", "<= empty program + 60 ns")

    all_rows = ("attach", "detach", "attach an empty program", "detach an empty program", "peak", "machine", "programs")
    if any(bench.wants(f"all functions: {what}") for what in all_rows):
        one = lambda argv: [All(argv) for _ in range(bench.opts.runs)]
        a, b = one([bench.dtrace, "-qn", ALL_D]), one(["bpftrace", "-B", "line", "-e", ALL_B])
        if os.path.exists("/sys/kernel/tracing/available_filter_functions_addrs"):  # Linux 6.5
            empty = one([kfloor, "all"])
            bench.row("all functions: attach an empty program", iter([r.attach for r in empty]).__next__, None, "s", "")
            bench.row("all functions: detach an empty program", iter([r.detach for r in empty]).__next__, None, "s", "")
        for what, unit, target in (("attach", "s", "<= 0.05"), ("detach", "s", ""), ("peak", "MiB", "bounded"), ("machine", "MiB", "bounded"),
                                   ("programs", "times", "usable")):
            values = [iter(getattr(r, what) for r in runs) for runs in (a, b)]
            bench.row(f"all functions: {what}", lambda: next(values[0]), lambda: next(values[1]), unit, target)
    bench.save()
    print(f"raw numbers: {bench.opts.json}")


if __name__ == "__main__":
    sys.exit(main())
