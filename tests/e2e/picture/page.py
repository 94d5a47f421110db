# SPDX-License-Identifier: MIT
"""What the tests of pictures share: runs of dtrace, and pages taken apart without a browser."""
import base64, hashlib, html.parser, json, os, re, subprocess, sys
import xml.etree.ElementTree as ET

DTRACE, TRIGGER, TMP, SRC = (os.environ[n] for n in ("DTRACE", "TRIGGER", "TMP", "SRC"))
HOSTILE = "]]></script><img src=x onerror=alert(1)>&\"'`"


def check(ok, what):
    if not ok:
        print("not ok:", what)
        sys.exit(1)


def dtrace(program, *flags, out=None, status=0, quiet=True):
    """Runs a program of D. Returns standard output, standard error, and the text of the file out."""
    argv = [DTRACE] + (["-q"] if quiet else []) + list(flags) + (["-o", out] if out else []) + ["-n", program]
    r = subprocess.run(argv, capture_output=True, timeout=120, stdin=subprocess.DEVNULL)
    check(r.returncode == status, f"{argv} ended with {r.returncode}: {r.stderr.decode()}")
    text = open(out, encoding="utf-8").read() if out and os.path.exists(out) else ""
    return r.stdout.decode(errors="replace"), r.stderr.decode(errors="replace"), text


class Tags(html.parser.HTMLParser):
    """The tags of a page of HTML, and the text of its scripts, as a browser's parser sees them."""

    def __init__(self, text):
        super().__init__()
        self.seen, self.scripts, self.attrs, self.in_script = [], [], [], False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.attrs += [(tag, k, v) for k, v in attrs]
        self.in_script = tag == "script"
        if self.in_script:
            self.scripts.append((dict(attrs).get("type", ""), ""))

    def handle_endtag(self, tag):
        self.in_script = False

    def handle_data(self, data):
        if self.in_script:
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)


def page_data(text, kind):
    """The data of the first picture of a kind in a page of SVG or HTML; the page is checked."""
    if text.startswith("<?xml"):
        root = ET.fromstring(text.encode())
        check(root.tag == "{http://www.w3.org/2000/svg}svg", "the root is svg")
        for e in root.iter():
            check(e.tag.split("}")[-1] in ("svg", "title", "style", "rect", "text", "script", "g"), f"element {e.tag}")
            for k, v in e.attrib.items():
                check(not k.startswith("on") and "href" not in k and k != "src", f"attribute {k}={v}")
        data = [e.text for e in root.iter() if e.get("class") == kind + "-data"]
    else:
        page = Tags(text)
        for tag, k, v in page.attrs:
            check(not k.startswith("on") and k not in ("src", "srcset", "action"), f"attribute {k}={v} of {tag}")
            check(k != "href" or v.startswith("#"), f"reference {v}")
        policy = next(v for t, k, v in page.attrs if k == "content" and v and "script-src" in v)
        for kind_of, script in page.scripts:
            if kind_of != "application/json":
                digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
                check(f"'sha256-{digest}'" in policy, "the policy allows each script of the page by its hash")
        data = re.findall(r'<script type="application/json" class="' + kind + '-data">(.*?)</script>', text, re.S)
    check("http://" not in re.sub(r"http://www\.w3\.org/(2000/svg|1999/xhtml)", "", text) and "https://" not in text,
          "the page refers to nothing outside")
    check(not re.search(r"url\(|@import", text), "the style refers to nothing outside")
    check(len(data) >= 1, "the page has data")
    check(not re.search("[<>&]", data[0]), "data has no characters of markup")
    return json.loads(data[0])


def flame_rows(data, number=0, column=2):
    """A set of a flame graph as folded stacks: {frames: value}, without the root."""
    s = data["sets"][number]
    path, rows = [], {}
    t, width = s["tree"], s["width"]
    for i in range(0, len(t), width):
        for _ in range(t[i]):
            path.pop()
        path.append(data["names"][t[i + 1]][1:])
        if t[i + column]:
            rows[";".join(path[1:])] = rows.get(";".join(path[1:]), 0) + t[i + column]
    return rows


def folded_rows(text):
    rows = {}
    for line in text.splitlines():
        stack, value = line.rsplit(" ", 1)
        rows[stack] = rows.get(stack, 0) + int(value)
    return rows
