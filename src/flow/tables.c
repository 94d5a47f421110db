/* SPDX-License-Identifier: MIT */
/*
 * Jump tables, and padding that nobody executes.
 *
 * Compilers make of a switch
 *
 *         lea    table(%rip),%rdx
 *         movslq (%rdx,%rax,4),%rax
 *         add    %rdx,%rax
 *         jmp    *%rax
 *
 * with a table of distances from its begin. How many there are is not written anywhere: a table is
 * read up to the first entry that does not lead to code, or to where another one begins that code
 * takes the address of. Each address that a function with jumps to registers takes may be a table.
 * Tables of addresses are words of data, which are marked wherever they are (marks.c).
 */
#include "flow/impl.h"

#define ENTRIES_MAX 65536
#define REACH	    (64u << 20) /* bytes from a function to parts that were split off it */
#define SMALL	    4096	/* a distance below that is rather a number */

static int table_compare(const void *pa, const void *pb)
{
	const struct flow_table *a = pa, *b = pb;

	return a->addr != b->addr ? (a->addr < b->addr ? -1 : 1)
				  : (a->func > b->func) - (a->func < b->func);
}

static struct flow_range func_range(const struct flow *f, uint32_t func)
{
	const struct flow_func *fn;

	if (func == UINT32_MAX)
		return (struct flow_range){0, UINT64_MAX};
	fn = &f->funcs.data[func];
	return (struct flow_range){fn->addr, fn->addr + fn->size};
}

static bool is_in(const struct flow_range *r, uint64_t addr)
{
	return addr >= r->start && addr < r->end;
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

/* Marks where the entries of a table lead that ends before `end`; returns how many there are. */
static uint32_t table_mark(struct making *m, const struct flow_table *t, uint64_t end)
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
			    : !is_entry(m, &r, n == 0, v, addr))
			break;
		flow_mark(m->f, addr);
	}
	return n;
}

void tables_mark(struct making *m)
{
	uint32_t n = m->tables.len;

	if (n)
		qsort(m->tables.data, n, sizeof(*m->tables.data), table_compare);
	for (uint32_t i = 0; i < n;) {
		const struct flow_table *t = &m->tables.data[i];
		uint32_t next = i + 1, found;

		while (next < n && m->tables.data[next].addr == t->addr)
			next++;
		found = table_mark(m, t, next < n ? m->tables.data[next].addr : UINT64_MAX);
		m->f->ntables += found > 1;
		for (; i < next; i++)
			if (found > 1 && m->tables.data[i].func != UINT32_MAX)
				m->f->funcs.data[m->tables.data[i].func].flags |= FUNC_TABLE;
	}
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
