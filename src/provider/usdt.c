/* SPDX-License-Identifier: MIT */
/*
 * The provider of the probes that programs define themselves (USDT; providers.md 20): finds the
 * probes that a description matches.
 *
 * The notes in a program or library give the instruction of each probe, its provider, and where its
 * arguments are when the instruction is reached. The process id is appended to the provider's name:
 * "myapp123". All instructions with the same module, function and name are one probe. If a probe
 * has a counter, the kernel increments it while the probe is traced, and the program tests the
 * counter (MYAPP_NAME_ENABLED()).
 */
#include <ctype.h>

#include "d/text/diag.h"
#include "d/types/import_dwarf.h"
#include "privilege/privilege.h"
#include "provider/usdt.h"

#define SCAN_NS 1000000000 /* so long the processes that a scan has found are taken for all */

struct usdt_state *usdt_state(struct provider_env *env)
{
	struct usdt_state *st = probes_state(env->probes, &provider_usdt, sizeof(*st));

	if (!st->probes) {
		st->seen = hashmap_create();
		st->used = hashmap_create();
		st->probes = hashmap_create();
		st->by_operands = hashmap_create();
	}
	return st;
}

/* ---- names of providers ---------------------------------------------------------------------- */

/* Returns where the process id begins in a provider's name such as "myapp123"; else its end. */
static const char *number_at(const char *prov)
{
	const char *p = prov + strlen(prov);

	while (p > prov && isdigit((unsigned char)p[-1]))
		p--;
	return p;
}

uint32_t usdt_only_in(const struct probe_desc *desc)
{
	unsigned long n = strtoul(number_at(desc->prov), NULL, 10);

	return n <= INT32_MAX ? (uint32_t)n : 0;
}

static bool is_other_provider(const char *name)
{
	for (uint32_t i = 0; provider_list[i]; i++)
		if (provider_list[i] != &provider_usdt && strcmp(name, provider_list[i]->name) == 0)
			return true;
	return false;
}

/*
 * True for names such as "myapp123", and for patterns, unless what comes before the number, or
 * before the first wildcard, is the name of another provider: "pid123", "syscall*".
 */
static bool usdt_concerns(const struct provider *pv, const struct probe_desc *desc)
{
	bool is_pattern = !glob_is_literal(desc->prov);
	size_t len = is_pattern ? strcspn(desc->prov, "*?[\\")
				: (size_t)(number_at(desc->prov) - desc->prov);
	char head[64];

	(void)pv;
	if (!is_pattern && (!len || !desc->prov[len] || probes_is_foreign(desc->prov)))
		return false;
	if (!len || len >= sizeof(head))
		return true; /* declared probes have a provider without a name */
	(void)snprintf(head, sizeof(head), "%.*s", (int)len, desc->prov);
	return !is_other_provider(head);
}

static bool name_matches(const char *pattern, const char *prov, pid_t pid)
{
	char name[PROBE_PROV_ROOM];

	(void)snprintf(name, sizeof(name), "%s%d", prov, (int)pid);
	return glob_match(pattern, name);
}

/*
 * True if the pattern matches the provider's name with every process id: the pattern ends with a
 * star, and all that comes before is matched by the name and any one digit.
 */
static bool pattern_is_for_all(const char *pattern, const char *prov)
{
	size_t len = strlen(pattern);

	if (!len || pattern[len - 1] != '*' || (len > 1 && pattern[len - 2] == '\\'))
		return false;
	for (pid_t digit = 1; digit <= 9; digit++)
		if (!name_matches(pattern, prov, digit))
			return false;
	return true;
}

/*
 * Whether the session may have a probe that fires in all processes: it is a breakpoint in each of
 * them, and counts in their memory that it is there.
 */
static bool may_be_for_all(const struct provider_env *env)
{
	return !privileges_lack(env->privileges, LEVEL_PROC_OWNER);
}

static bool field_matches(const char *pattern, const char *text)
{
	return !*pattern || glob_match(pattern, text);
}

/* True if the description means the group, whatever its provider. */
static bool group_matches(const struct probe_desc *desc, const struct usdt_group *grp)
{
	return field_matches(desc->name, grp->name) && field_matches(desc->func, grp->func) &&
	       (!*desc->mod || code_file_matches(grp->object->file, desc->mod));
}

/* True if a pattern of the session makes the probe that fires in all processes. */
static bool group_is_for_all(const struct usdt_state *st, const struct usdt_group *grp)
{
	for (uint32_t i = 0; i < st->patterns.len; i++) {
		const struct probe_desc *desc = &st->patterns.data[i];

		if (pattern_is_for_all(desc->prov, grp->prov) && group_matches(desc, grp))
			return true;
	}
	return false;
}

