/*
 * Where everything of a session lies: records, variables, aggregation keys and values, strings.
 *
 * Made once, after all programs are compiled and before code is generated. The code generator
 * writes by it, the consumer (print/, agg/) reads by it.
 *
 * Record    struct rt_rec, then fixed fields at their natural alignment, then the bytes of strings
 *           and stacks.
 *           A string known before the probe fires (execname, probefunc, ...) takes its natural size
 *           in the fixed part. A clause with if/else begins its fields with a u64 whose bit n says
 *           that act n (n-th action, modulo 64 actions a word) was executed.
 * Keys      strings are represented by a 64-bit hash of their content plus one copy of it in
 *           MAP_STRINGS, stacks likewise in MAP_STACKS; what is known before the probe fires by its
 *           natural size.
 * Values    per-CPU; min and max are stored xor INT64_MAX / INT64_MIN so that zero means untouched.
 *           Keyless aggregations end with a u64 that is non-zero once touched on that CPU.
 * Maps      of aggregations and associative arrays may have several owners: share.h.
 *
 * Units     bytes.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "bpf/rt/abi.h"
#include "dif/names.h"
#include "dif/prog.h"

/* ---- records -------------------------------------------------------------------------------- */

enum rec_kind {
	REC_INT,   /* size 1, 2, 4, 8 */
	REC_STR,   /* struct rt_str */
	REC_COMM,  /* char[16], NUL-padded */
	REC_STRID, /* u32 offset in the session's string table */
	REC_BYTES, /* size bytes in place */
	REC_STACK, /* struct rt_str; the words of a stack (struct rt_stack) are among the strings */
};

struct rec_field {
	enum rec_kind kind;
	enum datum_kind datum;
	uint32_t off, size; /* size: of the value; REC_STR: strsize; REC_STACK: most bytes */
	uint32_t frames;    /* REC_STACK: asked for */
	bool is_signed;
};

struct act_layout {
	struct rec_field *fields; /* one per argument of a recording action */
	uint32_t nfields;
};

struct clause_layout {
	const struct prog_clause *clause;
	struct act_layout *acts; /* one per action; nfields 0 for those that record nothing */
	uint32_t spec_off;	 /* struct rt_spec_tag; 0 = never speculative */
	uint32_t executed_off;	 /* 0 = every action is executed */
	uint32_t heap_off;	 /* start of string bytes; = size when there are none */
	uint32_t max_size;	 /* with all strings at strsize */
	uint32_t first_epid;	 /* epid of the first probe it is enabled on */
};

/* ---- aggregations --------------------------------------------------------------------------- */

enum key_repr {
	KEY_INT,     /* natural size */
	KEY_COMM,    /* char[16] */
	KEY_STRID,   /* u32 offset in the string table */
	KEY_STRHASH, /* u64 hash of the text; MAP_STRINGS has it */
	KEY_BYTES,   /* in place */
	KEY_STACK,   /* u64 hash of the stack; MAP_STACKS has it */
};

struct key_field {
	enum key_repr repr;
	enum datum_kind datum;
	uint32_t off, size;
	bool is_signed;
};

struct agg_layout {
	const struct prog_agg *agg;
	struct key_field *keys;
	uint32_t nkeys;
	/* 0: keyless, an element of a per-CPU array; else an element of a hash */
	uint32_t key_size;
	uint32_t val_size; /* one CPU's state, multiple of 8 */
	uint32_t map;	   /* in layout.agg_maps, whose keys and values may be larger */
	uint32_t elem;	   /* keyless: index of its element */
	/* keyed, of a map that is shared: the u64 its keys begin with; 0 = not shared */
	uint32_t owner;
	uint32_t touched_off; /* keyless only */
	/*
	 * Histograms too large for one map value: the key ends with a u32 bucket index (in
	 * key_size), the value is one s64.
	 */
	bool is_sparse;
	uint32_t nbuckets; /* histograms: 127, levels + 2, ... */
	uint32_t max_entries;
};

/* Buckets of llquantize: number, and the index of a value (same arithmetic as rt_llquantize). */
uint32_t llquantize_nbuckets(const int64_t param[4]);

/* ---- variables ------------------------------------------------------------------------------ */

struct var_layout {
	const struct prog_var *var;
	/*
	 * Scalars: in the block of its scope. A by-reference one has a u64 just before it: of a
	 * thread-local it is non-zero while the variable is set, unset it reads as NULL; of others
	 * it is non-zero while the variable holds a NULL string, unset it reads as an empty one.
	 */
	uint32_t off;
	/* of a value; strings: strsize as it is in the end, whatever it was when compiled */
	uint32_t size;
	/*
	 * Associative arrays: a hash map, shared or not as those of aggregations. So are
	 * thread-local scalars that do not fit in the block: arrays without keys.
	 */
	bool is_elem;
	/* strings are KEY_STRHASH, never stored; TLS: a u64 thread id comes first */
	struct key_field *keys;
	uint32_t key_size;
	/* of an element, multiple of 8; a scalar lies in its first type.size bytes */
	uint32_t val_size;
	uint32_t max_entries;
	uint32_t map;	/* in layout.arr_maps */
	uint32_t owner; /* as of an aggregation */
};

/* ---- maps of elements (share.c) ------------------------------------------------------------- */

