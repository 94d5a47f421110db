# SPDX-License-Identifier: MIT
"""memprof alive and memprof malloc beside what the runtimes say themselves of the same process."""
import collections, json, os, re, shutil, signal, subprocess, sys, time

MEMPROF, TMP = os.environ["BUILD"] + "/src/cmd/memprof/memprof", os.environ["TMP"]
os.chdir(TMP)
failed, ntried = [], 0
# Each prints a line of JSON and waits.
PYTHON = """
import collections, gc, json, time
class Order:
    def __init__(self, n): self.n = n
keep = [Order(i) for i in range(1000)]
gc.collect()
print(json.dumps(collections.Counter(type(o).__name__ for o in gc.get_objects())), flush=True)
time.sleep(1000)
"""
RUBY = """
class Order; def initialize(n); @n = n; end; end
$o = 1000.times.map { |i| Order.new(i) }
h = Hash.new(0); name = Module.instance_method(:name); klass = Kernel.instance_method(:class); n = 0
GC.start; GC.disable
ObjectSpace.each_object(BasicObject) { |o| n += 1; h[klass.bind_call(o)] += 1 }
puts "{" + [*h.map { |k, v| "#{(name.bind_call(k) || k.inspect).inspect}: #{v}" }, "\\"\\": #{n}"].join(", ") + "}"
STDOUT.flush
sleep 1000
"""
NODE = """
class Order { constructor(n) { this.n = n; } }
const all = []; for (let i = 0; i < 1000; i++) all.push(new Order(i));
const names = /^(Order|ArrayBuffer|BuiltinModule)$/;
require('v8').writeHeapSnapshot('snapshot');
const s = JSON.parse(require('fs').readFileSync('snapshot')), m = s.snapshot.meta, width = m.node_fields.length, types = m.node_types[0], counts = {};
for (let i = 0; i < s.nodes.length; i += width) {
	const name = s.strings[s.nodes[i + 1]];
	if (types[s.nodes[i]] == 'object' && names.test(name)) counts[name] = (counts[name] || 0) + 1;
	if (types[s.nodes[i]] == 'closure') counts.closure = (counts.closure || 0) + 1;
}
console.log(JSON.stringify(counts)); setInterval(() => all.length, 100000);
"""
JAVA = """
import java.util.*;
public class Census {
	static class Order { int n; String name; Order(int n) { this.n = n; name = "order" + n; } }
	static Map<Integer, Order> all = new HashMap<>();
	public static void main(String[] a) throws Exception {
		for (int i = 0; i < 1000; i++) all.put(i, new Order(i));
		System.gc();
		System.out.println("{}");
		Thread.sleep(1000000);
	}
}
"""
PHP = """<?php
class Order { public $n; function __construct($n) { $this->n = $n; } }
$a = new SplFixedArray(1000); $a[0] = new Order(0); $before = memory_get_usage();
for ($i = 1; $i < 1000; $i++) $a[$i] = new Order($i);
echo json_encode(["Order" => (memory_get_usage() - $before) / 999 * 1000]), "\\n"; sleep(1000);
"""
LINES = """
import json, os, sys, time, tracemalloc
if len(sys.argv) > 1: tracemalloc.start()
class Thing:
    def __init__(self, n):
        self.n = [n] * 5
kept = []
def make():
    for i in range(300):
        kept.append(Thing(i))
texts = {}
def put():
    for i in range(500):
        texts[i] = "text%d" % (i + 100000)
def garbage():
    for i in range(1000):
        [i] * 10
make(); put(); garbage()
big = [bytearray(100000 + i) for i in range(20)]
if len(sys.argv) > 1:
    print(json.dumps({s.traceback[0].lineno: [s.size, s.count] for s in tracemalloc.take_snapshot().statistics("lineno") if s.traceback[0].filename.endswith("lines.py")}))
else:
    open("made", "w"); time.sleep(1000)
"""


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{str(shown)[:3000]}", flush=True)


