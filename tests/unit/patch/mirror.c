/* SPDX-License-Identifier: MIT */
/* Mirrors: the region once more in the same process, near code that is far away. */
#include "tap.h"

#ifdef __x86_64__

#include "files/gate.h"
#include "kernel/sys.h"
#include "patch/patch_impl.h"
#include "patch/victim.h"

/* Above what the address sanitizer has for itself on x86-64: up to 0x10007fff8000. */
#define FAR  0x200000000000ull
#define NEAR 0x20000000ull
#define STEP 0x10000000000ull

static int memory_open(pid_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static uint64_t word_read(int fd, taddr at)
{
	uint64_t word = ~0ull;

	return sys_pread(fd, &word, sizeof(word), at) == (ssize_t)sizeof(word) ? word : ~0ull;
}

static uint8_t byte_read(int fd, taddr at)
{
	uint8_t byte = 0xff;

	return sys_pread(fd, &byte, 1, at) == 1 ? byte : 0xff;
}

/* Code that is mapped there. */
static void far_map(taddr at)
{
	void *p = mmap((void *)at, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (p == MAP_FAILED)
		_exit(8);
}

static void fork_run(void)
{
	far_map(FAR);
	far_map(FAR + NEAR);
	far_map(2 * FAR);
	shared->is_ready = 1;
	(void)await(&shared->go, 1);
	if (!fork()) {
		shared->handling = (unsigned int)getpid();
		(void)await(&shared->stop, 1);
		_exit(0);
	}
	(void)await(&shared->stop, 1);
	(void)wait(NULL);
}

static struct patch *patch_make(pid_t pid, struct gate *gate)
{
	struct patch_opts o = victim_opts(gate, NULL);
	struct patch *p = NULL;
	struct err *e = patch_open(pid, &o, &p);

	if (e)
		printf("# %s\n", err_text(e));
	err_destroy(e);
	return p;
}

static bool mirror_find(struct patch *p, taddr at, uint64_t *ret)
{
	struct err *e = patch_mirror(p, at, at + 4096, NULL, ret);
	bool is_done = !e;

	if (e)
		printf("# %s\n", err_text(e));
	err_destroy(e);
	return is_done;
}

static void test_mirror(struct gate *gate)
{
	const uint64_t early = 0x1020304050607080, code = 0x1122334455667788,
		       data = 0x99aabbccddeeff00;
	pid_t pid = victim_start(fork_run);
	uint64_t first, again, other;
	taddr door = 0, last = 0;
	struct patch *p;
	int fd, child;

	(void)await(&shared->is_ready, 1);
	p = patch_make(pid, gate);
	fd = memory_open(pid);
	ok(p && !patch_code_write(p, 8, &early, sizeof(early)), "code is written to the region");
	ok(p && !patch_switch(p, true) && mirror_find(p, patch_code_addr(p), &first) && first == 0,
	   "near the region there is no other one");
	ok(mirror_find(p, FAR, &first) && first, "far away there is");
	ok(mirror_find(p, FAR + NEAR, &again) && again == first,
	   "which serves all that is near it");
	ok(mirror_find(p, 2 * FAR, &other) && other && other != first,
	   "elsewhere there is another one");
	ok(!patch_code_write(p, 64, &code, sizeof(code)) &&
		   word_read(fd, patch_code_addr(p) + 64 + first) == code &&
		   word_read(fd, patch_code_addr(p) + 64 + other) == code,
	   "all have the same code");
	ok(word_read(fd, patch_code_addr(p) + 8 + first) == early &&
		   word_read(fd, patch_code_addr(p) + 8 + other) == early,
	   "and what was written before");
	ok(!patch_data_write(p, 64, &data, sizeof(data)) &&
		   word_read(fd, patch_data_addr(p) + 64 + first) == data &&
		   word_read(fd, patch_data_addr(p) + 64 + other) == data,
	   "and the same data");
	ok(patch_gate_take(p, first, &door) && patch_gate_take(p, other, &last) && door != last &&
		   byte_read(fd, door) == 0 && byte_read(fd, last) == 0,
	   "switches are off at first");
	patch_gate_open(p, door, true);
	ok(byte_read(fd, door) == 1 && byte_read(fd, last) == 0, "each is set alone");
	shared->go = 1;
	(void)await(&shared->handling, 1);
	child = memory_open((pid_t)shared->handling);
	ok(byte_read(child, door) == 0, "and off in a child");
	ok(!patch_child(p, (pid_t)shared->handling, true) && byte_read(child, door) == 1,
	   "until the child's is set");
	ok(!patch_switch(p, false) && byte_read(fd, door) == 0, "all are switched off together");
	patch_gate_open(p, last, true);
	ok(byte_read(fd, last) == 0 && !patch_switch(p, true) && byte_read(fd, door) == 1 &&
		   byte_read(fd, last) == 1,
	   "and on again, with those that were set meanwhile");
	patch_gate_free(p, last);
	ok(byte_read(fd, last) == 0 && patch_gate_take(p, other, &door) && door == last,
	   "one that is not needed any more is given out again");
	patch_close(p);
	ok(byte_read(fd, door) == 0xff, "without a window all are unmapped in the end");
	(void)close(fd);
	(void)close(child);
	is_int(victim_end(pid), 0, "the process goes on");
}

static uint32_t heads_count(pid_t pid)
{
	CLEANUP(file) FILE *f = NULL;
	char line[512], path[64];
	uint32_t n = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, "/dev/zero") != NULL;
	return n;
}

/* There is more code than the region has, which cannot be read. */
static void test_failing(struct gate *gate)
{
	pid_t pid = victim_start(victim_run);
	struct patch *p;
	uint64_t m, end;
	uint32_t n;

	(void)await(&shared->is_ready, 1);
	p = patch_make(pid, gate);
	if (!p)
		BUG("no region");
	n = heads_count(pid);
	end = p->code_end;
	p->code_end = 1ull << 40;
	ok(!mirror_find(p, FAR, &m), "a mirror that gets no copy of the code is an error");
	ok(n && heads_count(pid) == n, "and is unmapped again");
	p->code_end = end;
	ok(mirror_find(p, FAR, &m) && heads_count(pid) > n, "the next one is made");
	is_int(patch_stops(p)->n, 1, "for which the process did not stand still: it was entered");
	patch_close(p);
	is_int(victim_end(pid), 0, "no result was wrong");
}

/* The process has as many as that, and no more. */
static void test_many(struct gate *gate)
{
	pid_t pid = victim_start(victim_run);
	uint64_t m;
	uint32_t n = 0;
	struct patch *p;

	(void)await(&shared->is_ready, 1);
	p = patch_make(pid, gate);
	while (p && n < 2 * PATCH_MIRRORS_MAX && mirror_find(p, FAR + n * STEP, &m))
		n++;
	is_int(n, PATCH_MIRRORS_MAX, "there are at most so many mirrors");
	ok(calls_await(100), "all threads go on meanwhile");
	patch_close(p);
	is_int(victim_end(pid), 0, "no result was wrong");
}

int main(void)
{
	struct gate *gate;

	if (geteuid()) {
		printf("1..0 # SKIP needs privilege\n");
		return 0;
	}
	gate = gate_create();
	test_mirror(gate);
	test_many(gate);
	test_failing(gate);
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
