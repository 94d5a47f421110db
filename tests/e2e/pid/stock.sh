# Functions of stock programs, entry and return: their output is what it is without probes. Each place of libc costs
# the kernel a walk over all processes, during which nothing forks: so these are a part of its functions.
# @@foreign
bad=0
probes='pid$target:a.out::entry, pid$target:a.out::return, pid$target:libc:mem*:entry, pid$target:libc:str*:entry, pid$target:libc:*alloc*:entry, pid$target:libc:*read*:return, pid$target:libc:*write*:return, pid$target:libc:*printf*:entry'
check() { # command
	rm -f "$TMP/counts"
	$1 >"$TMP/want" 2>&1
	"$DTRACE" -Zqo "$TMP/counts" -n "$probes"' { @[probename] = count(); }' -c "$1" >"$TMP/got" 2>"$TMP/err"
	cmp -s "$TMP/want" "$TMP/got" || { echo "$1:"; diff "$TMP/want" "$TMP/got"; cat "$TMP/err"; bad=1; }
	[ "$(awk '{ n += $2 } END { print n }' "$TMP/counts")" -gt 5 ] || { echo "$1: counts"; cat "$TMP/counts" "$TMP/err"; bad=1; }
}
cd "$SRC" || exit 1
# a kernel older than 6.6 has at most 512 of these probes
"$DTRACE" -Zqn "$probes { }" -c true 2>&1 | grep -q 'lacks BPF links to many uprobes at once (Linux 6.6): at most 512' &&
	probes='pid$target:libc:mem*:entry, pid$target:libc:*alloc*:entry, pid$target:libc:*write*:return'
check 'ls -la /usr/bin'
check 'sort -r README.md'
check 'awk {print$1} README.md'
check 'sed s/e/X/g README.md'
check 'gzip -c README.md'
check 'sha256sum README.md'
exit $bad
