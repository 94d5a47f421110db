/* SPDX-License-Identifier: MIT */
/*
 * Progress on a terminal: when the library takes more than a second to find, load or place probes,
 * one line on standard error says what it does, how many of how many, and for how long. The line is
 * taken back when the library has done it.
 *
 * A thread of its own writes the line, because one system call may place all probes. It allocates
 * nothing and holds no lock of the C library: the library forks meanwhile.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"

#define PERIOD_NS 200000000L
#define QUIET_NS  1000000000ull /* what is done earlier is not shown */

static struct progress {
	pthread_t thread;
	bool is_running, is_over;
	bool is_shown; /* the line is on the terminal */
	pthread_mutex_t lock;
	pthread_cond_t over;
	dtrace_hdl_t *dtp;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER};

static void line_write(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return; /* the terminal is gone: there is nobody to tell */
}

/* Writes the decimal number in front of end, and returns where it begins. */
static char *number_text(char *end, uint64_t n)
{
	do {
		*--end = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	return end;
}

static void text_add(char *line, size_t size, const char *text)
{
	size_t len = strlen(line);

	for (; *text && len + 1 < size; text++)
		line[len++] = *text;
	line[len] = '\0';
}

static void number_add(char *line, size_t size, uint64_t n)
{
	char digits[24] = "";

	text_add(line, size, number_text(digits + sizeof(digits) - 1, n));
}

static void line_show(const dtrace_activity_t *a)
{
	char line[160] = "\r\033[K";

	text_add(line, sizeof(line), "dtrace: ");
	text_add(line, sizeof(line), a->dac_what);
	if (a->dac_total) {
		text_add(line, sizeof(line), ": ");
		number_add(line, sizeof(line), a->dac_done);
		text_add(line, sizeof(line), " of ");
		number_add(line, sizeof(line), a->dac_total);
	}
	text_add(line, sizeof(line), ", ");
	number_add(line, sizeof(line), a->dac_ns / 1000000000);
	text_add(line, sizeof(line), " s");
	line_write(line);
	progress.is_shown = true;
}

static void line_erase(void)
{
	if (progress.is_shown)
		line_write("\r\033[K");
	progress.is_shown = false;
}

static void *progress_run(void *arg)
{
	dtrace_activity_t a;

	(void)arg;
	(void)pthread_mutex_lock(&progress.lock);
	while (!progress.is_over) {
		struct timespec until;

		(void)clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += PERIOD_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		(void)pthread_cond_timedwait(&progress.over, &progress.lock, &until);
		if (!progress.is_over && dtrace_activity(progress.dtp, &a) && a.dac_ns >= QUIET_NS)
			line_show(&a);
		else
			line_erase();
	}
	(void)pthread_mutex_unlock(&progress.lock);
	return NULL;
}

void progress_begin(struct cmd *c)
{
	const char *term = getenv("TERM");
	sigset_t all, before;

	if (progress.is_running || !isatty(STDERR_FILENO) || !term || strcmp(term, "dumb") == 0)
		return;
	progress.dtp = c->dtp;
	progress.is_over = false;
	/* the signals of the command are for its main thread */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	progress.is_running = pthread_create(&progress.thread, NULL, progress_run, NULL) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void progress_clear(void)
{
	if (!progress.is_running)
		return;
	(void)pthread_mutex_lock(&progress.lock);
	line_erase();
	(void)pthread_mutex_unlock(&progress.lock);
}

void progress_end(void)
{
	if (!progress.is_running)
		return;
	(void)pthread_mutex_lock(&progress.lock);
	progress.is_over = true;
	(void)pthread_cond_signal(&progress.over);
	(void)pthread_mutex_unlock(&progress.lock);
	(void)pthread_join(progress.thread, NULL);
	progress.is_running = false;
}
