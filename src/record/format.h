/* SPDX-License-Identifier: MIT */
/*
 * The format of what engines write and the session reads: the control block, records, strings,
 * stacks.
 *
 * The layout (record/layout.h) says what a session's records and keys consist of; here is what is
 * the same in all sessions and all engines. Included by host C and by C for BPF (src/rt/), hence
 * fixed-width types only.
 *
 * Units    bytes; times in ns of CLOCK_MONOTONIC.
 */
#pragma once

#include "base/ints.h"

struct rt_fault {
	u32 kind;   /* enum dif_fault; 0 = none */
	u32 clause; /* prog_clause.index */
	u32 action; /* 0 = predicate, 1.. = prog_act.number + argument */
	s32 offset; /* DIF offset, -1 = unknown */
	u64 value;
};

/* State of the session, in memory that engines and the session share. */
enum rt_state { RT_STATE_OFF, RT_STATE_ON, RT_STATE_EXITING };

/*
 * Counters of a CPU, which only grow. All engines of a session count in them, and so does an
 * interrupt's clause inside another one: everybody adds with one atomic instruction, and readers
 * load them relaxed. chill_from and chilled are no counters: only the engine that made the control
 * block uses them. Nor is others_most, which user space sets.
 */
struct rt_cpu {
	u64 drops;		     /* principal buffer full */
	u64 agg_drops;		     /* no room for an aggregation element */
	u64 dyn_drops;		     /* no room for a dynamic variable */
	u64 nest_drops;		     /* nesting deeper than RT_LEVELS */
	u64 dblerrors;		     /* faults inside ERROR clauses */
	u64 spec_busy, spec_unavail; /* speculation() found no id */
	u64 chill_from, chilled;     /* chill(): when the interval began, ns waited in it */
	u64 spec_drops;		     /* speculate() of a full speculation */
	u64 helper_drops;	     /* names of frames that found no room */
	u64 helper_faults;	     /* frames whose helper faulted */
	u64 yields;		     /* firings inside a clause that left it alone */
	u64 late_stacks;	     /* user stacks that end with RT_USTACK_LATE */
	u64 spent_stacks;	     /* whose helpers had no instructions left (RT_USTACK_SPENT) */
	u64 live_drops;		     /* no room for an address that live() was to follow */
	u64 stacks_made;	     /* stacks that became values and were new in their table */
	u64 others_ns;		     /* what probes of a user have taken from tasks of others */
	u64 others_most;	     /* above that, others_ns is an alarm (bpf/alarm.h) */
	u64 unused[5];		     /* no two CPUs write to one cache line */
};

/*
 * The first of what ustack helpers could not do since the consumer has read the note, and has set
 * its word to RT_NOTE_FREE: then whoever sets that to RT_NOTE_BUSY fills it, and sets the word
 * last.
 */
struct rt_helper_note {
	u64 word;  /* 2 + the word of MAP_HCODE */
	u64 value; /* of the fault */
	u32 kind;  /* enum dif_fault */
	u32 pid;
	char comm[16];
};
#define RT_NOTE_FREE 0u
#define RT_NOTE_BUSY 1u
#define RT_NOTE_WORD 2u /* this is word 0 */
enum rt_note {
	RT_NOTE_FAULT, /* of those that rt_cpu.helper_faults counts */
	RT_NOTE_SPENT, /* rt_cpu.spent_stacks; kind and value say nothing */
	RT_NOTES
};

/*
 * A pattern of files' names: a name matches if its first bytes, padded with zeros, are text where
 * the bits of mask are set.
 */
#define RT_NAME_WORDS 2u
struct rt_name {
	u64 text[RT_NAME_WORDS], mask[RT_NAME_WORDS];
};
#define RT_NAMES 48u /* of the helpers that come with Fathom there are 26 */

struct rt_control {
	u32 state; /* enum rt_state: clauses run only when ON, except those of BEGIN and END */
	u32 ncpus; /* entries of cpu[] */
	s64 wall_offset; /* walltimestamp - timestamp, ns */
	s32 tracer_pid;
	u32 epoch; /* of what MAP_UCACHE remembers: counts up when it may have become wrong */
	struct rt_helper_note notes[RT_NOTES];
	u64 has_constants; /* 1: there are files of runtimes in MAP_HFILES (rt/helper.h) */
	u64 nnames;
	u64 generated; /* bits: names of files whose language has frames in generated code only */
	struct rt_name names[RT_NAMES]; /* of the files for which there are helpers */
	struct rt_cpu cpu[];
};

/*
 * The head of each record in a CPU's ring buffer; the layout of the clause (record/layout.h) says
 * what follows it.
 */
