/* SPDX-License-Identifier: MIT */
/* Values of languages, as the language writes them. */
#include "mdb/lang.h"

#include <ctype.h>
#include <inttypes.h>

#include "base/text.h"

#define DEPTH_MAX  64u
#define DEPTH	   3u
#define ITEMS	   100u
#define TEXT	   1000u
#define TEXT_INNER 200u
#define TOTAL_MAX  (1u << 30)
#define INDENT	   4
#define LINE	   100u /* columns into which a value of Erlang has to fit */

/* ---- languages ------------------------------------------------------------------------------- */

struct writer;

/* How values with items are written. */
struct lang_form {
	void (*items)(struct writer *w, const struct value *v, uint64_t word);
	bool has_atoms; /* texts that are names: what is said before them is "'" */
	/* within a line: values of so many levels, and items of each; 0: only what they are */
	uint32_t short_depth, short_items;
};

static void object_items_write(struct writer *w, const struct value *v, uint64_t word);
static void term_items_write(struct writer *w, const struct value *v, uint64_t word);

/* "Point {"x": 1}", with a line for each item. */
static const struct lang_form object_form = {.items = object_items_write};
/* "[{a,1},<<2>>]", in a line if it fits. */
static const struct lang_form term_form = {.items = term_items_write,
					   .has_atoms = true,
					   .short_depth = 4,
					   .short_items = 20};

static void term_quote(struct strbuf *out, const char *s, size_t len, const char *before,
		       bool is_bytes)
{
	(void)is_bytes;
	erlang_quote(out, s, len, strcmp(before, "'") == 0);
}

static const struct {
	const char *file, *name, *label;
	char quote;
	const char *self; /* the receiver of a frame */
	text_quote *quoted;
	const struct lang_form *form;
	const char *task, *task_id; /* NULL: "task", "number" */
} languages[] = {
	{"erlang.d", "Erlang", "erl", '"', "self", term_quote, &term_form, "process", "pid"},
	{"java.d", "HotSpot (Java)", "java", '"', "this", NULL, &object_form, NULL, NULL},
	{"lua.d", "Lua", "lua", '"', "self", lua_quote, &object_form, NULL, NULL},
	{"luajit.d", "LuaJIT", "lua", '"', "self", lua_quote, &object_form, NULL, NULL},
	{"node.d", "Node.js", "js", '"', "this", NULL, &object_form, NULL, NULL},
	{"perl.d", "Perl", "pl", '"', "self", perl_quote, &object_form, NULL, NULL},
	{"php.d", "PHP", "php", '"', "this", php_quote, &object_form, NULL, NULL},
	{"python.d", "CPython", "py", '\'', "self", NULL, &object_form, NULL, NULL},
	{"ruby.d", "Ruby", "rb", '"', "self", ruby_quote, &object_form, NULL, NULL},
};

bool lang_at(struct mdb *m, uint32_t part, struct lang *ret)
{
	walks_begin(m);
	if (part >= m->replay.nhelpers || !replay_values(&m->replay, part))
		return false;
	*ret = (struct lang){.h = m->replay.helpers[part],
			     .p = replay_values(&m->replay, part),
			     .part = part,
			     .label = "value",
			     .self = "this",
			     .quote = '"',
			     .form = &object_form,
			     .task = "task",
			     .task_id = "number"};
	for (uint32_t i = 0; i < ARRAY_LEN(languages); i++) {
		if (strcmp(basename(ret->h->path), languages[i].file) == 0) {
			ret->label = languages[i].label;
			ret->quote = languages[i].quote;
			ret->form = languages[i].form;
			if (languages[i].task) {
				ret->task = languages[i].task;
				ret->task_id = languages[i].task_id;
			}
			ret->self = languages[i].self;
			ret->quoted = languages[i].quoted;
		}
	}
	return true;
}

struct err *lang_missing_err(const struct mdb *m)
{
	struct strbuf names = {0};
	struct err *e;

