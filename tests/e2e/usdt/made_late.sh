# Probes that a program makes after tracing has begun: a new process, a provider that is enabled again and again while threads fire, a new probe.
fail() { echo "$1"; for f in out err app.out; do [ -s "$TMP/$f" ] && { echo "-- $f"; tail -20 "$TMP/$f"; }; done; exit 1; }
cd "$TMP" || exit 1
# Of a build with sanitizers, programs without them cannot use the library: they take its sources.
if [ -n "$SANITIZED" ]; then
	lib="-D_GNU_SOURCE -pthread $(echo "$SRC"/lib/usdt/*.c)"
else
	lib="-L$BUILD/lib/usdt -lusdt -Wl,-rpath,$BUILD/lib/usdt -pthread"
fi
cat >app.c <<'END2'
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <usdt.h>

static usdt_provider_t *pv;
static volatile int stop;
static volatile sig_atomic_t is_seen;

static usdt_probedef_t *add(const char *name)
{
	static const char *types[] = {"int"};
	usdt_probedef_t *def = usdt_create_probe("f", name, 1, types);

	if (!def || usdt_provider_add_probe(pv, def) || usdt_provider_enable(pv)) {
		fprintf(stderr, "%s\n", usdt_errstr(def ? pv : NULL));
		exit(1);
	}
	return def;
}

/* Waits until somebody traces the probe, for half a minute at most. */
static void await(const usdt_probedef_t *def)
{
	for (int i = 0; !usdt_is_enabled(def->probe); i++) {
		if (i == 30000) {
			printf("%s is not traced\n", def->name);
			exit(1);
		}
		usleep(1000);
	}
}

static void fire(const usdt_probedef_t *def, intptr_t i)
{
	usdt_fire_probe(def->probe, 1, (void *[]){(void *)i});
}

static void note_signal(int number)
{
	is_seen = number;
}

/* Fires until the tracer has seen it, and has sent a signal: a probe's counter is up a moment before its breakpoint is there. */
static void show(const usdt_probedef_t *def, intptr_t i)
{
	for (is_seen = 0; !is_seen;) {
		await(def);
		fire(def, i);
	}
}

static void *thread(void *def)
{
	while (!stop)
		fire(def, -1);
	return NULL;
}

int main(void)
{
	usdt_probedef_t *first, *second;
	pthread_t threads[3];

	signal(SIGUSR1, note_signal);
	pv = usdt_create_provider("late", "late");
	first = add("first");
	show(first, 1);
	second = add("second");
	show(second, 2);
	show(first, 3);
	usdt_provider_disable(pv);
	fire(first, 4); /* not seen */
	usdt_provider_enable(pv);
	show(first, 5);
	show(second, 6);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, thread, first);
	for (int i = 0; i < 20; i++) {
		usdt_provider_disable(pv);
		usdt_provider_enable(pv);
		await(first);
	}
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	show(second, 7);
	usdt_provider_free(pv);
	puts("end");
	return 0;
}
END2
gcc -Wall -O2 -I"$SRC/lib/usdt" app.c -o app $lib || fail "building"
cat >late.d <<'END2'
late*:::first, late*:::second /(int)arg0 > 0 && !seen[arg0]/ { seen[arg0] = 1; printf("%s %d\n", probename, arg0); }
late*:::first, late*:::second /(int)arg0 > 0/ { raise(10); }
late*:::first /(int)arg0 < 0/ { @ = count(); }
END2
check() {
	for i in $(seq 400); do grep -qx end app.out && break; sleep 0.05; done # it ends by itself
	sed -n '/^[fs]/p' out >got
	printf 'first 1\nsecond 2\nfirst 3\nfirst 5\nsecond 6\nsecond 7\n' | cmp -s - got && grep -qx end app.out || fail "$1"
}
# A program that begins later, in a pattern for all processes; and one of dtrace's own.
timeout 120 "$DTRACE" -Zwqs late.d -n 'BEGIN { system("./app >app.out 2>&1 &"); } late*:::second /arg0 == 7/ { exit(0); }' >out 2>err || fail "all processes"
check "all processes"
sed -i 's/late\*/late$target/g' late.d
timeout 120 "$DTRACE" -Zwqs late.d -c './app' >out 2>err || fail "-c"
cp out app.out
check "-c"
:
