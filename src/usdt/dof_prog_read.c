/* SPDX-License-Identifier: MIT */
/* Reads ustack helpers from DOF, which a hostile program may have made. */
#include <inttypes.h>

#include "base/text.h"
#include "usdt/dof_prog_impl.h"

#define IMAGES_MAX  8	       /* images with helpers in one file */
#define CLAUSES_MAX 1024       /* of an image */
#define ACTS_MAX    8192       /* of an image */
#define ARGS_MAX    16	       /* of an action */
#define INSNS_MAX   16384      /* of an image */
#define DIFO_MAX    2048       /* instructions of an object */
#define VARS_MAX    512	       /* of an image */
#define BYTES_MAX   (4u << 20) /* that an image's objects copy: they may share tables */
#define LINKS_MAX   16	       /* of an object to its tables */
#define NAME_MAX_   255
#define LOOPS_MAX   8 /* in one another */
#define TIMES_MAX   65536

struct prog_reader {
	struct dof_bytes im;
	struct arena *a;
	struct err *err;  /* the first */
	const char *file; /* what the text is called; NULL: unknown */
	uint32_t ninsns, nacts, nbytes;
	VEC(struct prog_clause *) clauses;
	VEC(struct prog_var *) vars;
};

PRINTF_LIKE(2, 3) static void reader_refuse(struct prog_reader *r, const char *fmt, ...)
{
	struct strbuf text = {0};
	va_list ap;

	if (r->err)
		return;
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	r->err = err_new("%s", strbuf_text(&text));
	strbuf_deinit(&text);
}

/* Copies a struct of a section; false after a refusal. */
static bool struct_get(struct prog_reader *r, uint32_t n, uint32_t type, void *to, size_t size)
{
	const uint8_t *data;
	uint64_t have;

	if (!dof_section_get(&r->im, n, type, &data, &have) || have < size) {
		reader_refuse(
			r, "its DOF is damaged: section %u of %u is truncated, or not of type %u",
			n, r->im.h.secnum, type);
		return false;
	}
	memcpy(to, data, size);
	return true;
}

/* ---- DIF objects ----------------------------------------------------------------------------- */

/* Copies the elements of a table; returns how many there are. */
static uint32_t table_copy(struct prog_reader *r, uint32_t n, uint32_t type, size_t entry,
			   uint32_t max, void *ret)
{
	const uint8_t *data;
	uint64_t size;

	if (!dof_section_get(&r->im, n, type, &data, &size) || size % entry || size / entry > max ||
	    size > BYTES_MAX - r->nbytes) {
		reader_refuse(r, "its DOF is damaged, or too large: table %u of type %u", n, type);
		return 0;
	}
	r->nbytes += (uint32_t)size;
	*(void **)ret = arena_memdup(r->a, data, size ? size : 1);
	return (uint32_t)(size / entry);
}

/* Other systems write strings whose size is to be chosen by the reader. */
static struct dif_type type_read(const struct dof_type *t)
{
	struct dif_type type = {t->kind, t->ckind, t->flags, t->is_signed == 1, t->size};

	if (type.kind == DIF_KIND_STRING) {
		type.flags = DIF_TF_BYREF;
		type.size = 256;
	}
	return type;
}

static void vars_read(struct prog_reader *r, struct difo *d, const struct dof_var *from, uint32_t n)
{
	d->vars = ARENA_NEW_N(r->a, struct dif_var, n + 1);
	for (uint32_t i = 0; i < n && !r->err; i++) {
		const char *name = d->strs ? dof_text_at((const uint8_t *)d->strs, d->strs_size,
							 from[i].name, NAME_MAX_)
					   : NULL;

		if (!name || from[i].flags > UINT8_MAX) {
			reader_refuse(r, "its DOF is damaged: variable %u", i);
			return;
		}
		d->vars[d->vars_len++] =
			(struct dif_var){.name = text_clean(arena_strdup(r->a, name)),
					 .id = from[i].id,
					 .kind = from[i].kind,
					 .scope = from[i].scope,
					 .flags = (uint8_t)from[i].flags,
					 .type = type_read(&from[i].type)};
	}
}