	if (m->declined)
		return err_new("values cannot be shown: %s", m->declined);
	for (uint32_t i = 0; i < ARRAY_LEN(languages); i++)
		strbuf_addf(&names, "%s%s", i ? ", " : "", languages[i].name);
	e = err_new("the process has no runtime whose values are described: %s",
		    strbuf_text(&names));
	strbuf_deinit(&names);
	return e;
}

static bool word_is_value(const struct lang *l, uint64_t word)
{
	struct strbuf text = {0};
	bool is = value_type_add(l->p, l->h, word, &text);

	strbuf_deinit(&text);
	return is;
}

struct err *lang_of_word(struct mdb *m, uint64_t word, struct lang *ret)
{
	bool is_any = false;

	walks_begin(m);
	for (uint32_t i = 0; i < m->replay.nhelpers; i++) {
		if (!lang_at(m, i, ret))
			continue;
		if (word_is_value(ret, word))
			return NULL;
		is_any = true;
		for (int64_t near = -1; near <= 1; near += 2)
			if (word_is_value(ret, word + (uint64_t)near))
				return err_new("%" PRIx64 " is no value: did you mean %" PRIx64 "?",
					       word, word + (uint64_t)near);
	}
	if (!is_any)
		return lang_missing_err(m);
	return err_new("%" PRIx64 " is no value; ::whatis says what is there", word);
}

/* ---- writing --------------------------------------------------------------------------------- */

struct writer {
	struct mdb *m;
	const struct lang *l;
	const struct value_style *style;
	struct strbuf *out;
	uint64_t above[DEPTH_MAX + 1]; /* the values in which the present one is */
	uint32_t nabove;
	size_t limit; /* of `out`, in a trial whether a value fits into the line; 0: it is none */
	size_t begin; /* of what is written, in `out` */
	bool is_cut;  /* the total was exceeded */
	bool has_member; /* the last member that was written has a word */
	uint64_t member;
};

static void word_write(struct writer *w, uint64_t word);

/* As Python writes it: between double quotes only if it has single ones and no double ones. */
static void python_quote(struct strbuf *out, const char *s, size_t len, bool is_bytes)
{
	struct escapes how = {.letters = "\nn\rr\tt\'\'\\\\",
			      .other = "\\x%02x",
			      .broken = is_bytes ? NULL : "\\ufffd",
			      .unit = is_bytes ? NULL : "\\u%04x"};
	bool is_double = memchr(s, '\'', len) && !memchr(s, '"', len);

	if (is_double)
		how.letters = "\nn\rr\tt\\\\";
	strbuf_addc(out, is_double ? '"' : '\'');
	escape_add(out, s, len, &how);
	strbuf_addc(out, is_double ? '"' : '\'');
}

static void quoted_add(const struct lang *l, struct strbuf *out, const struct strbuf *text)
{
	if (l->quoted)
		l->quoted(out, strbuf_text(text), text->len, "", false);
	else if (l->quote == '"')
		json_quote(out, strbuf_text(text), text->len);
	else
		python_quote(out, strbuf_text(text), text->len, false);
}

/* The same of bytes that were read as characters of Latin-1. */
static void bytes_quote(struct strbuf *out, const struct strbuf *text)
{
	struct strbuf bytes = {0};
	uint32_t ch;

	for (size_t i = 0, n; i < text->len; i += MAX(n, (size_t)1)) {
		n = utf8_get(text->data + i, text->len - i, &ch);
		strbuf_addc(&bytes, n ? (char)ch : '?');
	}
	python_quote(out, strbuf_text(&bytes), bytes.len, true);
	strbuf_deinit(&bytes);
}

/* Whether all of a text has one byte for each character. */
static bool said_is_bytes(const struct value_said *s)
{
	for (uint32_t i = 0; i < s->pieces.len; i++)
		if (s->pieces.data[i].is_word || s->pieces.data[i].width != 1)
			return false;
	return true;
}

/* Leaves out the beginning of a character of UTF-8 at the end of a text that was cut. */
static void cut_mend(struct strbuf *text)
{
	size_t n = 0;

	while (n < 3 && n < text->len && (text->data[text->len - 1 - n] & 0xc0) == 0x80)
		n++;
	if (n < text->len && (text->data[text->len - 1 - n] & 0xc0) == 0xc0 &&
	    !utf8_get(text->data + text->len - 1 - n, n + 1, NULL))
		text->len -= n + 1;
}

