/* SPDX-License-Identifier: MIT */
/* Provider pid: functions and instructions of processes (providers.md 19). */
#include <errno.h>
#include <inttypes.h>

#include "arch/arch.h"
#include "d/text/diag.h"
#include "image/exits.h"
#include "image/insn.h"
#include "image/demangle.h"
#include "d/types/import_dwarf.h"
#include "privilege/privilege.h"
#include "provider/pid_request.h"
#include "target/maps.h"
#include "target/target.h"

#define PROVIDER   "pid"
#define MAX_PROBES (4u << 20)

/* ---- which process --------------------------------------------------------------------------- */

static const char *digits_of(const char *prov)
{
	const char *p = prov + strlen(prov);

	while (p > prov && p[-1] >= '0' && p[-1] <= '9')
		p--;
	return p;
}

/*
 * True for a pattern such as "pid*", which stands for the matching processes of -c and -p. "*" and
 * "" do not stand for processes.
 */
static bool is_for_several(const struct probe_desc *desc)
{
	return strncmp(desc->prov, PROVIDER, strlen(PROVIDER)) == 0 &&
	       !glob_is_literal(desc->prov) && !*digits_of(desc->prov);
}

/* True for a pattern such as "p*123", which means programs' own probes in that process, too. */
static bool is_for_others(const struct probe_desc *desc)
{
	return strncmp(desc->prov, PROVIDER, strlen(PROVIDER)) != 0;
}

/* True for a pattern such as "pid*", for "pid123", and for a pattern of "pid" before a number. */
static bool pid_concerns(const struct provider *pv, const struct probe_desc *desc)
{
	const char *digits = digits_of(desc->prov);
	char head[64];

	if (is_for_several(desc))
		return true;
	if (!*digits || digits == desc->prov || (size_t)(digits - desc->prov) >= sizeof(head))
		return false;
	(void)snprintf(head, sizeof(head), "%.*s", (int)(digits - desc->prov), desc->prov);
	return glob_match(head, PROVIDER);
}

static struct err *pid_parse(const struct probe_desc *desc, pid_t *ret)
{
	const char *digits = digits_of(desc->prov);
	unsigned long long n;

	errno = 0;
	n = strtoull(digits, NULL, 10);
	if (errno || !n || n > INT32_MAX)
		return err_code(err_hint(err_new("'%s' is not the id of a process", digits),
					 "give one as -p PID and write pid$target"),
				DTAG_CODE(D_PROC_BADPID));
	*ret = (pid_t)n;
	return NULL;
}

struct err *pid_of(const struct provider_env *env, const struct probe_desc *desc, uint32_t i,
		   pid_t *ret)
{
	char name[32];
	uint32_t n = 0;
	pid_t pid;

	*ret = 0;
	if (!is_for_several(desc))
		return i ? NULL : pid_parse(desc, ret);
	for (uint32_t k = 0; (pid = env_process(env, k)); k++) {
		(void)snprintf(name, sizeof(name), PROVIDER "%d", (int)pid);
		if (glob_match(desc->prov, name) && n++ == i) {
			*ret = pid;
			return NULL;
		}
	}
	return NULL;
}

/* ---- registering ----------------------------------------------------------------------------- */

static struct pid_probe *probe_create(struct pid_request *r, enum code_spot spot)
{
	struct pid_probe *pp = xcalloc(1, sizeof(*pp));

	pp->target = r->target;
	pp->probe.spot = spot;
	pp->probe.code.pid = r->target->pid;
	pp->probe.code.at = r->target->at;
	code_probe_add(r->env, &r->st->code, &pp->probe, r->st->code.batch);
	return pp;
}

void pid_probe_destroy(struct pid_state *st, struct pid_probe *pp)
{
	code_probe_drop(&st->code, &pp->probe);
	vec_deinit(&pp->probe.code.sites);
	free(pp);
}

/*
 * Clears the instructions of a probe that an earlier batch has created: a file of the present batch
 * has a function of the same name.
 */
