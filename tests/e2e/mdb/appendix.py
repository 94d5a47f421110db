# SPDX-License-Identifier: MIT
"""A session over a core file of Node.js in the order of postmortem.md, "Appendix"."""
import json, os, re, shutil, struct, subprocess, sys

sys.path.insert(0, os.path.dirname(__file__))
sys.path.insert(0, os.environ["SRC"] + "/tests/e2e")
from core_files import kernel_cores, kernel_writes_cores, unlimited

MDB, TMP = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
NODE = os.environ.get("NODE", "/usr/bin/node")
SOURCE = r"""'use strict';
class Point { constructor(x, y) { this.x = x; this.y = y; } }
class WriteStream { constructor(path) { this.path = path; this.at = new Point(1, 2.5); } }
const names = ['Write', 'Stream', process.argv.length > 9 ? 'never' : '.write of a stream of bytes'];
const joined = names[0] + names[1] + names[2];
function leaf(sample, text) {
	process.abort();
}
function outer(sample) {
	leaf(sample, joined);
}
const sample = { name: 'one', joined, n: 7, half: 0.5, list: [1, 2], stream: new WriteStream('/tmp/x'), none: null, missing: undefined, holes: [1, , 3] };
setTimeout(function onTimer() { outer(sample); }, 1);
"""
LINES = {"leaf": 7, "outer": 10, "onTimer": 13}
PRINTED = """{
    "name": "one",
    "joined": "WriteStream.write of a stream of bytes",
    "n": 7,
    "half": 0.5,
    "list": [
        1,
        2,
    ],
    "stream": WriteStream {
        "path": "/tmp/x",
        "at": Point {
            "x": 1,
            "y": 2.5,
        },
    },
    "none": null,
    "missing": undefined,
    "holes": [
        1,
        <hole>,
        3,
    ],
}
"""
JOINED = "WriteStream.write of a stream of bytes"
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{str(shown)[:3000]}")
    return is_good


def lines_check(text, pattern, what):
    wrong = [line for line in text.splitlines() if not re.fullmatch(pattern, line)]
    check(text and not wrong, what, wrong[:5] or text)


os.chdir(TMP)
if not os.access(NODE, os.X_OK) or not kernel_writes_cores():
    print(f"there is no {NODE}, or the kernel writes no core files here")
    sys.exit(67)
