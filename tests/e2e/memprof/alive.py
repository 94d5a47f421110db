# SPDX-License-Identifier: MIT
"""Programs with known numbers of objects: memprof alive, compared with what the runtimes count themselves."""
import json, os, re, shutil, signal, subprocess, sys, time

MEMPROF, MDB, TMP = os.environ["BUILD"] + "/src/cmd/memprof/memprof", os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
# file, command, source; 1000 objects of a class Order. A line of numbers is the runtime's own census.
PROGRAMS = {
    "python": ("a.py", ["/usr/bin/python3"], """
import collections, gc, sys, time
class Order:
    def __init__(self, n): self.n = n
class Slim: __slots__ = ("n",)
Named = collections.namedtuple("Named", "a b")
keep = [Order(i) for i in range(1000)], [Slim() for i in range(500)], [Named([], i) for i in range(300)]
for i in range(5000): [Order(i)]
gc.collect()
count = collections.Counter(type(o).__name__ for o in gc.get_objects())
print(*(f"{n}={count[n]}" for n in ("Order", "Slim", "Named", "module", "type")), flush=True)
time.sleep(1000)
"""),
    "ruby": ("a.rb", ["ruby"], """
module Shop; class Order; def initialize(n); @n = n; end; end; end
$o = 1000.times.map { |i| Shop::Order.new(i) }
GC.start
puts "Shop::Order=#{ObjectSpace.each_object(Shop::Order).count} Thread=#{ObjectSpace.each_object(Thread).count}"
STDOUT.flush
sleep 1000
"""),
    "js": ("a.js", ["node"], """
class Order { constructor(n) { this.n = n; } }
const all = []; for (let i = 0; i < 1000; i++) all.push(new Order(i));
console.log("ready"); setInterval(() => all.length, 100000);
"""),
    "php": ("a.php", ["php"], """<?php namespace Shop; class Order { public $n; function __construct($n) { $this->n = $n; } }
$a = []; for ($i = 0; $i < 1000; $i++) $a[] = new Order($i);
for ($i = 0; $i < 1000; $i++) $garbage = new Order($i);
unset($garbage);
echo "Shop\\\\Order=1000\\n"; sleep(1000);
"""),
    "perl": ("a.pl", ["perl"], """
package Shop::Order; sub new { my ($c, $n) = @_; return bless { n => $n }, $c; } package main;
my @a = map { Shop::Order->new($_) } 1 .. 1000; Shop::Order->new($_) for 1 .. 500; $| = 1; print "Shop::Order=1000\\n"; sleep 1000;
"""),
    "lua": ("a.lua", ["lua5.4"], """
local Order = {__name = "Order"}; Order.__index = Order
local a = {}; for i = 1, 1000 do a[i] = setmetatable({n = i}, Order) end
for i = 1, 1000 do local garbage = setmetatable({n = i}, Order) end
collectgarbage()
print("Order=1000"); io.stdout:flush(); io.read()
"""),
    "java": ("A.java", ["java"], """
public class A {
	static class Order { int n; Order(int n) { this.n = n; } }
	static Order[] all = new Order[1000];
	public static void main(String[] a) throws Exception {
		for (int i = 0; i < 1000; i++) all[i] = new Order(i);
		System.out.println("A$Order=1000 A$Order[]=1");
		Thread.sleep(1000000);
	}
}
"""),
}
GROW = """
class Session; def initialize(n); @n = n; end; end
$keep = []
puts "ready"
STDOUT.flush
loop { 100.times { |i| $keep << Session.new(i) }; sleep 0.05 }
"""
HALF = """
import sys
class Half: __slots__ = ("n",)
class Gone: __slots__ = ("n",)
keep, gone = [Half() for i in range(2000)], [Gone() for i in range(100)]
print("full", flush=True); sys.stdin.readline()
del keep[1000:], gone
print("half", flush=True); sys.stdin.readline()
del keep[500:]
print("quarter", flush=True); sys.stdin.readline()
"""
FOO = r"""
#include <unistd.h>
struct Foo { virtual ~Foo() {} int y[10]; };
struct Bar : Foo { int z[10]; };
Foo *foos[350];
int main() { for (int i = 0; i < 350; i++) foos[i] = i < 50 ? new Bar : new Foo; for (int i = 0; i < 20; i++) delete new Foo; write(1, "Foo=300 Bar=50\n", 15); pause(); }
"""
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{shown}")


