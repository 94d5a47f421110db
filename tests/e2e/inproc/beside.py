# SPDX-License-Identifier: MIT
"""A second dtrace on a process in which a first one has jumps.

An instruction that was moved with a jump, and lies behind its five bytes, has the file's bytes in memory, and is never executed there: a probe on it would be
silent. What lies behind all that was moved is probed.
"""
import os, subprocess, sys

from tracing import DTRACE, PATIENCE, Target, Tracer, check, lines_of, report

TMP, CC = os.environ["TMP"], os.environ.get("CC", "cc")
# No padding is behind the return of tail(): its window begins at the addition, and has the return in its sixth byte. That of begin() is the first two
# instructions behind the push.
PROGRAM = r"""
#include <stdio.h>
long tail(long n), begin(long n);
__asm__(".text\n.globl tail\n.type tail,@function\ntail: push %rbx\nsub $0x18, %rsp\nmov %rdi, %rbx\nlea 5(%rbx), %rax\nadd $0x18, %rsp\npop %rbx\nret\n.size tail, .-tail\n"
	".globl begin\n.type begin,@function\nbegin: push %rbx\nmov %rdi, %rbx\nlea 0x12345(%rbx), %rax\nlea 0x123(%rbx), %rax\npop %rbx\nnop\nnop\nnop\nnop\nret\n.size begin, .-begin\n");
int main(void)
{
	char line[64];
	puts("ready");
	for (fflush(stdout); fgets(line, sizeof(line), stdin); fflush(stdout))
		printf("%ld\n", tail(1) + begin(1));
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
    check(f"{mode}: what does not is said", "1 places in 'beside' are left out" in d.err and "jumps of another tracer lead around them" in d.err or d.err, True)
    check(f"{mode}: the result", want, 6 + 0x124)


with open(f"{TMP}/beside.c", "w") as f:
    f.write(PROGRAM)
subprocess.run([CC, "-O1", "-o", f"{TMP}/beside", f"{TMP}/beside.c"], check=True)
t = Target(f"{TMP}/beside")
clean = t.code()
first = Tracer("all", "pid$target:a.out:tail:return,pid$target:a.out:begin:entry { @[probefunc, probename] = count(); }", t.pid)
check("all of the first one's are jumps", t.code() != clean, True)
for mode in "off", "auto":
    is_refused(t, mode, "tail:return")
    leaves_out(t, mode)
out, places = first.end()
check("the first one", [lines_of(out), places], [["begin entry 2", "tail return 2"], (2, 0)])
d = Tracer("off", "pid$target:a.out:tail:return { @[probefunc] = count(); }", t.pid)
t.call("c")
check("without the first one", lines_of(d.end()[0]), ["tail 1"])
check("the code is as before", t.code() == clean, True)
check("it ends well", t.end(), 0)
sys.exit(report())
