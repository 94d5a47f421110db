# SPDX-License-Identifier: MIT
"""Each family of providers fires for what a known program does."""
import functools, re, shutil

from suite import DATA, DTRACE, Failed, Skip, dtrace, expect, folder, need, run, test
from workloads import examples, shell

# programs in Python; what is none is a command, or a script of sh of examples.py
PPID = "import os; [os.getppid() for i in range(7)]"
SPIN = "import time\nwhile time.process_time() < 0.5: pass"
MAPS = "import mmap; x = mmap.mmap(-1, 20 << 20); x.madvise(mmap.MADV_NOHUGEPAGE); [x.__setitem__(i << 12, 1) for i in range(5120)]"
FORK = "import os; [os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0) for i in range(3)]"
UDP = """import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0))
for i in range(3): s.sendto(b"x" * 100, s.getsockname()); s.recv(200)"""
TCP = """import socket
s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname()); p, _ = s.accept()
c.sendall(b"x" * 2000); c.close()
while p.recv(2000): pass"""
THREADS = "import threading\nt = [threading.Thread(target=print) for i in range(3)]\nfor x in t: x.start()\nfor x in t: x.join()"

# D; the workload; regular expressions for what is printed
ROWS = {
    "syscall": ("syscall::getppid:return /pid == $target/ { @ = count(); }", PPID, [r"^ +7$"]),
    "profile": ("profile-997 /pid == $target/ { @[arg1 ? \"user\" : \"kernel\"] = count(); }", SPIN, [r"^ +user +\d+$"]),
    "tick": ("tick-10ms { @ = count(); } tick-200ms { exit(0); }", "sleep 3600", [r"^ +[1-9]\d*$"]),
    "proc": ("proc:::exec-success, proc:::exit /progenyof($target) && execname == \"true\"/ { @[probename] = count(); }", FORK, [r"^ +exec-success +3$", r"^ +exit +3$"]),
    "sched": ("sched:::on-cpu, sched:::off-cpu /pid == $target/ { @[probename] = count(); }", "sleep 0.05", [r"^ +off-cpu +[1-9]\d*$", r"^ +on-cpu +[1-9]\d*$"]),
    "io": ("io:::start, io:::done /args[0]->b_bcount == 65536/ { @[probename, args[1]->dev_statname] = count(); }", examples.LOOP,
           [r"^ +start +loop\d+ +20$", r"^ +done +loop\d+ +20$"]),
    "ip": ("ip:::send /pid == $target/ { @[args[2]->ip_daddr] = count(); }", UDP, [r"^ +127\.0\.0\.1 +3$"]),
    "tcp": ("tcp:::connect-request, tcp:::accept-established /pid == $target/ { @[probename] = count(); }", TCP, [r"^ +accept-established +1$", r"^ +connect-request +1$"]),
    "udp": ("udp:::send, udp:::receive /pid == $target/ { @[probename, args[4]->udp_length] = count(); }", UDP, [r"^ +receive +108 +3$", r"^ +send +108 +3$"]),
    "fsinfo": ("fsinfo:::read /execname == \"cat\" && pid == $target/ { @[args[0]->fi_pathname] = sum(arg1); }", "cat /etc/hostname", [r"^ +/etc/hostname +[1-9]\d*$"]),
    "vminfo": ("vminfo:::zfod, vminfo:::as_fault /pid == $target/ { @[probename] = sum(arg0); }", MAPS, [r"^ +zfod +\d+$", r"^ +as_fault +\d+$"]),
    "sysinfo": ("sysinfo:::sysfork, sysinfo:::sysvfork, sysinfo:::nthreads /pid == $target/ { @[\"made\"] = sum(arg0); }", FORK, [r"^ +made +[3-9]$"]),
    "mib": ("mib:::tcpActiveOpens, mib:::udpOutDatagrams /pid == $target/ { @[probename] = sum(arg0); }", TCP, [r"^ +tcpActiveOpens +1$"]),
    "sdt": ("sdt:::sched_process_exec /progenyof($target)/ { @ = count(); }", FORK, [r"^ +3$"]),
    "rawtp": ("rawtp:::sched_process_exec /progenyof($target)/ { @ = count(); }", FORK, [r"^ +3$"]),
    "cpc": ("cpc:::page_faults-user-1 /pid == $target/ { @ = count(); }", MAPS, [r"^ +\d{2,}$"]),
    "pid": ("pid$target:libc.so.6:getppid:entry, pid$target:libc.so.6:getppid:return { @[probename] = count(); }", PPID, [r"^ +entry +7$", r"^ +return +7$"]),
    "plockstat": ("plockstat$target:::mutex-acquire { @ = count(); }", THREADS, [r"^ +[1-9]\d*$"]),
    "lockstat": ("lockstat:::rw-block /execname == \"touch\"/ { @[execname] = count(); }", examples.FROZEN, [r"^ +touch +[1-9]"]),
}
# providers of runtimes: their own probes, and those that the library makes
RUNTIMES = {
    "python": ("python3", "python3", "python$target:::function-entry /copyinstr(arg1) == \"known_here\"/ { @ = count(); }", "known.py"),
    "perl": ("perl", "perl", "perl$target:::sub-entry /copyinstr(arg0) == \"known_here\"/ { @ = count(); }", "known.pl"),
    "ruby": ("ruby", "ruby", "ruby$target:::require-entry { @ = count(); }", "known.rb"),
}


def family(text, work, wanted):
    with folder() as tmp:
        command = work
        if work.startswith("import "):
            command = "/usr/bin/python3 w.py"
            with open(f"{tmp}/w.py", "w", encoding="utf-8") as f:
                f.write(work)
        elif "$tmp" in work:
            command = shell(tmp, work)
        expect(dtrace("-q", "-n", text, "-c", command, cwd=tmp), *wanted)


