/* SPDX-License-Identifier: MIT */
/* Entry point of the dtrace command: reads the flags, opens the library, chooses the mode. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cmd.h"

static const char optstring[] = "3:6:aAb:Bc:CD:ef:FGhHi:I:klL:m:n:o:p:P:qs:SU:vVwx:X:Z";
/* clang-format off */
static const struct option longopts[] = {
	{"help", optional_argument, NULL, 'E'},
	{"complete", required_argument, NULL, 'K'}, /* for shells: complete.c */
	{"version", no_argument, NULL, 'V'},
	{"helpertrace", required_argument, NULL, 'T'},
	{"pstack", required_argument, NULL, 'Y'},
	{"core", required_argument, NULL, 'R'},
	/* SystemTap's command of the same name has these; build systems pass them to -h and -G */
	{"types", no_argument, NULL, 'k'},
	{"no-pyparsing", no_argument, NULL, 'k'},
	{0},
};
/* clang-format on */

static bool mode_builds(enum cmd_mode mode)
{
	return mode == MODE_HEADER || mode == MODE_LINK;
}

/* Flags that set an option of the library, to the flag's argument if it has one. */
static const struct {
	char flag;
	const char *opt;
} opt_flags[] = {
	{'b', "bufsize"}, {'C', "cpp"},	   {'D', "define"},	 {'F', "flowindent"},
	{'H', "cpphdrs"}, {'I', "incdir"}, {'L', "libdir"},	 {'q', "quiet"},
	{'S', "verbose"}, {'U', "undef"},  {'w', "destructive"}, {'X', "stdc"},
	{'Z', "zdefs"},
};

static const struct {
	char flag;
	enum cmd_mode mode;
} mode_flags[] = {
	{'A', MODE_ANON},    {'G', MODE_LINK},	  {'h', MODE_HEADER}, {'l', MODE_LIST},
	{'V', MODE_VERSION}, {'T', MODE_HELPERS}, {'Y', MODE_STACKS},
};

/* "-x helpertrace=TARGET" is what --helpertrace was called before. */
static bool is_helpertrace(int flag, const char *arg)
{
	return flag == 'T' || (flag == 'x' && strncmp(arg, "helpertrace=", 12) == 0);
}

static __attribute__((noreturn)) void usage_exit(void)
{
	cmd_usage(stderr);
	exit(E_USAGE);
}

static void model_check(int flag, const char *arg)
{
	if (strcmp(arg, flag == '3' ? "2" : "4") == 0)
		return;
	fprintf(stderr, "dtrace: illegal option -- %c%s\n", flag, arg);
	usage_exit();
}

/* Whether the mode shows stacks of processes: it takes no D program. */
static bool mode_shows_stacks(enum cmd_mode mode)
{
	return mode == MODE_HELPERS || mode == MODE_STACKS;
}

/* Pass 1 over the flags: mode and switches. What is left over are the script's arguments. */
static void modes_scan(struct cmd *c, int argc, char **argv)
{
	int modes = 0, f;

	while ((f = getopt_long(argc, argv, optstring, longopts, NULL)) != -1) {
		if (f == '?')
			usage_exit();
		if (f == '3' || f == '6')
			model_check(f, optarg);
		if (f == 'E')
			c->help = optarg ? optarg : "";
		if (f == 'K')
			c->completes = optarg;
		if (f == 'R')
			c->core = optarg;
		c->verbose |= f == 'v';
		c->only_compile |= f == 'e';
		c->claims_anon |= f == 'a';
		c->is_buffered |= f == 'B';
		c->keeps_temp |= f == 'k';
		if (f == '3' || f == '6')
			c->is_ilp32 = f == '3';
		c->zdefs |= f == 'Z';
		if (is_helpertrace(f, optarg))
			f = 'T';
		for (size_t i = 0; i < sizeof(mode_flags) / sizeof(mode_flags[0]); i++)
			if (mode_flags[i].flag == f) {
				modes += c->mode != mode_flags[i].mode;
				c->mode = mode_flags[i].mode;
			}
	}
	if (modes > 1) {
		fputs("dtrace: only one of the [-AGhlV] options can be specified at a time\n",
		      stderr);
		exit(E_USAGE);
	}
	if (c->keeps_temp && !mode_builds(c->mode)) {
		fputs("dtrace: -k, --types and --no-pyparsing go with -h and -G\n", stderr);
		usage_exit();
	}
	c->argc = 1;
	c->argv[0] = argv[0];
	for (int i = optind; i < argc; i++)
		c->argv[c->argc++] = argv[i];
}

