# SPDX-License-Identifier: MIT
"""What comes while dtrace runs waits for its turn, and for threads that do not stop: jumps in code that is mapped once more, in a library that is opened, and at places that were held back.

The test has the turn, as another tracer would (target/turn.h). Meanwhile no byte of code is changed; afterwards the jumps come. Who is interrupted while
it waits for the turn places nothing any more.
"""
import os, re, signal, subprocess, sys, threading, time

from tracing import PATIENCE, Target, Tracer, check, report, turn

TMP, CC = os.environ["TMP"], os.environ.get("CC", "cc")
LIBRARY = "__attribute__((noinline, noipa)) long from_library(long n) { return n * 3 + (n >> 2) + (n & 7); }"
PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
/* It uses nothing outside of this code. */
__attribute__((noinline, noipa)) long leaf(long x) { return x * 3 + (x >> 2) + (x & 7); }
/* On a page of its own: a part of the code can be mapped without it. */
__attribute__((noinline, noipa, aligned(4096))) long own(long x) { return x * 5 + (x >> 3) + (x & 15); }
int loads(const int *p);
__asm__(".text\n.balign 64\n.globl loads\n.type loads,@function\nloads: push %rbx\nxor %eax, %eax\nmov (%rdi), %eax\nnop\npop %rbx\nret\n"
	".size loads, .-loads\n.balign 64\n");
