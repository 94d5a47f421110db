# SPDX-License-Identifier: MIT
"""fathom-crash install, test, status and uninstall with the kernel's own core_pattern. Other files than that one are below a directory of the test's own."""
import json, os, re, shutil, signal, socket, struct, subprocess, sys, time

from capturing import BUILD, PATTERN, PROGRAM, Pattern, can_write_pattern, check, done, skip

ROOT = f"/run/fct.{os.getpid()}"  # core_pattern has 127 bytes, and the capturer's directories must be root's alone
PLACES = ["--root", ROOT, "--config", f"{ROOT}/conf", "--store", f"{ROOT}/s"]
CAPTURER = ["--capturer", f"{ROOT}/fathom-crash-capture"]


def run(*args, want=0):
    r = subprocess.run([f"{BUILD}/src/cmd/crash/fathom-crash", *PLACES, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    check(r.returncode == want, f"status {r.returncode} of {args}", r.stdout + r.stderr)
    return r.stdout, r.stderr


def row(*args):
    return json.loads(run("-o", "json", *args)[0])["rows"][0]


def pattern():
    with open(PATTERN) as f:
        return f.read()


def own(*pids):
    """The crashes of these processes, the newest first: others of the machine die, too."""
    return [c for c in json.loads(run("-o", "json", "list")[0])["rows"] if c["pid"] in pids]


def installed():
    before = sorted(os.walk(ROOT))
    run("install", *CAPTURER, "--analyser=")
    check(pattern().startswith(f"|{ROOT}/fathom-crash-capture config={ROOT}/conf pipe %P "), "core_pattern", pattern())
    status = row("status", *CAPTURER)
    check(status["is-installed"] and status["before"] == "core" and not status["problems"], "status", status)

    crash = row("test", "--keep", *CAPTURER)
    with open(f"{ROOT}/s/{crash['id']}/capture") as f:
        keys = dict(line.rstrip("\n").split("=", 1) for line in f)
    check((keys["pid"], keys["signal"], keys["si_addr"]) == (str(crash["pid"]), "11", "0x1234"), "what was captured of the test's child", keys)
    check(keys["way"] == status["way"], "the way", (status["way"], keys))
    check(0 < crash["waited-ns"] and not crash["is-analysed"], "what test has said", crash)
    check(row("test", *CAPTURER)["id"] not in os.listdir(f"{ROOT}/s"), "a crash of the test is removed")

    program = subprocess.Popen([sys.executable, "-c", "import os; os.abort()"], cwd="/")
    check(program.wait() == -signal.SIGABRT, "a program aborts")
    until = time.monotonic() + 120
    while True:  # the capturer writes the entry when the program is gone
        crashes = own(program.pid, crash["pid"])
        if len(crashes) == 2 or time.monotonic() > until:
            break
        time.sleep(0.1)
    check([c["pid"] for c in crashes] == [program.pid, crash["pid"]], "list", crashes)
    check(f"pid {program.pid} " in (out := run("debug", crashes[0]["id"], "-e", "::status")[0]) and "SIGABRT" in out, "debug", out)
    check(re.search(r"\babort\+", run("debug", str(program.pid), "-e", "::stack")[0]), "its stack")

    # with reports: the kernel gives the capturer no environment, and it gives none to the analyser
    with open(f"{ROOT}/analyser", "w") as f:
        f.write(f'#!/bin/sh\necho "$@" > {ROOT}/said\nDTRACE_OPT_SYSLIBDIR={os.environ["SRC"]}/dlib exec {BUILD}/src/cmd/crash/fathom-crash "$@"\n')
    os.chmod(f"{ROOT}/analyser", 0o755)
    run("install", *CAPTURER, f"--analyser={ROOT}/analyser")
    out = run("test", *CAPTURER)[0]
    check("captured as" in out and "analysed after" in out, "test with a report", out)
    check("has died of SIGSEGV: address 0x1234 is not mapped" in out and re.search(r"^ +fathom-crash`crash_on_purpose\+", out, re.M), "the report", out[:3000])
    with open(f"{ROOT}/said") as f:
        check(re.fullmatch(rf"--store {ROOT}/s --config {ROOT}/conf analyse \S+ --entry=3\n", f.read()), "the analyser's arguments")
    # equal crashes at the same time, whose analysers run at the same time, are one with a count
    programs = [subprocess.Popen([sys.executable, "-c", "import os; os.kill(os.getpid(), 3)"], cwd="/") for _ in range(3)]
    for p in programs:
        check(p.wait() == -signal.SIGQUIT, "a program quits")
    until = time.monotonic() + 120
    while True:
        crashes = own(*(p.pid for p in programs))
        if max((c["count"] for c in crashes), default=0) == 3 and len(crashes) == 2 and all(c["state"] == "done" for c in crashes) or time.monotonic() > until:
            break
        time.sleep(0.1)
    check(sorted(c["count"] for c in crashes) == [1, 3], "equal crashes", crashes)
    os.unlink(f"{ROOT}/analyser")
    os.unlink(f"{ROOT}/said")

    # somebody else takes the pattern: said at once, and left alone; then it is ours again
    with open(PATTERN, "w") as f:
        f.write("|/bin/false %p\n")
    check("core_pattern was changed since the installation, to '|/bin/false %p'" in run("status", *CAPTURER, want=1)[1], "a foreign pattern")
    check("nothing is captured" in run("test", *CAPTURER, want=1)[1], "test of a foreign pattern")
    check("already" in run("install", *CAPTURER, want=1)[1], "a second handler")
    with open(PATTERN, "w") as f:
        f.write("core\n")
    run("install", *CAPTURER, "--analyser=")
    check(row("status", *CAPTURER)["is-installed"], "installed again")
    for name in ("mail", "mail-later", "tally"):  # as analysers leave them
        with open(f"{ROOT}/s/{name}", "w") as f:
            f.write("last_ns=1\n")
    run("uninstall", "--purge", *CAPTURER)
    check(pattern() == "core\n", "core_pattern as it was", pattern())
    check(sorted(os.walk(ROOT)) == before, "files as they were", sorted(os.walk(ROOT)))


def count():
    for name in os.listdir(f"{ROOT}/s/counts"):
        with open(f"{ROOT}/s/counts/{name}", "rb") as f:
            data = f.read()
        magic, *rest = struct.unpack_from("<Q16QQQQII64s256s", data)
        if rest[22].split(b"\0")[0].decode().endswith("/sleep"):
            return {"counted_ever": rest[17], "signal": rest[19], "pid": rest[20]}
    return {}


def die_of(sig):
    """A program that dies of a signal; its pid, when its parent knows."""
    p = subprocess.Popen(["/bin/sleep", "600"], cwd="/", stdin=subprocess.DEVNULL)
    p.send_signal(sig)
    check(p.wait() == -sig, "a program dies")
    return p.pid


def socketed():
    """The same by a socket: a server of ours, which is there as long as it is installed."""
    path = f"{ROOT}/fathom-crash-capture.socket"
    before = sorted(os.walk(ROOT))
    if "socket" not in (open("/proc/sys/kernel/core_modes").read() if os.path.exists("/proc/sys/kernel/core_modes") else ""):
        check("Linux 6.17" in run("install", *CAPTURER, f"--socket={path}", want=1)[1], "a kernel without sockets")
        check(before == sorted(os.walk(ROOT)) and pattern() == "core\n", "what a refused installation leaves", (before, sorted(os.walk(ROOT)), pattern()))
        return
    check("does not begin with" in run("install", *CAPTURER, f"--socket={ROOT}/other", want=1)[1], "a name that is not ours")
    run("uninstall", "--purge", *CAPTURER, want=1)
    said = run("install", *CAPTURER, "--analyser=", f"--socket={path}")[1]
    check(f"socket {path}" in said and pattern() == f"@@{path}\n" and os.stat(path).st_mode & 0o77 == 0, "installed with a socket", said)
    status = row("status", *CAPTURER)
    check(status["is-installed"] and status["way"] == "socket" and not status["problems"], "status of a socket", status)
    crash = row("test", "--keep", *CAPTURER)
    with open(f"{ROOT}/s/{crash['id']}/capture") as f:
        keys = dict(line.rstrip("\n").split("=", 1) for line in f)
    check((keys["pid"], keys["signal"], keys["way"], keys["si_addr"]) == (str(crash["pid"]), "11", "socket", "0x1234"), "captured by the socket", keys)

    # what is only counted: the kernel writes no core, and the signal is known all the same
    with open(f"{ROOT}/conf", "r+") as f:
        text = f.read().replace("captures=5", "captures=0")
        f.seek(0)
        f.write(text)
    run("install", *CAPTURER, "--analyser=")  # the server reads it when it starts
    pid = die_of(signal.SIGABRT)
    until = time.monotonic() + 60
    while count().get("pid") != pid and time.monotonic() < until:
        time.sleep(0.05)
    check(count() == {"counted_ever": 1, "signal": 6, "pid": pid}, "counted only", count())
    check(not own(pid), "and not captured")

    run("install", *CAPTURER, "--analyser=", "--socket=")
    check(pattern().startswith("|") and not os.path.exists(path), "back to the pipe: the server has ended", pattern())
    run("install", *CAPTURER, "--analyser=", f"--socket={path}")
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        os.kill(struct.unpack("iii", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0], signal.SIGKILL)
    until = time.monotonic() + 60
    while (problems := row_of_status()["problems"]) == [] and time.monotonic() < until:
        time.sleep(0.05)
    check([p for p in problems if "nobody listens" in p], "the server was killed", problems)
    run("install", *CAPTURER, "--analyser=")
    check(not row("status", *CAPTURER)["problems"], "installed again")
    run("uninstall", "--purge", *CAPTURER)
    check(pattern() == "core\n" and sorted(os.walk(ROOT)) == before, "as it was", (pattern(), sorted(os.walk(ROOT))))


def row_of_status():
    r = subprocess.run([f"{BUILD}/src/cmd/crash/fathom-crash", *PLACES, "-o", "json", "status", *CAPTURER], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return json.loads(r.stdout)["rows"][0]


if not can_write_pattern():
    skip("core_pattern cannot be written here")
os.makedirs(f"{ROOT}/etc/sysctl.d", 0o755)
os.chmod(ROOT, 0o755)
try:
    os.makedirs(f"{ROOT}/sys/kernel")
    for name in ("proc", "sys/kernel/btf"):
        os.symlink(f"/{name}", f"{ROOT}/{name}")
    shutil.copy(PROGRAM, f"{ROOT}/fathom-crash-capture")
    with Pattern("core"):
        installed()
        socketed()
finally:
    shutil.rmtree(ROOT)
done()
