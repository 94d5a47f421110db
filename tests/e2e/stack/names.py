# SPDX-License-Identifier: MIT
"""Random programs in several languages (names/program.*) note their own stack before each system call, with its number. jstack() has the same frames.

    names.sh        2,000 stacks of each in the suite; NAMES=100000 NAMES_SEED=7 NAMES_ONLY=perl,lua: how many, of which random numbers, of what

Functions are made of texts with names and files that begin alike, call each other in many ways (callbacks of C code, generators, blocks, exceptions), and are
replaced while the program runs, so that memory of names, code and frames has something else at the same address. A stack with a mark, which says that frames
are missing, is counted, and has no wrong name if its frames are the innermost ones of the program's.
"""
import os, re, shutil, subprocess, sys

DTRACE, TMP, SRC = os.environ["DTRACE"], os.environ["TMP"], os.environ["SRC"]
STACKS = int(os.environ.get("NAMES", "2000"))
SEED = os.environ.get("NAMES_SEED", "1")
BASE = 1000000  # descriptors that nobody has: close() of base + number fails
MARK = re.compile(r"^\s*\[(no language frames yet|language frames cut|helper error|names cut|no unwind table yet|cut)")
FRAME = re.compile(r"^\s*\[ (.*) \]$")
LEAST = 0.99  # share of the stacks behind the first one with frames that are whole and recorded

# The system call of a stack, and its number: a file that is closed, or removed, which is not there.
CLOSE = (f"syscall::close:entry /pid == $target && arg0 >= {BASE}/", "(int)arg0")
REMOVE = ('syscall::unlink:entry, syscall::unlinkat:entry /pid == $target && strstr(copyinstr(probefunc == "unlink" ? arg0 : arg1), "/nonexistent/names/") != NULL/',
          'strtoll(basename(copyinstr(probefunc == "unlink" ? arg0 : arg1)), 10)')
PROGRAMS = {
    "python": (["/usr/bin/python3"], "program.py", CLOSE),
    "ruby": (["ruby", "-W0", "-Ku"], "program.rb", CLOSE),
    "perl": (["/usr/bin/perl"], "program.pl", CLOSE),
    "php": (["php"], "program.php", REMOVE),
    "lua": (["lua5.4"], "program.lua", REMOVE),
    "node": (["node"], "program.js", REMOVE),
    "java": (["java", "-XX:+UnlockDiagnosticVMOptions", "-XX:+ShowHiddenFrames", "-ea", "-cp", "."], "Program.java", REMOVE),
}
COMPILED = {"java": (["javac", "-nowarn", "-d", "."], "names.Program")}  # by which command, and what is executed
# Where frames of the language have no native frame: what a line of theirs is, and the innermost one that the program notes.
OWN_LINES = {"node": (re.compile(r"^\s*([^`]+ at \S+(?: (?:line|file position) \d+)?)$"), "mark at "),
             "java": (re.compile(r"^\s*([^\s`]+\.[^\s`]+\([^()`]+\))\*?$"), "names/Program.mark(")}
HIDDEN = re.compile(r"\+(0x[0-9a-f]+)\.")  # of a hidden class of Java: its own traces have a slash there
ONLY = os.environ.get("NAMES_ONLY", "")


def is_same(theirs, ours):
    """Frames are equal; the helper of Node.js leaves out a line that it does not know, and says which names V8 has made up, which the program may do without."""
    if theirs == ours or " at " not in theirs:
        return theirs == ours
    if theirs.startswith("[Symbol."):  # a name of the function's object, which its code does not have
        theirs = re.sub(r"^\[[^]]*\]", "(anon)", theirs)
    without_line = re.sub(r" line \d+$", "", theirs)
    ways = (ours, re.sub(r"^\(anon\) as ", "", ours), re.sub(r"^\(anon\) as .* at ", "(anon) at ", ours))
    return theirs in ways or without_line in ways


def own_frames(name, frames):
    """The frames from the innermost one that the program notes."""
    if name not in OWN_LINES:
        return frames
    if name == "java":
        frames = [HIDDEN.sub(r"/\1.", f) for f in frames]
    first = next((i for i, f in enumerate(frames) if f.startswith(OWN_LINES[name][1])), len(frames))
    return frames[first:]


