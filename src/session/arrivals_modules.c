/* SPDX-License-Identifier: MIT */
/* Probes of the kernel's modules that come while a session runs. */
#include "session/arrivals_impl.h"

#include "consume/wait.h"

/* A description without any pattern that has its probe means that probe. */
bool later_clause_wants_modules(const struct run *run, const struct provider_arrivals *from,
				const struct session_clause *sc)
{
	const struct probe_desc *desc = &sc->clause->desc;
	bool is_literal = glob_is_literal(desc->func) && glob_is_literal(desc->name) && *desc->name;

	return from->modules && !sc->clause->derived &&
	       (!sc->n || !is_literal || (*desc->mod && !glob_is_literal(desc->mod))) &&
	       from->modules->wants(probes_env(run->probes), desc);
}

static void module_came(struct run *run, const char *mod)
{
	struct err *e = NULL;

	for (uint32_t i = 0; provider_arrivals[i] && !e; i++) {
		const struct provider_arrivals *from = provider_arrivals[i];
		uint32_t batch;

		for (uint32_t k = 0; from->modules && !e &&
				     (batch = from->modules->came(probes_env(run->probes), mod, k));
		     k++) {
			e = later_batch_add(run, from, batch, NULL);
			(void)snprintf(vec_last(&run->later->batches)->mod,
				       sizeof(run->later->batches.data[0].mod), "%s", mod);
		}
	}
	if (e)
		report_adjusted(run->report, "the module '%s' has come and is not probed: %s", mod,
				err_text(e));
	else
		report_debug(run->report, "the module '%s' has come", mod);
	err_destroy(e);
}

/* Only probes that do not keep their module can go with it. */
static void module_gone(struct run *run, const char *mod)
{
	struct later *l = run->later;
	struct err *e = NULL;

	for (uint32_t i = 0; i < l->batches.len && !e; i++)
		if (!l->batches.data[i].retired_at && strcmp(l->batches.data[i].mod, mod) == 0)
			e = later_batch_retire(run, &l->batches.data[i]);
	if (e)
		report_adjusted(run->report, "the module '%s' has gone: %s", mod, err_text(e));
	err_destroy(e);
	report_debug(run->report, "the module '%s' has gone", mod);
}

void later_modules_look(struct run *run)
{
	struct module_event ev;

	while (modules_next(run->later->modules_fd, &ev))
		switch (ev.kind) {
		case MODULE_COME: module_came(run, ev.name); break;
		case MODULE_GONE: module_gone(run, ev.name); break;
		case MODULE_LOST:
			report_adjusted(run->report,
					"the kernel has lost reports of modules: some that have "
					"come may not be probed");
			break;
		}
}

void later_modules_start(struct run *run)
{
	int fd = run->later->modules_fd;
	struct err *e = fd < 0 ? err_new("the kernel does not report them")
			       : waiter_listen(run->waiter, fd);

	if (e)
		report_adjusted(run->report, "modules that come from now on are not probed: %s",
				err_text(e));
	err_destroy(e);
}
