# SPDX-License-Identifier: MIT
"""
alice begins sessions at the same instant, in an order that is not the one in which their processes have begun, and below a session that would
adopt the helper processes of others. Her quotas hold in each case.
"""
import signal, time
from world import *

enter()
# Each process waits until it is let go, in the order that is asked for; what a session has said is in a file of its own.
BEGIN = r"""
import os, sys, time
command, order, pause, count = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
gates, pids = [], []
for i in range(count):
    gate, opens = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(opens)
        for other in gates:
            os.close(other)
        os.read(gate, 1)
        os.dup2(os.open(f"said{i}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644), 1)
        os.dup2(1, 2)
        os.execv(command, [command, *sys.argv[5:]])
    os.close(gate)
    gates.append(opens)
    pids.append(pid)
    time.sleep(0.02)  # two ticks of the kernel, in which it tells when a process has begun
for i in reversed(range(count)) if order == "last" else range(count):
    os.close(gates[i])
    # a session after the other: each says whether it traces
    while pause and (not os.path.exists(f"said{i}") or not os.path.getsize(f"said{i}")):
        time.sleep(0.05)
print("begun", *pids, flush=True)
sys.stdin.read()
for pid in pids:
    os.kill(pid, 9)
"""
STAYS = ["-x", "switchrate=10hz", "-qn"]
TRACED = 'BEGIN { printf("traced\\n"); } '


def begin(what, count, most, *args, order="first", one_by_one=False):
    """Begins sessions; returns what those have said that have ended. No more than `most` of them trace."""
    for i in range(count):
        if os.path.exists(f"{home(ALICE)}/said{i}"):
            os.unlink(f"{home(ALICE)}/said{i}")
    p = subprocess.Popen(["/usr/bin/python3", "-c", BEGIN, DTRACE, order, str(int(one_by_one)), str(count), *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENV,
                         **user(ALICE))
    try:
        begun = p.stdout.readline().split()
        check(begun[:1] == ["begun"], f"{what}: the processes", begun)
        until, said = time.time() + SECONDS, []
        while time.time() < until:
            said = []
            for i in range(count):
                path = f"{home(ALICE)}/said{i}"
                said.append(open(path).read() if os.path.exists(path) else "")
            tracing = [text for text in said if text.startswith("traced")]
            check(len(tracing) <= most, f"{what}: {len(tracing)} sessions trace, and the quota allows {most}", said)
            if all(said) or len(tracing) > most:
                break
            time.sleep(0.1)
        # who asks for probes or memory has claimed them before he looks, so all that ask at once may be refused
        if "probes=" not in what and "memory=" not in what:
            check(len([text for text in said if text.startswith("traced")]) >= 1, f"{what}: one traces", said)
        return [text for text in said if not text.startswith("traced")]
    finally:
        p.communicate("", timeout=SECONDS)


def order_of_processes():
    """The process of the session that begins last is the oldest one."""
    levels(f"user {ALICE}: dtrace_user sessions=1\n")
    ended = begin("processes that were begun before", 4, 1, *STAYS, TRACED + "tick-1s { n++; }", order="last", one_by_one=True)
    check(len(ended) == 3 and all("has 1 session already, and the quota is sessions=1" in text for text in ended), "the others are refused", ended)


def same_instant():
    """Twenty sessions at once: no quota is passed, and none of them is left out by all."""
    for quota, most, args in (("sessions=3", 3, [*STAYS, TRACED + "tick-1s { n++; }"]),
                              ("sessions=30 probes=100", 1, [*STAYS, TRACED + "syscall::se*:entry { n++; }"]),
                              ("sessions=30 memory=100m", 1, ["-x", "bufresize=manual", "-b", "24m", *STAYS, TRACED + "tick-1s { n++; }"])):
        levels(f"user {ALICE}: dtrace_user {quota}\n")
        begin(f"twenty with {quota}", 20, most, *args)


# Below the session: sessions are killed whose keepers are stopped, and so keep their probes.
ORPHANS = r"""
import os, subprocess, sys
def children(of):
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                text = f.read()
        except OSError:
            continue
        if int(text.rsplit(")", 1)[1].split()[1]) == of:
            found[text.split("(", 1)[1].rsplit(")", 1)[0]] = int(pid)
    return found
kept = []
for _ in range(3):
    p = subprocess.Popen([sys.argv[1], "-x", "switchrate=10hz", "-qn", 'BEGIN { printf("traced\\n"); } pid$target:libc.so.6:*nanosleep:entry { n++; }', "-c", "sleep 1000"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said, found = p.stdout.readline(), children(p.pid)
    if "uprobe-keeper" in found:
        kept.append(found["uprobe-keeper"])
        os.kill(kept[-1], 19)
    p.kill()
    p.communicate()
    if "sleep" in found:
        os.kill(found["sleep"], 9)
    print(said, flush=True)
print(f"kept {len(kept)}", flush=True)
for pid in kept:
    os.kill(pid, 9)
"""


def orphans():
    """A session that alice has made the reaper of its descendants does not take the keepers of other sessions for its own."""
    levels(f"user {ALICE}: dtrace_user dtrace_proc sessions=2\n")
    with open(f"{home(ALICE)}/orphans.py", "w") as f:
        f.write(ORPHANS)
    reaper = "import ctypes, os, sys; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])"  # PR_SET_CHILD_SUBREAPER
    r = run(ALICE, ["/usr/bin/python3", "-c", reaper, DTRACE, "-qn", "tick-1s { n++; }", "-c", f"/usr/bin/python3 orphans.py {DTRACE}"])
    check("kept 1\n" in r.stdout and r.stdout.count("traced") == 1 and r.stdout.count("has 2 sessions already") == 2, "keepers without a session count", r)


order_of_processes()
same_instant()
orphans()
done()
