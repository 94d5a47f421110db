/* SPDX-License-Identifier: MIT */
/*
 * Levels of privilege: refuses probes, variables and calls for which the session lacks one, by the
 * table in privilege/needs.def.
 *
 * This gives early messages with a place. What a clause must not read although nothing here has
 * refused it (an address that it has calculated) faults when it is read: rt_readable(). Which
 * probes a pattern means is checked when it is matched (session/match).
 *
 * Files of the library are compiled unchecked; their names are checked where the program uses them.
 * The guards and arguments of a library's probe that the session may use are trusted, and so are
 * ustack helpers, of which such a session has the system's only (session/live/stacks.c).
 */
#include <fnmatch.h>

#include "d/check/check_impl.h"
#include "privilege/needs.h"

static bool is_checked(const struct check *c)
{
	return c->opts->privileges && c->opts->layer == LAYER_PROGRAM && !c->ntrusted && !c->nown &&
	       !c->opts->is_helper;
}

/* Reports that `what` needs a level; why: a hint, or NULL. Returns false. */
static bool fail_level(struct check *c, struct span at, const char *what, uint32_t level,
		       const char *why)
{
	char have[LEVELS_TEXT_MAX];

	check_error(c, D_UNKNOWN, at, "%s needs %s; this session has %s", what,
		    level_word((enum privilege_level)level),
		    levels_text(c->opts->privileges->levels, have));
	diag_hint(c->diags, "%s", why ? why : "dtrace-levels(7) says what each level sees");
	return false;
}

/* ---- where a clause runs --------------------------------------------------------------------- */

static bool may_be_provider(const struct probe_desc *d, const char *name)
{
	return d->id || !*d->prov || fnmatch(d->prov, name, 0) == 0;
}

static bool is_pattern(const char *text)
{
	return !*text || strpbrk(text, "*?[\\");
}

/* Whether a probe of the description may be a timer that fires at whichever task. */
static bool may_be_tick(const struct probe_desc *d)
{
	if (!may_be_provider(d, "profile"))
		return false;
	if (d->id || is_pattern(d->name))
		return strncmp(d->name, "profile-", strlen("profile-")) != 0;
	return strncmp(d->name, "tick-", strlen("tick-")) == 0;
}

static bool may_be_begin_end(const struct probe_desc *d)
{
	return may_be_provider(d, "dtrace") &&
	       (d->id || !*d->name || fnmatch(d->name, "BEGIN", 0) == 0 ||
		fnmatch(d->name, "END", 0) == 0);
}

/* Whether it may be ERROR, which fires wherever a clause of the session has failed. */
static bool may_be_error(const struct probe_desc *d)
{
	return may_be_provider(d, "dtrace") &&
	       (d->id || !*d->name || fnmatch(d->name, "ERROR", 0) == 0);
}

/*
 * The probes at which the clause runs: of a declared probe, the innermost source, whatever the
 * clause calls it. NULL: no clause is checked.
 */
static const struct probe_desc *place_desc(const struct check *c)
{
	return c->source ? c->source : c->desc;
}

/* Refuses what tells of the current task where that may be anybody's. */
static bool check_task(struct check *c, struct span at, const char *what)
{
	const struct probe_desc *d = place_desc(c);

	c->uses_task = true;
	if (!is_checked(c) || !d || !privileges_lack(c->opts->privileges, LEVEL_PROC_OWNER))
		return true;
	if (!may_be_tick(d) && !may_be_error(d))
		return true;
	return fail_level(c, at,
			  arena_printf(c->arena, "%s in %s", what,
				       may_be_tick(d) ? "a clause of tick" : "a clause of ERROR"),
			  LEVEL_PROC_OWNER,
			  "such a clause runs in whatever task has the CPU, which may be another "
			  "user's: use profile-N, or keep the value in a variable");
}

/* Refuses what reads or writes the memory of dtrace, which has rights that its user lacks. */
static bool check_memory(struct check *c, struct span at, const char *what)
{
	const struct probe_desc *d = place_desc(c);

	if (!d || !privileges_lack(c->opts->privileges, LEVEL_PROC_OWNER) || !may_be_begin_end(d))
		return true;
	return fail_level(c, at, arena_printf(c->arena, "%s in a clause of BEGIN or END", what),
			  LEVEL_PROC_OWNER, "there the process is dtrace itself");
}

