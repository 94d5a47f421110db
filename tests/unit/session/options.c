/* SPDX-License-Identifier: MIT */
/* Options: every kind, limit and refusal of d-language.md 8. */
#include "dtrace.h"
#include "session/options.h"
#include "tap.h"

struct set_case {
	const char *name, *value;
	int64_t want;
};

static const struct set_case good[] = {
	{"quiet", NULL, 1},
	{"quiet", "yes", 1},
	{"quiet", "Enabled", 1},
	{"quiet", "true", 1},
	{"quiet", "on", 1},
	{"quiet", "set", 1},
	{"quiet", "no", OPT_UNSET},
	{"quiet", "disable", OPT_UNSET},
	{"quiet", "false", OPT_UNSET},
	{"quiet", "off", OPT_UNSET},
	{"quiet", "unset", OPT_UNSET},
	{"quiet", "", OPT_UNSET},
	{"quiet", "0", 0},
	{"quiet", "7", 7},
	{"stackframes", "12", 12},
	{"stackframes", "0x10", 16},
	{"stackframes", "010", 8},
	{"aggsortpos", "1", 1},
	{"bufsize", "8", 8},
	{"bufsize", "64k", 64 << 10},
	{"bufsize", "4M", 4 << 20},
	{"bufsize", "1g", 1 << 30},
	{"aggsize", "0", 0},
	{"strsize", "65536", 65536},
	{"strsize", "64k", 65536},
	{"switchrate", "10hz", 100000000},
	{"switchrate", "10HZ", 100000000},
	{"switchrate", "500ms", 500000000},
	{"switchrate", "500msec", 500000000},
	{"switchrate", "2s", 2000000000},
	{"switchrate", "2sec", 2000000000},
	{"switchrate", "1m", 60000000000},
	{"switchrate", "1min", 60000000000},
	{"switchrate", "1h", 3600000000000},
	{"switchrate", "1hour", 3600000000000},
	{"switchrate", "1d", 86400000000000},
	{"switchrate", "1day", 86400000000000},
	{"switchrate", "5us", 5000},
	{"switchrate", "5usec", 5000},
	{"switchrate", "5ns", 5},
	{"switchrate", "5nsec", 5},
	{"switchrate", "1000", 1000}, /* no suffix: nanoseconds */
	{"bufpolicy", "switch", 0},
	{"bufpolicy", "fill", 1},
	{"bufpolicy", "ring", 2},
	{"bufresize", "manual", 1},
	{"stdc", "t", 3},
	{"version", "1.5", 0x1005000},
	{"cppargs", "-DX", 1},
};

static const struct {
	const char *name, *value;
	int code;
} bad[] = {
	{"bufsiz", "4m", EDT_BADOPTNAME},
	{"", NULL, EDT_BADOPTNAME},
	{"Quiet", NULL, EDT_BADOPTNAME},
	{"quiet", "maybe", EDT_BADOPTVAL},
	{"quiet", "-1", EDT_BADOPTVAL},
	{"quiet", "1x", EDT_BADOPTVAL},
	{"bufsize", NULL, EDT_BADOPTVAL},
	{"bufsize", "", EDT_BADOPTVAL},
	{"bufsize", "7", EDT_BADOPTVAL}, /* below 8 bytes */
	{"bufsize", "4q", EDT_BADOPTVAL},
	{"bufsize", "4mm", EDT_BADOPTVAL},
	{"bufsize", "-4m", EDT_BADOPTVAL},
	{"bufsize", "9999999999999999999", EDT_BADOPTVAL},
	{"bufsize", "99999999999999t", EDT_BADOPTVAL},
	{"strsize", "64k1", EDT_BADOPTVAL},
	{"strsize", "1048577", EDT_BADOPTVAL},
	{"switchrate", "fast", EDT_BADOPTVAL},
	{"switchrate", "0hz", EDT_BADOPTVAL},
	{"switchrate", "5 s", EDT_BADOPTVAL},
	{"switchrate", "9999999999999d", EDT_BADOPTVAL},
	{"bufpolicy", "sometimes", EDT_BADOPTVAL},
	{"stdc", "x", EDT_BADOPTVAL},
	{"iregs", "9", EDT_BADOPTVAL},
	{"amin", "Excellent", EDT_BADOPTVAL},
	{"setenv", "NOVALUE", EDT_BADOPTVAL},
	{"version", "1.", EDT_VERSINVAL},
	{"version", "1.99", EDT_VERSUNDEF},
	{"zone", "global", EDT_NOTSUP},
	{"define", NULL, EDT_BADOPTVAL},
};

static int set(struct options *o, const char *name, const char *value, bool in_pragma)
{
	struct err *e = options_set(o, name, value, in_pragma);
	int code = e ? err_get_code(e) : 0;

	err_destroy(e);
	return code;
}

