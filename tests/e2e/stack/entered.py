# SPDX-License-Identifier: MIT
"""Stacks of CPython at each of the first instructions of the interpreter loop, in calls that C makes. While the loop's frame is not yet the thread's, the
innermost native frame has no frame of Python; all others have theirs, nothing is marked, and nothing is missing. As many versions as there are."""
import glob, os, re, subprocess, sys

DTRACE, TMP = os.environ["DTRACE"], os.environ["TMP"]
LOOP = "_PyEval_EvalFrameDefault"
PROGRAM = """import posix
def leaf(n):
    return n
def inner(n):
    return leaf(n)
def middle():
    return sorted([1, 2], key=inner)
def between():
    return middle()
def outer():
    return max([1], key=lambda n: between())
posix.getppid()
for i in range(3):
    outer()
posix.getppid()
"""
CHAIN = ["leaf", "inner", "middle", "between", "<lambda>", "outer", "<module>"]
NAME = re.compile(r"\[ (?:.*/)?entered_calls\.py:\d+ \((.*)\) \]")


def dtrace(*args):
    return subprocess.run([DTRACE, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def offsets(python):
    """The module of the loop, and the offsets of its first instructions."""
    rows = re.findall(rf"^ *\d+ +pid\d+ +(\S+) +{LOOP} ([0-9a-f]+)$", dtrace("-l", "-n", f"pid$target::{LOOP}:", "-c", f"{python} -c 1").stdout, re.M)
    return rows[0][0], [n for n in (int(at, 16) for _, at in rows) if n < 0xb0]


def fault(lines):
    """What is wrong with a stack, and whether its innermost native frame of the loop has no frame of Python."""
    names, groups = [], []
    for line in lines:
        if f"`{LOOP}" in line:
            groups.append(0)
        elif m := NAME.search(line):
            names.append(m[1])
            groups[-1:] = [groups[-1] + 1] if groups else [-9]
        elif "[" in line:
            return f"'{line}' is in it", False
    if not names or names != CHAIN[-len(names):]:
        return f"it has {names}", False
    if not all(groups[1:]):
        return f"the native frames have {groups} frames of Python", False
    return None, not groups[0]


def check(python, bad):
    module, at = offsets(python)
    probes = ", ".join(f"pid$target:{module}:{LOOP}:{n:x}" for n in at)
    run = dtrace("-q", "-x", "jstackstrsize=8k", "-x", "bufsize=8m", "-n", "syscall::getppid:entry /pid == $target/ { on = !on; }"
                 f'{probes} /on/ {{ printf("\\nat %s\\n", probename); jstack(60); }} END {{ printf("\\nat end\\n"); }}', "-c", f"{python} -I -S entered_calls.py")
    *parts, end = run.stdout.split("\nat ")[1:]
    early, late = [], []
    for part in parts:
        head, *lines = (line.strip() for line in part.split("\n"))
        wrong, begins = fault(lines)
        if wrong:
            bad.append(f"{python}: at {LOOP}+0x{head}: {wrong}\n" + "\n".join(lines))
            return
        (early if begins else late).append(int(head, 16))
    print(f"{python}: {len(early)} stacks before its frame is the thread's, {len(late)} after")
    # the calls that C makes are seen at each of the instructions that come before
    counts = {early.count(n) for n in at if n <= max(early, default=0)}
    if run.returncode or "dtrace: " in run.stdout or len(early) < 100 or len(counts) != 1 or not late or min(late) <= max(early):
        bad.append(f"{python}: {counts}, {sorted(set(early))}, {sorted(set(late))}\n{end}\n{run.stdout[:500]}")


def main():
    os.chdir(TMP)
    with open("entered_calls.py", "w") as f:
        f.write(PROGRAM)
    paths = sorted(p for pattern in ("/usr/bin", "/usr/local/bin", "~/.pyenv/versions/*/bin") for p in glob.glob(os.path.expanduser(pattern) + "/python3.*")
                   if re.search(r"/python3\.([89]|1[0-4])$", p))
    bad = []
    for python in paths:
        check(python, bad)
    print("\n".join(bad))
    return 1 if bad else 0 if paths else 67


sys.exit(main())
