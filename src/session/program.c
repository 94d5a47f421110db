/* Compiling programs: the public calls, and what the compiler asks of the session. */
#include <errno.h>

#include "d/attr.h"
#include "proc/control.h"
#include "session/session.h"

/* ---- options, as compiler and printer read them --------------------------------------------- */

static uint32_t opt_u32(const dtrace_hdl_t *h, enum opt_id id)
{
	return h->opts.val[id] == OPT_UNSET ? 0
					    : (uint32_t)MIN(h->opts.val[id], (int64_t)UINT32_MAX);
}

static bool dump_wants(const dtrace_hdl_t *h, const char *what)
{
	const char *list = h->opts.str[OPT_dump];
	size_t len = strlen(what);

	while (list && *list) {
		size_t n = strcspn(list, ",");

		if (n == len && strncmp(list, what, len) == 0)
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

static void refresh_compile_opts(dtrace_hdl_t *h)
{
	struct attr amin = {0};

	h->cpp_opts = (struct cpp_opts){
		.path = h->opts.str[OPT_cpppath],
		.args = (const char *const *)h->opts.cppargs.data,
		.nargs = h->opts.cppargs.len,
		.stdc = h->opts.str[OPT_stdc][0],
		.d_version = opt_u32(h, OPT_version),
	};
	if (h->opts.str[OPT_amin])
		(void)attr_parse(h->opts.str[OPT_amin],
				 &amin); /* options_set() has refused bad ones */
	h->compile_opts = (struct compile_opts){
		.strsize = opt_u32(h, OPT_strsize),
		.scratchsize = opt_u32(h, OPT_scratchsize),
		.defaultargs = opt_flag(&h->opts, OPT_defaultargs),
		.argref = opt_flag(&h->opts, OPT_argref),
		.empty = opt_flag(&h->opts, OPT_empty),
		.pspec = opt_flag(&h->opts, OPT_pspec),
		.zdefs = opt_flag(&h->opts, OPT_zdefs),
		.errtags = opt_flag(&h->opts, OPT_errtags),
		.remedies = true,
		.cpp = opt_flag(&h->opts, OPT_cpp),
		.cpp_opts = &h->cpp_opts,
		.stackframes = opt_u32(h, OPT_stackframes),
		.ustackframes = opt_u32(h, OPT_ustackframes),
		.jstackframes = opt_u32(h, OPT_jstackframes),
		.jstackstrsize = opt_u32(h, OPT_jstackstrsize),
		.pcapsize = opt_u32(h, OPT_pcapsize),
		.d_version = opt_u32(h, OPT_version),
		.amin = {amin.name, amin.data, amin.class},
		.dump = h->report.dump,
		.dump_dif = (opt_flag(&h->opts, OPT_verbose) &&
			     (h->opts.val[OPT_disasm] & DISASM_DIF)) ||
			    dump_wants(h, "dif"),
		.dump_ast = opt_flag(&h->opts, OPT_tree) || dump_wants(h, "ast"),
	};
}

/* Flags of the compile that runs, on top of the options. */
static void apply_cflags(struct compile_opts *o, unsigned int cflags)
{
	o->zdefs |= (cflags & DTRACE_C_ZDEFS) != 0;
	o->cpp |= (cflags & DTRACE_C_CPP) != 0;
	o->empty |= (cflags & DTRACE_C_EMPTY) != 0;
	o->dump_dif |= (cflags & DTRACE_C_DIFV) != 0;
}

static enum print_encoding encoding_of(const dtrace_hdl_t *h)
{
	switch (h->opts.val[OPT_encoding]) {
	case 0: return PRINT_ENCODING_ASCII;
	case 1: return PRINT_ENCODING_UTF8;
	default: return PRINT_ENCODING_UNSET;
	}
}

void session_refresh_opts(dtrace_hdl_t *h)
{
	refresh_compile_opts(h);
	apply_cflags(&h->compile_opts, h->cflags);
	library_set_opts(h->library,
			 &(struct library_opts){.dirs = (const char *const *)h->opts.libdirs.data,
						.ndirs = h->opts.libdirs.len,
						.system_dir = h->opts.str[OPT_syslibdir],
						.is_off = opt_flag(&h->opts, OPT_nolibs)});
	probes_set_classic(h->probes, h->opts.val[OPT_syscallview] == SYSCALLVIEW_CLASSIC);
	h->file_opts.debug_dirs =
		h->opts.str[OPT_debugdir] ? h->opts.str[OPT_debugdir] : DEBUG_DIRS_DEFAULT;
	h->file_opts.limit = (uint64_t)h->opts.val[OPT_elfsize];
	probes_set_files(h->probes, &h->file_opts);
	probes_set_raw(h->probes, !opt_flag(&h->opts, OPT_demangle));
	h->print_opts = (struct print_opts){
		.quiet = opt_flag(&h->opts, OPT_quiet),
		.flowindent = opt_flag(&h->opts, OPT_flowindent),
		.rawbytes = opt_flag(&h->opts, OPT_rawbytes),
		.noresolve = opt_flag(&h->opts, OPT_noresolve),
		.lines = opt_flag(&h->opts, OPT_lines),
		.agghist = opt_flag(&h->opts, OPT_agghist),
		.aggpack = opt_flag(&h->opts, OPT_aggpack),
		.aggzoom = opt_flag(&h->opts, OPT_aggzoom),
		.encoding = encoding_of(h),
		.oformat = (enum print_oformat)h->opts.val[OPT_oformat],
		.stackmerge = (enum print_merge)h->opts.val[OPT_stackmerge],
		.sort =
			{
				.key = opt_flag(&h->opts, OPT_aggsortkey),
				.rev = opt_flag(&h->opts, OPT_aggsortrev),
				.keypos = opt_u32(h, OPT_aggsortkeypos),
				.pos = opt_u32(h, OPT_aggsortpos),
			},
		.printsize = opt_u32(h, OPT_printsize),
		.stackindent = opt_u32(h, OPT_stackindent),
		.target_pid = h->procs.len ? (uint64_t)proc_pid(h->procs.data[0]) : 0,
		.is_testing = getenv("_DTRACE_TESTING") != NULL,
	};
	session_refresh_syms(h);
}

/* ---- what the compiler asks ----------------------------------------------------------------- */

static struct err *env_match(void *ctx, const struct probe_desc *desc, uint32_t *ret_count)
{
	dtrace_hdl_t *h = ctx;
	struct probe **probes;

	return probes_match(h->probes, desc, &probes, ret_count);
}

/* The attributes of the provider that a description names, whether it has such probes or not. */
static bool named_attrs(const struct probe_desc *desc, struct attr *ret)
{
	for (uint32_t i = 0; *desc->prov && !strpbrk(desc->prov, "*?[") && provider_list[i]; i++)
		if (provider_concerns(provider_list[i], desc)) {
			memcpy(ret, provider_list[i]->attr, sizeof(provider_list[i]->attr));
			return true;
		}
	return false;
}

static bool env_attrs(void *ctx, const struct probe_desc *desc, struct attr *ret)
{
	return named_attrs(desc, ret) || session_desc_attrs(ctx, desc, ret);
}

static void env_named(void *ctx, const struct probe_desc *desc)
{
	probes_name(((dtrace_hdl_t *)ctx)->probes, desc);
}

static const char *env_hint(void *ctx, const struct probe_desc *desc)
{
	return probes_hint(((dtrace_hdl_t *)ctx)->probes, desc);
}

static bool same_types(const char *const *a, const char *const *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(a[i], b[i]) != 0)
			return false;
	return true;
}

bool session_same_args(dtrace_hdl_t *h, const struct probe *a, const struct probe *b)
{
	const char *const *of_a = NULL, *const *of_b = NULL;
	uint32_t na = a->provider->arg_types ? a->provider->arg_types(h->probes, a, &of_a) : 0;
	uint32_t nb = b->provider->arg_types ? b->provider->arg_types(h->probes, b, &of_b) : 0;

	return na == nb && same_types(of_a, of_b, na);
}

static int env_arg_types(void *ctx, const struct probe_desc *desc, const char *const **ret_types)
{
	dtrace_hdl_t *h = ctx;
	const char *const *first = NULL;
	uint32_t nfirst = 0, n;
	struct probe **probes;
	struct err *e = probes_match(h->probes, desc, &probes, &n);

	*ret_types = NULL;
	if (e) {
		err_destroy(e); /* match() has told */
		return 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct provider *pv = probes[i]->provider;
		const char *const *types = NULL;
		uint32_t ntypes = pv->arg_types ? pv->arg_types(h->probes, probes[i], &types) : 0;

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

static type_id env_arg_type(void *ctx, const struct probe_desc *desc, uint32_t index,
			    struct types *t, struct argplace *ret_place)
{
	dtrace_hdl_t *h = ctx;
	struct probe **probes;
	uint32_t n;
	struct err *e = probes_match(h->probes, desc, &probes, &n);

	if (e || !n || !probes[0]->provider->arg_type) {
		err_destroy(e); /* match() has told */
		return TYPE_NONE;
	}
	return probes[0]->provider->arg_type(h->probes, probes[0], index, t, ret_place);
}

static const char *env_arg_refused(void *ctx, const struct probe_desc *desc, uint32_t raw)
{
	dtrace_hdl_t *h = ctx;
	struct probe **probes;
	uint32_t n = 0;
	struct err *e = probes_match(h->probes, desc, &probes, &n);
	const char *why = NULL;

	if (e) {
		err_destroy(e); /* match() has told */
		return NULL;
	}
	for (uint32_t i = 0; i < n && !why; i++)
		if (probes[i]->provider->arg_refused)
			why = probes[i]->provider->arg_refused(h->probes, probes[i], raw);
	return why;
}

static void env_declared(void *ctx)
{
	probes_forget(((dtrace_hdl_t *)ctx)->probes);
}

static struct err *env_set_option(void *ctx, const char *name, const char *value)
{
	dtrace_hdl_t *h = ctx;
	struct err *e = options_set(&h->opts, name, value, true);

	if (!e)
		session_refresh_opts(h);
	return e;
}

static int64_t macro_target(const dtrace_hdl_t *h)
{
	return h->procs.len ? proc_pid(h->procs.data[0]) : 0;
}

/*
 * Without a process $target means nothing; scripts that can do without one say so by defaultargs.
 */
static bool target_is_given(const dtrace_hdl_t *h)
{
	return h->procs.len || opt_flag(&h->opts, OPT_defaultargs);
}

/* With several processes $target is one of them, which is easily taken for all. */
static void tell_target(dtrace_hdl_t *h)
{
	if (h->procs.len < 2 || h->is_target_told)
		return;
	h->is_target_told = true;
	report_notice(
		&h->report,
		"$target is process %d, the first of the %u of -c and -p; the provider pid* in a probe description "
		"means all of them",
		(int)macro_target(h), h->procs.len);
}

/* clang-format off */
static int64_t macro_pid(const dtrace_hdl_t *h)  { return getpid(); }
static int64_t macro_ppid(const dtrace_hdl_t *h) { return getppid(); }
static int64_t macro_pgid(const dtrace_hdl_t *h) { return getpgrp(); }
static int64_t macro_sid(const dtrace_hdl_t *h)  { return getsid(0); }
static int64_t macro_uid(const dtrace_hdl_t *h)  { return getuid(); }
static int64_t macro_euid(const dtrace_hdl_t *h) { return geteuid(); }
static int64_t macro_gid(const dtrace_hdl_t *h)  { return getgid(); }
static int64_t macro_egid(const dtrace_hdl_t *h) { return getegid(); }

static const struct {
	const char *name;
	int64_t (*value)(const dtrace_hdl_t *h);
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
				tell_target(ctx);
			return true;
		}
	return false;
}

static bool env_define(void *ctx, const char *name, size_t len)
{
	return library_define(((dtrace_hdl_t *)ctx)->library, name, len);
}

static const char *env_nearest(void *ctx, const char *name)
{
	return library_nearest(((dtrace_hdl_t *)ctx)->library, name);
}

/* A file of the D library. */
static struct err *library_compile(void *ctx, enum d_layer layer, const char *path,
				   const char *text, size_t len)
{
	dtrace_hdl_t *h = ctx;
	struct compile_opts opts = h->compile_opts;
	struct prog *prog;
	struct err *e;

	opts.layer = layer;
	opts.cpp = false;
	opts.dump_ast = opts.dump_dif = false; /* who dumps wants to see his program */
	e = dsession_compile(h->dsession, &opts, &h->compile_env, SOURCE_FILE, path, text, len,
			     SPEC_CTX_NAME, 0, NULL, &prog);
	report_debug(&h->report, "D library file '%s': %s", path,
		     !e				    ? "compiled"
		     : err_get_code(e) == EDT_NOMOD ? "left out"
						    : "failed");
	return e;
}

void session_need_dsession(dtrace_hdl_t *h)
{
	if (h->dsession)
		return;
	h->dsession = dsession_create(&h->compile_opts);
	h->btf_import = btf_import_create(BTF_DIR);
	types_set_importer(dsession_types(h->dsession), btf_import_interface(h->btf_import));
}

void session_env_init(dtrace_hdl_t *h)
{
	h->library = library_create(h->arena, &(struct library_hooks){h, library_compile});
	h->compile_env = (struct compile_env){
		.ctx = h,
		.named = env_named,
		.match = env_match,
		.attrs = env_attrs,
		.hint = env_hint,
		.arg_types = env_arg_types,
		.arg_type = env_arg_type,
		.arg_refused = env_arg_refused,
		.derived = session_derived,
		.declared = env_declared,
		.set_option = env_set_option,
		.macro = env_macro,
		.symbol = session_symbol,
		.define = env_define,
		.nearest = env_nearest,
	};
}

/* ---- compiling ------------------------------------------------------------------------------ */

static const char *crop_name(const char *text, size_t *ret_len)
{
	*ret_len = strcspn(text, "{/;");
	while (*ret_len && strchr(" \t\n", text[*ret_len - 1]))
		--*ret_len;
	return text;
}

static void remember_clauses(dtrace_hdl_t *h, const struct prog *prog)
{
	for (uint32_t i = 0; i < prog->nclauses; i++) {
		struct prog_clause *cl = prog->clauses[i];

		while (h->clauses.len <= cl->index)
			vec_push(&h->clauses, (struct session_clause){0});
		h->clauses.data[cl->index].clause = cl;
	}
}

static dtrace_prog_t *compile(dtrace_hdl_t *h, enum source_kind kind, const char *name,
			      const char *text, size_t len, enum spec_context ctx,
			      unsigned int cflags, int argc, char *const argv[])
{
	struct dtrace_prog *p;
	struct prog *prog;
	struct err *e, *trouble;

	if (h->is_active) {
		report_fail(&h->report,
			    err_code(err_new("Operation illegal when tracing is active"),
				     EDT_ACTIVE));
		return NULL;
	}
	h->cflags = cflags; /* pragmas refresh the options while the compiler runs */
	session_refresh_opts(h);
	session_need_dsession(h);
	e = library_load(h->library);
	if (e) {
		report_fail(&h->report, e);
		return NULL;
	}
	e = dsession_compile(h->dsession, &h->compile_opts, &h->compile_env, kind, name, text, len,
			     ctx, argc, (char **)argv, &prog);
	trouble = library_trouble(h->library);
	if (trouble) {
		err_destroy(e); /* what is wrong with the library comes first */
		e = trouble;
	}
	session_refresh_opts(h);
	if (e) {
		report_fail(&h->report, library_explain(h->library, e));
		return NULL;
	}
	report_debug(&h->report, "%s: %u clauses", *name ? name : "program", prog->nclauses);
	p = xcalloc(1, sizeof(*p));
	p->prog = prog;
	if (kind == SOURCE_STRING)
		text = crop_name(text, &len);
	p->name = kind == SOURCE_STRING ? strndup(text, len) : xstrdup(name);
	if (!p->name)
		oom();
	vec_push(&h->progs, p);
	remember_clauses(h, prog);
	return p;
}

dtrace_prog_t *dtrace_program_strcompile(dtrace_hdl_t *dtp, const char *text,
					 dtrace_probespec_t spec, unsigned int cflags, int argc,
					 char *const argv[])
{
	static const enum spec_context contexts[] = {
		[DTRACE_PROBESPEC_PROVIDER] = SPEC_CTX_PROVIDER,
		[DTRACE_PROBESPEC_MOD] = SPEC_CTX_MODULE,
		[DTRACE_PROBESPEC_FUNC] = SPEC_CTX_FUNCTION,
		[DTRACE_PROBESPEC_NAME] = SPEC_CTX_NAME,
	};
	enum spec_context ctx = spec == DTRACE_PROBESPEC_NONE ? SPEC_CTX_NAME : contexts[spec];

	return compile(dtp, SOURCE_STRING, "", text, strlen(text), ctx, cflags, argc, argv);
}

static struct err *read_all(FILE *fp, struct strbuf *out)
{
	char buf[16384];
	size_t n;

	while ((n = fread(buf, 1, sizeof(buf), fp)) > 0) {
		strbuf_add(out, buf, n);
		if (out->len > SOURCE_MAX)
			return err_code(err_new("script is longer than %u bytes", SOURCE_MAX),
					EDT_FIO);
	}
	if (ferror(fp))
		return err_code(err_sys(errno, "Error occurred while reading from input stream"),
				EDT_FIO);
	return NULL;
}

dtrace_prog_t *dtrace_program_fcompile(dtrace_hdl_t *dtp, FILE *fp, const char *name,
				       unsigned int cflags, int argc, char *const argv[])
{
	struct strbuf text = {0};
	struct err *e = read_all(fp, &text);
	dtrace_prog_t *p = NULL;

	if (e)
		report_fail(&dtp->report, e);
	else
		p = compile(dtp, SOURCE_FILE, name, strbuf_text(&text), text.len, SPEC_CTX_NAME,
			    cflags, argc, argv);
	strbuf_deinit(&text);
	return p;
}

/* ---- information ---------------------------------------------------------------------------- */

/* A clause that is not derived runs for those that hang on places themselves. */
static uint32_t nplain(struct probe *const *probes, uint32_t n)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < n; i++)
		count += !probes[i]->provider->is_derived;
	return count;
}

