/* SPDX-License-Identifier: MIT */
/* Probes of the kernel's modules that come while a session runs. */
#include "session/arrivals/impl.h"

#include "consume/wait.h"

/* A description without any pattern that has its probe means that probe. */
bool arrivals_clause_wants_modules(const struct arrivals *a, const struct provider_arrivals *from,
				   const struct session_clause *sc)
{
	const struct probe_desc *desc = &sc->clause->desc;
	bool is_literal = glob_is_literal(desc->func) && glob_is_literal(desc->name) && *desc->name;

	return from->modules && !sc->clause->derived &&
	       (!sc->n || !is_literal || (*desc->mod && !glob_is_literal(desc->mod))) &&
	       from->modules->wants(a->env, desc);
}

static void module_came(struct arrivals *a, const char *mod)
{
	struct err *e = NULL;

	for (uint32_t i = 0; provider_arrivals[i] && !e; i++) {
		const struct provider_arrivals *from = provider_arrivals[i];
		uint32_t batch;

		for (uint32_t k = 0;
		     from->modules && !e && (batch = from->modules->came(a->env, mod, k)); k++) {
			e = arrivals_batch_add(a, from, batch, NULL);
			(void)snprintf(vec_last(&a->batches)->mod, sizeof(a->batches.data[0].mod),
				       "%s", mod);
		}
	}
	if (e)
		report_adjusted(a->report, "the module '%s' has come and is not probed: %s", mod,
				err_text(e));
	else
		report_debug(a->report, "the module '%s' has come", mod);
	err_destroy(e);
}

/* Only probes that do not keep their module can go with it. */
static void module_gone(struct arrivals *a, const char *mod)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < a->batches.len && !e; i++)
		if (!a->batches.data[i].retired_at && strcmp(a->batches.data[i].mod, mod) == 0)
			e = arrivals_batch_retire(a, &a->batches.data[i]);
	if (e)
		report_adjusted(a->report, "the module '%s' has gone: %s", mod, err_text(e));
	err_destroy(e);
	report_debug(a->report, "the module '%s' has gone", mod);
}

void arrivals_modules_look(struct arrivals *a)
{
	struct module_event ev;

	while (modules_next(a->modules_fd, &ev))
		switch (ev.kind) {
		case MODULE_COME: module_came(a, ev.name); break;
		case MODULE_GONE: module_gone(a, ev.name); break;
		case MODULE_LOST:
			report_adjusted(a->report,
					"the kernel has lost reports of modules: some that have "
					"come may not be probed");
			break;
		}
}

void arrivals_modules_start(struct arrivals *a)
{
	int fd = a->modules_fd;
	struct err *e = fd < 0 ? err_new("the kernel does not report them")
			       : waiter_listen(a->live->waiter, fd);

	if (e)
		report_adjusted(a->report, "modules that come from now on are not probed: %s",
				err_text(e));
	err_destroy(e);
}