static void probe_renew(const struct pid_request *r, struct pid_probe *pp)
{
	code_probe_renew(r->env, &r->st->code, &pp->probe);
	pp->probe.code.at = pp->target->at;
	vec_clear(&pp->probe.code.sites);
}

static bool has_site(const struct place_code *code, const struct code_file *o, uint64_t off)
{
	for (uint32_t i = 0; i < code->sites.len; i++)
		if (code->sites.data[i].file == &o->file && code->sites.data[i].off == off)
			return true;
	return false;
}

struct probe *pid_probe_add(struct pid_request *r, const struct code_file *o, const char *func,
			    const char *name, enum code_spot spot)
{
	struct probe *pr =
		probes_add_as(r->env->probes, r->pv, r->prov, o->file.name, func, name, 0);
	bool is_new = true; /* this batch does not have the probe yet */

	if (!pr->data)
		pr->data = (uintptr_t)probe_create(r, spot);
	else if (code_probe(pr)->batch != r->st->code.batch)
		probe_renew(r, pid_probe(pr));
	else
		is_new = false;
	if (is_new && r->st->code.batch)
		code_batch_add(&r->st->code, pr);
	code_probe(pr)->code.is_exact |= r->is_exact;
	return pr;
}

static void add_site(struct probe *pr, struct code_file *o, uint64_t off, uint32_t rel,
		     bool is_tail)
{
	if (!has_site(&code_probe(pr)->code, o, off))
		vec_push(&code_probe(pr)->code.sites, (struct place_site){.file = &o->file,
									  .off = off,
									  .rel = rel,
									  .is_tail = is_tail});
}

/* ---- the three kinds of probes of a function ------------------------------------------------- */

static struct err *code_unreadable_err(const struct pid_request *r, const struct code_file *o,
				       const struct func *fn)
{
	if (!r->is_exact)
		return NULL;
	return err_code(err_new("cannot read the code of '%s' in '%s'", fn->name, o->file.path),
			DTAG_CODE(D_PROC_CREATEFAIL));
}

static const char *list_command(const struct pid_request *r, const char *mod, const char *func,
				const char *name)
{
	const struct probe_desc desc = {r->prov, mod, func, name, 0, false, 0};

	return probes_list_command(r->env->probes, &desc);
}

static struct err *insn_refused_err(const struct pid_request *r, const char *func, uint32_t off)
{
	if (!r->is_exact)
		return NULL;
	return err_code(err_hint(err_new("the kernel places no probe on the instruction at '%s'+%x",
					 func, off),
				 "probe one after it: %s lists them",
				 list_command(r, "", func, "")),
			DTAG_CODE(D_PROC_CREATEFAIL));
}

static struct err *add_entry(struct pid_request *r, struct code_file *o, const struct func *fn)
{
	const uint8_t *code;
	struct probe *pr;
	uint32_t skip;

	if (!text_at(&o->image->text, fn->off, MIN(fn->size, CODE_ENTRY_BYTES)))
		return code_unreadable_err(r, o, fn);
	if (!code_entry_find(o, fn, &skip))
		return insn_refused_err(r, fn->name, 0);
	code = text_at(&o->image->text, fn->off + skip, MIN(fn->size, CODE_ENTRY_BYTES) - skip);
	if (!code || arch.insns->is_refused(code, MIN(fn->size, CODE_ENTRY_BYTES) - skip))
		return insn_refused_err(r, fn->name, skip);
	pr = pid_probe_add(r, o, fn->name, "entry", code_entry_spot(o, fn));
	add_site(pr, o, fn->off + skip, 0, false);
	probe_list_add(r->out, pr);
	return NULL;
}

static struct err *exits_missing_err(const struct pid_request *r, const struct func *fn)
{
	if (!r->is_exact || !is_name(r->desc->name))
		return NULL;
	return err_code(err_hint(err_new("function '%s' has no instruction that returns", fn->name),
				 "it ends the program or throws; probe its entry"),
			DTAG_CODE(D_PROC_CREATEFAIL));
}

static struct err *add_return(struct pid_request *r, struct code_file *o, const struct func *fn)
{
	struct func_exits exits = {0};
	struct err *e = NULL;

