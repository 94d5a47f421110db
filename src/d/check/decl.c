/* SPDX-License-Identifier: MIT */
/* Resolves types as written: the specifiers, then the derivations from the inside out. */
#include "d/check/decl.h"
#include "base/vec.h"

/* Size of the largest object: its bit offsets must fit the 32 bits that the type table has. */
#define DECL_MAX_SIZE (1u << 28)

static type_id declarator_type(struct check *c, struct type_name *tn,
			       struct decl_object *ret_assoc);

/* ---- specifiers ------------------------------------------------------------------------------ */

#define SPEC_LENGTHS (SPEC_SHORT | SPEC_LONG | SPEC_LONGLONG)
#define SPEC_SIGNS   (SPEC_SIGNED | SPEC_UNSIGNED)
#define SPEC_BASES   (SPEC_VOID | SPEC_CHAR | SPEC_INT | SPEC_FLOAT | SPEC_DOUBLE | SPEC_STRING)

/*
 * The type of each set of specifier words; the set lacks 'int' and 'signed' where these add
 * nothing.
 */
struct spec_row {
	uint32_t flags;
	type_id type;
};

static const struct spec_row spec_rows[] = {
	{SPEC_VOID, TYPE_VOID},
	{SPEC_CHAR, TYPE_CHAR},
	{SPEC_CHAR | SPEC_SIGNED, TYPE_SCHAR},
	{SPEC_CHAR | SPEC_UNSIGNED, TYPE_UCHAR},
	{SPEC_SHORT, TYPE_SHORT},
	{SPEC_SHORT | SPEC_UNSIGNED, TYPE_USHORT},
	{0, TYPE_INT},
	{SPEC_UNSIGNED, TYPE_UINT},
	{SPEC_LONG, TYPE_LONG},
	{SPEC_LONG | SPEC_UNSIGNED, TYPE_ULONG},
	{SPEC_LONGLONG, TYPE_LLONG},
	{SPEC_LONGLONG | SPEC_UNSIGNED, TYPE_ULLONG},
	{SPEC_FLOAT, TYPE_FLOAT},
	{SPEC_DOUBLE, TYPE_DOUBLE},
	{SPEC_DOUBLE | SPEC_LONG, TYPE_LDOUBLE},
	{SPEC_STRING, TYPE_STRING},
};

static type_id spec_words_type(uint32_t flags)
{
	flags &= SPEC_BASES | SPEC_LENGTHS | SPEC_SIGNS;
	if (!(flags & SPEC_CHAR))
		flags &= ~(uint32_t)(SPEC_INT | SPEC_SIGNED);
	if (flags & SPEC_LONGLONG)
		flags &= ~(uint32_t)SPEC_LONG;
	for (size_t i = 0; i < ARRAY_LEN(spec_rows); i++)
		if (spec_rows[i].flags == flags)
			return spec_rows[i].type;
	BUG("specifiers 0x%x passed the checks", flags);
}

static bool has_one_bit(uint32_t flags)
{
	return flags && !(flags & (flags - 1));
}

static bool specs_have_base(const struct decl_specs *s)
{
	return s->flags & SPEC_BASES || s->tag != TAG_NONE || s->name;
}

/*
 * A rule on combinations: the words `with` may not stand with a base type in `bases` or, if
 * on_other, with a base type that is not in `bases`.
 */
struct spec_rule {
	uint32_t with, bases;
	bool on_other;
	enum dtag tag;
	const char *text;
};

static const struct spec_rule spec_rules[] = {
	{SPEC_SIGNS | SPEC_LENGTHS, SPEC_VOID, false, D_DECL_VOIDATTR,
	 "void cannot be signed, unsigned, short or long"},
	{SPEC_LENGTHS, SPEC_CHAR, false, D_DECL_CHARATTR, "char cannot be short or long"},
	{SPEC_SIGNS, SPEC_INT | SPEC_CHAR, true, D_DECL_SIGNINT,
	 "signed and unsigned go with integer types only"},
	{SPEC_LONG, SPEC_INT | SPEC_DOUBLE, true, D_DECL_LONGINT,
	 "long goes with int and double only"},
	{SPEC_SHORT | SPEC_LONGLONG, SPEC_INT, true, D_DECL_LONGINT,
	 "short and long long go with int only"},
};

