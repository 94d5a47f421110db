/* SPDX-License-Identifier: MIT */
/* Fixture: clauses made by hand, in the kernel. */
#include "gen_fixture.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

const struct dif_type gx_s64 = {DIF_KIND_CTF, 1, 0, true, 8},
		      gx_s32 = {DIF_KIND_CTF, 1, 0, true, 4},
		      gx_u16 = {DIF_KIND_CTF, 1, 0, false, 2},
		      gx_s8 = {DIF_KIND_CTF, 1, 0, true, 1},
		      gx_u64 = {DIF_KIND_CTF, 1, 0, false, 8},
		      gx_string = {DIF_KIND_STRING, 0, DIF_TF_BYREF, false, 256};

static void die(struct err *e, const char *what)
{
	printf("Bail out! %s: %s\n", what, e ? err_text(e) : strerror(errno));
	exit(1);
}

void gx_skip(void)
{
	struct err *e = kernel_check();

	if (!e)
		return;
	printf("1..0 # SKIP %s\n", err_text(e));
	err_destroy(e);
	exit(0);
}

struct gx *gx_create(void)
{
	struct gx *x = xcalloc(1, sizeof(*x));

	x->arena = arena_create();
	x->strtab = strtab_create();
	x->opts = (struct layout_opts){.strsize = 256,
				       .aggsize = 4 << 20,
				       .dynvarsize = 1 << 20,
				       .ncpus = (uint32_t)libbpf_num_possible_cpus()};
	x->opts.max_maps = kmaps_max_elem_maps(x->opts.ncpus);
	memset(&x->kfields, 0xff, sizeof(x->kfields));
	return x;
}

void gx_destroy(struct gx *x)
{
	for (uint32_t i = 0; i < x->loaded.len; i++) {
		close(x->loaded.data[i].prog_fd);
		if (x->loaded.data[i].dispatch_fd >= 0)
			close(x->loaded.data[i].dispatch_fd);
		free(x->loaded.data[i].progs);
	}
	for (uint32_t i = x->next; i < x->records.len; i++)
		free(x->records.data[i]);
	ring_buffer__free(x->ring);
	kmaps_destroy(x->maps);
	mach_destroy(x->mach);
	strtab_destroy(x->strtab);
	vec_deinit(&x->clauses);
	vec_deinit(&x->vars);
	vec_deinit(&x->aggs);
	vec_deinit(&x->loaded);
	vec_deinit(&x->records);
	arena_destroy(x->arena);
	free(x);
}

struct prog_clause *gx_clause(struct gx *x, uint32_t max_acts)
{
	struct prog_clause *c = ARENA_NEW(x->arena, struct prog_clause);

	c->desc = (struct probe_desc){"", "", "", "", 0, false, 0};
	c->index = x->clauses.len;
	c->acts = ARENA_NEW_N(x->arena, struct prog_act, max_acts);
	vec_push(&x->clauses, c);
	return c;
}

struct prog_act *gx_act(struct gx *x, struct prog_clause *c, enum act_kind kind, struct difo *arg,
			enum datum_kind datum)
{
	struct prog_act *act = &c->acts[c->nacts];

	act->kind = kind;
	act->args = ARENA_NEW_N(x->arena, struct difo *, 8);
	act->arg_kinds = ARENA_NEW_N(x->arena, enum datum_kind, 8);
	if (arg) {
		act->args[0] = arg;
		act->arg_kinds[0] = datum;
		act->nargs = 1;
	}
	act->number = c->nacts ? act[-1].number + MAX(act[-1].nargs, 1u) : 1;
	c->records |= act_is_recording(kind);
	c->nacts++;
	return act;
}

struct prog_var *gx_var(struct gx *x, const char *name, enum dif_scope scope, struct dif_type type)
{
	struct prog_var *v = ARENA_NEW(x->arena, struct prog_var);

	*v = (struct prog_var){.name = name,
			       .id = DIF_VAR_USER + x->vars.len,
			       .scope = (uint8_t)scope,
			       .kind = DIF_VAR_SCALAR,
			       .type = type};
	vec_push(&x->vars, v);
	return v;
}

