/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: speculations. The states are explained in abi.h.
 */
#include "rt/rt.h"

#define COUNT(field)                                                                               \
	do {                                                                                       \
		if (cpu < cfg.ncpus)                                                               \
			__sync_fetch_and_add(&val_control.cpu[cpu].field, 1);                      \
	} while (0)

/*
 * Returns the word of an id in MAP_SPEC. Returns NULL for the id 0, which no speculation has, and
 * NULL with a fault for a number beyond nspec.
 */
INLINE u64 *word_of(struct rt_mach *m, u64 id)
{
	s64 i = (s64)(s32)id - 1;

	if (i == -1)
		return NULL;
	OPAQUE(i);
	if ((u64)i >= cfg.nspec) {
		fault(m, FAULT_ILLOP, 0);
		return NULL;
	}
	return &val_spec[i];
}

/*
 * Returns the element that counts the bytes of an id on this CPU; another pair of id and CPU may
 * share the element (abi.h).
 */
INLINE struct rt_spec_use *use_of(struct rt_mach *m, u64 id)
{
	struct rt_spec_use *uses = (struct rt_spec_use *)&val_spec[cfg.nspec];
	u64 i = ((id - 1) * cfg.ncpus + m->cpu) & (cfg.nuses - 1);

	OPAQUE(i);
	return i < cfg.nuses ? &uses[i] : NULL;
}

/*
 * True if the element counts this use of the id on this CPU, and not another pair's or an earlier
 * use's.
 */
INLINE int use_is(const struct rt_spec_use *use, struct rt_mach *m, u64 id, u64 word)
{
	return use->word == word && use->id == (u32)id && use->cpu == m->cpu;
}

u64 rt_speculate(struct rt_mach *m, u64 id, u64 need)
{
	struct rt_spec_use *use;
	u64 *p, word;
	u32 cpu;

	if (!m)
		return 0;
	p = word_of(m, id);
	if (!p)
		return 0;
	word = *(volatile u64 *)p;
	if (RT_SPEC_STATE(word) != RT_SPEC_ACTIVE)
		return 0;
	use = use_of(m, (u32)id);
	if (!use)
		return 0;
	if (use_is(use, m, id, word))
		need += use->bytes;
	if (need <= cfg.specsize)
		return word;
	cpu = m->cpu;
	COUNT(spec_drops);
	return 0;
}

u64 rt_spec_used(struct rt_mach *m, u64 id, u64 word, u64 bytes)
{
	struct rt_spec_use *use;

	if (!m)
		return 0;
	use = use_of(m, (u32)id);
	if (!use)
		return 0;
	if (!use_is(use, m, id, word)) {
		use->word = word;
		use->id = (u32)id;
		use->cpu = m->cpu;
		use->bytes = 0;
	}
	use->bytes += ROUND_UP(bytes, 8);
	return 0;
}

/*
 * Moves an active speculation to the state that next() computes. Returns its word before, or 0 if
 * it was not active.
 */
INLINE u64 leave_active(u64 *p, u64 (*next)(u64))
{
	u64 word = *(volatile u64 *)p;

	if (RT_SPEC_STATE(word) != RT_SPEC_ACTIVE)
		return 0;
	return __sync_val_compare_and_swap(p, word, next(word)) == word ? word : 0;
}

INLINE u64 to_free(u64 word)
{
	return RT_SPEC_NEXT(word);
}

INLINE u64 to_committing(u64 word)
{
	return word - RT_SPEC_ACTIVE + RT_SPEC_COMMITTING;
}

u64 rt_discard(struct rt_mach *m, u64 id)
{
	u64 *p;

	if (!m)
		return 0;
	p = word_of(m, id);
	if (p)
		leave_active(p, to_free);
	return 0;
}

u64 rt_commit(struct rt_mach *m, u64 id)
{
	struct rt_rec_commit r;
	u64 *p, word;
	u32 cpu;

	if (!m)
		return 0;
	p = word_of(m, id);
	if (!p)
		return 0;
	word = leave_active(p, to_committing);
	if (!word)
		return 0;
	cpu = m->cpu;
	r.rec.clause = RT_REC_COMMIT;
	r.rec.probe = m->probe;
	r.rec.time = m->timestamp;
	if (r.rec.time == 0)
		r.rec.time = m->timestamp = bpf_ktime_get_ns();
	r.tag.word = word;
	r.tag.id = (u32)id;
	r.tag.pad = 0;
	if (rt_ring_output(cpu, &r, sizeof(r), BPF_RB_NO_WAKEUP))
		COUNT(drops);
	/*
	 * The id becomes free only now: whoever sees it free may rely on the record being in the
	 * buffer.
	 */
	__sync_lock_test_and_set(p, RT_SPEC_NEXT(word));
	return 0;
}

struct search {
	u32 id, busy;
};

static long id_step(u64 i, void *ctx)
{
	struct search *s = ctx;
	u64 word;

	if (i >= cfg.nspec)
		return 1;
	word = *(volatile u64 *)&val_spec[i];
	if (RT_SPEC_STATE(word) == RT_SPEC_COMMITTING)
		s->busy = 1;
	if (RT_SPEC_STATE(word) != RT_SPEC_FREE ||
	    __sync_val_compare_and_swap(&val_spec[i], word, word + RT_SPEC_ACTIVE) != word)
		return 0;
	s->id = (u32)i + 1;
	return 1;
}

/* Returns the lowest free id, which is active from now on, or 0 if all are in use. */
u64 rt_sub_speculation(struct rt_mach *m)
{
	struct search s = {0, 0};
	u32 cpu;

	if (!m)
		return 0;
	bpf_loop(cfg.nspec, id_step, &s, 0);
	if (s.id)
		return s.id;
	cpu = m->cpu;
	if (s.busy)
		COUNT(spec_busy);
	else
		COUNT(spec_unavail);
	return 0;
}
