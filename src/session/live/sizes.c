/* SPDX-License-Identifier: MIT */
/*
 * Chooses the sizes of maps and buffers (options bufsize, aggsize, dynvarsize), and lays out the
 * data of the clauses with them.
 */
#include <errno.h>
#include <unistd.h>

#include "privilege/privilege.h"
#include "session/live/live.h"

/* the kernel's buffers have a power of two that 32 bits hold */
#define RING_MAX ((uint64_t)1 << 31)

/* ---- memory --------------------------------------------------------------------------------- */

void live_tell_size(struct live *live, const char *what, uint64_t size)
{
	struct strbuf text = {0};

	if (opt_flag(live->opts, OPT_quietresize))
		return;
	size_add(&text, size);
	report_adjusted(live->report, "%s lowered to %s", what, strbuf_text(&text));
	strbuf_deinit(&text);
}

/*
 * Returns how many bytes of memory are available; a very large number when that is unknown.
 */
static uint64_t memory_available(void)
{
	CLEANUP(file) FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kib;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			return (uint64_t)kib << 10;
	return UINT64_MAX;
}

/*
 * Returns the share of each CPU in half of the available memory. The kernel would give more, and
 * would have no memory for other processes then.
 */
static uint64_t memory_share(void)
{
	return memory_available() / 2 / (uint64_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
}

uint64_t live_map_size(struct live *live, enum opt_id id, const char *what)
{
	uint64_t asked = (uint64_t)MAX(live->opts->val[id], 0), size = asked, max = memory_share();

	if (live->opts->val[OPT_bufresize] != 0)
		return asked;
	while (size > MAX(max, BUFSIZE_LEAST))
		size /= 2;
	if (size < asked)
		live_tell_size(live, what, size);
	return size;
}

uint64_t live_bufsize_max(void)
{
	uint64_t share = memory_share();
	uint64_t max = BUFSIZE_LEAST;

	while (2 * max <= MIN(share, RING_MAX))
		max *= 2;
	return max;
}

/* ---- layout --------------------------------------------------------------------------------- */

/*
 * Returns how many bytes print() records: enough for the option, and for values that setopt() will
 * give it, where these are known.
 */
static uint32_t max_printsize(const struct live *live)
{
	int64_t most = live->opts->val[OPT_printsize];

	for (uint32_t i = 0; i < live->match->clauses.len; i++) {
		const struct prog_clause *cl = live->match->clauses.data[i].clause;

		for (uint32_t j = 0; j < cl->nacts; j++) {
			const struct prog_act *act = &cl->acts[j];
			const char *name =
				act->kind == ACT_SETOPT ? difo_is_strconst(act->args[0]) : NULL;
			const char *value =
				name && act->nargs > 1 ? difo_is_strconst(act->args[1]) : NULL;

			if (value && strcmp(name, opt_descs[OPT_printsize].name) == 0)
				most = MAX(most, opt_size_of(OPT_printsize, value));
		}
	}
	return (uint32_t)most;
}

/* The most frames of user stacks that we walk; of a target that stands still, we walk them all. */
static uint32_t max_uframes(const struct live *live)
{
	int64_t opt = live->opts->val[OPT_maxframes];

	if (!live->remains.of)
		return stacks_max_uframes(live->stacks);
	return opt > 0 ? (uint32_t)MIN(opt, PROG_FRAMES_MAX) : PROG_FRAMES_MAX;
}

static void layout_make(struct live *live, uint32_t ncpus, bool has_pids)
{
	const struct prog_vars *vars = dsession_vars(live->compiler->dsession);
	const struct prog_aggs *aggs = dsession_aggs(live->compiler->dsession);
	struct layout_opts opts = {
		.strsize = (uint32_t)live->opts->val[OPT_strsize],
		.aggsize = aggs->len ? live_map_size(live, OPT_aggsize, "aggregation size") : 0,
		.dynvarsize = vars->len
				      ? live_map_size(live, OPT_dynvarsize, "dynamic variable size")
				      : 0,
		.ncpus = ncpus,
		.max_frames = stacks_max_frames(live->stacks),
		.max_uframes = max_uframes(live),
		.nspec = (uint32_t)live->opts->val[OPT_nspec],
		.specsize = (uint64_t)live->opts->val[OPT_specsize],
		.counts_vtime = match_reads(live->match, DIF_VAR_VTIMESTAMP),
		.scratchsize = (uint32_t)live->opts->val[OPT_scratchsize],
		.printsize = max_printsize(live),
		.has_pids = has_pids || match_has_pids(live->match),
		.max_maps = engines_max_maps(live->engine_choice, ncpus),
		.reads_own = privileges_lack(live->privileges, LEVEL_KERNEL),
		.has_helpers = live->remains.of || stacks_has_helpers(live->stacks),
		.livesize = (uint32_t)live->opts->val[OPT_livesize],
		.liveorder = opt_flag(live->opts, OPT_liveorder) && !live->opts->val[OPT_livemin],
	};

	match_make_layout(live->match, vars, aggs, &opts);
}

struct err *live_make_layout(struct live *live, bool has_pids)
{
	uint32_t ncpus = live->remains.of ? 1 : cpus_possible();

	if (!ncpus)
		return err_sys(errno, "cannot count the CPUs");
	layout_make(live, ncpus, has_pids);
	return NULL;
}