static bool spec_rule_broken(const struct spec_rule *r, const struct decl_specs *s)
{
	if (!(s->flags & r->with) || !specs_have_base(s))
		return false;
	return !!(s->flags & r->bases) != r->on_other;
}

static bool specs_check(struct check *c, const struct decl_specs *s)
{
	uint32_t bases = s->flags & SPEC_BASES, others = (s->tag != TAG_NONE) + !!s->name;

	if (s->two_classes) {
		diag_error(c->diags, D_DECL_CLASS, s->sc_span,
			   "only one storage class is allowed in a declaration");
		return false;
	}
	if (s->flags & SPEC_COMBO || others > 1 || (bases && (others || !has_one_bit(bases)))) {
		diag_error(c->diags, D_DECL_COMBO, s->span, "invalid type combination");
		return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(spec_rules); i++)
		if (spec_rule_broken(&spec_rules[i], s)) {
			diag_error(c->diags, spec_rules[i].tag, s->span, "%s", spec_rules[i].text);
			return false;
		}
	if ((s->flags & SPEC_SIGNS) == SPEC_SIGNS) {
		diag_error(c->diags, D_DECL_SIGNINT, s->span,
			   "a type is either signed or unsigned");
		return false;
	}
	if (s->flags & SPEC_SHORT && s->flags & (SPEC_LONG | SPEC_LONGLONG)) {
		diag_error(c->diags, D_DECL_LONGINT, s->span, "a type is either short or long");
		return false;
	}
	return true; /* 'self x;' names no type: it is an int, as in early C */
}

/* ---- tags ------------------------------------------------------------------------------------ */

static enum type_kind tag_kind(const struct decl_specs *s)
{
	return s->tag == TAG_STRUCT ? TK_STRUCT : s->tag == TAG_UNION ? TK_UNION : TK_ENUM;
}

static const char *tag_word(const struct decl_specs *s)
{
	return s->tag == TAG_STRUCT ? "struct" : s->tag == TAG_UNION ? "union" : "enum";
}

static bool type_is_error(const struct check *c, type_id id)
{
	return type_kind(c->types, id) == TK_ERROR;
}

/* False after reporting a type that no member, variable or array element can have. */
static bool object_check(struct check *c, type_id type, struct span at, const char *what,
			 const char *name)
{
	if (type_is_error(c, type))
		return false;
	if (type_is_void(c->types, type)) {
		diag_error(c->diags, D_DECL_VOIDOBJ, at, "%s %scannot have void type", what, name);
		return false;
	}
	if (type_kind(c->types, type) == TK_DYNAMIC) {
		diag_error(c->diags, D_DECL_DYNOBJ, at, "%s %scannot have dynamic type", what,
			   name);
		return false;
	}
	if (type_kind(c->types, type) == TK_FUNC) {
		diag_error(c->diags, D_DECL_VOIDOBJ, at, "%s %scannot be a function", what, name);
		diag_hint(c->diags, "a pointer to a function is possible: 'int (*name)();'");
		return false;
	}
	if (!type_complete(c->types, type)) {
		diag_error(c->diags, D_DECL_INCOMPLETE, at, "%s %shas incomplete type %s", what,
			   name, type_name(c->types, type, c->arena));
		return false;
	}
	return true;
}

/* Evaluates a constant; false after reporting, unless check_expr() has reported before. */
static bool constant_eval(struct check *c, struct expr *e, enum dtag tag, const char *text,
			  int64_t *ret)
{
	uint32_t before = diags_count(c->diags);

	if (check_const(c, e, ret))
		return true;
	if (diags_count(c->diags) == before)
		diag_error(c->diags, tag, e->span, "%s", text);
	return false;
}

