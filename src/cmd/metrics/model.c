/* SPDX-License-Identifier: MIT */
/* The model: metrics and their series, and how a row of an aggregation changes them. */
#include "base/hash.h"
#include "base/text.h"
#include "metrics.h"

/* ---- metrics --------------------------------------------------------------------------------- */

static enum metric_type type_of(dtrace_actkind_t action, const struct directive *d)
{
	bool is_gauge = d && d->type && strcmp(d->type, "gauge") == 0;

	switch ((int)action) {
	case DTRACEAGG_COUNT:
	case DTRACEAGG_SUM: return is_gauge ? METRIC_GAUGE : METRIC_COUNTER;
	case DTRACEAGG_AVG: return METRIC_SUMMARY;
	case DTRACEAGG_QUANTIZE:
	case DTRACEAGG_LQUANTIZE:
	case DTRACEAGG_LLQUANTIZE: return METRIC_HISTOGRAM;
	default: return METRIC_GAUGE; /* min(), max(), stddev(), live() */
	}
}

/* Says which parts of an annotation have no effect, which its aggregation shows. */
static void directive_compare(const struct script *s, struct directive *d, enum metric_type type,
			      uint32_t nkeys)
{
	static const char *const types[] = {"counter", "gauge", "summary", "histogram"};

	if (d->is_checked)
		return;
	d->is_checked = true;
	if (d->type && strcmp(d->type, types[type]) != 0)
		say("%s:%d: 'type=%s' has no effect: '@%s' is a %s", s->path, d->line, d->type,
		    d->agg, types[type]);
	if (d->nlabels > nkeys)
		say("%s:%d: '@%s' has %u key%s: 'labels=' names %u", s->path, d->line, d->agg,
		    nkeys, PLURAL(nkeys), d->nlabels);
}

static bool has_label(const struct metric *m, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(m->labels[i], name) == 0)
			return true;
	return false;
}

/* The labels that the annotation names, then key1 and so on; each name once. */
static void labels_name(struct metric *m, const struct directive *d, uint32_t nkeys)
{
	m->nlabels = nkeys;
	for (uint32_t i = 0; i < nkeys; i++) {
		struct strbuf name = {0};

		if (d && i < d->nlabels)
			strbuf_adds(&name, d->labels[i]);
		else
			strbuf_addf(&name, "key%u", i);
		while (has_label(m, i, name.data))
			strbuf_addc(&name, '_');
		m->labels[i] = name.data;
	}
}

static char *metric_name(const struct exporter *x, const struct script *s, const char *agg)
{
	bool is_anonymous = strcmp(agg, "_") == 0;
	struct strbuf b = {0};
	char *name;

	strbuf_addf(&b, "%s%s%s%s", x->config.prefix, s->name, is_anonymous ? "" : "_",
		    is_anonymous ? "" : agg);
	name = name_clean(b.data);
	strbuf_deinit(&b);
	return name;
}

/* A counter's name without the suffix that counters get. */
static void suffix_cut(char *name)
{
	static const char suffix[] = "_total";
	size_t len = strlen(name), n = strlen(suffix);

	if (len > n && strcmp(name + len - n, suffix) == 0)
		name[len - n] = '\0';
}

struct metric *metric_create(const struct exporter *x, const struct script *s,
			     const dtrace_aggdesc_t *desc, uint32_t nkeys)
{
	static const char *const functions[] = {"count",      "sum",	"min",	    "max",
						"avg",	      "stddev", "quantize", "lquantize",
						"llquantize", "live"};
	struct directive *d = directive_find(s->directives, desc->dtagd_name);
	struct metric *m = mem_check(calloc(1, sizeof(*m)));
	struct strbuf help = {0};

	m->action = desc->dtagd_action;
	m->type = type_of(m->action, d);
	m->name = d && d->name ? mem_check(strdup(d->name)) : metric_name(x, s, desc->dtagd_name);
	if (m->type == METRIC_COUNTER)
		suffix_cut(m->name);
	strbuf_addf(&help, "@%s of %s: %s()", desc->dtagd_name, s->path,
		    functions[m->action - DTRACEAGG_COUNT]);
	m->help = d && d->help ? mem_check(strdup(d->help)) : mem_check(strdup(help.data));
	utf8_clean(m->help);
	strbuf_deinit(&help);
	m->normal = 1;
	labels_name(m, d, nkeys);
	if (d)
		directive_compare(s, d, m->type, nkeys);
	m->nslots = 64;
	m->slots = mem_check(calloc(m->nslots, sizeof(struct series *)));
	return m;
}

