# SPDX-License-Identifier: MIT
"""Reports without a browser: what is in the page."""
import html, shutil
from page import *

page = TMP + "/a.html"
quoted = HOSTILE.replace("\\", "\\\\").replace('"', '\\"')


def plain(fragment):
    return html.unescape(re.sub(r"<[^>]*>", "", fragment))


def table(text, name):
    """Rows of an aggregation's table: lists of the texts of cells."""
    section = re.search(rf"<h2>@{re.escape(html.escape(name, quote=False))}<.*?</section>", text, re.S)
    check(section, f"no table of @{name}")
    body = section.group(0).split("<tbody>", 1)[1]
    return [[plain(c) for c in re.findall(r"<td[^>]*>(.*?)</td>", r, re.S)] for r in re.findall(r"<tr[^>]*>(.*?)</tr>", body, re.S)]


program = ("BEGIN { printf(\"a < b & c\\n\"); printf(\"" + quoted + "\\n\"); @n[\"x\", 5] = sum(1234567); @n[\"" + quoted + "\", -1] = sum(3); "
           "@h[1] = quantize(3); @h[1] = quantize(5); @h[1] = quantize(5); @two[1] = min(7); @three[1] = max(8); @m[\"z\"] = stddev(5); "
           "@text[1] = count(); @s[ustack(3), \"q\"] = count(); @least[stack(2)] = min(4); printa(\"%d <%@d>\\n\", @text); printa(@two, @three); "
           "system(\"echo '<i>'\"); freopen(\"" + TMP + "/other\"); printf(\"p<q\"); printa(@two); freopen(\"\"); } BEGIN { trace(*(int *)8); } BEGIN { exit(0); }")
out, err, text = dtrace(program, "-w", "-x", "oformat=html", out=page)
tags = Tags(text)
check(set(tags.seen) <= set("html head meta title style body main header h1 h2 p small details summary pre section ul li div table thead tbody tr th "
                            "td span svg rect text script".split()), f"tags: {set(tags.seen)}")
check(page_data(text, "flame")["sets"][0]["title"] == "@s", "stacks are flames")
pre = "".join(plain(p) for p in re.findall(r"<pre>(.*?)</pre>", text.split("</header>")[1], re.S))
check(f"a < b & c\n{HOSTILE}\n" in pre and "1 <1>\n" in pre and "<i>\n" in pre, f"text is as it is: {pre}")
check(sorted(table(text, "n")) == sorted([["x", "5", "1,234,567"], [HOSTILE, "-1", "3"]]), f"a table: {table(text, 'n')}")
check("data-v=\"1234567\"" in text, "a cell has its number for sorting")
check([r for r in table(text, "h")][0][0] == "1" and ["4", "", "2"] in table(text, "h"), f"a histogram: {table(text, 'h')}")
check(table(text, "two, @three") == [["1", "7", "8"]], "aggregations side by side")
check(table(text, "m") == [["z", "0"]] and len(table(text, "least")) == 1, "other functions; stacks of min() are a table")
check(open(TMP + "/other").read().startswith("p<q\n"), f"a file of freopen() has text: {open(TMP + '/other').read()}")
notices = plain(re.search(r'<section class="notices">.*?</section>', text, re.S).group(0))
check("invalid address (0x8)" in notices and "invalid address (0x8)" in err, f"errors stand in the page, too: {notices}")
check("Linux" in text and os.uname().nodename in text and " UTC" in text, "facts")
check(html.escape(HOSTILE) in text.replace("&#39;", "&#x27;") and "<img" not in text, "the program's text is there")
plain_text = dtrace(program.replace("trace(*(int *)8);", ""), "-w")[0]
for line in plain_text.splitlines():
    words = [w for w in line.split() if w.isdigit()]
    check(all(f"{int(w):,}" in text or w in text for w in words), f"what text shows stands in the report: {line}")

# ---- drops are told, and none is not hidden
_, err, text = dtrace("BEGIN { exit(0); }", "-x", "oformat=html", out=page)
check("Nothing was lost." in text, "nothing was lost")
_, err, text = dtrace("BEGIN { s = speculation(); t = speculation(); exit(0); }", "-x", "oformat=html", out=page)
check("1 failed speculation" in err, err)
check("1 failed speculation" in plain(re.search(r'<section class="notices">.*?</section>', text, re.S).group(0)), "drops are told in the page")

