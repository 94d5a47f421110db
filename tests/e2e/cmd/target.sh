# -c and -p: $target, the run ends with the process, messages, a grabbed process goes on when dtrace is killed.
got=$("$DTRACE" -qn 'syscall::getppid:entry /pid == $target/ { @ = count(); } END { printa("%@d\n", @); }' -c "$TRIGGER/calls getppid 7" 2>"$TMP/err")
[ "$got" = "7" ] || { echo "-c: $got"; cat "$TMP/err"; exit 1; }
"$DTRACE" -n 'BEGIN' -c true >/dev/null 2>"$TMP/err"
grep -q '^dtrace: pid [0-9]* has exited$' "$TMP/err" || { echo "exit message"; cat "$TMP/err"; exit 1; }
"$DTRACE" -n 'BEGIN' -c false >/dev/null 2>"$TMP/err"
grep -q '^dtrace: pid [0-9]* exited with status 1$' "$TMP/err" || { echo "status message"; cat "$TMP/err"; exit 1; }
sleep 1000 & victim=$!
mkfifo "$TMP/out" "$TMP/out2"
"$DTRACE" -qn 'BEGIN { printf("%d\n", $target); }' -p $victim >"$TMP/out" 2>&1 & dt=$!
exec 3<"$TMP/out"
read -r _ <&3
kill -KILL $dt; wait $dt 2>/dev/null
case $(sed 's/.*) //; s/ .*//' "/proc/$victim/stat") in S | R | D) ;; *) echo "target was left stopped or dead"; exit 1 ;; esac
"$DTRACE" -qn 'BEGIN { printf("%d\n", $target); }' -p $victim >"$TMP/out2" 2>&1 & dt=$!
exec 4<"$TMP/out2"
read -r _ <&4
kill $victim; wait $victim 2>/dev/null
wait $dt || { echo "did not end with the target"; exit 1; }
