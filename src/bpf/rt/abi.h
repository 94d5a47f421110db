/*
 * What the code of a session and the run-time library in the kernel agree on.
 *
 * Included by generated-code emitters (host C) and by src/bpf/rt/ (C for BPF): fixed-width types only.
 *
 * Every firing claims one machine state (struct rt_mach) from the map MAP_MACH: an array with
 * RT_LEVELS entries a CPU, so that an interrupt's probe inside another probe has its own. After the
 * fixed part below, an entry continues with areas whose offsets the session's layout chooses
 * (this-> variables, record buffer, key buffer): generated code reaches them through the map value,
 * run-time functions never do. Scratch memory for strings is a second map, MAP_SCRATCH, with the same
 * indexing: run-time functions reach it by m->slot.
 *
 * DIF values in BPF
 *     Every DIF register is a 64-bit scalar to the kernel's verifier. Addresses of our own maps are
 *     kernel addresses like all others (stored once in struct rt_mach and loaded back, which makes
 *     them scalars), and are read with bpf_probe_read_kernel. Writes go through map pointers after a
 *     bounds check of address minus base.
 */
#pragma once

#ifdef __bpf__
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
#else
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
#endif

#define RT_LEVELS 4 /* nesting: task, softirq, hardirq, NMI */

struct rt_fault {
	u32 kind;   /* enum dif_fault; 0 = none */
	u32 clause; /* prog_clause.index */
	u32 action; /* 0 = predicate, 1.. = prog_act.number + argument */
	s32 offset; /* DIF offset, -1 = unknown */
	u64 value;
};

/* What of a function a uprobe stands on: decides what the probe's arguments are, and where the return address is. */
enum uprobe_place {
	UPROBE_ENTRY,	/* arg0... are the function's */
	UPROBE_ENTRY32, /* those of 32-bit code: words of the stack */
	UPROBE_ENTRY_STACK, /* words of the stack, in 64-bit code */
	UPROBE_ENTRY_GO, /* Go's registers, then words of the stack */
	UPROBE_ENTRY_NONE, /* none: how the function receives them is not known */
	UPROBE_RETURN,	/* arg0 = offset of the instruction, arg1 = value, 0 at a jump to another function */
	UPROBE_RETURN_GO, /* the same; arg1... = the words of the results, in Go's registers */
	UPROBE_RETURN_NONE, /* arg0 = offset of the instruction */
	UPROBE_INSN,	/* none */
	UPROBE_NPLACES
};

static inline int uprobe_is_return(enum uprobe_place place)
{
	return place == UPROBE_RETURN || place == UPROBE_RETURN_GO || place == UPROBE_RETURN_NONE;
}

/*
 * What alloca(), copyin() and memref() give is a block of scratch memory: this, then its bytes. What is read or
 * written lies inside one block, or in scratch memory that is none (result strings).
 */
struct rt_block {
	u32 older; /* offset of the bytes of the block before, 0 = none */
	u32 end;   /* offset behind the bytes */
};

struct rt_mach {
	u32 busy;  /* claimed */
	u32 ready; /* the addresses below are filled */
	/* constant once ready */
	u64 self;    /* kernel address of this struct */
	u64 scratch; /* of this slot's scratch memory */
	u64 strtab;  /* of the session's string table */
	u64 gvars;   /* of the global variables */
	/* of this firing */
	u32 slot; /* index in MAP_MACH and MAP_SCRATCH: cpu * RT_LEVELS + level */
	u32 cpu;
	u32 probe;     /* probe id */
	u32 probe_idx; /* index among the session's enabled probes */
	u32 epid;      /* of the clause that runs */
	s32 err;       /* errno */
	u64 timestamp; /* 0: not yet read in this firing */
	u64 arg[10];
	u32 scratch_top; /* bytes of scratch in use; 8-aligned */
	u32 block;	 /* offset of the newest block of scratch memory (struct rt_block), 0 = none */
	char comm[16];	 /* NUL-padded */
	u64 tok_rest;	 /* strtok() of this firing: address of what is left, 0 = none */
	u32 names[4];	 /* probeprov, mod, func, name: string table offsets; filled when a clause asks */
	struct rt_fault fault;
	u64 tmp[8]; /* to pass more than five arguments, or more than one result */
	u64 heap;   /* end of the record so far */
	u32 has_comm; /* comm is filled for this firing */
	u32 place;  /* enum uprobe_place; UPROBE_INSN where the program is none; filled for walks */
	u32 exits;  /* a clause of this firing has called exit(); only where one can */
	u32 pid;    /* filled for walks, where dtrace is not in the first PID namespace */
};

