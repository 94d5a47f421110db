# SPDX-License-Identifier: MIT
"""
bob's processes run, have probes of their own and map files that alice may not read. alice has whatever the command can print: listings, -V -v, -S, messages
of faults and refusals, stacks, drops, ends of her children. Root prints the same, as a control: there is something to be seen.
"""
import re
from world import *

enter()
if not shutil.which("cc") or not shutil.which("nm"):
    skip("there is no cc or nm")
levels(f"user {ALICE}: dtrace_user, dtrace_proc\nuser {BOB}: dtrace_user sessions=3\ngroup {STAFF}: dtrace_kernel\n")
KERNEL = re.compile(r"(?:0x)?ffff[0-9a-f]{12}", re.I)
LOOP = "2000000000"
PROGRAM = r"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

__asm__(".pushsection .note.stapsdt,\"?\",\"note\"\n.balign 4\n.4byte 8, 2f-1f, 3\n.asciz \"stapsdt\"\n1:.8byte fired, 0, 0\n"
	".asciz \"bobsprobes\"\n.asciz \"fired\"\n.asciz \"\"\n2:.balign 4\n.popsection\n");

__attribute__((noinline)) void work(void)
{
	__asm__ volatile("fired:\n\tnop");
}

/* With arguments: calls the code of the file that is descriptor 5, at an offset in its second page. */
int main(int argc, char **argv)
{
	char *page = argc > 1 ? mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, 5, 4096) : NULL;

	(void)!write(1, "on\n", 3);
	for (;; usleep(2000)) {
		work();
		if (page)
			((long (*)(void))(page + strtoul(argv[1], NULL, 16) - 4096))();
	}
}
"""
SECRET = "__attribute__((visibility(\"default\"))) long secret_of_root(void) { long r; __asm__ volatile(\"syscall\" : \"=a\"(r) : \"a\"(110) : \"rcx\", \"r11\", \"memory\"); return r + 1; }\n"
running = []


def start(uid, *argv, **kwargs):
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=ENV, **user(uid), **kwargs)
    running.append(p)
    return p


def as_root(*args):
    return subprocess.run([DTRACE, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=SECONDS, env=ENV)


def compile_it(name, text, *flags):
    with open(f"{TMP}/{name}.c", "w") as f:
        f.write(text)
    subprocess.run(["cc", "-O1", "-o", f"{HOME}/{name}", f"{TMP}/{name}.c", *flags], check=True)


def listings(bob):
    """Probes of bob's process are in no listing of alice's; a refusal is the same for each process that is not hers."""
    r = as_root("-ln", f"bobsprobes{bob.pid}:::")
    check("fired" in r.stdout, "root lists the probe of bob's process", r)
    absent = 4194303 if bob.pid != 4194303 else 4194302  # the greatest number that a process can have
    for args in (["-ln", "bobsprobes@:::"], ["-lvn", "bobsprobes@:::"], ["-ln", "pid@:noted:work:entry"], ["-n", "bobsprobes@:::fired { exit(0); }"], ["-n", "pid@:noted:work:entry { exit(0); }"],
                 ["-qn", "BEGIN { exit(0); }", "-p", "@"], ["-ln", "pid$target:noted:work:entry", "-p", "@"], ["--pstack=@"], ["--helpertrace=@"]):
        there, gone = (dtrace(ALICE, *[a.replace("@", str(pid)) for a in args]) for pid in (bob.pid, absent))
        # --pstack and --helpertrace say what /proc/PID/stat says to everybody: the name and the user
        said = (there.stdout + there.stderr).replace(f"process {bob.pid} (noted) of user {BOB}", "").replace(str(ALICE), "")
        check(gone.returncode and gone.stderr and not gone.stdout, f"a process that is not there: {args}", gone)
        check(there.returncode and "fired" not in there.stdout and "work" not in there.stdout, f"alice lists a process of bob's: {args}", there)
        check(not re.search(rf"noted(?!:work)|{HOME}|{BOB}|bobsprobes(?!\d+:::)", said), f"the refusal tells of bob's process: {args}", there)
    r = dtrace(ALICE, "-l")
    check(r.returncode == 0 and "syscall" in r.stdout and "bobsprobes" not in r.stdout, "alice's -l", r.stdout[-500:] + r.stderr)
    for text in "bobsprobes*:::", "*:noted::", "bobs*:::fired":
        r = dtrace(ALICE, "-ln", text)
        check("fired" not in r.stdout and str(bob.pid) not in r.stdout + r.stderr, f"alice lists {text}", r)


def versions():
    r = dtrace(ALICE, "-V", "-v")
    check(r.returncode == 0 and str(ALICE) in r.stdout and str(BOB) not in r.stdout and "sessions=3" not in r.stdout and str(STAFF) not in r.stdout, "-V -v", r)


def addresses():
    """Faults and listings of the code have no address of the kernel that alice has not written herself."""
    own = start(ALICE, f"{HOME}/calls", "getppid", LOOP)
    ends = " syscall::getppid:entry /n++ > 3/ { exit(0); }"
    for what, text in (("behind alloca()", "this->p = (char *)alloca(8); trace(this->p[4000]);"), ("a string of it", "this->p = (char *)alloca(8); trace(stringof(this->p + 9000));"),
                       ("before it", "this->p = (char *)alloca(8); trace(*(this->p - 4000));"), ("behind copyin()", "this->p = (char *)copyin(1, 8); trace(this->p[0]);"),
                       ("a store", "this->p = (char *)alloca(8); *(this->p + 5000) = 1;"), ("a copy", "this->p = (char *)alloca(8); bcopy(this->p, this->p + 5000, 8);"),
                       ("of a member", "trace(stringof(curpsinfo->pr_psargs + 100000));"), ("of a result", "this->s = strjoin(\"a\", \"b\"); trace(*((char *)this->s + 70000));"),
                       ("copyinto()", "this->p = alloca(8); copyinto(1, 8, this->p);"), ("a key", "this->p = (char *)alloca(8); @[stringof(this->p + 9000)] = count();")):
        for more in ([], ["-x", "oformat=json"], ["-x", "debug"]) if what == "a string of it" else ([],):
            r = dtrace(ALICE, "-qn", f"syscall::getppid:entry {{ {text} }} ERROR {{ printf(\"<%d %x>\", arg4, arg5); }}{ends}", *more)
            check(not KERNEL.search(r.stdout + r.stderr), f"the fault of {what} has an address", r)
            check(r.returncode == 1 or r.stdout.strip() or r.stderr, f"the fault of {what} is not told", r)
    for text in "BEGIN { trace(`jiffies); }", "syscall::getppid:entry { trace(execname); trace(curpsinfo->pr_psargs); trace(fds[0].fi_pathname); ustack(); }":
        r = dtrace(ALICE, "-Sen", text)
        check(not KERNEL.search(r.stdout + r.stderr), f"-S shows an address: {text}", r)
    for text in "usym(0xffffffff81000000);", "uaddr(0xffffffff81000000);", "ufunc(0xffffffff81000100);", "umod(0xffffffff81000000);", 'printf("%A", 0xffffffff81000000);':
        r = dtrace(ALICE, "-qn", f"syscall::getppid:entry {{ {text} exit(0); }}")
        check(not re.search(r"vmlinux|kernel`|_text|_stext|startup|\.ko", r.stdout), f"a name of the kernel: {text}", r)
    own.kill()
    own.wait()


def timers():
    """A timer tells the CPU on which it fires, and nothing of who has it."""
    for member in "execname", "pid", "errno", "arg0", "arg1", "curpsinfo->pr_pid", "fds[0].fi_name", "ucaller", "curthread":
        r = dtrace(ALICE, "-qn", f"tick-997hz {{ @[{member}] = count(); n++; }} tick-10hz /n > 20/ {{ exit(0); }}")
        check(r.returncode == 1 and "needs" in r.stderr and not r.stdout.strip(), f"tick tells {member}", r)
    r = dtrace(ALICE, "-qn", "tick-997hz { @[curcpu->cpu_id, cpu, walltimestamp > 0] = count(); n++; } tick-10hz /n > 20/ { exit(0); }")
    check(r.returncode == 0 and r.stdout.strip(), "tick with curcpu", r)
    for line in r.stdout.split("\n"):
        check(re.fullmatch(r"[\d\s]*", line), "a row of tick", r)


def stacks(offset):
    """Code of a file that only root can read has no names in alice's stacks."""
    def opened():
        os.dup2(fd, 5)
    fd = os.open(f"{HOME}/secret.so", os.O_RDONLY)
    own = start(ALICE, f"{HOME}/noted", hex(offset), preexec_fn=opened, pass_fds=[5])
    os.close(fd)
    own.stdout.readline()
    text = f"syscall::getppid:entry /pid == {own.pid}/ {{ printf(\"in:\"); ustack(4); usym(ucaller); exit(0); }} tick-{SECONDS // 2}s {{ exit(5); }}"
    r = as_root("-qn", text)
    check(r.returncode == 0 and "secret_of_root" in r.stdout, "root's stack has the name", r)
    for more in [], ["-x", "oformat=json"], ["-p", str(own.pid)]:
        r = dtrace(ALICE, "-qn", text, *more)
        check(r.returncode == 0 and "secret_of" not in r.stdout + r.stderr, f"alice's stack has a name of root's file {more}", r)
    r = dtrace(ALICE, f"--pstack={own.pid}")
    check("secret_of" not in r.stdout + r.stderr, "alice's --pstack has a name of root's file", r)
    for text in f"pid{own.pid}:secret*::entry", f"pid{own.pid}::secret*:entry":
        r = dtrace(ALICE, "-ln", text)
        check("secret_of" not in r.stdout + r.stderr, f"alice lists {text}", r)
    own.kill()
    own.wait()


