# @@exclusive
# A CPU goes and comes back, time and again, while system calls, functions of the kernel, profile and tick probes are traced: counts are exact, no timer stays behind,
# processes that begin on the CPU that has come back are followed, and the session ends as always. All programs of the machine lose a CPU meanwhile: it is done only where $UNPLUG says so (tools/vm does).
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" "$TMP/stacks" "$TMP/stacks.err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
file=/sys/devices/system/cpu/cpu1/online
[ -n "${UNPLUG:-}" ] || { echo "a CPU is taken offline only where UNPLUG=1 is set, as in tools/vm"; exit 67; }
[ -w $file ] || { echo "CPU 1 cannot be taken offline here: there is no $file"; exit 67; }
{ echo 0 >$file; } 2>err && echo 1 >$file || { echo "CPU 1 cannot be taken offline here: $(cat err)"; exit 67; }
trap 'echo 1 >$file' EXIT
cp "$TRIGGER/calls" unplugcalls; cp "$TRIGGER/work" unplugwork
cat >plug.d <<'END2'
BEGIN { printf("begun\n"); }
syscall::getppid:entry /execname == "unplugcalls"/ { @n["entries"] = count(); @cpus[cpu] = count(); printf("call %d\n", cpu); }
syscall::getppid:return /execname == "unplugcalls"/ { @n["returns"] = count(); }
profile-97 /cpu == 1/ { @n["samples"] = count(); samples++; }
profile-997 { @samples[cpu] = count(); }
tick-2s { ticks++; }
syscall::getpgid:entry /execname == "unplugcalls"/ { printf("round %d samples %d ticks %d\n", arg0, samples, ticks); }
END { printa("%s %@d\n", @n); }
END2
functions=
if timeout 600 "$DTRACE" -ln 'fbt::__*_sys_getppid:entry' >out 2>err; then
	functions=1
	cat >>plug.d <<'END2'
fbt::__*_sys_getppid:entry /execname == "unplugcalls"/ { @n["fbt entries"] = count(); }
fbt::__*_sys_getppid:return /execname == "unplugcalls"/ { @n["fbt returns"] = count(); }
END2
fi
mkfifo begun
timeout 900 "$DTRACE" -qx statusrate=5s -s plug.d >begun 2>err & session=$!
exec 3<begun
read -r line <&3
[ "$line" = begun ] || fail "the session does not begin"
cat <&3 >out & reader=$!
# lines_await PATTERN N: until the output has so many lines of the pattern
lines_await() {
	for _ in $(seq 1200); do [ "$(grep -c "$1" out)" -ge "$2" ] && return; kill -0 $session 2>/dev/null || fail "the session has ended"; sleep 0.1; done
	fail "no $2 lines of '$1'"
}
# 1: it comes back sooner than the list of CPUs is read again; calls before, meanwhile and afterwards
for round in 1 2 3 4 5 6; do
	./unplugcalls hop 50
	echo 0 >$file || fail "CPU 1 stays"
	./unplugcalls hop 50
	echo 1 >$file || fail "CPU 1 does not come back"
	./unplugcalls hop 50
	taskset -c 1 "./unplugwork" spin 300 >/dev/null || fail "work on CPU 1"
	./unplugcalls pgid 1
	lines_await '^round' $round
	sleep 0.5
done
kill -INT $session; wait $session || fail "the session's status is $?"
wait $reader
for what in entries returns ${functions:+"fbt entries" "fbt returns"}; do grep -qx "$what 1800" out || fail "not 1800: $what"; done
[ "$(grep -c '^call 1' out)" = 600 ] || fail "not 600 records of CPU 1"
[ "$(grep -c '^call 0' out)" = 1200 ] || fail "not 1200 records of CPU 0"
# each time the CPU comes back, its profile probe fires again
awk '/^round/ { if ($4 <= last) bad = 1; last = $4; ticks = $6 } END { exit bad || !NR }' out || fail "a CPU that came back has no timers"
# the tick probe is on the other CPU, which stays: it fires although CPUs come and go more often
[ "$(awk '/^round/ { print $6 }' out | tail -n 1)" -ge 1 ] || fail "the tick probe does not fire"
grep -qx "dtrace: CPUs have come or gone: timers of profile and tick probes are set anew" err || fail "nothing is said"
grep -vx "dtrace: CPUs have come or gone: timers of profile and tick probes are set anew" err | grep . && fail "messages"

# 2: what begins on the CPU that has come back is known: user stacks of processes that have ended have names
mkfifo begun2
timeout 900 "$DTRACE" -qn 'BEGIN { printf("begun\n"); } syscall::getppid:entry /execname == "unplugcalls"/ { @[ustack(4)] = count(); }' >begun2 2>stacks.err & session=$!
exec 4<begun2
read -r line <&4
[ "$line" = begun ] || fail "the second session does not begin"
cat <&4 >stacks & reader=$!
echo 0 >$file || fail "CPU 1 stays"
sleep 0.2
echo 1 >$file || fail "CPU 1 does not come back"
sleep 2
taskset -c 1 ./unplugcalls getppid 77
sleep 2
kill -INT $session; wait $session || fail "the second session's status is $?"
wait $reader
grep -q 'unplugcalls`do_getppid' stacks || fail "a process of the CPU that came back is not known"
exit 0
