/* SPDX-License-Identifier: MIT */
/*
 * The structures and constants that the code of a session and the run-time library in the kernel
 * share: they are private to the kernel's engine. What others read, too, has headers of its own:
 * records (record/format.h), unwind tables (rt/tables.h), helpers (rt/helper.h), events of
 * followed processes (rt/follow.h).
 *
 * Included by generated-code emitters (host C) and by src/rt/ (C for BPF): fixed-width types
 * only. tests/run.py (rooms) sees to it that only rt/, kernel/ and bpf/ include it.
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
#include "arch/spot.h"
#include "record/format.h"
#include "rt/pidns.h"
#include "rt/tables.h"

#define RT_LEVELS 4 /* nesting: task, softirq, hardirq, NMI */

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
	/*
	 * The user's program counter where it is not the one in struct pt_regs: of a relay, the
	 * address of its site. 0 in other firings, and between them.
	 */
	u64 pc;
};

/* The part that rt_lang() returns of the innermost frame of the program's language. */
enum rt_lang_part { RT_LANG_FILE, RT_LANG_LINE, RT_LANG_FUNC };

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
 * MAP_UCACHE remembers the rules that were used lately, keyed by an address and its address space.
 * check is key ^ rule, so an entry that two CPUs wrote at once matches no key. Of memory without
 * code, it is key ^ rule ^ mappings_stamp() (rt/unwind.c).
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
	u32 mm_map_count, mm_exec_vm;	    /* numbers of mappings, and of pages of code */
	u32 vma_start, vma_end, vma_pgoff, vma_file, vma_flags;
	u32 file_inode, file_dentry; /* f_path.dentry */
	u32 dentry_name;	     /* d_name.name */
	/*
	 * A backing file, which a file of a layered file system maps instead of itself (struct
	 * backing_file, Linux def3ae83da02, v6.7): user_path.dentry; 0: there is none.
	 */
	u32 backing_dentry, file_mode, dentry_inode;
	u32 inode_sb, inode_ino, inode_size, inode_mtime;
	u32 sb_dev;
	/* nodes of a maple tree; pivots follow a word */
	u32 range_slot, range_meta, arange_slot, arange_meta;
	u32 task_utask, utask_vaddr, utask_xol; /* task_utask 0: the kernel has no uprobes */
	u32 mm_xol, xol_vaddr;			/* uprobes_state.xol_area, and where it is mapped */
	/* return_instances, and of each: stack, orig_ret_vaddr, next */
	u32 utask_calls, call_stack, call_return, call_next;
	u32 task_leader, task_start; /* group_leader, start_boottime */
	u64 tick;	 /* ns: processes are known by when they began, as /proc shows it */
	s64 boot_offset; /* ns to be added to start_boottime */
};

/*
 * Constants of the session. bpf/maps.c fills them into the map MAP_RODATA, which is frozen
 * before programs are loaded: the verifier then knows their values, and proves the bounds of the
 * run-time functions with them.
 */
struct rt_cfg {
	u32 strsize;	  /* bytes, including NUL */
	u32 scratch_size; /* bytes of one slot's scratch, multiple of 8 */
	u32 strtab_size, gvars_size;
	/* where strings and structures begin, behind numbers and pointers, which nobody may read */
	u32 gvars_text, this_text;
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
	u32 reads;	    /* RT_READS_...: how reads of memory are checked; 0: they are not */
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
#define RT_READS_BLOCKS 1 /* clauses allocate blocks: scratch memory outside of them is none */
#define RT_READS_OWN	2 /* beside user memory, clauses may read D's own memory only */
#define RT_WORK_SIZE	256
#define RT_WALK_SIZE	1984
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
