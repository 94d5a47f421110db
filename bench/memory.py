#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What memprof costs programs that do nothing but allocate, beside heaptrack and tracemalloc.

    bench/memory.py BUILD_DIR [ROUNDS]

Each program says itself what one turn of its loop takes: ns of its own CPU time, the least of ROUNDS runs (3). The last
column is the slowdown against the untraced run of the same program, which alone means something on a busy machine. Where
a program is not installed its rows are left out.
"""
import os, re, shutil, subprocess, sys, tempfile

BUILD, ROUNDS = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3
MEMPROF = BUILD + "/src/cmd/memprof/memprof"
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENV = dict(os.environ, DTRACE_OPT_SYSLIBDIR=ROOT + "/dlib")
JAVA = "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"

C = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
int main(int argc, char **argv)
{
	long n = atol(argv[1]);
	struct timespec a, b;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	if (argc > 2) { /* blocks of random sizes that are written, of which a thousand are there */
		static char *kept[1024];
		unsigned r = 1;
		for (long i = 0; i < n; i++) {
			r = r * 1103515245 + 12345;
			unsigned size = 16 + (r >> 16 & 1023), k = r >> 8 & 1023;
			free(kept[k]);
			kept[k] = malloc(size);
			memset(kept[k], 1, size);
		}
	}
	for (long i = 0; i < n && argc == 2; i++) { void *volatile p = malloc(100); free(p); }
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	fprintf(stderr, "%f ns\n", ((b.tv_sec - a.tv_sec) * 1e9 + b.tv_nsec - a.tv_nsec) / n);
}
"""
PYTHON = """
import sys, time
class Thing: __slots__ = ()
n = int(sys.argv[1])
t = time.process_time_ns()
for i in range(n): Thing()
print((time.process_time_ns() - t) / n, "ns", file=sys.stderr)
"""
RUBY = """
n = ARGV[0].to_i
t = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :float_second)
n.times { "garb" + "age" }
STDERR.puts "#{(Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :float_second) - t) * 1e9 / n} ns"
"""
JAVA_TEXT = """
public class Alloc {
	static Object kept;
	public static void main(String[] args) {
		java.lang.management.ThreadMXBean cpu = java.lang.management.ManagementFactory.getThreadMXBean();
		long n = Long.parseLong(args[0]);
		for (int round = 0; round < 2; round++) {
			long t = cpu.getCurrentThreadCpuTime();
			for (long i = 0; i < n; i++) kept = new byte[100];
			System.err.println((cpu.getCurrentThreadCpuTime() - t) / (double) n + " ns");
		}
	}
}
"""


def least(argv):
    """ns of a turn; None: the program is not there."""
    times = []
    for _ in range(ROUNDS):
        p = subprocess.run(argv, env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=300)
        found = re.findall(r"^([\d.]+) ns$", p.stderr, re.M)
        if not found:
            return print("no result of", argv, p.stderr[-300:])
        times.append(float(found[-1]))
    return min(times)


def rows(name, untraced, ways):
    base = least(untraced)
    if base is None:
        return
    print(f"{name:28} {'untraced':28} {base:10.1f} ns", flush=True)
    for way, argv in ways:
        if not argv[0] or not shutil.which(argv[0]):
            continue
        t = least(argv)
        if t is not None:
            print(f"{name:28} {way:28} {t:10.1f} ns {t / base:8.2f} times", flush=True)


with tempfile.TemporaryDirectory() as tmp:
    os.chdir(tmp)
    for file, text in (("alloc.c", C), ("alloc.py", PYTHON), ("alloc.rb", RUBY), ("Alloc.java", JAVA_TEXT)):
        with open(file, "w") as f:
            f.write(text)
    subprocess.run(["cc", "-O1", "-o", "alloc", "alloc.c"], check=True)
    few, many = ["./alloc", "200000"], ["./alloc", "20000000"]
    fast = ["-x", "maxrate=1000000000"]
    rows("malloc(), free()", many, [
        ("memprof", [MEMPROF, *many]),
        ("memprof malloc", [MEMPROF, "malloc", *fast, *few]),
        ("memprof malloc inproc=off", [MEMPROF, "malloc", *fast, "-x", "inproc=off", *few]),
        ("memprof malloc --by caller", [MEMPROF, "malloc", "--by", "caller", *many]),
        ("memprof malloc -r 512k", [MEMPROF, "malloc", "-r", "512k", *fast, *many]),
        ("heaptrack", ["heaptrack", "-o", tmp + "/h", *many]),
    ])
    few, many = ["./alloc", "100000", "random"], ["./alloc", "5000000", "random"]
    rows("blocks of random sizes", many, [
        ("memprof malloc", [MEMPROF, "malloc", *fast, *few]),
        ("memprof malloc --by caller", [MEMPROF, "malloc", "--by", "caller", *many]),
        ("memprof malloc -r 512k", [MEMPROF, "malloc", "-r", "512k", *fast, *many]),
        ("heaptrack", ["heaptrack", "-o", tmp + "/h", *many]),
    ])
    python = ["/usr/bin/python3.11", "-SEI", "alloc.py"]
    rows("an object of Python", [*python, "1000000"], [
        ("memprof", [MEMPROF, *python, "1000000"]),
        ("memprof objects", [MEMPROF, "objects", *fast, *python, "20000"]),
        ("tracemalloc", ["/usr/bin/python3.11", "-X", "tracemalloc", "alloc.py", "1000000"]),
    ])
    ruby = ["/usr/bin/ruby3.1", "--disable-gems", "alloc.rb"]
    if os.path.exists(ruby[0]):
        rows("three strings of Ruby", [*ruby, "1000000"], [
            ("memprof", [MEMPROF, *ruby, "1000000"]),
            ("memprof objects", [MEMPROF, "objects", *fast, *ruby, "10000"]),
        ])
    if os.path.exists(JAVA) and shutil.which("javac"):
        subprocess.run(["javac", "--release", "17", "Alloc.java"], check=True)
        java = [JAVA, "-XX:+UseSerialGC", "-cp", ".", "Alloc", "30000000"]
        rows("an array of Java", java, [("memprof sample", [MEMPROF, "sample", *java])])