/* State of the session, in the mmapped map MAP_CONTROL. */
enum rt_state { RT_STATE_OFF, RT_STATE_ON, RT_STATE_EXITING };

struct rt_cpu { /* counters: one writer a CPU */
	u64 drops;	/* principal buffer full */
	u64 agg_drops;	/* no room for an aggregation element */
	u64 dyn_drops;	/* no room for a dynamic variable */
	u64 nest_drops; /* nesting deeper than RT_LEVELS */
	u64 dblerrors;	/* faults inside ERROR clauses */
	u64 spec_busy, spec_unavail; /* speculation() found no id */
	u64 chill_from, chilled; /* chill(): when the interval began, ns waited in it */
	u64 spec_drops;	/* speculate() of a full speculation */
	u64 pad[6];
};

struct rt_control {
	u32 state;     /* enum rt_state: clauses run only when ON, except those of BEGIN and END */
	u32 ncpus;     /* entries of cpu[] */
	s64 wall_offset; /* walltimestamp - timestamp, ns */
	s32 tracer_pid;
	u32 epoch;	 /* of what MAP_UCACHE remembers: counts up when it may have become wrong */
	u64 pad2[5];
	struct rt_cpu cpu[];
};

/* A record in a CPU's ring buffer; the clause's layout says what follows. */
struct rt_rec {
	u32 clause; /* prog_clause.index, or RT_REC_FAULT */
	u32 probe;  /* probe id */
	u64 time;   /* ns, CLOCK_MONOTONIC */
};
#define RT_REC_FAULT  0xffffffffu
#define RT_REC_COMMIT 0xfffffffeu
/* In the buffer that CPUs share which were offline when the session began, the upper bits of clause are
 * the CPU + 1; the two values above lose theirs. */
#define RT_REC_CPU_SHIFT 20

struct rt_rec_fault {
	struct rt_rec rec;
	struct rt_fault fault;
	u32 epid;
	u32 in_scratch; /* the address of FAULT_BADADDR lies in scratch memory, but outside what was given */
};

/*
 * Speculations. MAP_SPEC holds one word an id, from id 1 on. Its low two bits are the state, the rest
 * counts how often the id was given out: with it a record says to which speculation it belongs, and
 * an id is free again the moment its speculation ends, whatever of that is still in the buffers.
 *
 *     FREE --speculation()--> ACTIVE --discard()--> FREE
 *                             ACTIVE --commit()---> COMMITTING --its record is written--> FREE
 */
enum rt_spec_state {
	RT_SPEC_FREE,
	RT_SPEC_ACTIVE,
	RT_SPEC_COMMITTING,
	RT_SPEC_NONE, /* the one word when nspec is 0: never given out */
};
#define RT_SPEC_STATE(word) ((word)&3)
#define RT_SPEC_NEXT(word)  (((word) | 3) + 1) /* the word of the id when it is free again */

struct rt_spec_tag { /* in the record of a clause with speculate(), at clause_layout.spec_off */
	u64 word; /* while it was active; 0: not speculative */
	u32 id;
	u32 pad;
};

/*
 * How much of a speculation a CPU has recorded: behind the words of MAP_SPEC lie cfg.nuses of these, a power of two,
 * the one of an id and a CPU at ((id - 1) * ncpus + cpu) % nuses. Where there are more ids and CPUs than that, or an
 * interrupt records in the middle, it may say less than there is: the consumer counts, too, and has the last word.
 */
struct rt_spec_use {
	u64 word; /* of the speculation */
	u32 id, cpu;
	u64 bytes;
	u64 pad;
};
#define RT_SPEC_USES 32768u /* at most */

struct rt_rec_commit {
	struct rt_rec rec;
	struct rt_spec_tag tag;
};

/* A string in a record: bytes at off from the record's start, len without NUL. len UINT32_MAX: NULL. */
struct rt_str {
	u32 off, len;
};

