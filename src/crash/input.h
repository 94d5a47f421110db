/* SPDX-License-Identifier: MIT */
/*
 * What the capturer has written of one crash, opened by root for the analyser, which has no right
 * to open it itself.
 *
 * Owns     descriptors and what `capture` says, until crash_input_close().
 * Errors   a file that is missing, or too long, is one with less in it.
 */
#pragma once

#include "crash/pairs.h"

enum crash_file {
	CRASH_IN_CAPTURE,
	CRASH_IN_CORE,
	CRASH_IN_LOG,
	CRASH_IN_CMDLINE,
	CRASH_IN_ENVIRON,
	CRASH_IN_FD,
	CRASH_IN_LIMITS,
	CRASH_IN_MAPS,
	CRASH_IN_OOM,
	CRASH_IN_STAT,
	CRASH_IN_STATUS,
	CRASH_IN_TASK,
	CRASH_IN_FILES, /* how many there are */
};

struct crash_input {
	int fds[CRASH_IN_FILES]; /* -1: there is none */
	struct pairs capture;
};

/* dir: the folder of the entry. */
void crash_input_open(int dir, struct crash_input *ret);
/* Reads `capture`. */
void crash_input_begin(struct crash_input *in);
void crash_input_close(struct crash_input *in);
/* Adds the contents, at most max bytes of them; false: there is more, or there is no such file. */
bool crash_input_text(const struct crash_input *in, enum crash_file which, size_t max,
		      struct strbuf *out);
/* The value of a key of `capture`; "": there is none. */
const char *crash_input_get(const struct crash_input *in, const char *key);
int64_t crash_input_int(const struct crash_input *in, const char *key, int64_t missing);
/* Adds the bytes that a field of proc/fd or proc/task stands for. */
void crash_field_add(struct strbuf *out, const char *text, size_t len);
