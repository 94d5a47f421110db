/* SPDX-License-Identifier: MIT */
/*
 * The helper machine: what runs ustack helpers during the walk of a user stack.
 *
 * Helpers are programs in D that know a runtime and name the frames of its stacks. Which ones run
 * is decided while the session runs, when a walk meets a process, so they are not part of the
 * programs of the session. They are translated to the instructions of the helper machine
 * (helper/hcode.c), which lie in the map MAP_HCODE and which a loop in the kernel executes
 * (rt/helper.c). The kernel's verifier proves that loop safe once, whatever the helpers do; a walk
 * ends when it has used up its instructions.
 *
 * A process is known by a key made of its address space. MAP_HPROCS maps the key to a struct
 * rt_hproc: where the process's program begins, and the values of the helper's global variables in
 * that process. A walk that finds no entry adds an empty one and asks the consumer with a struct
 * rt_ureq without a mapping, which helper/ustack.c answers: key.ino is the key of the process.
 *
 * Processes that run when a session begins are attached before any probe fires. User space does not
 * know their address spaces, so their entries have a key of what /proc shows of a process:
 * rt_helper_begun_key(). The first walk copies such an entry to the key of the address space, and
 * tells the consumer of both keys: rt_ureq.start is the former one. Where a process had a program
 * before its first walk, rt_ureq.key.size is rt_hproc.program.
 *
 * A program consists of the clauses that run when a walk begins (dtrace:helper:uthread:), of
 * HOP_FRAMES and HOP_STEP, of the clauses that run at each frame (dtrace:helper:ustack:), and of a
 * jump back to HOP_STEP. Word 0 of the map is not used.
 *
 * The consumer compiles programs, too (bpf/helper_code.h); a compiled program works on the same
 * state.
 *
 * An instruction is a word:   op | a << 8 | b << 16 | c << 24 | imm << 32
 * a, b, c are registers unless the list (rt/helper_ops.def) says something else. Register 0 is
 * always 0, the next ones hold values of expressions, the others the variables and arguments: enum
 * helper_reg.
 */
#pragma once

#include "base/ints.h"

enum helper_op {
#define HELPER_OP(name, uses, what) HOP_##name,
#include "rt/helper_ops.def"
	HOP_IMMEDIATE = 64, /* bit: the last operand is imm */
};
enum hop_uses {
	HOP_READS_A = 1 << 0,
	HOP_READS_B = 1 << 1,
	HOP_READS_C = 1 << 2,
	HOP_WRITES_A = 1 << 3,
	HOP_WRITES_LOCAL = 1 << 4, /* the register HREG_LOCALS + imm */
	HOP_JUMPS = 1 << 5,	   /* maybe to the instruction that is imm behind the next one */
	HOP_ENDS = 1 << 6,	   /* the next one does not follow */
	HOP_HAS_WORD = 1 << 7,	   /* the next word is its operand */
};
#define HELPER_SIGNED 16

#define HELPER_INSN(op, a, b, c, imm)                                                              \
	((u64)(op) | (u64)(a) << 8 | (u64)(b) << 16 | (u64)(c) << 24 | (u64)(u32)(imm) << 32)

static inline u32 hop_code(u64 in)
{
	return in & (HOP_IMMEDIATE - 1);
}

static inline u32 hop_a(u64 in)
{
	return in >> 8 & 255;
}

static inline u32 hop_b(u64 in)
{
	return in >> 16 & 255;
}

static inline u32 hop_c(u64 in)
{
	return in >> 24 & 255;
}

static inline int hop_imm(u64 in)
{
	return (int)(in >> 32);
}

/* Binary operations that cannot fail, and those that fault if they divide by 0. */
static inline int hop_computes(u64 in)
{
	return hop_code(in) <= HOP_MUL;
}

static inline int hop_divides(u64 in)
{
	return hop_code(in) >= HOP_UDIV && hop_code(in) <= HOP_SREM;
}

/* The bits of enum hop_uses of an instruction. */
static inline u32 hop_uses(u64 in)
{
	u32 uses = 0;

	switch (hop_code(in)) {
#define HELPER_OP(name, bits, what)                                                                \
	case HOP_##name:                                                                           \
		uses = (bits);                                                                     \
		break;
#include "rt/helper_ops.def"
	default: break;
	}
	if (in & HOP_IMMEDIATE)
		uses &= uses & HOP_READS_C ? ~(u32)HOP_READS_C : ~(u32)HOP_READS_B;
	return uses;
}

