/* SPDX-License-Identifier: MIT */
/*
 * The blob as code: what it may consist of, how much stack it uses; bucket numbers, the clock,
 * variables.
 *
 *     unit_native_code bench      what a call costs
 *     unit_native_code clock 10   the error of the clock in 10 s
 */
#include <Zydis/Zydis.h>

#include "native/hammer.h"
#include "record/llquantize.h"

/* ---- instructions ---------------------------------------------------------------------------- */

static const ZydisRegisterClass allowed[] = {ZYDIS_REGCLASS_GPR8,  ZYDIS_REGCLASS_GPR16,
					     ZYDIS_REGCLASS_GPR32, ZYDIS_REGCLASS_GPR64,
					     ZYDIS_REGCLASS_FLAGS, ZYDIS_REGCLASS_IP};

static bool register_is_allowed(ZydisRegister reg)
{
	for (uint32_t i = 0; i < ARRAY_LEN(allowed); i++)
		if (ZydisRegisterGetClass(reg) == allowed[i])
			return true;
	return false;
}

static const char *insn_fault(const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops,
			      uint64_t at)
{
	if (in->meta.category == ZYDIS_CATEGORY_STRINGOP)
		return "depends on the direction flag";
	if (in->meta.category == ZYDIS_CATEGORY_SYSCALL ||
	    in->meta.category == ZYDIS_CATEGORY_INTERRUPT)
		return "leaves the program";
	if (in->meta.branch_type != ZYDIS_BRANCH_TYPE_NONE &&
	    in->meta.category != ZYDIS_CATEGORY_RET) {
		ZyanU64 to;

		if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(in, &ops[0], at, &to)) ||
		    to >= blob_code_size)
			return "goes to a place that is not in the code";
	}
	for (uint32_t i = 0; i < in->operand_count; i++) {
		const ZydisDecodedOperand *op = &ops[i];

		if (op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    !register_is_allowed(op->reg.value) && in->mnemonic != ZYDIS_MNEMONIC_RDTSC)
			return "uses another register than a general one";
		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    (op->mem.segment == ZYDIS_REGISTER_FS || op->mem.segment == ZYDIS_REGISTER_GS))
			return "reads the thread block";
	}
	return NULL;
}

static void test_instructions(void)
{
	ZydisDecoder dec;
	ZydisDecodedInstruction in;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	uint32_t off = 0, n = 0;
	const char *fault = NULL;

	ZydisDecoderInit(&dec, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (; off < blob_code_size && !fault; off += in.length, n++) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&dec, blob_code + off,
							 blob_code_size - off, &in, ops))) {
			fault = "is no instruction";
			break;
		}
		fault = insn_fault(&in, ops, off);
	}
	ok(!fault && n > 500, "%u instructions: the one at 0x%x %s", n, off,
	   fault ? fault : "is the last");
	for (uint32_t i = 0; i < BLOB_NFUNCS; i++)
		if (blob_entries[i] >= blob_code_size || blob_entries[i] % 16)
			ok(false, "entry %u is at 0x%x", i, blob_entries[i]);
}

/* ---- stack ----------------------------------------------------------------------------------- */

#define STACK_BYTES 8192
#define PAINT	    0xa5

static uint8_t stack[STACK_BYTES] __attribute__((aligned(16)));

/* Calls a function on another stack, whose address is no multiple of 16; returns the bytes used. */
static uint32_t stack_used(void *func, const uint64_t args[6])
{
	uint8_t *top = stack + STACK_BYTES - 64;
	register uint64_t r8 __asm__("r8") = args[4];
	register uint64_t r9 __asm__("r9") = args[5];
	uint64_t a = args[0], b = args[1], c = args[2], d = args[3];
	uint32_t low = 0;

	memset(stack, PAINT, sizeof(stack));
	__asm__ volatile("mov %%rsp, %%r12\n\t"
			 "mov %[top], %%rsp\n\t"
			 "call *%[func]\n\t"
			 "mov %%r12, %%rsp"
			 : "+D"(a), "+S"(b), "+d"(c), "+c"(d), "+r"(r8), "+r"(r9)
			 : [top] "r"(top), [func] "r"(func)
			 : "rax", "r10", "r11", "r12", "memory", "cc");
	while (low < sizeof(stack) && stack[low] == PAINT)
		low++;
	return (uint32_t)(top - stack) - low;
}

