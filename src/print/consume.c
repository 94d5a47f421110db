/* Actions of a record, in its order: what prints and what takes effect here (d-language.md 5.2). */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "print/impl.h"

extern char **environ;

/* ---- around records ------------------------------------------------------------------------ */

/* A failed request ends neither the record nor the run: it is reported like a fault. */
void printer_fault(struct printer *p, struct err *e)
{
	if (p->hooks.fault)
		p->hooks.fault(p->hooks.ctx, p->rec->clause, p->rec->probe, err_text(e));
	err_destroy(e);
}

struct err *printer_snap(struct printer *p)
{
	if (p->is_snapped || !p->hooks.snap)
		return NULL;
	p->is_snapped = true;
	return p->hooks.snap(p->hooks.ctx);
}

/* Fields of an action as arguments of its format. */
struct field_args {
	struct fmt_args args;
	struct printer *p;
	const struct act_layout *al;
	uint32_t next;
	struct err *err; /* the first */
};

static bool field_next(struct fmt_args *args, struct datum *ret)
{
	struct field_args *f = CONTAINER_OF(args, struct field_args, args);

	if (!f->err)
		f->err = act_datum(f->p, f->al, f->next++, ret);
	return !f->err;
}

struct err *act_format(struct printer *p, struct out *o, const struct act_layout *al,
		       const struct fmt *fmt)
{
	struct field_args f = {.args = {field_next, NULL}, .p = p, .al = al};

	if (fmt)
		fmt_print(p, o, fmt, &f.args);
	return f.err;
}

/* The text of an action's format, in the record's memory. */
static struct err *act_text(struct printer *p, const struct act_layout *al, const struct fmt *fmt,
			    size_t max, char **ret_text)
{
	struct out text = {0};
	struct err *e = act_format(p, &text, al, fmt);

	if (!e)
		*ret_text =
			arena_strndup(p->scratch, text.data ? text.data : "", MIN(text.len, max));
	out_deinit(&text);
	return e;
}

/* A string field as a C string in the record's memory. */
static struct err *act_string(struct printer *p, const struct act_layout *al, uint32_t i,
			      char **ret_text)
{
	struct datum d;
	struct err *e = act_datum(p, al, i, &d);

	if (e)
		return e;
	if (d.bytes)
		*ret_text = arena_strndup(p->scratch, d.bytes, d.size);
	else
		*ret_text = arena_printf(p->scratch, "%lld", (long long)d.ival);
	return NULL;
}

/* ---- data ---------------------------------------------------------------------------------- */

typedef struct err *act_func(struct printer *p, const struct prog_act *act,
			     const struct act_layout *al, const struct fmt *fmt);

static struct err *act_trace(struct printer *p, const struct prog_act *act,
			     const struct act_layout *al, const struct fmt *fmt)
{
	struct datum d;
	struct err *e = act_datum(p, al, 0, &d);

	if (!e)
		print_trace(p, &p->out, &d);
	return e;
}

/* The third argument of tracemem(), when it is there, says how much of the memory shows. */
static struct err *act_tracemem(struct printer *p, const struct prog_act *act,
				const struct act_layout *al, const struct fmt *fmt)
{
	struct datum d, dyn;
	struct err *e = act_datum(p, al, 0, &d);
	uint32_t size;

	if (e)
		return e;
	size = d.bytes ? d.size : 0;
	if (al->nfields > 1) {
		e = act_datum(p, al, 1, &dyn);
		if (e)
			return e;
		if ((int64_t)datum_int(&dyn) >= 0 && datum_int(&dyn) < size)
			size = (uint32_t)datum_int(&dyn);
	}
	print_raw(&p->out, d.bytes, size);
	return NULL;
}

static struct err *act_pcap(struct printer *p, const struct prog_act *act,
			    const struct act_layout *al, const struct fmt *fmt)
{
	return print_packet(p, act, al);
}

static struct err *act_print(struct printer *p, const struct prog_act *act,
			     const struct act_layout *al, const struct fmt *fmt)
{
	struct datum d;
	struct err *e = act_datum(p, al, 0, &d);

	if (!e)
		print_shape(p, &p->out, act->shape, &d);
	return e;
}

static struct err *act_printf(struct printer *p, const struct prog_act *act,
			      const struct act_layout *al, const struct fmt *fmt)
{
	return act_format(p, &p->out, al, fmt);
}

static struct err *act_printa(struct printer *p, const struct prog_act *act,
			      const struct act_layout *al, const struct fmt *fmt)
{
	return print_printa(p, act, fmt);
}

/* ---- the session --------------------------------------------------------------------------- */

static struct err *act_exit(struct printer *p, const struct prog_act *act,
			    const struct act_layout *al, const struct fmt *fmt)
{
	struct datum d;
	struct err *e = act_datum(p, al, 0, &d);

	if (!e && p->hooks.exit)
		p->hooks.exit(p->hooks.ctx, (int)datum_int(&d));
	return e;
}

