/* SPDX-License-Identifier: MIT */
/*
 * Reads what live() follows in the process (struct blob_live).
 *
 * A slot may change while it is read. So each is read twice, and counts if both reads say the same;
 * one that keeps changing is that of an address which comes and goes at this moment, and is left
 * out. An address that goes and comes meanwhile may be met in two slots: the later one counts. The
 * slots are read in parts, and such an address may be in two of them: what is found at the end of a
 * part is handed out when the next one was read, and what is found at the begin of the table, where
 * homes at its end go on, when all of it was. The element of an entry is found by the place of its
 * value, which lies in the table of an aggregation, or the entry is wrong, and is counted as bad.
 *
 * Slots that addresses own are read first. An address that then leaves its own slot, and comes
 * again elsewhere, would be met there, too; so the words that were handed out are remembered. One
 * that comes the other way round is left out.
 *
 * Entries of slots that the tracer has marked dead (data_aggs.c) have the key that was there: such
 * a slot is not used again before a reading that has begun later than the mark's time of grace has
 * met no entry of it.
 */
#include "native/data_impl.h"

#define READ_SLOTS 4096u
#define TRIES	   8u

/* Entries that are not handed out any more, by address and time. */
struct buried_key {
	uint64_t addr, time;
};

struct live_state {
	struct hashmap *buried; /* struct buried_key -> is there */
	struct hashmap *met;	/* those of them that the reading has met */
	struct blob_live *slots, *again;
	uint64_t nbad; /* entries without an element in the last reading that was whole */
};

/* Slots from which an address may have gone to others that are read later. */
struct held_slots {
	struct blob_live slots[BLOB_LIVE_REACH];
	uint32_t n;
};

struct live_reading {
	struct ndata *d;
	agg_alive_f *f;
	void *arg;
	struct arena *arena;
	struct hashmap *elems;	/* blob_live.elem -> struct rt_live, as large as the layout says */
	struct rt_live *sought; /* room for one that may not exist */
	struct held_slots first, held; /* at the begin of the table, and at the end of a part */
	uint64_t *owners; /* by number of an own slot, the word that was handed out; 0: none was */
	uint64_t nbad;
};

void lives_init(struct ndata *d)
{
	struct live_state *v;

	if (!d->plan->live_off)
		return;
	v = d->lives = xcalloc(1, sizeof(*d->lives));
	v->buried = hashmap_create();
	v->met = hashmap_create();
	v->slots = xcalloc(READ_SLOTS, sizeof(*v->slots));
	v->again = xcalloc(READ_SLOTS, sizeof(*v->again));
}

