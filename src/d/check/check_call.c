/* SPDX-License-Identifier: MIT */
/* Calls: finds the subroutine and checks arguments against its prototype (d-language.md 3.6). */
#include <ctype.h>

#include "d/check/check_impl.h"
#include "base/text.h"
#include "d/parse/foreign.h"
#include "dif/names.h"

/* ---- prototypes ------------------------------------------------------------------------- */

static const struct {
	const char *name;
	type_id type;
} special_types[] = {
	{"stack", TYPE_STACK},
	{"_symaddr", TYPE_SYMADDR},
	{"_usymaddr", TYPE_USYMADDR},
};

static type_id proto_type(struct check *c, const char *text)
{
	for (uint32_t i = 0; i < ARRAY_LEN(special_types); i++)
		if (strcmp(special_types[i].name, text) == 0)
			return special_types[i].type;
	return type_from_text(c, text);
}

/*
 * The type of a parameter. A type of the kernel that this kernel's BTF lacks becomes void *, so
 * that any pointer is accepted.
 */
static type_id param_type(struct check *c, const char *text)
{
	type_id type = proto_type(c, text);

	return type == TYPE_NONE ? proto_type(c, "void *") : type;
}

/* Parses "type" or "type|type". */
static void param_types(struct check *c, struct proto_arg *arg, char *text)
{
	char *bar = strchr(text, '|');

	if (bar)
		*bar = '\0';
	arg->type = param_type(c, text);
	arg->other = bar ? param_type(c, bar + 1) : TYPE_NONE;
}

/* Adds a parameter, given without blanks around it: "[type]", "@", "..." or a type. */
static void proto_add(struct check *c, struct proto *p, char *text)
{
	bool optional = *text == '[';

	if (strcmp(text, "...") == 0) {
		p->varargs = true;
		return;
	}
	if (optional) {
		text++;
		text[strlen(text) - 1] = '\0';
	}
	p->args[p->nargs].any = strcmp(text, "@") == 0;
	if (!p->args[p->nargs].any)
		param_types(c, &p->args[p->nargs], text);
	p->nargs++;
	if (!optional)
		p->nmin = p->nargs;
}

static struct proto *proto_parse(struct check *c, const char *text)
{
	struct arena *a = c->session->arena;
	struct proto *p = ARENA_NEW(a, struct proto);
	const char *open = strchr(text, '(');
	char *params = arena_strndup(a, open + 1, strlen(open + 1) - 1), *next, *end;

	p->ret = proto_type(c, arena_strndup(c->arena, text, (size_t)(open - text)));
	p->args = ARENA_NEW_N(a, struct proto_arg, strlen(params) + 1);
	for (char *param = params; param && *param; param = next) {
		next = strchr(param, ',');
		if (next)
			*next++ = '\0';
		while (isspace((unsigned char)*param))
			param++;
		for (end = param + strlen(param); end > param && isspace((unsigned char)end[-1]);)
			*--end = '\0';
		proto_add(c, p, param);
	}
	return p;
}

const struct proto *proto_get(struct check *c, const struct subr *subr)
{
	struct proto *p = hashmap_finds(c->session->protos, subr->name);

	if (!p) {
		p = proto_parse(c, subr->proto);
		hashmap_sets(c->session->protos, subr->name, p);
	}
	return p;
}

/* ---- arguments -------------------------------------------------------------------------- */

void check_error_len(struct check *c, struct span at, const char *what, const char *unit,
		     uint32_t passed, uint32_t nmin, uint32_t nmax)
{
	const char *bound = nmin == nmax ? "" : passed < nmin ? "at least " : "at most ";

	check_error(c, D_PROTO_LEN, at, "%s prototype mismatch: %u %s%s passed, %s%u expected",
		    what, passed, unit, PLURAL(passed), bound, passed < nmin ? nmin : nmax);
}

/* The prototype as a call that a user could type, for hints: "sum(expression)". */
static const char *call_example(struct check *c, const struct subr *subr)
{
	const char *params = strchr(subr->proto, '('), *any = strchr(params, '@');

	if (!any)
		return arena_printf(c->arena, "%s%s", subr->name, params);
	return arena_printf(c->arena, "%s%.*sexpression%s", subr->name, (int)(any - params), params,
			    any + 1);
}

