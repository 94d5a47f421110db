# SPDX-License-Identifier: MIT
"""alice gives dtrace limits, full file systems and odd descriptors: a session works or ends with a message, and is never ended by a signal."""
import resource
from world import *

enter()
levels(f"user {ALICE}: dtrace_user, dtrace_proc\n")
TRACE = ["-qn", 'BEGIN { printf("traced"); exit(0); }']


def limited():
    r = dtrace(ALICE, *TRACE)
    check(r.returncode == 0 and r.stdout.strip() == "traced", "without limits", r)
    for name in "NOFILE", "MEMLOCK", "NPROC", "DATA", "STACK":
        for value in 0, 16, 1 << 16, 1 << 22:
            limit = getattr(resource, f"RLIMIT_{name}")
            if name in ("STACK", "DATA") and value < 1 << 22:
                continue  # the dynamic linker does not come to an end with that
            hard = resource.getrlimit(limit)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            r = run(ALICE, [DTRACE, *TRACE], preexec_fn=lambda limit=limit, value=value: resource.setrlimit(limit, (value, value)))
            check(r.returncode >= 0 and (r.stdout.strip() == "traced" if r.returncode == 0 else r.stderr), f"RLIMIT_{name} {value}", r)


def written():
    os.mkdir(f"{TMP}/little")
    mount("-t", "tmpfs", "-o", "size=4k,mode=1777", "tmpfs", f"{TMP}/little")
    with open(f"{TMP}/little/full", "wb") as f:
        f.write(b"x" * 4096)
    text = ["-qn", 'BEGIN { printf("%s", "text"); exit(0); }']
    for path, is_good in ("/dev/full", False), (f"{TMP}/little/out", False), (home(ALICE), False), ("/dev/null", True), (f"{home(ALICE)}/out", True):
        r = dtrace(ALICE, *text, "-o", path)
        check(r.returncode == 0 if is_good else r.returncode == 1 and path in r.stderr, f"-o {path}", r)


def inherited():
    """Descriptor 3 is a folder; su as the program of -c makes nobody root; no option gives a level."""
    fd = os.open(home(ALICE), os.O_RDONLY)
    r = run(ALICE, ["/bin/sh", "-c", f'exec "$0" "$@" 3<&{fd}', DTRACE, *TRACE], pass_fds=[fd])
    check(r.returncode == 0 and r.stdout.strip() == "traced", "with a folder as descriptor 3", r)
    os.close(fd)
    r = dtrace(ALICE, "-n", "syscall::getppid:entry /0/ { }", "-c", "su -c id")
    check("uid=0" not in r.stdout and r.returncode >= 0, "-c su", r)
    for option in f"privileges={BOB}:dtrace_user", "privileges=dtrace_kernel":
        r = run(ALICE, [DTRACE, "-x", option, "-qn", "BEGIN { trace(`jiffies); exit(0); }"])
        check(r.returncode == 1 and r.stderr, f"-x {option} gives nothing", r)


limited()
written()
inherited()
done()
