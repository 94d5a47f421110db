# Output that cannot be written: one message that names it, exit status 1; a closed pipe ends the command silently.
"$DTRACE" -qn 'BEGIN { printf("x\n"); exit(0); }' >/dev/full 2>"$TMP/err" && { echo "a full disk went unnoticed"; exit 1; }
[ "$(cat "$TMP/err")" = "dtrace: failed to write to <stdout>: No space left on device" ] || { cat "$TMP/err"; exit 1; }
"$DTRACE" -qn 'BEGIN { printf("x\n"); exit(0); }' -o /dev/full 2>"$TMP/err" && { echo "a full disk went unnoticed (-o)"; exit 1; }
[ "$(cat "$TMP/err")" = "dtrace: failed to write to /dev/full: No space left on device" ] || { cat "$TMP/err"; exit 1; }
"$DTRACE" -l >/dev/full 2>"$TMP/err" && { echo "a full disk went unnoticed (-l)"; exit 1; }
grep -q '^dtrace: failed to write to <stdout>: No space left on device' "$TMP/err" || { cat "$TMP/err"; exit 1; }
"$DTRACE" -n 'BEGIN { exit(0); }' -o /no/such/dir/file 2>"$TMP/err" && exit 1
grep -q "^dtrace: failed to open output file '/no/such/dir/file': No such file or directory" "$TMP/err" || { cat "$TMP/err"; exit 1; }
"$DTRACE" -qn 'tick-5ms { printf("x\n"); }' 2>"$TMP/err" | head -2 >"$TMP/out"
[ "$(cat "$TMP/out")" = "x
x" ] && [ ! -s "$TMP/err" ] || { cat "$TMP/out" "$TMP/err"; exit 1; }
# -o appends
for i in 1 2; do "$DTRACE" -qn 'BEGIN { printf("run '$i'\n"); exit(0); }' -o "$TMP/log" || exit 1; done
[ "$(grep -c '^run [12]$' "$TMP/log")" = 2 ] || { cat "$TMP/log"; exit 1; }
# nothing is lost without a message, whatever was to be written, on a full disk or to a stream that is closed
lost()
{
	sh -c "$1" 2>"$TMP/err" && { echo "went unnoticed: $1"; exit 1; }
	[ "$(cat "$TMP/err")" = "dtrace: failed to write to <stdout>: $2" ] || { echo "$1"; cat "$TMP/err"; exit 1; }
}
agg='BEGIN { @ = count(); exit(0); }'
for args in -V --help "-e -v -n 'BEGIN { trace(1); }'" "-qn '$agg'" "-l -n BEGIN"; do
	lost "\"$DTRACE\" $args >/dev/full" "No space left on device"
	lost "\"$DTRACE\" $args >&-" "Bad file descriptor"
done
"$DTRACE" -qn 'BEGIN { printf("x\n"); exit(4); }' -o "$TMP/closed" <&- >&- 2>&-
[ $? = 4 ] && grep -q x "$TMP/closed" || { echo "-o does not need the streams"; exit 1; }
