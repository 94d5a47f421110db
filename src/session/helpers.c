/* Compiles and checks ustack helpers, and numbers their variables. */
#include "session/helpers.h"

#include <errno.h>
#include <fcntl.h>

#include "base/arena.h"
#include "base/str.h"
#include "d/compile.h"
#include "d/source.h"
#include "dtrace.h"

#define VAR_ID_MAX 0xffffu /* an instruction has 16 bits for it */

struct helpers {
	struct dsession *dsession;
	struct arena *arena;
	struct prog *prog;
	struct prog_vars all; /* of scripts and helpers */
};

/* ---- what a helper may do (d-language.md 12.3) ----------------------------------------------- */

static const uint32_t allowed_vars[] = {
	DIF_VAR_CURTHREAD, DIF_VAR_PID,	     DIF_VAR_PPID, DIF_VAR_TID,
	DIF_VAR_EXECNAME,  DIF_VAR_EXECARGS, DIF_VAR_UID,  DIF_VAR_GID,
};

/* strtok() is not allowed: it would change the state of the clause that records the stack. */
static const uint32_t allowed_subrs[] = {
	DIF_SUBR_ALLOCA,  DIF_SUBR_BASENAME,  DIF_SUBR_BCOPY,	   DIF_SUBR_CLEANPATH,
	DIF_SUBR_COPYIN,  DIF_SUBR_COPYINSTR, DIF_SUBR_COPYINTO,   DIF_SUBR_DIRNAME,
	DIF_SUBR_HTONL,	  DIF_SUBR_HTONLL,    DIF_SUBR_HTONS,	   DIF_SUBR_INDEX,
	DIF_SUBR_RINDEX,  DIF_SUBR_INET_NTOA, DIF_SUBR_INET_NTOA6, DIF_SUBR_INET_NTOP,
	DIF_SUBR_JSON,	  DIF_SUBR_LLTOSTR,   DIF_SUBR_MEMREF,	   DIF_SUBR_MEMSTR,
	DIF_SUBR_NTOHL,	  DIF_SUBR_NTOHLL,    DIF_SUBR_NTOHS,	   DIF_SUBR_STRCHR,
	DIF_SUBR_STRJOIN, DIF_SUBR_STRLEN,    DIF_SUBR_STRRCHR,	   DIF_SUBR_STRSTR,
	DIF_SUBR_STRTOLL, DIF_SUBR_SUBSTR,    DIF_SUBR_TOLOWER,	   DIF_SUBR_TOUPPER,
};

static bool is_among(uint32_t id, const uint32_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == id)
			return true;
	return false;
}

static bool var_is_allowed(uint32_t id)
{
	return id >= DIF_VAR_USER || (id >= DIF_VAR_ARG0 && id <= DIF_VAR_ARG9) ||
	       is_among(id, allowed_vars, ARRAY_LEN(allowed_vars));
}

/* Names the thing that the instruction does and no helper may do; NULL: it is allowed. */
static const char *insn_refused(struct arena *a, dif_insn insn)
{
	enum dif_op op = DIF_INSN_OP(insn);
	uint32_t id = DIF_INSN_INDEX(insn);

	if (op == DIF_OP_LDTS || op == DIF_OP_STTS || op == DIF_OP_LDTAA || op == DIF_OP_STTAA)
		return "thread-local variables";
	if (op == DIF_OP_LDGAA || op == DIF_OP_STGAA)
		return "associative arrays";
	if (op == DIF_OP_LDGA || op == DIF_OP_LDTA)
		return "args[] and uregs[]";
	if (op == DIF_OP_LDGS && !var_is_allowed(id))
		return arena_printf(a, "'%s'", dif_builtin_name(id));
	if (op == DIF_OP_CALL && !is_among(id, allowed_subrs, ARRAY_LEN(allowed_subrs)))
		return arena_printf(a, "%s()", dif_subr_name(id));
	return NULL;
}

static const char *difo_refused(struct arena *a, const struct difo *d)
{
	const char *what = NULL;

	for (uint32_t i = 0; d && i < d->code_len && !what; i++)
		what = insn_refused(a, d->code[i]);
	return what;
}

static const char *act_refused(struct arena *a, const struct prog_act *act)
{
	if (act->kind == ACT_AGG)
		return "aggregations";
	return act->kind == ACT_EXPR ? difo_refused(a, act->args[0])
				     : "actions that are no expressions";
}

static struct err *clause_check(struct helpers *hs, const struct prog_clause *cl)
{
	const char *what = difo_refused(hs->arena, cl->pred);
	uint32_t span = cl->span;
	struct source_loc loc;

	for (uint32_t i = 0; i < cl->nacts && !what; i++) {
		what = act_refused(hs->arena, &cl->acts[i]);
		span = cl->acts[i].span;
	}
	if (!what && !cl->nacts)
		what = "clauses without a value";
	if (!what)
		return NULL;
	loc = source_locate(dsession_sources(hs->dsession), span);
	return err_code(err_hint(err_new("%s:%u: a ustack helper may not use %s", loc.file,
					 loc.line, what),
				 "a clause of dtrace:helper:ustack: computes one string from arg0, "
				 "the address of the frame, and arg1, its frame pointer"),
			EDT_COMPILER);
}

