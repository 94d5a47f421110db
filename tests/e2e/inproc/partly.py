# SPDX-License-Identifier: MIT
"""A return that is probed at all ways to it, while a signal handler has interrupted one of these ways in the middle of its window, and sleeps there.

That window cannot be written, and the others are not either: a part of the returns would be counted. When the handler has returned all are, and each
return is counted; where it does not return, the places are said to be left out. So it is, too, if another probe's clause, which the kernel runs, has its
body in one of these windows.
"""
import os, re, subprocess, sys, threading, time

from tracing import PATIENCE, Target, Tracer, check, report

TMP, CC = os.environ["TMP"], os.environ.get("CC", "cc")
PROGRAM = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>
/* One return in its middle; a way goes on to it, and a jump leads to it, behind which a byte is read: where that is no memory, a handler runs in the window. */
__asm__(".text\n.p2align 6\n.globl near\n.type near, @function\nnear:\n"
	"cmpq $0, %fs:0\n movl $1, %eax\n testq $1, %rdi\n je 2f\n 1: ret\n 2: leaq 5(%rdi), %rax\n testb $2, %dil\n jne 1b\n movb (%rsi), %cl\n movl $7, %eax\n imulq $3, %rdi, %rdx\n addq %rdx, %rax\n ret\n"
	".size near, . - near\n.p2align 6\n"
	/* The same, but that the first way to the return is the begin of the function. */
	".globl begin\n.type begin, @function\nbegin:\n"
	"testb $1, %dil\n je 4f\n 3: ret\n 4: leaq 5(%rdi), %rax\n testb $2, %dil\n jne 3b\n movb (%rsi), %cl\n movl $7, %eax\n imulq $3, %rdi, %rdx\n addq %rdx, %rax\n ret\n"
	".size begin, . - begin\n.p2align 6\n");
long near(long n, const char *at), begin(long n, const char *at);
static const char good = 1;
static void calls(long n)
{
	int bad = 0;
	for (long i = 0; i < n; i++) {
		bad |= near(3, &good) != 1;  /* it goes on to the return */
		bad |= near(2, &good) != 7;  /* it jumps to it */
		bad |= near(4, &good) != 19; /* the other return */
		(void)begin(3, &good); /* the same of begin(), whose result is not set on the first way */
		bad |= begin(2, &good) != 7 || begin(4, &good) != 19;
	}
	printf("%d\n", bad);
	fflush(stdout);
}
/* Does what lines say until one of them is an r. */
static int lines_run(void)
{
	char line[64];
	while (fgets(line, sizeof(line), stdin)) {
		if (line[0] == 'r')
			return 1;
		if (line[0] == 'f')
			printf("%d\n", near(4, (const char *)8) != 19);
		else if (line[0] == 'b')
			printf("%d\n", begin(4, (const char *)8) != 19);
		else
			calls(atol(line + 1));
		fflush(stdout);
	}
	return 0;
}
static void on_fault(int sig, siginfo_t *si, void *uc)
{
	(void)sig, (void)si;
	printf("held\n");
	fflush(stdout);
	if (!lines_run())
		_exit(0);
	((ucontext_t *)uc)->uc_mcontext.gregs[REG_RSI] = (greg_t)&good;
}
int main(void)
{
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	sigaction(SIGSEGV, &sa, NULL);
	puts("ready");
	fflush(stdout);
	(void)lines_run();
	return 0;
}
"""
COUNT = "pid$target:a.out:near:return { @[arg0] = count(); }"


def counts(out):
    return sorted(int(n) for n in re.findall(r"^ +\d+ +(\d+)$", out, re.M))


def begin(quiet):
    t = Target(f"{TMP}/partly")
    clean = t.code()
    check("the handler", t.ask("f"), ["held"])
    d = Tracer("auto", COUNT, t.pid, *([] if quiet else ["-x", "quiet=0"]))
    check("another return is probed", t.code() != clean, True)
    check("calls while one way is held", t.call("n10"), 0)
    return t, d


def returns():
    t, d = begin(True)
    before = t.code()
    t.tell("r")
    check("the handler returns", t.answer(), ["0"])
    until = time.monotonic() + 30 * PATIENCE
    while time.monotonic() < until and t.code() == before:
        time.sleep(0.02)
    check("calls when all are written", t.call("n100"), 0)
    out, places = d.end()
    check("places", places, (2, 0))
    got = counts(out)  # the one that the handler has interrupted may have returned before the windows were written
    check("counted", got in ([110, 200], [111, 200], [110, 201]) or out, True)
    check("it ends well", t.end(), 0)


def stays():
    t, d = begin(False)
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(iter(d.p.stderr.readline, "")), daemon=True)
    reader.start()
    until = time.monotonic() + 60 * PATIENCE
    while time.monotonic() < until and not any("a signal handler of process" in line for line in lines):
        time.sleep(0.1)
    check("calls in the end", t.call("n10"), 0)
    d.p.terminate()
    out = d.p.stdout.read()
    d.p.wait(60 * PATIENCE)
    reader.join(5)
    check("it is said", re.findall(r"(\d+) places are left out: a signal handler", "".join(lines)), ["2"])
    check("nothing of that return is counted", counts(out), [20])
    t.tell("r")
    check("the handler returns", t.answer(), ["0"])
    check("it ends well", t.end(), 0)


def relayed():
    """The entry has its body in the window of the first way, and is relayed: that window is written with the others of the return all the same."""
    t = Target(f"{TMP}/partly")
    check("the handler in begin()", t.ask("b"), ["held"])
    d = Tracer("auto", "pid$target:a.out:begin:return { @[arg0] = count(); } pid$target:a.out:begin:entry { @e[ustack(1)] = count(); }", t.pid)
    check("an entry beside: calls while one way is held", t.call("n10"), 0)
    out, _ = d.end()
    check("an entry beside: places in the process, by uprobes, relayed", d.places[0][1] if d.places else d.err, (2, 0, 1))
    check("an entry beside: nothing of that return is counted", counts(out), [10])
    t.tell("r")
    check("an entry beside: the handler returns", t.answer(), ["0"])
    check("an entry beside: it ends well", t.end(), 0)


with open(f"{TMP}/partly.c", "w") as f:
    f.write(PROGRAM)
subprocess.run([CC, "-O1", "-o", f"{TMP}/partly", f"{TMP}/partly.c"], check=True)
returns()
stays()
relayed()
sys.exit(report())
