#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stacks of many processes that map the same files: what dtrace keeps of these.

    sudo bench/images.py [--build build] [--dtrace PATH [--peer PATH]] [--processes 1000] [--runs 3] [--only NAME] [--json bench/images.json]

Processes of some programs, most of them of ten copies of one program with libraries that all of them share, the others of python3 and perl
where they are installed, wait until dtrace is ready, and each makes one system call, whose stack is the key of an aggregation. Printed are the open descriptors of
dtrace and its memory (VmHWM), both at most, and its CPU time; and how many processes had a stack with the names that it has to have.
A row each for ustack(), for jstack(), for which the runtimes' helpers look into the files as well, and for ustack() beside probes that
Python brings along, for which all files are searched. --peer is another dtrace to compare with, measured in turn, and 'ratio' is the first by the peer; in
a build folder below its sources, each has the library of these. The numbers are the least of the runs: what other processes of the machine
map meanwhile is kept, too.
"""
import argparse, contextlib, json, os, platform, re, select, shutil, signal, subprocess, sys, tempfile, threading, time

from pairs import ROOT

COPIES, PARTS, MOST, WAIT = 10, 4, 1000, 120
ROWS = {
    "ustack()": 'syscall::getppid:entry { @[pid, ustack()] = count(); }',
    "jstack()": 'syscall::getppid:entry { @[pid, jstack()] = count(); }',
    "ustack() and USDT": 'python*:::gc__start { @n = count(); } syscall::getppid:entry { @[pid, ustack()] = count(); }',
}
# what a stack of a program has to have
NAMES = {"images": [f"part{i}" for i in range(PARTS)] + ["main"], "python3": ["Py_BytesMain"], "perl": ["perl_run"]}
COMMANDS = {
    "python3": ["python3", "-S", "-c", "import os, sys\nw, d, e = map(int, sys.argv[1:])\nos.read(w, 1) and os.getppid()\nos.write(d, b'x')\nos.read(e, 1)"],
    "perl": ["perl", "-e", "($w, $d, $e) = map { open my $f, '+<&=', $_ or die; $f } @ARGV; sysread $w, $_, 1 and getppid; syswrite $d, 'x'; sysread $e, $_, 1"],
}


def build(folder):
    """The programs' paths."""
    source = os.path.join(ROOT, "bench/images.c")
    gcc = lambda *argv: subprocess.run(["gcc", "-O2", source, *argv], check=True)
    libs = [f"{folder}/libpart{i}.so" for i in range(PARTS)]
    for i, lib in enumerate(libs):
        gcc("-shared", "-fPIC", f"-DPART={i}", "-o", lib)
    gcc("-o", f"{folder}/images0", *libs)
    for i in range(1, COPIES):
        shutil.copy(f"{folder}/images0", f"{folder}/images{i}")
    return [f"{folder}/images{i}" for i in range(COPIES)]


class Crowd:
    """Processes that wait; the program of each by its number."""

    def __init__(self, programs, n):
        self.wake, self.done, self.end = os.pipe(), os.pipe(), os.pipe()
        given = [self.wake[0], self.done[1], self.end[0]]
        words = [str(fd) for fd in given]
        others = [name for name in COMMANDS if shutil.which(name)]
        self.procs = []
        self.program = {}
        for i in range(n):
            name = others[i // 25 % len(others)] if others and i % 25 == 0 else "images"
            argv = (COMMANDS[name] if name in COMMANDS else [programs[i % COPIES]]) + words
            self.procs.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL, pass_fds=given))
            self.program[self.procs[-1].pid] = name

    def run(self):
        """Wakes all of them once, and waits until each has made its call."""
        os.write(self.wake[1], b"x" * len(self.procs))
        n = 0
        while n < len(self.procs):
            if not select.select([self.done[0]], [], [], WAIT)[0]:
                sys.exit(f"{len(self.procs) - n} processes do not answer")
            n += len(os.read(self.done[0], 65536))

    def close(self):
        for fd in (self.wake[1], self.end[1]):
            os.close(fd)
        for p in self.procs:
            p.wait()
        for fd in (self.wake[0], self.done[0], self.done[1], self.end[0]):
            os.close(fd)


