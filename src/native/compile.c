/* SPDX-License-Identifier: MIT */
/*
 * Makes the functions of a unit: one for all sites at which the same clauses run with their
 * arguments in the same places.
 *
 *     function    state? -> row of the site -> CPU -> clauses -> exit?
 *     constants   the rows of each group: those words that its clauses need
 *
 * What differs from site to site (the probe, its names, the offset of a return) stands in rows.
 */
#include "native/counter.h"
#include "native/quick.h"

#include "base/hashmap.h"
#include "record/format.h"

#define DATA_NEAR   0x70000000u /* bytes within which the data part is addressed from the code */
#define CALL_STACK  (16 + 32)	/* two return addresses; registers of ngen_call_rarely() */
#define STACK_LIMIT (NATIVE_STACK_MAX - BLOB_STACK_MAX - CALL_STACK)
#define MAX_GROUPS  65536u

struct compile {
	struct ngen g;
	const struct native_site *sites;
	uint32_t nsites;
	VEC(struct group) groups;
	uint32_t *group_of, *row_of; /* by site */
	uint32_t stack;		     /* the most bytes of a function */
};

/* ---- groups ---------------------------------------------------------------------------------- */

static bool is_enabled(const struct unit *u, uint32_t probe, uint32_t clause)
{
	return u->probes[probe].mask[clause / 64] >> (clause % 64) & 1;
}

/* Lists the clauses that run at a site; to may be NULL. Returns how many they are. */
static uint32_t clauses_list(const struct compile *c, uint32_t probe, const struct unit_clause **to)
{
	const struct unit *u = c->g.u;
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->nclauses; i++) {
		if (!is_enabled(u, probe, i) || !clause_is_of(&u->clauses[i], c->g.t->pid))
			continue;
		if (to)
			to[n] = &u->clauses[i];
		n++;
	}
	return n;
}

static void group_add(struct compile *c, const struct native_site *s)
{
	struct group grp = {.spot = c->g.u->probes[s->probe].spot,
			    .is_tail = s->is_tail,
			    .operands = s->operands};

	grp.nclauses = clauses_list(c, s->probe, NULL);
	grp.clauses = xcalloc(grp.nclauses + 1, sizeof(*grp.clauses));
	grp.epid_off = xcalloc(grp.nclauses + 1, sizeof(*grp.epid_off));
	(void)clauses_list(c, s->probe, grp.clauses);
	vec_push(&c->groups, grp);
}

/* What the sites of a group have in common: the spot, and the clauses that are enabled. */
static void group_key(const struct compile *c, const struct native_site *s, uint64_t *key)
{
	const struct unit_probe *p = &c->g.u->probes[s->probe];

	key[0] = (uint64_t)p->spot << 1 | s->is_tail;
	if (p->spot == SPOT_USDT) /* the number of the operands */
		key[0] |= (uint64_t)s->rel << 32;
	memcpy(key + 1, p->mask, c->g.u->nwords * sizeof(*key));
}

