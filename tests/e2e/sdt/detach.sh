# The kernel takes 60 ms to detach an event. A session with many of them ends at once, and another process sees that nothing is left; killed, too.
# (with sanitizers, the end of dtrace itself takes as long)
uid=$((200000 + $$))
count() { "$TRIGGER/bpfcount" $uid; }
gone() { i=0; while [ "$(count)" -gt 0 ] && [ $i -lt 600 ]; do i=$((i + 1)); sleep 0.1; done; [ "$(count)" = 0 ] || { echo "$1: programs are left behind"; exit 1; }; }
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
timeout 60 "$TRIGGER/asuser" $uid "$DTRACE" -qn 'sdt:block::, sdt:ext4:: { @ = count(); } tick-10ms { exit(0); }' >"$TMP/out" 2>"$TMP/err" || fail "failed"
left=$(count)
[ "$left" -gt 20 ] || [ -n "$SANITIZED" ] || fail "dtrace has waited for its events: $left programs are left at its end"
gone "ended"
mkfifo "$TMP/on"
"$TRIGGER/asuser" $uid "$DTRACE" -qn 'sdt:block::, sdt:ext4:: { @ = count(); } tick-10ms { printf("on\n"); }' >"$TMP/on" 2>"$TMP/err" &
read -r line <"$TMP/on"
kill -9 $!
wait $! 2>/dev/null
left=$(count)
[ "$left" -gt 20 ] || [ -n "$SANITIZED" ] || fail "killed: the kernel has waited for the events: $left programs are left"
gone "killed"
