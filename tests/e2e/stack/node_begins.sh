# SPDX-License-Identifier: MIT
# While Node.js begins, functions of libstdc++ leave the frame pointer as their caller had it: what lies there is not taken for a frame of JavaScript.
# @@needs: kernel
node=$(readlink -f "$(command -v node)") && [ -e "$node" ] || exit 67
ldd "$node" | grep -q libstdc || { echo "this Node.js does not use libstdc++ as a library"; exit 67; }
cd "$TMP" || exit 1
# enough frames for the mark of an error behind the first one
"$DTRACE" -q -n 'pid$target:libstdc*:_ZdlPv:entry { @[jstack(2)] = count(); calls++; }
	END { trunc(@); printf("%d calls\n", calls); }' -c "$node -e 0" >out 2>err || { cat err; exit 1; }
cat err
[ ! -s err ] && awk '/ calls$/ && $1 > 1000 { n = 1 } END { exit !n }' out || { cat out; exit 1; }
