/* SPDX-License-Identifier: MIT */
/* Rows of aggregations as stacks of frames (frames.h). */
#include "render/frames.h"

#include "base/text.h"
#include "sym/sym.h"

/* ---- labels of keys ------------------------------------------------------------------------ */

static bool is_stack(enum datum_kind kind)
{
	return kind == DATUM_STACK || kind == DATUM_USTACK;
}

static void label_bytes(struct strbuf *o, const struct datum *d)
{
	strbuf_adds(o, "0x");
	for (uint32_t i = 0; d->bytes && i < d->size; i++)
		strbuf_addf(o, "%02x", (unsigned char)d->bytes[i]);
}

void key_label(struct printer *p, struct strbuf *o, const struct agg_key *k)
{
	struct datum d = datum_of_key(k);
	uint64_t pid, addr;

	switch (d.kind) {
	case DATUM_SYM:
	case DATUM_MOD:
	case DATUM_USYM:
	case DATUM_UMOD:
	case DATUM_UADDR:
		addr_of_datum(&d, &pid, &addr);
		addr_text(p, o, pid, addr, addr_form_of(d.kind));
		return;
	case DATUM_STRING: text_escape(o, d.bytes, d.size); return;
	case DATUM_INT:
	case DATUM_STRUCT:
	case DATUM_BYTES:
	case DATUM_MEMORY: break;
	case DATUM_STACK:
	case DATUM_USTACK:
	case DATUM_STACKID: BUG("a stack has no label");
	}
	if (d.bytes && datum_is_text(&d))
		text_escape(o, d.bytes, strnlen(d.bytes, d.size));
	else if (!d.bytes || datum_is_int(&d))
		out_int(o, -1, datum_int(&d), d.is_signed || d.kind == DATUM_STRUCT);
	else
		label_bytes(o, &d);
}

struct first_frame {
	struct printer *p;
	struct strbuf *o;
	uint32_t n;
};

static void first_frame_add(void *ctx, const struct position *at)
{
	struct first_frame *f = ctx;

	if (f->n++ == 0 && !at->mark)
		position_text(f->p, f->o, at, ADDR_FUNC);
}

void stack_label(struct printer *p, struct strbuf *o, const struct agg_key *k)
{
	struct datum d = datum_of_key(k);
	struct first_frame f = {p, o, 0};

	walk_stack(p, &d, first_frame_add, &f);
	strbuf_adds(o, f.n ? " < ..." : "[no frames]");
}

uint32_t keys_label(struct printer *p, struct strbuf *o, const struct agg_elem *e)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < e->nkeys; i++) {
		if (is_stack(e->keys[i].datum))
			continue;
		strbuf_adds(o, n++ ? ", " : "");
		key_label(p, o, &e->keys[i]);
	}
	return n;
}

/* ---- frames -------------------------------------------------------------------------------- */

void frames_init(struct frames *f, struct printer *p, struct flame_page *page)
{
	*f = (struct frames){.page = page, .p = p, .cache = hashmap_create()};
}

void frames_deinit(struct frames *f)
{
	hashmap_destroy(f->cache);
	vec_deinit(&f->names);
	vec_deinit(&f->stack);
	strbuf_deinit(&f->text);
}

void frames_refresh(struct frames *f)
{
	hashmap_destroy(f->cache);
	f->cache = hashmap_create();
}

static uint32_t name_of_text(struct frames *f, enum frame_kind kind)
{
	for (size_t i = 0; f->is_folded && i < f->text.len; i++)
		if (f->text.data[i] == ';')
			f->text.data[i] = ':';
	return flame_name(f->page, kind, strbuf_text(&f->text), f->text.len);
}

