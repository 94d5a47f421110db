/* Messages of the command on stderr, and its exit. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

static void message_print(const struct cmd *c, const char *reason, const char *fmt, va_list ap)
{
	size_t len = strlen(fmt);

	fflush(c->out ? c->out : stdout); /* trace output stands before a message about its end */
	fputs("dtrace: ", stderr);
	vfprintf(stderr, fmt, ap);
	if (len && fmt[len - 1] == '\n')
		return;
	if (reason)
		fprintf(stderr, ": %s", reason);
	fputc('\n', stderr);
}

static void hint_print(const struct cmd *c)
{
	const char *hint = c->dtp ? dtrace_errhint(c->dtp) : NULL;

	if (hint)
		fprintf(stderr, "hint: %s\n", hint);
}

static const char *lib_reason(const struct cmd *c)
{
	return c->dtp ? dtrace_errmsg(c->dtp, dtrace_errno(c->dtp)) : NULL;
}

void cmd_error(const struct cmd *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message_print(c, lib_reason(c), fmt, ap);
	va_end(ap);
}

void cmd_notice(const struct cmd *c, const char *fmt, ...)
{
	int64_t quiet; /* set by -q, -x quiet or a pragma of the program */
	va_list ap;

	if (dtrace_getopt(c->dtp, "quiet", &quiet) == 0 && quiet > 0)
		return;
	va_start(ap, fmt);
	message_print(c, NULL, fmt, ap);
	va_end(ap);
}

void cmd_fatal(struct cmd *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message_print(c, lib_reason(c), fmt, ap);
	va_end(ap);
	if (fmt[0] && fmt[strlen(fmt) - 1] != '\n')
		hint_print(c);
	cmd_exit(c, E_ERROR);
}

void cmd_fatal_sys(struct cmd *c, int sys, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message_print(c, strerror(sys), fmt, ap);
	va_end(ap);
	cmd_exit(c, E_ERROR);
}

void cmd_exit(struct cmd *c, int status)
{
	dtrace_hdl_t *dtp = c->dtp;
	FILE *out = c->out ? c->out : stdout;

	/* with an error status a message was printed before */
	if ((fflush(out) != 0 || ferror(out)) && status != E_ERROR) {
		fprintf(stderr, "dtrace: failed to write to %s: %s\n",
			c->out_path ? c->out_path : "<stdout>", strerror(errno));
		status = E_ERROR;
	}
	c->dtp = NULL; /* interrupt_note() must not use the handle any more */
	dtrace_close(dtp);
	exit(status);
}

void cmd_usage(FILE *fp)
{
	fputs("Usage: dtrace [-32|-64] [-aACeFGhHlqSvVwZ] [-b bufsz] [-c cmd] [-D name[=def]]\n"
	      "\t[-I path] [-L path] [-o output] [-p pid] [-s script] [-U name]\n"
	      "\t[-x opt[=val]] [-X a|c|s|t]\n"
	      "\n"
	      "\t[-P provider [[ predicate ] action ]]\n"
	      "\t[-m [ provider: ] module [[ predicate ] action ]]\n"
	      "\t[-f [[ provider: ] module: ] func [[ predicate ] action ]]\n"
	      "\t[-n [[[ provider: ] module: ] func: ] name [[ predicate ] action ]]\n"
	      "\t[-i probe-id [[ predicate ] action ]] [ args ... ]\n",
	      fp);
}

static int help_option(const dtrace_optdesc_t *opt, void *arg)
{
	char value[32] = "";

	if (opt->deflt[0])
		snprintf(value, sizeof(value), " (%s)", opt->deflt);
	fprintf(arg, "  %-16s %-7s %s%s%s\n", opt->name, opt->kind, opt->what, value,
		opt->is_ignored ? "; no effect here" : "");
	return 0;
}

/* Where to list the built-in names of one kind. */
struct help_kind {
	const char *kind;
	FILE *fp;
};

/* Prints "string basename(const char *)" for "string(const char *)" and "basename". */
static int help_builtin(const dtrace_builtin_t *b, void *arg)
{
	const struct help_kind *k = arg;
	size_t ret = strcspn(b->type, "(");
	bool is_array = !*b->type, ends_in_star = ret && b->type[ret - 1] == '*';
	char text[128];

	if (strcmp(b->kind, k->kind) != 0)
		return 0;
	snprintf(text, sizeof(text), "%.*s%s%s%s", (int)ret, b->type,
		 is_array || ends_in_star ? "" : " ", b->name, is_array ? "[]" : b->type + ret);
	fprintf(k->fp, "  %-48s %s\n", text, b->what);
	return 0;
}

static void help_builtins(struct cmd *c, const char *kind, const char *title)
{
	struct help_kind k = {kind, stdout};

	printf("\n%s:\n", title);
	dtrace_builtin_iter(c->dtp, help_builtin, &k);
}

void cmd_help(struct cmd *c)
{
	static const char *const flags[][2] = {
		{"-32, -64", "data model of generated programs; only -64 can be traced here"},
		{"-a, -A, -B", "anonymous tracing, buffered output (not on Linux; see dtrace(8))"},
		{"-b SIZE", "size of each CPU's trace buffer (-x bufsize)"},
		{"-c COMMAND", "run COMMAND, set $target to its pid, end when it ends"},
		{"-C", "run the C preprocessor over -s files"},
		{"-D NAME[=DEF]", "define a preprocessor symbol; -U NAME removes one"},
		{"-e", "compile, then exit without tracing"},
		{"-f FUNC",
		 "trace functions, -m modules, -n probe names, -P providers, -i probe ids"},
		{"-F", "indent entry and return by depth (-x flowindent)"},
		{"-h, -G", "make the header, the object of a provider definition (-s FILE.d)"},
		{"-H", "print the path of each included file"},
		{"-I PATH", "preprocessor search path"},
		{"-l", "list probes instead of tracing them"},
		{"-L PATH", "a folder of D libraries"},
		{"-o FILE", "append output to FILE"},
		{"-p PID", "take hold of a process, set $target, end when it ends"},
		{"-q", "quiet: only what the program prints"},
		{"-s FILE", "compile a script"},
		{"-S", "print the compiler's intermediate code"},
		{"-v", "verbose: stability and argument types"},
		{"-V", "print the version of the D language"},
		{"-w", "permit actions that change the system"},
		{"-x NAME[=VAL]", "set an option; the list follows"},
		{"-X a|c|s|t", "conformance of the preprocessor"},
		{"-Z", "permit descriptions that match no probe"},
	};

	cmd_usage(stdout);
	puts("\nFlags:");
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		printf("  %-16s %s\n", flags[i][0], flags[i][1]);
	puts("\nOptions (-x), kind, meaning and default:");
	dtrace_option_iter(c->dtp, help_option, stdout);
	help_builtins(c, "variable", "Built-in variables");
	help_builtins(c, "function", "Functions");
	help_builtins(c, "action", "Actions");
	help_builtins(c, "aggregation", "Aggregating functions");
}
