/* SPDX-License-Identifier: MIT */
/*
 * Unit tests of libusdt: providers, probes, the object that a tracer finds, and wrong use.
 *
 * There is no tracer: a test counts a consumer itself where one is needed, as the kernel does.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"
#include <usdt.h>

static const char *const strings_and_ints[] = {"char *", "int"};
#define TYPES ((const char **)(uintptr_t)strings_and_ints)

static usdt_provider_t *provider_new(const char *name, const char *probe)
{
	usdt_provider_t *pv = usdt_create_provider(name, "module");
	usdt_probedef_t *def = usdt_create_probe("func", probe, 2, TYPES);

	if (!pv || !def || usdt_provider_add_probe(pv, def))
		printf("# %s\n", usdt_errstr(pv));
	return pv;
}

/* Counts the executable mappings of memory files with this name. */
static int mappings(const char *name)
{
	char line[512], want[128];
	FILE *f = fopen("/proc/self/maps", "re");
	int n = 0;

	(void)snprintf(want, sizeof(want), "/memfd:%s (deleted)", name);
	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, want) && strstr(line, " r-xp ");
	if (f)
		(void)fclose(f);
	return n;
}

static void test_life(void)
{
	usdt_provider_t *pv = usdt_create_provider("shop", "life");
	usdt_probedef_t *sale = usdt_create_probe("sell", "sale", 2, TYPES);
	usdt_probedef_t *more = usdt_create_probe("sell", "more", 0, NULL);
	usdt_probe_t *probe;
	void *args[] = {(void *)"x", (void *)5};

	is_int(usdt_provider_enable(pv), -1, "a provider without probes is not enabled");
	is_str(usdt_errstr(pv), "the provider has no probes", "why");
	is_int(usdt_is_enabled(sale->probe), 0, "a probe of no provider");
	usdt_fire_probe(sale->probe, 2, args);
	is_int(usdt_provider_add_probe(pv, sale), 0, "add");
	probe = sale->probe;
	is_int(mappings("life"), 0, "nothing is visible before it is enabled");
	is_int(usdt_provider_enable(pv), 0, "enable");
	is_int(pv->enabled, 1, "pv->enabled");
	is_int(mappings("life"), 1, "the object is mapped");
	is_int(usdt_provider_enable(pv), 0, "enabling again is no error");
	is_int(mappings("life"), 1, "and makes no second object");
	ok(probe == sale->probe, "the probe keeps its address");
	is_int(usdt_is_enabled(probe), 0, "nobody traces it");
	probe->nconsumers = 1;
	is_int(usdt_is_enabled(probe), 1, "somebody traces it");
	usdt_fire_probe(probe, 2, args);
	usdt_fire_probe(probe, 1, args);
	usdt_fire_probe(probe, 0, NULL);
	is_int(usdt_provider_add_probe(pv, more), 0, "a probe is added to an enabled provider");
	is_int(mappings("life"), 1, "it is not yet visible");
	is_int(usdt_provider_enable(pv), 0, "enable");
	is_int(mappings("life"), 2, "now it is");
	is_int(usdt_is_enabled(probe), 1, "the first one was not disturbed");
	is_int(usdt_provider_remove_probe(pv, sale), -1, "an enabled probe stays");
	ok(strstr(usdt_errstr(pv), "disable the provider first"), "why: %s", usdt_errstr(pv));
	is_int(usdt_provider_disable(pv), 0, "disable");
	is_int(mappings("life"), 0, "nothing is visible");
	is_int(usdt_is_enabled(probe), 0, "nobody traces it");
	usdt_fire_probe(probe, 2, args);
	is_int(usdt_provider_enable(pv), 0, "enabled once more");
	is_int(usdt_provider_disable(pv), 0, "disable");
	is_int(usdt_provider_disable(pv), 0, "disabling again is no error");
	is_int(usdt_provider_remove_probe(pv, sale), 0, "remove");
	is_int(usdt_is_enabled(sale->probe), 0, "a probe that was removed never fires");
	usdt_fire_probe(sale->probe, 2, args);
	is_int(usdt_provider_add_probe(pv, sale), 0, "it can be added again");
	usdt_probe_release(sale);
	usdt_probe_release(more);
	is_int(usdt_provider_enable(pv), 0, "the provider keeps released probes");
	usdt_provider_free(pv);
	is_int(mappings("life"), 0, "nothing is left");
	usdt_fire_probe(probe, 2, args);
	is_int(usdt_is_enabled(probe), 0, "an address of a probe that is gone can be read");
}

