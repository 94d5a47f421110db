#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Probes that programs bring along (USDT): Fathom and bpftrace side by side, medians and ratios.

    sudo bench/usdt.py [--build build] [--runs 3] [--only NAME] [--json bench/usdt.json]

A hit: nanoseconds added to one pass of a probe with two arguments (bench/usdt.c), less the same loop untraced just before. The
row 'empty program' is what the kernel charges for stopping at that instruction (bench/floor.c); what is above it is ours. Beside
it stands bpftrace's program of the next row: the ratio is the least that any tracer could reach.
Disabled: what a probe, and the test whether it is enabled, add to a loop of real work; the last row is the same loop without a
probe, compiled twice: the noise. PostgreSQL: from the start of dtrace to its first line, with all probes of a server of 100
backends (left out where Debian's postgresql-15 is not installed).
"""
import os, re, shutil, subprocess, sys, tempfile, time

from pairs import ROOT, Bench, added_to_loop, build_floor

HITS, TURNS, BACKENDS = 200_000, 20_000, 100
PG = "/usr/lib/postgresql/15/bin"
AS_POSTGRES = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
PROVIDER = "provider bench { probe hit(int n, string line); };\n"


def build(dt, folder):
    """The program with the probe."""
    with open(f"{folder}/bench_usdt.d", "w") as f:
        f.write(PROVIDER)
    run = lambda *argv: subprocess.run(argv, check=True, cwd=folder)
    run(dt, "-h", "-s", "bench_usdt.d")
    run("gcc", "-O2", "-I.", "-c", f"{ROOT}/bench/usdt.c", "-o", "usdt.o")
    run(dt, "-G", "-s", "bench_usdt.d", "usdt.o")
    run("gcc", "-o", "usdt", "usdt.o", "bench_usdt.o")
    return f"{folder}/usdt", build_floor(folder)


def site_in(exe, func):
    """File offset of the probe's instruction in a function."""
    show = lambda flag: subprocess.check_output(["readelf", "-W", flag, exe], text=True)
    start, size = next((int(f[1], 16), int(f[2])) for f in map(str.split, show("-s").split("\n")) if f[-1:] == [func])
    at = next(a for a in (int(w, 16) for w in re.findall(r"Location: (0x\w+)", show("-n"))) if start <= a < start + size)
    segments = re.findall(r"LOAD\s+(0x\w+) (0x\w+) 0x\w+ (0x\w+)", show("-l"))
    return next(at - int(vaddr, 16) + int(off, 16) for off, vaddr, length in segments
                if int(vaddr, 16) <= at < int(vaddr, 16) + int(length, 16))


def first_line(argv):
    """Milliseconds from the start of a command to its first line; then it is told to end."""
    begin = time.monotonic()
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = p.stdout.readline()
    took = time.monotonic() - begin
    p.terminate()
    err = p.communicate()[1]
    if not line:
        sys.exit(f"{argv}: {err}")
    return took * 1000


class Postgres:
    """A server with 100 backends that run a statement now and then."""

    def __init__(self, folder):
        self.folder = tempfile.mkdtemp(dir=folder)
        os.chmod(folder, 0o755)
        shutil.chown(self.folder, "postgres", "postgres")
        command = lambda *argv: subprocess.run(AS_POSTGRES + list(argv), check=True, cwd="/", capture_output=True)
        command(f"{PG}/initdb", "-D", f"{self.folder}/data", "--no-sync", "-A", "trust")
        self.log = open(f"{self.folder}/log", "w")
        self.server = subprocess.Popen(AS_POSTGRES + [f"{PG}/postgres", "-D", f"{self.folder}/data", "-k", self.folder, "-c", "listen_addresses=",
                                                      "-c", f"max_connections={BACKENDS + 10}"], cwd="/", stdout=self.log, stderr=self.log)
        self.wait(lambda: subprocess.run([f"{PG}/pg_isready", "-h", self.folder], capture_output=True).returncode == 0)
        with open(f"{self.folder}/statement", "w") as f:
            f.write("select count(*) from pg_class;\n")
        self.load = subprocess.Popen(AS_POSTGRES + [f"{PG}/pgbench", "-h", self.folder, "-n", "-c", str(BACKENDS), "-T", "600", "-R", "500", "-f",
                                                    f"{self.folder}/statement", "postgres"], cwd="/", stdout=self.log, stderr=self.log)
        self.wait(lambda: len(self.backends()) >= BACKENDS)

    def backends(self):
        with open(f"/proc/{self.server.pid}/task/{self.server.pid}/children") as f:
            pids = f.read().split()
        return [p for p in pids if "[local]" in open(f"/proc/{p}/cmdline").read()]

    def wait(self, done):
        limit = time.monotonic() + 60
        while not done():
            if time.monotonic() > limit or self.server.poll() is not None:
                sys.exit("PostgreSQL does not start:\n" + open(f"{self.folder}/log").read())
            time.sleep(0.1)

    def end(self):
        self.load.terminate()
        self.load.wait()
        self.server.send_signal(2)
        self.server.wait()


def main():
    bench = Bench("usdt", width=50)
    opts, dt, row = bench.opts, bench.dtrace, bench.row
    with tempfile.TemporaryDirectory() as tmp:
        exe, floor = build(dt, tmp)
        hit = lambda argv: added_to_loop([exe, "hits", str(HITS)], argv)
        bench.heading()

        def dtq(clause):
            return [dt, "-qn", f'bench$target:::hit {clause} tick-50ms {{ printf("READY\\n"); }}', "-p", "PID"]

        def btq(clause):
            return ["bpftrace", "-B", "line", "-p", "PID", "-e", f'usdt:{exe}:bench:hit {clause} interval:ms:50 {{ printf("READY\\n"); }}']

        row("hit: empty program", lambda: hit([floor, exe, str(site_in(exe, "measure_hits"))]),
            lambda: hit(btq("/arg0 >= 0 && arg1 != 0/ { @ = count(); }")), "ns", "what the kernel charges")
        row("hit: two arguments in a predicate, count()", lambda: hit(dtq("/arg0 >= 0 && arg1 != 0/ { @ = count(); }")),
            lambda: hit(btq("/arg0 >= 0 && arg1 != 0/ { @ = count(); }")), "ns", "<= 0.75; <= empty program + 60 ns")
        row("hit: @[arg0, arg1] = count()", lambda: hit(dtq("{ @[arg0, arg1] = count(); }")),
            lambda: hit(btq("{ @[arg0, arg1] = count(); }")), "ns", "<= 0.75")
        row("hit: @[arg0, copyinstr(arg1)] = count()", lambda: hit(dtq("{ @[arg0, copyinstr(arg1)] = count(); }")),
            lambda: hit(btq("{ @[arg0, str(arg1)] = count(); }")), "ns", "<= 0.75")

        work = lambda: [float(w) for w in subprocess.check_output([exe, "work", str(TURNS)], text=True).split()]
        loops = [work() for _ in range(opts.runs)] if opts.only in "disabled" or "disabled" in opts.only else []
        for name, i in (("probe", 1), ("test", 2), ("test and probe", 3), ("nothing (the noise)", 4)):
            if loops:
                row(f"disabled: {name}, in {loops[0][0]:.0f} ns of work", lambda i=i, it=iter(loops): (lambda l: l[i] - l[0])(next(it)), None,
                    "ns", "not measurable")

        name = f"PostgreSQL, {BACKENDS} backends, all probes: first record"
        if opts.only in name and os.path.exists(f"{PG}/postgres"):
            pg = Postgres(tmp)
            row(name, lambda: first_line([dt, "-qn", 'postgresql*::: { printf("%s\\n", probename); }']), None, "ms", "<= 50 ms")
            pg.end()
    bench.save()


if __name__ == "__main__":
    sys.exit(main())
