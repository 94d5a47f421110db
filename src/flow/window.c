/* SPDX-License-Identifier: MIT */
/* Whether a jump can be written at an address, and which instructions it replaces. */
#include <Zydis/Zydis.h>

#include "base/sorted.h"
#include "flow/impl.h"

#define INSN_MAX   15 /* bytes: Intel SDM vol. 2, 2.3.11 */
#define PUSHED_MAX 16384

struct flow_range flow_around(const struct flow *f, const struct flow_area *a, uint64_t addr)
{
	struct flow_range r = {a->addr, a->addr + a->size};
	uint32_t lo = sorted_upto(f->funcs.data, f->funcs.len, addr, addr);
	const struct flow_func *fn;

	if (lo < f->funcs.len)
		r.end = MIN(r.end, f->funcs.data[lo].addr);
	if (!lo)
		return r;
	fn = &f->funcs.data[lo - 1];
	if (addr - fn->addr < fn->size)
		return (struct flow_range){MAX(r.start, fn->addr), MIN(r.end, fn->addr + fn->size)};
	r.start = MAX(r.start, fn->addr + fn->size);
	return r;
}

uint64_t insn_before(const struct flow *f, const struct flow_range *bounds, uint64_t addr)
{
	const struct flow_area *a = area_at(f, bounds->start);

	for (uint64_t at = addr; a && at > bounds->start && addr - at < INSN_MAX;) {
		uint8_t entry = a->map[--at - a->addr];

		if (entry)
			return at + insn_size(entry) == addr ? at : 0;
	}
	return 0;
}

const struct flow_bar *bar_from(const struct flow *f, uint64_t addr)
{
	uint32_t lo = sorted_upto(f->bars.data, f->bars.len, end, addr);

	return lo < f->bars.len ? &f->bars.data[lo] : NULL;
}

/* Whether control enters one of the bytes behind the first. */
static bool is_entered(const struct flow_area *a, uint64_t start, uint64_t end)
{
	for (uint64_t at = start + 1; at < end; at++)
		if (is_marked(a, at))
			return true;
	return false;
}

/* Whether there is padding from an address up to another one, into which nothing leads. */
static bool is_padded(const struct flow_area *a, uint64_t start, uint64_t end)
{
	uint64_t at = start;

	while (at < end && at - a->addr < a->size) {
		uint8_t entry = a->map[at - a->addr];

		if (insn_kind(entry) != CODE_NOP && insn_kind(entry) != CODE_INT3)
			return false;
		at += insn_size(entry);
	}
	return at >= end && end - a->addr <= a->size && !is_entered(a, start - 1, end);
}

/* Whether an instruction can stand in a window; is_last: nothing of the jump is behind it. */
static enum flow_lack insn_lack(enum flow_insn kind, bool is_last)
{
	switch (kind) {
	case CODE_SYSCALL: return FLOW_SYSCALL;
	case CODE_CALL: return is_last ? FLOW_FITS : FLOW_CALL;
	case CODE_FIXED:
	case CODE_INT3:
	case CODE_BAD: return FLOW_UNMOVABLE;
	case CODE_PLAIN:
	case CODE_NOP:
	case CODE_ENDBR:
	case CODE_RET:
	case CODE_JMP:
	case CODE_JMP_TO:
	case CODE_JCC:
	case CODE_STOP: return FLOW_FITS;
	}
	return FLOW_UNMOVABLE;
}

