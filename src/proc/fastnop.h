/*
 * The faster of two places for the probe of a program (USDT).
 *
 * A uprobe on the 1-byte nop of a site is a breakpoint: an exception, 500 ns here. Linux 6.18 turns
 * a 5-byte nop with a uprobe into a call to code that makes a system call: 360 ns. Therefore the
 * headers of dtrace -h put a 5-byte nop behind the 1-byte nop to which the note points, and this
 * file decides which of the two is probed.
 *
 *     90                   nop
 *     0f 1f 44 00 00       nopl 0(%rax,%rax,1)       e8 .. .. .. ..  call, while it is probed
 *
 * The call writes its return address below the stack pointer, where a function that calls nobody
 * may keep variables (the red zone of the SysV AMD64 ABI, 3.2.2). So the 5-byte nop is probed only
 * if nothing can be there: the function has call instructions of its own, for compilers give the
 * red zone up in such functions, or only its begin lies before the nop. A function that steps over
 * the red zone around a call in inline assembler uses the red zone, and keeps the breakpoint. So do
 * functions of unknown size, code that cannot be decoded from begin to end, and a nop that is the
 * target of a jump, which a compiler may have put there for alignment.
 */
#pragma once

#include "proc/funcs.h"
#include "proc/insn.h"
#include "proc/text.h"

/* The function that was decoded last: sites in ascending order decode each function once. */
struct fastnop {
	const struct func *fn;
	struct insns insns;
	bool has_red_zone;
};

/*
 * Returns the number of bytes by which the 5-byte nop lies behind the site, an offset in the file;
 * 0 if the site itself is to be probed. The kernel must optimize such nops (FEAT_UPROBE_NOP5).
 */
uint32_t fastnop_skip(struct fastnop *n, const struct funcs *f, struct text *t, uint64_t off);
void fastnop_deinit(struct fastnop *n);