class Watch(threading.Thread):
    """Looks at a process again and again: its descriptors and memory at most."""

    def __init__(self, pid):
        super().__init__()
        self.pid, self.fds, self.kib = pid, 0, 0
        self.start()

    def run(self):
        with contextlib.suppress(OSError, TypeError):  # it has ended
            while True:
                self.fds = max(self.fds, len(os.listdir(f"/proc/{self.pid}/fd")))
                with open(f"/proc/{self.pid}/status") as f:
                    self.kib = int(re.search(r"VmHWM:\s+(\d+)", f.read())[1])
                time.sleep(0.01)


def named(out, program):
    """How many processes have all names that their stack has to have. out: "PROCESS PID", its frames, a count."""
    good = set()
    for block in re.split(r"^PROCESS ", out, flags=re.M)[1:]:
        pid = int(block.split(None, 1)[0])
        if pid in program and all(re.search(rf"`{name}\b", block) for name in NAMES[program[pid]]):
            good.add(pid)
    return len(good)


def measure(dt, clauses, programs, n):
    crowd = Crowd(programs, n)
    env = dict(os.environ)
    dlib = os.path.abspath(os.path.join(dt, "../../../../../dlib"))
    if os.path.isdir(dlib):
        env["DTRACE_OPT_SYSLIBDIR"] = dlib
    argv = [dt, "-x", "aggsize=64m", "-qZn", 'BEGIN { printf("READY\\n"); } ' + clauses + ' END { printa("PROCESS %d %k %@d\\n", @); }']
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env)
        watch = Watch(p.pid)
        end = time.monotonic() + WAIT
        while os.fstat(out.fileno()).st_size < len("READY\n") and time.monotonic() < end and p.poll() is None:
            time.sleep(0.01)
        try:
            crowd.run()
            time.sleep(1.5)  # that dtrace reads its aggregation once more before it is told to end
            p.send_signal(signal.SIGINT)
            _, status, used = os.wait4(p.pid, 0)
            p.returncode = os.waitstatus_to_exitcode(status)
        finally:
            if p.returncode is None:
                p.kill()
                p.wait()
            watch.join()
            crowd.close()
        out.seek(0)
        err.seek(0)
        print(err.read(), end="", file=sys.stderr)
        return {"open descriptors": watch.fds, "memory, MiB": watch.kib / 1024, "CPU time, s": used.ru_utime + used.ru_stime,
                "processes with names": named(out.read(), crowd.program)}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", default=os.path.join(ROOT, "build"))
    ap.add_argument("--dtrace", help="instead of that of the build")
    ap.add_argument("--peer")
    ap.add_argument("--processes", type=int, default=MOST)
    ap.add_argument("--runs", type=int, default=3)
    ap.add_argument("--only", default="")
    ap.add_argument("--json", default=os.path.join(ROOT, "bench/images.json"))
    opts = ap.parse_args()
    n = min(opts.processes, MOST)
    tracers = [os.path.abspath(opts.dtrace or os.path.join(opts.build, "src/cmd/dtrace/dtrace"))]
    tracers += [os.path.abspath(opts.peer)] if opts.peer else []
    raw, bad = {}, 0
    with tempfile.TemporaryDirectory() as tmp:
        programs = build(tmp)
        print(f"kernel {platform.release()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, {n} processes, the least of {opts.runs} runs")
        print(f"{'what':<46} {'dtrace':>10}" + (f" {'peer':>10} {'ratio':>8}" if opts.peer else ""), flush=True)
        for row, clauses in ROWS.items():
            if opts.only not in row:
                continue
            runs = [[measure(dt, clauses, programs, n) for dt in tracers] for _ in range(opts.runs)]
            raw[row] = runs
            for what in runs[0][0]:
                values = [min(run[i][what] for run in runs) for i in range(len(tracers))]
                ratio = f" {values[0] / values[1]:8.3f}" if opts.peer and values[1] else ""
                print(f"{row + ': ' + what:<46} " + " ".join(f"{v:10.2f}" if v % 1 else f"{v:10.0f}" for v in values) + ratio, flush=True)
            bad += sum(run[0]["processes with names"] != n for run in runs)
    with open(opts.json, "w") as f:
        json.dump({"kernel": platform.release(), "cpus": os.cpu_count(), "processes": n, "runs": opts.runs, "raw": raw}, f, indent=1)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
