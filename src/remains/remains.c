/* SPDX-License-Identifier: MIT */
/* Makes a session one over what is left of a process: dtrace_core(). */
#include "remains/remains.h"

#include <ctype.h>

#include "base/text.h"
#include "mdb/impl.h"
#include "mdb/lang.h"
#include "session/session.h"

static const struct engine *const engines_of_remains[] = {&engine_remains, NULL};

/* The number of a process; 0: the text is none, so that it names a file. */
static pid_t pid_of(const char *text)
{
	uint64_t n = 0;

	for (const char *p = text; *p; p++) {
		if (!isdigit((unsigned char)*p))
			return 0;
		n = n * 10 + (uint64_t)(*p - '0');
		if (n > INT32_MAX)
			return 0;
	}
	return (pid_t)n;
}

static void error_tell(void *ctx, const char *text)
{
	report_notice(&((dtrace_hdl_t *)ctx)->report, "%s", text);
}

/* No command of the debugger is executed, so nothing is written. */
static bool text_drop(void *ctx, const char *text, size_t len)
{
	(void)ctx, (void)text, (void)len;
	return true;
}

static void remains_close(struct remains *of)
{
	mdb_close(of->m);
	free(of->lack);
	free(of);
}

static void remains_interrupt(struct remains *of)
{
	mdb_interrupt(of->m);
}

static const char *language_get(void *ctx, uint32_t i)
{
	return census_language(((struct remains *)ctx)->m, i);
}

static const char *lack_get(void *ctx)
{
	struct remains *of = ctx;
	struct err *e = lang_missing_err(of->m);

	free(of->lack);
	of->lack = xstrdup(err_text(e));
	err_destroy(e);
	return of->lack;
}

static struct err *remains_set(dtrace_hdl_t *h, const char *target)
{
	struct remains *of = xcalloc(1, sizeof(*of));
	pid_t pid = pid_of(target);
	struct mdb_opts opts = {
		.h = h,
		.core = pid ? NULL : target,
		.pid = pid,
		.is_copy = pid != 0,
		.ctx = h,
		.write = text_drop,
		.error = error_tell,
	};
	struct err *e = mdb_open(&opts, &of->m);

	if (e) {
		free(of);
		return e;
	}
	h->live.engine_choice = engines_of_remains;
	h->live.remains = (struct live_remains){of, remains_close, remains_interrupt};
	h->env.remains = (struct remains_fns){language_get, lack_get, of};
	return NULL;
}

int dtrace_core(dtrace_hdl_t *dtp, const char *target)
{
	struct err *e = session_check_idle(dtp, "dtrace_core()");
	SESSION_CALL(dtp);

	if (!e && (dtp->live.remains.of || dtp->live.is_active || dtp->targets.procs.len))
		e = err_code(err_new("a session is over one core file or process, or over the "
				     "running system"),
			     EDT_ACTIVE);
	if (!e)
		e = remains_set(dtp, target);
	return session_result(dtp, e);
}
