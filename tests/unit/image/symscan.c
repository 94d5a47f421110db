/* SPDX-License-Identifier: MIT */
/*
 * A file with large tables of symbols: what a search in passing finds is what a walk over all
 * symbols finds, wherever in the tables it is.
 */
#include "image/symscan.h"

#include <sys/mman.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/vec.h"
#include "files/gate.h"
#include "image/symtab.h"
#include "tap.h"

#define LIMIT	 (64u << 20)
#define FUNCS	 5000
#define LONGEST	 5000 /* bytes of a name */
#define SECTIONS 4

struct file {
	struct strbuf names;
	VEC(Elf64_Sym) symbols;
};

static void symbol_add(struct file *f, uint32_t name, unsigned bind, unsigned type, uint16_t shndx)
{
	Elf64_Sym s = {.st_name = name,
		       .st_info = (unsigned char)ELF64_ST_INFO(bind, type),
		       .st_shndx = shndx,
		       .st_value = 0x1000 + 16 * f->symbols.len,
		       .st_size = 16};

	vec_push(&f->symbols, s);
}

PRINTF_LIKE(2, 3) static uint32_t name_add(struct file *f, const char *fmt, ...)
{
	uint32_t at = (uint32_t)f->names.len;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&f->names, fmt, ap);
	va_end(ap);
	strbuf_add(&f->names, "", 1);
	return at;
}

/* Functions of three source files, with all that a table may have between them. */
static void symbols_make(struct file *f)
{
	CLEANUP(free) char *text = xmalloc(LONGEST + 1);

	memset(text, 'l', LONGEST);
	text[LONGEST] = '\0';
	strbuf_add(&f->names, "", 1);
	symbol_add(f, 0, STB_LOCAL, STT_NOTYPE, SHN_UNDEF);
	for (int i = 0; i < FUNCS; i++) {
		uint32_t at;

		if (i % 2000 == 0)
			symbol_add(f, name_add(f, "source_%d.c", i), STB_LOCAL, STT_FILE, SHN_ABS);
		at = name_add(f, "function_%d_with_a_name_of_some_length", i);
		symbol_add(f, at, i % 3 ? STB_LOCAL : STB_GLOBAL, STT_FUNC,
			   i % 7 ? 1 : (uint16_t)SHN_UNDEF);
		if (i % 11 == 0) /* the linker has given it the end of another name */
			symbol_add(f, at + 9, STB_LOCAL, STT_OBJECT, 1);
		if (i % 13 == 0)
			symbol_add(f,
				   name_add(f, "function_%d_with_a_name_of_some_length.part.0", i),
				   STB_LOCAL, STT_FUNC, 1);
		if (i % 17 == 0) /* two of the same name */
			symbol_add(f, at, STB_LOCAL, STT_FUNC, 1);
	}
	symbol_add(f, 0, STB_LOCAL, STT_FILE, SHN_ABS);
	symbol_add(f, name_add(f, "%s", text), STB_LOCAL, STT_FUNC, 1);
	symbol_add(f, name_add(f, "last"), STB_LOCAL, STT_FUNC, 1);
}

static int file_write(const struct file *f, bool is_narrow)
{
	const uint64_t nsyms = f->symbols.len * sizeof(Elf64_Sym);
	Elf64_Shdr sh[SECTIONS] = {{0}};
	Elf64_Ehdr eh = {.e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_ehsize = sizeof(eh),
			 .e_shoff = sizeof(eh),
			 .e_shentsize = sizeof(sh[0]),
			 .e_shnum = SECTIONS,
			 .e_shstrndx = 3};
	int fd = memfd_create("symscan", MFD_CLOEXEC);
	bool is_good;

	memcpy(eh.e_ident, ELFMAG, SELFMAG);
	eh.e_ident[EI_CLASS] = is_narrow ? ELFCLASS32 : ELFCLASS64;
	eh.e_ident[EI_DATA] = ELFDATA2LSB;
	eh.e_ident[EI_VERSION] = EV_CURRENT;
	sh[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
			     .sh_offset = sizeof(eh) + sizeof(sh),
			     .sh_size = nsyms,
			     .sh_link = 2,
			     .sh_entsize = sizeof(Elf64_Sym)};
	sh[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
			     .sh_offset = sh[1].sh_offset + nsyms,
			     .sh_size = f->names.len};
	sh[3] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = sh[2].sh_offset, .sh_size = 1};
	is_good = write(fd, &eh, sizeof(eh)) == (ssize_t)sizeof(eh) &&
		  write(fd, sh, sizeof(sh)) == (ssize_t)sizeof(sh) &&
		  write(fd, f->symbols.data, nsyms) == (ssize_t)nsyms &&
		  write(fd, strbuf_text(&f->names), f->names.len) == (ssize_t)f->names.len;
	return is_good ? fd : -1;
}

