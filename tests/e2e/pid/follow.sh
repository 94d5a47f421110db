# Option follow=fork: calls of children fire the probes, from their first instruction on; none is left stopped.
exec python3 - <<'END'
import os, shutil, signal, subprocess, sys, time

DTRACE, TRIGGER, TMP = os.environ["DTRACE"], os.environ["TRIGGER"], os.environ["TMP"]
LATE = f"{TMP}/late"  # a copy, whose processes are all of this test
for name in ("late", "late_other", "liblate.so"):
    shutil.copy(f"{TRIGGER}/{name}", TMP)
SUM = '{ @[pid == $target ? "root" : "child", probefunc] = count(); } END { printa("%s %s %@d\\n", @); }'
OTHER = {"child first_f": 1, "child text_f": 1, "child other_f": 3}
bad = []


def counts(out):
    return {key: int(n) for key, n in (l.rsplit(" ", 1) for l in out.split("\n") if " " in l)}


def check(words, want, descs="pid$target:*late*:*_f:entry", flags=("-x", "follow=fork")):
    p = subprocess.run([DTRACE, "-Zqn", descs + SUM, *flags, "-c", f"{LATE} {words}"], capture_output=True, text=True)
    got = counts(p.stdout)
    if "root first_f" not in want:
        got.pop("root first_f", None)
    if p.returncode or p.stderr or got != want:
        bad.append(f"{words}: status {p.returncode}, {got} instead of {want}\n{p.stderr}")


check("open child=call=3", {}, flags=())  # the default
check("open child=call=3", {}, flags=("-x", "follow=none"))

# Before Linux 6.10, children cannot be told from their parents; the option is refused then.
p = subprocess.run([DTRACE, "-qn", "pid$target::first_f:entry { }", "-x", "follow=fork", "-c", f"{LATE} open"], capture_output=True, text=True)
follows = "lacks uprobe links that follow all threads of a process (Linux 6.10)\nhint: without it children" not in p.stderr
if not follows:
    print("\n".join(bad) or p.stderr)
    sys.exit(1 if bad or p.returncode != 1 else 67)
check("open call=2 child=call=3 call=1", {"root late_f": 3, "child late_f": 3})
check("open child=call=3", {"child late_f": 3}, "pid$target:liblate.so:late_f:return")
check("open child=call=3", {"child late_f": 3}, "pid$target:liblate.so:late_f:0")
check("child=open,call=2", {"child late_f": 2})
check("child=open,call=2", {"child late_init": 1}, "pid$target:liblate.so:late_init:entry")
check("child=child=open+call=2,open,call=3", {"child late_f": 5})
check("tchild=open,call=2", {"child late_f": 2})
check("spawn=open,call=2", {**OTHER, "child late_f": 2})
check("vchild=open,call=4", {**OTHER, "child first_f": 2, "child late_f": 4})
check("child=exec=open+call=4", {**OTHER, "child late_f": 4})
check("open child=call=3,texec=open+call=4 call=1", {**OTHER, "child late_f": 7, "root late_f": 1})
check("open child=call=1 texec=open,call=1,child=call=4", {"root first_f": 2, "root text_f": 1, "root other_f": 3, "root late_f": 1, "child late_f": 5})
check("many=40", {"root first_f": 1, "child first_f": 120})
check("many=20 many=20 child=many=20", {"child first_f": 180}, "pid$target:late:first_f:entry")

# which process it is, and of which process the probe is
p = subprocess.run([DTRACE, "-qn", 'pid$target:late:first_f:entry { printf("%d %d\\n", probeprov == strjoin("pid", lltostr($target)), ppid == $target); }',
                    "-x", "follow=fork", "-c", f"{LATE} many=1"], capture_output=True, text=True)
if p.stdout.split() != ["1", "0", *["1", "1"] * 3]:
    bad.append(f"who: {p.stdout} {p.stderr}")


