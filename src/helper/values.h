/* SPDX-License-Identifier: MIT */
/*
 * The values of a runtime, as the clauses of a helper's file of values describe them.
 *
 * A value is a word: the number by which the runtime stores it (tagged, or an address). Clauses
 * are run for one word at a time, and say what the value is (the actions of ACT_VALUE() in
 * dif/acts.def); the words of items are handed back, and whoever prints them asks again. So nothing
 * here recurses, however deep or cyclic the values of a process are.
 *
 *     dtrace:helper:value:    arg0: the word, arg1: the most items that are wanted
 *     dtrace:helper:type:     arg0: the word; uliteral() says what it is called
 *     dtrace:helper:raw:      arg0: the word; the runtime's own structure
 *     dtrace:helper:closure:  arg0: the word of a function; umember() for each scope of variables
 *                             that it has captured, from the innermost one
 *     dtrace:helper:function: arg0: the word of a function; its name, file, line or place, source
 *     dtrace:helper:constructor: arg0: the word; umember() for what has made it
 *     dtrace:helper:bytes:    arg0: the word; utext() says where its bytes are
 *     dtrace:helper:fiber:    arg0: the word of what can be waited for: its state, and who waits
 *     dtrace:helper:handles:  what the event loop waits for, an item for each
 *     dtrace:helper:thread:   arg0: the thread pointer of a thread of the process, arg1: its id;
 *                             uitem() of "thread" (what the runtime has for it), "name", "state"
 *     dtrace:helper:owner:    arg0: the address of an object; umember() of the "thread" to which
 *                             it belongs, or of an address in that
 *     dtrace:helper:context:  how a thread finds its innermost frame, in numbers (value_context);
 *                             only what attach clauses of the helper itself have set is known
 *     dtrace:helper:site:     arg0: the code object of such a frame, arg1: its position; "file" and
 *                             "line" of it. The same is known
 *     dtrace:helper:heap:     where objects are
 *     dtrace:helper:class:    arg0: the address of what may be a class, arg1: the kind of the slots
 *     dtrace:helper:shape:    the same of a class; uprop() for each of its properties
 *     dtrace:helper:tasks:    where the runtime's own threads are
 *     dtrace:helper:task:     arg0: the word of one, arg1: 1 if all of it is wanted; uitem() for
 *                             each column of a table
 *     dtrace:helper:backtrace:
 *                             arg0: the word of one; uitem(text) for each frame, and further items
 *                             behind it for the values in the frame
 *
 * Owns     what is returned, until the function of its type frees it.
 * Errors   a fault of a clause: what it said before is kept, and the reason is in `fault`.
 * Threads  the consumer's. The process does not run meanwhile.
 */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "helper/helper.h"

struct prog_act;
struct process;

/* A piece of text: characters in memory, or some of another value's. */
struct value_piece {
	bool is_word;
	bool is_character; /* `at` is one */
	uint64_t at;	   /* an address, or the word */
	uint64_t from;	   /* the first character of the word's */
	uint64_t n;	   /* characters */
	uint32_t width;	   /* bytes of each; 0: UTF-8, n are bytes */
};

typedef VEC(struct value_piece) value_pieces;

/* A value or an item without items of its own: literal characters, or a text in pieces. */
struct value_said {
	struct strbuf literal, behind; /* before the text, behind it */
	value_pieces pieces;	       /* of a text */
	bool is_text;
};

typedef VEC(uint64_t) value_words;

enum value_item_kind {
	VALUE_ITEM,	/* name */
	VALUE_PROPERTY, /* key: the word of the name */
	VALUE_ELEMENT,	/* key: the index */
	VALUE_ENTRY,	/* key: a word that is the key */
	VALUE_MEMBER,	/* neither */
	VALUE_SPREAD,	/* the items of the word stand in its place; none is left by value_read() */
};

struct value_item {
	enum value_item_kind kind;
	char *name;
	uint64_t key;
	bool has_word;
	uint64_t word;
	uint64_t place;		/* by which the items were sorted */
	struct value_said said; /* if it has no word */
};

struct value {
	bool is_known;	/* clauses have said something */
	bool has_items; /* what follows is set */
	struct value_said said;
	char brackets[2];
	char *class, *separator; /* never NULL if has_items */
	VEC(struct value_item) items;
	uint64_t left_out;
	char *fault; /* NULL: none */
};

