# mallocstacks leaves out what was freed, and knows all functions that hand out memory.
command -v cc >/dev/null || exit 67
cc -O1 -o "$TMP/blocks" "$SRC/tests/e2e/agg/mallocstacks.c" || exit 1
cd "$TMP" || exit 1
sh "$SRC/commands/command" "$SRC/commands/mallocstacks" ./blocks >out 2>err || { cat out err; exit 1; }
# each stack is one line: its functions, and what is there
awk '/`/ { sub(/^ */, ""); sub(/^[^`]*`/, ""); s = s " " $0; next } / blocks, for / { print s ": " $1, $4; s = "" }' out |
	sed -n 's/^\(.*\) main.*: /\1: /p' | sort >got
cat >wanted <<'X'
 calloc align: 21 1
 malloc leak: 40000 10
 posix_memalign align: 128 1
 realloc grow: 1000 1
X
diff wanted got || { cat out err; exit 1; }
