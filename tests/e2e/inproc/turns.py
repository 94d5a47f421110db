# SPDX-License-Identifier: MIT
"""Two dtraces that begin and end at the same moments, at all functions of one process that calls them meanwhile.

A breakpoint of the one in the middle of a jump of the other would be the end of the process, so they take turns (target/turn.h). Whoever has the turn is found out
by the lock that is the turn: this test takes it, too. Nobody but root can take it; where /run is read-only, it is another one.
"""
import fcntl, os, subprocess, sys, threading, time

from tracing import DTRACE, PATIENCE, TURNS, Target, Tracer, check, report, turn

TMP, SRC, CC = os.environ["TMP"], os.environ["SRC"], os.environ.get("CC", "cc")
ROUNDS = int(os.environ.get("ROUNDS", 6))
ALL = "pid$target:a.out::entry,pid$target:a.out::return,pid$target:libc.so.6:str*:entry,pid$target:libc.so.6:str*:return { @ = count(); }"


def begins(t, mode):
    """A dtrace in the background; the event is set when its probes fire."""
    fires, kept = threading.Event(), []

    def run():
        kept.append(Tracer(mode, ALL, t.pid))
        fires.set()
    threading.Thread(target=run, daemon=True).start()
    return fires, kept


def waits(t, mode, how, is_waiting):
    """A dtrace begins while another one has the turn."""
    what = f"{mode} while another one {'changes code' if how == fcntl.F_WRLCK else 'places breakpoints'}"
    fd = turn(t.pid, how)
    fires, kept = begins(t, mode)
    check(f"{what}: it has begun", fires.wait(2 if is_waiting else 60 * PATIENCE), not is_waiting)
    os.close(fd)
    check(f"{what}: it begins then", fires.wait(60 * PATIENCE), True)
    t.call(50)
    kept[0].end()
    check(f"{what}: it says so", ("for another dtrace that was changing the code" in kept[0].err) == is_waiting or kept[0].err, True)


def gives_up():
    """Where that takes too long, what can be done without the turn alone is done, or it is an error; nothing stays behind."""
    runs = []
    for mode, how in ("auto", fcntl.F_RDLCK), ("all", fcntl.F_RDLCK), ("auto", fcntl.F_WRLCK):
        t = Target(f"{TMP}/same")
        runs.append((mode, how, t, t.code(), turn(t.pid, how), subprocess.Popen(
            [DTRACE, "-q", "-x", f"inproc={mode}", "-p", str(t.pid), "-n", "pid$target:a.out:add:entry { @ = count(); } tick-20ms /!told/ { told = 1; printf(\"READY\\n\"); }"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)))
    for mode, how, t, clean, fd, p in runs:
        what = f"{mode}, another one {'changes code' if how == fcntl.F_WRLCK else 'places breakpoints'} for long"
        if mode == "auto" and how == fcntl.F_RDLCK:
            check(f"{what}: it begins", p.stdout.readline(), "READY\n")
            t.call(10)
            p.terminate()
            out, err = p.communicate(timeout=60 * PATIENCE)
            check(f"{what}: it counts", int(out.split()[-1]) > 0, True)
            check(f"{what}: by uprobes", "; the probes are uprobes" in err or err, True)
        else:
            out, err = p.communicate(timeout=120 * PATIENCE)
            check(f"{what}: status", p.returncode, 1)
        check(f"{what}: message", f"another dtrace is changing the code of process {t.pid}" in err or err, True)
        os.close(fd)
        check(f"{what}: its code is as before", t.code() == clean, True)
        check(f"{what}: it ends well", t.end(), 0)


def is_not_delayed():
    """Who is not root locks what it can: that keeps nobody waiting."""
    t = Target(f"{TMP}/same")
    script = ("import fcntl, os, sys\nos.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
              "fcntl.flock(os.open('/proc/%d' % int(sys.argv[1]), os.O_RDONLY), fcntl.LOCK_EX)\n"
              "for path in sys.argv[2], '/proc/%d/mem' % int(sys.argv[1]):\n"
              "    try: os.open(path, os.O_RDONLY); print('opened', path)\n    except PermissionError: pass\n"
              "print('locked', flush=True); sys.stdin.read()")
    os.close(turn(t.pid))
    other = subprocess.Popen([sys.executable, "-c", script, str(t.pid), TURNS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    check("another user", other.stdout.readline(), "locked\n")
    fires, kept = begins(t, "auto")
    check("another user has locks: it begins", fires.wait(60 * PATIENCE), True)
    if kept:
        kept[0].end()
        check("another user has locks: nobody has waited", "waited" in kept[0].err and kept[0].err, False)
    other.communicate()
    check("it ends well", t.end(), 0)


def reads_only():
    """Where /run is read-only, the turn is a lock on the memory of the process."""
    t = Target(f"{TMP}/same")
    argv = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o ro none /run && exec "$@"', "sh"]
    if subprocess.run([*argv, "true"], capture_output=True).returncode:
        return
    fd = turn(t.pid, file=f"/proc/{t.pid}/mem")
    p = subprocess.Popen([*argv, DTRACE, "-q", "-x", "inprocsum", "-x", "inproc=all", "-p", str(t.pid), "-n",
                          "pid$target:a.out:add:entry { @ = count(); } tick-20ms /!told/ { told = 1; printf(\"READY\\n\"); }"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ready = threading.Event()
    threading.Thread(target=lambda: (p.stdout.readline(), ready.set()), daemon=True).start()
    check("a read-only /run: it has begun while another one has the turn", ready.wait(2), False)
    os.close(fd)
    check("a read-only /run: it begins", ready.wait(60 * PATIENCE), True)
    t.call(10)
    p.terminate()
    out, err = p.communicate(timeout=60 * PATIENCE)
    check("a read-only /run: it says so", "for another dtrace that was changing the code" in err or err, True)
    check("a read-only /run: in the process", " places probed in process" in err and int(out.split()[-1]) > 0, True)
    check("it ends well", t.end(), 0)


def together(t, clean, modes):
    """Both begin and end at the same time, again and again."""
    for i in range(ROUNDS):
        both = [begins(t, mode) for mode in modes]
        while not all(fires.is_set() for fires, kept in both):
            t.call(20)
        t.call(20)
        ends = [threading.Thread(target=kept[0].end) for fires, kept in both]
        for x in ends:
            x.start()
        while any(x.is_alive() for x in ends):
            t.call(20)
    until = time.monotonic() + 30 * PATIENCE
    while t.code() != clean and time.monotonic() < until:
        time.sleep(0.02)
    check(f"{modes}: its code is as before", t.code() == clean, True)


subprocess.run([CC, "-O2", "-pthread", "-o", f"{TMP}/same", f"{SRC}/tests/e2e/inproc/same.c", "-ldl"], check=True)
t = Target(f"{TMP}/same")
clean = t.code()
want = t.call(50)
waits(t, "auto", fcntl.F_WRLCK, True)
waits(t, "auto", fcntl.F_RDLCK, True)
waits(t, "off", fcntl.F_WRLCK, True)
waits(t, "off", fcntl.F_RDLCK, False)
is_not_delayed()
reads_only()
gives_up()
check("the directory", os.stat(os.path.dirname(TURNS)).st_mode & 0o7777, 0o700)
for modes in (("auto", "auto"), ("auto", "off"), ("all", "auto")):
    together(t, clean, modes)
check("its results", t.call(50), want)
check("it ends well", t.end(), 0)
sys.exit(report())
