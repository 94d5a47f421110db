/* SPDX-License-Identifier: MIT */
/*
 * The structures and constants that the code of a session and the run-time library in the kernel
 * share.
 *
 * Included by generated-code emitters (host C) and by src/rt/ (C for BPF): fixed-width types
 * only.
 *
 * Every firing claims one machine state (struct rt_mach) from the map MAP_MACH: an array with
 * RT_LEVELS entries a CPU, so that an interrupt's probe inside another probe has its own. After the
 * fixed part below, an entry continues with areas whose offsets the session's layout chooses
 * (this-> variables, record buffer, key buffer): generated code reaches them through the map value,
 * run-time functions never do. Scratch memory for strings is a second map, MAP_SCRATCH, with the
 * same indexing: run-time functions reach it by m->slot.
 *
 * DIF values in BPF
 *     Every DIF register is a 64-bit scalar to the kernel's verifier. Addresses of our own maps are
 *     kernel addresses like all others (stored once in struct rt_mach and loaded back, which makes
 *     them scalars), and are read with bpf_probe_read_kernel. Writes go through map pointers after
 *     a bounds check of address minus base.
 */
#pragma once

#include "arch/rule.h"
#include "record/format.h"

#define RT_LEVELS 4 /* nesting: task, softirq, hardirq, NMI */

/*
 * Where in a function a probe fires: its spot. The spot decides what the probe's
 * arguments are, and where a stack walk finds the return address.
 */
enum code_spot {
	SPOT_ENTRY,	  /* arg0... = the function's arguments, in the registers that C uses */
	SPOT_ENTRY32,	  /* arg0... = words of the stack, as 32-bit code passes its arguments */
	SPOT_ENTRY_STACK, /* arg0... = words of the stack, in 64-bit code */
	SPOT_ENTRY_GO,	  /* arg0... = Go's argument registers, then words of the stack */
	SPOT_ENTRY_NONE,  /* no arguments: how the function receives them is not known */
	/* arg0 = offset of the instruction, arg1 = value, 0 at a jump to another function */
	SPOT_RETURN,
	SPOT_RETURN_GO,	  /* arg0 = offset of the instruction, arg1... = words of the results */
	SPOT_RETURN_NONE, /* arg0 = offset of the instruction; the value is not known */
	SPOT_RETURNED,	  /* behind the call of a function: arg1 = value */
	SPOT_INSN,	  /* an instruction in the middle of a function: no arguments */
	SPOT_USDT,	  /* a program's own probe: arg0... as its note says */
	SPOT_COUNT
};

static inline int spot_is_return(enum code_spot spot)
{
	return spot == SPOT_RETURN || spot == SPOT_RETURN_GO || spot == SPOT_RETURN_NONE;
}

/*
 * alloca(), copyin() and memref() return a block of scratch memory: this head, then the bytes. A D
 * program may read and write inside one block, and inside scratch memory that belongs to no block
 * (result strings); what crosses the border of a block is a fault (rt/mem.c). Blocks in the
 * first RT_SCRATCH_KEPT bytes last until the firing ends, so that clauses can use a pointer that an
 * earlier one has copied in (this->sock, for instance); all else ends with its clause.
 */
#define RT_SCRATCH_KEPT 1024u /* bytes of blocks that later clauses of the firing still see */
struct rt_block {
	u32 older; /* offset of the bytes of the block allocated before this one, 0 = none */
	u32 end;   /* offset of the first byte behind the block */
};

#define RT_NAME_PID 0x80000000u
#define RT_TOK_DONE 1 /* no address: strtok() has nothing left */

