#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""User stacks and names: Fathom and bpftrace side by side, medians and ratios.

    bench/stacks.py [--build build] [--runs 3] [--only NAME] [--json bench/stacks.json]

Cost of a stack: nanoseconds that a 40-frame ustack() as a key of an aggregation adds to a call of a function (bench/stacks.c), above
the same probe with count() alone. bpftrace walks frame pointers: without them it has no row. Full depth: share of the stacks of
profile-997 that have all 40 functions, of a program that is new on this machine and starts while we look, without being named. Names: share of
addresses that have a name when their processes, 200 that live for a millisecond, have ended.
"""
import os, re, shutil, subprocess, sys, tempfile

from pairs import ROOT, Bench, Tracer, added_to_loop

CALLS = 20_000
FRAMES = 40


def share(argv, work, count):
    """count(output) of a tracer that runs while work() does."""
    t = Tracer(argv)
    work()
    return count(t.stop()[0])


def stacks(out):
    """(frames, count) of each stack of either tool's table."""
    frames = []
    for line in out.split("\n"):
        m = re.match(r"\s*(?:\]: )?(\d+)$", line)
        if m:
            yield frames, int(m[1])
            frames = []
        elif line.strip() and not line.startswith("@"):
            frames.append(line.strip())


def full_depth(out):
    """Percent of the stacks in work() that have all functions down to main()."""
    have = want = 0
    for frames, n in stacks(out):
        funcs = [re.sub(r"^.*`|[+].*$", "", f) for f in frames]
        if "work" in funcs or any(re.fullmatch(r"f\d+", f) for f in funcs):
            want += n
            have += n if funcs[-42:-1] and [f for f in funcs if re.fullmatch(r"f\d+", f)] == [f"f{i}" for i in range(1, FRAMES + 1)] else 0
    return 100 * have / max(want, 1)


def named(out):
    """Percent of the frames in the program that have a name."""
    frames = [f for stack, n in stacks(out) for f in stack]
    bare = [f for f in frames if re.search(r"(^|`)0x[0-9a-f]+$|^[0-9a-f]{6,}$|^\[unknown\]", f)]
    return 100 * (1 - len(bare) / max(len(frames), 1))


def main():
    bench = Bench("stacks", width=52, digits=2)
    dt, row = bench.dtrace, bench.row
    with tempfile.TemporaryDirectory() as tmp:
        exes = {}
        for how in ("", "no"):
            exes[how] = os.path.join(tmp, f"stacks{how}")
            subprocess.run(["gcc", "-O2", f"-f{'no-' if not how else ''}omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", exes[how],
                            os.path.join(ROOT, "bench/stacks.c")], check=True)

        def cost(exe, argv):
            return added_to_loop([exe, "calls", str(CALLS)], argv)

        def dtq(exe, key):
            return cost(exe, [dt, "-qn", f'pid$target:a.out:probed:entry {{ @{key} = count(); }} tick-50ms {{ printf("READY\\n"); }}',
                                       "-p", "PID"])

        def btq(exe, key):
            return cost(exe, ["bpftrace", "-B", "line", "-p", "PID", "-e",
                                       f'uprobe:{exe}:probed {{ @{key} = count(); }} interval:ms:50 {{ printf("READY\\n"); }}'])

        def fresh(how, new=[0]):
            new[0] += 1
            exe = os.path.join(tmp, f"new{new[0]}")
            shutil.copy(exes[how], exe)
            subprocess.run([exe, "spin", "2000"], check=True)

        def short():
            for _ in range(200):
                subprocess.run([exes["no"], "once"], check=True)

        bench.heading()
        row("40-frame ustack() key, with frame pointers", lambda: dtq(exes[""], "[ustack(100)]") - dtq(exes[""], ""),
            lambda: btq(exes[""], "[ustack(100)]") - btq(exes[""], ""), "ns", "<= 2000 ns")
        row("40-frame ustack() key, without frame pointers", lambda: dtq(exes["no"], "[ustack(100)]") - dtq(exes["no"], ""), None, "ns", "<= 20000 ns")
        prof = 'profile-997 /%s/ { @[ustack(100)] = count(); } BEGIN { printf("READY\\n"); } END { printa("%%k%%@d\\n", @); }'
        row("profile-997 of a fresh program: full-depth stacks",
            lambda: share([dt, "-qn", prof % 'arg1 && substr(execname, 0, 3) == "new"'], lambda: fresh("no"), full_depth),
            lambda: share(["bpftrace", "-B", "line", "-e", 'BEGIN { printf("READY\\n"); } profile:hz:997 /strncmp(comm, "new", 3) == 0/ '
                           '{ @[ustack(100)] = count(); }'], lambda: fresh("no"), full_depth), "%", ">= 99.9 %")
        row("names when the process has ended",
            lambda: share([dt, "-qn", 'syscall::getppid:entry /execname == "stacksno"/ { @[ustack(100)] = count(); } '
                           'BEGIN { printf("READY\\n"); } END { printa("%k%@d\\n", @); }'], short, named),
            lambda: share(["bpftrace", "-B", "line", "-e", 'BEGIN { printf("READY\\n"); } tracepoint:syscalls:sys_enter_getppid /comm == "stacksno"/ '
                           '{ @[ustack(100)] = count(); }'], short, named), "%", "all")
    bench.save()


if __name__ == "__main__":
    sys.exit(main())
