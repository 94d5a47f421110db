#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Probes of functions that jump (-x inproc=auto) beside the same probes as uprobes, and beside those of bpftrace: nanoseconds of CPU time added to one call.

    bench/inproc.py [--build build] [--runs 5] [--only NAME] [--json bench/inproc.json]

The functions are bench/inproc.c's work() and moves(), which begin as compilers make functions, and probed(), which has a probe of its own (USDT). Each figure is
the loop traced less the same loop untraced just before. The first row is what reading the time stamp counter costs here: the goals of printf (one time)
and of the latency (two) were set where it takes 7 ns; a hypervisor may make it twice as dear. The rows "attach" are of a running process, all of whose functions of one module are to be counted: seconds from
the start of dtrace until they are, how many of them it had a CPU, and the milliseconds for which the process stood still at most, until its threads had got a CPU to stop on included:
on a machine that does other work, only the CPU time says something. Two rows are of web servers, of Node.js and of Java: the share of their requests that they still answer in the same CPU time. Two more are of PostgreSQL (select-only
transactions of pgbench), with one client and with four: in the CPU time of the server's processes alone, because pgbench shares their CPUs. The last row is uftrace's, if it is installed: entry and return of a program that is started by it.
"""
import os, re, shutil, subprocess, tempfile, threading, time

from pairs import ROOT, Bench, Loop, Tracer, added_to_loop, build_c, median

W = "pid$target:a.out:work"
# name, clauses, the same for bpftrace (None: not compared), the goal in ns
ROWS = [
    ("entry: @ = count()", f"{W}:entry {{ @ = count(); }}", "uprobe:EXE:work { @ = count(); }", "<= 10 ns"),
    ("entry and return: @ = count()", f"{W}:entry,{W}:return {{ @ = count(); }}", "uprobe:EXE:work,uretprobe:EXE:work { @ = count(); }", "<= 25 ns"),
    ("call: @ = count()", f"{W}:call {{ @ = count(); }}", None, "<= 10 ns"),
    ("entry: @[probefunc] = count()", f"{W}:entry {{ @[probefunc] = count(); }}", "uprobe:EXE:work { @[func] = count(); }", "<= 12 ns"),
    ("entry: @[probefunc] and @all", f"{W}:entry {{ @[probefunc] = count(); @all = count(); }}", "uprobe:EXE:work { @[func] = count(); @all = count(); }", "<= 12 ns"),
    ("entry: @[arg0] = count()", f"{W}:entry {{ @[arg0] = count(); }}", "uprobe:EXE:work { @[arg0] = count(); }", ""),
    ("entry: @ = quantize(arg0)", f"{W}:entry {{ @ = quantize(arg0); }}", "uprobe:EXE:work { @ = hist(arg0); }", ""),
    ("two threads: @ = count()", f"{W}:entry {{ @ = count(); }}", None, "as one thread"),
    ("two threads: @[probefunc] = count()", f"{W}:entry {{ @[probefunc] = count(); }}", None, "as one thread"),
    ("predicate that is false", f"{W}:entry /arg0 == 77/ {{ @ = count(); }}", "uprobe:EXE:work /arg0 == 77/ { @ = count(); }", "<= 8 ns"),
    ("latency, a histogram", f"{W}:entry {{ self->ts = timestamp; }} {W}:return /self->ts/ {{ @ = quantize(timestamp - self->ts); self->ts = 0; }}",
     "uprobe:EXE:work { @ts[tid] = nsecs; } uretprobe:EXE:work /@ts[tid]/ { @ = hist(nsecs - @ts[tid]); delete(@ts[tid]); }", "<= 45 ns"),
    ("USDT: @ = count()", "bench$target:::probed { @ = count(); }", "usdt:EXE:bench:probed { @ = count(); }", "<= 50 ns"),
    ("USDT: @ = quantize(arg0)", "bench$target:::probed { @ = quantize(arg0); }", "usdt:EXE:bench:probed { @ = hist(arg0); }", "<= 50 ns"),
    ("offset: @ = count()", f"{W}:OFFSET {{ @ = count(); }}", None, ""),
    ("printf of three fields", f'{W}:entry {{ printf("%d %d %d\\n", arg0, arg1, arg2); }}', None, "<= 40 ns"),
    # clauses that run in the kernel: relayed where that is cheaper
    ("return, relayed: @[execname]", f"{W}:return {{ @[execname] = count(); }}", "uretprobe:EXE:work { @[comm] = count(); }", "<= 1000 ns"),
    ("mov, relayed: @[execname]", "pid$target:a.out:moves:entry { @[execname] = count(); }", "uprobe:EXE:moves { @[comm] = count(); }", "<= 1000 ns"),
    ("push, relayed, a false predicate", f"{W}:entry /arg0 == 77/ {{ @[execname] = count(); }}", "uprobe:EXE:work /arg0 == 77/ { @[comm] = count(); }", "<= 10 ns"),
    ("push, relayed, a true predicate", f"{W}:entry /arg0 != 77/ {{ @[execname] = count(); }}", "uprobe:EXE:work /arg0 != 77/ { @[comm] = count(); }", "<= 1000 ns"),
]


def offset_of(exe):
    """The offset of an instruction in the middle of work(), in hexadecimal digits."""
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "--disassemble=work", exe], capture_output=True, text=True, check=True).stdout
    at = [int(m, 16) for m in re.findall(r"^ +([0-9a-f]+):\t", code, re.M)]
    return f"{at[len(at) // 2] - at[0]:x}"


def clock_cost(exe):
    """What reading the time stamp counter takes, in ns."""
    loop = Loop([exe, "2000000", "clock"])
    try:
        return min(loop.ns() for _ in range(5))
    finally:
        loop.end()


def uftrace(tmp, n):
    exe = os.path.join(tmp, "hooked")
    subprocess.run(["gcc", "-O2", "-pg", "-mfentry", "-mnop-mcount", f"-I{ROOT}/include", "-o", exe, os.path.join(os.path.dirname(__file__), "inproc.c")], check=True)
    once = lambda argv: float(subprocess.run(argv, input="\n", capture_output=True, text=True, check=True).stdout.split("\n")[0])
    return once(["uftrace", "record", "-P", "work", "-d", os.path.join(tmp, "data"), exe, str(n)]) - once([exe, str(n)])


def pg_server(tmp):
    """An idle server of PostgreSQL, and its number."""
    shutil.chown(tmp, "postgres", "postgres")
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    subprocess.run([*user, f"{PG}/initdb", "-D", f"{tmp}/data", "--no-sync", "-A", "trust"], cwd="/", check=True, stdout=subprocess.DEVNULL)
    p = subprocess.Popen([*user, f"{PG}/postgres", "-D", f"{tmp}/data", "-k", tmp, "-c", "listen_addresses="], cwd="/",
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if not any("ready to accept" in line for line in p.stderr):
        raise SystemExit("PostgreSQL does not start")
    return p


def node_server(tmp):
    p = subprocess.Popen(["node", os.path.join(ROOT, "bench/inproc.js")], stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    return p


def threads_server(n):
    def start(tmp):
        p = subprocess.Popen([build_c(tmp, "inproc", f"-I{ROOT}/include"), str(n), "threads"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        p.stdout.readline()
        return p
    return start


class Transactions:
    """pgbench with so many clients at a server of PostgreSQL, and what its processes, one for each client, have done since the last look."""

    def __init__(self, server, tmp, clients):
        argv = [f"{PG}/pgbench", "-U", "postgres", "-h", tmp]
        subprocess.run([*argv, "-i", "-q", "-s", "5", "postgres"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.p = subprocess.Popen([*argv, "-n", "-S", "-c", str(clients), "-P", "1", "-T", "3600", "postgres"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True)
        self.seen, self.more = [], threading.Condition()
        if not any(line.startswith("progress") for line in self.p.stderr):
            raise SystemExit("pgbench has ended")
        with open(f"/proc/{server.pid}/task/{server.pid}/children") as f:
            self.pids = [k for k in f.read().split() if self.is_client(k)]
        if len(self.pids) != clients:
            raise SystemExit(f"{len(self.pids)} processes for {clients} clients")
        threading.Thread(target=self.follow, daemon=True).start()

    @staticmethod
    def is_client(pid):
        with open(f"/proc/{pid}/cmdline") as f:
            return f.read().startswith("postgres: postgres postgres")

    def follow(self):
        """At each report, once a second: transactions, and seconds on a CPU (cpu_of() would be in hundredths of a second)."""
        done, at = 0, None
        for line in self.p.stderr:
            m = re.match(r"progress: ([\d.]+) s, ([\d.]+) tps", line)
            if not m:
                continue
            done += float(m[2]) * (float(m[1]) - at) if at else 0
            at, cpu = float(m[1]), 0
            for pid in self.pids:
                with open(f"/proc/{pid}/schedstat") as f:
                    cpu += int(f.read().split()[0]) / 1e9
            with self.more:
                self.seen.append((done, cpu))
                self.more.notify()

    def per_cpu(self, seconds=4):
        """Transactions in a second of CPU time, from the next report on."""
        with self.more:
            first = len(self.seen)
            if not self.more.wait_for(lambda: len(self.seen) > first + seconds, timeout=600):
                raise SystemExit("pgbench does not go on")
            (done, cpu), (done_then, cpu_then) = self.seen[first], self.seen[first + seconds]
        return (done_then - done) / (cpu_then - cpu)


def pg_shares(bench, clients, runs):
    """Transactions in the same CPU time while every entry and return of the server's processes is counted, in percent of those without."""
    with tempfile.TemporaryDirectory() as tmp:
        server = pg_server(tmp)
        threading.Thread(target=server.stderr.read, daemon=True).start()
        load = None
        try:
            load = Transactions(server, tmp, clients)
            probes = ", ".join(f"pid{p}:postgres::{name}" for p in load.pids for name in ("entry", "return"))
            for _ in range(runs):
                before = load.per_cpu()
                t = Tracer([bench.dtrace, "-q", "-x", "inproc=all", "-x", "aggsize=64m", *(w for p in load.pids for w in ("-p", p)), "-n",
                            probes + ' { @[probefunc, probename] = count(); } tick-200ms /!told/ { told = 1; printf("READY\\n"); }'])
                during = load.per_cpu()
                t.stop()
                yield 100 * during / before
        finally:
            if load:
                load.p.terminate()
                load.p.wait()
            server.terminate()
            server.wait()


