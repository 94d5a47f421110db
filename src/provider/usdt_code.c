/* SPDX-License-Identifier: MIT */
/*
 * Probes that are declared in D over functions of programs (d/check/derive.c), for programs whose
 * build has no notes:
 *
 *     provider perl {
 *             probe sub__entry(...) = pid:perl:Perl_pp_entersub:return /guard/ (arguments);
 *     };
 *
 * In each process that has mapped a file of that name with that function, this is a probe like
 * those of notes: "perl123" is its provider, the file its module. The front end compiles clauses
 * for it with the guard and the arguments of the source (probe.source). A file that has a note for
 * a probe of the same provider and name keeps that one alone. A function may be known by the
 * beginning of its code, also in a file without its name. A source usdt:FILE:PROVIDER:PROBE is
 * another name for probes of notes, or a declaration about them.
 */
#include "d/compile.h"
#include "image/exits.h"
#include "privilege/privilege.h"
#include "provider/usdt.h"

/* ---- files ----------------------------------------------------------------------------------- */

/*
 * Whether the file has the declared probe itself. A probe of its own that is left out, because it
 * is known to harm, does not count: the function is probed instead.
 */
static bool has_note(struct provider_env *env, struct usdt_object *o,
		     const struct derived_info *declared)
{
	for (uint32_t i = 0; i < o->notes.list.len; i++) {
		const struct usdt_note *note = &o->notes.list.data[i];

		if (strcmp(note->name, declared->name) == 0 &&
		    strcmp(note->provider, declared->prov) == 0)
			return env->is_harmful ||
			       !usdt_harm_find(env, o, note->provider, note->name);
	}
	return false;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static void entry_add(struct usdt_group *d, struct code_file *file, const struct func *fn)
{
	uint32_t skip;

	d->spot = code_entry_spot(file, fn);
	if (code_entry_find(file, fn, &skip))
		vec_push(&d->code.sites,
			 (struct place_site){.file = &file->file, .off = fn->off + skip});
}

static void returns_add(struct usdt_group *d, struct code_file *file, const struct func *fn)
{
	struct func_exits exits = {0};

	d->spot = code_return_spot(file, fn);
	if (func_exits_find(file->funcs, fn, &file->image->text, &exits))
		for (uint32_t i = 0; i < exits.list.len; i++)
			vec_push(&d->code.sites,
				 (struct place_site){.file = &file->file,
						     .off = exits.list.data[i].off,
						     .rel = exits.list.data[i].rel,
						     .is_tail = exits.list.data[i].is_tail});
	vec_deinit(&exits.list);
}

/*
 * Calls that have come back: for the kernel, a return probe belongs to where the function begins.
 * It replaces the return address on the stack, which Go's runtime does not stand.
 */
static void calls_add(struct usdt_group *d, struct code_file *file, const struct func *fn)
{
	uint32_t skip;

	d->spot = SPOT_RETURNED;
	if (code_return_spot(file, fn) == SPOT_RETURN && code_entry_find(file, fn, &skip))
		vec_push(&d->code.sites, (struct place_site){.file = &file->file,
							     .off = fn->off + skip,
							     .is_returned = true});
}

/* ---- probes ---------------------------------------------------------------------------------- */

/* Makes the group of a source in a function; NULL if another source has made it. */
static struct usdt_group *group_make(struct usdt_object *o, const struct code_source *source,
				     const char *func)
{
	const char *prov = source->probe->prov, *name = source->probe->name;
	struct usdt_group *grp;
	bool is_again = false;

	for (uint32_t i = 0; i < o->groups.len; i++) {
		grp = o->groups.data[i];
		if (strcmp(grp->func, func) != 0 || strcmp(grp->name, name) != 0 ||
		    strcmp(grp->prov, prov) != 0 || (grp->harm && !grp->source))
			continue;
		if (!grp->source || grp->kind == source->kind)
			return NULL;
		is_again = true;
	}
	grp = usdt_group_add(o, prov, func, name);
	grp->declared = source->probe;
	grp->source = source->number;
	grp->kind = source->kind;
	grp->is_again = is_again;
	return grp;
}

static void function_sites_add(struct usdt_group *grp, enum code_kind kind, const struct func *fn)
{
	struct code_file *file = grp->object->file;

	switch (kind) {
	case CODE_ENTRY: entry_add(grp, file, fn); break;
	case CODE_RETURN: returns_add(grp, file, fn); break;
	case CODE_RETURNED: calls_add(grp, file, fn); break;
	case CODE_NOTE: BUG("a note is no function");
	}
}

static bool is_among_first(const struct funcs *f, const struct func *from, const struct func *fn)
{
	for (; from != fn; from = &f->list.data[from->next - 1])
		if (from->addr == fn->addr)
			return true;
	return false;
}

/*
 * Adds a function, with the others of its name: local functions, and versions that a library keeps
 * for old programs.
 */
static void function_add(struct usdt_object *o, const struct code_source *source,
			 const struct func *fn)
{
	struct usdt_group *grp = group_make(o, source, fn->name);
	const struct funcs *f = o->file->funcs;
	const struct func *first = funcs_find(f, fn->name);

	for (fn = grp ? first : NULL; fn; fn = fn->next ? &f->list.data[fn->next - 1] : NULL)
		if (!is_among_first(f, first, fn))
			function_sites_add(grp, source->kind, fn);
}

/*
 * Moves what counts a consumer to the instruction at which the program begins: it is executed once,
 * while that of the note may be executed for each line of a script.
 */
static void counter_add(struct usdt_group *grp, struct code_file *file)
{
	struct place_site *site = grp->code.sites.data;
	uint64_t off;

	if (!grp->code.sites.len || !site->counter_off || !file->funcs->entry ||
	    !funcs_off(file->funcs, file->funcs->entry, &off))
		return;
	site->off = off;
	grp->code.sites.len = 1;
}

/*
 * Adds a group with another name for a group of notes. In files without symbols, several groups of
 * notes are in a function without a name: then the note's name stands for it.
 */
static void note_add(struct usdt_object *o, const struct code_source *source,
		     const struct usdt_group *own)
{
	struct usdt_group *grp = group_make(o, source, own->func);

	if (!grp)
		grp = group_make(o, source, own->name);
	if (!grp)
		return;
	grp->note = own->note;
	grp->operands = own->operands;
	grp->spot = own->spot;
	grp->harm = own->harm;
	for (uint32_t i = 0; i < own->code.sites.len; i++)
		vec_push(&grp->code.sites, own->code.sites.data[i]);
	if (source->is_counter)
		counter_add(grp, o->file);
}

static bool is_note_of(const struct code_source *source, const char *prov, const char *name)
{
	return strcmp(prov, source->func) == 0 && glob_match(source->name, name);
}

/* True if the source is the file's own probe of this name: the declaration is about that one. */
static bool is_about_own(const struct code_source *source)
{
	return source->kind == CODE_NOTE &&
	       is_note_of(source, source->probe->prov, source->probe->name);
}

static void notes_add(struct provider_env *env, struct usdt_object *o,
		      const struct code_source *source)
{
	uint32_t n;

	usdt_object_group(env, usdt_state(env), o);
	n = o->groups.len;
	for (uint32_t i = 0; i < n; i++) {
		struct usdt_group *own = o->groups.data[i];

		if (own->source || !is_note_of(source, own->prov, own->name))
			continue;
		if (is_about_own(source)) {
			own->declared = source->probe;
			own->source = source->number;
			own->kind = source->kind;
		} else {
			note_add(o, source, own);
		}
	}
}

static bool function_is_meant(const struct code_source *source, const struct func *fn)
{
	return fn->is_canonical && !fn->is_part && !fn->is_ifunc &&
	       glob_match(source->func, fn->name);
}

/*
 * "NAME`FUNCTION`FUNCTION-BYTES" is a file that has these functions, too, the second with these
 * bytes at its beginning: they tell builds apart whose structures differ.
 */
static bool name_matches(const struct code_source *source, const char *file)
{
	char name[256];

	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(source->mod, "`"), source->mod);
	return glob_match(name, file);
}

