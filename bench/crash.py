#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long a process that crashes is kept: from the signal until its parent's waitpid() returns.

    bench/crash.py [--build build] [--runs 5] [--only NAME] [--json bench/crash.json]

The peer is the kernel that writes a core file itself; where systemd-coredump is installed, or its program is named by $COREDUMP, there are
rows with that as well. The machine's kernel.core_pattern is changed meanwhile, and restored.
"""
import os, shutil, subprocess, sys, tempfile

from pairs import ROOT, Bench

SOURCE = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void *idle(void *a) { pause(); return a; }
int main(int argc, char **argv)
{
	int threads = atoi(argv[1]), fds[2];
	size_t len = (size_t)atoi(argv[2]) << 20;
	struct timespec a, b;
	char ready;
	pthread_t t;
	if (pipe(fds)) return 1;
	pid_t child = fork();
	if (child == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
		char *p = mmap(NULL, len + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(p, 1, len);
		for (int i = 1; i < threads; i++) pthread_create(&t, NULL, idle, NULL);
		if (write(fds[1], "", 1) != 1) return 1;
		clock_gettime(CLOCK_MONOTONIC, &a);
		if (write(fds[1], &a, sizeof(a)) != sizeof(a)) return 1;
		*(volatile int *)1 = 1;
	}
	if (read(fds[0], &ready, 1) != 1 || read(fds[0], &a, sizeof(a)) != sizeof(a)) return 1;
	waitpid(child, NULL, 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("%d %.3f\n", (int)child, (b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6);
	return 0;
}
"""


def main():
    bench = Bench("crash", runs=5, width=46, peer="kernel", alone="")
    os.environ.update(BUILD=os.path.abspath(bench.opts.build), SRC=ROOT)
    sys.path.insert(0, os.path.join(ROOT, "tests/e2e/crash"))
    with tempfile.TemporaryDirectory(dir="/var/tmp") as tmp:
        os.environ["TMP"] = tmp
        import capturing
        os.chdir(tmp)
        open("crash.c", "w").write(SOURCE)
        subprocess.run(["gcc", "-O2", "-pthread", "-o", "crash", "crash.c"], check=True)
        store = capturing.Store()
        systemd = os.environ.get("COREDUMP", "/usr/lib/systemd/systemd-coredump")

        def once(pattern, threads, megabytes, waits):
            with capturing.Pattern(pattern):
                pid, ms = subprocess.run(["./crash", str(threads), str(megabytes)], check=True, capture_output=True, text=True).stdout.split()
                if waits and not store.wait(pid):
                    sys.exit(f"no capture of process {pid}")
            for name in os.listdir("."):
                if name.startswith("core"):
                    os.unlink(name)
            for name in store.ids():
                shutil.rmtree(os.path.join(store.dir, name))
            return float(ms)

        def row(name, threads, megabytes, target, **keys):
            store.configure(window_s=1, **{"captures": 16, **keys})
            counts = keys.get("captures") == 0
            bench.row(name, lambda: once(store.pattern(), threads, megabytes, not counts), lambda: once("core", threads, megabytes, False), "ms", target)

        bench.heading()
        row("stacks, 1 thread", 1, 1, "<= 30 ms")
        row("stacks, 16 threads", 16, 20, "<= 30 ms")
        row("stacks, 200 MB", 1, 200, "")
        row("heap, 200 MB", 1, 200, "<= 250 ms", keep_core="heap")
        row("a crash loop: only counted", 1, 1, "<= 5 ms", captures=0)
        row("a crash loop, 200 MB", 1, 200, "<= 5 ms", captures=0)
        if os.path.exists(systemd):
            for threads, megabytes in ((1, 1), (16, 20), (1, 200)):
                bench.row(f"systemd-coredump, {threads} threads, {megabytes} MB",
                          lambda: once(f"|{systemd} %P %u %g %s %t 9223372036854775808 %h", threads, megabytes, False), None, "ms", "")
    bench.save()


if __name__ == "__main__":
    sys.exit(main())
