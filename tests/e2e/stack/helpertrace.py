# SPDX-License-Identifier: MIT
"""What tests of --helpertrace share: stacks of its reports, and of jstack(), which shows frames in the same way."""
import os, re, subprocess, time

DTRACE, TMP = os.environ["DTRACE"], os.environ["TMP"]
PATIENCE = int(os.environ.get("PATIENCE") or 1)
OPTS = ["-x", "jstackframes=150", "-x", "jstackstrsize=8k"]


def report(what, *options):
    """What --helpertrace says of a thread, or of a core file."""
    run = subprocess.run([DTRACE, *OPTS, *options, f"--helpertrace={what}"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         timeout=120 * PATIENCE)
    if run.returncode:
        print(run.stderr)
    return run.stdout


def stacks(text, tid):
    """The stack of each thread, as lists of lines; tid: of the only thread."""
    found, lines = {}, None
    for line in text.splitlines():
        if m := re.fullmatch(r"thread (\d+):", line):
            tid, lines = int(m[1]), None
        elif line == "the stack:":
            lines = found[tid] = []
        elif lines is not None:
            lines.append(line)
    return found


def language_frames(stack):
    return sum("`" not in line and not re.fullmatch(r" *0x[0-9a-f]+", line) for line in stack)


def until(what, seconds=60):
    """Waits until what() is true, and returns that; None: it does not become true."""
    end = time.monotonic() + seconds * PATIENCE
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.01)
    return None


def write(programs):
    """Writes each program's text to the file of its name."""
    for path, text in programs.items():
        with open(path, "w") as f:
            f.write(text)


def read(path):
    with open(path) as f:
        return f.read()
