/* SPDX-License-Identifier: MIT */
/* A call in a process that is about to be stopped by a signal: it is made, and the stop is kept. */
#include "target/remote.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/patch.h"
#include "tap.h"
#include "target/seize.h"

static char state_of(pid_t pid)
{
	char path[64], line[256] = "";
	const char *end;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f) {
		(void)!fgets(line, sizeof(line), f);
		(void)fclose(f);
	}
	end = strrchr(line, ')');
	return end ? end[2] : 0;
}

static void test_stopped(pid_t pid, int mem_fd, taddr code, taddr frame)
{
	static uint8_t buf[ARCH_FRAME_MAX];
	const uint64_t args[6] = {0};
	struct remote r = {.tid = pid, .mem_fd = mem_fd, .code = code, .frame = frame, .buf = buf};
	struct seized held = {0};
	int64_t value = 0;
	char state = 0;

	ok(seize_process(pid, &held) == SEIZE_DONE, "the process is held");
	ok(kill(pid, SIGSTOP) == 0, "a stop is pending");
	ok(remote_call(&r, SYS_getpid, args, &value) && !r.is_left && value == pid,
	   "the call is made");
	ok(remote_call(&r, SYS_getppid, args, &value) && !r.is_left && value == getpid(),
	   "and another one");
	seize_release(&held);
	for (int i = 0; i < 2000 && state != 'T'; i++, usleep(1000))
		state = state_of(pid);
	ok(state == 'T', "the process is stopped");
}

int main(void)
{
	uint8_t *page = mmap(NULL, 2 * ARCH_FRAME_MAX, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	int mem_fd, status;
	pid_t pid;

	if (!arch_patch || page == MAP_FAILED) {
		puts("1..0 # SKIP no calls on this processor");
		return 0;
	}
	memcpy(page + ARCH_FRAME_MAX, arch_patch->call_code, arch_patch->call_size);
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	mem_fd = open(path, O_RDWR | O_CLOEXEC);
	test_stopped(pid, mem_fd, (taddr)(uintptr_t)page + ARCH_FRAME_MAX, (taddr)(uintptr_t)page);
	(void)kill(pid, SIGKILL);
	ok(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "it was there until the end");
	return tap_done();
}
