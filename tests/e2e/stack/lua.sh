# Stacks of Lua 5.4: at points where the program writes down what debug.getinfo() says, every frame is there, in order, with file, line
# and the name by which it was called; coroutines stand above those who resumed them. The program runs before and while it is traced. At
# arbitrary instructions, stacks reach the main chunk and have no call that the program does not make.
lua=${LUA:-/usr/bin/lua5.4}
if [ ! -x $lua ]; then
	echo "this test needs Lua 5.4 of Debian (package lua5.4)"
	exit 67
fi
cd "$TMP" || exit 1

cat >points.lua <<'X'
local out = io.open(arg[1], "w")
local resumers = {} -- of the running coroutine, outermost first

local function frames(to, thread, level)
  local i = thread and debug.getinfo(thread, level, "nSl") or not thread and debug.getinfo(level + 1, "nSl")
  while i do
    if i.what == "C" then
      to[#to + 1] = "[C] (" .. (i.name or "?") .. ")"
    else
      local name = i.name or i.what == "main" and "main chunk" or "function <" .. i.short_src .. ":" .. i.linedefined .. ">"
      to[#to + 1] = i.short_src .. ":" .. i.currentline .. " (" .. name .. ")"
    end
    level = level + 1
    if thread then i = debug.getinfo(thread, level, "nSl") else i = debug.getinfo(level + 1, "nSl") end
  end
end

function point()
  local text = {}
  frames(text, nil, 2)
  for i = #resumers, 1, -1 do frames(text, resumers[i], 0) end
  if text[#text] == "[C] (?)" then text[#text] = nil end -- what has called the main chunk
  out:write(table.concat(text, "|"), "\n")
  out:flush()
  os.remove("/nonexistent")
end

local function resume(co, ...)
  resumers[#resumers + 1] = coroutine.running()
  local a, b = coroutine.resume(co, ...)
  resumers[#resumers] = nil
  return a, b
end

local function leaf(n) if n > 0 then return (leaf(n - 1)) end point() return n end
local t = {}
function t:method() table.sort({3, 1, 2}, function(a, b) leaf(1) return a < b end) end
function global() t:method() end
local function tail(n) if n == 0 then point() return 1 end return tail(n - 1) end
local function back_and_forth(n) if n > 0 then return (select(2, pcall(back_and_forth, n - 1))) end point() return n end
back_and_forth = (function(f) return f end)(back_and_forth)
local meta = {}
for _, m in ipairs{"add", "sub", "mul", "mod", "pow", "div", "idiv", "band", "bor", "bxor", "shl", "shr", "concat", "unm", "bnot",
    "len", "eq", "lt", "le", "index", "newindex", "close", "gc"} do
  meta["__" .. m] = function() point() return true end
end
meta.__call = function(self, a) point() return a end
meta.__tostring = function() point() return "x" end

local function main()
  point()
  global()
  leaf(5)
  leaf(900)
  back_and_forth(1)
  local a, b, x = setmetatable({}, meta), setmetatable({}, meta)
  x = a + b; x = a - 1; x = a * 2; x = a % b; x = a ^ 2; x = a / b
  if _VERSION ~= "Lua 5.2" then
    load("local a, b = ... local x = a // b; x = 2 // b x = a & b; x = a | 1; x = a ~ b; x = a << 1; x = a >> b; x = ~a")(a, b)
  end
  x = a .. "s"; x = -a; x = #a
  x = a == b; x = a < b; x = a <= b; x = a > 1; x = a >= b; x = 1 < a
  x = a.field; a.field = 1; x = a[1]; a[x] = 2; x = a[{}]
  x = a(5)
  x = tostring(a)
  if _VERSION == "Lua 5.4" then load("local a = ... do local c <close> = a end")(a) end
  for i in (function(s, n) point() if n < 2 then return n + 1 end end), nil, 0 do end
  local co = coroutine.create(function(x) leaf(2) coroutine.yield(1) leaf(1) end)
  resume(co)
  resume(co)
  resume(coroutine.create(function(n) resume(coroutine.create(function() point() end)) point() end), 1)
  resume(coroutine.create(point))
  load("global()\n\nlocal a = leaf or point a()")()
  load("point()", "=name")()
  load("point()", "@größe.lua")()
  load("--[[" .. ("x"):rep(100) .. "]] point()")()
  x = pcall(leaf, 1)
  x = xpcall(error, function() point() end)
  x = ("abc"):gsub("%w", function(c) point() return c end)
  tail(3)
  local f = {g = {h = point, ["with space"] = point}, [1] = point}
  f.g.h() f.g["with space"]() f[1]()
  local k = "key" f[k] = point f[k]()
  local i = 1 f[i]();
  (x and point or global)()
  setmetatable(f, {__index = function(t, n) point() return point end})
  f.missing()
  f:missing_method()
  local up = point;
  (function() up() local y = (function() up() end)() end)()
  debug.sethook(function() debug.sethook() point() end, "l")
  x = 1
  do local z = setmetatable({}, meta) end
  collectgarbage()
  dofile("included.lua")
  -- functions with many instructions, and with many lines between them
  load("local function many() local x" .. ("\n"):rep(400) .. "point() return 1 end many()", "=many")()
  load("local function large() x = 1" .. (" x = x + 1\n"):rep(700) .. "point() return 1 end large()", "=large")()
  a, b = setmetatable(a, nil), setmetatable(b, nil)
end

-- the first stack, after which the tracer looks at the process
local function wait(file) os.execute("i=0; until [ -e " .. file .. " ] || [ $i = 2400 ]; do i=$((i + 1)); sleep 0.05; done") end
wait(arg[2])
os.remove("/nonexistent")
wait(arg[3])
main()
X
echo 'point() local x = 1 point()' >included.lua

cat >stacks.py <<'X'
import sys
for block in sys.stdin.read().split("\n\n"):
    found = [l.strip()[2:-2] for l in block.split("\n") if l.strip().startswith("[ ") and l.endswith(" ]")]
    # the innermost ones are os.remove() and point()
    if found:
        print("|".join(found[2:]))
X
script='syscall::unlink:entry /pid == $target/ { jstack(2000); }'
command="$lua points.lua" stacks='python3 stacks.py'
export LC_ALL=C.UTF-8

. "$SRC/tests/e2e/stack/compare.inc"

{
	check_begun
	check_running

	# native frames are where they belong: sort() calls the comparison, which calls leaf()
	python3 - <<'X'
import re
for block in open("got.txt").read().split("\n\n"):
    lines = [l.strip() for l in block.split("\n") if l.strip()]
    at = [i for i, l in enumerate(lines) if "[C] (sort)" in l]
    if not at:
        continue
    good = "unlink" in lines[0] and bool(re.match("(lib)?lua5[.0-9so]*`", lines[at[0] - 1])) and "(function <points.lua:" in "".join(lines[:at[0] - 1])
    good &= "(method) ]" in lines[at[0] + 1] and bool(re.match(r"libc[-.0-9]*so[.0-9]*`__libc_start_main", lines[-2]))
    print("mixed:", "good" if good else lines)
    break
X

	# the library in a program of one's own
	if [ -e /usr/include/lua5.4/lua.h ] && [ -e /usr/lib/x86_64-linux-gnu/liblua5.4.so ]; then
		cat >own.c <<'X'
#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
int main(int argc, char **argv)
{
	lua_State *l = luaL_newstate();

	luaL_openlibs(l);
	lua_newtable(l);
	for (int i = 1; i < argc; i++) {
		lua_pushstring(l, argv[i]);
		lua_seti(l, -2, i - 1);
	}
	lua_setglobal(l, "arg");
	return luaL_dofile(l, argv[1]);
}
X
		gcc -o own own.c -I/usr/include/lua5.4 -llua5.4
		command='./own points.lua'
		traced "$script" >got.txt
		check 'a program with the library' | sed 's/ [0-9]* stacks//'
	else
		echo 'a program with the library:'
	fi

	# at each instruction of what begins and ends calls: neither the position that an earlier call has left in a new one, nor a result that
	# stands in the place of its function, makes a frame. The library has symbols for these functions in its archive only.
	if [ -e /usr/include/lua5.4/lua.h ] && [ -e /usr/lib/x86_64-linux-gnu/liblua5.4.a ]; then
		gcc -o lua5own own.c -I/usr/include/lua5.4 /usr/lib/x86_64-linux-gnu/liblua5.4.a -Wl,-E -lm -ldl
		cat >calls.lua <<'X'
local function leaf(n)
  return n
end
local function other(n)

  return function() return n end
end
local function tail(n)

  local x = n
  return leaf(x)
end
local function several(n)

  if n > 0 then
    several(n - 1)
  end
  return leaf, other, n
end
local function all()

  leaf(1)
  other(2)
  tail(3)
  several(3)
  table.sort({2, 1, 3}, function(a, b)

    return a < b
  end)
end
os.execute("i=0; until [ -e met ] || [ $i = 2400 ]; do i=$((i + 1)); sleep 0.05; done")
os.remove("/nonexistent")
os.execute("true")
for i = 1, 3 do all() end
X
		rm -f met
		timeout $((60 * patience)) "$TRIGGER/met" "$DTRACE" -q -n 'pid$target:a.out:luaD_precall:,pid$target:a.out:luaD_pretailcall:,pid$target:a.out:luaD_poscall:,
		    syscall::unlink:entry /pid == $target/ { @[jstack(20)] = count(); }' -c './lua5own calls.lua' >got.txt
		python3 - <<'X'
import collections
import re
# a function's lines, its callers
known = {"leaf": ({2}, {"all"}), "function <calls.lua:1>": ({2}, {"all"}), "other": ({6}, {"all"}), "tail": ({10, 11}, {"all"}),
         "several": ({15, 16, 18}, {"all", "several"}), "function <calls.lua:26>": ({28}, {"sort"}), "sort": ({None}, {"all"}),
         "all": ({22, 23, 24, 25, 26, 30}, {"main chunk"}), "main chunk": ({31, 32, 33, 34}, {None}),
         "execute": ({None}, {"main chunk"}), "remove": ({None}, {"main chunk"})}
seen = collections.Counter()
wrong = []
for block in open("got.txt").read().split("\n\n"):
    frames = re.findall(r"\[ (?:calls\.lua:(-?\d+)|\[C\]) \((.*)\) \]", block)
    for (line, name), (_, caller) in zip(frames, frames[1:] + [(None, None)]):
        lines, callers = known.get(name, ((), ()))
        if (int(line) if line else None) not in lines or caller not in callers:
            wrong.append((line, name, caller))
        seen[name] += 1
missing = [n for n in known if not seen[n]]
print("calls that begin and end:", "good" if not wrong and not missing else (wrong[:5], missing))
X
	else
		echo 'calls that begin and end: good'
	fi

	cat >busy.lua <<'X'
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local function sorted() local t = {} for i = 1, 200 do t[i] = i * 7919 % 211 end table.sort(t, function(a, b) return a < b end) return t end
local function text() local s = ("abc"):rep(30):gsub("%w", function(c) return c:upper() .. #c end) return s end
local function resumed() local co = coroutine.wrap(function() for i = 1, 50 do coroutine.yield(fib(4)) end end) for i = 1, 50 do co() end end
local function all() fib(15) sorted() text() resumed() end
while not os.rename("met", "met") do all() end os.rename("begun", "begun") local stop = os.clock() + 2
while os.clock() < stop do all() end
X
	rm -f met
	timeout $((60 * patience)) "$TRIGGER/met" "$DTRACE" -q -n 'syscall::rename*:entry /pid == $target && copyinstr(arg0) == "begun"/ { begun = 1; }
	    profile-997 /pid == $target && !begun/ { @before[jstack(1)] = count(); } END { trunc(@before); }
	    profile-997 /pid == $target && begun/ { @[jstack(100)] = count(); }' -c "$lua busy.lua" >got.txt
	python3 - <<'X'
import re
calls = {"fib": {"fib", "all", "function <busy.lua:4>"}, "sorted": {"all"}, "text": {"all"}, "resumed": {"all"},
         "function <busy.lua:2>": {"sort"}, "sort": {"sorted"}, "function <busy.lua:3>": {"gsub"}, "gsub": {"text"},
         "function <busy.lua:4>": {"co"}, "co": {"resumed"}, "wrap": {"resumed"}, "upper": {"function <busy.lua:3>"},
         "rep": {"text"}, "yield": {"function <busy.lua:4>"}, "all": {"main chunk"}, "clock": {"main chunk"}, "rename": {"main chunk"}}
lines_of = {"fib": {1}, "sorted": {2}, "function <busy.lua:2>": {2}, "text": {3}, "function <busy.lua:3>": {3}, "resumed": {4},
            "function <busy.lua:4>": {4}, "all": {5}, "main chunk": {6, 7}}
total = whole = 0
wrong = []
for block in open("got.txt").read().split("\n\n"):
    lines = [l.strip() for l in block.split("\n") if l.strip()]
    if not lines or not lines[-1].isdigit() or len(lines) == 1:
        continue
    n = int(lines.pop())
    found = [re.fullmatch(r"\[ (?:busy\.lua:(-?\d+)|\[C\]) \((.*)\) \]", l) for l in lines if l.startswith("[ ")]
    total += n
    whole += n if found and found[-1] and found[-1][2] == "main chunk" and re.match(r"libc[-.0-9]*so[.0-9]*`__libc_start_main", lines[-2]) else 0
    for f, caller in zip(found, found[1:]):
        if not f or not caller or caller[2] not in calls.get(f[2], ()):
            wrong.append((f and f[2], caller and caller[2]))
    wrong += [f[0] for f in found if f and f[1] and int(f[1]) not in lines_of[f[2]]]
print("profile:", "good" if total > 300 and whole >= 0.98 * total and not wrong else (total, whole, wrong[:5]))
X
} 2>&1
