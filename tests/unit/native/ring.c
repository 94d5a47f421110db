/* SPDX-License-Identifier: MIT */
/*
 * Records: threads and signal handlers write them to the rings of random CPUs while the tracer
 * reads; each arrives whole and once, or is counted as dropped. Holes hold back what is behind them
 * until they are given up. What is no record is left out.
 */
#include "native/hammer.h"

#define NOPS	 150000u
#define NWRITERS (2 * HAMMER_THREADS)

struct record {
	struct rt_rec rec;
	uint32_t writer, number;
	uint64_t sum;
	uint8_t bytes[ENV_REC_MAX - ENV_REC_MIN];
};

static uint32_t sent[NWRITERS], given_up[NWRITERS];
static uint64_t refused;

static uint64_t bytes_sum(const uint8_t *p, uint32_t n)
{
	uint64_t sum = n;

	for (uint32_t i = 0; i < n; i++)
		sum = sum * 31 + p[i];
	return sum;
}

static void op_record(struct hammer *h, uint64_t *seed, uint32_t writer)
{
	struct env *t = h->env;
	uint64_t x = env_random(seed);
	uint32_t n = (uint32_t)(x >> 8) % (ENV_REC_MAX - ENV_REC_MIN + 1);
	uint64_t time = now_ns();
	struct record *r =
		BLOB(t, RECORD_BEGIN, record_begin)(t->head, x % ENV_CPUS, ENV_REC_MIN + n, 1);

	if (!r) {
		(void)__atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
		if (writer < HAMMER_THREADS) /* so that the reader gets a CPU */
			(void)sched_yield();
		return;
	}
	memset(r->bytes, (int)x, n);
	r->sum = bytes_sum(r->bytes, n);
	r->rec = (struct rt_rec){1, writer, time};
	r->writer = writer;
	r->number = sent[writer];
	if (x >> 60 == 0) {
		BLOB(t, RECORD_DROP, record_drop)(r);
		given_up[writer]++;
		return;
	}
	sent[writer]++;
	BLOB(t, RECORD_END, record_end)(r);
}

struct reader {
	uint64_t nrecords, nwrong, ndisordered, last;
	uint64_t numbers[NWRITERS]; /* sum of the numbers that have come */
	uint32_t count[NWRITERS];
	const struct rt_rec *next;
};

static struct err *record_see(void *ctx, const struct rt_rec *rec, uint32_t len, uint32_t cpu,
			      const struct rt_rec *next)
{
	struct reader *rd = ctx;
	const struct record *r = (const struct record *)rec;

	rd->nrecords++;
	rd->ndisordered += rec->time < rd->last;
	rd->last = rec->time;
	rd->next = next;
	if (cpu >= ENV_CPUS || r->writer >= NWRITERS || rec->clause != 1 ||
	    r->sum != bytes_sum(r->bytes, len - ENV_REC_MIN)) {
		rd->nwrong++;
		return NULL;
	}
	rd->numbers[r->writer] += r->number;
	rd->count[r->writer]++;
	return NULL;
}

static void test_hammer(void)
{
	struct env t = {0};
	struct hammer h = {.env = &t, .op = op_record, .n = NOPS};
	struct rt_control *c = xcalloc(1, sizeof(*c) + ENV_CPUS * sizeof(c->cpu[0]));
	struct reader rd = {0};
	uint64_t drops = 0;
	uint32_t ndrains = 0;

	c->ncpus = ENV_CPUS;
	env_open(&t, 1 << 16);
	hammer_start(&h);
	for (; hammer_runs(&h); ndrains++) {
		rd.last = 0;
		(void)env_ok(ndata_drain(t.d, now_ns() - 100000, record_see, &rd), "drain");
	}
	hammer_join(&h);
	rd.last = 0;
	(void)env_ok(ndata_drain(t.d, ENGINE_EVERYTHING, record_see, &rd), "drain");
	(void)env_ok(ndata_count(t.d, c), "count");
	for (uint32_t cpu = 0; cpu < ENV_CPUS; cpu++)
		drops += c->cpu[cpu].drops;
	printf("# %llu records in %u drains, %llu refused, %llu signals\n",
	       (unsigned long long)rd.nrecords, ndrains, (unsigned long long)refused,
	       (unsigned long long)h.nsignals);
	ok(h.nsignals > 100 && rd.nrecords > 1000, "the handler has run, and there were records");
	is_int(rd.nwrong, 0, "each record arrives as it was written");
	is_int(ndata_nbad(t.d), 0, "nothing else was taken for a record");
	is_int(drops, refused, "a full ring counts what finds no room");
	for (uint32_t w = 0; w < NWRITERS; w++) {
		uint64_t n = sent[w];

		if (rd.count[w] != n || rd.numbers[w] != n * (n - 1) / 2)
			ok(false, "writer %u has sent %u, %u came", w, sent[w], rd.count[w]);
	}
	ok(given_up[0] > 0, "some were given up");
	env_close(&t);
	free(c);
}

