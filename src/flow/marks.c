/* SPDX-License-Identifier: MIT */
/* What a file says about its code outside of it: symbols, .eh_frame, relocations, words of data. */
#include <inttypes.h>

#include "flow/impl.h"
#include "image/symtab.h"

/*
 * Bytes of landing pads' tables that are read, as a multiple of the data's size: a hostile file can
 * let all its functions share one long table.
 */
#define WORK_FACTOR 4
#define WORK_MIN    ((uint64_t)1 << 20)
/* The same of names, which may overlap, and the size of the largest table. */
#define NAMES_FACTOR 4
/* Symbols count if they have one in so many of the functions that .eh_frame knows. */
#define SYMBOLS_MIN 4

#define RSEQ_SIZE      32 /* struct rseq_cs: linux/rseq.h */
#define RSEQ_SIGNATURE 4  /* bytes before the place that an aborted section continues at */

/* ---- functions ------------------------------------------------------------------------------ */

static void func_add(struct making *m, uint64_t addr, uint64_t size, uint32_t flags)
{
	if (size && size <= UINT32_MAX && making_has_code(m, addr))
		vec_push(&m->f->funcs, (struct flow_func){addr, (uint32_t)size, flags});
}

/* Of two functions with the same begin, the first one counts: no part, the longer one. */
static int func_compare(const void *pa, const void *pb)
{
	const struct flow_func *a = pa, *b = pb;
	bool a_part = a->flags & FUNC_PART, b_part = b->flags & FUNC_PART;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (a_part != b_part)
		return a_part ? 1 : -1;
	return (a->size < b->size) - (a->size > b->size);
}

/* Sorts the functions, and shortens them where others begin inside. */
static void funcs_sort(struct flow *f)
{
	uint32_t n = 0;

	if (f->funcs.len)
		qsort(f->funcs.data, f->funcs.len, sizeof(*f->funcs.data), func_compare);
	for (uint32_t i = 0; i < f->funcs.len; i++) {
		struct flow_func fn = f->funcs.data[i];
		struct flow_func *last = n ? &f->funcs.data[n - 1] : NULL;

		if (last && last->addr == fn.addr)
			continue;
		if (last && fn.addr - last->addr < last->size)
			last->size = (uint32_t)(fn.addr - last->addr);
		f->funcs.data[n++] = fn;
	}
	f->funcs.len = n;
}

/* ---- symbols -------------------------------------------------------------------------------- */

static void symbol_read(struct making *m, struct symtab *t)
{
	uint32_t type = GELF_ST_TYPE(t->sym.st_info);
	bool is_func = type == STT_FUNC || type == STT_GNU_IFUNC;
	const char *name;

	if (t->sym.st_shndx == SHN_UNDEF || type == STT_TLS || type == STT_FILE ||
	    !making_has_code(m, t->sym.st_value))
		return;
	flow_mark(m->f, t->sym.st_value);
	name = is_func && m->texts ? symtab_name(t) : NULL;
	if (!name)
		return;
	m->texts -= MIN(m->texts, strlen(name));
	if (func_is_known(name))
		flow_bar_add(m->f, t->sym.st_value, t->sym.st_value + MAX(t->sym.st_size, 1u),
			     FLOW_KNOWN);
	if (!t->is_dynamic)
		func_add(m, t->sym.st_value, t->sym.st_size, strstr(name, ".cold") ? FUNC_PART : 0);
}

static void symbols_read(struct making *m)
{
	struct symtab t = symtab_begin(&m->g, SYMTAB_ALL);

	while (symtab_next(&t))
		symbol_read(m, &t);
}

/* Others can call the functions that have a symbol: they are no parts of functions. */
static void symbols_note_called(struct making *m)
{
	struct symtab t = symtab_begin(&m->g, SYMTAB_ALL);

	while (symtab_next(&t)) {
		struct flow_func *fn =
			t.sym.st_shndx == SHN_UNDEF ? NULL : func_at(m->f, t.sym.st_value);

		if (fn && !(fn->flags & FUNC_PART))
			fn->flags |= FUNC_CALLED;
	}
}

/* ---- .eh_frame ------------------------------------------------------------------------------ */

/*
 * The code to which signal handlers return: an unwinder that looks for the caller of an address
 * takes one byte off, so its entry begins a byte early, and that byte belongs to it, too.
 */
static void signal_bar(struct flow *f, const struct unwind_fde *fde)
{
	flow_bar_add(f, fde->addr - MIN(fde->addr, 1u), fde->addr + fde->size, FLOW_SIGRETURN);
}