static void said_write(struct writer *w, const struct value_said *s)
{
	uint64_t most = w->nabove ? MIN(w->style->text, (uint64_t)TEXT_INNER) : w->style->text, n;
	bool is_atom = w->l->form->has_atoms && strcmp(strbuf_text(&s->literal), "'") == 0;
	bool is_bytes;
	struct strbuf text = {0};

	if (s->literal.len && !is_atom)
		text_escape(w->out, s->literal.data, s->literal.len);
	if (!s->is_text)
		return;
	n = value_characters_add(w->l->p, w->l->h, s, most, &text);
	is_bytes = w->l->quote == '\'' && strcmp(strbuf_text(&s->literal), "b") == 0;
	if (n > most)
		cut_mend(&text);
	if (w->l->quoted)
		w->l->quoted(w->out, strbuf_text(&text), text.len, strbuf_text(&s->literal),
			     said_is_bytes(s));
	else if (is_bytes)
		bytes_quote(w->out, &text);
	else
		quoted_add(w->l, w->out, &text);
	if (n > most)
		strbuf_addf(w->out, "... (%" PRIu64 " %s)", n, is_bytes ? "bytes" : "characters");
	text_escape(w->out, strbuf_text(&s->behind), s->behind.len);
	strbuf_deinit(&text);
}

static uint64_t style_total(const struct value_style *style)
{
	return style->total ? style->total : LANG_TOTAL;
}

/* Whether so much is written that the rest is left out. */
static bool writer_is_full(struct writer *w)
{
	w->is_cut |= w->out->len - w->begin >= style_total(w->style);
	return w->is_cut;
}

/* Ends what is written: says that something was left out because of the total. */
static void writer_end(const struct writer *w)
{
	if (w->is_cut)
		strbuf_addf(w->out, " <cut: more than %" PRIu64 " characters>",
			    style_total(w->style));
}

static void line_begin(struct writer *w, uint32_t i)
{
	if (w->style->is_one_line) {
		strbuf_adds(w->out, i ? ", " : " ");
		return;
	}
	strbuf_adds(w->out, i ? ",\n" : "\n");
	strbuf_pad(w->out, ' ', (size_t)INDENT * w->nabove);
}

static void item_name_write(struct writer *w, const struct value *v, const struct value_item *item)
{
	/* an attribute of an object of Python that has entries, too, is no entry */
	bool is_attribute =
		w->l->quote == '\'' && (item->kind == VALUE_ITEM || item->kind == VALUE_PROPERTY);
	const char *separator = is_attribute ? "=" : v->separator;
	bool is_quoted = strcmp(separator, "=") != 0, has_brackets = *v->separator == ']';
	struct strbuf name = {0};

	if (has_brackets && item->kind != VALUE_ELEMENT && item->kind != VALUE_MEMBER)
		strbuf_addc(w->out, '[');
	if (item->kind == VALUE_ELEMENT && v->brackets[0] == '{' && !has_brackets)
		strbuf_addf(w->out, "\"%" PRIu64 "\"%s", item->key, v->separator);
	if (item->kind == VALUE_ENTRY) {
		word_write(w, item->key);
		strbuf_adds(w->out, v->separator);
	}
	if (item->kind != VALUE_ITEM && item->kind != VALUE_PROPERTY)
		return;
	if (item->kind == VALUE_ITEM)
		strbuf_adds(&name, item->name);
	else
		value_name_add(w->l->p, w->l->h, item->key, &name);
	if (is_quoted)
		quoted_add(w->l, w->out, &name);
	else
		text_escape(w->out, strbuf_text(&name), name.len);
	strbuf_adds(w->out, separator);
	strbuf_deinit(&name);
}

static void item_word_write(struct writer *w, const struct value_item *item)
{
	/* what a helper says of an item that has a word stands before the value: "&5" */
	said_write(w, &item->said);
	if (item->has_word)
		word_write(w, item->word);
}

