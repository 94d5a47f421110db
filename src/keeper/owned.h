/* SPDX-License-Identifier: MIT */
/*
 * The processes with an owner thread (patch/owner.c), in which a program of the tracer's stops the
 * makers of twins: who was stopped when the tracer has died goes on, and nobody else.
 *
 * Owns     the descriptors, until owned_drop(), or the end of the keeper.
 * Threads  all is async-signal-safe.
 */
#pragma once

#include "base/base.h"

#define OWNED_MAX 256 /* as many as can have windows (patched.h) */

struct owned {
	struct owned_process {
		uint64_t id;
		int pidfd, twins_fd;
	} list[OWNED_MAX];
	uint32_t n;
};

/* Takes the descriptors over; false: there are too many processes. */
bool owned_add(struct owned *o, uint64_t id, int pidfd, int twins_fd);
void owned_drop(struct owned *o, uint64_t id);
/* Adds the descriptors to a list, which has room for OWNED_MAX * 2; returns the new length. */
uint32_t owned_list_fds(const struct owned *o, int *fds, uint32_t n);
/* Sends SIGCONT to those whose program has counted a twin. Its link must be closed already. */
void owned_resume(const struct owned *o);
