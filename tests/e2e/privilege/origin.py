# SPDX-License-Identifier: MIT
"""Who may trace with capabilities of the file, and by what; what was so before stays so."""
import ctypes, re, signal, time
from world import *

enter()
TRACE = ["-qn", 'BEGIN { printf("traced"); exit(0); }']


def refused(who, r, said):
    check(r.returncode == 1 and said in r.stderr and "traced" not in r.stdout, f"{who} is refused with '{said}'", r)
    check(len(r.stderr.strip().split("\n")) <= 2, f"{who} gets one message, and a hint", r.stderr)


def traces(who, r):
    check(r.returncode == 0 and "traced" in r.stdout and not r.stderr, f"{who} traces", r)


def tells(uid, said, **kwargs):
    r = dtrace(uid, "-V", "-v", **kwargs)
    check(r.returncode == 0 and said in r.stdout, f"-V -v: {said}", r)


def given(caps, *args):
    """dtrace of a service: whoever starts it gives it capabilities."""
    caps = ",".join("+" + c for c in caps)
    return subprocess.run(["setpriv", f"--reuid={CAROL}", f"--regid={CAROL}", "--clear-groups", f"--inh-caps={caps}", f"--ambient-caps={caps}", DTRACE, *args],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, env=ENV)


def levels_of_the_file():
    levels(f"# who\nuser {ALICE}: dtrace_user, dtrace_proc\ngroup {STAFF}: dtrace_user # all of them\nuser {ALICE}: dtrace_user\n")
    tells(ALICE, f"you are user {ALICE}: dtrace_user, dtrace_proc (by {LEVELS}:2, 4")
    tells(BOB, f"you are user {BOB}: no level (none in {LEVELS})")
    tells(BOB, f"you are user {BOB}: dtrace_user (by {LEVELS}:3", groups=[STAFF])
    refused("bob", dtrace(BOB, *TRACE), f"user {BOB} has no level")
    for uid, groups in (ALICE, []), (BOB, [STAFF]):
        r = dtrace(uid, *TRACE, groups=groups)
        traces(uid, r)
    # the file is asked each time
    levels(f"user {BOB}: dtrace_user\n")
    refused("alice, whose level was taken away", dtrace(ALICE, *TRACE), f"user {ALICE} has no level")


def package():
    """An upgrade brings a file without capabilities; the package sets them where there is a file of levels, and there only."""
    with open(f"{SRC}/debian/fathom.postinst") as f:
        script = f.read().split("# A file that comes with an upgrade")[1].replace("/usr/sbin/dtrace", DTRACE)
    for text, said in (None, "lacks CAP_BPF and CAP_PERFMON"), ("", "has no level"):
        shutil.copy(DTRACE, DTRACE + ".new")
        os.rename(DTRACE + ".new", DTRACE)
        levels(text)
        subprocess.run(["sh", "-ec", "#" + script, "postinst", "configure"], check=True)
        refused(f"alice, after an upgrade with {text}", dtrace(ALICE, *TRACE), said)
    levels(f"user {ALICE}: dtrace_user\n")
    tells(ALICE, "dtrace_user (by")
    traces("a service after an upgrade", given(["bpf", "perfmon", "kill", "syslog"], *TRACE))


def example():
    """The file that is shipped gives nothing to anybody, and its lines are right."""
    with open(f"{SRC}/doc/privileges.example") as f:
        text = f.read()
    levels(text)
    refused("alice, by the example", dtrace(ALICE, *TRACE), "has no level")
    lines = [line[2:] for line in text.split("\n") if line.startswith(("# user ", "# group "))]
    levels("\n".join(lines).replace("user ci", f"user {ALICE}"))
    check(len(lines) >= 3, "lines of the example", lines)
    tells(ALICE, f"dtrace_user, dtrace_proc (by {LEVELS}:2")
    with open(f"{SRC}/doc/fathom-privileges.5") as f:
        page = f.read()
    lines = re.findall(r"^(?:user|group) .*: .*$", page, re.M)
    levels("\n".join(lines).replace("user ci", f"user {ALICE}"))
    check(len(lines) == 5, "lines of the manual page", lines)
    tells(ALICE, f"dtrace_user, dtrace_proc (by {LEVELS}:3")


