# How many elements have room in dynvarsize: those of 80 bytes each, key and value and what the kernel's table needs; in an array of which elements are removed, up to 1,024 more, that have slots.
# What has no room is counted.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
cd "$TMP" || exit 1
cat >room.d <<'END'
#pragma D option quiet
#pragma D option dynvarsize=1m
uint64_t a[uint64_t], n, i, kept;
syscall::getppid:entry /pid == $target && n < 40000/ { a[n * 977] = n + 1; }
syscall::getppid:entry /pid == $target && n >= 40000/ { i = n - 40000; kept += a[i * 977] == i + 1; @other = sum(a[i * 977] != i + 1 && a[i * 977] != 0); }
syscall::getppid:entry /pid == $target/ { n++; }
END { printa("%@d ", @other); printf("%d\n", kept); }
END
(cat room.d; echo 'syscall::getsid:entry /pid == $target/ { a[arg0] = 0; }') >slots.d
# kept SCRIPT: how many elements were kept; the others were lost, and that was said
kept() {
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -s "$1" -c "$TRIGGER/calls getppid 80000" >out 2>err || fail "$1: status"
	read -r other kept <out
	[ "$other" = 0 ] && grep -qx "dtrace: $((40000 - kept)) dynamic variable drops" err || fail "$1: what was lost"
}
kept room.d
[ "$kept" = $(((1 << 20) / 80)) ] || fail "$kept elements of 1 MiB"
kept slots.d
[ "$kept" -gt $(((1 << 20) / 80)) ] && [ "$kept" -le $(((1 << 20) / 80 + 1024)) ] || fail "$kept elements of 1 MiB and of slots"