/* Notes the variable for the whole program; in all objects it has the same type. */
static void var_note(struct prog_reader *r, const struct dif_var *v)
{
	struct prog_var *p;

	if (v->id < DIF_VAR_USER)
		return;
	for (uint32_t i = 0; i < r->vars.len; i++) {
		p = r->vars.data[i];
		if (p->id != v->id || p->scope != v->scope)
			continue;
		if (p->kind != v->kind || p->type.kind != v->type.kind ||
		    p->type.size != v->type.size || p->type.flags != v->type.flags)
			reader_refuse(r, "variable '%s' has several types", v->name);
		return;
	}
	if (r->vars.len == VARS_MAX) {
		reader_refuse(r, "it has more than %d variables", VARS_MAX);
		return;
	}
	p = ARENA_NEW(r->a, struct prog_var);
	*p = (struct prog_var){.name = v->name,
			       .id = v->id,
			       .scope = v->scope,
			       .kind = v->kind,
			       .type = v->type};
	vec_push(&r->vars, p);
}

/* Whether each register has a value, on all paths, before it is used. Branches go forward. */
static bool regs_are_set(const struct difo *d)
{
	CLEANUP(free) uint32_t *in = xmalloc(d->code_len * sizeof(*in));

	memset(in, 0xff, d->code_len * sizeof(*in)); /* not reached yet */
	in[0] = 1;
	for (uint32_t i = 0; i < d->code_len; i++) {
		dif_insn insn = d->code[i];
		struct dif_uses u = dif_insn_uses(insn);
		uint32_t set = in[i];

		for (uint32_t k = 0; k < u.nreads; k++)
			if (!(set >> u.reads[k] & 1))
				return false;
		set |= 1u << u.writes;
		if (dif_op_form(DIF_INSN_OP(insn)) == DIF_FORM_LABEL)
			in[DIF_INSN_LABEL(insn)] &= set;
		if (DIF_INSN_OP(insn) != DIF_OP_BA && DIF_INSN_OP(insn) != DIF_OP_RET)
			in[i + 1] &= set;
	}
	return true;
}

static void difo_check(struct prog_reader *r, const struct difo *d)
{
	_Static_assert(DOF_PROG_REGS <= 32, "a word of bits");

	if (r->err)
		return;
	r->ninsns += d->code_len;
	if (r->ninsns > INSNS_MAX) {
		reader_refuse(r, "it has more than %d instructions", INSNS_MAX);
		return;
	}
	r->err = difo_verify(d, DOF_PROG_REGS);
	if (!r->err && !regs_are_set(d))
		reader_refuse(r, "a DIF object uses a register without a value");
	for (uint32_t i = 0; i < d->vars_len && !r->err; i++)
		var_note(r, &d->vars[i]);
}

/* Reads the tables to which the header of an object leads. */
static void links_read(struct prog_reader *r, const uint8_t *links, uint32_t n, struct difo *d)
{
	struct dof_var *vars = NULL;
	uint32_t nvars = 0;

	for (uint32_t i = 0; i < n && !r->err; i++) {
		struct dof_section s;
		uint32_t sect;

		memcpy(&sect, links + 4ul * i, 4);
		if (!dof_section_head(&r->im, sect, &s)) {
			reader_refuse(r, "its DOF is damaged: there is no section %u", sect);
			return;
		}
		switch (s.type) {
		case DOF_DIF:
			d->code_len = table_copy(r, sect, s.type, 4, DIFO_MAX, &d->code);
			break;
		case DOF_INTTAB:
			d->ints_len = table_copy(r, sect, s.type, 8, DIFO_MAX, &d->ints);
			break;
		case DOF_STRTAB:
			d->strs_size = table_copy(r, sect, s.type, 1, DIF_MAX_INDEX, &d->strs);
			break;
		case DOF_VARTAB:
			nvars = table_copy(r, sect, s.type, sizeof(*vars), VARS_MAX, &vars);
			break;
		default:
			reader_refuse(r,
				      "it needs symbols of the kernel or translators (section "
				      "of type %u)",
				      s.type);
		}
	}
	if (!r->err)
		vars_read(r, d, vars, nvars);
}