static struct err *prog_info(dtrace_hdl_t *h, struct dtrace_prog *p)
{
	p->info = (dtrace_proginfo_t){.dpi_statements = p->prog->nclauses};
	for (uint32_t i = 0; i < p->prog->nclauses; i++) {
		const struct prog_clause *cl = p->prog->clauses[i];
		struct probe **probes;
		uint32_t n;
		struct err *e = probes_match(h->probes, &cl->desc, &probes, &n);

		if (e)
			return e;
		p->info.dpi_matches += cl->derived ? !cl->is_again : nplain(probes, n);
		for (uint32_t j = 0; j < cl->nacts; j++) {
			p->info.dpi_recgens += act_is_recording(cl->acts[j].kind);
			p->info.dpi_aggregates += cl->acts[j].kind == ACT_AGG;
		}
	}
	return NULL;
}

void dtrace_program_info(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, dtrace_proginfo_t *info)
{
	struct err *e = prog_info(dtp, pgp);

	if (e)
		report_fail(&dtp->report, e);
	if (info)
		*info = pgp->info;
}

int dtrace_program_exec(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, dtrace_proginfo_t *info)
{
	struct err *e;

	if (dtp->is_active)
		return report_fail(&dtp->report,
				   err_code(err_new("Operation illegal when tracing is active"),
					    EDT_ACTIVE));
	e = prog_info(dtp, pgp);
	if (e)
		return report_fail(&dtp->report, e);
	pgp->is_enabled = true;
	if (info)
		*info = pgp->info;
	return 0;
}

