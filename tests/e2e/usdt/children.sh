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
#ifdef __x86_64__
/* A function that begins with a 5-byte nop, as with -mfentry -mnop-mcount; a probe on such a nop. */
void nops(int n);
__asm__(".type nops, @function\nnops: .byte 0x0f, 0x1f, 0x44, 0, 0\npush %rbx\npop %rbx\n"
	"990: .byte 0x0f, 0x1f, 0x44, 0, 0\nret\n.size nops, .-nops\n"
	".pushsection .note.stapsdt, \"\", \"note\"\n.balign 4\n.4byte 8, 2f-1f, 3\n.asciz \"stapsdt\"\n"
	"1: .8byte 990b, _.stapsdt.base, 0\n.asciz \"foreign\"\n.asciz \"onnop\"\n.asciz \"-4@%edi\"\n2: .balign 4\n.popsection");
#else
static void nops(int n)
{
}
#endif
static void all(int n)
{
	for (int i = 0; i < 3; i++) {
		hit(n + i);
		nops(n + i);
	}
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
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q -n 'p$target:::hit { @[arg0 / 10] = count(); }' -c ./app >out 2>err || fail "tracing"
! grep -q 'has died' out || fail "a child"
[ "$(grep -cE '^ +[02] +3$' out)" = 2 ] || fail "the parent's hits"
[ "$(uname -m)" = x86_64 ] || exit 0
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q -n 'pid$target:app:nops:entry { @[arg0 / 10] = count(); }' -c ./app >out 2>err || fail "tracing a function"
! grep -q 'has died' out || fail "a child of a traced function"
[ "$(grep -cE '^ +[02] +3$' out)" = 2 ] || fail "the function's calls"
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -Z -n 'foreign$target:::onnop { @[arg0 / 10] = count(); } p$target:::hit /0/ { }' -c ./app >out 2>err || fail "tracing a foreign probe"
! grep -q 'has died' out || fail "a child of a traced foreign probe"
grep -q 'left out' err || [ "$(grep -cE '^ +[02] +3$' out)" = 2 ] || fail "neither said nor counted"
