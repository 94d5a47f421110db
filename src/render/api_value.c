/* SPDX-License-Identifier: MIT */
/* Converts values of records and aggregations to the structures of dtrace.h. */
#include "render/api.h"
#include "render/json.h"

#include "render/impl.h"

/* ---- actions ------------------------------------------------------------------------------- */

dtrace_actkind_t api_action(enum act_kind kind, enum datum_kind datum)
{
	/* clang-format off */
	static const dtrace_actkind_t kinds[] = {
		[ACT_TRACE] = DTRACEACT_DIFEXPR,	[ACT_EXIT] = DTRACEACT_EXIT,
		[ACT_PRINTF] = DTRACEACT_PRINTF,	[ACT_PRINTA] = DTRACEACT_PRINTA,
		[ACT_TRACEMEM] = DTRACEACT_TRACEMEM,	[ACT_PRINT] = DTRACEACT_PRINT,
		[ACT_PCAP] = DTRACEACT_PCAP,		[ACT_STACK] = DTRACEACT_STACK,
		[ACT_USTACK] = DTRACEACT_USTACK,	[ACT_SYM] = DTRACEACT_SYM,
		[ACT_CLEAR] = DTRACEACT_CLEAR,		[ACT_TRUNC] = DTRACEACT_TRUNC,
		[ACT_NORMALIZE] = DTRACEACT_NORMALIZE,	[ACT_DENORMALIZE] = DTRACEACT_DENORMALIZE,
		[ACT_SETOPT] = DTRACEACT_SETOPT,	[ACT_FTRUNCATE] = DTRACEACT_FTRUNCATE,
		[ACT_FREOPEN] = DTRACEACT_FREOPEN,	[ACT_SYSTEM] = DTRACEACT_SYSTEM,
	};
	/* clang-format on */

	if (kind != ACT_SYM)
		return (size_t)kind < ARRAY_LEN(kinds) ? kinds[kind] : DTRACEACT_NONE;
	switch (datum) {
	case DATUM_MOD: return DTRACEACT_MOD;
	case DATUM_USYM: return DTRACEACT_USYM;
	case DATUM_UMOD: return DTRACEACT_UMOD;
	case DATUM_UADDR: return DTRACEACT_UADDR;
	case DATUM_SYM:
	case DATUM_INT:
	case DATUM_STRING:
	case DATUM_BYTES:
	case DATUM_STRUCT:
	case DATUM_STACK:
	case DATUM_USTACK:
	case DATUM_STACKID:
	case DATUM_MEMORY: return DTRACEACT_SYM;
	}
	BUG("datum kind %d", (int)datum);
}

dtrace_actkind_t api_aggfunc(enum aggfunc func)
{
	switch (func) {
	case AGGFUNC_COUNT: return DTRACEAGG_COUNT;
	case AGGFUNC_SUM: return DTRACEAGG_SUM;
	case AGGFUNC_MIN: return DTRACEAGG_MIN;
	case AGGFUNC_MAX: return DTRACEAGG_MAX;
	case AGGFUNC_AVG: return DTRACEAGG_AVG;
	case AGGFUNC_STDDEV: return DTRACEAGG_STDDEV;
	case AGGFUNC_QUANTIZE: return DTRACEAGG_QUANTIZE;
	case AGGFUNC_LQUANTIZE: return DTRACEAGG_LQUANTIZE;
	case AGGFUNC_LLQUANTIZE: return DTRACEAGG_LLQUANTIZE;
	case AGGFUNC_LIVE: return DTRACEAGG_LIVE;
	}
	BUG("aggregating function %d", (int)func);
}

/* ---- values -------------------------------------------------------------------------------- */

struct frame_list {
	VEC(dtrace_frame_t) frames;
	uint32_t flags; /* each frame has these */
	pid_t pid;
	struct arena *arena; /* holds the texts */
};

