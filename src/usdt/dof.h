/* SPDX-License-Identifier: MIT */
/*
 * DOF, the format in which an object carries what notes have no room for: the C and D types of
 * probe arguments, and the stability of a provider.
 *
 * Owns     an index owns its memory, not the bytes.
 * Units    offsets and sizes in bytes. Numbers have the byte order of the program.
 * Facts    d-language.md 12.2. A section may hold several DOF images, one behind the other, each
 *          aligned to 8 bytes: a linker puts them together.
 */
#pragma once

#include "base/vec.h"
#include "usdt/usdt.h"

/* The bytes of one image. */
struct dof_image {
	VEC(uint8_t) bytes;
};

/*
 * Adds one image that describes the providers. is_lp64 says whether the program's data model is
 * LP64.
 */
void dof_write(const struct usdt_provider *providers, uint32_t n, bool is_lp64,
	       struct dof_image *out);
void dof_image_deinit(struct dof_image *d);

/* The description of a probe in an image. Its texts are allocated in the arena. */
struct dof_probe_info {
	const char *const *args; /* native types */
	uint32_t nargs;
	const char *const
		*xargs; /* translated types; map[i]: the argument that xargs[i] is made of */
	const uint8_t *map;
	uint32_t nxargs;
	uint32_t attrs[5]; /* attributes of the provider, as in struct usdt_provider */
};

struct dof_index;

/*
 * Indexes the probes in all images of a section. Nothing in the bytes is trusted: what is damaged
 * is left out. The bytes must live as long as the index.
 */
struct dof_index *dof_index_create(const uint8_t *bytes, size_t size);
void dof_index_destroy(struct dof_index *ix); /* NULL is allowed */
/* Finds a probe; false if no image describes it, or the description is damaged. */
bool dof_index_find(struct dof_index *ix, const char *provider, const char *probe, struct arena *a,
		    struct dof_probe_info *ret);
/* True if something was left out because it is damaged, until now. */
bool dof_index_is_damaged(const struct dof_index *ix);
