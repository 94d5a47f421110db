# SPDX-License-Identifier: MIT
"""
Programs make fibers, coroutines, generators and virtual threads, and write down the stack that their language tells of each of them. The same
must be shown of the process while it lives, and of its core file. An argument: the languages that are tried.
"""
import json, os, re, shutil, subprocess, sys

sys.path.insert(0, os.environ["SRC"] + "/tests/e2e")
sys.dont_write_bytecode = True
from core_files import kernel_cores, pattern_read, unlimited

DTRACE, MDB, TMP = os.environ["BUILD"] + "/src/cmd/dtrace/dtrace", os.environ["BUILD"] + "/src/cmd/mdb/mdb", os.environ["TMP"]
RUBY = r'''
require "json"
require "objspace"
def at(o) ObjectSpace.dump(o)[/"address":"(\w+)"/, 1] end
class Own < Fiber; end
class Worker
  def wait(n) n > 0 ? wait(n - 1) : Fiber.yield(n) end
  def self.start(n) new.wait(n) end
end
def outer(f)
  [1].each { f.resume }
end
fibers = (0...3).map { |i| Fiber.new { Worker.start(i) } }
fibers << Own.new { [3, 4].map { |x| Fiber.yield x } }
fibers.each(&:resume)
enum = Enumerator.new { |y| 10.times { |i| y << i } }
enum.next
plain = [1, 2].each
plain.next
begun = Fiber.new { 1 }
ended = Fiber.new { 1 }
ended.resume
inner = Fiber.new do
  all = ObjectSpace.each_object(Fiber).select { |f| f.alive? && f != Fiber.current && f != begun }
  puts JSON.dump(all.map { |f| { "address" => at(f), "frames" => f.backtrace.map { |l| l.sub(/:in [`'](.*)'$/) { " (#{$1})" } } } })
  $stdout.flush
  $stdin.gets
end
middle = Fiber.new { outer(inner) }
middle.resume
'''
PHP = r'''<?php
class Worker {
    function wait(int $n) { return $n > 0 ? $this->wait($n - 1) : Fiber::suspend($n); }
    static function start(int $n) { return (new Worker)->wait($n); }
}
function numbers() { foreach ([1, 2] as $n) { $last = yield $n; } }
function all_of() { foreach (numbers() as $n) Fiber::suspend($n); }
$fibers = [];
for ($i = 0; $i < 3; $i++) { $fibers[] = new Fiber(function () use ($i) { Worker::start($i); }); }
$fibers[] = new Fiber(fn() => array_map(fn($x) => Fiber::suspend($x), [1, 2]));
$fibers[] = new Fiber('all_of');
foreach ($fibers as $f) $f->start();
$begun = new Fiber(fn() => 1);
$ended = new Fiber(fn() => 1);
$ended->start();
$generators = [numbers(), numbers()];
$generators[0]->current();
$inner = new Fiber(function () use ($fibers, $generators) {
    $known = [];
    foreach ($fibers as $f) {
        $frames = [];
        $place = ['file' => null];
        foreach ((new ReflectionFiber($f))->getTrace() as $e) {
            $name = ($e['class'] ?? '') . ($e['type'] ?? '') . $e['function'];
            $frames[] = ($place['file'] ?? null ? "$place[file]:$place[line]" : '[internal function]') . " ($name)";
            $place = $e;
        }
        $known[] = ['frames' => $frames];
    }
    foreach ($generators as $g) {
        $r = new ReflectionGenerator($g);
        $known[] = ['frames' => [$r->getExecutingFile() . ':' . $r->getExecutingLine() . ' (' . $r->getFunction()->name . ')']];
    }
    echo json_encode($known), "\n";
    fgets(STDIN);
});
$middle = new Fiber(fn() => $inner->start());
$middle->start();
'''
LUA = r'''
local function leaf(n) coroutine.yield(n) end
local obj = {}
function obj:wait(n) if n > 0 then self:wait(n - 1) else leaf(n) end; return 1 end
local all = {}
for i = 0, 2 do all[#all + 1] = coroutine.create(function(a) obj:wait(a); return 1 end) end
for i, c in ipairs(all) do coroutine.resume(c, i - 1) end
all[#all + 1] = coroutine.create(function() for k in pairs({1}) do coroutine.yield(k) end end)
coroutine.resume(all[#all])
local begun = coroutine.create(function() end)
local ended = coroutine.create(function() end)
coroutine.resume(ended)
local inner = coroutine.create(function()
  local known = {}
  for _, c in ipairs(all) do
    local frames = {}
    local level = 0
    while true do
      local i = debug.getinfo(c, level, "Sln")
      if not i then break end
      local place = i.what == "C" and "[C]" or i.short_src .. ":" .. i.currentline
      frames[#frames + 1] = string.format("%q", place .. " (" .. (i.name or "function <" .. i.short_src .. ":" .. i.linedefined .. ">") .. ")")
      level = level + 1
    end
    known[#known + 1] = '{"address": "' .. tostring(c):gsub("thread: ", "") .. '", "frames": [' .. table.concat(frames, ",") .. "]}"
  end
  print("[" .. table.concat(known, ",") .. "]")
  io.stdout:flush()
  io.read()
end)
coroutine.resume(inner)
'''
PYTHON = r'''
import asyncio, json, os, sys

def place(f): return "%s (%s:%d)" % (f.f_code.co_name, os.path.basename(f.f_code.co_filename), f.f_lineno)
def numbers(n):
    for i in range(n): yield i
def outer(): yield from numbers(3)
async def leaf(event, number): await event.wait()
async def worker(event, number): await leaf(event, number)
async def stream(event):
    yield 1
    await event.wait()

def chain(c):
    found = []
    while c is not None:
        frame = getattr(c, "cr_frame", None) or getattr(c, "gi_frame", None) or getattr(c, "ag_frame", None)
        if not frame: break
        found.append(place(frame))
        c = getattr(c, "cr_await", None) or getattr(c, "gi_yieldfrom", None) or getattr(c, "ag_await", None)
    return found[::-1]

async def main():
    event = asyncio.Event()
    tasks = [asyncio.create_task(worker(event, i), name="worker-%d" % i) for i in range(3)]
    await asyncio.sleep(0.01)
    kept = [numbers(2), outer(), stream(event)]
    next(kept[0]), next(kept[1]), await kept[2].__anext__()
    begun, coroutine = numbers(1), worker(event, 9)
    every = [(t, chain(t.get_coro())) for t in tasks] + [(k, chain(k)) for k in kept + [begun, coroutine]]
    print(json.dumps([{"address": hex(id(o)), "frames": frames} for o, frames in every]), flush=True)
    sys.stdin.readline()
    coroutine.close()
    for t in tasks: t.cancel()
asyncio.run(main())
'''
ERLANG = r'''
-module(parked).
-export([main/0, deep/2]).
deep(0, Wait) -> receive Wait -> ok end;
deep(N, Wait) -> R = deep(N - 1, Wait), {R, N}.
main() ->
    All = [spawn(?MODULE, deep, [N, go]) || N <- [0, 1, 5]],
    timer:sleep(100),
    Known = [begin {_, S} = process_info(P, current_stacktrace),
        {P, [io_lib:format("~s:~s/~p (~s:~p)", [M, F, A, proplists:get_value(file, L, ""), proplists:get_value(line, L, 0)]) || {M, F, A, L} <- S]} end || P <- All],
    io:format("[~s]~n", [lists:join(",", [io_lib:format("{\"id\": \"~p\", \"frames\": [~s]}", [P, lists:join(",", [["\"", F, "\""] || F <- S])]) || {P, S} <- Known])]),
    io:get_line(""), ok.
'''
JAVA = r'''
import java.util.*;
import java.util.concurrent.*;
public class P {
	static final Object lock = new Object();
	static final CountDownLatch begun = new CountDownLatch(7), never = new CountDownLatch(1);
	static int depth(int n, Runnable r) { if (n > 0) return depth(n - 1, r) + 1; r.run(); return 0; }
	static void await() { try { begun.countDown(); never.await(); } catch (InterruptedException e) { throw new RuntimeException(e); } }
	static void sleep() { try { begun.countDown(); Thread.sleep(1000000); } catch (InterruptedException e) { throw new RuntimeException(e); } }
	static void waits() { try { begun.countDown(); synchronized (lock) { lock.wait(); } } catch (InterruptedException e) { throw new RuntimeException(e); } }
	static String quoted(Object text) { return "\"" + text + "\""; }
	public static void main(String[] args) throws Exception {
		List<Thread> all = new ArrayList<>();
		for (int i = 0; i < 3; i++) { int n = i; all.add(Thread.ofVirtual().name("worker-" + i).start(() -> depth(n, P::await))); }
		all.add(Thread.ofVirtual().name("deep").start(() -> depth(300, P::await)));
		all.add(Thread.ofVirtual().name("sleeps").start(P::sleep));
		all.add(Thread.ofVirtual().name("waits").start(P::waits));
		all.add(Thread.startVirtualThread(() -> Arrays.asList(1, 2).forEach(x -> depth(2, P::await))));
		Thread.ofVirtual().unstarted(() -> {});
		Thread.startVirtualThread(() -> {}).join();
		begun.await();
		for (Thread t : all) while (t.getState() == Thread.State.RUNNABLE) Thread.sleep(10);
		List<String> known = new ArrayList<>();
		for (Thread t : all) {
			List<String> frames = new ArrayList<>();
			for (StackTraceElement e : t.getStackTrace())
				frames.add(quoted(e.getClassName().replace('.', '/') + "." + e.getMethodName() + "(" + (e.isNativeMethod() ? "Native Method" : e.getFileName() + ":" + e.getLineNumber()) + ")"));
			known.add("{\"id\": " + quoted(t.threadId()) + ", \"name\": " + quoted(t.getName()) + ", \"state\": " + quoted(t.getState().toString().toLowerCase())
				+ ", \"frames\": [" + String.join(",", frames) + "]}");
		}
		System.out.println("[" + String.join(",", known) + "]");
		System.in.read();
	}
}
'''
JDK = "/usr/lib/jvm/temurin-25-jdk-amd64/bin/"
LANGUAGES = {  # file, its text, what compiles it, the command
    "ruby": ("p.rb", RUBY, None, ["ruby", "p.rb"]),
    "php": ("p.php", PHP, None, ["php", "p.php"]),
    "lua": ("p.lua", LUA, None, ["lua5.4", "p.lua"]),
    "luajit": ("p.lua", LUA, None, ["luajit", "p.lua"]),
    "python": ("p.py", PYTHON, None, ["/usr/bin/python3.11", "p.py"]),
    "erlang": ("parked.erl", ERLANG, ["erlc", "parked.erl"], ["erl", "-noshell", "-s", "parked", "main", "-s", "init", "stop"]),
    "java": ("P.java", JAVA, [JDK + "javac", "P.java"], [JDK + "java", "-Xmx48m", "-XX:+UseSerialGC", "-cp", ".", "P"]),
}
failed = []
language = ""


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{language}: {what}:\n{shown}")


