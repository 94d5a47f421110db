# SPDX-License-Identifier: MIT
"""Thread-local variables and tid with -x inproc=auto in a process of five threads: what the program itself says about its calls.

The blocks of such threads lie at the ends of mappings. In a PID namespace the block has another number than the one that the session knows: there the
same script runs by uprobes, and prints the same.
"""
import os, re, subprocess, sys

DTRACE, TMP, CC = os.environ["DTRACE"], os.environ["TMP"], os.environ.get("CC", "cc")
PATIENCE = int(os.environ.get("PATIENCE", 1))
FILE = f"{TMP}/threads"
PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_barrier_t begin, end;
static int ids[4];
static volatile int total;
__attribute__((noinline, noipa)) int work(int n)
{
	total += n; /* too short for a jump without it */
	return n + 1;
}
static void *run(void *arg)
{
	int *id = arg, n = (int)(id - ids) + 1;

	*id = gettid();
	pthread_barrier_wait(&end);
	pthread_barrier_wait(&begin);
	for (int i = 0; i < 10 * n; i++)
		(void)work(i);
	pthread_barrier_wait(&end);
	pause();
	return arg;
}
int main(void)
{
	pthread_t t;

	pthread_barrier_init(&begin, NULL, 5);
	pthread_barrier_init(&end, NULL, 5);
	for (int i = 0; i < 4; i++)
		pthread_create(&t, NULL, run, &ids[i]);
	pthread_barrier_wait(&end);
	printf("%d %d %d %d %d\n", getpid(), ids[0], ids[1], ids[2], ids[3]);
	fflush(stdout);
	(void)getchar();
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	printf("done\n");
	fflush(stdout);
	(void)getchar();
	return 0;
}
"""
SCRIPT = """pid$target:a.out:work:entry { self->n = arg0 + 1; @calls[tid] = count(); }
pid$target:a.out:work:return /self->n == arg1/ { @same[tid] = count(); self->n = 0; }
tick-20ms /!told/ { told = 1; printf("READY\\n"); }
END { printa("%d %@d %@d\\n", @calls, @same); }"""
bad = []


def check(what, got, want):
    if got != want:
        bad.append(f"{what}: {got!r} instead of {want!r}")


def session(what, command, pid_of, is_inside):
    t = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    ids = [int(x) for x in t.stdout.readline().split()]
    if len(ids) != 5:
        return f"skip: {what}: it does not start"
    pid = pid_of(t.pid)
    tids = sorted(int(x) for x in os.listdir(f"/proc/{pid}/task"))
    d = subprocess.Popen([DTRACE, "-q", "-x", "inprocsum", "-x", "inproc=auto", "-p", str(pid), "-n", SCRIPT],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in d.stdout:
        if "READY" in line:
            break
    t.stdin.write("\n")
    t.stdin.flush()
    if d.poll() is None:
        t.stdout.readline()
        d.terminate()
    out, err = d.communicate(timeout=60 * PATIENCE)
    t.communicate("\n", timeout=60 * PATIENCE)
    check(f"{what}: errors", d.returncode, 0)
    check(f"{what}: calls of each thread", sorted(line.split() for line in out.splitlines() if line),
          sorted([str(tid), str(10 * n), str(10 * n)] for n, tid in enumerate(tids[1:], 1)))
    places = re.search(r"(\d+) places? probed in process \d+ itself, (\d+) by uprobes?(.*)", err)
    check(f"{what}: places in the process", bool(places) and (places.group(1) != "0") == is_inside and (places.group(2) == "0" and "relayed" not in places.group(3)) == is_inside or err, True)
    if not is_inside:
        check(f"{what}: the reason", bool(places) and "thread's number" in places.group(3) or err, True)
    return None


with open(f"{TMP}/threads.c", "w") as f:
    f.write(PROGRAM)
subprocess.run([CC, "-O1", "-pthread", "-o", FILE, f"{TMP}/threads.c"], check=True)
session("threads", [FILE], lambda pid: pid, True)
if subprocess.run(["unshare", "--pid", "--fork", "true"], capture_output=True).returncode == 0:
    session("a PID namespace", ["unshare", "--pid", "--fork", FILE],
            lambda pid: int(open(f"/proc/{pid}/task/{pid}/children").read().split()[0]), False)
else:
    print("skip: no PID namespaces")
for line in bad:
    print(line)
sys.exit(bool(bad))
