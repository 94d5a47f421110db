/* SPDX-License-Identifier: MIT */
/*
 * An environment for DIF programs in tests: some kernel memory, some user memory, some built-ins.
 *
 * Kernel memory is KMEM_SIZE bytes at KMEM, user memory UMEM_SIZE bytes at UMEM; everything else is
 * unreadable.
 */
#pragma once

#include "tap.h"

#include "dif/interp.h"

#define KMEM	  0xffff888000000000ull
#define KMEM_SIZE 512u
#define UMEM	  0x10000ull
#define UMEM_SIZE 512u

struct world {
	struct arena *arena;
	uint8_t kmem[KMEM_SIZE], umem[UMEM_SIZE];
	struct dif_machine *m;
	struct difo *last; /* what was run last */
};

static inline bool world_load(const uint8_t *mem, uint64_t base, uint32_t mem_size, uint64_t addr,
			      void *buf, uint32_t size)
{
	if (addr < base || addr - base > mem_size || size > mem_size - (addr - base))
		return false;
	memcpy(buf, mem + (addr - base), size);
	return true;
}

static inline bool world_load_kernel(void *ctx, uint64_t addr, void *buf, uint32_t size)
{
	return world_load(((struct world *)ctx)->kmem, KMEM, KMEM_SIZE, addr, buf, size);
}

static inline bool world_load_user(void *ctx, uint64_t addr, void *buf, uint32_t size)
{
	return world_load(((struct world *)ctx)->umem, UMEM, UMEM_SIZE, addr, buf, size);
}

/* args[i] = 100 + i up to 9; pid = 42; everything else is an illegal operation. */
static inline enum dif_fault world_builtin(void *ctx, uint32_t id, uint64_t index, uint64_t *ret)
{
	(void)ctx;
	if (id == DIF_VAR_ARGS && index > 9) {
		*ret = index;
		return DIF_FAULT_BADINDEX;
	}
	*ret = id == DIF_VAR_ARGS ? 100 + index : id == DIF_VAR_PID ? 42 : 0;
	return *ret ? DIF_FAULT_NONE : DIF_FAULT_ILLOP;
}

static inline uint32_t world_rand(void *ctx)
{
	(void)ctx;
	return 0xfedcba98;
}

static inline bool world_progenyof(void *ctx, int32_t pid)
{
	(void)ctx;
	return pid == 1 || pid == 42;
}

static inline void world_init(struct world *w, const struct dif_machine_opts *opts)
{
	struct dif_env env = {.ctx = w,
			      .load_kernel = world_load_kernel,
			      .load_user = world_load_user,
			      .builtin = world_builtin,
			      .rand = world_rand,
			      .progenyof = world_progenyof};

	memset(w, 0, sizeof(*w));
	w->arena = arena_create();
	w->m = dif_machine_create(&env, opts);
	dif_machine_begin_firing(w->m, 1);
}

static inline void world_deinit(struct world *w)
{
	dif_machine_destroy(w->m);
	arena_destroy(w->arena);
}

/* Parses, verifies and runs; a refusal is a failed test and gives fault 99. */
static inline struct dif_result world_run(struct world *w, const char *text)
{
	struct err *e = difo_parse(w->arena, text, &w->last);

	if (!e)
		e = difo_verify(w->last, DIF_MAX_REGS);
	if (e) {
		ok(false, "refused: %s", err_text(e));
		err_destroy(e);
		return (struct dif_result){.fault = (enum dif_fault)99};
	}
	return dif_run(w->m, w->last);
}
