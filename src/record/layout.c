/* SPDX-License-Identifier: MIT */
/*
 * Computes the layout of a session: offsets and sizes of records, keys, values and variables.
 */
#include "record/share.h"
#include "dif/own.h"

#define HELPER_STRINGS 16   /* that a ustack helper may make for one frame */
#define SPARSE_ABOVE   4096 /* bytes of one histogram */
#define ELEM_OVERHEAD  64   /* a hash element's header, for aggsize and dynvarsize */
#define MAX_ENTRIES    (1u << 23)
/*
 * Linux include/linux/bpf_local_storage.h, BPF_LOCAL_STORAGE_MAX_VALUE_SIZE: 64 KiB less a header
 */
#define TLS_MAX		  65280
#define QUANTIZE_NBUCKETS 127

/* ---- what a DIFO consists of ---------------------------------------------------------------- */

/* The first instruction of "OP x, %rN; ret %rN"; 0, which is no opcode, for any other DIFO. */
static dif_insn difo_only_insn(const struct difo *d)
{
	if (!d || d->code_len != 2 || DIF_INSN_OP(d->code[1]) != DIF_OP_RET ||
	    DIF_INSN_RD(d->code[0]) != DIF_INSN_RD(d->code[1]))
		return 0;
	return d->code[0];
}

int difo_is_builtin(const struct difo *d)
{
	dif_insn in = difo_only_insn(d);

	if (in == 0 || DIF_INSN_OP(in) != DIF_OP_LDGS || DIF_INSN_INDEX(in) >= DIF_VAR_USER)
		return -1;
	return (int)DIF_INSN_INDEX(in);
}

const char *difo_is_strconst(const struct difo *d)
{
	dif_insn in = difo_only_insn(d);

	if (in == 0 || DIF_INSN_OP(in) != DIF_OP_SETS || DIF_INSN_INDEX(in) >= d->strs_size)
		return NULL;
	return d->strs + DIF_INSN_INDEX(in);
}

/* The constant that describes a stack, from its DIFO "setx N; ret". */
static uint64_t stack_const(const struct difo *d)
{
	dif_insn in = difo_only_insn(d);

	if (DIF_INSN_OP(in) != DIF_OP_SETX || DIF_INSN_INDEX(in) >= d->ints_len)
		BUG("a stack is recorded by a constant");
	return d->ints[DIF_INSN_INDEX(in)];
}

uint32_t difo_stack_frames(const struct difo *d)
{
	return PROG_STACK_FRAMES(stack_const(d));
}

bool difo_stack_is_lang(const struct difo *d)
{
	return stack_const(d) & PROG_STACK_ONLY_LANG;
}

uint32_t difo_stack_strsize(const struct difo *d)
{
	return PROG_STACK_STRSIZE(stack_const(d));
}

uint32_t layout_max_frames(const struct layout_opts *opts, bool is_user)
{
	if (is_user && opts->max_uframes)
		return opts->max_uframes;
	return opts->max_frames ? opts->max_frames : STACK_FRAMES_DEFAULT;
}

static uint32_t frames_limited(const struct difo *d, const struct layout_opts *opts, bool is_user)
{
	return MIN(difo_stack_frames(d), layout_max_frames(opts, is_user));
}

uint32_t layout_frames(const struct layout *l, const struct difo *d, bool is_user)
{
	return frames_limited(d, &l->opts, is_user);
}

uint32_t layout_strsize(const struct layout_opts *opts, const struct difo *d, bool is_user)
{
	return is_user && opts->has_helpers ? PROG_STACK_STRSIZE(stack_const(d)) : 0;
}

struct stack_how layout_stack_how(const struct layout_opts *opts, uint64_t how)
{
	bool is_user = how & PROG_STACK_USER;

	return (struct stack_how){.is_user = is_user,
				  .is_lang = how & PROG_STACK_ONLY_LANG,
				  .frames = MIN(PROG_STACK_FRAMES(how),
						layout_max_frames(opts, is_user)),
				  .strsize = is_user && opts->has_helpers ? PROG_STACK_STRSIZE(how)
									  : 0};
}

