#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Many processes with probes of their own: what it costs to trace them, and what it costs them.

    sudo bench/usdt_scale.py [--build build] [--runs 3] [--json bench/usdt_scale.json]

Enable and disable: a dtrace that traces the 50 probes of a program in all processes, from its start to its end, with 1 and with
1,000 processes of the program; the milliseconds of CPU time of all processes of that dtrace. Beside it the kernel's part: an empty
program at the same instructions, with the same counters, of the same processes (bench/floor.c). What is above it is ours.
Starting: processes of two equal files that start in turn, 500 a second in all, while dtrace traces all 51 probes of one of them:
what each process needs until its main(), how long it waits for a CPU not counted, because that is what other programs of the
machine do to it; and how many have told dtrace their number. These processes and dtrace have real-time priority: the processes wait
for locks of the kernel, such as that of the mappings of the C library, and who holds one would else wait for a CPU.
"""
import argparse, json, os, platform, re, shutil, statistics, subprocess, sys, tempfile, time

from pairs import ROOT, build_floor

PROCESSES, RATE, BIRTHS = 1000, 500, 2500
PROVIDER = "provider bench_scale {\n\tprobe born(uint64_t number);\n" + \
    "".join(f"\tprobe p{a}{b}(int n);\n" for a in range(10) for b in range(5)) + "};\n"


def build(dt, folder):
    with open(f"{folder}/bench_scale.d", "w") as f:
        f.write(PROVIDER)
    run = lambda *argv: subprocess.run(argv, check=True, cwd=folder)
    run(dt, "-h", "-s", "bench_scale.d")
    run("gcc", "-O2", "-I.", "-c", f"{ROOT}/bench/usdt_scale.c", "-o", "scale.o")
    run(dt, "-G", "-s", "bench_scale.d", "scale.o")
    run("gcc", "-o", "usdt_scale", "scale.o", "bench_scale.o")
    build_floor(folder)
    return f"{folder}/usdt_scale"


class Group:
    """A cgroup: what all processes in it have used of the CPUs."""

    def __init__(self):
        v1 = "/sys/fs/cgroup/cpuacct"
        self.folder = f"{v1 if os.path.isdir(v1) else '/sys/fs/cgroup'}/bench_usdt_scale"
        os.makedirs(self.folder, exist_ok=True)

    def used(self):
        """Milliseconds."""
        if os.path.exists(f"{self.folder}/cpuacct.usage"):
            return int(open(f"{self.folder}/cpuacct.usage").read()) / 1e6
        return int(re.search(r"usage_usec (\d+)", open(f"{self.folder}/cpu.stat").read())[1]) / 1e3

    def run(self, argv):
        """Milliseconds on CPUs of the command and all that it starts, until the last of them has ended; its output."""
        before = self.used()
        enter = lambda: open(f"{self.folder}/cgroup.procs", "w").write(str(os.getpid()))
        out = subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, preexec_fn=enter).stdout
        while open(f"{self.folder}/cgroup.procs").read():
            time.sleep(0.01)
        return self.used() - before, out


def sites(exe):
    """OFFSET@COUNTER of the probes, as bench/floor.c wants them, without the one that the starting processes fire."""
    sections = subprocess.check_output(["readelf", "-SW", exe], text=True)
    notes = subprocess.check_output(["readelf", "-nW", exe], text=True)
    delta = {}
    for name in (".text", ".probes"):
        addr, off = re.search(rf"{re.escape(name)}\s+PROGBITS\s+(\w+)\s+(\w+)", sections).groups()
        delta[name] = int(addr, 16) - int(off, 16)
    return [f"{int(pc, 16) - delta['.text']}@{int(sem, 16) - delta['.probes']}"
            for name, pc, sem in re.findall(r"Name: (\w+)\s+Location: (\w+), Base: \w+, Semaphore: (\w+)", notes) if name != "born"]


def staying(exe, n, func):
    """Calls the function while n processes of the program wait."""
    p = subprocess.Popen([exe, "stay", str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if p.stdout.readline() != "up\n":
        sys.exit("the processes do not start")
    result = func()
    p.stdin.close()
    p.wait()
    return result


def first_of_all():
    """Gives this process and what it starts a CPU before all others that have no such priority."""
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def births(dt, folder):
    """
    Processes of two files in turn, one of which is traced: for both, the microseconds until main() without the time of waiting for
    a CPU, and those on a CPU; how many numbers dtrace has seen once. One process of the file is there before: the first one ever, if
    it lives for a millisecond, has ended when dtrace has read its file (which dtrace says).
    """
    p = subprocess.Popen([dt, "-qZn", 'BEGIN { printf("up\\n"); } bench_scale*:traced::p* { @others = count(); } '
                          'bench_scale*:traced::born { @[arg0] = count(); } END { printa("%d %@d\\n", @); }', "-x", "aggsize=32m"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=first_of_all)
    p.stdout.readline()
    time.sleep(0.3)
    out = subprocess.run([f"{folder}/usdt_scale", "start", str(2 * BIRTHS), str(RATE), f"{folder}/untraced", f"{folder}/traced"], check=True,
                         stdout=subprocess.PIPE, text=True, preexec_fn=first_of_all).stdout
    p.send_signal(2)
    seen, err = p.communicate()
    if err:
        print(err, end="", file=sys.stderr) # such as another program's file system that does not answer
    result = {"untraced": {"path": [], "cpu": []}, "traced": {"path": [], "cpu": []}}
    for l in out.splitlines():
        number, wall, cpu, waiting = l.split()
        r = result["traced" if int(number) % 2 else "untraced"]
        r["path"].append(float(wall) - float(waiting))
        r["cpu"].append(float(cpu))
    return result, sum(1 for l in seen.split("\n") if l.endswith(" 1"))


def quantiles(values):
    v = sorted(values)
    return {name: v[min(len(v) - 1, int(len(v) * q))] for name, q in (("p50", .5), ("p90", .9), ("p99", .99), ("p99.9", .999), ("max", 1))}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", default=os.path.join(ROOT, "build"))
    ap.add_argument("--runs", type=int, default=3)
    ap.add_argument("--json", default=os.path.join(ROOT, "bench/usdt_scale.json"))
    opts = ap.parse_args()
    dt = os.path.join(os.path.abspath(opts.build), "src/cmd/dtrace/dtrace")
    raw = {}
    with tempfile.TemporaryDirectory() as tmp:
        exe, group = build(dt, tmp), Group()
        print(f"kernel {platform.release()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, {opts.runs} runs, medians")
        enable = [dt, "-qn", "BEGIN { up = 1; } bench_scale*:::p* { @ = count(); } tick-1ms /up/ { exit(0); }"]
        floor = [f"{tmp}/floor", exe] + sites(exe)
        raw["nothing"] = [group.run([dt, "-qn", "BEGIN { exit(0); }"])[0] for _ in range(opts.runs)]
        print(f"a dtrace that ends at once: {statistics.median(raw['nothing']):.1f} ms of CPU time")
        print(f"{'50 probes, enable and disable: ms of CPU time':<46} {'dtrace':>9} {'kernel':>9} {'ours':>9}")
        for n in (1, 100, PROCESSES):
            pair = lambda: (group.run(enable)[0], float(group.run(floor)[1].split()[-1]))
            pairs = staying(exe, n - 1, lambda: [pair() for _ in range(opts.runs)])
            raw[f"{n} processes"] = pairs
            print(f"  {f'{n} processes':<44} " + "".join(f"{statistics.median(v):10.1f}" for v in
                  ([p[0] for p in pairs], [p[1] for p in pairs], [p[0] - p[1] for p in pairs])), flush=True)
        for name in ("traced", "untraced"):
            shutil.copy(exe, f"{tmp}/{name}")
        starts = {name: {"path": [], "cpu": []} for name in ("untraced", "traced")}
        seen = []
        for _ in range(opts.runs):
            values, n = staying(f"{tmp}/traced", 0, lambda: births(dt, tmp))
            for name in starts:
                for kind in ("path", "cpu"):
                    starts[name][kind] += values[name][kind]
            seen.append(n)
        raw["starts"] = {**starts, "seen": seen}
        for kind, title in (("path", "until main(), waits for a CPU taken off"), ("cpu", "of these on a CPU")):
            q = {name: quantiles(v[kind]) for name, v in starts.items()}
            print(f"{f'microseconds {title}':<54}" + "".join(f"{k:>9}" for k in q["traced"]))
            for name in starts:
                print(f"  {name:<52}" + "".join(f"{v:9.0f}" for v in q[name].values()))
            print(f"  {'difference':<52}" + "".join(f"{q['traced'][k] - q['untraced'][k]:9.0f}" for k in q["traced"]))
        print(f"{RATE} starts a second: {sum(seen)} of {BIRTHS * opts.runs} have told their number once")
    with open(opts.json, "w") as f:
        json.dump({"kernel": platform.release(), "cpus": os.cpu_count(), "runs": opts.runs, "raw": raw}, f)
    return sum(seen) != BIRTHS * opts.runs


if __name__ == "__main__":
    sys.exit(main())
