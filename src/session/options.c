/* SPDX-License-Identifier: MIT */
/* Parses option values, and checks their limits (d-language.md 8.1). */
#include <errno.h>
#include <strings.h>

#include "d/parse/attr.h"
#include "d/text/diag.h"
#include "dtrace.h"
#include "kernel/capabilities.h"
#include "privilege/needs.h"
#include "session/options.h"

const struct opt_desc opt_descs[OPT_COUNT] = {
#define OPT(id, name, kind, class, deflt, flags, what, ...)                                        \
	[OPT_##id] = {name, OPTK_##kind, OPTC_##class, deflt, flags, what},
#include "session/options.def"
};

/* The words of enum options; the number of a value is its index. NULL-terminated. */
/* clang-format off */
static const char *const enum_values[OPT_COUNT][12] = {
	[OPT_bufpolicy] = {"switch", "fill", "ring"},
	[OPT_bufresize] = {"auto", "manual"},
	[OPT_encoding] = {"ascii", "utf8"},
	[OPT_evaltime] = {"exec", "preinit", "postinit", "main"},
	[OPT_follow] = {"none", "fork"},
	[OPT_inproc] = {"off", "auto", "all"}, /* as enum inproc_mode */
	[OPT_late] = {"dynamic", "static"},
	[OPT_linkmode] = {"kernel", "dynamic", "static", "primary"},
	[OPT_linktype] = {"elf", "dof"},
	[OPT_oformat] = {
#define OFORMAT(id, name, draws, kind) #name,
#include "render/oformats.def"
	},
	[OPT_escape] = {"auto", "always", "never"},   /* as enum print_escape */
	[OPT_sched] = {"inherit", "realtime"},
	[OPT_picture] = {"svg", "html"},	      /* as enum print_picture */
	[OPT_unit] = {"auto", "none", "ns", "us", "ms", "bytes"}, /* as enum print_unit */
	[OPT_stackmerge] = {"off", "function", "line"}, /* as enum print_merge */
	[OPT_stdc] = {"a", "c", "s", "t"},
	[OPT_syscallview] = {"auto", "native", "classic"}, /* as enum probe_view */
};
/* clang-format on */

#define LOWERED_MAX ((int64_t)1 << 50) /* sizes that are lowered to what there is memory for */

static const struct {
	enum opt_id id;
	int64_t min, max;
} limits[] = {
	{OPT_bufsize, 8, LOWERED_MAX},
	{OPT_aggsize, 0, LOWERED_MAX},
	{OPT_dynvarsize, 0, LOWERED_MAX},
	{OPT_strsize, 1, DIF_MAX_STRING},
	{OPT_nspec, 0, 1 << 20},
	{OPT_scratchsize, 0, 1 << 24},
	{OPT_maxplaces, 1, 1 << 24},
	{OPT_filewait, 1000000, 60000000000},
	{OPT_namesize, 4096, (int64_t)1 << 40},
	{OPT_iregs, 1, 8},
	{OPT_printsize, 1, 1 << 20},
	{OPT_pcapsize, 1, 1 << 20},
	{OPT_stackframes, 1, PROG_FRAMES_MAX},
	{OPT_ustackframes, 1, PROG_FRAMES_MAX},
	{OPT_jstackframes, 1, PROG_FRAMES_MAX},
	{OPT_jstackstrsize, 0, 1 << 20},
	{OPT_stackindent, 0, 1024},
	{OPT_toprows, 0, UINT32_MAX},
	{OPT_livesize, 1, 1 << 28},
	{OPT_livecheck, 0, 4096},
	{OPT_livebase, 0, 4096},
};

int64_t opt_max(enum opt_id id)
{
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		if (limits[i].id == id)
			return limits[i].max;
	return INT64_MAX;
}

void size_add(struct strbuf *out, uint64_t size)
{
	static const char units[] = "gmk";

	for (int i = 0; i < 3; i++) {
		uint64_t unit = (uint64_t)1 << (10 * (3 - i));

		if (size >= unit && size % unit == 0) {
			strbuf_addf(out, "%llu%c", (unsigned long long)(size / unit), units[i]);
			return;
		}
	}
	strbuf_addf(out, "%llu bytes", (unsigned long long)size);
}

const struct opt_desc *opt_find(const char *name, enum opt_id *ret_id)
{
	for (int id = 0; id < OPT_COUNT; id++)
		if (strcmp(opt_descs[id].name, name) == 0) {
			*ret_id = (enum opt_id)id;
			return &opt_descs[id];
		}
	return NULL;
}

const char *opt_kind_name(enum opt_kind kind)
{
	static const char *const names[] = {
		[OPTK_FLAG] = "flag", [OPTK_NUMBER] = "number", [OPTK_SIZE] = "size",
		[OPTK_RATE] = "rate", [OPTK_STRING] = "string", [OPTK_ENUM] = "enum",
	};

	return names[kind];
}

/* ---- text to value: false when the text is not valid ---------------------------------------- */

/* Parses leading digits in a base of C. ERANGE: INT64_MAX stands for a larger number. */
static int parse_large(const char *text, const char **ret_end, int64_t *ret_val)
{
	char *end;

	if (*text < '0' || *text > '9')
		return EINVAL;
	errno = 0;
	*ret_val = strtoll(text, &end, 0);
	*ret_end = end;
	return errno;
}

static bool parse_digits(const char *text, const char **ret_end, int64_t *ret_val)
{
	return parse_large(text, ret_end, ret_val) == 0;
}

static bool parse_number(const char *text, int64_t *ret_val)
{
	static const char *const on[] = {"yes", "enable", "enabled", "true", "on", "set"};
	static const char *const off[] = {"no", "disable", "disabled", "false", "off", "unset", ""};
	const char *end;

	for (size_t i = 0; i < ARRAY_LEN(on); i++)
		if (strcasecmp(text, on[i]) == 0) {
			*ret_val = 1;
			return true;
		}
	for (size_t i = 0; i < ARRAY_LEN(off); i++)
		if (strcasecmp(text, off[i]) == 0) {
			*ret_val = OPT_UNSET;
			return true;
		}
	return parse_digits(text, &end, ret_val) && !*end;
}

/* A size that 64 bits do not hold is INT64_MAX: a size, which is too large. */
static bool parse_size(const char *text, int64_t *ret_val)
{
	static const char suffixes[] = "kmgt";
	const char *end, *s;
	int64_t v, unit = 1;

	if (parse_large(text, &end, &v) == EINVAL)
		return false;
	if (*end) {
		s = strchr(suffixes, *end | 0x20);
		if (!s || end[1])
			return false;
		unit = (int64_t)1 << (10 * (s - suffixes + 1));
	}
	if (__builtin_mul_overflow(v, unit, ret_val))
		*ret_val = INT64_MAX;
	return true;
}

/* clang-format off */
static const struct {
	const char *suffix;
	int64_t ns;
} rate_units[] = {
	{ "", 1 },              { "ns", 1 },            { "nsec", 1 },
	{ "us", 1000 },         { "usec", 1000 },
	{ "ms", 1000000 },      { "msec", 1000000 },
	{ "s", 1000000000 },    { "sec", 1000000000 },
	{ "m", 60000000000 },   { "min", 60000000000 },
	{ "h", 3600000000000 }, { "hour", 3600000000000 },
	{ "d", 86400000000000 }, { "day", 86400000000000 },
};
/* clang-format on */

static bool parse_rate(const char *text, int64_t *ret_val)
{
	const char *end;
	int64_t v;

	if (!parse_digits(text, &end, &v))
		return false;
	if (strcasecmp(end, "hz") == 0) {
		if (!v)
			return false;
		*ret_val = 1000000000 / v;
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(rate_units); i++)
		if (strcasecmp(end, rate_units[i].suffix) == 0)
			return !__builtin_mul_overflow(v, rate_units[i].ns, ret_val);
	return false;
}

static bool parse_enum(enum opt_id id, const char *text, int64_t *ret_val)
{
	for (int i = 0; enum_values[id][i]; i++)
		if (strcmp(enum_values[id][i], text) == 0) {
			*ret_val = i;
			return true;
		}
	return false;
}

static bool parse_value(enum opt_id id, const char *text, int64_t *ret_val)
{
	switch (opt_descs[id].kind) {
	case OPTK_FLAG:
	case OPTK_NUMBER: return parse_number(text, ret_val);
	case OPTK_SIZE: return parse_size(text, ret_val);
	case OPTK_RATE: return parse_rate(text, ret_val);
	case OPTK_ENUM: return parse_enum(id, text, ret_val);
	case OPTK_STRING: *ret_val = 1; return true;
	}
	BUG("option kind %d", (int)opt_descs[id].kind);
}

int64_t opt_size_of(enum opt_id id, const char *text)
{
	int64_t v;

	return parse_value(id, text, &v) && v <= opt_max(id) ? v : 0;
}

/* ---- setting -------------------------------------------------------------------------------- */

static struct err *bad_name(const char *name)
{
	const char *names[OPT_COUNT], *near;
	struct err *e = err_code(err_new("Invalid option name"), EDT_BADOPTNAME);

	for (int id = 0; id < OPT_COUNT; id++)
		names[id] = opt_descs[id].name;
	near = diag_nearest(name, names, OPT_COUNT);
	return near ? err_hint(e, "did you mean '%s'?", near) : e;
}

static struct err *bad_value(enum opt_id id)
{
	static const char *const forms[] = {
		[OPTK_FLAG] = "a flag takes no value, or on, off, or a number",
		[OPTK_NUMBER] = "a number is expected",
		[OPTK_SIZE] = "a size is expected: 4096, 64k, 4m, 1g",
		[OPTK_RATE] = "a rate is expected: 10hz, 500ms, 2s, 1min",
		[OPTK_STRING] = "a text is expected",
		[OPTK_ENUM] = "",
	};
	struct err *e = err_code(err_new("Invalid value for specified option"), EDT_BADOPTVAL);
	struct strbuf values = {0};

	if (opt_descs[id].kind != OPTK_ENUM)
		return err_hint(e, "%s", forms[opt_descs[id].kind]);
	for (int i = 0; enum_values[id][i]; i++)
		strbuf_addf(&values, "%s%s", i ? ", " : "", enum_values[id][i]);
	e = err_hint(e, "one of: %s", strbuf_text(&values));
	strbuf_deinit(&values);
	return e;
}

/* Why an option is OPTF_NOT_LINUX. */
static const struct {
	enum opt_id id;
	const char *why;
} reasons[] = {
	{OPT_grabanon, "there is no anonymous tracing: start dtrace early instead (dtrace(8), "
		       "ANONYMOUS TRACING)"},
	{OPT_zone, "zones are of illumos"},
};

static struct err *not_here(enum opt_id id)
{
	struct err *e = err_code(err_new("Not supported on Linux"), EDT_NOTSUP);

	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (reasons[i].id == id)
			e = err_hint(e, "%s", reasons[i].why);
	return e;
}

static struct err *check_limits(enum opt_id id, int64_t val)
{
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		if (limits[i].id == id && val != OPT_UNSET &&
		    (val < limits[i].min || val > limits[i].max)) {
			struct err *e = err_code(err_new("Invalid value for specified option"),
						 EDT_BADOPTVAL);

			return err_hint(e, "'%s' lies between %lld and %lld", opt_descs[id].name,
					(long long)limits[i].min, (long long)limits[i].max);
		}
	return NULL;
}

/* Known versions of D (d-language.md 11.4), as major << 24 | minor << 12 | micro. */
static const uint32_t versions[] = {
	0x1000000, 0x1001000, 0x1002000, 0x1002001, 0x1002002, 0x1003000, 0x1004000,
	0x1004001, 0x1005000, 0x1006000, 0x1006001, 0x1006002, 0x1006003, 0x1006004,
	0x1007000, 0x1007001, 0x1008000, 0x1008001, 0x1009000, 0x1009001, 0x100a000,
	0x100b000, 0x100c000, 0x100c001, 0x100d000, 0x2000000, 0x2000001,
};

static struct err *set_version(struct options *o, const char *text)
{
	uint32_t v;

	if (!version_parse(text, &v))
		return err_code(err_new("Version is not properly formatted or is too large"),
				EDT_VERSINVAL);
	for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
		if (versions[i] != v)
			continue;
		if (o->val[OPT_version] != OPT_UNSET && v > (uint32_t)o->val[OPT_version])
			return err_code(err_new("Requested version conflicts with earlier setting"),
					EDT_VERSREDUCED);
		o->val[OPT_version] = v;
		return NULL;
	}
	return err_code(err_new("Requested version is not supported by compiler"), EDT_VERSUNDEF);
}