static dtrace_probedesc_t public_desc(const struct probe_desc *d)
{
	return (dtrace_probedesc_t){d->id, d->prov, d->mod, d->func, d->name};
}

int dtrace_desc_iter(dtrace_hdl_t *dtp, dtrace_prog_t *pgp, dtrace_desc_f *func, void *arg)
{
	for (uint32_t i = 0; i < pgp->prog->nclauses; i++) {
		dtrace_probedesc_t pd = public_desc(&pgp->prog->clauses[i]->desc);
		int rv = pgp->prog->clauses[i]->is_again ? 0 : func(dtp, &pd, arg);

		if (rv)
			return rv;
	}
	return 0;
}

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

int dtrace_probe_iter(dtrace_hdl_t *dtp, const dtrace_probedesc_t *pdp, dtrace_probe_f *func,
		      void *arg)
{
	struct probe_desc desc = {"", "", "", "", 0};
	struct probe **probes;
	uint32_t n;
	struct err *e;

	if (pdp)
		desc = (struct probe_desc){or_empty(pdp->dtpd_provider), or_empty(pdp->dtpd_mod),
					   or_empty(pdp->dtpd_func), or_empty(pdp->dtpd_name),
					   pdp->dtpd_id};
	e = probes_match(dtp->probes, &desc, &probes, &n);
	if (e)
		return report_fail(&dtp->report, e);
	for (uint32_t i = 0; i < n; i++) {
		const struct probe *pr = probes[i];
		dtrace_probedesc_t pd = {pr->id, pr->prov, pr->mod,
					 probe_func_shown(dtp->probes, pr), pr->name};
		int rv = func(dtp, &pd, arg);

		if (rv)
			return rv;
	}
	return 0;
}

