/* SPDX-License-Identifier: MIT */
/*
 * Clauses as machine code, run in this process: records and values of aggregations are what the
 * layout says, and the code keeps its promises (native.h).
 */
#include "tap.h"

#include "prog.h"

#include <sys/auxv.h>

/* ---- records --------------------------------------------------------------------------------- */

static void test_record(void)
{
	struct nx *x = nx_create("pid1:a.out:f:entry { trace(arg0); printf(\"%d %s %s\", "
				 "(short)arg1, probefunc, \"text\"); }");
	const struct clause_layout *cl;
	const struct rec_field *f;
	const struct rt_rec *rec;
	uint64_t before = now_ns(), pid;
	uint32_t len, id;
	int64_t v;
	short s;

	x->opts.has_pids = true;
	nx_lay_out(x);
	nx_make(x, &(struct nrun_opts){0});
	nx_fire(x, SITE_F_ENTRY, 0x1122334455667788, 0x18001);
	cl = &x->layout->clauses[0];
	rec = nrun_record(x->run, &len);
	ok(rec && len == cl->heap_off, "one record of %u bytes", cl->heap_off);
	is_int(rec->clause, 0, "its clause");
	is_int(rec->probe, 100, "its probe");
	ok(rec->time >= before && rec->time <= now_ns(), "its time is the monotonic clock's");
	memcpy(&pid, (const char *)rec + cl->pid_off, 8);
	is_int(pid, getpid(), "the process");
	memcpy(&v, (const char *)rec + cl->acts[0].fields[0].off, 8);
	is_int(v, 0x1122334455667788, "8 bytes");
	f = cl->acts[1].fields;
	memcpy(&s, (const char *)rec + f[0].off, sizeof(s));
	is_int(s, (short)0x8001, "2 bytes");
	memcpy(&id, (const char *)rec + f[1].off, sizeof(id));
	is_str(strtab_get(x->strtab, id), "f", "a name of the probe");
	memcpy(&id, (const char *)rec + f[2].off, sizeof(id));
	is_str(strtab_get(x->strtab, id), "text", "a constant");
	ok(!nrun_record(x->run, NULL), "and no other record");
	nx_destroy(x);
}

static void test_executed(void)
{
	struct nx *x = nx_of("pid1:a.out:f:entry { if (arg0 > 3) { trace(1); } else if (arg0 == 3) "
			     "{ @ = count(); } else { trace(2); trace(3); } }");
	const struct clause_layout *cl = &x->layout->clauses[0];
	const struct rt_rec *rec;
	uint64_t bits, want = 0;

	nx_fire(x, SITE_F_ENTRY, 1, 0);
	nx_fire(x, SITE_F_ENTRY, 3, 0);
	nx_fire(x, SITE_F_ENTRY, 5, 0);
	rec = nrun_record(x->run, NULL);
	memcpy(&bits, (const char *)rec + cl->executed_off, 8);
	for (uint32_t i = 0; i < cl->clause->nacts; i++)
		if (act_is_recording(cl->clause->acts[i].kind) && !(bits >> i & 1))
			want |= 1ull << i;
	is_int(__builtin_popcountll(bits), 2, "two actions were executed");
	rec = nrun_record(x->run, NULL);
	memcpy(&bits, (const char *)rec + cl->executed_off, 8);
	is_int(bits, want, "then the other one");
	ok(!nrun_record(x->run, NULL), "where nothing is recorded there is no record");
	nx_destroy(x);
}

static void test_default(void)
{
	struct nx *x = nx_of("pid1:a.out:f: {}");
	const struct rt_rec *rec;
	uint32_t len;

	nx_fire(x, SITE_F_ENTRY, 0, 0);
	nx_fire(x, SITE_F_RETURN, 0, 0);
	nx_fire(x, SITE_G_ENTRY, 0, 0);
	rec = nrun_record(x->run, &len);
	ok(rec && rec->probe == 100 && len == sizeof(*rec), "an empty clause records the probe");
	rec = nrun_record(x->run, &len);
	ok(rec && rec->probe == 101, "and the next one");
	ok(!nrun_record(x->run, &len), "a probe on which it is not enabled fires nothing");
	nx_destroy(x);
}

