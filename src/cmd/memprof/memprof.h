/* SPDX-License-Identifier: MIT */
/*
 * The memprof command: what a process's memory is used for, by place in its program.
 *
 *     main.c     the command line, the table of ways    session.c  a run of libdtrace
 *     growth.c   page faults                            rows.c     what aggregations have counted
 *     malloc.c   blocks of malloc                       objects.c  objects by file, line, class
 *     d/NAME.d   the D programs of the ways             out.c      rows as tables, JSON, a picture
 *     leaks.c    blocks to which nothing points         look.c     memory as it is, by the debugger
 *     alive.c    objects and blocks by type             holds.c    chains from roots to objects
 *     elf.c      files of the process                   memory.c   words of its memory
 *     sample.c   buffers of Java and Node.js            places.c   who has asked for lost blocks
 *
 * A way is a subcommand: a row of the table in main.c, a file with one function, and usually a
 * program in D. Adding one:
 *     1. src/cmd/memprof/NAME.c with the function NAME_run(), declared below; meson.build;
 *     2. its D in d/NAME.d, which is embedded as memprof_d_NAME, or text that NAME.c makes;
 *     3. a row in main.c; the man page doc/memprof.8, completion/, doc/memory.md.
 * Ways that look at memory as it is trace nothing: they ask the debugger (mdb/survey.h) about a
 * copy of the process, or about a core file.
 *
 * Owns     struct memprof is the state of one run of the command; main() has the only one.
 * Units    bytes; seconds as double.
 * Errors   a function that cannot go on prints why and ends the process (say_fatal()).
 */
#pragma once

#include <dtrace.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/str.h"

#define E_SUCCESS 0
#define E_ERROR	  1
#define E_USAGE	  2

struct memprof;

struct way {
	const char *name;    /* "": the way without a word */
	const char *options; /* letters of those that only some ways have */
	const char *what;    /* a line of the usage */
	int (*run)(struct memprof *m);
	bool is_look; /* it looks at memory as it is: operands are no command, but a core file */
};

/* The keys by which blocks of malloc are counted. */
enum by {
	BY_STACK,
	BY_CALLER,   /* the place that has called malloc() */
	BY_FUNCTION, /* the function that has */
};

struct memprof {
	const struct way *way;
	/* what was asked for */
	pid_t pid;		       /* of -p; of -c once session_open() was called */
	char *command;		       /* -c, and operands as one text; NULL: there is none */
	const char *core;	       /* a core file; NULL: there is -p or a command */
	const char *what;	       /* holds: a type or an address */
	double duration_s, interval_s; /* 0: none */
	uint32_t top;		       /* rows of a table; 0: all */
	uint32_t depth;		       /* frames of a row; 0: all */
	double older_s;		       /* -o: only what is at least so old */
	enum by by;		       /* --by */
	uint64_t rate;		       /* -r: one sample of so many bytes; 0: all blocks */
	const char *module;	       /* --module: malloc's callers are in it; NULL: anywhere */
	bool is_inproc;		       /* probes jump, where they can: the way's choice */
	bool is_held;		       /* the program in D stops the process of -c at its end */
	bool is_created;	       /* objects: also what is not alive any more */
	bool is_mixed, is_json, shows_d, is_verbose;
	const char *flame;    /* the file of the picture; NULL: none */
	uint64_t maxrate;     /* events a second at which exact ways stop */
	bool has_maxrate;     /* it was given */
	int64_t unfollowed;   /* malloc: bytes of blocks that the process cannot follow */
	const char **options; /* of -x, as given */
	uint32_t noptions;

	dtrace_hdl_t *dtp;
};

/* ---- main.c ---------------------------------------------------------------------------------- */

__attribute__((format(printf, 1, 2))) void say(const char *fmt, ...);
/* Ends the command, and with it a program of -c that was not let go yet. */
__attribute__((format(printf, 2, 3), noreturn)) void say_fatal(struct memprof *m, const char *fmt,
							       ...);
/* The same with the library's reason and hint. */
__attribute__((format(printf, 2, 3), noreturn)) void library_fatal(struct memprof *m,
								   const char *fmt, ...);
void *mem_check(void *p);

/* ---- session.c ------------------------------------------------------------------------------- */

struct rows;

