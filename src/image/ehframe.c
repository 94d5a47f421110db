/* SPDX-License-Identifier: MIT */
/*
 * Unwind rows from .eh_frame, or .debug_frame for code that has only that (Go; C that is compiled
 * without exceptions in mind).
 *
 * .eh_frame is a list of entries. A CIE says what a group of functions has in common, an FDE which
 * code it covers (function foo at 0x1139, 0x18 bytes) and then, as a small program, how the
 * caller's registers are found in it, here on x86-64:
 *
 *     00000020 FDE cie=00000000 pc=1139..1151             rows (CFA, rbp):
 *       DW_CFA_def_cfa: rsp+8; offset: ra at cfa-8   (CIE)   1139  rsp+8   same
 *       DW_CFA_advance_loc: 1 to 113a
 *       DW_CFA_def_cfa_offset: 16                            113a  rsp+16  at cfa-16
 *       DW_CFA_offset: rbp at cfa-16
 *       DW_CFA_advance_loc: 3 to 113d
 *       DW_CFA_def_cfa_register: rbp                         113d  rbp+16  at cfa-16
 *       DW_CFA_advance_loc: 19 to 1150
 *       DW_CFA_def_cfa: rsp+8                                1150  rsp+8   at cfa-16
 *
 * These programs are run (ehframe_run.c), once a file, or once for each function that is asked
 * about. Only what a walk needs is kept: the CFA, and the frame pointer, on which the CFAs of
 * callers depend. Other callee-saved registers, which the helpers of some languages want in outer
 * frames, are in rows of their own (unwind_saved_read()).
 *
 * The return address is where the processor's convention has it in all code that was called
 * (arch_unwind.ra_off); a rule that says otherwise makes the row UNWIND_NONE.
 */
#include "image/ehframe.h"

#include <dwarf.h>

#include "arch/arch.h"
#include "base/sorted.h"
#include "files/gate.h"
#include "image/ehframe_impl.h"

#define PART		 256 /* entries that are read between two calls of struct image_pause */
#define AUGMENTATION_MAX 16  /* letters; real ones have up to five */
/*
 * Bytes of instructions that may be run, as a multiple of the sections' size. A hostile file can
 * let all its entries share one long CIE, whose instructions run again for each entry.
 */
#define WORK_FACTOR 64
#define WORK_MIN    ((uint64_t)1 << 20)

/* ---- the section -------------------------------------------------------------------------- */

/*
 * Reads an address encoded as form (DW_EH_PE_*); DW_EH_PE_indirect, datarel and the like do not
 * occur for code.
 */
static uint64_t get_pointer(const struct frames *in, struct bytes *b, uint8_t form, bool is_size)
{
	uint64_t at = in->addr + (uint64_t)(b->p - in->data), v;

	switch (form & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8: v = get_fixed(b, 8); break;
	case DW_EH_PE_udata4: v = get_fixed(b, 4); break;
	case DW_EH_PE_udata2: v = get_fixed(b, 2); break;
	case DW_EH_PE_sdata4: v = (uint64_t)(int64_t)(int32_t)get_fixed(b, 4); break;
	case DW_EH_PE_sdata2: v = (uint64_t)(int64_t)(int16_t)get_fixed(b, 2); break;
	case DW_EH_PE_uleb128: v = get_uleb(b); break;
	case DW_EH_PE_sleb128: v = (uint64_t)get_sleb(b); break;
	default: b->is_bad = true; return 0;
	}
	if (!is_size && (form & 0x70) == DW_EH_PE_pcrel)
		v += at;
	return v;
}

/* Returns the bytes of the next entry behind its length; false at the end of the list. */
static bool entry_next(struct bytes *b, struct bytes *ret)
{
	uint64_t len;

	if (b->end - b->p < 4)
		return false;
	len = get_fixed(b, 4);
	if (len == UINT32_MAX)
		len = get_fixed(b, 8);
	if (len == 0 || b->is_bad)
		return false;
	*ret = get_block(b, len);
	return !b->is_bad;
}

