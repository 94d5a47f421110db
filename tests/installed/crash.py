# SPDX-License-Identifier: MIT
"""fathom-crash: a process that dies is captured by what the package has, without a change of the machine."""
import glob, json, os, re, shutil, subprocess, tempfile

from suite import Failed, expect, folder, run, test

CRASH = "/usr/bin/fathom-crash"


@test("crash/watch, list and debug")
def watched():
    with folder() as tmp:
        store = f"{tmp}/store"
        os.mkdir(store, 0o700)
        expect(run([CRASH, "--store", store, "watch", "-c", "sh -c 'kill -SEGV $$'"])[1], r"dies of SIGSEGV captured as \S+")
        row = json.loads(run([CRASH, "--store", store, "-o", "json", "list"])[1])["rows"][0]
        if row["signal-name"] != "SIGSEGV" or row["kept"] != "heap":
            raise Failed(str(row))
        expect(run([CRASH, "--store", store, "debug", "last", "-e", "::status"])[1], r"SIGSEGV")


@test("crash/capture, show and core of a process that goes on")
def captured():
    with folder() as tmp, subprocess.Popen(["/bin/sleep", "3600"]) as p:
        try:
            store = f"{tmp}/store"
            os.mkdir(store, 0o700)
            at_store = lambda *args: run([CRASH, "--store", store, *args], cwd=tmp)[1]
            at_store("capture", str(p.pid))
            if p.poll() is not None:
                raise Failed("the process has ended")
            expect(at_store("show", str(p.pid)), r"^command +/bin/sleep 3600$", rf"^thread {p.pid} sleep", r"^ +libc\.so\.6`clock_nanosleep\+")
            at_store("core", str(p.pid), "core")
            expect(run(["mdb", "-e", "::stack", "core"], cwd=tmp)[1], r"^libc\.so\.6`clock_nanosleep\+")
        finally:
            p.kill()


@test("crash/only the timer is enabled by the package")
def enabled():
    units = sorted(os.path.basename(p) for p in glob.glob("/etc/systemd/system/*.wants/fathom-crash-*"))
    if units != ["fathom-crash-gc.timer"]:
        raise Failed(f"enabled: {units}")
    with open("/var/lib/dpkg/info/fathom.postinst", encoding="utf-8") as f:
        begun = {unit for line in f if "deb-systemd-invoke $_dh_action" in line for unit in re.findall(r"'(\S+)'", line)}
    if begun != {"fathom-crash-gc.timer"}:
        raise Failed(f"started: {begun}")


@test("crash/install refers to the capturer of the package")
def installed():
    with tempfile.TemporaryDirectory(prefix="crash.", dir="/run", ignore_cleanup_errors=True) as root:
        os.makedirs(f"{root}/proc/sys/kernel")
        with open(f"{root}/proc/sys/kernel/core_pattern", "w", encoding="utf-8") as f:
            f.write("core\n")
        run([CRASH, "--root", root, "install"])
        with open(f"{root}/proc/sys/kernel/core_pattern", encoding="utf-8") as f:
            program = f.read().split()[0].removeprefix("|")
        if not os.access(program, os.X_OK):
            raise Failed(f"core_pattern has '{program}', which is no program")
        out = subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        expect(out.stdout + out.stderr, r"^usage: fathom-crash-capture")
        with open(f"{root}/etc/fathom/crash.conf", encoding="utf-8") as f:
            expect(f.read(), rf"^analyser={shutil.which(CRASH)}$")
        expect(run([CRASH, "--root", root, "status"])[1], r"^captured      yes$")
        run([CRASH, "--root", root, "uninstall"])
