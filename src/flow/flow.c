/* SPDX-License-Identifier: MIT */
/* Makes the control flow of a file. */
#include "flow/flow.h"

#include <errno.h>
#include <inttypes.h>

#include "base/sorted.h"
#include "flow/impl.h"

#define SECTIONS_MAX 65536  /* of code */
#define OVERLAP	     65536u /* bytes by which segments together may exceed the file: shared pages */
#define READ_SIZE    (1u << 20)

/* ---- what is made --------------------------------------------------------------------------- */

void flow_bar_add(struct flow *f, uint64_t start, uint64_t end, enum flow_lack why)
{
	struct flow_bar *last = f->bars.len ? vec_last(&f->bars) : NULL;

	if (last && last->why == why && last->end == start)
		last->end = end;
	else if (start < end)
		vec_push(&f->bars, (struct flow_bar){start, end, why});
}

const struct flow_func *func_in(const struct flow_func *funcs, uint32_t n, uint64_t addr)
{
	uint32_t lo = sorted_upto(funcs, n, addr, addr);

	return lo && addr - funcs[lo - 1].addr < funcs[lo - 1].size ? &funcs[lo - 1] : NULL;
}

struct flow_func *func_at(const struct flow *f, uint64_t addr)
{
	const struct flow_func *fn = func_in(f->funcs.data, f->funcs.len, addr);

	return fn && fn->addr == addr ? &f->funcs.data[fn - f->funcs.data] : NULL;
}

const uint8_t *flow_code(const struct flow *f, uint64_t addr, uint32_t size)
{
	const struct flow_area *a = area_at(f, addr);

	return a && size <= a->size - (addr - a->addr) ? a->code + (addr - a->addr) : NULL;
}

uint64_t flow_size(const struct flow *f)
{
	uint64_t size = sizeof(*f) + f->areas.cap * sizeof(*f->areas.data) +
			f->code.cap * sizeof(*f->code.data) +
			f->funcs.cap * sizeof(*f->funcs.data) +
			f->bars.cap * sizeof(*f->bars.data) + f->runs.cap * sizeof(*f->runs.data);

	for (uint32_t i = 0; i < f->areas.len; i++)
		size += 2 * f->areas.data[i].size + f->areas.data[i].size / 4;
	return size;
}

void flow_destroy(struct flow *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->areas.len; i++) {
		free(f->areas.data[i].code);
		free(f->areas.data[i].map);
		free(f->areas.data[i].marks);
		free(f->areas.data[i].odd);
	}
	vec_deinit(&f->areas);
	vec_deinit(&f->code);
	vec_deinit(&f->funcs);
	vec_deinit(&f->bars);
	vec_deinit(&f->runs);
	free(f);
}

static int bar_compare(const void *pa, const void *pb)
{
	const struct flow_bar *a = pa, *b = pb;

	return a->start != b->start ? (a->start < b->start ? -1 : 1)
				    : (a->end > b->end) - (a->end < b->end);
}

/* Sorts the bars, and cuts those that overlap, so that their ends ascend, too. */
static void bars_sort(struct flow *f)
{
	uint32_t n = 0;

	if (f->bars.len)
		qsort(f->bars.data, f->bars.len, sizeof(*f->bars.data), bar_compare);
	for (uint32_t i = 0; i < f->bars.len; i++) {
		struct flow_bar b = f->bars.data[i];

		if (n)
			b.start = MAX(b.start, f->bars.data[n - 1].end);
		if (b.start < b.end)
			f->bars.data[n++] = b;
	}
	f->bars.len = n;
}

/* ---- the file ------------------------------------------------------------------------------- */

const uint8_t *making_bytes(const struct making *m, uint64_t addr, uint64_t *ret_size)
{
	const struct flow_area *a = area_at(m->f, addr);
	const struct flow_data *d;
	uint32_t lo;

	if (a) {
		*ret_size = a->size - (addr - a->addr);
		return a->code + (addr - a->addr);
	}
	lo = sorted_upto(m->data.data, m->data.len, addr, addr);
	d = lo ? &m->data.data[lo - 1] : NULL;
	if (!d || addr - d->addr >= d->size)
		return NULL;
	*ret_size = d->size - (addr - d->addr);
	return d->bytes + (addr - d->addr);
}

uint64_t making_word(const struct making *m, uint64_t addr)
{
	uint64_t size, word;
	const uint8_t *p = making_bytes(m, addr, &size);

	if (!p || size < sizeof(word))
		return 0;
	memcpy(&word, p, sizeof(word));
	return word;
}

const struct flow_range *section_at(const struct flow *f, uint64_t addr)
{
	uint32_t lo = sorted_upto(f->code.data, f->code.len, start, addr);

	return lo && addr < f->code.data[lo - 1].end ? &f->code.data[lo - 1] : NULL;
}

static struct err *kind_check(struct making *m)
{
	GElf_Ehdr eh;

	if (!m->g.elf || !gelf_getehdr(m->g.elf, &eh))
		return err_new("no ELF file");
	if (eh.e_machine != EM_X86_64 || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_ident[EI_DATA] != ELFDATA2LSB)
		return err_new("code of another kind of processor than x86-64 (ELF machine %u)",
			       eh.e_machine);
	if (eh.e_type != ET_EXEC && eh.e_type != ET_DYN)
		return err_new("neither a program nor a library");
	m->is_fixed = eh.e_type == ET_EXEC;
	return NULL;
}

/* Reads size bytes of the file. */
static struct err *bytes_read(struct making *m, uint64_t off, uint64_t size, uint8_t **ret)
{
	uint8_t *bytes = xmalloc(size);

