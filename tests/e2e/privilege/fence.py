# SPDX-License-Identifier: MIT
"""No breakpoint of alice comes into a program that is not hers: a process that has some and executes one is ended before."""
import re
from world import *

enter()
levels(f"user {ALICE}: dtrace_user, dtrace_proc\n")
OPEN = f"{TMP}/open"
os.makedirs(OPEN)
os.chmod(OPEN, 0o777)
SAYS = "it executed a program that is not the user's"
MALLOC = "pid$target:libc.so.6:malloc:entry { @[execname] = count(); }"


def program(name, mode=0o755, owner=(0, 0), caps=None):
    """A copy of touch: whether it has run can be seen by the file that it makes."""
    path = f"{HOME}/{name}"
    shutil.copy(shutil.which("touch"), path)
    os.chown(path, *owner)
    os.chmod(path, mode)
    if caps and subprocess.run(["setcap", caps, path], capture_output=True).returncode:
        left_out.append(name)
    return path


OWN = program("own")
OTHERS = {"setuid": program("setuid", 0o4755, (BOB, 0)), "setgid": program("setgid", 0o2755, (0, BOB)), "roots": program("roots", 0o4755),
          "unread": program("unread", 0o711), "capable": program("capable", caps="cap_net_raw=ep")}


def script(text):
    """A command for -c, which has no quotes."""
    path = f"{home(ALICE)}/run"
    with open(path, "w") as f:
        f.write(f"#!/bin/sh\n{text}\n")
    os.chmod(path, 0o755)
    return path


def run_of(text, *args):
    """Whether the program has run, which makes the file MADE; and what dtrace said."""
    made = f"{OPEN}/made"
    if os.path.exists(made):
        os.unlink(made)
    r = dtrace(ALICE, "-q", *args, "-c", script(text.replace("MADE", made)))
    return os.path.exists(made), r


def executed():
    has_run, r = run_of(f"exec {OWN} MADE", "-n", MALLOC)
    check(has_run and "own" in r.stdout and SAYS not in r.stderr, "alice's program goes on, with its probes", r)
    for name, path in OTHERS.items():
        has_run, r = run_of(f"exec {path} MADE", "-n", MALLOC)
        check(not has_run and SAYS in r.stderr and name not in r.stdout, f"{name} is not run with breakpoints in it", r)
        check(r.stderr.count("has other code now") == 0, f"{name}: one message", r)
        # execve() gives the process its new name before its new credentials: an interrupt of a timer may come between the two, in the kernel
        has_run, r = run_of(f"exec {path} MADE", "-n", "syscall:::entry, profile-997 /probeprov == \"syscall\" || arg1/ { @[execname] = count(); }")
        check(has_run and SAYS not in r.stderr and name not in r.stdout, f"{name} is run where no breakpoint is", r)
        has_run, r = run_of(f"exec {path} MADE", "-n", "syscall:::entry, profile-997 /probeprov == \"syscall\" || arg1/ { @[execname, ustack()] = count(); }")
        check(has_run and SAYS not in r.stderr and name not in r.stdout, f"{name} is run where only user stacks are asked for", r)
        has_run, r = run_of(f"{path} MADE", "-n", MALLOC)
        check(has_run and SAYS not in r.stderr, f"{name} is run by a child, which has no breakpoints", r)


def children():
    path = OTHERS["setuid"]
    has_run, r = run_of(f"{path} MADE; {OWN} MADE.2; echo went on", "-x", "follow=fork", "-n", MALLOC)
    check(not has_run and SAYS in r.stderr and "went on" in r.stdout and "own" in r.stdout, "a child that has probes, too", r)


def namespace():
    """What alice's containers hold is hers to trace, whichever ids are in use there."""
    if run(ALICE, ["unshare", "-U", "true"]).returncode:
        left_out.append("user namespaces")
        return
    has_run, r = run_of(f"exec unshare -U {OWN} MADE", "-n", MALLOC)
    check(has_run and SAYS not in r.stderr, "a program in a user namespace of alice", r)