def processes():
    """Those of the trigger: state by id."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/exe").startswith(LATE):
                found[int(pid)] = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0]
        except OSError:
            pass
    return found


def expect_end(what, before):
    """All that is new ends by itself: nothing was left stopped, nothing was killed by a breakpoint."""
    for _ in range(500):
        new = {p: s for p, s in processes().items() if p not in before}
        if not new:
            return
        time.sleep(0.02)
    bad.append(f"{what}: {new}")


class Target:
    def __init__(self, *words):
        self.p = subprocess.Popen([LATE, "wait", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.p.stdout.readline()

    def dtrace(self, program, *flags):
        d = subprocess.Popen([DTRACE, "-Zqn", "int i; " + program + ' tick-20ms /!i++/ { printf("on\\n"); }', "-p", str(self.p.pid), "-x", "follow=fork", *flags],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if d.stdout.readline() != "on\n":
            bad.append(d.stderr.read())
        return d

    def go(self):
        self.p.stdin.write("\n"), self.p.stdin.flush()

    def finish(self, what):
        if self.p.wait(60):
            bad.append(f"{what}: the process ended with {self.p.returncode}")


# of a process of -p; the run ends with it, and a child that goes on is let go
before = processes()
t = Target("open", "child=call=5", "spawn=open,call=2")
d = t.dtrace("pid$target:*late*:*_f:entry " + SUM)
t.go()
t.finish("-p")
out, err = d.communicate()
got = counts(out)
if {k: v for k, v in got.items() if k.startswith("child")} != {**OTHER, "child late_f": 7} or err:
    bad.append(f"-p: {got} {err}")
p = subprocess.run([DTRACE, "-qn", "pid$target:late:first_f:entry { }", "-x", "follow=fork", "-c", f"{LATE} left=many=3,many=3"],
                   capture_output=True, text=True)
if p.returncode or p.stderr:
    bad.append(f"left: {p.returncode} {p.stderr}")
expect_end("a child that outlives its parent", before)

# dtrace ends in the middle: by exit(), by a signal, killed
for n in range(9):
    how = ("exit", "INT", "KILL")[n % 3]
    t = Target("many=25", "left=many=10,spawn=many=5", "many=25")
    d = t.dtrace("pid$target:late:first_f:entry, pid$target:libc.so.6:m*:entry { @ = count(); }"
                 + (f" tick-20ms /i == {n + 2}/ {{ exit(0); }}" if how == "exit" else ""))
    t.go()
    time.sleep(0.01 + 0.013 * n)
    if how != "exit":
        d.send_signal(signal.SIGINT if how == "INT" else signal.SIGKILL)
    t.finish(f"{how} {n}")
    d.communicate()
    expect_end(f"{how} {n}", before)

# when tracing has stopped nobody waits, however long END takes
t = Target("many=5")
d = t.dtrace('pid$target:late:first_f:entry { } tick-20ms /i == 2/ { exit(0); } END { system("echo end; read line; echo over"); }', "-w")
while d.stdout.readline() not in ("end\n", ""):
    pass
t.go()
t.finish("END")  # before the line comes
out, _ = d.communicate("\n")
if out.strip() != "over":
    bad.append(f"END: {out!r}")

# a kernel that cannot do it says so
p = subprocess.run([DTRACE, "-qn", "pid$target:late:first_f:entry { }", "-x", "follow=fork", "-c", LATE], capture_output=True, text=True,
                   env={**os.environ, "FATHOM_NO_FEATURE": "UPROBE_TGID"})
if p.returncode != 1 or "option follow: this kernel lacks" not in p.stderr:
    bad.append(f"without the feature: {p.returncode} {p.stderr}")
p = subprocess.run([DTRACE, "-n", "syscall::fork*:entry { }", "-x", "follow=fork", "-c", LATE], capture_output=True, text=True)
if p.returncode or "option follow changes nothing" not in p.stderr:
    bad.append(f"without a clause: {p.returncode} {p.stderr}")
for text in bad:
    print(text)
sys.exit(bool(bad))
END
