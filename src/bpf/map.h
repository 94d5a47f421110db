/*
 * Making one BPF map.
 *
 * Owns     nothing: descriptors are the caller's to close.
 * Errors   what the kernel refused, and which option makes the map smaller.
 */
#pragma once

#include <linux/bpf.h>

#include "base/err.h"

struct map_spec {
	enum bpf_map_type type;
	const char *name; /* at most 15 characters */
	uint32_t key_size, value_size, max_entries, flags;
	int btf_fd; /* with its key and value types */
	uint32_t btf_key, btf_value;
	int inner_fd;	    /* of a map of maps: one of those */
	const char *option; /* what the user can lower when it does not fit; NULL = nothing */
};

MUST_CHECK struct err *map_create(const struct map_spec *s, int *ret_fd);
MUST_CHECK struct err *map_set(int fd, const char *name, const void *key, const void *value);
MUST_CHECK struct err *map_freeze(int fd, const char *name);
/* One element that programs cannot change. */
MUST_CHECK struct err *map_create_const(const char *name, const void *value, uint32_t size,
					int *ret_fd);