	if (!func_exits_find(o->funcs, fn, &o->image->text, &exits)) {
		e = code_unreadable_err(r, o, fn);
	} else if (!exits.list.len) {
		e = exits_missing_err(r, fn);
	} else {
		struct probe *pr = pid_probe_add(r, o, fn->name, "return", code_return_spot(o, fn));

		for (uint32_t i = 0; i < exits.list.len; i++) {
			const struct func_exit *x = &exits.list.data[i];

			add_site(pr, o, x->off, x->rel, x->is_tail);
		}
		probe_list_add(r->out, pr);
	}
	vec_deinit(&exits.list);
	return e;
}

/* True for a nop that this kernel would replace by a call (INSN_NOP5). */
static bool is_unsafe_nop(const struct code_file *o, const struct insn *in)
{
	return in->kind == INSN_NOP5 && !o->funcs->is_32bit && feat_has(FEAT_UPROBE_NOP5);
}

static void add_insn(struct pid_request *r, struct code_file *o, const struct func *fn,
		     const char *func, const struct insn *in, const char *name)
{
	struct probe *pr = pid_probe_add(r, o, func, name, SPOT_INSN);

	add_site(pr, o, fn->off + in->off, in->off, false);
	probe_list_add(r->out, pr);
}

/* Adds a probe for each instruction whose offset the pattern matches. */
static struct err *add_insns(struct pid_request *r, struct code_file *o, const struct func *fn,
			     const struct insns *s)
{
	char name[16];

	for (uint32_t i = 0; i < s->list.len; i++) {
		const struct insn *in = &s->list.data[i];

		(void)snprintf(name, sizeof(name), "%x", in->off);
		if (!glob_match(r->desc->name, name) || is_unsafe_nop(o, in) || in->is_refused)
			continue;
		if (r->st->code.probes.len >= MAX_PROBES)
			return err_hint(err_new("more than %u probes", MAX_PROBES),
					"name functions or probes instead of leaving them open");
		add_insn(r, o, fn, fn->name, in, name);
	}
	return NULL;
}

static struct err *offset_misaligned_err(const struct pid_request *r, const struct func *fn,
					 const struct insns *s)
{
	uint32_t before = 0, after = 0;

	for (uint32_t i = 0; i < s->list.len && !after; i++) {
		if (s->list.data[i].off < r->insn)
			before = s->list.data[i].off;
		else
			after = s->list.data[i].off;
	}
	return err_code(err_hint(err_new("offset %" PRIx64 " of '%s' is inside an instruction",
					 r->insn, fn->name),
				 "instructions begin at %x and %x", before, after),
			DTAG_CODE(D_PROC_ALIGN));
}

static struct err *nop_unsafe_err(const struct pid_request *r, const struct func *fn)
{
	return err_code(err_hint(err_new("offset %" PRIx64
					 " of '%s' is a 5-byte nop: this kernel would "
					 "turn it into a call, which may end the process",
					 r->insn, fn->name),
				 "probe the instruction before or after it"),
			DTAG_CODE(D_PROC_ALIGN));
}

/*
 * Takes over the error for an offset that a function does not have. If the description names module
 * and function, this is an error at once. If it names only the function, it is an error only when
 * no file has a function with this offset. If the function is a pattern, it is no error.
 */
static struct err *note_offset(struct pid_request *r, struct err *e)
{
	if (r->is_exact)
		return e;
	if (is_name(r->desc->func) && !r->bad_offset)
		r->bad_offset = e;
	else
		err_destroy(e);
	return NULL;
}

/* Adds the probe for the one instruction whose offset is the name in the description. */
static struct err *add_exact_insn(struct pid_request *r, struct code_file *o, const struct func *fn,
				  const struct insns *s)
{
	const struct insn *in;

	if (r->insn >= fn->size)
		return note_offset(r, err_code(err_new("offset %" PRIx64
						       " lies beyond '%s', which has "
						       "%" PRIx64 " bytes",
						       r->insn, fn->name, fn->size),
					       DTAG_CODE(D_PROC_OFF)));
	in = insns_find(s, (uint32_t)r->insn);
	if (in && in->is_refused)
		return insn_refused_err(r, fn->name, in->off);
	if (!in || is_unsafe_nop(o, in))
		return note_offset(r, in ? nop_unsafe_err(r, fn) : offset_misaligned_err(r, fn, s));
	add_insn(r, o, fn, fn->name, in, r->desc->name);
	return NULL;
}

