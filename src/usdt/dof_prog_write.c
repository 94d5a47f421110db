/* SPDX-License-Identifier: MIT */
/* Writes ustack helpers as DOF. */
#include "usdt/dof_prog_impl.h"

struct prog_writer {
	struct dof_writer w;
	uint32_t strtab; /* the section of the texts of descriptions */
	dof_line_fn *line;
	void *ctx;
};

static struct dof_type type_make(const struct dif_type *t)
{
	return (struct dof_type){t->kind, t->ckind, t->flags, t->is_signed, t->size};
}

/* The strings of an object, and behind them the names of its variables. */
static uint32_t strings_add(struct prog_writer *pw, const struct difo *d, struct dof_var *vars)
{
	struct strbuf all = {0};
	uint32_t sect;

	strbuf_add(&all, d->strs_size ? d->strs : "", d->strs_size ? d->strs_size : 1);
	for (uint32_t i = 0; i < d->vars_len; i++) {
		vars[i].name = (uint32_t)all.len;
		strbuf_add(&all, d->vars[i].name, strlen(d->vars[i].name) + 1);
	}
	sect = dof_section_add(&pw->w, DOF_STRTAB, 1, 0, all.data, all.len);
	strbuf_deinit(&all);
	return sect;
}

static void regs_note(struct dof_writer *w, const struct difo *d)
{
	for (uint32_t i = 0; i < d->code_len; i++) {
		struct dif_uses u = dif_insn_uses(d->code[i]);

		w->nregs = MAX(w->nregs, (uint8_t)(u.writes + 1));
	}
}

/* Adds a DIF object; returns the section of its header. */
static uint32_t difo_add(struct prog_writer *pw, const struct difo *d)
{
	CLEANUP(free) struct dof_var *vars = xcalloc(d->vars_len + 1, sizeof(*vars));
	struct {
		struct dof_type type;
		uint32_t links[4];
	} head = {.type = type_make(&d->ret)};
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->vars_len; i++)
		vars[i] = (struct dof_var){.id = d->vars[i].id,
					   .kind = d->vars[i].kind,
					   .scope = d->vars[i].scope,
					   .flags = d->vars[i].flags,
					   .type = type_make(&d->vars[i].type)};
	regs_note(&pw->w, d);
	head.links[n++] = dof_section_add(&pw->w, DOF_DIF, 4, 4, d->code, d->code_len * 4ul);
	if (d->ints_len)
		head.links[n++] =
			dof_section_add(&pw->w, DOF_INTTAB, 8, 8, d->ints, d->ints_len * 8ul);
	if (d->strs_size || d->vars_len)
		head.links[n++] = strings_add(pw, d, vars);
	if (d->vars_len)
		head.links[n++] = dof_section_add(&pw->w, DOF_VARTAB, 4, sizeof(*vars), vars,
						  d->vars_len * sizeof(*vars));
	return dof_section_add(&pw->w, DOF_DIFOHDR, 4, 0, &head, sizeof(head.type) + n * 4ul);
}

/* The argument of an action that is no expression: dof_prog_impl.h. */
static uint64_t act_arg(const struct prog_act *act)
{
	switch ((int)act_holds(act->kind)) {
	case HOLDS_TARGET: return act->target;
	case HOLDS_LOOP:
		return (act->kind == ACT_LOOP ? act->loop.most : act->loop.head) |
		       (uint64_t)act->loop.depth << 32;
	default: return 0;
	}
}

static uint32_t acts_add(struct prog_writer *pw, const struct prog_clause *cl)
{
	VEC(struct dof_act) acts = {0};
	uint32_t sect;

	for (uint32_t i = 0; i < cl->nacts; i++) {
		const struct prog_act *act = &cl->acts[i];
		struct dof_act d = {.difo = DOF_NO_SECT,
				    .strtab = DOF_NO_SECT,
				    .kind = dof_act_kind(act->kind),
				    .ntuple = act->nargs,
				    .arg = act_arg(act),
				    .uarg = pw->line(pw->ctx, act->span ? act->span : cl->span)};

		if (d.kind == DOF_ACT_DIFEXPR) /* as other systems have it */
			d.ntuple = 0;
		for (uint32_t k = 0; k < MAX(act->nargs, 1u); k++) {
			if (k < act->nargs)
				d.difo = difo_add(pw, act->args[k]);
			vec_push(&acts, d);
			d.ntuple = 0;
		}
	}
	sect = dof_section_add(&pw->w, DOF_ACTDESC, 8, sizeof(*acts.data), acts.data,
			       acts.len * sizeof(*acts.data));
	vec_deinit(&acts);
	return sect;
}

static void clause_add(struct prog_writer *pw, const struct prog_clause *cl)
{
	struct dof_probedesc desc = {.strtab = pw->strtab,
				     .prov = strtab_adds(pw->w.strings, cl->desc.prov),
				     .mod = strtab_adds(pw->w.strings, cl->desc.mod),
				     .func = strtab_adds(pw->w.strings, cl->desc.func)};
	struct dof_ecb ecb = {.pred = DOF_NO_SECT, .uarg = pw->line(pw->ctx, cl->span)};

	ecb.probe = dof_section_add(&pw->w, DOF_PROBEDESC, 4, 0, &desc, sizeof(desc));
	if (cl->pred)
		ecb.pred = difo_add(pw, cl->pred);
	ecb.acts = acts_add(pw, cl);
	(void)dof_section_add(&pw->w, DOF_ECBDESC, 8, 0, &ecb, sizeof(ecb));
}

void dof_prog_write(struct prog_clause *const *clauses, uint32_t n, const char *file,
		    dof_line_fn *line, void *ctx, struct dof_image *out)
{
	struct prog_writer pw = {.w.strings = strtab_create(), .line = line, .ctx = ctx};
	struct strbuf comment = {0};
	uint32_t sect;

	for (uint32_t i = 0; i < n; i++) { /* all texts come before the section that has them */
		(void)strtab_adds(pw.w.strings, clauses[i]->desc.prov);
		(void)strtab_adds(pw.w.strings, clauses[i]->desc.mod);
		(void)strtab_adds(pw.w.strings, clauses[i]->desc.func);
	}
	pw.strtab = dof_section_add(&pw.w, DOF_STRTAB, 1, 0, strtab_data(pw.w.strings),
				    strtab_size(pw.w.strings));
	for (uint32_t i = 0; i < n; i++)
		clause_add(&pw, clauses[i]);
	strbuf_addf(&comment, DOF_PROG_COMMENT "%s", file);
	sect = dof_section_add(&pw.w, DOF_COMMENTS, 1, 0, comment.data, comment.len + 1);
	pw.w.sections.data[sect].flags = 0;
	dof_image_add(&pw.w, true, out);
	strbuf_deinit(&comment);
	dof_writer_deinit(&pw.w);
}
