# A tracepoint fires once for each event, its arguments are the kernel's own and have the kernel's types.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
run() { timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q "$@" >"$TMP/out" 2>"$TMP/err" || fail "$* failed"; }
[ -r /sys/kernel/btf/vmlinux ] || { echo "this kernel does not describe its types"; exit 67; }
run -n 'rawtp:::sched_process_fork /args[0]->pid == $target/ { @["forks", args[0] == curthread, args[1]->tgid != pid,
	args[1]->real_parent->tgid == pid] = count(); @n[probeprov, probemod, probefunc, probename] = count(); }
	rawtp:sched::sched_process_exit /args[0]->real_parent->tgid == $target/ { @["exits", arg9, 1, 1] = count(); }
	rawtp:::sched_process_fork, rawtp:::sched_process_exit { @all[probename] = count(); }
	END { printa("%s %d %d %d %@d\n", @); printa("%s:%s:%s:%s %@d\n", @n); }' -c "$TRIGGER/work fork 25"
grep -qx 'forks 1 1 1 25' "$TMP/out" && grep -qx 'exits 0 1 1 25' "$TMP/out" || fail "25 forks, 25 exits"
grep -qx 'rawtp:sched::sched_process_fork 25' "$TMP/out" || fail "the names of the probe"
# stacks begin where the probe fired, timestamps go on, records of several clauses stay in order
run -n 'rawtp:::sched_process_fork /pid == $target/ { @[stack(2)] = count(); t = timestamp; }
	rawtp:::sched_process_fork /pid == $target && t == timestamp/ { @s = count(); } END { printa("same %@d\n", @s); }' -c "$TRIGGER/work fork 3"
grep -qx 'same 3' "$TMP/out" && grep -q 'kernel_clone\|copy_process' "$TMP/out" || fail "the stack of a fork"
# one that can fire while clauses of others run updates the same aggregations
run -n 'syscall:::entry, rawtp:::sched_waking, rawtp:::sched_switch, profile-997 { @n = count(); n++; }
	tick-200ms { exit(0); }' -c "$TRIGGER/work nap 100"
# the list, ids, types
run -ln 'rawtp:sched::sched_switch'
id=$(awk '$2 == "rawtp" { print $1 }' "$TMP/out")
run -l -i "$id"
grep -q " rawtp .* sched_switch\$" "$TMP/out" || fail "probe $id is not the one that was listed"
run -lvn 'rawtp:::sched_process_fork'
grep -q 'args\[1\]: struct task_struct \*' "$TMP/out" || fail "the types of arguments"
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -n 'rawtp:::sched_process_frok' 2>"$TMP/err" && fail "it does not exist"
grep -q "did you mean 'rawtp:::sched_process_fork'?" "$TMP/err" || fail "the hint"
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -n 'rawtp:::sched_process_fork { trace(args[3]); }' 2>"$TMP/err" && fail "it has two arguments"
grep -q 'out of range' "$TMP/err" || fail "args[] beyond the last"
exit 0
