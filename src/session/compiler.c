/* SPDX-License-Identifier: MIT */
/* Compiles programs, and answers the compiler's calls to the session (compiler.h). */
#include "session/compiler.h"

#include "base/text.h"
#include "privilege/privilege.h"
#include "d/parse/attr.h"
#include "provider/providers.h"
#include "session/match/match.h"
#include "session/options.h"
#include "session/report.h"
#include "session/targets.h"

/* ---- options, as the compiler reads them ---------------------------------------------------- */

static bool dump_wants(const struct compiler *c, const char *what)
{
	const char *list = c->opts->str[OPT_dump];
	size_t len = strlen(what);

	while (list && *list) {
		size_t n = strcspn(list, ",");

		if (n == len && strncmp(list, what, len) == 0)
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

static void compile_opts_refresh(struct compiler *c)
{
	struct attr amin = {0};

	c->cpp_opts = (struct cpp_opts){
		.path = c->opts->str[OPT_cpppath],
		.args = (const char *const *)c->opts->cppargs.data,
		.nargs = c->opts->cppargs.len,
		.stdc = c->opts->str[OPT_stdc][0],
		.d_version = opt_u32(c->opts, OPT_version),
	};
	if (c->opts->str[OPT_amin])
		(void)attr_parse(c->opts->str[OPT_amin],
				 &amin); /* options_set() has refused bad values */
	c->compile_opts = (struct compile_opts){
		.strsize = opt_u32(c->opts, OPT_strsize),
		.scratchsize = opt_u32(c->opts, OPT_scratchsize),
		.defaultargs = opt_flag(c->opts, OPT_defaultargs),
		.argref = opt_flag(c->opts, OPT_argref),
		.empty = opt_flag(c->opts, OPT_empty),
		.pspec = opt_flag(c->opts, OPT_pspec),
		.zdefs = opt_flag(c->opts, OPT_zdefs),
		.errtags = opt_flag(c->opts, OPT_errtags),
		.remedies = true,
		.cpp = opt_flag(c->opts, OPT_cpp),
		.cpp_opts = &c->cpp_opts,
		.stackframes = opt_u32(c->opts, OPT_stackframes),
		.ustackframes = opt_u32(c->opts, OPT_ustackframes),
		.jstackframes = opt_u32(c->opts, OPT_jstackframes),
		.jstackstrsize = opt_u32(c->opts, OPT_jstackstrsize),
		.jstackasync = opt_flag(c->opts, OPT_jstackasync),
		.pcapsize = opt_u32(c->opts, OPT_pcapsize),
		.d_version = opt_u32(c->opts, OPT_version),
		.privileges = c->privileges,
		.amin = {amin.name, amin.data, amin.class},
		.dump = c->report->dump,
		.dump_dif = (opt_flag(c->opts, OPT_verbose) &&
			     (c->opts->val[OPT_disasm] & DISASM_DIF)) ||
			    dump_wants(c, "dif"),
		.dump_ast = opt_flag(c->opts, OPT_tree) || dump_wants(c, "ast"),
	};
}

/* Adds the flags of the compile that runs to the options. */
static void apply_cflags(struct compile_opts *o, unsigned int cflags)
{
	o->zdefs |= (cflags & DTRACE_C_ZDEFS) != 0;
	o->cpp |= (cflags & DTRACE_C_CPP) != 0;
	o->empty |= (cflags & DTRACE_C_EMPTY) != 0;
	o->hash_comments |= (cflags & DTRACE_C_PROVIDERS) != 0;
	o->builds_programs |= (cflags & DTRACE_C_PROVIDERS) != 0;
	o->is_helper |= (cflags & DTRACE_C_PROVIDERS) != 0;
	o->empty |= (cflags & DTRACE_C_PROVIDERS) != 0; /* QEMU's builds have empty definitions */
	o->dump_dif |= (cflags & DTRACE_C_DIFV) != 0;
}

void compiler_refresh(struct compiler *c)
{
	compile_opts_refresh(c);
	apply_cflags(&c->compile_opts, c->cflags);
	library_set_opts(c->library,
			 &(struct library_opts){.dirs = (const char *const *)c->opts->libdirs.data,
						.ndirs = c->opts->libdirs.len,
						.system_dir = c->opts->str[OPT_syslibdir],
						.is_off = opt_flag(c->opts, OPT_nolibs),
						.is_fixed = privileges_lack(c->privileges,
									    LEVELS_ALL)});
}

/* ---- calls of the compiler ------------------------------------------------------------------ */

static struct err *env_match(void *ctx, const struct probe_desc *desc, uint32_t *ret_count)
{
	struct compiler *c = ctx;
	struct probe **probes;

	return probes_match(c->probes, desc, &probes, ret_count);
}

/* Finds the provider that a description names, whether or not probes match. */
static const struct provider *named_provider(const struct probes *ps, const struct probe_desc *desc)
{
	const struct provider *const *list = providers_of(ps);

	for (uint32_t i = 0; *desc->prov && !strpbrk(desc->prov, "*?[") && list[i]; i++)
		if (provider_concerns(list[i], desc))
			return list[i];
	return NULL;
}

static bool env_attrs(void *ctx, const struct probe_desc *desc, struct attr *ret)
{
	struct probes *ps = ((struct compiler *)ctx)->probes;
	const struct provider *pv = named_provider(ps, desc);

	if ((!pv || pv->attrs) && stability_of_probes(ps, desc, ret))
		return true;
	if (pv)
		memcpy(ret, pv->attr, sizeof(pv->attr));
	return pv != NULL;
}

static void env_named(void *ctx, const struct probe_desc *desc)
{
	probes_name(((struct compiler *)ctx)->probes, desc);
}

static const char *env_hint(void *ctx, const struct probe_desc *desc)
{
	const char *hint = derived_hint_module(ctx, desc);

	return hint ? hint : probes_hint(((struct compiler *)ctx)->probes, desc);
}

static const char *env_absent(void *ctx, const struct probe_desc *desc)
{
	return probes_absent(((struct compiler *)ctx)->probes, desc);
}

static bool same_types(const char *const *a, const char *const *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(a[i], b[i]) != 0)
			return false;
	return true;
}

bool probes_have_same_args(struct probes *ps, const struct probe *a, const struct probe *b)
{
	const char *const *of_a = NULL, *const *of_b = NULL;
	uint32_t na = a->provider->arg_types ? a->provider->arg_types(probes_env(ps), a, &of_a) : 0;
	uint32_t nb = b->provider->arg_types ? b->provider->arg_types(probes_env(ps), b, &of_b) : 0;

	if (na != nb || !same_types(of_a, of_b, na))
		return false;
	return a->provider != b->provider || !a->provider->same_args ||
	       a->provider->same_args(probes_env(ps), a, b);
}

static int env_arg_types(void *ctx, const struct probe_desc *desc, const char *const **ret_types)
{
	struct compiler *c = ctx;
	const char *const *first = NULL;
	uint32_t nfirst = 0, n;
	struct probe **probes;
	struct err *e = probes_match(c->probes, desc, &probes, &n);

	*ret_types = NULL;
	if (e) {
		err_destroy(e); /* match() has told */
		return 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct provider *pv = probes[i]->provider;
		const char *const *types = NULL;
		uint32_t ntypes =
			pv->arg_types ? pv->arg_types(probes_env(c->probes), probes[i], &types) : 0;

		if (!i) {
			first = types;
			nfirst = ntypes;
		} else if (ntypes != nfirst || !same_types(types, first, nfirst)) {
			return -1;
		}
	}
	*ret_types = first;
	return (int)nfirst;
}

/*
 * Returns whether args[index] has the type in all probes: their programs may define types of one
 * name differently.
 */
static bool probes_share_type(struct compiler *c, struct probe **probes, uint32_t n, uint32_t index,
			      struct types *t, type_id type)
{
	for (uint32_t i = 1; i < n; i++) {
		const struct provider *pv = probes[i]->provider;
		struct arg_origin origin = {0};
		type_id other = pv->arg_type ? pv->arg_type(probes_env(c->probes), probes[i], index,
							    t, &origin)
					     : TYPE_NONE;

		if (!types_have_same_layout(t, type, other))
			return false;
	}
	return true;
}

static type_id env_arg_type(void *ctx, const struct probe_desc *desc, uint32_t index,
			    struct types *t, struct arg_origin *ret_origin)
{
	struct compiler *c = ctx;
	struct probe **probes;
	type_id type;
	uint32_t n;
	struct err *e = probes_match(c->probes, desc, &probes, &n);

	if (e || !n || !probes[0]->provider->arg_type) {
		err_destroy(e); /* match() has told */
		return TYPE_NONE;
	}
	type = probes[0]->provider->arg_type(probes_env(c->probes), probes[0], index, t,
					     ret_origin);
	if (!ret_origin->is_native || type == TYPE_NONE || type == TYPE_ERROR ||
	    probes_share_type(c, probes, n, index, t, type))
		return type;
	ret_origin->lack = "the programs whose probes match define this type differently; name one "
			   "program, or declare the type in the script";
	return TYPE_ERROR;
}

static const char *env_arg_refused(void *ctx, const struct probe_desc *desc, uint32_t raw)
{
	struct compiler *c = ctx;
	struct probe **probes;
	uint32_t n = 0;
	struct err *e = probes_match(c->probes, desc, &probes, &n);
	const char *why = NULL;

	if (e) {
		err_destroy(e); /* match() has told */
		return NULL;
	}
	for (uint32_t i = 0; i < n && !why; i++)
		if (probes[i]->provider->arg_refused)
			why = probes[i]->provider->arg_refused(probes_env(c->probes), probes[i],
							       raw);
	return why;
}

static uint32_t env_lacks(void *ctx, const struct probe_desc *desc, const char **ret_name)
{
	struct compiler *c = ctx;
	struct probe **probes;
	uint32_t n = 0, level = 0;
	struct err *e = probes_match(c->probes, desc, &probes, &n);

	if (e) {
		err_destroy(e); /* match() has told */
		return 0;
	}
	for (uint32_t i = 0; i < n && !level; i++) {
		level = probe_lacks(probes_env(c->probes), probes[i]);
		if (level)
			*ret_name = arena_printf(c->arena, "%s:%s:%s:%s", probes[i]->prov,
						 probes[i]->mod, probes[i]->func, probes[i]->name);
	}
	return level;
}

static void env_declared(void *ctx)
{
	probes_forget(((struct compiler *)ctx)->probes);
}

static struct err *env_set_option(void *ctx, const char *name, const char *value)
{
	return options_set(((struct compiler *)ctx)->opts, name, value, true);
}

static void env_harmful(void *ctx, const struct harm *row)
{
	env_add_harm(probes_env(((struct compiler *)ctx)->probes), row);
}

static int64_t macro_target(const struct compiler *c)
{
	return targets_first(c->targets);
}

/*
 * Returns true if $target has a value: there is a target, or option defaultargs is set.
 */
static bool target_is_given(const struct compiler *c)
{
	return targets_first(c->targets) || opt_flag(c->opts, OPT_defaultargs);
}

/* clang-format off */
static int64_t macro_pid(const struct compiler *c)  { return getpid(); }
static int64_t macro_ppid(const struct compiler *c) { return getppid(); }
static int64_t macro_pgid(const struct compiler *c) { return getpgrp(); }
static int64_t macro_sid(const struct compiler *c)  { return getsid(0); }
static int64_t macro_uid(const struct compiler *c)  { return getuid(); }
static int64_t macro_euid(const struct compiler *c) { return geteuid(); }
static int64_t macro_gid(const struct compiler *c)  { return getgid(); }
static int64_t macro_egid(const struct compiler *c) { return getegid(); }

static const struct {
	const char *name;
	int64_t (*value)(const struct compiler *c);
} macros[] = {
	{ "pid", macro_pid },   { "ppid", macro_ppid }, { "pgid", macro_pgid }, { "sid", macro_sid },
	{ "uid", macro_uid },   { "euid", macro_euid }, { "gid", macro_gid },   { "egid", macro_egid },
	{ "target", macro_target },
};
/* clang-format on */

static bool env_macro(void *ctx, const char *name, int64_t *ret_value)
{
	for (size_t i = 0; i < ARRAY_LEN(macros); i++)
		if (strcmp(macros[i].name, name) == 0) {
			if (macros[i].value == macro_target && !target_is_given(ctx))
				return false;
			*ret_value = macros[i].value(ctx);
			if (macros[i].value == macro_target)
				targets_tell_first(((struct compiler *)ctx)->targets);
			return true;
		}
	return false;
}

static bool env_define(void *ctx, const char *name, size_t len)
{
	return library_define(((struct compiler *)ctx)->library, name, len);
}

static void env_warn(void *ctx, const char *text)
{
	report_adjusted(((struct compiler *)ctx)->report, "%s", text);
}

static const char *env_nearest(void *ctx, const char *name)
{
	return library_nearest(((struct compiler *)ctx)->library, name);
}

/* Compiles a file of the D library. */
static struct err *library_compile(void *ctx, enum d_layer layer, const char *path,
				   const char *text, size_t len)
{
	struct compiler *c = ctx;
	struct compile_opts opts = c->compile_opts;
	struct prog *prog;
	struct err *e;

	opts.layer = layer;
	opts.cpp = false;
	opts.dump_ast = opts.dump_dif = false; /* dumps show the user's program only */
	e = dsession_compile(c->dsession, &opts, &c->env, SOURCE_FILE, path, text, len,
			     SPEC_CTX_NAME, 0, NULL, &prog);
	report_debug(c->report, "D library file '%s': %s", path,
		     !e				    ? "compiled"
		     : err_get_code(e) == EDT_NOMOD ? "left out"
						    : "failed");
	return e;
}

void compiler_need_dsession(struct compiler *c)
{
	if (c->dsession)
		return;
	c->dsession = dsession_create(&c->compile_opts);
	c->btf_import = btf_import_create(BTF_DIR);
	types_set_importer(dsession_types(c->dsession), btf_import_interface(c->btf_import));
}

void compiler_init(struct compiler *c, struct arena *a, struct options *opts, struct report *report,
		   struct probes *probes, struct targets *targets)
{
	*c = (struct compiler){
		.arena = a,
		.opts = opts,
		.report = report,
		.probes = probes,
		.targets = targets,
		.library = library_create(a, &(struct library_hooks){c, library_compile}),
		.env = {.ctx = c,
			.named = env_named,
			.match = env_match,
			.attrs = env_attrs,
			.hint = env_hint,
			.absent = env_absent,
			.arg_types = env_arg_types,
			.arg_type = env_arg_type,
			.arg_refused = env_arg_refused,
			.lacks = env_lacks,
			.derived = derived_find,
			.declared = env_declared,
			.set_option = env_set_option,
			.harmful = env_harmful,
			.macro = env_macro,
			.symbol = symbol_find,
			.define = env_define,
			.warn = env_warn,
			.nearest = env_nearest},
	};
	derived_init(c);
}

void compiler_deinit(struct compiler *c)
{
	for (uint32_t i = 0; i < c->progs.len; i++) {
		free(c->progs.data[i]->name);
		free(c->progs.data[i]->text);
		free(c->progs.data[i]);
	}
	vec_deinit(&c->progs);
	dsession_destroy(c->dsession);
	library_destroy(c->library);
	btf_import_destroy(c->btf_import);
	hashmap_destroy(c->symbols);
}

/* ---- compiling ------------------------------------------------------------------------------ */

static const char *crop_name(const char *text, size_t *ret_len)
{
	*ret_len = strcspn(text, "{/;");
	while (*ret_len && strchr(" \t\n", text[*ret_len - 1]))
		--*ret_len;
	return text;
}

static char *text_copy(const char *text, size_t len)
{
	char *copy = strndup(text, len);

	if (!copy)
		oom();
	return copy;
}

/* Returns the name of the program in messages: its file, or the beginning of its text. */
static char *program_name(const struct program_text *t)
{
	size_t len = strlen(t->name);
	const char *text = t->kind == SOURCE_STRING ? crop_name(t->text, &len) : t->name;

	return text_copy(text, len);
}

struct err *compiler_compile(struct compiler *c, const struct program_text *t,
			     struct dtrace_prog **ret)
{
	struct err *e, *trouble;
	struct dtrace_prog *p;
	struct prog *prog;

	c->cflags = t->cflags;
	compiler_refresh(c);
	compiler_need_dsession(c);
	e = library_load(c->library);
	if (e)
		return e;
	e = dsession_compile(c->dsession, &c->compile_opts, &c->env, t->kind, t->name, t->text,
			     t->len, t->spec, t->argc, (char **)t->argv, &prog);
	trouble = library_trouble(c->library);
	if (trouble) {
		err_destroy(e); /* an error of the library is reported first */
		e = trouble;
	}
	if (e)
		return library_explain(c->library, e);
	report_debug(c->report, "%s: %u clause%s", *t->name ? t->name : "program", prog->nclauses,
		     PLURAL(prog->nclauses));
	p = xcalloc(1, sizeof(*p));
	p->prog = prog;
	p->name = program_name(t);
	p->text = text_copy(t->text, t->len);
	p->is_script = t->kind == SOURCE_FILE;
	vec_push(&c->progs, p);
	*ret = p;
	return NULL;
}
