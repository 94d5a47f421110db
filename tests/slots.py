# SPDX-License-Identifier: MIT
"""How many tests run at once: as many as there are CPUs, and more of them while CPUs have nothing to do.

A test that waits for a timer or a server leaves its CPU to nobody else. Twice the number at most; one at a time, each after a look at what the last
one has left. On machines whose CPUs are busy nothing changes.
"""
import os, threading, time

LOOK_S = 0.5  # a look at the CPUs is over so many seconds
SPARE = 0.5  # of one CPU, for one more test


def cpu_times():
    """Of all CPUs since the start of the system: ticks without work (or with work that is niced: it can wait), and all of them."""
    with open("/proc/stat", encoding="ascii") as f:
        user, nice, system, idle, iowait, *more = map(int, f.readline().split()[1:9])
    return nice + idle + iowait, user + nice + system + idle + iowait + sum(more)


class Slots:
    """A context for each test: entering it waits for a slot."""

    def __init__(self, jobs, most, times=cpu_times, cpus=os.cpu_count() or 1):
        self.jobs, self.most, self.times, self.cpus = jobs, most, times, cpus
        self.running, self.changed = 0, threading.Condition()
        self.came, self.entered = 0, 0  # first come, first served: the log names tests in their order
        self.looked_s, self.seen = time.monotonic(), times()

    def has_spare(self):
        """Whether CPUs had nothing to do since the last look, which was LOOK_S ago at least."""
        if time.monotonic() - self.looked_s < LOOK_S:
            return False
        now, before = self.times(), self.seen
        self.looked_s, self.seen = time.monotonic(), now
        return (now[0] - before[0]) * self.cpus >= SPARE * max(now[1] - before[1], 1)

    def __enter__(self):
        with self.changed:
            number, self.came = self.came, self.came + 1
            try:
                while number != self.entered or (self.running >= self.jobs and not (self.running < self.most and self.has_spare())):
                    self.changed.wait(LOOK_S)
                self.looked_s, self.seen = time.monotonic(), self.times()
                self.running += 1
            finally:  # it is the next one's turn, also where the CPUs cannot be looked at
                self.entered += 1
                self.changed.notify_all()

    def __exit__(self, *_):
        with self.changed:
            self.running -= 1
            self.changed.notify_all()
