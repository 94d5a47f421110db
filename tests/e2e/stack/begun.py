# SPDX-License-Identifier: MIT
"""A program with two runtimes, each a library with a helper of its own. The state of each has a page that nothing has touched until the runtime
begins. The program knows what it has begun, and says so by the number of bytes that it writes."""
import os, re, subprocess, sys

from helpertrace import DTRACE, PATIENCE, TMP, read, until, write

LIBRARY = r"""
struct frame { struct frame *outer; const char *name; };
/* the pages before and behind keep that of the state apart from what the dynamic linker touches */
struct { char before[8192]; struct frame *current; char after[8192]; } NAME_state __attribute__((aligned(4096)));
void asks(int n);
__attribute__((noinline)) void NAME_peek(int n) { asks(n); __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void NAME_run(void (*f)(int), int n)
{
	struct frame outer = { 0, "NAME outer" }, inner = { &outer, "NAME inner" };

	/* the texts are in a page that has not been touched, either */
	(void)*(volatile const char *)outer.name;
	(void)*(volatile const char *)inner.name;
	NAME_state.current = &inner;
	f(n);
	NAME_state.current = 0;
}
"""
HELPER = """#pragma D helper exec "libNAME.so"
uint64_t state, run, run_end;
this uint64_t frame;
dtrace:helper:attach:
{
	state = symaddr("NAME_state");
	run = symaddr("NAME_run");
	run_end = run + symsize("NAME_run");
}
dtrace:helper:uthread:
{
	this->frame = *(uint64_t *)(state + 8192);
}
dtrace:helper:ustack:
/arg0 > run && arg0 <= run_end/
{
	while (this->frame; 100) {
		uframe("@", copyinstr(*(uint64_t *)(this->frame + 8)));
		this->frame = *(uint64_t *)this->frame;
	}
}
"""
PROGRAM = r"""
#include <fcntl.h>
#include <unistd.h>
void first_peek(int), second_peek(int), first_run(void (*)(int), int), second_run(void (*)(int), int);
static char buf[900];
static int fd;
__attribute__((noinline)) void asks(int n)
{
	if (write(fd, buf, n) < 0)
		_exit(1);
	__asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) static void twice(int n) { first_run(asks, n); }
int main(int argc, char **argv)
{
	fd = open("/dev/null", O_WRONLY);
	while (argc == 1 && access("go", F_OK)) {
		asks(777);
		usleep(10000);
	}
	asks(801);
	first_peek(802);
	second_run(asks, 803);
	first_peek(804);
	second_run(first_peek, 805);
	second_run(twice, 806);
	first_peek(807);
	asks(899);
	return 0;
}
"""
FAULT = "[helper error]"
# the stack of each write, from the library's write() on; what was begun says which frames of the language there are
WANT = {
    801: ["asks", "main"],  # nothing has begun
    802: ["asks", "first_peek", FAULT, "main"],  # code of the first: its state cannot be read
    803: ["asks", "second_run", "[ second inner ]", "[ second outer ]", "main"],  # the second has begun, the first has no frame here
    804: ["asks", "first_peek", FAULT, "main"],
    805: ["asks", "first_peek", FAULT, "second_run", "[ second inner ]", "[ second outer ]", "main"],
    806: ["asks", "first_run", "[ first inner ]", "[ first outer ]", "twice", "second_run", "[ second inner ]", "[ second outer ]", "main"],
    807: ["asks", "first_peek", "main"],  # both have been there
}
# a process that is younger than the session: what cannot be read has not begun, and no frame of it is missing
WANT_YOUNG = {number: [frame for frame in want if frame != FAULT] for number, want in WANT.items()}
MODES = {"compiled": {}, "machine": {"FATHOM_NO_FEATURE": "TAIL_CALL"}}
bad = []


def expect(what, name, detail=""):
    if not what:
        bad.append(name)
        print(f"{name}: {str(detail)[:3000]}")


