# SPDX-License-Identifier: MIT
"""A second dtrace on a process in which a first one has jumps.

An instruction that was moved with a jump, and lies behind its five bytes, has the file's bytes in memory, and is never executed there: a probe on it would be
silent. What lies behind all that was moved is probed.
"""
import os, subprocess, sys

from tracing import DTRACE, PATIENCE, Target, Tracer, check, lines_of, report

TMP, CC = os.environ["TMP"], os.environ.get("CC", "cc")
# No padding is behind the return of tail(): its window begins at the addition, and has the return in its sixth byte. That of begin() is the first two
# instructions behind the push. The windows at the forward jumps of ahead() and copied() have in their stubs, before the way back, a jump to the return, and a
# copy of what is at 1; those of copied() have no padding within reach. The return of brief() is moved with the instruction before it by a jump of two bytes,
# whose pad is before next().
PROGRAM = r"""
#include <stdio.h>
long tail(long n), begin(long n), ahead(long n), copied(long n), brief(long n), next(long n);
__asm__(".text\n.globl tail\n.type tail,@function\ntail: push %rbx\nsub $0x18, %rsp\nmov %rdi, %rbx\nlea 5(%rbx), %rax\nadd $0x18, %rsp\npop %rbx\nret\n.size tail, .-tail\n"
	".globl begin\n.type begin,@function\nbegin: push %rbx\nmov %rdi, %rbx\nlea 0x12345(%rbx), %rax\nlea 0x123(%rbx), %rax\npop %rbx\nnop\nnop\nnop\nnop\nret\n.size begin, .-begin\n"
	".globl ahead\n.type ahead,@function\nahead: movq %rdi, %rax\ntestq $1, %rdi\nje 1f\nleaq 5(%rdi), %rax\nleaq 3(%rax), %rax\nleaq 0x12345(%rax), %rax\n1: ret\n"
	"2: incq %rsi\nincq %rsi\ntestq $2, %rdi\njne 1b\nincq %rsi\njmp 2b\n.size ahead, .-ahead\n"
	".globl copied\n.type copied,@function\ncopied: .rept 45\nincq %rsi\n.endr\nleaq 3(%rdi), %rcx\ntestq $1, %rdi\nje 1f\nleaq 5(%rcx), %rcx\nleaq 3(%rcx), %rcx\nleaq 0x12345(%rcx), %rcx\n"
	"1: movq %rcx, %rax\nret\n2: .rept 45\nincq %rsi\n.endr\ntestq $2, %rdi\njne 1b\nincq %rsi\njmp 2b\n.size copied, .-copied\n"
	".globl brief\n.type brief,@function\nbrief: movq %rdi, %rax\ntestq $1, %rdi\nje 1f\nleaq 5(%rdi), %rax\nleaq 3(%rax), %rax\n1: xorl %edx, %edx\nret\n"
	"2: incq %rsi\nincq %rsi\ntestq $2, %rdi\njne 1b\nincq %rsi\njmp 2b\n.size brief, .-brief\n.fill 7, 1, 0x90\n"
	".globl next\n.type next,@function\nnext: leaq 0x1234567(%rdi), %rax\nnop\nret\n.size next, .-next\n.fill 16, 1, 0xcc\n");
int main(void)
{
	char line[64];
	puts("ready");
	for (fflush(stdout); fgets(line, sizeof(line), stdin); fflush(stdout))
		printf("%ld\n", tail(1) + begin(1) + ahead(1) + copied(1) + brief(1) + next(1));
	return 0;
}
"""


def is_refused(t, mode, what):
    p = subprocess.run([DTRACE, "-x", f"inproc={mode}", "-p", str(t.pid), "-n", f"pid$target:a.out:{what} {{ }} tick-20ms {{ exit(0); }}"],
                       capture_output=True, text=True, timeout=60 * PATIENCE)
    check(f"{mode}: {what}: status", p.returncode, 1)
    check(f"{mode}: {what}: the message", "a jump of another tracer leads around it" in p.stderr or p.stderr, True)


def leaves_out(t, mode):
    """Of a pattern, what cannot fire is left out, and said."""
    d = Tracer(mode, "pid$target:a.out:*ail:return,pid$target:a.out:begin:b { @[probefunc, probename] = count(); }", t.pid, "-x", "quiet=0")
    want = t.call("c")
    check(f"{mode}: what fires", lines_of(d.end()[0]), ["begin b 1"])
    check(f"{mode}: what does not is said", "1 place in 'beside' is left out" in d.err and "jumps of another tracer lead around them" in d.err or d.err, True)
    check(f"{mode}: the result", want, 0x1258d3a)


def fires(t, mode):
    """What is executed at its place: behind what was moved with a jump, whatever its stub has first, and behind a pad."""
    want = ["ahead 10 1", "copied 98 1", "next entry 1"]
    d = Tracer(mode, "".join(f"pid$target:a.out:{w.split()[0]}:{w.split()[1]}," for w in want)[:-1] + " { @[probefunc, probename] = count(); }", t.pid)
    t.call("c")
    check(f"{mode}: behind what was moved", lines_of(d.end()[0]), want)


with open(f"{TMP}/beside.c", "w") as f:
    f.write(PROGRAM)
subprocess.run([CC, "-O1", "-o", f"{TMP}/beside", f"{TMP}/beside.c"], check=True)
t = Target(f"{TMP}/beside")
clean = t.code()
first = Tracer("all", "pid$target:a.out:tail:return,pid$target:a.out:begin:entry,pid$target:a.out:ahead:return,pid$target:a.out:copied:return,pid$target:a.out:brief:return { @[probefunc, probename] = count(); }", t.pid)
check("all of the first one's are jumps", t.code() != clean, True)
for mode in "off", "auto":
    is_refused(t, mode, "tail:return")
    is_refused(t, mode, "brief:return")
    fires(t, mode)
    leaves_out(t, mode)
out, places = first.end()
check("the first one", [lines_of(out), places], [["ahead return 4", "begin entry 4", "brief return 4", "copied return 4", "tail return 4"], (5, 0)])
d = Tracer("off", "pid$target:a.out:tail:return { @[probefunc] = count(); }", t.pid)
t.call("c")
check("without the first one", lines_of(d.end()[0]), ["tail 1"])
check("the code is as before", t.code() == clean, True)
check("it ends well", t.end(), 0)
sys.exit(report())
