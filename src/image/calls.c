/* SPDX-License-Identifier: MIT */
/* Finds the calls of functions in the code of a file. */
#include "image/calls.h"

#include "arch/arch.h"
#include "base/hashmap.h"
#include "base/sorted.h"
#include "files/gate.h"
#include "image/ehframe.h"
#include "image/elfplt.h"
#include "image/funcs.h"
#include "image/insn.h"
#include "image/text.h"

#define PIECE	    (128u << 10) /* bytes of code that are searched at once */
#define OPCODE_MAX  6u		 /* bytes from an opcode to the end of its instruction */
#define WORK_FACTOR 8		 /* so often the code may be decoded if functions overlap */
#define WORK_MIN    (16u << 20)

struct plt_stub {
	uint64_t addr, size;
	uint32_t word; /* index */
};

struct import {
	const char *name;
	uint32_t wanted; /* 1 + the number; 0: it is not */
};

/* An address that is searched for, of code or of a word. */
struct call_target {
	uint64_t addr;
	bool is_word;
};

/* A call that was found in the bytes: whether an instruction begins there is not known yet. */
struct candidate {
	uint64_t addr; /* of the opcode */
	uint32_t number;
	struct insn_call call;
};

/* Code that was decoded. */
struct decoded {
	uint64_t start, end, off;
	const struct func *fn; /* NULL: of .eh_frame only */
	struct insns s;
	bool is_valid;
};

struct calls {
	struct gate_elf g;
	const struct funcs *funcs;
	struct text *text;
	plt_words words;
	VEC(struct plt_stub) stubs; /* ascending */
	VEC(struct import) imports;
	struct hashmap *import_of; /* name -> 1 + index */
	struct hashmap *wanted;	   /* address -> 1 + the number */
	/* for calls_find() */
	struct hashmap *targets; /* struct call_target -> 1 + the number */
	uint64_t lo, hi;	 /* addresses of code among them */
	VEC(struct candidate) candidates;
	unwind_fdes fdes; /* ascending */
	bool has_fdes;
	uint64_t limit; /* of bytes that are searched */
	uint64_t work;	/* bytes that may still be decoded */
	bool is_cut;	/* a limit was reached */
	struct decoded now;
};

/* ---- what is there --------------------------------------------------------------------------- */

static void stub_note(void *ctx, uint64_t addr, uint64_t size, const struct plt_word *w)
{
	struct calls *c = ctx;

	vec_push(&c->stubs, (struct plt_stub){addr, size, (uint32_t)(w - c->words.data)});
}