static void cie_augmentation(struct cie *c, const char *aug, struct bytes *b)
{
	if (*aug != 'z') {
		c->is_bad |= *aug != '\0';
		return;
	}
	c->has_data = true;
	(void)get_uleb(b); /* the length of the data, which follows from the letters */
	for (aug++; *aug && !b->is_bad; aug++) {
		switch (*aug) {
		case 'R': c->pointers = get_u8(b); break;
		case 'L': c->lsda = get_u8(b); break;
		case 'P': (void)get_pointer(c->in, b, get_u8(b), true); break;
		case 'S': c->is_signal = true; break;
		default: c->is_bad = true; return;
		}
	}
}

/*
 * Accepts versions 1 and 3, and in .debug_frame 4, which adds the sizes of addresses and of segment
 * selectors.
 */
static bool is_version_good(const struct frames *in, uint8_t version, struct bytes *b)
{
	if (in->is_debug && version == 4)
		return get_u8(b) == 8 && get_u8(b) == 0;
	return version == 1 || version == 3;
}

bool frame_work_take(struct reader *r, uint64_t bytes)
{
	if (bytes > r->work) {
		r->out->is_cut = true;
		return false;
	}
	r->work -= bytes;
	return true;
}

const struct cie *frame_cie_read(struct reader *r, const struct frames *in, uint64_t off)
{
	struct bytes b = {.p = in->data, .end = in->end}, e;
	struct cie *c = &r->cie;
	const uint8_t *header;
	const char *aug;
	uint8_t version;

	if (c->off == off && c->in == in)
		return c;
	*c = (struct cie){.off = off, .in = in, .pointers = DW_EH_PE_absptr, .lsda = DW_EH_PE_omit};
	bytes_skip(&b, off);
	if (b.is_bad || !entry_next(&b, &e) ||
	    get_fixed(&e, 4) != (in->is_debug ? UINT32_MAX : 0)) {
		c->is_bad = true;
		return c;
	}
	version = get_u8(&e);
	aug = (const char *)e.p;
	bytes_skip(&e, strnlen(aug, MIN((size_t)(e.end - e.p), AUGMENTATION_MAX)) + 1);
	if (e.is_bad || e.p[-1] != '\0' || !is_version_good(in, version, &e)) {
		c->is_bad = true;
		return c;
	}
	header = e.p;
	c->code_align = get_uleb(&e);
	c->data_align = get_sleb(&e);
	c->is_bad = (version == 1 ? get_u8(&e) : get_uleb(&e)) != arch.unwind.ra;
	cie_augmentation(c, aug, &e);
	c->is_bad |= e.is_bad || !frame_work_take(r, (uint64_t)(e.p - header));
	c->insns = e;
	return c;
}

bool frame_code_find(const struct reader *r, uint64_t pc, uint64_t size, uint64_t *ret)
{
	const struct image_segment *s = segments_at(&r->code, pc, size);

	if (s)
		*ret = s->off - s->addr;
	return s;
}

/* Returns where the landing pads of an FDE are listed, by the bytes of its augmentation. */
static uint64_t lsda_read(const struct frames *in, const struct cie *c, struct bytes data)
{
	uint64_t at = in->addr + (uint64_t)(data.p - in->data), v;

	if (c->lsda == DW_EH_PE_omit)
		return 0;
	v = get_pointer(in, &data, c->lsda, true);
	if (!v || data.is_bad)
		return 0;
	return (c->lsda & 0x70) == DW_EH_PE_pcrel ? v + at : v;
}

