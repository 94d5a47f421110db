# A CPU that goes offline between the look at the list and the timer's start takes no timer: the others count, and a tick
# finds another CPU.
n=0 seen=0
while n=$((n + 1)); do
	rm -f "$TMP/failed"
	FATHOM_FAIL=$n:ENODEV FATHOM_FAIL_LOG=$TMP/failed timeout 100 "$DTRACE" -qn 'profile-97 { @ = count(); } tick-50ms { exit(0); }' \
		>"$TMP/out" 2>"$TMP/err"
	status=$?
	[ -f "$TMP/failed" ] || break
	grep -q perf_event_open "$TMP/failed" || continue
	seen=$((seen + 1))
	[ $status = 0 ] || { echo "call $n: $(cat "$TMP/failed"): status $status"; cat "$TMP/err"; exit 1; }
done
[ $seen -ge 2 ] || { echo "only $seen timers were started"; exit 1; }