static void test_sites(void)
{
	struct nx *x = nx_of("pid1:a.out:f:return,pid1:a.out:g:return { printf(\"%d %d %d %d\", "
			     "arg0, arg1, id, epid); }");

	nx_fire(x, SITE_F_RETURN, 7, 8);
	is_int(nx_field(x, 0, 0, 0), RET_OF_F, "arg0 of a return is the offset");
	nx_fire(x, SITE_G_RETURN, 7, (uint64_t)-8);
	is_int(nx_field(x, 1, 0, 1), -8, "arg1 is the value");
	nx_fire(x, SITE_G_TAIL, 7, 8);
	is_int(nx_field(x, 1, 0, 0), JMP_OF_G, "the offset of a jump to another function");
	nx_fire(x, SITE_G_TAIL, 7, 8);
	is_int(nx_field(x, 1, 0, 1), 0, "which has no value");
	nx_fire(x, SITE_F_RETURN, 7, 8);
	is_int(nx_field(x, 0, 0, 2), 101, "id");
	nx_fire(x, SITE_G_RETURN, 7, 8);
	is_int(nx_field(x, 1, 0, 3), 2, "epid");
	nx_destroy(x);
	x = nx_of("pid1:a.out::return { trace(epid); trace(probefunc); }");
	nx_fire(x, SITE_F_RETURN, 0, 0);
	is_int(nx_field(x, 0, 0, 0), 1, "epid of the first probe of a clause");
	nx_fire(x, SITE_G_TAIL, 0, 0);
	is_int(nx_field(x, 0, 0, 0), 2, "and of the second one");
	nx_fire(x, SITE_G_TAIL, 0, 0);
	is_str(strtab_get(x->strtab, (uint32_t)nx_field(x, 0, 1, 0)), "g", "and its name");
	nx_destroy(x);
}

static void test_registers(void)
{
	struct nx *x = nx_of("pid1:a.out:g:entry { trace(ucaller); trace(uregs[20]); "
			     "trace(uregs[17]); trace(uregs[14]); trace(arg5); }");
	uint64_t stack[2] = {0x1111, 0x2222};
	struct native_frame f = {.rax = 9, .r9 = 6, .pc = 0x77, .rsp = (uintptr_t)stack};
	const int64_t want[] = {0x2222, (int64_t)(uintptr_t)(stack + 1), 0x77, 9, 6};

	for (uint32_t i = 0; i < ARRAY_LEN(want); i++) {
		nrun_fire(x->run, SITE_G_ENTRY, &f);
		is_int(nx_field(x, 0, i, 0), want[i], "behind the first instruction of a function");
	}
	nx_destroy(x);
	x = nx_of("pid1:a.out:f:return { trace(ucaller); }");
	nrun_fire(x->run, SITE_F_RETURN, &f);
	is_int(nx_field(x, 0, 0, 0), 0x1111, "before the last one");
	nx_destroy(x);
}

static void test_identity(void)
{
	struct nx *x = nx_of("pid1:a.out:f:entry { trace(pid); trace(tid); trace(cpu); "
			     "trace(timestamp); trace(timestamp); trace(errno); }");
	const int64_t want[] = {getpid(), gettid()};
	int64_t first;

	for (uint32_t i = 0; i < ARRAY_LEN(want); i++) {
		nx_fire(x, SITE_F_ENTRY, 0, 0);
		is_int(nx_field(x, 0, i, 0), want[i], "who fires");
	}
	nx_fire(x, SITE_F_ENTRY, 0, 0);
	ok((uint64_t)nx_field(x, 0, 2, 0) < x->opts.ncpus, "the CPU is one of those that are");
	nx_fire(x, SITE_F_ENTRY, 0, 0);
	first = nx_field(x, 0, 3, 0);
	x->run->next--;
	is_int(nx_field(x, 0, 4, 0), first, "timestamp is the same in one firing");
	x->run->next--;
	is_int(nrun_record(x->run, NULL)->time, first, "and that of the record");
	nx_destroy(x);
}

/* ---- aggregations ---------------------------------------------------------------------------- */

