/* SPDX-License-Identifier: MIT */
/* Decides how deep a session's stacks may be, and which walker walks them. */
#include <inttypes.h>
#include <time.h>

#include "session/arrivals.h"
#include "target/control.h"
#include "target/maps.h"
#include "consume/wait.h"
#include "unwind/unwind.h"
#include "helper/ustack.h"
#include "sym/sym.h"
#include "watch/watch.h"

/* Returns the most frames that the kernel walks. */
static uint32_t kernel_max_frames(void)
{
	CLEANUP(file) FILE *f = fopen("/proc/sys/kernel/perf_event_max_stack", "re");
	unsigned int n;

	return f && fscanf(f, "%u", &n) == 1 && n ? n : STACK_FRAMES_DEFAULT;
}

/* Returns the most frames that an enabled clause wants of a stack that the kernel walks. */
static uint32_t frames_asked(const struct run *run)
{
	struct prog_difo at = {0};
	uint32_t most = 0;

	while (prog_each_difo(run->match->used, run->match->nused, &at))
		if (clause_difo_is(&at.in, DATUM_STACK) ||
		    (!run->unwinds_here && clause_difo_is(&at.in, DATUM_USTACK)))
			most = MAX(most, difo_stack_frames(at.in.difo));
	return most;
}

uint32_t run_max_uframes(const struct run *run)
{
	int64_t opt = run->opts->val[OPT_maxframes];

	if (!run->unwinds_here)
		return 0;
	return opt > 0 ? (uint32_t)MIN(opt, PROG_FRAMES_MAX) : PROG_FRAMES_MAX;
}

uint32_t run_max_frames(struct run *run)
{
	int64_t opt = run->opts->val[OPT_maxframes];
	uint32_t kernel = kernel_max_frames(), asked = frames_asked(run);

	if (opt > 0 && opt < kernel)
		return (uint32_t)opt;
	if (asked > kernel)
		report_adjusted(run->report,
				"stacks of %u frames are cut to %u, the limit of this kernel "
				"(sysctl kernel.perf_event_max_stack raises it)",
				asked, kernel);
	return kernel;
}

/* ---- user stacks ---------------------------------------------------------------------------- */

static bool difo_walks(const struct difo *d)
{
	for (uint32_t i = 0; i < d->code_len; i++) {
		uint32_t var = DIF_INSN_INDEX(d->code[i]);

		if (DIF_INSN_OP(d->code[i]) == DIF_OP_LDGS &&
		    (var == DIF_VAR_UCALLER || var == DIF_VAR_USTACKDEPTH))
			return true;
	}
	return false;
}

/* Whether the object, or what is recorded for it, needs a walk of the user stack. */
static bool is_walk(const struct clause_difo *at)
{
	return clause_difo_is(at, DATUM_USTACK) || difo_walks(at->difo);
}

static bool is_user_address(const struct clause_difo *at)
{
	return clause_difo_is(at, DATUM_USTACK) || clause_difo_is(at, DATUM_USYM) ||
	       clause_difo_is(at, DATUM_UMOD) || clause_difo_is(at, DATUM_UADDR);
}

static bool has_room(const struct clause_difo *at)
{
	return clause_difo_is(at, DATUM_USTACK) && difo_stack_strsize(at->difo);
}

/* Whether the enabled clauses have such an object. */
static bool any_difo(const struct run *run, bool (*is)(const struct clause_difo *at))
{
	struct prog_difo at = {0};

	while (prog_each_difo(run->match->used, run->match->nused, &at))
		if (is(&at.in))
			return true;
	return false;
}

void run_plan_walks(struct run *run)
{
	struct err *e;

	run->unwinds_here = false;
	if (!any_difo(run, is_walk) || !feat_has(FEAT_TASK_BTF))
		return;
	e = kfields_walk(&run->ukernel);
	run->unwinds_here = !e;
	if (e)
		report_notice(
			run->report,
			"user stacks are found by frame pointers only, because %s: without them, "
			"frames are missing",
			err_text(e));
	err_destroy(e);
}

bool run_has_user_addresses(const struct run *run)
{
	return any_difo(run, is_user_address);
}

bool run_names_frames(const struct run *run)
{
	return any_difo(run, has_room);
}

struct err *run_check_numbers(const struct run *run)
{
	return run_has_user_addresses(run) ? proc_check_numbers() : NULL;
}

/*
 * The files of a new process are opened within microseconds, before it can end. When very many
 * processes begin, we pause, so that not each of them wakes us several times.
 */
#define NOTES_AT_ONCE 50 /* within NOTE_PAUSE_NS */
#define NOTE_PAUSE_NS 5000000

#define UNWIND_SLICE_NS 5000000 /* time for unwind tables before other work is done */

static bool pause_ns(uint64_t ns)
{
	struct timespec ts = {0, (long)ns};

	return nanosleep(&ts, NULL) == 0;
}

void run_sleep(struct run *run, uint64_t due)
{
	uint64_t since = 0;
	uint32_t n = 0;

	for (uint64_t now = now_ns(); now < due; now = now_ns()) {
		bool more = unwinds_work(run->unwinds, MIN(due, now + UNWIND_SLICE_NS));

		ustacks_work(run->ustacks);
		now = now_ns();
		if (waiter_wait(run->waiter, more || now >= due ? 0 : due - now))
			return;
		watch_drain(run->watch);
		watch_work(run->watch);
		later_work(run);
		if (now - since >= NOTE_PAUSE_NS) {
			since = now;
			n = 0;
		} else if (++n >= NOTES_AT_ONCE && !pause_ns(NOTE_PAUSE_NS)) {
			return; /* a signal */
		}
	}
}
