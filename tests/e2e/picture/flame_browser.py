# SPDX-License-Identifier: MIT
"""Flame graphs in Chromium."""
import random
from browser import Browser
from page import *

KEEP = os.environ.get("KEEP_SCREENSHOTS")  # a folder for people who want to look
FRAME = "[...document.querySelectorAll('rect.f')].find(e => e.nextSibling && e.nextSibling.textContent.includes(arguments[0]))"
WIDE = "document.querySelectorAll('rect.f')"


def look(b, name):
    if KEEP:
        b.screenshot(f"{KEEP}/{name}.png")


def frame(b, text):
    """The middle of the frame whose label has the text."""
    at = b.run(f"const e = {FRAME}; if (!e) return null; const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]", text)
    check(at, f"no frame is labelled {text}")
    return at


def made(path, seed, n, depth=24, add=""):
    """A folded file with n stacks of many lengths."""
    r = random.Random(seed)
    with open(path, "w") as f:
        for i in range(n):
            frames = ["proc%d" % (i % 3)] + ["lib%d`function_%d" % (k % 4, r.randrange(3 + k)) for k in range(3 + r.randrange(depth))]
            f.write(";".join(frames + ["leaf_%d" % (i % 5000)]) + add + " %d\n" % (1 + r.randrange(50)))


ROWS = "[...document.querySelectorAll('.fn')]"
NAMES = "return " + ROWS + ".map(e => e.querySelector('.name').textContent)"
FOCUS = "return (document.querySelector('.fnname') || {textContent: ''}).textContent"
DOWN, UP, ENTER, SHIFT = "\ue015", "\ue013", "\ue007", "\ue008"


def click_row(b, text):
    b.run(ROWS + ".find(e => e.textContent.includes(arguments[0])).scrollIntoView({block: 'nearest'})", text)
    b.click(*b.where(ROWS + f".find(e => e.textContent.includes('{text}'))"))


def functions(b):
    """The table of functions, and the callers and callees of one; every function of the stacks of deep is there 20 times."""
    b.run("document.activeElement.blur()")
    b.keys("c")
    rows = b.run("return " + ROWS + ".map(e => [...e.children].map(c => c.textContent))")
    check(rows[0][0].startswith("20") and rows[0][1].startswith("20") and "100.0 %" in rows[0][1], f"the greatest self time is first: {rows[:3]}")
    check(all(r[1].startswith("0") for r in rows[1:]) and len(rows) > 40, f"all others have none of their own: {rows[:3]}")
    check(b.run("return " + ROWS + ".filter(e => e.getAttribute('aria-selected') === 'true').length") == 1, "a row is chosen")
    look(b, "functions")
    click_row(b, "f20deep")
    check(b.run(FOCUS) == "deep`f20", f"a click on a row shows the function: {b.run(FOCUS)}")
    at = {n: frame(b, n)[1] for n in ("f19", "f20", "f21")}
    check(at["f20"] != at["f19"] and at["f19"] - at["f20"] == at["f20"] - at["f21"], f"callers on one side, callees on the other: {at}")
    b.move(*frame(b, "f21"))
    tip = b.run("return document.querySelector('.tip').textContent")
    check("100.0 % of the function" in tip, f"hover: {tip}")
    b.click(*frame(b, "f21"))
    check(b.run(FOCUS) == "deep`f21", "a click on a caller or callee goes to it")
    b.click(*b.where("[...document.querySelectorAll('.button')].find(e => e.textContent.includes('Back'))"))
    check(b.run(FOCUS) == "deep`f20", "and back")
    b.run("document.querySelector('.fn[tabindex=\"0\"]').focus()")
    b.keys(DOWN + ENTER)
    check(b.run(FOCUS) not in ("", "deep`f20"), "rows obey the keyboard")
    head = b.run("document.querySelector('[data-column=name]').focus(); return document.activeElement.textContent")
    b.keys(ENTER)
    names = b.run("return " + ROWS + ".map(e => e.querySelector('.name').childNodes[1].textContent)")
    check(head == "Function" and names == sorted(names) and b.run("return document.activeElement.getAttribute('aria-sort')") == "ascending",
          "a column's head sorts")
    b.run("document.querySelector('.search input').focus()")
    b.keys("f1[0-9]$")
    check(len(b.run(NAMES)) == 10 and "10 functions" in b.run("return document.querySelector('.found').textContent"), "a search in the table")
    b.keys("zzz")
    check(b.run("return document.querySelector('.fnnone').textContent") == "No function matches.", "a search for what is not there")
    b.keys("\ue00c")
    check(len(b.run(NAMES)) == len(rows), "Escape ends the search")
    b.keys("\ue00c")
    check(b.run("return document.querySelector('.fnplace').style.display") == "none", "and the table")
    b.run("document.querySelector('.frames').focus()")
    level = "return [document.activeElement.getAttribute('role'), (document.querySelector('rect.f[role=treeitem]') || {getAttribute: () => ''}).getAttribute('aria-label')]"
    check(b.run(level)[1].startswith("all,"), f"the keyboard's cursor begins at the root: {b.run(level)}")
    b.keys(DOWN + DOWN)
    check(b.run(level)[1].startswith("deep`"), f"arrows go from frame to frame, and say which: {b.run(level)}")
    look(b, "cursor")
    b.keys(ENTER)
    check(b.run("return document.querySelectorAll('rect.f.dim').length") == 2, "Enter zooms")
    b.keys("c")
    check(b.run(FOCUS).startswith("deep`"), "c shows the callers and callees of the frame")
    b.keys("\ue00c\ue00c")


