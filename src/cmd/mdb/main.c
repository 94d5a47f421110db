/* SPDX-License-Identifier: MIT */
/* The command mdb: flags, and where commands come from. */
#include <errno.h>
#include <getopt.h>
#include <histedit.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#include "base/str.h"
#include "base/text.h"
#include "mdb/mdb.h"

#define HISTORY_LINES 1000
#define SHELL_MISSING 127 /* status of a shell that finds no such command */

enum { E_SUCCESS, E_ERROR, E_USAGE };

static struct mdb *debugger; /* of the signal handler */
static bool is_at_terminal;  /* commands come from the prompt */

/* ---- output ---------------------------------------------------------------------------------- */

static const char *pager; /* $PAGER, while commands come from the prompt; NULL: there is none */

/* Whether a text takes more lines of the terminal than that has, the prompt being one of them. */
static bool is_long(const char *text, size_t len)
{
	struct winsize size;
	size_t rows = 1, column = 0;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_row || !size.ws_col)
		return false;
	for (size_t i = 0; i < len && rows <= size.ws_row; i++) {
		bool is_new = text[i] == '\n' || column == size.ws_col;

		rows += is_new;
		column = is_new ? text[i] != '\n' : column + 1;
	}
	return rows > size.ws_row;
}

/* Gives a text to the pager, which may end before it has read all; false: it cannot be executed. */
static bool pager_write(const char *text, size_t len)
{
	struct sigaction ignored = {.sa_handler = SIG_IGN}, before;
	int status;
	FILE *to;

	(void)fflush(NULL);
	to = popen(pager, "we");
	if (!to)
		return false;
	(void)sigaction(SIGINT, &ignored, &before); /* ^C is the pager's */
	(void)fwrite(text, 1, len, to);
	status = pclose(to);
	(void)sigaction(SIGINT, &before, NULL);
	return !WIFEXITED(status) || WEXITSTATUS(status) != SHELL_MISSING;
}

/* Gets all that a command has to say in one text. */
static bool output_write(void *ctx, const char *text, size_t len)
{
	if (pager && is_long(text, len) && pager_write(text, len))
		return true;
	return fwrite(text, 1, len, stdout) == len && fflush(stdout) == 0;
}

static void error_print(void *ctx, const char *text)
{
	CLEANUP(free) char *clean = xstrdup(text);

	text_clean_bytes(clean, strlen(clean), "\n\t", '?');
	(void)fflush(stdout);
	fprintf(stderr, "%s%s\n", strncmp(text, "hint:", 5) == 0 ? "" : "mdb: ", clean);
}

static void on_interrupt(int sig)
{
	if (is_at_terminal) /* which has written ^C, behind which nothing may follow in its line */
		(void)!write(STDOUT_FILENO, "\n", 1);
	if (debugger)
		mdb_interrupt(debugger);
}

static int usage_print(FILE *to)
{
	fprintf(to,
		"usage: mdb [-e COMMANDS]... [-o text|json] [PROGRAM] CORE\n"
		"       mdb [-e COMMANDS]... [-o text|json] -p PID\n"
		"       mdb [-e COMMANDS]... [-o text|json] -S PID [-w FILE]\n"
		"       mdb [-e COMMANDS]... [-o text|json] [-D DIRECTORY] -l [PID]\n"
		"Looks at a core file, or at a process, which stands still meanwhile.\n"
		"  -D DIRECTORY where systemd-coredump has core files (%s)\n"
		"  -e COMMANDS  executes them, and ends\n"
		"  -l           lists the core files of systemd-coredump; with PID: opens the\n"
		"               newest of that process\n"
		"  -o json      a document of JSON for each command\n"
		"  -p PID       holds a process; it goes on when mdb ends\n"
		"  -S PID       copies the memory of a process, which stands still for that only\n"
		"  -V           prints the version\n"
		"  -w FILE      keeps that copy as a core file\n",
		mdb_core_folder());
	return to == stdout ? E_SUCCESS : E_USAGE;
}

/* ---- where commands come from ---------------------------------------------------------------- */

static char *prompt_text(EditLine *el)
{
	return (char *)"> ";
}