struct rt_mach {
	u32 busy;  /* 1 while a firing has claimed this machine state */
	u32 ready; /* 1 as soon as the four addresses below are filled */
	/* Kernel addresses, which are constant once ready is set: */
	u64 self;    /* this struct */
	u64 scratch; /* this slot's scratch memory */
	u64 strtab;  /* the session's string table */
	u64 gvars;   /* the global variables */
	/* The members that follow belong to the present firing. */
	u32 slot; /* index in MAP_MACH and MAP_SCRATCH: cpu * RT_LEVELS + level */
	u32 cpu;
	u32 probe;     /* probe id */
	u32 probe_idx; /* index among the session's enabled probes */
	u32 epid;      /* of the clause that runs */
	s32 err;       /* errno */
	u64 timestamp; /* 0: not yet read in this firing */
	u64 arg[10];
	u32 scratch_top; /* bytes of scratch in use; 8-aligned */
	/* offset of the newest block of scratch memory (struct rt_block), 0 = none */
	u32 block;
	char comm[16]; /* NUL-padded */
	/*
	 * strtok() of this firing: address of the text not yet split; 0: no text was given,
	 * RT_TOK_DONE: nothing is left of it
	 */
	u64 tok_rest;
	/*
	 * probeprov, mod, func, name: string table offsets; filled when a clause asks. The process
	 * id is to be appended to a probeprov with RT_NAME_PID.
	 */
	u32 names[4];
	struct rt_fault fault;
	u64 tmp[8];   /* to pass more than five arguments, or more than one result */
	u64 heap;     /* end of the record so far */
	u32 has_comm; /* comm is filled for this firing */
	u32 spot;     /* enum code_spot; SPOT_INSN where the program is none; filled for walks */
	u32 exits;    /* a clause of this firing has called exit(); only where one can */
	u32 pid;      /* filled for walks, where dtrace is not in the first PID namespace */
	/*
	 * The word of the innermost frame of the language (RT_USTACK_LANG), 0: there is none; if
	 * has_lang says that this firing has looked for it.
	 */
	u64 lang;
	u32 has_lang, unused;
};

/* What rt_lang() gives. */
enum rt_lang_part { RT_LANG_FILE, RT_LANG_LINE, RT_LANG_FUNC };

/* The arguments of a ustack helper, which describe the frame; the others, up to arg9, are 0. */
enum rt_helper_arg {
	RT_HELPER_PC,
	RT_HELPER_FP,
	RT_HELPER_SP,
	RT_HELPER_FRAME,
	RT_HELPER_THREAD, /* the thread pointer */
	RT_HELPER_BARE,	  /* 1: no unwind table covers the address */
	RT_HELPER_DATA,	  /* 1: the address is in memory of RULE_DATA (arch/rule.h) */
	RT_HELPER_NARGS = 10
};

/*
 * An element of an array that is not in the array's hash map but in its slot (bpf/gen_array.c). The
 * table of an array is in the value of MAP_GVARS, behind the variables.
 */
struct rt_slot {
	u64 tag;    /* of the key */
	u64 key;    /* the second eight bytes of the key, plus 1; 0 if it has none */
	u64 value;  /* the number */
	u64 others; /* how many elements in the hash map have this slot */
};
#define RT_SLOT_BITS  10 /* of the number of a slot */
#define RT_SLOTS_SIZE ((u32)sizeof(struct rt_slot) << RT_SLOT_BITS)

/*
 * How much a CPU has recorded into a speculation. cfg.nuses of these (a power of two) lie behind
 * the words of MAP_SPEC; the index for an id and a CPU is ((id - 1) * ncpus + cpu) % nuses. The
 * count may be too low when two pairs share an index, or when an interrupt records between the
 * reading and the writing of bytes. It only keeps the buffers from filling up in vain: the consumer
 * counts for itself, and enforces specsize (consume/spec.c).
 */
struct rt_spec_use {
	u64 word; /* of the speculation */
	u32 id, cpu;
	u64 bytes;
	u64 pad;
};
#define RT_SPEC_USES 32768u /* at most */

/*
 * Unwind tables (image/ehframe.h) in the kernel; arch/rule.h says what a rule is.
 *
 * MAP_UFILES maps a file to its tree of rows; the key is what the kernel's inode says of the file.
 * MAP_UBLOCKS holds the blocks of all trees, which all processes share. The leaves of a tree (level
 * 0) are blocks of rows in the order of their file offsets. Block n of level k + 1 holds the first
 * offsets of the blocks n * RT_UBLOCK to n * RT_UBLOCK + RT_UBLOCK - 1 of level k. Unused entries
 * of a block have the offset UINT32_MAX.
 *
 * A walk that meets a file without an entry adds one with RT_UTREE_PENDING, and asks the consumer
 * for the tree with a struct rt_ureq in the ring buffer MAP_UREQ (stacks/requests.c takes it). A
 * request without a mapping asks for the ustack helper of a process (rt/helper.h).
 * Until the tree is there, walks through the file follow frame pointers and are marked as doubtful.
 */
