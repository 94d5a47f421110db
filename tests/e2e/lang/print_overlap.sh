#!/bin/sh
# print() of a type whose members overlap, on every level twice: as text it would be 2^40 values. It ends with '...'.
{
	echo 'union u0 { int x; };'
	n=1
	while [ $n -le 40 ]; do
		echo "union u$n { union u$((n - 1)) a; union u$((n - 1)) b; };"
		n=$((n + 1))
	done
	echo 'BEGIN { this->p = (union u40 *)alloca(8); print(*this->p); exit(0); }'
} >"$TMP/overlap.d"
timeout $((20 * ${PATIENCE:-1})) "$DTRACE" -qs "$TMP/overlap.d" >"$TMP/out" || { echo "exit status $?"; exit 1; }
lines=$(wc -l <"$TMP/out")
[ "$lines" -gt 1000 ] && [ "$lines" -lt 100000 ] || { echo "$lines lines"; exit 1; }
grep -q '^ *\.\.\.$' "$TMP/out" || { echo "nothing says that it is not all"; exit 1; }
