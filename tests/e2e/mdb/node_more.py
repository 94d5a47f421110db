# SPDX-License-Identifier: MIT
"""Functions with their sources, constructors, bytes of Buffers of a Node.js program, in mdb: compared with what the program says of them."""
import json, os, re, subprocess, sys

MDB, TMP = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
NODE = os.environ.get("NODE", "/usr/bin/node")
SOURCE = r"""
'use strict';
const net = require('net'), fs = require('fs');
const known = {};
class Account {
	constructor(owner, balance) {
		this.owner = owner;
		this.balance = balance;
		this.state = balance > 5 ? 'rich' : 'poor';
	}
	get total() { return this.balance; }
	withdraw(n) {
		this.balance -= n;
		return this;
	}
}
function Old(a) { this.a = a; }
const arrow = (a, b) => {
	return a + b;
};
const handlers = [];
for (let i = 0; i < 25; i++) handlers.push(function handler() { return i; });
const object = { method(x) { return x * 2; }, anonymous: function () { return 1; } };
const functions = { arrow, handler: handlers[0], Old, withdraw: Account.prototype.withdraw, method: object.method, anonymous: object.anonymous };
const accounts = globalThis.accounts = [];
for (let i = 0; i < 10; i++) accounts.push(new Account('owner-' + i, i));
class Derived extends Map {}
const old = new Old(1);
class Dicty { constructor(i) { for (let k = 0; k < 40; k++) this['k' + k] = i; delete this.k3; delete this.k0; } }
const dictionaries = globalThis.dictionaries = new Map(Array.from({ length: 50 }, (_, i) => [new Dicty(i), i]));
class Leaf { constructor(i) { this.i = i; } }
class Shared { constructor(i) { this.i = i; } }
const shared = Array.from({ length: 300 }, (_, i) => new Shared(i)), weak = new WeakRef(new Leaf(-1));
const holder = { owned: Array.from({ length: 2000 }, (_, i) => new Leaf(i)), shared, weak };
globalThis.other = { shared };
const made = { account: accounts[0], old, plain: {}, list: [], map: new Map(), derived: new Derived() };
const small = Buffer.from([1, 2, 254]), large = Buffer.alloc(5000, 'xyz'), bytes = new Uint8Array([104, 105, 0]);
const store = new ArrayBuffer(16);
new Uint8Array(store).set(Buffer.from('in the store\0'));
const buffers = { small, large, bytes, store };
async function inner(p) { await p; }
async function middle(p) {
	await inner(p);
}
async function outer(p) {
	await middle(p);
	return 5;
}
const never = new Promise(() => {});
const waits = { never, all: Promise.all([outer(never), inner(never)]), open: new Promise(() => {}) };
waits.race = Promise.any([middle(waits.open)]);
waits.open.then(function afterwards() {});
const done = [1, 2, 3].map((n) => Promise.resolve(n));
const bad = Promise.reject(new Error('lost')); bad.catch(() => {});
async function waiter() { await waits.all; }
waiter();
globalThis.root = { handlers, functions, made, buffers, waits, done, bad, holder };
known.functions = {};
for (const [name, f] of Object.entries(functions)) known.functions[name] = f.toString();
function last(o) {
	console.log(JSON.stringify(known));
	if (process.argv[2] === 'abort') process.abort();
	fs.readSync(0, Buffer.alloc(1));
	process.exit(0);
}
const server = net.createServer();
server.listen(0, '127.0.0.1', () => {
	const client = net.connect(server.address().port, '127.0.0.1', () => {
		known.port = server.address().port;
		setInterval(function beat() {}, 100000);
		setTimeout(async function onTimer() {
			await null;
			if (global.gc) gc();
			await asked();
		}, 20);
	});
});
async function asked() {
	await null;
	last(globalThis.root);
}
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
open("more.js", "w").write(SOURCE)
lines = SOURCE.split("\n")
program = subprocess.Popen([NODE, "--expose-gc", "more.js", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def look(commands, status=0):
    """The documents of the commands, and what was said on stderr."""
    r = subprocess.run([MDB, "-o", "json", "-p", str(program.pid)], input=commands, capture_output=True, text=True, timeout=120)
    check(r.returncode == status and (status or not r.stderr), commands, r.stdout + r.stderr)
    return [json.loads(line) for line in r.stdout.split("\n") if line], r.stderr


def line_of(text):
    return SOURCE[: SOURCE.index(text)].count("\n") + 1


try:
    known = json.loads(program.stdout.readline())
    stack = look("::jsstack -v\n")[0][0]["rows"]
    root = next(r["word"] for r in stack if r.get("variable") == "arg1" and r["value"].endswith("(JSObject)"))[2:]

    # functions: the program has their texts
    docs, said = look("".join(f"{root}::jsprint functions.{name} | ::jssource\n{root}::jsprint functions.{name} | ::jssource -n 1\n" for name in known["functions"]))
    for i, (name, text) in enumerate(known["functions"].items()):
        rows, around = docs[2 * i]["rows"], docs[2 * i + 1]["rows"]
        shown = "\n".join(r["text"] for r in rows)
        check(text in shown and rows[0]["line"] == line_of(text) and len(rows) == text.count("\n") + 1, f"the source of {name}", rows)
        check(all(r["text"] == lines[r["line"] - 1] for r in around) and [r["line"] for r in around] == list(range(rows[0]["line"] - 1, rows[-1]["line"] + 2)), f"lines around {name}", around)
    docs, said = look("::jsfunctions -s more.js\n::jsfunctions -n handler -s more.js\n::jsfunctions -n handler -s more.js -l\n::jsfunctions -n no_such_function\n")
    rows = {r["name"]: r for r in docs[0]["rows"]}
    for name in ("withdraw", "Old", "arrow", "method", "Account"):
        text = {"Account": "constructor(owner", "method": "method(x)"}.get(name, known["functions"].get(name, ""))
        place = line_of("class Account") + (1 if name == "Account" else 0) if name == "Account" else line_of(text)
        check(name in rows and rows[name]["functions"] == 1 and rows[name]["line"] in (place, place - 1) and rows[name]["file"].endswith("/more.js"), f"the function {name}", rows.get(name))
    check([(r["name"], r["functions"], r["line"]) for r in docs[1]["rows"]] == [("handler", 25, line_of("function handler"))], "functions of the same code", docs[1])
    check(len({r["function"] for r in docs[2]["rows"]}) == 25, "each of them", docs[2])
    check(not docs[3]["rows"], "a name that no function has", docs[3])

    # what made objects
    docs, said = look("".join(f"{root}::jsprint made.{name} | ::jsconstructor\n" for name in ("account", "old", "plain", "list", "map", "derived")))
    got = [(d["rows"][0]["name"], d["rows"][0].get("line")) for d in docs]
    check(got == [("Account", docs[0]["rows"][0]["line"]), ("Old", line_of("function Old")), ("Object", None), ("Array", None), ("Map", None), ("Derived", docs[5]["rows"][0].get("line"))], "constructors", got)
    check(docs[1]["rows"][0]["constructor"] == look(f"{root}::jsprint functions.Old\n")[0][0]["rows"][0]["member"], "the constructor is that function", docs[1])

    # objects whose properties are in a table, which are keys of a Map
    docs, said = look("::findjsobjects -c Dicty\n::findjsobjects -c Dicty | ::jsprint k7\n::findjsobjects -c Dicty | ::jsfindrefs\n")
    check({r["value"] for r in docs[1]["rows"]} >= {str(i) for i in range(50)}, "objects with tables of properties", docs[0])
    check(any(r.get("class", "").startswith("Map:") for d in docs[2:] for r in d["rows"]), "the Map that has them", docs[2:])

    # bytes
    docs, said = look(f"{root}::jsprint buffers\n" + "".join(f"{root}::jsprint buffers.{n} | ::nodebuffer\n" for n in ("small", "large", "bytes", "store")))
    shown = docs[0]["rows"][0]["value"]
    check("<Buffer 01 02 fe>" in shown and "<Buffer" + " 78 79 7a" * 33 + " 78 ... 4900 more bytes>" in shown, "Buffers", shown)
    check([d["rows"][0]["length"] for d in docs[1:]] == [3, 5000, 3, 16], "lengths", docs[1:])
    mem = open(f"/proc/{program.pid}/mem", "rb", 0)
    for doc, want in zip(docs[1:], (b"\x01\x02\xfe", b"xyz" * 1666 + b"xy", b"hi\0", b"in the store\0\0\0\0")):
        mem.seek(int(doc["rows"][0]["address"], 16))
        check(mem.read(len(want)) == want, "the bytes there", doc)
    text = subprocess.run([MDB, "-e", f"{root}::jsprint buffers.store | ::nodebuffer | /s", "-p", str(program.pid)], capture_output=True, text=True, timeout=120)
    check(text.stdout.endswith("in the store\n"), "a pipe to a format", text.stdout + text.stderr)

    # promises: who waits for them
    docs, said = look(f"{root}::jsprint waits.never | ::jspromises\n{root}::jsprint waits.open | ::jspromises\n{root}::jsprint waits.race | ::jspromises\n::jspromises\n::jspromises -s rejected | ::jsprint reason.message\n{root}::jsprint done\n")

    def place(name, text):
        return f"{name} at {TMP}/more.js line {line_of(text)}"

    inner, middle = place("async inner", "async function inner"), place("async middle", "await inner(p)")
    outer, waiter = place("async outer", "await middle(p)"), place("async waiter", "async function waiter")
    row = docs[0]["rows"][0]
    chains = sorted("\n".join(row["waiters"]).replace("\n  ", ";").split("\n"))
    check(row["state"] == "pending" and chains == sorted([f"- {inner};{middle};{outer};Promise.all (index 0)", f"- {inner};Promise.all (index 1);{waiter}"]) or chains == sorted([f"- {inner};{middle};{outer};Promise.all (index 0);{waiter}", f"- {inner};Promise.all (index 1)"]), "what waits for a promise", chains)
    row = docs[1]["rows"][0]
    chains = sorted("\n".join(row["waiters"]).replace("\n  ", ";").split("\n"))
    check(chains == sorted([f"- {inner};{middle};Promise.any (index 0)", "- " + place("then afterwards", "function afterwards")]), "Promise.any() and then()", chains)
    check(docs[2]["rows"][0]["waiters"] == [], "nothing waits for that", docs[2])
    states = {r["state"]: r["objects"] for r in docs[3]["rows"] if "waiters" not in r}
    check(states.get("pending", 0) >= 9 and states.get("fulfilled", 0) >= 3 and states.get("rejected", 0) >= 1, "how many in which state", states)
    shown = {r["object"] for r in docs[3]["rows"] if "waiters" in r}
    check({docs[0]["rows"][0]["object"], docs[1]["rows"][0]["object"]} <= shown, "both are listed", docs[3])
    check('"lost"' in [r["value"] for r in docs[4]["rows"]], "the reason of those that are rejected", docs[4])
    check(any(r.get("name") == "async onTimer" and r["file"].endswith(f"more.js, line {line_of('await asked()')}") for r in stack), "what waits for the outermost function", stack)

    # which objects
    docs, said = look("::findjsobjects -c Account -p state=rich\n::findjsobjects -c Account -p state=rich | ::jsprint owner\n::findjsobjects -c Account -p balance=3 -l | ::jsprint owner\n"
                      "::findjsobjects -k JSMap -c Derived\n::findjsobjects -k JSSet -c Derived\n::findjsobjects -c Account -s 16\n::findjsobjects -c Account -s 4096\n::findjsobjects -c Account -p state=none\n")
    # the collector may have left a copy
    check(sum(r["objects"] for r in docs[0]["rows"]) in (4, 5, 6, 7, 8), "objects with a value", docs[0])
    check(sorted({r["value"] for r in docs[1]["rows"]}) == [f'"owner-{i}"' for i in (6, 7, 8, 9)], "these are handed on", docs[1])
    check({r["value"] for r in docs[2]["rows"]} == {'"owner-3"'}, "a number", docs[2])
    check(len(docs[3]["rows"]) == 1 and not docs[4]["rows"], "of a kind", docs[3:5])
    check(sum(r["objects"] for r in docs[5]["rows"]) >= 10 and not docs[6]["rows"] and not docs[7]["rows"], "of a size", docs[5:8])

    # who holds the object of the frame
    docs, said = look(f"{root}::jsfindrefs\n")
    roots = [r for r in docs[0]["rows"] if "root" in r]
    check(any(r["root"].startswith(f"the stack of thread {program.pid}, frame ") for r in roots), "a reference of the stack", docs[0])
    for r in roots:
        if r["at"] != "0x0":
            mem = open(f"/proc/{program.pid}/mem", "rb", 0)
            mem.seek(int(r["at"], 16))
            check(int.from_bytes(mem.read(8), "little") == int(root, 16), "the word is there", r)
    maps = [line.split() for line in open(f"/proc/{program.pid}/maps")]
    stack_map = next(line[0].split("-") for line in maps if line[-1] == "[stack]")
    on_stack = [r for r in roots if "stack of thread" in r["root"]]
    check(all(int(stack_map[0], 16) <= int(r["at"], 16) < int(stack_map[1], 16) for r in on_stack), "that is the stack", on_stack)

    # what it holds
    docs, said = look(f"{root}::jsprint holder | ::lretained\n{root}::jsprint holder.owned | ::jsretained\n{root}::jsprint holder.shared | ::jsretained\n::findjsobjects -c Leaf -l\n::jsretained -n 30\n")
    holder, owned, shared = (d["rows"][0] for d in docs[:3])
    size = 8 * 2000
    # the collector has worklists, and stacks have words that are no longer used, which hold single objects
    check(1900 <= owned["objects"] <= 2003 and owned["retained"] >= 1900 * 32 + size, "an array holds its elements", owned)
    check(owned["objects"] < holder["objects"] < owned["objects"] + 100 and holder["retained"] > owned["retained"], "an object holds the array, not what others hold, too", holder)
    check(250 <= shared["objects"] <= 303, "what both hold", shared)
    check(len(docs[3]["rows"]) >= 2000 and docs[4]["rows"][0]["retained"] >= docs[4]["rows"][-1]["retained"], "those that hold most", docs[4])

    # handles of the event loop
    docs, said = look("::nodehandles\n::nodehandles | ::jsconstructor\n")
    rows = [r for r in docs[0]["rows"] if r["type"] == "tcp"]
    sockets = {int(n) for n in os.listdir(f"/proc/{program.pid}/fd") if os.readlink(f"/proc/{program.pid}/fd/{n}").startswith("socket:")}
    # of two ends of a connection, the one that was accepted may not be there yet
    check(len(rows) in (2, 3) and {r["fd"] for r in rows} <= sockets and all(r["value"].startswith("TCP ") and r["state"] == "active" for r in rows), "sockets", (docs[0], sockets))
    check(any(r["type"] == "timer" for r in docs[0]["rows"]), "timers", docs[0])
    check("TCP" in [r["name"] for d in docs[1:] for r in d["rows"]], "the object of a handle", docs[1:])

    # what is none
    docs, said = look(f"{root}::jssource\n{root}::nodebuffer\n700000000::jsconstructor\n{root}::jsprint made.map | ::jsconstructor | ::jssource\n", 1)
    for text in ("is no function", "has no bytes", "has no constructor", "no source of the function Map"):
        check(text in said, text, said)
    program.stdin.write("x")
    program.stdin.close()
    check(program.wait(60) == 0, "it goes on to its end")
finally:
    if program.poll() is None:
        program.kill()
    program.wait()
sys.exit(1 if failed else 0)
