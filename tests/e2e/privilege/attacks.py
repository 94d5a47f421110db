# SPDX-License-Identifier: MIT
"""alice may trace, and wants what she may not have: files and memory of others, through the command that has capabilities."""
import ctypes, glob, re, resource, signal, time
from world import *

enter()
levels(f"user {ALICE}: dtrace_user, dtrace_proc\n")
MARK = "the-secret-of-root"
SECRET = f"{TMP}/secret"
HELD = 0xC000000000  # CAP_BPF and CAP_PERFMON
libc = ctypes.CDLL(None, use_errno=True)


def secret_make():
    with open(SECRET, "w") as f:
        f.write(f"{MARK} {{ {MARK} }}\n#pragma D option {MARK}\n")
    os.chmod(SECRET, 0o600)
    os.makedirs(f"{TMP}/closed", exist_ok=True)
    shutil.copy(SECRET, f"{TMP}/closed/lib.d")
    os.chmod(f"{TMP}/closed", 0o700)


def secret_check(what, r):
    said = r.stdout + r.stderr
    for name in os.listdir(home(ALICE)):
        path = os.path.join(home(ALICE), name)
        if os.path.isfile(path) and not os.path.islink(path):
            with open(path, errors="replace") as f:
                said += f.read()
    check(MARK not in said, f"{what} shows root's file", r)
    with open(SECRET) as f:
        check(f.read().count(MARK) == 3, f"{what} has changed root's file", r)
    check(r.returncode >= 0, f"{what} ends dtrace by a signal", r)


def files_of_root():
    """Whatever names a file is opened as alice, and what cannot be opened is not shown."""
    secret_make()
    link = f"{home(ALICE)}/link"
    os.symlink(SECRET, link)
    with open(f"{home(ALICE)}/include.d", "w") as f:
        f.write(f'#include "{SECRET}"\nBEGIN {{ exit(0); }}\n')
    with open(f"{home(ALICE)}/t.d", "w") as f:
        f.write("typedef int mine_t; BEGIN { x = (mine_t)1; exit(0); }\n")
    begin = ["-n", "BEGIN { exit(0); }"]
    for path in SECRET, link, f"{TMP}/closed/lib.d":
        for args in (["-s", path], [path], ["-C", "-s", path], ["-o", path, *begin], ["-c", path, *begin], ["--core", path, *begin], [f"--pstack={path}"],
                     [f"--helpertrace={path}"], ["-h", "-s", path], ["-G", "-s", path, "-o", "out.o"], ["-G", path, "-o", "out.o"],
                     ["-n", f'BEGIN {{ freopen("{path}"); printf("x"); exit(0); }}'], ["-wn", f'BEGIN {{ freopen("{path}"); printf("x"); exit(0); }}'],
                     ["-wn", f'BEGIN {{ system("cat {path}"); exit(0); }}'], ["-C", "-s", "include.d", "-I", os.path.dirname(path)]):
            secret_check(args, dtrace(ALICE, *args))
        for option in ("flamebase", "helper", "cpppath", "ctypes", "dtypes", "debugdir", "libdir", "cppargs=-include", "helpertrace", "pstack", "rownames", "setenv=A"):
            value = f"{option} {path}" if "cppargs" in option else f"{option}={path}"
            more = ["-x", "oformat=flame"] if option == "flamebase" else ["-C"] if "cpp" in option else []
            secret_check(value, dtrace(ALICE, "-x", value, *more, "-s", "t.d"))
    for folder in f"{TMP}/closed", SECRET, "/root", "/proc/1/root":
        for args in (["-L", folder], ["-I", folder, "-C"], ["-x", f"debugdir={folder}"], ["-x", f"syslibdir={folder}"]):
            secret_check(args, dtrace(ALICE, *args, "-s", "t.d"))
    r = dtrace(ALICE, "-x", f"syslibdir={home(ALICE)}", *begin)
    check(r.returncode == 1 and "not for a user with levels to choose" in r.stderr, "the system's library is not chosen", r)
    with open(f"{home(ALICE)}/pragma.d", "w") as f:
        f.write(f'#pragma D option syslibdir={home(ALICE)}\nBEGIN {{ exit(0); }}\n')
    r = dtrace(ALICE, "-s", "pragma.d")
    check(r.returncode == 1 and "not for a user with levels to choose" in r.stderr, "nor by a pragma", r)


