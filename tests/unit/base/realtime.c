/* SPDX-License-Identifier: MIT */
/* A share of real time: its bounds hold, a class that was chosen stays, no child gets it. */
#include "tap.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/realtime.h"

#define MS 1000000ull

/* The kernel's timers on CPU time are as exact as its tick, which is 10 ms at most. */
#define TICK_NS (10 * MS)

static bool is_raised(void)
{
	return (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_RR;
}

static bool becomes(bool raised)
{
	uint64_t until = now_ns() + 20000 * MS;

	while (is_raised() != raised && now_ns() < until)
		(void)usleep(1000);
	return is_raised() == raised;
}

/* In a process of its own. */
static bool child(bool (*check)(void))
{
	int status = 1;
	pid_t pid;

	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(check() ? 0 : 1);
	(void)waitpid(pid, &status, 0);
	return status == 0;
}

static bool may_be_realtime(void)
{
	return getpriority(PRIO_PROCESS, 0) == 0 &&
	       sched_setscheduler(0, SCHED_RR, &(struct sched_param){1}) == 0;
}

static bool is_ordinary(void)
{
	return sched_getscheduler(0) == SCHED_OTHER && getpriority(PRIO_PROCESS, 0) == 0;
}

static bool keeps_nice(void)
{
	return setpriority(PRIO_PROCESS, 0, 5) == 0 && !realtime_begin() && !is_raised();
}

static bool keeps_class(void)
{
	return sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0}) == 0 &&
	       !realtime_begin();
}

/*
 * Computes for so much CPU time; returns how much of it was in real time, and the longest piece. A
 * piece ends, too, where the thread has waited for a CPU, as an ordinary thread does.
 */
static uint64_t compute(uint64_t ns, uint64_t *ret_longest)
{
	uint64_t from = worked_ns(), last = from, piece = 0, sum = 0, clock = now_ns();

	*ret_longest = 0;
	while (last - from < ns) {
		uint64_t now, before = clock;
		bool was_raised = is_raised();

		for (volatile int i = 0; i < 10000; i++)
			;
		now = worked_ns();
		clock = now_ns();
		piece = was_raised && clock - before < 2 * MS ? piece + now - last : 0;
		sum += was_raised ? now - last : 0;
		*ret_longest = MAX(*ret_longest, piece);
		last = now;
	}
	return sum;
}

static void test_bounds(void)
{
	uint64_t from = now_ns(), longest, sum, most;
	struct realtime *r = realtime_begin();

	ok(r && becomes(true), "the thread is in real time");
	ok(!realtime_begin(), "it has one share");
	ok(child(is_ordinary), "a child is not");
	sum = compute(1500 * MS, &longest);
	most = 300 * MS + (now_ns() - from) / 5 + 5 * TICK_NS;
	ok(sum <= most, "it has a fifth of the time, and what was saved up");
	printf("# %llu of at most %llu ms, %llu ms in one piece\n", (unsigned long long)(sum / MS),
	       (unsigned long long)(most / MS), (unsigned long long)(longest / MS));
	ok(longest <= 10 * MS + 2 * TICK_NS, "no piece is longer than a slice");
	realtime_hurry(r);
	ok(becomes(true), "it is in real time at once when that is due");
	realtime_end(r);
	ok(!is_raised(), "it is as it was");
	r = realtime_begin();
	ok(r && becomes(true), "and may begin again");
	realtime_end(r);
	realtime_end(NULL);
	realtime_hurry(NULL);
}

static void test_lend(void)
{
	struct realtime *r = realtime_begin();
	int gate[2];
	pid_t pid;
	char byte;

	if (!r || pipe(gate) != 0) {
		ok(false, "a share, and a pipe");
		return;
	}
	(void)becomes(true);
	pid = fork();
	if (pid == 0) {
		(void)close(gate[1]);
		_exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
	}
	while ((sched_getscheduler(pid) & ~SCHED_RESET_ON_FORK) != SCHED_RR) {
		realtime_take_back(pid);
		(void)usleep(1000); /* the thread is an ordinary one at the moment */
		realtime_lend(pid);
	}
	ok(true, "another process gets the class");
	realtime_take_back(pid);
	ok((sched_getscheduler(pid) & ~SCHED_RESET_ON_FORK) == SCHED_OTHER, "and gives it back");
	(void)close(gate[0]);
	(void)close(gate[1]);
	(void)waitpid(pid, NULL, 0);
	realtime_end(r);
}

int main(void)
{
	/* whoever runs the suite may be nice */
	(void)setpriority(PRIO_PROCESS, 0, 0);
	ok(child(keeps_nice), "a nice value that was chosen stays");
	ok(child(keeps_class), "and a class");
	if (child(may_be_realtime)) {
		test_bounds();
		test_lend();
	} else {
		printf("# this machine refuses real time\n");
	}
	return tap_done();
}
