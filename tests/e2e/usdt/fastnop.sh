# Probes on the 5-byte nop of a site, where the kernel makes a call of it: only where nothing can be below the stack pointer.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
[ "$(uname -m)" = x86_64 ] || exit 67
cd "$TMP" || exit 1
cat >p.d <<'END'
provider p { probe leaf(long a, int *k); probe caller(long a); probe begin(long a); probe stepper(long a); };
END
cat >app.c <<'END'
#include "p.h"
#include <stdio.h>
#define APART __attribute__((noinline, aligned(256))) static
APART long leaf(long a) /* calls nobody: its variables are in the red zone */
{
	volatile long x = a, y = a + 1, z = 2 * a + 5;
	P_LEAF(a, (int *)&x);
	return x + y + z;
}
APART long other(long a)
{
	__asm__ volatile("" : "+r"(a));
	return a;
}
APART long caller(long a)
{
	volatile long x = a, y = a + 1, z = 2 * a + 5;
	P_CALLER(a);
	return x + y + z + other(0);
}
APART long begin(long a)
{
	P_BEGIN(a);
	return 4 * a + 6;
}
__asm__(".type nothing, @function\nnothing: ret\n.size nothing, .-nothing");
APART long stepper(long a) /* the compiler does not know of the call in the assembler */
{
	volatile long x = a, y = a + 1, z = 2 * a + 5;
	P_STEPPER(a);
	__asm__ volatile("lea -128(%rsp), %rsp\n call nothing\n lea 128(%rsp), %rsp");
	return x + y + z;
}
static const struct { const char *name; long (*func)(long); } rows[] = {
	{"leaf", leaf}, {"caller", caller}, {"begin", begin}, {"stepper", stepper}};
int main(void)
{
	FILE *exe = fopen("/proc/self/exe", "r");
	unsigned char file[256];
	for (int i = 0; i < 4; i++) {
		unsigned char *code = (unsigned char *)rows[i].func;
		for (long n = 0; n < 1000; n++)
			if (rows[i].func(n) != 4 * n + 6) {
				printf("%s(%ld) is wrong\n", rows[i].name, n);
				break;
			}
		fseek(exe, code - (unsigned char *)0x400000, SEEK_SET);
		if (fread(file, 1, sizeof(file), exe) != sizeof(file))
			return 1;
		for (int k = 1; k < 256; k++)
			if (file[k] != code[k]) {
				printf("%s %02x behind %02x\n", rows[i].name, code[k], file[k - 1]);
				break;
			}
	}
	return 0;
}
END
"$DTRACE" -h -s p.d || fail "-h"
run() { # as many hits as calls, with their arguments
	timeout 60 "$DTRACE" -q -n 'p$target::: { @n[probename] = count(); @s[probename] = sum(arg0); }
		END { printa("%s %@d %@d\n", @n, @s); }' -c ./app >out 2>err || fail "$1"
	[ "$(grep -c ' 1000 499500$' out)" = 4 ] || fail "$1: other counts or arguments"
	! grep wrong out || fail "$1: the program computes something else"
}
for flags in '-O2 -fcf-protection=none' '-O2 -fcf-protection -fno-omit-frame-pointer' -O0; do
	gcc $flags -fno-pie -c app.c && "$DTRACE" -G -s p.d app.o && gcc -no-pie app.o p.o -o app || fail "build $flags"
	export FATHOM_NO_FEATURE=UPROBE_NOP5
	run "$flags, without"
	[ "$(grep -c ' cc behind ' out)" -ge 3 ] || fail "$flags: no breakpoints on a kernel without the feature"
	unset FATHOM_NO_FEATURE
	run "$flags"
	if ! grep -q 'caller e8 behind 90' out; then
		grep -q 'caller cc' out && [ ! -e seen ] && exit 67 # this kernel makes no such calls
		fail "$flags: no call in a function that calls"
	fi
	: >seen
	grep -q 'leaf cc' out || fail "$flags: a call in a function with a red zone"
	grep -q 'stepper cc' out || fail "$flags: a call in a function that steps over its red zone"
	case $flags in *none) grep -q 'begin e8 behind 90' out || fail "$flags: no call at the begin of a function";; esac
done
:
