# SPDX-License-Identifier: MIT
"""A Node.js program whose objects are known: its values, stack, objects and references in mdb, of a core file and of a process that is held."""
import json, os, re, subprocess, sys

sys.path.insert(0, os.environ["SRC"] + "/tests/e2e")
sys.dont_write_bytecode = True
from core_files import kernel_cores, kernel_writes_cores, unlimited

MDB, TMP = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
NODE = os.environ.get("NODE", "/usr/bin/node")
# Each line that it prints is a member and what is to be shown of it: JSON where JavaScript writes the same.
SOURCE = r"""
'use strict';
class Point { constructor(x, y) { this.x = x; this.y = y; } }
class Worker { constructor(i) { this.id = i; this.name = 'worker-' + i; this.pos = new Point(i, i + 0.5); this.next = null; } }
const keep = globalThis.keep = [];
for (let i = 0; i < 300; i++) keep.push(new Worker(i));
const two = '\u0416\u0430\u0431\u0430 \u{1F438}', one = 'x'.repeat(20) + process.pid;
const dict = {}; for (let i = 0; i < 40; i++) dict['key' + i] = i; for (let i = 0; i < 40; i += 2) delete dict['key' + i];
const many = {}; for (let i = 0; i < 30; i++) many['p' + i] = i * 1.5;
function make(a) { let n = 42; return function inner(b) { n += b; return a + n; }; }
function middle(o) { return leaf(o, 'second'); }
const sample = { marker: 1 }, expected = [];
function add(name, value, text) { sample[name] = value; expected.push([name, text === undefined ? JSON.stringify(value) : text]); }
add('smi', -7); add('double', 3.25); add('tiny', 5e-324); add('huge', 1e300, '1e+300'); add('whole', 2 ** 40); add('minus', -0.1);
add('nan', NaN, 'NaN'); add('infinite', -Infinity, '-Infinity');
add('yes', true); add('no', false); add('nothing', null); add('missing', undefined, 'undefined');
add('one', 'one'); add('quotes', 'a "b" \\ c\nd'); add('two', two); add('joined', one + two.slice(0, 3) + 'a tail of some length');
add('sliced', ('the quick brown fox jumps over the lazy dog' + process.pid).slice(4, 30));
let deep = ''; for (let i = 0; i < 3000; i++) deep = deep + 'ab'; sample.deep = deep;
function list(l) { return l.length ? '[ ' + l.join(', ') + ' ]' : '[]'; }
function object(o) { const p = Object.entries(o).map(([k, v]) => JSON.stringify(k) + ': ' + v); return p.length ? '{ ' + p.join(', ') + ' }' : '{}'; }
add('array', [1, 2, 3], list([1, 2, 3])); add('holey', [1, , 3], list([1, '<hole>', 3])); add('doubles', [1.5, -2.5], list([1.5, -2.5]));
add('mixed', [1, 'two', { three: 3 }], list([1, '"two"', '{ "three": 3 }'])); add('none', [], '[]'); add('bare', {}, '{}');
add('frozen', Object.freeze([7, 8]), list([7, 8]));
add('dict', dict, object(dict)); add('many', many, object(many));
add('map', new Map([['k1', 'v1'], ['gone', 0], ['k2', { in: true }]]), 'Map(2) { "k1" => "v1", "k2" => { "in": true } }'); sample.map.delete('gone');
add('set', new Set([1, 'gone', 'b']), 'Set(2) { 1, "b" }'); sample.set.delete('gone');
add('date', new Date(1700000000123), '2023-11-14T22:13:20.123Z'); add('epoch', new Date(0), '1970-01-01T00:00:00.000Z'); add('old', new Date(-1), '1969-12-31T23:59:59.999Z');
add('never', new Date(NaN), 'Invalid Date');
add('regexp', /a[b]+c/gi, '/a[b]+c/gi'); add('sticky', /x/my, '/x/my'); add('symbol', Symbol('mine'), 'Symbol(mine)');
add('big', 12345678901234567890123n, '12345678901234567890123n'); add('negative', -5n, '-5n'); add('zero', 0n, '0n');
add('fn', make('captured'), 'function inner'); sample.fn(1);
sample.holder = (() => { const hidden = { onlyHeld: 1 }; return () => hidden; })();
add('bytes', new Uint8Array([1, 255]), 'Uint8Array(2) [ 1, 255 ]'); add('int8', new Int8Array([-1]), 'Int8Array(1) [ -1 ]'); add('clamped', new Uint8ClampedArray([300]), 'Uint8ClampedArray(1) [ 255 ]');
add('int16', new Int16Array([-300]), 'Int16Array(1) [ -300 ]'); add('uint32', new Uint32Array([4e9]), 'Uint32Array(1) [ 4000000000 ]');
add('float', new Float32Array([1.5]), 'Float32Array(1) [ 1.5 ]'); add('f64', new Float64Array([1.25, 2.5]), 'Float64Array(2) [ 1.25, 2.5 ]'); add('b64', new BigInt64Array([-9n]), 'BigInt64Array(1) [ -9 ]');
add('point', new Point(1, 'p'), 'Point { "x": 1, "y": "p" }'); add('kept', Promise.resolve(5), 'Promise { "state": fulfilled, "value": 5 }');
add('waits', new Promise(() => {}), 'Promise { "state": pending }'); add('proxy', new Proxy({ t: 1 }, {}), 'Proxy { "target": { "t": 1 }, "handler": {} }');
add('getter', { plain: 1, get got() { return 2; } }, '{ "plain": 1, "got": [accessor] }');
const lazy = { gone: 1, get got() { return 2; }, last: 3 }; delete lazy.gone; add('lazy', lazy, '{ "got": [accessor], "last": 3 }');
sample[7] = 'seven'; expected.push(['7', '"seven"']);
sample.self = sample; expected.push(['self', '{<above>}']);
sample.nested = { a: { b: { c: { d: 1 } } } };
globalThis.sample = sample;
function leaf(object, text) {
	console.log(JSON.stringify({ expected, deep: deep.length }));
	if (process.argv[2] === 'abort') process.abort();
	require('fs').readSync(0, Buffer.alloc(1));
	return object;
}
setTimeout(function onTimer() { if (global.gc) gc(); new Function('next', 'object', 'return next(object)')(middle, sample); }, 10);
"""
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{str(shown)[:3000]}")


