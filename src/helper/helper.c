/* SPDX-License-Identifier: MIT */
/* Reads, compiles and checks the files of ustack helpers. */
#include "helper/helper.h"

#include <errno.h>
#include <fnmatch.h>
#include <unistd.h>

#include "base/str.h"
#include "d/compile.h"
#include "d/parse/parse.h"
#include "d/text/source.h"
#include "dtrace.h"
#include "record/format.h"
#include "usdt/dof_prog.h"
#include "helper/hcode.h"

static const char *const probe_names[] = {
	[HELPER_ATTACH] = "attach",
	[HELPER_UTHREAD] = "uthread",
	[HELPER_USTACK] = "ustack",
	[HELPER_VALUE] = "value",
	[HELPER_TYPE] = "type",
	[HELPER_LOCALS] = "locals",
	[HELPER_RAW] = "raw",
	[HELPER_HEAP] = "heap",
	[HELPER_CLASS] = "class",
	[HELPER_CLOSURE] = "closure",
	[HELPER_SHAPE] = "shape",
	[HELPER_FUNCTION] = "function",
	[HELPER_CONSTRUCTOR] = "constructor",
	[HELPER_BYTES] = "bytes",
	[HELPER_TASKS] = "tasks",
	[HELPER_TASK] = "task",
	[HELPER_BACKTRACE] = "backtrace",
	[HELPER_FIBER] = "fiber",
	[HELPER_HANDLES] = "handles",
	[HELPER_THREAD] = "thread",
	[HELPER_OWNER] = "owner",
	[HELPER_CONTEXT] = "context",
	[HELPER_SITE] = "site",
};

/* ---- the file -------------------------------------------------------------------------------- */

static struct err *file_read(const char *path, struct strbuf *out)
{
	CLEANUP(file) FILE *f = fopen(path, "re");
	char buf[16384];
	size_t n;

	if (!f)
		return err_sys(errno, "cannot read the ustack helper '%s'", path);
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0) {
		strbuf_add(out, buf, n);
		if (out->len > SOURCE_MAX)
			return err_new("the ustack helper '%s' is longer than %u bytes", path,
				       SOURCE_MAX);
	}
	return ferror(f) ? err_sys(errno, "cannot read the ustack helper '%s'", path) : NULL;
}

/* Notes the first of each pragma. */
static void fact_note(void *ctx, const char *fact, const char *value)
{
	struct helper *h = ctx;

	if (strcmp(fact, "generated") == 0) {
		h->is_generated = true;
		return;
	}

	char **to = strcmp(fact, "exec") == 0	  ? &h->patterns
		    : strcmp(fact, "symbol") == 0 ? &h->symbols
		    : strcmp(fact, "fixed") == 0  ? &h->fixed_if
						  : &h->saves_if;

	h->saves |= to == &h->saves_if;
	if (value && !*to)
		*to = xstrdup(value);
}

static void facts_read(struct helper *h)
{
	const struct parse_env env = {.ctx = h, .helper = fact_note};
	struct arena *a = arena_create();

	parse_helper_facts(a, h->text, strlen(h->text), &env);
	arena_destroy(a);
	if (h->symbols && !h->patterns)
		h->patterns = xstrdup(""); /* files of no name */
}

struct err *helper_open(const char *path, struct helper **ret)
{
	struct strbuf text = {0};
	struct err *e = file_read(path, &text);
	struct helper *h;

	if (!e) {
		h = xcalloc(1, sizeof(*h));
		h->path = xstrdup(path);
		h->text = xstrdup(strbuf_text(&text));
		facts_read(h);
		*ret = h;
	}
	strbuf_deinit(&text);
	return e;
}

void helper_close(struct helper *h)
{
	if (!h)
		return;
	dsession_destroy(h->dsession);
	arena_destroy(h->arena);
	err_destroy(h->err);
	free(h->patterns);
	free(h->symbols);
	free(h->saves_if);
	free(h->fixed_if);
	free(h->text);
	free(h->path);
	free(h);
}

bool helper_is_same(const struct helper *a, const struct helper *b)
{
	return strcmp(basename(a->path), basename(b->path)) == 0 || strcmp(a->text, b->text) == 0;
}

