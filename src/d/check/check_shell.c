/* SPDX-License-Identifier: MIT */
/*
 * Warns of commands and paths that others write: system() runs its text in a shell, with the rights
 * of the tracer, and freopen() opens a file of any name. A program that is named "s;id>x" would have
 * its way with system("echo %s", execname).
 *
 * The arguments are noted while the call is checked, and judged when the program has compiled,
 * because a variable is the program's own only if all that is assigned to it is (dif/own.h).
 */
#include "d/check/check_impl.h"
#include "d/check/fmt.h"
#include "dif/own.h"

#define SHELL_DEPTH 8

/* Where a place in a command stands. */
enum shell_quote { SHELL_PLAIN, SHELL_SINGLE, SHELL_DOUBLE };

struct shell_reader {
	enum shell_quote in[SHELL_DEPTH]; /* "$(" begins another level */
	uint32_t depth;
};

static void shell_read_char(struct shell_reader *r, const char *s, uint32_t len, uint32_t *i)
{
	enum shell_quote *in = &r->in[r->depth];
	char c = s[*i];

	if (*in == SHELL_SINGLE) {
		*in = c == '\'' ? SHELL_PLAIN : SHELL_SINGLE;
	} else if (c == '\\') {
		++*i;
	} else if (c == '"') {
		*in = *in == SHELL_DOUBLE ? SHELL_PLAIN : SHELL_DOUBLE;
	} else if (c == '\'' && *in == SHELL_PLAIN) {
		*in = SHELL_SINGLE;
	} else if (c == '$' && *i + 1 < len && s[*i + 1] == '(' && r->depth + 1 < SHELL_DEPTH) {
		++*i;
		r->in[++r->depth] = SHELL_PLAIN;
	} else if (c == ')' && *in == SHELL_PLAIN && r->depth) {
		r->depth--;
	}
}

/* Whether conversion n of a command stands between quotes of the command. */
static bool is_in_quotes(const struct prog_fmt *fmt, uint32_t n)
{
	struct shell_reader r = {0};

	for (uint32_t k = 0; k <= n; k++)
		for (uint32_t i = 0; i < fmt->convs[k].literal_len; i++)
			shell_read_char(&r, fmt->convs[k].literal, fmt->convs[k].literal_len, &i);
	return r.in[r.depth] != SHELL_PLAIN;
}

static bool is_call_of(const struct expr *e, const char *name)
{
	return e->kind == EXPR_CALL && e->call.subr && strcmp(e->call.subr->name, name) == 0;
}

void shell_arg_note(struct check *c, const struct expr *call, const struct prog_act *act,
		    uint32_t conv, const struct expr *arg, struct span at)
{
	struct shell_arg a = {
		.call = call->span.off,
		.arg = act->nargs,
		.conv = &act->fmt->convs[conv],
		.at = at,
		.is_path = act->kind == ACT_FREOPEN,
		.is_name = is_call_of(arg, "basename"),
	};

	if (act->kind != ACT_SYSTEM && act->kind != ACT_FREOPEN)
		return;
	if (a.conv->conv == 'q' && act->kind == ACT_SYSTEM)
		a.is_in_quotes = is_in_quotes(act->fmt, conv);
	list_push(c->arena, &c->shell_args, a);
}

/* Whether the conversion prints text; what numbers and times print is harmless. */
static bool prints_text(const struct shell_arg *a)
{
	return strchr("sScCqaAkI", a->conv->conv) != NULL;
}

/* Whether what is printed is the program's own text if the value is. */
static bool prints_value(const struct shell_arg *a)
{
	return strchr("sScCq", a->conv->conv) != NULL;
}

static void path_judge(struct check *c, const struct shell_arg *a)
{
	if (a->is_name)
		return;
	diag_warn(c->diags, D_FREOPEN_PATH, a->at,
		  "freopen( ) opens a file whose name has a text that others have written: it may "
		  "lead to any folder");
}

static void command_judge(struct check *c, const struct shell_arg *a)
{
	if (a->conv->conv != 'q')
		diag_warn(c->diags, D_SYSTEM_UNQUOTED, a->at,
			  "system( ) runs a text that others have written as shell commands: %s "
			  "does not quote it",
			  fmt_conv_text(a->conv, c->arena));
}

static const struct shell_arg *shell_arg_find(const struct check *c, uint32_t call, uint32_t arg)
{
	for (uint32_t i = 0; i < c->shell_args.len; i++)
		if (c->shell_args.data[i].call == call && c->shell_args.data[i].arg == arg)
			return &c->shell_args.data[i];
	return NULL;
}

static void act_judge(struct check *c, const struct own_texts *own, const struct prog_act *act)
{
	for (uint32_t k = 0; k < act->nargs; k++) {
		const struct shell_arg *a = shell_arg_find(c, act->span, k);

		if (!a || !prints_text(a) || (prints_value(a) && own_texts_has(own, act->args[k])))
			continue;
		if (a->is_in_quotes)
			diag_warn(c->diags, D_SYSTEM_UNQUOTED, a->at,
				  "system( ): %%q quotes its value, and stands between quotes, "
				  "which end there");
		else if (a->is_path)
			path_judge(c, a);
		else
			command_judge(c, a);
	}
}

void check_shell_args(struct check *c, const struct prog *prog)
{
	struct own_texts *own;

	if (!c->shell_args.len)
		return;
	own = own_texts_create(prog->clauses, prog->nclauses);
	diag_set_where(c->diags, DIAG_IN_ACTIONS);
	for (uint32_t i = 0; i < prog->nclauses; i++)
		for (uint32_t k = 0; k < prog->clauses[i]->nacts; k++)
			if (prog->clauses[i]->acts[k].kind == ACT_SYSTEM ||
			    prog->clauses[i]->acts[k].kind == ACT_FREOPEN)
				act_judge(c, own, &prog->clauses[i]->acts[k]);
	own_texts_destroy(own);
}