static void series_free(struct series *s, uint32_t nlabels)
{
	for (uint32_t i = 0; i < nlabels; i++)
		free(s->values[i]);
	free(s->values);
	free(s->labels);
	free(s->buckets);
	free(s);
}

void metric_destroy(struct metric *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < m->nslots; i++)
		while (m->slots[i]) {
			struct series *s = m->slots[i];

			m->slots[i] = s->next;
			series_free(s, m->nlabels);
		}
	if (m->overflow)
		series_free(m->overflow, m->nlabels);
	for (uint32_t i = 0; i < m->nlabels; i++)
		free(m->labels[i]);
	free(m->slots);
	free(m->bounds);
	free(m->name);
	free(m->help);
	free(m);
}

/* ---- what rows have counted ------------------------------------------------------------------ */

static void parts_add(struct parts *p, const struct parts *more)
{
	bool is_first = !p->nrows;

	if (!more->nrows)
		return;
	p->nrows += more->nrows;
	p->count += more->count;
	p->sum += more->sum;
	p->sumsq += more->sumsq;
	p->least = is_first || more->least < p->least ? more->least : p->least;
	p->greatest = is_first || more->greatest > p->greatest ? more->greatest : p->greatest;
}

static bool parts_differ(const struct parts *a, const struct parts *b)
{
	return a->count != b->count || a->sum != b->sum || a->sumsq != b->sumsq ||
	       a->least != b->least || a->greatest != b->greatest;
}

/* The parts of a row. normalize() is not executed (script.c), so its value is what was recorded. */
static struct parts parts_of(const dtrace_aggvalue_t *v)
{
	return (struct parts){
		.nrows = 1,
		.count = v->dtav_count,
		.sum = (uint64_t)v->dtav_sum,
		.sumsq = (unsigned __int128)v->dtav_sumsq[1] << 64 | v->dtav_sumsq[0],
		.least = v->dtav_value,
		.greatest = v->dtav_value,
	};
}

static struct parts parts_all(const struct series *s)
{
	struct parts all = s->base;

	parts_add(&all, &s->now);
	return all;
}

/* As D divides: towards zero, and by a factor beyond INT64_MAX to 0. */
static int64_t value_divide(int64_t v, uint64_t normal)
{
	return normal > INT64_MAX ? 0 : v / (int64_t)normal;
}

static uint64_t root_of(unsigned __int128 v)
{
	unsigned __int128 root = 0, bit = (unsigned __int128)1 << 126;

	for (; bit; bit >>= 2) {
		if (v >= root + bit) {
			v -= root + bit;
			root = (root >> 1) + bit;
		} else {
			root >>= 1;
		}
	}
	return (uint64_t)root;
}

/* The deviation of all values of all rows, with the divisions that D makes of one row. */
static int64_t deviation_of(const struct parts *p, uint64_t normal)
{
	__int128 mean;
	unsigned __int128 squares, square;

	if (!p->count)
		return 0;
	mean = (__int128)(int64_t)p->sum / (__int128)normal / (__int128)p->count;
	square = (unsigned __int128)(mean * mean);
	squares = p->sumsq / normal / normal / p->count;
	return squares > square ? (int64_t)root_of(squares - square) : 0;
}

static int64_t parts_value(const struct metric *m, const struct parts *p)
{
	switch ((int)m->action) {
	case DTRACEAGG_COUNT: return (int64_t)(p->count / m->normal);
	case DTRACEAGG_MIN: return value_divide(p->least, m->normal);
	case DTRACEAGG_MAX: return value_divide(p->greatest, m->normal);
	case DTRACEAGG_STDDEV: return deviation_of(p, m->normal);
	default: return value_divide((int64_t)p->sum, m->normal);
	}
}

int64_t series_value(const struct metric *m, const struct series *s)
{
	struct parts all = parts_all(s);

	return parts_value(m, &all);
}

