# SPDX-License-Identifier: MIT
"""lfile and lline as keys with -x inproc: counts under them are those of the kernel; what is not as Ruby has it is refused."""
import os, re, subprocess, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tracing import DTRACE, PATIENCE, bad, check, lines_of, report

os.chdir(os.environ["TMP"])
RUBY = ["/usr/bin/ruby3.1", "--disable-gems"]

PROGRAM = r"""
$kept = []
def plain(n) = n.times { $kept << "a#{n}" }
class Thing
  def initialize(x); @x = [x]; end
end
plain(100)
50.times { $kept << Thing.new("t") }
$kept << %w[c b a].sort_by { |s| s + "!" }.map(&:upcase)
$kept << Array.new(20) { |i| i.to_s }
eval "def made_by_eval(n)\n n.times { $kept << 'e' + 'f' }\nend", nil, "made.rb", 70
made_by_eval(30)
4.times.map { |t| Thread.new { 25.times { |i| $kept << "thread #{t} #{i}" } } }.each(&:join)
fiber = Fiber.new { 10.times { |i| $kept << "fiber #{i}"; Fiber.yield } }
10.times { fiber.resume }
each = [1, 2, 3].each
3.times { $kept << each.next.to_s }
def deep(n) = n.zero? ? raise(ArgumentError, "deep " + "down") : deep(n - 1)
15.times { begin; deep(20); rescue => e; $kept << e.message.dup; ensure; $kept << "ensured" + "!"; end }
begin
  GC.stress = true
  20.times { "str" + "ess" }
ensure
  GC.stress = false
end
$kept << "last"
Process.ppid
sleep 20
"""
with open("prog.rb", "w") as f:
    f.write(PROGRAM)

FUNCTIONS = ("rb_ec_wb_protected_newobj_of", "rb_newobj_of", "rb_wb_protected_newobj_of", "rb_wb_unprotected_newobj_of")
MODULE = os.path.basename(os.path.realpath("/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1"))
COUNTS = ", ".join(f"pid$target:{MODULE}:{f}:entry" for f in FUNCTIONS) + " { @[lfile, lline] = count(); } pid$target:libc.so.6:getppid:entry { exit(0); }"


def run(*args):
    return subprocess.run([DTRACE, *args], capture_output=True, text=True, timeout=120 * PATIENCE)


def counted(mode):
    r = run("-q", "-x", "inprocsum", "-x", f"inproc={mode}", "-n", COUNTS, "-c", " ".join(RUBY + ["prog.rb"]))
    rows = dict(((m[1], int(m[2])), int(m[3])) for m in re.finditer(r"^ *(\S+) +(\d+) +(\d+)$", r.stdout, re.M))
    return rows, r.stderr


kernel, _ = counted("off")
process, said = counted("auto")
check("places in the process", bool(re.search(r"^dtrace: 4 places probed in process", said, re.M)), True)
ours = {k: n for k, n in kernel.items() if k[0] in ("prog.rb", "made.rb")}
check("lines", {k: n for k, n in process.items() if k[0] in ("prog.rb", "made.rb")}, ours)
check("eval", ours.get(("made.rb", 71)), 90)
check("threads", ours.get(("prog.rb", 13), 0) >= 100, True)
check("stress", ours.get(("prog.rb", 22)), 60)

# ---- one that runs already: all of its threads are looked at

running = subprocess.Popen(RUBY + ["-e", "3.times { Thread.new { sleep 0.01 while true } }; $stdout.sync = true; puts 1; loop { 'x' + 'y'; sleep 0.001 }"],
                           stdout=subprocess.PIPE, text=True)
running.stdout.readline()
r = run("-q", "-x", "inprocsum", "-x", "inproc=auto", "-p", str(running.pid), "-n", f"pid$target:{MODULE}:rb_ec_wb_protected_newobj_of:entry {{ @[lfile, lline] = count(); }} tick-1s {{ exit(0); }}")
check("-p: place", bool(re.search(r"^dtrace: 1 place probed in process", r.stderr, re.M)), True)
check("-p: rows", [re.sub(r"\d+$", "N", line) for line in lines_of(r.stdout)], ["-e 1 N"])
running.kill()