static void test_stack(void)
{
	struct env t = {0};
	uint64_t key[2] = {3, 4}, site[2], head, record;
	uint32_t most = 0, arr;

	(void)env_agg(&t, AGGFUNC_STDDEV, 16, 100);
	(void)env_agg(&t, AGGFUNC_MIN, 0, 1);
	(void)env_agg(&t, AGGFUNC_LIVE, 0, 1);
	env_array(&t, 16, 100);
	t.layout.tls_size = 16;
	t.layout.live_size = sizeof(struct rt_live) + 8;
	t.layout.opts.livesize = 1000;
	t.has_live = true;
	t.has_samples = true;
	env_open(&t, 1 << 16);
	arr = t.plan->nagg;
	head = (uint64_t)(uintptr_t)t.head;
	record = (uint64_t)(uintptr_t)BLOB(&t, RECORD_BEGIN, record_begin)(t.head, 0, 64, 0);
	for (uint32_t round = 0; round < 2; round++) {
		uint64_t k = (uint64_t)(uintptr_t)key;
		uint64_t v = (uint64_t)(uintptr_t)BLOB(&t, VALUE, value)(t.head, 0, key, 3);
		uint64_t alive = (uint64_t)(uintptr_t)BLOB(&t, CELL, cell)(t.head, 2, 0, 1);
		const struct {
			enum blob_func func;
			uint64_t args[6];
		} calls[] = {
			{BLOB_TIME, {head}},
			{BLOB_ORDER, {head}},
			{BLOB_EXIT, {head}},
			{BLOB_CELL, {head, 1, 0, 1}},
			{BLOB_VALUE, {head, 0, k, round}},
			{BLOB_MIN, {v, 5}},
			{BLOB_MAX, {v, 5}},
			{BLOB_AVG, {v, 5}},
			{BLOB_STDDEV, {v, (uint64_t)-5}},
			{BLOB_QUANTIZE, {(uint64_t)-5}},
			{BLOB_LQUANTIZE, {50, 0, 10, 10}},
			{BLOB_LLQUANTIZE, {50, 10, 0, 6, 20}},
			{BLOB_RECORD_BEGIN, {head, 2, 100, 1}},
			{BLOB_RECORD_END, {record}},
			{BLOB_RECORD_DROP, {record}},
			{BLOB_THREAD, {head, 5ull << 32, 0, 1}},
			{BLOB_LOAD, {head, arr, k}},
			{BLOB_STORE, {head, arr, k, 1 - round, 1}},
			{BLOB_STORE, {head, arr, k, 9, 1}},
			{BLOB_SAMPLE, {head, UINT64_MAX, 1 << 20, 1, 0x7000}},
			{BLOB_SAMPLED, {head, 0x1000, 0x7000}},
			{BLOB_FOLLOWED, {head, 0x1000}},
			{BLOB_LIVE, {head, 0x1000, 64, 1, alive, 1}},
			{BLOB_DEAD, {head, 0x1000, 2}},
			{BLOB_SITE, {head, 0, (uint64_t)(uintptr_t)site}},
		};
		uint32_t seen = 0;

		for (uint32_t i = 0; i < ARRAY_LEN(calls); i++) {
			uint32_t n = stack_used(env_entry(&t, calls[i].func), calls[i].args);

			most = MAX(most, n);
			seen |= 1u << calls[i].func;
		}
		if (seen != (1u << BLOB_NFUNCS) - 1)
			ok(false, "not all functions were called");
	}
	ok(most > 8 && most <= BLOB_STACK_MAX, "%u bytes of stack, at most %u", most,
	   BLOB_STACK_MAX);
	env_close(&t);
}

/* ---- buckets --------------------------------------------------------------------------------- */

/* By the table of the language: the bucket whose bounds hold the value. */
static uint32_t quantize_reference(int64_t v)
{
	uint32_t b = 0;

	if (v == 0)
		return 63;
	if (v > 0) {
		while (b < 62 && v >= (int64_t)(1ull << (b + 1)))
			b++;
		return 64 + b;
	}
	while (b < 62 && v <= -(int64_t)(1ull << (b + 1)))
		b++;
	return v == INT64_MIN ? 0 : 62 - b;
}

static uint64_t lquantize_reference(int64_t v, int64_t base, int64_t levels, int64_t step)
{
	for (int64_t i = 0; i <= levels; i++)
		if ((__int128)v < (__int128)base + (__int128)i * step)
			return (uint64_t)i;
	return (uint64_t)levels + 1;
}

/* Random values of all magnitudes, and those around powers of two. */
static int64_t value_random(uint64_t *seed)
{
	uint64_t x = env_random(seed), shift = env_random(seed) % 64;

	switch (env_random(seed) % 4) {
	case 0: return (int64_t)(x >> shift);
	case 1: return -(int64_t)(x >> shift);
	case 2: return (int64_t)((1ull << shift) - x % 2);
	default: return (int64_t)(-(1ull << shift) + x % 2);
	}
}

