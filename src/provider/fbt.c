/* SPDX-License-Identifier: MIT */
/*
 * Provider fbt: entry and return of the functions of the kernel and of its modules (providers.md
 * 6).
 *
 *     fbt:MODULE:FUNCTION:entry     arg0... = the function's parameters
 *     fbt:MODULE:FUNCTION:return    arg0 = -1, arg1 = what it returns
 *
 * The types of args[] are those of the kernel's BTF. A function that the compiler has changed
 * (NAME.isra.0) has none, because the types are those of the source.
 *
 * Ids lie above the dynamic ones: a function has the same ids as long as the kernel runs and no
 * module comes or goes.
 */
#include "arch/spot.h"
#include "d/text/diag.h"
#include "provider/arrivals.h"
#include "provider/kfuncs.h"
#include "provider/providers.h"
#include "kernel/btf.h"
#include "sym/kallsyms.h"

#define FEW_LOOKUPS 8 /* more names than these are hashed */

/* The types of one module, or of the kernel. */
struct fbt_types {
	const char *mod;       /* NULL: the kernel */
	struct btf_file *btf;  /* NULL: it has none */
	struct hashmap *funcs; /* name -> number of its function; NULL until many are asked for */
	uint32_t nlookups;
};

/* The functions of a module that has come while the session runs. */
struct fbt_batch {
	uint32_t number;
	char *mod;
	struct kfuncs funcs;
	struct probe *
		*made; /* of function i: at its entry 2 * i, at its return 2 * i + 1; or NULL */
};

struct fbt_state {
	bool is_read;
	struct err *trouble; /* why there are no functions; NULL: there are */
	struct kfuncs funcs;
	VEC(struct fbt_types) types; /* [0]: the kernel's */
	VEC(struct fbt_batch *) batches;
	uint32_t nbatches; /* all that there were */
};

static struct fbt_state *state_get(struct provider_env *env, const struct provider *pv)
{
	struct fbt_state *st = probes_state(env->probes, pv, sizeof(*st));

	if (!st->is_read) {
		st->funcs.owner = st;
		st->trouble = kfuncs_read(&st->funcs);
	}
	st->is_read = true;
	return st;
}

/* ---- probes ---------------------------------------------------------------------------------- */

static bool is_literal(const char *field)
{
	return *field && glob_is_literal(field);
}

/* Descriptions without a provider mean functions if nothing else matches: provider.is_costly. */
static bool fbt_concerns(const struct provider *pv, const struct probe_desc *desc)
{
	return *desc->prov && glob_match(desc->prov, pv->name) &&
	       (glob_match(desc->name, "entry") || glob_match(desc->name, "return"));
}

static struct err *trouble_copy(const struct fbt_state *st)
{
	return err_hint(err_new("%s", err_text(st->trouble)), "%s", err_get_hint(st->trouble));
}

static struct probe *function_add(struct provider_env *env, const struct provider *pv,
				  struct kfunc *f, bool is_return)
{
	uint32_t index = (uint32_t)(f - f->all->list.data) * 2 + is_return;
	struct probe *pr;

	if (index >= pv->id_count)
		return NULL;
	pr = probes_add_at(env->probes, pv, index, f->place.mod, f->place.name,
			   is_return ? "return" : "entry", (uintptr_t)f);
	kfunc_mark(f);
	if (!f->keys[is_return])
		f->keys[is_return] = 1 + env_code_key(env);
	return pr;
}

static void function_collect(struct provider_env *env, const struct provider *pv, struct kfunc *f,
			     const struct probe_desc *desc, struct probe_list *out)
{
	for (int is_return = 0; is_return < 2; is_return++) {
		struct probe *pr = glob_match(desc->name, is_return ? "return" : "entry")
					   ? function_add(env, pv, f, is_return)
					   : NULL;

		if (pr)
			probe_list_add(out, pr);
	}
}

