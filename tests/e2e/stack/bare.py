# SPDX-License-Identifier: MIT
"""Stacks of a process that nobody has looked at yet have no frames of the language; each says so in its last line, and the report at the end how
many. A program for whose file there is no helper has no such line, nor has native code of a runtime whose language runs in generated code only."""
import os, re, shutil, subprocess, sys

DTRACE, TMP, PATIENCE = os.environ["DTRACE"], os.environ["TMP"], int(os.environ["PATIENCE"])

PROGRAM = """
local function removes() os.remove("/nonexistent") end
for i = 1, 400 do
    removes()
    local t = os.clock()
    while os.clock() - t < 0.001 do end
end
"""
CLAUSE = """syscall::unlink:entry, syscall::unlinkat:entry /progenyof($target)/ {
    printf("stack %s\\n", execname); jstack();
    printf("stack %s\\n", execname); lstack();
}"""
MARK = "[no language frames yet]"
TOLD = re.compile(r"dtrace: (\d+) user stacks? ha[sv]e? native frames only: the process was new")


def session(lua):
    """The stacks of Lua, those of another program, and how many the report says are bare."""
    run = subprocess.run([DTRACE, "-n", CLAUSE, "-c", f"sh -c 'sleep 0.2; {lua} removes.lua; rm -f nonexistent; true'"], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=120 * PATIENCE)
    told = [int(n) for n in TOLD.findall(run.stdout)]
    stacks = [stack.split("dtrace: ")[0] for stack in run.stdout.split("stack ")[1:]]
    return [s for s in stacks if s.startswith("lua\n")], [s for s in stacks if s.startswith("rm\n")], told


# What the helper reads may change, so that each process is looked at anew.
TOY = """
#include <unistd.h>
volatile long changes;
__attribute__((noinline)) int toy_run(void) { int n = 0; for (int i = 0; i < 20; i++) n += unlink("/nonexistent"); return n; }
int main(void) { return toy_run() == 1; }
"""
HELPER = """#pragma D helper exec "toy"
%suint64_t run;
dtrace:helper:attach: { run = symaddr("toy_run") + *(uint64_t *)symaddr("changes"); }
dtrace:helper:ustack: /arg0 == run/ { uframe("never"); }
"""


def toys(pragma):
    """The stacks of twenty processes of a file, whose unwind table is there but for the first ones."""
    with open("toy.d", "w") as f:
        f.write(HELPER % pragma)
    run = subprocess.run([DTRACE, "-x", "helper=toy.d", "-n", CLAUSE.split("\n")[0] + 'printf("stack toy\\n"); jstack(); }', "-c",
                          "sh -c 'sleep 0.2; for i in 1 2 3 4; do ./toy; ./toy; ./toy; ./toy; ./toy; sleep 0.1; done'"],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120 * PATIENCE)
    return [s for s in run.stdout.split("stack toy")[1:] if "toy_run" in s]


def generated(bad):
    if not shutil.which("cc"):
        return
    with open("toy.c", "w") as f:
        f.write(TOY)
    subprocess.run(["cc", "-O1", "-o", "toy", "toy.c"], check=True)
    for pragma, has_marks in ("", True), ("#pragma D helper generated\n", False):
        stacks = [s for s in toys(pragma) if "[no unwind table yet]" not in s]
        marked = [s for s in stacks if MARK in s]
        if len(stacks) < 200 or bool(marked) != has_marks:
            bad.append(f"with '{pragma.strip()}': {len(marked)} of {len(stacks)} stacks have a mark\n{(marked or stacks)[:1]}")


def main():
    os.chdir(TMP)
    with open("removes.lua", "w") as f:
        f.write(PROGRAM)
    shutil.copy(shutil.which("lua5.4"), "lua")  # no other process has this file
    bad = []
    stacks, others, told = session("./lua")
    bare = sum("removes" not in s for s in stacks)
    if len(stacks) != 800 or bare == 800:
        bad.append(f"{len(stacks)} stacks, {bare} of them bare: the last is\n{stacks[-1:]}")
    for s in stacks:
        marks = [line.strip() for line in s.splitlines() if line.strip()].count(MARK)
        if marks != (0 if "removes" in s else 1):
            bad.append(f"{marks} marks in\n{s}")
            break
    if len(others) != 2 or any(MARK in s for s in others):
        bad.append(f"a program without a language: {others}")
    if told != ([bare] if bare else []):
        bad.append(f"{bare} stacks are bare, said is {told}")
    if bare and "removes" in stacks[0]:
        bad.append(f"the bare ones are not the first\n{stacks[0]}")
    stacks, others, told = session("true ./lua; :")
    if stacks or told:
        bad.append(f"without any process of a language: {len(stacks)} stacks, said is {told}")
    generated(bad)
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main())
