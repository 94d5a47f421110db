/* SPDX-License-Identifier: MIT */
/*
 * Inside of flow/flow.h: what is kept of a file's code, and how it is made.
 *
 *     flow.c     opens the file, lets the others work in their order
 *     marks.c    where control can enter: symbols, .eh_frame, relocations, words of data
 *     landing.c  the landing pads of exceptions
 *     decode.c   where instructions begin, of what kind they are, where they branch to
 *     jumps.c    jumps to registers, followed back to their tables
 *     tables.c   jump tables, and which functions share them
 *     window.c   whether a jump can be written at an address
 *     plan.c     windows for a set of sites
 *     ways.c     windows at all ways to a return that has no room itself
 *     census.c   functions, exits, the table of a file
 *
 * A byte of `map` stands for a byte of code: 0 where no instruction begins, else the instruction's
 * length (bits 0 to 3) and its kind (bits 4 to 7).
 *
 * Owns     a struct making what is only needed until the flow is made.
 */
#pragma once

#include "files/gate.h"
#include "flow/flow.h"
#include "image/ehframe.h"
#include "image/segments.h"

enum flow_insn {
	CODE_PLAIN,
	CODE_NOP,
	CODE_INT3,
	CODE_ENDBR,
	CODE_RET,
	CODE_JMP,    /* to an address that the instruction says */
	CODE_JMP_TO, /* to an address in a register or in memory */
	CODE_JCC,
	CODE_CALL,
	CODE_STOP,  /* ud2, hlt: nothing goes on behind it */
	CODE_FIXED, /* works only where it is: loop, jrcxz, xbegin, far jumps, iret */
	CODE_SYSCALL,
	CODE_BAD, /* no instruction: one byte */
};

struct flow_area { /* a segment with code */
	uint64_t addr, size;
	uint8_t *code;
	uint8_t *map;
	uint64_t *marks; /* a bit for each byte: control can enter there, */
	uint64_t *odd;	 /* and not only by jumps that say where they lead */
};

struct flow_range {
	uint64_t start, end;
};

#define FUNC_PART   1u /* was split off another function (.cold) */
#define FUNC_JUMPS  2u /* jumps to addresses in registers */
#define FUNC_CALLED 4u /* somebody calls it, or takes its address */
#define FUNC_LOST   8u /* it, or a part of it, jumps by a table that was not found */

struct flow_func {
	uint64_t addr;
	uint32_t size, flags;
};

/* Code in which no window may be. */
struct flow_bar {
	uint64_t start, end;
	enum flow_lack why;
};

/* Padding that nobody executes. */
struct flow_run {
	uint64_t addr;
	uint32_t size;
};

struct flow {
	VEC(struct flow_area) areas; /* ascending, and they do not overlap */
	VEC(struct flow_range) code; /* the sections of code in them; as areas */
	VEC(struct flow_func) funcs; /* as areas */
	VEC(struct flow_bar) bars;   /* ascending start */
	VEC(struct flow_run) runs;   /* ascending */
	bool has_symbols;
	uint32_t ntables, nlandings, npointers;
};

/* An address that a function takes, which may be that of a jump table. */
struct flow_table {
	uint64_t addr;
	uint32_t func; /* index, or UINT32_MAX: code of no function */
	uint8_t base;  /* 1 and the number of the register that has it */
};

/* A jump to an address that was computed (jumps.h). */
struct flow_jump {
	uint64_t at;
	uint64_t table;	  /* the table's address; 0: not known */
	uint64_t checked; /* the comparison of the entry's number, with a branch behind it */
	uint32_t bound;	  /* so many entries does it let pass; 0: not known */
	uint32_t func;
	uint8_t base;	/* 1 and the number of the register that has the table's address, or 0 */
	bool is_unsure; /* the address may as well be a pointer of the caller's */
};

/* A branch from one function into another one. */
struct flow_edge {
	uint32_t from, to;
	bool is_entry; /* it leads to where the other one begins */
};

struct flow_data { /* a segment without code */
	uint64_t addr, size;
	uint8_t *bytes;
};

struct making {
	struct flow *f;
	struct gate_file *file;
	struct gate_elf g;
	uint64_t limit;
	bool is_fixed; /* it is loaded where its addresses say: ET_EXEC */
	VEC(struct flow_data) data;
	VEC(struct flow_table) tables;
	VEC(struct flow_jump) jumps;
	VEC(struct flow_edge) edges;
	VEC(uint8_t) rseq; /* the section __rseq_cs, relocated */
	uint64_t rseq_addr;
	uint64_t work;	/* bytes of tables of landing pads that may still be read, */
	uint64_t texts; /* and of names */
};

static inline uint32_t insn_size(uint8_t entry)
{
	return entry & 15;
}

static inline enum flow_insn insn_kind(uint8_t entry)
{
	return (enum flow_insn)(entry >> 4);
}

/* Returns the area of an address, or NULL. */
static inline struct flow_area *area_at(const struct flow *f, uint64_t addr)
{
	uint32_t lo = 0, hi = f->areas.len;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		struct flow_area *a = &f->areas.data[mid];

		if (addr < a->addr)
			hi = mid;
		else if (addr - a->addr < a->size)
			return a;
		else
			lo = mid + 1;
	}
	return NULL;
}

static inline bool is_marked(const struct flow_area *a, uint64_t addr)
{
	uint64_t i = addr - a->addr;

	return a->marks[i / 64] >> (i % 64) & 1;
}

