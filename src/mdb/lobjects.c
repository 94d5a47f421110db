/* SPDX-License-Identifier: MIT */
/* The command ::lobjects: the groups of a census, and their objects. */
#include "mdb/census.h"

#include <inttypes.h>

#include "base/text.h"

static int group_compare(const void *a, const void *b)
{
	const struct group *x = *(const struct group *const *)a,
			   *y = *(const struct group *const *)b;

	return (x->n < y->n) - (x->n > y->n);
}

/* Whether the word stands in the list behind "Class:", or is the class. */
static bool key_has(const char *key, const char *class, const char *property)
{
	size_t n = strcspn(key, ":");
	const char *at = key + n;

	if (class && (strlen(class) != n || strncmp(key, class, n) != 0))
		return false;
	if (!property)
		return true;
	n = strlen(property);
	for (at += *at == ':'; *at; at += strcspn(at, ",")) {
		at += strspn(at, ", ");
		if (strncmp(at, property, n) == 0 && (!at[n] || at[n] == ','))
			return true;
	}
	return false;
}

static void objects_emit(struct mdb *m, const struct census *s, uint32_t group)
{
	for (uint32_t i = 0; i < s->objects.len && !m->is_interrupted; i++) {
		const struct object_at *o = &s->objects.data[i];

		if (s->classes.data[o->class].group != group)
			continue;
		emit_row(&m->out);
		emit_value(&m->out, o->addr + s->heap.tag);
		emit_addr(&m->out, "object", o->addr + s->heap.tag, 1);
		emit_end(&m->out);
	}
}

static struct err *like_emit(struct mdb *m, const struct census *s, uint64_t word)
{
	const struct object_at *o = object_around(s, word - s->heap.tag);

	if (!o || o->addr + s->heap.tag != word || !s->classes.data[o->class].group)
		return err_new("%" PRIx64 " is no object that the census has found", word);
	objects_emit(m, s, s->classes.data[o->class].group);
	return NULL;
}

/* Which objects are wanted. */
struct object_filter {
	const char *class, *kind;
	char *property;	   /* NULL: any */
	const char *value; /* of the property, as it is written; NULL: any */
	uint64_t bytes;	   /* at least */
	pid_t tid;	   /* the thread to which they belong; 0: any */
	uint8_t *kinds;	   /* of each class: 0 not known yet, 1 wanted, 2 not */
};

static struct err *filter_read(struct mdb *m, const struct call *c, const struct census *s,
			       struct object_filter *ret)
{
	struct err *e = NULL;
	uint64_t tid = 0;
	char *equals;

	*ret = (struct object_filter){.class = c->opts['c'], .kind = c->opts['k']};
	if (c->opts['p']) {
		ret->property = xstrdup(c->opts['p']);
		equals = strchr(ret->property, '=');
		if (equals) {
			*equals = '\0';
			ret->value = equals + 1;
		}
	}
	ret->kinds = xcalloc(s->classes.len + 1, 1);
	if (c->opts['s'])
		e = mdb_number(c->opts['s'], UINT64_MAX, &ret->bytes);
	if (!e && c->opts['t'])
		e = mdb_number(c->opts['t'], INT32_MAX, &tid);
	if (!e && c->opts['t'])
		e = mdb_thread_check(m, (pid_t)tid);
	if (!e && c->opts['t'])
		e = census_has_owners(s);
	ret->tid = (pid_t)tid;
	return e;
}

static void filter_free(struct object_filter *f)
{
	free(f->property);
	free(f->kinds);
}

/* The objects of one class are all of one kind: it is asked for once. */
static bool kind_matches(const struct census *s, struct object_filter *f, const struct object_at *o)
{
	struct strbuf type = {0};

	if (!f->kind)
		return true;
	if (!f->kinds[o->class]) {
		(void)value_type_add(s->lang.p, s->lang.h, object_word(s, o), &type);
		f->kinds[o->class] = strcmp(strbuf_text(&type), f->kind) == 0 ? 1 : 2;
		strbuf_deinit(&type);
	}
	return f->kinds[o->class] == 1;
}

/* Whether the property has the value, which may be given without the quotes of a text. */
static bool value_matches(struct mdb *m, const struct census *s, const struct object_filter *f,
			  const struct object_at *o)
{
	struct strbuf text = {0};
	size_t n = strlen(f->value);
	bool is;

	is = lang_member_add(m, &s->lang, object_word(s, o), f->property, &text);
	is = is && (strcmp(strbuf_text(&text), f->value) == 0 ||
		    (text.len == n + 2 && text.data[0] == s->lang.quote &&
		     text.data[n + 1] == s->lang.quote && memcmp(text.data + 1, f->value, n) == 0));
	strbuf_deinit(&text);
	return is;
}

