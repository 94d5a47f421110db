/* SPDX-License-Identifier: MIT */
/* Looks probes up in DOF, which a hostile program may have made. */
#include "usdt/dof.h"

#include "base/hashmap.h"
#include "base/text.h"
#include "usdt/dof_impl.h"

#define SECTIONS_MAX 4096
#define PROBES_MAX   65536
#define TEXT_MAX     255 /* bytes of a name, or of a type's text */

static uint64_t offset_align(uint64_t n)
{
	return (n + 7) & ~(uint64_t)7;
}

bool dof_image_open(const uint8_t *bytes, size_t size, struct dof_bytes *ret)
{
	static const uint8_t magic[4] = {0x7f, 'D', 'O', 'F'};
	struct dof_header h;

	if (size < sizeof(h))
		return false;
	memcpy(&h, bytes, sizeof(h));
	if (memcmp(h.magic, magic, sizeof(magic)) != 0 || h.filesz < sizeof(h) || h.filesz > size ||
	    h.secsize != sizeof(struct dof_section) || h.secnum > SECTIONS_MAX ||
	    h.secoff > h.filesz || (h.filesz - h.secoff) / h.secsize < h.secnum)
		return false;
	*ret = (struct dof_bytes){bytes, h.filesz, h};
	return true;
}

bool dof_image_next(const struct dof_bytes *im, const uint8_t **bytes, size_t *size)
{
	uint64_t len = offset_align(im->size);

	if (len >= *size)
		return false;
	*bytes += len;
	*size -= (size_t)len;
	return true;
}

bool dof_section_head(const struct dof_bytes *im, uint32_t n, struct dof_section *ret)
{
	if (n >= im->h.secnum)
		return false;
	memcpy(ret, im->bytes + im->h.secoff + (uint64_t)n * sizeof(*ret), sizeof(*ret));
	return ret->offset <= im->size && ret->size <= im->size - ret->offset;
}

bool dof_section_get(const struct dof_bytes *im, uint32_t n, uint32_t type,
		     const uint8_t **ret_data, uint64_t *ret_size)
{
	struct dof_section s;

	if (!dof_section_head(im, n, &s) || s.type != type)
		return false;
	*ret_data = im->bytes + s.offset;
	*ret_size = s.size;
	return true;
}

const char *dof_text_at(const uint8_t *table, uint64_t size, uint64_t off, size_t max)
{
	const char *text = (const char *)table + off;
	size_t room = off < size ? (size_t)MIN(size - off, (uint64_t)max + 1) : 0;

	return room && strnlen(text, room) < room ? text : NULL;
}

/* Reads the texts of n types, which lie one behind the other; NULL if one of them is damaged. */
static const char *const *types_get(const uint8_t *table, uint64_t size, uint64_t off, uint32_t n,
				    struct arena *a)
{
	const char **types = ARENA_NEW_N(a, const char *, n + 1);

	for (uint32_t i = 0; i < n; i++) {
		const char *text = dof_text_at(table, size, off, TEXT_MAX);

		if (!text)
			return NULL;
		types[i] = text_clean(arena_strdup(a, text));
		off += strlen(text) + 1;
	}
	return types;
}

/* Where a probe is described. */
struct dof_entry {
	struct dof_bytes im;
	struct dof_provider pv;
	struct dof_probe p;
	const uint8_t *strings;
	uint64_t nstrings;
};

struct dof_index {
	struct arena *arena;
	struct hashmap *entries; /* provider, ':', probe -> struct dof_entry */
	bool is_damaged;
};