/* ---- variables and calls --------------------------------------------------------------------- */

/* The number of a raw argument; -1: it is another variable. */
static int arg_number(const char *name)
{
	return strncmp(name, "arg", 3) == 0 && name[3] >= '0' && name[3] <= '9' && !name[4]
		       ? name[3] - '0'
		       : -1;
}

/* An argument of a declared probe: its expression is checked where it stands for the argument. */
static bool is_declared_arg(const struct check *c, const char *name)
{
	return c->derived && (arg_number(name) >= 0 || strcmp(name, "args") == 0);
}

/* Whether the variable tells of the task there: arguments of ERROR are about the fault. */
static bool is_about_task(const struct check *c, const struct need *need, const char *name)
{
	const struct probe_desc *d = place_desc(c);

	return need->is_about_task && !is_declared_arg(c, name) &&
	       !(arg_number(name) >= 0 && d && may_be_error(d) && !may_be_tick(d));
}

/* arg0 of profile is an address of the kernel. */
static bool check_profile_arg(struct check *c, struct span at, const char *name)
{
	const struct probe_desc *d = place_desc(c);

	if (!d || is_declared_arg(c, name) || arg_number(name) != 0)
		return true;
	if (!may_be_provider(d, "profile") ||
	    (!d->id && !is_pattern(d->name) && strchr(d->name, '-') == NULL))
		return true;
	return fail_level(c, at, "arg0 of profile, an address of the kernel,", LEVEL_KERNEL,
			  "arg1 is the address in the process");
}

bool privilege_check_variable(struct check *c, const char *name, struct span at)
{
	struct need need = need_of_variable(name);

	if (is_checked(c) && privileges_lack(c->opts->privileges, need.level))
		return fail_level(c, at, name, need.level, NULL);
	if (is_about_task(c, &need, name) && !check_task(c, at, name))
		return false;
	if (!is_checked(c))
		return true;
	if (need.is_about_memory && !check_memory(c, at, name))
		return false;
	return !privileges_lack(c->opts->privileges, LEVEL_KERNEL) ||
	       check_profile_arg(c, at, name);
}

bool privilege_check_call(struct check *c, const char *name, struct span at)
{
	struct need need = need_of_call(name);
	const char *what = arena_printf(c->arena, "%s( )", name);

	if (is_checked(c) && need.level && privileges_lack(c->opts->privileges, need.level))
		return fail_level(c, at, what, need.level, NULL);
	if (need.is_about_task && !check_task(c, at, what))
		return false;
	return !is_checked(c) || !need.is_about_memory || check_memory(c, at, what);
}

bool privilege_check_thread(struct check *c, const char *name, struct span at)
{
	return check_task(c, at, arena_printf(c->arena, "self->%s", name));
}

bool privilege_check_hidden(struct check *c, const char *name, struct span at)
{
	if (!is_checked(c) || c->session->layer == LAYER_SYSTEM || strncmp(name, "__", 2) != 0 ||
	    !privileges_lack(c->opts->privileges, LEVEL_KERNEL))
		return true;
	return fail_level(c, at, arena_printf(c->arena, "%s, a variable of the D library,", name),
			  LEVEL_KERNEL, "choose a name that does not begin with __");
}

bool privilege_check_symbol(struct check *c, const char *name, struct span at)
{
	if (!is_checked(c) || !privileges_lack(c->opts->privileges, LEVEL_KERNEL))
		return true;
	return fail_level(c, at, arena_printf(c->arena, "%s, a symbol of the kernel,", name),
			  LEVEL_KERNEL, NULL);
}

/* ---- the current task, as the library tells of it -------------------------------------------- */

bool privilege_is_own(const struct check *c, const struct ident *id)
{
	return is_checked(c) && privileges_lack(c->opts->privileges, LEVEL_KERNEL) &&
	       id->layer == LAYER_SYSTEM && need_of_variable(id->name).is_known;
}

bool privilege_check_member(struct check *c, const struct xlator *x, const char *member,
			    struct span at)
{
	const struct type_info *out = type_get(c->types, type_resolve(c->types, x->out));

