/* SPDX-License-Identifier: MIT */
/* The inside of the engine over what is left of a process (remains.h). */
#pragma once

#include "base/hashmap.h"
#include "base/vec.h"
#include "dif/interp.h"
#include "mdb/heap.h"
#include "mdb/impl.h"
#include "record/layout.h"
#include "remains/remains.h"

/*
 * What a probe fires for, in memory that clauses read: words at EVENT_AT, of which some are the
 * addresses of texts. No process has such addresses, and neither have we.
 */
#define EVENT_AT	0xffff900000000000ull
#define EVENT_WORDS	8u
#define EVENT_TEXTS	5u
#define EVENT_FILE	3u /* the text of lfile, */
#define EVENT_FUNC	4u /* of lfunc; those before them are what a probe has */
#define EVENT_TEXT(i)	(EVENT_AT + ((i) + 1ull) * EVENT_TEXT_ROOM)
#define EVENT_TEXT_ROOM (1ull << 20)

struct event {
	uint32_t key;	  /* enum remains_key */
	uint64_t args[2]; /* arg0, arg1 */
	uint64_t words[EVENT_WORDS];
	const char *texts[EVENT_TEXTS];
	pid_t tid;		   /* of the thread that the event is of; else the first one */
	const struct stack *stack; /* of that thread; NULL: the event has none */
	uint32_t frame;		   /* the frame from which stacks of the event begin */
};

/* What clauses see of a thread. */
struct thread_facts {
	pid_t tid;
	struct target_who who;
	uint64_t name, args; /* addresses of the texts in the machine; 0: not made yet */
};

/* An element of a map of aggregations. */
struct elem {
	uint8_t *key, *value;
};

struct map {
	const struct elem_map *spec;
	struct hashmap *by_key; /* -> struct elem */
	struct elem *array;	/* of a map without keys */
};

struct record {
	uint32_t len;
	_Alignas(8) uint8_t data[];
};

struct loaded {
	const struct unit *unit;
};

/* The steps of a run. */
enum remains_stage {
	STAGE_MAPPINGS,
	STAGE_THREADS,
	STAGE_FRAMES,
	STAGE_CHUNKS,
	STAGE_OBJECTS,
	STAGE_OVER,
};

struct remains_run {
	struct engine_run run;
	struct mdb *m;
	const struct layout *layout;
	struct arena *arena;
	struct dif_machine *machine;
	const struct unit *unit; /* of the events; NULL: no clause is enabled on them */
	bool stops_when_full;
	int wake_fd;
	/* what fires */
	enum remains_stage stage;
	uint64_t at; /* within the stage */
	struct event event;
	struct strbuf texts[EVENT_TEXTS];
	struct stack stack; /* of the thread whose frames fire */
	pid_t stack_tid;    /* 0: there is none */
	struct thread_facts thread;
	/* the firing */
	const struct unit_probe *probe;
	const struct unit *firing;
	const struct unit_clause *clause;
	uint64_t time;
	bool has_exited, is_in_error;
	uint64_t error_args[6];
	/* the record that is being made */
	struct strbuf rec;
	VEC(struct record *) records; /* ascending times */
	uint64_t nbytes;	      /* of records */
	/* aggregations */
	struct map *maps;
	struct hashmap *strings, *stacks; /* u64 hash -> struct text */
	uint64_t ndropped;
	struct hashmap *names; /* text -> its address in the machine */
	char *text_buf;	       /* of strsize bytes */
	uint64_t *spec;	       /* words of speculations; NULL: there are none */
	uint64_t *spec_bytes;  /* that each of them has recorded */
	struct strbuf answer;  /* of the subroutine that was called last */
};

/* A text of a key, or a stack of one. */
struct text {
	size_t len;
	char bytes[];
};

static inline struct remains_run *remains_run_of(const struct engine_run *r)
{
	return CONTAINER_OF(r, struct remains_run, run);
}

/* ---- events.c -------------------------------------------------------------------------------- */

/* Fires some of what is left; ends in STAGE_OVER. */
MUST_CHECK struct err *events_run(struct remains_run *r);
void events_deinit(struct remains_run *r);
/* Memory at the addresses of the event. */
bool event_load(const struct remains_run *r, uint64_t addr, void *buf, uint32_t size);
/* What is known of the thread of the event. */
struct thread_facts *event_thread(struct remains_run *r);

/* ---- clause.c -------------------------------------------------------------------------------- */

struct dif_env clause_env(struct remains_run *r);
/* Runs the unit's clauses on a probe. */
void unit_fire(struct remains_run *r, const struct unit *u, const struct unit_probe *p);
/* Evaluates an expression; false: a fault, which is recorded. */
bool clause_value(struct remains_run *r, const struct difo *d, uint32_t action, uint64_t *ret);
/* The same of a string, into r->text_buf; *ret_null: it is NULL. */
bool clause_text(struct remains_run *r, const struct difo *d, uint32_t action, uint32_t *ret_len,
		 bool *ret_null);
/* The same of size bytes at the address that it gives. */
bool clause_bytes(struct remains_run *r, const struct difo *d, uint32_t action, void *to,
		  uint32_t size);
/* The offset in the string table of a constant, or of a name of the probe. */
uint32_t clause_strid(const struct remains_run *r, const struct difo *d);

/* ---- aggs.c ---------------------------------------------------------------------------------- */

extern const struct agg_io remains_aggs;
void maps_create(struct remains_run *r);
void maps_destroy(struct remains_run *r);
/* Executes ACT_AGG; false: a fault, which is recorded. */
bool aggregate(struct remains_run *r, const struct prog_act *act);
/* Keeps a text, or the bytes of a struct rt_stack; returns its hash. */
uint64_t side_add(struct hashmap *side, const char *bytes, size_t len, uint64_t bits);

/* ---- stack.c --------------------------------------------------------------------------------- */

/*
 * Adds the words of the event's stack: what names its addresses, then its frames, at most so many,
 * with names in strsize bytes (0: none).
 */
void stack_words_add(struct remains_run *r, uint32_t frames, uint32_t strsize, bool is_lang,
		     struct strbuf *out);

/* ---- lang.c ---------------------------------------------------------------------------------- */

/*
 * The value of lfile, lline or lfunc for the event, strings as addresses that the event
 * has.
 */
uint64_t lang_part(struct remains_run *r, uint32_t var);

/* ---- spec.c ---------------------------------------------------------------------------------- */

void specs_open(struct remains_run *r);
/* The value of speculation(). */
uint64_t spec_take(struct remains_run *r);
/*
 * Makes the record part of the speculation. False: the clause ends, *ret_fault says whether because
 * there is no such id.
 */
bool spec_begin(struct remains_run *r, uint64_t id, bool *ret_fault);
/* Counts the record that was made, if it is part of a speculation. */
void spec_count(struct remains_run *r);
/* Ends the speculation, and says for commit() which one that was; false: there is no such id. */
bool spec_end(struct remains_run *r, uint64_t id, bool is_committed, struct rt_spec_tag *ret);

/* ---- subr.c ---------------------------------------------------------------------------------- */

enum dif_fault remains_subr(void *ctx, uint32_t subr, const uint64_t *v, const char *const *texts,
			    uint64_t *ret, const char **ret_text);

/* ---- check.c --------------------------------------------------------------------------------- */

/* What of a unit cannot run here; *ret_span: where it is. */
MUST_CHECK struct err *unit_check(const struct unit *u, uint32_t *ret_span);
