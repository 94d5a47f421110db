# Every flag of d-language.md 9.1 once, those included that Linux has no use for.
cd "$TMP" || exit 1
fail() { echo "$1"; cat out err; exit 1; }
run() { $DTRACE "$@" >out 2>err; }
said() { grep -qF -- "$1" "$2" || fail "expected in $2: $1"; }
refused() { # text flags...
	text=$1; shift
	run "$@"; status=$?
	[ $status = 2 ] || fail "$*: status $status"
	said "dtrace: $text" err
}
refused "-A: anonymous tracing is not supported on Linux" -A -n BEGIN
said "hint: start dtrace early" err
refused "-a: no anonymous tracing state: it is not supported on Linux" -a
refused "-B: buffered output handlers are not supported" -B -n BEGIN
refused "-32: programs are compiled for the kernel's data model" -32 -n BEGIN
refused "illegal option -- 3x" -3x
refused "only one of the [-AGhlV] options can be specified at a time" -A -l
refused "only one of the [-AGhlV] options can be specified at a time" -G -h

run -64 -qn 'BEGIN { printf("%d", sizeof(long)); exit(0); }' && [ "$(cat out)" = 8 ] || fail -64
run -b 1m -qn 'BEGIN { exit(0); }' || fail -b
run -b 1x -qn 'BEGIN { exit(0); }' && fail "-b 1x"
said "failed to set -b 1x: Invalid value for specified option" err
run -c 'true x' -qn 'BEGIN { printf("%d", $target != 0); }' && [ "$(head -1 out)" = 1 ] || fail -c
printf '#ifdef A\nBEGIN { trace(A); trace(B); exit(0); }\n#endif\n' >p.d
run -C -DA=7 -D B=8 -qs p.d && [ "$(cat out)" = 78 ] || fail "-C -D"
run -C -D A=7 -U A -qs p.d && fail "-U"
said "empty D program translation unit" err
mkdir -p inc && echo 'inline int B = 9;' >inc/b.h
printf '#include "b.h"\nBEGIN { trace(B); exit(0); }\n' >q.d
run -C -I inc -qs q.d && [ "$(cat out)" = 9 ] || fail -I
run -C -H -I inc -qs q.d && said inc/b.h err
run -C -X c -qs q.d -I inc || fail -X
run -X q -n BEGIN && fail "-X q"
said "failed to set -X q" err
run -e -n 'BEGIN { exit(3); }' || fail -e
[ -s out ] && fail "-e prints"
[ -s err ] && fail "-e says how many probes matched"
run -Fn 'BEGIN { exit(0); }' && said 'CPU FUNCTION' out
run -f getpid -l && said "syscall" out
run -m vmlinux -l -n syscall::getpid:entry && said getpid out
run -P profile -l && said "profile" out
run -i 1 -qn 'BEGIN { exit(0); }' || fail -i
run -i 999999 && fail "-i 999999"
mkdir -p lib && echo 'inline int OURS = 5;' >lib/ours.d
run -L lib -qn 'BEGIN { trace(OURS); exit(0); }' && [ "$(cat out)" = 5 ] || fail -L
run -l -n BEGIN && said "dtrace                                                     BEGIN" out
rm -f f && run -o f -qn 'BEGIN { trace(1); exit(0); }' && run -o f -qn 'BEGIN { trace(2); exit(0); }'
[ "$(tr -d '\n' <f)" = 12 ] || fail "-o appends"
run -o /no/such/folder/f -n BEGIN && fail "-o"
said "failed to open output file '/no/such/folder/f': No such file or directory" err
sleep 30 & pid=$!
run -p $pid -qn 'BEGIN { printf("%d", $target); exit(0); }' && [ "$(cat out)" = $pid ] || fail -p
kill $pid
run -p x -n BEGIN && fail "-p x"
said "invalid pid: x" err
run -S -en 'BEGIN { trace(pid); }' && said "DT_VAR(278)" err
run -ven BEGIN && said "Minimum Probe Description Attributes" out
run -V && said "dtrace: Sun D 1.13" out
run -Vv && said "This is Fathom" out
run -wn 'BEGIN { exit(0); }' && said "allowing destructive actions" err
run -n 'BEGIN { raise(1); }' && fail "without -w"
said "could not enable tracing: Destructive actions not allowed" err
run -x nosuch -n BEGIN && fail "-x"
run -Zqn 'nosuch:::probe, BEGIN { exit(0); }' || fail -Z
run -qn 'BEGIN { printf("%s %s", $$1, $$2); exit(0); }' one two && [ "$(cat out)" = "one two" ] || fail operands
run one -qn 'BEGIN { printf("%s %s", $$1, $$2); exit(0); }' two && [ "$(cat out)" = "one two" ] || fail "operands between"
run --help && said "-Z" out
export _DTRACE_TESTING=1
run -n 'BEGIN { trace(10); exit(0); }'
printf '%32s\n%32s        10\n\n' FUNCTION:NAME :BEGIN >want
cmp -s out want || fail "_DTRACE_TESTING"
said "matched 1 probe" err
run -Fn 'BEGIN { trace(10); exit(0); }' && [ "$(head -1 out | tr -d ' ')" = FUNCTION ] || fail "_DTRACE_TESTING -F"
exit 0
