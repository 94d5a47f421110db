# SPDX-License-Identifier: MIT
"""
alice's processes execute programs of bob, change their ids, and end and leave their process ids to bob, at random moments of a session, while
she stops dtrace and its helpers; and she tries to get into the command from its execve() to its end. No breakpoint comes into a process of bob,
nothing of his is recorded or counted, and no process of his is ended.
"""
import glob, random, re, signal, time
from world import *

enter()
if not shutil.which("cc"):
    skip("there is no cc")
SESSION = f"user {ALICE}: dtrace_user, dtrace_proc sessions=50\n"
levels(SESSION)
OPEN = f"{TMP}/open"
os.makedirs(OPEN)
os.chmod(OPEN, 0o777)
# The C library's getppid(), as its file has it, is compared with what the process has. bob's programs report a breakpoint.
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static char **args;
static int code_is_clean(void)
{
	static unsigned char want[16];
	static void *code;
	struct link_map *map;
	Dl_info info;
	if (!code) {
		int fd;
		code = dlsym(RTLD_DEFAULT, "getppid");
		if (!dladdr1(code, &info, (void **)&map, RTLD_DL_LINKMAP) || (fd = open(info.dli_fname, O_RDONLY)) < 0 ||
		    pread(fd, want, sizeof(want), (char *)code - (char *)info.dli_fbase) != sizeof(want))
			exit(3);
		close(fd);
	}
	return memcmp(code, want, sizeof(want)) == 0;
}
/* bob's program: is there a breakpoint? It makes a file, as bob, and one that says that it has run. */
static int bobs(const char *folder, int ms)
{
	char path[300];
	int dirty = 0;
	for (int i = 0; i < ms; i++) {
		dirty |= !code_is_clean();
		getppid();
		getpgid(0);
		usleep(1000);
	}
	snprintf(path, sizeof(path), "%s/%s.%d", folder, dirty ? "dirty" : "clean", (int)getpid());
	close(open(path, O_CREAT | O_WRONLY, 0666));
	return dirty;
}
static void *thread(void *unused) { execv(args[3], args + 3); _exit(4); return unused; }
static void work(int ms) { for (int i = 0; i < ms * 2; i++) { getppid(); getsid(0); usleep(500); } }
int main(int argc, char **argv)
{
	const char *how = argv[1];
	pthread_t t;
	args = argv;
	if (!strcmp(how, "bobs"))
		return bobs(argv[2], atoi(argv[3]));
	if (!strcmp(how, "dirty")) { /* whether code_is_clean() finds a breakpoint of a session: a check of the check */
		for (int i = 0; i < 20000 && code_is_clean(); i++) { getppid(); usleep(1000); }
		puts(code_is_clean() ? "clean" : "dirty");
		return 0;
	}
	if (!strcmp(how, "reused")) { /* executes another program of bob's after a moment */
		for (int i = 0; i < atoi(argv[2]); i++) { if (!code_is_clean()) return 7; getppid(); getpgid(0); usleep(1000); }
		execv("/proc/self/exe", (char *[]){"bobs", "bobs", argv[3], "20", NULL});
		return 5;
	}
	work(atoi(argv[2]));
	if (!strcmp(how, "exec"))
		execv(argv[3], argv + 3);
	else if (!strcmp(how, "thread")) {
		pthread_create(&t, NULL, thread, NULL);
		for (;;) pause();
	} else if (!strcmp(how, "vfork")) {
		if (vfork() == 0) { execv(argv[3], argv + 3); _exit(4); }
		work(50);
		wait(NULL);
	} else if (!strcmp(how, "dumpable")) {
		for (int i = 0; i < 200; i++) {
			prctl(PR_SET_DUMPABLE, 0); getpgid(0); usleep(300); getpgid(0);
			prctl(PR_SET_DUMPABLE, 1); getsid(0); usleep(300);
		}
	} else if (!strcmp(how, "namespace")) {
		if (unshare(CLONE_NEWUSER)) return 6;
		for (int i = 0; i < 200; i++) { getpgid(0); usleep(500); }
	} else if (!strcmp(how, "ids")) { /* root's, given to the two ids */
		unsigned a = atoi(argv[3]), b = atoi(argv[4]);
		if (setresgid(a, a, a) || setresuid(a, a, b)) return 6;
		prctl(PR_SET_DUMPABLE, 1);
		for (int i = 0; i < 300; i++) {
			setresuid(-1, b, -1); prctl(PR_SET_DUMPABLE, 1); getpgid(0); usleep(300);
			setresuid(-1, a, -1); prctl(PR_SET_DUMPABLE, 1); getpgid(0); usleep(300);
		}
	}
	return 0;
}
"""
with open(f"{TMP}/racer.c", "w") as f:
    f.write(SOURCE)
if subprocess.run(["cc", "-O1", "-pthread", "-o", f"{HOME}/racer", f"{TMP}/racer.c", "-ldl"]).returncode:
    skip("cc cannot make the program")
BOBS = f"{HOME}/bobs"
shutil.copy(f"{HOME}/racer", BOBS)
os.chown(BOBS, BOB, 0)
os.chmod(BOBS, 0o4755)
random.seed(int(os.environ.get("FATHOM_TEST_SEED", time.time_ns())))
# getpgid() is called by processes that are none of alice's, or not at that moment
TEXT = 'pid$target:libc.so.6:getppid:entry { @[execname] = count(); } syscall::getpgid:entry { @[strjoin("getpgid ", execname)] = count(); } syscall::getsid:entry { @["getsid"] = count(); }'
EVENTS = TEXT[TEXT.index("syscall"):]


def is_told_of(said):
    """Whether a line of the aggregation is about a process of bob, or one that is none of alice's."""
    return re.search(r"^ +(bobs|getpgid).* [0-9]+$", said, re.M) is not None


