/* SPDX-License-Identifier: MIT */
/* Type table: layout against the C compiler's, names, promotion, compatibility, forwards, rollback.
 */
#include "d/types/types.h"
#include "tap.h"

static struct types *t;
static struct arena *arena;

static void name_is(type_id id, const char *want)
{
	is_str(type_name(t, id, arena), want, want);
}

/* ---- layout: the same members for the compiler and for us ------------------------------------ */

enum color { RED, GREEN };
typedef long double ldouble;

/* clang-format off */
#define TYPE_FOR_c   TYPE_CHAR
#define TYPE_FOR_i   TYPE_INT
#define TYPE_FOR_u   TYPE_UINT
#define TYPE_FOR_s   TYPE_SHORT
#define TYPE_FOR_l   TYPE_LONG
#define TYPE_FOR_b   TYPE_BOOL
#define TYPE_FOR_p   TYPE_VOID_PTR
#define TYPE_FOR_d   TYPE_LDOUBLE
#define C_c char
#define C_i int
#define C_u unsigned
#define C_s short
#define C_l long
#define C_b _Bool
#define C_p void *
#define C_d ldouble

/* P: plain member, B: bit-field, U: unnamed bit-field, Z: zero width */
#define CASE_MIXED(P, B, U, Z) P(c, a) P(i, b) P(s, e) P(l, f) P(c, g)
#define CASE_LDOUBLE(P, B, U, Z) P(c, a) P(d, b) P(c, e)
#define CASE_BITS(P, B, U, Z) P(c, a) B(i, b, 5) B(i, e, 22) B(i, f, 6) P(c, g)
#define CASE_STRADDLE(P, B, U, Z) B(s, a, 9) B(s, b, 9) B(c, e, 3) B(l, f, 33) B(i, g, 30)
#define CASE_UNNAMED(P, B, U, Z) P(c, a) U(i, 3) B(c, b, 4) U(l, 40) P(c, e)
#define CASE_ONLY_UNNAMED(P, B, U, Z) P(c, a) U(l, 20) P(c, b)
#define CASE_ZERO(P, B, U, Z) B(c, a, 3) Z(i) B(c, b, 2) Z(l) P(c, e) Z(c) P(c, f)
#define CASE_BOOL(P, B, U, Z) B(b, a, 1) B(b, b, 1) B(u, e, 31) P(p, f) B(b, g, 1)
#define CASE_FULL(P, B, U, Z) B(u, a, 32) B(u, b, 1) B(l, e, 64) P(s, f) B(l, g, 17)

#define DECL_P(ty, n)	  C_##ty n;
#define DECL_B(ty, n, w) C_##ty n : w;
#define DECL_U(ty, w)	  C_##ty : w;
#define DECL_Z(ty)	  C_##ty : 0;
#define MEMB_P(ty, n)	  { #n, TYPE_FOR_##ty, 0, 0 },
#define MEMB_B(ty, n, w) { #n, TYPE_FOR_##ty, 0, w },
#define MEMB_U(ty, w)	  { "", TYPE_FOR_##ty, 0, w },
#define MEMB_Z(ty)	  { "", TYPE_FOR_##ty, 0, UINT32_MAX },
static volatile uint64_t all_ones = UINT64_MAX; /* not a constant: no warning about truncation */
/* Sets one member to all ones in a zeroed object: its bits are where the compiler put it. */
#define ONES_P(ty, n)	  x.s = zero.s; memset(&x.s.n, 0xff, sizeof(x.s.n)); bits_are(id, #n, x.raw, sizeof(x.s));
#define ONES_B(ty, n, w) x.s = zero.s; x.s.n = (C_##ty)all_ones; bits_are(id, #n, x.raw, sizeof(x.s));
#define ONES_U(ty, w)
#define ONES_Z(ty)

/* clang-format on */

