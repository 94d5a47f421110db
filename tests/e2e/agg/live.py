# SPDX-License-Identifier: MIT
"""live() and dead() over a program that takes and gives back known numbers of objects (live.c)."""
import itertools, json, os, re, signal, subprocess, sys, time

DTRACE, TMP, PATIENCE = os.environ["DTRACE"], os.environ["TMP"], int(os.environ.get("PATIENCE", "1"))
PROGRAM = TMP + "/live"
CLAUSES = """pid$target:live:take:entry { self->n = arg0; self->place = arg1; self->in = 1; }
pid$target:live:take:return /self->in/ { @[self->place] = live(arg1, self->n); self->in = 0; }
pid$target:live:give:entry { dead(arg0); }
"""
TABLE = 'END { printa("%d: %@d bytes, %@count of age %@age\\n", @); }'
bad = []


def check(what, got, wanted):
    if got != wanted:
        bad.append(f"{what}: {got!r}, not {wanted!r}")


def run(text, *argv, command=PROGRAM):
    p = subprocess.run([DTRACE, "-q", *argv, "-c", command, "-n", text], capture_output=True, text=True, timeout=120 * PATIENCE)
    if p.returncode:
        bad.append(f"status {p.returncode}: {p.stderr}")
    return p.stdout, p.stderr


def rows(text):
    found = re.findall(r"^(\d+): (\d+) bytes, (\d+) of age ([\d.dhms]+)$", text, re.M)
    if any(not re.fullmatch(r"\d+ms|\d+\.\ds|\d+m\d\ds", r[3]) for r in found):
        bad.append(f"an age: {found}")
    return {int(place): (int(size), int(n)) for place, size, n, _ in found}


everything = {1: (2400, 100), 3: (1000, 10), 5: (20, 1)}
out, err = run(CLAUSES + TABLE)
check("known numbers", rows(out), everything)
check("nothing to say", err, "")
out, err = run(CLAUSES + TABLE, "-x", "follow=fork")
check("with the child's", rows(out), everything | {7: (35, 5)})
out, _ = run(CLAUSES + TABLE, "-x", "livemin=1h")
check("nothing is so old", rows(out), {})
out, _ = run(CLAUSES + "END { printa(\"%d: %@count %@d\\n\", @); printa(\"%5@count|%-5@count|%-8@age|\\n\", @); }", command=PROGRAM + " exec")
check("the number first, and what was taken before the exec", re.findall(r"^\d: .*$", out, re.M), ["2: 3 15"])
check("widths", bool(re.search(r"^    3\|3    \|[\dms.]+ *\|$", out, re.M)), True)

# With a time, what came later stays.
out, err = run('BEGIN { @[1] = live(0x1000, 1); @[2] = live(0x2000, 2); @[3] = live(0x3000, 4); } '
               'BEGIN { dead(0x1000, timestamp - 1000000000); dead(0x2000, timestamp + 1000000000); dead(0x4000, timestamp); exit(0); } ' + TABLE)
check("what came later" + err, rows(out), {1: (1, 1), 3: (4, 1)})

# Where a process cannot read the time, as on an emulated processor, no place is in it.
tried = subprocess.run([DTRACE, "-q", "-x", "inproc=all", "-c", PROGRAM, "-n", "pid$target:live:give:entry { @ = count(); }"], capture_output=True, text=True)
why = re.search(r"time cannot be read in process \d+: (.*)", tried.stderr)
has_inproc = not why
if why:
    print("skip: live() in the process: " + why[1])

# Four threads give and take at the same addresses.
out, err = run(CLAUSES + TABLE, command=PROGRAM + " race")
check("a race" + err, rows(out), {9: (1280, 40)})
if has_inproc:
    out, err = run(CLAUSES + TABLE, "-x", "inproc=all", command=PROGRAM + " race")
    check("a race, with the engine in the process" + err, rows(out), {9: (1280, 40)})