void lives_deinit(struct ndata *d)
{
	struct live_state *v = d->lives;

	if (!v)
		return;
	hashmap_destroy(v->buried);
	hashmap_destroy(v->met);
	free(v->slots);
	free(v->again);
	free(v);
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* strays belongs to the home, not to the address. */
static bool is_same(const struct blob_live *a, const struct blob_live *b)
{
	return a->word == b->word && a->time == b->time && a->bytes == b->bytes &&
	       a->elem == b->elem;
}

/* Reads a slot until two reads say the same; *ret_done is false if it keeps changing. */
static struct err *slot_settle(const struct ndata *d, uint64_t off, struct blob_live *s,
			       bool *ret_done)
{
	struct err *e = NULL;

	*ret_done = false;
	for (uint32_t i = 0; i < TRIES && !e && !*ret_done; i++) {
		struct blob_live before = *s;

		e = ndata_read(d, off, s, sizeof(*s));
		*ret_done = !e && is_same(s, &before);
	}
	return e;
}

static bool is_buried(struct live_state *v, uint64_t addr, uint64_t time)
{
	struct buried_key key = {addr, time};

	if (!hashmap_find(v->buried, &key, sizeof(key)))
		return false;
	hashmap_set(v->met, &key, sizeof(key), v);
	return true;
}

/*
 * The entry of an element, without time and bytes; NULL: there is no such element. Only elements
 * are remembered: there are no more of them than an aggregation has room for, whatever slots say.
 */
static struct rt_live *entry_find(struct live_reading *r, uint32_t elem)
{
	size_t size = r->d->layout->live_size;
	struct rt_live *entry = hashmap_find(r->elems, &elem, sizeof(elem));

	if (entry)
		return entry;
	memset(r->sought, 0, size);
	maps_find_elem(r->d, (uint64_t)elem * 8, r->sought, size - sizeof(*entry));
	if (!r->sought->agg)
		return NULL;
	entry = memcpy(arena_alloc(r->arena, size), r->sought, size);
	hashmap_set(r->elems, &elem, sizeof(elem), entry);
	return entry;
}

static void slot_hand_out(struct live_reading *r, const struct blob_live *s)
{
	struct rt_live_key key = {.addr = s->word ^ BLOB_LIVE_XOR};
	struct rt_live *entry;

	if (is_buried(r->d->lives, key.addr, s->time))
		return;
	entry = entry_find(r, s->elem);
	if (!entry) {
		r->nbad++;
		return;
	}
	entry->time = s->time;
	entry->bytes = s->bytes;
	/* addresses of the kernel are the same in all processes */
	key.pid = key.addr >> 63 ? 0 : r->d->hooks.pid;
	r->f(r->arg, &key, entry);
}

/* The number of the slot that the address of a word may own. */
static uint64_t own_number(const struct live_reading *r, uint64_t word)
{
	uint32_t bits = (uint32_t)__builtin_ctz(r->d->plan->own_slots);

	return blob_live_own(word ^ BLOB_LIVE_XOR, 64 - bits);
}

static void slots_hand_out(struct live_reading *r, const struct blob_live *slots, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (slots[i].word > BLOB_LIVE_BUSY &&
		    r->owners[own_number(r, slots[i].word)] != slots[i].word)
			slot_hand_out(r, &slots[i]);
}

/* Hands out own slots, of which the first one has this number. */
static void own_hand_out(struct live_reading *r, uint32_t from, const struct blob_live *slots,
			 uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct blob_live *s = &slots[i];

		if (s->word <= BLOB_LIVE_BUSY || s->time > BLOB_LIVE_TIME_MAX)
			continue;
		if (own_number(r, s->word) != from + i) {
			r->nbad++;
			continue;
		}
		slot_hand_out(r, s);
		r->owners[from + i] = s->word;
	}
}

/*
 * A slot has got its address while the slots were read: a slot near it that had the same address
 * was read before that.
 */
static void slot_leave_older(struct blob_live *slots, uint32_t n, uint32_t i)
{
	uint32_t from = i > BLOB_LIVE_REACH ? i - BLOB_LIVE_REACH : 0;

	for (uint32_t k = from; k < MIN(n, i + BLOB_LIVE_REACH); k++)
		if (k != i && slots[k].word == slots[i].word && slots[k].time <= slots[i].time)
			slots[k].word = 0;
}

/* Leaves out the older one of two entries of an address. */
static void held_leave_older(struct held_slots *h, struct blob_live *slots, uint32_t n)
{
	for (uint32_t i = 0; i < h->n; i++)
		for (uint32_t k = 0; k < n && h->slots[i].word > BLOB_LIVE_BUSY; k++) {
			if (slots[k].word != h->slots[i].word)
				continue;
			if (slots[k].time < h->slots[i].time)
				slots[k].word = 0;
			else
				h->slots[i].word = 0;
		}
}

static void held_keep(struct held_slots *h, const struct blob_live *slots, uint32_t n)
{
	memcpy(h->slots, slots, n * sizeof(*slots));
	h->n = n;
}

/* Hands out what a part of the table has, but for what waits for slots that are read later. */
static void part_hand_out(struct live_reading *r, uint32_t from, struct blob_live *slots,
			  uint32_t n)
{
	uint32_t nfirst = from ? 0 : MIN(n, BLOB_LIVE_REACH);
	uint32_t nlast = MIN(n - nfirst, BLOB_LIVE_REACH);

	held_leave_older(&r->held, slots, MIN(n, BLOB_LIVE_REACH));
	slots_hand_out(r, r->held.slots, r->held.n);
	if (nfirst)
		held_keep(&r->first, slots, nfirst);
	slots_hand_out(r, slots + nfirst, n - nfirst - nlast);
	held_keep(&r->held, slots + n - nlast, nlast);
}

static void rest_hand_out(struct live_reading *r)
{
	held_leave_older(&r->held, r->first.slots, r->first.n);
	slots_hand_out(r, r->held.slots, r->held.n);
	slots_hand_out(r, r->first.slots, r->first.n);
}

/*
 * Whether a slot can have an address that other slots have: one that has changed, and each of those
 * whose times only say an order: an address may go, come, and go back at the same time.
 */
