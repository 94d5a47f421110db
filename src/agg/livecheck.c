/* SPDX-License-Identifier: MIT */
/*
 * Whether the objects that live() follows are still there (option livecheck).
 *
 * A runtime may free objects where no probe can see it: the collector's sweep of Ruby has no
 * function for a plain object. But what an object is, it says itself: a word of it leads to its
 * class. Memory that was freed has something else there, or another class. So the table is read
 * twice: the first time entries are collected and compared with the memory of their process, the
 * second time alive.c leaves out those that are gone. An object that came in between has another
 * time than the entry that was compared.
 *
 * Objects lie close to each other, so they are sorted, and a read gets all of LIVE_READ_MAX bytes.
 * Where a part of it cannot be read, it is halved until the objects without memory are known.
 *
 * An entry that is gone may stay in the table (agg_io.bury()), and is found again by each snapshot.
 * So what the last one has read is kept until the next one has been compared with it: an entry is
 * counted once. With liveorder the next object at an address may have the time of the one before
 * it: it is another one if its class is another, or if a snapshot has seen it alive.
 *
 * An object's class may not be that with which it was made: an object of Ruby that gets methods of
 * its own has a class of its own, which leads to the one before. Option livebase follows this way.
 */
#include "agg/impl.h"

#define STEPS_MAX 8 /* from a class of one object to the class it was made with */

struct collecting {
	struct aggs *a;
	alive_elem_f *get;
	void *arg;
};

void aggs_set_livecheck(struct aggs *a, const struct live_check *check)
{
	a->alive.check = *check;
}

struct live_checked aggs_live_checked(const struct aggs *a)
{
	return a->alive.checked;
}

static void entry_collect(void *arg, const struct rt_live_key *key, const struct rt_live *entry)
{
	struct collecting *c = arg;
	struct agg_slot *slot;
	struct agg_elem *e;
	const struct agg_key *last;

	if (!key->pid || !entry->agg || entry->agg > c->a->nslots)
		return;
	slot = &c->a->slots[entry->agg - 1];
	if (slot->view.agg->func != AGGFUNC_LIVE)
		return;
	e = c->get(c->arg, slot, entry->key);
	last = e && e->nkeys ? &e->keys[e->nkeys - 1] : NULL;
	if (!last || last->datum != DATUM_INT || last->size != sizeof(uint64_t))
		return;
	vec_push(&c->a->alive.followed,
		 ((struct followed){.key = *key, .time = entry->time, .expected = last->ival}));
}

