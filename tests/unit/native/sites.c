/* SPDX-License-Identifier: MIT */
/*
 * The place of the innermost frame of a language, as code in the process reads it: from frames of
 * the thread that are as they should be, and from such as a program may have made of them, with
 * memory behind each of them that cannot be read.
 */
#include "native/env.h"
#include "prog.h"
#include "tap.h"

#define FRAME_SIZE 64u
#define DEPTH	   5u
#define NFRAMES	   16u

struct context {
	uint64_t *stack;
	uint64_t pad, words;
	uint8_t *top;
};

/* As a runtime has it: a thread-local variable. */
static __thread struct context *current;

static uint64_t thread_block(void)
{
	uint64_t block;

	__asm__("mov %%fs:0, %0" : "=r"(block));
	return block;
}

static struct blob_frames frames_here(void)
{
	return (struct blob_frames){.context = (int64_t)((uintptr_t)&current - thread_block()),
				    .stack = offsetof(struct context, stack),
				    .words = offsetof(struct context, words),
				    .top = offsetof(struct context, top),
				    .size = FRAME_SIZE,
				    .code = 16,
				    .at = 0,
				    .depth = DEPTH};
}

/* ---- a stack between two pages that cannot be read ------------------------------------------- */

struct stack {
	uint8_t *map, *begin;
	size_t size;
	struct context context;
};

static void stack_open(struct stack *s)
{
	size_t page = 4096;

	*s = (struct stack){.size = NFRAMES * FRAME_SIZE};
	s->map = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->map == MAP_FAILED || mprotect(s->map + page, page, PROT_READ | PROT_WRITE) != 0)
		BUG("mmap");
	s->begin = s->map + 2 * page - s->size; /* its end is that of the page */
	s->context = (struct context){(uint64_t *)(void *)s->begin, 0, s->size / 8, s->begin};
}

static void stack_close(struct stack *s)
{
	(void)munmap(s->map, 3 * 4096);
}

/* Frame i has a code object and a position. */
static void frame_set(struct stack *s, uint32_t i, uint64_t code, uint64_t at)
{
	uint64_t *frame = (uint64_t *)(void *)(s->begin + (size_t)i * FRAME_SIZE);

	frame[0] = at;
	frame[2] = code;
}

static bool site_is(struct env *t, uint64_t code, uint64_t at)
{
	u64 to[2] = {1, 1};

	BLOB(t, SITE, site)(t->head, thread_block(), to);
	return to[0] == code && to[1] == at;
}

static void test_frames(struct env *t)
{
	struct stack s;

	stack_open(&s);
	current = NULL;
	ok(site_is(t, 0, 0), "a thread without a context has no place");
	current = &s.context;
	ok(site_is(t, 0, 0), "nor has one whose frames have no code");
	frame_set(&s, 0, 0x1000, 0x2000);
	ok(site_is(t, 0x1000, 0x2000), "the innermost frame");
	frame_set(&s, 0, 0x1000, 0);
	frame_set(&s, 3, 0x3000, 0x4000);
	ok(site_is(t, 0x3000, 0x4000), "the first frame with a code object and a position");
	frame_set(&s, 3, 0, 0);
	frame_set(&s, DEPTH, 0x3000, 0x4000);
	ok(site_is(t, 0, 0), "not one that lies too deep");
	s.context.top = s.begin + FRAME_SIZE;
	ok(site_is(t, 0x3000, 0x4000), "a deep one that became less so");
	s.context.top = s.begin + (NFRAMES - 1) * FRAME_SIZE;
	frame_set(&s, NFRAMES - 1, 0x5000, 0x6000);
	ok(site_is(t, 0, 0), "the outermost frame is none");
	current = NULL;
	stack_close(&s);
}

/* What a program may have made of a context: nothing outside of the stack is read. */
static void test_odd(struct env *t)
{
	struct stack s;

	stack_open(&s);
	for (uint32_t i = 0; i < NFRAMES; i++)
		frame_set(&s, i, 0x1000, 0x2000);
	current = &s.context;
	s.context.top = s.begin - FRAME_SIZE;
	ok(site_is(t, 0, 0), "a frame below the stack");
	s.context.top = s.begin + s.size;
	ok(site_is(t, 0, 0), "one above it");
	s.context.top = s.begin + 4;
	ok(site_is(t, 0, 0), "one that is misaligned");
	s.context.top = NULL;
	ok(site_is(t, 0, 0), "none");
	s.context.top = s.begin;
	s.context.words = FRAME_SIZE / 8 - 1;
	ok(site_is(t, 0, 0), "a stack that is smaller than a frame");
	s.context.words = 1ull << 61;
	ok(site_is(t, 0, 0), "one whose bytes overflow");
	s.context.words = s.size / 8;
	s.context.stack = NULL;
	ok(site_is(t, 0, 0), "no stack");
	s.context.stack = (uint64_t *)(uintptr_t)(1ull << 63);
	s.context.top = (uint8_t *)(uintptr_t)(1ull << 63);
	ok(site_is(t, 0, 0), "one that no program can have");
	current = (struct context *)((uintptr_t)&s.context + 1);
	ok(site_is(t, 0, 0), "a context that is misaligned");
	current = NULL;
	stack_close(&s);
}

