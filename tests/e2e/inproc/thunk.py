# SPDX-License-Identifier: MIT
"""A window on the jump, or on the return, that a function consists of, with and without the breakpoint of another tracer on it.

The program calls the function as often as it is told. At another tracer's uprobe the kernel executes what the file has there, which hides the window:
dtrace says so, the program goes on, and in whichever order the two end, the code is what it was.
"""
import os, re, subprocess, sys, threading, time

DTRACE, TMP = os.environ["DTRACE"], os.environ["TMP"]
PATIENCE = int(os.environ.get("PATIENCE", 1))
SOURCE = r"""
#include <stdio.h>
__attribute__((noinline, used)) long work(long x) { __asm__ volatile("" : "+r"(x)); return x + 1; }
__asm__(".text\n.p2align 4\n.globl thunk\n.type thunk, @function\nthunk:\n.byte 0xe9\n.long work - . - 4\n.size thunk, . - thunk\n.p2align 4, 0xcc\n");
__asm__(".globl empty\n.type empty, @function\nempty: ret\n.size empty, . - empty\n.p2align 4, 0xcc\n");
/* Without padding within reach, jumps lead to what stands before the last return but one (`8:`): the probe of the return is at these jumps. */
__asm__(".globl ending\n.type ending, @function\nending:\n.rept 45\nincq %rsi\n.endr\nmovq %rdi, %rax\nleaq 3(%rdi), %rcx\ntestq $1, %rdi\nje 7f\ntestq $2, %rdi\njne 9f\n"
	"addq $10, %rax\nret\n7: movq %rcx, %rax\nret\n9: testq $4, %rdi\n.byte 0x0f, 0x85\n.long 8f - . - 4\ntestq $8, %rdi\njne 8f\nleaq 100(%rcx), %rcx\n"
	"8: movq %rcx, %rax\nret\n.rept 45\nincq %rsi\n.endr\nret\n.size ending, . - ending\n.p2align 4, 0xcc\n");
long thunk(long x), ending(long x);
void empty(void);
int main(void)
{
	long n, sum;
	printf("%p %p %p\n", (void *)thunk, (void *)empty, (void *)ending);
	for (fflush(stdout); scanf("%ld", &n) == 1; fflush(stdout)) {
		sum = 0;
		while (n--) {
			sum = thunk(sum);
			empty();
			if (ending(7) != 10)
				return 1;
		}
		printf("%ld\n", sum);
	}
}
"""
# Another tracer: counts with a uprobe until its input ends. Arguments: process, file, offset.
OTHER = r"""
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	struct perf_event_attr attr = {.size = sizeof(attr)};
	uint64_t n = 0;
	int fd;
	if (argc != 4 || !f || fscanf(f, "%u", &attr.type) != 1)
		return 1;
	attr.config1 = (uint64_t)(uintptr_t)argv[2];
	attr.config2 = strtoull(argv[3], NULL, 16);
	fd = (int)syscall(SYS_perf_event_open, &attr, atoi(argv[1]), -1, -1, 0);
	if (fd < 0)
		return 2;
	puts("READY");
	fflush(stdout);
	while (getchar() != EOF)
		;
	if (read(fd, &n, sizeof(n)) != sizeof(n))
		return 3;
	printf("%lu\n", n);
	return 0;
}
"""
FUNCTIONS = ("thunk", "empty", "ending")
bad = []


def check(what, got, want):
    if got != want:
        bad.append(f"{what}: {got!r} instead of {want!r}")


