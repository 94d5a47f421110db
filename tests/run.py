#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The one test runner: unit, golden, property and end-to-end tests, in parallel.

    tests/run.py BUILD_DIR [--bless] [--jobs N] [--only SUBSTRING]... [--foreign] [--full] [--no-kernel] [--patience N] [--inproc MODE] [--record FILE] [--done FILE] [--times [N]]

Kinds of test, all found by looking at the tree:
  unit, prop   executables of the build (tests/unit, tests/prop) that print TAP
  golden       tests/golden/STAGE/NAME.d with the expected text beside it; the stage's dump program
               (BUILD/tests/golden/PROGRAM) makes the actual text
  e2e          tests/e2e/**/NAME.d run by the dtrace command on this kernel, NAME.sh run by sh
  fuzz         every script and every file of tests/fuzz/crashers through each fuzz target
               (BUILD/tests/fuzz/replay_TARGET)
  rooms        includes point one way only (doc/architecture.md)
  citations    pages, sections, files and headings that comments and pages cite are there (tests/citations.py)
  tags         every error tag is shown by a test, or tests/tags_never says why it cannot arise
  arch         code for one architecture stands in its folder of src/arch only
  format       clang-format agrees with every C file, and no line is wider than 100 columns
  lint         rules about the tree as a whole (tests/lints.py), each a test

An e2e script states its needs in comments of its first lines:
  /* @@runtest-opts: -q -w */       flags, before -s
  /* @@trigger: open_loop 100 */    runs it with -c (programs of tests/e2e/trigger)
  /* @@args: one two */             script arguments
  /* @@needs: programs32, int80 */  skipped, with the reason, when this machine lacks it: BUILD/tests/e2e/trigger/has WORD
                                    tries it; "kernel" is what --no-kernel leaves out
  /* @@foreign */                   it reads what others have made (programs, debug information, cores, maps): --foreign,
                                    the run of a build with sanitizers, has these beside units, properties, golden and fuzz tests
  /* @@exit: 3 */                   expected exit status (default: 0; 1 for err.*)
  /* @@timeout: 900 */              seconds, 600 at least; --patience multiplies this and all other times. On a machine
                                    that is busy a second is longer, up to three times: that of a program which has a CPU for itself
  /* @@full */                      it takes long for what it finds: only --full, the run of 'tools/test full', has it
  /* @@exclusive */                 runs alone, after the others
  /* @@bare */                      does not see the debug files of the system's packages (/usr/lib/debug), where namespaces of mounts
                                    allow it: mdb would unpack those of libc in each of its hundred runs, to know all types
A shell script that leaves out a part prints 'skip: REASON' (as 'has' does); the part counts as skipped.
Expected output: NAME.out (stdout) and NAME.err (stderr, 'dtrace: ... matched N probes' left out), where present. A
line that starts with '~' is a regular expression for the whole line; '~*' alone stands for any number of lines.
A test that fails is run once more, alone, after the others. If it passes then, it is named at the end ('unsteady: NAME'), and
more than three of these fail the run: a test that fails now and then is a defect, of it or of the product. When more than
twenty have failed, none is run again; nor is one that took too long. Tests wait for events, count what was lost, and measure
time on CPU, so that they pass on a machine that has other work.
Prints one line a test, details of failures, and last 'N passed, N failed, N skipped'. A record (--record) has two lines a test: 'begin NAME',
then 'pass|fail|skip PASSED FAILED SKIPPED SECONDS NAME'; tests that have the second one in another run's record (--done) are left out.
So many tests run at once as --jobs says (as there are CPUs), and up to twice as many while CPUs have nothing to do (tests/slots.py).
--times names the N tests (25) that took the CPUs longest, and says how much of the CPUs' time the run has used.
"""
import argparse, concurrent.futures, json, os, re, signal, subprocess, sys, tempfile, threading, time

import lints
from slots import Slots

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# stage folder -> (dump program, suffix of the expected text of good programs)
STAGES = {"ast": ("ast_dump", ".ast"), "check": ("compile_dump", ".dif")}


class Result:
    def __init__(self, name, status, detail="", seconds=0.0, count=(0, 0, 0)):
        self.name, self.status, self.detail, self.seconds, self.count = name, status, detail, seconds, count
        self.timed_out = False
        self.cpu = 0.0  # seconds on CPUs, of its programs and of those that they have waited for


PATIENCE = 1  # an emulated machine needs more
RUNNING = set()  # process groups of tests
LOOK_S = 1.0  # so often what else runs is looked at
STRETCH_MAX = 3  # so many times its time a program may take on a busy machine
ENDING_S = 10  # so long a test that has taken too long may show what its tracers have said
TRACERS = ("dtrace", "memprof")
SPENT = threading.local()  # .cpu: seconds on CPUs of what the test of this thread has run; .timed_out: some of it took too long


class Program(subprocess.Popen):
    """A process that says how long it was on CPUs: the one way in which subprocess waits for it is another."""

    def _try_wait(self, wait_flags):
        try:
            pid, status, usage = os.wait4(self.pid, wait_flags)
        except ChildProcessError:
            return self.pid, 0
        if pid:
            SPENT.cpu = getattr(SPENT, "cpu", 0.0) + usage.ru_utime + usage.ru_stime
        return pid, status


def cpu_share():
    """The part of a CPU that a program gets beside all that want to run now; a tenth at least. Threads that are niced count, too."""
    running = int(re.search(r"^procs_running (\d+)", read("/proc/stat"), re.M)[1])
    return max(0.1, min(1.0, (os.cpu_count() or 1) / max(running, 1)))


def tracers_end(group):
    """Asks the tracers of a process group to end: they print what they have, and the script that waits for them shows it."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            name, rest = re.fullmatch(r"\d+ \((.*)\) (.*)\n", read(f"/proc/{pid}/stat"), re.S).groups()
            if name in TRACERS and int(rest.split()[2]) == group:
                os.kill(int(pid), signal.SIGTERM)
        except OSError:  # it has ended
            pass