def environment():
    """Nothing that the caller sets for the dynamic linker, the C library or for us is heeded."""
    trace = ["-qn", 'BEGIN { printf("traced"); exit(0); }']
    plain = f"{HOME}/plain"
    shutil.copy(DTRACE, plain)
    debug = {"LD_DEBUG": "libs"}
    check("calling init" in run(ALICE, [plain, "-V"], env=debug).stderr, "LD_DEBUG is heeded where there are no capabilities")
    os.unlink(plain)
    log = f"{home(ALICE)}/log"
    for env in (debug, {"LD_PRELOAD": f"{home(ALICE)}/evil.so", "LD_AUDIT": f"{home(ALICE)}/evil.so", "LD_LIBRARY_PATH": home(ALICE)}, {"GCONV_PATH": home(ALICE), "LOCPATH": home(ALICE)},
                {"FATHOM_FAIL": "1", "FATHOM_FAIL_LOG": log}, {"FATHOM_NO_FEATURE": "BPF,BTF,RINGBUF"}, {"DTRACE_DEBUG": "1"}, {"MALLOC_TRACE": log, "MALLOC_CHECK_": "3"},
                {"TMPDIR": "/root", "HOME": "/root", "XDG_CACHE_HOME": "/root", "DEBUGINFOD_URLS": "http://127.0.0.1:9/", "DEBUGINFOD_CACHE_PATH": home(ALICE)},
                {"PATH": home(ALICE)}, {"X": "y" * 100000}):
        r = dtrace(ALICE, *trace, env=env)
        check(r.returncode == 0 and r.stdout.strip() == "traced" and not r.stderr, f"{str(env)[:80]}", r)
        check(not os.path.exists(log), f"a file by {str(env)[:80]}")
    r = dtrace(ALICE, *trace, env={"DTRACE_OPT_SYSLIBDIR": home(ALICE), "DTRACE_OPT_DESTRUCTIVE": ""})
    check(r.returncode == 0 and "not heeded by a session with levels: 'DTRACE_OPT_SYSLIBDIR' and others" in r.stderr, "options of the environment", r)
    r = dtrace(ALICE, "-qn", 'BEGIN { system("true"); exit(0); }', env={"DTRACE_OPT_DESTRUCTIVE": ""})
    check(r.returncode == 1 and "estructive" in r.stderr, "-w by the environment", r)


