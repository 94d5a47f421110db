/* SPDX-License-Identifier: MIT */
/* Aggregations in kernel maps: reads elements in batches, takes them out and puts them back. */
#include "bpf/mapio.h"

#include <errno.h>
#include <linux/bpf.h>

#include "base/vec.h"
#include "bpf/engine.h"

#define BATCH_BYTES (1u << 20) /* size of the keys and values in one batch */
#define BATCH_MIN   16u

struct map_io {
	const struct layout *layout;
	const struct kmaps *maps;
	uint32_t keystr_size; /* value size of MAP_STRINGS; 0 = not known yet */
	struct rt_keystr *keystr;
	struct rt_stack *stack; /* maps->stack_size bytes */
	VEC(uint8_t) values;	/* the values of one element on all CPUs */
};

struct map_io *map_io_create(const struct layout *l, const struct kmaps *m)
{
	struct map_io *io = xcalloc(1, sizeof(*io));

	io->layout = l;
	io->maps = m;
	return io;
}

void map_io_destroy(struct map_io *io)
{
	if (!io)
		return;
	free(io->keystr);
	free(io->stack);
	vec_deinit(&io->values);
	free(io);
}

static uint64_t ptr_to_u64(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* Makes a bpf(2) command on one element; returns 0 or errno. */
static int elem_cmd(int cmd, int fd, const void *key, const void *value, uint64_t flags)
{
	union bpf_attr attr = {0};

	attr.map_fd = (uint32_t)fd;
	attr.key = ptr_to_u64(key);
	attr.value = ptr_to_u64(value);
	attr.flags = flags;
	return sys_bpf(cmd, &attr, sizeof(attr)) < 0 ? errno : 0;
}

static const struct elem_map *map_of(const struct map_io *io, uint32_t map)
{
	return &io->layout->agg_maps[map];
}

/* Returns the size of the values that one element has on all CPUs. */
static size_t values_size(const struct map_io *io, uint32_t map)
{
	return elem_map_read_size(map_of(io, map), io->maps->ncpus);
}

/* ---- reading ------------------------------------------------------------------------------- */

struct batch {
	int fd;
	size_t key_size, val_size; /* sizes of a key and of its values in a batch */
	uint8_t *keys, *values;
	uint8_t *in, *out; /* positions, opaque to user space; at least key_size bytes */
	uint32_t cap;
};

typedef void batch_f(void *arg, const uint8_t *key, const uint8_t *value);

static void batch_deinit(struct batch *b)
{
	free(b->keys);
	free(b->values);
	free(b->in);
	free(b->out);
}

static void batch_size(struct batch *b, uint32_t cap)
{
	b->cap = cap;
	b->keys = xrealloc(b->keys, cap * b->key_size);
	b->values = xrealloc(b->values, cap * b->val_size);
}

/*
 * Reads the next batch. The kernel copies whole hash buckets, so every element is seen once even if
 * the map grows meanwhile. ENOSPC: a bucket does not fit into the batch; ENOENT: this was the last
 * batch. Linux kernel/bpf/hashtab.c, __htab_map_lookup_and_delete_batch().
 */
static int batch_next(struct batch *b, bool is_first, uint32_t *ret_count)
{
	union bpf_attr attr = {0};

	attr.batch.map_fd = (uint32_t)b->fd;
	attr.batch.in_batch = is_first ? 0 : ptr_to_u64(b->in);
	attr.batch.out_batch = ptr_to_u64(b->out);
	attr.batch.keys = ptr_to_u64(b->keys);
	attr.batch.values = ptr_to_u64(b->values);
	attr.batch.count = b->cap;
	if (sys_bpf(BPF_MAP_LOOKUP_BATCH, &attr, sizeof(attr)) < 0) {
		int sys = errno;

		*ret_count = sys == ENOENT ? attr.batch.count : 0;
		return sys;
	}
	*ret_count = attr.batch.count;
	return 0;
}

/*
 * Calls f for all elements of a hash; returns 0 or errno. EINVAL or ENOTSUPP before the first
 * element: this kernel has no batches for such maps.
 */
static int hash_each_batch(int fd, size_t key_size, size_t val_size, batch_f *f, void *arg)
{
	struct batch b = {.fd = fd, .key_size = key_size, .val_size = val_size};
	bool is_first = true;
	int sys = 0;

	b.in = xcalloc(1, MAX(key_size, sizeof(uint64_t)));
	b.out = xcalloc(1, MAX(key_size, sizeof(uint64_t)));
	batch_size(&b, MAX((uint32_t)(BATCH_BYTES / (key_size + val_size)), BATCH_MIN));
	while (sys != ENOENT) {
		uint32_t n;
		uint8_t *swap = b.in;

		sys = batch_next(&b, is_first, &n);
		if (sys == ENOSPC) {
			batch_size(&b, b.cap * 2);
			continue;
		}
		if (sys && sys != ENOENT)
			break;
		for (uint32_t i = 0; i < n; i++)
			f(arg, b.keys + i * key_size, b.values + i * val_size);
		is_first = false;
		b.in = b.out;
		b.out = swap;
	}
	batch_deinit(&b);
	return sys == ENOENT ? 0 : sys;
}

/* The state of reading one map of aggregations. */
struct reading {
	const struct map_io *io;
	uint32_t slot_off;
	agg_each_f *f;
	void *arg;
};

static void elem_read(void *arg, const uint8_t *key, const uint8_t *value)
{
	const struct reading *r = arg;

	r->f(r->arg, key, value + r->slot_off, r->io->maps->ncpus);
}

/*
 * Reads a map key by key, for kernels without batches for per-CPU hashes. If its current key were
 * deleted, the walk would start again; but only this process deletes keys, and never during a walk.
 */
static int map_each_key(const struct map_io *io, uint32_t map, agg_each_f *f, void *arg)
{
	CLEANUP(free) uint8_t *values = xmalloc(values_size(io, map));
	CLEANUP(free) uint8_t *key = xcalloc(1, map_of(io, map)->key_size);
	int fd = io->maps->agg_fds[map];
	bool is_first = true;

	for (;;) {
		union bpf_attr attr = {0};
		int sys;

		attr.map_fd = (uint32_t)fd;
		attr.key = is_first ? 0 : ptr_to_u64(key);
		attr.next_key = ptr_to_u64(key);
		if (sys_bpf(BPF_MAP_GET_NEXT_KEY, &attr, sizeof(attr)) < 0)
			return errno == ENOENT ? 0 : errno;
		is_first = false;
		sys = elem_cmd(BPF_MAP_LOOKUP_ELEM, fd, key, values, 0);
		if (sys == ENOENT)
			continue;
		if (sys)
			return sys;
		f(arg, key, values + map_of(io, map)->slot_off, io->maps->ncpus);
	}
}

static int map_each_elem(const struct map_io *io, uint32_t map, agg_each_f *f, void *arg)
{
	CLEANUP(free) uint8_t *values = xmalloc(values_size(io, map));
	int sys = 0;

	for (uint32_t i = 0; i < map_of(io, map)->nmembers && !sys; i++) {
		sys = elem_cmd(BPF_MAP_LOOKUP_ELEM, io->maps->agg_fds[map], &i, values, 0);
		if (!sys)
			f(arg, (const uint8_t *)&i, values, io->maps->ncpus);
	}
	return sys;
}

#define ENOTSUPP_KERNEL 524 /* Linux include/linux/errno.h; user headers lack it */

static struct err *map_each(void *ctx, uint32_t map, agg_each_f *f, void *arg)
{
	const struct map_io *io = ctx;
	struct reading r = {io, map_of(io, map)->slot_off, f, arg};
	int sys;

	if (!map_of(io, map)->key_size) {
		sys = map_each_elem(io, map, f, arg);
	} else {
		sys = hash_each_batch(io->maps->agg_fds[map], map_of(io, map)->key_size,
				      values_size(io, map), elem_read, &r);
		if (sys == EINVAL || sys == EOPNOTSUPP || sys == ENOTSUPP_KERNEL)
			sys = map_each_key(io, map, f, arg);
	}
	return sys ? err_sys(sys, "cannot read the kernel's map") : NULL;
}

/* ---- changing ------------------------------------------------------------------------------ */

/* Makes io->values large enough for one element; its content is lost. */
static uint8_t *values_room(struct map_io *io, uint32_t map)
{
	uint32_t size = (uint32_t)values_size(io, map);

	vec_reserve(&io->values, size);
	memset(io->values.data, 0, size);
	return io->values.data;
}

static struct err *map_read(void *ctx, uint32_t map, int cmd, const void *key,
			    const uint8_t **ret_values, uint32_t *ret_ncpus)
{
	struct map_io *io = ctx;
	uint8_t *values = values_room(io, map);
	int sys = elem_cmd(cmd, io->maps->agg_fds[map], key, values, 0);

	if (sys == ENOENT)
		return NULL;
	if (sys)
		return err_sys(sys, "cannot take from the kernel's map");
	*ret_values = values + map_of(io, map)->slot_off;
	*ret_ncpus = io->maps->ncpus;
	return NULL;
}

static struct err *map_take(void *ctx, uint32_t map, const void *key, const uint8_t **ret_values,
			    uint32_t *ret_ncpus)
{
	const struct map_io *io = ctx;
	int cmd = map_of(io, map)->key_size ? BPF_MAP_LOOKUP_AND_DELETE_ELEM : BPF_MAP_LOOKUP_ELEM;

	return map_read(ctx, map, cmd, key, ret_values, ret_ncpus);
}

static struct err *map_peek(void *ctx, uint32_t map, const void *key, const uint8_t **ret_values,
			    uint32_t *ret_ncpus)
{
	return map_read(ctx, map, BPF_MAP_LOOKUP_ELEM, key, ret_values, ret_ncpus);
}

static struct err *map_put(void *ctx, uint32_t map, const void *key, const uint8_t *value,
			   bool *ret_done)
{
	struct map_io *io = ctx;
	uint8_t *values = values_room(io, map);
	uint64_t flags = map_of(io, map)->key_size ? BPF_NOEXIST : BPF_EXIST;
	int sys;

	memcpy(values + map_of(io, map)->slot_off, value, map_of(io, map)->val_size);
	sys = elem_cmd(BPF_MAP_UPDATE_ELEM, io->maps->agg_fds[map], key, values, flags);
	if (sys && sys != EEXIST)
		return err_sys(sys, "cannot write the kernel's map");
	*ret_done = !sys;
	return NULL;
}

/* ---- strings and stacks -------------------------------------------------------------------- */

static bool map_info(int fd, struct bpf_map_info *ret)
{
	union bpf_attr attr = {0};

	*ret = (struct bpf_map_info){0};
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(*ret);
	attr.info.info = ptr_to_u64(ret);
	return fd >= 0 && sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) == 0;
}

