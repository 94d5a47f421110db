/* SPDX-License-Identifier: MIT */
/*
 * Jump tables, and padding that nobody executes.
 *
 * A table is a list of distances from its begin (jumps.h). How many there are is not written
 * anywhere. Where all jumps by it are behind a comparison of the number, it has as many entries as
 * that lets pass. Else it is read up to the first entry that does not lead to code, or to where
 * another address is taken by code. Each address that a function with jumps to registers takes may
 * be a table. Tables of addresses are words of data, which are marked wherever they are (marks.c).
 *
 * Compilers split functions: the hot part may load the entry, and the cold one jump. So functions
 * that branch into each other's middle, or to a part that nobody calls, are one family. Each member
 * may jump by the tables of all, and to the code of all. If a jump of the family has no table, all
 * members are lost (FUNC_LOST): no window of several instructions is theirs.
 */
#include "flow/impl.h"

#define REACH	   (64u << 20) /* bytes from a function to parts that were split off it */
#define SMALL	   4096	       /* a distance below that is rather a number */
#define PASSES_MAX 8	       /* in which bounds of tables are given up */
#define WORK_MIN   (1u << 20)  /* entries that are read behind the begin of another table */

struct family {
	uint32_t root; /* a member's; itself in the first one */
	/* of the first one */
	uint32_t nopen;	  /* jumps of which nothing is known but that they are computed, */
	uint32_t nloose;  /* or only the register that has the table */
	uint32_t nfree;	  /* tables to which no jump was followed back */
	uint32_t regs;	  /* bits of registers that have the address of a table */
	bool has_jumps;	  /* to registers */
	bool has_members; /* others than the first one */
	bool has_labels;  /* it computes with addresses inside of itself: distances from labels */
	bool computes, is_lost;
};

/* A table, of whatever functions. */
struct known {
	uint64_t addr;
	uint64_t end;	/* so far it was read */
	uint32_t found; /* entries */
	uint32_t njumps;
	const struct flow_jump *jumps; /* those by it */
	bool is_loose;		       /* other jumps may be by it, too */
};

struct tabling {
	struct making *m;
	struct family *families; /* by function */
	VEC(struct known) known;
	uint64_t work;
};

/* ---- families ------------------------------------------------------------------------------- */

static uint32_t family_root(struct family *fs, uint32_t i)
{
	while (fs[i].root != i) {
		fs[i].root = fs[fs[i].root].root;
		i = fs[i].root;
	}
	return i;
}

static struct family *family_of(const struct tabling *t, uint32_t func)
{
	return &t->families[family_root(t->families, func)];
}

static void family_join(struct family *fs, uint32_t a, uint32_t b)
{
	a = family_root(fs, a);
	b = family_root(fs, b);
	if (a == b)
		return;
	fs[MAX(a, b)].root = MIN(a, b);
	fs[MIN(a, b)].has_members = true;
}

/* Without symbols, a part looks like a function to which others jump at their ends. */
static bool edge_binds(const struct flow *f, const struct flow_edge *e)
{
	uint32_t from = f->funcs.data[e->from].flags, to = f->funcs.data[e->to].flags;

	if (!((from | to) & FUNC_JUMPS))
		return false;
	return !e->is_entry || ((from | to) & FUNC_PART) ||
	       (!f->has_symbols && (to & FUNC_JUMPS) && !(to & FUNC_CALLED));
}

static void families_find(struct tabling *t)
{
	const struct flow *f = t->m->f;

	for (uint32_t i = 0; i < f->funcs.len; i++)
		t->families[i].root = i;
	for (uint32_t i = 0; i < t->m->edges.len; i++)
		if (edge_binds(f, &t->m->edges.data[i]))
			family_join(t->families, t->m->edges.data[i].from, t->m->edges.data[i].to);
	for (uint32_t i = 0; i < f->funcs.len; i++)
		if (f->funcs.data[i].flags & FUNC_JUMPS)
			family_of(t, i)->has_jumps = true;
}

/* Keeps the addresses that families with jumps take. */
static void addresses_keep(struct tabling *t)
{
	const struct flow *f = t->m->f;
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->m->tables.len; i++) {
		struct flow_table x = t->m->tables.data[i];
		const struct flow_func *in = func_in(f->funcs.data, f->funcs.len, x.addr);
		struct family *own;

		if (x.func != UINT32_MAX) {
			own = family_of(t, x.func);
			if (!own->has_jumps)
				continue;
			own->has_labels |= in && in->addr != x.addr &&
					   family_of(t, (uint32_t)(in - f->funcs.data)) == own;
		}
		t->m->tables.data[n++] = x;
	}
	t->m->tables.len = n;
}

