#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rules about the tree as a whole, which need no build. tests/run.py runs each as a test.

    tests/lints.py [--root DIR] [NAME...]    checks all, or these; status 1 and a line for each fault
    tests/lints.py spdx --mend               adds the lines that are missing

A lint is a function that returns its faults, a line each; one that cannot be checked here raises Skip with the reason. To add one: the
function, and a row in LINTS.
"""
import argparse, os, re, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SPDX = "SPDX-License-Identifier: MIT"


class Skip(Exception):
    pass


def git_output(root, *words):
    """What git prints; None where there is no git, or no repository of which this is the top folder."""
    try:
        p = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, errors="replace")
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
    **dict.fromkeys(("py", "sh", "bash", "fish", "inc", "pl", "pm", "PL", "t", "rb", "gemspec", "build", "toml", "service"), HASH),
    **dict.fromkeys(("go", "rs", "php"), "// %s"),
    **dict.fromkeys(("lua", "rockspec"), "-- %s"),
    "erl": "%%%% %s",
    "html": "<!-- %s -->",
    "m4": "dnl %s",
}
SOURCES_WITHOUT_SUFFIX = {"meson_options.txt", "modules/lua/Makefile", "completion/_dtrace", "tests/e2e/usdt/module_common",
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


LINTS = {"spdx": lint_spdx}


def main():
    ap = argparse.ArgumentParser(usage="tests/lints.py [--root DIR] [--mend] [NAME...]")
    ap.add_argument("--root", default=ROOT)
    ap.add_argument("--mend", action="store_true")
    ap.add_argument("names", nargs="*", choices=[*LINTS, []])
    opts = ap.parse_args()
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
