# SPDX-License-Identifier: MIT
"""Stacks of a process that nobody has looked at yet have no frames of the language, and the report at the end says how many."""
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
CLAUSE = 'syscall::unlink:entry /progenyof($target)/ { printf("stack\\n"); jstack(); }'
TOLD = re.compile(r"dtrace: (\d+) user stacks? ha[sv]e? native frames only: the process was new")


def session(lua):
    """The stacks, and how many of them the report says are bare."""
    run = subprocess.run([DTRACE, "-n", CLAUSE, "-c", f"sh -c 'sleep 0.2; {lua} removes.lua; true'"], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, timeout=120 * PATIENCE)
    told = [int(n) for n in TOLD.findall(run.stdout)]
    return run.stdout.split("stack\n")[1:], told


def main():
    os.chdir(TMP)
    with open("removes.lua", "w") as f:
        f.write(PROGRAM)
    shutil.copy(shutil.which("lua5.4"), "lua")  # no other process has this file
    bad = []
    stacks, told = session("./lua")
    bare = sum("removes" not in s for s in stacks)
    if len(stacks) != 400 or bare == 400:
        bad.append(f"{len(stacks)} stacks, {bare} of them bare: the last is\n{stacks[-1:]}")
    if told != ([bare] if bare else []):
        bad.append(f"{bare} stacks are bare, said is {told}")
    if bare and "removes" in stacks[0]:
        bad.append(f"the bare ones are not the first\n{stacks[0]}")
    stacks, told = session("true ./lua; :")
    if stacks or told:
        bad.append(f"without any process of a language: {len(stacks)} stacks, said is {told}")
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main())
