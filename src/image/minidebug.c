/* SPDX-License-Identifier: MIT */
/* Decompresses .gnu_debugdata with liblzma. */
#include "image/minidebug.h"

#include <lzma.h>

#include "files/gate.h"

#define MEMORY_MAX ((uint64_t)256 << 20) /* bytes that the decompressor may allocate */

/* Returns the decompressed bytes, which the caller frees, or NULL. */
static void *xz_unpack(const Elf_Data *packed, uint64_t limit, size_t *ret_size)
{
	uint64_t memory = MEMORY_MAX;

	for (uint64_t cap = MIN(packed->d_size * 8, limit);; cap = MIN(cap * 2, limit)) {
		CLEANUP(free) void *out = xmalloc(cap);
		size_t in_pos = 0, out_pos = 0;
		lzma_ret got = lzma_stream_buffer_decode(&memory, 0, NULL, packed->d_buf, &in_pos,
							 packed->d_size, out, &out_pos, cap);

		if (got == LZMA_OK) {
			void *taken = out;

			out = NULL;
			*ret_size = out_pos;
			return taken;
		}
		if (got != LZMA_BUF_ERROR || cap == limit)
			return NULL;
	}
}

static Elf_Data *find_section(struct gate_elf *g)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(g->elf, &names))
		return NULL;
	while ((scn = elf_nextscn(g->elf, scn))) {
		const char *name = gelf_getshdr(scn, &sh) ? gate_text(g, names, sh.sh_name) : NULL;

		if (name && strcmp(name, ".gnu_debugdata") == 0)
			return gate_data(g, scn);
	}
	return NULL;
}

void *minidebug_unpack(struct gate_elf *g, size_t *ret_size)
{
	const Elf_Data *packed = find_section(g);

	return packed && packed->d_buf && packed->d_size ? xz_unpack(packed, g->limit, ret_size)
							 : NULL;
}
