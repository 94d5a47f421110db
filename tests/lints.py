#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rules about the tree as a whole, which need no build. tests/run.py runs each as a test.

    tests/lints.py [--root DIR] [NAME...]    checks all, or these; status 1 and a line for each fault
    tests/lints.py spdx --mend               adds the lines that are missing
    tests/lints.py commits --message FILE    checks the text of a commit that is not made yet (tools/hooks/commit-msg)

A lint is a function that returns its faults, a line each; one that cannot be checked here raises Skip with the reason. To add one: the
function, and a row in LINTS.
"""
import argparse, os, re, shutil, subprocess, sys

import interface

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SPDX = "SPDX-License-Identifier: MIT"


class Skip(Exception):
    pass


def git_output(root, *words):
    """What git prints; None where there is no git, or no repository of which this is the top folder."""
    try:
        p = subprocess.run(["git", "-c", "safe.directory=*", "-C", root, *words], capture_output=True, text=True, errors="replace")
    except OSError:
        return None
    return p.stdout if p.returncode == 0 else None


def has_repository(root):
    top = git_output(root, "rev-parse", "--show-toplevel")
    return top is not None and os.path.realpath(top.strip()) == os.path.realpath(root)


def tree_files(root):
    """Paths of the files that belong to the tree; in an exported tree, all but those of build folders."""
    if has_repository(root):
        known = git_output(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
        yield from sorted({f for f in known if os.path.isfile(os.path.join(root, f))})
        return
    for folder, folders, files in os.walk(root):
        top = folder == root
        folders[:] = sorted(f for f in folders if f not in (".git", "__pycache__") and not (top and f.startswith("build")))
        yield from sorted(os.path.relpath(os.path.join(folder, f), root) for f in files)


# ---- licence lines ----------------------------------------------------------------------------------------------

C_COMMENT, HASH = "/* %s */", "# %s"
COMMENTS = {  # suffix of a source file -> its comment
    **dict.fromkeys(("c", "h", "cc", "S", "def", "xs", "d", "css", "js", "java"), C_COMMENT),
    **dict.fromkeys(("py", "sh", "bash", "fish", "inc", "pl", "pm", "PL", "t", "rb", "gemspec", "build", "toml", "service", "timer"), HASH),
    **dict.fromkeys(("go", "rs", "php"), "// %s"),
    **dict.fromkeys(("lua", "rockspec"), "-- %s"),
    "erl": "%%%% %s",
    "html": "<!-- %s -->",
    "m4": "dnl %s",
}
SOURCES_WITHOUT_SUFFIX = {"meson_options.txt", "modules/lua/Makefile", "completion/_dtrace", "completion/_fathom-crash", "tests/e2e/usdt/module_common",
                          "tests/e2e/usdt/traced_common"}
# A test's script has its directives in its first lines, and messages name its lines by number; what it expects is no source.
CASES = re.compile(r"tests/(golden|fuzz/(seeds|crashers))/(?!meson\.build)|tests/e2e/.*\.(d|sh)$")
OPENERS = ("#!", "<?php", "<!DOCTYPE", "#compdef")  # such a line must be the first one


def comment_of(path, first):
    """The comment of a source file, by its name or the program that runs it; None: it is no source."""
    if CASES.match(path):
        return None
    suffix = os.path.basename(path).rpartition(".")
    if suffix[0] and suffix[2] in COMMENTS:
        return COMMENTS[suffix[2]]
    if path in SOURCES_WITHOUT_SUFFIX:
        return HASH
    if not first.startswith("#!"):
        return None
    return C_COMMENT if re.match(r"#!\S*/(dtrace|command)\b", first) else HASH


def spdx_missing(root):
    """Sources whose first line, or the first after one that must be there, is not the licence: (path, the line, where it belongs)."""
    for path in tree_files(root):
        with open(os.path.join(root, path), errors="replace") as f:
            lines = [f.readline().rstrip("\n") for _ in range(2)]
        comment = comment_of(path, lines[0])
        if comment:
            at = int(lines[0].startswith(OPENERS))
            if lines[at] != comment % SPDX:
                yield path, comment % SPDX, at


def spdx_mend(root):
    for path, line, at in list(spdx_missing(root)):
        with open(os.path.join(root, path), newline="") as f:
            lines = f.read().splitlines(True)
        lines.insert(at, line + "\n")
        with open(os.path.join(root, path), "w", newline="") as f:
            f.write("".join(lines))


def lint_spdx(root):
    """Every source says its licence, as those who take a single file need it."""
    faults = [f"{path}:{at + 1}: '{line}' is missing" for path, line, at in spdx_missing(root)]
    return faults + (["'tests/lints.py spdx --mend' adds these lines"] if faults else [])


# ---- commits ----------------------------------------------------------------------------------------------------

# The rules hold since the last tag, and as long as there is none, since this commit: it is the last one before they were written
# down. Of the 1,071 up to it, hundreds have longer subjects, or no body.
COMMITS_SINCE = "2177aa8fa26e"
SUBJECT_MAX = 72
FIXES = re.compile(r'Fixes: ([0-9a-f]{7,40}) \("(.*)"\)')


def message_faults(text, subject_of):
    """What is wrong with the text of a commit. subject_of() knows the subject of an earlier commit, None if there is none, and "" where
    that cannot be known."""
    lines = text.strip("\n").split("\n")
    if not lines[0].strip():
        yield "the subject is empty"
    if len(lines[0]) > SUBJECT_MAX:
        yield f"the subject has {len(lines[0])} characters, {SUBJECT_MAX} are allowed"
    if len(lines) > 1 and lines[1].strip():
        yield "the line below the subject is not empty"
    paragraphs = [p.split("\n") for p in re.split(r"\n\s*\n", "\n".join(lines[1:]).strip("\n")) if p.strip()]
    has_trailers = bool(paragraphs) and all(re.match(r"[A-Z][\w-]+: \S", line) for line in paragraphs[-1])
    if len(paragraphs) - has_trailers < 1:
        yield "there is no body, which says what was seen, why it was so, and what changes"
    for at, paragraph in enumerate(paragraphs):
        for line in paragraph:
            if not re.match(r"fixes\b(:|\s+[0-9a-f]{7,40}\b)", line, re.I):
                continue
            good = FIXES.fullmatch(line)
            if not good:
                yield f"'{line}' is not of the form: Fixes: 0123456789ab (\"subject\")"
            elif at < len(paragraphs) - 1 or not has_trailers:
                yield f"'{line}' does not stand in a last paragraph of trailers"
            else:
                subject = subject_of(good[1])
                if subject is None:
                    yield f"there is no earlier commit {good[1]}"
                elif subject and subject != good[2]:
                    yield f"{good[1]} is \"{subject}\""


def earlier_subject(root, commit, before):
    """The subject of a commit from which another one has been made; see message_faults()."""
    if git_output(root, "merge-base", "--is-ancestor", commit, before) is not None:
        return git_output(root, "log", "-1", "--format=%s", commit).rstrip("\n")
    return "" if git_output(root, "rev-parse", "--is-shallow-repository").strip() == "true" else None


def commits_since(root):
    tag = git_output(root, "describe", "--tags", "--abbrev=0", "--match=v[0-9]*")
    return tag.strip() if tag else COMMITS_SINCE


def lint_commits(root):
    """CONTRIBUTING.md, "What a commit looks like"."""
    if not has_repository(root):
        raise Skip("this is no git repository")
    since = commits_since(root)
    if git_output(root, "merge-base", "--is-ancestor", since, "HEAD") is None:
        shallow = git_output(root, "rev-parse", "--is-shallow-repository").strip() == "true"
        raise Skip(f"the history {'of this shallow clone ends before' if shallow else 'does not have'} {since}")
    faults = []
    # all texts from one process: there are hundreds
    for entry in git_output(root, "log", "-z", "--reverse", "--no-merges", "--format=%H%n%B", f"{since}..HEAD").split("\0")[:-1]:
        commit, text = entry.split("\n", 1)
        faults += [f"{commit[:12]} ({text.split(chr(10))[0][:40]}...): {fault}"
                   for fault in message_faults(text, lambda earlier, commit=commit: earlier_subject(root, earlier, commit + "^"))]
    return faults


def message_check(root, path):
    """Faults of a text that an editor has left for git: without comments, and without what stands below the scissors."""
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read().split("# ------------------------ >8 ------------------------\n")[0]
    text = "".join(line for line in text.splitlines(True) if not line.startswith("#"))
    if not text.strip() or re.match(r"(fixup|squash|amend)! |Merge ", text):  # git refuses an empty one; others are no commit yet
        return []
    return list(message_faults(text, lambda commit: earlier_subject(root, commit, "HEAD")))


# ---- interface --------------------------------------------------------------------------------------------------

def lint_interface(root):
    """Programs that were compiled before go on working with the library of today: tests/interface.py."""
    if not shutil.which("clang"):
        raise Skip("there is no clang, which reads the headers")
    try:
        return interface.faults(root)
    except interface.Failed as why:
        return [str(why)]


# ---- numbers in messages ----------------------------------------------------------------------------------------

LITERALS = re.compile(r'(?<![\w\'\\])(?:"(?:[^"\\\n]|\\.)*"|PRI[diu](?:8|16|32|64))(?:\s+(?:"(?:[^"\\\n]|\\.)*"|PRI[diu](?:8|16|32|64)))*')
PLURAL_NOUNS = ("arguments|blocks|children|chains|chunks|clauses|crashes|elements|entries|files|frames|functions|graphs|"
                "jumps|lines|messages|modules|names|notes|objects|places|pointers|probes|processes|rows|sessions|stacks|symbols|tables|threads|values")
COUNTED = re.compile(rf"(.*?)%(?:z|l|ll)?[diu] ((?!makes)(?:[a-z]{{3,}} )?(?:{PLURAL_NOUNS}))\b(.*)")
LIMIT_BEFORE = re.compile(r"(?:than|at most|the first|has|takes|stacks of) $")
TABLES_OF_NUMBERS = {"src/agg/text.c", "src/sym/sym.c", "src/unwind/unwind.c"}  # what -x debug prints, for developers
LIMIT_BEHIND = re.compile(r" (?:are too many|in processes are too many|in all|of (?:%u|%zu) bytes)|.* (?:may have|allows|the kernel takes|have ids that begin) ")


def plural_faults(text):
    """The messages of a C source that say "1 places": a number that is counted, and a noun that is a plural whatever the number. Limits and
    numbers that exceed them are more than 1, and the second text of "n == 1 ? ... : ..." has its number."""
    for m in LITERALS.finditer(text):
        if text[:m.start()].rstrip().endswith(":"):
            continue
        message = "".join(part or conversion for part, conversion in re.findall(r'"((?:[^"\\]|\\.)*)"|PRI([diu])\d+', m.group()))
        for number in COUNTED.finditer(message):
            if not LIMIT_BEFORE.search(number.group(1)) and not LIMIT_BEHIND.match(number.group(3)):
                yield text.count("\n", 0, m.start()) + 1, number.group(2)


def lint_plurals(root):
    faults = []
    for path in tree_files(root):
        if path.startswith("src/") and path.endswith(".c") and path not in TABLES_OF_NUMBERS:
            with open(os.path.join(root, path)) as f:
                faults += [f"{path}:{line}: '1 {noun}' is no English: PLURAL() of base/text.h" for line, noun in plural_faults(f.read())]
    return faults


# ---- change log -------------------------------------------------------------------------------------------------

def lint_changes(root):
    """Entries stand in a section of a version, the newest first. They are appended to "Not released yet" by several people, and the merge
    of two (.gitattributes) can put one behind the sections of older versions."""
    with open(os.path.join(root, "CHANGELOG.md")) as f:
        text = f.read()
    heads = re.findall(r"^## (.*)", text, re.M)
    faults = [] if heads[:1] == ["Not released yet"] else ['the first section is not "Not released yet"']
    versions = [tuple(map(int, v)) for v in re.findall(r"^## (\d+)\.(\d+)\.(\d+)", text, re.M)]
    if len(versions) != len(heads) - 1 or versions != sorted(versions, reverse=True):
        faults.append("sections are not those of versions, the newest first")
    behind = re.split(r"^The first commit is .*\n", text, maxsplit=1, flags=re.M)
    if len(behind) != 2:
        faults.append('there is no last line "The first commit is ..."')
    faults += [f'"{line[:60]}..." stands behind the last line: it belongs to the end of "Not released yet"'
               for line in behind[-1].splitlines() if line.startswith("*") and len(behind) == 2]
    names = re.findall(r"^\* .*", text, re.M)
    return faults + [f'"{name[:60]}..." stands there twice' for name in sorted({n for n in names if names.count(n) > 1})]


LINTS = {"spdx": lint_spdx, "commits": lint_commits, "interface": lint_interface, "changes": lint_changes, "plurals": lint_plurals}


def main():
    ap = argparse.ArgumentParser(usage="tests/lints.py [--root DIR] [--mend] [--message FILE] [NAME...]")
    ap.add_argument("--root", default=ROOT)
    ap.add_argument("--mend", action="store_true")
    ap.add_argument("--message")
    ap.add_argument("names", nargs="*", choices=[*LINTS, []])
    opts = ap.parse_args()
    if opts.message:
        faults = message_check(opts.root, opts.message)
        print("".join(f"commit: {fault}\n" for fault in faults), end="", file=sys.stderr)
        return int(bool(faults))
    bad = False
    for name in opts.names or LINTS:
        if opts.mend and name == "spdx":
            spdx_mend(opts.root)
        try:
            faults = LINTS[name](opts.root)
        except Skip as why:
            print(f"skip: {name}: {why}")
            continue
        bad = bad or bool(faults)
        print("".join(f"{name}: {fault}\n" for fault in faults), end="")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
