/* SPDX-License-Identifier: MIT */
/* Functions of languages: which there are, where they stand, their source; what made an object. */
#include "mdb/functions.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "mdb/census.h"

#define SOURCE_MOST  (64u << 20)  /* characters of one source */
#define SOURCES_MOST (1ull << 30) /* of all sources in which lines are counted */
#define TAB	     8u

/* ---- sources --------------------------------------------------------------------------------- */

/* The text of a source, and where its lines begin: counted as the runtime counts characters. */
struct source {
	struct strbuf text;	 /* empty in the table of sources, which has only the lines */
	VEC(uint32_t) begins;	 /* of each line, in units of the runtime */
	VEC(uint32_t) begins_at; /* the same, in bytes of the text */
};

/* The length of the character of UTF-8 there, and how many units of 16 bits it is. */
static size_t character_get(const char *s, size_t len, uint32_t *ret_units, uint32_t *ret_ch)
{
	size_t n = utf8_get(s, len, ret_ch);

	*ret_units = n == 4 ? 2 : 1;
	return MAX(n, (size_t)1);
}

/* Lines end as JavaScript ends them, which is also right for other languages. */
static void source_index(struct source *s)
{
	const char *text = strbuf_text(&s->text);
	uint32_t unit = 0, units, ch = 0;

	vec_push(&s->begins, 0);
	vec_push(&s->begins_at, 0);
	for (size_t i = 0, n; i < s->text.len; i += n) {
		n = character_get(text + i, s->text.len - i, &units, &ch);
		unit += units;
		if (ch != '\n' && ch != 0x2028 && ch != 0x2029 &&
		    (ch != '\r' || (i + 1 < s->text.len && text[i + 1] == '\n')))
			continue;
		vec_push(&s->begins, unit);
		vec_push(&s->begins_at, (uint32_t)(i + n));
	}
}

static void source_free(struct source *s)
{
	if (!s)
		return;
	strbuf_deinit(&s->text);
	vec_deinit(&s->begins);
	vec_deinit(&s->begins_at);
	free(s);
}

/* Reads the text of a word. */
static struct source *source_read(const struct lang *l, uint64_t word)
{
	struct source *s = xcalloc(1, sizeof(*s));
	struct value v;

	if (value_read(l->p, l->h, word, 0, &v) && v.said.is_text)
		(void)value_characters_add(l->p, l->h, &v.said, SOURCE_MOST, &s->text);
	value_free(&v);
	source_index(s);
	return s;
}

