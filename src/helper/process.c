/* SPDX-License-Identifier: MIT */
/* Reads processes for the clauses of helpers: files, symbols, memory. */
#include "helper/process_impl.h"

#include <elf.h>
#include <fnmatch.h>
#include <sys/uio.h>

#include "arch/arch.h"
#include "base/hashmap.h"
#include "base/str.h"
#include "target/link_map.h"
#include "target/maps.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "image/object.h"

#define PAGE_BYTES  4096u
#define PIECE_BYTES (256u << 10)
#define PAGES_MAX   4096    /* of a process that are kept while its clauses run */
#define FIND_MAX    100000u /* elements that ufind() looks at */
#define BYTES_MAX   (1u << 20)

static char unreadable;

/* ---- files ----------------------------------------------------------------------------------- */

/*
 * Returns the symbols by name of a mapped file; NULL if it cannot be read. They stay valid until
 * the process is closed.
 */
static struct object *object_of(const struct process *p, const struct proc_map *m)
{
	struct image **slot = &p->images[m - p->maps->maps.data];

	if (*slot)
		return (*slot)->object;
	*slot = target_image(p->target, p->files->images, m);
	if (!*slot)
		return NULL;
	image_pin(*slot);
	return image_object(*slot, p->files->limit);
}

/* Names of symbols for object_expect(). */
struct expected {
	const char *names[OBJECT_EXPECTED];
	uint32_t n;
};

/* Adds the texts of an object that may be such names. */
static void expected_add(struct expected *e, const struct difo *d)
{
	uint32_t len;

	for (uint32_t at = 1; d && at < d->strs_size; at += len + 1) {
		const char *text = d->strs + at;

		len = (uint32_t)strnlen(text, d->strs_size - at);
		if (len > 3 && strcspn(text, " *%/,:") == len && e->n < OBJECT_EXPECTED)
			e->names[e->n++] = text;
	}
}

/*
 * Large files are searched once for all symbols that clauses of attach ask for, of whose texts most
 * are names of these, and for those by which programs are known. Helpers that programs carry are
 * not trusted to name many.
 */
static void symbols_expect(const struct process *p, struct object *o)
{
	const struct helper *h = p->helper;
	struct expected e = {.n = 0};

	for (uint32_t i = 0; i < p->nhelpers && e.n < OBJECT_EXPECTED / 2; i++)
		if (p->helpers[i]->symbols && !p->helpers[i]->is_foreign)
			e.names[e.n++] = p->helpers[i]->symbols;
	for (uint32_t i = 0; i < h->prog->nclauses && !h->is_foreign; i++) {
		const struct prog_clause *cl = h->prog->clauses[i];

		if (helper_clause_probe(cl) != HELPER_ATTACH)
			continue;
		expected_add(&e, cl->pred);
		for (uint32_t k = 0; k < cl->nacts; k++)
			for (uint32_t n = 0; n < cl->acts[k].nargs; n++)
				expected_add(&e, cl->acts[k].args[n]);
	}
	object_expect(o, e.names, e.n);
}

/* Each file is searched once. */
const struct proc_map *process_program(const struct process *p, const struct helper *h)
{
	const struct proc_map *m = h->symbols ? target_program(p->target) : NULL;
	struct object *o = m ? object_of(p, m) : NULL;

	return o && object_has(o, h->symbols) ? m : NULL;
}

/* Whether the file of a mapping is one of those that a subroutine asks for. */
static bool map_is_wanted(const struct process *p, const struct proc_map *m, const char *pattern)
{
	const char *name = basename(m->path);

	if (m->path[0] != '/')
		return false;
	if (pattern)
		return fnmatch(pattern, name, 0) == 0;
	return helper_matches(p->helper, name) ||
	       (p->program && strcmp(m->path, p->program->path) == 0);
}