/* Checks the width of a bit-field; false after reporting. */
static bool bitfield_check(struct check *c, const struct member_decl *d, type_id type,
			   const char *name, uint32_t *ret_bits)
{
	static const char not_const[] = "size of a bit-field must be a positive constant";
	int64_t bits;

	if (!constant_eval(c, d->bits, D_DECL_BFCONST, not_const, &bits))
		return false;
	if (bits < 0 || (bits == 0 && *name)) {
		diag_error(c->diags, D_DECL_BFCONST, d->bits->span, "%s", not_const);
		return false;
	}
	if (type_is_error(c, type))
		return false;
	if (!type_is_integer(c->types, type)) {
		diag_error(c->diags, D_DECL_BFTYPE, d->type->span,
			   "bit-field %s must have an integer type", *name ? name : "padding");
		return false;
	}
	if (bits > (int64_t)type_size(c->types, type) * 8) {
		diag_error(c->diags, D_DECL_BFSIZE, d->bits->span,
			   "bit-field %s is wider than its type %s", *name ? name : "padding",
			   type_name(c->types, type, c->arena));
		return false;
	}
	*ret_bits = bits ? (uint32_t)bits : UINT32_MAX;
	return true;
}

bool decl_name_is_plain(struct check *c, struct span at, const char *name)
{
	if (!strchr(name, '`'))
		return true;
	diag_error(c->diags, D_DECL_SCOPE, at, "cannot declare %s: a new name has no scope", name);
	return false;
}

static bool is_anonymous_sou(const struct check *c, const struct member_decl *d, type_id type)
{
	return !d->type->nderivs && !d->type->specs->tag_name && type_is_sou(c->types, type);
}

static struct type_member member_resolve(struct check *c, struct member_decl *d)
{
	const char *name = d->type->name ? d->type->name : "";
	struct type_member m = {.name = name, .type = decl_resolve(c, d->type)};

	if (!decl_name_is_plain(c, d->type->span, name))
		m.type = TYPE_ERROR;
	if (d->type->specs->sc != SC_NONE) {
		diag_error(c->diags, D_DECL_BADCLASS, d->type->specs->sc_span,
			   "a member cannot have a storage class");
		m.type = TYPE_ERROR;
	}
	if (d->bits) {
		if (!bitfield_check(c, d, m.type, name, &m.bit_size))
			m.type = TYPE_ERROR;
	} else if (!*name && !is_anonymous_sou(c, d, m.type) && !type_is_error(c, m.type)) {
		diag_error(c->diags, D_DECL_MNAME, d->type->span, "a member needs a name");
		m.type = TYPE_ERROR;
	} else if (!object_check(c, m.type, d->type->span, "member",
				 arena_printf(c->arena, "%s ", name))) {
		m.type = TYPE_ERROR;
	}
	return m;
}

static bool member_is_new(const struct type_member *members, uint32_t n, const char *name)
{
	for (uint32_t i = 0; *name && i < n; i++)
		if (strcmp(members[i].name, name) == 0)
			return false;
	return true;
}

static struct type_member *members_resolve(struct check *c, struct decl_specs *s)
{
	struct type_member *members = ARENA_NEW_N(c->arena, struct type_member, s->nmembers);
	uint64_t total = 0;

	for (uint32_t i = 0; i < s->nmembers; i++) {
		struct type_name *tn = s->members[i].type;

		members[i] = member_resolve(c, &s->members[i]);
		if (!member_is_new(members, i, members[i].name)) {
			diag_error(c->diags, D_DECL_IDRED, tn->name_span,
				   "member %s is declared twice", members[i].name);
			members[i].name = "";
		}
		/* 32: at most 15 bytes of padding before and after the member */
		total += type_size(c->types, members[i].type) + 32;
		if (total > DECL_MAX_SIZE) {
			diag_error(c->diags, D_DECL_ARRBIG, tn->span, "%s is too big", tag_word(s));
			members[i].type = TYPE_ERROR;
			total = 0;
		}
	}
	return members;
}

/* False after reporting that the tag has a scope, or is defined already. */
static bool tag_is_free(struct check *c, const struct decl_specs *s)
{
	type_id old;

	if (!s->tag_name)
		return true;
	if (strchr(s->tag_name, '`')) {
		diag_error(c->diags, D_DECL_SCOPE, s->span,
			   "cannot define %s %s: the name of a new type has no scope", tag_word(s),
			   s->tag_name);
		return false;
	}
	old = types_find_tag_own(c->types, tag_kind(s), s->tag_name);
	if (old && type_get(c->types, old)->is_complete) {
		diag_error(c->diags, D_DECL_TYPERED, s->span, "type redeclared: %s %s", tag_word(s),
			   s->tag_name);
		return false;
	}
	return true;
}