static struct err *add_offsets(struct pid_request *r, struct code_file *o, const struct func *fn)
{
	const uint8_t *code = text_at(&o->image->text, fn->off, fn->size);
	struct insns s;
	struct err *e;

	if (!code)
		return code_unreadable_err(r, o, fn);
	(fn->is_sized ? insns_decode : insns_follow)(code, (uint32_t)fn->size, o->funcs->is_32bit,
						     &s);
	e = r->is_insn ? add_exact_insn(r, o, fn, &s) : add_insns(r, o, fn, &s);
	insns_deinit(&s);
	return e;
}

/* ---- names of probes ------------------------------------------------------------------------- */

/* True if a pattern could match an offset: all its letters are hexadecimal digits. */
static bool may_be_offset(const char *pattern)
{
	return strspn(pattern, "0123456789abcdef*?[]-!\\") == strlen(pattern);
}

static bool parse_offset(const char *name, uint64_t *ret)
{
	char *end;

	if (strspn(name, "0123456789abcdefABCDEF") != strlen(name) || strlen(name) > 16)
		return false;
	*ret = strtoull(name, &end, 16);
	return true;
}

static struct err *check_name(struct pid_request *r)
{
	const char *name = r->desc->name;

	if (!is_name(name) || strcmp(name, "entry") == 0 || strcmp(name, "return") == 0 ||
	    pid_calls_only(r))
		return NULL;
	r->is_insn = parse_offset(name, &r->insn);
	if (r->is_insn)
		return NULL;
	return err_code(err_hint(err_new("'%s' is no probe of a function", name),
				 "there are entry, return, call, and offsets of instructions in "
				 "hexadecimal (1f)"),
			DTAG_CODE(D_PROC_NAME));
}

static struct err *ifunc_unchosen_err(const struct pid_request *r, const struct func *fn)
{
	if (!r->is_exact)
		return NULL;
	return err_code(
		err_hint(err_new("'%s' is an indirect function, and process %d has not chosen an "
				 "implementation yet",
				 fn->name, (int)r->target->pid),
			 "try again when it has been called; with -c: -x evaltime=main"),
		DTAG_CODE(D_PROC_FUNC));
}

static struct err *add_code(struct pid_request *r, struct code_file *o, const struct func *fn)
{
	const char *name = r->desc->name;
	struct err *e = NULL;

	if (r->is_insn)
		return add_offsets(r, o, fn);
	if (glob_match(name, "entry"))
		e = add_entry(r, o, fn);
	if (!e && glob_match(name, "return"))
		e = add_return(r, o, fn);
	if (!e && may_be_offset(name))
		e = add_offsets(r, o, fn);
	if (!e && r->st->code.probes.len >= MAX_PROBES)
		e = err_new("more than %u probes", MAX_PROBES);
	return e;
}

static struct err *add_function(struct pid_request *r, struct code_file *o, const struct func *fn)
{
	struct func code = *funcs_preferred(o->funcs, fn);

	r->nfound++;
	pid_calls_want(r, &code);
	if (pid_calls_only(r))
		return NULL;
	if (fn->is_ifunc && !code_file_chosen(r->target, o, fn, &code))
		return ifunc_unchosen_err(r, fn);
	code.name = code_file_code_name(o, &code);
	return add_code(r, o, &code);
}

/* ---- functions ------------------------------------------------------------------------------- */

bool pid_demangled_matches(struct pid_request *r, const char *name)
{
	const char *pattern = r->desc->func, *text;

	if (!is_mangled(name) || is_mangled(pattern))
		return false;
	arena_reset(r->tmp);
	text = demangle_bare(r->tmp, name);
	if (text == name)
		return false;
	return glob_match(pattern, text) || glob_match(pattern, demangle(r->tmp, name));
}