static struct err *fbt_collect(struct provider_env *env, const struct provider *pv,
			       const struct probe_desc *desc, struct probe_list *out)
{
	struct fbt_state *st = state_get(env, pv);
	bool is_exact = is_literal(desc->func);

	if (st->trouble)
		return is_literal(desc->prov) ? trouble_copy(st) : NULL;
	for (uint32_t i = 0; i < st->funcs.list.len; i++) {
		struct kfunc *f = &st->funcs.list.data[i];

		if ((is_exact ? strcmp(desc->func, f->place.name) != 0
			      : !glob_match(desc->func, f->place.name)) ||
		    !glob_match(desc->mod, f->place.mod) ||
		    (!is_exact && kfunc_is_ours(f->place.name)))
			continue;
		f->place.is_exact |= is_exact;
		function_collect(env, pv, f, desc, out);
	}
	return NULL;
}

static struct err *fbt_provide(struct provider_env *env, const struct provider *pv)
{
	struct fbt_state *st = state_get(env, pv);

	for (uint32_t i = 0; i < st->funcs.list.len; i++)
		for (int is_return = 0; is_return < 2; is_return++)
			(void)function_add(env, pv, &st->funcs.list.data[i], is_return);
	return NULL;
}

struct alias_search {
	const struct fbt_state *st;
	const char *found; /* a function that can be traced */
};

static bool alias_check(void *ctx, const char *name)
{
	struct alias_search *search = ctx;

	for (uint32_t i = 0; i < search->st->funcs.list.len && !search->found; i++)
		if (strcmp(search->st->funcs.list.data[i].place.name, name) == 0)
			search->found = search->st->funcs.list.data[i].place.name;
	return search->found != NULL;
}

/* Why there is no function of that name among those that can be traced, or NULL. */
static const char *function_hint(struct provider_env *env, struct fbt_state *st, const char *name)
{
	struct arena *a = env->arena;
	size_t len = strlen(name);
	struct kallsym sym;
	bool is_found = false, has_data;
	struct alias_search alias = {.st = st};
	struct err *e;

	for (uint32_t i = 0; i < st->funcs.list.len; i++) {
		const char *other = st->funcs.list.data[i].place.name;

		if (strncmp(other, name, len) == 0 && other[len] == '.')
			return arena_printf(
				a, "the compiler has made '%s' of it, with other parameters",
				other);
	}
	e = kallsyms_find(KALLSYMS_PATH, NULL, name, &is_found, &sym, &has_data);
	err_destroy(e); /* then the hint is another one */
	if (!is_found || !kallsym_is_function(&sym))
		return NULL;
	kallsyms_names(KALLSYMS_PATH, sym.addr, alias_check, &alias);
	return alias.found ? arena_printf(a,
					  "'%s' is another name of the function '%s', by which "
					  "the kernel lists it: use that one",
					  name, alias.found)
			   : arena_printf(a,
					  "the kernel has the function '%s', but tracers must not "
					  "stop there (notrace)",
					  name);
}

static const char *fbt_hint(struct provider_env *env, const struct provider *pv,
			    const struct probe_desc *desc)
{
	VEC(const char *) names = {0};
	const char *near, *hint = NULL;
	struct fbt_state *st;

	if (strcmp(desc->prov, pv->name) != 0)
		return NULL;
	st = state_get(env, pv);
	if (*desc->name && !fbt_concerns(pv, desc))
		return "its probes are fbt:MODULE:FUNCTION:entry and fbt:MODULE:FUNCTION:return";
	if (st->trouble || !is_literal(desc->func))
		return NULL;
	hint = function_hint(env, st, desc->func);
	if (hint)
		return hint;
	for (uint32_t i = 0; i < st->funcs.list.len; i++)
		vec_push(&names, st->funcs.list.data[i].place.name);
	near = diag_nearest(desc->func, names.data, names.len);
	vec_deinit(&names);
	return near ? arena_printf(env->arena,
				   "did you mean '%s'? a function that is inlined everywhere has "
				   "no probes",
				   near)
		    : "a function that is inlined everywhere has no probes: dtrace -l -P fbt";
}

