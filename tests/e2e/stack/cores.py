# SPDX-License-Identifier: MIT
"""The stack of a process and that of its core file are the same, for each runtime: frames of the language, native frames, their names and
offsets. Each program goes deep and waits in read(), or computes (Erlang). gcore makes the core file, or the kernel, which leaves out what
was never touched, where the file would be large."""
import os, re, shutil, signal, subprocess, sys

sys.path.insert(0, os.environ["SRC"] + "/tests/e2e")
from core_files import kernel_cores, kernel_writes_cores, unlimited
from helpertrace import PATIENCE, TMP, language_frames, read, report, stacks, until, write
from readers import MADE_BY, PROGRAMS, reader, threads

# name: command, frames of the language at least, whether the kernel makes the core file
RUNTIMES = {
    "C": (["./toy"], 0, False),
    "Python": (["/usr/bin/python3.11", "p.py"], 5, False),
    "Perl": (["perl", "p.pl"], 4, False),
    "Ruby": (["ruby", "p.rb"], 8, False),
    "PHP": (["php", "p.php"], 5, False),
    "Lua": (["lua5.4", "p.lua"], 4, False),
    "LuaJIT": (["luajit", "p.lua"], 4, False),
    "Node.js": (["node", "p.js"], 6, True),
    "Java": (["java", "-Xmx64m", "-XX:+UseSerialGC", "-cp", ".", "P"], 5, True),
    "Erlang": (["erl", "-noshell", "-s", "p", "main"], 3, False),
}


def core_of(program, by_kernel):
    if by_kernel:
        before = set(os.listdir("."))
        with kernel_cores():
            program.send_signal(signal.SIGABRT)
            program.wait()
        made = [f for f in os.listdir(".") if f not in before]
    else:
        run = subprocess.run(["gcore", "-o", "made", str(program.pid)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             timeout=300 * PATIENCE)
        made = [f for f in os.listdir(".") if f == f"made.{program.pid}"]
        if not made:
            print(run.stdout, run.stderr)
    return "./" + made[0] if made else None


def live_stacks(program, name):
    """Of the thread that waits in read(); of Erlang, of those that run code of the language."""
    if name != "Erlang":
        tid = reader(program.pid)
        return stacks(report(tid), tid) if tid else {}
    return until(lambda: scheduler_stacks(program))


def scheduler_stacks(program):
    """Of the stopped program. Goes on with it if none of its schedulers runs code of the language at this moment."""
    program.send_signal(signal.SIGSTOP)
    found = {}
    for tid in threads(program.pid):
        if "scheduler" in read(f"/proc/{program.pid}/task/{tid}/comm"):  # which run code of the language
            found.update(stacks(report(tid), tid))
    found = {tid: s for tid, s in found.items() if language_frames(s)}
    if not found:
        program.send_signal(signal.SIGCONT)
    return found


def compare(name, command, least, by_kernel):
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=unlimited) as program:
        try:
            if program.stdout.readline() != "ready\n":
                return f"{name} does not begin"
            live = live_stacks(program, name)
            if not live:
                return f"{name}: no thread waits"
            core = core_of(program, by_kernel)
            if not core:
                return f"{name}: there is no core file"
            text = report(core)
            os.unlink(core)
        finally:
            program.kill()
    dead = stacks(text, program.pid)
    if by_kernel and "the process got SIGABRT\n" not in text:
        return f"{name}: the core file has no signal"
    if name == "C" and len(dead) != 2:
        return f"{name}: the core file has {len(dead)} threads"
    for tid, stack in live.items():
        if stack != dead.get(tid):
            return f"{name}: the process\n" + "\n".join(stack) + "\nits core file\n" + "\n".join(dead.get(tid) or ["nothing"])
        if language_frames(stack) < least or (name == "C" and sum("toy`deep" in line for line in stack) != 4):
            return f"{name}: too few frames\n" + "\n".join(stack)
    print(f"{name}: {sum(map(len, live.values()))} frames, {sum(map(language_frames, live.values()))} of the language")
    return None


def main():
    if not shutil.which("gcore"):
        print("this test needs gcore (package gdb)")
        return 67
    os.chdir(TMP)
    write(PROGRAMS)
    bad = []
    for name, (command, least, by_kernel) in RUNTIMES.items():
        maker = MADE_BY.get(name)
        if not shutil.which(command[0]) and not maker or maker and not shutil.which(maker[0]):
            continue
        if by_kernel and not kernel_writes_cores():
            print(f"skip: {name}: the kernel gives core files to a program (core_pattern)")
            continue
        if maker:
            subprocess.run(maker, check=True, stdin=subprocess.DEVNULL)
        if wrong := compare(name, command, least, by_kernel):
            bad.append(wrong)
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main())
