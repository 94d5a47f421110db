/* SPDX-License-Identifier: MIT */
/* Makes the symbols of a session, and applies options to them (names.h). */
#include "session/names.h"

#include <inttypes.h>

#include "target/control.h"
#include "privilege/privilege.h"
#include "session/options.h"
#include "session/report.h"
#include "session/targets.h"
#include "files/gate.h"
#include "image/image.h"
#include "sym/sym.h"

/* Option quiet does not drop these notices: a file that cannot be read limits what is shown. */
static void file_notice_give(void *ctx, const char *msg)
{
	report_adjusted(((struct names *)ctx)->report, "%s", msg);
}

void names_init(struct names *n, const struct options *opts, struct report *report)
{
	*n = (struct names){.opts = opts, .report = report};
	n->file_opts.gate = gate_create();
	n->file_opts.images = image_set_create();
	gate_on_notice(n->file_opts.gate, file_notice_give, n);
}

void names_deinit(struct names *n)
{
	syms_destroy(n->syms);
	image_set_destroy(n->file_opts.images);
	gate_destroy(n->file_opts.gate);
}

/* The same holds for names that the kernel hides, or that were forgotten. */
static void notice_give(void *ctx, const char *msg)
{
	report_adjusted(((struct names *)ctx)->report, "%s", msg);
}

/* The reason is the same for the stacks of all processes of other users, so it is said once. */
void names_denied(void *ctx, uint64_t pid)
{
	struct names *n = ctx;

	if (n->is_denial_told)
		return;
	n->is_denial_told = true;
	report_adjusted(n->report,
			"the files of process %" PRIu64
			" cannot be read, for want of privilege: its stacks, and those of "
			"others like it, may be cut and without names\n"
			"hint: processes of other users need CAP_SYS_PTRACE, "
			"CAP_CHECKPOINT_RESTORE and CAP_DAC_READ_SEARCH, too; try sudo",
			pid);
}

void names_refresh(struct names *n)
{
	const struct sym_opts opts = {
		.is_raw = !opt_flag(n->opts, OPT_demangle),
		.max_bytes = (uint64_t)n->opts->val[OPT_namesize],
		.files = &n->file_opts,
	};
	const char *dirs = n->opts->str[OPT_debugdir];

	n->file_opts.debug_dirs = dirs ? dirs : DEBUG_DIRS_DEFAULT;
	n->file_opts.limit = (uint64_t)n->opts->val[OPT_elfsize];
	gate_set_wait(n->file_opts.gate, (uint64_t)n->opts->val[OPT_filewait]);
	gate_set_distrust(n->file_opts.gate,
			  privileges_lack(n->opts->privileges, LEVEL_PROC_OWNER));
	if (n->syms)
		syms_set_opts(n->syms, &opts);
}

struct syms *names_syms(struct names *n)
{
	if (!n->syms) {
		n->syms = syms_create();
		syms_on_notice(n->syms, notice_give, names_denied, n);
		names_refresh(n);
	}
	return n->syms;
}

void names_add_targets(struct names *n, const struct targets *targets)
{
	if (!n->syms)
		return;
	syms_tick(n->syms);
	for (uint32_t i = 0; i < targets->procs.len; i++)
		syms_see(n->syms, (uint64_t)proc_pid(targets->procs.data[i]));
}