/* Options that add a word to the preprocessor's command line; prefix is glued to the value. */
static const struct {
	enum opt_id id;
	const char *prefix;
} cpp_words[] = {
	{OPT_define, "-D"},
	{OPT_undef, "-U"},
	{OPT_incdir, "-I"},
	{OPT_cppargs, ""},
};

static char *concat(const char *a, const char *b)
{
	struct strbuf s = {0};

	strbuf_adds(&s, a);
	strbuf_adds(&s, b);
	return s.data ? s.data : xstrdup("");
}

/* Applies what an accepted value, or one word of it, changes beside options.val and str. */
static void apply_word(struct options *o, enum opt_id id, const char *value)
{
	for (size_t i = 0; i < ARRAY_LEN(cpp_words); i++)
		if (cpp_words[i].id == id)
			vec_push(&o->cppargs, concat(cpp_words[i].prefix, value));
	if (id == OPT_cpphdrs && opt_flag(o, id))
		vec_push(&o->cppargs, xstrdup("-H"));
	if (id == OPT_libdir)
		vec_push(&o->libdirs, xstrdup(value));
	if (id == OPT_setenv || id == OPT_unsetenv)
		vec_push(&o->envs, concat(id == OPT_setenv ? "+" : "-", value));
}

static void str_replace(struct options *o, enum opt_id id, const char *value)
{
	free(o->str[id]);
	o->str[id] = value ? xstrdup(value) : NULL;
}

