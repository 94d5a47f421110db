/*
 * Records, aggregations and stacks as values of the public interface (include/dtrace.h), and the
 * callbacks of a program that uses the library.
 *
 *     api.c        a record, its callbacks, and text on its way to a handler
 *     api_value.c  values, rows of aggregations
 *     api_walk.c   walks over aggregations
 *
 * Callbacks stand before the renderer: they see each action with its values, and say whether it is
 * shown. Nothing is made for them while there are none.
 *
 * Owns     what a callback is given is the printer's: a record until the next one, a row until its
 *          callback returns.
 * Errors   struct err *; EDT_DIRABORT when a callback wants to stop, EDT_BADRVAL when it returns
 *          what it must not.
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

/* Where text on its way out comes from. */
struct text_origin {
	const dtrace_recdesc_t *rec;
	struct agg_view *view; /* with elem: a row */
	struct agg_elem *elem;
	uint32_t flags; /* DTRACE_BUFDATA_* */
};

struct api {
	struct print_callbacks cb;
	uint32_t ncalls; /* callbacks that run now, one inside another */
	bool is_direct;	 /* text goes out piece by piece, before the next callback */
	bool is_held;	 /* what stands in the buffer is no output */
	bool is_refused; /* the handler of text wants no more */
	struct text_origin origin;
	const dtrace_recdesc_t *rec; /* the action that is shown now, or NULL */
	struct err *err;	     /* the first one of rows that a renderer shows */
	struct arena *rows;
	/* the record at hand */
	bool has_record;
	dtrace_probedata_t data;
	dtrace_eprobedesc_t edesc;
	dtrace_probedesc_t pdesc;
	VEC(dtrace_recdesc_t) recs;
	VEC(dtrace_datum_t) datums; /* one for each of recs */
	struct strbuf bytes;
	const char ***formats; /* by clause, by action; made when first asked for */
};

void api_deinit(struct printer *p);

/* ---- records (api.c) ----------------------------------------------------------------------- */

/* Before anything is shown in fp, which may be NULL. */
void api_begin(struct printer *p, FILE *fp);
/* Whether someone wants to see records as values. */
bool api_wants_records(const struct printer *p);
/* Makes the values of the record at hand, and asks the probe callback, if there is one. */
MUST_CHECK struct err *api_record(struct printer *p, const struct probe_text *pt, uint32_t cpu,
				  bool *ret_is_taken);
/* Asks about an action; at: its first description. rec NULL: the record ends. */
MUST_CHECK struct err *api_ask(struct printer *p, const dtrace_recdesc_t *rec, bool *ret_is_taken);
/* Gives out what stands in the buffer, if it may not wait. */
MUST_CHECK struct err *api_text(struct printer *p, struct text_origin origin);
/* The same for a row that was shown; an error is kept in api.err. */
void api_row_text(struct printer *p, const struct agg_table *t, struct agg_elem *const *elems);
/* Gives the text of the buffer to the handler. */
MUST_CHECK struct err *api_handler_text(struct printer *p);
struct err *api_err_take(struct printer *p); /* NULL: none was kept */

/* ---- values (api_value.c) ------------------------------------------------------------------ */

/* In what a lives longer than the datum is used. */
dtrace_datum_t api_datum(struct printer *p, struct arena *a, const struct datum *d);
/* Adds the bytes of a value, and describes them. */
void api_bytes_add(struct strbuf *bytes, const dtrace_datum_t *d, dtrace_recdesc_t *rec);
const dtrace_aggdata_t *api_row(struct printer *p, struct arena *a, struct agg_view *v,
				struct agg_elem *e);
dtrace_actkind_t api_aggfunc(enum aggfunc func);
/* NONE: the action records nothing. */
dtrace_actkind_t api_action(enum act_kind kind, enum datum_kind datum);