def names():
    """Users and groups by name, as /etc/passwd and /etc/group have them."""
    for name, line in ("passwd", f"alice:x:{ALICE}:{ALICE}::/:/bin/sh\n"), ("group", f"my team:x:{STAFF}:\n"):
        with open(f"/etc/{name}") as f:
            text = f.read()
        subprocess.run(["umount", f"/etc/{name}"], check=True)
        with open(f"/etc/{name}", "w") as f:
            f.write(text + line)
    levels("user alice: dtrace_proc\ngroup my team: dtrace_user\nuser nobody-has-this-name: dtrace_kernel\n")
    tells(ALICE, f"you are alice: dtrace_proc (by {LEVELS}:1")
    tells(ALICE, f"you are alice: dtrace_user, dtrace_proc (by {LEVELS}:1, 2", groups=[STAFF])
    tells(BOB, f"dtrace_user (by {LEVELS}:2", groups=[STAFF])


def hostile_files():
    """Nobody gets anything from a file that is not understood, or that others than root can change."""
    good = f"user {ALICE}: dtrace_user\n"

    def is_void(said, what):
        for uid in ALICE, BOB:
            refused(f"{uid}, {what}", dtrace(uid, *TRACE), said)
        r = dtrace(ALICE, "-V", "-v")
        check(r.returncode == 1 and said in r.stderr and "dtrace_user" not in r.stdout, f"-V -v, {what}", r)

    levels(good + f"user {BOB}: everything\n")
    is_void(f"{LEVELS}:2: 'everything' is no level", "an unknown level")
    levels(good + "all of you\n")
    is_void(f"{LEVELS}:2: 'all' is neither 'user' nor 'group'", "an unknown word")
    for mode in 0o664, 0o646:
        levels(good, mode)
        is_void("must be root's", f"mode {mode:o}")
    levels(good, 0o600)
    is_void("cannot read", "a file that the user cannot read")
    levels(good)
    os.chown(LEVELS, ALICE, 0)
    is_void("must be root's", "a file of the user")
    levels(None)
    os.symlink(f"{home(ALICE)}/levels", LEVELS)
    with open(f"{home(ALICE)}/levels", "w") as f:
        f.write(good)
    is_void("cannot read", "a symbolic link")
    levels(None)
    os.mkfifo(LEVELS)
    is_void("must be root's", "a fifo")
    levels("#" * 65537)
    is_void("longer than", "a long file")
    levels(good)
    os.chmod("/etc/fathom", 0o777)
    is_void("must be root's", "a folder that all can change")
    os.chmod("/etc/fathom", 0o755)
    levels(None)
    refused("alice, without a file", dtrace(ALICE, *TRACE), f"user {ALICE} has no level")
    os.rmdir("/etc/fathom")
    refused("alice, without a folder", dtrace(ALICE, *TRACE), f"user {ALICE} has no level")
    os.mkdir("/etc/fathom")