static struct err *add_demangled(struct pid_request *r, struct code_file *o)
{
	for (uint32_t i = 0; i < o->funcs->list.len; i++) {
		const struct func *fn = &o->funcs->list.data[i];
		struct err *e = NULL;

		if (fn->is_canonical && !fn->is_part && pid_demangled_matches(r, fn->name))
			e = add_function(r, o, fn);
		if (e)
			return e;
	}
	return NULL;
}

static struct err *add_named(struct pid_request *r, struct code_file *o)
{
	const struct func *fn = funcs_find(o->funcs, r->desc->func);

	if (!fn)
		return add_demangled(r, o);

	while (fn) {
		struct err *e = add_function(r, o, fn);

		if (e)
			return e;
		fn = fn->next ? &o->funcs->list.data[fn->next - 1] : NULL;
	}
	return NULL;
}

static bool function_is_meant(struct pid_request *r, const struct func *fn)
{
	return !fn->is_startup && !fn->is_part && fn->is_sized &&
	       (glob_match(r->desc->func, fn->name) || pid_demangled_matches(r, fn->name));
}

/* Adds the matching functions that are, or are not, indirect; of one address only the first. */
static struct err *add_kind(struct pid_request *r, struct code_file *o, bool is_ifunc)
{
	uint64_t last = UINT64_MAX;

	for (uint32_t i = 0; i < o->funcs->list.len; i++) {
		const struct func *fn = &o->funcs->list.data[i];
		struct err *e;

		if (fn->is_ifunc != is_ifunc || fn->addr == last || !function_is_meant(r, fn))
			continue;
		last = fn->addr;
		e = add_function(r, o, fn);
		if (e)
			return e;
	}
	return NULL;
}

/*
 * Adds indirect functions before all others: the implementations that they have chosen get their
 * names.
 */
static struct err *add_matching(struct pid_request *r, struct code_file *o)
{
	struct err *e = o->funcs->has_ifuncs ? add_kind(r, o, true) : NULL;

	return e ? e : add_kind(r, o, false);
}

/* ---- absolute addresses ---------------------------------------------------------------------- */

static struct err *check_absolute(const struct pid_request *r)
{
	const char *mod = r->desc->mod;

	if (*mod && !is_name(mod))
		return err_code(
			err_hint(err_new("function '-' means an address of one file, not of '%s'",
					 mod),
				 "name the module; empty, or a.out, is the program"),
			DTAG_CODE(D_PROC_LIB));
	if (!r->is_insn)
		return err_code(err_hint(err_new("function '-' needs an address, not '%s'",
						 r->desc->name),
					 "write it in hexadecimal: pid$target::-:4011a0"),
				DTAG_CODE(D_PROC_NAME));
	return NULL;
}

static bool object_is_asked(const struct pid_request *r, const struct code_file *o)
{
	return !r->is_new || o->batch == r->st->code.batch;
}

/* The file of an address: the program, or the module that is named; NULL: it is not mapped. */
static struct code_file *addressed_object(const struct pid_request *r)
{
	const struct code_process *t = r->target;
	bool is_program = !*r->desc->mod || strcmp(r->desc->mod, "a.out") == 0;

	for (uint32_t i = 0; i < t->objects.len; i++)
		if (is_program ? t->objects.data[i]->is_main
			       : code_file_matches(t->objects.data[i], r->desc->mod))
			return t->objects.data[i];
	return NULL;
}

/* Converts an address to a file offset; it is an address of the running process, or as linked. */
static bool address_to_off(const struct pid_request *r, const struct code_file *o,
			   uint64_t *ret_off)
{
	const struct proc_map *m = proc_maps_find(target_maps(r->target->target), r->insn);

	if (m && m->is_exec && proc_map_is_of(m, &o->file.inode)) {
		*ret_off = r->insn - m->start + m->off;
		return true;
	}
	return funcs_off(o->funcs, r->insn, ret_off);
}

static struct err *address_missing_err(const struct pid_request *r, const struct code_file *o)
{
	return err_code(err_new("address %" PRIx64 " is not in the code of '%s'", r->insn,
				o->file.name),
			DTAG_CODE(D_PROC_OFF));
}

