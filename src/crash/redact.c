/* SPDX-License-Identifier: MIT */
/* Leaves secrets out of arguments and environment. */
#include "crash/redact.h"

#include <ctype.h>

#define MASK "***"

/* A name that ends with '*' stands for all that begin so. */
static const char *const harmless[] = {
	"COLUMNS",
	"DISPLAY",
	"EDITOR",
	"ERL_LIBS",
	"GEM_HOME",
	"GEM_PATH",
	"GODEBUG",
	"GOGC",
	"GOMAXPROCS",
	"GOMEMLIMIT",
	"GOTRACEBACK",
	"HOME",
	"HOSTNAME",
	"INVOCATION_ID",
	"JAVA_HOME",
	"JOURNAL_STREAM",
	"LANG",
	"LANGUAGE",
	"LC_*",
	"LD_*",
	"LINES",
	"LOGNAME",
	"LUA_CPATH",
	"LUA_PATH",
	"MALLOC_*",
	"NODE_ENV",
	"NODE_PATH",
	"OLDPWD",
	"OMP_NUM_THREADS",
	"PAGER",
	"PATH",
	"PERL5LIB",
	"PHPRC",
	"PWD",
	"PYTHONHASHSEED",
	"PYTHONHOME",
	"PYTHONPATH",
	"PYTHONUNBUFFERED",
	"RACK_ENV",
	"RAILS_ENV",
	"RUBYLIB",
	"SHELL",
	"SHLVL",
	"SYSTEMD_EXEC_PID",
	"TERM",
	"TMPDIR",
	"TZ",
	"USER",
	"UV_THREADPOOL_SIZE",
	"XDG_RUNTIME_DIR",
};

static const char *const secrets[] = {
	"passw",      "passphrase", "pwd",	  "secret",	 "token",	  "apikey",
	"api-key",    "api_key",    "credential", "private-key", "private_key",	  "privatekey",
	"access-key", "access_key", "accesskey",  "signature",	 "authorization", "cookie",
	"session-id", "session_id", "sessionid",
};

bool redact_is_harmless(const char *name, size_t len)
{
	for (uint32_t i = 0; i < ARRAY_LEN(harmless); i++) {
		size_t n = strlen(harmless[i]);
		bool is_begin = harmless[i][n - 1] == '*';

		n -= is_begin;
		if ((is_begin ? len >= n : len == n) && memcmp(name, harmless[i], n) == 0)
			return true;
	}
	return false;
}

bool redact_is_secret(const char *name, size_t len)
{
	for (size_t at = 0; at < len; at++) {
		for (uint32_t i = 0; i < ARRAY_LEN(secrets); i++) {
			size_t n = strlen(secrets[i]);

			if (len - at >= n && strncasecmp(name + at, secrets[i], n) == 0)
				return true;
		}
	}
	return false;
}

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

/*
 * Adds a text, without the values of "password=..." in it and without the password of
 * "scheme://user:password@host".
 */
static void text_add(struct strbuf *out, const char *text, size_t len)
{
	size_t name = 0; /* where the name that may precede a '=' begins */

	for (size_t i = 0; i < len; i++) {
		if (len - i > 3 && memcmp(text + i, "://", 3) == 0) {
			size_t end = i + 3, at = 0, colon = 0;

			for (; end < len && !strchr("/?# \t\n", text[end]); end++) {
				at = text[end] == '@' ? end : at;
				colon = !colon && text[end] == ':' ? end : colon;
			}
			if (at && colon && colon < at) {
				strbuf_add(out, text + i, colon + 1 - i);
				strbuf_adds(out, MASK);
				i = at - 1;
				name = at;
				continue;
			}
		}
		strbuf_addc(out, text[i]);
		if ((text[i] == '=' || text[i] == ':') && i > name &&
		    redact_is_secret(text + name, i - name)) {
			size_t end = i + 1;

			while (end < len && !strchr("&;, \t\n", text[end]))
				end++;
			if (end > i + 1)
				strbuf_adds(out, MASK);
			i = end - 1;
			name = end;
		} else if (!is_of_name(text[i])) {
			name = i + 1;
		}
	}
}

void redact_arg(struct strbuf *out, const char *arg, size_t len, bool *mask_next)
{
	bool is_option = len && arg[0] == '-';

	if (*mask_next && !is_option) {
		strbuf_adds(out, MASK);
		*mask_next = false;
		return;
	}
	*mask_next = is_option && !memchr(arg, '=', len) && redact_is_secret(arg, len);
	text_add(out, arg, len);
}
