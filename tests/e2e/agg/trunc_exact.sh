# @@exclusive
# What a probe counts while trunc() deletes its element counts: d-language.md 5.6, doc/guide/aggregations.md. An increment
# or two at the instant of a deletion may go, or be reported as a drop.
n=200000
"$DTRACE" -q -n 'syscall::getppid:entry /pid == $target/ { @["k"] = count(); @q["q", 1] = sum(2); }
	tick-2ms { printa("k %@d\n", @); printa("q %@d\n", @q); trunc(@); trunc(@q); truncs++; }
	END { printa("k %@d\n", @); printa("q %@d\n", @q); trunc(@); trunc(@q); printf("truncs %d\n", truncs); }' \
	-c "$TRIGGER/calls getppid $n" >"$TMP/out" 2>"$TMP/err" || { cat "$TMP/err"; exit 1; }
awk -v n=$n '$1 == "k" { k += $2 } $1 == "q" { q += $2 } $1 == "truncs" { t = $2 }
	END { lost = n - k; if (t < 3 || lost < 0 || lost > 2 * t || 2 * n - q < 0 || 2 * n - q > 4 * t) { print k, q, t; exit 1 } }' "$TMP/out"
