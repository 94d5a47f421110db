/* SPDX-License-Identifier: MIT */
/* Keeps the last error, and passes events to the handlers (report.h). */
#include "session/report.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#include "base/base.h"
#include "base/str.h"
#include "base/text.h"
#include "kernel/capabilities.h"
#include "session/options.h"

void report_init(struct report *r, dtrace_hdl_t *hdl, const struct options *opts)
{
	*r = (struct report){.hdl = hdl, .opts = opts};
}

void report_deinit(struct report *r)
{
	for (uint32_t i = 0; i < r->notices.len; i++)
		free(r->notices.data[i]);
	vec_deinit(&r->notices);
	err_destroy(r->last_err);
}

const char *report_code_text(int code)
{
	static const char *const texts[] = {
#define EDT(name, text) [EDT_##name - EDT_FIRST - 1] = text,
#include "dtrace_errors.def"
#undef EDT
	};

	if (code > EDT_FIRST && code < EDT_LAST)
		return texts[code - EDT_FIRST - 1];
	return strerror(code);
}

void report_begin(struct report *r, const char *what, uint64_t total)
{
	struct activity *a = &r->activity;

	atomic_store(&a->what, NULL);
	atomic_store(&a->done, 0);
	atomic_store(&a->total, total);
	atomic_store(&a->since, now_ns());
	atomic_store(&a->what, what);
}

void report_progress(struct report *r, uint64_t done)
{
	atomic_store(&r->activity.done, done);
}

void report_end(struct report *r)
{
	atomic_store(&r->activity.what, NULL);
}

int report_fail(struct report *r, struct err *e)
{
	err_destroy(r->last_err);
	r->last_err = e;
	r->last_errno = err_get_code(e) ? err_get_code(e) : err_get_sys(e);
	if (!r->last_errno)
		r->last_errno = EDT_BPF;
	return -1;
}

/*
 * Returns a copy without characters that a terminal would obey, except newlines, because messages
 * may name files and functions of other users. The caller frees the copy.
 */
static char *message_clean(const char *text)
{
	char *clean = xstrdup(text);

	text_clean_bytes(clean, strlen(clean), "\n\t", '?');
	return clean;
}

bool report_drop(struct report *r, dtrace_dropdata_t *drop)
{
	CLEANUP(free) char *msg = message_clean(drop->dtdda_msg);

	drop->dtdda_handle = r->hdl;
	drop->dtdda_msg = msg;
	return !r->on.drop.func || r->on.drop.func(drop, r->on.drop.arg) == DTRACE_HANDLE_OK;
}

bool report_fault(struct report *r, dtrace_errdata_t *fault)
{
	CLEANUP(free) char *msg = message_clean(fault->dteda_msg);

	fault->dteda_handle = r->hdl;
	fault->dteda_msg = msg;
	return !r->on.err.func || r->on.err.func(fault, r->on.err.arg) == DTRACE_HANDLE_OK;
}

bool report_setopt(struct report *r, dtrace_setoptdata_t *opt)
{
	opt->dtsda_handle = r->hdl;
	return !r->on.setopt.func || r->on.setopt.func(opt, r->on.setopt.arg) == DTRACE_HANDLE_OK;
}

void report_proc(struct report *r, pid_t pid, const char *msg)
{
	CLEANUP(free) char *clean = message_clean(msg);

	if (r->on.proc.func) /* tracing goes on in any case */
		(void)r->on.proc.func(r->hdl, pid, clean, r->on.proc.arg);
}

static void notice_hand_over(struct report *r, const char *msg)
{
	CLEANUP(free) char *clean = message_clean(msg);

	(void)r->on.notice.func(r->hdl, clean, r->on.notice.arg); /* a notice stops nothing */
}

void report_on_notice(struct report *r, dtrace_handle_notice_f *func, void *arg)
{
	r->on.notice.func = func;
	r->on.notice.arg = arg;
	for (uint32_t i = 0; i < r->notices.len; i++) {
		if (func)
			notice_hand_over(r, r->notices.data[i]);
		free(r->notices.data[i]);
	}
	vec_clear(&r->notices);
}

static void notice_give(struct report *r, const char *fmt, va_list ap)
{
	struct strbuf s = {0};

	strbuf_vaddf(&s, fmt, ap);
	strbuf_addc(&s, '\n');
	if (!r->on.notice.func) {
		vec_push(&r->notices, s.data);
		return;
	}
	notice_hand_over(r, s.data);
	strbuf_deinit(&s);
}

void report_notice(struct report *r, const char *fmt, ...)
{
	va_list ap;

	if (opt_flag(r->opts, OPT_quiet))
		return;
	va_start(ap, fmt);
	notice_give(r, fmt, ap);
	va_end(ap);
}

void report_adjusted(struct report *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	notice_give(r, fmt, ap);
	va_end(ap);
}

bool report_is_debugging(const struct report *r)
{
	return opt_flag(r->opts, OPT_debug) || trusted_getenv("DTRACE_DEBUG") != NULL;
}

void report_debug(const struct report *r, const char *fmt, ...)
{
	va_list ap;

	if (!report_is_debugging(r))
		return;
	(void)fprintf(stderr, "libdtrace DEBUG %llu: ", (unsigned long long)now_ns());
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
}
