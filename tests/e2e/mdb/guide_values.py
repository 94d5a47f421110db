# SPDX-License-Identifier: MIT
"""The toy interpreter of the guide, whose values are described there: mdb shows them."""
import os, re, subprocess, sys

MDB, SRC, TMP = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["SRC"], os.environ["TMP"]
SOURCE = r"""
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
struct frame { struct frame *outer; const char *name; int line; uint64_t argument; } *current;
static uint64_t inner[2] = {2 * 7 + 1, 2 * -3ull + 1}, outer[2], ring[2];
__attribute__((noinline)) void run(const char *const *names, int line)
{
	struct frame f = {current, *names, line, line == 1 ? (uint64_t)outer : (uint64_t)ring};

	current = &f;
	if (names[1])
		run(names + 1, line + 10);
	else if (puts("ready") > 0 && fflush(stdout) == 0)
		(void)!read(0, &line, 1);
	current = f.outer;
	__asm__ volatile("");
}
int main(void)
{
	static const char *const names[] = {"main", "leaf", NULL};

	outer[0] = (uint64_t)inner;
	outer[1] = 2 * 42 + 1;
	ring[0] = 2 * 5 + 1;
	ring[1] = (uint64_t)ring;
	run(names, 1);
	return 0;
}
"""
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{shown}")


os.chdir(TMP)
guide = open(f"{SRC}/doc/guide/ustack-helpers.md").read()
helper = [t for t in re.findall(r"^```d helper\n(.*?)^```", guide, re.M | re.S) if '"toy"' in t]
values = re.findall(r"^```d values\n(.*?)^```", guide, re.M | re.S)
check(len(helper) == 1 and len(values) == 1, "the guide has one of each", (helper, values))
os.makedirs("helpers/values")
open("helpers/toy.d", "w").write(helper[0])
open("helpers/values/toy.d", "w").write(values[0])
open("toy.c", "w").write(SOURCE)
subprocess.run(["cc", "-O1", "-fno-optimize-sibling-calls", "-rdynamic", "-o", "toy", "toy.c"], check=True)
program = subprocess.Popen(["./toy"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
try:
    check(program.stdout.readline() == "ready\n", "the program begins")

    def run(commands, status=0):
        r = subprocess.run([MDB, "-e", "::load helpers/toy.d; " + commands, "-p", str(program.pid)], capture_output=True, text=True, timeout=120)
        check(r.returncode == status and bool(r.stderr) == bool(status), commands, r.stdout + r.stderr)
        return r.stdout + r.stderr

    text = run("::lstack -v")
    frames = re.findall(r"^value: +(\w+) line \d+\n +arg1: ([0-9a-f]+) \(pair\)$", text, re.M)
    check([n for n, _ in frames] == ["leaf", "main"], "frames with their arguments", text)
    ring, outer = frames[0][1], frames[1][1]
    check(run(f"{outer}::lprint") == "(\n    (\n        7,\n        -3,\n    ),\n    42,\n)\n", "pairs", run(f"{outer}::lprint"))
    check(run(f"{ring}::lprint") == "(\n    5,\n    (<above>),\n)\n", "a value that contains itself", run(f"{ring}::lprint"))
    check(run(f"{outer}::ltype; 0t85::ltype") == f"0x{outer}: pair\n0x55: number\n", "types")
    check("is no value" in run("8::lprint", 1), "what is none")
    check("is not described" in run("::lobjects", 1), "no census")
    # a variable of the helper that the values declare, too, would have the helper's value
    name = re.search(r"^(\w+) (\w+)[,;]", helper[0], re.M)
    open("helpers/values/toy.d", "w").write(f"{name[1]} {name[2]};\n" + values[0])
    r = subprocess.run([MDB, "-e", "::load helpers/toy.d; ::stack -l", "-p", str(program.pid)], capture_output=True, text=True, timeout=120)
    check(f"identifier redeclared: {name[2]}" in r.stderr and r.stdout.count(" line ") == 2, "a variable that the helper has", r.stdout + r.stderr)
    open("helpers/values/toy.d", "w").write(values[0] + "dtrace:helper:value: { nosuch(); }\n")
    r = subprocess.run([MDB, "-e", "::load helpers/toy.d; ::stack -l", "-p", str(program.pid)], capture_output=True, text=True, timeout=120)
    check("nosuch" in r.stderr and r.stdout.count(" line ") == 2, "a file of values that is wrong is said, and the stack is there", r.stdout + r.stderr)
finally:
    program.kill()
    program.wait()
sys.exit(1 if failed else 0)