/* ---- arguments ------------------------------------------------------------------------------- */

static struct fbt_types *types_of_module(struct fbt_state *st, const char *mod)
{
	const char *path;
	struct fbt_types new = {.mod = mod};
	struct strbuf text = {0};
	struct err *e;

	if (!st->types.len) {
		struct fbt_types kernel = {0};

		e = btf_file_open(BTF_KERNEL, NULL, &kernel.btf);
		err_destroy(e); /* then no function has types */
		vec_push(&st->types, kernel);
	}
	if (strcmp(mod, KFUNC_KERNEL) == 0)
		return &st->types.data[0];
	for (uint32_t i = 1; i < st->types.len; i++)
		if (strcmp(st->types.data[i].mod, mod) == 0)
			return &st->types.data[i];
	strbuf_addf(&text, BTF_DIR "/%s", mod);
	path = strbuf_text(&text);
	e = st->types.data[0].btf ? btf_file_open(path, st->types.data[0].btf, &new.btf) : NULL;
	err_destroy(e); /* a module without BTF: its functions have no types */
	strbuf_deinit(&text);
	vec_push(&st->types, new);
	return vec_last(&st->types);
}

static void funcs_hash(struct fbt_types *ts)
{
	uint32_t end = btf_file_end(ts->btf);

	ts->funcs = hashmap_create();
	for (uint32_t id = btf_file_first(ts->btf); id < end; id++) {
		const struct btf_type *t = btf_file_type(ts->btf, id);
		const char *name = t ? btf_file_str(ts->btf, t->name_off) : "";

		if (t && BTF_INFO_KIND(t->info) == BTF_KIND_FUNC && !hashmap_finds(ts->funcs, name))
			hashmap_sets(ts->funcs, name, (void *)(uintptr_t)id);
	}
}

/* The number of a function in BTF; 0: BTF does not have it. */
static uint32_t function_id(struct fbt_types *ts, const char *name)
{
	const struct btf_type *func;
	uint32_t id;

	if (!ts->btf)
		return 0;
	if (!ts->funcs && ts->nlookups++ >= FEW_LOOKUPS)
		funcs_hash(ts);
	id = ts->funcs ? (uint32_t)(uintptr_t)hashmap_finds(ts->funcs, name)
		       : btf_file_find_symbol(ts->btf, name, strlen(name));
	func = btf_file_type(ts->btf, id);
	return func && BTF_INFO_KIND(func->info) == BTF_KIND_FUNC ? id : 0;
}

/* The parameters and the result of a function; NULL: BTF does not have it. */
static const struct btf_type *function_proto(struct fbt_types *ts, const char *name)
{
	uint32_t id = function_id(ts, name);
	const struct btf_type *func = id ? btf_file_type(ts->btf, id) : NULL;

	func = func ? btf_file_type(ts->btf, func->type) : NULL;
	return func && BTF_INFO_KIND(func->info) == BTF_KIND_FUNC_PROTO ? func : NULL;
}

/* Whether values of the type are a struct or union, which is not passed in one register. */
static bool is_by_value(const struct btf_file *f, uint32_t id)
{
	const struct btf_type *t;

	for (int depth = 0; id && depth < 16 && (t = btf_file_type(f, id)); depth++)
		switch (BTF_INFO_KIND(t->info)) {
		case BTF_KIND_STRUCT:
		case BTF_KIND_UNION: return true;
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_CONST:
		case BTF_KIND_VOLATILE: id = t->type; break;
		default: return false;
		}
	return false;
}