def already():
    """A process that has executed such a program before the session places its probes gets none."""
    shutil.copy(f"{HOME}/calls", f"{HOME}/loop")
    os.chmod(f"{HOME}/loop", 0o4755)
    p = subprocess.Popen([f"{HOME}/loop", "getppid", "2000000000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=ENV, **user(ALICE))
    try:
        r = dtrace(ALICE, "-qn", "pid$target:libc.so.6:getppid:entry { n++; }", "-p", str(p.pid))
        check(r.returncode == 1 and "proc_owner" in r.stderr, "-p of a set-user-id program", r)
        check(p.poll() is None, "it goes on")
    finally:
        p.kill()
        p.wait()


def kernels():
    """On a kernel whose links for many places are for the processes of all users, alice has links for one place of one process."""
    p = subprocess.Popen([f"{HOME}/calls", "getppid", "2000000000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=ENV, **user(ALICE))
    try:
        r = subprocess.run([DTRACE, "-x", f"privileges={ALICE}:dtrace_user,dtrace_proc", "-qn", "pid$target:libc.so.6:syscall:entry { n++; } tick-10hz /n > 10/ { printf(\"%d\", n); exit(0); }", "-p", str(p.pid)],
                           env={**ENV, "FATHOM_NO_FEATURE": "UPROBE_TGID"}, capture_output=True, text=True, timeout=SECONDS)
        check(r.returncode == 0 and int(r.stdout) > 0, "without UPROBE_TGID", r)
    finally:
        p.kill()
        p.wait()


def capable():
    """A process of alice that was given a capability is none of hers to trace, for the kernel as for us; nor for root who tries what she could."""
    p = subprocess.Popen(["setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups", "--inh-caps=+net_raw", "--ambient-caps=+net_raw", "--bounding-set=-all,+net_raw", f"{HOME}/calls", "getppid", "2000000000"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=ENV)
    try:
        while os.path.basename(os.readlink(f"/proc/{p.pid}/exe")) != "calls":
            pass
        args = ["-qn", "pid$target:libc.so.6:getppid:entry { n++; }", "-p", str(p.pid)]
        for r in dtrace(ALICE, *args), subprocess.run([DTRACE, "-x", f"privileges={ALICE}:dtrace_proc,dtrace_user", *args], capture_output=True, text=True, timeout=SECONDS):
            check(r.returncode == 1 and "is not one of user" in r.stderr, "-p of a process with a capability", r)
    finally:
        p.kill()
        p.wait()


def opened():
    """Each file is opened with alice's rights: no capability is effective then, in the session and in all of its helper processes."""
    watch = subprocess.Popen([DTRACE, "-qn", f"""syscall::open:entry, syscall::openat:entry, syscall::execve:entry, syscall::connect:entry, syscall::ptrace:entry, syscall::kill:entry,
        syscall::process_vm_readv:entry, syscall::stat*:entry, syscall::readlink*:entry, syscall::access*:entry, syscall::unlink*:entry
        /uid == {ALICE} && (execname == "dtrace" || execname == "uprobe-keeper")/ {{ n[*(uint64_t *)&curthread->cred->cap_effective != 0]++; }}
        syscall::bpf:entry /uid == {ALICE}/ {{ @effective = sum(*(uint64_t *)&curthread->cred->cap_effective != 0); raised++; }}
        BEGIN {{ printf("on\\n"); }} END {{ printf("files %d %d raised %d\\n", n[0], n[1], raised > 0); }}"""], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    watch.stdout.readline()
    has_run, r = run_of(f"exec {OWN} MADE", "-wn", MALLOC + ' pid$target:libc.so.6:free:entry { @s[ustack()] = count(); } BEGIN { system("true"); }')
    check(has_run, "a session to look at", r)
    watch.terminate()
    said = watch.communicate(timeout=SECONDS)[0]
    m = re.search(r"files (\d+) (\d+) raised 1", said)
    check(m and int(m.group(1)) > 20 and m.group(2) == "0", "files are opened with no capability that is effective", said)


def resumable():
    """
    With proc_owner, a process of alice that becomes root's is traced further, but not stopped, because she cannot resume it when it has left
    her terminal's session: not where it is to wait for its unwind tables, nor where it is to wait for its probes. Her own ones wait.
    """
    levels(f"user {ALICE}: dtrace_user, dtrace_proc, proc_owner\n")
    python = f"{HOME}/python"
    shutil.copy(os.path.realpath(sys.executable), python)
    os.chmod(python, 0o4755)
    for clause in "syscall:::entry { @[ustack()] = count(); }", MALLOC:
        for becomes in "os.setuid(0)", "os.getppid()":
            has_run, r = run_of(f"exec {python} -Ic 'import os; os.setsid(); {becomes}; os.execv(\"{OWN}\", [\"own\", \"MADE\"])'", "-n", clause)
            check(has_run and r.returncode == 0, f"{becomes}: the process runs to its end", r)
    levels(f"user {ALICE}: dtrace_user, dtrace_proc\n")


executed()
children()
kernels()
capable()
opened()
namespace()
already()
resumable()
done()