/* ---- a clause that counts under lines -------------------------------------------------------- */

static const struct ndata_site place = {"a.rb", 7};

/* The session knows one place, from when it was found in a table. */
static const struct ndata_site *site_find(void *ctx, uint64_t code, uint64_t at, bool is_new)
{
	bool *is_known = ctx;

	if (code != 0x1000 || at != 0x2000)
		return NULL;
	*is_known |= is_new;
	return *is_known ? &place : NULL;
}

static void key_read(void *arg, const uint8_t *key, const uint8_t *values, uint32_t ncpus)
{
	(void)values, (void)ncpus;
	memcpy(arg, key, 3 * sizeof(uint64_t));
}

static void test_keys(void)
{
	struct nx *x = nx_create("pid1:a.out:f:entry { @[lfile, lline, arg0] = count(); }");
	bool is_known = false;
	const struct ndata_hooks hooks = {.site = site_find, .ctx = &is_known};
	const char *file = NULL;
	uint64_t key[3] = {0}, line = 0;
	int64_t n = 0;
	struct stack s;

	nx_lay_out(x);
	nx_make(x, &(struct nrun_opts){0});
	ok(!x->run && strstr(err_text(x->refused), "frames are not found"),
	   "a process without frames is refused");
	stack_open(&s);
	frame_set(&s, 0, 0x1000, 0x2000);
	err_destroy(x->refused);
	x->refused = NULL;
	nx_make(x, &(struct nrun_opts){.frames = frames_here(), .of_run = &hooks});
	current = &s.context;
	for (uint32_t i = 0; i < 3 && x->run; i++)
		nx_fire(x, SITE_F_ENTRY, 5, 0);
	current = NULL;
	if (!x->run)
		BUG("refused: %s", err_text(x->refused));
	ok(!ndata_aggs.site(x->run->data, 0x1000, 0x2000, &file, &line),
	   "a place is not known before it is found in a table");
	err_destroy(ndata_aggs.each(x->run->data, 0, key_read, key));
	ok(key[0] == 0x1000 && key[1] == 0x2000 && key[2] == 5,
	   "a key has the numbers of the place");
	ok(nrun_agg(x->run, 1, key, 0, &n) && n == 3, "and counts under them");
	ok(is_known && ndata_aggs.site(x->run->data, 0x1000, 0x2000, &file, &line) &&
		   strcmp(file, "a.rb") == 0 && line == 7,
	   "and is known from then on");
	ok(!ndata_aggs.site(x->run->data, 0x1000, 7, &file, &line), "another one is not");
	nx_destroy(x);
	stack_close(&s);
}

/* Whether a clause runs in the process, as far as its text says. */
static bool is_taken(const char *text)
{
	struct nx *x = nx_create(text);
	const char *why;
	bool ret;

	nx_lay_out(x);
	ret = native_takes(&x->unit, x->layout, &why);
	nx_destroy(x);
	return ret;
}

static void test_taken(void)
{
	ok(is_taken("pid1:a.out:f:entry { @[lfile] = count(); }"), "a file is a key");
	ok(is_taken("pid1:a.out:f:entry { @[arg0, lline, lfile] = live(arg0, 1); }"),
	   "a line is one beside its file");
	ok(!is_taken("pid1:a.out:f:entry { @[lline] = count(); }"), "and not by itself");
	ok(!is_taken("pid1:a.out:f:entry { @[lfunc] = count(); }"), "a function is none");
	ok(!is_taken("pid1:a.out:f:entry /lline == 3/ { @ = count(); }"), "a line is no number");
	ok(!is_taken("pid1:a.out:f:entry { trace(lfile); }"), "a file is no text");
}

int main(void)
{
	struct env t = {.frames = frames_here()};

	(void)env_agg(&t, AGGFUNC_COUNT, 8, 100);
	env_open(&t, 4096);
	test_frames(&t);
	test_odd(&t);
	env_close(&t);
	test_keys();
	test_taken();
	return tap_done();
}