def drops():
    """Records that have no room are those of her own processes."""
    text = 'syscall::getppid:entry { printf("%s %s", "0123456789012345678901234567890123456789", execname); } tick-1s { exit(0); }'
    args = ["-qn", text, "-x", "bufsize=16k", "-x", "switchrate=2s"]
    other = start(BOB, f"{HOME}/calls", "getppid", LOOP)
    r = dtrace(ALICE, *args)
    check(r.returncode == 0 and not r.stdout.strip() and "drop" not in r.stderr, "drops of bob's", r)
    own = start(ALICE, f"{HOME}/calls", "getppid", LOOP)
    r = dtrace(ALICE, *args)
    check("drop" in r.stderr, "drops of her own are told", (r.stdout[:200], r.stderr))
    own.kill()
    own.wait()
    other.kill()


def children():
    """A child that has become bob's by a set-user-id file ends unseen, and what it does is unseen."""
    path = f"{HOME}/bobs"
    shutil.copy(f"{HOME}/calls", path)
    os.chown(path, BOB, BOB)
    os.chmod(path, 0o4755)
    start(ALICE, "/bin/sh", "-c", f"while :; do {path} getppid 50; {HOME}/calls getppid 50; done >/dev/null")
    kinds = ("exit", "lwp-exit", "exec-success", "start", "lwp-start", "signal-send", "fault")
    text = ("".join(f'proc:::{kind} {{ @["{kind}", execname, uid] = count(); }} ' for kind in kinds) +
            '''syscall::getppid:entry, syscall::exit_group:entry { @["call", execname, uid] = count(); }
            sched:::on-cpu, sched:::off-cpu { @["sched", execname, uid] = count(); }
            syscall::exit_group:entry /execname == "calls"/ { n++; } tick-10hz /n > 20/ { exit(0); } tick-%ds { exit(5); }''' % (SECONDS // 2))
    r = as_root("-qn", text)
    check(r.returncode == 0 and re.search(r"^\s*exit\s+bobs\s", r.stdout, re.M) and re.search(r"^\s*call\s+bobs\s", r.stdout, re.M), "root sees the child", r)
    r = dtrace(ALICE, "-qn", text)
    check(r.returncode == 0 and re.search(r"^\s*call\s+calls\s", r.stdout, re.M) and "bobs" not in r.stdout and str(BOB) not in r.stdout, "alice sees a child that is bob's", r)


try:
    compile_it("noted", PROGRAM)
    compile_it("secret.so", SECRET, "-shared", "-fPIC", "-nostdlib", "-fno-omit-frame-pointer")
    os.chmod(f"{HOME}/secret.so", 0o600)
    names = subprocess.run(["nm", f"{HOME}/secret.so"], check=True, capture_output=True, text=True).stdout
    bob = start(BOB, f"{HOME}/noted")
    bob.stdout.readline()
    listings(bob)
    versions()
    addresses()
    timers()
    stacks(int(re.search(r"^(\w+) T secret_of_root", names, re.M).group(1), 16))
    drops()
    children()
finally:
    for p in running:
        p.kill()
        p.wait()
done()