static const int good = 4711;
static void answer(long n) { printf("%ld\n", n); fflush(stdout); }
/* Interrupts loads() in the middle of its window, and waits there for a line. */
static void on_fault(int sig, siginfo_t *si, void *uc)
{
	char line[64];
	(void)sig, (void)si;
	answer(1);
	fgets(line, sizeof(line), stdin);
	((ucontext_t *)uc)->uc_mcontext.gregs[REG_RDI] = (greg_t)&good;
}
/* A thread that nothing stops: it waits for a child that has its memory. */
static volatile int waits;
static void *vfork_call(void *arg)
{
	if (vfork() == 0) {
		waits = 1;
		while (waits)
			usleep(1000);
		_exit(0);
	}
	return arg;
}
static unsigned long start, end, off;
static void code_find(void)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long from, to, at;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx r-xp %lx", &from, &to, &at) == 3 && (unsigned long)leaf >= from && (unsigned long)leaf < to) {
			start = from;
			end = to;
			off = at;
		}
	fclose(f);
}
/* The library at another address; and its code once more. */
static int library_move(void **lib, const char *path)
{
	char *old = dlsym(*lib, "from_library");
	dlclose(*lib);
	mmap((void *)((unsigned long)old & -4096ul), 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	*lib = dlopen(path, RTLD_NOW);
	return (char *)dlsym(*lib, "from_library") != old;
}
static int library_copy(unsigned long at, const char *path)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long from, to, pos, len = 0, start = 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx r-xp %lx", &from, &to, &pos) == 3 && strstr(line, "libbehind")) {
			len = to - from;
			start = pos;
		}
	fclose(f);
	return len && mmap((void *)at, len, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, open(path, O_RDONLY), (long)start) == (void *)at;
}
int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
	char line[64];
	unsigned long at;
	void *lib = NULL, *p;
	pthread_t thread;
	int fd = open("/proc/self/exe", O_RDONLY);
	sigaction(SIGSEGV, &sa, NULL);
	code_find();
	for (printf("ready %lx %lx %lx\n", start, (unsigned long)own, end), fflush(stdout); fgets(line, sizeof(line), stdin);) {
		at = strtoul(line + 1, NULL, 16);
		switch (line[0]) {
		case 'm':
			p = mmap((void *)at, end - start, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, off);
			answer(p == (void *)at);
			break;
		case 'i': /* the first part of the code, and the rest of it */
		case 'j': {
			unsigned long part = (unsigned long)own - start, from = line[0] == 'j' ? part : 0;
			p = mmap((void *)(at + from), line[0] == 'j' ? end - start - part : part, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, off + from);
			answer(p == (void *)(at + from));
			break;
		}
		case 'u': answer(munmap((void *)(at + (unsigned long)own - start), end - (unsigned long)own)); break;
		case 'x': answer(mprotect((void *)start, end - start, PROT_READ | PROT_WRITE | PROT_EXEC)); break;
		case 'y': answer(mprotect((void *)start, end - start, PROT_READ | PROT_EXEC)); break;
		case 'd': answer(((long (*)(long))((unsigned long)own - start + at))(10)); break;
		case 'c': answer(((long (*)(long))(at ? (unsigned long)leaf - start + at : (unsigned long)leaf))(10)); break;
		case 'o': answer((lib = dlopen(argv[1], RTLD_NOW)) != NULL); break;
		case 'q': answer(library_move(&lib, argv[1]) && library_copy(at, argv[1])); break;
		case 'l': answer(((long (*)(long))dlsym(lib, "from_library"))(10)); break;
		case 'f': answer(loads((int *)8)); break;
		case 'g': answer(loads(&good)); break;
		case 'v':
			pthread_create(&thread, NULL, vfork_call, NULL);
			while (!waits)
				usleep(1000);
			answer(1);
			break;
		case 'w':
			waits = 0;
			answer(pthread_join(thread, NULL) == 0);
			break;
		default: answer(own(10));
		}
	}
	return 0;
}
"""
A = "100000000000"
B = "100010000000"  # one mirror serves both
SO = f"{TMP}/libbehind.so"


class Reader:
    """The messages of a dtrace, while it runs."""

    def __init__(self, tracer):
        self.tracer, self.lines = tracer, []
        self.thread = threading.Thread(target=lambda: self.lines.extend(tracer.p.stderr), daemon=True)
        self.thread.start()

    def end(self, how=signal.SIGTERM):
        self.tracer.p.send_signal(how)
        out = self.tracer.p.stdout.read()
        check("dtrace's end", self.tracer.p.wait(60 * PATIENCE), 0)
        self.thread.join(5)
        return out


def said(d, text):
    """Reads messages until one of them has the text, or for a minute; returns whether there was one."""
    lines = []

    def read():
        for line in d.p.stderr:
            if text in line:
                lines.append(line)
                return
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(60 * PATIENCE)
    return bool(lines)


def program():
    return Target(f"{TMP}/behind", SO)


def changes(t, clean, patience=30):
    """Whether the code is changed before that many seconds have passed."""
    until = time.monotonic() + patience * PATIENCE
    while time.monotonic() < until:
        if t.code(SO) != clean:
            return True
        time.sleep(0.02)
    return False


def counts(out):
    return dict(re.findall(r"(\w+) +(\d+)", out))


COUNT = "pid$target:a.out:leaf:entry,pid$target:a.out:own:entry,pid$target:a.out:loads:entry,pid$target:libbehind*:from_library:entry { @[probefunc] = count(); }"


def copies_wait():
    t = program()
    d = Tracer("auto", COUNT, t.pid, "-Z")
    r, fd = Reader(d), turn(t.pid)
    check("the copy", t.call(f"m{A}"), 1)
    clean = t.code()
    check("a copy gets jumps while another one has the turn", changes(t, clean, 1.5), False)
    check("what it computes", t.call(f"c{A}"), 34)
    os.close(fd)
    check("a copy gets jumps afterwards", changes(t, clean), True)
    for _ in range(50):  # the first ones may come before the copy's switch is on
        check("what it computes with jumps", t.call(f"c{A}"), 34)
        time.sleep(0.02)
    check("counted", 0 < int(counts(r.end()).get("leaf", 0)) <= 50, True)
    check("it ends well", t.end(), 0)


def unserved_are_counted():
    """
    Copies for which there are no mirrors left: their places are in the last message, once each, whenever the session ends: when it has said of them that no jump
    can be written there, and before. How soon it has seen all copies is the machine's matter, so sessions of several lengths are tried.
    """
    want, early = unserved(None), []
    for seconds in 1, 2, 4, 8:
        early.append(unserved(seconds))
        if early[-1][0] == want[0]:
            break
    check("unserved copies", len(want[0]) == 1 or want, True)
    check("unserved copies, when the session ends early", early[-1] == (want[0], False) or (want, early), True)


def unserved(seconds):
    """How many places a session has not probed that ends after some seconds, or, with None, when it has said that there are some; and whether it has."""
    text = "once more where no jump can be written"
    t = program()
    d = Tracer("auto", "pid$target:a.out:leaf:entry { @[probefunc] = count(); }", t.pid, "-x", "quiet=0")
    for i in range(18):
        check("a far copy", t.call(f"m{0x100000000000 + i * 0x10000000000:x}"), 1)
    if seconds:
        time.sleep(seconds)
    else:
        check("unserved copies are said", said(d, text), True)
    r = Reader(d)
    r.end()
    check("it ends well", t.end(), 0)
    return re.findall(r"(\d+) places? of process \d+ (?:was|were) not probed", "".join(r.lines)), any(text in line for line in r.lines)


def held_wait():
    t = program()
    check("the handler", t.call("f"), 1)
    d = Tracer("all", COUNT, t.pid, "-Z")
    r, fd, clean = Reader(d), turn(t.pid), t.code()
    check("the handler returns", t.call("x"), 4711)
    check("what was held back is written while another one has the turn", changes(t, clean, 1.5), False)
    check("what it computes", t.call("g"), 4711)
    os.close(fd)
    check("it is written afterwards", changes(t, clean), True)
    check("what it computes with a jump", t.call("g"), 4711)
    check("counted", counts(r.end()).get("loads"), "1")
    check("it ends well", t.end(), 0)


def libraries_wait():
    """Also who waits for the turn of a library: an interrupt ends it."""
    for is_interrupted in False, True:
        t = program()
        d = Tracer("auto", COUNT, t.pid, "-Z")
        r, fd = Reader(d), turn(t.pid)
        check("the library", t.call("o"), 1)
        clean = t.code(SO)
        check("a library gets jumps while another one has the turn", changes(t, clean, 1.5), False)
        if is_interrupted:
            r.end(signal.SIGINT)
            check("nothing is placed after an interrupt", sum(" probed in process" in m for m in r.lines), 1)
        os.close(fd)
        if not is_interrupted:
            check("a library gets jumps afterwards", changes(t, clean), True)
            until = time.monotonic() + 30 * PATIENCE
            while time.monotonic() < until and sum(" probed in process" in m for m in r.lines) < 2:
                time.sleep(0.02)
            time.sleep(0.2)
            check("what the library computes", t.call("l"), 34)
            check("counted", counts(r.end()).get("from_library"), "1")
        check("it ends well", t.end(), 0)


def busy_waits():
    """A thread does not stop for longer than that is waited for: jumps in code that comes meanwhile are written when it does, however late that is."""
    t = program()
    check("the first copy", t.call(f"m{A}"), 1)
    d = Tracer("auto", COUNT, t.pid, "-Z", "-x", "quiet=0")
    check("a thread that does not stop", t.call("v"), 1)
    clean = t.code()
    check("the second copy", t.call(f"m{B}"), 1)
    clean = t.code()
    check("it is said", said(d, "its threads cannot be stopped now; this is tried again"), True)
    check("nothing was written", t.code() == clean, True)
    r = Reader(d)
    check("the thread", t.call("w"), 1)
    check("the copy gets jumps afterwards", changes(t, clean), True)
    for _ in range(50):
        check("what it computes with jumps", t.call(f"c{B}"), 34)
        time.sleep(0.02)
    check("counted", 0 < int(counts(r.end()).get("leaf", 0)) <= 50, True)
    check("it is said in the end", any(" not probed, or not all the time" in m for m in r.lines) or r.lines, True)
    check("it ends well", t.end(), 0)


def moves_while_busy():
    """A library comes back at another address, and its code once more far away, while a thread does not stop: its jumps go to where it is now."""
    t = program()
    d = Tracer("auto", "pid$target:libbehind*:from_library:entry { @[probefunc] = count(); }", t.pid, "-Z", "-x", "quiet=0")
    check("the library", t.call("o"), 1)
    until = time.monotonic() + 30 * PATIENCE
    with open(SO, "rb") as f:
        file = f.read()
    while time.monotonic() < until and not library_differs(t, file):
        time.sleep(0.02)
    check("it has jumps", library_differs(t, file), True)
    check("a thread that does not stop", t.call("v"), 1)
    check("it comes elsewhere, and once more", t.call(f"q{A}"), 1)
    check("it is said", said(d, "its threads cannot be stopped now; this is tried again"), True)
    r = Reader(d)
    check("the thread", t.call("w"), 1)
    while time.monotonic() < until + 60 * PATIENCE and not library_differs(t, file):
        time.sleep(0.02)
    check("it has jumps where it is now", library_differs(t, file), True)
    for _ in range(20):
        check("what it computes", t.call("l"), 34)
    check("counted", counts(r.end()).get("from_library"), "20")
    check("it ends well", t.end(), 0)


def library_differs(t, file):
    """Whether the library's code differs from its file where the dynamic linker has mapped it: the first mapping but the far one."""
    for words in (line.split() for line in t.maps()):
        if "x" in words[1] and words[-1] == SO and int(words[0].split("-")[0], 16) != int(A, 16):
            start, end = (int(x, 16) for x in words[0].split("-"))
            off = int(words[2], 16)
            return memory(t, start, end - start)[:len(file) - off] != file[off:off + end - start]
    return False


