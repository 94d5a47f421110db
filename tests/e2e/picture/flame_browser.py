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
                      ("reset", "window.flames[0].zoomTo(0)")):
        times[what] = b.run(f"const t = performance.now(); {act}; document.documentElement.getBoundingClientRect(); return performance.now() - t")
    check(b.run(f"return {WIDE}.length") > 1000, "many frames are drawn")
    print(f"{size} bytes; ms: " + ", ".join(f"{k} {v:.0f}" for k, v in times.items()))
    check(max(times.values()) < 2500, f"each answer within 2.5 s even on a busy machine: {times}")
    look(b, "many_search")
