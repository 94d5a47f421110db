#!/usr/bin/env python3
"""Many processes with probes of their own: what it costs to trace them, and what it costs them.

    sudo bench/usdt_scale.py [--build build] [--runs 3] [--json bench/usdt_scale.json]

Enable and disable: a dtrace that traces the 50 probes of a program in all processes, from its start to its end, with 1 and with
1,000 processes of the program; beside it a dtrace that ends at once.
Starting: processes that start and end at 500 a second, without dtrace, with one that traces all 51 probes of theirs, and without
again, in turn: microseconds from the call that starts a process to its main(), and how many have told dtrace their number.
"""
import argparse, json, os, platform, statistics, subprocess, sys, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.environ.setdefault("DTRACE_OPT_SYSLIBDIR", os.path.join(ROOT, "dlib"))  # of this tree, not an installed one
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
    return f"{folder}/usdt_scale"


def took(argv):
    begin = time.monotonic()
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return (time.monotonic() - begin) * 1000


def staying(exe, n, func):
    """Calls the function while n processes of the program wait."""
    p = subprocess.Popen([exe, "stay", str(n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if p.stdout.readline() != "up\n":
        sys.exit("the processes do not start")
    result = func()
    p.stdin.close()
    p.wait()
    return result


def births(exe):
    """Microseconds until main() of each process."""
    out = subprocess.run([exe, "start", str(BIRTHS), str(RATE)], check=True, stdout=subprocess.PIPE, text=True).stdout
    return [float(w) for w in out.split()]


def births_traced(dt, exe):
    """
    The same while all probes are traced, and how many numbers dtrace has seen once. One process of the program is there before: the
    first one ever, if it lives for a millisecond, has ended when dtrace has read its file.
    """
    p = subprocess.Popen([dt, "-qZn", 'BEGIN { printf("up\\n"); } bench_scale*:::p* { @others = count(); } '
                          'bench_scale*:::born { @[arg0] = count(); } END { printa("%d %@d\\n", @); }', "-x", "aggsize=32m"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    p.stdout.readline()
    time.sleep(0.3)
    result = births(exe)
    p.send_signal(2)
    out, err = p.communicate()
    if err:
        sys.exit(f"dtrace: {err}")
    return result, sum(1 for l in out.split("\n") if l.endswith(" 1"))


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
        exe = build(dt, tmp)
        print(f"kernel {platform.release()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, {opts.runs} runs, medians")
        nothing = lambda: took([dt, "-qn", "BEGIN { exit(0); }"])
        enable = lambda: took([dt, "-qn", "BEGIN { up = 1; } bench_scale*:::p* { @ = count(); } tick-1ms /up/ { exit(0); }"])
        for name, n, func in (("a dtrace that ends at once", 0, nothing), ("50 probes, 1 process: enable and disable", 0, enable),
                              (f"50 probes, {PROCESSES} processes: enable and disable", PROCESSES - 1, enable)):
            raw[name] = staying(exe, n, lambda: [func() for _ in range(opts.runs)])
            print(f"{name:<54} {statistics.median(raw[name]):9.1f} ms", flush=True)
        plain, traced, seen = [], [], []
        for _ in range(opts.runs):
            plain += births(exe)
            values, n = staying(exe, 0, lambda: births_traced(dt, exe))
            traced += values
            seen.append(n)
        raw["starts"] = {"plain": plain, "traced": traced, "seen": seen}
        print(f"{RATE} starts a second: microseconds until main()  " + "".join(f"{k:>9}" for k in quantiles(plain)))
        for name, values in (("not traced", plain), ("51 probes traced", traced)):
            print(f"  {name:<48} " + "".join(f"{v:9.0f}" for v in quantiles(values).values()))
        print(f"  {sum(seen)} of {BIRTHS * opts.runs} have told their number once")
    with open(opts.json, "w") as f:
        json.dump({"kernel": platform.release(), "cpus": os.cpu_count(), "runs": opts.runs, "raw": raw}, f)
    return sum(seen) != BIRTHS * opts.runs


if __name__ == "__main__":
    sys.exit(main())
