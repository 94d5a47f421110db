/* SPDX-License-Identifier: MIT */
/* Fixture: D text on the probes of two functions. */
#include "prog.h"

static const struct {
	const char *func, *name;
	enum code_spot spot;
} probes[NPROBES] = {
	{"f", "entry", SPOT_ENTRY},
	{"f", "return", SPOT_RETURN},
	{"g", "entry", SPOT_ENTRY},
	{"g", "return", SPOT_RETURN},
};

static const struct native_site sites[NSITES] = {
	[SITE_F_ENTRY] = {.probe = 0},
	[SITE_F_RETURN] = {.probe = 1, .rel = RET_OF_F},
	[SITE_G_ENTRY] = {.probe = 2, .pushed = 8},
	[SITE_G_RETURN] = {.probe = 3, .rel = RET_OF_G},
	[SITE_G_TAIL] = {.probe = 3, .rel = JMP_OF_G, .is_tail = true},
};

static void die(struct err *e, const char *what)
{
	printf("Bail out! %s: %s\n", what, e ? err_text(e) : "");
	exit(1);
}

struct nx *nx_create(const char *text)
{
	static const struct compile_opts opts = {.strsize = 64,
						 .stackframes = 20,
						 .ustackframes = 100};
	struct nx *x = xcalloc(1, sizeof(*x));
	struct err *e;

	x->arena = arena_create();
	x->strtab = strtab_create();
	x->session = dsession_create(&opts);
	x->opts = (struct layout_opts){.strsize = 64,
				       .aggsize = 1 << 20,
				       .dynvarsize = 1 << 20,
				       .ncpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF)};
	memcpy(x->sites, sites, sizeof(sites));
	e = alone_compile(x->session, &opts, text, &x->prog);
	if (e)
		die(e, text);
	return x;
}

static bool is_matched(const struct probe_desc *d, uint32_t probe)
{
	return (!*d->func || strcmp(d->func, probes[probe].func) == 0) &&
	       (!*d->name || strcmp(d->name, probes[probe].name) == 0);
}

static void clause_enable(struct nx *x, uint32_t i, uint32_t *epid)
{
	struct clause_layout *cl = &x->layout->clauses[i];
	uint32_t *idxs = ARENA_NEW_N(x->arena, uint32_t, NPROBES), n = 0;

	for (uint32_t p = 0; p < NPROBES; p++)
		if (is_matched(&cl->clause->desc, p)) {
			x->unit.probes[p].mask[i / 64] |= 1ull << i % 64;
			idxs[n++] = p;
		}
	cl->first_epid = *epid;
	*epid += n;
	x->unit.clauses[i] = (struct unit_clause){.layout = cl, .probe_idxs = idxs, .nprobes = n};
}

void nx_lay_out(struct nx *x)
{
	struct unit *u = &x->unit;
	uint32_t epid = 1;

	x->layout = layout_create(x->arena, x->prog->clauses, x->prog->nclauses,
				  dsession_vars(x->session), dsession_aggs(x->session), x->strtab,
				  &x->opts);
	*u = (struct unit){.name = "test",
			   .place = {.kind = PLACE_UPROBE},
			   .nclauses = x->prog->nclauses,
			   .nwords = (x->prog->nclauses + 63) / 64,
			   .nprobes = NPROBES};
	u->clauses = ARENA_NEW_N(x->arena, struct unit_clause, u->nclauses);
	u->probes = ARENA_NEW_N(x->arena, struct unit_probe, NPROBES);
	for (uint32_t p = 0; p < NPROBES; p++)
		u->probes[p] =
			(struct unit_probe){.key = p,
					    .spot = probes[p].spot,
					    .id = {.probe = 100 + p,
						   .probe_idx = p,
						   .names = {strtab_adds(x->strtab, "pid1"),
							     strtab_adds(x->strtab, "a.out"),
							     strtab_adds(x->strtab, probes[p].func),
							     strtab_adds(x->strtab,
									 probes[p].name)}},
					    .mask = ARENA_NEW_N(x->arena, uint64_t, u->nwords)};
	for (uint32_t i = 0; i < u->nclauses; i++)
		clause_enable(x, i, &epid);
}

void nx_make(struct nx *x, const struct nrun_opts *opts)
{
	x->run = nrun_create(x->layout, &x->unit, x->sites, NSITES, opts, &x->refused);
}

struct nx *nx_of(const char *text)
{
	struct nx *x = nx_create(text);

	nx_lay_out(x);
	nx_make(x, &(struct nrun_opts){0});
	if (!x->run)
		die(x->refused, text);
	return x;
}

void nx_destroy(struct nx *x)
{
	if (x->run)
		nrun_destroy(x->run);
	err_destroy(x->refused);
	dsession_destroy(x->session);
	strtab_destroy(x->strtab);
	arena_destroy(x->arena);
	free(x);
}

void nx_fire(struct nx *x, uint32_t site, uint64_t arg0, uint64_t arg1)
{
	struct native_frame f = {.rdi = arg0, .rsi = arg1, .rax = arg1, .pc = 0x401000 + site};

	nrun_fire(x->run, site, &f);
}

int64_t nx_field(struct nx *x, uint32_t clause, uint32_t act, uint32_t field)
{
	const struct clause_layout *cl = &x->layout->clauses[clause];
	const struct rec_field *f = &cl->acts[act].fields[field];
	uint32_t len;
	const struct rt_rec *rec = nrun_record(x->run, &len);
	uint64_t v = 0;

	if (!rec || rec->clause != clause || len != cl->heap_off) {
		printf("# record of clause %d, length %u\n", rec ? (int)rec->clause : -1,
		       rec ? len : 0);
		return 0;
	}
	memcpy(&v, (const char *)rec + f->off, MIN(f->size, 8u));
	if (f->is_signed && f->size < 8)
		return (int64_t)(v << (64 - 8 * f->size)) >> (64 - 8 * f->size);
	return (int64_t)v;
}
