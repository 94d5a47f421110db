#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fathom and bpftrace side by side, in one run on one machine: medians and ratios.

    bench/run.py [--build build] [--runs 5] [--only NAME] [--quick] [--json bench/results.json]

Needs root and Debian's bpftrace. Every row runs both tools alternately RUNS times; the table shows the
medians and 'ratio' = ours / theirs (below 1 is better for us) or, for rates, ours / theirs (above 1 is
better). Costs per call are the traced time less the untraced time of the same loop measured just
before. All raw numbers are kept in the JSON file. --quick leaves out bpftrace on all system calls, which
takes minutes to detach.
"""
import os, signal, subprocess, sys, tempfile, time

from pairs import Bench, added, build_c, wall_and_rss

CALLS = 1_000_000


def first_line(argv, wanted, limit):
    """Seconds until a line containing wanted is printed; then the tracer is ended."""
    start = time.monotonic()
    proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    took = None
    for line in proc.stdout:
        if wanted in line:
            took = time.monotonic() - start
            break
    proc.stdout.close()
    proc.terminate()
    try:
        proc.wait(limit)
    except subprocess.TimeoutExpired:
        proc.kill()
        proc.wait()
    return took


def keys(load, argv, n, folder):
    """Seconds of a whole run with n keys, seconds of it after the traced program's end, peak memory in KiB."""
    path = os.path.join(folder, "end")
    start = time.monotonic()
    _, rss = wall_and_rss(load, argv + ["-c", f"{load} keys {n} {path}"])
    end = time.monotonic()
    with open(path) as f:
        return end - start, end - int(f.read()) / 1e9, rss


def ns_per_call(load, mode):
    return float(subprocess.run([load, mode, str(CALLS)], check=True, capture_output=True, text=True).stdout)


def cost(load, mode, argv):
    """Added nanoseconds a call while the tracer runs."""
    return added(lambda: ns_per_call(load, mode), argv)


def kept(argv, load, rate, is_rec, piped):
    """True when 3 s of calls at a rate are all printed, to a file or through a pipe."""
    with tempfile.TemporaryDirectory() as tmp:
        out = os.path.join(tmp, "out")
        with open(out, "w") as f:
            proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if piped else f, stderr=subprocess.DEVNULL)
            reader = subprocess.Popen(["cat"], stdin=proc.stdout, stdout=f) if piped else None
            deadline = time.monotonic() + 60
            while "READY" not in open(out).read(4096) and time.monotonic() < deadline:
                time.sleep(0.02)
            made = int(subprocess.run([load, "paced", str(rate), "3"], check=True, capture_output=True, text=True).stdout)
            time.sleep(1.5)
            proc.send_signal(signal.SIGINT)
            proc.wait()
            if reader:
                proc.stdout.close()
                reader.wait()
        with open(out, errors="replace") as f:
            lines = sum(1 for line in f if is_rec(line))
    return lines >= made and made >= rate * 2.7


def max_rate(argv, load, is_rec=lambda line: line.startswith("rec "), piped=False):
    best = 0
    for rate in (50, 100, 150, 200, 300, 400, 500, 600, 800, 1000):
        if not kept(argv, load, rate * 1000, is_rec, piped):
            break
        best = rate * 1000
    return best


def big_script(path):
    """1,000 lines of ordinary D."""
    lines = []
    for i in range(125):
        lines += ["syscall::read:entry,", "syscall::write:entry", f"/execname != \"prog{i}\" && arg0 > {i}/", "{",
                  f"\tself->ts{i % 20} = timestamp;", f"\t@bytes{i % 30}[execname, probefunc] = sum(arg2 + {i});",
                  f"\tprintf(\"%s %d %s\\n\", execname, pid, probefunc);", "}"]
    with open(path, "w") as f:
        f.write("\n".join(lines) + "\n")


