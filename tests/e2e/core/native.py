# SPDX-License-Identifier: MIT
"""A C program that says what malloc has given it: the same in programs over a copy of it and over its core file. Then what is refused."""
import json, os, re, signal, struct, subprocess, sys

sys.path.insert(0, os.environ["SRC"] + "/tests/e2e")
sys.dont_write_bytecode = True
from core_files import kernel_cores, unlimited

BUILD, TMP = os.environ["BUILD"], os.environ["TMP"]
DTRACE, MDB = BUILD + "/src/cmd/dtrace/dtrace", BUILD + "/src/cmd/mdb/mdb"
SPEC = os.environ["SRC"] + "/tests/e2e/spec"
SOURCE = r"""
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define N 300
static void *keep[N], *gone[N];
static pthread_barrier_t met;
static __attribute__((noinline)) void wait_here(void) { pthread_barrier_wait(&met); for (;;) pause(); }
static void *thread(void *a) { wait_here(); return a; }
int main(void)
{
	pthread_t t;
	for (int i = 0; i < N; i++) { keep[i] = malloc(50 + 37 * i); gone[i] = malloc(2000); }
	keep[N - 1] = malloc(1 << 20);
	strcpy(keep[7], "a text of number seven");
	for (int i = 0; i < N; i += 2) free(gone[i]);
	pthread_barrier_init(&met, 0, 6);
	for (int i = 0; i < 5; i++) pthread_create(&t, 0, thread, 0);
	pthread_barrier_wait(&met);
	for (int i = 0; i < N; i++) printf("%lx:%zu ", (long)keep[i], malloc_usable_size(keep[i]));
	printf("\n"); fflush(stdout);
	getchar();
	abort();
}
"""
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{str(shown)[:3000]}")


