/*
 * The renderer of JSON: one document (option oformat=json), or an object a line (oformat=jsonl).
 *
 *     {"dtrace": {"probes": [
 *     {"timestamp": 1, "cpu": 0, "id": 3, "provider": "p", ..., "name": "n", "output": [...]}
 *     ], "aggregations": [
 *     {"aggregation-data": [{"keys": ["x"], "count": 1}], "aggregation-name": "a"}
 *     ]}}
 *
 * Facts    names of members are those that the manual page of FreeBSD's dtrace documents; those
 *          beyond it stand in doc/guide/json.md.
 *
 * A record's object begins with the first thing that the record shows, and each file has a document
 * of its own: output may move to another file in the middle of a record (freopen()), and begin anew
 * there.
 */
#include <inttypes.h>

#include "render/json.h"

/* ---- documents ----------------------------------------------------------------------------- */

static void doc_open(struct printer *p)
{
	struct json_doc *doc = json_doc_now(p);

	if (doc->is_open || json_is_lines(p))
		return;
	doc->is_open = true;
	strbuf_adds(&p->out, "{\"dtrace\": {\"probes\": [");
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

	if (!json_is_lines(p)) {
		doc_open(p);
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
	json_string(o, text, strlen(text));
}

static void record_open(struct printer *p)
{
	struct json *j = &p->json;
	const struct probe *pr = j->pt->probe;
	char prov[PROBE_PROV_ROOM];

	if (j->in_object)
		return;
	object_begin(p);
	strbuf_addf(&p->out, "{\"timestamp\": %" PRIu64 ", \"cpu\": %" PRIu32 ", \"id\": %" PRIu32,
		    p->rec->time, j->cpu, p->rec->probe);
	json_member(&p->out, "provider", printer_provider(p, pr, prov));
	json_member(&p->out, "module", pr->mod);
	json_member(&p->out, "function", j->pt->func);
	json_member(&p->out, "name", pr->name);
	strbuf_adds(&p->out, ", \"output\": [");
	j->in_object = j->is_shown = true;
	j->nitems = 0;
}

static void record_close(struct printer *p)
{
	if (!p->json.in_object)
		return;
	strbuf_adds(&p->out, "]}");
	object_end(p);
	p->json.in_object = false;
}

static void json_record_begin(struct printer *p, const struct probe_text *pt, uint32_t cpu,
			      const struct rt_rec *next)
{
	p->json.pt = pt;
	p->json.cpu = cpu;
	p->json.in_record = true;
	p->json.in_object = p->json.is_shown = p->json.at_end = false;
}

static void json_record_end(struct printer *p, bool is_quiet)
{
	if (!p->json.is_shown && !is_quiet)
		record_open(p);
	record_close(p);
	p->json.in_record = false;
}

void json_item(struct printer *p)
{
	record_open(p);
	if (p->json.nitems++)
		strbuf_adds(&p->out, ", ");
}

void json_item_text(struct printer *p, const char *name, const char *text, size_t len)
{
	json_item(p);
	strbuf_addf(&p->out, "{\"%s\": ", name);
	json_string(&p->out, text, len);
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
	p->json.in_object = false;
}

static void json_command(struct printer *p, const char *command, const struct strbuf *text,
			 int status)
{
	json_item(p);
	strbuf_adds(&p->out, "{\"system\": ");
	json_string(&p->out, command, strlen(command));
	strbuf_adds(&p->out, ", \"text\": ");
	json_string(&p->out, text->data, text->len);
	strbuf_addf(&p->out, ", \"status\": %d}", status);
}

static void json_notice(struct printer *p, const struct print_notice *n)
{
	if (p->json.in_record) {
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
