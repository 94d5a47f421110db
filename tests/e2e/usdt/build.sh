# dtrace -h and -G: the header compiles everywhere without a warning, programs link with and without the probe object, and
# the notes say where arguments are.
# @@foreign
fail() { echo "$1"; cat "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
cat >probes.d <<'END'
# a comment, as libvirt's definitions have them
typedef struct conn { int fd; } conn_t;
enum color { RED, GREEN };
provider myapp {
	probe request__start(int id, string url, conn_t *c);
	probe request__done(int, long, uint64_t, unsigned char);
	probe idle();
	probe nothing(void);
	probe ratio(double d, float f, enum color);
	probe many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l);
	probe foo_bar(int64_t a, int8_t b, int16_t c, size_t d, pid_t);
};
provider other { probe x(char *); };
#pragma D attributes Evolving/Evolving/Common provider myapp provider
END
cat >app.c <<'END'
#include "probes.h"
struct conn { int fd; };
int f(int x, struct conn *c, const char *u);
int f(int x, struct conn *c, const char *u)
{
	if (MYAPP_REQUEST_START_ENABLED())
		MYAPP_REQUEST_START(x, u, c);
	else
		MYAPP_IDLE();
	MYAPP_REQUEST_DONE(5, (long)x, 7, (unsigned char)x);
	MYAPP_NOTHING();
	MYAPP_RATIO(1.5 * x, 2.5f, 1);
	MYAPP_MANY(x, 1, x + 2, x * 3, x - 4, 5, x ^ 6, 7, x | 8, x & 9, 10, c->fd);
	MYAPP_FOO_BAR(x, 1, (short)x, sizeof(x), 3);
	OTHER_X((char *)u);
	return OTHER_X_ENABLED();
}
int main(int argc, char **argv) { struct conn c; c.fd = 3; return f(argc, &c, argv[0]); }
END
"$DTRACE" -h -s probes.d 2>err || fail "dtrace -h"
[ -f probes.h ] && [ ! -s err ] || fail "-h makes no probes.h, or complains"

# Two files that include the header, in all versions of the language.
echo 'int g(void); int g(void) { return 0; }' | cat - >two.c
sed -i '1i #include "probes.h"' two.c
for cc in gcc clang; do
	for std in c90 c99 c17 gnu2x; do
		for flags in -O0 '-O2 -fPIC'; do
			$cc -std=$std -pedantic -Wall -Wextra -Werror $flags app.c two.c -o app 2>err || fail "$cc -std=$std $flags"
			./app || fail "$cc -std=$std $flags: it does not run"
		done
	done
done
for cc in g++ clang++; do
	command -v $cc >/dev/null || continue
	for std in c++98 c++11 c++20; do
		$cc -std=$std -pedantic -Wall -Wextra -Werror -O2 -x c++ app.c two.c -o app 2>err && ./app || fail "$cc -std=$std"
	done
done
gcc -O2 -m32 -c app.c -o app32.o 2>err || fail "-m32"

# Without probes no note is left; a wrong argument is an error.
gcc -O2 -D_DTRACE_VERSION=0 -Wall -Werror -c app.c -o none.o 2>err || fail "-D_DTRACE_VERSION=0"
readelf -n none.o | grep -q stapsdt && fail "notes without probes"
printf '#include "probes.h"\nvoid h(void) { OTHER_X(5); }\n' >wrong.c
gcc -Werror -c wrong.c -o wrong.o 2>err && fail "an integer is taken for a pointer"

# The probe object: counters that are found, a section with the description, an executable stack not asked for.
gcc -O2 -c app.c two.c || fail "compiling"
"$DTRACE" -G -s probes.d app.o two.o 2>err || fail "dtrace -G"
[ ! -s err ] || fail "-G complains"
for flags in '' -flto -static-pie; do
	gcc -O2 $flags app.o two.o probes.o -o app 2>err && ./app || fail "linking $flags"
	readelf -W -l app | grep -q 'GNU_STACK.*RWE' && fail "the stack is executable"
	[ "$(nm app | grep -c ' [Dd] .*_semaphore$')" = 8 ] || fail "not every probe has one counter"
	readelf -W -S app | grep -q SUNW_dof || fail "no description"
