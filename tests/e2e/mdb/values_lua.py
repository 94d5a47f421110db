# SPDX-License-Identifier: MIT
"""
A Lua program builds a known graph of values, writes down how they are written and where they are, and waits. mdb has to show the same of the process, of a
core file that gcore writes of it, and of the one that the kernel writes when it is killed; and must survive files that are damaged. $LUA is another Lua.
"""
import glob, os, re, shutil, subprocess, sys

sys.path.insert(0, os.environ["SRC"] + "/tests/e2e")
sys.dont_write_bytecode = True
from core_files import kernel_cores, unlimited
import asked
from asked import TMP, check, failed, line_of, rows, run

PROGRAM = r'''
local Point = {__name = "Point"}
Point.__index = Point
local function new(x, y) return setmetatable({x = x, y = y}, Point) end
local has_names = tostring(new(1, 2)):find("Point") -- from 5.3 on

local function say(key, text) io.write(key, "\t", text, "\n") end
local function at(v) return (tostring(v):match("0x(%x+)")) end

local escapes = {["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ['"'] = '\\"', ["\\"] = "\\\\"}
local function shown(v)
    local kind = type(v)
    if kind == "string" then
        return '"' .. v:gsub('[%c"\\]', function(c) return escapes[c] or ("\\x%02x"):format(c:byte()) end) .. '"'
    elseif kind == "table" then
        local all, n, last = {}, 0, 0
        for k in pairs(v) do
            if type(k) == "number" and k > 0 and k % 1 == 0 then n, last = n + 1, math.max(last, k) end
        end
        for k, x in pairs(v) do
            local is_plain = n == last and type(k) == "number" and k > 0 and k % 1 == 0
            all[#all + 1] = (is_plain and "" or "[" .. shown(k) .. "] = ") .. shown(x)
        end
        return "{" .. table.concat(all, ", ") .. "}"
    elseif kind == "function" then
        local info = debug.getinfo(v, "S")
        return "function <" .. info.short_src .. ":" .. info.linedefined .. ">"
    elseif kind == "thread" then return "thread at 0x" .. at(v) end
    return tostring(v)
end

values = {
    yes = true, no = false, texts = {"", "abc", 'say "x" \\', "a\nb\t\r\1\127\0z", "caf\195\169 \226\130\172", ("z"):rep(39), ("y"):rep(150)},
    list = {1, "a", false, {2, {3, {}}}}, hash = {a = 1, b = {c = 2}, ["two words"] = 3}, mixed = {10, 20, k = "v", [-3] = 4, [true] = 2, [1.5] = "f"},
    sparse = {[1000] = 1, [2000] = 2}, fn = new, thread = coroutine.create(function() end), empty = {}, long = {},
}
for i = 1, 150 do values.long[i] = i end
local numbers = {0, -1, 2^53, 1.5, 0.1, 1e100, -2.5e-7, 1 / 0, -1 / 0}
local holes = {1, nil, 3}
local point = new(1, 2)
local cycle = {}
cycle.self = cycle
local points = {}
for i = 1, 1000 do points[i] = new(i, i) end
for i = 1, 500 do new(i, i) end
local captured, held = 7, points
local waiting = coroutine.create(function(own) local kept = own; coroutine.yield(kept); return kept end)
local secret = new(3, 4)
coroutine.resume(waiting, secret)
say("secret", at(secret))
secret = nil

local function inner(a, b, ...)
    local sum = a + b
    for i, v in ipairs({...}) do
        local deep = captured
        say("ready", "1")
        io.flush()
        io.read()
        captured, held = deep, v
    end
    return sum
end
local function outer(argument)
    local text = "last"
    do local hidden = 1 end
    local nothing
    return (inner(argument, 2, "x"))
end

for k, v in pairs(values) do say("value." .. k, shown(v)) end
for k, v in pairs({values = values, numbers = numbers, holes = holes, cycle = cycle, points = points, first = points[1], inner = inner, waiting = waiting}) do
    say("at." .. k, at(v))
end
say("at.point", at(point))
say("names", has_names and "1" or "0")
point = point
collectgarbage()
collectgarbage()
outer(3)
'''


def values_check(target, known, point):
    names = sorted(k[6:] for k in known if k.startswith("value."))
    at = known["at.values"]
    shown = rows(target, "; ".join(f"{at}::luaprint -d 40 -n 1000 {n}" for n in names))
    check(len(shown) == len(names) == 11, "a row for each value", len(shown))
    for name, row in zip(names, shown):
        text, wanted = line_of(row["rows"][0]["value"]), known["value." + name]
        check(text == wanted, f"the value '{name}'", f"{text}\n{wanted}")
    text = line_of(run(target, f"{known['at.numbers']}::luaprint"))
    point_zero = ".0" if point else ""
    wanted = "{0, -1, 9007199254740992%s, 1.5, 0.1, 1e+100, -2.5e-07, inf, -inf}" % point_zero
    check(text.replace("Infinity", "inf") == wanted, "numbers", f"{text}\n{wanted}")
    check(line_of(run(target, f"{known['at.holes']}::luaprint")) == "{[1] = 1, [3] = 3}", "an array with a nil")
    check(line_of(run(target, f"{known['at.cycle']}::luaprint")) == '{["self"] = {<above>}}', "a table that has itself")
    text = line_of(run(target, f"{known['at.point']}::luaprint"))
    check(text in ('Point {["x"] = 1, ["y"] = 2}', 'Point {["y"] = 2, ["x"] = 1}'), "a table with a class", text)
    check(run(target, f"{at}::luaprint list.4.2.1").strip() == "3", "a member of a member")
    check(line_of(run(target, f"{at}::luaprint -n 3 long")) == "{1, 2, 3, ... 147 more}", "no more than was asked for")
    check(run(target, f"{at}::luatype; {known['at.inner']}::luatype").split()[1::2] == ["table", "function"], "::luatype")
    text = line_of(run(target, f"{known['at.inner']}::luaclosure -d 1"))
    check("captured=7" in text and "held={...}" in text, "what a function has captured", text)
    for wrong in (int(at, 16) + 8, 0x1000, 1 << 63):
        text = run(target, f"{wrong:x}::luaprint", status=1)
        check("is no value" in text, f"{wrong:x} is no value", text)


