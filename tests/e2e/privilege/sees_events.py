# SPDX-License-Identifier: MIT
"""What probes of alice's processes tell in args[] that the library reads of the kernel: her child, her signal, her fault, her transfer, and no other's."""
import re
from world import *

enter()
levels(f"user {ALICE}: dtrace_user\n")
WORK = """
import ctypes, os, signal, subprocess, sys, threading
libc = ctypes.CDLL(None)
class Action(ctypes.Structure):
    _fields_ = [("handler", ctypes.c_void_p), ("mask", ctypes.c_ulong * 16), ("flags", ctypes.c_int), ("restorer", ctypes.c_void_p)]
handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda s, i, c: None)
libc.sigaction(10, ctypes.byref(Action(ctypes.cast(handler, ctypes.c_void_p), flags=4)), None)
on_disk = sys.argv[1]
while True:
    os.kill(os.getpid(), 10)
    subprocess.call(["/bin/sh", "-c", "exit 3"])
    subprocess.call([sys.executable, "-c", "import ctypes; ctypes.string_at(5)"])
    t = threading.Thread(target=sum, args=(range(300),)); t.start(); t.join()
    if on_disk:
        with open(on_disk, "w") as f: f.write("x" * 65536); f.flush(); os.fsync(f.fileno())
"""
# the folder of the test is memory; a transfer takes a disk
folder = next((d for d in ("/var/tmp", os.path.expanduser("~"), SRC) if os.access(d, os.W_OK) and re.match(r"/dev/", subprocess.run(["df", "--output=source", d], capture_output=True, text=True).stdout.split("\n")[1])), None)
folder = folder and f"{folder}/fathom-test-{os.getpid()}"
if folder:
    os.mkdir(folder)
    os.chmod(folder, 0o777)
works = [subprocess.Popen(["/usr/bin/python3", "-c", WORK, f"{folder}/{uid}" if folder else ""], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENV, **user(uid)) for uid in (ALICE, BOB)]
own = works[0].pid


def rows(clause):
    """Records of one session about alice's work, which ends when there are some."""
    r = dtrace(ALICE, "-q", "-n", clause + " tick-10hz /n >= 5/ { exit(0); } tick-%ds { exit(5); } ERROR { exit(7); }" % (SECONDS // 2))
    check(r.returncode == 0, clause, r)
    return [line.split() for line in r.stdout.splitlines() if line.strip()]


def are(clause, want):
    got = rows(clause)
    check(got and all(re.fullmatch(want, " ".join(row)) for row in got), f"{clause}: want {want}", got)


try:
    are(f'proc:::create /pid == {own}/ {{ printf("%d %d %d %s\\n", args[0]->pr_ppid, args[0]->pr_uid, args[0]->pr_pid != pid, args[0]->pr_fname); n++; }}', rf"{own} {ALICE} 1 python\S*")
    are(f'proc:::lwp-create /pid == {own} && args[1]->pr_pid == pid/ {{ printf("%d %d\\n", args[0]->pr_lwpid != tid, args[1]->pr_uid); n++; }}', rf"1 {ALICE}")
    are(f'proc:::signal-handle /pid == {own} && args[0] == 10/ {{ printf("%d %d %d %d\\n", args[1]->si_signo, args[1]->si_pid, args[1]->si_uid, args[2] != 0); n++; }}', rf"10 {own} {ALICE} 1")
    are(f'proc:::fault /ppid == {own}/ {{ printf("%d %d %d\\n", args[0] == FLTBOUNDS, args[1]->si_signo, args[1]->si_addr); n++; }}', "1 11 5")
    if tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) >= (6, 16):
        are(f'proc:::exit /ppid == {own} && execname == "sh"/ {{ printf("%d\\n", args[0] == CLD_EXITED); n++; }}', "1")
    if folder:
        are(f'io:::start /pid == {own} && args[0]->b_flags & B_WRITE && args[0]->b_bcount >= 65536/ {{ printf("%s %s %d\\n", args[1]->dev_pathname, args[1]->dev_statname, args[1]->dev_major == getmajor(args[0]->b_edev)); n++; }}',
            r"/dev/(\S+) \1 1")
        r = dtrace(ALICE, "-qn", "io:::start { @[uid] = count(); n++; } tick-10hz /n > 20/ { exit(0); } tick-%ds { exit(5); }" % (SECONDS // 2))
        check(r.returncode == 0 and r.stdout.split()[0::2] == [str(ALICE)], "transfers of alice's tasks only", r)
    else:
        print("no disk to write to: io:::start is not looked at")
finally:
    for p in works:
        p.kill()
        p.wait()
    if folder:
        shutil.rmtree(folder)
done()