/* Whether the text of a string DIFO is known before it is evaluated, and how. */
enum known_text { TEXT_UNKNOWN, TEXT_COMM, TEXT_STRID };

static enum known_text known_text(const struct difo *d, const struct layout_opts *opts)
{
	int var = difo_is_builtin(d);

	if (var == DIF_VAR_EXECNAME)
		return TEXT_COMM;
	if (var == DIF_VAR_PROBEPROV && opts->has_pids)
		return TEXT_UNKNOWN;
	if ((var >= DIF_VAR_PROBEPROV && var <= DIF_VAR_PROBENAME) || difo_is_strconst(d))
		return TEXT_STRID;
	return TEXT_UNKNOWN;
}

/* ---- a session's DIFOs ---------------------------------------------------------------------- */

/* Constants in registers and on the tuple stack, as far as code without branches shows them. */
struct consts {
	uint64_t regs[DIF_MAX_REGS], tuple[DIF_MAX_TUPLE];
};

static void consts_step(struct consts *k, const struct difo *d, dif_insn insn, uint32_t depth)
{
	enum dif_op op = DIF_INSN_OP(insn);

	if (op == DIF_OP_PUSHTV && depth < DIF_MAX_TUPLE)
		k->tuple[depth] = k->regs[DIF_INSN_RS(insn)];
	else if (dif_insn_uses(insn).writes)
		k->regs[DIF_INSN_RD(insn)] = op == DIF_OP_SETX ? d->ints[DIF_INSN_INDEX(insn)] : 0;
}

/* The bytes of scratch memory that a call takes beyond one string; 0 when they are not known. */
static uint64_t scratch_bytes(const struct consts *k, uint32_t subr, uint32_t depth)
{
	uint32_t fx = dif_subr_row(subr)->fx;

	if (!(fx & FX_BLOCK) || !depth)
		return 0;
	if (!(fx & FX_SIZED))
		return LAYOUT_BLOCK_HEAD + 16; /* memref() */
	return LAYOUT_BLOCK_HEAD + ROUND_UP(MIN(k->tuple[depth - 1], DIF_MAX_ALLOCA), 8u) +
	       8 * (subr == DIF_SUBR_COPYIN); /* for the NUL behind the copy */
}

static void difo_scan(const struct difo *d, struct strtab *strtab, bool has_pids,
		      struct layout_facts *f)
{
	struct consts known = {0};
	uint32_t depth = 0;

	for (uint32_t i = 0; i < d->code_len; i++) {
		enum dif_op op = DIF_INSN_OP(d->code[i]);
		struct dif_uses uses = dif_insn_uses(d->code[i]);

		consts_step(&known, d, d->code[i], depth);
		if (op == DIF_OP_CALL) {
			uint32_t subr = DIF_INSN_INDEX(d->code[i]);

			f->bytes += scratch_bytes(&known, subr, depth);
			f->has_blocks |= dif_subr_row(subr)->fx & FX_BLOCK;
			f->has_flags |= subr == DIF_SUBR_STRFLAGS;
			f->has_stackid |= subr == DIF_SUBR_STACKID;
			if (names_of_subr(subr) < NNAMES)
				f->has_names[names_of_subr(subr)] = true;
		}

		for (uint32_t k = 0; k < uses.nreads; k++)
			f->max_reg = MAX(f->max_reg, uses.reads[k]);
		f->max_reg = MAX(f->max_reg, uses.writes);
		if (op == DIF_OP_SETS && DIF_INSN_INDEX(d->code[i]) < d->strs_size)
			strtab_adds(strtab, d->strs + DIF_INSN_INDEX(d->code[i]));
		if (op == DIF_OP_LDGS) {
			uint32_t var = DIF_INSN_INDEX(d->code[i]);

			f->nstrings += (var == DIF_VAR_PROBEPROV && has_pids) || var_is_lang(var);
			f->has_caller |= var == DIF_VAR_CALLER || var == DIF_VAR_UCALLER;
			f->has_depth |= var == DIF_VAR_STACKDEPTH;
			f->has_udepth |= var == DIF_VAR_USTACKDEPTH;
			f->has_lang |= var_is_lang(var);
		}
		f->nelems += op == DIF_OP_LDTS || op == DIF_OP_LDGAA || op == DIF_OP_LDTAA;
		if (op == DIF_OP_PUSHTR || op == DIF_OP_PUSHTV)
			depth++;
		else if (op == DIF_OP_CALL || op == DIF_OP_FLUSHTS)
			depth = 0;
		f->max_tuple = MAX(f->max_tuple, depth);
		f->speculates |=
			op == DIF_OP_CALL && DIF_INSN_INDEX(d->code[i]) == DIF_SUBR_SPECULATION;
		f->has_token |= op == DIF_OP_CALL && DIF_INSN_INDEX(d->code[i]) == DIF_SUBR_STRTOK;
		if ((op == DIF_OP_CALL &&
		     dif_subr_row(DIF_INSN_INDEX(d->code[i]))->fx & FX_SCRATCH) ||
		    op == DIF_OP_ALLOCS)
			f->nstrings++;
	}
}