/* Whether the word is a value of the runtime; *ret is to be freed in any case. */
bool value_read(struct process *p, const struct helper *h, uint64_t word, uint64_t most,
		struct value *ret);
void value_free(struct value *v);
/*
 * Adds a text as UTF-8, at most `most` characters of it; returns how many it has. What cannot be
 * read, and parts beyond a million, are left out.
 */
uint64_t value_characters_add(struct process *p, const struct helper *h, const struct value_said *s,
			      uint64_t most, struct strbuf *out);
/* Adds the text of a name: a text, or what is written of another value. */
void value_name_add(struct process *p, const struct helper *h, uint64_t word, struct strbuf *out);
/* Adds what the runtime calls the kind of value; false: it is none. */
bool value_type_add(struct process *p, const struct helper *h, uint64_t word, struct strbuf *out);

/*
 * The answer of the clauses of another probe about a word, as a value: the scopes that a function
 * has captured as the items of HELPER_CLOSURE, and so on; is_known: they have said something.
 */
void value_answer_read(struct process *p, const struct helper *h, enum helper_probe probe,
		       uint64_t word, struct value *ret);
/* Whether the file of values has clauses on a probe. */
bool value_has_clauses(const struct helper *h, enum helper_probe probe);
/* The answer about a thread, by its thread pointer and id. */
void value_thread_read(struct process *p, const struct helper *h, taddr pointer, pid_t tid,
		       struct value *ret);
/*
 * How a thread finds the innermost frame of the language: its thread-local variable has the address
 * of a context, which has the address of a stack of frames, the number of its words, and the
 * address of the innermost frame. Offsets in bytes.
 */
struct value_extent {
	uint64_t addr, size;
};
#define VALUE_UNLOCKED_MAX 64u
struct value_context {
	uint64_t module, variable;  /* as tlsmod(), tlsoff() say */
	uint64_t stack, words, top; /* in the context */
	uint64_t size;		    /* of a frame */
	uint64_t code, at;	    /* in a frame: its code object, its position there */
	uint64_t depth;		    /* so many frames may lie above one that has both */
	/*
	 * The runtime's own code has these offsets: they need not be compared with a thread that
	 * has a context.
	 */
	bool is_proven;
	uint64_t inside; /* an address in the file that has the runtime */
	/* Functions there which threads may run whose context is not theirs any more. */
	struct value_extent unlocked[VALUE_UNLOCKED_MAX];
	uint32_t nunlocked;
};
/* False: the helper does not say that of the process. */
bool value_context_read(struct process *p, const struct helper *h, struct value_context *ret);
/* The answer about a place: the text of its file has to be read by its pieces. */
void value_site_read(struct process *p, const struct helper *h, uint64_t code, uint64_t at,
		     struct value *ret);
/* The item of a name; NULL: there is none. */
const struct value_item *value_item_find(const struct value *v, const char *name);
/* The number that an item is, by unumber(); false: it is none. */
bool value_number_get(const struct value *v, const char *name, int64_t *ret);

/* The frames of a task, and the values in each. */
void value_backtrace_read(struct process *p, const struct helper *h, uint64_t word,
			  struct value *ret);

/* An array of the addresses of objects, or tasks. */
struct value_array {
	uint64_t start, n, stride;
	uint64_t free;	/* a slot whose word has one of these bits has none */
	uint64_t class; /* of objects: its offset in one */
};
/* Where tasks are, which is what a runtime has in place of threads. */
struct value_tasks {
	value_words words;
	VEC(struct value_array) arrays;
	char *fault;
};
/* False: the runtime has none, or they are not described. */
bool value_tasks_read(struct process *p, const struct helper *h, struct value_tasks *ret);
void value_tasks_free(struct value_tasks *v);
/* Whether the word is a task: its columns, as items. */
bool value_task_read(struct process *p, const struct helper *h, uint64_t word, bool is_whole,
		     struct value *ret);

/* The runtime's own structure: fields of a class and of those from which it derives. */
struct value_field {
	char *base; /* the class begins: its name; name and type are NULL */
	char *name, *type;
	uint64_t addr;
	bool has_word; /* what the field has is a value: */
	uint64_t word;
};
typedef VEC(struct value_field) value_fields;
bool value_raw_read(struct process *p, const struct helper *h, uint64_t word, value_fields *ret);
void value_fields_free(value_fields *v);

/* References in an object: n of them at an offset, UINT64_MAX: up to its end. */
struct value_ref {
	uint64_t at, n;
	uint64_t name; /* the word of it; 0: none */
};

