/* SPDX-License-Identifier: MIT */
/*
 * A process that has memory which looks like what a tracer has left there: heads and tables of
 * windows in which random bytes are random, and rows that mean code of it or of nobody. Nothing is
 * taken back that was not written, and who reads it lives.
 */
#include "tap.h"

#ifdef __x86_64__

#include "files/gate.h"
#include "patch/leftover.h"
#include "patch/victim.h"

#define SIZE   (1u << 20)
#define ROUNDS 400

static uint8_t *region;	     /* shared with the process; there its code follows */
static uint8_t *region_near; /* the same, where a jump of its code reaches it */
static uint32_t seed = 1;

static uint32_t number(void)
{
	seed = seed * 1103515245 + 12345;
	return seed >> 8;
}

static void region_become(uint8_t *at)
{
	if (mprotect(at, SIZE, PROT_READ) ||
	    mmap(at + SIZE, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0) == MAP_FAILED)
		_exit(3);
}

static void forged_run(void)
{
	region_become(region);
	region_become(region_near);
	victim_run();
}

static uint8_t *region_map(uint8_t *at)
{
	uint8_t *p = mmap(at, 2 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || (at && p != at) ||
	    mmap(p, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
		    p)
		BUG("mmap");
	return p;
}

/* A number that is near one at which something ends, or any. */
static uint64_t number_odd(uint64_t near)
{
	switch (number() % 6) {
	case 0: return near;
	case 1: return near + number() % 3 - 1;
	case 2: return near * 2;
	case 3: return UINT64_MAX - number() % 16;
	case 4: return number() % 16;
	default: return (uint64_t)number() << 40 | number();
	}
}

static taddr addr_odd(void)
{
	static uint8_t *const code[] = {victim_add_window, victim_load_window, victim_pad};

	switch (number() % 4) {
	case 0: return (taddr)region + number() % (2 * SIZE);
	case 1: return number_odd((taddr)region);
	default: return (taddr)code[number() % ARRAY_LEN(code)] + number() % 3;
	}
}

static void region_forge(void)
{
	uint32_t nrows = (SIZE - REGION_ROWS) / sizeof(struct window_row);
	struct region_head h = {.text = REGION_TEXT,
				.version = REGION_VERSION,
				.nrows = number() % 64,
				.region = (taddr)region,
				.head_size = SIZE,
				.code_size = SIZE,
				.data_size = 4096};
	struct window_row r;

	if (number() % 3 == 0)
		h.nrows = (uint32_t)number_odd(nrows);
	if (number() % 8 == 0)
		h.region = number_odd((taddr)region);
	if (number() % 8 == 0)
		h.head_size = number_odd(SIZE);
	if (number() % 8 == 0)
		h.code_size = number_odd(SIZE);
	if (number() % 8 == 0)
		h.data_size = number_odd(SIZE);
	memcpy(region, &h, sizeof(h));
	for (uint32_t i = 0; i < 64; i++) {
		for (uint32_t k = 0; k < sizeof(r); k++)
			((uint8_t *)&r)[k] = (uint8_t)number();
		r.addr = addr_odd();
		r.pad = number() % 2 ? addr_odd() : 0;
		r.stub = addr_odd();
		window_row_turn(&r);
		memcpy(region + REGION_ROWS + i * sizeof(r), &r, sizeof(r));
	}
	for (uint32_t i = number() % 4; i > 0; i--)
		region[number() % (i % 2 ? 128 : 8192)] = (uint8_t)number();
}

/* The region of a dead tracer, with one window, which is in place where nobody executes it. */
static void window_make(pid_t pid, taddr at)
{
	taddr addr = (taddr)victim_load_window, stub = (taddr)region_near + SIZE + 64;
	int32_t distance = (int32_t)(stub - addr - 5);
	struct region_head h = {.text = REGION_TEXT,
				.version = REGION_VERSION,
				.nrows = 1,
				.region = at,
				.head_size = SIZE,
				.code_size = SIZE,
				.data_size = 4096};
	struct window_row r = {.addr = addr, .stub = stub, .is_used = true};
	uint8_t jump[5] = {0xe9};
	CLEANUP(fd) int fd = process_memory_open(pid);

	memcpy(jump + 1, &distance, sizeof(distance));
	memcpy(region_near, &h, sizeof(h));
	window_row_turn(&r);
	memcpy(region_near + REGION_ROWS, &r, sizeof(r));
	if (pwrite(fd, jump, sizeof(jump), (off_t)addr) != (ssize_t)sizeof(jump))
		BUG("pwrite");
}

static void test_window(pid_t pid, struct gate *gate)
{
	uint32_t n = 9;
	struct err *e;

	window_make(pid, (taddr)region_near - SIZE);
	e = patch_leftovers(pid, gate, NULL, &n);
	ok(!e && n == 1 && victim_is_clean(pid), "a window whose head says another place is found");
	window_make(pid, (taddr)region_near);
	e = patch_leftovers(pid, gate, NULL, &n);
	ok(!e && n == 1 && victim_is_clean(pid), "as is one with a head that is right");
	window_make(pid, (taddr)region_near);
	memset(region_near, 0xff, SIZE);
	e = patch_leftovers(pid, gate, NULL, &n);
	ok(!e && n == 1 && victim_is_clean(pid), "and one whose head was overwritten");
	memset(region_near, 0, SIZE);
}

/* Short jumps in its code that the file does not have: more than there is room for. */
static void test_full(pid_t pid, struct gate *gate)
{
	static const uint8_t hops[8] = {0xeb, 0, 0xeb, 0, 0xeb, 0, 0xeb, 0};
	struct leftover l = {.pid = pid, .gate = gate, .rows_left = 3};
	uint8_t old[sizeof(hops)];
	struct err *e;

	l.mem_fd = process_memory_open(pid);
	/* code that nobody executes */
	if (pread(l.mem_fd, old, sizeof(old), (off_t)(taddr)victim_load) != sizeof(old) ||
	    pwrite(l.mem_fd, hops, sizeof(hops), (off_t)(taddr)victim_load) != sizeof(hops))
		BUG("pwrite");
	e = proc_maps_read(pid, &l.maps);
	if (!e)
		e = leftover_find_jumps(&l);
	ok(e && strstr(err_text(e), "more jumps"), "more jumps than there is room for");
	err_destroy(e);
	l.rows_left = 1000;
	e = leftover_find_jumps(&l);
	ok(!e && l.rows_left <= 996, "each takes room");
	err_destroy(e);
	if (pwrite(l.mem_fd, old, sizeof(old), (off_t)(taddr)victim_load) != sizeof(old))
		BUG("pwrite");
	leftover_deinit(&l);
}

static void test_interrupted(pid_t pid, struct gate *gate)
{
	static atomic_int is_interrupted = 1;
	uint32_t n = 9;
	struct err *e;

	window_make(pid, (taddr)region_near);
	e = patch_leftovers(pid, gate, &is_interrupted, &n);
	ok(!e && n == 0 && !victim_is_clean(pid), "nothing is done when it is interrupted");
	e = patch_leftovers(pid, gate, NULL, &n);
	ok(!e && n == 1 && victim_is_clean(pid), "the next one does it");
	memset(region_near, 0, SIZE);
}

static void crowd_run(void)
{
	for (uint32_t i = 0; i < 1100; i++) {
		uint8_t *at =
			mmap(NULL, 2 * PATCH_PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED ||
		    mmap(at + PATCH_PAGE, PATCH_PAGE, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			_exit(3);
	}
	shared->is_ready = 1;
	(void)await(&shared->stop, 1);
}

static void test_crowd(struct gate *gate)
{
	pid_t pid = victim_start(crowd_run);
	uint32_t n = 9;
	struct err *e;

	(void)await(&shared->is_ready, 1);
	e = patch_leftovers(pid, gate, NULL, &n);
	ok(e && n == 0 && strstr(err_text(e), "more than 1024"), "there are too many regions");
	err_destroy(e);
	is_int(victim_end(pid), 0, "which is all that it has done");
}

int main(void)
{
	uint32_t nerrors = 0, ntaken = 0, nchanged = 0;
	struct gate *gate;
	pid_t pid;

	if (geteuid()) {
		printf("1..0 # SKIP needs privilege\n");
		return 0;
	}
	gate = gate_create();
	region = region_map(NULL);
	region_near = region_map((uint8_t *)((taddr)victim_pad & -(taddr)SIZE) - (64u << 20));
	pid = victim_start(forged_run);
	(void)await(&shared->is_ready, 1);
	test_window(pid, gate);
	test_full(pid, gate);
	test_interrupted(pid, gate);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t n = 0;
		struct err *e;

		region_forge();
		e = patch_leftovers(pid, gate, NULL, &n);
		nerrors += e != NULL;
		ntaken += n;
		nchanged += !victim_is_clean(pid);
		if (e && nerrors == 1)
			printf("# %s\n", err_text(e));
		err_destroy(e);
	}
	is_int(ntaken, 0, "nothing is taken back that was not written");
	is_int(nchanged, 0, "the code of the process is as it was");
	ok(calls_await(500), "it runs on");
	printf("# %u errors in %u rounds\n", nerrors, ROUNDS);
	is_int(victim_end(pid), 0, "no result was wrong");
	test_crowd(gate);
	gate_destroy(gate);
	return tap_done();
}

#else

int main(void)
{
	printf("1..0 # SKIP windows are made for x86-64 only\n");
	return 0;
}

#endif