static bool is_spec_act(enum act_kind kind)
{
	return kind == ACT_SPECULATE || kind == ACT_COMMIT || kind == ACT_DISCARD;
}

static struct layout_facts clause_scan(const struct prog_clause *c, struct strtab *strtab,
				       bool has_pids)
{
	struct layout_facts f = {0};
	struct clause_difo at = {0};

	while (clause_each_difo(c, &at))
		difo_scan(at.difo, strtab, has_pids, &f);
	for (uint32_t i = 0; i < c->nacts; i++)
		f.speculates |= is_spec_act(c->acts[i].kind);
	return f;
}

/* ---- records -------------------------------------------------------------------------------- */

/* Takes size bytes at the next multiple of their natural alignment; returns their offset. */
static uint32_t bytes_reserve(uint32_t *pos, uint32_t size)
{
	uint32_t align = size >= 8 ? 8 : size >= 4 ? 4 : size >= 2 ? 2 : 1, off;

	*pos = ROUND_UP(*pos, align);
	off = *pos;
	*pos += size;
	return off;
}

static struct rec_field string_field(const struct difo *d, const struct layout_opts *opts)
{
	switch (known_text(d, opts)) {
	case TEXT_COMM: return (struct rec_field){.kind = REC_COMM, .size = 16};
	case TEXT_STRID: return (struct rec_field){.kind = REC_STRID, .size = 4};
	case TEXT_UNKNOWN: break;
	}
	return (struct rec_field){.kind = REC_STR, .size = opts->strsize};
}

static struct rec_field arg_field(const struct prog_act *act, uint32_t k,
				  const struct layout_opts *opts)
{
	const struct difo *d = act->args[k];
	enum datum_kind datum = act->arg_kinds ? act->arg_kinds[k] : DATUM_INT;
	struct rec_field f = {.kind = REC_INT, .size = 8, .is_signed = d->ret.is_signed};

	switch (datum) {
	case DATUM_INT:
		if (d->ret.size == 1 || d->ret.size == 2 || d->ret.size == 4)
			f.size = d->ret.size;
		break;
	case DATUM_STRING: f = string_field(d, opts); break;
	case DATUM_BYTES:
	case DATUM_STRUCT:
		f.kind = REC_BYTES;
		f.size = d->ret.size;
		if (act->kind == ACT_PRINT && opts->printsize)
			f.size = MIN(f.size, opts->printsize);
		break;
	case DATUM_USYM:
	case DATUM_UMOD:
	case DATUM_UADDR: /* u64 process id, u64 address */
		f.kind = REC_BYTES;
		f.size = 16;
		break;
	case DATUM_STACK:
	case DATUM_USTACK:
		f.kind = REC_STACK;
		f.frames = frames_limited(d, opts, datum == DATUM_USTACK);
		f.strsize = layout_strsize(opts, d, datum == DATUM_USTACK);
		f.is_lang = difo_stack_is_lang(d);
		f.size = stack_bytes(stack_words(f.frames, f.strsize));
		break;
	case DATUM_MEMORY:
		f.kind = REC_BYTES;
		f.size = act->memory.size;
		datum = DATUM_BYTES;
		break;
	case DATUM_STACKID:
	case DATUM_SYM:
	case DATUM_MOD: break;
	}
	f.datum = datum;
	return f;
}

