# SPDX-License-Identifier: MIT
"""Programs whose objects are held by known variables: memprof holds."""
import json, os, re, shutil, subprocess, sys, time

MEMPROF, MDB, TMP = os.environ["BUILD"] + "/src/cmd/memprof/memprof", os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
SHOP = r"""
#include <map>
#include <string>
#include <unistd.h>
#include <vector>
struct Item { virtual ~Item() {} std::string name; };
struct Cart { virtual ~Cart() {} std::vector<Item *> items; };
struct Node { virtual ~Node() {} Node *next = nullptr; };
std::map<int, Cart *> carts;
Item *favourite;
Node *list;
__attribute__((noinline)) void hold(Item *mine) { write(1, "ready\n", 6); pause(); asm volatile("" : : "r"(mine)); }
__attribute__((noinline)) void fill()
{
	for (int i = 0; i < 10; i++) {
		Cart *c = new Cart;
		for (int k = 0; k < 3; k++)
			c->items.push_back(new Item);
		carts[i] = c;
	}
	for (int i = 0; i < 40; i++) {
		Node *n = new Node;
		n->next = list;
		list = n;
	}
	favourite = new Item;
	for (int i = 0; i < 5; i++)
		new Item;
}
__attribute__((noinline)) void scrub() { volatile char r[20000]; for (auto &c : r) c = 0; }
int main() { Item *volatile local = new Item; fill(); scrub(); hold(local); }
"""
CHAT = """
import threading, time
class Session:
    def __init__(self, bus): bus.handlers.append(self.on_message)
    def on_message(self, text): pass
class Bus:
    def __init__(self): self.handlers = []
class Row:
    def __init__(self, n): self.n = n
class Cafe: pass
class Config:
    owner = Cafe()
def work():
    bus = Bus()
    for i in range(300): Session(bus)
    print("ready", flush=True)
    time.sleep(1000)
rows = [Row(i) for i in range(70000)]
work()
"""
JOBS = """<?php class Job { public $n; } class Pool { public $jobs = []; public static $all = []; }
function work($pool) { for ($i = 0; $i < 20; $i++) $pool->jobs["k$i"] = new Job; for ($i = 0; $i < 30; $i++) Pool::$all[] = ['x' => new Job]; echo "ready\\n"; sleep(1000); }
$q = [[new Job]]; work(new Pool);
"""
POOL = """
class Registry; ALL = []; end
class Job; def initialize(n); @n = n; end; end
class Pool; def initialize; @jobs = {}; end; def put(k, j); @jobs[k] = j; end; end
def fill(pool) = 200.times { |i| pool.put(i, Job.new(i)) }
pool = Pool.new
fill(pool)
100.times { |i| Registry::ALL << Job.new(i) }
puts "ready"
STDOUT.flush
sleep 1000
"""
NODE = """
class Order { constructor(n) { this.n = n; } }
class Shop { constructor() { this.orders = []; } }
globalThis.shop = new Shop();
for (let i = 0; i < 1000; i++) shop.orders.push(new Order(i));
console.log("ready"); setInterval(() => 0, 100000);
"""
failed = []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{shown}")