static const int64_t llq_params[][4] = {{10, 0, 6, 10},	  {10, 2, 2, 5},  {2, 0, 61, 2},
					{10, 0, 17, 100}, {16, 1, 3, 64}, {3, 2, 9, 27},
					{10, 3, 9, 1000}};
static const int64_t lq_params[][3] = {{0, 10, 10},
				       {-100, 200, 1},
				       {INT32_MIN, 60000, 65535},
				       {INT32_MAX - 5, 1, 1},
				       {5, 3, 1000}};

static void test_buckets(void)
{
	struct env t = {0};
	uint64_t seed = 99, nq = 0, nl = 0, nll = 0;

	env_open(&t, 1 << 16);
	for (uint32_t i = 0; i < 200000; i++) {
		int64_t v = value_random(&seed);
		const int64_t *ll = llq_params[i % ARRAY_LEN(llq_params)];

		nq += BLOB(&t, QUANTIZE, quantize)(v) != quantize_reference(v);
		nll += BLOB(&t, LLQUANTIZE, llquantize)(v, (u64)ll[0], (u64)ll[1], (u64)ll[2],
							(u64)ll[3]) != llquantize_bucket(ll, v);
	}
	for (uint32_t i = 0; i < 2000; i++) {
		const int64_t *l = lq_params[i % ARRAY_LEN(lq_params)];
		int64_t v =
			i % 3 ? value_random(&seed)
			      : l[0] + (int64_t)(env_random(&seed) % (uint64_t)(l[1] * l[2] + 9));

		nl += BLOB(&t, LQUANTIZE, lquantize)(v, l[0], (u64)l[1], (u64)l[2]) !=
		      lquantize_reference(v, l[0], l[1], l[2]);
	}
	is_int(nq, 0, "buckets of quantize()");
	is_int(nl, 0, "buckets of lquantize()");
	is_int(nll, 0, "buckets of llquantize()");
	env_close(&t);
}

/* ---- clock ----------------------------------------------------------------------------------- */

static void test_clock(double seconds)
{
	struct env t = {0};
	uint64_t end, worst = 0, nback = 0, last = 0, corrected = 0, n = 0;
	uint64_t limit = 20000 * tap_patience();
	const char *why;

	if (!ndata_clock_usable(&why)) {
		ok(true, "the clock # SKIP %s", why);
		return;
	}
	env_open(&t, 1 << 16);
	(void)env_ok(ndata_set_state(t.d, RT_STATE_ON), "state");
	end = now_ns() + (uint64_t)(seconds * 1e9);
	for (uint64_t now = now_ns(); now < end; n++) {
		uint64_t time = BLOB(&t, TIME, time)(t.head), after = now_ns(), error = 0;

		if (time < now)
			error = now - time;
		else if (time > after)
			error = time - after;
		worst = MAX(worst, error);
		nback += time < last;
		last = time;
		if (after - corrected > 20000000) {
			(void)env_ok(ndata_clock_correct(t.d), "correct");
			corrected = after;
		}
		now = now_ns();
	}
	is_int(nback, 0, "the clock never goes back");
	ok(worst < limit, "its greatest error in %llu looks was %llu ns", (unsigned long long)n,
	   (unsigned long long)worst);
	env_close(&t);
}

/* ---- variables ------------------------------------------------------------------------------- */

#define SHARED_KEYS 40u
#define OWN_KEYS    8u
#define NOPS	    200000u

static uint64_t nforeign, nstale, nlost;

static void op_array(struct hammer *h, uint64_t *seed, uint32_t writer)
{
	struct env *t = h->env;
	uint64_t table = t->plan->nagg, r = env_random(seed), got;
	u64 shared[2] = {r % SHARED_KEYS, 5},
	    own[2] = {1000 + writer * OWN_KEYS + r / 64 % OWN_KEYS, 6};

	/* A value says which key it belongs to. */
	BLOB(t, STORE, store)
	(t->head, table, shared, r >> 50 ? (shared[0] + 1) << 32 | r >> 40 : 0, 0);
	got = BLOB(t, LOAD, load)(t->head, table, shared);
	if (got && got >> 32 != shared[0] + 1)
		(void)__atomic_fetch_add(&nforeign, 1, __ATOMIC_RELAXED);
	BLOB(t, STORE, store)(t->head, table, own, r | 1, 0);
	got = BLOB(t, LOAD, load)(t->head, table, own);
	if (got != (r | 1))
		(void)__atomic_fetch_add(got ? &nstale : &nlost, 1, __ATOMIC_RELAXED);
	BLOB(t, STORE, store)(t->head, table, own, 0, 0);
	got = BLOB(t, LOAD, load)(t->head, table, own);
	if (got)
		(void)__atomic_fetch_add(&nstale, 1, __ATOMIC_RELAXED);
}