static void fde_read(struct reader *r, const struct frames *in, struct bytes *e, uint64_t cie_off)
{
	const struct cie *c = frame_cie_read(r, in, cie_off);
	struct fde f = {.cie = cie_off, .in = in, .is_signal = c->is_signal};
	uint64_t off;

	if (c->is_bad)
		return;
	f.pc = get_pointer(in, e, c->pointers, false);
	f.size = get_pointer(in, e, c->pointers, true);
	if (c->has_data)
		f.lsda = lsda_read(in, c, get_block(e, get_uleb(e)));
	f.insns = *e;
	/*
	 * .debug_frame also has entries for functions that the linker has dropped; no segment holds
	 * those.
	 */
	if (e->is_bad || !f.size || f.pc + f.size <= f.pc ||
	    !frame_code_find(r, f.pc, f.size, &off))
		return;
	if (r->fdes.len < r->limit / sizeof(f))
		vec_push(&r->fdes, f);
	else
		r->out->is_cut = true;
}

static void part_done(struct reader *r)
{
	if (++r->nparts < PART)
		return;
	r->nparts = 0;
	image_pause_run(r->pause);
}

/*
 * The word behind an entry's length is the distance back to the CIE in .eh_frame, and the CIE's
 * offset in .debug_frame.
 */
static void entries_read(struct reader *r, const struct frames *in)
{
	struct bytes b = {.p = in->data, .end = in->end}, e;

	while (entry_next(&b, &e)) {
		uint64_t at = (uint64_t)(e.p - in->data), cie = get_fixed(&e, 4);

		part_done(r);
		if (e.is_bad)
			continue;
		if (in->is_debug && cie != UINT32_MAX)
			fde_read(r, in, &e, cie);
		else if (!in->is_debug && cie && cie <= at)
			fde_read(r, in, &e, at - cie);
	}
}

static int fde_compare(const void *pa, const void *pb)
{
	const struct fde *a = pa, *b = pb;

	return a->pc != b->pc	   ? (a->pc < b->pc ? -1 : 1)
	       : a->size > b->size ? -1
				   : a->size < b->size;
}

static bool is_sorted(const struct reader *r)
{
	for (uint32_t i = 1; i < r->fdes.len; i++)
		if (fde_compare(&r->fdes.data[i - 1], &r->fdes.data[i]) > 0)
			return false;
	return true;
}

/*
 * Runs the FDEs in the order of addresses. If two FDEs describe the same code, the first one wins.
 */
static void fdes_run(struct reader *r)
{
	uint64_t end = 0;

	if (!is_sorted(r)) /* the FDEs of nearly all files are sorted */
		qsort(r->fdes.data, r->fdes.len, sizeof(*r->fdes.data), fde_compare);
	if (r->fdes.len)
		frame_begin_run(r, r->fdes.data[0].pc);
	for (uint32_t i = 0; i < r->fdes.len; i++) {
		struct fde *f = &r->fdes.data[i];
		uint64_t next = i + 1 < r->fdes.len ? r->fdes.data[i + 1].pc : UINT64_MAX;

		if (f->pc < end)
			continue;
		end = f->pc + f->size;
		frame_fde_run(r, f, MAX(next, end));
		part_done(r);
	}
	frame_rows_end(r);
}

/* ---- the file ----------------------------------------------------------------------------- */

static void section_read(struct frames *f, struct gate_elf *g, Elf_Scn *scn, const GElf_Shdr *sh)
{
	const Elf_Data *data = gate_raw_data(g, scn);

	if (!data || !data->d_buf)
		return;
	f->addr = sh->sh_addr;
	f->data = data->d_buf;
	f->end = f->data + data->d_size;
}

/* Reads the section of a name; false: there is none. */
static bool section_find(struct frames *f, struct gate_elf *g, const char *wanted)
{
	Elf_Scn *scn = NULL;
	bool is_there = false;
	size_t names;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(g->elf, &names))
		return false;
	while ((scn = elf_nextscn(g->elf, scn))) {
		const char *name = gelf_getshdr(scn, &sh) ? gate_text(g, names, sh.sh_name) : NULL;

		if (!name || strcmp(name, wanted) != 0)
			continue;
		section_read(f, g, scn, &sh);
		is_there = true;
	}
	return is_there;
}