static const int64_t samples[] = {0,	1,	  -1,	     2,		3,
				  7,	8,	  100,	     -100,	1000,
				  4096, 99999999, INT64_MAX, INT64_MIN, INT64_MIN + 1};

static int64_t agg_get(struct nx *x, uint32_t id, const void *key, uint32_t word)
{
	int64_t v = 0;

	return nrun_agg(x->run, id, key, word, &v) ? v : -12345;
}

static void test_keyless(void)
{
	struct nx *x = nx_of("pid1:a.out:f:entry { @c = count(); @s = sum(arg0); @a = avg(arg0); "
			     "@d = stddev(arg0); @i = min(arg0); @x = max(arg0); }");
	unsigned __int128 squares = 0;
	uint64_t sum = 0, low, high;
	int64_t least = INT64_MAX, most = INT64_MIN;

	for (uint32_t i = 0; i < ARRAY_LEN(samples); i++) {
		nx_fire(x, SITE_F_ENTRY, (uint64_t)samples[i], 0);
		sum += (uint64_t)samples[i];
		squares += (unsigned __int128)((__int128)samples[i] * samples[i]);
		least = MIN(least, samples[i]);
		most = MAX(most, samples[i]);
	}
	is_int(agg_get(x, 1, NULL, 0), ARRAY_LEN(samples), "count()");
	is_int(agg_get(x, 2, NULL, 0), sum, "sum()");
	is_int(agg_get(x, 3, NULL, 0), ARRAY_LEN(samples), "the count of avg()");
	is_int(agg_get(x, 3, NULL, 1), sum, "the sum of avg()");
	low = (uint64_t)agg_get(x, 4, NULL, 2);
	high = (uint64_t)agg_get(x, 4, NULL, 3);
	/* several CPUs may each have a part, without the carry between their halves */
	ok(x->opts.ncpus > 1 || ((unsigned __int128)high << 64 | low) == squares,
	   "the squares of stddev()");
	ok(agg_get(x, 1, NULL, x->layout->aggs[0].touched_off / 8) >= 1, "the CPU has touched it");
	is_int(agg_get(x, 4, NULL, 0), ARRAY_LEN(samples), "the count of stddev()");
	nx_destroy(x);
	(void)least, (void)most;
}

/* min() and max() of one sample each, so that the CPU does not matter. */
static void test_extremes(void)
{
	for (uint32_t i = 0; i < ARRAY_LEN(samples); i++) {
		struct nx *x = nx_of("pid1:a.out:f:entry { @i = min(arg0); @x = max(arg0); "
				     "@k[arg1] = min(arg0); @m[arg1] = max(arg0); }");
		int64_t key = 5;

		nx_fire(x, SITE_F_ENTRY, (uint64_t)samples[i], 5);
		ok((agg_get(x, 1, NULL, 0) ^ INT64_MAX) == samples[i] &&
			   (agg_get(x, 2, NULL, 0) ^ INT64_MIN) == samples[i] &&
			   (agg_get(x, 3, &key, 0) ^ INT64_MAX) == samples[i] &&
			   (agg_get(x, 4, &key, 0) ^ INT64_MIN) == samples[i],
		   "min() and max() of %lld", (long long)samples[i]);
		nx_destroy(x);
	}
}

/* Makes a function of the blob one that returns 0. */
static void blob_func_replace(struct nx *x, enum blob_func func)
{
	static const uint8_t code[] = {0x31, 0xc0, 0xc3}; /* xor %eax, %eax; ret */

	ok(pwrite(x->run->fd, code, sizeof(code), blob_entries[func]) == sizeof(code),
	   "a function is replaced");
}

/* Threads and keys that are in the first slots of their hashes are found without a function. */
static void test_first_slots(void)
{
	struct nx *x = nx_of("pid1:a.out:f:entry { self->n = arg0; }"
			     "pid1:a.out:f:return { @[arg1, tid] = sum(self->n); }");
	uint64_t key[2] = {7, (uint64_t)gettid()};

	nx_fire(x, SITE_F_ENTRY, 5, 0);
	nx_fire(x, SITE_F_RETURN, 0, 7);
	is_int(agg_get(x, 1, key, 0), 5, "a thread and a key are entered");
	blob_func_replace(x, BLOB_THREAD);
	nx_fire(x, SITE_F_ENTRY, 6, 0);
	nx_fire(x, SITE_F_RETURN, 0, 7);
	is_int(agg_get(x, 1, key, 0), 11, "the thread is found in its slot");
	blob_func_replace(x, BLOB_VALUE);
	nx_fire(x, SITE_F_ENTRY, 7, 0);
	nx_fire(x, SITE_F_RETURN, 0, 7);
	is_int(agg_get(x, 1, key, 0), 18, "and the key");
	nx_destroy(x);
}