	if (x->layer == LAYER_SYSTEM && need_of_member(out->name, member).is_known)
		return true;
	return fail_level(c, at, arena_printf(c->arena, "%s of %s", member, type_text(c, x->out)),
			  LEVEL_KERNEL, NULL);
}

void privilege_fail_input(struct check *c, struct span at)
{
	(void)fail_level(c, at, "a structure of the kernel", LEVEL_KERNEL,
			 "of curpsinfo, curlwpsinfo and fds[ ] a program has the members");
}

struct expr *own_text(struct check *c, struct expr *e)
{
	struct expr *call = expr_new(c, EXPR_CALL, e->span, TYPE_STRING), *text = e;

	if (!type_is_string(c->types, e->type)) {
		text = expr_new(c, EXPR_STRINGOF, e->span, TYPE_STRING);
		text->unary.e = e;
	}
	call->call.subr = subr_find("substr");
	call->call.nargs = 2;
	call->call.args = ARENA_NEW_N(c->arena, struct expr *, 2);
	call->call.args[0] = text;
	call->call.args[1] = expr_int(c, e->span, 0, TYPE_INT);
	return call;
}

struct expr *own_value(struct check *c, struct expr *e, struct span at)
{
	if (expr_is_bad(e))
		return e;
	e->span = at;
	if (e->kind == EXPR_XLATE) {
		e->is_own = true;
		e->xlate.e->is_input = true;
		e->xlate.e->span = at;
		return e;
	}
	if (type_is_strcompat(c->types, e->type) && type_kind(c->types, e->type) != TK_PTR)
		e = own_text(c, e);
	else if (type_is_integer(c->types, e->type))
		e = expr_cast(c, e, e->type);
	else
		return expr_fail(c, D_UNKNOWN, e->span,
				 "a value of type \"%s\" is no number and no string",
				 type_text(c, e->type));
	e->is_own = true;
	e->is_lvalue = false;
	return e;
}

/* ---- memory of the process ------------------------------------------------------------------- */

/*
 * The first instruction from `from` on that reads memory of the process, by a pointer with the
 * qualifier userland or by a function; code_len: there is none.
 */
static uint32_t user_read_find(const struct difo *d, uint32_t from)
{
	for (uint32_t i = from; i < d->code_len; i++) {
		enum dif_op op = DIF_INSN_OP(d->code[i]);
		const struct dif_subr_row *row =
			op == DIF_OP_CALL ? dif_subr_row(DIF_INSN_INDEX(d->code[i])) : NULL;

		if ((op >= DIF_OP_ULDSB && op <= DIF_OP_ULDX) || (row && row->fx & FX_READS_USER))
			return i;
	}
	for (uint32_t i = 0; i < d->vars_len; i++)
		if (d->vars[i].type.flags & DIF_TF_BYUREF)
			return d->code_len - 1;
	return d->ret.flags & DIF_TF_BYUREF ? d->code_len - 1 : d->code_len;
}

/*
 * Many expressions read memory of the process, as a member of a struct there, and what is converted
 * to a string; so it is looked for in the code that they have become.
 */
bool privilege_check_reads(struct check *c, const struct prog_clause *cl, struct span at)
{
	static const char what[] = "memory of the process";
	struct clause_difo of = {0};

	while (clause_each_difo(cl, &of)) {
		const struct difo *d = of.difo;
		uint32_t i = user_read_find(d, d->trusted_len);

		if (i == d->code_len) {
			c->uses_task |= user_read_find(d, 0) < d->code_len;
			continue;
		}
		if (d->spans)
			at = (struct span){d->spans[i], 1};
		if (!check_task(c, at, what) || (is_checked(c) && !check_memory(c, at, what)))
			return false;
	}
	return true;
}

/* ---- declared probes ------------------------------------------------------------------------- */

/*
 * Refuses a declaration, also one of an -L folder, of a provider whose probes the system's library
 * is made of: its trusted guards and arguments would be compiled with the types, or be placed at
 * the sources, that the user gives.
 */
