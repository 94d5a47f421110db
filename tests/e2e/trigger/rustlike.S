/* SPDX-License-Identifier: MIT */
/*
 * Functions of Rust by their debug information: what rustc writes, so that types of arguments are tested where no
 * Rust compiler is installed.
 */
	.text
code_start:
	.macro rust_function name:req
	.globl \name
	.type \name, @function
\name:	mov %rdx, %rax
	ret
	.size \name, . - \name
	.endm
	rust_function _ZN5stall5greet17h07386897badf7c20E
	.set greet_end, .
	rust_function _ZN5stall5place17h07386897badf7c21E
	.set place_end, .
	rust_function _ZN5stall5moved17h07386897badf7c22E
	.set moved_end, .
code_end:

	.section .debug_abbrev, "", @progbits
abbrevs:
	.macro abbrev code, tag, children, pairs:vararg
	.uleb128 \code, \tag
	.byte \children
	.uleb128 \pairs
	.byte 0, 0
	.endm
	/* 3 name 8 string; 0x11 low_pc 1 addr, 0x12 high_pc; 0x13 language 0xb data1; 0x49 type 0x13 ref4;
	 * 0xb byte_size; 0x3e encoding; 0x38 member location; 0x40 frame_base 0x18 exprloc; 2 location; 0x15 discr;
	 * 0x16 discr_value; 0x34 artificial 0xc flag */
	abbrev 1, 0x11, 1, 3, 8, 0x13, 0xb, 0x11, 1, 0x12, 1
	abbrev 2, 0x24, 0, 3, 8, 0x3e, 0xb, 0xb, 0xb
	abbrev 3, 0x13, 1, 3, 8, 0xb, 0xb
	abbrev 4, 0x0d, 0, 3, 8, 0x38, 0xb, 0x49, 0x13
	abbrev 5, 0x0f, 0, 3, 8, 0x49, 0x13
	abbrev 6, 0x2e, 1, 3, 8, 0x11, 1, 0x12, 1, 0x40, 0x18, 0x49, 0x13
	abbrev 7, 0x05, 0, 3, 8, 0x49, 0x13, 2, 0x18
	abbrev 8, 0x39, 1, 3, 8
	abbrev 9, 0x33, 1, 0x15, 0x13
	abbrev 10, 0x0d, 0, 0x34, 0xc, 0x38, 0xb, 0x49, 0x13
	abbrev 11, 0x19, 1, 0x16, 0xb
	.byte 0

	.section .debug_info, "", @progbits
unit:
	.long unit_end - unit_start
unit_start:
	.short 4
	.long abbrevs
	.byte 8
	.macro base label, name, encoding, size
\label:	.uleb128 2
	.asciz "\name"
	.byte \encoding, \size
	.endm
	.macro structure label, name, size
\label:	.uleb128 3
	.asciz "\name"
	.byte \size
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
	.macro variant_part tag
	.uleb128 9
	.long \tag - unit
	.endm
	.macro variant_tag label, off, type
\label:	.uleb128 10
	.byte 1, \off
	.long \type - unit
	.endm
	.macro variant value, name, type
	.uleb128 11
	.byte \value
	member \name, 0, \type
	.byte 0
	.endm
	.macro subprogram name, symbol, end, type
	.uleb128 6
	.asciz "\name"
	.quad \symbol, \end
	.byte 1, 0x57
	.long \type - unit
	.endm
	.macro param name, type, where:vararg
	.uleb128 7
	.asciz "\name"
	.long \type - unit
	.uleb128 2f - 1f
1:	.byte \where
2:
	.endm
	.uleb128 1
	.asciz "stall"
	.byte 0x1c
	.quad code_start, code_end
	base u8, "u8", 7, 1
	base u32, "u32", 7, 4
	base u64, "u64", 7, 8
	base usize, "usize", 7, 8
	pointer bytes, "*const u8", u8
	structure str, "&str", 16
	member data_ptr, 0, bytes
	member length, 8, usize
	.byte 0
	.uleb128 8
	.asciz "stall"
	structure order, "Order", 24
	member id, 0, u32
	member name, 8, str
	.byte 0
	pointer to_order, "&stall::Order", order
	/* Option<u32>: a tag, and beside it the value */
	structure option, "Option<u32>", 8
	variant_part option_tag
	variant_tag option_tag, 0, u32
	variant 0, None, option_none
	variant 1, Some, option_some
	.byte 0
	structure option_none, "None", 8
	.byte 0
	structure option_some, "Some", 8
	member __0, 4, u32
	.byte 0
	.byte 0
	/* Option<&str>: the address tells that there is none */
	structure option_str, "Option<&str>", 16
	variant_part str_tag
	variant_tag str_tag, 0, u64
	variant 0, None, str_none
	variant 1, Some, str_some
	.byte 0
	structure str_none, "None", 16
	.byte 0
	structure str_some, "Some", 16
	member __0, 0, str
	.byte 0
	.byte 0
	/* as without optimization: on the stack, where the first instructions will store them */
	subprogram greet, _ZN5stall5greet17h07386897badf7c20E, greet_end, u32
	param name, str, 0x91, 0x10
	param times, u8, 0x91, 0x20
	.byte 0
	subprogram place, _ZN5stall5place17h07386897badf7c21E, place_end, u64
	param o, option, 0x91, 0x10
	param by_address, order, 0x91, 0x18, 0x06
	param note, option_str, 0x91, 0x20
	param at, to_order, 0x91, 0x30
	.byte 0
	/* as the optimizer leaves them: one is gone, another in another register, one by its address */
	subprogram moved, _ZN5stall5moved17h07386897badf7c22E, moved_end, order
	param gone, u32, 0x37, 0x9f
	param kept, u32, 0x54
	param order, order, 0x72, 0
	param name, str, 0x58, 0x93, 8, 0x59, 0x93, 8
	.byte 0
	.byte 0
	.byte 0
unit_end:
	.section .note.GNU-stack, "", @progbits
