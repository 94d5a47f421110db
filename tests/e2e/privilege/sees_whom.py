# SPDX-License-Identifier: MIT
# Whose processes a session of dtrace_user sees, for other users' programs, set-id programs, files that cannot be read, PR_SET_DUMPABLE, ids that change,
# and user namespaces: system calls, timers, the scheduler, not even counts.
import os, shutil, subprocess, sys, time

DTRACE, TMP, TRIGGER = os.environ["DTRACE"], os.environ["TMP"], os.environ["TRIGGER"]
PATIENCE = int(os.environ.get("PATIENCE", "1"))
ALICE, BOB = 64001, 64002
if not shutil.which("setpriv") or not shutil.which("unshare"):
    print("needs setpriv and unshare")
    sys.exit(67)
os.chmod(TMP, 0o755)

LOOP = r'''
import ctypes, os, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
def named(name): libc.prctl(15, name.encode(), 0, 0, 0)
def loop():
    while True:
        libc.getppid()
how = sys.argv[1]
named(how)
if how == "nodump":  # alice's own, until it says that it may not be dumped
    os.setresgid(A, A, A); os.setresuid(A, A, A)
    libc.prctl(4, 0, 0, 0, 0)
elif how == "racer":  # its effective id changes all the time, its saved one is root's
    os.setgroups([]); os.setresgid(A, A, A); os.setresuid(A, 0, 0)
    while True:
        libc.setresuid(-1, A, -1); libc.getppid(); libc.setresuid(-1, 0, -1); libc.getppid()
elif how == "halfroot":  # a thread of a root's process has taken alice's ids
    def thread():
        named("halfroot")
        libc.syscall(119, A, A, A)  # setresgid, of this thread alone
        libc.syscall(117, A, A, A)  # setresuid
        loop()
    threading.Thread(target=thread).start()
    named("halfmain")
    threading.Event().wait()
loop()
'''.replace("A,", f"{ALICE},").replace(" A)", f" {ALICE})")
open(f"{TMP}/loop.py", "w").write(LOOP)


def as_user(uid, *cmd, gid=None):
    # a shell executes the program, with none of root's capabilities
    return ["setpriv", f"--reuid={uid}", f"--regid={gid or uid}", "--clear-groups", "sh", "-c", 'exec "$@"', "sh", *cmd]


def copied(name, uid, gid, mode):
    path = f"{TMP}/{name}"
    shutil.copy(f"{TRIGGER}/calls", path)
    os.chown(path, uid, gid)
    os.chmod(path, mode)
    return [path, "getppid", "2000000000"]


OWN = "own"
VICTIMS = {
    OWN: as_user(ALICE, *copied(OWN, 0, 0, 0o755)),
    "other": as_user(BOB, *copied("other", 0, 0, 0o755)),
    "roots": copied("roots", 0, 0, 0o755),
    "setuid": as_user(ALICE, *copied("setuid", BOB, BOB, 0o4755)),
    "setgid": as_user(ALICE, *copied("setgid", BOB, BOB, 0o2755)),
    "othergrp": as_user(ALICE, *copied("othergrp", 0, 0, 0o755), gid=BOB),
    "unread": as_user(ALICE, *copied("unread", 0, 0, 0o711)),
    "userns": as_user(ALICE, "unshare", "-U", *copied("userns", 0, 0, 0o755)),
    "nodump": [sys.executable, f"{TMP}/loop.py", "nodump"],
    "racer": [sys.executable, f"{TMP}/loop.py", "racer"],
    "halfroot": [sys.executable, f"{TMP}/loop.py", "halfroot"],
}
if subprocess.run(as_user(ALICE, "unshare", "-U", "true"), capture_output=True).returncode:
    del VICTIMS["userns"]  # the kernel lets nobody have one

running = [subprocess.Popen(cmd) for cmd in VICTIMS.values()]


def trace(program, *options):
    r = subprocess.run([DTRACE, "-q", *options, "-n", program], capture_output=True, text=True, timeout=120 * PATIENCE)
    if r.returncode:
        raise SystemExit(f"dtrace {options}: {r.stderr}")
    return r


def names(text):
    return {line.split()[0] for line in text.splitlines() if line.split()}


bad = []
try:
    time.sleep(1)  # by then they have taken their ids; the run below waits until it has seen all of them
    everyone = " || ".join(f'execname == "{n}"' for n in VICTIMS)
    r = trace(f"""syscall::getppid:entry /{everyone}/ {{ @c[execname] = count(); }}
        syscall::getppid:entry /({everyone}) && !seen[execname]/ {{ seen[execname] = 1; total++; }}
        profile-997 /({everyone}) && !timed[execname]/ {{ timed[execname] = 1; ntimed++; }}
        profile-997 {{ @p[execname] = count(); }}
        tick-10hz /total >= {len(VICTIMS)} && ntimed >= {len(VICTIMS)}/ {{ exit(0); }}""")
    missing = set(VICTIMS) - names(r.stdout)
    if missing:
        bad.append(f"root does not see {missing}: the test is none\n{r.stdout}")
    for levels in "dtrace_user", "dtrace_user,dtrace_proc", "dtrace_kernel":
        r = trace("""syscall::getppid:entry { @c[execname] = count(); n++; }
            syscall:::entry, syscall:::return { @u[execname, uid] = count(); }
            profile-997 { @p[execname] = count(); m++; }
            sched:::off-cpu, sched:::on-cpu { @s[execname] = count(); }
            proc:::create, proc:::exec, proc:::exec-success, proc:::signal-handle { @e[execname] = count(); }
            vminfo:::as_fault { @f[execname] = count(); }
            tick-10hz /n > 1000 && m > 100/ { k++; }
            tick-10hz /k > 10/ { exit(0); }""", "-x", f"privileges={ALICE}:{levels}")
        if names(r.stdout) != {OWN}:
            bad.append(f"{levels} sees {names(r.stdout)}:\n{r.stdout}")
    # with proc_owner, a session sees everybody although it may not read the kernel
    r = trace("syscall::getppid:entry /execname == \"other\" || execname == \"roots\"/ { @c[execname] = count(); n++; } tick-10hz /n > 100 && ++k > 10/ { exit(0); }",
              "-x", f"privileges={ALICE}:dtrace_user,proc_owner")
    if names(r.stdout) != {"other", "roots"}:
        bad.append(f"with proc_owner: {r.stdout}")
finally:
    for p in running:
        p.kill()
        p.wait()
print("\n".join(bad))
sys.exit(len(bad) > 0)