done
ar rc libapp.a two.o app.o probes.o && gcc libapp.a -o app 2>err && ./app || fail "an archive"
gcc -shared -fPIC -O2 app.c two.c probes.o -o libapp.so 2>err || fail "-shared"
gcc -O2 -flto app.c two.c probes.o -o app 2>err && ./app || fail "-flto"
for cc in gcc clang; do # objects for link-time optimisation, which need not be ELF files
	$cc -O2 -flto -c app.c -o lto.o && "$DTRACE" -G -s probes.d -o lto_probes.o lto.o two.o 2>err && [ ! -s err ] || fail "$cc: -G with -flto"
	cmp lto_probes.o probes.o || fail "$cc: -flto changes the object"
done
gcc -O2 -flto -c app.c -o lto.o && gcc -O2 -flto lto.o two.o probes.o -o app 2>err && ./app || fail "-flto objects"
"$DTRACE" -G -s probes.d -o again.o app.o two.o 2>err && cmp again.o probes.o || fail "a second run differs"

# 32-bit: asked for, or seen from the objects.
"$DTRACE" -G -32 -s probes.d -o p32.o && readelf -h p32.o | grep -q ELF32 || fail "-32"
"$DTRACE" -G -s probes.d -o p32.o app32.o && readelf -h p32.o | grep -q ELF32 || fail "32-bit objects"
ld -m elf_i386 -r app32.o p32.o -o both32.o 2>err || fail "32-bit objects do not link"

# Objects for other machines: the object of -G is of the same kind, and links with them.
for target in aarch64-linux-gnu powerpc64-linux-gnu mips-linux-gnu armv7-linux-gnueabihf; do
	rm -f cross.o
	clang -target $target -O1 -c app.c -o cross.o 2>/dev/null || continue
	"$DTRACE" -G -s probes.d -o cross_probes.o cross.o 2>err && [ ! -s err ] || fail "-G for $target"
	for what in Class Data Machine Flags; do
		[ "$(readelf -h cross.o | grep " $what:")" = "$(readelf -h cross_probes.o | grep " $what:")" ] || fail "$what of $target"
	done
	readelf -s cross_probes.o 2>err | grep -q 'OBJECT  GLOBAL HIDDEN .* myapp_idle_semaphore' && [ ! -s err ] || fail "symbols for $target"
	command -v ld.lld >/dev/null && { ld.lld -r cross.o cross_probes.o -o cross_both.o 2>err || fail "linking for $target"; }
done

# The test whether a probe is enabled is one load and one branch.
printf '#include "probes.h"\nint asks(int a);\nint asks(int a) { if (MYAPP_IDLE_ENABLED()) MYAPP_IDLE(); return a + 1; }\n' >asks.c
for cc in gcc clang; do
	$cc -O2 -fcf-protection=none -fomit-frame-pointer -c asks.c || exit 1
	objdump -d --no-show-raw-insn asks.o | sed -n 's/^ *[0-9a-f]*:\t\([a-z]*\).*/\1/p' >out
	[ "$(grep -cE '^(movzwl|cmpw)$' out)" = 1 ] && [ "$(grep -cE '^j' out)" = 1 ] && [ "$(grep -c call out)" = 0 ] || fail "$cc: $(cat out)"
done

# Several at once, that write one header: it is whole at each moment.
for i in 1 2 3 4; do "$DTRACE" -h -s probes.d -o at_once.h & done
wait
sed 's/_AT_ONCE_H/_PROBES_H/' at_once.h | cmp - probes.h && [ "$(echo at_once.h*)" = at_once.h ] || fail "several at once"

