#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Servers from Debian under load, every function of them traced: what is lost, what is wrong, what it costs.

    sudo bench/servers.py [--build DIR] [--seconds 60] [--inproc auto] [RUN]...

The runs, all without an argument: nginx, pgbench-select, pgbench-tpcb; nginx-one and pgbench-select-one, with one client in place of four; java and node,
web servers in these languages, of which all functions of libjvm.so, or of the program, are traced.
Needs the packages nginx-light, postgresql-15 and postgresql-contrib, openjdk-17-jdk-headless, nodejs: what is not installed is left out. Everything listens on 127.0.0.1 or a socket of its own
and lives in a folder that is removed. For each server: load without dtrace, load while dtrace counts by function the entries
and returns of all its worker processes, load afterwards. Fails (status 1) when
  - a request is not answered, or the answer is not what it was before; a transaction fails; balances do not add up;
  - dtrace counts other than what the server did, drops anything, or says anything;
  - a process of the server has another pid afterwards, or the server's log has an error.
--inproc auto: with jumps instead of uprobes, where there can be any; how many is printed.
"""
import argparse, glob, http.client, multiprocessing, os, re, shutil, signal, subprocess, sys, tempfile, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PG = "/usr/lib/postgresql/15/bin"
NGINX_PORT = 18080
SIZES = (0, 1, 100, 4000, 70000, 1000000)


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return sorted(int(w) for w in f.read().split())
    except OSError:
        return []


def cpu_of(pid):
    """Seconds on a CPU of a process and its children, those that have ended included."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
    except OSError:  # ended meanwhile: its parent has its time
        return 0
    return sum(int(fields[i]) for i in (11, 12, 13, 14)) / os.sysconf("SC_CLK_TCK") + sum(map(cpu_of, children(pid)))


class Phase:
    """A stretch of load: requests a second, and what a request costs the server in CPU time."""

    def __init__(self, server):
        self.server, self.cpu = server, cpu_of(server)

    def end(self, n, rate):
        self.us = (cpu_of(self.server) - self.cpu) * 1e6 / max(n, 1)
        self.rate = rate


def wait_for(what, done, seconds=60):
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        got = done()
        if got:
            return got
        time.sleep(0.05)
    sys.exit(f"{what}: not after {seconds} s")


def settled(count):
    """When it has not changed for a moment."""
    last = -1
    while (now := count()) != last:
        last = now
        time.sleep(0.3)
    return now


# ---- dtrace --------------------------------------------------------------------------------------


class Trace:
    """Counts by function the entries and returns in one module of several processes."""

    def __init__(self, opts, pids, module):
        probes = ",\n".join(f"pid{p}:{module}::{name}" for p in pids for name in ("entry", "return"))
        program = f'{probes} {{ @[probename, probefunc] = count(); }} END {{ printa("%s %s %@d\\n", @); }} ' \
                  'tick-1s /!up++/ { printf("up\\n"); }'
        begin = time.monotonic()
        self.p = subprocess.Popen([f"{opts.build}/src/cmd/dtrace/dtrace", "-q", "-x", "aggsize=64m", "-x", f"inproc={opts.inproc}",
                                   "-x", "inprocsum", "-n", program], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env=dict(os.environ, DTRACE_OPT_SYSLIBDIR=f"{ROOT}/dlib"))
        if self.p.stdout.readline() != "up\n":
            sys.exit("dtrace: " + self.p.stderr.read())
        self.start = time.monotonic() - begin - 1

    def end(self):
        begin = time.monotonic()
        self.p.send_signal(signal.SIGINT)
        out, err = self.p.communicate()
        self.stop = time.monotonic() - begin
        self.counts = {(n, f): int(c) for n, f, c in re.findall(r"^(\w+) (.+) (\d+)$", out, re.M)}  # C++ has blanks in names
        self.total = sum(self.counts.values())
        self.places = re.findall(r"^dtrace: (\d+ places? probed in .*)\n", err, re.M)
        err = re.sub(r"^dtrace: \d+ places? probed in .*\n", "", err, flags=re.M)
        return [f"dtrace: status {self.p.returncode}, {err!r}"] if self.p.returncode or err else []

    def of(self, name, func):
        return self.counts.get((name, func), 0)

    def unequal(self, exe, clients):
        """Functions that were entered and left unequally often, beyond what was going on at the start and the end. A
        loop that goes back to a function's first instruction enters it again."""
        code = subprocess.check_output(["objdump", "-d", "--no-show-raw-insn", exe], text=True)
        loops = {m[1] for m in re.finditer(r"<(\w+)(?:@@Base)?>:\n(?:.+\n)*?.*\tj\w+ +\w+ <\1(?:@@Base)?>\n", code)}
        funcs = {f for _, f in self.counts} - loops
        return [f"{f}: {self.of('entry', f)} entries, {self.of('return', f)} returns" for f in sorted(funcs)
                if self.of("entry", f) and abs(self.of("entry", f) - self.of("return", f)) > 4 * clients]

    def functions(self):
        return len({f for _, f in self.counts})


