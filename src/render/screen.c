/* SPDX-License-Identifier: MIT */
/* Draws on a terminal, and restores it (screen.h). */
#include "render/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/str.h"
#include "render/out.h"

/* ECMA-48 (CSI), and xterm's private modes 1049 (second screen), 25 (cursor), 7 (wrap) */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"

struct screen {
	struct termios before; /* of standard input, if it is a terminal */
	bool has_input, has_colours;
	int guard_fd; /* the guard restores the terminal when it is closed */
	pid_t guard;
	struct winsize size;
	uint32_t line;
	struct strbuf out;
};

static void text_write(const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(STDOUT_FILENO, text, len);

		if (n < 0 && errno == EAGAIN) {
			struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};

			if (poll(&p, 1, 1000) <= 0)
				return;
		} else if (n < 0 && errno != EINTR) {
			return; /* the terminal is gone */
		}
		text += MAX(n, 0);
		len -= (size_t)MAX(n, 0);
	}
}

/* ---- the guard ----------------------------------------------------------------------------- */

/* Waits until the parent closes its end of the pipe, or ends. */
static NORETURN void guard_run(const struct screen *s, int fd)
{
	static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGTTOU, SIGPIPE};
	char c;

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	if (fd != 3)
		(void)dup2(fd, 3);
	(void)close_range(4, ~0u, 0); /* links of the kernel must not outlive the parent */
	while (read(3, &c, 1) < 0 && errno == EINTR)
		;
	text_write(LEAVE, sizeof(LEAVE) - 1);
	if (s->has_input)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &s->before);
	_exit(0);
}

static bool guard_start(struct screen *s)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0)
		return false;
	s->guard = fork();
	if (s->guard == 0) {
		(void)close(fds[1]);
		guard_run(s, fds[0]);
	}
	(void)close(fds[0]);
	s->guard_fd = fds[1];
	if (s->guard < 0)
		(void)close(fds[1]);
	return s->guard > 0;
}

/* ---- begin and end ------------------------------------------------------------------------- */

static bool is_drawable(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

/* Keys come at once and are not shown; ^C stays a signal, and ^Z does nothing. */
static void keys_prepare(struct screen *s)
{
	struct termios t = s->before;

	t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	t.c_cc[VMIN] = 0;
	t.c_cc[VTIME] = 0;
	t.c_cc[VSUSP] = _POSIX_VDISABLE;
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &t);
}

struct screen *screen_open(void)
{
	struct screen *s;

	if (!is_drawable())
		return NULL;
	s = xcalloc(1, sizeof(*s));
	s->has_input = tcgetattr(STDIN_FILENO, &s->before) == 0 &&
		       tcgetpgrp(STDIN_FILENO) == getpgrp(); /* not in the background */
	s->has_colours = !getenv("NO_COLOR") || !*getenv("NO_COLOR");
	if (!guard_start(s)) {
		free(s);
		return NULL;
	}
	if (s->has_input)
		keys_prepare(s);
	text_write(ENTER, sizeof(ENTER) - 1);
	return s;
}

void screen_close(struct screen *s)
{
	if (!s)
		return;
	(void)close(s->guard_fd);
	while (waitpid(s->guard, NULL, 0) < 0 && errno == EINTR)
		;
	strbuf_deinit(&s->out);
	free(s);
}

/* ---- pictures ------------------------------------------------------------------------------ */

static struct winsize size_now(void)
{
	struct winsize size = {0};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_row || !size.ws_col)
		size = (struct winsize){.ws_row = 24, .ws_col = 80};
	return size;
}

bool screen_is_resized(const struct screen *s)
{
	struct winsize size = size_now();

	return size.ws_row != s->size.ws_row || size.ws_col != s->size.ws_col;
}

uint32_t screen_begin(struct screen *s)
{
	s->size = size_now();
	s->line = 0;
	s->out.len = 0;
	strbuf_adds(&s->out, "\033[H");
	return s->size.ws_row;
}

void screen_line(struct screen *s, enum screen_style style, const char *text)
{
	static const char *const styles[] = {
		[SCREEN_PLAIN] = "", [SCREEN_HEAD] = "\033[7m", [SCREEN_TITLE] = "\033[1m",
		[SCREEN_PALE] = "",  [SCREEN_BAD] = "\033[1m",
	};
	size_t columns, len = text_fit(text, strlen(text), s->size.ws_col, &columns);
	const char *how = styles[style];

	if (s->line >= s->size.ws_row)
		return;
	if (s->has_colours)
		how = style == SCREEN_PALE ? "\033[2m" : style == SCREEN_BAD ? "\033[1;31m" : how;
	if (s->line++)
		strbuf_adds(&s->out, "\r\n");
	strbuf_adds(&s->out, how);
	strbuf_add(&s->out, text, len);
	if (style == SCREEN_HEAD && columns < s->size.ws_col)
		strbuf_pad(&s->out, ' ', s->size.ws_col - columns);
	strbuf_adds(&s->out, *how ? "\033[0m\033[K" : "\033[K");
}

void screen_end(struct screen *s)
{
	strbuf_adds(&s->out, "\033[J");
	text_write(s->out.data, s->out.len);
}

int screen_key(struct screen *s)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	unsigned char c;

	if (!s->has_input || poll(&p, 1, 0) != 1 || !(p.revents & POLLIN) ||
	    read(STDIN_FILENO, &c, 1) != 1)
		return -1;
	return c;
}