/* What was found: a number made of the symbols and their names. */
struct found {
	uint64_t sum;
	uint32_t n, max;
};

static bool found_add(void *ctx, uint32_t which, const GElf_Sym *sym, uint32_t file,
		      const char *name, size_t len)
{
	struct found *f = (struct found *)ctx + which;

	f->sum = (f->sum + sym->st_value * 31 + file) * 1000003 + strnlen(name, len);
	f->n++;
	return f->n == f->max;
}

static struct found walk_find(struct gate_elf *g, const char *name)
{
	struct symtab t = symtab_begin(g, SYMTAB_STATIC);
	struct found f = {.max = UINT32_MAX};
	const size_t len = strlen(name);
	uint32_t file = 0;

	while (symtab_next(&t)) {
		const char *own = symtab_name(&t);
		unsigned type = GELF_ST_TYPE(t.sym.st_info);

		if (type == STT_FILE)
			file = *own ? (uint32_t)t.index + 1 : 0;
		else if (t.sym.st_shndx != SHN_UNDEF && strncmp(own, name, len) == 0 &&
			 (!own[len] || own[len] == '.'))
			(void)found_add(&f, 0, &t.sym,
					GELF_ST_BIND(t.sym.st_info) == STB_LOCAL ? file : 0, own,
					strlen(own) + 1);
	}
	return f;
}

static struct found scan_find(struct gate_elf *g, struct gate_file *file, const char *name,
			      bool *ret_is_scanned)
{
	struct found f = {.max = UINT32_MAX};

	*ret_is_scanned = symscan_symbols(g, file, &name, 1, found_add, &f);
	return f;
}

static void test_symbols(struct gate_elf *g, struct gate_file *file)
{
	uint32_t nwrong = 0, nfound = 0, nwalked = 0, nseveral = 0;
	static const char *const name_17 = "function_17_with_a_name_of_some_length";
	struct found first = {.max = 1};
	bool is_scanned;

	for (int i = -1; i <= FUNCS + 2; i++) {
		char name[128] = "last";
		struct found a, b;

		if (i >= 0)
			(void)snprintf(name, sizeof(name), "%s%d_with_a_name_of_some_length%s",
				       i % 11 ? "function_" : "", i, i % 26 ? "" : ".part.0");
		a = walk_find(g, name);
		b = scan_find(g, file, name, &is_scanned);

		nwalked += !is_scanned;
		nwrong += a.n != b.n || a.sum != b.sum;
		nfound += b.n > 0;
		nseveral += b.n > 1;
	}
	is_int((int)nwrong, 0, "names for which a walk has another answer");
	is_int((int)nwalked, 0, "names for which there is none");
	ok(nfound > FUNCS / 2 && nseveral > FUNCS / 30, "%u are found, of %u several", nfound,
	   nseveral);
	ok(symscan_symbols(g, file, &name_17, 1, found_add, &first) && first.n == 1,
	   "the visitor may end it");
	ok(!scan_find(g, file, "", &is_scanned).n && !is_scanned, "no name");
}

