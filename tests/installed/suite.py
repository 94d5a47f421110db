# SPDX-License-Identifier: MIT
"""What the tests share: how one is declared, how dtrace is run, how to wait for what it prints."""
import os, re, subprocess, sys, tempfile, threading

SUITE = os.path.dirname(os.path.abspath(__file__))
DATA, PACKAGES, WANTED, SHARED = (f"{SUITE}/{n}" for n in ("data", "packages", "wanted", "shared"))
DTRACE = "/usr/sbin/dtrace"
ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
PATIENCE = 1  # times are multiplied by this on an emulated machine
LIMIT = 300  # seconds: whoever has to wait longer for what must come has failed
MISSING = []  # packages that modules and bindings are built with, and that this machine lacks

RUNNING = set()  # process groups of tests
TESTS = []  # (name, function), in the order in which they are run
# What a busy machine causes, or what is said about other processes, is no fault of the test.
EXCUSED = r"dtrace: (script|description) .* matched|dtrace: cannot read .*: (its file system does not answer|file systems answer too slowly)|" \
    r"dtrace: pid \d+ has exited|dtrace: \d+ (more error|.*drop)|dtrace: [1-9]\d* errors? in ustack helpers|" \
    r"dtrace: \d+ times a probe was reached while the kernel ran a program|hint: "


class Skip(Exception):
    """This machine lacks something; the text says what."""


class Failed(Exception):
    pass


def test(name):
    def declare(func):
        TESTS.append((name, func))
        return func
    return declare


def limit():
    return LIMIT * PATIENCE


def need(program, package):
    """The path of a program of this system; whoever needs it is skipped without it."""
    for folder in [*ENV["PATH"].split(":"), "/usr/local/bin"]:
        if os.access(f"{folder}/{program}", os.X_OK):
            return f"{folder}/{program}"
    raise Skip(f"no {program} (package {package})")


def folder():
    return tempfile.TemporaryDirectory(prefix="t.", dir="/tmp", ignore_cleanup_errors=True)


def run(argv, cwd="/tmp", env=None, check=True, text=None):
    """Returns exit status, stdout and stderr; status other than 0 is a failure unless told otherwise."""
    p = subprocess.Popen(argv, cwd=cwd, env=ENV | (env or {}), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         errors="replace", start_new_session=True)
    RUNNING.add(p.pid)
    try:
        out, err = p.communicate(text, timeout=limit())
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, 9)
        out, err = p.communicate()
        raise Failed(f"{shown(argv)} does not end\n{out[-2000:]}{err[-2000:]}") from None
    finally:
        RUNNING.discard(p.pid)
    if check and p.returncode:
        raise Failed(f"{shown(argv)}: status {p.returncode}\n{out[-2000:]}{err[-2000:]}")
    return p.returncode, out, err


def shown(argv):
    return " ".join(argv)[:300]


def expect(text, *patterns):
    for pattern in patterns:
        if not re.search(pattern, text, re.M):
            raise Failed(f"does not match: {pattern}\n{text[-3000:]}")


def complaints(err):
    """The messages that matter. A machine that is too busy to let files be read keeps helpers from knowing a process, too."""
    excused = EXCUSED + (r"|dtrace: ustack helper .* has native frames only" if "answer too slowly" in err else "")
    return [line for line in err.splitlines() if line and not re.match(excused, line)]


def dtrace(*args, cwd="/tmp", env=None):
    """Runs dtrace, which must succeed without a message that matters; returns what it prints."""
    _, out, err = run([DTRACE, *args], cwd, env)
    if complaints(err):
        raise Failed(f"{shown(args)} says:\n{err[:2000]}")
    return out


def dtrace_until(args, wanted, cwd, env=None):
    """
    Runs dtrace with a program that ends when there is a file 'seen' in the folder; makes it as soon as one of the paragraphs that dtrace prints matches.
    Returns the paragraph.
    """
    p = subprocess.Popen([DTRACE, *args], cwd=cwd, env=ENV | (env or {}), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         errors="replace", start_new_session=True)
    RUNNING.add(p.pid)
    found, last, lines, said = None, "", [], []
    reader = threading.Thread(target=lambda: said.append(p.stderr.read()))
    reader.start()
    timer = threading.Timer(limit(), lambda: os.killpg(p.pid, 9))
    timer.start()
    for line in p.stdout:
        lines.append(line)
        if line.strip():
            continue
        last = "".join(lines) if len(lines) > 2 else last
        lines = []
        if not found and re.search(wanted, last, re.M):
            found = last
            with open(os.path.join(cwd, "seen"), "w", encoding="utf-8"):
                pass
    p.wait()
    RUNNING.discard(p.pid)
    timer.cancel()
    reader.join()
    if not found:
        raise Failed(f"{shown(args)}: status {p.returncode}, and nothing matches: {wanted}\nthe last one:\n{last[:3000]}{said[0][:2000]}")
    if p.returncode or complaints(said[0]):
        raise Failed(f"{shown(args)}: status {p.returncode}\n{said[0][:2000]}")
    return found


def end_tests(number, frame):
    """SIGTERM: whoever ends a run wants its tests to end, too."""
    for group in list(RUNNING):
        os.killpg(group, 9)
    os._exit(128 + number)


def report(number, name, seconds, failure, skipped, verbose):
    """A line of TAP; failures with what was seen."""
    result = "not ok" if failure else "ok"
    note = f" # SKIP {skipped}" if skipped else f" # {seconds:.1f} s" if verbose or seconds > 10 else ""
    print(f"{result} {number} {name}{note}")
    for line in (failure or "").rstrip().split("\n") if failure else ():
        print(f"  {line}")
    sys.stdout.flush()