/* ---- compiling ------------------------------------------------------------------------------- */

static struct err *helper_match(void *ctx, const struct probe_desc *d, uint32_t *ret_count)
{
	bool is_helper = strcmp(d->prov, "dtrace") == 0 && strcmp(d->mod, "helper") == 0 &&
			 strcmp(d->func, "ustack") == 0 && !*d->name && !d->id;

	if (!is_helper)
		return err_new("a helper has clauses on dtrace:helper:ustack: only");
	*ret_count = 1;
	return NULL;
}

static struct err *helper_option(void *ctx, const char *name, const char *value)
{
	return err_new("a ustack helper sets no options");
}

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

static struct err *helpers_compile(struct helpers *hs, const char *path,
				   const struct compile_opts *opts)
{
	const struct compile_env env = {.match = helper_match, .set_option = helper_option};
	struct compile_opts own = *opts;
	struct strbuf text = {0};
	struct err *e = file_read(path, &text);

	own.cpp = own.zdefs = own.empty = own.dump_ast = own.dump_dif = false;
	hs->dsession = dsession_create(&own);
	if (!e)
		e = dsession_compile(hs->dsession, &own, &env, SOURCE_FILE, path,
				     strbuf_text(&text), text.len, SPEC_CTX_NAME, 0, NULL,
				     &hs->prog);
	for (uint32_t i = 0; !e && i < hs->prog->nclauses; i++)
		e = clause_check(hs, hs->prog->clauses[i]);
	strbuf_deinit(&text);
	return e;
}

struct err *helpers_create(const char *path, const struct compile_opts *opts, struct helpers **ret)
{
	struct helpers *hs = xcalloc(1, sizeof(*hs));
	struct err *e;

	hs->arena = arena_create();
	e = helpers_compile(hs, path, opts);
	if (e) {
		helpers_destroy(hs);
		return e;
	}
	*ret = hs;
	return NULL;
}

void helpers_destroy(struct helpers *hs)
{
	if (!hs)
		return;
	dsession_destroy(hs->dsession);
	arena_destroy(hs->arena);
	free(hs);
}

/* ---- numbers of variables -------------------------------------------------------------------- */

static bool names_variable(dif_insn insn)
{
	enum dif_op op = DIF_INSN_OP(insn);

	return (op == DIF_OP_LDGS || op == DIF_OP_STGS || op == DIF_OP_LDLS || op == DIF_OP_STLS) &&
	       DIF_INSN_INDEX(insn) >= DIF_VAR_USER;
}

/* Renumbers variables. Positions in the text are cleared: they belong to another session. */
static void difo_renumber(struct difo *d, uint32_t by)
{
	for (uint32_t i = 0; d && i < d->code_len; i++) {
		dif_insn in = d->code[i];

		if (names_variable(in))
			d->code[i] =
				dif_idx(DIF_INSN_OP(in), DIF_INSN_INDEX(in) + by, DIF_INSN_RD(in));
	}
	for (uint32_t i = 0; d && i < d->vars_len; i++)
		if (d->vars[i].id >= DIF_VAR_USER)
			d->vars[i].id += by;
	if (d)
		d->spans = NULL;
}

static uint32_t next_id(const struct prog_vars *vars)
{
	uint32_t next = DIF_VAR_USER;

	for (uint32_t i = 0; i < vars->len; i++)
		next = MAX(next, vars->vars[i]->id + 1);
	return next;
}

static void vars_join(struct helpers *hs, const struct prog_vars *scripts,
		      const struct prog_vars *own, uint32_t by)
{
	hs->all.len = scripts->len + own->len;
	hs->all.vars = ARENA_NEW_N(hs->arena, struct prog_var *, MAX(hs->all.len, 1u));
	for (uint32_t i = 0; i < scripts->len; i++)
		hs->all.vars[i] = scripts->vars[i];
	for (uint32_t i = 0; i < own->len; i++) {
		own->vars[i]->id += by;
		hs->all.vars[scripts->len + i] = own->vars[i];
	}
}

struct err *helpers_number(struct helpers *hs, const struct prog_vars *scripts,
			   const struct prog_vars **ret)
{
	const struct prog_vars *own;
	uint32_t by;

	*ret = scripts;
	if (!hs)
		return NULL;
	own = dsession_vars(hs->dsession);
	by = next_id(scripts) - DIF_VAR_USER;
	if (next_id(own) + by > VAR_ID_MAX)
		return err_new("scripts and ustack helpers have more than %u variables",
			       VAR_ID_MAX - DIF_VAR_USER);
	for (uint32_t i = 0; i < hs->prog->nclauses; i++) {
		struct prog_clause *cl = hs->prog->clauses[i];

		difo_renumber(cl->pred, by);
		for (uint32_t j = 0; j < cl->nacts; j++)
			for (uint32_t k = 0; k < cl->acts[j].nargs; k++)
				difo_renumber(cl->acts[j].args[k], by);
	}
	vars_join(hs, scripts, own, by);
	*ret = &hs->all;
	return NULL;
}

struct prog_clause *const *helpers_clauses(const struct helpers *hs, uint32_t *ret_n)
{
	*ret_n = hs ? hs->prog->nclauses : 0;
	return hs ? hs->prog->clauses : NULL;
}
