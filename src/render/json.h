/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of the renderer of JSON: json.c (documents, records), json_value.c (values
 * and addresses), json_shape.c (structures), json_agg.c (aggregations); json_rows.c, the renderer
 * of rows, writes values as they do.
 */
#pragma once

#include "render/impl.h"

struct json_doc {     /* the document in a file */
	bool is_open; /* the facts of the session are there */
	uint64_t nobjects, naggs;
	struct strbuf aggs; /* the aggregations, which come last in the document */
};

/* What the renderers of JSON and of rows keep in printer.form. */
struct json {
	struct json_doc docs[2]; /* in the output, and in the file of freopen() */
	/* for the current record */
	const struct probe_text *pt;
	uint32_t cpu;
	bool in_record, in_object; /* in_object: its object has begun in the current file */
	bool is_shown;		   /* its object has begun in any file */
	uint32_t nitems, nrows;
	bool at_end;
	struct strbuf row; /* of json_rows.c: the values of the current record */
};

static inline struct json *json_of(const struct printer *p)
{
	return p->form;
}

/* Whether the output is an object a line. */
static inline bool json_is_lines(const struct printer *p)
{
	return p->opts->oformat == PRINT_JSONL;
}

/* The document in the file to which output goes now. */
static inline struct json_doc *json_doc_now(struct printer *p)
{
	return &json_of(p)->docs[printer_redirect(p) != NULL];
}

/* Make and free the struct json: open and close of both renderers. */
void json_open(struct printer *p);
void json_close(struct printer *p);
/* Adds a member behind others. */
void json_member(struct strbuf *o, const char *name, const char *text);
/* Begins an element of the list "output" of the current record. */
void json_item(struct printer *p);
/* An element with one member, a text. */
void json_item_text(struct printer *p, const char *name, const char *text, size_t len);

/* json_value.c */
/* Adds the object of a frame. */
void json_position(struct printer *p, struct strbuf *o, const struct position *at,
		   enum addr_form form);
void json_int(struct strbuf *o, uint64_t v, bool is_signed);
/* Whether the value is a number or a text, which needs no name that says what it is. */
bool json_is_plain(const struct datum *d);
void json_plain(struct strbuf *o, const struct datum *d);
/* A value as a member of an object: its name says what it is. */
void json_pair(struct printer *p, struct strbuf *o, const struct datum *d);
/* Bytes in hexadecimal, as a string. */
void json_hex(struct strbuf *o, const char *bytes, uint32_t size);
/* The array of a stack's frames. */
void json_frames(struct printer *p, struct strbuf *o, const struct datum *d);
void json_value(struct printer *p, const struct datum *d);
void json_memory(struct printer *p, const char *action, const struct datum *d);

/* json_shape.c */
void json_typed(struct printer *p, const struct shape *shape, const struct datum *d);

/* The value of a structure, union or array. */
void json_shape(struct printer *p, struct strbuf *o, const struct shape *shape,
		const struct datum *d);

/* json_agg.c */
/* The array of a histogram's buckets. */
void json_buckets(struct strbuf *o, const struct agg_view *v, const struct agg_elem *e);
void json_aggs_begin(struct printer *p);
void json_aggs_end(struct printer *p);
void json_printa_begin(struct printer *p, const struct agg_table *t);
bool json_table_begin(struct printer *p, const struct agg_table *t);
void json_row(struct printer *p, const struct agg_table *t, struct agg_elem *const *elems);
void json_table_end(struct printer *p, const struct agg_table *t);