static void frame_add(void *ctx, const struct position *at)
{
	struct frame_list *l = ctx;
	dtrace_frame_t f = {.dtf_pid = l->pid, .dtf_flags = l->flags};

	if (at->mark) {
		f.dtf_flags |= DTRACE_FRAME_CUT;
		f.dtf_flags |= at->mark == RT_USTACK_LATE ? DTRACE_FRAME_LATE : 0;
		if (at->mark != RT_USTACK_LATE && at->mark != RT_USTACK_CUT)
			f.dtf_helper = mark_text(at->mark);
	} else {
		f.dtf_addr = at->addr;
		f.dtf_flags |= (at->is_return ? DTRACE_FRAME_RETURN : 0) |
			       (at->is_handler_call ? DTRACE_FRAME_SIGNAL : 0);
		f.dtf_flags |= at->is_language ? DTRACE_FRAME_LANGUAGE : 0;
		if (at->helper)
			f.dtf_helper = arena_strndup(l->arena, at->helper, strlen(at->helper));
	}
	vec_push(&l->frames, f);
}

static void datum_stack(struct printer *p, struct arena *a, const struct datum *d,
			dtrace_datum_t *ret)
{
	struct frame_list l = {.flags = d->is_merged ? DTRACE_FRAME_MERGED : 0, .arena = a};

	if (d->kind == DATUM_USTACK && d->bytes && d->size >= sizeof(uint64_t))
		l.pid = (pid_t)int_at(d->bytes, sizeof(uint64_t), false);
	walk_stack(p, d, frame_add, &l);
	ret->dtd_kind = d->kind == DATUM_STACK ? DTRACE_DATUM_STACK : DTRACE_DATUM_USTACK;
	ret->dtd_pid = l.pid;
	ret->dtd_nframes = l.frames.len;
	ret->dtd_frames = arena_memdup(a, l.frames.data, sizeof(dtrace_frame_t) * l.frames.len);
	ret->dtd_size = (uint32_t)sizeof(uint64_t) * (l.frames.len + (d->kind == DATUM_USTACK));
	vec_deinit(&l.frames);
}

static void datum_addr(const struct datum *d, dtrace_datumkind_t kind, dtrace_datum_t *ret)
{
	uint64_t pid;

	ret->dtd_kind = kind;
	addr_of_datum(d, &pid, &ret->dtd_addr);
	ret->dtd_pid = (pid_t)pid;
	ret->dtd_size = pid ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
	ret->dtd_value = ret->dtd_addr;
}

static void datum_bytes(const struct datum *d, dtrace_datum_t *ret)
{
	struct datum word = *d;

	ret->dtd_kind = DTRACE_DATUM_BYTES;
	ret->dtd_bytes = d->bytes ? d->bytes : "";
	ret->dtd_size = d->bytes ? d->size : 0;
	word.is_signed |= d->kind == DATUM_STRUCT; /* as it is printed */
	ret->dtd_is_signed = word.is_signed;
	if (ret->dtd_size && datum_is_int(d))
		ret->dtd_value = datum_int(&word);
}

dtrace_datum_t api_datum(struct printer *p, struct arena *a, const struct datum *d)
{
	dtrace_datum_t ret = {.dtd_is_signed = d->is_signed, .dtd_size = d->size};

	switch (d->kind) {
	case DATUM_INT:
		if (d->bytes) {
			datum_bytes(d, &ret);
			break;
		}
		ret.dtd_kind = DTRACE_DATUM_INT;
		ret.dtd_value = d->ival;
		break;
	case DATUM_STRING:
		ret.dtd_kind = DTRACE_DATUM_STRING;
		ret.dtd_bytes = arena_strndup(a, d->bytes, d->size);
		break;
	case DATUM_BYTES:
	case DATUM_MEMORY:
	case DATUM_STRUCT: datum_bytes(d, &ret); break;
	case DATUM_STACK:
	case DATUM_USTACK: datum_stack(p, a, d, &ret); break;
	case DATUM_SYM: datum_addr(d, DTRACE_DATUM_SYM, &ret); break;
	case DATUM_MOD: datum_addr(d, DTRACE_DATUM_MOD, &ret); break;
	case DATUM_USYM: datum_addr(d, DTRACE_DATUM_USYM, &ret); break;
	case DATUM_UMOD: datum_addr(d, DTRACE_DATUM_UMOD, &ret); break;
	case DATUM_UADDR: datum_addr(d, DTRACE_DATUM_UADDR, &ret); break;
	case DATUM_STACKID: BUG("a stack as a value"); /* act_datum() makes a stack of it */
	}
	return ret;
}

