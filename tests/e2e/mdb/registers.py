# SPDX-License-Identifier: MIT
"""A program that sets registers and waits: mdb and gdb, of the process and of a core file."""
import json, os, platform, re, shutil, struct, subprocess, sys, time

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
FLOATS = """
#include <stdio.h>
#include <unistd.h>
static const float single = 0.1f;
static const double pairs[4] = {1.25, -2.5, 1e300, 3.0};
static const int towards_zero = 0x7f80;
int main(void)
{
	puts("ready");
	fflush(stdout);
	asm volatile("fldpi; flds %1; ldmxcsr %3; movupd %2, %%xmm3" :: "a"(0), "m"(single), "m"(pairs), "m"(towards_zero) : "xmm3");
	if (__builtin_cpu_supports("avx"))
		asm volatile("vmovupd %0, %%ymm4" :: "m"(pairs) : "xmm4");
	if (__builtin_cpu_supports("avx512f"))
		asm volatile("vbroadcastsd 16+%0, %%zmm31; vbroadcastsd 24+%0, %%zmm16; vbroadcastsd %0, %%zmm5; kmovw %1, %%k1; kmovw %2, %%k3; kmovw %3, %%k7"
			     :: "m"(pairs), "r"(0x1234), "r"(0xbeef), "r"(0xffff) : "xmm5");
	asm volatile("syscall" :: "a"(34) : "rcx", "r11", "memory"); /* pause() */
	return 0;
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


def waits(pid):
    """Whether it is in pause()."""
    return open(f"/proc/{pid}/syscall").read().split()[0] == "34"


def floats_check(pid):
    """Compares ::fpregs with gdb and with what the program has loaded."""
    live, err = run("::fpregs", "-p", str(pid))
    rows = {r["register"]: r for r in live[0]["rows"]}
    is_wide = "ymm4" in rows
    check(is_wide == (" avx " in open("/proc/cpuinfo").read()), "AVX", rows)
    check([rows[r]["numbers"] for r in ("st0", "st1", "st2")] == ["0.100000001490116119", "3.14159265358979324", "empty"], "stack of the x87", rows)
    kind, pairs = ("y" if is_wide else "x"), [1.25, -2.5, 1e300, 3.0]
    check([float(n) for n in rows[kind + "mm3"]["numbers"].split()] == pairs[:2] + [0, 0] * is_wide, "xmm3", rows)
    if is_wide:
        check([float(n) for n in rows["ymm4"]["numbers"].split()] == pairs, "ymm4", rows)
    text = subprocess.run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off"] +
                          [a for r in ("mxcsr", "fctrl", "fstat", *(f"xmm{i}.uint128" for i in range(16))) for a in ("-ex", f"p/x ${r}")] +
                          [a for i in range(16 * is_wide) for a in ("-ex", f"p/x $ymm{i}.v2_int128[1]")] + ["-p", str(pid)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300).stdout
    want = [int(v, 16) for v in re.findall(r"^\$\d+ = 0x([0-9a-f]+)$", text, re.M)]
    values = [int(rows[r]["value"], 16) for r in ("mxcsr", "fcw", "fsw")]
    vectors = [int(rows[f"{kind}mm{i}"]["value"], 16) for i in range(16)]
    values += [v & (1 << 128) - 1 for v in vectors] + [v >> 128 for v in vectors] * is_wide
    check(values == want and values[0] == 0x7f80, "as in gdb", f"{values}\n{want}\n{text}")
    long_rows_check(pid, rows)
    subprocess.run([MDB, "-S", str(pid), "-w", "floats.core", "-e", ""], stdin=subprocess.DEVNULL, check=True)
    check(run("::fpregs", "floats.core")[0] == live, "of a core file")
    check(run("::fpregs -v", "floats.core")[0] == run("::fpregs -v", "-p", str(pid))[0], "all of AVX-512 of a core file")
    core = open("floats.core", "rb").read()  # without the larger note
    open("short.core", "wb").write(core.replace(struct.pack("<I", 0x202) + b"LINUX\0", struct.pack("<I", 0x7FFFFFFF) + b"LINUX\0"))
    short = {r["register"]: r for r in run("::fpregs", "short.core")[0][0]["rows"]}
    check("ymm3" not in short and short["st1"] == rows["st1"] and float(short["xmm3"]["numbers"].split()[1]) == -2.5, "the note of older core files", short)
    open("none.core", "wb").write(open("short.core", "rb").read().replace(struct.pack("<II", 512, 2) + b"CORE\0", struct.pack("<II", 512, 0x7FFFFFFF) + b"CORE\0"))
    none, err = run("::fpregs", "none.core")
    check(not none[0]["rows"] and "not known" in err, "a core file without both notes", f"{none}\n{err}")


def long_rows_check(pid, short):
    """Compares ::fpregs -v with what the program has loaded, if there is AVX-512; gdb 13 does not know where AMD's processors save it."""
    rows = {r["register"]: r for r in run("::fpregs -v", "-p", str(pid))[0][0]["rows"]}
    if " avx512f " not in open("/proc/cpuinfo").read():
        check(rows == short, "-v without AVX-512", rows)
        return
    want = {"zmm31": [1e300] * 8, "zmm16": [3.0] * 8, "zmm5": [1.25] * 8, "zmm4": [1.25, -2.5, 1e300, 3.0, 0, 0, 0, 0], "zmm3": [1.25, -2.5] + [0] * 6}
    got = {r: [float(n) for n in rows[r]["numbers"].split()] for r in want}
    check(got == want, "AVX-512", (got, want))
    masks = [int(rows[f"k{i}"]["value"], 16) for i in (1, 3, 7)]
    check(masks == [0x1234, 0xbeef, 0xffff] and len([r for r in rows if r.startswith("zmm")]) == 32, "masks", rows)
    rest = {r for r in rows if not re.match("zmm|k[0-7]$", r)}
    check(rest == {r for r in short if not re.match("[xy]mm", r)}, "the other registers are the same", rest)


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
    end = time.monotonic() + 60
    while not waits(program.pid) and time.monotonic() < end:  # it may be anywhere between its line and pause()
        time.sleep(0.01)
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

open("f.c", "w").write(FLOATS)
subprocess.run(["cc", "-O1", "-o", "f", "f.c"], check=True)
program = subprocess.Popen(["./f"], stdout=subprocess.PIPE, text=True)
try:
    end = time.monotonic() + 20
    while not waits(program.pid) and time.monotonic() < end:
        time.sleep(0.01)
    floats_check(program.pid)
finally:
    program.kill()
    program.wait()
sys.exit(1 if failed else 0)
