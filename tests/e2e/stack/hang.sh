# @@needs: kernel
# @@exclusive: its files that do not answer would be noticed by other tests
# A program on a FUSE file system whose server stops answering, request by request: records go on to be printed, ^C
# ends the session within a second, nothing of dtrace is left once the server is gone.
[ -c /dev/fuse ] || { echo "there is no /dev/fuse"; exit 67; }
exec python3 - <<'EOF'
import os, re, shutil, signal, struct, subprocess, sys, threading, time

DTRACE, TRIGGER, TMP, PATIENCE = (os.environ[n] for n in ("DTRACE", "TRIGGER", "TMP", "PATIENCE"))
SLOW = (10 if os.environ.get("SANITIZED") else 1) * int(PATIENCE)
NOTICE = "its file system does not answer"
bad = []
with open(f"{TRIGGER}/deep", "rb") as f:  # the pages behind the last one that is mapped: the table of symbols is there
    elf = f.read()
phoff, phnum = struct.unpack_from("<Q", elf, 32)[0], struct.unpack_from("<H", elf, 56)[0]
segments = [struct.unpack_from("<IIQQQQQQ", elf, phoff + i * 56) for i in range(phnum)]
SYMTAB = max(((s[2] + s[5] + 4095) & -4096) for s in segments if s[0] == 1)


