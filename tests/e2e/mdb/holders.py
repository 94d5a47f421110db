# SPDX-License-Identifier: MIT
"""
Programs of Python, Ruby and Node.js, which live, write down the addresses of objects and the ids of threads. mdb has to find the chain of
objects that the program has made, from the variable or module that holds it, and the threads with their names and objects.
"""
import json, os, re, shutil, subprocess, sys

MDB, TMP = os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
PYTHON = r'''
import threading, json, sys

class Task: pass
class Pool: pass
class Lost: pass
pool = Pool()
pool.queue = [Task(), {"key": Task()}]
text = "x" * 300000
big = [[text[:900]] * 50 for i in range(50)]

def keeps():
    kept = Task()
    kept.inner = [Task()]
    facts["kept"], facts["inner"] = id(kept), id(kept.inner[0])
    facts["threads"][threading.get_native_id()] = threading.current_thread().name
    ready.release()
    end.wait()

facts = {"threads": {threading.get_native_id(): "MainThread"}, "entry": id(pool.queue[1]["key"]), "pool": id(pool), "big": id(big), "module": id(sys.modules["__main__"])}
ready, end = threading.Semaphore(0), threading.Event()
threads = [threading.Thread(target=keeps, name=name) for name in ("sweeper", "gr\xf6\xdfe")]
for t in threads:
    t.start()
    ready.acquire()
a, b = Lost(), Lost()
a.other, b.other = b, a
facts["lost"] = id(a)
del a, b, t
def main():
    sys.stdin.readline()
print(json.dumps(facts), flush=True)
main()
end.set()
'''
RUBY = r'''
require "json"
class Task; end
class Pool; attr_accessor :queue; end
KEPT = Pool.new
KEPT.queue = [Task.new]
def address(o) = /0x(\h+)/.match(Kernel.instance_method(:to_s).bind_call(o))[1].to_i(16)
def keeps(ready, go)
  local = Pool.new
  local.queue = [Task.new]
  ready << [Thread.current, local.queue[0]]
  go.pop
end
ready, go = Queue.new, Queue.new
thread = Thread.new { keeps(ready, go) }
thread, inner = ready.pop
$stdout.sync = true
require "objspace"
at = ->(o) { JSON.parse(ObjectSpace.dump(o))["address"].to_i(16) }
puts JSON.dump({"kept" => at[KEPT.queue[0]], "inner" => at[inner], "threads" => [at[Thread.current], at[thread]]})
inner = nil
STDIN.gets
go << 1
'''
NODE = r'''
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const fs = require('fs');
class Thing { constructor(i) { this.i = i; } }
const tid = () => Number(fs.readlinkSync('/proc/thread-self').split('/')[2]);
const make = n => { globalThis.things = []; for (let i = 0; i < n; i++) globalThis.things.push(new Thing(i)); };
if (isMainThread) {
  const facts = {}, counts = [300, 500];
  make(40);
  facts[tid()] = 40;
  for (const n of counts) {
    new Worker(__filename, { workerData: n }).on('message', m => {
      facts[m] = n;
      if (Object.keys(facts).length == 3) console.log(JSON.stringify(facts));
    });
  }
  process.stdin.on('data', () => process.exit(0));
} else {
  make(workerData);
  parentPort.on('message', () => 0);
  parentPort.postMessage(tid());
}
'''
failed = []
language = None


def check(good, what, *values):
    if good:
        return
    failed.append(what)
    print(f"{language}: not so: {what}", *values, sep="\n    ")


def run(target, commands, *options, status=0):
    r = subprocess.run([MDB, *options, "-e", commands, "-p", str(target)], capture_output=True, timeout=240)
    out, err = (s.decode("utf-8", "replace") for s in (r.stdout, r.stderr))
    check(r.returncode == status, f"status {r.returncode} of {commands}", err[-2000:], out[-2000:])
    return out + err


