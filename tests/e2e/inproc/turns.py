# SPDX-License-Identifier: MIT
"""Two dtraces that begin and end at the same moments, at all functions of one process that calls them meanwhile.

A breakpoint of the one in the middle of a jump of the other would be the end of the process, so they take turns (target/turn.h). Whoever has the turn is found out
by the lock that is the turn: this test takes it, too.
"""
import fcntl, os, subprocess, sys, threading, time

from tracing import DTRACE, PATIENCE, Target, Tracer, check, report

TMP, SRC, CC = os.environ["TMP"], os.environ["SRC"], os.environ.get("CC", "cc")
ROUNDS = int(os.environ.get("ROUNDS", 6))
ALL = "pid$target:a.out::entry,pid$target:a.out::return,pid$target:libc.so.6:str*:entry,pid$target:libc.so.6:str*:return { @ = count(); }"


def turn(pid, how):
    fd = os.open(f"/proc/{pid}", os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(fd, how)
    return fd


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
    what = f"{mode} while another one {'changes code' if how == fcntl.LOCK_EX else 'places breakpoints'}"
    fd = turn(t.pid, how)
    fires, kept = begins(t, mode)
    check(f"{what}: it has begun", fires.wait(2 if is_waiting else 60 * PATIENCE), not is_waiting)
    os.close(fd)
    check(f"{what}: it begins then", fires.wait(60 * PATIENCE), True)
    t.call(50)
    kept[0].end()
    check(f"{what}: it says so", ("for another dtrace that was changing the code" in kept[0].err) == is_waiting or kept[0].err, True)


def gives_up(t):
    """Where that takes too long, it is an error, and nothing stays behind."""
    fd = turn(t.pid, fcntl.LOCK_EX)
    p = subprocess.run([DTRACE, "-x", "inproc=auto", "-p", str(t.pid), "-n", ALL], capture_output=True, text=True, timeout=120 * PATIENCE)
    check("one that waits too long: status", p.returncode, 1)
    check("one that waits too long: message", f"another dtrace is changing the code of process {t.pid}" in p.stderr or p.stderr, True)
    os.close(fd)


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
waits(t, "auto", fcntl.LOCK_EX, True)
waits(t, "auto", fcntl.LOCK_SH, True)
waits(t, "off", fcntl.LOCK_EX, True)
waits(t, "off", fcntl.LOCK_SH, False)
gives_up(t)
for modes in (("auto", "auto"), ("auto", "off"), ("all", "auto")):
    together(t, clean, modes)
check("its results", t.call(50), want)
check("it ends well", t.end(), 0)
sys.exit(report())
