# SPDX-License-Identifier: MIT
"""Pictures and JSON, of programs in a language: the frames that a user looks for are in them."""
import json, shutil, xml.etree.ElementTree

from suite import DATA, Failed, Skip, dtrace, expect, folder, test

PROFILE = "profile-499 /pid == $target/ { @cpu[execname, jstack()] = count(); }"
BUSY = "/usr/bin/python3 busy.py"


def profiled(tmp, *args):
    """Runs a program that is busy for a second of its own time; returns the file that was written."""
    shutil.copy(f"{DATA}/busy.py", tmp)
    dtrace(*args, "-qn", PROFILE, "-c", BUSY, cwd=tmp)


@test("outputs/a table of stacks")
def stacks():
    with folder() as tmp:
        shutil.copy(f"{DATA}/busy.py", tmp)
        out = dtrace("-qn", PROFILE, "-c", BUSY, cwd=tmp)
        expect(out, r"\[ .*busy\.py:\d+ \(known_busy\)[\s\S]*?\[ .*busy\.py:\d+ \(known_outer\)")


@test("outputs/flame graph, SVG")
def flame():
    with folder() as tmp:
        profiled(tmp, "-x", "oformat=flame", "-o", "cpu.svg")
        if not xml.etree.ElementTree.parse(f"{tmp}/cpu.svg").getroot().tag.endswith("svg"):
            raise Failed("it is no SVG")
        with open(f"{tmp}/cpu.svg", encoding="utf-8") as f:
            expect(f.read(), "known_busy", "known_outer")


@test("outputs/flame graph, HTML")
def flame_html():
    with folder() as tmp:
        profiled(tmp, "-x", "oformat=flame", "-o", "cpu.html")
        with open(f"{tmp}/cpu.html", encoding="utf-8") as f:
            expect(f.read(), r"\A<!DOCTYPE html>", "known_busy", r"</html>\s*\Z")


@test("outputs/folded stacks, and what has changed since")
def folded():
    with folder() as tmp:
        profiled(tmp, "-x", "oformat=folded", "-o", "before.folded")
        with open(f"{tmp}/before.folded", encoding="utf-8") as f:
            expect(f.read(), r"^python3\S*;.*known_outer.*;.*known_busy.* \d+$")
        profiled(tmp, "-x", "oformat=flame", "-x", "flamebase=before.folded", "-o", "change.svg")
        with open(f"{tmp}/change.svg", encoding="utf-8") as f:
            expect(f.read(), "known_busy")


@test("outputs/heat map")
def heatmap():
    with folder() as tmp:
        text = "profile-97 { @lat_ns[\"cpu\"] = quantize(cpu + 1000); } tick-200ms { printa(@lat_ns); clear(@lat_ns); } tick-900ms { exit(0); }"
        dtrace("-x", "oformat=heatmap", "-o", "map.svg", "-qn", text, cwd=tmp)
        with open(f"{tmp}/map.svg", encoding="utf-8") as f:
            expect(f.read(), r"<svg [\s\S]*lat_ns[\s\S]*</svg>")


@test("outputs/report")
def html():
    with folder() as tmp:
        text = "syscall:::entry /pid == $target/ { @[probefunc] = count(); @q[execname] = quantize(arg0); }"
        dtrace("-x", "oformat=html", "-o", "report.html", "-qn", text, "-c", "/bin/cat /etc/hostname", cwd=tmp)
        with open(f"{tmp}/report.html", encoding="utf-8") as f:
            expect(f.read(), r"\A<!DOCTYPE html>", "openat")


JSON = "syscall::getppid:entry /pid == $target/ { trace(execname); printf(\"%d\", 42); stack(); ustack(); jstack(); @calls[probefunc] = count(); @q = quantize(7); }"


def schema_check(part, what):
    try:
        import jsonschema
    except ImportError:
        raise Skip("no module jsonschema (package python3-jsonschema)") from None
    with open("/usr/share/doc/fathom/doc/json-schema.json", encoding="utf-8") as f:
        schema = json.load(f)
    if part:
        schema = {"$schema": schema["$schema"], "$defs": schema["$defs"], "$ref": part}
    try:
        jsonschema.Draft202012Validator(schema).validate(what)
    except jsonschema.ValidationError as e:
        raise Failed(str(e)[:2000]) from None


@test("outputs/JSON, a document")
def document():
    with folder() as tmp:
        shutil.copy(f"{DATA}/known.py", tmp)
        open(f"{tmp}/seen", "w", encoding="utf-8").close()
        out = json.loads(dtrace("-x", "oformat=json", "-qn", JSON, "-c", "/usr/bin/python3 known.py", cwd=tmp))
        rows = {a["aggregation-name"]: a["aggregation-data"] for a in out["dtrace"]["aggregations"]}
        if rows["calls"] != [{"keys": ["getppid"], "count": 1}] or not out["dtrace"]["probes"]:
            raise Failed(json.dumps(out)[:2000])
        schema_check(None, out)


@test("outputs/JSON, an object a line")
def lines():
    with folder() as tmp:
        shutil.copy(f"{DATA}/known.py", tmp)
        open(f"{tmp}/seen", "w", encoding="utf-8").close()
        out = [json.loads(line) for line in dtrace("-x", "oformat=jsonl", "-qn", JSON, "-c", "/usr/bin/python3 known.py", cwd=tmp).splitlines()]
        if len(out) < 3 or "session" not in out[0]:
            raise Failed(json.dumps(out)[:2000])
        for line in out:
            schema_check("#/$defs/line", line)