open("stream.js", "w").write(SOURCE)
with kernel_cores():
    subprocess.run([NODE, "stream.js"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, preexec_fn=unlimited)
core = next(f for f in os.listdir(".") if f.startswith("core"))
DATA = open(core, "rb").read()


def word_of(addr):
    """A word of memory, from the core file itself."""
    table, n = struct.unpack_from("<Q", DATA, 32)[0], struct.unpack_from("<H", DATA, 56)[0]
    for i in range(n):
        kind, _, off, start, _, size, _, _ = struct.unpack_from("<IIQQQQQQ", DATA, table + 56 * i)
        if kind == 1 and start <= addr <= start + size - 8:
            return struct.unpack_from("<Q", DATA, off + addr - start)[0]
    return None


def session(*commands):
    """What each command prints, of one run of mdb that reads them as they would be typed."""
    text = "".join(f'{c}\n0=n"-- {i}"\n' for i, c in enumerate(commands))
    r = subprocess.run([MDB, core], input=text, capture_output=True, text=True, timeout=300)
    check(r.returncode == 0 and not r.stderr, "the session", r.stderr)
    parts = re.split(r"^ *\n-- \d+\n", r.stdout, flags=re.M)
    check(len(parts) == len(commands) + 1, "an answer to each command", r.stdout)
    return parts[:-1]


# what the commands are given: the values of a stack
rows = json.loads(subprocess.run([MDB, "-o", "json", "-e", "::jsstack -v", core], capture_output=True, text=True, timeout=300).stdout)["rows"]
frame = next((r for r in rows if r.get("name") == "leaf"), None)
if not check(frame, "the stack has the function leaf", rows):
    sys.exit(1)
args = {r["variable"]: r["word"][2:] for r in rows if r["frame"] == frame["frame"] and "variable" in r}
fp, sample, text, function = frame["fp"][2:], args["arg1"], args["arg2"], frame["function"][2:]

dis, nm, stack, word, kind, raw, hole, string, verbose, printed, js_frame, js_stack, js_short = session(
    "fork::dis", "::nm ! grep -C2 -w fork", "$C", f"{fp}-0x8/p", f"{sample}::v8type", f"{sample}::v8print", f"{function}::v8print", f"{text}::v8str",
    f"{text}::v8str -v", f"{sample}::jsprint", f"{fp}::jsframe -v", "::jsstack -v", "::jsstack")

lines_check(dis, r" *libc\.so\.6`fork(\+0x[0-9a-f]+)?: +\w+( .*)?", "fork::dis has a line an instruction")
check(re.match(r" *libc\.so\.6`fork: {5,}\w", dis), "the first one in a column", dis[:200])
called = set(re.findall(r": +call 0x[0-9a-f]+ +<libc\.so\.6`(\w+)>$", dis, re.M))
check(called and "ret" in dis, "with the symbols of what is called", dis)
if shutil.which("gdb"):
    path = subprocess.run([MDB, "-o", "json", "-e", "::libs", core], capture_output=True, text=True, timeout=300).stdout
    libc = next(r["path"] for r in json.loads(path)["rows"] if r["path"].endswith("libc.so.6"))
    gdb = subprocess.run(["gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "disassemble fork", libc], capture_output=True, text=True, timeout=300).stdout
    want = [int(n) for n in re.findall(r"<\+(\d+)>:", gdb)]
    got = [int(n or "0", 16) for n in re.findall(r"`fork(?:\+0x([0-9a-f]+))?: ", dis)]
    check(got == want, "the same instructions as gdb", f"{got[:20]}\n{want[:20]}")

lines_check(nm, r"0x[0-9a-f]{16}\|0x[0-9a-f]{16}\|(FUNC|OBJT|NOTY|TLS |IFNC|FILE|SECT) *\|(GLOB|LOCL|WEAK) *\|0x[0-9a-f]+ *\|\w+ *\|\S+", "::nm has columns with bars")
row = re.search(r"^0x([0-9a-f]+)\|0x[0-9a-f]+\|FUNC \|(GLOB|WEAK) \|0x0  \|\d+ +\|fork$", nm, re.M)
check(row and len(nm.splitlines()) == 5, "the symbol and its neighbours", nm)

check(re.search(rf"^ +[0-9a-f]+ +[0-9a-f]+ libc\.so\.6`abort\+0x[0-9a-f]+\n", stack, re.M), "$C: a native frame", stack)
check(re.search(rf"^ +{fp} +{frame['pc'][2:]} node`\S.*\n +\[ leaf at {TMP}/stream\.js line 7 \]\n", stack, re.M), "$C: the frame of JavaScript", stack)

at = int(fp, 16) - 8
match = re.fullmatch(r"0x([0-9a-f]+): +0x([0-9a-f]+)(?: +<\S+>)?\n", word)
check(match and int(match[1], 16) == at and int(match[2], 16) == word_of(at), "a pointer in memory", f"{word} {at:x} {word_of(at)}")

check(kind == f"0x{sample}: JSObject\n", "::v8type", kind)
want = rf"{sample} JSObject {{\n    {sample} JSReceiver {{\n        {sample} HeapObject {{\n            ([0-9a-f]+) map = ([0-9a-f]+) \(Map\) \[Map\]\n        }}\n"
match = re.match(want, raw)
check(match and int(match[2], 16) == word_of(int(match[1], 16)), "::v8print: the classes one in another", raw)
check(re.search(r"^ +[0-9a-f]+ prototype_or_initial_map = [0-9a-f]+ \((?:Oddball|Hole): \"(?:the_)?hole\"\) \[\w+\]$", hole, re.M), "::v8print: a hole by its name", hole)

check(string == f'"{JOINED}"\n', "::v8str", string)
pieces = re.findall(r"^([0-9a-f]+): ConsString\n    ([0-9a-f]+): characters 0 to (\d+)\n    ([0-9a-f]+): characters 0 to (\d+)$", verbose, re.M)
check(pieces and pieces[0][0] == text and int(pieces[0][2]) + int(pieces[0][4]) == len(JOINED), "::v8str -v: two pointers", verbose)
parts = re.findall(r"^[0-9a-f]+: (?!Cons)\w+String\n    ([0-9a-f]+): (\d+) characters of 1 byte$", verbose, re.M)
joined = "".join(struct.pack("<Q", word_of(int(addr, 16) + i)).decode("latin-1")[0] for addr, n in parts for i in range(int(n)))
check(joined == JOINED, "::v8str -v: the characters of each part are where it says", f"{verbose}\n{joined}")
check(verbose.endswith(f'\n"{JOINED}"\n'), "::v8str -v: the text", verbose)

check(printed == PRINTED, "::jsprint", printed)

want = (f"{fp} {frame['pc'][2:]} leaf ({function})\n          file: {TMP}/stream.js\n          posn: line {LINES['leaf']}\n"
        f"          this: undefined\n          arg1: {sample} (JSObject)\n          arg2: \"{JOINED}\"\n")
check(js_frame == want, "::jsframe -v", f"{js_frame}\n{want}")
check(word_of(int(fp, 16) - 16) == int(function, 16), "its function is where V8 has it", function)

want = (rf"js: +leaf\n +file: {TMP}/stream\.js\n +posn: line 7\n +this: undefined\n +arg1: {sample} \(JSObject\)\n +arg2: \"{re.escape(JOINED)}\"\n(?:native: .*\n)*"
        rf"js: +outer\n +file: {TMP}/stream\.js\n +posn: line 10\n +this: undefined\n +arg1: {sample} \(JSObject\)\n(?:native: .*\n)*"
        rf"js: +onTimer\n +file: {TMP}/stream\.js\n +posn: line 13\n +this: [0-9a-f]+ \(Timeout\)\n(?:native: .*\n)*js: +listOnTimeout\n")
check(re.search(want, js_stack), "::jsstack -v", js_stack)
check(re.match(r"(?:native: libc\.so\.6`.*\n)+(?:native: node`.*\n)+js: ", js_stack), "with native frames before and between", js_stack)
short = "".join(line + "\n" for line in js_stack.splitlines() if not line.startswith(" " * 10))
check(js_short == short, "::jsstack: the same without what is indented", js_short)
sys.exit(1 if failed else 0)
