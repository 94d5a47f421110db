/* SPDX-License-Identifier: MIT */
/* The budget of CPU time: what sessions may take that begin one after the other, and together. */
#include "kernel/cpu_budget.h"
#include "tap.h"

#define MS	1000000ull
#define SECOND	(1000 * MS)
#define QUOTA	500 /* 5 % */
#define FOREVER (600 * SECOND)

/* Looks every 10 ms at a session whose probes take `rate` (1/100 %) from `begin` on. */
static uint64_t session_run(uint64_t begin, uint64_t rate, uint64_t n, uint64_t *ret_taken)
{
	static struct cpu_budget b;
	uint64_t now = begin;

	if (b.cpus)
		cpu_budget_restart(&b, now);
	else
		cpu_budget_begin(&b, 2, now);
	*ret_taken = 0;
	while (cpu_budget_wait_ns(&b, CPU_BUDGET_BEGIN_NS, QUOTA, n) && now < begin + FOREVER)
		cpu_budget_grow(&b, now += MS, QUOTA, n);
	while (cpu_budget_least(&b) >= 0 && now < begin + FOREVER) {
		now += 10 * MS;
		*ret_taken += 10 * MS * rate / 10000;
		cpu_budget_take(&b, 1, *ret_taken);
		cpu_budget_grow(&b, now, QUOTA, n);
	}
	if (now < begin + FOREVER)
		ok(cpu_budget_share(&b) + 1 >= rate && cpu_budget_share(&b) <= rate,
		   "%llu is told as %llu", (unsigned long long)rate,
		   (unsigned long long)cpu_budget_share(&b));
	return now - begin;
}

/* One after the other; each takes `rate` for as long as it may. */
static void one_after_the_other(uint64_t rate, uint64_t n)
{
	uint64_t now = SECOND, taken = 0, t;

	for (uint32_t i = 0; i < 50; i++) {
		now += session_run(now, rate, n, &t);
		taken += t;
	}
	ok(taken <= (now - SECOND) * QUOTA / 10000 / n,
	   "50 sessions, one of %llu at a time, that take %llu: %llu ms of %llu ms",
	   (unsigned long long)n, (unsigned long long)rate, (unsigned long long)(taken / MS),
	   (unsigned long long)((now - SECOND) / MS));
	ok(taken > 0, "they take something");
}

static void long_session(void)
{
	uint64_t taken;

	ok(session_run(0, QUOTA - 10, 1, &taken) >= FOREVER, "a session below the quota goes on");
	ok(session_run(0, QUOTA + 100, 1, &taken) < FOREVER, "one above it ends");
}

/* A session that has taken nothing for long has four seconds' share, and no more. */
static void saved(void)
{
	struct cpu_budget b;

	cpu_budget_begin(&b, 1, 0);
	is_int(cpu_budget_least(&b), -CPU_BUDGET_RESERVE_NS, "it begins in debt");
	ok(!cpu_budget_is_full(&b, QUOTA, 1), "and is not full");
	cpu_budget_grow(&b, 1 * SECOND, QUOTA, 1);
	is_int(cpu_budget_least(&b), (int64_t)(50 * MS) - CPU_BUDGET_RESERVE_NS, "a second's");
	cpu_budget_grow(&b, 3600 * SECOND, QUOTA, 1);
	is_int(cpu_budget_least(&b), 200 * MS, "four seconds' share");
	ok(cpu_budget_is_full(&b, QUOTA, 1), "it is full");
	cpu_budget_grow(&b, 3600 * SECOND, QUOTA, 4);
	is_int(cpu_budget_least(&b), 50 * MS, "with three other sessions");
	cpu_budget_take(&b, 0, 60 * MS);
	is_int(cpu_budget_least(&b), -(int64_t)(10 * MS), "overdrawn");
	cpu_budget_take(&b, 0, 1 * MS); /* a new counter */
	is_int(cpu_budget_least(&b), -(int64_t)(11 * MS), "a counter that begins again");
	free(b.cpus);
	cpu_budget_begin(&b, 1, 0);
	cpu_budget_grow(&b, 3600 * SECOND, 1, 1);
	is_int(cpu_budget_wait_ns(&b, CPU_BUDGET_BEGIN_NS, 1, 1), 0, "the least quota suffices");
	free(b.cpus);
}

int main(void)
{
	for (uint64_t rate = 600; rate <= 9600; rate *= 2)
		for (uint64_t n = 1; n <= 4; n += 3)
			one_after_the_other(rate, n);
	long_session();
	saved();
	return tap_done();
}
