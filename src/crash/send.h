/* SPDX-License-Identifier: MIT */
/*
 * Tells others of a crash: mail by sendmail, the report as JSON by HTTP, a counter for Prometheus.
 * Cores are never sent.
 *
 * In the store are `mail` (when the last mail was sent), `mail-later` (a line for each crash that
 * had to wait) and the folder `queue` (reports that could not be posted yet).
 *
 * Errors   struct err *: it could not be sent; what may be tried again is kept for that.
 * Facts    sendmail's options -t and -oi: LSB 5, sendmail. RFC 5322 2.1.1: lines of 998 bytes.
 *          Prometheus, "Exposition formats", text.
 */
#pragma once

#include "crash/pairs.h"
#include "crash/store.h"

struct crash_news {
	const char *id, *host, *name, *signal, *where, *exe;
	int64_t time_ns;
	uint64_t count;	  /* how often it has died in this way */
	bool is_alive;	  /* it was captured without a signal, and goes on */
	const char *text; /* the report */
	size_t len;
};

/* At most one a minute: others are a line in the next one. */
MUST_CHECK struct err *crash_mail(const struct crash_store *s, const struct pairs *config,
				  const struct crash_news *n);
/* Sends what has waited for a minute. */
MUST_CHECK struct err *crash_mail_waiting(const struct crash_store *s, const struct pairs *config);
/* Puts a report into the queue, and sends what is in it. */
MUST_CHECK struct err *crash_post(const struct crash_store *s, const struct pairs *config,
				  const char *id, const char *json, size_t len);
MUST_CHECK struct err *crash_post_waiting(const struct crash_store *s, const struct pairs *config);
/*
 * Adds one to fathom_crashes_total{exe,signal} in the store's file CRASH_STORE_TALLY, and in the
 * one that the key "metrics" names, which everybody may read.
 */
MUST_CHECK struct err *crash_tally(const struct crash_store *s, const struct pairs *config,
				   const struct crash_news *n);

/* send_run.c: runs a program whose standard input is what is at fd, for at most so many seconds. */
struct send_program {
	char *const *argv;
	const char *text; /* the input, or */
	size_t len;
	int fd;		/* a file of it; -1: text */
	bool is_nobody; /* without rights */
	uint32_t seconds;
};
MUST_CHECK struct err *send_run(const struct send_program *p);
