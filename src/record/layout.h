/* SPDX-License-Identifier: MIT */
/*
 * The layout of a session's data: records, variables, keys and values of aggregations, strings.
 *
 * It is made once, when all programs are compiled and before code is generated. The code generator
 * writes data by it, the consumer (render/, agg/) reads them by it.
 *
 * Record    struct rt_rec, then fixed fields at their natural alignment, then the bytes of strings
 *           and stacks. A string that is known before the probe fires (execname, probefunc, ...)
 *           takes its natural size in the fixed part. A clause with if/else begins its fields with
 *           u64 words: bit n of them says that action n was executed.
 * Keys      a string is represented by a 64-bit hash of its content, with one copy of it in
 *           a table of strings, a stack likewise in a table of stacks. What is known before the
 *           probe fires takes its natural size.
 * Values    are per CPU. min and max are stored xor INT64_MAX / INT64_MIN, so that zero means no
 *           value. A keyless aggregation ends with a u64 that is not zero once a CPU has touched
 *           it.
 * Maps      aggregations and associative arrays may share a map: share.h.
 *
 * Units     bytes.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "dif/names.h"
#include "dif/prog.h"
#include "record/format.h"

/* ---- records -------------------------------------------------------------------------------- */

enum rec_kind {
	REC_INT,   /* size 1, 2, 4, 8 */
	REC_STR,   /* struct rt_str */
	REC_COMM,  /* char[16], NUL-padded */
	REC_STRID, /* u32 offset in the session's string table */
	REC_BYTES, /* size bytes in place */
	REC_STACK, /* struct rt_str; the words of struct rt_stack are among the bytes of strings */
};

struct rec_field {
	enum rec_kind kind;
	enum datum_kind datum;
	uint32_t off, size; /* size of the value; REC_STR: strsize; REC_STACK: the most bytes */
	uint32_t frames;    /* REC_STACK: the most frames */
	uint32_t strsize;   /* REC_STACK: bytes for the names of helpers; 0: none run */
	bool is_signed;
	bool is_lang; /* REC_STACK: frames of a language only */
	bool is_own;  /* a text or number of the program itself (dif/own.h) */
};

struct act_layout {
	struct rec_field *fields; /* one per argument of a recording action */
	uint32_t nfields;
};

struct clause_layout {
	const struct prog_clause *clause;
	struct act_layout *acts; /* one per action; nfields is 0 when it records nothing */
	uint32_t pid_off;	 /* of the u64 process id; 0 = layout_opts.has_pids is false */
	uint32_t spec_off;	 /* of struct rt_spec_tag; 0 = never speculative */
	uint32_t executed_off;	 /* 0 = every action is executed */
	uint32_t heap_off;	 /* start of the bytes of strings; = size when there are none */
	uint32_t max_size;	 /* with all strings of strsize bytes */
	uint32_t first_epid;	 /* epid of the first probe on which the clause is enabled */
};

/* ---- aggregations --------------------------------------------------------------------------- */

enum key_repr {
	KEY_INT,     /* natural size */
	KEY_COMM,    /* char[16] */
	KEY_STRID,   /* u32 offset in the string table */
	KEY_STRHASH, /* u64 hash of a text in the table of strings */
	KEY_BYTES,   /* the bytes themselves */
	KEY_STACK,   /* u64 hash of a stack in the table of stacks */
};

struct key_field {
	enum key_repr repr;
	enum datum_kind datum;
	uint32_t off, size;
	bool is_signed;
	/* of an aggregation: a text of the program itself in all clauses (dif/own.h) */
	bool is_own;
	/*
	 * The same: some clause has lfile or lline here, which is this variable, else 0. What comes
	 * from a process itself are numbers for them (native/native.h, native_has_sites()).
	 */
	uint16_t lang;
};

struct agg_layout {
	const struct prog_agg *agg;
	struct key_field *keys;
	uint32_t nkeys;
	/* 0: keyless, an element of a per-CPU array; else the key size in a hash */
	uint32_t key_size;
	uint32_t val_size; /* one CPU's state, multiple of 8 */
	uint32_t map;	   /* in layout.agg_maps, whose keys and values may be larger */
	uint32_t elem;	   /* keyless: index of its element */
	/* in a map that several aggregations share: the u64 with which its keys begin; else 0 */
	uint32_t owner;
	uint32_t touched_off; /* keyless only */
	/*
	 * For a histogram too large for one map value: the key ends with a u32 bucket number
	 * (counted in key_size), and the value is one s64.
	 */
	bool is_sparse;
	uint32_t nbuckets; /* histograms: 127, levels + 2, ... */
	uint32_t max_entries;
};

/*
 * The place of a frame of a language in a key of the aggregation: the numbers in the fields of
 * lfile and lline, the latter 0 where there is none. False: no clause has lfile in a field.
 */
