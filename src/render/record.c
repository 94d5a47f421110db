/* SPDX-License-Identifier: MIT */
/* The printer: makes and ends it, writes its output, and walks over records. */
#include <errno.h>

#include "dtrace.h"

#include "picture/folded.h"
#include "render/impl.h"
#include "sym/sym.h"

#define FLUSH_BYTES (1u << 18) /* a buffer with so many bytes is written at once */

/* ---- printer ------------------------------------------------------------------------------- */

static const struct fmt **clause_fmts(struct arena *a, const struct prog_clause *c)
{
	const struct fmt **fmts = ARENA_NEW_N(a, const struct fmt *, c->nacts);

	for (uint32_t i = 0; i < c->nacts; i++)
		if (act_fmt(&c->acts[i]))
			fmts[i] = fmt_prepare(a, act_fmt(&c->acts[i]));
	return fmts;
}

static const struct renderer *const renderers[] = {
#define OFORMAT(id, name, draws, kind) [PRINT_##id] = &render_##draws,
#include "render/oformats.def"
};

struct printer *printer_create(const struct layout *l, struct probes *probes, struct aggs *aggs,
			       const struct print_opts *opts, const struct print_hooks *hooks)
{
	struct printer *p = xcalloc(1, sizeof(*p));

	p->layout = l;
	p->probes = probes;
	p->aggs = aggs;
	p->opts = opts;
	p->hooks = *hooks;
	p->has_columns = true;
	p->render = renderers[opts->oformat];
	p->arena = arena_create();
	p->scratch = arena_create();
	p->fmts = ARENA_NEW_N(p->arena, const struct fmt **, l->nclauses);
	for (uint32_t i = 0; i < l->nclauses; i++)
		p->fmts[i] = clause_fmts(p->arena, l->clauses[i].clause);
	return p;
}

void printer_add_program(struct printer *p, const char *name, const char *text, bool is_script)
{
	struct print_program *prog = ARENA_NEW(p->arena, struct print_program);
	struct print_program **at = &p->programs;

	*prog = (struct print_program){NULL, arena_strdup(p->arena, name),
				       arena_strdup(p->arena, text), is_script};
	while (*at)
		at = &(*at)->next;
	*at = prog;
}

struct err *printer_tick(struct printer *p)
{
	return p->render->tick ? p->render->tick(p) : NULL;
}

struct err *printer_open_base(struct printer *p)
{
	struct err *e = NULL;

	if (p->opts->flamebase)
		e = folded_open(p->opts->flamebase, &p->base);
	if (e)
		return err_wrap(e, "option flamebase");
	p->opened = p->render;
	if (p->opened->open)
		p->opened->open(p);
	return NULL;
}

void printer_set_syms(struct printer *p, struct syms *syms)
{
	p->syms = syms;
}

void printer_set_wall(struct printer *p, int64_t offset)
{
	p->wall_offset = offset;
}

void printer_destroy(struct printer *p)
{
	if (!p)
		return;
	if (p->redirect)
		(void)fclose(p->redirect); /* printer_flush() has reported what could be */
	if (p->form)
		p->opened->close(p);
	folded_close(p->base);
	api_deinit(p);
	strbuf_deinit(&p->out);
	strbuf_deinit(&p->helper);
	vec_deinit(&p->probe_texts);
	vec_deinit(&p->flow);
	arena_destroy(p->scratch);
	arena_destroy(p->arena);
	free(p);
}

struct err *printer_flush(struct printer *p, FILE *fp)
{
	FILE *to = printer_fp(p, fp);
	size_t len = p->out.len;
	int sys;

	p->asked.fp =
		NULL; /* before the next text, the file may be closed and another one opened */
	if (!to)
		return api_handler_text(p);
	p->out.len = 0;
	if (p->is_capture && fflush(p->redirect) != 0)
		return err_sys(errno, "failed to write to freopen() file");
	sys = sink_write(to, p->out.data, len, p->hooks.interrupts);
	if (sys)
		return err_sys(sys, "failed to write to %s",
			       to == p->redirect ? "freopen() file"
			       : to == stdout	 ? "stdout"
						 : "output file");
	return NULL;
}

/* ---- probes -------------------------------------------------------------------------------- */