/* ---- values as bytes ----------------------------------------------------------------------- */

static void word_add(struct strbuf *bytes, uint64_t word)
{
	strbuf_add(bytes, (const char *)&word, sizeof(word));
}

static void stack_add(struct strbuf *bytes, const dtrace_datum_t *d)
{
	if (d->dtd_kind == DTRACE_DATUM_USTACK)
		word_add(bytes, (uint64_t)d->dtd_pid);
	for (uint32_t i = 0; i < d->dtd_nframes; i++)
		word_add(bytes, d->dtd_frames[i].dtf_addr);
}

static uint32_t datum_alignment(const dtrace_datum_t *d)
{
	switch (d->dtd_kind) {
	case DTRACE_DATUM_INT: return d->dtd_size;
	case DTRACE_DATUM_STRING: return 1;
	case DTRACE_DATUM_BYTES:
	case DTRACE_DATUM_STACK:
	case DTRACE_DATUM_USTACK:
	case DTRACE_DATUM_SYM:
	case DTRACE_DATUM_MOD:
	case DTRACE_DATUM_USYM:
	case DTRACE_DATUM_UMOD:
	case DTRACE_DATUM_UADDR: break;
	}
	return sizeof(uint64_t);
}

void api_bytes_add(struct strbuf *bytes, const dtrace_datum_t *d, dtrace_recdesc_t *rec)
{
	rec->dtrd_alignment = MAX(datum_alignment(d), 1u);
	while (bytes->len % rec->dtrd_alignment)
		strbuf_addc(bytes, '\0');
	rec->dtrd_offset = (uint32_t)bytes->len;
	switch (d->dtd_kind) {
	case DTRACE_DATUM_INT:
		strbuf_add(bytes, (const char *)&d->dtd_value, MIN(d->dtd_size, 8u));
		break;
	case DTRACE_DATUM_STRING:
		strbuf_add(bytes, d->dtd_bytes, d->dtd_size);
		strbuf_addc(bytes, '\0');
		break;
	case DTRACE_DATUM_BYTES: strbuf_add(bytes, d->dtd_bytes, d->dtd_size); break;
	case DTRACE_DATUM_STACK:
	case DTRACE_DATUM_USTACK: stack_add(bytes, d); break;
	case DTRACE_DATUM_USYM:
	case DTRACE_DATUM_UMOD:
	case DTRACE_DATUM_UADDR:
		word_add(bytes, (uint64_t)d->dtd_pid);
		word_add(bytes, d->dtd_addr);
		break;
	case DTRACE_DATUM_SYM:
	case DTRACE_DATUM_MOD: word_add(bytes, d->dtd_addr); break;
	}
	rec->dtrd_size = (uint32_t)bytes->len - rec->dtrd_offset;
}

/* ---- rows of aggregations ------------------------------------------------------------------ */

/* What dtada_private points to. */
struct api_row_ref {
	struct printer *p;
	struct arena *arena;
	struct agg_view *view;
	struct agg_elem *elem;
};

static uint32_t state_words(const struct agg_layout *l)
{
	uint32_t words = aggfunc_words(l->agg->func);

	return words ? words : l->nbuckets;
}

/* Describes the identifier, the keys and the value of a row. */
static void row_describe(struct arena *a, const struct agg_view *v, const struct agg_elem *e,
			 dtrace_aggdata_t *row, dtrace_aggdesc_t *desc)
{
	uint32_t nrecs = row->dtada_nkeys + 2, size = state_words(v->layout) * 8;
	dtrace_recdesc_t *recs = ARENA_NEW_N(a, dtrace_recdesc_t, nrecs);
	const dtrace_datum_t id = {.dtd_size = sizeof(uint32_t), .dtd_value = v->agg->id};
	const dtrace_datum_t value = {.dtd_kind = DTRACE_DATUM_BYTES,
				      .dtd_size = size,
				      .dtd_bytes = (const char *)e->state};
	struct strbuf bytes = {0};

	api_bytes_add(&bytes, &id, &recs[0]);
	for (uint32_t i = 0; i < row->dtada_nkeys; i++) {
		recs[i + 1].dtrd_action = DTRACEACT_DIFEXPR;
		api_bytes_add(&bytes, &row->dtada_keys[i], &recs[i + 1]);
	}
	recs[nrecs - 1].dtrd_action = desc->dtagd_action;
	api_bytes_add(&bytes, &value, &recs[nrecs - 1]);
	for (uint32_t i = 0; i < nrecs; i++)
		recs[i].dtrd_nvals = 1;
	desc->dtagd_nrecs = (int)nrecs;
	desc->dtagd_rec = recs;
	row->dtada_data = arena_memdup(a, bytes.data, bytes.len);
	row->dtada_size = bytes.len;
	strbuf_deinit(&bytes);
}

