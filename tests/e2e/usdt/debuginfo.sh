# A program whose notes come without a description: its debug information knows which variable is where the note says that an
# argument is, and so its type.
# @@foreign
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
cat >app.c <<'END'
#include <dtrace/sdt.h>
#include <stddef.h>
struct conn { int fd; int port; char name[8]; struct conn *next; };
typedef struct conn conn_t;
enum color { RED, GREEN };
#ifdef TWO /* another function fires the probe with other types */
__attribute__((noinline)) int other(long *c, const char *text, enum color k, double d, long big, unsigned mask)
{
	DTRACE_PROBE6(web, request__start, c, text, k, d, big, mask);
	return text[0] == c[0];
}
#endif
__attribute__((noinline)) int handle(conn_t *c, const char *text, enum color k, double d, long big, unsigned mask)
{
	int twice = c->fd * 2;
	struct conn *next = c->next;
	DTRACE_PROBE6(web, request__start, c, text, k, d, big, mask);
	DTRACE_PROBE3(web, other, twice, next, 5);
	return twice + (next != NULL);
}
char text[] = "text";
conn_t second = {.fd = 8, .port = 443, .name = "tls"}, c = {.fd = 7, .port = 80, .name = "web", .next = &second};
int main(int argc, char **argv)
{
	text[0] = (char)(argc ? second.name[0] : 1); /* what was never touched cannot be read */
	int v = handle(&c, text, (enum color)argc, 1.5 * argc, -5000000000L * argc, 0x80000000u);
#ifdef TWO
	long number = argc;
	v += other(&number, text, RED, 1.5, 3, 4);
#endif
	return v < 0;
}
END
list() { timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -lvn "web\$target:::$1" -c ./app >out 2>err && sed -n 's/^\t\targs/args/p' out >got && printf "$2" | cmp -s - got || { cat got; fail "$cc $flags: types of $1"; }; }
for cc in gcc clang; do
	command -v $cc >/dev/null || continue
	long=long
	[ $cc = gcc ] && long='long int'
	for flags in -O0 -O1 -O2 '-O2 -fno-pie -no-pie'; do
		[ "$cc $flags" = 'clang -O0' ] && continue # it copies arguments to registers that no variable is in
		$cc -g $flags -I"$SRC/include" app.c -o app 2>err || fail "$cc $flags: building"
		list request-start "args[0]: userland conn_t *\nargs[1]: userland const char *\nargs[2]: enum color\nargs[3]: double\nargs[4]: $long\nargs[5]: unsigned int\n"
		list other 'args[0]: int\nargs[1]: userland struct conn *\nargs[2]: int\n'
		timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -qn 'web$target:::request-start { printf("%d %s %d %s %d %.2f %d %u\n", args[0]->port, args[0]->next->name, args[0]->next->fd,
			stringof(args[1]), args[2], args[3], args[4], args[5]); } web$target:::other { printf("%d %d %d\n", args[0], args[1]->port, args[2]); }' -c ./app >out 2>err || fail "$cc $flags"
		grep -q '^80 tls 8 text 1 1.50 -5000000000 2147483648$' out && grep -q '^14 443 5$' out || fail "$cc $flags: values"
	done
done
# Without debug information, and where the functions that fire the probe disagree, the note alone counts.
cc=gcc
bare='args[0]: uint64_t\nargs[1]: uint64_t\nargs[2]: uint32_t\nargs[3]: double\nargs[4]: int64_t\nargs[5]: uint32_t\n'
gcc -O2 -I"$SRC/include" app.c -o app && list request-start "$bare"
gcc -g -O2 -DTWO -I"$SRC/include" app.c -o app && timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -lvn 'web$target:::request-start' -c ./app >out 2>err || fail "two functions"
[ "$(grep -c 'args\[0\]: uint64_t$' out)" = 2 ] && [ "$(grep -c 'args\[1\]: userland const char \*$' out)" = 2 ] || fail "types of two functions"
:
