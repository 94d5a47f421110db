/* SPDX-License-Identifier: MIT */
/*
 * Probes for programs without a provider definition: the macros of <sys/sdt.h>.
 *
 *	#include <dtrace/sdt.h>
 *	...
 *	DTRACE_PROBE2(shop, order__start, id, item);
 *
 * The program has then a probe shop$target:::order-start whose arguments are the values of id and
 * item. In a program that nobody traces, a probe is an instruction that does nothing, and its
 * arguments are computed. Arguments are integers, enumerations, pointers, arrays (their address)
 * and floating-point numbers of at most 8 bytes; the compiler refuses all others.
 *
 * Names	STAP_PROBE(), STAP_PROBE1() to STAP_PROBE12() are other names of DTRACE_PROBE(),
 *		DTRACE_PROBE1() to DTRACE_PROBE12(). STAP_PROBEV(provider, probe, ...) counts its
 *		arguments (C99, C++11).
 *
 * Counters	If _SDT_HAS_SEMAPHORES is defined before this header is included, each probe has a
 *		counter that is not 0 while somebody traces the probe. The program defines it, once:
 *
 *			DTRACE_PROBE_SEMAPHORE(shop, order__start);
 *			...
 *			if (DTRACE_PROBE_ENABLED(shop, order__start))
 *				DTRACE_PROBE2(shop, order__start, id, describe(item));
 *
 *		or by hand, as a variable "unsigned short shop_order__start_semaphore" in the
 *		section ".probes" that is declared before the probes.
 *
 * Assembler	STAP_PROBE_ASM(provider, probe, arguments) is a line of a .S file, with arguments
 *		in the form of the note, for example STAP_PROBE_ASM(libc, setjmp, 8@%rdi -4@%esi).
 *		Inside the text of an __asm__ statement it takes the arguments that
 *		STAP_PROBE_ASM_TEMPLATE(n) writes for the operands
 *		STAP_PROBE_ASM_OPERANDS(n, a1, ..., an).
 *
 * Compilers	gcc and clang, C90 and later, C++98 and later, 32 and 64 bits. Elsewhere, and with
 *		-D_DTRACE_VERSION=0, nothing is left of a probe.
 *
 * Each probe makes an ELF note of the format "stapsdt", which dtrace, gdb, perf, bpftrace and
 * SystemTap read: the addresses of the probe's instruction, of a byte by which readers compute how
 * far a linker has moved the program, and of the counter; then provider, probe and arguments as
 * strings. An argument is its size in bytes, negative if it is signed, followed by "f" if it is a
 * floating-point number, then "@" and the assembler's text for the register, memory or constant
 * that has the value.
 */
#ifndef _SYS_SDT_H
#define _SYS_SDT_H

#ifndef _DTRACE_VERSION
#if defined(__GNUC__) && defined(__ELF__)
#define _DTRACE_VERSION 1
#else
#define _DTRACE_VERSION 0
#endif
#endif

/* clang-format off */

#if !_DTRACE_VERSION

#ifdef __ASSEMBLER__
#define __SDT_NOTHING
#else
#define __SDT_NOTHING do { } while (0)
#endif
#define DTRACE_PROBE(provider, probe) __SDT_NOTHING
#define DTRACE_PROBE1(provider, probe, a1) __SDT_NOTHING
#define DTRACE_PROBE2(provider, probe, a1, a2) __SDT_NOTHING
#define DTRACE_PROBE3(provider, probe, a1, a2, a3) __SDT_NOTHING
#define DTRACE_PROBE4(provider, probe, a1, a2, a3, a4) __SDT_NOTHING
#define DTRACE_PROBE5(provider, probe, a1, a2, a3, a4, a5) __SDT_NOTHING
#define DTRACE_PROBE6(provider, probe, a1, a2, a3, a4, a5, a6) __SDT_NOTHING
#define DTRACE_PROBE7(provider, probe, a1, a2, a3, a4, a5, a6, a7) __SDT_NOTHING
#define DTRACE_PROBE8(provider, probe, a1, a2, a3, a4, a5, a6, a7, a8) __SDT_NOTHING
#define DTRACE_PROBE9(provider, probe, a1, a2, a3, a4, a5, a6, a7, a8, a9) __SDT_NOTHING
#define DTRACE_PROBE10(provider, probe, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) __SDT_NOTHING
#define DTRACE_PROBE11(provider, probe, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) __SDT_NOTHING
#define DTRACE_PROBE12(provider, probe, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
	__SDT_NOTHING