class Server:
    """A mounted file system, and a program that runs from there."""

    def __init__(self, name, spins=True, more=()):
        self.mnt = f"{TMP}/{name}"
        os.mkdir(self.mnt)
        self.fs = subprocess.Popen([f"{TRIGGER}/hangfs", self.mnt, f"{TRIGGER}/deep", f"{TRIGGER}/chain", *more],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        first = self.fs.stdout.readline()
        if first != "ready\n":
            print("FUSE cannot be mounted here:", first)
            sys.exit(67)
        self.exe = f"{self.mnt}/deep"
        self.run = None
        if spins:
            self.run = subprocess.Popen([self.exe, "spin", "1000000000"])
            with open(f"/proc/{self.run.pid}/maps") as f:
                while "/mnt" not in f.read() and "deep" not in open(f"/proc/{self.run.pid}/maps").read():
                    time.sleep(0.01)
            while open(f"/proc/{self.run.pid}/stat").read().split()[13:14] < ["3"]:  # it computes: its code is in memory
                time.sleep(0.01)

    def obey(self, line):
        self.fs.stdin.write(line + "\n")
        self.fs.stdin.flush()
        answer = self.fs.stdout.readline()
        while not answer.endswith("done\n"):
            answer += self.fs.stdout.readline()
        return answer

    def end(self):
        if self.run:
            self.run.kill()
        self.fs.stdin.close()
        self.fs.wait()
        if self.run:
            self.run.wait()


def fail(what, text, out=""):
    bad.append(f"{what}: {text}\n{out[-2000:]}")


def readers_of(pid):
    found = []
    for p in os.listdir("/proc"):
        try:
            with open(f"/proc/{p}/cmdline") as f:
                if p.isdigit() and f.read().startswith(f"file-reader of {pid}"):
                    found.append(p)
        except OSError:
            pass
    return found


SCRIPT = """profile-97 /pid == $target/ { @[ustack(5), usym(arg1)] = count(); }
    tick-50ms { printf("tick\\n"); } profile-97 /pid == $target/ { usym(arg1); printf("|\\n"); } tick-2s { exit(3); }"""


def link(path):
    try:
        return os.readlink(path)
    except OSError:  # it was closed meanwhile
        return ""


def no_cpu(task):
    """Seconds for which a thread was ready to run and had no CPU; 0 when it has ended."""
    try:
        with open(f"/proc/{task}/schedstat") as f:
            return int(f.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0


class Session:
    """A session whose lines are read as they come, with the longest pause between two of them."""

    def __init__(self, *argv):
        self.gap = self.waited = 0
        self.text = ""
        self.p = subprocess.Popen([DTRACE, *argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        last, last_waited = time.monotonic(), 0
        for line in self.p.stdout:
            now, waited = time.monotonic(), self.no_cpu() + no_cpu("thread-self")
            if "tick" in self.text:
                self.gap = max(self.gap, now - last - (waited - last_waited))
            last, last_waited = now, waited
            self.text += line

    def no_cpu(self):
        self.waited = max(self.waited, no_cpu(self.p.pid))
        return self.waited

    def is_late(self):
        return self.gap > 0.5 * SLOW

    def seconds_until_it_ends(self):
        """Without those for which it had no CPU."""
        begin, waited = time.monotonic(), self.no_cpu()
        while self.p.poll() is None:
            self.no_cpu()
            time.sleep(0.01)
        return time.monotonic() - begin - (self.waited - waited)

    def wait_for(self, text):
        end = time.monotonic() + 20 * SLOW
        while text not in self.text and self.p.poll() is None and time.monotonic() < end:
            time.sleep(0.01)

    def end(self):
        code = self.p.wait()
        self.thread.join()
        return code


def gone(d, what):
    """The reader ends as soon as the kernel lets it."""
    end = time.monotonic() + 10 * SLOW
    while readers_of(d.p.pid) and time.monotonic() < end:
        time.sleep(0.01)
    if readers_of(d.p.pid):
        fail(what, f"the reader {readers_of(d.p.pid)} is left")


def hang(requests):
    """The file system hangs before the session begins."""
    s = Server("hang_" + requests.replace(" ", "_"))
    s.obey(f"from {SYMTAB}")
    s.obey(f"hang {requests}")
    d = Session("-qn", SCRIPT, "-p", str(s.run.pid))
    code = d.end()
    waits = int(s.obey("asked").split()[0])
    if code != 3:
        fail(requests, f"exit status {code}", d.text)
    if not waits:
        fail(requests, "nobody has asked for anything", d.text)
    if d.is_late():
        fail(requests, f"nothing was printed for {d.gap:.2f} s", d.text)
    told = [t for t in d.text.split("dtrace: ") if NOTICE in t]
    bare, named = re.search(r"deep`0x[0-9a-f]+", d.text), "deep`leaf" in d.text
    # a file that cannot be closed was read before: then nothing is missing, and nothing is to be told
    is_whole = requests == "flush" and named and not bare
    if not is_whole and not told or sum(s.mnt in t for t in told) > 1:  # other tests may have such file systems, too
        fail(requests, "is to be told once", d.text)
    if not is_whole and (named or not bare):
        fail(requests, "addresses have no names", d.text)
    s.end()
    gone(d, requests)


def interrupt():
    """It begins to hang while the session runs; later it answers again."""
    s = Server("interrupt")
    d = Session("-qn", """BEGIN { printf("tick\\n"); } profile-97 /pid == $target/ { usym(arg1); printf("\\n"); }""",
                "-p", str(s.run.pid), "-x", "switchrate=50ms")
    d.wait_for("deep`")
    s.obey("hang open read getattr lookup flush")
    other = subprocess.Popen([f"{TRIGGER}/deep", "spin", "1000000000"])
    time.sleep(0.5)
    d.p.send_signal(signal.SIGINT)
    took = d.seconds_until_it_ends()
    code = d.end()
    other.kill()
    other.wait()
    if code != 0 or took > 1 * SLOW:
        fail("^C", f"status {code}, {took:.2f} s", d.text)
    s.end()


def later():
    """A file system that hangs for a while: names come when it answers again."""
    s = Server("later")
    s.obey("hang open")
    d = Session("-qn", """tick-50ms { printf("tick\\n"); } profile-97 /pid == $target/ { usym(arg1); printf("\\n"); }""",
                "-p", str(s.run.pid))
    d.wait_for(NOTICE)
    s.obey("go")
    d.wait_for("deep`once_spin")
    d.p.send_signal(signal.SIGINT)
    if d.end() != 0 or "deep`0x" not in d.text or "deep`once_spin" not in d.text:
        fail("later", "no names come", d.text)
    s.end()


def functions():
    """Functions of a file that cannot be read: a message with the reason and what to do, not a hang."""
    s = Server("functions")
    s.obey("hang open")
    d = Session("-qn", "pid$target:a.out:leaf:entry { exit(0); }", "-p", str(s.run.pid), "-x", "filewait=50ms")
    took = d.seconds_until_it_ends()
    code = d.end()
    if code != 1 or NOTICE not in d.text or "filewait" not in d.text or took > 2 * SLOW:
        fail("pid", f"status {code}, {took:.2f} s", d.text)
    d = Session("-n", "pid$target::mallo*:entry { } tick-10ms { exit(0); }", "-p", str(s.run.pid),
                "-x", "filewait=50ms")
    if d.end() != 0 or "its functions are not probed" not in d.text:
        fail("pid, a pattern", "is not told", d.text)
    s.end()


def command():
    """A command that cannot even be started does not stop anybody from giving up."""
    s = Server("command", spins=False)
    s.obey("hang open")
    d = Session("-qn", "BEGIN { exit(0); }", "-c", s.exe)
    time.sleep(1)
    d.p.send_signal(signal.SIGINT)
    took = d.seconds_until_it_ends()
    s.end()
    d.end()  # the command could not be killed before, and has the pipe
    if took > 1 * SLOW:
        fail("-c", f"{took:.2f} s", d.text)


def killed():
    """The tracer is killed: its reader goes, too."""
    s = Server("killed")
    d = Session("-qn", """tick-50ms { printf("tick\\n"); } profile-97 /pid == $target/ { usym(arg1); printf("\\n"); }""",
                "-p", str(s.run.pid))
    d.wait_for("deep`once_spin")
    readers = readers_of(d.p.pid)
    if not readers:
        fail("killed", "there is no reader", d.text)
    for p in readers:
        if "bpf-map" in open(f"/proc/{p}/maps").read() or any("bpf" in link(f"/proc/{p}/fd/{n}") for n in os.listdir(f"/proc/{p}/fd")):
            fail("killed", "the reader holds a BPF map")
    d.p.kill()
    d.end()
    gone(d, "killed")
    s.end()


def memory():
    """What looks like an interpreter has a page of a file that does not answer where its helper reads the version."""
    s = Server("memory", spins=False)
    exe = f"{TMP}/python3.11"
    shutil.copy(f"{TRIGGER}/hungpage", exe)
    p = subprocess.Popen([exe, s.exe], stdout=subprocess.PIPE)
    if p.stdout.readline() != b"up\n":
        fail("memory", "the page cannot be mapped")
    s.obey("hang read")
    d = Session("-qn", """profile-97 /pid == $target/ { @[jstack(5)] = count(); } tick-50ms { printf("tick\\n"); }
        tick-2s { exit(3); }""", "-p", str(p.pid))
    try:
        d.p.wait(20 * SLOW)
    except subprocess.TimeoutExpired:
        fail("memory", "the tracer waits for ever")
        d.p.kill()
        s.obey("go")
    code = d.end()
    if code != 3 or "_PyEval_EvalFrameDefault" not in d.text:
        fail("memory", f"exit status {code}", d.text)
    if f"memory of process {p.pid}': {NOTICE}" not in d.text and "no memory at" not in d.text:
        fail("memory", "is not told", d.text)
    d = Session("-qn", "pid$target:a.out:hung_ifunc:entry { } tick-10ms { exit(0); }", "-p", str(p.pid), "-x", "filewait=50ms")
    try:
        d.p.wait(20 * SLOW)
    except subprocess.TimeoutExpired:
        fail("an indirect function", "the tracer waits for ever")
        d.p.kill()
        s.obey("go")
    if d.end() != 1 or "hung_ifunc" not in d.text:
        fail("an indirect function", "is not refused", d.text)
    p.kill()
    p.wait()
    s.end()


def language():
    """The helper of a runtime cannot look for symbols; when the file system answers again, stacks have frames of the language."""
    lua = shutil.which("lua5.4")
    if not lua:
        return
    s = Server("language", spins=False, more=[lua])
    script = f"{TMP}/removes.lua"
    with open(script, "w") as f:
        f.write('local function removes() os.remove("/nonexistent") end\nwhile true do removes() end\n')
    s.run = subprocess.Popen([f"{s.mnt}/lua5.4", script])
    while open(f"/proc/{s.run.pid}/stat").read().split()[13] in "012":  # it computes: its code is in memory
        time.sleep(0.01)
    s.obey("hang read")
    d = Session("-n", """profile-97 /pid == $target/ { jstack(); } tick-50ms { printf("tick\\n"); }""", "-p", str(s.run.pid))
    d.wait_for("tick")
    time.sleep(0.5)
    before = "(removes)" in d.text
    s.obey("go")
    d.wait_for("(removes)")
    d.p.send_signal(signal.SIGINT)
    d.end()
    if before or "(removes)" not in d.text:
        fail("language", "frames are there too soon" if before else "no frames come", d.text)
    s.end()


def many():
    """Twelve file systems that hang take no more of the tracer's time than one."""
    all = [Server(f"many{i}") for i in range(12)]
    for s in all:
        s.obey("hang open")
    d = Session("-qn", """tick-50ms { printf("tick\\n"); } profile-97 /execname == "deep"/ { usym(arg1); printf("\\n"); }
        tick-3s { exit(0); }""")
    code = d.end()
    if code != 0 or d.is_late():
        fail("many", f"status {code}, {d.gap:.2f} s", d.text)
    for s in all:
        s.end()


hang("open")
hang("read")
hang("getattr")
hang("flush")
interrupt()
later()
functions()
command()
killed()
memory()
language()
many()
print("\n".join(bad))
sys.exit(bool(bad))
EOF
