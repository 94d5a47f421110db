# SPDX-License-Identifier: MIT
"""Each runtime's program writes 777 bytes from deep in its code. A session records jstack() there and stops the process; --helpertrace, which
runs the same helpers over the same stack in the interpreter of DIF, prints the same frames. What its trace says, and what it refuses."""
import os, re, shutil, subprocess, sys

from helpertrace import DTRACE, OPTS, PATIENCE, TMP, language_frames, read, report, stacks, until, write

SRC, TRIGGER = os.environ["SRC"], os.environ["TRIGGER"]

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
    "bad.d": """dtrace:helper:ustack:
/arg3 == 1/
{
	this->here = arg0;
	"a name";
	*(int *)(arg3 + 7);
	"never";
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

# When the helper is there, somebody opens the file $$2, and the next call stops the process.
SCRIPT = """
    syscall::openat:entry /copyinstr(arg1) == $$2/ { go = 1; }
    syscall::write:entry /(pid == $1 || ppid == $1) && arg2 == 777 && !go/ { jstack(); }
    syscall::write:entry /(pid == $1 || ppid == $1) && arg2 == 777 && go/ { printf("THREAD %d %d\\n", pid, tid); jstack(); stop(); exit(0); }
"""

# of the toy's trace
LINES = r"""toy.d, dtrace:helper:attach:
  toy.d:7: current = 0x[0-9a-f]+
  toy.d:10: condition: false
toy.d, dtrace:helper:uthread:
  toy.d:16: reads 8 bytes at 0x[0-9a-f]+: 0x7ff[0-9a-f]+
  toy.d:16: this->frame = 0x7ff[0-9a-f]+
frame 0: libc.so.6`write\+0x[0-9a-f]+, pc 0x[0-9a-f]+, fp 0x[0-9a-f]+, sp 0x7ff[0-9a-f]+
  toy.d:19: predicate: false
frame 1: toy`run\+0x[0-9a-f]+, pc 0x[0-9a-f]+, fp 0x[0-9a-f]+, sp 0x7ff[0-9a-f]+
  toy.d:19: predicate: true
  toy.d:22: reads [0-9]+ bytes at 0x[0-9a-f]+: "leaf"
  toy.d:22: uframe\(\) adds "leaf line 21"