PG = "/usr/lib/postgresql/15/bin"
# name, what starts the process, a program that it needs, the module, goals of seconds and milliseconds
ATTACH = [
    ("attach, libc", threads_server(0), None, "libc.so.6", "<= 0.15 s", "<= 5 ms"),
    ("attach, libc, 256 threads", threads_server(256), None, "libc.so.6", "", "<= 5 ms"),
    ("attach, postgres", pg_server, f"{PG}/postgres", "postgres", "<= 0.5 s", "<= 5 ms"),
    ("attach, node", node_server, "node", "node", "<= 3 s", "<= 5 ms"),
]


def attach(bench, start, module):
    """Seconds until all functions of the module are probed, those of CPU time among them, and the longest stop in ms."""
    with tempfile.TemporaryDirectory() as tmp:
        p = start(tmp)
        try:
            begin = time.monotonic()
            t = Tracer([bench.dtrace, "-q", "-x", "debug", "-x", "inproc=all", "-x", "aggsize=64m", "-p", str(p.pid), "-n",
                        f'pid$target:{module}::entry, pid$target:{module}::return {{ @[probefunc, probename] = count(); }} '
                        'tick-1ms /!told/ { told = 1; printf("READY\\n"); }'])
            seconds = time.monotonic() - begin
            with open(f"/proc/{t.proc.pid}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            stops = re.search(r"stood still for ([\d.]+) ms", t.stop()[1])
            return seconds, cpu, float(stops[1])
        finally:
            p.terminate()
            p.wait()


def attach_rows(bench):
    """The three figures of a process are of the same runs."""
    for name, start, program, module, goal, goal_stop in ATTACH:
        if (program and not shutil.which(program)) or not bench.wants(name):
            continue
        got = [attach(bench, start, module) for _ in range(min(bench.opts.runs, 3))]
        for k, what, unit, target in ((0, "", "s", goal), (1, ", CPU time", "s", ""), (2, ", a stop", "ms", goal_stop)):
            bench.row(name + what, lambda v=iter([g[k] for g in got]): next(v), None, unit, target, runs=len(got))


LOAD = ["node", os.path.join(ROOT, "bench/inproc.js")]
JAVA = ["java", "-Dsun.net.httpserver.nodelay=true", os.path.join(ROOT, "bench/inproc.java")]
# name, program, the module whose functions are traced
SERVERS = [("a node server, all functions", LOAD, "node"), ("a JVM server, all of libjvm", JAVA, "libjvm.so")]


def cpu_of(pid):
    """Seconds on a CPU of all threads of a process."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def share(bench, command, module, mode, seconds=4):
    """
    Requests that a server answers in a second of its CPU time while every entry and return of a module is counted, in percent of those before: their rate
    depends on what else the machine does. NaN: a wrong answer.
    """
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    port = server.stdout.readline().strip()
    every = f"pid$target:{module}::entry, pid$target:{module}::return {{ @[probefunc, probename] = count(); }}"

    def load(s):
        begin = cpu_of(server.pid)
        rate = float(subprocess.run([*LOAD, port, str(s), "8"], capture_output=True, text=True, check=True).stdout)
        return rate * s / (cpu_of(server.pid) - begin)

    last, before = 0, load(seconds)
    for _ in range(10):  # until its code is compiled
        if abs(before - last) < before / 10:
            break
        last, before = before, load(seconds)
    tracer = subprocess.Popen([bench.dtrace, "-q", "-x", f"inproc={mode}", "-x", "aggsize=64m", "-p", str(server.pid), "-n",
                               every + ' tick-200ms /!told/ { told = 1; printf("READY\\n"); }'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        while "READY" not in (line := tracer.stdout.readline()):
            if not line:
                raise SystemExit("dtrace has ended")
        return 100 * load(seconds) / before
    finally:
        tracer.terminate()
        tracer.communicate()
        server.kill()
        server.wait()


def main():
    bench = Bench("inproc", runs=5, width=34, peer="uprobe")
    opts = bench.opts
    with tempfile.TemporaryDirectory() as tmp:
        exe = build_c(tmp, "inproc", f"-I{ROOT}/include")
        offset = offset_of(exe)

        def loop(name, n):
            kind = {"USDT": ["own"], "mov": ["moves"], "two": ["two"]}
            return [exe, str(n)] + next((k for start, k in kind.items() if name.startswith(start)), [])

        def cost(name, script, mode, n):
            script = script.replace("OFFSET", offset)
            argv = [bench.dtrace, "-q", "-x", f"inproc={mode}", "-x", "bufsize=32m", "-n", script + ' tick-50ms { printf("READY\\n"); }', "-p", "PID"]
            return added_to_loop(loop(name, n), argv)

        bench.heading()
        bench.row("the time stamp counter, once", lambda: clock_cost(exe), None, "ns", "7 ns where the goals were set")
        for name, script, _, goal in ROWS:
            bench.row(name, lambda n=name, s=script: cost(n, s, "auto", 100_000 if "printf" in s or ("relayed" in n and "false" not in n) else 2_000_000),
                      lambda n=name, s=script: cost(n, s, "off", 50_000), "ns", goal)
        attach_rows(bench)
        for name, command, module in SERVERS:
            if shutil.which("node") and shutil.which(command[0]):
                bench.row(name, lambda c=command, m=module: share(bench, c, m, "auto"), lambda c=command, m=module: share(bench, c, m, "off"), "%",
                          ">= 60 %", runs=min(opts.runs, 3))
        for clients in (1, 4):
            name = f"PostgreSQL, all functions, clients: {clients}"
            if os.path.exists(f"{PG}/pgbench") and bench.wants(name):
                shares = pg_shares(bench, clients, opts.runs)
                bench.row(name, lambda s=shares: next(s), None, "%", ">= 60 %")
                shares.close()
        if shutil.which("bpftrace"):
            print("bpftrace:")
            for name, _, script, _ in ROWS:
                if script and bench.wants(name):
                    argv = ["bpftrace", "-B", "line", "-p", "PID", "-e", script.replace("EXE", exe) + ' interval:ms:50 { printf("READY\\n"); }']
                    print(f"{name:<34} {median([added_to_loop(loop(name, 50000), argv) for _ in range(opts.runs)]):12.1f}   ns", flush=True)
        if shutil.which("uftrace") and bench.wants("uftrace"):
            print(f"{'uftrace: entry and return recorded':<34} {median([uftrace(tmp, 1_000_000) for _ in range(opts.runs)]):12.1f}   ns")
    bench.save()


main()