static bool keystr_prepare(struct map_io *io, int fd)
{
	struct bpf_map_info info;

	if (io->keystr_size)
		return true;
	if (!map_info(fd, &info) || info.value_size <= sizeof(struct rt_keystr))
		return false;
	io->keystr_size = info.value_size;
	io->keystr = xmalloc(info.value_size);
	return true;
}

static size_t keystr_len(const struct map_io *io, const struct rt_keystr *s)
{
	size_t room = MIN((size_t)s->len, io->keystr_size - sizeof(*s));

	return strnlen(s->data, room);
}

static bool map_string(void *ctx, uint64_t hash, struct strbuf *out)
{
	struct map_io *io = ctx;
	int fd = io->maps->fd[MAP_STRINGS];

	if (fd < 0 || !keystr_prepare(io, fd) ||
	    elem_cmd(BPF_MAP_LOOKUP_ELEM, fd, &hash, io->keystr, 0))
		return false;
	strbuf_add(out, io->keystr->data, keystr_len(io, io->keystr));
	return true;
}

static bool map_stack(void *ctx, uint64_t hash, struct strbuf *out)
{
	struct map_io *io = ctx;
	int fd = io->maps->fd[MAP_STACKS];

	if (fd < 0)
		return false;
	if (!io->stack)
		io->stack = xmalloc(io->maps->stack_size);
	if (elem_cmd(BPF_MAP_LOOKUP_ELEM, fd, &hash, io->stack, 0))
		return false;
	strbuf_add(out, (const char *)io->stack, io->maps->stack_size);
	return true;
}

