# After kill -9 nothing of this dtrace is left in the kernel: no program, and so no map and no event of it.
uid=$((1000000000 + $$)) # a user of its own: other runs on this machine do not count
count() { "$TRIGGER/bpfcount" $uid; }
[ "$(count)" = 0 ] || { echo "programs of user $uid: $(count)"; exit 1; }
mkfifo "$TMP/out"
"$TRIGGER/asuser" $uid "$DTRACE" -qn 'BEGIN { printf("up\n"); } syscall:::entry { @[execname] = count(); self->x = 1; } profile-97 { @p = count(); }' >"$TMP/out" 2>&1 & dt=$!
exec 3<"$TMP/out"
read -r up <&3
[ "$(count)" -gt 0 ] || { echo "nothing was loaded: $up"; exit 1; }
kill -KILL $dt; wait $dt 2>/dev/null
i=0
while [ "$(count)" -gt 0 ] && [ $i -lt 300 ]; do i=$((i + 1)); sleep 0.1; done
[ "$(count)" = 0 ] || { echo "left behind: $(count) programs"; exit 1; }
