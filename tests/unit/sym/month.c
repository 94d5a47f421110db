/* SPDX-License-Identifier: MIT */
/*
 * A month in short: processes that come and go, and files that are replaced every day. What is
 * remembered stops growing.
 */
#include "sym/usym.h"
#include "tap.h"

#include <malloc.h>

#define FIRST_PID   100000000 /* beyond what the kernel gives out: /proc knows nothing of them */
#define NPIDS	    2000      /* they are used again and again */
#define PER_DAY	    1000
#define DAYS	    60
#define FILES_A_DAY 300

/* A process executes a program, maps four of the day's libraries, and ends. */
static void process_live(struct uprocs *u, uint32_t n)
{
	uint64_t pid = FIRST_PID + n % NPIDS, time = 1000 + 10 * (uint64_t)n;
	uint32_t day = n / PER_DAY;

	uprocs_forked(u, pid, FIRST_PID + NPIDS, time);
	uprocs_execed(u, pid, time + 1);
	for (uint32_t i = 0; i < 5; i++) {
		uint32_t file = day * FILES_A_DAY + (n + i) % FILES_A_DAY;
		char path[64];
		struct sym_map m = {.start = 0x10000000 * (i + 1),
				    .len = 0x1000,
				    .dev = 5,
				    .ino = 1000 + file,
				    .path = path,
				    .is_exec = true};

		(void)snprintf(path, sizeof(path), "/nowhere/lib%u.so", file);
		uprocs_mapped(u, pid, &m, time + 2 + i);
	}
	uprocs_ended(u, pid, time + 8);
	if (n % 100 == 0)
		uprocs_tick(u);
}

/* Each process has an id of its own, and none is ever seen again. */
#define DISTINCT 120000

static void many_processes(void)
{
	uint64_t last = FIRST_PID + DISTINCT - 1;
	size_t early = 0, late = 0, most = 0;
	struct sym_name name;
	struct usyms u;

	usyms_init(&u);
	u.procs.is_told = true;
	for (uint32_t n = 0; n < DISTINCT; n++) {
		size_t *peak = n < DISTINCT * 5 / 8 ? &early : &late;
		uint64_t pid = FIRST_PID + n, time = 1000 + 10 * (uint64_t)n;

		uprocs_forked(&u.procs, pid, FIRST_PID - 1, time);
		for (uint32_t i = 0; i < 3; i++) {
			struct sym_map m = {.start = 0x10000000 * (i + 1),
					    .len = 0x1000,
					    .dev = 5,
					    .ino = 1000 + i,
					    .path = "/nowhere/lib.so"};

			uprocs_mapped(&u.procs, pid, &m, time + 1 + i);
		}
		uprocs_ended(&u.procs, pid, time + 8);
		if (n % 100)
			continue;
		uprocs_tick(&u.procs);
		*peak = MAX(*peak, mallinfo2().uordblks);
		most = MAX(most, hashmap_count(u.procs.procs));
	}
	printf("# at most %zu KB in the first 5 of 8 parts, %zu KB later; %zu of %u processes at a time\n",
	       early / 1024, late / 1024, most, DISTINCT);
	ok(!early || late < early + early / 10, "memory for processes that ended does not grow");
	ok(most < DISTINCT * 9 / 16 && u.procs.nforgotten > DISTINCT * 3 / 8,
	   "those that ended first are forgotten: %llu", (unsigned long long)u.procs.nforgotten);
	u.time = 1010 + 10 * (uint64_t)(DISTINCT - 1);
	ok(usyms_find(&u, last, 0x10000010, &name) && name.object, "the last one is not");
	u.time = 1005;
	ok(!usyms_find(&u, FIRST_PID, 0x10000010, &name) && u.is_forgotten,
	   "an address in the first one has no name, and it is known why");
	/* ids of which /proc has never heard are not kept for ever, either */
	for (uint32_t n = 0; n < DISTINCT * 5 / 8; n++)
		(void)usyms_find(&u, FIRST_PID + DISTINCT + n, 0x10000010, &name);
	ok(hashmap_count(u.procs.procs) < DISTINCT * 9 / 16,
	   "nor are those that were only asked for");
	usyms_deinit(&u);
}

int main(void)
{
	size_t early = 0, late = 0;
	uint32_t most = 0;
	struct uprocs u;

	uprocs_init(&u);
	u.is_told = true;
	for (uint32_t n = 0; n < DAYS * PER_DAY; n++) {
		size_t *peak = n < DAYS * PER_DAY / 2 ? &early : &late;

		process_live(&u, n);
		most = MAX(most, (uint32_t)hashmap_count(u.files.files));
		if (n % 100 == 0)
			*peak = MAX(*peak, mallinfo2().uordblks);
	}
	printf("# at most %zu KB in the first half, %zu KB in the second; %u of %u files at one time\n",
	       early / 1024, late / 1024, most, DAYS * FILES_A_DAY);
	/*
	 * sanitizers have a malloc() of their own, which does not say what it gave out: there they
	 * look for errors only
	 */
	ok(!early || late < early + early / 4,
	   "memory does not grow in the second half of the month");
	ok(most < DAYS * FILES_A_DAY * 2 / 3, "files that are gone are forgotten");
	ok(hashmap_count(u.procs) <= NPIDS + 1, "one entry a process id");
	ok(uproc_space(uproc_get(&u, FIRST_PID + 7), UINT64_MAX),
	   "a process that ended lately is known");
	uprocs_deinit(&u);
	many_processes();
	return tap_done();
}
