# SPDX-License-Identifier: MIT
# Which probes and processes a session may name at each level: refusals with place and level, listings without others, tick and ERROR without their task.
import os, shutil, subprocess, sys

DTRACE, TMP, TRIGGER = os.environ["DTRACE"], os.environ["TMP"], os.environ["TRIGGER"]
PATIENCE = int(os.environ.get("PATIENCE", "1"))
ALICE, BOB = 64021, 64022
USER, PROC = f"{ALICE}:dtrace_user", f"{ALICE}:dtrace_user,dtrace_proc"
if not shutil.which("setpriv"):
    print("needs setpriv")
    sys.exit(67)
os.chmod(TMP, 0o755)
MADE = "provider zz { probe q(%s) = %s; }; "
bad = []


def run(levels, *args):
    return subprocess.run([DTRACE, "-x", f"privileges={levels}", *args], capture_output=True, text=True, timeout=60 * PATIENCE)


def refused(levels, said, *args):
    r = run(levels, *args)
    if r.returncode == 0 or said not in r.stderr or r.stderr.count("\ndtrace: ") > 0:
        bad.append(f"{levels} {args}: not refused with '{said}': {r.returncode} {r.stdout!r} {r.stderr!r}")


def works(levels, *args):
    r = run(levels, *args)
    if r.returncode or "error" in r.stderr:
        bad.append(f"{levels} {args}: {r.returncode} {r.stdout!r} {r.stderr!r}")
    return r.stdout


for probe in ("sched:::enqueue", "sched:::tick", "io:::done", "ip:::send", "tcp:::send",
              "rawtp:::sched_switch", "sdt:sched::sched_switch", "sysinfo:::", "vminfo:::pgin"):
    refused(PROC, "needs dtrace_kernel; this session has dtrace_user, dtrace_proc", "-n", probe + " { n++; }")
refused(USER, "needs dtrace_kernel", "-n", "provider zz { probe q() = rawtp:::sched_switch; }; zz:::q { n++; }")
refused(USER, "needs dtrace_kernel", "-n", "provider zz { probe q(int a) = rawtp:::signal_generate (arg0); }; zz:::q { trace(arg0); }")
refused(USER, "argument 0 of sched:::off-cpu needs dtrace_kernel", "-n", "sched:::off-cpu { trace(args[0]->pr_pid); }")
refused(USER, "argument 0 of sched:::off-cpu needs dtrace_kernel", "-n", "sched:::off-cpu { trace(arg0); }")
refused(USER, "argument 0 of proc:::create needs dtrace_kernel", "-n", "proc:::create { trace(arg0); }")
refused(USER, "argument 0 of proc:::create needs dtrace_kernel", "-n", MADE % ("uint64_t a", "proc:::create (arg0)") + "zz:::q { trace(arg0); }")
refused(USER, "argument 1 of proc:::fault needs dtrace_kernel", "-n", "proc:::fault { trace(arg1); }")
refused(USER, "needs dtrace_kernel", "-n", "proc:::create { print(*args[0]); }")
refused(USER, "argument 2 of io:::start needs dtrace_kernel", "-n", "io:::start { trace(args[2]->fi_pathname); }")
refused(USER, "pr_addr of psinfo_t needs dtrace_kernel", "-n", "proc:::create { trace(args[0]->pr_addr); }")
refused(USER, "b_blkno of bufinfo_t needs dtrace_kernel", "-n", "io:::start { trace(args[0]->b_blkno); }")
refused(USER, "b_iodone of bufinfo_t needs dtrace_kernel", "-n", "io:::start { trace(args[0]->b_iodone); }")
for keeps in "this->b = args[0]; trace(this->b->pr_pid);", "trace(xlate<psinfo_t *>(args[0])->pr_addr);":
    refused(USER, "a structure of the kernel needs dtrace_kernel", "-n", "proc:::create { %s }" % keeps)