/* ---- order, size, holes ---------------------------------------------------------------------- */

static void *record_begin(struct env *t, uint32_t cpu, uint64_t time, uint64_t thread)
{
	struct record *r = BLOB(t, RECORD_BEGIN, record_begin)(t->head, cpu, ENV_REC_MIN, thread);

	if (r) {
		r->rec = (struct rt_rec){1, 0, time};
		r->writer = r->number = 0;
		r->sum = 0;
	}
	return r;
}

static void record_send(struct env *t, uint32_t cpu, uint64_t time)
{
	void *r = record_begin(t, cpu, time, 0);

	if (r)
		BLOB(t, RECORD_END, record_end)(r);
}

static struct reader drain(struct env *t, uint64_t horizon)
{
	struct reader rd = {0};

	(void)env_ok(ndata_drain(t->d, horizon, record_see, &rd), "drain");
	return rd;
}

static void test_order(void)
{
	struct env t = {0};
	struct reader rd;
	uint64_t seed = 3;

	env_open(&t, 1 << 16);
	for (uint32_t i = 0; i < 1500; i++)
		record_send(&t, i % ENV_CPUS, 1 + env_random(&seed) % 1000);
	rd = drain(&t, 500);
	ok(rd.nrecords > 600 && rd.nrecords < 900 && rd.last <= 500, "up to the horizon");
	is_int(rd.ndisordered, 0, "records of all CPUs in the order of time");
	ok(ndata_fill(t.d) > 200 / 4 && ndata_fill(t.d) < 256, "how full the buffers were");
	rd.nrecords += drain(&t, 2000).nrecords;
	is_int(rd.nrecords, 1500, "and the rest with the next horizon");
	ok(!rd.next || rd.next->time > 0, "the next record is a record");
	env_close(&t);
}

static bool is_dead;

static bool thread_is_alive(void *ctx, uint32_t tid)
{
	return !is_dead || tid != 77;
}

static void test_holes(void)
{
	struct env t = {.hooks = {.is_alive = thread_is_alive}};
	struct blob_cpu *c;
	void *r;

	env_open(&t, 1 << 16);
	c = (struct blob_cpu *)(void *)((u8 *)t.head + t.plan->cpus_off);
	record_send(&t, 0, 1);
	r = record_begin(&t, 0, 2, BLOB_THREAD(77, 64));
	record_send(&t, 0, 3);
	record_send(&t, 1, 4);
	is_int(drain(&t, 10).nrecords, 2, "what is behind a hole waits, on its CPU");
	is_int(drain(&t, 10).nrecords, 0, "as long as its thread is alive");
	BLOB(&t, RECORD_END, record_end)(r);
	is_int(drain(&t, 10).nrecords, 2, "when the record is complete, both come");
	(void)record_begin(&t, 0, 2, BLOB_THREAD(77, 64));
	record_send(&t, 0, 3);
	is_int(drain(&t, 10).nrecords, 0, "another hole");
	is_dead = true;
	is_int(drain(&t, 10).nrecords, 1, "whose thread has died");
	is_int(t.d->lost[0], 1, "the lost record is counted");
	(void)record_begin(&t, 0, 2, 0);
	record_send(&t, 0, 3);
	is_int(drain(&t, 10).nrecords, 0, "a hole of nobody knows whom");
	t.d->grace_ns = 0;
	is_int(drain(&t, 10).nrecords, 1, "is given up after some time");
	t.d->grace_ns = NDATA_GRACE_NS;
	/* as if a thread had been stopped right after reserving */
	c->head += 12 * BLOB_REC_ALIGN;
	record_send(&t, 0, 3);
	is_int(drain(&t, 10).nrecords, 0, "a hole of unknown length");
	t.d->grace_ns = 0;
	is_int(drain(&t, 10).nrecords, 1, "reading goes on behind it");
	t.d->grace_ns = NDATA_GRACE_NS;
	(void)record_begin(&t, 2, 2, 0);
	record_send(&t, 2, 3);
	is_int(drain(&t, ENGINE_EVERYTHING).nrecords, 1, "the last drain waits for none");
	for (uint32_t i = 0; i < 20000; i++) {
		record_send(&t, 3, 5);
		if (i % 100 == 99 && drain(&t, 10).nrecords != 100)
			ok(false, "record %u", i);
	}
	ok(true, "a ring that goes round often");
	env_close(&t);
}

