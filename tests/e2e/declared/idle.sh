# CPUs go idle as often as the kernel's own counters say (sysinfo:::idlethread); a program that is named as threads of interrupts are is none of these (intrblk).
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
cd "$TMP" || exit 1
cat >idle.py <<'END'
import ctypes, glob, os, time
files = [os.open(f, os.O_RDONLY) for f in glob.glob("/sys/devices/system/cpu/cpu[0-9]*/cpuidle/state[0-9]*/usage")]
def phase(): os.kill(os.getpid(), 0)
def usage(): return sum(int(os.pread(f, 32, 0)) for f in files)
ctypes.CDLL(None).prctl(15, b"irq/7-none", 0, 0, 0) # PR_SET_NAME
usage()
before = usage(); phase()
for i in range(300): time.sleep(0.003)
phase(); after = usage()
print("kernel", after - before if files else "none", flush=True)
END
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'int phase; syscall::kill:entry /pid == $target && arg1 == 0/ { phase++; } sysinfo:::idlethread /phase == 1/ { @idle = sum(arg0); }
	sysinfo:::intrblk /pid == $target/ { @named = count(); } sched:::off-cpu /pid == $target && curthread->__state/ { @sleeps = count(); }
	END { printa("idle %@d\n", @idle); printa("named %@d\n", @named); printa("sleeps %@d\n", @sleeps); }' -c "/usr/bin/python3 idle.py" >out 2>err || fail "failed"
get() { sed -n "s/^$1 \([0-9]*\)$/\1/p" out; }
# On a slow machine the time of a sleep may be over before the program has left its CPU.
[ "$(get sleeps)" -ge 100 ] || fail "the program did not sleep"
[ -z "$(get named)" ] || fail "a program was taken for a thread of an interrupt"
kernel=$(get kernel) idle=$(get idle)
[ -n "$kernel" ] || exit 0 # this kernel does not count
# A CPU is counted when it wakes up, the probe fires when it goes idle: each may be idle at both ends.
slack=$((4 * $(nproc --all)))
[ "${idle:-0}" -ge $((kernel - slack)) ] && [ "${idle:-0}" -le $((kernel + slack)) ] || fail "$idle times idle, the kernel says $kernel"
