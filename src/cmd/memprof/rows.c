/* SPDX-License-Identifier: MIT */
/*
 * Rows of an aggregation as texts, merged and sorted.
 *
 * The kernel's keys are finer than rows: a stack differs by native frames that are not shown, and
 * by frames below the last one that is. Rows with the same text are one.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "memprof.h"

struct reading {
	struct memprof *m;
	const char *agg;
	struct rows rows;
	size_t cap;
};

static void line_add(struct strbuf *text, char kind, const char *line, size_t len)
{
	strbuf_addc(text, kind);
	text_escape(text, line, len);
	strbuf_addc(text, '\n');
}

static bool has_language(const dtrace_datum_t *stack)
{
	for (uint32_t i = 0; i < stack->dtd_nframes; i++)
		if (stack->dtd_frames[i].dtf_helper &&
		    !(stack->dtd_frames[i].dtf_flags & DTRACE_FRAME_CUT))
			return true;
	return false;
}

/* Where the language has frames they say enough; native frames are shown where it has none. */
static void stack_add(const struct memprof *m, struct strbuf *text, const dtrace_datum_t *stack)
{
	bool is_language = has_language(stack);
	uint32_t nlines = 0;
	char name[1024];

	for (uint32_t i = 0; i < stack->dtd_nframes && (!m->depth || nlines < m->depth); i++) {
		const dtrace_frame_t *f = &stack->dtd_frames[i];
		bool is_note = f->dtf_helper && f->dtf_helper[0] == '@';
		bool is_own = f->dtf_helper && !(f->dtf_flags & DTRACE_FRAME_CUT);

		if (is_own && is_note && m->is_mixed && !(f->dtf_flags & DTRACE_FRAME_LANGUAGE)) {
			int len = dtrace_frame2str(m->dtp, f, name, sizeof(name));

			line_add(text, LINE_NATIVE, name,
				 len > 0 ? strnlen(name, sizeof(name)) : 0);
			nlines++;
		}
		if (is_own) {
			const char *helper = f->dtf_helper + is_note;

			helper += strspn(helper, " ");
			line_add(text, LINE_LANGUAGE, helper, strlen(helper));
			nlines++;
		} else if (!is_language || m->is_mixed) {
			(void)dtrace_frame2str(m->dtp, f, name, sizeof(name));
			line_add(text, LINE_NATIVE, name, strnlen(name, sizeof(name)));
			nlines++;
		}
	}
}

/* The place of an address in the process; of usym(), the function. */
static void address_name(const struct memprof *m, const dtrace_datum_t *key, char *name, int size)
{
	char *plus;

	(void)dtrace_uaddr2str(m->dtp, (pid_t)key->dtd_pid, key->dtd_addr, name, size);
	plus = key->dtd_kind == DTRACE_DATUM_USYM ? strrchr(name, '+') : NULL;
	/* where no function is known, nothing but the distance is said */
	if (plus && plus > name && plus[-1] != '`' && strncmp(plus, "+0x", 3) == 0)
		*plus = '\0';
}

static void key_add(const struct memprof *m, struct strbuf *text, const dtrace_datum_t *key)
{
	char number[24], name[1024];

	switch (key->dtd_kind) {
	case DTRACE_DATUM_STACK:
	case DTRACE_DATUM_USTACK: stack_add(m, text, key); break;
	case DTRACE_DATUM_STRING:
		line_add(text, LINE_KEY, key->dtd_bytes, strnlen(key->dtd_bytes, key->dtd_size));
		break;
	case DTRACE_DATUM_USYM:
	case DTRACE_DATUM_UADDR:
		address_name(m, key, name, sizeof(name));
		line_add(text, LINE_NATIVE, name, strnlen(name, sizeof(name)));
		break;
	case DTRACE_DATUM_INT:
	case DTRACE_DATUM_BYTES:
	case DTRACE_DATUM_SYM:
	case DTRACE_DATUM_MOD:
	case DTRACE_DATUM_UMOD:
		(void)snprintf(number, sizeof(number), "%lld", (long long)key->dtd_value);
		line_add(text, LINE_KEY, number, strlen(number));
		break;
	}
}

