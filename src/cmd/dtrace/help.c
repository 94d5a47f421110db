/* SPDX-License-Identifier: MIT */
/* --help: a screen of flags and examples; lists of options and of the language's names. */
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

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

/* The first screen: 80 columns and 24 lines with the prompt. */
static const char screen[] =
	"Usage: dtrace [flags] -n 'PROBE [/PREDICATE/] [{ ACTIONS }]' [arguments]\n"
	"       dtrace [flags] [-s] SCRIPT [arguments]\n"
	"PROBE is [[[provider:]module:]function:]name; each field may be a pattern.\n"
	"\n"
	"  -n NAME, -f FUNC, -m MOD, -P PROV, -i ID   probes, with predicate and actions\n"
	"  -s FILE  a script       -c COMMAND  run, trace it   -p PID  trace a process\n"
	"  -l  list probes         -v  say more                -q  print only what D says\n"
	"  -o FILE  append to it   -e  compile only            -w  allow changes\n"
	"  -F  indent by depth     -Z  probes may be missing   -b SIZE  buffer of a CPU\n"
	"  -x NAME[=VAL]  option   -L DIR  D library           -S  listing, -V  version\n"
	"  -C, -D, -U, -I, -H, -X  preprocessor    -h, -G, -k, -32, -64  header, object\n"
	"\n"
	"  dtrace -l -P syscall                                   which probes are there?\n"
	"  dtrace -n 'syscall:::entry { @[execname] = count(); }' who calls the kernel?\n"
	"  dtrace -n 'profile-97 { @[jstack()] = count(); }'      where does time go?\n"
	"  dtrace -n 'pid$target:a.out::entry' -c ./a.out         what does it call?\n"
	"\n"
	"dtrace --help=flags     each flag, in a line of its own\n"
	"dtrace --help=options   the options of -x, with kinds and defaults\n"
	"dtrace --help=language  variables, functions, actions, aggregating functions\n"
	"dtrace --help=all       all of these; man 8 dtrace is the manual page\n";

static void flags_print(struct cmd *c)
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
		{"--helpertrace=T", "what ustack helpers do for a stack of a process or core file"},
		{"--core=T", "run the program over a core file, or a copy of process T"},
		{"--pstack=T", "the stacks of all threads of a process or core file"},
		{"-w", "permit actions that change the system"},
		{"-x NAME[=VAL]", "set an option; the list follows"},
		{"-X a|c|s|t", "conformance of the preprocessor"},
		{"-Z", "permit descriptions that match no probe"},
	};

	(void)c;
	cmd_usage(stdout);
	puts("\nFlags:");
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		printf("  %-16s %s\n", flags[i][0], flags[i][1]);
}

static void options_print(struct cmd *c)
{
	puts("\nOptions (-x), kind, meaning and default:");
	dtrace_option_iter(c->dtp, help_option, stdout);
}

static void language_print(struct cmd *c)
{
	help_builtins(c, "variable", "Built-in variables");
	help_builtins(c, "function", "Functions");
	help_builtins(c, "action", "Actions");
	help_builtins(c, "aggregation", "Aggregating functions");
}

int cmd_help(struct cmd *c)
{
	static const struct {
		const char *name;
		void (*print)(struct cmd *c);
	} topics[] = {
		{"flags", flags_print},
		{"options", options_print},
		{"language", language_print},
	};
	bool all = strcmp(c->help, "all") == 0, is_known = all;

	if (!c->help[0]) {
		fputs(screen, stdout);
		return E_SUCCESS;
	}
	for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++)
		if (all || strcmp(c->help, topics[i].name) == 0) {
			is_known = true;
			topics[i].print(c);
		}
	if (is_known)
		return E_SUCCESS;
	fprintf(stderr,
		"dtrace: --help has no topic '%.40s'\n"
		"hint: the topics are flags, options, language and all\n",
		c->help);
	return E_USAGE;
}
