# A kernel that lacks something: one message that says what, and what to do. What is not needed is not missed.
program='BEGIN { self->x = 1; printf("begin\n"); } profile-97 { @[execname] = count(); } syscall:::entry { @c = count(); } tick-10ms { exit(0); }'

refused() { # pattern, environment...
	want=$1
	shift
	env "$@" "$DTRACE" -q -n "$program" >"$TMP/out" 2>"$TMP/err"
	status=$?
	[ $status = 1 ] && [ "$(grep -c '^dtrace: ' "$TMP/err")" = 1 ] && [ "$(grep -c '^hint: ' "$TMP/err")" = 1 ] &&
		[ "$(wc -l <"$TMP/err")" = 2 ] && grep -q "$want" "$TMP/err" && return
	echo "$*: status $status, no message with '$want'"; cat "$TMP/err"; exit 1
}

refused 'lacks bpf(2) programs' FATHOM_NO_FEATURE=BPF
refused 'lacks kernel type information' FATHOM_NO_FEATURE=BTF
refused 'lacks BPF ring buffers' FATHOM_NO_FEATURE=RINGBUF
env FATHOM_NO_FEATURE=TASK_BTF "$DTRACE" -q -n "$program" | grep -q '^begin$' || { echo "does not work without TASK_BTF"; exit 1; }

# What is asked for only after it has failed: every call fails once, and each feature is named at least once.
n=0
: >"$TMP/all"
while n=$((n + 1)); do
	rm -f "$TMP/failed"
	FATHOM_NO_FEATURE=TASK_STORAGE,PERF_LINK,TEST_RUN FATHOM_FAIL=$n FATHOM_FAIL_LOG=$TMP/failed \
		"$DTRACE" -q -n "$program" >/dev/null 2>>"$TMP/all"
	[ -f "$TMP/failed" ] || break
done
for what in 'lacks BPF task storage' 'lacks BPF links with cookies' 'lacks BPF_PROG_TEST_RUN'; do
	grep -q "$what" "$TMP/all" || { echo "no message with '$what'"; cat "$TMP/all"; exit 1; }
done

# Mounts: without /sys there is no BTF; tracefs and /proc are not needed to trace system calls.
unshare -m true 2>/dev/null || exit 0
refused 'lacks kernel type information' unshare -m sh -c 'umount -l /sys; exec "$0" "$@"'
unshare -m sh -c 'umount -l /sys/kernel/tracing; umount -l /sys/kernel/debug; exec "$0" "$@"' "$DTRACE" -q -n "$program" 2>"$TMP/err" |
	grep -q '^begin$' || { echo "does not work without tracefs"; cat "$TMP/err"; exit 1; }
