# SPDX-License-Identifier: MIT
"""Programs that lose known numbers of blocks: memprof leaks. Those of other allocators are refused, bad input too."""
import glob, json, os, shutil, signal, subprocess, sys

MEMPROF, MDB, TMP = os.environ["BUILD"] + "/src/cmd/memprof/memprof", os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
LOSE = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *volatile kept[500];
static struct ops { int (*open)(void); } shape_ops;
struct shape { struct ops *ops; int x[9]; };
__attribute__((noinline)) static void lose(void)
{
	struct node { struct node *next; char room[56]; } *list = 0, *k;

	for (int i = 0; i < 1000; i++)
		memset(malloc(123), 'x', 123);
	for (int i = 0; i < 10; i++)
		k = calloc(1, sizeof(*k)), k->next = list, list = k;
	for (int i = 0; i < 20; i++)
		((struct shape *)calloc(1, sizeof(struct shape)))->ops = &shape_ops;
}
__attribute__((noinline)) static void keep(void) { for (int i = 0; i < 500; i++) memset(kept[i] = malloc(123), 'x', 123); }
__attribute__((noinline)) static void scrub(void) { char room[20000]; memset(room, 0, sizeof(room)); __asm__ volatile("" : : "r"(room) : "memory", "rbx", "r12", "r13", "r14", "r15"); }
int main(int argc, char **argv)
{
	char *overrun = malloc(24);
	void *volatile other = malloc(24);
	lose();
	keep();
	if (argc > 1)
		memset(overrun, 'A', 40);
	scrub();
	write(1, "ready\n", 6);
	pause();
	return other == overrun;
}
"""
FOO = r"""
#include <map>
#include <memory>
#include <string>
#include <unistd.h>
namespace shop {
template <class T> struct Box { virtual ~Box() {} T x[4]; };
struct Order : Box<double> { std::string name = std::string(100, 'x'); };
}
namespace { struct Hidden { virtual ~Hidden() {} int y[20]; }; }
struct Foo { virtual ~Foo() {} int y[10]; };
std::map<int, std::shared_ptr<shop::Order>> keep;
Foo *foos[50];
__attribute__((noinline)) void lose() { for (int i = 0; i < 300; i++) new Foo; for (int i = 0; i < 7; i++) new shop::Order; for (int i = 0; i < 3; i++) new Hidden; }
__attribute__((noinline)) void scrub() { volatile char r[20000]; for (auto &c : r) c = 0; }
int main() { for (int i = 0; i < 100; i++) keep[i] = std::make_shared<shop::Order>(); for (auto &f : foos) f = new Foo; lose(); scrub(); write(1, "ready\n", 6); pause(); }
"""
CLASSES = [("Foo", 300, 19200, 19200), ("shop::Order", 7, 560, 1344), ("(anonymous namespace)::Hidden", 3, 288, 288)]
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{shown}")


def run(*args):
    r = subprocess.run([MEMPROF, "leaks", *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    return r.returncode, r.stdout, r.stderr


class Program:
    """A program that runs until the end of the block, from its line "ready" on."""

    def __init__(self, *command, **env):
        self.p = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **env})

    def __enter__(self):
        self.p.stdout.readline()
        return str(self.p.pid)

    def __exit__(self, *_):
        self.p.kill()
        self.p.wait()


def rows(*args):
    status, out, err = run("--json", "-n", "0", *args)
    check(status == 0, args, out + err)
    return [json.loads(line) for line in out.splitlines()], err


def compiled(compiler, source, name, *flags):
    if not shutil.which(compiler):
        return False
    suffix = ".cc" if "++" in compiler else ".c"
    open("source" + suffix, "w").write(source)
    return subprocess.run([compiler, "-O0", "-w", *flags, "-o", name, "source" + suffix]).returncode == 0


def losses_are_exact(what, notes, *args):
    found, err = rows(*args)
    shown = sorted((r["type"], r["kind"], r["count"], r["bytes"], r["held"]) for r in found)
    # a block of malloc has 8 bytes more, and is a multiple of 16
    check(shown == [("136 bytes", "block", 1000, 144000, 144000), ("56 bytes -> lose`shape_ops", "block", 20, 1280, 1280),
                    ("72 bytes", "block", 1, 80, 800)], what, shown)
    check([n in err for n in notes] == [True] * len(notes) and len(err.splitlines()) == len(notes), f"{what}: notes", err)


os.chdir(TMP)
if not compiled("cc", LOSE, "lose"):
    print("there is no C compiler")
    sys.exit(67)
with Program("./lose") as pid:
    losses_are_exact("a process", [], "-p", pid)
    subprocess.run([MDB, "-S", pid, "-w", "core", "-e", "::status"], stdin=subprocess.DEVNULL, capture_output=True)
    # pages of .bss that were never written to are no part of it
    losses_are_exact("a core file", [" bytes cannot be read: "], "core")
    check("\nState:\tS" in open(f"/proc/{pid}/status").read(), "the process goes on")
    status, out, err = run("-v", "-n", "1", "-p", pid)
    lines = out.splitlines()
    check(status == 0 and lines[0].split() == ["BYTES", "BLOCKS", "WITH", "HELD", "EXAMPLE", "TYPE"] and lines[1].startswith("  144.0 kB      1000   144.0 kB ")
          and lines[1].endswith("  136 bytes") and lines[2] == "... 2 more rows, 2.1 kB"
          and lines[3].startswith("  146.1 kB  in 1030 blocks have leaked, of ") and " for which the process stood still for " in err, "the table", out + err)
with Program("./lose", "overrun") as pid:
    _, err = rows("-p", pid)
    check("the heap is damaged at 1 place, the first of which is at 0x" in err and "size of the chunk leads out of the heap" in err, "a damaged heap", err)

for name, flags, stripped in (("foo", (), False), ("foo-stripped", ("-s",), True), ("foo-static", ("-s", "-static"), True), ("foo-without-rtti", ("-fno-rtti",), False)):
    if not compiled("c++", FOO, name, *flags):
        print(f"skip: {name} cannot be built")
        continue
    with Program("./" + name) as pid:
        found, _ = rows("-p", pid)
        check([(r["type"], r["count"], r["bytes"], r["held"]) for r in found if r["kind"] == "c++"] == CLASSES and len(found) == 3, name, found)

# With -d the places of blocks that were asked for meanwhile are known, and of the others it is said how many there are.
PLACES = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *volatile kept[500];
__attribute__((noinline)) static void lose_one(int n) { for (int i = 0; i < n; i++) memset(malloc(123), 'x', 123); __asm__ volatile(""); }
__attribute__((noinline)) static void lose_other(int n) { for (int i = 0; i < n; i++) memset(calloc(1, 123), 'x', 123); __asm__ volatile(""); }
__attribute__((noinline)) static void keep(void) { for (int i = 0; i < 500; i++) memset(kept[i] = malloc(123), 'x', 123); __asm__ volatile(""); }
__attribute__((noinline)) static void scrub(void) { char room[20000]; memset(room, 0, sizeof(room)); __asm__ volatile("" : : "r"(room) : "memory", "rbx", "r12", "r13", "r14", "r15"); }
int main(void)
{
	lose_one(50);
	scrub();
	write(1, "ready\n", 6);
	while (access("go", F_OK) != 0) {
		free((void *)(kept[0] = malloc(1000)));
		usleep(10000);
	}
	lose_one(70);
	lose_other(30);
	keep();
	for (int i = 0; i < 100; i++)
		free(kept[i]), kept[i] = 0;
	scrub();
	write(2, "done\n", 5);
	pause();
}
"""
if compiled("cc", PLACES, "places"):
    for form in ((), ("--json",)):
        if os.path.exists("go"):
            os.unlink("go")
        victim = subprocess.Popen(["./places"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        victim.stdout.readline()
        tracer = subprocess.Popen([MEMPROF, "leaks", "-v", "-s", "3", "-d", "3600", *form, "-p", str(victim.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = tracer.stderr.readline()
        while said and "events a second are traced" not in said:  # of the blocks that it makes while it waits
            said = tracer.stderr.readline()
        open("go", "w").close()
        victim.stderr.readline()
        tracer.send_signal(signal.SIGINT)
        out, err = tracer.communicate(timeout=120)
        victim.kill()
        victim.wait()
        check(tracer.returncode == 0 and "of 150 leaked blocks that no other one holds, 100 were asked for while malloc was traced" in err, "places are told", out + err)
        if form:
            found = [json.loads(l) for l in out.splitlines()]
            check(sorted((r["count"], any("lose_one" in f for f in r.get("stack", [])), any("lose_other" in f for f in r.get("stack", []))) for r in found) ==
                  [(30, False, True), (50, False, False), (70, True, False)], "places", out)
        else:
            lines = [l.strip() for l in out.splitlines()]
            at = [i for i, l in enumerate(lines) if l.endswith(" 136 bytes")]
            check([lines[i].split()[2] for i in at] == ["70", "50", "30"] and "places`lose_one" in lines[at[0] + 1:at[1]] and at[2] == at[1] + 1 and
                  "places`lose_other" in lines[at[2] + 1:], "places as rows", out)

# Other allocators: nothing is known of their blocks, and nothing else is said.
for library in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2"):
    path = (glob.glob(f"/usr/lib/*-linux-gnu/{library}") or [None])[0]
    if not path:
        print(f"skip: there is no {library}")
        continue
    with Program("./lose", LD_PRELOAD=path) as pid:
        status, out, err = run("-p", pid)
        check(status == 1 and out == "" and "blocks of malloc are not known: " in err and library.split(".so")[0] in err, library, out + err)
for flags in ((), ("-static",)):
    if not compiled("musl-gcc", LOSE, "lose-musl", *flags):
        print("skip: there is no musl-gcc")
        continue
    with Program("./lose-musl") as pid:
        status, out, err = run("-p", pid)
        check(status == 1 and out == "" and "there is no heap of glibc's malloc" in err and "\nhint: " in err, f"musl {flags}", out + err)

open("text", "w").write("no core file\n")
for args, status, text in ((("-p", "999999999"), 1, "there is no process 999999999"), (("missing",), 1, "cannot open the core file 'missing'"),
                           (("text",), 1, "'text' is no core file"), ((), 2, "which process?"), (("-p", "1", "core"), 2, "one word too many: 'core'"),
                           (("-c", "true"), 2, "-c is no option of 'memprof leaks'"), (("-p", "1", "--flame", "x.svg"), 2, "--flame is no option of"),
                           (("-p", "1", "-o", "2"), 2, "-o is no option of"), (("-d", "1", "core"), 2, "nothing can be traced in a core file"),
                           (("-p", "1", "-s", "3"), 2, "with -d SECONDS"), (("-d", "3", "-p", "999999999"), 1, "cannot trace process 999999999"), (("-p", "x"), 2, "expected a number")):
    r = run(*args)
    check(r[0] == status and r[1] == "" and text in r[2], args, r)
sys.exit(1 if failed else 0)