/* Adds an argument that the type of a parameter, "const char *" for example, takes. */
static void example_add(struct strbuf *o, const char *type, size_t len)
{
	static const char text[] = "const char *";

	strbuf_adds(o, o->data[o->len - 1] == '(' ? "" : ", ");
	if (len >= sizeof(text) - 1 && strncmp(type, text, sizeof(text) - 1) == 0)
		strbuf_adds(o, "\"text\"");
	else if (memchr(type, '*', len))
		strbuf_adds(o, "curthread");
	else
		strbuf_addc(o, *type == '@' ? '1' : '0');
}

const char *call_simplest(struct check *c, const struct subr *subr)
{
	const char *p = strchr(subr->proto, '(') + 1, *text;
	struct strbuf o = {0};

	strbuf_addf(&o, "%s(", subr->name);
	while (*p && *p != ')' && *p != '[' && *p != '.') {
		size_t len = strcspn(p, ",)");

		example_add(&o, p, len);
		p += len;
		p += strspn(p, ", ");
	}
	strbuf_addc(&o, ')');
	text = arena_strdup(c->arena, strbuf_text(&o));
	strbuf_deinit(&o);
	return text;
}

bool check_arg_count(struct check *c, const struct subr *subr, struct expr *call)
{
	const struct proto *p = proto_get(c, subr);
	uint32_t n = call->call.nargs, nmax = p->varargs ? UINT32_MAX : p->nargs;
	const char *form, *simplest;

	if (n >= p->nmin && n <= nmax)
		return true;
	check_error_len(c, call->span, arena_printf(c->arena, "%s( )", subr->name), "arg", n,
			p->nmin, nmax);
	form = call_example(c, subr);
	simplest = call_simplest(c, subr);
	if (strcmp(form, simplest) == 0)
		diag_hint(c->diags, "it is called as %s", form);
	else
		diag_hint(c->diags, "it is called as %s; for example %s", form, simplest);
	return false;
}

/*
 * Whether both types point to structs of the same tag: a program may declare a struct of the kernel
 * again, with members of its own, and pass a pointer to it.
 */
static bool is_same_tag(const struct check *c, type_id a, type_id b)
{
	const struct type_info *ta, *tb;

	if (!type_is_pointer(c->types, a) || !type_is_pointer(c->types, b))
		return false;
	ta = type_get(c->types, type_resolve(c->types, type_deref(c->types, a)));
	tb = type_get(c->types, type_resolve(c->types, type_deref(c->types, b)));
	return ta->kind == TK_STRUCT && tb->kind == TK_STRUCT && ta->name && tb->name &&
	       strcmp(ta->name, tb->name) == 0;
}

static bool convert_arg(struct check *c, struct expr **arg, type_id want)
{
	return want != TYPE_NONE && !expr_is_dynamic(*arg) &&
	       (check_convert(c, arg, want) || is_same_tag(c, (*arg)->type, want));
}

/* The types that a parameter accepts, for messages: "uint32_t * or struct in_addr *". */
static const char *wanted_text(struct check *c, const struct proto_arg *want)
{
	const char *text = type_text(c, want->type);

	return want->other == TYPE_NONE
		       ? text
		       : arena_printf(c->arena, "%s or %s", text, type_text(c, want->other));
}

static bool check_arg(struct check *c, const struct subr *subr, const struct proto_arg *want,
		      struct expr **arg, uint32_t argno)
{
	*arg = want->any ? check_any(c, *arg) : check_any_as(c, *arg, want->type);
	*arg = xlate_address(c, *arg);
	if (want->any || !expr_is_dynamic(*arg))
		*arg = check_value(c, *arg);
	if (expr_is_bad(*arg))
		return false;
	if (want->any || convert_arg(c, arg, want->type) || convert_arg(c, arg, want->other))
		return true;
	check_error(c, D_PROTO_ARG, (*arg)->span,
		    "%s( ) argument #%u is incompatible with prototype:\n\tprototype: %s\n\t "
		    "argument: %s",
		    subr->name, argno, wanted_text(c, want), type_text(c, (*arg)->type));
	if (expr_is_dynamic(*arg))
		hint_dynamic(c, *arg);
	else if (type_is_integer(c->types, want->type) && type_is_pointer(c->types, (*arg)->type))
		diag_hint(c->diags, "pass the address as a number: (%s)", type_text(c, want->type));
	else if (type_is_pointer(c->types, want->type) && type_is_pointer(c->types, (*arg)->type))
		diag_hint(c->diags, "if that is what lies there, say so with a cast: (%s)",
			  type_text(c, want->type));
	else if (type_is_strcompat(c->types, want->type))
		hint_char_text(c, *arg);
	return false;
}

