# Code made by a compiler in the process: names from perf-PID.map, also in namespaces of its own.
# @@foreign
. "$SRC/tests/e2e/names/lib.inc"
build "$TMP/program"
launch="$TRIGGER/launch $TMP/program"
names_of n "$launch $TMP/n $TMP/n jit $TMP/path" >"$TMP/made"
rm "$(cat "$TMP/path")"
sed 's/perf-[0-9]*/perf-PID/' "$TMP/made" | expect 'perf-PID.map`Function:fib made.js:7+0x2'
echo "export TRACER=\$PPID; $launch $TMP/n $TMP/n jit $TMP/path" >"$TMP/command"
"$DTRACE" -q -c "sh $TMP/command" -n 'syscall::getppid:entry /progenyof($target) && execname == "n"/
	{ @[ustack(1)] = count(); @m[umod(arg0)] = count(); }' >"$TMP/made"
rm "$(cat "$TMP/path")"
sed 's/perf-[0-9]*/perf-PID/; s/  *$//; s/  */ /g' "$TMP/made" | expect \
	' perf-PID.map`Function:fib made.js:7+0x7' ' 1' ' perf-PID.map 1'
# A map that another user has written names nothing.
names_of n "FOREIGN=1 $launch $TMP/n $TMP/n jit $TMP/path" >"$TMP/made"
rm "$(cat "$TMP/path")"
sed 's/0x[0-9a-f]*/ADDRESS/' "$TMP/made" | expect 'ADDRESS'
unshare -m true 2>/dev/null || exit 0
names_of n "unshare -m sh -c 'mount -t tmpfs none /mnt && cp $TRIGGER/launch $TMP/program /mnt && mount -t tmpfs none /tmp &&
	/mnt/launch /mnt/program /mnt/n unshare -p -f --mount-proc /mnt/n jit /mnt/path'" |
	sed 's/perf-[0-9]*/perf-PID/' | expect 'perf-PID.map`Function:fib made.js:7+0x2'