bool usdt_object_is_wanted(const struct usdt_state *st, const struct usdt_object *o)
{
	for (uint32_t i = 0; i < st->patterns.len; i++)
		for (uint32_t k = 0; k < o->provs.len; k++)
			if (pattern_is_for_all(st->patterns.data[i].prov, o->provs.data[k]))
				return true;
	return false;
}

static struct probe_desc desc_copy(struct arena *a, const struct probe_desc *desc)
{
	return (struct probe_desc){arena_strdup(a, desc->prov),
				   arena_strdup(a, desc->mod),
				   arena_strdup(a, desc->func),
				   arena_strdup(a, desc->name),
				   0,
				   desc->is_source,
				   desc->texts};
}

/* Remembers the patterns. Literal descriptions that were matched before may match other probes. */
static bool usdt_named(struct provider_env *env, const struct provider *pv,
		       const struct probe_desc *desc)
{
	struct usdt_state *st = usdt_state(env);

	(void)pv;
	if (glob_is_literal(desc->prov) || !may_be_for_all(env))
		return false;
	vec_push(&st->patterns, desc_copy(env->arena, desc));
	return st->has_literals;
}

/* ---- probes ---------------------------------------------------------------------------------- */

static struct usdt_probe_data *data_create(struct provider_env *env, struct usdt_state *st,
					   struct usdt_group *grp, pid_t pid)
{
	struct usdt_probe_data *d = xcalloc(1, sizeof(*d));

	*d = (struct usdt_probe_data){.group = grp,
				      .object = grp->object,
				      .declared = grp->declared,
				      .note = grp->note,
				      .operands = grp->operands,
				      .probe = {.spot = grp->spot, .code = grp->code}};
	d->probe.code.pid = d->probe.code.at = pid;
	code_probe_add(env, &st->code, &d->probe, st->is_late ? st->code.batch : 0);
	grp->object->nprobes++;
	return d;
}

void usdt_probe_destroy(struct usdt_state *st, struct probe *pr)
{
	struct usdt_probe_data *d = usdt_probe(pr);
	const uint64_t key[2] = {(uintptr_t)d->group, (uint64_t)d->probe.code.pid};

	hashmap_remove(st->probes, key, sizeof(key));
	code_probe_drop(&st->code, &d->probe);
	d->object->nprobes--;
	free(d);
	pr->data = 0;
}

/* Returns the probe of the group in a process; pid 0: the one for all processes. */
static struct probe *probe_get(struct provider_env *env, struct usdt_state *st,
			       struct usdt_group *grp, pid_t pid)
{
	const uint64_t key[2] = {(uintptr_t)grp, (uint64_t)pid};
	struct probe *pr = hashmap_find(st->probes, key, sizeof(key));
	const char *prov = grp->prov;

	if (pr && (!st->is_late || code_probe(pr)->batch == st->code.batch))
		return pr;
	if (pr) {
		/* a process has mapped its file again */
		code_probe_renew(env, &st->code, code_probe(pr));
		code_batch_add(&st->code, pr);
		return pr;
	}
	if (pid)
		prov = arena_printf(grp->object->arena, "%s%d", prov, (int)pid);
	pr = probes_add_private(env->probes, &provider_usdt, prov, grp->object->file->file.name,
				grp->func, grp->name,
				(uint64_t)(uintptr_t)data_create(env, st, grp, pid));
	pr->has_pid = !pid;
	pr->source = grp->source;
	hashmap_set(st->probes, key, sizeof(key), pr);
	if (st->is_late)
		code_batch_add(&st->code, pr);
	return pr;
}

/* ---- matching -------------------------------------------------------------------------------- */

/* A description whose probes are being collected. */
struct request {
	struct provider_env *env;
	struct usdt_state *st;
	const struct probe_desc *desc;
	pid_t pid; /* the process that desc names; 0: it is a pattern */
	uint32_t number;
	struct probe_list *out;
};

/* Adds the probes of the object that fire in all processes. */
static void collect_for_all(const struct request *r, struct usdt_object *o)
{
	for (uint32_t i = 0; i < o->groups.len; i++) {
		struct usdt_group *grp = o->groups.data[i];

		if (pattern_is_for_all(r->desc->prov, grp->prov) && group_matches(r->desc, grp) &&
		    !usdt_harm_leaves_out(r->env, grp))
			probe_list_add(r->out, probe_get(r->env, r->st, grp, 0));
	}
}

