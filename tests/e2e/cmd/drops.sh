# An overloaded run loses records, says how many, and accounts for every one.
"$DTRACE" -q -b 16k -x switchrate=500ms -n 'syscall::getppid:entry /pid == $target/ { printf("rec %s %d\n", execname, timestamp); @ = count(); } END { printa("total %@d\n", @); }' \
	-c "$TRIGGER/calls getppid 300000" >"$TMP/out" 2>"$TMP/err" || { cat "$TMP/err"; exit 1; }
kept=$(grep -c '^rec ' "$TMP/out")
lost=$(awk '/drops? on CPU/ { n += $2 } END { print n + 0 }' "$TMP/err")
total=$(sed -n 's/^total //p' "$TMP/out")
[ "$lost" -gt 0 ] || { echo "no drops reported ($kept kept)"; head "$TMP/err"; exit 1; }
[ "$total" = 300000 ] || { echo "counted $total"; exit 1; }
[ $((kept + lost)) = 300000 ] || { echo "$kept kept + $lost lost != 300000"; exit 1; }
