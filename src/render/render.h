/*
 * What the walkers hand over, and to whom. Walkers (record.c, consume.c, printa.c, stack and shape
 * walkers) visit records, aggregations, stacks and structures; a renderer says what they look like.
 * What takes effect while records are consumed is neither (effects.c). A program's callbacks stand
 * before the renderer (api.h).
 *
 * To add a renderer: a file that fills a struct renderer, and a value of the option oformat.
 */
#pragma once

#include "render/out.h"
#include "render/print.h"

struct act_layout;
struct datum;
struct fmt;
struct probe_text;
struct rt_rec;
struct shape;

/*
 * Aggregations side by side, in one table: a row has one element of each, NULL where the key is
 * missing.
 */
struct agg_table {
	struct agg_view *const *views;
	uint32_t nviews;
	const struct fmt *fmt; /* of printa(), NULL = none */
};

struct renderer {
	/* A record; next: the one that follows in the CPU's buffer, or NULL. */
	void (*record_begin)(struct printer *p, const struct probe_text *pt, uint32_t cpu,
			     const struct rt_rec *next);
	void (*record_end)(struct printer *p, bool is_quiet);
	/* What the actions of a record show: trace() and its kin, stacks, names of addresses; */
	void (*value)(struct printer *p, const struct datum *d);
	/* memory as it is, of an action; */
	void (*memory)(struct printer *p, const char *action, const struct datum *d);
	/* print(); */
	void (*typed)(struct printer *p, const struct shape *shape, const struct datum *d);
	/* printf(), whose arguments are the fields of the record. */
	struct err *(*message)(struct printer *p, const struct act_layout *al,
			       const struct fmt *fmt);

	/* Aggregations: before those of the end of a run, before those of one printa(). */
	void (*aggs_begin)(struct printer *p);
	void (*aggs_end)(struct printer *p);
	void (*printa_begin)(struct printer *p, const struct agg_table *t);
	/*
	 * Several aggregations of one printa() are one table; else each is a table, without format.
	 */
	bool joins;
	/* True: it has shown all of the table already. */
	bool (*table_begin)(struct printer *p, const struct agg_table *t);
	void (*row)(struct printer *p, const struct agg_table *t, struct agg_elem *const *elems);
	void (*table_end)(struct printer *p, const struct agg_table *t);

	/*
	 * For forms in which nothing may stand between what is written; NULL where that does not
	 * matter.
	 */
	/*
	 * What a command of system() wrote is shown by the renderer; NULL: it goes where our output
	 * goes.
	 */
	void (*command)(struct printer *p, const char *command, const struct strbuf *text,
			int status);
	void (*leave)(struct printer *p);   /* output goes on in another file (freopen()) */
	void (*emptied)(struct printer *p); /* the file is empty again (ftruncate()) */
	/* Drops and faults. NULL: the session's handlers are enough. */
	void (*notice)(struct printer *p, const struct print_notice *n);
	/* the end of the output, or of its part in a file of freopen() */
	void (*finish)(struct printer *p);
};

extern const struct renderer render_text, render_json;

/* ---- JSON ---------------------------------------------------------------------------------- */

struct json_doc { /* what has been written to a file */
	bool is_open;
	uint64_t nobjects, naggs;
	struct strbuf aggs; /* that come last */
};

struct json {
	struct json_doc docs[2]; /* of the output, of the file of freopen() */
	/* of the record at hand */
	const struct probe_text *pt;
	uint32_t cpu;
	bool in_record, in_object; /* its object has been begun where output goes now, */
	bool is_shown;		   /* or was begun anywhere */
	uint32_t nitems, nrows;
	bool at_end;
};