static void sections_read(struct reader *r, struct gate_elf *g)
{
	r->debug.is_debug = true;
	section_find(&r->eh, g, ".eh_frame");
	section_find(&r->debug, g, ".debug_frame");
}

static void work_allow(struct reader *r)
{
	r->work = WORK_MIN + WORK_FACTOR * (uint64_t)((r->eh.end - r->eh.data) +
						      (r->debug.end - r->debug.data));
	r->ngaps = GAPS_MAX;
}

/* Makes the rows once more, of the kind UNWIND_CARRY where they can be: few files need that. */
static void rows_carry(struct reader *r)
{
	bool is_cut = r->out->is_cut;

	vec_clear(&r->out->rows);
	r->out->nfdes = r->out->nodd = 0;
	r->carries = true;
	work_allow(r);
	fdes_run(r);
	r->out->is_cut |= is_cut;
}

static void read_frames(struct gate_elf *g, bool is_saved, const struct image_pause *pause,
			struct unwind_rows *out)
{
	struct reader r = {.pause = pause,
			   .is_saved = is_saved,
			   .cie = {.off = UINT64_MAX},
			   .out = out,
			   .limit = g->limit,
			   .file = g->file};

	sections_read(&r, g);
	segments_read_code(&r.code, g->elf);
	work_allow(&r);
	entries_read(&r, &r.eh);
	entries_read(&r, &r.debug);
	fdes_run(&r);
	if (r.needs_carried && !is_saved)
		rows_carry(&r);
	vec_deinit(&r.fdes);
	segments_deinit(&r.code);
}

static bool is_our_kind(Elf *elf)
{
	GElf_Ehdr eh;

	return elf && gelf_getehdr(elf, &eh) && eh.e_machine == arch.elf.machine &&
	       eh.e_ident[EI_CLASS] == ELFCLASS64;
}

/* Reads the rows of an ELF file and closes g. */
static void read_elf(struct gate_elf *g, bool is_saved, const struct image_pause *pause,
		     struct unwind_rows *out)
{
	*out = (struct unwind_rows){0};
	if (is_our_kind(g->elf))
		read_frames(g, is_saved, pause, out);
	out->is_cut |= g->is_cut;
	gate_elf_close(g);
}

bool unwind_fdes_read(struct gate_elf *g, unwind_fdes *ret)
{
	struct unwind_rows none = {0};
	struct reader r = {.cie = {.off = UINT64_MAX}, .out = &none, .limit = g->limit};

	sections_read(&r, g);
	segments_read_code(&r.code, g->elf);
	work_allow(&r);
	entries_read(&r, &r.eh);
	for (uint32_t i = 0; i < r.fdes.len; i++) {
		const struct fde *f = &r.fdes.data[i];

		vec_push(ret, (struct unwind_fde){f->pc, f->size, f->lsda, f->is_signal});
	}
	vec_deinit(&r.fdes);
	segments_deinit(&r.code);
	return !none.is_cut;
}

static int entry_compare(const void *pa, const void *pb)
{
	const struct unwind_fde *a = pa, *b = pb;

	return (a->addr > b->addr) - (a->addr < b->addr);
}

void unwind_fdes_sort(unwind_fdes *fdes)
{
	if (fdes->len)
		qsort(fdes->data, fdes->len, sizeof(*fdes->data), entry_compare);
}

const struct unwind_fde *unwind_fdes_find(const unwind_fdes *fdes, uint64_t addr)
{
	uint32_t n = sorted_upto(fdes->data, fdes->len, addr, addr);
	const struct unwind_fde *fde = n ? &fdes->data[n - 1] : NULL;

	return fde && addr - fde->addr < fde->size ? fde : NULL;
}

void unwind_rows_read(struct gate_file *file, uint64_t limit, const struct image_pause *pause,
		      struct unwind_rows *ret)
{
	struct gate_elf g;

