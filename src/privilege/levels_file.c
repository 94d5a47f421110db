/* SPDX-License-Identifier: MIT */
/* Reads /etc/fathom/privileges. */
#include "privilege/levels_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/text.h"
#include "privilege/privilege.h"

/* ---- one line -------------------------------------------------------------------------------- */

/* A part of a line, without blanks around it. */
struct part {
	const char *text;
	size_t len;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct part part_trim(const char *text, size_t len)
{
	while (len && is_blank(*text)) {
		text++;
		len--;
	}
	while (len && is_blank(text[len - 1]))
		len--;
	return (struct part){text, len};
}

static bool part_is(struct part p, const char *word)
{
	return p.len == strlen(word) && memcmp(p.text, word, p.len) == 0;
}

/* Copies the part for a message: short, and without control characters. */
static const char *part_shown(struct part p, char buf[64])
{
	(void)snprintf(buf, 64, "%.*s", (int)MIN(p.len, 63), p.text);
	(void)text_clean(buf);
	return buf;
}

/*
 * levels = level { ("," | blank) level }
 */
static struct err *line_levels(struct part p, uint32_t *ret)
{
	uint32_t levels = 0;
	char shown[64];

	while (p.len) {
		size_t len = 0;
		uint32_t level;

		while (len < p.len && !is_blank(p.text[len]) && p.text[len] != ',')
			len++;
		level = level_parse(p.text, len);
		if (!level && len == 0)
			return err_hint(
				err_new("a level is missing before ','"),
				"levels are separated by one comma: dtrace_user, dtrace_proc");
		if (!level)
			return err_hint(err_new("'%s' is no level",
						part_shown((struct part){p.text, len}, shown)),
					"levels are dtrace_user, dtrace_proc, dtrace_kernel and "
					"proc_owner");
		levels |= level;
		p = part_trim(p.text + len, p.len - len);
		if (p.len && *p.text == ',') {
			p = part_trim(p.text + 1, p.len - 1);
			if (!p.len)
				return err_hint(err_new("a level is missing behind ','"),
						"remove the comma at the end of the line");
		}
	}
	if (!levels)
		return err_hint(err_new("no level behind ':'"),
				"remove the line, or name levels: dtrace_user, dtrace_proc");
	if (levels == LEVEL_PROC_OWNER)
		return err_hint(err_new("'proc_owner' allows nothing by itself"),
				"it goes with another level: dtrace_user, proc_owner");
	*ret = levels;
	return NULL;
}

/* The name between the first word and the colon, as a string of its own. */
static struct err *line_name(struct part p, char name[LEVELS_NAME_MAX + 1])
{
	if (!p.len || p.len > LEVELS_NAME_MAX)
		return err_hint(err_new(p.len ? "the name is longer than %d bytes"
					      : "there is no name of at most %d bytes before ':'",
					LEVELS_NAME_MAX),
				"a line is 'user NAME: LEVELS' or 'group NAME: LEVELS'");
	for (size_t i = 0; i < p.len; i++)
		if ((unsigned char)p.text[i] < ' ' || p.text[i] == 0x7f)
			return err_hint(
				err_new("the name has a control character"),
				"the file is plain text, with a line feed behind each line");
	memcpy(name, p.text, p.len);
	name[p.len] = '\0';
	return NULL;
}

/*
 * line = [ ("user" | "group") blank name ":" levels ] [ "#" comment ]
 */
static struct err *line_parse(const char *text, size_t len, const struct levels_asker *asker,
			      uint32_t *ret_levels)
{
	const char *comment = memchr(text, '#', len), *colon;
	struct part p = part_trim(text, comment ? (size_t)(comment - text) : len);
	char name[LEVELS_NAME_MAX + 1], shown[64];
	struct part word = {p.text, 0};
	uint32_t levels = 0;
	struct err *e;
	bool is_user;

	*ret_levels = 0;
	if (!p.len)
		return NULL;
	colon = memchr(p.text, ':', p.len);
	while (word.len < p.len && !is_blank(p.text[word.len]) && p.text[word.len] != ':')
		word.len++;
	is_user = part_is(word, "user");
	if (!is_user && !part_is(word, "group"))
		return err_hint(err_new("'%s' is neither 'user' nor 'group'",
					part_shown(word, shown)),
				"a line is 'user NAME: LEVELS' or 'group NAME: LEVELS'");
	if (!colon)
		return err_hint(err_new("there is no ':' behind the name"),
				"a line is 'user NAME: LEVELS' or 'group NAME: LEVELS'");
	e = line_name(part_trim(p.text + word.len, (size_t)(colon - p.text) - word.len), name);
	if (!e)
		e = line_levels(part_trim(colon + 1, p.len - (size_t)(colon + 1 - p.text)),
				&levels);
	if (e)
		return e;
	if (is_user ? asker->is_user(asker->ctx, name) : asker->is_member(asker->ctx, name))
		*ret_levels = levels;
	return NULL;
}

/* ---- the file -------------------------------------------------------------------------------- */

struct err *levels_parse(const char *text, size_t len, const struct levels_asker *asker,
			 struct levels_found *ret)
{
	struct levels_found found = {0};
	uint32_t number = 0;

