/* SPDX-License-Identifier: MIT */
/*
 * System calls under the names that scripts of other systems use (providers.md 4.4).
 *
 * A name stands for Linux calls, and for views of them (syscall_views.c):
 *
 *     name in the script            stands for
 *     exece                         execve; execveat as execve
 *     open, a call of Linux         itself; openat, openat2, creat as open
 *     open*                         what it matches; openat as open, where the program reads
 *                                   arg0 as text (probe_desc.texts), or -x syscallview=classic
 *     *read*nocancel                read ..., because it matches no call of Linux
 *
 * A program that names openat itself was written for Linux: its open is open alone, because one
 * openat() would count twice.
 */
#include <strings.h>

#include "base/str.h"
#include "provider/providers.h"
#include "provider/syscalls.h"

#define MODULE "vmlinux"

struct expansion {
	struct provider_env *env;
	const struct provider *pv;
	const struct probe_desc *desc; /* with a module that matches anything */
	const struct probe_desc *text; /* as in the program */
	struct probe_list *found;
	VEC(const struct syscall_row *) calls; /* the added calls, each once */
};

/* Whether the call of pr was found before in another form: as a view, or as itself. */
static bool is_there_otherwise(const struct expansion *x, const struct probe *pr)
{
	for (uint32_t i = 0; i < x->found->probes.len; i++) {
		const struct probe *other = x->found->probes.data[i];

		if (other->provider == x->pv && strcmp(other->func, pr->func) == 0 &&
		    strcmp(other->name, pr->name) == 0 &&
		    !syscall_of_probe(other) != !syscall_of_probe(pr))
			return true;
	}
	return false;
}

static void call_add(struct expansion *x, const struct syscall_row *row, int view)
{
	static const char *const names[] = {"entry", "return"};

	for (uint32_t ret = 0; ret < 2; ret++) {
		struct probe *pr;

		if (!glob_match(x->desc->name, names[ret]))
			continue;
		pr = view < 0 ? syscall_probe(x->env, x->pv, (uint32_t)(row - syscall_rows), ret)
			      : syscall_view_probe(x->env, x->pv, (uint32_t)view, ret);
		if (!is_there_otherwise(x, pr))
			vec_push(&x->found->probes, pr);
	}
	for (uint32_t i = 0; i < x->calls.len; i++)
		if (x->calls.data[i] == row)
			return;
	vec_push(&x->calls, row);
}

/* The row of a call; NULL when this kernel does not have the call. */
static const struct syscall_row *row_if_here(struct expansion *x, const char *call)
{
	const struct syscall_row *row = syscall_find(call);

	return row && syscall_row_exists(x->env, x->pv, row) ? row : NULL;
}

static bool is_form_named(const struct expansion *x, const char *target)
{
	for (uint32_t i = 0; i < syscall_nviews; i++)
		if (strcmp(syscall_views[i].as, target) == 0 &&
		    probes_is_named(x->env->probes, x->pv, syscall_views[i].call))
			return true;
	return false;
}

static void target_add(struct expansion *x, const char *target)
{
	const struct syscall_row *row = row_if_here(x, target);

	if (row)
		call_add(x, row, -1);
	if (row && is_form_named(x, target))
		return;
	for (uint32_t i = 0; i < syscall_nviews; i++) {
		const struct syscall_row *call = strcmp(syscall_views[i].as, target) == 0
							 ? row_if_here(x, syscall_views[i].call)
							 : NULL;

		if (call)
			call_add(x, call, (int)i);
	}
}

/* targets: separated by blanks. A target behind the first is left out if the program names it. */
static void targets_add(struct expansion *x, const char *targets)
{
	bool is_first = true;

	while (*targets) {
		size_t len = strcspn(targets, " ");
		const char *target = arena_strndup(x->env->arena, targets, len);

		if (is_first || !probes_is_named(x->env->probes, x->pv, target))
			target_add(x, target);
		is_first = false;
		targets += len + (targets[len] == ' ');
	}
}

/*
 * Tells the user, once for each name that the user has written, for which calls it stands, unless
 * it is a call itself.
 */
static void expansion_notify(struct expansion *x)
{
	struct strbuf calls = {0};

	for (uint32_t i = 0; i < x->calls.len; i++)
		strbuf_addf(&calls, "%s%s", i ? ", " : "", x->calls.data[i]->name);
	if (!x->text->is_source && calls.len && strcmp(strbuf_text(&calls), x->desc->func) != 0 &&
	    syscall_note(x->env, x->pv, x->desc->func))
		env_notice(x->env, "system call '%s' of '%s' stands for %s", x->desc->func,
			   probe_desc_text(x->env->arena, x->text), strbuf_text(&calls));
	strbuf_deinit(&calls);
}

