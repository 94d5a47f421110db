/* SPDX-License-Identifier: MIT */
/* Errors that come from outside: text, hint, errno, library code. */
#include "base/err.h"

#include <errno.h>
#include "base/str.h"

struct err {
	struct strbuf text;
	struct strbuf hint;
	int sys, code;
};

struct err *err_new(const char *fmt, ...)
{
	struct err *e = xcalloc(1, sizeof(*e));
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&e->text, fmt, ap);
	va_end(ap);
	return e;
}

/*
 * Hints for errno values whose remedy is always the same; for all others only the caller knows a
 * hint.
 */
static const struct {
	int sys;
	const char *hint;
} remedies[] = {
	{EMFILE, "raise this process's limit of open files (ulimit -n)"},
	{ENFILE, "raise the system's limit of open files (sysctl fs.file-max)"},
};

struct err *err_sys(int sys, const char *fmt, ...)
{
	struct err *e = xcalloc(1, sizeof(*e));
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&e->text, fmt, ap);
	va_end(ap);
	strbuf_addf(&e->text, ": %s", strerror(sys));
	for (uint32_t i = 0; i < ARRAY_LEN(remedies); i++)
		if (remedies[i].sys == sys)
			strbuf_adds(&e->hint, remedies[i].hint);
	e->sys = sys;
	return e;
}

struct err *err_wrap(struct err *e, const char *fmt, ...)
{
	struct strbuf text = {0};
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	strbuf_addf(&text, ": %s", strbuf_text(&e->text));
	strbuf_deinit(&e->text);
	e->text = text;
	return e;
}

struct err *err_hint(struct err *e, const char *fmt, ...)
{
	va_list ap;

	if (e->hint.len)
		return e;
	va_start(ap, fmt);
	strbuf_vaddf(&e->hint, fmt, ap);
	va_end(ap);
	return e;
}

struct err *err_code(struct err *e, int code)
{
	e->code = code;
	return e;
}

const char *err_text(const struct err *e)
{
	return strbuf_text(&e->text);
}

const char *err_get_hint(const struct err *e)
{
	return e->hint.len ? strbuf_text(&e->hint) : NULL;
}

int err_get_sys(const struct err *e)
{
	return e->sys;
}

int err_get_code(const struct err *e)
{
	return e->code;
}

void err_destroy(struct err *e)
{
	if (!e)
		return;
	strbuf_deinit(&e->text);
	strbuf_deinit(&e->hint);
	free(e);
}