def record(mode):
    """The stack of each number that was written, by a process that is older than the session and a younger one, and what dtrace has said."""
    for path in ("go", "err", "out"):
        if os.path.exists(path):
            os.unlink(path)
    with open("err", "w") as err, open("out", "w") as out:
        program = subprocess.Popen(["./begun"])
        tracer = subprocess.Popen([DTRACE, "-q", "-x", "debug", "-L", "lib", "-p", str(program.pid), "-n", """
            syscall::write:entry /pid == $target && arg2 == 777/ { @before[jstack()] = count(); }
            syscall::write:entry /pid == $target && arg2 == 777 && !traces/ { traces = 1; printf("traces\\n"); }
            syscall::write:entry /pid == $target && arg2 > 800 && arg2 < 899/ { printf("\\nat %d\\n", arg2); jstack(); }
            syscall::write:entry /execname == "begun" && pid != $target && arg2 > 800/ { printf("\\nyoung %d\\n", arg2); jstack(); }
            syscall::write:entry /pid == $target && arg2 == 899/ { exit(0); } END { trunc(@before); }"""],
            stdin=subprocess.DEVNULL, stdout=out, stderr=err, text=True, env={**os.environ, **MODES[mode]})
    try:
        is_ready = lambda: "traces" in read("out") and (mode == "machine" or "ustack helpers were compiled" in read("err"))
        expect(until(lambda: is_ready() or tracer.poll() is not None), f"{mode}: it has helpers", read("err")[-2000:])
        subprocess.run(["./begun", "young"], check=True)
        write({"go": ""})
        tracer.wait(timeout=60 * PATIENCE)
    finally:
        tracer.kill()
        program.kill()
        program.wait()
    stacks = {"at": {}, "young": {}}
    parts = re.split(r"\n(at|young) (\d+)\n", read("out"))
    for who, number, lines in zip(parts[1::3], parts[2::3], parts[3::3]):
        stacks[who][int(number)] = [re.sub(r"^.*`|\+0x[0-9a-f]+$", "", l.strip()) for l in lines.split("\n") if l.strip()]
    return stacks, "".join(l for l in read("err").splitlines(True) if "DEBUG" not in l), program.pid


os.chdir(TMP)
os.makedirs("lib/helpers", exist_ok=True)
for name in ("first", "second"):
    write({f"{name}.c": LIBRARY.replace("NAME", name), f"lib/helpers/{name}.d": HELPER.replace("NAME", name)})
    subprocess.run(["cc", "-O1", "-g", "-fno-optimize-sibling-calls", "-shared", "-fPIC", "-o", f"lib{name}.so", f"{name}.c"], check=True)
write({"begun.c": PROGRAM})
subprocess.run(["cc", "-O1", "-g", "-fno-optimize-sibling-calls", "-rdynamic", "-o", "begun", "begun.c", "./libfirst.so", "./libsecond.so"], check=True)
LINE = 1 + HELPER.split("\n").index("\tthis->frame = *(uint64_t *)(state + 8192);")

for mode in MODES:
    stacks, err, pid = record(mode)
    for who, number, want in [("at", *w) for w in WANT.items()] + [("young", *w) for w in WANT_YOUNG.items()]:
        got = stacks[who].get(number, [])
        expect(got[:1 + len(want)] == ["write", *want] and FAULT not in got[1 + len(want):] and "[cut]" not in got, f"{mode}: the stack {who} {number}",
               f"{got}, not {want}")
    nfaults = sum(want.count(FAULT) for want in WANT.values())
    m = re.search(r"dtrace: (\d+) errors? in ustack helpers, the first at (?:.*/)?first\.d:(\d+) in process %d 'begun': invalid address" % pid, err)
    expect(m and int(m[1]) == nfaults and int(m[2]) == LINE, f"{mode}: what is said", err)
sys.exit(bool(bad))
