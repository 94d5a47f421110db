# SPDX-License-Identifier: MIT
"""Runs what the documentation shows: every fenced block of README.md and doc/ that is a D program or a command.

  ```d             a program: has to compile (dtrace -e)
  ```d run         ... and is run: ends by itself or after a while, with status 0 and some output
  ```d refused     has to be refused
  ```d warned      compiles with a warning
  ```d kprobes     compiles where functions of the kernel can be traced
  ```d helper      a ustack helper: has to be one
  ```d values      the values of that helper: e2e/mdb/guide_values tries them
  ```sh            lines with 'dtrace ...': have to compile
  ```sh run        ... and are run, with a workload beside them; several lines have to end by themselves
  ```sh run rare   ... and may print nothing on a machine that is emulated (its CPUs take turns) or has less than three CPUs
  ```output        what the block before it prints (a refused or warned one: on stderr); a line '...' stands for any number of
                   lines, '...' in a line for any text. Blanks at the ends of lines do not count.
More words: args=A,B arguments of the script, flags=-w,... flags of dtrace.
  file=NAME        the block is a file: on this page the blocks of 'sh run' run one after the other in one folder, which has
                   the files of all blocks before them
  finally          of such a page: runs also when a block before it was wrong
  keeps=VAR,...    variables of threads that stay: see habits()
  needs=PATH,...   not looked at where one of these files is missing
Other blocks (console, text, c, ...) are not looked at. Further checks are at the end: tables that have to be complete.
"""
import concurrent.futures, glob, html, os, re, signal, subprocess, sys, tempfile, time

DTRACE, TRIGGER, TMP = (os.environ[n] for n in ("DTRACE", "TRIGGER", "TMP"))
SLOW = int(os.environ.get("PATIENCE", "1"))  # how many times slower this machine is
TRACED = [SLOW * seconds for seconds in (0.3, 1.5, 8)]  # of tracing until a command is told to end: each is tried when the one before was too short
PATIENCES = (1, 4, 16)  # the same for what ends by "timeout -s INT seconds" or "tick-seconds"
STARTS = 300 * min(SLOW, 4)  # seconds that a busy machine may need until it traces, or until the program of -c has ended


class Block:
    def __init__(self, page, line, info, text):
        self.where, self.text = f"{page}:{line}", text
        self.lang, *self.words = info.split() or [""]
        self.output = None  # the text of the output block behind it

    def word(self, name):
        return next((w.split("=", 1)[1].split(",") for w in self.words if w.startswith(name + "=")), [])


def blocks_of(page):
    blocks, info, start, lines = [], None, 0, []
    for n, line in enumerate(open(page), 1):
        if line.startswith("```"):
            if info is None:
                info, start, lines = line[3:].strip(), n, []
            else:
                b = Block(page, start, info, "".join(lines))
                if b.lang == "output":
                    blocks[-1].output = b.text
                else:
                    blocks.append(b)
                info = None
        elif info is not None:
            lines.append(line)
    return blocks


def is_tracing(pid):
    """dtrace catches SIGTERM once it traces."""
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"^SigCgt:\s*(\w+)", f.read(), re.M).group(1), 16) >> signal.SIGTERM - 1 & 1


def wait_for_tracing(p):
    """Until it traces, or has ended."""
    limit = time.monotonic() + STARTS
    while p.poll() is None and not is_tracing(p.pid) and time.monotonic() < limit:
        time.sleep(0.02)


def outcome(argv, tmp, env=None, traced=None):
    """Status, stdout and stderr of a command, which gets SIGTERM when it has traced so many seconds."""
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         errors="replace", cwd=tmp, env=env, start_new_session=True)
    try:
        if traced:
            wait_for_tracing(p)
        out, err = p.communicate(timeout=traced or STARTS)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGTERM)
        try:
            out, err = p.communicate(timeout=STARTS)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            out, err = p.communicate()
            return -1, out, err + "did not end on SIGTERM\n"
    return p.returncode, out, err


def same(want, got):
    trim = lambda s: "\n".join(l.rstrip() for l in s.strip("\n").split("\n"))
    parts = [r"(?:.*\n)*" if l == "..." else ".*".join(re.escape(p) for p in l.split("...")) + "\n"
             for l in trim(want).split("\n")]
    return re.fullmatch("".join(parts), trim(got) + "\n") is not None


COMPLAINT = r"(?!.*(matched \d+ probe|has exited|exited with status|invalid address|(its file system does not answer|file systems answer too slowly)|ended before a file that|drops? on CPU|more errors? on|times a probe was reached|no unwind table yet|stands for|error on enabled))dtrace: "


