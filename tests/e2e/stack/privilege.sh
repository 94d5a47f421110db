# Stacks of a process whose files we may not read: said once, with what it takes; nothing is said of processes that we may look into.
command -v setpriv >/dev/null || { echo "no setpriv"; exit 67; }
as() { caps=$1; shift; setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="$caps" --ambient-caps="$caps" "$@"; }
as +bpf,+perfmon "$DTRACE" -V >/dev/null 2>&1 || { echo "another user cannot run this dtrace"; exit 67; }
bad=0
level=/proc/sys/kernel/perf_event_paranoid was=$(cat /proc/sys/kernel/perf_event_paranoid) private=
trap 'kill $private 2>/dev/null; echo $was >$level' EXIT
if [ "$was" -gt 2 ]; then # Debian's kernels; with 2 they are as others
	as +bpf,+perfmon "$DTRACE" -qn 'tick-100hz { exit(0); }' >"$TMP/out" 2>"$TMP/err" ||
		grep -q '^hint: events need CAP_SYS_ADMIN where the sysctl kernel.perf_event_paranoid is above 2' "$TMP/err" || { echo "why no events:"; cat "$TMP/err"; bad=1; }
	echo 2 >$level
fi
mkdir -m 700 "$TMP/private"
cp "$TRIGGER/calls" "$TMP/private/private"
"$TMP/private/private" getppid 2000000000 & private=$!
cp "$TRIGGER/calls" "$TMP/public"
chmod 755 "$TMP" "$TMP/public"
said='cannot be read, for want of privilege'
run() {
	as "$1" "$DTRACE" -qn '
		tick-100hz { go = 1; }
		syscall::getppid:entry /go && pid == '$private'/ { ustack(); usym(ucaller); go = 0; n++; }
		syscall::getppid:entry /n >= 50/ { exit(0); }' >"$TMP/out" 2>"$TMP/err" || { cat "$TMP/err"; bad=1; }
	# older kernels show what a process maps to those only who may trace it: without that its code has no names
	as "$1" head -c 1 /proc/$private/maps >/dev/null 2>&1 || return
	grep -q 'private`' "$TMP/out" || { echo "no stack:"; head "$TMP/out"; bad=1; }
}
run +bpf,+perfmon
[ "$(grep -c "process $private $said" "$TMP/err")" = 1 ] && [ "$(grep -c '^hint: .*CAP_SYS_PTRACE' "$TMP/err")" = 1 ] ||
	{ echo "not said once:"; cat "$TMP/err"; bad=1; }
run +bpf,+perfmon,+sys_ptrace,+checkpoint_restore,+dac_read_search
[ ! -s "$TMP/err" ] && grep -q 'private`main+' "$TMP/out" || { echo "with the privilege:"; cat "$TMP/err"; head "$TMP/out"; bad=1; }

# One's own processes, their names and whole stacks.
as +bpf,+perfmon "$DTRACE" -qn 'syscall::getppid:entry /pid == $target/ { ustack(); }' -c "$TMP/public getppid 3" >"$TMP/out" 2>"$TMP/err"
[ ! -s "$TMP/err" ] && grep -q 'public`_start+' "$TMP/out" || { echo "one's own:"; cat "$TMP/err" "$TMP/out"; bad=1; }
exit $bad