static uint32_t name_of_address(struct frames *f, const struct position *at)
{
	const uint64_t key[3] = {at->pid, at->addr,
				 (uint64_t)at->is_return | (uint64_t)at->is_handler_call << 1};
	void *known = hashmap_find(f->cache, key, sizeof(key));
	uint32_t name;

	if (known)
		return (uint32_t)((uintptr_t)known - 1);
	f->text.len = 0;
	position_text(f->p, &f->text, at, ADDR_FUNC);
	name = name_of_text(f, at->pid ? FRAME_NATIVE : FRAME_KERNEL);
	hashmap_set(f->cache, key, sizeof(key), (void *)((uintptr_t)name + 1));
	return name;
}

/* Whether a text reads like a location in a source file: "file.py:49", "file.py", "[C]". */
static bool is_source_location(const char *text, size_t len)
{
	size_t digits = len;

	while (digits > 0 && text[digits - 1] >= '0' && text[digits - 1] <= '9')
		digits--;
	return (digits < len && digits > 1 && text[digits - 1] == ':') ||
	       (len > 2 && text[0] == '[' && text[len - 1] == ']') || !memchr(text, ' ', len);
}

/* Where " (NAME)" begins at the end of a text, with its parentheses in pairs; 0: there is none. */
static size_t name_begin(const char *text, size_t len)
{
	size_t at = len, nopen = 0;

	do {
		if (at == 0)
			return 0;
		at--;
		nopen += text[at] == ')';
		nopen -= text[at] == '(' && nopen;
	} while (nopen);
	return text[at] == '(' && at > 1 && text[at - 1] == ' ' ? at - 1 : 0;
}

/*
 * Annotations of helpers put the place first, "file.py:49 (function)". In a picture the function
 * does, because a narrow frame shows the begin of its name.
 */
static void annotation_turn(struct strbuf *o, const char *text)
{
	const char *waiting = async_text(text);
	size_t len, at;

	if (waiting) {
		strbuf_adds(o, "async ");
		text = waiting;
	}
	len = strlen(text);
	at = name_begin(text, len);

	if (!at || at + 4 > len || !is_source_location(text, at)) {
		strbuf_adds(o, text);
		return;
	}
	strbuf_add(o, text + at + 2, len - at - 3);
	strbuf_adds(o, " (");
	strbuf_add(o, text, at);
	strbuf_addc(o, ')');
}

static uint32_t name_of_helper(struct frames *f, const char *text)
{
	CLEANUP(free) char *clean = text_clean(xstrdup(text + (*text == '@')));

	f->text.len = 0;
	if (*text == '@')
		annotation_turn(&f->text, clean);
	else
		strbuf_adds(&f->text, clean);
	return name_of_text(f, FRAME_LANGUAGE);
}

static void frame_push(void *ctx, const struct position *at)
{
	struct frames *f = ctx;

	if (at->mark) {
		const char *text = mark_text(at->mark);

		vec_push(&f->stack, flame_name(f->page, FRAME_CUT, text, strlen(text)));
		return;
	}
	if (at->is_language) {
		vec_push(&f->stack, name_of_helper(f, at->helper));
		return;
	}
	/* what the interpreter's function executes stands above it; f->stack is innermost first */
	if (at->helper) {
		struct sym_name n;

		vec_push(&f->stack, name_of_helper(f, at->helper));
		if (*at->helper != '@' && !position_find(f->p, at, &n))
			return; /* code that only the helper knows */
	}
	vec_push(&f->stack, name_of_address(f, at));
}

static void stack_add(struct frames *f, const struct agg_elem *e, enum datum_kind kind)
{
	for (uint32_t i = 0; i < e->nkeys; i++) {
		struct datum d = datum_of_key(&e->keys[i]);

		if (d.kind != kind)
			continue;
		f->stack.len = 0;
		walk_stack(f->p, &d, frame_push, f);
		for (uint32_t k = f->stack.len; k-- > 0;)
			vec_push(&f->names, f->stack.data[k]);
	}
}

