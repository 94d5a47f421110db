# SPDX-License-Identifier: MIT
"""A program maps its own code once more, far away, and calls it there: probes that jump fire in each copy, and none of their places is a uprobe.

Copies are there at the start, come while dtrace runs, go, and come again at the same and at another address. In the end all have the bytes of the file:
when dtrace has ended, and when it and its keeper were killed and the next dtrace comes. Node.js does the same with its builtins, for each of its threads.
"""
import os, re, shutil, signal, subprocess, sys, threading, time

DTRACE, TMP, CC = os.environ["DTRACE"], os.environ["TMP"], os.environ.get("CC", "cc")
PATIENCE = int(os.environ.get("PATIENCE", 1))
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
/* Both use nothing outside of this code. */
__attribute__((noinline, noipa)) long leaf(long x) { return x * 3 + (x >> 2) + (x & 7); }
__attribute__((noinline, noipa)) long work(long n)
{
	long sum = 0;
	for (long i = 0; i < n; i++)
		sum += leaf(i) ^ i;
	return sum;
}
static unsigned long start, end, off;
static void code_find(void)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long from, to, at;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx r-xp %lx", &from, &to, &at) == 3 && (unsigned long)work >= from && (unsigned long)work < to) {
			start = from;
			end = to;
			off = at;
		}
	fclose(f);
}
static void copy_map(unsigned long to)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	void *p = mmap((void *)to, end - start, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, off);
	close(fd);
	printf("%d\n", p == (void *)to);
}
int main(void)
{
	char line[64], *file;
	unsigned long at;
	long n, want;
	code_find();
	int fd = open("/proc/self/exe", O_RDONLY);
	file = malloc(end - start);
	pread(fd, file, end - start, off);
	close(fd);
	for (puts("ready"), fflush(stdout); fgets(line, sizeof(line), stdin); fflush(stdout)) {
		sscanf(line + 1, "%lx %ld", &at, &n);
		switch (line[0]) {
		case 'm': copy_map(at); break;
		case 'u': printf("%d\n", munmap((void *)at, end - start)); break;
		case 's': printf("%d\n", memcmp(file, (void *)(at ? at : start), end - start) == 0); break;
		case 'f': /* a child calls the copy */
			if (fork() == 0)
				_exit(((long (*)(long))((unsigned long)work - start + at))(n) != 1);
			wait(NULL);
			/* fall through */
		default: printf("%ld\n", ((long (*)(long))(at ? (unsigned long)work - start + at : (unsigned long)work))(n));
		}
	}
	return 0;
}
"""
A, B, C = "100000000000", "200000000000", "200080000000"  # C is near B: one mirror serves both
bad = []


def check(what, got, want):
    if got != want:
        bad.append(f"{what}: {got!r} instead of {want!r}")


with open(f"{TMP}/copies.c", "w") as f:
    f.write(PROGRAM)
subprocess.run([CC, "-O1", "-o", f"{TMP}/copies", f"{TMP}/copies.c"], check=True)


class Program:
    def __init__(self):
        self.p = subprocess.Popen([f"{TMP}/copies"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.p.stdout.readline()

    def tell(self, what, at="0", n=0):
        self.p.stdin.write(f"{what}{at} {n}\n")
        self.p.stdin.flush()
        return self.p.stdout.readline().strip()

    def end(self):
        self.p.stdin.close()
        return self.p.wait(60 * PATIENCE)


def work(n):
    leaf = lambda x: x * 3 + (x >> 2) + (x & 7)
    return str(sum(leaf(i) ^ i for i in range(n)))


class Tracer:
    def __init__(self, pid, script):
        self.p = subprocess.Popen([DTRACE, "-x", "inproc=auto", "-x", "inprocsum", "-p", str(pid), "-n",
                                   script + ' tick-20ms /!told/ { told = 1; printf("READY\\n"); }'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.messages = []
        self.reader = threading.Thread(target=lambda: self.messages.extend(self.p.stderr), daemon=True)
        self.reader.start()
        for line in self.p.stdout:
            if "READY" in line:
                break

    def wait_said(self, text):
        until = time.monotonic() + 30 * PATIENCE
        while time.monotonic() < until and not any(text in m for m in self.messages):
            time.sleep(0.02)
        return any(text in m for m in self.messages)

    def end(self):
        self.p.terminate()
        out = self.p.stdout.read()
        self.p.wait(60 * PATIENCE)
        self.reader.join(5)
        return out


def jumps_come(program, at):
    """Waits until the code at a copy is not that of the file any more."""
    until = time.monotonic() + 30 * PATIENCE
    while time.monotonic() < until:
        if program.tell("s", at) == "0":
            return True
        time.sleep(0.02)
    return False


COUNT = "pid$target:copies:work:entry,pid$target:copies:work:return,pid$target:copies:leaf:entry,pid$target:copies:leaf:return { @[probefunc, probename] = count(); }"


def counts(out):
    return {(f, w): int(n) for f, w, n in re.findall(r"(work|leaf) +(entry|return) +(\d+)", out)}


def calls(n, rounds):
    return {("work", "entry"): rounds, ("work", "return"): rounds, ("leaf", "entry"): n * rounds, ("leaf", "return"): n * rounds}


def start_check():
    p = Program()
    check("the copy", p.tell("m", A), "1")
    t = Tracer(p.p.pid, COUNT)
    check("what the code computes", [p.tell("c", at, 100) for at in ("0", A, A)], [work(100)] * 3)
    check("in a child", p.tell("f", A, 100), work(100))
    check("jumps in both", [p.tell("s", "0"), p.tell("s", A)], ["0", "0"])
    check("counted", counts(t.end()), calls(100, 4))
    check("no uprobes", t.wait_said("itself, 0 by uprobes"), True)
    check("the file's bytes again", [p.tell("s", "0"), p.tell("s", A)], ["1", "1"])
    check("the program's end", p.end(), 0)


def later_check():
    p = Program()
    t = Tracer(p.p.pid, COUNT)
    rounds = 0
    for step, at in ("m", A), ("m", B), ("m", C), ("u", A), ("m", A), ("u", B), ("m", B):
        check(f"{step} {at}", p.tell(step, at), "1" if step == "m" else "0")
        if step == "m":
            check(f"jumps come at {at}", jumps_come(p, at), True)
            check(f"what it computes at {at}", p.tell("c", at, 50), work(50))
            rounds += 1
        else:
            time.sleep(0.2)
    for at in "0", A, B, C:
        check(f"what it computes at {at} in the end", p.tell("c", at, 50), work(50))
        rounds += 1
    check("counted", counts(t.end()), calls(50, rounds))
    check("it is said", sum("once more: probes that jump fire there from" in m for m in t.messages), 1)
    check("the file's bytes again", [p.tell("s", at) for at in ("0", A, B, C)], ["1"] * 4)
    check("the program's end", p.end(), 0)


def relay_check():
    """A clause that walks stacks needs the kernel: uprobes, which the kernel has in all copies; names are those of the file."""
    p = Program()
    p.tell("m", A)
    t = Tracer(p.p.pid, "pid$target:copies:leaf:return { @[ustack(2)] = count(); }")
    check("what it computes", [p.tell("c", at, 10) for at in ("0", A)], [work(10)] * 2)
    out = t.end()
    check("stacks", [sorted(re.findall(r"copies`(\w+)", out)), sum(map(int, re.findall(r"^ +(\d+)$", out, re.M)))], [["leaf", "leaf", "work", "work"], 20])
    check("the program's end", p.end(), 0)


def runs(pid):
    """Whether a process is there, and is no zombie yet."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def killed_check():
    p = Program()
    p.tell("m", A)
    t = Tracer(p.p.pid, COUNT)
    with open(f"/proc/{t.p.pid}/task/{t.p.pid}/children") as f:
        keepers = [int(x) for x in f.read().split()]
    t.p.send_signal(signal.SIGSTOP)
    for pid in keepers:
        os.kill(pid, signal.SIGKILL)
    t.p.kill()
    t.p.wait()
    until = time.monotonic() + 30 * PATIENCE
    while any(runs(pid) for pid in keepers) and time.monotonic() < until:
        time.sleep(0.02)  # they hold the region until they have closed everything
    check("jumps stay", [p.tell("s", "0"), p.tell("s", A)], ["0", "0"])
    check("what it computes then", [p.tell("c", at, 50) for at in ("0", A)], [work(50)] * 2)
    t = Tracer(p.p.pid, "pid$target:copies:work:entry { @ = count(); }")
    check("they are taken back", t.wait_said("jumps in process"), True)
    p.tell("c", A, 5)
    check("counted", re.findall(r"\d+", t.end()), ["1"])
    check("the file's bytes again", [p.tell("s", "0"), p.tell("s", A)], ["1", "1"])
    check("the program's end", p.end(), 0)


