# SPDX-License-Identifier: MIT
"""dtrace -x inproc=auto on a program's own probes, again and again, under threads that check their results, signals that fire the same probes, children,
and bpftrace that comes and goes on the same nops. dtrace ends, or is killed, alone or with its keeper. In the end the code is as in the file, and all
counters are 0.
"""
import os, random, re, shutil, signal, subprocess, sys, time

DTRACE, TMP, SRC, CC = os.environ["DTRACE"], os.environ["TMP"], os.environ["SRC"], os.environ.get("CC", "cc")
PATIENCE = int(os.environ.get("PATIENCE", 1))
ROUNDS = int(os.environ.get("ROUNDS", 6))
FILE = f"{TMP}/own_race"
SCRIPT = ("race$target:::plain,race$target:::red,race$target:::asked { @[probename] = count(); @s[probename] = sum(arg0 & 1); } "
          "race$target:::flags { @[probename] = count(); } "
          'tick-10ms { n++; } tick-10ms /n == 3/ { printf("READY\\n"); }')
bad = []


def code(pid):
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb") as mem:
        for line in maps:
            words = line.split()
            if "x" in words[1] and words[-1] == FILE:
                start, end = (int(x, 16) for x in words[0].split("-"))
                mem.seek(start)
                return mem.read(end - start)


def started(argv):
    p = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in p.stdout:
        if "READY" in line:
            return p
    raise ValueError(f"{argv[0]}: {p.stderr.read()}")


def keepers(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(x) for x in f.read().split()]


def ended(p, how):
    if how == "both":
        p.send_signal(signal.SIGSTOP)
        for k in keepers(p.pid):
            os.kill(k, signal.SIGKILL)
    p.send_signal(signal.SIGINT if how == "end" else signal.SIGKILL)
    out, err = p.communicate(timeout=60 * PATIENCE)
    if how == "end" and not all(f"  {name} " in out for name in ("plain", "red", "asked", "flags")):
        bad.append(f"not all have fired: {out} {err}")
    if how == "end" and not re.search(r"[4-9] places? probed in process \d+ itself, 0 by uprobes?", err):
        bad.append(f"not all are in the process: {err}")


subprocess.run([CC, "-O2", "-pthread", f"-I{SRC}/include", "-o", FILE, f"{SRC}/tests/e2e/inproc/own_race.c"], check=True)
t = subprocess.Popen([FILE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
t.stdout.readline()
before = code(t.pid)
random.seed(1)
for i in range(ROUNDS):
    how = ("end", "killed", "both")[i % 3]
    peer = None
    if shutil.which("bpftrace") and i % 2:
        peer = subprocess.Popen(["bpftrace", "-p", str(t.pid), "-e", "".join(f"usdt:{FILE}:race:{n} {{ @ = count(); }} " for n in ("plain", "red", "flags")) + "interval:ms:500 { exit(); }"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random.random() / 2)
    p = started([DTRACE, "-q", "-x", "inprocsum", "-x", "inproc=auto", "-p", str(t.pid), "-n", SCRIPT])
    t.stdin.write("f")
    t.stdin.flush()
    if peer:
        time.sleep(random.random() / 2)
    ended(p, how)
    if peer:
        peer.wait(60 * PATIENCE)
    if t.poll() is not None:
        bad.append(f"round {i} ({how}): the program has ended: {t.returncode}")
        break
if t.poll() is None:
    # what tracers that were killed with their keepers have left is taken back by the next one
    ended(started([DTRACE, "-q", "-x", "inprocsum", "-x", "inproc=auto", "-p", str(t.pid), "-n", SCRIPT]), "end")
    until = time.monotonic() + 30 * PATIENCE
    while code(t.pid) != before and time.monotonic() < until:
        time.sleep(0.05)
    if code(t.pid) != before:
        bad.append("the code is not that of before")
out = t.communicate(timeout=60 * PATIENCE)[0]
if out != "0 wrong, 1 handled, counters 0 0 0\n" or t.returncode:
    bad.append(f"the program: {out} {t.returncode}")
for line in bad:
    print(line)
sys.exit(bool(bad))
