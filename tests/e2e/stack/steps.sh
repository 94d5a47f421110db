# Stacks at every instruction of functions with every kind of frame, from every compiler: the callers are all there.
# Code that has frame pointers and no unwind information: at entry and at return.
# @@foreign
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
funcs="leaf saves variable large aligned early variadic many library jumps"

# check MIN-STACKS WHICH FLAGS...: builds, traces, says what is wrong
check() {
	min=$1 which=$2
	shift 2
	"$@" -w -fno-optimize-sibling-calls -o steps "$SRC/tests/e2e/stack/steps.c" || return
	sep=
	for f in $funcs; do
		for w in $which; do
			printf '%s' "${sep}pid\$target:a.out:$f:${w%:}"
			sep=,
		done
	done >probes
	cat probes - >script.d <<'X'
{ @[probefunc, ustack()] = count(); } END { printa("FUNC %s%kCOUNT %@d\n", @); }
X
	"$DTRACE" -q -s script.d -c ./steps >out 2>&1
	grep -q '^COUNT' out || head -5 out
	awk -v what="$*" -v min="$min" '
		/^FUNC/ { f = $2; s = ""; next }
		/^COUNT/ {
			n++
			if (s !~ ("^steps." f "[^|]*[|]steps.call_" f "[+][^|]*[|]steps.main[+][^|]*[|]libc[^|]*[|]libc[^|]*[|]steps._start[+][^|]*[|]$")) {
				bad++
				if (bad < 5) print what ": " f ": " s
			}
			next
		}
		NF { sub(/^ +/, ""); s = s $0 "|" }
		END { if (n < min) print what ": only " n + 0 " stacks" }' out
}

{
	check 150 : cc -O2
	check 150 : cc -O3 -mavx2 -fomit-frame-pointer -fcf-protection=full -fstack-protector-all -fstack-clash-protection
	check 150 : cc -O1 -fno-omit-frame-pointer
	check 150 : cc -O2 -g -gz -fno-asynchronous-unwind-tables # .debug_frame
	check 20 'entry return' cc -O2 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables
	check 20 'entry return' cc -O2 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables -fcf-protection=full
	if command -v clang >/dev/null; then
		check 150 : clang -O2
		check 20 'entry return' clang -O1 -fno-omit-frame-pointer -fno-asynchronous-unwind-tables
	fi
} >wrong 2>&1
cat wrong
[ ! -s wrong ]
