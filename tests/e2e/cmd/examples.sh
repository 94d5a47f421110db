# Every example compiles, traces a live workload for a moment, ends on SIGTERM with status 0 and prints something.
fail=0
for script in examples/*.d; do
	args=
	case $script in */slowcalls.d) args=0 ;; */oncpu.d) args=1 ;; esac
	"$DTRACE" -s "$script" $args >"$TMP/out" 2>"$TMP/err" &
	pid=$!
	# A workload until the script has printed a line or two seconds are over.
	for i in 1 2 3 4 5 6 7 8 9 10; do
		"$TRIGGER/calls" write 20000; "$TRIGGER/calls" badclose 100; "$TRIGGER/strings" /etc/passwd
	done
	sleep 1.2
	kill -TERM $pid 2>/dev/null
	wait $pid
	status=$?
	if [ $status != 0 ] || [ ! -s "$TMP/out" ] || grep '^dtrace: [^s]' "$TMP/err" | grep -qv 'invalid address\|drops\{0,1\} on CPU'; then
		echo "$script: status $status"; head -5 "$TMP/err"; fail=1
	fi
done
exit $fail