/* Adds the probes of the object in a process. */
static void collect_in(const struct request *r, struct usdt_object *o, pid_t pid)
{
	bool is_listing = probes_is_listing(r->env->probes);
	bool is_here = !r->st->is_late || o->batch == r->st->code.batch;

	for (uint32_t i = 0; i < o->groups.len; i++) {
		struct usdt_group *grp = o->groups.data[i];
		const char *prov = grp->prov;
		bool is_for_all = !is_listing && r->pid && is_here && group_is_for_all(r->st, grp);

		if (!name_matches(r->desc->prov, prov, pid) || !group_matches(r->desc, grp) ||
		    (is_listing && grp->is_again) ||
		    (!is_listing && !r->pid && pattern_is_for_all(r->desc->prov, prov)) ||
		    usdt_harm_leaves_out(r->env, grp))
			continue;
		probe_list_add(r->out, probe_get(r->env, r->st, grp, is_for_all ? 0 : pid));
	}
}

static bool object_has(const struct usdt_object *o, const char *pattern, pid_t pid)
{
	for (uint32_t i = 0; i < o->provs.len; i++)
		if (name_matches(pattern, o->provs.data[i], pid))
			return true;
	return false;
}

/* Sets in the object what the request asks of it. */
static void object_ask(const struct request *r, struct usdt_object *o)
{
	const char *pattern = r->desc->prov;

	o->request = r->number;
	usdt_code_add(r->env, o);
	o->is_for_all = o->is_for_each = false;
	for (uint32_t i = 0; i < o->provs.len; i++)
		if (!r->pid && !probes_is_listing(r->env->probes) &&
		    pattern_is_for_all(pattern, o->provs.data[i]))
			o->is_for_all = may_be_for_all(r->env);
		else
			o->is_for_each = true;
	if (!o->is_for_all)
		return;
	usdt_object_group(r->env, r->st, o);
	collect_for_all(r, o);
}

static void collect_use(const struct request *r, const struct usdt_use *use)
{
	struct usdt_object *o = use->object;

	if ((r->pid && use->pid != r->pid) || o->is_gone)
		return;
	if (o->request != r->number)
		object_ask(r, o);
	if (!o->is_for_each || !object_has(o, r->desc->prov, use->pid))
		return;
	usdt_object_group(r->env, r->st, o);
	collect_in(r, o, use->pid);
}

static struct err *process_read(const struct request *r)
{
	struct code_process *t;
	struct err *e = code_process_get(r->env, &r->st->code, r->pid, &t);

	if (e && !glob_is_literal(r->desc->prov)) {
		err_destroy(e); /* nfsv*4 means no process; another provider may match it */
		return NULL;
	}
	r->st->has_literals = true;
	return e ? e : usdt_scan_process(r->env, r->st, r->pid);
}

/* Reads what all processes have mapped; a new process of -c first maps its libraries. */
static struct err *processes_read(const struct request *r)
{
	struct code_process *t;
	struct err *e = NULL;
	pid_t pid;

	if (!r->env->files)
		return NULL; /* a registry that opens no files */
	for (uint32_t i = 0; (pid = env_process(r->env, i)) && !e; i++)
		e = code_process_get(r->env, &r->st->code, pid, &t);
	if (!e && (!r->st->scanned_at || now_ns() - r->st->scanned_at > SCAN_NS ||
		   r->st->ncodes_scanned < usdt_code_count(r->env, r->st)))
		usdt_scan_all(r->env, r->st);
	return e;
}

static struct err *usdt_collect(struct provider_env *env, const struct provider *pv,
				const struct probe_desc *desc, struct probe_list *out)
{
	const struct declared_source_fns *declared = &env->declared;
	struct usdt_state *st = usdt_state(env);
	const struct request r = {env, st, desc, (pid_t)usdt_only_in(desc), ++st->nrequests, out};
	struct err *e = declared->define ? declared->define(declared->ctx, desc) : NULL;

	(void)pv;
	if (e || (!r.pid && glob_is_literal(desc->prov)))
		return e; /* or its number is none of a process */
	e = r.pid ? process_read(&r) : processes_read(&r);
	for (uint32_t i = 0; i < st->uses.len && !e; i++)
		collect_use(&r, &st->uses.data[i]);
	return e;
}

void usdt_collect_new(struct provider_env *env, const struct probe_desc *desc,
		      struct probe_list *out)
{
	struct usdt_state *st = usdt_state(env);
	const struct request r = {env, st, desc, (pid_t)usdt_only_in(desc), ++st->nrequests, out};

	st->is_late = true;
	for (uint32_t i = 0; i < st->uses.len && r.pid; i++)
		if (st->uses.data[i].batch == st->code.batch)
			collect_use(&r, &st->uses.data[i]);
	for (uint32_t i = 0; i < st->objects.len && !r.pid; i++)
		if (st->objects.data[i]->batch == st->code.batch)
			object_ask(&r, st->objects.data[i]);
	st->is_late = false;
}

bool usdt_wants_all(struct provider_env *env, const struct probe_desc *desc)
{
	size_t len = strlen(desc->prov);

	return !desc->id && usdt_concerns(&provider_usdt, desc) && len &&
	       desc->prov[len - 1] == '*' && may_be_for_all(env);
}

