# Every refusal says what to type instead: 'program<TAB>what the hint must contain', one line each.
bad=0
while IFS='	' read -r prog want; do
	out=$("$DTRACE" -n "$prog" 2>&1) && { echo "accepted: $prog"; bad=1; }
	case $out in *"hint: "*"$want"*) ;; *) echo "no '$want' for: $prog"; echo "$out"; bad=1 ;; esac
done <<'EOF'
BEGI { exit(0); }	did you mean 'BEGIN'?
begin { exit(0); }	did you mean 'BEGIN'?
syscal:::entry { exit(0); }	did you mean 'syscall'?
syscall::opn:entry { exit(0); }	did you mean 'open'?
syscall:::enty { exit(0); }	did you mean 'entry'?
syscall:vmlinu::entry { exit(0); }	did you mean 'vmlinux'?
syscall::getppid:zzz { exit(0); }	dtrace -ln 'syscall::getppid:' lists what there is
nfs:::op-read-start { exit(0); }	nfsv3 and nfsv4 have the calls of Linux's NFS server
syscall::$1:entry { exit(0); }	1 argument, 0 given: $1 stands for the function
nosuchname { exit(0); }	dtrace -l lists what there is
pid:libc:malloc:entry { exit(0); }	pid$target with -c or -p
zork:::entry { exit(0); }	there are the providers dtrace, profile, syscall, rawtp, sdt, fbt, cpc, pid, and those of the D library
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
typedef int foo_t; foo_t g; BEGIN { exit(0); }	write the program in a file, for dtrace -s
BEGIN { int x; }	variables are declared outside clauses
BEGIN { exit(0); };	no ';' follows
BEGIN { trace(09); }	octal
BEGIN { trace(1) trace(2); }	';' is missing
BEGIN { trace(1) 	the '{' of line 1 has no '}'
syscall::openat { exit(0); }	'syscall::openat:' matches any
openat { exit(0); }	'openat:' matches any
BEGIN { @a = sum(); }	called as sum(expression)
BEGIN { trace(index("a")); }	called as index(const char *, const char *, [int])
BEGIN { trace(x["a"]); }	'int x[string];'
BEGIN { x = 1.5; }	use a smaller unit
BEGIN { x = "a" + "b"; }	strjoin()
BEGIN /execname = "sh"/ { exit(0); }	'==' compares
BEGIN { printf("%s", pid); }	%d prints numbers
BEGIN { printf('x'); }	double quotes
BEGIN { printa(@a); }	@a = count()
BEGIN { @a++; }	@a = count()
BEGIN { trace(1); speculate(1); }	put speculate() first
BEGIN /execname == bash/ { exit(0); }	text stands in double quotes: "bash"
BEGIN /execname == 'bash'/ { exit(0); }	text stands in double quotes: "bash"
BEGIN { trace(curpsinfo->nothing_near); }	its members are pr_
BEGIN { trace((task_struct *)1); }	did you mean 'struct task_struct'?
BEGIN { trace($target); }	-p PID or -c COMMAND
pid$target::malloc:entry { exit(0); }	-p PID or -c COMMAND
kprobe:vfs_read { exit(0); }	fbt::vfs_read:entry, and system calls
kretprobe:vfs_read { exit(0); }	fbt::vfs_read:return
tracepoint:syscalls:sys_enter_openat { exit(0); }	in D: syscall::openat:entry
tracepoint:raw_syscalls:sys_exit { exit(0); }	in D: syscall:::return
tracepoint:sched:sched_switch { exit(0); }	in D: sdt:sched::sched_switch, with
t:sched:sched_switch { exit(0); }	in D: sdt:sched::sched_switch, with
rawtracepoint:sched_switch { exit(0); }	in D: rawtp:::sched_switch
rt:vmlinux:sched_switch { exit(0); }	in D: rawtp:::sched_switch
syscalls:sys_exit_read { exit(0); }	in D: syscall::read:return
uprobe:/bin/bash:readline { exit(0); }	in D: pid$target:bash:readline:entry
uretprobe:/lib/libc.so.6:malloc { exit(0); }	in D: pid$target:libc.so.6:malloc:return
uprobe:main { exit(0); }	in D: pid$target:a.out:main:entry
usdt:/bin/x:prov:name { exit(0); }	in D: prov$target:::name, with
usdt:/bin/x:prov:a__b__c_d { exit(0); }	in D: prov$target:::a-b-c_d, with
usdt:/bin/x:name { exit(0); }	in D: PROVIDER$target:::name, with
interval:s:1 { exit(0); }	in D: tick-1s
profile:hz:99 { exit(0); }	in D: profile-99hz
pid1:shop:shop::Order::price:entry { exit(0); }	write pid1:shop:shop*Order*price:entry
syscall::no such:entry { exit(0); }	write '?' in its place: syscall::no?such:entry
EOF
# What the hints name instead is there, and means the same: the tracepoint's probes, and those of a program.
hinted() { # DESCRIPTION-OF-ANOTHER-TRACER FLAGS...: what the hint proposes matches probes
	other=$1
	shift
	in_d=$("$DTRACE" "$@" -n "$other { exit(0); }" 2>&1 | sed -n 's/^ *hint: in D: \([^ ,;]*\).*/\1/p')
	[ "$("$DTRACE" "$@" -ln "$in_d" 2>"$TMP/out" | wc -l)" -gt 1 ] || { echo "$other: '$in_d' matches nothing"; cat "$TMP/out"; bad=1; }
}
hinted tracepoint:sched:sched_switch
hinted tracepoint:syscalls:sys_enter_openat
hinted rawtracepoint:sched_switch
if [ "$("$DTRACE" -c '/usr/bin/python3 -c pass' -ln 'python$target:::function-entry' 2>/dev/null | wc -l)" -gt 1 ]; then
	hinted usdt:/usr/bin/python3:python:function__entry -c '/usr/bin/python3 -c pass'
else
	echo "/usr/bin/python3 has no probes: its hint is not tried"
fi
printf '#include <sys/types.h>\nBEGIN { exit(0); }\n' >"$TMP/inc.d"
"$DTRACE" -s "$TMP/inc.d" 2>&1 | grep -q 'hint: .*-C' || { echo "no hint at -C"; bad=1; }
"$DTRACE" -x strsiz=1 -n BEGIN 2>&1 | grep -q "hint: did you mean 'strsize'?" || { echo "no hint at an option's name"; bad=1; }
"$DTRACE" -x bufsize=zz -n BEGIN 2>&1 | grep -q "hint: a size is expected" || { echo "no hint at an option's value"; bad=1; }
# Where the D library is looked for, when it is not there.
"$DTRACE" -x syslibdir=/no/such -n 'BEGIN { exit(0); }' >"$TMP/out" 2>&1
grep -q "'/no/such'" "$TMP/out" && grep -q '^hint: the option syslibdir' "$TMP/out" || { cat "$TMP/out"; bad=1; }
env -u DTRACE_OPT_SYSLIBDIR "$DTRACE" -n 'BEGIN { trace(curpsinfo->pr_fname); exit(0); }' >"$TMP/out" 2>&1 || # installed
	grep -q '^hint: the folder of the D library, /.*, is missing' "$TMP/out" || { cat "$TMP/out"; bad=1; }

# One message for a description with a blank in it, for arguments that are missing, and for a missing process.
one() { [ "$(grep -c '^  --> ' "$TMP/out")" = 1 ] && grep -qF "$1" "$TMP/out" || { echo "not one message with '$1':"; cat "$TMP/out"; bad=1; }; }
"$DTRACE" -n 'syscall::no such:entry { x = 1; } END { trace(x); }' >"$TMP/out" 2>&1
one 'a blank ends a description'
"$DTRACE" -s "$SRC/examples/slowcalls.d" >"$TMP/out" 2>&1
one 'the script takes 1 argument, 0 given; its header says: Which system calls'
"$DTRACE" -s "$SRC/examples/slowfunc.d" libc malloc >"$TMP/out" 2>&1
one 'its header says: slowfunc.d MODULE FUNCTION'
"$DTRACE" -x defaultargs -qn 'BEGIN { exit($target + 5); }' >"$TMP/out" 2>&1; [ $? = 5 ] || { echo 'no $target with defaultargs'; bad=1; }

"$DTRACE" -n 'BEGIN { trace($1); }' word 2>&1 | grep -qF "hint: the script's argument is 'word': "'$$ in' || { echo 'no hint at $1'; bad=1; }

# Of what goes wrong at run time the first of each kind says what helps, and only the first.
"$DTRACE" -qn 'BEGIN { x = (int *)8; trace(*x); } BEGIN { trace(*x); } BEGIN { trace(1 / (*x - *x)); }
	BEGIN { y = (int *)0x7f0000000000; trace(*y); } BEGIN { n = 0; trace(1 / n); } BEGIN { exit(0); }' >"$TMP/out" 2>"$TMP/err"
[ "$(grep -c '^hint: the pointer is not set' "$TMP/err")" = 1 ] && [ "$(grep -c '^hint: .*copyin()' "$TMP/err")" = 1 ] &&
	[ "$(grep -c '^hint: test the divisor' "$TMP/err")" = 1 ] || { echo "hints at faults:"; cat "$TMP/err"; bad=1; }
"$DTRACE" -q -x dynvarsize=4k -n 'tick-1000hz { x[i++] = 1; } tick-300ms { exit(0); }' >"$TMP/out" 2>"$TMP/err"
grep -q '^hint: .*-x dynvarsize' "$TMP/err" || { echo "no hint at drops"; cat "$TMP/err"; bad=1; }

# Every refusal of the golden tests, as the command shows it. (Their probes and symbols may be missing here: a refusal is one.)
# Sanitizers have seen them in the golden tests.
[ -z "$SANITIZED" ] || exit $bad
for f in tests/golden/check/err.*.d; do
	echo "== $f"
	"$DTRACE" -e -s "$f" 2>&1
done >"$TMP/all"
awk '/^== / { name = $2; places[name] = hints[name] = 0 } /^  --> / { places[name]++ } /^ *hint: / { hints[name]++ }
	END { for (n in places) if (places[n] != hints[n]) { print n ": of " places[n] " messages " hints[n] " have a hint"; bad = 1 }
		exit bad }' "$TMP/all" || bad=1
grep -c '^  --> ' "$TMP/all" | grep -q '^[2-9]..' || { echo 'too few refusals'; bad=1; }
exit $bad