/* The number of the line in which a character is, from 0. */
static uint32_t source_line(const struct source *s, uint64_t unit)
{
	uint32_t lo = 0, hi = (uint32_t)s->begins.len;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (s->begins.data[mid] <= unit)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* The lines of a source, kept for the next function in it; NULL: too much was read already. */
static const struct source *sources_get(struct sources *all, const struct lang *l, uint64_t word)
{
	struct source *s;

	if (!all->by_word)
		all->by_word = hashmap_create();
	s = hashmap_find(all->by_word, &word, sizeof(word));
	if (s || all->nread > SOURCES_MOST)
		return s;
	s = source_read(l, word);
	all->nread += s->text.len + 1;
	strbuf_deinit(&s->text);
	s->text = (struct strbuf){0};
	hashmap_set(all->by_word, &word, sizeof(word), s);
	return s;
}

void sources_free(struct sources *all)
{
	struct source *s;
	const void *key;
	size_t pos = 0, len;

	while (all->by_word && (s = hashmap_next(all->by_word, &pos, &key, &len)))
		source_free(s);
	hashmap_destroy(all->by_word);
	*all = (struct sources){0};
}

/* ---- functions ------------------------------------------------------------------------------- */

/* The text of an item, which is a word or was said. */
static void item_text_add(const struct lang *l, const struct value *v, const char *name,
			  struct strbuf *out)
{
	const struct value_item *item = value_item_find(v, name);

	if (item && item->has_word)
		value_name_add(l->p, l->h, item->word, out);
	else if (item && item->said.is_text)
		(void)value_characters_add(l->p, l->h, &item->said, 1000, out);
	else if (item)
		strbuf_add(out, strbuf_text(&item->said.literal), item->said.literal.len);
}

bool function_read(struct sources *all, const struct lang *l, uint64_t word, struct function *ret)
{
	const struct value_item *source;
	const struct source *lines;
	int64_t begin = 0, end = 0;
	struct value v;

	*ret = (struct function){0};
	value_answer_read(l->p, l->h, HELPER_FUNCTION, word, &v);
	if (!v.is_known) {
		value_free(&v);
		return false;
	}
	item_text_add(l, &v, "name", &ret->name);
	if (!ret->name.len) {
		strbuf_adds(&ret->name, "(anonymous)");
		if (value_item_find(&v, "inferred")) {
			strbuf_adds(&ret->name, " as ");
			item_text_add(l, &v, "inferred", &ret->name);
		}
	}
	item_text_add(l, &v, "file", &ret->file);
	source = value_item_find(&v, "source");
	ret->has_source = source && source->has_word;
	ret->source = ret->has_source ? source->word : 0;
	(void)value_number_get(&v, "line of source", &ret->before);
	ret->has_extent = value_number_get(&v, "begin", &begin) &&
			  value_number_get(&v, "end", &end) && begin >= 0 && begin <= end &&
			  end <= UINT32_MAX;
	ret->begin = ret->has_extent ? (uint64_t)begin : 0;
	ret->end = ret->has_extent ? (uint64_t)end : 0;
	if (value_number_get(&v, "line", &ret->line) || !ret->has_source || !ret->has_extent ||
	    !all) {
		value_free(&v);
		return true;
	}
	lines = sources_get(all, l, ret->source);
	if (lines)
		ret->line = source_line(lines, ret->begin) + 1 + ret->before;
	value_free(&v);
	return true;
}

void function_line_at(struct sources *all, const struct lang *l, struct function *f, uint64_t unit)
{
	const struct source *lines = f->has_source ? sources_get(all, l, f->source) : NULL;

	if (lines)
		f->line = source_line(lines, unit) + 1 + f->before;
}

void function_free(struct function *f)
{
	strbuf_deinit(&f->name);
	strbuf_deinit(&f->file);
	*f = (struct function){0};
}

void function_place_add(const struct function *f, struct strbuf *out)
{
	if (!f->file.len && !f->line) {
		strbuf_adds(out, f->has_source ? "<anonymous>" : "native code");
		return;
	}
	if (f->file.len)
		text_escape(out, f->file.data, f->file.len);
	else
		strbuf_adds(out, "<anonymous>");
	if (f->line)
		strbuf_addf(out, " line %" PRId64, f->line);
}

/* Adds the members of a row; width 0: for JSON only. */
static void function_emit(struct mdb *m, const struct function *f)
{
	emit_bytes(&m->out, "name", strbuf_text(&f->name), f->name.len, -32);
	emit_bytes(&m->out, "file", strbuf_text(&f->file), f->file.len, 0);
	if (f->line)
		emit_int(&m->out, "line", f->line, 0);
}

/* ---- ::lfunctions ---------------------------------------------------------------------------- */

/* Functions of the same code. */
struct code {
	uint64_t first, n;
	struct function is;
	bool is_wanted;
};

static int code_compare(const void *a, const void *b)
{
	const struct code *x = *(const struct code *const *)a, *y = *(const struct code *const *)b;

	return x->n != y->n ? (x->n < y->n) - (x->n > y->n)
			    : (x->first > y->first) - (x->first < y->first);
}

static bool text_contains(const struct strbuf *text, const char *part)
{
	return !part || strstr(strbuf_text(text), part);
}

/* The number by which the code of a function is known: what its kind has in common, or itself. */
static uint64_t object_code(const struct census *s, const struct object_at *o)
{
	uint64_t word;

	if (s->heap.code && process_memory(s->lang.p, o->addr + s->heap.code, &word, sizeof(word)))
		return word;
	return o->addr;
}

/* Finds all functions, by their code. */
static struct hashmap *codes_find(struct mdb *m, const struct census *s, const struct call *c,
				  struct sources *all)
{
	struct hashmap *codes = hashmap_create();

	for (uint32_t i = 0; i < s->objects.len && !m->is_interrupted; i++) {
		const struct object_at *o = &s->objects.data[i];
		uint64_t word = object_word(s, o), key;
		struct code *code;

		if (!(object_kinds(s, o) & s->heap.functions))
			continue;
		key = object_code(s, o);
		code = hashmap_find(codes, &key, sizeof(key));
		if (!code) {
			code = xcalloc(1, sizeof(*code));
			code->first = word;
			code->is_wanted = function_read(all, &s->lang, word, &code->is) &&
					  text_contains(&code->is.name, c->opts['n']) &&
					  text_contains(&code->is.file, c->opts['s']);
			hashmap_set(codes, &key, sizeof(key), code);
		}
		code->n++;
	}
	return codes;
}

static void codes_free(struct hashmap *codes)
{
	struct code *code;
	const void *key;
	size_t pos = 0, len;

	while ((code = hashmap_next(codes, &pos, &key, &len))) {
		function_free(&code->is);
		free(code);
	}
	hashmap_destroy(codes);
}

static void code_row(struct mdb *m, const struct code *code)
{
	struct strbuf place = {0};

	function_place_add(&code->is, &place);
	emit_row(&m->out);
	emit_value(&m->out, code->first);
	emit_addr(&m->out, "function", code->first, 16);
	emit_int(&m->out, "functions", (int64_t)code->n, 8);
	function_emit(m, &code->is);
	emit_say(&m->out, "%s", strbuf_text(&place));
	emit_end(&m->out);
	strbuf_deinit(&place);
}

/* Each function of the codes that are wanted. */
static void functions_list(struct mdb *m, const struct census *s, const struct hashmap *codes)
{
	for (uint32_t i = 0; i < s->objects.len && !m->is_interrupted; i++) {
		const struct object_at *o = &s->objects.data[i];
		const struct code *code;
		uint64_t key;

		if (!(object_kinds(s, o) & s->heap.functions))
			continue;
		key = object_code(s, o);
		code = hashmap_find(codes, &key, sizeof(key));
		if (!code || !code->is_wanted)
			continue;
		emit_row(&m->out);
		emit_value(&m->out, object_word(s, o));
		emit_addr(&m->out, "function", object_word(s, o), 1);
		emit_end(&m->out);
	}
}

struct err *cmd_lfunctions(struct mdb *m, const struct call *c)
{
	VEC(struct code *) shown = {0};
	struct sources all = {0};
	struct hashmap *codes;
	struct code *code;
	struct census *s;
	const void *key;
	size_t pos = 0, len;
	struct err *e = census_get(m, &s);

	if (!e && !s->heap.functions)
		e = err_new("which objects of the runtime are functions is not described");
	if (e)
		return e;
	codes = codes_find(m, s, c, &all);
	while ((code = hashmap_next(codes, &pos, &key, &len)))
		if (code->is_wanted)
			vec_push(&shown, code);
	if (shown.len)
		qsort(shown.data, shown.len, sizeof(*shown.data), code_compare);
	if (c->opts['l']) {
		functions_list(m, s, codes);
	} else {
		emit_say(&m->out, "%16s %8s %-32s %s\n", "FUNCTION", "#FUNCS", "NAME", "FROM");
		for (uint32_t i = 0; i < shown.len && !m->is_interrupted; i++)
			code_row(m, shown.data[i]);
	}
	vec_deinit(&shown);
	codes_free(codes);
	sources_free(&all);
	return NULL;
}

/* ---- ::lsource ------------------------------------------------------------------------------- */

/* The text of a line with blanks for its tabs. */
static void line_expand(const char *s, size_t len, struct strbuf *out)
{
	size_t column = 0;

	for (size_t i = 0; i < len; i++) {
		size_t n = s[i] == '\t' ? TAB - column % TAB : 1;

		if (s[i] == '\t')
			strbuf_pad(out, ' ', n);
		else
			strbuf_addc(out, s[i]);
		column += n;
	}
}

static void line_row(struct mdb *m, const struct source *s, uint32_t i, int64_t number)
{
	const char *text = strbuf_text(&s->text);
	size_t from = s->begins_at.data[i],
	       to = i + 1 < s->begins_at.len ? s->begins_at.data[i + 1] : s->text.len;
	struct strbuf expanded = {0};

	while (to > from && (text[to - 1] == '\n' || text[to - 1] == '\r'))
		to--;
	line_expand(text + from, to - from, &expanded);
	emit_row(&m->out);
	emit_int(&m->out, "line", number, 6);
	emit_say(&m->out, " ");
	if (m->out.is_json)
		emit_bytes(&m->out, "text", text + from, to - from, 1);
	else
		emit_bytes(&m->out, "text", strbuf_text(&expanded), expanded.len, 1);
	emit_end(&m->out);
	strbuf_deinit(&expanded);
}

static void source_show(struct mdb *m, const struct lang *l, const struct function *f,
			uint64_t around)
{
	struct source *s = source_read(l, f->source);
	uint32_t first = source_line(s, f->begin);
	uint32_t last = source_line(s, f->end > f->begin ? f->end - 1 : f->end);
	struct strbuf place = {0};

	function_place_add(f, &place);
	emit_say(&m->out, "file: %s\n", strbuf_text(&place));
	first -= (uint32_t)MIN((uint64_t)first, around);
	last += (uint32_t)MIN((uint64_t)(s->begins.len - 1 - last), around);
	for (uint32_t i = first; i <= last && !m->is_interrupted; i++)
		line_row(m, s, i, i + 1 + f->before);
	strbuf_deinit(&place);
	source_free(s);
}

struct err *cmd_lsource(struct mdb *m, const struct call *c)
{
	struct sources all = {0};
	struct function f = {0};
	uint64_t around = 0;
	struct lang l;
	struct err *e = lang_of_word(m, c->addr, &l);

	if (!e && c->opts['n'])
		e = mdb_number(c->opts['n'], 1000000, &around);
	if (e)
		return e;
	if (!function_read(&all, &l, c->addr, &f))
		e = err_new("%" PRIx64 " is no function", c->addr);
	else if (!f.has_source)
		e = err_new("the runtime has no source of the function %s", strbuf_text(&f.name));
	else if (!f.has_extent)
		e = err_new("the runtime does not know where the source of the function %s is in "
			    "its file",
			    strbuf_text(&f.name));
	else
		source_show(m, &l, &f, around);
	function_free(&f);
	sources_free(&all);
	return e;
}

/* ---- ::lconstructor -------------------------------------------------------------------------- */

struct err *cmd_lconstructor(struct mdb *m, const struct call *c)
{
	struct sources all = {0};
	struct strbuf place = {0};
	struct function f = {0};
	struct value v = {0};
	struct lang l;
	struct err *e = lang_of_word(m, c->addr, &l);

	if (e)
		return e;
	value_answer_read(l.p, l.h, HELPER_CONSTRUCTOR, c->addr, &v);
	if (!v.items.len || !function_read(&all, &l, v.items.data[0].word, &f)) {
		value_free(&v);
		return err_new("%" PRIx64 " has no constructor that is a function", c->addr);
	}
	function_place_add(&f, &place);
	emit_row(&m->out);
	emit_value(&m->out, v.items.data[0].word);
	emit_addr(&m->out, "constructor", v.items.data[0].word, 1);
	emit_bytes(&m->out, "name", strbuf_text(&f.name), f.name.len, 1);
	emit_bytes(&m->out, "file", strbuf_text(&f.file), f.file.len, 0);
	if (f.line)
		emit_int(&m->out, "line", f.line, 0);
	emit_say(&m->out, "(%s)", strbuf_text(&place));
	emit_end(&m->out);
	strbuf_deinit(&place);
	function_free(&f);
	sources_free(&all);
	value_free(&v);
	return NULL;
}
