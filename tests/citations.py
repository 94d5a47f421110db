#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that what comments and pages cite is there: files, sections of pages, headings.

    citations.py [ROOT]      prints 'FILE:LINE: WHAT IS WRONG', a line each; status 1 if there is any

Looked at are comments of sources, scripts and tests, messages that name a page, and the text of pages (not their blocks of
code). A citation is
  providers.md 4.4       a page, and a section that has a heading with this number. Several are "2.1, 2.7", "10.5 to 10.9";
                         "chapter 6", "section 6", "appendix A" are headings, too. A page without folder is one beside the
                         file (of pages), one of doc/reference, of doc, of the root or of doc/guide, the first that is there
  src/d/parse/lex.c            a path of the repository; d/parse/lex.h is one below src
  §4.4                   in a page: a section of the same page
  [text](PAGE.md#word)   a link, in a page; GitHub's name of the heading is what follows '#'
In a path, '*' and {a,b} mean what they mean in a shell, and a part in capitals (NAME.d) stands for any. Files of other
projects have the project's name in front, in the same sentence: Linux kernel/fork.c. What .gitignore names need not be there.
"""
import fnmatch, glob, io, os, re, sys, tokenize

TOPS = ("bench", "bindings", "commands", "completion", "debian", "dlib", "doc", "examples", "include", "lib", "modules", "src",
        "systemd", "tests", "tools")
# Below these, paths are written without the folder itself: room/file.h, e2e/cmd/docs.py, declared/proc.sh.
SHORT = ("src", "tests", "tests/e2e", "tests/unit", "include", "lib")
PAGES = ("doc/reference", "doc", "", "doc/guide")
LIKE_C = {".c", ".h", ".d", ".def", ".cc", ".js", ".java", ".go", ".rs", ".hpp", ".cpp"}
LIKE_SHELL = {".sh", ".build", ".pl", ".rb", ".tcl", ".service", ".yml", ".txt", ".options"}
SUFFIX = r"(?:c|h|d|def|py|sh|md|cc|js|json|build|out|err)"

C_TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
NUMBER = r"(?:[A-Z]\.)?\d+(?:\.\d+)*"
SECTION = rf"(?:(?:chapters?|sections?|§) ?)?{NUMBER}|[aA]ppendix [A-Z]\b"
PAGE = re.compile(rf"(?<![\w./-])((?:[\w-]+/)*[\w-]+\.md)\b(?:,? ((?:{SECTION})(?:(?:, and |, | and | to |-)(?:{SECTION}))*))?")
PATH = re.compile(rf"(?<![\w./$*~>}}-])((?:{'|'.join(TOPS)})/[\w./*{{}},+-]*[\w*}}/])")
SHORT_PATH = re.compile(rf"(?<![\w./$*~>}}-])((?:[\w*]+/)+[\w*{{}},-]+\.{SUFFIX})\b(?![/(])")
OTHERS = re.compile(r"\b(?:Linux|Go|Node|OpenJDK|CPython|Ganglia|github\.com)\b[^.]*(?:\.(?! )[^.]*)*$")
LINK = re.compile(r"\]\(([^)#\s:]*)(?:#([^)\s]*))?\)")


def files_of(root):
    for top in TOPS:
        for folder, dirs, files in os.walk(os.path.join(root, top)):
            dirs[:] = sorted(d for d in dirs if d not in ("__pycache__", "node_modules", "crashers", "corpus", "seeds"))
            yield from (os.path.relpath(os.path.join(folder, f), root) for f in sorted(files))
    yield from sorted(f for f in os.listdir(root) if os.path.isfile(os.path.join(root, f)) and not f.startswith("."))


def c_comments(text):
    """Comments, and the messages that send a user to a page."""
    return [(m.start(), m.group()) for m in C_TOKEN.finditer(text) if m.group()[0] == "/" or re.search(r"\bdoc/[\w/-]+\.md\b", m.group())]


def hash_comments(text):
    """Comments that begin with '#', those on lines below one another as one text."""
    return [(m.start(), m.group()) for m in re.finditer(r"(?:^[ \t]*#[^\n]*\n?)+|(?<=\s)#\s[^\n]*", text, re.M)]


def python_comments(text):
    """Comments and the strings that stand alone: documentation."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    found, first = [], True
    try:
        for t in tokenize.generate_tokens(io.StringIO(text).readline):
            if t.type == tokenize.COMMENT or t.type == tokenize.STRING and first:
                found.append((starts[t.start[0] - 1] + t.start[1], t.string))
            if t.type not in (tokenize.COMMENT, tokenize.NL):
                first = t.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    except (tokenize.TokenError, SyntaxError):
        pass  # a template, not a program
    return found


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def page_text(text):
    return [(0, re.sub(r"^ *```.*?^ *```[^\n]*$|^(?: {4}|\t)[^\n]*$", blank, text, flags=re.M | re.S))]


def texts_of(path, text):
    """What people read of a file, as (offset, text)."""
    suffix = os.path.splitext(path)[1]
    first = text.split("\n", 1)[0]
    if suffix == ".md":
        return page_text(text)
    if suffix == ".py" or first.startswith("#!") and "python" in first:
        return python_comments(text)
    if suffix in LIKE_C or suffix == "" and first.startswith("#!") and "dtrace" in first:
        return c_comments(text)
    if suffix in LIKE_SHELL or suffix == "" and first.startswith(("#", "D", "E")):
        return hash_comments(text)
    return []


def flat(text):
    """The text as one line of the same length, without the marks at the beginnings of its lines."""
    return re.sub(r"\n[ \t]*(?:\*(?!/)|#|//)?", lambda m: " " * len(m.group()), text)


def squeezed(text):
    """The text with single blanks, and for each character its place in the text."""
    out, places = [], []
    for i, c in enumerate(text):
        if c.isspace() and out and out[-1] == " ":
            continue
        out.append(" " if c.isspace() else c)
        places.append(i)
    return "".join(out), places


def slug(heading):
    """GitHub's name of a heading in links."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


class Tree:
    def __init__(self, root):
        self.root, self.known = root, {}
        ignored = os.path.join(root, ".gitignore")
        lines = open(ignored, encoding="utf-8").read().split() if os.path.exists(ignored) else []
        self.made = [line.strip("/") for line in lines if "/" in line.strip("/")]

    def has(self, path):
        """Whether there is such a file or folder; '*', {a,b} and parts in capitals stand for others."""
        if any(fnmatch.fnmatch(path, m) for m in self.made):
            return True
        path = re.sub(r"(?<![a-zA-Z])[A-Z]{2,}(?![a-z]|\.md)", "*", path.rstrip("/"))
        paths = [path]
        while any("{" in p for p in paths):
            m = re.search(r"\{([^{}]*)\}", paths[0])
            if not m:
                return False
            paths = [p.replace(m.group(), part, 1) for p in paths for part in m.group(1).split(",")]
        return all(glob.glob(os.path.join(self.root, p)) or glob.glob(os.path.join(self.root, p + ".*")) for p in paths)

    def is_file(self, path):
        return os.path.isfile(os.path.join(self.root, path))

    def page(self, path):
        """Sections (numbers, 'appendix A') and heading names of a page."""
        if path not in self.known:
            with open(os.path.join(self.root, path), encoding="utf-8") as f:
                text = page_text(f.read())[0][1]
            headings = re.findall(r"^#{1,6} +(.*?) *#*$", text, re.M)
            numbers = [re.match(rf"({NUMBER})\.?(?=\s|$)|[aA]ppendix ([A-Z])\b", h) for h in headings]
            names, slugs = set(), {}
            for s in map(slug, headings):
                names.add(s + (f"-{slugs[s]}" if s in slugs else ""))
                slugs[s] = slugs.get(s, 0) + 1
            self.known[path] = ({m.group(1) or f"appendix {m.group(2)}" for m in numbers if m}, names)
        return self.known[path]


def find_page(tree, path, name):
    """The page that a citation in the file 'path' means."""
    near = os.path.normpath(os.path.join(os.path.dirname(path), name))
    first = [near] if path.endswith(".md") else []
    for candidate in first + [os.path.join(folder, name) for folder in PAGES] + [near]:
        if tree.is_file(candidate):
            return candidate
    return None


def is_of_others(text, at):
    """Whether the name of another project stands before a path, in the same sentence; or 'ninja', which makes it."""
    before = text[max(0, at - 300):at]
    return OTHERS.search(before) or before.endswith("ninja ")


def wrong_pages(tree, path, text):
    for m in PAGE.finditer(text):
        name, sections = m.groups()
        if re.match(r"[A-Z]+\.md$", name) and not tree.is_file(name) and name != "README.md":
            continue  # NAME.md: any
        if text[:m.start()].endswith("]("):
            continue  # a link
        page = find_page(tree, path, name)
        if not page and is_of_others(text, m.start()):
            continue
        if not page:
            yield m.start(), f"cites {name}: there is no such page; cite one of doc/, or say it in a sentence"
            continue
        for word in re.findall(rf"{NUMBER}|[aA]ppendix [A-Z]", sections or ""):
            if word[:1].lower() + word[1:] not in tree.page(page)[0] and word not in tree.page(page)[0]:
                heading = word if " " in word else f"section {word}"
                yield m.start(), f"cites {name} {word}: {page} has no {heading}; cite the heading that says it now"


def wrong_paths(tree, path, text):
    here = os.path.dirname(path)
    for m in PATH.finditer(text):
        name = m.group(1)
        if is_of_others(text, m.start()) or re.match(r":\d", text[m.end():]):
            continue
        if not name.endswith(".md") and not tree.has(name) and not any(tree.has(os.path.join(f, name)) for f in (here, *SHORT)):
            yield m.start(), f"names {name}: there is no such file; name the one that has it now"
    for m in SHORT_PATH.finditer(text):
        name = m.group(1)
        top = name.split("/")[0]
        if is_of_others(text, m.start()):
            continue
        if top in TOPS or name.endswith(".md") or not any(os.path.isdir(os.path.join(tree.root, f, top)) for f in SHORT):
            continue
        if not any(tree.has(os.path.join(f, name)) for f in (here, os.path.dirname(here), *SHORT, *TOPS)):
            yield m.start(), f"names {name}: there is no src/{name}, nor one below {', '.join(SHORT[1:])}; name the file that has it now"


def wrong_links(tree, path, text):
    for m in re.finditer(rf"§ ?({NUMBER})", text):
        if m.group(1) not in tree.page(path)[0]:
            yield m.start(), f"cites §{m.group(1)}: the page has no section {m.group(1)}; cite the heading that says it now"
    for m in LINK.finditer(text):
        target, name = m.groups()
        page = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if not os.path.exists(os.path.join(tree.root, page)):
            yield m.start(), f"leads to {target}: there is no {page}"
        elif name and page.endswith(".md") and name not in tree.page(page)[1]:
            yield m.start(), f"leads to {target}#{name}: {page} has no such heading"


def wrong(root):
    tree = Tree(root)
    for path in files_of(root):
        try:
            with open(os.path.join(root, path), encoding="utf-8") as f:
                text = f.read()
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        for offset, part in texts_of(path, text):
            flat_part, places = squeezed(flat(part))
            found = [*wrong_pages(tree, path, flat_part), *wrong_paths(tree, path, flat_part)]
            found = [(places[at], what) for at, what in found]
            if path.endswith(".md"):
                found += wrong_links(tree, path, part)
            for at, what in sorted(found):
                yield f"{path}:{text.count(chr(10), 0, offset + at) + 1} {what}"


if __name__ == "__main__":
    lines = list(wrong(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    print("\n".join(lines), end="\n" if lines else "")
    sys.exit(1 if lines else 0)
