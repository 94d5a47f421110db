/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: routines that run in the kernel because they are too long to inline.
 *
 * Each is a global BPF function, which the kernel verifies once, on its own: u64 name(struct
 * rt_mach *m, u64 a..d). A function that can fail sets m->fault.kind and m->fault.value and returns
 * 0; the caller tests m->fault.kind. Strings are kernel addresses; results lie in scratch memory
 * (m->scratch_top grows) and are addresses, too. The essay at the top of dif/interp_subr.c says
 * what each subroutine means; a property test compares the functions here with those of the
 * interpreter.
 *
 * RT_FUNC(name, number of arguments after m, can fault)
 *
 * The comment at a row lists the arguments and, behind the last colon, the result.
 *
 * The functions of subroutines are not in this list: each row SUBR(ID, name, ...) of dif/subrs.def
 * is a function rt_sub_name(), which is always passed the optional argument, too.
 */
#ifndef RT_FUNC
#error "define RT_FUNC before including"
#endif
RT_FUNC(rt_block_keep, 0, 0) /* at the start of a clause: frees scratch memory but kept blocks */
RT_FUNC(rt_tok_keep, 0, 0)   /* at the end of a clause: saves the rest of strtok()'s text */
/* FLAG_ROWS(), flags; offset in the string table and rows of flag_names[] */
RT_FUNC(rt_strflags, 4, 1)
/* kernel objects */
/* none: the result of bpf_get_current_pid_tgid(), with the numbers of dtrace's PID namespace */
RT_FUNC(rt_pid_tgid, 0, 0)
/* words of offsets, the third with a group above; user, above it inode of a namespace: 1 = own */
RT_FUNC(rt_task_own, 4, 0)
/* what a followed process maps (rt/known.c); for programs of the watch, which have no machine */
RT_FUNC(rt_known_tables, 2, 0)	/* inode and device of the dynamic linker: RT_KNOWN_* */
RT_FUNC(rt_known_helpers, 0, 0) /* the same, and mappings of runtimes without helpers above that */
RT_FUNC(rt_ppid, 0, 0)		/* the parent process, in dtrace's PID namespace */
RT_FUNC(rt_provider, 1, 1)  /* names[0]: the name of the probe's provider, with the process id */
RT_FUNC(rt_progenyof, 3, 0) /* pid; offsets of real_parent and tgid in task_struct */
RT_FUNC(rt_sample, 2, 0)    /* bytes, mean distance: whether a Poisson sample takes one */
RT_FUNC(rt_lock_word, 2, 1) /* address of a lock, size 4 or 8: the word there */
RT_FUNC(rt_chill, 1, 1)	    /* ns */
RT_FUNC(rt_getf, 2, 0)	    /* descriptor; offsets (rt/task.c): struct file, or 0 */
RT_FUNC(rt_d_path, 4, 1)    /* struct path; three words of offsets */
RT_FUNC(rt_execargs, 1, 1)  /* offsets */
/* index; words of struct pt_regs, 5 bits each, 12 a word; 31 = none */
RT_FUNC(rt_uregs, 4, 1)
/* machine */
RT_FUNC(rt_strcmp, 2, 1)   /* like strcmp, up to strsize: negative, 0, positive */
RT_FUNC(rt_allocs, 1, 1)   /* DIF allocs */
RT_FUNC(rt_readable, 2, 1) /* kernel address, size: a fault for unallocated scratch memory */
RT_FUNC(rt_own_copy, 2, 1) /* address of a value in a map, size: a copy in scratch memory */
RT_FUNC(rt_copys, 3, 1)	   /* DIF copys: source, size, destination (scratch, globals, this) */
RT_FUNC(rt_store, 3, 1)	   /* DIF stb..stx: address, value, size 1 2 4 8 */
RT_FUNC(rt_sdiv, 2, 0)	   /* dividend, divisor, which the caller has compared with 0: quotient */
RT_FUNC(rt_srem, 2, 0)
RT_FUNC(rt_strhash, 1, 1)   /* 64-bit hash of a string's content; NULL hashes as "" */
RT_FUNC(rt_keystr, 2, 1)    /* string, its hash: adds it to MAP_STRINGS; 0 if that is full */
RT_FUNC(rt_byteshash, 2, 1) /* address, size */
/* stacks: k = slot of the stack area (abi.h) */
RT_FUNC(rt_stackhash, 1, 0) /* k: 64-bit hash of the stack there */
RT_FUNC(rt_keystack, 2, 0)  /* k, its stack's hash: adds it to MAP_STACKS; 0 if that is full */
RT_FUNC(rt_stackid, 2, 0)   /* the same, for a stack that is a value: its hash, or 0 */
/* number of bytes in the words of the last slot: address of the second frame, 0 if there is none */
RT_FUNC(rt_caller, 1, 0)
RT_FUNC(rt_stackdepth, 1, 0) /* bytes in the last slot's words: number of frames */
/* user stacks */
/* offset in the entry of MAP_MACH, number of frames wanted: number of bytes written */
RT_FUNC(rt_ustack, 2, 0)
/*
 * The next ones walk a user stack and run ustack helpers between the frames (rt/helper.c).
 * rt_walk_begin(): offset, number of frames wanted, bytes for names: 0: the walk is over; otherwise
 * helpers are to run, which walk the stack then, and the result is 1 + the number of their compiled
 * program (bpf/helper_code.h); 1: they have none.
 */
