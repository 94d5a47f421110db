/* SPDX-License-Identifier: MIT */
/* Calls that lead to stubs while threads make them: only where an instruction leads is changed. */
#include "tap.h"

#ifdef __x86_64__

#include "files/gate.h"
#include "patch/victim.h"

/* A function with calls of another one: directly, and through a word; and with a jump to it. */
/* clang-format off */
__asm__(".text\n.balign 64\n"
	"called:\nlea 1(%rdi), %rax\nret\n"
	".balign 64\n.globl calls_begin\ncalls_begin:\nsub $8, %rsp\n"
	".globl calls_direct\ncalls_direct:\n.byte 0xe8\n.long called - . - 4\n"
	"mov %rax, %rdi\n"
	".globl calls_word\ncalls_word:\ncall *called_word(%rip)\n"
	"mov %rax, %rdi\nadd $8, %rsp\n"
	".globl calls_jump\ncalls_jump:\n.byte 0xe9\n.long called - . - 4\n"
	".globl calls_end\ncalls_end:\n"
	".data\n.balign 8\ncalled_word: .quad called\n.text\n");
/* clang-format on */
uint64_t calls_begin(uint64_t n);
extern uint8_t calls_direct[], calls_word[], calls_jump[], calls_end[];

static struct gate *gate;

static void *calls_thread(void *arg)
{
	for (uint64_t i = 0; !shared->stop; i++) {
		if (calls_begin(i) != i + 3)
			_exit(9);
		atomic_fetch_add(&shared->calls, 1);
		if (i % 64 == 63)
			(void)usleep(1000); /* the machine has other work */
	}
	return arg;
}

static void calls_run(void)
{
	pthread_t t[2];

	for (uint32_t i = 0; i < ARRAY_LEN(t); i++)
		(void)pthread_create(&t[i], NULL, calls_thread, NULL);
	shared->is_ready = 1;
	for (uint32_t i = 0; i < ARRAY_LEN(t); i++)
		(void)pthread_join(t[i], NULL);
}

enum { DIRECT, WORD, JUMP, NCALLS };

static void rel_put(uint8_t *to, taddr from, taddr target)
{
	int32_t rel = (int32_t)(target - from);

	memcpy(to, &rel, sizeof(rel));
}

/*
 * lock incq COUNTER(%rip); jmp called. The stub of call i is at 64 * i of the code part, and behind
 * all of them is a word with the address of that of WORD.
 */
static struct err *stubs_write(struct patch *p, struct patch_window *w)
{
	static const uint8_t *const ends[NCALLS] = {calls_direct + 5, calls_word + 6, calls_end};
	taddr called = (taddr)calls_direct + 5, words = patch_code_addr(p) + 64 * NCALLS;
	uint64_t word = patch_code_addr(p) + 64 * WORD;
	struct err *e = patch_code_write(p, 64 * NCALLS, &word, sizeof(word));
	int32_t rel;

	memcpy(&rel, calls_direct + 1, sizeof(rel));
	called += (uint64_t)(int64_t)rel;
	for (uint32_t i = 0; i < NCALLS && !e; i++) {
		uint8_t code[] = {0xf0, 0x48, 0xff, 0x05, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0};
		taddr at = patch_code_addr(p) + 64 * i;

		rel_put(code + 4, at + 8, patch_data_addr(p) + 8 * i);
		rel_put(code + 9, at + sizeof(code), called);
		w[i] = (struct patch_window){.addr = (taddr)ends[i] - 5,
					     .stub = i == WORD ? words : at,
					     .is_call = true};
		memcpy(w[i].old, ends[i] - 5, 5);
		e = patch_code_write(p, 64 * i, code, sizeof(code));
	}
	return e;
}

static bool is_clean(pid_t pid)
{
	uint8_t now[128];
	size_t size = (size_t)(calls_end - (uint8_t *)calls_begin);
	char path[64];
	bool same;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	same = fd >= 0 && pread(fd, now, size, (off_t)(taddr)calls_begin) == (ssize_t)size &&
	       memcmp(now, (uint8_t *)calls_begin, size) == 0;
	if (fd >= 0)
		(void)close(fd);
	return same;
}