/* The types of the first parameters: behind one in several registers, positions are not known. */
static uint32_t entry_types(struct arena *a, const struct fbt_types *ts,
			    const struct btf_type *proto, const char **types)
{
	const struct btf_param *params = (const struct btf_param *)(proto + 1);
	uint32_t n = BTF_INFO_VLEN(proto->info), i;

	for (i = 0; i < n && params[i].type && !is_by_value(ts->btf, params[i].type); i++)
		types[i] = btf_type_text(a, ts->btf, params[i].type, ts->mod);
	return i;
}

static uint32_t return_types(struct arena *a, const struct fbt_types *ts,
			     const struct btf_type *proto, const char **types)
{
	types[0] = "int";
	if (!proto || !proto->type || is_by_value(ts->btf, proto->type))
		return 1;
	types[1] = btf_type_text(a, ts->btf, proto->type, ts->mod);
	return 2;
}

static uint32_t fbt_arg_types(struct provider_env *env, const struct probe *pr,
			      const char *const **ret_types)
{
	struct kfunc *f = (struct kfunc *)(uintptr_t)pr->data;
	struct arena *a = env->arena;
	int is_return = strcmp(pr->name, "return") == 0;

	if (!f->types[is_return]) {
		struct fbt_state *st = state_get(env, pr->provider);
		struct fbt_types *ts = types_of_module(st, f->place.mod);
		const struct btf_type *proto = function_proto(ts, f->place.name);
		uint32_t n = proto ? BTF_INFO_VLEN(proto->info) : 0;
		const char **types = ARENA_NEW_N(a, const char *, n + 2);

		f->ntypes[is_return] = is_return ? return_types(a, ts, proto, types)
				       : proto	 ? entry_types(a, ts, proto, types)
						 : 0;
		f->types[is_return] = types;
	}
	*ret_types = f->types[is_return];
	return f->ntypes[is_return];
}

/* ---- places ---------------------------------------------------------------------------------- */

static uint32_t fbt_points(const struct probe *pr, struct probe_point *ret)
{
	struct kfunc *f = (struct kfunc *)(uintptr_t)pr->data;
	bool is_return = strcmp(pr->name, "return") == 0;

	kfuncs_locate(f->all);
	if (kfunc_is_single(f) && !f->place.btf_id)
		f->place.btf_id =
			function_id(types_of_module(f->all->owner, f->place.mod), f->place.name);
	ret[0] = (struct probe_point){
		.place = {.kind = PLACE_KFUNC, .target = is_return ? PLACE_RETURNS : NULL},
		.key = f->keys[is_return] - 1,
		.spot = is_return ? SPOT_RETURN : SPOT_ENTRY,
		.kfunc = &f->place,
	};
	return 1;
}

/* ---- modules that come ----------------------------------------------------------------------- */

static void batch_destroy(struct fbt_batch *b)
{
	kfuncs_deinit(&b->funcs);
	free(b->made);
	free(b->mod);
	free(b);
}

static bool fbt_wants_modules(struct provider_env *env, const struct probe_desc *desc)
{
	return !desc->id && fbt_concerns(&provider_fbt, desc) &&
	       strcmp(desc->mod, KFUNC_KERNEL) != 0;
}

/* The types of a module that was there before may have been others. */
static void types_forget(struct fbt_state *st, const char *mod)
{
	uint32_t n = 1;

	for (uint32_t i = 1; i < st->types.len; i++) {
		if (strcmp(st->types.data[i].mod, mod) != 0) {
			st->types.data[n++] = st->types.data[i];
			continue;
		}
		hashmap_destroy(st->types.data[i].funcs);
		btf_file_close(st->types.data[i].btf);
	}
	st->types.len = MIN(st->types.len, n);
}

