/* The model: metrics and their series, and how a row of an aggregation changes them. */
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
	default: return METRIC_GAUGE; /* min(), max(), stddev() */
	}
}

static char *metric_name(const struct exporter *x, const struct script *s, const char *agg)
{
	bool is_anonymous = strcmp(agg, "_") == 0;
	struct buf b = {0};
	char *name;

	buf_addf(&b, "%s%s%s%s", x->config.prefix, s->name, is_anonymous ? "" : "_",
		 is_anonymous ? "" : agg);
	name = name_clean(b.data);
	buf_free(&b);
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
	static const char *const functions[] = {"count",    "sum",	 "min",
						"max",	    "avg",	 "stddev",
						"quantize", "lquantize", "llquantize"};
	const struct directive *d = directive_find(s->directives, desc->dtagd_name);
	struct metric *m = mem_check(calloc(1, sizeof(*m)));
	struct buf help = {0};

	m->action = desc->dtagd_action;
	m->type = type_of(m->action, d);
	m->name = d && d->name ? mem_check(strdup(d->name)) : metric_name(x, s, desc->dtagd_name);
	if (m->type == METRIC_COUNTER)
		suffix_cut(m->name);
	buf_addf(&help, "@%s of %s: %s()", desc->dtagd_name, s->path,
		 functions[m->action - DTRACEAGG_COUNT]);
	m->help = d && d->help ? mem_check(strdup(d->help)) : mem_check(strdup(help.data));
	buf_free(&help);
	m->nlabels = nkeys;
	for (uint32_t i = 0; i < nkeys; i++) {
		char key[16];

		(void)snprintf(key, sizeof(key), "key%u", i);
		m->labels[i] = mem_check(strdup(d && i < d->nlabels ? d->labels[i] : key));
	}
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
	free(s->buckets_sent);
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

double series_count(const struct series *s)
{
	return (double)(s->count_base + s->count_now);
}

double series_sum(const struct series *s)
{
	return (double)(s->sum_base + s->sum_now);
}

int64_t series_bucket(const struct metric *m, const struct series *s, uint32_t i)
{
	int64_t min = m->bounds[i].min;
	uint32_t low = 0, high = s->nbuckets;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (s->buckets[mid].min < min)
			low = mid + 1;
		else
			high = mid;
	}
	return low < s->nbuckets && s->buckets[low].min == min
		       ? s->buckets[low].base + s->buckets[low].now
		       : 0;
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

/* The text of a key as a label's value. */
static void key_text(dtrace_hdl_t *hdl, const dtrace_datum_t *d, struct buf *out)
{
	char text[1024];

	switch (d->dtd_kind) {
	case DTRACE_DATUM_INT:
		buf_addf(out, d->dtd_is_signed ? "%lld" : "%llu", (long long)d->dtd_value);
		return;
	case DTRACE_DATUM_STRING: buf_adds(out, d->dtd_bytes); return;
	case DTRACE_DATUM_BYTES:
		for (uint32_t i = 0; i < d->dtd_size; i++)
			buf_addf(out, "%02x", (unsigned char)d->dtd_bytes[i]);
		return;
	case DTRACE_DATUM_STACK:
	case DTRACE_DATUM_USTACK: /* as flame graphs want it: the outermost frame first */
		for (uint32_t i = d->dtd_nframes; i-- > 0;) {
			(void)dtrace_frame2str(hdl, &d->dtd_frames[i], text, sizeof(text));
			buf_addf(out, "%s%s", text, i ? ";" : "");
		}
		return;
	case DTRACE_DATUM_SYM:
	case DTRACE_DATUM_MOD:
	case DTRACE_DATUM_USYM:
	case DTRACE_DATUM_UMOD:
	case DTRACE_DATUM_UADDR:
		(void)(d->dtd_pid
			       ? dtrace_uaddr2str(hdl, d->dtd_pid, d->dtd_addr, text, sizeof(text))
			       : dtrace_addr2str(hdl, d->dtd_addr, text, sizeof(text)));
		if (d->dtd_kind == DTRACE_DATUM_MOD || d->dtd_kind == DTRACE_DATUM_UMOD)
			text[strcspn(text, "`")] = '\0';
		buf_adds(out, text);
		return;
	}
}

/* Bytes that are no UTF-8 become '?': all receivers refuse them. */
static void utf8_clean(char *text)
{
	unsigned char *p = (unsigned char *)text;

	while (*p) {
		int n = *p < 0x80		  ? 0
			: *p >= 0xc2 && *p < 0xe0 ? 1
			: *p >= 0xe0 && *p < 0xf0 ? 2
			: *p >= 0xf0 && *p < 0xf5 ? 3
						  : -1;
		bool is_good = n >= 0;

		for (int i = 1; i <= n && is_good; i++)
			is_good = (p[i] & 0xc0) == 0x80;
		if (is_good &&
		    n >= 2) /* no overlong forms, surrogates, or numbers beyond U+10FFFF */
			is_good =
				!((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) ||
				  (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90));
		if (!is_good) {
			*p++ = '?';
			continue;
		}
		p += n + 1;
	}
}

/* FNV-1a; whoever makes keys that collide slows down one metric of theirs, which limit bounds. */
static uint64_t hash_of(const struct buf *key)
{
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < key->len; i++)
		h = (h ^ (unsigned char)key->data[i]) * 0x100000001b3;
	return h ^ h >> 29;
}

