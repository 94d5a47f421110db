# SPDX-License-Identifier: MIT
"""Commands that are held at the place which the option evaltime names (target/evaltime.h).

The same holds with breakpoints of hlt and, forced by FATHOM_NO_FEATURE=HLT, of int3. The program is
held.c: it compares its own code, and that of its libraries, with the files.
"""
import os, re, select, signal, subprocess, sys, time

DTRACE, TMP, SRC, CC = os.environ["DTRACE"], os.environ["TMP"], os.environ["SRC"], os.environ.get("CC", "cc")
PATIENCE = int(os.environ.get("PATIENCE", 1))
PLACES = ("exec", "preinit", "postinit", "main")
KINDS = {"hlt": {}, "int3": {"FATHOM_NO_FEATURE": "HLT"}}
# Nothing is placed in the process, so that its code must be that of the files.
OUTSIDE = ["-qn", "syscall::write:entry /pid == $target/ { @ = count(); }", "-n", 'END { printa("%@d\\n", @); }']
NOISY = [word.replace("-qn", "-n") for word in OUTSIDE]
# The functions that run after the process was held.
INSIDE = ["-qn", 'pid$target:a.out:held_init:entry, pid$target:a.out:main:entry { @[probefunc] = count(); }', "-n", 'END { printa("%s %@d\\n", @); }']
bad = []


def build(name, *flags):
    path = f"{TMP}/{name}"
    p = subprocess.run([CC, "-pthread", "-o", path, f"{SRC}/tests/e2e/pid/held.c", *flags], capture_output=True, text=True)
    return path if p.returncode == 0 else None


def dtrace(args, program, do="plain", kind="hlt"):
    env = {**os.environ, "DO": do, **KINDS[kind]}
    return subprocess.run([DTRACE, *args, "-c", program], capture_output=True, text=True, env=env, timeout=120 * PATIENCE)


def expect(what, p, status, out, err=""):
    """out: lines in any order; err: a regular expression for the whole of stderr."""
    got = sorted(l for l in p.stdout.split("\n") if l)
    if out and not any("well" in l for l in out):  # the program finds the probes in its code, and says so
        got = [l for l in got if "well" not in l and "the code of" not in l]
    if p.returncode != status or (out is not None and got != sorted(out)) or not re.fullmatch(err, p.stderr, re.S):
        bad.append(f"{what}: status {p.returncode}, {got} instead of {sorted(out or [])}, stderr '{p.stderr}'")


def programs():
    """Every kind of program: dynamic, static, with and without a symbol of main(), of 32 bits."""
    made = {"pie": build("pie", "-fpie", "-pie"), "fixed": build("fixed", "-fno-pie", "-no-pie"), "static": build("static", "-static"),
            "static-pie": build("static-pie", "-static-pie"), "stripped": build("stripped", "-s"), "32 bits": build("bits32", "-m32"),
            "32 bits, stripped": build("bits32s", "-m32", "-s")}
    for name, path in made.items():
        if not path or subprocess.run([path], capture_output=True).returncode:
            print(f"not built, or does not run here: {name}")
        else:
            yield name, path


def kinds_of_programs():
    for name, path in programs():
        for kind in KINDS if name == "pie" else ("hlt",):
            for place in PLACES if (name, kind) == ("pie", "hlt") else ("preinit", "main"):
                expect(f"{name}, {place}, {kind}", dtrace([*OUTSIDE, "-x", f"evaltime={place}"], path, kind=kind), 0, ["1", "well plain"])
        if "stripped" not in name:  # only main() runs after the process was held there
            expect(f"main() of {name}", dtrace([*INSIDE, "-x", "evaltime=main"], path), 0, ["main 1"])
    expect("all", dtrace(INSIDE, f"{TMP}/pie"), 0, ["held_init 1", "main 1"])
    path = build("unknown", "-static", "-s")
    if path:
        expect("no main()", dtrace([*NOISY, "-x", "evaltime=main"], path), 0, None,
               r"(?s:.*)dtrace: cannot find main\(\) of process \d+, whose file has no symbol table: it is held at its entry point\n(?s:.*)")


def initialisers(path):
    for kind in KINDS:
        for do in ("fork", "spawn", "spawn-thread", "threads", "handlers", "timer", "stop", "seccomp")[: 8 if kind == "hlt" else 5]:
            expect(f"{do}, {kind}", dtrace([*OUTSIDE, "-x", "evaltime=main"], path, do, kind), 0, ["1", f"well {do}"])
    for _ in range(10):  # children and threads are made while the process is stopped
        for do in ("fork", "spawn-thread", "threads"):
            expect(f"{do}, again", dtrace([*OUTSIDE, "-x", "evaltime=main"], path, do), 0, ["1", f"well {do}"])
    expect("exec", dtrace([*INSIDE, "-x", "evaltime=main"], path, "exec"), 0, ["main 1"])
    for kind in KINDS:
        expect(f"exec in a thread, {kind}", dtrace([*NOISY, "-x", "evaltime=main"], path, "exec-thread", kind), 0, None,
               r".*dtrace: process \d+ has executed another program before it came to the place that the option evaltime names; it is held there in "
               r"the other program\n.*")
    for do, how, args in (("exit", "exited with status 3", INSIDE), ("die", r"terminated by SIGRTMIN\+6", OUTSIDE)):
        expect(do, dtrace([*args, "-x", "evaltime=main"], path, do), 1, [],
               rf"dtrace: .*pid \d+ {how} before it called main\(\): nothing was traced\n.*hint: hold it earlier: -x evaltime=preinit or exec\n.*")


def process_of(path):
    """Waits until the process of the file waits in its initialiser."""
    while True:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/exe") == path and "sys_pause" in open(f"/proc/{pid}/stack").read():
                    return int(pid)
            except OSError:
                pass
        time.sleep(0.01)


def ends(path):
    """Whatever ends dtrace ends the process, which has a breakpoint, before it runs into that."""
    for kind, sigs in (("hlt", (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)), ("int3", (signal.SIGKILL,))):
        for sig in sigs:
            status = -9 if sig == signal.SIGKILL else 1
            p = subprocess.Popen([DTRACE, *OUTSIDE, "-x", "evaltime=main", "-c", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 env={**os.environ, "DO": "pause", **KINDS[kind]})
            pid = process_of(path)
            pidfd = os.pidfd_open(pid)
            p.send_signal(sig)
            _, err = p.communicate(timeout=60 * PATIENCE)
            if p.returncode != status or (status > 0 and "interrupted before process" not in err):
                bad.append(f"{sig}, {kind}: status {p.returncode}, '{err}'")
            if not select.select([pidfd], [], [], 60 * PATIENCE)[0]:
                bad.append(f"{sig}: the process is left")
            os.close(pidfd)


kinds_of_programs()
hard = build("hard", "-fpie", "-pie")
initialisers(hard)
ends(hard)
sys.exit("\n".join(bad) if bad else 0)
