#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Stacks of Python, Node.js and Java with ustack helpers: what they cost, medians.

    bench/ustack.py [--build build] [--runs 3] [--only NAME] [--json bench/ustack.json]

Added to a probe: what jstack() as a key of an aggregation adds to a system call, above the same probe with count() alone. `new functions`: no stack has had any of the
functions before, as when a program starts. `new stack`: all of them have been in other stacks, but not in this order, as in a program that has been running. `repeated`: the
same stack again. `native frames`: a new stack with ustack() in place of jstack(), which is a part of the others. Beside it bpftrace with the perf map of
`node --perf-basic-prof`, which has names but no lines. Without a helper: the same stack of a C program, with and without room for names.
Without a helper, program: how long the BPF program of a probe runs for such a stack where helpers are installed (first column), and where none is (second column).
Busy: processor time that a program needs for a request in the windows of 100 ms in which profile-97 records its stacks, beside the windows between them, in which its
predicate is false (first column); and the same windows without a tracer (second column). First stack: from the first firing in a process that
is new to dtrace to the first record with frames of the language. Start: a whole dtrace command that ends at once.
Attaching: processor time for the helpers of a process that clauses name, when its mappings are read, and of each further one of the same file, as -x debug says it.
300 idle processes: until they, and whatever else runs, have their helpers, of a session that means all processes.
"""
import contextlib, os, random, re, shutil, statistics, subprocess, sys, tempfile, time

from pairs import ROOT, Bench, Loop, Tracer, added_to_loop, build_c, build_floor, median

REPEATS, KNOWN, CHAINS, ROUNDS, SECONDS = 4_000, 500, 60, 12, 60
LOADS = os.path.join(ROOT, "bench/runtimes")
CALL = {"python": "getppid", "node": "getppid", "java": "read"}


# a loop in each of the other languages: the command, its system call, what its frames have
LOOPS = {
    "Ruby": (["ruby", "-e", "def f() Process.ppid end\nloop { f; sleep 0.0002 }"], "getppid", "-e:1 .*f"),
    "PHP": (["php", "-r", "function f() { posix_getppid(); } while (1) { f(); usleep(200); }"], "getppid", r"\(f\)"),
    "Perl": (["/usr/bin/perl", "-e", "sub f { getppid } while (1) { f(); select undef, undef, undef, 0.0002 }"], "getppid", "-e:1"),
    "Lua": (["lua5.4", "-e", "local function f() os.remove('/nonexistent') end while true do f() end"], "unlink", r"\(f\)"),
    "Erlang": (["erl", "-noshell", "-eval", "F = fun F() -> file:delete(\"/nonexistent\"), F() end, F()."], "unlink", "prim_file:"),
}


class Program:
    def __init__(self, argv, cwd):
        self.p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=cwd)

    def answer(self, what):
        self.p.stdin.write(what + "\n")
        self.p.stdin.flush()
        return self.p.stdout.readline()

    def ns(self, what):
        return float(self.answer(what))

    def end(self):
        self.p.stdin.close()
        self.p.wait()


@contextlib.contextmanager
def counted():
    """Meanwhile the kernel counts how long programs run."""
    path = "/proc/sys/kernel/bpf_stats_enabled"
    with open(path) as f:
        before = f.read()
    with open(path, "w") as f:
        f.write("1")
    try:
        yield
    finally:
        with open(path, "w") as f:
            f.write(before)


PERF_EVENT, KPROBE = "7", "2"  # BPF_PROG_TYPE_*


def cpu_and_bpf(pid, kind=PERF_EVENT):
    """Seconds of processor time of a process, and nanoseconds and runs of its programs of a kind, in counted()."""
    with open(f"/proc/{pid}/stat") as f:
        stat = f.read().rsplit(")", 1)[1].split()
    ns = runs = 0
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}") as f:
                info = dict(line.split(None, 1) for line in f if line.startswith(("prog_type", "run_")))
        except OSError:
            continue
        if info.get("prog_type:", "").strip() == kind:
            ns, runs = ns + int(info.get("run_time_ns:", 0)), runs + int(info.get("run_cnt:", 0))
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK"), ns, runs


def settle(pid):
    """Waits until the tracer has read the tables of all programs that run: some tenths of a second of processor time, once a session."""
    for _ in range(10):
        before = cpu_and_bpf(pid)[0]
        time.sleep(0.5)
        if cpu_and_bpf(pid)[0] - before <= 0.01:
            return


def make_java(folder):
    """Load, and classes with 24 methods each of which calls the next."""
    for k in range(CHAINS * (ROUNDS + 2)):
        text = "".join(f"\tstatic long step{k}_{i}() throws Exception {{\n\t\treturn {f'step{k}_{i - 1}' if i else 'Load.leaf'}();\n\t}}\n" for i in range(22))
        with open(os.path.join(folder, f"Fresh{k}.java"), "w") as f:
            f.write(f"public class Fresh{k} {{\n{text}\tpublic static long go() throws Exception {{\n\t\treturn step{k}_21();\n\t}}\n}}\n")
    files = [os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".java")]
    subprocess.run(["javac", "-d", folder, os.path.join(LOADS, "Load.java")] + files, check=True)


def main():
    bench = Bench("ustack", width=58, digits=2, alone=None, match=re.search)
    dt = bench.dtrace
    with tempfile.TemporaryDirectory() as tmp:
        run = {"python": ["/usr/bin/python3.11", os.path.join(LOADS, "load.py")], "node": ["/usr/bin/node", os.path.join(LOADS, "load.js")],
               "java": ["java", "-Xshare:auto", "-cp", tmp, "Load"]}

        def started(lang, argv=None):
            if lang == "java" and not os.path.exists(os.path.join(tmp, "Load.class")):
                make_java(tmp)
            return Program(argv or run[lang], tmp)

        def row(name, unit, target, ours, theirs=None, once=False):
            bench.row(name, ours, theirs, unit, target, runs=1 if once else None)

        def added(lang, how, tracer, argv=None):
            """Microseconds that a call takes with the tracer's stack, less without."""
            p = started(lang, argv)
            work = {"repeat": f"repeat {REPEATS}", "known": f"known {KNOWN}", "first": f"first {CHAINS}"}[how]
            times = []
            for key in (False, True):
                t = Tracer(tracer(p.p.pid, key))
                for _ in range(3):
                    p.ns("repeat 1000")  # the process is met, and its code warm
                    p.ns(f"known {KNOWN}")
                    time.sleep(0.1)
                times.append(statistics.median(p.ns(work) for _ in range(3)))
                t.stop()
            p.end()
            return (times[1] - times[0]) / 1000

        def ours(lang, stack="jstack(100)"):
            return lambda pid, key: [dt, "-x", "jstackstrsize=16k", "-qn", "syscall::%s:entry /pid == %d/ { @%s = count(); } tick-50ms { printf(\"READY\\n\"); }" % (
                CALL[lang], pid, f"[{stack}]" if key else "")]

        def theirs(lang):
            return lambda pid, key: ["bpftrace", "-B", "line", "-e", "tracepoint:syscalls:sys_enter_%s /pid == %d/ { @%s = count(); } interval:ms:50 { printf(\"READY\\n\"); }" % (
                CALL[lang], pid, "[ustack(100)]" if key else "")]

        bench.heading()
        for lang, name, most in (("python", "Python, 16 language frames", 15), ("node", "Node.js, 35 mixed frames", 60), ("java", "Java, 30 frames", 40)):
            map_argv = ["/usr/bin/node", "--perf-basic-prof"] + run["node"][1:] if lang == "node" else None
            row(f"{name}: new functions", "us", "", lambda: added(lang, "first", ours(lang)))
            row(f"{name}: new stack", "us", f"<= {most}", lambda: added(lang, "known", ours(lang)))
            row(f"{name}: native frames", "us", "", lambda: added(lang, "known", ours(lang, "ustack(100)")))
            row(f"{name}: repeated", "us", f"<= {most / 3:.0f}", lambda: added(lang, "repeat", ours(lang)),
                (lambda: added(lang, "repeat", theirs(lang), map_argv)) if lang == "node" else None)

        def stacks():
            """The C program."""
            if not os.path.exists(os.path.join(tmp, "stacks")):
                build_c(tmp, "stacks", "-fno-omit-frame-pointer")
            return [os.path.join(tmp, "stacks"), "calls", "100000"]

        def plain(stack):
            """Microseconds that the stack of a C program adds to a call of its function."""
            script = f'pidPID:stacks:probed:entry {{ @[{stack}] = count(); }} tick-50ms {{ printf("READY\\n"); }}'
            return added_to_loop(stacks(), [dt, "-qn", script]) / 1000

        def installed(with_helpers):
            """A D library, with and without the folder of helpers."""
            lib = os.path.join(tmp, "dlib" if with_helpers else "dlib-without")
            if not os.path.exists(lib):
                shutil.copytree(os.path.join(ROOT, "dlib"), lib, ignore=None if with_helpers else shutil.ignore_patterns("helpers"))
            return lib

        def program_ns(stack, with_helpers):
            """Nanoseconds that the program of a probe runs, by the kernel's own count: what neighbours do to the rest of the machine is not in it."""
            script = f'pidPID:stacks:probed:entry {{ @[{stack}] = count(); }} BEGIN {{ printf("READY\\n"); }}'
            loop = Loop(stacks())
            t = Tracer([dt, "-x", f"syslibdir={installed(with_helpers)}", "-qn", script.replace("PID", str(loop.p.pid))])
            loop.ns()
            with counted():
                before = cpu_and_bpf(t.proc.pid, KPROBE)
                loop.ns()
                after = cpu_and_bpf(t.proc.pid, KPROBE)
            t.stop()
            loop.end()
            return (after[1] - before[1]) / max(1, after[2] - before[2])

        def least(stack, with_helpers):
            return min(program_ns(stack, with_helpers) for _ in range(3))

        row("C, 40 frames, without a helper: ustack()", "us", "", lambda: plain("ustack(60)"))
        row("C, 40 frames, without a helper: jstack()", "us", "", lambda: plain("jstack(60)"))
        for stack in ("ustack(60)", "jstack(60)"):
            row(f"C, without a helper: program, {stack}; none installed", "ns", "the same", lambda: least(stack, True), lambda: least(stack, False))

        def windows(p, argv):
            """
            Requests and their processor time of every second window and of those between, beside a tracer (None: without). The percentage of the speed, and where
            95 % of the percentages are that resampled pairs of neighbouring windows have. With a tracer: percent of a CPU that it uses itself, microseconds of a firing.
            """
            t = Tracer(argv) if argv else None
            time.sleep(0.5)
            if t:
                settle(t.proc.pid)
            before, began = cpu_and_bpf(t.proc.pid)[0] if t else 0, time.monotonic()
            found = {}
            for each in p.answer(f"busy {10 * SECONDS}").split():
                window, requests, ns = map(int, each.split(":"))
                if requests:
                    found[window] = ns / requests
            more = []
            if t:
                more.append(100 * (cpu_and_bpf(t.proc.pid)[0] - before) / (time.monotonic() - began))
                with counted():  # counting itself costs something, so it has a time of its own
                    before = cpu_and_bpf(t.proc.pid)
                    p.answer("busy 40")
                    after = cpu_and_bpf(t.proc.pid)
                more.append((after[1] - before[1]) / max(1, after[2] - before[2]) / 1000)
                t.stop()
            pairs = [(found[w], found[w + 1]) for w in found if w % 2 == 0 and w + 1 in found]
            # what a neighbour of the machine did to one of the two is no property of the tracer: a tenth at each end is left out
            pairs.sort(key=lambda pair: pair[0] / pair[1])
            pairs = pairs[len(pairs) // 10:len(pairs) - len(pairs) // 10]
            speed = lambda some: 100 * sum(even for even, _ in some) / sum(odd for _, odd in some)
            again = sorted(speed(random.choices(pairs, k=len(pairs))) for _ in range(1000))
            return speed(pairs), again[25], again[-26], more

        def speed(lang):
            """Percent of the untraced speed that a program has under profile-97, and what the same windows differ without a tracer."""
            p = started(lang)
            p.answer("busy 50")
            script = ("profile-97 /pid == %d && arg1 && timestamp / 100000000 %% 2 == 1/ { @[jstack(100)] = count(); } BEGIN { printf(\"READY\\n\"); }" % p.p.pid)
            untraced, low, high, _ = windows(p, None)
            print(f"    without a tracer: {untraced:.2f} ({low:.2f} to {high:.2f})", flush=True)
            traced, low, high, (tracer, firing) = windows(p, [dt, "-x", "jstackstrsize=16k", "-qn", script])
            print(f"    traced: {traced:.2f} ({low:.2f} to {high:.2f}); dtrace itself {tracer:.2f} % of a CPU; a firing {firing:.1f} us on average, half of them with a stack", flush=True)
            p.end()
            return traced, untraced

        for lang, name in (("python", "Python"), ("node", "Node.js"), ("java", "Java")):
            if bench.wants(f"{name} busy"):
                both = speed(lang)
                row(f"{name} busy, profile-97: speed of the untraced", "%", ">= 99", lambda: both[0], lambda: both[1], once=True)

        def met(lang):
            """Milliseconds from the first firing in a new process to the first record with frames of the language."""
            p = started(lang)
            p.ns("repeat 2000")
            t = subprocess.Popen([dt, "-x", "jstackstrsize=16k", "-x", "switchrate=10ms", "-x", "bufsize=64m", "-qn",
                                  "BEGIN { printf(\"READY\\n\"); } syscall::%s:entry /pid == %d/ { printf(\"\\nat %%d\", timestamp); jstack(100); }" % (CALL[lang], p.p.pid)],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            while "READY" not in t.stdout.readline():
                pass
            p.p.stdin.write("repeat 40000\n")
            p.p.stdin.flush()
            first = last = None
            for line in t.stdout:
                if line.startswith("at "):
                    last = int(line.split()[1])
                    first = first or last
                elif re.search(r"load.py:|load.js line|Load.java:", line):
                    break
            t.terminate()
            t.stdout.close()
            t.wait()
            p.p.stdout.readline()
            p.end()
            return (last - first) / 1e6

        for lang, name in (("python", "Python"), ("node", "Node.js"), ("java", "Java")):
            row(f"{name}, new process: first stack with its frames", "ms", "<= 50", lambda: met(lang))

        def loop_met(name):
            """The same for a program that makes the system call all the time, and is running when the tracer begins."""
            argv, call, frame = LOOPS[name]
            p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(1)
            t = subprocess.Popen([dt, "-x", "jstackstrsize=16k", "-x", "switchrate=10ms", "-qn",
                                  "syscall::%s:entry /pid == %d/ { printf(\"\\nat %%d\", timestamp); jstack(100); }" % (call, p.pid)],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            first = last = None
            for line in t.stdout:
                if line.startswith("at "):
                    last = int(line.split()[1])
                    first = first or last
                if re.search(frame, line) or (last or 0) - (first or 0) > 10e9:
                    break
            for q in (t, p):
                q.terminate()
                q.stdout and q.stdout.close()
                q.wait()
            return (last - first) / 1e6

        for name in LOOPS:
            if shutil.which(LOOPS[name][0][0]):
                row(f"{name}, running process: first stack with its frames", "ms", "<= 50", lambda: loop_met(name))

        def wall(script):
            start = time.monotonic()
            subprocess.run([dt, "-qn", script], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            return 1000 * (time.monotonic() - start)

        idle = {"Python": ["/usr/bin/python3.11", "-S", "-c", "import sys\nprint(flush=True)\nsys.stdin.read()"],
                "Node.js": ["/usr/bin/node", "-e", "console.log(); process.stdin.on('data', () => {})"]}

        @contextlib.contextmanager
        def waiting(name, n):
            """The ids of so many processes that wait."""
            procs = []
            try:
                while len(procs) < n:
                    some = [subprocess.Popen(idle[name], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(min(10, n - len(procs)))]
                    procs += some
                    for p in some:
                        p.stdout.readline()
                yield [p.pid for p in procs]
            finally:
                for p in procs:
                    p.kill()
                    p.communicate()

        def helpers_of(whose, clauses):
            """How many processes have got their helpers, milliseconds of the clock and of a CPU that it took, as often as dtrace says it."""
            said = subprocess.run([dt, "-x", "debug", "-qn", clauses + "tick-10ms { exit(0); }"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).stderr
            found = re.findall(rf"{whose}: helpers of (\d+) process(?:es)? in ([\d.]+) ms, ([\d.]+) ms of a CPU", said)
            return [(int(n), float(clock), float(cpu)) for n, clock, cpu in found]

        def attaching(name, n):
            """Milliseconds of a CPU for each of n processes, which clauses name: more than 8 are not looked at one by one."""
            with waiting(name, n) as pids:
                found = helpers_of("targets", "".join(f"syscall::getppid:entry /pid == {pid}/ {{ jstack(); }} " for pid in pids))
            if [attached for attached, _, _ in found] != [1] * n:
                raise RuntimeError(f"{name}: {n} processes wait, of which have helpers: {found}")
            return [cpu for _, _, cpu in found]

        def attaching_all(name, n):
            """Milliseconds of the clock and of a CPU."""
            with waiting(name, n):
                (attached, *took), = helpers_of("runtimes", "syscall::getppid:entry { jstack(); } ")
            if attached < n:
                raise RuntimeError(f"{name}: {n} processes wait, {attached} have helpers")
            return took

        for name, first, further in (("Python", 10, 0.3), ("Node.js", 30, 1)):
            row(f"{name}: attaching, the first process of a file", "ms", f"<= {first}", lambda: attaching(name, 1)[0])
            row(f"{name}: attaching, each further one", "ms", f"<= {further}", lambda: median(attaching(name, 8)[1:]))
        for which, name in enumerate(("the clock", "a CPU")):
            row(f"300 idle Python: attaching all, ms of {name}", "ms", "<= 100", lambda: attaching_all("Python", 300)[which])

        row("start with one jstack()", "ms", "", lambda: wall("syscall::getppid:entry { jstack(); } BEGIN { exit(0); }"))
        row("start with 600 jstack()", "ms", "", lambda: wall("syscall::getppid:entry { jstack(); }\n" * 600 + "BEGIN { exit(0); }"))
    bench.save()


if __name__ == "__main__":
    sys.exit(main())