const struct probe_text *printer_probe(struct printer *p, uint32_t id)
{
	const struct probe *probe;
	struct strbuf col = {0};
	struct probe_text *pt;
	const char *id_column;
	size_t columns;
	uint32_t old = p->probe_texts.len;

	if (id < old && p->probe_texts.data[id].probe)
		return &p->probe_texts.data[id];
	probe = probes_find(p->probes, id);
	if (!probe)
		return NULL;
	if (id >= old) { /* ids are given without gaps, so this is no larger than the registry */
		vec_reserve(&p->probe_texts, id + 1);
		memset(p->probe_texts.data + old, 0, sizeof(*pt) * (id + 1 - old));
		p->probe_texts.len = id + 1;
	}
	pt = &p->probe_texts.data[id];
	pt->probe = probe;
	pt->func = probe_func_shown(p->probes, probe);
	strbuf_addf(&col, "%s:%s", pt->func, probe->name);
	id_column = arena_printf(p->scratch, "%6u ", id);
	columns = text_columns(strbuf_text(&col), col.len);
	pt->column = arena_printf(p->arena, "%s%*s%s ", id_column,
				  columns < 32 ? 32 - (int)columns : 0, "", strbuf_text(&col));
	pt->len = (uint32_t)strlen(pt->column);
	pt->func_off = (uint32_t)strlen(id_column);
	strbuf_deinit(&col);
	return pt;
}

void printer_keep_json(struct printer *p, uint32_t id, const char *text, uint32_t len)
{
	struct probe_text *pt = &p->probe_texts.data[id];

	pt->json = arena_memdup(p->arena, text, len);
	pt->json_len = len;
}

const char *printer_provider(const struct printer *p, const struct probe *pr,
			     char buf[PROBE_PROV_ROOM])
{
	uint64_t pid = 0;

	if (p->layout->opts.has_pids && p->rec_len >= sizeof(*p->rec) + sizeof(pid))
		memcpy(&pid, p->rec + 1, sizeof(pid)); /* clause_layout.pid_off */
	return probe_prov_shown(pr, pid, buf);
}

/* ---- records ------------------------------------------------------------------------------- */

static struct err *bad_record(struct printer *p, int code, const char *what)
{
	return err_code(err_new("%s in a record of clause %u, probe %u", what, p->rec->clause,
				p->rec->probe),
			code);
}

struct err *act_datum(struct printer *p, const struct act_layout *al, uint32_t i, struct datum *ret)
{
	if (i >= al->nfields)
		return bad_record(p, EDT_DMISMATCH, "missing field");
	if (!datum_of_field(ret, p->layout, &al->fields[i], p->rec, p->rec_len))
		return bad_record(p, EDT_DOFFSET, "field beyond the end");
	if (ret->kind == DATUM_STACKID) {
		struct agg_key stack = aggs_stack(p->aggs, ret->ival);

		*ret = datum_of_key(&stack);
		ret->is_merged = false; /* a record has a stack of its own */
	}
	return NULL;
}

bool act_bit(const struct printer *p, const struct clause_layout *cl, uint32_t i)
{
	uint64_t word, off = (uint64_t)cl->executed_off + i / 64 * sizeof(word);

	if (off + sizeof(word) > p->rec_len)
		return false;
	memcpy(&word, (const char *)p->rec + off, sizeof(word));
	return word >> i % 64 & 1;
}

static inline __attribute__((always_inline)) struct err *
print_act_at(struct printer *p, const struct clause_layout *cl, uint32_t i)
{
	return print_act(p, &cl->clause->acts[i], &cl->acts[i], p->fmts[p->rec->clause][i]);
}

static struct err *print_acts(struct printer *p, const struct clause_layout *cl)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < cl->clause->nacts && !e; i++)
		if (act_was_executed(p, cl, i))
			e = print_act_at(p, cl, i);
	return e;
}

/* Shows the actions that the callbacks do not take. */
static struct err *offer_acts(struct printer *p, const struct clause_layout *cl, bool is_taken)
{
	const dtrace_recdesc_t *rec = p->api.recs.data;
	struct err *e = NULL;
	bool is_act_taken;

