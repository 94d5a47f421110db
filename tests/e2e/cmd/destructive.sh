# -w: system(), freopen() and raise(); without it nothing starts.
for act in 'system("true")' 'raise(9)' 'stop()' 'freopen("/tmp/x")'; do
	"$DTRACE" -n "BEGIN { $act; exit(0); }" >"$TMP/out" 2>&1 && { echo "$act allowed"; exit 1; }
	grep -q '^dtrace: could not enable tracing: Destructive actions not allowed$' "$TMP/out" || { cat "$TMP/out"; exit 1; }
done
"$DTRACE" -wn 'BEGIN { exit(0); }' 2>&1 | grep -qx 'dtrace: allowing destructive actions' || { echo "no notice"; exit 1; }
got=$("$DTRACE" -wqn 'BEGIN { printf("one\n"); system("echo %s %d", "two", 2); printf("three\n"); exit(0); }')
[ "$got" = "one
two 2
three" ] || { echo "system: $got"; exit 1; }
got=$("$DTRACE" -wqn 'BEGIN { freopen("%s/f.%d", $$1, 5); printf("in file\n"); freopen(""); printf("back\n"); exit(0); }' "$TMP")
[ "$got" = back ] && [ "$(cat "$TMP/f.5")" = "in file" ] || { echo "freopen: $got"; ls "$TMP"; exit 1; }
"$DTRACE" -wqn 'BEGIN { freopen("/no/such/x"); printf("still here\n"); exit(0); }' >"$TMP/out" 2>"$TMP/err" || exit 1
grep -q "couldn't freopen() \"/no/such/x\": No such file or directory" "$TMP/err" && grep -q 'still here' "$TMP/out" || { cat "$TMP/out" "$TMP/err"; exit 1; }
"$DTRACE" -wn 'syscall::getppid:entry /pid == $target/ { raise(9); }' -c "$TRIGGER/calls getppid 100" >"$TMP/out" 2>"$TMP/err" || exit 1
grep -q '^dtrace: pid [0-9]* terminated by SIGKILL$' "$TMP/err" || { cat "$TMP/err"; exit 1; }
[ "$(grep -c getppid:entry "$TMP/out")" = 0 ] || { echo "a record of raise()"; cat "$TMP/out"; exit 1; }
