/* SPDX-License-Identifier: MIT */
/*
 * Strings and stacks of keys, which the kernel's keys have as hashes only.
 *
 * The kernel has one copy of each, in a table beside the aggregations (record/layout.h): a probe
 * that makes a new element adds what is not there yet, and then inserts the element. Once read, a
 * text is known here, too. When trunc() has taken elements out, nothing in the kernel says which
 * texts are still used; so whatever no key of a snapshot has is deleted from the table when there
 * is much of it. Otherwise a session that lasts for months would run out of room.
 *
 * A probe may have found a text in the table just before that is deleted, and insert an element
 * with its hash just afterwards. Therefore a text that was deleted stays known here until a
 * snapshot that began KEEP_NS after the deletion has found no key with it. A key that is found is
 * in use, and its text is kept as long as that key is.
 *
 * Stacks may also be values of variables (dif/prog.h, PROG_STACK_USER): a sweep keeps those, too,
 * and reads the variables for it. A stack that is only in a record which nobody has read yet, or in
 * a clause that runs, is in none of them, and lives on here for KEEP_NS. The hash is that of the
 * content, so a stack that was deleted after all shows as missing, and never as another one. Where
 * stacks become values, the table is also searched when a quarter of it is new.
 *
 * When an aggregation is full, texts are added to the table whose elements find no room. No key
 * ever has them: they are searched for when something was dropped.
 */
#include "agg/impl.h"

#include "sym/sym.h"

#define MISSES_MAX 64		  /* strings read one by one before all are read at once */
#define FEW	   4096		  /* so many texts are kept, used or not */
#define KEEP_NS	   10000000000ull /* longer than a probe may be kept from going on */
#define PAUSE_MAX  600000000000ull

/* ---- what is known --------------------------------------------------------------------------- */

static struct key_text *text_find(struct texts *t, enum agg_side side, uint64_t hash)
{
	struct key_text *kt = hashmap_find(t->known[side], &hash, sizeof(hash));

	if (kt) {
		kt->seen = t->snap;
		kt->deleted_at = 0;
	}
	return kt;
}

/* Adds or replaces a text; name may be NULL. */
static struct key_text *text_add(struct texts *t, enum agg_side side, uint64_t hash,
				 const char *bytes, size_t size, const char *name)
{
	size_t name_size = name ? strlen(name) + 1 : 0;
	struct key_text *kt = xcalloc(1, sizeof(*kt) + size + 1 + name_size);

	free(hashmap_find(t->known[side], &hash, sizeof(hash)));
	kt->size = (uint32_t)size;
	memcpy(kt->bytes, bytes, size);
	if (name)
		kt->name = memcpy(kt->bytes + size + 1, name, name_size);
	hashmap_set(t->known[side], &hash, sizeof(hash), kt);
	return kt;
}

static void string_add(void *arg, uint64_t hash, const char *text, size_t len)
{
	struct texts *t = arg;

	if (!hashmap_find(t->known[AGG_SIDE_STRINGS], &hash, sizeof(hash)))
		(void)text_add(t, AGG_SIDE_STRINGS, hash, text, len, NULL);
}

const char *text_of_string(struct aggs *a, uint64_t hash)
{
	struct texts *t = &a->texts;
	struct key_text *kt = text_find(t, AGG_SIDE_STRINGS, hash);
	struct strbuf buf = {0};

	if (kt)
		return kt->bytes;
	if (++t->nmisses == MISSES_MAX && a->io->texts)
		a->io->texts(a->ctx, AGG_SIDE_STRINGS, string_add, t);
	kt = text_find(t, AGG_SIDE_STRINGS, hash);
	if (!kt && a->io->string(a->ctx, hash, &buf)) {
		string_add(t, hash, strbuf_text(&buf), buf.len);
		kt = text_find(t, AGG_SIDE_STRINGS, hash);
	}
	strbuf_deinit(&buf);
	/* frame_texts_evict() has taken it for a name */
	if (!kt && frame_texts_find(&a->frame_texts, hash))
		return frame_texts_find(&a->frame_texts, hash);
	return kt ? kt->bytes
		  : arena_printf(a->arena, "<lost string %016llx>", (unsigned long long)hash);
}