struct text_reading {
	const struct map_io *io;
	agg_text_f *f;
	void *arg;
};

static void string_read(void *arg, const uint8_t *key, const uint8_t *value)
{
	const struct text_reading *r = arg;
	const struct rt_keystr *s = (const struct rt_keystr *)(const void *)value;
	uint64_t hash;

	memcpy(&hash, key, sizeof(hash));
	r->f(r->arg, hash, s->data, keystr_len(r->io, s));
}

static void stack_read(void *arg, const uint8_t *key, const uint8_t *value)
{
	const struct text_reading *r = arg;
	struct rt_stack head;
	uint64_t hash;

	memcpy(&hash, key, sizeof(hash));
	memcpy(&head, value, sizeof(head));
	r->f(r->arg, hash, (const char *)value,
	     MIN(sizeof(head) + head.len, (size_t)r->io->maps->stack_size));
}

static const enum map_class side_maps[] = {
	[AGG_SIDE_STRINGS] = MAP_STRINGS,
	[AGG_SIDE_STACKS] = MAP_STACKS,
};

/* Reads a table of texts in batches; texts that it misses are looked up one by one later. */
static void map_texts(void *ctx, enum agg_side side, agg_text_f *f, void *arg)
{
	struct map_io *io = ctx;
	struct text_reading r = {io, f, arg};
	int fd = io->maps->fd[side_maps[side]];

	if (fd >= 0 && side == AGG_SIDE_STACKS)
		(void)hash_each_batch(fd, sizeof(uint64_t), io->maps->stack_size, stack_read, &r);
	else if (fd >= 0 && keystr_prepare(io, fd))
		(void)hash_each_batch(fd, sizeof(uint64_t), io->keystr_size, string_read, &r);
}