bool check_proto_args(struct check *c, const struct subr *subr, struct expr *call)
{
	static const struct proto_arg further = {.any = true};
	const struct proto *p = proto_get(c, subr);
	bool good = check_arg_count(c, subr, call);

	for (uint32_t i = 0; good && i < call->call.nargs; i++)
		good = check_arg(c, subr, i < p->nargs ? &p->args[i] : &further,
				 &call->call.args[i], i + 1);
	return good;
}

/* ---- the callee ------------------------------------------------------------------------- */

static const struct expr *call_callee(const struct expr *e)
{
	const struct expr *fn = e->call.fn;

	return fn->kind == EXPR_IDENT && fn->ident.scope == SCOPE_GLOBAL ? fn : NULL;
}

const struct subr *call_subr(struct check *c, const struct expr *e)
{
	const struct expr *fn = e->kind == EXPR_CALL ? call_callee(e) : NULL;
	struct ident *id = fn ? ident_find(c, SCOPE_GLOBAL, fn->ident.name) : NULL;

	return id && id->kind == IDENT_SUBR ? id->subr : NULL;
}

static void hint_function(struct check *c, const char *name)
{
	const char **names = ARENA_NEW_N(c->arena, const char *, nsubrs), *nearest;
	const char *foreign = foreign_hint(FOREIGN_FUNCTION, name);
	const struct subr *hidden = subr_find(name);

	if (hidden) {
		diag_hint(c->diags, "'%s' needs D version %s (option version)", name,
			  hidden->since);
		return;
	}
	if (foreign) {
		diag_hint(c->diags, "%s", foreign);
		return;
	}
	for (uint32_t i = 0; i < nsubrs; i++)
		names[i] = subrs[i].name;
	nearest = diag_nearest(name, names, nsubrs);
	if (nearest)
		diag_hint(c->diags, "did you mean '%s'?", nearest);
}

/* Reports why the called name is no function that can be called here. */
static struct expr *fail_callee(struct check *c, const struct expr *e)
{
	const struct expr *fn = call_callee(e);
	struct ident *id;

	if (!fn)
		return expr_fail(c, D_FUNC_IDENT, e->span,
				 "function designator must be an identifier");
	id = ident_find(c, SCOPE_GLOBAL, fn->ident.name);
	if (id && id->type == TYPE_ERROR)
		return expr_bad(c, e->span);
	if (id && id->kind == IDENT_EXTERN)
		return expr_fail(
			c, D_FUNC_IDKIND, fn->span,
			"%s( ) is a function of the kernel or of a program: D cannot call it",
			fn->ident.name);
	if (id && id->kind == IDENT_BLOCK) {
		check_error(c, D_FUNC_IDKIND, fn->span,
			    "%s( ) is a block of statements, which has no value", fn->ident.name);
		diag_hint(c->diags, "it is used as a statement of its own");
		return expr_bad(c, e->span);
	}
	if (id)
		return expr_fail(c, D_FUNC_IDKIND, fn->span, "%s is not a function",
				 fn->ident.name);
	check_error(c, D_FUNC_UNDEF, fn->span, "undefined function name: %s", fn->ident.name);
	hint_function(c, fn->ident.name);
	return expr_bad(c, e->span);
}

