# SPDX-License-Identifier: MIT
"""Children with -x inproc and -x follow=fork: the parent jumps, its children have uprobes, and what is counted is what the program says.

A tree of processes calls two functions: children of fork() in three generations, those of vfork(), which have their parent's memory until they execute
another program, threads that fork while others call, and the program itself once more, by exec.
"""
import os, signal, subprocess, sys, time

import tracing
from tracing import bad, check, lines_of, report

TMP, CC = os.environ["TMP"], os.environ.get("CC", "cc")
PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define OWN __attribute__((noinline, noclone, noipa))
extern char **environ;
static volatile long kept;
static const char *self;
OWN long work(long n)
{
	kept += n; /* too short for a jump without it */
	return n + 1;
}
OWN long twice(long n)
{
	kept -= n;
	return work(n) + work(n + 1);
}
static void calls(long n)
{
	for (long i = 0; i < n; i++)
		if (twice(i) != 2 * i + 3)
			_exit(9);
}
static int status(pid_t pid)
{
	int s = 0;

	waitpid(pid, &s, 0);
	return WIFEXITED(s) ? WEXITSTATUS(s) : 99;
}
/* Forks to this depth; each process makes three calls of twice(). Returns 0, if all was right. */
static int tree(int depth)
{
	pid_t pid;
	int bad = 0;

	calls(3);
	for (int i = 0; i < 2 && depth; i++) {
		pid = fork();
		if (!pid)
			_exit(tree(depth - 1));
		bad |= status(pid);
	}
	return bad;
}
static void *forks(void *arg)
{
	long bad = 0;

	for (int i = 0; i < (int)(long)arg; i++) {
		pid_t pid = fork();

		if (!pid) {
			calls(2);
			_exit(0);
		}
		bad |= status(pid);
	}
	return (void *)bad;
}
static void *loops(void *arg)
{
	calls((long)arg);
	return NULL;
}
static int spawn(const char *what)
{
	char *args[] = {(char *)self, (char *)what, NULL};
	pid_t pid;

	return posix_spawn(&pid, "/proc/self/exe", NULL, NULL, args, environ) ? 1 : status(pid);
}
int main(int argc, char **argv)
{
	char line[64];
	pthread_t t[4];

	self = argv[0];
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1) {
		calls(atol(argv[1]));
		return 0;
	}
	puts("0");
	while (fgets(line, sizeof(line), stdin)) {
		long n = atol(line + 1);
		int result = 0;

		if (line[0] == 't') {
			result = tree((int)n);
		} else if (line[0] == 's') { /* threads that fork, while others call */
			for (int i = 0; i < 4; i++)
				pthread_create(&t[i], NULL, i < 2 ? forks : loops, (void *)n);
			for (int i = 0; i < 4; i++) {
				void *bad = NULL;

				pthread_join(t[i], &bad);
				result |= (int)(long)bad;
			}
		} else if (line[0] == 'p') { /* programs by vfork(), and posix_spawn() */
			for (long i = 0; i < n; i++) {
				pid_t pid = vfork();

				if (!pid) {
					execl("/proc/self/exe", self, "4", NULL);
					_exit(8);
				}
				calls(1);
				result |= status(pid) | spawn("5");
			}
		} else if (line[0] == 'x') {
			execl("/proc/self/exe", argv[0], NULL);
		} else {
			calls(n);
		}
		printf("%d\n", result);
	}
	return 0;
}
"""


class Target(tracing.Target):
    def __init__(self):
        super().__init__(f"{TMP}/family")


class Tracer(tracing.Tracer):
    def __init__(self, mode, script, pid, *flags):
        super().__init__(mode, script, pid, "-x", "follow=fork", *flags)

    def end(self, how=signal.SIGINT):
        out, places = super().end(how)
        return lines_of(out), places


P = "pid$target:a.out"


def family(what, script, calls, want, is_inside, *flags):
    for mode in ("off", "all"):
        t = Target()
        tracer = Tracer(mode, script.replace("PARENT", str(t.pid)), t.pid, *flags)
        since = time.monotonic()
        for c in calls:
            check(f"{what}, {mode}: the program's own result", t.call(c), 0)
        took = time.monotonic() - since
        got, places = tracer.end()
        check(f"{what}, {mode}: what is counted", got, sorted(want))
        if mode == "all":
            check(f"{what}: places", (places[0] > 0 and places[1] == 0) == is_inside or tracer.err, True)
        if "left out" in tracer.err or "not probed" in tracer.err or "drop" in tracer.err:
            bad.append(f"{what}, {mode}: {tracer.err}")
        check(f"{what}, {mode}: the process ends well", t.end(), 0)
        print(f"{what}, {mode}: {took:.2f} s", file=sys.stderr)


def killed():
    """The tracer is killed in a storm of forks: parent and children go on, and the parent is as it was."""
    t = Target()
    tracer = Tracer("all", f"{P}:work:entry,{P}:twice:return,pid$target:libc.so.6:str*:entry {{ @ = count(); }}", t.pid)
    t.p.stdin.write("s60\n")
    t.p.stdin.flush()
    time.sleep(0.2)
    tracer.end(signal.SIGKILL)
    check("killed: the program's own result", t.p.stdout.readline().strip(), "0")
    check("killed: it goes on", t.call("t2"), 0)
    check("killed: it ends well", t.end(), 0)


with open(f"{TMP}/family.c", "w") as f:
    f.write(PROGRAM)
subprocess.run([CC, "-O1", "-pthread", "-o", f"{TMP}/family", f"{TMP}/family.c"], check=True)
only = os.environ.get("ONLY", "")
COUNT = f"{P}:work:entry,{P}:twice:entry,{P}:twice:return {{ @[probefunc, probename, pid == PARENT] = count(); }}"


def counts(parent, children):
    return [f"{f} {n} {who} {k * (2 if f == 'work' else 1)}" for who, k in ((1, parent), (0, children)) if k
            for f, n in (("work", "entry"), ("twice", "entry"), ("twice", "return"))]


ROWS = [
    ("three generations", COUNT, ["c3", "t3"], counts(6, 14 * 3), True),
    ("a storm of forks", COUNT, ["s50"], counts(2 * 50, 2 * 50 * 2), True),
    ("programs", COUNT, ["p5", "c2"], counts(7, 5 * 9), True),
    ("variables of threads", f"{P}:twice:entry {{ self->n = arg0 + 1; }} {P}:twice:return /self->n/ {{ @[pid == PARENT, self->n] = count(); self->n = 0; }}",
     ["t2", "c2"], ["1 1 2", "1 2 2", "1 3 1", "0 1 6", "0 2 6", "0 3 6"], True),
    ("a global variable", f"{P}:twice:entry {{ n++; @[n > 0] = count(); }}", ["t1"], ["1 9"], False),
    ("another program", COUNT, ["c3", "x", "t1", "c2"], counts(3 + 3 + 2, 2 * 3), True, "-x", "libstop"),
]
for row in ROWS:
    if only in row[0]:
        family(*row)
if only in "killed":
    killed()
sys.exit(report())
