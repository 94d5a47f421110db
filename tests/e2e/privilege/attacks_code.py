# SPDX-License-Identifier: MIT
"""
alice says where a breakpoint is to be. A uprobe belongs to a file and to her task, and stays with both when the task executes a set-user-id
program that has mapped the file, so it must never be inside an instruction of a file that is not hers: neither by a name in a debug file
that she has written, nor by bytes, nor by an address in the memory of her process.
"""
import re
from world import *

enter()
levels(f"user {ALICE}: dtrace_user, dtrace_proc\n")
for tool in "cc", "objcopy", "strip", "nm":
    if not shutil.which(tool):
        skip(f"there is no {tool}")

PROGRAM = r"""
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* 10 bytes: the last 8 of the first instruction are instructions, too. */
__asm__(".text\n.globl work\n.type work,@function\nwork:\n.cfi_startproc\n\tmovabs $0x1122334455667788,%rax\n\tlea 7(%rdi),%rax\n\tret\n.cfi_endproc\n.size work,.-work\n");
int work(int a);
/* No symbol and no entry of .eh_frame is about it. */
__asm__(".text\n\t.skip 16, 0x90\nloose:\n\tlea 1(%rdi),%rax\n\tret\n");
/* Notes of probes. */
__asm__(".macro note name, pc\n.pushsection .note.stapsdt,\"?\",\"note\"\n.balign 4\n.4byte 8, 2f-1f, 3\n.asciz \"stapsdt\"\n1:.8byte \\pc, 0, 0\n.asciz \"claims\"\n.asciz \"\\name\"\n.asciz \"\"\n2:.balign 4\n.popsection\n.endm\n"
	"note begin, work\nnote inside, work+2\nnote unknown, loose\n");
int loose(int a) __asm__("loose");

/* Writes another address wherever the linker has written this one. */
static void replace_words(uint64_t real, uint64_t other)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	int mem = open("/proc/self/mem", O_RDWR);
	unsigned long start, end;
	char line[4096];

	while (fgets(line, sizeof(line), maps))
		if (strchr(line, '/') && sscanf(line, "%lx-%lx %*s", &start, &end) == 2 && line[strcspn(line, " ") + 3] != 'x')
			for (uint64_t word; start < end; start += 8)
				if (pread(mem, &word, 8, (off_t)start) == 8 && word == real)
					(void)!pwrite(mem, &other, 8, (off_t)start);
}

int main(int argc, char **argv)
{
	size_t (**slot)(const char *);
	size_t (*real)(const char *);

	__asm__("lea strlen@GOTPCREL(%%rip), %0" : "=r"(slot));
	real = *slot;
	if (argc == 1) {
		printf("%p %p\n", (void *)work, (void *)real);
		fflush(stdout);
	} else {
		char line[64];
		int len = snprintf(line, sizeof(line), "%p %p\n", (void *)work, (void *)real);

		replace_words((uint64_t)real, (uint64_t)real + 1);
		(void)!write(1, line, (size_t)len);
	}
	for (;;) {
		work(1);
		loose(1);
		if (argc == 1)
			(*slot)("seven77");
		usleep(1000);
	}
}
"""
SHARED = f"{TMP}/shared"  # root's folder on the file system of alice's home
FULL, PLAIN, NAMED, MINE = f"{TMP}/full", f"{SHARED}/plain", f"{SHARED}/named", f"{home(ALICE)}/plain"
MIDDLE, WHOLE = "8877665544332211", "48b88877665544332211"


def tool(*argv):
    subprocess.run(argv, check=True, capture_output=True, text=True)


def build():
    os.mkdir(SHARED)
    with open(f"{TMP}/plain.c", "w") as f:
        f.write(PROGRAM)
    tool("cc", "-O1", "-fno-builtin", "-Wl,-z,norelro", "-Wl,--build-id=sha1", "-o", FULL, f"{TMP}/plain.c")
    tool("objcopy", "--strip-all", f"--add-gnu-debuglink={FULL}", FULL, PLAIN)
    text = subprocess.run(["objdump", "-h", FULL], check=True, capture_output=True, text=True).stdout
    start = int(re.search(r"\.text\s+\w+\s+(\w+)", text).group(1), 16)
    work = int(re.search(r"^(\w+) T work$", subprocess.run(["nm", FULL], check=True, capture_output=True, text=True).stdout, re.M).group(1), 16)
    tool("objcopy", "--only-keep-debug", "--add-symbol", f"middle=.text:{work - start + 2:#x},function,global", FULL, f"{TMP}/lies.debug")
    os.chmod(PLAIN, 0o755)
    shutil.copy(FULL, NAMED)