#define DTRACE_PROBE_SEMAPHORE(provider, probe) struct __sdt_nothing
#define DTRACE_PROBE_ENABLED(provider, probe) 0

#else /* _DTRACE_VERSION */

#ifdef __LP64__
#define __SDT_ADDRESS ".8byte "
#else
#define __SDT_ADDRESS ".4byte "
#endif

/* ---- lines of assembler files ---------------------------------------------------------------- */

#ifdef __ASSEMBLER__

	.macro	__sdt_address value:req
#ifdef __LP64__
	.8byte	\value
#else
	.4byte	\value
#endif
	.endm

	.macro	__sdt_probe provider:req, probe:req, counter:req, arguments
990:	nop
	.pushsection .note.stapsdt, "?", "note"
	.balign	4
	.4byte	992f-991f, 994f-993f, 3
991:	.asciz	"stapsdt"
992:	.balign	4
993:	__sdt_address 990b
	__sdt_address _.stapsdt.base
	__sdt_address \counter
	.asciz	"\provider"
	.asciz	"\probe"
	.asciz	"\arguments"
994:	.balign	4
	.popsection
	.ifndef	_.stapsdt.base
	.pushsection .stapsdt.base, "aG", "progbits", .stapsdt.base, comdat
	.weak	_.stapsdt.base
	.hidden	_.stapsdt.base
_.stapsdt.base: .space 1
	.size	_.stapsdt.base, 1
	.popsection
	.endif
	.endm

#ifdef _SDT_HAS_SEMAPHORES
#define __SDT_COUNTER(provider, probe) provider##_##probe##_semaphore
#else
#define __SDT_COUNTER(provider, probe) 0
#endif
#define __SDT_TEXT_OF(arguments...) #arguments
#define __SDT_ASM(provider, probe, arguments...) \
	__sdt_probe #provider, #probe, __SDT_COUNTER(provider, probe), __SDT_TEXT_OF(arguments)
#define STAP_PROBE_ASM(provider, probe, arguments...) __SDT_ASM(provider, probe, arguments)
#define DTRACE_PROBE(provider, probe) __SDT_ASM(provider, probe, )
#define STAP_PROBE(provider, probe) __SDT_ASM(provider, probe, )

#else /* __ASSEMBLER__ */

/* ---- the note -------------------------------------------------------------------------------- */

#ifdef _SDT_HAS_SEMAPHORES
#define __SDT_COUNTER(provider, probe) #provider "_" #probe "_semaphore"
#else
#define __SDT_COUNTER(provider, probe) "0"
#endif

/*
 * The instruction of a probe is a nop of one byte, which every kernel emulates. Linux 6.18 makes a
 * call of a probed nop of 5 bytes, which overwrites variables below the stack pointer and is no
 * function in children.
 */
#define __SDT_NOTE(provider, probe, arguments) \
	"990: nop\n" \
	"\t.pushsection .note.stapsdt,\"?\",\"note\"\n" \
	"\t.balign 4\n" \
	"\t.4byte 992f-991f, 994f-993f, 3\n" \
	"991: .asciz \"stapsdt\"\n" \
	"992: .balign 4\n" \
	"993: " __SDT_ADDRESS "990b\n" \
	"\t" __SDT_ADDRESS "_.stapsdt.base\n" \
	"\t" __SDT_ADDRESS __SDT_COUNTER(provider, probe) "\n" \
	"\t.asciz \"" #provider "\"\n" \
	"\t.asciz \"" #probe "\"\n" \
	arguments \
	"\t.byte 0\n" \
	"994: .balign 4\n" \
	"\t.popsection\n" \
	"\t.ifndef _.stapsdt.base\n" \
	"\t.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
	"\t.weak _.stapsdt.base\n" \
	"\t.hidden _.stapsdt.base\n" \
	"_.stapsdt.base: .space 1\n" \
	"\t.size _.stapsdt.base, 1\n" \
	"\t.popsection\n" \
	"\t.endif\n"

/* ---- arguments ------------------------------------------------------------------------------- */

/*
 * __SDT_VALUE(x) is the value of x, converted as for a call of a function without prototype: arrays
 * become pointers, bit-fields integers. __SDT_SIZE(x) is the number of its bytes, negative if it is
 * signed, with __SDT_FLOAT added for a floating-point number. It does not compile if x is
 * a structure, or has more than 8 bytes.
 */
#define __SDT_FLOAT 64

#ifdef __cplusplus

