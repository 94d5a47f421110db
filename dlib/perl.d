/* SPDX-License-Identifier: MIT */
/*
 * Provider perl of programs whose build has no probes of its own: Debian's /usr/bin/perl and other
 * builds with threads, from 5.36 on. The offsets are those of the structures in perl's headers
 * (intrpvar.h, cop.h, cv.h, hv.h, gv.h), which are the same in 5.36, 5.40, 5.42 and 5.44.
 */

inline uintptr_t __perl_word[uintptr_t A] = *(userland uintptr_t *)A;
inline uint32_t __perl_int[uintptr_t A] = *(userland uint32_t *)A;

/* PL_current_context, the interpreter of the thread: the last word of the program's TLS block. */
inline uintptr_t __perl_here = __perl_word[curthread->thread.fsbase - 8];
/* the context on top of the stack of the interpreter P, its kind, and the CV of its sub */
inline uintptr_t __perl_context[uintptr_t P] =
	__perl_word[__perl_word[P + 224] + 8] + 104 * (long)(int)__perl_int[__perl_word[P + 224] + 32];
/* CXt_SUB, without CXp_MULTICALL: blocks of sort and of List::Util are no subs that were called */
inline int __perl_is_sub[uintptr_t P] =
	(int)__perl_int[__perl_word[P + 224] + 32] >= 0 && (__perl_int[__perl_context[P]] & 0x1f) == 9;
inline uintptr_t __perl_cv[uintptr_t P] = __perl_word[__perl_context[P] + 72];

/* CvSTART(): the first operation of a sub; a nextstate or dbstate has file and line. */
inline uintptr_t __perl_start[uintptr_t CV] = __perl_word[__perl_word[CV] + 40];
inline int __perl_is_cop[uintptr_t OP] =
	OP != 0 && ((__perl_int[OP + 32] & 0x1ff) == 195 || (__perl_int[OP + 32] & 0x1ff) == 196);
inline uintptr_t __perl_file[uintptr_t OP] = __perl_is_cop[OP] ? __perl_word[OP + 48] : 0;
inline int __perl_line[uintptr_t OP] = __perl_is_cop[OP] ? (int)__perl_int[OP + 36] : 0;

/* The name of a sub: of the CV itself (CvNAMED), or of its glob, GvENAME(CvGV()). */
inline uintptr_t __perl_gv[uintptr_t CV] = __perl_word[__perl_word[CV] + 56];
inline uintptr_t __perl_egv[uintptr_t GV] = __perl_word[__perl_word[GV + 16] + 56];
inline uintptr_t __perl_gvname[uintptr_t GV] = __perl_word[__perl_word[GV] + 32] + 8;
inline uintptr_t __perl_name[uintptr_t CV] =
	__perl_gv[CV] == 0 ? 0 :
	__perl_int[__perl_word[CV] + 92] & 0x8000 ? __perl_gv[CV] + 8 :
	__perl_gvname[__perl_egv[__perl_gv[CV]] != 0 ? __perl_egv[__perl_gv[CV]] : __perl_gv[CV]];

/* HvNAME(CvSTASH()): the package in which the sub was compiled; several names are an array. */
inline uintptr_t __perl_stash[uintptr_t CV] = __perl_word[__perl_word[CV] + 32];
inline uintptr_t __perl_hek[uintptr_t HV] = __perl_word[__perl_word[HV] + 32];
inline uintptr_t __perl_package[uintptr_t CV] =
	__perl_stash[CV] == 0 || __perl_hek[__perl_stash[CV]] == 0 ? 0 :
	(__perl_int[__perl_word[__perl_stash[CV]] + 60] != 0 ?
	 __perl_word[__perl_hek[__perl_stash[CV]]] : __perl_hek[__perl_stash[CV]]) + 8;

provider perl {
	/*
	 * pp_entersub() has made the context of a sub when it returns the sub's first operation.
	 * A sub in C makes none.
	 */
	probe sub__entry(userland char *name, userland char *file, int line, userland char *package)
		= pid:perl`perl_clone`Perl_newDEFEROP:Perl_pp_entersub:return
		/__perl_is_sub[__perl_here] && arg1 == __perl_start[__perl_cv[__perl_here]]/
		((userland char *)__perl_name[__perl_cv[__perl_here]],
		 (userland char *)__perl_file[arg1], __perl_line[arg1],
		 (userland char *)__perl_package[__perl_cv[__perl_here]]);

	/* pp_return() calls these two, too */
	probe sub__return(userland char *name, userland char *file, int line, userland char *package)
		= pid:perl`perl_clone`Perl_newDEFEROP:Perl_pp_leavesub:entry /__perl_is_sub[arg0]/
		((userland char *)__perl_name[__perl_cv[arg0]],
		 (userland char *)__perl_file[__perl_start[__perl_cv[arg0]]],
		 __perl_line[__perl_start[__perl_cv[arg0]]],
		 (userland char *)__perl_package[__perl_cv[arg0]]),
		pid:perl`perl_clone`Perl_newDEFEROP:Perl_pp_leavesublv:entry /__perl_is_sub[arg0]/
		((userland char *)__perl_name[__perl_cv[arg0]],
		 (userland char *)__perl_file[__perl_start[__perl_cv[arg0]]],
		 __perl_line[__perl_start[__perl_cv[arg0]]],
		 (userland char *)__perl_package[__perl_cv[arg0]]);

	/*
	 * lex_start() with a file, while an operation runs (PL_curcop is not PL_compiling): require,
	 * use, do FILE. PL_compiling has its path.
	 */
	probe loading__file(userland char *path)
		= pid:perl`perl_clone`Perl_newDEFEROP:Perl_lex_start:entry /arg2 != 0 && __perl_word[arg0 + 208] != arg0 + 1936/
		((userland char *)__perl_word[arg0 + 1936 + 48]);

	probe loaded__file(userland char *path)
		= "no function of this perl ends when a file is loaded: loading-file tells the path of each file";
	probe phase__change(userland char *new, userland char *old)
		= "this perl changes its phase in the middle of functions: pid$target:perl:perl_parse:entry, perl_run:entry and perl_destruct:entry are near";
	probe op__entry(userland char *name)
		= "this perl has no function that runs once for each operation: pid$target:perl:Perl_pp_*:entry are the operations";
};