/* The key with which type_poison() remembers a tag: "struct foo". */
static const char *tag_text(struct check *c, const struct decl_specs *s)
{
	return arena_printf(c->arena, "%s %s", tag_word(s), s->tag_name);
}

/* Poisons a structure of which a member was refused: its size and offsets would be wrong. */
static type_id sou_poison(struct check *c, const struct decl_specs *s)
{
	if (s->tag_name)
		type_poison(c, tag_text(c, s));
	return TYPE_ERROR;
}

static type_id sou_define(struct check *c, struct decl_specs *s)
{
	enum type_kind kind = tag_kind(s);
	struct type_member *members;

	/* the tag is declared before its members are resolved: they may point to it */
	if (s->tag_name && !types_find_tag_own(c->types, kind, s->tag_name))
		type_forward(c->types, kind, s->tag_name);
	members = members_resolve(c, s);
	if (!tag_is_free(c, s)) /* the type of a member may have defined it */
		return TYPE_ERROR;
	for (uint32_t i = 0; i < s->nmembers; i++)
		if (type_is_error(c, members[i].type))
			return sou_poison(c, s);
	return type_define_sou(c->types, kind, s->tag_name, members, s->nmembers);
}

static type_id enum_define(struct check *c, struct decl_specs *s)
{
	struct type_enumerator *items = ARENA_NEW_N(c->arena, struct type_enumerator, s->nitems);
	struct ident **ids = ARENA_NEW_N(c->arena, struct ident *, s->nitems + 1);
	int64_t next = 0;
	type_id type;

	for (uint32_t i = 0; i < s->nitems; i++) {
		struct enum_item *item = &s->items[i];

		if (item->val &&
		    !constant_eval(c, item->val, D_DECL_ENCONST,
				   "value of an enumerator must be an integer constant", &next))
			next = 0;
		if ((next > INT32_MAX || next < INT32_MIN) && !c->in_include) {
			diag_error(c->diags, D_DECL_ENOFLOW, item->span,
				   "enumerator %s value overflow", item->name);
			next = 0;
		}
		ids[i] = check_enumerator(c, item->span, item->name, next);
		items[i] = (struct type_enumerator){.name = item->name, .val = next++};
	}
	type = type_define_enum(c->types, s->tag_name, items, s->nitems);
	for (uint32_t i = 0; i < s->nitems; i++)
		if (ids[i])
			ids[i]->enum_type = type;
	return type;
}

/*
 * Cuts the scope off "C`t" and "D`t", which mean types that D text declared; false: no such scope.
 */
static bool in_declared_container(const char **name)
{
	if (((*name)[0] != 'C' && (*name)[0] != 'D') || (*name)[1] != '`')
		return false;
	*name += 2;
	return true;
}

static type_id fail_unknown(struct check *c, const struct decl_specs *s, const char *name)
{
	const char *tick = strchr(name, '`');

	diag_error(c->diags, D_TYPE_ERR, s->span, "failed to resolve type %s: %s", name,
		   tick && strchr(tick + 1, '`') ? "Improper use of scoping operator in type name"
						 : "unknown type name");
	if (types_import_trouble(c->types))
		diag_hint(c->diags, "%s", types_import_trouble(c->types));
	return TYPE_ERROR;
}

static type_id tag_resolve(struct check *c, struct decl_specs *s)
{
	const char *name;
	bool is_declared;
	type_id id;

	if (s->has_body) {
		if (!tag_is_free(c, s))
			return TYPE_ERROR;
		return s->tag == TAG_ENUM ? enum_define(c, s) : sou_define(c, s);
	}
	if (!s->tag_name)
		return TYPE_ERROR; /* the parser has reported the syntax error */
	name = s->tag_name;
	is_declared = in_declared_container(&name);
	if (type_is_poisoned(c, tag_text(c, s)))
		return TYPE_ERROR;
	if (!types_find_tag_known(c->types, tag_kind(s), name))
		(void)check_define(c, name,
				   strlen(name)); /* if not, it is a kernel type or a forward */
	if (is_declared)
		id = types_find_tag_declared(c->types, tag_kind(s), name);
	else
		id = types_find_tag(c->types, tag_kind(s), name);
	if (id)
		return id;
	return strchr(s->tag_name, '`') ? fail_unknown(c, s, s->tag_name)
					: type_forward(c->types, tag_kind(s), s->tag_name);
}

