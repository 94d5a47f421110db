# Stacks of Lua 5.4: what lua.inc says.
# @@foreign
lua=${LUA:-/usr/bin/lua5.4}
if [ ! -x $lua ]; then
	echo "this test needs Lua 5.4 of Debian (package lua5.4)"
	exit 67
fi
. "$SRC/tests/e2e/stack/lua.inc"

{
	check_points

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
	# stands in the place of its function, makes a frame. The same at instructions of luaV_execute() before the call is in the register that it
	# stays in (other ones there are what the helper knows the code by: a probe would change them). The library has symbols for these functions in its archive only.
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
		"$TRIGGER/met" "$DTRACE" -q -n 'pid$target:a.out:luaD_precall:,pid$target:a.out:luaD_pretailcall:,pid$target:a.out:luaD_poscall:,
		    syscall::unlink:entry /pid == $target/ { @[jstack(20)] = count(); } syscall::unlink:entry /pid == $target/ { begun = 1; }
		    pid$target:a.out:luaV_execute:2?,pid$target:a.out:luaV_execute:3[5-9] /begun/ { @[jstack(20)] = count(); }' -c './lua5own calls.lua' >got.txt
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
begun = 0
for block in open("got.txt").read().split("\n\n"):
    at = re.match(r"\s*lua5own`luaV_execute\+0x[23].\s", block)
    begun += bool(at)
    if at and "(main chunk) ]" not in block:
        wrong.append(block.split()[0])
    frames = re.findall(r"\[ (?:calls\.lua:(-?\d+)|\[C\]) \((.*)\) \]", block)
    for (line, name), (_, caller) in zip(frames, frames[1:] + [(None, None)]):
        lines, callers = known.get(name, ((), ()))
        if (int(line) if line else None) not in lines or caller not in callers:
            wrong.append((line, name, caller))
        seen[name] += 1
missing = [n for n in known if not seen[n]] + ([] if begun else ["luaV_execute"])
print("calls that begin and end:", "good" if not wrong and not missing else (wrong[:5], missing))
X
	else
		echo 'calls that begin and end: good'
	fi

	check_profile
} 2>&1
