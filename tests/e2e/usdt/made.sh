# Probes that a C program makes at run time (libusdt): their arguments, names, consumers, children, and an end without notice.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
# Of a build with sanitizers, programs without them cannot use the library: they take its sources.
if [ -n "$SANITIZED" ]; then
	lib="-D_GNU_SOURCE -pthread $(echo "$SRC"/lib/usdt/*.c)"
else
	lib="-L$BUILD/lib/usdt -lusdt -Wl,-rpath,$BUILD/lib/usdt -pthread"
fi
cat >app.c <<'END2'
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <usdt.h>

static const char *two[] = {"char *", "int"}, *six[] = {"int", "long", "unsigned int", "uint8_t", "char *", "int"};
static usdt_provider_t *pv;
static usdt_probedef_t *sale, *numbers, *all, *none;

static usdt_probedef_t *add(const char *func, const char *name, size_t n, const char **types)
{
	usdt_probedef_t *def = usdt_create_probe(func, name, n, types);

	if (!def || usdt_provider_add_probe(pv, def)) {
		fprintf(stderr, "%s\n", usdt_errstr(def ? pv : NULL));
		exit(1);
	}
	return def;
}

static void fire(int i)
{
	char item[20];
	void *sold[] = {item, (void *)(intptr_t)-i};
	void *six_of[] = {(void *)1, (void *)-2L, (void *)3, (void *)0x104, (void *)"five", (void *)(intptr_t)i};
	void *ints[USDT_ARG_MAX];

	snprintf(item, sizeof(item), "item %d", i);
	for (int k = 0; k < USDT_ARG_MAX; k++)
		ints[k] = (void *)(intptr_t)(k == 9 ? i : 100 + k);
	if (usdt_is_enabled(sale->probe))
		usdt_fire_probe(sale->probe, 2, sold);
	usdt_fire_probe(numbers->probe, 6, six_of);
	usdt_fire_probe(all->probe, USDT_ARG_MAX, ints);
	usdt_fire_probe(all->probe, 2, ints);
	usdt_fire_probe(none->probe, 0, NULL);
}

int main(int argc, char **argv)
{
	const char *ints[USDT_ARG_MAX];
	char c;

	for (int i = 0; i < USDT_ARG_MAX; i++)
		ints[i] = "int";
	pv = usdt_create_provider("shop", "server");
	sale = add("sell", "sale-done", 2, two);
	numbers = add("count", "numbers", 6, six);
	all = add("count", "all", USDT_ARG_MAX, ints);
	none = add("sell", "none", 0, NULL);
	add("one", "twin", 1, two);
	add("other", "twin", 1, six);
	if (usdt_provider_enable(pv)) {
		fprintf(stderr, "%s\n", usdt_errstr(pv));
		return 1;
	}
	puts("ready");
	fflush(stdout);
	if (read(0, &c, 1) != 1) /* now a tracer is there */
		return 2;
	for (int i = 1; i <= 3; i++)
		fire(i);
	if (argc > 1 && strcmp(argv[1], "fork") == 0) {
		pid_t pid = fork();

		if (pid == 0) {
			fire(4);
			_exit(0);
		}
		int status = -1;

		waitpid(pid, &status, 0);
		if (status)
			printf("the child's status is %d\n", status);
		usdt_provider_disable(pv);
		fire(5); /* nobody sees these */
	}
	if (argc > 1 && strcmp(argv[1], "kill") == 0)
		kill(getpid(), 9);
	while (argc > 1 && strcmp(argv[1], "until") == 0 && usdt_is_enabled(sale->probe))
		usleep(1000);
	printf("%d\n", usdt_is_enabled(sale->probe));
	usdt_provider_free(pv);
	return 0;
}
END2
gcc -Wall -O2 -I"$SRC/lib/usdt" app.c -o app $lib || fail "building"
mkfifo go
begin() { # arguments: the program waits; its number is in $app
	: >app.out
	./app $1 <go >app.out 2>&1 &
	app=$!
	exec 3>go
	until grep -q ready app.out; do kill -0 $app 2>/dev/null || fail "it does not start: $(cat app.out)"; done
}
trace() { timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q "$@" >out 2>err; }

begin
trace -ln "shop$app:::" || fail "-l"
for p in 'sell sale-done' 'count numbers' 'count all' 'sell none'; do
	grep -qE "^ *[0-9]+ +shop$app +server +$p\$" out || fail "'$p' is not listed"
done
# Types; probes of one name with other types have those that notes can express.
trace -lvn "shop$app:::numbers" && [ "$(sed -n 's/^.*args\[[0-9]\]: //p' out | tr '\n' ,)" = 'int,long,unsigned int,uint8_t,userland char *,int,' ] || fail "types"
trace -lvn "shop$app:::twin" && [ "$(grep -c 'args\[0\]: u*int64_t$' out)" = 2 ] || fail "types of two probes with one name"
# Another tracer finds the same notes.
if command -v bpftrace >/dev/null; then
	bpftrace -l 'usdt:*:shop:*' -p $app >out 2>err
	grep -q ':shop:sale__done$' out && grep -q ':shop:all$' out || fail "bpftrace does not list the probes"
