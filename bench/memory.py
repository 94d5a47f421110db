#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What memprof costs programs that do nothing but allocate, beside heaptrack and tracemalloc.

    bench/memory.py BUILD_DIR [ROUNDS]

Each program says itself what one turn of its loop takes: ns of its own CPU time, the least of ROUNDS runs (3), traced
and untraced in turns. The last column is the slowdown against the untraced runs of the same program, which alone means
something on a busy machine. The last row is a copy of a process of 200 MB: for how long it stood still. Where a program
is not installed its rows are left out.
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
NODE = """
const n = Number(process.argv[2]);
let kept;
function turns() { for (let i = 0; i < n; i++) kept = { a: i, b: [i] }; }
turns();
const t = process.cpuUsage();
turns();
const d = process.cpuUsage(t);
console.error((d.user + d.system) * 1000 / n, "ns");
"""
PHP = """<?php
class Thing {}
function cpu() { $u = getrusage(); return ($u["ru_utime.tv_sec"] + $u["ru_stime.tv_sec"]) * 1e9 + ($u["ru_utime.tv_usec"] + $u["ru_stime.tv_usec"]) * 1e3; }
$n = (int)$argv[1];
$t = cpu();
for ($i = 0; $i < $n; $i++) new Thing;
fprintf(STDERR, "%f ns\\n", (cpu() - $t) / $n);
"""
PERL = """
use Time::HiRes;
my $n = shift;
my $t = Time::HiRes::clock();
for (1 .. $n) { my $o = bless {}, "Thing"; }
printf STDERR "%f ns\\n", (Time::HiRes::clock() - $t) * 1e9 / $n;
"""
LUA = """
local n, t = tonumber(arg[1]), os.clock()
for i = 1, n do local o = { i } end
io.stderr:write(string.format("%f ns\\n", (os.clock() - t) * 1e9 / n))
"""
STANDS = "import sys, time; kept = [bytes(1000) for _ in range(200000)]; print('ready', flush=True); sys.stdin.read()"
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


def turn_of(argv):
    """ns of a turn; None: it has said none."""
    p = subprocess.run(argv, env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=600)
    found = re.findall(r"^([\d.]+) ns$", p.stderr, re.M)
    if not found:
        print("no result of", argv, p.stderr[-300:])
    return float(found[-1]) if found else None


def rows(name, untraced, ways):
    if not shutil.which(untraced[0]):
        return
    ways = [("untraced", untraced)] + [(way, argv) for way, argv in ways if shutil.which(argv[0])]
    times = [[] for _ in ways]
    for _ in range(ROUNDS):
        for i, (_, argv) in enumerate(ways):
            t = turn_of(argv)
            times[i] += [] if t is None else [t]
    for (way, _), of_way in zip(ways, times):
        if of_way and times[0]:
            times_of = "" if way == "untraced" else f" {min(of_way) / min(times[0]):8.2f} times"
            print(f"{name:28} {way:28} {min(of_way):10.1f} ns{times_of}", flush=True)


def walk_row():
    """For how long a process of 200 MB stands still when it is copied."""
    with subprocess.Popen(["/usr/bin/python3", "-c", STANDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
        p.stdout.readline()
        said = [subprocess.run([MEMPROF, "alive", "-v", "-p", str(p.pid)], env=ENV, capture_output=True, text=True).stderr for _ in range(ROUNDS)]
        p.stdin.close()
    found = [re.search(r"([\d.]+ [kMG]?B) were copied, for which the process stood still for ([\d.]+) (m?s)", text) for text in said]
    if not all(found):
        return print("no result of memprof alive", said[0][-300:])
    least = min(found, key=lambda f: float(f[2]) * (1 if f[3] == "ms" else 1000))
    print(f"{least[1]} copied{'':14} {'memprof alive':28} {least[2]:>10} {least[3]} of standing still", flush=True)


with tempfile.TemporaryDirectory() as tmp:
    os.chdir(tmp)
    for file, text in (("alloc.c", C), ("alloc.py", PYTHON), ("alloc.rb", RUBY), ("Alloc.java", JAVA_TEXT), ("alloc.js", NODE), ("alloc.php", PHP), ("alloc.pl", PERL), ("alloc.lua", LUA)):
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
        ("the same --module a.out", [MEMPROF, "malloc", "--by", "caller", "--module", "a.out", *many]),
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
            ("memprof objects", [MEMPROF, "objects", *fast, *ruby, "1000000"]),
            ("memprof objects inproc=off", [MEMPROF, "objects", *fast, "-x", "inproc=off", *ruby, "10000"]),
        ])
    if os.path.exists(JAVA) and shutil.which("javac"):
        subprocess.run(["javac", "--release", "17", "Alloc.java"], check=True)
        java = [JAVA, "-XX:+UseSerialGC", "-cp", ".", "Alloc", "30000000"]
        rows("an array of Java", java, [("memprof sample", [MEMPROF, "sample", *java])])
    node = ["node", "alloc.js", "30000000"]
    rows("an object of Node.js", node, [("memprof sample", [MEMPROF, "sample", *node])])
    for name, argv in ("an object of PHP", ["php", "alloc.php"]), ("an object of Perl", ["/usr/bin/perl", "alloc.pl"]):
        rows(name, [*argv, "2000000"], [
            ("memprof", [MEMPROF, *argv, "2000000"]),
            ("memprof objects", [MEMPROF, "objects", *fast, *argv, "20000"]),
        ])
    lua = [shutil.which("lua") or "lua5.4", "alloc.lua"]
    rows("a table of Lua", [*lua, "2000000"], [
        ("memprof", [MEMPROF, *lua, "2000000"]),
        ("memprof malloc -r 512k", [MEMPROF, "malloc", "-r", "512k", *fast, *lua, "2000000"]),
    ])
    walk_row()
