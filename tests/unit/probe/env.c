/* SPDX-License-Identifier: MIT */
/* The environment of the providers: messages, targets, options, keys. */
#include "probe/probe.h"
#include "tap.h"

static char told[64];
static uint32_t ntold, nscans, nasked;

static void tell(void *ctx, const char *msg)
{
	(void)snprintf(told, sizeof(told), "%s%s", (const char *)ctx, msg);
	ntold++;
}

static void scan(void *ctx)
{
	nscans++;
}

static struct err *ask(void *ctx, pid_t pid)
{
	nasked++;
	return pid == 7 ? err_new("no 7") : NULL;
}

/* A session that has filled in nothing. */
static void test_empty(void)
{
	struct provider_env env = {0};
	struct probes *ps = probes_create(&env);
	struct err *e;

	ok(env.probes == ps && env.arena == probes_arena(ps) && probes_env(ps) == &env,
	   "the registry and its environment know each other");
	env_notice(&env, "nobody hears %d", 1);
	env_adjusted(&env, "nobody hears %d", 2);
	env_will_scan(&env);
	e = env_need_process(&env, 1);
	ok(!e, "nobody has to be asked about a process");
	err_destroy(e);
	is_int(env_process(&env, 0), 0, "there is no target");
	ok(!env_harm(&env, 0), "no probe is known to harm");
	probes_destroy(ps);
	env_deinit(&env);
}

static void test_functions(void)
{
	char notice[] = "notice: ", adjusted[] = "adjusted: ";
	struct provider_env env = {.on_notice = tell,
				   .notice_ctx = notice,
				   .on_adjusted = tell,
				   .adjusted_ctx = adjusted,
				   .on_scan = scan,
				   .on_process = ask};
	struct probes *ps = probes_create(&env);
	struct err *e;

	env_notice(&env, "%d files", 3);
	is_str(told, "notice: 3 files", "a notice");
	env_adjusted(&env, "%s", "less");
	is_str(told, "adjusted: less", "an adjustment");
	is_int(ntold, 2, "each told once");
	e = env_need_process(&env, 7);
	ok(e && strcmp(err_text(e), "no 7") == 0, "the session's error is handed on");
	err_destroy(e);
	e = env_need_process(&env, 8);
	ok(!e && nasked == 2, "or there is none");
	env_will_scan(&env);
	is_int(nscans, 1, "a scan for a program is told");
	probes_destroy(ps);
	env_deinit(&env);
}

static void test_lists(void)
{
	char prov[] = "php", pattern[] = "8.*";
	struct harm row = {.prov = prov,
			   .name = "error",
			   .reason = "it ends",
			   .nconditions = 1,
			   .conditions = {{"version", pattern}}};
	struct provider_env env = {0};
	struct probes *ps = probes_create(&env);

	env_add_process(&env, 10);
	env_add_process(&env, 20);
	ok(env_process(&env, 0) == 10 && env_process(&env, 1) == 20 && !env_process(&env, 2),
	   "targets have an order and an end");
	env_add_harm(&env, &row);
	prov[0] = pattern[0] = 'x';
	ok(env_harm(&env, 0) && strcmp(env_harm(&env, 0)->prov, "php") == 0 &&
		   strcmp(env_harm(&env, 0)->conditions[0].pattern, "8.*") == 0,
	   "a row is a copy");
	ok(!env_harm(&env, 1), "there is one");
	probes_destroy(ps);
	env_deinit(&env);
}

static void test_keys(void)
{
	struct provider_env env = {0};

	is_int(env_code_key(&env), 0, "keys begin at 0");
	is_int(env_code_key(&env), 1, "and count");
	env_reset_code_keys(&env);
	is_int(env_code_key(&env), 0, "and begin again");
}

int main(void)
{
	test_empty();
	test_functions();
	test_lists();
	test_keys();
	return tap_done();
}