static struct patch *calls_open(pid_t pid)
{
	const struct patch_opts o = {.near_lo = (taddr)calls_begin,
				     .near_hi = (taddr)calls_end,
				     .gate = gate,
				     .code_size = 4096,
				     .data_size = 4096,
				     .windows = 16};
	struct patch *p = NULL;
	struct err *e = patch_open(pid, &o, &p);

	if (e)
		printf("# %s\n", err_text(e));
	err_destroy(e);
	return p;
}

static bool all_are(const enum patch_state *s, enum patch_state want)
{
	return s[DIRECT] == want && s[WORD] == want && s[JUMP] == want;
}

static void test_calls(void)
{
	pid_t pid = victim_start(calls_run);
	static struct patch_window w[NCALLS];
	enum patch_state s[NCALLS];
	struct patch *p;
	bool is_first;

	(void)await(&shared->is_ready, 1);
	p = calls_open(pid);
	ok(p && !stubs_write(p, w), "stubs");
	ok(!patch_write(p, w, NCALLS, NULL, s) && all_are(s, PATCH_IN), "all calls are changed");
	ok(!is_clean(pid), "so the code is");
	ok(calls_await(2000), "the process runs on");
	ok(counter(p, (enum victim_window)DIRECT) > 1000 &&
		   counter(p, (enum victim_window)WORD) > 1000 &&
		   counter(p, (enum victim_window)JUMP) > 1000,
	   "the stubs have counted");
	ok(!patch_write(p, w, NCALLS, NULL, s) && all_are(s, PATCH_IN), "what stands, stands");
	ok(patch_stands(p, &w[DIRECT]) && patch_stands(p, &w[WORD]) && patch_stands(p, &w[JUMP]),
	   "and is seen to");
	patch_forget(p, w, NCALLS);
	is_int(patch_count(p), NCALLS, "what stands is not forgotten");
	for (int i = 0; i < 200; i++) {
		is_first = !patch_take_back_all(p) && is_clean(pid);
		if (!is_first || patch_write(p, w, NCALLS, NULL, s) || !all_are(s, PATCH_IN)) {
			ok(false, "cycle %d", i);
			break;
		}
	}
	ok(calls_await(500), "two hundred cycles of taking back and writing");
	err_destroy(patch_take_back_all(p));
	w[WORD].pad = w[WORD].addr + 16;
	w[DIRECT].nbounds = 1;
	w[JUMP].old[0] ^= 1;
	ok(!patch_write(p, w, NCALLS, NULL, s) && s[DIRECT] == PATCH_BEYOND &&
		   s[WORD] == PATCH_BEYOND && s[JUMP] == PATCH_DIFFERS,
	   "a call has no pad and no bounds, and its first byte counts, too");
	ok(is_clean(pid), "they were left alone");
	patch_close(p);
	ok(calls_await(500), "the process runs on");
	is_int(victim_end(pid), 0, "no result was wrong");
}

static void *sleeper(void *arg)
{
	(void)poll(NULL, 0, -1);
	return arg;
}

/* A thread whose stack is full of addresses inside of the calls, and of those behind them. */
static void stack_run(void)
{
	volatile taddr words[64];
	pthread_t t;

	for (uint32_t i = 0; i < ARRAY_LEN(words); i++)
		words[i] = (taddr)calls_direct + i % 8;
	(void)pthread_create(&t, NULL, sleeper, NULL);
	shared->is_ready = 1;
	while (!shared->stop)
		(void)usleep(1000 + (words[3] == 0));
}

static void test_stack(void)
{
	pid_t pid = victim_start(stack_run);
	static struct patch_window w[NCALLS];
	enum patch_state s[NCALLS];
	struct patch *p;

	(void)await(&shared->is_ready, 1);
	p = calls_open(pid);
	ok(p && !stubs_write(p, w) && !patch_write(p, w, NCALLS, NULL, s) && all_are(s, PATCH_IN),
	   "no stack holds a call back: nobody returns into one");
	patch_close(p);
	ok(is_clean(pid), "all is as it was");
	(void)victim_end(pid);
}

int main(void)
{
	if (geteuid()) {
		printf("1..0 # SKIP needs privilege\n");
		return 0;
	}
	gate = gate_create();
	test_calls();
	test_stack();
	gate_destroy(gate);
	return tap_done();
}

#else

int main(void)
{
	ok(true, "calls are not changed on this processor");
	return tap_done();
}

#endif
