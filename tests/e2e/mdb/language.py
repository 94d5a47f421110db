# SPDX-License-Identifier: MIT
"""A Python program whose threads wait in functions of known names: its stacks in mdb."""
import json, os, re, subprocess, sys

MDB, TMP = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
PYTHON = os.environ.get("PYTHON", "/usr/bin/python3")
SOURCE = """
import os, threading
def leaf(ready):
    ready.set()
    os.read(0, 1)
def branch(ready): leaf(ready)
def waiter(e): e.wait()
ready = threading.Event()
never = threading.Event()
threads = [threading.Thread(target=waiter, args=(never,)) for _ in range(3)]
for t in threads: t.start()
reader = threading.Thread(target=branch, args=(ready,))
reader.start()
ready.wait()
print("ready", flush=True)
reader.join()
never.set()
for t in threads: t.join()
print("over", flush=True)
"""
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{shown}")


if not os.access(PYTHON, os.X_OK):
    print(f"there is no {PYTHON}")
    sys.exit(67)
open(f"{TMP}/waits.py", "w").write(SOURCE)
program = subprocess.Popen([PYTHON, f"{TMP}/waits.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
try:
    check(program.stdout.readline() == "ready\n", "the program begins")

    def run(*args):
        r = subprocess.run([MDB, "-p", str(program.pid), *args], capture_output=True, text=True, timeout=120)
        check(r.returncode == 0, " ".join(args), r.stdout + r.stderr)
        return r.stdout

    text = run("-e", "::stack -a -l")
    check(re.search(r"\[ \S*waits\.py:5 \(leaf\) \]\n  \[ \S*waits\.py:6 \(branch\) \]\n", text), "frames in their order", text)
    check(len(re.findall(r"\(waiter\)", text)) == 3, "of each thread", text)
    check("libc" not in text and "_PyEval" not in text, "-l: nothing else", text)
    text = run("-e", "::stack -a")
    check(re.search(r"`read\+\S+\n(?:python\S*`.*\n|libpython\S*`.*\n)+  \[ \S*waits\.py:5 \(leaf\)", text), "behind native frames", text)
    check("[" not in run("-e", "::stack -a -n"), "-n: native ones only")
    grouped = run("-e", "::stack -u -l")
    check(re.search(r"^3 threads: \d+ \d+ \d+\n(?:  \[.*\n)*  \[ \S*waits\.py:7 \(waiter\)", grouped, re.M), "equal stacks once", grouped)
    rows = json.loads(run("-o", "json", "-e", "::stack -a"))["rows"]
    check(sum("(waiter)" in r.get("language", "") for r in rows) == 3, "JSON", rows)
    program.stdin.write("x")
    program.stdin.close()
    check(program.stdout.read() == "over\n" and program.wait(60) == 0, "it goes on to its end")
finally:
    if program.poll() is None:
        program.kill()
    program.wait()
sys.exit(1 if failed else 0)
