/* What the two sides of the keeper (keeper.h) share: requests, and what is done about them. */
#pragma once

#include "keeper/keeper.h"

/*
 * A request lies in memory that both share; a byte over the socket says that it is there, with the
 * descriptors of the program and of the file. A byte comes back when it is done.
 */
enum keeper_op {
	KEEPER_MULTI,  /* one link for all places */
	KEEPER_SINGLE, /* one uprobe as a perf event */
	KEEPER_SWEEP,  /* answered before it is done */
	KEEPER_WARD,   /* the first descriptor is a pidfd */
	KEEPER_HERD,   /* the first descriptor is a map of processes */
	KEEPER_DROP,   /* no descriptors: the links of the group or, if that is 0, of process pid */
	/* no descriptors, no answer: end, and let another process take the uprobes off */
	KEEPER_LATE,
};

/* The steps at which a request can fail (keeper.c has a row for each). */
enum uprobe_step {
	UPROBE_PASS,
	UPROBE_MULTI,
	UPROBE_EVENT,
	UPROBE_LINK,
	UPROBE_START,
	UPROBE_WARD,
	UPROBE_NSTEPS
};

#define KEEPER_WARDS_MAX 64

struct keeper_area {
	enum keeper_op op;
	pid_t pid;
	uint32_t group;
	uint32_t pmu_type; /* KEEPER_SINGLE */
	uint32_t n;
	bool waits;   /* KEEPER_DROP */
	bool is_done; /* the tracer ends as it should: it has let go of all wards */
	/* the answer: errno, 0 = done */
	int sys;
	enum uprobe_step step;
	uint64_t offsets[KEEPER_SITES_MAX], cookies[KEEPER_SITES_MAX];
	bool has_counters;
	uint64_t counters[KEEPER_SITES_MAX];
	uint64_t swept[KEEPER_SITES_MAX]; /* the keeper's own, while it does KEEPER_SWEEP */
};

/*
 * The life of the keeper, in its own process: keeper_run.c. parent_fd: a pidfd. Only
 * async-signal-safe calls.
 */
NORETURN void keeper_run(struct keeper_area *area, int sock, int parent_fd, pid_t parent);
