# SPDX-License-Identifier: MIT
"""A process with a thread that maps a file, which it may only read, over its region as soon as that is mapped (head or data), or puts the descriptor of
one in the place of that of its relays (-x inproc).

dtrace may write to that file, and must not: it has all of its bytes and its size after each session, and the probe fires all the same. A thread that comes too
late does no harm; so there are several sessions, until one was in time.
"""
import os, subprocess, sys

DTRACE, TMP, CC = os.environ["DTRACE"], os.environ["TMP"], os.environ.get("CC", "cc")
PATIENCE = int(os.environ.get("PATIENCE", 1))
FILE, VICTIM = f"{TMP}/swapped", f"{TMP}/victim"
SESSIONS = 12
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static const char *how;
static int file;
static volatile long total;
__attribute__((noinline, noipa)) long work(long a, long b)
{
	total += a;
	return total - total + a + b;
}
static void *thread_map(void *arg)
{
	const char *kind = strcmp(how, "head") == 0 ? " r--s 00000000 00:01 " : " rw-s 00000000 00:01 ";
	static char text[1 << 16];
	int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	for (;;) {
		ssize_t n = pread(maps, text, sizeof(text) - 1, 0);
		unsigned long from, to;
		char *at;

		text[n < 0 ? 0 : n] = 0;
		at = strstr(text, kind);
		while (at && at > text && at[-1] != '\n')
			at--;
		if (at && sscanf(at, "%lx-%lx", &from, &to) == 2) {
			mmap((void *)from, to - from, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0);
			return arg;
		}
	}
}
static void *thread_dup(void *arg)
{
	while (fcntl(file + 1, F_GETFD) < 0)
		;
	dup2(file, file + 1);
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t;

	how = argv[1];
	file = open(argv[2], O_RDONLY);
	if (file < 0)
		return 3;
	if (strcmp(how, "relays") == 0)
		pthread_create(&t, NULL, thread_dup, NULL);
	else
		pthread_create(&t, NULL, thread_map, NULL);
	printf("ready\n");
	fflush(stdout);
	for (long i = 0;; i++) {
		work(i, 2);
		usleep(300);
	}
}
"""
bad = []


def session(how):
    """Whether the thread was in time, which dtrace says."""
    key = "ustack(2)" if how == "relays" else "probefunc"
    t = subprocess.Popen([FILE, how, VICTIM], stdout=subprocess.PIPE, text=True)
    if t.stdout.readline() != "ready\n":
        bad.append(f"{how}: the program does not start")
    d = subprocess.run([DTRACE, "-q", "-v", "-x", "inproc=auto", "-p", str(t.pid), "-n",
                        f"pid$target:a.out:work:entry {{ @[{key}] = count(); @n = count(); }} tick-300ms {{ printa(\"fired %@d\\n\", @n); exit(0); }}"],
                       capture_output=True, text=True, errors="replace", timeout=60 * PATIENCE)
    t.kill()
    t.wait()
    with open(VICTIM, "rb") as f:
        if f.read() != BYTES:
            bad.append(f"{how}: dtrace has changed the file")
            os.unlink(VICTIM)
            victim_make()
    is_refused = "the process has put another file in its place" in d.stderr
    # a head or data that was replaced later is the process's own affair
    if d.returncode or is_refused and "fired " not in d.stdout:
        bad.append(f"{how}: dtrace has ended with {d.returncode}: {d.stdout[-200:]} {d.stderr[-500:]}")
    return is_refused


def victim_make():
    with open(VICTIM, "wb") as f:
        f.write(BYTES)
    os.chmod(VICTIM, 0o444)


BYTES = b"A" * (16 << 20)
victim_make()
with open(f"{FILE}.c", "w") as f:
    f.write(PROGRAM)
subprocess.run([CC, "-O1", "-w", "-pthread", f"{FILE}.c", "-o", FILE], check=True)
for how in ("head", "data", "relays"):
    n = 1
    while not bad and not session(how) and n < SESSIONS:
        n += 1
    print(f"# {how}: {n} sessions", file=sys.stderr)
if bad:
    print(*bad, sep="\n")
sys.exit(bool(bad))