#define NHIGH_KEYS 500u

/* Keys that differ in their highest bits alone are spread over the table, too. */
static void test_high_keys(void)
{
	struct nx *x = nx_of("pid1:a.out:f:return { @[arg1 << 48] = count(); }");
	uint32_t nfound = 0;

	for (uint64_t i = 0; i < NHIGH_KEYS; i++)
		nx_fire(x, SITE_F_RETURN, 0, i);
	for (uint64_t i = 0; i < NHIGH_KEYS; i++) {
		uint64_t key = i << 48;

		nfound += agg_get(x, 1, &key, 0) == 1;
	}
	is_int(nfound, NHIGH_KEYS, "all keys have found room");
	nx_destroy(x);
}

struct entries {
	uint64_t n, bytes, keys[4], addrs;
	uint32_t pid;
	bool have_time; /* those of the clauses' firings */
	uint64_t time;	/* of the last one */
};

static void entry_add(void *arg, const struct rt_live_key *key, const struct rt_live *entry)
{
	struct entries *s = arg;
	uint64_t k;

	memcpy(&k, entry->key, sizeof(k));
	if (s->n < ARRAY_LEN(s->keys))
		s->keys[s->n] = k;
	s->n++;
	s->bytes += entry->bytes;
	s->addrs += key->addr;
	s->pid = key->pid;
	s->time = entry->time;
	s->have_time |= now_ns() - entry->time < 3600000000000ull;
}

static struct entries entries_of(struct nx *x)
{
	struct entries s = {0};
	struct err *e = ndata_aggs.alive(x->run->data, entry_add, &s);

	ok(!e, "what is alive is read");
	err_destroy(e);
	return s;
}

static void test_live(void)
{
	struct nx *x = nx_create("pid1:a.out:f:entry { self->n = arg1; }"
				 "pid1:a.out:f:return { @[arg1 + 1] = live(arg1, self->n * 2); }"
				 "pid1:a.out:g:entry { dead(arg0); }"
				 "pid1:a.out:g:return { dead(arg1, timestamp - 1000000000); }");
	struct entries s;

	x->opts.livesize = 100;
	nx_lay_out(x);
	nx_make(x, &(struct nrun_opts){0});
	ok(x->run != NULL, "live() and dead() have code");
	nx_fire(x, SITE_F_ENTRY, 0, 50);
	nx_fire(x, SITE_F_RETURN, 0, 0x1000);
	nx_fire(x, SITE_F_RETURN, 0, 0x2000);
	nx_fire(x, SITE_G_ENTRY, 0x3000, 0);
	nx_fire(x, SITE_G_RETURN, 0, 0x1000);
	s = entries_of(x);
	ok(s.n == 2 && s.bytes == 200 && s.addrs == 0x3000 && s.pid == (uint32_t)getpid() &&
		   s.have_time,
	   "addresses with bytes and time");
	nx_fire(x, SITE_G_ENTRY, 0x2000, 0);
	s = entries_of(x);
	ok(s.n == 1 && s.keys[0] == 0x1001, "one was given back; the other has its key");
	ok(x->run->has_saved_all && x->run->stack_used < NATIVE_STACK_MAX, "within the limits");
	nx_destroy(x);
}

