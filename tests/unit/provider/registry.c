/* SPDX-License-Identifier: MIT */
/* The registry with the real providers: ids, laziness, aliases, speed. */
#include <time.h>

#include "provider/providers.h"
#include "provider/syscalls.h"
#include "tap.h"

static uint32_t notices;

static void on_notice(void *ctx, const char *msg)
{
	notices++;
}

static struct probe **match(struct probes *ps, struct probe_desc desc, uint32_t *ret_n)
{
	struct probe **probes = NULL;
	struct err *e;

	*ret_n = 0;
	e = probes_match(ps, &desc, &probes, ret_n);
	if (e)
		printf("# %s\n", err_text(e));
	ok(!e, "no error for %s:%s:%s:%s", desc.prov, desc.mod, desc.func, desc.name);
	err_destroy(e);
	return probes;
}

static uint32_t count(struct probes *ps, const char *prov, const char *mod, const char *func,
		      const char *name)
{
	uint32_t n;

	(void)match(ps, (struct probe_desc){prov, mod, func, name, 0, false, 0}, &n);
	return n;
}

static uint32_t first_id(struct probes *ps, const char *func, const char *name)
{
	uint32_t n;
	struct probe **p = match(ps, (struct probe_desc){"", "", func, name, 0, false, 0}, &n);

	return n ? p[0]->id : 0;
}

static void test_ids(void)
{
	struct provider_env env = {0}, env_full = {0};
	struct probes *lazy = probes_create(&env), *full = probes_create(&env_full);
	uint32_t read_id, n;
	struct probe **p;

	is_int(first_id(lazy, "", "BEGIN"), 1, "BEGIN is probe 1");
	is_int(first_id(lazy, "", "END"), 2, "END is probe 2");
	is_int(first_id(lazy, "", "ERROR"), 3, "ERROR is probe 3");
	ok(!probes_find(lazy, syscall_ID_BASE), "BEGIN asks for no system calls");
	read_id = first_id(lazy, "read", "return");
	ok(probes_find(lazy, read_id) != NULL, "a literal is found");
	(void)count(full, "", "", "", "");
	is_int(first_id(full, "read", "return"), read_id,
	       "a probe has one id, however it was found");
	p = match(full, (struct probe_desc){"", "", "", "", read_id, false, 0}, &n);
	ok(n == 1 && strcmp(p[0]->func, "read") == 0 && strcmp(p[0]->name, "return") == 0,
	   "an id finds its probe");
	p = match(lazy, (struct probe_desc){"", "", "", "", read_id + 1, false, 0}, &n);
	ok(n == 1 && strcmp(p[0]->func, "write") == 0,
	   "an id of a probe nobody asked for yet, too");
	(void)match(full, (struct probe_desc){"", "", "", "", 999999, false, 0}, &n);
	is_int(n, 0, "an unknown id matches nothing");
	p = match(full, (struct probe_desc){"", "", "", "", 0, false, 0}, &n);
	for (uint32_t i = 1; i < n; i++)
		if (p[i]->id <= p[i - 1]->id)
			ok(false, "ids ascend at %u", p[i]->id);
	probes_destroy(lazy);
	probes_destroy(full);
}

static bool is_one_of(const struct probe *pr, struct probe *const used[20])
{
	for (int i = 0; i < 20; i++)
		if (used[i] == pr)
			return true;
	return false;
}

