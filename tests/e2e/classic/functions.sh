# Functions of other systems' kernels in front of declared probes are passed over, as modules are, which is said once.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
run() { timeout $((60 * ${PATIENCE:-1})) "$DTRACE" "$@" >"$TMP/out" 2>"$TMP/err"; }
cat >"$TMP/script.d" <<'END'
sched::resume:on-cpu, sched:unix:resume:off-cpu { @["switches"] = count(); }
sysinfo:genunix:read:sysread { @["reads"] = count(); }
io:genunix:bdev_strategy:start, vminfo:genunix::pgin, mib:ip:tcp_send:tcpOutSegs, sched:TS:ts_tick:tick, proc:genunix:*:exec { @["others"] = count(); }
syscall::read:return { @["returns"] = count(); }
tick-5 { exit(0); }
END
run -qs "$TMP/script.d" || fail "it fails"
[ -s "$TMP/err" ] && fail "it says something, but is quiet"
grep -q switches "$TMP/out" || fail "on-cpu does not fire"
run -s "$TMP/script.d" || fail "it fails"
for f in resume read bdev_strategy tcp_send ts_tick; do
	[ "$(grep -c "have no function: '$f' of" "$TMP/err")" = 1 ] || fail "'$f' is not told once"
done
# listed under their own names
run -ln sched::resume:on-cpu -ln sched:::on-cpu || fail "it fails"
[ "$(awk '$2 == "sched" && $3 == "on-cpu" { print $1 }' "$TMP/out" | uniq -c | awk '{ print $1 }')" = 2 ] || fail "the listing"
# a description without a probe's name, or with a wrong one, is an error: its function may be meant as the name
run -n 'sched::on-cpu: {}' && fail "a function alone"
grep -q "have no module and no function" "$TMP/err" || fail "the hint"
run -n 'sched::resume:on-cup {}' && fail "a wrong name"
grep -q "did you mean 'on-cpu'" "$TMP/err" || fail "the hint of a wrong name"
# a function of mib's protocols stands for their counters
run -ln mib::icmp_*: -ln mib:::icmp* || fail "it fails"
[ "$(awk '$2 == "mib" { print $1 }' "$TMP/out" | sort | uniq -c | awk '{ print $1 }' | uniq)" = 2 ] || fail "the counters of icmp"
grep -q "'icmp_\*' of 'mib::icmp_\*:' stands for those whose names begin with 'icmp'" "$TMP/err" || fail "what is said of icmp_*"
run -n "sched::on_cpu: {}" && fail "on_cpu is a function of no counters"
run -n 'fbt::no_such_function:on-cpu {}' && fail "another provider"
exit 0