for name, row in ROWS.items():
    test(f"probes/{name}")(functools.partial(family, *row))


@test("probes/dtrace")
def own():
    _, out, err = run([DTRACE, "-qn", "BEGIN { trace(\"begun\"); } BEGIN { x = *(int *)0; } ERROR { trace(\"faulted\"); exit(0); } END { trace(\"ended\"); }"])
    expect(out, "begun[\\s\\S]*faulted[\\s\\S]*ended")
    expect(err, r"^dtrace: error on enabled probe ID 2 .*dtrace:::BEGIN\): invalid address \(0x0\)")


@test("probes/fbt")
def fbt():
    code, _, err = run([DTRACE, "-ln", "fbt::vfs_read:entry"], check=False)
    if code:
        raise Skip(err.strip().split("\n")[0])
    expect(dtrace("-qn", "fbt::vfs_read:entry /pid == $target/ { @ = count(); }", "-c", "cat /etc/hostname"), r"^ +[1-9]\d*$")


def runtime(program, package, text, source):
    exe = need(program, package)
    with folder() as tmp:
        shutil.copy(f"{DATA}/{source}", tmp)
        open(f"{tmp}/seen", "w", encoding="utf-8").close()
        expect(dtrace("-qn", text, "-c", f"{exe} {source}", cwd=tmp), r"^ +[1-9]\d*$")


for name, row in RUNTIMES.items():
    test(f"probes/{name}$target")(functools.partial(runtime, *row))


@test("probes/without traps")
def jumps():
    """With -x inproc, functions jump to their probes where they can; the numbers are those of uprobes, and stacks are whole."""
    text = "pid$target:libc.so.6:getppid:entry, pid$target:libc.so.6:getppid:return { @[probename] = count(); } pid$target:libc.so.6:malloc:entry { @malloc = count(); } END { printa(@); printa(\"malloc %@d\\n\", @malloc); }"
    told, counts = {}, {}
    for how in ("auto", "off"):
        _, out, err = run([DTRACE, "-q", "-x", f"inproc={how}", "-x", "inprocsum", "-n", text, "-c", f"/usr/bin/python3 -c '{PPID}'"], env={"PYTHONHASHSEED": "0"})
        expect(out, r"^ +entry +7$", r"^ +return +7$")
        counts[how], told[how] = re.search(r"^malloc (\d+)$", out, re.M)[1], err
    if counts["auto"] != counts["off"]:
        raise Failed(f"calls of malloc: {counts}")
    if not re.search(r"^dtrace: [1-9]\d* places? probed in process \d+ itself", told["auto"], re.M):
        raise Failed(f"nothing jumps: {told['auto']}")
    expect(dtrace("-q", "-x", "inproc=auto", "-n", "pid$target:libc.so.6:getppid:entry { @[ustack()] = count(); }", "-c", f"/usr/bin/python3 -c '{PPID}'"), r"libc\.so\.6`getppid\n(.*\n)+ +python\S*`_start")


STRIPPED = """#include <dtrace/sdt.h>
#include <unistd.h>
__attribute__((noinline)) int known_here(int i) { DTRACE_PROBE1(stripped, turn, i); return getppid() + i; }
int main(void) { int sum = 0; for (int i = 0; i < 7000; i++) sum += known_here(i); return sum == 0; }
"""


@test("probes/without traps, in a stripped program")
def stripped():
    """It has its own probes, the calls that it makes, and the C library's functions by where they are called."""
    with folder() as tmp:
        with open(f"{tmp}/stripped.c", "w", encoding="utf-8") as f:
            f.write(STRIPPED)
        run([need("cc", "gcc"), "-O1", "-o", "stripped", "stripped.c"], cwd=tmp)
        run([need("strip", "binutils"), "stripped"], cwd=tmp)
        text = "stripped$target:::turn { @[\"turn\"] = count(); @sum = sum(arg0); } pid$target:libc.so.6:getppid:entry { @[probefunc] = count(); @at[usym(ucaller)] = count(); } " \
            "pid$target:a.out:getppid:call { @[probename] = count(); } END { printa(@); printa(\"sum %@d\\n\", @sum); printa(@at); }"
        _, out, err = run([DTRACE, "-q", "-x", "inproc=auto", "-x", "inprocsum", "-n", text, "-c", "./stripped"], cwd=tmp)
        expect(out, r"^ +turn +7000$", r"^ +getppid +7000$", r"^ +call +7000$", r"^sum 24496500$", r"^ +stripped`\+0x[0-9a-f]+ +7000$")
        expect(err, r"^dtrace: 2 places probed in process \d+ itself")
        code, _, err = run([DTRACE, "-x", "inproc=auto", "-n", "pid$target:a.out:known_here:entry { @ = count(); }", "-c", "./stripped"], cwd=tmp, check=False)
        if code == 0 or "'stripped' has no symbols that can be read" not in err or "pid$target:a.out::call" not in err:
            raise Failed(f"a function without a name: status {code}: {err}")


@test("probes/all of them are listed")
def listing():
    out = run([DTRACE, "-l"])[1]
    have = {line.split()[1] for line in out.splitlines()[1:] if len(line.split()) > 1}
    for provider in ("dtrace", "syscall", "profile", "proc", "sched", "io", "ip", "tcp", "udp", "fsinfo", "vminfo", "sysinfo", "mib", "sdt", "rawtp", "lockstat", "cpc"):
        if provider not in have:
            raise Failed(f"dtrace -l has no probe of {provider}: {sorted(have)[:60]}")
