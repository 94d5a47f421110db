/* SPDX-License-Identifier: MIT */
/* The provider that stands for those declared in D: what it asks the session for. */
#include "provider/providers.h"
#include "tap.h"

static uint32_t ncollects;
static char asked[64];

static struct err *collect(void *ctx, const struct probe_desc *desc, struct probe_list *out)
{
	ncollects++;
	(void)snprintf(asked, sizeof(asked), "%s:::%s", desc->prov, desc->name);
	return strcmp(desc->name, "broken") == 0 ? err_new("cannot be used") : NULL;
}

static const char *hint(void *ctx, const struct probe_desc *desc)
{
	return "hint of the session";
}

static const char *absent(void *ctx, const struct probe_desc *desc)
{
	return strcmp(desc->name, "gone") == 0 ? "not here" : NULL;
}

static bool match(struct provider_env *env, const char *prov, const char *mod, const char *name,
		  char why[64])
{
	const struct probe_desc desc = {prov, mod, "", name, 0, false, 0};
	struct probe **found;
	uint32_t n;
	struct err *e = probes_match(env->probes, &desc, &found, &n);

	(void)snprintf(why, 64, "%s", e ? err_text(e) : "");
	err_destroy(e);
	return !*why;
}

int main(void)
{
	struct provider_env env = {
		.declared = {.collect = collect, .hint = hint, .absent = absent}};
	struct provider_env none = {0};
	struct probes *ps = probes_create(&env), *empty = probes_create(&none);
	const struct probe_desc gone = {"io", "", "", "gone", 0, false, 0};
	char why[64];

	ok(match(&env, "io", "", "start", why) && ncollects == 1, "the session is asked");
	is_str(asked, "io:::start", "for the description");
	ok(match(&env, "dtrace", "", "BEGIN", why) && ncollects == 1,
	   "not for a name that another provider has");
	ok(match(&env, "io", "genunix", "start", why) && ncollects == 2,
	   "a kernel's module of other systems means them, too");
	ok(match(&env, "io", "nfs", "start", why) && ncollects == 2, "another module does not");
	ok(!match(&env, "io", "", "broken", why), "its error is the match's: %s", why);
	is_str(probes_absent(ps, &gone), "not here", "why a probe cannot fire here");
	ok(match(&none, "io", "", "start", why), "a session without declarations has none");
	ok(!probes_absent(empty, &gone), "and knows of none");
	probes_destroy(ps);
	probes_destroy(empty);
	env_deinit(&env);
	env_deinit(&none);
	return tap_done();
}