/* Probes that are removed are found no more, and leave neither names nor memory. */
static void test_removing(void)
{
	static const struct provider pv = {.name = "made"};
	struct provider_env env = {0};
	struct probes *ps = probes_create(&env);
	struct probe *kept = probes_add(ps, &pv, "m0", "f0", "entry", 7), *used[20];
	uint32_t last_id = kept->id;
	bool ascending = true, found = true, reused = true;

	for (int round = 0; round < 50; round++) {
		struct probe_list gone = {0};
		char mod[16];

		(void)snprintf(mod, sizeof(mod), "m%d", round % 3 + 1);
		for (int i = 0; i < 20; i++) {
			char func[16];
			struct probe *pr;

			(void)snprintf(func, sizeof(func), "f%d", i);
			pr = probes_add(ps, &pv, mod, func, "entry", 0);
			ascending &= pr->id > last_id;
			last_id = pr->id;
			found &= probes_find(ps, pr->id) == pr &&
				 probes_add(ps, &pv, mod, func, "entry", 0) == pr;
			reused &= round == 0 || is_one_of(pr, used);
			if (round == 0)
				used[i] = pr;
			probe_list_add(&gone, pr);
		}
		probes_remove(ps, &gone);
		found &= !probes_find(ps, last_id);
		vec_deinit(&gone.probes);
	}
	ok(found, "what was added is found until it is removed");
	ok(ascending, "ids are not given out again");
	ok(reused, "memory is");
	ok(probes_find(ps, kept->id) == kept &&
		   probes_add(ps, &pv, "m0", "f0", "entry", 7) == kept &&
		   strcmp(kept->func, "f0") == 0 && strcmp(kept->name, "entry") == 0,
	   "a probe that shares names with them stays");
	ok(!probes_has(ps, &(struct probe_desc){"made", "m1", "", "", 0, false, 0}),
	   "a name without probes matches nothing");
	ok(probes_has(ps, &(struct probe_desc){"made", "", "", "entry", 0, false, 0}),
	   "one with a probe does");
	probes_destroy(ps);
}

static void test_matching(void)
{
	struct provider_env env = {0};
	struct probes *ps = probes_create(&env);

	is_int(count(ps, "", "", "", "BEGIN"), 1, "BEGIN alone");
	is_int(count(ps, "dtrace", "", "", ""), 3, "dtrace:::");
	is_int(count(ps, "syscall", "", "read", ""), 2, "entry and return");
	is_int(count(ps, "syscall", "vmlinux", "read", "entry"), 1, "with the module");
	is_int(count(ps, "syscall", "other", "read", "entry"), 0, "with another module");
	is_int(count(ps, "sys*", "", "rea[d]", "entry"), 1, "globs in two fields");
	ok(count(ps, "", "", "", "entry") > 300, "all entries");
	is_int(count(ps, "syscall", "", "", "entry"), count(ps, "syscall", "", "", "return"),
	       "as many returns");
	is_int(count(ps, "nobody", "", "", ""), 0, "unknown provider");
	is_int(count(ps, "", "", "nothing_like_it", "entry"), 0, "unknown function");
	is_int(count(ps, "syscall", "", "uselib", "entry"), 0, "a header name that no kernel has");
	probes_destroy(ps);
}

static void test_profile(void)
{
	struct provider_env env = {0};
	struct probes *ps = probes_create(&env);

	is_int(count(ps, "profile", "", "", ""), 13, "13 probes exist unasked");
	is_int(count(ps, "", "", "", "tick-7s"), 1, "tick-7s exists when named");
	is_int(count(ps, "profile", "", "", "tick-7s"), 1, "once");
	ok(first_id(ps, "", "tick-7s") >= PROBE_ID_DYNAMIC, "its id follows the blocks");
	is_int(count(ps, "", "", "", "tick-*"), 7, "and is matched by globs from then on");
	is_int(count(ps, "", "", "", "tick-0"), 0, "tick-0 is none");
	is_int(count(ps, "", "", "", "tick-5x"), 0, "nor is tick-5x");
	is_int(count(ps, "", "", "", "tick-5001"), 0, "nor more than 5000 hz");
	is_int(count(ps, "", "x", "", "tick-9s"), 0, "nor one in a module");
	probes_destroy(ps);
}

/* Does a description match a probe of this function? views: only in the form of another. */
static bool has_in_program(struct probes *ps, const char *func, const char *want, bool is_view,
			   uint32_t texts)
{
	uint32_t n;
	struct probe **p =
		match(ps, (struct probe_desc){"syscall", "", func, "entry", 0, false, texts}, &n);

	for (uint32_t i = 0; i < n; i++)
		if (strcmp(p[i]->func, want) == 0 && !syscall_of_probe(p[i]) == is_view)
			return true;
	return false;
}

static bool has(struct probes *ps, const char *func, const char *want, bool is_view)
{
	return has_in_program(ps, func, want, is_view, 0);
}