def run(*args):
    r = subprocess.run([MEMPROF, "holds", *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
    return r.returncode, r.stdout, r.stderr


def chains(*args):
    status, out, err = run("--json", "-n", "0", *args)
    check(status == 0 and err == "", args, out + err)
    return [json.loads(line) for line in out.splitlines()]


class Program:
    """A program that runs until the end of the block, from its first line on."""

    def __init__(self, *command):
        self.p = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        if self.p.stdout.readline() != "ready\n":
            print("skip: it does not run:", self.p.args)
            return None
        time.sleep(0.2)  # it is in its sleep then
        return str(self.p.pid)

    def __exit__(self, *_):
        self.p.kill()
        self.p.wait()


def language(name, command, file, source):
    if not shutil.which(command):
        print(f"skip: there is no {command}")
        return Program("true")
    open(file, "w").write(source)
    return Program(command, file)


os.chdir(TMP)
open("shop.cc", "w").write(SHOP)
for name, flags in (("shop", ()), ("shop-stripped", ("-s",))):
    if not shutil.which("c++") or subprocess.run(["c++", "-O0", "-w", *flags, "-o", name, "shop.cc"]).returncode != 0:
        print("skip: there is no C++ compiler")
        break
    with Program("./" + name) as pid:
        got = chains("-p", pid, "Item")
        check(sorted(c["count"] for c in got) == [1, 1, 30] and {c["type"] for c in got} == {"Item"} and {c["kind"] for c in got} == {"c++"}, name, got)
        check(got[0]["steps"][1:] == ["+0x8 of Cart", "+0x0 of 40 bytes"] and re.fullmatch(r"\+0x\w+ of 56 bytes, one behind another", got[0]["steps"][0]), f"{name}: steps", got[0])
        check(any(c["root"].startswith(f"the stack of thread {pid}") for c in got), f"{name}: a local variable", got)
        data = "shop`carts+0x" if name == "shop" else "shop-stripped`+0x"
        check(got[0]["root"].startswith(data), f"{name}: a global variable", got[0])
        nodes = chains("-p", pid, "Node")
        check(len(nodes) == 1 and (nodes[0]["count"], nodes[0]["steps"]) == (40, ["one of them by another"]), f"{name}: a list", nodes)
        one = chains("-p", pid, got[0]["example"])
        check(len(one) == 1 and (one[0]["count"], one[0]["root"], one[0]["steps"]) == (1, got[0]["root"], [got[0]["steps"][0].split(",")[0]] + got[0]["steps"][1:]), f"{name}: an address", one)
        status, out, err = run("-n", "1", "-p", pid, "Item")
        lines = out.splitlines()
        check(status == 0 and lines[0].split() == ["COUNT", "EXAMPLE", "HELD", "BY"] and lines[1].startswith("        30 ") and lines[3] == " " * 29 + "+0x8 of Cart"
              and lines[5] == "... 2 more chains, to 2 objects" and lines[6] == "        37  of Item, 5 of which nothing holds that is known", "the table", out)
        for what, text in (("Nothing", "there is no object of the type 'Nothing'"), ("0x10", "there is no object and no block in use at 0x10")):
            r = run("-p", pid, what)
            check(r[0] == 1 and r[1] == "" and text in r[2], what, r)

with language("python", "python3", "chat.py", CHAT) as pid:
    if pid:
        steps = ["handlers of Bus", "[N] of list", "__self__ of method"]
        plain = lambda c: [re.sub(r"^\[\d+\]", "[N]", s) for s in c["steps"]]  # that of the object at the lowest address, which need not be the first
        got = chains("-p", pid, "Session")
        check(len(got) == 1 and got[0]["count"] == 300 and plain(got[0]) == steps and re.match(rf"bus in frame \d+ of thread {pid}: .*chat.py:\d+ \(work\)", got[0]["root"]), "Python", got)
        got = chains("-p", pid, "Row")  # more than a helper shows of a list
        check(len(got) == 1 and got[0]["count"] == 70000 and got[0]["steps"][-1].endswith(" of list"), "Python: a long list", got)
        got = chains("-p", pid, "Cafe")  # a type, although it could be an address
        check(len(got) == 1 and (got[0]["type"], got[0]["count"]) == ("Cafe", 1) and any("owner" in s for s in got[0]["steps"]), "Python: an attribute of a class", got)
        subprocess.run([MDB, "-S", pid, "-w", "core", "-e", "::status"], stdin=subprocess.DEVNULL, capture_output=True)
        check([(c["count"], plain(c), c["core"]) for c in chains("core", "Session")] == [(300, steps, "core")], "a core file")

with language("PHP", "php", "jobs.php", JOBS) as pid:
    got = pid and chains("-p", pid, "Job")
    check(not pid or [(c["count"], c["root"].split(" in frame")[0], c["steps"]) for c in got] ==
          [(30, "static properties of Pool", ["all[0][x]"]), (20, "pool", ["jobs[k0] of Pool"]), (1, "$GLOBALS", ["q[0][0]"])], "PHP", got)
with language("Ruby", "ruby", "pool.rb", POOL) as pid:
    got = pid and chains("-p", pid, "Job")
    # words that are left over in memory of others may lead to some
    check(not pid or (got[0]["count"] == 200 and got[0]["root"].startswith("pool in frame ") and got[0]["steps"][0] == "@jobs of Pool" and re.fullmatch(r"\d+ of Hash", got[0]["steps"][1])
                      and 90 <= got[1]["count"] <= 100 and got[1]["steps"][-1].endswith(" of Array") and sum(c["count"] for c in got) == 300), "Ruby", got)
with language("Node.js", "node", "shop.js", NODE) as pid:
    got = pid and chains("-p", pid, "Order")
    check(not pid or (got[0]["count"] >= 1000 and got[0]["steps"][-2:] in (["orders of Shop", s] for s in got[0]["steps"][-1:]) and got[0]["steps"][-1].endswith(" of Array")), "Node.js", got)

for args, status, text in ((("-p", "999999999", "x"), 1, "there is no process 999999999"), (("-p", "1"), 2, "who holds what?"), ((), 2, "which process?"),
                           (("missing", "x"), 1, "cannot open the core file 'missing'"), (("-p", "1", "a", "b"), 2, "one word too many: 'b'")):
    r = run(*args)
    check(r[0] == status and r[1] == "" and text in r[2], args, r)
sys.exit(1 if failed else 0)
