# @@timeout: 240
# An indirect function stands for the implementation that was chosen (providers.md 19.3).
bad=0
"$DTRACE" -ln 'pid$target:libc:strlen:entry' -c "$TRIGGER/funcs 4" >"$TMP/list" 2>&1 || { cat "$TMP/list"; exit 1; }
awk 'NR > 1 { print $3, $4, $5 }' "$TMP/list" | grep -qx 'libc.so.6 strlen entry' || { cat "$TMP/list"; bad=1; }
# f_pair() calls it once a round, with "seven77": 7
"$DTRACE" -qn 'pid$target:libc:strlen:return { @[arg1] = count(); } END { printa("%d %@d\n", @); }' -c "$TRIGGER/funcs 4" >"$TMP/out" 2>"$TMP/err"
grep -qx '7 4' "$TMP/out" || { cat "$TMP/out" "$TMP/err"; bad=1; }
exit $bad
