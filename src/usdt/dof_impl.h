/* SPDX-License-Identifier: MIT */
/*
 * DOF as bytes: its structures, an image that is being written, and an image of others that is
 * read.
 *
 * An image is a header, a table of section headers, and sections; sections refer to one another by
 * their numbers, and to strings by offsets in a section of strings. Numbers are in the byte order
 * of the machine.
 *
 * Owns     a writer owns its sections until dof_writer_deinit(). A reader owns nothing: what it
 *          returns points into the image.
 * Errors   false or NULL: images are foreign, and each reference is checked before it is followed.
 * Facts    d-language.md 12.2.
 */
#pragma once

#include "base/str.h"
#include "usdt/dof.h"

enum {
	DOF_NONE = 0,
	DOF_COMMENTS = 1,
	DOF_ECBDESC = 3,
	DOF_PROBEDESC = 4,
	DOF_ACTDESC = 5,
	DOF_DIFOHDR = 6,
	DOF_DIF = 7,
	DOF_STRTAB = 8,
	DOF_VARTAB = 9,
	DOF_PROVIDER = 15,
	DOF_PROBES = 16,
	DOF_PRARGS = 17,
	DOF_PROFFS = 18,
	DOF_INTTAB = 19,
	DOF_PRENOFFS = 26,
};

#define DOF_VERSION 2
#define DIF_VERSION 2
#define DOF_LOAD    1u	       /* flag of a section: it is for the tracer */
#define DOF_NO_SECT UINT32_MAX /* a reference to no section */

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

struct dof_ecb {
	uint32_t probe, pred, acts, pad;
	uint64_t uarg;
};

struct dof_probedesc {
	uint32_t strtab, prov, mod, func, name, id;
};

struct dof_act {
	uint32_t difo, strtab, kind, ntuple;
	uint64_t arg, uarg;
};

struct dof_type {
	uint8_t kind, ckind, flags, is_signed; /* is_signed: ours; others write 0 */
	uint32_t size;
};

struct dof_var {
	uint32_t name, id;
	uint8_t kind, scope;
	uint16_t flags;
	struct dof_type type;
};

_Static_assert(sizeof(struct dof_header) == 64 && sizeof(struct dof_section) == 32 &&
		       sizeof(struct dof_provider) == 44 && sizeof(struct dof_probe) == 48 &&
		       sizeof(struct dof_ecb) == 24 && sizeof(struct dof_probedesc) == 24 &&
		       sizeof(struct dof_act) == 32 && sizeof(struct dof_var) == 20,
	       "DOF");

/* ---- writing: dof.c -------------------------------------------------------------------------- */

/* An image that is being written; section headers and contents are put together at the end. */
struct dof_writer {
	VEC(struct dof_section) sections; /* offset: in data */
	VEC(uint8_t) data;
	struct strtab *strings;
	uint8_t nregs; /* registers that DIF in the image needs */
};

/* Adds a section and returns its number. */
uint32_t dof_section_add(struct dof_writer *w, uint32_t type, uint32_t align, uint32_t entsize,
			 const void *data, size_t size);
/* Appends the image to *out. */
void dof_image_add(const struct dof_writer *w, bool is_lp64, struct dof_image *out);
void dof_writer_deinit(struct dof_writer *w);

/* ---- reading: dof_read.c --------------------------------------------------------------------- */

/* An image in foreign memory. */
struct dof_bytes {
	const uint8_t *bytes;
	uint64_t size;
	struct dof_header h;
};

/* False: there is no image, or its header is damaged. */
bool dof_image_open(const uint8_t *bytes, size_t size, struct dof_bytes *ret);
/* Moves to the image behind this one; false if there is none. */
bool dof_image_next(const struct dof_bytes *im, const uint8_t **bytes, size_t *size);
/* Reads the header of section n; false if there is none, or it does not lie inside the image. */
bool dof_section_head(const struct dof_bytes *im, uint32_t n, struct dof_section *ret);
/* Finds section n; false if it has another type, or does not lie completely inside the image. */
bool dof_section_get(const struct dof_bytes *im, uint32_t n, uint32_t type,
		     const uint8_t **ret_data, uint64_t *ret_size);
/* Returns a NUL-terminated string of a table; NULL if it has no end, or more than max bytes. */
const char *dof_text_at(const uint8_t *table, uint64_t size, uint64_t off, size_t max);
