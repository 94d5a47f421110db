# An indirect function stands for the implementation that was chosen (providers.md 19.3).
# @@foreign
bad=0
"$DTRACE" -ln 'pid$target:libc:strlen:entry' -c "$TRIGGER/funcs 4" >"$TMP/list" 2>&1 || { cat "$TMP/list"; exit 1; }
awk 'NR > 1 { print $3, $4, $5 }' "$TMP/list" | grep -qx 'libc.so.6 strlen entry' || { cat "$TMP/list"; bad=1; }
# f_pair() calls it once a round, with "seven77": 7
"$DTRACE" -qn 'pid$target:libc:strlen:return { @[arg1] = count(); } END { printa("%d %@d\n", @); }' -c "$TRIGGER/funcs 4" >"$TMP/out" 2>"$TMP/err"
grep -qx '7 4' "$TMP/out" || { cat "$TMP/out" "$TMP/err"; bad=1; }
# by whatever name it is found, the implementation is probed once: every name of every implementation is asked for here
"$DTRACE" -qn 'pid$target:libc:*strlen*:entry /arg0 != 0/ { self->depth++; @calls = count(); @deep = max(self->depth); @name[probefunc] = count(); }
	pid$target:libc:*strlen*:return { self->depth--; } END { printa("%@d %@d\n", @calls, @deep); printa("%s\n", @name); }' \
	-c "$TRIGGER/funcs 4" >"$TMP/out" 2>"$TMP/err"
[ "$(cat "$TMP/out")" = "$(printf '4 1\nstrlen')" ] || { echo 'nested:'; cat "$TMP/out" "$TMP/err"; bad=1; }
# the implementation's own name finds it, too, and a program that gives both has one firing for each clause
impl=$("$DTRACE" -ln 'pid$target:libc:__strlen_*:entry' -c "$TRIGGER/funcs 4" 2>/dev/null | awk '$4 ~ /^__strlen/ { print $4 }' | tr '\n' ' ')
for name in $impl; do
	got=$("$DTRACE" -qn 'pid$target:libc:strlen:entry { @[probefunc] = count(); } pid$target:libc:'"$name"':entry { @[probefunc] = count(); }
		END { printa("%s %@d ", @); }' -c "$TRIGGER/funcs 4" 2>"$TMP/err")
	case $got in "strlen 4 " | "strlen 8 ") ;; *) echo "with $name: '$got'"; cat "$TMP/err"; bad=1 ;; esac
done
exit $bad
