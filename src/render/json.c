/* SPDX-License-Identifier: MIT */
/*
 * The renderer of JSON: one document (option oformat=json), or an object a line (oformat=jsonl).
 *
 *     {"dtrace": {"schema": 2, "session": {...}, "probes": [
 *     {"timestamp": 1, "cpu": 0, "id": 3, "provider": "p", ..., "name": "n", "output": [...]}
 *     ], "aggregations": [
 *     {"aggregation-data": [{"keys": ["x"], "count": 1}], "aggregation-name": "a"}
 *     ]}}
 *
 * Facts    names of members are those that the manual page of FreeBSD's dtrace documents; those
 *          beyond it stand in doc/guide/json.md. doc/json-schema.json describes all of them, and
 *          has the number JSON_SCHEMA: what changes in one changes in the other.
 *
 * A record's object begins with the first thing that the record shows, and each file has a document
 * of its own: output may move to another file in the middle of a record (freopen()), and begin anew
 * there.
 */
#include <inttypes.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "base/version.h"
#include "render/json.h"

/* ---- the form ------------------------------------------------------------------------------ */

void json_open(struct printer *p)
{
	p->form = xcalloc(1, sizeof(struct json));
}

void json_close(struct printer *p)
{
	struct json *j = json_of(p);

	strbuf_deinit(&j->row);
	for (size_t i = 0; i < ARRAY_LEN(j->docs); i++)
		strbuf_deinit(&j->docs[i].aggs);
	free(j);
}

/* ---- documents ----------------------------------------------------------------------------- */