def group_end(proc):
    """Ends a test that has taken too long; returns its output."""
    for _ in range(ENDING_S):
        tracers_end(proc.pid)
        try:
            out, err = proc.communicate(timeout=1)
            break
        except subprocess.TimeoutExpired:
            pass
    else:
        os.killpg(proc.pid, signal.SIGKILL)
        return proc.communicate()
    try:
        os.killpg(proc.pid, signal.SIGKILL)  # what the script has left in the background
    except ProcessLookupError:
        pass
    return out, err


def run(argv, timeout, **kw):
    """
    Runs argv in its own process group, so that a timeout ends its children too. The time counts as that of a machine which has nothing else
    to do: what gets a part of a CPU may take longer, STRETCH_MAX times as long at most.
    """
    timeout *= PATIENCE
    deadline = time.monotonic() + STRETCH_MAX * timeout
    proc = Program(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                   start_new_session=True, **kw)
    RUNNING.add(proc.pid)
    try:
        while True:
            wait = max(0.0, min(timeout, LOOK_S, deadline - time.monotonic()))
            try:
                out, err = proc.communicate(timeout=wait)
                break
            except subprocess.TimeoutExpired:
                timeout -= wait * cpu_share()
            if timeout < 0.01 or time.monotonic() >= deadline:
                SPENT.timed_out = True
                out, err = group_end(proc)
                return -999, out.decode(errors="replace"), err.decode(errors="replace") + "\ntimed out"
    finally:
        RUNNING.discard(proc.pid)
    return proc.returncode, out.decode(errors="replace"), err.decode(errors="replace")


def end_tests(number, frame):
    """SIGTERM: whoever ends a run (timeout(1), a CI system) wants its tests to end, too."""
    for group in list(RUNNING):
        os.killpg(group, signal.SIGKILL)
    os._exit(128 + number)


def read(path):
    with open(path, errors="replace") as f:
        return f.read()


def matches(want, got):
    """Compares line by line; '~' lines are regular expressions, '~*' any number of lines."""
    w, g = want.split("\n"), got.split("\n")
    i = j = 0
    star = None  # the last '~*', and the first line that it has not taken yet
    while j < len(g):
        if i < len(w) and w[i] == "~*":
            i += 1
            star = (i, j)
        elif i < len(w) and (re.fullmatch(w[i][1:], g[j]) if w[i].startswith("~") else w[i] == g[j]):
            i += 1
            j += 1
        elif star:  # what earlier '~*' have taken needs no change: this one can take any line
            star = (star[0], star[1] + 1)
            i, j = star
        else:
            return False
    return all(l == "~*" for l in w[i:])


def show(want, got):
    return "  want:\n" + "".join(f"    |{l}\n" for l in want.split("\n")) + "  got:\n" + "".join(
        f"    |{l}\n" for l in got.split("\n"))


def compare(path, got, bless):
    if bless:
        with open(path, "w") as f:
            f.write(got)
        return ""
    if not os.path.exists(path):
        return f"  {os.path.relpath(path, ROOT)} is missing\n" + show("", got)
    want = read(path)
    return "" if matches(want, got) else f"  {os.path.relpath(path, ROOT)} differs\n" + show(want, got)