RT_FUNC(rt_walk_begin, 3, 0)
RT_FUNC(rt_walk_enter, 0, 0)   /* prepares the machine for the process; as rt_walk_begin() */
RT_FUNC(rt_walk_bare, 0, 0)    /* at the end of a walk without helpers, if they are not known yet */
RT_FUNC(rt_walk_first, 0, 0)   /* adds the first frame: 0 if no frame is wanted any more */
RT_FUNC(rt_walk_next, 0, 0)    /* 0: there is no further frame */
RT_FUNC(rt_walk_restore, 0, 0) /* behind a step: the callee-saved registers of the new frame */
RT_FUNC(rt_walk_name, 1, 1)    /* string: the frame's name */
RT_FUNC(rt_walk_add, 1, 0)     /* word: adds a frame of the language; 0: no more is wanted */
RT_FUNC(rt_walk_text, 0, 1)    /* the word of such a frame with the machine's text, or 0 */
RT_FUNC(rt_walk_again, 0, 0)   /* adds the words in rt_hwork.again; 0: not all are known */
RT_FUNC(rt_walk_end, 0, 0)     /* bytes written */
RT_FUNC(rt_helper_run, 0, 0)   /* the helper machine: walks the stack */
RT_FUNC(rt_lang, 1, 1) /* enum rt_lang_part: that part of the text of the frame rt_mach.lang */
/* faults of helpers (rt/fault.c) */
/* address: the struct file that is mapped there; without one, where the range begins | 1; or 0 */
RT_FUNC(rt_walk_file, 1, 0)
RT_FUNC(rt_fault_take, 0, 0)  /* counts m->fault, or puts it off */
RT_FUNC(rt_fault_meet, 0, 0)  /* at a frame: counts what was put off, if it is the runtime's */
RT_FUNC(rt_fault_last, 0, 0)  /* the same at the end of a walk, if that is not whole */
RT_FUNC(rt_fault_spent, 0, 0) /* counts a walk whose instructions are used up */
/* steps of compiled helpers */
RT_FUNC(rt_helper_load, 2, 1) /* address, operand c of HOP_LOAD: the word */
RT_FUNC(rt_helper_rare, 2, 1) /* instruction, its operand b: the result */
RT_FUNC(rt_helper_cost, 1, 0) /* subroutine of D: counts the instructions that it takes */
RT_FUNC(rt_helper_word, 1, 0) /* uword() */
RT_FUNC(rt_helper_popcount, 1, 0)
RT_FUNC(rt_helper_fault, 0, 0) /* ends the clauses of the frame */
RT_FUNC(rt_helper_spent, 0, 0) /* the same: the walk has used up its instructions */
RT_FUNC(rt_helper_text, 3, 1)  /* user address, characters, bytes of each: the string */
RT_FUNC(rt_helper_bytes, 3, 0) /* offset in scratch value, user address, bytes: 1: reads them */
RT_FUNC(rt_helper_ascii, 2, 0) /* offset in scratch value, bytes: 1 if they are ASCII without NUL */
RT_FUNC(rt_helper_copy, 2, 0)  /* offset in scratch value, string: 1 + its length; 0: not copied */
RT_FUNC(rt_helper_join, 2, 1)  /* two strings: the string of both */
RT_FUNC(rt_helper_scan, 1, 1)  /* subroutine that decodes a table: its value */
RT_FUNC(rt_helper_search, 0, 1) /* ubsearch() */
RT_FUNC(rt_helper_put, 2, 0)	/* number of a global variable, its value */
RT_FUNC(rt_helper_memo, 1, 0)	/* 0: ucached(), 1: uknown() */
RT_FUNC(rt_helper_hash, 1, 1)	/* 0: uhash(), 1: uhashstr() */
RT_FUNC(rt_helper_keep, 0, 0)	/* remembers what the native frame has added */
RT_FUNC(rt_helper_frame, 0, 1)	/* records the text of the machine as a frame */
RT_FUNC(rt_helper_add, 2, 1)	/* string or number, 1 if it is a string: appends it to the text */
/*
 * The next four are steps of rt_ustack(). Their state is the struct unwind_work, which has an area
 * of its own in the map value.
 */
RT_FUNC(rt_unwind_start, 0, 0) /* loads the registers of the first frame; 0 if there is none */
RT_FUNC(rt_unwind_rule, 0, 0)  /* the rule of an address, from the tree of mappings: slow */
RT_FUNC(rt_unwind_first, 0, 0) /* a better rule for the first frame of code without rows */
RT_FUNC(rt_unwind_odd, 1, 0)   /* CFA by the rarer kinds of rule */
/* aggregating functions */
RT_FUNC(rt_quantize, 1, 0)   /* value -> bucket 0..126 */
RT_FUNC(rt_llquantize, 1, 0) /* value; factor, low, high, steps in m->tmp[0..3] -> bucket */
/* speculation: abi.h explains the states */
RT_FUNC(rt_speculate, 2, 1) /* id, bytes to record: the id's word, 0: not active, or full */
RT_FUNC(rt_spec_used, 3, 0) /* id, its word, bytes that were recorded: counts them */
RT_FUNC(rt_commit, 1, 1)
RT_FUNC(rt_discard, 1, 1)
/* faults: writes the fault record of m to the ring (clause, action, offset already in m->fault) */
RT_FUNC(rt_fault_record, 0, 0)
/*
 * One function is not in this list, because the linker (kernel/linker.c) generates it:
 *
 * 	long rt_ring_output(u64 cpu, const void *data, u64 size, u64 flags)
 *
 * It calls bpf_ringbuf_output() for the ring of the CPU, and returns non-zero when that ring is
 * full or missing. It is static, so that data may point to any kind of memory. Generated code calls
 * it as RT_RING_OUTPUT (kernel/code.h).
 */
