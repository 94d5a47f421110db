/* Telling of lost records and of faults (d-language.md 7.1, 7.2). */
#include <inttypes.h>

#include "session/session.h"
#include "consume/spec.h"

#define FAULTS_MAX 200 /* messages between two looks at the status; the rest is counted */

#define PLURAL(n) ((n) == 1 ? "" : "s")

static uint64_t counter(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

/* What a counter has gained since it was last reported. */
static uint64_t gained(uint64_t *seen, const uint64_t *now)
{
	uint64_t v = counter(now), n = v - *seen;

	*seen = v;
	return n;
}

/* What helps; told once a run, with the first message of its kind. */
enum remedy {
	REMEDY_PRINCIPAL,
	REMEDY_AGGREGATION,
	REMEDY_DYNAMIC,
	REMEDY_SPEC,
	REMEDY_SPECBUSY,
	REMEDY_SPECUNAVAIL,
	REMEDY_DBLERROR,
	REMEDY_NULL,
	REMEDY_USER,
	REMEDY_SCRATCH,
	REMEDY_KERNEL,
	REMEDY_DIVZERO,
	REMEDY_NOSCRATCH,
	REMEDY_ILLOP,
	REMEDY_NONE,
};

/*
 * flag: says how an option is given, least: what is suggested at least; OPT_COUNT = no option
 * helps.
 */
static const struct {
	const char *tag, *text;
	enum opt_id opt;
	const char *flag;
	uint64_t least;
} remedies[] = {
	/* clang-format off */
	[REMEDY_PRINCIPAL]   = { "PRINCIPAL",   "record less (aggregate)", OPT_bufsize, "-b ", 16 << 20 },
	[REMEDY_AGGREGATION] = { "AGGREGATION", "use fewer keys", OPT_aggsize, "-x aggsize=", 16 << 20 },
	[REMEDY_DYNAMIC]     = { "DYNAMIC",     "assign 0 to variables that are done with", OPT_dynvarsize,
				 "-x dynvarsize=", 16 << 20 },
	[REMEDY_SPEC]        = { "SPEC",        "record less", OPT_specsize, "-x specsize=", 256 << 10 },
	[REMEDY_SPECBUSY]    = { "SPECBUSY",    "have fewer speculations at a time", OPT_nspec, "-x nspec=", 16 },
	[REMEDY_SPECUNAVAIL] = { "SPECUNAVAIL", "discard() what is not wanted", OPT_nspec, "-x nspec=", 16 },
	[REMEDY_DBLERROR]    = { "DBLERROR",    "the clause of the ERROR probe has the error", OPT_COUNT, NULL, 0 },
	[REMEDY_NULL]        = { NULL, "the pointer is not set: test it in the predicate", OPT_COUNT, NULL, 0 },
	[REMEDY_USER]        = { NULL, "addresses of a process are read by copyin() and copyinstr(); what it has "
				       "not touched yet can be read when the call returns", OPT_COUNT, NULL, 0 },
	[REMEDY_SCRATCH]     = { NULL, "this is memory of alloca() or copyin(), beyond the bytes that were asked for, or "
				       "of a clause that has ended", OPT_COUNT, NULL, 0 },
	[REMEDY_KERNEL]      = { NULL, "the kernel has nothing at this address: test the pointer in the predicate",
				 OPT_COUNT, NULL, 0 },
	[REMEDY_DIVZERO]     = { NULL, "test the divisor in the predicate", OPT_COUNT, NULL, 0 },
	[REMEDY_NOSCRATCH]   = { NULL, "take less at a time", OPT_scratchsize, "-x scratchsize=", 256 << 10 },
	[REMEDY_ILLOP]       = { NULL, "an argument is out of its range", OPT_COUNT, NULL, 0 },
	/* clang-format on */
};

/* What the session has of what the option gives; 0 = more of it is not to be had. */
static uint64_t room_now(const dtrace_hdl_t *h, enum opt_id id)
{
	uint64_t now = (uint64_t)MAX(h->opts.val[id], 0);

	if (id == OPT_bufsize && h->bufsize < now)
		return 0; /* it was lowered to what there is memory for */
	if (id == OPT_scratchsize)
		now = MAX(now, h->layout->scratch_size);
	return MAX(now, 1u);
}

/* A clause about more room: at least four times what there is. */
static void add_room(dtrace_hdl_t *h, enum remedy r, struct strbuf *out)
{
	enum opt_id id = remedies[r].opt;
	uint64_t now = id == OPT_COUNT ? 0 : room_now(h, id), size = remedies[r].least, max;

	if (!now)
		return;
	max = (uint64_t)opt_max(id);
	while (size < 4 * now && size < max)
		size *= 2;
	size = MIN(size, max);
	if (size <= now)
		return;
	strbuf_addf(out, ", or make room: %s", remedies[r].flag);
	if (opt_descs[id].kind == OPTK_SIZE)
		size_add(out, size);
	else
		strbuf_addf(out, "%" PRIu64, size);
}

static void add_remedy(dtrace_hdl_t *h, enum remedy r, struct strbuf *out)
{
	if (r == REMEDY_NONE || (h->remedies_told & (1u << r)))
		return;
	h->remedies_told |= 1u << r;
	strbuf_addf(out, "hint: %s", remedies[r].text);
	add_room(h, r, out);
	strbuf_addc(out, '\n');
}

struct drop {
	enum remedy kind;
	int cpu; /* -1 = all */
	uint64_t count;
};

/* clang-format off */
static const dtrace_dropkind_t drop_kinds[] = {
	[REMEDY_PRINCIPAL] = DTRACEDROP_PRINCIPAL,
	[REMEDY_AGGREGATION] = DTRACEDROP_AGGREGATION,
	[REMEDY_DYNAMIC] = DTRACEDROP_DYNAMIC,
	[REMEDY_SPEC] = DTRACEDROP_SPEC,
	[REMEDY_SPECBUSY] = DTRACEDROP_SPECBUSY,
	[REMEDY_SPECUNAVAIL] = DTRACEDROP_SPECUNAVAIL,
	[REMEDY_DBLERROR] = DTRACEDROP_DBLERROR,
};
/* clang-format on */

/* Into the output, where its form has a place for it. */
static void note_drop(dtrace_hdl_t *h, const struct drop *d, const char *msg)
{
	dtrace_dropkind_t kind = drop_kinds[d->kind];

	h->drops_total[kind] += d->count;
	printer_notice(h->printer, &(struct print_notice){.name = "DROP",
							  .cpu = d->cpu,
							  .time = now_ns(),
							  .kind = (int)kind,
							  .count = d->count,
							  .total = h->drops_total[kind],
							  .msg = msg});
}

PRINTF_LIKE(3, 4) static struct err *tell(dtrace_hdl_t *h, struct drop d, const char *fmt, ...)
{
	enum remedy kind = d.kind;
	struct strbuf s = {0};
	va_list ap;
	bool go_on;

	if (opt_flag(&h->opts, OPT_droptags))
		strbuf_addf(&s, "[DTRACEDROP_%s] ", remedies[kind].tag);
	va_start(ap, fmt);
	strbuf_vaddf(&s, fmt, ap);
	va_end(ap);
	strbuf_addc(&s, '\n');
	note_drop(h, &d, s.data);
	add_remedy(h, kind, &s);
	go_on = report_tell(&h->report, &h->report.on_drop, s.data);
	strbuf_deinit(&s);
	return go_on ? NULL : err_code(err_new("Abort due to drop"), EDT_DROPABORT);
}

/* Counters that are reported for all CPUs together. */
struct sums {
	uint64_t dyn, dblerrors, spec, spec_busy, spec_unavail;
};

static struct err *report_cpu(dtrace_hdl_t *h, uint32_t cpu, struct sums *sums)
{
	const struct rt_cpu *now = &h->maps->control->cpu[cpu];
	struct rt_cpu *seen = &h->drops_seen[cpu];
	/* A firing that found no free machine state has lost its records like any other. */
	uint64_t drops =
		gained(&seen->drops, &now->drops) + gained(&seen->nest_drops, &now->nest_drops);
	uint64_t agg_drops = gained(&seen->agg_drops, &now->agg_drops);
	struct err *e = NULL;

	sums->dyn += gained(&seen->dyn_drops, &now->dyn_drops);
	sums->dblerrors += gained(&seen->dblerrors, &now->dblerrors);
	sums->spec += gained(&seen->spec_drops, &now->spec_drops);
	sums->spec_busy += gained(&seen->spec_busy, &now->spec_busy);
	sums->spec_unavail += gained(&seen->spec_unavail, &now->spec_unavail);
	if (drops)
		e = tell(h, (struct drop){REMEDY_PRINCIPAL, (int)cpu, drops},
			 "%" PRIu64 " drop%s on CPU %" PRIu32, drops, PLURAL(drops), cpu);
	if (!e && agg_drops)
		e = tell(h, (struct drop){REMEDY_AGGREGATION, (int)cpu, agg_drops},
			 "%" PRIu64 " aggregation drop%s on CPU %" PRIu32, agg_drops,
			 PLURAL(agg_drops), cpu);
	return e;
}

static struct err *report_held_faults(dtrace_hdl_t *h)
{
	struct strbuf s = {0};
	uint32_t n = h->faults_held;
	bool go_on;

	h->faults = h->faults_held = 0;
	if (!n)
		return NULL;
	strbuf_addf(&s, "%" PRIu32 " more error%s on enabled probes not shown\n", n, PLURAL(n));
	go_on = report_tell(&h->report, &h->report.on_err, s.data);
	strbuf_deinit(&s);
	return go_on ? NULL : err_code(err_new("Abort due to error"), EDT_ERRABORT);
}

static struct err *report_specs(dtrace_hdl_t *h, const struct sums *sums)
{
	uint64_t drops = specs_drops(h->specs) - h->spec_drops_seen;
	struct err *e = NULL;

	h->spec_drops_seen += drops;
	drops += sums->spec;
	if (drops)
		e = tell(h, (struct drop){REMEDY_SPEC, -1, drops}, "%" PRIu64 " speculative drop%s",
			 drops, PLURAL(drops));
	if (!e && sums->spec_busy)
		e = tell(h, (struct drop){REMEDY_SPECBUSY, -1, sums->spec_busy},
			 "%" PRIu64 " failed speculation%s (available buffer(s) still busy)",
			 sums->spec_busy, PLURAL(sums->spec_busy));
	if (!e && sums->spec_unavail)
		e = tell(h, (struct drop){REMEDY_SPECUNAVAIL, -1, sums->spec_unavail},
			 "%" PRIu64 " failed speculation%s (no speculative buffer available)",
			 sums->spec_unavail, PLURAL(sums->spec_unavail));
	return e;
}

struct err *session_report_drops(dtrace_hdl_t *h)
{
	struct sums sums = {0};
	struct err *e = report_held_faults(h);

	for (uint32_t cpu = 0; cpu < h->maps->ncpus && !e; cpu++)
		e = report_cpu(h, cpu, &sums);
	if (!e && sums.dyn)
		e = tell(h, (struct drop){REMEDY_DYNAMIC, -1, sums.dyn},
			 "%" PRIu64 " dynamic variable drop%s", sums.dyn, PLURAL(sums.dyn));
	if (!e)
		e = report_specs(h, &sums);
	if (!e && sums.dblerrors)
		e = tell(h, (struct drop){REMEDY_DBLERROR, -1, sums.dblerrors},
			 "%" PRIu64 " error%s in ERROR probe enabling", sums.dblerrors,
			 PLURAL(sums.dblerrors));
	return e;
}

/* Text of one fault to the handler, unless there were too many of late. */
static struct err *report_error(dtrace_hdl_t *h, const struct strbuf *text)
{
	if (h->faults++ >= FAULTS_MAX) {
		h->faults_held++;
		return NULL;
	}
	printer_notice(h->printer, &(struct print_notice){.name = "ERROR",
							  .cpu = -1,
							  .time = now_ns(),
							  .kind = -1,
							  .msg = strbuf_text(text)});
	if (report_tell(&h->report, &h->report.on_err, strbuf_text(text)))
		return NULL;
	return err_code(err_new("Abort due to error"), EDT_ERRABORT);
}

static enum remedy fault_remedy(const struct rt_rec_fault *f)
{
	switch ((enum dif_fault)f->fault.kind) {
	case DIF_FAULT_BADADDR:
		return f->in_scratch		   ? REMEDY_SCRATCH
		       : f->fault.value < 4096	   ? REMEDY_NULL
		       : f->fault.value >> 47 == 0 ? REMEDY_USER
						   : REMEDY_KERNEL;
	case DIF_FAULT_DIVZERO: return REMEDY_DIVZERO;
	case DIF_FAULT_NOSCRATCH: return REMEDY_NOSCRATCH;
	case DIF_FAULT_ILLOP: return REMEDY_ILLOP;
	case DIF_FAULT_NONE:
	case DIF_FAULT_BADALIGN:
	case DIF_FAULT_KPRIV:
	case DIF_FAULT_UPRIV:
	case DIF_FAULT_TUPOFLOW:
	case DIF_FAULT_BADSTACK:
	case DIF_FAULT_BADSIZE:
	case DIF_FAULT_BADINDEX: break;
	}
	return REMEDY_NONE;
}

struct err *session_report_fault(dtrace_hdl_t *h, const struct rt_rec_fault *f)
{
	struct strbuf text = {0};
	struct err *e;

	print_fault(h->printer, f, &text);
	add_remedy(h, fault_remedy(f), &text);
	e = report_error(h, &text);
	strbuf_deinit(&text);
	return e;
}

static uint32_t epid_of(const dtrace_hdl_t *h, uint32_t clause, uint32_t probe)
{
	const struct session_clause *sc = &h->clauses.data[clause];

	for (uint32_t i = 0; i < sc->n; i++)
		if (sc->probes[i]->id == probe)
			return h->layout->clauses[clause].first_epid + i;
	for (uint32_t i = sc->late.len; i-- > 0;)
		if (sc->late.data[i].probe == probe)
			return sc->late.data[i].epid;
	return 0;
}

void session_report_library_fault(dtrace_hdl_t *h, uint32_t clause, uint32_t probe, const char *msg)
{
	const struct probe *pr = probes_find(h->probes, probe);
	struct strbuf text = {0};

	strbuf_addf(&text,
		    "error on enabled probe ID %" PRIu32 " (ID %" PRIu32 ": %s:%s:%s:%s): %s\n",
		    epid_of(h, clause, probe), probe, pr ? pr->prov : "", pr ? pr->mod : "",
		    pr ? probe_func_shown(h->probes, pr) : "", pr ? pr->name : "", msg);
	err_destroy(
		report_error(h, &text)); /* printing has no way to stop here; the next fault will */
	strbuf_deinit(&text);
}
