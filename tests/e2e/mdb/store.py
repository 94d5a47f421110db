# SPDX-License-Identifier: MIT
"""A directory as systemd-coredump keeps it, with names that others could choose."""
import gzip, json, os, shutil, signal, subprocess, sys

MDB, TMP = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
BOOT = "0123456789abcdef0123456789abcdef"
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{shown}")


def run(*args):
    r = subprocess.run([MDB, *args], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, env={**os.environ, "TZ": "UTC"})
    return r.returncode, r.stdout.decode(errors="surrogateescape"), r.stderr.decode(errors="surrogateescape")


def keep(command, uid, pid, seconds, ending, contents, **attributes):
    name = os.fsencode(f"kept/core.{command}.{uid}.{BOOT}.{pid}.{seconds}000000{ending}")
    open(name, "wb").write(contents)
    for attribute, value in attributes.items():
        os.setxattr(name, "user.coredump." + attribute, value)
    return name.decode(errors="surrogateescape")


os.chdir(TMP)
os.mkdir("kept")
status, out, err = run("-D", "kept", "-l")
check(status == 0 and "no core file" in out, "an empty directory", out + err)
if not shutil.which("gdb"):
    print("gdb is not installed")
    sys.exit(67)
sleeper = subprocess.Popen(["sleep", "1000"])
try:
    subprocess.run(["gdb", "-nx", "-batch", "-ex", "generate-core-file core", "-p", str(sleeper.pid)], stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
finally:
    sleeper.kill()
    sleeper.wait()
if not os.path.exists("core"):
    print("gdb makes no core file here")
    sys.exit(67)
core = open("core", "rb").read()
try:
    keep("sleep", 0, 700, 1700000000, "", b"an older one, which nobody opens", signal=b"6", comm=b"sleep")
except OSError as e:
    print(f"the file system has no such attributes: {e}")
    sys.exit(67)
newest = keep("sleep", 1000, 700, 1700000100, ".gz", gzip.compress(core, 1), signal=b"11", comm=b"sleep")
keep("my.server\\x2f1", 33, 701, 1700000050, ".zst", b"x" * 5000)
keep("evil\x1b[31m\n", 4294967295, 2147483647, 1600000000, "", b"", signal=b"900", comm=b"\x1b[2Jevil\xff")
for name in ("core", "core.", "core.a.b", f"core.x.1.{BOOT}.99999999999.5", f"core.x.-1.{BOOT}.5.5", f"core.x.1.{BOOT}.5.99999999999999999999", "other"):
    open("kept/" + name, "w").close()
os.mkfifo(f"kept/core.fifo.0.{BOOT}.702.1800000000000000")
os.mkdir(f"kept/core.folder.0.{BOOT}.703.1800000000000000")
os.symlink("/etc/passwd", f"kept/core.link.0.{BOOT}.704.1800000000000000")

status, out, err = run("-D", "kept", "-l")
lines = out.splitlines()
check(status == 0 and len(lines) == 5 and not err, "four files", out + err)
check(lines[1].split()[:7] == ["2023-11-14", "22:15:00", "700", "1000", "SIGSEGV", "sleep", str((os.path.getsize(newest) + 1023) // 1024)], "the newest", out)
check(lines[1].endswith(newest), "its name", out)
check(lines[2].split()[2:7] == ["701", "33", "-", "my.server\\x2f1", "5"], "without attributes", out)
check(lines[3].split()[2:6] == ["700", "0", "SIGABRT", "sleep"], "the older", out)
check("\x1b" not in out and "\\033[2Jevil" in lines[4] and " 2147483647 4294967295 -" in lines[4], "a hostile name", out)
rows = json.loads(run("-D", "kept", "-o", "json", "-l")[1])["rows"]
check([(r["pid"], r["time-us"] // 1000000, r["signal"]) for r in rows] ==
      [(700, 1700000100, 11), (701, 1700000050, 0), (700, 1700000000, 6), (2147483647, 1600000000, 0)], "JSON", rows)

status, out, err = run("-D", "kept", "-e", "::status", "-l", "700")
check(status == 0 and f"pid {sleeper.pid} " in out and "command: sleep" in out, "the newest of a process", out + err)
for pid in ("702", "704", "9"):
    status, out, err = run("-D", "kept", "-e", "::status", "-l", pid)
    check(status == 1 and not out and f"has no core file of process {pid}" in err, f"process {pid}", out + err)
for args, want in ((("-D", "nosuch", "-l"), 1), (("-l", "x"), 2), (("-l", "1", "2"), 2), (("-l", "-p", "1"), 2), (("-e", "::status", "-l"), 2)):
    status, out, err = run(*args)
    check(status == want and not out and err, str(args), out + err)
sys.exit(1 if failed else 0)
