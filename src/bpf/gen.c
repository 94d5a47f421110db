/* SPDX-License-Identifier: MIT */
/* Code generation: small helpers that all of its files use. */
#include "bpf/gen.h"

void gen_fail(struct gen *g, const char *fmt, ...)
{
	struct strbuf text = {0};
	va_list ap;

	if (g->err)
		return;
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	g->err = err_new("%s", strbuf_text(&text));
	strbuf_deinit(&text);
}

uint32_t gen_cold(struct gen *g, struct cold c)
{
	c.entry = em_label(&g->e);
	c.span = g->e.span;
	vec_push(&g->cold, c);
	return c.entry;
}

void gen_flush_cold(struct gen *g, uint32_t first)
{
	uint32_t span = g->e.span;

	/* a piece may add others */
	for (uint32_t i = first; i < g->cold.len; i++) {
		struct cold c = g->cold.data[i];

		g->e.span = c.span;
		em_here(&g->e, c.entry);
		c.emit(g, &c);
	}
	g->cold.len = first;
	g->e.span = span;
}

#define FAULT_OFF(field)                                                                           \
	(int32_t)(offsetof(struct rt_mach, fault) + offsetof(struct rt_fault, field))

static void emit_fault(struct gen *g, const struct cold *c)
{
	struct emitter *e = &g->e;

	if (c->kind) {
		int v = ra_loc_use(g, &c->value, R1);

		em_store(e, 8, R9, FAULT_OFF(value), v);
		em_store_imm(e, 4, R9, FAULT_OFF(kind), (int32_t)c->kind);
	}
	em_store_imm(e, 4, R9, FAULT_OFF(action), (int32_t)c->action);
	em_store_imm(e, 4, R9, FAULT_OFF(offset), (int32_t)c->offset);
	em_ja(e, g->fault);
	g->fault_used = true;
}

uint32_t gen_fault(struct gen *g, uint32_t kind, uint32_t action, uint32_t offset,
		   struct ra_loc value)
{
	/* all checks of an instruction share one piece of code */
	if (g->cold.len) {
		const struct cold *last = vec_last(&g->cold);

		if (last->emit == emit_fault && last->kind == kind && last->action == action &&
		    last->offset == offset && ra_loc_same(&last->value, &value))
			return last->entry;
	}
	return gen_cold(g, (struct cold){.emit = emit_fault,
					 .kind = kind,
					 .action = action,
					 .offset = offset,
					 .value = value});
}

uint32_t gen_func(struct gen *g, const char *name, void (*emit)(struct gen *g, uint32_t arg),
		  uint32_t arg)
{
	for (uint32_t i = 0; i < g->late.len; i++)
		if (g->late.data[i].emit == emit && g->late.data[i].arg == arg)
			return g->first_late + i;
	vec_push(&g->late, (struct late_func){name, emit, arg});
	return g->first_late + g->late.len - 1;
}

void gen_count(struct gen *g, uint32_t field_off)
{
	struct emitter *e = &g->e;
	uint32_t skip = em_label(e);

	gen_mach_load(g, 4, R1, offsetof(struct rt_mach, cpu));
	em_jmp_imm(e, BPF_JGE, R1, (int32_t)g->env->ncpus, skip);
	em_alu_imm(e, BPF_MUL, R1, sizeof(struct rt_cpu));
	em_map_value(e, R2, MAP_REF(MAP_CONTROL, 0), offsetof(struct rt_control, cpu));
	em_alu_reg(e, BPF_ADD, R2, R1);
	em_alu_imm(e, BPF_MOV, R1, 1);
	em_atomic(e, BPF_ADD, R2, (int16_t)field_off, R1); /* others count there, too */
	em_here(e, skip);
}

void gen_mach_load(struct gen *g, uint32_t size, int dst, uint32_t off)
{
	em_load(&g->e, size, dst, R9, (int32_t)off);
}

void gen_mach_store(struct gen *g, uint32_t size, uint32_t off, int src)
{
	em_store(&g->e, size, R9, (int32_t)off, src);
}

void gen_rt(struct gen *g, const char *name)
{
	em_mov(&g->e, R1, R9);
	em_call_rt(&g->e, name);
}

void gen_key_pad(struct gen *g, uint32_t from, uint32_t to)
{
	while (from < to) {
		uint32_t size = 8;

		while (from % size || size > to - from)
			size /= 2;
		em_store_imm(&g->e, size, R9, (int32_t)from, 0);
		from += size;
	}
}

/* Whether one of the variables lies in the word at off. */
static bool word_has_var(const struct layout *l, const bool *vars, uint32_t off)
{
	for (uint32_t i = 0; vars && i < l->nvars; i++)
		if (vars[i] && l->vars[i].off / 8 == off / 8)
			return true;
	return false;
}

void gen_this_reset(struct gen *g, const bool *only, const bool *kept)
{
	uint32_t from = 0, to = 0;

	/*
	 * The variables lie one behind the other in the order of the layout. A string of which the
	 * first byte is 0 is empty, whatever stands behind.
	 */
	for (uint32_t i = 0; i < g->l->nvars; i++) {
		const struct var_layout *vl = &g->l->vars[i];
		bool is_string = vl->var->type.kind == DIF_KIND_STRING;
		uint32_t begin = vl->off & ~7u;

		if (vl->var->scope != DIF_SCOPE_LOCAL || vl->is_elem || !g->uses_var[i] ||
		    (only && !only[i]) || (kept && kept[i]))
			continue;
		/* an integer, which may share its word with one that is not to be reset */
		if (only || word_has_var(g->l, kept, vl->off)) {
			em_store_imm(&g->e, vl->size, R9, (int32_t)(g->mach->this_off + vl->off),
				     0);
			continue;
		}
		if (dif_type_is_byref(&vl->var->type))
			begin -= 8;
		if (begin > to) {
			gen_mach_zero(g, g->mach->this_off + from, to - from);
			from = begin;
		}
		to = MAX(to, ROUND_UP(vl->off + (is_string ? 1 : vl->size), 8u));
	}
	gen_mach_zero(g, g->mach->this_off + from, to - from);
}

void gen_mach_zero(struct gen *g, uint32_t off, uint32_t size)
{
	if (size <= 128) {
		for (uint32_t k = 0; k < size; k += 8)
			em_store_imm(&g->e, 8, R9, (int32_t)(off + k), 0);
		return;
	}
	/* a read that fails zeroes its destination: Linux kernel/trace/bpf_trace.c */
	em_addr(&g->e, R1, R9, off);
	em_imm(&g->e, R2, size);
	em_imm(&g->e, R3, 0);
	em_helper(&g->e, BPF_FUNC_probe_read_kernel);
}
