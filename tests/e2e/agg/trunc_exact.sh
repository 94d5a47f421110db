# What a probe counts while trunc() deletes its element counts: d-language.md 5.6, doc/guide/aggregations.md. Elements in
# use are not deleted, so that not one increment is lost.
n=200000
"$DTRACE" -q -n 'syscall::getppid:entry /pid == $target/ { @["k"] = count(); @q["q", 1] = sum(2); }
	tick-2ms { printa("k %@d\n", @); printa("q %@d\n", @q); trunc(@); trunc(@q); truncs++; }
	END { printa("k %@d\n", @); printa("q %@d\n", @q); trunc(@); trunc(@q); printf("truncs %d\n", truncs); }' \
	-c "$TRIGGER/calls getppid $n" >"$TMP/out" 2>"$TMP/err" || { cat "$TMP/err"; exit 1; }
awk -v n=$n '$1 == "k" { k += $2 } $1 == "q" { q += $2 } $1 == "truncs" { t = $2 }
	END { if (t < 3 || k != n || q != 2 * n) { print k, q, t; exit 1 } }' "$TMP/out"
