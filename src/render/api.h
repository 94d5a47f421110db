/* SPDX-License-Identifier: MIT */
/*
 * Records, aggregations and stacks as values of the public interface (include/dtrace.h), and the
 * callbacks of a program that uses the library.
 *
 *     api.c        a record, its callbacks, and text on its way to a handler
 *     api_value.c  values, rows of aggregations
 *     api_walk.c   walks over aggregations
 *
 * Callbacks are called before the renderer: they see each action with its values, and decide
 * whether it is shown. Without callbacks no values are made.
 *
 * Owns     the printer owns the arguments of a callback: a record until the next one, a row until
 *          its callback returns.
 * Errors   struct err *; EDT_DIRABORT when a callback asks to stop, EDT_BADRVAL when it returns a
 *          value that it must not return.
 */
#pragma once

#include "base/str.h"
#include "base/vec.h"
#include "dtrace.h"
#include "render/print.h"

struct act_layout;
struct agg_table;
struct clause_layout;
struct datum;
struct probe_text;

/* The action or row from which a piece of text comes. */
struct text_origin {
	const dtrace_recdesc_t *rec;
	struct agg_view *view; /* and elem: a row of an aggregation */
	struct agg_elem *elem;
	uint32_t flags; /* DTRACE_BUFDATA_* */
};

struct api {
	struct print_callbacks cb;
	bool has_callbacks; /* of records */
	uint32_t ncalls;    /* number of running callbacks, one inside another */
	/* records are seen as values, and text is handed over before the next callback */
	bool is_direct;
	bool is_held;	 /* the text in the buffer is not for the handler */
	bool is_refused; /* the handler of text has asked for no more text */
	struct text_origin origin;
	const dtrace_recdesc_t *rec; /* the action that is being shown, or NULL */
	struct err *err;	     /* the first error while a renderer shows rows */
	struct arena *rows;
	/* the current record */
	bool has_record;
	dtrace_probedata_t data;
	dtrace_eprobedesc_t edesc;
	dtrace_probedesc_t pdesc;
	char prov[PROBE_PROV_ROOM]; /* of pdesc */
	VEC(dtrace_recdesc_t) recs;
	VEC(dtrace_datum_t) datums; /* one for each of recs */
	struct strbuf bytes;
	const char ***formats; /* by clause, by action; NULL until needed */
};

void api_deinit(struct printer *p);

/* ---- records (api.c) ----------------------------------------------------------------------- */

/*
 * To be called before anything is shown if there are callbacks, if there were callbacks before, or
 * if there is no file.
 */
void api_begin(struct printer *p);
/* Makes the values of the current record, and calls the probe callback, if there is one. */
MUST_CHECK struct err *api_record(struct printer *p, const struct probe_text *pt, uint32_t cpu,
				  bool *ret_is_taken);
/* Calls the record callback for an action. rec: its first description; NULL: the record ends. */
MUST_CHECK struct err *api_ask(struct printer *p, const dtrace_recdesc_t *rec, bool *ret_is_taken);
/* Hands the buffered text over, if is_direct. */
MUST_CHECK struct err *api_text(struct printer *p, struct text_origin origin);
/* The same for a row that was shown; an error is kept in api.err. */
void api_row_text(struct printer *p, const struct agg_table *t, struct agg_elem *const *elems);
/* Hands the buffered text over to the handler. */
MUST_CHECK struct err *api_handler_text(struct printer *p);
struct err *api_err_take(struct printer *p); /* NULL: none was kept */

/* ---- values (api_value.c) ------------------------------------------------------------------ */

/* Converts a datum; the arena must live as long as the result is used. */
dtrace_datum_t api_datum(struct printer *p, struct arena *a, const struct datum *d);
/* Adds the bytes of a value, and describes them. */
void api_bytes_add(struct strbuf *bytes, const dtrace_datum_t *d, dtrace_recdesc_t *rec);
const dtrace_aggdata_t *api_row(struct printer *p, struct arena *a, struct agg_view *v,
				struct agg_elem *e);
dtrace_actkind_t api_aggfunc(enum aggfunc func);
/* NONE: the action records nothing. */
dtrace_actkind_t api_action(enum act_kind kind, enum datum_kind datum);
