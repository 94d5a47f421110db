/* SPDX-License-Identifier: MIT */
/*
 * What runs in the process: everything that computes with numbers which the code can read without a
 * fault. The rest is left to the engine in the kernel, with a reason.
 */
#include "native/builtin.h"
#include "native/gen.h"

#define THIS_MAX 256u /* bytes of clause-local variables */

struct takes {
	const struct unit *u;
	const struct layout *l; /* NULL: not known yet */
	bool is_filter;		/* sample() and what belongs to it are taken */
	const char *why;	/* the first reason; NULL: none */
	bool may_fault;
};

static void takes_refuse(struct takes *t, const char *why)
{
	if (!t->why)
		t->why = why;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static bool is_number(const struct dif_type *type)
{
	return !dif_type_is_byref(type) && type->kind != DIF_KIND_STRING &&
	       (type->size == 1 || type->size == 2 || type->size == 4 || type->size == 8);
}

static void builtin_check(struct takes *t, uint32_t id)
{
	if (id >= DIF_VAR_ARG0 && id <= DIF_VAR_ARG9) {
		for (uint32_t i = 0; i < t->u->nprobes; i++)
			if ((t->u->probes[i].spot == SPOT_ENTRY ||
			     t->u->probes[i].spot == SPOT_CALL) &&
			    id - DIF_VAR_ARG0 >= NATIVE_NARGS)
				takes_refuse(
					t, "arguments from the seventh on are read from the stack");
		return;
	}
	switch (id) {
	case DIF_VAR_PROBEPROV:
		if (t->l && t->l->opts.has_pids)
			takes_refuse(t, "probeprov ends with the number of the process");
		return;
	case DIF_VAR_UCALLER:
		for (uint32_t i = 0; i < t->u->nprobes; i++)
			if (t->u->probes[i].spot != SPOT_ENTRY &&
			    t->u->probes[i].spot != SPOT_RETURN &&
			    t->u->probes[i].spot != SPOT_RETURN_NONE &&
			    t->u->probes[i].spot != SPOT_ENTRY_NONE &&
			    t->u->probes[i].spot != SPOT_CALL)
				takes_refuse(t, "ucaller is found by walking the stack");
		return;
	case DIF_VAR_PROBEMOD:
	case DIF_VAR_PROBEFUNC:
	case DIF_VAR_PROBENAME:
	case DIF_VAR_CPU:
	case DIF_VAR_EPID:
	case DIF_VAR_ERRNO:
	case DIF_VAR_ID:
	case DIF_VAR_IPL:
	case DIF_VAR_PID:
	case DIF_VAR_TID:
	case DIF_VAR_TIMESTAMP: return;
	case DIF_VAR_EXECNAME: takes_refuse(t, "execname is known to the kernel"); return;
	case DIF_VAR_VTIMESTAMP: takes_refuse(t, "vtimestamp is known to the kernel"); return;
	case DIF_VAR_WALLTIMESTAMP: takes_refuse(t, "walltimestamp is known to the kernel"); return;
	case DIF_VAR_USTACKDEPTH:
	case DIF_VAR_STACKDEPTH:
	case DIF_VAR_CALLER: takes_refuse(t, "stacks are walked in the kernel"); return;
	default: takes_refuse(t, "it reads a variable that the kernel has"); return;
	}
}

static void array_check(struct takes *t, const struct difo *d, uint32_t i)
{
	uint32_t id = DIF_INSN_R1(d->code[i]);
	uint64_t index;

	if (!ngen_const_index(d, i, &index))
		takes_refuse(t, "the index of args[] or uregs[] is computed");
	else if (id == DIF_VAR_ARGS && index < 10)
		builtin_check(t, DIF_VAR_ARG0 + (uint32_t)index);
	else if (id != DIF_VAR_UREGS || !ureg_is_known(index))
		takes_refuse(t, "it reads a register that the kernel has");
}

/* The variable's table entry in the object, or the layout's. */
static void var_check(struct takes *t, const struct difo *d, dif_insn insn)
{
	enum dif_scope scope = (enum dif_scope)dif_op_scope(DIF_INSN_OP(insn));
	const struct dif_var *v = difo_find_var(d, (uint8_t)scope, DIF_INSN_INDEX(insn));
	const struct var_layout *vl = t->l ? layout_var(t->l, scope, DIF_INSN_INDEX(insn)) : NULL;

	if (!v || !is_number(&v->type) || (t->l && !vl)) {
		takes_refuse(t, "it has a variable that is no number");
		return;
	}
	if (v->type.flags & DIF_TF_STACK)
		takes_refuse(t, "it has a variable that is a stack");
	if (!vl)
		return;
	if (vl->is_elem && vl->var->kind != DIF_VAR_ARRAY)
		takes_refuse(t, "its thread-local variables are too large");
	if (vl->is_elem && t->l->arr_maps[vl->map].val_size != 8)
		takes_refuse(t, "an array has values that are no numbers");
	for (uint32_t k = 0; vl->is_elem && k < vl->var->nkeys; k++)
		if ((vl->keys[k].repr != KEY_INT && vl->keys[k].repr != KEY_STRHASH) ||
		    (vl->var->keys[k].flags & DIF_TF_STACK))
			takes_refuse(t, "an array has keys that are no numbers");
}

static bool is_subr(uint32_t subr)
{
	return subr == DIF_SUBR_HTONS || subr == DIF_SUBR_HTONL || subr == DIF_SUBR_HTONLL ||
	       subr == DIF_SUBR_NTOHS || subr == DIF_SUBR_NTOHL || subr == DIF_SUBR_NTOHLL;
}

static void insn_check(struct takes *t, const struct difo *d, uint32_t i)
{
	dif_insn insn = d->code[i];
	enum dif_op op = DIF_INSN_OP(insn);

	switch (dif_op_form(op)) {
	case DIF_FORM_RRR: t->may_fault |= op >= DIF_OP_SDIV && op <= DIF_OP_UREM; return;
	case DIF_FORM_RR:
		if (op == DIF_OP_ALLOCS)
			takes_refuse(t, "it uses scratch memory");
		return;
	case DIF_FORM_LOAD: takes_refuse(t, "it reads memory through a pointer"); return;
	case DIF_FORM_STORE:
	case DIF_FORM_COPYS: takes_refuse(t, "it uses scratch memory"); return;
	case DIF_FORM_SETS:
		if (!d->strs[DIF_INSN_INDEX(insn)])
			takes_refuse(t, "it has an empty string");
		else if (t->l && strlen(d->strs + DIF_INSN_INDEX(insn)) >= t->l->strsize)
			takes_refuse(t, "a string is longer than strsize");
		return;
	case DIF_FORM_LDA:
		if (op != DIF_OP_LDGA)
			takes_refuse(t, "it reads a variable that the kernel has");
		else
			array_check(t, d, i);
		return;
	case DIF_FORM_LDV:
		if (op == DIF_OP_LDGS && DIF_INSN_INDEX(insn) < DIF_VAR_USER)
			builtin_check(t, DIF_INSN_INDEX(insn));
		else
			var_check(t, d, insn);
		return;
	case DIF_FORM_STV: var_check(t, d, insn); return;
	case DIF_FORM_CALL:
		if (ngen_subr_samples(DIF_INSN_INDEX(insn)) && !t->is_filter)
			takes_refuse(t, "it calls a function that only a relay's predicate has");
		else if (!is_subr(DIF_INSN_INDEX(insn)) && !ngen_subr_samples(DIF_INSN_INDEX(insn)))
			takes_refuse(t, "it calls a function that the kernel's engine has");
		return;
	case DIF_FORM_XLATE: takes_refuse(t, "it uses a translator at run time"); return;
	case DIF_FORM_PUSHTR:
		if (DIF_INSN_TTYPE(insn) != DIF_TUPLE_STR)
			takes_refuse(t, "an array has keys that are no numbers");
		return;
	case DIF_FORM_NONE:
	case DIF_FORM_CMP:
	case DIF_FORM_TST:
	case DIF_FORM_LABEL:
	case DIF_FORM_RET:
	case DIF_FORM_SETX:
	case DIF_FORM_PUSHTV: return;
	}
}

/* ---- strings --------------------------------------------------------------------------------- */

/*
 * Which registers and entries of the tuple stack may hold strings, and how deep that stack is. What
 * holds one on any way to an instruction counts. Control only goes forward.
 */
#define DEPTH_MIXED 0xff /* it depends on the way: nothing may use the stack until it is emptied */

struct flow {
	bool is_reached;
	uint8_t depth;
	uint64_t regs[(DIF_MAX_REGS + 64) / 64], tuple;
	bool has_texts_compared;
};

static bool reg_is_string(const struct flow *f, uint32_t reg)
{
	return f->regs[reg / 64] >> reg % 64 & 1;
}

static void reg_set(struct flow *f, uint32_t reg, bool is_string)
{
	if (is_string && reg)
		f->regs[reg / 64] |= 1ull << reg % 64;
	else
		f->regs[reg / 64] &= ~(1ull << reg % 64);
}

static void flow_join(struct flow *to, const struct flow *from)
{
	if (!to->is_reached) {
		*to = *from;
		return;
	}
	for (uint32_t w = 0; w < ARRAY_LEN(to->regs); w++)
		to->regs[w] |= from->regs[w];
	to->tuple |= from->tuple;
	to->has_texts_compared |= from->has_texts_compared;
	if (to->depth != from->depth)
		to->depth = DEPTH_MIXED;
}

static bool builtin_is_string(uint32_t id)
{
	return id >= DIF_VAR_PROBEPROV && id <= DIF_VAR_PROBENAME;
}

/* The array that the instruction accesses: whether the tuple has the keys that it wants. */
static void keys_check(struct takes *t, const struct difo *d, dif_insn insn, const struct flow *f)
{
	const struct var_layout *vl =
		t->l ? layout_var(t->l, (enum dif_scope)dif_op_scope(DIF_INSN_OP(insn)),
				  DIF_INSN_INDEX(insn))
		     : NULL;

	(void)d;
	if (!vl)
		return;
	if (f->depth != vl->var->nkeys)
		takes_refuse(t, "an array has another number of keys");
	for (uint32_t k = 0; k < vl->var->nkeys && k < f->depth; k++)
		if ((vl->keys[k].repr == KEY_STRHASH) != (f->tuple >> k & 1))
			takes_refuse(t, "an array has keys of other types");
}

/* Strings may be copied, compared and pushed; what is read as a string must be a known one. */
static void operands_check(struct takes *t, dif_insn insn, const struct flow *f)
{
	struct dif_uses uses = dif_insn_uses(insn);
	enum dif_op op = DIF_INSN_OP(insn);
	bool reads_text = op == DIF_OP_SCMP || op == DIF_OP_PUSHTR;
	bool allows_text = reads_text || op == DIF_OP_MOV || op == DIF_OP_CMP || op == DIF_OP_TST;

	for (uint32_t k = 0; k < uses.nreads; k++) {
		bool is_string = reg_is_string(f, uses.reads[k]);

		if (reads_text && !is_string)
			takes_refuse(t, "it reads a string from memory");
		if (is_string && !allows_text)
			takes_refuse(t, "it uses a string as a number");
	}
}

/* Changes f, which is what there was before instruction i, to what there is behind it. */
static void flow_step(struct takes *t, const struct difo *d, uint32_t i, struct flow *f)
{
	dif_insn insn = d->code[i];
	enum dif_op op = DIF_INSN_OP(insn);
	uint32_t writes = dif_insn_uses(insn).writes;
	bool is_string = false;

	if (op == DIF_OP_SETS)
		is_string = true;
	else if (op == DIF_OP_MOV)
		is_string = reg_is_string(f, DIF_INSN_R1(insn));
	else if (op == DIF_OP_LDGS && DIF_INSN_INDEX(insn) < DIF_VAR_USER)
		is_string = builtin_is_string(DIF_INSN_INDEX(insn));
	operands_check(t, insn, f);
	if (op == DIF_OP_PUSHTV || op == DIF_OP_PUSHTR) {
		if (f->depth >= DIF_MAX_TUPLE) {
			takes_refuse(t, "a tuple is too long, or depends on a condition");
			return;
		}
		f->tuple &= ~(1ull << f->depth);
		f->tuple |= (uint64_t)(op == DIF_OP_PUSHTR) << f->depth;
		f->depth++;
	}
	if (op >= DIF_OP_LDGAA && op <= DIF_OP_STTAA)
		keys_check(t, d, insn, f);
	if (op == DIF_OP_CMP || op == DIF_OP_TST || op == DIF_OP_SCMP)
		f->has_texts_compared = op == DIF_OP_SCMP;
	/* what two strings have in common is that they are equal, or not */
	if (dif_op_is_cond(op) && f->has_texts_compared && op != DIF_OP_BE && op != DIF_OP_BNE)
		takes_refuse(t, "it compares the order of strings");
	if (op == DIF_OP_CALL && f->depth != (DIF_INSN_INDEX(insn) == DIF_SUBR_SAMPLE ? 2 : 1))
		takes_refuse(t, "a function has another number of arguments");
	if (op == DIF_OP_CALL || op == DIF_OP_FLUSHTS)
		f->depth = 0;
	if (op == DIF_OP_POPTS && f->depth && f->depth != DEPTH_MIXED)
		f->depth--;
	if (writes)
		reg_set(f, writes, is_string);
}

static void difo_check(struct takes *t, const struct difo *d)
{
	struct flow *flows = xcalloc(d->code_len + 1, sizeof(*flows));

	flows[0].is_reached = true;
	for (uint32_t i = 0; i < d->code_len && !t->why; i++) {
		dif_insn insn = d->code[i];
		enum dif_op op = DIF_INSN_OP(insn);
		struct flow f = flows[i];

		if (!f.is_reached)
			continue;
		insn_check(t, d, i);
		flow_step(t, d, i, &f);
		if (dif_op_form(op) == DIF_FORM_LABEL)
			flow_join(&flows[DIF_INSN_LABEL(insn)], &f);
		if (op != DIF_OP_BA && op != DIF_OP_RET)
			flow_join(&flows[i + 1], &f);
	}
	free(flows);
}

/* ---- actions --------------------------------------------------------------------------------- */

/* A text that is recorded or a key: it must be known by its number. */
static void text_check(struct takes *t, const struct difo *d)
{
	int var = difo_is_builtin(d);

	if (difo_is_strconst(d))
		return;
	if (var < 0)
		takes_refuse(t, "it reads a string from memory");
	else
		builtin_check(t, (uint32_t)var);
}

static void datum_check(struct takes *t, enum datum_kind datum, const struct difo *d)
{
	switch (datum) {
	case DATUM_INT:
	case DATUM_USYM:
	case DATUM_UMOD:
	case DATUM_UADDR: difo_check(t, d); return;
	case DATUM_STRING: text_check(t, d); return;
	case DATUM_STACK:
	case DATUM_USTACK:
	case DATUM_STACKID: takes_refuse(t, "stacks are walked in the kernel"); return;
	case DATUM_SYM:
	case DATUM_MOD:
	case DATUM_BYTES:
	case DATUM_STRUCT:
	case DATUM_MEMORY: takes_refuse(t, "it reads memory through a pointer"); return;
	}
}

static void field_check(struct takes *t, const struct rec_field *f)
{
	if (f->kind == REC_STR)
		takes_refuse(t, "it reads a string from memory");
}

/*
 * Whether a key is a part of the place of a frame of a language: a number stands for it, which is
 * as large as the field. A position says nothing without the code in which it is.
 */
static bool is_site_key(const struct prog_act *act, uint32_t k)
{
	int var = k < act->agg->nkeys ? difo_is_builtin(act->args[k]) : -1;

	if (var == DIF_VAR_LLINE)
		for (uint32_t i = 0; i < act->agg->nkeys; i++)
			if (difo_is_builtin(act->args[i]) == DIF_VAR_LFILE)
				return true;
	return var == DIF_VAR_LFILE;
}

static void agg_check(struct takes *t, const struct prog_act *act)
{
	const struct prog_agg *agg = act->agg;
	const struct agg_layout *al = t->l ? &t->l->aggs[agg->id - 1] : NULL;

	for (uint32_t k = 0; k < act->nargs; k++)
		if (!is_site_key(act, k))
			datum_check(t, k < agg->nkeys ? agg->key_kinds[k] : DATUM_INT,
				    act->args[k]);
	for (uint32_t k = 0; al && k < al->nkeys; k++)
		if (al->keys[k].repr == KEY_STRHASH && !is_site_key(act, k))
			takes_refuse(t, "another clause has a key that is read from memory");
}

static void act_check(struct takes *t, const struct clause_layout *cl, uint32_t i)
{
	const struct prog_act *act = &cl->clause->acts[i];

	switch (act->kind) {
	case ACT_EXPR:
	case ACT_BRZ: difo_check(t, act->args[0]); return;
	case ACT_DEAD:
		for (uint32_t k = 0; k < act->nargs; k++)
			difo_check(t, act->args[k]);
		return;
	case ACT_JMP: return;
	case ACT_AGG: agg_check(t, act); return;
	case ACT_SPECULATE:
	case ACT_COMMIT:
	case ACT_DISCARD: takes_refuse(t, "speculations are kept in the kernel"); return;
	case ACT_STOP:
	case ACT_RAISE:
	case ACT_CHILL: takes_refuse(t, "it acts on the process"); return;
#define ACT_RECORD(id, ...) case ACT_##id:
#include "dif/acts.def"
		for (uint32_t k = 0; k < cl->acts[i].nfields; k++) {
			datum_check(t, act->arg_kinds ? act->arg_kinds[k] : DATUM_INT,
				    act->args[k]);
			field_check(t, &cl->acts[i].fields[k]);
		}
		return;
	case ACT_LOOP:
	case ACT_AGAIN:
	case ACT_UFRAME:
	case ACT_UNWIND:
#define ACT_VALUE(id, ...) case ACT_##id:
#include "dif/acts.def"
		takes_refuse(t, "it has an action that the kernel's engine has");
		return;
	}
}

static void clause_check(struct takes *t, const struct clause_layout *cl)
{
	const struct prog_clause *c = cl->clause;

	if (cl->spec_off)
		takes_refuse(t, "speculations are kept in the kernel");
	if (c->pred)
		difo_check(t, c->pred);
	for (uint32_t i = 0; i < c->nacts && !t->why; i++)
		act_check(t, cl, i);
}

/* ---- units ----------------------------------------------------------------------------------- */

static void spot_check(struct takes *t, enum code_spot spot)
{
	switch (spot) {
	case SPOT_ENTRY:
	case SPOT_ENTRY_NONE:
	case SPOT_RETURN:
	case SPOT_RETURN_NONE:
	case SPOT_RETURNED:
	case SPOT_CALL:
	case SPOT_INSN:
	case SPOT_USDT: return; /* what its operands are is asked for each site */
	case SPOT_ENTRY32: takes_refuse(t, "the code is of a 32-bit program"); return;
	case SPOT_ENTRY_STACK:
	case SPOT_ENTRY_GO:
	case SPOT_RETURN_GO: takes_refuse(t, "the code is Go's"); return;
	case SPOT_COUNT: break;
	}
	BUG("spot %d of a probe", (int)spot);
}

/*
 * "" is NULL here. A name that is longer than a string is cut by the kernel's engine where it is
 * compared; as a key or in a record it is a number in both.
 */
static void name_check(struct takes *t, const struct ngen_needs *n, const struct unit_identity *id)
{
	for (uint32_t k = 0; k < ARRAY_LEN(id->names); k++) {
		if (!(n->names >> k & 1))
			continue;
		if (!id->names[k] || id->names[k] & RT_NAME_PID)
			takes_refuse(t, "a name of a probe depends on the process");
		else if (n->compared_names >> k & 1 &&
			 strlen(strtab_get(t->l->strtab, id->names[k])) >= t->l->strsize)
			takes_refuse(t, "a name of a probe is longer than strsize");
	}
}

static void names_check(struct takes *t)
{
	const struct unit *u = t->u;
	struct ngen_needs n = {0};

	for (uint32_t i = 0; i < u->nclauses; i++)
		ngen_needs(&n, t->l, u->clauses[i].layout);
	for (uint32_t i = 0; n.names && i < u->nprobes; i++)
		name_check(t, &n, &u->probes[i].id);
	for (uint32_t i = 0; n.names && i < u->nclauses; i++)
		if (u->clauses[i].as)
			name_check(t, &n, u->clauses[i].as);
	if (n.key_size + n.rec_size + (n.this_vars ? t->l->this_size : 0) > NATIVE_STACK_MAX / 2)
		takes_refuse(t,
			     "its records, keys and variables take too much of the thread's stack");
}

static bool unit_takes(struct takes t, const char **ret_why)
{
	const struct unit *u = t.u;
	const struct layout *l = t.l;

	if (!place_traits(u->place.kind)->is_in_process)
		takes_refuse(&t, "the probe is none of a process's code");
	for (uint32_t i = 0; i < u->nprobes; i++)
		spot_check(&t, u->probes[i].spot);
	for (uint32_t i = 0; i < u->nclauses && !t.why; i++)
		clause_check(&t, u->clauses[i].layout);
	if (t.may_fault && u->nerror_clauses)
		takes_refuse(&t, "it may fault, and an ERROR clause is enabled");
	if (l && !t.why)
		names_check(&t);
	if (t.why && ret_why)
		*ret_why = t.why;
	return !t.why;
}

bool native_takes(const struct unit *u, const struct layout *l, const char **ret_why)
{
	return unit_takes((struct takes){.u = u, .l = l}, ret_why);
}

bool ngen_filter_takes(const struct unit *u, const struct layout *l)
{
	return unit_takes((struct takes){.u = u, .l = l, .is_filter = true}, NULL);
}
