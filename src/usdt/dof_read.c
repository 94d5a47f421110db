/* Looks probes up in DOF, which a hostile program may have made. */
#include "usdt/dof.h"

#include "base/text.h"
#include "usdt/dof_impl.h"

#define SECTIONS_MAX 4096
#define TYPE_MAX     128 /* bytes of a type's text */

struct image {
	const uint8_t *bytes;
	uint64_t size;
	struct dof_header h;
};

static uint64_t offset_align(uint64_t n)
{
	return (n + 7) & ~(uint64_t)7;
}

static bool image_open(const uint8_t *bytes, size_t size, struct image *ret)
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
	*ret = (struct image){bytes, h.filesz, h};
	return true;
}

/* Finds section n; false if it has another type, or does not lie completely inside the image. */
static bool section_get(const struct image *im, uint32_t n, uint32_t type, const uint8_t **ret_data,
			uint64_t *ret_size)
{
	struct dof_section s;

	if (n >= im->h.secnum)
		return false;
	memcpy(&s, im->bytes + im->h.secoff + (uint64_t)n * sizeof(s), sizeof(s));
	if (s.type != type || s.offset > im->size || s.size > im->size - s.offset)
		return false;
	*ret_data = im->bytes + s.offset;
	*ret_size = s.size;
	return true;
}

/* Returns a NUL-terminated string of a table; NULL if it has no end, or more than max bytes. */
static const char *text_at(const uint8_t *table, uint64_t size, uint64_t off, size_t max)
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
		const char *text = text_at(table, size, off, TYPE_MAX);

		if (!text)
			return NULL;
		types[i] = text_clean(arena_strdup(a, text));
		off += strlen(text) + 1;
	}
	return types;
}

static bool probe_fill(const struct image *im, const struct dof_provider *pv,
		       const struct dof_probe *p, const uint8_t *strings, uint64_t nstrings,
		       struct arena *a, struct dof_probe_info *ret)
{
	const uint8_t *map;
	uint8_t *own;
	uint64_t nmap;

	if (!section_get(im, pv->prargs, DOF_PRARGS, &map, &nmap) || p->argidx > nmap ||
	    p->xargc > nmap - p->argidx)
		return false;
	*ret = (struct dof_probe_info){.nargs = p->nargc, .nxargs = p->xargc};
	memcpy(ret->attrs, pv->attrs, sizeof(ret->attrs));
	ret->args = types_get(strings, nstrings, p->nargv, p->nargc, a);
	ret->xargs = types_get(strings, nstrings, p->xargv, p->xargc, a);
	ret->map = own = ARENA_NEW_N(a, uint8_t, p->xargc + 1);
	memcpy(own, map + p->argidx, p->xargc);
	for (uint32_t i = 0; i < ret->nxargs; i++)
		if (ret->map[i] >= ret->nargs)
			return false;
	return ret->args && ret->xargs;
}

static bool provider_search(const struct image *im, const uint8_t *desc, const char *provider,
			    const char *probe, struct arena *a, struct dof_probe_info *ret)
{
	const uint8_t *strings, *probes;
	uint64_t nstrings, size;
	struct dof_provider pv;
	const char *name;

	memcpy(&pv, desc, sizeof(pv));
	if (!section_get(im, pv.strtab, DOF_STRTAB, &strings, &nstrings) ||
	    !section_get(im, pv.probes, DOF_PROBES, &probes, &size))
		return false;
	name = text_at(strings, nstrings, pv.name, TYPE_MAX);
	if (!name || strcmp(name, provider) != 0)
		return false;
	for (uint64_t at = 0; size - at >= sizeof(struct dof_probe);
	     at += sizeof(struct dof_probe)) {
		struct dof_probe p;

		memcpy(&p, probes + at, sizeof(p));
		name = text_at(strings, nstrings, p.name, TYPE_MAX);
		if (name && strcmp(name, probe) == 0)
			return probe_fill(im, &pv, &p, strings, nstrings, a, ret);
	}
	return false;
}

bool dof_find_probe(const uint8_t *bytes, size_t size, const char *provider, const char *probe,
		    struct arena *a, struct dof_probe_info *ret)
{
	struct image im;

	for (; image_open(bytes, size, &im);) {
		for (uint32_t i = 0; i < im.h.secnum; i++) {
			const uint8_t *desc;
			uint64_t n;

			if (section_get(&im, i, DOF_PROVIDER, &desc, &n) &&
			    n >= sizeof(struct dof_provider) &&
			    provider_search(&im, desc, provider, probe, a, ret))
				return true;
		}
		if (offset_align(im.size) >= size)
			break;
		bytes += offset_align(im.size);
		size -= (size_t)offset_align(im.size);
	}
	return false;
}