# The engine in the process has a table of its own: the same numbers.
for how in ("all", "off") if has_inproc else ("off",):
    out, err = run(CLAUSES + TABLE, "-x", f"inproc={how}", "-x", "inprocsum")
    check(f"inproc={how}: numbers", rows(out), everything)
    if how == "all":
        check("all places are in the process", bool(re.search(r"places? probed in process \d+ itself, 0 by uprobes$", err, re.M)), True)
if has_inproc:
    out, err = run(CLAUSES + TABLE, "-x", "inproc=all", "-x", "livemin=1h")
    check("inproc: nothing is so old" + err, rows(out), {})
    out, err = run(CLAUSES + TABLE, "-x", "inproc=all", command=PROGRAM + " many")
    check("inproc: many objects" + err, rows(out), {6: (16000, 1000)})
    out, err = run(CLAUSES + TABLE, "-x", "inproc=all", "-x", "livesize=1", command=PROGRAM + " many")
    found, lost = rows(out), re.search(r"(\d+) objects not followed by live", err)
    check("inproc: what finds no room is said" + err, found[6][1] + int(lost[1] if lost else 0), 1000)
out, err = run(CLAUSES + "END { printa(\"%d: %@count %@d\\n\", @); }", "-x", "inproc=auto", command=PROGRAM + " exec")
check("inproc: what was taken before the exec" + err, re.findall(r"^\d: .*$", out, re.M), ["2: 3 15"])
# A dead() that needs the kernel takes the live() of the process there.
out, err = run(CLAUSES.replace("{ dead(arg0); }", "/execname != \"other\"/ { dead(arg0); }") + TABLE, "-x", "inproc=auto", "-x", "inprocsum")
check("dead() in the kernel", rows(out), everything)
check("and live() with it", bool(re.search(r"share variables with uprobes", err)), True)
# What clear() and trunc() leave out would fill the table of a process, where nobody else gives it back; behind the last row it may, and so may objects that go by themselves.
for argv, more, is_there in (([], "tick-1s { trunc(@); }", False), ([], "tick-1s { clear(@); }", False), (["-x", "livecheck=8"], "", True), ([], "tick-1s { @n = count(); trunc(@n); }", True),
                             ([], "END { trunc(@, 1); }", True)):
    out, err = run(CLAUSES + more, "-x", "inproc=auto", "-x", "inprocsum", *argv)
    check(f"inproc, {argv} {more}: {err}", bool(re.search(r"\d+ the kernel gives back what goes without dead\(\)", err)), not is_there)
    check(f"inproc, {argv} {more}: places", bool(re.search(r"[1-9]\d* places? probed in process \d+ itself", err)), is_there and has_inproc)
# A library may be closed, and opened again, when its places are the kernel's; not one that the program needs by its name.
with open(TMP + "/thing.c", "w") as f:
    f.write("""static volatile unsigned long sum;
__attribute__((noinline)) void thing_make(unsigned long addr) { sum += addr * 3; sum ^= addr; if (sum == 77) sum = addr; }
""")
with open(TMP + "/user.c", "w") as f:
    f.write("""void thing_make(unsigned long addr);
int main(void) { for (int i = 1; i <= 100; i++) thing_make(i * 16); return 0; }
""")
subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", TMP + "/libthing.so", TMP + "/thing.c"], check=True)
subprocess.run(["cc", "-O1", "-o", TMP + "/user", TMP + "/user.c", TMP + "/libthing.so"], check=True)
subprocess.run(["cc", "-O1", "-o", TMP + "/whole", TMP + "/user.c", TMP + "/thing.c"], check=True)
subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-Wl,-soname,libnamed.so", "-o", TMP + "/libnamed.so", TMP + "/thing.c"], check=True)
subprocess.run(["cc", "-O1", "-o", TMP + "/namer", TMP + "/user.c", TMP + "/libnamed.so", "-Wl,-rpath," + TMP], check=True)
for program, module, is_there in (("user", "libthing.so", False), ("namer", "libnamed.so", True), ("whole", "whole", True), ("whole", "a.out", True)):
    out, err = run("pid$target:%s:thing_make:entry { @[1] = live(arg0, 2); }" % module + TABLE, "-x", "inproc=auto", "-x", "inprocsum", command=TMP + "/" + program)
    check(f"{module}: {err}", rows(out), {1: (200, 100)})
    check(f"{module}: places: {err}", bool(re.search(r"1 share variables with probes that may come", err)), not is_there)
