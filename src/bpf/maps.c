/* SPDX-License-Identifier: MIT */
/*
 * Makes the maps of a session.
 *
 * Facts    Linux include/linux/bpf_verifier.h, MAX_USED_MAPS: 64 maps a program, since v3.18.
 */
#include "bpf/engine.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "kernel/map.h"
#include "kernel/quota.h"
#include "rt/helper.h"
#include "kernel/btf_blob.h"

#define HELPER_STRINGS 65536	   /* most names of frames that helpers give */
#define ELEMS_READY    (1u << 20)  /* bytes that the elements of an array may take at once */
#define NAMES_READY    (32u << 20) /* bytes that names may take before the first of them is made */
#define VALUES_MIN     256u	   /* stacks that are values */
#define STRINGS_MAX    (1u << 23)  /* most entries for each key field that is a string hash */

#define UFILES_MAX  16384u
#define UBLOCKS_MAX (1u << 20)
#define UREQ_SIZE   (64u << 10)

#define MAPS_A_PROGRAM 64
#define MAPS_SPARE     3 /* maps left free for new kinds of units and run-time functions */

uint32_t kmaps_max_elem_maps(uint32_t ncpus)
{
	uint32_t used = MAP_NCLASSES + MAPS_SPARE + (ncpus <= KMAPS_RINGS_NAMED ? ncpus : 1);

	return used < MAPS_A_PROGRAM ? MAPS_A_PROGRAM - used : 1;
}

/* ---- the maps, one function each -------------------------------------------------------- */

/* Makes a map of one element and maps its value into this process; what: its name in errors. */
static struct err *map_create_mapped(const struct map_spec *s, const char *what, int *ret_fd,
				     void **ret)
{
	struct err *e = map_create(s, ret_fd);
	void *p;

	if (e)
		return e;
	p = sys_mmap(NULL, s->value_size, PROT_READ | PROT_WRITE, MAP_SHARED, *ret_fd, 0);
	if (p == MAP_FAILED)
		return err_sys(errno, "cannot map %s", what);
	*ret = p;
	return NULL;
}

static struct err *control_create(struct kmaps *m)
{
	size_t size = sizeof(struct rt_control) + m->ncpus * sizeof(struct rt_cpu);
	struct map_spec s = {BPF_MAP_TYPE_ARRAY, "control", 4,
			     (uint32_t)size,	 1,	    .flags = BPF_F_MMAPABLE};
	void *p;
	struct err *e =
		map_create_mapped(&s, "the session's control block", &m->fd[MAP_CONTROL], &p);

	if (e)
		return e;
	m->control = p;
	m->control_size = size;
	m->control->ncpus = m->ncpus;
	for (uint32_t i = 0; i < m->ncpus; i++)
		m->control->cpu[i].others_most = UINT64_MAX;
	if (!quota_counts_cpu()) {
		quota_begin_witness(p, size, m->fd[MAP_CONTROL]);
		return NULL;
	}
	e = alarm_create(&m->alarm, m->ncpus, &m->fd[MAP_ALARM]);
	if (e)
		return e;
	quota_watch(&m->control->cpu[0].others_ns, &m->control->cpu[0].others_most,
		    sizeof(m->control->cpu[0]), m->ncpus);
	quota_set_maps(m->fd[MAP_CONTROL], m->fd[MAP_ALARM]);
	quota_begin_witness(p, size, m->fd[MAP_CONTROL]);
	return NULL;
}

/* The number of elements of struct rt_spec_use. */
static uint32_t spec_nuses(const struct layout *l)
{
	uint64_t n = (uint64_t)l->nspec * l->opts.ncpus;
	uint32_t nuses = 1;

	while (nuses < n && nuses < RT_SPEC_USES)
		nuses *= 2;
	return nuses;
}

