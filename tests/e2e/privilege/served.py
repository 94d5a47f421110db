# SPDX-License-Identifier: MIT
"""
alice serves a file system (FUSE). The kernel reads a page of a file while it places a uprobe there, and nobody can fork until it has that
page: so a session of hers has no breakpoints in such files, neither in programs, nor where their dynamic linker reports.
"""
from world import *

if not os.path.exists("/dev/fuse"):
    skip("there is no /dev/fuse")
if not shutil.which("cc"):
    skip("there is no cc")
enter()
MNT = f"{TMP}/served"
WHY = "a program may be the server of its"
PROGRAM = """
#include <stdio.h>
#include <unistd.h>

int __attribute__((noinline)) do_getppid(int n)
{
	return n + getppid();
}

int main(void)
{
	puts("on");
	fflush(stdout);
	for (int n = 0;; usleep(1000))
		n = do_getppid(n);
}
"""


def build():
    with open(f"{TMP}/p.c", "w") as f:
        f.write(PROGRAM)
    linker = subprocess.run("readelf -l /bin/sh | sed -n 's/.*interpreter: \\(.*\\)]/\\1/p'", shell=True, capture_output=True, text=True).stdout.strip()
    subprocess.run(["cc", "-O1", "-o", f"{TMP}/plain", f"{TMP}/p.c"], check=True)
    subprocess.run(["cc", "-O1", f"-Wl,--dynamic-linker={MNT}/{os.path.basename(linker)}", "-o", f"{TMP}/linked", f"{TMP}/p.c"], check=True)
    os.mkdir(MNT)
    fs = subprocess.Popen([f"{os.environ['TRIGGER']}/hangfs", MNT, f"{TMP}/plain", linker], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    first = fs.stdout.readline()
    if first != "ready\n":
        skip(f"FUSE cannot be mounted here: {first}")
    return fs


def trace(path, *args):
    """What a session of alice says of a program of hers."""
    p = subprocess.Popen([path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=ENV, **user(ALICE))
    p.stdout.readline()
    text = [a.replace("PID", str(p.pid)) for a in args]
    r = dtrace(ALICE, "-qn", text[0] + ' /!n++/ { printf("fires\\n"); exit(0); }', "-p", str(p.pid), *text[1:])
    p.kill()
    p.wait()
    return r


fs = build()
try:
    levels(f"user {ALICE}: dtrace_user, dtrace_proc\n")
    for probe in "pidPID:plain:do_getppid:entry", "pidPID:a.out:do_getppid:return", "pidPID::do_getppid:entry":
        r = trace(f"{MNT}/plain", probe)
        check(r.returncode == 1 and "fires" not in r.stdout, f"{probe} of a served program", r)
        check(":a.out:" not in probe and ":plain:" not in probe or WHY in r.stderr and "proc_owner" in r.stderr, f"{probe} of a served program is refused with its reason", r)
    r = trace(f"{MNT}/plain", "syscall::getppid:entry")
    check(r.returncode == 0 and "fires" in r.stdout, "its system calls are traced", r)
    r = trace(f"{MNT}/plain", "pidPID:libc.so.6:getppid:entry")
    check(r.returncode == 0 and "fires" in r.stdout, "its library on the disk is traced", r)
    r = trace(f"{TMP}/plain", "pidPID:plain:do_getppid:entry")
    check(r.returncode == 0 and "fires" in r.stdout and WHY not in r.stderr, "the same program on the disk is traced", r)
    r = trace(f"{TMP}/linked", "pidPID:linked*:do_getppid:entry", "-Z")
    check(r.returncode == 0 and "fires" in r.stdout and WHY in r.stderr, "no breakpoint is in a served dynamic linker, which is said", r)
    levels(f"user {ALICE}: dtrace_user, dtrace_proc, proc_owner\n")
    for path in f"{MNT}/plain", f"{TMP}/linked":
        r = trace(path, "pidPID::do_getppid:entry")
        check(r.returncode == 0 and "fires" in r.stdout and WHY not in r.stderr, f"{path} is traced with proc_owner", r)
finally:
    fs.stdin.close()
    fs.wait()
done()