static void value_apply(struct options *o, enum opt_id id, const char *value)
{
	static const char blanks[] = " \t\n\v\f\r";

	if (!(opt_descs[id].flags & OPTF_WORDS)) {
		apply_word(o, id, value);
		return;
	}
	for (value += strspn(value, blanks); *value; value += strspn(value, blanks)) {
		size_t len = strcspn(value, blanks);
		char *word = strndup(value, len);

		if (!word)
			oom();
		apply_word(o, id, word);
		free(word);
		value += len;
	}
}

/* Checks the text of string options that have a syntax. */
static bool is_well_formed(enum opt_id id, const char *value)
{
	struct attr a;

	if (id == OPT_amin)
		return attr_parse(value, &a);
	return id != OPT_setenv || strchr(value, '=');
}

static struct err *set_privileges(struct options *o, const char *value)
{
	struct privileges unused = PRIVILEGES_ALL;
	struct err *e = privileges_narrow(o->privileges ? o->privileges : &unused, value);

	if (e)
		return err_code(err_wrap(e, "option privileges"), EDT_BADOPTVAL);
	o->val[OPT_privileges] = 1;
	str_replace(o, OPT_privileges, value);
	return NULL;
}

/* Parses and stores a value. The caller has checked that the option may be set now. */
static struct err *set_value(struct options *o, enum opt_id id, const char *value)
{
	const struct opt_desc *d = &opt_descs[id];
	struct err *e;
	int64_t val;