struct elem_map {
	uint32_t key_size; /* 0: a per-CPU array */
	uint32_t val_size, max_entries;
	/*
	 * Aggregations with keys: the states of all CPUs lie in one value, the first one at
	 * slot_off, each slot_size behind the one before. slot_size 0: the kernel's map is one of
	 * per-CPU values.
	 */
	uint32_t slot_off, slot_size;
	/* indices in layout.aggs, or layout.vars: of element n, or of owner n + 1 */
	uint32_t *members;
	uint32_t nmembers;
};

/* Of an aggregation's value as it is read: bytes from one CPU's state to the next. */
static inline uint32_t elem_map_stride(const struct elem_map *m)
{
	return m->slot_size ? m->slot_size : (m->val_size + 7u) & ~7u;
}

/* Value size of the kernel's map. */
static inline uint32_t elem_map_value_size(const struct elem_map *m, uint32_t ncpus)
{
	return m->slot_size ? m->slot_off + m->slot_size * ncpus : m->val_size;
}

/* Bytes of what is read of an element: the states of all CPUs. */
static inline size_t elem_map_read_size(const struct elem_map *m, uint32_t ncpus)
{
	return m->slot_off + (size_t)elem_map_stride(m) * ncpus;
}

struct layout_opts {
	uint32_t strsize;
	uint64_t aggsize, dynvarsize; /* bytes */
	uint32_t ncpus;		      /* possible CPUs */
	uint32_t max_frames;	      /* of any stack the kernel walks; 0 = its default */
	uint32_t max_uframes;	      /* of user stacks that we walk; 0 = max_frames */
	uint32_t nspec;		      /* speculation ids */
	uint64_t specsize;	      /* bytes of a speculation on one CPU */
	bool counts_vtime;	      /* firings count the time they take (gen_vtime.c) */
	uint32_t scratchsize;	      /* least scratch memory of a firing */
	uint32_t printsize;	      /* most bytes that print() records; 0 = any */
};
#define STACK_FRAMES_DEFAULT 127 /* Linux include/linux/perf_event.h, PERF_MAX_STACK_DEPTH */

struct layout {
	struct clause_layout *clauses; /* by prog_clause.index */
	uint32_t nclauses;
	struct agg_layout *aggs; /* by prog_agg.id - 1 */
	uint32_t naggs;
	struct var_layout *vars; /* in the order of prog_vars */
	uint32_t nvars;
	struct elem_map *agg_maps, *arr_maps;
	uint32_t nagg_maps, narr_maps;
	uint32_t gvars_size, tls_size; /* 0 = none */
	/* areas of a MAP_MACH entry after struct rt_mach */
	uint32_t this_off, this_size;
	uint32_t rec_off, rec_size;
	uint32_t key_off, key_size; /* keys of aggregations, then those of associative arrays */
	uint32_t arr_key_off;
	uint32_t kaddr_off; /* u64 per key: addresses of an aggregation key's strings */
	/* u64 each: values of an expression that found no register */
	uint32_t spill_off, spill_nslots;
	/* stacks of keys, then one of built-in variables (abi.h); size: of MAP_STACKS values */
	uint32_t stack_off, stack_stride, stack_nslots, stack_size;
	uint32_t save_off;	      /* what an ERROR clause's firing overwrites */
	uint32_t zero_off, zero_size; /* never written: initial value of map elements */
	uint32_t mach_size;
	uint32_t scratch_size;
	bool speculates;   /* a program does */
	bool has_blocks;   /* a program calls alloca(), copyin() or memref() */
	bool has_token;	   /* a program calls strtok() */
	bool counts_vtime; /* a thread's block begins with two words of gen_vtime.c */
	uint32_t nspec;	   /* speculation ids */
	uint32_t strsize;
	uint32_t names_off[NNAMES], flags_off; /* tables of dif/names.h in strtab; 0: not used */
	struct strtab *strtab; /* D string constants and names of enabled probes; session-wide */
	struct layout_opts opts;
};

/* clauses: of all programs, index order; strtab: the caller's, extended. Lives in a. */
struct layout *layout_create(struct arena *a, struct prog_clause *const *clauses, uint32_t nclauses,
			     const struct prog_vars *vars, const struct prog_aggs *aggs,
			     struct strtab *strtab, const struct layout_opts *opts);
/* The list of names that a subroutine reads; NNAMES: none. */
enum name_list_id names_of_subr(uint32_t subr);
const struct var_layout *layout_var(const struct layout *l, enum dif_scope scope, uint32_t id);
/* Ring buffers a program names: one a CPU, or beyond a few of them an array that holds those. */
#define RINGS_NAMED 24
static inline uint32_t layout_ring_maps(const struct layout *l)
{
	return l->opts.ncpus <= RINGS_NAMED ? l->opts.ncpus : 1;
}
/* The DIFO is just "ldgs VAR; ret": recorded by natural size. -1 when it is not. */
int difo_is_builtin(const struct difo *d);
/* Frames of the stack a DIFO stands for (dif/prog.h). */
uint32_t difo_stack_frames(const struct difo *d);
/* The same, as many as the session allows. */
uint32_t layout_frames(const struct layout *l, const struct difo *d, bool is_user);
/* Most frames of any stack. */
uint32_t layout_max_frames(const struct layout_opts *opts, bool is_user);
/* Most bytes of the words of such a stack. */
static inline uint32_t stack_bytes(uint32_t frames)
{
	return 8 * (frames + RT_STACK_EXTRA);
}
/* The DIFO is just "sets STR; ret": the string, else NULL. */
const char *difo_is_strconst(const struct difo *d);
