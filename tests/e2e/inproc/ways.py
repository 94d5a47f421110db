# SPDX-License-Identifier: MIT
"""Returns that jumps lead to: whichever way the program takes to one, its probe fires once, in the process as by a uprobe.

The program calls three functions with many arguments, in two threads with signals between, and checks their results. Before the lone return of each,
behind which other code begins, is a way that goes on to it; short and long jumps lead to it from elsewhere.
"""
import os, re, subprocess, sys, threading

DTRACE, TMP = os.environ["DTRACE"], os.environ["TMP"]
PATIENCE = int(os.environ.get("PATIENCE", 1))
SOURCE = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
/*
 * The first two have one return in the middle; that of `near` is reached from before and by a short jump, that of `far` by a long and a short jump. In `tail`, with no
 * padding within reach, jumps lead to an instruction before a return: a short one to the first of these, and a long one, a short one, and what is before it to the second.
 */
__asm__(".text\n.p2align 4\n.globl near\n.type near, @function\nnear:\n"
	"cmpq $0, %fs:0\n movl $1, %eax\n testq $1, %rdi\n je 2f\n 1: ret\n 2: leaq 5(%rdi), %rax\n testb $2, %dil\n jne 1b\n movl $7, %eax\n imulq $3, %rdi, %rcx\n addq %rcx, %rax\n ret\n"
	".size near, . - near\n.p2align 4\n.globl far\n.type far, @function\nfar:\n"
	"movq %rdi, %rax\n testq $1, %rdi\n .byte 0x0f, 0x85\n .long 4f - . - 4\n testq $2, %rdi\n jne 5f\n addq $9, %rax\n jmp 6f\n nop\n 4: ret\n 5: addq $100, %rax\n jmp 4b\n 6: incq %rax\n ret\n"
	".size far, . - far\n.p2align 4\n.globl tail\n.type tail, @function\ntail:\n"
	".rept 45\n incq %rsi\n .endr\n movq %rdi, %rax\n leaq 3(%rdi), %rcx\n testq $1, %rdi\n je 7f\n testq $2, %rdi\n jne 9f\n addq $10, %rax\n ret\n"
	"7: movq %rcx, %rax\n ret\n 9: testq $4, %rdi\n .byte 0x0f, 0x85\n .long 8f - . - 4\n testq $8, %rdi\n jne 8f\n leaq 100(%rcx), %rcx\n"
	"8: movq %rcx, %rax\n ret\n .rept 45\n incq %rsi\n .endr\n ret\n.size tail, . - tail\n.p2align 4\n");
long near(long), far(long), tail(long);
static volatile int bad, ticks;
static void tick(int sig) { ticks++; bad |= near(1) != 1 || far(2) != 102 || tail(4) != 7; }
static void *work(void *p)
{
	long n = (long)p;
	for (long i = 0; i < n; i++) {
		bad |= near(i) != (i & 1 ? 1 : i & 2 ? i + 5 : 7 + 3 * i);
		bad |= far(i) != (i & 1 ? i : i & 2 ? i + 100 : i + 10);
		bad |= tail(i) != (!(i & 1) || (i & 2 && i & 12) ? i + 3 : i & 2 ? i + 103 : i + 10);
	}
	return p;
}
int main(void)
{
	struct itimerval every = {{0, 300}, {0, 300}}, never = {{0}};
	pthread_t t[2];
	long n;
	signal(SIGALRM, tick);
	for (setlinebuf(stdout); scanf("%ld", &n) == 1;) {
		ticks = 0;
		if (n > 100)
			setitimer(ITIMER_REAL, &every, NULL);
		for (int i = 0; i < 2; i++)
			pthread_create(&t[i], NULL, work, (void *)n);
		for (int i = 0; i < 2; i++)
			pthread_join(t[i], NULL);
		setitimer(ITIMER_REAL, &never, NULL);
		printf("%s %ld\n", bad ? "wrong" : "right", 2 * n + ticks);
	}
}
"""
FUNCTIONS = ("near", "far", "tail")
LINKS = 4200
# A chain of returns: each has two ways, of which the second is in the window of the next one's first. So thousands of windows are written all or none.
CHAIN = r"""
#include <stdio.h>
__asm__(".text\n.p2align 4\n.globl chain\n.type chain, @function\nchain:\n testq %rdi, %rdi\n movl $0, %eax\n .set k, 0\n"
	".altmacro\n.macro one k, next\n jne .Lr\\k\n jne .Lr\\next\n leaq 1(%rax), %rax\n jmp .Lb\\next\n .Lr\\k: ret\n .Lb\\next:\n.endm\n"
	".rept LINKS\n one %k, %(k + 1)\n .set k, k + 1\n.endr\n jmp 9f\n .LrLINKS: ret\n 9: leaq 1(%rax), %rax\n leaq 1(%rax), %rax\n ret\n"
	".size chain, . - chain\n.p2align 4\n");
