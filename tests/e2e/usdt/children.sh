# A child that is forked while its parent's probes are traced executes their instructions, too: it has to live.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
cat >p.d <<'END'
provider p { probe hit(int a); };
END
cat >app.c <<'END'
#include "p.h"
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) static void other(void) { __asm__ volatile(""); }
__attribute__((noinline)) static void hit(int a)
{
	P_HIT(a);
	other();
}
static void all(int n)
{
	for (int i = 0; i < 3; i++)
		hit(n + i);
}
int main(void)
{
	int status;
	all(0);
	for (int i = 0; i < 3; i++) {
		if (fork() == 0) {
			all(10);
			_exit(0);
		}
		if (wait(&status) < 0 || status != 0)
			printf("a child has died: status %x\n", status);
	}
	all(20);
	return 0;
}
END
"$DTRACE" -h -s p.d && gcc -O2 -c app.c && "$DTRACE" -G -s p.d app.o && gcc app.o p.o -o app || fail "building"
timeout 60 "$DTRACE" -q -n 'p$target:::hit { @[arg0 / 10] = count(); }' -c ./app >out 2>err || fail "tracing"
! grep -q 'has died' out || fail "a child"
[ "$(grep -cE '^ +[02] +3$' out)" = 2 ] || fail "the parent's hits"
