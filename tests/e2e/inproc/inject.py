# SPDX-License-Identifier: MIT
"""Each of the system calls by which dtrace -x inproc=auto attaches fails once (FATHOM_FAIL=N).

How many calls a run makes is searched first; the last ones are those that write stubs and windows, raise counters, attach, and take all of it back. dtrace ends with
0 or 1; afterwards the process lives, its code is as before, and its counters are 0.
"""
import os, subprocess, sys, time

DTRACE, TMP, SRC, CC = os.environ["DTRACE"], os.environ["TMP"], os.environ["SRC"], os.environ.get("CC", "cc")
PATIENCE = int(os.environ.get("PATIENCE", 1))
FILE, LOG = f"{TMP}/usdt", f"{TMP}/failed"
SCRIPT = "app$target:::asked,app$target:::twice,pid$target:a.out:often:entry { @[probename] = count(); } tick-10ms { exit(0); }"
MOST = 1024  # calls of a run
TRIED = 60
bad = []

subprocess.run([CC, "-O2", f"-I{SRC}/include", "-o", FILE, f"{SRC}/tests/e2e/inproc/usdt.c", "-ldl"], check=True)
t = subprocess.Popen([FILE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
t.stdout.readline()


def call(what):
    t.stdin.write(f"{what}\n")
    t.stdin.flush()
    return t.stdout.readline().strip()


def code():
    with open(f"/proc/{t.pid}/maps") as maps, open(f"/proc/{t.pid}/mem", "rb") as mem:
        for line in maps:
            words = line.split()
            if "x" in words[1] and words[-1] == FILE:
                start, end = (int(x, 16) for x in words[0].split("-"))
                mem.seek(start)
                return mem.read(end - start)


def run(n):
    """Returns what failed ("": the run has made fewer calls), the status, and the messages."""
    if os.path.exists(LOG):
        os.unlink(LOG)
    p = subprocess.run([DTRACE, "-q", "-x", "inproc=auto", "-p", str(t.pid), "-n", SCRIPT], env=dict(os.environ, FATHOM_FAIL=str(n), FATHOM_FAIL_LOG=LOG),
                       capture_output=True, text=True, timeout=100 * PATIENCE)
    return open(LOG).read().strip() if os.path.exists(LOG) else "", p.returncode, p.stderr.strip()


before = code()
low, high = 1, MOST
while low < high:
    middle = (low + high) // 2
    low, high = (middle + 1, high) if run(middle)[0] else (low, middle)
total = low - 1
tried = set()
for n in range(total, max(0, total - TRIED), -1):
    what, status, err = run(n)
    tried.add(what.split(" ")[0])
    call(1)
    until = time.monotonic() + 30 * PATIENCE
    while (call("c") != "0" or code() != before) and time.monotonic() < until:
        time.sleep(0.02)
    if status not in (0, 1) or call("c") != "0" or code() != before:
        bad.append(f"call {n} of {total} ({what}) fails: status {status}, counters {call('c')}, {'the same' if code() == before else 'other'} code: {err}")
if "pwrite" not in tried:
    bad.append(f"no write to the process has failed, only {sorted(tried)} of {total} calls")
t.stdin.close()
if t.wait(60 * PATIENCE):
    bad.append(f"the process has ended with {t.returncode}")
for line in bad:
    print(line)
sys.exit(bool(bad))
