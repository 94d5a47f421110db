/* SPDX-License-Identifier: MIT */
/* The tables of what is built in: well formed, and every row that works has a golden test. */
#include "check_env.h"
#include "d/check/builtin.h"
#include "tap.h"

#include <dirent.h>

#define GOLDEN "tests/golden/check" /* tests run in the root of the source tree */

/* All scripts of the golden stage as one text. */
static void read_scripts(struct strbuf *out)
{
	DIR *dir = opendir(GOLDEN);
	struct dirent *de;

	while (dir && (de = readdir(dir))) {
		char path[512], buf[4096];
		CLEANUP(file) FILE *f = NULL;
		size_t n;

		if (strncmp(de->d_name, "err.", 4) == 0 || !strstr(de->d_name, ".d") ||
		    strstr(de->d_name, ".dif"))
			continue;
		snprintf(path, sizeof(path), GOLDEN "/%s", de->d_name);
		f = fopen(path, "r");
		while (f && (n = fread(buf, 1, sizeof(buf), f)) > 0)
			strbuf_add(out, buf, n);
	}
	if (dir)
		closedir(dir);
}

static bool mentions(const char *text, const char *name, bool is_call)
{
	size_t len = strlen(name);

	for (const char *p = text; (p = strstr(p, name)); p++) {
		bool begins = p == text || (p[-1] != '_' && (p[-1] < 'a' || p[-1] > 'z'));
		bool ends =
			is_call ? p[len] == '(' : p[len] != '_' && (p[len] < 'a' || p[len] > 'z');

		if (begins && ends)
			return true;
	}
	return false;
}

/* A call of each row with as many arguments as its prototype has, none of which mean anything. */
static void test_prototype(const struct subr *s)
{
	struct strbuf script = {0};
	struct check_env t;
	struct prog *prog;
	struct err *e;

	strbuf_addf(&script, "BEGIN { %s%s(no_such_name); }",
		    s->class == SUBR_AGGFUNC ? "@ = " : "", s->name);
	check_env_init(&t);
	e = check_env_compile(&t, strbuf_text(&script), &prog);
	ok(e != NULL, "%s: prototype '%s' is read", s->name, s->proto);
	err_destroy(e);
	check_env_deinit(&t);
	strbuf_deinit(&script);
}

static void test_subr(const struct subr *s, const char *scripts)
{
	uint32_t version;

	ok(subr_find(s->name) == s, "%s is there once", s->name);
	ok(version_parse(s->since, &version), "%s: version %s", s->name, s->since);
	ok(s->what && *s->what, "%s is described", s->name);
	ok(s->class != SUBR_ACTION || s->check, "%s has a check", s->name);
	if (!s->why)
		ok(mentions(scripts, s->name, true), "%s has a golden test", s->name);
	test_prototype(s);
}

static void test_var(const struct builtin_var *v, const char *scripts)
{
	const char *name = dif_builtin_name(v->id);
	uint32_t version;

	ok(version_parse(v->since, &version), "%s: version %s", v->name, v->since);
	ok(v->what && *v->what, "%s is described", v->name);
	ok(name && strcmp(name, v->name) == 0, "%s: DIF calls it the same", v->name);
	ok(mentions(scripts, v->name, false), "%s has a golden test", v->name);
}

static void test_attr(void)
{
	struct strbuf out = {0};
	struct attr a;
	uint32_t v;

	ok(attr_parse("Stable/Evolving/ISA", &a) && a.name == STAB_STABLE &&
		   a.data == STAB_EVOLVING && a.class == DEP_ISA,
	   "attributes are read");
	attr_print(a, &out);
	is_str(strbuf_text(&out), "Stable/Evolving/ISA", "and written");
	ok(attr_parse("Private", &a) && a.data == STAB_STANDARD && a.class == DEP_COMMON,
	   "missing parts are the highest");
	ok(!attr_parse("stable", &a) && !attr_parse("Stable/Common", &a) &&
		   !attr_parse("Stable/Stable/Common/x", &a) && !attr_parse("", &a),
	   "unknown words");
	ok(attr_is_below((struct attr)ATTR_EVOLVING, (struct attr)ATTR_STABLE) &&
		   !attr_is_below((struct attr)ATTR_STABLE, (struct attr)ATTR_STABLE),
	   "order");
	ok(version_parse("1.6.2", &v) && v == (1 << 24 | 6 << 12 | 2), "versions");
	ok(!version_parse("1", &v) && !version_parse("1.", &v) && !version_parse("1.2.3.4", &v) &&
		   !version_parse("1.5000", &v) && !version_parse("256.0", &v),
	   "no versions");
	strbuf_deinit(&out);
}

int main(void)
{
	struct strbuf scripts = {0};

	read_scripts(&scripts);
	for (uint32_t i = 0; i < nsubrs; i++)
		test_subr(&subrs[i], strbuf_text(&scripts));
	for (uint32_t i = 0; i < nbuiltin_vars; i++)
		test_var(&builtin_vars[i], strbuf_text(&scripts));
	test_attr();
	strbuf_deinit(&scripts);
	return tap_done();
}