static int row_read(const dtrace_aggdata_t *agg, void *arg)
{
	struct reading *r = arg;
	struct strbuf text = {0};
	dtrace_aggvalue_t value;

	if (strcmp(agg->dtada_desc->dtagd_name, r->agg) != 0)
		return DTRACE_AGGWALK_NEXT;
	if (dtrace_aggvalue(agg, DTRACE_CPUALL, &value) != 0)
		return DTRACE_AGGWALK_ERROR;
	for (uint32_t i = 0; i < agg->dtada_nkeys; i++)
		key_add(r->m, &text, &agg->dtada_keys[i]);
	if (r->rows.n == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 256;
		r->rows.rows = mem_check(realloc(r->rows.rows, r->cap * sizeof(*r->rows.rows)));
	}
	if (!text.len)
		line_add(&text, LINE_NATIVE, "[no stack]", strlen("[no stack]"));
	r->rows.rows[r->rows.n++] = (struct row){.text = text.data,
						 .bytes = value.dtav_value,
						 .count = (int64_t)value.dtav_count};
	return DTRACE_AGGWALK_NEXT;
}

static int row_compare_text(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->text, ((const struct row *)b)->text);
}

static int row_compare_growth(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->grown != y->grown)
		return x->grown > y->grown ? -1 : 1;
	if (x->grown_count != y->grown_count)
		return x->grown_count > y->grown_count ? -1 : 1;
	return strcmp(x->text, y->text);
}

static void rows_merge(struct rows *r)
{
	size_t n = 0;

	if (!r->n)
		return;
	qsort(r->rows, r->n, sizeof(*r->rows), row_compare_text);
	for (size_t i = 1; i < r->n; i++) {
		if (strcmp(r->rows[n].text, r->rows[i].text) != 0) {
			r->rows[++n] = r->rows[i];
			continue;
		}
		r->rows[n].bytes += r->rows[i].bytes;
		r->rows[n].count += r->rows[i].count;
		free(r->rows[i].text);
	}
	r->n = n + 1;
}

void rows_read(struct memprof *m, const char *agg, struct rows *ret_rows)
{
	struct reading r = {.m = m, .agg = agg};

	if (dtrace_aggregate_snap(m->dtp) != 0 || dtrace_aggregate_walk(m->dtp, row_read, &r) != 0)
		library_fatal(m, "cannot read aggregations");
	rows_merge(&r.rows);
	*ret_rows = r.rows;
}

static int64_t text_find(const struct rows *r, const char *text)
{
	const struct row want = {.text = (char *)text};
	const struct row *found =
		r->n ? bsearch(&want, r->rows, r->n, sizeof(want), row_compare_text) : NULL;

	return found ? found - r->rows : -1;
}

/* Adds the rows of old that r, which is sorted by text, does not have. */
static void rows_add_gone(struct rows *r, const struct rows *old)
{
	struct rows gone = {.rows = mem_check(calloc(old->n + 1, sizeof(*gone.rows)))};

	for (size_t i = 0; i < old->n; i++) {
		const struct row *o = &old->rows[i];

		if ((o->bytes || o->count) && text_find(r, o->text) < 0)
			gone.rows[gone.n++] = (struct row){.text = mem_check(strdup(o->text)),
							   .grown = -o->bytes,
							   .grown_count = -o->count};
	}
	if (gone.n) {
		r->rows = mem_check(realloc(r->rows, (r->n + gone.n) * sizeof(*r->rows)));
		memcpy(&r->rows[r->n], gone.rows, gone.n * sizeof(*gone.rows));
		r->n += gone.n;
	}
	free(gone.rows);
}

void rows_compare(struct rows *r, const struct rows *before)
{
	struct rows old = {.n = before->n};

	if (old.n) { /* a report has sorted them otherwise */
		old.rows = mem_check(malloc(old.n * sizeof(*old.rows)));
		memcpy(old.rows, before->rows, old.n * sizeof(*old.rows));
		qsort(old.rows, old.n, sizeof(*old.rows), row_compare_text);
	}
	for (size_t i = 0; i < r->n; i++) {
		int64_t k = text_find(&old, r->rows[i].text);

		r->rows[i].grown = r->rows[i].bytes - (k < 0 ? 0 : old.rows[k].bytes);
		r->rows[i].grown_count = r->rows[i].count - (k < 0 ? 0 : old.rows[k].count);
	}
	rows_add_gone(r, &old);
	free(old.rows);
}

void rows_sort(struct rows *r)
{
	if (r->n)
		qsort(r->rows, r->n, sizeof(*r->rows), row_compare_growth);
}

void rows_deinit(struct rows *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->rows[i].text);
	free(r->rows);
	*r = (struct rows){0};
}
