# SPDX-License-Identifier: MIT
"""Programs that lose known numbers of chunks, and keep others by globals, inner pointers, lists, threads, registers: ::findleaks."""
import json, os, shutil, subprocess, sys

MDB, TMP = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
SOURCE = r"""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
struct node { struct node *next; char room[40]; };
static void *kept[500], **far;
static struct node *list;
static __thread void *own;
static pthread_barrier_t met;
__attribute__((noinline)) static void lose(int n, size_t size) { for (int i = 0; i < n; i++) memset(malloc(size), 0, size); }
__attribute__((noinline)) static void build(void)
{
	struct node *lost = 0, *a, *b, *k;
	for (int i = 0; i < 10; i++) k = calloc(1, sizeof(*k)), k->next = lost, lost = k;
	a = calloc(1, 1000), b = calloc(1, 1000), a->next = b, b->next = a;
	for (int i = 0; i < 50; i++) k = calloc(1, sizeof(*k)), k->next = list, list = k;
	for (int i = 0; i < 500; i++) kept[i] = (char *)calloc(1, 100 + i) + i % 90;
	far = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	far[999] = calloc(1, 5000);
	own = calloc(1, 6000);
	*(void **)own = calloc(1, 300000);
	for (int i = 0; i < 40; i++) free(malloc(3000 + 8 * i));
}
/* Pointers in frames that have returned, and in registers, are not to hold what was lost. */
__attribute__((noinline)) static long scrub(void) { char room[20000]; memset(room, 0, sizeof(room)); __asm__ volatile("" : : "r"(room) : "memory", "rbx", "r12", "r13", "r14", "r15"); return 0; }
static void *thread(void *a)
{
	void *volatile mine = calloc(1, 3333);
	own = calloc(1, 777);
	lose(13, 2000);
	scrub();
	pthread_barrier_wait(&met);
	pause();
	return mine;
}
int main(void)
{
	pthread_t t;
	build();
	lose(100, 120);
	lose(7, 500);
	lose(2, 200000);
	pthread_barrier_init(&met, 0, 2);
	pthread_create(&t, 0, thread, 0);
	pthread_barrier_wait(&met);
	scrub();
	write(1, "ready\n", 6);
	pause();
}
"""
CLASSES = r"""
#include <map>
#include <memory>
#include <string>
#include <unistd.h>
struct Shape { virtual ~Shape() {} double x[4]; };
struct Circle : Shape { std::string name = std::string(100, 'x'); };
struct Square : Shape { int y[10]; };
std::map<int, std::shared_ptr<Circle>> keep;
__attribute__((noinline)) void lose() { for (int i = 0; i < 30; i++) new Circle; for (int i = 0; i < 5; i++) new Square; }
__attribute__((noinline)) void scrub() { volatile char r[20000]; for (auto &c : r) c = 0; }
int main() { for (int i = 0; i < 100; i++) keep[i] = std::make_shared<Circle>(); lose(); scrub(); write(1, "ready\n", 6); pause(); }
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


def leaks_are_exact(what, *target):
    groups, each, chunks = documents(["::findleaks -v", "::findleaks -d", "::findleaks -d | ::chunk"], *target)
    shown = sorted((r["size"], r["count"], r["hold"]) for r in groups if "count" in r)
    # The list of 10 is held by its begin, the ring of 2 by either; sizes are those of chunks: with 8 bytes, by 16.
    check(shown == [(64, 1, 640), (128, 100, 12800), (512, 7, 3584), (1008, 1, 2016), (2016, 13, 26208), (200704, 2, 401408)], what, groups)
    total, = [r for r in groups if "leaks" in r]
    check((total["leaks"], total["leaked-chunks"], total["leaked-bytes"]) == (124, 134, 446656), f"{what}: the sums", total)
    listed = [r for r in each if "holds" in r]
    check(len(listed) == 124 and len({r["memory"] for r in listed}) == 124, f"{what}: each", each)
    check([c["memory"] for c in chunks] == [r["memory"] for r in listed] and {c["state"] for c in chunks} == {"busy", "mmapped"}, f"{what}: a pipe", chunks)


def compiled(compiler, name, source, *flags):
    open(name, "w").write(source)
    return shutil.which(compiler) and subprocess.run([compiler, "-O0", "-g", "-w", *flags, "-o", name.split(".")[0], name], capture_output=True).returncode == 0


os.chdir(TMP)
if not shutil.which("gdb") or not compiled("cc", "lost.c", SOURCE, "-pthread"):
    print("cc and gdb are not installed")
    sys.exit(67)
program = subprocess.Popen(["./lost"], stdout=subprocess.PIPE, text=True)
try:
    program.stdout.readline()
    if run("-p", str(program.pid), "-e", "::status")[0] != 0:
        print("processes cannot be held here")
        sys.exit(67)
    leaks_are_exact("a process", "-p", str(program.pid))
    subprocess.run(["gdb", "-nx", "-batch", "-p", str(program.pid), "-ex", "generate-core-file core"], stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    leaks_are_exact("a core file", "core")
finally:
    program.kill()
    program.wait()

if compiled("c++", "classes.cc", CLASSES):
    program = subprocess.Popen(["./classes"], stdout=subprocess.PIPE, text=True)
    try:
        program.stdout.readline()
        groups, = documents(["::findleaks"], "-p", str(program.pid))
        check([(r["count"], r["first-word"].split("`")[1]) for r in groups if "count" in r] == [(30, "vtable for Circle+0x10"), (5, "vtable for Square+0x10")],
              "objects of C++", groups)
    finally:
        program.kill()
        program.wait()
else:
    print("skip: there is no C++ compiler")
sys.exit(1 if failed else 0)
