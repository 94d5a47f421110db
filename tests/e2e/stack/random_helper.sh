# Expressions of ustack helpers, chosen at random, have the values that they have in C: in dtrace:helper:attach:, in the interpreter of DIF
# (helpertrace), in the kernel's interpreter and in compiled helpers. Among them are conditional expressions in all operands of others,
# in predicates, in conditions of if and while, and of strings. SEED=N repeats what a report names; ROUNDS=N tries more.
# @@foreign
# @@timeout: 300
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
seed=${SEED:-$(($(date +%s) * 100 + $$ % 100))}
pid=
trap 'kill $pid 2>/dev/null' EXIT
fail() { echo "SEED=$seed: $1"; cat err; exit 1; }

# of all stacks only those with frames of the helper: the frames, each stack once
frames() { grep -v '`' | sed 's/^ *//' | grep -E '^(global|clause|value|yes|no|loop) [0-9]' >"$1"; }
# recorded NAME SAID: 100 stacks from when dtrace has said that (or that the kernel refused a compiled helper), knows the process, and has the tables of
# all frames
recorded() {
	rm -f go met
	"$TRIGGER/met" "$DTRACE" -x helper=random.d -x debug -q -n 'syscall::write:entry /pid == $1 && arg2 == 8/ { @before[jstack(1)] = count(); } END { trunc(@before); }
		syscall::write:entry /pid == $1 && arg2 == 7/ { @[jstack(1000)] = count(); n++; }
		syscall::write:entry /n == 100/ { exit(0); }' $pid >out 2>err &
	tracer=$!
	until [ -e met ] && grep -q "$2\|refused a compiled ustack helper" err || ! grep -q '^State:.[^Z]' /proc/$tracer/status; do sleep 0.02; done
	touch go
	wait $tracer || fail "status"
	frames "$1"<out
	grep -q 'errors* in ustack helpers' err && fail "$1: faults"
	cmp -s expected "$1" || fail "$1: $(diff expected "$1" | head -20)"
}
round() {
	/usr/bin/python3 "$SRC/tests/e2e/stack/random_helper.py" "$seed" || fail "cannot be made"
	cc -O0 -fwrapv -w -fno-omit-frame-pointer -rdynamic -o randomhelper random.c || fail "cannot be compiled"
	./randomhelper >expected 2>/dev/null &
	pid=$!
	recorded compiled 'ustack helpers were compiled'
	# The verifier of Linux 6.1 gives up on some of these programs, which are longer than anybody's: the helper then runs in its machine.
	grep -q 'ustack helpers were compiled' err || { case $(uname -r) in 6.1.*) true ;; *) false ;; esac && grep -q 'refused a compiled ustack helper: Argument list too long' err; } || fail "not compiled"
	FATHOM_NO_FEATURE=TAIL_CALL recorded interpreted .
	kill $pid
	mkfifo gate
	./randomhelper waits <gate >waits.out &
	pid=$!
	exec 9>gate
	until [ -s waits.out ] && grep -q ' S ' /proc/$pid/stat; do sleep 0.02; done
	"$DTRACE" -x helper=random.d -x jstackframes=1000 --helpertrace=$pid >out 2>err || fail "helpertrace: status"
	kill $pid
	exec 9>&-
	rm gate
	sed '1,/^the stack:/d' out | frames traced
	cmp -s expected traced || fail "helpertrace: $(diff expected traced | head -20)"
}
for i in $(seq "${ROUNDS:-2}"); do
	round
	seed=$((seed + 1))
done