static bool digit_matches(char pattern, uint8_t digit)
{
	return pattern == '?' || pattern == "0123456789abcdef"[digit] ||
	       pattern == "0123456789ABCDEF"[digit];
}

static bool bytes_match(const uint8_t *code, const char *hex, size_t len)
{
	for (size_t i = 0; i < len / 2; i++)
		if (!digit_matches(hex[2 * i], code[i] >> 4) ||
		    !digit_matches(hex[2 * i + 1], code[i] & 15))
			return false;
	return true;
}

static bool has_bytes(struct code_file *file, const struct func *fn, const char *hex, size_t len)
{
	const uint8_t *code = text_at(&file->image->text, fn->off, len / 2);

	return code && bytes_match(code, hex, len);
}

static bool has_functions(const struct code_source *source, struct code_file *file)
{
	const char *p = strchr(source->mod, '`');
	const struct func *fn;
	char name[256];

	for (; p; p = strchr(p + 1, '`')) {
		size_t len = strcspn(p + 1, "`"), n = strcspn(p + 1, "-`");

		(void)snprintf(name, sizeof(name), "%.*s", (int)n, p + 1);
		fn = funcs_find(file->funcs, name);
		if (!fn || (n < len && !has_bytes(file, fn, p + 1 + n + 1, len - n - 1)))
			return false;
	}
	return true;
}

#define SEARCH_PIECE (1u << 20) /* bytes of code that are searched at once */

/*
 * Counts the places in a segment's code where the bytes are, at most up to 2; *ret_off is the last.
 * The first of the bytes is one that is known.
 */