/* How many items are left out of which i are written. */
static uint64_t items_left(const struct value *v, uint32_t i)
{
	return v->left_out + (v->items.len - i);
}

/* Bytes are written as "<Buffer 01 02>". */
static void bytes_write(struct writer *w, const struct value *v)
{
	uint32_t n = (uint32_t)MIN((uint64_t)v->items.len, w->style->items), i;
	uint64_t left_out;

	strbuf_addc(w->out, '<');
	text_escape(w->out, v->class, strlen(v->class));
	for (i = 0; i < n && !w->m->is_interrupted && !writer_is_full(w); i++) {
		const char *number = strbuf_text(&v->items.data[i].said.literal);

		strbuf_addf(w->out, " %02x", (unsigned)strtoul(number, NULL, 10) & 0xff);
	}
	left_out = items_left(v, i);
	if (left_out)
		strbuf_addf(w->out, " ... %" PRIu64 " more byte%s", left_out, PLURAL(left_out));
	strbuf_addc(w->out, '>');
}

static void items_write(struct writer *w, const struct value *v)
{
	uint32_t n = (uint32_t)MIN((uint64_t)v->items.len, w->style->items), i;
	uint64_t left_out;

	if (v->brackets[0] != '#')
		strbuf_addc(w->out, v->brackets[0]);
	for (i = 0; i < n && !w->m->is_interrupted && !writer_is_full(w); i++) {
		const struct value_item *item = &v->items.data[i];

		line_begin(w, i);
		item_name_write(w, v, item);
		item_word_write(w, item);
	}
	left_out = items_left(v, i);
	n = i;
	if (left_out) {
		line_begin(w, n);
		strbuf_addf(w->out, "... %" PRIu64 " more", left_out);
	}
	if (w->style->is_one_line) {
		strbuf_adds(w->out, (n || left_out) && v->brackets[1] != '>' ? " " : "");
	} else if (n || left_out) {
		strbuf_adds(w->out, left_out ? "\n" : ",\n");
		strbuf_pad(w->out, ' ', (size_t)INDENT * (w->nabove - 1));
	}
	strbuf_addc(w->out, v->brackets[1]);
}

/* Brackets are doubled around binaries: <<1,2>>. */
static void term_bracket_write(struct writer *w, char bracket)
{
	strbuf_addc(w->out, bracket);
	if (bracket == '<' || bracket == '>')
		strbuf_addc(w->out, bracket);
}

static bool item_is_tail(const struct value_item *item)
{
	return item->kind == VALUE_ITEM && strcmp(item->name, "|") == 0;
}

/* "{1,2}"; an item with the name "|" is the tail of a list. indent 0: in a line. */
static void term_parts_write(struct writer *w, const struct value *v, size_t indent)
{
	uint32_t n = (uint32_t)MIN((uint64_t)v->items.len, w->style->items), i;
	uint64_t left_out;

	term_bracket_write(w, v->brackets[0]);
	for (i = 0; i < n && !w->m->is_interrupted && !writer_is_full(w); i++) {
		const struct value_item *item = &v->items.data[i];

		if (w->limit && w->out->len > w->limit)
			return;
		if (i)
			strbuf_addc(w->out, item_is_tail(item) ? '|' : ',');
		if (i && indent) {
			strbuf_addc(w->out, '\n');
			strbuf_pad(w->out, ' ', indent);
		}
		if (item->kind == VALUE_ENTRY) {
			word_write(w, item->key);
			strbuf_adds(w->out, v->separator);
		}
		item_word_write(w, item);
	}
	left_out = items_left(v, i);
	if (left_out)
		strbuf_addf(w->out, "%s... %" PRIu64 " more", i ? "," : "", left_out);
	term_bracket_write(w, v->brackets[1]);
}

/* In a line if it fits, or with a line for each item. */
static void term_value_write(struct writer *w, const struct value *v)
{
	size_t indent = w->nabove, begin = w->out->len;
	const struct value_style *style = w->style;
	struct value_style line = *style;

	line.is_one_line = true;
	if (style->is_one_line) {
		term_parts_write(w, v, 0);
		return;
	}
	w->style = &line;
	w->limit = begin + LINE - MIN(indent, (size_t)LINE / 2);
	term_parts_write(w, v, 0);
	w->style = style;
	if (w->out->len > w->limit) {
		w->out->len = begin;
		w->limit = 0;
		w->is_cut = false;
		term_parts_write(w, v, indent);
	}
	w->limit = 0;
}