/* Adds the instructions to a window that are needed for its jump, and those up to `last`. */
static enum flow_lack insns_add(const struct flow_area *a, const struct flow_range *bounds,
				uint64_t last, struct flow_window *w)
{
	uint64_t end = w->addr + w->jump;

	for (uint64_t at = w->addr + w->len; at < end || at <= last;) {
		uint8_t entry = at < bounds->end ? a->map[at - a->addr] : 0;
		uint64_t next = at + insn_size(entry);
		enum flow_lack lack;

		if (at >= bounds->end)
			return FLOW_SHORT;
		if (!entry)
			return FLOW_NO_CODE;
		lack = insn_lack(insn_kind(entry), next >= end && at >= last);
		if (lack != FLOW_FITS)
			return lack;
		if (w->nins == FLOW_INSNS_MAX || next - w->addr > FLOW_WINDOW_MAX)
			return FLOW_SHORT;
		w->ins[w->nins++] = (uint8_t)(at - w->addr);
		w->len = (uint8_t)(next - w->addr);
		at = next;
		if (ends_flow(insn_kind(entry))) {
			w->ends = true;
			return next <= last				? FLOW_ENTERED
			       : next >= end || is_padded(a, next, end) ? FLOW_FITS
									: FLOW_SHORT;
		}
	}
	return FLOW_FITS;
}

/*
 * Whether the bytes of a window may be overwritten, and moved. entered: control may come from
 * elsewhere to what is from this address on.
 */
static enum flow_lack bytes_lack(const struct flow *f, const struct flow_area *a,
				 const struct flow_window *w, uint64_t entered)
{
	uint64_t end = w->addr + MAX(w->len, w->jump);
	const struct flow_bar *bar = bar_from(f, w->addr);
	const struct flow_func *fn;

	if (bar && bar->start < end)
		return bar->why;
	if (is_entered(a, w->addr, MIN(w->addr + w->len, entered)))
		return FLOW_ENTERED;
	fn = w->nins > 1 ? func_in(f->funcs.data, f->funcs.len, w->addr) : NULL;
	if (fn && (fn->flags & FUNC_LOST))
		return FLOW_UNKNOWN_JUMP;
	return FLOW_FITS;
}

static void bytes_copy(const struct flow_area *a, struct flow_window *w)
{
	memcpy(w->old, a->code + (w->addr - a->addr), MAX(w->len, w->jump));
}

static enum flow_lack window_make(const struct flow *f, const struct flow_range *bounds,
				  uint64_t start, uint32_t jump, uint64_t last, uint64_t entered,
				  struct flow_window *ret)
{
	const struct flow_area *a = area_at(f, start);
	enum flow_lack lack;

	*ret = (struct flow_window){.addr = start, .jump = (uint8_t)jump};
	if (!a || start < bounds->start || !a->map[start - a->addr])
		return FLOW_NO_CODE;
	lack = insns_add(a, bounds, last, ret);
	if (lack == FLOW_FITS)
		lack = bytes_lack(f, a, ret, entered);
	if (lack == FLOW_FITS)
		bytes_copy(a, ret);
	return lack;
}

enum flow_lack window_try(const struct flow *f, const struct flow_range *bounds, uint64_t start,
			  uint32_t jump, uint64_t last, struct flow_window *ret)
{
	return window_make(f, bounds, start, jump, last, UINT64_MAX, ret);
}

enum flow_lack window_try_copy(const struct flow *f, const struct flow_range *bounds,
			       uint64_t start, uint32_t jump, uint64_t entered, uint64_t last,
			       struct flow_window *ret)
{
	return start + jump > entered ? FLOW_SHORT
				      : window_make(f, bounds, start, jump, last, entered, ret);
}

enum flow_lack target_try(const struct flow *f, uint64_t addr, struct flow_window *ret)
{
	const struct flow_area *a = area_at(f, addr);
	uint64_t i = a ? addr - a->addr : 0;
	uint32_t len = a ? insn_size(a->map[i]) : 0;
	enum flow_insn kind = a ? insn_kind(a->map[i]) : CODE_BAD;
	const struct flow_bar *bar = bar_from(f, addr);
	const uint8_t *end = a ? a->code + i + len : NULL; /* behind the instruction */