static struct difo *difo_read(struct prog_reader *r, uint32_t sect)
{
	struct difo *d = ARENA_NEW(r->a, struct difo);
	struct dof_type type;
	const uint8_t *data;
	uint64_t size;

	*d = (struct difo){0};
	if (!struct_get(r, sect, DOF_DIFOHDR, &type, sizeof(type)))
		return NULL;
	(void)dof_section_get(&r->im, sect, DOF_DIFOHDR, &data, &size);
	d->ret = type_read(&type);
	if ((size - sizeof(type)) / 4 > LINKS_MAX)
		reader_refuse(r, "its DOF is damaged: an object has more than %d tables",
			      LINKS_MAX);
	else
		links_read(r, data + sizeof(type), (uint32_t)((size - sizeof(type)) / 4), d);
	difo_check(r, d);
	return r->err ? NULL : d;
}

/* ---- actions --------------------------------------------------------------------------------- */

static bool act_kind_read(uint32_t kind, enum act_kind *ret)
{
	*ret = ACT_EXPR;
	if (kind >= DOF_ACT_OURS && kind - DOF_ACT_OURS < ARRAY_LEN(dof_acts_ours))
		*ret = dof_acts_ours[kind - DOF_ACT_OURS];
	return *ret != ACT_EXPR || kind == DOF_ACT_DIFEXPR;
}

static bool nargs_is_right(enum act_kind kind, uint32_t n)
{
	switch ((int)kind) {
	case ACT_EXPR:
	case ACT_BRZ: return n == 1;
	case ACT_UFRAME: return n >= 1 && n <= ARGS_MAX;
	case ACT_UNWIND: return n == 3;
	default: return n == 0;
	}
}

static void args_read(struct prog_reader *r, const struct dof_act *d, uint32_t n,
		      struct prog_act *act)
{
	act->nargs = n;
	act->args = ARENA_NEW_N(r->a, struct difo *, n + 1);
	act->arg_kinds = ARENA_NEW_N(r->a, enum datum_kind, n + 1);
	for (uint32_t k = 0; k < n && !r->err; k++) {
		act->args[k] = difo_read(r, d[k].difo);
		act->arg_kinds[k] =
			act->args[k] && act->args[k]->ret.kind == DIF_KIND_STRING ? DATUM_STRING
			: act->args[k] && dif_type_is_byref(&act->args[k]->ret)	  ? DATUM_STRUCT
										  : DATUM_INT;
	}
}

/* Reads where jumps and loops lead; they are numbers of actions, which act_is_right() checks. */
static void arg_read(const struct dof_act *d, struct prog_act *act)
{
	if (act_holds(act->kind) == HOLDS_TARGET) {
		act->target = (uint32_t)MIN(d->arg, (uint64_t)UINT32_MAX);
	} else if (act_holds(act->kind) == HOLDS_LOOP) {
		act->loop.depth = (uint32_t)(d->arg >> 32);
		act->loop.most = act->kind == ACT_LOOP ? (uint32_t)d->arg : 0;
		act->loop.head = act->kind == ACT_LOOP ? 0 : (uint32_t)d->arg;
	}
}

static bool act_is_right(const struct prog_clause *cl, uint32_t i)
{
	const struct prog_act *act = &cl->acts[i], *head;

	switch ((int)act->kind) {
	case ACT_BRZ:
	case ACT_JMP: return act->target > i && act->target <= cl->nacts;
	case ACT_LOOP:
		return act->loop.depth < LOOPS_MAX && act->loop.most >= 1 &&
		       act->loop.most <= TIMES_MAX;
	case ACT_AGAIN:
		if (!act->loop.head || act->loop.head > i)
			return false;
		head = &cl->acts[act->loop.head - 1];
		return head->kind == ACT_LOOP && head->loop.depth == act->loop.depth;
	default: return true;
	}
}

