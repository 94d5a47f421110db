/* Errors, handlers and debug messages: see the header. */
#include "session/report.h"

#include <stdarg.h>
#include <string.h>

#include "base/str.h"
#include "base/text.h"
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
 * Messages may name files and functions of others: what a terminal would obey is taken out, but for
 * the ends of lines.
 */
bool report_tell(struct report *r, const struct report_handler *to, const char *text)
{
	CLEANUP(free) char *clean = xstrdup(text);

	text_clean_bytes(clean, strlen(clean), "\n\t", '?');
	return !to->func || to->func(r->hdl, clean, to->arg) == 0;
}

static void notice_give(struct report *r, const char *fmt, va_list ap)
{
	struct strbuf s = {0};

	strbuf_vaddf(&s, fmt, ap);
	strbuf_addc(&s, '\n');
	if (!r->on_notice.func) {
		vec_push(&r->notices, s.data);
		return;
	}
	(void)report_tell(r, &r->on_notice, s.data); /* a notice stops nothing */
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
	return opt_flag(r->opts, OPT_debug) || getenv("DTRACE_DEBUG");
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
