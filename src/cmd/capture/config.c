/* SPDX-License-Identifier: MIT */
/* The configuration file: lines of key=value, which only root can have written. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "cmd/capture/capture.h"

const char *const keep_names[] = {
	[KEEP_NO] = "no",
	[KEEP_STACKS] = "stacks",
	[KEEP_HEAP] = "heap",
	[KEEP_FULL] = "full",
};

/* A number in a range; false: it is none. */
static bool number_read(const char *text, u64 min, u64 max, u64 *ret)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || n < min || n > max)
		return false;
	*ret = n;
	return true;
}

static bool path_read(const char *text, char *ret, size_t size)
{
	size_t len = strlen(text);

	if (len >= size || (len && text[0] != '/'))
		return false;
	memcpy(ret, text, len + 1);
	return true;
}

static bool keep_read(const char *text, enum keep *ret)
{
	for (u32 i = 0; i < ARRAY_LEN(keep_names); i++) {
		if (strcmp(text, keep_names[i]) == 0) {
			*ret = (enum keep)i;
			return true;
		}
	}
	return false;
}

/* False: the value is not one that the key can have. Keys of others are left to them. */
static bool value_take(struct config *c, const char *key, const char *value)
{
	u64 n = 0;

	if (strcmp(key, CRASH_CONF_KEEP) == 0)
		return keep_read(value, &c->keep);
	if (strcmp(key, CRASH_CONF_STORE) == 0)
		return *value && path_read(value, c->store, sizeof(c->store));
	if (strcmp(key, CRASH_CONF_ANALYSER) == 0)
		return path_read(value, c->analyser, sizeof(c->analyser));
	if (strcmp(key, CRASH_CONF_INTO) == 0) {
		c->into_container = *value == '/';
		return *value == '/';
	}
	if (strcmp(key, CRASH_CONF_CHAIN) == 0)
		return path_read(value, c->chain, sizeof(c->chain));
	if (strcmp(key, CRASH_CONF_MAX_WAIT) == 0 && number_read(value, 1, 20000, &n))
		c->max_wait_ns = n * NS_PER_MS;
	else if (strcmp(key, CRASH_CONF_MAX) == 0 && number_read(value, 0, 1ull << 50, &n))
		c->max_bytes = n;
	else if (strcmp(key, CRASH_CONF_CAPTURES) == 0 &&
		 number_read(value, 0, CRASH_COUNT_TIMES, &n))
		c->captures = (u32)n;
	else if (strcmp(key, CRASH_CONF_WINDOW) == 0 && number_read(value, 1, 1u << 30, &n))
		c->window_s = (u32)n;
	else
		return strcmp(key, CRASH_CONF_MAX_WAIT) != 0 && strcmp(key, CRASH_CONF_MAX) != 0 &&
		       strcmp(key, CRASH_CONF_CAPTURES) != 0 && strcmp(key, CRASH_CONF_WINDOW) != 0;
	return true;
}

/* Takes all lines of the text, which is changed; returns the key of the first bad one, or NULL. */
static const char *lines_take(struct config *c, char *text)
{
	const char *bad = NULL;

	for (char *line = text, *next; line; line = next) {
		char *value;

		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		value = strchr(line, '=');
		if (line[0] == '#' || !value)
			continue;
		*value++ = 0;
		if (!value_take(c, line, value) && !bad)
			bad = line;
	}
	return bad;
}

const char *config_read(struct config *c, const char *path)
{
	static char text[16 << 10];
	struct stat st;
	const char *bad;
	ssize_t n;
	int fd;

	*c = (struct config){
		.path = path,
		.keep = KEEP_STACKS,
		.max_wait_ns = CRASH_MAX_WAIT_MS * NS_PER_MS,
		.max_bytes = CRASH_MAX_BYTES,
		.captures = CRASH_CAPTURES,
		.window_s = CRASH_WINDOW_S,
		.analyser = CAPTURE_ANALYSER,
		.store = CRASH_STORE,
	};
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return errno == ENOENT ? NULL : fault("cannot open %s: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & 022)) {
		close(fd);
		return fault("%s is not a file that only root can write: defaults are used", path);
	}
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[MAX(n, 0)] = 0;
	bad = lines_take(c, text);
	return bad ? fault("%s: the value of '%s' is not valid: its default is used", path, bad)
		   : NULL;
}
