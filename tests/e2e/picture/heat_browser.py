# SPDX-License-Identifier: MIT
"""Heat maps in Chromium."""
from browser import Browser
from page import *

KEEP = os.environ.get("KEEP_SCREENSHOTS")
program = ("tick-100ms { n++; @a_ns = quantize(n * 100000); @a_ns = quantize(1000); @b[\"k\"] = lquantize(n, 0, 100, 1); } "
           "tick-100ms { printa(@a_ns); clear(@a_ns); printa(@b); } tick-100ms /n == 12/ { exit(0); }")
for path in (TMP + "/a.svg", TMP + "/a.html"):
    dtrace(program, "-x", "oformat=heatmap", out=path)
    for dark in (False, True):
        with Browser(dark=dark) as b:
            b.open(path)
            check(b.errors() == [], f"the script has no errors: {b.errors()}")
            check(12 <= b.run("return document.querySelectorAll('.cell').length") <= 24, "a cell for an interval and range")
            check("24 values" in b.run("return document.querySelector('.head').textContent"), "how many values in all")
            x, y, w, h = b.run("const l = [...document.querySelectorAll('.cell')].map(e => e.getBoundingClientRect()); "
                               "const r = l.reduce((p, q) => p.bottom > q.bottom ? p : q); return [r.x, r.y, r.width, r.height]")
            b.move(x + w / 2, y + h / 2)
            tip = b.run("return document.querySelector('.tip').textContent")
            check("512 ns to 1.02" in tip and "value" in tip and "UTC" in tip, f"hover: range, number, time: {tip}")
            labels = b.run("return [...document.querySelectorAll('.plane-of-cells text')].map(e => e.textContent)")
            check("512 ns" in labels and any(re.match(r"\d\d:\d\d:\d\d", l) for l in labels), f"both axes have labels: {labels}")
            if KEEP:
                b.screenshot(f"{KEEP}/heat{int(dark)}.png")
            b.keys("n")
            check("@b[k]" in b.run("return document.querySelector('.title').textContent"), "the next map")
            check(b.run("return document.querySelectorAll('.cell').length") <= 12, "and its cells")