/* Whether the text is the provider with the id of a process, as "perl123". */
static bool is_of_provider(const char *text, const char *prov)
{
	size_t len = strlen(prov);

	return strncmp(text, prov, len) == 0 && number_at(text) == text + len;
}

static const char *usdt_hint(struct provider_env *env, const struct provider *pv,
			     const struct probe_desc *desc)
{
	const struct declared_source_fns *declared = &env->declared;
	const struct usdt_state *st = usdt_state(env);
	const char *names[64], *near;
	uint32_t n = 0;

	if (!usdt_concerns(pv, desc))
		return NULL;
	if (!may_be_for_all(env) && *desc->prov && desc->prov[strlen(desc->prov) - 1] == '*')
		return "a pattern places probes in the processes of all users, which needs "
		       "proc_owner: name the process, as -p PID and python$target do";
	for (uint32_t i = 0; i < st->uses.len && !env->is_harmful; i++) {
		const struct usdt_object *o = st->uses.data[i].object;

		for (uint32_t k = 0; k < o->groups.len; k++)
			if (o->groups.data[k]->harm && group_matches(desc, o->groups.data[k]) &&
			    name_matches(desc->prov, o->groups.data[k]->prov, st->uses.data[i].pid))
				return usdt_harm_hint(env, o->groups.data[k]);
	}
	for (uint32_t i = 0; i < st->uses.len; i++) {
		const struct usdt_object *o = st->uses.data[i].object;

		for (uint32_t k = 0; k < o->groups.len && n < ARRAY_LEN(names); k++)
			if (name_matches(desc->prov, o->groups.data[k]->prov, st->uses.data[i].pid))
				names[n++] = o->groups.data[k]->name;
	}
	if (st->unplaced && is_of_provider(desc->prov, st->unplaced->provider))
		return arena_printf(env->arena,
				    "the note of '%s' is left out: no instruction is known to "
				    "begin where it says%s",
				    st->unplaced->name,
				    st->may_be_placed ? "; it needs proc_owner" : "");
	if (st->unproved && is_of_provider(desc->prov, st->unproved->probe->prov))
		return arena_printf(env->arena,
				    "the bytes of '%s' are not where the file says that a function "
				    "begins: to probe them needs proc_owner",
				    st->unproved->func);
	if (declared->code_hint) {
		const char *why = declared->code_hint(declared->ctx, desc);

		if (why)
			return why;
	}
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(desc->name, names[i]) == 0)
			return arena_printf(
				env->arena,
				"dtrace -ln '%s:::%s' lists the modules and functions that have it",
				desc->prov, desc->name);
	near = n && *desc->name ? diag_nearest(desc->name, names, n) : NULL;
	if (near)
		return arena_printf(env->arena, "did you mean '%s'?", near);
	if (n)
		return arena_printf(env->arena, "dtrace -ln '%s:::' lists what there is",
				    desc->prov);
	if (*number_at(desc->prov))
		return arena_printf(env->arena,
				    "the process has no probes of its own of this provider");
	return NULL;
}

/* ---- the provider ---------------------------------------------------------------------------- */

static uint32_t usdt_points(const struct probe *pr, struct probe_point *ret)
{
	const struct code_probe *p = code_probe(pr);

	return code_probe_point(p, p->code.pid, ret);
}

static void usdt_close(void *state)
{
	struct usdt_state *st = state;

	usdt_arrivals_clear(st);
	vec_deinit(&st->arrivals);
	for (uint32_t i = 0; i < st->code.probes.len; i++)
		free(st->code.probes.data[i]); /* the first member of a struct usdt_probe_data */
	for (uint32_t i = 0; i < st->operands.len; i++)
		free(st->operands.data[i]);
	usdt_objects_destroy(st);
	code_probes_deinit(&st->code);
	hashmap_destroy(st->debug_types);
	hashmap_destroy(st->seen);
	hashmap_destroy(st->used);
	hashmap_destroy(st->probes);
	hashmap_destroy(st->by_operands);
	vec_deinit(&st->operands);
	vec_deinit(&st->uses);
	vec_deinit(&st->patterns);
}

const struct provider provider_usdt = {
	.name = "usdt",
	.attr = {ATTR_EEI, ATTR_PPU, ATTR_PPU, ATTR_EEI, ATTR_PPU},
	.is_costly = true,
	.concerns = usdt_concerns,
	.collect = usdt_collect,
	.close = usdt_close,
	.named = usdt_named,
	.only_in = usdt_only_in,
	.hint = usdt_hint,
	.attrs = usdt_attrs,
	.arg_types = usdt_arg_types,
	.arg_type = usdt_arg_type,
	.same_args = usdt_same_args,
	.arg_refused = usdt_arg_refused,
	.points = usdt_points,
};
