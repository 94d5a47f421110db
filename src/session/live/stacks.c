/* SPDX-License-Identifier: MIT */
/* What the user stacks of a session (stacks/stacks.h) are given: options, files, targets. */
#include "stacks/stacks.h"

#include "arch/arch.h"
#include "consume/wait.h"
#include "privilege/privilege.h"
#include "session/live/interpreters.h"
#include "session/live/live.h"
#include "target/control.h"
#include "unwind/tables.h"
#include "watch/watch.h"

static void notice_stacks(void *ctx, const char *msg)
{
	report_notice(((struct live *)ctx)->report, "%s", msg);
}

static void adjusted_stacks(void *ctx, const char *msg)
{
	report_adjusted(((struct live *)ctx)->report, "%s", msg);
}

static void debug_stacks(void *ctx, const char *msg)
{
	report_debug(((struct live *)ctx)->report, "%s", msg);
}

static void denied_stacks(void *ctx, uint64_t pid)
{
	names_denied(((struct live *)ctx)->names, pid);
}

static void between_stacks(void *ctx)
{
	watch_drain(((struct live *)ctx)->watch);
}

/* The folders of ustack helpers: below those of libraries. */
static const char *const *helper_dirs(struct live *live)
{
	const char **dirs = ARENA_NEW_N(live->arena, const char *, live->opts->libdirs.len);

	for (uint32_t i = 0; i < live->opts->libdirs.len; i++)
		dirs[i] = arena_printf(live->arena, "%s/helpers",
				       (const char *)live->opts->libdirs.data[i]);
	return dirs;
}

/* The files whose names ustack helpers may use. */
static const char *const *helper_preludes(struct live *live, const char *library)
{
	const char **paths = ARENA_NEW_N(live->arena, const char *, 3);

	paths[0] = arena_printf(live->arena, "%s/%s/regs.d", library, arch.name);
	paths[1] = arena_printf(live->arena, "%s/helpers/prelude/prelude.d", library);
	return paths;
}

void live_helper_opts(struct live *live, struct ustack_opts *ret)
{
	const char *library = library_system_dir(live->opts->str[OPT_syslibdir]);

	/* helpers calculate with addresses of their own memory, which is the kernel's */
	bool is_system_only = privileges_lack(live->privileges, LEVEL_KERNEL);

	*ret = (struct ustack_opts){
		.file = is_system_only ? NULL : live->opts->str[OPT_helper],
		.preludes = helper_preludes(live, library),
		.dirs = helper_dirs(live),
		.ndirs = is_system_only ? 0 : live->opts->libdirs.len,
		.is_system_only = is_system_only,
		.system_dir = arena_printf(live->arena, "%s/helpers", library),
		.compile = &live->compiler->compile_opts,
		.files = &live->names->file_opts,
		.ctx = live,
		.notice = adjusted_stacks,
		.debug = report_is_debugging(live->report) ? debug_stacks : NULL,
	};
}

struct err *live_make_stacks(struct live *live)
{
	struct stacks_opts opts = {
		.needs = live->stack_needs,
		.max_frames = live->opts->val[OPT_maxframes],
		.unwindsize = (uint64_t)live->opts->val[OPT_unwindsize],
		.ctx = live,
		.notice = notice_stacks,
		.adjusted = adjusted_stacks,
		.debug = report_is_debugging(live->report) ? debug_stacks : NULL,
		.denied = denied_stacks,
		.between = between_stacks,
	};

	live_helper_opts(live, &opts.helpers);
	if (opts.helpers.is_system_only && live->opts->str[OPT_helper])
		report_adjusted(live->report, "option helper needs dtrace_kernel: only the "
					      "system's ustack helpers are used");
	return stacks_create(&opts, &live->stacks);
}

struct err *live_begin_stacks(struct live *live)
{
	const struct stack_tables *engine = engines_tables(&live->engines);
	struct err *e;

	if (!engine)
		return NULL;
	e = waiter_listen(live->waiter, engine->request_fd);
	return e ? e : stacks_begin(live->stacks, engine);
}

static bool is_target(const struct targets *t, pid_t pid)
{
	for (uint32_t i = 0; i < t->procs.len; i++)
		if (proc_pid(t->procs.data[i]) == pid)
			return true;
	return false;
}

void live_prepare_stacks(struct live *live)
{
	uint32_t n = live->targets->procs.len;
	struct interpreters held = {0};
	VEC(struct stack_process) named = {0};

	for (uint32_t i = 0; i < n; i++) {
		const struct proc *p = live->targets->procs.data[i];

		vec_push(&named, ((struct stack_process){proc_pid(p), proc_is_created(p)}));
		if (proc_is_created(p) && stacks_has_helpers(live->stacks))
			interpreters_hold(&held, live, proc_pid(p));
	}
	for (uint32_t i = 0; i < live->stack_needs.npids; i++) {
		pid_t pid = (pid_t)live->stack_needs.pids[i];

		if (live->stack_needs.pids[i] <= INT32_MAX && !is_target(live->targets, pid))
			vec_push(&named, ((struct stack_process){pid, false}));
	}
	for (uint32_t i = 0; i < held.procs.len; i++)
		vec_push(&named, ((struct stack_process){proc_pid(held.procs.data[i]), true}));
	stacks_prepare(live->stacks, named.data, named.len, &live->is_interrupted);
	interpreters_release(&held);
	vec_deinit(&named);
}