/* Names the frames of a stack that the kernel recorded, and remembers the text. */
static struct key_text *stack_decode(struct aggs *a, uint64_t hash, const struct rt_stack *raw,
				     size_t len)
{
	enum datum_kind datum = raw->frames & RT_STACK_USER ? DATUM_USTACK : DATUM_STACK;
	const char *words = (const char *)raw->words;
	uint32_t n = (uint32_t)(MIN((size_t)raw->len, len - sizeof(*raw)) / sizeof(uint64_t));
	struct strbuf name = {0};
	struct key_text *kt;

	if (a->syms && (raw->frames & RT_STACK_TRACED))
		syms_trim(a->syms, &words, &n);
	if (datum == DATUM_STACK)
		n = MIN(n, raw->frames & ~RT_STACK_TRACED);
	if (a->stack_name)
		a->stack_name(a->stack_name_arg, datum, words, n * (uint32_t)sizeof(uint64_t),
			      raw->time, &name);
	kt = text_add(&a->texts, AGG_SIDE_STACKS, hash, words, n * sizeof(uint64_t),
		      a->stack_name ? strbuf_text(&name) : NULL);
	kt->seen = a->texts.snap;
	kt->time = raw->time;
	kt->datum = datum;
	strbuf_deinit(&name);
	return kt;
}

/*
 * A stack is named once, when it is first seen: later its process may have ended, and its frames
 * have no names any more.
 */
const struct key_text *text_of_stack(struct aggs *a, uint64_t hash)
{
	struct key_text *kt = text_find(&a->texts, AGG_SIDE_STACKS, hash);
	struct strbuf buf = {0};

	if (kt && !kt->is_raw)
		return kt;
	if (kt)
		strbuf_add(&buf, kt->bytes, kt->size);
	else if (a->io->stack)
		(void)a->io->stack(a->ctx, hash, &buf);
	if (buf.len >= sizeof(struct rt_stack))
		kt = stack_decode(a, hash, (const struct rt_stack *)(const void *)buf.data,
				  buf.len);
	strbuf_deinit(&buf);
	return kt;
}

/* ---- stacks that are values ------------------------------------------------------------------ */

struct agg_key aggs_stack(struct aggs *a, uint64_t id)
{
	static const uint64_t gone[] = {0, RT_USTACK_GONE};
	const struct key_text *st = id ? text_of_stack(a, id) : NULL;

	if (st)
		return (struct agg_key){.datum = st->datum,
					.bytes = st->bytes,
					.size = st->size,
					.name = st->name,
					.time = st->time};
	if (!id)
		return (struct agg_key){.datum = DATUM_STACK, .bytes = ""};
	a->texts.nlost++;
	return (struct agg_key){.datum = DATUM_USTACK,
				.bytes = (const char *)gone,
				.size = sizeof(gone)};
}

uint64_t aggs_take_lost_stacks(struct aggs *a)
{
	uint64_t n = a->texts.nlost - a->texts.ntold;

	a->texts.ntold = a->texts.nlost;
	return n;
}

/* So many stacks have become values since the last search that the table may fill. */
static bool is_filling(const struct aggs *a)
{
	const struct texts *t = &a->texts;

	return a->io->made && t->room[AGG_SIDE_STACKS] &&
	       a->io->made(a->ctx) - t->made_seen >= t->room[AGG_SIDE_STACKS] / 4;
}

static void root_note(void *arg, uint64_t hash)
{
	(void)text_find(arg, AGG_SIDE_STACKS, hash);
}

/* Makes the stacks that variables have known as used; false: not all of them could be read. */
static bool roots_note(struct aggs *a)
{
	return !a->layout->facts.has_stackid || !a->io->roots ||
	       a->io->roots(a->ctx, root_note, &a->texts);
}

/* ---- forgetting ------------------------------------------------------------------------------ */

/*
 * Deletes from the kernel's table what no key has, and forgets what was deleted long ago. Returns
 * how many were deleted.
 */