/* Completes the name behind "::", or of a walker behind "::walk ". */
static unsigned char name_complete(EditLine *el, wint_t ch)
{
	const LineInfo *line = el_line(el);
	const char *begin = line->cursor, *match = NULL;
	const char *(*names)(uint32_t) = NULL;
	size_t n, common = 0;
	char rest[64];

	while (begin > line->buffer && begin[-1] != ' ' && begin[-1] != ':')
		begin--;
	n = (size_t)(line->cursor - begin);
	if (begin - line->buffer >= 7 && strncmp(begin - 7, "::walk ", 7) == 0)
		names = mdb_walker_name;
	else if (begin - line->buffer >= 2 && strncmp(begin - 2, "::", 2) == 0)
		names = mdb_command_name;
	for (uint32_t i = 0; names && names(i); i++) {
		const char *name = names(i);
		size_t same = 0;

		if (strncmp(name, begin, n) != 0)
			continue;
		while (match && match[same] && match[same] == name[same])
			same++;
		common = match ? MIN(common, same) : strlen(name);
		match = match ? match : name;
	}
	if (!match || common <= n || common - n >= sizeof(rest))
		return CC_ERROR;
	memcpy(rest, match + n, common - n);
	rest[common - n] = '\0';
	return el_insertstr(el, rest) == 0 ? CC_REFRESH : CC_ERROR;
}

/* ^C at the prompt is a key like others: a signal could come just before the terminal is read. */
static unsigned char line_give_up(EditLine *el, wint_t ch)
{
	const LineInfoW *line = el_wline(el);

	(void)el_cursor(el, (int)(line->lastchar - line->cursor));
	el_deletestr(el, (int)(line->lastchar - line->buffer));
	fputs("^C\n", stdout);
	/* to libedit, a line without any character is the input's end */
	(void)el_insertstr(el, "\n");
	return CC_NEWLINE;
}

static bool prompt_run(struct mdb *m)
{
	EditLine *el = el_init("mdb", stdin, stdout, stderr);
	History *lines = history_init();
	bool is_good = true;
	HistEvent event;
	const char *line;
	int n;

	if (!el || !lines) {
		error_print(NULL, "cannot use the terminal");
		return false;
	}
	(void)history(lines, &event, H_SETSIZE, HISTORY_LINES);
	(void)history(lines, &event, H_SETUNIQUE, 1);
	el_set(el, EL_PROMPT, prompt_text);
	el_set(el, EL_EDITOR, "emacs");
	el_set(el, EL_SIGNAL, 0);
	el_set(el, EL_HIST, history, lines);
	/* Wide names: libedit does not free its copies of others. */
	el_wset(el, EL_ADDFN, L"mdb-complete", L"completes a name", name_complete);
	el_set(el, EL_BIND, "^I", "mdb-complete", NULL);
	el_wset(el, EL_ADDFN, L"mdb-give-up", L"gives up the line", line_give_up);
	el_set(el, EL_BIND, "^C", "mdb-give-up", NULL);
	el_source(el, NULL);
	is_at_terminal = isatty(STDOUT_FILENO);
	pager = is_at_terminal ? getenv("PAGER") : NULL;
	pager = pager && *pager ? pager : NULL;
	while (!mdb_is_over(m)) {
		/* before the prompt is shown: keys that follow it are not the terminal's to use */
		(void)el_set(el, EL_PREP_TERM, 1);
		/* each time: libedit takes over the terminal's own keys when it prepares it */
		(void)el_set(el, EL_SETTY, "-d", "intr=", NULL);
		line = el_gets(el, &n);
		if (!line && n < 0 && errno == EINTR) { /* a signal from elsewhere */
			el_reset(el);
			continue;
		}
		if (!line || n <= 0)
			break;
		if (*line == '\n')
			continue;
		(void)history(lines, &event, H_ENTER, line);
		is_good = mdb_run(m, line);
	}
	pager = NULL;
	if (!mdb_is_over(m))
		putchar('\n');
	history_end(lines);
	el_end(el);
	return is_good;
}

/* Executes the lines of standard input; a command that fails does not end them. */
static bool input_run(struct mdb *m)
{
	bool is_good = true;
	char *line = NULL;
	size_t size = 0;

	while (!mdb_is_over(m) && getline(&line, &size, stdin) > 0)
		is_good = mdb_run(m, line) && is_good;
	free(line);
	return is_good;
}

/* ---- what shells ask ------------------------------------------------------------------------- */

/* Writes the names that begin with a text, each with what it does behind a tab. */
static void candidates_print(const char *text, const char *(*name)(uint32_t),
			     const char *(*what)(uint32_t))
{
	for (uint32_t i = 0; name(i); i++)
		if (strncmp(name(i), text, strlen(text)) == 0 && name(i)[0] != '$')
			printf("%s\t%s\n", name(i), what(i));
}

/* Answers "command:js" and "walker:th"; to anything else, nothing. */
static int complete_print(const char *request)
{
	const char *colon = strchr(request, ':');
	size_t n = colon ? (size_t)(colon - request) : 0;

	if (n == strlen("command") && strncmp(request, "command", n) == 0)
		candidates_print(colon + 1, mdb_command_name, mdb_command_what);
	else if (n == strlen("walker") && strncmp(request, "walker", n) == 0)
		candidates_print(colon + 1, mdb_walker_name, mdb_walker_what);
	return E_SUCCESS;
}