bool agg_key_site(const struct agg_layout *al, const uint8_t *key, uint64_t *ret_code,
		  uint64_t *ret_at);

static inline bool agg_has_sites(const struct agg_layout *al)
{
	for (uint32_t k = 0; k < al->nkeys; k++)
		if (al->keys[k].lang)
			return true;
	return false;
}

/* The number of buckets of llquantize(), as rt_llquantize in the kernel computes it. */
uint32_t llquantize_nbuckets(const int64_t param[4]);

/* ---- variables ------------------------------------------------------------------------------ */

struct var_layout {
	const struct prog_var *var;
	/*
	 * Offset of a scalar in the block of its scope. Before a by-reference variable lies a u64.
	 * For a thread-local it is not zero while the variable is set; unset, it reads as NULL. For
	 * others it is not zero while the variable holds a NULL string; unset, it reads as "".
	 */
	uint32_t off;
	/* of a value; strings: the final strsize, whatever it was when the program was compiled */
	uint32_t size;
	/*
	 * The variable is an element of a hash map: of an associative array, or a thread-local
	 * scalar that does not fit into the block, which is an array without keys. Such maps are
	 * shared as those of aggregations are.
	 */
	bool is_elem;
	/* A clause stores 0 to an element, which removes it: the next store will find none. */
	bool is_removed;
	/*
	 * strings are KEY_STRHASH, without a copy; a thread-local's keys begin with a u64 thread id
	 */
	struct key_field *keys;
	uint32_t key_size;
	/* of an element, a multiple of 8; a scalar takes its first type.size bytes */
	uint32_t val_size;
	uint32_t max_entries;
	uint32_t map;	/* in layout.arr_maps */
	uint32_t owner; /* as agg_layout.owner */
};

/* It is a string, or another value that a register holds the address of. */
static inline bool var_is_byref(const struct var_layout *vl)
{
	return dif_type_is_byref(&vl->var->type);
}

/* ---- maps of elements (share.c) ------------------------------------------------------------- */

struct elem_map {
	uint32_t key_size; /* 0: a per-CPU array */
	uint32_t val_size, max_entries;
	/*
	 * Aggregations with keys: one value has the states of all CPUs, the first at slot_off, the
	 * next ones slot_size apart. slot_size 0: the kernel's map has per-CPU values.
	 */
	uint32_t slot_off, slot_size;
	/* indices in layout.aggs or layout.vars: of element n, or of owner n + 1 */
	uint32_t *members;
	uint32_t nmembers;
};

/* The distance between the states of two CPUs in the value of an aggregation that was read. */
static inline uint32_t elem_map_stride(const struct elem_map *m)
{
	return m->slot_size ? m->slot_size : (m->val_size + 7u) & ~7u;
}

/* The size of a value of the kernel's map. */
static inline uint32_t elem_map_value_size(const struct elem_map *m, uint32_t ncpus)
{
	return m->slot_size ? m->slot_off + m->slot_size * ncpus : m->val_size;
}

/* The size of the value of an element that is read: the states of all CPUs. */
static inline size_t elem_map_read_size(const struct elem_map *m, uint32_t ncpus)
{
	return m->slot_off + (size_t)elem_map_stride(m) * ncpus;
}

struct layout_opts {
	uint32_t strsize;
	uint64_t aggsize, dynvarsize; /* bytes */
	uint32_t ncpus;		      /* possible CPUs */
	uint32_t max_frames;	      /* of a stack that the kernel walks; 0 = its default */
	uint32_t max_uframes;	      /* of a user stack that rt/unwind.c walks; 0 = max_frames */
	uint32_t nspec;		      /* speculation ids */
	uint64_t specsize;	      /* bytes of a speculation on one CPU */
	bool counts_vtime;	      /* firings measure the time they take (gen_vtime.c) */
	uint32_t scratchsize;	      /* least scratch memory of a firing */
	uint32_t printsize;	      /* most bytes that print() records; 0 = any */
	/*
	 * Probes may have the id of the process that fires them in the name of their provider
	 * (probe.has_pid): records have a u64 with it behind struct rt_rec.
	 */
	bool has_pids;
	bool reads_own;	   /* clauses read memory of D's own only, nothing else of the kernel's */
	bool has_helpers;  /* ustack helpers may run for stacks with strsize (rt/helper.h) */
	uint32_t livesize; /* addresses that live() follows, at most */
	bool liveorder;	   /* live() need not know when it was called, only before or behind what */
	uint32_t
		max_maps; /* into which elements may be divided (engine.max_maps); 0 = any number */
};
#define LAYOUT_BLOCK_HEAD    8	 /* bytes of the head of a block of scratch memory */
#define STACK_FRAMES_DEFAULT 127 /* Linux include/linux/perf_event.h, PERF_MAX_STACK_DEPTH */

