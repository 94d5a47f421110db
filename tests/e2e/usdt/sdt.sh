# The macros of <sys/sdt.h>: they compile everywhere without a warning, refuse what is no argument, and the probes fire.
fail() { echo "$1"; cat "$TMP/err" "$TMP/out" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
headers="$SRC/include/dtrace"
cp "$SRC/tests/e2e/usdt/sdt.c" app.c && cp app.c app.cc || exit 1

# All versions of the languages; with and without counters; without probes.
check() { # compiler, version, flags, file
	for uses in '' -DCOUNTERS '-D_DTRACE_VERSION=0 -Wno-unused -Wno-unused-parameter'; do
		$1 -std=$2 -pedantic -Wall -Wextra -Wundef -Wshadow -Werror $3 $uses -I"$headers" -c $4 -o check.o 2>err ||
			fail "$1 -std=$2 $3 $uses"
	done
}
for cc in gcc clang; do
	for std in c90 gnu90 c99 c11 c17 gnu2x; do
		for flags in -O0 '-O2 -fPIC'; do check $cc $std "$flags" app.c; done
	done
	check $cc c17 '-O3 -flto' app.c
	check $cc c17 '-O1 -fpie' app.c
done
check gcc c17 '-O2 -m32' app.c
check gcc c17 '-O0 -m32' app.c
for cc in g++ clang++; do
	command -v $cc >/dev/null || continue
	for std in c++98 c++11 c++17 c++20; do
		for flags in -O0 '-O2 -fPIC'; do check $cc $std "$flags" app.cc; done
	done
done

# What a note cannot describe.
cat >wrong.c <<'END_C'
#include <sys/sdt.h>
struct two { int a, b; };
void f(struct two t, long double ld);
void f(struct two t, long double ld) { DTRACE_PROBE1(p, x, WRONG); }
END_C
for wrong in t ld '(__int128)1'; do
	for cc in gcc clang 'g++ -x c++' 'clang++ -x c++'; do
		command -v ${cc%% *} >/dev/null || continue
		$cc -I"$headers" "-DWRONG=$wrong" -c wrong.c -o wrong.o 2>err && fail "$cc takes $wrong"
		grep -q argument_must_be_a_number_or_pointer err || fail "$cc gives no reason to refuse $wrong"
	done
done

# The probes fire with their arguments, in programs of every kind; counters count.
cat >app.d <<'END_D'
app$target:::none { printf("none\n"); }
app$target:::ints { printf("ints %d %d %d %d %d %d %d %d\n", arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7); }
app$target:::pointers { printf("pointers %s %s %s %d\n", copyinstr(arg1), copyinstr(arg3), copyinstr(arg4), arg5); }
app$target:::many { printf("many %d %d %d %d %d %d %d %d %d %d\n", arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7, arg8, arg9); }
app$target:::bits { printf("bits %d %d %d %d\n", arg0, arg1, arg2, arg3); }
END_D
cat >expected <<'END_OUT'
none
ints -1 255 -2 65535 -3 4000000000 -5 6
pointers ./app abc app 0
many -3 1 -2 -9 -7 -8 4 7 8 -3
bits -2 30 1 -3
END_OUT
fires() { # the command that compiles
	"$@" -I"$headers" -o app 2>err || fail "$*"
	./app || fail "$*: it does not run"
	"$DTRACE" -q -s app.d -c ./app >out 2>err || fail "$*: dtrace"
	sed '/^$/d' out | cmp - expected || fail "$*: arguments"
}
fires gcc -O0 app.c
fires gcc -O2 -DCOUNTERS app.c
fires gcc -O2 -flto -DCOUNTERS app.c
fires clang -O2 -DCOUNTERS app.c
fires clang -O0 app.c
command -v g++ >/dev/null && fires g++ -O2 -DCOUNTERS app.cc
readelf -n app | grep -q 'Semaphore: 0x00*[1-9a-f]' || fail "no counter"
# a counter defined by hand, and floating-point numbers that are in a register or in memory
gcc -O2 -I"$headers" -c app.c -o app.o && readelf -n app.o >notes || fail "notes"
grep -A2 'Name: floats' notes | grep -qE 'Arguments: 8f@[^ ]+ 4f@[^ ]+ 8f@' ||
	fail "floating-point numbers"
grep -A2 'Name: many' notes | grep -qE 'Arguments: (-?[48]@[^ ]+ ?){12}$' || fail "twelve arguments"
cat >hand.c <<'END_C'
#define _SDT_HAS_SEMAPHORES 1
__extension__ unsigned short hand_made_semaphore __attribute__((unused)) __attribute__((section(".probes")));
#include <sys/sdt.h>
int main(int argc, char **argv)
{
	if (hand_made_semaphore)
		STAP_PROBEV(hand, made, argc, argv[0]);
	return 0;
}
END_C
gcc -O2 -Wall -Wextra -Werror -I"$headers" hand.c -o hand 2>err || fail "a counter made by hand"
"$DTRACE" -qn 'hand$target:::made { printf("%d %s\n", arg0, copyinstr(arg1)); }' -c ./hand >out 2>err && grep -qx '1 ./hand' out || fail "a counter made by hand does not count"

# The cost: a site is a nop, the test of a counter one load and one branch.
cat >cost.c <<'END_C'
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
DTRACE_PROBE_SEMAPHORE(cost, x);
int f(int a) { if (DTRACE_PROBE_ENABLED(cost, x)) DTRACE_PROBE1(cost, x, a); return a + 1; }
END_C
gcc -O2 -fcf-protection=none -I"$headers" -c cost.c && objdump -d --no-show-raw-insn cost.o | grep '^ ' | cut -f2 | awk '{ print $1 }' | tr '\n' ' ' >out
grep -qE '^(movzwl|cmpw) (test )?j(ne|e) lea ret' out || fail "an enabled test is more than a load and a branch"

# Assembler: lines of a .S file, and text of an __asm__ statement.
cat >asm.S <<'END_S'
#include <sys/sdt.h>
	.text
	.globl asm_probe
	.type asm_probe, @function
asm_probe:
	STAP_PROBE_ASM(assembler, line, -4@%edi 8@%rsi)
	STAP_PROBE(assembler, bare)
	ret
	.size asm_probe, .-asm_probe
	.section .note.GNU-stack, "", @progbits
END_S
cat >asm.c <<'END_C'
#include <sys/sdt.h>
void asm_probe(int, const char *);
int main(int argc, char **argv)
{
	asm_probe(argc + 6, argv[0]);
	__asm__ __volatile__(STAP_PROBE_ASM(assembler, text, STAP_PROBE_ASM_TEMPLATE(2)) : : STAP_PROBE_ASM_OPERANDS(2, argc, argv[0]));
	return 0;
}
END_C
for cc in gcc clang; do
	$cc -O2 -I"$headers" asm.c asm.S -o asm 2>err || fail "$cc: assembler"
	"$DTRACE" -qn 'assembler$target:::line,assembler$target:::text { printf("%s %d %s\n", probename, arg0, copyinstr(arg1)); }
		assembler$target:::bare { printf("bare\n"); }' -c ./asm >out 2>err || fail "$cc: assembler"
	[ "$(sed '/^$/d' out | paste -sd,)" = 'line 7 ./asm,bare,text 1 ./asm' ] || fail "$cc: arguments in assembler"
done

# Headers of SystemTap's dtrace declare counters and leave their definition to -G.
cat >stap.c <<'END_C'
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>
__extension__ extern unsigned short stap_asked_semaphore __attribute__((unused)) __attribute__((section(".probes"))) __attribute__((visibility("hidden")));
#define STAP_ASKED_ENABLED() __builtin_expect(stap_asked_semaphore, 0)
#define STAP_ASKED(arg1) STAP_PROBE1(stap, asked, arg1)
int main(int argc, char **argv)
{
	if (STAP_ASKED_ENABLED())
		STAP_ASKED(argc + 8);
	return 0;
}
END_C
echo 'provider stap { probe asked(int); };' >stap_probes.d
gcc -O2 -I"$headers" -c stap.c 2>err && "$DTRACE" -G -s stap_probes.d stap.o 2>err && gcc stap.o stap_probes.o -o stap 2>err || fail "counters that -G defines"
"$DTRACE" -qn 'stap$target:::asked { printf("%d\n", arg0); }' -c ./stap >out 2>err && grep -qx 9 out || fail "a counter of -G does not count"
