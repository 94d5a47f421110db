# A library file is compiled when a program mentions what it defines, and then all it stands on; the outcome is that of
# compiling all files first (d-language.md 10.2).
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
lib=$TMP/sys; mkdir "$lib"
cat >"$lib/a.d" <<END
#pragma D depends_on library b.d
inline int A = B + 1;
typedef struct pair { int left; int right; } pair_t;
enum fruit { APPLE = 7, PEAR };
END
echo 'inline int B = 41;' >"$lib/b.d"
echo 'translator pair_t <int I> { left = I; right = I + 1; };' >"$lib/c.d"
echo 'provider zed { probe go(int i) : (pair_t *i); };' >"$lib/d.d"
echo 'inline int BROKEN = 1 +;' >"$lib/broken.d"
echo 'inline int OUTER = BROKEN;' >"$lib/outer.d"
dt() { "$DTRACE" -x syslibdir="$lib" "$@" >"$TMP/out" 2>"$TMP/err"; }

# nothing of it is needed: the broken file does no harm, and no other one costs anything
dt -qn 'BEGIN { x = 1; printf("%d", x); exit(0); }' || fail "trivial"
dt -qn 'BEGIN { printf("%d %d %d %d", A, xlate<pair_t *>(3)->right, sizeof(struct pair), PEAR); exit(0); }' || fail "all kinds"
[ "$(cat "$TMP/out")" = "42 4 8 8" ] || fail "values"
# what a program declares itself hides the library's, which goes on working with its own
dt -qn 'inline int A = 1; BEGIN { printf("%d", A); exit(0); }' && [ "$(cat "$TMP/out")" = 1 ] || fail "inline"
dt -qn 'enum { B = 9, PEAR = 2 }; BEGIN { printf("%d %d %d", A, B, PEAR); exit(0); }' && [ "$(cat "$TMP/out")" = "42 9 2" ] || fail "enum"
dt -qn 'struct pair { char x; }; BEGIN { printf("%d %d %d", sizeof(struct pair), sizeof(pair_t), xlate<pair_t *>(3)->right); exit(0); }' &&
	[ "$(cat "$TMP/out")" = "1 8 4" ] || fail "struct"
dt -qn 'typedef char pair_t; BEGIN { printf("%d %d", sizeof(pair_t), sizeof(struct pair)); exit(0); }' && [ "$(cat "$TMP/out")" = "1 8" ] || fail "typedef"
dt -qn 'typedef struct { char c[3]; } A; BEGIN { printf("%d %d", sizeof(A), ((A *)0 + 1) != 0); exit(0); }' && [ "$(cat "$TMP/out")" = "3 1" ] ||
	fail "a type with the name of an inline"
dt -qn 'int APPLE; BEGIN { APPLE = 3; printf("%d %d", APPLE, PEAR); exit(0); }' && [ "$(cat "$TMP/out")" = "3 8" ] || fail "variable"
dt -qn 'translator pair_t <int J> { left = -J; }; BEGIN { printf("%d", xlate<pair_t *>(3)->left); exit(0); }' && [ "$(cat "$TMP/out")" = -3 ] || fail "translator"
dt -qn 'BEGIN { trace(B); } inline int B = 1; BEGIN { printf(" %d %d", A, B); exit(0); }' && [ "$(cat "$TMP/out")" = "41 42 1" ] || fail "later"
dt -qn 'inline int A = 1; inline int A = 2; BEGIN { exit(0); }' && fail "A is defined twice"
grep -q D_DECL_IDRED "$TMP/err" || fail "D_DECL_IDRED"
# but what it does not declare it may not change, whether or not its file was compiled before
dt -qn 'BEGIN { A = 1; exit(0); }' && fail "A is assigned to"
grep -q D_OP_LVAL "$TMP/err" || grep -q D_OP_WRITE "$TMP/err" || fail "D_OP_LVAL"
printf '#pragma D attributes Private/Private/ISA A\nBEGIN { exit(0); }\n' >"$TMP/prag.d"
dt -qs "$TMP/prag.d" && fail "attributes of A"
grep -q D_PRAGMA_SCOPE "$TMP/err" || fail "D_PRAGMA_SCOPE"
# a failed program leaves the library usable
printf 'BEGIN { trace(A); nosuch(); }' >"$TMP/bad.d"
dt -qn 'BEGIN { trace(A); nosuch(); }' -n 'BEGIN { exit(A); }' && fail "nosuch()"
grep -q D_FUNC_UNDEF "$TMP/err" || fail "D_FUNC_UNDEF"
# a file that does not compile is the error, through whichever name it was reached
for name in BROKEN OUTER; do
	dt -qn "BEGIN { trace($name); exit(0); }" && fail "$name"
	grep -q 'failed to compile the D library: .*broken.d", line 1' "$TMP/err" || fail "$name: no blame"
	[ "$(grep -c 'D_SYNTAX' "$TMP/err")" -ge 1 ] || fail "$name: tag"
