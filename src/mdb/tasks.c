/* SPDX-License-Identifier: MIT */
/*
 * What runtimes have in place of threads: processes of Erlang, tasks of asyncio, fibers, coroutines
 * and virtual threads.
 *
 * A helper says where they are (dtrace:helper:tasks:) and what each of them is
 * (dtrace:helper:task:), as the columns of a table; which columns there are is not known here.
 *
 * Owns     a table, while a command runs.
 * Errors   struct err *: no runtime has tasks, or none is the one that was asked for.
 */
#include "mdb/tasks.h"

#include <inttypes.h>

#include "base/text.h"
#include "mdb/census.h"

#define CHUNK	    (1u << 16)
#define TASKS_MAX   4000000u
#define ARRAY_MAX   (1ull << 30) /* words of an array */
#define COLUMNS_MAX 16u
#define WIDTH_MAX   44u

struct column {
	char *name;
	size_t width;
	bool is_number; /* all that stands in it is */
};

struct task {
	uint64_t word;
	char *cells[COLUMNS_MAX]; /* NULL: the task has nothing there */
};

struct table {
	struct lang lang;
	VEC(struct column) columns;
	VEC(struct task *) tasks;
	uint32_t sorted; /* the column by which it is sorted */
};

/* ---- words ----------------------------------------------------------------------------------- */

/* Adds the words of an array that are tasks. */
static void array_walk(struct mdb *m, const struct value_array *a, value_words *ret)
{
	CLEANUP(free) uint8_t *buf = xmalloc(CHUNK);
	uint64_t n = MIN(a->n, (uint64_t)ARRAY_MAX), stride = a->stride;
	uint64_t each = stride >= 8 && stride <= CHUNK ? CHUNK / stride : 0;

	for (uint64_t i = 0; each && i < n && !m->is_interrupted; i += each) {
		uint64_t count = MIN(each, n - i);

		if (!mdb_read(m, a->start + i * stride, buf, count * stride))
			return;
		for (uint64_t k = 0; k < count && ret->len < TASKS_MAX; k++) {
			uint64_t word;

			memcpy(&word, buf + k * stride, sizeof(word));
			if (word && !(word & a->free))
				vec_push(ret, word);
		}
	}
}

struct err *tasks_of(struct mdb *m, const struct lang *lang, uint32_t kinds, value_words *ret,
		     bool *ret_is)
{
	struct value_tasks tasks;
	struct err *e = NULL;

	*ret_is = value_tasks_read(lang->p, lang->h, &tasks);
	for (uint32_t k = 0; k < tasks.words.len; k++)
		vec_push(ret, tasks.words.data[k]);
	for (uint32_t k = 0; k < tasks.arrays.len; k++)
		array_walk(m, &tasks.arrays.data[k], ret);
	if (*ret_is && tasks.fault && !ret->len)
		e = err_new("the tasks cannot be found: %s", tasks.fault);
	value_tasks_free(&tasks);
	return e || !*ret_is ? e : census_kind_add(m, lang->part, kinds, ret);
}

/* The tasks of the first runtime that has some; a fault is told. */
static struct err *tasks_find(struct mdb *m, uint32_t kinds, struct lang *lang, value_words *ret)
{
	bool has_values = false, is = false;

	walks_begin(m);
	for (uint32_t i = 0; i < m->replay.nhelpers; i++) {
		struct err *e;

		if (!lang_at(m, i, lang))
			continue;
		has_values = true;
		e = tasks_of(m, lang, kinds, ret, &is);
		if (e || is)
			return e;
	}
	return has_values ? err_new("which tasks the runtime has is not described")
			  : lang_missing_err(m);
}

/* ---- the table ------------------------------------------------------------------------------- */

void task_item_add(struct mdb *m, const struct lang *l, const struct value_item *item,
		   struct strbuf *out)
{
	const struct value_style style = {.text = 200, .is_one_line = true};

	if (item->has_word)
		lang_value_add_short(m, l, item->word, out);
	else
		lang_said_add(m, l, &item->said, &style, out);
}

static uint32_t column_get(struct table *t, const char *name)
{
	for (uint32_t i = 0; i < t->columns.len; i++)
		if (strcmp(t->columns.data[i].name, name) == 0)
			return i;
	if (t->columns.len == COLUMNS_MAX)
		return COLUMNS_MAX;
	vec_push(&t->columns, (struct column){xstrdup(name), strlen(name), true});
	return (uint32_t)t->columns.len - 1;
}