def sleep_some(ms):
    time.sleep(random.random() * ms / 1000)


def found():
    return {kind: len(glob.glob(f"{OPEN}/{kind}.*")) for kind in ("dirty", "clean")}


def helpers(p):
    try:
        return [int(pid) for task in os.listdir(f"/proc/{p.pid}/task") for pid in open(f"/proc/{p.pid}/task/{task}/children").read().split()]
    except OSError:
        return []


def start(uid, *args, **kwargs):
    return subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENV, **user(uid), **kwargs)


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def stop_some(p, victim, whom):
    """Stops dtrace, or a helper process of it, at a random moment for a while."""
    sleep_some(500)
    pids = [p.pid] if whom == "dtrace" else [pid for pid in helpers(p) if pid != victim] if whom == "helpers" else []
    for pid in pids:
        send(pid, signal.SIGSTOP)
    sleep_some(300)
    for pid in pids:
        send(pid, signal.SIGCONT)


def end(p):
    p.send_signal(signal.SIGINT)
    try:
        return p.communicate(timeout=SECONDS)[0]
    except subprocess.TimeoutExpired:
        p.kill()
        return p.communicate()[0] + "it does not end"


def check_is_able():
    """What finds breakpoints finds those that a session makes in alice's own process."""
    p = start(ALICE, DTRACE, "-qn", "pid$target:libc.so.6:getppid:entry { n++; }", "-c", f"{HOME}/racer dirty")
    said = p.communicate(timeout=SECONDS)[0]
    check("dirty" in said, "a breakpoint of alice's own is found", said)


def executes(how, more, whom):
    """A process of alice executes bob's program at a random moment of a session that has probes in the C library."""
    v = start(ALICE, f"{HOME}/racer", how, str(random.randrange(50, 900)), BOBS, "bobs", OPEN, "60")
    p = start(ALICE, DTRACE, "-q", *more, "-n", TEXT, "-p", str(v.pid))
    stop_some(p, v.pid, whom)
    v.wait(SECONDS)
    said = end(p)
    v.stdout.close()
    check(not is_told_of(said), f"{how} {more} {whom}: bob's program is recorded", said)


