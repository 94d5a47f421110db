# Lua 5.4 has stored the first half of a function's result in the slot of the function, and the tag of a function is still behind it: the
# frames of the callers are there, and the helper does not fail. The instruction is found by its bytes, as Debian's compiler has made them.
# @@needs: kernel
lua=$(readlink -f "$(command -v lua5.4)") && [ -e "$lua" ] || exit 67
cd "$TMP" || exit 1
cat >returns.lua <<'L'
local function two() return 7, 8 end
local function outer() local a = two() return a end
for i = 1, 200 do outer() end
L
address=$(python3 - "$lua" <<'P'
import struct, sys
data = open(sys.argv[1], "rb").read()
# mov (%rax),%rdx; mov %rdx,(%rsi); movzbl 8(%rax),%eax; mov %al,8(%rsi)
at = data.find(bytes.fromhex("488b104889160fb64008884608"))
phoff, = struct.unpack_from("<Q", data, 32)
size, n = struct.unpack_from("<HH", data, 54)
for i in range(n if at >= 0 else 0):
    kind, flags, off, addr, _, length = struct.unpack_from("<IIQQQQ", data, phoff + i * size)
    if kind == 1 and off <= at < off + length:
        print("%x" % (at + 6 - off + addr))
P
)
[ -n "$address" ] || { echo "skip: this lua5.4 moves results otherwise"; exit 67; }
"$DTRACE" -q -n 'pid$target:a.out:-:'"$address"' { @[jstack(30)] = count(); }' -c "$lua returns.lua" 2>&1 |
	awk '/helper error|error.* in ustack helpers/ { print } /returns.lua:2 \(outer\)/ { outer++ } /returns.lua:3 \(main chunk\)/ { main++ }
		END { print outer + 0 " stacks with the caller, " main + 0 " with its caller" }'
