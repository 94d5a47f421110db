# SPDX-License-Identifier: MIT
"""Clients of a xenstored whose hypervisor is a preloaded library: what xenstore-snoop prints is what they have asked and were
answered, and what the daemon's own trace (-T) says.

The library (xenstore_machine.c) has the rings as files, so this program plays the kernels of domains 0 and 6.
"""
import contextlib, fcntl, glob, json, mmap, os, re, select, signal, socket, struct, subprocess, sys, termios, time

TMP, SRC, DTRACE, ROOT = os.environ["TMP"], os.environ["SRC"], os.environ["DTRACE"], os.environ["ROOT"]
WAY = sys.argv[1]  # "calls" or "sockets": what xenstore:::msg is made of
RUN = f"{TMP}/run"
LATEST = 100  # seconds that anything may take
TYPES = ["CONTROL", "DIRECTORY", "READ", "GET_PERMS", "WATCH", "UNWATCH", "TRANSACTION_START", "TRANSACTION_END", "INTRODUCE", "RELEASE",
         "GET_DOMAIN_PATH", "WRITE", "MKDIR", "RM", "SET_PERMS", "WATCH_EVENT", "ERROR", "IS_DOMAIN_INTRODUCED", "RESUME", "SET_TARGET",
         "RESTRICT", "RESET_WATCHES", "DIRECTORY_PART"]
NUMBER = {name: i for i, name in enumerate(TYPES)}
rows = []  # what clients know: (domain, process, transaction or None, type, request, answer, error)
failed = []


def text_of(body):
    """The texts of a body as one: without the NUL at its end, spaces for the others."""
    return (body[:-1] if body.endswith(b"\0") else body).replace(b"\0", b" ")


def check(what, got, want):
    if got != want:
        failed.append(f"{what}: {got!r}, expected {want!r}")


class Client:
    """One connection; send() and receive() move bytes of it."""
    pid, dom = os.getpid(), 0

    def message_receive(self):
        kind, req, tx, size = struct.unpack("<4I", self.receive(16))
        return kind, req, tx, self.receive(size)

    def head(self, kind, size, tx=0, req=0):
        return struct.pack("<4I", NUMBER.get(kind, kind), req, tx, size)

    def answer_take(self, kind, body, tx=0, req=0):
        """Notes the answer, and the watch events before it."""
        while True:
            got, req_got, tx_got, answer = self.message_receive()
            if got == NUMBER["WATCH_EVENT"]:
                rows.append((self.dom, self.pid, None, "XS_WATCH_EVENT", text_of(answer), b"", b""))
                continue
            check("number and transaction of the answer", (req_got, tx_got), (req, tx))
            is_error = got == NUMBER["ERROR"]
            name = "XS_" + kind if isinstance(kind, str) else f"XS_{kind}"
            rows.append((self.dom, self.pid, tx, name, text_of(body), b"" if is_error else text_of(answer), text_of(answer) if is_error else b""))
            return answer

    def ask(self, kind, body=b"", tx=0, req=0):
        self.send(self.head(kind, len(body), tx, req) + body)
        return self.answer_take(kind, body, tx, req)

    def event_take(self):
        kind, _, _, body = self.message_receive()
        check("type of an event", kind, NUMBER["WATCH_EVENT"])
        rows.append((self.dom, self.pid, None, "XS_WATCH_EVENT", text_of(body), b"", b""))


class Program(Client):
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(LATEST)
        self.socket.connect(f"{RUN}/socket")
        self.send = self.socket.sendall

    def receive(self, size):
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                raise EOFError("the daemon has closed the connection")
            data += piece
        return data


class Kernel(Client):
    """Another end of a ring: 1,024 bytes of requests, as many of answers, then how many of each were taken and put there."""
    pid, to, from_daemon = 0, None, None

    def __init__(self, dom):
        self.dom = dom
        with open(f"{RUN}/ring-{dom}", "r+b") as f:
            self.ring = mmap.mmap(f.fileno(), 4096)
        if Kernel.to is None:
            Kernel.to, Kernel.from_daemon = (os.open(f"{RUN}/{name}", os.O_RDWR) for name in ("to", "from"))

    def counters(self, at):
        return struct.unpack_from("<2I", self.ring, at)

    def notify(self):
        os.write(self.to, struct.pack("<I", 100 + self.dom))

    def wait(self):
        if not select.select([self.from_daemon], [], [], LATEST)[0]:
            raise TimeoutError("the daemon does not notify")
        os.read(self.from_daemon, 4096)

    def send(self, data):
        while data:
            taken, put = self.counters(2048)
            room = 1024 - (put - taken & 0xffffffff)
            if not room:
                self.wait()
                continue
            for byte in data[:room]:
                self.ring[put % 1024] = byte
                put += 1
            struct.pack_into("<I", self.ring, 2052, put & 0xffffffff)
            data = data[room:]
            self.notify()

    def receive(self, size):
        data = b""
        while len(data) < size:
            taken, put = self.counters(2056)
            if taken == put:
                self.wait()
                continue
            while taken != put and len(data) < size:
                data += self.ring[1024 + taken % 1024:1025 + taken % 1024]
                taken += 1
            struct.pack_into("<I", self.ring, 2056, taken & 0xffffffff)
            self.notify()
        return data