def exec_races(until):
    n = 0
    while time.time() < until:
        for how, more in ("exec", []), ("thread", []), ("vfork", []), ("vfork", ["-x", "follow=fork"]):
            executes(how, more, random.choice(("nobody", "dtrace", "helpers", "helpers")))
            n += 1
    check(found()["dirty"] == 0, f"{n} times: a breakpoint of alice's in a process of bob", found())
    check(found()["clean"] > 0, f"{n} times: bob's program has run", found())
    print(f"{n} programs of bob's executed: {found()}")


def ids():
    """Processes whose ids, memory or namespace stop being alice's in the middle of a session."""
    for how in "dumpable", "namespace", "ids":
        p = start(ALICE, DTRACE, "-qn", 'BEGIN { printf("on\n"); } '.replace("\n", "\\n") + EVENTS)
        check(p.stdout.readline() == "on\n", f"{how}: a session")
        if how == "ids":
            v = subprocess.Popen([f"{HOME}/racer", how, "0", str(ALICE), str(BOB)], stdin=subprocess.DEVNULL, env=ENV, extra_groups=[])
            r = dtrace(ALICE, "-qn", TEXT, "-p", str(v.pid))
            check(r.returncode == 1 and not is_told_of(r.stdout), "-p of a process with two users", r)
        else:
            v = subprocess.Popen([f"{HOME}/racer", how, "50"], stdin=subprocess.DEVNULL, env=ENV, **user(ALICE))
        status = v.wait(SECONDS)
        said = end(p)
        if status == 6 and how == "namespace":
            left_out.append(how)
            continue
        check(status == 0 and not is_told_of(said) and (how == "ids" or "getsid" in said), f"{how}: what is not alice's is counted", (status, said))


def get_pid(pid, uid, *args):
    """A process of that user with that process id; None: another process has it."""
    for _ in range(20):
        with open("/proc/sys/kernel/ns_last_pid", "w") as f:
            f.write(str(pid - 1))
        p = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=ENV, **user(uid))
        if p.pid == pid:
            return p
        p.kill()
        p.wait()
    return None


def reuse(until):
    """A process of alice that a session is about ends, and bob's gets its number."""
    n = 0
    while time.time() < until:
        v = subprocess.Popen([f"{HOME}/racer", "exec", "60000", "/bin/true"], stdin=subprocess.DEVNULL, env=ENV, **user(ALICE))
        named = random.choice(("$target", str(v.pid)))
        args = ["-p", str(v.pid)] if named == "$target" else []
        p = start(ALICE, DTRACE, "-qn", TEXT.replace("$target", named), *args)
        sleep_some(600)
        is_stopped = random.random() < 0.5
        if is_stopped:
            send(p.pid, signal.SIGSTOP)
        v.kill()
        v.wait()
        b = get_pid(v.pid, BOB, f"{HOME}/bobs0", "reused", "150", OPEN)
        if is_stopped:
            send(p.pid, signal.SIGCONT)
        if b:
            n += 1
            status = b.wait(SECONDS)
            check(status == 0, f"bob's process with the number of alice's: {status} (7: a breakpoint)", (named, is_stopped))
        said = end(p)
        check(not is_told_of(said), "bob's process with the number of alice's is recorded", said)
    check(n > 0, "a number was used again", n)
    print(f"{n} numbers used again")