static bool word_is_above(const struct writer *w, uint64_t word)
{
	for (uint32_t i = 0; i < w->nabove; i++)
		if (w->above[i] == word)
			return true;
	return false;
}

/* In place of the items of a value that is too deep, or in itself; false: it is neither. */
static bool depth_write(struct writer *w, const struct value *v, uint64_t word)
{
	bool is_above = word_is_above(w, word);

	if (!is_above && w->nabove < w->style->depth && w->nabove < DEPTH_MAX)
		return false;
	strbuf_addf(w->out, "%c%s%c", v->brackets[0] == '#' ? ' ' : v->brackets[0],
		    is_above ? "<above>" : "...", v->brackets[1]);
	return true;
}

/* The class and the items. */
static void object_items_write(struct writer *w, const struct value *v, uint64_t word)
{
	if (v->brackets[0] == '<') {
		bytes_write(w, v);
		return;
	}
	strbuf_adds(w->out, v->brackets[0] == '#' ? "#<" : "");
	text_escape(w->out, v->class, strlen(v->class));
	if (*v->class && !strchr("(#", v->brackets[0]))
		strbuf_addc(w->out, ' ');
	if (!v->items.len && !v->left_out) {
		strbuf_add(w->out, v->brackets + (v->brackets[0] == '#'),
			   v->brackets[0] == '#' ? 1 : 2);
	} else if (!depth_write(w, v, word)) {
		w->above[w->nabove++] = word;
		items_write(w, v);
		w->nabove--;
	}
}

static void term_items_write(struct writer *w, const struct value *v, uint64_t word)
{
	text_escape(w->out, v->class, strlen(v->class));
	if (depth_write(w, v, word))
		return;
	w->above[w->nabove++] = word;
	term_value_write(w, v);
	w->nabove--;
}

static void value_write(struct writer *w, uint64_t word, const struct value *v)
{
	said_write(w, &v->said);
	if (v->has_items && w->style->with_addrs)
		strbuf_addf(w->out, "%" PRIx64 ": ", word);
	if (v->has_items)
		w->l->form->items(w, v, word);
	if (v->fault) {
		strbuf_adds(w->out, " <cut: ");
		text_escape(w->out, v->fault, strlen(v->fault));
		strbuf_addc(w->out, '>');
	}
}

static void word_write(struct writer *w, uint64_t word)
{
	bool is_deep = w->nabove >= w->style->depth || w->nabove >= DEPTH_MAX;
	struct value v;

	if (value_read(w->l->p, w->l->h, word, is_deep ? 1 : w->style->items, &v))
		value_write(w, word, &v);
	else if (v.fault)
		strbuf_addf(w->out, "<%" PRIx64 ": %s>", word, v.fault);
	else
		strbuf_addf(w->out, "<%" PRIx64 " is no value>", word);
	value_free(&v);
}

void lang_value_add(struct mdb *m, const struct lang *l, uint64_t word,
		    const struct value_style *style, struct strbuf *out)
{
	struct writer w = {.m = m, .l = l, .style = style, .out = out, .begin = out->len};

	word_write(&w, word);
	writer_end(&w);
}

void lang_said_add(struct mdb *m, const struct lang *l, const struct value_said *said,
		   const struct value_style *style, struct strbuf *out)
{
	struct writer w = {.m = m, .l = l, .style = style, .out = out};

	said_write(&w, said);
}

