/* SPDX-License-Identifier: MIT */
/*
 * A process that calls functions of its own and checks what they return, while windows are written
 * into it: a child of the test, so that both know the addresses.
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "patch/patch.h"

/*
 * Four functions with a window each, from NAME_window to NAME_end: of two instructions; with a load
 * in its middle that can fault; with an instruction that takes long; of two bytes, with a pad.
 */
/* clang-format off */
#define VICTIM(name, before, window, after)                                                 \
	".balign 64\n.globl " name "\n" name ":\n" before                                     \
	".globl " name "_window\n" name "_window:\n" window                                   \
	".globl " name "_end\n" name "_end:\n" after
__asm__(".text\n"
	VICTIM("victim_add", "push %rbx\n", "mov %rdi, %rax\nadd $1, %rax\n", "pop %rbx\nret\n")
	VICTIM("victim_load", "push %rbx\n", "xor %eax, %eax\nmov (%rdi), %eax\nnop\n", "pop %rbx\nret\n")
	VICTIM("victim_long", "mov %rsi, %rcx\nmov %rdi, %rsi\n", "xor %eax, %eax\nrep lodsb\nnop\n",
	       "mov %rcx, %rax\nret\n")
	VICTIM("victim_short", "push %rbx\n", "mov %edi, %eax\n", "pop %rbx\nret\n")
	".globl victim_pad\nvictim_pad:\n.fill 5, 1, 0xcc\n.balign 64\n");
/* clang-format on */
uint64_t victim_add(uint64_t x), victim_short(uint64_t x);
uint64_t victim_long(const uint8_t *bytes, uint64_t n);
uint32_t victim_load(const uint32_t *p);
extern uint8_t victim_add_window[], victim_add_end[], victim_load_window[], victim_load_end[],
	victim_long_window[], victim_long_end[], victim_short_window[], victim_short_end[],
	victim_pad[];

/* What test and process share. */
struct shared {
	atomic_uint is_ready, stop, go, signals, handling, done;
	atomic_ulong calls;
};

static struct shared *shared;
/* Where the functions are in another program, from where they are in this one. */
static taddr victim_shift;

static void shared_make(void)
{
	if (!shared)
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset((void *)shared, 0, sizeof(*shared));
}

/* One round of calls whose results are checked; ends the process with 9 if one is wrong. */
__attribute__((unused)) static void victim_round(uint64_t i)
{
	static const uint8_t bytes[256];

	if (victim_add(i) != i + 1 || victim_short(i & 0xff) != (i & 0xff) ||
	    victim_long(bytes, sizeof(bytes)) != 0)
		_exit(9);
	atomic_fetch_add(&shared->calls, 1);
}

__attribute__((unused)) static void *victim_thread(void *arg)
{
	for (uint64_t i = 0; !shared->stop; i++) {
		victim_round(i);
		if (i % 64 == 63)
			(void)usleep(2000); /* the machine has other work */
	}
	return arg;
}

/*
 * A child has a copy of the test's stack. Addresses of windows must not be left there, because they
 * look like those to which a handler returns: the tests have them in static memory, and this
 * overwrites what calls have left.
 */
__attribute__((unused, noinline)) static void stack_scrub(void)
{
	uint8_t bytes[256 << 10];

	memset(bytes, 0, sizeof(bytes));
	__asm__ volatile("" ::"r"(bytes) : "memory");
}

/* A child that runs a function, and ends with status 0 when that returns. */
__attribute__((unused)) static pid_t victim_start(void (*run)(void))
{
	pid_t pid;

	shared_make();
	pid = fork();
	if (pid)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setrlimit(RLIMIT_CORE, &(struct rlimit){0});
	stack_scrub();
	run();
	_exit(0);
}

__attribute__((unused)) static void victim_run(void)
{
	pthread_t t[3];

	for (uint32_t i = 0; i < ARRAY_LEN(t); i++)
		(void)pthread_create(&t[i], NULL, victim_thread, NULL);
	shared->is_ready = 1;
	(void)victim_thread(NULL);
	for (uint32_t i = 0; i < ARRAY_LEN(t); i++)
		(void)pthread_join(t[i], NULL);
}

/* Waits until *what is at least n; false: the process has ended, or it takes too long. */
__attribute__((unused)) static bool await(const atomic_uint *what, uint32_t n)
{
	uint64_t until = now_ns() + 20000000000 * tap_patience();

	while (*what < n) {
		if (now_ns() > until)
			return false;
		(void)usleep(200);
	}
	return true;
}

__attribute__((unused)) static bool calls_await(uint64_t more)
{
	uint64_t want = shared->calls + more, until = now_ns() + 20000000000 * tap_patience();

	while (shared->calls < want) {
		if (now_ns() > until)
			return false;
		(void)usleep(200);
	}
	return true;
}