/* The file has no symbol there, so whether an instruction begins at the address is not known. */
static struct err *address_unknown_err(const struct pid_request *r, const struct code_file *o)
{
	return err_code(err_hint(err_new("address %" PRIx64 " is in no function of '%s' that has a "
					 "symbol: it needs proc_owner",
					 r->insn, o->file.name),
				 "name a function, or an address within one"),
			DTAG_CODE(D_PROC_OFF));
}

/*
 * Checks that an instruction begins at the file offset. Without the symbol of the function, the
 * boundaries are not known, and the user is trusted; one with levels is not, because a breakpoint
 * stays where a program of others is executed that has the file mapped.
 */
static struct err *check_address(struct pid_request *r, struct code_file *o, uint64_t off)
{
	const struct func *fn = funcs_at_off(o->funcs, off);
	const uint8_t *code = fn ? text_at(&o->image->text, fn->off, fn->size) : NULL;
	struct pid_request within = *r;
	struct insns s;
	struct err *e = NULL;

	if (!code && privileges_lack(r->env->privileges, LEVEL_PROC_OWNER))
		return address_unknown_err(r, o);
	if (!code)
		return text_at(&o->image->text, off, 1) ? NULL : address_missing_err(r, o);
	within.insn = off - fn->off;
	insns_decode(code, (uint32_t)fn->size, o->funcs->is_32bit, &s);
	if (!insns_find(&s, (uint32_t)within.insn))
		e = offset_misaligned_err(&within, fn, &s);
	insns_deinit(&s);
	return e;
}

/* Adds the probe at an address of the file. */
static struct err *add_address(struct pid_request *r, struct code_file *o)
{
	struct probe *pr;
	struct err *e;
	uint64_t off;

	if (!address_to_off(r, o, &off))
		return address_missing_err(r, o);
	e = check_address(r, o, off);
	if (e)
		return e;
	r->is_exact = true;
	pr = pid_probe_add(r, o, "-", r->desc->name, SPOT_INSN);
	add_site(pr, o, off, 0, false);
	probe_list_add(r->out, pr);
	return NULL;
}

static struct err *object_refused_err(const struct code_file *o, const struct err *why)
{
	struct err *e = err_new("'%s' cannot be probed: %s", o->file.path, err_text(why));

	if (err_get_hint(why))
		e = err_hint(e, "%s", err_get_hint(why));
	return err_code(e, DTAG_CODE(D_PROC_LIB));
}

static struct err *collect_absolute(struct pid_request *r)
{
	struct err *e = check_absolute(r);
	struct code_file *o = e ? NULL : addressed_object(r);
	const struct err *why;

	if (e || (o && !object_is_asked(r, o)))
		return e;
	if (!o && *r->desc->mod && strcmp(r->desc->mod, "a.out") != 0)
		return NULL; /* as of a function: the module may come */
	why = o ? code_file_hold(r->target, o) : NULL;
	if (why && !o->is_main)
		return object_refused_err(o, why);
	if (!o || why)
		return err_code(err_new("the program of process %d cannot be read%s%s",
					(int)r->target->pid, why ? ": " : "",
					why ? err_text(why) : ""),
				DTAG_CODE(D_PROC_LIB));
	e = add_address(r, o);
	code_file_rest(o);
	return e;
}

/* ---- descriptions ---------------------------------------------------------------------------- */

static struct err *collect_object(struct pid_request *r, struct code_file *o)
{
	const struct err *why = code_file_hold(r->target, o);
	struct err *e;

	if (why)
		return is_name(r->desc->mod) ? object_refused_err(o, why) : NULL;
	e = pid_calls_begin(r, o);
	if (!e)
		e = is_name(r->desc->func) ? add_named(r, o) : add_matching(r, o);
	if (!e)
		e = pid_calls_add(r, o);
	pid_calls_end(r);
	code_file_rest(o);
	return e;
}

