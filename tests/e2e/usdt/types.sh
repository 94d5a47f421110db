# What a provider definition says of arguments and stability comes back out: types, translated types, structs from debug
# information or from the script, and what is said when a type is not known.
# @@foreign
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
cat >probes.d <<'END'
struct conn { int fd; int port; char *name; };
typedef struct conn conn_t;
typedef struct { int ci_fd; string ci_name; } shopinfo_t;
enum color { RED, GREEN };
translator shopinfo_t < struct conn *c > { ci_fd = c->fd; ci_name = stringof(c->name); };
provider shop {
	probe start(struct conn *c, int n) : (shopinfo_t *c, int n);
	probe swap(int a, int b, string s) : (int b, string s);
	probe plain(conn_t *c, enum color k, double d, float f, const char *text, uint8_t small);
	probe one(enum { OFF, ON } is_on);
	probe many(int, int, int, int, int, int, int, int, int, int, int, int);
};
#pragma D attributes Stable/Evolving/Common provider shop provider
#pragma D attributes Private/Private/Unknown provider shop module
#pragma D attributes Obsolete/Private/Unknown provider shop function
#pragma D attributes Standard/Standard/ISA provider shop name
#pragma D attributes Evolving/Stable/Group provider shop args
END
cat >app.c <<'END'
#include "probes.h"
#include <sys/mman.h>
#include <unistd.h>
#ifdef OTHER
struct conn { struct conn *next; char *name; int port; int fd; };
#else
struct conn { int fd; int port; char *name; struct conn *next; };
#endif
typedef struct conn conn_t;
enum color { RED, GREEN };
conn_t *head;
enum color last;
int main(int argc, char **argv)
{
	char web[] = "web", tls[] = "tls", text[] = "text", constant[] = "const"; /* what was never touched cannot be read */
	conn_t second = {.fd = 8, .port = 443, .name = tls}, c = {.fd = 7, .port = 80, .name = web, .next = &second};
	if (argc > 2) {
		while (!SHOP_PLAIN_ENABLED())
			usleep(1000);
		/* The counter goes up a moment before the breakpoint is there, under a lock that this waits for. */
		munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
	}
	head = &c;
	last = GREEN;
	SHOP_START(&c, 3);
	SHOP_SWAP(10, 20, text);
	SHOP_PLAIN(&c, last, 1.5, 2.25f, constant, 250);
	SHOP_MANY(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
	SHOP_ONE(last);
	if (argc == 2)
		pause();
	return 0;
}
END
"$DTRACE" -h -s probes.d && "$DTRACE" -G -s probes.d || fail "-h, -G"
trace() { timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q "$@" >out 2>err; }
same() { sed '/^$/d' out | cmp -s - want || { diff out want; fail "$1"; }; }
refused() { # text, then arguments
	text=$1; shift
	trace "$@" && fail "accepted: $*"
	grep -qF "$text" err || fail "no '$text'"
}

# With debug information in the file, in a separate one, and without.
gcc -g -O2 app.c probes.o -o app || fail "building"
echo '7 80 web 443 tls 1 1.50 2.25 const 250' >want
plain='shop$target:::plain { printf("%d %d %s %d %s %d %.2f %.2f %s %d\n", args[0]->fd, args[0]->port, stringof(args[0]->name), args[0]->next->port,
	stringof(args[0]->next->name), args[1], args[2], args[3], stringof(args[4]), args[5]); }'
trace -n "$plain" -c ./app && same "structs from debug information"
trace -n 'shop$target:::plain { print(args[1]); print(*args[0]); }' -c ./app && grep -q 'GREEN' out && grep -q 'int port = 0x50' out || fail "print()"
cp want plain.want
trace -n 'shop$target:::one { printf("%d %d\n", args[0], arg0); }' -c ./app && echo '1 1' >want && same "an enumeration without a name"
cp plain.want want
if command -v clang >/dev/null; then
	clang -g -O2 app.c probes.o -o app_clang || fail "building with clang"
	trace -n "$plain" -c ./app_clang && same "structs from clang's debug information"