uint64_t series_count(const struct metric *m, const struct series *s)
{
	(void)m; /* normalize() changes the values of avg(), not how many there are */
	return s->base.count + s->now.count;
}

int64_t series_sum(const struct metric *m, const struct series *s)
{
	return value_divide((int64_t)(s->base.sum + s->now.sum), m->normal);
}

/* ---- series ---------------------------------------------------------------------------------- */

struct series *series_next(const struct metric *m, const struct series *s)
{
	uint32_t i = 0;

	if (s && (s->is_overflow || s->next))
		return s->is_overflow ? NULL : s->next;
	if (s)
		i = (uint32_t)(s->hash & (m->nslots - 1)) + 1;
	while (i < m->nslots && !m->slots[i])
		i++;
	return i < m->nslots ? m->slots[i] : m->overflow;
}

struct bucket *series_bucket_find(const struct series *s, int64_t min)
{
	uint32_t low = 0, high = s->nbuckets;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (s->buckets[mid].min < min)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->nbuckets && s->buckets[low].min == min ? &s->buckets[low] : NULL;
}

int64_t series_bucket(const struct metric *m, const struct series *s, uint32_t i)
{
	const struct bucket *b = series_bucket_find(s, m->bounds[i].min);

	return b ? (int64_t)((b->base + b->now) / m->normal) : 0;
}

uint64_t histogram_visit(const struct metric *m, const struct series *s, bound_func *func,
			 void *arg)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < m->nbounds; i++) {
		const struct bucket *b = &m->bounds[i];

		if (b->min != INT64_MIN && (i == 0 || m->bounds[i - 1].max < b->min - 1))
			func(b->min - 1, count, arg);
		count += (uint64_t)series_bucket(m, s, i);
		if (b->max != INT64_MAX)
			func(b->max, count, arg);
	}
	return count;
}

static void slots_grow(struct metric *m)
{
	uint32_t n = m->nslots * 2;
	struct series **slots = mem_check(calloc(n, sizeof(struct series *)));

	for (uint32_t i = 0; i < m->nslots; i++)
		while (m->slots[i]) {
			struct series *s = m->slots[i];

			m->slots[i] = s->next;
			s->next = slots[s->hash & (n - 1)];
			slots[s->hash & (n - 1)] = s;
		}
	free(m->slots);
	m->slots = slots;
	m->nslots = n;
}

static void frame_add(dtrace_hdl_t *hdl, const dtrace_frame_t *f, struct strbuf *out)
{
	static struct strbuf text; /* a name of C++ may have thousands of characters */
	int len = dtrace_frame2str(hdl, f, text.data, (int)text.cap);

	if (len >= (int)text.cap) {
		(void)strbuf_room(&text, (size_t)len);
		(void)dtrace_frame2str(hdl, f, text.data, (int)text.cap);
	}
	strbuf_adds(out, text.data);
}

/* The name of an address, of mod() that of its module alone. */
static void address_add(dtrace_hdl_t *hdl, const dtrace_datum_t *d, struct strbuf *out)
{
	const dtrace_frame_t frame = {.dtf_addr = d->dtd_addr, .dtf_pid = d->dtd_pid};
	size_t begin = out->len;
	char *end;

	frame_add(hdl, &frame, out);
	end = strchr(out->data + begin, '`');
	if (!end || (d->dtd_kind != DTRACE_DATUM_MOD && d->dtd_kind != DTRACE_DATUM_UMOD))
		return;
	*end = '\0';
	out->len = (size_t)(end - out->data);
}

/* The text of a key as a label's value. */
static void key_text(dtrace_hdl_t *hdl, const dtrace_datum_t *d, struct strbuf *out)
{

	switch (d->dtd_kind) {
	case DTRACE_DATUM_INT:
		strbuf_addf(out, d->dtd_is_signed ? "%lld" : "%llu", (long long)d->dtd_value);
		return;
	case DTRACE_DATUM_STRING: strbuf_adds(out, d->dtd_bytes); return;
	case DTRACE_DATUM_BYTES:
		for (uint32_t i = 0; i < d->dtd_size; i++)
			strbuf_addf(out, "%02x", (unsigned char)d->dtd_bytes[i]);
		return;
	case DTRACE_DATUM_STACK:
	case DTRACE_DATUM_USTACK: /* as flame graphs want it: the outermost frame first */
		for (uint32_t i = d->dtd_nframes; i-- > 0;) {
			frame_add(hdl, &d->dtd_frames[i], out);
			if (i)
				strbuf_addc(out, ';');
		}
		return;
	case DTRACE_DATUM_SYM:
	case DTRACE_DATUM_MOD:
	case DTRACE_DATUM_USYM:
	case DTRACE_DATUM_UMOD:
	case DTRACE_DATUM_UADDR: address_add(hdl, d, out); return;
	}
}

