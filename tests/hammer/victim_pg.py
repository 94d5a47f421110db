# SPDX-License-Identifier: MIT
"""PostgreSQL under pgbench until SIGTERM (tests/hammer/run): two clients that stay, and one that connects anew for each transaction, so that the server
forks all the time. "ready" is followed by the processes to be patched: the servers of the two clients, and the one that forks. At the end the sums of
all tables must agree, no client may have failed, and no server may have died."""
import glob, os, pwd, shutil, signal, subprocess, sys, tempfile, threading, time

BINS = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda p: int(p.split("/")[-2]))
stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
if not BINS or not shutil.which(f"{BINS[-1]}/pgbench"):
    print("skip: there is no PostgreSQL", flush=True)
    sys.exit(0)
try:
    user = pwd.getpwnam("postgres")
except KeyError:
    print("skip: there is no user postgres", flush=True)
    sys.exit(0)
folder = tempfile.mkdtemp(prefix="hammer-pg")
os.chown(folder, user.pw_uid, user.pw_gid)
env = {"PATH": "/usr/bin:/bin", "PGHOST": folder, "PGDATABASE": "postgres", "PGUSER": "postgres", "LC_ALL": "C"}
quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}


def start(tool, *args, **more):
    return subprocess.Popen([f"{BINS[-1]}/{tool}", *args], env=env, cwd=folder, user=user.pw_uid, group=user.pw_gid, extra_groups=[],
                            **{**quiet, **more})


def run(tool, *args):
    p = start(tool, *args)
    out = p.communicate(timeout=300)[0]
    if p.returncode:
        raise RuntimeError(f"{tool}: {out}")
    return out


def ask(query):
    return run("psql", "-XAtc", query).split()


def await_(what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not stop.is_set():
        got = what()
        if got:
            return got
        time.sleep(0.1)
    raise RuntimeError("the server does not come up")


server = clients = None
wrong = []
try:
    run("initdb", "-D", f"{folder}/data", "-A", "trust", "-N")
    log = open(f"{folder}/log", "w+")
    server = start("postgres", "-D", f"{folder}/data", "-k", folder, "-h", "", "-c", "fsync=off", stdout=log, stderr=log)
    await_(lambda: start("pg_isready").wait() == 0)
    run("pgbench", "-i", "-s", "2", "-q")
    clients = [start("pgbench", "-n", "-c", "2", "-T", "1000000")]
    asked = "select pid from pg_stat_activity where application_name = 'pgbench' order by backend_start"
    backends = await_(lambda: (pids := ask(asked))[1:] and pids)
    # these come and go, so they are no backends to be patched
    clients.append(start("pgbench", "-n", "-C", "-c", "1", "-R", "20", "-T", "1000000"))
    print("ready", *backends, server.pid, flush=True)
    while not stop.wait(0.2):
        for c in clients:
            if c.poll() is not None:
                wrong.append(f"pgbench has ended: {c.communicate()[0][-500:]}")
                stop.set()
    for c in clients:
        c.terminate()
        out = c.communicate(timeout=60)[0]
        wrong += [line for line in out.splitlines() if "abort" in line or "error:" in line.lower()]
    sums = ask("select sum(abalance) from pgbench_accounts union all select sum(bbalance) from pgbench_branches union all "
               "select sum(tbalance) from pgbench_tellers union all select sum(delta) from pgbench_history")
    if len(set(sums)) != 1:
        wrong.append(f"the sums differ: {sums}")
    rows = ask("select count(*) from pgbench_history")[0]
finally:
    if server:
        server.send_signal(signal.SIGINT)
        server.wait(60)
        log.seek(0)
        wrong += [line for line in log.read().splitlines() if "terminated by signal" in line or "PANIC" in line]
    shutil.rmtree(folder, ignore_errors=True)
if wrong:
    print("wrong:", *wrong, sep="\n", file=sys.stderr)
    sys.exit(1)
print(f"ok: {rows}", flush=True)