def pstack(target, *options):
    r = subprocess.run([DTRACE, f"--pstack={target}", "-x", "pstacktasks=1000", *options], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    check(r.returncode == 0, f"status of --pstack: {r.returncode}", r.stdout + r.stderr)
    return r.stdout


def plain(frames):
    """Frames as the language writes them: without the mark of compiled code, hidden ones of the virtual machine, and functions called in C."""
    if language == "java":
        hidden = ("jdk/internal/vm/Continuation.", "java/lang/VirtualThread.yieldContinuation(", "java/lang/VirtualThread$VThreadContinuation$1.run(", "P$$Lambda", "java/lang/Thread.runWith(")
        frames = [f.rstrip("*") for f in frames]
        return [f for f in frames if not f.startswith(hidden) and "/0x" not in f]
    if language == "erlang":  # it tells equal ones once
        return [f for f, before in zip(frames, [""] + frames) if f != before and not f.startswith("<")]
    if language == "ruby":  # what no Ruby code has called has no line
        return [re.sub(r"^p.rb \(", "(", f) for f in frames]
    return frames


def same(known, shown):
    """Compares what is known of each with what is shown of it, by the address, the number, or else by the stack."""
    for k in known:
        wanted = plain(k["frames"])
        found = [s for s in shown if all(s.get(n) == k[n] for n in ("address", "id") if n in k) and ("address" in k or "id" in k or plain(s["frames"]) == wanted)]
        check(len(found) > 0, "it is there", f"{k}\nin {json.dumps(shown, indent=1)[:6000]}")
        for s in found[:1]:
            check(plain(s["frames"]) == wanted, "its frames", "\n".join(plain(s["frames"]) + ["not", *wanted]))
            for n in ("name", "state"):
                check(n not in k or (s.get(n) or "") == k.get(n), f"its {n}", f"{s.get(n)} not {k.get(n)}")


def parked_of(target):
    o = json.loads(pstack(target, "-x", "oformat=jsonl"))
    check("parked-missing" not in o, "they can be found", o.get("parked-missing"))
    mine = [dict(p, frames=[f["symbol"] for f in p["frames"]]) for p in o.get("parked", [])]
    check(len({p["address"] for p in mine}) == len(mine) and all(p["language"] == language or language == "luajit" for p in mine), "each once", mine)
    return mine, o


def debugger_check(core, shown):
    """What mdb lists of the core file is the same, with the variables of a frame."""
    r = subprocess.run([MDB, "-o", "json", "-e", "::lfibers", core], capture_output=True, text=True, timeout=120)
    listed = json.loads(r.stdout)["rows"]
    mine = {(x["object"], x["frame"]) for x in listed if x["state"] != "running" and x["frame"] != "-"}
    check(mine == {(p["address"], p["frames"][0]) for p in shown}, "::lfibers lists them", f"{listed}\n{r.stderr}")
    one = max(shown, key=lambda p: len(p["frames"]))
    r = subprocess.run([MDB, "-o", "json", "-e", f"{one['address'][2:]}::ltaskstack", core], capture_output=True, text=True, timeout=120)
    rows = json.loads(r.stdout)["rows"]
    check([x["frame"] for x in rows if "frame" in x] == one["frames"], "::ltaskstack has its frames", f"{rows}\n{r.stderr}\n{one}")
    check(any("variable" in x for x in rows) or language == "java", "and the variables in them", rows)
    return rows


def core_make(p, folder, by_kernel):
    """A core file of the kernel, or of gcore."""
    if not by_kernel:
        subprocess.run(["gcore", "-o", "made", str(p.pid)], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
        return f"{folder}/made.{p.pid}"
    with kernel_cores():
        os.kill(p.pid, 6)
        p.wait()
    return f"{folder}/core"


def core_check(core, shown):
    check(os.path.exists(core), "it leaves a core file")
    dead, _ = parked_of(core)
    check(sorted(dead, key=str) == sorted(shown, key=str), "the core file has the same", f"{dead}\n{shown}")
    debugger_check(core, dead)
    os.unlink(core)


def trial(name):
    global language
    file, text, compiler, command = LANGUAGES[name]
    language = name
    folder = f"{TMP}/{name}"
    os.makedirs(folder, exist_ok=True)
    open(f"{folder}/{file}", "w").write(text)
    if compiler:
        subprocess.run(compiler, cwd=folder, check=True, timeout=120)
    with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
        try:
            known = json.loads(p.stdout.readline())
            pid = p.pid
            shown, o = parked_of(pid)
            same(known, shown)
            check(o["pid"] == pid and o["threads"] and o["held-us"] > 0, "and the threads", o)
            if name == "ruby":
                text = pstack(pid, "-x", "stackmerge=function")
                check(re.search(r"-+  thread \d+ .*\n(.*\n)*-+  fiber 0x[0-9a-f]+, suspended.*  -+\n      \[ p.rb:\d+ \(", text), "as text", text)
                few = json.loads(subprocess.run([DTRACE, f"--pstack={pid}", "-x", "pstacktasks=2", "-x", "oformat=jsonl"], capture_output=True, text=True, timeout=120).stdout)
                check(len(few["parked"]) == 2 and few["parked-more"] >= len(known) - 2, "no more than were asked for", few)
            if name == "lua" and shutil.which("gcore"):
                core_check(core_make(p, folder, False), shown)
            core_check(core_make(p, folder, pattern_read() == "core"), shown)
        finally:
            p.kill()


unlimited()
for each in sys.argv[1:] or [n for n in LANGUAGES if n != "java"]:
    if shutil.which(LANGUAGES[each][3][0]):
        trial(each)
    else:
        print(f"skip: {LANGUAGES[each][3][0]} is not installed")
sys.exit(1 if failed else 0)