/* The number of words that an instruction takes. */
static inline u32 hop_words(u64 in)
{
	return hop_uses(in) & HOP_HAS_WORD ? 2 : 1;
}

#define RT_HELPER_LOCALS  103 /* clause-local variables of the helpers of a process */
#define RT_HELPER_STRINGS 8   /* those of them that may be strings: the first ones */
#define RT_HELPER_STRSIZE 256
#define RT_HELPER_GLOBALS 110 /* global variables of all helpers of a process */
#define RT_HELPER_LOOPS	  8   /* loops that stand in one another */
#define RT_HELPER_PUSHES  8
enum helper_reg {
	HREG_ZERO,
	HREG_VALUES, /* of expressions */
	HREG_LOCALS = 32,
	HREG_PROC = HREG_LOCALS + RT_HELPER_LOCALS, /* struct rt_hproc, which ends with: */
	HREG_GLOBALS,
	HREG_ARGS = HREG_GLOBALS + RT_HELPER_GLOBALS,
	RT_HELPER_NREGS = 256,
};
_Static_assert(HREG_ARGS + 10 <= RT_HELPER_NREGS, "an instruction has 8 bits for a register");
#define RT_HCODE	   32768u /* words of MAP_HCODE */
#define RT_HELPER_PROCS	   8192
#define RT_HELPER_PROGRAMS 128u /* in an array of compiled programs */
#define RT_HMEMO	   16384u
/* The key in MAP_HPROCS of what runs in processes without an entry of their own. */
#define RT_HELPER_ALWAYS 0ull
/*
 * The key of an entry whose globals[0] counts the stacks of a process before the consumer has
 * answered: they have native frames only.
 */
#define RT_HELPER_BARE_KEY(key) (~(key))
/*
 * The key of a process that ran when the session began: its id in dtrace's PID namespace, its start
 * in ticks since boot, and the address of its arguments (proc(5): fields 22 and 48 of stat). It is
 * odd, which no key of an address space is.
 */
static inline u64 rt_helper_begun_key(u64 pid, u64 start, u64 arg_start)
{
	u64 key = (arg_start ^ start << 32 ^ pid) * 0x9e3779b97f4a7c15;

	return (key ^ key >> 32 ^ pid << 40) | 1;
}

/*
 * Instructions that a walk may execute: some, and more for each frame that was asked for. A frame
 * that is new, of a function of a thousand lines, takes some 2,500 in Node.js and 5,000 in Lua; one
 * that was recorded before takes a hundred. An instruction takes some 4 ns.
 */
#define RT_HELPER_FUEL(frames)                                                                     \
	(16384u + 1000u * (frames) + 4000u * ((frames) < 1000 ? (frames) : 1000u))
/* Native frames for which a walk that wants only those of the language has instructions. */
#define RT_HELPER_SKIPPED 128u
#define RT_HELPER_MOST	  (1u << 21) /* iterations of the loop */

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

/* The process with this key: what identifies its address space. */
struct rt_hproc {
	u16 entry;   /* word of MAP_HCODE; 0: the consumer has not answered yet, or has no helper */
	u16 frames;  /* the word of HOP_FRAMES; without entry, 1: the consumer has answered */
	u16 program; /* 1 + index in arrays of compiled programs (bpf/helper_code.h); 0: in none */
	u8 saves;    /* walks restore callee-saved registers (arch/frame.h) */
	/*
	 * Clauses give native frames names, which come behind the frames they add. Without entry:
	 * the process maps a file of a name for which there are helpers.
	 */
	u8 names : 1;
	/*
	 * The process is younger than the session, and no walk has read the state of its runtimes
	 * yet: while the pages of that are not there, they have not begun (fault.c).
	 */
	u8 is_new : 1;
	/*
	 * The values are those that another process has said: frames that are remembered by them
	 * are not found any more when the consumer has replaced the entry.
	 */
	u8 is_said : 1;
	u64 globals[RT_HELPER_GLOBALS];
};

/*
 * What files fix (helper/constants.h): MAP_HFILES has those that values of helpers depend on, and
 * MAP_HCONSTS the entry of a process by the bits of the files of runtimes that it maps. The first
 * walk of a process looks at all that the process maps, makes its entry of that, and asks the
 * consumer as well. Values that a process has said are those of its user's processes only.
 */