/* The code itself fills the slot that an address owns, and gives it back; no other one. */
static void test_live_owned(void)
{
	struct nx *x = nx_create("pid1:a.out:f:return { @ = live(arg1, arg1); }"
				 "pid1:a.out:g:entry { dead(arg0); }");

	x->opts.livesize = 100;
	nx_lay_out(x);
	nx_make(x, &(struct nrun_opts){0});
	nx_fire(x, SITE_F_RETURN, 0, 0x1000);
	blob_func_replace(x, BLOB_LIVE);
	blob_func_replace(x, BLOB_DEAD);
	nx_fire(x, SITE_G_ENTRY, 0x1000, 0);
	is_int(entries_of(x).n, 0, "an address that owns its slot gives it back");
	nx_fire(x, SITE_F_RETURN, 0, 0x1000);
	nx_fire(x, SITE_F_RETURN, 0, 0x1000);
	is_int(entries_of(x).bytes, 0x1000, "and has it again");
	nx_fire(x, SITE_F_RETURN, 0, 0x2000);
	nx_fire(x, SITE_F_RETURN, 0, (int64_t)(BLOB_LIVE_XOR));
	nx_fire(x, SITE_G_ENTRY, (int64_t)(BLOB_LIVE_XOR), 0);
	nx_fire(x, SITE_G_ENTRY, 0x3000, 0);
	is_int(entries_of(x).addrs, 0x1000, "others are left to the functions");
	nx_destroy(x);
}

/* Where only the order counts, no clock is read, and a block is before or behind a time. */
static void test_live_order(void)
{
	struct nx *x = nx_create("pid1:a.out:f:entry { self->at = timestamp; }"
				 "pid1:a.out:f:return { @[arg1] = live(arg1, 1); }"
				 "pid1:a.out:g:entry { dead(arg0, self->at); }");
	uint64_t time;

	x->opts.livesize = 100;
	x->opts.liveorder = true;
	nx_lay_out(x);
	nx_make(x, &(struct nrun_opts){0});
	nx_fire(x, SITE_F_RETURN, 0, 0x1000);
	time = entries_of(x).time;
	nx_fire(x, SITE_F_RETURN, 0, 0x1000);
	is_int(entries_of(x).time, time, "the clock is not read");
	for (uint32_t i = 0; i < 1000; i++) {
		nx_fire(x, SITE_F_RETURN, 0, 0x1000);
		nx_fire(x, SITE_F_ENTRY, 0, 0);
		nx_fire(x, SITE_F_RETURN, 0, 0x2000);
		nx_fire(x, SITE_G_ENTRY, 0x1000, 0);
		nx_fire(x, SITE_G_ENTRY, 0x2000, 0);
	}
	is_int(entries_of(x).addrs, 0x2000, "what came behind the time is there");
	ok(entries_of(x).time > time && entries_of(x).have_time, "with one behind that");
	nx_destroy(x);
}

/* The element of an address finds no room: what was there before is given back. */
static void test_live_elements(void)
{
	struct nx *x = nx_create("pid1:a.out:f:entry { @[arg1] = live(arg0, 1); }");
	struct entries s;
	struct rt_cpu drops;

	x->opts.livesize = 10000;
	x->opts.aggsize = 1; /* few elements */
	nx_lay_out(x);
	nx_make(x, &(struct nrun_opts){0});
	for (uint64_t i = 0; i < 5000; i++)
		nx_fire(x, SITE_F_ENTRY, 0x1000, i);
	s = entries_of(x);
	drops = nrun_drops(x->run);
	ok(drops.agg_drops > 0 && !drops.live_drops, "%llu keys find no room",
	   (unsigned long long)drops.agg_drops);
	ok(!s.n, "and none of them is followed");
	nx_destroy(x);
}

