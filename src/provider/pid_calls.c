/* SPDX-License-Identifier: MIT */
/*
 * Probes at the calls of functions: pid123:MODULE:FUNCTION:call.
 *
 * The module is the one whose code has the calls, the function the one that is called, which may be
 * of another module. All calls of a function in a module are one probe. What a pattern of functions
 * matches is known before the code is searched, which is done once for each file and description.
 *
 * Calls are no part of the function that is called, so an empty name, which means all of a
 * function, does not mean them.
 */
#include "d/text/diag.h"
#include "image/calls.h"
#include "image/debugfile.h"
#include "provider/pid_request.h"

bool pid_calls_only(const struct pid_request *r)
{
	return strcmp(r->desc->name, "call") == 0;
}

/* ---- what is asked for ----------------------------------------------------------------------- */

static struct err *kind_err(const struct pid_request *r, const struct code_file *o)
{
	if (!r->is_exact || !pid_calls_only(r))
		return NULL;
	return err_code(err_hint(err_new("calls in '%s' cannot be probed: it is a program %s",
					 o->file.path, o->funcs->is_32bit ? "of 32 bits" : "of Go"),
				 "probe the function's entry"),
			DTAG_CODE(D_PROC_CREATEFAIL));
}

struct err *pid_calls_begin(struct pid_request *r, struct code_file *o)
{
	if (r->is_insn || !*r->desc->name || !glob_match(r->desc->name, "call"))
		return NULL;
	if (o->funcs->is_32bit || o->funcs->go.abi != GO_NONE)
		return kind_err(r, o);
	r->calls = calls_open(o->file.opened, r->env->files->limit, o->funcs, &o->image->text);
	return NULL;
}

void pid_calls_end(struct pid_request *r)
{
	calls_close(r->calls);
	r->calls = NULL;
	vec_deinit(&r->callees);
	memset(&r->callees, 0, sizeof(r->callees));
}

void pid_calls_want(struct pid_request *r, const struct func *fn)
{
	if (!r->calls)
		return;
	calls_want(r->calls, fn->addr, r->callees.len);
	vec_push(&r->callees, (struct pid_callee){.name = fn->name, .addr = fn->addr});
}

/* Wants those functions of other files that the description means. */
static void imports_want(struct pid_request *r)
{
	const char *pattern = r->desc->func;

	for (uint32_t i = 0; i < calls_imports(r->calls); i++) {
		const char *name = calls_import(r->calls, i);

		if (is_name(pattern) ? strcmp(pattern, name) != 0 : !glob_match(pattern, name))
			if (!pid_demangled_matches(r, name))
				continue;
		calls_import_want(r->calls, i, r->callees.len);
		vec_push(&r->callees, (struct pid_callee){.name = name});
	}
}

/* ---- probes ---------------------------------------------------------------------------------- */

static bool site_is(const struct place_code *code, uint32_t i, const struct code_file *o,
		    uint64_t off)
{
	return i < code->sites.len && code->sites.data[i].file == &o->file &&
	       code->sites.data[i].off == off;
}

/*
 * Whether the probe has the site: a description before this one may have asked for it. Then the
 * sites come in the same order again. Sites of one search ascend.
 */
static bool site_find(struct pid_callee *to, const struct code_file *o, uint64_t off)
{
	const struct place_code *code = &code_probe(to->pr)->code;
	const struct place_site *last = code->sites.len ? vec_last(&code->sites) : NULL;

	if (!last || last->file != &o->file || last->off < off)
		return false;
	while (to->nth_site < code->sites.len && (code->sites.data[to->nth_site].file != &o->file ||
						  code->sites.data[to->nth_site].off < off))
		to->nth_site++;
	if (site_is(code, to->nth_site, o, off))
		return true;
	for (uint32_t i = 0; i < code->sites.len; i++)
		if (site_is(code, i, o, off))
			return true;
	return false;
}

static void call_add(struct pid_request *r, struct code_file *o, const struct call *c)
{
	struct pid_callee *to = &r->callees.data[c->number];

	if (!to->pr) {
		to->pr = pid_probe_add(r, o, to->name, "call", SPOT_CALL);
		if (!code_probe(to->pr)->code.sites.len)
			pid_probe(to->pr)->callee = to->addr;
		probe_list_add(r->out, to->pr);
	}
	if (!site_find(to, o, c->off))
		vec_push(&code_probe(to->pr)->code.sites,
			 (struct place_site){.file = &o->file,
					     .off = c->off,
					     .rel = c->rel,
					     .is_tail = c->is_tail});
}

static struct err *calls_missing_err(const struct pid_request *r, const struct code_file *o)
{
	return err_code(err_hint(err_new("no instruction of '%s' calls '%s' by its name",
					 o->file.name, r->desc->func),
				 "calls through pointers are not seen, and inlined ones are none: "
				 "probe its entry"),
			DTAG_CODE(D_PROC_CREATEFAIL));
}

static struct err *calls_many_err(const struct pid_request *r, const struct code_file *o)
{
	if (r->is_exact)
		return err_code(err_hint(err_new("'%s' has too much code, or too many calls",
						 o->file.name),
					 "raise the option elfsize, or name fewer functions"),
				DTAG_CODE(D_PROC_CREATEFAIL));
	env_notice(r->env, "'%s' has too much code, or too many calls: they are not probed",
		   o->file.name);
	return NULL;
}

struct err *pid_calls_add(struct pid_request *r, struct code_file *o)
{
	call_vec found = {0};
	struct err *e = NULL;

	if (!r->calls)
		return NULL;
	imports_want(r);
	r->nfound += r->callees.len;
	if (!r->callees.len)
		return NULL;
	if (!calls_find(r->calls, &found))
		e = calls_many_err(r, o);
	else if (!found.len && r->is_exact && pid_calls_only(r))
		e = calls_missing_err(r, o);
	else
		for (uint32_t i = 0; i < found.len; i++)
			call_add(r, o, &found.data[i]);
	vec_deinit(&found);
	return e;
}
