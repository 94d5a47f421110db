# SPDX-License-Identifier: MIT
"""Makes a system call below Python frames: a line "repeat N", "known N" or "first N" on stdin is answered with the nanoseconds that a call takes, "busy N" with the
numbers of N windows of 100 ms: requests that a server answered in it, and the processor time they took."""
import json, os, random, statistics, string, sys, time

FRAMES = 16
now = time.perf_counter_ns


def hot(n):
    call = os.getppid
    took = []
    for _ in range(n):
        start = now()
        call()
        took.append(now() - start)
    return statistics.median(took)


def down(depth, n):
    return down(depth - 1, n) if depth else hot(n)


def fresh(number):
    """A chain of new functions of new files, called once."""
    space = {"now": now, "call": os.getppid}
    exec(compile("def leaf%d(x):\n\tstart = now()\n\tcall()\n\treturn now() - start\n" % number, "/srv/app/leaf%d.py" % number, "exec"), space)
    last = "leaf%d" % number
    for i in range(FRAMES - 3):
        name = "handle_%d_%d" % (number, i)
        exec(compile("\n" * (i * 7) + "def %s(x):\n\tx += 1\n\treturn %s(x)\n" % (name, last), "/srv/app/m%d.py" % i, "exec"), space)
        last = name
    return space[last](1)


def pool():
    """Functions of files of their own, each of which calls the next one of a path."""
    space = {}
    for i in range(40):
        exec(compile("\n" * i + "def known_%d(path, at):\n\treturn path[at](path, at + 1)\n" % i, "/srv/app/known%d.py" % i, "exec"), space)
    return [space["known_%d" % i] for i in range(40)]


def last(path, at):
    start = now()
    os.getppid()
    return now() - start


def known(n, steps=pool(), rest=random.Random(1)):
    """Calls functions that were called before, in an order that has not been there."""
    took = []
    for _ in range(n):
        path = [rest.choice(steps) for _ in range(FRAMES - 4)] + [last]
        took.append(path[0](path, 1))
    return statistics.median(took)


PAGE = string.Template("<li>$name: $count of $total, $note</li>")


def item(k, total):
    return PAGE.substitute(name="item %d" % k, count=k * k % total, total=total, note=json.dumps({"key": k, "list": list(range(k % 7))}))


def render(depth, k):
    return render(depth - 1, k) if depth else "".join(item(i, k + 9) for i in range(12))


WINDOW = 100_000_000  # of CLOCK_MONOTONIC, as a D program's timestamp


def busy(n):
    """Whole requests of each window, and nanoseconds of processor time for them, as text: "window:requests:ns ..."."""
    windows, k, at = {}, 0, time.monotonic_ns() // WINDOW
    last, used = at + n, time.process_time_ns()
    while at < last:
        json.loads(json.dumps({"page": render(k % 14, k), "k": k}))
        k += 1
        was, then, at, used = at, used, time.monotonic_ns() // WINDOW, time.process_time_ns()
        if at == was:
            one = windows.setdefault(at, [0, 0])
            one[0] += 1
            one[1] += used - then
    return " ".join("%d:%d:%d" % (w, *windows[w]) for w in windows)


def main():
    number = 0
    for line in sys.stdin:
        how, n = line.split()
        if how == "repeat":
            print(down(FRAMES - 3, int(n)), flush=True)
        elif how == "known":
            print(known(int(n)), flush=True)
        elif how == "busy":
            print(busy(int(n)), flush=True)
        else:
            number += int(n)
            print(statistics.median([fresh(i) for i in range(number - int(n), number)]), flush=True)


main()