static bool may_be_again(const struct live_reading *r, const struct blob_live *s, bool has_changed)
{
	return s->word > BLOB_LIVE_BUSY && (has_changed || r->d->layout->opts.liveorder);
}

/* One of the two tables, or a part of it. */
struct live_part {
	uint64_t off; /* of the table's slots in the data part */
	uint32_t from, n;
	bool is_own;
};

/* Hands out a part that was read, in which these slots have changed meanwhile. */
static void part_finish(struct live_reading *r, const struct live_part *p, const bool *has_changed)
{
	struct blob_live *slots = r->d->lives->again;

	if (p->is_own) {
		own_hand_out(r, p->from, slots, p->n);
		return;
	}
	for (uint32_t i = 0; i < p->n; i++)
		if (may_be_again(r, &slots[i], has_changed[i]))
			slot_leave_older(slots, p->n, i);
	part_hand_out(r, p->from, slots, p->n);
}

static struct err *part_read(struct live_reading *r, const struct live_part *p)
{
	struct live_state *v = r->d->lives;
	uint64_t at = p->off + (uint64_t)p->from * sizeof(*v->slots);
	struct err *e = ndata_read(r->d, at, v->slots, p->n * sizeof(*v->slots));
	bool has_changed[READ_SLOTS] = {false};

	if (!e)
		e = ndata_read(r->d, at, v->again, p->n * sizeof(*v->slots));
	for (uint32_t i = 0; i < p->n && !e; i++) {
		struct blob_live *s = &v->again[i];
		bool is_done = true;

		has_changed[i] = !is_same(s, &v->slots[i]);
		if (has_changed[i])
			e = slot_settle(r->d, at + i * sizeof(*s), s, &is_done);
		if (!is_done)
			s->word = 0;
	}
	if (!e)
		part_finish(r, p, has_changed);
	return e;
}

/* Reads nslots slots, those of them that exist. */
static struct err *table_read(struct live_reading *r, uint64_t off, uint32_t nslots, bool is_own)
{
	uint64_t size = sizeof(struct blob_live), end = off + nslots * size;
	struct err *e = NULL;

	for (uint32_t i = 0, n; i < nslots && !e; i += n) {
		uint64_t at = ndata_skip_holes(r->d, off + i * size, end);

		i = (uint32_t)((at - off) / size);
		n = MIN(READ_SLOTS, nslots - i);
		if (n)
			e = part_read(r, &(struct live_part){off, i, n, is_own});
	}
	return e;
}

/* ---- as the session sees it ------------------------------------------------------------------ */

/* Forgets buried entries that the last reading has not met: they have left the table. */
static void buried_forget(struct live_state *v)
{
	hashmap_destroy(v->buried);
	v->buried = v->met;
	v->met = hashmap_create();
}

struct err *lives_each(void *ctx, agg_alive_f *f, void *arg)
{
	struct ndata *d = ctx;
	struct live_reading r = {.d = d, .f = f, .arg = arg};
	struct err *e;

	if (!d->lives)
		return NULL;
	r.arena = arena_create();
	r.elems = hashmap_create();
	r.sought = arena_alloc(r.arena, d->layout->live_size);
	/* most of it is never touched, and takes no memory */
	r.owners = xcalloc(d->plan->own_slots, sizeof(*r.owners));
	maps_begin_uses(d);
	e = table_read(&r, d->plan->own_off, d->plan->own_slots, true);
	if (!e)
		e = table_read(&r, d->plan->live_off, d->plan->live_slots, false);
	if (!e) {
		rest_hand_out(&r);
		buried_forget(d->lives);
		d->lives->nbad = r.nbad;
	}
	free(r.owners);
	hashmap_destroy(r.elems);
	arena_destroy(r.arena);
	return e;
}

/*
 * With liveorder the next object at the address may have the same time, and would be taken for the
 * one that is gone: nothing is buried then.
 */
bool lives_bury(void *ctx, const struct rt_live_key *key, uint64_t time)
{
	struct ndata *d = ctx;
	struct buried_key buried = {key->addr, time};

	if (!d->lives || (key->pid != d->hooks.pid && key->pid))
		return true;
	if (d->layout->opts.liveorder)
		return false;
	hashmap_set(d->lives->buried, &buried, sizeof(buried), d->lives);
	return true;
}

uint64_t ndata_nbad_lives(const struct ndata *d)
{
	return d->lives ? d->lives->nbad : 0;
}