void frames_of_row(struct frames *f, const struct agg_elem *e)
{
	f->names.len = 0;
	for (uint32_t i = 0; i < e->nkeys; i++) {
		if (is_stack(e->keys[i].datum))
			continue;
		f->text.len = 0;
		key_label(f->p, &f->text, &e->keys[i]);
		vec_push(&f->names, name_of_text(f, FRAME_KEY));
	}
	stack_add(f, e, DATUM_USTACK);
	stack_add(f, e, DATUM_STACK);
}

/* ---- weights ------------------------------------------------------------------------------- */

bool agg_has_stacks(const struct prog_agg *agg)
{
	for (uint32_t i = 0; i < agg->nkeys; i++)
		if (is_stack(agg->key_kinds[i]))
			return true;
	return false;
}

enum weight_kind weight_kind_of(const struct prog_agg *agg)
{
	if (agg_is_histogram(agg))
		return WEIGHT_NUMBER;
	switch (agg->func) {
	case AGGFUNC_COUNT:
	case AGGFUNC_SUM:
	case AGGFUNC_LIVE: return WEIGHT_VALUE;
	case AGGFUNC_AVG:
	case AGGFUNC_STDDEV: return WEIGHT_SUM;
	case AGGFUNC_MIN:
	case AGGFUNC_MAX:
	case AGGFUNC_QUANTIZE:
	case AGGFUNC_LQUANTIZE:
	case AGGFUNC_LLQUANTIZE: break;
	}
	return WEIGHT_NONE;
}

int64_t weight_of_row(const struct agg_view *v, const struct agg_elem *e)
{
	int64_t n = 0;

	switch (weight_kind_of(v->agg)) {
	case WEIGHT_VALUE: return agg_value(v, e);
	case WEIGHT_SUM: return normalized(e->state[1], v->normal);
	case WEIGHT_NUMBER:
		for (uint32_t row = 0; row < v->layout->nbuckets; row++)
			n += hist_count(v->layout, e->state, row);
		return n;
	case WEIGHT_NONE: return 0;
	}
	BUG("weight of %d", (int)v->agg->func);
}

const char *weight_text(const struct prog_agg *agg)
{
	switch (weight_kind_of(agg)) {
	case WEIGHT_VALUE:
	case WEIGHT_NONE: return agg->func == AGGFUNC_LIVE ? "alive" : aggfunc_name(agg->func);
	case WEIGHT_SUM: return agg->func == AGGFUNC_AVG ? "sum of avg()" : "sum of stddev()";
	case WEIGHT_NUMBER: return "number of values";
	}
	BUG("weight of %d", (int)agg->func);
}

/* Whether the name is the word, or ends in it behind an underscore. */
static bool name_says(const char *name, const char *word)
{
	size_t len = strlen(name), n = strlen(word);

	return len >= n && strcmp(name + len - n, word) == 0 &&
	       (len == n || name[len - n - 1] == '_');
}

const char *value_unit(const struct printer *p, const struct prog_agg *agg)
{
	static const char *const units[] = {
		[PRINT_UNIT_NS] = "ns",
		[PRINT_UNIT_US] = "us",
		[PRINT_UNIT_MS] = "ms",
		[PRINT_UNIT_BYTES] = "bytes",
	};

	if (p->opts->unit == PRINT_UNIT_NONE)
		return "";
	if (p->opts->unit != PRINT_UNIT_AUTO)
		return units[p->opts->unit];
	for (size_t i = PRINT_UNIT_NS; i < ARRAY_LEN(units); i++)
		if (name_says(agg->name, units[i]))
			return units[i];
	return "";
}

const char *weight_unit(const struct printer *p, const struct prog_agg *agg)
{
	bool is_number = agg->func == AGGFUNC_COUNT || agg_is_histogram(agg);

	if (agg->func == AGGFUNC_LIVE && p->opts->unit == PRINT_UNIT_AUTO)
		return "bytes";
	return is_number ? "" : value_unit(p, agg);
}
