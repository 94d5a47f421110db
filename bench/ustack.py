#!/usr/bin/env python3
"""Stacks of Python, Node.js and Java with ustack helpers: what they cost, medians.

    bench/ustack.py [--build build] [--runs 3] [--only NAME] [--json bench/ustack.json]

Added to a probe: what jstack() as a key of an aggregation adds to a system call, above the same probe with count() alone. `new functions`: no stack has had any of the
functions before, as when a program starts. `new stack`: all of them have been in other stacks, but not in this order, as in a program that has been running. `repeated`: the
same stack again. `native frames`: a new stack with ustack() in place of jstack(), which is a part of the others. Beside it bpftrace with the perf map of
`node --perf-basic-prof`, which has names but no lines. Without a helper: the same stack of a C program, with and without room for names.
Busy: processor time that a program needs for its work while profile-97 records all stacks, beside without. First stack: from the first firing in a process that
is new to dtrace to the first record with frames of the language. Start: a whole dtrace command that ends at once.
"""
import os, re, shutil, statistics, subprocess, sys, tempfile, time

from pairs import ROOT, Bench, Tracer, added_to_loop, build_c

REPEATS, KNOWN, CHAINS, ROUNDS = 4_000, 500, 60, 12
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

    def ns(self, what):
        self.p.stdin.write(what + "\n")
        self.p.stdin.flush()
        return float(self.p.stdout.readline())

    def end(self):
        self.p.stdin.close()
        self.p.wait()


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

        def row(name, unit, target, ours, theirs=None):
            if name.startswith("Java") and bench.wants(name) and not os.path.exists(os.path.join(tmp, "Load.class")):
                make_java(tmp)
            bench.row(name, ours, theirs, unit, target)

        def added(lang, how, tracer, argv=None):
            """Microseconds that a call takes with the tracer's stack, less without."""
            p = Program(argv or run[lang], tmp)
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

        def plain(stack):
            """Microseconds that the stack of a C program adds to a call of its function."""
            script = f'pidPID:stacks:probed:entry {{ @[{stack}] = count(); }} tick-50ms {{ printf("READY\\n"); }}'
            return added_to_loop([os.path.join(tmp, "stacks"), "calls", "100000"], [dt, "-qn", script]) / 1000

        if bench.wants("without a helper"):
            build_c(tmp, "stacks", "-fno-omit-frame-pointer")
        row("C, 40 frames, without a helper: ustack()", "us", "", lambda: plain("ustack(60)"))
        row("C, 40 frames, without a helper: jstack()", "us", "", lambda: plain("jstack(60)"))

        def speed(lang, n):
            """Percent of the untraced speed that a program has under profile-97, by its processor time."""
            p = Program(run[lang], tmp)
            for _ in range(4):
                p.ns(f"busy {n}")
            ratios = []
            for _ in range(8):
                base = p.ns(f"busy {n}")
                t = Tracer([dt, "-x", "jstackstrsize=16k", "-qn", "profile-97 /arg1/ { @[jstack(100)] = count(); } tick-50ms { printf(\"READY\\n\"); }"])
                p.ns(f"busy {n // 8}")
                traced = p.ns(f"busy {n}")
                t.stop()
                ratios.append(200 * traced / (base + p.ns(f"busy {n}")))
            p.end()
            return 10000 / statistics.median(ratios)

        for lang, name, n in (("python", "Python", 7000), ("node", "Node.js", 50000), ("java", "Java", 40000)):
            row(f"{name} busy, profile-97: speed of the untraced", "%", ">= 99", lambda: speed(lang, n))

        def met(lang):
            """Milliseconds from the first firing in a new process to the first record with frames of the language."""
            p = Program(run[lang], tmp)
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

        row("start with one jstack()", "ms", "", lambda: wall("syscall::getppid:entry { jstack(); } BEGIN { exit(0); }"))
        row("start with 600 jstack()", "ms", "", lambda: wall("syscall::getppid:entry { jstack(); }\n" * 600 + "BEGIN { exit(0); }"))
    bench.save()


if __name__ == "__main__":
    sys.exit(main())
