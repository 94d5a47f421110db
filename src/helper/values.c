/* SPDX-License-Identifier: MIT */
/* Runs the clauses that describe values, and keeps what they say. */
#include "helper/values.h"

#include <inttypes.h>

#include "dif/interp.h"
#include "helper/helper.h"
#include "helper/numbers.h"
#include "helper/process.h"

#define STEPS_MAX   1000000u /* actions of the clauses of a value */
#define PIECES_MAX  1000000u /* of a text */
#define DIGITS_MAX  512u     /* words of a number that is written in decimal */
#define ITEMS_MAX   1000000u /* of a value, whatever was asked for */
#define ARRAYS_MAX  1000u    /* with tasks */
#define SPREADS_MAX 1000000u /* values whose items are those of another one */
#define REFS_MAX    10000u   /* of a class */
#define CHUNK	    4096u
#define ARGS_MAX    6

/* ---- running clauses ------------------------------------------------------------------------- */

/* A run: arguments of the action that is executed, and who is told of it. */
struct run {
	struct process *p;
	void (*act)(struct run *r, enum act_kind kind);
	void *to;
	uint64_t v[ARGS_MAX];
	char *text[ARGS_MAX];
	uint32_t nargs;
	uint32_t nsaid; /* actions that have said something */
};

static void texts_free(struct run *r)
{
	for (uint32_t i = 0; i < ARGS_MAX; i++) {
		free(r->text[i]);
		r->text[i] = NULL;
	}
}

static void on_begin(void *ctx, const struct prog_clause *cl, const struct prog_act *act)
{
	(void)ctx;
	(void)cl;
	(void)act;
}

static void on_value(void *ctx, const struct prog_act *act, uint32_t k, const struct difo *d,
		     const struct dif_result *res)
{
	struct run *r = ctx;
	uint32_t len;

	(void)d;
	if (!act || k >= ARGS_MAX || res->fault != DIF_FAULT_NONE)
		return;
	if (!k)
		texts_free(r);
	r->v[k] = res->value;
	r->nargs = k + 1;
	if (act->arg_kinds && act->arg_kinds[k] == DATUM_STRING) {
		r->text[k] = xcalloc(1, dif_machine_strsize(process_machine(r->p)));
		if (!dif_machine_text(process_machine(r->p), res->value, r->text[k], &len))
			r->text[k][0] = '\0';
	}
}

static bool act_is_value(enum act_kind kind)
{
	switch ((int)kind) {
#define ACT_VALUE(id, ...) case ACT_##id:
#include "dif/acts.def"
		return true;
	default: return false;
	}
}

static void on_done(void *ctx, const struct prog_act *act, const struct dif_result *res)
{
	struct run *r = ctx;

	(void)res;
	if (!act_is_value(act->kind))
		return;
	r->nsaid++;
	r->act(r, act->kind);
	r->nargs = 0;
	texts_free(r);
}

/* Runs the clauses of a probe; *ret_fault is set, to be freed, if one has faulted. */
static void clauses_run(struct run *r, const struct helper *h, enum helper_probe probe,
			char **ret_fault)
{
	const struct process_hooks hooks = {r, on_begin, NULL, on_value, on_done}, *was;
	uint32_t left = STEPS_MAX;
	char *why = NULL;

	was = process_set_hooks(r->p, &hooks);
	for (uint32_t i = 0; h->values && i < h->values->nclauses && !why; i++) {
		const struct prog_clause *cl = h->values->clauses[i];

		if (helper_clause_probe(cl) != probe)
			continue;
		dif_machine_begin_clause(process_machine(r->p));
		(void)process_clause(r->p, cl, &left, &why);
	}
	process_set_hooks(r->p, was);
	texts_free(r);
	if (ret_fault)
		*ret_fault = why;
	else
		free(why);
}

