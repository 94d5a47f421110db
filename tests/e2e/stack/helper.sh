# Ustack helpers name frames while the stack is walked: in records, keys, text and JSON. The names of generated code come from the
# traced process; the third function's cannot be read.
# @@foreign
cd "$TMP" || exit 1

cat >jit.d <<'X'
dtrace:helper:ustack:
/arg0 >= 0x10000000 && arg0 < 0x10001000/
{
	this->slot = arg0 & ~63;
	copyinstr(*(uintptr_t *)copyin(this->slot + 32, sizeof (uintptr_t)));
}
X
cat >notes.d <<'X'
int n;
dtrace:helper:ustack:
{
	n++;
	strjoin("@ toy:", substr(lltostr(arg0 % 1000 + 1000), 1));
}
dtrace:helper:ustack:
/strstr(execname, "jit") == NULL || arg1 == 0/
{
	"@never";
}
X
getppid='syscall::getppid:entry /pid == $target/'

# run HELPER SCRIPT COMMAND OPTIONS...: output and errors, without indent, offsets and empty lines
run() {
	helper=$1 script=$2 command=$3
	shift 3
	"$DTRACE" -q "$@" -x helper="$helper" -n "$script" -c "$command" 2>&1 |
		sed -e 's/^ *//' -e 's/+0x[0-9a-f]*$//' -e '/^$/d' -e '/^hint:/d' -e 's/at [^ ]*\(jit.d:[0-9]*\) in process [0-9]*/at \1 in process N/'
}

# same NAME EXPECTED < output: what differs
same() {
	cat >got
	[ "$(cat got)" = "$2" ] || { printf '%s: wanted:\n%s\ngot:\n%s\n' "$1" "$2" "$(cat got)"; }
}

named='libc.so.6`getppid
jit`leaf
compute
?[31mred
0x10000090
[helper error]
main.js:12
jit`main'
plain='libc.so.6`getppid
jit`leaf
0x10000010
0x10000050
0x10000090
0x100000d0
jit`main'