void lang_value_add_short(struct mdb *m, const struct lang *l, uint64_t word, struct strbuf *out)
{
	const struct value_style style = {.depth = l->form->short_depth,
					  .items = MAX(l->form->short_items, 1u),
					  .text = TEXT_INNER,
					  .is_one_line = true};
	struct value v;

	if (l->form->short_items) {
		lang_value_add(m, l, word, &style, out);
		return;
	}
	if (value_read(l->p, l->h, word, 1, &v) && v.has_items) {
		strbuf_addf(out, "%" PRIx64 " (", word);
		if (*v.class)
			text_escape(out, v.class, strlen(v.class));
		else
			(void)value_type_add(l->p, l->h, word, out);
		strbuf_addc(out, ')');
	} else {
		lang_value_add(m, l, word, &style, out);
	}
	value_free(&v);
}

/* ---- members --------------------------------------------------------------------------------- */

static bool item_is_named(const struct lang *l, const struct value_item *item, const char *name,
			  size_t len)
{
	struct strbuf text = {0};
	bool is;

	if (item->kind == VALUE_ITEM)
		strbuf_adds(&text, item->name);
	else if (item->kind == VALUE_ELEMENT)
		strbuf_addf(&text, "%" PRIu64, item->key);
	else if (item->kind != VALUE_MEMBER)
		value_name_add(l->p, l->h, item->key, &text);
	is = text.len == len && memcmp(strbuf_text(&text), name, len) == 0;
	strbuf_deinit(&text);
	return is;
}

/* Writes the member "a.b.0" of a value; false: it has none. */
static bool member_write(struct writer *w, uint64_t word, const char *path)
{
	for (;;) {
		size_t len = strcspn(path, ".");
		const struct value_item *found = NULL;
		bool is_last = !path[len], is_found;
		struct value v;

		(void)value_read(w->l->p, w->l->h, word, UINT32_MAX, &v);
		for (uint32_t i = 0; i < v.items.len && !found; i++)
			if (item_is_named(w->l, &v.items.data[i], path, len))
				found = &v.items.data[i];
		is_found = found && (found->has_word || is_last);
		if (is_found && found->has_word)
			word = found->word;
		w->has_member = is_found && found->has_word;
		w->member = word;
		if (is_found && is_last && found->has_word)
			word_write(w, word);
		else if (is_found && is_last)
			said_write(w, &found->said);
		value_free(&v);
		if (!is_found || is_last)
			return is_found;
		path += len + 1;
	}
}

bool lang_member_add(struct mdb *m, const struct lang *l, uint64_t word, const char *path,
		     struct strbuf *out)
{
	const struct value_style style = {.items = 1, .text = TEXT, .is_one_line = true};
	struct writer w = {.m = m, .l = l, .style = &style, .out = out, .begin = out->len};

	return member_write(&w, word, path);
}

/* Adds the characters of a text, and whatever is written of another value. */
static void plain_add(struct writer *w, const struct value *v)
{
	if (v->said.is_text && !v->has_items)
		(void)value_characters_add(w->l->p, w->l->h, &v->said, w->style->text, w->out);
	else
		value_write(w, w->member, v);
}

bool lang_text_add(struct mdb *m, const struct lang *l, uint64_t word,
		   const struct value_style *style, struct strbuf *out)
{
	struct writer w =
		{.m = m, .l = l, .style = style, .out = out, .begin = out->len, .member = word};
	struct value v;
	bool is_value = value_read(l->p, l->h, word, style->items, &v);

	if (is_value)
		plain_add(&w, &v);
	value_free(&v);
	return is_value;
}

bool lang_member_text_add(struct mdb *m, const struct lang *l, uint64_t word, const char *path,
			  const struct value_style *style, struct strbuf *out)
{
	struct strbuf written = {0};
	struct writer w = {.m = m, .l = l, .style = style, .out = &written};
	bool has = member_write(&w, word, path);

	if (has && !(w.has_member && lang_text_add(m, l, w.member, style, out)))
		strbuf_add(out, strbuf_text(&written), written.len);
	strbuf_deinit(&written);
	return has;
}

/* ---- commands -------------------------------------------------------------------------------- */

static struct err *style_read(const struct call *c, struct value_style *ret)
{
	uint64_t depth = DEPTH;
	struct err *e = NULL;

