# @@needs: kernel
# stop() and raise() of a dtrace without CAP_KILL: a fault in processes of other users, as kill(2) would fail there.
command -v setpriv >/dev/null || { echo "no setpriv"; exit 67; }
as() { caps=$1; shift; setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="$caps" --ambient-caps="$caps" "$@"; }
as +bpf,+perfmon "$DTRACE" -V >/dev/null 2>&1 || { echo "another user cannot run this dtrace"; exit 67; }
cp "$TRIGGER/calls" "$TMP/calls"
chmod 755 "$TMP" "$TMP/calls"
bad=0 victim=
trap 'kill -KILL $victim 2>/dev/null' EXIT
trace() { # CAPABILITIES PID ACTION: the clause after the action's tells whether that was reached
	as "$1" timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -wqn '
		syscall::getppid:entry /pid == '$2' && !done/ { done = 1; '"$3"'; printf("sent\n"); }
		syscall::getppid:entry /done/ { exit(0); }' >"$TMP/out" 2>"$TMP/err" || { cat "$TMP/err"; bad=1; }
}
# Root's process: neither action does anything.
"$TMP/calls" getppid 2000000000 & victim=$!
for action in 'stop()' 'raise(9)'; do
	trace +bpf,+perfmon $victim "$action"
	grep -q sent "$TMP/out" && { echo "$action goes on"; bad=1; }
	grep -q 'invalid user access' "$TMP/err" && grep -q 'need CAP_KILL' "$TMP/err" || { echo "$action: not said"; cat "$TMP/err"; bad=1; }
	grep -q '^State:.*[RS] (' /proc/$victim/status || { echo "$action: $(grep State /proc/$victim/status)"; bad=1; }
done
# With the capability it is stopped.
trace +bpf,+perfmon,+kill $victim 'stop()'
[ "$(cat "$TMP/out")" = sent ] && [ ! -s "$TMP/err" ] && grep -q '^State:.T' /proc/$victim/status || { echo "with CAP_KILL:"; cat "$TMP/out" "$TMP/err"; bad=1; }
kill -KILL $victim; wait $victim 2>/dev/null
# Its own user's process is killed without it.
setpriv --reuid=65534 --regid=65534 --clear-groups "$TMP/calls" getppid 2000000000 & victim=$!
trace +bpf,+perfmon $victim 'raise(9)'
wait $victim 2>/dev/null
[ $? = 137 ] && [ "$(cat "$TMP/out")" = sent ] || { echo "its own process:"; cat "$TMP/out" "$TMP/err"; bad=1; }
exit $bad
