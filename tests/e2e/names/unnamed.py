# SPDX-License-Identifier: MIT
"""A stripped program in three processes, at three places: what is printed for its code and data is what nm says of the file that was not
stripped. Generated code has no file, and keeps its address."""
import json, os, re, shutil, subprocess, sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests/e2e/picture"))
import page

DTRACE, TMP = os.environ["DTRACE"], os.environ["TMP"]
os.chdir(TMP)
if not shutil.which("cc") or not shutil.which("strip"):
    print("cc or strip is missing")
    sys.exit(67)

open("bare.c", "w").write(r"""
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int table[64] = {1, 2};

/* asks with the address of its own code, of data, and of code that is in no file */
static __attribute__((noinline, noclone)) void ask(int *data, char *made)
{
	syscall(SYS_getppid, ask, data, made);
	__asm__ volatile("");
}

static __attribute__((noinline, noclone)) void outer(char *made)
{
	ask(&table[2], made);
	__asm__ volatile("");
}

int main(void)
{
	static const unsigned char call[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3}; /* push, mov, call *%rdi, pop, ret */
	char *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(made, call, sizeof(call));
	outer(made);
	return 0;
}
""")
open("three", "w").write("./bare; ./bare; ./bare\n")
failed = []


def check(good, what):
    if not good:
        failed.append(what)


def build(*flags):
    """Two equal files, one of them stripped; the addresses of what the other one names."""
    subprocess.run(["cc", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", "full", "bare.c", *flags], check=True)
    subprocess.run(["strip", "-s", "-o", "bare", "full"], check=True)
    lines = (l.split() for l in subprocess.run(["nm", "full"], capture_output=True, text=True, check=True).stdout.splitlines())
    return {l[2]: int(l[0], 16) for l in lines if len(l) == 3}


def trace(program, *flags):
    p = subprocess.run([DTRACE, "-q", *flags, "-c", "sh three", "-n",
                        program.replace("BARE", 'syscall::getppid:entry /execname == "bare" && progenyof($target)/')],
                       capture_output=True, text=True, timeout=600)
    check(p.returncode == 0, f"{program}: {p.stderr}")
    return p.stdout


def words(text):
    return [l.split() for l in text.splitlines() if l.strip()]


for kind in (("-fPIE", "-pie"), ("-fno-pie", "-no-pie")):
    at = build(*kind)
    hidden, data = f"bare`+{at['ask']:#x}", f"bare`+{at['table'] + 8:#x}"

    # every way to print an address
    got = words(trace(r'BARE { printf("%A %A %s ", uaddr(arg0), uaddr(arg1), usym(arg0)); printf("%A\n", arg2); }'))
    check(len(got) == 3 and all(l[:3] == [hidden, data, hidden] for l in got), f"{kind}: {got}, not {hidden} {data}")
    check(all(re.fullmatch(r"0x[0-9a-f]{6,}", l[3]) for l in got), f"generated code keeps its address: {got}")

    # frames: the return addresses lie in the functions that have made the calls
    text = trace(r"BARE { ustack(3); }")
    frames = [int(f, 16) for f in re.findall(r"bare`\+(0x[0-9a-f]+)", text)]
    check(len(frames) == 6 and len(set(frames)) == 2 and at["ask"] < frames[0] < at["ask"] + 64 and at["outer"] < frames[1] < at["outer"] + 64,
          f"{kind}, frames: {text}")

    # a row for each process, all with the same text; stacks of equal texts are one with stackmerge
    got = words(trace(r"BARE { @[usym(arg0)] = count(); }"))
    check(got == [[hidden, "1"]] * 3, f"{kind}, keys: {got}")
    text = trace(r"BARE { @[ustack(3)] = count(); }", "-x", "stackmerge=function")
    check(text.split()[-1:] == ["3"] and [int(f, 16) for f in re.findall(r"bare`\+(0x[0-9a-f]+)", text)] == frames[:2], f"{kind}, merged: {text}")

    # a flame graph has one column for all of them, and so has what others make of folded stacks
    stack = f"bare`+{frames[1]:#x};bare`+{frames[0]:#x};"
    got = trace(r"BARE { @[ustack(3)] = count(); }", "-x", "oformat=folded").splitlines()
    check(len(got) == 3 and len(set(got)) == 1 and stack in got[0], f"{kind}, folded: {got}")
    picture = page.page_data(trace(r"BARE { @[ustack(3)] = count(); }", "-x", "oformat=flame"), "flame")
    rows, names = page.flame_rows(picture), [n[1:] for n in picture["names"] if "bare" in n]
    check(list(rows.values()) == [3] and stack in next(iter(rows)) and len(names) == 2, f"{kind}, flame graph: {rows} {names}")

    # JSON has the number apart, also of frames with a name
    lines = [json.loads(l) for l in trace(r"BARE { ustack(3); uaddr(arg1); usym(arg0); }", "-x", "oformat=jsonl").splitlines()[1:]]
    stack, address, symbol = lines[0]["output"]
    check([f.get("file-address") for f in stack["ustack-frames"][1:]] == [hex(f) for f in frames[:2]] and "file-address" in stack["ustack-frames"][0],
          f"{kind}, frames in JSON: {stack}")
    check(address == {"uaddr": data, "object": "bare", "file-address": hex(at["table"] + 8)} and symbol["file-address"] == hex(at["ask"]),
          f"{kind}, addresses in JSON: {address} {symbol}")

# as it was before, by an option: where the program lies in each process
at = build("-fPIE", "-pie")
got = {l[0] for l in words(trace(r'BARE { printf("%A\n", uaddr(arg0)); }', "-x", "absaddr"))}
check(all(re.fullmatch(r"bare`0x[0-9a-f]{8,}", a) and int(a[7:], 16) % 4096 == at["ask"] % 4096 for a in got) and got, f"absaddr: {got}")
text = trace(r"BARE { @[ustack(3)] = count(); }", "-x", "absaddr", "-x", "stackmerge=function")
check(text.split()[-1:] == ["3"], f"merged stacks have no address of a process: {text}")

print("\n".join(failed))
sys.exit(bool(failed))
