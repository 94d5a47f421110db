# SPDX-License-Identifier: MIT
"""fathom-crash watch, beside the core file that the kernel writes of the same crash."""
import json, os, re, shutil, signal, subprocess, sys, time

sys.path.insert(0, os.environ["SRC"] + "/tests/e2e")
sys.dont_write_bytecode = True
from core_files import kernel_cores, pattern_read, unlimited

CRASH, TMP = os.environ["BUILD"] + "/src/cmd/crash/fathom-crash", os.environ["TMP"]
STORE = f"{TMP}/store"
# The analyser has no rights: a Python of root's own home is not one whose files it can read.
PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
failed = []

PROGRAM = """
import ctypes, os, resource, signal, sys, threading
blocked, go = threading.Event(), threading.Event()
caught = []
signal.signal(signal.SIGUSR1, lambda *_: caught.append("usr1"))
signal.signal(signal.SIGQUIT, lambda *_: caught.append("quit"))
def wait():
    blocked.set()
    go.wait()
threading.Thread(target=wait, daemon=True).start()
blocked.wait()
os.kill(os.getpid(), signal.SIGUSR1)
os.kill(os.getpid(), signal.SIGQUIT)
print("ready", *caught, flush=True)
sys.stdin.readline()
what = sys.argv[1]
if what == "read":
    ctypes.string_at(0x1234)
elif what == "abort":
    threading.Thread(target=os.abort).start()
    go.wait()
elif what == "child":
    child = os.fork()
    if not child:
        ctypes.string_at(0x5678)
    print("child", child, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
elif what == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
sys.exit(7)
"""


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{shown}")


def keys_of(identity):
    with open(f"{STORE}/{identity}/capture") as f:
        return dict(line.rstrip("\n").split("=", 1) for line in f)


def gdb(core, *commands):
    if not os.path.exists(core):  # an id
        subprocess.run([CRASH, "--store", STORE, "core", core, f"{TMP}/{core}.core"], check=True)
        core = f"{TMP}/{core}.core"
    r = subprocess.run(["gdb", "-nx", "-batch", *(w for c in commands for w in ("-ex", c)), "-c", core, PYTHON], stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, errors="replace", timeout=300)
    return r.stdout


def start(what):
    """A program in a directory of its own, which waits for a line."""
    folder = f"{TMP}/{what}"
    os.mkdir(folder)
    program = subprocess.Popen([PYTHON, "-c", PROGRAM, what], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               preexec_fn=unlimited)
    check(program.stdout.readline() == "ready usr1 quit\n", "the program has begun")
    return program, folder


