# SPDX-License-Identifier: MIT
"""Memory that sessions with -x inproc leave in a process: none after their end, whatever threads do; but code in which a thread has been interrupted stays.

A signal handler of the program waits, when it is told to, as soon as it has interrupted code that is not the program's own: a stub. The region must stay mapped
then, or the program dies when the handler returns.

A program that the process executes while it is traced is not stopped when the session ends: another dtrace sees who asks for what by ptrace(2).
"""
import os, subprocess, sys, time

from tracing import Target, Tracer, check, report

TMP, CC = os.environ["TMP"], os.environ.get("CC", "cc")
SESSIONS = 8
SOURCE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
extern char __executable_start, etext;
static volatile long kept[3];
static char dispatches = 1;
static volatile int hunts, is_caught, is_over, is_bad;
__attribute__((noinline, noclone, noipa)) static long work(long n, int i)
{
	kept[i] += n; /* too short for a jump without it */
	return n + i;
}
static void handler(int sig, siginfo_t *si, void *uc)
{
	char *pc = (char *)((ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP];

	if (!hunts || (pc >= &__executable_start && pc < &etext))
		return;
	is_caught = 1;
	while (hunts)
		usleep(1000);
}
static void *runs(void *arg)
{
	int i = (int)(long)arg;

	for (long n = 0; !is_over; n++)
		if (work(n, i) != n + i)
			is_bad = 1;
	return NULL;
}
int main(void)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
	pthread_t t[3];
	char line[64];

	sigaction(SIGUSR1, &sa, NULL);
	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, runs, (void *)i);
	puts("ready");
	while (fflush(stdout), fgets(line, sizeof(line), stdin)) {
		/* calls from all addresses of programs are let through */
		if (line[0] == 'd' && prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 1ul << 47, &dispatches))
			puts("2");
		if (line[0] == 'x')
			execl("/bin/sleep", "sleep", "1000", (char *)NULL);
		hunts = line[0] == 'h';
		while (hunts && !is_caught) {
			pthread_kill(t[1], SIGUSR1);
			usleep(200);
		}
		printf("%d\n", is_bad);
	}
	hunts = 0;
	is_over = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return is_bad;
}
"""
SCRIPT = "pid$target:a.out:work:entry,pid$target:a.out:work:return { @[probename, tid] = count(); }"


def regions(t):
    """Code in memory that is of no file."""
    return sum("x" in words[1] and len(words) == 5 for words in (line.split() for line in t.maps()))


def sessions():
    t = Target(f"{TMP}/regions")
    for i in range(SESSIONS):
        tracer = Tracer("auto", SCRIPT, t.pid)
        check(f"session {i}: it has code there", regions(t) > 0, True)
        check(f"session {i}: both places jump", tracer.end()[1], (2, 0))
        check(f"session {i}: results", t.call("r"), 0)
    # a thread that gets no CPU for a third of a second can be in a stub so long
    check("sessions leave no code", regions(t) <= 2 or t.maps(), True)
    check("sessions: the program ends well", t.end(), 0)


def interrupted():
    t = Target(f"{TMP}/regions")
    tracer = Tracer("auto", SCRIPT, t.pid, "-x", "debug")
    check("interrupted: results", t.call("h"), 0)
    tracer.end()
    check("interrupted: the code stays", regions(t), 1)
    said = f"inproc: memory stays: process {t.pid} keeps the region: a thread is in its code"
    check("interrupted: why it does is said", said in tracer.err or tracer.err, True)
    check("interrupted: results afterwards", t.call("g"), 0)
    check("interrupted: the program ends well", t.end(), 0)


def dispatched():
    """The first thread handles its system calls itself: another one unmaps the region."""
    t = Target(f"{TMP}/regions")
    tracer = Tracer("auto", SCRIPT, t.pid, "-x", "debug")
    can = t.call("d") != 2
    tracer.end()
    if can:
        # a thread that gets no CPU can be in a stub for long
        check("dispatched: no code is left", regions(t) == 0 or "a thread is in its code" in tracer.err or tracer.err, True)
        check("dispatched: results", t.call("r"), 0)
        check("dispatched: the program ends well", t.end(), 0)
    else:
        t.p.kill()
        t.p.wait()


def requests(t, tracer):
    """How many requests of ptrace(2) the process gets when the session ends."""
    watch = Tracer("off", f'int n; syscall::ptrace:entry /arg1 == {t.pid}/ {{ n++; }} END {{ printf("%d\\n", n); }}', [])
    tracer.end()
    return int(watch.end()[0])


def executed():
    t = Target(f"{TMP}/regions")
    tracer = Tracer("auto", SCRIPT, t.pid)
    t.tell("x")
    while os.path.basename(os.readlink(f"/proc/{t.pid}/exe")) == "regions":
        time.sleep(0.01)
    check("executed: requests to the new program", requests(t, tracer), 0)
    t.p.kill()
    t.p.wait()
    t = Target(f"{TMP}/regions")
    check("executed: requests are seen where nothing was", requests(t, Tracer("auto", SCRIPT, t.pid)) > 0, True)
    check("executed: the other program ends well", t.end(), 0)


with open(f"{TMP}/regions.c", "w") as f:
    f.write(SOURCE)
subprocess.run([CC, "-O1", "-pthread", "-o", f"{TMP}/regions", f"{TMP}/regions.c"], check=True)
sessions()
interrupted()
dispatched()
executed()
sys.exit(report())