static bool text_is_number(const char *s)
{
	s += *s == '-';
	return *s && !s[strspn(s, "0123456789")];
}

static void task_free(struct task *task)
{
	for (uint32_t i = 0; i < COLUMNS_MAX; i++)
		free(task->cells[i]);
	free(task);
}

static void cell_set(struct mdb *m, struct table *t, struct task *task,
		     const struct value_item *item)
{
	uint32_t at = column_get(t, item->name);
	struct strbuf text = {0};

	if (at == COLUMNS_MAX || task->cells[at])
		return;
	task_item_add(m, &t->lang, item, &text);
	task->cells[at] = xstrdup(strbuf_text(&text));
	t->columns.data[at].width = MAX(t->columns.data[at].width, text.len);
	t->columns.data[at].is_number &= text_is_number(task->cells[at]);
	strbuf_deinit(&text);
}

static void task_add(struct mdb *m, struct table *t, uint64_t word)
{
	struct task *task;
	struct value v;

	if (value_task_read(t->lang.p, t->lang.h, word, false, &v) && v.items.len) {
		task = xcalloc(1, sizeof(*task));
		task->word = word;
		for (uint32_t i = 0; i < v.items.len; i++)
			if (v.items.data[i].kind == VALUE_ITEM)
				cell_set(m, t, task, &v.items.data[i]);
		vec_push(&t->tasks, task);
	}
	value_free(&v);
}

static int cell_compare(const char *x, const char *y, bool is_number)
{
	if (!x || !y)
		return (x == NULL) - (y == NULL);
	if (is_number) {
		double a = strtod(x, NULL), b = strtod(y, NULL);

		return (a < b) - (a > b);
	}
	return strcmp(x, y);
}

/* Numbers: the largest first; in another column, by the alphabet. */
static int task_compare(const void *a, const void *b, void *ctx)
{
	const struct task *x = *(const struct task *const *)a, *y = *(const struct task *const *)b;
	const struct table *t = ctx;

	return cell_compare(x->cells[t->sorted], y->cells[t->sorted],
			    t->columns.data[t->sorted].is_number);
}

static struct err *table_sort(struct table *t, const char *name)
{
	struct strbuf names = {0};
	struct err *e;
	uint32_t k = 0;

	while (k < t->columns.len && strcmp(t->columns.data[k].name, name) != 0)
		k++;
	if (k < t->columns.len) {
		t->sorted = k;
		if (t->tasks.len)
			qsort_r(t->tasks.data, t->tasks.len, sizeof(struct task *), task_compare,
				t);
		return NULL;
	}
	for (uint32_t i = 0; i < t->columns.len; i++)
		strbuf_addf(&names, "%s%s", i ? ", " : "", t->columns.data[i].name);
	e = err_new("there is no column '%s'; there are: %s", name, strbuf_text(&names));
	strbuf_deinit(&names);
	return e;
}

/* Leaves the tasks of which a column is the text. */
static void table_filter(struct table *t, const char *text)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->tasks.len; i++) {
		struct task *task = t->tasks.data[i];
		bool is = false;

		for (uint32_t k = 0; k < t->columns.len && !is; k++)
			is = task->cells[k] && strcmp(task->cells[k], text) == 0;
		if (is)
			t->tasks.data[n++] = task;
		else
			task_free(task);
	}
	t->tasks.len = n;
}

static void table_free(struct table *t)
{
	for (uint32_t i = 0; i < t->columns.len; i++)
		free(t->columns.data[i].name);
	for (uint32_t i = 0; i < t->tasks.len; i++)
		task_free(t->tasks.data[i]);
	vec_deinit(&t->columns);
	vec_deinit(&t->tasks);
}

/* ---- showing --------------------------------------------------------------------------------- */

static int column_width(const struct table *t, uint32_t i)
{
	const struct column *c = &t->columns.data[i];
	int width = (int)MIN(c->width, (size_t)WIDTH_MAX);

	return c->is_number ? width : -width;
}

/* The word is aligned as an address; spaces at the end of a line are left out. */
static void line_show(struct mdb *m, const struct table *t, const char *first,
		      const char *(*cell)(const struct table *t, const void *of, uint32_t i),
		      const void *of)
{
	struct strbuf line = {0};

	strbuf_addf(&line, "%16s", first);
	for (uint32_t i = 0; i < t->columns.len; i++)
		strbuf_addf(&line, " %*s", column_width(t, i), cell(t, of, i));
	while (line.len && line.data[line.len - 1] == ' ')
		line.data[--line.len] = '\0';
	emit_say(&m->out, "%s", strbuf_text(&line));
	strbuf_deinit(&line);
}