class Tracer:
    """A dtrace that counts, and whose messages are collected."""

    def __init__(self, mode, pid, func="thunk"):
        script = f'pid$target:a.out:{func}:return,pid$target:a.out:{func}:entry {{ @[probename] = count(); }} ' 'tick-20ms /!told/ { told = 1; printf("READY\\n"); }'
        self.p = subprocess.Popen([DTRACE, "-x", f"inproc={mode}", "-x", "inprocsum", "-p", str(pid), "-n", script],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.errors = []
        self.reader = threading.Thread(target=lambda: self.errors.extend(self.p.stderr), daemon=True)
        self.reader.start()
        for line in self.p.stdout:
            if "READY" in line:
                return
        self.reader.join()
        sys.exit(f"dtrace -x inproc={mode} has ended: {''.join(self.errors)}")

    def await_message(self, text):
        until = time.monotonic() + 30 * PATIENCE
        while time.monotonic() < until:
            if any(text in line for line in self.errors):
                return True
            time.sleep(0.05)
        return False

    def end(self):
        self.p.terminate()
        out = self.p.stdout.read()
        self.p.wait(60 * PATIENCE)
        self.reader.join()
        counts = dict(re.findall(r"(entry|return)\s+(\d+)", out))
        return int(counts.get("entry", 0)), int(counts.get("return", 0))


class Other:
    def __init__(self, program):
        self.p = subprocess.Popen([f"{TMP}/other", str(program.p.pid), f"{TMP}/thunk", program.offset], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        check("the other tracer", self.p.stdout.readline().strip(), "READY")

    def end(self):
        out, _ = self.p.communicate(timeout=60 * PATIENCE)
        return out.strip()


class Program:
    def __init__(self, func="thunk"):
        self.p = subprocess.Popen([f"{TMP}/thunk"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addr = int(self.p.stdout.readline().split()[FUNCTIONS.index(func)], 16)
        if func == "ending":
            self.addr += self.code(300).rindex("4889c8c3") // 2
        self.before = self.code()
        with open(f"/proc/{self.p.pid}/maps") as maps:
            for line in maps:
                span, mode, offset = line.split()[:3]
                start, end = (int(x, 16) for x in span.split("-"))
                if start <= self.addr < end:
                    self.offset = f"{self.addr - start + int(offset, 16):x}"

    def call(self, n):
        self.p.stdin.write(f"{n}\n")
        self.p.stdin.flush()
        check("what the program computes", self.p.stdout.readline().strip(), str(n))

    def code(self, size=5):
        with open(f"/proc/{self.p.pid}/mem", "rb") as mem:
            mem.seek(self.addr)
            return mem.read(size).hex()

    def end(self):
        self.p.stdin.close()
        check("the program's end", self.p.wait(60 * PATIENCE), 0)


for name, text in ("thunk", SOURCE), ("other", OTHER):
    with open(f"{TMP}/{name}.c", "w") as f:
        f.write(text)
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", f"{TMP}/{name}", f"{TMP}/{name}.c"], check=True)

alone = Program()
first = Tracer("all", alone.p.pid)
check("the places", first.await_message("2 places probed in process %d itself, 0 by uprobes" % alone.p.pid), True)
alone.call(1000)
check("alone", first.end(), (1000, 1000))
check("the code afterwards", alone.code(), alone.before)
alone.end()

for order in "inner", "outer":
    program = Program()
    first = Tracer("all", program.p.pid)
    program.call(10)
    second = Other(program)
    check("the message", first.await_message("has breakpoints on 1 function of"), True)
    program.call(100)
    if order == "inner":
        check("by uprobes", second.end(), "100")
        program.call(1000)
        check("before and after the other one", first.end(), (1010, 1010))
    else:
        check("before the other one", first.end(), (10, 10))
        check("the code under its breakpoint", program.code(), "cc" + program.before[2:])
        program.call(1000)
        check("by uprobes, after the first", second.end(), "1100")
    program.call(1)
    check("the code at the end", program.code(), program.before)
    program.end()

# A function that is nothing but a return. What the kernel writes back when a breakpoint goes is the return, so its probes are lost, and that is said.
alone = Program("empty")
first = Tracer("auto", alone.p.pid, "empty")
check("the places", first.await_message("2 places probed in process %d itself, 0 by uprobes" % alone.p.pid), True)
alone.call(1000)
check("alone", first.end(), (1000, 1000))
check("the code afterwards", alone.code(), alone.before)
alone.end()

program = Program("empty")
first = Tracer("auto", program.p.pid, "empty")
program.call(10)
second = Other(program)
check("the message", first.await_message("on 1 function of process %d that is nothing but a return" % program.p.pid), True)
program.call(100)
check("by uprobes", second.end(), "100")
program.call(1000)
check("before the other one", first.end(), (10, 10))
check("the return", program.code()[:2], "c3")
program.call(1)
program.end()

# The copy of an end in a stub: a breakpoint on the original is not reached. Before the probes come it has them be uprobes, later it is said.
for is_before in True, False:
    program = Program("ending")
    if is_before:
        second = Other(program)
    first = Tracer("auto", program.p.pid, "ending")
    if not is_before:
        second = Other(program)
        check("the message", first.await_message("breakpoints before returns of process %d that are probed here" % program.p.pid), True)
    program.call(100)
    check("the other one", second.end(), "100" if is_before else "0")
    check("both ends", first.end(), (100, 100))
    check("a message", any("breakpoints before returns" in line for line in first.errors), not is_before)
    program.call(1)
    check("the code at the end", program.code(), program.before)
    program.end()

for line in bad:
    print(line)
sys.exit(1 if bad else 0)
