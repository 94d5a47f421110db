#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What dtrace does in time on a machine that is busy: each row once beside nothing, once beside N processes that compute (--load).

usage: bench/busy.py [--build DIR] [--load 30] [--runs 3] [--only TEXT]
Times in ms, medians; `ratio` is the busy machine's by the quiet one's. bench/README.md says what the rows are.
"""
import argparse, json, os, re, shutil, signal, statistics, subprocess, sys, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.environ.setdefault("DTRACE_OPT_SYSLIBDIR", os.path.join(ROOT, "dlib"))
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
ap = argparse.ArgumentParser()
ap.add_argument("--build", default=os.path.join(ROOT, "build"))
ap.add_argument("--load", type=int, default=30)
ap.add_argument("--runs", type=int, default=3)
ap.add_argument("--only", default="")
ap.add_argument("--flags", default="", help="more flags of dtrace, such as '-x sched=off'")
ap.add_argument("--json", default="")
opts = ap.parse_args()
DTRACE = [os.path.join(os.path.abspath(opts.build), "src/cmd/dtrace/dtrace"), *opts.flags.split()]
TMP = tempfile.mkdtemp(prefix="busy-")
BUSY = os.path.join(TMP, "busy")
subprocess.run(["gcc", "-O1", "-o", BUSY, os.path.join(ROOT, "bench/busy.c")], check=True)
LIMIT = 60  # seconds after which a run counts as not ended


def ms(since):
    return (time.monotonic() - since) * 1e3


def urgent():
    """What measures must not wait for the load itself."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(10))
    except OSError:
        os.setpriority(os.PRIO_PROCESS, 0, -20)


class Load:
    def __init__(self, n):
        self.procs = [subprocess.Popen([BUSY], stdin=subprocess.DEVNULL) for _ in range(n)]

    def end(self):
        for p in self.procs:
            p.kill()
            p.wait()


def start(argv, **more):
    return subprocess.Popen([*DTRACE, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def finish(p):
    try:
        return p.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        p.kill()
        return p.communicate()


def begins():
    """From the command to the first output."""
    t = time.monotonic()
    p = start(["-qn", 'BEGIN { printf("READY\\n"); exit(0); }'])
    p.stdout.readline()
    took = ms(t)
    finish(p)
    return took


def tick():
    """How much later than its tick a run ends."""
    p = start(["-qn", 'BEGIN { printf("READY\\n"); } profile-97 { @[ustack(), execname] = count(); } tick-1s { exit(0); }'])
    p.stdout.readline()
    t = time.monotonic()
    finish(p)
    return ms(t) - 1000


def ends(sig):
    """From the signal to the end of the process, and to the first output that follows it."""
    p = start(["-qn", 'BEGIN { printf("READY\\n"); } profile-97 { @[ustack(), execname] = count(); } END { printf("END\\n"); }'])
    p.stdout.readline()
    time.sleep(1)
    t = time.monotonic()
    p.send_signal(sig)
    while p.stdout.readline() not in ("END\n", ""):
        pass
    first = ms(t)
    finish(p)
    return first, ms(t)


def language(seconds=5):
    """A Python program's stacks: the share that has frames of Python, and the share that is cut, in percent."""
    script = os.path.join(TMP, "spin.py")
    with open(script, "w") as f:
        f.write("def inner():\n    n = 0\n    for i in range(1000): n += i\n    return n\ndef outer():\n    while True: inner()\nprint(1, flush=True)\nouter()\n")
    target = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE)
    target.stdout.readline()  # it runs
    p = start(["-qn", 'profile-97 /pid == $1/ { @[jstack(50, 8192)] = count(); } tick-%ds { exit(0); }' % seconds, str(target.pid)])
    out, err = finish(p)
    target.kill()
    target.wait()
    total = named = cut = 0
    for stack in re.split(r"\n\s*\n", out):
        lines = stack.rstrip().split("\n")
        if not lines[-1].strip().isdigit():
            continue
        n = int(lines[-1])
        total += n
        named += n if "spin.py" in stack else 0
        cut += n if "[cut]" in stack or "[no " in stack else 0
    if not total:
        return 0.0, 100.0
    return 100 * named / total, 100 * cut / total


FOLLOW = ["-x", "follow=fork", "-qn", 'pid$target:busy:child_f:entry { @[pid == $target ? "root" : "child"] = count(); }']


def forks(traced, n=2000):
    """What 2,000 forks take."""
    if traced:
        p = start([*FOLLOW, "-c", f"{BUSY} forks {n}"])
    else:
        p = subprocess.Popen([BUSY, "forks", str(n)], stdout=subprocess.PIPE, text=True, stderr=subprocess.PIPE)
    out, err = finish(p)
    m = re.search(r"forks ([\d.]+)", out)
    if traced and f"child{n:>20}" not in re.sub(r"child\s+", "child" + " " * (20 - len(str(n))), out):
        print("  counted:", out.split(), err.strip(), file=sys.stderr)
    return float(m.group(1)) if m else LIMIT * 1e3


def stopped():
    """How many of our forking processes stand in state T."""
    n = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/exe") == BUSY and open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "T":
                n += 1
        except OSError:
            pass
    return n


def forks_end():
    """SIGTERM while 2,000 forks are followed: until the end, and how many processes are stopped before and after."""
    p = start([*FOLLOW, "-c", f"{BUSY} forks 20000"])
    p.stdout.readline()
    time.sleep(1)
    before = stopped()
    t = time.monotonic()
    p.send_signal(signal.SIGTERM)
    out, err = finish(p)
    took = ms(t)
    return took, before, stopped(), 1.0 if "child" in out else 0.0


def alone(f, *args):
    return lambda: (f(*args),)


ROWS = [
    ("start, to the output of BEGIN", alone(begins), ["ms"]),
    ("tick-1s exit(): end after the tick", alone(tick), ["ms"]),
    ("SIGINT: output, end", lambda: ends(signal.SIGINT), ["ms", "ms"]),
    ("SIGTERM: output, end", lambda: ends(signal.SIGTERM), ["ms", "ms"]),
    ("jstack() of Python: named, cut", language, ["%", "%"]),
    ("2,000 forks, untraced", alone(forks, False), ["ms"]),
    ("2,000 forks, followed", alone(forks, True), ["ms"]),
    ("SIGTERM amid 20,000 forks: end, stopped before, after, output", forks_end, ["ms", "", "", ""]),
]


def main():
    raw = {}
    urgent()
    print(f"{os.cpu_count()} CPUs, {opts.runs} runs, medians; load beside: {opts.load}")
    print(f"{'what':<64} {'unit':>4} {'quiet':>10} {'busy':>10} {'ratio':>7}", flush=True)
    for name, once, units in ROWS:
        if opts.only not in name:
            continue
        both = []
        for n in (0, opts.load):
            load = Load(n)
            try:
                if n:
                    time.sleep(1)  # the scheduler has spread them
                both.append([once() for _ in range(opts.runs)])
            finally:
                load.end()
        raw[name] = both
        for i, unit in enumerate(units):
            quiet, busy = (statistics.median(run[i] for run in runs) for runs in both)
            ratio = f"{busy / quiet:7.2f}" if quiet > 0 else f"{'':>7}"
            print(f"{name if i == 0 else '':<64} {unit:>4} {quiet:10.1f} {busy:10.1f} {ratio}", flush=True)
    if opts.json:
        with open(opts.json, "w") as f:
            json.dump(raw, f, indent=1)


try:
    main()
finally:
    shutil.rmtree(TMP, ignore_errors=True)