static bool is_in_heap(const struct rec_field *f)
{
	return f->kind == REC_STR || f->kind == REC_STACK;
}

static uint32_t stored_size(const struct rec_field *f)
{
	return is_in_heap(f) ? (uint32_t)sizeof(struct rt_str) : f->size;
}

static bool has_act(const struct prog_clause *c, enum act_kind kind)
{
	for (uint32_t i = 0; i < c->nacts; i++)
		if (c->acts[i].kind == kind)
			return true;
	return false;
}

static bool has_branches(const struct prog_clause *c)
{
	return has_act(c, ACT_BRZ) || has_act(c, ACT_JMP);
}

static void clause_lay_out(struct arena *a, const struct prog_clause *c,
			   const struct layout_opts *opts, struct clause_layout *cl)
{
	uint32_t pos = sizeof(struct rt_rec), heap = 0;

	*cl = (struct clause_layout){.clause = c,
				     .acts = ARENA_NEW_N(a, struct act_layout, c->nacts)};
	if (opts->has_pids) {
		cl->pid_off = pos;
		pos += 8;
	}
	if (has_act(c, ACT_SPECULATE)) {
		cl->spec_off = ROUND_UP(pos, 8u);
		pos = cl->spec_off + (uint32_t)sizeof(struct rt_spec_tag);
	}
	if (has_branches(c)) {
		cl->executed_off = pos;
		pos += (c->nacts + 63) / 64 * 8;
	}
	for (uint32_t i = 0; i < c->nacts; i++) {
		const struct prog_act *act = &c->acts[i];
		struct act_layout *al = &cl->acts[i];

		if (!act_is_recording(act->kind) || !act->nargs)
			continue;
		al->nfields = act->nargs;
		al->fields = ARENA_NEW_N(a, struct rec_field, act->nargs);
		for (uint32_t k = 0; k < act->nargs; k++) {
			struct rec_field *f = &al->fields[k];

			*f = arg_field(act, k, opts);
			f->off = bytes_reserve(&pos, stored_size(f));
			heap += is_in_heap(f) ? f->size : 0;
		}
	}
	cl->heap_off = ROUND_UP(pos, 8u);
	cl->max_size = cl->heap_off + heap;
}

/* ---- aggregations --------------------------------------------------------------------------- */

static uint32_t agg_nbuckets(const struct prog_agg *agg)
{
	switch (agg->func) {
	case AGGFUNC_QUANTIZE: return QUANTIZE_NBUCKETS;
	case AGGFUNC_LQUANTIZE: return (uint32_t)agg->param[1] + 2;
	case AGGFUNC_LLQUANTIZE: return llquantize_nbuckets(agg->param);
	case AGGFUNC_COUNT:
	case AGGFUNC_SUM:
	case AGGFUNC_MIN:
	case AGGFUNC_MAX:
	case AGGFUNC_AVG:
	case AGGFUNC_STDDEV:
	case AGGFUNC_LIVE: break;
	}
	return 0;
}

/* The state of avg() is count, sum; of stddev() count, sum, sum of squares (low, high). */
static uint32_t agg_val_size(const struct prog_agg *agg)
{
	uint32_t words = aggfunc_words(agg->func);

	return 8 * (words ? words : agg_nbuckets(agg));
}

static enum key_repr key_string_repr(enum known_text t)
{
	return t == TEXT_COMM ? KEY_COMM : t == TEXT_STRID ? KEY_STRID : KEY_STRHASH;
}

