/*
 * The watch: what processes do, for all that want to be told of it.
 *
 * A subscriber names the events it wants by the functions it fills in. It is told what all
 * processes of the machine do (watch_all()): from the kernel's own records, in the order of their
 * times, a moment after it has happened. Nothing is opened before somebody asks for that.
 *
 * Identity  a process id alone says nothing: another process may have it in a moment. A record is
 *           about the process that had the id at the time of the record (struct watch_subject), and
 *           the end of one process is told before the beginning of the next one with its id.
 * Owns      events, buffers and descriptors; subscribers are their owners', and outlive the watch.
 * Errors    struct err *: what the kernel refuses. The session goes on without.
 * Threads   the consumer's.
 *
 * To add a subscriber: a const struct watch_subscriber with the functions it needs, and one call of
 * watch_subscribe() (session/stacks.c has some).
 */
#pragma once

#include "base/err.h"

struct sym_map;
struct watch;

/* The process that an event is about: the one that had the process id at that time. */
struct watch_subject {
	uint64_t pid;  /* in the PID namespace of dtrace */
	uint64_t time; /* ns of CLOCK_MONOTONIC */
};

/* Who wants to be told, and of what: a function that is NULL is an event that it does not want. */
struct watch_subscriber {
	const char *name;
	/* The process maps a part of a file that may be executed. m is valid during the call. */
	void (*mapped)(void *ctx, const struct watch_subject *s, const struct sym_map *m);
	/* It executes another program, whose mappings are told afterwards. */
	void (*execed)(void *ctx, const struct watch_subject *s);
	/* It begins, as a child of a process in our PID namespace. */
	void (*forked)(void *ctx, const struct watch_subject *s, uint64_t parent);
	void (*ended)(void *ctx, const struct watch_subject *s);
	/* Some events were lost. */
	void (*lost)(void *ctx);
};

struct watch *watch_create(void);
void watch_destroy(struct watch *w); /* NULL is allowed */
/* Subscribers are told in the order in which they subscribe. */
void watch_subscribe(struct watch *w, const struct watch_subscriber *sub, void *ctx);

/* What all processes do is recorded from now on. cpus: [ncpus], -1 = offline. */
MUST_CHECK struct err *watch_all(struct watch *w, const int *cpus, uint32_t ncpus);
/* Tells what has been recorded until now. w: NULL is allowed. */
void watch_drain(struct watch *w);
/* Descriptors that become readable when something is recorded. */
uint32_t watch_fds(const struct watch *w, const int **ret_fds);
