/* .gnu_debugdata: decompressed with liblzma. */
#include "sym/minidebug.h"

#include <gelf.h>
#include <lzma.h>

#include "base/base.h"

/* What is real stays far below: names and addresses of a file's functions, unpacked. */
#define PACKED_MAX   ((uint64_t)64 << 20)
#define UNPACKED_MAX ((size_t)256 << 20)
#define MEMORY_MAX   ((uint64_t)256 << 20) /* of the decompressor */

/* Returns its bytes for free(), or NULL. */
static void *unpack(const Elf_Data *packed, size_t *ret_size)
{
	uint64_t memory = MEMORY_MAX;

	for (size_t cap = packed->d_size * 8; cap <= UNPACKED_MAX; cap *= 2) {
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
		if (got != LZMA_BUF_ERROR)
			return NULL;
	}
	return NULL;
}

static Elf_Data *find_section(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name =
			gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;

		if (name && strcmp(name, ".gnu_debugdata") == 0)
			return sh.sh_size <= PACKED_MAX && sh.sh_type != SHT_NOBITS
				       ? elf_getdata(scn, NULL)
				       : NULL;
	}
	return NULL;
}

void *minidebug_unpack(Elf *elf, size_t *ret_size)
{
	const Elf_Data *packed = find_section(elf);

	return packed && packed->d_buf && packed->d_size ? unpack(packed, ret_size) : NULL;
}
