# SPDX-License-Identifier: MIT
"""
alice ends the command and its helper processes by signals, at moments from its begin to its work, and gives it limits with which it can get
no further than to some point. No breakpoint and no process is left, no process stays stopped, and there is no core file of what has capabilities.
"""
import glob, re, resource, signal, time
from world import *

enter()
levels(f"user {ALICE}: dtrace_user, dtrace_proc\n")
if not shutil.which("cc"):
    skip("there is no cc")
SOURCE = r"""
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) long work(long n) { __asm__ volatile("" : "+r"(n)); return n + 1; }
int main(void) { printf("%p\n", (void *)work); fflush(stdout); for (;;) { work(1); usleep(500); } }
"""
with open(f"{TMP}/work.c", "w") as f:
    f.write(SOURCE)
subprocess.run(["cc", "-O1", "-o", f"{HOME}/work", f"{TMP}/work.c"], check=True)
target = subprocess.Popen([f"{HOME}/work"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=ENV, **user(ALICE))
address = int(target.stdout.readline(), 16)


def code():
    with open(f"/proc/{target.pid}/mem", "rb") as f:
        f.seek(address)
        return f.read(4)


def state(pid):
    return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0]


def others():
    """The processes of alice but for the target, with their parents."""
    found = {}
    for path in glob.glob("/proc/[0-9]*/status"):
        try:
            with open(path) as f:
                text = f.read()
        except OSError:
            continue
        pid = int(path.split("/")[2])
        if f"\nUid:\t{ALICE}\t" in text and pid != target.pid and "\nState:\tZ" not in text:
            found[pid] = int(re.search(r"\nPPid:\t(\d+)", text).group(1))
    return found


CLEAN = code()
PROBES = f"pid{target.pid}::work:entry {{ n++; }} pid{target.pid}::work:return {{ @ = count(); }} syscall::clock_nanosleep:entry {{ self->t = timestamp; }} BEGIN {{ n = 0; }}"
FOREVER = PROBES + ' tick-50hz /n > 5 && !told/ { told = 1; printf("on\\n"); }'
ONCE = PROBES + ' tick-50hz /n > 5/ { printf("traced"); exit(0); }'


def session(text, **kwargs):
    return subprocess.Popen([DTRACE, "-qn", text], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENV, **user(ALICE), **kwargs)


def nothing_is_left(what, p):
    try:
        said = p.communicate(timeout=SECONDS)[0]
    except subprocess.TimeoutExpired:
        p.kill()
        said = "it does not end: " + p.communicate()[0]
        check(False, what, said)
    for _ in range(10 * SECONDS):
        if code() == CLEAN and not others() and state(target.pid) not in "Tt":
            break
        time.sleep(0.1)
    check(code() == CLEAN, f"{what}: a breakpoint is left", (code(), said))
    check(not others(), f"{what}: a process is left", (others(), said))
    check(state(target.pid) not in "Tt", f"{what}: the process is stopped", said)
    check(not glob.glob(f"{home(ALICE)}/core*") and not glob.glob(f"{HOME}/core*"), f"{what}: a core file", said)
    return said


def signals():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    p = session(FOREVER)
    check(p.stdout.readline() == "on\n" and code() != CLEAN, "there are breakpoints while it works", code())
    p.send_signal(signal.SIGINT)
    nothing_is_left("an orderly end", p)
    for number, whom in ((9, "dtrace"), (9, "helpers"), (9, "all"), (11, "dtrace"), (11, "all"), (6, "dtrace"), (25, "dtrace"), (31, "all"), (9, "stopped helpers")):
        for moment in 0.3, None:
            p = session(FOREVER)
            if moment is None:
                p.stdout.readline()
            else:
                time.sleep(moment)
            helpers = [pid for pid in others() if pid != p.pid]
            for pid in helpers + [p.pid] if whom == "all" else [p.pid] if whom == "dtrace" else helpers:
                try:
                    os.kill(pid, signal.SIGSTOP if whom[0] == "s" else number)
                except ProcessLookupError:
                    pass
            if whom != "dtrace":
                p.send_signal(number)
            if whom[0] == "s":  # until they go on, the breakpoints are there
                time.sleep(0.2)
                for pid in helpers:
                    try:
                        os.kill(pid, signal.SIGCONT)
                    except ProcessLookupError:
                        pass
            nothing_is_left(f"signal {number} to {whom} after {moment}", p)


def limits():
    for name, values in (("NOFILE", range(10, 76, 13)), ("FSIZE", (0,)), ("AS", [n << 20 for n in (16, 30, 80)]), ("DATA", [n << 20 for n in (1, 4, 30)]), ("NPROC", (0, 2, 4)),
                         ("MEMLOCK", (0,)), ("SIGPENDING", (0,)), ("STACK", (1 << 16,)), ("CPU", (0,)), ("CORE", (0,))):
        kind = getattr(resource, f"RLIMIT_{name}")
        for value in values:
            p = session(ONCE, preexec_fn=lambda value=value: resource.setrlimit(kind, (value, value)))
            said = nothing_is_left(f"RLIMIT_{name} of {value}", p)
            check(p.returncode in (0, 1, 127) or name in ("CPU", "STACK"), f"RLIMIT_{name} of {value} ends it by a signal", (p.returncode, said))
            check("traced" in said or said.strip() or p.returncode < 0, f"RLIMIT_{name} of {value} is not told", (p.returncode, said))


try:
    signals()
    limits()
finally:
    target.kill()
    target.wait()
done()