/* Calls func for each mapped file that is wanted, once, until it returns true. */
static bool each_object(struct process *p, const char *pattern,
			bool (*func)(void *ctx, struct object *o, const struct proc_map *m,
				     uint64_t bias),
			void *ctx)
{
	for (uint32_t i = 0; i < p->maps->maps.len; i++) {
		const struct proc_map *m = &p->maps->maps.data[i];
		struct object *o;
		uint64_t addr;

		if (!map_is_wanted(p, m, pattern) || (i && proc_map_is_same_file(&m[-1], m)))
			continue;
		o = object_of(p, m);
		if (o && p->expecting[i] != p->helper) {
			symbols_expect(p, o);
			p->expecting[i] = p->helper;
		}
		if (o && object_addr(o, m->off, &addr) && func(ctx, o, m, m->start - addr))
			return true;
	}
	return false;
}

struct symbol_search {
	const char *name;
	bool is_tls, is_section, is_piece;
	uint64_t number; /* of the piece */
	struct object_symbol sym;
	uint64_t addr, bias;
	const struct object *object;
	const struct proc_map *map;
	bool is_found;
};

/* Takes the piece with the wanted number; behind the last one, there is none in any file. */
static bool piece_match(struct symbol_search *s, const struct object_pieces *p)
{
	if (s->number < p->n)
		s->sym = p->list[s->number];
	else
		s->sym = (struct object_symbol){.is_ambiguous = true};
	return p->n || p->is_ambiguous;
}

static bool symbol_match(void *ctx, struct object *o, const struct proc_map *m, uint64_t bias)
{
	struct symbol_search *s = ctx;

	if (s->is_section ? !object_section(o, s->name, &s->sym)
	    : s->is_piece ? !piece_match(s, object_pieces(o, s->name))
			  : !object_symbol(o, s->name, &s->sym) ||
				    (s->sym.is_tls != s->is_tls && !s->sym.is_ambiguous))
		return false;
	s->is_found = !s->sym.is_ambiguous;
	if (!s->is_found)
		return true; /* another file's may be another one */
	s->addr = s->sym.addr + bias;
	s->bias = bias;
	s->object = o;
	s->map = m;
	return true;
}

struct name_search {
	const char *name, *build_id;
};

static bool name_match(void *ctx, struct object *o, const struct proc_map *m, uint64_t bias)
{
	struct name_search *s = ctx;

	(void)bias;
	s->name = basename(m->path);
	s->build_id = object_build_id(o);
	return true;
}

/* ---- symbols whose names begin alike --------------------------------------------------------- */

#define FAMILY_MAX 65536u

struct named_addr {
	const char *name;
	uint64_t addr;
};

/* All symbols whose names begin with the same word, as "v8dbg_". */
struct symbol_family {
	struct process *p;
	uint64_t bias;
	VEC(struct named_addr) members;
};

static void family_add(void *ctx, const char *name, size_t len, uint64_t addr)
{
	struct symbol_family *f = ctx;

	if (f->members.len >= FAMILY_MAX)
		return;
	vec_push(&f->members,
		 (struct named_addr){arena_strndup(f->p->arena, name, len), addr + f->bias});
}

static bool family_read(void *ctx, struct object *o, const struct proc_map *m, uint64_t bias)
{
	struct symbol_family *f = ((void **)ctx)[0];
	const char *prefix = ((void **)ctx)[1];

	(void)m;
	f->bias = bias;
	object_each_symbol(o, prefix, family_add, f);
	return f->members.len;
}

/* The symbols that begin as name does, up to the first '_'. */
static const struct symbol_family *family_of(struct process *p, const char *name)
{
	size_t n = strcspn(name, "_");
	char *prefix = arena_strndup(p->arena, name, n + (name[n] == '_'));
	struct symbol_family *f;
	void *ctx[2];

	if (!p->families)
		p->families = hashmap_create();
	f = hashmap_finds(p->families, prefix);
	if (f)
		return f;
	f = ARENA_NEW(p->arena, struct symbol_family);
	f->p = p;
	ctx[0] = f;
	ctx[1] = prefix;
	(void)each_object(p, NULL, family_read, ctx);
	hashmap_sets(p->families, prefix, f);
	return f;
}