static void test_histograms(void)
{
	struct nx *x = nx_of("pid1:a.out:f:entry { @q = quantize(arg0); @k[arg1] = quantize(arg0, "
			     "3); @l = lquantize(arg0, -10, 110, 10); @m[1] = lquantize(arg0, 0, "
			     "4096, 7); @n = llquantize(arg0, 10, 0, 6, 20); }");
	int64_t key = 4, one = 1, total;

	for (uint32_t i = 0; i < ARRAY_LEN(samples); i++)
		nx_fire(x, SITE_F_ENTRY, (uint64_t)samples[i], 4);
	is_int(agg_get(x, 1, NULL, 63), 1, "quantize: zero");
	is_int(agg_get(x, 1, NULL, 64), 1, "quantize: 1");
	is_int(agg_get(x, 1, NULL, 65), 2, "quantize: 2 and 3");
	is_int(agg_get(x, 1, NULL, 62), 1, "quantize: -1");
	is_int(agg_get(x, 1, NULL, 56), 1, "quantize: -100");
	is_int(agg_get(x, 1, NULL, 126), 1, "quantize: the largest number");
	is_int(agg_get(x, 1, NULL, 0), 2, "quantize: the two smallest ones");
	is_int(agg_get(x, 2, &key, 65), 6, "quantize with a key and an increment");
	is_int(agg_get(x, 3, NULL, 0), 3, "lquantize: below");
	is_int(agg_get(x, 3, NULL, 1), 1, "lquantize: -10 to -1");
	is_int(agg_get(x, 3, NULL, 2), 6, "lquantize: 0 to 9");
	is_int(agg_get(x, 3, NULL, 12), 1, "lquantize: 100 to 109");
	is_int(agg_get(x, 3, NULL, 13), 4, "lquantize: above");
	/* the map may be shared: then the key begins with the owner's number */
	for (uint32_t a = 1; a <= 5; a++) {
		const struct agg_layout *al = &x->layout->aggs[a - 1];
		char buf[64] = {0};

		memcpy(buf, &(uint64_t){al->owner}, al->owner ? 8 : 0);
		if (al->nkeys)
			memcpy(buf + al->keys[0].off, a == 2 ? &key : &one, al->keys[0].size);
		total = 0;
		for (uint32_t k = 0; k < al->nbuckets; k++) {
			int64_t v = 0;

			/* in a sparse histogram each bucket is an element */
			if (al->is_sparse)
				memcpy(buf + al->key_size - 4, &k, sizeof(k));
			if (nrun_agg(x->run, a, al->key_size ? buf : NULL, al->is_sparse ? 0 : k,
				     &v))
				total += v;
		}
		is_int(total, ARRAY_LEN(samples) * (a == 2 ? 3 : 1), "each value is in one bucket");
	}
	nx_destroy(x);
}

static void test_keys(void)
{
	struct nx *x = nx_of("pid1:a.out::entry { @[probefunc, (char)arg0, arg1, \"k\"] = count(); "
			     "@u[ufunc(arg0)] = count(); }");
	const struct agg_layout *al = &x->layout->aggs[0], *ul = &x->layout->aggs[1];
	char key[64] = {0};
	uint64_t addr[2] = {(uint64_t)getpid(), 0x1234};
	uint32_t id;

	for (uint32_t i = 0; i < 3; i++)
		nx_fire(x, SITE_F_ENTRY, 0x1234, 9);
	nx_fire(x, SITE_G_ENTRY, 0x1234, 9);
	memcpy(key, &(uint64_t){al->owner}, al->owner ? 8 : 0);
	ok(strtab_find(x->strtab, "f", 1, &id), "the name is in the table of strings");
	memcpy(key + al->keys[0].off, &id, 4);
	key[al->keys[1].off] = 0x34;
	memcpy(key + al->keys[2].off, &(uint64_t){9}, 8);
	ok(strtab_find(x->strtab, "k", 1, &id), "the constant is in the table of strings");
	memcpy(key + al->keys[3].off, &id, 4);
	is_int(agg_get(x, 1, key, 0), 3, "a key of names and numbers");
	memset(key, 0, sizeof(key));
	memcpy(key, &(uint64_t){ul->owner}, ul->owner ? 8 : 0);
	memcpy(key + ul->keys[0].off, addr, sizeof(addr));
	is_int(agg_get(x, 2, key, 0), 4, "an address of the process as key");
	nx_destroy(x);
}

/* ---- variables ------------------------------------------------------------------------------- */

