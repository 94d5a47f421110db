# @@exclusive
# After kill -9 nothing of ours is left in the kernel: no program, no map, no event.
before=$("$TRIGGER/bpfcount")
"$DTRACE" -qn 'BEGIN { printf("up\n"); } syscall:::entry { @[execname] = count(); self->x = 1; } profile-97 { @p = count(); }' >"$TMP/out" 2>&1 & dt=$!
i=0
while ! grep -q up "$TMP/out" && [ $i -lt 200 ]; do i=$((i + 1)); sleep 0.05; done
during=$("$TRIGGER/bpfcount")
[ "$during" -gt "$before" ] || { echo "nothing was loaded: $before, $during"; exit 1; }
kill -KILL $dt; wait $dt 2>/dev/null
i=0
while [ "$("$TRIGGER/bpfcount")" -gt "$before" ] && [ $i -lt 100 ]; do i=$((i + 1)); sleep 0.1; done
[ "$("$TRIGGER/bpfcount")" -le "$before" ] || { echo "left behind: $("$TRIGGER/bpfcount"), was $before"; exit 1; }
