/* SPDX-License-Identifier: MIT */
/* The modes of the command: compile, list, run, version. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"

static const char *prog_kind(const struct cmd_prog *p)
{
	return p->is_file ? "script" : "description";
}

static void file_compile(struct cmd *c, struct cmd_prog *p)
{
	FILE *fp = fopen(p->text, "re");

	if (!fp) {
		cmd_error(c, "failed to open %s: %s\n", p->text, strerror(errno));
		if (cmd_is_program(p->text))
			fputs("hint: -s takes a file; a program follows -n\n", stderr);
		cmd_exit(c, E_ERROR);
	}
	c->argv[0] = (char *)p->text;
	p->prog = dtrace_program_fcompile(c->dtp, fp, p->text, c->cflags, c->argc, c->argv);
	fclose(fp);
	if (!p->prog)
		cmd_fatal(c, "failed to compile script %s", p->text);
}

static void string_compile(struct cmd *c, struct cmd_prog *p)
{
	p->prog = dtrace_program_strcompile(c->dtp, p->text, p->spec, c->cflags, c->argc, c->argv);
	if (p->prog)
		return;
	if (access(p->text, F_OK) != 0)
		cmd_fatal(c, "invalid probe specifier %s", p->text);
	cmd_error(c, "invalid probe specifier %s", p->text);
	fprintf(stderr, "hint: a file with a script follows -s: dtrace -s %s\n", p->text);
	cmd_exit(c, E_ERROR);
}

void cmd_compile(struct cmd *c)
{
	char *argv0 = c->argv[0];

	for (int i = 0; i < c->nprogs; i++) {
		struct cmd_prog *p = &c->progs[i];

		if (p->is_file)
			file_compile(c, p);
		else
			string_compile(c, p);
		c->argv[0] = argv0;
	}
}

static volatile sig_atomic_t interrupts; /* signals that end the run */

/* ---- output ---------------------------------------------------------------------------------- */

static const char *out_name(const struct cmd *c)
{
	return c->out_path ? c->out_path : "<stdout>";
}

static void output_flush(struct cmd *c)
{
	if (fflush(c->out) == 0 && !ferror(c->out))
		return;
	if (errno == EINTR) {
		clearerr(c->out);
		return;
	}
	cmd_fatal_sys(c, errno, "failed to write to %s", out_name(c));
}

