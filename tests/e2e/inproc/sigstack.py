# SPDX-License-Identifier: MIT
"""Probes in a handler on an alternate stack for signals, with -x inproc=all.

The stack lies on a page that nobody may touch. Its bytes are painted before each signal, so that the program knows how far down the handler has come:
with probes at most as many bytes further as doc/inproc.md says. With a smaller stack the process is refused, and nothing happens to it.
"""
import os, subprocess, sys

DTRACE, TMP, CC = os.environ["DTRACE"], os.environ["TMP"], os.environ.get("CC", "cc")
MOST = 1328  # bytes: STUB_STACK_MAX and NATIVE_STACK_MAX
FILE = f"{TMP}/sigstack"
PROGRAM = r"""
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>
#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
static volatile long total;
__attribute__((noinline, noipa)) long work(long a, long b)
{
	total += a; /* too short for a jump without it */
	return total + b;
}
static void handler(int sig)
{
	for (int i = 0; i < 10; i++)
		(void)work(i + sig, i);
}
int main(int argc, char **argv)
{
	size_t least = getauxval(AT_MINSIGSTKSZ), size, deepest = 0;
	unsigned char *p = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 65536;
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	stack_t st = {.ss_sp = p};

	size = (least < 2048 ? 2048 : least) + atoi(argv[1]);
	size = (size + 15) & -16;
	mprotect(p, (size + 4095) & -4096, PROT_READ | PROT_WRITE);
	st.ss_size = size;
	if (sigaltstack(&st, NULL) || sigaction(SIGUSR1, &sa, NULL))
		return 3;
	printf("ready\n");
	fflush(stdout);
	while (getchar() == '\n') {
		for (int n = 0; n < 20; n++) {
			size_t i = 0;

			memset(p, 0x5a, size);
			raise(SIGUSR1);
			while (i < size && p[i] == 0x5a)
				i++;
			deepest = size - i > deepest ? size - i : deepest;
		}
		printf("%zu\n", deepest);
		fflush(stdout);
	}
	return 0;
}
"""
SCRIPT = """int g; int a[int, string]; self int s;
pid$target:a.out:work:entry /arg0 > 0 && probefunc != "x"/ { this->x = arg1 / arg0 + (arg0 % 7); g = this->x << (arg0 & 3); self->s = g * 3;
  a[g, probefunc] = 1; @c[tid, probefunc, arg0, arg1] = avg(arg1); @d = stddev(arg0); @q[probename, arg0] = quantize(arg0, arg1);
  @n = llquantize(arg0, 10, 0, 6, 20); @all = count(); printf("%d %d %s %d %d\\n", arg0, timestamp, probemod, self->s, a[g, "y"]); }
pid$target:a.out:work:return { @["returns", arg1 - self->s] = count(); @r = count(); }
tick-20ms /!told/ { told = 1; printf("READY\\n"); }
END { printa("entries %@d\\n", @all); printa("returns %@d\\n", @r); }"""
bad = []


def round_of(t):
    t.stdin.write("\n")
    t.stdin.flush()
    return int(t.stdout.readline() or -1)


def session(t, *options):
    return subprocess.Popen([DTRACE, "-q", "-x", "inproc=all", *options, "-p", str(t.pid), "-n", SCRIPT], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def program(size):
    t = subprocess.Popen([FILE, str(size)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if t.stdout.readline() != "ready\n":
        sys.exit(f"the program does not start with {size} bytes")
    return t


with open(f"{FILE}.c", "w") as f:
    f.write(PROGRAM)
subprocess.run([CC, "-O1", f"{FILE}.c", "-o", FILE], check=True)

t = program(MOST + 512)
bare = round_of(t)
d = session(t)
for line in d.stdout:
    if line == "READY\n":
        break
deep = round_of(t)
d.terminate()
out, err = d.communicate()
after = round_of(t)
t.stdin.close()
if "entries 200" not in out or "returns 200" not in out:
    bad.append(f"of 200 calls: {out[-200:]} {err}")
if t.wait() or bare < 0 or after < 0:
    bad.append(f"the program ended with {t.returncode}")
if not 200 < deep - bare <= MOST:
    bad.append(f"probes have used {deep - bare} bytes of the stack")
print(f"# {deep - bare} bytes of at most {MOST}", file=sys.stderr)

t = program(64)
d = session(t)
out, err = d.communicate()
if d.returncode == 0 or "has a stack for signals of" not in err:
    bad.append(f"a small stack: {out} {err}")
if round_of(t) < 0:
    bad.append("the program has died of a refusal")
t.stdin.close()
if t.wait():
    bad.append(f"it ended with {t.returncode}")
print("\n".join(bad))
sys.exit(bool(bad))