/* Returns the function of the file whose name is the nearest to the one that was asked for. */
static const char *function_near(const struct pid_request *r, struct code_file *o)
{
	const char **names, *near;

	if (code_file_hold(r->target, o))
		return NULL;
	names = ARENA_NEW_N(r->env->arena, const char *, o->funcs->list.len + 1);
	for (uint32_t i = 0; i < o->funcs->list.len; i++)
		names[i] = o->funcs->list.data[i].name;
	near = diag_nearest(r->desc->func, names, o->funcs->list.len);
	near = near ? arena_strdup(r->env->arena, near) : NULL;
	code_file_rest(o);
	return near;
}

/* Returns a hint how to probe a file without functions; NULL if the file has functions. */
static const char *hint_nameless(struct provider_env *env, struct code_process *t,
				 struct code_file *o)
{
	bool has_names;

	if (!o->image || code_file_hold(t, o))
		return NULL;
	has_names = o->funcs->list.len;
	code_file_rest(o);
	if (has_names)
		return NULL;
	return arena_printf(
		env->arena, "'%s' has no symbols that can be read%s", o->file.name,
		o->is_main ? ": pid$target:a.out:-:ADDRESS probes an instruction by its address, "
			     "pid$target:a.out::call what the program calls"
			   : "");
}

static struct err *function_missing_err(const struct pid_request *r, struct code_file *o)
{
	const char *near;
	struct err *e = err_code(err_new("function '%s' is not in '%s' of process %d",
					 r->desc->func, o->file.name, (int)r->target->pid),
				 DTAG_CODE(D_PROC_FUNC));

	if (r->is_new) /* no hint while processes are traced: they may map very many such files */
		return e;
	if (o->has_doubted)
		return err_hint(e,
				"its debug file is not used, for others than root and the owner of "
				"'%s' can change it: that needs proc_owner",
				o->file.name);
	near = pid_inlined_hint(r->env, r->target, o, r->desc->func);
	if (near)
		return err_hint(e, "%s", near);
	near = function_near(r, o);
	if (near)
		return err_hint(e, "did you mean '%s'?", near);
	near = pid_calls_only(r) ? NULL : hint_nameless(r->env, r->target, o);
	if (near)
		return err_hint(e, "%s", near);
	return err_hint(e, "%s lists what there is",
			list_command(r, o->file.name, "", pid_calls_only(r) ? "call" : "entry"));
}

static struct err *collect_functions(struct pid_request *r)
{
	struct code_file *last = NULL;
	uint32_t nbefore = r->out->probes.len;
	struct err *e = NULL;

	for (uint32_t i = 0; i < r->target->objects.len; i++) {
		struct code_file *o = r->target->objects.data[i];

		if (!object_is_asked(r, o) || !code_file_matches(o, r->desc->mod))
			continue;
		last = o;
		e = collect_object(r, o);
		if (e)
			return e;
	}
	if (r->is_exact && last && !r->nfound)
		return function_missing_err(r, last);
	if (r->out->probes.len == nbefore && !r->is_new) {
		e = r->bad_offset;
		r->bad_offset = NULL;
	}
	return e;
}

/* Adds the probes in one process. */
static struct err *collect_process(struct pid_request *r, pid_t pid)
{
	struct err *e = code_process_get(r->env, &r->st->code, pid, &r->target);

	(void)snprintf(r->prov, sizeof(r->prov), PROVIDER "%d", (int)pid);

	if (!e)
		e = check_name(r);
	if (e && is_for_others(r->desc)) {
		err_destroy(e); /* what it asks for may be another provider's */
		return NULL;
	}
	if (e)
		return e;
	return strcmp(r->desc->func, "-") == 0 ? collect_absolute(r) : collect_functions(r);
}

static struct err *collect_in(struct provider_env *env, const struct probe_desc *desc, bool is_new,
			      struct probe_list *out)
{
	struct pid_request r = {
		.env = env,
		.pv = &provider_pid,
		.st = probes_state(env->probes, &provider_pid, sizeof(struct pid_state)),
		.desc = desc,
		.out = out,
		.is_exact = is_name(desc->mod) && is_name(desc->func) && !is_for_several(desc) &&
			    !is_for_others(desc),
		.is_new = is_new,
	};
	struct err *e;
	pid_t pid;