bool subr_use(struct check *c, const struct subr *subr, struct span at)
{
	attr_use(c, at, subr->name, subr->attr);
	if (!subr->why && !privilege_check_call(c, subr->name, at))
		return false;
	if (subr->flags & SUBR_DESTRUCTIVE)
		c->destructive = true;
	if (subr->flags & SUBR_DESTRUCTIVE && subr->class == SUBR_FUNC && c->speculates) {
		check_error(c, D_ACT_SPEC, at, "%s( ) may not follow speculate( )", subr->name);
		return false;
	}
	if (!subr->why)
		return true;
	check_error(c, D_UNKNOWN, at, "%s( ) is not supported on Linux", subr->name);
	diag_hint(c->diags, "%s", subr->why);
	return false;
}

/*
 * Scratch memory is made as large as constant sizes ask for, up to a limit: false after reporting.
 */
static bool check_scratch(struct check *c, const struct subr *subr, const struct expr *call)
{
	uint32_t max = MAX(DIF_MAX_ALLOCA, c->opts->scratchsize);
	const struct expr *size;

	if (!(dif_subr_row((uint32_t)subr->code)->fx & FX_SIZED))
		return true;
	size = call->call.args[call->call.nargs - 1];
	if (!expr_is_const(c, size) || size->ival.val <= max)
		return true;
	check_error(c, D_ALLOCA_SIZE, size->span,
		    "%s( ) size %llu exceeds what scratch memory may have: %u bytes", subr->name,
		    (unsigned long long)size->ival.val, max);
	return false;
}

static void hint_flag_kinds(struct check *c, const char *const *names, uint32_t n)
{
	struct strbuf list = {0};

	for (uint32_t i = 0; i < n; i++)
		strbuf_addf(&list, "%s%s", i ? ", " : "", names[i]);
	diag_hint(c->diags, "the kinds are: %s", strbuf_text(&list));
	strbuf_deinit(&list);
}

/* Replaces the kind of flags, a string constant, by the number of its rows in the table. */
static bool check_flag_kind(struct check *c, const struct subr *subr, struct expr *call)
{
	const char *names[64], *nearest, *text = NULL;
	struct expr **kind = call->call.args;
	uint64_t rows = 0;
	uint32_t n = 0;

	if (subr->code != DIF_SUBR_STRFLAGS)
		return true;
	if ((*kind)->kind == EXPR_STR)
		rows = flag_rows_find(
			text = arena_strndup(c->arena, (*kind)->str.p, (*kind)->str.len));
	if (FLAG_ROWS_N(rows)) {
		*kind = expr_int(c, (*kind)->span, rows, TYPE_UINT64);
		return true;
	}
	check_error(c, D_PROTO_ARG, (*kind)->span,
		    "strflags( ) argument #1 must be the name of a kind of flags in double quotes");
	while (n < ARRAY_LEN(names) && flag_kind_name(n)) {
		names[n] = flag_kind_name(n);
		n++;
	}
	nearest = text ? diag_nearest(text, names, n) : NULL;
	if (nearest)
		diag_hint(c->diags, "did you mean \"%s\"?", nearest);
	else
		hint_flag_kinds(c, names, n);
	return false;
}

struct expr *check_call(struct check *c, struct expr *e)
{
	const struct subr *subr;
	struct expr *text;

	if (check_is_either(e))
		return check_either(c, e);
	subr = call_subr(c, e);
	if (!subr)
		return fail_callee(c, e);
	if (subr->class == SUBR_AGGFUNC) {
		check_error(c, D_CG_EXPR, e->span,
			    "%s( ) may not be called from a D expression (it is assigned to an "
			    "aggregation: @name = %s(...))",
			    subr->name, subr->name);
		diag_hint(c->diags, "assign it to an aggregation: @a = %s", call_simplest(c, subr));
		return expr_bad(c, e->span);
	}
	if (subr_is_stack(subr))
		return check_stack_value(c, e);
	if (subr->class == SUBR_ACTION)
		return expr_fail(
			c, D_CG_EXPR, e->span,
			"%s( ) may not be called from a D expression (D program context required)",
			subr->name);
	if (subr->code == DIF_SUBR_COPYINSTR && (text = derived_copied(c, e)))
		return text;
	if (!check_proto_args(c, subr, e) || !subr_use(c, subr, e->span) ||
	    !check_scratch(c, subr, e) || !check_flag_kind(c, subr, e))
		return expr_bad(c, e->span);
	e->call.subr = subr;
	e->type = proto_get(c, subr)->ret;
	return e;
}