/* An entry of MAP_STRINGS, keyed by content hash: the one copy of a key string. */
struct rt_keystr {
	u32 len; /* without NUL */
	char data[];
};

/*
 * A stack: an entry of MAP_STACKS, keyed by content hash, and what a key's stack is recorded to first (a
 * slot of the stack area of a MAP_MACH entry). frames is how many were asked for, part of the hash.
 * words: addresses, the innermost first, of a user stack after the process id. A kernel stack with
 * RT_STACK_TRACED, in frames here and in a record in the len of its struct rt_str, may begin with up to
 * RT_STACK_EXTRA frames of the kernel's tracing code, which are not counted.
 */
struct rt_stack {
	u32 len; /* bytes of words */
	u32 frames;
	u64 words[];
};
#define RT_STACK_EXTRA	4u
#define RT_STACK_TRACED 0x80000000u
#define RT_STACK_BLOCK 128u /* hashed at a time; a slot has as much room behind its words */

#define RT_USTACK_CUT  1u /* a word of a user stack: what follows could not be found */
#define RT_USTACK_EXACT (1ull << 63) /* in a word: not the address that a call returns to, but where the code stands */
#define RT_USTACK_UNMARKED 0x80000000u /* in the frames asked for: without that word */

/*
 * Unwind tables (sym/ehframe.h) in the kernel.
 *
 * MAP_UFILES says which tree belongs to the file behind a mapping, known by what the kernel's inode says;
 * MAP_UBLOCKS holds the trees, shared by all processes. A tree's leaves (level 0) are blocks of rows in the
 * order of their file offsets; block n of level k + 1 has the first offsets of blocks n * RT_UBLOCK .. of
 * level k. What is not used of a block has the offset UINT32_MAX.
 *
 * A file that is not there is added as RT_UTREE_PENDING by whoever met it, who then asks for its tree with a
 * struct rt_ureq in MAP_UREQ.
 */
struct rt_ufile_key {
	u64 ino, size, mtime; /* mtime: seconds */
	u64 dev;	      /* as in the kernel: major << 20 | minor */
};
#define RT_UFILE_VDSO 1 /* ino of the vDSO; all else 0 */

struct rt_ufile {
	u32 tree;
	u32 nlevels; /* 0: no rows, the code keeps frame pointers as far as anybody knows */
};
#define RT_UTREE_PENDING 0xffffffffu /* nlevels */
#define RT_UTREE_LEVELS	 4

#define RT_UBLOCK 128u
struct rt_ublock {
	u32 off[RT_UBLOCK];
	u32 rule[RT_UBLOCK]; /* of leaves */
};
#define RT_UBLOCK_KEY(tree, level, n) ((u64)(tree) << 32 | (u64)(level) << 28 | (n))

struct rt_ureq {
	struct rt_ufile_key key;
	u64 start, end; /* a mapping of the file */
	u64 pid;
};

/*
 * A rule: how to get from a frame to its caller's.
 *     kind    4 bits: enum unwind_cfa, or one of those below
 *     rbp     8 bits: 0 same, n at CFA - 8n, RT_RULE_AT_RBP
 *     cfa    20 bits, signed, in words; UNWIND_REG: index in struct pt_regs (5 bits), distance (15 bits)
 */
#define RT_RULE_KIND(rule) ((rule)&15)
#define RT_RULE_RBP(rule)  ((rule) >> 4 & 255)
#define RT_RULE_CFA(rule)  ((s64)((s32)(rule) >> 12) * 8)
#define RT_RULE_AT_RBP	   255u
#define RT_RULE_REG(rule)  ((rule) >> 12 & 31)
#define RT_RULE_REG_CFA(rule) ((s64)((s32)(rule) >> 17) * 8)
enum rt_rule_kind { /* the first as in enum unwind_cfa */
	RT_UNWIND_NONE,
	RT_UNWIND_RSP,
	RT_UNWIND_RBP,
	RT_UNWIND_REG,
	RT_UNWIND_RSP_DEREF,
	RT_UNWIND_RBP_DEREF,
	RT_UNWIND_PLT,
	RT_UNWIND_SIGNAL,
	RT_UNWIND_END,
	RT_RULE_PENDING = 13, /* the tree is not there yet */
	RT_RULE_NO_TABLE,     /* code without rows: try the frame pointer */
	RT_RULE_NO_CODE,      /* memory that is not executable, or none */
};

