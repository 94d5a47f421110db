# Every refusal says what to type instead: 'program<TAB>what the hint must contain', one line each.
bad=0
while IFS='	' read -r prog want; do
	"$DTRACE" -n "$prog" >"$TMP/out" 2>&1 && { echo "accepted: $prog"; bad=1; }
	grep 'hint: ' "$TMP/out" | grep -qF -- "$want" || { echo "no '$want' for: $prog"; cat "$TMP/out"; bad=1; }
done <<'EOF'
BEGI { exit(0); }	did you mean 'BEGIN'?
begin { exit(0); }	did you mean 'BEGIN'?
syscal:::entry { exit(0); }	did you mean 'syscall'?
syscall::opn:entry { exit(0); }	did you mean 'open'?
syscall:::enty { exit(0); }	did you mean 'entry'?
syscall:vmlinu::entry { exit(0); }	did you mean 'vmlinux'?
syscall::getppid:exit { exit(0); }	dtrace -ln 'syscall::getppid:' lists what there is
fbt:::entry { exit(0); }	provider 'fbt' is not available in this version
pid1:::entry { exit(0); }	provider 'pid1' is not available in this version
zork:::entry { exit(0); }	there are the providers dtrace, profile, syscall
tick-5q { exit(0); }	a rate is a number with
BEGIN { pritnf("x"); }	did you mean 'printf'?
BEGIN { trace(execnam); }	did you mean 'execname'?
BEGIN { trace(strlne("x")); }	did you mean 'strlen'?
struct s { int alpha; }; struct s v; BEGIN { v.alpa = 1; }	did you mean 'alpha'?
BEGIN { raise(9); }	add -w
BEGIN { system("date"); }	add -w
BEGIN { trace(@a); @a = count(); }	use printa(@a)
BEGIN { trace($1); }	defaultargs
BEGIN { while (1) x++; }	D has no loops
BEGIN { int x; }	variables are declared outside clauses
BEGIN { exit(0); };	no ';' follows
BEGIN { trace(09); }	octal
BEGIN { trace(1) 	';' is missing
EOF
printf '#include <sys/types.h>\nBEGIN { exit(0); }\n' >"$TMP/inc.d"
"$DTRACE" -s "$TMP/inc.d" 2>&1 | grep -q 'hint: .*-C' || { echo "no hint at -C"; bad=1; }
"$DTRACE" -x strsiz=1 -n BEGIN 2>&1 | grep -q "hint: did you mean 'strsize'?" || { echo "no hint at an option's name"; bad=1; }
"$DTRACE" -x bufsize=zz -n BEGIN 2>&1 | grep -q "hint: a size is expected" || { echo "no hint at an option's value"; bad=1; }
exit $bad
