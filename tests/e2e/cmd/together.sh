# Two at once do not see each other's variables, aggregations or exits; both count the same calls.
me=tog$$ # other tests run calls, too
cp "$TRIGGER/calls" "$TMP/$me"
for i in 1 2; do
	mkfifo "$TMP/fifo$i"
	"$DTRACE" -qn 'int n; syscall::getppid:entry /execname == "'$me'"/ { n++; @[pid] = count(); } syscall::getpgid:entry /execname == "'$me'"/ { exit(0); }
		BEGIN { printf("up\n"); } END { printf("%d\n", n); printa("%@d\n", @); }' >"$TMP/fifo$i" 2>&1 &
	eval pid$i=$!
done
exec 3<"$TMP/fifo1" 4<"$TMP/fifo2"
read -r up1 <&3
read -r up2 <&4
"$TMP/$me" getppid 100
kill -TERM $pid1; cat <&3 >"$TMP/out1"; wait $pid1 || { cat "$TMP/out1"; exit 1; }
kill -TERM $pid2; cat <&4 >"$TMP/out2"; wait $pid2 || { cat "$TMP/out2"; exit 1; }
[ "$up1$up2" = upup ]
printf '\n100\n100\n\n' >"$TMP/want"
for i in 1 2; do diff "$TMP/want" "$TMP/out$i" || exit 1; done