# ---- one that ends by itself, and nobody has printed: what was read in time has its name, the rest is said

COUNT = f"pid$target:{MODULE}:rb_ec_wb_protected_newobj_of:entry {{ @[lfile, lline] = count(); }}"
with open("ends.rb", "w") as f:
    f.write("1000.times do\n  'a' + 'b'\nend\nsleep 3\n")
with open("late.rb", "w") as f:
    f.write("sleep 1\n1000.times do\n  'a' + 'b'\nend\nexit!\n")
r = run("-q", "-x", "inproc=auto", "-n", COUNT, "-c", " ".join(RUBY + ["ends.rb"]))
check("ends: rows", bool(re.search(r"^ *ends.rb +2 +\d+$", r.stdout, re.M)), True)
gone = 0
for i in range(20):
    r = run("-q", "-x", "inproc=auto", "-n", COUNT, "-c", " ".join(RUBY + ["late.rb"]))
    check("late: gone places are said", "gone before" in r.stderr, "(gone)" in r.stdout)
    gone += "(gone)" in r.stdout
    if gone:
        break
check("late: some run is over too soon", gone > 0, True)

# ---- code that comes while its table is read, again and again

with open("comes.rb", "w") as f:
    f.write("""$k = []
200.times do |i|
  $k << RubyVM::InstructionSequence.compile("def f#{i}\\n 20.times { 'a' + 'b' }\\nend", "f#{i}.rb").tap(&:eval)
  send("f#{i}")
  sleep 0.005
end
Process.ppid
sleep 20
""")
r = run("-q", "-x", "inproc=auto", "-x", "aggrate=10ms", "-n", COUNT + " tick-20ms { printa(@); } pid$target:libc.so.6:getppid:entry { exit(0); }", "-c", " ".join(RUBY + ["comes.rb"]))
check("comes: rows", bool(re.search(r"^ *f150.rb +2 +\d+$", r.stdout, re.M)), True)
check("comes: gone", "(gone)" in r.stdout, False)

# ---- threads that have ended: their contexts are freed, and their variables still lead there

GUARD = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
/* Blocks as large as contexts have pages of their own, which free() unmaps. */
#define BASE 0x200000000000ull
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t);
static volatile uint64_t next = BASE;
static int is_ours(void *p) { return (uint64_t)p >= BASE && (uint64_t)p < next; }
static void *page(void)
{
	void *at = (void *)__atomic_fetch_add(&next, 4096, __ATOMIC_RELAXED);
	return mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}
