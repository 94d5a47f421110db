# A program's own probes: they fire with their arguments, at all their places, and the program knows when it is traced.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
cat >probes.d <<'END'
typedef struct conn { int fd; } conn_t;
provider shop {
	probe order__start(int id, string item, conn_t *c);
	probe order__done(int8_t, int16_t, uint32_t, int64_t, unsigned char);
	probe many(int, int, int, int, int, int, int, int, int, int, int, int);
	probe never();
};
provider depot { probe pick(string, size_t); };
END
cat >lib.c <<'END'
#include "probes.h"
#include <string.h>
void pick(const char *what);
void pick(const char *what) { DEPOT_PICK(what, strlen(what)); }
END
cat >app.c <<'END'
#include "probes.h"
#include <stdio.h>
#include <unistd.h>
struct conn { int fd; };
void pick(const char *what);
static int seen;
__attribute__((noinline)) static void first(int i, const char *item, struct conn *c)
{
	if (SHOP_ORDER_START_ENABLED()) {
		seen++;
		SHOP_ORDER_START(i, item, c);
	}
}
__attribute__((noinline)) static void second(int i, const char *item, struct conn *c)
{
	SHOP_ORDER_START(-i, item, c); /* another place of the probe */
	if (i == 2)
		SHOP_ORDER_START(1000, item, c);
}
int main(int argc, char **argv)
{
	struct conn c = {7};
	char item[20];

	if (argc > 1) {
		puts("ready");
		fflush(stdout);
		(void)!read(0, item, 1);
	}
	for (int i = 1; i <= 3; i++) {
		snprintf(item, sizeof(item), "item %d", i);
		first(i, item, &c);
		second(i, item, &c);
		SHOP_ORDER_DONE((signed char)-i, (short)(-300 * i), 4000000000u, -5000000000LL * i, (unsigned char)(250 + i));
		SHOP_MANY(i, 2 * i, 3 * i, 4 * i, 5 * i, 6 * i, 7 * i, 8 * i, 9 * i, 10 * i, 11 * i, 12 * i);
		pick(item);
	}
	if (SHOP_NEVER_ENABLED())
		puts("never is enabled");
	if (argc > 100)
		SHOP_NEVER();
	printf("seen %d\n", seen);
	return 0;
}
END
"$DTRACE" -h -s probes.d || fail "-h"
build() { # flags
	gcc $1 -fPIC -shared lib.c -o libdepot.so && gcc $1 -c app.c -o app.o && "$DTRACE" -G -s probes.d app.o &&
		gcc $1 app.o probes.o -L. -ldepot -Wl,-rpath,"$TMP" -o app || fail "building $1"
}
trace() { timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q "$@" >out 2>err; }
cat >want <<'END'
done -1 -300 4000000000 -5000000000 251
done -2 -600 4000000000 -10000000000 252
done -3 -900 4000000000 -15000000000 253
many 1 2 10
many 2 4 20
many 3 6 30
pick item 1 6
pick item 2 6
pick item 3 6
seen 3
start first 1 item 1 7
start first 2 item 2 7
start first 3 item 3 7
start second -1 item 1 7
start second -2 item 2 7
start second -3 item 3 7
start second 1000 item 2 7
END
program='
shop$target:::order-start { printf("start %s %d %s %d\n", probefunc, arg0, copyinstr(arg1), *(int *)copyin(arg2, sizeof(int))); }
shop$target:::order-done { printf("done %d %d %u %d %u\n", args[0], args[1], args[2], args[3], args[4]); }
shop$target:::many { printf("many %d %d %d\n", arg0, arg1, arg9); }
depot$target:libdepot.so:pick:pick { printf("pick %s %d\n", copyinstr(arg0), args[1]); }'
for flags in -O2 -O0 '-O2 -flto' '-Os -fno-pie -no-pie'; do
	build "$flags"
	[ "$(./app)" = 'seen 0' ] || fail "$flags: it believes to be traced"
	trace -n "$program" -c ./app || fail "$flags"
	case $flags in *flto*) sed -i 's/start main/start first/' out;; esac
	LC_ALL=C sort out | sed '/^$/d' >got
	if ! cmp -s got want; then
		case $flags in
		*flto*) # the optimiser may have put the functions into main()
			sed -i 's/^start [a-z]* /start /' got && sed 's/^start [a-z]* /start /' want | LC_ALL=C sort >want2
			LC_ALL=C sort got | cmp - want2 || { cat got; fail "$flags: other arguments"; };;
		*) diff got want; fail "$flags: other arguments";;
		esac
	fi
	[ -z "$(grep -v "ended before a file" err)" ] || fail "$flags: messages" # other processes may end early
done
build -O2

# Types and places in listings; stacks; probeprov has the number of the process.
trace -lvn 'shop$target:::order-start' -c ./app || fail "-lv"
grep -q 'args\[0\]: int$' out && grep -q 'args\[1\]: string$' out && grep -q 'args\[2\]: userland conn_t \*$' out || fail "types"
trace -ln 'shop$target:::' -c ./app || fail "-l"
[ "$(grep -c 'order-start' out)" = 2 ] && grep -qE 'shop[0-9]+ +app +second order-start$' out || fail "a probe for each function"
trace -n 'depot$target:::pick { @[ustack(3)] = count(); }' -c ./app && grep -q 'libdepot.so`pick+0x' out && grep -q 'app`main+0x' out || fail "stack"
trace -n 'shop$target:::never { exit(3); } BEGIN { printf("%s\n", "b"); }' -c ./app && grep -q 'never is enabled' out || fail "the counter of a probe that never fires"

# A process that runs: by its number, and by a pattern; afterwards the counters are as before.
mkfifo go
./app wait <go >app.out &
app=$!
exec 3>go
until grep -q ready app.out; do kill -0 $app || fail "it does not start"; done
trace -ln "shop$app:::never" && grep -q never out || fail "a running process's probes are not listed"
trace -n "shop$app:::never { x = 1; } BEGIN { exit(0); }" || fail "by number"
trace -w -p $app -n "shop$app:::order-start { @ = count(); }
	depot*:::pick { @p[probeprov == \"depot$app\" ? \"depot\" : probeprov] = count(); }
	BEGIN { system(\"echo >&3\"); }" || fail "a running process"
exec 3>&-
wait $app
grep -qE '^ +7$' out && grep -qE 'depot +3' out || fail "counts of a running process"
grep -q 'seen 3' app.out || fail "its counter"
grep -q 'never is enabled' app.out && fail "a counter was left up"

# Messages.
trace -n 'shop$target:::order-strat { exit(0); }' -c ./app && fail "a misspelt name"
grep -q "did you mean 'order-start'" err || fail "no hint for a misspelt name"
trace -n 'nosuch$target:::x { exit(0); }' -c ./app && fail "a provider that is not there"
grep -q 'has no probes of its own of this provider' err || fail "no hint for a provider"
:
