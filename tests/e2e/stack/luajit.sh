# Stacks of LuaJIT: what lua.inc says, in the interpreter and in the code of traces; also where traces call C, and C calls back.
lua=${LUAJIT:-/usr/bin/luajit}
if [ ! -x $lua ]; then
	echo "this test needs LuaJIT of Debian (package luajit)"
	exit 67
fi
. "$SRC/tests/e2e/stack/lua.inc"

cat >calls.lua <<'X'
local ffi = require "ffi"
ffi.cdef "int unlink(const char *); void qsort(void *, size_t, size_t, int (*)(const void *, const void *));"
local function inner()
  local result = ffi.C.unlink("/nonexistent/inner")
  return result
end
local function hot(n)
  local x = 0
  for i = 1, n do x = x + inner() end
  return x
end
local compare = ffi.cast("int (*)(const void *, const void *)", function(a, b)
  os.remove("/nonexistent/compare")
  return 0
end)
local function sort()
  local a = ffi.new("int[3]", 3, 1, 2)
  ffi.C.qsort(a, 3, 4, compare)
end
os.remove("/nonexistent/first")
os.execute("i=0; until [ -e met ] || [ $i = 2400 ]; do i=$((i + 1)); sleep 0.05; done")
hot(500)
sort()
X

# 500 calls of a loop: first by the interpreter, soon by a trace that has inlined the function which makes them
check_calls() {
	rm -f met
	"$TRIGGER/met" "$DTRACE" -q -n 'syscall::unlink:entry /pid == $target/ { @[basename(copyinstr(arg0)), jstack(50)] = count(); }' \
		-c "$lua calls.lua" >got.txt
	python3 - <<'X'
import collections, re
seen = collections.Counter()
wrong = []
for block in re.findall(r".*?\n\s+\d+\n", open("got.txt").read(), re.S):
    lines = [l.strip() for l in block.split("\n") if l.strip()]
    if lines[0] == "first":
        continue
    found = [l[2:-2] for l in lines if l.startswith("[ ") and l != "[ [C] (?) ]"]
    kinds = {
        "interpreted": ("inner", ["[C] (unlink)", "calls.lua:4 (inner)", "calls.lua:9 (hot)", "calls.lua:22 (main chunk)"]),
        "trace": ("inner", ["calls.lua (hot)", "calls.lua:22 (main chunk)"]),
        "callback": ("compare", ["[C] (remove)", "calls.lua:13 (function <calls.lua:12>)", "[C] (qsort)", "calls.lua:18 (sort)", "calls.lua:23 (main chunk)"]),
    }
    kind = [k for k in kinds if kinds[k] == (lines[0], found)]
    seen[kind[0] if kind else "?"] += int(lines[-1])
    if not kind or not re.match(r"libc[-.0-9]*so[.0-9]*`__libc_start_main", lines[-3]):
        wrong.append(block)
    if kind == ["callback"]:
        # C stands between those that it has called and those that have called it
        at = [i for i, l in enumerate(lines) if "`qsort" in l]
        if not at or not lines.index("[ calls.lua:13 (function <calls.lua:12>) ]") < at[0] < lines.index("[ [C] (qsort) ]"):
            wrong.append(block)
good = not wrong and seen["interpreted"] + seen["trace"] == 500 and seen["trace"] > 300 and seen["callback"] >= 2
print("calls of C:", "good" if good else (dict(seen), *wrong))
X
}

{
	check_points
	for mode in -joff -jon; do
		(
			lua="$lua $mode"
			[ $mode = -joff ] || export traces=1
			check_profile
		)
	done
	check_calls
	if [ -z "${LUAJIT:-}" ] && [ -e /usr/lib/x86_64-linux-gnu/libluajit-5.1.so.2 ]; then
		(
			lua_with_library libluajit-5.1-2 libluajit-5.1.so.2 int int -DLUAJIT
			command="$lua points.lua"
			check_begun
		)
	fi
} 2>&1
