/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: ELF files of a grammar (elf_make.h), through all who read files of others: symbols,
 * stubs, functions of probes, unwind rows, debug information with its types, Go's version, separate
 * debug files.
 *
 * The first byte chooses what the file has (enum kit), the second what it links to and how much may
 * be read of it; the others are the tape. FUZZ_ELF=FILE in the environment keeps the file that was
 * made last.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "image/ehframe.h"
#include "arch/arch.h"
#include "elf_check.h"
#include "elf_make.h"
#include "image/gocode.h"
#include "image/debugfile.h"
#include "image/elfsym.h"
#include "files/gate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/fuzz-elf-XXXXXX"; /* of the files that are linked to */
static int folder_fd = -1;

static void folder_remove(void)
{
	(void)unlinkat(folder_fd, DEBUG_LINK, 0);
	(void)unlinkat(folder_fd, ALT_LINK, 0);
	(void)rmdir(folder);
}

static void folder_make(void)
{
	if (folder_fd >= 0)
		return;
	if (!mkdtemp(folder))
		BUG("cannot make '%s'", folder);
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)atexit(folder_remove);
}

static void bytes_write(int fd, const struct strbuf *b)
{
	if (fd < 0 || write(fd, b->data, b->len) != (ssize_t)b->len)
		BUG("cannot write %zu bytes", b->len);
}

/* What links lead to: debug information, or a file that is none. */
static void linked_make(struct tape *t, const char *name, uint32_t kit)
{
	CLEANUP(fd)
	int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct strbuf image = {0};
	struct tape own = tape_cut(t);

	elf_make(&own, kit, &image);
	bytes_write(fd, &image);
	strbuf_deinit(&image);
}

static void image_keep(const struct strbuf *image)
{
	const char *path = getenv("FUZZ_ELF");
	CLEANUP(fd) int fd = -1;

	if (!path)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bytes_write(fd, image);
}

static uint64_t limit_of(uint8_t how)
{
	static const uint64_t limits[] = {GATE_LIMIT_DEFAULT, 1 << 20, 1 << 16, 4096, 1024};

	return limits[how % ARRAY_LEN(limits)];
}

/* All readers open the file for themselves, as they do when tracing. */
static void file_check(int fd, uint32_t kit, uint64_t limit)
{
	CLEANUP(free) char *path = NULL;
	static struct gate *g;
	struct debug_search where = {.root = -1, .dirs = "/nowhere", .limit = limit};
	CLEANUP(gate_file) struct gate_file *file = gate_file_of(fd);
	struct unwind_rows rows;

	if (asprintf(&path, "%s/file", folder) < 0)
		BUG("no memory");
	if (!g)
		g = gate_create();
	where.gate = g;
	where.path = path;
	if (kit & (KIT_SYMTAB | KIT_DYNSYM | KIT_MINIDEBUG | KIT_LINKS))
		check_symbols(elf_syms_read(file, limit, NULL));
	if (kit & (KIT_EH_FRAME | KIT_DEBUG_FRAME)) {
		unwind_rows_read(file, limit, NULL, &rows);
		check_lazy_rows(file, limit);
		check_rows(&rows);
	}
	check_functions(file, &where);
	if (kit & (KIT_DWARF | KIT_LINKS))
		check_debug(file, &where);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tape t = {data, data + size};
	uint8_t kit = tape_u8(&t), how = tape_u8(&t);
	CLEANUP(fd) int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct strbuf image = {0};

	folder_make();
	if (kit & KIT_LINKS) {
		linked_make(&t, DEBUG_LINK, KIT_SYMTAB | (how & 128 ? KIT_DWARF | KIT_LINKS : 0));
		linked_make(&t, ALT_LINK, how & 64 ? KIT_DWARF : 0);
	}
	elf_make(&t, kit, &image);
	bytes_write(fd, &image);
	image_keep(&image);
	if (kit & KIT_GO)
		(void)arch.insns->go_entry_skip(t.p, (size_t)(t.end - t.p));
	file_check(fd, kit, limit_of(how % 64));
	strbuf_deinit(&image);
	return 0;
}
