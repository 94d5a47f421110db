# SPDX-License-Identifier: MIT
"""A program with a list of frames of which a helper makes frames of the language, one behind the other, in one native frame. Reading a frame
costs as much as the program says; a name may lie nowhere, a divisor be 0. Stacks are whole, or have one mark where frames are missing, and the
native frames behind it."""
import json, os, re, subprocess, sys

from helpertrace import DTRACE, PATIENCE, TMP, read, until, write

FILES = {
    "marks.c": r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
struct frame { struct frame *outer; long work; const char *name; };
static char buf[900];
__attribute__((noinline)) static void leaf(int n)
{
	if (write(2, buf, n) < 0)
		_exit(1);
	__asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) static void run(void)
{
	for (;;) {
		leaf(access("go", F_OK) == 0 ? 888 : 777);
		usleep(10000);
	}
}
/* marks FRAMES WORK [FRAME POINTER WORK]: what that one has in place of its name and its work */
int main(int argc, char **argv)
{
	struct frame **at = mmap((void *)0x20000000, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	char *text = (char *)at + (1 << 19);

	for (int i = 1; i <= atoi(argv[1]); i++) {
		struct frame *f = (struct frame *)((char *)0x20000000 + 64 * i);

		f->work = atoi(argv[2]);
		f->name = text + 16 * i;
		sprintf(text + 16 * i, "frame %d", i);
		if (argc > 5 && i == atoi(argv[3])) {
			f->work = atoi(argv[5]);
			f->name = atoi(argv[4]) ? (const char *)(long)atoi(argv[4]) : f->name;
		}
		*at = f;
		at = &f->outer;
	}
	run();
}
""",
    "marks.d": """dtrace:helper:uthread:
{
	this->frame = *(uint64_t *)0x20000000;
}
dtrace:helper:ustack:
/arg3 == 1/
{
	while (this->frame; 65536) {
		this->n = 1000 / (*(int64_t *)(this->frame + 8) + 1);
		this->n = 0;
		while (this->n < *(int64_t *)(this->frame + 8); 65536)
			this->n++;
		uframe("@", copyinstr(*(uint64_t *)(this->frame + 16)));
		this->frame = *(uint64_t *)this->frame;
	}
}
""",
}
LINES = {text.strip(): i for i, text in enumerate(FILES["marks.d"].split("\n"), 1)}
PLACE_OF = {"name": LINES['uframe("@", copyinstr(*(uint64_t *)(this->frame + 16)));'],
            "divisor": LINES["this->n = 1000 / (*(int64_t *)(this->frame + 8) + 1);"]}
MODES = {"compiled": {}, "machine": {"FATHOM_NO_FEATURE": "TAIL_CALL"}}
bad = []


def expect(what, name, detail=""):
    if not what:
        bad.append(name)
        print(f"{name}: {str(detail)[:3000]}")


def record(mode, action, arguments, *options):
    """What dtrace prints of the first write of 888 bytes, what it says, and the process's id. Until the helper is compiled there are none."""
    for path in ("go", "err"):
        if os.path.exists(path):
            os.unlink(path)
    with open("err", "w") as err:
        marks = subprocess.Popen(["./marks", *map(str, arguments)], stderr=subprocess.DEVNULL)
        tracer = subprocess.Popen([DTRACE, "-q", "-x", "debug", "-x", "helper=marks.d", *options, "-p", str(marks.pid), "-n", """
            syscall::write:entry /pid == $target && arg2 == 777/ { @before[jstack()] = count(); }
            syscall::write:entry /pid == $target && arg2 == 888/ { ACTION; exit(0); } END { trunc(@before); }""".replace("ACTION", action)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err, text=True, env={**os.environ, **MODES[mode]})
    try:
        if mode == "compiled":
            expect(until(lambda: "ustack helpers were compiled" in read("err") or tracer.poll() is not None), "it is compiled")
        write({"go": ""})
        out = tracer.communicate(timeout=60 * PATIENCE)[0]
    finally:
        tracer.kill()
        marks.kill()
        marks.wait()
    return out, "".join(l for l in read("err").splitlines(True) if "DEBUG" not in l), marks.pid


def lines(out):
    return [re.sub(r"\+0x[0-9a-f]+$", "", l.strip()) for l in out.splitlines() if l.strip()]


def check(name, out, nframes, mark):
    """The stack has the frames from the first one on, the mark, and the native frames before and behind. Returns how many."""
    got = lines(out)
    found = [l for l in got if re.fullmatch(r"\[ frame \d+ \]", l)]
    n = len(found)
    want = ["libc.so.6`write", "marks`leaf"] + [f"[ frame {i} ]" for i in range(1, n + 1)]
    want += ([mark] if mark else []) + ["marks`run", "marks`main"]
    expect(got[:len(want)] == want and not any("[cut]" in l or l == mark for l in got[len(want):]) and got[-1].endswith("_start"), name, out)
    expect(n in nframes, f"{name}: {n} frames", out)
    return n


SPENT = "[language frames cut]"
FAULT = "[helper error]"
os.chdir(TMP)
write(FILES)
subprocess.run(["gcc", "-O1", "-g", "-o", "marks", "marks.c"], check=True)
WHERE = r"(?:.*/)?marks\.d:(\d+) in process %d 'marks'"

for mode in MODES:
    out, err, pid = record(mode, "jstack()", [30, 10])
    check(f"{mode}: all", out, [30], None)
    expect(not err, f"{mode}: nothing to say", err)

    # the instructions of a walk
    out, err, pid = record(mode, "jstack()", [30, 5000])
    check(f"{mode}: spent", out, range(1, 30), SPENT)
    m = re.search(r"dtrace: \d+ user stacks? ha(?:ve|s) no frames of the language from '\[language frames cut\]' on: .*; the first at " + WHERE % pid, err)
    expect(m and 6 < int(m[1]) < 15 and "error" not in err, f"{mode}: what is said of it", err)
    out, err, pid = record(mode, "lstack()", [30, 8000])
    got = lines(out)
    expect(1 < len(got) < 31 and got[-1] == SPENT and all("frame" in l for l in got[:-1]), f"{mode}: lstack()", out)
    out, err, pid = record(mode, "jstack(300)", [30, 5000])
    check(f"{mode}: more frames asked for", out, [30], None)
    out, err, pid = record(mode, 'printf("%s|%d", lfunc, ustackdepth)', [30, 10])
    expect(out.startswith("frame 1|") and not err, f"{mode}: lfunc", out + err)
    out, err, pid = record(mode, "jstack(5)", [30, 10])
    expect(lines(out)[2:] == ["[ frame 1 ]", "[ frame 2 ]", "[ frame 3 ]"] and not err, f"{mode}: as many as wanted", out + err)

    # faults
    for what, arguments, reason in (("name", [10, 8, 3], r"invalid address \(0x8\)"), ("divisor", [10, 0, -1], "divide-by-zero")):
        out, err, pid = record(mode, "jstack()", [30, 3, *arguments])
        check(f"{mode}: {what}", out, [9], FAULT)
        m = re.search(r"dtrace: \d+ errors? in ustack helpers, the first at " + WHERE % pid + ": " + reason, err)
        expect(m and int(m[1]) == PLACE_OF[what], f"{mode}: what is said of the {what}", err)
        expect(err.count("hint: from '[helper error]' on") == 1, f"{mode}: the hint", err)

# as keys, in JSON
out, err, pid = record("machine", "@[jstack()] = count()", [30, 3, 10, 8, 3])
check("a key", re.sub(r"\s+1\s*$", "", out), [9], FAULT)
out, err, pid = record("machine", "jstack()", [30, 3, 10, 8, 3], "-x", "oformat=json")
found = re.findall(r'\{"symbol": "\[helper error\]", "kind": "cut"\}', out)
expect(len(found) == 1 and json.loads(out), "JSON", out)
sys.exit(bool(bad))