/* Whoever makes keys that collide slows down one metric of theirs, which limit bounds. */
static uint64_t hash_of(const struct strbuf *key)
{
	uint64_t h = fnv_64(FNV_64, key->data, key->len);

	return h ^ h >> 29;
}

/* The labels of a row: key0="a",key1="b". texts: of the keys. */
static void labels_make(const struct metric *m, char *const *texts, struct strbuf *out)
{
	strbuf_clear(out);
	strbuf_adds(out, "");
	for (uint32_t i = 0; i < m->nlabels; i++) {
		strbuf_addf(out, "%s%s=\"", i ? "," : "", m->labels[i]);
		label_escape(out, texts[i], false);
		strbuf_addc(out, '"');
	}
}

static struct series *series_create(const struct reading *r, const struct metric *m,
				    char *const *texts, const char *labels)
{
	struct series *s = mem_check(calloc(1, sizeof(*s)));

	s->start_ns = r->since_ns;
	s->labels = mem_check(strdup(labels));
	s->values = mem_check(calloc(m->nlabels + 1, sizeof(char *)));
	for (uint32_t i = 0; i < m->nlabels; i++)
		s->values[i] = mem_check(strdup(texts ? texts[i] : ""));
	return s;
}

static struct series *overflow_get(const struct reading *r, struct metric *m)
{
	if (!m->overflow) {
		m->overflow = series_create(r, m, NULL, "otel_metric_overflow=\"true\"");
		m->overflow->is_overflow = true;
	}
	return m->overflow;
}

