# SPDX-License-Identifier: MIT
"""What a process is made to do while it stands still for -x inproc: as little as can be.

A second dtrace counts the system calls that threads of a process of five make while all of libc is attached to. Each call needs a CPU while all others wait, so there is
none in the stops in which jumps are written, however many these are: the one that registers for membarrier() is made once, while the others run, by a thread that sleeps
and not by the one that works. What is asked of each thread is asked of it alone: all threads are held to enter the process, and to write, and for nothing else.
"""
import os, re, subprocess, sys

DTRACE, TMP, CC = os.environ["DTRACE"], os.environ["TMP"], os.environ.get("CC", "cc")
PATIENCE = int(os.environ.get("PATIENCE", 1))
FILE = f"{TMP}/stops"
PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static volatile int is_over;
static void *sleep_long(void *arg)
{
	for (;;)
		pause();
	return arg;
}
static void *work(void *arg)
{
	while (getchar() != EOF)
		;
	is_over = 1;
	return arg;
}
int main(void)
{
	pthread_t t;

	for (int i = 0; i < 3; i++)
		pthread_create(&t, NULL, sleep_long, NULL);
	pthread_create(&t, NULL, work, NULL);
	printf("%d\n", getpid());
	fflush(stdout);
	while (!is_over)
		;
	return 0;
}
"""
bad = []


def check(what, good, got):
    if not good:
        bad.append(f"{what}: {got}")


def started(*args):
    """A dtrace that has printed READY; the lines before that."""
    d = subprocess.Popen([DTRACE, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in d.stdout:
        if "READY" in line:
            return d
    raise SystemExit(f"a dtrace ends early: {d.stderr.read()}")


def ended(d):
    d.terminate()
    return d.communicate(timeout=60 * PATIENCE)


def main():
    with open(FILE + ".c", "w") as f:
        f.write(PROGRAM)
    subprocess.run([CC, "-O1", "-pthread", "-o", FILE, FILE + ".c"], check=True)
    program = subprocess.Popen([FILE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    pid = int(program.stdout.readline())
    watch = started("-q", "-n", f'syscall:::entry /pid == {pid}/ {{ @[probefunc, tid == pid] = count(); }} BEGIN {{ printf("READY\\n"); }} '
                    'END { printa("%s %d %@d\\n", @); }')
    tracer = started("-q", "-x", "debug", "-x", "inproc=all", "-p", str(pid), "-n",
                     'pid$target:libc.so.6::entry { @ = count(); } tick-20ms /!told/ { told = 1; printf("READY\\n"); } END { printf("%d\\n", 1); }')
    err = ended(tracer)[1]
    out = ended(watch)[0]
    program.communicate("", timeout=60 * PATIENCE)
    calls = [(name, int(first), int(n)) for name, first, n in re.findall(r"^(\w+) (\d+) (\d+)$", out, re.M)]
    said = re.search(r"stood still for [\d.]+ ms at most, and [\d.]+ ms in all, in (\d+) stop", err)
    barriers = [call for call in calls if call[0] == "membarrier"]
    check("a thread that sleeps registers, once", barriers == [("membarrier", 0, 1)], calls)
    check("the process is asked about its threads' stacks", ("sigaltstack" in {name for name, _, _ in calls}), calls)
    check("libc takes several stops", said and int(said[1]) >= 4, err)
    # what maps the region, and two questions to each of five threads
    check("no call is made in the others", sum(n for name, _, n in calls if name not in ("pause", "read", "restart_syscall")) <= 20, calls)
    check("the program ends well", program.returncode == 0, program.returncode)


main()
if bad:
    sys.exit("\n".join(bad))