/*
 * A class: what the first word of its objects leads to. Of objects in slots it is a pair: an
 * address, or 0, and the kind of the slot; the kind is 0 elsewhere.
 */
struct value_class {
	uint64_t kinds; /* bits, as the helper numbers them; bit 0: shown in a census */
	uint64_t size;	/* bytes of an object; 0: they have a count */
	uint64_t name;	/* the word of its name; 0: none */
	bool has_count;
	uint64_t count_at, count_shift, unit, head, count_clear;
	uint64_t count_bits; /* for each of the count, in words behind all */
	VEC(struct value_ref) refs;
};
bool value_class_read(struct process *p, const struct helper *h, uint64_t addr, uint64_t kind,
		      struct value_class *ret);
void value_class_free(struct value_class *v);
/* Adds the words of the names of the properties. */
void value_shape_read(struct process *p, const struct helper *h, uint64_t addr, uint64_t kind,
		      value_words *ret);

#define VALUE_RULES 8

struct value_list {
	uint64_t head, next, mask, object,
		class; /* offsets of the last two: from the link, the object */
};

/* Objects in lists whose word at an offset has that value: where their class is. */
struct value_kind {
	uint64_t at, mask, value;
	uint64_t class, plus; /* offset of the class, 0: none; what is added to it */
};
#define VALUE_KINDS 16

/* A value outside of all objects. */
struct value_root {
	char *name;
	uint64_t word;
};

/* A block of slots, each of which holds an object or nothing. */
struct value_block {
	uint64_t start, n, size;
};
/* Memory from an address to another. */
struct value_span {
	uint64_t from, to;
};
typedef VEC(struct value_span) value_spans;

struct value_heap {
	bool is_scan;
	uint64_t mask, tag; /* the bits of a class word */
	struct value_rule {
		uint64_t kinds, at, mask, other;
	} rules[VALUE_RULES];
	uint32_t nrules;
	/* objects of these kinds have one at an offset that is not the program's; 0: none */
	uint64_t kept_kinds, kept_at;
	/* kinds of functions, and where these have what is the same of those of the same code */
	uint64_t functions, code;
	uint64_t waiting; /* kinds of objects that HELPER_FIBER is asked about */
	uint64_t weak;	  /* kinds of objects that do not hold those to which they refer */
	/* what HELPER_OWNER says is the same for all values of so many low bits; 0: none */
	uint64_t owner_bits;
	VEC(struct value_list) lists;
	VEC(struct value_array) arrays;
	struct value_kind kinds[VALUE_KINDS];
	uint32_t nkinds;
	VEC(struct value_root) roots;
	VEC(struct value_block) blocks;
	uint64_t kind_at, kind_mask; /* the word of a slot that says what is in it */
	struct value_slot_class {
		uint64_t mask, bits, at, inner;
		bool is_inner; /* the class is where the word at `at` leads to, at `inner` */
	} slot_classes[VALUE_RULES];
	uint32_t nslot_classes;
	/* Objects follow each other in spans, but for holes; a word in one leads to its class. */
	value_spans spans, holes;
	struct {
		uint64_t at, right, mask, left, base;
	} header;
	/* References have four bytes. */
	bool is_narrow;
	uint64_t narrow_base, narrow_shift;
	struct strbuf reason; /* why objects cannot be found; empty: they can */
	char *fault;
};
/* False: the runtime's heap is not described. */
bool value_heap_read(struct process *p, const struct helper *h, struct value_heap *ret);
void value_heap_free(struct value_heap *v);

/* An exception is on its way; the program handles it; it is the last one that was caught. */
enum thrown_state { THROWN_RAISED, THROWN_HANDLED, THROWN_CAUGHT };

/*
 * A variable or the function of a frame, or an exception of its thread, as an action of
 * dtrace:helper:locals: names it.
 */
struct value_local {
	enum value_local_kind {
		LOCAL_FUNCTION,
		LOCAL_SELF,
		LOCAL_ARG,
		LOCAL_VARIABLE,
		LOCAL_EXCEPTION,
	} kind;
	/* The number of an argument; the word of the name of a variable; enum thrown_state */
	uint64_t key;
	uint64_t word;
};
typedef VEC(struct value_local) value_locals;
/* Runs the clauses in the frame of the walk; this-> variables are those of its clauses. */
void value_locals_read(struct process *p, const struct helper *h, value_locals *ret);
