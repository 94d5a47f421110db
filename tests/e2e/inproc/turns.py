# SPDX-License-Identifier: MIT
"""Two dtraces that begin and end at the same moments, at all functions of one process that calls them meanwhile.

A breakpoint of the one in the middle of a jump of the other would be the end of the process, so they take turns (target/turn.h). Whoever has the turn is found out
by the lock that is the turn: this test takes it, too. Nobody but root can take it; where /run is read-only, it is another one.
"""
import fcntl, os, subprocess, sys, threading, time

from tracing import DTRACE, PATIENCE, TURNS, Target, Tracer, check, lines_of, report, turn

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
    """A dtrace begins while another one has the turn. On a busy machine it may come to its turn only when the other one has ended, and says nothing then: it is kept waiting for longer."""
    what = f"{mode} while another one {'changes code' if how == fcntl.F_WRLCK else 'places breakpoints'}"
    for seconds in 2, 4, 8, 16:
        fd = turn(t.pid, how)
        fires, kept = begins(t, mode)
        check(f"{what}: it has begun", fires.wait(seconds if is_waiting else 60 * PATIENCE), not is_waiting)
        os.close(fd)
        check(f"{what}: it begins then", fires.wait(60 * PATIENCE), True)
        t.call(50)
        kept[0].end()
        says = "for another dtrace that was changing the code" in kept[0].err
        if says == is_waiting or not is_waiting:
            break
    check(f"{what}: it says so", says == is_waiting or kept[0].err, True)


def is_clean(what, t, clean):
    """The code is as before: the keeper takes breakpoints out for a moment after the end of dtrace."""
    until = time.monotonic() + 60 * PATIENCE
    while t.code() != clean and time.monotonic() < until:
        time.sleep(0.02)
    check(f"{what}: its code is as before", t.code() == clean, True)


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
        is_clean(what, t, clean)
        check(f"{what}: it ends well", t.end(), 0)