struct rt_rec {
	u32 clause; /* prog_clause.index, or RT_REC_FAULT */
	u32 probe;  /* probe id */
	u64 time;   /* ns, CLOCK_MONOTONIC */
};
#define RT_REC_FAULT  0xffffffffu
#define RT_REC_COMMIT 0xfffffffeu
/*
 * CPUs that were offline when the session began share one buffer. In its records the bits of clause
 * from here up are the number of the CPU + 1, which replaces those bits of RT_REC_FAULT and
 * RT_REC_COMMIT, too.
 */
#define RT_REC_CPU_SHIFT 20

/*
 * A bit in the string table's offset of a probe's provider: behind the name, clauses see the id of
 * the process that has fired the probe.
 */
#define RT_NAME_PID 0x80000000u

struct rt_rec_fault {
	struct rt_rec rec;
	struct rt_fault fault;
	u32 epid;
	u32 in_scratch; /* 1: FAULT_BADADDR in scratch memory that the clause did not allocate */
	u64 pid;	/* of the process that fired the probe */
};

/*
 * Speculations. A table holds one word for each id, from id 1 on. The low two bits of the word are
 * the state; the rest counts how often speculation() returned the id. Each record of a speculation
 * carries the whole word, so the consumer can tell the records of one use of an id from those of
 * the next. That is why an id is free as soon as its speculation ends, although its records may
 * still lie in the buffers.
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
	u64 word;    /* while it was active; 0: not speculative */
	u32 id;
	u32 pad;
};

struct rt_rec_commit {
	struct rt_rec rec;
	struct rt_spec_tag tag;
};

/*
 * A string in a record: bytes at off from the record's start, len without NUL. len UINT32_MAX:
 * NULL.
 */
struct rt_str {
	u32 off, len;
};

/*
 * What live() follows: a table with an entry for each address that is alive. Addresses of the
 * kernel are the same in all processes: pid is 0 for them.
 */
struct rt_live_key {
	u64 addr;
	u32 pid;
	u32 pad;
};
struct rt_live {
	u64 time; /* when live() was called */
	u64 bytes;
	u32 agg; /* prog_agg.id */
	u32 cpu;
	u8 key[]; /* of the element, as in the map of the aggregation */
};

/* An entry of the table of strings, keyed by content hash: the one copy of a key string. */
struct rt_keystr {
	u32 len; /* without NUL */
	char data[];
};

/*
 * A stack that is part of a key: it is stored once, keyed by the hash of its content. frames is the
 * number of frames that the clause asked for, and is part of the hash. words are addresses, the
 * innermost first; those of a user stack follow the process id.
 *
 * The flag RT_STACK_TRACED says that a kernel stack may begin with up to RT_STACK_EXTRA frames of
 * the kernel's tracing code, which do not count as frames of the stack. The flag is set in frames
 * here, and for a stack in a record in the len of its struct rt_str. The flag RT_STACK_USER in
 * frames says that the stack is one of a process: an aggregation may have keys of both kinds.
 */
struct rt_stack {
	u32 len; /* bytes of words */
	u32 frames;
	u64 time; /* when it was first recorded; while it is hashed, 0 */
	u64 words[];
};
#define RT_STACK_EXTRA	4u
#define RT_STACK_TRACED 0x80000000u
#define RT_STACK_USER	0x40000000u
#define RT_STACK_BLOCK	128u /* bytes hashed at a time; a slot has as many behind its words */

/* Words that say why frames are missing; a word above them is none. */
enum rt_ustack_mark {
#define USTACK_MARK(id, word, text) RT_USTACK_##id = word,
#include "record/marks.def"
	RT_USTACK_MARKS
};
/*
 * This bit in a word of a user stack says that the address is that of the next instruction, and not
 * one to which a call will return.
 */
#define RT_USTACK_EXACT (1ull << 63)
/*
 * A word of a user stack that is no frame: the name that a ustack helper gave the frame before it.
 * The word is the key of the name in the table of strings: the other bits are a hash of the text.
 */
#define RT_USTACK_NAME (1ull << 62)
/*
 * With this bit, such a word is a frame of its own: a ustack helper has found it in the structures
 * of a language's runtime. Without the bit, the word is the key of the text in the table of
 * strings.
 */
#define RT_USTACK_LANG (1ull << 61)
/*
 * With this bit in the number of frames, the walk adds neither RT_USTACK_CUT nor RT_USTACK_EXACT.
 */
#define RT_USTACK_UNMARKED 0x80000000u
/*
 * With this bit, the walk records and counts frames of the language only: a native frame is left
 * out, and a name that a ustack helper gave it, if it is that of a function of the language, is a
 * word with RT_USTACK_LANG.
 */
#define RT_USTACK_ONLY_LANG 0x40000000u
/* The first byte of a name that is not that of a function of the language (a stub of a runtime). */
#define RT_USTACK_STUB 1