/* How it ends: its exit status, or 1000 and the signal. */
__attribute__((unused)) static int victim_end(pid_t pid)
{
	int status = -1;

	shared->stop = 1;
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* The keeper of a tracer, by its command line. */
__attribute__((unused)) static pid_t keeper_of(pid_t tracer)
{
	DIR *d = opendir("/proc");
	const struct dirent *de;
	char want[64];
	pid_t found = 0;

	(void)snprintf(want, sizeof(want), "uprobe-keeper of %d", (int)tracer);
	while (d && !found && (de = readdir(d))) {
		char path[300], line[64] = "";
		FILE *f;

		(void)snprintf(path, sizeof(path), "/proc/%s/cmdline", de->d_name);
		f = de->d_name[0] >= '1' && de->d_name[0] <= '9' ? fopen(path, "re") : NULL;
		if (f && fread(line, 1, sizeof(line) - 1, f) && strcmp(line, want) == 0)
			found = (pid_t)strtol(de->d_name, NULL, 10);
		if (f)
			(void)fclose(f);
	}
	if (d)
		(void)closedir(d);
	return found;
}

/* ---- windows --------------------------------------------------------------------------------- */

enum victim_window { V_ADD, V_LOAD, V_LONG, V_SHORT, V_COUNT };
#define STUB_SIZE 64

/* cmpb $0, SWITCH(%rip); je 1f; lock incq COUNTER(%rip); 1: the moved bytes; jmp BACK */
static uint32_t stub_make(uint8_t *to, taddr at, taddr flag, taddr counter, const uint8_t *window,
			  const uint8_t *end, uint8_t *ret_moved)
{
	static const uint8_t head[] = {0x80, 0x3d, 0, 0, 0, 0, 0, 0x74, 8, 0xf0, 0x48, 0xff, 0x05};
	const uint8_t jmp = 0xe9;
	uint32_t n = sizeof(head) + 4, size = (uint32_t)(end - window);
	int32_t rel;

	memcpy(to, head, sizeof(head));
	rel = (int32_t)(flag - (at + 7));
	memcpy(to + 2, &rel, 4);
	rel = (int32_t)(counter - (at + n));
	memcpy(to + n - 4, &rel, 4);
	*ret_moved = (uint8_t)n;
	memcpy(to + n, window, size);
	n += size;
	to[n++] = jmp;
	rel = (int32_t)((taddr)end + victim_shift - (at + n + 4));
	memcpy(to + n, &rel, 4);
	return n + 4;
}

/* Writes the stubs of all windows; the counters are the first words of the data part. */
__attribute__((unused)) static struct err *victim_windows(struct patch *p,
							  struct patch_window w[V_COUNT])
{
	static const struct {
		uint8_t *window, *end, *pad;
		uint8_t offs[2];
	} all[V_COUNT] = {
		[V_ADD] = {victim_add_window, victim_add_end, NULL, {3}},
		[V_LOAD] = {victim_load_window, victim_load_end, NULL, {2, 4}},
		[V_LONG] = {victim_long_window, victim_long_end, NULL, {2, 4}},
		[V_SHORT] = {victim_short_window, victim_short_end, victim_pad, {0}},
	};
	struct err *e = NULL;

	for (uint32_t i = 0; i < V_COUNT && !e; i++) {
		taddr at = patch_code_addr(p) + i * STUB_SIZE;
		uint8_t code[STUB_SIZE], moved;
		uint32_t n = stub_make(code, at, patch_switch_addr(p), patch_data_addr(p) + i * 8,
				       all[i].window, all[i].end, &moved);

		w[i] = (struct patch_window){.addr = (taddr)all[i].window + victim_shift,
					     .pad = all[i].pad ? (taddr)all[i].pad + victim_shift
							       : 0,
					     .stub = at};
		memcpy(w[i].old, all[i].window, all[i].pad ? 2 : 5);
		if (all[i].pad)
			memcpy(w[i].old_pad, all[i].pad, 5);
		for (int k = 0; k < 2 && all[i].offs[k]; k++)
			w[i].bounds[w[i].nbounds++] =
				(struct patch_bound){all[i].offs[k], at + moved + all[i].offs[k]};
		e = patch_code_write(p, i * STUB_SIZE, code, n);
	}
	return e;
}

__attribute__((unused)) static struct patch_opts victim_opts(struct gate *g, struct keeper *k)
{
	return (struct patch_opts){.near_lo = (taddr)victim_add + victim_shift,
				   .near_hi = (taddr)victim_pad + 5 + victim_shift,
				   .gate = g,
				   .code_size = 4096,
				   .data_size = 8192,
				   .windows = 64,
				   .keeper = k};
}

__attribute__((unused)) static uint64_t counter(const struct patch *p, enum victim_window i)
{
	uint64_t n = 0;

	(void)patch_data_read(p, i * 8, &n, sizeof(n));
	return n;
}

/* Whether the process has its own code again, at all windows. */
__attribute__((unused)) static bool victim_is_clean(pid_t pid)
{
	size_t size = (size_t)(victim_pad + 5 - (uint8_t *)victim_add);
	uint8_t now[1024];
	char path[64];
	bool same;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	same = fd >= 0 && size <= sizeof(now) &&
	       pread(fd, now, size, (off_t)((taddr)victim_add + victim_shift)) == (ssize_t)size &&
	       memcmp(now, (uint8_t *)victim_add, size) == 0;
	if (fd >= 0)
		(void)close(fd);
	return same;
}