static void fde_mark(struct making *m, const struct unwind_fde *fde)
{
	if (fde->is_signal) {
		signal_bar(m->f, fde);
		return;
	}
	flow_mark(m->f, fde->addr);
	if (fde->lsda && !landings_mark(m, fde))
		flow_bar_add(m->f, fde->addr, fde->addr + fde->size, FLOW_UNKNOWN_JUMP);
}

static bool frames_read(struct making *m)
{
	unwind_fdes fdes = {0};
	bool is_whole = unwind_fdes_read(&m->g, &fdes);

	/*
	 * Symbols say more than .eh_frame, which has parts of functions as if they were some. Where
	 * they know only a few functions, they are what was left of them.
	 */
	m->f->has_symbols = m->f->funcs.len && m->f->funcs.len >= fdes.len / SYMBOLS_MIN;
	if (!m->f->has_symbols)
		vec_clear(&m->f->funcs);
	funcs_sort(m->f);
	for (uint32_t i = 0, n = m->f->funcs.len; i < fdes.len; i++) {
		const struct unwind_fde *fde = &fdes.data[i];
		bool is_known;

		fde_mark(m, fde);
		is_known = func_in(m->f->funcs.data, n, fde->addr);
		if (!fde->is_signal && !is_known)
			func_add(m, fde->addr, fde->size, m->f->has_symbols ? FUNC_PART : 0);
	}
	vec_deinit(&fdes);
	funcs_sort(m->f);
	return is_whole;
}

/* ---- relocations and words ------------------------------------------------------------------ */

static void pointer_mark(struct making *m, uint64_t addr)
{
	struct flow_func *fn;

	if (!making_has_code(m, addr) || !flow_mark(m->f, addr))
		return;
	m->f->npointers++;
	fn = func_at(m->f, addr);
	if (fn)
		fn->flags |= FUNC_CALLED;
}

/* Puts a pointer into the copy of the list of critical sections, if it is one of it. */
static void rseq_fill(struct making *m, uint64_t at, uint64_t value)
{
	uint64_t i = at - m->rseq_addr;

	if (at >= m->rseq_addr && i < m->rseq.len && m->rseq.len - i >= sizeof(value))
		memcpy(m->rseq.data + i, &value, sizeof(value));
}

static void rela_read(struct making *m, const GElf_Rela *r, Elf_Data *symbols)
{
	uint64_t symbol = GELF_R_SYM(r->r_info);
	GElf_Sym sym;

	switch (GELF_R_TYPE(r->r_info)) {
	case R_X86_64_RELATIVE:
	case R_X86_64_IRELATIVE:
		pointer_mark(m, (uint64_t)r->r_addend);
		rseq_fill(m, r->r_offset, (uint64_t)r->r_addend);
		return;
	case R_X86_64_JUMP_SLOT: /* of a stub of the linkage table: where it goes on at first */
		pointer_mark(m, making_word(m, r->r_offset));
		return;
	case R_X86_64_64:
		if (symbols && symbol <= INT32_MAX && gelf_getsym(symbols, (int)symbol, &sym) &&
		    sym.st_shndx != SHN_UNDEF)
			pointer_mark(m, sym.st_value + (uint64_t)r->r_addend);
		return;
	default: return;
	}
}

static void rela_section(struct making *m, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = gate_data(&m->g, scn);
	Elf_Scn *table = elf_getscn(m->g.elf, sh->sh_link);
	Elf_Data *symbols = sh->sh_link && table ? gate_data(&m->g, table) : NULL;
	size_t n = data ? data->d_size / sizeof(Elf64_Rela) : 0;
	GElf_Rela r;

	for (size_t i = 0; i < n && i <= INT32_MAX; i++)
		if (gelf_getrela(data, (int)i, &r))
			rela_read(m, &r, symbols);
}

static uint64_t words_count(const struct making *m)
{
	uint64_t size = 8;

	for (uint32_t i = 0; i < m->data.len; i++)
		size += m->data.data[i].size;
	for (uint32_t i = 0; i < m->f->areas.len; i++)
		size += m->f->areas.data[i].size;
	return size / 8;
}

/*
 * Packed relative relocations: an address, whose word is one, or a map of which of the 63 words
 * behind the last are.
 */
static void relr_section(struct making *m, Elf_Scn *scn)
{
	const Elf_Data *data = gate_raw_data(&m->g, scn);
	size_t n = data && data->d_buf ? data->d_size / 8 : 0;
	uint64_t at = 0, entry, left = words_count(m); /* each word is relocated once */

	for (size_t i = 0; i < n && left; i++) {
		memcpy(&entry, (const uint8_t *)data->d_buf + 8 * i, sizeof(entry));
		if (!(entry & 1)) {
			pointer_mark(m, making_word(m, entry));
			at = entry + 8;
			left--;
			continue;
		}
		for (uint32_t bit = 1; bit < 64 && left; bit++)
			if (entry >> bit & 1) {
				pointer_mark(m, making_word(m, at + 8 * (uint64_t)(bit - 1)));
				left--;
			}
		at += 63 * 8;
	}
}