/* The member's bits must be exactly the ones set. */
static void bits_are(type_id id, const char *name, const uint8_t *raw, size_t size)
{
	uint32_t off = 0, first = UINT32_MAX, count = 0, width;
	const struct type_member *m = type_find_member(t, id, name, &off);

	for (uint32_t i = 0; i < size * 8; i++)
		if (raw[i / 8] >> i % 8 & 1) {
			first = MIN(first, i);
			count++;
		}
	width = !m ? 0 : m->bit_size ? m->bit_size : type_size(t, m->type) * 8;
	if (!ok(m && off == first && width == count, "  member %s", name))
		printf("# ours: bit %u width %u, compiler: bit %u width %u\n", off, width, first,
		       count);
}

/* clang-format off */
#define CHECK(CASE, kw, kind)                                                                    \
	do {                                                                                     \
		static const struct type_member members[] = { CASE(MEMB_P, MEMB_B, MEMB_U, MEMB_Z) }; \
		typedef kw { CASE(DECL_P, DECL_B, DECL_U, DECL_Z) } c_type;                      \
		static const union { c_type s; uint8_t raw[sizeof(c_type)]; } zero;              \
		union { c_type s; uint8_t raw[sizeof(c_type)]; } x;                              \
		type_id id = type_define_sou(t, kind, "", members, ARRAY_LEN(members));          \
                                                                                                 \
		is_int(type_size(t, id), sizeof(c_type), #kw " " #CASE " size");                 \
		is_int(type_align(t, id), _Alignof(c_type), #kw " " #CASE " alignment");         \
		memset(&x, 0, sizeof(x));                                                        \
		CASE(ONES_P, ONES_B, ONES_U, ONES_Z)                                             \
	} while (0)

/* clang-format on */

static void test_layout(void)
{
	CHECK(CASE_MIXED, struct, TK_STRUCT);
	CHECK(CASE_BITS, struct, TK_STRUCT);
	CHECK(CASE_STRADDLE, struct, TK_STRUCT);
	CHECK(CASE_UNNAMED, struct, TK_STRUCT);
	CHECK(CASE_ONLY_UNNAMED, struct, TK_STRUCT);
	CHECK(CASE_ZERO, struct, TK_STRUCT);
	CHECK(CASE_BOOL, struct, TK_STRUCT);
	CHECK(CASE_FULL, struct, TK_STRUCT);
	CHECK(CASE_LDOUBLE, struct, TK_STRUCT);
	CHECK(CASE_MIXED, union, TK_UNION);
	CHECK(CASE_BITS, union, TK_UNION);
	CHECK(CASE_UNNAMED, union, TK_UNION);
	CHECK(CASE_ZERO, union, TK_UNION);
	CHECK(CASE_BOOL, union, TK_UNION);
}

static void test_nested(void)
{
	struct inner {
		char a;
		union {
			long l;
			char c[3];
		};
	};
	struct outer {
		short x;
		struct inner in[2];
		struct {
			char deep;
			enum color e;
		};
	};
	struct type_member u[] = {{"l", TYPE_LONG, 0, 0}, {"c", type_array(t, TYPE_CHAR, 3), 0, 0}};
	type_id u_id = type_define_sou(t, TK_UNION, NULL, u, 2);
	struct type_member in[] = {{"a", TYPE_CHAR, 0, 0}, {"", u_id, 0, 0}};
	type_id in_id = type_define_sou(t, TK_STRUCT, "inner", in, 2);
	struct type_enumerator colors[] = {{"RED", 0}, {"GREEN", 1}};
	struct type_member anon[] = {{"deep", TYPE_CHAR, 0, 0},
				     {"e", type_define_enum(t, "color", colors, 2), 0, 0}};
	type_id anon_id = type_define_sou(t, TK_STRUCT, "", anon, 2);
	struct type_member out[] = {{"x", TYPE_SHORT, 0, 0},
				    {"in", type_array(t, in_id, 2), 0, 0},
				    {"", anon_id, 0, 0}};
	type_id out_id = type_define_sou(t, TK_STRUCT, "outer", out, 3);
	uint32_t off = 0;

	is_int(type_size(t, out_id), sizeof(struct outer), "nested size");
	ok(type_find_member(t, in_id, "c", &off) && off == offsetof(struct inner, c) * 8,
	   "member of an anonymous union");
	ok(type_find_member(t, out_id, "e", &off) && off == offsetof(struct outer, e) * 8,
	   "member of an anonymous struct");
	ok(!type_find_member(t, out_id, "a", &off), "a named member is not descended into");
	ok(!type_find_member(t, TYPE_INT, "a", &off), "an int has no members");
	is_int(types_find_tag(t, TK_STRUCT, "outer"), out_id, "found by tag");
	is_int(types_find_tag(t, TK_UNION, "outer"), TYPE_NONE, "not as a union");
}

static void test_string(void)
{
	struct type_member m[] = {{"c", TYPE_CHAR, 0, 0},
				  {"s", TYPE_STRING, 0, 0},
				  {"i", TYPE_INT, 0, 0}};
	type_id id = type_define_sou(t, TK_STRUCT, "with_string", m, 3);
	type_id arr = type_array(t, id, 3);

	is_int(type_size(t, id), 264, "struct with a string of 256");
	types_set_strsize(t, 64);
	is_int(type_size(t, TYPE_STRING), 64, "strsize changed");
	is_int(type_size(t, id), 72, "struct laid out again");
	is_int(type_size(t, arr), 3 * 72, "array too");
	types_set_strsize(t, 256);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void test_names(void)
{
	type_id pc = type_pointer(t, TYPE_CHAR), foo = type_forward(t, TK_STRUCT, "foo"), params[2];

	is_int(pc, TYPE_CHAR_PTR, "char * is interned");
	name_is(TYPE_ULONG, "unsigned long");
	name_is(TYPE_STRING, "string");
	name_is(type_pointer(t, foo), "struct foo *");
	name_is(type_pointer(t, type_pointer(t, TYPE_CHAR)), "char **");
	name_is(type_array(t, TYPE_INT, 4), "int [4]");
	name_is(type_array(t, type_array(t, TYPE_INT, 4), 2), "int [2][4]");
	name_is(type_array(t, pc, 4), "char *[4]");
	name_is(type_pointer(t, type_array(t, TYPE_INT, 4)), "int (*)[4]");
	params[0] = TYPE_INT;
	params[1] = pc;
	name_is(type_function(t, TYPE_VOID, NULL, 0, false), "void (void)");
	name_is(type_pointer(t, type_function(t, TYPE_INT, params, 2, true)),
		"int (*)(int, char *, ...)");
	name_is(type_pointer(t, type_qualified(t, TK_CONST, TYPE_CHAR)), "const char *");
	name_is(type_qualified(t, TK_CONST, pc), "char *const");
	name_is(type_pointer(t, type_qualified(t, TK_CONST, pc)), "char *const *");
	name_is(type_pointer(t, type_qualified(t, TK_USERLAND, TYPE_CHAR)), "userland char *");
	name_is(TYPE_UINT64, "uint64_t");
	name_is(type_define_enum(t, "", NULL, 0), "enum (anon)");
	is_int(type_qualified(t, TK_CONST, type_qualified(t, TK_VOLATILE, TYPE_INT)),
	       type_qualified(t, TK_VOLATILE, type_qualified(t, TK_CONST, TYPE_INT)),
	       "order of qualifiers does not matter");
	is_int(type_function(t, TYPE_INT, params, 2, true),
	       type_function(t, TYPE_INT, params, 2, true), "functions are interned");
	ok(type_function(t, TYPE_INT, params, 2, true) !=
		   type_function(t, TYPE_INT, params, 2, false),
	   "varargs differ");
	is_int(types_find(t, "long unsigned int", 17), TYPE_ULONG, "compilers' spelling");
	is_int(types_find(t, "pid_tx", 5), TYPE_PID, "name by length");
	is_int(types_find(t, "stack", 5), TYPE_NONE, "stack is not a type name");
}

/* ---- promotion, compatibility ---------------------------------------------------------------- */

struct promotion {
	type_id a, b, want;
};

static void test_promote(void)
{
	static const struct promotion cases[] = {
		{TYPE_CHAR, TYPE_CHAR, TYPE_CHAR},    /* not int */
		{TYPE_CHAR, TYPE_UCHAR, TYPE_UCHAR},  /* 8 < 9 */
		{TYPE_UCHAR, TYPE_SHORT, TYPE_SHORT}, /* 9 < 16 */
		{TYPE_INT, TYPE_UINT, TYPE_UINT},     {TYPE_UINT, TYPE_LONG, TYPE_LONG},
		{TYPE_LONG, TYPE_LLONG, TYPE_LLONG}, /* equal rank: defined later */
		{TYPE_LONG, TYPE_INT64, TYPE_INT64},  {TYPE_INT64, TYPE_ULONG, TYPE_ULONG},
		{TYPE_BOOL, TYPE_CHAR, TYPE_BOOL},    {TYPE_PID, TYPE_INT, TYPE_PID},
		{TYPE_FLOAT, TYPE_LONG, TYPE_FLOAT},
	};
	type_id en = types_find_tag(t, TK_ENUM, "color");

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct promotion *p = &cases[i];

		if (!ok(type_promote(t, p->a, p->b) == p->want &&
				type_promote(t, p->b, p->a) == p->want,
			"%s with %s", type_name(t, p->a, arena), type_name(t, p->b, arena)))
			printf("# got %s\n", type_name(t, type_promote(t, p->a, p->b), arena));
	}
	is_int(type_promote(t, en, TYPE_CHAR), TYPE_INT, "an enum counts as int");
	is_int(type_promote(t, type_qualified(t, TK_CONST, TYPE_LONG), TYPE_INT), TYPE_LONG,
	       "qualifiers are dropped");
}

static void test_compat(void)
{
	type_id pint = type_pointer(t, TYPE_INT), ppid = type_pointer(t, TYPE_PID);
	type_id uchar_ptr = type_pointer(t, type_qualified(t, TK_CONST, TYPE_UCHAR));
	type_id user = type_pointer(t, type_qualified(t, TK_USERLAND, TYPE_INT));
	type_id user_void = type_pointer(t, type_qualified(t, TK_USERLAND, TYPE_VOID));

	ok(type_same(t, TYPE_PID, TYPE_INT), "typedef is the same");
	ok(!type_same(t, TYPE_LONG, TYPE_LLONG), "long is not long long");
	ok(type_ptr_compat(t, pint, ppid), "int * and pid_t *");
	ok(type_ptr_compat(t, pint, TYPE_VOID_PTR), "int * and void *");
	ok(type_ptr_compat(t, pint, type_array(t, TYPE_INT, 3)), "int * and int [3]");
	ok(!type_ptr_compat(t, pint, TYPE_CHAR_PTR), "int * and char *");
	ok(!type_ptr_compat(t, pint, user), "kernel and user pointers");
	ok(type_ptr_compat(t, user, user_void), "two user pointers");
	ok(!type_ptr_compat(t, TYPE_INT, pint), "an int is not a pointer");
	ok(type_is_userland(t, user) && !type_is_userland(t, pint), "userland pointer");
	ok(!type_is_userland(t, type_pointer(t, user)), "kernel pointer to a user pointer");
	ok(type_is_strcompat(t, uchar_ptr) && type_is_strcompat(t, type_array(t, TYPE_CHAR, 9)) &&
		   type_is_strcompat(t, TYPE_STRING) && !type_is_strcompat(t, pint),
	   "string compatible");
	ok(type_is_scalar(t, pint) && !type_is_scalar(t, TYPE_VOID) &&
		   !type_is_scalar(t, TYPE_FLOAT) && !type_is_scalar(t, TYPE_STRING),
	   "scalars");
	is_int(type_deref(t, TYPE_STRING), TYPE_CHAR, "a string consists of char");
	ok(type_is_byref(t, TYPE_STRING) && !type_is_byref(t, pint), "by reference");
}

/* ---- forwards, rollback, importing ----------------------------------------------------------- */

static void test_forward(void)
{
	type_id fwd = type_forward(t, TK_STRUCT, "later"), p = type_pointer(t, fwd), id;
	struct type_member m = {"x", TYPE_INT, 0, 0};
	uint32_t off, mark;

	ok(!type_complete(t, fwd), "a forward is not complete");
	mark = types_mark(t);
	id = type_define_sou(t, TK_STRUCT, "later", &m, 1);
	is_int(id, fwd, "completed in place");
	ok(type_find_member(t, type_deref(t, p), "x", &off), "seen through an older pointer");
	types_rollback(t, mark);
	ok(!type_complete(t, fwd) && types_find_tag(t, TK_STRUCT, "later") == fwd,
	   "a forward again");
	mark = types_mark(t);
	type_define_typedef(t, "my_t", TYPE_INT);
	type_define_sou(t, TK_STRUCT, "mine", &m, 1);
	types_rollback(t, mark);
	ok(!types_find(t, "my_t", 4) && !types_find_tag(t, TK_STRUCT, "mine"), "forgotten");
}

static type_id import_find(void *ctx, struct types *tt, const char *name, size_t len)
{
	++*(int *)ctx;
	if (len == 5 && memcmp(name, "k_int", 5) == 0)
		return type_define_typedef(tt, "k_int", TYPE_INT);
	return TYPE_NONE;
}

static type_id import_tag(void *ctx, struct types *tt, enum type_kind kind, const char *tag)
{
	return kind == TK_STRUCT && strcmp(tag, "task") == 0 ? type_forward(tt, kind, tag)
							     : TYPE_NONE;
}

static bool import_complete(void *ctx, struct types *tt, type_id id)
{
	struct type_member m[] = {{"a", TYPE_CHAR, 0, 0}, {"b", TYPE_INT, 8, 0}}; /* packed */

	if (strcmp(type_get(tt, id)->name, "task") != 0)
		return false;
	type_import_sou(tt, id, TK_STRUCT, "task", 5, m, 2);
	return true;
}

static void test_import(void)
{
	int asked = 0;
	struct type_importer imp = {.ctx = &asked,
				    .find = import_find,
				    .find_tag = import_tag,
				    .complete = import_complete};
	type_id k, task;
	uint32_t off = 0;

	types_set_importer(t, &imp);
	k = types_find(t, "k_int", 5);
	ok(k && types_find(t, "k_int", 5) == k && asked == 1, "imported once");
	ok(!types_find_declared(t, "k_int", 5), "not declared by D text");
	task = types_find_tag(t, TK_STRUCT, "task");
	ok(type_complete(t, task), "completed when asked");
	is_int(type_size(t, task), 5, "size as given");
	is_int(type_align(t, task), 1, "packed");
	ok(type_find_member(t, task, "b", &off) && off == 8, "offset as given");
	is_int(type_define_typedef(t, "k_int", TYPE_LONG), types_find(t, "k_int", 5),
	       "a declaration shadows the import");
	types_set_importer(t, NULL);
}

/* A kernel has some 150,000 types; importing all of them must be a matter of a second, not of
 * minutes. */
static void test_many(void)
{
	char name[32];
	uint32_t found = 0;

	for (int i = 0; i < 150000; i++) {
		struct type_member m[2] = {{"next", TYPE_NONE, 0, 0}, {"i", TYPE_INT, 64, 0}};

		snprintf(name, sizeof(name), "many_%d", i);
		m[0].type = type_pointer(t, type_forward(t, TK_STRUCT, name));
		type_import_sou(t, type_deref(t, m[0].type), TK_STRUCT, name, 16, m, 2);
	}
	for (int i = 0; i < 150000; i++) {
		snprintf(name, sizeof(name), "many_%d", i);
		found += type_size(t, types_find_tag(t, TK_STRUCT, name)) == 16;
	}
	is_int(found, 150000, "150,000 structs");
}

int main(void)
{
	t = types_create(256);
	arena = arena_create();
	test_layout();
	test_nested();
	test_string();
	test_names();
	test_promote();
	test_compat();
	test_forward();
	test_import();
	test_many();
	arena_destroy(arena);
	types_destroy(t);
	types_destroy(NULL);
	return tap_done();
}