def stack_check(target):
    text = run(target, "::luastack -v")
    frames = re.findall(r"^lua: +(.+)\n +file: (\S+)\n(?: +posn: line (\d+)\n)?((?: {10}.*\n)*)", text, re.M)
    check([f[0] for f in frames][1:4] == ["inner", "outer", "main chunk"], "frames in their order", text)
    source, calls = PROGRAM.splitlines(), {"inner": "io.read()", "outer": "(inner(", "main chunk": "outer("}
    found = {}
    for name, _, line, rest in frames:
        if name in calls:
            check(line and calls[name] in source[int(line) - 1], f"the line of {name}", text)
            found[name] = {k: re.sub(r"^[0-9a-f]+ (?=\()", "", v) for k, v in re.findall(r"^ {10}(\w+): (.*)$", rest, re.M)}
    wanted = {"a": "3", "b": "2", "sum": "5", "i": "1", "v": '"x"', "deep": "7"}
    check({k: v for k, v in found.get("inner", {}).items() if k != "arg"} == wanted, "variables of inner", text)
    check(found.get("outer") == {"argument": "3", "text": '"last"', "nothing": "nil"}, "variables of outer", text)
    main = {k: found.get("main chunk", {}).get(k) for k in ("point", "points", "captured", "secret")}
    check(main == {"point": "(Point)", "points": "(table)", "captured": "7", "secret": "nil"}, "variables of the main chunk", text)


def census_check(target, known):
    shown = {r["shape"].split(":")[0]: r for r in rows(target, "::findluaobjects")[0]["rows"]}
    check(shown.get("Point", {}).get("objects") == 1002, "objects of Point: 1002", shown)
    # files have no name before 5.3, and LuaJIT has another userdata
    file = "FILE*" if known["names"] == "1" else "userdata"
    check(shown.get(file, {}).get("objects") in ((3,) if known["names"] == "1" else (3, 4)), "files", shown)
    files = run(target, f"::findluaobjects -c {file} -l").split()
    text = run(target, f"::findluaobjects -c {file} -l | ::luaprint")
    wanted = "userdata FILE* at" if known["names"] == "1" else "userdata at"
    check(text.splitlines() == [f"{wanted} 0x{at}" for at in files], "a userdata has its class", text)
    listed = run(target, "::findluaobjects -c Point -l").split()
    check(len(listed) == len(set(listed)) == 1002 and known["at.first"].lstrip("0") in listed, "each of a class", len(listed))

    def refs(what):
        return {(r["name"], r["class"].split(":")[0]) for r in rows(target, f"{known[what]}::luarefs")[0]["rows"] if "root" not in r}

    check(refs("at.first") >= {("[1]", "table")}, "an element of a table", refs("at.first"))
    check(refs("at.points") >= {("held", "function")}, "a captured variable", refs("at.points"))
    check(any(cls == "thread" for _, cls in refs("secret")), "a variable of a coroutine", refs("secret"))
    check(refs("at.cycle") >= {("self", "table")}, "a table that has itself", refs("at.cycle"))


def version_check(lua, folder, with_damage):
    os.makedirs(folder)
    open(f"{folder}/graph.lua", "w").write(PROGRAM)
    p = subprocess.Popen([lua, "graph.lua"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        known = {}
        while "ready" not in known:
            line = p.stdout.readline().decode()
            if not line:
                sys.exit(f"{lua}: the program fails")
            known.update([line.rstrip("\n").split("\t", 1)])
        live = ["-p", str(p.pid)]
        # integers are numbers of their own from 5.3 on, where other numbers have a point
        values_check(live, known, known["names"] == "1")
        stack_check(live)
        census_check(live, known)
        everything = f"::luastack -v; {known['at.values']}::luaprint -d 9; ::findluaobjects; {known['at.points']}::luarefs"
        wanted = run(live, everything)
        if shutil.which("gcore"):
            subprocess.run(["gcore", "-o", f"{folder}/copy", str(p.pid)], capture_output=True)
            check(run([f"{folder}/copy.{p.pid}"], everything) == wanted, "a core file of gcore has the same")
            if with_damage:
                at = known["at.values"]
                asked.damage_check(f"{folder}/copy.{p.pid}", int(at, 16),
                                   ("::luastack -v", f"{at}::luaprint -d 20", f"::findluaobjects; {known['at.points']}::luarefs"))
        with kernel_cores():
            os.kill(p.pid, 6)
            p.wait(60)
        core = next(iter(glob.glob(f"{folder}/core*")), None)
        check(core, "it leaves a core file")
        if core:
            check(run([core], everything) == wanted, "a core file of the kernel has the same")
    finally:
        if p.poll() is None:
            p.kill()
        p.wait()


unlimited()
luas = [lua for lua in os.environ.get("LUA", "/usr/bin/lua5.4 /usr/bin/lua5.1 /usr/bin/luajit").split() if os.access(lua, os.X_OK)]
if not luas:
    print("neither lua5.4, lua5.1 nor luajit is installed")
    sys.exit(67)
for i, lua in enumerate(luas):
    asked.version = lua
    version_check(lua, f"{TMP}/{i}", i == 0)
sys.exit(1 if failed else 0)