class Target:
    """A process of alice that executes a file."""
    def __init__(self, path, *args):
        self.p = subprocess.Popen([path, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=ENV, **user(ALICE))
        self.work, self.strlen = (int(word, 16) for word in self.p.stdout.readline().split())

    def code(self, address, size):
        with open(f"/proc/{self.p.pid}/mem", "rb") as f:
            f.seek(address)
            return f.read(size)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.kill()
        self.p.wait()


def attack(path, probe, *args, argv=()):
    """Whether alice's session starts, and has a breakpoint inside of an instruction."""
    with Target(path, *argv) as t:
        before = t.code(t.work, 15), t.code(t.strlen, 15)
        p = subprocess.Popen([DTRACE, *args, "-n", probe.replace("PID", str(t.p.pid)) + ' { n++; } tick-100hz /n > 5/ { printf("fires\\n"); exit(0); } tick-1s /++s == 30/ { printf("silent\\n"); exit(0); }',
                              "-p", str(t.p.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV, **user(ALICE))
        inside = False
        while p.poll() is None:
            after = t.code(t.work, 15), t.code(t.strlen, 15)
            if after[0][1:10] != before[0][1:10] or after[1][1:4] != before[1][1:4]:
                inside = True
                p.kill()
        return inside, p.returncode, p.stdout.read(), p.stderr.read()


def is_refused(what, said, r):
    check(not r[0], f"{what}: a breakpoint inside an instruction", r)
    check(r[1] == 1 and said in r[3], f"{what} is not refused with '{said}'", r)


def works(what, r):
    check(r[1] == 0 and "fires" in r[2], f"{what} does not work", r)


def names_in_debug_files():
    """Names of a file of root's come from debug files of root's; of alice's own file, from hers as well."""
    os.mkdir(f"{home(ALICE)}/.debug")
    for place in f"{home(ALICE)}/full", f"{home(ALICE)}/.debug/full":
        for owner, mode, is_good in (ALICE, 0o644, False), (BOB, 0o644, False), (0, 0o666, False), (0, 0o664, False), (0, 0o644, True):
            os.link(PLAIN, MINE)  # she can do that herself where fs.protected_hardlinks is 0
            shutil.copy(f"{TMP}/lies.debug", place)
            os.chown(place, owner, ALICE)
            os.chmod(place, mode)
            what = f"{place} of {owner} with mode {mode:o}"
            if is_good:
                works(what, attack(MINE, "pidPID:plain:work:entry"))
            else:
                is_refused(what, "its debug file is not used", attack(MINE, "pidPID:plain:middle:entry"))
            os.unlink(MINE)
            os.unlink(place)
        shutil.copy(PLAIN, MINE)
        os.chown(MINE, ALICE, ALICE)
        shutil.copy(f"{TMP}/lies.debug", place)
        os.chown(place, ALICE, ALICE)
        os.chmod(place, 0o664)
        works(f"{place} for her own file", attack(MINE, "pidPID:plain:work:entry"))
        os.unlink(MINE)
        os.unlink(place)


def places_by_bytes():
    """Bytes that alice chooses are probed where the file says that a function begins."""
    own = "provider own { probe p() = pid:plain:work-%s:entry (); }; own$target:::p"
    os.makedirs(f"{home(ALICE)}/lib")
    for bytes_, is_good in (MIDDLE, False), (WHOLE, True):
        with open(f"{home(ALICE)}/lib/own.d", "w") as f:
            f.write(f"provider own {{ probe p() = pid:plain:work-{bytes_}:entry (); }};\n")
        for what, args in (f"bytes {bytes_}", [own % bytes_]), (f"bytes {bytes_} of -L", ["own$target:::p", "-L", f"{home(ALICE)}/lib"]):
            r = attack(PLAIN, *args)
            if is_good:
                works(what, r)
            else:
                is_refused(what, "are not where the file says that a function begins", r)


def places_of_notes():
    """What a file's notes say of where its probes are counts if an instruction begins there; for alice, if that is known."""
    left_out = "no instruction is known to begin where it says"
    for path in FULL, PLAIN:
        works(f"a note of {path} where a function begins", attack(path, "claims$target:::begin"))
        for who, more in ("alice", []), ("all levels", ["-x", "destructive"]):
            levels(f"user {ALICE}: dtrace_user, dtrace_proc{', proc_owner' if more else ''}\n")
            is_refused(f"a note of {path} inside an instruction for {who}", left_out, attack(path, "claims$target:::inside", *more))
            r = attack(path, "claims$target:::unknown", *more)
            if more:
                works(f"a note of {path} that may be right for {who}", r)
            else:
                is_refused(f"a note of {path} that may be wrong for {who}", left_out, r)
        levels(f"user {ALICE}: dtrace_user, dtrace_proc\n")


def address_in_memory():
    """The implementation of an indirect function is an address in alice's memory, which may be any."""
    works("the implementation that the linker has chosen", attack(PLAIN, "pidPID:libc.so.6:strlen:entry"))
    is_refused("an address that the process has written", "has not chosen an implementation", attack(PLAIN, "pidPID:libc.so.6:strlen:entry", argv=["lie"]))


def processes_of_others():
    """Breakpoints are in alice's process only, also where the kernel cannot filter links by a process (Linux before 6.10)."""
    for absent in "", "UPROBE_TGID":
        with Target(NAMED) as t:
            other = subprocess.Popen([NAMED], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=ENV, **user(BOB))
            work = int(other.stdout.readline().split()[0], 16)
            p = subprocess.Popen([DTRACE, "-x", f"privileges={ALICE}:dtrace_user,dtrace_proc", "-qn", f"pid{t.p.pid}:named:work:entry {{ n++; }} tick-10hz /n > 5/ {{ printf(\"on\\n\"); n = 0; }}"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env={**ENV, "FATHOM_NO_FEATURE": absent})
            check(p.stdout.readline().strip() == "on", f"a probe without '{absent}'", p.poll())
            check(t.code(t.work, 1) == b"\xcc", f"alice's process has the breakpoint without '{absent}'", t.code(t.work, 8))
            t.p, own = other, t.p
            check(t.code(work, 1) == b"\x48", f"bob's process has none without '{absent}'", t.code(work, 8))
            t.p = own
            p.kill()
            p.wait()
            other.kill()
            other.wait()


build()
processes_of_others()
names_in_debug_files()
places_by_bytes()
places_of_notes()
address_in_memory()
done()