def test_tap(name, exe, opts):
    code, out, err = run([exe], 300, cwd=ROOT, env=dict(os.environ, PATIENCE=str(PATIENCE)))
    passed = len(re.findall(r"^ok \d+(?!.*# SKIP)", out, re.M))
    skipped = len(re.findall(r"^ok \d+.*# SKIP", out, re.M))
    failed = len(re.findall(r"^not ok \d+", out, re.M))
    if code != 0 or failed or not re.search(r"^1\.\.\d+", out, re.M):
        bad = "\n".join(l for l in out.split("\n") if not l.startswith("ok "))
        return Result(name, "fail", f"  exit status {code}\n{bad[-4000:]}\n{err[-4000:]}", count=(passed, max(failed, 1), skipped))
    return Result(name, "skip" if not passed else "pass", count=(passed, failed, skipped))


def test_golden(name, script, stage, opts):
    prog, suffix = STAGES[stage]
    code, out, err = run([os.path.join(opts.build, "tests/golden", prog), os.path.relpath(script, ROOT)], 120, cwd=ROOT)
    base = script[:-2]
    is_err = os.path.basename(script).startswith("err.")
    detail = compare(base + (".err" if is_err else suffix), err if is_err else out, opts.bless)
    if (code != 0) != is_err:
        detail += f"  exit status {code}\n{err}"
    tag = re.match(r"err\.(D_\w+)\.", os.path.basename(script))
    if is_err and tag and f"[{tag.group(1)}]" not in err:
        detail += f"  no [{tag.group(1)}] in the message\n{err}"
    return Result(name, "fail" if detail else "pass", detail)


def fuzz_files():
    """What has crashed a target, what targets begin with, every script."""
    for top in ("tests/fuzz/crashers", "tests/fuzz/seeds", "tests/golden", "tests/e2e", "examples", "dlib"):
        for folder, _, files in os.walk(os.path.join(ROOT, top)):
            yield from sorted(os.path.relpath(os.path.join(folder, f), ROOT) for f in files
                              if f.endswith(".d") or top.startswith("tests/fuzz"))


def test_fuzz(name, exe, opts):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        subprocess.run([os.path.join(ROOT, "tests/fuzz/make_seeds"), os.path.basename(name), made], check=True)
        seeds = sorted(os.path.join(made, f) for f in os.listdir(made))
        code, out, err = run([exe] + list(fuzz_files()) + seeds, 300, cwd=ROOT)
    last = out.strip().split("\n")[-1]
    return Result(name, "fail" if code else "pass", f"  exit status {code} at {last}\n{err[-4000:]}" if code else "")


def directives(text):
    return {m.group(1): m.group(2).strip() for m in re.finditer(r"@@([\w-]+):?(.*?)(?:\*/|$)", text[:4000], re.M)}


def sanitizers(build):
    """What the build was made with: nothing, or 'address,undefined'."""
    try:
        options = json.loads(read(os.path.join(build, "meson-info/intro-buildoptions.json")))
    except OSError:
        return ""
    return next((o["value"] for o in options if o["name"] == "b_sanitize" and o["value"] != "none"), "")


def env_for(opts, tmp):
    env = dict(os.environ, DTRACE_OPT_SYSLIBDIR=os.path.join(ROOT, "dlib"), TZ="UTC", LC_ALL="C", BUILD=opts.build, SRC=ROOT, TMP=tmp,
               DTRACE=os.path.join(opts.build, "src/cmd/dtrace/dtrace"), SANITIZED=opts.sanitized, PATIENCE=str(PATIENCE),
               TRIGGER=os.path.join(opts.build, "tests/e2e/trigger"))
    if opts.inproc:
        env["DTRACE_OPT_INPROC"] = opts.inproc
    if PATIENCE > 1:  # an emulated machine is stopped for longer than a file system may take to answer
        env["DTRACE_OPT_FILEWAIT"] = f"{200 * PATIENCE}ms"
    return env


LACKS = {}  # a word of @@needs -> what 'has' said of it: (status, text)


def lack_of(words, opts):
    """Whether this machine has what the words of @@needs name: None, or a status of a result and the reason."""
    for word in filter(None, re.split(r"[ ,]+", words)):
        if word == "kernel":
            if opts.no_kernel:
                return "skip", "--no-kernel"
            continue
        if word not in LACKS:
            code, out, err = run([os.path.join(opts.build, "tests/e2e/trigger/has"), word], 60)
            LACKS[word] = (code, (out + err).strip())
        code, text = LACKS[word]
        if code == 1:
            return "skip", text.removeprefix("skip: ")
        if code != 0:
            return "fail", f"@@needs names '{word}': {text}"
    return None