static struct err *spec_create(struct kmaps *m, const struct layout *l)
{
	uint32_t size = MAX(l->nspec, 1u) * (uint32_t)sizeof(*m->spec) +
			spec_nuses(l) * (uint32_t)sizeof(struct rt_spec_use);
	struct map_spec s = {BPF_MAP_TYPE_ARRAY,      "spec",		4, size, 1,
			     .flags = BPF_F_MMAPABLE, .option = "nspec"};
	struct err *e;
	void *p;

	if (!l->facts.speculates)
		return NULL;
	e = map_create_mapped(&s, "the states of speculations", &m->fd[MAP_SPEC], &p);
	if (e)
		return e;
	m->spec = p;
	m->spec_size = size;
	if (!l->nspec)
		m->spec[0] = RT_SPEC_NONE;
	return NULL;
}

#define SPARE_SIZE (256 << 10) /* few CPUs, if any, come online later */

/* Fills the array in one call, because each call that fills one costs a grace period (linker.c). */
static struct err *ring_array_create(struct kmaps *m)
{
	CLEANUP(free) uint32_t *cpus = xcalloc(m->ncpus, sizeof(*cpus));
	CLEANUP(free) int *fds = xcalloc(m->ncpus, sizeof(*fds));
	union bpf_attr attr = {0};
	struct map_spec s = {BPF_MAP_TYPE_ARRAY_OF_MAPS, "rings", 4, 4, m->ncpus, .flags = 0};
	struct err *e;
	uint32_t n = 0;

	for (uint32_t cpu = 0; cpu < m->ncpus; cpu++)
		if (m->ring_fds[cpu] >= 0) {
			fds[n] = m->ring_fds[cpu];
			cpus[n++] = cpu;
		}
	s.inner_fd = fds[0];
	e = map_create(&s, &m->fd[MAP_RINGS]);
	if (e)
		return e;
	attr.batch.keys = (uint64_t)(uintptr_t)cpus;
	attr.batch.values = (uint64_t)(uintptr_t)fds;
	attr.batch.count = n;
	attr.batch.map_fd = (uint32_t)m->fd[MAP_RINGS];
	if (sys_bpf(BPF_MAP_UPDATE_BATCH, &attr, sizeof(attr)))
		return err_sys(errno, "cannot fill the table of ring buffers");
	return NULL;
}

static struct err *rings_create(struct kmaps *m)
{
	struct map_spec ring = {BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, m->ring_size,
				.option = "bufsize"};
	CLEANUP(free) bool *online = xcalloc(m->ncpus, sizeof(bool));
	bool has_offline = false;
	struct err *e = NULL;

	cpus_mark_online(online, m->ncpus);
	for (uint32_t cpu = 0; cpu < m->ncpus && !e; cpu++) {
		if (online[cpu])
			e = map_create(&ring, &m->ring_fds[cpu]);
		has_offline |= !online[cpu];
	}
	ring.max_entries = m->spare_size = MIN(m->ring_size, (uint32_t)SPARE_SIZE);
	if (!e && has_offline)
		e = map_create(&ring, &m->spare_fd);
	if (!e && m->ncpus > KMAPS_RINGS_NAMED)
		e = ring_array_create(m);
	return e;
}

static struct err *tls_create(struct kmaps *m, const struct layout *l)
{
	struct map_spec s = {BPF_MAP_TYPE_TASK_STORAGE, "tls", 4, l->tls_size, 0,
			     .flags = BPF_F_NO_PREALLOC};
	struct btf_blob b = {0};
	CLEANUP(fd) int btf = -1;
	struct err *e;

	assert(l->tls_size <= UINT16_MAX);
	s.btf_key = btf_blob_int(&b, "int", 4, true);
	s.btf_value = btf_blob_struct(&b, "tls", l->tls_size);
	e = btf_blob_load(&b, &btf);
	btf_blob_deinit(&b);
	if (e)
		return e;
	s.btf_fd = btf;
	e = map_create(&s, &m->fd[MAP_TLS]);
	return feat_explain(FEAT_TASK_STORAGE, e);
}

