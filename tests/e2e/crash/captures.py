# SPDX-License-Identifier: MIT
"""What tests of reports share: programs that crash when they are told to, and entries of a store as the capturer writes them."""
import json, os, shutil, subprocess, sys, time

sys.path[:0] = [os.environ["SRC"] + "/tests/e2e/mdb", os.environ["SRC"] + "/tests/e2e"]
sys.dont_write_bytecode = True
from cores import notes_first
from core_files import kernel_cores, pattern_read

ANALYSE, TMP, SRC = os.environ["BUILD"] + "/src/cmd/crash/fathom-crash", os.environ["TMP"], os.environ["SRC"]
MDB = os.environ["BUILD"] + "/src/cmd/mdb/mdb"
PROC = ("status", "cmdline", "environ", "maps", "limits", "cgroup", "io", "stat", "oom_score", "smaps_rollup")
failed, number = [], [0]


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{shown}")


def finish():
    sys.exit(1 if failed else 0)


def skip(why):
    print(why)
    sys.exit(67)


def escaped(data):
    """As the capturer writes bytes: control characters, backslashes, and what is no UTF-8."""
    out = ""
    for c in data.decode("utf-8", "surrogateescape"):
        bad = ord(c) < 32 or 0x7f <= ord(c) < 0xa0 or c == "\\" or 0xdc80 <= ord(c) <= 0xdcff
        out += "".join(f"\\x{b:02x}" for b in c.encode("utf-8", "surrogateescape")) if bad else c
    return out


class Died:
    """A process that has crashed: its core, and what /proc knew of it before."""

    def __init__(self, argv, name, env=None, log=None, executable=None):
        self.dir = f"{TMP}/{name}"
        os.mkdir(self.dir)
        err = open(self.dir + "/log", "wb+")
        self.core = self.dir + "/core"
        by_kernel = pattern_read() == "core"
        if not by_kernel and not shutil.which("gdb"):
            skip("gdb is not installed, and the kernel writes no core into the folder of a process")
        read, write = os.pipe()
        told, tell = os.pipe()
        os.set_inheritable(write, True)
        os.set_inheritable(told, True)
        p = subprocess.Popen(["sh", "-c", 'ulimit -c unlimited; exec "$@"', "sh", *argv], cwd=self.dir, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=err, env={**os.environ, **(env or {}), "READY": str(write), "TOLD": str(told)}, close_fds=False)
        os.close(write)
        os.close(told)
        line = os.fdopen(read).readline()  # the program has written its pid, and waits
        if not line:
            p.wait()
            skip(f"{argv[0]} does not run here: " + open(self.dir + "/log", errors="replace").read()[-500:])
        self.pid = int(line)
        self.proc = {f: open(f"/proc/{self.pid}/{f}", "rb").read() for f in PROC}
        self.exe, self.cwd = os.readlink(f"/proc/{self.pid}/exe"), os.readlink(os.fsencode(f"/proc/{self.pid}/cwd"))
        self.fds = [(n, os.readlink(f"/proc/{self.pid}/fd/{n}")) for n in sorted(os.listdir(f"/proc/{self.pid}/fd"), key=int)]
        end = time.monotonic() + 10
        while True:  # until the other threads have begun, and wait for something
            self.tasks = [(t, open(f"/proc/{self.pid}/task/{t}/comm", "rb").read()[:-1], open(f"/proc/{self.pid}/task/{t}/syscall").read().strip())
                          for t in os.listdir(f"/proc/{self.pid}/task")]
            if time.monotonic() > end or not any(call == "running" for t, _, call in self.tasks if t != str(self.pid)):
                break
            time.sleep(0.01)
        if by_kernel:
            with kernel_cores():
                os.close(tell)
                p.wait()
        else:  # gdb goes on with the process once it has attached to it
            fifo = self.dir + "/attached"
            os.mkfifo(fifo)
            g = subprocess.Popen(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", f"shell : >{fifo}", "-ex", "continue",
                                  "-ex", f"generate-core-file {self.core}", "-ex", "kill", "-p", str(self.pid)],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            open(fifo).close()
            os.close(tell)
            g.wait()
        p.wait()
        self.log = open(self.dir + "/log", "rb").read() if log is None else log
        if not os.path.exists(self.core):
            skip(f"{argv[0]} has left no core: " + self.log.decode("utf-8", "replace")[-500:])
        if not by_kernel and os.path.getsize(self.core) < 32 << 20:  # so that a part of it is of use
            whole = open(self.core, "rb").read()
            open(self.core, "wb").write(notes_first(whole))

    def entry(self, store, core=None, **more):
        """Makes an entry of the store; returns its id."""
        number[0] += 1
        ident = time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + f"-{self.pid}-{number[0]:06x}"
        folder = f"{store}/{ident}"
        os.makedirs(folder + "/proc")
        os.chmod(folder, 0o700)
        if core is None:
            subprocess.run(["cp", "--sparse=always", self.core, folder + "/core"], check=True)
        else:
            open(folder + "/core", "wb").write(core)
        keys = {"format": "1", "id": ident, "pid": str(self.pid), "tid": str(self.pid), "ns_pid": str(self.pid), "time_ns": str(time.time_ns()), "signal": "11",
                "dumpable": "1", "uid": "0", "gid": "0", "euid": "0", "egid": "0", "exe": self.exe, "cwd": os.fsdecode(self.cwd), "comm": "x", "keep": "heap",
                "kept": "heap", "way": "pipe", "cgroup": "/", "threads": "1", "waited_ns": "1000000", **more}
        open(folder + "/capture", "w").write("".join(f"{k}={escaped(os.fsencode(v))}\n" for k, v in keys.items()))
        for name, data in self.proc.items():
            open(f"{folder}/proc/{name}", "wb").write(data)
        open(folder + "/proc/fd", "w").write("".join(f"{n}\t{escaped(os.fsencode(t))}\t0\t0100000\n" for n, t in self.fds))
        open(folder + "/proc/task", "w").write("".join(f"{t}\tS\t{escaped(c)}\t{s}\t\n" for t, c, s in self.tasks))
        open(folder + "/log", "wb").write(self.log)
        return ident


