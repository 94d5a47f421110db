# Option debug tells what followed processes do.
if "$DTRACE" -qn 'pid$target:a.out:main:entry { }' -x follow=fork -c "$TRIGGER/late" 2>&1 | grep -q 'option follow: this kernel lacks'; then
	echo "this kernel has no -x follow=fork"
	exit 67
fi
words="open call=1 close child=open,call=1 wait exec=open"
out=$( (sleep "${PATIENCE:-1}"; echo) | "$DTRACE" -qn 'pid$target::late_f:entry { }' -Z -x debug -x follow=fork -c "$TRIGGER/late $words" 2>&1) || exit 1
bad=0
for what in "maps '.*/liblate.so'" "unmaps inode [0-9]*" "begins, below [0-9]*" "ends" "executes another program"; do
	printf '%s\n' "$out" | grep -q "DEBUG [0-9]*: process [0-9]* $what$" || { echo "missing: $what"; bad=1; }
done
[ $bad = 0 ] || printf '%s\n' "$out"
exit $bad