static uint32_t keys_strings(const struct key_field *keys, uint32_t nkeys)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nkeys; i++)
		n += keys[i].repr == KEY_STRHASH;
	return n;
}

/*
 * The strings of aggregation keys, and names that helpers give to frames. Keys of associative
 * arrays are never read back.
 *
 * The memory of names is allocated when the session starts: a new stack in the language of a
 * program has a dozen new names at once, for each of which the kernel would otherwise fetch memory
 * in an interrupt of its own, which takes longer than all else that a name needs.
 */
static struct err *strings_create(struct kmaps *m, const struct layout *l)
{
	struct map_spec s = {BPF_MAP_TYPE_HASH, "strings", 8, .flags = BPF_F_NO_PREALLOC,
			     .option = "aggsize"};
	uint64_t n = 0;

	for (uint32_t i = 0; i < l->naggs; i++)
		n += (uint64_t)keys_strings(l->aggs[i].keys, l->aggs[i].nkeys) *
		     l->aggs[i].max_entries;
	if (l->opts.has_helpers)
		n += HELPER_STRINGS;
	if (n == 0)
		return NULL;
	s.max_entries = (uint32_t)MIN(n, STRINGS_MAX);
	s.value_size = (uint32_t)(sizeof(struct rt_keystr) + ROUND_UP(l->strsize, 4));
	if (l->opts.has_helpers && (uint64_t)s.max_entries * s.value_size <= NAMES_READY)
		s.flags = 0;
	return map_create(&s, &m->fd[MAP_STRINGS]);
}

static uint32_t keys_stacks(const struct key_field *keys, uint32_t nkeys)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nkeys; i++)
		n += keys[i].repr == KEY_STACK;
	return n;
}

/* Makes the maps of unwind tables and the others that a walk of user stacks needs. */
static struct err *unwind_create(struct kmaps *m, const struct kmaps_opts *opts)
{
	uint64_t nblocks = opts->unwindsize / sizeof(struct rt_ublock);
	const struct map_spec specs[] = {
		{BPF_MAP_TYPE_HASH, "ufiles", sizeof(struct rt_ufile_key), sizeof(struct rt_ufile),
		 UFILES_MAX, .flags = BPF_F_NO_PREALLOC},
		{BPF_MAP_TYPE_HASH, "ublocks", 8, sizeof(struct rt_ublock),
		 (uint32_t)MIN(MAX(nblocks, 1u), UBLOCKS_MAX), .flags = BPF_F_NO_PREALLOC,
		 .option = "unwindsize"},
		{BPF_MAP_TYPE_ARRAY, "ucache", 4, sizeof(struct rt_urule), RT_UCACHE, .flags = 0},
		{BPF_MAP_TYPE_RINGBUF, "ureq", 0, 0, UREQ_SIZE, .flags = 0},
	};
	static const enum map_class classes[] = {MAP_UFILES, MAP_UBLOCKS, MAP_UCACHE, MAP_UREQ};
	struct err *e = NULL;

	for (size_t i = 0; i < ARRAY_LEN(specs) && opts->ukernel && !e; i++)
		e = map_create(&specs[i], &m->fd[classes[i]]);
	return e;
}

/*
 * The stacks of keys take most of the memory of such keys, so aggsize limits them, too; those of
 * variables are limited by dynvarsize.
 */
static struct err *stacks_create(struct kmaps *m, const struct layout *l)
{
	struct map_spec s = {BPF_MAP_TYPE_HASH,		 "stacks",	     8, m->stack_size,
			     .flags = BPF_F_NO_PREALLOC, .option = "aggsize"};
	uint64_t n = 0, room = l->opts.aggsize * m->ncpus / MAX(m->stack_size, 1u);