	for (uint32_t i = 0; i < cl->clause->nacts && !e; i++) {
		if (!act_was_executed(p, cl, i))
			continue;
		is_act_taken = is_taken;
		if (is_taken)
			e = api_ask(p, rec, &is_act_taken);
		p->api.rec = rec;
		if (!e && (is_act_taken || cl->clause->acts[i].kind == ACT_EXIT))
			e = print_act_at(p, cl, i);
		if (!e)
			e = api_text(p, (struct text_origin){.rec = rec});
		p->api.rec = NULL;
		rec += MAX(rec->dtrd_nvals, 1u);
	}
	if (!e && is_taken)
		e = api_ask(p, NULL, &is_act_taken);
	return e;
}

/* Shows a record after callbacks, or a handler of text, have seen its values. */
static struct err *offer_record(struct printer *p, const struct probe_text *pt, uint32_t cpu,
				const struct rt_rec *next)
{
	const struct clause_layout *cl = &p->layout->clauses[p->rec->clause];
	bool is_quiet = p->opts->quiet, is_taken;
	struct err *e = api_record(p, pt, cpu, &is_taken);

	if (!e && !is_taken)
		e = offer_acts(p, cl, false);
	if (e || !is_taken)
		return e;
	p->render->record_begin(p, pt, cpu, next);
	e = api_text(p, (struct text_origin){0});
	if (!e)
		e = offer_acts(p, cl, true);
	p->render->record_end(p, is_quiet);
	return e ? e : api_text(p, (struct text_origin){0});
}

struct err *print_record(struct printer *p, FILE *fp, const struct rt_rec *rec, uint32_t len,
			 uint32_t cpu, const struct rt_rec *next)
{
	bool is_quiet = p->opts->quiet; /* as the record began: setopt() in it acts on the next */
	const struct probe_text *pt;
	struct err *e;

	if (len < sizeof(*rec))
		return err_code(err_new("record of %u bytes", len), EDT_DSIZE);
	output_begin(p, fp);
	p->rec = rec;
	p->rec_len = len;
	p->is_snapped = false;
	if (rec->clause >= p->layout->nclauses)
		return bad_record(p, EDT_BADSTID, "unknown clause");
	pt = printer_probe(p, rec->probe);
	if (!pt)
		return bad_record(p, EDT_BADID, "unknown probe");
	if (p->syms)
		syms_at(p->syms, rec->time);
	if (p->opts->flowindent)
		flow_advance(p, cpu, pt->probe, next);
	if (p->api.is_direct) {
		e = offer_record(p, pt, cpu, next);
		p->api.has_record = false;
		arena_reset(p->scratch);
		return e;
	}
	p->render->record_begin(p, pt, cpu, next);
	e = print_acts(p, &p->layout->clauses[rec->clause]);
	arena_reset(p->scratch);
	p->render->record_end(p, is_quiet);
	if (e)
		return e;
	return p->out.len >= FLUSH_BYTES ? printer_flush(p, fp) : NULL;
}

struct err *print_aggs(struct printer *p, FILE *fp)
{
	struct err *e = NULL;

	output_begin(p, fp);
	if (p->syms)
		syms_at(p->syms, SYMS_ANY_TIME);
	p->render->aggs_begin(p);
	for (uint32_t id = 1; id <= p->layout->naggs && !e; id++) {
		struct agg_view *v = aggs_view(p->aggs, id);

		if (v && !v->printed)
			walk_view(p, v);
		e = api_err_take(p);
		if (!e && p->out.len >= FLUSH_BYTES)
			e = printer_flush(p, fp);
	}
	if (e)
		return e;
	p->render->aggs_end(p);
	return NULL;
}

void printer_notice(struct printer *p, const struct print_notice *n)
{
	if (p->render->notice && !p->is_ended)
		p->render->notice(p, n);
}

struct err *printer_end(struct printer *p, FILE *fp)
{
	struct err *e = NULL;

	if (!p->render->finish || p->is_ended)
		return printer_flush(p, fp);
	p->is_ended = true;
	if (printer_redirect(p)) {
		p->render->finish(p);
		e = printer_flush(p, fp);
		if (fclose(p->redirect) != 0 && !e)
			e = err_sys(errno, "failed to write to freopen() file");
		p->redirect = NULL;
	}
	p->render->finish(p);
	if (!e)
		e = printer_flush(p, fp);
	return e;
}
