/* SPDX-License-Identifier: MIT */
/* In which processes a thread may count without a lock: where makers of twins can be stopped. */
#include "tap.h"

#include <unistd.h>

#include "keeper/keeper.h"
#include "keeper/windows.h"
#include "kernel/pidns.h"
#include "patch/patch_impl.h"

/* Whether an owner is prepared for in the process. */
static bool owner_is_possible(struct keeper *k, pid_t pid)
{
	static uint64_t last_id;
	struct windows_journal journal = {.id = ++last_id};
	struct patch p = {.pid = pid, .keeper = k, .journal = &journal, .mem_fd = -1};
	bool is_possible;

	owner_create(&p);
	is_possible = p.owner;
	owner_destroy(&p);
	return is_possible;
}

static void test_whom(void)
{
	struct keeper *k = NULL;
	struct err *e = keeper_create(false, &k);
	struct rt_pidns ns = {0};
	bool is_ours;

	if (!e)
		e = pidns_find(&ns);
	ok(!e, "a keeper");
	err_destroy(e);
	is_ours = owner_is_possible(k, getpid());
	if (is_ours)
		ok(true, "an owner in this process");
	else
		ok(true, "an owner # SKIP the kernel takes no such program");
	is_int(owner_is_possible(k, 1), is_ours && ns.level > 0,
	       "in process 1, if that is not the first one of the machine");
	ok(!owner_is_possible(NULL, getpid()), "none without a keeper");
	keeper_destroy(k);
}

int main(void)
{
	if (geteuid()) {
		printf("1..0 # SKIP needs privilege\n");
		return 0;
	}
	test_whom();
	return tap_done();
}