	for (uint32_t i = 0; i < l->naggs; i++)
		n += (uint64_t)keys_stacks(l->aggs[i].keys, l->aggs[i].nkeys) *
		     l->aggs[i].max_entries;
	if (n)
		n = MIN(n, MAX(room, 1u));
	if (l->facts.has_stackid)
		n += MAX(l->opts.dynvarsize * m->ncpus / MAX(m->stack_size, 1u), VALUES_MIN);
	if (n == 0)
		return NULL;
	s.max_entries = (uint32_t)MIN(n, STRINGS_MAX);
	return map_create(&s, &m->fd[MAP_STACKS]);
}

static struct err *aggs_create(struct kmaps *m, const struct layout *l)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < l->nagg_maps && !e; i++) {
		const struct elem_map *a = &l->agg_maps[i];
		struct map_spec hash = {a->slot_size ? BPF_MAP_TYPE_HASH : BPF_MAP_TYPE_PERCPU_HASH,
					"agg",
					a->key_size,
					elem_map_value_size(a, m->ncpus),
					a->max_entries,
					.flags = BPF_F_NO_PREALLOC,
					.option = "aggsize"};
		struct map_spec array =
			{BPF_MAP_TYPE_PERCPU_ARRAY, "agg", 4, a->val_size, a->nmembers, .flags = 0};

		e = map_create(a->key_size ? &hash : &array, &m->agg_fds[i]);
	}
	return e;
}

/* Its memory is allocated with the addresses that come: most programs have few at a time. */
static struct err *live_create(struct kmaps *m, const struct layout *l)
{
	const struct map_spec s = {BPF_MAP_TYPE_HASH,	       "live",
				   sizeof(struct rt_live_key), l->live_size,
				   MAX(l->opts.livesize, 1u),  .flags = BPF_F_NO_PREALLOC,
				   .option = "livesize"};

	return l->live_size ? map_create(&s, &m->fd[MAP_LIVE]) : NULL;
}

/*
 * The memory of small arrays is allocated when the session starts: a script that measures latency
 * adds and removes an element each time, for which the kernel would otherwise fetch and return
 * memory in interrupts of its own.
 */
static struct err *arrays_create(struct kmaps *m, const struct layout *l)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < l->narr_maps && !e; i++) {
		const struct elem_map *v = &l->arr_maps[i];
		struct map_spec s = {BPF_MAP_TYPE_HASH, "array",	v->key_size,
				     v->val_size,	v->max_entries, .option = "dynvarsize"};

		if ((uint64_t)v->max_entries * (v->key_size + v->val_size) > ELEMS_READY)
			s.flags = BPF_F_NO_PREALLOC;
		e = map_create(&s, &m->arr_fds[i]);
	}
	return e;
}

/* Makes the maps of the helper machine (rt/helper.h). */
static struct err *helpers_create(struct kmaps *m, const struct layout *l)
{
	const struct map_spec code = {BPF_MAP_TYPE_ARRAY,
				      "hcode",
				      4,
				      RT_HCODE * sizeof(uint64_t),
				      1,
				      .flags = BPF_F_MMAPABLE};
	const struct map_spec specs[] = {
		{BPF_MAP_TYPE_HASH, "hprocs", 8, sizeof(struct rt_hproc), RT_HELPER_PROCS,
		 .flags = BPF_F_NO_PREALLOC},
		{BPF_MAP_TYPE_HASH, "hfiles", sizeof(struct rt_ufile_key), sizeof(struct rt_hfile),
		 RT_HFILES, .flags = BPF_F_NO_PREALLOC},
		{BPF_MAP_TYPE_HASH, "hconsts", sizeof(struct rt_hconst_key),
		 sizeof(struct rt_hconst), RT_HFILES_MAX, .flags = BPF_F_NO_PREALLOC},
		{BPF_MAP_TYPE_ARRAY, "hmemo", 4, sizeof(struct rt_hmemo), RT_HMEMO, .flags = 0},
	};
	static const enum map_class classes[] = {MAP_HPROCS, MAP_HFILES, MAP_HCONSTS, MAP_HMEMO};
	struct err *e = NULL;
	void *p;

