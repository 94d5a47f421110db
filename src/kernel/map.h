/* SPDX-License-Identifier: MIT */
/*
 * BPF maps: makes one, and reads and sets its elements.
 *
 * Owns     nothing: descriptors are the caller's to close.
 * Errors   what the kernel refused, and the option that makes the map smaller.
 */
#pragma once

#include <linux/bpf.h>

#include "base/err.h"

struct map_spec {
	enum bpf_map_type type;
	const char *name; /* at most 15 characters */
	uint32_t key_size, value_size, max_entries, flags;
	int btf_fd; /* descriptor of the BTF with the types of key and value */
	uint32_t btf_key, btf_value;
	int inner_fd;	    /* for a map of maps: a map like its elements */
	const char *option; /* the option to lower when there is no memory; NULL = none */
};

/* The bytes of kernel memory that the map can take; an estimate, and rather too much. */
uint64_t map_bytes(const struct map_spec *s);
/* The map is charged to the quota of memory (kernel/quota.h), for as long as the process runs. */
MUST_CHECK struct err *map_create(const struct map_spec *s, int *ret_fd);
/* The value of an element, which is copied to value; false: there is no such element. */
bool map_get(int fd, const void *key, void *value);
/* Sets an element; returns 0 or errno. */
int map_put(int fd, const void *key, const void *value);
/* Deletes an element, if there is one. */
void map_remove(int fd, const void *key);
/* As map_put(); the error names the map. */
MUST_CHECK struct err *map_set(int fd, const char *name, const void *key, const void *value);
MUST_CHECK struct err *map_freeze(int fd, const char *name);
/* Makes a map of one element that programs cannot change. */
MUST_CHECK struct err *map_create_const(const char *name, const void *value, uint32_t size,
					int *ret_fd);