	*ret = (struct value_style){.items = ITEMS,
				    .text = TEXT,
				    .total = LANG_TOTAL,
				    .with_addrs = c->opts['a']};
	if (c->opts['d'])
		e = mdb_number(c->opts['d'], DEPTH_MAX, &depth);
	if (!e && c->opts['n'])
		e = mdb_number(c->opts['n'], UINT32_MAX, &ret->items);
	if (!e && c->opts['m'])
		e = mdb_number(c->opts['m'], TOTAL_MAX, &ret->total);
	ret->total = MAX(ret->total, (uint64_t)1);
	ret->depth = (uint32_t)depth;
	return e;
}

/*
 * Writes the members that the command names: one alone, several in a line. False: the value has
 * none of them.
 */
static bool members_write(struct writer *w, const struct call *c, struct value_style *style)
{
	bool has_any = false;

	style->is_one_line = c->argc > 1;
	style->depth += c->argc > 1;
	strbuf_adds(w->out, c->argc > 1 ? "{ " : "");
	if (c->argc > 1)
		w->above[w->nabove++] = c->addr;
	for (uint32_t i = 0; i < c->argc; i++) {
		if (i)
			strbuf_adds(w->out, ", ");
		if (c->argc > 1) {
			struct strbuf name = {0};

			strbuf_adds(&name, c->argv[i]);
			quoted_add(w->l, w->out, &name);
			strbuf_adds(w->out, ": ");
			strbuf_deinit(&name);
		}
		if (member_write(w, c->addr, c->argv[i]))
			has_any = true;
		else
			strbuf_adds(w->out, "<no such member>");
	}
	strbuf_adds(w->out, c->argc > 1 ? " }" : "");
	return has_any;
}

struct err *cmd_lprint(struct mdb *m, const struct call *c)
{
	struct strbuf text = {0};
	struct value_style style;
	struct lang l;
	struct writer w = {.m = m, .l = &l, .style = &style, .out = &text};
	struct err *e = style_read(c, &style);
	bool is_given = true; /* to the command behind "|" */

	if (!e)
		e = lang_of_word(m, c->addr, &l);
	if (e)
		return e;
	if (c->argc)
		is_given = members_write(&w, c, &style);
	else
		word_write(&w, c->addr);
	writer_end(&w);
	emit_row(&m->out);
	if (is_given)
		emit_value(&m->out, c->argc == 1 && w.has_member ? w.member : c->addr);
	emit_addr(&m->out, "address", c->addr, 0);
	if (c->argc == 1 && w.has_member)
		emit_addr(&m->out, "member", w.member, 0);
	if (c->opts['b'])
		emit_say(&m->out, "%" PRIx64 ": ", c->addr);
	emit_bytes(&m->out, "value", strbuf_text(&text), text.len, 0);
	emit_say(&m->out, "%s", strbuf_text(&text));
	emit_end(&m->out);
	strbuf_deinit(&text);
	return NULL;
}

struct err *cmd_lclosure(struct mdb *m, const struct call *c)
{
	struct value_style style;
	struct value scopes = {0};
	struct lang l;
	struct err *e = style_read(c, &style);

	if (!e)
		e = lang_of_word(m, c->addr, &l);
	if (e)
		return e;
	value_answer_read(l.p, l.h, HELPER_CLOSURE, c->addr, &scopes);
	for (uint32_t i = 0; i < scopes.items.len && !m->is_interrupted; i++) {
		uint64_t scope = scopes.items.data[i].word;
		struct strbuf text = {0};

		lang_value_add(m, &l, scope, &style, &text);
		emit_row(&m->out);
		emit_value(&m->out, scope);
		emit_addr(&m->out, "scope", scope, 0);
		emit_bytes(&m->out, "variables", strbuf_text(&text), text.len, 0);
		emit_say(&m->out, "%s", strbuf_text(&text));
		emit_end(&m->out);
		strbuf_deinit(&text);
	}
	if (!scopes.items.len)
		e = err_new("%" PRIx64 " is no function that has captured variables", c->addr);
	value_free(&scopes);
	return e;
}

struct err *cmd_lbytes(struct mdb *m, const struct call *c)
{
	struct value v = {0};
	struct lang l;
	struct err *e = lang_of_word(m, c->addr, &l);