def judged(b, status, out, err, want_status=0):
    bad = []
    if status != want_status:
        bad.append(f"status {status}")
    if want_status == 0 and re.search(COMPLAINT, err):
        bad.append("complains")
    shown = err if want_status else out
    if b.output is not None and not same(b.output, shown):
        bad.append("prints something else")
    # What is 'rare' needs three CPUs at once, or two and an interrupt: the kernel has no tracepoint for the first that waits
    # for a spin lock. The CPUs of an emulated machine take turns.
    may_be_empty = "rare" in b.words and (SLOW > 1 or os.cpu_count() < 3)
    if b.output is None and want_status == 0 and "run" in b.words and not out.strip() and not may_be_empty:
        bad.append("prints nothing")
    tail = "".join(f"    |{l}\n" for l in shown.split("\n")[:25] + (err.split("\n")[:10] if shown is out else []))
    return [f"{b.where}: {', '.join(bad)}\n{tail}"] if bad else []


def check_d(b, tmp, traced):
    with open(os.path.join(tmp, "script.d"), "w") as f:
        f.write(b.text)
    argv = [DTRACE] + b.word("flags") + ["-s", "script.d"] + b.word("args")
    if "$target" in b.text:
        argv += ["-c", f"{TRIGGER}/work nap 300"]
    if "values" in b.words:
        return []
    if "helper" in b.words:
        return judged(b, *outcome([DTRACE, "-q", "-x", "helper=script.d", "-n", "BEGIN { jstack(); exit(0); }"], tmp))
    if "refused" in b.words:
        return judged(b, *outcome(argv + ["-e"], tmp), want_status=1)
    if "run" in b.words:
        return judged(b, *outcome(argv, tmp, traced=traced))
    status, out, err = outcome(argv + ["-e"], tmp)
    if "warned" in b.words:
        good = status == 0 and "dtrace: warning: " in err and b.output and same(b.output, err)
        return [] if good else [f"{b.where}: status {status}, warns otherwise\n{err}"]
    if "kprobes" in b.words and "functions of this kernel cannot be traced" in err:
        return []
    return [f"{b.where}: does not compile\n{err}"] if status else []


def commands():
    """A 'dtrace' that runs as it is, and one that only compiles, each in a folder of its own. They are written before
    there are threads: a program that another thread starts meanwhile holds them open, and they cannot be executed."""
    for folder, more in (("run", ""), ("compile", " -e")):
        path = os.path.join(TMP, folder, "dtrace")
        os.mkdir(os.path.dirname(path))
        with open(path, "w") as f:
            f.write(f'#!/bin/sh\nexec {DTRACE} "$@"{more}\n')
        os.chmod(path, 0o755)
    path = os.path.join(TMP, "run", "mdb")
    with open(path, "w") as f:
        f.write(f'#!/bin/sh\nexec {os.environ["BUILD"]}/src/cmd/mdb/mdb "$@"\n')
    os.chmod(path, 0o755)
    path = os.path.join(TMP, "run", "timeout")
    with open(path, "w") as f:
        f.write(f'#!/bin/sh\nexec {sys.executable} {os.path.abspath(__file__)} timeout "$@"\n')
    os.chmod(path, 0o755)


def timeout(_option, signame, seconds, *argv):
    """'timeout -s SIGNAL SECONDS dtrace ...' of the pages: the seconds begin when it traces, which may take long here."""
    p = subprocess.Popen(argv)
    wait_for_tracing(p)
    try:
        return p.wait(int(seconds))
    except subprocess.TimeoutExpired:
        p.send_signal(getattr(signal, "SIG" + signame))
        p.wait()
        return 124


def check_sh(b, tmp, traced, patience=1):
    text = re.sub(r"(?<=timeout -s INT )\d+|(?<=tick-)\d+(?=s \{[^}]*exit\(0\))", lambda seconds: str(int(seconds[0]) * patience), b.text)
    run = "run" in b.words
    bin_dir = os.path.join(TMP, "run" if run else "compile")
    env = dict(os.environ, PATH=f"{bin_dir}:{TRIGGER}:{os.environ['PATH']}")
    if not os.path.exists(os.path.join(tmp, "examples")):
        os.symlink(os.path.join(os.getcwd(), "examples"), os.path.join(tmp, "examples"))
    one = run and text.count("\n") == 1  # it gets the SIGTERM itself
    status, out, err = outcome(["sh", "-c", f"exec {text}" if one else text], tmp, env, traced if run else None)
    return judged(b, status, out, err)


