# Too few descriptors, too little memory: one message with reason and remedy, or it just works.
program='BEGIN { self->x = 1; printf("begin\n"); } profile-97 { @[execname] = count(); } syscall:::entry { @c = count(); } tick-10ms { exit(0); }'
check() { # what was limited
	case $status in
	0) grep -q '^begin$' "$TMP/out" && [ ! -s "$TMP/err" ] && return ;;
	1) [ "$(grep -c '^dtrace: ' "$TMP/err")" = 1 ] && [ "$(grep -c '^hint: ' "$TMP/err")" = 1 ] &&
		[ "$(wc -l <"$TMP/err")" = 2 ] && grep -q "$2" "$TMP/err" && return ;;
	127) grep -q 'error while loading shared libraries' "$TMP/err" && return ;; # said by the loader
	esac
	echo "$1: status $status"; cat "$TMP/out" "$TMP/err"; exit 1
}
for n in 4 5 6 8 10 12 14 16 18 20 22 24 26 28 30 32 40; do
	(ulimit -n $n; exec "$DTRACE" -q -n "$program") >"$TMP/out" 2>"$TMP/err"
	status=$?
	check "$n descriptors" 'Too many open files'
done
[ $status = 0 ] || { echo "40 descriptors are not enough"; exit 1; }
(ulimit -n 8; exec "$DTRACE" -q -n BEGIN -c "sleep 1") >"$TMP/out" 2>"$TMP/err"
status=$?
check "8 descriptors for -c" 'Too many open files'

# A sanitizer reserves terabytes: its build has no small address space.
if ! grep -q '__asan_init' "$DTRACE"; then
	for kb in 4000 8000 16000 32000; do
		(ulimit -v $kb; exec "$DTRACE" -q -n "$program") >"$TMP/out" 2>"$TMP/err"
		status=$?
		check "$kb KB" 'out of memory\|Cannot allocate memory'
	done
	awk 'BEGIN { for (i = 0; i < 100000; i++) print "BEGIN { x = " i "; }" }' >"$TMP/big.d"
	(ulimit -v 30000; exec "$DTRACE" -e -s "$TMP/big.d") >"$TMP/out" 2>"$TMP/err"
	status=$?
	check "30 MB for 100,000 clauses" 'out of memory'
	[ $status = 1 ] || { echo "100,000 clauses in 30 MB: status $status"; exit 1; }
fi
