/* SPDX-License-Identifier: MIT */
/*
 * The type table: types with the kinds of BTF, and the rules of C and D about them.
 *
 * D declarations make types at once; types of the kernel (BTF) and of programs (DWARF) are imported
 * one by one when first used, so that start-up does not read what a script never mentions. A split
 * BTF on top of the kernel's would fix its base when created, before it is known whether a script
 * needs the kernel's types at all; hence a table of our own in the same shape.
 *
 * Owns     the table owns every type; ids are stable for the life of the session.
 * Units    sizes in bytes, member offsets and bit-field sizes in bits.
 * Facts    d-language.md 3; Linux Documentation/bpf/btf.rst for kinds.
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "d/types/layer.h"

typedef uint32_t type_id;

/* clang-format off */
enum type_kind {
	TK_VOID, TK_INT, TK_FLOAT, TK_PTR, TK_ARRAY, TK_STRUCT, TK_UNION, TK_ENUM,
	TK_TYPEDEF,
	TK_CONST, TK_VOLATILE, TK_RESTRICT,
	TK_USERLAND, /* qualifier: the object lies in user memory */
	TK_FUNC,     /* function type */
	/* D's own */
	TK_STRING, TK_DYNAMIC, TK_STACK, TK_SYMADDR, TK_USYMADDR,
	TK_ERROR, /* poison */
};
/* clang-format on */

struct type_member {
	const char *name; /* "" for anonymous */
	type_id type;
	uint32_t bit_off;
	uint32_t bit_size; /* 0 = not a bit-field */
};

struct type_enumerator {
	const char *name;
	int64_t val;
};

struct type_info {
	enum type_kind kind;
	const char *name; /* typedef, tag or base type name; "" when anonymous */
	uint32_t size;	  /* bytes; arrays: total */
	bool is_signed;	  /* TK_INT, TK_ENUM */
	bool is_char;	  /* TK_INT: one of the char types */
	type_id ref;	  /* PTR, ARRAY (element), TYPEDEF, qualifiers, FUNC (return) */
	uint32_t nelems;  /* ARRAY; FUNC: parameters */
	type_id *params;  /* FUNC */
	bool varargs;	  /* FUNC */
	struct type_member *members;
	uint32_t nmembers; /* STRUCT, UNION */
	struct type_enumerator *enums;
	uint32_t nenums;  /* ENUM */
	bool is_complete; /* STRUCT, UNION, ENUM; false: a forward */
	type_id index;	  /* of the row: d-language.md 3.3 asks which type was defined later */
};

/* Fixed ids: every table starts with these rows. LP64. */
/* clang-format off */
enum {
	TYPE_NONE = 0, /* not yet known */
	TYPE_ERROR, TYPE_VOID,
	TYPE_CHAR, TYPE_SCHAR, TYPE_UCHAR, TYPE_SHORT, TYPE_USHORT, TYPE_INT, TYPE_UINT, TYPE_LONG, TYPE_ULONG,
	TYPE_LLONG, TYPE_ULLONG, TYPE_BOOL, TYPE_FLOAT, TYPE_DOUBLE, TYPE_LDOUBLE,
	TYPE_STRING, TYPE_DYNAMIC, TYPE_STACK, TYPE_SYMADDR, TYPE_USYMADDR,
	/* typedefs of container "D" (d-language.md 3.1) */
	TYPE_INT8, TYPE_INT16, TYPE_INT32, TYPE_INT64, TYPE_INTPTR, TYPE_SSIZE,
	TYPE_UINT8, TYPE_UINT16, TYPE_UINT32, TYPE_UINT64, TYPE_UCHAR_T, TYPE_USHORT_T, TYPE_UINT_T,
	TYPE_ULONG_T, TYPE_ULONGLONG_T, TYPE_PTRDIFF, TYPE_UINTPTR, TYPE_SIZE, TYPE_ID, TYPE_PID,
	TYPE_UID, TYPE_GID, TYPE_PROCESSORID,
	TYPE_VOID_PTR, TYPE_CHAR_PTR,
	TYPE_FIRST_FREE,
};
/* clang-format on */

struct types;

/* strsize: size of the string type in bytes. */
struct types *types_create(uint32_t strsize);
void types_destroy(struct types *t);
/* Changes the size of strings, and lays out again each type that contains one. */
void types_set_strsize(struct types *t, uint32_t strsize);