/* ---- flags ----------------------------------------------------------------------------------- */

struct flags {
	struct mdb_opts opts;
	struct strbuf commands;
	bool has_commands, is_list;
	const char *folder; /* of core files */
	char *found;	    /* the core file of -l PID */
};

static bool pid_parse(const char *text, pid_t *ret)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(text, &end, 10);
	if (*end || end == text || errno || pid <= 0 || pid > INT_MAX) {
		fprintf(stderr, "mdb: '%s' is no process id\n", text);
		return false;
	}
	*ret = (pid_t)pid;
	return true;
}

/* Returns an exit status; -1: there is something to do. */
static int flags_read(struct flags *f, int argc, char **argv)
{
	static const struct option words[] = {{"complete", required_argument, NULL, 'c'},
					      {"help", no_argument, NULL, 'h'},
					      {"version", no_argument, NULL, 'V'},
					      {0}};
	int opt;

	while ((opt = getopt_long(argc, argv, "D:e:hlo:p:S:Vw:", words, NULL)) != -1) {
		switch (opt) {
		case 'c': return complete_print(optarg);
		case 'D': f->folder = optarg; break;
		case 'e':
			f->has_commands = true;
			strbuf_adds(&f->commands, optarg);
			strbuf_addc(&f->commands, '\n');
			break;
		case 'h': return usage_print(stdout);
		case 'l': f->is_list = true; break;
		case 'o':
			f->opts.is_json = strcmp(optarg, "json") == 0;
			if (!f->opts.is_json && strcmp(optarg, "text") != 0)
				return usage_print(stderr);
			break;
		case 'p':
			if (!pid_parse(optarg, &f->opts.pid))
				return E_USAGE;
			break;
		case 'S':
			f->opts.is_copy = true;
			if (!pid_parse(optarg, &f->opts.pid))
				return E_USAGE;
			break;
		case 'w': f->opts.keep = optarg; break;
		case 'V': printf("mdb: Fathom %s\n", FATHOM_VERSION); return E_SUCCESS;
		default: return usage_print(stderr);
		}
	}
	return -1;
}

static int error_report(struct err *e)
{
	error_print(NULL, err_text(e));
	if (err_get_hint(e))
		fprintf(stderr, "hint: %s\n", err_get_hint(e));
	err_destroy(e);
	return E_ERROR;
}

/* Returns an exit status; -1: the options say what is to be opened. */
static int target_choose(struct flags *f, int argc, char **argv)
{
	struct err *e;
	pid_t pid;

	if (f->opts.keep && !f->opts.is_copy)
		return usage_print(stderr);
	if (f->is_list && (f->opts.pid || argc > 1 || (!argc && f->has_commands)))
		return usage_print(stderr);
	if (f->is_list && argc) {
		if (!pid_parse(argv[0], &pid))
			return E_USAGE;
		e = mdb_core_find(f->folder, pid, &f->found);
		f->opts.core = f->found;
		return e ? error_report(e) : -1;
	}
	if (f->is_list) {
		e = mdb_list(&f->opts, f->folder);
		return e ? error_report(e) : E_SUCCESS;
	}
	if (f->opts.pid ? argc != 0 : argc < 1 || argc > 2)
		return usage_print(stderr);
	f->opts.core = f->opts.pid ? NULL : argv[argc - 1];
	f->opts.program = argc == 2 ? argv[0] : NULL;
	return -1;
}

static int commands_run(struct flags *f)
{
	struct sigaction sa = {.sa_handler = on_interrupt};
	struct mdb *m = NULL;
	struct err *e = mdb_open(&f->opts, &m);
	bool is_good;

	if (e)
		return error_report(e);
	debugger = m;
	(void)sigaction(SIGINT, &sa, NULL); /* without SA_RESTART: it ends a read of the terminal */
	is_good = f->has_commands	 ? mdb_run(m, strbuf_text(&f->commands))
		  : isatty(STDIN_FILENO) ? prompt_run(m)
					 : input_run(m);
	debugger = NULL;
	mdb_close(m);
	return is_good ? E_SUCCESS : E_ERROR;
}

int main(int argc, char **argv)
{
	struct flags f = {.opts = {.write = output_write, .error = error_print}};
	int status;

	f.folder = mdb_core_folder();
	status = flags_read(&f, argc, argv);
	if (status < 0) {
		(void)signal(SIGPIPE, SIG_IGN);
		status = target_choose(&f, argc - optind, argv + optind);
	}
	if (status < 0)
		status = commands_run(&f);
	strbuf_deinit(&f.commands);
	free(f.found);
	return status;
}
