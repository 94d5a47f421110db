/* SPDX-License-Identifier: MIT */
/*
 * Records without a kernel: makes a record of one clause from actions and data that a test lists,
 * and returns its text.
 *
 *     struct fix f; fix_init(&f);
 *     fix_act(&f, ACT_PRINTF, "%d %s"); fix_int(&f, 4, true, -1); fix_str(&f, REC_STR, "x");
 *     is_str(fix_fire(&f), "-1 x", "...");      resets the clause
 *
 * Aggregations come from agg/fake.h (f.fake), before fix_open(). Probe 1 is dtrace:::BEGIN.
 */
#pragma once

#include "agg/fake.h"
#include "render/impl.h"

#define FIX_ACTS   80
#define FIX_FIELDS 16
#define FIX_REC	   8192

struct fix {
	struct fake fake;
	struct arena *arena;	 /* of the clause */
	struct provider_env env; /* of no session */
	struct probes *probes;
	struct print_opts opts;
	struct print_hooks hooks;
	struct printer *printer;
	struct prog_clause clause;
	struct prog_act acts[FIX_ACTS];
	struct act_layout als[FIX_ACTS];
	struct clause_layout cl;
	_Alignas(16) uint8_t rec[FIX_REC];
	uint32_t len, heap_at[FIX_ACTS * 2], nheap;
	const char *heap[FIX_ACTS * 2];
	uint32_t probe, cpu;
	char *text;
	size_t text_size;
	/* what hooks were called with */
	int exit_status, nsnap;
	struct strbuf log;
};

/* ---- formats --------------------------------------------------------------------------------- */

static inline const char *fix_conv(const char *s, struct prog_conv *c)
{
	static const struct {
		char ch;
		uint32_t flag;
	} flags[] = {{'-', CONV_LEFT}, {'+', CONV_SIGN},   {' ', CONV_SPACE}, {'#', CONV_ALT},
		     {'0', CONV_ZERO}, {'\'', CONV_GROUP}, {'@', CONV_AGG}};
	uint32_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		if (*s == flags[i].ch) {
			c->flags |= flags[i].flag;
			s++;
			i = (size_t)-1;
		}
	if (*s == '?') {
		c->width = 16;
		s++;
	}
	if (*s == '*') {
		c->flags |= CONV_WIDTH_ARG;
		s++;
	} else if (*s >= '1' && *s <= '9') {
		c->width = (int)strtol(s, (char **)(uintptr_t)&s, 10);
	}
	if (*s == '.' && s[1] == '*') {
		c->flags |= CONV_PREC_ARG;
		s += 2;
	} else if (*s == '.') {
		c->prec = (int)strtol(s + 1, (char **)(uintptr_t)&s, 10);
	}
	while (*s && strchr("hlLw", *s) && n < 2)
		c->size[n++] = *s++;
	c->conv = *s;
	return s + 1;
}

static inline struct prog_fmt *fix_fmt(struct arena *a, const char *text)
{
	struct prog_fmt *f = ARENA_NEW(a, struct prog_fmt);
	size_t max = strlen(text) + 1;

	f->convs = ARENA_NEW_N(a, struct prog_conv, max);
	while (*text) {
		struct prog_conv *c = &f->convs[f->nconvs++];
		const char *at = strchr(text, '%');

		*c = (struct prog_conv){.literal = text, .width = -1, .prec = -1};
		c->literal_len = (uint32_t)(at ? (size_t)(at - text) : strlen(text));
		text += c->literal_len;
		if (!at) {
			c->flags = CONV_NOARG;
		} else if (at[1] == '%') {
			c->literal_len++; /* the first of the two */
			c->flags = CONV_NOARG;
			text += 2;
		} else {
			text = fix_conv(text + 1, c);
		}
	}
	return f;
}

/* ---- hooks ----------------------------------------------------------------------------------- */

static inline void fix_exit(void *ctx, int status)
{
	((struct fix *)ctx)->exit_status = status;
}

static inline struct err *fix_setopt(void *ctx, const char *name, const char *value)
{
	struct fix *f = ctx;

	if (strcmp(name, "bad") == 0)
		return err_new("Invalid option name");
	strbuf_addf(&f->log, "[%s=%s]", name, value);
	return NULL;
}

static inline void fix_fault(void *ctx, uint32_t clause, uint32_t probe, const char *text)
{
	struct fix *f = ctx;

	strbuf_addf(&f->log, "[fault %u %u %s]", clause, probe, text);
}

static inline struct err *fix_snap(void *ctx)
{
	struct fix *f = ctx;

	f->nsnap++;
	return aggs_snap(f->fake.aggs);
}

/* ---- life ------------------------------------------------------------------------------------ */

static const struct provider fix_dtrace = {.name = "dtrace", .id_base = 1, .id_count = 3};
static const struct provider fix_syscall = {.name = "syscall"};
static const struct provider fix_fbt = {.name = "fbt"};

static inline void fix_reset(struct fix *f)
{
	memset(f->rec, 0, sizeof(f->rec));
	f->clause = (struct prog_clause){.acts = f->acts};
	f->cl = (struct clause_layout){.clause = &f->clause, .acts = f->als};
	f->len = sizeof(struct rt_rec);
	f->nheap = 0;
	strbuf_clear(&f->log);
}

static inline void fix_init(struct fix *f)
{
	*f = (struct fix){0};
	fake_init(&f->fake);
	f->arena = arena_create();
	f->probes = probes_create(&f->env);
	probes_add_at(f->probes, &fix_dtrace, 0, "", "", "BEGIN", 0);
	f->opts = (struct print_opts){.quiet = true, .stackindent = 14};
	f->hooks = (struct print_hooks){.ctx = f,
					.exit = fix_exit,
					.setopt = fix_setopt,
					.fault = fix_fault,
					.snap = fix_snap};
	f->probe = 1;
	fix_reset(f);
}

