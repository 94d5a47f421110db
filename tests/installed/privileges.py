# SPDX-License-Identifier: MIT
"""A user with levels, by the guide's steps: the file of levels, the capabilities of the command's file; nothing else is different from any user."""
import contextlib, os, re, subprocess, time

from suite import DTRACE, ENV, Failed, Skip, dtrace, expect, folder, limit, need, run, test

FILE, MEMPROF = "/etc/fathom/privileges", "/usr/sbin/memprof"
PPID = "import os; [os.getppid() for i in range(7)]"
KNOWN = """import os
def known_here():
    os.getppid()
def known_outer():
    known_here()
for i in range(5): known_outer()
"""


@contextlib.contextmanager
def users(home):
    """fathom-ana has two levels, fathom-eve none; and the command has its capabilities."""
    setcap, useradd = need("setcap", "libcap2-bin"), need("useradd", "passwd")
    if os.path.exists(FILE):
        raise Failed(f"the packages bring a file {FILE}, which gives levels to somebody")
    for name in ("fathom-ana", "fathom-eve"):
        run([useradd, "-m", "-s", "/bin/sh", name])
    try:
        os.makedirs("/etc/fathom", exist_ok=True)
        with open(FILE, "w", encoding="utf-8") as f:
            # the quota is no topic here: what the other tests do meanwhile counts as what others lose
            f.write("user fathom-ana: dtrace_user, dtrace_proc cpu=100%\n")
        os.chmod(FILE, 0o644)
        probe = f"{home}/probe"
        open(probe, "w", encoding="utf-8").close()
        code, _, err = run([setcap, "cap_bpf=p", probe], check=False)
        if code:
            raise Skip(f"files cannot have capabilities here: {err.strip()}")
        # with the file of levels there, the package sets the capabilities
        run(["dpkg-reconfigure", "fathom"])
        for path in (DTRACE, MEMPROF):
            expect(run(["getcap", path])[1], r"cap_perfmon,cap_bpf=ip|cap_bpf,cap_perfmon=ip")
        yield
    finally:
        for path in (DTRACE, MEMPROF):
            run([setcap, "-r", path], check=False)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(FILE)
        for name in ("fathom-ana", "fathom-eve"):
            run(["userdel", "-r", name], check=False)


def as_user(name, *argv, cwd="/tmp", check=True):
    return run(["runuser", "-u", name, "--", *argv], cwd=cwd, check=check)


def refused(name, wanted, *args):
    """A session that a user must not have: one message, status 1, and nothing printed."""
    code, out, err = as_user(name, DTRACE, "-q", *args, check=False)
    if code == 0 or out.strip() or not re.search(wanted, err):
        raise Failed(f"{name}: {' '.join(args)}: status {code}\n{out}{err}")


def own(tmp):
    """What the user's own processes do, their functions and their Python frames."""
    out = as_user("fathom-ana", DTRACE, "-Vv")[1]
    expect(out, rf"^you are fathom-ana: dtrace_user, dtrace_proc \(by {FILE}:1\)$")
    counted = lambda text: as_user("fathom-ana", DTRACE, "-q", "-n", text, "-c", f"/usr/bin/python3 -c '{PPID}'", cwd=tmp)[1]
    expect(counted("syscall::getppid:entry /pid == $target/ { @ = count(); }"), r"^ +7$")
    expect(counted("pid$target:libc.so.6:getppid:entry, pid$target:libc.so.6:getppid:return { @[probename] = count(); }"), r"^ +entry +7$", r"^ +return +7$")
    expect(counted("proc:::exit /pid == $target/ { @[execname, uid] = count(); }"), r"^ +python3\S* +\d+ +1$")
    with open(f"{tmp}/known.py", "w", encoding="utf-8") as f:
        f.write(KNOWN)
    out = as_user("fathom-ana", DTRACE, "-q", "-n", "syscall::getppid:entry /pid == $target/ { @[jstack()] = count(); }", "-c", "/usr/bin/python3 known.py", cwd=tmp)[1]
    expect(out, r"known\.py:3 \(known_here\).*\n(.*\n)*?.*known\.py:5 \(known_outer\)")
    out = as_user("fathom-ana", MEMPROF, "malloc", "-n", "3", "-c", "/usr/bin/python3 known.py", cwd=tmp)[1]
    expect(out, r"^ +[\d.]+ .?B +\d+ +\S+`\S+$", r"in \d+ places")
    expect(as_user("fathom-ana", "sh", "-c", "sh -c 'while :; do test -e /; done' & /usr/sbin/syscount -c -d 1; kill $!", cwd=tmp)[1], r"^\w*stat\w* +\d+$")