refused(USER, "a structure of the kernel needs dtrace_kernel", "-n", "struct m { uint64_t a; }; translator struct m <struct task_struct *T> { a = (uint64_t)T; }; proc:::create { trace(xlate<struct m *>(args[0])->a); }")
refused(USER, "arg0 of profile, an address of the kernel, needs dtrace_kernel", "-n", "profile-97 { trace(arg0); }")
refused(USER, "arg0 of profile, an address of the kernel, needs dtrace_kernel", "-n", "profile-* { @[arg0] = count(); }")
for task in ("execname", "pid", "uid", "copyinstr(1)", "cwd", "vtimestamp", "arg1", "progenyof(1)"):
    refused(USER, "in a clause of tick needs proc_owner", "-n", "tick-1s { trace(%s); }" % task)
    if task != "arg1":  # of ERROR, it is about the fault
        refused(USER, "in a clause of ERROR needs proc_owner", "-n", "ERROR { trace(%s); }" % task)
    refused(USER, "needs proc_owner", "-n", "profile:::tick-? { trace(%s); }" % task)
refused(PROC, "in a clause of tick needs proc_owner", "-n", "tick-1s { ustack(); }")
refused(PROC, "in a clause of tick needs proc_owner", "-w", "-n", "tick-1s { raise(9); }")
works(f"{ALICE}:dtrace_kernel", "-n", "proc:::exit { trace(args[0]); } proc:::create { trace(args[0]->pr_addr); } BEGIN { exit(0); }")
refused(f"{ALICE}:dtrace_kernel", "in a clause of tick needs proc_owner", "-n", "tick-1s { trace(execname); }")
# the same through probes that the program, or a library of the user, makes of them
NOT_TICK, NOT_ERROR, NOT_MEMORY = (f"in a clause of {what} needs proc_owner" for what in ("tick", "ERROR", "BEGIN or END"))
LIB = f"{TMP}/lib"
os.mkdir(LIB)
with open(f"{LIB}/mine.d", "w") as f:
    f.write("inline string who = execname; provider my { probe bar() = profile:::tick-97hz; probe named(string s) = profile:::tick-97hz (execname); };")
FOO = "provider foo { probe bar() = %s; }; "
for task in ("execname", "pid", "execargs", "cwd", "copyinstr(1)"):
    trace = "{ trace(%s); }" % task
    refused(USER, NOT_TICK, "-n", FOO % "profile:::tick-97hz" + "foo:::bar " + trace)
    refused(USER, NOT_TICK, "-n", FOO % "profile:::tick-97hz" + ":::bar " + trace)
    refused(USER, NOT_TICK, "-n", FOO % "profile:::tick-?" + "foo::: " + trace)
    refused(USER, NOT_TICK, "-n", FOO % "profile:::tick-97hz" + "provider goo { probe baz() = foo:::bar; }; goo:::baz " + trace)
    refused(USER, NOT_ERROR, "-n", FOO % "dtrace:::ERROR" + "foo:::bar " + trace)
    refused(USER, NOT_TICK, "-L", LIB, "-n", "my:::bar " + trace)
refused(USER, NOT_TICK, "-n", "provider foo { probe bar(string s) = profile:::tick-97hz (execname); }; foo:::bar { trace(args[0]); }")
refused(USER, NOT_TICK, "-n", "provider foo { probe bar(int p) = profile:::tick-97hz (pid); }; foo:::bar { trace(arg0); }")
refused(USER, NOT_TICK, "-n", FOO % "profile:::tick-97hz /pid != 1/" + "foo:::bar { n++; }")
refused(USER, NOT_TICK, "-L", LIB, "-n", "my:::named { trace(args[0]); }")
refused(USER, NOT_TICK, "-L", LIB, "-n", "tick-97hz { trace(who); }")
refused(PROC, NOT_TICK, "-w", "-n", FOO % "profile:::tick-97hz" + "foo:::bar { raise(9); }")
refused(PROC, NOT_MEMORY, "-n", FOO % "dtrace:::BEGIN" + "foo:::bar { tracemem(copyin(uregs[R_SP], 64), 64); }")
refused(USER, "arg0 of profile, an address of the kernel, needs dtrace_kernel", "-n", "provider foo { probe bar(uint64_t a) = profile:::profile-97 (arg0); }; foo:::bar { trace(args[0]); }")
refused(USER, "arg0 of profile, an address of the kernel, needs dtrace_kernel", "-n", FOO % "profile:::profile-97 /arg0 != 0/" + "foo:::bar { n++; }")
if works(USER, "-qn", "provider foo { probe bar(int a) = profile:::tick-97hz (42); }; foo:::bar { trace(args[0]); trace(arg0); exit(0); }").split() != ["4242"]:
    bad.append("an argument that is about no task")
