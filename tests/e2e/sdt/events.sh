# Provider sdt: events of tracefs, with the fields of their records; each fires as often as the tracepoint, on every CPU.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
limit=$((60 * ${PATIENCE:-1}))
run() { timeout $limit "$DTRACE" -q "$@" >"$TMP/out" 2>"$TMP/err" || fail "$* failed"; }
has() { grep -qxF "$1" "$TMP/out" || fail "this line is missing: $1"; }
cat >"$TMP/work.py" <<'END'
import os, socket
cpus = os.sched_getaffinity(0)
for cpu in cpus: # the event is opened for one CPU, and fires on all
    os.sched_setaffinity(0, {cpu})
    for _ in range(6):
        pid = os.fork()
        if not pid: os._exit(0)
        os.waitpid(pid, 0)
os.sched_setaffinity(0, cpus)
for _ in range(3):
    pid = os.fork()
    if not pid: os.execv("/bin/true", ["true"])
    os.waitpid(pid, 0)
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
c = socket.socket(); c.connect(s.getsockname())
print("forks", 6 * len(cpus) + 3, flush=True)
END
cat >"$TMP/s.d" <<'END'
sdt:sched::sched_process_fork /pid == $target/ { @["forks"] = count(); mine[args[3]] = 1; last = args[3]; }
sdt:sched::sched_process_fork /pid == $target && args[0] == execname && args[1] == $target && arg1 == args[1] && arg0 != 0 && arg4 == 0/ { @["fields"] = count(); }
rawtp:sched::sched_process_fork /pid == $target && args[1]->pid == last/ { @["same"] = count(); }
rawtp:sched::sched_process_fork /pid == $target/ { @["tracepoint"] = count(); }
sdt:::sched_process_exec /mine[pid] && args[0] == "/bin/true" && args[1] == pid/ { @["execs"] = count(); }
sdt:sock::inet_sock_set_state /pid == $target && args[1] == 7 && args[2] == 2/ {
	printf("connect %d.%d.%d.%d family %d protocol %d\n", args[8][0], args[8][1], args[8][2], args[8][3], args[5], args[6]); }
sdt:sched::sched_process_exit /mine[pid] && args[0] == execname/ { @["names"] = count(); }
sdt:sched::sched_process_exit /mine[pid] && stackdepth > 2/ { @["depth"] = count(); }
END { printa("%s %@d\n", @); }
END
grep -q 'field:__u8 daddr\[4\]' /sys/kernel/tracing/events/sock/inet_sock_set_state/format || { echo "tracefs is elsewhere, or the event is another one"; exit 67; }
run -lvn sdt:sock::inet_sock_set_state
i=$(sed -n 's/.*args\[\([0-9]*\)\]: uint8_t \* daddr$/\1/p' "$TMP/out"); [ -n "$i" ] || fail "the list has no address"
family=$(sed -n 's/.*args\[\([0-9]*\)\]: uint16_t family$/\1/p' "$TMP/out")
sed -i "s/args\[8\]/args[$i]/g; s/args\[5\]/args[$family]/; s/args\[6\]/args[$((family + 1))]/" "$TMP/s.d"
id=$(timeout $limit "$DTRACE" -ln sdt:sched::sched_process_fork | awk 'END { print $1 }')
run -s "$TMP/s.d" -n "sdt:sched::sched_process_fork /pid == \$target/ { @i[id] = count(); } END { printa(\"id %d\\n\", @i); }" -c "/usr/bin/python3 $TMP/work.py"
n=$(sed -n 's/^forks \([0-9]*\)$/\1/p' "$TMP/out" | head -1)
[ "$(grep -c "^forks $n\$" "$TMP/out")" = 2 ] || fail "forks"
has "fields $n"; has "tracepoint $n"; has "same $n"; has "execs 3"; has "names $n"; has "depth $n"; has "id $id"
has "connect 127.0.0.1 family 2 protocol 6"
# the stack begins where that of the tracepoint begins
run -n 'sdt:::sched_process_fork, rawtp:::sched_process_fork /pid == $target/ { @[caller, stackdepth] = count(); @s[stack(3)] = count(); }
	END { printa("%p %d %@d\n", @); }' -c "$TRIGGER/work fork 4"
[ "$(grep -c '^f.* 8$' "$TMP/out")" = 1 ] || fail "the stacks differ"
# a string is a string, a bool a bool
run -lvn sdt:sched::sched_switch
grep -q 'args\[0\]: string prev_comm$' "$TMP/out" && grep -q 'args\[1\]: int prev_pid$' "$TMP/out" || fail "the types of sched_switch"
# events of system calls are those of provider syscall; probes that users make are not the kernel's
run -lP sdt
grep -q ' sys_enter_read$' "$TMP/out" && fail "system calls are listed"
grep -q ' interrupt-start$' "$TMP/out" || fail "names of other systems are not listed"
[ "$(grep -c ' sdt ' "$TMP/out")" -gt 300 ] || fail "the list is short"
# tracefs need not be mounted
unshare -m sh -c 'for m in /sys/kernel/debug/tracing /sys/kernel/tracing /sys/kernel/debug; do umount "$m" 2>/dev/null; done
	[ ! -e /sys/kernel/tracing/events ] || exit 67; exec timeout "$1" "$0" -lP sdt' "$DTRACE" $limit >"$TMP/out" 2>"$TMP/err"
[ $? = 67 ] || [ "$(grep -c ' sdt ' "$TMP/out")" -gt 300 ] || fail "the list is short without a tracefs that is mounted"
timeout $limit "$DTRACE" -n sdt:::sched_swich 2>"$TMP/err" && fail "a name with a typo"
grep -q "did you mean 'sdt:::sched_switch'" "$TMP/err" || fail "no hint"
# names of other systems
run -n 'sdt:::callout-start { @["timers"] = count(); last = arg0; } sdt:::callout-end /arg0 == last/ { @["pairs"] = count(); seen = 1; }
	sdt:::taskq-exec-start { work = arg1; } sdt:::taskq-exec-end /arg1 == work/ { done = 1; } tick-100ms /seen || ++n == 300/ { exit(0); }
	END { printa("%s %@d\n", @); }'
grep -qE '^timers [1-9]' "$TMP/out" && grep -qE '^pairs [1-9]' "$TMP/out" || fail "timers"
exit 0