static uint32_t key_repr_size(enum key_repr repr, uint32_t natural)
{
	switch (repr) {
	case KEY_COMM: return 16;
	case KEY_STRID: return 4;
	case KEY_STRHASH:
	case KEY_STACK: return 8;
	case KEY_INT:
	case KEY_BYTES: break;
	}
	return natural;
}

static struct key_field key_of(enum datum_kind datum, const struct dif_type *t,
			       enum key_repr string_repr)
{
	struct key_field f = {.repr = KEY_INT,
			      .datum = datum,
			      .size = 8,
			      .is_signed = t->is_signed};

	switch (datum) {
	case DATUM_INT:
		if (t->size == 1 || t->size == 2 || t->size == 4)
			f.size = t->size;
		break;
	case DATUM_STRING: f.repr = string_repr; break;
	case DATUM_BYTES:
	case DATUM_STRUCT:
		f.repr = KEY_BYTES;
		f.size = t->size;
		break;
	case DATUM_USYM:
	case DATUM_UMOD:
	case DATUM_UADDR: /* u64 process id, u64 address */
		f.repr = KEY_BYTES;
		f.size = 16;
		break;
	case DATUM_STACK:
	case DATUM_USTACK:
	case DATUM_STACKID: f.repr = KEY_STACK; break;
	case DATUM_SYM:
	case DATUM_MOD:
	case DATUM_MEMORY: break; /* cannot be a key */
	}
	f.size = key_repr_size(f.repr, f.size);
	return f;
}

/* How the text of key k is known in all uses of the aggregation. */
static enum key_repr common_repr(struct prog_clause *const *clauses, uint32_t nclauses,
				 const struct prog_agg *agg, uint32_t k,
				 const struct layout_opts *opts)
{
	enum known_text all = TEXT_UNKNOWN;
	bool is_first = true;

	for (uint32_t c = 0; c < nclauses; c++)
		for (uint32_t i = 0; i < clauses[c]->nacts; i++) {
			const struct prog_act *act = &clauses[c]->acts[i];
			enum known_text t;

			if (act->kind != ACT_AGG || act->agg != agg || k >= act->nargs)
				continue;
			t = known_text(act->args[k], opts);
			all = is_first || t == all ? t : TEXT_UNKNOWN;
			is_first = false;
			if (all == TEXT_UNKNOWN)
				return KEY_STRHASH;
		}
	return key_string_repr(all);
}

static uint32_t entries_fitting(uint64_t bytes, uint32_t elem_size)
{
	uint64_t n = bytes / (elem_size + ELEM_OVERHEAD);

	return (uint32_t)MIN(MAX(n, 1u), MAX_ENTRIES);
}

bool agg_key_site(const struct agg_layout *al, const uint8_t *key, uint64_t *ret_code,
		  uint64_t *ret_at)
{
	bool has_code = false;

	*ret_at = 0;
	for (uint32_t k = 0; k < al->nkeys; k++) {
		const struct key_field *f = &al->keys[k];

		if (!f->lang || f->size != sizeof(uint64_t))
			continue;
		has_code |= f->lang == DIF_VAR_LFILE;
		memcpy(f->lang == DIF_VAR_LFILE ? ret_code : ret_at, key + f->off,
		       sizeof(uint64_t));
	}
	return has_code;
}

static void agg_lay_out(struct arena *a, struct prog_clause *const *clauses, uint32_t nclauses,
			const struct prog_agg *agg, const struct layout_opts *opts,
			struct agg_layout *al)
{
	uint32_t pos = 0;

	*al = (struct agg_layout){.agg = agg,
				  .nkeys = agg->nkeys,
				  .keys = ARENA_NEW_N(a, struct key_field, agg->nkeys),
				  .nbuckets = agg_nbuckets(agg),
				  .val_size = agg_val_size(agg)};
	for (uint32_t k = 0; k < agg->nkeys; k++) {
		enum key_repr repr = KEY_STRHASH;

		if (agg->key_kinds[k] == DATUM_STRING)
			repr = common_repr(clauses, nclauses, agg, k, opts);
		al->keys[k] = key_of(agg->key_kinds[k], &agg->key_types[k], repr);
		al->keys[k].off = bytes_reserve(&pos, al->keys[k].size);
	}
	al->is_sparse = al->val_size > SPARSE_ABOVE;
	pos = ROUND_UP(pos, 4u);
	if (al->is_sparse) {
		pos += 4;
		al->val_size = 8;
	}
	al->key_size = pos;
	if (!pos) {
		al->touched_off = al->val_size;
		al->val_size += 8;
		al->max_entries = 1;
	} else {
		al->max_entries = entries_fitting(opts->aggsize, al->key_size + al->val_size);
	}
}