/* Names that are searched for at once: some short, some the end of another, one twice. */
static void test_several(struct gate_elf *g, struct gate_file *file)
{
	static char text[SYMSCAN_NAMES_MAX + 1][64];
	const char *names[SYMSCAN_NAMES_MAX + 1];
	struct found f[SYMSCAN_NAMES_MAX];
	uint32_t nwrong = 0, nfound = 0;

	for (uint32_t i = 0; i <= SYMSCAN_NAMES_MAX; i++) {
		(void)snprintf(text[i], sizeof(text[i]), "%s%u_with_a_name_of_some_length%s",
			       i % 3 ? "function_" : "", i * 19, i % 5 ? "" : ".part.0");
		names[i] = text[i];
	}
	names[1] = names[2];
	names[3] = "last";
	names[4] = "t";
	names[5] = "st";
	for (uint32_t i = 0; i < SYMSCAN_NAMES_MAX; i++)
		f[i] = (struct found){.max = UINT32_MAX};
	ok(symscan_symbols(g, file, names, SYMSCAN_NAMES_MAX, found_add, f), "many names at once");
	for (uint32_t i = 0; i < SYMSCAN_NAMES_MAX; i++) {
		const struct found want = walk_find(g, names[i]);

		nwrong += f[i].n != want.n || f[i].sum != want.sum;
		nfound += want.n > 0;
	}
	is_int((int)nwrong, 0, "names of these for which a walk has another answer");
	ok(nfound > SYMSCAN_NAMES_MAX / 3, "%u of them are there", nfound);
	ok(!symscan_symbols(g, file, names, SYMSCAN_NAMES_MAX + 1, found_add, f), "too many");
}

static void test_long(struct gate_elf *g, struct gate_file *file)
{
	CLEANUP(free) char *name = xmalloc(LONGEST + 1);
	bool is_scanned;

	memset(name, 'l', LONGEST);
	name[LONGEST] = '\0';
	ok(!scan_find(g, file, name, &is_scanned).n && !is_scanned, "a very long name");
	name[LONGEST / 2] = '\0';
	ok(!scan_find(g, file, name, &is_scanned).n && is_scanned, "the beginning of it");
}

static void test_names(struct gate_elf *g, struct gate_file *file)
{
	static const char *const names[] = {"last", "function_4999_with_a_name_of_some_length",
					    "not_there", "0_with_a_name_of_some_length",
					    "function_12_with"};
	bool has[ARRAY_LEN(names)] = {false};

	ok(symscan_names(g, file, elf_getscn(g->elf, 2), names, ARRAY_LEN(names), has),
	   "a large table of names");
	ok(has[0] && has[1] && !has[2] && !has[3] && !has[4], "has some of them");
	ok(!symscan_names(g, file, elf_getscn(g->elf, 3), names, ARRAY_LEN(names), has),
	   "a small one is not searched");
}

static void test_others(const struct file *f)
{
	struct gate_file *file = gate_file_of(file_write(f, true));
	struct gate_elf g;
	bool is_scanned = false;

	gate_elf_open(file, LIMIT, &g);
	ok(!g.elf || (!scan_find(&g, file, "last", &is_scanned).n && !is_scanned), "of 32 bits");
	gate_elf_close(&g);
	gate_file_close(file);
	file = gate_file_of(file_write(f, false));
	gate_elf_open(file, BUFSIZ, &g);
	ok(!g.elf || (!scan_find(&g, file, "last", &is_scanned).n && !is_scanned),
	   "larger than the limit");
	gate_elf_close(&g);
	gate_file_close(file);
}

int main(void)
{
	struct file f = {.names = {0}};
	struct gate_file *file;
	struct gate_elf g;

	symbols_make(&f);
	file = gate_file_of(file_write(&f, false));
	gate_elf_open(file, LIMIT, &g);
	if (ok(g.elf, "a file of %u symbols, %zu bytes of names", f.symbols.len, f.names.len)) {
		test_symbols(&g, file);
		test_several(&g, file);
		test_long(&g, file);
		test_names(&g, file);
		test_others(&f);
	}
	gate_elf_close(&g);
	gate_file_close(file);
	vec_deinit(&f.symbols);
	strbuf_deinit(&f.names);
	return tap_done();
}