/* After the aggregations are there. */
static inline void fix_open(struct fix *f)
{
	fake_open(&f->fake);
	f->fake.layout.clauses = &f->cl;
	f->fake.layout.nclauses = 1;
}

static inline void fix_deinit(struct fix *f)
{
	printer_destroy(f->printer);
	probes_destroy(f->probes);
	fake_deinit(&f->fake);
	arena_destroy(f->arena);
	strbuf_deinit(&f->log);
	free(f->text);
}

/* ---- records --------------------------------------------------------------------------------- */

static inline struct prog_act *fix_act(struct fix *f, enum act_kind kind, const char *fmt)
{
	struct prog_act *act = &f->acts[f->clause.nacts];
	struct act_layout *al = &f->als[f->clause.nacts++];

	*act = (struct prog_act){.kind = kind, .fmt = fmt ? fix_fmt(f->arena, fmt) : NULL};
	*al = (struct act_layout){.fields = ARENA_NEW_N(f->arena, struct rec_field, FIX_FIELDS)};
	return act;
}

static inline struct rec_field *fix_field(struct fix *f, enum rec_kind kind, enum datum_kind datum,
					  uint32_t size, const void *data)
{
	struct act_layout *al = &f->als[f->clause.nacts - 1];
	struct rec_field *rf = &al->fields[al->nfields++];
	uint32_t align = size >= 8 ? 8 : size >= 4 ? 4 : size ? size : 1;

	f->len = ROUND_UP(f->len, align);
	*rf = (struct rec_field){.kind = kind, .datum = datum, .off = f->len, .size = size};
	if (data)
		memcpy(f->rec + f->len, data, size);
	f->len += size;
	return rf;
}

static inline void fix_int(struct fix *f, uint32_t size, bool is_signed, int64_t v)
{
	fix_field(f, REC_INT, DATUM_INT, size, &v)->is_signed = is_signed;
}

static inline void fix_bytes(struct fix *f, enum datum_kind datum, const void *data, uint32_t size)
{
	fix_field(f, REC_BYTES, datum, size, data);
}

static inline void fix_str(struct fix *f, enum rec_kind kind, const char *text)
{
	uint32_t off;
	char comm[16] = "";

	switch (kind) {
	case REC_STR: /* placed when the record is complete */
		fix_field(f, kind, DATUM_STRING, sizeof(struct rt_str), NULL);
		f->heap_at[f->nheap] = f->len - (uint32_t)sizeof(struct rt_str);
		f->heap[f->nheap++] = text;
		return;
	case REC_COMM:
		memcpy(comm, text, MIN(strlen(text), sizeof(comm)));
		fix_field(f, kind, DATUM_STRING, 16, comm);
		return;
	case REC_STRID:
		off = strtab_adds(f->fake.layout.strtab, text);
		fix_field(f, kind, DATUM_STRING, 4, &off);
		return;
	case REC_INT:
	case REC_STACK:
	case REC_BYTES: break;
	}
	fix_bytes(f, DATUM_STRING, text, (uint32_t)strlen(text));
}

static inline void fix_close(struct fix *f)
{
	struct rt_rec rec = {.clause = 0, .probe = f->probe, .time = 1};

	for (uint32_t i = 0; i < f->nheap; i++) {
		size_t len = f->heap[i] ? strlen(f->heap[i]) : 0;
		struct rt_str s = {f->len, f->heap[i] ? (uint32_t)len : UINT32_MAX};

		memcpy(f->rec + f->heap_at[i], &s, sizeof(s));
		if (len)
			memcpy(f->rec + f->len, f->heap[i], len);
		f->len += (uint32_t)len;
	}
	memcpy(f->rec, &rec, sizeof(rec));
}

/* A printer for the clause as it is now; keeps its header and flow state until the next one. */
static inline void fix_printer(struct fix *f)
{
	if (!f->fake.aggs)
		fix_open(f);
	printer_destroy(f->printer);
	f->printer = printer_create(&f->fake.layout, f->probes, f->fake.aggs, &f->opts, &f->hooks);
}

/* Prints the record as it is with the printer as it is. */
static inline const char *fix_print(struct fix *f, const struct rt_rec *next)
{
	struct err *e;
	FILE *fp;

	free(f->text);
	f->text = NULL;
	fp = open_memstream(&f->text, &f->text_size);
	e = print_record(f->printer, fp, (const struct rt_rec *)(const void *)f->rec, f->len,
			 f->cpu, next);
	if (!e)
		e = printer_flush(f->printer, fp);
	if (e) {
		printf("# error: %s\n", err_text(e));
		err_destroy(e);
	}
	(void)fclose(fp);
	return f->text;
}

/* The text of the clause's record; the next clause begins empty. */
static inline const char *fix_fire(struct fix *f)
{
	const char *text;

	fix_close(f);
	fix_printer(f);
	text = fix_print(f, NULL);
	f->clause.nacts = 0;
	f->cl.executed_off = 0;
	f->len = sizeof(struct rt_rec);
	f->nheap = 0;
	return text;
}

/* Everything print_aggs() prints. */
static inline const char *fix_aggs(struct fix *f)
{
	struct err *e;
	FILE *fp;

	fix_printer(f);
	free(f->text);
	f->text = NULL;
	fp = open_memstream(&f->text, &f->text_size);
	e = aggs_snap(f->fake.aggs);
	if (!e)
		e = print_aggs(f->printer, fp);
	if (!e)
		e = printer_flush(f->printer, fp);
	if (e)
		BUG("%s", err_text(e));
	(void)fclose(fp);
	return f->text;
}