struct rt_ufile_key {
	u64 ino, size, mtime; /* mtime: seconds */
	u64 dev;	      /* as in the kernel: major << 20 | minor */
};
#define RT_UFILE_VDSO 1 /* the vDSO has this ino, and 0 in the other members of the key */
/* Bit of dev: the tree of the file's rows of UNWIND_SAVED, for helpers that want registers. */
#define RT_UFILE_SAVED (1ull << 63)

struct rt_ufile {
	u32 tree;
	u32 nlevels; /* 0: no rows, the code keeps frame pointers as far as anybody knows */
	u32 used;    /* epoch in which a walk looked it up */
};
#define RT_UTREE_PENDING 0xffffffffu /* nlevels */
#define RT_UTREE_LEVELS	 4

#define RT_UBLOCK 128u
struct rt_ublock {
	u32 off[RT_UBLOCK];
	u32 rule[RT_UBLOCK]; /* filled in leaves only */
};
#define RT_UBLOCK_KEY(tree, level, n) ((u64)(tree) << 32 | (u64)(level) << 28 | (n))

struct rt_ureq {
	struct rt_ufile_key key;
	u64 start, end; /* a mapping of the file */
	u64 pid;
};

/*
 * MAP_UCACHE remembers the rules that were used lately, keyed by an address and its address space.
 * check is key ^ rule, so an entry that two CPUs wrote at once matches no key.
 */
struct rt_urule {
	u64 check, rule;
};
#define RT_UCACHE 16384u

/*
 * Byte offsets of the members of kernel structures that the walk of a user stack reads; from the
 * kernel's BTF.
 */
struct rt_ukernel {
	u32 task_flags, task_mm, task_tls;
	u32 mm_root, mm_vdso, mm_arg_start; /* mm_mt.ma_root, context.vdso */
	u32 vma_start, vma_end, vma_pgoff, vma_file, vma_flags;
	u32 file_inode;
	u32 inode_sb, inode_ino, inode_size, inode_mtime;
	u32 sb_dev;
	/* nodes of a maple tree; pivots follow a word */
	u32 range_slot, range_meta, arange_slot, arange_meta;
	u32 task_utask, utask_vaddr, utask_xol; /* task_utask 0: the kernel has no uprobes */
};

/*
 * dtrace's own PID namespace, whose process numbers clauses see. In the first namespace, level is 0
 * and nothing else is filled: the numbers that the kernel's helpers return are right there. In any
 * other, byte offsets say where the kernel keeps the numbers of a task in each namespace.
 */
struct rt_pidns {
	u64 ns; /* address of its struct pid_namespace */
	u32 level;
	u32 task_leader, task_pid, task_parent; /* group_leader, thread_pid, real_parent */
	u32 pid_level, pid_numbers;
};
#define RT_UPID_SIZE 16 /* of an element of pid_numbers */

/*
 * Constants of the session. bpf/maps.c fills them into the map MAP_RODATA, which is frozen
 * before programs are loaded: the verifier then knows their values, and proves the bounds of the
 * run-time functions with them.
 */
