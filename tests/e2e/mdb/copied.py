# SPDX-License-Identifier: MIT
"""A program with memory of all kinds and a thread that counts: its copy in mdb and in gdb, and mdb killed while it copies."""
import json, os, re, shutil, subprocess, sys, time

MDB, TMP = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
char data[64] = "of the file";
char *sealed, *guarded, *mapped, *far_away, *behind;
volatile long ticks;
static void *memory(size_t size, int flags, int fd)
{
	return mmap(0, size, PROT_READ | PROT_WRITE, flags, fd, 0);
}
static void *count(void *a)
{
	for (;; usleep(1000))
		ticks++;
	return a;
}
__attribute__((noinline)) static int deep(int n)
{
	if (n > 3) {
		puts("ready");
		fflush(stdout);
		for (;;)
			pause();
	}
	return deep(n + 1) + 1;
}
int main(int argc, char **argv)
{
	unsigned x = 1, *noise = malloc(400 << 20);
	pthread_t t;
	for (int i = 0; i < 100 << 20; i++)
		noise[i] = x = x * 1664525 + 1013904223;
	strcpy(data, "changed");
	strcpy(sealed = memory(4096, MAP_PRIVATE | MAP_ANONYMOUS, -1), "read-only by now");
	mprotect(sealed, 4096, PROT_READ);
	strcpy(guarded = memory(4096, MAP_PRIVATE | MAP_ANONYMOUS, -1), "not even readable");
	mprotect(guarded, 4096, PROT_NONE);
	far_away = (char *)memory(64ul << 30, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1) + (40ul << 30);
	strcpy(far_away, "behind a large hole");
	strcpy(behind = memory(1 << 20, MAP_PRIVATE | MAP_ANONYMOUS, -1), "pages that were never written follow");
	mapped = memory(5 * 4096, MAP_PRIVATE, open("five", O_RDWR));
	strcpy(mapped + 2 * 4096, "written by the process");
	pthread_create(&t, 0, count, 0);
	return deep(0);
}
"""
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{shown}")


def run(*args, **env):
    r = subprocess.run([MDB, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, env={**os.environ, **env})
    return r.returncode, r.stdout, r.stderr


def tracer(pid):
    return int(re.search(r"TracerPid:\t(\d+)", open(f"/proc/{pid}/status").read()).group(1))


def goes_on(pid):
    """Whether nobody traces the process, and its thread that counts is scheduled."""
    def switches():
        return sum(int(re.search(r"^voluntary_ctxt_switches:\t(\d+)", open(f"/proc/{pid}/task/{t}/status").read(), re.M).group(1))
                   for t in os.listdir(f"/proc/{pid}/task"))
    before = switches()
    end = time.monotonic() + 10
    while time.monotonic() < end and (switches() == before or tracer(pid)):
        time.sleep(0.01)
    return not tracer(pid) and switches() > before


os.chdir(TMP)
if not shutil.which("cc") or not shutil.which("gdb"):
    print("cc and gdb are not installed")
    sys.exit(67)
open("t.c", "w").write(SOURCE)
subprocess.run(["cc", "-g", "-O0", "-pthread", "-o", "t", "t.c"], check=True)
open("five", "wb").write(b"".join(f"page {i} of the file".encode().ljust(4096, b"\0") for i in range(5)))
program = subprocess.Popen(["./t", "one", "two words"], stdout=subprocess.PIPE, text=True)
pid = program.pid
try:
    check(program.stdout.readline() == "ready\n", "the program begins")
    CONTENTS = {"data/s": "changed", "*sealed/s": "read-only by now", "*guarded/s": "not even readable", "*far_away/s": "behind a large hole",
                "*mapped/s": "page 0 of the file", "*mapped+1000/s": "page 1 of the file", "*mapped+2000/s": "written by the process",
                "*mapped+3000/s": "page 3 of the file", "*behind+ff000/s": ""}
    SHOWN = ["::status", "::stack -a", "::regs", "::threads", "::args", *CONTENTS]
    status, out, err = run("-S", str(pid), "-w", "kept", "-o", "json", *[a for c in SHOWN for a in ("-e", c)])
    if "ptrace" in err or "permitted" in err:
        print(f"processes cannot be held here: {err}")
        sys.exit(67)
    check(status == 0, "a copy", out + err)
    check(goes_on(pid), "it goes on")
    copy = [json.loads(line)["rows"] for line in out.splitlines()]
    told = {k: v for r in copy[0] for k, v in r.items()}
    check(told["kind"] == "copy" and told["threads"] == 2 and told["copied-bytes"] > 400 << 20 and told["stopped-ns"] > 0, "::status", told)
    for (command, text), rows in zip(CONTENTS.items(), copy[-len(CONTENTS):]):
        check(rows and rows[0]["text"] == text, command, rows)
    check([r["text"] for r in copy[4]] == ["./t", "one", "two words"], "arguments", copy[4])
    size = os.stat("kept")
    check(size.st_blocks * 512 < 500 << 20 and size.st_mode & 0o777 == 0o600, "a sparse file, for its owner only", size)

    status, out, err = run("-o", "json", *[a for c in SHOWN for a in ("-e", c)], "kept")
    kept = [json.loads(line)["rows"] for line in out.splitlines()]
    check(status == 0 and kept[1:] == copy[1:], "the core file that was kept", f"{kept[1:]}\n{copy[1:]}\n{err}")
    gdb = subprocess.run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "thread apply all bt", "-ex", "info registers rip rsp r12"] +
                         [a for c in ("data", "sealed", "guarded", "far_away", "mapped", "mapped+4096", "mapped+8192") for a in ("-ex", f'printf "<%s>\\n", {c}')] +
                         ["./t", "kept"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    check(re.findall(r"^<(.*)>$", gdb.stdout, re.M) == list(CONTENTS.values())[:-2], "memory in gdb", gdb.stdout[-1500:] + gdb.stderr)
    regs = {r["register"]: int(r["value"], 16) for r in copy[2]}
    for name in ("rip", "rsp", "r12"):
        check(f"{regs[name]:x}" == re.search(rf"^{name} +0x([0-9a-f]+)", gdb.stdout, re.M).group(1), f"register {name}", gdb.stdout)
    names = [r["name"].split("`")[-1].split("+")[0] for r in copy[1] if "name" in r]
    check([n for n in names if n in ("deep", "main", "count")] ==
          re.findall(r"\b(deep|main|count) \(", "".join(reversed(re.split(r"(?=^Thread )", gdb.stdout.split("\nrip")[0], flags=re.M)))), "stacks", f"{names}\n{gdb}")

    status, out, err = run("-S", str(pid), "-w", "five", "-e", "::status")
    check(status == 1 and not out and "cannot make the file 'five': File exists" in err, "a file that exists", out + err)
    check(open("five").read(6) == "page 0", "is not changed")
    status, out, err = run("-S", str(pid), "-e", "::status", TMPDIR=TMP + "/nosuch")
    check(status == 1 and "hint: TMPDIR=" in err, "no directory", out + err)
    status, out, err = run("-w", "x", "-p", str(pid), "-e", "::status")
    check(status == 2, "-w without -S", out + err)
    check(goes_on(pid), "it still goes on")

    for delay in (0, 0.02, 0.08):
        name = f"killed-{delay}"
        mdb = subprocess.Popen([MDB, "-S", str(pid), "-w", name, "-e", "::status"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not tracer(pid) and mdb.poll() is None:
            time.sleep(0.001)
        time.sleep(delay)
        was_held = tracer(pid)
        mdb.kill()
        mdb.wait()
        check(was_held or delay, "mdb is killed while it holds the process")
        check(goes_on(pid), f"goes on when mdb is killed after {delay} s")
        left = [f for f in os.listdir(".") if f.startswith(name)]
        check(not left or (left == [name] and run("-e", "::status", name)[0] == 0), f"killed after {delay} s it leaves a whole file or none", left)
finally:
    program.kill()
    program.wait()
status, out, err = run("-S", str(pid), "-e", "::status")
check(status == 1 and not out and "no process" in err, "a process that has ended", out + err)
sys.exit(1 if failed else 0)