# ---- what is asked ------------------------------------------------------------------------------


def bytes_left(sock):
    """How many bytes the other end of a socket has not taken yet: SIOCOUTQ."""
    return struct.unpack("<i", fcntl.ioctl(sock, termios.TIOCOUTQ, b"\0" * 4))[0]


def programs_play():
    c = Program()
    c.ask("MKDIR", b"/local/domain/6\0")                # a body as long as a head
    c.ask("WRITE", b"/local/domain/6/name\0guest")
    c.ask("READ", b"/local/domain/6/name\0")
    c.ask("READ", b"/nope\0", req=7)
    tx = int(c.ask("TRANSACTION_START", b"\0")[:-1])
    c.ask("WRITE", b"/local/domain/6/memory\0" + b"1" * 16, tx)
    c.ask("DIRECTORY", b"/local/domain/6\0", tx)
    c.ask("TRANSACTION_END", b"T\0", tx)
    c.ask("SET_PERMS", b"/local/domain/6/memory\0n0\0r6\0")
    c.ask("GET_PERMS", b"/local/domain/6/memory\0")
    c.ask("WATCH", b"/local/domain/6/name\0the token\0")
    c.event_take()
    c.ask("WRITE", b"/local/domain/6/name\0other")     # the event comes before the answer
    c.ask("UNWATCH", b"/local/domain/6/name\0the token\0")
    c.ask("RESET_WATCHES", b"")                         # without a body
    c.ask("GET_DOMAIN_PATH", b"6\0")
    c.ask("IS_DOMAIN_INTRODUCED", b"6\0")
    c.ask("INTRODUCE", b"6\0" b"1234\0" b"5\0")
    c.ask("RESUME", b"6\0")
    c.ask("SET_TARGET", b"6\0" b"0\0")
    c.ask("CONTROL", b"print\0a text\0")
    c.ask("CONTROL", b"nonesuch\0")
    c.ask("RESTRICT", b"6\0")
    c.ask(23, b"x\0")
    c.ask(4000000000, b"x\0")
    c.ask("WRITE", b"/local/bytes\0" + bytes(range(1, 32)) + b"\x7f\x80\xff")
    c.ask("READ", b"/local/bytes\0")
    c.ask("WRITE", b"/local/full\0" + b"f" * (4096 - 12))
    for i in range(60):                                 # an answer of more than the ring has room for
        c.ask("MKDIR", b"/local/many/%d-%s\0" % (i, b"n" * 20))
    c.ask("DIRECTORY", b"/local/many\0")
    c.ask("DIRECTORY_PART", b"/local/many\0" b"0\0")
    body = b"/local/domain/6/name\0"
    for cuts in ((8, 20), (15,), (16,), (3, 16, 17, 30)):  # in pieces, each of which the daemon has taken before the next comes
        data, at = c.head("READ", len(body), req=9) + body, 0
        for cut in cuts:
            c.send(data[at:cut])
            at = cut
            while bytes_left(c.socket):
                time.sleep(0.001)
        c.send(data[at:])
        c.answer_take("READ", body, req=9)
    paths = [b"/local/many/%d-%s\0" % (i, b"n" * 20) for i in range(5)]
    c.send(b"".join(c.head("READ", len(p), req=100 + i) + p for i, p in enumerate(paths)))
    for i, p in enumerate(paths):
        c.answer_take("READ", p, req=100 + i)
    return c


def kernels_play(c):
    guest, dom0 = Kernel(6), Kernel(0)
    guest.ask("READ", b"device/vif/0/type\0")
    guest.ask("READ", b"name\0", req=1)
    guest.ask("WATCH", b"name\0FFFFFF0177B8F048\0", req=2)
    guest.event_take()
    c.ask("WRITE", b"/local/domain/6/name\0third")
    guest.event_take()
    guest.ask("DIRECTORY", b"/local/many\0", req=3)     # in two pieces
    guest.ask("WRITE", b"/local/domain/6/data\0" + b"d" * 2500, req=4)
    guest.ask("RM", b"/local\0")
    dom0.ask("READ", b"/local/domain/6/name\0", req=77)
    dom0.ask("TRANSACTION_START", b"\0")
    return guest


