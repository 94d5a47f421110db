# SPDX-License-Identifier: MIT
"""
How much a user with levels can slow others: bench/privileges.py BUILD (as root; a mount namespace keeps what it installs).

For each kind of session that tries: what one operation of another user takes of CPU time without it and with it, the least of five
runs, and how long the session could go on before the quota ended it. Then what others lose to sessions that are started one after the
other, as soon as the quota has ended the one before, and to such that are stopped as soon as they trace: on the average of 20 s. The loops are those of other users, so all that a session may do to them is refuse them: the
system call, a switch between two processes, and plain calculation, which timers interrupt.
"""
import os, signal, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.path.dirname(HERE)
if "FATHOM_TEST_USERS" not in os.environ:
    build = os.path.abspath(sys.argv[1])
    os.environ.update(BUILD=build, SRC=SRC, TMP=tempfile.mkdtemp(prefix="privileges."), TRIGGER=f"{build}/tests/e2e/trigger")
    os.chmod(os.environ["TMP"], 0o755)
sys.path.insert(0, f"{SRC}/tests/e2e/privilege")
from world import *

enter()
C = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double now(int clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(int argc, char **argv)
{
	double end = now(CLOCK_MONOTONIC) + atof(argv[2]), begin;
	unsigned long n = 0, i;
	volatile unsigned long x = 1;
	int a[2], b[2];
	char c = 0;
	if (strcmp(argv[1], "switch") == 0) {
		if (pipe(a) || pipe(b)) return 1;
		if (fork() == 0) { close(a[1]); while (read(a[0], &c, 1) == 1) if (write(b[1], &c, 1) != 1) break; _exit(0); }
	}
	begin = now(CLOCK_PROCESS_CPUTIME_ID);
	while (now(CLOCK_MONOTONIC) < end)
		for (i = 0; i < 100; i++, n++)
			if (strcmp(argv[1], "call") == 0) syscall(SYS_getppid);
			else if (strcmp(argv[1], "switch") == 0) { if (write(a[1], &c, 1) != 1 || read(b[0], &c, 1) != 1) return 1; }
			else for (int k = 0; k < 1000; k++) x = x * 5 + 1;
	printf("%f\n", (now(CLOCK_PROCESS_CPUTIME_ID) - begin) * 1e9 / n);
	if (argv[1][0] == 's') { close(a[1]); wait(NULL); }
	return 0;
}
"""
with open(f"{TMP}/loop.c", "w") as f:
    f.write(C)
subprocess.run(["cc", "-O2", "-o", f"{TMP}/loop", f"{TMP}/loop.c"], check=True)
os.chmod(f"{TMP}/loop", 0o755)

SECONDS_EACH = 0.7
TRIES = {
    "all system calls": ("call", "syscall:::entry, syscall:::return { n++; }"),
    "one system call": ("call", "syscall::getppid:entry { n++; }"),
    "the scheduler": ("switch", "sched:::on-cpu, sched:::off-cpu { n++; }"),
    "system calls and the scheduler": ("switch", "syscall:::entry, syscall:::return, sched:::on-cpu, sched:::off-cpu { n++; }"),
    "profile-4999": ("plain", "profile-4999 { n++; }"),
    "profile-4999 to -4990": ("plain", ", ".join(f"profile-{4990 + i}" for i in range(10)) + " { n++; }"),
    "tick-5000": ("plain", "tick-5000 { @[timestamp % 1000] = count(); }"),
}


def cost(kind, n):
    """The least of n runs, in ns of CPU time for each operation of a process."""
    return min(float(run(BOB, [f"{TMP}/loop", kind, str(SECONDS_EACH)]).stdout) for _ in range(n))


def tried(name, kind, program, sessions):
    levels(f"user {ALICE}: dtrace_user cpu=100% sessions={sessions}\n")
    before = cost(kind, 5)
    held = [subprocess.Popen([DTRACE, "-qn", program], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=ENV,
                             **user(ALICE)) for _ in range(sessions)]
    time.sleep(4)
    during = cost(kind, 5)
    for p in held:
        check(p.poll() is None, f"a session of {name} goes on", p.poll() is not None and p.stderr.read())
        p.kill()
        p.communicate()
    levels(f"user {ALICE}: dtrace_user\n", quotas="")
    load = [subprocess.Popen([f"{TMP}/loop", kind, "12"], stdout=subprocess.DEVNULL, **user(BOB)) for _ in range(os.cpu_count())]
    began = time.time()
    p = subprocess.Popen([DTRACE, "-qn", program], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=ENV, **user(ALICE))
    try:
        p.wait(timeout=9)
        ended = f"ended by its quota after {time.time() - began:.1f} s: {p.stderr.read().split(';')[0].split('take ')[-1]}"
    except subprocess.TimeoutExpired:
        p.kill()
        ended = "goes on: below the quota"
    for q in load:
        q.wait()
    print(f"{name:32} {kind:7} x{sessions} {before:8.0f} {during:8.0f} ns {100 * (during / before - 1):6.1f} %   {ended}", flush=True)


def repeated(name, kind, program, stops):
    """What an operation of others takes on the average, while sessions are started again and again."""
    levels(f"user {ALICE}: dtrace_user\n", quotas="")
    before, seconds, starts = cost(kind, 5), 20, 0
    load = [subprocess.Popen([f"{TMP}/loop", kind, str(seconds)], stdout=subprocess.PIPE, text=True, **user(BOB)) for _ in range(os.cpu_count())]
    end = time.time() + seconds
    while time.time() < end:
        p = subprocess.Popen([DTRACE, "-qn", 'BEGIN { printf("t\\n"); } ' + program, "-x", "switchrate=10hz"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, env=ENV, **user(ALICE))
        if stops:
            p.stdout.readline()
            p.send_signal(signal.SIGSTOP)
        try:
            p.wait(timeout=max(end - time.time(), 0.1))
        except subprocess.TimeoutExpired:
            pass
        p.kill()
        p.communicate()
        starts += 1
    during = sum(float(q.communicate()[0]) for q in load) / len(load)
    before = min(before, cost(kind, 5))
    print(f"{name:32} {kind:7} {'stopped' if stops else 'again'} {before:8.0f} {during:8.0f} ns: others lose {100 * (1 - before / during):4.1f} % by {starts} starts", flush=True)


print(f"{'session':32} {'loop':7}    {'without':>8} {'with':>8}    {'slower':>6}     with the default quotas, all CPUs busy with the loop")
for name, (kind, program) in TRIES.items():
    tried(name, kind, program, 1)
tried("all system calls", *TRIES["all system calls"], 4)
for name in "all system calls", "profile-4999 to -4990":
    for stops in False, True:
        repeated(name, *TRIES[name], stops)
done()