def argv_bare(argv):
    """What runs a command in a namespace of mounts in which /usr/lib/debug is empty."""
    hidden = "[ ! -d /usr/lib/debug ] || mount -t tmpfs none /usr/lib/debug"
    if run(["unshare", "--mount", "sh", "-c", hidden], 60)[0]:
        return argv
    return ["unshare", "--mount", "sh", "-c", hidden + '; exec "$@"', "sh", *argv]


def skips_of(out):
    """The reasons for which a script has left out parts."""
    return re.findall(r"^skip: (.*)", out, re.M)


def test_e2e(name, script, opts):
    d = directives(read(script))
    lack = lack_of(d.get("needs", ""), opts)
    if "full" in d and not (opts.full or opts.only):
        lack = "skip", "'tools/test full' runs it"
    if lack:
        return Result(name, lack[0], f"  {lack[1]}\n")
    is_err = os.path.basename(script).startswith("err.")
    want_code = int(d.get("exit", "1" if is_err else "0"))
    base = os.path.splitext(script)[0]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as tmp:
        env = env_for(opts, tmp)
        if script.endswith(".sh"):
            argv = ["sh", script]
        else:
            argv = [env["DTRACE"]] + d.get("runtest-opts", "").split()
            if "trigger" in d:
                argv += ["-c", os.path.join(env["TRIGGER"], d["trigger"])]
            argv += ["-s", os.path.relpath(script, ROOT)] + d.get("args", "").split()
        if "bare" in d:
            argv = argv_bare(argv)
        code, out, err = run(argv, max(int(d.get("timeout", 0)), 600), cwd=ROOT, env=env)
    if script.endswith(".sh") and code == 67:
        return Result(name, "skip", "  " + (out + err).strip().replace("\n", "\n  ") + "\n", count=(0, 0, 1))
    err = "".join(l for l in err.splitlines(True) if not re.match(r"dtrace: (script|description) '.*' matched \d+ probe", l))
    detail = ""
    for suffix, got in ((".out", out), (".err", err)):
        if os.path.exists(base + suffix) or (opts.bless and suffix == ".out" and not is_err):
            detail += compare(base + suffix, got, opts.bless and not os.path.exists(base + suffix))
    if code != want_code:
        detail += f"  exit status {code}, expected {want_code}\n"
    if detail and not os.path.exists(base + ".err"):
        shown = (out if script.endswith(".sh") else "") + err
        detail += "".join(f"    !{l}\n" for l in shown.split("\n")[:40])
    tag = re.match(r"err\.(D_\w+)\.", os.path.basename(script))
    if tag and f"[{tag.group(1)}]" not in err:
        detail += f"  no [{tag.group(1)}] in the message\n{err}"
    if detail:
        return Result(name, "fail", detail)
    skips = skips_of(out) if script.endswith(".sh") else []
    return Result(name, "pass", "".join(f"  left out: {s}\n" for s in skips), count=(1, 0, len(skips)))


ROOMS = [["base"], ["arch"], ["dif"], ["record"], ["rt"], ["kernel"], ["privilege"], ["files"], ["image"], ["flow"], ["target"], ["sym"], ["keeper"], ["patch"], ["usdt"], ["unwind"], ["d"],
         ["helper"], ["probe"], ["native"], ["inproc"], ["bpf"], ["watch"], ["stacks"], ["provider"], ["agg"], ["consume"], ["picture"], ["render"], ["library"], ["session"], ["mdb"], ["remains"], ["crash"], ["cmd"]]


def room_of(path):
    """Of a path under src/."""
    return path.split("/")[0]


# Whoever is above the engines knows nothing of bpf/ but its name.
ABOVE_ENGINES = {"agg", "consume", "render", "library", "session"}
ENGINE_LIST = "session/engines/engines.c"


def engine_leaks():
    """Files that know an engine instead of probe/engine.h, or name a kind of place instead of asking for its traits."""
    src = os.path.join(ROOT, "src")
    enum = re.search(r"enum place_kind \{(.*?)\}", read(os.path.join(src, "probe/place.h")), re.S).group(1)
    kinds = set(re.findall(r"\bPLACE_\w+", enum)) - {"PLACE_NKINDS"}
    detail = ""
    for folder, _, files in os.walk(src):
        for f in (f for f in files if f.endswith((".c", ".h"))):
            path = os.path.relpath(os.path.join(folder, f), src)
            text = re.sub(r"/\*.*?\*/", "", read(os.path.join(folder, f)), flags=re.S)
            if room_of(path) in ABOVE_ENGINES and path != ENGINE_LIST:
                for used in sorted(set(re.findall(r'^#include "(bpf/[\w/.]+)"', text, re.M))):
                    detail += f"  {path} includes {used}: it is of one engine (probe/engine.h)\n"
            if path not in ("probe/place.h", "probe/place.c", "bpf/places.c") and room_of(path) != "provider":
                for kind in sorted(kinds & set(re.findall(r"\bPLACE_\w+", text))):
                    detail += f"  {path} names {kind}: it asks for traits (probe/place.h)\n"
    return detail