static void test_misuse(void)
{
	usdt_provider_t *pv = provider_new("wrong", "one"), *other = provider_new("other", "one");
	usdt_probedef_t *same = usdt_create_probe("func", "one", 0, NULL), *def;
	const char *many[33], *hole[] = {"int", NULL};
	char longer[300];

	for (int i = 0; i < 33; i++)
		many[i] = "int";
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	ok(!usdt_create_provider(NULL, NULL), "a provider without a name");
	is_str(usdt_errstr(NULL), "the name of the provider is NULL", "why");
	ok(!usdt_create_provider("", NULL), "an empty name");
	ok(!usdt_create_provider(longer, NULL), "a long name");
	ok(!usdt_create_provider("a:b", NULL), "a name with a colon");
	ok(!usdt_create_provider("a", "b\nc"), "a module with a line feed");
	ok(!usdt_create_probe(NULL, "n", 0, NULL), "no function");
	ok(!usdt_create_probe("f", NULL, 0, NULL), "no name");
	ok(!usdt_create_probe("f", "n", 1, NULL), "no types");
	ok(!usdt_create_probe("f", "n", 2, hole), "a type is NULL");
	ok(!usdt_create_probe("f", "n", 33, many), "too many arguments");
	is_str(usdt_errstr(NULL), "a probe can have 32 arguments, not 33", "why");
	def = usdt_create_probe("f", "n", 32, many);
	ok(def, "32 arguments");
	is_int(usdt_provider_add_probe(pv, same), -1, "two probes of one function and name");
	is_str(usdt_errstr(pv), "the provider has a probe func:one already", "why");
	is_int(usdt_provider_add_probe(pv, def), 0, "add");
	is_int(usdt_provider_add_probe(pv, def), -1, "twice");
	is_int(usdt_provider_add_probe(other, def), -1, "to two providers");
	is_int(usdt_provider_remove_probe(other, def), -1, "removed from the wrong one");
	is_int(usdt_provider_remove_probe(pv, NULL), -1, "a probe that is NULL");
	is_int(usdt_provider_add_probe(pv, NULL), -1, "a probe that is NULL");
	is_int(usdt_provider_add_probe(NULL, def), -1, "a provider that is NULL");
	is_int(usdt_provider_enable(NULL), -1, "a provider that is NULL");
	is_int(usdt_provider_disable(NULL), -1, "a provider that is NULL");
	is_str(usdt_errstr(NULL), "the provider is NULL", "why");
	is_int(usdt_is_enabled(NULL), 0, "a probe that is NULL");
	usdt_fire_probe(NULL, 0, NULL);
	usdt_provider_free(NULL);
	usdt_probe_release(NULL);
	usdt_probe_release(def);
	usdt_probe_release(def);
	is_str(usdt_errstr(NULL), "the probe was released before", "released twice");
	is_int(usdt_provider_enable(pv), 0, "all this did no harm");
	usdt_probe_release(same);
	usdt_probe_release(same);
	is_str(usdt_errstr(NULL), "there is no such probe: it was released", "and was gone");
	usdt_provider_free(other);
	usdt_provider_free(pv);
	usdt_provider_free(pv);
	is_str(usdt_errstr(NULL), "there is no such provider: it was freed", "freed twice");
	is_int(usdt_provider_enable(pv), -1, "used after that");
	usdt_probe_release(def);
}

#define MANY 10000

static void test_many(void)
{
	usdt_provider_t *pv = usdt_create_provider("many", "many");
	usdt_probedef_t **defs = calloc(MANY, sizeof(*defs));
	int bad = 0;

	for (int i = 0; i < MANY; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "p%d", i);
		defs[i] = usdt_create_probe("func", name, 2, TYPES);
		bad += usdt_provider_add_probe(pv, defs[i]) != 0;
	}
	is_int(bad, 0, "ten thousand probes");
	is_int(usdt_provider_enable(pv), 0, "are enabled");
	is_int(mappings("many"), 1, "as one object");
	for (int i = 0; i < MANY; i++)
		defs[i]->probe->nconsumers = 1;
	for (int i = 0; i < MANY; i++)
		usdt_fire_probe(defs[i]->probe, 2, (void *[]){NULL, NULL});
	is_int(usdt_provider_disable(pv), 0, "and disabled");
	for (int i = 0; i < MANY; i += 2)
		bad += usdt_provider_remove_probe(pv, defs[i]) != 0;
	is_int(usdt_provider_enable(pv), 0, "with half of them removed");
	for (int i = 0; i < MANY; i++)
		usdt_probe_release(defs[i]);
	is_int(bad, 0, "removed");
	usdt_provider_free(pv);
	free(defs);
}

static void test_fork(void)
{
	usdt_provider_t *pv = provider_new("parent", "one");
	usdt_probedef_t *def = pv->probedefs;
	int status = -1;
	pid_t pid;

	is_int(usdt_provider_enable(pv), 0, "enable");
	def->probe->nconsumers = 1;
	pid = fork();
	if (pid == 0) {
		usdt_fire_probe(def->probe, 1, (void *[]){NULL});
		if (!usdt_is_enabled(def->probe) || usdt_provider_disable(pv) ||
		    usdt_is_enabled(def->probe) || mappings("module") || usdt_provider_enable(pv))
			_exit(1);
		usdt_provider_free(pv);
		_exit(0);
	}
	(void)waitpid(pid, &status, 0);
	is_int(status, 0, "a child has the probes, and can disable its own");
	is_int(usdt_is_enabled(def->probe), 1, "which those of its parent do not notice");
	is_int(mappings("module"), 1, "they stay mapped");
	usdt_provider_free(pv);
	usdt_probe_release(def);
}

