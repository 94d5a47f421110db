/* SPDX-License-Identifier: MIT */
/*
 * Texts that ustack helpers give to frames, which records and the stacks of keys have as hashes.
 *
 * The kernel has one copy of each in the table of key strings. A text that was asked for is known
 * here, too. When texts were asked for so often that the table may soon be full, all texts of
 * frames are read and deleted from it: whoever needs one again in the kernel adds it again. So
 * there is room for any number of texts in the course of a session.
 *
 * The number of known texts is bounded: of those that were not asked for while many others were,
 * the older half is forgotten.
 */
#include "agg/impl.h"

#include "base/vec.h"

#define NAMES_HALF 131072u /* texts that are known: at most twice as many */

static void frame_texts_free(struct hashmap *m)
{
	size_t pos = 0;
	char *text;

	while ((text = hashmap_next(m, &pos, NULL, NULL)))
		free(text);
	hashmap_destroy(m);
}

void frame_texts_init(struct frame_texts *n)
{
	*n = (struct frame_texts){hashmap_create(), hashmap_create(), 0};
}

void frame_texts_deinit(struct frame_texts *n)
{
	frame_texts_free(n->young);
	frame_texts_free(n->old);
}

/* Takes over the text. */
static void frame_text_put(struct frame_texts *n, uint64_t hash, char *text)
{
	if (hashmap_count(n->young) >= NAMES_HALF) {
		frame_texts_free(n->old);
		n->old = n->young;
		n->young = hashmap_create();
	}
	hashmap_set(n->young, &hash, sizeof(hash), text);
}

const char *frame_texts_find(struct frame_texts *n, uint64_t hash)
{
	char *text = hashmap_find(n->young, &hash, sizeof(hash));

	if (text)
		return text;
	text = hashmap_find(n->old, &hash, sizeof(hash));
	if (text) {
		hashmap_remove(n->old, &hash, sizeof(hash));
		frame_text_put(n, hash, text);
	}
	return text;
}

struct eviction {
	struct aggs *aggs;
	VEC(uint64_t) hashes;
};

static void text_evict(void *arg, uint64_t hash, const char *text, size_t len)
{
	struct eviction *e = arg;
	char *copy;

	/* the hash of a key string may look like that of a name */
	if ((hash & (RT_USTACK_EXACT | RT_USTACK_NAME | RT_USTACK_LANG)) != RT_USTACK_NAME ||
	    hashmap_find(e->aggs->texts.known[AGG_SIDE_STRINGS], &hash, sizeof(hash)))
		return;
	vec_push(&e->hashes, hash);
	if (frame_texts_find(&e->aggs->frame_texts, hash))
		return;
	copy = xmalloc(len + 1);
	memcpy(copy, text, len);
	copy[len] = '\0';
	frame_text_put(&e->aggs->frame_texts, hash, copy);
}

void frame_texts_evict(struct aggs *a)
{
	struct eviction e = {.aggs = a};

	a->frame_texts.nread = 0;
	if (!a->io->texts || !a->io->forget)
		return;
	a->io->texts(a->ctx, AGG_SIDE_STRINGS, text_evict, &e);
	for (uint32_t i = 0; i < e.hashes.len; i++)
		a->io->forget(a->ctx, AGG_SIDE_STRINGS, e.hashes.data[i]);
	vec_deinit(&e.hashes);
}

bool aggs_text(struct aggs *a, uint64_t hash, struct strbuf *out)
{
	const char *known = frame_texts_find(&a->frame_texts, hash);
	uint32_t room = a->texts.room[AGG_SIDE_STRINGS];
	size_t at = out->len;

	if (known) {
		strbuf_adds(out, known);
		return true;
	}
	if (!a->io->string(a->ctx, hash, out))
		return false;
	frame_text_put(&a->frame_texts, hash, xstrdup(strbuf_text(out) + at));
	if (++a->frame_texts.nread >= room / 2 && room)
		frame_texts_evict(a);
	return true;
}