def user_has_it():
    """A user's dtrace can lock the memory file only: root writes no jumps meanwhile, and does not wait for long; breakpoints are placed."""
    for mode in "auto", "all", "off":
        t = Target(f"{TMP}/same")
        clean, fd = t.code(), turn(t.pid, file=f"/proc/{t.pid}/mem")
        p = subprocess.Popen([DTRACE, "-q", "-x", f"inproc={mode}", "-p", str(t.pid), "-n",
                              "pid$target:a.out:add:entry { @ = count(); } tick-20ms /!told/ { told = 1; printf(\"READY\\n\"); }"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if mode != "all":
            check(f"{mode}, a user changes code: it begins", p.stdout.readline(), "READY\n")
            t.call(10)
            p.terminate()
        out, err = p.communicate(timeout=60 * PATIENCE)
        check(f"{mode}, a user changes code: status", p.returncode, 1 if mode == "all" else 0)
        check(f"{mode}, a user changes code: message", f"another dtrace is changing the code of process {t.pid}" in err or err, True if mode != "off" else err)
        check(f"{mode}, a user changes code: breakpoints wait for a second", mode == "all" or "for another dtrace that was changing the code" in err or err, True)
        if mode == "auto":
            check("a user changes code: uprobes", "; the probes are uprobes" in err or err, True)
        if mode != "all":
            check(f"{mode}, a user changes code: it counts", int(out.split()[-1]) > 0, True)
        os.close(fd)
        is_clean(f"{mode}, a user changes code", t, clean)
        check("it ends well", t.end(), 0)


def comes_late(what, is_there):
    """A user keeps the turn, so uprobes come after a second."""
    until = time.monotonic() + 60 * PATIENCE
    while not is_there() and time.monotonic() < until:
        time.sleep(0.02)
    check(f"{what}: uprobes come", is_there(), True)


def user_has_it_later():
    """A user takes the lock while probes are there: what the process executes, or maps, then gets uprobes a second later."""
    for mode in "auto", "all":
        what = f"{mode}, a user has the lock, and the process executes"
        t = Target(f"{TMP}/same")
        clean = t.code()
        tracer = Tracer(mode, "pid$target:a.out:add:entry { @[execname] = count(); }", t.pid)
        fd = turn(t.pid, file=f"/proc/{t.pid}/mem")
        t.call("e")
        comes_late(what, lambda: t.code() != clean)
        t.call(50)
        out = tracer.end()[0]
        check(f"{what}: it counts", "exe 66" in lines_of(out) or (out, tracer.err), True)
        check(f"{what}: it says so", "ms late: another dtrace was changing its code" in tracer.err or tracer.err, True)
        os.close(fd)
        check(f"{what}: it ends well", t.end(), 0)
    what = "a user has the lock, and the process maps a library"
    t = Target(f"{TMP}/same")
    tracer = Tracer("auto", "pid$target:a.out:add:entry,pid$target:libmore.so:from_library:entry { @[probefunc] = count(); }", t.pid, "-Z")
    fd = turn(t.pid, file=f"/proc/{t.pid}/mem")
    t.ask(f"{TMP}/libmore.so")
    with open(f"{TMP}/libmore.so", "rb") as f:
        file = f.read()
    comes_late(what, lambda: code_changes(t, file) == 1)
    t.ask(f"{TMP}/libmore.so")
    out = tracer.end()[0]
    check(f"{what}: it counts", [line for line in lines_of(out) if "from_library" in line] in (["from_library 1"], ["from_library 2"]) or (out, tracer.err), True)
    check(f"{what}: it says so", f"what process {t.pid} has mapped is probed by uprobes" in tracer.err or tracer.err, True)
    os.close(fd)
    check(f"{what}: it ends well", t.end(), 0)


def is_entered(t):
    """Waits until a dtrace has entered the process: its buffers are there."""
    until = time.monotonic() + 60 * PATIENCE
    while time.monotonic() < until:
        if any("/dev/zero" in line for line in t.maps()):
            return True
    return False


def turn_soon(pid, how):
    """Takes the turn as soon as nobody else has it."""
    while True:
        try:
            return turn(pid, how)
        except OSError:
            time.sleep(0)


def loses_turn():
    """Another one takes the turn between the entering of the process and the jumps: code that comes later gets none either."""
    for attempt in range(10):
        t = Target(f"{TMP}/same")
        clean = t.code()
        p = subprocess.Popen([DTRACE, "-q", "-Z", "-x", "inproc=auto", "-p", str(t.pid), "-n",
                              "pid$target:libc.so.6:str*:entry,pid$target:libmore.so:from_library:entry { @[probefunc] = count(); }"
                              " tick-20ms /!told/ { told = 1; printf(\"READY\\n\"); }"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        check("a turn is lost: the process is entered", is_entered(t), True)
        fd = turn_soon(t.pid, fcntl.F_RDLCK)
        check("a turn is lost: it begins", p.stdout.readline(), "READY\n")
        until = time.monotonic() + 60 * PATIENCE
        t.ask(f"{TMP}/libmore.so")
        with open(f"{TMP}/libmore.so", "rb") as f:
            file = f.read()
        while not code_changes(t, file) and time.monotonic() < until:
            time.sleep(0.02)
        t.ask(f"{TMP}/libmore.so")
        # A uprobe is a breakpoint of one byte; a jump has a distance behind its opcode.
        differ = code_changes(t, file)
        p.terminate()
        out, err = p.communicate(timeout=60 * PATIENCE)
        os.close(fd)
        is_clean("a turn is lost", t, clean)
        check("a turn is lost: it ends well", t.end(), 0)
        if "; the probes are uprobes" in err:  # else the other one came too late
            check("a turn is lost: bytes of later code that differ", differ, 1)
            check("a turn is lost: later code is probed", "from_library" in out or out, True)
            return
    check("a turn is lost in ten attempts", False, True)


def code_changes(t, file):
    """How many bytes of libmore's code differ from its file."""
    n = 0
    with open(f"/proc/{t.pid}/mem", "rb") as mem:
        for words in (line.split() for line in t.maps()):
            if "x" in words[1] and words[-1].endswith("/libmore.so"):
                start, end = (int(x, 16) for x in words[0].split("-"))
                mem.seek(start)
                off = int(words[2], 16)
                n += sum(a != b for a, b in zip(mem.read(end - start), file[off:off + end - start]))
    return n


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
    check("a read-only /run: in the process", " probed in process" in err and int(out.split()[-1]) > 0, True)
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
    is_clean(str(modes), t, clean)


subprocess.run([CC, "-O2", "-pthread", "-o", f"{TMP}/same", f"{SRC}/tests/e2e/inproc/same.c", "-ldl"], check=True)
with open(f"{TMP}/more.c", "w") as f:
    f.write("__attribute__((noinline, noipa)) long from_library(long n) { return n * 3 + (n >> 2) + (n & 7); }\n")
subprocess.run([CC, "-O2", "-shared", "-fPIC", "-o", f"{TMP}/libmore.so", f"{TMP}/more.c"], check=True)
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
user_has_it()
user_has_it_later()
loses_turn()
check("the directory", os.stat(os.path.dirname(TURNS)).st_mode & 0o7777, 0o700)
for modes in (("auto", "auto"), ("auto", "off"), ("all", "auto")):
    together(t, clean, modes)
check("its results", t.call(50), want)
check("it ends well", t.end(), 0)
sys.exit(report())