static void map_forget(void *ctx, enum agg_side side, uint64_t hash)
{
	const struct map_io *io = ctx;
	int fd = io->maps->fd[side_maps[side]];

	if (fd >= 0)
		(void)elem_cmd(BPF_MAP_DELETE_ELEM, fd, &hash, NULL, 0);
}

/* ---- what is alive ------------------------------------------------------------------------- */

struct alive_reading {
	agg_alive_f *f;
	void *arg;
};

static void alive_read(void *arg, const uint8_t *key, const uint8_t *value)
{
	const struct alive_reading *r = arg;

	r->f(r->arg, (const struct rt_live_key *)(const void *)key,
	     (const struct rt_live *)(const void *)value);
}

static struct err *map_alive(void *ctx, agg_alive_f *f, void *arg)
{
	const struct map_io *io = ctx;
	struct alive_reading r = {f, arg};
	int fd = io->maps->fd[MAP_LIVE], sys = 0;

	if (fd >= 0)
		sys = hash_each_batch(fd, sizeof(struct rt_live_key), io->layout->live_size,
				      alive_read, &r);
	return sys ? err_sys(sys, "cannot read the kernel's map") : NULL;
}

/* The address may have come again since it was read: that entry is put back. */
static bool map_bury(void *ctx, const struct rt_live_key *key, uint64_t time)
{
	const struct map_io *io = ctx;
	CLEANUP(free) struct rt_live *entry = xmalloc(io->layout->live_size);
	int fd = io->maps->fd[MAP_LIVE];

	/* looked at first, because dead() finds nothing of what is off for a moment */
	if (fd < 0 || elem_cmd(BPF_MAP_LOOKUP_ELEM, fd, key, entry, 0) || entry->time != time)
		return true;
	if (!elem_cmd(BPF_MAP_LOOKUP_AND_DELETE_ELEM, fd, key, entry, 0) && entry->time != time)
		(void)elem_cmd(BPF_MAP_UPDATE_ELEM, fd, key, entry, BPF_NOEXIST);
	return true;
}

static uint32_t map_room(void *ctx, enum agg_side side)
{
	const struct map_io *io = ctx;
	struct bpf_map_info info;

	return map_info(io->maps->fd[side_maps[side]], &info) ? info.max_entries : 0;
}

