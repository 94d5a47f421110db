# SPDX-License-Identifier: MIT
"""Heat maps without a browser: what is in the file."""
import shutil
from page import *

svg, htm = TMP + "/a.svg", TMP + "/a.html"


def cells(data, title):
    """[(interval, low bound, number)] of a series."""
    s = next(s for s in data["series"] if s["title"] == title)
    low = data["tracks"][s["track"]]["low"]
    return [(s["cells"][i], low[s["cells"][i + 1]], s["cells"][i + 2]) for i in range(0, len(s["cells"]), 3)]


quoted = HOSTILE.replace("\\", "\\\\").replace('"', '\\"')
program = ("tick-150ms { n++; @kept = lquantize(n, 0, 100, 1); @cleared = lquantize(n, 0, 100, 1); @gone[\"" + quoted + "\"] = lquantize(n, 0, 100, 1); "
           "@log_ns = quantize(1 << n); @ll = llquantize(n, 10, 0, 2, 10); @best[n] = lquantize(n, 0, 100, 1); @best[0] = lquantize(50, 0, 100, 1); @c = count(); } "
           "tick-150ms { printa(@kept); printa(@cleared); clear(@cleared); printa(@gone); trunc(@gone); printa(@log_ns); printa(@ll); "
           "printa(@best); trunc(@best, 1); printa(@c); printf(\"x\"); } "
           "tick-150ms /n == 6/ { exit(0); }")
for path in (svg, htm):
    _, err, text = dtrace(program, "-x", "oformat=heatmap", out=path)
    data = page_data(text, "heat")
    for title in ("@kept", "@cleared", f"@gone[{HOSTILE}]", "@ll"):
        values = cells(data, title)
        check(sorted(v for _, v, _ in values) == list(range(1, 7)) and all(n == 1 for _, _, n in values), f"{title}: each value once: {values}")
        check([c for c, _, _ in sorted(values, key=lambda v: v[1])] == sorted(c for c, _, _ in values), f"{title}: in the order of time")
    check(sorted(v for _, v, _ in cells(data, "@log_ns")) == [2, 4, 8, 16, 32, 64], "ranges of quantize()")
    check(sum(n for _, _, n in cells(data, "@best[0]")) == 6, "a key that trunc() keeps is not counted twice")
    tracks = [t for t in data["tracks"] if t["low"]]
    check(all(t["ends"] == sorted(t["ends"]) and 4 <= len(t["ends"]) <= 8 for t in tracks), "six intervals")
    check(all(600 < t["ends"][-1] < 60000 for t in tracks), f"times are ms since the begin: {tracks[0]['ends']}")
    units = {s["title"]: s["unit"] for s in data["series"]}
    check(units["@log_ns"] == "ns" and units["@ll"] == "", "units by name")
    log = data["tracks"][next(s for s in data["series"] if s["title"] == "@log_ns")["track"]]
    check(log["low"][0] is None and log["high"][-1] is None and all(h + 1 == l for h, l in zip(log["high"], log["low"][1:])), "ranges adjoin")
    check(any("messages or values and" in n["text"] and "table" in n["text"] for n in data["notes"]) and "oformat=html" in err, "the rest is told")
    check("<img" not in text, "no name becomes markup")
_, err, text = dtrace("BEGIN { @[1] = quantize(5); exit(0); }", "-x", "oformat=heatmap", out=svg)
check(cells(page_data(text, "heat"), "@_[1]") == [(0, 4, 1)] and "was printed once" in text, "without printa() there is one interval, and advice")
_, err, text = dtrace("BEGIN { @[1] = count(); exit(0); }", "-x", "oformat=heatmap", out=svg)
check("There is no picture: no histogram was printed" in text, "no histogram")

if shutil.which("node"):
    r = subprocess.run(["node", SRC + "/tests/e2e/picture/heat.test.js"], capture_output=True, text=True)
    check(r.returncode == 0, r.stdout + r.stderr)