def others(tmp):
    """Another user's process does what is counted; the user's session does not see it, which root's does."""
    with open(f"{tmp}/busy.py", "w", encoding="utf-8") as f:
        f.write("import os, sys, time\nopen(sys.argv[1], 'w').close()\nwhile True:\n    os.getpriority(0, 0)\n    time.sleep(0.002)\n")
    busy = subprocess.Popen(["setpriv", "--reuid=fathom-eve", "--regid=fathom-eve", "--init-groups", "/usr/bin/python3", "busy.py", "ready"], cwd=tmp, env=ENV, start_new_session=True)
    try:
        end = time.monotonic() + limit()
        while not os.path.exists(f"{tmp}/ready"):
            if time.monotonic() > end or busy.poll() is not None:
                raise Failed("the other user's process does not run")
            time.sleep(0.02)
        expect(dtrace("-qn", "syscall::getpriority:entry /pid == $1/ { printf(\"uid %d\\n\", uid); exit(0); }", str(busy.pid)), r"^uid [1-9]\d*$")
        text = "syscall::getpriority:entry, profile-97 /uid != $1/ { @[probename] = count(); } syscall::getppid:entry /pid == $target/ { @own = count(); }"
        uid = run(["id", "-u", "fathom-ana"])[1].strip()
        out = as_user("fathom-ana", DTRACE, "-q", "-n", text, "-c", f"/usr/bin/python3 -c '{PPID}; import time; time.sleep(1)'", uid, cwd=tmp)[1]
        if out.split() != ["7"]:
            raise Failed(f"a user's session saw others: {out}")
        if busy.poll() is not None:
            raise Failed("the other user's process has ended: it was not seen because it was not there")
        refused("fathom-ana", f"process {busy.pid} .*(other user|user fathom-eve|not yours|proc_owner)|[Oo]peration not permitted", "-n", "pid$target:libc.so.6:getpriority:entry { trace(1); exit(0); }", "-p", str(busy.pid))
    finally:
        os.killpg(busy.pid, 9)
        busy.wait()


def levels():
    refused("fathom-ana", "dtrace_kernel", "-n", "io:::done { trace(1); exit(0); }")
    refused("fathom-ana", "dtrace_kernel", "-n", "BEGIN { trace(curthread->pid); exit(0); }")
    refused("fathom-ana", "dtrace_kernel", "-n", "BEGIN { stack(); exit(0); }")
    refused("fathom-eve", r"privilege", "-n", "BEGIN { trace(1); exit(0); }")
    # what nobody needs a level for
    for name in ("fathom-ana", "fathom-eve"):
        as_user(name, DTRACE, "-en", "BEGIN { trace(pid); }")


def contained(tmp):
    """Root of a user namespace is the user outside of it, who has levels for processes outside of it."""
    code, out, err = as_user("fathom-ana", "unshare", "-Ur", DTRACE, "-qn", "BEGIN { trace(1); exit(0); }", cwd=tmp, check=False)
    if "unshare:" in err:
        return
    if code == 0 or out.strip() or len([line for line in err.splitlines() if line.startswith("dtrace: ")]) != 1:
        raise Failed(f"root of a user namespace: status {code}\n{out}{err}")


@test("privileges/a user with levels traces what is the user's, and nothing else")
def user():
    with folder() as tmp, users(tmp):
        os.chmod(tmp, 0o777)
        own(tmp)
        others(tmp)
        levels()
        contained(tmp)
    if run(["getcap", DTRACE, MEMPROF], check=False)[1].strip():
        raise Failed("a command still has capabilities")