	if (!l->opts.has_helpers)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(specs) && !e; i++)
		e = map_create(&specs[i], &m->fd[classes[i]]);
	if (!e)
		e = map_create_mapped(&code, "the code of ustack helpers", &m->fd[MAP_HCODE], &p);
	if (!e)
		m->hcode = p;
	return e;
}

struct err *kmaps_helper_array(struct kmaps *m, uint32_t prog_type, uint32_t attach_type,
			       int *ret_fd)
{
	struct map_spec s = {BPF_MAP_TYPE_PROG_ARRAY, "hprogs",	 4, 4,
			     RT_HELPER_PROGRAMS,      .flags = 0};
	struct helper_array *a = m->helper_arrays;
	struct err *e;

	for (; a < m->helper_arrays + m->nhelper_arrays; a++) {
		if (a->prog_type == prog_type && a->attach_type == attach_type) {
			*ret_fd = a->fd;
			return NULL;
		}
	}
	assert(m->nhelper_arrays < HELPER_ARRAYS); /* there are fewer types of programs */
	*a = (struct helper_array){prog_type, attach_type, -1};
	e = map_create(&s, &a->fd);
	if (e)
		return e;
	m->nhelper_arrays++;
	*ret_fd = a->fd;
	return NULL;
}

/* Sets in cfg where the parts of a MAP_SCRATCH value are, in this order; returns its size. */
static uint32_t scratch_lay_out(struct rt_cfg *cfg, const struct layout *l, bool has_walks)
{
	uint32_t text = ROUND_UP(cfg->strsize, 64) + RT_TEXT_PAD, end;

	cfg->work_off = ROUND_UP(cfg->scratch_size, 64);
	cfg->text_a = cfg->work_off + RT_WORK_SIZE + RT_BLOCK_WORK;
	cfg->text_b = cfg->text_a + text;
	cfg->table_off = cfg->text_b + text;
	end = cfg->table_off + ROUND_UP(4 * (cfg->strsize + 1), 64);
	/* a string may be read up to the end of scratch memory, and another one behind it */
	end = MAX(end, cfg->scratch_size + 2 * cfg->strsize + RT_TEXT_PAD);
	end = MAX(end, 2 * cfg->scratch_size + RT_TEXT_PAD);
	if (has_walks) {
		cfg->walk_off = ROUND_UP(end, 64);
		end = cfg->walk_off + RT_WALK_SIZE;
	}
	if (l->opts.has_helpers) {
		cfg->helper_off = ROUND_UP(end, 64);
		end = cfg->helper_off + RT_HWORK_SIZE;
	}
	if (!l->facts.has_token)
		return end;
	cfg->tok_off = ROUND_UP(end, 64);
	return cfg->tok_off + cfg->scratch_size + 8;
}

/* Makes the map of the session's constants, with the ranges of tracing code behind them. */
static struct err *rodata_create(struct kmaps *m, const struct rt_cfg *cfg,
				 const struct kmaps_opts *opts)
{
	size_t ranges = (size_t)cfg->ntracing * 2 * sizeof(uint64_t);
	/* the kernel refuses an address behind a value's end, even if it is never used */
	size_t size = sizeof(*cfg) + MAX(ranges, sizeof(uint64_t));
	CLEANUP(free) char *value = xcalloc(1, size);

	memcpy(value, cfg, sizeof(*cfg));
	if (ranges)
		memcpy(value + sizeof(*cfg), opts->tracing, ranges);
	return map_create_const("rodata", value, (uint32_t)size, &m->fd[MAP_RODATA]);
}

/* Makes the string table with room to grow, mapped into this process. */
static struct err *strtab_create_open(struct kmaps *m, const struct strtab *t, uint32_t room)
{
	size_t size = ROUND_UP(strtab_size(t) + room, 8);
	struct map_spec s = {BPF_MAP_TYPE_ARRAY, "strtab", 4,
			     (uint32_t)size,	 1,	   .flags = BPF_F_MMAPABLE};
	void *p;
	struct err *e = map_create_mapped(&s, "the string table", &m->fd[MAP_STRTAB], &p);