static void test_arrays(void)
{
	struct env t = {0};
	struct hammer h = {.env = &t, .op = op_array, .n = NOPS};
	struct blob_cpu *c;
	u64 key[2] = {1, 1};

	env_array(&t, 12, 48);
	env_open(&t, 1 << 16);
	c = (struct blob_cpu *)(void *)((u8 *)t.head + t.plan->cpus_off);
	is_int(BLOB(&t, LOAD, load)(t.head, 0, key), 0, "an element that was not stored is 0");
	hammer_start(&h);
	hammer_join(&h);
	printf("# %llu signals, %llu dropped\n", (unsigned long long)h.nsignals,
	       (unsigned long long)c->dyn_drops);
	is_int(nforeign, 0, "no value gets to another key");
	is_int(nstale, 0, "no value that was replaced is read");
	ok(nlost <= c->dyn_drops, "%llu values were not there, %llu dropped",
	   (unsigned long long)nlost, (unsigned long long)c->dyn_drops);
	for (u64 i = 0; i < 10000; i++) {
		key[0] = i;
		BLOB(&t, STORE, store)(t.head, 0, key, i + 1, 1);
		BLOB(&t, STORE, store)(t.head, 0, key, 0, 1);
	}
	is_int((c + 1)->dyn_drops, 0, "slots of removed elements are used again");
	for (u64 i = 0; i < 200; i++) {
		key[0] = i;
		BLOB(&t, STORE, store)(t.head, 0, key, i + 1, 2);
	}
	ok((c + 2)->dyn_drops > 50, "a full array counts what finds no room");
	env_close(&t);
}

static bool odd_is_alive(void *ctx, uint32_t tid)
{
	return tid % 2;
}

static void test_threads(void)
{
	struct env t = {.hooks = {.is_alive = odd_is_alive}};
	struct blob_cpu *c;
	uint64_t n = 0, nzero = 0, nkept = 0;

	t.layout.tls_size = 20;
	env_open(&t, 1 << 16);
	c = (struct blob_cpu *)(void *)((u8 *)t.head + t.plan->cpus_off);
	ok(!BLOB(&t, THREAD, thread)(t.head, BLOB_THREAD(5, 64), 0, 0), "no block yet");
	ok(!BLOB(&t, THREAD, thread)(t.head, BLOB_THREAD(0, 64), 0, 1), "nobody knows the thread");
	is_int(c->dyn_drops, 1, "which is counted");
	for (uint32_t round = 0; round < 20; round++) {
		for (uint32_t tid = 1; tid <= 200; tid++) {
			u64 *v = BLOB(&t, THREAD,
				      thread)(t.head,
					      BLOB_THREAD(tid + (tid % 2 ? 0 : round * 1000), 4096),
					      0, 1);

			n += v != NULL;
			nzero += v && v[0] == 0 && v[2] == 0;
			nkept += v && v[0] == tid;
			if (v)
				v[0] = v[2] = tid;
		}
		(void)env_ok(ndata_sweep(t.d), "sweep");
	}
	is_int(n, 4000, "blocks of threads that have ended are used again");
	is_int(nzero, 100 + 20 * 100, "each new thread begins with zeros");
	is_int(nkept, 19 * 100, "others keep theirs");
	env_close(&t);
}

static void test_state(void)
{
	struct env t = {0};
	uint32_t state = 9;

	env_open(&t, 1 << 16);
	BLOB(&t, EXIT, exit)(t.head);
	(void)env_ok(ndata_state(t.d, &state), "state");
	is_int(state, RT_STATE_OFF, "exit() does nothing before the beginning");
	(void)env_ok(ndata_set_state(t.d, RT_STATE_ON), "state");
	BLOB(&t, EXIT, exit)(t.head);
	(void)env_ok(ndata_state(t.d, &state), "state");
	is_int(state, RT_STATE_EXITING, "exit() ends the session");
	env_close(&t);
}

/* ---- what it costs --------------------------------------------------------------------------- */

#define BENCH_CALLS 50000u

#define BENCH(what, ...)                                                                           \
	do {                                                                                       \
		uint64_t best = UINT64_MAX;                                                        \
		for (uint32_t round = 0; round < 60; round++) {                                    \
			uint64_t start = worked_ns();                                              \
			for (uint64_t i = 0; i < BENCH_CALLS; i++) {                               \
				__VA_ARGS__;                                                       \
			}                                                                          \
			best = MIN(best, worked_ns() - start);                                     \
		}                                                                                  \
		printf("%6.1f ns  %s\n", (double)best / BENCH_CALLS, what);                        \
	} while (0)

