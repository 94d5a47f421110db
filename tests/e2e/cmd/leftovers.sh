# @@exclusive
# After kill -9 nothing of ours is left in the kernel: no program, no map, no event.
before=$("$TRIGGER/bpfcount")
mkfifo "$TMP/out"
"$DTRACE" -qn 'BEGIN { printf("up\n"); } syscall:::entry { @[execname] = count(); self->x = 1; } profile-97 { @p = count(); }' >"$TMP/out" 2>&1 & dt=$!
exec 3<"$TMP/out"
read -r _ <&3
during=$("$TRIGGER/bpfcount")
[ "$during" -gt "$before" ] || { echo "nothing was loaded: $before, $during"; exit 1; }
kill -KILL $dt; wait $dt 2>/dev/null
i=0
while [ "$("$TRIGGER/bpfcount")" -gt "$before" ] && [ $i -lt 300 ]; do i=$((i + 1)); sleep 0.1; done
[ "$("$TRIGGER/bpfcount")" -le "$before" ] || { echo "left behind: $("$TRIGGER/bpfcount"), was $before"; exit 1; }
