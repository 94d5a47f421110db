/* Stacks of a session: how deep they may be, where their names come from. */
#include "session/session.h"
#include "session/proc.h"
#include "sym/sym.h"

/* What the kernel walks at most. */
static uint32_t kernel_max_frames(void)
{
	CLEANUP(file) FILE *f = fopen("/proc/sys/kernel/perf_event_max_stack", "re");
	unsigned int n;

	return f && fscanf(f, "%u", &n) == 1 && n ? n : STACK_FRAMES_DEFAULT;
}

/* The most frames any enabled clause asks for. */
static uint32_t frames_asked(const dtrace_hdl_t *h)
{
	uint32_t max = 0;

	for (uint32_t i = 0; i < h->clauses.len; i++) {
		const struct prog_clause *cl = h->clauses.data[i].clause;

		for (uint32_t j = 0; h->clauses.data[i].n && j < cl->nacts; j++) {
			const struct prog_act *act = &cl->acts[j];

			for (uint32_t k = 0; k < act->nargs; k++)
				if (act->arg_kinds[k] == DATUM_STACK ||
				    act->arg_kinds[k] == DATUM_USTACK)
					max = MAX(max, difo_stack_frames(act->args[k]));
		}
	}
	return max;
}

uint32_t session_max_frames(dtrace_hdl_t *h)
{
	int64_t opt = h->opts.val[OPT_maxframes];
	uint32_t kernel = kernel_max_frames(), asked = frames_asked(h);

	if (opt > 0 && opt < kernel)
		return (uint32_t)opt;
	if (asked > kernel)
		session_adjusted(h,
				 "stacks of %u frames are cut to %u, the limit of this kernel "
				 "(sysctl kernel.perf_event_max_stack raises it)",
				 asked, kernel);
	return kernel;
}

static void notice(void *ctx, const char *msg)
{
	session_notice(ctx, "%s", msg);
}

struct syms *session_syms(dtrace_hdl_t *h)
{
	if (!h->syms) {
		h->syms = syms_create();
		syms_on_notice(h->syms, notice, h);
	}
	return h->syms;
}

void session_see_targets(dtrace_hdl_t *h)
{
	if (!h->syms)
		return;
	syms_tick(h->syms);
	for (uint32_t i = 0; i < h->procs.len; i++)
		syms_see(h->syms, (uint64_t)proc_pid(h->procs.data[i]));
}
