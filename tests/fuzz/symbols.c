/*
 * Fuzz target: files that names come from. The first byte chooses the reader: an ELF file's
 * symbols, its debug information, a perf map.
 */
#include <sys/mman.h>

#include "elf_check.h"
#include "sym/debugfile.h"
#include "sym/elfsym.h"
#include "sym/gate.h"
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
	struct debug_place place =
		{"/nowhere/file", -1, "/nowhere", GATE_LIMIT_DEFAULT, NULL, 0, 0};
	CLEANUP(fd) int fd = file_of(data, size);
	CLEANUP(gate_file) struct gate_file *file = gate_file_of(fd);

	if (!g)
		g = gate_create();
	place.gate = g;
	check_debug(file, &place);
	check_functions(file, &place);
}

static void check_perfmap(const uint8_t *data, size_t size)
{
	CLEANUP(fd) int fd = file_of(data, size);
	struct perfmap *m = perfmap_create(gate_file_of(fd));
	taddr start;

	for (taddr addr = 0; addr < PROBED; addr++)
		if (perfmap_find(m, addr << 8, &start) && start > addr << 8)
			BUG("code that begins behind its address");
	perfmap_destroy(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const readers[])(const uint8_t *data,
				       size_t size) = {read_symbols, read_debug, check_perfmap};

	if (size)
		readers[data[0] % ARRAY_LEN(readers)](data + 1, size - 1);
	return 0;
}
