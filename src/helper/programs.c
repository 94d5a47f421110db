/* SPDX-License-Identifier: MIT */
/* Makes programs of helpers, and keeps them (programs.h). */
#include "helper/programs.h"

#include "base/hashmap.h"
#include "base/str.h"
#include "helper/helper.h"
#include "rt/helper.h"

/* Words of MAP_HCODE that all helpers which programs carry (carried.h) may use together. */
#define FOREIGN_ALL (RT_HCODE / 2)

struct programs {
	const struct stack_tables *tables; /* NULL until programs_begin() */
	VEC(struct program *) list;
	uint32_t top;	       /* words of MAP_HCODE that are used */
	uint32_t foreign_used; /* of those, by programs and texts of helpers that programs carry */
	struct hashmap *texts; /* values of variables -> their words in MAP_HCODE */
};

struct programs *programs_create(void)
{
	struct programs *ps = xcalloc(1, sizeof(*ps));

	ps->top = 1;
	ps->texts = hashmap_create();
	return ps;
}

static void program_destroy(struct program *p)
{
	hcode_deinit(&p->code);
	vec_deinit(&p->helpers);
	free(p);
}

void programs_destroy(struct programs *ps)
{
	if (!ps)
		return;
	for (uint32_t i = 0; i < ps->list.len; i++) {
		ps->tables->ops->code_end(&ps->list.data[i]->compiled);
		program_destroy(ps->list.data[i]);
	}
	vec_deinit(&ps->list);
	hashmap_destroy(ps->texts);
	free(ps);
}

void programs_begin(struct programs *ps, const struct stack_tables *tables)
{
	ps->tables = tables;
}

/* ---- words of MAP_HCODE ---------------------------------------------------------------------- */

static struct err *words_add(struct programs *ps, const uint64_t *words, uint32_t n,
			     bool is_foreign)
{
	if (is_foreign && n > FOREIGN_ALL - ps->foreign_used)
		return err_new("the ustack helpers that programs carry and their texts have more "
			       "than %u words of code",
			       FOREIGN_ALL);
	if (n > RT_HCODE - ps->top)
		return err_new("ustack helpers and their texts have more than %u words of code",
			       RT_HCODE);
	memcpy(ps->tables->helper_words + ps->top, words, n * sizeof(*words));
	ps->top += n;
	ps->foreign_used += is_foreign ? n : 0;
	return NULL;
}

struct err *programs_text(struct programs *ps, const char *text, bool is_foreign, uint64_t *ret)
{
	size_t n = strlen(text) + 1, nwords = (n + 7) / 8;
	uintptr_t at = (uintptr_t)hashmap_finds(ps->texts, text);
	CLEANUP(free) uint64_t *words = xcalloc(nwords, sizeof(*words));
	struct err *e = NULL;

	if (!at) {
		memcpy(words, text, n);
		at = ps->top;
		e = words_add(ps, words, (uint32_t)nwords, is_foreign);
	}
	if (!e)
		hashmap_sets(ps->texts, text, (void *)at);
	*ret = at;
	return e;
}

/* ---- programs -------------------------------------------------------------------------------- */

/* Translates the helpers of the program to words. */
static struct err *program_make(struct programs *ps, struct program *p)
{
	bool is_foreign = false;
	struct err *e;

	for (uint32_t i = 0; i < p->helpers.len; i++)
		is_foreign |= p->helpers.data[i]->is_foreign;
	p->base = ps->top;
	e = hcode_make(p->helpers.data, p->helpers.len, p->base, &p->code);
	if (!e)
		e = words_add(ps, p->code.words.data, p->code.words.len, is_foreign);
	if (!e)
		p->compiled = (struct helper_code){.words = ps->tables->helper_words + p->base,
						   .nwords = p->code.ninsns,
						   .base = p->base,
						   .frames = p->code.frames,
						   .index = ps->list.len};
	return e;
}

struct err *programs_get(struct programs *ps, struct helper *const *helpers, uint32_t nhelpers,
			 uint64_t set, const struct program **ret)
{
	struct program *p;
	struct err *e;

	for (uint32_t i = 0; i < ps->list.len; i++) {
		if (ps->list.data[i]->set == set) {
			*ret = ps->list.data[i];
			return NULL;
		}
	}
	p = xcalloc(1, sizeof(*p));
	p->set = set;
	for (uint32_t i = 0; i < nhelpers; i++)
		if (set >> i & 1)
			vec_push(&p->helpers, helpers[i]);
	e = program_make(ps, p);
	if (e) {
		program_destroy(p);
		return e;
	}
	vec_push(&ps->list, p);
	*ret = p;
	return NULL;
}

void program_fill(const struct program *p, struct rt_hproc *hp)
{
	hp->entry = (uint16_t)p->base;
	hp->frames = (uint16_t)(p->base + p->code.frames);
	hp->names = p->code.names_frames;
	if (p->compiled.index < RT_HELPER_PROGRAMS)
		hp->program = (uint16_t)(p->compiled.index + 1);
}

bool program_saves(const struct program *p, const struct rt_hproc *hp)
{
	for (uint32_t i = 0; i < p->code.globals.len; i++) {
		const struct hcode_global *g = &p->code.globals.data[i];

		if (g->helper->saves_if && strcmp(g->helper->saves_if, g->var->name) == 0 &&
		    hp->globals[g->slot])
			return true;
	}
	for (uint32_t i = 0; i < p->helpers.len; i++)
		if (p->helpers.data[i]->saves && !p->helpers.data[i]->saves_if)
			return true;
	return false;
}

void programs_walked(struct programs *ps, uint64_t number)
{
	if (number && number <= ps->list.len)
		ps->list.data[number - 1]->is_walked = true;
}

bool programs_work(struct programs *ps, struct err **ret)
{
	for (uint32_t i = 0; i < ps->list.len && i < RT_HELPER_PROGRAMS; i++) {
		if (!ps->list.data[i]->is_walked)
			continue;
		switch (ps->tables->ops->code_work(ps->tables->ctx, &ps->list.data[i]->compiled,
						   ret)) {
		case HELPER_CODE_IDLE: break;
		case HELPER_CODE_LOADING: return false; /* one after the other */
		case HELPER_CODE_LOADED: return true;
		}
	}
	return false;
}

const struct hcode_line *programs_line(const struct programs *ps, uint64_t word)
{
	const struct hcode_line *at = NULL;

	for (uint32_t i = 0; i < ps->list.len; i++) {
		const struct program *p = ps->list.data[i];

		for (uint32_t k = 0; k < p->code.lines.len; k++)
			if (word >= p->base + p->code.lines.data[k].word)
				at = &p->code.lines.data[k];
	}
	return at;
}
