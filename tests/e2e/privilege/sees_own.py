# SPDX-License-Identifier: MIT
"""curpsinfo, curlwpsinfo and fds[] of alice's own processes: what they say is right, and nothing of the kernel comes out of them but that."""
import time
from world import *

enter()
levels(f"user {ALICE}: dtrace_user\n")
LOOP = """
import os, sys, threading
f = open("/etc/hostname"); f.read()
os.dup2(f.fileno(), 9)
print("runs", flush=True)
while True:
    os.getppid(); os.lseek(9, 0, 1)
"""


def loop(uid, *words):
    p = subprocess.Popen(["/usr/bin/python3", "-c", LOOP, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=ENV, **user(uid))
    p.stdout.readline()
    return p


own, other = loop(ALICE, "of-alice"), loop(BOB, "of-bob")
libraries = f"{home(ALICE)}/lib"
os.mkdir(libraries)


def library(text):
    with open(f"{libraries}/mine.d", "w") as f:
        f.write(text)


def run_clause(body, *options, probe="syscall::getppid:entry", predicate="1"):
    return dtrace(ALICE, "-q", *options, "-n", f"{probe} /pid == {own.pid} && ({predicate})/ {{ {body} exit(0); }} ERROR {{ exit(7); }}")


def stat(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()


def shows(body, want, **kwargs):
    r = run_clause(body, **kwargs)
    check(r.returncode == 0 and r.stdout.strip() == want and not r.stderr, f"{body} {kwargs}: want {want!r}", r)


def values():
    s = stat(own.pid)
    offset = int(open(f"/proc/{own.pid}/fdinfo/9").readline().split()[1])
    shows('printf("%d %d %d %d", curpsinfo->pr_pid, curpsinfo->pr_ppid, curpsinfo->pr_pgid, curpsinfo->pr_sid);', f"{own.pid} {s[1]} {s[2]} {s[3]}")
    shows('printf("%d %d %d %d", curpsinfo->pr_uid, curpsinfo->pr_euid, curpsinfo->pr_gid, curpsinfo->pr_egid);', f"{ALICE} {ALICE} {ALICE} {ALICE}")
    shows('printf("%s %d %d", curpsinfo->pr_fname, curpsinfo->pr_nlwp, curpsinfo->pr_argc);', "python3 1 4")
    shows('trace(strstr(curpsinfo->pr_psargs, "import os") != NULL ? "args" : "none");', "args")
    shows('printf("%s %d %c %s %d", curlwpsinfo->pr_name, curlwpsinfo->pr_lwpid, curlwpsinfo->pr_sname, curlwpsinfo->pr_clname, curlwpsinfo->pr_syscall);',
          f"python3 {own.pid} O TS {'110' if os.uname().machine == 'x86_64' else '173'}")
    shows('printf("%s %s %s %d %d", fds[9].fi_name, fds[9].fi_pathname, fds[9].fi_dirname, fds[9].fi_offset, fds[9].fi_oflags & 3);', f"hostname /etc/hostname /etc {offset} 0")
    shows('printf("%s %s", fds[99].fi_name, fds[-1].fi_pathname);', "<none> <none>")
    shows("trace(fds[(this->n = 9, this->n)].fi_name);", "hostname")
    for index in "8 + (arg0 == 9)", "8 + !(arg0 != 9)", "8 + (arg0 && 1)", "8 + (arg0 || 0)", "curpsinfo->pr_pid - pid + 9":
        shows(f"trace(fds[{index}].fi_name);", "hostname", probe="syscall::lseek:entry")
    for index in "arg0 == 1", "!arg0", "!curpsinfo->pr_pid", "arg0 && 0", "arg0 != 9 || 0":
        shows(f"trace(fds[{index}].fi_name == fds[0].fi_name);", "1", probe="syscall::lseek:entry")
    shows("trace(fds[curpsinfo->pr_pid].fi_name);", "<none>")
    shows('trace((*curpsinfo).pr_pid);', str(own.pid))
    shows("trace(pid);", str(own.pid), predicate=f"curpsinfo->pr_nlwp && curpsinfo->pr_pid == {own.pid} && fds[9].fi_name == \"hostname\"")
    shows("trace(fds[arg0].fi_name);", "hostname", probe="syscall::lseek:entry", predicate="fds[arg0].fi_oflags >= 0")
    start = int(s[19]) // os.sysconf("SC_CLK_TCK") + time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    r = run_clause("trace(curpsinfo->pr_start.tv_sec);")
    check(abs(int(r.stdout or 0) - start) < 3, f"pr_start is {start}", r)
    r = dtrace(ALICE, "-qn", f'profile-997 /pid == {own.pid}/ {{ @[curpsinfo->pr_pid, fds[9].fi_name] = count(); n++; }} tick-10hz /n > 20/ {{ exit(0); }}')
    check(r.returncode == 0 and {line.split()[0] for line in r.stdout.splitlines() if line.strip()} == {str(own.pid)} and "hostname" in r.stdout, "in profile-N", r)
    r = dtrace(ALICE, "-qn", 'syscall::lseek:entry { @[curpsinfo->pr_uid, curpsinfo->pr_euid] = count(); n++; } tick-10hz /n > 1000/ { exit(0); }')
    check(r.stdout.split()[:2] == [str(ALICE), str(ALICE)] and len(r.stdout.split()) == 3, "only alice's processes", r)
    library("inline string opened[int fd] = fds[fd].fi_name; inline int mine = curpsinfo->pr_pid;")
    r = run_clause('printf("%s %d", opened[9], mine);', "-L", libraries)
    check(r.stdout.strip() == f"hostname {own.pid}", "through inlines of her own", r)


def refused(body, said, *options, **kwargs):
    r = run_clause(body, *options, **kwargs)
    check(r.returncode == 1 and said in r.stderr and not r.stdout.strip(), f"{body} is refused with '{said}'", r)


NEEDS = " needs dtrace_kernel; this session has dtrace_user\n"


def nothing_else():
    r = subprocess.run([DTRACE, "-qn", 'BEGIN { printf("%x", (uint64_t)&curthread->comm[0]); exit(0); }'], capture_output=True, text=True, env=ENV)
    somewhere = f"0x{r.stdout.strip()}"
    check(int(somewhere, 16) >> 63 == 1, "an address of the kernel", r)
    for member in "curpsinfo->pr_addr", "curlwpsinfo->pr_addr", "curlwpsinfo->pr_wchan", "curpsinfo->pr_lwp.pr_lwpid", "fds[1].fi_mount":
        refused(f"trace({member});", NEEDS)
        refused("n = 1;", NEEDS, predicate=f"{member} != 0" if "fi_" not in member else f'{member} == "/"')
    # the structure that they are made of
    for body in ("this->p = curpsinfo; trace(this->p->pr_pid);", "p = curpsinfo; trace(p->pr_pid);", "self->p = fds[1]; trace(self->p.fi_name);", "print(*curpsinfo);", "print(fds[1]);",
                 "trace(xlate<psinfo_t>(curpsinfo).pr_pid);", "trace(xlate<lwpsinfo_t *>(curpsinfo)->pr_addr);", "trace(xlate<fileinfo_t>(fds[1]).fi_name);",
                 "trace(xlate<psinfo_t *>(curthread)->pr_pid);", "trace(getf(1)->f_flags);", "trace(__task_tgid[curthread]);"):
        refused(body, NEEDS)
    for what, text in (("a translator", "struct mine { uint64_t at; }; translator struct mine <struct task_struct *T> { at = (uint64_t)T; };"),
                       ("one of the same type", "translator psinfo_t <struct task_struct *T> { pr_size = (uint64_t)T; pr_pid = (int)(uint64_t)T; };"),
                       ("one of a file", "struct mine { uint64_t at; }; translator struct mine <struct file *F> { at = (uint64_t)F; };")):
        for layer in "program", "library":
            options = ["-L", libraries] if layer == "library" else []
            library(text if layer == "library" else "inline int unused = 1;")
            for use in "xlate<struct mine *>(curpsinfo)->at", "xlate<struct mine>(fds[1]).at", "xlate<psinfo_t *>(curpsinfo)->pr_size", "curpsinfo->pr_size":
                r = dtrace(ALICE, "-q", *options, "-n", (text if layer == "program" else "") + f' syscall::getppid:entry /pid == {own.pid}/ {{ printf("%x", {use}); exit(0); }} ERROR {{ exit(7); }}')
                check("ffff8" not in r.stdout and (r.returncode == 1 or use == "curpsinfo->pr_size" and r.returncode == 0), f"{what} of a {layer} for {use}", r)
    library("inline uint64_t where = (uint64_t)curthread; inline psinfo_t *curpsinfo = xlate<psinfo_t *>((struct task_struct *)%s);" % somewhere)
    r = run_clause('printf("%x", curpsinfo->pr_size);', "-L", libraries)
    check(r.returncode in (1, 7) and not r.stdout.strip(), "an inline of the same name", r)
    refused('printf("%x", where);', "curthread" + NEEDS, "-L", libraries)
    r = dtrace(ALICE, "-qn", "struct task_struct { char pad[64]; uint64_t pid; }; " f'syscall::getppid:entry /pid == {own.pid}/ {{ printf("%x", curpsinfo->pr_pid); exit(0); }} ERROR {{ exit(7); }}')
    check(r.returncode == 1 or r.stdout.strip() == f"{own.pid:x}", "a structure of the same name", r)
    # the library's own variables, which hold addresses on the way
    for body in ("trace(fds[1].fi_oflags); trace((uint64_t)this->__file);", "this->__file = (struct file *)1;", "self->__x = 1;", "__x = 1; trace(__x);", "__y[1] = 1;"):
        refused(body, ", a variable of the D library," + NEEDS)
    library("inline uint64_t hidden = (uint64_t)this->__file;")
    r = run_clause("trace(fds[1].fi_oflags); trace(hidden);", "-L", libraries)
    check(r.returncode == 1 and not r.stdout.strip(), "a library's inline for one of them", r)
    # what a program gives to fds[] is its own text
    for n in f"*(int *){somewhere}", f"((struct task_struct *){somewhere})->pid", f"strlen((char *){somewhere})", f"*(int *){somewhere} ? 1 : 2", f"(this->a = *(int *){somewhere}, this->a)":
        r = run_clause(f"trace(fds[{n}].fi_name);")
        check(r.returncode == 7 and not r.stdout.strip() and "invalid kernel access" in r.stderr, f"fds[{n}]", r)
        r = run_clause("n = 1;", predicate=f"fds[{n}].fi_oflags == 0")
        check(r.returncode in (1, 7) and not r.stdout.strip(), f"a predicate with fds[{n}]", r)
    # strings are copies: no address is told, none leads further
    refused("trace((uint64_t)(char *)curpsinfo->pr_fname);", "is recorded, which needs dtrace_kernel")
    refused("trace((uint64_t)(char *)fds[9].fi_name > 5 ? 1 : 2);", "is compared, which needs dtrace_kernel")
    refused("trace((uint64_t)&curpsinfo->pr_pid);", "not an lvalue")
    refused("curpsinfo->pr_pid = 1;", "requires an lvalue")
    for body in ("trace(*((char *)curpsinfo->pr_fname + 500000));", "trace(*((char *)fds[9].fi_name - 500000));"):
        r = run_clause(body)
        check(r.returncode == 7 and "invalid kernel access" in r.stderr, body, r)
    r = run_clause("tracemem((char *)curpsinfo->pr_fname, 256);")
    check(r.returncode in (0, 7) and " ff ff" not in r.stdout, "what lies behind a string", r)
    for clause in "BEGIN", "END", "tick-10hz", "ERROR":
        for what in "curpsinfo->pr_pid", "curlwpsinfo->pr_lwpid", "fds[1].fi_name":
            r = dtrace(ALICE, "-qn", f"{clause} {{ trace({what}); exit(0); }}")
            check(r.returncode == 1 and "needs proc_owner" in r.stderr, f"{what} in {clause}", r)


try:
    values()
    nothing_else()
    levels(f"user {ALICE}: dtrace_user, proc_owner\n")
    r = dtrace(ALICE, "-qn", f'syscall::lseek:entry /pid == {other.pid}/ {{ printf("%d %s", curpsinfo->pr_uid, fds[arg0].fi_name); exit(0); }}')
    check(r.stdout.strip() == f"{BOB} hostname", "with proc_owner those of others", r)
    r = dtrace(ALICE, "-qn", "BEGIN { trace(curpsinfo->pr_addr); exit(0); }")
    check(r.returncode == 1 and "pr_addr of psinfo_t needs dtrace_kernel" in r.stderr, "proc_owner is not dtrace_kernel", r)
finally:
    for p in own, other:
        p.kill()
        p.wait()
done()
