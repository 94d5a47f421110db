# In a time namespace, whose clocks are ahead of the kernel's or behind, records are still those of the processes that made them.
unshare -T --fork true 2>/dev/null || exit 67
for shift in 100000 -20; do
	timeout 60 unshare -T --monotonic $shift --boottime 777 --fork "$DTRACE" -qn '
		syscall::getppid:entry /pid == $target/ { ustack(2); } syscall::getppid:entry /pid == $target && n++/ { exit(0); }' \
		-c "$TRIGGER/calls getppid 9" >"$TMP/out" 2>&1
	grep -q 'calls`do_getppid+0x' "$TMP/out" || { echo "shifted by $shift s"; cat "$TMP/out"; exit 1; }
done