	*ret = found;
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t line = end ? (size_t)(end - text) - at : len - at;
		uint32_t levels = 0;
		struct err *e = line_parse(text + at, line, asker, &levels);

		number++;
		if (e)
			return err_wrap(e, "%s:%u", LEVELS_PATH, number);
		if (levels) {
			if (found.nlines < LEVELS_LINES_MAX)
				found.lines[found.nlines] = number;
			found.nlines++;
			found.levels |= levels;
		}
		at += line + 1;
	}
	*ret = found;
	return NULL;
}

/* Whether only root can change the file or folder. */
static bool is_of_root(int fd, mode_t type)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type && st.st_uid == 0 &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static struct err *unsafe_err(const char *what)
{
	return err_hint(err_new("%s must be root's, and nobody else's to change", what),
			"chown root %s; chmod go-w %s", what, what);
}

static struct err *unreadable_err(int sys)
{
	struct err *e = err_sys(sys, "cannot read %s", LEVELS_PATH);

	if (sys == EACCES)
		return err_hint(e, "everybody must be able to read it: chmod a+rx %s; chmod a+r %s",
				LEVELS_FOLDER, LEVELS_PATH);
	if (sys == ELOOP)
		return err_hint(e, "it must be a file, and no symbolic link");
	return e;
}

/* Reads a file that is not longer than it may be; *ret has room for one byte more than that. */
static struct err *file_read(int fd, char *ret, size_t *ret_len)
{
	size_t len = 0;
	ssize_t n;

	while (len <= LEVELS_FILE_MAX &&
	       (n = read(fd, ret + len, LEVELS_FILE_MAX + 1 - len)) != 0) {
		if (n < 0 && errno != EINTR)
			return unreadable_err(errno);
		len += n > 0 ? (size_t)n : 0;
	}
	if (len > LEVELS_FILE_MAX)
		return err_hint(err_new("%s is longer than %d bytes", LEVELS_PATH, LEVELS_FILE_MAX),
				"give levels to groups instead of many users");
	*ret_len = len;
	return NULL;
}

struct err *levels_read(const char *folder, const char *name, const struct levels_asker *asker,
			struct levels_found *ret)
{
	CLEANUP(fd) int dir = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	CLEANUP(free) char *text = NULL;
	CLEANUP(fd) int fd = -1;
	struct err *e;
	size_t len = 0;

	*ret = (struct levels_found){0};
	if (dir < 0)
		return errno == ENOENT ? NULL : unreadable_err(errno);
	if (!is_of_root(dir, S_IFDIR))
		return unsafe_err(LEVELS_FOLDER);
	/* a fifo does not block, and a terminal does not become ours */
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? NULL : unreadable_err(errno);
	if (!is_of_root(fd, S_IFREG))
		return unsafe_err(LEVELS_PATH);
	text = xcalloc(1, LEVELS_FILE_MAX + 1);
	e = file_read(fd, text, &len);
	return e ? e : levels_parse(text, len, asker, ret);
}
