# CPUs that come online while tracing: their records are kept and say where they are from, profile probes fire
# there; sampling faster than the kernel allows is said. The kernel's files are covered by others: no CPU really goes.
unshare -m true 2>/dev/null || exit 67
[ "$(getconf _NPROCESSORS_CONF)" -gt 1 ] || exit 67
mkdir "$TMP/sys"
cat > "$TMP/run" <<'END'
set -e
echo 0 > "$TMP/sys/online"
mount --bind "$TMP/sys/online" /sys/devices/system/cpu/online
# 1: records of CPUs that were offline
"$DTRACE" -qn 'syscall::getppid:entry /pid == $target/ { printf("%d\n", cpu); }
    syscall::getppid:entry /pid == $target && cpu != 0/ { this->p = (int *)0; trace(*this->p); }' \
    -c "$TRIGGER/calls hop 20" > "$TMP/out" 2> "$TMP/err"
[ "$(grep -c '^0$' "$TMP/out")" = 20 ]
[ "$(grep -c '^[1-9]' "$TMP/out")" = 20 ]
[ "$(grep -c 'invalid address' "$TMP/err")" -gt 0 ]
mkfifo "$TMP/begun"
# 2: timers; it exits when the second CPU has fired
("$DTRACE" -qx statusrate=10ms -n 'BEGIN { printf("begun\n"); } profile-97 /cpu != 0/ { exit(4); } tick-60s { exit(5); }' \
    > "$TMP/begun" 2> "$TMP/err" || echo $? > "$TMP/status") &
exec 3< "$TMP/begun"
read -r _ <&3
echo 0-1 > "$TMP/sys/online"
wait
grep -q 'CPUs have come or gone: timers of profile and tick probes are set anew' "$TMP/err"
[ "$(cat "$TMP/status")" = 4 ]
# 3: limits of the kernel
echo 50 > "$TMP/sys/rate"
mount --bind "$TMP/sys/rate" /proc/sys/kernel/perf_event_max_sample_rate
"$DTRACE" -qn 'profile-97, tick-10 { exit(0); }' 2> "$TMP/err"
grep -q "'profile-97' may fire less often: the kernel allows 50 samples a second" "$TMP/err"
END
unshare -m sh "$TMP/run" || { cat "$TMP/out" "$TMP/err" "$TMP/status"; exit 1; } 2>/dev/null