ROOM_COLUMNS = slice(28, 70)  # of the picture of the rooms; words before and behind say what they are for


def rooms_drawn(text, known):
    """The picture of the rooms: lists of those between two of its lines, from above."""
    picture = text.split("\n## The rooms")[1].split("\n| room")[0]
    lines = [l for l in picture.split("\n") if l.startswith("    ")]
    groups = [[]]
    for l in lines:
        if l.strip("- ") == "":
            groups.append([])
        else:
            groups[-1] += [w for w in l[ROOM_COLUMNS].split() if w in known]
    return groups


# The run-time library's private ABI, and who may know it: the kernel's engine.
PRIVATE_ABI, KNOWS_ABI = "rt/abi.h", {"rt", "kernel", "bpf"}


def abi_leaks():
    """Files outside of the kernel's engine that include its private ABI, themselves or by other headers."""
    src = os.path.join(ROOT, "src")
    users = {}  # header -> files that include it
    for folder, _, files in os.walk(src):
        for f in (f for f in files if f.endswith((".c", ".h"))):
            path = os.path.relpath(os.path.join(folder, f), src)
            for used in re.findall(r'^#include "([\w/.]+)"', read(os.path.join(folder, f)), re.M):
                users.setdefault(used, []).append(path)
    detail, seen, left = "", {PRIVATE_ABI}, [PRIVATE_ABI]
    while left:
        header = left.pop()
        for path in sorted(set(users.get(header, [])) - seen):
            seen.add(path)
            left.append(path)
            if room_of(path) not in KNOWS_ABI and path != ENGINE_LIST:
                detail += f"  {path} includes {header}, and with it {PRIVATE_ABI}, which is the kernel's engine's\n"
    return detail


def test_rooms(name, opts):
    """A room includes only itself, its equals' public headers and lower rooms; files of a session see the parts they need."""
    level = {room: i for i, rooms in enumerate(ROOMS) for room in rooms}
    detail = ""
    for folder, _, files in os.walk(os.path.join(ROOT, "src")):
        room = room_of(os.path.relpath(folder, os.path.join(ROOT, "src")) + "/")
        for f in (f for f in files if f.endswith((".c", ".h")) and room in level):
            for m in re.finditer(r'^#include "([\w/]+/)', read(os.path.join(folder, f)), re.M):
                used = room_of(m.group(1))
                if used in level and level[used] > level[room]:
                    detail += f"  {room}/{f} includes from {used}/\n"
    for folder, _, files in os.walk(os.path.join(ROOT, "src/session")):
        for f in (f for f in files if f.endswith((".c", ".h"))):
            text = read(os.path.join(folder, f))
            if '#include "session/session.h"' in text and not re.search(r"^\w.*\bdtrace_\w+\(", text, re.M):
                detail += f"  session/{f} sees the whole handle and has no public function: it takes the parts it needs\n"
    detail += engine_leaks() + abi_leaks()
    told = re.findall(r"^\| `(\w+)` \|", read(os.path.join(ROOT, "doc/architecture.md")).split("\n## ")[1], re.M)
    if told[::-1] != [room for rooms in ROOMS for room in rooms]:
        detail += f"  doc/architecture.md has the rooms in another order, or others: {' '.join(told[::-1])}\n"
    drawn = rooms_drawn(read(os.path.join(ROOT, "doc/architecture.md")), set(level))
    order = [room for rooms in ROOMS for room in rooms]
    for group in drawn[::-1]:
        if set(order[:len(group)]) != set(group):
            detail += f"  doc/architecture.md draws {' '.join(group)} above {' '.join(order[:len(group)])}\n"
        order = order[len(group):]
    detail += f"  doc/architecture.md does not draw {' '.join(order)}\n" if order else ""
    return Result(name, "fail" if detail else "pass", detail)


def test_citations(name, opts):
    """What a reader looks up is there, and where the citation says."""
    import citations  # here, so that the runner works without it

    detail = "".join(f"  {line}\n" for line in citations.wrong(ROOT))
    return Result(name, "fail" if detail else "pass", detail)


