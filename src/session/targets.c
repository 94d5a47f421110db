/* Processes of -c: where they are held (option evaltime). */
#include "proc/control.h"
#include "session/session.h"

static struct err *advance(const dtrace_hdl_t *h, struct proc *p)
{
	return proc_advance(p, (enum proc_when)h->opts.val[OPT_evaltime]);
}

struct err *session_process(void *ctx, pid_t pid)
{
	dtrace_hdl_t *h = ctx;

	for (uint32_t i = 0; i < h->procs.len; i++)
		if (proc_pid(h->procs.data[i]) == pid)
			return advance(h, h->procs.data[i]);
	return NULL;
}

struct err *session_hold_targets(dtrace_hdl_t *h)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < h->procs.len && !e; i++)
		e = advance(h, h->procs.data[i]);
	return e;
}
