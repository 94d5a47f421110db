/* SPDX-License-Identifier: MIT */
/*
 * The DOF section: the types of arguments, for which notes have no room (d-language.md 12.2).
 *
 *     header, section headers
 *     strings      names, and the types of each probe one behind the other
 *     probes       one entry each
 *     map          translated argument i is argument i: nothing is translated
 *     empty tables of sites: sites are in the notes
 *     provider     refers to all of these by number
 */
#include "bytes.h"
#include "impl.h"

enum { STRINGS, PROBES, MAP, SITES, ENABLED_SITES, PROVIDER, NSECTIONS };

struct dof_header {
	uint8_t magic[4], model, encoding, version, dif_version, int_regs, tuple_regs, pad[6];
	uint32_t flags, hdrsize, secsize, secnum;
	uint64_t secoff, loadsz, filesz, pad2;
};

struct dof_section {
	uint32_t type, align, flags, entsize;
	uint64_t offset, size;
};

struct dof_provider {
	uint32_t strtab, probes, prargs, proffs, name, attrs[5], prenoffs;
};

struct dof_probe {
	uint64_t addr;
	uint32_t func, name, nargv, xargv, argidx, offidx;
	uint8_t nargc, xargc;
	uint16_t noffs;
	uint32_t enoffidx;
	uint16_t nenoffs, pad;
	uint32_t pad2;
};

_Static_assert(sizeof(struct dof_header) == 64 && sizeof(struct dof_section) == 32 &&
		       sizeof(struct dof_provider) == 44 && sizeof(struct dof_probe) == 48,
	       "DOF");

/* Name and data are Evolving, the class is Common. */
#define ATTRIBUTES 0x05050500u

static uint32_t text_add(struct bytes *b, const char *text)
{
	uint32_t at = (uint32_t)b->len;

	bytes_add(b, text, strlen(text) + 1);
	return at;
}

static bool are_types_equal(const usdt_probedef_t *a, const usdt_probedef_t *b)
{
	if (a->argc != b->argc)
		return false;
	for (size_t i = 0; i < a->argc; i++)
		if (strcmp(a->types[i], b->types[i]) != 0)
			return false;
	return true;
}

static int by_name(const void *pa, const void *pb)
{
	const usdt_probedef_t *const *a = pa, *const *b = pb;

	return strcmp((*a)->name, (*b)->name);
}

/*
 * Describes the probes, which are sorted by name. Readers find a description by that name alone, so
 * probes of one name (in several functions) have one if their types are the same, else none.
 */
static void probes_add(struct bytes *probes, struct bytes *strings, usdt_probedef_t **defs,
		       uint32_t n)
{
	for (uint32_t i = 0, end; i < n; i = end) {
		const usdt_probedef_t *def = defs[i];
		struct dof_probe p = {.nargc = (uint8_t)def->argc, .xargc = (uint8_t)def->argc};
		bool is_one = true;

		for (end = i + 1; end < n && strcmp(defs[end]->name, def->name) == 0; end++)
			is_one &= are_types_equal(def, defs[end]);
		if (!is_one)
			continue;
		p.func = text_add(strings, def->function);
		p.name = text_add(strings, def->name);
		p.nargv = p.xargv = def->argc ? (uint32_t)strings->len : 0;
		for (size_t k = 0; k < def->argc; k++)
			(void)text_add(strings, def->types[k]);
		bytes_add(probes, &p, sizeof(p));
	}
}

static void header_add(struct bytes *out, size_t size)
{
	struct dof_header h = {
		.magic = {0x7f, 'D', 'O', 'F'},
		.model = sizeof(void *) == 8 ? 2 : 1,
		.encoding = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 1 : 2,
		.version = 2,
		.dif_version = 2,
		.hdrsize = sizeof(h),
		.secsize = sizeof(struct dof_section),
		.secnum = NSECTIONS,
		.secoff = sizeof(h),
		.loadsz = size,
		.filesz = size,
	};

	bytes_add(out, &h, sizeof(h));
}

/* Puts the image together from its sections. */
static void sections_add(struct bytes *out, const struct bytes *parts)
{
	static const struct dof_section heads[NSECTIONS] = {
		[STRINGS] = {.type = 8, .align = 1},
		[PROBES] = {.type = 16, .align = 8, .entsize = sizeof(struct dof_probe)},
		[MAP] = {.type = 17, .align = 1, .entsize = 1},
		[SITES] = {.type = 18, .align = 4, .entsize = 4},
		[ENABLED_SITES] = {.type = 26, .align = 4, .entsize = 4},
		[PROVIDER] = {.type = 15, .align = 4},
	};
	size_t off = sizeof(struct dof_header) + sizeof(heads), start;

	for (int i = 0; i < NSECTIONS; i++)
		off += (parts[i].len + 7) & ~(size_t)7;
	header_add(out, off);
	start = out->len - sizeof(struct dof_header);
	off = sizeof(struct dof_header) + sizeof(heads);
	for (int i = 0; i < NSECTIONS; i++) {
		struct dof_section s = heads[i];

		s.flags = 1; /* for the tracer */
		s.offset = off;
		s.size = parts[i].len;
		off += (parts[i].len + 7) & ~(size_t)7;
		bytes_add(out, &s, sizeof(s));
	}
	for (int i = 0; i < NSECTIONS; i++) {
		bytes_add(out, parts[i].data, parts[i].len);
		bytes_add(out, NULL, -(out->len - start) & 7);
		out->failed |= parts[i].failed;
	}
}

bool dof_add(struct bytes *out, const struct region *r)
{
	usdt_probedef_t **defs = calloc(r->nslots + 1, sizeof(*defs));
	struct bytes parts[NSECTIONS] = {0};
	struct dof_provider pv = {.strtab = STRINGS,
				  .probes = PROBES,
				  .prargs = MAP,
				  .proffs = SITES,
				  .prenoffs = ENABLED_SITES};
	uint32_t n = 0;

	if (!defs)
		return false;
	for (uint32_t i = 0; i < r->nslots; i++)
		if (r->defs[i])
			defs[n++] = &r->defs[i]->pub;
	qsort(defs, n, sizeof(*defs), by_name);
	bytes_add(&parts[STRINGS], "", 1);
	pv.name = text_add(&parts[STRINGS], r->provider->pub.name);
	for (int i = 0; i < 5; i++)
		pv.attrs[i] = ATTRIBUTES;
	probes_add(&parts[PROBES], &parts[STRINGS], defs, n);
	for (uint8_t i = 0; i < USDT_ARG_MAX; i++)
		bytes_add(&parts[MAP], &i, 1);
	bytes_add(&parts[SITES], NULL, 4);
	bytes_add(&parts[ENABLED_SITES], NULL, 4);
	bytes_add(&parts[PROVIDER], &pv, sizeof(pv));
	sections_add(out, parts);
	for (int i = 0; i < NSECTIONS; i++)
		free(parts[i].data);
	free(defs);
	return !out->failed;
}