char *dtrace_desc2str(const dtrace_probedesc_t *pdp, char *buf, size_t len)
{
	if (pdp->dtpd_id && !*or_empty(pdp->dtpd_name))
		(void)snprintf(buf, len, "%u", pdp->dtpd_id);
	else
		(void)snprintf(buf, len, "%s:%s:%s:%s", or_empty(pdp->dtpd_provider),
			       or_empty(pdp->dtpd_mod), or_empty(pdp->dtpd_func),
			       or_empty(pdp->dtpd_name));
	return buf;
}

/* ---- processes ------------------------------------------------------------------------------ */

static void add_process(dtrace_hdl_t *h, struct proc *p)
{
	vec_push(&h->procs, p);
	probes_add_process(h->probes, proc_pid(p));
}

int dtrace_proc_create(dtrace_hdl_t *dtp, const char *cmd)
{
	struct proc *p;
	struct err *e = proc_create(cmd, dtp->opts.envs.data, dtp->opts.envs.len, &p);

	if (e)
		return report_fail(&dtp->report, e);
	add_process(dtp, p);
	probes_set_created(dtp->probes, proc_pid(p));
	return 0;
}

int dtrace_proc_grab(dtrace_hdl_t *dtp, pid_t pid)
{
	struct proc *p;
	struct err *e = proc_grab(pid, &p);

	if (e)
		return report_fail(&dtp->report, e);
	add_process(dtp, p);
	return 0;
}

int dtrace_proc_continue(dtrace_hdl_t *dtp)
{
	for (uint32_t i = 0; i < dtp->procs.len; i++) {
		struct err *e = proc_continue(dtp->procs.data[i]);

		if (e)
			return report_fail(&dtp->report, e);
	}
	return 0;
}