def run(*args, timeout=120):
    r = subprocess.run([MEMPROF, "alive", *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
    return r.returncode, r.stdout, r.stderr


def rows(*args):
    status, out, err = run("--json", "-n", "0", *args)
    check(status == 0, args, out + err)
    return [json.loads(line) for line in out.splitlines()], err


class Program:
    """A program that runs until the end of the block, from its first line on, which is kept."""

    def __init__(self, *command):
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        self.line = self.p.stdout.readline()
        time.sleep(0.2)  # it is in its sleep then, and makes nothing
        return self

    def __exit__(self, *_):
        self.p.kill()
        self.p.wait()


os.chdir(TMP)
for language, (file, command, source) in PROGRAMS.items():
    open(file, "w").write(source)
    if not shutil.which(command[0]):
        print(f"skip: there is no {command[0]}")
        continue
    with Program(*command, file) as p:
        if not p.line:
            print(f"skip: {command[0]} does not run this")
            continue
        found, err = rows("-p", str(p.p.pid))
        counts = {r["type"]: r["count"] for r in found if r["kind"] == language}
        if language == "js":  # the prototype is an object of the class, too
            check(counts.get("Order") in (1000, 1001), language, (counts, err))
            continue
        wanted = {n: int(k) for n, k in re.findall(r"(\S+)=(\d+)", p.line)}
        got = {n: counts.get(n, 0) for n in wanted}
        check(wanted and got == wanted, language, (wanted, got, err))
        blocks = [r for r in found if r["kind"] == "block"]
        check(len(blocks) == 1 and blocks[0]["type"] == "blocks of malloc" and blocks[0]["count"] > 0, f"{language}: blocks", blocks)
        if language == "python":
            sizes, _ = rows("-m", "-p", str(p.p.pid))
            sizes = [r for r in sizes if r["kind"] == "block"]
            check(len(sizes) > 10 and sum(r["count"] for r in sizes) == blocks[0]["count"], "-m", sizes)
            check(" bytes, have objects of python in them" in err, "blocks that are no blocks", err)
            subprocess.run([MDB, "-S", str(p.p.pid), "-w", "core", "-e", "::status"], stdin=subprocess.DEVNULL, capture_output=True)
            of_core, _ = rows("core")
            check([r["count"] for r in of_core if r["type"] == "Order"] == [1000] and of_core[0]["core"] == "core", "a core file", of_core[:3])
            status, out, err = run("-n", "1", "-p", str(p.p.pid))
            lines = out.splitlines()
            check(status == 0 and lines[0].split() == ["BYTES", "COUNT", "EXAMPLE", "KIND", "TYPE"] and re.match(r"\.\.\. \d+ more rows, ", lines[2])
                  and lines[3].endswith(" objects of python") and lines[4].endswith(" blocks of malloc"), "the table", out)

if shutil.which("ruby"):
    open("grow.rb", "w").write(GROW)
    with Program("ruby", "grow.rb") as p:
        grown = [r for r in rows("-i", "0.5", "-d", "1", "-p", str(p.p.pid))[0] if r["type"] == "Session"]
        check(len(grown) == 3 and "grown" not in grown[0] and all(r["grown_count"] == r["count"] - before["count"] > 0 and r["grown"] == r["bytes"] - before["bytes"]
                                                                  for before, r in zip(grown, grown[1:])), "-i", grown)
    open("grow.rb", "w").write(GROW.replace("loop {", "sleep 0.5; 5.times {"))
    with Program("ruby", "grow.rb") as p:
        status, out, err = run("-i", "0.3", "-p", str(p.p.pid))
        check(status == 0 and "the process has ended" in err, "-i until the end", out + err)
else:
    print("skip: there is no ruby")

# the next copy is made when SIGUSR1 comes, and the last one when SIGHUP does, long before the interval is over
open("half.py", "w").write(HALF)
with Program("/usr/bin/python3", "half.py") as p:
    m = subprocess.Popen([MEMPROF, "alive", "--json", "-n", "0", "-i", "1000", "-p", str(p.p.pid)], stdin=subprocess.DEVNULL, stdout=open("half", "w"), stderr=subprocess.PIPE, text=True)
    for _ in range(600):  # until it catches SIGUSR1 and SIGHUP
        if m.poll() is not None or int(re.search(r"SigCgt:\s*(\w+)", open(f"/proc/{m.pid}/status").read())[1], 16) & 0x201 == 0x201:
            break
        time.sleep(0.1)
    for word, sig in (("half", signal.SIGUSR1), ("quarter", signal.SIGHUP)):
        p.p.stdin.write("\n")
        p.p.stdin.flush()
        check(p.p.stdout.readline() == word + "\n", word)
        m.send_signal(sig)
        for _ in range(600):
            if m.poll() is not None or sig == signal.SIGUSR1 and re.search(r'"grown".*"type": "Gone"', open("half").read()):
                break
            time.sleep(0.1)
        check(m.poll() == (None if sig == signal.SIGUSR1 else 0), f"-i: {sig.name}", m.poll())
    m.kill()
    err = m.communicate()[1]
    found = [r for r in map(json.loads, open("half").read().splitlines()) if r["type"] in ("Half", "Gone") and "grown" in r]
    check(sorted((r["type"], r["count"], r["grown_count"], r["bytes"] > 0) for r in found) == [("Gone", 0, -100, False), ("Half", 500, -500, True), ("Half", 1000, -1000, True)],
          "halves, and is gone", (found, err))
    once = subprocess.Popen([MEMPROF, "holds", "-p", str(p.p.pid), "Half"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    for _ in range(600):
        status = open(f"/proc/{once.pid}/status").read()
        if "State:\tZ" in status or int(re.search(r"SigIgn:\s*(\w+)", status)[1], 16) & 0x200:
            break
        time.sleep(0.001)
    once.send_signal(signal.SIGUSR1)
    out = once.communicate()[0]
    check(once.returncode == 0 and " of Half" in out, "holds: SIGUSR1", (once.returncode, out))

open("foo.cc", "w").write(FOO)
if shutil.which("c++") and subprocess.run(["c++", "-O0", "-s", "-o", "foo", "foo.cc"]).returncode == 0:
    with Program("./foo") as p:
        found, err = rows("-p", str(p.p.pid))
        check([(r["type"], r["count"], r["bytes"]) for r in found if r["kind"] == "c++"] == [("Foo", 300, 19200), ("Bar", 50, 4800)] and err == "", "C++", (found, err))
if shutil.which("musl-gcc"):
    open("m.c", "w").write('#include <stdlib.h>\n#include <unistd.h>\nint main(void) { void *volatile p = malloc(10); write(1, "ready\\n", 6); pause(); return !p; }\n')
    subprocess.run(["musl-gcc", "-o", "m", "m.c"], check=True)
    with Program("./m") as p:
        status, out, err = run("-p", str(p.p.pid))
        check(status == 1 and out == "" and "blocks of malloc are not known: there is no heap of glibc's malloc" in err, "musl", out + err)

for args, status, text in ((("-p", "999999999"), 1, "there is no process 999999999"), (("-i", "1", "core"), 2, "a core file does not change"),
                           (("-d", "1", "-p", "1"), 2, "nothing to wait for without -i"), ((), 2, "which process?"), (("-s", "1", "-p", "1"), 2, "-s is no option of 'memprof alive'")):
    r = run(*args)
    check(r[0] == status and r[1] == "" and text in r[2], args, r)
sys.exit(1 if failed else 0)