def shown_tags():
    """Error tags that some test wants to see: in expected messages, and by name in unit tests."""
    found = set()
    for folder, dirs, files in os.walk(os.path.join(ROOT, "tests")):
        for f in files:
            path = os.path.join(folder, f)
            if f.endswith((".err", ".sh")) or ("/unit/" in path and f.endswith(".c")):
                found.update(re.findall(r"\bD_([A-Z]\w+)", read(path)))
            m = re.match(r"err\.D_(\w+)\.", f)  # test_e2e() and test_golden() look for that tag
            if m:
                found.add(m.group(1))
    return found


def raised_tags():
    text = ""
    for folder, _, files in os.walk(os.path.join(ROOT, "src")):
        text += "".join(read(os.path.join(folder, f)) for f in files if f.endswith(".c"))
    return set(re.findall(r"\bD_([A-Z]\w+)\b", text))


def test_tags(name, opts):
    """d-language.md 3.8: tag -> test, or tag -> reason (tests/tags_never)."""
    tags = re.findall(r"^D_TAG\((\w+)\)", read(os.path.join(ROOT, "src/d/text/tags.def")), re.M)
    rows = read(os.path.join(ROOT, "tests/tags_never")).splitlines()
    never = dict(l.split(None, 1) for l in rows if l[:1].isupper())
    free = {l.split()[1] for l in rows if l.startswith("? ")}
    shown, raised = shown_tags(), raised_tags()
    detail = "".join(f"  D_{t} is raised, but tests/tags_never says: {never[t]}\n" for t in never if t in raised)
    detail += "".join(f"  D_{t} of tests/tags_never is no tag\n" for t in never if t not in tags)
    detail += "".join(f"  D_{t} has no test\n" for t in tags if t not in never and t not in shown and t not in free)
    detail += "".join(f"  D_{t} is never raised\n" for t in tags if t not in never and t not in raised and t not in free)
    return Result(name, "fail" if detail else "pass", detail)


# Names that only code for one processor has.
MACHINE_NAMES = (r"EM_X86_64|EM_386|R_X86_64_\w+|R_386_\w+|Zydis\w*|__x86_64__|__i386__|u_debugreg|rbp|rsp|rip|"
                 r"user_regs_struct|elf_gregset_t|fs_base|fsbase|orig_ax|orig_rax|0x33|PAGE_SHIFT|x86_64")


def machine_users():
    """The files that headers of an architecture's folder are compiled into."""
    includes = {f[4:]: re.findall(r'^\s*#\s*include "([^"]+)"', read(os.path.join(ROOT, f)), re.M) for f in c_files() if f.startswith("src/")}

    def leads(f, seen):
        return f not in seen and (seen.add(f) or any(i.startswith("arch/machine/") or leads(i, seen) for i in includes.get(f, [])))
    return {f"src/{f}" for f in includes if f.endswith(".c") and leads(f, set())}


def test_arch(name, opts):
    """A port to another processor adds a folder there and one to dlib/, and changes no file. What depends on the processor when it is compiled,
    is compiled for the dummy, too. src/flow reads files of x86-64, on whatever processor: what it names is in the files. src/native writes code of x86-64,
    and takes nothing on another processor (none.c)."""
    known = re.compile(r"\b(%s)\b" % MACHINE_NAMES)
    detail = ""
    folders = [f for f in os.listdir(os.path.join(ROOT, "src/arch")) if os.path.exists(os.path.join(ROOT, "src/arch", f, "arch.c"))]
    for f in sorted(c_files()):
        if not f.startswith("src/") or f.startswith(("src/flow/", "src/native/")) or f.startswith(tuple(f"src/arch/{folder}/" for folder in folders)):
            continue
        code = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), read(os.path.join(ROOT, f)), flags=re.S)
        for n, line in enumerate(code.split("\n"), 1):
            for m in known.finditer(line):
                detail += f"  {f}:{n} names {m.group(1)}\n"
    dummy = read(os.path.join(ROOT, "tests/unit/arch/meson.build"))
    compiled = {f"src/{f}" for f in re.findall(r"\.\./src/([\w/]+\.c)'", dummy)}
    compiled |= {f"src/rt/{f}.c" for f in re.findall(r"'(\w+)'", re.search(r"foreach name : \[(.*?)\]", dummy)[1])}
    detail += "".join(f"  {f}: tests/unit/arch/meson.build does not compile it for the dummy\n" for f in sorted(machine_users() - compiled))
    for folder in folders:
        wanted = [f"src/arch/{folder}/{f}" for f in ("frame.h", "meson.build", "regs.h", "syscalls.def")] + [f"dlib/{folder}/{f}" for f in ("regs.d", "syscall.d")]
        detail += "".join(f"  {f} is missing: src/arch/arch.h says what an architecture consists of\n" for f in wanted if not os.path.exists(os.path.join(ROOT, f)))
    return Result(name, "fail" if detail else "pass", detail)


