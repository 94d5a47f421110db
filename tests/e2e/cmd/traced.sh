# dtrace is traced itself: a tracer that follows children has the command of -c, so dtrace cannot hold it, and names the tracer. One that does not is no obstacle.
held() { # what, command
	what=$1
	shift
	"$@" "$DTRACE" -qn 'BEGIN { printf("begun\n"); }' -c true >"$TMP/out" 2>"$TMP/err"
	grep -q "dtrace itself is being traced: process [0-9]* ('$what') follows its children" "$TMP/out" "$TMP/err" &&
		grep -q 'hint: .*-p.*strace without -f, gdb with' "$TMP/out" "$TMP/err" && ! grep -q begun "$TMP/out" ||
		{ echo "under $what:"; cat "$TMP/out" "$TMP/err"; exit 1; }
}
none=1
if strace -o /dev/null true 2>/dev/null; then
	none=0
	held strace strace -f -o /dev/null
	strace -o /dev/null "$DTRACE" -qn 'BEGIN { printf("begun\n"); }' -c true >"$TMP/out" 2>"$TMP/err" && grep -q begun "$TMP/out" ||
		{ echo "under strace without -f"; cat "$TMP/err"; exit 1; }
fi
if gdb -nx -batch -ex run --args true >/dev/null 2>&1; then
	none=0
	held gdb gdb -nx -batch -ex 'set follow-fork-mode child' -ex run --args
fi
[ $none = 0 ] || { echo "neither strace nor gdb works here"; exit 67; }
