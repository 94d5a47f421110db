/* SPDX-License-Identifier: MIT */
/*
 * Run-time library against the interpreter: random arguments, same value and same fault, for
 * several values of strsize.
 *
 * Both see the same kernel memory: for the kernel it is the block of global variables, for the
 * interpreter the range from KMEM on. Results that are strings are compared as text, results that
 * are addresses as offsets. FATHOM_PROP_SEED=n repeats a run, FATHOM_PROP_N=n sets the number of
 * calls.
 */
#include "rt_fixture.h"
#include "tap.h"

#include <time.h>

#include "dif/interp.h"

#define KMEM 0xffff900000000000ull
#define BAD  0xffff7fffdead0000ull /* not canonical: never readable */

/* ---- what is called --------------------------------------------------------------------- */

enum arg_kind {
	ARG_END,
	ARG_STR,   /* address of a random text */
	ARG_SHORT, /* of a short one */
	ARG_NUM,   /* text of a number */
	ARG_PATH,
	ARG_POS,   /* position, about as long as texts are */
	ARG_INT,   /* any value */
	ARG_SMALL, /* 0 .. 40 */
	ARG_CHAR,
	ARG_BYTES, /* address of 16 bytes, many of them zero */
	ARG_FAMILY,
	ARG_LINK, /* type of a link */
	ARG_JSON,
	ARG_STEPS, /* path into it */
};

enum result_kind {
	RESULT_NUM,
	RESULT_STR,
	RESULT_ADDR, /* in the first argument, or 0 */
};

static const struct subr {
	const char *name;
	enum result_kind result;
	enum arg_kind args[3];
} subrs[] = {
	{"strlen", RESULT_NUM, {ARG_STR}},
	{"strjoin", RESULT_STR, {ARG_STR, ARG_STR}},
	{"substr", RESULT_STR, {ARG_STR, ARG_POS, ARG_POS}},
	{"index", RESULT_NUM, {ARG_STR, ARG_SHORT, ARG_POS}},
	{"index", RESULT_NUM, {ARG_STR, ARG_STR, ARG_POS}},
	{"rindex", RESULT_NUM, {ARG_STR, ARG_SHORT, ARG_POS}},
	{"rindex", RESULT_NUM, {ARG_STR, ARG_STR, ARG_POS}},
	{"strstr", RESULT_ADDR, {ARG_STR, ARG_SHORT}},
	{"strstr", RESULT_ADDR, {ARG_STR, ARG_STR}},
	{"strchr", RESULT_ADDR, {ARG_STR, ARG_CHAR}},
	{"strrchr", RESULT_ADDR, {ARG_STR, ARG_CHAR}},
	{"strtok", RESULT_STR, {ARG_STR, ARG_SHORT}},
	{"basename", RESULT_STR, {ARG_PATH}},
	{"dirname", RESULT_STR, {ARG_PATH}},
	{"cleanpath", RESULT_STR, {ARG_PATH}},
	{"lltostr", RESULT_STR, {ARG_INT, ARG_SMALL}},
	{"strtoll", RESULT_NUM, {ARG_NUM, ARG_SMALL}},
	{"json", RESULT_STR, {ARG_JSON, ARG_STEPS}},
	{"memstr", RESULT_STR, {ARG_BYTES, ARG_CHAR, ARG_SMALL}},
	{"memstr", RESULT_STR, {ARG_STR, ARG_CHAR, ARG_SMALL}},
	{"toupper", RESULT_STR, {ARG_STR}},
	{"tolower", RESULT_STR, {ARG_STR}},
	{"inet_ntoa", RESULT_STR, {ARG_BYTES}},
	{"inet_ntoa6", RESULT_STR, {ARG_BYTES, ARG_SMALL}},
	{"inet_ntop", RESULT_STR, {ARG_FAMILY, ARG_BYTES}},
	{"link_ntop", RESULT_STR, {ARG_LINK, ARG_BYTES}},
	{"link_ntop", RESULT_STR, {ARG_LINK, ARG_STR}},
};

/* ---- random ----------------------------------------------------------------------------- */