	r.tmp = arena_create();
	e = pid_of(env, desc, 0, &pid);
	for (uint32_t i = 1; pid && !e; i++) {
		e = collect_process(&r, pid);
		if (!e)
			e = pid_of(env, desc, i, &pid);
	}
	arena_destroy(r.tmp);
	err_destroy(r.bad_offset);
	return e;
}

static struct err *pid_collect(struct provider_env *env, const struct provider *pv,
			       const struct probe_desc *desc, struct probe_list *out)
{
	(void)pv;
	return collect_in(env, desc, false, out);
}

struct err *pid_collect_new(struct provider_env *env, const struct probe_desc *desc,
			    struct probe_list *out)
{
	return collect_in(env, desc, true, out);
}

/*
 * Returns a hint if the compiler has inlined the function that the description names; NULL if it
 * has not. Without a module, only the program's own file is searched.
 */
static const char *hint_inlined(struct provider_env *env, struct code_process *t,
				const struct probe_desc *desc)
{
	const char *hint = NULL;

	for (uint32_t i = 0; i < t->objects.len && !hint; i++) {
		struct code_file *o = t->objects.data[i];

		if (*desc->mod && strcmp(desc->mod, "*") != 0 ? code_file_matches(o, desc->mod)
							      : o->is_main)
			hint = pid_inlined_hint(env, t, o, desc->func);
	}
	return hint;
}

/*
 * Returns a hint for a module that the process does not have, or that has no names, and for a
 * function that was inlined.
 */
static const char *pid_hint(struct provider_env *env, const struct provider *pv,
			    const struct probe_desc *desc)
{
	struct pid_state *st = probes_state(env->probes, pv, sizeof(*st));
	struct code_process *t;
	const char *names[256], *near;
	struct err *e;
	uint32_t n = 0;
	pid_t pid;

	if (is_for_several(desc) && !env_process(env, 0))
		return "'pid*' stands for the processes of -c and -p: give at least one";
	if (!is_name(desc->mod) && !*desc->func)
		return NULL;
	e = pid_of(env, desc, 0, &pid);
	if (!e && !pid)
		return NULL;
	if (!e)
		e = code_process_get(env, &st->code, pid, &t);
	if (e) {
		err_destroy(e); /* pid_collect() has returned the same error */
		return NULL;
	}
	if (!is_name(desc->mod))
		return hint_inlined(env, t, desc);
	for (uint32_t i = 0; i < t->objects.len && n < ARRAY_LEN(names); i++) {
		if (code_file_matches(t->objects.data[i], desc->mod)) {
			near = hint_nameless(env, t, t->objects.data[i]);
			return near ? near : hint_inlined(env, t, desc);
		}
		names[n++] = t->objects.data[i]->file.name;
	}
	near = diag_nearest(desc->mod, names, n);
	if (near)
		return arena_printf(env->arena, "did you mean '%s'?", near);
	return arena_printf(
		env->arena,
		"there is no such module now; with -Z its functions are probed as soon as the process "
		"has opened it");
}

static uint32_t pid_points(const struct probe *pr, struct probe_point *ret)
{
	const struct pid_probe *pp = pid_probe(pr);
	const struct pid_state *st =
		probes_state(pp->target->env->probes, pr->provider, sizeof(*st));

	return code_probe_point(&pp->probe, st->has_children ? 0 : pp->target->pid, ret);
}

static void pid_close(void *state)
{
	struct pid_state *st = state;

	while (st->code.probes.len)
		pid_probe_destroy(st, (struct pid_probe *)*vec_last(&st->code.probes));
	code_probes_deinit(&st->code);
}

const struct provider provider_pid = {
	.name = PROVIDER,
	.has_mangled = true,
	.attr = {ATTR_EEI, ATTR_PPU, ATTR_PPU, ATTR_EEI, ATTR_PPU},
	.concerns = pid_concerns,
	.collect = pid_collect,
	.close = pid_close,
	.hint = pid_hint,
	.arg_types = pid_arg_types,
	.arg_type = pid_arg_type,
	.arg_refused = pid_arg_refused,
	.points = pid_points,
};
