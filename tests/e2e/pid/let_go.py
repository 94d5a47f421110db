# SPDX-License-Identifier: MIT
"""A process that dtrace stops until its probes are there (a child with -x follow=fork, one that opens a library with -x libstop) goes on while dtrace is stopped,
and while nobody reads its output. That is counted and said, and its probes come as soon as dtrace comes by.
"""
import array, fcntl, os, re, signal, subprocess, sys, termios, time

DTRACE, TMP, SRC, CC = os.environ["DTRACE"], os.environ["TMP"], os.environ["SRC"], os.environ.get("CC", "cc")
PATIENCE = int(os.environ.get("PATIENCE", 1))
TOY, LIB = f"{TMP}/let_go", f"{TMP}/let_go.so"
SCRIPT = """pid$target:let_go:work:entry, pid$target:let_go.so::entry { @[pid == $target ? "root" : "child"] = count(); }
tick-20ms /!told/ { told = 1; printf("READY\\n"); }
END { printa("%s %@d\\n", @); }"""
NOTICE = r"(\d+) times? a process that waited for its probes ran on without them, because dtrace did not come by: it was stopped, or busy, or its output was not read"
bad = []


def wait_for(what, done):
    for _ in range(3000 * PATIENCE):
        if done():
            return True
        time.sleep(0.02)
    bad.append(f"not within a minute: {what}")
    return False


def unread(fd):
    n = array.array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, n)
    return n[0]


def sleeps_in_write(pid):
    with open(f"/proc/{pid}/syscall") as f:
        return f.read().split()[0] == "1"


def state(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(c) for c in f.read().split()]


def session(what, flags, blocks, nstops):
    """flags: of dtrace; blocks: nobody reads its output, else it is stopped; nstops: how many stops it can be that nobody attends to."""
    t = subprocess.Popen([TOY, LIB], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    t.stdout.readline()
    script = SCRIPT + (""" tick-1ms { printf("%1000s\\n", "x"); }""" if blocks else "")
    d = subprocess.Popen([DTRACE, "-Zqn", script, *flags, "-p", str(t.pid)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while (line := d.stdout.readline()) and b"READY" not in line:
        pass
    if not line:
        d.kill()
        text = d.communicate()[1].decode()
        t.kill()
        if "lacks uprobe links that follow all threads of a process (Linux 6.10)" in text:
            sys.exit(67)
        bad.append(f"{what}: {text}")
        return
    if blocks:
        wait_for(f"{what}: dtrace waits for a reader", lambda: unread(d.stdout.fileno()) > 30000 and sleeps_in_write(d.pid))
    else:
        d.send_signal(signal.SIGSTOP)
        wait_for(f"{what}: dtrace is stopped", lambda: state(d.pid) == "T")
    t.stdin.write("\n")
    t.stdin.flush()
    if t.stdout.readline() != "done\n":  # or never: then the runner ends the test
        bad.append(f"{what}: the program has ended")
    if not sleeps_in_write(d.pid) if blocks else state(d.pid) != "T":
        bad.append(f"{what}: dtrace did not wait")
    wait_for(f"{what}: the last child", lambda: children(t.pid))
    late = children(t.pid)[0]
    wait_for(f"{what}: it is let go", lambda: state(late) != "T")
    if blocks:
        t.stdin.write("\n")
        t.stdin.flush()
        t.stdout.readline()
        d.send_signal(signal.SIGINT)
        out, err = d.communicate(timeout=60 * PATIENCE)
    else:
        d.send_signal(signal.SIGCONT)
        os.set_blocking(d.stderr.fileno(), False)
        said = b""

        def has_said():
            nonlocal said
            said += d.stderr.read() or b""
            return b"ran on without them" in said

        wait_for(f"{what}: the notice", has_said)
        t.stdin.write("\n")
        t.stdin.flush()
        t.stdout.readline()
        os.set_blocking(d.stderr.fileno(), True)
        d.send_signal(signal.SIGINT)
        out, err = d.communicate(timeout=60 * PATIENCE)
        err = said + err
        if "follow=fork" in flags and not re.search(r"^child [1-9]", out.decode(), re.M):
            bad.append(f"{what}: the child that lived was not probed: {out.decode()}")
    told = sum(int(n) for n in re.findall(NOTICE, err.decode()))
    if d.returncode or not 0 < told <= nstops:
        bad.append(f"{what}: status {d.returncode}, {err.decode()}")
    t.communicate("\n", timeout=60 * PATIENCE)


subprocess.run([CC, "-O1", "-o", TOY, f"{SRC}/tests/e2e/pid/let_go.c"], check=True)
subprocess.run([CC, "-shared", "-fPIC", "-x", "c", "-o", LIB, "-"], input=b"int late_f(void) { return 1; }", check=True)
session("children, not read", ["-x", "follow=fork"], True, 6)
session("children, stopped", ["-x", "follow=fork"], False, 6)
session("children in the process, stopped", ["-x", "follow=fork", "-x", "inproc=auto"], False, 6)
session("a library, not read", ["-x", "libstop"], True, 2)
session("a library, stopped", ["-x", "libstop"], False, 2)
for line in bad:
    print(line)
sys.exit(bool(bad))