#define RT_HFILES_MAX 63u
#define RT_HFILES     1024u /* entries of MAP_HFILES */
struct rt_hfile {
	u32 number;	/* 1 to RT_HFILES_MAX; 0: nothing depends on it but that it is known */
	u16 is_runtime; /* 0: programs of all kinds map it, as the C library */
	u16 has_tls;	/* it has thread-local variables; only files with a number have */
};
struct rt_hconst_key {
	u64 runtimes; /* bits: numbers of files */
	u64 owner;    /* RT_HCONST_ALL, or RT_HCONST_OWNER() */
};
#define RT_HCONST_ALL	     0ull
#define RT_HCONST_OWNER(uid) (1 + (u64)(uid)) /* the real user id of a process */
struct rt_hconst {
	u64 needs; /* bits: numbers of files that must be mapped */
	/*
	 * Bits: if not 0, a value is a number among files with thread-local variables, which must
	 * be these, and all files that the process maps must be in MAP_HFILES.
	 */
	u64 tls;
	struct rt_hproc proc; /* the values with a file are offsets from where that is mapped */
	u8 file_of[RT_HELPER_GLOBALS + 2]; /* the number of the file; 0: none */
};
/* Ranges of a process's memory that are looked at. */
#define RT_HRANGES 1024u

/* The runtimes of a process, as found by the files that it maps (rt/runtimes.h). */
struct rt_hfound {
	u64 files, tls; /* bits: files of MAP_HFILES that it maps */
	struct rt_hconst_key constants;
	u64 has_strangers; /* it maps code of other files, too */
	u64 nnames;	   /* mappings of files that have a name for which there are helpers */
};

/*
 * MAP_HMEMO remembers by what it depended on the word of a frame (ucached()), or all words that a
 * native frame has added to the stack (uknown()).
 */
#define RT_HMEMO_WORDS 11
struct rt_hmemo {
	u64 check; /* key ^ hash of the words: an entry written by two CPUs matches nothing */
	u64 words[RT_HMEMO_WORDS]; /* to the first that is 0 */
};

/* Memory of the process is read by lines, which are kept during the walk. */
#define RT_HELPER_LINE_SHIFT 8
#define RT_HELPER_LINE	     (1u << RT_HELPER_LINE_SHIFT)
#define RT_HELPER_LINES	     64u

#define RT_HELPER_ROOTS 4u /* faults that are put off in a walk (rt/fault.c) */

/* The state of the machine, in the scratch memory of a firing. */
struct rt_hwork {
	u32 pc;	      /* word of MAP_HCODE */
	u32 on_fault; /* where it goes on after a fault */
	s64 fuel;
	u64 entry;    /* word of MAP_HCODE where the program begins */
	u64 code;     /* address of MAP_HCODE */
	u64 key;      /* of the process in MAP_HPROCS */
	u64 result;   /* address of the value of the clauses; 0: none */
	u64 text_len; /* bytes in text */
	u64 memo;     /* key in MAP_HMEMO of the next frame; 0: none */
	u64 known;    /* key there of all that the native frame adds; 0: none */
	u64 nwords;   /* what it has added so far */
	u64 words[RT_HMEMO_WORDS + 1];
	u64 again[RT_HMEMO_WORDS + 1]; /* what is recorded again; ends with 0 */
	/* the task whose walk a compiled program is to take over; 0: none is */
	u64 entering;
	u64 is_spent; /* the instructions of the walk are used up */
	struct rt_hfound found;
	u64 next[3]; /* pc, sp, fp of the next frame; is_steered says whether */
	u64 is_steered;
	u64 is_unread; /* the state of a runtime is not there yet (rt_hproc.is_new) */
	u64 nroots;    /* faults that were put off */
	struct {
		u64 file; /* its inode */
		u64 word,
			value; /* of MAP_HCODE, of the instruction; the address that it has read */
	} roots[RT_HELPER_ROOTS];
	u64 regs[RT_HELPER_NREGS];
	u64 push[RT_HELPER_PUSHES];
	u64 loops[RT_HELPER_LOOPS];
	/* state of table and string subroutines */
	u64 t[10];
	u32 unused;
	u32 name_len; /* with text: a struct rt_keystr */
	char text[2 * RT_HELPER_STRSIZE];
	char strings[RT_HELPER_STRINGS + 1][RT_HELPER_STRSIZE];
	u64 tags[RT_HELPER_LINES]; /* 1 + number of the line; 0: there is none */
	char lines[(RT_HELPER_LINES + 1) * RT_HELPER_LINE + 8]; /* one more for the verifier */
};
#define RT_HWORK_SIZE 23184
