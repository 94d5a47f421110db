# SPDX-License-Identifier: MIT
"""What the sessions of a user may take together, and that a user cannot get more by several, by stopping or by ending them."""
import os, re, signal, threading, time
from world import *

enter()
give = levels


def levels(text, quotas="default: cpu=100%\n"):
    """Where a test is not about the CPU time, what else runs on the machine must not end its sessions."""
    give(text, quotas=quotas)


FOREVER = ["-qn", "tick-1s { n++; }"]
running = []


def line(file):
    """The next line, if it comes within SECONDS; "" otherwise."""
    got = []
    reader = threading.Thread(target=lambda: got.append(file.readline()), daemon=True)
    reader.start()
    reader.join(SECONDS)
    return "".join(got)


def session(uid, *args, ready=True, **kwargs):
    """A session that is left alone; it has said that it traces, if it does."""
    p = subprocess.Popen([DTRACE, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV, **user(uid), **kwargs)
    running.append(p)
    if ready:
        seen = line(p.stdout)
        check("traced" in seen, f"a session {args} traces", seen or p.communicate(timeout=SECONDS))
    return p


def end(p):
    p.kill()
    p.communicate(timeout=SECONDS)


STAYS = ["-x", "switchrate=10hz", "-qn", 'BEGIN { printf("traced\\n"); } tick-1s { n++; }']


def refused(what, r, *said):
    check(r.returncode == 1 and all(s in r.stderr for s in said), f"{what} is refused with {said}", r)
    check(len(r.stderr.strip().split("\n")) <= 3, f"{what}: one message, and a hint", r.stderr)


def told():
    levels(f"default: sessions=3 cpu=2.5%\nuser {ALICE}: dtrace_user memory=64m\ngroup {STAFF}: dtrace_proc probes=77 memory=1g\n")
    r = dtrace(ALICE, "-V", "-v", groups=[STAFF])
    check("your sessions share: sessions=3 (line 1), memory=64m (line 2), probes=77 (line 3), cpu=2.50% (line 1)" in r.stdout, "-V -v tells the quotas", r)
    levels(f"user {ALICE}: dtrace_user\n", quotas="")
    r = dtrace(ALICE, "-V", "-v")
    check(re.search(r"your sessions share: sessions=4, memory=\d+m, probes=10000, cpu=5%\n", r.stdout), "-V -v tells the defaults", r)


def sessions():
    levels(f"default: sessions=2\nuser {ALICE}: dtrace_user\nuser {BOB}: dtrace_user\n")
    two = [session(ALICE, *STAYS), session(ALICE, *STAYS)]
    third = f"user {ALICE} has 2 sessions already, and the quota is sessions=2 ({LEVELS}:1)"
    refused("a third session", dtrace(ALICE, *FOREVER), third)
    end(session(BOB, *STAYS))  # another user's are others
    # what does not trace is no session
    check(dtrace(ALICE, "-ln", "BEGIN").returncode == 0, "a list beside two sessions")
    two[0].send_signal(signal.SIGSTOP)
    refused("a third session beside a stopped one", dtrace(ALICE, *FOREVER), third)
    end(two[0])
    end(session(ALICE, *STAYS))
    end(two[1])
    # a session inside of another one is one more
    inner = f"exec {DTRACE} -qn \\047BEGIN {{ printf(\\042inner\\\\n\\042); }} tick-1s {{ n++; }}\\047 -x switchrate=10hz"
    nested = session(ALICE, "-w", *STAYS[:3], f'BEGIN {{ printf("traced\\n"); }} tick-500ms /!n++/ {{ system("{inner}"); }}', start_new_session=True)
    check("inner" in line(nested.stdout), "a session in another one traces")
    refused("a third session beside one in another", dtrace(ALICE, *FOREVER), third)
    os.killpg(nested.pid, signal.SIGKILL)
    end(nested)


def helper_processes():
    """The keeper of uprobes belongs to its session; one that is kept from ending is one more."""
    levels(f"user {ALICE}: dtrace_user dtrace_proc sessions=1\n")
    keeps = ["-x", "switchrate=10hz", "-qn", 'BEGIN { printf("traced\\n"); } pid$target:libc:*nanosleep:entry { n++; }', "-c", "sleep 1000"]
    one = session(ALICE, *keeps, start_new_session=True)
    refused("a second session beside a keeper", dtrace(ALICE, *FOREVER), "has 1 session already", f"process {one.pid}")
    end(one)
    one = session(ALICE, *keeps)
    children = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                text = f.read()
            if text.rsplit(")", 1)[1].split()[1] == str(one.pid):
                children[text.split("(", 1)[1].rsplit(")", 1)[0]] = int(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass
    check("uprobe-keeper" in children, "the session has a keeper", children)
    os.kill(children["uprobe-keeper"], signal.SIGSTOP)
    end(one)
    refused("a session beside a keeper that is stopped", dtrace(ALICE, *FOREVER), "has 1 session already", f"process {children['uprobe-keeper']}")
    for pid in children.values():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:  # it has ended with its parent
            pass
    end(session(ALICE, *STAYS))


def names():
    """What a session says of itself cannot be changed by its user, nor imitated."""
    levels(f"user {ALICE}: dtrace_user probes=100\n")
    few = ["-x", "switchrate=10hz", "-qn", 'BEGIN { printf("traced\\n"); } syscall::se*:entry { n++; }']
    one = session(ALICE, *few)
    code = f"""for f in /proc/{one.pid}/task/*/comm; do (printf q0m0p >$f) 2>/dev/null && echo changed $f; done
        printf q0m99p >/proc/$$/comm; cat /proc/$$/comm; sleep 100 >/dev/null"""
    p = subprocess.Popen(["sh", "-c", code], stdout=subprocess.PIPE, text=True, **user(ALICE))
    running.append(p)
    said = line(p.stdout)
    check(said == "q0m99p\n", "a user cannot rename the thread of a session", said)
    refused("too many probes, with a false name", dtrace(ALICE, "-qn", "syscall::se*:entry { n++; }"), "1 other session of user")
    end(one)
    end(session(ALICE, *few))  # the imitation takes nothing
    end(p)
    # execve() names a process as the symbolic link that it was told to execute
    link = f"{home(ALICE)}/q0m0p"
    os.symlink(DTRACE, link)
    one = subprocess.Popen([link, *few], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV, **user(ALICE))
    running.append(one)
    check("traced" in line(one.stdout), "a session by a link traces")
    refused("too many probes beside a session with the name of a quota", dtrace(ALICE, "-qn", "syscall::se*:entry { n++; }"), "the quota is probes=100", "1 other session of user")
    end(one)


def at_once():
    """Of many that begin at the same time, as many as may trace do."""
    levels(f"user {ALICE}: dtrace_user sessions=3\n")
    many = [session(ALICE, *STAYS, ready=False) for _ in range(8)]
    traces = {}  # one that is refused says nothing, and ends
    readers = [threading.Thread(target=lambda p=p: traces.update({p: "traced" in p.stdout.readline()}), daemon=True) for p in many]
    for r in readers:
        r.start()
    for p, r in zip(many, readers):
        r.join(SECONDS)
        if not traces.get(p):
            p.wait(timeout=SECONDS)
    alive = [p for p in many if p.poll() is None]
    check(len(alive) == 3, "3 of 8 sessions trace", [len(alive)] + [p.communicate()[1] for p in many if p not in alive])
    for p in many:
        end(p)


def memory():
    levels(f"user {ALICE}: dtrace_user memory=48m\n")
    big = ["-x", "bufresize=manual", "-b", "16m", *STAYS]
    refused("more memory than the quota", dtrace(ALICE, "-x", "bufresize=manual", "-b", "64m", *FOREVER), "the quota is memory=48m", LEVELS + ":1")
    # by itself the session has smaller buffers, and says so
    r = dtrace(ALICE, "-b", "64m", "-qn", "BEGIN { exit(0); }")
    check(r.returncode == 0 and "buffer size" in r.stderr, "buffers are made to fit", r)
    r = dtrace(ALICE, *big[:4], "-x", "aggsize=100m", "-qn", "syscall:::entry { @[probefunc, arg0] = count(); }")
    check(r.returncode == 1, "aggregations beyond the quota", r)
    # breakpoints need the fence's map after the buffers were made
    for most in 8, 12, 20:
        levels(f"user {ALICE}: dtrace_user dtrace_proc memory={most}m\n")
        r = dtrace(ALICE, "-b", "64m", "-qn", 'pid$target:libc.so.6:write:entry { n++; } END { printf("%s", n > 0 ? "some" : "none"); }', "-c", "/bin/cat /etc/hostname")
        check(r.returncode == 0 and "some" in r.stdout and "buffer size lowered" in r.stderr, f"breakpoints with {most} MiB", r)


def memory_is_shared():
    levels(f"user {ALICE}: dtrace_user memory=100m\n")
    one = session(ALICE, "-x", "bufresize=manual", "-b", "24m", *STAYS)
    refused("a second session with too much", dtrace(ALICE, "-x", "bufresize=manual", "-b", "24m", *FOREVER), "the quota is memory=100m", "1 other session of user")
    end(one)
    end(session(ALICE, "-x", "bufresize=manual", "-b", "24m", *STAYS))


def probes():
    levels(f"user {ALICE}: dtrace_user probes=100\n")
    refused("too many probes", dtrace(ALICE, "-qn", "syscall:::entry { n++; }"), "the quota is probes=100", LEVELS + ":1")
    few = ["-x", "switchrate=10hz", "-qn", 'BEGIN { printf("traced\\n"); } syscall::se*:entry { n++; }']
    one = session(ALICE, *few)
    refused("too many probes together", dtrace(ALICE, "-qn", "syscall::se*:entry { n++; }"), "the quota is probes=100", "1 other session of user")
    end(one)
    end(session(ALICE, *few))


LOADS = """
import _ctypes, os, sys
for name in sys.argv[2:]:
    _ctypes.dlclose(_ctypes.dlopen(name, 1))
    with open(sys.argv[1], "a") as f:
        f.write("1")
import time
time.sleep(1000)
"""


def said_by(p):
    """What the thread of a session says: MiB and probes."""
    try:
        for tid in os.listdir(f"/proc/{p.pid}/task"):
            with open(f"/proc/{p.pid}/task/{tid}/comm") as f:
                m = re.fullmatch(r"q(\d+)m(\d+)p\n", f.read())
            if m:
                return int(m.group(1)), int(m.group(2))
    except FileNotFoundError:
        pass
    return None


def loading(count, original, functions):
    """A session whose process opens and closes so many libraries, which have probes for a while; what it has at the end."""
    folder = f"{home(ALICE)}/libs"
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    for i in range(count):
        shutil.copy(original, f"{folder}/late{i}.so")
    with open(f"{folder}/loads.py", "w") as f:
        f.write(LOADS)
    done, names = f"{folder}/done", [f"{folder}/late{i}.so" for i in range(count)]
    os.chown(folder, ALICE, ALICE)
    script = f'BEGIN {{ printf("traced\\n"); }} pid$target:libc.so.6:mem*:entry, pid$target:late*:{functions}:entry {{ n++; }}'
    p = session(ALICE, "-x", "switchrate=10hz", "-Zqn", script, "-c", " ".join(["/usr/bin/python3", f"{folder}/loads.py", done, *names]))
    until, seen = time.time() + SECONDS, []
    while p.poll() is None and (not seen or seen[-1][0] < count) and time.time() < until:
        time.sleep(0.1)
        seen.append((os.path.getsize(done) if os.path.exists(done) else 0, said_by(p)))
        if len(seen) > 1 and seen[-1] != seen[-2]:  # on a busy machine each library may take a second
            until = time.time() + SECONDS
    time.sleep(1)
    last = said_by(p)
    p.terminate()
    return seen, last, p.communicate(timeout=SECONDS)[1]


def late():
    """What a session gives back is what it has taken: not the probes of libraries for which the quota had no room."""
    original = [f"{folder}/libthread_db.so.1" for folder in ("/lib64", "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu") if os.path.exists(f"{folder}/libthread_db.so.1")]
    if not original:
        return
    levels(f"user {ALICE}: dtrace_user dtrace_proc probes=45\n")
    seen, last, said = loading(100, original[0], "td_*")
    check(seen[-1][0] == 100 and "the quota is probes=45" in said, "no library has probes", (seen[-3:], said))
    # a library wants at most what the quota is, beside some probes of the C library; those stay
    taken = {has[1] for n, has in seen if has and (n == 0 or n > 70)}
    check(last and last[1] in range(1, 45) and min(taken) == last[1], "the session still has its probes of the C library", (last, seen))


def late_memory():
    """The tables of libraries that are gone take no memory of the quota."""
    original = [f"{folder}/libm.so.6" for folder in ("/lib64", "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu") if os.path.exists(f"{folder}/libm.so.6")]
    if not original:
        return
    levels(f"user {ALICE}: dtrace_user dtrace_proc probes=200000 memory=31m\n")
    seen, last, said = loading(140, original[0], "*")
    # so many libraries keep their probes at most; afterwards one goes for each that comes
    before = max((has[0] for n, has in seen if has and n <= 70), default=0)
    check(seen[-1][0] == 140 and last and last[1] > 1000, "140 libraries have probes", (last, seen, said))
    check(last and last[0] <= before + 1, "memory of libraries that are gone", (before, last, seen, said))


def taking(what, args, quota):
    """
    A session that takes more from others than the quota allows ends, and says why. One that gets no CPU meanwhile is ended by the kernel, and its
    witness says why (overdrawn()): on a busy machine it is tried again.
    """
    for _ in range(10):
        r = dtrace(ALICE, *args)
        if r.returncode != -signal.SIGKILL:
            break
        check("the kernel has ended this session: its probes took more" in r.stderr, f"{what}: why the kernel has ended it", r)
    refused(what, r, "of a CPU from others", *quota)


def cpu():
    """Others who call the system all the time lose more by a session than the quota allows: it ends."""
    levels(f"user {ALICE}: dtrace_user cpu=0.5%\n")
    load = subprocess.Popen([f"{HOME}/calls", "getppid", "2000000000"], **user(BOB))
    try:
        taking("a session that slows others", ["-qn", "syscall:::entry { @[probefunc] = count(); }"], ["cpu=0.50%", LEVELS + ":1"])
        # the same while its output is not read, which is when dtrace itself waits
        p = session(ALICE, "-qn", 'BEGIN { printf("traced\\n"); } syscall:::entry { printf("%1000d\\n", arg0); }', "-x", "switchrate=10hz")
        check(p.wait(timeout=SECONDS) != 0, "a session whose output is not read ends, too")
        end(p)
        # clauses of timers are in the time of others
        levels(f"user {ALICE}: dtrace_user cpu=0.5%\n")
        clause = "".join(f"@a{i} = quantize(timestamp); " for i in range(60))
        taking("a timer that takes too much", ["-qn", f"tick-5000 {{ {clause} }}"], ["cpu=0.50%"])
        levels(f"user {ALICE}: dtrace_user\n", quotas="")
        # and a session that takes little goes on beside them
        p = session(ALICE, *STAYS)
        time.sleep(4)
        check(p.poll() is None, "a session that takes little goes on")
        end(p)
    finally:
        load.kill()
        load.wait()


def stopped():
    """Whoever stops dtrace does not keep its probes."""
    levels(f"user {ALICE}: dtrace_user\n")
    p = session(ALICE, *STAYS)
    p.send_signal(signal.SIGSTOP)
    out, err = p.communicate(timeout=SECONDS)
    check(p.returncode == -signal.SIGKILL, "a session that is stopped ends", p.returncode)
    check(re.fullmatch(r"dtrace: the kernel has ended this session: it was stopped, .* for 15 s, .*\nhint: .*\n", err), "a session that is stopped says why it has ended", err)
    # whoever kills a session himself knows why it has ended
    p = session(ALICE, *STAYS)
    p.kill()
    out, err = p.communicate(timeout=SECONDS)
    check(err == "", "a session that was killed says nothing", err)


def missed():
    """System calls of others that no probe means are counted, one's own are not."""
    for program in "syscall::swapon:entry { n++; }", "syscall::swapon:entry, syscall::swapoff:return { n++; }", "syscall::swapon:entry, syscall::swapoff:entry { n++; }":
        levels(f"user {ALICE}: dtrace_user cpu=35%\n")  # what else runs here may call the system, too
        load = [subprocess.Popen([f"{HOME}/calls", "getppid", "2000000000"], **user(ALICE)) for _ in range(os.cpu_count())]
        try:
            p = session(ALICE, "-x", "switchrate=10hz", "-qn", 'BEGIN { printf("traced\\n"); } ' + program)
            time.sleep(3)
            check(p.poll() is None, f"{program}: calls of the user's own are the user's", p.poll() is not None and p.communicate()[1])
            end(p)
        finally:
            for q in load:
                q.kill()
                q.wait()
        for call in "getppid", "none":  # the latter has a number that there is not
            missed_calls(program, call)


def cpu_part(processes, begin):
    """Which part of all CPUs the processes have had since then, when they began."""
    ticks = 0
    for p in processes:
        with open(f"/proc/{p.pid}/stat") as f:
            ticks += sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK") / (time.monotonic() - begin) / os.cpu_count()


MOST = 0.5  # of the CPUs: who has more is not kept from calling the system by others


def missed_calls(program, call):
    """Others who have the CPUs lose more than 3 % by a session; where they get little of them, their calls are few, and 0.5 % is what is tried."""
    begin = time.monotonic()
    load = [subprocess.Popen([f"{HOME}/calls", call, "2000000000"], **user(BOB)) for _ in range(os.cpu_count())]
    try:
        time.sleep(1)
        for most in ["3", "0.5"] if cpu_part(load, begin) > MOST else ["0.5"]:
            levels(f"user {ALICE}: dtrace_user cpu={most}%\n")
            try:
                taking(f"{program}, which others' calls of {call} lead to", ["-qn", program], [f"cpu={most}{'' if most == '3' else '0'}%"])
                break
            except subprocess.TimeoutExpired:
                part = cpu_part(load, begin)
                check(most == "3" and part <= MOST, f"{program}: others' calls of {call}, with {part:.2f} of the CPUs, end a session with {most} %")
                if part > MOST:
                    break
    finally:
        for q in load:
            q.kill()
            q.wait()


def followed():
    """A session that follows children has a program run at each system call of everybody, which counts."""
    watch = ["-x", "follow=fork", "-x", "switchrate=10hz", "-qn", 'BEGIN { printf("traced\\n"); } pid$target:libc.so.6:getppid:entry { n++; }', "-c", "/bin/sleep 1000"]
    levels(f"user {ALICE}: dtrace_user dtrace_proc cpu=35%\n")  # what else runs here calls the system, too
    load = [subprocess.Popen([f"{HOME}/calls", "getppid", "2000000000"], **user(ALICE)) for _ in range(os.cpu_count())]
    try:
        p = session(ALICE, *watch)
        time.sleep(3)
        check(p.poll() is None, "a session that follows children, beside calls of the user's own", p.poll() is not None and p.communicate()[1])
        end(p)
    finally:
        for q in load:
            q.kill()
            q.wait()
    levels(f"user {ALICE}: dtrace_user dtrace_proc cpu=0.5%\n")
    load = [subprocess.Popen([f"{HOME}/calls", "getppid", "2000000000"], **user(BOB)) for _ in range(os.cpu_count())]
    try:
        taking("a session that follows children, and slows others", watch, ["cpu=0.50%"])
    finally:
        for q in load:
            q.kill()
            q.wait()


def children():
    """Probes in children count as well."""
    levels(f"user {ALICE}: dtrace_user dtrace_proc probes=12\n")
    script = """import os, time
for _ in range(3):
    if os.fork() == 0:
        time.sleep(1000)
open("forked", "w").close()
time.sleep(1000)
"""
    with open(f"{home(ALICE)}/forks.py", "w") as f:
        f.write(script)
    functions = 'BEGIN { printf("traced\\n"); } pid$target:libc.so.6:getp*id:entry { n++; }'
    p = session(ALICE, "-x", "follow=fork", "-x", "switchrate=10hz", "-qn", functions, "-c", f"/usr/bin/python3 {home(ALICE)}/forks.py", start_new_session=True)
    until, seen = time.time() + SECONDS, []
    while time.time() < until and "its functions are not probed" not in "".join(seen):
        seen.append(line(p.stderr))
    check("the quota is probes=12" in seen[-1], "children for which there are no probes left", seen)
    one = len(dtrace(ALICE, "-qln", "pid$target:libc.so.6:getp*id:entry", "-c", "/bin/true").stdout.strip().split("\n")) - 1
    has = said_by(p)
    check(has and has[1] in (2 * one, 2 * one + 1), "the process and one child have probes, which count", (has, one, seen))
    os.killpg(p.pid, signal.SIGTERM)
    end(p)


def overdrawn():
    """The kernel ends what takes from others while its process is stopped; another one is there for long."""
    levels(f"user {ALICE}: dtrace_user cpu=1%\n")
    load = [subprocess.Popen([f"{HOME}/calls", "getppid", "2000000000"], **user(BOB)) for _ in range(os.cpu_count())]
    try:
        idle = session(ALICE, *STAYS)
        # BEGIN's record has been read: the budget was large enough to attach the others
        p = session(ALICE, "-x", "switchrate=100hz", "-qn", 'BEGIN { printf("traced\\n"); } syscall:::entry, syscall:::return { n++; }')
        idle.send_signal(signal.SIGSTOP)
        p.send_signal(signal.SIGSTOP)
        out, err = p.communicate(timeout=SECONDS)
        r = p.returncode
        check(r == -signal.SIGKILL or r == 1, "what takes from others while it is stopped ends", r)
        why = rf"dtrace: the kernel has ended this session: its probes took more .* the quota of user {ALICE}.*, cpu=1% \({LEVELS}:1\), has left\nhint: trace less .*\n"
        check(r == 1 or re.fullmatch(why, err), "what takes from others says why it has ended", err)
        check(idle.poll() is None, "and did not have to wait until stopped sessions end")
        end(idle)
    finally:
        for q in load:
            q.kill()
            q.wait()


def status_of(pid):
    """The lines of a process's status; none if it has ended."""
    try:
        with open(f"/proc/{pid}/status") as f:
            return dict(l.rstrip("\n").split(":\t", 1) for l in f if ":\t" in l)
    except (FileNotFoundError, ProcessLookupError):
        return {}


def held_by(pid):
    """What a process has of its session's probes: descriptors of the kernel's objects."""
    kinds = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            kinds.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            pass
    return [k for k in kinds if "bpf" in k or "perf_event" in k]


def uncounted():
    """
    A process without capabilities is no session that counts, and its user can stop it at any instruction and kill the session: from the moment on
    in which it has none, a witness holds nothing.
    """
    levels(f"user {ALICE}: dtrace_user\n")
    p = subprocess.Popen(["sh", "-c", 'read x; exec "$0" "$@"', DTRACE, *STAYS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV, **user(ALICE))
    watch = 'BEGIN { printf("up\\n"); } syscall::capset:return /ppid == $1 && pid != $1/ { printf("%d\\n", pid); stop(); }'
    watcher = subprocess.Popen([DTRACE, "-w", "-x", "switchrate=10hz", "-qn", watch, str(p.pid)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV)
    running.extend([p, watcher])
    said = line(watcher.stdout)
    check(said == "up\n", "root sees processes of the session", said or watcher.communicate(timeout=SECONDS))
    p.stdin.write("\n")
    p.stdin.flush()
    name = None
    while name != "quota-witness":
        said = line(watcher.stdout).strip()
        if not said.isdigit():
            check(False, "a session has a witness", said)
            break
        pid, until = int(said), time.monotonic() + SECONDS
        while status_of(pid).get("State", "T")[0] not in "TZ" and time.monotonic() < until:
            time.sleep(0.01)
        status = status_of(pid)
        if status and int(status["CapPrm"], 16) == 0:
            check(not held_by(pid), f"a process without capabilities ({status['Name']}) holds nothing of its session", held_by(pid))
        if status:
            os.kill(pid, signal.SIGCONT)
        while (name := status_of(pid).get("Name")) == "dtrace" and time.monotonic() < until:
            time.sleep(0.01)
    check("traced" in line(p.stdout), "the session traces")
    end(watcher)
    end(p)


def one_after_the_other():
    """A session begins when it has been there for as long as the quota needs to grow: with 0.1 %, for half a minute."""
    levels(f"user {ALICE}: dtrace_user cpu=0.1%\n")
    p = session(ALICE, "-n", 'BEGIN { printf("traced\\n"); } tick-1s { n++; }', ready=False)
    seen = line(p.stderr) + line(p.stderr)
    check(re.search(r"tracing begins in [12]\d s: .* share cpu=0\.10%", seen), "a session waits, and says so", seen)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=SECONDS)
    check(p.returncode == 0, "a signal ends that", (p.returncode, out, err))


def hidden():
    levels(f"user {ALICE}: dtrace_user\n")
    mount("-t", "proc", "-o", "hidepid=2", "proc", "/proc")
    try:
        refused("a session that cannot see the others", dtrace(ALICE, *FOREVER), "cannot be seen in /proc", "hidepid")
    finally:
        subprocess.run(["umount", "/proc"], check=True)


try:
    for test in sys.argv[1:] or ["told", "sessions", "helper_processes", "names", "at_once", "memory", "memory_is_shared", "probes", "late", "late_memory", "children", "cpu", "missed", "followed", "overdrawn", "uncounted", "one_after_the_other", "stopped", "hidden"]:
        globals()[test]()
finally:
    for p in running:
        if p.poll() is None:
            p.kill()
done()