static uint32_t fbt_module_came(struct provider_env *env, const char *mod, uint32_t i)
{
	struct fbt_state *st = state_get(env, &provider_fbt);
	struct fbt_batch *b;
	struct err *e;

	if (i || st->trouble)
		return 0;
	b = xcalloc(1, sizeof(*b));
	b->mod = xstrdup(mod);
	b->funcs.owner = st;
	b->funcs.only = b->mod;
	e = kfuncs_read(&b->funcs);
	err_destroy(e); /* the list could be read before: the module has none */
	if (e || !b->funcs.list.len) {
		batch_destroy(b);
		return 0;
	}
	types_forget(st, mod);
	b->made = xcalloc(2 * (size_t)b->funcs.list.len, sizeof(struct probe *));
	b->number = ++st->nbatches;
	vec_push(&st->batches, b);
	env_reset_code_keys(env);
	return b->number;
}

static struct probe *late_make(struct provider_env *env, struct fbt_batch *b, uint32_t i,
			       bool is_return)
{
	struct kfunc *f = &b->funcs.list.data[i];
	struct probe **made = &b->made[2 * i + is_return];

	if (*made)
		return *made;
	kfunc_mark(f);
	f->keys[is_return] = 1 + env_code_key(env);
	*made = probes_add_private(env->probes, &provider_fbt, provider_fbt.name, f->place.mod,
				   f->place.name, is_return ? "return" : "entry", (uintptr_t)f);
	return *made;
}

static struct err *fbt_match_new(struct provider_env *env, const struct probe_desc *desc,
				 struct probe_list *out)
{
	struct fbt_state *st = state_get(env, &provider_fbt);
	struct fbt_batch *b = *vec_last(&st->batches);

	for (uint32_t i = 0; i < b->funcs.list.len; i++)
		for (int is_return = 0; is_return < 2; is_return++)
			if (glob_match(desc->func, b->funcs.list.data[i].place.name) &&
			    glob_match(desc->mod, b->mod) &&
			    glob_match(desc->name, is_return ? "return" : "entry"))
				probe_list_add(out, late_make(env, b, i, is_return));
	return NULL;
}

static void fbt_batch_free(struct provider_env *env, uint32_t batch, bool keeps_names)
{
	struct fbt_state *st = state_get(env, &provider_fbt);
	struct probe_list gone = {0};
	uint32_t n = 0;

	for (uint32_t i = 0; i < st->batches.len; i++) {
		struct fbt_batch *b = st->batches.data[i];

		if (b->number != batch || keeps_names) {
			st->batches.data[n++] = b;
			continue;
		}
		for (uint32_t k = 0; k < 2 * b->funcs.list.len; k++)
			if (b->made[k])
				probe_list_add(&gone, b->made[k]);
		probes_remove(env->probes, &gone);
		vec_deinit(&gone.probes);
		batch_destroy(b);
	}
	st->batches.len = n;
}

const struct provider_arrivals fbt_arrivals = {
	.match_new = fbt_match_new,
	.free = fbt_batch_free,
	.modules =
		&(const struct module_arrivals){
			.wants = fbt_wants_modules,
			.came = fbt_module_came,
		},
};

static void fbt_close(void *state)
{
	struct fbt_state *st = state;

	err_destroy(st->trouble);
	kfuncs_deinit(&st->funcs);
	for (uint32_t i = st->types.len; i-- > 0;) {
		hashmap_destroy(st->types.data[i].funcs);
		btf_file_close(st->types.data[i].btf);
	}
	vec_deinit(&st->types);
	for (uint32_t i = 0; i < st->batches.len; i++)
		batch_destroy(st->batches.data[i]);
	vec_deinit(&st->batches);
}

const struct provider provider_fbt = {
	.name = "fbt",
	.id_base = PROBE_ID_LARGE,
	.id_count = PROBE_ID_LARGE_END - PROBE_ID_LARGE,
	.attr = {ATTR_EEI, ATTR_PPU, ATTR_PPU, ATTR_EEI, ATTR_PPI},
	.is_costly = true,
	.concerns = fbt_concerns,
	.collect = fbt_collect,
	.provide = fbt_provide,
	.close = fbt_close,
	.hint = fbt_hint,
	.arg_types = fbt_arg_types,
	.points = fbt_points,
};
