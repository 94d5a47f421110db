# SPDX-License-Identifier: MIT
"""The same programs under heaptrack and memprof: allocations, blocks and bytes that are alive at the end, and leaks."""
import glob, json, os, re, shutil, subprocess, sys

BUILD, TMP = os.environ["BUILD"], os.environ["TMP"]
MEMPROF, DTRACE = BUILD + "/src/cmd/memprof/memprof", os.environ["DTRACE"]
os.chdir(TMP)
for tool in "heaptrack", "heaptrack_print", "c++":
    if not shutil.which(tool):
        print(f"skip: there is no {tool}")
        sys.exit(67)
failed = []
SHOP = r"""
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>
#define APART __attribute__((noinline))
struct Shape { virtual ~Shape() {} double x = 1; };
struct Ring : Shape { std::string name = std::string(60, 'r'); };
struct Dot : Shape {};
static std::vector<Shape *> kept;
APART void lose_ring() { Shape *s = new Ring; asm volatile("" : : "r"(s) : "memory"); }
APART void lose_block() { void *p = malloc(123); asm volatile("" : : "r"(p) : "memory"); }
APART void keep_dot() { kept.push_back(new Dot); }
APART void grow() { void *p = calloc(3, 100); for (int n = 400; n <= 4000; n += 400) p = realloc(p, n); asm volatile("" : : "r"(p) : "memory"); free(p); }
APART void clear_stack() { volatile char room[16384]; for (unsigned i = 0; i < sizeof(room); i++) room[i] = 0; }
int main(int argc, char **argv)
{
	for (int i = 0; i < 300; i++) lose_ring();
	for (int i = 0; i < 70; i++) { lose_block(); grow(); }
	for (int i = 0; i < 500; i++) keep_dot();
	clear_stack();
	if (argc > 1) { if (write(1, "ready\n", 6) < 0) return 1; pause(); }
}
"""
SQL = """create table t(a integer primary key, b text);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 1000) insert into t select x, hex(x * 7919) from c;
create index i on t(b);
select count(*), sum(a) from t where b > '5';
"""
PYTHON = """
import json
class Thing:
    def __init__(self, n): self.n = [n] * 3
kept = [Thing(i) for i in range(300)]
for i in range(300): json.loads(json.dumps({"a": i, "b": [1.5, "x" * 30]}))
"""
# realloc(NULL) calls malloc()
COUNT = """
pid$target:libc.so.6:malloc:entry { @n[arg0] = count(); }
pid$target:libc.so.6:calloc:entry { @n[arg0 * arg1] = count(); }
pid$target:libc.so.6:memalign:entry, pid$target:libc.so.6:aligned_alloc:entry, pid$target:libc.so.6:posix_memalign:entry { @n[arg1] = count(); }
pid$target:libc.so.6:valloc:entry, pid$target:libc.so.6:pvalloc:entry { @n[arg0] = count(); }
pid$target:libc.so.6:realloc:entry /arg0/ { @n[arg1] = count(); }
END { printa("size %d: %@d\\n", @n); }
"""
RESERVE = 72704  # of the C++ library, for exceptions
for name, text in (("shop.cc", SHOP), ("run.sql", SQL), ("run.py", PYTHON), ("count.d", COUNT)):
    open(name, "w").write(text)
subprocess.run(["c++", "-O1", "-o", "shop", "shop.cc"], check=True)
# the program of Python takes all its objects from malloc, and its strings have the same order each time
ENV = dict(os.environ, PYTHONMALLOC="malloc", PYTHONHASHSEED="1")


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{str(shown)[:3000]}", flush=True)


def run(*argv):
    r = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=ENV, timeout=200)
    check(r.returncode == 0, argv, r)
    return r


def stacks(cost):
    """heaptrack's stacks, outermost first, each with a number that is the cost."""
    run("heaptrack_print", "-f", glob.glob("h.*")[0], "--disable-builtin-suppressions", "--disable-embedded-suppressions", "-F", "stacks", "--flamegraph-cost-type", cost)
    return [(line.rsplit(" ", 1)[0], int(line.rsplit(" ", 1)[1])) for line in open("stacks")]


