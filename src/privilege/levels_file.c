/* SPDX-License-Identifier: MIT */
/* Reads /etc/fathom/privileges. */
#include "privilege/levels_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/text.h"
#include "privilege/privilege.h"

#define LINE_FORM "a line is 'user NAME: LEVELS', 'group NAME: LEVELS' or 'default: QUOTAS'"

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

/* ---- quotas ---------------------------------------------------------------------------------- */

/* Who a line is about: what a higher one says of a quota counts more. */
enum line_rank { RANK_NONE, RANK_DEFAULT, RANK_GROUP, RANK_USER };

/* What a line says. */
struct line {
	uint32_t levels;
	uint64_t quotas[QUOTA_NKINDS]; /* 0: nothing about this one */
	enum line_rank rank;	       /* RANK_NONE: it is not about the user who asks */
};

/* Digits at the beginning of the part, which are taken away from it; false: there are none. */
static bool number_take(struct part *p, uint64_t *ret)
{
	size_t len = 0;

	*ret = 0;
	for (; len < p->len && p->text[len] >= '0' && p->text[len] <= '9'; len++)
		*ret = MIN(*ret * 10 + (uint64_t)(p->text[len] - '0'), UINT64_MAX / 100);
	*p = (struct part){p->text + len, p->len - len};
	return len > 0;
}

/* N [ "." N [ N ] ] "%", in 1/100 %. */
static bool percent_parse(struct part p, uint64_t *ret)
{
	uint64_t fraction = 0;

	if (!number_take(&p, ret))
		return false;
	*ret = MIN(*ret, QUOTA_CPU_MAX + 1) * 100;
	if (p.len && *p.text == '.') {
		size_t before = --p.len;

		p.text++;
		if (before > 3 || !number_take(&p, &fraction))
			return false;
		*ret += before - p.len == 1 ? fraction * 10 : fraction;
	}
	return part_is(p, "%");
}

/* N ("m" | "g"), in bytes. */
static bool memory_parse(struct part p, uint64_t *ret)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} units[] = {{"m", 1 << 20}, {"g", 1 << 30}, {"M", 1 << 20}, {"G", 1 << 30}};

	if (!number_take(&p, ret))
		return false;
	for (uint32_t i = 0; i < ARRAY_LEN(units); i++)
		if (part_is(p, units[i].text)) {
			*ret = MIN(*ret, QUOTA_MEMORY_MAX) * units[i].bytes;
			return true;
		}
	return false;
}

static struct err *quota_parse(enum quota_kind kind, struct part value, uint64_t *ret)
{
	static const struct {
		uint64_t max;
		const char *is; /* for messages */
	} kinds[QUOTA_NKINDS] = {
		[QUOTA_SESSIONS] = {QUOTA_SESSIONS_MAX, "a number from 1 to 9999"},
		[QUOTA_MEMORY] = {QUOTA_MEMORY_MAX, "a size from 1m to 999999m: 64m, 2g"},
		[QUOTA_PROBES] = {QUOTA_PROBES_MAX, "a number from 1 to 999999"},
		[QUOTA_CPU] = {QUOTA_CPU_MAX, "a part of a CPU from 0.01% to 100%: 5%, 2.5%"},
	};
	struct part p = value;
	bool is_good;
	char shown[64];

	if (kind == QUOTA_MEMORY)
		is_good = memory_parse(p, ret);
	else if (kind == QUOTA_CPU)
		is_good = percent_parse(p, ret);
	else
		is_good = number_take(&p, ret) && !p.len;
	if (is_good && *ret && *ret <= kinds[kind].max)
		return NULL;
	return err_hint(err_new("'%s=%s' is no quota", quota_word(kind), part_shown(value, shown)),
			"%s is %s", quota_word(kind), kinds[kind].is);
}

/* word: NAME "=" VALUE, with the equals sign at `at`. */
static struct err *line_quota(struct part word, size_t at, struct line *line)
{
	const struct part name = {word.text, at}, value = {word.text + at + 1, word.len - at - 1};
	char shown[64];

	for (uint32_t i = 0; i < QUOTA_NKINDS; i++) {
		if (!part_is(name, quota_word((enum quota_kind)i)))
			continue;
		if (line->quotas[i])
			return err_hint(err_new("'%s' is there twice", quota_word(i)),
					"a line says each quota once");
		return quota_parse((enum quota_kind)i, value, &line->quotas[i]);
	}
	return err_hint(err_new("'%s' is no quota", part_shown(name, shown)),
			"quotas are sessions=N, memory=SIZE, probes=N and cpu=N%%");
}

/* ---- levels ---------------------------------------------------------------------------------- */

static struct err *line_word(struct part word, struct line *line)
{
	const char *equals = memchr(word.text, '=', word.len);
	uint32_t level;
	char shown[64];

	if (equals)
		return line_quota(word, (size_t)(equals - word.text), line);
	level = level_parse(word.text, word.len);
	if (level && line->rank == RANK_DEFAULT)
		return err_hint(err_new("'%s' behind 'default'", level_word(level)),
				"'default' has quotas only; levels are given to users and groups");
	if (!level)
		return err_hint(err_new("'%s' is no level", part_shown(word, shown)),
				"levels are dtrace_user, dtrace_proc, dtrace_kernel and "
				"proc_owner");
	line->levels |= level;
	return NULL;
}