static const char *heading_cell(const struct table *t, const void *of, uint32_t i)
{
	(void)of;
	return t->columns.data[i].name;
}

static const char *task_cell(const struct table *t, const void *of, uint32_t i)
{
	const struct task *task = of;

	(void)t;
	return task->cells[i] ? task->cells[i] : "-";
}

static bool is_column(const struct table *t, const char *name)
{
	for (uint32_t i = 0; i < t->columns.len; i++)
		if (strcmp(t->columns.data[i].name, name) == 0)
			return true;
	return false;
}

/* What the runtime knows of a task beyond the columns. */
static void details_show(struct mdb *m, const struct table *t, const struct task *task,
			 bool with_words)
{
	struct value v;

	(void)value_task_read(t->lang.p, t->lang.h, task->word, true, &v);
	emit_list(&m->out, "details");
	for (uint32_t i = 0; i < v.items.len && !m->is_interrupted; i++) {
		const struct value_item *item = &v.items.data[i];
		struct strbuf text = {0};

		if (item->kind != VALUE_ITEM || is_column(t, item->name))
			continue;
		strbuf_addf(&text, "%s: ", item->name);
		if (with_words && item->has_word)
			strbuf_addf(&text, "%" PRIx64 ": ", item->word);
		task_item_add(m, &t->lang, item, &text);
		emit_list_str(&m->out, strbuf_text(&text), text.len);
		emit_say(&m->out, "\n%16s %s", "", strbuf_text(&text));
		strbuf_deinit(&text);
	}
	emit_list_end(&m->out);
	if (v.left_out)
		emit_say(&m->out, "\n%16s ... %" PRIu64 " more", "", v.left_out);
	if (v.fault)
		emit_say(&m->out, "\n%16s (cut: %s)", "", v.fault);
	value_free(&v);
}

static void table_show(struct mdb *m, const struct table *t, const struct call *c)
{
	char word[24];

	if (!m->out.is_json) {
		line_show(m, t, "task", heading_cell, NULL);
		emit_say(&m->out, "\n");
	}
	for (uint32_t i = 0; i < t->tasks.len && !m->is_interrupted; i++) {
		const struct task *task = t->tasks.data[i];

		emit_row(&m->out);
		emit_value(&m->out, task->word);
		emit_addr(&m->out, "task", task->word, 0);
		for (uint32_t k = 0; k < t->columns.len; k++) {
			if (task->cells[k] && t->columns.data[k].is_number)
				emit_int(&m->out, t->columns.data[k].name,
					 strtoll(task->cells[k], NULL, 10), 0);
			else if (task->cells[k])
				emit_str(&m->out, t->columns.data[k].name, task->cells[k], 0);
		}
		snprintf(word, sizeof(word), "%" PRIx64, task->word);
		line_show(m, t, word, task_cell, task);
		if (c->opts['v'])
			details_show(m, t, task, c->opts['a']);
		emit_end(&m->out);
	}
}

/* Reads the table of the tasks that a command names: all, one by its word, some by a text. */
static struct err *table_read(struct mdb *m, const struct call *c, struct table *t)
{
	uint32_t kinds = TASK_KIND | (c->has_addr ? PARKED_KIND : 0);
	value_words words = {0};
	struct err *e = tasks_find(m, kinds, &t->lang, &words);

	for (uint32_t i = 0; !e && i < words.len && !m->is_interrupted; i++)
		if (!c->has_addr || c->addr == words.data[i])
			task_add(m, t, words.data[i]);
	vec_deinit(&words);
	if (!e && c->argc)
		table_filter(t, c->argv[0]);
	if (!e && !t->tasks.len && c->has_addr)
		e = err_new("%" PRIx64 " is no task; ::ltasks lists them", c->addr);
	else if (!e && !t->tasks.len && c->argc)
		e = err_new("no task has '%s' in one of its columns; ::ltasks lists them",
			    c->argv[0]);
	return e;
}

struct err *cmd_ltasks(struct mdb *m, const struct call *c)
{
	struct table t = {0};
	struct err *e = table_read(m, c, &t);

	if (!e && c->opts['s'])
		e = table_sort(&t, c->opts['s']);
	if (!e)
		table_show(m, &t, c);
	table_free(&t);
	return e;
}

/* ---- stacks of tasks ------------------------------------------------------------------------- */

