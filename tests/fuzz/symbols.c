/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: files that names come from. The first byte chooses the reader: an ELF file's
 * symbols, its debug information, a perf map, or a perf map that grows, made of a tape.
 */
#include <inttypes.h>
#include <sys/mman.h>

#include "elf_check.h"
#include "elf_make.h"
#include "image/debugfile.h"
#include "image/elfsym.h"
#include "files/gate.h"
#include "sym/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROBED 64 /* addresses that are asked for */

static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd >= 0 && size && write(fd, data, size) != (ssize_t)size)
		BUG("cannot write %zu bytes", size);
	return fd;
}

static void read_symbols(const uint8_t *data, size_t size)
{
	check_symbols(elf_syms_read_memory(data, size));
}

static void read_debug(const uint8_t *data, size_t size)
{
	static struct gate *g;
	struct debug_search where = {.path = "/nowhere/file",
				     .root = -1,
				     .dirs = "/nowhere",
				     .limit = GATE_LIMIT_DEFAULT};
	CLEANUP(fd) int fd = file_of(data, size);
	CLEANUP(gate_file) struct gate_file *file = gate_file_of(fd);

	if (!g)
		g = gate_create();
	where.gate = g;
	check_debug(file, &where);
	check_functions(file, &where);
}

/* What a compiler in a process writes: the tape says of each line whether it is a good one. */
static void line_make(struct tape *t, struct strbuf *out)
{
	uint8_t how = tape_u8(t);

	if (how % 16 == 15) { /* bytes as they are */
		for (uint32_t i = 0; i < how / 16u; i++)
			bytes_put(out, tape_u8(t), 1);
		return;
	}
	if (how % 16 == 14) /* longer than any line that is read */
		for (uint32_t i = 0; i < 5000; i++)
			strbuf_addc(out, (char)('a' + how / 16));
	strbuf_addf(out, how & 1 ? "%" PRIx64 " %" PRIx64 " " : "0x%" PRIx64 "\t%" PRIx64 " ",
		    how & 2 ? tape_number(t) : tape_u8(t) * 64u, how & 4 ? tape_number(t) : 64);
	strbuf_adds(out, tape_name(t));
	strbuf_adds(out, how % 16 == 13 ? "\r\n" : how % 16 == 12 ? "" : "\n");
}

/*
 * A file grows while it is read, in up to four steps, and begins again now and then. is_raw: the
 * bytes are the file, and no tape.
 */
static void perfmap_steps(struct tape *t, bool is_raw)
{
	CLEANUP(fd) int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct perfmap *m = perfmap_create(gate_file_of(fd));
	taddr start;

	for (int step = 0; step < 4 && t->p < t->end; step++) {
		struct tape own = is_raw ? *t : tape_cut(t);
		struct strbuf text = {0};
		const char *name;

		if (is_raw) {
			strbuf_add(&text, (const char *)t->p, (size_t)(t->end - t->p));
			t->p = t->end;
		} else if (tape_u8(t) % 8 == 7 && ftruncate(fd, 0) != 0) {
			BUG("cannot cut the file");
		}
		while (!is_raw && own.p < own.end)
			line_make(&own, &text);
		if (text.len && pwrite(fd, text.data, text.len, lseek(fd, 0, SEEK_END)) < 0)
			BUG("cannot write");
		for (taddr addr = 0; addr < PROBED; addr++) {
			name = perfmap_find(m, addr << 8, &start);
			if (name && start > addr << 8)
				BUG("code that begins behind its address");
			if (name && (!*name || strpbrk(name, "\n\033")))
				BUG("a name that is none");
		}
		strbuf_deinit(&text);
	}
	perfmap_destroy(m);
}

static void check_perfmap(const uint8_t *data, size_t size)
{
	perfmap_steps(&(struct tape){data, data + size}, true);
}

static void grow_perfmap(const uint8_t *data, size_t size)
{
	perfmap_steps(&(struct tape){data, data + size}, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const readers[])(const uint8_t *data,
				       size_t size) = {read_symbols, read_debug, check_perfmap,
						       grow_perfmap};

	if (size)
		readers[data[0] % ARRAY_LEN(readers)](data + 1, size - 1);
	return 0;
}