static type_id name_resolve(struct check *c, const struct decl_specs *s)
{
	const char *name = s->name;
	type_id id;

	if (type_is_poisoned(c, name))
		return TYPE_ERROR;
	if (in_declared_container(&name))
		id = types_find_declared(c->types, name, strlen(name));
	else
		id = types_find(c->types, name, strlen(name));
	return id ? id : fail_unknown(c, s, s->name);
}

struct qual_spec {
	uint32_t flag;
	enum type_kind kind;
};

static const struct qual_spec qual_specs[] = {
	{SPEC_CONST, TK_CONST},
	{SPEC_VOLATILE, TK_VOLATILE},
	{SPEC_RESTRICT, TK_RESTRICT},
	{SPEC_USERLAND, TK_USERLAND},
};

static type_id type_add_quals(struct check *c, type_id type, uint32_t flags)
{
	for (size_t i = 0; i < ARRAY_LEN(qual_specs); i++)
		if (flags & qual_specs[i].flag)
			type = type_qualified(c->types, qual_specs[i].kind, type);
	return type;
}

type_id decl_specs_resolve(struct check *c, struct decl_specs *s)
{
	type_id type;

	if (s->resolved)
		return s->resolved;
	if (!specs_check(c, s))
		type = TYPE_ERROR;
	else if (s->tag != TAG_NONE)
		type = tag_resolve(c, s);
	else if (s->name)
		type = name_resolve(c, s);
	else
		type = spec_words_type(s->flags);
	s->resolved = type_is_error(c, type) ? TYPE_ERROR : type_add_quals(c, type, s->flags);
	return s->resolved;
}

/* ---- derivations ----------------------------------------------------------------------------- */

static type_id deriv_pointer(struct check *c, const struct deriv *d, type_id of)
{
	/* 'userland char **' says that the inner pointer, too, leads to user memory */
	if (type_is_pointer(c->types, of) && type_is_userland(c->types, of))
		of = type_qualified(c->types, TK_USERLAND, of);
	if (d->quals & SPEC_USERLAND)
		of = type_qualified(c->types, TK_USERLAND, of);
	return type_add_quals(c, type_pointer(c->types, of), d->quals & ~(uint32_t)SPEC_USERLAND);
}

/* may_be_open: the number of elements may be missing, as in 'extern int table[];'. */
static type_id deriv_array(struct check *c, const struct deriv *d, type_id of, bool may_be_open)
{
	static const char bad_dim[] =
		"array dimension must be a positive constant or a list of types";
	int64_t dim;

	if (!object_check(c, of, d->span, "array element", ""))
		return TYPE_ERROR;
	if (!d->dim && may_be_open)
		return type_array(c->types, of, 0);
	if (!d->dim) {
		diag_error(c->diags, D_DECL_ARRNULL, d->span,
			   "array declaration requires a dimension");
		return TYPE_ERROR;
	}
	if (!constant_eval(c, d->dim, D_DECL_ARRSUB, bad_dim, &dim))
		return TYPE_ERROR;
	if (dim <= 0) {
		diag_error(c->diags, D_DECL_ARRSUB, d->span, "%s", bad_dim);
		return TYPE_ERROR;
	}
	if (dim > DECL_MAX_SIZE / MAX(type_size(c->types, of), 1u)) {
		diag_error(c->diags, D_DECL_ARRBIG, d->span, "array is too big: at most %u bytes",
			   DECL_MAX_SIZE);
		return TYPE_ERROR;
	}
	return type_array(c->types, of, (uint32_t)dim);
}

static type_id deriv_function(struct check *c, const struct deriv *d, type_id of)
{
	type_id *types;
	uint32_t n;

	if (!decl_params(c, d->params, d->nparams, d->varargs, d->span, 0, &types, &n))
		return TYPE_ERROR;
	return type_function(c->types, of, types, n, d->varargs);
}

