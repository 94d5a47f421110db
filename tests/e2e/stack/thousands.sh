# Stacks of thousands of frames, native and of a language, are whole and in order: as records, as keys, in JSON, with the compiled helper
# and with the interpreter in the kernel. What does not fit is marked or said, and a number beyond the limit is refused.
cd "$TMP" || exit 1
fail() { echo "$1"; head -c 300 out; cat err; exit 1; }

cat >thousands.c <<'C'
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
static int fd;
static int odd(int n);
__attribute__((noinline)) static int even(int n)
{
	int r = n ? odd(n - 1) : (int)write(fd, "x", 1);

	__asm__ volatile("" ::: "memory");
	return r + 1;
}
__attribute__((noinline)) static int odd(int n)
{
	int r = even(n - 1);

	__asm__ volatile("" ::: "memory");
	return r + 1;
}
int main(int argc, char **argv)
{
	fd = open("/dev/null", O_WRONLY);
	return even(atoi(argv[1])) == 0;
}
C
gcc -O1 -fno-optimize-sibling-calls -o thousands thousands.c || exit 1

# "even odd even ...", whatever the program's other frames are, as runs: 1 write, 3001 of the chain, 1 main
chain() {
	awk '/`(even|odd)\+/ { f = /even/ ? "even" : "odd"; if (n && f == last) bad = 1; last = f; n++ }
		/`(main|write)\+/ { last = "" } /`main\+/ { main++ } /\[cut\]/ { cut++ } END { print n + 0, main + 0, cut + 0, bad + 0 }'
}
native() { # ACTION FRAMES WANTED
	"$DTRACE" -q -n 'syscall::write:entry /pid == $target/ { '"$1"'; }' -c "./thousands $2" >out 2>err || fail "$1: status"
	[ "$(chain <out)" = "$3" ] && [ ! -s err ] || fail "$1 of $2: $(chain <out), not $3"
}
native 'ustack(4000)' 3000 "3001 1 0 0"
native 'jstack(4000)' 3000 "3001 1 0 0"
native '@[ustack(4000)] = count()' 3000 "3001 1 0 0"
native 'ustack(2000)' 3000 "1999 0 0 0"
native 'ustack(16384)' 16000 "16001 1 0 0"
native '@[ustack(16384), ustack(2000)] = count()' 16000 "18000 1 0 0"
native 'printf("%d", ustackdepth)' 16000 "0 0 0 0"
[ "$(cat out)" -gt 16004 ] || fail "ustackdepth"

# neither the kernel's own walk nor a buffer that is too small loses frames in silence
"$DTRACE" -q -n 'BEGIN { stack(4000); exit(0); }' >out 2>err
grep -q 'stacks of 4000 frames are cut to' err || fail "stack(4000)"
"$DTRACE" -q -b 64k -n 'BEGIN { ustack(16384); exit(0); }' >out 2>err && fail "a record larger than its buffer"
grep -q 'raise bufsize' err || fail "a record larger than its buffer"
for i in 'stack(16385)' 'ustack(16385)' 'jstack(20000, 100)' 'ustack(1 << 40)'; do
	"$DTRACE" -q -n "BEGIN { $i; exit(0); }" >out 2>err && fail "$i"
	grep -q 'must be at most 16384' err || fail "$i"
done
"$DTRACE" -q -x jstackframes=16385 -n 'BEGIN { exit(0); }' >out 2>err && fail "-x jstackframes=16385"
grep -q "'jstackframes' lies between 1 and 16384" err || fail "-x jstackframes=16385"

python=/usr/bin/python3.11
[ -x $python ] || exit 0
. "$SRC/tests/e2e/stack/met.inc"
cat >thousands.py <<'P'
import os, sys
sys.setrecursionlimit(100000)
fd = os.open("/dev/null", os.O_WRONLY)
def even(n):
    if n == 0:
        return os.write(fd, b"x")
    return odd(n - 1)
def odd(n):
    return even(n - 1)
even(int(sys.argv[1]))
P
language() { # ACTION FRAMES WANTED
	"$DTRACE" $4 -q -n 'syscall::write:entry /pid == $target/ { '"$1"'; }' -c "$python thousands.py $2" >out 2>err || fail "$1: status"
	got=$(sed 's/.*(\(even\|odd\)).*/x`\1+/; s/.*<module>.*/x`main+/' out | chain)
	[ "$got" = "$3" ] || fail "$1 of Python: $got, not $3"
}
language 'jstack(4000)' 3000 "3001 1 0 0"
language 'jstack()' 12000 "12001 1 0 0" '-x jstackframes=16384'
language '@[jstack(4000)] = count()' 3000 "3001 1 0 0"
FATHOM_NO_FEATURE=TAIL_CALL language 'jstack(16384)' 12000 "12001 1 0 0"
"$DTRACE" -x oformat=json -o json -q -n 'syscall::write:entry /pid == $target/ { jstack(4000); }' -c "$python thousands.py 3000" >out 2>err || fail "JSON"
got=$(grep -oE '"symbol": "[^"]*[(](even|odd|<module>)[)]"' json | grep -c .)
[ "$got" = 3002 ] || fail "JSON: $got frames of the language"
