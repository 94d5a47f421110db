/* SPDX-License-Identifier: MIT */
/* Windows of plans become stubs, and what is written into a process. */
#include "patch/stub.h"

#include "arch/arch.h"
#include "flow/flow.h"
#include "patch/patch.h"

_Static_assert(FLOW_INSNS_MAX <= STUB_INSNS_MAX, "a stub has all instructions of a window");

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
	};

	if (!arch.stubs)
		return "there are no stubs for this processor";
	for (uint32_t i = 0; i < w->nbodies; i++)
		bodies[i].off = w->bodies[i].off;
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