{
	run jit.d "$getppid { jstack(7); }" "$TRIGGER/jit 1" | same 'jstack()' "$named
dtrace: 1 error in ustack helpers, the first at jit.d:5 in process N 'jit': invalid address (0x1)"
	run jit.d "$getppid { ustack(7); }" "$TRIGGER/jit 1" | same 'ustack() runs no helper' "$plain"
	run jit.d "$getppid { ustack(7, 100); }" "$TRIGGER/jit 1" | same 'ustack() with a string size' "$named
dtrace: 1 error in ustack helpers, the first at jit.d:5 in process N 'jit': invalid address (0x1)"
	run jit.d "$getppid { jstack(7, 0); }" "$TRIGGER/jit 1" | same 'jstack() without one' "$plain"

	# a frame that has a symbol keeps it; what begins with @ is a line of its own
	run notes.d "$getppid { jstack(2); }" "$TRIGGER/jit 1" | sed 's/[0-9][0-9][0-9] \]/NNN ]/' | same annotations 'libc.so.6`getppid
[  toy:NNN ]
jit`leaf
[  toy:NNN ]'

	# one key; what the clause has computed before the walk stays as it was
	run jit.d "$getppid { this->slot = 5; this->text = strjoin(\"a\", execname);
		@[strjoin(\"k\", execname), jstack(7), strjoin(this->text, probefunc)] = count(); @s = sum(this->slot); }" \
		"$TRIGGER/jit 100" | grep -v ^dtrace | tr '\n' ' ' | sed 's/  */ /g' | same keys "kjit $(echo "$named" | tr '\n' ' ')ajitgetppid 100 500 "
	# a name that differs makes another key
	cat >count.d <<'X'
int n;
dtrace:helper:ustack:
/arg0 >= 0x100000d0 && arg0 < 0x10001000/
{
	lltostr(n++ % 4);
}
X
	run count.d "int n; $getppid { n = 100; @[jstack(6)] = count(); } END { trace(n); }" "$TRIGGER/jit 100" |
		grep -cx 25 | same 'four names, four keys' 4

	# JSON: the address stays, the helper's text is there as it was returned
	"$DTRACE" -q -x oformat=json -x helper=jit.d -n "$getppid { jstack(7); @[jstack(7)] = count(); }" -c "$TRIGGER/jit 1" 2>/dev/null >json
	python3 - json <<'X'
import json, sys
d = json.load(open(sys.argv[1]))["dtrace"]
def stacks(o):
    if isinstance(o, dict):
        if "ustack-frames" in o:
            yield o["ustack-frames"]
        o = list(o.values())
    if isinstance(o, list):
        for x in o:
            yield from stacks(x)
found = [[(f.get("symbol"), f.get("helper"), f.get("address")) for f in s[2:7]] for s in stacks(d)]
want = [("compute", "compute", "0x10000010"), ("?[31mred", "\x1b[31mred", "0x10000050"), ("0x10000090", None, "0x10000090"),
        ("[helper error]", None, None),
        ("main.js:12", "main.js:12", "0x100000d0")]
if len(found) != 2 or any(f != want for f in found):
    print("json:", found)
X

	# the first two names take 17 bytes with their NULs
	run jit.d "$getppid { jstack(7, 19); }" "$TRIGGER/jit 10" | sort | uniq -c | sed 's/^ *//' | grep -v 'libc\|leaf\|main$' |
		same 'what does not fit' "10 0x10000090
10 0x100000d0
10 ?[31mred
10 [helper error]
10 compute
1 dtrace: 10 errors in ustack helpers, the first at jit.d:5 in process N 'jit': invalid address (0x1)
1 dtrace: 10 jstack()/ustack() string table overflows"
	run jit.d "$getppid { jstack(5, 9); }" "$TRIGGER/jit 1" | same 'which is marked' "libc.so.6\`getppid
jit\`leaf
compute
0x10000050
[names cut]
0x10000090
dtrace: 1 jstack()/ustack() string table overflow
dtrace: 1 error in ustack helpers, the first at jit.d:5 in process N 'jit': invalid address (0x1)"

	# with stacks and strings of other sizes, blocks of scratch memory, threads of their own
	for x in strsize=16 strsize=65536 scratchsize=1m; do
		run jit.d "$getppid { this->p = alloca(64); *(int *)this->p = 9; jstack(4); trace(*(int *)this->p); }" "$TRIGGER/jit 1" -x $x |
			same "-x $x" 'libc.so.6`getppid
jit`leaf
compute
?[31mred
9'
	done
	run jit.d "$getppid { @[jstack(4)] = count(); }" "$TRIGGER/jit 1" -x stackmerge=function | grep -c compute | same stackmerge 1

	# where the chain of calls is longest: an ERROR clause in a unit whose clauses are cut
	{
		echo "$getppid {"
		for i in $(seq 400); do
			echo "this->a$i = strstr(execname, \"x$i\") != NULL ? $i : strstr(execname, \"y$i\") != NULL ? 2 : 3;"
		done
		echo 'trace(*(int *)0); } ERROR { jstack(4); }'
	} >long.d
	"$DTRACE" -q -x helper=jit.d -s long.d -c "$TRIGGER/jit 1" 2>&1 | grep -c compute | same 'ERROR in a large unit' 1

	# what a helper may not do
	while IFS='|' read -r text why; do
		echo "dtrace:helper:ustack: { $text }" >no.d
		"$DTRACE" -q -x helper=no.d -n 'BEGIN { jstack(); exit(0); }' 2>&1 | grep -qF -- "$why" || echo "refusal of '$text': no '$why'"
	done <<'X'
self->x = 1; "a";|no.d:1: a ustack helper may not use thread-local variables
a[1] = 1; "a";|may not use associative arrays
@ = count();|may not use aggregations
printf("a");|may not use actions that are no expressions
strtok("a", "b");|may not use strtok()
lltostr(timestamp);|may not use 'timestamp'
lltostr(ustackdepth);|may not use 'ustackdepth'
|may not use clauses without a value
strjoin("a");|strjoin
X
	echo 'BEGIN { "a"; }' >no.d
	"$DTRACE" -q -x helper=no.d -n 'BEGIN { jstack(); exit(0); }' 2>&1 | grep -q 'a helper has clauses on dtrace:helper:ustack: only' || echo 'BEGIN in a helper'
	"$DTRACE" -q -x helper=nosuch.d -n 'BEGIN { jstack(); exit(0); }' 2>&1 | grep -q "cannot read the ustack helper 'nosuch.d'" || echo 'no such file'
	"$DTRACE" -q -n 'dtrace:helper:ustack: { "a"; }' 2>&1 | grep -q 'helpers stand in a file of their own' || echo 'the probe of helpers in a script'
} >wrong 2>&1
cat wrong
[ ! -s wrong ]