/* The program that a way runs, and how its rows are read. */
struct tracing {
	const char *d;	      /* the program */
	const char *agg;      /* the aggregation that has the rows */
	const char *count;    /* the title of the second column: "BLOCKS"; NULL: there is none */
	const char *unit;     /* what the value is, in JSON: "samples"; NULL: bytes */
	bool may_come;	      /* what the probes are in may be loaded later */
	const char *hits;     /* the aggregation that counts events for -x maxrate; NULL: none */
	const char *own_hits; /* others that count if the process does not see to them itself */
	const char *nothing;  /* what is said when there is no row */
	const char *hint;     /* and what may be done then; NULL: nothing */
	/* objects: keys are file, line and class, and the value is how many there are */
	bool is_objects;
	const char *names; /* the aggregation whose rows name_note() gets before a report */
	void (*name_note)(const dtrace_aggdata_t *row, void *arg);
	const char *(*class_name)(uint64_t class, void *arg); /* NULL: not known */
	/*
	 * Gets the rows of agg before a report and once a second, while the process is there, and
	 * is told when it has got all of them, and whether a report comes. NULL: nobody wants them.
	 */
	void (*row_note)(const dtrace_aggdata_t *row, void *arg);
	void (*rows_end)(void *arg, bool is_report);
	void (*watch)(void *arg); /* called once a second, and at the end; NULL: nothing to watch */
	/* leaks: called while probes still fire; then the rows go to take(), and are not printed */
	void (*end_begin)(void *arg);
	void (*take)(struct rows *rows, void *arg); /* NULL: they are printed */
	void *arg;
};

/*
 * Ends the command if the user has levels, but not these (LEVEL_...); what: what needs them, for
 * the message. Root and services with capabilities are not asked.
 */
void levels_need(struct memprof *m, uint32_t levels, const char *what);
/* Whether the user has these levels; root and services with capabilities have. */
bool levels_has(uint32_t levels);
/* Opens the library, and holds the process of -p or -c, whose id is m->pid then. */
void session_open(struct memprof *m);
/* Sets an option unless the user has. Before session_run(). */
void session_prefer(struct memprof *m, const char *name, const char *value);
/* Calls func for each function of a description with patterns ("pid$target::malloc:entry"). */
typedef void function_f(const char *module, const char *function, void *arg);
void functions_find(struct memprof *m, const char *description, function_f *func, void *arg);
/*
 * The same while m is traced, with the number of the process instead of $target; false: it cannot
 * be looked at, for instance because it has ended, and the reason is added to *ret_why, which may
 * be NULL.
 */
bool functions_find_later(const char *description, function_f *func, void *arg,
			  struct strbuf *ret_why);
/*
 * While a command runs before anything is traced: signals that end a run, and the time of -d, end
 * dtrace_proc_advance() with an error, and session_wait_is_over() says that they have come.
 */
void session_wait_begin(struct memprof *m);
void session_wait_end(void);
bool session_wait_is_over(void);
/*
 * Whether the name of a file may stand in the text of a program: the process chooses it, and with
 * other characters it could be more than a name there.
 */
bool module_is_plain(const char *module);
/* Traces until the end, and prints reports; returns the exit status. */
int session_run(struct memprof *m, const struct tracing *t);
/* No signal reaches the library from then on; nothing to do if it is closed. */
void session_close(struct memprof *m);

/* ---- rows.c ---------------------------------------------------------------------------------- */

/*
 * A row: what one place has. Its text has a line for each key and frame, innermost first; the first
 * character of a line says what it is (LINE_*).
 */
#define LINE_KEY      'K'
#define LINE_NATIVE   'N'
#define LINE_LANGUAGE 'L'

struct row {
	char *text;
	int64_t bytes, count;
	int64_t grown, grown_count; /* since the rows before; without these, all */
};

struct rows {
	struct row *rows; /* by text, each text once */
	size_t n;
};

/* Reads the rows of an aggregation; how texts are made is said by m->is_mixed and m->depth. */
void rows_read(struct memprof *m, const char *agg, struct rows *ret_rows);
/* Rows of before that are no more are added, with nothing left. */
void rows_compare(struct rows *r, const struct rows *before);
/* Sorts by growth, the greatest first. */
void rows_sort(struct rows *r);
void rows_deinit(struct rows *r);

/* ---- out.c ----------------------------------------------------------------------------------- */

struct report {
	const struct tracing *tracing;
	const struct rows *rows;
	bool is_difference; /* rows show what has grown since the report before */
	double seconds;	    /* since tracing began, or since the report before */
};

void report_print(const struct memprof *m, const struct report *r);
/* "1.5 MB": decimal, as sizes of memory are printed in tables. */
void size_text(char *buf, size_t size, int64_t bytes);

