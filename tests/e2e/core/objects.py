# SPDX-License-Identifier: MIT
"""Programs of Node.js, Python and Lua whose objects are known: what dtrace --core counts by class and property is what they have made."""
import os, shutil, subprocess, sys, time

BUILD, TMP = os.environ["BUILD"], os.environ["TMP"]
DTRACE = BUILD + "/src/cmd/dtrace/dtrace"
NODE, PYTHON = os.environ.get("NODE", "/usr/bin/node"), "/usr/bin/python3"
JS = r"""
'use strict';
class Point { constructor(x, y) { this.x = x; this.y = y; } }
class Worker { constructor(i) { this.id = i; this.state = ['idle', 'busy', 'done and "gone"'][i % 3]; this.pos = new Point(i, i + 0.5); this.tags = ['t' + i % 2, i]; this.ok = i % 2 === 0; } }
globalThis.keep = [];
for (let i = 0; i < 300; i++) keep.push(new Worker(i));
if (global.gc) gc();
console.log('ready');
require('fs').readSync(0, Buffer.alloc(1));
"""
PY = r"""
import sys
class Point:
    def __init__(self, x, y): self.x, self.y = x, y
class Worker:
    def __init__(self, i):
        self.id, self.state, self.pos, self.tags, self.ok = i, ['idle', 'busy', 'done and "gone"'][i % 3], Point(i, i + 0.5), ['t%d' % (i % 2), i], i % 2 == 0
keep = [Worker(i) for i in range(300)]
print('ready', flush=True)
sys.stdin.read(1)
"""
LUA = r"""
local Worker, keep = {__name = "Worker"}, {}
for i = 1, 300 do keep[i] = setmetatable({id = i}, Worker) end
print("ready") io.stdout:flush()
io.read()
"""
# the function and the line in which they wait
WAITS = {"js": ("(anon)", JS.count("\n")), "python": ("<module>", PY.count("\n"))}
failed, tried = [], []


def check(is_good, what, shown=""):
    if not is_good:
        failed.append(what)
        print(f"{what}:\n{str(shown)[:3000]}")


def wait_for_read(p):
    """Until the program waits in read(0, ...): it may be anywhere between its last line and that call."""
    end = time.monotonic() + 60
    while not open(f"/proc/{p.pid}/syscall").read().startswith("0 0x0 "):
        if time.monotonic() > end:
            sys.exit("the program does not read")
        time.sleep(0.005)