/* A jump whose register was given no value is one of the family's only if that has other parts. */
static bool jump_counts(const struct tabling *t, const struct flow_jump *j)
{
	return !j->is_unsure || family_of(t, j->func)->has_members;
}

static void jumps_count(struct tabling *t)
{
	for (uint32_t i = 0; i < t->m->jumps.len; i++) {
		const struct flow_jump *j = &t->m->jumps.data[i];
		struct family *own = family_of(t, j->func);

		if (!jump_counts(t, j))
			continue;
		own->computes = true;
		if (!j->table)
			*(j->base ? &own->nloose : &own->nopen) += 1;
	}
}

/* ---- tables --------------------------------------------------------------------------------- */

static int table_compare(const void *pa, const void *pb)
{
	const struct flow_table *a = pa, *b = pb;

	return a->addr != b->addr ? (a->addr < b->addr ? -1 : 1)
				  : (a->func > b->func) - (a->func < b->func);
}

static int jump_compare(const void *pa, const void *pb)
{
	const struct flow_jump *a = pa, *b = pb;

	return a->table != b->table ? (a->table < b->table ? -1 : 1)
				    : (a->at > b->at) - (a->at < b->at);
}

static bool is_in(const struct flow_range *r, uint64_t addr)
{
	return addr >= r->start && addr < r->end;
}

static struct flow_range func_range(const struct flow *f, uint32_t func)
{
	const struct flow_func *fn;

	if (func == UINT32_MAX)
		return (struct flow_range){0, UINT64_MAX};
	fn = &f->funcs.data[func];
	return (struct flow_range){fn->addr, fn->addr + fn->size};
}

/* Whether a table of code in *r may have an entry with this distance, which leads to addr. */
static bool is_entry(const struct making *m, const struct flow_range *r, bool is_first, int32_t v,
		     uint64_t addr)
{
	if (!making_has_code(m, addr))
		return false;
	if (is_in(r, addr))
		return true;
	if (is_first && v >= 0 && v < SMALL)
		return false;
	return addr >= r->start - MIN(r->start, (uint64_t)REACH) &&
	       addr - MIN(addr, (uint64_t)REACH) < r->end;
}

/*
 * Marks where the entries of a table lead that ends before `end`; returns how many there are.
 * is_used: a jump of the function was followed back to it.
 */
static uint32_t table_mark(struct making *m, const struct flow_table *t, uint64_t end, bool is_used)
{
	struct flow_range r = func_range(m->f, t->func);
	bool is_code = making_has_code(m, t->addr);
	uint32_t n = 0;
	uint64_t size;
	const uint8_t *p = making_bytes(m, t->addr, &size);

	size = p ? MIN(size, end - t->addr) : 0;
	for (; n < ENTRIES_MAX && 4 * (uint64_t)n + 4 <= size; n++) {
		uint64_t addr;
		int32_t v;

		memcpy(&v, p + 4 * (size_t)n, 4);
		addr = t->addr + (uint64_t)(int64_t)v;
		/* of a table among code, which may be code, only what is certain */
		if (is_code ? t->func == UINT32_MAX || !is_in(&r, addr)
			    : !is_entry(m, &r, n == 0 && !is_used, v, addr))
			break;
		flow_mark(m->f, addr);
	}
	return n;
}

/*
 * Whether control comes to a jump only by the comparison before it. Who comes in between, even to
 * the branch, brings the flags of another comparison.
 */
static bool bound_holds(const struct flow *f, const struct flow_jump *j)
{
	const struct flow_area *a = area_at(f, j->at);

	if (!j->bound || !a || j->checked < a->addr || j->checked >= j->at)
		return false;
	for (uint64_t at = j->checked + 1; at <= j->at; at++)
		if (is_marked(a, at))
			return false;
	return true;
}

