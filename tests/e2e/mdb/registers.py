# SPDX-License-Identifier: MIT
"""A program that sets registers and waits: mdb and gdb, of the process and of a core file."""
import json, os, platform, re, shutil, subprocess, sys

MDB, TMP = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
SOURCE = """
#include <stdio.h>
#include <unistd.h>
#define LOST "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory"
__attribute__((noinline)) long inner(long a)
{
	asm volatile("mov $0x51, %%rbx; mov $0x52, %%r12; mov $0x53, %%r13" ::: "rbx", "r12", "r13");
	pause();
	asm volatile("" ::: "rbx", "r12", "r13");
	return a;
}
__attribute__((noinline)) long middle(long a)
{
	asm volatile("mov $0xb1b1, %%rbx; mov $0xb2b2, %%r12; mov $0xb3b3, %%r13; mov $0xb4b4, %%r14; call inner" ::: "rbx", "r12", "r13", "r14", LOST);
	return a + 1;
}
int main(void)
{
	puts("ready");
	fflush(stdout);
	return middle(3) + 1;
}
"""
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{shown}")


os.chdir(TMP)
if not shutil.which("cc") or not shutil.which("gdb") or platform.machine() != "x86_64":
    print("it needs cc, gdb and an x86-64 processor")
    sys.exit(67)
open("t.c", "w").write(SOURCE)
subprocess.run(["cc", "-O1", "-g", "-fno-omit-frame-pointer", "-o", "t", "t.c"], check=True)
program = subprocess.Popen(["./t"], stdout=subprocess.PIPE, text=True)


def run(commands, *target):
    r = subprocess.run([MDB, "-o", "json", "-e", commands, *target], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    if "ptrace" in r.stderr or "permitted" in r.stderr:
        print(f"processes cannot be held here: {r.stderr}")
        sys.exit(67)
    return [json.loads(line) for line in r.stdout.splitlines()], r.stderr


def gdb(*commands):
    return subprocess.run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", *[a for c in commands for a in ("-ex", c)], "./t", "kept"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300).stdout


try:
    check(program.stdout.readline() == "ready\n", "the program begins")
    alive = ["-p", str(program.pid)]
    subprocess.run([MDB, "-S", str(program.pid), "-w", "kept", "-e", ""], stdin=subprocess.DEVNULL, check=True)

    # ::regs -f: frame 0 is pause(), 1 inner(), 2 middle(), 3 main()
    FRAMES = "::regs; ::regs -f 0; ::regs -f 1; ::regs -f 2; ::regs -f 3"
    live, err = run(FRAMES, *alive)
    dead, err = run(FRAMES, "kept")
    check(live == dead and len(dead) == 5 and dead[0]["rows"] == dead[1]["rows"], "of the process and of its core file", f"{live}\n{dead}\n{err}")
    frames = [{r["register"]: int(r["value"], 16) for r in d["rows"] if "value" in r} for d in dead[1:]]
    SAVED = ["rbx", "rbp", "rsp", "r12", "r13", "r14", "r15", "rip"]
    for number in (1, 2, 3):
        check(sorted(frames[number]) == sorted(SAVED), f"frame {number}: which are known", dead[number + 1])
        text = gdb(f"frame {number}", "info registers")
        want = {name: int(re.search(rf"^{name} +0x([0-9a-f]+)", text, re.M).group(1), 16) for name in SAVED}
        check(frames[number] == want, f"frame {number}", f"{frames[number]}\n{want}\n{text}")
    check([frames[2][r] for r in ("rbx", "r12", "r13", "r14")] == [0xb1b1, 0xb2b2, 0xb3b3, 0xb4b4] and frames[1]["rbx"] == 0x51, "as the program has set them", frames)
    check("no frame 4096" in run("::regs -f 4096", "kept")[1] and "no decimal number" in run("::regs -f -1", "kept")[1], "frames that are not there")
finally:
    program.kill()
    program.wait()
sys.exit(1 if failed else 0)