void *malloc(size_t n) { return n >= 500 && n <= 1400 ? page() : __libc_malloc(n); }
void *calloc(size_t n, size_t s) { return n * s >= 500 && n * s <= 1400 ? page() : __libc_calloc(n, s); }
void free(void *p)
{
	static void (*f)(void *);
	if (is_ours(p)) { munmap(p, 4096); return; }
	if (!f) f = dlsym(RTLD_NEXT, "free");
	if (p) f(p);
}
void *realloc(void *p, size_t n)
{
	static void *(*f)(void *, size_t);
	if (is_ours(p)) { void *q = malloc(n); memcpy(q, p, n < 1400 ? n : 1400); munmap(p, 4096); return q; }
	if (!f) f = dlsym(RTLD_NEXT, "realloc");
	return f(p, n);
}
size_t malloc_usable_size(void *p)
{
	static size_t (*f)(void *);
	if (!f) f = dlsym(RTLD_NEXT, "malloc_usable_size");
	return is_ours(p) ? 1400 : p ? f(p) : 0;
}
"""
ENDED = r"""
$stdout.sync = true
def clean(n) = n.zero? ? [0] * 50 : clean(n - 1)
puts 1
STDIN.gets
20.times { Thread.new { 1 } }
sleep 0.2
clean(300)
3.times { GC.start }
sleep 0.05 while Dir.children("/proc/self/task").size > 2
Process.ppid
sleep 20
"""
with open("guard.c", "w") as f:
    f.write(GUARD)
with open("ended.rb", "w") as f:
    f.write(ENDED)
subprocess.run(["cc", "-O1", "-w", "-shared", "-fPIC", "-o", "guard.so", "guard.c"], check=True)
SYSTEM = "pid$target:libc.so.6:free:entry { @[lfile, lline] = count(); } "
LOCKS = f"pid$target:{MODULE}:rb_native_mutex_lock:entry {{ @[lfile, lline] = count(); }} "
for name, clause in (("free()", SYSTEM), ("locks", LOCKS)):
    p = subprocess.Popen(RUBY + ["ended.rb"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "LD_PRELOAD": "./guard.so"})
    p.stdout.readline()
    d = subprocess.Popen([DTRACE, "-q", "-x", "inprocsum", "-x", "inproc=auto", "-p", str(p.pid), "-n", clause + "BEGIN { system(\"echo go\"); } pid$target:libc.so.6:getppid:entry { exit(0); }", "-w"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    d.stdout.readline()
    p.stdin.write("go\n")
    p.stdin.flush()
    said = d.communicate(timeout=120 * PATIENCE)[1]
    check(f"{name}: in the kernel", "read lines of a language outside of its runtime" in said, True)
    check(f"{name}: lives", p.poll(), None)
    p.kill()
    p.wait()

# ---- what is not Ruby's

FAKE = r"""
#include <stdint.h>
int ruby_api_version[3] = {3, 1, 0};
__thread void *ruby_current_ec;
int rb_vm_exec(int n) { return n + 1; }
__attribute__((noinline)) int fake_alloc(int n) { __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory"); return n + 1; }
void fake_set(void *ec) { ruby_current_ec = ec; }
"""
HOST = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int fake_alloc(int n);
void fake_set(void *ec);
static uint64_t frames[64] __attribute__((aligned(64))), context[8], iseq[8];
int main(int argc, char **argv)
{
	const char *how = argv[1];
	uint64_t *ec = context;
	context[0] = (uintptr_t)frames, context[1] = 64, context[2] = (uintptr_t)(frames + 8);
	frames[8] = 0x2000, frames[10] = (uintptr_t)iseq;
	if (!strcmp(how, "none")) ec = NULL;
	if (!strcmp(how, "unmapped")) ec = (void *)0x10000;
	if (!strcmp(how, "misaligned")) ec = (void *)((char *)context + 1);
	if (!strcmp(how, "top")) context[2] = 0x7000;
	if (!strcmp(how, "between")) context[2] += 8;
	if (!strcmp(how, "huge")) context[1] = UINT64_MAX / 4;
	if (!strcmp(how, "stack")) context[0] = 0x20000, context[2] = 0x20000 + 64;
	if (!strcmp(how, "iseq")) frames[10] = 0x30000;
	fake_set(ec);
	puts("ready");
	fflush(stdout);
	for (volatile int n = 0;; n++) { if (strcmp(how, "unmapped")) fake_alloc(n); usleep(1000); }
}
"""
for name, text in (("fake.c", FAKE), ("host.c", HOST)):
    with open(name, "w") as f:
        f.write(text)
subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", "libruby-fake.so", "-Wl,-soname,libruby-fake.so", "fake.c"], check=True)
subprocess.run(["cc", "-O1", "-o", "host", "host.c", "./libruby-fake.so", "-Wl,-rpath," + os.getcwd()], check=True)
REASONS = {
    "none": "runs in no thread yet",
    "unmapped": "frames are not where they should be",
    "misaligned": "frames are not where they should be",
    "top": "frames are not where they should be",
    "between": "frames are not where they should be",
    "huge": "frames are not where they should be",
    "stack": "frames are not where they should be",
    "iseq": "frames are not where they should be",
    "zero": "frames are not where they should be",
}
for how, why in REASONS.items():
    p = subprocess.Popen(["./host", how], stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    r = run("-q", "-x", "inprocsum", "-x", "inproc=auto", "-p", str(p.pid), "-n", "pid$target:libruby-fake.so:fake_alloc:entry { @[lfile, lline] = count(); } tick-300ms { exit(0); }")
    check(f"{how}: status", r.returncode, 0)
    check(f"{how}: refused", f"clauses read lines of a runtime" in r.stderr and why in r.stderr, True)
    check(f"{how}: in the process", "dtrace: 0 places probed in process" in r.stderr, True)
    check(f"{how}: lives", p.poll(), None)
    p.kill()
    p.wait()

sys.exit(report())
