/* SPDX-License-Identifier: MIT */
/* Commands about types: sizes, offsets, declarations, and the addresses of lists and arrays. */
#include <inttypes.h>

#include "base/hashmap.h"
#include "base/text.h"
#include "mdb/print.h"

#define ELEMENTS_MAX 10000000u /* of an array */
#define LIST_MAX     1000000u  /* elements of a list, if no count is given */

/* Reads the words of a type, behind which n words remain; an error names the usage. */
static struct err *type_take(struct mdb *m, const struct call *c, uint32_t n, uint32_t *ret_at,
			     type_id *ret)
{
	uint32_t at = 0;
	struct err *e = mdb_type_words(m, c, &at, ret);

	if (!e && c->argc - at != n)
		e = err_hint(err_new("there are too %s words behind the type",
				     c->argc - at > n ? "many" : "few"),
			     "usage: %s", c->dcmd->synopsis);
	*ret_at = at;
	return e;
}

struct err *cmd_sizeof(struct mdb *m, const struct call *c)
{
	struct strbuf name = {0};
	uint32_t at, size;
	type_id type;
	struct err *e = type_take(m, c, 0, &at, &type);

	if (!e)
		e = mdb_type_check(m, type);
	if (e)
		return e;
	mdb_type_name_add(m, type, &name);
	size = type_size(mdb_types(m), type);
	emit_row(&m->out);
	emit_value(&m->out, size);
	emit_say(&m->out, "sizeof (%s) = 0x%x", strbuf_text(&name), size);
	emit_str(&m->out, "type", strbuf_text(&name), 0);
	emit_int(&m->out, "size", size, 0);
	emit_end(&m->out);
	strbuf_deinit(&name);
	return NULL;
}

struct err *cmd_offsetof(struct mdb *m, const struct call *c)
{
	struct strbuf name = {0};
	struct mdb_value v = {0};
	CLEANUP(free) char *member = NULL;
	uint32_t at;
	type_id type;
	struct err *e = type_take(m, c, 1, &at, &type);

	v.type = type;
	if (!e)
		e = mdb_value_member(m, c->argv[at], false, &v);
	if (e)
		return e;
	mdb_type_name_add(m, type, &name);
	member = text_clean(xstrdup(c->argv[at]));
	emit_row(&m->out);
	emit_value(&m->out, v.addr);
	emit_say(&m->out, "offsetof (%s, %s) = 0x%" PRIx64, strbuf_text(&name), member, v.addr);
	if (v.bit_size)
		emit_say(&m->out, ", %u bit%s from bit %u on", v.bit_size, PLURAL(v.bit_size),
			 v.bit_off);
	else
		emit_say(&m->out, ", sizeof = 0x%x", type_size(mdb_types(m), v.type));
	emit_str(&m->out, "type", strbuf_text(&name), 0);
	emit_str(&m->out, "member", member, 0);
	emit_int(&m->out, "offset", (int64_t)v.addr, 0);
	emit_int(&m->out, "size", type_size(mdb_types(m), v.type), 0);
	if (v.bit_size) {
		emit_int(&m->out, "bit", v.bit_off, 0);
		emit_int(&m->out, "bits", v.bit_size, 0);
	}
	emit_end(&m->out);
	strbuf_deinit(&name);
	return NULL;
}

struct err *cmd_typedef(struct mdb *m, const struct call *c)
{
	struct strbuf text = {0};
	struct err *e = NULL;

	for (uint32_t i = 0; i < c->argc; i++)
		strbuf_addf(&text, "%s%s", i ? " " : "", c->argv[i]);
	if (c->argc) {
		e = mdb_type_declare(m, strbuf_text(&text));
	} else {
		types_dump(mdb_types(m), false, &text);
		emit_row(&m->out);
		emit_str(&m->out, "text", strbuf_text(&text), 0);
		if (text.len && text.data[text.len - 1] == '\n')
			text.data[text.len - 1] = '\0';
		emit_say(&m->out, "%s", strbuf_text(&text));
		emit_end(&m->out);
	}
	strbuf_deinit(&text);
	return e;
}

/* ---- addresses for pipes --------------------------------------------------------------------- */

static void address_row(struct mdb *m, uint64_t addr)
{
	emit_row(&m->out);
	emit_value(&m->out, addr);
	emit_addr(&m->out, "address", addr, 16);
	emit_end(&m->out);
}

struct err *cmd_array(struct mdb *m, const struct call *c)
{
	uint64_t n = 0;
	uint32_t at;
	type_id type;
	struct err *e = type_take(m, c, 1, &at, &type);

	if (!e)
		e = mdb_type_check(m, type);
	if (!e)
		e = mdb_number(c->argv[at], ELEMENTS_MAX, &n);
	for (uint64_t i = 0; !e && i < n && !m->is_interrupted; i++)
		address_row(m, c->addr + i * type_size(mdb_types(m), type));
	return e;
}

/*
 * Where the pointer to the next element lies in an element, and how many bytes behind the begin of
 * an element it leads: in lists whose links point to each other ("link.next"), to the link.
 */
struct link {
	struct mdb_value next; /* addr is an offset */
	uint64_t behind;
};

static struct err *link_find(struct mdb *m, type_id type, const char *member, struct link *ret)
{
	struct types *t = mdb_types(m);
	const char *dot = strrchr(member, '.');
	struct mdb_value outer = {.type = type};
	type_id to;
	struct err *e;

	*ret = (struct link){.next = {.type = type}};
	e = mdb_value_member(m, member, false, &ret->next);
	if (e)
		return e;
	if (type_kind(t, ret->next.type) != TK_PTR)
		return err_new("the member '%s' is no pointer", member);
	to = type_deref(t, ret->next.type);
	if (dot && dot > member && !type_same(t, to, type)) {
		CLEANUP(free) char *path = xmalloc((size_t)(dot - member) + 1);

		memcpy(path, member, (size_t)(dot - member));
		path[dot - member] = '\0';
		e = mdb_value_member(m, path, false, &outer);
		if (!e && type_same(t, to, outer.type))
			ret->behind = outer.addr;
	}
	return e;
}

struct err *cmd_list(struct mdb *m, const struct call *c)
{
	uint64_t n = c->has_count ? c->count : LIST_MAX, addr = c->addr;
	struct hashmap *seen;
	struct link link;
	uint32_t at;
	type_id type;
	struct err *e = type_take(m, c, 1, &at, &type);

	if (!e)
		e = link_find(m, type, c->argv[at], &link);
	if (e)
		return e;
	seen = hashmap_create();
	for (uint64_t i = 0; i < n && !e && !m->is_interrupted; i++) {
		struct mdb_value next = link.next;

		if (hashmap_find(seen, &addr, sizeof(addr))) {
			e = err_new("the list comes back to 0x%" PRIx64 ", which is not its begin",
				    addr);
			break;
		}
		hashmap_set(seen, &addr, sizeof(addr), m);
		next.addr += addr;
		if (!mdb_value_word(m, &next, &addr)) {
			e = err_new("the pointer to the next element, at 0x%" PRIx64
				    ", cannot be read",
				    next.addr);
			break;
		}
		address_row(m, next.addr - link.next.addr);
		if (!addr || addr - link.behind == c->addr)
			break;
		addr -= link.behind;
		if (i + 1 == LIST_MAX)
			e = err_hint(err_new("the list has more than %u elements", LIST_MAX),
				     "ADDR,COUNT::list shows COUNT of them");
	}
	hashmap_destroy(seen);
	return e;
}