/* The labels of a row: key0="a",key1="b". texts: of the keys. */
static void labels_make(const struct metric *m, char *const *texts, struct buf *out)
{
	buf_clear(out);
	buf_adds(out, "");
	for (uint32_t i = 0; i < m->nlabels; i++) {
		buf_addf(out, "%s%s=\"", i ? "," : "", m->labels[i]);
		label_escape(out, texts[i], false);
		buf_addc(out, '"');
	}
}

static struct series *series_create(const struct metric *m, char *const *texts, const char *labels)
{
	struct series *s = mem_check(calloc(1, sizeof(*s)));

	s->labels = mem_check(strdup(labels));
	s->values = mem_check(calloc(m->nlabels + 1, sizeof(char *)));
	for (uint32_t i = 0; i < m->nlabels; i++)
		s->values[i] = mem_check(strdup(texts ? texts[i] : ""));
	return s;
}

static struct series *overflow_get(struct metric *m)
{
	if (!m->overflow) {
		m->overflow = series_create(m, NULL, "otel_metric_overflow=\"true\"");
		m->overflow->is_overflow = true;
	}
	return m->overflow;
}

/* The series of a row; NULL: it is new, and there are too many. */
static struct series *series_get(struct exporter *x, struct metric *m, const dtrace_aggdata_t *row)
{
	static struct buf key, parts[KEYS_MAX];
	char *texts[KEYS_MAX];
	struct series *s;
	uint64_t hash;