/* "name*": the first symbol that begins so; 0: there is none. */
static uint64_t prefix_addr(struct process *p, const char *name)
{
	const struct symbol_family *f = family_of(p, name);
	size_t n = strlen(name) - 1;

	for (uint32_t i = 0; i < f->members.len; i++)
		if (strncmp(f->members.data[i].name, name, n) == 0)
			return f->members.data[i].addr;
	return 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void pages_forget(struct process *p)
{
	size_t pos = 0;
	char *page;

	while ((page = hashmap_next(p->pages, &pos, NULL, NULL)))
		if (page != &unreadable)
			free(page);
	hashmap_destroy(p->pages);
	p->pages = hashmap_create();
}

static const char *page_read(struct process *p, uint64_t number)
{
	char *page = hashmap_find(p->pages, &number, sizeof(number));

	if (page)
		return page == &unreadable ? NULL : page;
	if (hashmap_count(p->pages) >= PAGES_MAX && !p->is_explored)
		return NULL;
	if (hashmap_count(p->pages) >= PAGES_MAX)
		pages_forget(p);
	page = xmalloc(PAGE_BYTES);
	if (!target_read(p->target, number * PAGE_BYTES, page, PAGE_BYTES)) {
		free(page);
		page = &unreadable;
	}
	hashmap_set(p->pages, &number, sizeof(number), page);
	return page == &unreadable ? NULL : page;
}

static bool pages_read(struct process *p, uint64_t addr, void *buf, uint32_t size)
{
	for (char *to = buf; size;) {
		uint32_t off = addr % PAGE_BYTES, n = MIN(size, PAGE_BYTES - off);
		const char *page = page_read(p, addr / PAGE_BYTES);

		if (!page)
			return false;
		memcpy(to, page + off, n);
		to += n;
		addr += n;
		size -= n;
	}
	return true;
}

/* The bytes of a range if ubytes() has read them; NULL: it has not. */
static const uint8_t *searched_find(const struct process *p, uint64_t addr, uint64_t size)
{
	const uint64_t off = addr - p->searched.addr;

	return off < p->searched.size && size <= p->searched.size - off ? p->searched.bytes + off
									: NULL;
}

/* Reads memory of the process whose files another target has moved, as its own clauses saw it. */
static bool origin_read(void *ctx, taddr addr, void *buf, size_t size)
{
	struct process *origin = ctx;
	const uint8_t *known = searched_find(origin, addr, size);

	if (known)
		memcpy(buf, known, size);
	return known || (size <= PAGE_BYTES ? pages_read(origin, addr, buf, (uint32_t)size)
					    : target_read(origin->target, addr, buf, size));
}

bool process_memory(struct process *p, uint64_t addr, void *buf, uint32_t size)
{
	return pages_read(p, addr, buf, size);
}

bool process_is_late(const struct process *p)
{
	return p->deadline && worked_ns() > p->deadline;
}

/*
 * Whether memory that the process may write has zeros there, which may not be its last value, or
 * something else than the file.
 */
static bool is_changing(const struct process *p, uint64_t addr, const char *bytes, uint32_t size)
{
	const struct proc_map *m = proc_maps_find(p->maps, addr);
	CLEANUP(free) char *now = NULL;
	uint32_t nzeros = 0;

	if (!m || !m->is_write)
		return false;
	while (nzeros < size && !bytes[nzeros])
		nzeros++;
	now = xmalloc(size + 1);
	return nzeros == size || !origin_read(p->origin, target_moved_from(addr), now, size) ||
	       memcmp(now, bytes, size) != 0;
}

/*
 * Whether only the process could have said what is there, which has ended: memory that its files do
 * not fix, or that it may have written since it began. Its files would only be compared with
 * themselves, and where nothing can be read, a clause may go on with zero.
 */
static bool is_unknown(const struct process *p, uint64_t addr, uint32_t size, bool good)
{
	const struct proc_map *m = proc_maps_find(p->maps, addr);
	CLEANUP(free) char *was = NULL;

	if (!good || !m || m->is_write)
		return true;
	was = xmalloc(size + 1);
	return !origin_read(p->origin, target_moved_from(addr), was, size);
}

/* Tells those who want to know what clauses have read. */
static void read_note(struct process *p, uint64_t addr, const void *bytes, uint32_t size, bool good)
{
	p->has_read = true;
	if (p->origin && !p->is_fixed && target_has_ended(p->origin->target))
		p->has_read_changing |= is_unknown(p, addr, size, good);
	else if (p->origin && good && !p->is_fixed)
		p->has_read_changing |= is_changing(p, addr, bytes, size);
	if (p->hooks && p->hooks->read)
		p->hooks->read(p->hooks->ctx, addr, good ? bytes : NULL, size);
}

bool process_read(void *ctx, uint64_t addr, void *buf, uint32_t size)
{
	struct process *p = ctx;
	bool good = !process_is_late(p) && pages_read(p, addr, buf, size);

	read_note(p, addr, buf, size, good);
	return good;
}

/* Reads memory in requests that the gate counts as no wait (files/gate.h). */
static bool pieces_read(struct process *p, uint64_t addr, uint8_t *buf, uint32_t size)
{
	bool good = true;

	for (uint32_t at = 0; at < size && good; at += PIECE_BYTES)
		good = target_read(p->target, addr + at, buf + at, MIN(size - at, PIECE_BYTES));
	return good;
}

/*
 * Reads memory that ubytes() searches; NULL: not all of it can be read. The bytes are valid until
 * the next call.
 */
static const uint8_t *searched_read(struct process *p, uint64_t addr, uint32_t size)
{
	const uint8_t *known = searched_find(p, addr, size);
	bool good = !process_is_late(p);

	if (good && !known) {
		p->searched.bytes = xrealloc(p->searched.bytes, size);
		/* in few requests, unless mappings of several files are concerned */
		good = pieces_read(p, addr, p->searched.bytes, size) ||
		       pages_read(p, addr, p->searched.bytes, size);
		p->searched.addr = addr;
		p->searched.size = good ? size : 0;
		known = p->searched.bytes;
	}
	read_note(p, addr, known, size, good);
	return good ? known : NULL;
}

static bool text_is(struct process *p, uint64_t addr, const char *text)
{
	size_t n = strlen(text) + 1;
	char buf[256];

	return n <= sizeof(buf) && process_read(p, addr, buf, (uint32_t)n) && !memcmp(buf, text, n);
}

/*
 * ufind(base, stride, off1, text1, off2, text2): the element whose pointers at off1 and off2 lead
 * to these texts; text2 may be NULL. The array ends with an element whose first pointer is 0.
 */
static uint64_t element_find(struct process *p, const uint64_t *v, const char *text1,
			     const char *text2)
{
	for (uint64_t at = v[0], n = 0; text1 && v[1] && n < FIND_MAX; at += v[1], n++) {
		uint64_t p1 = 0, p2 = 0;

		if (!process_read(p, at + v[2], &p1, 8) || !p1)
			return 0;
		if (!text_is(p, p1, text1))
			continue;
		if (!text2 || (process_read(p, at + v[4], &p2, 8) && p2 && text_is(p, p2, text2)))
			return at;
	}
	return 0;
}

/* Parses "48 8b ?? 05": bytes, -1 for any; returns their number, 0 if the text is malformed. */
static uint32_t pattern_parse(const char *text, int *bytes, uint32_t max)
{
	uint32_t n = 0;

	for (const char *p = text; *p;) {
		unsigned v = 0;

		if (*p == ' ') {
			p++;
			continue;
		}
		if (n == max || (strncmp(p, "??", 2) != 0 && sscanf(p, "%2x", &v) != 1) || !p[1])
			return 0;
		bytes[n++] = *p == '?' ? -1 : (int)v;
		p += 2;
	}
	return n;
}

static uint64_t bytes_find(struct process *p, const uint64_t *v, const char *text)
{
	uint64_t len = MIN(v[1], (uint64_t)BYTES_MAX);
	int bytes[64];
	uint8_t first[ARRAY_LEN(bytes)]; /* those before the first that may be any */
	uint32_t n = text ? pattern_parse(text, bytes, ARRAY_LEN(bytes)) : 0, nfirst = 0;
	const uint8_t *mem = n && n <= len ? searched_read(p, v[0], (uint32_t)len) : NULL;
	const uint8_t *at = mem, *end = mem ? mem + len : NULL;

	for (; nfirst < n && bytes[nfirst] >= 0; nfirst++)
		first[nfirst] = (uint8_t)bytes[nfirst];
	for (; mem && (at = memmem(at, (size_t)(end - at), first, nfirst)) && at + n <= end; at++) {
		uint32_t k = nfirst;

		while (k < n && (bytes[k] < 0 || at[k] == bytes[k]))
			k++;
		if (k == n)
			return v[0] + (uint64_t)(at - mem);
	}
	return 0;
}

/* ---- thread-local variables ------------------------------------------------------------------ */

/* The distance from the thread pointer of a variable of the program itself. */
static uint64_t tls_distance(const struct symbol_search *s)
{
	uint64_t size, align;

	if (!object_tls(s->object, &size, &align))
		return 0;
	return arch.tls_distance(s->sym.addr, size, align);
}

/*
 * The number of the module in which the symbol is. The program's is 1, because it is there before
 * the dynamic linker maps anything; those of libraries the linker knows (target/link_map.h).
 */
static uint64_t tls_module(struct process *p, const struct symbol_search *s)
{
	const struct proc_map *program = target_program(p->target);
	struct symbol_search debug = {.name = "_r_debug"},
			     member = {.name = "_thread_db_link_map_l_tls_modid"}, origin = *s;

	if (program && proc_map_is_same_file(program, s->map))
		return 1;
	if (p->origin) {
		p->has_counted_modules = true;
		origin.bias = target_moved_from(s->bias);
		return tls_module(p->origin, &origin);
	}
	if (!each_object(p, "ld-linux*.so*", symbol_match, &debug) || !debug.is_found ||
	    !each_object(p, "libc.so*", symbol_match, &member) || !member.is_found)
		return 0;
	return link_map_tls_module(process_read, p, debug.addr, member.addr, s->bias);
}

void process_set_origin(struct process *p, struct process *origin)
{
	p->origin = origin;
	target_moved_set_reader(p->target, origin_read, origin);
	p->has_counted_modules = p->has_read_changing = p->is_believed = false;
}

void process_set_fixed(struct process *p, bool is_fixed)
{
	if (!p->origin || p->is_fixed == is_fixed)
		return;
	p->is_fixed = is_fixed;
	p->is_believed |= is_fixed;
	target_moved_set_fixed(p->target, is_fixed);
	/* the same addresses have something else now */
	pages_forget(p);
	p->searched.size = 0;
}

bool process_has_read(const struct process *p)
{
	return p->has_read;
}

bool process_has_counted_modules(const struct process *p)
{
	return p->has_counted_modules;
}

bool process_is_believed(const struct process *p)
{
	return p->is_believed;
}

bool process_has_read_changing(const struct process *p)
{
	return p->has_read_changing;
}

/* ---- subroutines ----------------------------------------------------------------------------- */

/* Returns the rest of the name of the nth symbol, from 0, with the prefix; "": there are fewer. */
static const char *rest_of_nth(struct process *p, const char *prefix, uint64_t nth)
{
	const struct symbol_family *f = family_of(p, prefix);
	size_t n = strlen(prefix);

	for (uint32_t i = 0; i < f->members.len; i++)
		if (strncmp(f->members.data[i].name, prefix, n) == 0 && !nth--)
			return f->members.data[i].name + n;
	return "";
}

/* Returns the rest of the name of the symbol with the prefix whose int is the value; "": none. */
static const char *rest_of_symbol(struct process *p, const char *prefix, uint64_t value)
{
	const struct symbol_family *f = family_of(p, prefix);
	size_t n = strlen(prefix);
	int32_t found;

	for (uint32_t i = 0; i < f->members.len; i++)
		if (strncmp(f->members.data[i].name, prefix, n) == 0 &&
		    process_read(p, f->members.data[i].addr, &found, sizeof(found)) &&
		    (uint64_t)(int64_t)found == value)
			return f->members.data[i].name + n;
	return "";
}

enum dif_fault process_subr(void *ctx, uint32_t subr, const uint64_t *v, const char *const *texts,
			    uint64_t *ret, const char **ret_text)
{
	struct process *p = ctx;
	struct symbol_search s = {.name = texts[0] ? texts[0] : ""};
	struct name_search names = {"", ""};

	*ret = 0;
	switch (subr) {
	case DIF_SUBR_SECADDR:
	case DIF_SUBR_SECSIZE:
		s.is_section = true;
		/* fall through */
	case DIF_SUBR_SYMADDR:
	case DIF_SUBR_SYMSIZE:
		if (subr == DIF_SUBR_SYMADDR && *s.name && s.name[strlen(s.name) - 1] == '*') {
			*ret = prefix_addr(p, s.name);
			return DIF_FAULT_NONE;
		}
		(void)each_object(p, texts[1], symbol_match, &s);
		*ret = subr == DIF_SUBR_SYMADDR || subr == DIF_SUBR_SECADDR ? s.addr : s.sym.size;
		return DIF_FAULT_NONE;
	case DIF_SUBR_PIECEADDR:
	case DIF_SUBR_PIECESIZE:
		s.is_piece = true;
		s.number = v[1];
		(void)each_object(p, texts[2], symbol_match, &s);
		*ret = subr == DIF_SUBR_PIECEADDR ? s.addr : s.sym.size;
		return DIF_FAULT_NONE;
	case DIF_SUBR_TPOFF:
	case DIF_SUBR_TLSMOD:
	case DIF_SUBR_TLSOFF:
		s.is_tls = true;
		if (!each_object(p, NULL, symbol_match, &s) || !s.is_found)
			return DIF_FAULT_NONE;
		*ret = subr == DIF_SUBR_TPOFF	 ? tls_distance(&s)
		       : subr == DIF_SUBR_TLSOFF ? s.sym.addr
						 : tls_module(p, &s);
		return DIF_FAULT_NONE;
	case DIF_SUBR_OBJNAME:
	case DIF_SUBR_BUILDID:
		(void)each_object(p, texts[0], name_match, &names);
		*ret_text = subr == DIF_SUBR_OBJNAME ? names.name : names.build_id;
		return DIF_FAULT_NONE;
	case DIF_SUBR_UFIND: *ret = element_find(p, v, texts[3], texts[5]); return DIF_FAULT_NONE;
	case DIF_SUBR_SYMNTH: *ret_text = rest_of_nth(p, s.name, v[1]); return DIF_FAULT_NONE;
	case DIF_SUBR_SYMREST: *ret_text = rest_of_symbol(p, s.name, v[1]); return DIF_FAULT_NONE;
	case DIF_SUBR_UBYTES: *ret = bytes_find(p, v, texts[2]); return DIF_FAULT_NONE;
	case DIF_SUBR_UDECLINE:
		free(p->declined);
		p->declined = xstrdup(s.name);
		return DIF_FAULT_ILLOP; /* ends the clause */
	default: return DIF_FAULT_ILLOP;
	}
}

const struct proc_maps *process_maps(const struct process *p)
{
	return p->maps;
}

struct dif_machine *process_machine(struct process *p)
{
	return p->machine;
}

void process_set_frame(struct process *p, const struct process_frame *f)
{
	p->frame = f;
}

const struct process_hooks *process_set_hooks(struct process *p, const struct process_hooks *hooks)
{
	const struct process_hooks *was = p->hooks;

	p->hooks = hooks;
	return was;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

struct process *process_open(struct target *t, const struct file_opts *files)
{
	struct process *p = xcalloc(1, sizeof(*p));

	p->target = t;
	p->maps = target_maps(t);
	p->files = files;
	p->nimages = p->maps->maps.len;
	p->images = xcalloc(p->nimages + 1, sizeof(struct image *));
	p->expecting = xcalloc(p->nimages + 1, sizeof(*p->expecting));
	p->pages = hashmap_create();
	p->arena = arena_create();
	return p;
}

void process_close(struct process *p)
{
	size_t pos = 0;
	struct symbol_family *f;

	if (!p)
		return;
	for (uint32_t i = 0; i < p->nimages; i++) {
		image_unpin(p->images[i]);
		image_put(p->images[i]);
	}
	free(p->images);
	free(p->expecting);
	dif_machine_destroy(p->machine);
	pages_forget(p);
	hashmap_destroy(p->pages);
	free(p->searched.bytes);
	while ((f = p->families ? hashmap_next(p->families, &pos, NULL, NULL) : NULL))
		vec_deinit(&f->members);
	hashmap_destroy(p->families);
	arena_destroy(p->arena);
	free(p->declined);
	free(p);
}

bool process_is_loading(const struct process *p)
{
	bool has_linker = false;

	for (uint32_t i = 0; i < p->maps->maps.len; i++) {
		const char *name = basename(p->maps->maps.data[i].path);

		if (process_is_libc(name))
			return false;
		has_linker |= process_is_linker(name);
	}
	return has_linker;
}

/*
 * The kernel maps the program, its dynamic linker and the vDSO in this order, and then writes down
 * the auxiliary vector. Where the vector has a vDSO that was not among the mappings, they were read
 * before all of them were there.
 */
bool process_is_starting(const struct process *p)
{
	struct proc_maps now = {0};
	struct target_aux aux;
	bool is_starting;
	struct err *e = target_aux(p->target, &aux);

	if (e) { /* it has ended */
		err_destroy(e);
		return false;
	}
	if (!aux.is_written)
		return true;
	if (!aux.vdso || proc_maps_find(p->maps, aux.vdso))
		return false;
	e = target_maps_now(p->target, &now);
	/* a process may also have unmapped it */
	is_starting = !e && proc_maps_find(&now, aux.vdso);
	err_destroy(e);
	proc_maps_deinit(&now);
	return is_starting;
}

/* The first file that is mapped, which is the program; NULL: there is none. */
static const struct proc_map *first_file(const struct proc_maps *maps)
{
	for (uint32_t i = 0; i < maps->maps.len; i++)
		if (proc_map_has_file(&maps->maps.data[i]))
			return &maps->maps.data[i];
	return NULL;
}

const struct proc_map *process_program_file(const struct process *p)
{
	return first_file(p->maps);
}

bool process_is_there(const struct process *p)
{
	const struct proc_map *was = first_file(p->maps), *is = NULL;
	struct proc_maps now = {0};
	bool is_there;
	struct err *e;

	/*
	 * A zombie maps nothing, and what another program maps begins elsewhere or is another file.
	 * This one may have mapped memory below its file since: LuaJIT does.
	 */
	e = target_maps_now(p->target, &now);
	if (!e && was)
		is = proc_maps_find(&now, was->start);
	is_there = is && is->start == was->start && proc_map_is_same_file(is, was);
	err_destroy(e);
	proc_maps_deinit(&now);
	return is_there;
}

bool process_is_linker(const char *name)
{
	return fnmatch("ld-linux*.so*", name, 0) == 0 || fnmatch("ld-[0-9]*.so", name, 0) == 0;
}

bool process_is_libc(const char *name)
{
	return fnmatch("libc.so*", name, 0) == 0 || fnmatch("libc-*.so", name, 0) == 0;
}

bool process_maps_have(const struct proc_maps *maps, const struct helper *h)
{
	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *m = &maps->maps.data[i];

		if (m->is_exec && m->path[0] == '/' && helper_matches(h, basename(m->path)))
			return true;
	}
	return false;
}

bool process_has_file(const struct process *p, const struct helper *h)
{
	if (h->is_foreign)
		return false; /* it comes with the files that carry it */
	if (!h->patterns)
		return true;
	return process_maps_have(p->maps, h);
}

void process_expect_symbols(struct process *p, struct helper *const *helpers, uint32_t n)
{
	p->helpers = helpers;
	p->nhelpers = n;
}

void process_find_symbols(const struct process *p, struct helper *const *helpers, uint32_t n)
{
	const struct proc_map *m = target_program(p->target);
	struct object *o = m ? object_of(p, m) : NULL;
	VEC(const char *) symbols = {0};

	for (uint32_t i = 0; i < n; i++)
		if (helpers[i]->symbols && !helpers[i]->is_foreign)
			vec_push(&symbols, helpers[i]->symbols);
	if (o)
		object_have(o, symbols.data, symbols.len);
	vec_deinit(&symbols);
}

bool process_has_symbols(const struct process *p, const struct helper *h)
{
	return !h->is_foreign && process_program(p, h);
}
