# SPDX-License-Identifier: MIT
"""C programs that say what malloc has counted (mallinfo2) and what they keep: the same in mdb. Then heaps that are damaged, or not glibc's."""
import json, os, random, re, shutil, struct, subprocess, sys

MDB, TMP = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
SOURCE = r"""
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *keep[3000], *other[1000], *small[20], *mapped[4];
static pthread_barrier_t met;
static void *thread(void *a)
{
	for (int i = 0; i < 1000; i++) other[i] = malloc(200 + i);
	for (int i = 0; i < 1000; i += 3) free(other[i]);
	pthread_barrier_wait(&met);
	pause();
	return a;
}
int main(int argc, char **argv)
{
	pthread_t t;
	char *p, text[512];
	for (int i = 0; i < 3000; i++) keep[i] = malloc(100 + i % 500);
	for (int i = 0; i < 3000; i += 7) free(keep[i]);
	for (int i = 0; i < 20; i++) small[i] = malloc(56);
	mapped[0] = malloc(1 << 20);
	mapped[1] = aligned_alloc(64, 300000);
	mapped[2] = aligned_alloc(4096, 1 << 20);
	mapped[3] = aligned_alloc(65536, 1 << 20);
	pthread_barrier_init(&met, 0, 2);
	pthread_create(&t, 0, thread, 0);
	pthread_barrier_wait(&met);
	for (int i = 0; i < 20; i++) free(small[i]);
	struct mallinfo2 mi = mallinfo2();
	p = keep[1500];
	if (argc > 1) memset(p, 'A', malloc_usable_size(p) + 8);
	int n = snprintf(text, sizeof(text), "%zu %zu %zu %zu %zu %zu %p %zu %p %p %p\n", mi.ordblks, mi.fordblks, mi.smblks, mi.fsmblks, mi.hblks, mi.hblkhd,
		(void *)p, malloc_usable_size(p), other[1], mapped[2], mapped[3]);
	write(1, text, n);
	pause();
}
"""
OWN = r"""
#include <stddef.h>
#include <unistd.h>
static char room[1 << 20];
static size_t used;
void *malloc(size_t n) { void *p = room + used; used += (n + 15) & ~15ul; return p; }
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *p, size_t n) { return malloc(n); }
void free(void *p) {}
int main(void) { malloc(100); write(1, "ready\n", 6); pause(); }
"""
NONE = r"""
static long call(long n, long a, long b, long c) { long r; __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory"); return r; }
void _start(void) { call(1, 1, (long)"ready\n", 6); for (;;) call(34, 0, 0, 0); }
"""
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{shown}")