/* ---- variables ------------------------------------------------------------------------------ */

static void array_lay_out(struct arena *a, const struct layout_opts *opts, struct var_layout *vl)
{
	const struct prog_var *v = vl->var;
	uint32_t pos = v->scope == DIF_SCOPE_THREAD ? 8 : 0;

	vl->keys = ARENA_NEW_N(a, struct key_field, v->nkeys);
	for (uint32_t k = 0; k < v->nkeys; k++) {
		const struct dif_type *t = &v->keys[k];
		enum datum_kind datum = t->kind == DIF_KIND_STRING ? DATUM_STRING
					: t->flags & DIF_TF_BYREF  ? DATUM_BYTES
								   : DATUM_INT;

		vl->keys[k] = key_of(datum, t, KEY_STRHASH);
		vl->keys[k].off = bytes_reserve(&pos, vl->keys[k].size);
	}
	vl->key_size = ROUND_UP(MAX(pos, 4u), 4u);
	vl->is_elem = true;
	vl->val_size = ROUND_UP(MAX(vl->size, 8u), 8u);
	vl->max_entries = entries_fitting(opts->dynvarsize, vl->key_size + vl->val_size);
}

static void scalar_lay_out(struct layout *l, struct var_layout *vl)
{
	const struct prog_var *v = vl->var;
	uint32_t *pos = v->scope == DIF_SCOPE_GLOBAL   ? &l->gvars_size
			: v->scope == DIF_SCOPE_THREAD ? &l->tls_size
						       : &l->this_size;

	if (var_is_byref(vl)) {
		*pos = ROUND_UP(*pos, 8u) + 8;
		vl->off = *pos;
		*pos += ROUND_UP(MAX(vl->size, 1u), 8u);
	} else {
		vl->off = bytes_reserve(pos, vl->size);
	}
}

/* Takes the largest thread-locals out of the block until the others fit. */
static void tls_trim(struct arena *a, struct layout *l)
{
	for (;;) {
		struct var_layout *largest = NULL;
		uint64_t total = 0;

		for (uint32_t i = 0; i < l->nvars; i++) {
			struct var_layout *vl = &l->vars[i];

			if (vl->is_elem || vl->var->scope != DIF_SCOPE_THREAD)
				continue;
			total += vl->size +
				 16; /* with alignment, and the word that says it is set */
			if (!largest || vl->size > largest->size)
				largest = vl;
		}
		if (total <= TLS_MAX)
			return;
		array_lay_out(a, &l->opts, largest);
	}
}

/*
 * The thread's block is in the kernel's storage of the task, which nobody can walk. Thread-locals
 * that hold stacks are elements of a hash map, so that the sweep of the table of stacks finds them
 * (agg/text.c).
 */
static bool is_thread_stack(const struct prog_var *v)
{
	return v->scope == DIF_SCOPE_THREAD && (v->type.flags & DIF_TF_STACK);
}

