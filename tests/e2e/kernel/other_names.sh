# Variables of other systems' kernels have the numbers of this machine; the program's own names are not taken.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
awk '$1 == "MemFree:" { print int($2 * 1024 / 4096) }' /proc/meminfo >"$TMP/free"
timeout 60 "$DTRACE" -qn 'BEGIN { physmem = 7; printf("%d %d %d %d %d %d\n", `physmem, `_pagesize, `ncpus, `hz * `usec_per_tick, `freemem, physmem); began = `lbolt; at = timestamp; }
	tick-300ms { printf("%d\n", (`lbolt - began) * `nsec_per_tick / ((timestamp - at) / 100)); exit(0); }' >"$TMP/out" 2>"$TMP/err" || fail "failed"
read -r physmem pagesize ncpus second free own <"$TMP/out"
[ "$physmem" = "$(getconf _PHYS_PAGES)" ] && [ "$pagesize" = "$(getconf PAGESIZE)" ] && [ "$ncpus" = "$(getconf _NPROCESSORS_ONLN)" ] && [ "$own" = 7 ] || fail "constants"
[ "$second" -gt 999000 ] && [ "$second" -le 1000000 ] || fail "ticks of a second"
read -r before <"$TMP/free"
[ $((free > before ? free - before : before - free)) -lt $((physmem / 4)) ] || fail "free memory: $free, $before pages"
percent=$(sed -n 2p "$TMP/out")
[ "$percent" -ge 90 ] && [ "$percent" -le 110 ] || fail "the ticks of a time"
exit 0
