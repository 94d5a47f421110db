/* SPDX-License-Identifier: MIT */
/*
 * The configuration of crash capture, /etc/fathom/crash.conf: key=value, written by `fathom-crash
 * install`, read by the capturer, the analyser and the command.
 *
 * Owns     a struct crash_config its texts; crash_config_deinit() frees them.
 * Errors   struct err *: the file cannot be read, or a value is wrong. No file: the defaults.
 */
#pragma once

#include "base/err.h"
#include "base/vec.h"

struct strbuf;

struct crash_config {
	char *keep_core; /* no, stacks, heap, full */
	char *mail;	 /* an address; NULL: no mail */
	char *post;	 /* a URL; NULL: nowhere */
	char *chain;	 /* the program and arguments that core_pattern had; NULL: none */
	char *env;	 /* list, all */
	char *socket;	 /* where the kernel connects to; NULL: it starts the capturer */
	/* a directory in containers, where cores are written, too; NULL: none */
	char *into_container;
	/* a file of metrics; a folder of D scripts; programs for mail and HTTP; NULL: as usual */
	char *metrics, *scripts, *sendmail, *curl;
	char *analyser, *store; /* analyser "": none is started */
	int64_t max_wait_ms, max_bytes, captures, window_s;
	VEC(char *) unknown; /* keys that nobody knows */
};

/* An error names the file and the key. */
MUST_CHECK struct err *crash_config_read(const char *file, struct crash_config *ret);
void crash_config_deinit(struct crash_config *c);
/* Checks a value as reading does. */
MUST_CHECK struct err *crash_config_check(const char *key, const char *value);
void crash_config_write(const struct crash_config *c, struct strbuf *out);
/* Sets a text; NULL: none. */
void crash_config_set(char **text, const char *value);