TRIES = r"""
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
class Vec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
class Attr(ctypes.Structure):
    _fields_ = [("type", ctypes.c_uint32), ("size", ctypes.c_uint32), ("config", ctypes.c_uint64), ("period", ctypes.c_uint64), ("more", ctypes.c_uint64 * 12)]
buf = ctypes.create_string_buffer(8)
def tries(pid):
    for name in "mem", "environ", "auxv", "maps", "fd/0", "fd/3", "fd/5", "syscall", "stack", "pagemap", "cwd/.":
        try:
            fd = os.open(f"/proc/{pid}/{name}", os.O_RDONLY)
            if name != "maps" or os.read(fd, 1):  # everybody can open that one
                yield name
            os.close(fd)
        except OSError:
            pass
    for request in 16, 0x4206:  # PTRACE_ATTACH, PTRACE_SEIZE
        if libc.ptrace(request, pid, None, None) == 0:
            yield "ptrace"
    try:
        pidfd = os.pidfd_open(pid)
        for fd in 0, 3, 5:
            if libc.syscall(438, pidfd, fd, 0) >= 0:
                yield "pidfd_getfd"
        os.close(pidfd)
    except OSError:
        pass
    if libc.process_vm_readv(pid, ctypes.byref(Vec(ctypes.addressof(buf), 8)), 1, ctypes.byref(Vec(0x400000, 8)), 1, 0) > 0 or ctypes.get_errno() == 14:
        yield "process_vm_readv"
    attr = Attr(1, 112, 1, 0, (ctypes.c_uint64 * 12)(0, 0, 1 << 5 | 1 << 6))  # a software clock without the kernel
    fd = libc.syscall(298, ctypes.byref(attr), pid, -1, -1, 0)
    if fd >= 0:
        yield "perf_event_open"
        os.close(fd)
if sys.argv[1] == "own":
    pid = os.fork()
    if pid == 0:
        os.close(1)
        time.sleep(100)
        os._exit(0)
    print(sorted(set(tries(pid))), flush=True)
    os.kill(pid, 9)
    os._exit(0)
tried, won, moments = 0, set(), set()
for _ in range(int(sys.argv[1])):
    ends, is_open = os.pipe()  # closed by execve()
    go, lets_go = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.read(go, 1)
        os.dup2(os.open("/dev/null", os.O_RDWR), 1)
        os.execv(sys.argv[2], sys.argv[2:])
    os.close(is_open)
    folder = os.open(f"/proc/{pid}/fd", os.O_RDONLY)  # alice's process, until it executes the command
    os.write(lets_go, b"x")
    os.close(lets_go)
    os.close(go)
    os.read(ends, 1)
    os.close(ends)
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        for name in "0", "3", "5":
            try:
                os.close(os.open(name, os.O_RDONLY, dir_fd=folder))
                won.add((name, "a folder that was opened before"))
            except OSError:
                pass
        whom = [pid]
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                whom += map(int, open(f"/proc/{pid}/task/{task}/children").read().split())
        except OSError:
            pass
        for one in whom:
            try:
                status = open(f"/proc/{one}/status").read()
            except OSError:
                continue
            if one != pid and ("Name:\tracer" in status or "Name:\tsleep" in status):
                continue
            moments.add(status.split("\n")[0].split("\t")[1])
            for way in tries(one):
                won.add((status.split("\n")[0], way))
            tried += 1
    os.waitpid(pid, 0)
    os.close(folder)
print(tried > 20, sorted(moments), sorted(won))
"""


def into_the_command():
    """From its execve() to its end nobody gets into the command and its helper processes."""
    r = run(ALICE, ["/usr/bin/python3", "-c", TRIES, "own"])
    check(all(f"'{way}'" in r.stdout for way in ("mem", "maps", "ptrace", "process_vm_readv", "pidfd_getfd", "fd/0", "perf_event_open")), "the ways work on alice's own process", r)
    target = subprocess.Popen([f"{HOME}/racer", "exec", "600000", "/bin/true"], stdin=subprocess.DEVNULL, env=ENV, **user(ALICE))
    try:
        r = run(ALICE, ["/usr/bin/python3", "-c", TRIES, "3", DTRACE, "-qn", "pid$target:libc.so.6:getppid:entry { @[ustack()] = count(); } tick-300ms { exit(0); }", "-p", str(target.pid)])
    finally:
        target.kill()
        target.wait()
    check(r.stdout.startswith("True") and r.stdout.strip().endswith(" []") and "uprobe-keeper" in r.stdout, "alice gets into the command", (r.returncode, r.stdout, r.stderr))


check_is_able()
into_the_command()
ids()
exec_races(time.time() + 8)
shutil.copy(f"{HOME}/racer", f"{HOME}/bobs0")
reuse(time.time() + 6)
done()