	if (!value) {
		if (d->kind != OPTK_FLAG && d->kind != OPTK_NUMBER)
			return bad_value(id);
		value = "set";
	}
	if (id == OPT_version)
		return set_version(o, value);
	if (id == OPT_privileges)
		return set_privileges(o, value);
	if (!parse_value(id, value, &val) || !is_well_formed(id, value))
		return bad_value(id);
	e = check_limits(id, val);
	if (e)
		return e;
	o->val[id] = val;
	if (d->kind == OPTK_STRING || d->kind == OPTK_ENUM)
		str_replace(o, id, value);
	value_apply(o, id, value);
	return NULL;
}

/* Refuses an option for which the session lacks a level (privilege/needs.def). */
static struct err *check_levels(const struct options *o, enum opt_id id)
{
	bool is_known;
	uint32_t level = need_of_option(opt_descs[id].name, &is_known);
	char have[LEVELS_TEXT_MAX];

	if (!privileges_lack(o->privileges, level))
		return NULL;
	if (level == LEVELS_ALL)
		return err_hint(err_code(err_new("Option names what is trusted, which is not for a "
						 "user with levels to choose"),
					 EDT_ACCESS),
				id == OPT_syslibdir ? "-L (option libdir) adds a folder of your own"
						    : "dtrace-levels(7) says why");
	return err_hint(err_code(err_new("Option %s needs %s; this session has %s",
					 opt_descs[id].name,
					 level_word((enum privilege_level)level),
					 levels_text(o->privileges->levels, have)),
				 EDT_ACCESS),
			"dtrace-levels(7) says why");
}