def run(*args):
    r = subprocess.run([MDB, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    return r.returncode, r.stdout, r.stderr


def documents(commands, *target):
    status, out, err = run("-o", "json", "-e", "; ".join(commands), *target)
    check(status == 0, commands, out + err)
    return [json.loads(line)["rows"] for line in out.splitlines()]


def rows(command, *target):
    return documents([command], *target)[0]


def heap_is_counted(what, said, *target):
    """Compares with what the program says. Returns what ::mallocbrk lists."""
    ordblks, fordblks, smblks, fsmblks, hblks, hblkhd = (int(w) for w in said[:6])
    memory, usable, other, mapped, aligned = (int(w, 0) for w in said[6:])
    shown, chunks, freed, chunk, what_other, what_mapped, what_aligned, walk_busy, walk_freed, walk_chunk = documents(
        ["::malloc", "::mallocbrk", "::walk freed | ::chunk", f"{memory + 17:x}::chunk", f"{other:x}::whatis", f"{mapped + 5000:x}::whatis",
         f"{aligned + 5000:x}::whatis", "::walk busy", "::walk freed", "::walk chunk"], *target)
    arenas = [r for r in shown if "arena" in r]
    total = {r["total"]: r for r in shown if "total" in r}
    check(len(arenas) == 2 and [a["is-main"] for a in arenas] == [True, False], f"{what}: arenas", shown)
    check(not [r for r in shown if "damage" in r or "counted-mmapped" in r], f"{what}: nothing is damaged", shown)
    listed = [r for r in chunks if "chunk" in r]
    fast = [r["size"] for r in freed if r["state"] == "fastbin"]
    check(total["all"]["free"] + len(arenas) == ordblks, f"{what}: free chunks", (said, shown))
    check(total["all"]["free-bytes"] + total["all"]["top-bytes"] + sum(fast) == fordblks, f"{what}: free bytes", (said, shown))
    check((len(fast), sum(fast)) == (smblks, fsmblks), f"{what}: fastbins", (said, fast))
    check(total["mmapped"]["busy"] == hblks, f"{what}: mmapped chunks", (said, shown))
    check(0 <= hblkhd - total["mmapped"]["busy-bytes"] < 1 << 17, f"{what}: bytes of mmapped chunks, but for what alignment has cost", (said, shown))
    check(sum(r["size"] for r in listed) == arenas[0]["system-bytes"], f"{what}: the chunks fill the main arena", shown)
    cached = sum(r["state"] == "tcache" for r in listed if r["size"] == 64)
    check(len(fast) > 2 and cached == (0 if "no cache" in what else 7), f"{what}: chunks of 56 bytes in both caches", (cached, len(fast)))
    r, = chunk
    check((r["state"], int(r["memory"], 16), r["usable"], int(r["arena"], 16)) == ("busy", memory, usable, int(arenas[0]["arena"], 16)), f"{what}: a chunk", r)
    r, = what_other
    check((r["state"], int(r["memory"], 16), r["arena"]) == ("busy", other, arenas[1]["arena"]), f"{what}: a chunk of a thread's arena", r)
    for at, (r,) in ((mapped, what_mapped), (aligned, what_aligned)):
        check((r["state"], int(r["memory"], 16)) == ("mmapped", at), f"{what}: a mmapped chunk", r)
    busy, freed, every = (len(w) for w in (walk_busy, walk_freed, walk_chunk))
    check(busy == total["all"]["busy"] and busy + freed == every == sum(total["all"][k] for k in ("busy", "cached", "free")), f"{what}: walks", (busy, freed, every))
    return listed


def compiled(name, source, *flags):
    open(f"{name}.c", "w").write(source)
    return subprocess.run(["cc", "-O0", "-g", "-w", *flags, "-o", name, f"{name}.c"], capture_output=True).returncode == 0


class Program:
    """A program that has said a line, and waits."""

    def __init__(self, *args, tunables=""):
        self.process = subprocess.Popen(args, stdout=subprocess.PIPE, text=True, env={**os.environ, "GLIBC_TUNABLES": tunables})
        self.said = self.process.stdout.readline().split()
        self.target = ("-p", str(self.process.pid))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def core(self, name):
        subprocess.run(["gdb", "-nx", "-batch", "-p", str(self.process.pid), "-ex", f"generate-core-file {name}"],
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
        return os.path.exists(name)


os.chdir(TMP)
if not shutil.which("cc") or not shutil.which("gdb"):
    print("cc and gdb are not installed")
    sys.exit(67)
compiled("heap", SOURCE, "-pthread")
with Program("./heap") as p:
    if run(*p.target, "-e", "::status")[0] != 0 or not p.core("core"):
        print("processes cannot be held here")
        sys.exit(67)
    in_process = heap_is_counted("a process", p.said, *p.target)
    status, out, err = run("-e", "1000::chunk", "core")
    check(status == 1 and "in no chunk" in err, "an address in no chunk", out + err)
    check(heap_is_counted("a core file", p.said, "core") == in_process, "the same in its core file")
with Program("./heap", tunables="glibc.malloc.tcache_count=0") as p:
    heap_is_counted("a process with no cache", p.said, *p.target)
if compiled("static", SOURCE, "-pthread", "-static"):
    with Program("./static") as p:
        heap_is_counted("a static program", p.said, *p.target)

# A program that writes over the header behind its memory.
with Program("./heap", "damage") as p:
    memory, usable = int(p.said[6], 0), int(p.said[7])
    damages = [r for r in rows("::malloc", *p.target) if "damage" in r]
    check([int(r["damaged-at"], 16) for r in damages] == [memory + usable - 8] and damages[0]["found"] == "0x4141414141414141", "the damaged header", damages)
    listed = [r for r in rows("::mallocbrk", *p.target) if "chunk" in r]
    whole = {r["chunk"] for r in in_process}
    check(0 < len(in_process) - len(listed) < 100 and int(damages[0]["known-from"], 16) in [int(r["chunk"], 16) for r in listed], "the rest is known",
          (len(listed), len(in_process), damages))

# Other allocators.
compiled("own", OWN)
with Program("./own") as p:
    status, out, err = run("-e", "::malloc", *p.target)
    check(status == 1 and not out and "glibc's malloc was never used\nhint: " in err, "a program with an allocator of its own", out + err)
if compiled("none", NONE, "-nostdlib", "-static"):
    with Program("./none") as p:
        status, out, err = run("-e", "::malloc", *p.target)
        check(status == 1 and not out and "there is no heap of glibc's malloc\nhint: " in err, "a program without libc", out + err)
        check("memory" not in rows("<rsp::whatis", *p.target)[0], "and what an address is there")

# Words of the heap and of the arenas that are something else: answers, but no crash and no endless walk.
core = open("core", "r+b")
head = core.read(64)
core.seek(struct.unpack_from("<Q", head, 32)[0])
parts = [struct.unpack("<IIQQQQQQ", core.read(56)) for i in range(struct.unpack_from("<H", head, 56)[0])]
arena = int(rows("::walk arena", "core")[0]["value"], 16)
first = int(in_process[0]["chunk"], 16)
places = [(max(at, start), min(at + size, start + there), off - start) for at, size in ((arena, 2200), (first, 1 << 20), (first, 4096))
          for kind, _, off, start, _, there, _, _ in parts if kind == 1 and start < at + size and at < start + there]
words = [0, 8, 16, 17, 33, 2, 4, 0xffffffffffffffff, 0x7ffffffffffffff1, arena, first, first + 16, first + 0x290, arena + 96]
for seed in range(25):
    r = random.Random(seed)
    before = []
    for _ in range(r.choice((1, 10, 300))):
        start, end, off = r.choice(places)
        at = r.randrange(start, end - 8) // 8 * 8 + off
        core.seek(at)
        before.append((at, core.read(8)))
        core.seek(at)
        core.write(struct.pack("<Q", r.choice((r.choice(words), r.randrange(start, end), r.randrange(1 << 64)))))
    core.flush()
    status, out, err = run("-e", "::malloc; ::mallocbrk -s; ::walk freed; ::walk busy | ::chunk; ::findleaks -v", "core")
    check(status in (0, 1) and len(out) < 1 << 24, f"a damaged heap, seed {seed}", f"{status}\n{err[-2000:]}")
    for at, was in reversed(before):
        core.seek(at)
        core.write(was)
# Memory up to the last address: nothing is searched there for ever.
last = max(i for i, p in enumerate(parts) if p[0] == 1)
core.seek(struct.unpack_from("<Q", head, 32)[0] + 56 * last)
core.write(struct.pack("<IIQQQQQQ", 1, 6, parts[last][2], (1 << 64) - 4096, 0, 4088, 4088, 1))
core.flush()
status, out, err = run("-e", "::malloc; ::findleaks", "core")
check(status == 0 and "main" in out and "have leaked" in out, "memory up to the last address", f"{status}\n{out}{err}")
sys.exit(1 if failed else 0)