/*
 * Adds the lines of a row's text as elements of an array of JSON: its keys, or its frames, of which
 * one of a language is an object.
 */
void lines_add(struct strbuf *b, const char *text, bool wants_keys);
void time_add(struct strbuf *b); /* the time of day, as a text of JSON */

/* ---- look.c ---------------------------------------------------------------------------------- */

struct err;
struct mdb;
struct survey;

/* Opens a copy of the process of -p, which goes on at once, or the core file; ignores SIGUSR1. */
struct mdb *look_open(struct memprof *m);
/* The same; NULL: the process has ended. */
struct mdb *look_open_again(struct memprof *m);
/* Ends the command with an error of the library, and its hint. */
__attribute__((noreturn)) void look_fatal(struct memprof *m, struct err *e);
/* Begins an object of JSON with the time and what is looked at. */
void look_json_begin(const struct memprof *m, struct strbuf *b);
/* Whether the process runs: one that nobody has waited for yet (a zombie) has ended. */
bool look_is_there(pid_t pid);
/* Adds a foreign text for a terminal. */
void look_text_add(struct strbuf *b, const char *text);
/* Says what the numbers do not have. */
void look_notes_say(const struct survey *s);

/* ---- ways ------------------------------------------------------------------------------------ */

/*
 * elf.c: variables that a module of a process exports; false: it could not be read, or is in a file
 * system that a process or another machine serves, which may never answer. func returns whether it
 * wants more of them. The names are those of the process's file: any number, of any length.
 */
typedef bool variable_f(const char *name, uint64_t addr, void *arg);
bool variables_find(pid_t pid, const char *module, variable_f *func, void *arg);
/*
 * The same for code: func gets the bytes of each part of the module that is executed, and the
 * address of the first one in the process. Nothing is found in code of another processor.
 */
typedef void code_f(const uint8_t *code, size_t size, uint64_t addr, void *arg);
bool code_find(pid_t pid, const char *module, code_f *func, void *arg);

/* The file of a module, in memory of malloc() that is the caller's; NULL: as above. */
char *module_copy(pid_t pid, const char *module, size_t *ret_size);

/* The same for functions that it exports: their code, and where it is in the process. */
typedef bool function_code_f(const char *name, const uint8_t *code, size_t size, uint64_t addr,
			     void *arg);
bool functions_read(pid_t pid, const char *module, function_code_f *func, void *arg);

/*
 * Says of each address whether it is in memory that no other process or machine serves: reading
 * such memory would hold a lock of the process until that one answers.
 */
void addresses_check(pid_t pid, const uint64_t *addrs, size_t n, bool *ret_are_local);

/* memory.c: words of a process's memory; addrs are the caller's, in memory of malloc(). */
struct memory_words {
	uint64_t *addrs, *values;
	size_t n;
	/*
	 * Whoever has read them waits for somebody, and has the lock of the mappings of the process
	 * until that one answers: a probe would wait for it, too.
	 */
	bool is_stuck;
};
/*
 * Reads the values; those that cannot be read are 0. False: some are in memory that another process
 * or machine serves, which is not asked. memory_words_deinit() frees addrs, too.
 */
bool memory_words_read(pid_t pid, struct memory_words *w);
void memory_words_deinit(struct memory_words *w);

/* malloc.c: adds the program to ret_d; with_address: the first key of a row is the block. */
void malloc_program_make(struct memprof *m, bool with_address, struct strbuf *ret_d);

/* places.c: who has asked for blocks while they were traced, by the addresses of the blocks. */
struct place {
	uint64_t addr;
	const char *text; /* lines as those of a row; equal texts are one pointer */
};
struct places {
	struct memprof *m;
	struct mdb *copy; /* of the process at the end of tracing; NULL: it has ended */
	struct rows rows;
	struct place *list; /* by address */
	size_t n;
};
/* Traces for as long as m says; returns the exit status. */
int places_trace(struct places *p, struct memprof *m);
/* survey_place_f */
const char *place_find(void *places, uint64_t addr);
void places_deinit(struct places *p);

int alive_run(struct memprof *m);
int growth_run(struct memprof *m);
int holds_run(struct memprof *m);
int leaks_run(struct memprof *m);
int malloc_run(struct memprof *m);
int objects_run(struct memprof *m);
int sample_run(struct memprof *m);

extern const char memprof_d_growth[], memprof_d_malloc[], memprof_d_objects_perl[],
	memprof_d_objects_php[], memprof_d_objects_python[], memprof_d_objects_ruby[],
	memprof_d_sample_java[], memprof_d_sample_node[];
