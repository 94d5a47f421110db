#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A flame graph of many stacks: time from ^C to the file, memory, size of the file; medians.

    bench/flame.py [--build build] [--runs 5]

A program makes 1,000,000 calls from 50,000 different stacks of some 40 frames (bench/flame.c); dtrace aggregates them by ustack(). Text of the same
aggregation stands beside it. CPU: what dtrace has used from begin to end.
"""
import argparse, os, resource, signal, statistics, subprocess, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def once(dtrace, work, form, out):
    argv = [dtrace, "-q", "-x", "aggsize=256m", "-x", "oformat=" + form, "-o", out, "-n",
            'BEGIN { freopen("/dev/stderr"); printf("READY\\n"); freopen(""); } syscall::getppid:entry /execname == "flame"/ { @[ustack()] = count(); }', "-w"]
    if os.path.exists(out):
        os.unlink(out)
    t = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while "READY" not in t.stderr.readline():
        if t.poll() is not None:
            raise RuntimeError(f"{argv} ended")
    subprocess.run([work, "1000000", "16", "50000"], check=True)
    begin = time.monotonic()
    t.send_signal(signal.SIGINT)
    _, _, used = os.wait4(t.pid, 0)
    return time.monotonic() - begin, used.ru_maxrss / 1024, os.path.getsize(out) / 1e6, used.ru_utime + used.ru_stime


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", default=os.path.join(ROOT, "build"))
parser.add_argument("--runs", type=int, default=5)
args = parser.parse_args()
os.environ["DTRACE_OPT_SYSLIBDIR"] = os.path.join(ROOT, "dlib")
dtrace = os.path.join(args.build, "src/cmd/dtrace/dtrace")
with tempfile.TemporaryDirectory() as tmp:
    work = os.path.join(tmp, "flame")
    subprocess.run(["cc", "-O1", "-fno-optimize-sibling-calls", "-o", work, os.path.join(ROOT, "bench/flame.c")], check=True)
    print(f"{'form':8} {'s from ^C':>10} {'MiB':>8} {'MB file':>8} {'s CPU':>8}")
    for form in ("flame", "folded", "text"):
        runs = [once(dtrace, work, form, os.path.join(tmp, "out")) for _ in range(args.runs)]
        print(f"{form:8} " + " ".join(f"{statistics.median(r[i] for r in runs):{w}.2f}" for i, w in enumerate((10, 8, 8, 8))), flush=True)
