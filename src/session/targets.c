/* Processes of -c: where they are held (option evaltime). */
#include "proc/control.h"
#include "session/session.h"

/* Where nothing else was asked for: probes of functions want the libraries in place. */
#define WHEN_PROBED PROC_POSTINIT

static struct err *advance(dtrace_hdl_t *h, struct proc *p, enum proc_when otherwise)
{
	int64_t opt = h->opts.val[OPT_evaltime];
	enum proc_when when = opt == OPT_UNSET ? otherwise : (enum proc_when)opt;

	return proc_advance(p, when);
}

struct err *session_process(void *ctx, pid_t pid)
{
	dtrace_hdl_t *h = ctx;

	for (uint32_t i = 0; i < h->procs.len; i++)
		if (proc_pid(h->procs.data[i]) == pid)
			return advance(h, h->procs.data[i], WHEN_PROBED);
	return NULL;
}

struct err *session_hold_targets(dtrace_hdl_t *h)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < h->procs.len && !e; i++)
		e = advance(h, h->procs.data[i], PROC_EXEC);
	return e;
}
