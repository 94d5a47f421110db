/* SPDX-License-Identifier: MIT */
/* Keeps the records of speculations until their commit. */

#include "base/hashmap.h"
#include "base/vec.h"
#include "consume/spec.h"

/*
 * How long after the end of a speculation a record of it may still come: an interrupt or another
 * virtual machine may have delayed the program that writes it.
 */
#define LATE_NS 20000000

struct cpu_use {
	uint32_t cpu;
	uint64_t bytes;
};

struct kept { /* before each record in spec.data */
	uint32_t len, cpu;
};

struct spec {
	struct rt_spec_tag tag;
	bool is_committed; /* its later records are printed at once */
	uint64_t ended_at; /* when the consumer first saw that it has ended; 0 = not yet */
	VEC(uint8_t) data; /* struct kept, record, padding to 8 bytes; and so on */
	VEC(struct cpu_use) used;
};

/* Several speculations may have had one id since the last drain, each with another word. */
struct spec_key {
	uint64_t id, word;
};

struct specs {
	const struct layout *layout;
	const uint64_t *words;
	uint64_t size;
	uint64_t drops;
	struct hashmap *by_key; /* struct spec_key -> struct spec; NULL: no speculations */
	VEC(struct spec *) all;
};

struct specs *specs_create(const struct layout *l, const uint64_t *words, uint64_t size)
{
	struct specs *s = xcalloc(1, sizeof(*s));

	s->layout = l;
	s->words = words;
	s->size = size;
	if (words)
		s->by_key = hashmap_create();
	return s;
}

static void spec_destroy(struct spec *sp)
{
	vec_deinit(&sp->data);
	vec_deinit(&sp->used);
	free(sp);
}

void specs_destroy(struct specs *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->all.len; i++)
		spec_destroy(s->all.data[i]);
	vec_deinit(&s->all);
	hashmap_destroy(s->by_key);
	free(s);
}

/* ---- one speculation ------------------------------------------------------------------------ */

static struct spec *spec_get(struct specs *s, const struct rt_spec_tag *tag)
{
	const struct spec_key key = {tag->id, tag->word};
	struct spec *sp = hashmap_find(s->by_key, &key, sizeof(key));

	if (sp)
		return sp;
	sp = xcalloc(1, sizeof(*sp));
	sp->tag = *tag;
	hashmap_set(s->by_key, &key, sizeof(key), sp);
	vec_push(&s->all, sp);
	return sp;
}

static void spec_unlink(struct specs *s, const struct spec *sp)
{
	const struct spec_key key = {sp->tag.id, sp->tag.word};

	hashmap_remove(s->by_key, &key, sizeof(key));
}

static uint64_t *bytes_of_cpu(struct spec *sp, uint32_t cpu)
{
	for (uint32_t i = 0; i < sp->used.len; i++)
		if (sp->used.data[i].cpu == cpu)
			return &sp->used.data[i].bytes;
	vec_push(&sp->used, (struct cpu_use){.cpu = cpu});
	return &vec_last(&sp->used)->bytes;
}

static void keep(struct specs *s, struct spec *sp, const struct rt_rec *rec, uint32_t len,
		 uint32_t cpu)
{
	uint32_t padded = ROUND_UP(len, 8u), at = sp->data.len;
	uint64_t *bytes = bytes_of_cpu(sp, cpu);
	struct kept head = {.len = len, .cpu = cpu};

	if (*bytes + padded > s->size || at + sizeof(head) + padded > INT32_MAX) {
		s->drops++;
		return;
	}
	*bytes += padded;
	vec_reserve(&sp->data, at + (uint32_t)sizeof(head) + padded);
	memcpy(sp->data.data + at, &head, sizeof(head));
	memcpy(sp->data.data + at + sizeof(head), rec, len);
	memset(sp->data.data + at + sizeof(head) + len, 0, padded - len);
	sp->data.len = at + (uint32_t)sizeof(head) + padded;
}

static const struct kept *kept_at(const struct spec *sp, uint32_t pos)
{
	return pos < sp->data.len ? (const struct kept *)(const void *)(sp->data.data + pos) : NULL;
}

