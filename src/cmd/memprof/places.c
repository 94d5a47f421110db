/* SPDX-License-Identifier: MIT */
/*
 * Who has asked for blocks, for memprof leaks -d: malloc is traced as memprof malloc does, with the
 * address of each block as a key.
 *
 * The process is copied while probes still fire. A block to which nothing points in the copy is
 * given back by nobody later, so the row of its address is that of the call which has made it.
 *
 * Probes do not jump, unless -x inproc asks for it: their region in the process cannot be read,
 * and would have to be told as memory that may hold blocks.
 */
#include <string.h>

#include "mdb/mdb.h"
#include "memprof.h"

static void copy_make(void *arg)
{
	struct places *p = arg;

	if (!p->copy)
		p->copy = look_open_again(p->m);
}

static int place_compare_text(const void *a, const void *b)
{
	return strcmp(((const struct place *)a)->text, ((const struct place *)b)->text);
}

static int place_compare_addr(const void *a, const void *b)
{
	uint64_t x = ((const struct place *)a)->addr, y = ((const struct place *)b)->addr;

	return x < y ? -1 : x > y;
}

/* The first line of a row is the address, the others are the stack. */
static void rows_take(struct rows *rows, void *arg)
{
	struct places *p = arg;

	p->rows = *rows;
	p->list = mem_check(calloc(p->rows.n + 1, sizeof(*p->list)));
	for (size_t i = 0; i < p->rows.n; i++) {
		const char *text = p->rows.rows[i].text, *stack = strchr(text, '\n') + 1;

		if (!p->rows.rows[i].count || *text != LINE_KEY)
			continue;
		p->list[p->n++] = (struct place){strtoull(text + 1, NULL, 10),
						 *stack ? stack : "N[no stack]\n"};
	}
	qsort(p->list, p->n, sizeof(*p->list), place_compare_text);
	for (size_t i = 1; i < p->n; i++)
		if (strcmp(p->list[i - 1].text, p->list[i].text) == 0)
			p->list[i].text = p->list[i - 1].text;
	qsort(p->list, p->n, sizeof(*p->list), place_compare_addr);
}

int places_trace(struct places *p, struct memprof *m)
{
	struct tracing t = {.agg = "bytes",
			    .hits = "hits",
			    .end_begin = copy_make,
			    .take = rows_take,
			    .arg = p};
	struct strbuf d = {0};
	int status;

	p->m = m;
	session_open(m);
	malloc_program_make(m, true, &d);
	t.d = d.data;
	status = session_run(m, &t);
	strbuf_deinit(&d);
	session_close(m);
	return status;
}

const char *place_find(void *places, uint64_t addr)
{
	const struct places *p = places;
	const struct place want = {.addr = addr}, *found;

	found = p->n ? bsearch(&want, p->list, p->n, sizeof(want), place_compare_addr) : NULL;
	return found ? found->text : NULL;
}

void places_deinit(struct places *p)
{
	rows_deinit(&p->rows);
	free(p->list);
}