/* Of a program that is loaded where its addresses say: any word may be a pointer. */
static void words_mark(struct making *m, const uint8_t *bytes, uint64_t addr, uint64_t size)
{
	uint64_t word;

	for (uint64_t i = ROUND_UP(addr, 8) - addr; i < size && size - i >= 8; i += 8) {
		memcpy(&word, bytes + i, sizeof(word));
		pointer_mark(m, word);
	}
}

static void fixed_words_mark(struct making *m)
{
	uint64_t at;

	for (uint32_t i = 0; i < m->data.len; i++)
		words_mark(m, m->data.data[i].bytes, m->data.data[i].addr, m->data.data[i].size);
	for (uint32_t i = 0, k = 0; i < m->f->areas.len; i++) {
		const struct flow_area *a = &m->f->areas.data[i];

		at = a->addr;
		for (; k < m->f->code.len && m->f->code.data[k].start - a->addr < a->size; k++) {
			const struct flow_range *r = &m->f->code.data[k];

			words_mark(m, a->code + (at - a->addr), at, r->start - at);
			at = r->end;
		}
		words_mark(m, a->code + (at - a->addr), at, a->addr + a->size - at);
	}
}

/* ---- critical sections ---------------------------------------------------------------------- */

/*
 * The kernel compares where a thread is with the begin and the length of its section, and lets an
 * aborted one continue at a place that begins with a signature.
 */
static void rseq_bar(struct making *m)
{
	for (uint32_t i = 0; i + RSEQ_SIZE <= m->rseq.len; i += RSEQ_SIZE) {
		uint64_t start, size, abort;

		memcpy(&start, m->rseq.data + i + 8, 8);
		memcpy(&size, m->rseq.data + i + 16, 8);
		memcpy(&abort, m->rseq.data + i + 24, 8);
		if (!making_has_code(m, start) || size > UINT64_MAX - start)
			continue;
		flow_bar_add(m->f, start, start + size, FLOW_RSEQ);
		if (flow_mark(m->f, abort))
			flow_bar_add(m->f, abort - MIN(abort, RSEQ_SIGNATURE), abort + 1,
				     FLOW_RSEQ);
	}
}

static void rseq_read(struct making *m, Elf_Scn *scn, const GElf_Shdr *sh)
{
	const Elf_Data *data = gate_raw_data(&m->g, scn);

	if (!data || !data->d_buf || m->rseq.len)
		return;
	m->rseq_addr = sh->sh_addr;
	for (size_t i = 0; i < data->d_size; i++)
		vec_push(&m->rseq, ((const uint8_t *)data->d_buf)[i]);
}

/* ---- sections ------------------------------------------------------------------------------- */

static bool is_rseq(struct making *m, size_t names, const GElf_Shdr *sh)
{
	const char *name =
		sh->sh_type == SHT_PROGBITS ? gate_text(&m->g, names, sh->sh_name) : NULL;

	return name && strcmp(name, "__rseq_cs") == 0;
}

static void sections_read(struct making *m)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(m->g.elf, &names))
		names = 0;
	while ((scn = elf_nextscn(m->g.elf, scn)))
		if (gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_ALLOC) && is_rseq(m, names, &sh))
			rseq_read(m, scn, &sh);
	while ((scn = elf_nextscn(m->g.elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_ALLOC))
			continue;
		if (sh.sh_type == SHT_RELA)
			rela_section(m, scn, &sh);
		else if (sh.sh_type == SHT_RELR)
			relr_section(m, scn);
	}
}

struct err *marks_read(struct making *m)
{
	GElf_Ehdr eh;
	bool is_whole;

	m->work = WORK_MIN;
	m->texts = NAMES_FACTOR * m->limit;
	for (uint32_t i = 0; i < m->data.len; i++)
		m->work += WORK_FACTOR * m->data.data[i].size;
	for (uint32_t i = 0; i < m->f->areas.len; i++)
		m->work += m->f->areas.data[i].size;
	for (uint32_t i = 0; i < m->f->code.len; i++)
		flow_mark(m->f, m->f->code.data[i].start);
	if (gelf_getehdr(m->g.elf, &eh))
		flow_mark(m->f, eh.e_entry);
	symbols_read(m);
	is_whole = frames_read(m);
	symbols_note_called(m);
	sections_read(m);
	if (m->is_fixed)
		fixed_words_mark(m);
	rseq_bar(m);
	if (m->g.is_cut || !is_whole)
		return err_hint(err_new("a table of it takes more than %" PRIu64 " bytes",
					m->limit),
				"raise the option elfsize");
	return NULL;
}