static void test_aliases(void)
{
	struct provider_env env = {0};
	struct probes *ps = probes_create(&env);
	const struct probe_desc kevent = {"syscall", "", "kevent", "entry", 0, false, 0};

	notices = 0;
	env.on_notice = on_notice;
	ok(has(ps, "exece", "execve", false) && has(ps, "exece", "execveat", true),
	   "exece is execve and execveat");
	is_int(notices, 1, "said so");
	(void)count(ps, "syscall", "", "exece", "return");
	is_int(notices, 1, "once");
	ok(has(ps, "newfstat", "fstat", false), "tracefs's newfstat is fstat");
	ok(has(ps, "read_nocancel", "read", false), "read_nocancel is read");
	ok(has(ps, "open64_nocancel", "openat", true), "open64_nocancel is open64");
	is_int(count(ps, "syscall", "", "open64", "entry"), 4,
	       "open64: open and three forms of it");
	is_int(count(ps, "syscall", "", "open*64", "entry"), 4,
	       "a glob that matches no Linux name");
	is_int(count(ps, "lx-syscall", "", "read", ""), 2, "lx-syscall is syscall");
	is_int(count(ps, "syscall", "", "exec*", "entry"), 2, "globs see native names");
	ok(has(ps, "exec*", "execveat", false), "with native arguments");
	ok(has(ps, "fork*", "clone", true), "but fork* is clone, too");
	ok(!has(ps, "*", "clone", true), "where it is not matched anyway");
	is_int(count(ps, "syscall", "freebsd", "read", "entry"), 1, "a module of FreeBSD");
	is_int(count(ps, "syscall", "", "kevent", "entry"), 0, "kevent is no call of Linux");
	ok(probes_hint(ps, &kevent) && strstr(probes_hint(ps, &kevent), "epoll"), "but a hint");
	probes_destroy(ps);
}

/* A program that names calls itself; option syscallview. */
static void test_named(void)
{
	struct provider_env env = {0};
	struct probes *ps = probes_create(&env);
	const struct probe_desc openat = {"syscall", "", "openat", "entry", 0, false, 0};

	is_int(count(ps, "syscall", "", "open", "entry"), 4, "open is four calls");
	probes_name(ps, &openat);
	is_int(count(ps, "syscall", "", "open", "entry"), 1, "one where openat is named, too");
	ok(has(ps, "open*", "openat", false), "open* is openat");
	env_set_view(&env, PROBE_VIEW_CLASSIC);
	ok(has(ps, "open*", "openat", true) && !has(ps, "open*", "openat", false),
	   "with option syscallview as open");
	probes_destroy(ps);
}

/* Whether a pattern shows a call as an older one where a program reads these arguments as text. */
static bool shows_older(struct probes *ps, const char *func, const char *call, uint32_t texts)
{
	return has_in_program(ps, func, call, true, texts);
}

static void test_texts(void)
{
	struct provider_env env = {0};
	struct probes *ps = probes_create(&env);
	const struct probe_desc openat = {"syscall", "", "openat", "entry", 0, false, 0};

	ok(!shows_older(ps, "open*", "openat", 0), "nothing is read as text");
	ok(shows_older(ps, "open*", "openat", 1), "open() has a path in arg0, openat() has not");
	ok(!shows_older(ps, "open*", "openat", 2), "openat() has one in arg1, open() has not");
	ok(!shows_older(ps, "open*", "openat", 3), "neither has both");
	ok(shows_older(ps, "rename*", "renameat", 3), "rename() has both");
	ok(shows_older(ps, "stat*", "newfstatat", 1), "stat* means newfstatat() as stat()");
	ok(shows_older(ps, "unlink*", "unlinkat", 1), "unlinkat() is unlink(), and rmdir()");
	ok(!shows_older(ps, "openat*", "openat", 1), "openat* does not match open()");
	ok(!shows_older(ps, "*", "openat", 1), "nor is one meant by all calls");
	env_set_view(&env, PROBE_VIEW_NATIVE);
	ok(!shows_older(ps, "open*", "openat", 1), "with option syscallview=native");
	env_set_view(&env, PROBE_VIEW_AUTO);
	probes_name(ps, &openat);
	ok(!shows_older(ps, "open*", "openat", 1), "a program that names openat knows Linux");
	probes_destroy(ps);
}