bool helper_matches(const struct helper *h, const char *name)
{
	CLEANUP(free) char *copy = h->patterns ? xstrdup(h->patterns) : NULL;
	char *save = NULL;

	if (!copy)
		return true;
	for (char *p = strtok_r(copy, "|", &save); p; p = strtok_r(NULL, "|", &save))
		if (fnmatch(p, name, 0) == 0)
			return true;
	return false;
}

/* Adds a name; with '*' as its last character all that begin so. */
static void name_add(const struct helper *h, const char *name, struct rt_control *control)
{
	size_t len = strcspn(name, "*");
	struct rt_name *n;

	if (!len || control->nnames == RT_NAMES)
		return;
	n = &control->names[control->nnames];
	len = MIN(len, sizeof(n->text) - 1);
	memset(n, 0, sizeof(*n));
	memcpy(n->text, name, len);
	memset(n->mask, 0xff, name[len] == '*' ? len : len + 1);
	if (h->is_generated)
		control->generated |= 1ull << control->nnames;
	control->nnames++;
}

void helper_add_names(const struct helper *h, struct rt_control *control)
{
	CLEANUP(free) char *copy = h->patterns ? xstrdup(h->patterns) : NULL;
	char *save = NULL;

	for (char *p = copy ? strtok_r(copy, "|", &save) : NULL; p;
	     p = strtok_r(NULL, "|", &save)) {
		size_t n = strcspn(p, "*?[\\");

		if (p[n]) {
			p[n] = '*';
			p[n + 1] = '\0';
		}
		name_add(h, p, control);
	}
}

/* ---- compiling ------------------------------------------------------------------------------- */

static bool desc_is(const struct probe_desc *d, const char *func)
{
	return strcmp(d->prov, "dtrace") == 0 && strcmp(d->mod, "helper") == 0 &&
	       strcmp(d->func, func) == 0 && !*d->name && !d->id;
}

static struct err *helper_match(void *ctx, const struct probe_desc *d, uint32_t *ret_count)
{
	for (size_t i = 0; i <= HELPER_USTACK; i++) {
		if (desc_is(d, probe_names[i])) {
			*ret_count = 1;
			return NULL;
		}
	}
	return err_hint(err_new("a helper has clauses on dtrace:helper:ustack: only"),
			"dtrace:helper:attach: and dtrace:helper:uthread: are the other probes of "
			"helpers");
}

static struct err *values_match(void *ctx, const struct probe_desc *d, uint32_t *ret_count)
{
	for (size_t i = HELPER_VALUE; i < ARRAY_LEN(probe_names); i++)
		if (desc_is(d, probe_names[i]))
			*ret_count = 1;
	if (desc_is(d, probe_names[HELPER_ATTACH]))
		*ret_count = 1;
	return *ret_count ? NULL
			  : err_new("a file of values has clauses on dtrace:helper:value:, type, "
				    "raw, closure, locals, function, constructor, bytes, fiber, "
				    "handles, heap, class, shape and attach");
}

static struct err *helper_option(void *ctx, const char *name, const char *value)
{
	return err_new("a ustack helper sets no options");
}

enum helper_probe helper_clause_probe(const struct prog_clause *cl)
{
	for (size_t i = 0; i < ARRAY_LEN(probe_names); i++)
		if (strcmp(cl->desc.func, probe_names[i]) == 0)
			return (enum helper_probe)i;
	return HELPER_USTACK;
}

static void clauses_note(struct helper *h)
{
	for (uint32_t i = 0; i < h->prog->nclauses; i++)
		h->has_attach |= helper_clause_probe(h->prog->clauses[i]) == HELPER_ATTACH;
}

static struct err *text_compile(struct helper *h, const struct compile_opts *opts,
				enum d_layer layer, const char *path, struct strbuf *text,
				const struct prog **ret)
{
	const struct compile_env env = {.match = ret == &h->values ? values_match : helper_match,
					.set_option = helper_option};
	struct compile_opts own = *opts;
	struct prog *prog = NULL;
	struct err *e;

	own.layer = layer;
	e = dsession_compile(h->dsession, &own, &env, SOURCE_FILE, path, strbuf_text(text),
			     text->len, SPEC_CTX_NAME, 0, NULL, &prog);
	*ret = prog;
	h->vars = dsession_vars(h->dsession);
	return e;
}