static void test_variables(void)
{
	struct nx *x =
		nx_of("int g; short a[int, int]; self char c; self unsigned e[string];\n"
		      "pid1:a.out:f:entry { this->t = arg0 * 2; g += this->t; self->c = arg0; "
		      "a[1, arg0] = arg1; self->e[probefunc] = arg1; }\n"
		      "pid1:a.out:g:entry { printf(\"%d %d %d %d %d\", g, self->c, a[1, 7], "
		      "self->e[\"f\"], this->t); }\n"
		      "pid1:a.out:f:return { self->c = 0; a[1, 7] = 0; self->e[\"f\"] = 0; }");
	const int64_t want[] = {14, 7, -2, 0xfffffffe, 0}, zero[] = {14, 0, 0, 0, 0};

	nx_fire(x, SITE_F_ENTRY, 7, (uint64_t)-2);
	for (uint32_t i = 0; i < ARRAY_LEN(want); i++) {
		nx_fire(x, SITE_G_ENTRY, 0, 0);
		is_int(nx_field(x, 1, 0, i), want[i], "variables");
	}
	nx_fire(x, SITE_F_RETURN, 0, 0);
	for (uint32_t i = 0; i < ARRAY_LEN(zero); i++) {
		nx_fire(x, SITE_G_ENTRY, 0, 0);
		is_int(nx_field(x, 1, 0, i), zero[i], "after storing 0");
	}
	nx_destroy(x);
}

/* ---- faults, exit, drops --------------------------------------------------------------------- */

static void test_faults(void)
{
	struct nx *x = nx_of("pid1:a.out:g:entry { trace(1); }\n"
			     "pid1:a.out::entry { trace(arg0); trace(100 / arg1); }\n"
			     "pid1:a.out:g:entry { trace(3); }");
	const struct rt_rec_fault *f;
	uint32_t len;

	nx_fire(x, SITE_G_ENTRY, 1, 0);
	is_int(nx_field(x, 0, 0, 0), 1, "the clause before");
	f = (const void *)nrun_record(x->run, &len);
	ok(f && len == sizeof(*f) && f->rec.clause == RT_REC_FAULT, "a fault is recorded");
	ok(f->fault.kind == DIF_FAULT_DIVZERO && f->fault.clause == 1 && f->fault.value == 0 &&
		   f->rec.probe == 102 && f->fault.action == 2 && f->epid == 3 &&
		   f->pid == (uint64_t)getpid() && !f->in_scratch,
	   "division by zero: kind %u clause %u action %u epid %u", f->fault.kind, f->fault.clause,
	   f->fault.action, f->epid);
	ok(f->fault.offset > 0 && f->fault.offset % 4 == 0, "at an instruction");
	is_int(nx_field(x, 2, 0, 0), 3, "the clause behind runs");
	ok(!nrun_record(x->run, NULL), "the clause that faulted records nothing");
	nx_fire(x, SITE_G_ENTRY, 1, 10);
	(void)nrun_record(x->run, NULL);
	is_int(nx_field(x, 1, 1, 0), 10, "no fault");
	nx_destroy(x);
}

static void test_exit(void)
{
	struct nx *x = nx_of("pid1:a.out:f:entry /arg0 == 2/ { exit(3); }\n"
			     "pid1:a.out:f:entry { trace(arg0); }");
	uint32_t state;

	nx_fire(x, SITE_F_ENTRY, 1, 0);
	is_int(nx_field(x, 1, 0, 0), 1, "before");
	nx_fire(x, SITE_F_ENTRY, 2, 0);
	is_int(nx_field(x, 0, 0, 0), 3, "exit() records its status");
	ok(!ndata_state(x->run->data, &state) && state == RT_STATE_EXITING, "the state is EXITING");
	ok(!nrun_record(x->run, NULL), "the clause behind does not run");
	nx_fire(x, SITE_F_ENTRY, 1, 0);
	ok(!nrun_record(x->run, NULL), "nothing fires any more");
	nx_destroy(x);
}

