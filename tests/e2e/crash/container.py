# SPDX-License-Identifier: MIT
"""--into-container: containers are made by unshare and chroot; what is written is compared with the store, and read by gdb."""
import os, shutil, subprocess, sys, time
sys.path.insert(0, os.path.dirname(__file__))
from capturing import *

if not can_write_pattern():
    skip("core_pattern cannot be written here")
if subprocess.run(["unshare", "-pf", "true"], capture_output=True).returncode:
    skip("no namespace of processes can be made here")
ROOT = f"/run/fci.{os.getpid()}"
BOX, USER = f"{ROOT}/box", 45001
COMMAND = os.path.join(BUILD, "src/cmd/crash/fathom-crash")


def text_of(name, file):
    """A file of an entry, which is removed as soon as it is counted as equal to another one."""
    try:
        with open(f"{store.dir}/{name}/{file}") as f:
            return f.read()
    except FileNotFoundError:
        return ""


def crash(user=USER, limit="unlimited", inside=True):
    """A crash in the container: what the analyser has said, and its entry."""
    before = set(store.ids())
    command = ["unshare", "-pf", "--kill-child", "chroot", f"--userspec={user}:{user}", BOX, "/dies", "segv"] if inside else [f"{BOX}/dies", "segv"]
    subprocess.run(["prlimit", f"--core={limit}:unlimited", *command], stdin=subprocess.DEVNULL, capture_output=True, timeout=120, cwd="/")
    end = time.monotonic() + 120
    while time.monotonic() < end:
        for name in set(store.ids()) - before:
            text = text_of(name, "analysed")
            is_ours = f"exe={BOX}/dies\n" in text_of(name, "capture")  # others of the machine die, too
            if is_ours and ("into_container=" in text or "state=done" in text):
                keys = dict(line.split("=", 1) for line in text.splitlines())
                return keys.get("into_container"), name
        time.sleep(0.02)
    check(False, "no capture is analysed", store.ids())
    return None, None


def cores():
    return sorted(n for n in os.listdir(f"{BOX}/crash/") if n.startswith("core."))


def written():
    said, name = crash()
    check(said and cores() == [said] and said.startswith("core.1."), "a core in the container", (said, cores()))
    path = f"{BOX}/crash/{said}"
    st = os.stat(path)
    check((st.st_uid, st.st_gid, st.st_mode & 0o777) == (USER, USER, 0o600), "it is the process's", st)
    core = subprocess.run([COMMAND, "--store", store.dir, "core", name], capture_output=True, stdin=subprocess.DEVNULL).stdout
    with open(path, "rb") as f:
        check(f.read() == core != b"", "the core that is kept")
    if shutil.which("gdb"):
        out = subprocess.run(["gdb", "-nx", "-batch", "-ex", "bt", f"{BOX}/dies", path], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
        check("in die (" in out or "fail (" in out, "gdb's stack", out)
    os.unlink(path)


def another_first():
    """An analyser of the timer is ready when the capture is, before the capturer's own has begun: it has no descriptor of the container."""
    with open(f"{ROOT}/analyser", "w") as f:
        f.write(f'#!/bin/sh\nexport DTRACE_OPT_SYSLIBDIR={SRC}/dlib\n{COMMAND} --store {store.dir} --config {store.config} analyse >{ROOT}/said 2>&1\n'
                f'echo "status $?" >>{ROOT}/said\nexec {COMMAND} "$@"\n')
    said, _ = crash()
    check(said and cores() == [said], "a core in the container, though another analyser came first", (said, cores()))
    told, end = "", time.monotonic() + 60 * int(os.environ.get("PATIENCE") or 1)
    while "status" not in told and time.monotonic() < end:  # the script may write later than its analyser has answered
        time.sleep(0.02)
        with open(f"{ROOT}/said") as f:
            told = f.read()
    check(set(told.splitlines()) == {"status 0"}, "another analyser leaves the entry alone, and that is no error", told)
    os.unlink(f"{BOX}/crash/{said}")


def refused():
    said, _ = crash(limit="0")
    check(said and "ulimit -c" in said and not cores(), "ulimit -c 0", said)
    said, _ = crash(inside=False)
    check(said is None and not cores(), "a process of the machine", said)
    os.chown(f"{BOX}/crash", 0, 0)
    said, _ = crash()
    check(said and "could not have made a file" in said and not cores(), "a directory that the process cannot write to", said)
    # a link to a directory of the machine's that the process could write to: it is looked for in the container, and is not there
    os.rename(f"{BOX}/crash", f"{BOX}/other")
    os.mkdir(f"{ROOT}/outside")
    os.chmod(f"{ROOT}/outside", 0o777)
    for target in (f"{ROOT}/outside", "../../../../../../.." + f"{ROOT}/outside"):
        os.symlink(target, f"{BOX}/crash")
        said, _ = crash()
        check(said and "no directory" in said and not os.listdir(f"{ROOT}/outside"), f"a link to {target}", (said, os.listdir(f"{ROOT}/outside")))
        os.unlink(f"{BOX}/crash")


os.mkdir(ROOT, 0o755)
try:
    os.makedirs(f"{BOX}/crash")
    os.chown(f"{BOX}/crash", USER, USER)
    if subprocess.run(["cc", "-g", "-O0", "-pthread", "-static", "-o", f"{BOX}/dies", SRC + "/tests/e2e/crash/dies.c"], stderr=subprocess.DEVNULL).returncode:
        skip("no static programs can be made here")
    store = Store()
    with open(f"{ROOT}/analyser", "w") as f:
        f.write(f'#!/bin/sh\nDTRACE_OPT_SYSLIBDIR={SRC}/dlib exec {COMMAND} "$@"\n')
    os.chmod(f"{ROOT}/analyser", 0o755)
    store.configure(captures=16, analyser=f"{ROOT}/analyser", into_container="/crash")
    with Pattern(store.pattern()):
        written()
        refused()
        os.rename(f"{BOX}/other", f"{BOX}/crash")
        os.chown(f"{BOX}/crash", USER, USER)
        another_first()
        end = time.monotonic() + 120
        while time.monotonic() < end and any("state=running" in text_of(n, "analysed") for n in store.ids()):
            time.sleep(0.05)
finally:
    shutil.rmtree(ROOT)
done()