# a thread has a number of its own by its variables
for body in ("self->x = 1;", "trace(self->x);", "self->y[1]++;"):
    refused(USER, NOT_TICK, "-n", "self int x; tick-97hz { %s }" % body)
    refused(USER, NOT_ERROR, "-n", "self int x; ERROR { %s }" % body)
    refused(USER, NOT_TICK, "-n", FOO % "profile:::tick-97hz" + "self int x; foo:::bar { %s }" % body)
refused(USER, NOT_TICK, "-n", "self int x; tick-97hz /!self->x/ { n++; }")
works(USER, "-n", "syscall:::entry { self->x = 1; } syscall:::return /self->x/ { self->x = 0; } tick-10ms { exit(0); }")
works(USER, "-n", "ERROR { trace(arg4); } tick-10ms { n++; exit(0); }")
for memory in ("copyinstr(1)", "copyin(1, 1)", "copyinint(1, 1)", "execargs", "uregs[0]", "ucaller"):
    for probe in "BEGIN", "END", "dtrace:::", "dtrace:::[BE]*":
        refused(PROC, "needs proc_owner", "-n", "%s { trace(%s); }" % (probe, memory))
refused(PROC, "in a clause of BEGIN or END needs proc_owner", "-n", "END { ustack(); }")
refused(PROC, "in a clause of BEGIN or END needs proc_owner", "-w", "-n", "BEGIN { copyout(alloca(8), 1, 8); }")
works(USER, "-n", "BEGIN { trace(execname); trace(pid); } tick-10ms { trace(timestamp); trace(cpu); trace(probename); exit(0); }")
works(USER, "-n", "proc:::exec { trace(args[0]); } proc:::exec-failure { trace(args[0]); } proc:::signal-handle { trace(args[0]); } profile-97 { @[arg1] = count(); } BEGIN { exit(0); }")
# what the system's names mean is not the user's to say: a declaration would change the types, or the places, of the library's trusted guards
SYSTEM = "provider %s is the system's: a session with levels cannot declare it"
AS_FAULT = "vminfo:::as_fault { n++; } BEGIN { exit(0); }"
for prov, probe in (("rawtp", "page_fault_user(uint64_t a, uint64_t b, uint64_t c) = profile:::tick-97hz (1, 2, 0)"), ("rawtp", "page_fault_user(int a, int b, int c)"), ("sdt", "x()"),
                    ("vminfo", "as_fault(uint64_t n, uint64_t *c) = profile:::tick-97hz (1, NULL)"), ("sched", "mine() = profile:::tick-97hz"), ("syscall", "entry(int a)"), ("cpc", "x()")):
    text = f"provider {prov} {{ probe {probe}; }}; "
    refused(PROC, SYSTEM % prov, "-n", text + AS_FAULT)
    refused(f"{ALICE}:dtrace_kernel", SYSTEM % prov, "-n", text + AS_FAULT)
    with open(f"{LIB}/mine.d", "w") as f:
        f.write(text)
    refused(PROC, SYSTEM % prov, "-L", LIB, "-n", AS_FAULT)
