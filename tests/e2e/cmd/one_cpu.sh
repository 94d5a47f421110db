# Option cpu: probes fire on that CPU only, BEGIN and END in any case; a CPU that is not there is refused.
"$DTRACE" -q -x cpu=0 -n 'syscall:::entry, profile-97hz { @[cpu] = count(); } BEGIN, END { printf("%s\n", probename); } tick-300ms { exit(0); }' >"$TMP/out" || exit 1
awk 'NF == 2 && $1 != 0 { bad = 1 } NF == 2 { n++ } END { exit bad || n != 1 }' "$TMP/out" || { cat "$TMP/out"; exit 1; }
[ "$(grep -c 'BEGIN\|END' "$TMP/out")" = 2 ] || { cat "$TMP/out"; exit 1; }
"$DTRACE" -x cpu=4095 -n BEGIN 2>"$TMP/err" && exit 1
grep -q 'CPU 4095 is not there' "$TMP/err" || { cat "$TMP/err"; exit 1; }
"$DTRACE" -q -x cleanrate=10000hz -x statusrate=20s -n 'BEGIN { exit(0); }' 2>"$TMP/err" >&2
grep -qx 'dtrace: cleaning rate reduced to 5000 hz' "$TMP/err" && grep -qx 'dtrace: status rate increased to once every 10 seconds' "$TMP/err" || { cat "$TMP/err"; exit 1; }
# BEGIN and END fire on that CPU, too, as often as one looks; dtrace runs where it likes in between.
for cpu in $(awk '/^processor/ { print $3 }' /proc/cpuinfo | sort -n | sed -n '1p;2p;$p' | uniq); do
	for i in 1 2 3 4 5; do
		got=$(taskset -c 0 "$DTRACE" -q -x cpu="$cpu" -n 'BEGIN { printf("%d ", cpu); } BEGIN { exit(0); } END { printf("%d %d", cpu, pid == $pid); }')
		[ "$got" = "$cpu $cpu 1" ] || { echo "cpu=$cpu: $got"; exit 1; }
	done
	got=$("$DTRACE" -q -w -x cpu="$cpu" -n 'BEGIN { system("grep Cpus_allowed_list /proc/self/status"); exit(0); }' | sed -n 's/.*:[[:space:]]*//p')
	[ "$got" = "$(sed -n 's/Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)" ] || { echo "cpu=$cpu: dtrace stays there: $got"; exit 1; }
done