static void test_tables(void)
{
	struct arena *a = arena_create();
	const char *targets;
	uint32_t at = 0, nbad = 0;

	while ((targets = syscall_targets_next("*", &at)))
		for (const char *t = targets; *t; t += strcspn(t, " ") + (strchr(t, ' ') != NULL)) {
			const char *name = arena_strndup(a, t, strcspn(t, " "));
			bool is_known = syscall_find(name) != NULL;

			for (uint32_t i = 0; i < syscall_nviews; i++)
				is_known |= strcmp(syscall_views[i].as, name) == 0;
			nbad += !is_known;
			if (!is_known)
				printf("# nothing is called '%s'\n", name);
		}
	is_int(nbad, 0, "other names stand for what there is");
	arena_destroy(a);
	for (uint32_t i = 0; i < syscall_nviews; i++) {
		const struct syscall_view *v = &syscall_views[i];
		bool is_known = syscall_find(v->as) || syscall_targets(v->as);

		if (!syscall_find(v->call) || !is_known)
			ok(false, "view of '%s' as '%s'", v->call, v->as);
		for (uint32_t k = 0; k < i; k++)
			if (strcmp(syscall_views[k].call, v->call) == 0 &&
			    syscall_views[k].variant == v->variant)
				ok(false, "variant %u of '%s' has one form", v->variant, v->call);
	}
}

static void test_points(void)
{
	struct provider_env env = {0};
	struct probes *ps = probes_create(&env);
	struct probe_point pts[PROBE_MAX_POINTS];
	const char *const *types;
	struct probe **p;
	uint32_t n;

	p = match(ps, (struct probe_desc){"", "", "write", "entry", 0, false, 0}, &n);
	is_int(p[0]->provider->points(p[0], pts), 2, "write hangs on two numbers");
	is_int(pts[0].place.kind, PLACE_SYS_ENTER, "of sys_enter");
	is_int(pts[0].key, 1, "1 on x86-64");
	is_int(pts[1].key, RT_SYS_COMPAT + 4, "4 on i386");
	is_int(p[0]->provider->arg_types(&env, p[0], &types), 3, "write has three arguments");
	is_str(types[1], "userland const char *", "the second is text");
	p = match(ps, (struct probe_desc){"", "", "write", "return", 0, false, 0}, &n);
	is_int(p[0]->provider->points(p[0], pts), 2, "return, too");
	is_int(pts[0].place.kind, PLACE_SYS_EXIT, "of sys_exit");
	is_int(p[0]->provider->arg_types(&env, p[0], &types), 2, "args[0] and args[1] at return");
	probes_destroy(ps);
}

/* A provider of 100,000 probes must not make literal lookups slow. */
static void test_speed(void)
{
	struct provider_env env = {0};
	struct probes *ps = probes_create(&env);
	struct timespec a, b;
	char func[32];
	uint32_t n, found = 0;
	double ms;

	(void)count(ps, "dtrace", "", "", "");
	for (uint32_t i = 0; i < 100000; i++) {
		(void)snprintf(func, sizeof(func), "function_%u", i);
		(void)probes_add(ps, &provider_dtrace, "vmlinux", func, i & 1 ? "call" : "leave",
				 0);
	}
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	for (uint32_t i = 0; i < 1000; i++) {
		struct probe_desc desc = {"dtrace", "", func, "call", 0, false, 0};
		struct probe **probes;
		struct err *e;

		(void)snprintf(func, sizeof(func), "function_%u", i * 100 + 1);
		e = probes_match(ps, &desc, &probes, &n);
		found += !e && n == 1;
		err_destroy(e);
	}
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	ms = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) / 1e6;
	is_int(found, 1000, "1,000 literals among 100,000 probes");
	ok(ms < 100 * (double)tap_patience(), "found in %.1f ms on CPU", ms);
	probes_destroy(ps);
}

int main(void)
{
	test_ids();
	test_removing();
	test_matching();
	test_profile();
	test_aliases();
	test_named();
	test_texts();
	test_tables();
	test_points();
	test_speed();
	return tap_done();
}
