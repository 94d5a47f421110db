/*
 * DOF, the format in which an object carries what notes cannot say: the C and D types of probe
 * arguments, and the stability of a provider.
 *
 * Units    offsets and sizes in bytes. Numbers have the byte order of the program.
 * Facts    d-language.md 12.2. A section may hold several DOF images, one behind the other, each
 *          aligned to 8 bytes: a linker puts them together.
 */
#pragma once

#include "base/vec.h"
#include "usdt/usdt.h"

/* Bytes of an image. */
struct dof_image {
	VEC(uint8_t) bytes;
};

/* is_lp64: of the program's data model. Adds one image that describes the providers. */
void dof_write(const struct usdt_provider *providers, uint32_t n, bool is_lp64,
	       struct dof_image *out);
void dof_image_deinit(struct dof_image *d);

/* What an image says of a probe. Texts lie in the arena. */
struct dof_probe_info {
	const char *const *args; /* native types */
	uint32_t nargs;
	const char *const *xargs; /* what they are translated to; map[i]: of which argument */
	const uint8_t *map;
	uint32_t nxargs;
	uint32_t attrs[5]; /* of the provider, as in struct usdt_provider */
};

/*
 * Looks a probe up in all images of a section; false: none describes it, or the one that would is
 * damaged. Nothing in the bytes is trusted.
 */
bool dof_find_probe(const uint8_t *bytes, size_t size, const char *provider, const char *probe,
		    struct arena *a, struct dof_probe_info *ret);