fi
cp app app_split && objcopy --only-keep-debug app_split app_split.debug && strip -g app_split && objcopy --add-gnu-debuglink=app_split.debug app_split || fail "splitting"
trace -n "$plain" -c ./app_split && same "structs from a separate debug file"
mkdir bare && strip -o bare/app app
refused "'conn_t' is defined neither by the script, nor by the debug information of 'app'" -n 'shop$target:::plain { trace(args[0]->fd); }' -c bare/app
refused "args[0] of shop" -n 'shop$target:::plain { trace(args[0]->fd); }' -c bare/app
echo '80' >want
trace -n 'struct conn { int fd; int port; }; typedef struct conn conn_t; shop$target:::plain { printf("%d\n", args[0]->port); }' -c bare/app && same "a struct from the script"

# The header alone carries the description, through all linkers and tools, once for all objects that include it.
echo '7 80 web 443 tls 1 1.50 2.25 const 250' >want
printf '#include "probes.h"\nint second(void);\nint second(void) { return SHOP_START_ENABLED(); }\n' >second.c
bare() { # what, file
	[ "$(readelf -SW "$2" | grep -c SUNW_dof)" = 1 ] || fail "$1: no description"
	[ $((0x$(readelf -SW "$2" | sed -n 's/.*SUNW_dof *PROGBITS *[0-9a-f]* *[0-9a-f]* *\([0-9a-f]*\).*/\1/p'))) -lt 2000 ] || fail "$1: the description is there twice"
	trace -n "$plain" -c "$2" && same "$1"
}
gcc -g -O2 app.c second.c -o alone && bare "a header without -G" ./alone
gcc -g -O2 -flto app.c second.c -o alone && bare "-flto" ./alone
gcc -g -O2 -ffunction-sections -Wl,--gc-sections app.c second.c -o alone && bare "--gc-sections" ./alone
gcc -g -O2 -c app.c second.c && ld -r app.o second.o -o both.o && gcc both.o -o alone && bare "ld -r" ./alone
for ld in gold lld; do
	command -v ld.$ld >/dev/null || continue
	gcc -g -O2 -fuse-ld=$ld app.o second.o -o alone && bare "$ld" ./alone
done
if command -v clang >/dev/null; then
	clang -g -O2 app.c second.c -o alone && bare "clang" ./alone
fi
gcc -O2 app.c second.c -o alone && strip alone && readelf -SW alone | grep -q SUNW_dof || fail "strip takes the description away"
gcc -O2 -m32 -ffreestanding -x c -c probes.h -o alone32.o && readelf -x .SUNW_dof alone32.o | grep -q '7f444f46 01010202' || fail "a 32-bit header"

# Static variables are passed in registers, because a stripped program does not say where they are.
echo '1' >want
trace -n 'shop$target:::one { printf("%d\n", args[0]); }' -c bare/app && same "a static variable of a stripped program"

# Translation, and arguments in another order. argN are the values in the program's order.
cat >xlate.d <<'END'
typedef struct { int ci_fd; string ci_name; } shopinfo_t;
struct conn { int fd; int port; char *name; };
translator shopinfo_t < struct conn *c > { ci_fd = c->fd + 100; ci_name = stringof(c->name); };
shop$target:::start { printf("%d %s %d\n", args[0]->ci_fd, args[0]->ci_name, args[1]); }
shop$target:::start { this->c = args[0]; printf("%d\n", this->c->ci_fd); }
shop$target:::swap { printf("%d %s %d %d\n", args[0], args[1], arg0, arg1); }
END
printf '107 web 3\n107\n20 text 10 20\n' >want
trace -s xlate.d -c ./app && same "translated arguments"
trace -s xlate.d -c bare/app && same "translated arguments without debug information"
refused 'no translator for args[0] of shop' -n 'typedef struct { int ci_fd; } shopinfo_t; shop$target:::start { trace(args[0]->ci_fd); }' -c ./app
grep -qF 'from "userland struct conn *" to "shopinfo_t *"' err || fail "it does not say which translator"
refused 'failed to resolve type of args[0] of shop' -n 'shop$target:::start { trace(args[0]->ci_fd); }' -c ./app
grep -q 'shopinfo_t \*' err || fail "it does not say which type"
# a provider that the script declares itself
echo '80 3 20 text' >want
trace -n 'struct conn { int fd; int port; char *name; };
	provider shop { probe start(struct conn *c, int n); probe swap(int a, int b, string s) : (int b, string s); };
	shop$target:::start { printf("%d %d ", args[0]->port, args[1]); } shop$target:::swap { printf("%d %s\n", args[0], args[1]); }' -c ./app && same "a provider declared in the script"