refused(USER, SYSTEM % "sched", "-x", "nolibs", "-n", "provider sched { probe sleep() = rawtp:::sched_switch; }; sched:::sleep { n++; }")
works(USER, "-x", "nolibs", "-n", "provider mine { probe sleep() = profile:::profile-97; }; mine:::sleep { n++; } BEGIN { exit(0); }")
# a file of one's own with the name of one of the system's would be compiled as that one is: unchecked
os.unlink(f"{LIB}/mine.d")
for name, text in (("vminfo.d", "provider vminfo { probe as_fault(uint64_t n, uint64_t *c) = rawtp:::page_fault_user /(*(int *)0xffffffff81000000 & 1) == 0/ (1, NULL); };"),
                   ("proc.d", ""), ("harmful.d", ""), ("signal.d", "inline int SIGINT = 9;")):
    with open(f"{LIB}/{name}", "w") as f:
        f.write(text)
    refused(PROC, f"'{LIB}/{name}' has the name of a file of the system's D library", "-L", LIB, "-n", AS_FAULT)
    r = subprocess.run([DTRACE, "-L", LIB, "-n", "BEGIN { exit(0); }"], capture_output=True, text=True)
    if "has the name of" in r.stderr:
        bad.append(f"root may not replace {name}: {r.stderr}")
    os.unlink(f"{LIB}/{name}")
# the library's own words are the library's in its trusted guards, whatever the program calls so
works(USER, "-n", "inline int __pf_is_user[unsigned long A] = 0; " + AS_FAULT)
refused(USER, "curthread needs dtrace_kernel", "-n", "inline int __pf_is_user[unsigned long A] = curthread->pid; " + AS_FAULT)
with open(f"{LIB}/mine.d", "w") as f:
    f.write("inline int leak = curthread->pid; struct mine { int y; }; translator struct mine <int X> { y = curthread->pid; }; provider my { probe task(int a) = profile:::profile-97 (curthread->pid); };")
for text in ("BEGIN { trace(leak); }", "BEGIN { trace(xlate<struct mine>(3).y); }", "my:::task { trace(args[0]); }"):
    refused(PROC, "curthread needs dtrace_kernel", "-L", LIB, "-n", text)
# probes that are made of the library's need what these need
for made in (MADE % ("", "sched:::off-cpu ()"), "provider yy { probe p() = sched:::off-cpu (); }; " + MADE % ("", "yy:::p"), MADE % ("", "sched:::preempt"), MADE % ("", "proc:::exec-success")):
    works(USER, "-n", made + "zz:::q { n++; } tick-10ms { exit(0); }")
refused(USER, "sched:::enqueue needs dtrace_kernel", "-n", MADE % ("", "sched:::enqueue ()") + "zz:::q { n++; }")
refused(USER, "argument 0 of sched:::off-cpu needs dtrace_kernel", "-n", MADE % ("int a", "sched:::off-cpu (args[0]->pr_pid)") + "zz:::q { trace(arg0); }")
refused(USER, "curthread needs dtrace_kernel", "-n", MADE % ("", "sched:::preempt /curthread->pid/") + "zz:::q { n++; }")
refused(USER, "curthread needs dtrace_kernel", "-n", MADE % ("int a", "sched:::preempt (curthread->pid)") + "zz:::q { trace(arg0); }")
# the library's guard runs as the library's, and reads what it describes
busy = subprocess.Popen(["setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups", "sh", "-c", "while :; do /bin/true; done"])
try:
    works(USER, "-qn", MADE % ("", "vminfo:::as_fault /cpu >= 0/") + "zz:::q { n++; } tick-10hz /n > 5/ { exit(0); }")
finally:
    busy.kill()
    busy.wait()

# the option only takes away, and says what it does not know
refused("nobody at all:dtrace_user", "there is no user 'nobody at all'", "-n", "BEGIN { exit(0); }")
refused("dtrace_none", "'dtrace_none' is no level of privilege", "-n", "BEGIN { exit(0); }")
r = subprocess.run([DTRACE, "-x", f"privileges={USER}", "-x", "privileges=dtrace_kernel,proc_owner", "-n", "BEGIN { stack(); exit(0); }"], capture_output=True, text=True)
if r.returncode == 0 or "this session has dtrace_user\n" not in r.stderr:
    bad.append(f"a second option gives levels: {r.stderr}")
r = subprocess.run([DTRACE, "-x", f"privileges={USER}", "-x", f"privileges={BOB}:dtrace_user", "-n", "BEGIN { exit(0); }"], capture_output=True, text=True)
if r.returncode == 0 or "option privileges only takes away" not in r.stderr:
    bad.append(f"a second option gives another user: {r.stderr}")