bool privilege_check_provider(struct check *c, const char *name, struct span at)
{
	if (c->opts->layer == LAYER_SYSTEM || !privileges_lack(c->opts->privileges, LEVELS_ALL) ||
	    !need_has_provider(name))
		return true;
	check_error(c, D_PROV_BADNAME, at,
		    "provider %s is the system's: a session with levels cannot declare it", name);
	diag_hint(c->diags, "choose another name");
	return false;
}

static bool is_of_system(const struct derivation *dv)
{
	return dv->probe->layer == LAYER_SYSTEM;
}

const struct derivation *privilege_system_part(const struct derivation *dv)
{
	const struct derivation *part = NULL;

	for (; dv; dv = dv->base)
		if (!is_of_system(dv))
			part = NULL;
		else if (!part)
			part = dv;
	return part;
}

bool privilege_trusts(const struct check *c, const struct derivation *dv)
{
	return c->opts->privileges && privilege_system_part(dv) == dv;
}

bool privilege_has_other(const struct check *c, const struct derivation *dv)
{
	const struct derived_info *info = &dv->probe->info;

	return c->opts->privileges && c->opts->layer == LAYER_PROGRAM && is_of_system(dv) &&
	       privileges_lack(c->opts->privileges, LEVEL_PROC_OWNER) &&
	       need_of_probe(info->prov, info->name).has_other;
}

bool privilege_is_own_arg(const struct check *c, const struct derivation *dv, uint32_t index)
{
	const struct derived_info *info = &dv->probe->info;

	return is_checked(c) && is_of_system(dv) && !info->is_in_processes &&
	       privileges_lack(c->opts->privileges, LEVEL_KERNEL) && index < 32 &&
	       need_of_probe(info->prov, info->name).own >> index & 1;
}

bool privilege_check_arg(struct check *c, const struct derivation *dv, uint32_t index,
			 struct span at)
{
	const struct derived_info *info = &dv->probe->info;
	struct need need = need_of_probe(info->prov, info->name);
	uint32_t args = need.args;

	if (!is_checked(c) || !is_of_system(dv) || info->is_in_processes)
		return true;
	if (!privileges_lack(c->opts->privileges, LEVEL_KERNEL) &&
	    !privileges_lack(c->opts->privileges, LEVEL_PROC_OWNER))
		return true;
	if (!privileges_lack(c->opts->privileges, LEVEL_KERNEL))
		args |= need.own;
	if (index < 32 && args >> index & 1)
		return true;
	return fail_level(c, at,
			  arena_printf(c->arena, "argument %u of %s:::%s", index, info->prov,
				       info->name),
			  privileges_lack(c->opts->privileges, LEVEL_KERNEL) ? LEVEL_KERNEL
									     : LEVEL_PROC_OWNER,
			  NULL);
}

bool privilege_check_desc(struct check *c, const struct probe_desc *desc, struct span at)
{
	const char *probe = NULL;
	uint32_t level;

	if (!is_checked(c) || !c->env->lacks)
		return true;
	level = c->env->lacks(c->env->ctx, desc, &probe);
	return !level || fail_level(c, at, arena_strdup(c->arena, probe), level, NULL);
}

bool privilege_check_probe(struct check *c, const struct derivation *dv,
			   const struct probe_desc *source, struct span at)
{
	const struct derivation *part = privilege_system_part(dv);
	const struct derived_info *info;
	struct need need;

	if (!is_checked(c) || dv->probe->info.is_in_processes)
		return true; /* its probes are those of provider usdt */
	if (!part || part->probe->info.is_in_processes)
		return privilege_check_desc(c, source, at);
	info = &part->probe->info;
	need = need_of_probe(info->prov, info->name);
	if (privileges_lack(c->opts->privileges, need.level))
		return fail_level(c, at, arena_printf(c->arena, "%s:::%s", info->prov, info->name),
				  need.level,
				  "it also fires for what other processes do, or its arguments are "
				  "structures of the kernel");
	if (!need.is_known && privileges_lack(c->opts->privileges, LEVEL_PROC_OWNER))
		return fail_level(c, at, arena_printf(c->arena, "%s:::%s", info->prov, info->name),
				  LEVEL_PROC_OWNER, "it also fires for what other processes do");
	return true;
}
