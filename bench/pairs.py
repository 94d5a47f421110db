# SPDX-License-Identifier: MIT
"""What the scripts of this folder share: their options, rows in which two tools run alternately, the cost that a tracer adds.

A script makes one Bench, prints what the columns are with heading(), has row() measure and print, and ends with save().
"""
import argparse, json, os, platform, signal, statistics, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.environ.setdefault("DTRACE_OPT_SYSLIBDIR", os.path.join(ROOT, "dlib"))  # of this tree, not an installed one
# A shell that runs a script in the background has it ignore SIGINT, and every tracer that the script starts would do the same and never end.
signal.signal(signal.SIGINT, signal.default_int_handler)
# A script that is ended by a signal leaves no setting of the kernel, disk or folder behind.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def median(values):
    return statistics.median(values) if values else float("nan")


def build_c(folder, name, *flags):
    """Compiles bench/NAME.c; the program."""
    exe = os.path.join(folder, name)
    subprocess.run(["gcc", "-O2", "-o", exe, os.path.join(ROOT, f"bench/{name}.c"), *flags], check=True)
    return exe


def build_floor(folder):
    """The tracer whose BPF program is empty."""
    return build_c(folder, "floor", "-lbpf", "-lelf")


class Bench:
    """The options of a script, and its table. `alone` is the ratio's text in a row without a peer; None: the table has no ratios."""

    def __init__(self, name, runs=3, flags=(), width=44, digits=3, unit_width=4, alone="nan", peer="bpftrace", match=lambda only, name: only in name):
        ap = argparse.ArgumentParser()
        ap.add_argument("--build", default=os.path.join(ROOT, "build"))
        ap.add_argument("--runs", type=int, default=runs)
        ap.add_argument("--only", default="")
        ap.add_argument("--json", default=os.path.join(ROOT, f"bench/{name}.json"))
        for flag in flags:
            ap.add_argument(flag, action="store_true")
        self.opts = ap.parse_args()
        self.dtrace = os.path.join(os.path.abspath(self.opts.build), "src/cmd/dtrace/dtrace")
        self.raw, self.peer = {}, peer
        self.width, self.digits, self.unit_width, self.alone, self.match = width, digits, unit_width, alone, match

    def heading(self, load=True):
        busy = f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, " if load else ""
        ratio = f"; ratio = fathom / {self.peer}" if self.alone else ""
        print(f"kernel {platform.release()}, {busy}{self.opts.runs} runs, medians{ratio}")
        ratio = f" {'ratio':>8}" if self.alone else ""
        print(f"{'what':<{self.width}} {'fathom':>12} {self.peer:>12} {'unit':>{self.unit_width}}{ratio}   target", flush=True)

    def wants(self, name):
        return self.match(self.opts.only, name)

    def row(self, name, ours, theirs, unit, target, runs=None):
        """Calls both alternately, prints the medians and keeps every number. `theirs` may be None."""
        if not self.wants(name):
            return
        a, b = [], []
        for _ in range(runs or self.opts.runs):
            a.append(ours())
            if theirs:
                b.append(theirs())
        self.raw[name] = {"unit": unit, "fathom": a, self.peer: b}
        ma, mb = median(a), median(b)
        number = lambda v: f"{v:12.{self.digits}f}"
        peer = number(mb) if b or self.alone else f"{'':>12}"
        ratio = f" {ma / mb:8.3f}" if b and mb else f" {self.alone:>8}" if self.alone else ""
        print(f"{name:<{self.width}} {number(ma)} {peer} {unit:>{self.unit_width}}{ratio}   {target}", flush=True)

    def save(self):
        with open(self.opts.json, "w") as f:
            json.dump({"kernel": platform.release(), "cpus": os.cpu_count(), "load": os.getloadavg(), "runs": self.opts.runs, "raw": self.raw}, f, indent=1)


class Tracer:
    """A tracer that has printed READY (its probes are in place), until stopped by SIGINT."""

    def __init__(self, argv):
        self.err = tempfile.TemporaryFile("w+")
        # bench/floor.c ends with its input
        self.proc = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.err, text=True)
        for line in self.proc.stdout:
            if "READY" in line:
                break
        else:
            self.err.seek(0)
            raise RuntimeError(f"{argv}: {self.err.read()}")

    def stop(self):
        self.proc.send_signal(signal.SIGINT)
        out = self.proc.stdout.read()
        self.proc.stdin.close()
        self.proc.wait()
        self.err.seek(0)
        return out, self.err.read()


def added(once, argv):
    """What once() takes more while the tracer runs."""
    base = once()
    tracer = Tracer(argv)
    try:
        once()  # warm up: first elements exist
        return once() - base
    finally:
        tracer.stop()


class Loop:
    """A program that does its work anew for each line it reads, and prints the nanoseconds of one turn."""

    def __init__(self, argv):
        self.p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ns(self):
        self.p.stdin.write("\n")
        self.p.stdin.flush()
        return float(self.p.stdout.readline())

    def end(self):
        self.p.stdin.close()
        self.p.wait()


def added_to_loop(argv, tracer):
    """Nanoseconds that a tracer, in whose arguments PID stands for the loop's number, adds to one turn."""
    loop = Loop(argv)
    try:
        return added(loop.ns, [w.replace("PID", str(loop.p.pid)) for w in tracer])
    finally:
        loop.end()


def wall_and_rss(load, argv):
    """Wall milliseconds and peak memory in KiB of one command. `load` is bench/load.c."""
    out = subprocess.run([load, "run"] + argv, check=True, capture_output=True, text=True).stdout.split()
    return float(out[0]), int(out[1])
