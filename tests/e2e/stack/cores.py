# SPDX-License-Identifier: MIT
"""The stack of a process and that of its core file are the same, for each runtime: frames of the language, native frames, their names and
offsets. Each program goes deep and waits in read(), or computes (Erlang). gcore makes the core file, or the kernel, which leaves out what
was never touched, where the file would be large."""
import os, re, resource, shutil, signal, subprocess, sys

from helpertrace import PATIENCE, TMP, language_frames, read, report, stacks, until, write

PROGRAMS = {
    "toy.c": """
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *other(void *arg) { for (;;) pause(); return arg; }
__attribute__((noinline)) int deep(int n) { char c; int r = n ? deep(n - 1) : (int)read(0, &c, 1); return r + 1; }
int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, other, NULL);
	puts("ready");
	fflush(stdout);
	return deep(3);
}
""",
    "p.py": """
import os
def deep(n):
    return list(map(deep, [n - 1]))[0] if n else os.read(0, 1)
print("ready", flush=True)
deep(3)
""",
    "p.pl": """
$| = 1;
sub deep { my ($n) = @_; return $n ? deep($n - 1) : sysread(STDIN, my $c, 1) }
print "ready\\n";
deep(3);
""",
    "p.rb": """
class Kind
  def deep(n) = n > 0 ? [n - 1].map { |m| deep(m) }.first : $stdin.sysread(1)
end
$stdout.sync = true
puts "ready"
Kind.new.deep(3)
""",
    "p.php": """<?php
function deep($n) { return $n ? array_map(fn($m) => deep($m), [$n - 1]) : fread(STDIN, 1); }
echo "ready\\n";
deep(3);
""",
    "p.js": """
const fs = require('fs');
function deep(n) { return n ? [n - 1].map((m) => deep(m))[0] : fs.readSync(0, Buffer.alloc(1)) }
new Error().stack; // V8 knows where lines end now
fs.writeSync(1, 'ready\\n');
deep(3);
""",
    "P.java": """
import java.util.*;
class P {
	static int deep(int n) {
		try {
			return n > 0 ? List.of(n - 1).stream().mapToInt(P::deep).sum() : System.in.read();
		} catch (Exception e) {
			return 0;
		}
	}
	public static void main(String[] a) { System.out.println("ready"); deep(3); }
}
""",
    "p.lua": """
local function deep(n) if n > 0 then return (deep(n - 1)) end return (io.read(1)) end
io.write("ready\\n")
io.flush()
deep(3)
""",
    "p.erl": """
-module(p).
-export([main/0, deep/1]).
deep(0) -> io:format("ready~n"), loop(0);
deep(N) -> [deep(N - 1)].
loop(N) -> loop(N + 1).
main() -> deep(3).
""",
}

# name: command, frames of the language at least, whether the kernel makes the core file
RUNTIMES = {
    "C": (["./toy"], 0, False),
    "Python": (["/usr/bin/python3.11", "p.py"], 5, False),
    "Perl": (["perl", "p.pl"], 4, False),
    "Ruby": (["ruby", "p.rb"], 8, False),
    "PHP": (["php", "p.php"], 5, False),
    "Lua": (["lua5.4", "p.lua"], 4, False),
    "LuaJIT": (["luajit", "p.lua"], 4, False),
    "Node.js": (["node", "p.js"], 6, True),
    "Java": (["java", "-Xmx64m", "-XX:+UseSerialGC", "-cp", ".", "P"], 5, True),
    "Erlang": (["erl", "-noshell", "-s", "p", "main"], 3, False),
}
MADE_BY = {"C": ["cc", "-O0", "-g", "-pthread", "-o", "toy", "toy.c"], "Java": ["javac", "P.java"], "Erlang": ["erlc", "p.erl"]}


def threads(pid):
    return [int(t) for t in os.listdir(f"/proc/{pid}/task")]


def reader(pid):
    """The thread that waits in read(0)."""
    def look():
        for tid in threads(pid):
            if read(f"/proc/{pid}/task/{tid}/syscall").startswith("0 0x0 "):
                return tid
        return None
    return until(look)


def kernel_dumps():
    pattern = read("/proc/sys/kernel/core_pattern").strip()
    return pattern and "/" not in pattern and not pattern.startswith("|")


def unlimited():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def core_of(program, by_kernel):
    if by_kernel:
        before = set(os.listdir("."))
        program.send_signal(signal.SIGABRT)
        program.wait()
        made = [f for f in os.listdir(".") if f not in before]
    else:
        run = subprocess.run(["gcore", "-o", "made", str(program.pid)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             timeout=300 * PATIENCE)
        made = [f for f in os.listdir(".") if f == f"made.{program.pid}"]
        if not made:
            print(run.stdout, run.stderr)
    return "./" + made[0] if made else None


def live_stacks(program, name):
    """Of the thread that waits in read(); of Erlang, of those that run code of the language."""
    if name != "Erlang":
        tid = reader(program.pid)
        return stacks(report(tid), tid) if tid else {}
    return until(lambda: scheduler_stacks(program))


def scheduler_stacks(program):
    """Of the stopped program. Goes on with it if none of its schedulers runs code of the language at this moment."""
    program.send_signal(signal.SIGSTOP)
    found = {}
    for tid in threads(program.pid):
        if "scheduler" in read(f"/proc/{program.pid}/task/{tid}/comm"):  # which run code of the language
            found.update(stacks(report(tid), tid))
    found = {tid: s for tid, s in found.items() if language_frames(s)}
    if not found:
        program.send_signal(signal.SIGCONT)
    return found


def compare(name, command, least, by_kernel):
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=unlimited) as program:
        try:
            if program.stdout.readline() != "ready\n":
                return f"{name} does not begin"
            live = live_stacks(program, name)
            if not live:
                return f"{name}: no thread waits"
            core = core_of(program, by_kernel)
            if not core:
                return f"{name}: there is no core file"
            text = report(core)
            os.unlink(core)
        finally:
            program.kill()
    dead = stacks(text, program.pid)
    if by_kernel and "the process got SIGABRT\n" not in text:
        return f"{name}: the core file has no signal"
    if name == "C" and len(dead) != 2:
        return f"{name}: the core file has {len(dead)} threads"
    for tid, stack in live.items():
        if stack != dead.get(tid):
            return f"{name}: the process\n" + "\n".join(stack) + "\nits core file\n" + "\n".join(dead.get(tid) or ["nothing"])
        if language_frames(stack) < least or (name == "C" and sum("toy`deep" in line for line in stack) != 4):
            return f"{name}: too few frames\n" + "\n".join(stack)
    print(f"{name}: {sum(map(len, live.values()))} frames, {sum(map(language_frames, live.values()))} of the language")
    return None


def main():
    if not shutil.which("gcore"):
        print("this test needs gcore (package gdb)")
        return 67
    os.chdir(TMP)
    write(PROGRAMS)
    bad = []
    for name, (command, least, by_kernel) in RUNTIMES.items():
        maker = MADE_BY.get(name)
        if not shutil.which(command[0]) and not maker or maker and not shutil.which(maker[0]):
            continue
        if by_kernel and not kernel_dumps():
            print(f"skip: {name}: the kernel gives core files to a program (core_pattern)")
            continue
        if maker:
            subprocess.run(maker, check=True, stdin=subprocess.DEVNULL)
        if wrong := compare(name, command, least, by_kernel):
            bad.append(wrong)
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main())
