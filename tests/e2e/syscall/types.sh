# The type of every argument of every system call can be resolved, and looked into where it is a structure; pointers are
# userland pointers; -lv shows what args[] is (providers.md 4.7).
"$DTRACE" -lvn 'syscall:::entry' >"$TMP/list" 2>"$TMP/err" || { cat "$TMP/err"; exit 1; }
awk '$2 == "syscall" { name = $4 }
/^\t\targs\[/ { n = $1; sub(/^args\[/, "", n); sub(/\]:$/, "", n); a[name] = a[name] "trace(args[" n "]);"; types++
	if (/\*/ && !/: userland /) { print "no user pointer: " name " " $0; bad = 1 } }
END { if (types < 900) { print types " arguments only"; bad = 1 }
	for (f in a) print "syscall::" f ":entry {" a[f] "}" > out; exit bad }' out="$TMP/all.d" "$TMP/list" || exit 1
"$DTRACE" -e -s "$TMP/all.d" >"$TMP/out" 2>"$TMP/err" || { head -20 "$TMP/err"; exit 1; }
