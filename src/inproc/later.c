/* SPDX-License-Identifier: MIT */
/* Files that the process maps after it was entered. */
#include "inproc/impl.h"

struct err *inproc_maps_renew(struct inproc *p)
{
	struct proc_maps maps;
	struct err *e = proc_maps_read(p->opts.pid, &maps);

	if (e)
		return e;
	if (p->has_maps)
		proc_maps_deinit(&p->maps);
	p->maps = maps;
	p->has_maps = true;
	return NULL;
}

/* The kind of place that is in code of processes. */
static enum place_kind code_kind_find(void)
{
	enum place_kind kind = 0;

	while (!place_traits(kind)->is_in_process)
		kind++;
	return kind;
}

bool inproc_has_code(const struct inproc *p, uint32_t clause, const struct layout *l)
{
	struct unit_clause one = {.layout = &l->clauses[clause]};
	enum place_kind kind = code_kind_find();
	const struct unit u = {.place.kind = kind, .clauses = &one, .nclauses = 1, .nwords = 1};
	const char *why;

	return inproc_takes_clause(p, &u, 0, l, &why);
}

bool inproc_takes_later(const struct inproc *p, uint32_t clause)
{
	return p->clauses && clause < p->layout->nclauses && p->clauses[clause];
}

static bool is_of_unit(const struct inproc_file *f, const struct unit *u)
{
	return f->sites.len && f->sites.data[0].unit == u;
}

struct err *inproc_survey_later(struct inproc *p, const struct unit *u, const char **ret_lacks)
{
	struct err *e = inproc_maps_renew(p);

	if (!e)
		e = inproc_survey(p, u, ret_lacks);
	for (uint32_t i = 0; i < p->files.len && !e; i++)
		if (is_of_unit(p->files.data[i], u))
			inproc_file_fit(p, p->files.data[i], ret_lacks);
	return e;
}

void inproc_forget_unit(struct inproc *p, const struct unit *u)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->files.len; i++)
		if (is_of_unit(p->files.data[i], u))
			inproc_file_destroy(p->files.data[i]);
		else
			p->files.data[n++] = p->files.data[i];
	p->files.len = n;
}
