# Each bpf(), mmap(), perf_event_open() and ioctl() of a run fails once, with several errors: the run ends with status 1
# and one message that names what failed, or goes on without what it does not need. Nothing is left in the kernel.
# The errors are tried side by side; with sanitizers, which look for leaks on these ways, and on an emulated machine, one is enough.
# @@foreign
uid=$((1000000000 + $$)) # a user of its own: other runs on this machine do not count
script='
BEGIN { printf("begin\n"); }
syscall:::entry { self->t = timestamp; }
syscall:::return /self->t/ { @q[execname, probefunc] = quantize(timestamp - self->t); self->t = 0; a[pid, execname] = 1; }
syscall:::return { @c = count(); @m = max(arg0); }
profile-97 { @p[execname] = count(); }
tick-10ms { printf("%s %d\n", execname, pid); exit(0); }
END { printf("end\n"); }'

bad() { echo "call $n ($(cat "$TMP/failed")) fails with $error: $1 (status $status)"; cat "$TMP/err"; exit 1; }

check() {
	said=$(grep -c '^dtrace: ' "$TMP/err")
	other=$(grep -cv '^dtrace: \|^hint: ' "$TMP/err")
	[ "$other" = 0 ] || bad "unexpected lines"
	case $status in
	0)
		grep -q '^begin' "$TMP/out" && grep -q '^end' "$TMP/out" || bad "status 0, but BEGIN or END is missing"
		grep '^dtrace: ' "$TMP/err" | grep -qv ' lowered to \| drops* ' && bad "a complaint"
		;;
	1)
		grep '^dtrace: ' "$TMP/err" | grep -v ' lowered to \| drops* ' >"$TMP/said"
		[ "$(wc -l <"$TMP/said")" = 1 ] || bad "$said messages"
		grep -q "map '\|table of '\|program\|tracepoint '\|CPU [0-9]\|control block\|aggregation '\|ring buffers" "$TMP/said" || bad "says not what failed"
		grep -q "''\|(null)" "$TMP/err" && bad "an empty name"
		;;
	*) bad "status" ;;
	esac
}

each_call() { # error
	error=$1 TMP=$TMP/$1 n=0
	mkdir "$TMP"
	while n=$((n + 1)); do
		rm -f "$TMP/failed"
		FATHOM_FAIL=$n:$error FATHOM_FAIL_LOG=$TMP/failed timeout 100 "$TRIGGER/asuser" $uid "$DTRACE" -q -n "$script" >"$TMP/out" 2>"$TMP/err"
		status=$?
		[ -f "$TMP/failed" ] || break
		check
	done
	[ $status = 0 ] && [ $n -gt 50 ] || { echo "$error: only $n calls, status $status"; cat "$TMP/err"; exit 1; }
}

errors="EINVAL ENOMEM EPERM" runs=
[ -z "$SANITIZED" ] && [ "${PATIENCE:-1}" = 1 ] || errors=EPERM
for error in $errors; do
	(each_call $error) & runs="$runs $!"
done
for run in $runs; do wait "$run" || exit 1; done
i=0
while [ "$("$TRIGGER/bpfcount" $uid)" -gt 0 ] && [ $i -lt 300 ]; do i=$((i + 1)); sleep 0.1; done
[ "$("$TRIGGER/bpfcount" $uid)" = 0 ] || { echo "programs are left behind"; exit 1; }