static void vars_lay_out(struct arena *a, struct layout *l, const struct prog_vars *vars)
{
	l->nvars = vars->len;
	l->vars = ARENA_NEW_N(a, struct var_layout, vars->len);
	for (uint32_t i = 0; i < vars->len; i++) {
		const struct prog_var *v = vars->vars[i];

		l->vars[i].var = v;
		l->vars[i].size = v->type.kind == DIF_KIND_STRING ? l->opts.strsize : v->type.size;
		if (v->kind == DIF_VAR_ARRAY || is_thread_stack(v))
			array_lay_out(a, &l->opts, &l->vars[i]);
	}
	if (l->counts_vtime)
		l->tls_size = 2 * sizeof(uint64_t);
	tls_trim(a, l);
	for (uint32_t i = 0; i < vars->len; i++)
		if (!l->vars[i].is_elem && !var_is_byref(&l->vars[i]))
			scalar_lay_out(l, &l->vars[i]);
	l->gvars_text = l->gvars_size = ROUND_UP(l->gvars_size, 8u);
	l->this_text = l->this_size = ROUND_UP(l->this_size, 8u);
	for (uint32_t i = 0; i < vars->len; i++)
		if (!l->vars[i].is_elem && var_is_byref(&l->vars[i]))
			scalar_lay_out(l, &l->vars[i]);
	l->gvars_size = ROUND_UP(l->gvars_size, 8u);
	l->tls_size = ROUND_UP(l->tls_size, 8u);
	l->this_size = ROUND_UP(l->this_size, 8u);
}

static void difo_note_removals(struct layout *l, const struct difo *d)
{
	for (uint32_t i = 0; i < d->code_len; i++) {
		enum dif_op op = DIF_INSN_OP(d->code[i]);
		enum dif_scope scope = op == DIF_OP_STTAA ? DIF_SCOPE_THREAD : DIF_SCOPE_GLOBAL;

		if ((op != DIF_OP_STGAA && op != DIF_OP_STTAA) || DIF_INSN_RS(d->code[i]) != 0)
			continue;
		for (uint32_t k = 0; k < l->nvars; k++)
			l->vars[k].is_removed |= l->vars[k].var->scope == scope &&
						 l->vars[k].var->id == DIF_INSN_INDEX(d->code[i]);
	}
}

static void removals_note(struct layout *l, const struct prog_clause *c)
{
	struct clause_difo at = {0};

	while (clause_each_difo(c, &at))
		difo_note_removals(l, at.difo);
}

const struct var_layout *layout_var(const struct layout *l, enum dif_scope scope, uint32_t id)
{
	for (uint32_t i = 0; i < l->nvars; i++)
		if (l->vars[i].var->scope == scope && l->vars[i].var->id == id)
			return &l->vars[i];
	return NULL;
}

/* An entry of the table of live() has the key of its element as it is in the aggregation's map. */
static void live_lay_out(struct layout *l)
{
	for (uint32_t i = 0; i < l->naggs; i++) {
		const struct agg_layout *al = &l->aggs[i];
		uint32_t key_size = al->key_size ? l->agg_maps[al->map].key_size : 0;

		if (al->agg->func == AGGFUNC_LIVE)
			l->live_size = MAX(l->live_size, (uint32_t)sizeof(struct rt_live) +
								 ROUND_UP(key_size, 8u));
	}
}

/* ---- facts of all clauses -------------------------------------------------------------------- */

/* Adds the tables of names that the programs use to the string table. */
static void names_lay_out(struct layout *l)
{
	const struct layout_facts *f = &l->facts;

	for (uint32_t k = 0; k < NNAMES; k++)
		if (f->has_names[k])
			l->names_off[k] = strtab_add_block(l->strtab, name_lists[k].text,
							   name_lists[k].n * name_lists[k].stride);
	if (f->has_flags)
		l->flags_off = strtab_add_block(l->strtab, flag_names,
						nflag_names * sizeof(flag_names[0]));
}

static void facts_add(struct layout_facts *all, struct layout_facts f)
{
	all->max_reg = MAX(all->max_reg, f.max_reg);
	all->max_tuple = MAX(all->max_tuple, f.max_tuple);
	all->nstrings = MAX(all->nstrings, f.nstrings);
	all->bytes = MAX(all->bytes, f.bytes);
	all->nelems = MAX(all->nelems, f.nelems);
	all->speculates |= f.speculates;
	all->has_token |= f.has_token;
	all->has_blocks |= f.has_blocks;
	all->has_caller |= f.has_caller;
	all->has_depth |= f.has_depth;
	all->has_udepth |= f.has_udepth;
	all->has_lang |= f.has_lang;
	all->has_stackid |= f.has_stackid;
	all->has_flags |= f.has_flags;
	for (uint32_t k = 0; k < NNAMES; k++)
		all->has_names[k] |= f.has_names[k];
}

