# SPDX-License-Identifier: MIT
# A running process whose runtime no helper knows: its stacks have native frames only, which is said once, and none of them says that frames of the
# language are to come. A known one has them from the first stack on.
# @@needs: kernel
command -v lua5.4 >/dev/null || exit 67
cd "$TMP" || exit 1
cat >asks.lua <<'X'
local function ask()
	os.remove('/nonexistent/file')
end
io.open(arg[1], 'w'):close()
while true do
	ask()
	for _ = 1, 1000000 do end
end
X
lua=$(readlink -f "$(command -v lua5.4)")
mkdir known unknown || exit 1
cp "$lua" known/lua5.4 && sed 's/Lua 5\.4/Lua 5.9/g' "$lua" >unknown/lua5.4 && chmod +x unknown/lua5.4 || exit 1
for kind in known unknown; do
	$kind/lua5.4 asks.lua ready.$kind &
	pid=$!
	until [ -e ready.$kind ] || ! kill -0 $pid; do sleep 0.1; done
	"$DTRACE" -q -n 'syscall::unlink:entry /pid == $target/ { jstack(); if (++n == 3) exit(0); }' -p $pid >stacks 2>said
	kill $pid
	echo "$kind: $(grep -c '`unlink+' stacks) stacks, $(grep -c '(ask)' stacks) named, $(grep -c 'no language frames yet' stacks) that say not yet"
	sed "s/process $pid/process PID/; s/^dtrace: ustack helper '.*'/helper/" said
done
exit 0