	gate_elf_open(file, limit, &g);
	read_elf(&g, false, pause, ret);
}

void unwind_saved_read(struct gate_file *file, uint64_t limit, const struct image_pause *pause,
		       struct unwind_rows *ret)
{
	struct gate_elf g;

	gate_elf_open(file, limit, &g);
	read_elf(&g, true, pause, ret);
}

static void read_memory(const void *image, size_t size, bool is_saved, struct unwind_rows *ret)
{
	CLEANUP(free) char *copy = xmalloc(size); /* libelf writes to the image */
	struct gate_elf g;

	memcpy(copy, image, size);
	gate_elf_memory(copy, size, GATE_LIMIT_DEFAULT, &g);
	read_elf(&g, is_saved, NULL, ret);
}

void unwind_rows_read_memory(const void *image, size_t size, struct unwind_rows *ret)
{
	read_memory(image, size, false, ret);
}

void unwind_saved_read_memory(const void *image, size_t size, struct unwind_rows *ret)
{
	read_memory(image, size, true, ret);
}

void unwind_rows_deinit(struct unwind_rows *r)
{
	vec_deinit(&r->rows);
}

const struct unwind_row *unwind_row_find(const struct unwind_rows *r, uint32_t off)
{
	uint32_t lo = sorted_upto(r->rows.data, r->rows.len, off, off);

	return lo ? &r->rows.data[lo - 1] : NULL;
}

/* ---- rows of single functions ---------------------------------------------------------------- */

#define HDR_VERSION    1
#define HDR_BEFORE     12 /* bytes before the table: version, encodings, two numbers of 4 bytes */
#define HDR_ENTRY      8  /* of the table: where code begins, where its FDE is */
#define HDR_EQUALS_MAX 16 /* FDEs for one address */

struct unwind_lazy {
	struct gate_elf g;
	struct reader r;	   /* r.limit: what rows may still take */
	struct frames hdr;	   /* .eh_frame_hdr */
	uint32_t nentries;	   /* of its table */
	uint64_t begin;		   /* offset in the file of the first function */
	struct unwind_rows **rows; /* by entry; NULL: not asked for yet */
};

/* A number of the table, which counts from the section's address. */
static uint64_t hdr_number(const struct unwind_lazy *l, uint32_t entry, uint32_t at)
{
	int32_t v;

	memcpy(&v, l->hdr.data + HDR_BEFORE + (size_t)HDR_ENTRY * entry + at, sizeof(v));
	return l->hdr.addr + (uint64_t)(int64_t)v;
}

static uint64_t entry_pc(const struct unwind_lazy *l, uint32_t entry)
{
	return hdr_number(l, entry, 0);
}