def work_for_all():
    """What needs no rights works for those without a level, and gives the capabilities up."""
    levels("")
    with open(f"{home(BOB)}/p.d", "w") as f:
        f.write("provider p { probe q(int); };\n")
    for args in (["-V"], ["-e", "-n", "BEGIN { trace(pid); }"], ["-l", "-n", "BEGIN"], ["-h", "-s", "p.d"], ["-G", "-s", "p.d"], ["--help=options"]):
        r = dtrace(BOB, *args)
        check(r.returncode == 0 and not r.stderr, f"{args} works", r)
    wait = f"{home(BOB)}/cpp"
    with open(wait, "w") as f:
        f.write(f"#!/bin/sh\necho $PPID >{home(BOB)}/pid.new; mv {home(BOB)}/pid.new {home(BOB)}/pid; exec sleep 600\n")
    os.chmod(wait, 0o755)
    p = subprocess.Popen([DTRACE, "-e", "-C", "-x", f"cpppath={wait}", "-s", "p.d"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENV, **user(BOB))
    for _ in range(SECONDS * 20):
        if os.path.exists(f"{home(BOB)}/pid"):
            break
        time.sleep(0.05)
    status = open(f"/proc/{p.pid}/status").read()
    check("CapPrm:\t0000000000000000" in status, "-e has given the capabilities up", status)
    for pid in subprocess.run(["pgrep", "-P", str(p.pid)], capture_output=True, text=True).stdout.split():
        os.kill(int(pid), signal.SIGKILL)
    p.wait()


def traced(argv):
    """Runs a program that is traced by its user from its beginning on."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(w, 1)
        os.dup2(w, 2)
        os.setgroups([])
        os.setresgid(ALICE, ALICE, ALICE)
        os.setresuid(ALICE, ALICE, ALICE)
        tracer = os.fork()
        if tracer == 0:
            ctypes.CDLL(None).ptrace(0, 0, None, None)
            os.execve(argv[0], argv, ENV)
        while True:
            _, status = os.waitpid(tracer, 0)
            if not os.WIFSTOPPED(status):
                os._exit(os.waitstatus_to_exitcode(status) & 255)
            ctypes.CDLL(None).ptrace(7, tracer, None, None)  # PTRACE_CONT
    os.close(w)
    out = open(r).read()
    return subprocess.CompletedProcess(argv, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), out, out)


def no_detours():
    """Levels are of the user who calls; whoever holds the process gets no capabilities."""
    levels(f"user {ALICE}: dtrace_user\n")
    lacks = "has not the capabilities of the command's file"
    refused("alice, who traces it", traced([DTRACE, *TRACE]), lacks)
    refused("alice, with no_new_privs", run(ALICE, ["setpriv", "--no-new-privs", DTRACE, *TRACE]), lacks)
    r = subprocess.run(["setpriv", f"--ruid={BOB}", f"--euid={ALICE}", f"--regid={ALICE}", "--clear-groups", DTRACE, *TRACE], capture_output=True, text=True, env=ENV)
    refused("bob, by a set-user-id program of alice", r, f"user {BOB} calls with the rights of user {ALICE}")
    r = run(ALICE, ["setpriv", "--no-new-privs", DTRACE, "-V", "-v"])
    check(f"no level ({LEVELS}:1 gives one, and this process has not the capabilities" in r.stdout, "-V -v says so", r)
    refused("bob, with no_new_privs", run(BOB, ["setpriv", "--no-new-privs", DTRACE, *TRACE]), "lacks CAP_BPF and CAP_PERFMON")
    r = run(ALICE, ["unshare", "-Ur", DTRACE, *TRACE])
    if "unshare failed" not in r.stderr:
        check(r.returncode == 1 and "traced" not in r.stdout, "root of a user namespace does not trace", r)
    r = run(BOB, ["unshare", "-U", f"--map-user={ALICE}", DTRACE, *TRACE])
    if "unshare failed" not in r.stderr:
        refused("bob, who calls himself alice", r, "levels do not hold in a user namespace")


def ways_of_before():
    """root, and capabilities that whoever starts it gives, with the file's and without."""
    levels("")
    both = ["bpf", "perfmon"]
    for caps in "cap_bpf,cap_perfmon=p", "cap_bpf,cap_perfmon=ip", None:
        if caps:
            set_capabilities(caps)
        else:
            subprocess.run(["setcap", "-r", DTRACE], check=True)
        traces(f"root, {caps}", subprocess.run([DTRACE, *TRACE], capture_output=True, text=True, env=ENV))
        traces(f"a service, {caps}", given(both, *TRACE))
        r = given(both, "-V", "-v")
        check("all levels (by capabilities that this process was given)" in r.stdout, f"a service is told, {caps}", r)
        said = f"user {ALICE} has no level" if caps else "lacks CAP_BPF and CAP_PERFMON"
        refused(f"alice, {caps}", dtrace(ALICE, *TRACE), said)
    # a service with more capabilities keeps those that are inheritable in the file, too
    set_capabilities("cap_bpf,cap_perfmon=ip cap_sys_ptrace=i")
    r = given(both + ["sys_ptrace", "kill"], "-wqn", 'BEGIN { system("true"); printf("traced"); exit(0); }')
    traces("a service with more", r)
    # capabilities of the file never give everything, however they were set
    for caps in "cap_bpf,cap_perfmon=ep", "cap_sys_admin,cap_bpf,cap_perfmon=ep":
        set_capabilities(caps)
        refused(f"alice, {caps}", dtrace(ALICE, *TRACE), f"user {ALICE} has no level")
    for caps in "cap_bpf=p", "cap_sys_admin=ep", "cap_perfmon=ep":
        set_capabilities(caps)
        refused(f"alice, {caps}", dtrace(ALICE, *TRACE), "are not cap_bpf and cap_perfmon")
    set_capabilities("cap_bpf,cap_perfmon=p")


levels_of_the_file()
hostile_files()
work_for_all()
no_detours()
ways_of_before()
package()
example()
names()
done()