/* Facts of the session; a timestamp of a record becomes a date by `started` and `timestamp`. */
static void session_add(struct printer *p)
{
	struct strbuf *o = &p->out;
	uint64_t now = now_ns(), wall = now + (uint64_t)p->wall_offset;
	time_t secs = (time_t)(wall / 1000000000);
	struct utsname system = {0};
	char date[32] = "";
	struct tm tm;

	(void)uname(&system); /* cannot fail with room for its result */
	if (gmtime_r(&secs, &tm))
		(void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	strbuf_addf(o,
		    "\"schema\": %d, \"session\": {\"version\": \"" FATHOM_VERSION
		    "\", \"timestamp\": %" PRIu64 ", \"started\": \"%s.%09" PRIu64
		    "Z\", \"pid\": %d, \"cpus\": %ld",
		    JSON_SCHEMA, now, date, wall % 1000000000, (int)getpid(),
		    sysconf(_SC_NPROCESSORS_ONLN));
	json_member(o, "system", system.sysname);
	json_member(o, "release", system.release);
	json_member(o, "machine", system.machine);
	json_member(o, "host", system.nodename);
	strbuf_addc(o, '}');
}

static void doc_open(struct printer *p)
{
	struct json_doc *doc = json_doc_now(p);

	if (doc->is_open)
		return;
	doc->is_open = true;
	strbuf_adds(&p->out, json_is_lines(p) ? "{" : "{\"dtrace\": {");
	session_add(p);
	strbuf_adds(&p->out, json_is_lines(p) ? "}\n" : ",\n\"probes\": [");
}

/* An element of "probes", or a line. */
static void object_begin(struct printer *p)
{
	struct json_doc *doc = json_doc_now(p);

	doc_open(p);
	if (!json_is_lines(p))
		strbuf_adds(&p->out, doc->nobjects++ ? ",\n" : "\n");
}

static void object_end(struct printer *p)
{
	if (json_is_lines(p))
		strbuf_addc(&p->out, '\n');
}

static void doc_reset(struct json_doc *doc)
{
	strbuf_deinit(&doc->aggs);
	*doc = (struct json_doc){0};
}

static void json_finish(struct printer *p)
{
	struct json_doc *doc = json_doc_now(p);

	doc_open(p);
	if (!json_is_lines(p)) {
		strbuf_adds(&p->out, "\n]");
		if (doc->naggs) {
			strbuf_adds(&p->out, ", \"aggregations\": [\n");
			strbuf_add(&p->out, doc->aggs.data, doc->aggs.len);
			strbuf_adds(&p->out, "\n]");
		}
		strbuf_adds(&p->out, "}}\n");
	}
	doc_reset(doc);
}

/* ---- records ------------------------------------------------------------------------------- */

void json_member(struct strbuf *o, const char *name, const char *text)
{
	strbuf_addf(o, ", \"%s\": ", name);
	json_quote(o, text, strlen(text));
}

/* Adds what the record says of its probe, which is the same each time. */
static void probe_add(struct printer *p)
{
	const struct probe_text *pt = json_of(p)->pt;
	struct strbuf *o = &p->out;
	char prov[PROBE_PROV_ROOM];
	size_t start = o->len;

	if (pt->json) {
		strbuf_add(o, pt->json, pt->json_len);
		return;
	}
	strbuf_addf(o, ", \"id\": %" PRIu32, p->rec->probe);
	json_member(o, "provider", printer_provider(p, pt->probe, prov));
	json_member(o, "module", pt->probe->mod);
	json_member(o, "function", pt->func);
	json_member(o, "name", pt->probe->name);
	strbuf_adds(o, ", \"output\": [");
	if (!p->layout->opts.has_pids)
		printer_keep_json(p, p->rec->probe, o->data + start, (uint32_t)(o->len - start));
}

static void record_open(struct printer *p)
{
	struct json *j = json_of(p);

	if (j->in_object)
		return;
	object_begin(p);
	strbuf_adds(&p->out, "{\"timestamp\": ");
	json_int(&p->out, p->rec->time, false);
	strbuf_adds(&p->out, ", \"cpu\": ");
	json_int(&p->out, j->cpu, false);
	probe_add(p);
	j->in_object = j->is_shown = true;
	j->nitems = 0;
}

static void record_close(struct printer *p)
{
	if (!json_of(p)->in_object)
		return;
	strbuf_adds(&p->out, "]}");
	object_end(p);
	json_of(p)->in_object = false;
}

static void json_record_begin(struct printer *p, const struct probe_text *pt, uint32_t cpu,
			      const struct rt_rec *next)
{
	json_of(p)->pt = pt;
	json_of(p)->cpu = cpu;
	json_of(p)->in_record = true;
	json_of(p)->in_object = json_of(p)->is_shown = json_of(p)->at_end = false;
}

static void json_record_end(struct printer *p, bool is_quiet)
{
	if (!json_of(p)->is_shown && !is_quiet)
		record_open(p);
	record_close(p);
	json_of(p)->in_record = false;
}

void json_item(struct printer *p)
{
	record_open(p);
	if (json_of(p)->nitems++)
		strbuf_adds(&p->out, ", ");
}

void json_item_text(struct printer *p, const char *name, const char *text, size_t len)
{
	json_item(p);
	strbuf_addf(&p->out, "{\"%s\": ", name);
	json_quote(&p->out, text, len);
	strbuf_addc(&p->out, '}');
}

static void json_leave(struct printer *p)
{
	record_close(p);
	if (printer_redirect(p))
		json_finish(p);
}

static void json_emptied(struct printer *p)
{
	doc_reset(json_doc_now(p));
	json_of(p)->in_object = false;
}

static void json_command(struct printer *p, const char *command, const struct strbuf *text,
			 int status)
{
	json_item(p);
	strbuf_adds(&p->out, "{\"system\": ");
	json_quote(&p->out, command, strlen(command));
	strbuf_adds(&p->out, ", \"text\": ");
	json_quote(&p->out, text->data, text->len);
	strbuf_addf(&p->out, ", \"status\": %d}", status);
}

/* Adds a fault: its numbers as the handler of faults gets them, and the probe. */
static void fault_add(struct strbuf *o, const dtrace_errdata_t *fault)
{
	const dtrace_probedesc_t *pd = fault->dteda_pdesc;

	strbuf_addf(o,
		    ", \"fault\": {\"kind\": %d, \"action\": %d, \"offset\": %d, "
		    "\"address\": \"0x%" PRIx64 "\", \"count\": %" PRIu64,
		    fault->dteda_fault, fault->dteda_action, fault->dteda_offset, fault->dteda_addr,
		    fault->dteda_count);
	if (pd) {
		strbuf_addf(o, ", \"id\": %" PRIu32, pd->dtpd_id);
		json_member(o, "provider", pd->dtpd_provider);
		json_member(o, "module", pd->dtpd_mod);
		json_member(o, "function", pd->dtpd_func);
		json_member(o, "name", pd->dtpd_name);
	}
	strbuf_addc(o, '}');
}

static void json_notice(struct printer *p, const struct print_notice *n)
{
	if (json_of(p)->in_record) {
		json_item_text(p, "error", n->msg, strlen(n->msg));
		return;
	}
	object_begin(p);
	strbuf_addf(&p->out,
		    "{\"cpu\": %d, \"id\": -1, \"provider\": \"dtrace\", \"module\": \"INTERNAL\", "
		    "\"function\": \"INTERNAL\", \"name\": \"%s\", \"timestamp\": %" PRIu64,
		    n->cpu, n->name, n->time);
	if (n->kind >= 0)
		strbuf_addf(&p->out,
			    ", \"count\": %" PRIu64 ", \"total\": %" PRIu64 ", \"kind\": %d",
			    n->count, n->total, n->kind);
	if (n->fault)
		fault_add(&p->out, n->fault);
	json_member(&p->out, "msg", n->msg);
	strbuf_addc(&p->out, '}');
	object_end(p);
}

static struct err *json_message(struct printer *p, const struct act_layout *al,
				const struct fmt *fmt)
{
	struct strbuf text = {0};
	struct err *e = act_format(p, &text, al, fmt);

	if (!e)
		json_item_text(p, "message", text.data, text.len);
	strbuf_deinit(&text);
	for (uint32_t i = 0; i < al->nfields && !e; i++) {
		struct datum d;

		e = act_datum(p, al, i, &d);
		if (!e)
			json_value(p, &d);
	}
	return e;
}

const struct renderer render_json = {
	.open = json_open,
	.close = json_close,
	.record_begin = json_record_begin,
	.record_end = json_record_end,
	.value = json_value,
	.memory = json_memory,
	.typed = json_typed,
	.message = json_message,
	.aggs_begin = json_aggs_begin,
	.aggs_end = json_aggs_end,
	.printa_begin = json_printa_begin,
	.table_begin = json_table_begin,
	.row = json_row,
	.table_end = json_table_end,
	.command = json_command,
	.leave = json_leave,
	.emptied = json_emptied,
	.notice = json_notice,
	.finish = json_finish,
};
