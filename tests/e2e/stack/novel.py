# SPDX-License-Identifier: MIT
"""Programs of functions that call one another in a row, each with hundreds of statements of its own, so that lines and names cost most. The
first stack that has these frames has all of them, in order, without a mark, as soon as the helper knows the process."""
import os, re, shutil, subprocess, sys

from helpertrace import DTRACE, PATIENCE, TMP, read, write

TRIGGER = os.environ["TRIGGER"]
DEPTH, STATEMENTS = 300, 300

# command; the function number i, which calls the next one; the last one; the program around them, which waits for the file met
PROGRAMS = {
    "n.py": (["/usr/bin/python3.11"], "def deep{i}(n):{body}\n    return deep{j}(n)\n", "def deep{i}(n):\n    os.write(fd, b'x' * 779)\n", "\n    n += 1", """
import os, sys, time
sys.setrecursionlimit(10000)
fd = os.open("/dev/null", os.O_WRONLY)
FUNCTIONS
os.write(fd, b"x" * 778)
for i in range(6000):
    if os.path.exists("met"): break
    time.sleep(.02)
deep0(0)
"""),
    "n.js": (["node"], "function deep{i}(n) {{{body} return deep{j}(n) + 1 }}\n", "function deep{i}(n) {{ return fs.writeSync(fd, b) }}\n", "\n n += Math.imul(n, 3);", """
const fs = require('fs'), fd = fs.openSync('/dev/null', 'w'), b = Buffer.alloc(779)
FUNCTIONS
fs.writeSync(fd, b, 0, 778)
for (let i = 0; i < 6000 && !fs.existsSync('met'); i++) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
deep0(0)
"""),
    "n.lua": (["lua5.4"], "function deep{i}(n){body} return deep{j}(n) + 1 end\n", "function deep{i}(n) f:write(string.rep('x', 779)) return 0 end\n", "\n n = n + 1", """
f = io.open("/dev/null", "w") f:setvbuf("no")
FUNCTIONS
f:write(string.rep("x", 778))
for i = 1, 6000 do local m = io.open("met") if m then break end os.execute("sleep 0.02") end
deep0(0)
"""),
    "n.php": (["php"], "function deep{i}($n) {{{body} return deep{j}($n) + 1; }}\n", "function deep{i}($n) {{ global $f; return fwrite($f, str_repeat('x', 779)); }}\n",
              "\n $n = abs($n) + 1;", """<?php
$f = fopen("/dev/null", "w");
FUNCTIONS
fwrite($f, str_repeat("x", 778));
for ($i = 0; $i < 6000 && !file_exists("met"); $i++) { usleep(20000); clearstatcache(); }
deep0(0);
"""),
}
SCRIPT = """syscall::write:entry /pid == $target && arg2 == 778/ { @[jstack()] = count(); }
    syscall::write:entry /pid == $target && arg2 == 779/ { jstack(FRAMES); exit(0); } END { trunc(@); }"""


def program(name):
    command, each, last, statement, text = PROGRAMS[name]
    functions = [each.format(i=i, j=i + 1, body=statement * STATEMENTS) for i in range(DEPTH)]
    return text.replace("FUNCTIONS\n", "".join(functions) + last.format(i=DEPTH))


os.chdir(TMP)
failed = False
for name, (command, *_) in PROGRAMS.items():
    if not shutil.which(command[0]):
        continue
    write({name: program(name)})
    if os.path.exists("met"):
        os.unlink("met")
    run = subprocess.run([f"{TRIGGER}/met", DTRACE, "-q", "-x", "jstackstrsize=256k", "-n", SCRIPT.replace("FRAMES", str(3 * DEPTH)), "-c",
                          " ".join(command + [name])], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120 * PATIENCE)
    found = [int(i) for i in re.findall(r"\bdeep(\d+)\b", run.stdout)]
    if found != list(range(DEPTH, -1, -1)) or "[language frames cut]" in run.stdout:
        failed = True
        print(f"{name}: {len(found)} frames of {DEPTH + 1}\n{run.stderr[:2000]}{run.stdout[:2000]}...\n{run.stdout[-600:]}")
sys.exit(failed)
