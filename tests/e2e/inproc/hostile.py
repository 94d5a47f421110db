# SPDX-License-Identifier: MIT
"""A process that does harm to the memory that it shares with dtrace (-x inproc=all), while probes fire.

It finds the region in its own mappings, and then: writes random bytes over the data all the time; over one part of it, so that its own code runs on;
over the code and the table of windows; cuts the file of the region off; unmaps the data; unmaps all; has a second process that shares its memory, and
that nothing holds, overwrite the few bytes with which the tracer makes it call the kernel, while dtraces come.

What becomes of such a process is its own affair. dtrace must end in time, when it is asked to, with a status of its own, and without a record that is none.
"""
import os, random, re, signal, subprocess, sys, threading, time

DTRACE, TMP, CC = os.environ["DTRACE"], os.environ["TMP"], os.environ.get("CC", "cc")
PATIENCE = int(os.environ.get("PATIENCE", 1))
FILE = f"{TMP}/hostile"
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
static unsigned long head, head_end, code, code_end, data, data_end, state;
static volatile long total;
__attribute__((noinline, noipa)) long work(long a, long b)
{
	total += a; /* too short for a jump without it */
	return total - total + a + b;
}
static unsigned long number(void)
{
	state ^= state << 13, state ^= state >> 7, state ^= state << 17;
	return state;
}
static void region_find(void)
{
	char line[512];

	while (!data) {
		FILE *f = fopen("/proc/self/maps", "re");
		unsigned long lo, hi;

		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "%lx-%lx", &lo, &hi) == 2) {
				if (strstr(line, "/dev/zero") && strstr(line, "r--s"))
					head = lo, head_end = hi;
				else if (strstr(line, "/dev/zero") && strstr(line, "rw-s"))
					data = lo, data_end = hi;
				else if (strstr(line, "r-xp") && lo == head_end)
					code = lo, code_end = hi;
			}
		if (f)
			fclose(f);
		usleep(1000);
	}
}
static void bytes_write(unsigned long from, unsigned long size, int n)
{
	for (int i = 0; i < n; i++)
		*(volatile unsigned char *)(from + number() % size) = number();
}
/* Until the other side has had enough: behind the end of dtrace the memory is gone. */
static int goes_on(void)
{
	struct pollfd p = {.fd = 0, .events = POLLIN};

	usleep(200);
	return poll(&p, 1, 0) == 0;
}
static void *harm(void *arg)
{
	const char *how = arg;
	char path[96];
	int fd;

	region_find();
	if (getchar() != '\n') /* windows are in place, and fire */
		return arg;
	while (strcmp(how, "data") == 0 && goes_on())
		bytes_write(data, data_end - data, 1000);
	while (strcmp(how, "head") == 0 && goes_on())
		bytes_write(data, 8192, 5);
	while (strcmp(how, "records") == 0 && goes_on()) /* but for the head */
		bytes_write(data + 8192, data_end - data - 8192, 5000);
	if (strchr("dhr", *how)) {
		puts("over");
		fflush(stdout);
	}
	if (strcmp(how, "code") == 0) {
		mprotect((void *)head, head_end - head, PROT_READ | PROT_WRITE);
		mprotect((void *)code, code_end - code, PROT_READ | PROT_WRITE | PROT_EXEC);
		bytes_write(head, head_end - head, 100000);
		bytes_write(code, code_end - code, 100000);
	}
	if (strcmp(how, "cut") == 0) {
		snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", head, head_end);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0 || ftruncate(fd, 4096))
			_exit(3);
	}
	if (strcmp(how, "unmap-data") == 0)
		munmap((void *)data, data_end - data);
	if (strcmp(how, "unmap") == 0) {
		munmap((void *)head, head_end - head);
		munmap((void *)code, code_end - code + 5 * 4096);
		munmap((void *)data, data_end - data);
	}
	return arg;
}
/* The unused ends of pages of code: bytes of zeros there may be the tracer's at any time. */
static int sibling(void *arg)
{
	unsigned long lo, hi, ends[64];
	char line[512], byte;
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC), n = 0;
	FILE *f = fopen("/proc/self/maps", "re");

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (f && fgets(line, sizeof(line), f) && n < 64)
		if (strstr(line, "r-xp") && sscanf(line, "%lx-%lx", &lo, &hi) == 2)
			ends[n++] = hi - 32;
	for (;;)
		for (int i = 0; i < n; i++) {
			byte = number();
			if (pread(fd, &byte, 1, ends[i]) == 1 && byte) {
				byte = number();
				(void)!pwrite(fd, &byte, 1, ends[i] + number() % 16);
			}
		}
	return 0;
}
int main(int argc, char **argv)
{
	static char stack[1 << 20];
	pthread_t t;

	state = strtoul(argv[2], NULL, 10) * 2 + 1;
	setrlimit(RLIMIT_CORE, &(struct rlimit){0});
	if (strcmp(argv[1], "lies") == 0)
		clone(sibling, stack + sizeof(stack) - 64, CLONE_VM | SIGCHLD, NULL);
	else
		pthread_create(&t, NULL, harm, argv[1]);
	printf("ready\n");
	fflush(stdout);
	for (long i = 0;; i++) {
		if (work(i, 2) != i + 2)
			_exit(9);
		if (i % 64 == 63)
			usleep(300);
	}
}
"""
SCRIPT = """self int s; pid$target:a.out:work:entry { @c = count(); @q[arg1] = quantize(arg0); self->s = arg1; printf("<%d %d>", arg0, arg1); }
pid$target:a.out:work:return /self->s == 2/ { @r[probefunc] = count(); self->s = 0; }"""
bad = []


class Reader:
    """Reads what a process writes. first: the first 4 KB of it."""

    def __init__(self, file):
        self.file, self.parts, self.first = file, [], ""
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while part := os.read(self.file.fileno(), 65536):
            self.parts.append(part)
            if len(self.first) < 4096:
                self.first += part.decode(errors="replace")

    def end(self):
        self.thread.join(60 * PATIENCE)
        return b"".join(self.parts).decode(errors="replace")


def session(how, seed, seconds):
    """The program does harm when a first record was read, for some seconds; with lies, from the start."""
    t = subprocess.Popen([FILE, how, str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if t.stdout.readline() != "ready\n":
        bad.append(f"{how}: the program does not start")
        return
    begin = time.monotonic()
    d = subprocess.Popen([DTRACE, "-q", "-x", "inproc=all", "-x", "bufsize=256k", "-x", "switchrate=50ms", "-p", str(t.pid), "-n",
                          SCRIPT + (f" tick-{seconds}s {{ exit(0); }}" if how == "lies" else "")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    texts = Reader(d.stdout), Reader(d.stderr)
    if how != "lies":
        until = time.monotonic() + 60 * PATIENCE
        while not re.search(r"<\d+ 2>", texts[0].first) and d.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        t.stdin.write("\n")
        t.stdin.flush()
        time.sleep(seconds)
        if how in ("data", "head", "records"):
            t.stdin.write("\n")
            t.stdin.flush()
            t.stdout.readline()
        d.send_signal(signal.SIGINT)
    try:
        d.wait(60 * PATIENCE)
    except subprocess.TimeoutExpired:
        d.kill()
        d.wait()
        bad.append(f"{how}: dtrace does not end: {texts[1].end()[-300:]}")
    out, err = (text.end() for text in texts)
    took = time.monotonic() - begin
    if d.returncode not in (0, 1):
        bad.append(f"{how}: dtrace has ended with {d.returncode}: {err[-500:]}")
    if d.returncode == 1 and not err.strip():
        bad.append(f"{how}: an error without a message")
    if how not in ("lies",) and not re.search(r"<\d+ 2>", out):
        bad.append(f"{how}: nothing was recorded before: {out[:100]} {err[-300:]}")
    t.poll()
    if how in ("data", "head", "records") and t.returncode is not None:
        bad.append(f"{how}: bytes of the data have led the program astray: it has ended with {t.returncode}")
    print(f"# {how}: {took:.1f} s, dtrace {d.returncode}, the program {t.returncode}, {len(re.findall('<', out))} records: "
          f"{err.strip().splitlines()[-1:]}", file=sys.stderr)
    t.kill()
    t.wait()


with open(f"{FILE}.c", "w") as f:
    f.write(PROGRAM)
subprocess.run([CC, "-O1", "-pthread", f"{FILE}.c", "-o", FILE], check=True)
seed = int(os.environ.get("HOSTILE_SEED", random.randrange(1 << 30)))
for how in ("data", "head", "records", "code", "cut", "unmap-data", "unmap", "lies", "lies", "lies"):
    session(how, seed, 1 if how == "lies" else 2)
    seed += 1
if bad:
    print(f"seed {seed}:", *bad, sep="\n")
sys.exit(bool(bad))
