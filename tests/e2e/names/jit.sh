# Code made by a compiler in the process: names from perf-PID.map, also in namespaces of its own.
. "$SRC/tests/e2e/names/lib.inc"
build "$TMP/n"
names_of n "$TMP/n jit $TMP/path" >"$TMP/made"
rm "$(cat "$TMP/path")"
sed 's/perf-[0-9]*/perf-PID/' "$TMP/made" | expect 'perf-PID.map`Function:fib made.js:7+0x2'
echo "$TMP/n jit $TMP/path" >"$TMP/command"
"$DTRACE" -q -c "sh $TMP/command" -n 'syscall::getppid:entry /progenyof($target) && execname == "n"/
	{ @[ustack(1)] = count(); @m[umod(arg0)] = count(); }' >"$TMP/made"
rm "$(cat "$TMP/path")"
sed 's/perf-[0-9]*/perf-PID/; s/  *$//; s/  */ /g' "$TMP/made" | expect \
	' perf-PID.map`Function:fib made.js:7+0x7' ' 1' ' perf-PID.map 1'
unshare -m true 2>/dev/null || exit 0
names_of n "unshare -m -p -f --mount-proc sh -c 'mount -t tmpfs none /mnt && cp $TMP/n /mnt/n && mount -t tmpfs none /tmp &&
	/mnt/n jit /mnt/path; sleep 0.2'" | sed 's/perf-[0-9]*/perf-PID/' | expect 'perf-PID.map`Function:fib made.js:7+0x2'