refused(USER, "Option cannot be used from within a D program", "-n", '#pragma D option privileges=proc_owner\nBEGIN { exit(0); }')

# where a breakpoint may be is not the user's to say
for option in f"debugdir={TMP}", "harmful", f"syslibdir={TMP}":
    refused(PROC, "Option names what is trusted, which is not for a user with levels to choose", "-x", option, "-n", "BEGIN { exit(0); }")
    refused(PROC, "Option names what is trusted", "-n", f"#pragma D option {option}\nBEGIN {{ exit(0); }}")
r = subprocess.run([DTRACE, "-x", "harmful", "-x", f"debugdir={TMP}", "-n", "BEGIN { exit(0); }"], capture_output=True, text=True)
if r.returncode:
    bad.append(f"root may not choose: {r.stderr}")

# processes of others
calls = f"{TMP}/calls"
shutil.copy(f"{TRIGGER}/calls", calls)
os.chmod(calls, 0o755)
as_user = lambda uid, *cmd, gid=None: ["setpriv", f"--reuid={uid}", f"--regid={gid or uid}", "--clear-groups", "sh", "-c", 'exec "$@"', "sh", *cmd]
own, other, group = (subprocess.Popen(as_user(uid, calls, "getppid", "2000000000", gid=gid)) for uid, gid in ((ALICE, ALICE), (BOB, BOB), (ALICE, BOB)))
try:
    for p in (own, other, group):  # until the shell has executed it
        while os.path.basename(os.readlink(f"/proc/{p.pid}/exe")) != "calls":
            pass
    said = f"process {other.pid} is not one of user {ALICE}: it needs proc_owner"
    refused(PROC, said, "-n", f"pid{other.pid}:a.out:main:entry")
    refused(PROC, f"process {group.pid} is not one of user {ALICE}: it needs proc_owner", "-p", str(group.pid), "-n", "BEGIN { exit(0); }")
    refused(PROC, said, "-ln", f"pid{other.pid}:a.out:main:entry")
    refused(PROC, said, "-p", str(other.pid), "-n", "BEGIN { exit(0); }")
    refused(PROC, said, "-p", str(other.pid), "-n", "pid$target:a.out:main:entry")
    refused(USER, "needs dtrace_proc; this session has dtrace_user", "-n", f"pid{own.pid}:a.out:main:entry")
    if shutil.which("strip"):
        bare = f"{TMP}/bare"
        shutil.copy(calls, bare)
        subprocess.run(["strip", bare], check=True)
        with open(bare, "rb") as f:
            entry = int.from_bytes(f.read(32)[24:], "little")
        p = subprocess.Popen(as_user(ALICE, bare, "getppid", "2000000000"))
        try:
            while os.path.basename(os.readlink(f"/proc/{p.pid}/exe")) != "bare":
                pass
            ends = "BEGIN { exit(0); }"
            refused(PROC, "that has a symbol: it needs proc_owner", "-n", f"pid{p.pid}::-:{entry:x} {{ }} {ends}")
            r = subprocess.run([DTRACE, "-n", f"pid{p.pid}::-:{entry:x} {{ }} {ends}"], capture_output=True, text=True)
            if r.returncode:
                bad.append(f"root may not probe an address: {r.stderr}")
        finally:
            p.kill()
            p.wait()
    if f"pid{own.pid}" not in works(PROC, "-ln", f"pid{own.pid}:a.out:main:entry"):
        bad.append("the own process has no probes")
    refused(PROC, f"this session is about processes of user {ALICE}", "-c", "/bin/true", "-n", "BEGIN { exit(0); }")
    # actions with -w, at the own process only
    r = run(PROC, "-qw", "-n", 'syscall::getppid:entry /execname == "calls"/ { @[pid] = count(); raise(SIGTERM); } tick-10hz /++n > 20/ { exit(0); }')
    if own.wait() != -15 or other.poll() is not None or str(other.pid) in r.stdout:
        bad.append(f"raise(): {r.stdout} {r.stderr}")
finally:
    for p in (own, other, group):
        p.kill()
        p.wait()
print("\n".join(bad))
sys.exit(len(bad) > 0)