# ---- web servers ---------------------------------------------------------------------------------------


def body(size):
    return bytes((i * 7 + size) % 251 for i in range(size))


BODIES = {s: body(s) for s in SIZES}


def client(port, n, until, result):
    """Requests until that time, on connections of 100 requests each; how many, and what was wrong."""
    done, bad, longest = 0, [], 0.0
    while time.monotonic() < until.value:
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for i in range(100):
            size = SIZES[(i + n) % len(SIZES)] if i % 20 == 0 else SIZES[(i + n) % 4]
            begin = time.monotonic()
            try:
                c.request("GET", f"/{size}")
                r = c.getresponse()
                got = r.read()
                if r.status != 200 or got != BODIES[size]:
                    bad.append(f"/{size}: status {r.status}, {len(got)} bytes")
            except (OSError, http.client.HTTPException) as e:
                bad.append(f"/{size}: {e!r}")
                break
            longest = max(longest, time.monotonic() - begin)
            done += 1
            if time.monotonic() >= until.value:
                break
        c.close()
    result.put((done, bad, longest))


def load_web(opts, port, seconds):
    until = multiprocessing.Value("d", time.monotonic() + seconds)
    result = multiprocessing.Queue()
    ps = [multiprocessing.Process(target=client, args=(port, i, until, result)) for i in range(opts.clients)]
    for p in ps:
        p.start()
    got = [result.get() for _ in ps]
    for p in ps:
        p.join()
    return sum(g[0] for g in got), sum((g[1] for g in got), []), max(g[2] for g in got)


def nginx(opts, tmp):
    conf = f"{tmp}/nginx.conf"
    os.chmod(tmp, 0o755)
    os.mkdir(f"{tmp}/www")
    for size in SIZES:
        with open(f"{tmp}/www/{size}", "wb") as f:
            f.write(BODIES[size])
    with open(conf, "w") as f:
        f.write(f"""daemon off; worker_processes 2; pid {tmp}/pid; error_log {tmp}/error.log notice;
events {{ worker_connections 256; }}
http {{ access_log {tmp}/access.log; client_body_temp_path {tmp}/b; proxy_temp_path {tmp}/p; fastcgi_temp_path {tmp}/f;
uwsgi_temp_path {tmp}/u; scgi_temp_path {tmp}/s; default_type text/plain;
server {{ listen 127.0.0.1:{NGINX_PORT}; root {tmp}/www; }} }}
""")
    server = subprocess.Popen(["nginx", "-c", conf, "-e", f"{tmp}/error.log"])
    workers = wait_for("nginx", lambda: len(children(server.pid)) == 2 and children(server.pid))
    try:
        phases = [Phase(server.pid)]
        before = load_web(opts, NGINX_PORT, opts.seconds / 6)
        phases[0].end(before[0], before[0] / (opts.seconds / 6))
        with open(f"{tmp}/access.log", "w"):  # nginx appends
            pass
        t = Trace(opts, workers, "nginx")
        phases.append(Phase(server.pid))
        during = load_web(opts, NGINX_PORT, opts.seconds)
        time.sleep(0.3)  # what follows an answer
        phases[1].end(during[0], during[0] / opts.seconds)
        bad = t.end()
        logged = settled(lambda: sum(1 for _ in open(f"{tmp}/access.log")))
        phases.append(Phase(server.pid))
        after = load_web(opts, NGINX_PORT, opts.seconds / 6)
        phases[2].end(after[0], after[0] / (opts.seconds / 6))
        bad += before[1] + during[1] + after[1] + t.unequal("/usr/sbin/nginx", opts.clients)
        for name in ("entry", "return"):
            if t.of(name, "ngx_http_process_request") != during[0]:
                bad.append(f"{t.of(name, 'ngx_http_process_request')} of {during[0]} requests at {name}")
        if logged != during[0]:
            bad.append(f"nginx has logged {logged} of {during[0]}")
        if children(server.pid) != workers:
            bad.append("nginx has other workers now")
        with open(f"{tmp}/error.log") as f:
            bad += [l.strip() for l in f if re.search(r"\[(warn|error|crit|alert|emerg)\]", l)]
    finally:
        server.terminate()
        server.wait()
    report(f"nginx, GET over kept connections, clients: {opts.clients}", "requests", phases, during[0], t, f"longest answer {during[2] * 1000:.0f} ms")
    return bad