static uint32_t segment_search(struct code_file *file, const struct image_segment *g,
			       const char *hex, uint64_t *ret_off)
{
	size_t len = strlen(hex), n = len / 2;
	char first[3] = {hex[0], hex[1]};
	int wanted = (int)strtoul(first, NULL, 16);
	uint32_t nfound = 0;

	for (uint64_t at = 0; at + n <= g->size && nfound < 2; at += SEARCH_PIECE) {
		size_t starts = (size_t)MIN(g->size - n + 1 - at, (uint64_t)SEARCH_PIECE);
		const uint8_t *code = text_at(&file->image->text, g->off + at, starts + n - 1);
		const uint8_t *p = code, *end = code ? code + starts : NULL;

		if (!code)
			break;
		while (nfound < 2 && p < end && (p = memchr(p, wanted, (size_t)(end - p)))) {
			if (bytes_match(p, hex, len)) {
				*ret_off = g->off + at + (uint64_t)(p - code);
				nfound++;
			}
			p++;
		}
	}
	return nfound;
}

/*
 * The function of a file without its name: the only place in the file's code where its bytes are.
 * Its end is not known.
 */
static bool function_search(struct code_file *file, const struct code_source *source,
			    struct func *ret)
{
	const struct image_segments *code = &file->funcs->code;
	uint32_t nfound = 0;

	*ret = (struct func){.name = source->func};
	for (uint32_t i = 0; i < code->list.len && nfound < 2; i++)
		nfound += segment_search(file, &code->list.data[i], source->bytes, &ret->off);
	if (nfound != 1 || !segments_addr(code, ret->off, &ret->addr))
		return false;
	ret->size = funcs_room(file->funcs, ret->addr);
	return ret->size >= strlen(source->bytes) / 2;
}

/*
 * Whether a probe may be where bytes have been found that a user with levels has chosen. They may
 * begin inside an instruction, and a breakpoint there stays in a file that programs of others map,
 * which the user may execute. The declarations of the system's library are trusted.
 */
static bool place_is_allowed(struct provider_env *env, const struct usdt_object *o,
			     const struct code_source *source, uint64_t addr)
{
	if (source->is_of_system || !privileges_lack(env->privileges, LEVEL_PROC_OWNER) ||
	    code_file_begins_at(o->target, o->file, addr))
		return true;
	usdt_state(env)->unproved = source;
	env_notice(env,
		   "'%s' in '%s' is not probed: nothing in the file says that a function begins at "
		   "its bytes; it needs proc_owner",
		   source->func, o->file->file.name);
	return false;
}

/* Adds the function FUNCTION-BYTES, whose name the file may have or not. */
static void known_code_add(struct provider_env *env, struct usdt_object *o,
			   const struct code_source *source)
{
	const struct func *fn = funcs_find(o->file->funcs, source->func);
	struct usdt_group *grp;
	struct func found;

	if (fn && !has_bytes(o->file, fn, source->bytes, strlen(source->bytes)))
		return;
	if (fn) {
		function_add(o, source, fn);
		return;
	}
	if (!function_search(o->file, source, &found) ||
	    !place_is_allowed(env, o, source, found.addr))
		return;
	grp = group_make(o, source, source->func);
	if (grp)
		function_sites_add(grp, source->kind, &found);
}

static void code_add(struct provider_env *env, struct usdt_object *o,
		     const struct code_source *source)
{
	const struct func *fn;

	if (!has_functions(source, o->file))
		return;
	usdt_prov_add(o, source->probe->prov);
	if (source->kind == CODE_NOTE) {
		notes_add(env, o, source);
		return;
	}
	if (source->bytes) {
		known_code_add(env, o, source);
		return;
	}
	if (glob_is_literal(source->func)) {
		fn = funcs_find(o->file->funcs, source->func);
		if (fn)
			function_add(o, source, fn);
		return;
	}
	for (uint32_t i = 0; i < o->file->funcs->list.len; i++)
		if (function_is_meant(source, &o->file->funcs->list.data[i]))
			function_add(o, source, &o->file->funcs->list.data[i]);
}

static void code_source_add(struct provider_env *env, struct usdt_object *o,
			    const struct code_source *source)
{
	bool is_own = is_about_own(source) || source->is_counter;

	if ((!is_own && has_note(env, o, source->probe)) || code_file_hold(o->target, o->file))
		return;
	code_add(env, o, source);
	code_file_rest(o->file);
}

/* ---- sources --------------------------------------------------------------------------------- */

/* Returns source number i, counted from 0; NULL behind the last. */
static const struct code_source *source_get(struct provider_env *env, uint32_t i, bool *ret_is_live)
{
	const struct declared_source_fns *fns = &env->declared;

	return fns->code ? fns->code(fns->ctx, i, ret_is_live) : NULL;
}

uint32_t usdt_code_count(struct provider_env *env, struct usdt_state *st)
{
	bool is_live;

	while (source_get(env, st->ncodes, &is_live))
		st->ncodes++;
	return st->ncodes;
}

bool usdt_code_names(struct provider_env *env, uint32_t from, const char *file)
{
	const struct code_source *source;
	bool is_live;

	for (; (source = source_get(env, from, &is_live)); from++)
		if (is_live && name_matches(source, file))
			return true;
	return false;
}

void usdt_code_add(struct provider_env *env, struct usdt_object *o)
{
	const struct code_source *source;
	bool is_live;

	for (; (source = source_get(env, o->ncodes, &is_live)); o->ncodes++)
		if (is_live && name_matches(source, o->file->file.name))
			code_source_add(env, o, source);
}