/* Where a table ends, before which the next address is taken that may be one. */
static uint64_t known_end(struct tabling *t, const struct known *k, uint64_t next, bool is_last)
{
	bool is_bound = k->njumps && !k->is_loose && !is_last;
	uint64_t most = 0;

	for (uint32_t i = 0; i < k->njumps; i++) {
		bool holds = bound_holds(t->m->f, &k->jumps[i]);

		is_bound &= holds;
		if (holds)
			most = MAX(most, k->jumps[i].bound);
	}
	if (most > (next - k->addr) / 4) {
		uint64_t more = most - (next - k->addr) / 4;

		if (more > t->work)
			return next;
		t->work -= more;
		return k->addr + 4 * most;
	}
	return is_bound ? k->addr + 4 * most : next;
}

/* Reads a table as far as is known now; false: no farther than before. */
static bool known_read(struct tabling *t, struct known *k, uint32_t first, uint64_t end)
{
	const struct flow_table *list = t->m->tables.data;

	if (end <= k->end)
		return false;
	k->end = end;
	for (uint32_t i = first; i < t->m->tables.len && list[i].addr == k->addr; i++) {
		uint32_t n;

		if (i > first && list[i].func == list[i - 1].func)
			continue;
		n = table_mark(t->m, &list[i], end, k->njumps > 0);
		k->found = MAX(k->found, n);
	}
	return true;
}

/* Lists the tables, and the jumps that were followed back to them. */
static void known_list(struct tabling *t)
{
	struct making *m = t->m;
	uint32_t k = 0;

	if (m->tables.len)
		qsort(m->tables.data, m->tables.len, sizeof(*m->tables.data), table_compare);
	if (m->jumps.len)
		qsort(m->jumps.data, m->jumps.len, sizeof(*m->jumps.data), jump_compare);
	for (uint32_t i = 0; i < m->tables.len;) {
		struct known x = {.addr = m->tables.data[i].addr, .end = m->tables.data[i].addr};

		for (; i < m->tables.len && m->tables.data[i].addr == x.addr; i++) {
			uint32_t func = m->tables.data[i].func;
			const struct family *own = func == UINT32_MAX ? NULL : family_of(t, func);

			x.is_loose |= !own || own->nopen || own->nloose;
		}
		while (k < m->jumps.len && m->jumps.data[k].table < x.addr)
			k++;
		x.jumps = k < m->jumps.len ? &m->jumps.data[k] : NULL;
		while (k + x.njumps < m->jumps.len && m->jumps.data[k + x.njumps].table == x.addr)
			x.njumps++;
		vec_push(&t->known, x);
	}
}

/* An entry may lead to behind a comparison, which says nothing any more then. */
static void known_mark(struct tabling *t)
{
	bool has_changed = true;

	for (uint32_t pass = 0; has_changed; pass++) {
		uint32_t first = 0;

		has_changed = false;
		for (uint32_t i = 0; i < t->known.len; i++) {
			struct known *k = &t->known.data[i];
			uint64_t next = i + 1 < t->known.len ? k[1].addr : UINT64_MAX;

			while (t->m->tables.data[first].addr < k->addr)
				first++;
			has_changed |=
				known_read(t, k, first, known_end(t, k, next, pass >= PASSES_MAX));
		}
	}
}

/* ---- what was not found ---------------------------------------------------------------------- */

/* Counts the tables of each family that no jump was followed back to. */
static void tables_count(struct tabling *t)
{
	const struct flow_table *list = t->m->tables.data;
	uint32_t i = 0;

	for (uint32_t n = 0; n < t->known.len; n++) {
		const struct known *k = &t->known.data[n];
		const struct family *last = NULL;

		t->m->f->ntables += k->found > 1;
		for (; i < t->m->tables.len && list[i].addr == k->addr; i++) {
			struct family *own =
				list[i].func == UINT32_MAX ? NULL : family_of(t, list[i].func);

			if (!own || k->found < 2)
				continue;
			own->regs |= 1u << list[i].base;
			own->nfree += !k->njumps && own != last;
			last = own;
		}
	}
}

/* Whether the tables by which a jump may go were found. */
static bool jump_is_known(const struct tabling *t, const struct flow_jump *j, const struct known *k)
{
	if (!j->table)
		return !j->base || family_of(t, j->func)->regs >> j->base & 1;
	return k && k->addr == j->table && k->found >= (bound_holds(t->m->f, j) ? j->bound : 2);
}

