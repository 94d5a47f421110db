# SPDX-License-Identifier: MIT
"""Processes that are born, or execute another program, while another tracer has the turn at their code: they run on, and are probed when it is over.

The test locks the turns of all processes, and has the program answer meanwhile. Nobody may write or read the lock's byte of a process that is not born yet, so
the lock is on all bytes.
"""
import fcntl, os, signal, struct, subprocess, sys, time

from tracing import PATIENCE, TURNS, Target, Tracer, check, lines_of, report

TMP, CC = os.environ["TMP"], os.environ.get("CC", "cc")
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline, noipa)) long work(long n) { return n * 3 + (n >> 2) + (n & 7); }
static void answer(long n) { printf("%ld\n", n); fflush(stdout); }
int main(int argc, char **argv)
{
	char line[64];
	if (argc == 1)
		puts("ready");
	else
		answer(8);
	for (fflush(stdout); fgets(line, sizeof(line), stdin);) {
		switch (line[0]) {
		case 'f': /* the child goes on reading, and the parent waits for it */
			if (fork()) {
				wait(NULL);
				return 0;
			}
			answer(9);
			break;
		case 'x': execl("/proc/self/exe", argv[0], "again", NULL); return 1;
		default: answer(work(10));
		}
	}
	return 0;
}
"""


def turns_take():
    os.makedirs(os.path.dirname(TURNS), 0o700, exist_ok=True)
    fd = os.open(TURNS, os.O_RDWR | os.O_CREAT, 0o600)
    until = time.monotonic() + 60 * PATIENCE
    while True:
        try:
            fcntl.fcntl(fd, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))  # F_OFD_SETLK
            return fd
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


def said(d, text):
    """Reads messages until one of them has the text; the session may wait for half a minute before it gives up."""
    for line in d.p.stderr:
        if text in line or "not probed" in line:
            return text in line or line
    return False


def becomes(name, mode, how, flags):
    """What is done while the turn is taken is done at once; the calls that come after it are counted, and before it none of the new process."""
    t = Target(f"{TMP}/runs_on")
    d = Tracer(mode, "pid$target:a.out:work:entry { @[probefunc] = count(); }", t.pid, *flags)
    check(f"{name}: before", t.call("c"), 34)
    fd = turns_take()
    check(f"{name}: it runs on", t.call(how), {"f": 9, "x": 8}[how])
    for _ in range(5):
        check(f"{name}: what it computes meanwhile", t.call("c"), 34)
    time.sleep(0.3)
    os.close(fd)
    check(f"{name}: it is said", said(d, "ms late: another dtrace was changing its code"), True)
    for _ in range(3):
        check(f"{name}: what it computes then", t.call("c"), 34)
    out, places = d.end(signal.SIGINT)
    check(f"{name}: what fires", lines_of(out), ["work 4"])
    check(f"{name}: nobody has waited", "waited" in d.err and d.err, False)
    t.p.stdin.close()
    check(f"{name}: it ends well", t.p.wait(60 * PATIENCE), 0)


def is_never_probed():
    """The session ends before the turn can be had."""
    t = Target(f"{TMP}/runs_on")
    d = Tracer("off", "pid$target:a.out:work:entry { @[probefunc] = count(); }", t.pid, "-x", "follow=fork")
    fd = turns_take()
    check("never: it runs on", t.call("f"), 9)
    check("never: what it computes", t.call("c"), 34)
    d.end()
    check("never: it is said", "its functions are not probed" in d.err or d.err, True)
    os.close(fd)
    t.p.stdin.close()
    check("never: it ends well", t.p.wait(60 * PATIENCE), 0)


with open(f"{TMP}/runs_on.c", "w") as f:
    f.write(PROGRAM)
subprocess.run([CC, "-O1", "-o", f"{TMP}/runs_on", f"{TMP}/runs_on.c"], check=True)
becomes("a child", "off", "f", ["-x", "follow=fork"])
becomes("a child of a process with jumps", "auto", "f", ["-x", "follow=fork"])
becomes("another program", "all", "x", [])
is_never_probed()
sys.exit(report())
