# SPDX-License-Identifier: MIT
"""The event that happens once: the first stack of a process has the frames of its language. Programs of the runtimes wait, deep in their code,
for a byte, and a session that has begun gets the one stack when it comes: without naming the process, and with -p. A program of -c has its
stack at its first read. So has a process that begins while dtrace runs, if another one of the same files was there before it."""
import os, shlex, shutil, subprocess, sys, time

from helpertrace import DTRACE, OPTS, PATIENCE, TMP, language_frames, write
from readers import MADE_BY, PROGRAMS, reader

# name: command, frames of the language at least
RUNTIMES = {
    "Python": (["/usr/bin/python3.11", "p.py"], 5),
    "Perl": (["perl", "p.pl"], 4),
    "Ruby": (["ruby", "p.rb"], 8),
    "PHP": (["php", "p.php"], 5),
    "Lua": (["lua5.4", "p.lua"], 4),
    "LuaJIT": (["luajit", "p.lua"], 4),
    "Node.js": (["node", "p.js"], 6),
    "Java": (["java", "-Xmx64m", "-XX:+UseSerialGC", "-cp", ".", "P"], 5),
}
# The tables that the helper reads are empty until the virtual machine is loaded, which -c does not wait for.
LOADED_LATE = ("Java",)

ONCE = """
    tick-10ms /!said/ { said = 1; printf("begun\\n"); }
    syscall::read:return /pid == $1 && arg0 == 1/ { jstack(); exit(0); }
"""
ANOTHER = """
    tick-10ms /!said/ { said = 1; printf("begun\\n"); }
    syscall::read:entry /ppid == $1 && arg0 == 0/ { jstack(); exit(0); }
"""
# Walks ask for the helper while the runtime is being loaded: what is found then is not to last.
WHILE_IT_BEGINS = """
    profile-997 /pid == $target/ { @[jstack(20)] = count(); } END { trunc(@); }
    syscall::read:return /pid == $target && arg0 == 1/ { jstack(); exit(0); }
"""
AT_ONCE = "syscall::read:entry /pid == $target && arg0 == 0/ { jstack(); exit(0); }"


def event(name, command, options):
    """The stack of the one event."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        try:
            if program.stdout.readline() != "ready\n" or not reader(program.pid):
                return f"{name} does not begin"
            pid = str(program.pid)
            tracer = subprocess.Popen([DTRACE, "-q", *OPTS, "-x", "switchrate=100hz", "-n", ONCE, pid, *options, *([pid] if options else [])],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            try:
                if tracer.stdout.readline() != "begun\n":
                    return "the session does not begin"
                program.stdin.write("x")
                program.stdin.flush()
                return tracer.communicate(timeout=60 * PATIENCE)[0]
            finally:
                tracer.kill()
                tracer.wait()
        finally:
            program.kill()


def another(name, command):
    """The stack of the first read of a process that begins when dtrace has another one of the same program."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        tracer = None
        try:
            if program.stdout.readline() != "ready\n" or not reader(program.pid):
                return f"{name} does not begin"
            tracer = subprocess.Popen([DTRACE, "-q", *OPTS, "-x", "switchrate=100hz", "-n", ANOTHER, str(os.getpid()), "-p", str(program.pid)],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            if tracer.stdout.readline() != "begun\n":
                return "the session does not begin"
            subprocess.run(command, check=True, input=b"\n", stdout=subprocess.DEVNULL)
            return tracer.communicate(timeout=60 * PATIENCE)[0]
        finally:
            program.kill()
            if tracer:
                tracer.kill()
                tracer.wait()


def started(name, command):
    """The stack of a program's first read, which dtrace has begun."""
    run = subprocess.run([DTRACE, "-q", *OPTS, "-n", AT_ONCE, "-c", shlex.join(command)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True, timeout=60 * PATIENCE)
    return run.stdout.replace("ready\n", "")


def begun(name, command):
    """The stack of a read long after the program has begun, of which there were walks from its first instruction on."""
    with subprocess.Popen([DTRACE, "-q", *OPTS, "-n", WHILE_IT_BEGINS, "-c", shlex.join(command)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run:
        # Its own word that it has begun: on a busy machine that takes longer than any time that could stand here.
        if run.stdout.readline() != "ready\n":
            return f"{name} does not begin"
        time.sleep(1.5 * PATIENCE)  # its helper is tried again
        return run.communicate("\n", timeout=60 * PATIENCE)[0]


def main():
    os.chdir(TMP)
    write(PROGRAMS)
    bad = []
    for name, (command, least) in RUNTIMES.items():
        maker = MADE_BY.get(name)
        if not shutil.which(command[0]) or maker and not shutil.which(maker[0]):
            continue
        if maker:
            subprocess.run(maker, check=True, stdin=subprocess.DEVNULL)
        found = {"-p": event(name, command, ["-p"])}
        if not os.environ.get("SANITIZED"):  # a second of preparing is not enough for all processes then
            found["a process that runs"] = event(name, command, [])
        if name not in LOADED_LATE:
            found["-c"] = started(name, command)
        else:
            found |= {f"met while it begins, {i + 1}": begun(name, command) for i in range(4)}
        found["another process"] = another(name, command)
        for how, stack in found.items():
            lines = [line for line in stack.splitlines() if line.strip()]
            if language_frames(lines) < least:
                bad.append(f"{name}, {how}: {language_frames(lines)} frames of the language\n{stack}")
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main())
