# SPDX-License-Identifier: MIT
"""Calls of the Python package from callbacks, from other threads, and in the child of a fork (reentry_python.sh)."""
import os
import signal
import sys
import threading
import time

import libdtrace

bad = []
ACTIVE = 1000 + 1 + [line.split("(")[1].split(",")[0] for line in open(os.environ["SRC"] + "/include/dtrace_errors.def") if line.startswith("EDT(")].index("ACTIVE")


def check(what, got, want):
    if got != want:
        bad.append(f"{what}: {got!r}, want {want!r}")


def refused(func):
    """The errno of the Error that func raises; None: it raises none."""
    try:
        func()
    except libdtrace.Error as e:
        return e.errno
    return None


class Counting(libdtrace.Consumer):
    closed = 0

    def _close(self):
        super()._close()
        Counting.closed += 1


def callbacks():
    """From each kind of callback: nothing is closed, nothing is lost."""
    d, tried = Counting(), {}
    def attempts(kind):
        got = [refused(f) for f in (d.close, d.go, d.consume, d.rows, lambda: d.aggwalk(print), lambda: d.run(seconds=1))]
        check(f"refused in {kind}", got, [ACTIVE] * 6)
        tried[kind] = tried.get(kind, 0) + 1
    d.on_text = lambda text: attempts("on_text")
    d.on_error = lambda text: attempts("on_error")
    d.on_notice = lambda text: tried.setdefault("on_notice", refused(d.close))
    d.setopt("statusrate", "60s")  # a notice says that it is adjusted
    d.strcompile('BEGIN { trace(1); trace(2); @[1] = count(); printa(@); } BEGIN { n = 0; } BEGIN { trace(1 / n); } tick-10ms { exit(0); }')
    d.go()
    seen = []
    d.run(lambda probe, rec: (attempts("record"), seen.append(rec and rec.data)))
    check("records", seen, [1, 2, None, None])
    d.aggwalk(lambda varid, keys, value: (attempts("aggwalk"), seen.append((keys, value))))
    check("rows", seen[4:], [((1,), 1)])
    check("kinds", sorted(tried), ["aggwalk", "on_error", "on_notice", "on_text", "record"])
    check("a notice", tried["on_notice"], ACTIVE)
    check("nothing was closed", Counting.closed, 0)
    d.close()
    d.close()
    check("closed", (Counting.closed, refused(d.go)), (1, 0))


def uncaught():
    """The refusal itself ends the call from which the callback came, and the consumer closes afterwards."""
    with libdtrace.Consumer() as d:
        d.strcompile("BEGIN { trace(1); }")
        d.go()
        check("close() in a record", refused(lambda: d.run(lambda probe, rec: d.close(), 5)), ACTIVE)


def stops():
    """stop() in a callback ends the run; END's record comes with the same run."""
    with libdtrace.Consumer() as d:
        seen = []
        d.strcompile('tick-1ms { trace("tick"); } END { trace("end"); }')
        d.go()
        def on_record(probe, rec):
            seen.append(probe.name)
            d.stop()
        d.run(on_record)
        check("END", seen[-1], "END")


def threads():
    """While one thread waits, close() and the rest are refused in another one; interrupt() ends the wait."""
    d = libdtrace.Consumer()
    d.strcompile("tick-1s { @ = count(); }")
    d.go()
    is_ready, ended = threading.Event(), []
    def first(probe, rec):
        is_ready.set()
        while not ended:  # this thread is in consume() until the other one has tried
            time.sleep(0.001)
    other = libdtrace.Consumer()
    other.strcompile("BEGIN { trace(1); }")
    other.go()
    t = threading.Thread(target=lambda: other.run(first, 30))
    t.start()
    check("a record", is_ready.wait(60), True)
    check("another thread", [refused(f) for f in (other.close, other.consume, other.rows, other.stop)], [0] * 4)
    check("another consumer", refused(d.consume), None)
    ended.append(True)
    other.interrupt()
    t.join(60)
    check("run() ends", t.is_alive(), False)
    other.stop()
    other.close()
    t = threading.Thread(target=d.run)
    t.start()
    d.interrupt()
    t.join(60)
    check("run() without an end ends", t.is_alive(), False)
    d.close()


def races():
    """close() and interrupt() of one thread against a run of another, again and again: an exception at the most."""
    for _ in range(20):
        d = libdtrace.Consumer()
        d.strcompile("BEGIN { trace(1); } tick-1ms { trace(2); }")
        d.go()
        def run():
            try:
                d.run(lambda probe, rec: None, 30)
            except libdtrace.Error:
                pass
        t = threading.Thread(target=run)
        t.start()
        while True:
            d.interrupt()
            try:
                d.close()
                break
            except libdtrace.Error:
                pass
        t.join(60)
        check("the run has ended", t.is_alive(), False)


def fork():
    """A child that closes, by the end of the block and by exit, leaves the parent's session alone."""
    with libdtrace.Consumer() as d:
        d.strcompile("syscall::getpgid:entry /pid == $1/ { @ = count(); }", os.getpid())
        d.go()
        child = os.fork()
        if not child:
            code = 0 if refused(d.consume) == 0 and refused(d.rows) == 0 else 1
            d.close()
            d.interrupt()
            del d
            os._exit(code)
        check("the child", os.waitpid(child, 0)[1], 0)
        for _ in range(100):
            os.getpgid(0)
        check("calls", [r.value for r in d.rows()], [100])


def signals():
    """^C in a callback is the exception of run(), wherever it hits."""
    with libdtrace.Consumer() as d:
        d.strcompile("tick-1ms { trace(1); }")
        d.go()
        try:
            while True:
                d.consume(lambda probe, rec: os.kill(os.getpid(), signal.SIGINT))
        except KeyboardInterrupt:
            pass


for test in (callbacks, uncaught, stops, threads, races, fork, signals):
    test()
print("\n".join(bad), end="\n" if bad else "")
sys.exit(bool(bad))
