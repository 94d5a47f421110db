# SPDX-License-Identifier: MIT
"""A program that does what its input says, and a dtrace that traces it: what the tests of this folder share.

The program prints a line when it is ready, and a line with a number for each line that it reads; it ends with its input.
"""
import fcntl, os, re, signal, struct, subprocess

DTRACE = os.environ["DTRACE"]
PATIENCE = int(os.environ.get("PATIENCE", 1))
bad = []


def check(what, got, want):
    if got != want:
        bad.append(f"{what}: {got!r} instead of {want!r}")


TURNS = "/run/fathom/turns"


def turn(pid, how=fcntl.F_WRLCK, file=TURNS):
    """Takes the turn at a process, as another tracer (target/turn.h), as soon as nobody has it: a descriptor, of which the closing ends it. how: F_RDLCK: with others that place breakpoints."""
    own, other = os.pidfd_open(os.getpid()), os.pidfd_open(pid)
    inodes = [os.fstat(fd).st_ino for fd in (own, other)]
    os.close(own)
    os.close(other)
    if file == TURNS:
        os.makedirs(os.path.dirname(TURNS), 0o700, exist_ok=True)
    fd = os.open(file, os.O_RDWR | (os.O_CREAT if file == TURNS else 0), 0o600)
    number = 0 if file != TURNS else inodes[1] if inodes[0] != inodes[1] or pid == os.getpid() else pid
    fcntl.fcntl(fd, 38, struct.pack("hhqqi4x", how, os.SEEK_SET, number, 1 if number else 0, 0))  # F_OFD_SETLKW
    return fd


def report():
    """Prints what was not as it should be; returns the status of the test."""
    for line in bad:
        print(line)
    return bool(bad)


def lines_of(out):
    return sorted(" ".join(line.split()) for line in out.splitlines() if line.strip())


class Target:
    def __init__(self, *argv, **env):
        self.file = argv[0]
        self.p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **env})
        self.pid = self.p.pid
        self.greeting = self.p.stdout.readline()

    def tell(self, what):
        self.p.stdin.write(f"{what}\n")
        self.p.stdin.flush()

    def answer(self):
        line = self.p.stdout.readline()
        if not line.strip():
            raise ValueError(f"the process does not answer: {line!r}, {self.p.poll()}")
        return line.split()

    def ask(self, what):
        self.tell(what)
        return self.answer()

    def call(self, what):
        return int(self.ask(what)[-1])

    def end(self):
        self.p.stdin.close()
        return self.p.wait(60 * PATIENCE)

    def maps(self):
        with open(f"/proc/{self.pid}/maps") as f:
            return f.read().splitlines()

    def code(self, *files):
        """The bytes in memory of the code of the program, of libc and of these files."""
        out = []
        with open(f"/proc/{self.pid}/mem", "rb") as mem:
            for words in (line.split() for line in self.maps()):
                if "x" in words[1] and len(words) > 5 and (words[5] in (self.file, *files) or "libc.so" in words[5]):
                    start, end = (int(x, 16) for x in words[0].split("-"))
                    mem.seek(start)
                    out.append(mem.read(end - start))
        return out


class Tracer:
    """Returns when the probes of the script fire. pids: for which -p is given; one, or a list."""

    def __init__(self, mode, script, pids, *flags):
        pids = [pids] if isinstance(pids, int) else pids
        self.p = subprocess.Popen([DTRACE, "-q", "-x", "inprocsum", "-x", f"inproc={mode}", *flags, *(x for pid in pids for x in ("-p", str(pid))), "-n",
                                   script + ' tick-20ms /!told/ { told = 1; printf("READY\\n"); }'],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in self.p.stdout:
            if "READY" in line:
                return
        raise ValueError(f"{script}: {self.p.stderr.read()}")

    def end(self, how=signal.SIGINT):
        """
        Ends it by a signal, or, with None, waits for its end. Returns the output, and how many places were (in the process, uprobes), or the messages if none
        were counted. places: (process, (in it, uprobes, relayed)), each time that places were counted.
        """
        if how:
            self.p.send_signal(how)
        out, self.err = self.p.communicate(timeout=60 * PATIENCE)
        self.places = [(int(pid), tuple(int(x or 0) for x in counts)) for *counts, pid in
                       ((n, k, relayed, pid) for n, pid, k, relayed in
                        re.findall(r"(\d+) places? probed in process (\d+) itself, (\d+) by uprobes?(?: \([^)]*\))?(?:, (\d+) relayed)?", self.err))]
        return out, self.places[0][1][:2] if self.places else self.err