def watch(program, *options):
    """Watches a program that is let go; returns what the command has said, and what it was told."""
    watcher = subprocess.Popen([CRASH, "--store", STORE, "-o", "json", "watch", *options, "-p", str(program.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while True:  # all threads are traced
        with open(f"/proc/{program.pid}/status") as f:
            if re.search(rf"^TracerPid:\t{watcher.pid}$", f.read(), re.M) and traced(program.pid, watcher.pid):
                break
        if watcher.poll() is not None:
            break
        time.sleep(0.005)
    for number in (signal.SIGUSR1, signal.SIGQUIT):  # these are handled, and pass
        program.send_signal(number)
    with kernel_cores():
        out = program.communicate("go\n")[0]
    said, err = watcher.communicate(timeout=300)
    check(watcher.returncode == 0 and not err, "watch", said + err)
    return [json.loads(line)["rows"][0] for line in said.splitlines()], out


def traced(pid, tracer):
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/status") as f:
            if f"TracerPid:\t{tracer}\n" not in f.read():
                return False
    return True


os.mkdir(STORE, 0o700)
has_kernel_core = pattern_read() == "core"

# a bad address in the first thread: the kernel's core of the same crash is the other witness
program, folder = start("read")
said, out = watch(program)
check(program.returncode == -signal.SIGSEGV, "it dies as it would", program.returncode)
check(len(said) == 1 and said[0]["pid"] == program.pid and said[0]["signal"] == signal.SIGSEGV, "what was said", said)
if said and "id" in said[0]:
    keys = keys_of(said[0]["id"])
    check((keys["signal"], keys["si_code"], keys["si_addr"], keys["threads"], keys["way"]) == ("11", "1", "0x1234", "2", "ptrace"), "capture", keys)
    report = json.loads(subprocess.run([CRASH, "--store", STORE, "-o", "json", "show", "last"], capture_output=True, check=True).stdout)
    check("string_at" in json.dumps(report), "the report has the function of Python", report)
    check(keys["dumpable"] == "1", "what its own user could have read is read", keys)
    kernel = [n for n in os.listdir(folder) if n.startswith("core")]
    commands = ("info registers", "print $_siginfo.si_signo", "print/x $_siginfo._sifields._sigfault.si_addr", "info threads", "backtrace 5")
    if not shutil.which("gdb"):
        print("skip: there is no gdb")
    elif not has_kernel_core or not kernel:
        print("skip: the kernel writes no core files here")
    else:
        ours, theirs = gdb(said[0]["id"], *commands), gdb(f"{folder}/{kernel[0]}", *commands)
        for text in (ours, theirs):
            check("SIGSEGV" in text and "$1 = 11" in text and "0x1234" in text, "gdb has read it", text)
        registers = [re.findall(r"^(r\w+|eflags)\s+(0x[0-9a-f]+)", t, re.M) for t in (ours, theirs)]
        check(registers[0] == registers[1] and len(registers[0]) > 15, "registers", registers)
        check(re.findall(r"^#\d.*", ours, re.M) == re.findall(r"^#\d.*", theirs, re.M), "the stack", ours + theirs)
        check(sorted(re.findall(r"LWP (\d+)", ours)) == sorted(re.findall(r"LWP (\d+)", theirs)) != [], "threads", ours + theirs)

# another thread than the first one
program, folder = start("abort")
said, out = watch(program)
check(program.returncode == -signal.SIGABRT and len(said) == 1 and said[0]["signal"] == signal.SIGABRT, "abort() in a thread", said)
if said and "id" in said[0]:
    keys = keys_of(said[0]["id"])
    check(keys["tid"] != keys["pid"] and keys["threads"] == "3", "its thread", keys)
    with open(f"{STORE}/{said[0]['id']}/proc/task") as f:
        check(f.readline().split("\t")[0] == keys["tid"], "the crashed thread comes first")

# children: only with -f
program, folder = start("child")
said, out = watch(program, "-f")
child, status = map(int, re.search(r"child (\d+) (-?\d+)", out).groups())
check(status == -signal.SIGSEGV and program.returncode == 7, "a child", out)
check([(r["pid"], "id" in r, r.get("status")) for r in said] == [(child, True, None), (program.pid, False, 7)], "what was said of both", said)

program, folder = start("killed")
said, out = watch(program)
check(len(said) == 1 and said[0]["signal"] == signal.SIGKILL and "id" not in said[0], "a process that is killed", said)

# a command; what cannot be watched; an end before that of the process
r = subprocess.run([CRASH, "--store", STORE, "watch", "-c", "sh -c 'kill -SEGV $$'"], capture_output=True, text=True)
check(r.returncode == 0 and "dies of SIGSEGV captured as" in r.stdout, "a command", r.stdout + r.stderr)
r = subprocess.run([CRASH, "--store", STORE, "watch", "-c", "/nosuch/program"], capture_output=True, text=True)
check(r.returncode == 1 and "cannot execute '/nosuch/program'" in r.stderr, "a command that is not there", r.stdout + r.stderr)
r = subprocess.run([CRASH, "--store", STORE, "watch", "-p", "2147483647"], capture_output=True, text=True)
check(r.returncode == 1 and "there is no process 2147483647" in r.stderr, "a process that is not there", r.stderr)
r = subprocess.run([CRASH, "--store", f"{TMP}/none", "watch", "-p", "1"], capture_output=True, text=True)
check(r.returncode == 1 and "there is no store" in r.stderr, "no store", r.stderr)
program, folder = start("read-not")
watcher = subprocess.Popen([CRASH, "--store", STORE, "watch", "-p", str(program.pid)])
while not traced(program.pid, watcher.pid):
    time.sleep(0.005)
watcher.terminate()
check(watcher.wait() == 0, "it ends when it is told to")
with open(f"/proc/{program.pid}/status") as f:
    check("TracerPid:\t0\n" in f.read(), "the process is let go")
program.communicate("go\n")
check(program.returncode == 7, "and ends as it would", program.returncode)
sys.exit(1 if failed else 0)