def heaptrack(argv):
    """How many allocations there are of each size, blocks that are left, and the stacks of those with their bytes."""
    for name in glob.glob("h.*"):
        os.unlink(name)
    r = run("heaptrack", "-o", "h", *argv)
    run("heaptrack_print", "-f", glob.glob("h.*")[0], "-H", "sizes")
    sizes = {int(size): int(n) for size, n in (line.split()[:2] for line in open("sizes"))}
    return sizes, int(re.search(r"^\s+leaked allocations:\s*(\d+)", r.stdout + r.stderr, re.M)[1]), stacks("leaked")


def memprof(argv):
    r = run(MEMPROF, "malloc", "--json", "-n", "0", "-x", "maxrate=1000000000", *argv)
    check("drops" not in r.stderr, ("nothing is dropped", argv), r.stderr)
    return [json.loads(line) for line in r.stdout.splitlines() if line.startswith("{")]


def compare(argv):
    allocations, blocks, left = heaptrack(argv)
    rows = memprof(argv)
    # heaptrack is in C++ itself, and has the reserve freed before it counts
    rows = [r for r in rows if not (r["bytes"] == RESERVE and r["count"] == 1)]
    mine = sum(r["count"] for r in rows), sum(r["bytes"] for r in rows)
    check(mine == (blocks, sum(n for _, n in left)), (argv, "blocks and bytes"), (mine, blocks, left[:20], rows[:20]))
    text = run(DTRACE, "-q", "-s", "count.d", "-c", " ".join(f"'{a}'" for a in argv)).stdout
    counted = {int(size): int(n) for size, n in re.findall(r"^size (\d+): (\d+)$", text, re.M)}
    for sizes in allocations, counted:
        sizes.pop(RESERVE, None)
    # the number of the process and the time are in some of the texts that Python makes
    others = sum(abs(counted.get(size, 0) - allocations.get(size, 0)) for size in {*counted, *allocations})
    check(sum(allocations.values()) > 1000 and others <= (0 if argv[0] != PY else 20), (argv, "allocations by size"), (others, counted, allocations))
    print(argv[0], "allocations:", sum(allocations.values()), sum(counted.values()), "left:", (blocks, sum(n for _, n in left)), mine)
    return left, rows


PY = "/usr/bin/python3"
left, rows = compare(["./shop"])
for function in "lose_ring()", "lose_block()", "keep_dot()":
    theirs = sum(n for stack, n in left if function in stack.split(";"))
    mine = sum(r["bytes"] for r in rows if f"shop`{function}" in r["stack"])
    check(mine == theirs > 0, (function, "bytes by place"), (mine, theirs, left, rows))
if shutil.which("sqlite3"):
    compare([shutil.which("sqlite3"), ":memory:", ".read run.sql"])
else:
    print("skip: there is no sqlite3")
compare([PY, "-Ss", "run.py"])

# heaptrack's leaks are what was not freed, held or not; memprof leaks finds those of them that nothing holds
with subprocess.Popen(["./shop", "stay"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as p:
    check(p.stdout.readline() == "ready\n", "the program")
    lost = {r["type"]: r for r in map(json.loads, run(MEMPROF, "leaks", "--json", "-p", str(p.pid)).stdout.splitlines())}
    p.kill()
check(set(lost) == {"Ring", "136 bytes"} and lost["Ring"]["count"] == 300 and lost["136 bytes"]["count"] == 70, "leaks", lost)
# blocks of 24 and of 123 bytes are of 32 and 144 with malloc's header, texts of 61 of 80
theirs = sum(n for stack, n in left if "lose_ring()" in stack or "lose_block()" in stack)
check(theirs == 300 * (48 + 61) + 70 * 123 and sum(r["held"] for r in lost.values()) == 300 * (64 + 80) + 70 * 144, "bytes of leaks", (theirs, lost))
sys.exit(1 if failed else 0)