extern "C++" {
template <typename T> static inline __attribute__((__always_inline__)) T __sdt_value(T x)
{
	return x;
}

template <bool is_supported> struct __sdt_argument_must_be_a_number_or_pointer;
template <> struct __sdt_argument_must_be_a_number_or_pointer<true> { enum { value = 0 }; };

template <typename T, bool is_enum, bool is_class> struct __sdt_kind {
	enum { signed_bytes = T(-1) < T(1) ? -int(sizeof(T)) : int(sizeof(T)) };
};
template <typename T> struct __sdt_kind<T, true, false> {
	enum { signed_bytes = __sdt_kind<__underlying_type(T), false, false>::signed_bytes };
};
template <typename T> struct __sdt_kind<T *, false, false> {
	enum { signed_bytes = int(sizeof(T *)) };
};
template <> struct __sdt_kind<bool, false, false> { enum { signed_bytes = 1 }; };
template <> struct __sdt_kind<float, false, false> { enum { signed_bytes = __SDT_FLOAT + 4 }; };
template <> struct __sdt_kind<double, false, false> { enum { signed_bytes = __SDT_FLOAT + 8 }; };
#if __cplusplus >= 201103L
template <> struct __sdt_kind<decltype(nullptr), false, false> {
	enum { signed_bytes = int(sizeof(void *)) };
};
#endif
template <typename T> struct __sdt_argument {
	enum {
		is_class = __is_class(T) || __is_union(T),
		is_supported = __sdt_argument_must_be_a_number_or_pointer<
			!is_class && sizeof(T) <= 8>::value,
		size = int(__sdt_kind<T, __is_enum(T), is_class>::signed_bytes) + int(is_supported)
	};
};
}
#define __SDT_VALUE(x) __sdt_value(x)
#define __SDT_SIZE(x) (int(__sdt_argument<__typeof__(__sdt_value(x))>::size))

#else /* __cplusplus */

#define __SDT_VALUE(x) (1 ? (x) : (x))
#define __SDT_IS(x, class) (__builtin_classify_type(__SDT_VALUE(x)) == (class))
/* x if it is an integer, else the number 0U, so that operators for integers compile */
#define __SDT_INTEGER(x) __builtin_choose_expr(__SDT_IS(x, 1), __SDT_VALUE(x), 0U)
#define __SDT_IS_SIGNED(x) ((__typeof__(__SDT_INTEGER(x)))-1 < (__typeof__(__SDT_INTEGER(x)))1)
#define __SDT_CHECK(x) \
	((int)sizeof(struct { \
		int argument_must_be_a_number_or_pointer \
			: sizeof(__SDT_VALUE(x)) <= 8 && \
			  (__SDT_IS(x, 1) || __SDT_IS(x, 5) || __SDT_IS(x, 8)) ? 1 : -1; \
	}))
#define __SDT_SIZE(x) \
	((__SDT_IS_SIGNED(x) ? -(int)sizeof(__SDT_VALUE(x)) : (int)sizeof(__SDT_VALUE(x))) + \
	 (__SDT_IS(x, 8) ? __SDT_FLOAT : 0) + 0 * __SDT_CHECK(x))

#endif /* __cplusplus */

/*
 * Where a value may be when the probe is reached: a constant, a register, memory that an offset can
 * be added to. clang prefers memory, which costs a store even when nobody traces. On 32-bit
 * processors 8 bytes are no register, and there are too few registers for 12 arguments. There
 * values are in variables, because only variables can be operands in memory.
 */
#ifndef STAP_SDT_ARG_CONSTRAINT
#if !defined(__LP64__)
#define STAP_SDT_ARG_CONSTRAINT o
#elif defined(__clang__)
#define STAP_SDT_ARG_CONSTRAINT nr
#else
#define STAP_SDT_ARG_CONSTRAINT nor
#endif
#endif
#define __SDT_STRING(x) #x
#define __SDT_CONSTRAINT(x) __SDT_STRING(x)

#ifdef __LP64__
#define __SDT_VARIABLE(k, x)
#define __SDT_HELD(k, x) __SDT_VALUE(x)
#else
#define __SDT_VARIABLE(k, x) __typeof__(__SDT_VALUE(x)) __sdt_v##k = __SDT_VALUE(x);
#define __SDT_HELD(k, x) __sdt_v##k
#endif

