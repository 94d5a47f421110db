/* SPDX-License-Identifier: MIT */
/*
 * The symbols of one ELF file, for looking up addresses.
 *
 * Sources: .symtab, .dynsym, the compressed table in .gnu_debugdata, the stubs of the procedure
 * linkage table, and the separate debug files that elf_syms_add() is given.
 *
 * Owns     its table; names are copies. The table, which may be large, can be shed; what is small,
 *          the segments and the build-id, stays.
 * Errors   none: of a file that is damaged or no ELF file, the symbols that could be read are
 *          returned, maybe none.
 * Units    virtual addresses as in the file (before it is mapped anywhere).
 * Facts    of several names of one address the canonical one counts: providers.md 19.3.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"
#include "image/build_id.h"
#include "image/pause.h"
#include "image/segments.h"

enum elf_sym_kind {
	ELF_SYM_FUNC,	/* STT_FUNC */
	ELF_SYM_IFUNC,	/* STT_GNU_IFUNC: the code that chooses the function */
	ELF_SYM_STUB,	/* "malloc@plt" */
	ELF_SYM_OBJECT, /* STT_OBJECT */
	ELF_SYM_LABEL,	/* STT_NOTYPE */
};

struct elf_sym {
	uint64_t addr;
	uint64_t size; /* 0: unknown */
	uint64_t end;  /* addr + size if the size is known, else the end of the symbol's section */
	const char *name;
	enum elf_sym_kind kind;
	uint32_t rank; /* of several symbols of one address, the one with the least rank is kept */
};

struct gate_file;
struct symsparse;

struct elf_syms {
	VEC(struct elf_sym) syms; /* ascending; one for each address */
	struct image_segments segments;
	bool has_symtab;
	bool is_shed;		/* there are no symbols: elf_syms_shed() */
	bool is_cut;		/* some symbols are missing, because they exceed the limit */
	uint64_t room;		/* bytes that further symbols may take */
	struct build_mark mark; /* by which the separate debug file is found (image/debugfile.h) */
	struct symsparse *sparse; /* where symbols are looked up instead (symsparse.h), or NULL */
	struct gate_file *file;	  /* of which all are read, */
	bool is_filled;		  /* and were, because there were many lookups */
	struct arena *names;	  /* of the symbols, packed */
	char *names_at;		  /* in a block of it: the next name, and how many bytes are left */
	size_t names_left, names_block;
};

/*
 * Reads the symbols of a file, which the caller keeps. limit bounds the size of each section
 * that is read, and of the table of symbols (files/gate.h). pause may be NULL.
 */
struct elf_syms *elf_syms_read(struct gate_file *file, uint64_t limit,
			       const struct image_pause *pause);
/* The same as elf_syms_read() for a file in memory: the vDSO. */
struct elf_syms *elf_syms_read_memory(const void *image, size_t size);
/*
 * The same, if few addresses will be looked up: of a large file, symbols are read when they are
 * found, so that the file must be kept as it is until then.
 */
struct elf_syms *elf_syms_read_sparse(struct gate_file *file, uint64_t limit,
				      const struct image_pause *pause);
/* Reads all symbols, if they are not all in s->syms. What was found before stays valid. */
void elf_syms_fill(struct elf_syms *s);
void elf_syms_destroy(struct elf_syms *s); /* NULL is allowed */
/*
 * Adds the symbols of the debug file to s; false if the file has none, or another build-id than
 * s.
 */
bool elf_syms_add(struct elf_syms *s, struct gate_file *file, uint64_t limit,
		  const struct image_pause *pause);

/* Returns the symbol whose code or data contains addr, or NULL. */
const struct elf_sym *elf_syms_find(struct elf_syms *s, uint64_t addr);

struct elf_range {
	uint64_t start, end;
};
/* The same; for all addresses in *ret, of which addr is one, the result is the same. */
const struct elf_sym *elf_syms_find_range(struct elf_syms *s, uint64_t addr, struct elf_range *ret);

/* Returns the bytes of memory that elf_syms_shed() gives back. */
uint64_t elf_syms_size(const struct elf_syms *s);
/* Frees the symbols: from now on none is found. */
void elf_syms_shed(struct elf_syms *s);

/* Returns an empty table, for elf_syms_push(). */
struct elf_syms *elf_syms_create(void);
/*
 * These functions are for readers of symbols: they add symbols with elf_syms_push(), and then
 * elf_syms_sort() makes s ready for lookups.
 */
void elf_syms_push(struct elf_syms *s, enum elf_sym_kind kind, bool is_local, uint64_t addr,
		   uint64_t size, uint64_t end, const char *name);
void elf_syms_sort(struct elf_syms *s);

/* The same readers ask which symbols of a table are wanted, and where their sections end. */
struct elf_section {
	uint64_t start, end; /* 0, 0: a section that is not loaded into memory */
};
typedef VEC(struct elf_section) elf_sections;
void elf_sections_read(Elf *elf, elf_sections *ret);
bool elf_sym_is_wanted(const elf_sections *sections, const GElf_Sym *sym,
		       enum elf_sym_kind *ret_kind, uint64_t *ret_end);
/* A label of the compiler, ".L...", is not: some object files keep such labels. */
bool elf_sym_name_is_wanted(const char *name);

/* A symbol by its number. */
struct sym_key {
	uint64_t addr;
	uint32_t i;
};
/* Sorts keys by their addresses; takes the memory, and returns other memory that is to be freed. */
struct sym_key *elf_sym_keys_sort(struct sym_key *keys, uint32_t n);
