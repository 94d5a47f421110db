# SPDX-License-Identifier: MIT
"""A child of a traced process (-x inproc=all), which has given up its privileges, and then does harm to all that it has of the probes.

It makes memory writable, writes to it through its mem file, maps it once more, larger, and by the links of map_files, and asks its own child to hold it
by ptrace(2). In one run it writes to what is not the data only: then the parent's counts are right. In the other one it writes to the data, too, which it
shares with its parent: then they may be wrong. In both the parent's calls give what they must, the code of its probes stays as it is, and dtrace ends
by itself, and takes all jumps back.
"""
import os, re, subprocess, sys

sys.path.insert(0, os.path.dirname(__file__))
from tracing import PATIENCE, Target, Tracer, bad, check, report

TMP, CC = os.environ["TMP"], os.environ.get("CC", "cc")
FILE = f"{TMP}/kin"
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long total;
__attribute__((noinline, noipa)) long work(long a, long b)
{
	total += a; /* too short for a jump without it */
	return total - total + a + b;
}
static struct area { unsigned long lo, hi; int exec, write, shared; } areas[64];
static int nareas;
/* All mappings without a file of which one is executable or shared: the region, whatever it consists of. */
static void areas_find(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512], perms[8], path[256];

	while (f && fgets(line, sizeof(line), f) && nareas < 64) {
		struct area a = {0};

		path[0] = 0;
		if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %255s", &a.lo, &a.hi, perms, path) < 3)
			continue;
		a.exec = perms[2] == 'x', a.write = perms[1] == 'w', a.shared = perms[3] == 's';
		if ((!path[0] && a.exec) || strcmp(path, "/dev/zero") == 0 || strcmp(path, "/memfd:fathom-relays") == 0)
			areas[nareas++] = a;
	}
	if (f)
		fclose(f);
}
static unsigned long sum(void)
{
	unsigned long n = 0;

	nareas = 0;
	areas_find();
	for (int i = 0; i < nareas; i++)
		for (unsigned long at = areas[i].lo; areas[i].exec && at < areas[i].hi; at += 8)
			n = n * 31 + *(unsigned long *)at;
	return n;
}
static sigjmp_buf back;
static void faulted(int sig)
{
	siglongjmp(back, sig);
}
static int nwritten, nways;
/* Breakpoints, over all of it. */
static void bytes_write(void *p, unsigned long size)
{
	nways++;
	if (sigsetjmp(back, 1))
		return;
	memset(p, 0xcc, size);
	nwritten++;
}
static void area_harm(const struct area *a)
{
	unsigned long size = a->hi - a->lo;
	static unsigned char traps[4096];
	char path[96];
	pid_t holder;
	void *p;
	int fd;

	memset(traps, 0xcc, sizeof(traps));
	/* once more, which only shared memory can be; larger than it was */
	p = mremap((void *)a->lo, 0, 2 * size, MREMAP_MAYMOVE);
	if (p != MAP_FAILED && mprotect(p, 2 * size, PROT_READ | PROT_WRITE | PROT_EXEC) == 0) {
		bytes_write(p, size);
		bytes_write((char *)p + size, size);
	}
	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", a->lo, a->hi);
	fd = open(path, O_RDWR);
	if (fd >= 0 && ftruncate(fd, 0) == 0)
		nwritten++;
	fd = open("/proc/self/mem", O_RDWR);
	for (unsigned long at = a->lo; fd >= 0 && at < a->hi; at += 4096)
		nwritten += pwrite(fd, traps, sizeof(traps), (off_t)at) > 0;
	close(fd);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	holder = fork();
	if (!holder) {
		if (ptrace(PTRACE_SEIZE, getppid(), 0, 0) || ptrace(PTRACE_INTERRUPT, getppid(), 0, 0) || waitpid(getppid(), NULL, __WALL) < 0)
			_exit(1);
		for (unsigned long at = a->lo; at < a->hi && at < a->lo + 65536; at += 8)
			(void)ptrace(PTRACE_POKEDATA, getppid(), at, 0xccccccccccccccccul);
		_exit(0);
	}
	(void)waitpid(holder, NULL, 0);
	if (mprotect((void *)a->lo, size, PROT_READ | PROT_WRITE) == 0)
		bytes_write((void *)a->lo, size);
}
static void child_run(int with_data)
{
	signal(SIGSEGV, faulted);
	signal(SIGBUS, faulted);
	if (setgroups(0, NULL) || setgid(65534) || setuid(65534) || prctl(PR_SET_DUMPABLE, 1))
		_exit(3);
	for (int i = 0; i < nareas; i++)
		if (with_data || !areas[i].shared || !areas[i].write)
			area_harm(&areas[i]);
	printf("ways %d written %d\n", nways, nwritten);
	fflush(stdout);
	_exit(0);
}
int main(void)
{
	char line[64];
	long n = 0;

	prctl(PR_SET_DUMPABLE, 1);
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (strncmp(line, "work", 4) == 0) {
			for (int i = 0; i < 100000; i++, n++)
				if (work(n, 2) != n + 2)
					_exit(9);
			printf("%ld\n", n);
		} else {
			unsigned long before = sum();
			pid_t child = fork();
			int status;

			if (!child)
				child_run(line[0] == 'd');
			if (waitpid(child, &status, 0) != child || status)
				_exit(8);
			printf("%d\n", sum() == before && nareas > 1);
		}
		fflush(stdout);
	}
	return 0;
}
"""
SCRIPT = """pid$target:a.out:work:entry { @c = count(); @k[arg1] = count(); self->s = arg1; }
pid$target:a.out:work:return /self->s == 2/ { @r[probefunc] = count(); self->s = 0; }
pid$target:a.out:work:entry /arg0 % 50000 == 7/ { printf("<%d>\\n", arg0); }
END { printa("count %@d\\n", @c); printa("key %d %@d\\n", @k); printa("return %s %@d\\n", @r); }"""

# of each thousand calls one is handed to the kernel, through the slots of relays
RELAYED = """pid$target:a.out:work:entry /arg0 % 1000 == 7/ { @[ustack(1)] = count(); } END { printa("relayed %@d\\n", @); }"""


def relays():
    t = Target(FILE)
    try:
        tracer = Tracer("all", RELAYED, t.pid)
        t.call("work")
        print("# relays:", *t.ask("code"))
        check("relays: the code of the parent is as it was", t.answer(), ["1"])
        check("relays: calls", t.call("work"), 200000)
        out, _ = tracer.end()
        check("relays: the place is one", tracer.places[0][1][2], 1)
        check("relays: what dtrace has counted", re.findall(r"relayed \d+", out), ["relayed 200"])
    except (ValueError, OSError) as e:
        bad.append(f"relays: {e}: the process has ended with {t.p.poll()}")
    check("relays: the end of the process", t.end(), 0)


def run(how):
    t = Target(FILE)
    try:
        before = t.code()
        tracer = Tracer("all", SCRIPT, t.pid)
        check(f"{how}: jumps are there", t.code() != before, True)
        t.call("work")
        harm = t.ask(how)
        print(f"# {how}: {' '.join(harm)}")
        if harm[:1] != ["ways"] or int(harm[1]) < 1:
            bad.append(f"{how}: the child has found nothing to write to: {harm}")
        check(f"{how}: the code of the parent is as it was", t.answer(), ["1"])
        n = t.call("work")
        check(f"{how}: calls", n, 200000)
        out, places = tracer.end()
        check(f"{how}: places", places, (2, 0))
        if how == "code":
            got = dict(line.rsplit(" ", 1) for line in out.splitlines() if line.startswith(("count", "key", "return")))
            check("code: what dtrace has counted", got, {"count": str(n), "key 2": str(n), "return work": str(n)})
            check("code: records", len(re.findall(r"<\d+>", out)), 4)
        check(f"{how}: the end of dtrace", tracer.p.returncode, 0)
        check(f"{how}: jumps are taken back", t.code() == before, True)
    except (ValueError, OSError) as e:
        bad.append(f"{how}: {e}: the process has ended with {t.p.poll()}")
    check(f"{how}: the end of the process", t.end(), 0)


with open(f"{FILE}.c", "w") as f:
    f.write(PROGRAM)
subprocess.run([CC, "-O1", f"{FILE}.c", "-o", FILE], check=True)
for how in ("code", "data"):
    run(how)
relays()
sys.exit(report())
