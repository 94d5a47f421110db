# Code that comes while a process is traced: libraries it opens, programs it executes; its children are not traced.
exec python3 - <<'END'
import os, shutil, subprocess, sys, time

DTRACE, TRIGGER = os.environ["DTRACE"], os.environ["TRIGGER"]
LATE = f"{TRIGGER}/late"
END = ' END { printa("%s %@d\\n", @); }'
bad = []


def counts(out):
    sums = {}
    for key, n in (l.rsplit(" ", 1) for l in out.split("\n") if " " in l):
        sums[key] = sums.get(key, 0) + int(n)
    return sums


def check(what, p, out, err, want):
    if p.returncode or counts(out) != want:
        bad.append(f"{what}: status {p.returncode}, {counts(out)} instead of {want}\n{err}")


def command(what, descs, words, want, *flags):
    """A program of -c waits until probes are in place: nothing is missed."""
    p = subprocess.run([DTRACE, "-Zqn", descs + "{ @[probefunc] = count(); }" + END, *flags, "-c", f"{LATE} {words}"],
                       capture_output=True, text=True)
    check(what, p, p.stdout, p.stderr, want)
    return p.stderr


class Target:
    """A process that does what its words say, when it has read a line."""

    def __init__(self, *words):
        self.p = subprocess.Popen([LATE, "wait", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.p.stdout.readline()

    def dtrace(self, program, *flags):
        d = subprocess.Popen([DTRACE, "-Zqn", program + ' tick-20ms /!i++/ { printf("on\\n"); }', "-p", str(self.p.pid), *flags],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if d.stdout.readline() != "on\n":
            bad.append(d.stderr.read())
        return d

    def line(self):
        self.p.stdin.write("\n"), self.p.stdin.flush()

    def finish(self, what):
        if self.p.wait(60):
            bad.append(f"{what}: the process ended with {self.p.returncode}")


# dlopen, also again; from the constructor on
two = {"late_constructor": 2, "late_init": 2, "late_f": 10, "late_g": 10}
command("a library", "pid$target:liblate.so:late_*:entry", "twice", two)
command("a pattern", "pid$target:*late.so:late_*:return", "twice", two)
command("short name", "pid$target:liblate:late_f:entry", "twice", {"late_f": 10})
command("another one is there", "pid$target:libc.so.6:realpath:entry, pid$target::late_f:entry", "twice", {"late_f": 10, "realpath": 1})
command("one instruction", "pid$target:liblate:late_f:0", "twice", {"late_f": 10})
command("libraries of the start", "pid$target:libc.so.6:realpath:entry", "open", {"realpath": 1}, "-x", "evaltime=exec")
err = command("a function that is not there", "pid$target:liblate.so:nosuch:entry, pid$target:liblate.so:late_f:entry", "twice", {"late_f": 10})
if "function 'nosuch' is not in 'liblate.so'" not in err:
    bad.append(f"a function that is not there: {err!r}")

# a child's calls are its own, and harm it as little
command("a child", "pid$target:liblate.so:late_f:entry", "open call=3 fork=50 call=2", {"late_f": 5})

command("a child that stays", "pid$target:liblate.so:late_f:entry", "open call=3 clean call=2", {"late_f": 5})

# another program: by the first thread, by another one
for word in "exec", "texec":
    command(word, "pid$target::*_f:entry, pid$target:libc.so.6:realpath:entry", f"open call=3 {word}=open,call=4",
            {"first_f": 2, "late_f": 7, "other_f": 3, "text_f": 1, "realpath": 2})
    command(word + " of what was not open", "pid$target:liblate:late_f:entry, pid$target:a.out:main:entry", f"{word}=open,call=4",
            {"late_f": 4, "main": 2})
names = subprocess.run([DTRACE, "-Zqn", "pid$target::*_f:entry { @[usym(uregs[R_PC])] = count(); } END { printa(\"%A %@d\\n\", @); }",
                        "-c", f"{LATE} open call=1 exec=open,call=1"], capture_output=True, text=True)
check("names", names, names.stdout, names.stderr, {"late`first_f": 1, "late_other`first_f": 1, "late_other`other_f": 3, "late_other`text_f": 1, "liblate.so`late_f": 2})

# stacks through a library that has just come
d = subprocess.run([DTRACE, "-Zqn", "pid$target:liblate.so:late_init:entry { ustack(20); }", "-c", f"{LATE} exec=open"],
                   capture_output=True, text=True)
frames = [l.strip().split("+")[0] for l in d.stdout.split("\n") if "`" in l]
if frames[:2] != ["liblate.so`late_init", "liblate.so`late_constructor"] or frames[-1][0] == "[" or "libc.so.6`dlopen" not in \
        " ".join(frames):
    bad.append(f"a stack: {frames} {d.stderr}")

# a library that another file has replaced: its functions keep their probes' names
lib = f"{os.environ['TMP']}/liblate.so"
shutil.copy(f"{TRIGGER}/liblate.so", lib)
d = subprocess.Popen([DTRACE, "-Zqn", "pid$target:liblate.so:late_f:entry { @[probefunc, id] = count(); }"
                      ' END { printa("%s-%d %@d\\n", @); }', "-c", f"{LATE} open={lib} call=3 close wait open={lib} call=4"],
                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
d.stdout.readline()
shutil.copy(f"{TRIGGER}/liblate.so", lib + ".new")
os.rename(lib + ".new", lib)
out, err = d.communicate("\n")
if sorted(counts(out).values()) != [7]:
    bad.append(f"a replaced library: {out} {err}")

# a grabbed process does not wait for us: `slow' waits for the probe
t = Target("open", "slow", "call=5", "close", "open", "call=5", "exec=open,slow,call=4")
d = t.dtrace("pid$target:liblate.so:late_f:entry { @[probefunc] = count(); }" + END)
t.line()
t.finish("-p")
out, err = d.communicate()
check("-p", d, out, err, {"late_f": 14})

# unless it is stopped for that
t = Target("twice", "exec=open,call=4")
d = t.dtrace("pid$target:*late*:*_f:entry, pid$target:liblate.so:late_init:entry { @[probefunc] = count(); }" + END, "-x", "libstop")
t.line()
t.finish("-x libstop")
out, err = d.communicate()
check("-x libstop", d, out, err, {"first_f": 1, "text_f": 1, "other_f": 3, "late_f": 14, "late_init": 3})

# args[] are those of the functions that were there at the start
typed = subprocess.run([DTRACE, "-qn", "pid$target:*late*:*_f:entry { @[probefunc] = sum(args[0] >= 0); }" + END,
                        "-c", f"{LATE} open call=3 exec=open,call=4"], capture_output=True, text=True)
check("args[]", typed, typed.stdout, typed.stderr, {"first_f": 2, "late_f": 7, "other_f": 3})
if "1 function of 'late_other'" not in typed.stderr or "other types" not in typed.stderr:
    bad.append(f"args[] of text_f: {typed.stderr!r}")

# what to do is told
d = subprocess.run([DTRACE, "-n", "pid$target:libnosuch.so::entry", "-c", LATE], capture_output=True, text=True)
if d.returncode != 1 or "with -Z its functions are probed" not in d.stderr:
    bad.append(f"without -Z: {d.returncode} {d.stderr}")
d = subprocess.run([DTRACE, "-n", "pid$target:late:nosuch:entry", "-c", LATE], capture_output=True, text=True)
if "dtrace -ln 'pid$target:late::entry' -c COMMAND lists what there is" not in d.stderr:
    bad.append(f"the process in a hint: {d.stderr}")

# dtrace is killed while it attends to a process: the process goes on
for n in range(4):
    t = Target("open", "call=5", "close", "wait", *["twice"] * 5, "exec=twice,twice")
    d = t.dtrace("pid$target:*late*::entry, pid$target:libc.so.6:m*:entry { @[probefunc] = count(); }",
                 *(["-x", "libstop"] if n % 2 else []))
    t.line()
    t.p.stdout.readline()
    t.line()
    time.sleep(0.01 * n)
    d.kill()
    d.communicate()
    t.finish("kill -9")
d = subprocess.Popen([DTRACE, "-Zqn", 'pid$target:liblate.so::entry { } BEGIN { printf("%d\\n", $target); }', "-c",
                      f"{LATE} twice twice twice twice wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
pid = int(d.stdout.readline())
time.sleep(0.02)
d.kill()
d.wait()
for _ in range(500):
    if not os.path.exists(f"/proc/{pid}"):
        break
    time.sleep(0.02)
else:
    bad.append("a program of -c outlives dtrace")
for text in bad:
    print(text)
sys.exit(bool(bad))
END
