# SPDX-License-Identifier: MIT
"""Flame graphs without a browser: what is in the file."""
import os, shutil, subprocess
from page import *

svg, htm, base = TMP + "/a.svg", TMP + "/a.html", TMP + "/base.folded"
deep = ["-c", TRIGGER + "/deep syscall 20"]
program = "syscall::getppid:entry /pid == $target/ { @calls[execname, ustack()] = count(); }"

# ---- the same values in every form
out, err, text = dtrace(program, "-x", "oformat=flame", *deep, out=svg)
data = page_data(text, "flame")
check(out == "" and len(data["sets"]) == 1, "one graph, and nothing on standard output")
check(data["sets"][0]["title"] == "@calls" and data["sets"][0]["what"] == "count", "title and unit")
rows = flame_rows(data)
check(sum(rows.values()) == 20, f"20 calls: {rows}")
stack = next(iter(rows))
check(stack.startswith("deep;deep`_start;") and stack.count("deep`f") == 40, f"keys, then frames from the outermost on: {stack}")
folded = dtrace(program, "-x", "oformat=folded", *deep, out=base)[2]
check(folded_rows(folded) == rows, f"folded stacks are those of the graph: {folded}")
plain = dtrace(program, *deep)[0]
check(sum(int(l) for l in plain.split("\n") if l.strip().isdigit()) == 20, "and those of the text")
check([n[0] for n in data["names"] if n[1:] in ("deep", "deep`main")] == ["r", "n"], "kinds of frames")

# ---- a page of HTML, by the file's name and by the option; a file is replaced
with open(htm, "w") as f:
    f.write("something old")
check(flame_rows(page_data(dtrace(program, "-x", "oformat=flame", *deep, out=htm)[2], "flame")) == rows, "HTML has the same")
forced = dtrace(program, "-x", "oformat=flame", "-x", "picture=html", *deep)[0]
check(forced.startswith("<!DOCTYPE html>") and flame_rows(page_data(forced, "flame")) == rows, "option picture")

# ---- sums, averages, histograms, and what has no picture
values = ("syscall::getppid:entry /pid == $target/ { @ns[ustack()] = sum(7); @b[ustack()] = avg(5); @c[ustack()] = quantize(3); "
          "@d[ustack()] = max(9); @e[ustack()] = sum(-1); @f[\"x\"] = count(); printf(\"hello\"); @g[stack()] = sum(2); }")
_, err, text = dtrace(values, "-x", "oformat=flame", *deep, out=svg)
data = page_data(text, "flame")
totals = {s["title"]: sum(flame_rows(data, i).values()) for i, s in enumerate(data["sets"])}
check(totals == {"@ns": 140, "@b": 100, "@c": 20, "@e": 0, "@g": 40}, f"totals: {totals}")
check({s["title"]: (s["what"], s["unit"]) for s in data["sets"]} == {
    "@ns": ("sum", "ns"), "@b": ("sum of avg()", ""), "@c": ("number of values", ""), "@e": ("sum", ""), "@g": ("sum", "")},
    "what the widths are")
notes = [n["text"] for n in data["notes"]]
check(any("@d is not drawn: values of max() cannot be added up" in n for n in notes), f"max() has no widths: {notes}")
check(any("20 messages or values and 1 table that" in n for n in notes), f"what is left out is told in the picture: {notes}")
check("20 messages or values and 1 table that" in err, f"and on standard error: {err}")
check(any("1 row with values below 0 is not drawn" in n["text"] for n in data["sets"][3]["notes"]), "negative sums are told")
check(any(n[0] == "k" and "`" in n for n in data["names"]), "frames of the kernel")
_, err, text = dtrace("BEGIN { @[\"x\"] = count(); exit(0); }", "-x", "oformat=flame", out=svg)
check("There is no picture" in page_data(text, "flame")["notes"][0]["text"], "a picture without stacks says why")
_, err, text = dtrace(program, "-x", "oformat=flame", "-x", "unit=bytes", *deep, out=svg)
check(page_data(text, "flame")["sets"][0]["unit"] == "", "a number of events has no unit")