/* Whether control can come to a marked place in another way than by a jump that says so. */
static inline bool is_odd(const struct flow_area *a, uint64_t addr)
{
	uint64_t i = addr - a->addr;

	return a->odd[i / 64] >> (i % 64) & 1;
}

/* Marks the target of a jump that says where it leads. */
static inline void flow_mark_jump(const struct flow *f, uint64_t addr)
{
	const struct flow_area *a = area_at(f, addr);

	if (a)
		a->marks[(addr - a->addr) / 64] |= (uint64_t)1 << ((addr - a->addr) % 64);
}

/* Marks a place at which control can enter; false: it is none of the code. */
static inline bool flow_mark(const struct flow *f, uint64_t addr)
{
	const struct flow_area *a = area_at(f, addr);

	if (!a)
		return false;
	a->marks[(addr - a->addr) / 64] |= (uint64_t)1 << ((addr - a->addr) % 64);
	a->odd[(addr - a->addr) / 64] |= (uint64_t)1 << ((addr - a->addr) % 64);
	return true;
}

/* The kind and size of the instruction that begins at an address; 0: none does. */
static inline uint8_t insn_at(const struct flow *f, uint64_t addr)
{
	const struct flow_area *a = area_at(f, addr);

	return a ? a->map[addr - a->addr] : 0;
}

void flow_bar_add(struct flow *f, uint64_t start, uint64_t end, enum flow_lack why);
#define ENTRIES_MAX 65536 /* of a jump table */

/* Returns that of n ascending functions which has an address, or NULL. */
const struct flow_func *func_in(const struct flow_func *funcs, uint32_t n, uint64_t addr);
/* Returns the function that begins at an address, or NULL. */
struct flow_func *func_at(const struct flow *f, uint64_t addr);
/* Returns where a jump of size bytes leads that says so itself. */
uint64_t jump_target(const uint8_t *code, uint64_t addr, uint32_t size);
/* Returns the code around an address up to other functions, or to the end of its area. */
struct flow_range flow_around(const struct flow *f, const struct flow_area *a, uint64_t addr);
/* Returns the bytes of the file at an address, and how many there are up to their segment's end. */
const uint8_t *making_bytes(const struct making *m, uint64_t addr, uint64_t *ret_size);
/* Returns the word at an address; 0: the file has none. */
uint64_t making_word(const struct making *m, uint64_t addr);
/* Returns the section of code that has an address, or NULL. */
const struct flow_range *section_at(const struct flow *f, uint64_t addr);
static inline bool making_has_code(const struct making *m, uint64_t addr)
{
	return section_at(m->f, addr);
}

/* marks.c */
MUST_CHECK struct err *marks_read(struct making *m);
/* landing.c: false if the tables are damaged, or are read too often. */
bool landings_mark(struct making *m, const struct unwind_fde *fde);
/* decode.c */
void code_decode(struct making *m);
/* tables.c: after all else is marked */
void tables_mark(struct making *m);
void runs_find(struct flow *f);
/* known.c: whether somebody knows the addresses of a function's instructions. */
bool func_is_known(const char *name);

/* ---- window.c ------------------------------------------------------------------------------- */

/*
 * Whether a jump of that many bytes can be written at start, in code between the bounds, with all
 * instructions up to the one at `last`. Fills addr, jump, len, nins, ins, ends, old.
 */
enum flow_lack window_try(const struct flow *f, const struct flow_range *bounds, uint64_t start,
			  uint32_t jump, uint64_t last, struct flow_window *ret);
/* Adds instructions to a window up to the one at `last`; what it says on failure is unchanged. */
bool window_extend(const struct flow *f, const struct flow_range *bounds, struct flow_window *w,
		   uint64_t last);
/*
 * The same two where control may also come from elsewhere to the instruction at `entered`, and goes
 * on from there to the one at `last`, which may be the same: these are behind the jump, stay as
 * they are, and the stub has a copy of them.
 */
enum flow_lack window_try_copy(const struct flow *f, const struct flow_range *bounds,
			       uint64_t start, uint32_t jump, uint64_t entered, uint64_t last,
			       struct flow_window *ret);
bool window_extend_copy(const struct flow *f, const struct flow_range *bounds,
			struct flow_window *w, uint64_t entered, uint64_t last);
/* Makes the window of a call or jump whose target is changed, also of a conditional jump. */
enum flow_lack target_try(const struct flow *f, uint64_t addr, struct flow_window *ret);
/* Returns the first code without windows that ends behind an address, or NULL. */
const struct flow_bar *bar_from(const struct flow *f, uint64_t addr);
/* Whether control does not go on behind an instruction. */
static inline bool ends_flow(enum flow_insn kind)
{
	return kind == CODE_RET || kind == CODE_JMP || kind == CODE_JMP_TO || kind == CODE_STOP;
}
/* Returns the instruction that ends at an address, in the same bounds; 0: none is known. */
uint64_t insn_before(const struct flow *f, const struct flow_range *bounds, uint64_t addr);

/* What the first instructions of a function have done when its body runs behind them. */
struct flow_prologue {
	uint64_t behind; /* the address */
	int16_t pushed;
	uint32_t changed_args;
	bool has_red_zone;
};

/*
 * Finds the place behind the first instruction of a function, and behind endbr64 before that.
 */
enum flow_lack prologue_read(const struct flow *f, const struct flow_range *bounds, uint64_t addr,
			     struct flow_prologue *ret);
/* Whether flags may be alive before the instruction of a window at off. */
bool window_has_flags(const struct flow_window *w, uint32_t off);
