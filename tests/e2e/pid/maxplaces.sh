# More places in processes than option maxplaces: the message names it, and the value that would do.
command="$TRIGGER/funcs 10"
want=$("$DTRACE" -l -n 'pid$target:funcs::entry' -c "$command" | grep -c entry)
[ "$want" -gt 5 ] || { echo "only $want functions"; exit 1; }
"$DTRACE" -qn 'pid$target:funcs::entry { @ = count(); }' -x maxplaces=3 -c "$command" >"$TMP/out" 2>"$TMP/err" && { echo "not refused"; exit 1; }
grep -q "^dtrace: could not enable tracing: $want places in processes are too many: at most 3 are probed at once$" "$TMP/err" &&
	grep -q "^hint: .* or raise the limit: -x maxplaces=$want$" "$TMP/err" || { cat "$TMP/err"; exit 1; }
"$DTRACE" -qn 'pid$target:funcs::entry { @ = count(); } BEGIN { exit(0); }' -x maxplaces="$want" -c "$command" || { echo "$want refused"; exit 1; }
