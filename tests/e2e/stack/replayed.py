# SPDX-License-Identifier: MIT
"""Each runtime's program writes 777 bytes from deep in its code. A session records jstack() there and stops the process; --helpertrace, which
runs the same helpers over the same stack in the interpreter of DIF, prints the same frames. What its trace says, and what it refuses."""
import os, re, subprocess, sys

from helpertrace import DTRACE, OPTS, PATIENCE, TMP, language_frames, read, report, stacks, until, write
from writers import QUIET, RUNTIMES, make, prepare

TRIGGER = os.environ["TRIGGER"]

BAD = """dtrace:helper:ustack:
/arg3 == 1/
{
	this->here = arg0;
	"a name";
	*(int *)(arg3 + 7);
	"never";
}
"""

# When the helper is there, somebody opens the file $$2, and the next call stops the process.
SCRIPT = """
    syscall::openat:entry /copyinstr(arg1) == $$2/ { go = 1; }
    syscall::write:entry /(pid == $1 || ppid == $1) && arg2 == 777 && !go/ { jstack(); }
    syscall::write:entry /(pid == $1 || ppid == $1) && arg2 == 777 && go/ { printf("THREAD %d %d\\n", pid, tid); jstack(); stop(); exit(0); }
"""

# of the toy's trace
LINES = r"""toy.d, dtrace:helper:attach:
  toy.d:7: current = 0x[0-9a-f]+
  toy.d:10: condition: false
toy.d, dtrace:helper:uthread:
  toy.d:16: reads 8 bytes at 0x[0-9a-f]+: 0x7ff[0-9a-f]+
  toy.d:16: this->frame = 0x7ff[0-9a-f]+
frame 0: libc.so.6`write\+0x[0-9a-f]+, pc 0x[0-9a-f]+, fp 0x[0-9a-f]+, sp 0x7ff[0-9a-f]+
  toy.d:19: predicate: false
frame 1: toy`run\+0x[0-9a-f]+, pc 0x[0-9a-f]+, fp 0x[0-9a-f]+, sp 0x7ff[0-9a-f]+
  toy.d:19: predicate: true
  toy.d:22: reads [0-9]+ bytes at 0x[0-9a-f]+: "leaf"
  toy.d:22: uframe\(\) adds "leaf line 21"
"""



def state(tid):
    return re.search(r"^State:\t(.)", read(f"/proc/{tid}/status"), re.M)[1]


def is_stopped(tid):
    """Whether the thread is, or is so soon: it stops by itself when nobody traces it any more, as soon as it has a CPU."""
    return until(lambda: state(tid) == "T", 10)


def open_missing(path):
    """Opens a file that is not there, for whoever traces openat()."""
    try:
        os.close(os.open(path, os.O_RDONLY))
    except FileNotFoundError:
        pass


def has_met(pid):
    """Whether dtrace knows the helpers of the process, or of a child; other programs of the machine are met as well."""
    children = [child for task in os.listdir(f"/proc/{pid}/task") for child in read(f"/proc/{pid}/task/{task}/children").split()]
    return any(os.path.exists(f"met.{p}") for p in [pid, *children])


def in_kernel(program, options):
    """The thread that was stopped, and its stack; what dtrace has said."""
    go = f"go.{program.pid}"
    command = [f"{TRIGGER}/met", DTRACE, "-w", "-q", *OPTS, *options, "-n", SCRIPT, str(program.pid), go]
    with open("kernel.out", "w") as out, open("kernel.err", "w") as err:
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err) as tracer:
            until(lambda: has_met(program.pid) or tracer.poll() is not None, 40)
            open_missing(go)
            try:
                tracer.wait(40 * PATIENCE)
            except subprocess.TimeoutExpired:
                tracer.terminate()
    said = read("kernel.err")
    text = read("kernel.out").partition("THREAD ")[2]
    if not text:
        return 0, [], said
    first, _, rest = text.partition("\n")
    return int(first.split()[1]), [line for line in rest.splitlines() if line], said


def compare(name, command, least, options):
    """What is wrong; else None."""
    with subprocess.Popen(command, **QUIET) as program:
        try:
            tid, one, said = in_kernel(program, options)
            if not tid or not is_stopped(tid):
                return f"{name}: it was not stopped\n{said}"
            trace = report(tid, *options)
            if not is_stopped(tid):
                return f"{name}: not stopped any more"
        finally:
            program.kill()
    two = stacks(trace, tid).get(tid, [])
    if one != two:
        return f"{name}: {said}in the kernel\n" + "\n".join(one) + "\nreplayed\n" + "\n".join(two)
    if language_frames(one) < least:
        return f"{name}: too few frames\n" + "\n".join(one) + "\n" + said
    if name == "java-compiled" and not any(re.search(r"deep.*\)\*$", line) for line in one):
        return "nothing was compiled\n" + "\n".join(one)
    if name == "toy":
        lines = trace.splitlines()
        missing = [want for want in LINES.splitlines() if not any(re.fullmatch(want, line) for line in lines)]
        return "\n".join(f"the trace has no line '{line}'" for line in missing) or None
    return None


def started(*command):
    """A process that executes the command."""
    program = subprocess.Popen(command, **QUIET)
    until(lambda: read(f"/proc/{program.pid}/comm").strip() == os.path.basename(command[0]))
    return program


def said_of(*arguments, **environment):
    """What dtrace says, on both outputs."""
    return subprocess.run([DTRACE, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, **environment}, timeout=120 * PATIENCE).stdout


def fault():
    """A fault, with its line; a process that runs goes on."""
    program = started("./toy")
    try:
        text = said_of("-x", "helper=bad.d", f"--helpertrace={program.pid}")
        for line in ("  bad.d:4: this->here = 0x", '  bad.d:5: value "a name"', "  bad.d:6: reads 4 bytes at 0x8: not there",
                     "  fault: bad.d:6: no memory at 0x8", "bad.d:1: predicate: false"):
            if line not in text:
                yield f"no line '{line}'"
        if 'value "never"' in text:
            yield "after the fault"
        if state(program.pid) not in "SR":
            yield "the process does not run"
    finally:
        program.kill()
        program.wait()


def refusals():
    program = started("sleep", "600")
    try:
        for wanted, arguments, environment in (
                ("'./none' is no core file", ["--helpertrace=./none"], {}),
                ("there is no process or thread 999999999", ["--helpertrace=999999999"], {}),
                ("option helpertrace: 'x' is no process or thread id, and no core file", ["--helpertrace=x"], {}),
                ("runs no program", ["--helpertrace=1", "-n", "BEGIN"], {}),
                ("only one of", ["--helpertrace=1", "-l"], {}),
                # its name before
                ("runs no program", ["-x", "helpertrace=1", "-n", "BEGIN"], {}),
                ("only one of", ["-x", "helpertrace=1", "-l"], {}),
                (f"no helper applies to process {program.pid} (sleep)", [f"--helpertrace={program.pid}"],
                 {"DTRACE_OPT_SYSLIBDIR": "/nonexistent"})):
            text = said_of(*arguments, **environment)
            if wanted not in text:
                yield f"{' '.join(arguments)} says '{text}', not '{wanted}'"
    finally:
        program.kill()
        program.wait()


def main():
    os.chdir(TMP)
    prepare()
    write({"bad.d": BAD, "none": ""})
    bad = [compare(name, *RUNTIMES[name]) for name in RUNTIMES if make(name, RUNTIMES[name][0][0])] + list(fault()) + list(refusals())
    bad = [wrong for wrong in bad if wrong]
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main())