/* Returns the first of the last entries that begin at or before pc; 0 also if there is none. */
static uint32_t entry_find(const struct unwind_lazy *l, uint64_t pc)
{
	uint32_t lo = 0, hi = l->nentries, entry;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (entry_pc(l, mid) <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	entry = lo ? lo - 1 : 0;
	for (uint32_t i = 0; i < HDR_EQUALS_MAX && entry; i++) {
		if (entry_pc(l, entry - 1) != entry_pc(l, entry))
			break;
		entry--;
	}
	return entry;
}

/* Reads the FDE of an entry into the reader's list; none if it is damaged. */
static void entry_read(struct unwind_lazy *l, uint32_t entry)
{
	uint64_t off = hdr_number(l, entry, 4) - l->r.eh.addr, at, cie;
	struct bytes b = {.p = l->r.eh.data, .end = l->r.eh.end}, e;

	l->r.fdes.len = 0;
	bytes_skip(&b, off);
	if (b.is_bad || !entry_next(&b, &e))
		return;
	at = (uint64_t)(e.p - l->r.eh.data);
	cie = get_fixed(&e, 4);
	if (!e.is_bad && cie && cie <= at)
		fde_read(&l->r, &l->r.eh, &e, at - cie);
}

/* Reads the rows from an entry to the next one; the first has those before it, too. */
static struct unwind_rows *entry_rows(struct unwind_lazy *l, uint32_t entry)
{
	struct unwind_rows *rows = xcalloc(1, sizeof(*rows));
	bool is_last = entry + 1 == l->nentries;
	const struct fde *f;

	l->r.out = rows;
	l->r.ngaps = GAPS_MAX;
	l->r.end_off = 0;
	entry_read(l, entry);
	f = l->r.fdes.len ? l->r.fdes.data : NULL;
	if (f && !entry)
		frame_begin_run(&l->r, f->pc);
	if (f)
		frame_fde_run(&l->r, f,
			      is_last ? UINT64_MAX : MAX(entry_pc(l, entry + 1), f->pc + f->size));
	if (is_last)
		frame_rows_end(&l->r);
	l->r.limit -= MIN(l->r.limit, rows->rows.len * sizeof(*rows->rows.data));
	return rows;
}

static bool hdr_is_known(const struct unwind_lazy *l)
{
	const uint8_t *p = l->hdr.data;

	return l->hdr.end - p >= HDR_BEFORE + HDR_ENTRY && p[0] == HDR_VERSION &&
	       p[1] == (DW_EH_PE_pcrel | DW_EH_PE_sdata4) && p[2] == DW_EH_PE_udata4 &&
	       p[3] == (DW_EH_PE_datarel | DW_EH_PE_sdata4);
}

struct unwind_lazy *unwind_lazy_open(struct gate_file *file, uint64_t limit, bool is_saved)
{
	struct unwind_lazy *l = xcalloc(1, sizeof(*l));
	size_t most;

	gate_elf_open(file, limit, &l->g);
	/* Whether the file needs rows of UNWIND_CARRY is not known: they do for any. */
	l->r = (struct reader){.is_saved = is_saved,
			       .carries = !is_saved,
			       .cie = {.off = UINT64_MAX},
			       .limit = limit,
			       .file = l->g.file};
	if (!is_our_kind(l->g.elf) || !section_find(&l->hdr, &l->g, ".eh_frame_hdr") ||
	    !hdr_is_known(l)) {
		unwind_lazy_close(l);
		return NULL;
	}
	sections_read(&l->r, &l->g);
	segments_read_code(&l->r.code, l->g.elf);
	work_allow(&l->r);
	most = (size_t)(l->hdr.end - l->hdr.data - HDR_BEFORE) / HDR_ENTRY;
	memcpy(&l->nentries, l->hdr.data + HDR_BEFORE - 4, sizeof(l->nentries));
	if (l->r.debug.data || !l->r.eh.data || !l->nentries || l->nentries > most) {
		unwind_lazy_close(l);
		return NULL;
	}
	(void)segments_off(&l->r.code, entry_pc(l, 0), &l->begin); /* else it is 0 */
	l->rows = xcalloc(l->nentries, sizeof(struct unwind_rows *));
	return l;
}

void unwind_lazy_close(struct unwind_lazy *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; l->rows && i < l->nentries; i++)
		if (l->rows[i]) {
			unwind_rows_deinit(l->rows[i]);
			free(l->rows[i]);
		}
	free(l->rows);
	vec_deinit(&l->r.fdes);
	segments_deinit(&l->r.code);
	gate_elf_close(&l->g);
	free(l);
}

const struct unwind_row *unwind_lazy_find(struct unwind_lazy *l, uint32_t off)
{
	static const struct unwind_row none = {.kind = UNWIND_NONE};
	const struct unwind_row *row;
	uint32_t entry;
	uint64_t pc;

	if (!segments_addr(&l->r.code, off, &pc))
		return off >= l->begin ? &none : NULL;
	entry = entry_find(l, pc);
	if (!l->rows[entry])
		l->rows[entry] = entry_rows(l, entry);
	row = unwind_row_find(l->rows[entry], off);
	return row || !entry ? row : &none;
}