/* ---- texts: whose they are, and what stands for them ----------------------------------------- */

static void fields_note_own(const struct own_texts *own, const struct prog_act *act,
			    struct act_layout *al)
{
	for (uint32_t k = 0; k < al->nfields; k++)
		if (al->fields[k].datum == DATUM_STRING || al->fields[k].datum == DATUM_INT)
			al->fields[k].is_own = own_texts_has(own, act->args[k]);
}

static void keys_note_own(const struct own_texts *own, const struct prog_act *act,
			  struct agg_layout *al)
{
	for (uint32_t k = 0; k < al->nkeys && k < act->nargs; k++)
		if (al->keys[k].is_own && !own_texts_has(own, act->args[k]))
			al->keys[k].is_own = false;
}

static void keys_note_lang(const struct prog_act *act, struct agg_layout *al)
{
	for (uint32_t k = 0; k < al->nkeys && k < act->nargs; k++)
		if (var_is_site(difo_is_builtin(act->args[k])))
			al->keys[k].lang = (uint16_t)difo_is_builtin(act->args[k]);
}

static void own_texts_note(struct layout *l, struct prog_clause *const *clauses)
{
	struct own_texts *own = own_texts_create(clauses, l->nclauses);

	for (uint32_t i = 0; i < l->naggs; i++)
		for (uint32_t k = 0; k < l->aggs[i].nkeys; k++)
			l->aggs[i].keys[k].is_own = l->aggs[i].keys[k].datum == DATUM_STRING;
	for (uint32_t i = 0; i < l->nclauses; i++)
		for (uint32_t j = 0; j < clauses[i]->nacts; j++) {
			const struct prog_act *act = &clauses[i]->acts[j];

			fields_note_own(own, act, &l->clauses[i].acts[j]);
			if (act->kind != ACT_AGG)
				continue;
			keys_note_own(own, act, &l->aggs[act->agg->id - 1]);
			keys_note_lang(act, &l->aggs[act->agg->id - 1]);
		}
	own_texts_destroy(own);
}

struct layout *layout_create(struct arena *a, struct prog_clause *const *clauses, uint32_t nclauses,
			     const struct prog_vars *vars, const struct prog_aggs *aggs,
			     struct strtab *strtab, const struct layout_opts *opts)
{
	struct layout *l = ARENA_NEW(a, struct layout);

	l->opts = *opts;
	l->strsize = opts->strsize;
	l->strtab = strtab;
	l->nspec = opts->nspec;
	l->counts_vtime = opts->counts_vtime;
	l->nclauses = nclauses;
	l->clauses = ARENA_NEW_N(a, struct clause_layout, nclauses);
	for (uint32_t i = 0; i < nclauses; i++) {
		assert(clauses[i]->index == i);
		facts_add(&l->facts, clause_scan(clauses[i], strtab, opts->has_pids));
		clause_lay_out(a, clauses[i], opts, &l->clauses[i]);
	}
	if (opts->has_helpers)
		l->facts.nstrings += HELPER_STRINGS;
	if (opts->reads_own) { /* reads of memory are checked, elements are copied */
		l->facts.has_blocks = true;
		l->facts.nstrings += l->facts.nelems;
	}
	l->naggs = aggs->len;
	l->aggs = ARENA_NEW_N(a, struct agg_layout, aggs->len);
	for (uint32_t i = 0; i < aggs->len; i++)
		agg_lay_out(a, clauses, nclauses, aggs->aggs[i], opts, &l->aggs[i]);
	own_texts_note(l, clauses);
	names_lay_out(l);
	vars_lay_out(a, l, vars);
	for (uint32_t i = 0; i < nclauses; i++)
		removals_note(l, clauses[i]);
	share_maps(a, l);
	live_lay_out(l);
	return l;
}