static int stub_compare(const void *pa, const void *pb)
{
	const struct plt_stub *a = pa, *b = pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static void imports_read(struct calls *c)
{
	for (uint32_t i = 0; i < c->words.len; i++) {
		const char *name = c->words.data[i].name;

		if (c->words.data[i].func || !name || hashmap_finds(c->import_of, name))
			continue;
		vec_push(&c->imports, (struct import){.name = name});
		hashmap_sets(c->import_of, name, (void *)(uintptr_t)c->imports.len);
	}
}

struct calls *calls_open(struct gate_file *file, uint64_t limit, const struct funcs *f,
			 struct text *t)
{
	struct calls *c = xcalloc(1, sizeof(*c));

	c->funcs = f;
	c->text = t;
	c->limit = limit * GATE_DEBUG_FACTOR;
	c->import_of = hashmap_create();
	c->wanted = hashmap_create();
	gate_elf_open(file, limit, &c->g);
	if (!c->g.elf)
		return c;
	plt_words_read(&c->g, &c->words);
	plt_stubs_each(&c->g, &c->words, stub_note, c);
	if (c->stubs.len)
		qsort(c->stubs.data, c->stubs.len, sizeof(*c->stubs.data), stub_compare);
	imports_read(c);
	return c;
}

void calls_close(struct calls *c)
{
	if (!c)
		return;
	vec_deinit(&c->words);
	vec_deinit(&c->stubs);
	vec_deinit(&c->imports);
	vec_deinit(&c->candidates);
	vec_deinit(&c->fdes);
	hashmap_destroy(c->import_of);
	hashmap_destroy(c->wanted);
	gate_elf_close(&c->g);
	free(c);
}

uint32_t calls_imports(const struct calls *c)
{
	return c->imports.len;
}

const char *calls_import(const struct calls *c, uint32_t i)
{
	return c->imports.data[i].name;
}

void calls_want(struct calls *c, uint64_t addr, uint32_t number)
{
	if (!hashmap_find(c->wanted, &addr, sizeof(addr)))
		hashmap_set(c->wanted, &addr, sizeof(addr), (void *)((uintptr_t)number + 1));
}

void calls_import_want(struct calls *c, uint32_t i, uint32_t number)
{
	c->imports.data[i].wanted = number + 1;
}

/* ---- where calls lead ------------------------------------------------------------------------ */

static void target_add(struct calls *c, uint64_t addr, bool is_word, uintptr_t wanted)
{
	struct call_target t;

	memset(&t, 0, sizeof(t)); /* its padding is compared, too */
	t.addr = addr;
	t.is_word = is_word;
	if (!wanted || hashmap_find(c->targets, &t, sizeof(t)))
		return;
	hashmap_set(c->targets, &t, sizeof(t), (void *)wanted);
	if (!is_word) {
		c->lo = MIN(c->lo, addr);
		c->hi = MAX(c->hi, addr);
	}
}

/* Returns 1 + the number of the function that a word has; 0: it is not wanted. */
static uintptr_t word_wanted(const struct calls *c, const struct plt_word *w)
{
	uintptr_t i;

	if (w->func)
		return (uintptr_t)hashmap_find(c->wanted, &w->func, sizeof(w->func));
	i = w->name ? (uintptr_t)hashmap_finds(c->import_of, w->name) : 0;
	return i ? c->imports.data[i - 1].wanted : 0;
}

static void targets_make(struct calls *c)
{
	const void *key;
	size_t pos = 0, len;
	void *wanted;

	c->targets = hashmap_create();
	c->lo = UINT64_MAX;
	c->hi = 0;
	while ((wanted = hashmap_next(c->wanted, &pos, &key, &len))) {
		uint64_t addr;

		memcpy(&addr, key, sizeof(addr));
		target_add(c, addr, false, (uintptr_t)wanted);
	}
	for (uint32_t i = 0; i < c->words.len; i++)
		target_add(c, c->words.data[i].addr, true, word_wanted(c, &c->words.data[i]));
	for (uint32_t i = 0; i < c->stubs.len; i++)
		target_add(c, c->stubs.data[i].addr, false,
			   word_wanted(c, &c->words.data[c->stubs.data[i].word]));
}

/* ---- bytes that may be calls ----------------------------------------------------------------- */

/* Returns 1 + the number of the function to which a call leads; 0: to none that is wanted. */
static uintptr_t call_wanted(const struct calls *c, const struct insn_call *call)
{
	struct call_target t;

	if (!call->is_word && (call->target < c->lo || call->target > c->hi))
		return 0;
	memset(&t, 0, sizeof(t));
	t.addr = call->target;
	t.is_word = call->is_word;
	return (uintptr_t)hashmap_find(c->targets, &t, sizeof(t));
}

/* Looks for opcodes in the first n bytes, behind which more of the code may follow. */
static void piece_search(struct calls *c, const uint8_t *code, size_t size, size_t n, uint64_t addr)
{
	for (size_t i = 0; i < n; i++) {
		struct candidate x = {.addr = addr + i};
		uintptr_t wanted;

		if (!arch.insns->call(code + i, size - i, addr + i, &x.call))
			continue;
		wanted = call_wanted(c, &x.call);
		if (!wanted)
			continue;
		x.number = (uint32_t)(wanted - 1);
		if (c->candidates.len == CALLS_MAX) {
			c->is_cut = true;
			return;
		}
		vec_push(&c->candidates, x);
	}
}

static void segment_search(struct calls *c, const struct image_segment *s)
{
	if (s->size > c->limit) {
		c->is_cut = true;
		return;
	}
	c->limit -= s->size;
	c->work += WORK_FACTOR * s->size;
	for (uint64_t at = 0; at < s->size; at += PIECE) {
		size_t n = (size_t)MIN((uint64_t)PIECE, s->size - at);
		size_t size = (size_t)MIN((uint64_t)PIECE + OPCODE_MAX, s->size - at);
		const uint8_t *code = text_at(c->text, s->off + at, size);

		if (!code || c->is_cut)
			return;
		piece_search(c, code, size, n, s->addr + at);
	}
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* Returns the part of the code that .eh_frame has, up to what it has next. */
static bool fde_find(struct calls *c, uint64_t addr, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct unwind_fde *fde;

	if (!c->has_fdes) {
		c->has_fdes = true;
		(void)unwind_fdes_read(&c->g, &c->fdes); /* those that it has are right */
		unwind_fdes_sort(&c->fdes);
	}
	fde = unwind_fdes_find(&c->fdes, addr);
	if (!fde)
		return false;
	*ret_start = fde->addr;
	*ret_end = fde->addr + fde->size;
	if (fde < vec_last(&c->fdes))
		*ret_end = MIN(*ret_end, fde[1].addr);
	return true;
}

/* Decodes the function that has an address; false: nothing says where it begins. */
static bool code_decode(struct calls *c, uint64_t addr)
{
	struct decoded *d = &c->now;
	const struct func *fn = funcs_at(c->funcs, addr);
	bool is_sized = fn && fn->is_sized;
	const uint8_t *code;

	if (d->is_valid)
		insns_deinit(&d->s);
	*d = (struct decoded){.fn = fn};
	if (!is_sized && fde_find(c, addr, &d->start, &d->end)) {
		is_sized = true;
		d->fn = NULL;
	} else if (fn) {
		d->start = fn->addr;
		d->end = fn->addr + fn->size;
	} else {
		return false;
	}
	if (!funcs_off(c->funcs, d->start, &d->off) || d->end - d->start > TEXT_MAX)
		return false;
	if (d->end - d->start > c->work) {
		c->is_cut = true;
		return false;
	}
	c->work -= d->end - d->start;
	code = text_at(c->text, d->off, d->end - d->start);
	if (!code)
		return false;
	(is_sized ? insns_decode : insns_follow)(code, (uint32_t)(d->end - d->start), false, &d->s);
	d->is_valid = true;
	return true;
}

static bool is_in_stub(const struct calls *c, uint64_t addr)
{
	uint32_t lo = sorted_upto(c->stubs.data, c->stubs.len, addr, addr);

	return lo && addr - c->stubs.data[lo - 1].addr < c->stubs.data[lo - 1].size;
}

/* Whether a jump from a part that was split off a function leads back to that: "f.cold" to "f". */
static bool is_back(const struct calls *c, const struct func *part, uint64_t target)
{
	const struct func *fn = part && part->is_part ? funcs_at(c->funcs, target) : NULL;
	size_t len = fn ? strlen(fn->name) : 0;

	return fn && strncmp(part->name, fn->name, len) == 0 && part->name[len] == '.';
}

/* Whether a candidate is an instruction, and one that calls. */
static bool candidate_check(const struct calls *c, const struct candidate *x, struct call *ret)
{
	const struct decoded *d = &c->now;
	uint32_t at = (uint32_t)(x->addr - d->start);
	const struct insn *in = insns_around(&d->s, at);
	const uint8_t *code;

	if (!in || in->is_refused || in->off + in->len != at + x->call.len ||
	    is_in_stub(c, x->addr))
		return false;
	if (in->off != at) {
		code = text_at(c->text, d->off + in->off, in->len);
		if (!code || !arch.insns->is_call_prefix(code, at - in->off))
			return false;
	}
	if (x->call.is_jump && !x->call.is_word &&
	    ((x->call.target >= d->start && x->call.target < d->end) ||
	     is_back(c, d->fn, x->call.target)))
		return false;
	*ret = (struct call){.off = d->off + in->off,
			     .rel = in->off,
			     .number = x->number,
			     .is_tail = x->call.is_jump};
	return true;
}

static int call_compare(const void *pa, const void *pb)
{
	const struct call *a = pa, *b = pb;

	return a->off < b->off ? -1 : a->off > b->off;
}

bool calls_find(struct calls *c, call_vec *ret)
{
	const struct image_segments *code = &c->funcs->code;
	struct call x;

	if (c->funcs->is_32bit)
		return true;
	targets_make(c);
	c->work = WORK_MIN;
	vec_clear(&c->candidates);
	for (uint32_t i = 0; i < code->list.len; i++)
		segment_search(c, &code->list.data[i]);
	for (uint32_t i = 0; i < c->candidates.len && !c->is_cut; i++) {
		const struct candidate *k = &c->candidates.data[i];

		if (!c->now.is_valid || k->addr < c->now.start || k->addr >= c->now.end)
			if (!code_decode(c, k->addr))
				continue;
		if (candidate_check(c, k, &x))
			vec_push(ret, x);
	}
	if (c->now.is_valid)
		insns_deinit(&c->now.s);
	c->now = (struct decoded){0};
	hashmap_destroy(c->targets);
	c->targets = NULL;
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), call_compare);
	return !c->is_cut;
}