def tools_play():
    env = {**os.environ, "XENSTORED_RUNDIR": RUN}
    if ROOT:
        env["LD_LIBRARY_PATH"] = f"{ROOT}/usr/lib/x86_64-linux-gnu"
    for name, args, kind, body, answer, tx in (("write", ["/tool/a", "b c"], "WRITE", b"/tool/a b c", b"OK", 0),
                                               ("read", ["/tool/a"], "READ", b"/tool/a", b"b c", 0),
                                               ("list", ["/tool"], "DIRECTORY", b"/tool", b"xenstored a", 1),
                                               ("rm", ["/tool/a"], "RM", b"/tool/a", b"OK", 1)):
        p = subprocess.Popen([f"{ROOT}/usr/bin/xenstore-{name}", *args], env=env, stdout=subprocess.PIPE)
        p.communicate(timeout=LATEST)
        check(f"status of xenstore-{name}", p.returncode, 0)
        rows.append((0, p.pid, tx, "XS_" + kind, body, answer, b""))
        if tx:
            rows.append((0, p.pid, 0, "XS_TRANSACTION_START", b"", b"1", b""))
            rows.append((0, p.pid, 1, "XS_TRANSACTION_END", b"T", b"OK", b""))


# ---- what is compared ---------------------------------------------------------------------------


def trace_rows(text):
    """The rows of the daemon's trace, without what it does not tell: type, request, answer, error; in its order."""
    waiting, found = {}, []
    way = rb"IN|OUT|OUT\(START\)|OUT\(END\)"  # the latter in place of OUT where an answer is sent in several pieces
    entries = rb"""^(?:io:\ )?(""" + way + rb""")\ (0x[0-9a-f]+)\ (?:\(d\d+\)\ )?\d+\ [\d:]+\ (\S+)\ \((.*?)\)\n
               (?=(?:\w+:\ )?(?:""" + way + rb"""|CREATE|DESTROY|TRANSACTION|CONN|watch|dom)\ |\Z)"""
    for way, conn, kind, body in re.findall(entries, text, re.M | re.S | re.X):
        name, body = b"XS_" + kind, body.removesuffix(b" ")
        if way == b"IN":
            waiting[conn] = waiting.get(conn, []) + [(name, body)]
        elif way == b"OUT(END)":
            continue
        elif kind == b"WATCH_EVENT":
            found.append((name, body, b"", b""))
        elif kind == b"ERROR":
            found.append((*waiting[conn].pop(0), b"", body))
        else:
            found.append((*waiting[conn].pop(0), body, b""))
    return found


def escaped(text):
    """As a table has it: bytes that are no text as escapes."""
    names = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}
    return "".join(names.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in text)


def line_of(row):
    dom, pid, tx, kind, request, answer, error = row
    head = f"{dom:<4} {pid:<8} {'-' if tx is None else tx:<6} "
    if tx is None:
        return f"{head}{kind}: {escaped(request)}"
    return f"{head}{'[ERROR] ' if error else ''}{kind}: {escaped(request)} -> {escaped(error or answer)}"


class Snoop:
    def __init__(self, *args):
        self.args, self.err = args, open(f"{TMP}/snoop.err", "a+")
        self.p = subprocess.Popen([f"{SRC}/commands/command", f"{SRC}/commands/xenstore-snoop", *args], stdout=subprocess.PIPE, stderr=self.err)
        self.lines = []

    def begin(self, c):
        """Until it traces: its title says so, or that it shows a request. Which ones it has seen before then is no matter."""
        self.title = "" if "-j" in self.args else self.p.stdout.readline().decode()
        while "-j" in self.args and not select.select([self.p.stdout], [], [], 0.2)[0]:
            c.ask("READ", b"/start\0")

    def tracepoints(self):
        """Those that have a program of the command."""
        found = set()
        for path in glob.glob(f"/proc/{self.p.pid}/fdinfo/*"):
            with contextlib.suppress(OSError), open(path) as f:
                found.update(re.findall(r"^tp_name:\s*(\S+)", f.read(), re.M))
        return found

    def end(self):
        """Takes the lines up to the first request for /the/end."""
        for line in iter(self.p.stdout.readline, b""):
            if b"/the/end" in line:
                break
            if b"/start" not in line:
                self.lines.append(line.decode("utf-8", "surrogateescape").rstrip("\n"))
        else:
            failed.append(f"{self.args}: ended before it had /the/end")
        self.p.send_signal(signal.SIGINT)
        self.p.communicate()