static uint64_t state;

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dull;
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)((rnd() >> 32) % n);
}

static uint32_t length(uint32_t max)
{
	switch (below(4)) {
	case 0: return below(MIN(max, 12) + 1);
	case 1: return below(MIN(max, 80) + 1);
	case 2: /* near the end */ return max - below(MIN(max, 12));
	default: return below(max + 1);
	}
}

static void text_make(char *p, uint32_t len, const char *alphabet)
{
	size_t n = strlen(alphabet);

	for (uint32_t i = 0; i < len; i++)
		p[i] = *alphabet ? alphabet[below((uint32_t)n)] : (char)(1 + below(255));
	p[len] = '\0';
}

static const char *json_word(void)
{
	static const char *const words[] = {"\"a\"", "1",     "null",	 "\"b\\\"c\"",
					    "{}",    "[]",    "-2.5e7",	 "\"\"",
					    "true",  "false", "0.5E-10", "1 "};
	static const char *const wrong[] = {"tru", "nulls", "01", "1.", "-", "2e", "2e+", "1.5.5",
					    "'a'", "1 2",   "[}", "{]", "a", ".5", "+1",  "0x1"};

	return below(40) ? words[below(ARRAY_LEN(words))] : wrong[below(ARRAY_LEN(wrong))];
}

/* Nearly always JSON: values by depth, cut at len. */
static void json_value(struct strbuf *s, uint32_t depth)
{
	static const char *const spaces[] = {"", "", "", " ", "\n\t"};
	static const char *const keys[] = {"\"a\"", "\"b\"", "\"ab\"", "\"\\\"\"", "\"0\""};
	bool is_object = below(2);
	uint32_t n = below(5);

	strbuf_adds(s, spaces[below(5)]);
	if (!depth || below(4) == 0) {
		strbuf_adds(s, json_word());
		return;
	}
	strbuf_addc(s, is_object ? '{' : '[');
	for (uint32_t i = 0; i < n; i++) {
		strbuf_adds(s, i ? "," : "");
		strbuf_adds(s, spaces[below(5)]);
		if (is_object)
			strbuf_addf(s, "%s%s:", keys[below(5)], spaces[below(5)]);
		json_value(s, depth - 1);
		strbuf_adds(s, spaces[below(5)]);
	}
	strbuf_addc(s, is_object ? '}' : ']');
}

static void json_make(char *p, uint32_t len, uint32_t depth)
{
	struct strbuf s = {0};

	json_value(&s, depth);
	(void)snprintf(p, len + 1, "%s", strbuf_text(&s));
	strbuf_deinit(&s);
}

/* ---- both sides ------------------------------------------------------------------------- */

struct world {
	struct rt_fx *fx;
	struct dif_machine *dm;
	struct arena *arena;
	uint32_t strsize;
	uint32_t area; /* bytes of gvars an argument has: more than strsize */
};

static bool load_kernel(void *ctx, uint64_t addr, void *buf, uint32_t size)
{
	struct world *w = ctx;

	if (addr < KMEM || addr - KMEM + size > w->fx->gvars_size)
		return false;
	memcpy(buf, w->fx->gvars + (addr - KMEM), size);
	return true;
}

static struct world *world_create(uint32_t strsize)
{
	struct world *w = xcalloc(1, sizeof(*w));
	struct rt_fx_opts fo = {.strsize = strsize};
	struct dif_env env = dif_env_none;
	struct dif_machine_opts mo = {.strsize = strsize};

	w->strsize = strsize;
	w->area = strsize + 64;
	fo.gvars_size = 4 * w->area;
	fo.scratch_size = 16 * strsize + 512;
	w->fx = rt_fx_create(&fo);
	w->arena = arena_create();
	env.ctx = w;
	env.load_kernel = load_kernel;
	w->dm = dif_machine_create(&env, &mo);
	return w;
}

static void world_destroy(struct world *w)
{
	dif_machine_destroy(w->dm);
	arena_destroy(w->arena);
	rt_fx_destroy(w->fx);
	free(w);
}