done
dt -qn 'BEGIN { trace(APPLES); exit(0); }' && fail "misspelled"
grep -q "did you mean 'APPLE'?" "$TMP/err" || fail "no hint"
dt -x nolibs -qn 'BEGIN { trace(A); exit(0); }' && fail "nolibs"
grep -q D_IDENT_UNDEF "$TMP/err" || fail "nolibs: D_IDENT_UNDEF"
# folders of -L are compiled at once, and may stand on the system's files
mkdir "$TMP/user"
printf '#pragma D depends_on library b.d\ninline int U = B + 2;\n' >"$TMP/user/u.d"
dt -L "$TMP/user" -qn 'BEGIN { printf("%d", U); exit(0); }' || fail "-L"
[ "$(cat "$TMP/out")" = 43 ] || fail "-L value"
echo 'inline int B = 1;' >"$TMP/user/b.d" # takes the place of the system's
dt -L "$TMP/user" -qn 'BEGIN { printf("%d %d", U, A); exit(0); }' || fail "-L over"
[ "$(cat "$TMP/out")" = "3 2" ] || fail "-L over value"
# their own constants hide the system's, too
printf 'inline int APPLE = 70;\n#pragma D depends_on library a.d\ninline int SUM = APPLE + PEAR;\n' >"$TMP/user/w.d"
dt -L "$TMP/user" -qn 'BEGIN { printf("%d %d", APPLE, SUM); exit(0); }' && [ "$(cat "$TMP/out")" = "70 78" ] || fail "-L constants"
echo 'inline int BAD = ;' >"$TMP/user/v.d"
dt -L "$TMP/user" -qn 'BEGIN { exit(0); }' && fail "-L bad"
rm "$TMP/user/v.d"
# what depends on what is not there is left out, and so is what depends on that
printf '#pragma D depends_on provider nosuch\ninline int UNMET_A = 1;\n' >"$TMP/user/p.d"
printf '#pragma D depends_on library p.d\ninline int UNMET_B = 2;\n' >"$TMP/user/q.d"
printf '#pragma D depends_on module nosuch\ninline int UNMET_C = 2;\n' >"$TMP/user/r.d"
printf '#pragma D depends_on module vmlinux\n#pragma D depends_on provider syscall\ninline int MET = 3;\n' >"$TMP/user/s.d"
dt -L "$TMP/user" -qn 'BEGIN { printf("%d", MET); exit(0); }' && [ "$(cat "$TMP/out")" = 3 ] || fail "dependencies that are met"
for name in UNMET_A UNMET_B UNMET_C; do
	dt -L "$TMP/user" -qn "BEGIN { trace($name); }" && fail "$name"
	grep -q D_IDENT_UNDEF "$TMP/err" || fail "$name: D_IDENT_UNDEF"
done
printf '#pragma D depends_on library v.d\n' >"$TMP/user/t.d"
printf '#pragma D depends_on library t.d\n' >"$TMP/user/v.d"
dt -L "$TMP/user" -qn 'BEGIN { exit(0); }' && fail "a cycle"
grep -q 'Cyclic dependency detected: v.d => t.d' "$TMP/err" || fail "a cycle: message"
rm "$TMP/user/t.d" "$TMP/user/v.d"
# clauses of a library are compiled and never enabled
printf 'int seen; BEGIN, tick-1ms { seen++; @lib[seen] = count(); printf("%%d", seen); }\n' >"$TMP/user/x.d"
dt -L "$TMP/user" -qn 'BEGIN { printf("%d %d", seen, MET); exit(0); }' || fail "clauses of a library"
[ "$(head -1 "$TMP/out")" = "0 3" ] || fail "clauses of a library: values"
# every file of ours compiles
"$DTRACE" -L "$SRC/dlib" -qn 'BEGIN { exit(0); }' >"$TMP/out" 2>"$TMP/err" || fail "dlib"
[ -s "$TMP/err" ] && fail "dlib: messages"
exit 0
