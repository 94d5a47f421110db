# Many keys: all of them, none dropped, and read in large steps: few calls of bpf(2) whatever the keys are.
n=200000
cat >"$TMP/run" <<EOF
#!/bin/sh
exec "$DTRACE" -q -x aggsize=32m -n 'syscall::getpgid:entry /pid == \$target/ { @i[arg0] = count(); @s[lltostr(arg0), 1] = sum(2); }' \\
	-n 'END { printa("i %d %@d\n", @i); printa("s %s %d %@d\n", @s); trunc(@i); trunc(@s); }' \\
	-c "$TRIGGER/calls pgid $n" >"$TMP/out" 2>"$TMP/err"
EOF
chmod +x "$TMP/run"
"$DTRACE" -q -n 'syscall::bpf:entry /pid == $target/ { @ = count(); } END { printa("%@d\n", @); }' -c "$TMP/run" >"$TMP/calls" || { cat "$TMP/err"; exit 1; }
[ -s "$TMP/err" ] && { head -3 "$TMP/err"; exit 1; }
awk -v n=$n '$1 == "i" && $3 == 1 { i[$2]++ } $1 == "s" && $4 == 2 { s[$2]++ }
	END { for (k = 1; k <= n; k++) if (i[k] != 1 || s[k] != 1) { print k, i[k], s[k]; exit 1 } }' "$TMP/out" || exit 1
calls=$(cat "$TMP/calls")
[ "$calls" -gt 10 ] && [ "$calls" -lt 2000 ] || { echo "$calls calls of bpf(2)"; exit 1; }
