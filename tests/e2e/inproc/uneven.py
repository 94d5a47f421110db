# SPDX-License-Identifier: MIT
"""Option inproc on a machine whose time stamp counter is no clock: the kernel has another clock, or the counter does not run evenly.

Files over those of the kernel say so, in a mount namespace of this test. Clauses that count run in the process, and in its child; those that note the time
are traps, with the reason; all of them are exact.
"""
import os, re, subprocess, sys

sys.path.insert(0, os.path.dirname(__file__))
from tracing import Target, Tracer, bad, check, report

TMP = os.environ["TMP"]
CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
SOURCE = r"""
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int total;
__attribute__((noinline, noipa)) int work(long n) { total += (int)n; total ^= 5; return total; }
__attribute__((noinline, noipa)) int other(long n) { total -= (int)n; total ^= 3; return total; }
int main(void)
{
	long n;

	for (setlinebuf(stdout), puts("ready"); scanf("%ld", &n) == 1;) {
		for (int k = 0; k < 2; k++) {
			pid_t pid = k ? fork() : 0;

			for (long i = 1; i <= n && !pid; i++) {
				work(i);
				other(i);
			}
			if (k && !pid)
				_exit(0);
			if (k)
				waitpid(pid, NULL, 0);
		}
		printf("%ld\n", n);
	}
}
"""
FILE = f"{TMP}/uneven"
N = 2000
FOLLOWS = tuple(int(x) for x in os.uname().release.split("-")[0].split(".")[:2]) >= (6, 10)
WHY = {"clock": "it notes the time, and the kernel's clock is not the time stamp counter",
       "counter": "it notes the time, and the time stamp counter does not run evenly"}


def cover(path, text):
    """Has this test, and what it starts, read the text in place of the file."""
    own = f"{TMP}/{os.path.basename(path)}"
    is_new = not os.path.exists(own)
    with open(own, "w") as f:
        f.write(text)
    if is_new:
        subprocess.run(["mount", "--bind", own, path], check=True)


def run(what, script, places, want, why=None, *flags):
    """The places are (in the process, uprobes, relayed); want: lines of the output; why: the reason of those that are relayed."""
    t = Target(FILE)
    tracer = Tracer("all", script, t.pid, *flags)
    t.call(N)
    out, _ = tracer.end()
    check(f"{what}: end", t.end(), 0)
    check(f"{what}: places", [x for pid, x in tracer.places if pid == t.pid], [places])
    check(f"{what}: output", re.sub(", oldest .*", "", " ".join(out.split())), want)
    if why:
        check(f"{what}: reason", f"({places[2]} {why})" in tracer.err, True)
    if bad:
        print(tracer.err)


def run_all(why):
    both, entry, ret = "pid$target:uneven:work:entry,pid$target:uneven:other:entry", "pid$target:uneven:work:entry", "pid$target:uneven:work:return"
    run(f"{why} count", f"{both} {{ @[probefunc] = count(); @s = sum(arg0); @q = max(arg0); }}", (2, 0, 0),
        f"other {N} work {N} {N * (N + 1)} {N}", None)
    if FOLLOWS:
        run(f"{why} children", f"{both} {{ @[probefunc] = count(); }}", (2, 0, 0), f"other {2 * N} work {2 * N}", None, "-x", "follow=fork")
    run(f"{why} time", f"{entry} {{ @ = count(); @t = max(timestamp > 0); }}", (0, 0, 1), f"{N} 1", WHY[why])
    run(f"{why} variable", f"{entry} {{ self->t = timestamp; }} {ret} /self->t/ {{ @[timestamp >= self->t] = count(); }}", (0, 0, 2), f"1 {N}", None)
    run(f"{why} record", f"{entry} /arg0 == 7/ {{ trace(arg0); }}", (0, 0, 1), "7", WHY[why])
    run(f"{why} fault", f"{entry} {{ @ = sum(10 / arg0); }}", (0, 0, 1), str(sum(10 // i for i in range(1, N + 1))), WHY[why])
    run(f"{why} some", f"{entry} {{ @ = count(); }} {ret} {{ @t = sum(timestamp > 0); }}", (1, 0, 1), f"{N} {N}", WHY[why])
    run(f"{why} objects", f"{entry} {{ @ = live(arg0, 8); }} pid$target:uneven:other:entry /arg0 > 3/ {{ dead(arg0); }}", (0, 0, 2),
        "24 bytes in 3 objects", WHY[why])


if not FOLLOWS:
    print("skip: children: option follow needs Linux 6.10")
subprocess.run(["cc", "-O1", "-o", FILE, "-x", "c", "-"], input=SOURCE, text=True, check=True)
with open("/proc/cpuinfo") as f:
    cpus = f.read()
cover(CLOCK, "tsc\n")
cover("/proc/cpuinfo", re.sub(r"\b(constant|nonstop)_tsc\b", "", cpus))
run_all("counter")
cover(CLOCK, "hpet\n")
run_all("clock")
sys.exit(report())