static void elem_skip(void *arg, const uint8_t *key, const uint8_t *values, uint32_t ncpus)
{
	++*(uint64_t *)arg;
}

static void bench_tracer(struct env *t)
{
	uint64_t start = worked_ns(), n = 0;
	const uint8_t *values;
	uint32_t ncpus;

	err_destroy(ndata_aggs.each(t->d, 0, elem_skip, &n));
	printf("%6.0f us  snapshot of %llu elements\n", (double)(worked_ns() - start) / 1000,
	       (unsigned long long)n);
	start = worked_ns();
	for (u64 key = 0; key < 1000; key++)
		err_destroy(ndata_aggs.take(t->d, 0, &key, &values, &ncpus));
	printf("%6.0f us  1000 elements are taken\n", (double)(worked_ns() - start) / 1000);
}

static void bench(void)
{
	struct env t = {0};
	struct record {
		struct rt_rec rec;
		uint64_t a, b, c;
	} * r;
	u64 key[2] = {1, 1}, arr, sum = 0;
	struct blob_cpu *c;

	(void)env_agg(&t, AGGFUNC_COUNT, 8, 50000); /* as many as aggsize=4m gives */
	(void)env_agg(&t, AGGFUNC_QUANTIZE, 0, 1);
	(void)env_agg(&t, AGGFUNC_MIN, 0, 1);
	(void)env_agg(&t, AGGFUNC_STDDEV, 16, 100);
	env_array(&t, 8, 4096);
	t.layout.tls_size = 16;
	env_open(&t, 4 << 20);
	err_destroy(ndata_set_state(t.d, RT_STATE_ON)); /* without it the clock stands */
	arr = t.plan->nagg;
	c = (struct blob_cpu *)(void *)((u8 *)t.head + t.plan->cpus_off);
	BENCH("time", sum += BLOB(&t, TIME, time)(t.head));
	BENCH("count of one of 64 keys", key[0] = i % 64;
	      (void)__atomic_fetch_add(BLOB(&t, VALUE, value)(t.head, 0, key, 0), 1,
				       __ATOMIC_RELAXED));
	BENCH("count of one of 4096 keys", key[0] = i * 17 % 4096;
	      (void)__atomic_fetch_add(BLOB(&t, VALUE, value)(t.head, 0, key, 0), 1,
				       __ATOMIC_RELAXED));
	BENCH("quantize", (void)__atomic_fetch_add(BLOB(&t, CELL, cell)(t.head, 1, 0, 0) +
							   BLOB(&t, QUANTIZE, quantize)((s64)i),
						   1, __ATOMIC_RELAXED));
	BENCH("llquantize number", sum += BLOB(&t, LLQUANTIZE, llquantize)((s64)i, 10, 0, 6, 20));
	BENCH("min", BLOB(&t, MIN, min)(BLOB(&t, CELL, cell)(t.head, 2, 0, 0), (s64)(i & 1023)));
	BENCH("stddev with a key of two words", key[0] = i % 64;
	      BLOB(&t, STDDEV, stddev)(BLOB(&t, VALUE, value)(t.head, 3, key, 0), (s64)i));
	BENCH(
		"record of three words with its time", uint64_t now = BLOB(&t, TIME, time)(t.head);
		r = BLOB(&t, RECORD_BEGIN, record_begin)(t.head, 0, sizeof(*r), 1); if (r) {
			*r = (struct record){{0, 1, now}, i, i, i};
			blob_rec_end(r, BLOB_REC_DONE);
		} c->tail = (u8)(c->head / (t.plan->ring_size / BLOB_RING_PARTS)));
	BENCH("thread block", sum += *BLOB(&t, THREAD, thread)(t.head, 5ull << 32, 0, 1));
	key[0] = 3;
	BENCH("array: store and load", BLOB(&t, STORE, store)(t.head, arr, key, i | 1, 0);
	      sum += BLOB(&t, LOAD, load)(t.head, arr, key));
	bench_tracer(&t);
	printf("(%llu)\n", (unsigned long long)sum);
	env_close(&t);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "bench") == 0) {
		bench();
		return 0;
	}
	if (argc > 1) {
		test_clock(argc > 2 ? strtod(argv[2], NULL) : 10);
		return tap_done();
	}
	test_instructions();
	test_stack();
	test_buckets();
	test_clock(0.3);
	test_arrays();
	test_threads();
	test_state();
	return tap_done();
}