fi
cat >want <<'END2'
sale item 1 -1
numbers 1 -2 3 260 4 five 1
all 100 101 108 1
all 100 101 0 0
none server sell
sale item 2 -2
numbers 1 -2 3 260 4 five 2
all 100 101 108 2
all 100 101 0 0
none server sell
sale item 3 -3
numbers 1 -2 3 260 4 five 3
all 100 101 108 3
all 100 101 0 0
none server sell
END2
records() { # what the program that waits fires
	trace -w -p $app -n '
shop$target:server:sell:sale-done { printf("sale %s %d\n", copyinstr(arg0), arg1); }
shop$target::count:numbers { printf("numbers %d %d %d %d %d %s %d\n", arg0, args[1], arg2, arg3, args[3], stringof(args[4]), arg5); }
shop$target:::all { printf("all %d %d %d %d\n", arg0, arg1, arg8, arg9); }
shop*:::none { printf("none %s %s\n", probemod, probefunc); }
BEGIN { system("echo >&3"); }' || fail "tracing"
	wait $app
	sed '/^$/d' out | cmp -s - want || { sed '/^$/d' out | diff - want; fail "other records"; }
	[ -z "$(grep -v "ended before a file" err)" ] || fail "messages" # other processes may end early
}
records
# The same in a program of 32 bits, where the C library is installed for them.
mv app app64
if ! "$TRIGGER/has" programs32; then
	:
elif gcc -m32 -idirafter /usr/include/x86_64-linux-gnu -D_GNU_SOURCE -O2 -I"$SRC/lib/usdt" app.c "$SRC"/lib/usdt/*.c -o app -pthread 2>/dev/null && ./app </dev/null >/dev/null; [ $? = 2 ]; then
	begin
	records
else
	echo "skip: no C library for programs of 32 bits (libc6-dev-i386)"
fi
mv app64 app
# Two consumers: the program sees that it is traced until the last one has gone.
begin until
program="shop$app:::sale-done { printf(\"%s\n\", copyinstr(arg0)); } shop$app:::sale-done /++n == 3/ { exit(0); }"
"$DTRACE" -q -n "BEGIN { printf(\"attached\n\"); } $program" >out1 2>err1 &
first=$!
until grep -q attached out1; do kill -0 $first 2>/dev/null || fail "the first consumer"; sleep 0.05; done
trace -w -n "$program BEGIN { system(\"echo >&3\"); }" || fail "the second consumer"
wait $first || fail "the first consumer"
wait $app
[ "$(grep -c 'item' out)" = 3 ] && [ "$(grep -c item out1)" = 3 ] || fail "both consumers see all"
[ "$(tail -1 app.out)" = 0 ] || fail "its counter was left up"

# A child has the probes, too; what a provider that was disabled fires is not seen.
begin fork
trace -w -p $app -n "shop*:::sale-done { printf(\"%s %s\n\", pid == $app ? \"parent\" : \"child\", copyinstr(arg0)); }
BEGIN { system(\"echo >&3\"); }" || fail "fork"
wait $app
[ "$(grep -c 'parent' out)" = 3 ] || fail "the parent's probes"
grep -q 'status' app.out && fail "the child: $(cat app.out)"
[ "$(tail -1 app.out)" = 0 ] || fail "a provider that was disabled is not traced"
begin fork
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -wqn "shop*:::sale-done { printf(\"%s %s\n\", pid == $app ? \"parent\" : \"child\", copyinstr(arg0)); }
shop*:::sale-done /copyinstr(arg0) == \"item 4\"/ { exit(0); } BEGIN { system(\"echo >&3\"); }" >out 2>err || fail "all processes"
wait $app
[ "$(grep -c parent out)" = 3 ] && grep -qx 'child item 4' out || fail "the child's probes"
grep -q 'status' app.out && fail "the child: $(cat app.out)"
# A program that is killed while it is traced.
begin kill
trace -w -p $app -n 'shop$target:::sale-done { @ = count(); } BEGIN { system("echo >&3"); }' || fail "kill"
wait $app
grep -qE '^ +3$' out || fail "the records of a program that is killed"
exec 3>&-
# Where memory files must not be executed, a file in a temporary directory serves.
if unshare -pf --mount-proc sh -c 'echo 2 >/proc/sys/vm/memfd_noexec' 2>/dev/null; then
	unshare -pf --mount-proc sh -c 'echo 2 >/proc/sys/vm/memfd_noexec
		echo | TMPDIR="$0" ./app >app.out 2>&1 || exit 1' "$TMP" || fail "without executable memory files: $(cat app.out)"
	grep -q ready app.out || fail "without executable memory files"
	[ -z "$(ls -d usdt-* 2>/dev/null)" ] || fail "its directory is left behind"
	# Nor files of any such directory: an error, and the program lives. The build may lie below one of them.
	cp "$BUILD/lib/usdt/libusdt.so.0" .
	unshare -pfm --mount-proc sh -c 'echo 2 >/proc/sys/vm/memfd_noexec
		for d in /dev/shm /tmp /var/tmp; do mount -t tmpfs -o noexec none $d || exit 3; done
		echo | LD_LIBRARY_PATH=. ./app' >app.out 2>&1
	[ $? = 1 ] && grep -q '^cannot enable the provider: cannot map executable memory: memfd_create(2) and .* are both refused' app.out || fail "where nothing can be executed: $(cat app.out)"
fi
# The header in all dialects, without warnings.
printf '#include <usdt.h>\nint main(void) { return usdt_is_enabled(0); }\n' | tee h.c >h.cc
for std in c90 gnu89 c17 c++98 c++20; do
	case $std in *++*) cc=g++ from=h.cc ;; *) cc=gcc from=h.c ;; esac
	command -v $cc >/dev/null || continue
	$cc -std=$std -O0 -pedantic-errors -Wall -Wextra -Werror -I"$SRC/lib/usdt" -c $from -o h.o && gcc h.o -o h $lib && ./h || fail "the header as $std"
done
:
