# A grabbed process goes on unharmed, whatever happens to dtrace; runs end with their last process; several processes.
exec python3 - <<'END'
import fcntl, os, re, signal, struct, subprocess, sys, termios, time

DTRACE, TRIGGER = os.environ["DTRACE"], os.environ["TRIGGER"]
ROUND = 19  # calls of f_add for one line of input
bad = []


class Target:
    """A process that does ten rounds for each line it reads."""

    def __init__(self):
        self.p = subprocess.Popen([f"{TRIGGER}/funcs", "10", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.p.stdout.readline()
        self.pid = self.p.pid

    def lines(self, n):
        self.p.stdin.write("\n" * n)
        self.p.stdin.flush()

    def idle(self):
        """Waits until it has done what it was told to: nothing is left in the pipe, and it sleeps in read(0, ...)."""
        while self.unread() or not self.where().startswith("0 0x0 "):
            time.sleep(0.005)

    def unread(self):
        return struct.unpack("i", fcntl.ioctl(self.p.stdin, termios.FIONREAD, bytes(4)))[0]

    def where(self):
        with open(f"/proc/{self.pid}/syscall") as f:
            return f.read()

    def finish(self):
        out, _ = self.p.communicate()
        if self.p.returncode or not out.startswith("sum "):
            bad.append(f"the process ended with {self.p.returncode}, {out!r}")


def dtrace(program, *pids):
    flags = [w for pid in pids for w in ("-p", str(pid))]
    p = subprocess.Popen([DTRACE, "-qn", program + ' tick-20ms { printf("on\\n"); }'] + flags, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    if p.stdout.readline() != "on\n":
        bad.append(p.stderr.read())
    return p


def expect(p, lines, what):
    out, err = p.communicate()
    got = [l for l in out.split("\n") if l and l != "on"]
    if p.returncode or got != lines:
        bad.append(f"{what}: status {p.returncode}, {got} instead of {lines}\n{err}")


a, b = Target(), Target()
two = dtrace(f"""pid{a.pid}::f_add:entry {{ @["a"] = count(); }} pid{b.pid}::f_add:entry {{ @["b"] = count(); }}
    pid{a.pid}::f_add:entry /pid != {a.pid}/ {{ @["wrong"] = count(); }} END {{ printa("%s %@d\\n", @); }}""", a.pid, b.pid)
a.lines(2), b.lines(3)
a.idle(), b.idle()
two.send_signal(signal.SIGINT)
expect(two, [f"a {2 * ROUND}", f"b {3 * ROUND}"], "two processes")

# kill -9: the process goes on, and nothing is left in its code
for _ in range(3):
    all_ = dtrace("pid$target:libc.so.6:f*:entry, pid$target:funcs::entry, pid$target:funcs::return { @ = count(); }", a.pid)
    a.lines(3)
    all_.kill()
    all_.wait()
    a.lines(1)
code = subprocess.check_output(["readelf", "-lW", f"{TRIGGER}/funcs"], text=True)
off, size = next((int(m[1], 16), int(m[2], 16)) for m in re.finditer(r"LOAD\s+0x(\w+) 0x\w+ 0x\w+ 0x(\w+) 0x\w+ R E", code))
a.idle()
with open(f"/proc/{a.pid}/maps") as f:
    start = next(int(l.split("-")[0], 16) for l in f if "r-xp" in l and "funcs" in l)
with open(f"/proc/{a.pid}/mem", "rb", buffering=0) as mem, open(f"{TRIGGER}/funcs", "rb") as exe:
    for _ in range(200 * int(os.environ.get("PATIENCE", 1))):  # the kernel takes its time after the end of a tracer
        mem.seek(start), exe.seek(off)
        same = mem.read(size) == exe.read(size)
        if same:
            break
        time.sleep(0.05)
if not same:
    bad.append("breakpoints are left in the code")
a.finish()

# the end of the last process ends the run, with END and what was collected
last = dtrace('pid$target:funcs:f_ends:return { @ = count(); } END { printa("end %@d\\n", @); }', b.pid)
b.lines(1)
b.finish()
expect(last, ["end 10"], "the end of the process")
for text in bad:
    print(text)
sys.exit(bool(bad))
END