const dtrace_aggdata_t *api_row(struct printer *p, struct arena *a, struct agg_view *v,
				struct agg_elem *e)
{
	dtrace_aggdata_t *row = ARENA_NEW(a, dtrace_aggdata_t);
	dtrace_aggdesc_t *desc = ARENA_NEW(a, dtrace_aggdesc_t);
	dtrace_datum_t *keys = ARENA_NEW_N(a, dtrace_datum_t, e->nkeys);
	struct api_row_ref *ref = ARENA_NEW(a, struct api_row_ref);

	*ref = (struct api_row_ref){p, a, v, e};
	for (uint32_t i = 0; i < e->nkeys; i++) {
		struct datum d = datum_of_key(&e->keys[i]);

		keys[i] = api_datum(p, a, &d);
	}
	*desc = (dtrace_aggdesc_t){
		.dtagd_name = v->agg->name,
		.dtagd_varid = v->agg->id,
		.dtagd_action = api_aggfunc(v->agg->func),
		.dtagd_flags = v->printed ? DTRACE_AGD_PRINTED : 0,
	};
	memcpy(desc->dtagd_params, v->agg->param, sizeof(desc->dtagd_params));
	*row = (dtrace_aggdata_t){
		.dtada_handle = p->api.cb.hdl,
		.dtada_desc = desc,
		.dtada_normal = v->normal,
		.dtada_keys = keys,
		.dtada_nkeys = e->nkeys,
		.dtada_ncpus = e->ncpus,
		.dtada_private = ref,
	};
	row_describe(a, v, e, row, desc);
	return row;
}

void printer_row_of(const dtrace_aggdata_t *row, struct agg_view **ret_view,
		    struct agg_elem **ret_elem)
{
	const struct api_row_ref *ref = row->dtada_private;

	*ret_view = ref->view;
	*ret_elem = ref->elem;
}

/* ---- values of rows ------------------------------------------------------------------------ */

static void value_buckets(const struct api_row_ref *ref, const struct agg_elem *e,
			  dtrace_aggvalue_t *ret)
{
	const struct agg_layout *l = ref->view->layout;
	uint32_t first = 0, end = l->nbuckets;
	dtrace_bucket_t *buckets;

	while (first < end && !hist_count(l, e->state, first))
		first++;
	while (end > first && !hist_count(l, e->state, end - 1))
		end--;
	buckets = ARENA_NEW_N(ref->arena, dtrace_bucket_t, end - first);
	for (uint32_t row = first; row < end; row++) {
		struct hist_bounds b = hist_bounds_of(l, row);
		int64_t count = hist_count(l, e->state, row);

		buckets[row - first] =
			(dtrace_bucket_t){b.min, b.max, normalized(count, ref->view->normal)};
		ret->dtav_count += (uint64_t)count;
	}
	ret->dtav_buckets = buckets;
	ret->dtav_nbuckets = end - first;
	ret->dtav_is_empty = first == end;
}