struct prog_var *gx_array(struct gx *x, const char *name, enum dif_scope scope,
			  struct dif_type type, uint32_t nkeys, const struct dif_type *keys)
{
	struct prog_var *v = gx_var(x, name, scope, type);

	v->kind = DIF_VAR_ARRAY;
	v->nkeys = nkeys;
	v->keys = arena_memdup(x->arena, keys, nkeys * sizeof(*keys));
	return v;
}

struct prog_agg *gx_agg(struct gx *x, enum aggfunc func, uint32_t nkeys)
{
	struct prog_agg *agg = ARENA_NEW(x->arena, struct prog_agg);

	agg->name = "a";
	agg->func = func;
	agg->id = x->aggs.len + 1;
	agg->nkeys = nkeys;
	agg->key_kinds = ARENA_NEW_N(x->arena, enum datum_kind, nkeys);
	agg->key_types = ARENA_NEW_N(x->arena, struct dif_type, nkeys);
	for (uint32_t k = 0; k < nkeys; k++)
		agg->key_types[k] = gx_s64;
	vec_push(&x->aggs, agg);
	return agg;
}

void gx_note(struct dif_builder *b, const struct prog_var *v)
{
	struct dif_var dv = {.name = v->name,
			     .id = v->id,
			     .kind = v->kind,
			     .scope = v->scope,
			     .flags = DIF_VF_REF | DIF_VF_MOD,
			     .type = v->type};

	dif_note_var(b, &dv);
}

struct difo *gx_difo(struct gx *x, const char *asm_text)
{
	struct difo *d = NULL;
	struct err *e = difo_parse(x->arena, asm_text, &d);

	if (e)
		die(e, asm_text);
	return d;
}

void gx_finish(struct gx *x)
{
	struct prog_vars vars = {x->vars.data, x->vars.len};
	struct prog_aggs aggs = {x->aggs.data, x->aggs.len};
	struct kmaps_opts opts = {.bufsize = 1 << 20, .need_tls = true};
	struct err *e;

	x->layout = layout_create(x->arena, x->clauses.data, x->clauses.len, &vars, &aggs,
				  x->strtab, &x->opts);
	x->mach = mach_create(x->layout);
	opts.mach = x->mach;
	x->env = (struct gen_env){.layout = x->layout,
				  .mach = x->mach,
				  .kfields = &x->kfields,
				  .ncpus = x->opts.ncpus,
				  .use_task_btf = feat_has(FEAT_TASK_BTF),
				  .shuffle = x->shuffle};
	e = kmaps_create(x->layout, &opts, &x->maps);
	if (e)
		die(e, "maps");
	x->maps->control->state = RT_STATE_ON;
}

struct unit_probe *gx_probe(struct gx *x, struct unit *u, uint32_t key)
{
	struct unit_probe *p = &u->probes[u->nprobes++];

	*p = (struct unit_probe){.key = key,
				 .id = {.probe = 100 + key, .probe_idx = key},
				 .mask = ARENA_NEW_N(x->arena, uint64_t, u->nwords)};
	memset(p->mask, 0xff, u->nwords * sizeof(p->mask[0]));
	return p;
}

struct unit gx_unit(struct gx *x, enum place_kind kind, uint32_t from, uint32_t to)
{
	struct unit u = {.name = "test", .place = {.kind = kind}, .nclauses = to - from};
	uint32_t *idxs = ARENA_NEW_N(x->arena, uint32_t, 512);

	for (uint32_t i = 0; i < 512; i++)
		idxs[i] = i;
	u.nwords = (u.nclauses + 63) / 64;
	u.clauses = ARENA_NEW_N(x->arena, struct unit_clause, u.nclauses);
	u.probes = ARENA_NEW_N(x->arena, struct unit_probe, 512);
	for (uint32_t i = from; i < to; i++)
		u.clauses[i - from] =
			(struct unit_clause){&x->layout->clauses[i], idxs, 512, NULL, 0, NULL};
	return u;
}

