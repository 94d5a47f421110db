/* Makes headers and probe objects for programs with probes of their own. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "arch/arch.h"
#include "base/str.h"
#include "dtrace.h"
#include "session/session.h"
#include "usdt/classic.h"
#include "usdt/header.h"
#include "usdt/object.h"

/* Collects the providers of all programs that were compiled; there may be none. */
static struct err *providers_get(dtrace_hdl_t *h, struct arena *a,
				 const struct usdt_provider **ret_providers, uint32_t *ret_n)
{
	*ret_n = 0;
	if (!h->compiler.dsession)
		return NULL;
	return dsession_usdt(h->compiler.dsession, a, ret_providers, ret_n);
}

static bool has_clauses(const dtrace_hdl_t *h)
{
	for (uint32_t i = 0; i < h->compiler.progs.len; i++)
		if (h->compiler.progs.data[i]->prog->nclauses)
			return true;
	return false;
}

/* Says that clauses of ustack helpers do not get into the object. */
static void helpers_report(dtrace_hdl_t *h)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < h->compiler.progs.len; i++) {
		const struct prog *p = h->compiler.progs.data[i]->prog;

		for (uint32_t k = 0; k < p->nclauses; k++)
			n += strcmp(p->clauses[k]->desc.prov, "dtrace") == 0 &&
			     strcmp(p->clauses[k]->desc.mod, "helper") == 0;
	}
	if (n)
		report_notice(&h->report,
			      "%" PRIu32 " clause%s of ustack helpers left out: programs cannot "
			      "bring helpers along yet\nhint: a file of helpers/ in the D library "
			      "does the same (the guide, \"Write a ustack helper\")",
			      n, n == 1 ? "" : "s");
}

int dtrace_program_header(dtrace_hdl_t *dtp, FILE *fp, const char *name, const char *source)
{
	struct arena *a = arena_create();
	const struct usdt_provider *providers;
	struct strbuf text = {0};
	struct err *e;
	uint32_t n;

	e = providers_get(dtp, a, &providers, &n);
	if (!e && !n && has_clauses(dtp))
		e = err_hint(err_new("there is no provider in this program"),
			     "declare one: provider NAME { probe NAME(int); };");
	if (!e)
		e = usdt_header(providers, n, name, source, &text);
	if (!e && fputs(strbuf_text(&text), fp) == EOF)
		e = err_sys(errno, "cannot write the header");
	strbuf_deinit(&text);
	arena_destroy(a);
	return e ? report_fail(&dtp->report, e) : 0;
}

int dtrace_program_object(dtrace_hdl_t *dtp, int fd, unsigned int flags, int nobjs,
			  char *const objs[])
{
	bool is_32bit = flags & DTRACE_OBJECT_ILP32;
	struct object_kind kind = {.machine = is_32bit ? arch.elf.machine_32 : arch.elf.machine,
				   .is_32bit = is_32bit};
	struct arena *a = arena_create();
	const struct usdt_provider *providers;
	struct classic classic = {0};
	struct err *e;
	uint32_t n;

	/*
	 * A program without a provider makes an object that adds nothing: CPython's configure asks
	 * with "BEGIN{}" whether this dtrace has -G.
	 */
	e = providers_get(dtp, a, &providers, &n);
	if (!e)
		e = object_kind_of(objs, nobjs, &kind);
	if (!e)
		e = classic_replace(objs, nobjs, kind, providers, n, &classic);
	if (!e)
		e = object_write(providers, n, kind, fd);
	if (!e && classic.has_any)
		e = classic_define(fd, "the probe object", providers, n, &classic);
	if (!e)
		helpers_report(dtp);
	classic_deinit(&classic);
	arena_destroy(a);
	return e ? report_fail(&dtp->report, e) : 0;
}