/* The operands of one argument, and the lines that write its text. */
#define __SDT_OPERANDS(k, x) \
	[__sdt_s##k] "n"(__SDT_SIZE(x)), \
	[__sdt_a##k] __SDT_CONSTRAINT(STAP_SDT_ARG_CONSTRAINT)(__SDT_HELD(k, x))
#define __SDT_TEXT(k, separator) \
	"\t.if %c[__sdt_s" #k "] > 64\n" \
	"\t.if %c[__sdt_s" #k "] == 72\n" \
	"\t.ascii \"" separator "8f@%[__sdt_a" #k "]\"\n" \
	"\t.else\n" \
	"\t.ascii \"" separator "4f@%[__sdt_a" #k "]\"\n" \
	"\t.endif\n" \
	"\t.else\n" \
	"\t.ascii \"" separator "%c[__sdt_s" #k "]@%[__sdt_a" #k "]\"\n" \
	"\t.endif\n"

#define __SDT_TEXT0
#define __SDT_TEXT1 __SDT_TEXT(1, "")
#define __SDT_TEXT2 __SDT_TEXT1 __SDT_TEXT(2, " ")
#define __SDT_TEXT3 __SDT_TEXT2 __SDT_TEXT(3, " ")
#define __SDT_TEXT4 __SDT_TEXT3 __SDT_TEXT(4, " ")
#define __SDT_TEXT5 __SDT_TEXT4 __SDT_TEXT(5, " ")
#define __SDT_TEXT6 __SDT_TEXT5 __SDT_TEXT(6, " ")
#define __SDT_TEXT7 __SDT_TEXT6 __SDT_TEXT(7, " ")
#define __SDT_TEXT8 __SDT_TEXT7 __SDT_TEXT(8, " ")
#define __SDT_TEXT9 __SDT_TEXT8 __SDT_TEXT(9, " ")
#define __SDT_TEXT10 __SDT_TEXT9 __SDT_TEXT(10, " ")
#define __SDT_TEXT11 __SDT_TEXT10 __SDT_TEXT(11, " ")
#define __SDT_TEXT12 __SDT_TEXT11 __SDT_TEXT(12, " ")
#define __SDT_OPERANDS1(a1) \
	__SDT_OPERANDS(1, a1)
#define __SDT_OPERANDS2(a1, a2) \
	__SDT_OPERANDS1(a1), __SDT_OPERANDS(2, a2)
#define __SDT_OPERANDS3(a1, a2, a3) \
	__SDT_OPERANDS2(a1, a2), __SDT_OPERANDS(3, a3)
#define __SDT_OPERANDS4(a1, a2, a3, a4) \
	__SDT_OPERANDS3(a1, a2, a3), __SDT_OPERANDS(4, a4)
#define __SDT_OPERANDS5(a1, a2, a3, a4, a5) \
	__SDT_OPERANDS4(a1, a2, a3, a4), __SDT_OPERANDS(5, a5)
#define __SDT_OPERANDS6(a1, a2, a3, a4, a5, a6) \
	__SDT_OPERANDS5(a1, a2, a3, a4, a5), __SDT_OPERANDS(6, a6)
#define __SDT_OPERANDS7(a1, a2, a3, a4, a5, a6, a7) \
	__SDT_OPERANDS6(a1, a2, a3, a4, a5, a6), __SDT_OPERANDS(7, a7)
#define __SDT_OPERANDS8(a1, a2, a3, a4, a5, a6, a7, a8) \
	__SDT_OPERANDS7(a1, a2, a3, a4, a5, a6, a7), __SDT_OPERANDS(8, a8)
#define __SDT_OPERANDS9(a1, a2, a3, a4, a5, a6, a7, a8, a9) \
	__SDT_OPERANDS8(a1, a2, a3, a4, a5, a6, a7, a8), __SDT_OPERANDS(9, a9)
#define __SDT_OPERANDS10(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
	__SDT_OPERANDS9(a1, a2, a3, a4, a5, a6, a7, a8, a9), __SDT_OPERANDS(10, a10)
#define __SDT_OPERANDS11(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
	__SDT_OPERANDS10(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10), __SDT_OPERANDS(11, a11)
#define __SDT_OPERANDS12(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
	__SDT_OPERANDS11(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11), __SDT_OPERANDS(12, a12)
#define __SDT_VARIABLES1(a1) \
	__SDT_VARIABLE(1, a1)
#define __SDT_VARIABLES2(a1, a2) \
	__SDT_VARIABLES1(a1) __SDT_VARIABLE(2, a2)
#define __SDT_VARIABLES3(a1, a2, a3) \
	__SDT_VARIABLES2(a1, a2) __SDT_VARIABLE(3, a3)
#define __SDT_VARIABLES4(a1, a2, a3, a4) \
	__SDT_VARIABLES3(a1, a2, a3) __SDT_VARIABLE(4, a4)
#define __SDT_VARIABLES5(a1, a2, a3, a4, a5) \
	__SDT_VARIABLES4(a1, a2, a3, a4) __SDT_VARIABLE(5, a5)
#define __SDT_VARIABLES6(a1, a2, a3, a4, a5, a6) \
	__SDT_VARIABLES5(a1, a2, a3, a4, a5) __SDT_VARIABLE(6, a6)
#define __SDT_VARIABLES7(a1, a2, a3, a4, a5, a6, a7) \
	__SDT_VARIABLES6(a1, a2, a3, a4, a5, a6) __SDT_VARIABLE(7, a7)
#define __SDT_VARIABLES8(a1, a2, a3, a4, a5, a6, a7, a8) \
	__SDT_VARIABLES7(a1, a2, a3, a4, a5, a6, a7) __SDT_VARIABLE(8, a8)
#define __SDT_VARIABLES9(a1, a2, a3, a4, a5, a6, a7, a8, a9) \
	__SDT_VARIABLES8(a1, a2, a3, a4, a5, a6, a7, a8) __SDT_VARIABLE(9, a9)
#define __SDT_VARIABLES10(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
	__SDT_VARIABLES9(a1, a2, a3, a4, a5, a6, a7, a8, a9) __SDT_VARIABLE(10, a10)
#define __SDT_VARIABLES11(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
	__SDT_VARIABLES10(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) __SDT_VARIABLE(11, a11)
#define __SDT_VARIABLES12(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
	__SDT_VARIABLES11(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) __SDT_VARIABLE(12, a12)

#define __SDT_PASTE(a, b) a##b
#define STAP_PROBE_ASM_TEMPLATE(n) __SDT_PASTE(__SDT_TEXT, n)
#define STAP_PROBE_ASM(provider, probe, arguments) __SDT_NOTE(provider, probe, arguments)

/* ---- probes ---------------------------------------------------------------------------------- */

/* C90 promises that a compiler takes 509 characters, and has no named operands. */
#ifdef __clang__
#define __SDT_BEGIN \
	_Pragma("clang diagnostic push") \
	_Pragma("clang diagnostic ignored \"-Woverlength-strings\"")
#define __SDT_END _Pragma("clang diagnostic pop")
#else
#define __SDT_BEGIN
#define __SDT_END
#endif

#define DTRACE_PROBE(provider, probe) \
	do { \
		__SDT_BEGIN __asm__ __volatile__(__SDT_NOTE(provider, probe, "")); __SDT_END \
	} while (0)
/* A tracer reads what pointers lead to, so the compiler must have stored it: "memory". */
#define __SDT_PROBE(provider, probe, text, variables, operands) \
	do { \
		variables \
		__SDT_BEGIN __asm__ __volatile__(__SDT_NOTE(provider, probe, text) \
						 : : operands : "memory"); \
		__SDT_END \
	} while (0)
#define DTRACE_PROBE1(provider, probe, a1) \
	__SDT_PROBE(provider, probe, __SDT_TEXT1, __SDT_VARIABLES1(a1), \
		    __SDT_OPERANDS1(a1))
#define DTRACE_PROBE2(provider, probe, a1, a2) \
	__SDT_PROBE(provider, probe, __SDT_TEXT2, __SDT_VARIABLES2(a1, a2), \
		    __SDT_OPERANDS2(a1, a2))
#define DTRACE_PROBE3(provider, probe, a1, a2, a3) \
	__SDT_PROBE(provider, probe, __SDT_TEXT3, __SDT_VARIABLES3(a1, a2, a3), \
		    __SDT_OPERANDS3(a1, a2, a3))
#define DTRACE_PROBE4(provider, probe, a1, a2, a3, a4) \
	__SDT_PROBE(provider, probe, __SDT_TEXT4, __SDT_VARIABLES4(a1, a2, a3, a4), \
		    __SDT_OPERANDS4(a1, a2, a3, a4))
#define DTRACE_PROBE5(provider, probe, a1, a2, a3, a4, a5) \
	__SDT_PROBE(provider, probe, __SDT_TEXT5, __SDT_VARIABLES5(a1, a2, a3, a4, a5), \
		    __SDT_OPERANDS5(a1, a2, a3, a4, a5))
#define DTRACE_PROBE6(provider, probe, a1, a2, a3, a4, a5, a6) \
	__SDT_PROBE(provider, probe, __SDT_TEXT6, __SDT_VARIABLES6(a1, a2, a3, a4, a5, a6), \
		    __SDT_OPERANDS6(a1, a2, a3, a4, a5, a6))
#define DTRACE_PROBE7(provider, probe, a1, a2, a3, a4, a5, a6, a7) \
	__SDT_PROBE(provider, probe, __SDT_TEXT7, __SDT_VARIABLES7(a1, a2, a3, a4, a5, a6, a7), \
		    __SDT_OPERANDS7(a1, a2, a3, a4, a5, a6, a7))
#define DTRACE_PROBE8(provider, probe, a1, a2, a3, a4, a5, a6, a7, a8) \
	__SDT_PROBE(provider, probe, __SDT_TEXT8, __SDT_VARIABLES8(a1, a2, a3, a4, a5, a6, a7, a8), \
		    __SDT_OPERANDS8(a1, a2, a3, a4, a5, a6, a7, a8))
#define DTRACE_PROBE9(provider, probe, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
	__SDT_PROBE(provider, probe, __SDT_TEXT9, __SDT_VARIABLES9(a1, a2, a3, a4, a5, a6, a7, a8, a9), \
		    __SDT_OPERANDS9(a1, a2, a3, a4, a5, a6, a7, a8, a9))
#define DTRACE_PROBE10(provider, probe, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
	__SDT_PROBE(provider, probe, __SDT_TEXT10, \
		    __SDT_VARIABLES10(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10), \
		    __SDT_OPERANDS10(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10))
#define DTRACE_PROBE11(provider, probe, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
	__SDT_PROBE(provider, probe, __SDT_TEXT11, \
		    __SDT_VARIABLES11(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11), \
		    __SDT_OPERANDS11(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11))
#define DTRACE_PROBE12(provider, probe, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
	__SDT_PROBE(provider, probe, __SDT_TEXT12, \
		    __SDT_VARIABLES12(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12), \
		    __SDT_OPERANDS12(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12))

/* ---- counters -------------------------------------------------------------------------------- */

#ifdef _SDT_HAS_SEMAPHORES
#ifdef __cplusplus
#define __SDT_EXTERN extern "C"
#else
#define __SDT_EXTERN extern
#endif
#define __SDT_SEMAPHORE(provider, probe) provider##_##probe##_semaphore
#define DTRACE_PROBE_SEMAPHORE(provider, probe) \
	__SDT_EXTERN volatile unsigned short __SDT_SEMAPHORE(provider, probe); \
	volatile unsigned short __SDT_SEMAPHORE(provider, probe) \
		__attribute__((__used__, __section__(".probes")))
#define DTRACE_PROBE_ENABLED(provider, probe) \
	__builtin_expect(__SDT_SEMAPHORE(provider, probe) != 0, 0)
#endif

#endif /* __ASSEMBLER__ */
#endif /* _DTRACE_VERSION */

#define STAP_PROBE DTRACE_PROBE
#define STAP_PROBE1 DTRACE_PROBE1
#define STAP_PROBE2 DTRACE_PROBE2
#define STAP_PROBE3 DTRACE_PROBE3
#define STAP_PROBE4 DTRACE_PROBE4
#define STAP_PROBE5 DTRACE_PROBE5
#define STAP_PROBE6 DTRACE_PROBE6
#define STAP_PROBE7 DTRACE_PROBE7
#define STAP_PROBE8 DTRACE_PROBE8
#define STAP_PROBE9 DTRACE_PROBE9
#define STAP_PROBE10 DTRACE_PROBE10
#define STAP_PROBE11 DTRACE_PROBE11
#define STAP_PROBE12 DTRACE_PROBE12

#ifndef __ASSEMBLER__
/* Macros with any number of arguments, which C90 does not have: no warnings from here on. */
#pragma GCC system_header
#if _DTRACE_VERSION
#define STAP_PROBE_ASM_OPERANDS(n, ...) __SDT_PASTE(__SDT_OPERANDS, n)(__VA_ARGS__)
#define __SDT_PICK(provider, probe, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, n, ...) \
	DTRACE_PROBE##n
#define STAP_PROBEV(...) \
	__SDT_PICK(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, , )(__VA_ARGS__)
#else
#define STAP_PROBEV(...) __SDT_NOTHING
#endif
#endif

/* clang-format on */

#endif /* _SYS_SDT_H */
