# SPDX-License-Identifier: MIT
"""Probes of stock runtimes by uprobes (-x inproc=off) and in the process (auto): the same output, and counters that are 0 afterwards.

Each program calls a function as often as a line says, collects garbage, and answers. A runtime that is missing, or whose build has no probes, is left out
with that reason.
"""
import os, re, shutil, signal, subprocess, sys

DTRACE, TMP = os.environ["DTRACE"], os.environ["TMP"]
PATIENCE = int(os.environ.get("PATIENCE", 1))
N = 7
bad, done, skipped = [], [], []

PYTHON = """import sys, gc
def called(n):
    return n + 1
print(0, flush=True)
for line in sys.stdin:
    for i in range(int(line)):
        called(i)
    gc.collect()
    print(0, flush=True)
"""
RUBY = """def called(n) [n, n, n] end
$stdout.sync = true
puts 0
while line = gets
  line.to_i.times { |i| called(i) }
  GC.start
  puts 0
end
"""
PHP = """<?php
function called($n) { return $n + 1; }
echo "0\\n";
while (($line = fgets(STDIN)) !== false) {
    for ($i = 0; $i < (int)$line; $i++)
        called($i);
    echo "0\\n";
}
"""
NODE = """function called(n) { return n + 1; }
console.log(0);
require("readline").createInterface({input: process.stdin}).on("line", (line) => { for (let i = 0; i < +line; i++) called(i); gc(); console.log(0); });
"""

# name, text of the program, how it is started, a probe that it must have, script, a line of the output
CASES = [
    ("python", PYTHON, ["/usr/bin/python3", "FILE"], "function-entry",
     "python$target:::function-entry { @[probename, arg2] = count(); } python$target:::gc-start { @[probename, arg0] = count(); }", f"function-entry 2 {N}"),
    ("python, names", PYTHON, ["/usr/bin/python3", "FILE"], "function-entry",
     'python$target:::function-entry { @[copyinstr(arg1)] = count(); } python$target:::gc-start { @gc = count(); }', f"called {N}"),
    ("ruby", RUBY, ["ruby", "FILE"], "array-create",
     "ruby$target:::array-create { @[probename, arg0, arg2] = count(); } ruby$target:::gc-mark-begin { @[probename, 0, 0] = count(); }",
     f"array-create 3 1 {N}"),
    ("php", PHP, ["env", "USE_ZEND_DTRACE=1", "php", "FILE"], "function-entry",
     "php$target:::function-entry,php$target:::function-return { @[probename, arg2] = count(); }", f"function-entry 2 {N}"),
    ("node", NODE, ["node", "--expose-gc", "FILE"], "gc-start", "node$target:::gc-start,node$target:::gc-done { @[probename] = count(); }", "gc-start 1"),
]


def check(what, got, want):
    if got != want:
        bad.append(f"{what}: {got!r} instead of {want!r}")


class Target:
    def __init__(self, argv):
        self.p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.p.pid
        self.p.stdout.readline()

    def call(self):
        self.p.stdin.write(f"{N}\n")
        self.p.stdin.flush()
        return self.p.stdout.readline()


def traced(t, mode, script):
    p = subprocess.Popen([DTRACE, "-q", "-x", "inprocsum", "-x", f"inproc={mode}", "-p", str(t.pid), "-n",
                          script + ' tick-20ms /!told/ { told = 1; printf("READY\\n"); }'],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in p.stdout:
        if "READY" in line:
            break
    else:
        raise ValueError(p.stderr.read())
    check(f"{script}: the program answers", t.call(), "0\n")
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60 * PATIENCE)
    found = re.search(r"(\d+) places? probed in process \d+ itself, (\d+) by uprobes?", err)
    return sorted(" ".join(l.split()) for l in out.splitlines() if l.strip()), (int(found.group(1)), int(found.group(2))) if found else err


def case(name, text, argv, probe, script, line):
    file = f"{TMP}/{name.split(',')[0]}.txt"
    with open(file, "w") as f:
        f.write(text)
    if not shutil.which(argv[2] if argv[0] == "env" else argv[0]):
        skipped.append(f"{name}: not installed")
        return
    t = Target([file if a == "FILE" else a for a in argv])
    listed = subprocess.run([DTRACE, "-ln", f"{name.split(',')[0]}$target:::{probe}", "-p", str(t.pid)], capture_output=True, text=True)
    if probe not in listed.stdout:
        skipped.append(f"{name}: its build has no probes")
    else:
        off, _ = traced(t, "off", script)
        auto, places = traced(t, "auto", script)
        check(f"{name}: the output", auto, off)
        check(f"{name}: calls", line in auto or auto, True)
        check(f"{name}: places in the process", isinstance(places, tuple) and places[0] > 0 or places, True)
        again, _ = traced(t, "off", script)
        check(f"{name}: the output afterwards", again, off)
        done.append(name)
    t.p.stdin.close()
    check(f"{name}: the program's end", t.p.wait(60 * PATIENCE), 0)


only = os.environ.get("ONLY", "")
for row in CASES:
    if only in row[0]:
        case(*row)
for line in bad:
    print(line)
for line in skipped:
    print(f"skip: {line}")
sys.exit(1 if bad else 0 if done else 67)