NODE = r"""
const { Worker, isMainThread, parentPort } = require('worker_threads');
function rounds(n) { let o = {}, s = 0; for (let i = 0; i < n; i++) { o['k' + i % 50] = i; s += Object.keys(o).length + JSON.stringify(o).length; } return s; }
if (!isMainThread) {
	parentPort.postMessage(rounds(200));
} else {
	console.log('ready');
	process.stdin.on('data', (d) => {
		if (String(d).startsWith('w')) new Worker(__filename).on('message', (m) => console.log(m)).on('exit', () => console.log('over'));
		else console.log(rounds(200));
	}).on('end', () => process.exit(0));
}
"""


def node_check():
    with open(f"{TMP}/copies.js", "w") as f:
        f.write(NODE)
    n = subprocess.Popen(["node", f"{TMP}/copies.js"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(what, lines=1):
        n.stdin.write(what)
        n.stdin.flush()
        return [n.stdout.readline().strip() for _ in range(lines)]

    n.stdout.readline()
    want = tell("c")
    t = Tracer(n.pid, "pid$target:node:Builtins_Json*:entry,pid$target:node:Builtins_Load*:entry { @[probefunc, tid == pid] = count(); }")
    check("what Node.js computes", tell("c"), want)
    check("in threads of its own", [tell("w", 2), tell("w", 2)], [[want[0], "over"]] * 2)
    out = t.end()
    check("Node.js goes on", tell("c"), want)
    n.stdin.close()
    check("the end of Node.js", n.wait(60 * PATIENCE), 0)
    check("none is a uprobe because of its copies", any("mapped" in m and "by uprobes" in m for m in t.messages), False)
    mains = [int(c) for c in re.findall(r"Builtins_Load\w+ +1 +(\d+)", out)]
    check("builtins of the first thread", sum(mains) > 1000, True)


start_check()
later_check()
relay_check()
killed_check()
if shutil.which("node"):
    node_check()
for line in bad:
    print(line)
sys.exit(bool(bad))
