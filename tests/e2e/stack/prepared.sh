# When a session begins, the helpers of all processes of runtimes are attached before the first unwind table is read: the tables of eight
# large programs take longer than what is allowed for both, and the helper of a small program, which began last, is there nevertheless. What is
# allowed is time of a CPU: beside ten processes a CPU that compute, with those that the machine has anyhow, of which dtrace is one like all others, the helpers are there, too, unless
# eight seconds have passed, as on a machine that has more to do than this test.
cd "$TMP" || exit 1

cat >helper.d <<'X'
#pragma D helper exec "of_the_test*"
dtrace:helper:ustack: { uframe("frame"); }
X
cat >large.S <<'X'
	.text
	.rept 200000
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.endr
	.section .note.GNU-stack,"",%progbits
X
cat >main.c <<'X'
#include <unistd.h>
int main(void) { pause(); return 0; }
X
gcc -O1 -o of_the_test_small main.c && gcc -O1 -o of_the_test_large main.c large.S || exit 1

pids=
for i in 1 2 3 4 5 6 7 8; do
	cp of_the_test_large of_the_test_$i # another file each: tables are those of a file
	./of_the_test_$i &
	pids="$pids $!"
done
./of_the_test_small &
pids="$pids $!"
trap 'kill $pids 2>/dev/null' EXIT
sleep 0.2 # they map their files

bad=0
# whether dtrace says that all it may wait, 8 seconds, was used up: by the helpers, or also by the tables
waited() { # $1: helpers, or "helpers|tables"
	awk -v what="^($1)$" '/runtimes: (helpers|tables) of/ {
		for (i = 1; i < NF; i++)
			if ($i == "runtimes:" && $(i + 1) ~ what)
				for (j = i; j < NF; j++)
					if ($j == "in")
						ms += $(j + 1)
	} END { exit !(ms >= 8000) }' debug.txt
}
check() { # what, options
	what=$1
	shift
	"$DTRACE" -q -x debug -x helper=helper.d "$@" -n 'profile-97 { @[jstack(9)] = count(); } tick-1s { exit(0); } END { trunc(@); }' >debug.txt 2>&1
	sed '/runtimes: helpers of/q' debug.txt >attached.txt
	[ "$what" = calm ] || waited helpers || for pid in $pids; do
		grep -q "ustack helpers of process $pid: 'helper.d'" attached.txt || { echo "$what: process $pid has no helper before tables are read"; bad=1; }
	done
	[ "$what" != calm ] && waited 'helpers|tables' || grep -q 'runtimes: tables of [1-9]' debug.txt || { echo "$what: no tables were read"; bad=1; }
	[ $bad = 0 ] || grep -a 'runtimes:' debug.txt
}
check calm
# those count that the machine has besides: as a small part of their share, dtrace would need minutes
more=$((10 * $(nproc) - $(awk '/^procs_running/ { print $2 }' /proc/stat)))
busy=
for i in $(seq $((more > 0 ? more : 0))); do
	sh -c 'while :; do :; done' &
	busy="$busy $!"
done
trap 'kill $pids $busy 2>/dev/null' EXIT
check busy -x sched=inherit
exit $bad
