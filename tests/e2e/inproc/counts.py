# SPDX-License-Identifier: MIT
"""Counters of sites with -x inproc=auto: several elements and clauses that one site counts in, exact to the last call.

The program's threads run on all CPUs, come and go, are interrupted by a signal whose handler fires the same probes; children of vfork() fire as their parent,
those of fork() do not. It says itself how often each function was called. The same script counts the same in uprobes, which is tried with less work, and
but for the children of vfork(), which are no threads of the process for the kernel.
"""
import os, re, subprocess, sys

DTRACE, TMP, CC = os.environ["DTRACE"], os.environ["TMP"], os.environ.get("CC", "cc")
PATIENCE = int(os.environ.get("PATIENCE", 1))
FILE = f"{TMP}/counts"
PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int total;
static atomic_long nwork, nother;
static long ncalls;
__attribute__((noinline, noipa)) int work(int n)
{
	total += n; /* too short for a jump without it */
	return n + 1;
}
__attribute__((noinline, noipa)) int other(int n)
{
	total += n;
	return n + 2;
}
static void on_signal(int sig)
{
	(void)sig;
	(void)work(1);
	(void)other(1);
	nwork++;
	nother++;
}
static void *run(void *arg)
{
	for (long i = 0; i < ncalls; i++)
		(void)work(0);
	(void)other(0);
	nwork += ncalls;
	nother++;
	return arg;
}
int main(int argc, char **argv)
{
	struct itimerval every = {{0, 500}, {0, 500}};

	ncalls = argc > 1 ? atol(argv[1]) : 0;
	printf("begin\n");
	fflush(stdout);
	(void)getchar();
	signal(SIGPROF, on_signal);
	setitimer(ITIMER_PROF, &every, NULL);
	for (int round = 0; round < 20; round++) {
		pthread_t t[4];

		for (int i = 0; i < 4; i++)
			pthread_create(&t[i], NULL, run, NULL);
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
	}
	setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
	for (int i = 0; i < 10; i++) {
		pid_t child = fork();

		if (!child) {
			(void)work(1);
			_exit(0);
		}
		(void)waitpid(child, NULL, 0);
		child = vfork();
		if (!child) {
			(void)work(1);
			_exit(0);
		}
		(void)waitpid(child, NULL, 0);
		nwork++;
	}
	printf("%ld %ld\n", (long)nwork, (long)nother);
	fflush(stdout);
	(void)getchar();
	return total == 77;
}
"""
SITES = "pid$target:a.out:work:NAME, pid$target:a.out:other:NAME"
SCRIPT = f"""{SITES}, {SITES.replace("NAME", "return")} {{ @each[probefunc, probename] = count(); @all = count(); }}
{SITES} {{ @entries = count(); @entries = count(); @names[probename] = count(); }}""".replace("NAME", "entry") + """
tick-20ms /!told/ { told = 1; printf("READY\\n"); }
END { printa("%s %s %@d\\n", @each); printa("all %@d\\n", @all); printa("entries %@d\\n", @entries); printa("names %s %@d\\n", @names); }"""
VFORKS = 10
bad = []


def session(mode, ncalls):
    t = subprocess.Popen([FILE, str(ncalls)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    t.stdout.readline()
    d = subprocess.Popen([DTRACE, "-q", "-x", "inprocsum", "-x", f"inproc={mode}", "-p", str(t.pid), "-n", SCRIPT],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in d.stdout:
        if "READY" in line:
            break
    t.stdin.write("\n")
    t.stdin.flush()
    said = t.stdout.readline()
    d.terminate()
    out, err = d.communicate(timeout=60 * PATIENCE)
    t.communicate("\n", timeout=60 * PATIENCE)
    work, other = map(int, said.split())
    work -= VFORKS if mode == "off" else 0
    want = [f"work entry {work}", f"work return {work}", f"other entry {other}", f"other return {other}",
            f"all {2 * (work + other)}", f"entries {2 * (work + other)}", f"names entry {work + other}"]
    got = [line for line in out.splitlines() if line]
    if d.returncode or sorted(got) != sorted(want):
        bad.append(f"{mode}: status {d.returncode}, {got} instead of {want}; {err}")
    if (mode == "auto") != bool(re.search(r"^dtrace: 4 places? probed in process \d+ itself, 0 by uprobes?", err, re.M)):
        bad.append(f"{mode}: {err!r}")


with open(f"{TMP}/counts.c", "w") as f:
    f.write(PROGRAM)
subprocess.run([CC, "-O1", "-pthread", "-o", FILE, f"{TMP}/counts.c"], check=True)
session("auto", 200000)
session("off", 50)
for line in bad:
    print(line)
sys.exit(bool(bad))
