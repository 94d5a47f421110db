# SPDX-License-Identifier: MIT
"""Children with -x inproc and -x follow=fork, which are traced in the process as their parent is.

Each row runs with uprobes and with jumps, and what is counted and recorded is the same: in parents, children and grandchildren, from the first call right after
fork(), of children that end at once, execute a program, have children by vfork(), or end by a signal. With jumps, dtrace says how many children had them. A child that
gives up its privileges writes over all memory that it shares with anybody: its parent's numbers stay. When dtrace is killed, and when it or its keeper ends, no child has a jump left.
"""
import os, re, signal, subprocess, sys, time

import tracing
from tracing import PATIENCE, bad, check, lines_of, report

TMP, CC = os.environ["TMP"], os.environ.get("CC", "cc")
FILE = f"{TMP}/follow"
PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define OWN __attribute__((noinline, noclone, noipa))
static volatile long kept;
OWN long work(long n)
{
	kept += n; /* too short for a jump without it */
	return n + 1;
}
OWN pid_t forks(void) /* a child returns from it, too */
{
	pid_t pid = fork();

	kept += pid;
	return pid;
}
static void calls(long n)
{
	for (long i = 0; i < n; i++)
		if (work(i) != i + 1)
			_exit(9);
}
static int status(pid_t pid)
{
	int s = 0;

	waitpid(pid, &s, 0);
	return WIFEXITED(s) ? WEXITSTATUS(s) : 64 + WTERMSIG(s);
}
static sigjmp_buf back;
static int nwritten;
static void faulted(int sig)
{
	siglongjmp(back, sig);
}
static void bytes_write(unsigned char *p, unsigned long size)
{
	for (unsigned long i = 0; i < size; i += 4096)
		if (!sigsetjmp(back, 1)) {
			memset(p + i, 0x77, 4096);
			nwritten++;
		}
}
/* Writes over all memory that is shared with anybody, and over what such memory becomes when it grows. */
static void harm(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512], perms[8];
	struct { unsigned long lo, hi; int own; } list[64];
	int n = 0;

	signal(SIGSEGV, faulted);
	signal(SIGBUS, faulted);
	while (f && fgets(line, sizeof(line), f) && n < 64)
		if (sscanf(line, "%lx-%lx %7s", &list[n].lo, &list[n].hi, perms) == 3 && perms[3] == 's')
			list[n++].own = perms[1] == 'w';
	if (setgid(65534) || setuid(65534))
		_exit(3);
	for (int i = 0; i < n; i++) {
		unsigned long size = list[i].hi - list[i].lo, many = size + (64ul << 20);
		void *p = mremap((void *)list[i].lo, 0, many, MREMAP_MAYMOVE);

		if (p != MAP_FAILED && mprotect(p, many, PROT_READ | PROT_WRITE) == 0)
			bytes_write(p, many);
		if (mprotect((void *)list[i].lo, size, PROT_READ | PROT_WRITE) == 0)
			bytes_write((void *)list[i].lo, size);
	}
	_exit(n && nwritten < 2 ? 4 : 0);
}
static void *lib;
static long (*inlib)(long n);
static void lib_open(void)
{
	if (lib)
		dlclose(lib);
	lib = dlopen(getenv("LIB"), RTLD_NOW);
	inlib = lib ? (long (*)(long))dlsym(lib, "inlib") : NULL;
	if (!inlib)
		_exit(5);
}
/* A child of this depth: each process makes three calls. */
static int tree(int depth)
{
	int result = 0;

	calls(3);
	for (int i = 0; i < 2 && depth; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(tree(depth - 1));
		result |= status(pid);
	}
	return result;
}
int main(int argc, char **argv)
{
	char line[64];
	long n, k;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1) {
		calls(atol(argv[1]));
		return 0;
	}
	lib_open();
	puts("0");
	while (fgets(line, sizeof(line), stdin)) {
		int result = 0;

		n = strtol(line + 1, NULL, 10);
		k = strchr(line, ',') ? atol(strchr(line, ',') + 1) : 1;
		switch (line[0]) {
		case 'c': calls(n); break;
		case 't': result = tree((int)n); break;
		case 'f': /* one after another */
		case 's': /* which are killed */
		case 'b': /* by a system call of their own */
		case 'v': /* and have children by vfork(), which execute a program */
		case 'e': /* which do so themselves */
			for (long i = 0; i < n; i++) {
				pid_t pid = line[0] == 'b' ? (pid_t)syscall(SYS_fork) : forks();

				if (!pid) {
					calls(k);
					if (line[0] == 's')
						raise(SIGKILL);
					if (line[0] == 'v') {
						pid = vfork();
						if (!pid) {
							work(1);
							execl("/proc/self/exe", argv[0], "2", NULL);
						}
						calls(1);
						_exit(status(pid));
					}
					if (line[0] == 'e')
						execl("/proc/self/exe", argv[0], "2", NULL);
					_exit(0);
				}
				result |= status(pid) != (line[0] == 's' ? 64 + SIGKILL : 0);
			}
			break;
		case 'a': /* all at one time */
			for (long i = 0; i < n; i++)
				if (!fork()) {
					calls(k);
					_exit(0);
				}
			for (long i = 0; i < n; i++) {
				int s = 1;

				wait(&s);
				result |= s;
			}
			break;
		case 'o': /* which close a library, and open it once more; the last child does not call it in between */
			for (long i = 0; i < n; i++) {
				pid_t pid = fork();

				if (!pid) {
					for (long j = 0; j < k; j++)
						inlib(j);
					lib_open();
					for (long j = 0; j < 2 * k; j++)
						inlib(j);
					calls(1);
					_exit(0);
				}
				result |= status(pid);
			}
			break;
		case 'w': { /* all wait until the last one is born */
			int ends[2];

			result = pipe(ends);
			for (long i = 0; i < n; i++)
				if (!fork()) {
					calls(k);
					close(ends[1]);
					(void)!read(ends[0], line, 1);
					calls(k);
					_exit(0);
				}
			close(ends[0]);
			close(ends[1]);
			for (long i = 0; i < n; i++) {
				int s = 1;

				wait(&s);
				result |= s;
			}
			break;
		}
		case 'l': /* lives on, and calls */
			for (long i = 0; i < n; i++) {
				pid_t pid = fork();

				if (!pid)
					for (;;) {
						calls(10);
						usleep(1000);
					}
				printf("%d ", (int)pid);
			}
			break;
		case 'h': {
			pid_t pid = fork();

			if (!pid)
				harm();
			result = status(pid);
			break;
		}
		}
		printf("%d\n", result);
	}
	return 0;
}
"""
WORK = "pid$target:a.out:work:entry"
RETURN = "pid$target:a.out:work:return"


class Tracer(tracing.Tracer):
    def __init__(self, mode, script, pid, *flags):
        super().__init__(mode, script, pid, "-x", "follow=fork", *flags)
        self.is_harmed = False

    def end(self, how=signal.SIGINT):
        out, _ = super().end(how)
        found = re.search(r"(\d+) child(?:ren)? of process \d+ (?:was|were) probed in the process itself, (\d+) by uprobes(.*)", self.err)
        self.children = (int(found[1]), int(found[2])) if found else (0, 0)
        # a child that writes over its data can say that it has dropped something
        for word in ("left out", "not probed", "stay", "keep", *(() if self.is_harmed else ("drop",))):
            if word in self.err:
                bad.append(f"dtrace says: {self.err}")
        return lines_of(out)


def row(what, script, calls, want, children, *flags):
    """children: how many have jumps, and how many uprobes."""
    for mode in ("off", "all"):
        t = tracing.Target(FILE)
        try:
            tracer = Tracer(mode, script.replace("PARENT", str(t.pid)), t.pid, *flags)
            tracer.is_harmed = "h" in calls
            since = time.monotonic()
            for c in calls:
                check(f"{what}, {mode}: the program's own result of {c}", t.call(c), 0)
            took = time.monotonic() - since
            got = tracer.end()
            check(f"{what}, {mode}: what is counted", got, sorted(want))
            if mode == "all" and "relays" in what:
                check(f"{what}: they are", tracer.places[0][1][2] > 0, True)
            if mode == "all":
                check(f"{what}: children with jumps, and with uprobes", tracer.children, children)
            check(f"{what}, {mode}: the process ends well", t.end(), 0)
            print(f"# {what}, {mode}: {took:.2f} s", file=sys.stderr)
        except ValueError as e:
            bad.append(f"{what}, {mode}: {e}")
            t.p.kill()


def records():
    """Each child records its own ids, from the first call on, and records come in the order of time."""
    t = tracing.Target(FILE)
    tracer = Tracer("all", f'{WORK} /pid != PARENT/ {{ printf("%d %d %d %d\\n", pid, tid, arg0, timestamp); }}'.replace("PARENT", str(t.pid)), t.pid)
    check("records: the program's own result", t.call("f40,3"), 0)
    tracer.p.send_signal(signal.SIGINT)
    out, err = tracer.p.communicate(timeout=60 * PATIENCE)
    rows = [[int(x) for x in line.split()] for line in out.splitlines() if line.strip()]
    check("records: how many", len(rows), 120)
    check("records: of threads with the id of their process", [r for r in rows if r[0] != r[1] or r[0] == t.pid], [])
    check("records: processes", len({r[0] for r in rows}), 40)
    check("records: calls of each", [r[2] for r in rows], [0, 1, 2] * 40)
    check("records: times ascend", [r[3] for r in rows] == sorted(r[3] for r in rows), True)
    check("records: jumps", "40 children" in err and ", 0 by uprobes" in err, True)
    check("records: the process ends well", t.end(), 0)


def keeper_of(tracer):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as f:
                if f.read().startswith(f"uprobe-keeper of {tracer.p.pid}\0"):
                    return int(pid)
        except OSError:
            pass
    raise ValueError("there is no keeper")


def code_of(pid, maps):
    with open(f"/proc/{pid}/mem", "rb") as mem:
        out = []
        for lo, hi in maps:
            mem.seek(lo)
            out.append(mem.read(hi - lo))
        return out


def ends():
    """exit() in a child ends the session, as in its parent."""
    t = tracing.Target(FILE)
    tracer = Tracer("all", f"{WORK} {{ @[pid == {t.pid}] = count(); }} {WORK} /pid != {t.pid} && arg0 == 3/ {{ exit(7); }}", t.pid)
    check("exit: the program's own result", [t.call("c2"), t.call("f1,9")], [0, 0])
    check("exit: what was counted until then", tracer.end(None), ["0 4", "1 2"])
    check("exit: status", tracer.p.returncode, 7)
    check("exit: the process ends well", [t.call("f2,9"), t.end()], [0, 0])


def state_of(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def left(how):
    """No jump stays in children that live on: not when dtrace ends, nor when it is killed."""
    t = tracing.Target(FILE)
    maps = [tuple(int(x, 16) for x in line.split()[0].split("-")) for line in t.maps() if "r-xp" in line and ("follow" in line or "libc.so" in line)]
    before = code_of(t.pid, maps)
    tracer = Tracer("all", f"{WORK},{RETURN},pid$target:libc.so.6:mem*:entry {{ @[probefunc] = count(); }}", t.pid)
    words = t.ask("l12")
    pids = [int(w) for w in words[:12]]
    until = time.monotonic() + 30 * PATIENCE
    while [p for p in pids if state_of(p) in "Tt"] and time.monotonic() < until:
        time.sleep(0.01)  # they are held until they have their probes
    time.sleep(0.3)
    check(f"{how}: jumps are in all", [code_of(p, maps) == before for p in [t.pid, *pids]], [False] * 13)
    if how == "keeper":
        os.kill(keeper_of(tracer), signal.SIGKILL)
    tracer.p.send_signal(signal.SIGINT if how == "keeper" else how)
    out, err = tracer.p.communicate(timeout=60 * PATIENCE)
    if how == signal.SIGINT:
        check(f"{how}: children with jumps", re.findall(r"(\d+) children .* itself, (\d+) by", err), [("12", "0")])
        counted = dict(line.split() for line in out.splitlines() if line.strip())
        check(f"{how}: they were counted", int(counted.get("work", 0)) > 1000, True)
    until = time.monotonic() + 10 * PATIENCE
    while time.monotonic() < until and [p for p in [t.pid, *pids] if code_of(p, maps) != before]:
        time.sleep(0.05)
    check(f"{how}: code as it was", [code_of(p, maps) == before for p in [t.pid, *pids]], [True] * 13)
    check(f"{how}: all live", [os.path.exists(f"/proc/{p}/exe") for p in pids], [True] * 12)
    check(f"{how}: it goes on", t.call("f3,3"), 0)
    for p in pids:
        os.kill(p, signal.SIGKILL)
    check(f"{how}: it ends well", t.end(), 0)


with open(f"{TMP}/follow.c", "w") as f:
    f.write(PROGRAM)
with open(f"{TMP}/lib.c", "w") as f:
    f.write("static volatile long kept;\n__attribute__((noinline, noipa)) long inlib(long n) { kept += n; return n + 1; }\n")
os.environ["LIB"] = f"{TMP}/libfollow.so"
subprocess.run([CC, "-O1", "-fPIC", "-shared", "-o", os.environ["LIB"], f"{TMP}/lib.c"], check=True)
subprocess.run([CC, "-O1", "-o", FILE, f"{TMP}/follow.c", "-ldl"], check=True)
os.chmod(TMP, 0o755)
only = os.environ.get("ONLY", "")
COUNT = f"{WORK} {{ @[pid == PARENT] = count(); }}"
ALL = f"{WORK} {{ @c = count(); @s = sum(arg0); @m = max(arg0); @l = min(arg0 + 5); @a[arg0 & 1] = avg(arg0); @q[pid == PARENT, pid == tid] = max(arg0); }} END {{ printa(@c); printa(@s); printa(@m); printa(@l); printa(@a); printa(@q); }}"
SELF = f"pid$target:a.out:forks:entry {{ self->n = 1; }} {WORK} {{ self->last = arg0 + 1; }} {RETURN} /self->last/ {{ @[pid == PARENT, self->last, self->n] = count(); self->last = 0; }}"
ROWS = [
    ("calls", COUNT, ["c5", "f20,7", "c2"], ["1 7", "0 140"], (20, 0)),
    ("three generations", COUNT, ["t3", "c1"], ["1 4", "0 42"], (14, 0)),
    ("one counter for all", f"{WORK},{RETURN} {{ @[probefunc, probename] = count(); }}", ["c5", "f20,7", "t2"], ["work entry 166", "work return 166"], (26, 0)),
    ("all at one time", COUNT, ["a60,100"], ["0 6000"], (60, 0)),
    ("functions of aggregations", ALL, ["c4", "f9,6"], ["58", "141", "5", "5", "0 1", "1 2", "0 1 5", "1 1 3"], (9, 0)),
    ("variables of threads", SELF, ["c2", "f5,2"], ["1 1 0 1", "1 2 0 1", "0 1 0 5", "0 2 0 5"], (5, 0)),
    ("what fork() returns from", f"pid$target:a.out:forks:entry,pid$target:a.out:forks:return {{ @[probename, pid == PARENT] = count(); }}", ["f6,1"],
     ["entry 1 6", "return 0 6", "return 1 6"], (6, 0)),
    ("killed children", COUNT, ["s30,3"], ["0 90"], (30, 0)),
    # each child calls k times, and the programs twice; of the program that vfork() is for, one call more is made in the child's memory
    ("other programs", f"{WORK} {{ @ = count(); }}", ["e8,3"], ["40"], (8, 0), "-x", "libstop"),
    ("children by vfork()", f"{WORK} {{ @ = count(); }}", ["v8,3"], ["56"], (8, 0), "-x", "libstop"),
    ("a thread block with another id", f"{WORK} {{ @[pid == PARENT] = count(); }}", ["b4,3", "c1"], ["1 1", "0 12"], (0, 4)),
    ("harm", f"{WORK} {{ @[pid == PARENT, arg0] = count(); @s[pid == PARENT] = sum(arg0); }} END {{ printa(@); printa(@s); }}", ["c3", "h", "c3"],
     ["1 0 2", "1 1 2", "1 2 2", "1 6"], (1, 0)),
    ("more than may have jumps", COUNT, ["w300,3", "f2,3"], ["0 1806"], (258, 44)),
    # of each ten calls one is handed to the kernel, by a uprobe in memory that the children have from their parent
    ("relays", f"{WORK} /arg0 % 10 == 7/ {{ @[execname, pid == PARENT, ppid == PARENT, probefunc] = count(); }}", ["c20", "f20,30", "t2"],
     ["follow 1 0 work 2", "follow 0 1 work 60"], (26, 0)),
    ("relays at returns", f"{RETURN} {{ @[execname, pid == PARENT, arg1] = count(); }}", ["c2", "f5,2", "b3,1", "e4,1"],
     ["follow 1 1 1", "follow 1 2 1", "follow 0 1 12", "follow 0 2 5", "exe 0 1 4", "exe 0 2 4"], (9, 3)),
    ("a library that comes again", f"pid$target:libfollow.so:inlib:entry,pid$target:libfollow.so:inlib:return,{WORK} {{ @[probefunc, probename, pid == PARENT] = count(); }}",
     ["o6,3", "c1"], ["inlib entry 0 54", "inlib return 0 54", "work entry 0 6", "work entry 1 1"], (6, 6)),
    ("objects that live", f"{RETURN} {{ @l = live(arg1 << 12, 8); }} {WORK} {{ @[pid == PARENT] = count(); }} END {{ printa(@); printa(\"live\\n\", @l); }}", ["f3,2", "c1"],
     ["0 6", "1 1", "live"], (0, 3)),
    ("a global variable", f"{WORK} {{ n++; @[n > 0] = count(); }}", ["f3,2"], ["1 6"], (3, 0)),
    ("no call is lost of a thousand that end at once", COUNT, ["f1000,1"], ["0 1000"], (1000, 0)),
]
for r in ROWS:
    if only in r[0]:
        row(*r)
if only in "records":
    records()
if only in "ends":
    ends()
for how in (signal.SIGINT, signal.SIGKILL, "keeper"):
    if only in "left":
        left(how)
sys.exit(report())