def c_files():
    for top in ("src", "lib", "modules", "include", "tests", "bench", "examples"):
        for folder, _, files in os.walk(os.path.join(ROOT, top)):
            for f in files:
                if f.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(folder, f), ROOT)


def wide_lines(path):
    """Lines over 100 columns. Tables between "clang-format off" and "on" may be wider, and so may lines with a string
    (clang-format does not break them: expected output and messages can be searched for)."""
    off = False
    for number, line in enumerate(read(os.path.join(ROOT, path)).split("\n"), 1):
        if "clang-format o" in line:
            off = "clang-format off" in line
        if len(line.expandtabs(8)) > 100 and not off and '"' not in line:
            yield number


def test_format(name, opts):
    """Comments and code have one form. 'clang-format -i FILE' mends what the first half finds."""
    files = sorted(c_files())
    code, _, err = run(["clang-format", "--dry-run", "-Werror", "--ferror-limit=1", *files], 120, cwd=ROOT)
    unformatted = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", err, re.M)))
    detail = "".join(f"  {f} is not as clang-format -i leaves it\n" for f in unformatted)
    if code != 0 and not detail:
        detail = f"  clang-format: {err.strip() or 'exit status %d' % code}\n"
    detail += "".join(f"  {f}:{n} is wider than 100 columns\n" for f in files for n in wide_lines(f))
    return Result(name, "fail" if detail else "pass", detail)


def test_lint(name, check, opts):
    try:
        faults = check(ROOT)
    except lints.Skip as why:
        return Result(name, "skip", f"  {why}\n")
    return Result(name, "fail" if faults else "pass", "".join(f"  {fault}\n" for fault in faults))


def find_tests(opts):
    tests = [("rooms", test_rooms, ()), ("citations", test_citations, ()), ("tags", test_tags, ()), ("arch", test_arch, ()),
             ("format", test_format, ())]
    tests += [(f"lint/{name}", test_lint, (check,)) for name, check in (lints.LINTS.items())]
    for kind in ("unit", "prop"):
        folder = os.path.join(opts.build, "tests", kind)
        for f in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            exe = os.path.join(folder, f)
            if os.path.isfile(exe) and os.access(exe, os.X_OK):
                tests.append((f"{kind}/{f.removeprefix(kind + '_')}", test_tap, (exe,)))
    folder = os.path.join(opts.build, "tests/fuzz")
    for f in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if f.startswith("replay_") and os.path.isfile(os.path.join(folder, f)):
            tests.append((f"fuzz/{f.removeprefix('replay_')}", test_fuzz, (os.path.join(folder, f),)))
    for stage in STAGES:
        folder = os.path.join(ROOT, "tests/golden", stage)
        for f in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            if f.endswith(".d"):
                tests.append((f"golden/{stage}/{f[:-2]}", test_golden, (os.path.join(folder, f), stage)))
    for folder, dirs, files in os.walk(os.path.join(ROOT, "tests/e2e")):
        dirs.sort()
        for f in sorted(files):
            if f.endswith((".d", ".sh")) and "trigger" not in folder:
                path = os.path.join(folder, f)
                tests.append((os.path.splitext(os.path.relpath(path, os.path.join(ROOT, "tests")))[0], test_e2e, (path,)))
    tests = [t for t in tests if not opts.foreign or t[1] is not test_e2e or is_foreign(t)]
    return [t for t in tests if not opts.only or any(part in t[0] for part in opts.only)]


def is_foreign(test):
    return "foreign" in directives(read(test[2][0]))


def is_exclusive(test):
    return test[1] is test_e2e and "exclusive" in directives(read(test[2][0]))


UNSTEADY_MAX = 3
RETRY_MAX = 20  # so many failures are no matter of luck