static void value_parts(const struct agg_elem *e, enum aggfunc func, dtrace_aggvalue_t *ret)
{
	switch (func) {
	case AGGFUNC_COUNT: ret->dtav_count = (uint64_t)e->state[0]; return;
	case AGGFUNC_SUM: ret->dtav_sum = e->state[0]; return;
	case AGGFUNC_LIVE:
		ret->dtav_count = (uint64_t)e->state[LIVE_COUNT];
		ret->dtav_sum = e->state[LIVE_BYTES];
		return;
	case AGGFUNC_STDDEV:
		ret->dtav_sumsq[0] = (uint64_t)e->state[2];
		ret->dtav_sumsq[1] = (uint64_t)e->state[3];
		/* fall through */
	case AGGFUNC_AVG:
		ret->dtav_count = (uint64_t)e->state[0];
		ret->dtav_sum = e->state[1];
		return;
	case AGGFUNC_MIN:
	case AGGFUNC_MAX:
	case AGGFUNC_QUANTIZE:
	case AGGFUNC_LQUANTIZE:
	case AGGFUNC_LLQUANTIZE: return;
	}
}

struct err *printer_aggvalue(const dtrace_aggdata_t *row, int cpu, dtrace_aggvalue_t *ret)
{
	const struct api_row_ref *ref = row->dtada_private;
	const struct agg_view *v = ref->view;
	struct agg_elem e = *ref->elem;

	if (cpu != DTRACE_CPUALL && (cpu < 0 || (uint32_t)cpu >= e.ncpus))
		return err_code(err_new("the row has no value of CPU %d%s", cpu,
					e.ncpus ? "" : ": option aggpercpu is not set"),
				EDT_BADAGG);
	if (cpu != DTRACE_CPUALL)
		e = agg_elem_of_cpu(v, ref->elem, (uint32_t)cpu);
	*ret = (dtrace_aggvalue_t){.dtav_action = api_aggfunc(v->agg->func),
				   .dtav_is_empty = !e.touched};
	if (agg_is_histogram(v->agg)) {
		value_buckets(ref, &e, ret);
		return NULL;
	}
	ret->dtav_value = agg_value(v, &e);
	value_parts(&e, v->agg->func, ret);
	return NULL;
}

/* ---- names --------------------------------------------------------------------------------- */

/* Returns a printer that can print addresses only. */
static struct printer names_of(struct syms *syms, const struct print_opts *opts)
{
	return (struct printer){.syms = syms, .opts = opts};
}

static struct position frame_position(const dtrace_frame_t *f)
{
	return (struct position){
		.pid = (uint64_t)f->dtf_pid,
		.addr = f->dtf_addr,
		.is_return = f->dtf_flags & DTRACE_FRAME_RETURN,
		.is_handler_call = f->dtf_flags & DTRACE_FRAME_SIGNAL,
		.is_language = f->dtf_flags & DTRACE_FRAME_LANGUAGE,
		.helper = f->dtf_helper,
	};
}

bool print_frame_find(struct syms *syms, const struct print_opts *opts, const dtrace_frame_t *f,
		      struct sym_name *ret)
{
	struct printer p = names_of(syms, opts);
	struct position at = frame_position(f);

	return !(f->dtf_flags & DTRACE_FRAME_CUT) && position_find(&p, &at, ret);
}

void print_frame_text(struct syms *syms, const struct print_opts *opts, const dtrace_frame_t *f,
		      struct strbuf *out)
{
	const struct datum stack = {.is_merged = f->dtf_flags & DTRACE_FRAME_MERGED};
	struct printer p = names_of(syms, opts);
	struct position at = frame_position(f);
	struct strbuf text = {0};

	if (f->dtf_flags & DTRACE_FRAME_LATE)
		strbuf_adds(&text, mark_text(RT_USTACK_LATE));
	else if (f->dtf_flags & DTRACE_FRAME_CUT)
		strbuf_adds(&text, f->dtf_helper ? f->dtf_helper : mark_text(RT_USTACK_CUT));
	else
		position_text(&p, &text, &at, stack_form(&p, &stack));
	strbuf_add(out, text.data, text.len);
	strbuf_deinit(&text);
}

void print_frame_json(struct syms *syms, const struct print_opts *opts, const dtrace_frame_t *f,
		      struct strbuf *out)
{
	const struct datum stack = {.is_merged = f->dtf_flags & DTRACE_FRAME_MERGED};
	struct printer p = names_of(syms, opts);
	struct position at = frame_position(f);

	json_position(&p, out, &at, stack_form(&p, &stack));
}