static struct err *act_setopt(struct printer *p, const struct prog_act *act,
			      const struct act_layout *al, const struct fmt *fmt)
{
	char *name, *value = NULL;
	struct err *e = act_string(p, al, 0, &name);

	if (!e && al->nfields > 1)
		e = act_string(p, al, 1, &value);
	if (e || !p->hooks.setopt)
		return e;
	if (!value)
		value = arena_strdup(p->scratch, "1");
	e = p->hooks.setopt(p->hooks.ctx, name, value);
	if (e)
		printer_fault(p, err_wrap(e, "couldn't set option \"%s\" to \"%s\"", name, value));
	return NULL;
}

/* ---- aggregations -------------------------------------------------------------------------- */

static struct err *act_clear(struct printer *p, const struct prog_act *act,
			     const struct act_layout *al, const struct fmt *fmt)
{
	struct err *e = printer_snap(p);

	return e ? e : aggs_clear(p->aggs, act->aggs[0]->id);
}

static struct err *act_trunc(struct printer *p, const struct prog_act *act,
			     const struct act_layout *al, const struct fmt *fmt)
{
	struct datum d = {0};
	struct err *e = printer_snap(p);

	if (!e && al->nfields)
		e = act_datum(p, al, 0, &d);
	if (e)
		return e;
	return aggs_trunc(p->aggs, act->aggs[0]->id, (int64_t)datum_int(&d), &p->opts->sort);
}

static struct err *act_normalize(struct printer *p, const struct prog_act *act,
				 const struct act_layout *al, const struct fmt *fmt)
{
	struct datum d;
	struct err *e = act_datum(p, al, 0, &d);

	if (e)
		return e;
	e = aggs_normalize(p->aggs, act->aggs[0]->id, datum_int(&d));
	if (e)
		printer_fault(p, e);
	return NULL;
}

static struct err *act_denormalize(struct printer *p, const struct prog_act *act,
				   const struct act_layout *al, const struct fmt *fmt)
{
	aggs_denormalize(p->aggs, act->aggs[0]->id);
	return NULL;
}

/* ---- the world ----------------------------------------------------------------------------- */

/* The command writes where our output goes, when freopen() has sent it elsewhere. */
static int spawn_shell(const char *command, FILE *redirect, pid_t *ret_pid)
{
	static char shell[] = "sh", option[] = "-c";
	char *argv[] = {shell, option, (char *)(uintptr_t)command, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int sys;

	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&actions);
	if (redirect)
		posix_spawn_file_actions_adddup2(&actions, fileno(redirect), STDOUT_FILENO);
	sys = posix_spawn(ret_pid, "/bin/sh", &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return sys;
}

static struct err *act_system(struct printer *p, const struct prog_act *act,
			      const struct act_layout *al, const struct fmt *fmt)
{
	struct err *e;
	char *command;
	pid_t pid;
	int sys, status;

	e = act_text(p, al, fmt, p->layout->strsize ? p->layout->strsize - 1 : 0, &command);
	if (!e)
		e = printer_flush(p, p->fp);
	if (e)
		return e;
	sys = spawn_shell(command, printer_redirect(p), &pid);
	if (sys) {
		printer_fault(p, err_sys(sys, "couldn't run system() \"%s\"", command));
		return NULL;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return NULL;
}

static struct err *act_freopen(struct printer *p, const struct prog_act *act,
			       const struct act_layout *al, const struct fmt *fmt)
{
	FILE *file = NULL;
	struct err *e;
	char *name;

	e = act_text(p, al, fmt, SIZE_MAX, &name);
	if (!e)
		e = printer_flush(p, p->fp);
	if (e)
		return e;
	if (*name) {
		file = fopen(name, "ae");
		if (!file) {
			printer_fault(p, err_sys(errno, "couldn't freopen() \"%s\"", name));
			return NULL;
		}
	}
	if (p->redirect && fclose(p->redirect) != 0)
		e = err_sys(errno, "failed to write to freopen() file");
	p->redirect = file;
	p->is_capture = false;
	return e;
}

static struct err *act_ftruncate(struct printer *p, const struct prog_act *act,
				 const struct act_layout *al, const struct fmt *fmt)
{
	FILE *fp = printer_fp(p, p->fp);
	struct err *e = printer_flush(p, p->fp);

	/* Terminals and pipes have no length; there it does nothing. */
	if (!e && ftruncate(fileno(fp), 0) == 0)
		rewind(fp);
	return e;
}

/* ---- table --------------------------------------------------------------------------------- */

static act_func *const act_funcs[] = {
#define ACT_RECORD(id, name, proto, flags, holds, check, datum, shown_by, ...)                     \
	[ACT_##id] = act_##shown_by,
#include "dif/acts.def"
};

struct err *print_act(struct printer *p, const struct prog_act *act, const struct act_layout *al,
		      const struct fmt *fmt)
{
	if ((size_t)act->kind >= ARRAY_LEN(act_funcs) || !act_funcs[act->kind])
		BUG("action %d records nothing", (int)act->kind);
	return act_funcs[act->kind](p, act, al, fmt);
}
