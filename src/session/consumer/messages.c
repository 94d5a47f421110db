/* SPDX-License-Identifier: MIT */
/* Reports of lost records and of faults (d-language.md 7.1, 7.2). */
#include <fcntl.h>
#include <inttypes.h>

#include "arch/arch.h"
#include "base/text.h"
#include "consume/drops.h"
#include "keeper/keeper.h"
#include "privilege/privilege.h"
#include "session/consumer/consumer.h"

_Static_assert(DTRACEFLT_BADADDR == DIF_FAULT_BADADDR && DTRACEFLT_BADINDEX == DIF_FAULT_BADINDEX,
	       "codes of faults are public");

#define FAULTS_MAX 200 /* messages between two reads of the status; the rest is counted */

/* Remedies for losses; each is shown once a run, with the first message of its kind. */
enum remedy {
	REMEDY_PRINCIPAL,
	REMEDY_AGGREGATION,
	REMEDY_DYNAMIC,
	REMEDY_SPEC,
	REMEDY_SPECBUSY,
	REMEDY_SPECUNAVAIL,
	REMEDY_DBLERROR,
	REMEDY_STKSTR,
	REMEDY_HELPER,
	REMEDY_LIVE,
	REMEDY_NULL,
	REMEDY_HIDDEN,
	REMEDY_DIRFD,
	REMEDY_USER,
	REMEDY_SCRATCH,
	REMEDY_KERNEL,
	REMEDY_DIVZERO,
	REMEDY_NOSCRATCH,
	REMEDY_ILLOP,
	REMEDY_UPRIV,
	REMEDY_KPRIV,
	REMEDY_STRTOK,
	REMEDY_NONE,
};

/*
 * flag: how the user gives the option; least: the least value to suggest; OPT_COUNT = no option
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
	[REMEDY_STKSTR]      = { "STKSTROVERFLOW", "the names of a stack's frames did not fit", OPT_jstackstrsize,
				 "-x jstackstrsize=", 2048 },
	[REMEDY_HELPER]      = { "HELPERERROR", "from '[helper error]' on, frames of the language may be missing, or a name",
				 OPT_COUNT, NULL, 0 },
	[REMEDY_LIVE]        = { "LIVE",        "aggregations of live() do not count them", OPT_livesize,
				 "-x livesize=", 4000000 },
	[REMEDY_NULL]        = { NULL, "the pointer is not set: test it in the predicate", OPT_COUNT, NULL, 0 },
	[REMEDY_HIDDEN]      = { NULL, "the pointer is not set, or it has an address of the kernel, which is not shown without "
				       "dtrace_kernel", OPT_COUNT, NULL, 0 },
	[REMEDY_DIRFD]       = { NULL, "this is AT_FDCWD: openat() and other calls whose name ends in 'at' have a directory "
				       "in arg0, and the path in arg1", OPT_COUNT, NULL, 0 },
	[REMEDY_USER]        = { NULL, "addresses of a process are read by copyin() and copyinstr(); what it has "
				       "not touched yet can be read when the call returns", OPT_COUNT, NULL, 0 },
	[REMEDY_SCRATCH]     = { NULL, "this is memory of alloca() or copyin(), beyond the bytes that were asked for, or "
				       "of a clause that has ended", OPT_COUNT, NULL, 0 },
	[REMEDY_KERNEL]      = { NULL, "the kernel has nothing at this address: test the pointer in the predicate",
				 OPT_COUNT, NULL, 0 },
	[REMEDY_DIVZERO]     = { NULL, "test the divisor in the predicate", OPT_COUNT, NULL, 0 },
	[REMEDY_NOSCRATCH]   = { NULL, "take less at a time", OPT_scratchsize, "-x scratchsize=", 256 << 10 },
	[REMEDY_ILLOP]       = { NULL, "an argument is out of its range", OPT_COUNT, NULL, 0 },
	[REMEDY_STRTOK]      = { NULL, "strtok(NULL, ...) goes on with a text: call strtok(text, ...) before it in this firing",
				 OPT_COUNT, NULL, 0 },
	[REMEDY_UPRIV]       = { NULL, "stop() and raise() in processes of other users need CAP_KILL", OPT_COUNT, NULL, 0 },
	[REMEDY_KPRIV]       = { NULL, "reading memory of the kernel needs dtrace_kernel", OPT_COUNT, NULL, 0 },
	/* clang-format on */
};