static struct err *commit(struct spec *sp, engine_record_f *print, void *ctx)
{
	const struct kept *k, *next;
	uint32_t pos = 0;
	struct err *e = NULL;

	for (k = kept_at(sp, pos); k && !e; k = next) {
		pos += (uint32_t)sizeof(*k) + ROUND_UP(k->len, 8u);
		next = kept_at(sp, pos);
		e = print(ctx, (const struct rt_rec *)(const void *)(k + 1), k->len, k->cpu,
			  next && next->cpu == k->cpu
				  ? (const struct rt_rec *)(const void *)(next + 1)
				  : NULL);
	}
	sp->is_committed = true;
	if (k) { /* specs_resume() goes on with what is left */
		memmove(sp->data.data, sp->data.data + pos, sp->data.len - pos);
		sp->data.len -= pos;
	} else {
		vec_deinit(&sp->data);
	}
	return e;
}

/* ---- records -------------------------------------------------------------------------------- */

/* The tag of the speculation to which a record belongs; NULL for a record without one. */
static const struct rt_spec_tag *tag_of(const struct specs *s, const struct rt_rec *rec,
					uint32_t len)
{
	const struct rt_spec_tag *tag;
	uint32_t off;

	if (!s->words)
		return NULL;
	if (rec->clause == RT_REC_COMMIT)
		off = offsetof(struct rt_rec_commit, tag);
	else if (rec->clause < s->layout->nclauses)
		off = s->layout->clauses[rec->clause].spec_off;
	else
		return NULL;
	if (!off || off + sizeof(*tag) > len)
		return NULL;
	tag = (const struct rt_spec_tag *)(const void *)((const uint8_t *)rec + off);
	return tag->word && tag->id - 1 < s->layout->nspec ? tag : NULL;
}

struct err *specs_resume(struct specs *s, engine_record_f *print, void *ctx)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < s->all.len && !e; i++)
		if (s->all.data[i]->is_committed && s->all.data[i]->data.len)
			e = commit(s->all.data[i], print, ctx);
	return e;
}

struct err *specs_record(struct specs *s, const struct rt_rec *rec, uint32_t len, uint32_t cpu,
			 const struct rt_rec *next, engine_record_f *print, void *ctx)
{
	const struct rt_spec_tag *tag = tag_of(s, rec, len);
	struct spec *sp;

	if (!tag)
		return print(ctx, rec, len, cpu, next);
	sp = spec_get(s, tag);
	if (rec->clause == RT_REC_COMMIT)
		return commit(sp, print, ctx);
	if (sp->is_committed)
		return print(ctx, rec, len, cpu, next);
	keep(s, sp, rec, len, cpu);
	return NULL;
}

/* ---- ends ----------------------------------------------------------------------------------- */

/* Whether the speculation has ended: no record can be added, and a commit has been written. */
static bool has_ended(const struct specs *s, const struct spec *sp)
{
	uint64_t word = __atomic_load_n(&s->words[sp->tag.id - 1], __ATOMIC_ACQUIRE);

	return word - RT_SPEC_STATE(word) != sp->tag.word - RT_SPEC_STATE(sp->tag.word);
}

void specs_drain_begin(struct specs *s)
{
	uint64_t now = s->all.len ? now_ns() : 0;

	for (uint32_t i = 0; i < s->all.len; i++) {
		struct spec *sp = s->all.data[i];

		if (!sp->ended_at && has_ended(s, sp))
			sp->ended_at = now;
	}
}

void specs_drain_end(struct specs *s, uint64_t horizon)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->all.len; i++) {
		struct spec *sp = s->all.data[i];

		if (horizon == ENGINE_EVERYTHING ||
		    (sp->ended_at && sp->ended_at + LATE_NS <= horizon)) {
			spec_unlink(s, sp);
			spec_destroy(sp);
		} else {
			s->all.data[n++] = sp;
		}
	}
	s->all.len = n;
}

uint64_t specs_drops(const struct specs *s)
{
	return s->drops;
}

uint32_t specs_waiting(const struct specs *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->all.len; i++)
		n += s->all.data[i]->data.len > 0;
	return n;
}