/* What the DIF of the programs needs at most: by it an engine sizes the memory that it works in. */
struct layout_facts {
	uint32_t max_reg, max_tuple, nstrings; /* nstrings: result strings in scratch memory */
	bool has_caller;		       /* reads caller or ucaller */
	bool has_depth, has_udepth;	       /* reads stackdepth, ustackdepth */
	bool has_lang;			       /* reads lfile, lline or lfunc */
	bool has_stackid;		       /* has a stack as a value */
	bool speculates, has_token, has_flags; /* calls speculation(), strtok(), strflags() */
	bool has_names[NNAMES];
	bool has_blocks; /* calls alloca(), copyin() or memref() */
	/* loads of thread-locals and elements, each of which may be copied to scratch memory */
	uint32_t nelems;
	uint64_t bytes; /* of scratch memory with a constant size: alloca(), copyin() */
};

struct layout {
	struct clause_layout *clauses; /* by prog_clause.index */
	uint32_t nclauses;
	struct agg_layout *aggs; /* by prog_agg.id - 1 */
	uint32_t naggs;
	struct var_layout *vars; /* in the order of prog_vars */
	uint32_t nvars;
	struct elem_map *agg_maps, *arr_maps;
	uint32_t nagg_maps, narr_maps;
	/* the size of an entry of the table of live(), behind its key; 0: no clause calls live() */
	uint32_t live_size;
	uint32_t gvars_size, tls_size, this_size; /* blocks of scalars; 0 = none */
	/* where strings and structures begin in these: they lie behind numbers and pointers */
	uint32_t gvars_text, this_text;
	struct layout_facts facts;
	bool counts_vtime; /* a thread's block begins with two words for gen_vtime.c */
	uint32_t nspec;	   /* speculation ids */
	uint32_t strsize;
	uint32_t names_off[NNAMES], flags_off; /* tables of dif/names.h in strtab; 0: unused */
	struct strtab *strtab; /* D string constants and names of enabled probes; session-wide */
	struct layout_opts opts;
};

/* clauses: of all programs, by index; strtab: the caller's, is extended. The result lives in a. */
struct layout *layout_create(struct arena *a, struct prog_clause *const *clauses, uint32_t nclauses,
			     const struct prog_vars *vars, const struct prog_aggs *aggs,
			     struct strtab *strtab, const struct layout_opts *opts);
/* The list of names that a subroutine reads; NNAMES: none. */
enum name_list_id names_of_subr(uint32_t subr);
const struct var_layout *layout_var(const struct layout *l, enum dif_scope scope, uint32_t id);
static inline bool var_is_lang(uint32_t var)
{
	return var == DIF_VAR_LFILE || var == DIF_VAR_LLINE || var == DIF_VAR_LFUNC;
}
/* Whether code in the process counts under it (native/native.h, native_has_sites()). */
static inline bool var_is_site(int var)
{
	return var == DIF_VAR_LFILE || var == DIF_VAR_LLINE;
}
/* The variable of a DIFO that is just "ldgs VAR; ret", recorded by natural size; -1: it is not. */
int difo_is_builtin(const struct difo *d);
/* The number of frames of the stack that a DIFO describes (dif/prog.h). */
uint32_t difo_stack_frames(const struct difo *d);
/* Whether it has frames of a language only: lstack(). */
bool difo_stack_is_lang(const struct difo *d);
/* The bytes for names of its frames. */
uint32_t difo_stack_strsize(const struct difo *d);
/* The same, limited to what the session allows. */
uint32_t layout_frames(const struct layout *l, const struct difo *d, bool is_user);
/*
 * Bytes for the names that helpers give to the frames of the stack a DIFO stands for; 0: no helper
 * runs.
 */
uint32_t layout_strsize(const struct layout_opts *opts, const struct difo *d, bool is_user);
/* A stack that is a value: what the constant of its call says (dif/prog.h, PROG_STACK_USER). */
struct stack_how {
	bool is_user, is_lang;
	uint32_t frames, strsize; /* as layout_frames() and layout_strsize() limit them */
};
struct stack_how layout_stack_how(const struct layout_opts *opts, uint64_t how);
/* The most words of frames and of their names. */
static inline uint32_t stack_words(uint32_t frames, uint32_t strsize)
{
	return strsize ? 2 * frames : frames;
}
/* The most frames of any stack. */
uint32_t layout_max_frames(const struct layout_opts *opts, bool is_user);
/* The most bytes of a stack of so many words. */
static inline uint32_t stack_bytes(uint32_t words)
{
	return 8 * (words + RT_STACK_EXTRA);
}
/* The string of a DIFO that is just "sets STR; ret"; else NULL. */
const char *difo_is_strconst(const struct difo *d);
