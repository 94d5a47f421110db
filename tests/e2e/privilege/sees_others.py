# SPDX-License-Identifier: MIT
"""alice's process wakes, and signals, one of hers, and one that is not hers although it has some of her ids: root sees both, alice the first."""
import time
from world import *

enter()
levels(f"user {ALICE}: dtrace_user\n")
PINGS = """
import os, signal, sys, time
inner, outer, own, setuid = map(int, sys.argv[1:])
while True:
    os.write(inner, b"x"); os.write(outer, b"x")
    os.kill(own, signal.SIGUSR1); os.kill(own, signal.SIGUSR2); os.kill(setuid, signal.SIGCONT)
    time.sleep(0.005)
"""
# a reader that handles SIGUSR2 and ignores SIGUSR1, which is then discarded, as SIGCONT is
READS = "import os, signal, sys; signal.signal(signal.SIGUSR1, signal.SIG_IGN); signal.signal(signal.SIGUSR2, lambda *a: None); print('reads', flush=True)\nwhile True: os.read(int(sys.argv[1]), 1)"
everybody = []


def start(uid, argv, **kwargs):
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, env=ENV, **user(uid), **kwargs)
    everybody.append(p)
    return p


def reader(uid):
    r, w = os.pipe()
    p = start(uid, ["/usr/bin/python3", "-c", READS, str(r)], pass_fds=[r], stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    return p, w


path = f"{HOME}/setuid"
shutil.copy(f"{HOME}/calls", path)
os.chown(path, BOB, BOB)
os.chmod(path, 0o4755)
try:
    own, to_own = reader(ALICE)
    other, to_other = reader(BOB)
    setuid = start(ALICE, [path, "getppid", "2000000000"], stdout=subprocess.DEVNULL)
    while f"Uid:\t{ALICE}\t{BOB}" not in open(f"/proc/{setuid.pid}/status").read():
        time.sleep(0.01)
    pings = start(ALICE, ["/usr/bin/python3", "-c", PINGS, str(to_own), str(to_other), str(own.pid), str(setuid.pid)], pass_fds=[to_own, to_other])
    PROGRAM = ('sched:::wakeup /pid == %d/ { @["wakeup", args[1]->pr_pid, args[0]->pr_lwpid] = count(); n++; } '
               'proc:::signal-send /pid == %d/ { @["send", args[1]->pr_pid, args[2]] = count(); m++; } '
               'proc:::signal-discard /pid == %d/ { @["discard", args[1]->pr_pid, args[2]] = count(); m++; } '
               "tick-10hz /n > 100 && m > 100 && ++ticks > 20/ { exit(0); } tick-%ds { exit(5); } ERROR { exit(7); }") % (pings.pid, pings.pid, pings.pid, SECONDS // 2)

    def seen(r):
        """What the session has of the three processes: interrupts send and wake as well, in the name of the current task."""
        check(r.returncode == 0, "the session", r)
        found = {(words[0], int(words[1])) for words in map(str.split, r.stdout.splitlines()) if len(words) == 4}
        return {(what, pid) for what, pid in found if pid in (own.pid, other.pid, setuid.pid)}

    r = subprocess.run([DTRACE, "-qn", PROGRAM], capture_output=True, text=True, env=ENV)
    everything = {("wakeup", own.pid), ("wakeup", other.pid), ("send", own.pid), ("discard", setuid.pid), ("discard", own.pid)}
    check(everything <= seen(r), f"root sees {everything}: else this is no test", r)
    for given in "dtrace_user", "dtrace_user, dtrace_proc", "dtrace_kernel":
        levels(f"user {ALICE}: {given}\n")
        r = dtrace(ALICE, "-qn", PROGRAM)
        check(seen(r) == {("wakeup", own.pid), ("send", own.pid), ("discard", own.pid)}, f"alice with {given}", r)
    made = "provider zz { probe q(int a) = sched:::wakeup (args[1]->pr_pid); }; zz:::q /pid == %d/ { @[\"made\", arg0, 0] = count(); n++; } tick-10hz /n > 100/ { exit(0); }" % pings.pid
    levels(f"user {ALICE}: dtrace_user\n")
    r = dtrace(ALICE, "-qn", made)
    check(seen(r) == {("made", own.pid)}, "through a probe of her own", r)
    levels(f"user {ALICE}: dtrace_user, proc_owner\n")
    r = dtrace(ALICE, "-qn", PROGRAM)
    check(everything <= seen(r), "with proc_owner everybody's", r)
    for text in "sched:::wakeup { trace(arg0); }", "sched:::wakeup { trace(args[1]->pr_addr); }", "proc:::signal-send { trace(args[0]->pr_wchan); }":
        r = dtrace(ALICE, "-qn", text)
        check(r.returncode == 1 and "needs dtrace_kernel" in r.stderr, text, r)
finally:
    for p in reversed(everybody):
        p.kill()
        p.wait()
done()
