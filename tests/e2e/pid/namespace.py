# SPDX-License-Identifier: MIT
"""dtrace in a PID namespace of its own: all numbers are those of that namespace, and the names are of those processes."""
import os, re, subprocess, sys, time

DTRACE, TRIGGER = os.environ["DTRACE"], os.environ["TRIGGER"]
LATE = f"{TRIGGER}/late"
OWN = ["unshare", "-pf", "--mount-proc"]
bad = []


def run(*args, inside=True, proc=True):
    words = (["unshare", "-pf"] + (["--mount-proc"] if proc else []) if inside else []) + [DTRACE, "-q", *args]
    return subprocess.run(words, capture_output=True, text=True, timeout=100)


def check(what, p, *wanted):
    got = [l.strip() for l in p.stdout.split("\n") if l.strip()]
    if p.returncode or p.stderr or not all(any(re.fullmatch(w, l) for l in got) for w in wanted):
        bad.append(f"{what}: status {p.returncode}, {got} instead of {wanted}\n{p.stderr}")


# functions and system calls of a command
check("pid$target", run("-c", f"{LATE} open call=1", "-n", "pid$target::first_f:entry { @[pid == $target, pid < 100] = count(); }"), "1 +1 +1")
check("pid == $target", run("-c", f"{LATE} open call=1", "-n", "syscall::exit_group:entry /pid == $target/ { @[execname] = count(); }"), "late +1")

# every number that D has of a process; $pid is dtrace, whose number is 1
numbers = """syscall::exit_group:entry /progenyof($target)/ {
    @[pid == $target, tid == $target, ppid == $pid, progenyof($pid), progenyof(99999), $pid] = count();
    @p[curpsinfo->pr_pid == $target, curpsinfo->pr_ppid == $pid, curlwpsinfo->pr_lwpid == $target,
       curpsinfo->pr_pgid < 100, curpsinfo->pr_sid < 100] = count(); }"""
check("numbers", run("-c", f"{LATE} open call=1", "-n", numbers), "1 +1 +1 +1 +0 +1 +1", "1 +1 +1 +1 +1 +1")

# names, with stacks that are walked by dtrace
p = run("-c", f"{LATE} open call=1", "-n", "pid$target::first_f:entry { ustack(); usym(uregs[R_RIP]); @[ustack()] = count(); }")
check("names", p, r"late`first_f(\+0x\w+)?", r"late`main\+0x\w+", r"libc.*`__libc_start_main.*")

# libraries that are opened, programs that are executed, children
count = '{ @[pid == $target ? "root" : "child", probefunc] = count(); }'
descs = "pid$target:*late*:*_f:entry"
check("dlopen", run("-Z", "-c", f"{LATE} open call=2", "-n", descs + count), "root +late_f +2")
check("exec by a thread", run("-Z", "-c", f"{LATE} texec=open,call=4", "-n", descs + count), "root +late_f +4")
# Before Linux 6.10, children cannot be told from their parents; the option is refused then.
p = subprocess.run([DTRACE, "-qn", "pid$target::first_f:entry { }", "-x", "follow=fork", "-c", f"{LATE} open"], capture_output=True, text=True)
follows = "lacks uprobe links that follow all threads of a process (Linux 6.10)\nhint: without it children" not in p.stderr
if follows:
    check("children", run("-Z", "-x", "follow=fork", "-c", f"{LATE} open child=call=3 vchild=open,call=4", "-n", descs + count), "child +late_f +7")

# other namespaces: those outside have no number; those below ours have one
# (A quiet machine has none that makes system calls.)
beside = subprocess.Popen(["sh", "-c", "while sleep 0.01; do :; done"])
check("outside", run("-n", "syscall:::entry /pid == 0/ { @ = count(); exit(0); }"), r"[1-9]\d*")
beside.kill()
beside.wait()
script = f"""unshare -pf --mount-proc sh -c 'while sleep 0.05; do :; done' &
{DTRACE} -qn 'syscall::exit_group:entry /execname == "sleep" && progenyof($1)/ {{ @[pid > 1 && pid < 500 && ppid > $1] = count(); exit(0); }}' $!
kill -9 $!"""
check("below", subprocess.run([*OWN, "sh", "-c", script], capture_output=True, text=True, timeout=60), r"1 +\d+")

# a container, from outside: the number that we see of it
inner = subprocess.Popen([*OWN, LATE, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
inner.stdout.readline()
pid = open(f"/proc/{inner.pid}/task/{inner.pid}/children").read().strip()
p = subprocess.Popen([DTRACE, "-q", "-p", pid, "-n", "int on; tick-10ms /!on++/ { printf(\"on\\n\"); } syscall::exit_group:entry /pid == $target/ "
                      "{ printf(\"%d %d\\n\", pid, curpsinfo->pr_pid); ustack(); }"], stdout=subprocess.PIPE, text=True)
p.stdout.readline()
inner.communicate("\n")
out = p.communicate(timeout=60)[0]
if f"{pid} {pid}" not in out or "late`main" not in out and "`exit" not in out:
    bad.append(f"a container from outside: {pid}: {out}")

# /proc of another namespace: no names of other processes, but a message
for words in [["-n", "BEGIN { usym(0); exit(0); }"], ["-c", LATE, "-n", "pid$target::main:entry { }"]]:
    p = run(*words, proc=False)
    if p.returncode != 1 or "shows another PID namespace" not in p.stderr or "hint: mount" not in p.stderr:
        bad.append(f"/proc of another namespace: status {p.returncode}: {p.stderr}")
check("without /proc", run("-n", "BEGIN { trace(pid < 100); exit(0); }", proc=False), "1")
for b in bad:
    print(b)
sys.exit(len(bad) > 0)
