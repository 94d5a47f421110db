/* SPDX-License-Identifier: MIT */
/* The data part as the tracer sees it: its beginning, reading and writing, state, counters. */
#include "native/data_impl.h"

#include <errno.h>
#include <sys/random.h>

/* ---- reading and writing --------------------------------------------------------------------- */

static struct err *memory_gone(ssize_t n, bool is_read)
{
	if (n < 0)
		return err_sys(errno, "cannot %s the memory that is shared with the process",
			       is_read ? "read" : "write");
	return err_new("the memory that is shared with the process was cut off");
}

struct err *ndata_read(const struct ndata *d, uint64_t off, void *buf, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n =
			pread(d->fd, (char *)buf + done, len - done, (off_t)(d->off + off + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return memory_gone(n, true);
		done += (size_t)n;
	}
	return NULL;
}

struct err *ndata_write(const struct ndata *d, uint64_t off, const void *buf, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(d->fd, (const char *)buf + done, len - done,
				   (off_t)(d->off + off + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return memory_gone(n, false);
		done += (size_t)n;
	}
	return NULL;
}

struct err *ndata_write_byte(const struct ndata *d, uint64_t off, uint8_t byte)
{
	return ndata_write(d, off, &byte, 1);
}

struct err *ndata_samples_end(const struct ndata *d)
{
	static const uint8_t many = BLOB_PAGE_MANY;
	uint64_t at = d->plan->samples_off;
	struct err *e = NULL;

	/* single bytes: addresses are counted meanwhile */
	for (uint32_t i = 0; i < BLOB_SAMPLE_PAGES && !e; i++)
		e = ndata_write_byte(d, at + offsetof(struct blob_samples, pages) + i, many);
	return e ? e : ndata_write_byte(d, at + offsetof(struct blob_samples, is_full), 1);
}

uint64_t ndata_skip_holes(const struct ndata *d, uint64_t off, uint64_t end)
{
	off_t at = lseek(d->fd, (off_t)(d->off + off), SEEK_DATA);

	if (at < 0)
		return errno == ENXIO ? end : off;
	return MIN((uint64_t)at - d->off, end);
}

struct err *ndata_read_cpus(struct ndata *d)
{
	return ndata_read(d, d->plan->cpus_off, d->cpus, d->plan->ncpus * sizeof(*d->cpus));
}

#define FINAL_NS 2000000

/* ---- beginning and end ----------------------------------------------------------------------- */

struct err *ndata_create(const struct blob_plan *plan, const struct layout *layout, uint8_t *map,
			 int fd, uint64_t off, const struct ndata_hooks *hooks, struct ndata **ret)
{
	struct blob_data *head = (struct blob_data *)(void *)map;
	struct ndata *d;
	uint64_t cookie;

	if (getrandom(&cookie, sizeof(cookie), 0) != sizeof(cookie))
		return err_sys(errno, "cannot get a random number");
	d = xcalloc(1, sizeof(*d));
	*d = (struct ndata){.plan = plan, .layout = layout, .fd = fd, .off = off, .cookie = cookie};
	d->grace_ns = NDATA_GRACE_NS;
	d->final_ns = FINAL_NS;
	if (hooks)
		d->hooks = *hooks;
	d->cpus = xcalloc(plan->ncpus, sizeof(*d->cpus));
	d->counted = xcalloc(plan->ncpus, sizeof(*d->counted));
	d->lost = xcalloc(plan->ncpus, sizeof(*d->lost));
	rings_init(d);
	maps_init(d);
	lives_init(d);
	counters_init(d);
	head->state = RT_STATE_OFF;
	head->order = now_ns();
	clock_init(d);
	head->magic = BLOB_MAGIC;
	*ret = d;
	return NULL;
}

struct blob_conf *ndata_conf(const struct ndata *d, size_t *ret_size)
{
	const struct blob_plan *p = d->plan;
	size_t size = sizeof(struct blob_conf) + p->ntables * sizeof(*p->tables);
	struct blob_conf *c = xcalloc(1, size);

	*c = (struct blob_conf){
		.cookie = d->cookie,
		.pid = d->hooks.pid,
		.ncpus = p->ncpus,
		.threads = p->nagg + p->narr,
		.cpus_off = p->cpus_off,
		.rings_off = p->rings_off,
		.ring_size = p->ring_size,
		.samples_off = p->samples_off,
		.live_off = p->live_off,
		.live_mask = p->live_slots ? p->live_slots - 1 : 0,
		.own_off = p->own_off,
		.own_shift = p->own_slots ? 64u - (uint32_t)__builtin_ctz(p->own_slots) : 0,
		.frames = p->frames,
	};
	memcpy(c->tables, p->tables, p->ntables * sizeof(*p->tables));
	*ret_size = size;
	return c;
}

void ndata_destroy(struct ndata *d)
{
	if (!d)
		return;
	rings_deinit(d);
	maps_deinit(d);
	lives_deinit(d);
	counters_deinit(d);
	vec_deinit(&d->kin);
	free(d->cpus);
	free(d->counted);
	free(d->lost);
	free(d);
}

struct err *ndata_set_state(struct ndata *d, uint32_t state)
{
	struct err *e = NULL;

	if (state == RT_STATE_ON && !d->clock.mult && !d->hooks.has_no_clock)
		e = clock_start(d);
	return e ? e : ndata_write_byte(d, offsetof(struct blob_data, state), (uint8_t)state);
}

struct err *ndata_state(struct ndata *d, uint32_t *ret_state)
{
	uint8_t state;
	struct err *e = ndata_read(d, offsetof(struct blob_data, state), &state, sizeof(state));

	if (!e)
		*ret_state = state <= RT_STATE_EXITING ? state : RT_STATE_OFF;
	return e;
}

/* ---- counters -------------------------------------------------------------------------------- */

/* What a counter has grown by; one that has shrunk was overwritten. */
static uint64_t counter_growth(uint64_t now, uint64_t *before)
{
	uint64_t n = now > *before ? now - *before : 0;

	*before = now;
	return n;
}

static void counter_add(uint64_t *to, uint64_t n, uint64_t *own)
{
	*own += n;
	if (n)
		(void)__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

struct err *ndata_member_count(struct ndata *d, struct rt_control *control, struct ndata_drops *own)
{
	struct err *e = ndata_read_cpus(d);

	for (uint32_t i = 0; !e && i < MIN(d->plan->ncpus, control->ncpus); i++) {
		struct blob_cpu *now = &d->cpus[i], *before = &d->counted[i];
		struct rt_cpu *to = &control->cpu[i];

		counter_add(&to->drops, counter_growth(now->drops, &before->drops) + d->lost[i],
			    &own->records);
		counter_add(&to->agg_drops, counter_growth(now->agg_drops, &before->agg_drops),
			    &own->aggs);
		counter_add(&to->dyn_drops, counter_growth(now->dyn_drops, &before->dyn_drops),
			    &own->vars);
		counter_add(&to->live_drops, counter_growth(now->live_drops, &before->live_drops),
			    &own->lives);
		d->lost[i] = 0;
	}
	return e;
}

struct err *ndata_count(struct ndata *d, struct rt_control *control)
{
	struct err *e = NULL;
	struct ndata *x;

	for (uint32_t i = 0; !e && (x = ndata_member(d, i)); i++)
		e = ndata_member_err(d, x, ndata_member_count(x, control, &d->dropped));
	return e;
}

struct ndata_drops ndata_dropped(const struct ndata *d)
{
	return d->dropped;
}

uint64_t ndata_nbad(const struct ndata *d)
{
	return d->nbad;
}

/* ---- threads --------------------------------------------------------------------------------- */

#define SWEEP_BYTES (64u << 10)

/* Nobody else uses the block of a thread that has ended. */
static struct err *thread_free(struct ndata *d, const struct blob_table *t, uint64_t slot)
{
	CLEANUP(free) uint8_t *zero = xcalloc(1, t->val_size);
	struct err *e = ndata_write(d, slot + t->val_off, zero, t->val_size);

	return e ? e : ndata_write_byte(d, slot + BLOB_SLOT_SHIFT / 8, BLOB_THREAD_FREE);
}

struct err *ndata_sweep(struct ndata *d)
{
	const struct blob_table *t = &d->plan->tables[d->plan->nagg + d->plan->narr];
	uint32_t step = MAX(SWEEP_BYTES / MAX(t->slot_size, 1u), 1u);
	CLEANUP(free) uint8_t *buf = xmalloc((size_t)step * MAX(t->slot_size, 1u));
	struct err *e = NULL;

	for (uint32_t i = 0; i < t->slots && !e; i += step) {
		uint32_t n = MIN(step, t->slots - i);
		uint64_t at = t->off + (uint64_t)i * t->slot_size;

		if (ndata_skip_holes(d, at, at + n * t->slot_size) == at + n * t->slot_size)
			continue;
		e = ndata_read(d, at, buf, (size_t)n * t->slot_size);
		for (uint32_t k = 0; k < n && !e; k++) {
			uint64_t word;

			memcpy(&word, buf + (size_t)k * t->slot_size, sizeof(word));
			if (word >> BLOB_SLOT_SHIFT != BLOB_THREAD_FREE && ndata_is_dead(d, word))
				e = thread_free(d, t, at + (uint64_t)k * t->slot_size);
		}
	}
	return e;
}