def main():
    bench = Bench("results", runs=5, flags=["--quick"], width=44, unit_width=8, alone="-")
    opts, dt, row = bench.opts, bench.dtrace, bench.row
    tmp = tempfile.mkdtemp()
    load = build_c(tmp, "load")

    def bt(text):
        return ["bpftrace", "-B", "line", "-e", text]

    ready_d, ready_b = 'BEGIN { printf("READY\\n"); }', 'BEGIN { printf("READY\\n"); }'

    def dtq(text):
        return [dt, "-qn", ready_d + " " + text]

    def btq(text):
        return bt(ready_b + " " + text)

    bench.heading(load=False)
    trivial_d, trivial_b = [dt, "-qn", "BEGIN { exit(0); }"], bt("BEGIN { exit(); }")
    row("trivial program: wall", lambda: wall_and_rss(load, trivial_d)[0], lambda: wall_and_rss(load, trivial_b)[0], "ms", "<= 0.1")
    row("trivial program: peak memory", lambda: wall_and_rss(load, trivial_d)[1] / 1024, lambda: wall_and_rss(load, trivial_b)[1] / 1024, "MiB", "<= 0.125")
    types_d = [dt, "-qn", 'BEGIN { printf("%s %d", curpsinfo->pr_psargs, curthread->mm->map_count); exit(0); }']
    types_b = bt('BEGIN { printf("%s %d", comm, curtask->mm->map_count); exit(); }')
    row("kernel types in use: wall", lambda: wall_and_rss(load, types_d)[0], lambda: wall_and_rss(load, types_b)[0], "ms", "<= 40 ms")
    row("kernel types in use: peak memory", lambda: wall_and_rss(load, types_d)[1] / 1024, lambda: wall_and_rss(load, types_b)[1] / 1024, "MiB", "<= 20 MiB")
    all_d = [dt, "-qn", 'syscall:::entry { @[probefunc] = count(); } tick-1s { printa("row %s %@d\\n", @); exit(0); }']
    all_b = bt('tracepoint:syscalls:sys_enter_* { @[probe] = count(); } interval:s:1 { print(@); exit(); }')
    row("all system calls: start to first table", lambda: first_line(all_d, "row ", 60),
        None if opts.quick else lambda: first_line(all_b, "@[", 300), "s", "<= 2.0 s", runs=1 if not opts.quick else None)
    row("count() at getppid", lambda: cost(load, "getppid", dtq("syscall::getppid:entry { @ = count(); }")),
        lambda: cost(load, "getppid", btq("tracepoint:syscalls:sys_enter_getppid { @ = count(); }")), "ns", "<= 0.8")
    row("@[execname] = count()", lambda: cost(load, "getppid", dtq("syscall::getppid:entry { @[execname] = count(); }")),
        lambda: cost(load, "getppid", btq("tracepoint:syscalls:sys_enter_getppid { @[comm] = count(); }")), "ns", "<= 0.8")
    row("@[execname, arg0] = quantize(arg2)",
        lambda: cost(load, "write", dtq("syscall::write:entry { @[execname, arg0] = quantize(arg2); }")),
        lambda: cost(load, "write", btq("tracepoint:syscalls:sys_enter_write { @[comm, args->fd] = hist(args->count); }")), "ns", "<= 0.8")
    row("latency: self->ts, quantize",
        lambda: cost(load, "getppid", dtq("syscall::getppid:entry { self->ts = timestamp; } "
                                          "syscall::getppid:return /self->ts/ { @ = quantize(timestamp - self->ts); self->ts = 0; }")),
        lambda: cost(load, "getppid", btq("tracepoint:syscalls:sys_enter_getppid { @s[tid] = nsecs; } "
                                          "tracepoint:syscalls:sys_exit_getppid /@s[tid]/ { @ = hist(nsecs - @s[tid]); delete(@s[tid]); }")), "ns", "<= 0.7")
    paths = "tracepoint:syscalls:sys_enter_access { @[str(args->filename)] = count(); }"
    row("@[copyinstr(arg0)] = count()",
        lambda: cost(load, "access", dtq("syscall::access:entry { @[copyinstr(arg0)] = count(); }")),
        lambda: cost(load, "access", btq(paths)), "ns", "<= 1.0")
    row("strjoin/substr key, against str()",
        lambda: cost(load, "access", dtq('syscall::access:entry { @[strjoin(substr(copyinstr(arg0), 1, 12), "*")] = count(); }')),
        lambda: cost(load, "access", btq(paths)), "ns", "<= 1.0")
    row("printf of three fields kept without loss",
        lambda: max_rate(dtq('syscall::getppid:entry /execname == "load"/ { printf("rec %d %s %d\\n", pid, execname, timestamp); }'), load),
        lambda: max_rate(btq('tracepoint:syscalls:sys_enter_getppid /comm == "load"/ { printf("rec %d %s %llu\\n", pid, comm, nsecs); }'), load),
        "1/s", ">= 400000", runs=1 if opts.quick else 3)
    json_d = [dt, "-x", "oformat=jsonl", "-qn", ready_d + ' syscall::getppid:entry /execname == "load"/ { trace(pid); trace(execname); trace(timestamp); }']
    row("JSON of three fields through a pipe, no loss", lambda: max_rate(json_d, load, lambda line: '"getppid"' in line, True), None,
        "1/s", ">= 300000", runs=1 if opts.quick else 3)
    os.environ["BPFTRACE_MAP_KEYS_MAX"] = "1048576"
    for n, wanted in ((300_000, 0.6), (1_000_000, 2.0)):
        keys_d = [dt, "-x", "aggsize=256m", "-qn", "syscall::getpgid:entry /pid == $target/ { @[arg0] = count(); }"]
        keys_b = bt("tracepoint:syscalls:sys_enter_getpgid { @[args->pid] = count(); }")
        for i, what, unit, target in ((0, "whole run", "s", ""), (1, "program's end to our end", "s", f"<= {wanted} s"),
                                      (2, "peak memory", "KiB", "")):
            row(f"{n:,} keys: {what}", lambda: keys(load, keys_d, n, tmp)[i],
                None if opts.quick else lambda: keys(load, keys_b, n, tmp)[i], unit, target, runs=3)
    script = os.path.join(tmp, "big.d")
    big_script(script)
    row("compile of a 1,000-line script", lambda: wall_and_rss(load, [dt, "-qe", "-s", script])[0], None, "ms", "<= 50 ms")
    bench.save()
    print(f"raw numbers: {opts.json}")


if __name__ == "__main__":
    sys.exit(main())
