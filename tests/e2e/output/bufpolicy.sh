# Policies of the buffer: ring keeps the latest, fill ends the run when it is full, and both print at the end.
"$DTRACE" -q -b 4k -x bufpolicy=ring -n 'syscall::getppid:entry /pid == $target/ { printf("n %d\n", ++n); } END { printf("end\n"); }' \
	-c "$TRIGGER/calls getppid 5000" >"$TMP/ring" 2>"$TMP/err" || { cat "$TMP/err"; exit 1; }
tail -n 3 "$TMP/ring" | head -n 2 | tr '\n' ' ' | grep -q '^n 5000 end ' || { echo ring; tail -n 3 "$TMP/ring"; cat "$TMP/err"; exit 1; }
kept=$(grep -c '^n ' "$TMP/ring")
[ "$kept" -gt 50 ] && [ "$kept" -lt 500 ] || { echo "ring: $kept kept"; exit 1; }
"$DTRACE" -q -b 4k -x bufpolicy=fill -n 'syscall::getppid:entry /pid == $target/ { printf("n %d\n", ++n); } END { printf("end\n"); }' \
	-c "$TRIGGER/calls getppid 5000" >"$TMP/fill" 2>"$TMP/err" || { cat "$TMP/err"; exit 1; }
kept=$(grep -c '^n ' "$TMP/fill")
[ "$(head -n 1 "$TMP/fill")" = "n 1" ] && grep -qx "n $kept" "$TMP/fill" && grep -qx end "$TMP/fill" || { echo fill; head "$TMP/fill"; exit 1; }
[ "$kept" -gt 50 ] && [ "$kept" -lt 500 ] || { echo "fill: $kept kept"; exit 1; }
grep -q '^dtrace: 1 drop on CPU' "$TMP/err" || { cat "$TMP/err"; exit 1; }
"$DTRACE" -q -x bufpolicy=ring -n 'BEGIN { printf("a"); trace(*(int *)8); } BEGIN { printf("b\n"); exit(3); }' >"$TMP/out" 2>"$TMP/err"
[ $? = 3 ] && [ "$(head -n 1 "$TMP/out")" = b ] && grep -q 'invalid address' "$TMP/err" || { echo small; cat "$TMP/out" "$TMP/err"; exit 1; }