def memory(t, at, size):
    with open(f"/proc/{t.pid}/mem", "rb") as mem:
        mem.seek(at)
        return mem.read(size)


def jumps_come(t, at, clean):
    until = time.monotonic() + 30 * PATIENCE
    while time.monotonic() < until and memory(t, at, len(clean)) == clean:
        time.sleep(0.02)
    return memory(t, at, len(clean)) != clean


def bounds_change():
    """A copy grows, and a part of it goes, and comes again: what is there is probed."""
    t = program()
    start, part, end = (int(x, 16) for x in t.greeting.split()[1:])
    first, rest = memory(t, start, part - start), memory(t, part, end - part)
    d = Tracer("auto", "pid$target:a.out:leaf:entry,pid$target:a.out:own:entry { @[probefunc] = count(); printf(\"<%s>\\n\", probefunc); }", t.pid, "-Z", "-x", "switchrate=50ms")
    at, lines, calls = int(A, 16), [], {"leaf": 0, "own": 0}
    reader = threading.Thread(target=lambda: lines.extend(d.p.stdout), daemon=True)
    reader.start()
    for step, has_rest in ("i", False), ("j", True), ("u", False), ("j", True):
        check(f"{step}: the mapping", t.call(f"{step}{A}"), 0 if step == "u" else 1)
        check(f"{step}: the first part gets jumps", jumps_come(t, at, first), True)
        check(f"{step}: the rest gets jumps", has_rest and jumps_come(t, at + part - start, rest), has_rest)
        for which, name, want in (("c", "leaf", 34), ("d", "own", 61))[:1 + has_rest]:
            seen, until = lines.count(f"<{name}>\n"), time.monotonic() + 60 * PATIENCE
            while lines.count(f"<{name}>\n") == seen and time.monotonic() < until:  # its switch is turned on after the last jump
                check(f"{step}: what it computes", t.call(f"{which}{A}"), want)
                calls[name] += 1
                time.sleep(0.02)
            check(f"{step}: {name}() fires", lines.count(f"<{name}>\n") > seen, True)
    d.p.terminate()
    reader.join(60 * PATIENCE)
    check("dtrace's end", d.p.wait(60 * PATIENCE), 0)
    got = counts("".join(lines))
    check("counted, never more than it was called", [0 < int(got.get(name, 0)) <= calls[name] for name in calls], [True, True])
    check("the file's bytes again", [memory(t, at, len(first)) == first, memory(t, at + part - start, len(rest)) == rest], [True, True])
    check("it ends well", t.end(), 0)


