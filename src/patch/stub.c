/* SPDX-License-Identifier: MIT */
/* Windows of plans become stubs, and what is written into a process. */
#include "patch/stub.h"

#include "arch/arch.h"
#include "flow/flow.h"
#include "patch/patch.h"

_Static_assert(FLOW_INSNS_MAX <= STUB_INSNS_MAX, "a stub has all instructions of a window");

#define OPCODE_JMP	 0xe9
#define OPCODE_JMP_WORD	 0x25 /* behind ff: jmp *word(%rip) */
#define TARGET_WORD_SIZE 6

/* In the stub of a changed call, a jump to what it leads to stands in the place of the call. */
static void target_jump_make(const struct flow_window *w, uint8_t *code, struct stub_window *sw)
{
	uint8_t len = w->target == FLOW_TARGET_WORD ? TARGET_WORD_SIZE : FLOW_JUMP;

	memcpy(code, w->old + w->len - len, len);
	code[len - FLOW_JUMP] = len == FLOW_JUMP ? OPCODE_JMP : OPCODE_JMP_WORD;
	sw->addr += w->len - len;
	sw->code = code;
	sw->len = len;
}

const char *stub_make(const struct flow_window *w, int64_t bias, const struct stub_env *env,
		      struct stub_body *bodies, uint8_t *buf, uint32_t size, struct stub *ret)
{
	struct stub_window sw = {
		.addr = w->addr + (uint64_t)bias,
		.code = w->old,
		.len = w->len,
		.nins = w->nins,
		.ins = w->ins,
		.nbodies = w->nbodies,
		.bodies = bodies,
		.has_red_zone = w->has_red_zone,
		.has_flags = w->has_flags,
		.tail = w->tail.addr + (uint64_t)bias,
		.tail_code = w->tail.old,
		.tail_ins = w->tail.ins,
		.tail_len = w->tail.len,
		.tail_nins = w->tail.nins,
	};

	uint8_t jump[TARGET_WORD_SIZE];

	if (w->target)
		target_jump_make(w, jump, &sw);
	if (!arch.stubs)
		return "there are no stubs for this processor";
	for (uint32_t i = 0; i < w->nbodies; i++) {
		bodies[i].off = w->bodies[i].off;
		bodies[i].has_tail = w->bodies[i].has_tail;
	}
	return arch.stubs->make(&sw, env, buf, size, ret);
}

void stub_window(const struct flow_window *w, int64_t bias, const struct stub *s, taddr code,
		 struct patch_window *ret)
{
	*ret = (struct patch_window){
		.addr = w->addr + (uint64_t)bias,
		.pad = w->pad ? w->pad + (uint64_t)bias : 0,
		.stub = code,
	};
	if (w->target) {
		ret->is_call = true;
		ret->addr += w->len - FLOW_JUMP;
		memcpy(ret->old, w->old + w->len - FLOW_JUMP, FLOW_JUMP);
		return;
	}
	memcpy(ret->old, w->old, w->jump);
	memcpy(ret->old_pad, w->old_pad, sizeof(ret->old_pad));
	for (uint32_t i = 1; i < w->nins && w->ins[i] < w->jump; i++)
		ret->bounds[ret->nbounds++] =
			(struct patch_bound){.off = w->ins[i], .to = code + s->bounds[i]};
}

uint8_t stub_origin(const struct flow_window *w, const struct stub *s, uint32_t off)
{
	uint32_t i = 0;

	if (off >= s->behind)
		return w->len;
	while (i + 1u < s->nins && s->bounds[i + 1] <= off)
		i++;
	return w->ins[i];
}
