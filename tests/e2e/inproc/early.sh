# A program that has not made its thread blocks yet: its first functions are counted by uprobes (auto), or said to be dropped (all).
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
printf 'int main(void) { return 0; }\n' >"$TMP/early.c"
cc -static -o "$TMP/early" "$TMP/early.c" 2>/dev/null || { echo "skip: no static C library"; exit 67; }
probes='pid$target:a.out:_start:entry,pid$target:a.out:main:entry { @[probefunc] = count(); }'
for mode in off auto; do
	"$DTRACE" -q -x evaltime=exec -x inproc=$mode -n "$probes" -c "$TMP/early" 2>&1 | grep -v '^$' | tr -s ' '
done
"$DTRACE" -q -x evaltime=exec -x inproc=all -n "$probes" -c "$TMP/early" >"$TMP/out" 2>"$TMP/err"
status=$?
if grep -q 'no code ask' "$TMP/err"; then
	[ $status != 0 ] && echo " main 1" && echo "1 aggregation drop"
else
	grep -v '^$' "$TMP/out" | tr -s ' '
	grep -o '1 aggregation drop' "$TMP/err"
fi