def tree_strangers():
    """The files of the tree that git does not know and does not ignore; none where there is no git."""
    try:
        p = subprocess.run(["git", "ls-files", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return set()
    return set(p.stdout.splitlines())


def test_left(name, left, opts):
    return Result(name, "fail" if left else "pass", "".join(f"  {f}\n" for f in left))


def names_done(path):
    """Of a record: the names of the tests that have ended."""
    lines = (l.split(" ", 5) for l in read(path).replace("\r", "").split("\n"))
    return {l[5] for l in lines if len(l) == 6 and l[0] in ("pass", "fail", "skip")}


def times_show(results, number, seconds):
    """What tests cost: a run is as long as its CPUs are busy, unless it waits."""
    used, cpus = sum(os.times()[:4]), os.cpu_count() or 1
    print(f"== {seconds:.0f} s, in which {used:.0f} s on CPUs: {100 * used / max(seconds * cpus, 0.01):.0f} % of {cpus} CPUs")
    for r in sorted(results, key=lambda r: -r.cpu)[:number]:
        print(f"{r.cpu:7.2f} s on CPUs, {r.seconds:7.2f} s in all: {r.name}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("build")
    ap.add_argument("--bless", action="store_true")
    ap.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    ap.add_argument("--only", action="append")
    ap.add_argument("--foreign", action="store_true")
    ap.add_argument("--full", action="store_true")
    ap.add_argument("--no-kernel", action="store_true")
    ap.add_argument("--patience", type=int, default=1)
    ap.add_argument("--inproc", choices=["off", "auto", "all"], help="option inproc of every dtrace that an e2e test starts")
    ap.add_argument("--record", type=argparse.FileType("a"), default=None)
    ap.add_argument("--done", default="")
    ap.add_argument("--verbose", action="store_true")
    ap.add_argument("--times", type=int, nargs="?", const=25, default=0)
    opts = ap.parse_args()
    global PATIENCE
    PATIENCE = opts.patience
    opts.build = os.path.abspath(opts.build)
    opts.sanitized = sanitizers(opts.build)
    os.environ.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    # Ignored in what a shell starts in the background: tests send it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, lambda *_: None)  # programs of tests do not ignore it, although this one may run under nohup
    signal.signal(signal.SIGTERM, end_tests)
    done = names_done(opts.done) if opts.done else set()
    tests = [t for t in find_tests(opts) if t[0] not in done]
    total = [0, 0, 0]

    def note(line):
        if opts.record:
            opts.record.write(line + "\n")  # at once: tests run in several threads
            opts.record.flush()

    def counts(r):
        return r.count if any(r.count) else tuple(int(r.status == s) for s in ("pass", "fail", "skip"))

    def one(test):
        name, func, args = test
        note(f"begin {name}")
        start, SPENT.cpu, SPENT.timed_out, own = time.monotonic(), 0.0, False, time.thread_time()
        try:
            r = func(name, *args, opts)
        except Exception as e:  # a broken test is a failure, not the end of the run
            r = Result(name, "fail", f"  {type(e).__name__}: {e}\n")
        r.timed_out = SPENT.timed_out
        r.seconds, r.cpu = time.monotonic() - start, SPENT.cpu + time.thread_time() - own
        results.append(r)
        note(" ".join(map(str, (r.status, *counts(r), f"{r.seconds:.1f}", r.name))))
        return r

    results = []  # of all runs of tests
    failed = []  # the first results of those that have failed

    def report(r, is_last=False):
        if r.status == "fail" and not is_last:
            failed.append(r)
        else:
            total[:] = [a + b for a, b in zip(total, counts(r))]
        if opts.verbose or r.status != "pass" or r.seconds > 5:
            print(f"{r.status:4} {r.seconds:6.2f}s {r.name}", flush=True)
        if r.detail:
            print(r.detail, end="" if r.detail.endswith("\n") else "\n", flush=True)

    def unsteady_find():
        """Runs again what has failed, one after the other; returns the names of those that pass now."""
        by_name = {t[0]: t for t in tests}
        unsteady = []
        repeated = [r for r in failed if not r.timed_out] if len(failed) <= RETRY_MAX and not opts.bless else []
        if repeated:
            print(f"== {len(repeated)} failed: once more, each alone", flush=True)
        for first in failed:
            again = first
            if first in repeated:
                again = one(by_name[first.name])
                report(again, is_last=True)
            else:
                total[:] = [a + b for a, b in zip(total, counts(first))]
            if again.status == "pass":
                unsteady.append(first.name)
        return unsteady

    before, begin = tree_strangers(), time.monotonic()
    alone = [t for t in tests if is_exclusive(t)]
    most = opts.jobs * 2 if PATIENCE == 1 else opts.jobs  # the CPUs of an emulated machine are slow even when they have nothing to do
    slots = Slots(opts.jobs, most)

    def one_of_several(test):
        with slots:
            return one(test)

    with concurrent.futures.ThreadPoolExecutor(most) as pool:
        for r in pool.map(one_of_several, (t for t in tests if t not in alone)):
            report(r)
    for t in alone:
        report(one(t))
    unsteady = unsteady_find()
    if not opts.only:
        left = sorted(tree_strangers() - before)
        report(one(("tests leave nothing in the tree", test_left, (left,))), is_last=True)
    if opts.times:
        times_show(results, opts.times, time.monotonic() - begin)
    for name in unsteady:
        print(f"unsteady: {name}")
    if len(unsteady) > UNSTEADY_MAX:
        print(f"more than {UNSTEADY_MAX} tests are unsteady: the run has failed")
        total[1] += 1
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main())