	if (e)
		return e;
	value_answer_read(l.p, l.h, HELPER_BYTES, c->addr, &v);
	if (v.said.pieces.len) {
		emit_row(&m->out);
		emit_value(&m->out, v.said.pieces.data[0].at);
		emit_addr(&m->out, "address", v.said.pieces.data[0].at, 1);
		emit_int(&m->out, "length", (int64_t)v.said.pieces.data[0].n, 1);
		emit_say(&m->out, "bytes");
		emit_end(&m->out);
	} else {
		e = err_new("%" PRIx64 " has no bytes", c->addr);
	}
	value_free(&v);
	return e;
}

struct err *cmd_ltype(struct mdb *m, const struct call *c)
{
	struct strbuf type = {0};
	struct lang l;
	struct err *e = lang_of_word(m, c->addr, &l);

	if (e)
		return e;
	(void)value_type_add(l.p, l.h, c->addr, &type);
	emit_row(&m->out);
	emit_value(&m->out, c->addr);
	emit_addr(&m->out, "address", c->addr, 0);
	emit_say(&m->out, "0x%" PRIx64 ": ", c->addr);
	emit_bytes(&m->out, "type", strbuf_text(&type), type.len, 1);
	emit_end(&m->out);
	strbuf_deinit(&type);
	return NULL;
}

/* How a text is made up: a line for each piece, and for the pieces of those that are values. */
static void pieces_show(struct mdb *m, const struct lang *l, uint64_t word)
{
	value_words todo = {0};
	uint32_t shown = 0;

	vec_push(&todo, word);
	while (todo.len && shown++ < 1000 && !m->is_interrupted) {
		struct strbuf type = {0}, clean = {0};
		struct value v;

		word = todo.data[--todo.len];
		(void)value_type_add(l->p, l->h, word, &type);
		(void)value_read(l->p, l->h, word, 0, &v);
		text_escape(&clean, strbuf_text(&type), type.len);
		emit_say(&m->out, "%" PRIx64 ": %s\n", word, strbuf_text(&clean));
		for (uint32_t i = 0; i < v.said.pieces.len; i++) {
			const struct value_piece *p = &v.said.pieces.data[i];

			if (p->is_character)
				continue;
			if (p->is_word)
				emit_say(&m->out,
					 "    %" PRIx64 ": characters %" PRIu64 " to %" PRIu64 "\n",
					 p->at, p->from, p->from + p->n);
			else
				emit_say(&m->out,
					 "    %" PRIx64 ": %" PRIu64 " character%s of %u byte%s\n",
					 p->at + p->from * MAX(p->width, 1u), p->n, PLURAL(p->n),
					 MAX(p->width, 1u), PLURAL(MAX(p->width, 1u)));
		}
		for (uint32_t i = (uint32_t)v.said.pieces.len; i--;)
			if (v.said.pieces.data[i].is_word)
				vec_push(&todo, v.said.pieces.data[i].at);
		value_free(&v);
		strbuf_deinit(&type);
		strbuf_deinit(&clean);
	}
	vec_deinit(&todo);
}

struct err *cmd_lstr(struct mdb *m, const struct call *c)
{
	struct strbuf text = {0}, quoted = {0};
	struct lang l;
	struct value v = {0};
	struct err *e = lang_of_word(m, c->addr, &l);

	if (!e && (!value_read(l.p, l.h, c->addr, 0, &v) || !v.said.is_text))
		e = err_new("%" PRIx64 " is no text", c->addr);
	if (!e) {
		if (c->opts['v'])
			pieces_show(m, &l, c->addr);
		(void)value_characters_add(l.p, l.h, &v.said, UINT32_MAX, &text);
		quoted_add(&l, &quoted, &text);
		emit_row(&m->out);
		emit_value(&m->out, c->addr);
		emit_addr(&m->out, "address", c->addr, 0);
		emit_bytes(&m->out, "text", strbuf_text(&text), text.len, 0);
		emit_say(&m->out, "%s", strbuf_text(&quoted));
		emit_end(&m->out);
	}
	value_free(&v);
	strbuf_deinit(&text);
	strbuf_deinit(&quoted);
	return e;
}
