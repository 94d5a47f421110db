# kill -9 while a run starts, traces or ends, 50 times (20 with sanitizers): nothing is left in the kernel, targets go on.
exec python3 - <<'EOF'
import os, random, signal, subprocess, sys, time

DTRACE, TRIGGER = os.environ["DTRACE"], os.environ["TRIGGER"]
PROGRAM = """
BEGIN { self->n = 1; }
syscall:::entry { self->t = timestamp; @c[execname, probefunc] = count(); printf("%s\\n", execname); }
syscall:::return /self->t/ { @q[execname] = quantize(timestamp - self->t); self->t = 0; a[tid, execname] = 1; }
profile-997 { @p[execname, arg1] = count(); }
END { printf("end"); }
"""
NAP = f"31.{os.getpid():08d}"  # marks the processes that -c started
UID = str(1000000000 + os.getpid())  # a user of its own: other runs on this machine do not count


def programs():
    return int(subprocess.check_output([os.path.join(TRIGGER, "bpfcount"), UID]))


def status(pid, field):
    try:
        with open(f"/proc/{pid}/status") as f:
            return next((l.split()[1] for l in f if l.startswith(field + ":")), "")
    except OSError:
        return ""


def naps():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as f:
                if f.read() == f"sleep\0{NAP}\0":
                    yield pid
        except OSError:
            pass


def wait_until(done, seconds=10):
    limit = time.monotonic() + seconds
    while not (is_done := done()) and time.monotonic() < limit:
        time.sleep(0.05)
    return is_done


seed = int(os.environ.get("SEED", time.time()))
random.seed(seed)
victim = subprocess.Popen(["sh", "-c", "while :; do sleep 0.01; done"])
bad = ""
for i in range(20 if os.environ["SANITIZED"] else 50):
    target = [[], ["-p", str(victim.pid)], ["-c", f"sleep {NAP}"]][i % 3]
    run = subprocess.Popen([os.path.join(TRIGGER, "asuser"), UID, DTRACE, "-q", "-n", PROGRAM] + target, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
    time.sleep(random.uniform(0, 0.2))
    if i % 4 == 3:  # in the middle of its end
        run.send_signal(signal.SIGINT)
        time.sleep(random.uniform(0, 0.03))
    run.kill()
    run.wait()
if not wait_until(lambda: not programs(), 30):
    bad += f"left behind: {programs()} programs\n"
# The shell is in state D until its vfork() has returned.
if not wait_until(lambda: status(victim.pid, "State") in ("S", "R", "D") and status(victim.pid, "TracerPid") == "0", 2):
    bad += f"the target of -p is in state '{status(victim.pid, 'State')}', traced by {status(victim.pid, 'TracerPid')}\n"
for pid in list(naps()):
    if not wait_until(lambda: status(pid, "State") not in ("T", "t"), 2):
        bad += "a process that -c started is stopped for ever\n"
    try:
        os.kill(int(pid), signal.SIGKILL)
    except ProcessLookupError:  # it has ended since it was listed
        pass
victim.kill()
victim.wait()
if bad:
    print(f"seed {seed}\n{bad}")
sys.exit(bool(bad))
EOF