"""

QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def state(tid):
    return re.search(r"^State:\t(.)", read(f"/proc/{tid}/status"), re.M)[1]


def is_stopped(tid):
    """Whether the thread is, or is so soon: it stops by itself when nobody traces it any more, as soon as it has a CPU."""
    return until(lambda: state(tid) == "T", 10)


def open_missing(path):
    """Opens a file that is not there, for whoever traces openat()."""
    try:
        os.close(os.open(path, os.O_RDONLY))
    except FileNotFoundError:
        pass


def in_kernel(program, options):
    """The thread that was stopped, and its stack; what dtrace has said."""
    if os.path.exists("met"):
        os.unlink("met")
    go = f"go.{program.pid}"
    command = [f"{TRIGGER}/met", DTRACE, "-w", "-q", *OPTS, *options, "-n", SCRIPT, str(program.pid), go]
    with open("kernel.out", "w") as out, open("kernel.err", "w") as err:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err) as tracer:
            until(lambda: os.path.exists("met") or tracer.poll() is not None, 40)
            open_missing(go)
            try:
                tracer.wait(40 * PATIENCE)
            except subprocess.TimeoutExpired:
                tracer.terminate()
    said = read("kernel.err")
    text = read("kernel.out").partition("THREAD ")[2]
    if not text:
        return 0, [], said
    first, _, rest = text.partition("\n")
    return int(first.split()[1]), [line for line in rest.splitlines() if line], said


def compare(name, command, least, options):
    """What is wrong; else None."""
    with subprocess.Popen(command, **QUIET) as program:
        try:
            tid, one, said = in_kernel(program, options)
            if not tid or not is_stopped(tid):
                return f"{name}: it was not stopped\n{said}"
            trace = report(tid, *options)
            if not is_stopped(tid):
                return f"{name}: not stopped any more"
        finally:
            program.kill()
    two = stacks(trace, tid).get(tid, [])
    if one != two:
        return f"{name}: {said}in the kernel\n" + "\n".join(one) + "\nreplayed\n" + "\n".join(two)
    if language_frames(one) < least:
        return f"{name}: too few frames\n" + "\n".join(one) + "\n" + said
    if name == "java-compiled" and not any(re.search(r"deep.*\)\*$", line) for line in one):
        return "nothing was compiled\n" + "\n".join(one)
    if name == "toy":
        lines = trace.splitlines()
        missing = [want for want in LINES.splitlines() if not any(re.fullmatch(want, line) for line in lines)]
        return "\n".join(f"the trace has no line '{line}'" for line in missing) or None
    return None


def make(name):
    """Makes the program of a runtime; false: the runtime is not there, or another version of it."""
    command = RUNTIMES[name][0][0]
    if name == "toy":
        subprocess.run(["cc", "-O1", "-fno-optimize-sibling-calls", "-rdynamic", "-o", "toy", "toy.c"], check=True)
        return True
    if name.startswith("java") and not os.path.exists("P.class") and shutil.which("javac"):
        subprocess.run(["javac", "P.java"], check=True, stdin=subprocess.DEVNULL)
    if not shutil.which(command) or name.startswith("java") and not os.path.exists("P.class"):
        return False
    return name not in VERSIONS or subprocess.run([command, *VERSIONS[name]], **QUIET).returncode == 0


def started(*command):
    """A process that executes the command."""
    program = subprocess.Popen(command, **QUIET)
    until(lambda: read(f"/proc/{program.pid}/comm").strip() == os.path.basename(command[0]))
    return program


def said_of(*arguments, **environment):
    """What dtrace says, on both outputs."""
    return subprocess.run([DTRACE, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, **environment}, timeout=120 * PATIENCE).stdout


def fault():
    """A fault, with its line; a process that runs goes on."""
    program = started("./toy")
    try:
        text = said_of("-x", "helper=bad.d", f"--helpertrace={program.pid}")
        for line in ("  bad.d:4: this->here = 0x", '  bad.d:5: value "a name"', "  bad.d:6: reads 4 bytes at 0x8: not there",
                     "  fault: bad.d:6: no memory at 0x8", "bad.d:1: predicate: false"):
            if line not in text:
                yield f"no line '{line}'"
        if 'value "never"' in text:
            yield "after the fault"
        if state(program.pid) not in "SR":
            yield "the process does not run"
    finally:
        program.kill()
        program.wait()


def refusals():
    program = started("sleep", "600")
    try:
        for wanted, arguments, environment in (
                ("'./none' is no core file", ["--helpertrace=./none"], {}),
                ("there is no process or thread 999999999", ["--helpertrace=999999999"], {}),
                ("option helpertrace: 'x' is no process or thread id, and no core file", ["--helpertrace=x"], {}),
                ("runs no program", ["--helpertrace=1", "-n", "BEGIN"], {}),
                ("only one of", ["--helpertrace=1", "-l"], {}),
                # its name before
                ("runs no program", ["-x", "helpertrace=1", "-n", "BEGIN"], {}),
                ("only one of", ["-x", "helpertrace=1", "-l"], {}),
                (f"no helper applies to process {program.pid} (sleep)", [f"--helpertrace={program.pid}"],
                 {"DTRACE_OPT_SYSLIBDIR": "/nonexistent"})):
            text = said_of(*arguments, **environment)
            if wanted not in text:
                yield f"{' '.join(arguments)} says '{text}', not '{wanted}'"
    finally:
        program.kill()
        program.wait()


def main():
    os.chdir(TMP)
    write(PROGRAMS)
    guide = re.findall(r"^```d helper\n(.*?)^```", read(f"{SRC}/doc/guide/ustack-helpers.md"), re.M | re.S)
    write({"toy.d": next(text for text in guide if '"toy"' in text), "none": ""})
    bad = [compare(name, *RUNTIMES[name]) for name in RUNTIMES if make(name)] + list(fault()) + list(refusals())
    bad = [wrong for wrong in bad if wrong]
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main())