static bool entry_read(const struct dof_entry *en, struct arena *a, struct dof_probe_info *ret)
{
	const struct dof_probe *p = &en->p;
	const uint8_t *map;
	uint8_t *own;
	uint64_t nmap;

	if (!dof_section_get(&en->im, en->pv.prargs, DOF_PRARGS, &map, &nmap) || p->argidx > nmap ||
	    p->xargc > nmap - p->argidx)
		return false;
	*ret = (struct dof_probe_info){.nargs = p->nargc, .nxargs = p->xargc};
	memcpy(ret->attrs, en->pv.attrs, sizeof(ret->attrs));
	ret->args = types_get(en->strings, en->nstrings, p->nargv, p->nargc, a);
	ret->xargs = types_get(en->strings, en->nstrings, p->xargv, p->xargc, a);
	ret->map = own = ARENA_NEW_N(a, uint8_t, p->xargc + 1);
	memcpy(own, map + p->argidx, p->xargc);
	for (uint32_t i = 0; i < ret->nxargs; i++)
		if (ret->map[i] >= ret->nargs)
			return false;
	return ret->args && ret->xargs;
}

static const char *entry_key(struct arena *a, const char *provider, const char *probe)
{
	return arena_printf(a, "%s:%s", provider, probe);
}

/* Adds the probes of a provider whose names are whole. Of two descriptions the first one counts. */
static void provider_add(struct dof_index *ix, const struct dof_bytes *im, const uint8_t *desc)
{
	struct dof_entry en = {.im = *im};
	const char *provider;
	const uint8_t *probes;
	uint64_t size;

	memcpy(&en.pv, desc, sizeof(en.pv));
	if (!dof_section_get(im, en.pv.strtab, DOF_STRTAB, &en.strings, &en.nstrings) ||
	    !dof_section_get(im, en.pv.probes, DOF_PROBES, &probes, &size)) {
		ix->is_damaged = true;
		return;
	}
	provider = dof_text_at(en.strings, en.nstrings, en.pv.name, TEXT_MAX);
	ix->is_damaged |= !provider;
	for (uint64_t at = 0; provider && size - at >= sizeof(en.p); at += sizeof(en.p)) {
		const char *probe, *key;

		memcpy(&en.p, probes + at, sizeof(en.p));
		probe = dof_text_at(en.strings, en.nstrings, en.p.name, TEXT_MAX);
		if (!probe || hashmap_count(ix->entries) >= PROBES_MAX) {
			ix->is_damaged = true;
			continue;
		}
		key = entry_key(ix->arena, provider, probe);
		if (!hashmap_finds(ix->entries, key))
			hashmap_sets(ix->entries, key, arena_memdup(ix->arena, &en, sizeof(en)));
	}
}

static void section_add(struct dof_index *ix, const struct dof_bytes *im, uint32_t i)
{
	struct dof_section s;
	const uint8_t *desc;
	uint64_t n;

	if (!dof_section_head(im, i, &s))
		ix->is_damaged = true;
	else if (dof_section_get(im, i, DOF_PROVIDER, &desc, &n) &&
		 n >= sizeof(struct dof_provider))
		provider_add(ix, im, desc);
	else
		ix->is_damaged |= s.type == DOF_PROVIDER;
}

struct dof_index *dof_index_create(const uint8_t *bytes, size_t size)
{
	struct dof_index *ix = xcalloc(1, sizeof(*ix));
	struct dof_bytes im;
	bool has_more = size;

	ix->arena = arena_create();
	ix->entries = hashmap_create();
	while (has_more && dof_image_open(bytes, size, &im)) {
		for (uint32_t i = 0; i < im.h.secnum; i++)
			section_add(ix, &im, i);
		has_more = dof_image_next(&im, &bytes, &size);
	}
	ix->is_damaged |= has_more;
	return ix;
}

void dof_index_destroy(struct dof_index *ix)
{
	if (!ix)
		return;
	hashmap_destroy(ix->entries);
	arena_destroy(ix->arena);
	free(ix);
}

bool dof_index_find(struct dof_index *ix, const char *provider, const char *probe, struct arena *a,
		    struct dof_probe_info *ret)
{
	const struct dof_entry *en = hashmap_finds(ix->entries, entry_key(a, provider, probe));
	bool is_whole = en && entry_read(en, a, ret);

	ix->is_damaged |= en && !is_whole;
	return is_whole;
}

bool dof_index_is_damaged(const struct dof_index *ix)
{
	return ix->is_damaged;
}
