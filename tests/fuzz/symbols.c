/*
 * Fuzz target: files that names come from. The first byte chooses the reader: an ELF file's
 * symbols, its debug information, a perf map.
 */
#include <sys/mman.h>

#include "d/import_dwarf.h"
#include "sym/debugfile.h"
#include "sym/demangle.h"
#include "sym/dwarf.h"
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

static void check_symbols(const uint8_t *data, size_t size)
{
	struct elf_syms *s = elf_syms_read_memory(data, size);
	struct arena *a = arena_create();
	uint64_t start, end, bias;

	for (uint32_t i = 0; i < s->syms.len && i < PROBED; i++) {
		const struct elf_sym *sym = &s->syms.data[i];

		if (i && s->syms.data[i - 1].addr >= sym->addr)
			BUG("symbols are not in order");
		(void)elf_syms_find(s, sym->addr + sym->size / 2);
		(void)demangle(a, sym->name);
	}
	elf_syms_span(s, &start, &end);
	(void)elf_syms_addr(s, start, &end);
	(void)elf_syms_bias(s, 0x400000, 0, true, &bias);
	arena_destroy(a);
	elf_syms_destroy(s);
}

/* What args[] of a pid probe looks at. */
static void check_type(struct dwarf_import *im, struct types *t, struct dwarf_arg *arg)
{
	type_id type;

	if (!dwarf_tag(&arg->type))
		return;
	type = dwarf_import_arg(im, t, &arg->type, arg->is_ref);
	if (type != TYPE_NONE && type != TYPE_ERROR)
		(void)type_size(t, type_is_pointer(t, type) ? type_deref(t, type) : type);
}

static bool is_meant(void *ctx, const char *name)
{
	(void)ctx;
	return strchr(name, 'r');
}

static void check_debug(const uint8_t *data, size_t size)
{
	const struct debug_place place = {"/nowhere/file", -1, "/nowhere", GATE_LIMIT_DEFAULT, 0, 0};
	int fd = file_of(data, size);
	struct dwarf_file *d = dwarf_file_open(fd, &place);
	struct dwarf_import *im = dwarf_import_create();
	struct types *t = types_create(256);
	struct arena *a = arena_create();
	struct dwarf_inlined inlined;

	for (uint64_t i = 0; d && i < PROBED; i++) {
		uint64_t addr = 0x1000 + i * 16;
		struct dwarf_arg *args, *values, value;
		Dwarf_Die func;
		uint32_t n, nvalues;

		if (!dwarf_file_function(d, addr, &func))
			continue;
		if (dwarf_function_args(&func, a, &args, &n, &value))
			for (uint32_t k = 0; k < n; k++)
				check_type(im, t, &args[k]);
		for (int on_stack = 0; on_stack < 2; on_stack++)
			if (dwarf_go_args(&func, on_stack, a, &args, &n, &values, &nvalues))
				for (uint32_t k = 0; k < n; k++)
					check_type(im, t, &args[k]);
		arena_reset(a);
	}
	if (d)
		(void)dwarf_file_inlined(d, is_meant, NULL, a, &inlined);
	types_destroy(t);
	dwarf_import_destroy(im);
	arena_destroy(a);
	dwarf_file_close(d);
	(void)close(fd);
}

static void check_perfmap(const uint8_t *data, size_t size)
{
	struct perfmap *m = perfmap_create(file_of(data, size));
	taddr start;

	for (taddr addr = 0; addr < PROBED; addr++)
		if (perfmap_find(m, addr << 8, &start) && start > addr << 8)
			BUG("code that begins behind its address");
	perfmap_destroy(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const readers[])(const uint8_t *data,
				       size_t size) = {check_symbols, check_debug, check_perfmap};

	if (size)
		readers[data[0] % ARRAY_LEN(readers)](data + 1, size - 1);
	return 0;
}
