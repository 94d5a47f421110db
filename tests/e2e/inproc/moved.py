# SPDX-License-Identifier: MIT
"""A library that is mapped at the start, with a return that is relayed to the kernel, is closed, and opened where another mapping is in its old place.

The slots of relays cannot follow, because the process has them for itself: stubs that led there would go on behind the old place. dtrace says that the
place is left out, and the program computes what it computed before.
"""
import os, re, subprocess, sys, threading, time

DTRACE, TMP, CC = os.environ["DTRACE"], os.environ["TMP"], os.environ.get("CC", "cc")
PATIENCE = int(os.environ.get("PATIENCE", 1))
LIBRARY = r"""
__attribute__((noinline)) static long inner(long x) { x += 1; __asm__ volatile("lea 0(%0), %0\n\tlea 0(%0), %0\n\tlea 0(%0), %0" : "+r"(x)); return x; }
long from_library(long n)
{
	long sum = 0;
	for (long i = 0; i < n; i++)
		sum += inner(i);
	return sum;
}
"""
PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
	char line[64];
	void *lib = dlopen(argv[1], RTLD_NOW);
	puts("ready");
	for (fflush(stdout); fgets(line, sizeof(line), stdin); fflush(stdout)) {
		long (*f)(long) = (long (*)(long))dlsym(lib, "from_library");
		struct link_map *map;
		unsigned long at;
		if (line[0] == 'm') {
			dlinfo(lib, RTLD_DI_LINKMAP, &map);
			at = map->l_addr;
			dlclose(lib);
			mmap((void *)at, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
			mmap((void *)at, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
			lib = dlopen(argv[1], RTLD_NOW);
			dlinfo(lib, RTLD_DI_LINKMAP, &map);
			printf("%d\n", lib && map->l_addr != at);
		} else {
			printf("%ld\n", f(10));
		}
	}
}
"""
bad = []


def check(what, got, want):
    if got != want:
        bad.append(f"{what}: {got!r} instead of {want!r}")


for name, text, flags in ("libmoved.so", LIBRARY, ["-shared", "-fPIC"]), ("moved", PROGRAM, ["-ldl"]):
    with open(f"{TMP}/{name}.c", "w") as f:
        f.write(text)
    subprocess.run([CC, "-O1", "-o", f"{TMP}/{name}", f"{TMP}/{name}.c", *flags], check=True)
program = subprocess.Popen([f"{TMP}/moved", f"{TMP}/libmoved.so"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
program.stdout.readline()


def call(what):
    program.stdin.write(f"{what}\n")
    program.stdin.flush()
    return program.stdout.readline().strip()


tracer = subprocess.Popen([DTRACE, "-x", "inproc=auto", "-x", "inprocsum", "-x", "libstop", "-p", str(program.pid), "-n",
                           'pid$target:libmoved.so:inner:return { @[ustack(1)] = count(); } tick-20ms /!told/ { told = 1; printf("READY\\n"); }'],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
messages = []
reader = threading.Thread(target=lambda: messages.extend(tracer.stderr), daemon=True)
reader.start()
for line in tracer.stdout:
    if "READY" in line:
        break
check("what the library computes", call("c"), "55")
check("it comes to another address", call("m"), "1")
until = time.monotonic() + 30 * PATIENCE
while time.monotonic() < until and not any("mapped it anew" in m for m in messages):
    time.sleep(0.02)
check("what it computes there", call("c"), "55")
tracer.terminate()
out = tracer.stdout.read()
tracer.wait(60 * PATIENCE)
reader.join(5)
check("it is said", any(re.search("places? of 'libmoved.so' (is|are) left out", m) for m in messages), True)
check("places that are relayed", any(", 1 relayed to the kernel" in m for m in messages), True)
check("firings at the old place", re.findall(r"\d+$", out.strip()), ["10"])
check("what it computes in the end", call("c"), "55")
program.stdin.close()
check("the program's end", program.wait(60 * PATIENCE), 0)
for line in bad:
    print(line, messages)
sys.exit(bool(bad))
