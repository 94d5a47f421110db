/* SPDX-License-Identifier: MIT */
/*
 * Makes the kernel hand crashes over to the capturer, and undoes that.
 *
 * What is changed: /proc/sys/kernel/core_pattern, a file in /etc/sysctl.d that sets it again when
 * the machine boots, the configuration, and the store. The file `install` of the store says what
 * was there before, so that crash_uninstall() restores it byte for byte. It is written first: an
 * installation that is interrupted can be undone as well.
 *
 * Owns     a struct crash_paths its texts; crash_paths_deinit() frees them.
 * Errors   struct err *. Nothing that somebody else has set is overwritten silently.
 * Facts    core(5); the length of the pattern: Linux fs/coredump.c, CORENAME_MAX_SIZE.
 */
#pragma once

#include "base/err.h"
#include "base/vec.h"

#define CRASH_PATTERN_MAX 127 /* bytes */
#define CRASH_SYSCTL_NAME "60-fathom-crash.conf"

struct strbuf;

/* Where everything is; of tests below another root. */
struct crash_paths {
	char *pattern, *modes, *pipe_limit, *uses_pid; /* in /proc/sys/kernel */
	char *types;				       /* the kernel's own BTF */
	char *sysctl;				       /* our file in /etc/sysctl.d */
	char *config, *store;
	const char *config_name, *store_name; /* below that root */
	char *capturer;
	char *root; /* "" */
};

/* root, config, store: NULL: the usual one. */
void crash_paths_make(const char *root, const char *config, const char *store, const char *capturer,
		      struct crash_paths *ret);
void crash_paths_deinit(struct crash_paths *p);

/* What the user wants to be in the configuration; NULL: as it is. */
struct crash_wishes {
	const char *keep_core, *mail, *post, *env, *analyser;
	const char *into_container;
	const char *socket; /* "": the kernel starts the capturer */
	bool is_chain;
};

/* The texts of notes are added to the list, and are the caller's: what the user should know. */
typedef VEC(char *) crash_notes;
void crash_notes_deinit(crash_notes *notes);
PRINTF_LIKE(2, 3) void crash_note(crash_notes *notes, const char *fmt, ...);

MUST_CHECK struct err *crash_install(const struct crash_paths *p, const struct crash_wishes *w,
				     crash_notes *notes);
/* is_purge: removes the captures, too. */
MUST_CHECK struct err *crash_uninstall(const struct crash_paths *p, bool is_purge,
				       crash_notes *notes);

/* ---- for install and status ------------------------------------------------------------------ */

/* Adds what core_pattern is to be; socket NULL: a pipe. */
void crash_pattern_make(const struct crash_paths *p, const char *socket, struct strbuf *out);
/* Reads a short file such as core_pattern, with its line feed. */
MUST_CHECK struct err *crash_value_read(const char *path, struct strbuf *ret);
/* Whether a pattern starts the capturer, or connects to it, of whichever version and place. */
bool crash_pattern_is_ours(const char *pattern);
/*
 * Checks that nobody but root can put another program in the place of this one: it and all
 * directories above it are root's, and others cannot write to them.
 */
MUST_CHECK struct err *crash_program_check(const char *path);
/* The same for the directories above a path. */
MUST_CHECK struct err *crash_above_check(const char *path);
/* The same for the directory of the store, whose parents may be sticky. */
MUST_CHECK struct err *crash_folder_check(const char *path);
