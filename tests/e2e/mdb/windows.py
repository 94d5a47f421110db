# SPDX-License-Identifier: MIT
"""::windows of a program of known functions, and of a library beside what objdump and readelf say of it."""
import json, os, platform, re, shutil, subprocess, sys

MDB, TMP = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
# Four functions: all fits; a loop begins behind the first instruction; a system call; an exit that is too short.
SOURCE = """
	.text
	.macro func name
	.p2align 5, 0xf4
	.globl \\name
	.type \\name, @function
\\name:
	.cfi_startproc
	.endm
	.macro end name
	.cfi_endproc
	.size \\name, . - \\name
	.endm
	func fits
.Lfits:
	push %rbp
	mov %rsp, %rbp
	sub $16, %rsp
	xor %eax, %eax
	leave
	ret
	end fits
	func loops
	xor %eax, %eax
1:	inc %eax
	inc %ecx
	cmp %edi, %eax
	jne 1b
	ret
	end loops
	func calls
	mov $39, %eax
	syscall
	nop
	nop
	ret
	end calls
	func short
	push %rbx
	mov %rdi, %rbx
	call .Lfits
	ret
	end short
	.p2align 5, 0xf4
	.section .note.GNU-stack, "", @progbits
"""
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{shown}")


def windows(what):
    out = subprocess.run([MDB, "-o", "json", "-e", f"::windows {what}", "-p", str(held.pid)], capture_output=True, text=True).stdout
    return json.loads(out)


def lines(*cmd):
    return subprocess.run(cmd, capture_output=True, text=True, check=True, env=dict(os.environ, LC_ALL="C")).stdout.splitlines()


class Listing:
    """What objdump decodes: instructions, and where direct branches lead."""

    def __init__(self, path):
        self.frames = {}
        for line in lines("readelf", "--debug-dump=frames", path):
            m = re.search(r" FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", line)
            if m:
                self.frames.setdefault(int(m[1], 16), int(m[2], 16))
        self.insns, self.targets, self.section, section = {}, set(), {}, ""
        for line in lines("objdump", "-d", "--no-show-raw-insn", path):
            m = re.match(r" +([0-9a-f]+):\t(.*)", line)
            if line.startswith("Disassembly of section"):
                section = line
            if not m:
                continue
            addr, text = int(m[1], 16), m[2]
            self.insns[addr], self.section[addr] = text, section
            to = re.match(r"(?:\w+ )*(?:j\w+|call|loop\w*)(?:,p[nt])? +([0-9a-f]+)\b", text)
            if to:
                self.targets.add(int(to[1], 16))

    def exits(self):
        """Returns, and jumps to the begin of other functions or to another section."""
        starts, n = sorted(self.frames), 0
        ends, k = [self.frames[s] for s in starts], 0
        for addr, text in sorted(self.insns.items()):
            while k + 1 < len(starts) and starts[k + 1] <= addr:
                k += 1
            if not starts or not starts[k] <= addr < ends[k]:
                continue
            words = text.replace("bnd ", "").replace("notrack ", "").replace("repz ", "").split()
            if words[0] in ("ret", "retq"):
                n += 1
            elif words[0] in ("jmp", "jmpq") and re.fullmatch("[0-9a-f]+", words[1]):
                to = int(words[1], 16)
                inside = starts[k] <= to < ends[k]
                n += not inside and (to in self.frames or self.section.get(to) != self.section[addr])
        return n

    def entries(self):
        """Functions whose second instruction begins 5 bytes into which no branch leads, and no system call is in them, or that begin with a long jump, or are a
        return of one byte, with padding behind it."""
        starts, addrs, n = set(self.frames), sorted(self.insns), 0
        index = {a: i for i, a in enumerate(addrs)}
        for start in starts:
            i = index.get(start)
            if i is not None and re.fullmatch(r"jmp +[0-9a-f]+.*", self.insns[start]) and addrs[i + 1 : i + 2] == [start + 5]:
                n += not any(a in self.targets or a in starts for a in range(start + 1, start + 5))
                continue
            if i is not None and re.fullmatch("retq? *", self.insns[start]) and addrs[i + 1 : i + 2] == [start + 1]:
                n += not any(a in self.targets or a in starts for a in range(start + 1, start + 5))
                continue
            if i is None or re.match(r"(bnd |notrack |repz )*(j|call|ret|syscall|hlt|ud2)", self.insns[start]):
                continue
            at = addrs[i + 1 : i + 2]
            if self.insns[start].startswith("endbr64"):
                at = addrs[i + 2 : i + 3]
            if not at:
                continue
            at = at[0]
            taken = self.targets | starts
            bad = at in taken or any(a in taken for a in range(at + 1, at + 5))
            bad |= any("syscall" in self.insns.get(a, "") for a in range(at, at + 5))
            n += not bad
        return n


os.chdir(TMP)
needed = ("cc", "objdump", "readelf")
if platform.machine() != "x86_64" or not all(map(shutil.which, needed)):
    print("it needs cc, objdump, readelf and an x86-64 processor")
    sys.exit(67)
held = subprocess.Popen(["sleep", "1000"])
try:
    open("t.s", "w").write(SOURCE)
    subprocess.run(["cc", "-shared", "-nostdlib", "-o", "t.so", "t.s"], check=True)
    got = windows(TMP + "/t.so")
    row, reasons = got["rows"][0], {r["reason"]: r for r in got["rows"][1:]}
    check(row["symbols"] and row["entries"] == 4 and row["entries_long"] == 2 and row["entries_short"] == 0, "entries of the program", got)
    check(row["exits"] == 4 and row["exits_long"] == 2 and row["full"] == 2, "its exits", got)
    check(reasons.get("a loop begins behind the first instruction", {}).get("behind") == 1, "the loop is told", got)
    check(reasons.get("a system call", {}).get("behind") == 1, "the system call is told", got)
    check(reasons.get("too short", {}).get("exits") == 1, "an exit behind a call is told", got)
    check(reasons.get("no padding within a short jump", {}).get("exits") == 1, "an exit behind a branch is told", got)
    subprocess.run(["strip", "t.so"], check=True)
    stripped = windows(TMP + "/t.so")["rows"][0]
    check(not stripped["symbols"] and stripped["entries_long"] == 2 and stripped["exits"] == 4, "without symbols", stripped)

    # a library that stands on any system, stripped
    path = next((p for p in ("/usr/lib/x86_64-linux-gnu/libtinfo.so.6", "/usr/lib64/libtinfo.so.6") if os.path.exists(p)), None)
    path = path or next(line.split()[2] for line in lines("ldd", "/bin/sh") if "libc.so" in line)
    row, listing = windows(os.path.realpath(path))["rows"][0], Listing(path)
    if not row["symbols"]:
        check(row["entries"] == len(listing.frames), "functions of .eh_frame", f"{row} {len(listing.frames)}")
        check(row["exits"] == listing.exits(), "returns and jumps to other functions", f"{row} {listing.exits()}")
        n = listing.entries()
        check(n * 0.97 <= row["entries_long"] <= n, "entries that no branch leads into", f"{row} {n}")
    all_files = windows("")["rows"]
    check(any(r["file"].startswith("libc.so") and r["entries"] > 1000 for r in all_files), "the files that are mapped", all_files)
    check("no ELF file" in windows("/etc/passwd").get("error", ""), "what is none", windows("/etc/passwd"))
finally:
    held.kill()
    held.wait()
print(f"{len(failed)} failed")
sys.exit(bool(failed))