/* From now on names are declared in that layer, and found in it and in the layers below. */
void types_set_layer(struct types *t, enum d_layer layer);

/*
 * A source of types that D text did not declare. An importer answers by making the type with the
 * functions below. For targets of pointers it makes forwards, which are completed when a program
 * first names a member. Declarations in D text hide imported types.
 */
struct type_importer {
	void *ctx;
	type_id (*find)(void *ctx, struct types *t, const char *name, size_t len);
	type_id (*find_tag)(void *ctx, struct types *t, enum type_kind kind, const char *tag);
	/* Completes the forward id, which find_tag(), an import or D text made; false: unknown. */
	bool (*complete)(void *ctx, struct types *t, type_id id);
	/*
	 * The type and value of an enumeration constant that D text did not declare; TYPE_NONE:
	 * unknown. May be NULL.
	 */
	type_id (*enumerator)(void *ctx, struct types *t, const char *name, int64_t *ret_val);
	/*
	 * The type of a kernel function or variable, or TYPE_NONE. module: NULL = any.
	 * *ret_is_percpu: the address counts from the start of each CPU's area. May be NULL.
	 */
	type_id (*symbol)(void *ctx, struct types *t, const char *module, const char *name,
			  bool *ret_is_percpu);
	/* Why no type can be imported, or NULL. May itself be NULL. */
	const char *(*trouble)(void *ctx);
};
void types_set_importer(struct types *t, const struct type_importer *importer); /* NULL: none */

/*
 * Types made between these two calls belong to a traced program: D text cannot name them (there a
 * name means a type of the kernel), and from->complete() completes their forwards.
 */
void types_import_begin(struct types *t, const struct type_importer *from);
void types_import_end(struct types *t);

/*
 * types_rollback() takes back the declarations since types_mark(), after a failed compile: their
 * names are free again, their ids stay valid.
 */
uint32_t types_mark(const struct types *t);
void types_rollback(struct types *t, uint32_t mark);
/* Protects the declarations since the mark from every later rollback. */
void types_keep(struct types *t, uint32_t mark);

const struct type_info *type_get(const struct types *t, type_id id); /* never NULL */

/* ---- making types (equal pointer, array, qualified and function types get equal ids) --------- */
type_id type_pointer(struct types *t, type_id to);
type_id type_array(struct types *t, type_id elem, uint32_t nelems);
type_id type_qualified(struct types *t, enum type_kind qual, type_id of);
type_id type_function(struct types *t, type_id ret, const type_id *params, uint32_t n,
		      bool varargs);
/* Declares a tag without defining it; types_find_tag() finds it. */
type_id type_forward(struct types *t, enum type_kind kind, const char *tag);
/*
 * Completes a forward or makes a new struct or union, laid out by the System V AMD64 ABI. The given
 * members have a name, a type and a bit_size. Padding bit-fields have the name "" and a bit_size,
 * which is UINT32_MAX for width zero.
 */
type_id type_define_sou(struct types *t, enum type_kind kind, const char *tag,
			const struct type_member *members, uint32_t n);
/*
 * The same for a known layout: the members' offsets and the size are given. fwd: the forward to
 * complete, or TYPE_NONE for a new type, which gets the tag when no other type has it.
 */
type_id type_import_sou(struct types *t, type_id fwd, enum type_kind kind, const char *tag,
			uint32_t size, const struct type_member *members, uint32_t n);
/*
 * For an importer: a forward of known size (0: unknown). fwd: the forward that gets the size, or
 * TYPE_NONE for a new one, which gets the tag when no other type has it.
 */
type_id type_import_forward(struct types *t, type_id fwd, enum type_kind kind, const char *tag,
			    uint32_t size);
type_id type_define_enum(struct types *t, const char *tag, const struct type_enumerator *e,
			 uint32_t n);
/* The same with size and signedness given. fwd: as for type_import_sou(). */
type_id type_import_enum(struct types *t, type_id fwd, const char *tag, uint32_t size,
			 bool is_signed, const struct type_enumerator *e, uint32_t n);
type_id type_define_typedef(struct types *t, const char *name, type_id of);

/* ---- finding --------------------------------------------------------------------------------- */
/*
 * A typedef or base type ("unsigned long" in canonical spelling) by name, importing it if need be;
 * TYPE_NONE when unknown.
 */