/* The sum of a counter of struct rt_cpu over the CPUs. */
static uint64_t counter_sum(const struct map_io *io, size_t offset)
{
	uint64_t n = 0;

	for (uint32_t cpu = 0; io->maps->control && cpu < io->maps->ncpus; cpu++) {
		const char *counters = (const char *)&io->maps->control->cpu[cpu];

		n += __atomic_load_n((const uint64_t *)(const void *)(counters + offset),
				     __ATOMIC_RELAXED);
	}
	return n;
}

/* A stack that found no room to become a value is counted with the dynamic variables. */
static uint64_t map_drops(void *ctx)
{
	const struct map_io *io = ctx;
	uint64_t n = counter_sum(io, offsetof(struct rt_cpu, agg_drops));

	if (io->layout->facts.has_stackid)
		n += counter_sum(io, offsetof(struct rt_cpu, dyn_drops));
	return n;
}

static uint64_t map_made(void *ctx)
{
	return counter_sum(ctx, offsetof(struct rt_cpu, stacks_made));
}

/* ---- stacks that variables have -------------------------------------------------------------- */

struct root_reading {
	const struct layout *layout;
	const struct elem_map *map;
	agg_root_f *f;
	void *arg;
};

static void root_note(const struct root_reading *r, const uint8_t *at)
{
	uint64_t hash;

	memcpy(&hash, at, sizeof(hash));
	if (hash)
		r->f(r->arg, hash);
}

/* An element of a map of arrays and of thread-locals. */
static void elem_roots(void *arg, const uint8_t *key, const uint8_t *value)
{
	const struct root_reading *r = arg;
	const struct var_layout *vl;
	uint64_t n = 0;

	if (r->map->nmembers > 1) {
		memcpy(&n, key, sizeof(n));
		n--;
	}
	if (n >= r->map->nmembers)
		return;
	vl = &r->layout->vars[r->map->members[n]];
	if (vl->var->type.flags & DIF_TF_STACK)
		root_note(r, value);
	for (uint32_t k = 0; k < vl->var->nkeys; k++)
		if (vl->var->keys[k].flags & DIF_TF_STACK)
			root_note(r, key + vl->keys[k].off);
}

static bool globals_read(const struct map_io *io, const struct root_reading *r)
{
	int fd = io->maps->fd[MAP_GVARS];
	struct bpf_map_info info;
	uint8_t *values;
	uint32_t key = 0;
	bool good;

	if (fd < 0 || !map_info(fd, &info))
		return false;
	values = xmalloc(ROUND_UP((size_t)info.value_size, 8u));
	good = !elem_cmd(BPF_MAP_LOOKUP_ELEM, fd, &key, values, 0);
	for (uint32_t i = 0; good && i < io->layout->nvars; i++) {
		const struct var_layout *vl = &io->layout->vars[i];

		if (!vl->is_elem && vl->var->scope == DIF_SCOPE_GLOBAL &&
		    (vl->var->type.flags & DIF_TF_STACK))
			root_note(r, values + vl->off);
	}
	free(values);
	return good;
}

static bool has_stacks(const struct layout *l, const struct elem_map *m)
{
	for (uint32_t i = 0; i < m->nmembers; i++)
		if (var_has_stacks(l->vars[m->members[i]].var))
			return true;
	return false;
}

static bool map_roots(void *ctx, agg_root_f *f, void *arg)
{
	const struct map_io *io = ctx;
	struct root_reading r = {.layout = io->layout, .f = f, .arg = arg};
	bool good = !io->layout->gvars_size || globals_read(io, &r);

	for (uint32_t i = 0; good && i < io->layout->narr_maps; i++) {
		r.map = &io->layout->arr_maps[i];
		if (has_stacks(io->layout, r.map))
			good = !hash_each_batch(io->maps->arr_fds[i], r.map->key_size,
						r.map->val_size, elem_roots, &r);
	}
	return good;
}

const struct agg_io map_io_ops = {
	.each = map_each,
	.take = map_take,
	.peek = map_peek,
	.put = map_put,
	.string = map_string,
	.stack = map_stack,
	.texts = map_texts,
	.forget = map_forget,
	.alive = map_alive,
	.bury = map_bury,
	.room = map_room,
	.drops = map_drops,
	.roots = map_roots,
	.made = map_made,
};
