# SPDX-License-Identifier: MIT
"""A handler of SIGSEGV has interrupted a function in the middle of the window that a probe of it has, and sleeps there (-x inproc=all).

While probes fire elsewhere: when the handler has returned, the window is written, and its probe fires. A handler that never returns: the place is
said to be left out.
"""
import os, re, signal, subprocess, sys, threading, time

DTRACE, TMP, CC = os.environ["DTRACE"], os.environ["TMP"], os.environ.get("CC", "cc")
PATIENCE = int(os.environ.get("PATIENCE", 1))
FILE = f"{TMP}/held"
PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
int loads(const int *p), other(int a);
__asm__(".text\n.balign 64\n.globl loads\n.type loads,@function\nloads: push %rbx\nxor %eax, %eax\nmov (%rdi), %eax\nnop\npop %rbx\nret\n"
	".size loads, .-loads\n.balign 64\n.globl other\n.type other,@function\nother: push %rbx\nmov %edi, %eax\nadd $1, %eax\npop %rbx\nret\n"
	".size other, .-other\n.balign 64\n");
static volatile int waits = 1;
static const int good = 4711;
static void on_fault(int sig, siginfo_t *si, void *uc)
{
	printf("ready\n");
	fflush(stdout);
	while (waits) {
		if (other(1) != 2)
			_exit(9);
		usleep(1000);
	}
	((ucontext_t *)uc)->uc_mcontext.gregs[REG_RDI] = (greg_t)&good;
}
static void *reader(void *arg)
{
	(void)getchar();
	waits = 0;
	return arg;
}
int main(void)
{
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	pthread_t t;

	sigaction(SIGSEGV, &sa, NULL);
	pthread_create(&t, NULL, reader, NULL);
	if (loads((int *)8) != good)
		return 9;
	for (int i = 0; i < 2000; i++, usleep(1000))
		if (loads(&good) != good || other(i) != i + 1)
			return 9;
	printf("done\n");
	return 0;
}
"""
SCRIPT = """pid$target:a.out:loads:entry,pid$target:a.out:other:entry { @[probefunc] = count(); }
pid$target:a.out:other:entry /!told/ { told = 1; printf("READY\\n"); } END { printa("%s %@d\\n", @); }"""
bad = []


def begin():
    t = subprocess.Popen([FILE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if t.stdout.readline() != "ready\n":
        sys.exit("the program does not start")
    d = subprocess.Popen([DTRACE, "-x", "inproc=all", "-p", str(t.pid), "-n", SCRIPT], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    if not any("READY" in line for line in d.stdout):
        bad.append(f"no probe fires: {d.communicate()[1]}")
    return t, d


with open(f"{FILE}.c", "w") as f:
    f.write(PROGRAM)
subprocess.run([CC, "-O1", "-pthread", f"{FILE}.c", "-o", FILE], check=True)

never, d_never = begin()
lines = []
threading.Thread(target=lambda: lines.extend(d_never.stderr), daemon=True).start()
t, d = begin()
t.stdin.write("\n")
t.stdin.flush()
out, err = d.communicate(timeout=60 * PATIENCE)  # the process has ended
counts = dict(re.findall(r"(\w+) (\d+)", out))
if not 100 < int(counts.get("loads", 0)) <= 2000:
    bad.append(f"a window that is written later: {out} {err}")
if t.wait() or t.stdout.read() != "done\n":
    bad.append(f"the program has ended with {t.returncode}")
end = time.monotonic() + 40 * PATIENCE
while time.monotonic() < end and not any("place is left out" in line for line in lines):
    time.sleep(0.1)
d_never.send_signal(signal.SIGTERM)
out = d_never.stdout.read()
if d_never.wait() or not any("1 place is left out: a signal handler" in line for line in lines) or "loads" in out:
    bad.append(f"a handler that does not return: {out} {lines}")
never.stdin.write("\n")
never.stdin.close()
if never.wait():
    bad.append(f"its program has ended with {never.returncode}")
print(*bad, sep="\n")
sys.exit(bool(bad))
