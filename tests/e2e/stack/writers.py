# SPDX-License-Identifier: MIT
"""Programs of the runtimes, each of which writes 777 bytes now and then, from deep in its code: for tests that compare its stacks."""
import os, re, shutil, subprocess

from helpertrace import read, write

SRC = os.environ["SRC"]

PROGRAMS = {
    "toy.c": r"""
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>
struct frame {
	struct frame *outer;
	const char *name;
	int line;
};
struct frame *current;
volatile int touched;
char buf[777];
__attribute__((noinline)) void run(const char *const *names, int line)
{
	struct frame f = {current, *names, line};

	current = &f;
	touched += **names;
	if (names[1])
		run(names + 1, line + 10);
	else
		touched += (int)write(2, buf, 777);
	current = f.outer;
	__asm__ volatile("");
}
int main(void)
{
	static const char *const names[] = {"main", "work", "leaf", NULL};

	for (int i = 0; i < 4000; i++) {
		run(names, 1);
		usleep(200000);
	}
	return 0;
}
""",
    "p.py": """
import os, time
class Kind:
    def deep(self, n):
        if n: return list(map(self.deep, [n - 1]))[0]
        return self.last(lambda: os.write(2, b"x" * 777))
    def last(self, f):
        return [f() for _ in (1,)][0]
for i in range(4000):
    Kind().deep(3)
    time.sleep(0.2)
""",
    "p.pl": """
package Kind;
sub deep { my ($n) = @_; return $n ? deep($n - 1) : (sort { last_one(); 0 } (1, 2))[0] }
sub last_one { syswrite(STDERR, "x" x 777) if !$done++ }
for (1 .. 4000) { $done = 0; eval { deep(3) }; select(undef, undef, undef, 0.2) }
""",
    "p.rb": """
class Kind
  def deep(n) = n > 0 ? [n - 1].map { |m| deep(m) }.first : last { $stderr.syswrite("x" * 777) }
  def last = yield
end
4000.times { Kind.new.deep(3); sleep 0.2 }
""",
    "p.php": """<?php
class Kind {
    function deep($n) { return $n ? array_map(fn($m) => $this->deep($m), [$n - 1]) : self::last(); }
    static function last() { return fwrite(STDERR, str_repeat("x", 777)); }
}
for ($i = 0; $i < 4000; $i++) { (new Kind)->deep(3); usleep(200000); }
""",
    # V8 is made to know where the lines of both files end that have frames, this one and node:fs. Otherwise a helper counts the newlines
    # of the text, of which a walk in the kernel may find a page that nobody has mapped, and shows the position.
    "p.js": """
const fs = require('fs'), buf = Buffer.alloc(777);
function wait(ms) { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms) }
class Kind {
	deep(n) { return n ? [n - 1].map((m) => this.deep(m))[0] : this.last() }
	last() { try { return fs.writeSync(2, buf) } catch (e) { } }
}
try { fs.writeSync(999999, buf) } catch (e) { e.stack }
for (let i = 0; i < 4000; i++) { new Kind().deep(3); wait(200) }
""",
    "P.java": """
import java.io.*;
import java.util.*;
class P {
	static byte[] buf = new byte[777];
	static void deep(int n) throws Exception {
		if (n > 0)
			List.of(n - 1).forEach(m -> { try { deep(m); } catch (Exception e) { } });
		else
			last();
	}
	static void last() throws Exception { try (FileOutputStream f = new FileOutputStream("/dev/null")) { f.write(buf, 0, 777); } }
	public static void main(String[] a) throws Exception { for (int i = 0; i < 4000; i++) { deep(3); Thread.sleep(200); } }
}
""",
}

# name: command, frames of the language at least, options
RUNTIMES = {
    "toy": (["./toy"], 3, ["-x", "helper=toy.d"]),
    "python": (["/usr/bin/python3.11", "p.py"], 8, []),
    "perl": (["/usr/bin/perl", "p.pl"], 4, []),
    "ruby": (["ruby", "p.rb"], 8, []),
    "php": (["php", "p.php"], 6, []),
    "node": (["node", "p.js"], 8, []),
    "java": (["java", "-cp", ".", "P"], 8, []),
    # names of native frames with more frames behind them: what was inlined
    "java-compiled": (["java", "-Xcomp", "-XX:TieredStopAtLevel=1", "-cp", ".", "P"], 8, []),
}
VERSIONS = {"perl": ["-e", "exit !($] >= 5.036)"], "ruby": ["-e", 'exit(RUBY_VERSION.start_with?("3.1"))']}

QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def make(name, command):
    """Makes the program of a runtime, which the command executes; false: the runtime is not there, or another version of it."""
    if name == "toy":
        subprocess.run(["cc", "-O1", "-fno-optimize-sibling-calls", "-rdynamic", "-o", "toy", "toy.c"], check=True)
        return True
    if name.startswith("java") and not os.path.exists("P.class") and shutil.which("javac"):
        subprocess.run(["javac", "P.java"], check=True, stdin=subprocess.DEVNULL)
    if not shutil.which(command) or name.startswith("java") and not os.path.exists("P.class"):
        return False
    return name not in VERSIONS or subprocess.run([command, *VERSIONS[name]], **QUIET).returncode == 0


def prepare():
    """Writes the programs, and the helper of the toy, to the current folder."""
    write(PROGRAMS)
    guide = re.findall(r"^```d helper\n(.*?)^```", read(f"{SRC}/doc/guide/ustack-helpers.md"), re.M | re.S)
    write({"toy.d": next(text for text in guide if '"toy"' in text)})
