# SPDX-License-Identifier: MIT
"""Children of fork() that nobody follows: they have the jumps of their parent, which do nothing, for as long as they live.

The program forks when it is told, and the child reads lines of its own. It calls what has jumps, forks again, and executes programs: while dtrace runs, when it
has ended or was killed, when its keeper was killed, too, and when its parent is gone.
"""
import os, signal, subprocess, sys, time

from tracing import DTRACE, PATIENCE, Target, Tracer, check, lines_of, report

TMP, CC = os.environ["TMP"], os.environ.get("CC", "cc")
SOURCE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define OWN __attribute__((noinline, noclone, noipa))
static volatile long kept;
static char **args;
OWN long work(long n)
{
	kept += n; /* too short for a jump without it */
	return n + 1;
}
OWN int compare(const void *a, const void *b)
{
	kept++;
	return *(const int *)a - *(const int *)b;
}
/* Returns 0 if each result is right. */
OWN int calls(long n)
{
	for (long i = 0; i < n; i++) {
		int list[] = {(int)(n & 63), 3, 100, (int)(i % 50) + 200};
		char text[32];

		snprintf(text, sizeof(text), "%ld", i);
		qsort(list, 4, sizeof(int), compare);
		if (work(i) != i + 1 || strtol(text, NULL, 10) != i || list[3] < 200 || list[0] != (n & 63 ? ((n & 63) < 3 ? (n & 63) : 3) : 0))
			return 1;
		free(malloc((size_t)i % 300));
	}
	return 0;
}
static void *in_thread(void *arg)
{
	return calls((long)arg) ? arg : NULL;
}
static int status(pid_t pid)
{
	int s = 0;

	waitpid(pid, &s, 0);
	return WIFEXITED(s) ? WEXITSTATUS(s) : 100 + WTERMSIG(s);
}
static void serve(FILE *in, FILE *out)
{
	char line[64];

	fprintf(out, "%d\n", getpid());
	while (fflush(out), fgets(line, sizeof(line), in)) {
		long n = atol(line + 1);
		int result = 0;
		pid_t pid;

		if (line[0] == 'f' || line[0] == 'x' || line[0] == 'o') {
			fflush(NULL);
			pid = fork();
			if (!pid && line[0] == 'x') /* another process of this program */
				execl("/proc/self/exe", args[0], "calls", NULL);
			if (!pid && line[0] == 'o') { /* an orphan that reads and answers on pipes of its own */
				setsid();
				serve(fdopen(atoi(args[1]), "r"), fdopen(atoi(args[2]), "w"));
				_exit(0);
			}
			if (!pid)
				_exit(calls(n));
			if (line[0] != 'o')
				result = status(pid);
		} else if (line[0] == 't') {
			pthread_t t[4];
			void *is_bad;

			for (int i = 0; i < 4; i++)
				pthread_create(&t[i], NULL, in_thread, (void *)n);
			for (int i = 0; i < 4; i++) {
				pthread_join(t[i], &is_bad);
				result |= is_bad != NULL;
			}
		} else if (line[0] == 'e') { /* becomes another program, which answers */
			dup2(fileno(out), 1);
			execlp("echo", "echo", "7", NULL);
		} else {
			result = calls(n);
		}
		fprintf(out, "%d\n", result);
	}
}
int main(int argc, char **argv)
{
	args = argv;
	signal(SIGPIPE, SIG_IGN);
	if (argc == 2)
		return calls(100);
	serve(stdin, stdout);
	return 0;
}
"""
SCRIPT = "pid$target:a.out::entry,pid$target:a.out::return,pid$target:libc.so.6:[a-z]*:entry,pid$target:libc.so.6:[a-z]*:return { @[pid] = count(); }"


class Child(Target):
    """A child that the parent forks, which is on pipes of its own. It ends with its input."""

    def __init__(self, parent, ends):
        self.file, self.pid = parent.file, None
        parent.call("o")
        os.close(ends[0]), os.close(ends[3])
        self.p = type("Pipes", (), {"stdin": os.fdopen(ends[1], "w"), "stdout": os.fdopen(ends[2]), "poll": lambda *a: None})
        self.pid = int(self.answer()[0])

    def end(self):
        self.p.stdin.close()
        until = time.monotonic() + 60 * PATIENCE
        while os.path.exists(f"/proc/{self.pid}/exe") and time.monotonic() < until:
            time.sleep(0.01)


def parent_start():
    """The program, and the ends of the pipes on which its child will be."""
    r1, w1 = os.pipe()
    r2, w2 = os.pipe()
    p = subprocess.Popen([f"{TMP}/orphans", str(r1), str(w2)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=(r1, w2))
    t = Target.__new__(Target)
    t.file, t.p, t.pid = f"{TMP}/orphans", p, p.pid
    t.answer()
    return t, (r1, w1, r2, w2)


def exercise(what, child):
    for line in ("c300", "f50", "t100", "x", "c300"):
        check(f"{what}: the child's own result of {line}", child.call(line), 0)


def await_code(what, t, want):
    until = time.monotonic() + 30 * PATIENCE
    while t.code() != want and time.monotonic() < until:
        time.sleep(0.01)
    check(f"{what}: its code is as before", t.code() == want, True)


def breakpoints(t, clean):
    """How many breakpoints its code has that were not there before: bytes that have changed alone, which those of a jump have not."""
    n = 0
    for old, new in zip(clean, t.code()):
        at = new.find(0xCC)
        while at >= 0:
            n += old[at] != 0xCC and old[at - 1:at] == new[at - 1:at] and old[at + 1:at + 2] == new[at + 1:at + 2]
            at = new.find(0xCC, at + 1)
    return n


def keeper_lives(tracer):
    try:
        return bool(keeper_of(tracer))
    except ValueError:
        return False


def await_over(what, tracer, t, clean):
    """Tracing is over while the keeper still tries windows, for seconds, of a process that is held: links come first."""
    while keeper_lives(tracer):
        if not breakpoints(t, clean):
            check(f"{what}: uprobes are gone before windows are tried", keeper_lives(tracer), True)
            return
    check(f"{what}: uprobes are gone before windows are tried", False, True)


def keeper_of(tracer):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as f:
                if f.read().startswith(f"uprobe-keeper of {tracer.p.pid}\0"):
                    return int(pid)
        except OSError:
            pass
    raise ValueError("there is no keeper")


def free(what, t):
    """The next dtrace takes jumps back."""
    p = subprocess.run([DTRACE, "-p", str(t.pid), "-n", "pid$target:a.out:work:entry { } BEGIN { exit(0); }"], capture_output=True, text=True, timeout=60 * PATIENCE)
    check(f"{what}: the next dtrace says so", ": taken back" in p.stderr or p.stderr, True)


def run(what, ends):
    t, pipes = parent_start()
    clean = t.code()
    tracer = Tracer("auto", SCRIPT, t.pid)
    t.call("c20")
    child = Child(t, pipes)
    check(f"{what}: the child has jumps", child.code() != clean, True)
    exercise(f"{what}, while dtrace runs", child)
    keeper = keeper_of(tracer)
    if ends == "both":
        os.kill(keeper, signal.SIGKILL)
    out = lines_of(tracer.end(signal.SIGINT if ends == "dtrace" else signal.SIGKILL)[0])
    if ends == "dtrace":
        check(f"{what}: only the parent fires", [line.split()[0] for line in out], [str(t.pid)])
    if ends == "both":
        check(f"{what}: the child has its jumps", child.code() != clean, True)
    else:
        await_code(f"{what}: the parent", t, clean)
        await_code(f"{what}: the child", child, clean)
    exercise(f"{what}, after dtrace", child)
    t.p.kill()
    t.p.wait()
    exercise(f"{what}, without parent", child)
    if ends == "both":
        free(what, child)
        await_code(f"{what}: the child, after the next dtrace", child, clean)
        exercise(f"{what}, after the next dtrace", child)
    check(f"{what}: it becomes another program", child.call("e"), 7)
    child.end()


def relatives():
    """Without dtrace and keeper, parent and child are freed by one dtrace each, whichever comes first."""
    t, pipes = parent_start()
    clean = t.code()
    tracer = Tracer("auto", SCRIPT, t.pid)
    child = Child(t, pipes)
    os.kill(keeper_of(tracer), signal.SIGKILL)
    tracer.end(signal.SIGKILL)
    for who, x in (("the child", child), ("the parent", t)):
        free(f"relatives: {who}", x)
        await_code(f"relatives: {who}", x, clean)
    exercise("relatives", child)
    exercise("relatives", t)
    child.end()
    check("relatives: the parent ends well", t.end(), 0)


class Debugger:
    """gdb, which holds a process until it lets it go."""

    def __init__(self, pid):
        self.p = subprocess.Popen(["gdb", "-q", "-nx", "-p", str(pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.p.stdin.write("echo HELD\\n\n")
        self.p.stdin.flush()
        while "HELD" not in self.p.stdout.readline():
            pass

    def end(self):
        self.p.communicate("detach\nquit\n", timeout=60 * PATIENCE)


def stays():
    """A debugger holds the child, or the parent, when dtrace ends: who keeps jumps is said, and the next dtrace takes them back."""
    for who in "the child", "the parent":
        t, pipes = parent_start()
        clean = t.code()
        tracer = Tracer("auto", SCRIPT, t.pid)
        child = Child(t, pipes)
        held = child if who == "the child" else t
        gdb = Debugger(held.pid)
        check(f"held, {who}: there are uprobes", breakpoints(t, clean) > 0, True)
        tracer.end()
        if held is t:
            await_over(f"held, {who}", tracer, t, clean)
        want = f"without effect, because it could not be stopped, or shares its memory: {child.pid};" if held is child else f" in process {t.pid}, without effect"
        check(f"held, {who}: it is said", want in tracer.err or tracer.err, True)
        await_code(f"held, {who}: the other one", t if held is child else child, clean)
        check(f"held, {who}: it has jumps", held.code() != clean, True)
        gdb.end()
        free(f"held, {who}", held)
        await_code(f"held, {who}", held, clean)
        exercise(f"held, {who}", child)
        exercise(f"held, {who}", t)
        child.end()
        check(f"held, {who}: the parent ends well", t.end(), 0)


with open(f"{TMP}/orphans.c", "w") as f:
    f.write(SOURCE)
subprocess.run([CC, "-O1", "-pthread", "-o", f"{TMP}/orphans", f"{TMP}/orphans.c"], check=True)
run("dtrace ends", "dtrace")
run("dtrace is killed", "killed")
run("dtrace and keeper are killed", "both")
relatives()
if subprocess.run(["sh", "-c", "command -v gdb"], capture_output=True).returncode == 0:
    stays()
else:
    print("skip: no gdb")
sys.exit(report())