struct err *options_set(struct options *o, const char *name, const char *value, bool in_pragma)
{
	enum opt_id id;
	const struct opt_desc *d = opt_find(name, &id);
	struct err *e;

	if (!d)
		return bad_name(name);
	if (in_pragma && (d->flags & OPTF_NOPRAGMA))
		return err_code(err_new("Option cannot be used from within a D program"),
				EDT_BADOPTCTX);
	e = check_levels(o, id);
	if (e)
		return e;
	if (o->is_active && d->class == OPTC_RUNTIME)
		return err_code(err_new("Operation illegal when tracing is active"), EDT_ACTIVE);
	if (o->is_active && id == OPT_livemin && opt_flag(o, OPT_liveorder))
		return err_hint(err_code(err_new("Operation illegal when tracing is active: with "
						 "option liveorder there are no ages"),
					 EDT_ACTIVE),
				"give livemin before tracing begins");
	if (d->flags & OPTF_NOT_LINUX)
		return not_here(id);
	e = set_value(o, id, value);
	if (!e && o->changed)
		o->changed(o->ctx);
	return e;
}

struct err *options_from_env(struct options *o)
{
	for (int id = 0; id < OPT_COUNT; id++) {
		struct strbuf name = {0};
		const char *value;
		struct err *e = NULL;

		strbuf_adds(&name, "DTRACE_OPT_");
		for (const char *p = opt_descs[id].name; *p; p++)
			strbuf_addc(&name, (char)(*p & ~0x20));
		value = trusted_getenv(name.data);
		if (value)
			e = options_set(o, opt_descs[id].name, *value ? value : NULL, false);
		if (e)
			e = err_wrap(e, "failed to set option from environment variable %s",
				     name.data);
		strbuf_deinit(&name);
		if (e)
			return e;
	}
	return NULL;
}

void options_on_change(struct options *o, void (*func)(void *ctx), void *ctx)
{
	o->changed = func;
	o->ctx = ctx;
}

void options_init(struct options *o)
{
	*o = (struct options){0};
	for (int id = 0; id < OPT_COUNT; id++) {
		struct err *e;

		o->val[id] = OPT_UNSET;
		if (!*opt_descs[id].deflt)
			continue;
		e = set_value(o, (enum opt_id)id, opt_descs[id].deflt);
		if (e)
			BUG("default of option %s: %s", opt_descs[id].name, err_text(e));
	}
}

void options_deinit(struct options *o)
{
	for (int id = 0; id < OPT_COUNT; id++)
		free(o->str[id]);
	for (uint32_t i = 0; i < o->cppargs.len; i++)
		free(o->cppargs.data[i]);
	for (uint32_t i = 0; i < o->libdirs.len; i++)
		free(o->libdirs.data[i]);
	for (uint32_t i = 0; i < o->envs.len; i++)
		free(o->envs.data[i]);
	vec_deinit(&o->cppargs);
	vec_deinit(&o->libdirs);
	vec_deinit(&o->envs);
}