if not os.access(NODE, os.X_OK):
    print(f"there is no {NODE}")
    sys.exit(67)
major = int(subprocess.run([NODE, "-p", "process.versions.node"], capture_output=True, text=True).stdout.split(".")[0])
if major not in (18, 20, 22, 24, 26):
    print(f"Node.js {major} has no values in mdb")
    sys.exit(67)
os.chdir(TMP)
open("graph.js", "w").write(SOURCE)


def look(target, said, where):
    known = json.loads(said)

    def run(*args):
        r = subprocess.run([MDB, *args, *target], capture_output=True, text=True, timeout=120)
        check(r.returncode == 0 and not r.stderr, f"{where}: " + " ".join(args), r.stdout + r.stderr)
        return r.stdout

    stack = run("-e", "::jsstack -v")
    want = r"js:     leaf\n          file: \S+graph\.js\n          posn: line \d+\n          this: undefined\n          arg1: ([0-9a-f]+) \(JSObject\)\n          arg2: \"second\"\n"
    m = re.search(want, stack)
    check(m, f"{where}: the stack with arguments", stack)
    check(re.search(r"js:     middle\n.*\n.*\n.*\n          arg1: " + (m[1] if m else "-"), stack), f"{where}: the caller's", stack)
    if not m:
        return
    sample = m[1]
    values = run("-e", f"{sample}::jsprint -d3 " + " ".join(n for n, t in known["expected"]))
    want = "{ " + ", ".join(f'"{n}": {t}' for n, t in known["expected"]) + " }\n"
    check(values == want, f"{where}: values", f"got  {values}\nwant {want}")
    check(run("-e", f"{sample}::jsprint nested.a.b") == "{\n    \"c\": {\n        \"d\": 1,\n    },\n}\n", f"{where}: a member of members")
    check(run("-e", f"{sample}::jsprint -d1 nested") == '{\n    "a": {...},\n}\n', f"{where}: depth", run("-e", f"{sample}::jsprint -d1 nested"))
    rows = json.loads(run("-o", "json", "-e", f"{sample}::jsprint smi"))["rows"]
    check(rows == [{"address": f"0x{sample}", "member": "0xfffffff900000000", "value": "-7"}], f"{where}: JSON", rows)
    check(run("-e", f"{sample}::v8type") == f"0x{sample}: JSObject\n", f"{where}: type")
    raw = run("-e", f"{sample}::v8print")
    m = re.search(rf"^{sample} JSObject {{\n    {sample} JSReceiver {{\n        {sample} HeapObject {{\n +([0-9a-f]+) map = ([0-9a-f]+) \(Map\) \[Map\]\n", raw)
    check(m and int(m[1], 16) == int(sample, 16) - 1, f"{where}: the structure of an object", raw)
    check(m and run("-e", f"*{m[1]}=J").split() == [m[2]], f"{where}: its map is what memory has", raw)
    check(raw.count("{") == raw.count("}") == 3 and re.search(r"^    [0-9a-f]+ elements = [0-9a-f]+ \(\w+\) \[", raw, re.M), f"{where}: its elements", raw)
    scopes = run("-e", f"{sample}::jsprint fn | ::jsclosure -d1")
    check(scopes.startswith('Context {\n    "a": "captured",\n    "n": 43,\n}\nContext {\n') and '"middle": function middle' in scopes, f"{where}: a closure", scopes)
    refs = run("-e", "::findjsobjects -c Object -p onlyHeld | ::jsfindrefs")
    check(re.search(r"^ *[0-9a-f]+ hidden of Context$", refs, re.M), f"{where}: what a closure holds", refs)
    # a function that is not strict has the global object
    m = re.search(r"^          this: ([0-9a-f]+) \(global\)\n          arg1: function middle\n", stack, re.M)
    check(m, f"{where}: the global object", stack)
    shown = run("-e", f"{m[1]}::jsprint -d1; {m[1]}::jsprint keep.7.name sample.marker") if m else ""
    check(re.search(r'^    "keep": \[...\],\n    "sample": {...},$', shown, re.M) and shown.endswith('{ "keep.7.name": "worker-7", "sample.marker": 1 }\n'), f"{where}: its properties", shown)
    shown = run("-e", f"{sample}::jsprint point.none | ::jsprint; {sample}::jsprint point.x | ::jsprint")
    check(shown == "1\n", f"{where}: what is no member hands on nothing", shown)
    # a text of many parts, which are joined one into another
    rows = json.loads(run("-o", "json", "-e", f"{sample}::jsprint -a deep"))["rows"]
    check(rows[0]["value"] == '"' + "ab" * 500 + f'"... ({known["deep"]} characters)', f"{where}: a long text is cut", rows)
    # the census
    text = run("-e", "::findjsobjects")
    for name, shape in (("Worker", "id, name, pos, next"), ("Point", "x, y")):
        n = re.findall(rf"^ *[0-9a-f]+ +(\d+) +\d+ {name}: {shape}$", text, re.M)
        # a copy that the collector has moved may be there still
        check(len(n) == 1 and 300 <= int(n[0]) <= 303, f"{where}: census of {name}", n or text[:2000])
    names = run("-e", "::findjsobjects -c Worker -p pos | ::jsprint name").split("\n")[:-1]
    check(sorted(set(names)) == sorted(json.dumps(f"worker-{i}") for i in range(300)), f"{where}: a member of each", names[:5])
    last = run("-e", "::findjsobjects -c Worker -p pos -l").split()[-1]
    check(len(run("-e", f"{last}::findjsobjects").split()) == len(names), f"{where}: all like it")
    refs = run("-e", f"{last}::jsfindrefs")
    check(re.search(r"^ *[0-9a-f]+ \[\d+\] of Array: length$", refs, re.M), f"{where}: references", refs)
    # what is no value
    r = subprocess.run([MDB, "-e", f"{int(sample, 16) - 1:x}::jsprint", *target], capture_output=True, text=True, timeout=120)
    check(r.returncode == 1 and f"is no value: did you mean {sample}?" in r.stderr, f"{where}: an address beside it", r.stderr)
    r = subprocess.run([MDB, "-e", "1::jsprint; ffffffffffffffff::v8type; 7::findjsobjects", *target], capture_output=True, text=True, timeout=120)
    check(r.returncode == 1 and r.stderr.count("is no") == 3 and not r.stdout, f"{where}: no values", r.stderr + r.stdout)


with kernel_cores():
    r = subprocess.run([NODE, "--expose-gc", "graph.js", "abort"], capture_output=True, text=True, preexec_fn=unlimited, stdin=subprocess.DEVNULL)
cores = [f for f in os.listdir(".") if f.startswith("core")]
if kernel_writes_cores() and cores:
    look(["-e", "", cores[0]][2:], r.stdout.split("\n")[0], "core")
else:
    print("the kernel writes no core files here")
program = subprocess.Popen([NODE, "--expose-gc", "graph.js", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
try:
    look(["-p", str(program.pid)], program.stdout.readline(), "process")
    program.stdin.write("x")
    program.stdin.close()
    check(program.wait(60) == 0, "it goes on to its end")
finally:
    if program.poll() is None:
        program.kill()
    program.wait()
sys.exit(1 if failed else 0)