# Memory says whether an object is there: the word behind its first one is its key, or leads to it.
with open(TMP + "/kinds.c", "w") as f:
    f.write("""#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
struct kind { uint64_t a, b; struct kind *base; };
struct thing { uint64_t flags; struct kind *kind; };
static struct kind one, own = {0, 0, &one}, *volatile kinds = &one;
__attribute__((noinline)) struct thing *make(struct thing *t, struct kind *k) { t->flags = 1; t->kind = k; __asm__ volatile("" ::: "memory"); return t; }
int main(void) {
	static struct thing things[100000], *t;
	for (int i = 0; i < 1000; i++) t = make(&things[i * 100], kinds);
	for (int i = 0; i < 300; i++) things[i * 100].kind = (void *)&things[i]; /* freed */
	for (int i = 300; i < 400; i++) things[i * 100].kind = &own;
	write(1, "made\\n", 5);
	char c;
	return read(0, &c, 1) != 1 || !t;
}
""")
subprocess.run(["cc", "-O1", "-g", "-o", TMP + "/kinds", TMP + "/kinds.c"], check=True)
CHECKS = ((["-x", "livecheck=8", "-x", "livebase=16"], 700, 300), (["-x", "livecheck=8"], 600, 400), ([], 1000, 0))
for mode, (argv, count, gone) in itertools.product(([], ["-x", "inproc=auto"], ["-x", "inproc=auto", "-x", "liveorder"]), CHECKS):
    d = subprocess.Popen([DTRACE, "-q", *mode, *argv, "-n", "pid$target:kinds:make:entry { @[arg1] = live(arg0, 16); } syscall::write:return /pid == $target/ { exit(0); } END { printa(\"%@count things\\n\", @); }",
                          "-c", TMP + "/kinds"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out = d.stdout.readline()
    while out == "made\n":
        out = d.stdout.readline()
    err = d.communicate("x", timeout=60 * PATIENCE)[1]  # exit() may have ended it, and the program with it
    told = sum(int(n) for n in re.findall(r"(\d+) objects? of live\(\) (?:was|were) gone", err))
    unseen = sum(int(n) for n in re.findall(r"(\d+) objects? of live\(\) could not be checked", err))
    if "answer too slowly" in err:  # on an emulated machine most of the objects may not be looked at, which is told
        check(f"livecheck, {gone} are gone, {told} told, {unseen} unseen: {err}", told <= gone <= told + unseen, True)
        count, gone = 1000 - told, told
    check("livecheck " + " ".join(mode + argv) + err, out, f"{count} things\n")
    check("told", told, gone)

# Each object that is gone is told once, also where its entry stays in the table: of 20, ten go, and are made again while the other ten go.
with open(TMP + "/waves.c", "w") as f:
    f.write("""#include <stdint.h>
#include <unistd.h>
struct thing { uint64_t flags, kind; };
static volatile uint64_t kind = 7;
__attribute__((noinline)) void make(struct thing *t, uint64_t k) { t->flags = 1; t->kind = k; __asm__ volatile("" ::: "memory"); }
int main(void) {
	static struct thing things[20];
	char c;
	for (int i = 0; i < 20; i++) make(&things[i], kind);
	for (int wave = 0; wave < 2; wave++) {
		for (int i = 0; i < 10; i++) things[10 * wave + i].kind = 0; /* freed */
		for (int i = 0; i < 10 && wave; i++) make(&things[i], kind);
		write(1, "wave\\n", 5);
		if (read(0, &c, 1) != 1) return 1;
	}
	return 0;
}
""")
subprocess.run(["cc", "-O1", "-g", "-o", TMP + "/waves", TMP + "/waves.c"], check=True)
for mode in ([], ["-x", "inproc=auto"], ["-x", "inproc=auto", "-x", "liveorder"]) if has_inproc else ([],):
    d = subprocess.Popen([DTRACE, "-q", *mode, "-x", "inprocsum", "-x", "livecheck=8", "-n", "pid$target:waves:make:entry { @[arg1] = live(arg0, 16); } syscall::write:return /pid == $target/ { printa(\"%@count things\\n\", @); }",
                          "-c", TMP + "/waves"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seen = []
    while len(seen) < 2 and (line := d.stdout.readline()):
        if "things" in line:
            seen.append(line)
            d.stdin.write("x")
            d.stdin.flush()
    err = d.communicate(timeout=60 * PATIENCE)[1]
    check("waves in the process: " + err, "1 place probed in process" in err, bool(mode))
    if "answer too slowly" in err:
        continue
    check("waves " + " ".join(mode) + err, seen, ["10 things\n"] * 2)
    check("waves told " + " ".join(mode) + err, sum(int(n) for n in re.findall(r"(\d+) objects? of live\(\) (?:was|were) gone", err)), 20)

# Without a format: bytes, number, age, and what found no room.
out, err = run(CLAUSES, "-x", "livesize=64", command=PROGRAM + " both")
m = re.search(r"^ +1 +1536 bytes in 64 objects, oldest [\dms.]+ \(not followed: 36, 864 bytes\)$", out, re.M)
check("a full table: " + out, bool(m), True)
check("and of the others: " + out, bool(re.search(r"^ +2 +0 bytes in 0 objects \(not followed: 3, 15 bytes\)$", out, re.M)), True)
check("is said: " + err, sum(map(int, re.findall(r"(\d+) objects? not followed by live\(\)", err))), 39)
check("with a remedy", "-x livesize=4000000" in err, True)

out, err = run(CLAUSES, "-x", "oformat=jsonl")
data = [json.loads(l) for l in out.splitlines() if "aggregation-data" in l]
found = {r["keys"][0]: (r["live"], r["objects"]) for r in data[0]["aggregation-data"]} if data else err
check("JSON", found, everything)
check("its function", data and data[0]["aggregation-function"], "live")

# Whatever the number means, and addresses of the kernel in whichever process they are.
out, _ = run("""BEGIN { @a = live(3, 10); @a = live(3, 11); @a = live(4, 1); @a = live(-4096, 100); dead(5); dead(4); normalize(@a, 11);
    @gone["x"] = live(8, 8); dead(8); exit(0); }""")
check("numbers", out.strip(), "10 bytes in 2 objects, oldest " + out.strip().rpartition(" ")[2])
for clause, message in (('@ = live(1)', "live( ) prototype mismatch"), ('@ = live(1, "x")', "live( ) argument #2 (bytes) must be of scalar type"),
                        ("dead()", "dead( ) prototype mismatch"), ('@ = count(); printa("%@age", @)', "conversion #1 (%@age) is only for live( )")):
    p = subprocess.run([DTRACE, "-en", "BEGIN { %s; }" % clause], capture_output=True, text=True)
    check(clause + ": " + p.stderr, message in p.stderr and p.returncode == 1, True)
p = subprocess.run([DTRACE, "-x", "livecheck=5000", "-en", "BEGIN"], capture_output=True, text=True)
q = subprocess.run([DTRACE, "-qn", 'BEGIN { setopt("livecheck", "8"); exit(0); }'], capture_output=True, text=True)
check("setopt() of livecheck: " + q.stderr, "couldn't set option \"livecheck\" to \"8\": Operation illegal when tracing is active" in q.stderr, True)
for order, more in (("off", ""), ("on", ": with option liveorder there are no ages")):
    q = subprocess.run([DTRACE, "-x", f"liveorder={order}", "-qn", """BEGIN { @ = live(1, 10); } tick-50ms { setopt("livemin", "1ns"); printa("%@count thing\\n", @); exit(0); } END { trunc(@); }"""],
                       capture_output=True, text=True)
    check(f"liveorder={order}: {q.stderr}", q.stdout.strip(), "1 thing")
    check(f"liveorder={order}, setopt() of livemin: {q.stderr}", "couldn't set option \"livemin\" to \"1ns\": Operation illegal when tracing is active" + more in q.stderr, bool(more))
check("livecheck=5000: " + p.stderr, "lies between 0 and 4096" in p.stderr and p.returncode != 0, True)

# The example of the guide, over malloc() itself.
out, _ = run("""pid$target:libc.so.6:malloc:entry { self->n = arg0; }
pid$target:libc.so.6:malloc:return /self->n && arg1/ { @[lstack(3), ustack(8)] = live(arg1, self->n); self->n = 0; }
pid$target:libc.so.6:free:entry /arg0/ { dead(arg0); }""")
check("malloc(): " + out, bool(re.search(r"libc\.so\.6`malloc[^\n]*\n +live`take[^\n]*\n +live`all[^\n]*\n +live`main(?:[^\n]*\n){1,4}? +2400 bytes in 100 objects", out)), True)

# Objects of Python by the line that made them.
python = "/usr/bin/python3"
with open(TMP + "/things.py", "w") as f:
    f.write("""class Thing:
    pass
kept = []
def keep():
    kept.append(Thing())
def waste():
    Thing()
for i in range(200):
    keep()
    waste()
""")
probe = subprocess.run([DTRACE, "-ln", "pid$target:a.out:PyType_GenericAlloc:entry,pid$target:a.out:_Py_Dealloc:entry", "-c", python + " -S -c 0"],
                       capture_output=True, text=True)
if "PyType_GenericAlloc" in probe.stdout and "_Py_Dealloc" in probe.stdout:
    out, err = run("""pid$target:a.out:PyType_GenericAlloc:return { @[lstack(1)] = live(arg1, 1); }
pid$target:a.out:_Py_Dealloc:entry { dead(arg0); }""", command=python + " -S " + TMP + "/things.py")
    lines = {int(line): int(n) for line, n in re.findall(r"things\.py:(\d+)[^\n]*\]\n +(\d+) bytes", out)}
    # the loop of CPython 3.11 frees objects without _Py_Dealloc(): the next one at the address replaces them
    check("Python: " + out + err, (lines.get(5), lines.get(7, 0) <= 1), (200, True))
else:
    print("skip: this Python's functions have no names")

# SIGUSR1 prints what there is, and the run goes on.
for form in ("text", "flame"):
    if os.path.exists(TMP + "/out." + form):
        os.unlink(TMP + "/out." + form)
    d = subprocess.Popen([DTRACE, "-q", "-x", "oformat=" + form, "-x", "picture=svg", "-o", TMP + "/out." + form, "-n", CLAUSES.replace("@[", "@[ustack(1), "), "-c", PROGRAM + " wait"],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check("the program", d.stdout.readline(), "taken\n")
    d.send_signal(signal.SIGUSR1)
    for _ in range(600 * PATIENCE):
        with open(TMP + "/out." + form) as f:
            if form == "flame" or "objects" in f.read():
                break
        time.sleep(0.1)
    if form == "flame":
        check("a picture", "SIGUSR1 prints nothing" in d.stderr.readline(), True)
    d.stdin.write("go\n")
    _, err = d.communicate(timeout=60 * PATIENCE)
    check("goes on: " + err, d.returncode, 0)
    with open(TMP + "/out." + form) as f:
        text = f.read()
    if form == "text":
        check("twice: " + text, re.findall(r"(\d+) bytes in (\d+) objects", text), [("2400", "100"), ("1200", "50")])
    else:
        check("bytes in the picture", "alive" in text and "1,200" in text or "1200" in text, True)
print("\n".join(bad))
sys.exit(bool(bad))
