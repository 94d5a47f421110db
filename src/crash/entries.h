/* SPDX-License-Identifier: MIT */
/*
 * The captures of a store: what the capturer and the analyser have written about each.
 *
 * An entry that is being written has a name that begins with a dot, and is not seen here.
 *
 * Owns     a struct crash_entry its texts; crash_entry_deinit() frees them.
 * Units    times in ns since 1970, sizes in bytes as they are on the disk.
 * Errors   struct err *. An entry that is damaged is one with little in it: it can be listed, and
 *          removed.
 */
#pragma once

#include "crash/format.h"
#include "crash/pairs.h"
#include "crash/store.h"

#define CRASH_ID_MAX (CRASH_ID_SIZE - 1)

struct crash_entry {
	char id[CRASH_ID_MAX + 1];
	struct pairs capture; /* the file `capture` */
	struct pairs analysed;
	int64_t time_ns;
	pid_t pid, tid;
	int signal;
	uint64_t count;	    /* how often it has died in this way, as far as is known */
	uint64_t core_size; /* 0: there is no core */
	bool is_packed;	    /* the core is compressed */
	bool has_report;
};
typedef VEC(struct crash_entry) crash_entries;

bool crash_id_is_good(const char *id);
MUST_CHECK struct err *crash_entry_read(const struct crash_store *s, const char *id,
					struct crash_entry *ret);
void crash_entry_deinit(struct crash_entry *c);
/* Reads all entries, the newest first. */
MUST_CHECK struct err *crash_entries_read(const struct crash_store *s, crash_entries *ret);
void crash_entries_deinit(crash_entries *all);
/* Fills in the numbers that stand in `capture`. */
void crash_entry_number(struct crash_entry *c);
/* Opens a file of an entry, for reading; -1 with errno. */
int crash_entry_file(const struct crash_store *s, const char *id, const char *name);
/* Opens the directory of an entry, but of a store that is asked for; -1 with errno. */
int crash_entry_open(const struct crash_store *s, const char *id);
/*
 * Finds the entry that a word of the user means: an id, the begin of exactly one id, a process id
 * (the newest of that process), or "last". ret_id has CRASH_ID_MAX + 1 bytes.
 */
MUST_CHECK struct err *crash_entry_pick(const struct crash_store *s, const char *word,
					char *ret_id);
/* The text of a key of `capture`, "" if it is missing. */
const char *crash_entry_text(const struct crash_entry *c, const char *key);
/* "SIGSEGV", or the number where a signal has no name; "-": not known. */
const char *crash_signal_name(int signal, char *buf, size_t size);
