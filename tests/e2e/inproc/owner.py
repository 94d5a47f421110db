# SPDX-License-Identifier: MIT
"""The owner thread of a process counts in words of its own without a lock (doc/inproc.md, "Counting"): nothing is lost by that, whoever else runs.

tests/e2e/inproc/owner.c makes second tasks with the owner's thread pointer (by clone() with CLONE_VM and without CLONE_SETTLS, as a thread and as a process, while
it is traced and before), is interrupted by signals, makes children by vfork(), and many threads, one of which gets the block of an owner that has ended. It says
how often it has called work(). A thread that claims the owner's thread pointer for itself falsifies its process's numbers, and does no other harm.
Who makes a second task is stopped by dtrace, and goes on while dtrace waits for a reader of its output, while it is stopped itself, and when it was killed;
who was stopped by its user does not.
"""
import array, fcntl, os, re, select, signal, subprocess, sys, termios, time

DTRACE, TMP, SRC, CC = os.environ["DTRACE"], os.environ["TMP"], os.environ["SRC"], os.environ.get("CC", "cc")
PATIENCE = int(os.environ.get("PATIENCE", 1))
FILE = f"{TMP}/owner"
SCRIPT = """pid$target:a.out:work:entry, pid$target:a.out:work:return { @[probename] = count(); @all = count(); }
tick-20ms /!told/ { told = 1; printf("READY\\n"); }
END { printa("%s %@d\\n", @); printa("all %@d\\n", @all); }"""
BEGUN, ENDED = "inproc: a thread counts without a lock", "inproc: all threads count with a lock"
bad = []


def wait_for(what, done):
    for _ in range(3000 * PATIENCE):
        if done():
            return True
        time.sleep(0.02)
    bad.append(f"not within a minute: {what}")
    return False