def compare(name):
    """Reads both traces side by side; returns how many stacks are equal, marked, missing, and the texts of wrong ones."""
    counts, wrong, has_begun = {"equal": 0, "marked": 0, "early": 0, "missing": 0, "silent": 0}, [], False
    own = open("own", encoding="utf-8", errors="surrogateescape")

    def end(number, frames, is_marked):
        nonlocal has_begun
        for line in own:
            its, text = line.rstrip("\n").split(" ", 1)
            if int(its) == number:
                break
            counts["missing"] += 1
        else:
            wrong.append(f"{name}: stack {number} is not one of the program's")
            return
        theirs, frames = text.split("|"), own_frames(name, frames)
        counts["silent"] += sum(bool(re.search(r" at \S+$", f)) for f in frames)
        if len(frames) == len(theirs) and all(map(is_same, theirs, frames)) and not is_marked:
            counts["equal"] += 1
            has_begun = True
        elif not frames and not has_begun:
            counts["early"] += 1
        elif is_marked and len(frames) <= len(theirs) and all(map(is_same, theirs, frames)):
            counts["marked"] += 1
        else:
            at = next((i for i, (a, b) in enumerate(zip(frames, theirs)) if not is_same(b, a)), min(len(frames), len(theirs)))
            wrong.append(f"{name}: stack {number - BASE}, frame {at} of {len(theirs)}{' (marked)' if is_marked else ''}:\n"
                         f"  jstack():    {frames[at:at + 3]}\n  the program: {theirs[at:at + 3]}")

    number, frames, is_marked = 0, [], False
    with open("out", encoding="utf-8", errors="surrogateescape") as f:
        for line in f:
            if line.startswith("STACK "):
                if number:
                    end(number, frames, is_marked)
                number, frames, is_marked = int(line[6:]), [], False
            elif MARK.match(line):
                is_marked = True
            elif m := OWN_LINES.get(name, (FRAME,))[0].match(line):
                frames.append(m[1])
    if number:
        end(number, frames, is_marked)
    counts["missing"] += sum(1 for _ in own)
    return counts, wrong


bad = 0
for name, (command, file, (probe, number)) in PROGRAMS.items():
    if ONLY and name not in ONLY.split(","):
        continue
    os.makedirs(f"{TMP}/{name}", exist_ok=True)
    os.chdir(f"{TMP}/{name}")
    shutil.copy(f"{SRC}/tests/e2e/stack/names/{file}", file)
    needed = [command[0], *(COMPILED[name][0][:1] if name in COMPILED else [])]
    if not all(map(shutil.which, needed)):
        print(f"# {name} is not here")
        continue
    if name in COMPILED:
        compiler, file = COMPILED[name]
        if subprocess.run([*compiler, PROGRAMS[name][1]]).returncode:
            sys.exit(f"{name}: the program does not compile")
    # a stack is recorded when the helper is attached: then the program may go on
    script = (f'{probe} {{ printf("STACK %d", {number}); jstack(600); }}'
              "tick-1s /!met/ { met = 1; system(\"touch met\"); }")
    with open("out", "w") as out, open("err", "w") as err:
        status = subprocess.run([DTRACE, "-wq", "-x", "bufsize=64m", "-x", "switchrate=50hz", "-x", "jstackstrsize=4k", "-x", "strsize=512", "-n", script, "-c",
                                 " ".join([*command, file, str(STACKS), SEED, str(BASE)])], stdout=out, stderr=err).returncode
    counts, wrong = compare(name)
    print(f"# {name}: {sum(counts.values()) - counts['silent']} stacks, {counts['equal']} equal, {len(wrong)} wrong, {counts['marked']} marked, "
          f"{counts['early']} before the helper was attached, {counts['missing']} not recorded, {counts['silent']} frames without their line")
    print("\n".join(wrong[:5]))
    if status or wrong or counts["equal"] < LEAST * (STACKS - counts["early"]):
        with open("err") as f:
            print(f"{name}: status {status}, {f.read()[:2000]}")
        bad = 1
sys.exit(bad)
