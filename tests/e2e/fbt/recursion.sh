# A function that the kernel calls while it runs a clause does not fire, and the session says at its end how often that was: reading an address that is not there makes the kernel look for
# a way out, once each time.
. "$SRC/tests/e2e/fbt/lib.inc"
needs_functions
missed="times a probe was reached while the kernel ran a program"
# What probes of fbt are attached with: a program for each function, one link for all, kprobes. The kernel counts what the last two leave out since 6.7; what the first leaves out the session
# counts itself, as all of them do in a clause of a probe that is none of fbt.
ways="none FENTRY FENTRY,KPROBE_MULTI"
[ "$(uname -r | awk -F. '{ print $1 * 1000 + $2 }')" -ge 6007 ] || ways=none
# run N CLAUSE: N calls, each of which executes the clause
run() {
	make_writer "$1"
	FATHOM_NO_FEATURE=$way timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn "$probe"' { @["calls"] = count(); '"$2"' } fbt::fixup_exception:entry /pid == $target/ { @["way out"] = count(); }
		END { printa("%s %@d\n", @); }' -c "/usr/bin/python3 writer.py" >out 2>err || fail "failed: $way, $probe $1, $2"
	grep -q "^calls $1$" out || fail "$way, $probe: not $1 calls"
}
each=1 # older kernels (6.1) look twice: they try what is left of the copy again
for way in $ways; do
	for probe in 'fbt::vfs_write:entry /pid == $target && args[2] == 77/' 'rawtp:::sys_enter /pid == $target && args[1] == 1 && args[0]->dx == 77/'; do
		for n in 1 250; do
			run $n 'copyin(0, 1);'
			grep -q '^way out' out && fail "$way, $probe: a function fired in a clause"
			[ $n != 1 ] || ! grep -q "^dtrace: 2 $missed" err || each=2
			[ "$(grep -c "$missed" err)" = 1 ] && grep -q "^dtrace: $((n * each)) $missed" err || fail "$way, $probe: $n calls by the clause"
		done
		run 250 ''
		grep -q "$missed" err && fail "$way, $probe: nothing was missed"
	done
done
exit 0