def session(mode, ncalls):
    """What the program said, what dtrace has counted, how often an owner has begun, and whether it has ended before the session."""
    t = subprocess.Popen([FILE, mode, str(ncalls)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    t.stdout.readline()
    with open(f"{TMP}/err", "w+") as err:
        d = subprocess.Popen([DTRACE, "-q", "-x", "debug", "-x", "inprocsum", "-x", "inproc=auto", "-p", str(t.pid), "-n", SCRIPT],
                             stdout=subprocess.PIPE, stderr=err, text=True)
        for line in d.stdout:
            if "READY" in line:
                break

        def seen(what):
            with open(f"{TMP}/err") as f:
                return f.read().count(what)

        if mode != "early":
            wait_for(f"{mode}: an owner", lambda: seen(BEGUN))
        t.stdin.write("\n")
        t.stdin.flush()
        said = int(t.stdout.readline())
        ended = mode in ("thread", "process") and wait_for(f"{mode}: no owner any more", lambda: seen(ENDED))
        begun = seen(BEGUN)
        d.terminate()
        out, _ = d.communicate(timeout=60 * PATIENCE)
        err.seek(0)
        text = err.read()
    t.communicate("\n", timeout=60 * PATIENCE)
    told = [l for l in text.splitlines() if "DEBUG" not in l]
    if d.returncode or (mode != "exec" and told != [f"dtrace: 2 places probed in process {t.pid} itself, 0 by uprobes"]):
        bad.append(f"{mode}: status {d.returncode}, {told}")
    return said, sorted(line for line in out.splitlines() if line), begun, ended


def exact(mode, ncalls, has_owner=True, has_ended=False):
    said, got, begun, ended = session(mode, ncalls)
    want = sorted([f"entry {said}", f"return {said}", f"all {2 * said}"])
    if got != want:
        bad.append(f"{mode}: {got} instead of {want}")
    if begun != has_owner or ended != has_ended:
        bad.append(f"{mode}: an owner has begun {begun} times, and {'ended' if ended else 'not ended'}")


def state(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def owned_program(what, ncalls, script=SCRIPT, **how):
    """A program, and a dtrace that has chosen an owner in it; what: for messages, how: to start dtrace."""
    t = subprocess.Popen([FILE, "thread", str(ncalls)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    t.stdout.readline()
    with open(f"{TMP}/err", "w") as err:
        d = subprocess.Popen([DTRACE, "-q", "-x", "debug", "-x", "inproc=auto", "-p", str(t.pid), "-n", script], text=True, stderr=err,
                             **({"stdout": subprocess.DEVNULL} | how))

    def has_owner():
        with open(f"{TMP}/err") as f:
            return BEGUN in f.read()

    wait_for(f"{what}: an owner", has_owner)
    return t, d


def unread(fd):
    """How many bytes are in a pipe."""
    n = array.array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, n)
    return n[0]


def sleeps_in_write(pid):
    with open(f"/proc/{pid}/syscall") as f:
        return f.read().split()[0] == "1"


def not_read(ncalls):
    """A maker goes on while dtrace waits for a reader of its output, and nothing is lost by that."""
    t, d = owned_program("not read", ncalls, SCRIPT + """ tick-1ms { printf("%1000s\\n", "x"); }""", stdout=subprocess.PIPE)
    wait_for("not read: dtrace waits for a reader", lambda: unread(d.stdout.fileno()) > 60000 and sleeps_in_write(d.pid))
    t.stdin.write("\n")
    t.stdin.flush()
    said = int(t.stdout.readline())  # or never: then the runner ends the test
    if not sleeps_in_write(d.pid):
        bad.append("not read: dtrace waits no more")
    d.send_signal(signal.SIGINT)
    out, _ = d.communicate(timeout=60 * PATIENCE)
    t.communicate("\n", timeout=60 * PATIENCE)
    if f"all {2 * said}" not in out.splitlines() or said != 7 * ncalls:
        bad.append(f"not read: {said} calls, {[line for line in out.splitlines() if 'x' not in line]}")


def tracer_stopped(ncalls):
    """A maker goes on while dtrace is stopped."""
    t, d = owned_program("tracer stopped", ncalls, stdout=subprocess.PIPE)
    d.send_signal(signal.SIGSTOP)
    wait_for("tracer stopped: it is", lambda: state(d.pid) == "T")
    t.stdin.write("\n")
    t.stdin.flush()
    said = int(t.stdout.readline())  # or never
    if state(d.pid) != "T":
        bad.append("tracer stopped: it runs")
    d.send_signal(signal.SIGCONT)
    d.send_signal(signal.SIGINT)
    out, _ = d.communicate(timeout=60 * PATIENCE)
    t.communicate("\n", timeout=60 * PATIENCE)
    if f"all {2 * said}" not in out.splitlines() or said != 7 * ncalls:
        bad.append(f"tracer stopped: {said} calls, {out}")


def keepers():
    return [d for d in os.listdir("/proc") if d.isdigit() and name_of(d) == "uprobe-keeper"]


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm") as f:
            return f.read().strip()
    except OSError:
        return ""


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return int(f.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def stopped():
    """Who was stopped by its user stays stopped when dtrace is killed."""
    t, d = owned_program("stopped", 100)
    mine = [k for k in keepers() if parent_of(k) == d.pid]
    t.send_signal(signal.SIGSTOP)
    wait_for("stopped: it stands still", lambda: state(t.pid) == "T")
    fds = [os.pidfd_open(int(k)) for k in mine]
    d.kill()
    d.wait()
    if not fds:
        bad.append("stopped: there is no keeper")
    for fd in fds:
        select.select([fd], [], [], 60 * PATIENCE)
        os.close(fd)
    time.sleep(0.5)  # a clone of the keeper resumes; a slow one lets a bad tracer pass, and no good one fail
    if state(t.pid) != "T":
        bad.append(f"stopped: {state(t.pid)} when dtrace was killed")
    t.send_signal(signal.SIGCONT)
    t.communicate("\n\n", timeout=60 * PATIENCE)


def killed(ncalls):
    """A maker that waits for a dtrace which is killed goes on. The keeper is stopped, too, until it has happened."""
    t, d = owned_program("killed", ncalls)
    mine = [int(k) for k in keepers() if parent_of(k) == d.pid]
    for k in mine:
        os.kill(k, signal.SIGSTOP)
    d.send_signal(signal.SIGSTOP)
    t.stdin.write("\n")
    t.stdin.flush()
    wait_for("killed: the maker stands still", lambda: state(t.pid) == "T")
    d.kill()
    d.wait()
    for k in mine:
        os.kill(k, signal.SIGCONT)
    said = int(t.stdout.readline())  # or never: then the runner ends the test
    t.communicate("\n", timeout=60 * PATIENCE)
    if said != 7 * ncalls:
        bad.append(f"killed: {said} calls")


def keeper_killed(ncalls):
    """Without its keeper, dtrace lets the maker go on."""
    t, d = owned_program("keeper killed", ncalls)
    for k in keepers():
        if parent_of(k) == d.pid:
            os.kill(int(k), signal.SIGKILL)
    t.stdin.write("\n")
    t.stdin.flush()
    said = int(t.stdout.readline())  # or never
    d.terminate()
    d.wait()
    t.communicate("\n", timeout=60 * PATIENCE)
    if said != 7 * ncalls:
        bad.append(f"keeper killed: {said} calls")


subprocess.run([CC, "-O1", "-pthread", "-o", FILE, f"{SRC}/tests/e2e/inproc/owner.c"], check=True)
exact("thread", 5000000, has_ended=True)
exact("process", 5000000, has_ended=True)
exact("early", 5000000, has_owner=False)
exact("signals", 20000000)
exact("vfork", 1)
exact("churn", 100000)
exact("ends", 500000)
said, got, _, _ = session("lies", 3000000)
counts = [int(re.sub(r"\D", "", line)) for line in got]
if len(counts) != 3 or not 0 < max(counts) <= 2 * said:
    bad.append(f"lies: {got}, of {said} calls")
session("exec", 300)
not_read(300000)
tracer_stopped(300000)
killed(300000)
keeper_killed(300000)
stopped()
for line in bad:
    print(line)
sys.exit(bool(bad))