# What the notes say, where the compiler has little choice.
gcc -O2 app.o two.o probes.o -o app || fail "linking"
readelf -n app >notes
note() { grep -A2 "Name: $1\$" notes | grep -qE "Arguments: $2\$" || { grep -A2 "Name: $1\$" notes; fail "arguments of $1"; }; }
note request__done '-4@\$5 -8@%r[a-z0-9]+ 8@\$7 1@%[a-z0-9]+'
note idle ''
note ratio '8f@[^ ]+ 4f@[^ ]+ -4@\$1'
note foo_bar '-8@%r[a-z0-9]+ -1@\$1 -2@%[a-z0-9]+ 8@\$4 -4@\$3'
note x '8@[^ ]+'
readelf -n app32.o | grep -q 'Arguments: -4@[^ ]* 4@[^ ]* 4@' || fail "sizes of a 32-bit program"
gdb -batch -ex 'info probes stap' app 2>/dev/null >probes.gdb
grep -q 'stap *myapp *request__start *0x[0-9a-f]* *0x[0-9a-f]*' probes.gdb || { cat probes.gdb; fail "gdb does not know the probes"; }

# Flags of other systems' commands, an operand instead of -s, output names.
mkdir cpp && sed 1d probes.d >cpp/probes.d # the preprocessor takes '#' for its own
"$DTRACE" -xnolibs -x nolibs -C -I . -DX=1 -UY -k -64 --types -fPIC -h -o other.h cpp/probes.d 2>err || fail "flags of build systems"
[ ! -s err ] && sed 's/_OTHER_H/_PROBES_H/' other.h | cmp - probes.h || fail "they change the header"
"$DTRACE" -C -fpic -G -k -o other.o -s cpp/probes.d app.o 2>err && cmp other.o probes.o || fail "flags of -G"

# What definitions of well-known projects look like: comments with '#' inside, names of parameters that are D's keywords,
# types of the preprocessor, conditions, comments of C++.
cat >ruby.d <<'END'
#include "options.h"
#define bool unsigned char
typedef unsigned int thread_id;
provider ruby {
  // scheduler
  probe symbol__create(const char *string, const char *filename, int lineno);
  probe sort__start(bool, thread_id, size_t);
#if DETAILS
  probe insn(const char *name);
#endif
  probe gc__mark__begin();
};
#pragma D attributes Stable/Evolving/Common provider ruby provider
#pragma D attributes Private/Private/Unknown provider ruby module
END
echo '#define DETAILS 0' >options.h
"$DTRACE" -C -I. -h -s ruby.d 2>err && [ ! -s err ] || fail "ruby.d"
grep -q '^#define RUBY_SYMBOL_CREATE(arg0, arg1, arg2)' ruby.h && ! grep -q INSN ruby.h || fail "what is in ruby.h"
gcc -Wall -Wextra -Werror -x c -c ruby.h -o /dev/null 2>err || fail "ruby.h"
printf 'provider libvirt {\n\t# file: src/a.c\n        # prefix: object\n\tprobe object_new(void *obj, int errfd, pid_t pid);\n};\n' >libvirt.d
"$DTRACE" -h -s libvirt.d 2>err && [ ! -s err ] && grep -q '^#define LIBVIRT_OBJECT_NEW(' libvirt.h || fail "libvirt.d"

# Where output goes: through a symbolic link, into a pipe or a device, which stay what they are; -G of a text makes d.out.
touch aim.h && ln -s aim.h link.h && "$DTRACE" -h -s probes.d -o link.h && [ -L link.h ] && grep -q MYAPP_IDLE aim.h || fail "-o and a symbolic link"
mkfifo pipe.h && { cat pipe.h >read.h & } && "$DTRACE" -h -s probes.d -o pipe.h && wait $! && [ -p pipe.h ] || fail "-o and a pipe"
sed 's/_PIPE_H/_PROBES_H/' read.h | cmp - probes.h || fail "what came through the pipe"
"$DTRACE" -G -s probes.d -o /dev/fd/1 app.o 2>err | cmp - probes.o || fail "-o and the standard output"
if [ "$(id -u)" = 0 ] && mknod nothing c 1 3; then
	"$DTRACE" -h -s probes.d -o nothing && "$DTRACE" -G -s probes.d -o nothing app.o && [ -c nothing ] || fail "-o and a device"