static type_id deriv_apply(struct check *c, const struct deriv *d, type_id of, bool may_be_open)
{
	switch (d->kind) {
	case DERIV_PTR: return deriv_pointer(c, d, of);
	case DERIV_ARRAY: return deriv_array(c, d, of, may_be_open);
	case DERIV_FUNC: return deriv_function(c, d, of);
	case DERIV_ASSOC: break; /* declarator_type() resolves it */
	}
	BUG("derivation %d", (int)d->kind);
}

static bool deriv_assoc(struct check *c, const struct deriv *d, type_id of, struct decl_object *ret)
{
	if (!object_check(c, of, d->span, "associative array element", ""))
		return false;
	ret->type = of;
	ret->is_assoc = true;
	return decl_params(c, d->params, d->nparams, d->varargs, d->span, DECL_PARAMS_PROVIDER,
			   &ret->keys, &ret->nkeys);
}

/* ret_assoc: NULL where an associative array is not allowed. */
static type_id declarator_type(struct check *c, struct type_name *tn, struct decl_object *ret_assoc)
{
	type_id type = decl_specs_resolve(c, tn->specs);

	for (uint32_t i = 0; i < tn->nderivs && !type_is_error(c, type); i++) {
		const struct deriv *d = &tn->derivs[i];

		if (d->kind != DERIV_ASSOC) {
			type = deriv_apply(c, d, type,
					   c->in_include || (tn->specs->sc == SC_EXTERN &&
							     i + 1 == tn->nderivs));
		} else if (!ret_assoc || i + 1 < tn->nderivs) {
			diag_error(c->diags, D_DECL_DYNOBJ, d->span,
				   "an associative array cannot be part of another type");
			type = TYPE_ERROR;
		} else if (!deriv_assoc(c, d, type, ret_assoc)) {
			type = TYPE_ERROR;
		}
	}
	return type;
}

