/* SPDX-License-Identifier: MIT */
/* Chooses and opens the engines, with buffers for which there is memory. */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "kernel/quota.h"
#include "session/live/live.h"

#define RING_BUFSIZE ((uint64_t)4 << 20) /* policy ring: least size of the kernel's buffers */

static struct err *check_bufsize(const struct live *live, uint64_t bufsize)
{
	for (uint32_t i = 0; i < live->match->layout->nclauses; i++) {
		const struct clause_layout *cl = &live->match->layout->clauses[i];

		if (clause_counts(&live->match->clauses.data[i]) && cl->max_size + 8 > bufsize)
			return err_hint(
				err_code(err_new("Enabling exceeds size of buffer"),
					 EDT_BUFTOOSMALL),
				"a record may need %u bytes: raise bufsize (-b) or lower strsize",
				cl->max_size + 8);
	}
	return NULL;
}

static bool is_out_of_memory(const struct err *e)
{
	return err_get_sys(e) == ENOMEM || err_get_sys(e) == E2BIG;
}

static bool dumps_code(const struct live *live)
{
	const char *dump = live->opts->str[OPT_dump];
	bool is_listed =
		opt_flag(live->opts, OPT_verbose) && (live->opts->val[OPT_disasm] & DISASM_BPF);

	return is_listed || (dump && strstr(dump, "bpf"));
}

static void engine_debug(void *ctx, const char *msg)
{
	report_debug(ctx, "%s", msg);
}

/* The units of the run for engines_choose(), and the engine of each, which may be NULL yet. */
struct choice {
	const struct unit **units;
	const struct engine **engines;
	uint32_t n;
};

static struct choice choice_create(const struct live *live)
{
	struct choice c = {.n = live->match->units.len};

	c.units = xcalloc(MAX(c.n, 1u), sizeof(*c.units));
	c.engines = xcalloc(MAX(c.n, 1u), sizeof(*c.engines));
	for (uint32_t i = 0; i < c.n; i++) {
		const struct session_unit *u = live->match->units.data[i];

		c.units[i] = &u->unit;
		c.engines[i] = u->engine ? u->engine->engine : NULL;
	}
	return c;
}

static void choice_deinit(struct choice *c)
{
	free(c->units);
	free(c->engines);
}

struct err *live_choose_engine(struct live *live, struct session_unit *u)
{
	const struct engine *opened[ENGINES_MAX + 1];
	struct choice c = choice_create(live);
	struct err *e;

	engines_opened(&live->engines, live->engine_choice, opened);
	e = engines_choose(opened, c.units, c.n, live->match->layout, c.engines);
	for (uint32_t i = 0; i < c.n && !e; i++)
		if (live->match->units.data[i] == u)
			u->engine = engines_find_for(&live->engines, c.engines[i], &u->unit);
	choice_deinit(&c);
	return e;
}

static struct err *engines_try(struct live *live, const struct choice *c, uint64_t bufsize,
			       uint32_t strtab_room)
{
	/* policy ring: the consumer bounds what is kept; these buffers hold unread records only */
	bool is_ring = live->opts->val[OPT_bufpolicy] == BUFPOLICY_RING;
	FILE *dump = live->report->dump;
	struct engine_opts opts = {
		.layout = live->match->layout,
		.units = c->units,
		.nunits = c->n,
		.remains = live->remains.of,
		.inprocs = &live->inprocs,
		.privileges = live->privileges,
		.syms = names_syms(live->names),
		.bufsize = (uint32_t)(is_ring ? MAX(bufsize, RING_BUFSIZE) : bufsize),
		.strtab_room = strtab_room,
		.cpu = live_cpu(live),
		.stops_when_full = live->opts->val[OPT_bufpolicy] == BUFPOLICY_FILL,
		.tables_size = stacks_tables_size(live->stacks),
		.dump = dumps_code(live) ? dump : NULL,
		.log = !opt_flag(live->opts, OPT_bpflog) ? NULL
		       : dump				 ? dump
							 : stderr,
		.debug = report_is_debugging(live->report) ? engine_debug : NULL,
		.ctx = live->report,
	};

	uint64_t before = quota_taken(QUOTA_MEMORY);
	struct err *e = engines_open(&live->engines, live->engine_choice, c->engines, c->n, &opts);

	if (e) /* nothing of it is left */
		quota_give(QUOTA_MEMORY, quota_taken(QUOTA_MEMORY) - before);
	return e;
}

static struct err *bufsize_refused(uint64_t max)
{
	struct strbuf text = {0};
	struct err *e;

	size_add(&text, max);
	e = err_hint(err_sys(ENOMEM, "there is no memory for buffers of this size"),
		     "with bufresize=manual buffers are not lowered; there is room for -b %s",
		     strbuf_text(&text));
	strbuf_deinit(&text);
	return e;
}

/* Halves the buffer size until there is memory for it (option bufresize). */
static struct err *engines_fit(struct live *live, const struct choice *c, uint64_t bufsize,
			       uint32_t strtab_room)
{
	bool is_auto = live->opts->val[OPT_bufresize] == 0;
	struct err *e = engines_try(live, c, bufsize, strtab_room), *small;

	while (e && is_auto && is_out_of_memory(e) && bufsize / 2 >= BUFSIZE_LEAST) {
		bufsize /= 2;
		small = check_bufsize(live, bufsize);
		if (!small)
			small = engines_try(live, c, bufsize, strtab_room);
		if (small && !is_out_of_memory(small)) {
			err_destroy(small); /* the first error says more */
			return e;
		}
		err_destroy(e);
		e = small;
	}
	live->bufsize = bufsize;
	return e;
}

static struct err *engines_fitted(struct live *live, uint32_t strtab_room)
{
	uint64_t asked = (uint64_t)live->opts->val[OPT_bufsize], bufsize = asked,
		 max = live_bufsize_max();
	struct choice c = choice_create(live);
	struct err *e =
		engines_choose(live->engine_choice, c.units, c.n, live->match->layout, c.engines);

	if (!e)
		e = check_bufsize(live, bufsize);
	if (!e && bufsize > max && live->opts->val[OPT_bufresize] != 0)
		e = bufsize_refused(max);
	while (bufsize > max)
		bufsize /= 2;
	if (!e)
		e = check_bufsize(live, bufsize);
	if (!e)
		e = engines_fit(live, &c, bufsize, strtab_room);
	if (!e) {
		for (uint32_t i = 0; i < c.n; i++)
			live->match->units.data[i]->engine =
				engines_find_for(&live->engines, c.engines[i], c.units[i]);
		if (live->bufsize < asked)
			live_tell_size(live, "buffer size", live->bufsize);
	}
	choice_deinit(&c);
	return e;
}

static int64_t wall_offset(void)
{
	struct timespec wall;
	uint64_t before = now_ns();

	(void)clock_gettime(CLOCK_REALTIME, &wall); /* cannot fail */
	return wall.tv_sec * 1000000000LL + wall.tv_nsec - (int64_t)((before + now_ns()) / 2);
}

static struct err *check_cpu(const struct live *live)
{
	int cpu = live_cpu(live);

	if (cpu < 0 || engines_has_cpu(&live->engines, (uint32_t)cpu))
		return NULL;
	return err_code(err_new("CPU %d is not there (option 'cpu')", cpu), EDT_BADOPTVAL);
}

struct err *live_open(struct live *live, uint32_t strtab_room)
{
	struct err *e = engines_fitted(live, strtab_room);

	if (!e)
		e = check_cpu(live);
	if (e)
		return e;
	live->engines.control->wall_offset = wall_offset();
	live->engines.control->tracer_pid = getpid();
	return NULL;
}
