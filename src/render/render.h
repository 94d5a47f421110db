/* SPDX-License-Identifier: MIT */
/*
 * Renderers: the interface between walkers and forms of output.
 *
 * Walkers (record.c, consume.c, printa.c, the walkers of stacks and shapes) visit records,
 * aggregations, stacks and structures; a renderer decides what they look like. Actions that take
 * effect while records are consumed are neither (effects.c). The callbacks of a program that uses
 * the library are called before the renderer (api.h).
 *
 * To add a renderer: a file that fills a struct renderer, and a row in oformats.def.
 */
#pragma once

#include "render/out.h"
#include "render/print.h"

struct act_layout;
struct datum;
struct fmt;
struct page_notes;
struct picture_rest;
struct probe_text;
struct rt_rec;
struct shape;

/*
 * Aggregations side by side in one table: a row has one element of each, NULL where an aggregation
 * lacks the key.
 */
struct agg_table {
	struct agg_view *const *views;
	uint32_t nviews;
	const struct fmt *fmt; /* of printa(), NULL = none */
};

/* Rows that are not shown: how many, and what the values of each aggregation add up to. */
struct agg_rest {
	uint32_t nrows;
	const int64_t *sums; /* where agg_has_sum(); normalized */
};

struct renderer {
	/* Make and free what the form keeps in printer.form; NULL: it keeps nothing. */
	void (*open)(struct printer *p);
	void (*close)(struct printer *p);
	/* Is called a few times a second, between records; NULL: the form does not draw. */
	struct err *(*tick)(struct printer *p);
	/* Of pictures (picture.h): what they do not show, and the sentences below them. */
	struct picture_rest *(*rest)(struct printer *p);
	struct page_notes *(*notes)(struct printer *p);

	/* Begins a record; next: the following record in the CPU's buffer, or NULL. */
	void (*record_begin)(struct printer *p, const struct probe_text *pt, uint32_t cpu,
			     const struct rt_rec *next);
	void (*record_end)(struct printer *p, bool is_quiet);
	/* Shows the data of an action: of trace() and its kin, a stack, an address; */
	void (*value)(struct printer *p, const struct datum *d);
	/* of tracemem() and others, memory as it is; */
	void (*memory)(struct printer *p, const char *action, const struct datum *d);
	/* of print(); */
	void (*typed)(struct printer *p, const struct shape *shape, const struct datum *d);
	/* of printf(), whose arguments are the fields of the record. */
	struct err *(*message)(struct printer *p, const struct act_layout *al,
			       const struct fmt *fmt);

	/* Begin and end the aggregations at the end of a run; begin those of one printa(). */
	void (*aggs_begin)(struct printer *p);
	void (*aggs_end)(struct printer *p);
	void (*printa_begin)(struct printer *p, const struct agg_table *t);
	/*
	 * Whether the aggregations of a printa() are one table; else each is a table, unformatted.
	 */
	bool joins;
	/* Whether tables that are sorted by value begin with the greatest; else with the least. */
	bool greatest_first;
	/* Begins a table; true: it has been shown completely. */
	bool (*table_begin)(struct printer *p, const struct agg_table *t);
	void (*row)(struct printer *p, const struct agg_table *t, struct agg_elem *const *elems);
	void (*table_end)(struct printer *p, const struct agg_table *t);
	/* Tells which rows option toprows has left out; NULL: the form shows all rows. */
	void (*left_out)(struct printer *p, const struct agg_table *t, const struct agg_rest *rest);

	/* The aggregation was cleared or truncated, is_all: all its keys; may be NULL. */
	void (*aggregation_cleared)(struct printer *p, const struct agg_view *v, bool is_all);

	/* For forms into which no other text may be mixed; NULL in other forms. */
	/* Shows the output of a command of system(); NULL: the command writes to our output. */
	void (*command)(struct printer *p, const char *command, const struct strbuf *text,
			int status);
	void (*leave)(struct printer *p);   /* output will go to another file (freopen()) */
	void (*emptied)(struct printer *p); /* the file is empty again (ftruncate()) */
	/* Shows a drop or a fault; NULL: only the session's handlers are told. */
	void (*notice)(struct printer *p, const struct print_notice *n);
	/* Ends the output, or the part of it in a file of freopen(). */
	void (*finish)(struct printer *p);
};

#define OFORMAT(id, name, draws, kind) extern const struct renderer render_##draws;
#include "render/oformats.def"

/* ---- JSON ---------------------------------------------------------------------------------- */

#define JSON_SCHEMA 3 /* the version of doc/json-schema.json to which the output conforms */