	for (uint64_t at = 0; at < size;) {
		ssize_t n = gate_file_read(m->file, bytes + at, MIN(size - at, (uint64_t)READ_SIZE),
					   off + at);

		if (n > 0) {
			at += (uint64_t)n;
			continue;
		}
		free(bytes);
		return n < 0 ? err_sys(errno, "cannot read its code") : err_new("it is truncated");
	}
	*ret = bytes;
	return NULL;
}

static struct err *segment_read(struct making *m, const struct image_segment *s)
{
	struct flow_area a = {.addr = s->addr, .size = s->size};
	uint8_t *bytes = NULL;
	struct err *e = bytes_read(m, s->off, s->size, &bytes);

	if (e)
		return e;
	if (!s->is_exec) {
		vec_push(&m->data, (struct flow_data){s->addr, s->size, bytes});
		return NULL;
	}
	a.code = bytes;
	a.map = xcalloc(1, s->size);
	a.marks = xcalloc(s->size / 64 + 1, sizeof(*a.marks));
	a.odd = xcalloc(s->size / 64 + 1, sizeof(*a.odd));
	vec_push(&m->f->areas, a);
	return NULL;
}

static int area_compare(const void *pa, const void *pb)
{
	const struct flow_area *a = pa, *b = pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static int data_compare(const void *pa, const void *pb)
{
	const struct flow_data *a = pa, *b = pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* Sorts the segments. */
static struct err *segments_check(struct making *m)
{
	struct flow *f = m->f;

	if (!f->areas.len)
		return err_new("it has no code");
	if (m->data.len)
		qsort(m->data.data, m->data.len, sizeof(*m->data.data), data_compare);
	qsort(f->areas.data, f->areas.len, sizeof(*f->areas.data), area_compare);
	for (uint32_t i = 1; i < f->areas.len; i++)
		if (f->areas.data[i].addr - f->areas.data[i - 1].addr < f->areas.data[i - 1].size)
			return err_new("its segments overlap");
	return NULL;
}

/*
 * Reads all segments. Those of a hostile file may all have the same bytes: together they are not
 * larger than the file. A sparse one may be of any size: neither code nor data exceeds the limit.
 */
static struct err *segments_load(struct making *m, const struct image_segments *s)
{
	uint64_t left = (uint64_t)gate_file_stat(m->file)->st_size + OVERLAP;
	uint64_t most[2] = {m->limit, m->limit};

	for (uint32_t i = 0; i < s->list.len; i++) {
		const struct image_segment *g = &s->list.data[i];
		struct err *e = NULL;

		if (!g->size)
			continue;
		if (g->size > most[g->is_exec])
			e = err_hint(err_new("its %s has more than %" PRIu64 " bytes",
					     g->is_exec ? "code" : "data", m->limit),
				     "raise the option elfsize");
		else if (g->size > left || g->size > UINT64_MAX - g->addr)
			e = err_new("its segments are larger than the file");
		else
			e = segment_read(m, g);
		if (e)
			return e;
		left -= g->size;
		most[g->is_exec] -= g->size;
	}
	return segments_check(m);
}

static int range_compare(const void *pa, const void *pb)
{
	const struct flow_range *a = pa, *b = pb;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Finds the sections of code; where two overlap, the second one begins behind the first. */
static struct err *sections_find(struct making *m)
{
	Elf_Scn *scn = NULL;
	uint32_t n = 0;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(m->g.elf, scn)) && m->f->code.len < SECTIONS_MAX) {
		const struct flow_area *a;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS ||
		    !(sh.sh_flags & SHF_ALLOC) || !(sh.sh_flags & SHF_EXECINSTR))
			continue;
		a = area_at(m->f, sh.sh_addr);
		if (a && sh.sh_size && sh.sh_size <= a->size - (sh.sh_addr - a->addr))
			vec_push(&m->f->code,
				 (struct flow_range){sh.sh_addr, sh.sh_addr + sh.sh_size});
	}
	if (!m->f->code.len)
		return err_new("it has no headers of sections");
	qsort(m->f->code.data, m->f->code.len, sizeof(*m->f->code.data), range_compare);
	for (uint32_t i = 0; i < m->f->code.len; i++) {
		struct flow_range r = m->f->code.data[i];

		if (n)
			r.start = MAX(r.start, m->f->code.data[n - 1].end);
		if (r.start < r.end)
			m->f->code.data[n++] = r;
	}
	m->f->code.len = n;
	return NULL;
}

static struct err *flow_make(struct making *m)
{
	struct image_segments segments;
	struct err *e = kind_check(m);

	if (e)
		return e;
	segments_read(&segments, m->g.elf);
	e = segments_load(m, &segments);
	segments_deinit(&segments);
	if (!e)
		e = sections_find(m);
	if (!e)
		e = marks_read(m);
	if (e)
		return e;
	code_decode(m);
	tables_mark(m);
	runs_find(m->f);
	bars_sort(m->f);
	return NULL;
}

struct err *flow_create(struct gate_file *file, uint64_t limit, struct flow **ret)
{
	struct making m = {.f = xcalloc(1, sizeof(struct flow)), .file = file, .limit = limit};
	struct err *e;

	gate_elf_open(file, limit, &m.g);
	e = flow_make(&m);
	gate_elf_close(&m.g);
	for (uint32_t i = 0; i < m.data.len; i++)
		free(m.data.data[i].bytes);
	vec_deinit(&m.data);
	vec_deinit(&m.tables);
	vec_deinit(&m.jumps);
	vec_deinit(&m.edges);
	vec_deinit(&m.rseq);
	if (e) {
		flow_destroy(m.f);
		return e;
	}
	*ret = m.f;
	return NULL;
}
