# Probes that other systems have, and Linux has not: a warning in a program with others, else the error that they match nothing.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
run() { timeout $((60 * ${PATIENCE:-1})) "$DTRACE" "$@" >"$TMP/out" 2>"$TMP/err"; }
cat >"$TMP/counters.d" <<'END'
#pragma D option quiet
BEGIN { pages = 0; errors = 0; self->path = 1; }
vminfo:::execfree { pages += arg0; @p = sum(arg0); }
vminfo:::as_fault { @faults = count(); }
mib:::udpOutErrors { errors += arg0; }
syscall::resolvepath:entry, syscall::stat:entry { self->p = arg0; }
syscall::kevent:return /self->p/ { trace(copyinstr(self->p)); }
tick-10 { printf("%d pages\n", pages); printa("%@d\n", @p); exit(0); }
END
run -s "$TMP/counters.d" || fail "it fails"
grep -qx '0 pages' "$TMP/out" || fail "it does not run"
[ "$(grep -c 'D_PDESC_NEVER' "$TMP/err")" = 4 ] || fail "the warnings"
grep -q '^dtrace: warning: line 3: vminfo:::execfree cannot fire here: ' "$TMP/err" || fail "execfree"
grep -q "^dtrace: warning: line 6: Linux has no system call 'resolvepath'" "$TMP/err" || fail "resolvepath"
grep -q "^dtrace: warning: line 7: Linux has no system call 'kevent', programs call epoll_wait" "$TMP/err" || fail "kevent"
run -Zs "$TMP/counters.d" || fail "it fails with -Z"
[ -s "$TMP/err" ] && fail "-Z warns"
for d in vminfo:::execfree syscall::resolvepath:entry mib:::udpOutErrors; do
	run -n "$d {}" -n 'BEGIN, tick-1s { exit(0); }' && fail "nothing else fires: $d"
	grep -q D_PDESC_ZERO "$TMP/err" || fail "the error of $d"
	run -n "$d { @ = count(); } BEGIN, profile-97 { exit(0); }" && fail "only a clock fires: $d"
done
run -n 'vminfo:::execfre {} vminfo:::as_fault {}' && fail "a wrong name"
run -ln vminfo:::execfree
grep -q execfree "$TMP/out" && fail "it is listed"
exit 0