/* Compiles a file of names for helpers; without it they have none of these. */
static struct err *prelude_compile(struct helper *h, const struct compile_opts *opts,
				   const char *path)
{
	struct compile_opts own = *opts;
	struct strbuf text = {0};
	struct err *e = file_read(path, &text);
	bool is_there = !e;

	err_destroy(e);
	own.cpp = false;
	e = is_there ? text_compile(h, &own, LAYER_SYSTEM, path, &text, &h->prog) : NULL;
	strbuf_deinit(&text);
	return e;
}

/*
 * Defines the names that say what the session wants of helpers; a clause that is not wanted is
 * not compiled (compile_opts.skips_excluded).
 */
static struct err *wants_compile(struct helper *h, const struct compile_opts *opts)
{
	struct compile_opts own = *opts;
	struct strbuf text = {0};
	struct err *e;

	own.cpp = false;
	strbuf_addf(&text, "inline int WANTS_ASYNC = %d;\n", opts->jstackasync);
	e = text_compile(h, &own, LAYER_SYSTEM, "options", &text, &h->prog);
	strbuf_deinit(&text);
	return e;
}

struct err *helper_compile_values(struct helper *h, const struct compile_opts *opts)
{
	const char *name = basename(h->path);
	struct compile_opts own = *opts;
	struct strbuf path = {0}, text = {0};
	struct err *e = NULL;

	own.cpp = own.zdefs = own.empty = own.dump_ast = own.dump_dif = false;
	own.is_helper = own.skips_excluded = own.shares_locals = true;
	strbuf_add(&path, h->path, (size_t)(name - h->path));
	strbuf_addf(&path, "values/%s", name);
	if (!h->values && h->dsession && access(strbuf_text(&path), F_OK) == 0)
		e = file_read(strbuf_text(&path), &text);
	if (!e && text.len)
		e = text_compile(h, &own, LAYER_PROGRAM, strbuf_text(&path), &text, &h->values);
	strbuf_deinit(&path);
	strbuf_deinit(&text);
	return e;
}

bool helper_compile(struct helper *h, const struct compile_opts *opts, const char *const preludes[])
{
	struct compile_opts own = *opts;
	struct strbuf text = {0};

	if (h->prog || h->err)
		return !h->err;
	strbuf_adds(&text, h->text);
	own.cpp &= h->is_named;
	own.zdefs = own.empty = own.dump_ast = own.dump_dif = false;
	own.is_helper = own.skips_excluded = true;
	h->dsession = dsession_create(&own);
	for (; !h->err && preludes && *preludes; preludes++)
		h->err = prelude_compile(h, &own, *preludes);
	if (!h->err)
		h->err = wants_compile(h, &own);
	if (!h->err)
		h->err = text_compile(h, &own, LAYER_PROGRAM, h->path, &text, &h->prog);
	if (!h->err)
		clauses_note(h);
	strbuf_deinit(&text);
	return !h->err;
}

/* ---- what programs carry --------------------------------------------------------------------- */

struct helper *helper_carried(const char *path, const struct dof_prog *p, struct arena *a)
{
	struct helper *h = xcalloc(1, sizeof(*h));
	struct strbuf name = {0};

	if (p->file)
		strbuf_addf(&name, "%s in ", p->file);
	strbuf_adds(&name, path);
	h->path = xstrdup(strbuf_text(&name));
	h->prog = &p->prog;
	h->vars = &p->vars;
	h->arena = a;
	h->is_foreign = h->is_checked = true;
	clauses_note(h);
	strbuf_deinit(&name);
	return h;
}

bool helper_is_clause(const struct prog_clause *cl)
{
	for (size_t i = 0; i <= HELPER_USTACK; i++)
		if (desc_is(&cl->desc, probe_names[i]))
			return true;
	return false;
}

struct err *helper_check_carried(const struct dof_prog *p)
{
	struct helper *h = helper_carried("", p, NULL);
	struct hcode code;
	struct err *e;

	free(h->path);
	h->path = xstrdup(p->file ? p->file : "");
	e = hcode_make(&h, 1, 0, &code);
	hcode_deinit(&code);
	helper_close(h);
	return e;
}

void helper_location(const struct helper *h, uint32_t span, struct strbuf *out)
{
	struct source_loc loc;

	if (h->dsession) {
		loc = source_locate(dsession_sources(h->dsession), span);
		strbuf_addf(out, "%s:%u", loc.file, loc.line);
	} else {
		strbuf_addf(out, "%s:%u", h->path, span);
	}
}