fi
"$DTRACE" -G -n 'dtrace:helper:ustack: { copyinstr(arg0) }' && readelf -h d.out | grep -q REL || fail "-G of a text"
echo 'provider two { probe x(enum { A, B } e); };' >two.d
"$DTRACE" -h -s libvirt.d -s two.d -o both.h 2>err && grep -q LIBVIRT_OBJECT_NEW both.h && grep -q TWO_X both.h || fail "two definitions"

# What is wrong is said, and no output is left.
refused() { # text, then arguments
	text=$1; shift
	rm -f out.x*
	"$DTRACE" "$@" -o out.x >out 2>err && fail "accepted: $*"
	grep -qF "$text" err || fail "$*: no '$text'"
	[ -z "$(ls out.x* 2>/dev/null)" ] || fail "$*: output is left"
}
echo 'BEGIN { exit(0); }' >none.d
refused 'there is no provider in this program' -h -s none.d
# Empty files, which the build of QEMU makes, are definitions of nothing.
for text in '' '/* nothing */' '# nothing\n'; do
	printf "$text" >empty.d
	"$DTRACE" -h -s empty.d 2>err && [ ! -s err ] && gcc -std=c90 -Wall -Wextra -Werror -x c -c empty.h -o empty_h.o 2>err || fail "-h with '$text'"
	"$DTRACE" -G -s empty.d -o empty.o 2>err && [ ! -s err ] && gcc empty.o app.o two.o probes.o -o app 2>err && ./app || fail "-G with '$text'"
done
# CPython's configure script asks in this way whether programs need the object of -G.
"$DTRACE" -G -s none.d -o none.o 2>err && grep -q '^dtrace: 1 clause is left out of the object (the first one: none.d:1)' err && gcc none.o app.o two.o probes.o -o app 2>err && ./app ||
	fail "-G without a provider"
# Helpers get into the object beside the providers (e2e/stack/carried).
echo 'dtrace:helper:ustack: { copyinstr(arg0) }' | cat probes.d - >helped.d
"$DTRACE" -G -s helped.d -o helped.o app.o two.o 2>err && [ ! -s err ] && gcc helped.o app.o two.o -o app 2>err && ./app ||
	fail "-G with a helper"
refused 'needs a file with a provider definition' -h
refused 'needs a file with a provider definition' -G
refused 'takes no operand beside the provider definition' -h -s probes.d libvirt.d
"$DTRACE" -h -n 'dtrace:helper:ustack: { 1 }' 2>err && fail "a header without a name"
grep -q 'hint: name it with -o' err || fail "a header without a name: the message"
refused "'libapp.a' is an archive" -G -s probes.d libapp.a
refused "'app' is a program or a library" -G -s probes.d app
refused "'app.c' is no object file" -G -s probes.d app.o app.c
refused "cannot open the object file 'nosuch.o'" -G -s probes.d nosuch.o
cp app.o probes2.o && cp probes.d probes2.d && cp probes2.o before.o
"$DTRACE" -G -s probes2.d probes2.o 2>err && fail "an object of the program is the output"
grep -q "would overwrite 'probes2.o'" err && grep -q 'hint: .* -o' err && cmp probes2.o before.o || fail "an object of the program was overwritten"
refused 'are objects for different machines' -G -s probes.d app.o app32.o
echo 'provider p { probe x(int, int, int, int, int, int, int, int, int, int, int, int, int); };' >big.d
refused 'probe x has 13 parameters, a program can pass 12' -h -s big.d
echo 'struct s { int a; }; provider p { probe x(struct s); };' >byval.d
refused 'a program cannot pass struct s to probe x' -h -s byval.d
echo 'provider p1 { probe x(); };' >digit.d
refused 'D_PROV_BADNAME' -h -s digit.d
refused 'go with -h and -G' -k -n BEGIN
