/* Debug messages of the library: option debug, or DTRACE_DEBUG in the environment. */
#include <stdarg.h>

#include "session/session.h"

bool session_is_debugging(const dtrace_hdl_t *h)
{
	return opt_flag(&h->opts, OPT_debug) || getenv("DTRACE_DEBUG");
}

void session_debug(const dtrace_hdl_t *h, const char *fmt, ...)
{
	va_list ap;

	if (!session_is_debugging(h))
		return;
	(void)fprintf(stderr, "libdtrace DEBUG %llu: ", (unsigned long long)now_ns());
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	(void)fputc('\n', stderr);
}