static __attribute__((noreturn)) void flag_refuse(const char *what, const char *hint)
{
	fprintf(stderr, "dtrace: %s\n", what);
	if (hint)
		fprintf(stderr, "hint: %s\n", hint);
	exit(E_USAGE);
}

/* Refuses flags that Linux has no use for, and flags that do not exist yet. */
static void missing_refuse(const struct cmd *c)
{
	static const char early[] =
		"start dtrace early, from a systemd unit, with -x bufpolicy=ring: dtrace(8), "
		"ANONYMOUS TRACING";

	if (c->mode == MODE_ANON)
		flag_refuse("-A: anonymous tracing is not supported on Linux", early);
	if (c->claims_anon)
		flag_refuse("-a: no anonymous tracing state: it is not supported on Linux", early);
	if (c->is_buffered)
		flag_refuse("-B: buffered output handlers are not supported", NULL);
	if (c->is_ilp32 && !mode_builds(c->mode))
		flag_refuse("-32: programs are compiled for the kernel's data model, which is -64",
			    NULL);
}

static void library_open(struct cmd *c)
{
	bool tracing =
		(c->mode == MODE_EXEC || c->mode == MODE_HELPERS) && !c->only_compile && !c->core;
	int err = 0;

	c->dtp =
		dtrace_open(DTRACE_VERSION, DTRACE_O_LEVELS | (tracing ? 0 : DTRACE_O_NODEV), &err);
	if (!c->dtp) {
		fprintf(stderr, "dtrace: failed to initialize dtrace: %s\n", dtrace_open_errmsg());
		exit(E_ERROR);
	}
	dtrace_dump_to(c->dtp, stderr); /* for -S, -x tree and -x dump */
	if (tracing)
		(void)dtrace_setopt(c->dtp, "sched", "realtime"); /* the flags may change it */
	if (c->verbose)
		(void)dtrace_setopt(c->dtp, "inprocsum", NULL);
}

static void option_set(struct cmd *c, int flag, const char *opt, const char *val)
{
	if (dtrace_setopt(c->dtp, opt, val) == 0)
		return;
	if (flag == 'x')
		cmd_fatal(c, "failed to set -x %s", opt);
	cmd_fatal(c, "failed to set -%c%s%s", flag, val ? " " : "", val ? val : "");
}

/* Sets an option from -x name[=value]. */
static void x_option_set(struct cmd *c, const char *arg)
{
	const char *eq = strchr(arg, '=');
	char *name = strndup(arg, eq ? (size_t)(eq - arg) : strlen(arg));

	if (!name)
		cmd_fatal_sys(c, ENOMEM, "failed to allocate memory for arguments");
	option_set(c, 'x', name, eq ? eq + 1 : NULL);
	free(name);
}

static void program_queue(struct cmd *c, int flag, const char *text)
{
	struct cmd_prog *p = &c->progs[c->nprogs++];

	p->text = text;
	p->is_file = flag == 's';
	p->spec = flag == 'P'	? DTRACE_PROBESPEC_PROVIDER
		  : flag == 'm' ? DTRACE_PROBESPEC_MOD
		  : flag == 'f' ? DTRACE_PROBESPEC_FUNC
				: DTRACE_PROBESPEC_NAME;
	/* Messages name a program by its text before a predicate or actions. */
	snprintf(p->label, sizeof(p->label), "%.*s",
		 p->is_file ? (int)sizeof(p->label) : (int)strcspn(text, "{/;"), text);
}

/* Pass 2 over the flags: sets options in the order given; queues programs and targets. */
static void flags_apply(struct cmd *c, int argc, char **argv)
{
	int f;

	optind = 0; /* makes GNU getopt start again */
	while ((f = getopt_long(argc, argv, optstring, longopts, NULL)) != -1) {
		for (size_t i = 0; i < sizeof(opt_flags) / sizeof(opt_flags[0]); i++)
			if (opt_flags[i].flag == f)
				option_set(c, f, opt_flags[i].opt, optarg);
		/* -fpic and -fPIC are flags of the compiler */
		if (f == 'f' && mode_builds(c->mode))
			continue;
		switch (f) {
		case 'f':
		case 'i':
		case 'm':
		case 'n':
		case 'P':
		case 's': program_queue(c, f, optarg); break;
		case 'c':
		case 'p':
			c->cmd_is_pid[c->ncmds] = f == 'p';
			c->cmds[c->ncmds++] = optarg;
			break;
		case 'o': c->out_path = optarg; break;
		case 'Y': c->stacks[c->nstacks++] = optarg; break;
		case 'T': option_set(c, 'x', "helpertrace", optarg); break;
		case 'x': x_option_set(c, optarg); break;
		default: break; /* pass 1 has handled it */
		}
	}
}

