/* SPDX-License-Identifier: MIT */
/* Regions: the memory of counters, and the slots in it that probes have. Firing reads regions. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "impl.h"
#include "stub.h"

struct region *region_list;

/* The probe of definitions that belong to no provider. */
static usdt_probe_t dead_probe;

static struct region_head *head_map(void)
{
	uintptr_t size = 2 * HALF;
	uint8_t *p =
		mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uintptr_t base = ((uintptr_t)p + size - 1) & ~(size - 1);

	if (p == MAP_FAILED)
		return NULL;
	/* What is before and behind the aligned part goes back; if not, only addresses are lost. */
	if (base != (uintptr_t)p)
		(void)munmap(p, base - (uintptr_t)p);
	if (base != (uintptr_t)p + size)
		(void)munmap((void *)(base + size), (uintptr_t)p + size - base);
	if (mprotect((void *)base, HALF, PROT_READ | PROT_WRITE) ||
	    mprotect((void *)(base + HALF), HALF, PROT_READ)) {
		(void)munmap((void *)base, size);
		return NULL;
	}
	return (struct region_head *)base;
}

static struct region *region_get(struct provider *pv)
{
	struct region *r;

	for (r = region_list; r; r = r->next)
		if (r->provider == pv && !r->object && r->nused < SLOTS)
			return r;
	for (r = region_list; r; r = r->next)
		if (!r->provider)
			break;
	if (!r) {
		r = calloc(1, sizeof(*r));
		if (!r)
			return NULL;
		r->head = head_map();
		if (!r->head) {
			free(r);
			return NULL;
		}
		r->next = region_list;
		region_list = r;
	}
	r->provider = pv;
	return r;
}

bool slot_take(struct provider *pv, struct probedef *def)
{
	struct region *r = region_get(pv);
	uint32_t slot = 0;

	if (!r)
		return false;
	/* The slot of a probe that was removed is used again when there is no other. */
	if (r->nslots < SLOTS)
		slot = r->nslots++;
	else
		while (r->defs[slot])
			slot++;
	r->nused++;
	r->defs[slot] = def;
	atomic_store(&r->head->argc[slot], (uint8_t)def->pub.argc);
	def->region = r;
	def->slot = slot;
	def->pub.probe = (usdt_probe_t *)((uintptr_t)r->head + HALF) + slot;
	return true;
}

void slot_release(struct probedef *def)
{
	struct region *r = def->region;

	if (r) {
		r->defs[def->slot] = NULL;
		r->nused--;
		while (r->nslots && !r->defs[r->nslots - 1])
			r->nslots--;
	}
	def->region = NULL;
	def->pub.probe = &dead_probe;
}

void region_release(struct region *r)
{
	r->provider = NULL;
	r->nslots = 0;
}

/*
 * The kernel changes counters, and whole pages of them when a provider is enabled or disabled.
 * ThreadSanitizer takes both for writes by other threads.
 */
__attribute__((no_sanitize("thread"))) int usdt_is_enabled(usdt_probe_t *probe)
{
	return probe && __atomic_load_n(&probe->nconsumers, __ATOMIC_RELAXED) != 0;
}

static void stub_enter(uintptr_t stub, unsigned int nargs, size_t argc, void **argv)
{
	void *a[USDT_ARG_MAX] = {0};

	if (argv)
		memcpy(a, argv, (argc < nargs ? argc : nargs) * sizeof(*a));
	stub_call(stub, nargs, a);
}

void usdt_fire_probe(usdt_probe_t *probe, size_t argc, void **argv)
{
	uintptr_t at = (uintptr_t)probe, stubs;
	struct region_head *h = (struct region_head *)(at & ~(2 * HALF - 1));
	uintptr_t slot = (at & (HALF - 1)) / sizeof(*probe);

	if (!usdt_is_enabled(probe))
		return;
	/*
	 * Whoever withdraws an object clears stubs first and reads nfiring afterwards, so either
	 * this thread finds no stubs, or that thread knows that this one is here.
	 */
	atomic_fetch_add(&h->nfiring, 1);
	stubs = atomic_load(&h->stubs);
	if (stubs)
		stub_enter(stubs + slot * STUB_SIZE, atomic_load(&h->argc[slot]), argc, argv);
	if (atomic_fetch_sub(&h->nfiring, 1) == 1 && atomic_load(&h->has_garbage) && lock_try()) {
		for (struct region *r = region_list; r; r = r->next)
			if (r->head == h)
				garbage_unmap(r);
		lock_release();
	}
}
