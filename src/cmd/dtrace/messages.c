/* SPDX-License-Identifier: MIT */
/* Messages of the command on stderr, and its exit. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

static void message_print(const struct cmd *c, const char *reason, const char *fmt, va_list ap)
{
	size_t len = strlen(fmt);

	progress_clear();
	fflush(c->out ? c->out : stdout); /* trace output stands before a message about its end */
	fputs("dtrace: ", stderr);
	vfprintf(stderr, fmt, ap);
	if (len && fmt[len - 1] == '\n')
		return;
	if (reason)
		fprintf(stderr, ": %s", reason);
	fputc('\n', stderr);
}

void cmd_show_held(struct cmd *c)
{
	if (!c->held)
		return;
	fclose(c->held);
	c->held = NULL;
	fputs(c->held_text, stderr);
	free(c->held_text);
	c->held_text = NULL;
}

void cmd_hint(const struct cmd *c)
{
	const char *hint = c->dtp ? dtrace_errhint(c->dtp) : NULL;

	if (hint)
		fprintf(stderr, "hint: %s\n", hint);
}

static const char *lib_reason(const struct cmd *c)
{
	return c->dtp ? dtrace_errmsg(c->dtp, dtrace_errno(c->dtp)) : NULL;
}

void cmd_error(const struct cmd *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message_print(c, lib_reason(c), fmt, ap);
	va_end(ap);
}

void cmd_notice(const struct cmd *c, const char *fmt, ...)
{
	int64_t quiet; /* set by -q, -x quiet or a pragma of the program */
	va_list ap;

	if (dtrace_getopt(c->dtp, "quiet", &quiet) == 0 && quiet > 0)
		return;
	va_start(ap, fmt);
	message_print(c, NULL, fmt, ap);
	va_end(ap);
}

void cmd_fatal(struct cmd *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message_print(c, lib_reason(c), fmt, ap);
	va_end(ap);
	if (fmt[0] && fmt[strlen(fmt) - 1] != '\n')
		cmd_hint(c);
	cmd_exit(c, E_ERROR);
}

void cmd_fatal_sys(struct cmd *c, int sys, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message_print(c, strerror(sys), fmt, ap);
	va_end(ap);
	cmd_exit(c, E_ERROR);
}

void cmd_exit(struct cmd *c, int status)
{
	cmd_show_held(c);
	dtrace_hdl_t *dtp = c->dtp;
	FILE *out = c->out ? c->out : stdout;

	progress_end();

	/* with an error status a message was printed before */
	if ((fflush(out) != 0 || ferror(out)) && status != E_ERROR) {
		fprintf(stderr, "dtrace: failed to write to %s: %s\n",
			c->out_path ? c->out_path : "<stdout>", strerror(errno));
		status = E_ERROR;
	}
	c->dtp = NULL; /* interrupt_note() must not use the handle any more */
	dtrace_close(dtp);
	exit(status);
}

void cmd_usage(FILE *fp)
{
	fputs("Usage: dtrace [-32|-64] [-aACeFGhHlqSvVwZ] [-b bufsz] [-c cmd] [-D name[=def]]\n"
	      "\t[-I path] [-L path] [-o output] [-p pid] [-s script] [-U name]\n"
	      "\t[-x opt[=val]] [-X a|c|s|t]\n"
	      "\n"
	      "\t[-P provider [[ predicate ] action ]]\n"
	      "\t[-m [ provider: ] module [[ predicate ] action ]]\n"
	      "\t[-f [[ provider: ] module: ] func [[ predicate ] action ]]\n"
	      "\t[-n [[[ provider: ] module: ] func: ] name [[ predicate ] action ]]\n"
	      "\t[-i probe-id [[ predicate ] action ]] [ args ... ]\n",
	      fp);
}