static uint32_t side_sweep(struct aggs *a, enum agg_side side)
{
	struct texts *t = &a->texts;
	uint32_t nused = 0, ndeleted = 0;
	size_t pos = 0, len;
	struct key_text *kt;
	const void *key;

	while ((kt = hashmap_next(t->known[side], &pos, &key, &len))) {
		uint64_t hash;

		memcpy(&hash, key, sizeof(hash));
		if (kt->seen == t->snap) {
			nused++;
		} else if (!kt->deleted_at) {
			a->io->forget(a->ctx, side, hash);
			kt->deleted_at = now_ns();
			ndeleted++;
		} else if (kt->deleted_at + KEEP_NS <= t->snap_at) {
			hashmap_remove(t->known[side], &hash, sizeof(hash));
			free(kt);
		}
	}
	t->sweep_at[side] = MAX(2 * nused, FEW);
	t->ndeleted += ndeleted;
	return ndeleted;
}

struct side_search {
	struct texts *texts;
	enum agg_side side;
};

static void unknown_add(void *arg, uint64_t hash, const char *text, size_t len)
{
	const struct side_search *s = arg;

	if (!hashmap_find(s->texts->known[s->side], &hash, sizeof(hash)))
		text_add(s->texts, s->side, hash, text, len, NULL)->is_raw =
			s->side == AGG_SIDE_STACKS;
}

/*
 * Something was dropped: makes known what the kernel's tables have, so that a sweep can delete it.
 * That takes time, and helps only if elements were taken out.
 */
static bool is_search_due(struct aggs *a)
{
	struct texts *t = &a->texts;
	uint64_t drops = a->io->drops ? a->io->drops(a->ctx) : 0;

	if (!a->io->texts)
		return false;
	if (is_filling(a)) {
		t->made_seen = a->io->made(a->ctx);
		return true;
	}
	if (drops == t->drops_seen || t->snap_at < t->search_at)
		return false;
	t->drops_seen = drops;
	return true;
}

static bool is_side_full(const struct texts *t, enum agg_side side)
{
	return hashmap_count(t->known[side]) > MIN(t->sweep_at[side], t->room[side] / 2);
}

bool aggs_needs_sweep(const struct aggs *a)
{
	return a->layout->facts.has_stackid && a->io->forget &&
	       (is_filling(a) || is_side_full(&a->texts, AGG_SIDE_STACKS));
}

void texts_bound(struct aggs *a)
{
	struct texts *t = &a->texts;
	bool is_search = is_search_due(a);
	uint32_t ndeleted = 0;

	if (!a->io->forget)
		return;
	if (is_search) /* what follows deletes whatever no key has */
		frame_texts_evict(a);
	for (enum agg_side side = 0; side < AGG_NSIDES; side++) {
		struct side_search s = {t, side};

		if (is_search)
			a->io->texts(a->ctx, side, unknown_add, &s);
		if (!is_search && !is_side_full(t, side))
			continue;
		if (side != AGG_SIDE_STACKS || roots_note(a))
			ndeleted += side_sweep(a, side);
	}
	if (is_search) {
		t->search_pause = ndeleted ? 0 : MIN(2 * t->search_pause + KEEP_NS, PAUSE_MAX);
		t->search_at = t->snap_at + t->search_pause;
	}
}

void aggs_describe(const struct aggs *a, struct strbuf *out)
{
	strbuf_addf(
		out,
		"%zu strings and %zu stacks of keys (%llu of which no key was left have made room)",
		hashmap_count(a->texts.known[AGG_SIDE_STRINGS]),
		hashmap_count(a->texts.known[AGG_SIDE_STACKS]),
		(unsigned long long)a->texts.ndeleted);
}

/* ---- begin and end --------------------------------------------------------------------------- */

void texts_begin(struct texts *t)
{
	t->snap++;
	t->snap_at = now_ns();
	t->nmisses = 0;
}

void texts_init(struct texts *t, const struct agg_io *io, void *ctx)
{
	*t = (struct texts){0};
	for (enum agg_side side = 0; side < AGG_NSIDES; side++) {
		t->known[side] = hashmap_create();
		t->sweep_at[side] = FEW;
		t->room[side] = io->room ? io->room(ctx, side) : 0;
	}
}

void texts_deinit(struct texts *t)
{
	for (enum agg_side side = 0; side < AGG_NSIDES; side++) {
		struct key_text *kt;
		size_t pos = 0;

		while ((kt = hashmap_next(t->known[side], &pos, NULL, NULL)))
			free(kt);
		hashmap_destroy(t->known[side]);
	}
}