/* The series of a row; NULL: it is new, and there are too many. */
static struct series *series_get(const struct reading *r, struct metric *m,
				 const dtrace_aggdata_t *row)
{
	static struct strbuf key, parts[KEYS_MAX];
	char *texts[KEYS_MAX];
	struct series *s;
	uint64_t hash;

	for (uint32_t i = 0; i < m->nlabels; i++) {
		strbuf_clear(&parts[i]);
		strbuf_adds(&parts[i], "");
		key_text(row->dtada_handle, &row->dtada_keys[i], &parts[i]);
		utf8_clean(parts[i].data);
		texts[i] = parts[i].data;
	}
	labels_make(m, texts, &key);
	hash = hash_of(&key);
	for (s = m->slots[hash & (m->nslots - 1)]; s; s = s->next)
		if (s->hash == hash && strcmp(s->labels, key.data) == 0)
			return s;
	if (m->nseries >= r->x->config.limit)
		return NULL;
	if (m->nseries >= m->nslots)
		slots_grow(m);
	s = series_create(r, m, texts, key.data);
	s->hash = hash;
	s->next = m->slots[hash & (m->nslots - 1)];
	m->slots[hash & (m->nslots - 1)] = s;
	m->nseries++;
	return s;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The bucket of an ascending list that begins with min; a new one is put in. */
static struct bucket *bucket_get(struct bucket **list, uint32_t *n, int64_t min, int64_t max)
{
	uint32_t i = *n;

	while (i > 0 && (*list)[i - 1].min >= min)
		i--;
	if (i < *n && (*list)[i].min == min)
		return &(*list)[i];
	*list = mem_check(realloc(*list, (*n + 1) * sizeof(struct bucket)));
	memmove(&(*list)[i + 1], &(*list)[i], (*n - i) * sizeof(struct bucket));
	(*list)[i] = (struct bucket){.min = min, .max = max};
	++*n;
	return &(*list)[i];
}

/* Adds the buckets of a row; is_base: to those that were taken out. */
static void buckets_add(struct metric *m, struct series *s, const dtrace_aggvalue_t *v,
			bool is_base)
{
	for (uint32_t i = 0; i < v->dtav_nbuckets; i++) {
		const dtrace_bucket_t *from = &v->dtav_buckets[i];
		struct bucket *b;

		if (from->dtb_count <= 0)
			continue;
		(void)bucket_get(&m->bounds, &m->nbounds, from->dtb_min, from->dtb_max);
		b = bucket_get(&s->buckets, &s->nbuckets, from->dtb_min, from->dtb_max);
		*(is_base ? &b->base : &b->now) += (uint64_t)from->dtb_count;
	}
}

/* Prepares a series for the first of its rows in a reading. */
static void series_begin(const struct reading *r, struct series *s)
{
	if (s->seen == r->number)
		return;
	s->seen = r->number;
	s->now = (struct parts){0};
	for (uint32_t i = 0; i < s->nbuckets; i++)
		s->buckets[i].now = 0;
	if (s->begins_anew)
		s->base = (struct parts){0};
	s->begins_anew = false;
}

static bool is_expired(const struct reading *r, const struct series *s)
{
	uint64_t limit = r->x->config.expire_ns;

	return limit && s->changed_ns && r->now_ns - s->changed_ns > limit;
}

/* Objects that live() counts stay, though they do not change: taken out, they are forgotten. */
static bool is_alive(const struct metric *m, const struct parts *p)
{
	return (int)m->action == DTRACEAGG_LIVE && p->count;
}

int metric_row(const struct reading *r, struct metric *m, const dtrace_aggdata_t *row, bool is_due)
{
	bool is_gauge = m->type == METRIC_GAUGE, is_removed, is_base;
	dtrace_aggvalue_t v;
	struct parts parts;
	struct series *s;

	if (dtrace_aggvalue(row, DTRACE_CPUALL, &v) != 0)
		return DTRACE_AGGWALK_ERROR;
	if (v.dtav_is_empty)
		return is_due ? DTRACE_AGGWALK_REMOVE : DTRACE_AGGWALK_NEXT;
	s = series_get(r, m, row);
	if (!s) {
		s = overflow_get(r, m);
		m->noverflowed++;
	}
	series_begin(r, s);
	parts = parts_of(&v);
	/*
	 * Rows of a series that expires are taken out, and metric_read() forgets the series, unless
	 * one of them has changed after all: then base has what they had counted. A gauge that the
	 * script clears keeps its value until there is another one.
	 */
	is_removed = is_due || s->is_overflow || (!is_alive(m, &parts) && is_expired(r, s));
	is_base = is_removed && (s->is_overflow || !is_due || !is_gauge);
	parts_add(is_base ? &s->base : &s->now, &parts);
	if (m->type == METRIC_HISTOGRAM)
		buckets_add(m, s, &v, is_base);
	s->begins_anew |= is_due && is_gauge && !s->is_overflow;
	return is_removed ? DTRACE_AGGWALK_REMOVE : DTRACE_AGGWALK_NEXT;
}

/* Notes whether the series has changed. A counter that falls is none: that is said once. */
static void series_compare(const struct reading *r, struct metric *m, struct series *s)
{
	struct parts all = parts_all(s);
	int64_t value = parts_value(m, &all);

	if (!s->changed_ns || parts_differ(&all, &s->last))
		s->changed_ns = r->now_ns;
	if (m->type == METRIC_COUNTER && value < s->last_value && !m->has_fallen) {
		m->has_fallen = true;
		say("%s has fallen: it is no counter; say 'type=gauge' in its '@metric' comment",
		    m->name);
	}
	s->last = all;
	s->last_value = value;
}

void metric_read(const struct reading *r, struct metric *m)
{
	if (m->overflow)
		series_compare(r, m, m->overflow);
	for (uint32_t i = 0; i < m->nslots; i++)
		for (struct series **at = &m->slots[i]; *at;) {
			struct series *s = *at;

			/* nothing is alive where live() has no row any more */
			if ((int)m->action == DTRACEAGG_LIVE && s->seen != r->number)
				s->now = (struct parts){0};
			series_compare(r, m, s);
			if (!is_expired(r, s) || s->npinned || is_alive(m, &s->now)) {
				at = &s->next;
				continue;
			}
			*at = s->next;
			series_free(s, m->nlabels);
			m->nseries--;
		}
}
