/* SPDX-License-Identifier: MIT */
/* The interpreters that the commands of -c are going to execute (interpreters.h). */
#include "session/live/interpreters.h"

#include <elf.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "files/gate.h"
#include "kernel/kernel.h"
#include "session/live/live.h"
#include "target/control.h"

/*
 * How many words of a command are looked at, how many interpreters are held, and how many scripts
 * may stand between the command and an interpreter.
 */
#define WORDS_MAX   64
#define HELD_MAX    4
#define SCRIPTS_MAX 4
/* The first line of a script, and the words of a command, in bytes. */
#define LINE_SIZE    256
#define COMMAND_SIZE 4096

struct search {
	struct interpreters *found;
	struct live *live;
	struct gate *gate;
	struct {
		dev_t dev;
		ino_t ino;
	} held[HELD_MAX];
	const char *dirs; /* where the command finds programs, as in PATH */
	uint32_t nwords;
};

static bool is_held(const struct search *s, const struct stat *st)
{
	for (uint32_t i = 0; i < s->found->procs.len; i++)
		if (s->held[i].dev == st->st_dev && s->held[i].ino == st->st_ino)
			return true;
	return false;
}

/* Whether nobody but root and our own user could have chosen what is executed. */
static bool is_trusted(const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/*
 * Starts the interpreter of this file, and holds it where its libraries are mapped. A file of
 * others names a dynamic linker of their choice, and the command may execute it as another user:
 * such an interpreter is held at its first instruction.
 */
static void interpreter_hold(struct search *s, const char *path, const struct stat *st)
{
	const struct proc_advance how = {.gate = s->gate,
					 .when = PROC_PREINIT,
					 .is_int3 = !feat_has(FEAT_HLT),
					 .interrupts = &s->live->is_interrupted};
	uint32_t n = s->found->procs.len;
	struct evaltime result;
	struct proc *p = NULL;
	struct strbuf cmd = {0};

	if (n == HELD_MAX || is_held(s, st) || strchr(path, '\''))
		return;
	strbuf_addf(&cmd, "'%s'", path);
	/* Its libraries are found as the command's are. */
	err_destroy(proc_create(strbuf_text(&cmd), s->live->opts->envs.data,
				s->live->opts->envs.len, &p));
	strbuf_deinit(&cmd);
	if (!p)
		return;
	s->held[n].dev = st->st_dev;
	s->held[n].ino = st->st_ino;
	vec_push(&s->found->procs, p);
	if (is_trusted(st))
		err_destroy(proc_advance(p, &how, &result)); /* it is held where it came to */
}

static void words_look_up(struct search *s, char *text, uint32_t nscripts);

/* The name under which processes map the file: python3 is a link to python3.11. */
static bool file_name(const struct gate_file *f, char *ret, size_t size)
{
	char link[64];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", gate_file_fd(f));
	n = readlink(link, ret, size - 1);
	if (n <= 0)
		return false;
	ret[n] = '\0';
	return true;
}

/*
 * An interpreter is held; of a script, the words of its first line are looked up. False: there is
 * no such file, or it is not to be executed.
 */
static bool file_look_at(struct search *s, const char *path, uint32_t nscripts)
{
	CLEANUP(gate_file) struct gate_file *f = gate_open_path(s->gate, -1, path);
	const struct stat *st = f ? gate_file_stat(f) : NULL;
	char line[LINE_SIZE], name[PATH_MAX];
	ssize_t n;

	if (!f || !(st->st_mode & 0111))
		return false;
	n = gate_file_read(f, line, sizeof(line) - 1, 0);
	/* What changes its user when it is executed is not executed by us. */
	if (n < SELFMAG || (st->st_mode & (S_ISUID | S_ISGID)))
		return true;
	line[n] = '\0';
	if (line[0] == '#' && line[1] == '!' && nscripts < SCRIPTS_MAX) {
		line[strcspn(line, "\n")] = '\0';
		words_look_up(s, line + 2, nscripts + 1);
	} else if (memcmp(line, ELFMAG, SELFMAG) == 0 && file_name(f, name, sizeof(name)) &&
		   stacks_has_helper(s->live->stacks, name)) {
		interpreter_hold(s, path, st);
	}
	return true;
}

static bool file_look_in(struct search *s, const char *dir, size_t len, const char *name,
			 uint32_t nscripts)
{
	struct strbuf path = {0};
	bool is_there;

	strbuf_addf(&path, "%.*s/%s", (int)len, dir, name);
	is_there = file_look_at(s, strbuf_text(&path), nscripts);
	strbuf_deinit(&path);
	return is_there;
}

/* Looks a word up as execvp() does: of names without a slash, the first in PATH. */
static void word_look_up(struct search *s, const char *word, uint32_t nscripts)
{
	const char *dirs = s->dirs;

	if (word[0] == '-' || strchr(word, '=') || s->nwords++ >= WORDS_MAX)
		return;
	if (word[0] == '/') {
		(void)file_look_at(s, word, nscripts);
		return;
	}
	if (strchr(word, '/')) {
		CLEANUP(free) char *dir = getcwd(NULL, 0); /* the command has ours */

		if (dir)
			(void)file_look_in(s, dir, strlen(dir), word, nscripts);
		return;
	}
	while (dirs && *dirs) {
		size_t len = strcspn(dirs, ":");
		if (len && file_look_in(s, dirs, len, word, nscripts))
			return;
		dirs += len + (dirs[len] == ':');
	}
}

/* A word with blanks may be a command of a shell, whose operators separate words, too. */
static void words_look_up(struct search *s, char *text, uint32_t nscripts)
{
	char *save = NULL;

	for (char *w = strtok_r(text, " \t\n;|&()'\"", &save); w;
	     w = strtok_r(NULL, " \t\n;|&()'\"", &save))
		word_look_up(s, w, nscripts);
}

/*
 * The directories in which the command finds programs: those of its own environment, which the
 * options setenv and unsetenv change. Without the variable, the C library has a list of its own.
 */
static void dirs_read(pid_t command, struct strbuf *ret)
{
	char path[64], bytes[4096];
	struct strbuf text = {0};
	const char *found = NULL;
	size_t n;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)command);
	f = fopen(path, "re");
	while (f && (n = fread(bytes, 1, sizeof(bytes), f)) > 0)
		strbuf_add(&text, bytes, n);
	if (f)
		(void)fclose(f);
	for (size_t at = 0; at < text.len && !found; at += strlen(text.data + at) + 1)
		if (strncmp(text.data + at, "PATH=", 5) == 0)
			found = text.data + at + 5;
	strbuf_addf(ret, "%s", found ? found : "/bin:/usr/bin");
	strbuf_deinit(&text);
}

