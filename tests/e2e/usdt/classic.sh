# Objects with another system's headers, where probes are calls of functions that nobody defines: dtrace -G replaces the calls.
# @@foreign
fail() { echo "$1"; cat "$TMP/err" "$TMP/out" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
cp "$SRC/tests/e2e/usdt/classic.c" app.c && cp "$SRC/tests/e2e/usdt/classic.h" . && cp app.c app.cc || exit 1
cat >probes.d <<'END_D'
provider my_app {
	probe query__start(int, string, long);
	probe many(int, long, char, unsigned short, int64_t, uint8_t, int, long);
	probe ratio(double, int, float);
	probe idle();
	probe tail(int);
	probe unused(int);
};
END_D
cat >app.d <<'END_D'
my_app$target:::query-start { printf("%s %s %d %d %d\n", probefunc, probename, arg0, arg1 != 0, arg2); }
my_app$target:::many
{
	printf("%s %s %d %d %d %d %d %d %d %d\n", probefunc, probename, arg0, arg1, arg2, arg3, arg4, arg5, arg6, arg7);
}
my_app$target:::tail { printf("%s %s %d\n", probefunc, probename, arg0); }
my_app$target:::idle { printf("%s %s\n", probefunc, probename); }
my_app$target:::ratio { printf("%s %s %d\n", probefunc, probename, arg1); }
END_D
for i in 1 2; do cat <<END_OUT
work query-start $i 1 -$((5 * i))
work many $i -2 120 65535 -5000000000 250 -7 $((8 + i))
work ratio $((i + 1))
work idle
tail tail $i
tail_many many $((1 + i)) 2 3 4 5 6 7 8
$([ $i = 2 ] && echo conditional tail 202)
__dtrace_my_app___tail tail $((100 + i))
END_OUT
done | sed '/^$/d' >expected
fires() { # what it is: the program ./app
	[ "$(./app)" = 'seen 0' ] || fail "$1: it does not run"
	"$DTRACE" -q -s app.d -c ./app >out 2>err || fail "$1: dtrace"
	grep -qx 'seen 2' out || fail "$1: the tests do not see the tracer"
	# the target of a conditional jump is a function of its own
	sed '/^$/d; /^seen/d; s/^__dtrace_my_app___tail tail 202/conditional tail 202/; s/^_Z[0-9]*\(conditional\|tail_many\|tail\|work\)[a-zA-Z]* /\1 /' out | cmp - expected || fail "$1: probes or arguments"
}
builds() { # the command that compiles, with a file
	rm -f app.o probes.o app
	"$@" -c -o app.o 2>err || fail "$*"
	"$DTRACE" -G -s probes.d app.o 2>err && [ ! -s err ] || fail "$*: -G"
	nm app.o | grep -q '__dtrace_my_app___many' && fail "$*: a call is left"
	gcc app.o probes.o -o app 2>err && [ ! -s err ] || fail "$*: linking"
	fires "$*"
}
for flags in -O0 '-O2 -fPIE' '-O2 -fno-plt' '-Os -ffunction-sections -g' '-O2 -fno-asynchronous-unwind-tables -fcf-protection=none'; do
	for cc in gcc clang; do builds $cc $flags app.c; done
done
command -v g++ >/dev/null && builds g++ -O1 app.cc
readelf -W -l app | grep -q 'GNU_STACK.*RWE' && fail "the stack is executable"
readelf -Wn app >notes 2>err && [ ! -s err ] || fail "damaged notes"
grep -A2 'Name: ratio' notes | grep -q 'Arguments: 8f@%xmm0 -4@%edi 4f@%xmm1$' || fail "floating-point numbers"

# A site is a nop of 1 byte, which every kernel emulates, and one of 4 bytes: no call is left but the test's.
builds gcc -O2 -g app.c
objdump -d --no-show-raw-insn --disassemble=work app >out
[ "$(grep -A1 '\bnop$' out | grep -c 'nopl   0x0(%rax)$')" = 4 ] || fail "sites that are no nops"
[ "$(grep -c 'call' out)" = 1 ] && grep -q 'call.*__dtraceenabled_my_app___query__start' out || fail "calls that are left"
gdb -batch -ex 'info probes stap' app 2>/dev/null | grep -c my_app >count
[ ! -s count ] || [ "$(cat count)" = 8 ] || fail "gdb finds $(cat count) probes"

# Again over the same objects: nothing changes, and the result is the same. The mode is kept.
cp app.o before.o && cp probes.o first.o && chmod 640 app.o
"$DTRACE" -G -s probes.d app.o 2>err && cmp app.o before.o && cmp probes.o first.o || fail "a second run changes something"
[ "$(stat -c %a app.o)" = 640 ] || fail "the mode of the object"
gcc app.o probes.o -o app && fires "a second run"

# A symbolic link to an object stays one. A disk that is full in the middle of the copy is named, and nothing is left behind.
mkdir linked && gcc -O2 -c app.c -o linked/real.o && cp linked/real.o linked/before.o && ln -s linked/real.o link.o
"$DTRACE" -G -s probes.d -o linked/probes.o link.o 2>err || fail "a link to an object"
[ -L link.o ] && ! cmp -s linked/real.o linked/before.o || fail "the link was replaced and not its object"
gcc linked/real.o linked/probes.o -o app && fires "a link to an object"
cp linked/before.o linked/real.o
(trap '' XFSZ; ulimit -f 2; exec "$DTRACE" -G -s probes.d -o linked/probes.o linked/real.o 2>err) && fail "an object that cannot be copied"
grep -q "cannot copy the object file 'linked/real.o': File too large" err || fail "why it cannot be copied"
[ "$(ls linked)" = "before.o
probes.o
real.o" ] && cmp linked/real.o linked/before.o || fail "what is left behind"

# Objects that were changed go into archives and libraries, through other tools, and are linked in any way.
gcc -O2 -fPIC -Dmain=app_main -c app.c -o lib.o && printf 'int app_main(int, char **); int main(int c, char **v) { return app_main(c, v); }\n' >main.c
"$DTRACE" -G -s probes.d lib.o 2>err || fail "-fPIC"
gcc -shared -Wl,-z,defs -Wl,-z,text lib.o probes.o -o libapp.so 2>err && gcc main.c -L. -lapp -Wl,-rpath,"$TMP" -o app 2>err || fail "-shared"
fires -shared
rm -f libapp.so libapp.a && ar rc libapp.a lib.o probes.o && gcc main.c libapp.a -o app 2>err || fail "an archive"
fires "an archive"
gcc -static-pie main.c lib.o probes.o -o app 2>err && fires -static-pie || fail "-static-pie"
ld -r lib.o probes.o -o both.o && gcc main.c both.o -o app 2>err && fires "ld -r" || fail "ld -r"
gcc -Wl,--gc-sections main.c lib.o probes.o -o app 2>err && fires --gc-sections || fail "--gc-sections"
for ld in gold lld; do
	gcc -fuse-ld=$ld main.c lib.o probes.o -o app 2>/dev/null && fires $ld
done

# Inline functions of C++ are in groups, of which the linker keeps one: so are their notes.
if command -v g++ >/dev/null; then
	cat >inline.h <<'END_C'
#include "classic.h"
inline int twice(int i) { __dtrace_my_app___tail(i); return 2 * i; }
END_C
	printf '#include "inline.h"\nint (*volatile a)(int) = twice;\n' >a.cc
	printf '#include "inline.h"\nextern int (*volatile a)(int);\nint main() { return a(1) + twice(2) - 6; }\n' >b.cc
	for flags in '-O0' '-O1 -fno-inline -fno-asynchronous-unwind-tables'; do
		g++ $flags -c a.cc b.cc && "$DTRACE" -G -s probes.d a.o b.o 2>err && g++ a.o b.o probes.o -o app 2>err || fail "groups"
		[ "$(readelf -n app 2>err | grep -c 'Name: tail')" = 1 ] && [ ! -s err ] || fail "a note of code that was dropped"
		"$DTRACE" -qn 'my_app$target:::tail { printf("%d\n", arg0); }' -c ./app >out 2>err && [ "$(sed '/^$/d' out | paste -sd,)" = 1,2 ] ||
			fail "groups: probes"
	done
fi

# 32 bits: arguments are on the stack.
cat >small.c <<'END_C'
#include "classic.h"
void (*volatile pointer)(int) = __dtrace_my_app___tail;
int main(void)
{
	__dtrace_my_app___many(1, -2, 'x', 65535, -5000000000LL, 250, -7, 8);
	if (MY_APP_QUERY_START_ENABLED())
		MY_APP_QUERY_START(3, 0, 4);
	pointer(5);
	return 0;
}
END_C
if gcc -m32 -O2 -c small.c -o small.o 2>/dev/null; then
	"$DTRACE" -G -s probes.d -o p32.o small.o 2>err || fail "-m32"
	readelf -n small.o p32.o >notes 2>err && [ ! -s err ] || fail "-m32: notes"
	grep -qE 'Arguments: -4@0\(%esp\) -4@4\(%esp\) -1@8\(%esp\) 2@12\(%esp\) -8@16\(%esp\) 1@24\(%esp\) -4@28\(%esp\) -4@32\(%esp\)$' notes || fail "-m32: arguments"
	grep -qE 'Arguments: -4@4\(%esp\)$' notes || fail "-m32: arguments of a function"
	if ! gcc -m32 small.o p32.o -o small 2>/dev/null; then
		echo "skip: no C library for programs of 32 bits (libc6-dev-i386)"
	elif "$TRIGGER/has" programs32; then
		./small || fail "-m32: it does not run"
		"$DTRACE" -qn 'my_app$target:::many { printf("%d %d %d %d %d\n", arg0, arg1, arg4, arg5, arg7); }
			my_app$target:::query-start { printf("query %d %d\n", arg0, arg2); } my_app$target:::tail { printf("tail %d\n", arg0); }' -c ./small >out 2>err
		[ "$(sed '/^$/d' out | paste -sd,)" = '1 -2 -5000000000 250 8,query 3 4,tail 5' ] || fail "-m32: probes"
	fi
fi

# Two at once, over the same objects.
gcc -O2 -c app.c || exit 1
"$DTRACE" -G -s probes.d -o one.o app.o 2>err1 & one=$!
"$DTRACE" -G -s probes.d -o two.o app.o 2>err2 & two=$!
wait $one && wait $two || { cat err1 err2; fail "two at once"; }
cmp one.o two.o && gcc app.o one.o -o app 2>err && fires "two at once" || fail "two at once: linking"
[ -z "$(ls app.o.* 2>/dev/null)" ] || fail "temporary files are left"

# More sections than a number of 16 bits can name.
awk 'BEGIN { for (i = 0; i < 66000; i++) printf(".section .text.f%d,\"ax\",@progbits\nf%d: ret\n", i, i)
	print ".text\n.globl many_sections\n.type many_sections,@function\nmany_sections: sub $8, %rsp\nmov $7, %edi\ncall __dtrace_my_app___tail@PLT\nadd $8, %rsp\nret\n.size many_sections,.-many_sections\n.section .note.GNU-stack,\"\",@progbits" }' >many.s
gcc -c many.s -o many.o && "$DTRACE" -G -s probes.d -o many_probes.o many.o 2>err || fail "many sections"
printf 'void many_sections(void); int main(void) { many_sections(); return 0; }\n' >main2.c
gcc main2.c many.o many_probes.o -o app 2>err || fail "many sections: linking"
"$DTRACE" -qn 'my_app$target:::tail { printf("%s %d\n", probefunc, arg0); }' -c ./app >out 2>err && grep -qx 'many_sections 7' out || fail "many sections: the probe"

# What is wrong is said; nothing is changed, no output is left.
refused() { # text, object, provider file
	cp "$2" kept.o
	rm -f out.o
	"$DTRACE" -G -s "$3" -o out.o "$2" >out 2>err && fail "accepted: $2"
	grep -qF "$1" err || fail "no '$1'"
	cmp "$2" kept.o && [ ! -e out.o ] || fail "$2 is changed, or output is left"
}
gcc -O2 -c app.c || exit 1
echo 'provider other { probe x(); };' >other.d
refused "'app.o' calls probe" app.o other.d
grep -q 'of provider my_app, which is not declared' err || fail "the provider is not named"
sed '/idle/d' probes.d >less.d
refused "'app.o' calls probe idle, which provider my_app does not declare" app.o less.d
echo 'extern void __dtrace_my_app___idle(void); void f(void); void f(void) { __dtrace_my_app___idle(); }' >arm.c
if clang -target aarch64-linux-gnu -c arm.c -o arm.o 2>/dev/null; then
	refused 'calls can be replaced only in objects for this machine' arm.o probes.d
fi
gcc -O2 -flto -c app.c -o lto.o 2>/dev/null && refused "'lto.o' is an object for link-time optimisation" lto.o probes.d
# an ordinary function of this prefix is none of ours
echo 'void __dtrace_hello(void); void f(void); void f(void) { __dtrace_hello(); }' >hello.c
gcc -c hello.c && cp hello.o kept.o && "$DTRACE" -G -s probes.d -o out.o hello.o 2>err && cmp hello.o kept.o || fail "another function"
