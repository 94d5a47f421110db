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
#include <math.h>

#include "dif/shape.h"
#include "render/impl.h"
#include "sym/sym.h"

static bool is_lines(const struct printer *p)
{
	return p->opts->oformat == PRINT_JSONL;
}

/* ---- documents ----------------------------------------------------------------------------- */

static struct json_doc *doc_now(struct printer *p)
{
	return &p->json.docs[printer_redirect(p) != NULL];
}

static void doc_open(struct printer *p)
{
	struct json_doc *doc = doc_now(p);

	if (doc->is_open || is_lines(p))
		return;
	doc->is_open = true;
	strbuf_adds(&p->out, "{\"dtrace\": {\"probes\": [");
}

/* An element of "probes", or a line. */
static void object_begin(struct printer *p)
{
	struct json_doc *doc = doc_now(p);

	doc_open(p);
	if (!is_lines(p))
		strbuf_adds(&p->out, doc->nobjects++ ? ",\n" : "\n");
}

static void object_end(struct printer *p)
{
	if (is_lines(p))
		strbuf_addc(&p->out, '\n');
}

static void doc_reset(struct json_doc *doc)
{
	strbuf_deinit(&doc->aggs);
	*doc = (struct json_doc){0};
}

static void json_finish(struct printer *p)
{
	struct json_doc *doc = doc_now(p);

	if (!is_lines(p)) {
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

static void member_string(struct strbuf *o, const char *name, const char *text)
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
	member_string(&p->out, "provider", printer_provider(p, pr, prov));
	member_string(&p->out, "module", pr->mod);
	member_string(&p->out, "function", j->pt->func);
	member_string(&p->out, "name", pr->name);
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

static void item_begin(struct printer *p)
{
	record_open(p);
	if (p->json.nitems++)
		strbuf_adds(&p->out, ", ");
}

static void item_text(struct printer *p, const char *name, const char *text, size_t len)
{
	item_begin(p);
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
	doc_reset(doc_now(p));
	p->json.in_object = false;
}

static void json_command(struct printer *p, const char *command, const struct strbuf *text,
			 int status)
{
	item_begin(p);
	strbuf_adds(&p->out, "{\"system\": ");
	json_string(&p->out, command, strlen(command));
	strbuf_adds(&p->out, ", \"text\": ");
	json_string(&p->out, text->data, text->len);
	strbuf_addf(&p->out, ", \"status\": %d}", status);
}

static void json_notice(struct printer *p, const struct print_notice *n)
{
	if (p->json.in_record) {
		item_text(p, "error", n->msg, strlen(n->msg));
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
	member_string(&p->out, "msg", n->msg);
	strbuf_addc(&p->out, '}');
	object_end(p);
}

/* ---- values -------------------------------------------------------------------------------- */

static void json_int(struct strbuf *o, uint64_t v, bool is_signed)
{
	out_int(o, -1, v, is_signed);
}

static void json_hex(struct strbuf *o, const char *bytes, uint32_t size)
{
	strbuf_addc(o, '"');
	for (uint32_t i = 0; i < size; i++)
		strbuf_addf(o, "%02x", (unsigned char)bytes[i]);
	strbuf_addc(o, '"');
}

static void name_members(struct printer *p, struct strbuf *o, const struct position *at,
			 const char *object, bool has_offset)
{
	struct sym_line line;
	struct sym_name n;

	if (!position_find(p, at, &n))
		return;
	member_string(o, object, n.object);
	if (n.name && !(at->pid && p->opts->noresolve))
		member_string(o, "name", n.name);
	if (n.name && has_offset)
		strbuf_addf(o, ", \"offset\": \"0x%" PRIx64 "\"", n.off);
	if (at->pid && p->opts->lines &&
	    syms_line(p->syms, at->pid, at->addr - at->is_return, &line)) {
		member_string(o, "file", line.file);
		strbuf_addf(o, ", \"line\": %" PRIu32, line.line);
	}
}

struct frames {
	struct printer *p;
	struct strbuf *o;
	enum addr_form form;
	uint32_t n;
};

static void json_frame(void *ctx, const struct position *at)
{
	struct frames *f = ctx;
	struct strbuf text = {0};

	if (f->n++)
		strbuf_adds(f->o, ", ");
	if (!at) {
		strbuf_adds(f->o, "{\"symbol\": \"[cut]\"}");
		return;
	}
	position_text(f->p, &text, at, f->form);
	strbuf_adds(f->o, "{\"symbol\": ");
	json_string(f->o, text.data, text.len);
	strbuf_deinit(&text);
	if (!at->is_language)
		name_members(f->p, f->o, at, "module", f->form == ADDR_FULL);
	if (f->form == ADDR_FULL && !at->is_language)
		strbuf_addf(f->o, ", \"address\": \"0x%" PRIx64 "\"", at->addr);
	if (at->helper)
		member_string(f->o, "helper", at->helper);
	strbuf_addc(f->o, '}');
}

static void pair_stack(struct printer *p, struct strbuf *o, const struct datum *d)
{
	struct frames f = {p, o, stack_form(p, d), 0};

	strbuf_addf(o, "\"%s\": [", d->kind == DATUM_STACK ? "stack-frames" : "ustack-frames");
	walk_stack(p, d, json_frame, &f);
	strbuf_addc(o, ']');
}

static void pair_address(struct printer *p, struct strbuf *o, const struct datum *d,
			 const char *name)
{
	enum addr_form form = addr_form_of(d->kind);
	struct position at = {0};
	struct strbuf text = {0};

	addr_of_datum(d, &at.pid, &at.addr);
	addr_text(p, &text, at.pid, at.addr, form);
	strbuf_addf(o, "\"%s\": ", name);
	json_string(o, text.data, text.len);
	strbuf_deinit(&text);
	if (form != ADDR_MOD)
		name_members(p, o, &at, "object", form == ADDR_FULL);
}

static bool is_plain(const struct datum *d)
{
	return d->kind == DATUM_STRING || (d->kind == DATUM_INT && !d->bytes) ||
	       (d->kind == DATUM_STRUCT && datum_is_int(d)) ||
	       ((d->kind == DATUM_BYTES || d->kind == DATUM_INT) && datum_is_text(d));
}

static void plain_value(struct strbuf *o, const struct datum *d)
{
	if (d->bytes && d->kind != DATUM_STRUCT)
		json_string(o, d->bytes, strnlen(d->bytes, d->size));
	else
		json_int(o, datum_int(d), d->is_signed || d->kind == DATUM_STRUCT);
}

/* A value as a member of an object: its name says what it is. */
static void json_pair(struct printer *p, struct strbuf *o, const struct datum *d)
{
	if (is_plain(d)) {
		strbuf_adds(o, "\"value\": ");
		plain_value(o, d);
		return;
	}
	switch (d->kind) {
	case DATUM_INT:
	case DATUM_STRING:
	case DATUM_BYTES:
	case DATUM_STRUCT:
	case DATUM_MEMORY:
		strbuf_adds(o, "\"bytes\": ");
		json_hex(o, d->bytes, d->bytes ? d->size : 0);
		return;
	case DATUM_STACK:
	case DATUM_USTACK: pair_stack(p, o, d); return;
	case DATUM_SYM: pair_address(p, o, d, "sym"); return;
	case DATUM_MOD: pair_address(p, o, d, "mod"); return;
	case DATUM_USYM: pair_address(p, o, d, "usym"); return;
	case DATUM_UMOD: pair_address(p, o, d, "umod"); return;
	case DATUM_UADDR: pair_address(p, o, d, "uaddr"); return;
	}
	BUG("datum kind %d", (int)d->kind);
}

static void json_value(struct printer *p, const struct datum *d)
{
	item_begin(p);
	strbuf_addc(&p->out, '{');
	json_pair(p, &p->out, d);
	strbuf_addc(&p->out, '}');
}

static void json_memory(struct printer *p, const char *action, const struct datum *d)
{
	item_begin(p);
	strbuf_addf(&p->out, "{\"%s\": ", action);
	json_hex(&p->out, d->bytes, d->bytes ? d->size : 0);
	strbuf_addc(&p->out, '}');
}

static struct err *json_message(struct printer *p, const struct act_layout *al,
				const struct fmt *fmt)
{
	struct strbuf text = {0};
	struct err *e = act_format(p, &text, al, fmt);

	if (!e)
		item_text(p, "message", text.data, text.len);
	strbuf_deinit(&text);
	for (uint32_t i = 0; i < al->nfields && !e; i++) {
		struct datum d;

		e = act_datum(p, al, i, &d);
		if (!e)
			json_value(p, &d);
	}
	return e;
}

/* ---- print() ------------------------------------------------------------------------------- */

static void shape_word(const struct shape_view *v, const struct shape *sh, uint64_t word,
		       uint32_t bits)
{
	const char *name;

	if (sh->kind == SHAPE_INT || sh->kind == SHAPE_CHAR) {
		uint32_t up = 64 - MIN(MAX(bits, 1u), 64u);

		json_int(v->o, sh->is_signed ? (uint64_t)((int64_t)(word << up) >> up) : word,
			 sh->is_signed);
		return;
	}
	name = sh->kind == SHAPE_ENUM ? shape_enum_name(sh, word) : NULL;
	if (sh->kind == SHAPE_ENUM && !name) {
		json_int(v->o, (uint64_t)shape_enum_value(sh, word), true);
	} else if (name) {
		json_string(v->o, name, strlen(name));
	} else {
		struct strbuf text = {0};

		if (sh->kind == SHAPE_FUNC && word && !sh->is_user)
			addr_text(v->p, &text, 0, word, ADDR_FULL);
		else
			strbuf_addf(&text, "0x%" PRIx64, word);
		json_string(v->o, text.data, text.len);
		strbuf_deinit(&text);
	}
}

static void shape_float(const struct shape_view *v, const struct shape *sh, long double value)
{
	if (isfinite(value))
		strbuf_addf(v->o, "%.*Lg",
			    sh->size == sizeof(float)	 ? 9
			    : sh->size == sizeof(double) ? 17
							 : 21,
			    value);
	else
		strbuf_addf(v->o, "\"%Lg\"", value);
}

static void shape_text(const struct shape_view *v, const struct shape *sh, const char *text,
		       size_t len)
{
	json_string(v->o, text, len);
}

static void shape_open(const struct shape_view *v, const struct shape *sh)
{
	strbuf_addc(v->o, '[');
}

static void shape_item(const struct shape_view *v, const struct shape *sh, uint32_t i,
		       uint32_t depth)
{
	const struct shape_member *m = sh->kind == SHAPE_SOU ? &sh->members[i] : NULL;

	if (i)
		strbuf_adds(v->o, ", ");
	if (!m)
		return;
	strbuf_adds(v->o, "{\"member-name\": ");
	json_string(v->o, m->name, strlen(m->name));
	member_string(v->o, "name", m->shape->type);
	strbuf_adds(v->o, ", \"value\": ");
}

static void shape_item_end(const struct shape_view *v, const struct shape *sh)
{
	if (sh->kind == SHAPE_SOU)
		strbuf_addc(v->o, '}');
}

static void shape_cut(const struct shape_view *v, const struct shape *sh, uint32_t i,
		      uint32_t depth)
{
	strbuf_adds(v->o, i ? ", {\"warning\": \"the rest was not recorded\"}"
			    : "{\"warning\": \"not recorded\"}");
}

static void shape_close(const struct shape_view *v, const struct shape *sh, uint32_t depth)
{
	strbuf_addc(v->o, ']');
}

static void shape_forward(const struct shape_view *v, const struct shape *sh)
{
	strbuf_adds(v->o, "null");
}

static const struct shape_visitor shape_json = {
	.word = shape_word,
	.flt = shape_float,
	.text = shape_text,
	.open = shape_open,
	.item = shape_item,
	.item_end = shape_item_end,
	.cut = shape_cut,
	.close = shape_close,
	.forward = shape_forward,
};

static void json_typed(struct printer *p, const struct shape *shape, const struct datum *d)
{
	item_begin(p);
	strbuf_adds(&p->out, "{\"type\": [{\"name\": ");
	json_string(&p->out, shape->type, strlen(shape->type));
	strbuf_adds(&p->out, ", \"value\": ");
	walk_shape(p, &p->out, &shape_json, shape, d);
	strbuf_adds(&p->out, "}]}");
}

/* ---- aggregations -------------------------------------------------------------------------- */

/* Aggregations printed at the end of tracing stand behind all records: they are kept until then. */
static struct strbuf *aggs_out(struct printer *p)
{
	return p->json.at_end && !is_lines(p) ? &doc_now(p)->aggs : &p->out;
}

static void json_aggs_begin(struct printer *p)
{
	struct json_doc *doc = doc_now(p);

	p->json.at_end = true;
	doc->naggs = 0;
	doc->aggs.len = 0;
}

static void json_aggs_end(struct printer *p)
{
	p->json.at_end = false;
}

/* Writes the text that printa()'s format makes of the rows; the rows follow as data. */
static void json_printa_begin(struct printer *p, const struct agg_table *t)
{
	struct strbuf saved = p->out, text;

	if (!t->fmt)
		return;
	p->out = (struct strbuf){0};
	p->render = &render_text;
	p->api.is_held = true;
	walk_table(p, t);
	p->api.is_held = false;
	p->render = &render_json;
	text = p->out;
	p->out = saved;
	item_text(p, "message", text.data, text.len);
	strbuf_deinit(&text);
}

static bool json_table_begin(struct printer *p, const struct agg_table *t)
{
	struct json_doc *doc = doc_now(p);

	if (!p->json.at_end)
		item_begin(p);
	else if (doc->naggs++ && !is_lines(p))
		strbuf_adds(&doc->aggs, ",\n");
	strbuf_adds(aggs_out(p), "{\"aggregation-data\": [");
	p->json.nrows = 0;
	return false;
}

static void json_keys(struct printer *p, struct strbuf *o, const struct agg_elem *e)
{
	strbuf_adds(o, "\"keys\": [");
	for (uint32_t i = 0; i < e->nkeys; i++) {
		struct datum d = datum_of_key(&e->keys[i]);

		if (i)
			strbuf_adds(o, ", ");
		if (is_plain(&d)) {
			plain_value(o, &d);
		} else {
			strbuf_addc(o, '{');
			json_pair(p, o, &d);
			strbuf_addc(o, '}');
		}
	}
	strbuf_addc(o, ']');
}

static void bucket_range(struct strbuf *o, const struct hist_bounds *b)
{
	if (b->has_min)
		strbuf_addf(o, ", \"min\": %" PRId64, b->min);
	if (b->has_max)
		strbuf_addf(o, ", \"max\": %" PRId64, b->max);
}

static void json_buckets(struct strbuf *o, const struct agg_view *v, const struct agg_elem *e)
{
	const struct agg_layout *l = v->layout;
	uint32_t first, last;

	hist_range(l, e->state, &first, &last);
	strbuf_adds(o, "\"buckets\": [");
	for (uint32_t row = first; row <= last; row++) {
		int64_t count = normalized(hist_count(l, e->state, row), v->normal);
		struct hist_bounds b = hist_bounds_of(l, row);

		strbuf_addf(o, "%s{\"value\": %" PRId64 ", \"count\": %" PRId64,
			    row == first ? "" : ", ", b.label, count);
		bucket_range(o, &b);
		strbuf_addc(o, '}');
	}
	strbuf_addc(o, ']');
}

static void agg_pair(struct strbuf *o, const struct agg_view *v, const struct agg_elem *e)
{
	if (agg_is_histogram(v->agg)) {
		json_buckets(o, v, e);
		return;
	}
	strbuf_addf(o, "\"%s\": ", aggfunc_name(v->agg->func));
	json_int(o, (uint64_t)agg_value(v, e), v->agg->func != AGGFUNC_STDDEV);
}

static void json_row(struct printer *p, const struct agg_table *t, struct agg_elem *const *elems)
{
	const struct agg_view *v = t->views[0];
	const struct agg_elem *e = elems[0];
	struct strbuf *o = aggs_out(p);

	strbuf_adds(o, p->json.nrows++ ? ", {" : "{");
	json_keys(p, o, e);
	strbuf_adds(o, ", ");
	agg_pair(o, v, e);
	for (uint32_t cpu = 0; cpu < e->ncpus; cpu++) {
		struct agg_elem one = agg_elem_of_cpu(v, e, cpu);

		strbuf_addf(o, "%s{\"cpu\": %" PRIu32 ", ", cpu ? ", " : ", \"cpus\": [", cpu);
		agg_pair(o, v, &one);
		strbuf_adds(o, cpu == e->ncpus - 1 ? "}]" : "}");
	}
	strbuf_addc(o, '}');
}

static void json_table_end(struct printer *p, const struct agg_table *t)
{
	struct strbuf *o = aggs_out(p);

	strbuf_addc(o, ']');
	member_string(o, "aggregation-name", t->views[0]->agg->name);
	strbuf_addc(o, '}');
	if (p->json.at_end && is_lines(p))
		strbuf_addc(o, '\n');
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