/* An argument in area i, as the interpreter sees it. */
static uint64_t arg_make(struct world *w, enum arg_kind kind, uint32_t i)
{
	static const char *const alphabets[] = {"ab", "a", "abcXYZ", "aA/ .", ""};
	char *p = w->fx->gvars + i * w->area;
	uint64_t addr = KMEM + i * w->area;
	uint32_t max = w->strsize + 8;

	switch (kind) {
	case ARG_STR:
		if (below(60) == 0)
			return below(2) ? 0 : BAD;
		text_make(p, length(max), alphabets[below(ARRAY_LEN(alphabets))]);
		return addr;
	case ARG_SHORT:
		if (below(60) == 0)
			return 0;
		text_make(p, below(14), alphabets[below(ARRAY_LEN(alphabets))]);
		return addr;
	case ARG_PATH: text_make(p, length(max), below(2) ? "/." : "/./ab"); return addr;
	case ARG_NUM:
		text_make(p, below(24), below(2) ? "0123456789" : " -+0xX19afzAFZ\t~");
		return addr;
	case ARG_POS: return below(8) ? (uint64_t)below(2 * max) - max / 2 : rnd() >> below(64);
	case ARG_INT: return below(2) ? rnd() >> below(64) : -(rnd() >> below(64));
	case ARG_SMALL: return below(3) ? (below(2) ? 10 : 16) : below(41);
	case ARG_CHAR: return below(4) ? (uint64_t) "abX/. "[below(6)] : rnd();
	case ARG_BYTES:
		for (int b = 0; b < 16; b++)
			p[b] = below(3) ? 0 : (char)(below(2) ? rnd() : 0xff);
		if (below(4) == 0) {
			memset(p, 0, 12);
			p[10] = p[11] = below(2) ? (char)0xff : 0;
		}
		return below(60) ? addr : BAD;
	case ARG_JSON:
		if (below(8)) {
			json_make(p, length(max), 4);
		} else {
			text_make(p, length(max), "{}[]\",:\\ ab1");
		}
		return addr;
	case ARG_STEPS: text_make(p, below(12), below(2) ? "ab01.[]" : "a0."); return addr;
	case ARG_LINK: return below(8) ? (below(2) ? 1 : 32) : rnd() >> below(64);
	case ARG_FAMILY: return below(8) ? (below(2) ? 2 : 10) : below(12);
	case ARG_END: break;
	}
	BUG("argument kind");
}

static struct dif_result interpret(struct world *w, const struct subr *s, const uint64_t *args,
				   uint32_t nargs)
{
	struct strbuf text = {0};
	struct difo *d = NULL;
	struct err *e;

	for (uint32_t i = 0; i < nargs; i++)
		strbuf_addf(&text, "setx 0x%llx, %%r1\npushtv 0, %%r1\n",
			    (unsigned long long)args[i]);
	strbuf_addf(&text, "call %s, %%r2\nret %%r2\n", s->name);
	e = difo_parse(w->arena, strbuf_text(&text), &d);
	if (e)
		BUG("%s", err_text(e));
	strbuf_deinit(&text);
	return dif_run(w->dm, d);
}

static uint64_t to_kernel(const struct world *w, uint64_t v)
{
	return v >= KMEM && v < KMEM + w->fx->gvars_size ? v - KMEM + w->fx->mach->gvars : v;
}

/* What came out, in words that are the same for both. */
static void say_interp(struct world *w, const struct subr *s, struct dif_result r,
		       struct strbuf *out)
{
	CLEANUP(free) char *text = xmalloc(w->strsize);
	uint32_t len;

	if (r.fault)
		strbuf_addf(out, "fault %d %llx", (int)r.fault,
			    (unsigned long long)to_kernel(w, r.fault_value));
	else if (s->result == RESULT_NUM || r.value == 0)
		strbuf_addf(out, "%llx", (unsigned long long)r.value);
	else if (s->result == RESULT_ADDR)
		strbuf_addf(out, "%llx", (unsigned long long)to_kernel(w, r.value));
	else if (dif_machine_text(w->dm, r.value, text, &len))
		strbuf_addf(out, "'%s'", text);
}

