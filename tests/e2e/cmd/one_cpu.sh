# Option cpu: probes fire on that CPU only, BEGIN and END in any case; a CPU that is not there is refused.
"$DTRACE" -q -x cpu=0 -n 'syscall:::entry, profile-97hz { @[cpu] = count(); } BEGIN, END { printf("%s\n", probename); } tick-300ms { exit(0); }' >"$TMP/out" || exit 1
awk 'NF == 2 && $1 != 0 { bad = 1 } NF == 2 { n++ } END { exit bad || n != 1 }' "$TMP/out" || { cat "$TMP/out"; exit 1; }
[ "$(grep -c 'BEGIN\|END' "$TMP/out")" = 2 ] || { cat "$TMP/out"; exit 1; }
"$DTRACE" -x cpu=4095 -n BEGIN 2>"$TMP/err" && exit 1
grep -q 'CPU 4095 is not there' "$TMP/err" || { cat "$TMP/err"; exit 1; }
"$DTRACE" -q -x cleanrate=10000hz -x statusrate=20s -n 'BEGIN { exit(0); }' 2>"$TMP/err" >&2
grep -qx 'dtrace: cleaning rate reduced to 5000 hz' "$TMP/err" && grep -qx 'dtrace: status rate increased to once every 10 seconds' "$TMP/err" || { cat "$TMP/err"; exit 1; }
