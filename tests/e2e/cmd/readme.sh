# Every one-liner of the README works as written: it runs, ends on SIGTERM, prints something, complains of nothing but what a busy machine causes.
fail=0 n=0
sed -n 's/^    dtrace /dtrace /p' README.md >"$TMP/lines"
while IFS= read -r line; do
	n=$((n + 1))
	( eval "exec \"$DTRACE\" ${line#dtrace }" ) >"$TMP/out" 2>"$TMP/err" </dev/null &
	pid=$!
	for i in 1 2 3; do
		"$TRIGGER/calls" read 2000; "$TRIGGER/calls" badclose 100; "$TRIGGER/strings" /etc/passwd
		sleep 0.3
	done
	sleep 0.5
	kill -TERM $pid 2>/dev/null
	wait $pid
	status=$?
	if [ $status != 0 ] || [ ! -s "$TMP/out" ] || grep '^dtrace:' "$TMP/err" | grep -vq 'matched [0-9]* probe\|has exited\|invalid address\|drops\{0,1\} on CPU'; then
		echo "$line: status $status"; head -5 "$TMP/err"; fail=1
	fi
done <"$TMP/lines"
[ $n -ge 10 ] || { echo "only $n one-liners in the README"; fail=1; }
exit $fail
