/* SPDX-License-Identifier: MIT */
/* Makes one BPF map. */
#include "kernel/map.h"

#include <errno.h>

#include "kernel/kernel.h"
#include "kernel/quota.h"
#include "kernel/sys.h"

static struct err *map_refused(const struct map_spec *s, int sys)
{
	struct err *e = err_sys(sys, "cannot create the BPF map '%s' (%u entries of %u bytes)",
				s->name, s->max_entries, s->value_size);

	if (sys == EPERM)
		return err_hint(e, "tracing needs CAP_BPF and CAP_PERFMON; try sudo");
	if (s->option && (sys == ENOMEM || sys == E2BIG || sys == EINVAL))
		return err_hint(e, "try a smaller value of the option '%s'", s->option);
	if (sys == ENOMEM)
		return err_hint(e, "the memory limit of this control group may be too low");
	return e;
}

#define ELEM_HEAD   64u /* struct htab_elem, and what the kernel's allocator adds */
#define BUCKET_SIZE 16u /* struct bucket */
#define MAP_HEAD    1024u

static uint64_t round8(uint64_t n)
{
	return (n + 7) & ~7ull;
}

/*
 * The kernel's bytes for the map when it is full. It says so itself in /proc/PID/fdinfo, after the
 * map was made.
 */
uint64_t map_bytes(const struct map_spec *s)
{
	uint64_t n = s->max_entries, value = round8(s->value_size), key = round8(s->key_size);

	bool is_percpu = s->type == BPF_MAP_TYPE_PERCPU_ARRAY ||
			 s->type == BPF_MAP_TYPE_PERCPU_HASH ||
			 s->type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
	uint64_t values = is_percpu ? 8 + value * cpus_possible() : value;

	if (s->type == BPF_MAP_TYPE_RINGBUF)
		return MAP_HEAD + n;
	if (s->type == BPF_MAP_TYPE_ARRAY || s->type == BPF_MAP_TYPE_PERCPU_ARRAY)
		return MAP_HEAD + n * values;
	if (s->type == BPF_MAP_TYPE_ARRAY_OF_MAPS || s->type == BPF_MAP_TYPE_PROG_ARRAY)
		return MAP_HEAD + n * 8;
	return MAP_HEAD + n * (ELEM_HEAD + key + values + 2 * BUCKET_SIZE);
}

struct err *map_create(const struct map_spec *s, int *ret_fd)
{
	union bpf_attr attr = {
		.map_type = s->type,
		.key_size = s->key_size,
		.value_size = s->value_size,
		.max_entries = s->max_entries,
		.map_flags = s->flags,
	};
	struct err *e = quota_take(QUOTA_MEMORY, map_bytes(s));
	int fd, sys;

	if (e)
		return e;
	if (s->type == BPF_MAP_TYPE_ARRAY_OF_MAPS)
		attr.inner_map_fd = (uint32_t)s->inner_fd;
	if (s->btf_value) {
		attr.btf_fd = (uint32_t)s->btf_fd;
		attr.btf_key_type_id = s->btf_key;
		attr.btf_value_type_id = s->btf_value;
	}
	(void)snprintf(attr.map_name, sizeof(attr.map_name), "%s", s->name);
	fd = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
	if (fd < 0) {
		sys = errno;
		quota_give(QUOTA_MEMORY, map_bytes(s));
		return map_refused(s, sys);
	}
	*ret_fd = fd;
	return NULL;
}

static int elem_call(int cmd, int fd, const void *key, const void *value)
{
	union bpf_attr attr = {
		.map_fd = (uint32_t)fd,
		.key = (uint64_t)(uintptr_t)key,
		.value = (uint64_t)(uintptr_t)value,
	};

	return sys_bpf(cmd, &attr, sizeof(attr)) ? errno : 0;
}

bool map_get(int fd, const void *key, void *value)
{
	return elem_call(BPF_MAP_LOOKUP_ELEM, fd, key, value) == 0;
}

int map_put(int fd, const void *key, const void *value)
{
	return elem_call(BPF_MAP_UPDATE_ELEM, fd, key, value);
}

void map_remove(int fd, const void *key)
{
	(void)elem_call(BPF_MAP_DELETE_ELEM, fd, key, NULL); /* it may not exist */
}

struct err *map_set(int fd, const char *name, const void *key, const void *value)
{
	int sys = map_put(fd, key, value);

	return sys ? err_sys(sys, "cannot fill the BPF map '%s'", name) : NULL;
}

struct err *map_freeze(int fd, const char *name)
{
	union bpf_attr attr = {.map_fd = (uint32_t)fd};

	if (sys_bpf(BPF_MAP_FREEZE, &attr, sizeof(attr)))
		return err_sys(errno, "cannot freeze the BPF map '%s'", name);
	return NULL;
}

/* Makes a map of one element that programs cannot change. */
struct err *map_create_const(const char *name, const void *value, uint32_t size, int *ret_fd)
{
	struct map_spec s = {BPF_MAP_TYPE_ARRAY, name, 4, size, 1, .flags = BPF_F_RDONLY_PROG};
	CLEANUP(fd) int fd = -1;
	uint32_t zero = 0;
	struct err *e = map_create(&s, &fd);

	if (!e)
		e = map_set(fd, name, &zero, value);
	if (!e)
		e = map_freeze(fd, name);
	if (!e)
		*ret_fd = fd_take(&fd);
	return e;
}
