# Option stackmerge: stacks of one name are one key, over places in a function and over processes, for printing, for
# trunc() and for sorting.
# @@foreign
me=mrg$$ # other tests run calls, too
cp "$TRIGGER/calls" "$TMP/$me"
fail() { echo "$1"; cat "$TMP/out"; exit 1; }
run()
{
	"$DTRACE" -q -x stackmerge="$1" -n 'syscall::getppid:entry /execname == "'$me'"/ { '"$2"' } END { printa("%k%@d\n", @); }' \
		-c "$3" >"$TMP/out" || fail "status"
}
counts() { grep -E '^[0-9]+$' "$TMP/out" | sort -n | tr '\n' ' '; }

# two calls in a function
run off '@[ustack(2)] = count();' "$TMP/$me hop 5"
[ "$(counts)" = "5 5 " ] && grep -q 'do_hop+0x' "$TMP/out" || fail "off"
run function '@[ustack(2)] = count();' "$TMP/$me hop 5"
[ "$(counts)" = "10 " ] && grep -q '`do_hop$' "$TMP/out" && ! grep -q '+0x' "$TMP/out" || fail "function"
run line '@[ustack(2)] = count();' "$TMP/$me hop 5"
[ "$(counts)" = "5 5 " ] && grep -q '`do_hop at .*calls.c:[0-9]*$' "$TMP/out" || fail "line"

# several processes
cat >"$TMP/three" <<EOF
#!/bin/sh
$TMP/$me getppid 3
$TMP/$me getppid 4
$TMP/$me hop 5
EOF
chmod +x "$TMP/three"
run off '@[ustack(1)] = count();' "$TMP/three"
[ "$(counts)" = "3 4 10 " ] || fail "processes: off"
run function '@[ustack(1)] = count();' "$TMP/three"
[ "$(counts)" = "17 " ] || fail "processes: function"
run line '@[ustack(1)] = count();' "$TMP/three"
[ "$(counts)" = "17 " ] || fail "processes: line"
"$DTRACE" -q -x stackmerge=function -n 'syscall::getppid:entry /execname == "'$me'"/ { @[ustack(1), pid] = count(); }
	END { printa("%kpid %d %@d\n", @); }' -c "$TMP/three" >"$TMP/out" || fail "status"
[ "$(awk '$1 == "pid" { print $3 }' "$TMP/out" | tr '\n' ' ')" = "3 4 10 " ] || fail "other keys still count"
"$DTRACE" -q -x stackmerge=function -n 'syscall::getppid:entry /execname == "'$me'"/ { @[ustack(1), probefunc] = count(); @b[ustack(1), execname] = sum(1); }
	tick-1ms { printa("%k%s %@d\n", @); clear(@); } END { printa("%k%s %@d\n", @); trunc(@b, 1); printa("b %k%s %@d\n", @b); }' \
	-c "$TMP/three" >"$TMP/out" || fail "status"
sums=$(awk -v me=$me '$1 == "getppid" { n += $2 } $1 == me { b += $2 } END { print n, b }' "$TMP/out")
[ "$sums" = "17 17" ] || { tail -4 "$TMP/out"; echo "clear, trunc: $sums"; exit 1; }
