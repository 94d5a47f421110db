/* SPDX-License-Identifier: MIT */
/*
 * The dtrace command: turns flags into calls of libdtrace, and results into an exit status.
 *
 *     main.c      the command line          messages.c  what goes to stderr
 *     modes.c     -n, -s, -l, -e ...         build.c     -G and -h
 *     complete.c  words for the shell       progress.c  a line while something takes long
 *
 * struct cmd is the state of one run of the command; main() has the only one.
 *
 * Errors   a function that cannot go on prints why and ends the process (cmd_fatal()).
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "dtrace.h"

#define E_SUCCESS 0
#define E_ERROR	  1
#define E_USAGE	  2

enum cmd_mode {
	MODE_EXEC,
	MODE_ANON,
	MODE_LINK,
	MODE_HEADER,
	MODE_LIST,
	MODE_VERSION,
	MODE_HELPERS, /* --helpertrace: what ustack helpers do for a stack; no program is run */
	MODE_STACKS,  /* --pstack: the stacks of processes and core files; no program is run */
};

struct cmd_prog {	  /* the program of one -s, -n, -f, -m, -P or -i */
	const char *text; /* for -s the path of the file */
	bool is_file;
	dtrace_probespec_t spec;
	char label[80]; /* the program's name in messages */
	dtrace_prog_t *prog;
	dtrace_proginfo_t info;
};

struct cmd {
	dtrace_hdl_t *dtp;
	enum cmd_mode mode;
	bool verbose, only_compile, zdefs, claims_anon, is_buffered, is_ilp32;
	bool keeps_temp;       /* -k: there is nothing to keep */
	const char *help;      /* the topic of --help, "" without one; NULL: no --help */
	const char *completes; /* --complete; NULL: none */
	unsigned int cflags;
	struct cmd_prog *progs;
	int nprogs;
	int argc; /* script arguments; argv[0] is the name of the current program */
	char **argv;
	const char *out_path;
	FILE *out;
	const char **cmds; /* arguments of -c and -p, in the order given */
	bool *cmd_is_pid;
	int ncmds;
	const char *core;    /* --core: what programs run over; NULL: the running system */
	const char **stacks; /* arguments of --pstack, in the order given */
	int nstacks;
	/* messages that wait until the live view has left the terminal; NULL: none wait */
	FILE *held;
	char *held_text;
	size_t held_len;
};

/*
 * messages.c: these print to stderr as "dtrace: ...". If fmt does not end in a newline, the
 * library's error message follows.
 */
__attribute__((format(printf, 2, 3))) void cmd_error(const struct cmd *c, const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void cmd_notice(const struct cmd *c, const char *fmt, ...);
__attribute__((format(printf, 2, 3), noreturn)) void cmd_fatal(struct cmd *c, const char *fmt, ...);
/* The same with the message of the system error `sys` in place of the library's. */
__attribute__((format(printf, 3, 4), noreturn)) void cmd_fatal_sys(struct cmd *c, int sys,
								   const char *fmt, ...);
/* Prints the hint of the library's error, if it has one. */
void cmd_hint(const struct cmd *c);
__attribute__((noreturn)) void cmd_exit(struct cmd *c, int status);
/* Prints the messages that wait. */
void cmd_show_held(struct cmd *c);
void cmd_usage(FILE *fp);
int cmd_help(struct cmd *c);

/* main.c: whether a word of the command line is the text of a program, and no name of a file. */
bool cmd_is_program(const char *text);

/* build.c */
int cmd_build(struct cmd *c);

/* complete.c */
int cmd_complete(struct cmd *c, const char *request);

/*
 * progress.c: a line on the terminal while the library does what takes long. progress_clear() takes
 * the line back before something else is printed.
 */
void progress_begin(struct cmd *c);
void progress_clear(void);
void progress_end(void);

/* modes.c */
void cmd_compile(struct cmd *c);
/* Values of option oformat: the library's table, of which the command takes the numbers. */
enum cmd_form {
#define OFORMAT(id, ...) FORM_##id,
#include "../../render/oformats.def"
};
enum cmd_form_kind { FORM_IS_TEXT, FORM_IS_OBJECTS, FORM_IS_PICTURE, FORM_IS_SCREEN };
enum cmd_form cmd_output_form(const struct cmd *c);
enum cmd_form_kind cmd_form_kind(const struct cmd *c);
int cmd_list(struct cmd *c);
int cmd_run(struct cmd *c);
int cmd_trace_helpers(struct cmd *c);
int cmd_show_stacks(struct cmd *c);
void cmd_version(struct cmd *c);
