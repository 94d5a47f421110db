# SPDX-License-Identifier: MIT
"""Programs of the runtimes that go deep in their language, say that they are ready, and wait in read(0) for one byte; Erlang's computes."""
import os

from helpertrace import read, until

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
