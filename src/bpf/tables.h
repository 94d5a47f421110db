/* SPDX-License-Identifier: MIT */
/*
 * The tables by which the kernel's engine walks user stacks (unwind/tables.h), in its maps: the
 * rows of a file as a tree of blocks, which rt/unwind.c searches; programs of ustack helpers.
 *
 * Owns     the ring buffer's mapping; the maps are the session's, and must outlive the result.
 * Errors   struct err *. Missing room is an error with errno ENOSPC.
 */
#pragma once

#include "bpf/engine.h"
#include "unwind/tables.h"

struct tables;

MUST_CHECK struct err *tables_create(struct kmaps *m, struct tables **ret);
void tables_destroy(struct tables *t); /* NULL is allowed */
const struct stack_tables *tables_public(const struct tables *t);