svg, htm = TMP + "/a.svg", TMP + "/a.html"
program = "syscall::getppid:entry /pid == $target/ { @calls[execname, ustack(), stack()] = count(); @b[ustack()] = sum(1000); }"
deep = ["-c", TRIGGER + "/deep syscall 20"]
for path in (svg, htm):
    dtrace(program, "-x", "oformat=flame", *deep, out=path)
    with Browser() as b:
        b.open(path)
        check(b.errors() == [], f"the script has no errors: {b.errors()}")
        all_frames = b.run(f"return {WIDE}.length")
        check(all_frames > 40, f"{all_frames} frames are drawn")
        b.move(*frame(b, "f20"))
        tip = b.run("return document.querySelector('.tip').textContent")
        check("deep`f20" in tip and "20" in tip and "100.0 % of all" in tip, f"hover: {tip}")
        look(b, "hover")
        b.click(*frame(b, "f20"))
        check(b.run("return document.querySelectorAll('rect.f.dim').length") >= 20, "the frames below a zoomed one are pale")
        look(b, "zoom")
        b.click(*b.where("document.querySelector('.search input')"))
        b.keys("f1[0-9]$")
        found = b.run("return document.querySelector('.found').textContent")
        check("Matched: 100.0 % in 10 frames" in found, f"search: {found}")
        check(b.run("return document.querySelectorAll('rect.hit').length") == 10, "matches are drawn")
        look(b, "search")
        b.keys("(")
        check("no regular expression" in b.run("return document.querySelector('.head .bad').textContent"), "a search that is none")
        b.keys("\ue00c")
        check(b.run("return document.querySelectorAll('rect.dim, rect.hit').length") == 0 and
              b.run(f"return {WIDE}.length") == all_frames and b.run("return document.querySelector('.search input').value") == "",
              "Escape shows everything again")
        before = frame(b, "all")[1]
        b.click(*b.where("[...document.querySelectorAll('.button')].find(e => e.textContent.includes('Icicle'))"))
        check(frame(b, "all")[1] < before, "the icicle has its root at the top")
        look(b, "icicle")
        b.click(*b.where("[...document.querySelectorAll('.button')].find(e => e.textContent.includes('1 of 2'))"))
        check("@b" in b.run("return document.querySelector('.title').textContent") and
              "20,000" in b.run("return document.querySelector('.head .sub').textContent"), "the second graph")
        b.run("document.querySelectorAll('.button')[0].focus()")
        b.keys("\ue007")
        check("@calls" in b.run("return document.querySelector('.title').textContent"), "buttons obey the keyboard")
        check(b.run("return document.activeElement === document.querySelectorAll('.button')[0]"), "and keep it")
        functions(b)
        check(b.errors() == [], f"no errors until the end: {b.errors()}")
    with Browser(scripts=False) as b:
        b.open(path)
        check(b.run("return document.querySelectorAll('rect.f title').length") > 40, "without scripts there is a drawing")
        look(b, "still")

# ---- dark, and two runs
_, _, folded = dtrace(program, "-x", "oformat=folded", *deep, out=TMP + "/base.folded")
with open(TMP + "/base.folded", "w") as f:
    f.write("".join(re.sub(r"deep`f30;.*? (\d+)", r"deep`elsewhere \1", l) if i % 2 else l for i, l in enumerate(folded.splitlines(True))))
dtrace("syscall::getppid:entry /pid == $target/ { @calls[execname, ustack(), stack()] = count(); }", "-x", "oformat=flame",
       "-x", "flamebase=" + TMP + "/base.folded", *deep, out=svg)
