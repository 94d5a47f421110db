# SPDX-License-Identifier: MIT
"""For tests of crash capture: the machine's core_pattern for a while, captures, and core files compared byte for byte."""
import atexit, fcntl, os, shutil, signal, struct, subprocess, sys, time

sys.path.insert(0, os.environ["SRC"] + "/tests/e2e")
from core_files import LOCK, PATTERN

signal.signal(signal.SIGQUIT, signal.SIG_DFL)  # a shell starts its background jobs without it, and programs here are to die of it

BUILD, SRC, TMP = os.environ["BUILD"], os.environ["SRC"], os.environ["TMP"]
PROGRAM = os.path.join(BUILD, "src/cmd/capture/fathom-crash-capture")
SKIP = 67
LONGEST = 240  # so many seconds a test can have the pattern
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{str(shown)[:4000]}", flush=True)


def skip(why):
    print(f"skip: {why}")
    sys.exit(SKIP)


def done():
    sys.exit(1 if failed else 0)


class Pattern:
    """The pattern belongs to the machine: one test at a time has it, and it is as it was afterwards, whatever happens."""

    def __init__(self, new):
        self.new, self.old = new, None

    def __enter__(self):
        self.lock = open(LOCK, "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.old = open(PATTERN, "rb").read()
        atexit.register(self.restore)
        for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGALRM):
            signal.signal(n, lambda *_: sys.exit(f"ended by a signal, or the pattern was needed for {LONGEST} s"))
        signal.alarm(LONGEST)
        self.write(self.new)
        return self

    def write(self, text):
        with open(PATTERN, "wb") as f:
            f.write(text.encode() + b"\n")
        shown = open(PATTERN).read().rstrip("\n")
        check(shown == text, "the kernel has cut the pattern", shown)

    def restore(self):
        if self.old is not None:
            with open(PATTERN, "wb") as f:
                f.write(self.old)
            self.old = None

    def __exit__(self, *_):
        signal.alarm(0)
        self.restore()
        self.lock.close()


def can_write_pattern():
    return os.geteuid() == 0 and os.access(PATTERN, os.W_OK)


class Store:
    """A store and its configuration in the test's folder. A short path of the capturer, because a pattern has at most 127 bytes."""

    def __init__(self, name="s"):
        self.dir = os.path.join(TMP, name)
        os.mkdir(self.dir, 0o700)
        self.config = os.path.join(TMP, name + ".conf")
        self.program = os.path.join(TMP, "c")
        if not os.path.exists(self.program):
            shutil.copy(PROGRAM, self.program)
        self.configure()

    def configure(self, **keys):
        keys = {"store": self.dir, "analyser": "", **keys}
        with open(os.open(self.config, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w") as f:
            f.write("# of a test\n" + "".join(f"{k}={v}\n" for k, v in keys.items()))

    def pattern(self, specifiers="%P %I %s %t %d %c %u %g %F"):
        return f"|{self.program} config={self.config} pipe {specifiers}"

    def ids(self, pid=None):
        return sorted(n for n in os.listdir(self.dir) if n[0] == "2" and (pid is None or n.split("-")[1] == str(pid)))

    def wait(self, pid, seconds=60):
        """The capture of that process, as soon as it is whole; None: there came none."""
        end = time.monotonic() + seconds
        while True:
            found = self.ids(pid)
            if found:
                return Capture(os.path.join(self.dir, found[-1]))
            if time.monotonic() >= end:
                return None
            time.sleep(0.01)

    def counts(self):
        out = []
        folder = os.path.join(self.dir, "counts")
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            data = open(os.path.join(folder, name), "rb").read()
            magic, *rest = struct.unpack_from("<Q16QQQQII64s256s", data)
            out.append({"magic": magic, "times": [t for t in rest[:16] if t], "counted": rest[16], "counted_ever": rest[17], "signal": rest[19],
                        "pid": rest[20], "last_id": rest[21].split(b"\0")[0].decode(), "exe": rest[22].split(b"\0")[0].decode()})
        return out


class Capture:
    def __init__(self, folder):
        self.folder, self.name = folder, os.path.basename(folder)
        self.text = open(os.path.join(folder, "capture")).read()
        self.keys = dict(line.split("=", 1) for line in self.text.splitlines())

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def number(self, key):
        return int(self.keys.get(key, "-2"), 0)


class Core:
    """An ELF64 core file: its notes and what it has of the memory."""

    def __init__(self, path):
        self.path = path
        self.data = open(path, "rb").read()
        d = self.data
        assert d[:5] == b"\x7fELF\x02", path
        phoff, = struct.unpack_from("<Q", d, 32)
        phentsize, n = struct.unpack_from("<HH", d, 54)
        self.loads, self.notes = [], b""
        for i in range(n):
            kind, flags, off, va, _, fsz, msz, _ = struct.unpack_from("<IIQQQQQQ", d, phoff + i * phentsize)
            if kind == 4:
                self.notes = d[off:off + fsz]
            elif kind == 1:
                self.loads.append((va, msz, off, fsz, flags))

    def memory(self, addr, size):
        """The bytes, or None if one of them is not there."""
        out = b""
        while size:
            for va, msz, off, fsz, _ in self.loads:
                if va <= addr < va + fsz:
                    part = self.data[off + addr - va:off + min(va + fsz, addr + size) - va]
                    break
            else:
                return None
            if not part:
                return None
            out, addr, size = out + part, addr + len(part), size - len(part)
        return out

    def each_note(self):
        at = 0
        while at + 12 <= len(self.notes):
            nsz, dsz, kind = struct.unpack_from("<III", self.notes, at)
            desc = at + 12 + (nsz + 3 & ~3)
            yield kind, self.notes[desc:desc + dsz]
            at = desc + (dsz + 3 & ~3)

    def stack_pointers(self):
        """Of all threads; x86-64, the machine of this test's program."""
        return [struct.unpack_from("<Q", d, 112 + 19 * 8)[0] for kind, d in self.each_note() if kind == 1]


def cores_differ(ours, kernels):
    """What a core says otherwise than the kernel's of the same process; an empty text: nothing."""
    if ours.notes != kernels.notes:
        return "the notes differ"
    spans = [(va, va + msz) for va, msz, *_ in kernels.loads]
    for va, msz, off, fsz, flags in ours.loads:
        if off + fsz > len(ours.data):
            return f"the part at {va:#x} is not in the file"
        if not any(s <= va and va + msz <= e for s, e in spans):
            return f"the kernel has no memory at {va:#x}"
        if fsz and ours.data[off:off + fsz] != kernels.memory(va, fsz):
            return f"the memory at {va:#x} differs"
    covered = sum(msz for _, msz, *_ in ours.loads)
    return "" if covered == sum(e - s for s, e in spans) else "not all mappings have a program header"


def die(program, how, *args, **kwargs):
    """Starts the program, waits until it is gone; returns its pid and signal."""
    kwargs = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **kwargs}
    p = subprocess.Popen([program, how, *args], **kwargs)
    return p.pid, -p.wait(timeout=120)