/* Ends the command if the library failed because output could not be written. */
static void output_check(struct cmd *c)
{
	int sys = dtrace_errno(c->dtp);

	if (!ferror(c->out))
		return;
	if (interrupts > 1 && sys == EINTR) /* the second signal asked to end at once */
		clearerr(c->out);
	else
		cmd_fatal_sys(c, sys, "failed to write to %s", out_name(c));
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Writes buffered output first: a message stands behind the records or probes it is about. */
static int message_print(struct cmd *c, const char *msg)
{
	progress_clear();
	if (!c->held)
		fflush(c->out);
	fprintf(c->held ? c->held : stderr, "dtrace: %s", msg);
	return DTRACE_HANDLE_OK;
}

static int notice_print(dtrace_hdl_t *dtp, const char *msg, void *arg)
{
	(void)dtp;
	return message_print(arg, msg);
}

/* ---- -l -------------------------------------------------------------------------------------- */

enum cmd_form cmd_output_form(const struct cmd *c)
{
	int64_t form;

	return dtrace_getopt(c->dtp, "oformat", &form) == 0 && form > 0 ? (enum cmd_form)form
									: FORM_TEXT;
}

enum cmd_form_kind cmd_form_kind(const struct cmd *c)
{
	static const uint8_t kinds[] = {
#define OFORMAT(id, name, draws, kind) FORM_IS_##kind,
#include "../../render/oformats.def"
	};

	return (enum cmd_form_kind)kinds[cmd_output_form(c)];
}

/* Whether option oformat asks for a form into which the command may not print anything. */
static bool is_structured(const struct cmd *c)
{
	return cmd_form_kind(c) == FORM_IS_OBJECTS || cmd_form_kind(c) == FORM_IS_PICTURE;
}

struct list {
	struct cmd *c;
	bool has_objects, is_document; /* probes are objects of JSON; in one document, not lines */
	uint32_t n, nmatched;	       /* probes so far: in all, of the present description */
};

static int probe_list(dtrace_hdl_t *dtp, const dtrace_probedesc_t *pd, void *arg)
{
	struct list *l = arg;
	FILE *out = l->c->out;
	int bad = 0;

	l->nmatched++;
	if (!l->has_objects) {
		fprintf(out, "%5d %10s %17s %33s %s\n", (int)pd->dtpd_id, pd->dtpd_provider,
			pd->dtpd_mod, pd->dtpd_func, pd->dtpd_name);
		bad = l->c->verbose && dtrace_probe_report(dtp, pd, out);
	} else {
		if (l->is_document)
			fputs(l->n ? ",\n" : "\n", out);
		bad = dtrace_probe_json(dtp, pd, l->c->verbose, out);
		if (!l->is_document)
			fputc('\n', out);
	}
	l->n++;
	if (bad)
		cmd_error(l->c, "failed to report on probe %d", (int)pd->dtpd_id);
	return 0;
}

/* Says why nothing matches: the message that refuses a program of it ends with the hint. */
static void lack_explain(dtrace_hdl_t *dtp, const char *text)
{
	const char *hint;

	if (dtrace_program_strcompile(dtp, text, DTRACE_PROBESPEC_NAME, 0, 0, NULL))
		return;
	hint = strstr(dtrace_errmsg(dtp, dtrace_errno(dtp)), "hint: ");
	if (hint)
		fprintf(stderr, "%s\n", hint);
}

static int desc_list(dtrace_hdl_t *dtp, const dtrace_probedesc_t *desc, void *arg)
{
	struct list *l = arg;
	char text[1024];

	l->nmatched = 0;
	if (dtrace_probe_iter(dtp, desc, probe_list, l) < 0)
		cmd_fatal(l->c, "failed to list probes");
	if (l->nmatched == 0) {
		fflush(l->c->out);
		fprintf(stderr, "dtrace: failed to match %s: %s\n",
			dtrace_desc2str(desc, text, sizeof(text)),
			dtrace_errmsg(NULL, EDT_NOPROBE));
		lack_explain(dtp, text);
	}
	return 0;
}

int cmd_list(struct cmd *c)
{
	struct list l = {.c = c,
			 .has_objects = cmd_form_kind(c) == FORM_IS_OBJECTS,
			 .is_document = cmd_output_form(c) == FORM_JSON};

	if (dtrace_handle_notice(c->dtp, notice_print, c) != 0)
		cmd_fatal(c, "failed to establish notice handler");
	if (!l.has_objects)
		fprintf(c->out, "%5s %10s %17s %33s %s\n", "ID", "PROVIDER", "MODULE", "FUNCTION",
			"NAME");
	else if (l.is_document)
		fprintf(c->out, "{\"dtrace\": {\"schema\": %d, \"listing\": [",
			dtrace_json_schema());
	if (c->nprogs == 0 && dtrace_probe_iter(c->dtp, NULL, probe_list, &l) < 0)
		cmd_fatal(c, "failed to list probes");
	for (int i = 0; i < c->nprogs; i++)
		if (dtrace_desc_iter(c->dtp, c->progs[i].prog, desc_list, &l) < 0)
			cmd_fatal(c, "failed to list probes");
	if (l.is_document)
		fputs("\n]}}\n", c->out);
	output_flush(c);
	return E_SUCCESS;
}

/* ---- tracing --------------------------------------------------------------------------------- */

/*
 * A first ^C ends the run properly, as does the loss of the terminal (SIGHUP, unless under nohup).
 * A second ^C ends it at once, without aggregations.
 */
static volatile sig_atomic_t newline_due;
static const struct cmd *interrupted; /* its dtp is NULL once the library is being closed */

static void interrupt_note(int sig)
{
	(void)sig;
	interrupts++;
	newline_due = 1;
	if (interrupted->dtp)
		dtrace_interrupt(interrupted->dtp);
}

/* SIGUSR1 prints the aggregations as they are now, and the run goes on. */
static volatile sig_atomic_t print_due;

static void print_note(int sig)
{
	(void)sig;
	print_due = 1;
}

static void signals_catch(const struct cmd *c)
{
	struct sigaction print = {.sa_handler = print_note, .sa_flags = SA_RESTART}, is_now;

	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction act = {.sa_handler = interrupt_note}, old;

	interrupted = c;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &act, NULL);
	if (sigaction(SIGUSR1, NULL, &is_now) == 0 && is_now.sa_handler != SIG_IGN)
		sigaction(SIGUSR1, &print, NULL);
}

