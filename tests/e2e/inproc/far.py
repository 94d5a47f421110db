# SPDX-License-Identifier: MIT
"""A program and a library that is out of the reach of one region, in two units.

A unit has up to 1,500 operands of programs' own probes (session/match/units.c): those of the program are the first unit, those of the library the second one. The
region goes to the library, because every second probe of the program has no room for a jump. The program has a mirror of it, but where children are followed.
"""
import os, subprocess, sys

from tracing import Target, Tracer, check, lines_of, report

TMP, CC = os.environ["TMP"], os.environ.get("CC", "cc")
PROBES = 1500  # of each
MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
void program(void), library(void);
int main(void)
{
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (puts("0"); fgets(line, sizeof(line), stdin); puts("0"))
		for (long n = atol(line); n > 0; n--) {
			program();
			library();
		}
}
"""


def probes(function, provider, together):
    """A function of probes, each with another constant as its argument; one of so many has room for a jump."""
    notes = "".join(f"""
{".balign 8" if i % together == 0 else ""}
.pushsection .note.stapsdt,"","note"
.balign 4
.4byte 8, 2f-1f, 3
.asciz "stapsdt"
1: .8byte probe_{i}, 0, 0
.asciz "{provider}"
.asciz "p{i}"
.asciz "8@${i + 1}"
2: .balign 4
.popsection
probe_{i}: nop
{"movl $0, %eax" if i % together == together - 1 else ""}
""" for i in range(PROBES))
    return f".globl {function}\n.type {function},@function\n{function}:\n{notes}ret\n.size {function},.-{function}\n.section .note.GNU-stack\n"


def run(mode, *flags):
    t = Target(f"{TMP}/far")
    tracer = Tracer(mode, "far_program$target:::,far_library$target:::{ @[probeprov, probemod] = sum(arg0); }", t.pid, *flags)
    check(f"{mode}: the program answers", t.call(3), 0)
    out = lines_of(tracer.end()[0])
    check(f"{mode}: it ends well", t.end(), 0)
    all_args = 3 * sum(range(1, PROBES + 1))
    check(f"{mode}: what fires", out, sorted([f"far_program{t.pid} far {all_args}", f"far_library{t.pid} libfar.so {all_args}"]))
    return tracer


for name, text in (("main.c", MAIN), ("program.s", probes("program", "far_program", 2)), ("library.s", probes("library", "far_library", 1))):
    with open(f"{TMP}/{name}", "w") as f:
        f.write(text)
subprocess.run([CC, "-shared", "-o", f"{TMP}/libfar.so", f"{TMP}/library.s"], check=True)
subprocess.run([CC, "-pie", "-o", f"{TMP}/far", f"{TMP}/main.c", f"{TMP}/program.s", f"{TMP}/libfar.so", f"-Wl,-rpath,{TMP}"], check=True)
run("off")
for mode in ("auto", "all"):
    tracer = run(mode)
    check(f"{mode}: places", tracer.places[0][1], (PROBES + PROBES // 2, PROBES // 2, 0))
    check(f"{mode}: the reason", f"{PROBES // 2} control comes from elsewhere" in tracer.err or tracer.err, True)
tracer = run("auto", "-x", "follow=fork")  # a child has data of its own near one part only
check("follow=fork: places", tracer.places[0][1], (PROBES, PROBES, 0))
check("follow=fork: the reason", f"{PROBES // 2} too far from the others" in tracer.err or tracer.err, True)
sys.exit(report())
