# A speculation that is full, ids that ran out: counted, and the rest is committed.
"$DTRACE" -q -x specsize=256 -x droptags -x nspec=1 -n 'BEGIN { n = 0; sp = speculation(); other = speculation(); third = speculation(); }
	tick-1ms /n < 20/ { speculate(sp); printf("n %d\n", n); }
	tick-1ms /n < 20/ { n++; }
	tick-1ms /n == 20/ { commit(sp); }
	tick-1ms /n == 20/ { exit(0); }' >"$TMP/out" 2>"$TMP/err" || { cat "$TMP/err"; exit 1; }
kept=$(grep -c '^n ' "$TMP/out")
grep -qx "dtrace: \[DTRACEDROP_SPEC\] $((20 - kept)) speculative drops" "$TMP/err" || { echo "$kept kept"; cat "$TMP/err"; exit 1; }
grep -qx 'dtrace: \[DTRACEDROP_SPECUNAVAIL\] 2 failed speculations (no speculative buffer available)' "$TMP/err" || { cat "$TMP/err"; exit 1; }
[ "$kept" -gt 1 ] && [ "$kept" -lt 20 ] || { echo "$kept kept"; exit 1; }
"$DTRACE" -q -x nspec=0 -n 'BEGIN { printf("%d", speculation()); exit(0); }' 2>"$TMP/err" | grep -qx 0 || { echo "nspec=0"; cat "$TMP/err"; exit 1; }
"$DTRACE" -x nspec=2000000 -n BEGIN 2>"$TMP/err" && { echo "nspec=2000000 is accepted"; exit 1; }
grep -q nspec "$TMP/err" || { cat "$TMP/err"; exit 1; }