static void targets_start(struct cmd *c)
{
	if (c->core && c->ncmds)
		flag_refuse("--core is about a process that stands still: -c and -p trace others",
			    NULL);
	if (c->core && (c->mode == MODE_EXEC || c->mode == MODE_LIST) &&
	    dtrace_core(c->dtp, c->core) != 0)
		cmd_fatal(c, "failed to open %s", c->core);
	for (int i = 0; i < c->ncmds; i++) {
		if (!c->cmd_is_pid[i]) {
			if (dtrace_proc_create(c->dtp, c->cmds[i]) != 0)
				cmd_fatal(c, "failed to execute %s", c->cmds[i]);
			continue;
		}
		char *end;
		long pid = strtol(c->cmds[i], &end, 10);

		if (*end || end == c->cmds[i] || pid <= 0 || pid > INT32_MAX) {
			cmd_error(c, "invalid pid: %s\n", c->cmds[i]);
			if (end == c->cmds[i])
				fprintf(stderr,
					"hint: -p takes a number; pgrep -n finds the newest process of "
					"a name: -p $(pgrep -n %s)\n",
					c->cmds[i]);
			cmd_exit(c, E_ERROR);
		}
		if (dtrace_proc_grab(c->dtp, (pid_t)pid) != 0)
			cmd_fatal(c, "failed to grab pid %ld", pid);
	}
}

/*
 * Opens the standard streams that the caller has closed: a file that is opened later would get the
 * number of such a stream, and text for the stream would go into that file. Standard output is
 * opened read-only, so that lost output is an error.
 */
static void streams_open(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
}

/* Takes the first operand out of the script's arguments. */
static const char *operand_take(struct cmd *c)
{
	const char *text = c->argv[1];

	memmove(&c->argv[1], &c->argv[2], (size_t)(c->argc - 1) * sizeof(*c->argv));
	c->argc--;
	return text;
}

bool cmd_is_program(const char *text)
{
	return strpbrk(text, ":{") || strcmp(text, "BEGIN") == 0 || strcmp(text, "END") == 0 ||
	       strncmp(text, "tick-", 5) == 0 || strncmp(text, "profile-", 8) == 0;
}

/* Whether the file is a program of the machine, which -c traces. Nothing is read of a pipe. */
static bool is_executable(const char *path)
{
	char magic[4] = "";
	struct stat st;
	FILE *f = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
	size_t n = f ? fread(magic, 1, sizeof(magic), f) : 0;

	if (f)
		fclose(f);
	return n == sizeof(magic) && memcmp(magic, "\177ELF", sizeof(magic)) == 0;
}

/* Prints the operands as one word of the shell, in single quotes. */
static void operands_print(const struct cmd *c)
{
	fputc('\'', stderr);
	for (int i = 1; i < c->argc; i++) {
		fputs(i > 1 ? " " : "", stderr);
		for (const char *p = c->argv[i]; *p; p++)
			if (*p == '\'')
				fputs("'\\''", stderr);
			else
				fputc(*p, stderr);
	}
	fputs("'\n", stderr);
}

/* Refuses to trace without a program, and says what the operands may have meant. */
static __attribute__((noreturn)) void program_miss(struct cmd *c)
{
	const char *text = c->argc > 1 ? c->argv[1] : NULL;

	fputs("dtrace: no probes specified\n", stderr);
	if (!text) {
		fputs("hint: a program follows -n: dtrace -n 'BEGIN { trace(\"hello\"); }'; a script, "
		      "-s\n",
		      stderr);
	} else if (cmd_is_program(text)) {
		fputs("hint: a program follows -n, as one word: dtrace -n ", stderr);
		operands_print(c);
	} else if (access(text, F_OK) != 0) {
		fprintf(stderr,
			"hint: there is no script '%s'; a program follows -n, a command to trace -c: "
			"-c ",
			text);
		operands_print(c);
	} else if (is_executable(text)) {
		fputs("hint: a command to trace follows -c, beside a program: -c ", stderr);
		operands_print(c);
	} else {
		fprintf(stderr, "hint: '%s' is no file with a script\n", text);
	}
	cmd_exit(c, E_ERROR);
}

/*
 * Without a program, the first operand is a script: "dtrace FILE 5" means "dtrace -s FILE 5". It is
 * an error if it is none.
 */