struct rt_cfg {
	u32 strsize;	  /* bytes, including NUL */
	u32 scratch_size; /* bytes of one slot's scratch, multiple of 8 */
	u32 strtab_size, gvars_size;
	u64 hash_seed;
	u32 this_off, this_size; /* this-> variables in an entry of MAP_MACH */
	u32 ncpus;		 /* possible CPUs */
	/*
	 * Offsets in a MAP_SCRATCH value, behind the scratch memory; only run-time functions use
	 * these areas.
	 */
	u32 work_off;	    /* RT_WORK_SIZE bytes for loops, RT_BLOCK_WORK to search blocks */
	u32 walk_off;	    /* RT_WALK_SIZE bytes for a walk of a user stack; 0: none is walked */
	u32 text_a, text_b; /* copies of string arguments: strsize + RT_TEXT_PAD bytes each */
	u32 table_off;	    /* u32[strsize + 1] */
	u32 tok_off;	    /* scratch_size + 8 bytes: text that strtok() continues with */
	u32 scratch_stride; /* from one MAP_SCRATCH value to the next */
	u32 has_blocks;	    /* 1: clauses allocate blocks, so reads of scratch memory are checked */
	u32 nspec;	    /* words in MAP_SPEC: speculation ids, at least 1 */
	u32 nuses;	    /* number of struct rt_spec_use behind the words of MAP_SPEC */
	u64 specsize;	    /* bytes that a CPU may record into a speculation */
	/*
	 * The stack area of an entry of MAP_MACH: slots of stack_stride bytes, a multiple of
	 * RT_STACK_BLOCK, for stacks of stack_size bytes. The last one belongs to caller and
	 * stackdepth.
	 */
	u32 stack_off, stack_stride, stack_nslots, stack_size;
	/*
	 * Number of ranges [start, end) of the kernel's tracing code: two u64 each, ascending,
	 * behind this struct.
	 */
	u32 ntracing;
	u32 mach_size; /* of an entry of MAP_MACH */
	/* RT_HWORK_SIZE bytes of a MAP_SCRATCH value for ustack helpers; 0: there are none */
	u32 helper_off;
	struct rt_ukernel k;
	struct rt_pidns pidns;
};
#define RT_WORK_SIZE 256
#define RT_WALK_SIZE 1984
/* Frames that a walk visits which records only some of them: those of the longest stack. */
#define RT_WALK_MOST  16384u
#define RT_BLOCK_WORK 64
#define RT_TEXT_PAD   64

/*
 * Sizes of map values that hold memory D programs write to. The verifier knows that an offset is at
 * most n and that a size is at most n, but not that their sum is. A value of 2 * n bytes makes each
 * such access provable.
 */
#define RT_GVARS_VALUE(cfg) (2 * (cfg)->gvars_size)
/* clang-format off */
#define RT_MACH_VALUE(cfg, mach_size)                                        \
	((mach_size) > (cfg)->this_off + 2 * (cfg)->this_size                \
		 ? (mach_size)                                               \
		 : (cfg)->this_off + 2 * (cfg)->this_size)
/* clang-format on */

/*
 * Processes that are followed (watch/follow.h).
 *
 * MAP_WATCHED maps process ids to struct rt_watched, MAP_WATCH_EVENTS is a ring buffer of struct
 * rt_watch_event, MAP_WATCH holds constants, MAP_WATCH_LOST counts events for which the ring
 * buffer had no room.
 */
struct rt_watched {
	u32 flags; /* RT_WATCHED_* */
	u32 root;  /* the process that was added: this one, or whose descendant it is */
	u64 start; /* in ticks: distinguishes it from later processes with its id */
};
#define RT_WATCHED_STOPS    1u	 /* it is stopped when an event about it is reported */
#define RT_WATCHED_FORKS    2u	 /* its children are added, with all flags */
#define RT_WATCHED_OUTLIVES 4u	 /* it does not end with the tracer: it must not be left stopped */
#define RT_WATCHED_BORN	    128u /* a child that has not run yet */

enum rt_watch_kind {
	RT_WATCH_EXEC,	 /* it executes another program */
	RT_WATCH_MAPPED, /* its dynamic linker has mapped or unmapped libraries */
	RT_WATCH_CHILD,	 /* it was born */
	RT_WATCH_FULL,	 /* it has a child for which MAP_WATCHED has no room */
};

struct rt_watch_event {
	u32 pid;
	u32 kind;     /* enum rt_watch_kind */
	u32 root;     /* as in struct rt_watched */
	u32 is_other; /* of an exec: a thread did it that was not the first of its process */
	u64 start;    /* as in struct rt_watched */
};

struct rt_watch_cfg {
	struct rt_pidns ns; /* whose process ids are used */
	/* byte offsets in struct task_struct: group_leader, start_boottime, tgid */
	u32 task_leader, task_start, task_tgid;
	u32 pc;		 /* byte offset of the instruction pointer in struct pt_regs */
	s64 boot_offset; /* ns to be added to start_boottime, and ns a tick: what /proc shows */
	u64 tick;
};