# More than ten arguments.
echo '9 9' >want
trace -n 'shop$target:::many { printf("%d %d\n", args[9], arg9); }' -c ./app && same "args[9]"
refused 'the first ten can be read' -n 'shop$target:::many { trace(args[10]); }' -c ./app
refused 'index 12 is out of range' -n 'shop$target:::many { trace(args[12]); }' -c ./app

# Listings.
list() { # probe, program, what follows the row
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -lvn "shop\$target:::$1" -c "$2" >out 2>err && sed 1,2d out >got && printf "$3" | cmp - got || { cat got; fail "-lv of $1"; }
}
attrs='\n\tProbe Description Attributes\n\t\tIdentifier Names: Private\n\t\tData Semantics:   Private\n\t\tDependency Class: Unknown\n'
attrs="$attrs"'\n\tArgument Attributes\n\t\tIdentifier Names: Evolving\n\t\tData Semantics:   Stable\n\t\tDependency Class: Group\n\n\tArgument Types\n'
list start ./app "$attrs"'\t\targs[0]: shopinfo_t *\n\t\targs[1]: int\n\n'
list swap ./app "$attrs"'\t\targs[0]: int\n\t\targs[1]: string\n\n'
list plain bare/app "$attrs"'\t\targs[0]: userland conn_t *\n\t\targs[1]: enum color\n\t\targs[2]: double\n\t\targs[3]: float\n\t\targs[4]: userland const char *\n\t\targs[5]: uint8_t\n\n'
trace -v -n 'shop$target:::start { trace(args[1]); }' -c ./app || fail "-v"
grep -A3 'Minimum Probe Description' out | grep -q 'Names: Stable' && grep -A3 'Minimum Statement' out | grep -q 'Class: Group' || fail "stability of a program"

# Two programs that define one type differently, and two of the same build.
gcc -g -O2 -DOTHER app.c probes.o -o other && cp app app2 || fail "building"
pids=
for p in ./app ./app2 ./other; do
	$p wait &
	pids="$pids $!"
done
end() { kill $pids; wait $pids 2>/dev/null; }
trap end EXIT
for i in 1 2 3 4 5 6 7 8 9 10; do
	[ "$(timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -ln 'shop*:::many' 2>/dev/null | grep -c many)" -ge 3 ] && break
	kill -0 $pids || fail "they do not start"
done
set -- $pids
refused 'define this type differently' -n "shop$1:::plain, shop*:::plain { trace(args[0]->port); }"
trace -n "shop*:app*::plain { trace(args[0]->port); } BEGIN { exit(0); }" || fail "two builds with one type"
trace -n "struct conn { int fd; }; typedef struct conn conn_t; shop*:::plain { trace(args[0]->fd); } BEGIN { exit(0); }" || fail "a type that the script defines"
# A program that comes later and defines the type differently is not probed, which is said; one that agrees is.
end
trap - EXIT
./app wait &
pids=$!
trap end EXIT
for i in 1 2 3 4 5 6 7 8 9 10; do
	timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -ln 'shop*:::many' 2>/dev/null | grep -q many && break
done
echo './other a b & other=$!; ./app2 a b; until grep -q "of .other. that has come" err; do sleep 0.02; done; kill $other' >both
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'shop*:::plain { printf("%s %d\n", execname, args[0]->port); }' -c "sh both" >out 2>err || fail "programs that come later"
echo 'app2 80' >want
same "programs that come later"
grep -q "of 'other' that has come to 'shop\*:::plain' is not probed: args\[\] would be of other types" err || fail "it does not say what is not probed"
:
