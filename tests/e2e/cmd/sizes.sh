# Sizes: buffers that there is no memory for, hints that suggest more than was set, options that can grow.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
run() { timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q "$@" >"$TMP/out" 2>"$TMP/err"; }

# On a machine with 200 MB to spare 2g is lowered to half of that for all CPUs, or refused.
printf 'MemTotal: 4000000 kB\nMemAvailable:   200000 kB\n' >"$TMP/meminfo"
small() { unshare -m sh -c 'mount --bind "$1" /proc/meminfo && shift && exec timeout $((60 * ${PATIENCE:-1})) "$@"' sh "$TMP/meminfo" "$DTRACE" -q "$@" >"$TMP/out" 2>"$TMP/err"; }
if unshare -m mount --bind "$TMP/meminfo" /proc/meminfo 2>/dev/null; then
	small -b 2g -n 'BEGIN { printf("traced\n"); exit(0); }' || fail "-b 2g"
	grep -qE '^dtrace: buffer size lowered to [0-9]+[mk]$' "$TMP/err" && grep -qx traced "$TMP/out" || fail "-b 2g is not lowered"
	[ "$(wc -l <"$TMP/err")" = 1 ] || fail "-b 2g says more"
	small -b 8g -x quietresize -n 'BEGIN { exit(0); }' && [ ! -s "$TMP/err" ] || fail "-b 8g with quietresize"
	small -b 2g -x bufresize=manual -n 'BEGIN { exit(0); }' && fail "-b 2g is made"
	grep -q 'no memory for buffers of this size' "$TMP/err" && grep -qE '^hint: .*there is room for -b [0-9]+[mk]$' "$TMP/err" || fail "-b 2g with manual"
	small -b 1t -n 'BEGIN { exit(0); }' && grep -qE '^dtrace: buffer size lowered to [0-9]+[mk]$' "$TMP/err" || fail "-b 1t is not lowered"
	small -x aggsize=1t -x dynvarsize=8g -n 'BEGIN { @[1] = count(); x[1] = 1; exit(0); }' || fail "aggsize=1t"
	grep -qE '^dtrace: aggregation size lowered to [0-9]+[mk]$' "$TMP/err" && grep -qE '^dtrace: dynamic variable size lowered to [0-9]+[mk]$' "$TMP/err" &&
		[ "$(wc -l <"$TMP/err")" = 2 ] || fail "aggsize=1t, dynvarsize=8g are not lowered"
	small -x aggsize=1t -n 'BEGIN { exit(0); }' && [ ! -s "$TMP/err" ] || fail "aggsize=1t without an aggregation"
	small -x bufresize=manual -x aggsize=1t -x dynvarsize=1t -n 'BEGIN { @[1] = count(); x[1] = 1; exit(0); }' && [ ! -s "$TMP/err" ] || fail "aggsize=1t with manual"
	# what has been lowered cannot be raised: no hint to do so
	small -b 2g -n 'syscall:::entry { n++; } BEGIN { exit(0); }' || fail "lowered"
fi
for size in 1025t 99999999999t 99999999999999999999; do
	run -b $size -n 'BEGIN { exit(0); }' && fail "-b $size is accepted"
	grep -q "'bufsize' lies between" "$TMP/err" || fail "-b $size"
done

# More room than there is now, at least four times as much.
hint() { # what the hint has to say, arguments
	want=$1; shift
	run "$@" || fail "$*"
	grep -q "^hint: .* or make room: $want\$" "$TMP/err" || fail "$*: no '$want'"
}
keys='BEGIN { @[0] = count(); @[1] = count(); } tick-1000hz /n < 100000/ { @[n++] = count(); @[n++] = count(); @[n++] = count(); @[n++] = count(); } END { trunc(@); } tick-200ms { exit(0); }'
hint '-x aggsize=16m' -x aggsize=4k -n "$keys"
elements='tick-1000hz { x[i++] = 1; x[i++] = 1; x[i++] = 1; x[i++] = 1; } tick-200ms { exit(0); }'
hint '-x dynvarsize=16m' -x dynvarsize=4k -n "$elements"
specs='BEGIN { speculation(); speculation(); speculation(); speculation(); exit(0); }'
hint '-x nspec=16' -x nspec=1 -n "$specs"
many='BEGIN { i = 0; } tick-5000hz { speculation(); speculation(); speculation(); speculation(); speculation(); } tick-200ms { exit(0); }'
hint '-x nspec=128' -x nspec=20 -n "$many"
full='BEGIN { s = speculation(); } tick-1000hz { speculate(s); printf("%d", n++); } tick-200ms { exit(0); }'
hint '-x specsize=256k' -x specsize=100 -n "$full"
scratch='BEGIN { n = 300000; x = alloca(n); x = alloca(n); x = alloca(n); x = alloca(n); } BEGIN { exit(0); }'
hint '-x scratchsize=256k' -n "$scratch"
hint '-x scratchsize=2m' -x scratchsize=400k -n "$scratch"
run -x scratchsize=2m -n "$scratch" && [ ! -s "$TMP/err" ] || fail "scratchsize=2m"
flood='syscall:::entry { tracemem(curthread, 2048); }'
hint '-b 16m' -b 16k -x switchrate=10s -n "$flood" -c 'dd if=/dev/zero of=/dev/null bs=1 count=20000'
hint '-b 64m' -b 16m -x bufpolicy=switch -x switchrate=10s -n "$flood" -c 'dd if=/dev/zero of=/dev/null bs=1 count=20000'

# print(): what a later program or setopt() says counts for all clauses
big='struct big { char a[6000]; char b[6000]; }; struct big v; BEGIN { v.b[5999] = 33; print(v); }'
run -n "$big" -n 'BEGIN { exit(0); }' && ! grep -q "33\|'!'" "$TMP/out" || fail "printsize as it is"
for grown in '#pragma D option printsize=16k
BEGIN { exit(0); }' 'BEGIN { exit(0); }'; do
	case $grown in B*) set -- -x printsize=70000 ;; *) set -- ;; esac
	run "$@" -n "$big" -n "$grown" && grep -q "33\|'!'" "$TMP/out" || fail "printsize grows: $* $grown"
done
run -n 'BEGIN { setopt("printsize", "16k"); }' -n "$big" -n 'BEGIN { exit(0); }' && grep -q "33\|'!'" "$TMP/out" || fail "setopt(printsize)"
run -x pcapsize=100k -x jstackstrsize=100k -x scratchsize=4m -n 'BEGIN { this->p = (char *)alloca(3000000); this->p[2999999] = 1; exit(this->p[2999999]); }'
[ $? = 1 ] || fail "a large alloca()"