static void say_kernel(struct world *w, const struct subr *s, uint64_t value, struct strbuf *out)
{
	const struct rt_mach *m = w->fx->mach;
	const char *text;

	if (m->fault.kind)
		strbuf_addf(out, "fault %u %llx", m->fault.kind,
			    (unsigned long long)m->fault.value);
	else if (s->result != RESULT_STR || value == 0)
		strbuf_addf(out, "%llx", (unsigned long long)value);
	else if ((text = rt_fx_at(w->fx, value)))
		strbuf_addf(out, "'%s'", text);
	else
		strbuf_addf(out, "address %llx", (unsigned long long)value);
}

static bool agree(struct world *w, const struct subr *s)
{
	struct strbuf want = {0}, got = {0};
	uint64_t args[4] = {0}, kargs[4];
	uint32_t nargs = 0, ncalls = 1;
	static char names[ARRAY_LEN(subrs)][32];
	char *name = names[s - subrs];
	bool same = true;

	for (; nargs < ARRAY_LEN(s->args) && s->args[nargs]; nargs++)
		args[nargs] = arg_make(w, s->args[nargs], nargs);
	if (strcmp(s->name, "strtok") == 0)
		ncalls = 4;
	(void)snprintf(name, sizeof(names[0]), "rt_sub_%s", s->name);
	arena_reset(w->arena);
	dif_machine_begin_firing(w->dm, 1);
	for (uint32_t call = 0; call < ncalls && same; call++) {
		if (call)
			args[0] = 0;
		if (call == 2) { /* strtok() goes on in the next clause */
			dif_machine_begin_clause(w->dm);
			(void)rt_fx_again(w->fx, "rt_tok_keep", kargs, 0);
			w->fx->mach->scratch_top = 0;
		}
		for (uint32_t i = 0; i < ARRAY_LEN(args); i++)
			kargs[i] = to_kernel(w, args[i]);
		strbuf_clear(&want);
		strbuf_clear(&got);
		say_interp(w, s, interpret(w, s, args, nargs), &want);
		say_kernel(w, s,
			   call ? rt_fx_again(w->fx, name, kargs, 4)
				: rt_fx_call(w->fx, name, kargs, 4),
			   &got);
		same = strcmp(strbuf_text(&want), strbuf_text(&got)) == 0;
		if (w->fx->mach->fault.kind)
			break;
	}
	if (!same) {
		printf("# %s strsize %u", s->name, w->strsize);
		for (uint32_t i = 0; i < nargs; i++)
			printf(", %llx '%.60s'", (unsigned long long)args[i],
			       args[i] >= KMEM ? w->fx->gvars + i * w->area : "");
		printf("\n# want %.200s\n# got  %.200s\n", strbuf_text(&want), strbuf_text(&got));
	}
	strbuf_deinit(&want);
	strbuf_deinit(&got);
	return same;
}

int main(void)
{
	static const struct {
		uint32_t strsize, ncalls;
	} sizes[] = {{1, 100},	 {2, 200},   {3, 200},	  {8, 300},    {16, 300},
		     {256, 500}, {4096, 60}, {65536, 12}, {1 << 20, 2}};
	const char *env = getenv("FATHOM_PROP_SEED"), *env_n = getenv("FATHOM_PROP_N");

	state = env ? strtoull(env, NULL, 0) : (uint64_t)time(NULL) * 2 + 1;
	printf("# FATHOM_PROP_SEED=%llu\n", (unsigned long long)state);
	for (size_t z = 0; z < ARRAY_LEN(sizes); z++) {
		struct world *w = world_create(sizes[z].strsize);
		uint32_t n = env_n ? (uint32_t)strtoul(env_n, NULL, 0) : sizes[z].ncalls;

		for (size_t i = 0; i < ARRAY_LEN(subrs); i++) {
			uint32_t ngood = 0;

			for (uint32_t k = 0; k < n && ngood == k; k++)
				ngood += agree(w, &subrs[i]);
			ok(ngood == n, "%s, strsize %u, %u calls", subrs[i].name, sizes[z].strsize,
			   n);
		}
		world_destroy(w);
	}
	return tap_done();
}