static void acts_read(struct prog_reader *r, uint32_t sect, struct prog_clause *cl)
{
	struct dof_act *d = NULL;
	uint32_t n = table_copy(r, sect, DOF_ACTDESC, sizeof(*d), ACTS_MAX, &d), nargs;

	r->nacts += n;
	if (r->nacts > ACTS_MAX)
		reader_refuse(r, "it has more than %d actions", ACTS_MAX);
	cl->acts = ARENA_NEW_N(r->a, struct prog_act, n + 1);
	for (uint32_t i = 0; i < n && !r->err; i += MAX(nargs, 1u)) {
		struct prog_act *act = &cl->acts[cl->nacts];

		*act = (struct prog_act){.span = (uint32_t)MIN(d[i].uarg, (uint64_t)INT32_MAX)};
		if (!act_kind_read(d[i].kind, &act->kind)) {
			reader_refuse(r,
				      "%s:%u: a ustack helper may not use actions that are no "
				      "expressions",
				      r->file ? r->file : "DOF", act->span);
			return;
		}
		nargs = act->kind == ACT_EXPR ? 1 : d[i].ntuple;
		if (!nargs_is_right(act->kind, nargs) || nargs > n - i) {
			reader_refuse(r, "its DOF is damaged: an action has %u arguments", nargs);
			return;
		}
		arg_read(&d[i], act);
		args_read(r, &d[i], nargs, act);
		cl->nacts++;
	}
	for (uint32_t i = 0; i < cl->nacts && !r->err; i++)
		if (!act_is_right(cl, i))
			reader_refuse(r, "its DOF is damaged: a jump or loop leads nowhere");
}

/* ---- clauses --------------------------------------------------------------------------------- */

static const char *desc_text(struct prog_reader *r, uint32_t strtab, uint32_t off)
{
	const uint8_t *table;
	const char *text = NULL;
	uint64_t size;

	if (dof_section_get(&r->im, strtab, DOF_STRTAB, &table, &size))
		text = dof_text_at(table, size, off, NAME_MAX_);
	if (!text)
		reader_refuse(r, "its DOF is damaged: a description of probes has no text");
	return text ? arena_strdup(r->a, text) : "";
}

static bool desc_is_helper(const struct probe_desc *d)
{
	return strcmp(d->prov, "dtrace") == 0 && strcmp(d->mod, "helper") == 0 && !*d->name &&
	       (strcmp(d->func, "ustack") == 0 || strcmp(d->func, "uthread") == 0 ||
		strcmp(d->func, "attach") == 0);
}

static void clause_read(struct prog_reader *r, uint32_t sect)
{
	struct prog_clause *cl = ARENA_NEW(r->a, struct prog_clause);
	struct dof_probedesc desc;
	struct dof_ecb ecb;

	*cl = (struct prog_clause){0};
	if (!struct_get(r, sect, DOF_ECBDESC, &ecb, sizeof(ecb)) ||
	    !struct_get(r, ecb.probe, DOF_PROBEDESC, &desc, sizeof(desc)))
		return;
	cl->desc.prov = desc_text(r, desc.strtab, desc.prov);
	cl->desc.mod = desc_text(r, desc.strtab, desc.mod);
	cl->desc.func = desc_text(r, desc.strtab, desc.func);
	cl->desc.name = desc_text(r, desc.strtab, desc.name);
	if (r->err || !desc_is_helper(&cl->desc))
		return; /* an enabling of something else does nothing in a program */
	cl->span = (uint32_t)MIN(ecb.uarg, (uint64_t)INT32_MAX);
	if (ecb.pred != DOF_NO_SECT)
		cl->pred = difo_read(r, ecb.pred);
	if (!r->err)
		acts_read(r, ecb.acts, cl);
	if (r->clauses.len == CLAUSES_MAX)
		reader_refuse(r, "it has more than %d clauses", CLAUSES_MAX);
	if (!r->err)
		vec_push(&r->clauses, cl);
}

