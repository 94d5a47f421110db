/* SPDX-License-Identifier: MIT */
/* The reader of notes about probes in ELF files. */
#include "usdt/note.h"

#include "base/text.h"
#include "image/segments.h"

#define NOTE_TYPE      3
#define OWNER	       "stapsdt"
#define PROBE_NAME_MAX 255 /* bytes of a provider's or probe's name, more than D allows */
#define ARGS_LEN       4096
#define DOF_MAX	       ((size_t)8 << 20)

struct reader {
	struct gate_elf *g;
	struct usdt_notes *to;
	bool is_32bit;
	uint64_t base; /* address of .stapsdt.base; 0 = the file has none */
	struct image_segments segments;
};

static uint64_t address_get(const struct reader *r, const uint8_t *p)
{
	uint64_t v = 0;

	memcpy(&v, p,
	       r->is_32bit ? 4 : 8); /* all machines that Fathom supports are little endian */
	return v;
}

/* Returns the string at *p and moves *p behind it; NULL if it is too long, or has no end. */
static const char *text_get(const uint8_t **p, const uint8_t *end, size_t max)
{
	const char *text = (const char *)*p;
	size_t len = strnlen(text, MIN((size_t)(end - *p), max + 1));

	if (len > max || len == (size_t)(end - *p))
		return NULL;
	*p += len + 1;
	return text;
}

/* Makes the name of the probe in D from the one in the note: "request__start", "request-start". */
static char *probe_name_make(struct arena *a, const char *cname)
{
	char *name = arena_strdup(a, cname), *out = name;

	for (const char *p = cname; *p; p++) {
		bool is_dash = p[0] == '_' && p[1] == '_';

		*out++ = is_dash ? '-' : *p;
		p += is_dash;
	}
	*out = '\0';
	return text_clean(name);
}

/*
 * Returns the file offset of a counter, which has two bytes at an address of a writable segment; 0
 * if no such segment has them in the file.
 */
static uint64_t counter_offset(const struct reader *r, uint64_t addr)
{
	const struct image_segment *s = addr ? segments_at(&r->segments, addr, 2) : NULL;

	return s && s->is_write ? s->off + (addr - s->addr) : 0;
}

static bool note_read(struct reader *r, const uint8_t *desc, size_t size)
{
	size_t word = r->is_32bit ? 4 : 8;
	const uint8_t *p = desc + 3 * word, *end = desc + size;
	struct arena *a = r->to->arena;
	const char *provider, *name, *args;
	struct usdt_note note;
	uint64_t moved;

	if (size < 3 * word + 3)
		return false;
	provider = text_get(&p, end, PROBE_NAME_MAX);
	name = provider ? text_get(&p, end, PROBE_NAME_MAX) : NULL;
	args = name ? text_get(&p, end, ARGS_LEN) : NULL;
	if (!args || !*provider || !*name)
		return false;
	/* A linker that moves the code (prelink) does not change the addresses in the notes. */
	moved = r->base ? r->base - address_get(r, desc + word) : 0;
	note = (struct usdt_note){
		.provider = text_clean(arena_strdup(a, provider)),
		.name = probe_name_make(a, name),
		.args = arena_strdup(a, args),
		.pc = address_get(r, desc) + moved,
		.counter = address_get(r, desc + 2 * word),
	};
	if (note.counter)
		note.counter += moved;
	if (r->is_32bit) {
		note.pc &= UINT32_MAX;
		note.counter &= UINT32_MAX;
	}
	note.counter_off = counter_offset(r, note.counter);
	vec_push(&r->to->list, note);
	return true;
}

static void notes_read(struct reader *r, Elf_Data *data)
{
	size_t off = 0, name_off, desc_off;
	GElf_Nhdr n;

	while (off < data->d_size && (off = gelf_getnote(data, off, &n, &name_off, &desc_off))) {
		const uint8_t *bytes = data->d_buf;

		if (n.n_type != NOTE_TYPE || n.n_namesz != sizeof(OWNER) ||
		    memcmp(bytes + name_off, OWNER, sizeof(OWNER)) != 0)
			continue;
		if (r->to->list.len >= USDT_NOTES_MAX) {
			r->to->has_more = true;
			return;
		}
		r->to->is_cut |= !note_read(r, bytes + desc_off, n.n_descsz);
	}
	r->to->is_cut |= off < data->d_size;
}

static void dof_copy(struct reader *r, Elf_Data *data)
{
	if (data->d_size > DOF_MAX) {
		r->to->is_cut = true;
		return;
	}
	for (size_t i = 0; i < data->d_size; i++)
		vec_push(&r->to->dof, ((const uint8_t *)data->d_buf)[i]);
}

/* Calls func for each section that has the name. */
static void section_each(struct reader *r, const char *want,
			 void (*func)(struct reader *r, Elf_Scn *scn, const GElf_Shdr *sh))
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (!r->g->elf || elf_getshdrstrndx(r->g->elf, &names))
		return;
	while ((scn = elf_nextscn(r->g->elf, scn))) {
		const char *name =
			gelf_getshdr(scn, &sh) ? gate_text(r->g, names, sh.sh_name) : NULL;

		if (name && strcmp(name, want) == 0)
			func(r, scn, &sh);
	}
}

static void base_section(struct reader *r, Elf_Scn *scn, const GElf_Shdr *sh)
{
	(void)scn;
	r->base = sh->sh_addr;
}

static void note_section(struct reader *r, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = sh->sh_type == SHT_NOTE ? gate_data(r->g, scn) : NULL;

	if (data && data->d_buf)
		notes_read(r, data);
}

static void dof_section(struct reader *r, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = gate_raw_data(r->g, scn);

	(void)sh;
	if (data && data->d_buf)
		dof_copy(r, data);
}

void usdt_notes_read(struct gate_elf *g, struct usdt_notes *ret)
{
	struct reader r = {.g = g, .to = ret};
	GElf_Ehdr eh;

	*ret = (struct usdt_notes){.arena = arena_create()};
	if (!g->elf || !gelf_getehdr(g->elf, &eh))
		return;
	r.is_32bit = eh.e_ident[EI_CLASS] == ELFCLASS32;
	segments_read(&r.segments, g->elf);
	section_each(&r, ".stapsdt.base", base_section);
	section_each(&r, ".note.stapsdt", note_section);
	if (ret->list.len)
		section_each(&r, ".SUNW_dof", dof_section);
	segments_deinit(&r.segments);
	ret->is_cut |= g->is_cut;
}

void usdt_dof_read(struct gate_elf *g, struct usdt_notes *ret)
{
	struct reader r = {.g = g, .to = ret};

	*ret = (struct usdt_notes){.arena = arena_create()};
	section_each(&r, ".SUNW_dof", dof_section);
}

void usdt_notes_deinit(struct usdt_notes *n)
{
	vec_deinit(&n->list);
	vec_deinit(&n->dof);
	arena_destroy(n->arena);
	n->arena = NULL;
}