static void script_take(struct cmd *c)
{
	struct stat st;

	if (c->nprogs || mode_shows_stacks(c->mode))
		return;
	if (c->argc < 2 && (c->mode == MODE_LIST || c->only_compile || c->zdefs))
		return;
	if (c->argc < 2 || stat(c->argv[1], &st) != 0 || S_ISDIR(st.st_mode) ||
	    is_executable(c->argv[1]))
		program_miss(c);
	program_queue(c, 's', operand_take(c));
}

static bool has_ending(const char *path, const char *ending)
{
	size_t len = strlen(path), n = strlen(ending);

	return len > n && strcasecmp(path + len - n, ending) == 0;
}

/* A picture is a file of its own, so it replaces what the file had; other output is appended. */
static void output_open(struct cmd *c)
{
	bool is_picture = cmd_form_kind(c) == FORM_IS_PICTURE && c->mode == MODE_EXEC;
	struct statfs fs;
	int64_t set;

	c->out = stdout;
	if (!c->out_path)
		return;
	if (cmd_form_kind(c) == FORM_IS_SCREEN) /* a file is no terminal */
		option_set(c, 'x', "oformat", "text");
	if (is_picture && dtrace_getopt(c->dtp, "picture", &set) == 0 && set < 0 &&
	    (has_ending(c->out_path, ".html") || has_ending(c->out_path, ".htm")))
		option_set(c, 'x', "picture", "html");
	c->out = fopen(c->out_path, is_picture ? "we" : "ae");
	if (!c->out)
		cmd_fatal_sys(c, errno, "failed to open output file '%s'", c->out_path);
	if (fstatfs(fileno(c->out), &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC) {
		cmd_error(c,
			  "output file '%s' is one of /proc: what is written there changes dtrace "
			  "itself or the kernel\n",
			  c->out_path);
		fputs("hint: give -o a file, or a pipe to the program that writes there\n", stderr);
		cmd_exit(c, E_ERROR);
	}
}

int main(int argc, char **argv)
{
	struct cmd c = {.out = stdout};
	int status = E_SUCCESS;

	streams_open();
	if (argc == 1)
		usage_exit();
	c.progs = calloc((size_t)argc, sizeof(*c.progs));
	c.argv = calloc((size_t)argc + 1, sizeof(*c.argv));
	c.cmds = calloc((size_t)argc, sizeof(*c.cmds));
	c.cmd_is_pid = calloc((size_t)argc, sizeof(*c.cmd_is_pid));
	c.stacks = calloc((size_t)argc, sizeof(*c.stacks));
	if (!c.progs || !c.argv || !c.cmds || !c.cmd_is_pid || !c.stacks)
		cmd_fatal_sys(&c, ENOMEM, "failed to allocate memory for arguments");
	modes_scan(&c, argc, argv);
	if (c.mode == MODE_VERSION) {
		cmd_version(&c);
		cmd_exit(&c, E_SUCCESS);
	}
	missing_refuse(&c);
	if (c.help || c.completes)
		c.only_compile = true; /* then no privilege is needed */
	library_open(&c);
	if (c.help)
		cmd_exit(&c, cmd_help(&c));
	if (c.completes)
		cmd_exit(&c, cmd_complete(&c, c.completes));
	flags_apply(&c, argc, argv);
	c.cflags = c.mode == MODE_LIST ? DTRACE_C_ZDEFS : 0;
	if (mode_builds(c.mode)) {
		if (!c.nprogs && c.argc > 1) /* the definition may be an operand */
			program_queue(&c, 's', operand_take(&c));
		cmd_exit(&c, cmd_build(&c));
	}
	if (c.mode == MODE_HELPERS && (c.nprogs || c.ncmds))
		flag_refuse("--helpertrace shows a stack of a thread, and runs no program",
			    "dtrace --helpertrace=PID [-x helper=FILE]");
	if (c.mode == MODE_STACKS && (c.nprogs || c.ncmds || c.argc > 1))
		flag_refuse("--pstack shows stacks of processes, and runs no program",
			    "dtrace --pstack=PID [--pstack=CORE ...]");
	script_take(&c);
	targets_start(&c);
	progress_begin(&c);
	cmd_compile(&c);
	if (c.mode == MODE_LIST)
		progress_end();
	output_open(&c);
	status = c.mode == MODE_LIST	  ? cmd_list(&c)
		 : c.mode == MODE_HELPERS ? cmd_trace_helpers(&c)
		 : c.mode == MODE_STACKS  ? cmd_show_stacks(&c)
					  : cmd_run(&c);
	if (c.out_path && fclose(c.out) != 0)
		cmd_fatal_sys(&c, errno, "failed to close output file '%s'", c.out_path);
	c.out = stdout;
	cmd_exit(&c, status);
}