	for (uint32_t i = 0; i < m->nlabels; i++) {
		buf_clear(&parts[i]);
		buf_adds(&parts[i], "");
		key_text(row->dtada_handle, &row->dtada_keys[i], &parts[i]);
		utf8_clean(parts[i].data);
		texts[i] = parts[i].data;
	}
	labels_make(m, texts, &key);
	hash = hash_of(&key);
	for (s = m->slots[hash & (m->nslots - 1)]; s; s = s->next)
		if (s->hash == hash && strcmp(s->labels, key.data) == 0)
			return s;
	if (m->nseries >= x->config.limit)
		return NULL;
	if (m->nseries >= m->nslots)
		slots_grow(m);
	s = series_create(m, texts, key.data);
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

/* A new bound moves those behind it: what StatsD was told of them moves, too. */
static void bound_add(struct metric *m, int64_t min, int64_t max)
{
	uint32_t n = m->nbounds, at;

	at = (uint32_t)(bucket_get(&m->bounds, &m->nbounds, min, max) - m->bounds);
	if (m->nbounds == n)
		return;
	for (struct series *s = series_next(m, NULL); s; s = series_next(m, s)) {
		if (!s->buckets_sent || at > s->nbuckets_sent)
			continue;
		s->buckets_sent = mem_check(
			realloc(s->buckets_sent, (s->nbuckets_sent + 1) * sizeof(double)));
		memmove(&s->buckets_sent[at + 1], &s->buckets_sent[at],
			(s->nbuckets_sent - at) * sizeof(double));
		s->buckets_sent[at] = 0;
		s->nbuckets_sent++;
	}
}

static void histogram_take(struct metric *m, struct series *s, const dtrace_aggvalue_t *v)
{
	for (uint32_t i = 0; i < s->nbuckets; i++)
		s->buckets[i].now = 0;
	for (uint32_t i = 0; i < v->dtav_nbuckets; i++) {
		const dtrace_bucket_t *b = &v->dtav_buckets[i];

		if (b->dtb_count <= 0)
			continue;
		bound_add(m, b->dtb_min, b->dtb_max);
		bucket_get(&s->buckets, &s->nbuckets, b->dtb_min, b->dtb_max)->now = b->dtb_count;
	}
}

/* Adds what the kernel has counted for the row to its base, before the row is cleared there. */
static void series_settle(struct series *s)
{
	s->sum_base += s->sum_now;
	s->count_base += s->count_now;
	s->sum_now = 0;
	s->count_now = 0;
	for (uint32_t i = 0; i < s->nbuckets; i++) {
		s->buckets[i].base += s->buckets[i].now;
		s->buckets[i].now = 0;
	}
}

static void gauge_take(const struct metric *m, struct series *s, const dtrace_aggvalue_t *v,
		       bool is_first)
{
	double value = (double)v->dtav_value;

	if (s->is_overflow && !is_first) /* of all rows there the least, the greatest, the sum */
		value = m->action == DTRACEAGG_MIN	? (value < s->value ? value : s->value)
			: m->action == DTRACEAGG_MAX	? (value > s->value ? value : s->value)
			: m->action == DTRACEAGG_STDDEV ? value
							: value + s->value;
	s->value = value;
}

static void value_take(struct metric *m, struct series *s, const dtrace_aggvalue_t *v,
		       uint64_t normal, bool is_first)
{
	int64_t divisor = normal ? (int64_t)normal : 1;

	switch (m->type) {
	case METRIC_GAUGE: gauge_take(m, s, v, is_first); break;
	case METRIC_HISTOGRAM: histogram_take(m, s, v); break;
	case METRIC_COUNTER:
	case METRIC_SUMMARY:
		s->sum_now = v->dtav_sum / divisor;
		s->count_now = m->type == METRIC_COUNTER ? v->dtav_count / (uint64_t)divisor
							 : v->dtav_count;
		break;
	}
}

/* Whether the row differs from what was read last. A sum that falls is no counter: said once. */
static bool row_changes(struct metric *m, const struct series *s, const dtrace_aggvalue_t *v)
{
	if (m->type == METRIC_GAUGE)
		return s->value != (double)v->dtav_value;
	if (m->type == METRIC_HISTOGRAM) {
		int64_t now = 0;

		for (uint32_t i = 0; i < s->nbuckets; i++)
			now += s->buckets[i].now;
		return now != (int64_t)v->dtav_count;
	}
	if (m->action == DTRACEAGG_SUM && v->dtav_sum < s->sum_now && !m->has_fallen) {
		m->has_fallen = true;
		say("%s has fallen: it is no counter; say 'type=gauge' in its '@metric' comment",
		    m->name);
	}
	return s->sum_now != v->dtav_sum || s->count_now != v->dtav_count;
}

int metric_row(struct exporter *x, struct metric *m, const dtrace_aggdata_t *row, bool is_due)
{
	struct series *s = series_get(x, m, row);
	bool is_overflow = !s;
	dtrace_aggvalue_t v;
	uint64_t now = clock_ns();

	if (is_overflow) {
		s = overflow_get(m);
		m->noverflowed++;
	}
	s->seen = x->nreadings;
	if (dtrace_aggvalue(row, DTRACE_CPUALL, &v) != 0)
		return DTRACE_AGGWALK_ERROR;
	if (v.dtav_is_empty)
		return is_due ? DTRACE_AGGWALK_REMOVE : DTRACE_AGGWALK_NEXT;
	if (!s->changed_ns || row_changes(m, s, &v))
		s->changed_ns = now;
	else if (!is_overflow && x->config.expire_ns && now - s->changed_ns > x->config.expire_ns) {
		s->seen = 0; /* metric_expire() forgets it */
		return DTRACE_AGGWALK_REMOVE;
	}
	value_take(m, s, &v, row->dtada_normal, is_overflow && m->noverflowed == 1);
	if (!is_due && !is_overflow)
		return DTRACE_AGGWALK_NEXT;
	series_settle(s);
	return DTRACE_AGGWALK_REMOVE;
}

void metric_expire(struct exporter *x, struct metric *m)
{
	uint64_t now = clock_ns();

	if (!x->config.expire_ns)
		return;
	for (uint32_t i = 0; i < m->nslots; i++)
		for (struct series **at = &m->slots[i]; *at;) {
			struct series *s = *at;

			if (s->seen == x->nreadings || now - s->changed_ns <= x->config.expire_ns) {
				at = &s->next;
				continue;
			}
			*at = s->next;
			series_free(s, m->nlabels);
			m->nseries--;
		}
}