def web(opts, tmp, title, argv, module):
    """A web server of one process, in a language: the functions of one module of it."""
    log = f"{tmp}/log"
    with open(log, "w") as err:
        server = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=err, text=True)
    bad = []
    try:
        port = int(server.stdout.readline())
        load_web(opts, port, opts.seconds / 4)  # its code is compiled
        phases = [Phase(server.pid)]
        before = load_web(opts, port, opts.seconds / 6)
        phases[0].end(before[0], before[0] / (opts.seconds / 6))
        t = Trace(opts, [server.pid], module)
        phases.append(Phase(server.pid))
        during = load_web(opts, port, opts.seconds)
        phases[1].end(during[0], during[0] / opts.seconds)
        bad += t.end()
        phases.append(Phase(server.pid))
        after = load_web(opts, port, opts.seconds / 6)
        phases[2].end(after[0], after[0] / (opts.seconds / 6))
        bad += before[1] + during[1] + after[1]
        if server.poll() is not None:
            bad.append(f"the server has ended with {server.returncode}")
        if t.total < during[0]:
            bad.append(f"{t.total} firings in {during[0]} requests")
        with open(log) as f:
            bad += [line.strip() for line in f]
    finally:
        server.kill()
        server.wait()
    report(title, "requests", phases, during[0], t, f"longest answer {during[2] * 1000:.0f} ms")
    return bad


def java(opts, tmp):
    subprocess.run(["javac", "-d", tmp, f"{ROOT}/bench/Servers.java"], check=True)
    return web(opts, tmp, f"Java, all functions of libjvm.so, clients: {opts.clients}", ["java", "-cp", tmp, "Servers"], "libjvm.so")


def node(opts, tmp):
    return web(opts, tmp, f"Node.js, all functions, clients: {opts.clients}", ["node", f"{ROOT}/bench/servers.js"], "node")


# ---- PostgreSQL ----------------------------------------------------------------------------------


