# SPDX-License-Identifier: MIT
"""A program, at 0x55..., and its libraries, at 0x7f..., in one script: no region is near both, so the program's stubs are in a mirror of it.

A function of the program notes what it was asked for, and probes of malloc() in the C library, which fire many times elsewhere, read that note.
"""
import os, resource, signal, subprocess, sys, time

from tracing import PATIENCE, Target, Tracer, check, lines_of, report

TMP, CC = os.environ["TMP"], os.environ.get("CC", "cc")
THREADS = 3
PLACE, SIZE = 0x200000000000, 1 << 16  # where a library is linked to be: far from the program, and from the other libraries
MAIN = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define OWN __attribute__((noinline, noclone, noipa))
OWN void *work(size_t n)
{
	void *p = malloc(n);

	__asm__ volatile("" ::: "memory");
	return p;
}
OWN void calls(long n)
{
	for (long i = 0; i < n; i++) {
		free(work(100 + (size_t)(i & 1)));
		free(malloc(7)); /* nobody's */
	}
}
static void *in_thread(void *arg)
{
	calls((long)arg);
	return NULL;
}
int main(int argc, char **argv)
{
	char line[64];

	setvbuf(stdout, NULL, _IONBF, 0);
	for (puts("0"); fgets(line, sizeof(line), stdin); puts("0")) {
		long n = atol(line + 1);
		void *lib = line[0] == 'l' ? dlopen(argv[1], RTLD_NOW) : NULL;
		pthread_t t[3];

		if (lib) {
			usleep(1500000); /* its probes are placed */
			for (long i = 0; i < n; i++)
				((void (*)(void))dlsym(lib, "late"))();
			printf("%d ", (unsigned long)dlsym(lib, "late") - PLACE < SIZE);
			dlclose(lib);
		} else if (line[0] == 'b') { /* the library will be elsewhere */
			if (mmap((void *)PLACE, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != (void *)PLACE)
				return 9;
		} else if (line[0] == 'u') {
			munmap((void *)PLACE, SIZE);
		} else if (line[0] == 'f') {
			pid_t pid = fork();

			if (!pid) {
				calls(n);
				_exit(0);
			}
			waitpid(pid, NULL, 0);
		} else if (line[0] == 't') {
			for (int i = 0; i < 3; i++)
				pthread_create(&t[i], NULL, in_thread, (void *)n);
			for (int i = 0; i < 3; i++)
				pthread_join(t[i], NULL);
		} else {
			calls(n);
		}
	}
	return argc < 2;
}
"""
LATE = "volatile int n; void late(void) { n++; n++; n++; }"
SCRIPT = """
pid$target:a.out:work:entry { self->n = arg0; @works = count(); }
pid$target:libc.so.6:malloc:entry /self->n/ { @asked[self->n] = sum(arg0); self->in = 1; }
pid$target:libc.so.6:malloc:return /self->in/ { self->in = 0; @there = sum(arg1 != 0); }
pid$target:a.out:work:return { @back[self->n] = count(); self->n = 0; }
"""


def wanted(n):
    """What the script prints of n calls, which is even."""
    return sorted([str(n), str(n), f"100 {n // 2 * 100}", f"101 {n // 2 * 101}", f"100 {n // 2}", f"101 {n // 2}"])


def target():
    return Target(f"{TMP}/apart", f"{TMP}/liblate.so")


def share_check():
    """The same numbers as of uprobes, wherever the stubs are; children that nobody follows count nothing."""
    t = target()
    before = t.code()
    for mode, places in ("off", None), ("auto", (6, 0, 0)), ("all", (6, 0, 0)):
        tracer = Tracer(mode, SCRIPT, t.pid)
        for what in "c100", "t1000", "f50", "c10":
            check(f"{mode}: {what}", t.call(what), 0)
        check(f"{mode}: what fires", lines_of(tracer.end()[0]), wanted(110 + THREADS * 1000))
        if places:
            check(f"{mode}: places", tracer.places and tracer.places[0][1], places)
        check(f"{mode}: it is as before", t.code() == before, True)
    check("it ends well", t.end(), 0)


def end_check():
    """dtrace is killed: the keeper takes all back. So does the next dtrace where the keeper was killed, too."""
    t = target()
    before = t.code()
    tracer = Tracer("auto", SCRIPT, t.pid)
    tracer.p.kill()
    tracer.p.wait()
    until = time.monotonic() + 30 * PATIENCE
    while t.code() != before and time.monotonic() < until:
        time.sleep(0.05)
    check("the keeper has taken all back", t.code() == before, True)
    check("it goes on", t.call("t100"), 0)
    tracer = Tracer("auto", SCRIPT, t.pid)
    with open(f"/proc/{tracer.p.pid}/task/{tracer.p.pid}/children") as f:
        keepers = [int(x) for x in f.read().split()]
    tracer.p.send_signal(signal.SIGSTOP)
    for pid in keepers:
        os.kill(pid, signal.SIGKILL)
    tracer.p.kill()
    tracer.p.wait()
    check("jumps stay", t.code() != before, True)
    check("and are harmless", [t.call("t100"), t.call("f100")], [0, 0])
    tracer = Tracer("auto", SCRIPT, t.pid)
    check("it is called", t.call("c20"), 0)
    check("what fires", lines_of(tracer.end()[0]), wanted(20))
    check("the next one has taken all back", t.code() == before, True)
    check("it ends well", t.end(), 0)


def size_of(t):
    """Bytes of address space."""
    with open(f"/proc/{t.pid}/statm") as f:
        return int(f.read().split()[0]) * resource.getpagesize()


def room_check():
    """The process may not map as much as a mirror needs: the places of one part are uprobes."""
    t = target()
    before = size_of(t)
    tracer = Tracer("auto", SCRIPT, t.pid)
    both = size_of(t) - before  # the region and its mirror
    tracer.end()
    check("room: it ends well", t.end(), 0)
    t = target()
    resource.prlimit(t.pid, resource.RLIMIT_AS, (size_of(t) + both * 3 // 4,) * 2)
    tracer = Tracer("auto", SCRIPT, t.pid)
    check("no room: it is called", t.call("c100"), 0)
    check("no room: what fires", lines_of(tracer.end()[0]), wanted(100))
    check("no room: the reason", "too far from the others" in tracer.err or tracer.err, True)
    check("no room: it ends well", t.end(), 0)


def follow_check():
    """Children that are followed have data of their own in the region alone: the places of one part are uprobes, and with them all that share a variable."""
    t = target()
    tracer = Tracer("auto", SCRIPT, t.pid, "-x", "follow=fork")
    check("followed: it is called", [t.call("c100"), t.call("f50")], [0, 0])
    check("followed: what fires", lines_of(tracer.end()[0]), wanted(150))
    check("followed: the reason", "too far from the others" in tracer.err or tracer.err, True)
    check("followed: it ends well", t.end(), 0)


def late_check():
    """A library comes, goes, and comes again, while the region is near the program: far from all, near the C library, and far once more."""
    t = target()
    tracer = Tracer("auto", "pid$target:a.out:work:entry, pid$target:liblate.so:late:entry { @[probefunc] = count(); }", t.pid, "-Z")
    for what in "c100", "l30", "b", "c10", "l12", "u", "l8":
        check(f"late: {what}", t.ask(what), {"l30": ["1", "0"], "l12": ["0", "0"], "l8": ["1", "0"]}.get(what, ["0"]))
    check("late: what fires", lines_of(tracer.end()[0]), ["late 50", "work 110"])
    check("late: nothing was left out", "left out" in tracer.err, False)
    check("late: places", [counts for _, counts in tracer.places], [(1, 0, 0), (1, 0, 0)])
    check("late: it ends well", t.end(), 0)


for name, text in (("main.c", MAIN), ("late.c", LATE)):
    with open(f"{TMP}/{name}", "w") as f:
        f.write(text)
subprocess.run([CC, "-O1", "-fno-builtin", f"-DPLACE={PLACE}L", f"-DSIZE={SIZE}L", "-pie", "-fPIE", "-pthread", "-o", f"{TMP}/apart", f"{TMP}/main.c", "-ldl"], check=True)
subprocess.run([CC, "-O1", "-shared", "-fPIC", f"-Wl,-Ttext-segment={PLACE:#x}", "-o", f"{TMP}/liblate.so", f"{TMP}/late.c"], check=True)
share_check()
end_check()
room_check()
follow_check()
late_check()
sys.exit(report())
