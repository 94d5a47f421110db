/* SPDX-License-Identifier: MIT */
/* Says in the end what became of the processes that were entered (option inproc). */
#include <inttypes.h>

#include "base/text.h"
#include "inproc/inproc.h"
#include "patch/patch.h"
#include "session/live/live.h"
#include "session/live/sites.h"

static void left_out_tell(const struct live *live, const struct inproc *p)
{
	uint32_t n = inproc_nleft_out(p);

	if (n)
		report_adjusted(live->report,
				"%" PRIu32 " place%s of process %d %s not probed, or not all the "
				"time: %s could not be written",
				n, PLURAL(n), (int)inproc_pid(p), WORD_FOR(n, "was", "were"),
				WORD_FOR(n, "its jump", "their jumps"));
}

/* Says how many children were probed in which way. */
static void children_tell(const struct live *live, const struct inproc *p)
{
	struct inproc_children n = inproc_children_of(p);

	if (!n.nfollowed && !n.nfreed)
		return;
	report_adjusted(live->report,
			"%" PRIu64
			" child%s of process %d %s probed in the process itself, %" PRIu64
			" by uprobes%s%s%s",
			n.nfollowed, WORD_FOR(n.nfollowed, "", "ren"), (int)inproc_pid(p),
			WORD_FOR(n.nfollowed, "was", "were"), n.nfreed,
			n.why ? " (the first one: " : "", n.why ? n.why : "", n.why ? ")" : "");
}

static void alive_left_out_tell(const struct live *live, const struct inproc *p)
{
	uint64_t n = inproc_nbad_lives(p);

	if (n)
		report_adjusted(live->report,
				"%" PRIu64 " entr%s of live() in process %d %s of no row, and %s "
				"not count: it has changed its table itself",
				n, WORD_FOR(n, "y", "ies"), (int)inproc_pid(p),
				WORD_FOR(n, "is", "are"), WORD_FOR(n, "does", "do"));
}

/* Says which jumps could not be taken back, and who has them. */
static void left_tell(const struct live *live, const struct inproc *p)
{
	const struct patch_left *left = inproc_left(p);
	struct strbuf pids = {0};

	if (left->nwindows)
		report_adjusted(live->report,
				"%" PRIu32 " jump%s in process %d, without effect: its threads "
				"do not stop, another tracer holds them, or another process has "
				"the same memory; the next dtrace of it takes %s back",
				left->nwindows, WORD_FOR(left->nwindows, " stays", "s stay"),
				(int)inproc_pid(p), WORD_FOR(left->nwindows, "it", "them"));
	for (uint32_t i = 0; i < MIN(left->nchildren, (uint32_t)PATCH_LEFT_MAX); i++)
		strbuf_addf(&pids, "%s%d", i ? ", " : "", (int)left->children[i]);
	if (left->nchildren)
		report_adjusted(live->report,
				"%" PRIu32 " child%s of process %d %s jumps of it, without effect, "
				"because %s memory: %s%s; the next dtrace of each takes them back",
				left->nchildren, WORD_FOR(left->nchildren, "", "ren"),
				(int)inproc_pid(p), WORD_FOR(left->nchildren, "keeps", "keep"),
				WORD_FOR(left->nchildren, "it could not be stopped, or shares its",
					 "they could not be stopped, or share their"),
				strbuf_text(&pids),
				left->nchildren > PATCH_LEFT_MAX ? " and others" : "");
	strbuf_deinit(&pids);
}

void live_tell_inproc_left(const struct live *live)
{
	for (uint32_t i = 0; i < live->inprocs.of.len; i++)
		left_tell(live, live->inprocs.of.data[i]);
}

void live_tell_inproc_drops(const struct live *live)
{
	sites_tell(live->sites);
	for (uint32_t i = 0; i < live->inprocs.of.len; i++) {
		if (opt_flag(live->opts, OPT_inprocsum))
			children_tell(live, live->inprocs.of.data[i]);
		left_out_tell(live, live->inprocs.of.data[i]);
		alive_left_out_tell(live, live->inprocs.of.data[i]);
	}
	for (uint32_t i = 0; i < live->inprocs.of.len && live->inprocs.of.len > 1; i++) {
		const struct inproc *p = live->inprocs.of.data[i];
		struct ndata_drops n;

		inproc_drops(p, &n);
		if (n.records + n.aggs + n.vars + n.lives)
			report_adjusted(live->report,
					"of the drops, process %d itself has had %" PRIu64
					" of records, %" PRIu64 " of aggregations, %" PRIu64
					" of variables, %" PRIu64 " of objects of live()",
					(int)inproc_pid(p), n.records, n.aggs, n.vars, n.lives);
	}
}