WAIT = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void wait_for_it(void)
{
	char c, text[32];
	int n = snprintf(text, sizeof(text), "%d\\n", (int)getpid());
	if (write(atoi(getenv("READY")), text, n) == n && read(atoi(getenv("TOLD")), &c, 1) == 0)
		return;
	_exit(3);
}
"""


def compiled(name, source, *flags):
    if not shutil.which("cc"):
        skip("cc is not installed")
    open(f"{TMP}/{name}.c", "w").write(WAIT + source)
    subprocess.run(["cc", "-g", "-O0", "-o", f"{TMP}/{name}", f"{TMP}/{name}.c", "-pthread", *flags], check=True)
    return f"{TMP}/{name}"


def store_make(name="store"):
    os.mkdir(f"{TMP}/{name}", mode=0o700)
    open(f"{TMP}/{name}.conf", "w").write("")
    return f"{TMP}/{name}"


def analysed(store, ident, env=None):
    """Status, message, report, text and the file `analysed`."""
    p = subprocess.run([ANALYSE, "--store", store, "--config", store + ".conf", "analyse", ident], stdin=subprocess.DEVNULL, capture_output=True, timeout=300, env={**os.environ, **(env or {})})
    folder = f"{store}/{ident}"
    report, text = None, ""
    if os.path.exists(folder + "/report.json"):
        raw = open(folder + "/report.json", "rb").read()
        report, text = json.loads(raw.decode("utf-8")), open(folder + "/report.txt", "rb").read().decode("utf-8")
        conforms(report, ident)
        for form in (raw, text.encode()):
            check(not any(b < 32 and b != 10 for b in form) and 0x7f not in form, "control characters in a report", form[:2000])
        check(b"<" not in raw and b">" not in raw and b"&" not in raw, "HTML in JSON", raw[:2000])
    state = dict(line.split("=", 1) for line in open(folder + "/analysed").read().splitlines()) if os.path.exists(folder + "/analysed") else {}
    return p.returncode, p.stderr.decode("utf-8", "replace"), report, text, state


def conforms(report, what):
    """Against doc/crash-schema.json."""
    try:
        import jsonschema
    except ImportError:
        return
    schema = json.load(open(SRC + "/doc/crash-schema.json"))
    for e in jsonschema.Draft202012Validator(schema).iter_errors(report):
        check(False, f"{what} does not conform: {'/'.join(map(str, e.absolute_path))}", e.message[:300])


def frames(report, thread=0):
    return [f["name"] for f in report["threads"][thread]["frames"]]
