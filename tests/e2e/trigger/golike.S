/* SPDX-License-Identifier: MIT */
/*
 * Functions that receive arguments as those of Go do, and say so as Go's compiler does: so that the convention is
 * tested where no Go compiler is installed.
 *
 * Facts    Go src/cmd/compile/abi-internal.md; what go1.19 writes into sections and debug information.
 */
	.text

/* golike_call(function, nine registers, two words for the stack, g): calls as Go code would. */
	.globl golike_call
	.type golike_call, @function
golike_call:
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rdi, %r12
	mov %rsi, %r13
	mov %rcx, %r14
	push 8(%rdx)
	push (%rdx)
	mov (%r13), %rax
	mov 8(%r13), %rbx
	mov 16(%r13), %rcx
	mov 24(%r13), %rdi
	mov 32(%r13), %rsi
	mov 40(%r13), %r8
	mov 48(%r13), %r9
	mov 56(%r13), %r10
	mov 64(%r13), %r11
	call *%r12
	add $16, %rsp
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
	.size golike_call, . - golike_call

	.local runtime.text
	.type runtime.text, @function
runtime.text:

	.macro go_function name:req
	.globl "\name"
	.type "\name", @function
"\name":
	.endm
	.macro go_end name:req
	.size "\name", . - "\name"
	.endm

/* The stack is large enough from now on. */
	go_function runtime.morestack_noctxt
	movq $0, 16(%r14)
	ret
	go_end runtime.morestack_noctxt

/* func add(a, b int) int */
	go_function main.add
	cmp 16(%r14), %rsp
	jbe 1f
	sub $8, %rsp
	add %rbx, %rax
	add $8, %rsp
	ret
1:	call runtime.morestack_noctxt
	jmp main.add
	go_end main.add
	.set add_end, .

/* func greet(name string, times uint8, loud bool, f float64, at *point) (string, int) */
	go_function main.greet
	lea -256(%rsp), %r12
	cmp 16(%r14), %r12
	jbe 1f
	push %rbp
	mov $3, %ecx
	pop %rbp
	ret
1:	call runtime.morestack_noctxt
	jmp main.greet
	go_end main.greet
	.set greet_end, .

/* func many(p point, c, d, e, f, g, h, i, j int) */
	go_function main.many
	ret
	go_end main.many
	.set many_end, .

/* In assembly, with the arguments on the stack: func sum(a, b int) int */
	go_function main.sum.abi0
	mov 8(%rsp), %rax
	ret
	go_end main.sum.abi0

	.local runtime.etext
	.type runtime.etext, @function
runtime.etext:
	nop

/* From here on it is no code of Go. */
	.globl golike_c
	.type golike_c, @function
golike_c:
	ret
	.size golike_c, . - golike_c

	.section .go.buildinfo, "aw", @progbits
	.balign 16
	.ascii "\377 Go buildinf:"
	.byte 8, 2
	.zero 16
	.byte 8
	.ascii "go1.19.8"
	.byte 0

/* ---- debug information ----------------------------------------------------------------------- */

	.section .debug_abbrev, "", @progbits
abbrevs:
	.macro abbrev code, tag, children, pairs:vararg
	.uleb128 \code, \tag
	.byte \children
	.uleb128 \pairs
	.byte 0, 0
	.endm
	/* 3 name 8 string; 0x11 low_pc 1 addr, 0x12 high_pc; 0x13 language 0xb data1; 0x49 type 0x13 ref4;
	 * 0xb byte_size; 0x3e encoding; 0x38 member location; 0x40 frame_base 0xa block1; 0x4b result; 2 location;
	 * 0x2900 Go's kind */
	abbrev 1, 0x11, 1, 3, 8, 0x13, 0xb, 0x11, 1, 0x12, 1
	abbrev 2, 0x24, 0, 3, 8, 0x3e, 0xb, 0xb, 0xb, 0x2900, 0xb
	abbrev 3, 0x13, 1, 3, 8, 0xb, 0xb, 0x2900, 0xb
	abbrev 4, 0x0d, 0, 3, 8, 0x38, 0xb, 0x49, 0x13
	abbrev 5, 0x0f, 0, 3, 8, 0x49, 0x13
	abbrev 6, 0x2e, 1, 3, 8, 0x11, 1, 0x12, 1, 0x40, 0xa
	abbrev 7, 0x05, 0, 3, 8, 0x4b, 0xc, 0x49, 0x13, 2, 0xa
	abbrev 8, 0x05, 0, 3, 8, 0x4b, 0xc, 0x49, 0x13, 2, 0x18
	.byte 0

	.section .debug_info, "", @progbits
unit:
	.long unit_end - unit_start
unit_start:
	.short 4
	.long abbrevs
	.byte 8
	.macro base label, name, encoding, size, kind
\label:	.uleb128 2
	.asciz "\name"
	.byte \encoding, \size, \kind
	.endm
	.macro structure label, name, size, kind
\label:	.uleb128 3
	.asciz "\name"
	.byte \size, \kind
	.endm
	.macro member name, off, type
	.uleb128 4
	.asciz "\name"
	.byte \off
	.long \type - unit
	.endm
	.macro pointer label, name, to
\label:	.uleb128 5
	.asciz "\name"
	.long \to - unit
	.endm
	.macro subprogram name, end
	.uleb128 6
	.asciz "\name"
	.quad "\name", \end
	.byte 1, 0x9c
	.endm
	/* As without optimization: where the first instructions will store it. */
	.macro param name, is_result, type, where:vararg
	.uleb128 7
	.asciz "\name"
	.byte \is_result
	.long \type - unit
	.byte 2f - 1f
1:	.byte \where
2:
	.endm
	.macro param_in name, is_result, type, where:vararg
	.uleb128 8
	.asciz "\name"
	.byte \is_result
	.long \type - unit
	.uleb128 2f - 1f
1:	.byte \where
2:
	.endm
	.uleb128 1
	.asciz "main"
	.byte 0x16
	.quad runtime.text, runtime.etext
	base int, "int", 5, 8, 2
	base uint8, "uint8", 7, 1, 8
	base bool, "bool", 2, 1, 1
	base float64, "float64", 4, 8, 14
	pointer bytes, "*uint8", uint8
	structure string, "string", 16, 24
	member str, 0, bytes
	member len, 8, int
	.byte 0
	structure point, "main.point", 24, 25
	member x, 0, int
	member name, 8, string
	.byte 0
	pointer to_point, "*main.point", point
	subprogram main.add, add_end
	param a, 0, int, 0x9c
	param b, 0, int, 0x91, 8
	param "~r0", 1, int, 0x91, 16
	.byte 0
	subprogram main.greet, greet_end
	param_in name, 0, string, 0x50, 0x93, 8, 0x53, 0x93, 8
	param_in times, 0, uint8, 0x52
	param_in loud, 0, bool, 0x55
	param_in f, 0, float64, 0x61
	param_in at, 0, to_point, 0x54
	param "~r0", 1, string, 0x91, 0
	param "~r1", 1, int, 0x91, 16
	.byte 0
	subprogram main.many, many_end
	param p, 0, point, 0x91, 8
	param c, 0, int, 0x91, 32
	param d, 0, int, 0x91, 40
	param e, 0, int, 0x91, 48
	param f, 0, int, 0x91, 56
	param g, 0, int, 0x91, 64
	param h, 0, int, 0x91, 72
	param i, 0, int, 0x9c
	param j, 0, int, 0x91, 8
	.byte 0
	.byte 0
unit_end:
	.section .note.GNU-stack, "", @progbits
