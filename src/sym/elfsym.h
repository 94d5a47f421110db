/*
 * The symbols of one ELF file, for looking up addresses.
 *
 * Sources: .symtab, .dynsym, the compressed table in .gnu_debugdata, the stubs of the procedure
 * linkage table, and whatever separate debug files elf_syms_add() is given.
 *
 * Owns     its table; names are copies.
 * Errors   a file that is no ELF, truncated or lying gives the symbols that could be read, maybe
 *          none.
 * Units    virtual addresses as in the file (before it is mapped anywhere).
 * Facts    of several names of one address the canonical one counts: providers.md, 19.3.
 */
#pragma once

#include "base/arena.h"
#include "base/vec.h"

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
	uint64_t end;  /* where it ends at the latest: its own end, or that of its section */
	const char *name;
	const char *shown; /* demangled, or name; NULL until asked for (elf_sym_shown()) */
	enum elf_sym_kind kind;
	uint32_t rank; /* the smaller, the better among those of one address */
};

struct elf_segment {
	uint64_t off, addr, size; /* what of the file is mapped where */
	uint64_t mem_size;	  /* with what follows of zeros */
	bool is_exec;
};

#define ELF_BUILD_ID_MAX 64

struct elf_syms {
	VEC(struct elf_sym) syms; /* ascending, one an address */
	VEC(struct elf_segment) segments;
	bool has_symtab;
	bool is_cut;   /* some symbols are left out: they take more than the limit */
	uint64_t room; /* bytes that further symbols may take */
	/* where its debug file may be */
	uint8_t build_id[ELF_BUILD_ID_MAX];
	uint32_t build_id_len;
	const char *debug_link; /* NULL = none */
	uint32_t debug_crc;
	struct arena *arena;
};

/* fd stays the caller's. limit: of each section that is read, and of the table (sym/gate.h). */
struct elf_syms *elf_syms_read(int fd, uint64_t limit);
/* The same for a file in memory: the vDSO. */
struct elf_syms *elf_syms_read_memory(const void *image, size_t size);
void elf_syms_destroy(struct elf_syms *s); /* NULL is allowed */
/* The symbols of a debug file of s, too; false when it is none, or one of another build. */
bool elf_syms_add(struct elf_syms *s, int fd, uint64_t limit);

/* Virtual address of a file offset; false when no segment has it. */
bool elf_syms_addr(const struct elf_syms *s, uint64_t off, uint64_t *ret_addr);
/*
 * The address where the file's address 0 lies in a process, of which [start, ...) maps the file
 * from off on. false when no segment begins there.
 */
bool elf_syms_bias(const struct elf_syms *s, taddr start, uint64_t off, bool is_exec,
		   uint64_t *ret_bias);
/* Addresses the file takes: [*ret_start, *ret_end). */
void elf_syms_span(const struct elf_syms *s, uint64_t *ret_start, uint64_t *ret_end);
/* The symbol at addr, or NULL. */
struct elf_sym *elf_syms_find(const struct elf_syms *s, uint64_t addr);

/* For the readers of single sources: a name that is not yet in the table, then elf_syms_sort(). */
void elf_syms_push(struct elf_syms *s, enum elf_sym_kind kind, bool is_local, uint64_t addr,
		   uint64_t size, uint64_t end, const char *name);
void elf_syms_sort(struct elf_syms *s);
