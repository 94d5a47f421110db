/* SPDX-License-Identifier: MIT */
/* Goes from a value in memory to its members, and reads numbers. */
#include <ctype.h>
#include <inttypes.h>

#include "base/text.h"
#include "mdb/types.h"

#define NAME_MAX_LEN 4096 /* bytes of a member's name */

bool mdb_value_word(struct mdb *m, const struct mdb_value *v, uint64_t *ret)
{
	struct types *t = mdb_types(m);
	enum type_kind kind = type_kind(t, v->type);
	uint32_t size = type_size(t, v->type), bits = v->bit_size ? v->bit_size : size * 8;
	uint64_t first = v->bit_off / 8, end = (v->bit_off + (uint64_t)bits + 7) / 8;
	unsigned __int128 wide = 0;
	uint64_t word;

	if ((kind != TK_INT && kind != TK_ENUM && kind != TK_PTR) || !size || size > 8 || !bits ||
	    bits > 64 || !mdb_read(m, v->addr + first, &wide, (size_t)(end - first)))
		return false;
	word = (uint64_t)(wide >> v->bit_off % 8) << (64 - bits);
	*ret = type_is_signed(t, v->type) ? (uint64_t)((int64_t)word >> (64 - bits))
					  : word >> (64 - bits);
	return true;
}

/* ---- members --------------------------------------------------------------------------------- */

/* Finds a base class by its name: it is a member without one. */
static const struct type_member *base_find(const struct types *t, type_id sou, const char *name)
{
	const struct type_info *info = type_get(t, type_resolve(t, sou));

	for (uint32_t i = 0; i < info->nmembers; i++) {
		const struct type_member *b = &info->members[i];

		if (!*b->name && strcmp(type_get(t, type_resolve(t, b->type))->name, name) == 0)
			return b;
	}
	return NULL;
}

static struct err *member_step(struct mdb *m, const char *name, struct mdb_value *v)
{
	struct types *t = mdb_types(m);
	const struct type_member *member;
	struct strbuf type = {0}, shown = {0};
	uint32_t bit_off = 0;
	struct err *e = NULL;

	if (type_is_sou(t, v->type))
		e = mdb_type_check(m, v->type);
	if (e)
		return e;
	member = type_find_member(t, v->type, name, &bit_off);
	if (!member && type_is_sou(t, v->type)) {
		member = base_find(t, v->type, name);
		bit_off = member ? member->bit_off : 0;
	}
	if (!member) {
		mdb_type_name_add(m, v->type, &type);
		text_escape(&shown, name, strlen(name));
		e = err_new("'%s' has no member '%s'", strbuf_text(&type), strbuf_text(&shown));
		strbuf_deinit(&type);
		strbuf_deinit(&shown);
		return e;
	}
	*v = (struct mdb_value){.type = member->type,
				.addr = v->addr + bit_off / 8,
				.bit_off = bit_off % 8,
				.bit_size = member->bit_size};
	return NULL;
}

/* Goes to what a pointer leads to. */
static struct err *pointer_follow(struct mdb *m, bool has_memory, struct mdb_value *v)
{
	struct types *t = mdb_types(m);
	uint64_t to;

	if (!has_memory)
		return err_new("a pointer is no part of the type that has it");
	if (!mdb_value_word(m, v, &to))
		return err_new("the pointer at 0x%" PRIx64 " cannot be read", v->addr);
	*v = (struct mdb_value){.type = type_deref(t, v->type), .addr = to};
	return NULL;
}

static struct err *index_read(const char **at, uint64_t *ret)
{
	const char *p = *at + 1;
	uint64_t base = 10, value = 0;
	bool has_digit = false;

	if (p[0] == '0' && (p[1] == 'x' || p[1] == 't')) {
		base = p[1] == 'x' ? 16 : 10;
		p += 2;
	}
	for (; isxdigit((unsigned char)*p); p++) {
		uint64_t digit = isdigit((unsigned char)*p)
					 ? (uint64_t)(*p - '0')
					 : (uint64_t)(tolower((unsigned char)*p) - 'a') + 10;

		if (digit >= base || value >> 40)
			break;
		value = value * base + digit;
		has_digit = true;
	}
	if (!has_digit || *p != ']')
		return err_new("an index is a decimal number, or begins with 0x: '[12]'");
	*at = p + 1;
	*ret = value;
	return NULL;
}

static struct err *index_step(struct mdb *m, uint64_t i, bool has_memory, struct mdb_value *v)
{
	struct types *t = mdb_types(m);
	enum type_kind kind = type_kind(t, v->type);
	const struct type_info *info = type_get(t, type_resolve(t, v->type));
	struct err *e = NULL;

	if (kind != TK_PTR && kind != TK_ARRAY)
		return err_new("only arrays and pointers have elements");
	if (kind == TK_ARRAY && info->nelems && i >= info->nelems)
		return err_new("the array has %u element%s, the first is [0]", info->nelems,
			       PLURAL(info->nelems));
	if (kind == TK_PTR)
		e = pointer_follow(m, has_memory, v);
	else
		v->type = info->ref;
	if (!e)
		e = mdb_type_check(m, v->type);
	if (!e)
		v->addr += i * type_size(t, v->type);
	return e;
}

struct err *mdb_value_member(struct mdb *m, const char *path, bool has_memory, struct mdb_value *v)
{
	struct err *e = NULL;

	for (const char *p = path; *p && !e;) {
		size_t n;
		uint64_t i = 0;

		if (*p == '[') {
			e = index_read(&p, &i);
			if (!e)
				e = index_step(m, i, has_memory, v);
			continue;
		}
		if (p[0] == '.')
			p++;
		else if (p[0] == '-' && p[1] == '>')
			p += 2;
		else if (p > path)
			return err_new("'%.40s' is no member: as in a.b, a->b or a[1]", path);
		n = strcspn(p, ".[-");
		if (!n || n > NAME_MAX_LEN)
			return err_new("a name of a member is missing: as in a.b, a->b or a[1]");
		if (type_kind(mdb_types(m), v->type) == TK_PTR)
			e = pointer_follow(m, has_memory, v);
		if (!e) {
			CLEANUP(free) char *name = xmalloc(n + 1);

			memcpy(name, p, n);
			name[n] = '\0';
			e = member_step(m, name, v);
			p += n;
		}
	}
	return e;
}