/* ---- globs ---------------------------------------------------------------------------------- */

/* Removes a call's own probes from the found ones. */
static void call_remove(struct expansion *x, const struct syscall_row *row)
{
	struct probe_list *l = x->found;
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->probes.len; i++)
		if (syscall_of_probe(l->probes.data[i]) != row)
			l->probes.data[n++] = l->probes.data[i];
	l->probes.len = n;
}

static bool is_matched_or_named(const struct expansion *x, const char *call)
{
	return glob_match(x->desc->func, call) || probes_is_named(x->env->probes, x->pv, call);
}

/* The type of argument n in a row's types, a text that ends with '|' or NUL; NULL: none. */
static const char *row_type(const struct syscall_row *row, uint32_t n)
{
	const char *text = row ? row->types : NULL;

	while (text && *text && n--) {
		text = strchr(text, '|');
		text += text != NULL;
	}
	return text && *text ? text : NULL;
}

/* Whether all arguments that the program reads as text (bits of texts) are text in this call. */
static bool has_texts(const struct syscall_row *row, uint32_t texts)
{
	for (uint32_t n = 0; texts >> n; n++) {
		const char *type = texts >> n & 1 ? row_type(row, n) : NULL;
		size_t len = type ? strcspn(type, "|") : 0;
		bool is_text = len >= 6 && (strncmp(type, "char *", len) == 0 ||
					    strncmp(type, "const char *", len) == 0);

		if ((texts >> n & 1) && !is_text)
			return false;
	}
	return true;
}

/*
 * Whether the program reads arguments as it can read those of the older call only: for openat() as
 * open(), a path in arg0, and nothing as text that open() has no text in. A program that names
 * openat() knows Linux.
 */
static bool view_fits(const struct expansion *x, const struct syscall_view *v)
{
	uint32_t texts = x->desc->texts;

	return texts && strcmp(x->desc->func, "*") != 0 &&
	       !probes_is_named(x->env->probes, x->pv, v->call) &&
	       has_texts(syscall_find(v->as), texts) && !has_texts(syscall_find(v->call), texts);
}

/* Whether a glob shows a call as an older one that it matches, whose arguments are elsewhere. */
static bool view_is_meant(const struct expansion *x, const struct syscall_view *v)
{
	switch (x->env->view) {
	case PROBE_VIEW_AUTO: return view_fits(x, v);
	case PROBE_VIEW_NATIVE: return false;
	case PROBE_VIEW_CLASSIC: return true;
	}
	BUG("option syscallview %d", (int)x->env->view);
}

/*
 * Whether a glob that shows a call of its own as an older one it matches, shows it so in this form,
 * too, whose name it does not match: for unlink*, unlinkat() as rmdir(), which has a path in arg0.
 */
static bool sibling_is_meant(const struct expansion *x, uint32_t view)
{
	const struct syscall_view *v = &syscall_views[view];

	if (!glob_match(x->desc->func, v->call) || !view_fits(x, v))
		return false;
	for (uint32_t i = 0; i < syscall_nviews; i++)
		if (strcmp(syscall_views[i].call, v->call) == 0 &&
		    glob_match(x->desc->func, syscall_views[i].as) &&
		    view_is_meant(x, &syscall_views[i]))
			return true;
	return false;
}

/* Tells the user which calls a glob shows as older ones: "openat as open, unlinkat as unlink". */
static void views_notify(struct expansion *x, const struct strbuf *calls)
{
	if (!calls->len || x->text->is_source || x->env->view != PROBE_VIEW_AUTO ||
	    !syscall_note(x->env, x->pv, x->desc->func))
		return;
	env_notice(x->env,
		   "'%s' shows %s, because the program reads arg%d as text; with -x "
		   "syscallview=native they have their own arguments",
		   probe_desc_text(x->env->arena, x->text), strbuf_text(calls),
		   ffs((int)x->desc->texts) - 1);
}

/*
 * Adds the views whose names a glob matches. A view that moves arguments is added only where it is
 * meant, because "open*" means openat() with its own arguments. A view whose arguments stay where
 * they are, such as clone() for fork(), which glibc never calls, is added unless the program
 * matches or names the call itself.
 */