	if (e)
		return e;
	m->strtab = p;
	m->strtab_size = size;
	(void)kmaps_add_strings(m, t); /* cannot fail: the map has room for them */
	return NULL;
}

bool kmaps_add_strings(struct kmaps *m, const struct strtab *t)
{
	size_t len = strtab_size(t);

	if (len <= m->strtab_len)
		return true;
	if (len > m->strtab_size)
		return false;
	memcpy(m->strtab + m->strtab_len, strtab_data(t) + m->strtab_len, len - m->strtab_len);
	m->strtab_len = len;
	return true;
}

static struct err *memory_create(struct kmaps *m, const struct layout *l,
				 const struct kmaps_opts *opts)
{
	const struct mach *mach = opts->mach;
	struct rt_cfg cfg = {
		.strsize = l->strsize,
		.scratch_size = mach->scratch_size & ~7u,
		.strtab_size = (uint32_t)strtab_size(l->strtab) + opts->strtab_room,
		.gvars_size = l->gvars_size,
		.this_off = mach->this_off,
		.this_size = l->this_size,
		.gvars_text = l->gvars_text,
		.this_text = l->this_text,
		.ncpus = m->ncpus,
		.stack_off = mach->stack_off,
		.stack_stride = mach->stack_stride,
		.stack_nslots = mach->stack_nslots,
		.stack_size = mach->stack_size,
		.ntracing = opts->ntracing,
		.nspec = MAX(l->nspec, 1u),
		.nuses = spec_nuses(l),
		.specsize = l->opts.specsize,
		.mach_size = mach->size,
		.reads = (l->facts.has_blocks ? RT_READS_BLOCKS : 0) |
			 (l->opts.reads_own ? RT_READS_OWN : 0),
		.pidns = opts->pidns,
		.k = opts->ukernel ? *opts->ukernel : (struct rt_ukernel){0},
	};
	/* a string that begins in memory of D's own and has no end there ends in the same value */
	uint32_t behind = l->opts.reads_own ? l->strsize : 0;
	uint32_t scratch_value = scratch_lay_out(&cfg, l, opts->ukernel) + behind;
	uint32_t slots = m->ncpus * RT_LEVELS;
	struct map_spec states = {BPF_MAP_TYPE_ARRAY,
				  "mach",
				  4,
				  RT_MACH_VALUE(&cfg, mach->size) + behind,
				  slots,
				  .flags = 0};
	struct map_spec scratch = {BPF_MAP_TYPE_ARRAY, "scratch", 4,
				   scratch_value,      slots,	  .option = "strsize"};
	struct map_spec gvars = {BPF_MAP_TYPE_ARRAY,
				 "gvars",
				 4,
				 MAX(RT_GVARS_VALUE(&cfg) + (cfg.gvars_size ? behind : 0),
				     mach->slots_end),
				 1,
				 .flags = 0};
	struct err *e;

	cfg.scratch_stride = ROUND_UP(scratch_value, 8u); /* Linux kernel/bpf/arraymap.c */
	/* a predictable seed is better than a failure */
	if (getrandom(&cfg.hash_seed, sizeof(cfg.hash_seed), GRND_NONBLOCK) < 0)
		cfg.hash_seed = (uint64_t)getpid() << 32 ^ (uintptr_t)m;
	e = rodata_create(m, &cfg, opts);
	if (!e)
		e = map_create(&states, &m->fd[MAP_MACH]);
	if (!e)
		e = map_create(&scratch, &m->fd[MAP_SCRATCH]);
	if (!e && gvars.value_size)
		e = map_create(&gvars, &m->fd[MAP_GVARS]);
	if (!e && opts->strtab_room)
		e = strtab_create_open(m, l->strtab, opts->strtab_room);
	else if (!e && cfg.strtab_size)
		e = map_create_const("strtab", strtab_data(l->strtab),
				     (uint32_t)strtab_size(l->strtab), &m->fd[MAP_STRTAB]);
	return e;
}