static void aggregations_print(struct cmd *c)
{
	if (dtrace_aggregate_print(c->dtp, c->out, NULL) == 0)
		return;
	output_check(c);
	if (interrupts < 2)
		cmd_fatal(c, "failed to print aggregations");
}

/* Answers SIGUSR1. What is one document or picture is written at the end only. */
static void aggregations_print_now(struct cmd *c)
{
	print_due = 0;
	if (cmd_form_kind(c) == FORM_IS_PICTURE || cmd_form_kind(c) == FORM_IS_SCREEN ||
	    cmd_output_form(c) == FORM_JSON) {
		fputs("dtrace: SIGUSR1 prints nothing: this form of output (oformat) is one whole\n",
		      stderr);
		return;
	}
	aggregations_print(c);
}

static int fault_print(const dtrace_errdata_t *fault, void *arg)
{
	return message_print(arg, fault->dteda_msg);
}

static int drop_print(const dtrace_dropdata_t *drop, void *arg)
{
	return message_print(arg, drop->dtdda_msg);
}

static int proc_print(dtrace_hdl_t *dtp, pid_t pid, const char *msg, void *arg)
{
	int64_t quiet;

	(void)pid;
	if (dtrace_getopt(dtp, "quiet", &quiet) == 0 && quiet > 0)
		return DTRACE_HANDLE_OK;
	return message_print(arg, msg);
}

static uint32_t programs_enable(struct cmd *c)
{
	uint32_t matches = 0;

	for (int i = 0; i < c->nprogs; i++) {
		struct cmd_prog *p = &c->progs[i];

		if (c->only_compile)
			dtrace_program_info(c->dtp, p->prog, &p->info);
		else if (dtrace_program_exec(c->dtp, p->prog, &p->info) != 0)
			cmd_fatal(c, "failed to enable '%s'", p->label);
		if (!c->only_compile)
			cmd_notice(c, "%s '%s' matched %u probe%s\n", prog_kind(p), p->label,
				   p->info.dpi_matches, p->info.dpi_matches == 1 ? "" : "s");
		if (c->verbose &&
		    dtrace_program_report(c->dtp, p->prog, prog_kind(p), p->label, c->only_compile,
					  is_structured(c) ? stderr : c->out))
			cmd_fatal(c, "failed to report on '%s'", p->label);
		matches += p->info.dpi_matches;
	}
	return matches;
}

static void handlers_set(struct cmd *c)
{
	if (dtrace_handle_err(c->dtp, fault_print, c) != 0)
		cmd_fatal(c, "failed to establish error handler");
	if (dtrace_handle_drop(c->dtp, drop_print, c) != 0)
		cmd_fatal(c, "failed to establish drop handler");
	if (dtrace_handle_proc(c->dtp, proc_print, c) != 0)
		cmd_fatal(c, "failed to establish proc handler");
	if (dtrace_handle_notice(c->dtp, notice_print, c) != 0)
		cmd_fatal(c, "failed to establish notice handler");
}