/* What the image can be run by. */
static void image_check(struct prog_reader *r)
{
	uint16_t one = 1;
	uint8_t native = *(const uint8_t *)&one ? 1 : 2;
	const struct dof_header *h = &r->im.h;

	if (h->model != 2 || h->encoding != native)
		reader_refuse(r, "it was made for 32-bit programs, or another byte order");
	else if (h->dif_version != DIF_VERSION || !h->version || h->version > 3)
		reader_refuse(r,
			      "it has DOF of version %u with DIF of version %u, and versions 1 "
			      "to 3 with %u are known",
			      h->version, h->dif_version, DIF_VERSION);
	else if (h->int_regs > DOF_PROG_REGS)
		reader_refuse(r, "it needs %u registers, and there are %u", h->int_regs,
			      DOF_PROG_REGS);
}

static const char *file_of(struct prog_reader *r)
{
	size_t n = strlen(DOF_PROG_COMMENT);

	for (uint32_t i = 0; i < r->im.h.secnum; i++) {
		const uint8_t *data;
		uint64_t size;
		const char *text;

		if (!dof_section_get(&r->im, i, DOF_COMMENTS, &data, &size))
			continue;
		text = dof_text_at(data, size, 0, NAME_MAX_);
		if (text && strncmp(text, DOF_PROG_COMMENT, n) == 0)
			return text_clean(arena_strdup(r->a, text + n));
	}
	return NULL;
}

/* Reads the clauses of an image. */
static struct err *image_read(struct prog_reader *r, struct dof_prog *ret)
{
	bool is_checked = false;

	r->file = file_of(r);
	for (uint32_t i = 0; i < r->im.h.secnum && !r->err; i++) {
		struct dof_section s;

		if (!dof_section_head(&r->im, i, &s) || s.type != DOF_ECBDESC)
			continue;
		if (!is_checked)
			image_check(r);
		is_checked = true;
		if (!r->err)
			clause_read(r, i);
	}
	*ret = (struct dof_prog){
		.file = r->file,
		.prog.nclauses = r->clauses.len,
		.prog.clauses = arena_memdup(r->a, r->clauses.data,
					     MAX(r->clauses.len, 1u) * sizeof(*r->clauses.data)),
		.vars.len = r->vars.len,
		.vars.vars = arena_memdup(r->a, r->vars.data,
					  MAX(r->vars.len, 1u) * sizeof(*r->vars.data)),
	};
	return r->err;
}

bool dof_has_clauses(const uint8_t *bytes, size_t size)
{
	struct dof_bytes im;
	struct dof_section s;

	while (dof_image_open(bytes, size, &im)) {
		for (uint32_t i = 0; i < im.h.secnum; i++)
			if (dof_section_head(&im, i, &s) && s.type == DOF_ECBDESC)
				return true;
		if (!dof_image_next(&im, &bytes, &size))
			break;
	}
	return false;
}

struct err *dof_progs_read(const uint8_t *bytes, size_t size, struct arena *a,
			   struct dof_prog **ret, uint32_t *ret_n)
{
	struct dof_prog *all = ARENA_NEW_N(a, struct dof_prog, IMAGES_MAX);
	struct err *e = NULL;
	struct dof_bytes im;
	uint32_t n = 0;

	size = MIN(size, (size_t)DOF_PROG_SIZE);
	while (!e && n < IMAGES_MAX && dof_image_open(bytes, size, &im)) {
		struct prog_reader r = {.im = im, .a = a};

		vec_push(&r.clauses, NULL); /* so that there is something to copy */
		vec_push(&r.vars, NULL);
		r.clauses.len = r.vars.len = 0;
		e = image_read(&r, &all[n]);
		n += all[n].prog.nclauses > 0;
		vec_deinit(&r.clauses);
		vec_deinit(&r.vars);
		if (!dof_image_next(&im, &bytes, &size))
			break;
	}
	*ret = all;
	*ret_n = n;
	return e;
}