# ---- several printa() of one aggregation are graphs of their own; the option icicle; text of freopen()
_, err, text = dtrace("syscall::getppid:entry /pid == $target/ { @[ustack()] = count(); n++; } "
                      "syscall::getppid:return /pid == $target && n == 20/ { printa(@); trunc(@); freopen(\"%s\", \"" + TMP + "/text\"); "
                      "printf(\"a<b\"); freopen(\"\"); printa(@); }",
                      "-w", "-x", "oformat=flame", "-x", "icicle", *deep, out=svg)
data = page_data(text, "flame")
check(data["icicle"] == 1 and open(TMP + "/text").read() == "a<b", "icicle; text goes to the file of freopen() as it is")
check(len(data["sets"]) == 1 and data["sets"][0]["when"].count(":") == 2, f"printa() says when; the empty one has no graph: {text[-900:]}")
check(sum(flame_rows(data).values()) == 20, f"what printa() has printed: {flame_rows(data)}")

# ---- an earlier run to compare with
_, err, text = dtrace("syscall::getppid:entry /pid == $target/ { @calls[execname, ustack()] = count(); @calls[\"new\", ustack()] = count(); }",
                      "-x", "oformat=flame", "-x", "flamebase=" + base, *deep, out=svg)
data = page_data(text, "flame")
check(data["sets"][0]["width"] == 4 and flame_rows(data, 0, 3) == rows, "the values of the run before")
now = flame_rows(data)
check(sum(now.values()) == 40 and {s: v for s, v in now.items() if not s.startswith("new")} == rows, "beside those of this run")
_, err, _ = dtrace(program, "-x", "oformat=flame", "-x", "flamebase=" + TMP + "/missing", *deep, status=1)
check("option flamebase: cannot open" in err and "No such file" in err, err)
_, err, _ = dtrace(program, "-x", "oformat=flame", "-x", "flamebase=" + svg, *deep, status=1)
check("a.svg:1: this line is no folded stack" in err and "hint: a line has frames" in err, err)

# ---- hostile names: of a key, a process, and a function
name = "]]></script><img src=x onerror=alert(1)>"
with open(TMP + "/evil.c", "w") as f:
    f.write("#include <unistd.h>\n#include <sys/syscall.h>\n#include <sys/prctl.h>\n"
            f"__attribute__((noinline)) void {'Q' * len(name)}(void) {{ syscall(SYS_getppid); __asm__ volatile(\"\"); }}\n"
            f"int main(void) {{ prctl(PR_SET_NAME, \"</script><b>\\\"\\001\\377\"); {'Q' * len(name)}(); return 0; }}\n")
subprocess.run([shutil.which("cc") or "gcc", "-O1", "-o", TMP + "/evil", TMP + "/evil.c"], check=True)
with open(TMP + "/evil", "rb+") as f: # no assembler takes the name
    elf = f.read().replace(b"Q" * len(name), name.encode())
    f.seek(0)
    f.write(elf)
quoted = HOSTILE.replace("\\", "\\\\").replace('"', '\\"')
for path in (svg, htm):
    _, err, text = dtrace("syscall::getppid:entry /pid == $target/ { @[\"" + quoted + "\", execname, ustack()] = count(); }",
                          "-x", "oformat=flame", "-c", TMP + "/evil", out=path)
    names = [n[1:] for n in page_data(text, "flame")["names"]]
    check(HOSTILE in names, f"a key is kept as it is: {names}")
    check("</script><b>\"\\001\\377" in names, f"what controls terminals is escaped: {names}")
    check("evil`]]></script><img src=x onerror=alert(1)>" in names, f"a function is kept as it is: {names}")
    check("<img" not in text and text.count("</script>") == 2, "no name becomes markup")

# ---- the script's functions
for test in ("flame", "functions"):
    if shutil.which("node"):
        r = subprocess.run(["node", f"{SRC}/tests/e2e/picture/{test}.test.js"], capture_output=True, text=True)
        check(r.returncode == 0, r.stdout + r.stderr)
