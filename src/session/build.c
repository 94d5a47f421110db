/* SPDX-License-Identifier: MIT */
/* Makes headers and probe objects for programs with probes of their own. */
#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "base/str.h"
#include "d/text/source.h"
#include "dtrace.h"
#include "session/session.h"
#include "usdt/classic.h"
#include "usdt/dof_prog.h"
#include "usdt/header.h"
#include "usdt/object.h"
#include "helper/helper.h"

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

/* ---- ustack helpers -------------------------------------------------------------------------- */

static uint32_t line_of(void *ctx, uint32_t span)
{
	return source_locate(dsession_sources(((dtrace_hdl_t *)ctx)->compiler.dsession), span).line;
}

/* The name of the file that has the clause, without folders. */
static const char *file_of(const dtrace_hdl_t *h, const struct prog_clause *cl)
{
	const char *path = source_locate(dsession_sources(h->compiler.dsession), cl->span).file;

	return !path || !*path ? "-n" : basename(path);
}

/* Checks what was written as the tracer will check it in a process. */
static struct err *image_check(const struct dof_image *image)
{
	struct arena *a = arena_create();
	struct dof_prog *p;
	uint32_t n;
	struct err *e = dof_progs_read(image->bytes.data, image->bytes.len, a, &p, &n);

	if (!e && n)
		e = helper_check_carried(&p[0]);
	arena_destroy(a);
	return e;
}

/* Adds an image for the clauses of ustack helpers that a program has. */
static struct err *helper_write(dtrace_hdl_t *h, const struct prog *p, struct dof_image *out)
{
	struct prog_clause **list = xcalloc(p->nclauses + 1, sizeof(struct prog_clause *));
	struct dof_image image = {0};
	struct err *e = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nclauses; i++)
		if (helper_is_clause(p->clauses[i]))
			list[n++] = p->clauses[i];
	if (n) {
		dof_prog_write(list, n, file_of(h, list[0]), line_of, h, &image);
		e = image_check(&image);
	}
	for (uint32_t i = 0; i < image.bytes.len; i++)
		vec_push(&out->bytes, image.bytes.data[i]);
	dof_image_deinit(&image);
	free(list);
	return e;
}

static struct err *helpers_write(dtrace_hdl_t *h, struct object_kind kind, struct dof_image *out)
{
	struct err *e = NULL;

	for (uint32_t i = 0; i < h->compiler.progs.len && !e; i++)
		e = helper_write(h, h->compiler.progs.data[i]->prog, out);
	if (!e && out->bytes.len && kind.is_32bit)
		e = err_hint(err_new("ustack helpers are for 64-bit programs"),
			     "for a 32-bit program, compile the providers alone");
	return e;
}

/*
 * Says which clauses are not in the object. This is no error: CPython's configure asks with
 * "BEGIN{}" whether this dtrace has -G.
 */
static void clauses_left_out(dtrace_hdl_t *h)
{
	const struct prog_clause *first = NULL;
	uint32_t n = 0;

	for (uint32_t i = 0; i < h->compiler.progs.len; i++) {
		const struct prog *p = h->compiler.progs.data[i]->prog;

		for (uint32_t k = 0; k < p->nclauses; k++) {
			if (helper_is_clause(p->clauses[k]))
				continue;
			first = first ? first : p->clauses[k];
			n++;
		}
	}
	if (n)
		report_notice(
			&h->report,
			"%u clause%s left out of the object (the first one: %s:%u): it carries "
			"only those of dtrace:helper:ustack: and dtrace:helper:attach:",
			n, n == 1 ? " is" : "s are", file_of(h, first), line_of(h, first->span));
}

/* ---- headers and objects --------------------------------------------------------------------- */

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
	struct dof_image helpers = {0};
	struct classic classic = {0};
	struct err *e;
	uint32_t n;
	SESSION_CALL(dtp);

	/* A program without a provider makes an object that adds nothing. */
	e = providers_get(dtp, a, &providers, &n);
	if (!e)
		e = object_kind_of(objs, nobjs, &kind);
	if (!e)
		e = helpers_write(dtp, kind, &helpers);
	if (!e)
		e = classic_replace(objs, nobjs, kind, providers, n, &classic);
	if (!e)
		e = object_write(providers, n, &helpers, kind, fd);
	if (!e && classic.has_any)
		e = classic_define(fd, "the probe object", providers, n, &classic);
	if (!e)
		clauses_left_out(dtp);
	dof_image_deinit(&helpers);
	classic_deinit(&classic);
	arena_destroy(a);
	return e ? report_fail(&dtp->report, e) : 0;
}