static void item_push(struct value *v, enum value_item_kind kind, const char *name,
		      const struct value_local *local)
{
	vec_push(&v->items, (struct value_item){.kind = kind,
						.name = name ? xstrdup(name) : NULL,
						.key = local ? local->key : 0,
						.has_word = local,
						.word = local ? local->word : 0});
}

/* Adds a frame, and the values in it. */
static void frame_push(struct mdb *m, const struct lang *lang, const struct frame *f,
		       struct value *v)
{
	struct strbuf name = {0};

	if (f->text)
		strbuf_adds(&name, f->text);
	else
		frame_name_add(m, f, &name);
	item_push(v, VALUE_ITEM, strbuf_text(&name), NULL);
	for (uint32_t i = 0; i < f->locals.len && f->part == lang->part; i++) {
		const struct value_local *local = &f->locals.data[i];

		strbuf_clear(&name);
		strbuf_addf(&name, "arg%" PRIu64, local->key);
		if (local->kind == LOCAL_SELF)
			item_push(v, VALUE_ITEM, lang->self, local);
		else if (local->kind == LOCAL_ARG)
			item_push(v, VALUE_ITEM, strbuf_text(&name), local);
		else if (local->kind == LOCAL_VARIABLE)
			item_push(v, VALUE_PROPERTY, NULL, local);
	}
	strbuf_deinit(&name);
}

void task_stack_read(struct mdb *m, const struct lang *lang, uint64_t word, struct value *ret)
{
	struct stack s;

	if (!replay_walks_parked(&m->replay, lang->part)) {
		value_backtrace_read(lang->p, lang->h, word, ret);
		return;
	}
	*ret = (struct value){.is_known = true};
	stack_take_parked(m, lang->part, word, &s);
	for (uint32_t i = 0; i < s.frames.len; i++)
		frame_push(m, lang, &s.frames.data[i], ret);
	if (s.missing || s.is_cut)
		ret->fault =
			xstrdup(s.missing ? s.missing : "the caller of this frame cannot be found");
	stack_free(&s);
}

static void frame_show(struct mdb *m, const struct value_item *item)
{
	emit_row(&m->out);
	emit_str(&m->out, "frame", item->name + (*item->name == '@'), -1);
	emit_end(&m->out);
}

/* A value in a frame: one that has a name, or is the nth. */
static void slot_show(struct mdb *m, const struct lang *l, const struct value_item *item,
		      bool with_words)
{
	struct strbuf name = {0}, text = {0};

	if (item->kind == VALUE_ELEMENT)
		strbuf_addf(&name, "y(%" PRIu64 ")", item->key);
	else if (item->kind == VALUE_ITEM)
		strbuf_adds(&name, item->name);
	else
		value_name_add(l->p, l->h, item->key, &name);
	task_item_add(m, l, item, &text);
	emit_row(&m->out);
	if (item->has_word)
		emit_value(&m->out, item->word);
	emit_say(&m->out, "    ");
	emit_bytes(&m->out, "variable", strbuf_text(&name), name.len, -6);
	if (item->has_word)
		emit_addr(&m->out, "word", item->word, 0);
	if (with_words && item->has_word)
		emit_say(&m->out, "%" PRIx64 ": ", item->word);
	emit_bytes(&m->out, "value", strbuf_text(&text), text.len, 0);
	emit_say(&m->out, "%s", strbuf_text(&text));
	emit_end(&m->out);
	strbuf_deinit(&name);
	strbuf_deinit(&text);
}

struct err *cmd_ltaskstack(struct mdb *m, const struct call *c)
{
	struct table t = {0};
	struct err *e = table_read(m, c, &t);

	for (uint32_t i = 0; !e && i < t.tasks.len && !m->is_interrupted; i++) {
		struct value v;

		if (!c->has_addr) {
			emit_say(&m->out, "%s%" PRIx64 " %s:\n", i ? "\n" : "",
				 t.tasks.data[i]->word, task_cell(&t, t.tasks.data[i], 0));
		}
		task_stack_read(m, &t.lang, t.tasks.data[i]->word, &v);
		for (uint32_t k = 0; k < v.items.len && !m->is_interrupted; k++) {
			const struct value_item *item = &v.items.data[k];

			if (item->kind == VALUE_ITEM && !item->has_word)
				frame_show(m, item);
			else if (item->kind != VALUE_MEMBER)
				slot_show(m, &t.lang, item, c->opts['a']);
		}
		if (v.fault)
			emit_say(&m->out, "(cut: %s)\n", v.fault);
		value_free(&v);
	}
	table_free(&t);
	return e;
}
