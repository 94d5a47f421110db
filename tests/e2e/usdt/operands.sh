# Arguments wherever compilers put them: registers and their parts, the stack, arrays, static, thread-local and constant ones,
# symbols' addresses. The program prints each value before its probe fires with it.
# @@foreign
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
cat >app.c <<'END'
#include <stdio.h>
#ifdef ANY /* operands in vector registers as well */
#define P(name, value) \
	__asm__ __volatile__("990: nop\n.pushsection .note.stapsdt,\"?\",\"note\"\n.balign 4\n.4byte 992f-991f, 994f-993f, 3\n" \
		"991: .asciz \"stapsdt\"\n992: .balign 4\n993: .8byte 990b, 0, 0\n.asciz \"app\"\n.asciz \"" #name "\"\n" \
		".ascii \"%n1\"\n.asciz \"@%0\"\n994: .balign 4\n.popsection\n" : : "norx"(value), "n"(SIZE(value)))
#define SIZE(value) ((__typeof__(value))-1 > 0 ? -(int)sizeof(value) : (int)sizeof(value))
#define D(name, value) P(name, value)
#else
#include <dtrace/sdt.h>
#define P(name, value) DTRACE_PROBE1(app, name, value)
#define D(name, value) do { printf(#name " %.3f\n", (double)(value)); P(name, value); } while (0)
#endif
#define I(name, value) do { printf(#name " %lld\n", (long long)(value)); P(name, value); } while (0)
struct s { int a; short b[10]; signed char c; long l; double d; };
static __thread int tls_static = 5;
__thread long tls_global = 6;
__thread struct { long pad; short at[9]; } tls_array = {1, {0, -1, -2, -3, -4}};
static int st[40];
int gl[40];
struct s gs;
static struct s ss;
volatile double vd = 1.5;
__attribute__((noinline)) int f(int i, long j, signed char c, unsigned short us, double d, float fl, struct s *p, unsigned char uc, long st7, short st8)
{
	I(i, i); I(c, c); I(us, us); I(uc, uc); I(st7, st7); I(st8, st8);
	I(pb, p->b[i]); I(pl, p->l); I(pc, p->c);
	I(sti, st[i + 1]); I(glc, gl[3]); I(gli, gl[i + 2]); I(ssl, ss.l); I(gsb, gs.b[2]); I(ssi, ss.b[i]);
	I(minus, -3); I(big, 0x123456789abcdefLL);
	I(tls, tls_static); I(tlsg, tls_global); I(tlsi, tls_array.at[i]); I(tlsc, tls_array.at[4]);
	I(jx, j * 3); I(cast, (signed char)(i + 200));
	printf("gla %lld\n", (long long)(long)&gl[2]); P(gla, &gl[2]);
	printf("fa %lld\n", (long long)(long)&f); P(fa, &f);
	D(rd, d); D(rf, fl); D(rs, d * fl + vd); D(rp, p->d);
	return i + (int)j;
}
int main(int argc, char **argv)
{
	struct s s = {.a = 1, .c = -100};
	for (int i = 0; i < 40; i++)
		st[i] = gl[i] = i * -11;
	ss.l = 77; ss.b[argc] = 1234; gs.b[2] = -9; s.l = 99; s.b[argc] = -5; s.d = 3.25;
	tls_global += argc;
	return f(argc, 1000000007L * argc, (signed char)-argc, 65000, 2.5 * argc, 1.25f, &s, 200, -7L * argc, -8) == 0;
}
END
integers='app$target:::[!r]* { printf("D %s %d\n", probename, arg0); }'
floats='app$target:::rd, app$target:::rs, app$target:::rp { printf("D %s %.3f\n", probename, args[0]); }
	app$target:::rf { printf("D %s %.3f\n", probename, args[0]); }'
check() { # flags, script: each probe has the value that the program prints
	$cc $1 -I"$SRC/include" app.c -o app 2>err || fail "$cc $1: it does not compile"
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q -n "$2" -c ./app >out 2>err || fail "$cc $1"
	[ -z "$(grep -v "ended before a file" err)" ] || fail "$cc $1: messages" # other processes may end early
	sed -n 's/^D //p' out | LC_ALL=C sort >got
	sed '/^$/d; /^D /d' out | LC_ALL=C sort >want
	cmp -s got want && [ "$(wc -l <want)" = "$3" ] || { diff got want; readelf -n app | grep -A2 "Name:"; fail "$cc $1: other values"; }
}
for cc in gcc clang; do
	command -v $cc >/dev/null || continue
	for flags in -O0 -O1 -O2 -O3 -Os '-O2 -fPIC' '-O2 -fno-pie -no-pie' '-O2 -flto' '-O2 -fomit-frame-pointer -static'; do
		check "$flags" "$integers $floats" 29
	done
	# operands of all kinds; floating-point numbers are then in registers that a probe does not see
	for flags in '-O2 -fPIC' '-O2 -fno-pie -no-pie' '-O2 -static-pie'; do
		check "-DANY $flags" "$integers" 25
	done
	[ $cc = gcc ] || continue # clang takes others if it can
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q -n 'app$target:::rd { trace(arg0); }' -c ./app >out 2>err && fail "$cc: a vector register"
	grep -q 'the program keeps it in a vector register, of which the kernel shows a probe none: "-8@%xmm[0-9]*"' err || fail "$cc: what it says of a vector register"
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -lvn 'app$target:::rd' -c ./app >out 2>err && grep -q 'args\[0\]: int64_t (cannot be read)$' out || fail "$cc: what -lv says of a vector register"
done
# In a program without symbols, the address of a thread-local or static variable is not known; other arguments are.
gcc -DANY -O2 -fno-pie -no-pie app.c -o app && strip app || fail "stripping"
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q -n 'app$target:::tlsg { trace(arg0); }' -c ./app >out 2>err && fail "a symbol that was stripped"
grep -q 'a symbol that the file does not have' err || fail "what it says of a symbol that was stripped"
for text in 'app$target:::tlsg { trace(args[0]); }' 'provider app { probe tlsg(long); }; app$target:::tlsg { trace(args[0]); }'; do
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q -n "$text" -c ./app >out 2>err && fail "args[0] at a symbol that was stripped"
	grep -q 'a symbol that the file does not have' err || fail "what it says of args[0]"
done
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q -n 'app$target:::jx { printf("= %d\n", arg0); }' -c ./app >out 2>err && grep -q '^= 3000000021$' out || fail "a register of a stripped program"
:
