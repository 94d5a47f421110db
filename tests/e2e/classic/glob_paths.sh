# Patterns of calls with paths, in programs that read what the older calls have in arg0 and arg1; what is said; option syscallview.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
forms="$BUILD/tests/e2e/trigger/forms"
run() { timeout $((60 * ${PATIENCE:-1})) "$DTRACE" "$@" >"$TMP/out" 2>"$TMP/err"; }
has() { grep -qxF "$1" "$TMP/out" || fail "this line is missing: $1"; }
run -q -n 'syscall::unlink*:entry, syscall::mkdir*:entry, syscall::access*:entry /pid == $target/ { printf("%s %s\n", probefunc, copyinstr(arg0)); }
	syscall::rename*:entry, syscall::symlink*:entry /pid == $target/ { printf("%s %s %s\n", probefunc, copyinstr(arg0), copyinstr(arg1)); }' -c "$forms paths" || fail "it fails"
[ -s "$TMP/err" ] && fail "an argument is no path"
has 'unlink /no/unlink'; has 'mkdirat /no/mkdirat'; has 'faccessat /no/faccessat'
has 'rename /no/rename /no/rename/2'; has 'renameat /no/renameat /no/renameat/2'; has 'symlinkat /no/symlinkat /no/symlinkat/2'
grep -q '^unlinkat /no/' "$TMP/out" || fail "unlinkat() is missing"
# said once, with what it is and how to get the other arguments
run -n 'syscall::open*:entry /copyinstr(arg0) == "x"/ {} syscall::open*:return {} BEGIN { exit(0); }' || fail "it fails"
[ "$(grep -c "^dtrace: 'syscall::open\*:entry' shows openat as open, openat2 as open, because the program reads arg0 as text; with -x syscallview=native they have their own arguments$" "$TMP/err")" = 1 ] ||
	fail "what is said of open*"
for view in native classic; do
	run -xsyscallview=$view -n 'syscall::open*:entry /copyinstr(arg0) == "x"/ {} BEGIN { exit(0); }' || fail "it fails"
	grep shows "$TMP/err" && fail "the user has said what to show"
done
run -q -xsyscallview=native -n 'syscall::open*:entry /pid == $target && probefunc == "openat"/ { @[(int)arg0] = count(); } syscall::open*:entry /pid == 0/ { trace(copyinstr(arg0)); }' -c "$forms open" || fail "it fails"
grep -q -- '-100' "$TMP/out" || fail "native arguments"
# a program that names openat knows Linux
run -q -n 'syscall::open*:entry /pid == $target && probefunc == "openat"/ { @[(int)arg0] = count(); } syscall::open*:entry /pid == 0/ { trace(copyinstr(arg0)); } syscall::openat:entry {}' -c "$forms open" || fail "it fails"
grep -q -- '-100' "$TMP/out" || fail "openat is named"
exit 0