static void families_judge(struct tabling *t)
{
	const struct known *known = t->known.data;
	struct flow *f = t->m->f;
	uint32_t k = 0;

	for (uint32_t i = 0; i < t->m->jumps.len; i++) { /* ascending tables */
		const struct flow_jump *j = &t->m->jumps.data[i];

		while (k < t->known.len && known[k].addr < j->table)
			k++;
		if (jump_counts(t, j) && !jump_is_known(t, j, k < t->known.len ? &known[k] : NULL))
			family_of(t, j->func)->is_lost = true;
	}
	for (uint32_t i = 0; i < f->funcs.len; i++) {
		const struct family *own = family_of(t, i);

		if (own->is_lost || (own->computes && own->has_labels) ||
		    (own->nopen && own->nopen + own->nloose > own->nfree))
			f->funcs.data[i].flags |= FUNC_LOST;
	}
}

void tables_mark(struct making *m)
{
	struct tabling t = {.m = m,
			    .families = xcalloc(MAX(m->f->funcs.len, 1u), sizeof(struct family)),
			    .work = WORK_MIN};

	families_find(&t);
	addresses_keep(&t);
	jumps_count(&t);
	known_list(&t);
	known_mark(&t);
	tables_count(&t);
	families_judge(&t);
	vec_deinit(&t.known);
	free(t.families);
}

/* ---- padding -------------------------------------------------------------------------------- */

/* Whether control does not go on behind an instruction. */
static bool is_end(uint8_t entry)
{
	enum flow_insn kind = insn_kind(entry);

	return kind == CODE_RET || kind == CODE_JMP || kind == CODE_JMP_TO || kind == CODE_STOP;
}

static bool is_padding(const struct flow_area *a, uint64_t i)
{
	enum flow_insn kind = insn_kind(a->map[i]);

	if (kind != CODE_NOP && kind != CODE_INT3)
		return false;
	for (uint64_t end = i + insn_size(a->map[i]); i < end; i++)
		if (is_marked(a, a->addr + i))
			return false;
	return true;
}

static void area_runs(struct flow *f, const struct flow_area *a)
{
	bool is_dead = false;

	for (uint64_t i = 0; i < a->size;) {
		uint64_t start = i;

		if (!a->map[i]) { /* between sections */
			is_dead = false;
			i++;
			continue;
		}
		while (is_dead && i < a->size && a->map[i] && is_padding(a, i))
			i += insn_size(a->map[i]);
		if (i - start >= FLOW_JUMP)
			vec_push(&f->runs, (struct flow_run){a->addr + start,
							     (uint32_t)MIN(i - start, UINT32_MAX)});
		if (i == start) {
			is_dead = is_end(a->map[i]);
			i += insn_size(a->map[i]);
		} else {
			is_dead = false;
		}
	}
}

void runs_find(struct flow *f)
{
	for (uint32_t i = 0; i < f->areas.len; i++)
		area_runs(f, &f->areas.data[i]);
}

/* ---- padding for uprobes that never fire ----------------------------------------------------- */

/*
 * The offset in a nop of padding at which the kernel lets a uprobe be: behind prefixes of segments,
 * which it refuses (Linux arch/x86/kernel/uprobes.c: is_prefix_bad()).
 */
static bool nop_is_probed(const uint8_t *code, uint32_t size, uint32_t *ret)
{
	uint32_t i = 0;

	while (i < size && (code[i] == 0x66 || code[i] == 0x2e))
		i++;
	*ret = i;
	return (i + 1 < size && code[i] == 0x0f && code[i + 1] == 0x1f) ||
	       (i + 1 == size && code[i] == 0x90);
}

/* Finds the last nop of a run: windows of exits overwrite the first bytes of one. */
static bool run_idle_find(const struct flow *f, const struct flow_run *r, uint64_t *ret_addr,
			  uint32_t *ret_size)
{
	const struct flow_area *a = area_at(f, r->addr);
	uint64_t at = a ? r->addr - a->addr : 0, end = a ? at + r->size : 0;
	bool is_found = false;

	for (uint32_t size, skip; at < end; at += size) {
		size = insn_size(a->map[at]);
		if (!size)
			break;
		if (insn_kind(a->map[at]) != CODE_NOP || !nop_is_probed(a->code + at, size, &skip))
			continue;
		*ret_addr = a->addr + at + skip;
		*ret_size = size - skip;
		is_found = true;
	}
	return is_found;
}

uint32_t flow_idle_count(const struct flow *f)
{
	return f->runs.len;
}

bool flow_idle_find(const struct flow *f, uint32_t i, uint64_t *ret_addr, uint32_t *ret_size)
{
	return i < f->runs.len && run_idle_find(f, &f->runs.data[i], ret_addr, ret_size);
}