static void views_add(struct expansion *x)
{
	const struct syscall_row *taken = NULL, *told = NULL;
	struct strbuf moved = {0};

	for (uint32_t i = 0; i < syscall_nviews; i++) {
		const struct syscall_view *v = &syscall_views[i];
		const struct syscall_row *row = row_if_here(x, v->call);
		bool is_matched = glob_match(x->desc->func, v->as) && syscall_find(v->as);

		if (!row || !(is_matched || sibling_is_meant(x, i)))
			continue;
		if (syscall_view_moves_args(v) ? is_matched && !view_is_meant(x, v)
					       : is_matched_or_named(x, v->call))
			continue;
		if (row != taken) /* the views of a call stand together */
			call_remove(x, row);
		taken = row;
		call_add(x, row, (int)i);
		if (!syscall_view_moves_args(v))
			continue;
		if (told == row)
			strbuf_addf(&moved, " and %s", v->as);
		else
			strbuf_addf(&moved, "%s%s as %s", moved.len ? ", " : "", v->call, v->as);
		told = row;
	}
	views_notify(x, &moved);
	strbuf_deinit(&moved);
}

static bool has_found_own(const struct expansion *x)
{
	for (uint32_t i = 0; i < x->found->probes.len; i++)
		if (x->found->probes.data[i]->provider == x->pv)
			return true;
	return false;
}

static void glob_expand(struct expansion *x)
{
	const char *targets;
	uint32_t at = 0;

	if (has_found_own(x)) {
		views_add(x);
		return;
	}
	while ((targets = syscall_targets_next(x->desc->func, &at)))
		targets_add(x, targets);
	expansion_notify(x);
}

/* ---- for struct provider -------------------------------------------------------------------- */

/* Adds calls under their own names. is_raw: with results as the kernel returns them. */
static void own_calls_add(struct expansion *x, bool is_raw)
{
	for (uint32_t row = 0; row < syscall_nrows; row++) {
		const struct syscall_row *r = &syscall_rows[row];
		struct probe *ret;

		if (!glob_match(x->desc->func, r->name) || !syscall_row_exists(x->env, x->pv, r))
			continue;
		if (glob_match(x->desc->name, "entry"))
			vec_push(&x->found->probes, syscall_probe(x->env, x->pv, row, false));
		if (!glob_match(x->desc->name, "return"))
			continue;
		ret = syscall_probe(x->env, x->pv, row, true);
		vec_push(&x->found->probes, is_raw ? syscall_raw_probe(x->env, ret) : ret);
	}
}

static void name_expand(struct expansion *x)
{
	const char *targets;

	if (*x->desc->func && !glob_is_literal(x->desc->func)) {
		glob_expand(x);
	} else if (*x->desc->func && (targets = syscall_targets(x->desc->func))) {
		targets_add(x, targets);
		expansion_notify(x);
	}
}

/* Whether a module is the name of an ABI, as on FreeBSD. */
static bool is_abi(const char *mod)
{
	return strcmp(mod, "freebsd") == 0 || strcmp(mod, "linux") == 0;
}

struct err *syscall_expand(struct provider_env *env, const struct provider *pv,
			   const struct probe_desc *desc, struct probe_list *found)
{
	struct probe_desc any = *desc;
	struct expansion x = {.env = env, .pv = pv, .desc = &any, .text = desc, .found = found};
	/* illumos' provider for Linux programs: Linux names, results as the kernel returns them */
	bool is_lx = strcmp(desc->prov, SYSCALL_LX) == 0;

	any.mod = "";
	if (!glob_match(desc->mod, MODULE) && !is_abi(desc->mod))
		return NULL;
	if (is_lx || is_abi(desc->mod))
		own_calls_add(&x, is_lx);
	if (!is_lx)
		name_expand(&x);
	vec_deinit(&x.calls);
	return NULL;
}

const char *syscall_absent(struct provider_env *env, const struct provider *pv,
			   const struct probe_desc *desc)
{
	const char *instead;

	if (!syscall_is_absent(desc->func, &instead) || *desc->mod ||
	    !(glob_match(desc->name, "entry") || glob_match(desc->name, "return")))
		return NULL;
	return instead ? arena_printf(env->arena, "Linux has no system call '%s', programs call %s",
				      desc->func, instead)
		       : arena_printf(env->arena, "Linux has no system call '%s'", desc->func);
}

const char *syscall_hint(struct provider_env *env, const struct provider *pv,
			 const struct probe_desc *desc)
{
	const char *instead;

	if (!syscall_is_absent(desc->func, &instead))
		return NULL;
	return instead ? arena_printf(env->arena, "programs on Linux call %s", instead)
		       : "Linux has no such system call";
}
