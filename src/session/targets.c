/* SPDX-License-Identifier: MIT */
/* Creates, holds and continues the processes of -c and -p (targets.h). */
#include "session/targets.h"

#include "base/str.h"
#include "kernel/kernel.h"
#include "privilege/privilege.h"
#include "probe/probe.h"
#include "target/control.h"
#include "session/options.h"
#include "session/report.h"
#include "image/debugfile.h"

static void target_tell(const struct targets *t, pid_t pid, const struct evaltime *how)
{
	if (how->nexecs)
		report_notice(t->report,
			      "process %d has executed another program before it came to the "
			      "place that the option evaltime names; it is held there in the "
			      "other program",
			      (int)pid);
	if (how->is_main_unknown)
		report_notice(t->report,
			      "cannot find main() of process %d, whose file has no symbol table: "
			      "it is held at its entry point",
			      (int)pid);
}

static struct proc_advance advance_make(const struct targets *t)
{
	return (struct proc_advance){.gate = t->env->files->gate,
				     .when = (enum proc_when)t->opts->val[OPT_evaltime],
				     .is_int3 = !feat_has(FEAT_HLT),
				     .interrupts = t->interrupts};
}

static struct err *target_advance(const struct targets *t, struct proc *p)
{
	const struct proc_advance how = advance_make(t);
	struct evaltime result;
	struct err *e = proc_advance(p, &how, &result);

	if (!e)
		target_tell(t, proc_pid(p), &result);
	return e;
}

/* Called before a provider reads the code of a process, which may be a target that is held. */
static struct err *target_prepare(void *ctx, pid_t pid)
{
	const struct targets *t = ctx;

	for (uint32_t i = 0; i < t->procs.len; i++)
		if (proc_pid(t->procs.data[i]) == pid)
			return target_advance(t, t->procs.data[i]);
	return NULL;
}

void targets_init(struct targets *t, const struct options *opts, struct report *report,
		  struct provider_env *env, const atomic_int *interrupts)
{
	*t = (struct targets){.opts = opts, .report = report, .env = env, .interrupts = interrupts};
	env->on_process = target_prepare;
	env->process_ctx = t;
}

void targets_deinit(struct targets *t)
{
	for (uint32_t i = 0; i < t->procs.len; i++)
		proc_destroy(t->procs.data[i]);
	vec_deinit(&t->procs);
}

static void target_add(struct targets *t, struct proc *p)
{
	vec_push(&t->procs, p);
	env_add_process(t->env, proc_pid(p));
}

/* The program runs as who has called us. */
static struct err *create_check(const struct privileges *p)
{
	if (!privileges_lack(p, LEVEL_PROC_OWNER) || p->uid == getuid())
		return NULL;
	return err_new("a program that is started here runs as user %u: this session is about "
		       "processes of user %u",
		       (unsigned int)getuid(), p->uid);
}

struct err *targets_create(struct targets *t, const char *cmd)
{
	struct proc *p;
	struct err *e = create_check(t->env->privileges);

	if (!e)
		e = proc_create(cmd, t->opts->envs.data, t->opts->envs.len, &p);

	if (e)
		return e;
	target_add(t, p);
	t->env->created = proc_pid(p);
	return NULL;
}

struct err *targets_grab(struct targets *t, pid_t pid)
{
	struct proc *p;
	struct err *e = privileges_check_process(t->env->privileges, pid);

	if (!e)
		e = proc_grab(pid, &p);

	if (!e)
		target_add(t, p);
	return e;
}

struct err *targets_continue(const struct targets *t)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < t->procs.len && !e; i++)
		e = proc_continue(t->procs.data[i]);
	return e;
}

pid_t targets_first(const struct targets *t)
{
	return t->procs.len ? proc_pid(t->procs.data[0]) : 0;
}

void targets_tell_first(struct targets *t)
{
	if (t->procs.len < 2 || t->is_told)
		return;
	t->is_told = true;
	report_notice(t->report,
		      "$target is process %d, the first of the %u of -c and -p; the provider pid* "
		      "in a probe description means all of them",
		      (int)targets_first(t), t->procs.len);
}

struct err *targets_hold(const struct targets *t)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < t->procs.len && !e; i++)
		e = target_advance(t, t->procs.data[i]);
	return e;
}

struct err *targets_advance(struct targets *t, bool *ret_is_there)
{
	const struct proc_advance how = advance_make(t);
	struct evaltime result;
	struct proc *p = NULL;
	struct err *e;

	*ret_is_there = false;
	for (uint32_t i = 0; i < t->procs.len && !p; i++)
		if (proc_is_created(t->procs.data[i]))
			p = t->procs.data[i];
	if (!p)
		return err_hint(err_new("no process was created that could be run on"),
				"call dtrace_proc_create() before");
	if (!proc_is_held(p) && !proc_is_reaped(p))
		return err_new("process %d was let go, and is not held any more", (int)proc_pid(p));
	if (t->is_advanced)
		return proc_advance_exec(p, &how, &result, ret_is_there);
	t->is_advanced = true;
	e = target_advance(t, p);
	*ret_is_there = !e;
	return e;
}

bool targets_gone(const struct targets *t)
{
	bool gone = t->procs.len > 0;

	for (uint32_t i = 0; i < t->procs.len; i++) {
		const char *msg;

		if (!proc_has_ended(t->procs.data[i], &msg)) {
			gone = false;
		} else if (msg) {
			struct strbuf text = {0};

			strbuf_addf(&text, "%s\n", msg);
			report_proc(t->report, proc_pid(t->procs.data[i]), text.data);
			strbuf_deinit(&text);
		}
	}
	return gone;
}
