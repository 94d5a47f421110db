# A thread speculates and commits every second one: all of its records come out, together.
"$DTRACE" -q -x nspec=8 -x strsize=32 -n 'syscall::getppid:entry /pid == $target/ { self->id = speculation(); self->n = ++n[tid]; }
	syscall::getppid:entry /self->id/ { speculate(self->id); printf("a %d %d\n", tid, self->n); }
	syscall::getppid:return /self->id/ { speculate(self->id); printf("b %d %d\n", tid, self->n); }
	syscall::getppid:return /self->id && self->n % 2/ { commit(self->id); }
	syscall::getppid:return /self->id && self->n % 2 == 0/ { discard(self->id); }
	syscall::getppid:return { self->id = 0; }' -c "$TRIGGER/calls getppid 2000" >"$TMP/out" 2>"$TMP/err" || { cat "$TMP/err"; exit 1; }
a=$(grep -c '^a ' "$TMP/out"); b=$(grep -c '^b ' "$TMP/out")
[ "$a" = 1000 ] && [ "$b" = 1000 ] || { echo "$a and $b records of 1000"; cat "$TMP/err"; exit 1; }
grep '^[ab]' "$TMP/out" | awk '$3 % 2 == 0 { print "discarded:", $0; bad = 1 } END { exit bad }' || exit 1
grep -q 'failed spec' "$TMP/err" && { cat "$TMP/err"; exit 1; }
exit 0
