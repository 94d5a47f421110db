/* SPDX-License-Identifier: MIT */
/*
 * Fills the caches from which hash maps take elements in interrupts.
 *
 * A hash map without preallocation takes new elements from a small cache of the current CPU, which
 * has one to four elements at first; it is refilled only after the interrupt has returned. A
 * profile probe that adds a few keys at once would therefore drop some of the first ones. Adding
 * and removing one element on each CPU beforehand makes the kernel fill that CPU's cache.
 *
 * Facts    Linux 7c8199e24fa0 ("bpf: Introduce any context BPF specific memory allocator."), v6.1:
 *          kernel/bpf/memalloc.c, prefill_mem_cache() and unit_alloc().
 */
#include <sched.h>

#include "bpf/engine.h"

struct warm_map {
	int fd;
	size_t key_size, value_size; /* for a per-CPU map the values of all CPUs */
};

/* A failure is no error: with a cold cache the first keys may be dropped, and are counted. */
static void map_warm(const struct warm_map *w)
{
	CLEANUP(free) void *key = xcalloc(1, w->key_size), *value = xcalloc(1, w->value_size);
	union bpf_attr attr = {
		.map_fd = (uint32_t)w->fd,
		.key = (uintptr_t)key,
		.value = (uintptr_t)value,
		.flags = BPF_NOEXIST,
	};

	if (sys_bpf(BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)) != 0)
		return;
	attr.value = attr.flags = 0;
	(void)sys_bpf(BPF_MAP_DELETE_ELEM, &attr, sizeof(attr));
}

void kmaps_warm(const struct kmaps *m, const struct layout *l)
{
	VEC(struct warm_map) maps = {0};
	cpu_set_t *before = CPU_ALLOC(m->ncpus), *one = CPU_ALLOC(m->ncpus);
	size_t size = CPU_ALLOC_SIZE(m->ncpus);

	for (uint32_t i = 0; i < l->nagg_maps; i++)
		if (l->agg_maps[i].key_size)
			vec_push(&maps,
				 (struct warm_map){m->agg_fds[i], l->agg_maps[i].key_size,
						   elem_map_read_size(&l->agg_maps[i], m->ncpus)});
	for (uint32_t i = 0; i < l->narr_maps; i++)
		vec_push(&maps, (struct warm_map){m->arr_fds[i], l->arr_maps[i].key_size,
						  l->arr_maps[i].val_size});
	if (m->fd[MAP_STRINGS] >= 0)
		vec_push(&maps,
			 (struct warm_map){m->fd[MAP_STRINGS], 8,
					   sizeof(struct rt_keystr) + ROUND_UP(l->strsize, 4)});
	if (m->fd[MAP_STACKS] >= 0)
		vec_push(&maps, (struct warm_map){m->fd[MAP_STACKS], 8, m->stack_size});
	if (m->fd[MAP_UFILES] >= 0)
		vec_push(&maps, (struct warm_map){m->fd[MAP_UFILES], sizeof(struct rt_ufile_key),
						  sizeof(struct rt_ufile)});
	if (maps.len && before && one && sched_getaffinity(0, size, before) == 0) {
		for (uint32_t cpu = 0; cpu < m->ncpus; cpu++) {
			CPU_ZERO_S(size, one);
			CPU_SET_S(cpu, size, one);
			if (m->ring_fds[cpu] < 0 || sched_setaffinity(0, size, one) != 0)
				continue; /* the CPU is offline, or not allowed for this process */
			for (uint32_t i = 0; i < maps.len; i++)
				map_warm(&maps.data[i]);
		}
		(void)sched_setaffinity(0, size, before); /* cannot fail: it was set before */
	}
	CPU_FREE(before);
	CPU_FREE(one);
	vec_deinit(&maps);
}
