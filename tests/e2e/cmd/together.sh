# @@exclusive
# Two at once do not see each other's variables, aggregations or exits; both count the same calls.
for i in 1 2; do
	"$DTRACE" -qn 'int n; syscall::getppid:entry /execname == "calls"/ { n++; @[pid] = count(); } syscall::getpgid:entry /execname == "calls"/ { exit(0); }
		BEGIN { printf("up\n"); } END { printf("%d\n", n); printa("%@d\n", @); }' >"$TMP/out$i" 2>&1 &
	eval pid$i=$!
done
i=0
while [ "$(cat "$TMP/out1" "$TMP/out2" | grep -c up)" != 2 ] && [ $i -lt 400 ]; do i=$((i + 1)); sleep 0.05; done
"$TRIGGER/calls" getppid 100
kill -TERM $pid1; wait $pid1 || { cat "$TMP/out1"; exit 1; }
kill -TERM $pid2; wait $pid2 || { cat "$TMP/out2"; exit 1; }
printf 'up\n\n100\n100\n\n' >"$TMP/want"
for i in 1 2; do diff "$TMP/want" "$TMP/out$i" || exit 1; done
