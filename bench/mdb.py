#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The debugger beside gdb: core files of C and Node.js, a copy of a process beside gcore.

    bench/mdb.py [--build build] [--runs 3] [--only NAME] [--json bench/mdb.json]

Seconds are CPU time of the whole command, user and kernel; "stopped" is the longest time for which a program of 200 MB got no turn while
it was copied, as it measures itself. Rows without a peer are what gdb cannot answer. The kernel has to write core files into the current
folder (kernel.core_pattern without a path).
"""
import os, resource, signal, subprocess, sys, tempfile

from pairs import Bench

C = r"""
#include <stdlib.h>
#include <string.h>
static int depth(int n) { return n ? depth(n - 1) + 1 : (abort(), 0); }
int main(void)
{
	for (int i = 0; i < 1000000; i++)
		memset(malloc(16 + i % 100), i, 16);
	return depth(30);
}
"""
JS = r"""
class Point { constructor(x, y) { this.x = x; this.y = y; } }
class Worker { constructor(i) { this.id = i; this.pos = new Point(i, i + 0.5); this.tags = ['a', i]; } }
const keep = globalThis.keep = [];
for (let i = 0; i < 700000; i++) keep.push(new Worker(i));
(function leaf(o) { process.abort(); })(keep[5]);
"""
GAPS = r"""
import sys, threading, time
data = bytearray(200 << 20)
for i in range(0, len(data), 4096): data[i] = 1
gap = 0.0
def ask():
    global gap
    for line in sys.stdin:
        if line == "reset\\n":
            gap = 0.0
        print(gap, flush=True)
threading.Thread(target=ask, daemon=True).start()
print("ready", flush=True)
last = time.perf_counter()
while True:
    time.sleep(0.001)
    now = time.perf_counter()
    gap, last = max(gap, now - last), now
"""


def cpu(argv):
    """CPU seconds of a command that has to succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def core_of(argv, folder):
    """The core file of a program that aborts in a folder."""
    unlimited = lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    os.mkdir(folder)
    p = subprocess.run(argv, cwd=folder, preexec_fn=unlimited, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if p.returncode != -signal.SIGABRT or not os.listdir(folder):
        sys.exit(f"no core file of {argv[0]}: kernel.core_pattern is {open('/proc/sys/kernel/core_pattern').read()}")
    return os.path.join(folder, os.listdir(folder)[0])


class Gaps:
    """The program that measures how long it got no turn."""

    def __init__(self):
        self.p = subprocess.Popen(["/usr/bin/python3", "-c", GAPS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.p.stdout.readline()

    def ask(self, text):
        self.p.stdin.write(text + "\n")
        self.p.stdin.flush()
        return self.p.stdout.readline()

    def during(self, argv):
        """Milliseconds."""
        self.ask("reset")
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return 1000 * float(self.ask("tell"))


def main():
    bench = Bench("mdb", width=58, peer="gdb")
    mdb = os.path.join(os.path.abspath(bench.opts.build), "src/cmd/mdb/mdb")
    row = bench.row
    with tempfile.TemporaryDirectory(dir="/var/tmp") as tmp:
        exe, js = os.path.join(tmp, "deep"), os.path.join(tmp, "heap.js")
        open(f"{tmp}/deep.c", "w").write(C)
        open(js, "w").write(JS)
        subprocess.run(["gcc", "-O0", "-g", "-o", exe, f"{tmp}/deep.c"], check=True)
        core = core_of([exe], f"{tmp}/c")
        node = core_of(["node", js], f"{tmp}/node")
        bench.heading()
        row("a core file of C: its stack", lambda: cpu([mdb, "-e", "::stack", core]), lambda: cpu(["gdb", "-batch", "-nx", "-ex", "bt", exe, core]), "s", "")
        row("a core file of Node.js: its stack (gdb: native only)", lambda: cpu([mdb, "-e", "::jsstack -v", node]),
            lambda: cpu(["gdb", "-batch", "-nx", "-ex", "bt", "/usr/bin/node", node]), "s", "<= 0.5 s")
        row("census of 2,100,000 objects of Node.js", lambda: cpu([mdb, "-e", "::findjsobjects", node]), None, "s", "<= 1.5 s")
        one = subprocess.run([mdb, "-e", "::findjsobjects -c Worker -p id -l", node], check=True, capture_output=True, text=True).stdout.split()[5000]
        row("the same, and who refers to one", lambda: cpu([mdb, "-e", f"{one}::jsfindrefs", node]), None, "s", "<= 2.5 s")
        row("1,000,000 chunks of malloc", lambda: cpu([mdb, "-e", "::malloc", core]), None, "s", "")
        row("leaked ones of them", lambda: cpu([mdb, "-e", "::findleaks", core]), None, "s", "")
        gaps = Gaps()
        pid = str(gaps.p.pid)
        n = [0]

        def copied():
            n[0] += 1
            return gaps.during([mdb, "-S", pid, "-w", f"{tmp}/copy{n[0]}", "-e", "::status"])

        row("a copy of a process of 200 MB: stopped", copied, lambda: gaps.during(["gcore", "-o", f"{tmp}/gcore", pid]), "ms", "<= 300 ms")
        gaps.p.kill()
        gaps.p.wait()
    bench.save()


if __name__ == "__main__":
    sys.exit(main())