def program(argv, text, suffix, checks):
    """A program that writes a line of JSON when it is ready."""
    path = f"{TMP}/program.{suffix}"
    open(path, "w").write(text)
    p = subprocess.Popen([*argv, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        line = p.stdout.readline()
        check(line.startswith(b"{"), "the program begins", line)
        if line.startswith(b"{"):
            checks(p.pid, json.loads(line))
            p.communicate(b"\n", timeout=60)
            check(p.returncode == 0, "it goes on to its end", p.returncode)
    finally:
        if p.poll() is None:
            p.kill()
        p.wait()


def parts(text):
    """The answers to several commands, between which "0t<number>=D" has written the number."""
    return re.split(r"^ +\d{9}\n", text, flags=re.M)


def holders(text):
    """The names and classes in a chain, and its root."""
    rows = re.findall(r"^ +([0-9a-f]+|root) (.*)$", text, re.M)
    return [re.sub(r":.*", "", what) for _, what in rows[:-1]], rows[-1][1] if rows else ""


def python_check(pid, facts):
    mark = "; 0t123456789=D; "
    asked = [f"{facts[k]:x}::pyrefs -r" for k in ("entry", "inner", "pool")] + [f"{facts['kept']:x}::pyrefs", "::pythreads", f"{facts['big']:x}::pyprint -m 3000", f"{facts['big']:x}::pyprint -m 3000000"]
    out = parts(run(pid, mark.join(asked)))
    check(len(out) == len(asked), "an answer to each", out)
    entry, inner, pool, kept, threads, cut, whole = out
    chain, root = holders(entry)
    check(re.fullmatch(r"pool in frame \d+ of thread \d+: .*<module>.*|the program has it by its name|.*__main__.*", root) or "module" in " ".join(chain), "the root of what a module has", entry)
    check(any(c.startswith("['key'] of dict") or c == "key of dict" for c in chain) and any("queue of Pool" in c for c in chain), "the chain of what a module has", entry)
    chain, root = holders(inner)
    check(any("inner of Task" in c for c in chain), "the chain of what a variable has", inner)
    check(re.fullmatch(r"kept in frame \d+ of thread (\d+): .*keeps.*", root) and re.search(r"thread (\d+)", root)[1] in facts["threads"], "a variable that holds an object", inner)
    check("root" in pool, "the root of an object of a module", pool)
    check(re.search(r"^ +root kept in frame \d+ of thread \d+: .*keeps", kept, re.M), "a variable among the references", kept)
    rows = dict(re.findall(r"^[* ] +(\d+) py +[0-9a-f]+ (\S+) ", threads, re.M))
    check(rows == facts["threads"], "the threads and their names", threads, facts)
    check(threads.count("threading.py") >= 2, "their innermost frames", threads)
    check(2900 < len(cut) < 6000 and "<cut: more than 3000 characters>" in cut and len(whole) > 50 * 200 and "<cut" not in whole, "a value that is cut", len(cut), cut[-300:], len(whole))
    lost = run(pid, f"{facts['lost']:x}::pyrefs -r", status=1)
    check("no root that is known leads to" in lost, "what nothing holds", lost)
    docs = [json.loads(line) for line in run(pid, "::pythreads; ", "-o", "json").splitlines()]
    check({str(r["tid"]): r["name"] for r in docs[0]["rows"]} == facts["threads"], "threads as JSON", docs)


def ruby_check(pid, facts):
    mark = "; 0t123456789=D; "
    asked = [f"{facts['inner']:x}::rbrefs -r", f"{facts['kept']:x}::rbrefs -r", "::rbthreads"]
    out = parts(run(pid, mark.join(asked)))
    check(len(out) == len(asked), "an answer to each", out)
    inner, kept, threads = out
    chain, root = holders(inner)
    check("local in frame" in root and any("queue of Pool" in c for c in chain), "the chain of what a variable has", inner)
    chain, root = holders(kept)
    check(any("queue of Pool" in c for c in chain) and root, "the chain of what a constant has", kept)
    rows = sorted(int(word, 16) for word in re.findall(r"^[* ] +\d+ rb +([0-9a-f]+) ", threads, re.M))
    check(rows == sorted(facts["threads"]), "the threads", threads, [f"{t:x}" for t in facts["threads"]])


def node_check(pid, facts):
    mark = "; 0t123456789=D; "
    asked = ["::jsworkers -c"] + [f"::findjsobjects -t {tid} -c Thing" for tid in facts] + ["::findjsobjects -c Thing"]
    out = parts(run(pid, mark.join(asked)))
    check(len(out) == len(asked), "an answer to each", out)
    rows = re.findall(r"^[* ] +(\d+) js +([0-9a-f]+) \S+ +\S.*? +(\d+) +(\d+) ", out[0], re.M)
    check(sorted(r[0] for r in rows) == sorted(facts) and len({r[1] for r in rows}) == 3 and all(int(r[2]) > 100 for r in rows), "the threads that have isolates", out[0], facts)
    for tid, text in zip(facts, out[1:]):
        n = re.search(r" (\d+) +\d+ Thing: i$", text, re.M)
        check(n and int(n[1]) == facts[tid], f"the objects of thread {tid}, which has {facts[tid]}", text)
    n = re.search(r" (\d+) +\d+ Thing: i$", out[-1], re.M)
    check(n and int(n[1]) == sum(facts.values()), "the objects of all of them", out[-1])
    check("there is no thread" in run(pid, "::findjsobjects -t 1", status=1), "a thread that is not there")


done = 0
for language, argv, text, suffix, checks in (("python", ["/usr/bin/python3"], PYTHON, "py", python_check), ("ruby", ["/usr/bin/ruby"], RUBY, "rb", ruby_check), ("node", [os.environ.get("NODE") or shutil.which("node") or "/usr/bin/node"], NODE, "js", node_check)):
    if os.access(argv[0], os.X_OK):
        program(argv, text, suffix, checks)
        done += 1
if not done:
    print("neither Python nor Ruby nor Node.js is installed")
    sys.exit(67)
sys.exit(1 if failed else 0)