/* MAP_UCACHE: rules found lately, by place in an address space. check is key ^ rule: one torn by two writers
 * matches no key. */
struct rt_urule {
	u64 check, rule;
};
#define RT_UCACHE 16384u

/* Where the kernel keeps what the walker reads: byte offsets. */
struct rt_ukernel {
	u32 task_flags, task_mm;
	u32 mm_root, mm_vdso, mm_arg_start; /* mm_mt.ma_root, context.vdso */
	u32 vma_start, vma_end, vma_pgoff, vma_file, vma_flags;
	u32 file_inode;
	u32 inode_sb, inode_ino, inode_size, inode_mtime;
	u32 sb_dev;
	/* nodes of a maple tree; pivots follow a word */
	u32 range_slot, range_meta, arange_slot, arange_meta;
};

/*
 * dtrace's own PID namespace, whose numbers clauses see. level 0: the first one, of which the kernel's helpers speak; then
 * the rest is not filled. Else where the kernel keeps the numbers: byte offsets.
 */
struct rt_pidns {
	u64 ns; /* address of its struct pid_namespace */
	u32 level;
	u32 task_leader, task_pid, task_parent; /* group_leader, thread_pid, real_parent */
	u32 pid_level, pid_numbers;
};
#define RT_UPID_SIZE 16 /* of an element of pid_numbers */

/*
 * Constants of the session, in the frozen map MAP_RODATA: known to the verifier, which proves the bounds
 * of the run-time functions with them. Filled by rt_cfg_fill().
 */
struct rt_cfg {
	u32 strsize;	  /* bytes, including NUL */
	u32 scratch_size; /* bytes of one slot's scratch, multiple of 8 */
	u32 strtab_size, gvars_size;
	u64 hash_seed;
	u32 this_off, this_size; /* this-> variables in an entry of MAP_MACH */
	u32 ncpus;		 /* possible CPUs */
	/* The rest of a MAP_SCRATCH value, after the scratch memory: for the run-time functions alone. */
	u32 work_off;	    /* RT_WORK_SIZE bytes: the state of a loop; RT_BLOCK_WORK bytes: of the search for a block */
	u32 text_a, text_b; /* copies of string arguments: strsize + RT_TEXT_PAD bytes each */
	u32 table_off;	    /* u32[strsize + 1] */
	u32 tok_off;	    /* what strtok() goes on with in a later clause: scratch_size + 8 bytes */
	u32 scratch_stride; /* from one MAP_SCRATCH value to the next */
	u32 has_blocks;	    /* a program takes blocks: reading scratch memory is checked */
	u32 nspec;	    /* words in MAP_SPEC: speculation ids, at least 1 */
	u32 nuses;	    /* struct rt_spec_use behind them */
	u32 pad;
	u64 specsize;	    /* bytes that a CPU may record into a speculation */
	/* The stack area of an entry of MAP_MACH: slots of stack_stride bytes, a multiple of
	 * RT_STACK_BLOCK, for stacks of stack_size bytes. The last one belongs to caller and stackdepth. */
	u32 stack_off, stack_stride, stack_nslots, stack_size;
	/* Behind this struct: ranges [start, end) of the kernel's tracing code, two u64 each, ascending. */
	u32 ntracing;
	u32 mach_size; /* of an entry of MAP_MACH */
	struct rt_ukernel k;
	struct rt_pidns pidns;
};
#define RT_WORK_SIZE 1792
#define RT_BLOCK_WORK 64
#define RT_TEXT_PAD  64

/*
 * Sizes of map values that hold memory D programs write to. The verifier cannot relate an offset to a
 * size, both at most n: twice n is what makes every such access provable, without a loop over chunks.
 */
#define RT_GVARS_VALUE(cfg) (2 * (cfg)->gvars_size)
#define RT_MACH_VALUE(cfg, mach_size)                                        \
	((mach_size) > (cfg)->this_off + 2 * (cfg)->this_size                \
		 ? (mach_size)                                               \
		 : (cfg)->this_off + 2 * (cfg)->this_size)
