# A session whose probe replaces return addresses does so in the processes of another session, too, where both probe the same function: user stacks go on there.
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
cat >calls.c <<'C'
#include <stdlib.h>
static void *volatile block;
__attribute__((noinline, optimize("no-optimize-sibling-calls"))) void zero(void)
{
	block = calloc(10, 50);
}
int main(void)
{
	for (int i = 0; i < 2000; i++)
		zero();
	return 0;
}
C
cc -O1 -o calls calls.c || exit 1
cat >other.d <<'D'
provider other {
	probe back(uintptr_t result) = pid:libc.so.6:calloc:returned (arg1);
};
BEGIN { printf("ready\n"); }
other$target:::back { @ = count(); }
D
sleep 1000 &
target=$!
"$DTRACE" -q -x inproc=off -x switchrate=10ms -s other.d -p $target >other.out 2>other.err &
other=$!
trap 'kill $target; wait' EXIT
while ! grep -q ready other.out; do
	kill -0 $other 2>/dev/null || { cat other.err; exit 1; }
	sleep 0.05
done
"$DTRACE" -q -x inproc=off -n 'pid$target:libc.so.6:calloc:entry, pid$target:libc.so.6:calloc:return { @[probename, ustack(3)] = count(); }' -c ./calls >out 2>err || { cat err; exit 1; }
[ ! -s err ] || { cat err; exit 1; }
awk '/cut\]/ { bad = 1 } /calls`zero/ { zero = 1 } /calls`main/ && zero { whole = 1 } /^ +[0-9]+$/ { if (whole) n += $1; zero = whole = 0 }
END { exit bad || n < 4000 }' out || { cat out; exit 1; }
