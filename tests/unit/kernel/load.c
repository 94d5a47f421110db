/* SPDX-License-Identifier: MIT */
/* Programs are loaded while the thread gets signals faster than the kernel verifies them. */
#include "tap.h"

#include <errno.h>
#include <linux/bpf.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "kernel/insn.h"
#include "kernel/sys.h"

#define TURNS	  30000 /* of a loop that the kernel follows: some milliseconds */
#define PERIOD_NS 100000

static volatile sig_atomic_t nsignals;

static void handle(int sig)
{
	(void)sig;
	nsignals++;
}

/* A timer whose signals this thread gets. */
static timer_t storm_begin(void)
{
	struct sigaction sa = {.sa_handler = handle, .sa_flags = SA_RESTART};
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	struct itimerspec often = {{0, PERIOD_NS}, {0, PERIOD_NS}};
	timer_t timer;

	(void)sigaction(SIGUSR1, &sa, NULL);
	ev._sigev_un._tid = (int)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &ev, &timer) || timer_settime(timer, 0, &often, NULL))
		BUG("timer");
	return timer;
}

static union bpf_attr program_attr(const struct bpf_insn *insns, uint32_t n)
{
	return (union bpf_attr){.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
				.insns = (uint64_t)(uintptr_t)insns,
				.insn_cnt = n,
				.license = (uint64_t)(uintptr_t) "GPL"};
}

int main(void)
{
	const struct bpf_insn insns[] = {
		INSN_MOV_IMM(R1, 0), INSN_ADD_IMM(R1, 1), INSN_JMP_IMM(BPF_JLT, R1, TURNS, -2),
		INSN_MOV_IMM(R0, 0), INSN_EXIT,
	};
	union bpf_attr attr = program_attr(insns, ARRAY_LEN(insns));
	int fd = sys_bpf_load(&attr, sizeof(attr)), ngiven_up = 0, nloaded = 0;
	timer_t timer;

	if (fd < 0 && errno == EPERM) {
		printf("1..0 # SKIP needs privilege\n");
		return 0;
	}
	ok(fd >= 0, "the program is right: %s", fd < 0 ? strerror(errno) : "it is loaded");
	(void)close(fd);
	timer = storm_begin();
	for (int i = 0; i < 10; i++) {
		fd = sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
		ngiven_up += fd < 0 && errno == EAGAIN;
		(void)close(fd);
		fd = sys_bpf_load(&attr, sizeof(attr));
		nloaded += fd >= 0;
		(void)close(fd);
	}
	(void)timer_delete(timer);
	ok(ngiven_up > 0, "%d times of 10 the kernel has given up", ngiven_up);
	is_int(nloaded, 10, "but all are loaded by sys_bpf_load()");
	ok(nsignals > 0, "%d signals were taken", (int)nsignals);
	return tap_done();
}
