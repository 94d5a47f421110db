# SPDX-License-Identifier: MIT
"""mdb on a terminal: results, history, completion, ^C, the end. Then a process that is held by an mdb that is killed goes on."""
import fcntl, os, pty, re, select, signal, struct, subprocess, sys, termios, time

MDB = os.environ["BUILD"] + "/src/cmd/mdb/mdb"
PATIENCE = 30  # seconds until something that does not come is missing
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{shown}")


class Terminal:
    """mdb at the other end of a pseudoterminal."""

    def __init__(self, *args, rows=0, pager=""):
        self.pid, self.fd = pty.fork()
        self.shown = b""
        if self.pid == 0:
            os.environ["TERM"], os.environ["PAGER"] = "vt100", pager
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80 if rows else 0, 0, 0))
            os.execv(MDB, [MDB, *args])

    def type(self, keys):
        os.write(self.fd, keys)

    def expect(self, pattern, what):
        """Waits until the pattern is shown, behind what was expected before."""
        end = time.time() + PATIENCE
        while not (found := re.search(pattern, self.shown)) and time.time() < end:
            if not select.select([self.fd], [], [], 0.1)[0]:
                continue
            try:
                self.shown += os.read(self.fd, 4096)
            except OSError:  # the other end is closed
                break
        check(found, what, self.shown)
        before = self.shown[:found.start()] if found else b""
        self.shown = self.shown[found.end():] if found else b""
        return before

    def wait(self):
        """Waits until mdb has ended; returns its status, None if it does not end."""
        end = time.time() + PATIENCE
        while time.time() < end:
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    os.read(self.fd, 4096)
                except OSError:  # the other end is closed
                    return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return None


def state_of(pid):
    return re.search(r"State:\t(.)", open(f"/proc/{pid}/status").read()).group(1)


def goes_on(pid):
    """Whether the process sleeps again; it was woken when it was let go."""
    end = time.time() + PATIENCE
    while state_of(pid) != "S" and time.time() < end:
        time.sleep(0.05)
    return state_of(pid) == "S"


sleeper = subprocess.Popen(["sleep", "1000"])
try:
    t = Terminal("-p", str(sleeper.pid))
    t.expect(rb"> ", "a prompt")
    check(state_of(sleeper.pid) == "t", "the process is held", state_of(sleeper.pid))
    t.type(b"0t40+2=D\n")
    t.expect(rb"\s42\s", "a result")
    t.expect(rb"> ", "a prompt behind the result")
    t.type(b"\x1b[A\n")
    t.expect(rb"\s42\s", "the line before, again")
    t.expect(rb"> ", "a prompt behind the line before")
    t.type(b"::walke\t\n")
    t.expect(rb"frame", "a name that is completed")
    t.expect(rb"> ", "a prompt behind the walkers")
    # as a key it gives up the line, also if it comes together with what was typed before
    for keys in (b"0t40+2=D", b"0t40+2=D\x1b[D\x1b[D", "0t4\u00e9\u20ac".encode()):
        for parts in ((keys, b"\x03"), (keys + b"\x03",)):
            for part in parts:
                t.type(part)
            t.expect(rb"\^C\r?\n> ", f"^C gives up {keys}")
            t.type(b"0t6+1=D\n")
            t.expect(rb"\n +7\r?\n> ", "the next line is a command of its own")
    # while commands run it ends them: the million searches would take long, and find nothing, so that nothing is shown behind the ^C
    t.type(b"0t5+1=D; deadbeefdead0000::array char 1000000 | ::findptr; 0t7+1=D\n")
    t.expect(rb"\n +6\r?\n", "the first command")
    t.type(b"\x03")
    shown = t.expect(rb"\^C\r?\n(mdb: [^\n]*\n)?> ", "^C ends the commands")
    check(not re.search(rb"\n +8\r?\n", shown), "also those that follow", shown)
    t.type(b"0t8+1=D\n")
    t.expect(rb"\n +9\r?\n> ", "a command after that")
    t.type(b"\x04")
    check(t.wait() == 0, "the end of the input ends it")
    check(goes_on(sleeper.pid), "the process goes on", state_of(sleeper.pid))

    # a pager gets what is longer than the terminal
    t = Terminal("-p", str(sleeper.pid), rows=10, pager="sed -n '1s/^/first: /p; $s/^/last: /p'; echo end of the pager")
    t.expect(rb"> ", "a prompt of a small terminal")
    t.type(b"0t40+2=D\n")
    shown = t.expect(rb"\s42\s", "a short result") + t.expect(rb"> ", "a prompt behind a short result")
    check(b"pager" not in shown, "a short result without the pager", shown)
    t.type(b"::formats\n")
    shown = t.expect(rb"end of the pager\r?\n> ", "a long result goes to the pager")
    check(shown.count(b"\n") == 3 and b"first: " in shown and b"last: " in shown, "all of it", shown)
    t.type(b"::formats ; 0t7+1=D\n")
    t.expect(rb"\s8\s", "the command behind the long result")
    t.type(b"$q\n")
    check(t.wait() == 0, "the end with a pager")
    t = Terminal("-p", str(sleeper.pid), rows=10, pager="no-such-pager")
    t.expect(rb"> ", "a prompt again")
    t.type(b"::dcmds\n")
    t.expect(rb"\n[^\n]*whatis", "without the pager, the result is shown")
    t.expect(rb"\n> ", "a prompt behind it")
    t.type(b"$q\n")
    check(t.wait() == 0, "the end without the pager")

    t = Terminal("-p", str(sleeper.pid))
    t.expect(rb"> ", "a prompt again")
    check(state_of(sleeper.pid) == "t", "the process is held again", state_of(sleeper.pid))
    os.kill(t.pid, signal.SIGKILL)
    check(t.wait() == -signal.SIGKILL, "it was killed")
    check(goes_on(sleeper.pid), "the process goes on when mdb is killed", state_of(sleeper.pid))
finally:
    sleeper.kill()
    sleeper.wait()
sys.exit(1 if failed else 0)