static bool line_is_empty(const struct line *line)
{
	uint64_t any = line->levels;

	for (uint32_t i = 0; i < QUOTA_NKINDS; i++)
		any |= line->quotas[i];
	return !any;
}

/*
 * words = word { ("," | blank) word }        word = level | quota
 */
static struct err *line_words(struct part p, struct line *line)
{
	while (p.len) {
		size_t len = 0;
		struct err *e;

		while (len < p.len && !is_blank(p.text[len]) && p.text[len] != ',')
			len++;
		e = len ? line_word((struct part){p.text, len}, line)
			: err_hint(err_new("a level is missing before ','"),
				   "levels are separated by one comma: dtrace_user, dtrace_proc");
		if (e)
			return e;
		p = part_trim(p.text + len, p.len - len);
		if (p.len && *p.text == ',') {
			p = part_trim(p.text + 1, p.len - 1);
			if (!p.len)
				return err_hint(err_new("a level is missing behind ','"),
						"remove the comma at the end of the line");
		}
	}
	if (line_is_empty(line))
		return err_hint(err_new("no level behind ':'"),
				"remove the line, or name levels: dtrace_user, dtrace_proc");
	if (line->levels == LEVEL_PROC_OWNER)
		return err_hint(err_new("'proc_owner' allows nothing by itself"),
				"it goes with another level: dtrace_user, proc_owner");
	if (line->levels & LEVEL_KERNEL) /* who may read the kernel sees what the others show */
		line->levels |= LEVEL_USER | LEVEL_PROC;
	return NULL;
}

/* The name between the first word and the colon, as a string of its own. */
static struct err *line_name(struct part p, char name[LEVELS_NAME_MAX + 1])
{
	if (!p.len || p.len > LEVELS_NAME_MAX)
		return err_hint(err_new(p.len ? "the name is longer than %d bytes"
					      : "there is no name of at most %d bytes before ':'",
					LEVELS_NAME_MAX),
				LINE_FORM);
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
 * line = [ (("user" | "group") blank name | "default") ":" words ] [ "#" comment ]
 */
static struct err *line_parse(const char *text, size_t len, const struct levels_asker *asker,
			      struct line *ret)
{
	const char *comment = memchr(text, '#', len), *colon;
	struct part p = part_trim(text, comment ? (size_t)(comment - text) : len), rest;
	char name[LEVELS_NAME_MAX + 1], shown[64];
	struct part word = {p.text, 0};
	bool is_user, is_default;
	struct err *e = NULL;

	*ret = (struct line){0};
	if (!p.len)
		return NULL;
	colon = memchr(p.text, ':', p.len);
	while (word.len < p.len && !is_blank(p.text[word.len]) && p.text[word.len] != ':')
		word.len++;
	is_user = part_is(word, "user");
	is_default = part_is(word, "default");
	if (!is_user && !is_default && !part_is(word, "group"))
		return err_hint(err_new("'%s' is neither 'user' nor 'group'",
					part_shown(word, shown)),
				LINE_FORM);
	if (!colon)
		return err_hint(err_new("there is no ':' behind the name"), LINE_FORM);
	rest = part_trim(p.text + word.len, (size_t)(colon - p.text) - word.len);
	if (is_default && rest.len)
		return err_hint(err_new("'%s' behind 'default'", part_shown(rest, shown)),
				"'default' has no name: it is about all users with levels");
	if (is_default)
		ret->rank = RANK_DEFAULT;
	else
		e = line_name(rest, name);
	if (!e)
		e = line_words(part_trim(colon + 1, p.len - (size_t)(colon + 1 - p.text)), ret);
	if (e || is_default)
		return e;
	if (is_user ? asker->is_user(asker->ctx, name) : asker->is_member(asker->ctx, name))
		ret->rank = is_user ? RANK_USER : RANK_GROUP;
	return NULL;
}

/* Adds what a line says about the user; ranks: of the lines that have said a quota so far. */
static void line_add(const struct line *line, uint32_t number, struct levels_found *found,
		     enum line_rank ranks[QUOTA_NKINDS])
{
	if (line->rank == RANK_NONE)
		return;
	if (line->levels) {
		if (found->nlines < LEVELS_LINES_MAX)
			found->lines[found->nlines] = number;
		found->nlines++;
		found->levels |= line->levels;
	}
	for (uint32_t i = 0; i < QUOTA_NKINDS; i++) {
		if (!line->quotas[i] || line->rank < ranks[i] ||
		    (line->rank == ranks[i] && line->quotas[i] <= found->quotas[i].max))
			continue;
		ranks[i] = line->rank;
		found->quotas[i] = (struct quota){line->quotas[i], number};
	}
}

/* ---- the file -------------------------------------------------------------------------------- */

struct err *levels_parse(const char *text, size_t len, const struct levels_asker *asker,
			 struct levels_found *ret)
{
	enum line_rank ranks[QUOTA_NKINDS] = {0};
	struct levels_found found = {0};
	uint32_t number = 0;

	*ret = found;
	for (uint32_t i = 0; i < QUOTA_NKINDS; i++)
		found.quotas[i] = quota_default((enum quota_kind)i);
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t line = end ? (size_t)(end - text) - at : len - at;
		struct line said;
		struct err *e = line_parse(text + at, line, asker, &said);

		number++;
		if (e)
			return err_wrap(e, "%s:%u", LEVELS_PATH, number);
		line_add(&said, number, &found, ranks);
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