static int followed_compare(const void *a, const void *b)
{
	const struct rt_live_key *x = &((const struct followed *)a)->key,
				 *y = &((const struct followed *)b)->key;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void followed_swap(struct alive *v)
{
	const struct alive was = *v;

	v->followed = was.before;
	v->before = was.followed;
}

/* Takes over which entries the snapshot before has counted. Both lists are sorted. */
static void counted_take(struct alive *v)
{
	const struct followed *before = v->before.data;
	uint32_t k = 0, nbefore = v->before.len;

	for (uint32_t i = 0; i < v->followed.len; i++) {
		struct followed *f = &v->followed.data[i];

		while (k < nbefore && followed_compare(&before[k], f) < 0)
			k++;
		f->is_counted = k < nbefore && followed_compare(&before[k], f) == 0 &&
				before[k].time == f->time && before[k].expected == f->expected &&
				before[k].is_counted;
	}
}

/* Says in *ret whether the class has the expected one as a base; false: it cannot be read. */
static bool base_check(const struct live_check *check, uint64_t pid, uint64_t class,
		       uint64_t expected, bool *ret)
{
	*ret = false;
	for (uint32_t i = 0; check->has_base && i < STEPS_MAX && !*ret; i++) {
		enum live_memory got =
			check->read(check->arg, pid, class + check->base, &class, sizeof(class));

		if (got == LIVE_MEMORY_UNKNOWN)
			return false;
		if (got == LIVE_MEMORY_NONE || !class)
			break;
		*ret = class == expected;
	}
	return true;
}

/* Compares objects of one process that lie within LIVE_READ_MAX; false: it cannot be read. */
static bool range_check(struct alive *v, struct followed *f, uint32_t n, uint8_t *buf)
{
	uint64_t at = f[0].key.addr, pid = f[0].key.pid, word;
	size_t size = (size_t)(f[n - 1].key.addr - at) + sizeof(word);
	enum live_memory got = v->check.read(v->check.arg, pid, at + v->check.offset, buf, size);
	bool is_derived;

	if (got == LIVE_MEMORY_UNKNOWN)
		return false;
	if (got == LIVE_MEMORY_NONE && n > 1)
		return range_check(v, f, n / 2, buf) && range_check(v, f + n / 2, n - n / 2, buf);
	for (uint32_t i = 0; i < n; i++) {
		f[i].is_gone = got == LIVE_MEMORY_NONE;
		if (f[i].is_gone)
			continue;
		memcpy(&word, buf + (f[i].key.addr - at), sizeof(word));
		if (word == f[i].expected)
			continue;
		if (!base_check(&v->check, pid, word, f[i].expected, &is_derived))
			return false;
		f[i].is_gone = !is_derived;
	}
	return true;
}

/* An object that was counted and is there is another one: it counts when it goes in its turn. */
static void counted_reset(struct followed *f, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		f[i].is_counted = f[i].is_counted && f[i].is_gone;
}

/* Compares the objects of one process. */
static void process_check(struct alive *v, struct followed *f, uint32_t n, uint8_t *buf)
{
	uint32_t end;

	for (uint32_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n && f[end].key.addr - f[i].key.addr <=
						     LIVE_READ_MAX - sizeof(uint64_t);)
			end++;
		if (range_check(v, f + i, end - i, buf)) {
			counted_reset(f + i, end - i);
			continue;
		}
		v->checked.nunknown += n - i;
		for (; i < n; i++)
			f[i].is_gone = false;
		return;
	}
}

struct err *livecheck_make(struct aggs *a, alive_elem_f *get, void *arg)
{
	struct alive *v = &a->alive;
	struct collecting c = {a, get, arg};
	CLEANUP(free) uint8_t *buf = NULL;
	struct err *e;
	uint32_t end;

	v->checked.nunknown = 0;
	if (!v->check.is_on)
		return NULL;
	followed_swap(v);
	vec_clear(&v->followed);
	e = a->io->alive(a->ctx, entry_collect, &c);
	if (e)
		followed_swap(v); /* the last snapshot that was read stays the one before */
	if (e || !v->followed.len)
		return e;
	buf = xmalloc(LIVE_READ_MAX);
	qsort(v->followed.data, v->followed.len, sizeof(v->followed.data[0]), followed_compare);
	counted_take(v);
	for (uint32_t i = 0; i < v->followed.len; i = end) {
		struct followed *f = &v->followed.data[i];

		for (end = i + 1;
		     end < v->followed.len && v->followed.data[end].key.pid == f->key.pid;)
			end++;
		process_check(v, f, end - i, buf);
	}
	return NULL;
}

static struct followed *followed_find(const struct alive *v, const struct rt_live_key *key,
				      uint64_t time)
{
	const struct followed want = {.key = *key};
	struct followed *found;

	if (!v->followed.len)
		return NULL;
	found = bsearch(&want, v->followed.data, v->followed.len, sizeof(want), followed_compare);
	return found && found->time == time ? found : NULL;
}

bool livecheck_is_gone(const struct alive *v, const struct rt_live_key *key, uint64_t time)
{
	const struct followed *f = followed_find(v, key, time);

	return f && f->is_gone;
}

void livecheck_count(struct alive *v, const struct alive_key *k)
{
	struct followed *f = followed_find(v, &k->key, k->time);

	if (!f || f->is_counted)
		return;
	f->is_counted = true;
	v->checked.ngone++;
}
