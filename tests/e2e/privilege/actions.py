# SPDX-License-Identifier: MIT
"""Actions that change something: alice's own processes are stopped and get signals, others never; what dtrace executes and opens for her has her rights."""
import re, signal, time
from world import *

enter()
BOTH = f"user {ALICE}: dtrace_user, dtrace_proc\n"
levels(BOTH)
everybody = []


def loop(uid, path=f"{HOME}/calls"):
    p = subprocess.Popen([path, "getppid", "2000000000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=ENV, **(user(uid) if uid else {}))
    everybody.append(p)
    return p


def state(p):
    with open(f"/proc/{p.pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def waits_for(condition):
    for _ in range(SECONDS * 20):
        if condition():
            return True
        time.sleep(0.05)
    return False


def traced(processes, action, *options, end="exit(0);"):
    which = " || ".join(f"pid == {p.pid}" for p in processes)
    return dtrace(ALICE, "-q", *options, "-n", f"syscall::getppid:entry /{which}/ {{ {action} {end} }}")


def own_and_others():
    """One session is about a process of alice, one of bob, and one that runs a set-user-id program for alice: only the first is changed."""
    setuid = f"{HOME}/setuid"
    shutil.copy(f"{HOME}/calls", setuid)
    os.chown(setuid, BOB, BOB)
    os.chmod(setuid, 0o4755)
    for action, is_done in (("stop();", lambda p: state(p) == "T"), ("raise(SIGSTOP);", lambda p: state(p) == "T"), ("raise(SIGKILL);", lambda p: p.poll() == -signal.SIGKILL)):
        own, others = loop(ALICE), [loop(BOB), loop(ALICE, setuid), loop(0)]
        r = traced([own, *others], action)
        check(r.returncode == 1 and "Destructive actions not allowed" in r.stderr, f"{action} without -w", r)
        # the others call all the time: the session goes on until alice's has been met many times as well
        r = dtrace(ALICE, "-q", "-w", "-n", "syscall::getppid:entry /%s/ { %s @[pid] = count(); n++; } tick-1s { exit(0); }" %
                   (" || ".join(f"pid == {p.pid}" for p in (own, *others)), action))
        check(r.returncode == 0 and r.stdout.split()[0::2] == [str(own.pid)], f"{action} fires in alice's only", r)
        check(waits_for(lambda own=own, is_done=is_done: is_done(own)), f"{action} on alice's own", own)
        check(all(state(p) in "RS" and p.poll() is None for p in others), f"{action} leaves others alone", [state(p) for p in others])
        for action_of in f"pid{others[0].pid}:::entry {{ {action} }}", f"pid{others[2].pid}:::entry {{ {action} }}":
            r = dtrace(ALICE, "-qw", "-n", action_of)
            check(r.returncode == 1 and f"is not one of user {ALICE}: it needs proc_owner" in r.stderr, action_of, r)
        r = dtrace(ALICE, "-qw", "-p", str(others[0].pid), "-n", f"syscall:::entry {{ {action} }}")
        check(r.returncode == 1 and "needs proc_owner" in r.stderr, f"-p of bob's for {action}", r)
        for clause in "tick-10hz", "ERROR", "profile:::tick-?":
            r = dtrace(ALICE, "-qw", "-n", f"{clause} {{ {action} }}")
            check(r.returncode == 1 and "needs proc_owner" in r.stderr, f"{action} in {clause}", r)
        levels(f"user {ALICE}: dtrace_user\n")
        r = traced([own], action, "-w")
        check(r.returncode == 1 and "needs dtrace_proc; this session has dtrace_user" in r.stderr, f"{action} with dtrace_user", r)
        levels(BOTH)
        for p in (own, *others):
            p.kill()
            p.wait()


def own_rights():
    """What is executed and opened is alice's doing."""
    own = loop(ALICE)
    r = traced([own], 'system("id -u; id -g; id -G; grep -h ^Cap /proc/self/status");', "-w")
    sets = dict(re.findall(r"Cap(Inh|Prm|Eff|Amb):\t(\w+)", r.stdout))
    check(r.stdout.split()[:3] == [str(ALICE)] * 3 and set(sets.values()) == {"0" * 16} and len(sets) == 4, "system() is alice, without capabilities", r)
    secret = f"{TMP}/secret"
    with open(secret, "w") as f:
        f.write("of root\n")
    os.chmod(secret, 0o600)
    r = traced([own], f'system("cat {secret}; echo x >{secret}"); freopen("{secret}"); printf("x");', "-w")
    with open(secret) as f:
        check(f.read() == "of root\n" and "of root" not in r.stdout, "root's file", r)
    r = traced([own], 'freopen("mine"); printf("text");', "-w")
    path = f"{home(ALICE)}/mine"
    check(r.returncode == 0 and os.path.exists(path) and open(path).read().strip() == "text" and os.stat(path).st_uid == ALICE, "freopen() makes alice's file", r)
    r = traced([own], 'system("kill -9 1 %d");' % os.getpid(), "-w")
    check(r.returncode == 0, "she cannot end root's processes by it", r)
    for action in 'copyout(alloca(8), arg0, 8);', 'copyoutstr("abc", arg0, 4);':
        r = traced([own], action, "-w")
        check(r.returncode == 1 and "could not enable tracing" in r.stderr and "hint: the kernel wants CAP_SYS_ADMIN for it" in r.stderr, action, r)
    r = traced([own], "chill(10);", "-w")
    check(r.returncode == 1 and "chill( ) needs dtrace_kernel" in r.stderr, "chill()", r)


try:
    own_and_others()
    own_rights()
finally:
    for p in everybody:
        if p.poll() is None:
            p.kill()
            p.wait()
done()