def alive(pid, kind):
    """Count and bytes of each type of the language."""
    r = subprocess.run([MEMPROF, "alive", "--json", "-n", "0", "-p", str(pid)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200)
    check(r.returncode == 0, (kind, "memprof alive"), r)
    return {row["type"]: (row["count"], row["bytes"]) for row in map(json.loads, r.stdout.splitlines()) if row["kind"] == kind}


def differences(mine, theirs):
    return {k: (mine.get(k, 0), theirs.get(k, 0)) for k in {*mine, *theirs} if mine.get(k, 0) != theirs.get(k, 0)}


class Program:
    """A program that has printed what its runtime says, and waits."""

    def __init__(self, file, text, *command):
        global ntried
        ntried += 1
        open(file, "w").write(text)
        self.p = subprocess.Popen([*command, file] if not command[-1].endswith("Census") else command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        self.says = json.loads(self.p.stdout.readline())
        time.sleep(0.3)
        return self

    def __exit__(self, *_):
        self.p.kill()
        self.p.wait()


with Program("census.py", PYTHON, "/usr/bin/python3", "-S") as p:
    mine = collections.Counter()
    for name, (n, _) in alive(p.p.pid, "python").items():
        mine[name.split(".")[-1]] += n
    other = differences(mine, p.says)
    # the census makes objects of its own: its counter, a generator, the encoder, references to classes
    check(mine["Order"] == 1000 and sum(abs(a - b) for a, b in other.values()) <= 40 and sum(mine.values()) > 4000, "Python: gc.get_objects()", other)
    print("python", sum(mine.values()), sum(p.says.values()), other)
if shutil.which("ruby"):
    with Program("census.rb", RUBY, "ruby") as p:
        total = p.says.pop("")
        mine = {name: n for name, (n, _) in alive(p.p.pid, "ruby").items()}
        other = differences(mine, p.says)
        # a class with methods of one object is an object of Class there; the line that is printed has two texts for each class
        other.pop("Class", None)
        check(mine["Order"] == 1000 and sum(abs(a - b) for a, b in other.values()) <= 8 * len(p.says) and total > 10000, "Ruby: ObjectSpace", other)
        print("ruby", sum(mine.values()), total, other)
else:
    print("skip: there is no ruby")
if shutil.which("node"):
    with Program("census.js", NODE, "node") as p:
        mine = {name: n for name, (n, _) in alive(p.p.pid, "js").items()}
        mine["closure"] = mine.get("Function", 0) + mine.get("JSFunction", 0)
        other = differences({k: mine.get(k, 0) for k in p.says}, p.says)
        # a prototype is an object of its class, and reading the snapshot makes objects; those that are not collected yet are there, too
        check(p.says["Order"] == 1000 and mine["Order"] in (1000, 1001) and len(p.says) == 4 and all(abs(a - b) <= 10 + b // 10 for a, b in other.values()), "Node.js: a heap snapshot", other)
        print("node", p.says, other)
else:
    print("skip: there is no node")
if shutil.which("javac") and shutil.which("jcmd"):
    open("Census.java", "w").write(JAVA)
    subprocess.run(["javac", "--release", "17", "Census.java"], check=True)
    words = {"B": "byte", "C": "char", "I": "int", "J": "long", "Z": "boolean", "S": "short", "F": "float", "D": "double"}

    def name_of(text):
        base = text.lstrip("[")
        depth = len(text) - len(base)
        return (words.get(base) or base[1:-1] if depth else text) + "[]" * depth

    def histogram(pid):
        out = subprocess.run(["jcmd", str(pid), "GC.class_histogram", "-all"], capture_output=True, text=True, timeout=200).stdout
        return {name_of(c): (int(n), int(size)) for n, size, c in re.findall(r"^\s*\d+:\s+(\d+)\s+(\d+)\s+(\S+)", out, re.M)}

    for collector in "UseSerialGC", "UseG1GC", "UseParallelGC":
        with Program("java.txt", "", "java", f"-XX:+{collector}", "-cp", ".", "Census") as p:
            histogram(p.p.pid)  # the first one makes objects
            theirs, mine = histogram(p.p.pid), alive(p.p.pid, "java")
            other = {k: (mine.get(k), theirs.get(k)) for k in {*mine, *theirs} if mine.get(k) != theirs.get(k)}
            # parts of the heap that are not used yet are arrays of int
            check(len(theirs) > 200 and theirs["Census$Order"][0] == 1000 and set(other) <= {"int[]"}, f"Java, {collector}: GC.class_histogram", other)
            print("java", collector, len(theirs), sum(n for n, _ in theirs.values()), other)
else:
    print("skip: there is no JDK")
if shutil.which("php"):
    # its heap has blocks of 56 bytes, as such an object takes
    with Program("census.php", PHP, "php") as p:
        n, size = alive(p.p.pid, "php").get("Order", (0, 0))
        check(n == 1000 and size == p.says["Order"], "PHP: memory_get_usage()", (n, size, p.says))
        print("php", n, size, p.says)
else:
    print("skip: there is no php")

# places: what tracemalloc has counted for each line, and what was asked for by it where all objects are blocks of malloc
open("lines.py", "w").write(LINES)
env = dict(os.environ, PYTHONMALLOC="malloc", PYTHONHASHSEED="1")
theirs = json.loads(subprocess.run(["/usr/bin/python3", "-S", "lines.py", "x"], env=env, capture_output=True, text=True, timeout=100).stdout)
m = subprocess.Popen([MEMPROF, "malloc", "--json", "-n", "0", "-x", "maxrate=1000000000", "-x", "filewait=10s", "/usr/bin/python3", "-S", "lines.py"], env=env, stdin=subprocess.DEVNULL,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
for _ in range(1800):
    if os.path.exists("made") or m.poll() is not None:
        break
    time.sleep(0.1)
time.sleep(0.5)
m.send_signal(signal.SIGINT)
out, err = m.communicate()
mine = {}
for row in map(json.loads, out.splitlines()):
    line = next((f["language"].split("lines.py:")[1].split()[0] for f in row["stack"] if isinstance(f, dict) and "lines.py:" in f["language"]), None)
    if line:
        had = mine.setdefault(line, [0, 0])
        mine[line] = [had[0] + row["bytes"], had[1] + row["count"]]
for line in "6", "10", "13", "14", "19":
    a, b = mine.get(line, [0, 0]), theirs.get(line, [0, 0])
    check(b[0] > 1000 and a == b, f"tracemalloc: line {line}", (mine, theirs, err))
print("tracemalloc", {k: (mine.get(k), theirs.get(k)) for k in ("6", "10", "13", "14", "19")})
sys.exit(1 if failed else 0)