type_id decl_resolve(struct check *c, struct type_name *tn)
{
	return declarator_type(c, tn, NULL);
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* Whether the list is '(void)', which means no parameters. */
static bool params_are_void(const struct check *c, struct type_name **params, uint32_t n,
			    type_id first)
{
	return n == 1 && !params[0]->name && !params[0]->nderivs && type_is_void(c->types, first);
}

/* The type of a parameter. 'char a[]' is a pointer, so the number of elements may be missing. */
static type_id param_type(struct check *c, struct type_name *tn)
{
	struct type_name inner = *tn;
	bool is_array = tn->nderivs && tn->derivs[tn->nderivs - 1].kind == DERIV_ARRAY &&
			!tn->derivs[tn->nderivs - 1].dim;
	type_id type;

	if (is_array)
		inner.nderivs--;
	type = declarator_type(c, &inner, NULL);
	if (type_is_error(c, type))
		return TYPE_ERROR;
	if (is_array)
		return type_pointer(c->types, type);
	if (type_kind(c->types, type) == TK_ARRAY)
		return type_pointer(c->types, type_deref(c->types, type));
	if (type_kind(c->types, type) == TK_FUNC)
		return type_pointer(c->types, type);
	return type;
}

static bool param_check(struct check *c, const struct type_name *tn, type_id type, uint32_t flags)
{
	if (tn->specs->sc != SC_NONE) {
		diag_error(c->diags, D_DECL_PARMCLASS, tn->specs->sc_span,
			   "a parameter cannot have a storage class");
		return false;
	}
	if (type_is_error(c, type))
		return false;
	if (type_is_void(c->types, type)) {
		diag_error(c->diags, tn->name ? D_DECL_PROTO_NAME : D_DECL_PROTO_VOID, tn->span,
			   tn->name ? "a void parameter cannot have a name"
				    : "void must be the only parameter");
		return false;
	}
	if (flags & DECL_PARAMS_NAMED && !tn->name) {
		diag_error(c->diags, D_DECL_PROTO_NAME, tn->span, "a parameter needs a name");
		return false;
	}
	return true;
}

bool decl_params(struct check *c, struct type_name **params, uint32_t n, bool varargs,
		 struct span at, uint32_t flags, type_id **ret_types, uint32_t *ret_n)
{
	type_id *types = ARENA_NEW_N(c->arena, type_id, n);
	bool is_good = true;

	if (varargs && flags & DECL_PARAMS_PROVIDER) {
		diag_error(c->diags, D_DECL_PROTO_VARARGS, at,
			   "a variable number of parameters is not possible here");
		return false;
	}
	for (uint32_t i = 0; i < n; i++) {
		types[i] = param_type(c, params[i]);
		if (params_are_void(c, params, n, types[i]) && params[i]->specs->sc == SC_NONE) {
			n = 0;
			break;
		}
		if (!param_check(c, params[i], types[i], flags))
			is_good = false;
	}
	if (!is_good)
		return false;
	*ret_types = types;
	*ret_n = n;
	return true;
}

/* ---- declarations ---------------------------------------------------------------------------- */

/* False after reporting a type that is too large for a variable (d-language.md 4.1). */
static bool size_check(struct check *c, const struct type_name *tn, type_id type, uint32_t max_size)
{
	uint32_t size = type_size(c->types, type);

	if (tn->specs->sc == SC_EXTERN || !type_is_byref(c->types, type) ||
	    type_is_string(c->types, type) || (size > 0 && size <= max_size))
		return true;
	diag_error(c->diags, size ? D_DECL_ARRBIG : D_DECL_INCOMPLETE, tn->span,
		   "variable %s has %u bytes: 1 to %u are possible", tn->name, size, max_size);
	return false;
}

bool decl_object(struct check *c, struct type_name *tn, uint32_t max_size, struct decl_object *ret)
{
	enum storage_class sc = tn->specs->sc;
	struct decl_object o = {0};
	type_id type = declarator_type(c, tn, &o);

	if (type_is_error(c, type))
		return false;
	if (sc == SC_AUTO || sc == SC_REGISTER || sc == SC_STATIC || sc == SC_TYPEDEF) {
		diag_error(c->diags, D_DECL_BADCLASS, tn->specs->sc_span,
			   "%s: this storage class is not possible for a D variable", tn->name);
		return false;
	}
	if (o.is_assoc && sc == SC_THIS) {
		diag_error(c->diags, D_DECL_LOCASSC, tn->span,
			   "this->%s: a clause-local variable cannot be an associative array",
			   tn->name);
		return false;
	}
	if (!o.is_assoc) {
		bool is_elsewhere = sc == SC_EXTERN || type_kind(c->types, type) == TK_FUNC;

		o.type = type;
		if (!is_elsewhere && !object_check(c, type, tn->span, "variable",
						   arena_printf(c->arena, "%s ", tn->name)))
			return false;
	}
	if (!size_check(c, tn, o.type, max_size))
		return false;
	*ret = o;
	return true;
}

/*
 * Whether an included header repeats an earlier typedef, which C allows: the same type, or one of
 * D's types, from which it may differ in sign (id_t).
 */
static bool is_repetition(struct check *c, type_id old, type_id type)
{
	if (!c->in_include)
		return false;
	if (type_same(c->types, old, type))
		return true;
	return old < TYPE_FIRST_FREE && type_is_integer(c->types, old) &&
	       type_is_integer(c->types, type) &&
	       type_size(c->types, old) == type_size(c->types, type);
}

bool decl_typedef(struct check *c, struct type_name *tn)
{
	type_id type = declarator_type(c, tn, NULL), old;

	if (type_is_error(c, type)) {
		type_poison(c, tn->name);
		return false;
	}
	if (strchr(tn->name, '`')) {
		diag_error(c->diags, D_DECL_SCOPE, tn->name_span,
			   "cannot define type %s: the name of a new type has no scope", tn->name);
		return false;
	}
	old = types_find_own(c->types, tn->name, strlen(tn->name));
	if (old && is_repetition(c, old, type))
		return true;
	if (old) {
		diag_error(c->diags, D_DECL_IDRED, tn->name_span, "type redeclared: %s", tn->name);
		return false;
	}
	type_define_typedef(c->types, tn->name, type);
	return true;
}

bool decl_alone(struct check *c, struct decl_specs *specs)
{
	type_id type = decl_specs_resolve(c, specs);

	if (type_is_error(c, type))
		return false;
	/* a struct without a tag can never be used, but C accepts it, too */
	if (specs->tag && (specs->has_body || specs->tag_name))
		return true;
	diag_error(c->diags, D_DECL_USELESS, specs->span,
		   "useless declaration: it declares no name");
	return false;
}