/* Returns how much room the option gives the session now; 0 = there is no more to get. */
static uint64_t room_now(const struct consumer *c, enum opt_id id)
{
	const struct live *live = c->live;
	uint64_t now = (uint64_t)MAX(live->opts->val[id], 0);

	if ((id == OPT_bufsize && live->bufsize < now) ||
	    (id == OPT_aggsize && c->match->layout->opts.aggsize < now) ||
	    (id == OPT_dynvarsize && c->match->layout->opts.dynvarsize < now))
		return 0; /* it was lowered for want of memory */
	if (id == OPT_scratchsize)
		now = MAX(now, engines_scratch_size(&live->engines));
	return MAX(now, 1u);
}

/* Appends a suggestion of more room: at least four times the room now. */
static void add_room(struct consumer *c, enum remedy r, struct strbuf *out)
{
	enum opt_id id = remedies[r].opt;
	uint64_t now = id == OPT_COUNT ? 0 : room_now(c, id), size = remedies[r].least, max;

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

static void add_remedy(struct consumer *c, enum remedy r, struct strbuf *out)
{
	if (r == REMEDY_NONE || (c->remedies_given & (1u << r)))
		return;
	c->remedies_given |= 1u << r;
	strbuf_addf(out, "hint: %s", remedies[r].text);
	add_room(c, r, out);
	strbuf_addc(out, '\n');
}

/* For each kind of drop: the remedy, whose row has the tag, and the message. */
static const struct {
	enum remedy remedy;
	const char *before, *after; /* an "s" between them makes the plural */
} drop_kinds[] = {
	/* clang-format off */
	[DTRACEDROP_PRINCIPAL]   = { REMEDY_PRINCIPAL,   "drop", "" },
	[DTRACEDROP_AGGREGATION] = { REMEDY_AGGREGATION, "aggregation drop", "" },
	[DTRACEDROP_DYNAMIC]     = { REMEDY_DYNAMIC,     "dynamic variable drop", "" },
	[DTRACEDROP_SPEC]        = { REMEDY_SPEC,        "speculative drop", "" },
	[DTRACEDROP_SPECBUSY]    = { REMEDY_SPECBUSY,    "failed speculation",
				     " (available buffer(s) still busy)" },
	[DTRACEDROP_SPECUNAVAIL] = { REMEDY_SPECUNAVAIL, "failed speculation",
				     " (no speculative buffer available)" },
	[DTRACEDROP_DBLERROR]    = { REMEDY_DBLERROR,    "error", " in ERROR probe enabling" },
	[DTRACEDROP_STKSTROVERFLOW] = { REMEDY_STKSTR,   "jstack()/ustack() string table overflow", "" },
	[DTRACEDROP_HELPERERROR] = { REMEDY_HELPER,      "error", " in ustack helpers" },
	[DTRACEDROP_LIVE]        = { REMEDY_LIVE,        "object", " not followed by live()" },
	/* clang-format on */
};

/* Prints the drop into the output, if its form has room for notices. */
static void drop_print(struct consumer *c, const struct drop *d, const char *msg)
{
	printer_notice(c->printer, &(struct print_notice){.name = "DROP",
							  .cpu = d->cpu,
							  .time = now_ns(),
							  .kind = (int)d->kind,
							  .count = d->count,
							  .total = d->total,
							  .msg = msg});
}

/* Says of faults of ustack helpers which one was the first. */
static void first_fault_add(struct consumer *c, struct strbuf *out)
{
	struct strbuf text = {0};

	if (stacks_note(c->live->stacks, RT_NOTE_FAULT, &text))
		strbuf_addf(out, ", the first at %s", strbuf_text(&text));
	strbuf_deinit(&text);
}

static struct err *drop_report(void *ctx, const struct drop *d)
{
	struct consumer *c = ctx;
	enum remedy remedy = drop_kinds[d->kind].remedy;
	struct strbuf s = {0};
	bool go_on;

	if (opt_flag(c->live->opts, OPT_droptags))
		strbuf_addf(&s, "[DTRACEDROP_%s] ", remedies[remedy].tag);
	strbuf_addf(&s, "%" PRIu64 " %s%s%s", d->count, drop_kinds[d->kind].before,
		    PLURAL(d->count), drop_kinds[d->kind].after);
	if (d->cpu >= 0)
		strbuf_addf(&s, " on CPU %d", d->cpu);
	if (d->kind == DTRACEDROP_HELPERERROR)
		first_fault_add(c, &s);
	strbuf_addc(&s, '\n');
	drop_print(c, d, s.data);
	add_remedy(c, remedy, &s);
	go_on = report_drop(c->live->report, &(dtrace_dropdata_t){.dtdda_cpu = d->cpu,
								  .dtdda_kind = d->kind,
								  .dtdda_drops = d->count,
								  .dtdda_total = d->total,
								  .dtdda_msg = s.data});
	strbuf_deinit(&s);
	return go_on ? NULL : err_code(err_new("Abort due to drop"), EDT_DROPABORT);
}

/* Prints the fault into the output, if its form has room for notices. */
static void fault_print(struct consumer *c, const dtrace_errdata_t *fault)
{
	printer_notice(c->printer, &(struct print_notice){.name = "ERROR",
							  .cpu = fault->dteda_cpu,
							  .time = now_ns(),
							  .kind = -1,
							  .msg = fault->dteda_msg,
							  .fault = fault});
}

static struct err *held_faults_report(struct consumer *c)
{
	struct strbuf s = {0};
	uint32_t n = c->faults_held;
	dtrace_errdata_t fault = {.dteda_cpu = DTRACE_CPUALL,
				  .dteda_action = -1,
				  .dteda_offset = -1,
				  .dteda_fault = DTRACEFLT_UNKNOWN,
				  .dteda_count = n};
	bool go_on;

	c->faults = c->faults_held = 0;
	if (!n)
		return NULL;
	strbuf_addf(&s, "%" PRIu32 " more error%s on enabled probes not shown\n", n, PLURAL(n));
	fault.dteda_msg = strbuf_text(&s);
	fault_print(c, &fault);
	go_on = report_fault(c->live->report, &fault);
	strbuf_deinit(&s);
	return go_on ? NULL : err_code(err_new("Abort due to error"), EDT_ERRABORT);
}

static void fence_report(struct consumer *c)
{
	uint64_t n = keeper_fence_ended(attachments_made_keeper(c->live->attachments));

	if (n > c->fence_ended)
		report_adjusted(
			c->live->report,
			"%" PRIu64 " process%s with probes in %s code %s ended: %s "
			"executed a program that is not the user's (set-user-id, capabilities, "
			"not readable), into which breakpoints would have come\n"
			"trace it without probes of code, or start that program from a "
			"process that has none",
			n - c->fence_ended, WORD_FOR(n - c->fence_ended, "", "es"),
			WORD_FOR(n - c->fence_ended, "its", "their"),
			WORD_FOR(n - c->fence_ended, "was", "were"),
			WORD_FOR(n - c->fence_ended, "it", "each"));
	c->fence_ended = n;
}

struct err *consumer_report_drops(struct consumer *c)
{
	struct err *e = held_faults_report(c);

	fence_report(c);
	return e ? e : drops_report(c->drops, drop_report, c);
}

/* Passes one fault to the handler, unless there were too many of late. prov: of the probe. */
static struct err *report_error(struct consumer *c, dtrace_errdata_t *fault, uint32_t probe,
				const char *prov, uint32_t epid)
{
	struct probes *probes = c->probes;
	const struct probe *pr = probes_find(probes, probe);
	dtrace_eprobedesc_t edesc = {.dtepd_epid = epid, .dtepd_probeid = probe};
	const dtrace_probedesc_t pdesc = {probe, prov, pr ? pr->mod : "",
					  pr ? probe_func_shown(probes, pr) : "",
					  pr ? pr->name : ""};

	if (c->faults++ >= FAULTS_MAX) {
		c->faults_held++;
		return NULL;
	}
	edesc.dtepd_uarg = match_clause_of(c->match, epid, probe);
	fault->dteda_edesc = &edesc;
	fault->dteda_pdesc = &pdesc;
	fault->dteda_count = 1;
	fault_print(c, fault);
	if (report_fault(c->live->report, fault))
		return NULL;
	return err_code(err_new("Abort due to error"), EDT_ERRABORT);
}

/* Programs pass the number as an int, with the upper half of the register as it may be. */
static bool is_dirfd(uint64_t value)
{
	return value == (uint32_t)AT_FDCWD || value == (uint64_t)AT_FDCWD;
}

/* The object whose execution the fault has ended; NULL: it is not known. */
static const struct difo *fault_difo(const struct consumer *c, const struct rt_rec_fault *f)
{
	uint32_t i = match_clause_of(c->match, f->epid, f->rec.probe);
	const struct prog_clause *clause = c->match->clauses.data[i].clause;

	for (uint32_t k = 0; k < clause->nacts; k++) {
		const struct prog_act *act = &clause->acts[k];

		if (f->fault.action >= act->number && f->fault.action - act->number < act->nargs)
			return act->args[f->fault.action - act->number];
	}
	return clause->pred;
}

/* Whether the fault is that of strtok(NULL, ...) without a text. */
static bool is_in_strtok(const struct consumer *c, const struct rt_rec_fault *f)
{
	const struct difo *d = f->fault.value || f->fault.offset < 0 ? NULL : fault_difo(c, f);
	uint32_t i = (uint32_t)f->fault.offset / (uint32_t)sizeof(dif_insn);

	return d && i < d->code_len && DIF_INSN_OP(d->code[i]) == DIF_OP_CALL &&
	       DIF_INSN_INDEX(d->code[i]) == DIF_SUBR_STRTOK;
}

/* Whether the address of the fault may be one that the session is not told (rt/record.c). */
static bool is_hidden(const struct consumer *c, const struct rt_rec_fault *f)
{
	return f->fault.kind == DIF_FAULT_BADADDR && !f->fault.value &&
	       privileges_lack(c->live->privileges, LEVEL_KERNEL);
}

static enum remedy fault_remedy(const struct consumer *c, const struct rt_rec_fault *f)
{
	switch ((enum dif_fault)f->fault.kind) {
	case DIF_FAULT_BADADDR:
		return f->in_scratch			       ? REMEDY_SCRATCH
		       : is_in_strtok(c, f)		       ? REMEDY_STRTOK
		       : is_hidden(c, f)		       ? REMEDY_HIDDEN
		       : is_dirfd(f->fault.value)	       ? REMEDY_DIRFD
		       : f->fault.value < 4096		       ? REMEDY_NULL
		       : f->fault.value >> arch.user_bits == 0 ? REMEDY_USER
							       : REMEDY_KERNEL;
	case DIF_FAULT_DIVZERO: return REMEDY_DIVZERO;
	case DIF_FAULT_NOSCRATCH: return REMEDY_NOSCRATCH;
	case DIF_FAULT_ILLOP: return REMEDY_ILLOP;
	case DIF_FAULT_UPRIV: return REMEDY_UPRIV;
	case DIF_FAULT_KPRIV: return REMEDY_KPRIV;
	case DIF_FAULT_NONE:
	case DIF_FAULT_BADALIGN:
	case DIF_FAULT_TUPOFLOW:
	case DIF_FAULT_BADSTACK:
	case DIF_FAULT_BADSIZE:
	case DIF_FAULT_BADINDEX: break;
	}
	return REMEDY_NONE;
}

struct err *consumer_report_fault(struct consumer *c, const struct rt_rec_fault *f, uint32_t cpu)
{
	const struct probe *pr = probes_find(c->probes, f->rec.probe);
	char prov[PROBE_PROV_ROOM];
	struct strbuf text = {0};
	struct err *e;

	print_fault(c->printer, f, is_hidden(c, f), &text);
	add_remedy(c, fault_remedy(c, f), &text);
	e = report_error(c,
			 &(dtrace_errdata_t){.dteda_cpu = (int)cpu,
					     .dteda_action = (int)f->fault.action,
					     .dteda_offset = f->fault.offset,
					     .dteda_fault = (int)f->fault.kind,
					     .dteda_addr = f->fault.value,
					     .dteda_msg = strbuf_text(&text)},
			 f->rec.probe, pr ? probe_prov_shown(pr, f->pid, prov) : "", f->epid);
	strbuf_deinit(&text);
	return e;
}

void consumer_report_library_fault(struct consumer *c, uint32_t clause, uint32_t probe,
				   const char *msg)
{
	const struct probe *pr = probes_find(c->probes, probe);
	uint32_t epid = match_epid(c->match, clause, probe);
	char room[PROBE_PROV_ROOM];
	const char *prov = pr ? printer_provider(c->printer, pr, room) : "";
	struct strbuf text = {0};

	strbuf_addf(&text,
		    "error on enabled probe ID %" PRIu32 " (ID %" PRIu32 ": %s:%s:%s:%s): %s\n",
		    epid, probe, prov, pr ? pr->mod : "", pr ? probe_func_shown(c->probes, pr) : "",
		    pr ? pr->name : "", msg);
	/* a handler cannot stop the run here, while printing; it can at the next fault */
	err_destroy(report_error(c,
				 &(dtrace_errdata_t){.dteda_cpu = DTRACE_CPUALL,
						     .dteda_action = -1,
						     .dteda_offset = -1,
						     .dteda_fault = DTRACEFLT_LIBRARY,
						     .dteda_msg = strbuf_text(&text)},
				 probe, prov, epid));
	strbuf_deinit(&text);
}