/* Bytes that this process has read. */
static uint64_t bytes_read(void)
{
	FILE *f = fopen("/proc/self/io", "re");
	unsigned long long n = 0;

	if (f && fscanf(f, "rchar: %llu", &n) != 1)
		n = 0;
	if (f)
		(void)fclose(f);
	return n;
}

/* A process that fills its ring with holes of threads that have died must not be read for ever. */
static void test_only_holes(void)
{
	struct env t = {.hooks = {.is_alive = thread_is_alive}};
	uint64_t before, n = 0;

	is_dead = true;
	env_open(&t, 1 << 20);
	while (record_begin(&t, 0, 2, BLOB_THREAD(77, 64)))
		n++;
	before = bytes_read();
	is_int(drain(&t, 10).nrecords, 0, "a ring of nothing but holes");
	is_int(t.d->lost[0], n, "each of which is counted");
	ok(bytes_read() - before < 200ull << 20, "reading it takes a bounded time");
	env_close(&t);
}

/* ---- pages that are made before -------------------------------------------------------------- */

static void test_made(void)
{
	struct env t = {0};
	bool is_hole = true, is_made = true;
	off_t at;

	env_open(&t, 8 << 20);
	for (uint32_t i = 0; i < ENV_CPUS; i++) {
		at = (off_t)(t.plan->rings_off + i * t.plan->ring_size);
		is_hole &= lseek(t.fd, at, SEEK_HOLE) == at;
	}
	ok(is_hole, "no page of a ring is there");
	(void)env_ok(ndata_rings_make(t.d), "pages");
	for (uint32_t i = 0; i < ENV_CPUS; i++) {
		at = (off_t)(t.plan->rings_off + i * t.plan->ring_size);
		is_made &= lseek(t.fd, at, SEEK_HOLE) - at >= (16 << 20) / ENV_CPUS;
	}
	ok(is_made, "their begins are, of all CPUs");
	for (uint32_t i = 0; i < 1000; i++)
		BLOB(&t, RECORD_END, record_end)(record_begin(&t, 0, 1, 0));
	is_int(drain(&t, ENGINE_EVERYTHING).nrecords, 1000, "records are read as ever");
	env_close(&t);
}

/* ---- what is no record ----------------------------------------------------------------------- */

static bool probe_is_allowed(void *ctx, uint32_t clause, uint32_t probe)
{
	return probe != 13;
}

static void test_refused(void)
{
	struct env t = {.hooks = {.allows = probe_is_allowed}};
	struct record *r;
	struct rt_rec_fault *f;

	env_open(&t, 1 << 16);
	for (uint32_t i = 0; i < 8; i++) {
		r = record_begin(&t, 0, 1, 0);
		if (i == 1)
			r->rec.clause = ENV_CLAUSES;
		else if (i == 2)
			r->rec.clause = 0; /* has another size */
		else if (i == 3)
			r->rec.probe = 13;
		else if (i == 4)
			r->rec.time = now_ns() + 10000000000;
		else if (i == 5)
			r->rec.clause = RT_REC_FAULT; /* too short */
		else if (i == 6)
			r->rec.clause = RT_REC_COMMIT;
		BLOB(&t, RECORD_END, record_end)(r);
	}
	f = BLOB(&t, RECORD_BEGIN, record_begin)(t.head, 0, sizeof(*f), 0);
	*f = (struct rt_rec_fault){.rec = {RT_REC_FAULT, 1, 1}, .fault = {.clause = 2}};
	BLOB(&t, RECORD_END, record_end)(f);
	f = BLOB(&t, RECORD_BEGIN, record_begin)(t.head, 0, sizeof(*f), 0);
	*f = (struct rt_rec_fault){.rec = {RT_REC_FAULT, 1, 1}, .fault = {.clause = 3}};
	BLOB(&t, RECORD_END, record_end)(f);
	is_int(drain(&t, ENGINE_EVERYTHING).nrecords, 3, "two records and a fault are handed out");
	is_int(ndata_nbad(t.d), 7, "seven are none");
	is_int(t.d->lost[0], 7, "and are lost records");
	ok(!BLOB(&t, RECORD_BEGIN, record_begin)(t.head, 0, 1 << 16, 0), "too large for the ring");
	env_close(&t);
}

int main(void)
{
	test_hammer();
	test_order();
	test_holes();
	test_only_holes();
	test_made();
	test_refused();
	return tap_done();
}