def dtrace(*args, status=0):
    r = subprocess.run([DTRACE, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    check(r.returncode == status, f"{' '.join(args)}: status {r.returncode}", r.stdout + r.stderr)
    return r.stdout if status == 0 else r.stdout + r.stderr


def mdb(target, commands):
    r = subprocess.run([MDB, "-o", "json", "-e", commands, *target], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    return [json.loads(line)["rows"] for line in r.stdout.splitlines()]


def lines(target, program):
    return [line.split() for line in dtrace("--core", target, "-qn", program).splitlines() if line]


def chunks_are_known(target, given, where):
    rows = lines(target, 'chunk::: { printf("%s %x %d %s %d\\n", probename, arg0, arg1, args[0]->state, args[0]->size); }')
    busy = {int(a, 16): int(n) for name, a, n, *_ in rows if name == "busy"}
    free = [r for r in rows if r[0] == "free"]
    wrong = {hex(a): (n, busy.get(a)) for a, n in given.items() if busy.get(a) != n}
    check(not wrong, f"{where}: what malloc has given is busy", wrong)
    check(len(free) >= 140 and {r[3] for r in free} >= {"free", "top"}, f"{where}: free chunks", free[:5])
    sizes = list(busy.values())
    program = ("chunk:::busy { @[\"count\"] = count(); @s = sum(arg1); @lo = min(arg1); @hi = max(arg1); @mean = avg(arg1); @q = quantize(arg1); "
               "@l = lquantize(arg1, 0, 8000, 1000); n++; } END { printf(\"%d\\n\", n); }")
    text = dtrace("--core", target, "-qn", program)
    numbers = [int(n) for n in re.findall(r"(-?\d+)$", text.split("value")[0], re.M)]
    # variables first; keyless aggregations follow in the order of the text
    check(numbers[0] == len(sizes) and sorted(numbers[1:]) == sorted([len(sizes), sum(sizes), min(sizes), max(sizes), sum(sizes) // len(sizes)]),
          f"{where}: aggregations", (numbers, len(sizes), sum(sizes), min(sizes), max(sizes)))
    want = {}
    for n in sizes:
        want[1 << (n.bit_length() - 1)] = want.get(1 << (n.bit_length() - 1), 0) + 1
    first, second = re.split(r"value +-", text)[1:3]
    got = {int(v): int(n) for v, n in re.findall(r"^ *(\d+) \|[@ ]* +(\d+)", first, re.M) if int(n)}
    check(got == want, f"{where}: quantize", (got, want))
    linear = sum(int(n) for n in re.findall(r"\|[@ ]* +(\d+)", second))
    check(linear == len(sizes), f"{where}: lquantize", second)
    seven = list(given)[7]
    text = dtrace("--core", target, "-qn", f"chunk:::busy /arg0 == {seven}/ {{ printf(\"%s|%s|%d\\n\", copyinstr(arg0), stringof(copyin(arg0, 6)), *(char *)copyin(arg0, 1)); }}")
    check(text.strip() == "a text of number seven|a text|97", f"{where}: memory", text)


def threads_are_known(target, opened, where, main):
    rows = lines(target, 'thread:::entry { printf("%d %s %s %d\\n", arg0, execname, args[0]->name, args[0]->is_first); }')
    known = [[str(r["tid"]), r["name"]] for r in mdb(opened, "::threads")[0]]
    check([r[:2] for r in rows] == known and len(known) == 6 and all(r[1] == r[2] for r in rows), f"{where}: threads", (rows, known))
    check([r[3] for r in rows].count("1") == 1 and int(rows[0][0]) == main, f"{where}: the first thread", rows)


def stacks_are_known(target, opened, where):
    """Merged stacks are those that mdb groups; frames are those that it lists."""
    text = dtrace("--core", target, "-n", "frame:::entry { @[ustack()] = count(); }", "-q")
    stacks, stack = {}, []
    for line in text.splitlines():
        if re.fullmatch(r" +\d+", line):
            stacks["\n".join(stack)], stack = int(line), []
        elif line.strip():
            stack.append(line.strip())
    groups, n = {}, 0
    for r in mdb(opened, "::stack -u -n")[0]:
        if "count" in r:
            n, frames = r["count"], []
        elif "name" in r:
            frames.append(r["name"])
            groups[n, len(groups) if len(frames) == 1 else len(groups) - 1] = frames
    want = {"\n".join(f): n for (n, _), f in groups.items()}
    check(stacks == want and 5 in stacks.values(), f"{where}: stacks", (stacks, want))
    frames = lines(target, 'frame::: { printf("%d %d %s %s %s\\n", tid, arg1, args[0]->function, args[0]->object, args[0]->name); }')
    listed = [[str(r["tid"]), r["name"]] for r in mdb(opened, "::stack -a -n")[0] if "name" in r]
    check([[f[0], f[4]] for f in frames] == listed, f"{where}: frames", (frames[:4], listed[:4]))
    check(sum(f[2] == "wait_here" for f in frames) == 5, f"{where}: functions", frames)
    callers = lines(target, 'frame:::caller /args[0]->function == "wait_here"/ { @[ustackdepth, stringof(args[0]->object)] = count(); }')
    check(callers and callers[0][-1] == "5", f"{where}: a stack begins at the frame", callers)


def speculations_are_known(target):
    """Scripts that need no other probe than BEGIN say the same as on the running system."""
    for name in ("default_action", "nspec", "states"):
        text = open(f"{SPEC}/{name}.d").read()
        flags = re.findall(r"@@runtest-opts: (\S+) \*/", text)
        got = dtrace("--core", target, *flags, "-s", f"{SPEC}/{name}.d")
        # a line of the expected text that begins with "~ " is a regular expression
        want = "\n".join(line[1:] if line.startswith("~ ") else re.escape(line) for line in open(f"{SPEC}/{name}.out").read().splitlines())
        check(re.search(want.strip(), got), f"{name}.d over {target}", (got, want))
    # of each thread, what its frames have recorded is kept only if one of them is wanted
    text = dtrace("--core", target, "-x", "nspec=2", "-qn", '''
        frame:::entry { self->s = speculation(); }
        frame::: { speculate(self->s); printf("%d %s\\n", tid, args[0]->function); }
        frame:::caller /args[0]->function == "wait_here"/ { commit(self->s); n++; }
        frame:::caller /args[0]->function == "main"/ { discard(self->s); }
        END { printf("%d", n); }''')
    rows = [line.split() for line in text.splitlines() if line]
    tids = {r[0] for r in rows[:-1]}
    check(rows[-1] == ["5"] and len(tids) == 5 and sum(r[1] == "wait_here" for r in rows[:-1]) == 5, "speculations by thread", text)
    r = subprocess.run([DTRACE, "--core", target, "-x", "specsize=1k", "-qn", '''BEGIN { s = speculation(); t = speculation(); }
        mapping:::entry { speculate(s); printf("%500s\\n", args[0]->path); } END { commit(s); } END { printf("t %d", t); }'''],
                       capture_output=True, text=True, timeout=60)
    kept = sum(len(line) >= 500 for line in r.stdout.splitlines())
    lost = re.search(r"(\d+) speculative drop", r.stderr)
    total = len(lines(target, 'mapping:::entry { printf("x\\n"); }'))
    check(lost and kept + int(lost[1]) == total and 0 < kept < total and "t 0" in r.stdout and "no speculative buffer available" in r.stderr,
          "a full speculation", (kept, total, r.stdout[-300:], r.stderr))


def main():
    open("t.c", "w").write(SOURCE)
    if subprocess.run(["cc", "-O0", "-g", "-w", "-pthread", "-o", "t", "t.c"]).returncode:
        print("there is no compiler")
        sys.exit(67)
    unlimited()
    p = subprocess.Popen(["./t"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    given = {int(a, 16): int(n) for a, n in (w.split(":") for w in p.stdout.readline().split())}
    pid = str(p.pid)
    try:
        chunks_are_known(pid, given, "a process")
        threads_are_known(pid, ("-S", pid), "a process", p.pid)
        stacks_are_known(pid, ("-S", pid), "a process")
        maps = {tuple(int(a, 16) for a in line.split()[0].split("-")): line.split()[1] for line in open(f"/proc/{pid}/maps") if "[v" not in line}
        got = {(int(a, 16), int(a, 16) + int(n)): p_ for a, n, p_ in lines(pid, 'mapping:::entry { printf("%x %d %s\\n", arg0, arg1, args[0]->perms); }')}
        check(all(r in got and got[r] == perms[1:] for r, perms in maps.items()), "a process: mappings", (maps, got))
        state = open(f"/proc/{pid}/stat").read().split()[2]
        check(state == "S" and "TracerPid:\t0" in open(f"/proc/{pid}/status").read(), "the process goes on", state)
        with kernel_cores():
            p.stdin.write("x\n")
            p.stdin.flush()
            p.wait()
    finally:
        p.kill()
    core = next((f for f in os.listdir(".") if f.startswith("core")), None)
    if not core:
        print("the kernel writes its core files elsewhere: programs over a process alone were tried")
    else:
        chunks_are_known(core, given, "a core file")
        threads_are_known(core, (core,), "a core file", p.pid)
        stacks_are_known(core, (core,), "a core file")
    target = core or str(os.getpid())

    # the language: BEGIN, END, variables, exit, forms of output
    text = dtrace("--core", target, "-qn", 'BEGIN { x = 2; printf("begin %d;", x); } thread:::entry { x++; self->n = x; a[tid] = self->n; } thread:::entry /a[tid] == 3/ { printf("first;"); } END { printf("end %d", x); }')
    check(re.match(r"begin 2;first;end \d+", text), "BEGIN, END and variables", text)
    text = dtrace("--core", target, "-qn", 'thread:::entry { printf("%d\\n", ++n); } thread:::entry /n == 1/ { exit(3); }', status=3)
    check(text.strip() == "1", "exit() ends it", text)
    rows = [json.loads(line) for line in dtrace("--core", target, "-x", "oformat=jsonl", "-n", "mapping:::entry { @[probeprov, probename] = count(); trace(arg0); }").splitlines()]
    check(len(rows) > 5, "JSON", rows[:3])
    dtrace("--core", target, "-q", "-x", "oformat=flame", "-o", "f.svg", "-n", "frame:::entry { @[ustack()] = count(); }")
    check(open("f.svg").read().startswith("<"), "a picture")
    fault = subprocess.run([DTRACE, "--core", target, "-qn", 'thread:::entry /n++ == 0/ { trace(*(int *)copyin(16, 4)); } ERROR { printf("error %d;", arg4); } END { trace(n); }'], capture_output=True, text=True, timeout=60)
    check("invalid address (0x10)" in fault.stderr and re.search(r"error 1;\d+", fault.stdout), "a fault", fault.stdout + fault.stderr)
    listing = dtrace("--core", target, "-lv", "-P", "chunk")
    check("busy" in listing and "chunkinfo_t *" in listing, "-l", listing)
    dropped = subprocess.run([DTRACE, "--core", target, "-b", "4k", "-qn", 'mapping:::entry { printf("%200s\\n", "x"); n++; } END { printf("n=%d\\n", n); }'], capture_output=True, text=True, timeout=60)
    shown = sum(line.strip() == "x" for line in dropped.stdout.splitlines())
    check(f"n={shown}\n" in dropped.stdout and "drop" not in dropped.stderr, "no record is dropped", dropped.stdout[-200:] + dropped.stderr)

    speculations_are_known(target)

    # what is refused
    narrow = bytearray(64)
    narrow[:20] = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HH", 4, 3)
    open("narrow", "wb").write(narrow)
    open("text", "w").write("no core\n")
    os.mkfifo("fifo")
    for args, want in (
            (("nothere", "thread:::entry"), "nothere"),
            (("text", "thread:::entry"), "text"),
            (("narrow", "thread:::entry"), "no core file of a 64-bit process"),
            (("fifo", "thread:::entry"), "fifo"),
            ((".", "thread:::entry"), "failed to open"),
            (("999999999", "thread:::entry"), "999999999"),
            ((target, "syscall:::entry"), "mapping, thread, frame, chunk and object"),
            ((target, "tick-1s"), "does not match any probes"),
            ((target, "chunk:::gone"), "chunk:::busy, chunk:::free"),
            ((target, "object:::js"), "no runtime whose values are described"),
            ((target, "thread:::entry { stop(); }"), "stop(): nothing runs"),
            ((target, "thread:::entry { raise(9); }"), "raise(): nothing runs"),
            ((target, "thread:::entry { chill(9); }"), "chill(): nothing runs"),
            ((target, "thread:::entry { copyoutstr(\"x\", 8, 1); }"), "copyoutstr(): nothing runs"),
            ((target, "thread:::entry { stack(); }"), "stack(): no kernel"),
            ((target, "thread:::entry { @[stack()] = count(); }"), "stack(): no kernel"),
            ((target, "thread:::entry { trace(curthread); }"), "curthread: nothing runs"),
            ((target, "thread:::entry { trace(cpu); }"), "cpu: nothing runs"),
            ((target, "chunk:::busy { @[ustack()] = count(); }"), "has no stack"),
            ((target, "chunk:::busy /lline == 3/ { trace(arg0); }"), "lfile, lline and lfunc: a probe that fires for no thread has no stack"),
            ((target, "BEGIN { trace(lfunc); }"), "has no stack"),
            ((target, "thread:::entry { system(\"true\"); }"), "Destructive")):
        flags = [] if "Destructive" in want else ["-w"]
        text = dtrace("--core", args[0], *flags, "-n", args[1], status=1)
        check(want in text, f"{args[1]} over {args[0]}", text)
    text = dtrace("--core", target, "-p", "1", "-n", "thread:::entry", status=2)
    check("--core" in text, "-p beside --core", text)
    r = subprocess.run([DTRACE, "-en", "object:::js"], capture_output=True, text=True, timeout=60)
    check(r.returncode == 1 and "dtrace --core" in r.stderr, "such a provider on the running system", r.stderr)
    text = dtrace("--core", target, "-qwn", 'BEGIN { system("echo of the shell"); }')
    check("of the shell" in text, "system()", text)


os.chdir(TMP)
main()
sys.exit(1 if failed else 0)