def descriptors_and_limits():
    """What a process inherits ends dtrace at worst, with a message; no file of the caller's becomes a stream or a descriptor of the session."""
    trace = 'BEGIN { printf("traced"); exit(0); }'
    with open(f"{home(ALICE)}/fails", "w") as f:
        f.write("#!/bin/sh\necho 'BEGIN { exit(0); }'; exit 3\n")
    os.chmod(f"{home(ALICE)}/fails", 0o755)
    for closed in [0], [1], [2], [0, 1], [0, 1, 2]:
        path = f"{home(ALICE)}/passed"
        open(path, "w").close()
        os.chown(path, ALICE, ALICE)

        def close_them(closed=closed):
            for fd in closed:
                os.close(fd)
        fd = os.open(path, os.O_RDWR)
        with open(f"{TMP}/out", "w+") as out:
            p = subprocess.Popen([DTRACE, "-qn", trace], stdin=subprocess.DEVNULL, stdout=out, stderr=out, pass_fds=[fd], preexec_fn=close_them, env=ENV, **user(ALICE))
            status = p.wait(SECONDS)
        os.close(fd)
        check(status >= 0 and os.path.getsize(path) == 0, f"without {closed}: {status}", open(path).read())
    for name, change in (("SIGCHLD ignored", lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)), ("all signals blocked", lambda: signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())),
                         ("umask 777", lambda: os.umask(0o777)), ("few descriptors", lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))),
                         ("no descriptors", lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))), ("no processes", lambda: resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))),
                         ("a small stack", lambda: resource.setrlimit(resource.RLIMIT_STACK, (1 << 17, 1 << 17))), ("no file", lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))),
                         ("no core", lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))):
        r = run(ALICE, [DTRACE, "-wqn", 'BEGIN { system("true"); printf("traced"); exit(0); }'], preexec_fn=change)
        check(r.returncode == 0 or (r.returncode == 1 and r.stderr), name, r)
        if name[0] in "Sau":
            check("traced" in r.stdout, name, r)
    # who has blocked signals before can still end a session
    p = subprocess.Popen([DTRACE, "-qn", 'BEGIN { printf("on\\n"); } END { printf("off\\n"); }'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                         preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals()), env=ENV, **user(ALICE))
    p.stdout.readline()
    p.send_signal(signal.SIGTERM)
    try:
        said = p.communicate(timeout=SECONDS)[0]
    except subprocess.TimeoutExpired:
        p.kill()
        said = "it does not end"
    check("off" in said, "a session with blocked signals ends by one", said)
    r = run(ALICE, [DTRACE, "-C", "-x", "cpppath=./fails", "-s", "t.d"], preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    check(r.returncode == 1 and "reprocessor failed" in r.stderr, "the status of a child with SIGCHLD ignored", r)
    many = [DTRACE, "-qn", trace, *["x" * 20] * 20000]
    r = run(ALICE, many)
    check(r.returncode in (0, 1), "many arguments", r.stderr)


LOOK = ("import os, re, sys; print(re.findall('Cap(?:Inh|Prm|Eff|Amb):\\t(\\w+)', open('/proc/self/status').read()), os.getresuid(), os.getresgid(), os.getgroups(), "
        "[f for f in (os.readlink('/proc/self/fd/' + n) for n in os.listdir('/proc/self/fd') if os.path.islink('/proc/self/fd/' + n)) if 'bpf' in f or 'perf' in f])")


def children():
    """What a session executes has no capability, alice's ids, and no descriptor of the kernel's tracing."""
    with open(f"{home(ALICE)}/look.py", "w") as f:
        f.write(f"#!/usr/bin/python3\n{LOOK}\n")
    os.chmod(f"{home(ALICE)}/look.py", 0o755)
    with open(f"{home(ALICE)}/cpp", "w") as f:
        f.write(f"#!/bin/sh\n./look.py >>looked\necho 'BEGIN {{ exit(0); }}'\n")
    os.chmod(f"{home(ALICE)}/cpp", 0o755)
    want = f"['{0:016x}', '{0:016x}', '{0:016x}', '{0:016x}'] ({ALICE}, {ALICE}, {ALICE}) ({ALICE}, {ALICE}, {ALICE}) [{STAFF}] []"
    looked = f"{home(ALICE)}/looked"
    for args in (["-wn", 'BEGIN { system("./look.py >>looked"); exit(0); }'], ["-n", "syscall::getppid:entry /0/ { }", "-c", "sh -c './look.py >>looked'"],
                 ["-C", "-x", "cpppath=./cpp", "-s", "t.d"], ["-wn", "tick-10ms /!n++/ { system(\"./look.py >>looked\"); exit(0); }", "-x", "oformat=json"]):
        r = dtrace(ALICE, *args, groups=[STAFF])
        check(r.returncode == 0, f"{args}", r)
        with open(looked) as f:
            text = f.read().strip()
        os.unlink(looked)
        check(text == want, f"what a child of {args} has", f"{text}\nwant {want}")


ATTACK = r"""
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
won = []
for pid in map(int, sys.argv[1:]):
    for name in "mem", "maps", "environ", "auxv", "stack", "syscall", "fd/3", "pagemap", "map_files", "cwd", "root", "exe", "smaps":
        try:
            fd = os.open(f"/proc/{pid}/{name}", os.O_RDONLY)
            if name != "maps" and name != "smaps" and os.read(fd, 1) or os.pread(fd, 64, 0):
                won.append((pid, name))
        except OSError as e:
            pass
    try:
        won.append((pid, os.listdir(f"/proc/{pid}/fd")))
    except OSError:
        pass
    if libc.ptrace(16, pid, None, None) == 0 or libc.ptrace(0x4206, pid, None, None) == 0: # ATTACH, SEIZE
        won.append((pid, "ptrace"))
    pidfd = os.pidfd_open(pid)
    if libc.syscall(438, pidfd, 3, 0) >= 0: # pidfd_getfd
        won.append((pid, "pidfd_getfd"))
    buf = ctypes.create_string_buffer(8)
    class Vec(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
    for address in 0x400000, 0x7ffff7ff0000:
        if libc.process_vm_readv(pid, ctypes.byref(Vec(ctypes.addressof(buf), 8)), 1, ctypes.byref(Vec(address, 8)), 1, 0) > 0 or ctypes.get_errno() == 14:
            won.append((pid, "process_vm_readv"))
    if libc.syscall(312, os.getpid(), pid, 2, 0, 0) >= 0: # kcmp
        won.append((pid, "kcmp"))
print(won)
"""


def family(pid):
    """A process and those that it has cloned, in whichever session."""
    found = [pid]
    for status in glob.glob("/proc/[0-9]*/status"):
        try:
            parent = int(re.search(r"^PPid:\t(\d+)", open(status).read(), re.M).group(1))
        except (OSError, AttributeError):
            continue
        if parent == pid:
            found.append(int(status.split("/")[2]))
    return found


def the_process_itself():
    """Neither the command nor its helper processes can be traced, read or dumped by alice; capabilities are not effective while it waits."""
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    target = subprocess.Popen([f"{HOME}/calls", "getppid", "2000000000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=ENV, **user(ALICE))
    try:
        p = subprocess.Popen([DTRACE, "-qn", f'pid{target.pid}::do_getppid:entry {{ @[ustack()] = count(); }} tick-1s {{ printf("on\\n"); }}'], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENV, **user(ALICE))
        check("on" in p.stdout.readline() + p.stdout.readline(), "a session that runs")
        all_of_it = family(p.pid)
        check(len(all_of_it) > 1, "it has helper processes", all_of_it)
        r = run(ALICE, ["/usr/bin/python3", "-c", ATTACK, *map(str, all_of_it)])
        check(r.stdout.strip() == "[]", "alice has got into it", r)
        r = run(ALICE, ["/usr/bin/python3", "-c", ATTACK, str(target.pid)])
        check(all(f"'{way}'" in r.stdout for way in ("ptrace", "environ", "maps", "process_vm_readv")), "the attack works on alice's own process", r)
        for path in [t for pid in all_of_it for t in glob.glob(f"/proc/{pid}/task/*/status")]:
            sets = dict(re.findall(r"Cap(Inh|Prm|Eff|Amb):\t(\w+)", open(path).read()))
            check(int(sets["Prm"], 16) & ~HELD == 0 and int(sets["Inh"], 16) == 0 and int(sets["Amb"], 16) == 0, f"capabilities of {path}", sets)
        idle = []
        for _ in range(200):
            idle.append(re.search(r"CapEff:\t(\w+)", open(f"/proc/{p.pid}/status").read()).group(1))
            time.sleep(0.01)
        check(idle.count("0" * 16) > 150, "nothing is effective while it waits", set(idle))
        os.kill(p.pid, signal.SIGQUIT)
        _, status = os.waitpid(p.pid, 0)
        check(not os.WCOREDUMP(status), "no core file", status)
        p.returncode = 0
    finally:
        target.kill()
        target.wait()


def kept_to_levels():
    """A session has the levels of the file, and no others: what each of them lacks is refused, and named."""
    for given, text, lacks in (("dtrace_user, dtrace_proc", "BEGIN { stack(); exit(0); }", "dtrace_kernel"),
                               ("dtrace_user, dtrace_proc", "BEGIN { trace(curthread); exit(0); }", "dtrace_kernel"),
                               ("dtrace_user, dtrace_proc", "BEGIN { trace(`jiffies); exit(0); }", "dtrace_kernel"),
                               ("dtrace_user", "BEGIN { ustack(); exit(0); }", "dtrace_proc"),
                               ("dtrace_proc", "syscall::read:entry { exit(0); }", "dtrace_user")):
        levels(f"user {ALICE}: {given}\n")
        r = dtrace(ALICE, "-n", text)
        check(r.returncode == 1 and lacks in r.stderr, f"{text} with {given}", r)
    for given, tenths in ("dtrace_user, dtrace_proc", 20), ("dtrace_user, proc_owner", 10 * SECONDS // 2):
        levels(f"user {ALICE}: {given}\n")
        other = subprocess.Popen([f"{HOME}/calls", "getppid", "2000000000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=ENV, **user(BOB))
        r = dtrace(ALICE, "-qn", f"syscall::getppid:entry /pid == {other.pid}/ {{ n++; }} tick-10hz /n || ++t >= {tenths}/ {{ printf(\"%d\", n > 0); exit(0); }}")
        other.kill()
        other.wait()
        check(r.stdout.strip() == ("1" if "proc_owner" in given else "0"), f"bob's process is seen with {given}", r)
    levels(f"user {ALICE}: dtrace_user, dtrace_proc\n")


files_of_root()
environment()
descriptors_and_limits()
kept_to_levels()
children()
the_process_itself()
done()