def writable_said():
    """The process makes its code writable: that is said, its jumps fire as long as they stand, and a copy is probed even so."""
    t = program()
    clean = t.code()
    d = Tracer("auto", COUNT, t.pid, "-Z", "-x", "quiet=0")
    check("writable code", t.call("x"), 0)
    check("it is said", said(d, "has mapped code of 'behind' writable or shared"), True)
    check("what it computes", [t.call("c0") for _ in range(10)], [34] * 10)
    start, part, end = (int(x, 16) for x in t.greeting.split()[1:])
    check("a copy", t.call(f"m{A}"), 1)
    check("it gets jumps", jumps_come(t, int(A, 16), clean[0][:part - start]), True)
    check("as it was", t.call("y"), 0)
    check("what it computes then", [t.call("c0") for _ in range(10)], [34] * 10)
    check("counted", counts(Reader(d).end()).get("leaf"), "20")
    check("the file's bytes again", memory(t, start, end - start) == clean[0], True)
    check("it ends well", t.end(), 0)


for name, text, flags in ("libbehind.so", LIBRARY, ["-shared", "-fPIC"]), ("behind", PROGRAM, ["-ldl", "-pthread"]):
    with open(f"{TMP}/{name}.c", "w") as f:
        f.write(text)
    subprocess.run([CC, "-O1", "-o", f"{TMP}/{name}", f"{TMP}/{name}.c", *flags], check=True)
copies_wait()
bounds_change()
writable_said()
busy_waits()
moves_while_busy()
unserved_are_counted()
held_wait()
libraries_wait()
sys.exit(report())
