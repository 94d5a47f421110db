# SPDX-License-Identifier: MIT
"""Reports in Chromium."""
import time

from browser import Browser
from page import *

page = TMP + "/a.html"
program = ("BEGIN { printf(\"text\"); @a[\"b\"] = sum(20); @a[\"a\"] = sum(100); @a[\"c\"] = sum(3); @h[1] = quantize(9); trace(*(int *)8); } "
           "syscall::getppid:entry /pid == $target/ { @s[ustack()] = count(); @many[ustackdepth, timestamp] = count(); }")
dtrace(program, "-x", "oformat=html", "-c", TRIGGER + "/deep syscall 300", out=page)
with Browser() as b:
    b.open(page)
    check(b.errors() == [], f"no errors: {b.errors()}")
    column = "[...document.querySelectorAll('#t1 tbody tr')].map(r => r.cells[arguments[0]].textContent)"
    head = "document.querySelectorAll('#t1 th')[%d]"
    check(b.run("return " + column, 1) == ["100", "20", "3"], "the greatest is first")
    b.click(*b.where(head % 1))
    check(b.run("return " + column, 1) == ["3", "20", "100"], "a click turns the order round")
    b.click(*b.where(head % 1))
    check(b.run("return " + column, 1) == ["100", "20", "3"], "and back")
    b.click(*b.where(head % 0))
    check(b.run("return " + column, 0) == ["a", "b", "c"], "names")
    check(b.run("return document.querySelector('.notices').getBoundingClientRect().top < document.querySelector('pre').getBoundingClientRect().top "
                "|| document.querySelector('.notices').getBoundingClientRect().top < document.querySelector('#t1').getBoundingClientRect().top"),
          "notices stand above what was printed")
    rows = "return [...document.querySelectorAll('tr')].filter(r => r.offsetHeight).length"
    before = b.run(rows)
    b.run("document.querySelector('button').scrollIntoView({block: 'center'})")
    b.click(*b.where("document.querySelector('button')"))
    check(b.run(rows) == before + 100, "the button shows the rest of a long table")
    b.run("document.querySelector('svg').scrollIntoView()")
    end = time.monotonic() + 20
    while not b.run("return document.activeElement.matches('.search input')") and time.monotonic() < end:
        b.click(*b.where("document.querySelector('.search input')"))
    b.keys("f1$")
    found = "return (document.querySelector('.found') || {textContent: ''}).textContent"
    while "Matched" not in b.run(found) and time.monotonic() < end:
        time.sleep(0.05)
    check("Matched: 100.0 %" in b.run(found), f"flames in a page can be searched: {b.run(found)!r}")
    check(b.errors() == [], f"no errors until the end: {b.errors()}")
    if os.environ.get("KEEP_SCREENSHOTS"):
        b.screenshot(os.environ["KEEP_SCREENSHOTS"] + "/html.png")
