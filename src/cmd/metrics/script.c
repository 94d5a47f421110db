/* SPDX-License-Identifier: MIT */
/* A script: a session whose aggregations are metrics. */
#include <errno.h>
#include <libgen.h>
#include <time.h>

#include "metrics.h"

/* ---- what the script says -------------------------------------------------------------------- */

static void library_say(const struct script *s, const char *what)
{
	const char *hint = dtrace_errhint(s->hdl);

	say("%s: %s: %s", s->path, what, dtrace_errmsg(s->hdl, dtrace_errno(s->hdl)));
	if (hint)
		say("hint: %s", hint);
}

static int drop_note(const dtrace_dropdata_t *drop, void *arg)
{
	struct script *s = arg;

	s->ndrops += drop->dtdda_drops;
	say("%s: %.*s", s->path, (int)strcspn(drop->dtdda_msg, "\n"), drop->dtdda_msg);
	return DTRACE_HANDLE_OK;
}

static int notice_note(dtrace_hdl_t *hdl, const char *msg, void *arg)
{
	const struct script *s = arg;
	const char *hint = strchr(msg, '\n');

	(void)hdl;
	say("%s: %.*s", s->path, (int)strcspn(msg, "\n"), msg);
	if (hint && hint[1])
		say("%.*s", (int)strcspn(hint + 1, "\n"), hint + 1);
	return DTRACE_HANDLE_OK;
}

