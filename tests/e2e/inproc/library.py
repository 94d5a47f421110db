# SPDX-License-Identifier: MIT
"""Libraries that come, go and come again while -x inproc is on: what fires is what the program says that it has called.

The program opens a library, calls it in four threads, and closes it, as often as it is told, while other threads use libc. It waits at each (-c, or the
option libstop), so nothing is missed.
"""
import os, signal, subprocess, sys, time

import tracing
from tracing import DTRACE, PATIENCE, bad, check, lines_of, report

TMP, CC = os.environ["TMP"], os.environ.get("CC", "cc")
PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define CALLS 10
static long (*function)(long);
static atomic_bool ends;
static char dir[256];
static void *hold;
static void *call(void *arg)
{
	long sum = 0;

	(void)arg;
	for (long i = 0; i < CALLS; i++)
		sum += function(i);
	return (void *)sum;
}
static void *busy(void *arg)
{
	char text[32];
	long n = 0;

	while (!ends) {
		snprintf(text, sizeof(text), "%ld", n++ % 1000);
		if (strtol(text, NULL, 10) != (n - 1) % 1000 || strlen(text) > 3)
			_exit(9);
		free(malloc(n % 300));
	}
	return arg;
}
/* Opens a library, calls it in four threads, and closes it; -1: it has another result than without a tracer. */
__attribute__((noinline, noipa)) int cycle(char which, int moves)
{
	char path[300];
	pthread_t t[4];
	struct link_map *map;
	int bad = 0;

	snprintf(path, sizeof(path), "%s/lib%c.so", dir, which);
	void *lib = dlopen(path, RTLD_NOW);
	if (!lib)
		return -1;
	function = (long (*)(long))dlsym(lib, "from_library");
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, call, NULL);
	for (int i = 0; i < 4; i++) {
		void *sum;

		pthread_join(t[i], &sum);
		bad |= (long)sum != (which == 'a' ? 45 + 38 * CALLS : 45 * 2);
	}
	dlinfo(lib, RTLD_DI_LINKMAP, &map);
	unsigned long at = map->l_addr;
	dlclose(lib);
	if (moves) { /* the next one finds its place taken */
		if (hold)
			munmap(hold, 4096);
		hold = mmap((void *)at, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	}
	return bad ? -1 : 0;
}
int main(int argc, char **argv)
{
	char line[300], which[64];
	pthread_t t[2];
	int n;

	strcpy(dir, argv[1]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, busy, NULL);
	puts("0");
	while (fgets(line, sizeof(line), stdin)) {
		int result = 0;

		if (line[0] == 'x') /* executes itself */
			execl("/proc/self/exe", argv[0], argv[1], NULL);
		if (sscanf(line, "%d %63s", &n, which) == 2)
			for (int i = 0; i < n && !result; i++)
				result = cycle(which[i % strcspn(which, "+")], strchr(which, '+') != NULL);
		printf("%d\n", result);
	}
	ends = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return argc > 9;
}
"""
LIBRARY = {"a": "long from_library(long n) { return n + 38; }\n", "b": "static volatile long one = 1;\nlong from_library(long n) { return n * 2 * one; }\n"}


class Target(tracing.Target):
    def __init__(self):
        super().__init__(f"{TMP}/loader", TMP)


class Tracer(tracing.Tracer):
    def end(self, how=signal.SIGINT):
        out = super().end(how)[0]
        return lines_of(out), [counts[:2] for pid, counts in self.places]


def cycles(what, script, call, want, check_places, *flags):
    got, places = {}, None
    for mode in ("off", "all"):
        t = Target()
        tracer = Tracer(mode, script, t.pid, "-Z", "-x", "libstop", *flags)
        since = time.monotonic()
        check(f"{what}, {mode}: the program's own result", t.call(call), 0)
        took = time.monotonic() - since
        got[mode], places = tracer.end()
        if mode == "all" and not check_places(places):
            bad.append(f"{what}: places {places}, {tracer.err}")
        if "left out" in tracer.err or "not probed" in tracer.err:
            bad.append(f"{what}, {mode}: {tracer.err}")
        check(f"{what}, {mode}: the process ends well", t.end(), 0)
        print(f"{what}, {mode}: {took:.2f} s", file=sys.stderr)
    check(f"{what}: uprobes", got["off"], sorted(want))
    check(f"{what}: in the process", got["all"], sorted(want))


def moves_to_kernel():
    """Another program: the jumps have gone with the memory, and its probes are uprobes."""
    got = {}
    for mode in ("off", "all"):
        t = Target()
        tracer = Tracer(mode, "pid$target:a.out:cycle:entry,pid$target:libc.so.6:qsort:entry,pid$target:liba.so:from_library:entry { @[probefunc] = count(); }",
                        t.pid, "-Z", "-x", "libstop")
        check("exec: before", t.call("1 a"), 0)
        check("exec: it has begun anew", t.call("x"), 0)
        check("exec: after", t.call("2 a"), 0)
        got[mode], places = tracer.end()
        check(f"exec, {mode}: it ends well", t.end(), 0)
        if mode == "all" and (len(places) < 2 or not places[0][0]):
            bad.append(f"exec: places {places}, {tracer.err}")
    check("exec: the output", got["all"], got["off"])
    check("exec: what was called", got["all"], ["cycle 3", "from_library 120"])
    for variable, is_told in (("n", True), ("self->n", False)):  # one that was in the process begins anew, which is said
        t = Target()
        tracer = Tracer("all", f'pid$target:a.out:cycle:entry {{ printf("%d\\n", ++{variable}); }}', t.pid, "-x", "libstop")
        check("exec, a variable: before", t.call("1 a"), 0)
        check("exec, a variable: it has begun anew", t.call("x"), 0)
        check("exec, a variable: after", t.call("2 a"), 0)
        out, places = tracer.end()
        check("exec, a variable: it ends well", t.end(), 0)
        told = f"process {t.pid} has executed another program: global variables that its clauses kept in it begin anew" in tracer.err
        if told != is_told or out.count("1") != 2 or places != [(1, 0)]:
            bad.append(f"exec, {variable}: {out} {places} {tracer.err}")


def killed():
    """The tracer is killed while libraries come and go: the program goes on."""
    t = Target()
    tracer = Tracer("all", "pid$target:liba.so::entry,pid$target:liba.so::return,pid$target:libc.so.6:str*:entry { @ = count(); }", t.pid, "-Z", "-x", "libstop")
    t.p.stdin.write("100 a\n")
    t.p.stdin.flush()
    time.sleep(0.3)
    tracer.end(signal.SIGKILL)
    check("killed: the program's own result", t.p.stdout.readline().strip(), "0")
    check("killed: it goes on", t.call("20 a"), 0)
    check("killed: it ends well", t.end(), 0)


def unheld():
    """A process that does not wait: what it has called before its jumps are there is missed, and it comes to no harm."""
    t = Target()
    tracer = Tracer("all", "pid$target:lib?.so::entry,pid$target:lib?.so::return,pid$target:libc.so.6:str*:entry { @[probemod] = count(); }", t.pid, "-Z")
    check("unheld: the program's own result", t.call("200 a"), 0)
    check("unheld: at changing places", t.call("200 ab+"), 0)
    out, places = tracer.end()
    check("unheld: libc", any(line.startswith("libc.so") for line in out) or out, True)
    check("unheld: it goes on", t.call("20 a"), 0)
    check("unheld: it ends well", t.end(), 0)


def command():
    """A process of -c waits at each library."""
    for mode in ("off", "auto"):
        p = subprocess.run([DTRACE, "-q", "-Z", "-x", "inprocsum", "-x", f"inproc={mode}", "-c", f"{TMP}/loader {TMP}",
                            "-n", "pid$target:lib?.so:from_library:entry { @[probemod] = count(); }"],
                           input="3 a\n2 b\n", capture_output=True, text=True, timeout=120 * PATIENCE)
        check(f"-c, {mode}: counts", sorted(" ".join(l.split()) for l in p.stdout.splitlines() if "lib" in l), ["liba.so 120", "libb.so 80"])


with open(f"{TMP}/loader.c", "w") as f:
    f.write(PROGRAM)
subprocess.run([CC, "-O1", "-pthread", "-o", f"{TMP}/loader", f"{TMP}/loader.c", "-ldl"], check=True)
for name, text in LIBRARY.items():
    with open(f"{TMP}/lib{name}.c", "w") as f:
        f.write(text)
    subprocess.run([CC, "-O1", "-shared", "-fPIC", "-o", f"{TMP}/lib{name}.so", f"{TMP}/lib{name}.c"], check=True)
only = os.environ.get("ONLY", "")
ALL = "pid$target:lib?.so:from_library:entry,pid$target:lib?.so:from_library:return { @[probemod, probename] = count(); }"
for row in (("one library", ALL, "200 a", ["liba.so entry 8000", "liba.so return 8000"], lambda p: sum(n for n, _ in p) == 2 and not sum(k for _, k in p)),
            ("two libraries at one place", ALL, "40 ab", ["liba.so entry 800", "liba.so return 800", "libb.so entry 800", "libb.so return 800"],
             lambda p: sum(n for n, _ in p) == 4),
            ("a library that moves", ALL, "40 a+", ["liba.so entry 1600", "liba.so return 1600"], lambda p: sum(n for n, _ in p) == 2),
            ("records", 'pid$target:liba.so:from_library:entry { printf("%d\\n", arg0); }', "5 a", [str(i) for i in range(10)] * 20, lambda p: sum(n for n, _ in p) == 1),
            ("strings are uprobes", "pid$target:liba.so:from_library:entry { @[execname] = count(); }", "5 a", ["loader 200"], lambda p: sum(n for n, _ in p) == 0)):
    if only in row[0]:
        cycles(*row)
for f in (moves_to_kernel, killed, unheld, command):
    if only in f.__name__:
        f()
sys.exit(report())