/* A key without names of properties may be that of objects which have them in tables. */
static bool group_matches(const struct group *g, const struct object_filter *f)
{
	char *dot = f->value ? strchr(f->property, '.') : NULL;
	bool is;

	if (dot)
		*dot = '\0';
	is = g->n &&
	     (key_has(g->key, f->class, f->property) ||
	      (f->value && g->key[strlen(g->key) - 1] == ':' && key_has(g->key, f->class, NULL)));
	if (dot)
		*dot = '.';
	return is;
}

/* Counts the objects that are wanted in groups of their own. */
static void groups_filter(struct mdb *m, struct census *s, struct object_filter *f,
			  struct group *groups, bool is_listed)
{
	for (uint32_t i = 0; i < s->objects.len && !m->is_interrupted; i++) {
		const struct object_at *o = &s->objects.data[i];
		uint32_t group = s->classes.data[o->class].group;
		struct group *g = &groups[group ? group - 1 : 0];

		if (!group || !g->key || 8ull * o->words < f->bytes || !kind_matches(s, f, o) ||
		    (f->tid && census_owner(m, s, o) != f->tid) ||
		    (f->value && !value_matches(m, s, f, o)))
			continue;
		g->first = g->n++ ? g->first : object_word(s, o);
		g->bytes += 8ull * o->words;
		if (!is_listed)
			continue;
		emit_row(&m->out);
		emit_value(&m->out, object_word(s, o));
		emit_addr(&m->out, "object", object_word(s, o), 1);
		emit_end(&m->out);
	}
}

static void groups_show(struct mdb *m, struct census *s, struct object_filter *f)
{
	bool counts_anew = f->kind || f->value || f->bytes || f->tid;
	VEC(struct group *) shown = {0};
	struct group *groups = xcalloc(s->groups.len + 1, sizeof(*groups));

	for (uint32_t i = 0; i < s->groups.len; i++) {
		if (!group_matches(&s->groups.data[i], f))
			continue;
		groups[i] = s->groups.data[i];
		if (counts_anew)
			groups[i].n = groups[i].bytes = groups[i].first = 0;
	}
	if (counts_anew)
		groups_filter(m, s, f, groups, false);
	for (uint32_t i = 0; i < s->groups.len; i++)
		if (groups[i].key && groups[i].n)
			vec_push(&shown, &groups[i]);
	if (shown.len)
		qsort(shown.data, shown.len, sizeof(*shown.data), group_compare);
	emit_say(&m->out, "%16s %8s %10s %s\n", "OBJECT", "#OBJECTS", "BYTES", "CLASS: PROPERTIES");
	for (uint32_t i = 0; i < shown.len && !m->is_interrupted; i++) {
		const struct group *g = shown.data[i];

		emit_row(&m->out);
		emit_value(&m->out, g->first);
		emit_addr(&m->out, "object", g->first, 16);
		emit_int(&m->out, "objects", (int64_t)g->n, 8);
		emit_int(&m->out, "bytes", (int64_t)g->bytes, 10);
		emit_str(&m->out, "shape", g->key, 1);
		emit_end(&m->out);
	}
	vec_deinit(&shown);
	free(groups);
	if (s->nlost)
		emit_say(&m->out, "(%" PRIu64 " byte%s between objects %s of none that is known)\n",
			 s->nlost, PLURAL(s->nlost), WORD_FOR(s->nlost, "is", "are"));
}

static void groups_list(struct mdb *m, struct census *s, struct object_filter *f)
{
	struct group *groups = xcalloc(s->groups.len + 1, sizeof(*groups));

	for (uint32_t i = 0; i < s->groups.len; i++)
		if (group_matches(&s->groups.data[i], f))
			groups[i].key = s->groups.data[i].key;
	groups_filter(m, s, f, groups, true);
	free(groups);
}

struct err *cmd_lobjects(struct mdb *m, const struct call *c)
{
	bool has_filter =
		c->opts['c'] || c->opts['p'] || c->opts['k'] || c->opts['s'] || c->opts['t'];
	struct object_filter f;
	struct census *s;
	struct err *e = census_get(m, &s);

	if (e)
		return e;
	if (c->has_addr)
		return like_emit(m, s, c->addr);
	e = filter_read(m, c, s, &f);
	if (!e && (c->opts['l'] || (m->out.is_piped && has_filter)))
		groups_list(m, s, &f);
	else if (!e)
		groups_show(m, s, &f);
	filter_free(&f);
	return e;
}