/* ---- the session's maps ----------------------------------------------------------------- */

static int *fds_create(uint32_t n)
{
	int *fds = xmalloc(MAX(n, 1) * sizeof(int));

	memset(fds, 0xff, MAX(n, 1) * sizeof(int));
	return fds;
}

static uint32_t ring_size_for(uint32_t bufsize)
{
	uint32_t size = (uint32_t)sysconf(_SC_PAGESIZE);

	while (size < bufsize && size < 1u << 31)
		size *= 2;
	return size;
}

struct err *kmaps_create(const struct layout *l, const struct kmaps_opts *opts,
			 struct kmaps **ret_maps)
{
	struct kmaps *m = xcalloc(1, sizeof(*m));
	struct err *e;

	memset(m->fd, 0xff, sizeof(m->fd));
	m->ncpus = l->opts.ncpus;
	m->naggs = l->nagg_maps;
	m->narrs = l->narr_maps;
	m->agg_fds = fds_create(m->naggs);
	m->arr_fds = fds_create(m->narrs);
	m->ring_fds = fds_create(m->ncpus);
	m->spare_fd = -1;
	m->ring_size = ring_size_for(opts->bufsize);
	m->stack_size = opts->mach->stack_size;

	e = control_create(m);
	if (!e)
		e = spec_create(m, l);
	if (!e)
		e = memory_create(m, l, opts);
	if (!e)
		e = rings_create(m);
	if (!e && opts->need_tls && l->tls_size)
		e = tls_create(m, l);
	if (!e)
		e = strings_create(m, l);
	if (!e)
		e = stacks_create(m, l);
	if (!e)
		e = unwind_create(m, opts);
	if (!e)
		e = helpers_create(m, l);
	if (!e)
		e = aggs_create(m, l);
	if (!e)
		e = live_create(m, l);
	if (!e)
		e = arrays_create(m, l);
	if (e) {
		kmaps_destroy(m);
		return e;
	}
	*ret_maps = m;
	return NULL;
}

static void fds_close(int *fds, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

void kmaps_destroy(struct kmaps *m)
{
	if (!m)
		return;
	if (m->control) {
		quota_watch(NULL, NULL, 0, 0);
		(void)munmap(m->control, m->control_size); /* fails for a wrong address only */
	}
	if (m->strtab)
		(void)munmap(m->strtab, m->strtab_size);
	if (m->spec)
		(void)munmap(m->spec, m->spec_size);
	if (m->hcode)
		(void)munmap(m->hcode, RT_HCODE * sizeof(uint64_t));
	alarm_destroy(&m->alarm);
	fds_close(m->fd, MAP_NCLASSES);
	fds_close(m->agg_fds, m->naggs);
	fds_close(m->arr_fds, m->narrs);
	fds_close(m->ring_fds, m->ncpus);
	fds_close(&m->spare_fd, 1);
	for (uint32_t i = 0; i < m->nhelper_arrays; i++)
		close(m->helper_arrays[i].fd);
	free(m->agg_fds);
	free(m->arr_fds);
	free(m->ring_fds);
	free(m);
}

struct err *kmaps_link_code(const struct kmaps *m, const struct bpf_code *code,
			    const struct own_maps *own, struct linked *ret)
{
	const struct link_maps maps = {
		.fds = m->fd,
		.agg_fds = m->agg_fds,
		.arr_fds = m->arr_fds,
		.naggs = m->naggs,
		.narrs = m->narrs,
		.ring_fds = m->ring_fds,
		.ncpus = m->ncpus,
		.spare_fd = m->spare_fd,
		.own = own ? *own : (struct own_maps){-1, -1, -1},
	};

	return link_code(code, &maps, ret);
}
