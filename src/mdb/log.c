/* SPDX-License-Identifier: MIT */
/* The transcript of a session: commands, their output, and what went wrong. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/text.h"
#include "mdb/impl.h"

void log_end(struct mdb *m)
{
	if (!m->log)
		return;
	(void)fclose(m->log); /* each write was flushed, and its failure was told */
	free(m->log_path);
	m->log = NULL;
	m->log_path = NULL;
}

void log_write(struct mdb *m, const char *text, size_t len)
{
	CLEANUP(free) char *why = NULL;

	if (!m->log || (fwrite(text, 1, len, m->log) == len && fflush(m->log) == 0))
		return;
	if (asprintf(&why, "the transcript ends: cannot write '%s': %s", m->log_path,
		     strerrordesc_np(errno)) < 0)
		oom();
	log_end(m);
	m->opts.error(m->opts.ctx, why);
}

/* The command as it was typed, behind a prompt. */
void log_command(struct mdb *m, const char *text, size_t len)
{
	if (!m->log)
		return;
	while (len && (text[len - 1] == '\n' || text[len - 1] == ' '))
		len--;
	log_write(m, "> ", 2);
	log_write(m, text, len);
	log_write(m, "\n", 1);
}

static struct err *log_begin(struct mdb *m, const char *path)
{
	CLEANUP(fd)
	int fd =
		open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return err_sys(errno, "cannot write '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_new("'%s' is no regular file", path);
	log_end(m);
	m->log = fdopen(fd, "a");
	if (!m->log)
		return err_sys(errno, "cannot write '%s'", path);
	(void)fd_take(&fd);
	m->log_path = xstrdup(path);
	return NULL;
}

struct err *cmd_log(struct mdb *m, const struct call *c)
{
	if (c->opts['d'] && c->argc)
		return err_new("-d ends the transcript and takes no file");
	if (c->opts['d'] && !m->log)
		return err_new("there is no transcript");
	if (c->argc) {
		struct err *e = log_begin(m, c->argv[0]);

		if (e)
			return e;
	}
	emit_row(&m->out);
	emit_say(&m->out, "%s ",
		 !m->log	? "there is no transcript"
		 : c->opts['d'] ? "the transcript has ended:"
				: "transcript:");
	if (m->log)
		emit_str(&m->out, "file", m->log_path, 1);
	emit_bool(&m->out, "has-ended", c->opts['d'] || !m->log);
	emit_end(&m->out);
	if (c->opts['d'])
		log_end(m);
	return NULL;
}