# ---- columns of records, a long table, values of CPUs
_, err, text = dtrace("BEGIN { trace(5); exit(0); }", "-x", "oformat=html", out=page, quiet=False)
check("FUNCTION:NAME" in text and ":BEGIN" in text, "columns as in text")
_, err, text = dtrace("BEGIN { printf(\"x\"); } " + " ".join(f"BEGIN {{ @[{i}] = sum({i}); }}" for i in range(250)) + " BEGIN { exit(0); }",
                      "-x", "oformat=html", "-x", "aggpercpu", out=page)
check(text.count('<tr class="more">') == 50 and text.count("CPU 0: ") == 250, "rows behind a button; values of CPUs")

# ---- tables begin with the greatest, equal ones in the order of keys; what is sorted by key stays so; text is as it is in text
rows = ("BEGIN { @a[3] = sum(5); @a[1] = sum(50); @a[4] = sum(7); @a[2] = sum(7); @q[1] = quantize(1); @q[2] = quantize(1); @q[2] = quantize(2); "
        "@b[9] = max(8); @b[1] = max(2); @c[9] = max(1); @c[3] = max(4); printa(@b, @c); printa(\"%d,\", @a); printa(@a); exit(0); }")
_, err, text = dtrace(rows, "-x", "oformat=html", out=page)
check([r[0] for r in table(text, "a")] == ["1", "2", "4", "3"], f"the greatest is first: {table(text, 'a')}")
check(table(text, "b, @c") == [["9", "8", "1"], ["1", "2", "0"], ["3", "0", "4"]], f"the first of several decides: {table(text, 'b, @c')}")
check(re.search(r'<th scope="col" class="n" aria-sort="descending">sum', text), "the head says so")
keys = re.findall(r'<td class="n">(\d)</td><td><table class="hist">', text)
check(keys == ["2", "1"], f"the key with most values is first: {keys}")
check("<pre>\n3,2,4,1," in text, "rows with a format are text, in its order")
_, err, text = dtrace(rows, "-x", "oformat=html", "-x", "aggsortrev", out=page)
check([r[0] for r in table(text, "a")] == ["1", "2", "4", "3"], "the greatest is first for those who ask for it, too")
_, err, text = dtrace(rows, "-x", "oformat=html", "-x", "aggsortkey", out=page)
check([r[0] for r in table(text, "a")] == ["1", "2", "3", "4"], f"sorted by key: {table(text, 'a')}")
check(re.search(r'<th scope="col" class="n" aria-sort="ascending">key', text), "the head says so")

# ---- the title: the script's name, or the begin of the program
with open(TMP + "/slow & hot.d", "w") as f:
    f.write("BEGIN { @[stack(1)] = count(); @h = quantize(1); printa(@h); exit(0); }")
for form, says in (("html", ""), ("flame", ": flame graph"), ("heatmap", ": heat map")):
    r = subprocess.run([DTRACE, "-q", "-x", "oformat=" + form, "-o", page, "-n", "tick-1h { }", "-s", TMP + "/slow & hot.d"], capture_output=True, text=True)
    check(r.returncode == 0 and f"<title>slow &amp; hot.d{says}</title>" in open(page).read(), f"the title of {form}: {r.stderr}")
check("<h1>slow &amp; hot.d</h1>" in dtrace("BEGIN { exit(0); }", "-s", TMP + "/slow & hot.d", "-x", "oformat=html", out=page)[2], "the head")
_, err, text = dtrace("BEGIN\n{\n\texit(0);  /* \u00fc */\n}\n", "-x", "oformat=html", out=page)
check("<title>BEGIN { exit(0); /* \u00fc */ }</title>" in text and "<h1>BEGIN { exit(0); /* \u00fc */ }</h1>" in text, f"the program: {text[:600]}")
_, err, text = dtrace("BEGIN { exit(0); } /* " + "\u00fc" * 100 + "*/", "-x", "oformat=html", out=page)
check("<title>BEGIN { exit(0); } /* " + "\u00fc" * 50 + "\u2026</title>" in text, f"a long one is cut: {re.findall('<title>.*', text)}")

# ---- a run that ended early is readable
check(dtrace("BEGIN { printf(\"early\"); exit(3); }", "-x", "oformat=html", out=page, status=3)[2].endswith("</html>\n"), "the page is whole")
if shutil.which("node"):
    r = subprocess.run(["node", "-e", "const assert = require('assert'), R = require('" + SRC + "/src/picture/report.js');"
                        "assert.deepStrictEqual(R.order(['3', '10', '9007199254740993', '9007199254740992'], true, true), [2, 3, 1, 0]);"
                        "assert.deepStrictEqual(R.order(['b', 'a', 'b'], false, false), [1, 0, 2]);"], capture_output=True, text=True)
    check(r.returncode == 0, r.stderr)
