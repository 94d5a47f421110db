# SPDX-License-Identifier: MIT
"""A program whose threads wait in every way that pthreads have, three of them for one another, and which says who owns what: ::locks."""
import json, os, re, shutil, subprocess, sys, time

MDB, TMP = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
PATIENCE = 30  # seconds until all threads wait
SOURCE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t ring_a = PTHREAD_MUTEX_INITIALIZER, ring_b = PTHREAD_MUTEX_INITIALIZER, ring_c = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, self = PTHREAD_MUTEX_INITIALIZER, lost = PTHREAD_MUTEX_INITIALIZER, inherit, robust;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER, again = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER, rung = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER, read_twice = PTHREAD_RWLOCK_INITIALIZER;
static sem_t sem;
static pthread_barrier_t met, never;
static void *ring(void *x) { pthread_mutex_t *m[] = {&ring_a, &ring_b, &ring_c}; long i = (long)x; pthread_mutex_lock(m[i]); pthread_barrier_wait(&met); pthread_mutex_lock(m[(i + 1) % 3]); return 0; }
static void *lock(void *x) { pthread_mutex_lock(x); return 0; }
static void *lock_twice(void *x) { pthread_mutex_lock(x); pthread_mutex_lock(x); return 0; }
static void *lock_timed(void *x) { struct timespec t = {time(0) + 100000}; pthread_mutex_timedlock(x, &t); return 0; }
static void *read_it(void *x) { pthread_rwlock_rdlock(x); return 0; }
static void *write_it(void *x) { pthread_rwlock_wrlock(x); return 0; }
static void *await(void *x) { pthread_mutex_lock(&guard); pthread_cond_wait(x, &guard); return 0; }
static void *await_again(void *x) { pthread_mutex_lock(&again); pthread_barrier_wait(&met); pthread_cond_wait(x, &again); return 0; }
static void *post(void *x) { sem_wait(x); return 0; }
static void *meet(void *x) { pthread_barrier_wait(x); return 0; }
static void *join(void *x) { pthread_join((pthread_t)x, 0); return 0; }
static void *print(void *x) { flockfile(x); return 0; }
static void *release(void *x) { pthread_barrier_wait(&met); free(x); return 0; }
static void *spin(void *x) { for (;;) pause(); }
static pthread_t start(const char *name, void *(*f)(void *), void *x) { pthread_t t; pthread_create(&t, 0, f, x); pthread_setname_np(t, name); return t; }
int main(void)
{
	pthread_mutexattr_t inheriting, robusting;
	pthread_t last;
	pthread_mutexattr_init(&inheriting);
	pthread_mutexattr_setprotocol(&inheriting, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&inherit, &inheriting);
	pthread_mutexattr_init(&robusting);
	pthread_mutexattr_setrobust(&robusting, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &robusting);
	sem_init(&sem, 0, 0);
	pthread_barrier_init(&never, 0, 9);
	pthread_mutex_lock(&plain), pthread_mutex_lock(&inherit), pthread_mutex_lock(&robust);
	pthread_rwlock_wrlock(&written), pthread_rwlock_rdlock(&read_twice), pthread_rwlock_rdlock(&read_twice), flockfile(stdout);
	pthread_barrier_init(&met, 0, 3);
	for (long i = 0; i < 3; i++) last = start((const char *[]){"ring 0", "ring 1", "ring 2"}[i], ring, (void *)i);
	pthread_join(start("dies", lock, &lost), 0);
	start("plain 1", lock, &plain), start("plain 2", lock, &plain), start("timed", lock_timed, &plain);
	start("self", lock_twice, &self), start("inherit", lock, &inherit), start("robust", lock, &robust), start("lost", lock, &lost);
	start("reader", read_it, &written), start("writer", write_it, &written), start("behind readers", write_it, &read_twice);
	start("cond", await, &cond), start("sem", post, &sem), start("barrier", meet, &never), start("join", join, (void *)last);
	start("stdio", print, stdout), start("spin", spin, 0);
	pthread_barrier_t *two = &met;
	pthread_barrier_destroy(two), pthread_barrier_init(two, 0, 2);
	start("again", await_again, &rung);
	pthread_barrier_wait(two);
	pthread_mutex_lock(&again), pthread_cond_signal(&rung); /* the thread waits for the mutex of its condition, which main has */
	void **big = malloc(5000), *other = malloc(6000);
	malloc(16);
	free(big);
	int *arena = (int *)((char *)big[0] - 96);
	start("malloc", release, other);
	*arena = 2; /* the first free chunk points to main_arena.top; the first word of the arena is its lock */
	pthread_barrier_wait(&met);
	write(1, "ready\n", 6);
	pause();
}
"""
# thread: kind, lock, owner
WAITS = {
    "ring 0": ("mutex", "ring_b", "ring 1"), "ring 1": ("mutex", "ring_c", "ring 2"), "ring 2": ("mutex", "ring_a", "ring 0"),
    "plain 1": ("mutex", "plain", "locked"), "plain 2": ("mutex", "plain", "locked"), "timed": ("mutex", "plain", "locked"),
    "self": ("mutex", "self", "self"), "inherit": ("mutex", "inherit", "locked"), "robust": ("mutex", "robust", "locked"), "lost": ("mutex", "lost", None),
    "reader": ("rwlock", "written", "locked"), "writer": ("rwlock", "written", "locked"), "behind readers": ("rwlock", "read_twice", None),
    "cond": ("condition", "cond", None), "sem": ("semaphore", "sem", None), "barrier": ("barrier", "never", None), "join": ("join", None, "ring 2"),
    "stdio": ("stdio", None, "locked"), "malloc": ("malloc", None, None), "again": ("mutex", "again", "locked"),
}
CALLERS = {"ring 0": "ring", "plain 1": "lock", "timed": "lock_timed", "reader": "read_it", "join": "join", "stdio": "print", "again": "await_again"}
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{shown}")


def run(*args, **environment):
    r = subprocess.run([MDB, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, env={**os.environ, **environment})
    return r.returncode, r.stdout, r.stderr


def locks_are(what, names, *target, **environment):
    """names: of threads by their ids."""
    status, out, err = run("-o", "json", "-e", "::locks", *target, **environment)
    check(status == 0, what, out + err)
    rows = json.loads(out)["rows"]
    waiting = {names[r["tid"]]: r for r in rows if "lock" in r}
    found = {name: (r["kind"], r.get("lock-name", "").split("`")[-1].split("+")[0], names.get(r.get("owner"))) for name, r in waiting.items()}
    wanted = {name: (kind, lock or found.get(name, ("", None))[1], owner) for name, (kind, lock, owner) in WAITS.items()}
    check(found == wanted, what, {k: (found.get(k), wanted.get(k)) for k in found.keys() | wanted.keys() if found.get(k) != wanted.get(k)})
    callers = {name: waiting.get(name, {}).get("caller", "").split("`")[-1].split("+")[0] for name in CALLERS}
    check(callers == CALLERS, f"{what}: callers", callers)
    check(waiting["lost"].get("lost-owner") and waiting["behind readers"].get("readers") == 2, f"{what}: owners that have ended, and readers", waiting)
    rings = [[names[tid] for tid in r["deadlock"]] for r in rows if "deadlock" in r]
    check(sorted(sorted(r) for r in rings) == [["ring 0", "ring 1", "ring 2"], ["self"]], f"{what}: deadlocks", rings)
    owners = {names[r["owner"]]: r["waiters"] for r in rows if "waiters" in r}
    check(owners == {"locked": 9, "ring 0": 1, "ring 1": 1, "ring 2": 2, "self": 1}, f"{what}: owners", owners)


os.chdir(TMP)
open("locked.c", "w").write(SOURCE)
if not shutil.which("cc") or not shutil.which("gdb") or subprocess.run(["cc", "-O0", "-g", "-w", "-pthread", "-o", "locked", "locked.c"]).returncode:
    print("cc and gdb are not installed")
    sys.exit(67)
program = subprocess.Popen(["./locked"], stdout=subprocess.PIPE, text=True)
try:
    program.stdout.readline()
    task, end = f"/proc/{program.pid}/task", time.time() + PATIENCE
    while time.time() < end:  # until each thread is in futex() or pause(), and all have their names
        calls = [open(f"{task}/{t}/syscall").read().split()[0] for t in os.listdir(task)]
        names = {int(t): open(f"{task}/{t}/comm").read().strip() for t in os.listdir(task)}
        if sorted(calls) == ["202"] * len(WAITS) + ["34"] * 2 and len(set(names.values())) == len(names):
            break
        time.sleep(0.05)
    target = ("-p", str(program.pid))
    if run(*target, "-e", "::status")[0] != 0:
        print("processes cannot be held here")
        sys.exit(67)
    locks_are("a process", names, *target)
    locks_are("again, after it was held", names, *target)
    locks_are("without symbols of libc", names, *target, DTRACE_OPT_DEBUGDIR="/nowhere")
    text = run(*target, "-e", "::locks")[1]
    ring = {name: tid for tid, name in names.items()}
    pattern = "deadlock: {0} -> {1} -> {2} -> {0}\n".format(*(ring[f"ring {i}"] for i in range(3)))
    check(pattern in text and f"deadlock: {ring['self']} -> {ring['self']}\n" in text, "deadlocks as text", text)
    check(re.search(rf"^owner: {program.pid} locked \(9 threads\), in libc\S*`pause", text, re.M), "the owner as text", text)
    stacks = run(*target, "-e", "::locks | ::stack")[1]
    check(len(re.findall(r"`(?:start_thread|__?clone3?)\+|`ring\+", stacks)) >= len(WAITS), "a pipe", stacks)
    subprocess.run(["gdb", "-nx", "-batch", *target, "-ex", "generate-core-file core"], stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    locks_are("a core file", names, "core")
finally:
    program.kill()
    program.wait()

sleeper = subprocess.Popen(["sleep", "1000"])
try:
    status, out, err = run("-p", str(sleeper.pid), "-e", "::locks")
    check(status == 0 and out == "no thread waits for a lock\n", "a program without locks", out + err)
finally:
    sleeper.kill()
    sleeper.wait()
sys.exit(1 if failed else 0)