	*ret = (struct flow_window){.addr = addr,
				    .jump = FLOW_JUMP,
				    .len = (uint8_t)len,
				    .nins = 1,
				    .ends = true};
	if (!len ||
	    (kind != CODE_CALL && kind != CODE_JMP && kind != CODE_JMP_TO && kind != CODE_JCC))
		return FLOW_NO_CODE;
	if (bar && bar->start < addr + len)
		return bar->why;
	if (len < FLOW_JUMP)
		return FLOW_SHORT;
	if (kind == CODE_JCC ? len > FLOW_JUMP && end[-6] == 0x0f && (end[-5] & 0xf0) == 0x80
			     : end[-5] == (kind == CODE_CALL ? 0xe8 : 0xe9) && kind != CODE_JMP_TO)
		ret->target = FLOW_TARGET_CODE;
	else if (len > FLOW_JUMP && end[-6] == 0xff &&
		 end[-5] == (kind == CODE_CALL ? 0x15 : 0x25) && kind != CODE_JMP &&
		 kind != CODE_JCC)
		ret->target = FLOW_TARGET_WORD;
	else
		return FLOW_UNMOVABLE;
	ret->pushed = kind == CODE_CALL ? 8 : 0;
	memcpy(ret->old, a->code + i, len);
	return FLOW_FITS;
}

static bool window_lengthen(const struct flow *f, const struct flow_range *bounds,
			    struct flow_window *w, uint64_t last, uint64_t entered)
{
	const struct flow_area *a = area_at(f, w->addr);
	struct flow_window longer = *w;

	if (w->ends || !a || last < w->addr + w->len || last - w->addr >= FLOW_WINDOW_MAX ||
	    insn_kind(a->map[w->addr + w->ins[w->nins - 1] - a->addr]) == CODE_CALL ||
	    insns_add(a, bounds, last, &longer) != FLOW_FITS ||
	    bytes_lack(f, a, &longer, entered) != FLOW_FITS)
		return false;
	bytes_copy(a, &longer);
	*w = longer;
	return true;
}

bool window_extend(const struct flow *f, const struct flow_range *bounds, struct flow_window *w,
		   uint64_t last)
{
	return window_lengthen(f, bounds, w, last, UINT64_MAX);
}

bool window_extend_copy(const struct flow *f, const struct flow_range *bounds,
			struct flow_window *w, uint64_t entered, uint64_t last)
{
	return entered >= w->addr + w->len && window_lengthen(f, bounds, w, last, entered);
}

/* ---- what instructions do ------------------------------------------------------------------- */

struct details {
	ZydisDecodedInstruction in;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
};

static bool details_read(const uint8_t *code, uint64_t size, struct details *ret)
{
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, MIN(size, (uint64_t)INSN_MAX),
						   &ret->in, ret->ops));
}

static bool is_written(const ZydisDecodedOperand *op)
{
	return op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
}

static ZydisRegister whole_register(ZydisRegister r)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
}

/* The bit of an argument register in flow_window.changed_args, or 0. */
static uint32_t arg_bit(ZydisRegister r)
{
	static const ZydisRegister args[] = {ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RSI,
					     ZYDIS_REGISTER_RDX, ZYDIS_REGISTER_RCX,
					     ZYDIS_REGISTER_R8,	 ZYDIS_REGISTER_R9};

	for (uint32_t i = 0; i < ARRAY_LEN(args); i++)
		if (whole_register(r) == args[i])
			return 1u << i;
	return 0;
}

/*
 * The bytes that an instruction pushes; negative: a pop, as of V8's builtins that take their return
 * address off the stack. False: it changes the stack pointer in another way.
 */