def check_page(blocks, patience):
    """A page whose blocks build on each other; what is wrong ends it. What it traces for so many seconds is traced for
    as many times that."""
    with tempfile.TemporaryDirectory(dir=TMP) as tmp:
        os.chmod(tmp, 0o755)  # for programs that run as somebody else
        bad = []
        for b in blocks:
            name = b.word("file")
            if bad and "finally" not in b.words:
                continue
            if name:
                with open(os.path.join(tmp, name[0]), "w") as f:
                    f.write(b.text)
            elif b.lang == "sh" and "run" in b.words:
                bad += check_sh(b, tmp, None, patience)
            elif b.lang in ("d", "sh"):
                bad += check(b)
    return bad


def check(b):
    """Nothing, or what is wrong also when there was much time."""
    if isinstance(b, list):
        for patience in PATIENCES:
            bad = check_page(b, patience)
            if not bad:
                break
        return bad
    ends = "$target" in b.text  # with its process, however long probes took to be placed
    for traced, patience in ((None, 1),) if ends else zip(TRACED, PATIENCES):
        with tempfile.TemporaryDirectory(dir=TMP) as tmp:
            bad = check_d(b, tmp, traced) if b.lang == "d" else check_sh(b, tmp, traced, patience)
        if not bad or "run" not in b.words:
            break
    return bad


def pages():
    yield "README.md"
    for folder, _, files in sorted(os.walk("doc")):
        yield from sorted(os.path.join(folder, f) for f in files if f.endswith(".md"))


def table(path, pattern):
    return re.findall(pattern, open(path).read(), re.M)


def complete():
    """What has a table in the source is all on its page."""
    guide = lambda name: open(f"doc/guide/{name}.md").read()
    rows = [("actions", f"`{n}(", n) for n, flags in table("src/d/check/builtin.c", r'^\t\{ "(\w+)", SUBR_(?:FUNC|ACTION), "[^"]*", ([^,]*),')
            if "MISSING" not in flags]
    rows += [("aggregations", f"`{n}(", n) for n in table("src/d/check/builtin.c", r'^\t\{ "(\w+)", SUBR_AGGFUNC')]
    rows += [("variables", f"`{n}`", n) for n, flags in table("src/d/check/builtin.c", r'^\t\{ "(\w+)", (?:DIF_VAR_\w+|NOCODE), "[^"]*", ([^,]*),')
             if "MISSING" not in flags and "ALIEN" not in flags]
    rows += [("options", f"`{n}`", n) for n in table("src/session/options.def", r'^OPT(?:_RENDER)?\((\w+)')]
    rows += [("errors", f"`D_{n}`", n) for n in table("src/d/text/tags.def", r"^D_TAG\((\w+)\)")]
    for tag, literals in table("src/d/text/remedies.def", r'^D_REMEDY\((\w+),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)'):
        text = re.sub(r"\\(.)", r"\1", "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)))
        rows.append(("errors", f"| {html.escape(text, quote=False)} |", f"the remedy of D_{tag}: {text}"))
    return [f"doc/guide/{page}.md: nothing about {name}" for page, text, name in rows if text not in guide(page)]


NOT_INSTALLED = ("doc/architecture.md", "doc/release.md", "doc/style.md", "doc/testing.md")


def prose(page):
    """A page without its blocks of code."""
    with open(page) as f:
        return re.sub(r"^```.*?^```", "", f.read(), flags=re.M | re.S)


def anchors(page):
    """The names of a page's headings, as those who show the page make them."""
    names, times = set(), {}
    for head in re.findall(r"^#+ (.*)$", prose(page), re.M):
        name = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head).lower()).replace(" ", "-")
        names.add(f"{name}-{times[name]}" if name in times else name)
        times[name] = times.get(name, 0) + 1
    return names


