# SPDX-License-Identifier: MIT
"""The live view, seen by a small terminal: the parts of ECMA-48 that dtrace writes."""
import fcntl, pty, select, signal, struct, termios, time
from page import *

DEADLINE = 60


class Terminal:
    """Runs dtrace on a pseudo terminal of some size."""

    def __init__(self, program, rows=30, columns=100, term="xterm", flags=()):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.begin = termios.tcgetattr(self.slave)
        self.screens, self.normal, self.bytes = [], "", b""
        self.process = subprocess.Popen([DTRACE, "-q", "-x", "oformat=live", *flags, "-n", program], stdin=self.slave, stdout=self.slave,
                                        stderr=subprocess.PIPE, preexec_fn=self.own, env={**os.environ, "TERM": term})

    def own(self):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds=0.2):
        while select.select([self.master], [], [], seconds)[0]:
            got = os.read(self.master, 65536)
            self.bytes += got
            seconds = 0

    def text(self):
        return self.bytes.decode(errors="replace")

    def screen(self):
        """The lines of the last whole picture."""
        pictures = re.findall(r"\x1b\[H(.*?)\x1b\[J", self.text(), re.S)
        return [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", l) for l in re.split("\r+\n", pictures[-1])] if pictures else []

    def wait(self, what, test):
        end = time.monotonic() + DEADLINE
        while not test(self.screen()):
            check(time.monotonic() < end and self.process.poll() is None, f"{what}: {self.screen()}")
            self.read()

    def key(self, k):
        os.write(self.master, k.encode())

    def end(self):
        """Reads until dtrace has ended; what is left on the normal screen, and standard error."""
        end = time.monotonic() + DEADLINE
        while self.process.poll() is None:
            check(time.monotonic() < end, "dtrace ends")
            self.read()
        self.read()
        while not self.text().endswith("\x1b[?1049l") and "\x1b[?1049l" not in self.text() and time.monotonic() < end:
            self.read()
        self.read()
        text = self.text()
        check(text.count("\x1b[?1049h") == text.count("\x1b[?1049l") == 1, "the second screen is left as often as it is entered")
        check(text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l"), "the cursor is shown again")
        while termios.tcgetattr(self.slave) != self.begin and time.monotonic() < end:
            time.sleep(0.02)
        check(termios.tcgetattr(self.slave) == self.begin, "the modes of the terminal are those of before")
        return text.split("\x1b[?1049l")[1], self.process.stderr.read().decode()


def row(screen, word):
    return next((i for i, l in enumerate(screen) if word in l), -1)


program = ("BEGIN { @a[\"small\"] = sum(1); @a[\"large\"] = sum(100); @a[\"middle\"] = sum(10); @h[\"x\"] = quantize(8); } "
           "tick-50ms { @n = count(); } tick-200ms { printf(\"line %d\\n\", i++); } BEGIN { printf(\"bad \\033[2J\\n\"); } END { printf(\"the end\\n\"); }")
t = Terminal(program)
t.wait("tables", lambda s: row(s, "@a sum()") >= 0 and row(s, "@h quantize()") >= 0 and row(s, "line 2") >= 0)
s = t.screen()
check(0 < row(s, "large") < row(s, "middle") < row(s, "small"), f"the greatest first: {s}")
check(any("Distribution" in l for l in s) and "\x1b[2J" not in t.text(), "a histogram; no text of the program controls the terminal")
check("dtrace" in s[0] and "by value, greatest first" in s[0] and len(s) <= 30 and all(len(l) <= 100 for l in s), f"a head, and no line too many: {s}")
t.key("r")
t.wait("reverse", lambda s: 0 < row(s, "small") < row(s, "middle") < row(s, "large"))
t.key("r")
t.key("s")
t.wait("by key", lambda s: 0 < row(s, "large") < row(s, "middle") < row(s, "small") and "by key" in s[0])
t.key(" ")
t.wait("pause", lambda s: "PAUSED" in s[0])
number = lambda s: next(l for l in s[row(s, "@n count()"):] if re.search(r"\d", l))
held = t.screen()[1:]
for _ in range(8):
    t.read(0.2)
check(t.screen()[1:] == held, f"nothing changes while it pauses: {held} {t.screen()}")
t.key(" ")
t.wait("it goes on", lambda s: "PAUSED" not in s[0] and number(s) != number(held))
t.resize(12, 50)
t.wait("resize", lambda s: len(s) <= 12 and all(len(l) <= 50 for l in s) and row(s, "@a sum()") >= 0)
check(row(t.screen(), "more lines") > 0, "what does not fit is told")
t.key("q")
rest, err = t.end()
check(t.process.returncode == 0 and "the end" in rest and "large" in rest and "Distribution" in rest, f"tables and text stay on the terminal: {rest}")

# ---- printa() decides what is shown, with and without a format; several aggregations side by side
t = Terminal("BEGIN { @a[1] = sum(5); @b[1] = sum(7); @c[2] = sum(8); } tick-100ms { printa(@a, @b); printa(\"<%d %@d>\\n\", @c); }")
t.wait("side by side", lambda s: row(s, "@a sum(), @b sum()") >= 0 and any(l.split() == ["1", "5", "7"] for l in s) and row(s, "<2 8>") >= 0)
os.kill(t.process.pid, signal.SIGINT)
rest, err = t.end()
check("<2 8>" in rest, f"the last tables are there: {rest}")

# ---- names of others are escaped, in tables and in text, whatever the option says of the text behind them
victim = subprocess.Popen(["sh", "-c", r"printf 'e\033[2J\nf' >/proc/$$/comm; while :; do kill -0 $$; sleep 0.1; done"])
try:
    t = Terminal(f"syscall::kill:entry /pid == {victim.pid}/ " '{ @n[execname] = count(); printf("<%s>\\n", execname); @p[execname] = count(); printa("[%s]\\n", @p); }',
                 flags=("-x", "escape=never"))
    t.wait("a hostile name", lambda s: all(any(w in l for l in s) for w in (r"  e\033[2J\nf ", r"<e\033[2J\nf>", r"[e\033[2J\nf]")))
    t.key("q")
    rest, err = t.end()
    check("\x1b[2J" not in t.text().split("\x1b[?1049l")[0], "no name controls the screen")
finally:
    victim.kill()
    victim.wait()

# ---- messages wait for the end, and stand in the head meanwhile
t = Terminal("tick-100ms { trace(*(int *)8); }")
t.wait("errors", lambda s: any("lost or wrong" in l and "invalid addr" in l for l in s))
t.key("q")
rest, err = t.end()
check("invalid address (0x8)" in err, f"standard error has them at the end: {err}")

# ---- every other end
for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGSEGV):
    t = Terminal(program)
    t.wait("a picture", lambda s: row(s, "@a sum()") >= 0)
    check(not termios.tcgetattr(t.slave)[3] & termios.ECHO, "keys are not shown")
    os.kill(t.process.pid, sig)
    t.end()
t = Terminal("BEGIN { @[1] = count(); } tick-300ms { exit(7); }")
rest, err = t.end()
check(t.process.returncode == 7, "exit() ends it")

# ---- no terminal, or none to draw on: text
out, err, _ = dtrace("BEGIN { printf(\"hello\\n\"); @a[\"k\"] = count(); exit(0); }", "-x", "oformat=live")
same, _, _ = dtrace("BEGIN { printf(\"hello\\n\"); @a[\"k\"] = count(); exit(0); }")
check(out == same and "hello" in out, f"text: {out}")
t = Terminal("BEGIN { printf(\"hello\\n\"); exit(0); }", term="dumb")
t.process.wait(DEADLINE)
t.read()
check("\x1b" not in t.text() and "hello" in t.text(), "TERM=dumb has text")

# ---- NO_COLOR
os.environ["NO_COLOR"] = "1"
t = Terminal(program)
t.wait("a picture", lambda s: row(s, "@a sum()") >= 0)
t.key("q")
t.end()
check(not re.search(r"\x1b\[[0-9;]*3[0-9]m", t.text()), "no colours")