struct bpf_code gx_code(struct gx *x, const struct unit *u)
{
	struct bpf_code code = {0};
	struct err *e = bpf_gen_unit(u, &x->env, &code);

	if (e)
		die(e, "code generation");
	return code;
}

int gx_load(struct gx *x, const struct unit *u)
{
	struct bpf_code code = gx_code(x, u);
	struct loaded loaded = {.prog_fd = -1, .dispatch_fd = -1};
	FILE *log = getenv("GX_LOG") ? stdout : NULL;
	uint32_t span = 0;
	struct err *e;

	if (getenv("GX_CODE")) {
		struct strbuf out = {0};

		bpf_code_print(&code, &out);
		fputs(strbuf_text(&out), stdout);
		strbuf_deinit(&out);
	}
	e = unit_load(u, &code, x->maps, x->layout, log, &loaded, &span);
	if (e)
		die(e, "load");
	bpf_code_deinit(&code);
	vec_push(&x->loaded, loaded);
	return loaded.prog_fd;
}

void gx_run(struct gx *x, int prog_fd, uint64_t key)
{
	struct err *e = prog_test_run(prog_fd, key);

	(void)x;
	if (e)
		die(e, "run");
}

static int take_record(void *ctx, void *data, size_t size)
{
	struct gx *x = ctx;
	char *copy = xmalloc(size + 8);
	uint64_t len = size;

	memcpy(copy, &len, sizeof(len));
	memcpy(copy + 8, data, size);
	vec_push(&x->records, copy);
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct rt_rec *x = (const void *)(*(char *const *)a + 8);
	const struct rt_rec *y = (const void *)(*(char *const *)b + 8);

	return x->time < y->time ? -1 : x->time > y->time;
}

const struct rt_rec *gx_record(struct gx *x, uint32_t *ret_len)
{
	uint64_t len;
	char *r;

	if (!x->ring)
		for (uint32_t i = 0; i < x->maps->ncpus; i++) {
			int fd = x->maps->ring_fds[i];

			if (fd >= 0 && !x->ring)
				x->ring = ring_buffer__new(fd, take_record, x, NULL);
			else if (fd >= 0)
				(void)ring_buffer__add(x->ring, fd, take_record, x);
		}
	if (x->next == x->records.len) {
		vec_clear(&x->records);
		x->next = 0;
		(void)ring_buffer__consume(x->ring);
		/* one run is on one CPU and has one time: then the order is that of the ring */
		for (uint32_t i = 1; i < x->records.len; i++)
			if (by_time(&x->records.data[i - 1], &x->records.data[i]) > 0) {
				qsort(x->records.data, x->records.len, sizeof(char *), by_time);
				break;
			}
	}
	if (x->next == x->records.len)
		return NULL;
	r = x->records.data[x->next++];
	memcpy(&len, r, sizeof(len));
	if (ret_len)
		*ret_len = (uint32_t)len;
	/* records are few: the arena keeps them for the test */
	r = arena_memdup(x->arena, r + 8, len);
	free(x->records.data[x->next - 1]);
	return (const struct rt_rec *)(const void *)r;
}

bool gx_agg_value(struct gx *x, const struct prog_agg *agg, const void *key, uint32_t word,
		  int64_t *ret_sum)
{
	const struct agg_layout *al = &x->layout->aggs[agg->id - 1];
	const struct elem_map *m = &x->layout->agg_maps[al->map];
	char *vals = xcalloc(1, elem_map_read_size(m, x->opts.ncpus));
	int64_t sum = 0, v;
	int rc = bpf_map_lookup_elem(x->maps->agg_fds[al->map], al->key_size ? key : &al->elem,
				     vals);

	for (uint32_t cpu = 0; cpu < x->opts.ncpus && !rc; cpu++) {
		memcpy(&v, vals + m->slot_off + (size_t)cpu * elem_map_stride(m) + 8 * word, 8);
		sum = (int64_t)((uint64_t)sum + (uint64_t)v);
	}
	free(vals);
	*ret_sum = sum;
	return rc == 0;
}