/* The same for a word, as a firing of its own. */
static void word_run(struct run *r, const struct helper *h, enum helper_probe probe, uint64_t word,
		     uint64_t most, char **ret_fault)
{
	const struct process_frame frame = {.args = {word, most}, .execname = "", .execargs = ""};

	dif_machine_begin_firing(process_machine(r->p), 0);
	process_set_frame(r->p, &frame);
	clauses_run(r, h, probe, ret_fault);
	process_set_frame(r->p, NULL);
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* Divides a number of 32-bit words by a billion; returns the rest. */
static uint32_t words_divide(uint32_t *words, uint32_t n)
{
	uint64_t rest = 0;

	while (n--) {
		rest = rest << 32 | words[n];
		words[n] = (uint32_t)(rest / 1000000000);
		rest %= 1000000000;
	}
	return (uint32_t)rest;
}

static bool words_are_zero(const uint32_t *words, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (words[i])
			return false;
	return true;
}

/* Digits of `bits` bits each (30 of four bytes, 64 of eight), the lowest first. */
static void big_add(struct run *r, struct strbuf *out)
{
	uint64_t n = r->v[2], bits = r->v[3], size = bits > 32 ? 8 : 4;
	CLEANUP(free) uint32_t *words = NULL;
	VEC(uint32_t) parts = {0};
	uint32_t nwords;

	if (!bits || bits > 64 || n > DIGITS_MAX) {
		strbuf_addf(out, "%s(%" PRIu64 " digits of %" PRIu64 " bits)", r->v[0] ? "-" : "",
			    n, bits);
		return;
	}
	nwords = (uint32_t)(n * bits / 32 + 2);
	words = xcalloc(nwords + 1, sizeof(*words));
	for (uint64_t i = 0; i < n; i++) {
		uint64_t digit = 0;

		if (!process_memory(r->p, r->v[1] + size * i, &digit, (uint32_t)size))
			break;
		for (uint64_t b = 0; b < bits; b++)
			if (digit >> b & 1)
				words[(i * bits + b) / 32] |= 1u << ((i * bits + b) % 32);
	}
	while (!words_are_zero(words, nwords))
		vec_push(&parts, words_divide(words, nwords));
	strbuf_addf(out, "%s%u", r->v[0] ? "-" : "", parts.len ? *vec_last(&parts) : 0);
	for (uint32_t i = (uint32_t)parts.len; i-- > 1;)
		strbuf_addf(out, "%09u", parts.data[i - 1]);
	vec_deinit(&parts);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void said_free(struct value_said *s)
{
	strbuf_deinit(&s->literal);
	strbuf_deinit(&s->behind);
	vec_deinit(&s->pieces);
}

/* Returns what an action adds to: the last item, or the value itself while it has no items. */
static struct value_said *said_now(struct value *v)
{
	return v->items.len ? &vec_last(&v->items)->said : &v->said;
}

static void item_add(struct run *r, enum value_item_kind kind)
{
	struct value *v = r->to;
	struct value_item item = {.kind = kind, .key = r->v[0]};

	if (v->items.len >= ITEMS_MAX) {
		v->left_out++;
		return;
	}
	if (kind == VALUE_ITEM)
		item.name = xstrdup(r->text[0] ? r->text[0] : "");
	item.has_word = r->nargs > 1 || kind == VALUE_MEMBER || kind == VALUE_SPREAD;
	item.word = kind == VALUE_MEMBER || kind == VALUE_SPREAD ? r->v[0] : r->v[1];
	item.place = r->nargs > 2 ? r->v[2] : 0;
	vec_push(&v->items, item);
}

static void value_act(struct run *r, enum act_kind kind)
{
	struct value *v = r->to;
	struct value_said *s = said_now(v);
	const char *brackets;

	switch ((int)kind) {
	case ACT_UNUMBER: strbuf_addf(&s->literal, "%" PRId64, (int64_t)r->v[0]); return;
	case ACT_UBIG: big_add(r, &s->literal); return;
	case ACT_UDOUBLE:
		number_double_add(&s->literal, r->v[0], r->nargs > 1 ? r->v[1] : 0);
		return;
	case ACT_UDATE: number_date_add(&s->literal, r->v[0], r->nargs > 1 && r->v[1]); return;
	case ACT_ULITERAL:
		strbuf_adds(s->is_text ? &s->behind : &s->literal, r->text[0] ? r->text[0] : "");
		return;
	case ACT_UTEXT:
		s->is_text = true;
		vec_push(&s->pieces, (struct value_piece){.at = r->v[0],
							  .n = r->v[1],
							  .width = (uint32_t)r->v[2]});
		return;
	case ACT_UJOIN:
		s->is_text = true;
		vec_push(&s->pieces, (struct value_piece){.is_word = true,
							  .at = r->v[0],
							  .from = r->v[1],
							  .n = r->v[2]});
		return;
	case ACT_UCHARACTER:
		s->is_text = true;
		vec_push(&s->pieces, (struct value_piece){.is_character = true,
							  .at = (uint32_t)r->v[0],
							  .n = 1,
							  .width = 4});
		return;
	case ACT_UOPEN:
		if (v->has_items)
			return;
		v->has_items = true;
		brackets = r->text[0] && strlen(r->text[0]) == 2 ? r->text[0] : "{}";
		memcpy(v->brackets, brackets, 2);
		v->class = xstrdup(r->text[1] ? r->text[1] : "");
		v->separator = xstrdup(r->text[2] ? r->text[2] : "");
		return;
	case ACT_UITEM: item_add(r, VALUE_ITEM); return;
	case ACT_ULOCAL: /* of a task's frame */
	case ACT_UPROPERTY: item_add(r, VALUE_PROPERTY); return;
	case ACT_UELEMENT: item_add(r, VALUE_ELEMENT); return;
	case ACT_UENTRY: item_add(r, VALUE_ENTRY); return;
	case ACT_UMEMBER: item_add(r, VALUE_MEMBER); return;
	case ACT_USPREAD: item_add(r, VALUE_SPREAD); return;
	case ACT_UMORE: v->left_out += r->v[0]; return;
	default: return;
	}
}

static int item_compare(const void *a, const void *b)
{
	const struct value_item *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

static void items_sort(struct value *v)
{
	for (uint32_t i = 1; i < v->items.len; i++) {
		if (v->items.data[i].place < v->items.data[i - 1].place) {
			qsort(v->items.data, v->items.len, sizeof(*v->items.data), item_compare);
			return;
		}
	}
}

static void item_free(struct value_item *item)
{
	free(item->name);
	said_free(&item->said);
}

typedef VEC(struct value_item) value_items;

/* Puts items on the stack, the first one on top; they are no longer those of the value. */
static void items_push(value_items *stack, struct value *v)
{
	for (uint32_t i = (uint32_t)v->items.len; i--;)
		vec_push(stack, v->items.data[i]);
	v->items.len = 0;
}

/*
 * Reads the items that stand for those of other values (uspread()), and these again: at most as
 * many as are wanted, and in so many steps that a value which has itself as its items comes to an
 * end.
 */
static void items_spread(struct process *p, const struct helper *h, uint64_t most, struct value *v)
{
	value_items stack = {0};
	uint32_t steps = 0;

	items_push(&stack, v);
	while (stack.len) {
		struct value_item item = stack.data[--stack.len];
		struct value inner = {0};
		struct run r = {.p = p, .act = value_act, .to = &inner};

		if (item.kind != VALUE_SPREAD && v->items.len < most) {
			vec_push(&v->items, item);
			continue;
		}
		if (item.kind == VALUE_SPREAD && v->items.len < most && steps++ < SPREADS_MAX &&
		    !v->fault) {
			word_run(&r, h, HELPER_VALUE, item.word, most, &v->fault);
			items_push(&stack, &inner);
		}
		item_free(&item);
		value_free(&inner);
	}
	vec_deinit(&stack);
}

/* Whether a value has items of others. */
static bool has_spread(const struct value *v)
{
	for (uint32_t i = 0; i < v->items.len; i++)
		if (v->items.data[i].kind == VALUE_SPREAD)
			return true;
	return false;
}

bool value_read(struct process *p, const struct helper *h, uint64_t word, uint64_t most,
		struct value *ret)
{
	struct run r = {.p = p, .act = value_act, .to = ret};

	*ret = (struct value){0};
	word_run(&r, h, HELPER_VALUE, word, most, &ret->fault);
	if (has_spread(ret))
		items_spread(p, h, MIN(most, (uint64_t)ITEMS_MAX), ret);
	items_sort(ret);
	ret->is_known = r.nsaid;
	return ret->is_known;
}

void value_answer_read(struct process *p, const struct helper *h, enum helper_probe probe,
		       uint64_t word, struct value *ret)
{
	struct run r = {.p = p, .act = value_act, .to = ret};

	*ret = (struct value){0};
	word_run(&r, h, probe, word, ITEMS_MAX, &ret->fault);
	ret->is_known = r.nsaid;
}

void value_thread_read(struct process *p, const struct helper *h, taddr pointer, pid_t tid,
		       struct value *ret)
{
	struct run r = {.p = p, .act = value_act, .to = ret};

	*ret = (struct value){0};
	word_run(&r, h, HELPER_THREAD, pointer, (uint64_t)tid, &ret->fault);
	ret->is_known = r.nsaid;
}

void value_site_read(struct process *p, const struct helper *h, uint64_t code, uint64_t at,
		     struct value *ret)
{
	struct run r = {.p = p, .act = value_act, .to = ret};

	*ret = (struct value){0};
	word_run(&r, h, HELPER_SITE, code, at, &ret->fault);
	ret->is_known = r.nsaid && !ret->fault;
}

static bool item_number(const struct value_item *item, int64_t *ret)
{
	char *end;
	int64_t n;

	if (!item || item->has_word || !item->said.literal.len)
		return false;
	n = strtoll(strbuf_text(&item->said.literal), &end, 10);
	if (*end)
		return false;
	*ret = n;
	return true;
}

/* Reads pairs of items, the address and the size of a function each; false: too many, or odd. */
static bool unlocked_read(const struct value *v, struct value_context *ret)
{
	for (uint32_t i = 0; i < v->items.len; i++) {
		const struct value_item *item = &v->items.data[i];
		int64_t addr, size;

		if (item->kind != VALUE_ITEM || strcmp(item->name, "unlocked") != 0)
			continue;
		if (ret->nunlocked == VALUE_UNLOCKED_MAX || i + 1 == v->items.len ||
		    !item_number(item, &addr) || !item_number(item + 1, &size))
			return false;
		ret->unlocked[ret->nunlocked++] =
			(struct value_extent){(uint64_t)addr, (uint64_t)size};
	}
	return true;
}

bool value_context_read(struct process *p, const struct helper *h, struct value_context *ret)
{
	const struct {
		const char *name;
		uint64_t *to;
	} numbers[] = {
		{"module", &ret->module}, {"variable", &ret->variable}, {"stack", &ret->stack},
		{"words", &ret->words},	  {"top", &ret->top},		{"size", &ret->size},
		{"code", &ret->code},	  {"position", &ret->at},	{"depth", &ret->depth},
		{"inside", &ret->inside},
	};
	struct value v;
	bool has_all = true;
	int64_t n = 0;

	*ret = (struct value_context){0};
	value_answer_read(p, h, HELPER_CONTEXT, 0, &v);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		has_all = has_all && !v.fault && value_number_get(&v, numbers[i].name, &n);
		*numbers[i].to = has_all ? (uint64_t)n : 0;
	}
	ret->is_proven = has_all && value_number_get(&v, "proven", &n) && n;
	has_all = has_all && ret->inside && unlocked_read(&v, ret);
	value_free(&v);
	return has_all;
}

const struct value_item *value_item_find(const struct value *v, const char *name)
{
	for (uint32_t i = 0; i < v->items.len; i++)
		if (v->items.data[i].kind == VALUE_ITEM && strcmp(v->items.data[i].name, name) == 0)
			return &v->items.data[i];
	return NULL;
}

bool value_number_get(const struct value *v, const char *name, int64_t *ret)
{
	return item_number(value_item_find(v, name), ret);
}

void value_free(struct value *v)
{
	for (uint32_t i = 0; i < v->items.len; i++)
		item_free(&v->items.data[i]);
	vec_deinit(&v->items);
	said_free(&v->said);
	free(v->class);
	free(v->separator);
	free(v->fault);
}

static void type_act(struct run *r, enum act_kind kind)
{
	if (kind == ACT_ULITERAL && r->text[0])
		strbuf_adds(r->to, r->text[0]);
}

bool value_type_add(struct process *p, const struct helper *h, uint64_t word, struct strbuf *out)
{
	struct run r = {.p = p, .act = type_act, .to = out};

	word_run(&r, h, HELPER_TYPE, word, 0, NULL);
	return r.nsaid;
}

/* ---- the runtime's own structures ------------------------------------------------------------ */

#define FIELDS_MAX 1000u

static void raw_act(struct run *r, enum act_kind kind)
{
	value_fields *to = r->to;

	if (to->len >= FIELDS_MAX || !r->text[0])
		return;
	if (kind == ACT_UBASE)
		vec_push(to, (struct value_field){.base = xstrdup(r->text[0])});
	else if (kind == ACT_UFIELD)
		vec_push(to, (struct value_field){.name = xstrdup(r->text[0]),
						  .type = xstrdup(r->text[1] ? r->text[1] : ""),
						  .addr = r->v[2],
						  .has_word = r->nargs > 3,
						  .word = r->v[3]});
}

bool value_raw_read(struct process *p, const struct helper *h, uint64_t word, value_fields *ret)
{
	struct run r = {.p = p, .act = raw_act, .to = ret};

	*ret = (value_fields){0};
	word_run(&r, h, HELPER_RAW, word, 0, NULL);
	return ret->len;
}

void value_fields_free(value_fields *v)
{
	for (uint32_t i = 0; i < v->len; i++) {
		free(v->data[i].base);
		free(v->data[i].name);
		free(v->data[i].type);
	}
	vec_deinit(v);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void utf8_add(struct strbuf *out, uint32_t c)
{
	if (c < 0x80) {
		strbuf_addc(out, (char)c);
	} else if (c < 0x800) {
		strbuf_addc(out, (char)(0xc0 | c >> 6));
		strbuf_addc(out, (char)(0x80 | (c & 63)));
	} else if (c < 0x10000) {
		strbuf_addc(out, (char)(0xe0 | c >> 12));
		strbuf_addc(out, (char)(0x80 | (c >> 6 & 63)));
		strbuf_addc(out, (char)(0x80 | (c & 63)));
	} else {
		strbuf_addc(out, (char)(0xf0 | (c >> 18 & 7)));
		strbuf_addc(out, (char)(0x80 | (c >> 12 & 63)));
		strbuf_addc(out, (char)(0x80 | (c >> 6 & 63)));
		strbuf_addc(out, (char)(0x80 | (c & 63)));
	}
}

/* Characters in memory, and the half of a pair that waits for the other. */
struct text_out {
	struct strbuf *to;
	uint32_t half;
};

static void unit_add(struct text_out *o, uint32_t c)
{
	bool is_second = c >= 0xdc00 && c < 0xe000;

	if (o->half && is_second) {
		utf8_add(o->to, 0x10000 + ((o->half - 0xd800) << 10) + (c - 0xdc00));
		o->half = 0;
		return;
	}
	if (o->half)
		utf8_add(o->to, 0xfffd);
	o->half = c >= 0xd800 && c < 0xdc00 ? c : 0;
	if (!o->half)
		utf8_add(o->to, is_second || c > 0x10ffff ? 0xfffd : c);
}

static bool memory_add(struct process *p, const struct value_piece *piece, struct text_out *o)
{
	uint32_t width = piece->width ? piece->width : 1;
	char buf[CHUNK];

	if (width != 1 && width != 2 && width != 4)
		return false;
	if (piece->is_character) {
		unit_add(o, (uint32_t)piece->at);
		return true;
	}
	for (uint64_t i = 0; i < piece->n;) {
		uint64_t n = MIN(piece->n - i, (uint64_t)(CHUNK / width));

		if (!process_memory(p, piece->at + (piece->from + i) * width, buf,
				    (uint32_t)(n * width)))
			return false;
		if (!piece->width)
			strbuf_add(o->to, buf, n);
		for (uint64_t k = 0; piece->width && k < n; k++) {
			uint32_t c = 0;

			memcpy(&c, buf + k * width, width);
			unit_add(o, c);
		}
		i += n;
	}
	return true;
}

static uint64_t pieces_length(const struct value_said *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->pieces.len; i++)
		n += s->pieces.data[i].n;
	return n;
}

/*
 * A descent from texts into the texts that they begin with, until characters come. In a process
 * that is damaged it may have a loop: `mark` is moved on now and then, and in a loop the descent
 * comes back to it.
 */
struct descent {
	uint64_t mark, steps, limit;
};

static bool descent_is_loop(struct descent *d, const struct value_piece *piece)
{
	if (d->steps && d->mark == piece->at && piece->n)
		return true;
	if (d->steps >= d->limit || !d->steps) {
		d->mark = piece->at;
		d->limit = 2 * d->steps + 1;
	}
	d->steps++;
	return false;
}

/*
 * Puts the pieces of a word's text on the stack, the last one first, but only the characters that
 * piece wants. False: the word has no text.
 */
static bool word_split(struct process *p, const struct helper *h, const struct value_piece *piece,
		       value_pieces *to)
{
	uint64_t skip = piece->from, left = piece->n;
	uint32_t first = (uint32_t)to->len;
	struct value v;
	bool is_there;

	(void)value_read(p, h, piece->at, 0, &v);
	for (uint32_t i = 0; i < v.said.pieces.len && left; i++) {
		struct value_piece part = v.said.pieces.data[i];
		uint64_t cut = MIN(skip, part.n);

		skip -= cut;
		part.from += cut;
		part.n = MIN(part.n - cut, left);
		left -= part.n;
		if (part.n)
			vec_push(to, part);
	}
	is_there = !piece->n || to->len > first;
	for (uint32_t i = first, k = (uint32_t)to->len; i + 1 < k; i++, k--) {
		struct value_piece swap = to->data[i];

		to->data[i] = to->data[k - 1];
		to->data[k - 1] = swap;
	}
	value_free(&v);
	return is_there;
}

uint64_t value_characters_add(struct process *p, const struct helper *h, const struct value_said *s,
			      uint64_t most, struct strbuf *out)
{
	value_pieces stack = {0};
	struct text_out o = {.to = out};
	struct descent descent = {0};
	uint64_t left = most;

	for (uint32_t i = (uint32_t)s->pieces.len; i--;)
		vec_push(&stack, s->pieces.data[i]);
	for (uint32_t n = 0; stack.len && left && n < PIECES_MAX; n++) {
		struct value_piece piece = stack.data[--stack.len];

		piece.n = MIN(piece.n, left);
		if (piece.is_word && !descent_is_loop(&descent, &piece) && stack.len < PIECES_MAX &&
		    word_split(p, h, &piece, &stack))
			continue;
		if (piece.is_word || !memory_add(p, &piece, &o))
			break;
		left -= piece.n;
		descent.steps = 0;
	}
	if (o.half)
		utf8_add(out, 0xfffd);
	vec_deinit(&stack);
	return pieces_length(s);
}

void value_name_add(struct process *p, const struct helper *h, uint64_t word, struct strbuf *out)
{
	struct value v;

	if (value_read(p, h, word, 0, &v)) {
		if (v.said.is_text)
			(void)value_characters_add(p, h, &v.said, 1000, out);
		else
			strbuf_add(out, strbuf_text(&v.said.literal), v.said.literal.len);
	}
	value_free(&v);
}

/* ---- classes and the heap -------------------------------------------------------------------- */

static void class_act(struct run *r, enum act_kind kind)
{
	struct value_class *c = r->to;

	if (kind == ACT_UCLASS) {
		c->kinds = r->v[0];
		c->size = r->v[1];
		c->name = r->v[2];
	} else if (kind == ACT_UCOUNT) {
		c->has_count = true;
		c->count_at = r->v[0];
		c->count_shift = r->v[1] & 63;
		c->unit = r->v[2];
		c->head = r->v[3];
		c->count_clear = r->nargs > 4 ? r->v[4] : 0;
		c->count_bits = r->nargs > 5 ? r->v[5] : 0;
	} else if (kind == ACT_UREF && c->refs.len < REFS_MAX) {
		vec_push(&c->refs,
			 (struct value_ref){r->v[0], r->v[1], r->nargs > 2 ? r->v[2] : 0});
	}
}

bool value_class_read(struct process *p, const struct helper *h, uint64_t addr, uint64_t kind,
		      struct value_class *ret)
{
	struct run r = {.p = p, .act = class_act, .to = ret};

	*ret = (struct value_class){0};
	word_run(&r, h, HELPER_CLASS, addr, kind, NULL);
	return r.nsaid;
}

void value_class_free(struct value_class *v)
{
	vec_deinit(&v->refs);
}

static void shape_act(struct run *r, enum act_kind kind)
{
	value_words *words = r->to;

	if (kind == ACT_UPROP)
		vec_push(words, r->v[0]);
}

void value_shape_read(struct process *p, const struct helper *h, uint64_t addr, uint64_t kind,
		      value_words *ret)
{
	struct run r = {.p = p, .act = shape_act, .to = ret};

	word_run(&r, h, HELPER_SHAPE, addr, kind, NULL);
}

/* Kinds of objects and an offset, by their names. */
static void heap_item(struct value_heap *v, const char *name, uint64_t n)
{
	if (strcmp(name, "functions") == 0)
		v->functions = n;
	else if (strcmp(name, "code") == 0)
		v->code = n;
	else if (strcmp(name, "waiting") == 0)
		v->waiting = n;
	else if (strcmp(name, "weak") == 0)
		v->weak = n;
	else if (strcmp(name, "owned") == 0)
		v->owner_bits = n;
}

static void heap_act(struct run *r, enum act_kind kind)
{
	struct value_heap *v = r->to;

	if (kind == ACT_USCAN) {
		v->is_scan = true;
		v->mask = r->v[0];
		v->tag = r->v[1];
	} else if (kind == ACT_UREQUIRE && v->nrules < VALUE_RULES) {
		v->rules[v->nrules++] = (struct value_rule){r->v[0], r->v[1], r->v[2], r->v[3]};
	} else if (kind == ACT_UKEPT) {
		v->kept_kinds = r->v[0];
		v->kept_at = r->v[1];
	} else if (kind == ACT_UITEM && r->text[0]) {
		heap_item(v, r->text[0], r->v[1]);
	} else if (kind == ACT_ULIST) {
		vec_push(&v->lists,
			 (struct value_list){r->v[0], r->v[1], r->v[2], r->v[3], r->v[4]});
	} else if (kind == ACT_UARRAY) {
		vec_push(&v->arrays,
			 (struct value_array){r->v[0], r->v[1], r->v[2], r->v[3], r->v[4]});
	} else if (kind == ACT_UKIND && v->nkinds < VALUE_KINDS) {
		v->kinds[v->nkinds++] =
			(struct value_kind){r->v[0], r->v[1], r->v[2], r->v[3], r->v[4]};
	} else if (kind == ACT_UROOT && v->roots.len < ITEMS_MAX) {
		vec_push(&v->roots,
			 (struct value_root){xstrdup(r->text[0] ? r->text[0] : ""), r->v[1]});
	} else if (kind == ACT_USLOTS) {
		vec_push(&v->blocks, (struct value_block){r->v[0], r->v[1], r->v[2]});
	} else if (kind == ACT_USLOTKIND) {
		v->kind_at = r->v[0];
		v->kind_mask = r->v[1];
	} else if (kind == ACT_USLOTCLASS && v->nslot_classes < VALUE_RULES) {
		v->slot_classes[v->nslot_classes++] =
			(struct value_slot_class){r->v[0], r->v[1], r->v[2],
						  r->nargs > 3 ? r->v[3] : 0, r->nargs > 3};
	} else if (kind == ACT_USPAN && r->v[0] < r->v[1]) {
		vec_push(&v->spans, (struct value_span){r->v[0], r->v[1]});
	} else if (kind == ACT_UHOLE && r->v[0] < r->v[1]) {
		vec_push(&v->holes, (struct value_span){r->v[0], r->v[1]});
	} else if (kind == ACT_UHEADER) {
		v->header.at = r->v[0];
		v->header.right = r->v[1] & 63;
		v->header.mask = r->v[2];
		v->header.left = r->v[3] & 63;
		v->header.base = r->v[4];
	} else if (kind == ACT_UNARROW) {
		v->is_narrow = true;
		v->narrow_base = r->v[0];
		v->narrow_shift = r->v[1] & 63;
	} else if (kind == ACT_ULITERAL && r->text[0]) {
		strbuf_adds(&v->reason, r->text[0]);
	}
}

bool value_heap_read(struct process *p, const struct helper *h, struct value_heap *ret)
{
	struct run r = {.p = p, .act = heap_act, .to = ret};

	*ret = (struct value_heap){0};
	word_run(&r, h, HELPER_HEAP, 0, 0, &ret->fault);
	return r.nsaid;
}

void value_heap_free(struct value_heap *v)
{
	for (uint32_t i = 0; i < v->roots.len; i++)
		free(v->roots.data[i].name);
	vec_deinit(&v->roots);
	vec_deinit(&v->arrays);
	vec_deinit(&v->lists);
	vec_deinit(&v->blocks);
	vec_deinit(&v->spans);
	vec_deinit(&v->holes);
	strbuf_deinit(&v->reason);
	free(v->fault);
}

bool value_has_clauses(const struct helper *h, enum helper_probe probe)
{
	for (uint32_t i = 0; h->values && i < h->values->nclauses; i++)
		if (helper_clause_probe(h->values->clauses[i]) == probe)
			return true;
	return false;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static void tasks_act(struct run *r, enum act_kind kind)
{
	struct value_tasks *v = r->to;

	if (kind == ACT_UMEMBER && v->words.len < ITEMS_MAX)
		vec_push(&v->words, r->v[0]);
	else if (kind == ACT_UARRAY && v->arrays.len < ARRAYS_MAX)
		vec_push(&v->arrays, (struct value_array){r->v[0], r->v[1], r->v[2], r->v[3], 0});
}

bool value_tasks_read(struct process *p, const struct helper *h, struct value_tasks *ret)
{
	struct run r = {.p = p, .act = tasks_act, .to = ret};
	bool is_described = value_has_clauses(h, HELPER_TASK);

	*ret = (struct value_tasks){0};
	if (is_described)
		word_run(&r, h, HELPER_TASKS, 0, 0, &ret->fault);
	return is_described;
}

void value_tasks_free(struct value_tasks *v)
{
	vec_deinit(&v->words);
	vec_deinit(&v->arrays);
	free(v->fault);
}

bool value_task_read(struct process *p, const struct helper *h, uint64_t word, bool is_whole,
		     struct value *ret)
{
	struct run r = {.p = p, .act = value_act, .to = ret};

	*ret = (struct value){0};
	word_run(&r, h, HELPER_TASK, word, is_whole, &ret->fault);
	ret->is_known = r.nsaid;
	return ret->is_known;
}

/* Frames that a helper has named from the outermost one: each with the values behind it. */
static void frames_reverse(struct value *v)
{
	value_items to = {0};
	uint32_t end = (uint32_t)v->items.len;

	for (uint32_t i = end; i--;) {
		const struct value_item *item = &v->items.data[i];

		if (i && (item->kind != VALUE_ITEM || item->has_word))
			continue;
		for (uint32_t k = i; k < end; k++)
			vec_push(&to, v->items.data[k]);
		end = i;
	}
	for (uint32_t i = 0; i < to.len; i++)
		v->items.data[i] = to.data[i];
	vec_deinit(&to);
}

void value_backtrace_read(struct process *p, const struct helper *h, uint64_t word,
			  struct value *ret)
{
	struct run r = {.p = p, .act = value_act, .to = ret};

	*ret = (struct value){0};
	word_run(&r, h, HELPER_BACKTRACE, word, ITEMS_MAX, &ret->fault);
	if (ret->has_items && strcmp(ret->class, "reversed") == 0)
		frames_reverse(ret);
	ret->is_known = r.nsaid;
}

/* ---- variables of frames --------------------------------------------------------------------- */

static enum thrown_state thrown_state(const char *how)
{
	return strcmp(how, "handled") == 0  ? THROWN_HANDLED
	       : strcmp(how, "caught") == 0 ? THROWN_CAUGHT
					    : THROWN_RAISED;
}

static void local_act(struct run *r, enum act_kind kind)
{
	value_locals *to = r->to;

	if (kind == ACT_UMEMBER)
		vec_push(to, (struct value_local){LOCAL_FUNCTION, 0, r->v[0]});
	else if (kind == ACT_USELF)
		vec_push(to, (struct value_local){LOCAL_SELF, 0, r->v[0]});
	else if (kind == ACT_UARG)
		vec_push(to, (struct value_local){LOCAL_ARG, r->v[0], r->v[1]});
	else if (kind == ACT_ULOCAL)
		vec_push(to, (struct value_local){LOCAL_VARIABLE, r->v[0], r->v[1]});
	else if (kind == ACT_UITEM && r->text[0] && r->nargs > 1)
		vec_push(to,
			 (struct value_local){LOCAL_EXCEPTION, thrown_state(r->text[0]), r->v[1]});
}

void value_locals_read(struct process *p, const struct helper *h, value_locals *ret)
{
	struct run r = {.p = p, .act = local_act, .to = ret};

	clauses_run(&r, h, HELPER_LOCALS, NULL);
}