def objects_are_known(language, command, true):
    p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    core = f"{language}.core"
    try:
        check(p.stdout.readline() == "ready\n", f"{language}: it runs")
        wait_for_read(p)
        # one copy of the process for all programs
        r = subprocess.run([BUILD + "/src/cmd/mdb/mdb", "-S", str(p.pid), "-w", core, "-e", "::status"], capture_output=True, text=True, timeout=120)
        check(r.returncode == 0, f"{language}: mdb -S -w", r.stderr)
        live = subprocess.run([DTRACE, "--core", str(p.pid), "-qn", f'object:::{language} /args[0]->class == "Worker" && args[0]->prop["id"] != ""/ {{ n++; }} END {{ printf("%d\\n", n); }}'],
                              capture_output=True, text=True, timeout=120)
        check(live.stdout.strip() == "300", f"{language}: of a process", live.stdout + live.stderr)
    finally:
        p.kill()
        p.wait()

    def run(program):
        r = subprocess.run([DTRACE, "--core", core, "-qn", program], capture_output=True, text=True, timeout=120)
        check(r.returncode == 0 and not r.stderr, f"{language}: {program}", r.stdout + r.stderr)
        return r.stdout

    def rows(program):
        return sorted(tuple(line.split("|")) for line in run(program).splitlines() if line)

    # the class itself may have an object of its name: its prototype
    of = f'object:::{language} /args[0]->class == "Worker" && args[0]->prop["state"] != ""/'
    got = rows(of + ' { @[args[0]->prop["state"]] = count(); @n[args[0]->prop["state"]] = sum(args[0]->number["id"]); } '
               'END { printa("%s|%@d\\n", @); printa("%s|%@d\\n", @n); }')
    names = ["idle", "busy", 'done and "gone"']
    want = sorted([(s, "100") for s in names] + [(s, str(sum(range(i, 300, 3)))) for i, s in enumerate(names)])
    check(got == want, f"{language}: by a property", (got, want))
    got = rows(of + ' { @[args[0]->prop["tags.0"], args[0]->prop["ok"]] = count(); } END { printa("%s|%s|%@d\\n", @); }')
    check(got == [("t0", true[0], "150"), ("t1", true[1], "150")], f"{language}: properties of properties", got)
    got = run(of[:-1] + ' && args[0]->number["id"] == 42/ { printf("%s %d %s %s|%s\\n", args[0]->prop["pos.y"], args[0]->number["pos.x"], args[0]->prop["none"], '
              'args[0]->language, ltext(arg0)); }')
    check(got.startswith(f"42.5 42  {language}|Worker") and "42.5" in got.split("|")[1], f"{language}: one object", got)
    got = rows(f'object:::{language} /args[0]->class == "Point" && args[0]->prop["x"] != ""/ {{ @[args[0]->shape] = count(); @b[args[0]->shape] = sum(arg1); }} END {{ printa("%s|%@d|%@d\\n", @, @b); }}')
    check(len(got) == 1 and got[0][1] == "300" and int(got[0][2]) % 300 == 0 and int(got[0][2]) > 0, f"{language}: by shape", got)
    got = run(f'object:::{language} {{ @[args[0]->address == arg0 && args[0]->bytes == arg1] = count(); }} END {{ printa("%d %@d\\n", @); }}')
    check(got.startswith("1 ") and got.strip().count("\n") == 0, f"{language}: arguments", got)
    # the innermost frame of the language as values: where each of the programs waits
    place = WAITS[language]
    got = rows('frame::: /lfunc == "%s" && lline == %d/ { printf("%%s\\n", lfile); }' % place)
    check(got and all(g[0].endswith("graph." + language) for g in got), f"{language}: lfunc, lline and lfile are {place}", got or run('frame::: { printf("%d %s|%s|%d\\n", tid, lfunc, lfile, lline); }'))
    got = rows('thread:::entry /lfunc != ""/ { printf("%s|%d\\n", lfile, lline); }')
    check(len(got) == 1 and (language == "js") == (got[0][0] == "node:fs") and int(got[0][1]) > 0, f"{language}: the innermost frame of the threads", got)
    check(run('frame:::entry { @[jstack(50, 4000)] = count(); } END { printa("%k", @); }').find("graph." + language) > 0, f"{language}: frames of the language")


def lua_is_known(lua):
    """Only stacks lead to the objects of Lua."""
    p = subprocess.Popen([lua, "graph.lua"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        check(p.stdout.readline() == "ready\n", "lua: it runs")
        wait_for_read(p)
        r = subprocess.run([DTRACE, "--core", str(p.pid), "-qn", 'object:::lua /args[0]->class == "Worker"/ { @n = count(); @s = sum(args[0]->number["id"]); } END { printa("%@d %@d\\n", @n, @s); }'],
                           capture_output=True, text=True, timeout=120)
        check(r.stdout.strip() == "300 45150", "lua: of a process", r.stdout + r.stderr)
    finally:
        p.kill()
        p.wait()


os.chdir(TMP)
open("graph.js", "w").write(JS)
open("graph.python", "w").write(PY)
open("graph.lua", "w").write(LUA)
if os.access(NODE, os.X_OK):
    objects_are_known("js", [NODE, "--expose-gc", "graph.js"], ("true", "false"))
    tried.append("js")
if subprocess.run([PYTHON, "-c", "import sys; sys.exit(not (3, 8) <= sys.version_info[:2] <= (3, 13))"]).returncode == 0:
    objects_are_known("python", [PYTHON, "graph.python"], ("True", "False"))
    tried.append("python")
if shutil.which("lua5.4"):
    lua_is_known("lua5.4")
    tried.append("lua")
if not tried:
    print("there is neither Node.js nor a Python or Lua whose values are described")
    sys.exit(67)
sys.exit(1 if failed else 0)