static void test_good(void)
{
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		const struct set_case *c = &good[i];
		struct options o;
		enum opt_id id = 0;
		bool is_known = opt_find(c->name, &id);

		options_init(&o);
		is_int(set(&o, c->name, c->value, false), 0, c->name);
		ok(is_known && o.val[id] == c->want, "%s=%s is %lld (got %lld)", c->name,
		   c->value ? c->value : "(none)", (long long)c->want, (long long)o.val[id]);
		options_deinit(&o);
	}
}

static void test_bad(void)
{
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct options o;

		options_init(&o);
		is_int(set(&o, bad[i].name, bad[i].value, false), bad[i].code,
		       bad[i].value ? bad[i].value : bad[i].name);
		options_deinit(&o);
	}
}

static void test_classes(void)
{
	struct options o;

	options_init(&o);
	is_int(set(&o, "cpppath", "/bin/cpp", true), EDT_BADOPTCTX, "cpppath is not for pragmas");
	is_int(set(&o, "cpppath", "/bin/cpp", false), 0, "but for the command line");
	is_int(set(&o, "bufsize", "1m", true), 0, "bufsize may stand in a pragma");
	o.is_active = true;
	is_int(set(&o, "bufsize", "2m", true), EDT_ACTIVE,
	       "run-time options are fixed while tracing");
	is_int(set(&o, "quiet", NULL, true), 0, "dynamic ones are not");
	is_int(o.val[OPT_bufsize], 1 << 20, "a refused value leaves the old one");
	options_deinit(&o);
}

static void test_lists(void)
{
	struct options o;

	options_init(&o);
	is_int(set(&o, "define", "A=1", false), 0, "-D");
	is_int(set(&o, "incdir", "/inc", false), 0, "-I");
	is_int(set(&o, "undef", "B", false), 0, "-U");
	is_int(set(&o, "cpphdrs", NULL, false), 0, "-H");
	is_int(o.cppargs.len, 4, "four words");
	is_str(o.cppargs.data[0], "-DA=1", "in order");
	is_str(o.cppargs.data[1], "-I/inc", "in order");
	is_str(o.cppargs.data[2], "-UB", "in order");
	is_str(o.cppargs.data[3], "-H", "in order");
	is_int(set(&o, "cppargs", " -DX=1\t-P  -DY ", false), 0, "words");
	is_int(set(&o, "cppargs", " ", false), 0, "no word at all");
	is_int(set(&o, "undef", "C D", false), 0, "names");
	is_int(set(&o, "define", "E=1 2", false), 0, "a definition is one word");
	is_int(o.cppargs.len, 10, "cut at blanks");
	is_str(o.cppargs.data[4], "-DX=1", "in order");
	is_str(o.cppargs.data[5], "-P", "in order");
	is_str(o.cppargs.data[6], "-DY", "in order");
	is_str(o.cppargs.data[7], "-UC", "in order");
	is_str(o.cppargs.data[8], "-UD", "in order");
	is_str(o.cppargs.data[9], "-DE=1 2", "blanks and all");
	is_int(set(&o, "setenv", "X=y z", false), 0, "setenv");
	is_int(set(&o, "unsetenv", "Z W", false), 0, "unsetenv");
	is_int(o.envs.len, 3, "three variables");
	is_str(o.envs.data[0], "+X=y z", "in order");
	is_str(o.envs.data[1], "-Z", "in order");
	is_str(o.envs.data[2], "-W", "in order");
	options_deinit(&o);
}

static void test_versions(void)
{
	struct options o;

	options_init(&o);
	is_int(set(&o, "version", "1.6", false), 0, "1.6");
	is_int(set(&o, "version", "1.2.1", false), 0, "can be lowered");
	is_int(set(&o, "version", "1.6", false), EDT_VERSREDUCED, "but not raised again");
	options_deinit(&o);
}

static void test_table(void)
{
	struct options o;
	struct err *e;

	options_init(&o); /* BUG() when a default is not a value */
	is_int(o.val[OPT_bufsize], 4 << 20, "bufsize is 4m");
	is_int(o.val[OPT_strsize], 256, "strsize is 256");
	is_int(o.val[OPT_quiet], OPT_UNSET, "quiet is unset");
	for (int id = 0; id < OPT_COUNT; id++) {
		enum opt_id found;

		ok(opt_find(opt_descs[id].name, &found) && found == (enum opt_id)id, "%s is found",
		   opt_descs[id].name);
		ok(*opt_descs[id].what, "%s is described", opt_descs[id].name);
	}
	e = options_set(&o, "buffsize", "1", false);
	ok(e && err_get_hint(e) && strstr(err_get_hint(e), "'bufsize'"), "a near miss gets a hint");
	err_destroy(e);
	options_deinit(&o);
}

int main(void)
{
	test_good();
	test_bad();
	test_classes();
	test_lists();
	test_versions();
	test_table();
	return tap_done();
}