with Browser(dark=True) as b:
    b.open(svg)
    check(b.run("return getComputedStyle(document.querySelector('rect.bg')).fill") == "rgb(21, 23, 28)", "dark where the user wants it")
    check(b.run("return document.querySelectorAll('.up1,.up2,.up3,.up4,.same').length") > 30, "what has changed is coloured")
    b.move(*frame(b, "f35"))
    check("before" in b.run("return document.querySelector('.tip').textContent"), "hover says what was before")
    look(b, "diff")

# ---- names that want to be markup do nothing
quoted = HOSTILE.replace("\\", "\\\\").replace('"', '\\"')
for path in (svg, htm):
    dtrace("syscall::getppid:entry /pid == $target/ { @[\"" + quoted + "\", ustack()] = count(); }", "-x", "oformat=flame", *deep, out=path)
    for scripts in (True, False):
        with Browser(scripts=scripts) as b:
            b.open(path)
            check(b.run("return document.querySelectorAll('img').length") == 0, "no element is made of a name")
            check(HOSTILE in b.run("return document.querySelector('svg').textContent") or
                  HOSTILE in b.run("return document.documentElement.textContent"), "the name is shown")
            if scripts:
                b.run("window.flames[0].view('functions')")
                check(b.run("return document.querySelectorAll('img').length") == 0 and len(b.run(NAMES)) > 40, "nor in the table")
            check(scripts is False or b.errors() == [], f"errors: {b.errors()}")

# ---- 100,000 stacks, by way of the option that compares: the file's frames are those of the earlier run
made(TMP + "/many.folded", 1, 100_000)
_, err, text = dtrace(program, "-x", "oformat=flame", "-x", "flamebase=" + TMP + "/many.folded", *deep, out=svg)
size = os.path.getsize(svg)
check(size <= 5_000_000, f"the file has {size} bytes")
check(any("left out, to keep the file small" in n["text"] for s in page_data(text, "flame")["sets"] for n in s["notes"]),
      "what is left out is told")
with Browser() as b:
    b.open(svg)
    b.click(*b.where("[...document.querySelectorAll('.button')].find(e => e.textContent.includes('Widths'))"))
    look(b, "many")
    times = {}
    for what, act in (("zoom", "window.flames[0].zoomTo(1)"), ("search", "window.flames[0].seek('function_1|leaf_4')"),
                      ("reset", "window.flames[0].zoomTo(0)"), ("functions", "window.flames[0].view('functions')"),
                      ("function", "window.flames[0].choose(document.querySelectorAll('.fn')[9].fn)")):
        times[what] = b.run(f"const t = performance.now(); {act}; document.documentElement.getBoundingClientRect(); return performance.now() - t")
        if what == "reset":
            check(b.run(f"return {WIDE}.length") > 1000, "many frames are drawn")
    check(len(b.run(NAMES)) == 300 and "more functions" in b.run("return document.querySelector('.fnbody button').textContent"), "rows are limited")
    b.run("document.querySelector('.fnbody button').click()")
    check(len(b.run(NAMES)) == 600, "a button shows more of them")
    print(f"{size} bytes; ms: " + ", ".join(f"{k} {v:.0f}" for k, v in times.items()))
    check(max(times.values()) < 10000, f"each answer within 10 s even on a very busy machine: {times}")
    look(b, "many_search")

# ---- a narrow window, a stack of 3000 frames, a single frame
with open(TMP + "/deep.folded", "w") as f:
    f.write(";".join("mod`f%d" % i for i in range(3000)) + " 7\nmod`f0;mod`other 3\n")
with open(TMP + "/one.folded", "w") as f:
    f.write("alone 5\n")
for name in ("deep", "one"):
    dtrace("BEGIN { @[stack(1)] = count(); exit(0); }", "-x", "oformat=flame", "-x", f"flamebase={TMP}/{name}.folded", out=svg)
    for size in ((1280, 800), (380, 700))[name == "one":]:
        with Browser(*size, dark=name == "one") as b:
            b.open(svg)
            b.click(*b.where("[...document.querySelectorAll('.button')].find(e => e.textContent.includes('Widths'))"))
            b.keys("c")
            check(b.run("return [...document.querySelectorAll('.button, .search')].every(e => { const r = e.getBoundingClientRect(); "
                        "return r.left >= 0 && r.right <= innerWidth; })"), f"all controls are in a window of {size}")
            if name == "deep":
                b.run("window.flames[0].choose([...document.querySelectorAll('.fn')].find(e => e.textContent.includes('f1002')).fn)")
                check(0 < frame(b, "f1002")[1] < size[1], "the function is in view, whatever there is above it")
            look(b, f"{name}_{size[0]}")
            check(b.errors() == [], f"no errors: {b.errors()}")
