# SPDX-License-Identifier: MIT
"""Busy programs in several languages, whose objects are known, and core files of them."""
import os, signal, subprocess, sys, time

sys.path.insert(0, os.environ["SRC"] + "/tests/e2e")
from core_files import kernel_cores, unlimited

COUNT = 400  # objects of class Worker that each of them keeps
NODE = r"""
'use strict';
class Worker { constructor(i) { this.id = i; this.name = 'worker-' + i; this.twice = 2 * i; this.next = null; } }
const keep = globalThis.keep = [];
for (let i = 0; i < %d; i++) keep.push(new Worker(i));
let round = 0;
function leaf(text, worker) {
	const parts = {};
	for (let i = 0; i < 200; i++) parts['p' + (i * round) %% 300] = [i, text + i, { deep: worker }, new Date(i), i * 0.5];
	return Object.keys(parts).length + JSON.stringify(parts).length;
}
function middle(n) { return leaf('text ' + n, keep[n %% keep.length]); }
function turn() {
	round++;
	for (let i = 0; i < 20; i++) middle(round + i);
	const i = round %% keep.length;
	keep[i] = new Worker(i);
	if (round == 3) console.log('ready');
	setImmediate(turn);
}
turn();
""" % COUNT
PYTHON = r"""
class Worker:
    def __init__(self, i):
        self.id = i
        self.name = f"worker-{i}"
        self.twice = 2 * i
        self.next = None
keep = [Worker(i) for i in range(%d)]
def leaf(text, worker):
    parts = {}
    for i in range(200):
        parts[f"p{i * round %% 300}"] = [i, text + str(i), {"deep": worker}, (i, i * 0.5), {i, text}]
    return len(parts) + len(repr(sorted(parts)))
def middle(n):
    return leaf(f"text {n}", keep[n %% len(keep)])
round = 0
while True:
    round += 1
    for i in range(20):
        middle(round + i)
    keep[round %% len(keep)] = Worker(round %% len(keep))
    if round == 3:
        print("ready", flush=True)
""" % COUNT
RUBY = r"""
class Worker
  def initialize(i); @id = i; @name = "worker-#{i}"; @twice = 2 * i; @next = nil; end
end
$keep = Array.new(%d) { |i| Worker.new(i) }
def leaf(text, worker)
  parts = {}
  200.times { |i| parts["p#{i * $round %% 300}"] = [i, text + i.to_s, { deep: worker }, i * 0.5, :sym] }
  parts.size + parts.inspect.size
end
def middle(n); leaf("text #{n}", $keep[n %% $keep.size]); end
$round = 0
loop do
  $round += 1
  20.times { |i| middle($round + i) }
  $keep[$round %% $keep.size] = Worker.new($round %% $keep.size)
  if $round == 3 then puts 'ready'; $stdout.flush end
end
""" % COUNT
# interpreter, ending of its files, program
PROGRAMS = {
    "node": (os.environ.get("NODE", "/usr/bin/node"), "js", NODE),
    "python": (os.environ.get("PYTHON", "/usr/bin/python3"), "py", PYTHON),
    "ruby": (os.environ.get("RUBY", "/usr/bin/ruby"), "rb", RUBY),
}


def installed():
    return [name for name, (exe, _, _) in PROGRAMS.items() if os.access(exe, os.X_OK)]


def core_make(name, folder, delay=0.0):
    """Kills the program `delay` seconds after it is busy; returns the core file."""
    exe, ending, text = PROGRAMS[name]
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/busy.{ending}", "w") as f:
        f.write(text)
    for f in os.listdir(folder):
        if f.startswith("core"):
            os.unlink(f"{folder}/{f}")
    program = subprocess.Popen([exe, f"busy.{ending}"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True, preexec_fn=unlimited)
    try:
        if program.stdout.readline() != "ready\n":
            raise RuntimeError(f"{exe} does not become busy")
        time.sleep(delay)  # the moment is random; nothing waits for it
        with kernel_cores():
            program.send_signal(signal.SIGABRT)
            program.wait(60)
    finally:
        if program.poll() is None:
            program.kill()
            program.wait()
        program.stdout.close()
    cores = [f for f in os.listdir(folder) if f.startswith("core")]
    if not cores:
        raise RuntimeError(f"{exe} left no core file")
    return f"{folder}/{cores[0]}"


class Look:
    """A run of mdb, with limits of time, output and memory: what it has printed, and what was wrong."""

    def __init__(self, mdb, args, seconds, megabytes, memory):
        self.wrong = None
        begin = time.monotonic()
        with open("out", "w+b") as out, open("err", "w+b") as err:
            p = subprocess.Popen([mdb, *args], stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            while True:
                pid, status, usage = os.wait4(p.pid, os.WNOHANG)
                if pid:
                    break
                written = os.fstat(out.fileno()).st_size + os.fstat(err.fileno()).st_size
                if time.monotonic() - begin > seconds or written > megabytes << 20:
                    self.wrong = f"no end after {seconds} s" if written <= megabytes << 20 else f"more than {megabytes} MB of output"
                    os.kill(p.pid, signal.SIGABRT)
                    pid, status, usage = os.wait4(p.pid, 0)
                    break
                time.sleep(0.01)
            p.returncode = os.waitstatus_to_exitcode(status)  # Popen shall not wait for it
            out.seek(0)
            err.seek(0)
            self.out, self.err = (f.read(megabytes << 20).decode(errors="replace") for f in (out, err))
        self.seconds, self.memory = time.monotonic() - begin, usage.ru_maxrss >> 10
        if not self.wrong and p.returncode not in (0, 1):
            self.wrong = f"status {p.returncode}"
        if not self.wrong and ("Sanitizer" in self.err or "runtime error" in self.err):
            self.wrong = "a report of a sanitizer"
        if not self.wrong and self.memory > memory:
            self.wrong = f"{self.memory} MB of memory"
        if not self.wrong and any(c < " " and c not in "\n\t" for c in self.out + self.err):
            self.wrong = "a control character"
