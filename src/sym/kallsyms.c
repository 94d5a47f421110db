/* SPDX-License-Identifier: MIT */
/* Looks up kernel symbols in /proc/kallsyms. */
#include "sym/kallsyms.h"

#include <errno.h>
#include <fcntl.h>

#define CHUNK (64u << 10)

/*
 * Parses a line without its newline, "ffffffff81000000 T name" or "ffffffffc0000000 t
 * name\t[module]"; false if it is the line of another name.
 */
static bool line_parse(const char *line, const char *name, size_t name_len, struct kallsym *ret)
{
	const char *module, *close;
	char *end;

	ret->addr = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
		return false;
	ret->type = end[1];
	if (strncmp(end + 3, name, name_len) != 0)
		return false;
	module = end + 3 + name_len;
	ret->module[0] = '\0';
	if (!*module)
		return true;
	if (module[0] != '\t' || module[1] != '[')
		return false;
	close = strchr(module, ']');
	if (!close || (size_t)(close - module - 2) >= sizeof(ret->module))
		return false;
	memcpy(ret->module, module + 2, (size_t)(close - module - 2));
	ret->module[close - module - 2] = '\0';
	return true;
}

static bool module_fits(const char *module, const char *want)
{
	if (!want)
		return true;
	return strcmp(module, strcmp(want, "vmlinux") == 0 ? "" : want) == 0;
}

struct query {
	const char *module, *name;
	struct kallsym *ret;
};

/* Searches text, which consists of whole lines, for the symbol; may write to text[len]. */
static bool chunk_find(const struct query *q, char *text, size_t len)
{
	size_t name_len = strlen(q->name);
	char *p = text, *end = text + len;

	while (p < end && (p = memmem(p, (size_t)(end - p), q->name, name_len))) {
		char *line = memrchr(text, '\n', (size_t)(p - text)), *eol;
		struct kallsym sym;

		line = line ? line + 1 : text;
		eol = memchr(p, '\n', (size_t)(end - p));
		eol = eol ? eol : end;
		*eol = '\0';
		if (line_parse(line, q->name, name_len, &sym) &&
		    module_fits(sym.module, q->module)) {
			*q->ret = sym;
			return true;
		}
		*eol = '\n';
		p = eol;
	}
	return false;
}

/* True if text has a line of a static variable; a kernel that lists those lists all variables. */
static bool chunk_has_data(const char *text, size_t len)
{
	return memmem(text, len, " d ", 3) || memmem(text, len, " b ", 3);
}

/* Reads the file piece by piece until the symbol is found. */
static struct err *symbol_find(const char *path, const struct query *q, bool *ret_found,
			       bool *ret_has_data)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP(free) char *buf = xmalloc(CHUNK + 1);
	size_t len = 0;
	ssize_t n;

	if (fd < 0)
		return err_sys(errno, "cannot read '%s'", path);
	while (!*ret_found && (n = read(fd, buf + len, CHUNK - len)) != 0) {
		const char *last;
		size_t whole;

		if (n < 0)
			return err_sys(errno, "cannot read '%s'", path);
		len += (size_t)n;
		last = memrchr(buf, '\n', len);
		whole = last ? (size_t)(last - buf) + 1 : len; /* no line has 64 KiB */
		*ret_found = chunk_find(q, buf, whole);
		*ret_has_data = *ret_has_data || chunk_has_data(buf, whole);
		memmove(buf, buf + whole, len - whole);
		len -= whole;
	}
	if (!*ret_found)
		*ret_found = chunk_find(q, buf, len); /* a last line without its newline */
	return NULL;
}

struct err *kallsyms_find(const char *path, const char *module, const char *name, bool *ret_found,
			  struct kallsym *ret, bool *ret_has_data)
{
	struct query q = {module, name, ret};

	*ret_found = *ret_has_data = false;
	return *name ? symbol_find(path, &q, ret_found, ret_has_data) : NULL;
}

void kallsyms_names(const char *path, taddr addr, bool (*func)(void *ctx, const char *name),
		    void *ctx)
{
	CLEANUP(file) FILE *f = fopen(path, "re");
	CLEANUP(free) char *line = NULL;
	size_t size = 0;

	while (f && getline(&line, &size, f) > 0) {
		char *end;

		if (strtoull(line, &end, 16) != addr || end == line || strlen(end) < 4)
			continue;
		end[3 + strcspn(end + 3, "\t\n")] = '\0';
		if (func(ctx, end + 3))
			return;
	}
}