type_id types_find(struct types *t, const char *name, size_t len);
type_id types_find_tag(struct types *t, enum type_kind kind, const char *tag);
/* The same among the types that D text declared. */
type_id types_find_declared(const struct types *t, const char *name, size_t len);
type_id types_find_tag_declared(const struct types *t, enum type_kind kind, const char *tag);
/* The type that a declaration may not repeat: built in, or declared by D text of this layer. */
type_id types_find_own(const struct types *t, const char *name, size_t len);
type_id types_find_tag_own(const struct types *t, enum type_kind kind, const char *tag);
/* The importer's answers (struct type_importer); TYPE_NONE or NULL also without an importer. */
type_id types_import_enumerator(struct types *t, const char *name, int64_t *ret_val);
type_id types_import_symbol(struct types *t, const char *module, const char *name,
			    bool *ret_is_percpu);
const char *types_import_trouble(const struct types *t);
/* A type that is in the table already, declared or imported. */
type_id types_find_known(const struct types *t, const char *name, size_t len);
type_id types_find_tag_known(const struct types *t, enum type_kind kind, const char *tag);
/* Whether a type (or the element type of an array) is complete; lets the importer complete it. */
bool type_complete(struct types *t, type_id id);
/* The name in the table that is most like an unknown name, for a hint, or NULL. */
const char *types_nearest(const struct types *t, const char *name, struct arena *a);
/* Finds a member, also within anonymous ones; *ret_bit_off counts from the start of sou. */
const struct type_member *type_find_member(const struct types *t, type_id sou, const char *name,
					   uint32_t *ret_bit_off);

/* ---- asking ---------------------------------------------------------------------------------- */
type_id type_resolve(const struct types *t, type_id id);     /* without typedefs and qualifiers */
enum type_kind type_kind(const struct types *t, type_id id); /* of the resolved type */
uint32_t type_size(const struct types *t, type_id id);	     /* 0 when unknown or void */
uint32_t type_align(const struct types *t, type_id id);
/* PTR, ARRAY, STRING (char); else TYPE_NONE */
type_id type_deref(const struct types *t, type_id id);
bool type_is_integer(const struct types *t, type_id id); /* int or enum */
bool type_is_float(const struct types *t, type_id id);
bool type_is_arith(const struct types *t, type_id id);
bool type_is_pointer(const struct types *t, type_id id); /* PTR or ARRAY */
bool type_is_scalar(const struct types *t, type_id id);	 /* integer or PTR */
bool type_is_stack(const struct types *t, type_id id);	 /* stackid_t */
/* Whether it is true or false: a scalar, or a stack, which is false if there is none. */
bool type_is_condition(const struct types *t, type_id id);
bool type_is_sou(const struct types *t, type_id id);
bool type_is_string(const struct types *t, type_id id);	   /* TK_STRING */
bool type_is_strcompat(const struct types *t, type_id id); /* string, char *, char [] */
bool type_is_void(const struct types *t, type_id id);
bool type_is_signed(const struct types *t, type_id id); /* integers; false for the rest */
/* Whether an object of the type, or what a pointer type leads to directly, lies in user memory. */
bool type_is_userland(const struct types *t, type_id id);
bool type_is_byref(const struct types *t, type_id id); /* struct, union, array, string */
/* Whether two types are the same without typedefs and cv qualifiers. */
bool type_same(const struct types *t, type_id a, type_id b);
/*
 * Whether two types of programs have the same members at the same offsets, and so have the types to
 * which their pointers lead (types_same.c). Completes forwards.
 */
bool types_have_same_layout(struct types *t, type_id a, type_id b);
/* Whether two pointers have the same target type, or one is void *. */
bool type_ptr_compat(const struct types *t, type_id a, type_id b);
/* The type of an arithmetic result (d-language.md 3.3), which differs from C's promotion. */
type_id type_promote(const struct types *t, type_id a, type_id b);

/* The spelling in C, as messages show it: "struct foo *", "int [4]", "string". In the arena. */
const char *type_name(const struct types *t, type_id id, struct arena *a);
/* The same with a name in it: "struct foo *p", "int a[4]". */
const char *type_declaration(const struct types *t, type_id id, const char *name, struct arena *a);
/* types_dump.c: prints the declared or the imported types in C, with sizes and offsets. */
void types_dump(const struct types *t, bool imported, struct strbuf *out);
