/* SPDX-License-Identifier: MIT */
/* Where in a function its probes are, and how arguments are found there. */
#include "arch/arch.h"
#include "image/insn.h"
#include "kernel/kernel.h"
#include "provider/code/code.h"

enum code_spot code_entry_spot(const struct code_file *o, const struct func *fn)
{
	if (o->funcs->is_32bit)
		return SPOT_ENTRY32;
	switch (go_code_abi(&o->funcs->go, fn->addr, fn->name)) {
	case GO_NONE: return SPOT_ENTRY;
	case GO_UNKNOWN: return SPOT_ENTRY_NONE;
	case GO_STACK: return SPOT_ENTRY_STACK;
	case GO_REGISTERS: return SPOT_ENTRY_GO;
	}
	return SPOT_ENTRY;
}

enum code_spot code_return_spot(const struct code_file *o, const struct func *fn)
{
	switch (go_code_abi(&o->funcs->go, fn->addr, fn->name)) {
	case GO_NONE: return SPOT_RETURN;
	case GO_REGISTERS: return SPOT_RETURN_GO;
	case GO_UNKNOWN:
	case GO_STACK: break;
	}
	return SPOT_RETURN_NONE;
}

static uint32_t entry_skip(const struct code_file *o, const struct func *fn, const uint8_t *code,
			   size_t size)
{
	if (o->funcs->is_32bit)
		return 0;
	if (go_code_abi(&o->funcs->go, fn->addr, fn->name) != GO_NONE)
		return arch.insns->go_entry_skip(code, size);
	return arch.insns->entry_skip(code, size);
}

/* True if a jump of the function leads to off, or if the function's jumps are not known. */
static bool is_jumped_to(struct code_file *o, const struct func *fn, uint32_t off)
{
	const uint8_t *code = text_at(&o->image->text, fn->off, fn->size);
	struct insns s;
	bool is_target;

	if (!code || !fn->is_sized)
		return true;
	insns_decode(code, (uint32_t)fn->size, false, &s);
	is_target = s.is_partial;
	for (uint32_t i = 0; i < s.list.len; i++) {
		const struct insn *in = &s.list.data[i];

		is_target |= in->kind == INSN_JMP_TABLE ||
			     ((in->kind == INSN_JMP || in->kind == INSN_JCC) && in->target == off);
	}
	insns_deinit(&s);
	return is_target;
}

bool code_is_harmful_nop(const struct code_file *o, const uint8_t *code, size_t size)
{
	return !o->funcs->is_32bit && arch.insns->is_nop5(code, size) && feat_has(FEAT_UPROBE_NOP5);
}

bool code_entry_find(struct code_file *o, const struct func *fn, uint32_t *ret_skip)
{
	size_t size = MIN(fn->size, CODE_ENTRY_BYTES);
	const uint8_t *code = text_at(&o->image->text, fn->off, size);
	uint32_t skip;

	if (!code)
		return false;
	*ret_skip = skip = entry_skip(o, fn, code, size);
	if (code_is_harmful_nop(o, code + skip, size - skip)) {
		*ret_skip = skip + insn_len(code + skip, size - skip, false);
		return *ret_skip < size && !is_jumped_to(o, fn, *ret_skip);
	}
	return true;
}