/* A daemon closes all descriptors, and the numbers get another use. */
static void test_closed(void)
{
	usdt_provider_t *pv = provider_new("daemon", "one");
	usdt_probedef_t *def = pv->probedefs;
	int before = open("/dev/null", O_RDONLY | O_CLOEXEC), fd;

	is_int(usdt_provider_enable(pv), 0, "enable");
	for (int i = before + 1; i < before + 5; i++)
		(void)close(i);
	fd = fcntl(before, F_DUPFD_CLOEXEC, before + 1);
	is_int(fd, before + 1, "the number of the object's descriptor is used for something else");
	def->probe->nconsumers = 1;
	usdt_fire_probe(def->probe, 0, NULL);
	is_int(usdt_provider_disable(pv), 0, "disable");
	ok(fcntl(fd, F_GETFD) >= 0, "a descriptor that is not the library's stays open");
	(void)close(fd);
	(void)close(before);
	usdt_provider_free(pv);
	usdt_probe_release(def);
}

static _Atomic bool stop;
static usdt_probe_t *fired[2];

static void *fire_always(void *unused)
{
	char text[] = "text";
	void *args[] = {text, (void *)7};

	(void)unused;
	while (!stop)
		for (int i = 0; i < 2; i++)
			if (fired[i])
				usdt_fire_probe(fired[i], 2, args);
	return NULL;
}

/* Forks while other threads fire: the child has the probes and none of those threads. */
static bool child_works(usdt_provider_t *pv)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		bool works = usdt_provider_disable(pv) == 0 && !mappings("module") &&
			     usdt_provider_enable(pv) == 0;

		usdt_provider_free(pv);
		_exit(works && !mappings("module") ? 0 : 1);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

/* Probes are enabled, disabled, removed and freed while other threads fire them. */
static void test_threads(void)
{
	usdt_provider_t *pv = provider_new("busy", "one"), *brief;
	usdt_probedef_t *def = pv->probedefs, *short_lived;
	pthread_t threads[3];
	int bad = 0;

	fired[0] = def->probe;
	brief = provider_new("brief", "one");
	short_lived = brief->probedefs;
	fired[1] = short_lived->probe;
	usdt_provider_free(brief);
	for (int i = 0; i < 3; i++)
		bad += pthread_create(&threads[i], NULL, fire_always, NULL) != 0;
	for (int i = 0; i < 300; i++) {
		bad += usdt_provider_enable(pv) != 0;
		__atomic_store_n(&def->probe->nconsumers, 1, __ATOMIC_RELAXED);
		brief = usdt_create_provider("brief", NULL);
		bad += usdt_provider_add_probe(brief, short_lived) != 0;
		bad += usdt_provider_enable(brief) != 0;
		__atomic_store_n(&short_lived->probe->nconsumers, 1, __ATOMIC_RELAXED);
		bad += i % 50 == 0 && !child_works(pv);
		bad += usdt_provider_disable(pv) != 0;
		bad += i % 2 && usdt_provider_remove_probe(pv, def) != 0;
		bad += i % 2 && usdt_provider_add_probe(pv, def) != 0;
		usdt_provider_free(brief);
	}
	stop = true;
	for (int i = 0; i < 3; i++)
		(void)pthread_join(threads[i], NULL);
	is_int(bad, 0, "probes come and go while threads fire them");
	usdt_provider_free(pv);
	is_int(mappings("module"), 0, "no stubs are left behind");
	is_int(mappings("brief"), 0, "of providers that were freed, either");
	usdt_probe_release(def);
	usdt_probe_release(short_lived);
}

static volatile sig_atomic_t nsignals;

static void signal_fire(int number)
{
	(void)number;
	nsignals++;
	if (usdt_is_enabled(fired[0]))
		usdt_fire_probe(fired[0], 2, (void *[]){NULL, NULL});
}

/* A signal handler fires a probe, wherever in the library the signal arrives. */
static void test_signals(void)
{
	struct itimerval fast = {{0, 100}, {0, 100}}, off = {0};
	usdt_provider_t *pv = provider_new("signals", "one");
	usdt_probedef_t *def = pv->probedefs;
	int bad = 0;

	fired[0] = def->probe;
	(void)signal(SIGALRM, signal_fire);
	(void)setitimer(ITIMER_REAL, &fast, NULL);
	for (int i = 0; i < 2000 || nsignals < 100; i++) {
		bad += usdt_provider_enable(pv) != 0;
		__atomic_store_n(&def->probe->nconsumers, 1, __ATOMIC_RELAXED);
		for (int k = 0; k < 10; k++)
			usdt_fire_probe(def->probe, 0, NULL);
		bad += usdt_provider_disable(pv) != 0;
	}
	(void)setitimer(ITIMER_REAL, &off, NULL);
	is_int(bad, 0, "a signal handler fires a probe that comes and goes");
	is_int(mappings("module"), 0, "no stubs are left behind");
	usdt_provider_free(pv);
	usdt_probe_release(def);
}

int main(void)
{
	test_life();
	test_misuse();
	test_many();
	test_fork();
	test_closed();
	test_threads();
	test_signals();
	return tap_done();
}