def links():
    """Links lead to pages, and to their headings, in the tree and where the pages are installed; manual pages of ours are there."""
    for page in [*pages(), *sorted(glob.glob("bindings/*/README.md") + glob.glob("modules/*/README.md"))]:
        for path, anchor in re.findall(r"\]\(([^)#\s:]*)(?:#([^)\s]*))?\)", prose(page)):
            target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if not os.path.exists(target):
                yield f"{page}: link to {path}, which is not there"
            elif anchor and anchor not in anchors(target):
                yield f"{page}: link to {path}#{anchor}, but that page has no such heading"
            elif page not in NOT_INSTALLED and path and (not (target + "/").startswith(("README.md", "doc/", "examples/")) or target in NOT_INSTALLED):
                yield f"{page}: link to {path}, which is not installed"
    ours = {(f"dtrace-{os.path.basename(p)[:-3]}", "7") for p in glob.glob("doc/guide/*.md")} | {(os.path.basename(p)[:-2], p[-1]) for p in glob.glob("doc/*.[158]")}
    for page in sorted(glob.glob("doc/*.[158]")):
        with open(page) as f:
            for name, section in re.findall(r"^\.BR ([\w\\-]+) \((\d)\)", f.read(), re.M):
                name = name.replace("\\-", "-")
                if name.startswith(("dtrace", "fathom")) and (name, section) not in ours:
                    yield f"{page}: there is no {name}({section})"


def manual_words():
    """Manual pages that the build has made of the guide have the words of their page: names of capabilities and constants, whole."""
    made = sorted(glob.glob(os.path.join(os.environ["BUILD"], "doc/dtrace-*.7")))
    for path in made:
        page = f"doc/guide/{os.path.basename(path)[len('dtrace-'):-2]}.md"
        with open(path) as f:
            text = f.read()
        for word in sorted(set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", prose(page)))):
            if word not in text:
                yield f"{page}: the manual page has no {word}"


# Variables of threads that a script keeps on purpose: the end of the heap is that of the call before.
KEPT = {"examples/mmapstacks.d": ["top"]}


def habits_of(where, text, kept):
    """What a program does not do although the guide's four habits say so (doc/guide.md), as far as its text shows it."""
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', re.sub(r"/\*.*?\*/", " ", text, flags=re.S))
    index = r"(?:\s*\[[^]]*\])?"
    for name in sorted(set(re.findall(rf"\bself->(\w+){index}\s*(?:=(?!=)|\+\+|\+=)", text)) - set(kept)):
        if not re.search(rf"\bself->{name}\b{index}\s*=\s*(?:0|NULL)\b|--self->{name}\b|\bself->{name}\b{index}\s*--", text):
            yield f"{where}: self->{name} is never set to 0 (habit 4)"
    for probes, body in re.findall(r"(syscall:[^{};]*:entry[^{};]*)\{([^{}]*)\}", text):
        if re.search(r"\bcopyinstr\(\s*arg\d", probes + body):
            yield f"{where}: copyinstr() at the entry of a system call (habit 3)"


def habits():
    for page in pages():
        for b in blocks_of(page):
            if b.lang in ("d", "sh") and "refused" not in b.words:
                yield from habits_of(b.where, b.text, b.word("keeps"))
        for part in re.findall(r"(?:^    .*\n)+", prose(page), re.M):
            yield from habits_of(f"{page}, indented", part, [])
    for top in ("examples", "commands"):
        for folder, _, files in os.walk(top):
            for path in sorted(os.path.join(folder, f) for f in files):
                with open(path, errors="replace") as f:
                    text = f.read()
                if path.endswith(".d") or text.startswith("#!/usr/lib/fathom/command"):
                    yield from habits_of(path, text, KEPT.get(path, []))


def workload(stop):
    while not stop:
        subprocess.run(f"{TRIGGER}/calls read 500; {TRIGGER}/calls badclose 20; {TRIGGER}/strings /etc/passwd;"
                       f"{TRIGGER}/work map 5; dd if=/dev/zero of={TMP}/disk bs=64k count=4 conv=fsync; sleep 0.2",
                       shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    blocks = []
    for p in pages():
        own = [b for b in blocks_of(p) if "skip" not in b.words and all(map(os.path.exists, b.word("needs")))]
        own = [b for b in own if not sys.argv[1:] or sys.argv[1] in b.where]
        if any(b.word("file") for b in own):
            blocks.append(own)
        else:
            blocks += [b for b in own if b.lang in ("d", "sh")]
    commands()
    stop, wrong = [], []
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        noise = pool.submit(workload, stop)
        for b, bad in zip(blocks, pool.map(check, blocks)):
            wrong += bad
        stop.append(True)
        noise.result()
    if not sys.argv[1:]:
        wrong += complete() + list(links()) + list(manual_words()) + list(habits())
        if len(blocks) < 50:
            wrong.append(f"only {len(blocks)} blocks found")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(timeout(*sys.argv[2:]) if sys.argv[1:2] == ["timeout"] else main())
