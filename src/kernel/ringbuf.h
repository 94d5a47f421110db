/* SPDX-License-Identifier: MIT */
/*
 * Reads a BPF ring buffer, record by record; a record stays in the buffer until it is given up, so
 * that another process that has mapped the same buffer can see which ones are.
 *
 * Owns     the mappings, until ringbuf_unmap(); the map's descriptor stays the caller's.
 * Units    positions are bytes since the buffer was made, and lengths are bytes.
 * Errors   errno.
 * Threads  all is async-signal-safe. One thread of one process gives records up.
 * Facts    Linux kernel/bpf/ringbuf.c: a page with the reader's position, a page with the writers'
 *          position, and the data twice, so that no record is divided; a record has a header of 8
 *          bytes, and begins at a multiple of 8. BPF_RINGBUF_BUSY_BIT: it is not whole yet.
 */
#pragma once

#include "base/base.h"

struct ringbuf {
	uint64_t *read;		 /* up to here records were given up; NULL: it is not mapped */
	const uint64_t *written; /* so far they are */
	const uint8_t *data;
	size_t size, page;
};

/* gives_up: the caller may call ringbuf_give_up(). Returns 0 or errno. */
int ringbuf_map(int map_fd, bool gives_up, struct ringbuf *ret);
void ringbuf_unmap(struct ringbuf *r); /* {0} is allowed */
/* Where the first record is that was not given up. */
uint64_t ringbuf_begin(const struct ringbuf *r);
/*
 * The record at *pos, which becomes the position of the next one; valid until it is given up. NULL:
 * there is none yet. What the writers have discarded is left out.
 */
const void *ringbuf_next(const struct ringbuf *r, uint64_t *pos, uint32_t *ret_len);
/* All records before pos. */
void ringbuf_give_up(const struct ringbuf *r, uint64_t pos);