/* Ends the document that the library writes, for whatever reason the run ends. */
static void output_end(struct cmd *c)
{
	if (dtrace_output_end(c->dtp, c->out) == 0)
		return;
	output_check(c);
	if (interrupts < 2)
		cmd_fatal(c, "failed to end the output");
}

static void run_consume(struct cmd *c)
{
	bool done = false;

	do {
		if (!interrupts && !print_due)
			dtrace_sleep(c->dtp);
		if (newline_due) {
			newline_due = 0;
			if (!getenv("_DTRACE_TESTING") && !is_structured(c))
				fputc('\n', c->out);
		}
		if (interrupts) {
			done = true;
			if (dtrace_stop(c->dtp) != 0)
				cmd_fatal(c, "couldn't stop tracing");
		}
		switch (dtrace_work(c->dtp, c->out, NULL, NULL, NULL)) {
		case DTRACE_WORKSTATUS_DONE: done = true; break;
		case DTRACE_WORKSTATUS_OKAY: break;
		case DTRACE_WORKSTATUS_ERROR:
			output_check(c);
			if (interrupts < 2) {
				/* errors of ending the output would only follow the first error */
				(void)dtrace_output_end(c->dtp, c->out);
				cmd_fatal(c, "processing aborted");
			}
			done = true;
			break;
		}
		if (print_due && !done)
			aggregations_print_now(c);
		output_flush(c);
	} while (!done);
}

int cmd_trace_helpers(struct cmd *c)
{
	handlers_set(c);
	if (dtrace_helper_trace(c->dtp, c->out) != 0)
		cmd_fatal(c, "failed to trace ustack helpers");
	output_flush(c);
	return E_SUCCESS;
}

/* One that cannot be shown does not keep the others from being shown. */
int cmd_show_stacks(struct cmd *c)
{
	int status = E_SUCCESS;

	handlers_set(c);
	for (int i = 0; i < c->nstacks; i++) {
		if (dtrace_setopt(c->dtp, "pstack", c->stacks[i]) != 0 ||
		    dtrace_helper_trace(c->dtp, c->out) != 0) {
			cmd_error(c, "failed to show the stacks of %s", c->stacks[i]);
			cmd_hint(c);
			status = E_ERROR;
		}
		output_flush(c);
	}
	return status;
}

int cmd_run(struct cmd *c)
{
	int64_t destructive = DTRACEOPT_UNSET;
	uint32_t matches = programs_enable(c);
	int status;

	if (c->only_compile) {
		handlers_set(c); /* shows the warnings of the compiler */
		return E_SUCCESS;
	}
	if (matches == 0 && !c->zdefs)
		cmd_fatal(c, c->nprogs ? "no probes matched\n" : "no probes specified\n");
	handlers_set(c);
	signals_catch(c);
	if (cmd_form_kind(c) == FORM_IS_SCREEN && isatty(STDOUT_FILENO))
		c->held = open_memstream(&c->held_text, &c->held_len);
	if (dtrace_go(c->dtp) != 0)
		cmd_fatal(c, "could not enable tracing");
	progress_end();
	if (dtrace_getopt(c->dtp, "destructive", &destructive) == 0 && destructive > 0)
		cmd_notice(c, "allowing destructive actions\n");
	if (dtrace_proc_continue(c->dtp) != 0)
		cmd_fatal(c, "failed to release the traced processes");
	run_consume(c);
	if (interrupts < 2)
		aggregations_print(c);
	output_end(c);
	output_flush(c);
	status = dtrace_exit_status(c->dtp);
	return status < 0 ? E_SUCCESS : status & 0xff;
}

void cmd_version(struct cmd *c)
{
	puts("dtrace: Sun D 1.13");
	if (!c->verbose)
		return;
	puts("This is Fathom, DTrace for Linux, version " FATHOM_VERSION);
	if (dtrace_levels_print(stdout) != 0)
		cmd_fatal(c, "cannot tell what you may trace: %s\n", dtrace_open_errmsg());
}