long chain(long);
int main(void)
{
	long n, bad = 0;
	for (setlinebuf(stdout); scanf("%ld", &n) == 1;) {
		for (long i = 0; i < n; i++)
			bad |= chain(0) != LINKS + 2 || chain(1) != 0;
		printf("%s %ld\n", bad ? "wrong" : "right", 2 * n);
	}
}
""".replace("LINKS", str(LINKS))
bad = []


def check(what, got, want):
    if got != want:
        bad.append(f"{what}: {got!r} instead of {want!r}")


def trace(program, mode, clause, n, functions=FUNCTIONS):
    """Calls all functions n times in each thread, traced; returns what dtrace has printed, its messages, and how many calls there were."""
    script = "BEGIN { printf(\"READY\\n\"); } " + ",".join(f"pid$target:a.out:{f}:{n}" for n in ("entry", "return") for f in functions) + " " + clause
    p = subprocess.Popen([DTRACE, "-q", "-x", f"inproc={mode}", "-x", "inprocsum", "-p", str(program.pid), "-n", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    errors = []
    reader = threading.Thread(target=lambda: errors.extend(p.stderr), daemon=True)
    reader.start()
    if "READY" not in p.stdout.readline():
        reader.join()
        sys.exit(f"dtrace -x inproc={mode} has ended: {''.join(errors)}")
    program.stdin.write(f"{n}\n")
    program.stdin.flush()
    verdict, calls = program.stdout.readline().split()
    check("the program's results", verdict, "right")
    p.terminate()
    out = p.stdout.read()
    p.wait(60 * PATIENCE)
    reader.join()
    return out, "".join(errors), int(calls)


def start(name, source):
    with open(f"{TMP}/{name}.c", "w") as f:
        f.write(source)
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", f"{TMP}/{name}", f"{TMP}/{name}.c", "-pthread"], check=True)
    return subprocess.Popen([f"{TMP}/{name}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


program = start("ways", SOURCE)
for clause in "{ @[probefunc, probename] = count(); }", "{ @[probefunc, probename] = sum(arg0 >= 0); }":
    out, errors, calls = trace(program, "auto", clause, 300000)
    counts = {(f, n): int(c) for f, n, c in re.findall(r"(near|far|tail)\s+(entry|return)\s+(\d+)", out)}
    check("counts of " + clause, counts, {(f, n): calls for f in FUNCTIONS for n in ("entry", "return")})
    check("the places", re.findall(r"(\d+) places? probed in process \d+ itself, (\d+) by uprobes?", errors), [("11", "0")])

# the same firings with the same values, whichever way they are had
values = '/probename == "return"/ { @[probefunc, arg0, arg1] = count(); }'
want, _, _ = trace(program, "off", values, 40)
got, errors, _ = trace(program, "auto", values, 40)
check("offsets and values", sorted(got.split("\n")), sorted(want.split("\n")))

# a uprobe in what jumps lead to before a return: it fires, and the return, too
values += ' pid$target:a.out:tail:a5 { @at[probename] = count(); }'
want, _, _ = trace(program, "off", values, 40)
got, errors, _ = trace(program, "auto", values, 40)
check("the instruction before a return", re.findall(r"^\s+a5\s+(\d+)", got, re.M), ["40"])
check("offsets and values beside it", sorted(got.split("\n")), sorted(want.split("\n")))

# a clause that needs the kernel has uprobes at such returns
out, errors, calls = trace(program, "auto", "{ @[probefunc, probename, ustack(1)] = count(); }", 40)
check("counts with stacks", sum(int(c) for c in re.findall(r"^\s+(\d+)$", out, re.M)), 6 * calls)

program.stdin.close()
check("the program's end", program.wait(60 * PATIENCE), 0)

# more windows than are written in one stop: their returns are uprobes, others of the chain are in the process, and none is left out
program = start("chain", CHAIN)
out, errors, calls = trace(program, "auto", "{ @[probename] = count(); }", 10, ("chain",))
check("counts of a chain", dict(re.findall(r"(entry|return)\s+(\d+)", out)), {"entry": str(calls), "return": str(calls)})
inside, uprobes = (int(n) for n in re.findall(r"(\d+) places? probed in process \d+ itself, (\d+) by uprobes?", errors)[0])
refused = re.findall(r"(\d+) at more ways than are written in one stop", errors)
check("all of a chain are probed", (inside + uprobes, inside > 0), (LINKS + 3, True))
check("windows of a chain that are too many", bool(refused) and int(refused[0]) > 1000 or errors, True)
check("nothing is left out", "not probed" in errors or "left out" in errors, False)
program.stdin.close()
check("the end of the chain's program", program.wait(60 * PATIENCE), 0)
for line in bad:
    print(line)
sys.exit(1 if bad else 0)