static void groups_find(struct compile *c)
{
	size_t size = (c->g.u->nwords + 1) * sizeof(uint64_t);
	struct hashmap *numbers = hashmap_create(); /* key -> 1 + index in groups */
	uint64_t *key = xmalloc(size);

	c->group_of = xcalloc(c->nsites + 1, sizeof(*c->group_of));
	c->row_of = xcalloc(c->nsites + 1, sizeof(*c->row_of));
	for (uint32_t i = 0; i < c->nsites && !c->g.err; i++) {
		uintptr_t n;

		group_key(c, &c->sites[i], key);
		n = (uintptr_t)hashmap_find(numbers, key, size);
		if (!n && c->groups.len == MAX_GROUPS) {
			ngen_fail(&c->g, "more than %u different sets of clauses", MAX_GROUPS);
			break;
		}
		if (!n) {
			group_add(c, &c->sites[i]);
			n = c->groups.len;
			hashmap_set(numbers, key, size, (void *)n);
		}
		c->group_of[i] = (uint32_t)n - 1;
		c->row_of[i] = c->groups.data[n - 1].sites.len;
		vec_push(&c->groups.data[n - 1].sites, i);
	}
	hashmap_destroy(numbers);
	free(key);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int32_t word_reserve(struct group *grp, bool is_needed)
{
	if (!is_needed)
		return -1;
	grp->row_size += 4;
	return (int32_t)grp->row_size - 4;
}

static bool some_pushed(const struct compile *c, const struct group *grp)
{
	for (uint32_t i = 0; i < grp->sites.len; i++)
		if (c->sites[grp->sites.data[i]].pushed)
			return true;
	return false;
}

/* Finds the words of the group's rows; n: what all of its clauses need. */
static void rows_lay_out(const struct compile *c, struct group *grp, const struct ngen_needs *n)
{
	bool is_return = spot_is_return(grp->spot) || grp->spot == SPOT_RETURNED;

	grp->row_off[ROW_PROBE] = word_reserve(grp, n->probe);
	for (uint32_t k = 0; k < 4; k++)
		grp->row_off[ROW_NAME0 + k] = word_reserve(grp, n->names >> k & 1);
	grp->row_off[ROW_REL] = word_reserve(grp, is_return && n->args & 1);
	grp->row_off[ROW_PUSHED] = word_reserve(grp, n->pushed && some_pushed(c, grp));
	for (uint32_t i = 0; i < grp->nclauses; i++) {
		struct ngen_needs one = {0};

		ngen_needs(&one, c->g.l, grp->clauses[i]->layout);
		grp->epid_off[i] = word_reserve(grp, one.epid);
	}
}

/* The epid of a clause on the probe. */
static uint32_t epid_find(const struct unit_clause *uc, uint32_t probe_idx)
{
	uint32_t from = 0, to = uc->nprobes;

	while (from < to) {
		uint32_t mid = from + (to - from) / 2;

		if (uc->probe_idxs[mid] < probe_idx)
			from = mid + 1;
		else
			to = mid;
	}
	if (from == uc->nprobes || uc->probe_idxs[from] != probe_idx)
		return uc->layout->first_epid;
	return uc->layout->first_epid + unit_clause_rank(uc, from);
}

/* As the cookie of a uprobe has it: 31 bits, signed (bpf/places.c). */
static uint32_t rel_word(uint32_t rel)
{
	return (rel & 0x7fffffff) | (rel & 0x40000000) << 1;
}

static void word_set(uint8_t *row, int32_t off, uint32_t value)
{
	if (off >= 0)
		memcpy(row + off, &value, sizeof(value));
}

static void rows_emit(struct compile *c, struct group *grp)
{
	uint8_t *row = xcalloc(1, grp->row_size + 1);

	x86_here(&c->g.x, grp->rows);
	for (uint32_t i = 0; i < grp->sites.len && grp->row_size; i++) {
		const struct native_site *s = &c->sites[grp->sites.data[i]];
		const struct unit_identity *id = &c->g.u->probes[s->probe].id;

		word_set(row, grp->row_off[ROW_PROBE], id->probe);
		for (uint32_t k = 0; k < 4; k++)
			word_set(row, grp->row_off[ROW_NAME0 + k], id->names[k]);
		word_set(row, grp->row_off[ROW_REL], rel_word(s->rel));
		word_set(row, grp->row_off[ROW_PUSHED], (uint32_t)(int32_t)s->pushed);
		for (uint32_t k = 0; k < grp->nclauses; k++)
			word_set(row, grp->epid_off[k], epid_find(grp->clauses[k], id->probe_idx));
		x86_data(&c->g.x, row, grp->row_size);
	}
	free(row);
}

/* ---- functions ------------------------------------------------------------------------------- */

/* Lays out the stack of a function but for the spills, which come last. */
static void stack_lay_out(struct ngen *g, const struct ngen_needs *n)
{
	struct ngen_stack *s = &g->stack;
	uint32_t pos = 0;

	s->time = pos;
	s->tls = pos += 8;
	s->cpu = pos += 8;
	s->exits = pos += 8;
	s->val = pos += 8;
	s->incr = pos += 8;
	s->site = pos += 8;
	s->key = pos += n->site ? 16 : 0;
	pos += ROUND_UP(n->key_size, 8u);
	s->this = pos;
	s->this_size = n->this_vars ? g->l->this_size : 0;
	s->rec = pos += s->this_size;
	s->spill = pos + ROUND_UP(n->rec_size, 8u);
}

static void row_find(struct ngen *g)
{
	const struct group *grp = g->grp;

	if (!grp->row_size)
		return;
	x86_lea(&g->x, R13, x86_at_label(grp->rows, 0));
	if (grp->sites.len == 1)
		return;
	x86_extend(&g->x, 4, false, RSI, RSI);
	x86_mul_imm(&g->x, RSI, RSI, (int32_t)grp->row_size);
	x86_alu(&g->x, X86_ADD, R13, RSI);
}

/* A thread without a block has no CPU and no number: its firing is dropped, and counted as that. */
static void block_check(struct ngen *g, const struct ngen_needs *n, uint32_t done)
{
	uint32_t has_block = x86_label(&g->x);
	uint64_t off = n->records ? offsetof(struct blob_cpu, drops)
				  : offsetof(struct blob_cpu, agg_drops);

	x86_rdfsbase(&g->x, RAX);
	x86_test(&g->x, RAX, RAX);
	x86_jcc(&g->x, X86_NE, has_block);
	if (!g->t->is_filter) /* else the kernel runs the clauses */
		x86_lock_add_imm(&g->x, in_data(g->t->plan->cpus_off + off), 1);
	x86_jmp(&g->x, done);
	x86_here(&g->x, has_block);
}

static void begin_emit(struct ngen *g, const struct ngen_needs *n, uint32_t done)
{
	x86_mov(&g->x, R15, RDI);
	if (g->t->is_filter)
		ngen_filter_begin(g);
	if (DATA_NEAR > MAX(g->t->data, g->t->code) - MIN(g->t->data, g->t->code))
		x86_lea(&g->x, R14, x86_at_addr(g->t->data));
	else
		x86_imm(&g->x, R14, g->t->data);
	x86_alu_mem_imm(&g->x, 1, X86_CMP, in_data(offsetof(struct blob_data, state)), RT_STATE_ON);
	x86_jcc(&g->x, X86_NE, done);
	if (g->t->checks_fs)
		block_check(g, n, done);
	row_find(g);
	if (g->t->has_rseq && g->t->only_cpu >= 0) {
		x86_load(&g->x, 4, false, RAX, x86_at_fs(g->t->rseq_cpu_off));
		x86_alu_imm(&g->x, X86_CMP, RAX, g->t->only_cpu);
		x86_jcc(&g->x, X86_NE, done);
	}
	g->has_cpu = n->slot || g->t->is_filter;
	if (g->has_cpu)
		ngen_cpu_find(g);
	if (g->t->is_filter)
		ngen_filter_set(g, false);
	if (n->time)
		x86_store_imm(&g->x, 8, on_stack(g->stack.time), 0);
	if (n->exits)
		x86_store_imm(&g->x, 4, on_stack(g->stack.exits), 0);
	ngen_zero(g, g->stack.this, g->stack.this + g->stack.this_size);
}

static bool clause_exits(const struct ngen *g, uint32_t i)
{
	struct ngen_needs n = {0};

	ngen_needs(&n, g->l, g->grp->clauses[i]->layout);
	return n.exits;
}

/* exit() takes effect when its firing ends; the clauses behind it do not run. */
static void clauses_emit(struct ngen *g, bool exits)
{
	uint32_t ended = x86_label(&g->x), goes_on = x86_label(&g->x);

	for (uint32_t i = 0; i < g->grp->nclauses && !g->err; i++) {
		ngen_clause(g, i);
		if (i + 1 == g->grp->nclauses || !clause_exits(g, i))
			continue;
		x86_alu_mem_imm(&g->x, 4, X86_CMP, on_stack(g->stack.exits), 0);
		x86_jcc(&g->x, X86_NE, ended);
	}
	x86_here(&g->x, ended);
	if (!exits)
		return;
	x86_alu_mem_imm(&g->x, 4, X86_CMP, on_stack(g->stack.exits), 0);
	x86_jcc(&g->x, X86_E, goes_on);
	ngen_call(g, BLOB_EXIT);
	x86_here(&g->x, goes_on);
}

/* add $n, %rsp with 32 bits, of which the number comes later; returns its offset in the code. */
static uint32_t stack_move(struct x86 *x, bool is_down)
{
	const uint8_t code[] = {0x48, 0x81, is_down ? 0xec : 0xc4, 0, 0, 0, 0};

	x86_data(x, code, sizeof(code));
	return x->code.len - 4;
}

/* The bits of the frame's words for the registers that the function has written. */
static uint32_t words_of(uint32_t regs)
{
	static const uint8_t words[] = {R15, R14, R13, R12, RBP, RBX, R11, R10,
					R9,  R8,  RAX, RCX, RDX, RSI, RDI};
	uint32_t bits = 0;

	for (uint32_t i = 0; i < ARRAY_LEN(words); i++)
		bits |= (regs >> words[i] & 1) << i;
	return bits;
}

static void function_emit(struct compile *c, struct group *grp)
{
	struct ngen *g = &c->g;
	struct ngen_needs n = {0};
	uint32_t done, down, up, size;

	for (uint32_t i = 0; i < grp->nclauses; i++)
		ngen_needs(&n, g->l, grp->clauses[i]->layout);
	x86_align(&g->x, 16);
	g->grp = grp;
	g->has_tls = false;
	g->x.written = g->x.r15_words = 0;
	g->nspill = 0;
	grp->func = g->x.code.len;
	grp->rows = x86_label(&g->x);
	done = x86_label(&g->x);
	rows_lay_out(c, grp, &n);
	stack_lay_out(g, &n);
	down = stack_move(&g->x, true);
	begin_emit(g, &n, done);
	if (g->t->is_filter)
		ngen_filter(g);
	else
		clauses_emit(g, n.exits);
	x86_here(&g->x, done);
	if (g->t->is_filter)
		x86_load(&g->x, 8, false, RAX, on_stack(g->stack.val));
	up = stack_move(&g->x, false);
	x86_ret(&g->x);
	grp->reads = g->x.r15_words;
	grp->destroys = words_of(g->x.written);
	size = ROUND_UP(g->stack.spill + 8 * g->nspill, 16u) + 8;
	memcpy(&g->x.code.data[down], &size, sizeof(size));
	memcpy(&g->x.code.data[up], &size, sizeof(size));
	c->stack = MAX(c->stack, size);
	if (size > STACK_LIMIT)
		ngen_fail(
			g,
			"the clauses need %u bytes of the thread's stack, of which %u are allowed",
			size, STACK_LIMIT);
	if (g->x.code.len > NATIVE_CODE_MAX)
		ngen_fail(g, "the clauses take more than %u bytes of code", NATIVE_CODE_MAX);
}

/* ---- all of it ------------------------------------------------------------------------------- */

const char *native_target_lack(const struct unit *u, uint32_t i, const struct native_target *t)
{
	struct ngen_needs n = {0};

	ngen_needs(&n, t->layout, u->clauses[i].layout);
	if (n.tid && !t->has_tid)
		return "read the thread's number, which is not found in its thread block";
	if (n.site && !t->has_frames)
		return "read a line of a language, whose frames are not found in the process";
	if (!t->has_rseq && (n.cpu || t->only_cpu >= 0))
		return "need the number of the CPU, and the process has no restartable sequences";
	return NULL;
}

/* What the clauses need and the target does not have. */
static struct err *target_check(const struct unit *u, const struct native_target *t)
{
	for (uint32_t i = 0; i < u->nclauses && !t->is_filter; i++) {
		const char *why = native_target_lack(u, i, t);

		if (why)
			return err_new("its clauses %s", why);
	}
	if (t->plan->size > INT32_MAX)
		return err_new("the data part is larger than 2 GiB");
	return NULL;
}

static void compile_deinit(struct compile *c)
{
	for (uint32_t i = 0; i < c->groups.len; i++) {
		free(c->groups.data[i].clauses);
		free(c->groups.data[i].epid_off);
		vec_deinit(&c->groups.data[i].sites);
	}
	vec_deinit(&c->groups);
	vec_deinit(&c->g.cold);
	x86_deinit(&c->g.x);
	arena_destroy(c->g.tmp);
	free(c->group_of);
	free(c->row_of);
	err_destroy(c->g.err);
}

static void compile_emit(struct compile *c)
{
	for (uint32_t i = 0; i < c->groups.len && !c->g.err; i++)
		function_emit(c, &c->groups.data[i]);
	x86_align(&c->g.x, 16);
}

static void result_make(struct compile *c, uint32_t consts, struct native_code *ret)
{
	*ret = (struct native_code){.bytes = c->g.x.code.data,
				    .size = c->g.x.code.len,
				    .nentries = c->nsites,
				    .nfuncs = c->groups.len,
				    .consts = consts,
				    .stack = c->stack + BLOB_STACK_MAX + CALL_STACK};
	ret->entries = xcalloc(c->nsites + 1, sizeof(*ret->entries));
	ret->keys = arena_create();
	for (uint32_t i = 0; i < c->nsites; i++) {
		ret->entries[i].func = c->groups.data[c->group_of[i]].func;
		ret->entries[i].site = c->row_of[i];
		ret->entries[i].reads = c->groups.data[c->group_of[i]].reads;
		ret->entries[i].destroys = c->groups.data[c->group_of[i]].destroys;
		ret->entries[i].counts =
			counts_find(&c->g, &c->groups.data[c->group_of[i]], c->sites[i].probe,
				    ret->keys, &ret->entries[i].ncounts);
		ret->entries[i].ntests =
			quick_find(&c->g, &c->groups.data[c->group_of[i]], ret->entries[i].tests);
	}
	memset(&c->g.x.code, 0, sizeof(c->g.x.code)); /* the bytes are the caller's now */
}

struct err *native_compile(const struct unit *u, const struct native_target *t,
			   const struct native_site *sites, uint32_t nsites,
			   struct native_code *ret)
{
	struct compile c = {.g = {.u = u, .t = t, .l = t->layout, .x.addr = t->code},
			    .sites = sites,
			    .nsites = nsites};
	const char *why = NULL;
	struct err *e;
	uint32_t consts;

	/* the predicates of a filter were asked about one by one */
	if (!t->is_filter && !native_takes(u, t->layout, &why))
		return err_new("cannot run in the process: %s", why);
	e = target_check(u, t);
	if (e)
		return err_wrap(e, "cannot run in the process");
	c.g.tmp = arena_create();
	groups_find(&c);
	compile_emit(&c);
	consts = c.g.x.code.len;
	for (uint32_t i = 0; i < c.groups.len && !c.g.err; i++)
		rows_emit(&c, &c.groups.data[i]);
	if (!c.g.err) {
		x86_finish(&c.g.x);
		if (c.g.x.is_too_far)
			ngen_fail(&c.g, "the data part is too far from the code");
	}
	e = c.g.err;
	c.g.err = NULL;
	if (!e)
		result_make(&c, consts, ret);
	compile_deinit(&c);
	return e ? err_wrap(e, "cannot run in the process") : NULL;
}

void native_code_deinit(struct native_code *code)
{
	free(code->bytes);
	free(code->entries);
	arena_destroy(code->keys);
	*code = (struct native_code){0};
}