def daemon_start():
    os.makedirs(RUN)
    for name in ("to", "from"):
        os.mkfifo(f"{RUN}/{name}")
    with open(f"{RUN}/port", "w") as f:
        f.write("7\n")
    env = {**os.environ, "XEN_STUB": RUN, "XENSTORED_RUNDIR": RUN, "XENSTORED_ROOTDIR": RUN, "LD_LIBRARY_PATH": f"{TMP}/lib", "LD_PRELOAD": f"{TMP}/lib/machine.so"}
    with open(os.environ["DAEMON"], "rb") as f:
        in_memory = ["--internal-db=on"] * (b"internal-db" in f.read())  # since Xen 4.20 it is always
    p = subprocess.Popen([os.environ["DAEMON"], "-N", *in_memory, "-T", f"{RUN}/trace"], env=env, stderr=open(f"{TMP}/daemon.err", "w"))
    until = time.monotonic() + LATEST
    while not os.path.exists(f"{RUN}/socket"):
        if p.poll() is not None or time.monotonic() > until:
            sys.exit(f"xenstored does not start:\n{open(f'{TMP}/daemon.err').read()}")
        time.sleep(0.01)
    return p


def same_check(what, got, wanted):
    got, wanted = sorted(got), sorted(wanted)
    failed.extend(f"{what}: not printed: {line}" for line in wanted if line not in got)
    failed.extend(f"{what}: not asked: {line}" for line in got if line not in wanted)
    check(f"{what}: number of lines", len(got), len(wanted))


def trace_check(lines, told):
    """The daemon's trace has the same in the same order, without domains, processes, transactions, and names of types it does not know."""
    ops = [re.sub(r"XS_(RESTRICT|\d+):", "XS_**UNKNOWN**:", re.sub(r"^\d+ +\d+ +[-\d]+ +", "", line)) for line in lines]
    trace = [(f"{k.decode()}: {escaped(r)}" if k == b"XS_WATCH_EVENT" else f"{'[ERROR] ' if e else ''}{k.decode()}: {escaped(r)} -> {escaped(e or a)}")
             for k, r, a, e in trace_rows(told) if r != b"/start"]
    check("number of answers and events in the trace", len(trace), len(ops))
    failed.extend(f"line {i}: {a}\n  the daemon's trace: {b}" for i, (a, b) in enumerate(zip(ops, trace)) if a != b)


def all_compare():
    first = Program()
    everything, errors, guests = snoops = [Snoop(), Snoop("-j", "-e", "-d", "0"), Snoop("-t", "-d", "6")]
    for s in snoops:
        s.begin(first)
    check("title", everything.title, "DOM  PID      TX     OP\n")
    check("title -t", guests.title, "TIME                       US DOM  PID      TX     OP\n")
    # of a kernel that has tracepoints of sockets no other call is traced
    calls = {"sys_enter", "sys_exit"} if WAY == "calls" else {"sock_recv_length", "sock_send_length"}
    check("tracepoints", everything.tracepoints() & {"sys_enter", "sys_exit", "sock_recv_length", "sock_send_length"}, calls)
    c = programs_play()
    guest = kernels_play(c)
    tools_play()
    with open(f"{RUN}/trace", "rb") as f:
        told = f.read()
    asked = [row for row in rows if row[4] != b"/start"]
    c.ask("READ", b"/the/end\0")
    guest.ask("READ", b"/the/end\0")
    for s in snoops:
        s.end()
    same_check("lines", everything.lines, map(line_of, asked))
    trace_check(everything.lines, told)
    objects = list(map(json.loads, errors.lines))
    same_check("-j -e -d 0", [str([o[k] for k in ("dom", "pid", "tx", "type", "request", "answer", "error")]) for o in objects],
               [str([x.decode() if isinstance(x, bytes) else x for x in row]) for row in asked if row[0] == 0 and row[6]])
    check("times of -j", [o["us"] for o in objects if o["us"] < 0], [])
    same_check("-t -d 6", [re.sub(r"^20\d\d \w{3} [ \d]\d [\d:]{8} +(\d+|-) ", "", line) for line in guests.lines],
               [line_of(row) for row in asked if row[0] == 6])


def main():
    daemon = daemon_start()
    try:
        all_compare()
    finally:
        daemon.kill()
        daemon.wait()
    for line in failed[:30]:
        print(line[:400])
    sys.exit(bool(failed))


main()
