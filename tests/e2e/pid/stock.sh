# @@timeout: 120
# Many functions of stock programs, entry and return: their output is what it is without probes.
bad=0
check() { # command
	rm -f "$TMP/counts"
	$1 >"$TMP/want" 2>&1
	"$DTRACE" -qo "$TMP/counts" -n 'pid$target:libc.so.6:[a-m]*:entry, pid$target:libc.so.6:[a-m]*:return { @[probename] = count(); }' -c "$1" >"$TMP/got" 2>"$TMP/err"
	cmp -s "$TMP/want" "$TMP/got" || { echo "$1:"; diff "$TMP/want" "$TMP/got" | head -5; cat "$TMP/err"; bad=1; }
	[ "$(awk '$1 == "entry" { print $2 }' "$TMP/counts")" -gt 50 ] || { echo "$1: counts"; cat "$TMP/counts" "$TMP/err"; bad=1; }
}
cd /
check 'ls -la /usr/lib/x86_64-linux-gnu'
check 'sort -r /etc/services'
check 'sed s/e/X/g /etc/services'
exit $bad
