/* The structures of DOF, for its writer and its reader. */
#pragma once

#include "base/base.h"

enum {
	DOF_COMMENTS = 1,
	DOF_STRTAB = 8,
	DOF_PROVIDER = 15,
	DOF_PROBES = 16,
	DOF_PRARGS = 17,
	DOF_PROFFS = 18,
	DOF_PRENOFFS = 26,
};

#define DOF_VERSION 2
#define DIF_VERSION 2
#define DOF_LOAD    1u /* flag of a section: it is for the tracer */

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
