#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What xenstore-snoop costs xenstored, and programs that have nothing to do with it.

    bench/xenstore.py [--build build] [--runs 5] [--only NAME] [--json bench/xenstore.json]

Debian's stock daemon runs without a hypervisor, as in tests/e2e/runtime/xenstore.sh; XEN_ROOT is a folder with the unpacked packages, if
they are not installed. A client reads one name again and again. Times are processor time of the daemon (or of the program) for each
request (or call), with the kernel's BPF programs in it: other load changes them little. The share is that of 10,000 requests a second.
"""
import glob, os, shutil, socket, struct, subprocess, sys, tempfile, time

from pairs import ROOT, Bench, median

REQUESTS = 20000
LATEST = 60  # seconds that the daemon may take for anything
XS_READ, XS_MKDIR, XS_WRITE = 2, 12, 11


def daemon_start(folder):
    root = os.environ.get("XEN_ROOT", "")
    found = glob.glob(f"{root}/usr/lib/xen-*/bin/xenstored")
    if not found:
        sys.exit("bench/xenstore.py: no xenstored is installed (package xen-utils-VERSION); XEN_ROOT names a folder with unpacked packages")
    os.mkdir(f"{folder}/lib")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", f"{folder}/lib/machine.so", f"{ROOT}/tests/e2e/runtime/xenstore_machine.c"], check=True)
    needed = subprocess.run(["readelf", "-d", found[0]], stdout=subprocess.PIPE, text=True, check=True).stdout
    for line in needed.splitlines():
        if "NEEDED" in line and "[libxen" in line:
            os.symlink("machine.so", f"{folder}/lib/" + line.split("[")[1].split("]")[0])
    run = f"{folder}/run"
    os.mkdir(run)
    for name in ("to", "from"):
        os.mkfifo(f"{run}/{name}")
    with open(f"{run}/port", "w") as f:
        f.write("7\n")
    env = {**os.environ, "XEN_STUB": run, "XENSTORED_RUNDIR": run, "XENSTORED_ROOTDIR": run, "LD_LIBRARY_PATH": f"{folder}/lib", "LD_PRELOAD": f"{folder}/lib/machine.so"}
    with open(found[0], "rb") as f:
        in_memory = ["--internal-db=on"] * (b"internal-db" in f.read())
    p = subprocess.Popen([found[0], "-N", *in_memory], env=env, stderr=subprocess.DEVNULL)
    until = time.monotonic() + LATEST
    while not os.path.exists(f"{run}/socket"):
        if p.poll() is not None or time.monotonic() > until:
            p.kill()
            sys.exit("bench/xenstore.py: xenstored does not start")
        time.sleep(0.01)
    return p, f"{run}/socket"


class Client:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(LATEST)
        self.socket.connect(path)

    def take(self, n):
        data = b""
        while len(data) < n:
            piece = self.socket.recv(n - len(data))
            if not piece:
                sys.exit("bench/xenstore.py: xenstored has ended")
            data += piece
        return data

    def ask(self, kind, body):
        self.socket.sendall(struct.pack("<4I", kind, 0, 0, len(body)) + body)
        return self.take(struct.unpack("<4I", self.take(16))[3])


def cpu_ns(pid):
    """Processor time of a process: it has one thread."""
    with open(f"/proc/{pid}/schedstat") as f:
        return int(f.read().split()[0])


class Snoop:
    """The command, until the end; None: nothing traces."""

    def __init__(self, dtrace, client, args):
        self.p = subprocess.Popen([f"{ROOT}/commands/command", f"{ROOT}/commands/xenstore-snoop", *args], stdout=subprocess.PIPE,
                                  env={**os.environ, "DTRACE": dtrace})
        if not self.p.stdout.readline().startswith(b"DOM "):  # its title: it traces
            sys.exit(f"bench/xenstore.py: xenstore-snoop has ended with status {self.p.wait()} before it traced")
        self.drain = subprocess.Popen(["cat"], stdin=self.p.stdout, stdout=subprocess.DEVNULL)

    def end(self):
        status = self.p.poll()
        self.p.terminate()
        self.p.wait()
        self.drain.wait()
        if status is not None:
            sys.exit(f"bench/xenstore.py: xenstore-snoop has ended with status {status} while it was measured")


def main():
    bench = Bench("xenstore", runs=5, width=52, digits=0, peer="untraced", alone=None)
    folder = tempfile.mkdtemp()
    daemon, path = daemon_start(folder)
    try:
        client = Client(path)
        client.ask(XS_WRITE, b"/local/domain/6/name\0guest")

        def requests():
            before = cpu_ns(daemon.pid)
            for _ in range(REQUESTS):
                client.ask(XS_READ, b"/local/domain/6/name\0")
            return (cpu_ns(daemon.pid) - before) / REQUESTS

        def calls(opened):
            """Another program's read() and write(), of which the script is no part."""
            code = (f"import os, socket, time\n{opened}; b = bytes(1)\nt = time.process_time_ns()\n"
                    f"for _ in range({10 * REQUESTS}): os.write(w, b); os.read(r, 1)\nprint((time.process_time_ns() - t) / {20 * REQUESTS})")
            return float(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout)

        def file_calls():
            return calls("r = os.open('/dev/zero', 0); w = os.open('/dev/null', 1)")

        def socket_calls():
            return calls("pair = socket.socketpair(); r, w = (s.fileno() for s in pair)")

        bench.heading()
        for name, args, work, unit, of in (("xenstore-snoop, a request", [], requests, "ns", "+ 2,000 ns (2 % at 10,000/s)"),
                                           ("xenstore-snoop -e, a request", ["-e"], requests, "ns", ""),
                                           ("another program, a read() or write()", [], file_calls, "ns", "+ 100 ns"),
                                           ("another program, the same of a socket", [], socket_calls, "ns", "+ 100 ns")):
            def traced():
                snoop = Snoop(bench.dtrace, client, args)
                try:
                    return work()
                finally:
                    snoop.end()

            bench.row(name, traced, work, unit, of)
            if name in bench.raw and work is requests:
                raw = bench.raw[name]
                added = median(raw["fathom"]) - median(raw["untraced"])
                print(f"{'  added':<52} {added:12.0f} {'':>12} {'ns':>4}   {added / 1e3:.2f} % of a processor at 10,000 requests a second", flush=True)
        bench.save()
    finally:
        daemon.kill()
        daemon.wait()
        shutil.rmtree(folder)


main()