static int fault_note(const dtrace_errdata_t *fault, void *arg)
{
	struct script *s = arg;

	s->nerrors += fault->dteda_count;
	say("%s: %.*s", s->path, (int)strcspn(fault->dteda_msg, "\n"), fault->dteda_msg);
	return DTRACE_HANDLE_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

static char *file_read(const char *path)
{
	struct strbuf text = {0};
	char room[4096];
	FILE *fp = fopen(path, "re");
	size_t n;

	if (!fp)
		return NULL;
	while ((n = fread(room, 1, sizeof(room), fp)) > 0)
		strbuf_add(&text, room, n);
	strbuf_adds(&text, "");
	(void)fclose(fp);
	return text.data;
}

static char *script_name(const char *path)
{
	char *copy = mem_check(strdup(path)), *base = basename(copy), *name;
	size_t len = strlen(base);

	if (len > 2 && strcmp(base + len - 2, ".d") == 0)
		base[len - 2] = '\0';
	name = mem_check(strdup(base));
	utf8_clean(name);
	free(copy);
	return name;
}

static bool script_start(struct script *s)
{
	dtrace_prog_t *prog;
	char *argv[] = {s->path, NULL};
	FILE *fp = fopen(s->path, "re");

	if (!fp) {
		say("%s: %s", s->path, strerror(errno));
		return false;
	}
	prog = dtrace_program_fcompile(s->hdl, fp, s->path, 0, 1, argv);
	(void)fclose(fp);
	if (!prog || dtrace_program_exec(s->hdl, prog, NULL) != 0) {
		library_say(s, "cannot compile");
		return false;
	}
	(void)dtrace_handle_drop(s->hdl, drop_note, s);
	(void)dtrace_handle_err(s->hdl, fault_note, s);
	if (dtrace_go(s->hdl) != 0) {
		library_say(s, "cannot trace");
		return false;
	}
	return directives_check(s->path, s->directives, s->hdl);
}

struct script *script_open(struct exporter *x, const char *path)
{
	struct script *s = mem_check(calloc(1, sizeof(*s)));
	char *text = file_read(path);
	bool is_good;
	int error;

	s->read_ns = x->started_ns;
	s->path = mem_check(strdup(path));
	s->name = script_name(path);
	s->is_refused = true;
	is_good = !text || directives_parse(path, text, &s->directives);
	free(text);
	if (!is_good)
		return s;
	s->hdl = dtrace_open(DTRACE_VERSION, 0, &error);
	if (!s->hdl) {
		say("%s: %s", path, dtrace_open_errmsg());
		return s;
	}
	/* what the script prints is data alone; its own options come later, and win */
	(void)dtrace_setopt(s->hdl, "quiet", NULL);
	(void)dtrace_handle_notice(s->hdl, notice_note, s);
	s->is_up = script_start(s);
	s->is_refused = !s->is_up;
	if (s->is_refused) {
		dtrace_close(s->hdl);
		s->hdl = NULL;
	}
	return s;
}

void script_close(struct script *s)
{
	dtrace_close(s->hdl);
	for (uint32_t i = 0; i < s->naggs; i++)
		metric_destroy(s->aggs[i].metric);
	directives_free(s->directives);
	free(s->aggs);
	free(s->path);
	free(s->name);
	free(s);
}

/* ---- consuming ------------------------------------------------------------------------------- */

static struct script_agg *agg_get(struct script *s, uint32_t id)
{
	if (id >= s->naggs) {
		s->aggs = mem_check(realloc(s->aggs, (id + 1) * sizeof(*s->aggs)));
		while (s->naggs <= id)
			s->aggs[s->naggs++] = (struct script_agg){.normal = 1};
	}
	return &s->aggs[id];
}

static int probe_pass(const dtrace_probedata_t *data, void *arg)
{
	(void)data;
	(void)arg;
	return DTRACE_CONSUME_THIS;
}

/* normalize() by 0 is left to the library, which reports it. */
static int factor_take(struct script *s, const dtrace_probedata_t *data,
		       const dtrace_recdesc_t *rec)
{
	dtrace_datum_t factor = {.dtd_value = 1};

	if (rec->dtrd_action == DTRACEACT_NORMALIZE && dtrace_recdata(data, rec, &factor) != 0)
		return DTRACE_CONSUME_ERROR;
	for (uint32_t i = 0; i < rec->dtrd_naggs; i++)
		agg_get(s, rec->dtrd_aggs[i])->normal = factor.dtd_value ? factor.dtd_value : 1;
	return factor.dtd_value ? DTRACE_CONSUME_NEXT : DTRACE_CONSUME_THIS;
}

/*
 * Aggregations are metrics: printa() shows nothing, and clear() and trunc() are only noted, because
 * the rows have to be read before they go. normalize() is noted, too: series hold what was counted.
 */
static int action_take(const dtrace_probedata_t *data, const dtrace_recdesc_t *rec, void *arg)
{
	struct script *s = arg;

	switch (rec ? (int)rec->dtrd_action : DTRACEACT_NONE) {
	case DTRACEACT_PRINTA: return DTRACE_CONSUME_NEXT;
	case DTRACEACT_NORMALIZE:
	case DTRACEACT_DENORMALIZE: return factor_take(s, data, rec);
	case DTRACEACT_CLEAR:
	case DTRACEACT_TRUNC:
		for (uint32_t i = 0; i < rec->dtrd_naggs; i++)
			agg_get(s, rec->dtrd_aggs[i])->is_due = true;
		return DTRACE_CONSUME_NEXT;
	default: return DTRACE_CONSUME_THIS;
	}
}

static void script_end(struct script *s)
{
	s->is_up = false;
	dtrace_close(s->hdl);
	s->hdl = NULL;
}

static bool has_due(const struct script *s)
{
	for (uint32_t i = 0; i < s->naggs; i++)
		if (s->aggs[i].is_due)
			return true;
	return false;
}

void script_work(struct exporter *x, struct script *s)
{
	dtrace_workstatus_t status;

	if (!s->hdl)
		return;
	status = dtrace_work(s->hdl, stdout, probe_pass, action_take, s);
	(void)fflush(stdout);
	if (status == DTRACE_WORKSTATUS_OKAY) {
		if (has_due(s))
			script_read(x, s);
		return;
	}
	if (status == DTRACE_WORKSTATUS_ERROR)
		library_say(s, "cannot continue tracing");
	else
		say("%s: has ended; its metrics stay as they are", s->path);
	script_read(x, s);
	if (s->hdl)
		script_end(s);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct walk {
	struct reading reading;
	struct script *s;
};

/* Whether another metric has the name already; prints a warning then. */
static bool name_is_taken(struct exporter *x, const struct script *s, const struct metric *m)
{
	for (uint32_t i = 0; i < x->nscripts; i++)
		for (uint32_t k = 0; k < x->scripts[i]->naggs; k++) {
			const struct metric *other = x->scripts[i]->aggs[k].metric;

			if (!other || strcmp(other->name, m->name) != 0)
				continue;
			say("%s: '%s' of %s has the name, too: say 'name=' in a '@metric' comment",
			    s->path, m->name, x->scripts[i]->path);
			return true;
		}
	return false;
}

/* NULL: the aggregation is refused; the warning was printed. */
static struct metric *metric_get(struct walk *w, const dtrace_aggdata_t *row)
{
	uint32_t id = row->dtada_desc->dtagd_varid;
	struct script *s = w->s;
	struct script_agg *agg = agg_get(s, id);
	struct metric *m;

	if (agg->metric || agg->is_refused)
		return agg->metric;
	if (row->dtada_nkeys > KEYS_MAX) {
		say("%s: '@%s' is no metric: it has %u keys, and %u are the most", s->path,
		    row->dtada_desc->dtagd_name, row->dtada_nkeys, KEYS_MAX);
		agg->is_refused = true;
		return NULL;
	}
	m = metric_create(w->reading.x, s, row->dtada_desc, row->dtada_nkeys);
	if (name_is_taken(w->reading.x, s, m)) {
		char *unique = NULL;

		if (asprintf(&unique, "%s_%s_%u", m->name, s->name, id) < 0)
			mem_check(NULL);
		free(m->name);
		m->name = name_clean(unique);
		free(unique);
	}
	agg->metric = m;
	return m;
}

static int row_take(const dtrace_aggdata_t *row, void *arg)
{
	struct walk *w = arg;
	struct metric *m = metric_get(w, row);
	const struct script_agg *agg = &w->s->aggs[row->dtada_desc->dtagd_varid];

	if (!m)
		return agg->is_due ? DTRACE_AGGWALK_REMOVE : DTRACE_AGGWALK_NEXT;
	m->normal = agg->normal;
	return metric_row(&w->reading, m, row, agg->is_due);
}

void script_read(struct exporter *x, struct script *s)
{
	struct walk w = {.s = s};

	if (!s->hdl)
		return;
	w.reading = (struct reading){x, ++s->nreadings, clock_ns(), s->read_ns};
	if (dtrace_aggregate_snap(s->hdl) != 0 ||
	    dtrace_aggregate_walk(s->hdl, row_take, &w) != 0) {
		library_say(s, "cannot read aggregations");
		script_end(s);
		return;
	}
	s->read_ns = clock_real_ns();
	for (uint32_t i = 0; i < s->naggs; i++) {
		s->aggs[i].is_due = false;
		if (s->aggs[i].metric)
			metric_read(&w.reading, s->aggs[i].metric);
	}
}

void exporter_read(struct exporter *x)
{
	uint64_t start = clock_ns();

	for (uint32_t i = 0; i < x->nscripts; i++) {
		script_work(x, x->scripts[i]);
		script_read(x, x->scripts[i]);
	}
	x->reading_seconds = (double)(clock_ns() - start) / 1e9;
}

void metrics_visit(struct exporter *x, metric_func *func, void *arg)
{
	for (uint32_t i = 0; i < x->nscripts; i++)
		for (uint32_t k = 0; k < x->scripts[i]->naggs; k++)
			if (x->scripts[i]->aggs[k].metric)
				func(x, x->scripts[i], x->scripts[i]->aggs[k].metric, arg);
}

void own_visit(struct exporter *x, own_func *func, void *arg)
{
	static const struct own_metric
		up = {"fathom_script_up", "Whether the script traces", false, {"script"}, 0},
		drops = {"fathom_script_drops",
			 "Records and increments that were lost",
			 true,
			 {"script"},
			 0},
		errors = {"fathom_script_errors", "Faults of clauses", true, {"script"}, 0},
		over = {"fathom_overflow_rows",
			"Rows beyond the limit of a metric's series",
			true,
			{"metric"},
			0},
		series = {"fathom_series", "Series of all metrics", false, {NULL}, 0},
		reading = {"fathom_reading_seconds",
			   "How long the last reading took",
			   false,
			   {NULL},
			   0},
		errs = {"fathom_push_errors", "Messages that could not be sent", true, {NULL}, 0};
	const char *values[2] = {NULL, NULL};
	uint64_t n = 0;

	for (uint32_t i = 0; i < x->nscripts; i++) {
		values[0] = x->scripts[i]->name;
		func(&up, values, x->scripts[i]->is_up, arg);
	}
	for (uint32_t i = 0; i < x->nscripts; i++) {
		values[0] = x->scripts[i]->name;
		func(&drops, values, (double)x->scripts[i]->ndrops, arg);
	}
	for (uint32_t i = 0; i < x->nscripts; i++) {
		values[0] = x->scripts[i]->name;
		func(&errors, values, (double)x->scripts[i]->nerrors, arg);
	}
	for (uint32_t i = 0; i < x->nscripts; i++)
		for (uint32_t k = 0; k < x->scripts[i]->naggs; k++) {
			const struct metric *m = x->scripts[i]->aggs[k].metric;

			if (!m)
				continue;
			values[0] = m->name;
			func(&over, values, (double)m->noverflowed, arg);
			n += m->nseries + (m->overflow != NULL);
		}
	func(&series, values, (double)n, arg);
	func(&reading, values, x->reading_seconds, arg);
	func(&errs, values, (double)x->npush_errors, arg);
	crashes_visit(x, func, arg);
}