def as_postgres(*argv, **kw):
    return subprocess.run(["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *argv], check=True, cwd="/",
                          capture_output=True, text=True, **kw).stdout


def sql(tmp, text):
    return as_postgres(f"{PG}/psql", "-h", tmp, "-At", "-c", text, "bench").strip()


def pgbench(opts, tmp, flags, seconds):
    """A run that is not waited for."""
    return subprocess.Popen(["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", f"{PG}/pgbench", "-h", tmp, "-n",
                             "-c", str(opts.clients), "-j", str(min(opts.clients, 2)), "-T", str(max(int(seconds), 1)), "-P", "1", *flags, "bench"], cwd="/",
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


ALL = 1e9  # seconds


def result_of(p, since=0.0, until=ALL):
    """Transactions of all of it, rate between two times of it, what is wrong."""
    out, err = p.communicate()
    rates = [float(r) for t, r in re.findall(r"progress: ([\d.]+) s, ([\d.]+) tps", err) if since + 1 <= float(t) <= until]
    num = lambda what: float(m[1]) if (m := re.search(what, out)) else -1
    bad = [f"pgbench: status {p.returncode}, {err}"] if p.returncode else []
    failed = num(r"failed transactions: (\d+)")
    bad += [f"{failed:.0f} transactions have failed"] * (failed != 0)
    rate = num(r"tps = ([\d.]+)") if until == ALL else sum(rates) / max(len(rates), 1)
    return num(r"transactions actually processed: (\d+)"), rate, bad


def backends(opts, server):
    """The processes that serve the clients of pgbench, which opens a connection first that it closes again."""
    found = []
    for pid in children(server):
        try:
            with open(f"/proc/{pid}/cmdline") as f:
                if "postgres bench" in f.read():
                    found.append(pid)
        except OSError:  # ended meanwhile
            pass
    return found if len(found) == opts.clients else None


def backends_settled(opts, server):
    found = backends(opts, server)
    time.sleep(0.2)
    return found if found == backends(opts, server) else None


def consistent(tmp, transactions):
    """TPC-B: each transaction adds one delta to an account, a teller and a branch, and notes it."""
    sums = sql(tmp, "select (select sum(abalance) from pgbench_accounts), (select sum(tbalance) from pgbench_tellers), "
                    "(select sum(bbalance) from pgbench_branches), (select sum(delta) from pgbench_history), "
                    "(select count(*) from pgbench_history)").split("|")
    bad = [f"sums of accounts, tellers, branches, history: {sums[:4]}"] if len(set(sums[:4])) != 1 else []
    return bad + [f"{sums[4]} rows of {transactions}"] * (int(sums[4]) != transactions)


def postgres(opts, tmp, what, flags, is_tpcb):
    shutil.chown(tmp, "postgres", "postgres")
    as_postgres(f"{PG}/initdb", "-D", f"{tmp}/data", "--no-sync", "-A", "trust")
    log = open(f"{tmp}/log", "w")
    server = subprocess.Popen(["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", f"{PG}/postgres", "-D",
                               f"{tmp}/data", "-k", tmp, "-c", "listen_addresses="], cwd="/", stdout=log, stderr=log)
    bad, total = [], 0
    try:
        wait_for("PostgreSQL", lambda: subprocess.run([f"{PG}/pg_isready", "-U", "postgres", "-h", tmp], capture_output=True).returncode == 0)
        as_postgres(f"{PG}/createdb", "-h", tmp, "bench")
        as_postgres(f"{PG}/pgbench", "-h", tmp, "-i", "-s", "4", "-q", "bench")
        phases = [Phase(server.pid)]
        before = result_of(pgbench(opts, tmp, flags, opts.seconds / 6))
        phases[0].end(before[0], before[1])
        begin = time.monotonic()
        run = pgbench(opts, tmp, flags, opts.seconds + 20)
        pids = wait_for("backends", lambda: backends_settled(opts, server.pid))
        t = Trace(opts, pids, "postgres")
        up = time.monotonic() - begin
        phases.append(Phase(server.pid))
        time.sleep(opts.seconds)
        until = time.monotonic() - begin
        cpu = phases[1]
        cpu.end(1, 0)
        still = backends(opts, server.pid)
        bad += t.end()
        if still != pids:
            bad.append(f"backends {pids} are {still} now")
        during = result_of(run, up, until)
        cpu.us, cpu.rate = cpu.us / max(during[1] * opts.seconds, 1), during[1]
        phases.append(Phase(server.pid))
        after = result_of(pgbench(opts, tmp, flags, opts.seconds / 6))
        phases[2].end(after[0], after[1])
        bad += before[2] + during[2] + after[2] + t.unequal(f"{PG}/postgres", opts.clients)
        if is_tpcb:
            bad += consistent(tmp, before[0] + during[0] + after[0])
        with open(f"{tmp}/log") as f:
            bad += [l.strip() for l in f if re.search(r"\b(WARNING|ERROR|FATAL|PANIC):", l) and "starting up" not in l]
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()
    report(f"PostgreSQL, {what}, clients: {opts.clients}", "transactions", phases, during[1] * opts.seconds, t, "")
    return bad


# ---- all -----------------------------------------------------------------------------------------


def report(title, unit, phases, n, t, more):
    one, us = unit[:-1], [p.us for p in phases]
    print(f"{title}\n  {unit + '/s':<16}" + ", ".join(f"{p.rate:.0f} {w}" for p, w in zip(phases, ("before", "traced", "after"))) +
          f"\n  CPU             {us[0]:.0f} us a {one} before, {us[1]:.0f} traced: {(us[1] - us[0]) * n / max(t.total, 1):.2f} us a firing"
          f"\n  traced          {n:.0f} {unit}, {t.total} firings of {t.functions()} functions, {t.total / max(n, 1):.0f} a {one}"
          f"\n  dtrace          start {t.start:.2f} s, stop {t.stop:.2f} s{'; ' if more else ''}{more}" +
          "".join(f"\n                  {line}" for line in t.places[:1]), flush=True)


# what runs; the programs that it needs; how many clients
RUNS = {
    "nginx": (nginx, ["nginx"], 4),
    "nginx-one": (nginx, ["nginx"], 1),
    "pgbench-select": (lambda o, tmp: postgres(o, tmp, "pgbench -S", ["-S"], False), [f"{PG}/pgbench"], 4),
    "pgbench-select-one": (lambda o, tmp: postgres(o, tmp, "pgbench -S", ["-S"], False), [f"{PG}/pgbench"], 1),
    "pgbench-tpcb": (lambda o, tmp: postgres(o, tmp, "TPC-B", [], True), [f"{PG}/pgbench"], 4),
    "java": (java, ["java", "javac"], 4),
    "node": (node, ["node"], 4),
}


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--build", default=f"{ROOT}/build-dev")
    ap.add_argument("--seconds", type=float, default=60)
    ap.add_argument("--inproc", choices=("off", "auto", "all"), default="off")
    ap.add_argument("runs", nargs="*", choices=[[], *RUNS], metavar="RUN", help=", ".join(RUNS))
    opts = ap.parse_args()
    wrong = 0
    for name in opts.runs or RUNS:
        run, programs, opts.clients = RUNS[name]
        lacks = [p for p in programs if not shutil.which(p)]
        if lacks:
            print(f"{name}: left out, {lacks[0]} is not installed")
            continue
        with tempfile.TemporaryDirectory() as tmp:
            bad = run(opts, tmp)
        print("\n".join(f"  WRONG: {b}" for b in bad[:20]) or "  nothing lost, nothing wrong")
        wrong += len(bad)
    sys.exit(wrong > 0)


main()
