# A thread that is interrupted while the kernel lets it step over a probed instruction, in a page of the kernel's: its stack begins in its function.
cat >"$TMP/spin.c" <<'END'
__attribute__((noipa)) long spin(long a, long b) { return a * b; }
__attribute__((noipa)) long outer(long n) { long s = 1; for (long i = 0; i < n; i++) s += spin(s, i); return s; }
int main(void) { volatile long s = 0; for (;;) s += outer(1000); }
END
${CC:-cc} -O1 -g -o "$TMP/spin" "$TMP/spin.c" || exit 1
# the multiplication is stepped over, not emulated
"$DTRACE" -qn 'pid$target:a.out:spin:3 { @n = count(); } profile-997 /pid == $target/ { @[ustack(2)] = count(); }
	profile-997 /pid == $target && ++n == 200/ { exit(0); } END { printa(@); }' -c "$TMP/spin" >"$TMP/out" 2>"$TMP/err" || { cat "$TMP/err"; exit 1; }
grep -q 'spin`spin+' "$TMP/out" || { echo "no stack of the probed function"; cat "$TMP/out"; exit 1; }
if grep -v '`' "$TMP/out" | grep -v '^ *[0-9]*$'; then
	echo "these are no frames of the program"; cat "$TMP/out"; exit 1
fi