static void test_drops(void)
{
	struct nx *x = nx_create("pid1:a.out:f:entry { trace(arg0); }");
	uint32_t n = 0, state;

	nx_lay_out(x);
	nx_make(x, &(struct nrun_opts){.bufsize = 4096});
	for (uint32_t i = 0; i < 20000; i++)
		(void)nrun_time(x->run, SITE_F_ENTRY, &(struct native_frame){.rdi = i}, 1);
	while (nrun_record(x->run, NULL))
		n++;
	is_int(n + nrun_drops(x->run).drops, 20000, "what finds no room is counted");
	ok(n > 50, "and there is some room");
	nx_destroy(x);
	x = nx_create("pid1:a.out:f:entry { trace(arg0); }");
	nx_lay_out(x);
	nx_make(x, &(struct nrun_opts){.bufsize = 4096, .stops_when_full = true});
	for (uint32_t i = 0; i < 20000; i++)
		(void)nrun_time(x->run, SITE_F_ENTRY, &(struct native_frame){.rdi = i}, 1);
	ok(!ndata_state(x->run->data, &state) && state == RT_STATE_EXITING,
	   "with the policy fill that ends the run");
	nx_destroy(x);
	x = nx_create("pid1:a.out:f:entry { @[arg0] = count(); }");
	x->opts.aggsize = 4096;
	nx_lay_out(x);
	nx_make(x, &(struct nrun_opts){0});
	for (uint32_t i = 0; i < 20000; i++)
		(void)nrun_time(x->run, SITE_F_ENTRY, &(struct native_frame){.rdi = i}, 1);
	ok(nrun_drops(x->run).agg_drops > 10000, "so is a key without room");
	nx_destroy(x);
}

/* ---- targets that lack something ------------------------------------------------------------- */

static void test_lacks(void)
{
	struct nx *x = nx_create("pid1:a.out:f:entry { @ = count(); }");
	int64_t v;

	nx_lay_out(x);
	nx_make(x, &(struct nrun_opts){.has_no_rseq = true, .has_no_tid = true});
	nx_fire(x, SITE_F_ENTRY, 0, 0);
	ok(x->run && nrun_agg(x->run, 1, NULL, 0, &v) && v == 1,
	   "slots of CPUs without restartable sequences");
	nx_destroy(x);
	x = nx_create("pid1:a.out:f:entry { trace(cpu); }");
	nx_lay_out(x);
	nx_make(x, &(struct nrun_opts){.has_no_rseq = true});
	ok(!x->run && strstr(err_text(x->refused), "restartable"), "%s",
	   x->run ? "taken" : err_text(x->refused));
	nx_destroy(x);
	x = nx_create("pid1:a.out:f:entry { self->x = 1; }");
	nx_lay_out(x);
	nx_make(x, &(struct nrun_opts){.has_no_tid = true});
	ok(!x->run && strstr(err_text(x->refused), "thread's number"), "%s",
	   x->run ? "taken" : err_text(x->refused));
	nx_destroy(x);
}

#define FSGSBASE 2 /* HWCAP2_FSGSBASE of Linux arch/x86/include/uapi/asm/hwcap2.h */

static void test_options(void)
{
	struct nx *x = nx_create("pid1:a.out:f:entry { @ = count(); }");
	int64_t v = 0;

	nx_lay_out(x);
	nx_make(x, &(struct nrun_opts){.only_cpu = 1 + (int32_t)x->opts.ncpus});
	nx_fire(x, SITE_F_ENTRY, 0, 0);
	ok(nrun_agg(x->run, 1, NULL, 0, &v) && v == 0, "nothing fires on other CPUs");
	nx_destroy(x);
	if (!(getauxval(AT_HWCAP2) & FSGSBASE)) {
		ok(true, "# SKIP the kernel does not allow rdfsbase");
		return;
	}
	x = nx_create("pid1:a.out:f:entry { @ = count(); }");
	nx_lay_out(x);
	nx_make(x, &(struct nrun_opts){.checks_fs = true});
	nx_fire(x, SITE_F_ENTRY, 0, 0);
	ok(nrun_agg(x->run, 1, NULL, 0, &v) && v == 1, "threads with a thread block count");
	nrun_without_block(x->run, SITE_F_ENTRY);
	ok(nrun_agg(x->run, 1, NULL, 0, &v) && v == 1, "those without one do nothing");
	is_int(nrun_drops(x->run).agg_drops, 1, "which is counted as dropped");
	nx_destroy(x);
}

int main(void)
{
	test_record();
	test_executed();
	test_default();
	test_sites();
	test_registers();
	test_identity();
	test_keyless();
	test_extremes();
	test_first_slots();
	test_high_keys();
	test_live();
	test_live_owned();
	test_live_order();
	test_live_elements();
	test_histograms();
	test_keys();
	test_variables();
	test_faults();
	test_exit();
	test_drops();
	test_lacks();
	test_options();
	return tap_done();
}