static bool pushed_get(const struct details *d, int32_t *ret)
{
	const ZydisDecodedOperand *ops = d->ops;
	int64_t n = 0;

	*ret = 0;
	switch ((int)d->in.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH: n = d->in.operand_width / 8; break;
	case ZYDIS_MNEMONIC_POP:
		if (ops[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    whole_register(ops[0].reg.value) == ZYDIS_REGISTER_RSP)
			return false;
		*ret = -(d->in.operand_width / 8);
		return true;
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_ADD:
		if (ops[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    ops[0].reg.value != ZYDIS_REGISTER_RSP)
			break;
		if (ops[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return false;
		n = d->in.mnemonic == ZYDIS_MNEMONIC_SUB ? ops[1].imm.value.s : -ops[1].imm.value.s;
		break;
	case ZYDIS_MNEMONIC_LEA:
		if (ops[0].reg.value != ZYDIS_REGISTER_RSP)
			break;
		if (ops[1].mem.base != ZYDIS_REGISTER_RSP ||
		    ops[1].mem.index != ZYDIS_REGISTER_NONE)
			return false;
		n = -ops[1].mem.disp.value;
		break;
	default:
		for (uint32_t i = 0; i < d->in.operand_count; i++)
			if (ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER && is_written(&ops[i]) &&
			    whole_register(ops[i].reg.value) == ZYDIS_REGISTER_RSP)
				return false;
	}
	if (n < 0 || n > PUSHED_MAX)
		return false;
	*ret = (int32_t)n;
	return true;
}

/* Whether an instruction may have written below the stack pointer. */
static bool writes_red_zone(const struct details *d)
{
	for (uint32_t i = 0; i < d->in.operand_count_visible; i++)
		if (d->ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY && is_written(&d->ops[i]) &&
		    d->ops[i].mem.segment == ZYDIS_REGISTER_SS)
			return true;
	return false;
}

static enum flow_lack prologue_add(const struct details *d, struct flow_prologue *p)
{
	int32_t pushed;

	if (!pushed_get(d, &pushed))
		return FLOW_STACK;
	p->pushed = (int16_t)(p->pushed + pushed);
	p->has_red_zone |= writes_red_zone(d) || pushed < 0; /* what was popped is still there */
	for (uint32_t i = 0; i < d->in.operand_count; i++)
		if (d->ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER && is_written(&d->ops[i]))
			p->changed_args |= arg_bit(d->ops[i].reg.value);
	return FLOW_FITS;
}

enum flow_lack prologue_read(const struct flow *f, const struct flow_range *bounds, uint64_t addr,
			     struct flow_prologue *ret)
{
	const struct flow_area *a = area_at(f, addr);
	bool is_endbr;

	*ret = (struct flow_prologue){.behind = addr};
	do {
		uint64_t i = a ? ret->behind - a->addr : 0;
		uint8_t entry = a && ret->behind < bounds->end ? a->map[i] : 0;
		enum flow_insn kind = insn_kind(entry);
		enum flow_lack lack;
		struct details d;

		if (!entry)
			return a && ret->behind >= bounds->end ? FLOW_SHORT : FLOW_NO_CODE;
		if (kind != CODE_PLAIN && kind != CODE_NOP && kind != CODE_ENDBR)
			return kind == CODE_SYSCALL ? FLOW_SYSCALL
			       : kind == CODE_BAD   ? FLOW_UNMOVABLE
						    : FLOW_JUMPS;
		if (!details_read(a->code + i, a->size - i, &d))
			return FLOW_NO_CODE;
		lack = prologue_add(&d, ret);
		if (lack != FLOW_FITS)
			return lack;
		is_endbr = kind == CODE_ENDBR && ret->behind == addr;
		ret->behind += insn_size(entry);
		if (ret->behind >= bounds->end)
			return FLOW_SHORT;
		if (is_marked(a, ret->behind))
			return FLOW_LOOP;
	} while (is_endbr);
	return FLOW_FITS;
}

/* Whether an instruction writes all flags, whatever its operands are. */
static bool writes_flags(const struct details *d)
{
	switch ((int)d->in.mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_CMP:
	case ZYDIS_MNEMONIC_NEG:
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_XOR: return true;
	default: return false;
	}
}

bool window_has_flags(const struct flow_window *w, uint32_t off)
{
	struct details d;

	for (uint32_t i = 0; i < w->nins; i++) {
		if (w->ins[i] < off)
			continue;
		if (!details_read(w->old + w->ins[i], w->len - w->ins[i], &d) ||
		    (d.in.cpu_flags && d.in.cpu_flags->tested))
			return true;
		if (writes_flags(&d))
			return false;
	}
	return true;
}
