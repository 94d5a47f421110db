# Probes of Lua programs, made at run time by modules/lua, which luarocks or make installs.
. "$SRC/tests/e2e/usdt/module_common"
command -v lua5.4 >/dev/null && [ -e /usr/include/lua5.4/lua.h ] || { echo "needs the packages lua5.4 and liblua5.4-dev"; exit 67; }
module_copy lua
(cd tree/modules/lua && make -s test && make -s install DESTDIR="$TMP/site" INST_LIBDIR=) >out 2>&1 && grep -q '^passed$' out || fail "building, its own tests, or installing"
grep -q warning out && fail "warnings"
if command -v luarocks >/dev/null; then
	(cd tree/modules/lua && make -s clean && HOME=$TMP luarocks --lua-version 5.4 --tree "$TMP/rocks" make usdt-0.2-1.rockspec) >out 2>&1 || fail "luarocks make"
	[ -n "$(find rocks -path '*lib/lua/5.4/usdt.so')" ] || fail "luarocks installs nothing"
	export LUA_CPATH="$TMP/rocks/lib/lua/5.4/?.so"
else
	export LUA_CPATH="$TMP/site/?.so"
fi
rm -rf tree
cat >app.lua <<'END'
local usdt = require "usdt"

local provider = usdt.provider("shop", "server")
local sale = provider:probe("sell", "sale-done", "char *", "int")
local many = provider:probe("count", "many", "int", "int", "int", "int")
provider:enable()
local seen = sale:is_enabled() and 1 or 0
print("ready")
io.stdout:flush()
io.read()
seen = seen + (sale:is_enabled() and 1 or 0)
sale:fire("tea", 4)
sale:fire("käse 😀", -5)
sale:fire()
sale:fire(17, 18.5)
many:fire(1, 1 << 41, -(1 << 41), 9)
many:fire(5, nil, "text", {})
seen = seen + (sale:is_enabled() and 1 or 0)
print("seen " .. seen)
io.stdout:flush()
provider:disable()
provider:remove_probe(sale)
sale:fire("nobody", 1)
local late = provider:probe("late", "late", "int")
provider:enable()
late:fire(1)
print("end " .. (sale:is_enabled() and 1 or 0))
END
module_trace lua5.4 app.lua