void interpreters_hold(struct interpreters *i, struct live *live, pid_t command)
{
	struct search s = {.found = i, .live = live, .gate = live->names->file_opts.gate};
	struct strbuf dirs = {0};
	char path[64], text[COMMAND_SIZE], exe[PATH_MAX];
	FILE *f;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)command);
	/* Its own libraries are mapped by now, unless it is held before that. */
	n = live->opts->val[OPT_evaltime] == PROC_EXEC ? readlink(path, exe, sizeof(exe) - 1) : 0;
	if (n > 0) {
		exe[n] = '\0';
		(void)file_look_at(&s, exe, SCRIPTS_MAX);
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)command);
	f = fopen(path, "re");
	n = f ? (ssize_t)fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f)
		(void)fclose(f);
	text[n] = '\0';
	dirs_read(command, &dirs);
	s.dirs = strbuf_text(&dirs);
	for (char *w = text + strlen(text) + 1; w < text + n; w += strlen(w) + 1) {
		CLEANUP(free) char *copy = xstrdup(w);

		words_look_up(&s, copy, 0);
	}
	strbuf_deinit(&dirs);
}

void interpreters_release(struct interpreters *i)
{
	for (uint32_t k = 0; k < i->procs.len; k++)
		proc_destroy(i->procs.data[k]);
	vec_deinit(&i->procs);
}
