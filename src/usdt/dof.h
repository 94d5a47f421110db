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
