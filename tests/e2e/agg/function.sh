# An aggregation that several clauses of one program update is updated by one function, whose results are those of an update in each clause.
fail() { echo "$1"; tail -n 40 "$TMP/out" "$TMP/err"; exit 1; }
cd "$TMP" || exit 1
: >out; : >err
updates='@c[k & 1, "text"] = count(); @s[probename] = sum(v); @a[k] = avg(v); @n[k & 3, v > 7] = min(v); @x[k & 1] = max(v); @d[1] = stddev(v);
	@q[k & 1] = quantize(v, k); @l["text", 2] = lquantize(v, -5, 40, 5); @ll[k & 1] = llquantize(v, 10, 0, 3, 10, 2); @h[v & 1, k & 1] = quantize(v);'
next='{ k++; v = k * k * 3 - 11; }'
# once: a clause updates each of them; many: five clauses do, by turns
echo "BEGIN $next tick-1ms /k <= 10/ { $updates } tick-1ms $next tick-1ms /k > 10/ { exit(0); }" >once.d
for k in 0 1 2 3 4; do echo "tick-1ms /k <= 10 && k % 5 == $k/ { $updates }"; done >clauses
{ echo "BEGIN $next"; cat clauses; echo "tick-1ms $next tick-1ms /k > 10/ { exit(0); }"; } >many.d
for how in once many; do
	timeout 60 "$DTRACE" -qs $how.d -xaggsortkey >$how 2>err || { cp $how out; fail "$how fails"; }
	timeout 60 "$DTRACE" -xdump=bpf -qs $how.d >$how.bpf 2>&1 || { cp $how.bpf out; fail "$how fails with a dump"; }
done
[ "$(wc -l <once)" -gt 100 ] || { cp once out; fail "it shows little"; }
cmp once many || { diff once many >out; fail "several clauses give other results"; }
[ "$(grep -c '^update:$' many.bpf)" = 10 ] || fail "there are not ten functions, one for each aggregation"
grep -q '^update:$' once.bpf && fail "a function for one update"
# a key that may be refused, because there is no room for its text, is updated in place
timeout 60 "$DTRACE" -xdump=bpf -qn 'BEGIN { @[strjoin(execname, "x")] = count(); @[strjoin(execname, "y")] = count(); @[strjoin(execname, "z")] = count(); exit(0); }' >out 2>&1
grep -q '^update:$' out && fail "a function for a key that may fault"
exit 0
