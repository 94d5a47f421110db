# SPDX-License-Identifier: MIT
"""
carol has dtrace_kernel alone and knows where bob's process has its secret. Probes of the kernel that fire in whichever task has the CPU do
not read the memory of that task, and no probe fires for what bob's process does. With proc_owner as well, the same programs show it.
"""
from world import *

enter()
SECRET = "the-secret-of-bob"
# bob's process calls the system without end, with the address of its secret as an argument, so that whatever interrupts has it current.
SOURCE = f"""
import ctypes, time
text = ctypes.create_string_buffer(b"{SECRET}")
access = ctypes.CDLL(None).access
print(ctypes.addressof(text), flush=True)
while True:
    access(text, 0)
"""
levels(f"user {CAROL}: dtrace_kernel\n")
bob = subprocess.Popen(["/usr/bin/python3", "-c", SOURCE], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=ENV, **user(BOB))
secret = int(bob.stdout.readline())
END = " tick-10hz /seen || ++t == 8/ { exit(0); }"
IS_BOB = f"/pid == {bob.pid}/"
# {A}: the address. Programs that are refused, and name proc_owner.
REFUSED = [
    "tick-997hz { trace(copyinstr({A})); }", "tick-997hz { trace(stringof(copyin({A}, 18))); }", "tick-997hz { trace(*(userland char *){A}); }", "tick-997hz { trace(execname); }",
    "tick-997hz { trace(pid); }", "tick-997hz { trace(uid); }", "tick-997hz { ustack(); }", "tick-997hz { trace(curpsinfo->pr_psargs); }", "tick-997hz { trace(uregs[R_RIP]); }",
    "tick-997hz { self->x = 1; }", "tick-997hz { trace(ucaller); }", "tick-997hz { trace(cwd); }", "ERROR { trace(execname); }",
    "sched:::enqueue { trace(execname); }", "sched:::dequeue { trace(copyinstr({A})); }", "io:::done { trace(execname); }", "pid{P}:::entry { seen = 1; }", "python{P}::: { seen = 1; }", "python*::: { seen = 1; }",
]
# Programs that run, and must not tell of bob's process.
SILENT = [
    "syscall::access:entry /arg0 == {A}/ { seen = 1; trace(copyinstr(arg0)); }", "syscall::access:entry {B} { seen = 1; trace(copyinstr(arg0)); }", "rawtp:::sys_enter {B} { seen = 1; trace(copyinstr({A})); }",
    "rawtp:::sched_switch {B} { seen = 1; trace(copyinstr({A})); }", "profile-997 {B} { seen = 1; trace(copyinstr({A})); ustack(); }", "rawtp:::sys_exit {B} { seen = 1; trace(*(userland char *){A}); }",
    "rawtp:::sys_enter /arg1 == 21/ { seen = curpsinfo->pr_uid == {U}; trace(curpsinfo->pr_psargs); }",
]
# Programs that read an address of bob's process as one of the kernel: it is none there.
FAULTS = [
    "tick-997hz { trace(stringof((char *){A})); }", "tick-997hz { trace(*(char *){A}); }", "tick-997hz { tracemem({A}, 18); }", "tick-997hz { this->m = (char *)alloca(18); bcopy((void *){A}, this->m, 18); trace(stringof(this->m)); }",
    "tick-997hz { @[strjoin((string){A}, \"\")] = count(); }", "tick-997hz { printf(\"%s\", (string){A}); }", "tick-997hz { trace(strlen((string){A})); }", "tick-997hz { trace(strstr((string){A}, \"bob\")); }",
]


def program(text):
    return text.replace("{A}", hex(secret)).replace("{P}", str(bob.pid)).replace("{B}", IS_BOB).replace("{U}", str(BOB))


def trace(text, *args):
    return dtrace(CAROL, "-q", *args, "-n", "BEGIN { seen = 0; } " + program(text) + END)


try:
    for text in REFUSED:
        r = trace(text)
        check(r.returncode == 1 and "proc_owner" in r.stderr and SECRET not in r.stdout, f"{text} is refused", r)
    for text in SILENT:
        r = trace(text)
        check(r.returncode == 0 and not r.stdout.strip(), f"{text} tells nothing", r)
    for text in FAULTS:
        r = trace(text)
        check(SECRET not in r.stdout and "invalid address" in r.stderr, f"{text} faults", r)
    for args in ["-p", str(bob.pid), "-n", "BEGIN { exit(0); }"], ["-p", str(bob.pid), "-ln", "pid$target:::entry"], [f"--pstack={bob.pid}"], [f"--helpertrace={bob.pid}"]:
        r = dtrace(CAROL, *args)
        check(r.returncode == 1 and r.stderr and SECRET not in r.stdout, f"{args} is refused", r)
    for text in "syscall::access:entry {B} { raise(9); }", "profile-997 {B} { stop(); }", "rawtp:::sched_switch {B} { raise(9); }":
        r = trace(text, "-w")
        check(r.returncode == 0 and bob.poll() is None and open(f"/proc/{bob.pid}/stat").read().split()[2] in "RSD", f"{text} does nothing", r)
    levels(f"user {CAROL}: dtrace_kernel, proc_owner\n")
    for text in SILENT[0], SILENT[1], SILENT[2]:
        r = trace(text)
        check(r.returncode == 0 and SECRET in r.stdout, f"{text} with proc_owner", r)
finally:
    bob.kill()
    bob.wait()
done()
