# SPDX-License-Identifier: MIT
# Functions of Lua that come to lie where others of the same file and line were have their own names: what is remembered of those is not used.
# @@needs: kernel
command -v lua5.4 >/dev/null || exit 67
cd "$TMP" || exit 1
cat >reused.lua <<'X'
local function point() os.remove("/nonexistent/" .. arg[1]) return true end
local function event() point() return 1 end
local v = setmetatable({}, {__len = event, __newindex = event, __bnot = event})
local env = {v = v, f = {aa = event, bb = event}, event = event}
local function wait() os.execute("i=0; until [ -e met ] || [ $i = 2400 ]; do i=$((i + 1)); sleep 0.05; done") end
point()
wait()
for i = 1, 300 do
  for _, what in ipairs{"local x = #v", "v.a = 1", "local x = ~v", "f.aa()", "f.bb()"} do
    arg[1] = what
    load("local v = v\n" .. what, "@same.lua", "t", env)()
    collectgarbage()
  end
  -- names that go with the function, of one length: of what is outside of it, or a variable in it
  for _, letter in ipairs{"x", "y"} do
    local name = ("long"):rep(12) .. letter
    arg[1] = "outside " .. letter
    load("local " .. name .. " = event return function() " .. name .. "() end", "@same.lua", "t", env)()()
    arg[1] = "inside " .. letter
    load("local sho" .. letter .. " = event\nsho" .. letter .. "()", "@same.lua", "t", env)()
    name = nil
    collectgarbage()
  end
end
X
LC_ALL=C.UTF-8 "$TRIGGER/met" "$DTRACE" -q -x bufsize=32m -n 'syscall::unlink:entry /pid == $target/ { printf("\nat %s\n", basename(copyinstr(arg0))); jstack(100); }' -c 'lua5.4 reused.lua first' >out 2>err
cat err
awk '
	/^at / { what = substr($0, 4); next }
	match($0, /reused\.lua:2 \(.*\)/) && what != "first" { n[what " " substr($0, RSTART + 13, RLENGTH - 13)]++ }
	END { for (k in n) print k, n[k] }' out | sort
exit 0
