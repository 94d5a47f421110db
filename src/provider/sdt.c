/* SPDX-License-Identifier: MIT */
/*
 * Provider sdt: the kernel's tracepoints that have an event in tracefs, with the fields of the
 * event's record as arguments (providers.md 7.2).
 *
 * Groups and names come from tracefs. What a record holds stands in the event's file "format",
 * which is read when the probe is used:
 *
 *     field:char prev_comm[16];	offset:8;	size:16;	signed:0;
 *     field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
 *
 * Events of system calls are those of provider syscall, and are left out; so are events that users
 * have made of kprobes and uprobes. The id of a probe is the number of its event in the kernel's
 * list.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/hashmap.h"
#include "base/str.h"
#include "d/text/diag.h"
#include "provider/arrivals.h"
#include "provider/providers.h"
#include "provider/sdt.h"

typedef VEC(struct sdt_event) sdt_event_vec;

struct sdt_state {
	bool is_read;
	struct strbuf events; /* the text to which groups and names of list point */
	sdt_event_vec list;
	VEC(struct sdt_event *) late; /* what modules have brought that have come since */
	uint32_t late_from;	      /* the first one of the last module */
	uint32_t present;	      /* the one whose batch was begun */
};

/* ---- events ---------------------------------------------------------------------------------- */

/* Adds what the file has; false: it cannot be read. */
static bool file_read(int dir, const char *path, struct strbuf *out)
{
	CLEANUP(fd) int fd = dir < 0 ? -1 : openat(dir, path, O_RDONLY | O_CLOEXEC);
	char buf[16384];
	ssize_t n = -1;

	while (fd >= 0 && (n = read(fd, buf, sizeof(buf))) > 0)
		strbuf_add(out, buf, (size_t)n);
	return fd >= 0 && n == 0;
}

/* The groups of events that users have made: lines "p:GROUP/NAME ..." */
static struct hashmap *users_groups(int dir)
{
	struct hashmap *groups = hashmap_create();
	struct strbuf text = {0};
	char *save = NULL;

	if (file_read(dir, "dynamic_events", &text) && text.len)
		for (char *line = strtok_r(text.data, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save)) {
			char *group = strchr(line, ':'), *slash = group ? strchr(group, '/') : NULL;

			if (slash)
				hashmap_set(groups, group + 1, (size_t)(slash - group - 1), line);
		}
	strbuf_deinit(&text);
	return groups;
}

static bool is_listed(const struct hashmap *users, const char *group)
{
	return strcmp(group, "syscalls") != 0 && strcmp(group, "ftrace") != 0 &&
	       !hashmap_finds(users, group);
}

/* Appends the events of tracefs to list; their names lie in text. */
static void events_read(struct arena *arena, struct strbuf *text, sdt_event_vec *list)
{
	CLEANUP(fd) int dir = tracefs_open_dir(".");
	struct hashmap *users = users_groups(dir);
	char *save = NULL;

	if (file_read(dir, "available_events", text) && text->len)
		for (char *line = strtok_r(text->data, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save)) {
			struct sdt_event ev = {.group = line, .arena = arena};
			char *colon = strchr(line, ':');

			if (!colon || list->len == sdt_ID_COUNT)
				continue;
			*colon = '\0';
			ev.name = colon + 1;
			if (is_listed(users, ev.group))
				vec_push(list, ev);
		}
	hashmap_destroy(users);
}

static struct sdt_state *state_get(struct provider_env *env, const struct provider *pv)
{
	struct sdt_state *st = probes_state(env->probes, pv, sizeof(*st));

	if (!st->is_read)
		events_read(env->arena, &st->events, &st->list);
	st->is_read = true;
	return st;
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* clang-format off */
static const struct {
	const char *kernel, *type; /* of elements of an array, behind a pointer */
} element_types[] = {
	{ "u8", "uint8_t" },   { "__u8", "uint8_t" },   { "unsigned char", "uint8_t" }, { "uint8_t", "uint8_t" },
	{ "u16", "uint16_t" }, { "__u16", "uint16_t" }, { "uint16_t", "uint16_t" },     { "unsigned short", "uint16_t" },
	{ "u32", "uint32_t" }, { "__u32", "uint32_t" }, { "uint32_t", "uint32_t" },     { "unsigned int", "uint32_t" },
	{ "u64", "uint64_t" }, { "__u64", "uint64_t" }, { "uint64_t", "uint64_t" },     { "unsigned long", "uint64_t" },
	{ "int", "int" },      { "long", "int64_t" },   { "s64", "int64_t" },           { "cpumask_t", "uint64_t" },
};
/* clang-format on */

/* The type of an array's address; strings of the kernel are shown as such. */
static const char *array_type(struct arena *a, const char *element)
{
	if (strcmp(element, "char") == 0)
		return "char * : string";
	for (size_t i = 0; i < ARRAY_LEN(element_types); i++)
		if (strcmp(element, element_types[i].kernel) == 0)
			return arena_printf(a, "%s *", element_types[i].type);
	return "void *";
}

static const char *number_type(const char *type, uint32_t size, bool is_signed)
{
	if (strcmp(type, "bool") == 0 && size == 1)
		return "bool";
	switch (size) {
	case 1: return is_signed ? "int8_t" : "uint8_t";
	case 2: return is_signed ? "int16_t" : "uint16_t";
	case 4: return is_signed ? "int" : "uint32_t";
	default: return is_signed ? "int64_t" : "uint64_t";
	}
}

static const char *pointer_type(const char *type)
{
	return strcmp(type, "char *") == 0 || strcmp(type, "const char *") == 0 ? type : "void *";
}

/*
 * Cuts "TYPE NAME", "TYPE NAME[N]" and "TYPE[] NAME" into type and name; false: it is none of them.
 * A "const" of a value goes.
 */
static bool declaration_cut(struct arena *a, const char *text, const char **ret_type,
			    const char **ret_name, bool *ret_is_array)
{
	const char *bracket = strchr(text, '['), *end = bracket ? bracket : text + strlen(text);
	const char *name = end, *type_end;

	*ret_is_array = bracket != NULL;
	if (bracket && bracket[1] == ']') {
		name = bracket + 2 + strspn(bracket + 2, " ");
		end = name + strlen(name);
		type_end = bracket;
	} else {
		while (name > text && name[-1] != ' ' && name[-1] != '*')
			name--;
		type_end = name;
	}
	while (type_end > text && type_end[-1] == ' ')
		type_end--;
	if (type_end == text || name == end)
		return false;
	*ret_name = arena_strndup(a, name, (size_t)(end - name));
	*ret_type = arena_strndup(a, text, (size_t)(type_end - text));
	if (strncmp(*ret_type, "const ", 6) == 0 && !strchr(*ret_type, '*'))
		*ret_type += 6;
	return true;
}

/* One line of the format: "\tfield:DECLARATION;\toffset:N;\tsize:N;\tsigned:N;" */
static void field_read(struct sdt_event *ev, char *line)
{
	struct arena *a = ev->arena;
	struct place_field *f = &ev->record.fields[ev->record.nfields];
	char *semi = strchr(line, ';');
	unsigned int off, size, is_signed;
	const char *name, *type, *shown;
	bool is_array, is_number;

	if (!semi ||
	    sscanf(semi, ";\toffset:%u;\tsize:%u;\tsigned:%u;", &off, &size, &is_signed) != 3)
		return;
	*semi = '\0';
	if (strstr(line, " common_") || ev->record.nfields == PLACE_MAX_FIELDS || off > UINT16_MAX)
		return;
	if (!declaration_cut(a, line, &type, &name, &is_array))
		return;
	is_number = size && size <= 8 && !(size & (size - 1)) && off % size == 0;
	*f = (struct place_field){.off = (uint16_t)off,
				  .size = (uint8_t)size,
				  .is_signed = is_signed};
	if (strncmp(type, "__data_loc ", 11) == 0) {
		f->kind = PLACE_FIELD_LOC;
		shown = array_type(a, type + 11);
	} else if (strncmp(type, "__rel_loc ", 10) == 0) {
		f->kind = PLACE_FIELD_REL_LOC;
		shown = array_type(a, type + 10);
	} else if (is_array || !is_number) {
		f->kind = PLACE_FIELD_ADDRESS;
		shown = is_array ? array_type(a, type) : "void *";
	} else {
		f->kind = PLACE_FIELD_NUMBER;
		shown = strchr(type, '*') ? pointer_type(type) : number_type(type, size, is_signed);
	}
	ev->types[ev->record.nfields++] = argtext_named(a, shown, name);
}

void sdt_format_parse(struct sdt_event *ev, char *text)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (strncmp(line, "ID: ", 4) == 0)
			ev->record.id = (uint32_t)strtoul(line + 4, NULL, 10);
		else if (strncmp(line, "\tfield:", 7) == 0)
			field_read(ev, line + 7);
	}
}

/* An event whose format cannot be read has no fields, and id 0. */
static void format_read(struct sdt_event *ev)
{
	CLEANUP(fd) int dir = tracefs_open_dir("events");
	struct strbuf text = {0};

	ev->is_read = true;
	if (file_read(dir, arena_printf(ev->arena, "%s/%s/format", ev->group, ev->name), &text) &&
	    text.len)
		sdt_format_parse(ev, text.data);
	strbuf_deinit(&text);
}

static struct sdt_event *event_of(const struct probe *pr)
{
	struct sdt_event *ev = (struct sdt_event *)(uintptr_t)pr->data;

	if (!ev->is_read)
		format_read(ev);
	return ev;
}

/* ---- probes ---------------------------------------------------------------------------------- */

static bool sdt_concerns(const struct provider *pv, const struct probe_desc *desc)
{
	return glob_match(desc->prov, pv->name) && glob_match(desc->func, "") &&
	       is_tracepoint_name(desc->name);
}

static struct probe *event_add(struct provider_env *env, const struct provider *pv,
			       struct sdt_state *st, uint32_t i)
{
	return probes_add_at(env->probes, pv, i, st->list.data[i].group, "", st->list.data[i].name,
			     (uintptr_t)&st->list.data[i]);
}

static struct err *sdt_collect(struct provider_env *env, const struct provider *pv,
			       const struct probe_desc *desc, struct probe_list *out)
{
	struct sdt_state *st = state_get(env, pv);

	for (uint32_t i = 0; i < st->list.len; i++)
		if (glob_match(desc->name, st->list.data[i].name) &&
		    glob_match(desc->mod, st->list.data[i].group))
			probe_list_add(out, event_add(env, pv, st, i));
	return NULL;
}

static struct err *sdt_provide(struct provider_env *env, const struct provider *pv)
{
	struct sdt_state *st = state_get(env, pv);

	for (uint32_t i = 0; i < st->list.len; i++)
		(void)event_add(env, pv, st, i);
	return NULL;
}

static const char *sdt_hint(struct provider_env *env, const struct provider *pv,
			    const struct probe_desc *desc)
{
	VEC(const char *) names = {0};
	struct sdt_state *st;
	const char *near = NULL, *hint = NULL;

	if (strcmp(desc->prov, pv->name) != 0)
		return NULL;
	st = state_get(env, pv);
	for (uint32_t i = 0; i < st->list.len; i++)
		vec_push(&names, st->list.data[i].name);
	if (*desc->name && glob_is_literal(desc->name))
		near = diag_nearest(desc->name, names.data, names.len);
	if (!st->list.len)
		hint = "tracefs cannot be read here; rawtp:::NAME needs none. It is mounted at "
		       "/sys/kernel/tracing, in a container by -v "
		       "/sys/kernel/tracing:/sys/kernel/tracing:ro";
	else if (*desc->func)
		hint = "a tracepoint has no function: sdt:GROUP::NAME";
	else if (near)
		hint = arena_printf(env->arena, "did you mean '%s:::%s'?", pv->name, near);
	vec_deinit(&names);
	return hint;
}

static uint32_t sdt_arg_types(struct provider_env *env, const struct probe *pr,
			      const char *const **ret_types)
{
	struct sdt_event *ev = event_of(pr);

	*ret_types = ev->types;
	return ev->record.nfields;
}

static uint32_t sdt_points(const struct probe *pr, struct probe_point *ret)
{
	struct sdt_event *ev = event_of(pr);

	ret[0] = (struct probe_point){
		.place = {.kind = PLACE_EVENT,
			  .target = arena_printf(ev->arena, "%s:%s", ev->group, ev->name)},
		.event = &ev->record,
	};
	return 1;
}

/* ---- modules that come ----------------------------------------------------------------------- */

static bool sdt_wants_modules(struct provider_env *env, const struct probe_desc *desc)
{
	return !desc->id && *desc->prov && sdt_concerns(&provider_sdt, desc);
}

static bool event_is_known(const struct sdt_state *st, const struct sdt_event *ev)
{
	for (uint32_t i = 0; i < st->list.len; i++)
		if (strcmp(st->list.data[i].name, ev->name) == 0 &&
		    strcmp(st->list.data[i].group, ev->group) == 0)
			return true;
	for (uint32_t i = 0; i < st->late.len; i++)
		if (strcmp(st->late.data[i]->name, ev->name) == 0 &&
		    strcmp(st->late.data[i]->group, ev->group) == 0)
			return true;
	return false;
}

/* Events with a probe keep their module, so those that are known stay what they are. */
static void late_read(struct provider_env *env, struct sdt_state *st)
{
	struct arena *a = env->arena;
	struct strbuf text = {0};
	sdt_event_vec all = {0};

	events_read(a, &text, &all);
	st->late_from = st->late.len;
	for (uint32_t i = 0; i < all.len; i++) {
		struct sdt_event *ev;

		if (event_is_known(st, &all.data[i]))
			continue;
		ev = ARENA_NEW(a, struct sdt_event);
		*ev = (struct sdt_event){.group = arena_strdup(a, all.data[i].group),
					 .name = arena_strdup(a, all.data[i].name),
					 .arena = a};
		vec_push(&st->late, ev);
	}
	vec_deinit(&all);
	strbuf_deinit(&text);
}

/* Each event is a batch, because each is a place. */
static uint32_t sdt_module_came(struct provider_env *env, const char *mod, uint32_t i)
{
	struct sdt_state *st = state_get(env, &provider_sdt);

	if (i == 0)
		late_read(env, st);
	st->present = st->late_from + i;
	return st->present < st->late.len ? st->present + 1 : 0;
}

static struct err *sdt_match_new(struct provider_env *env, const struct probe_desc *desc,
				 struct probe_list *out)
{
	struct sdt_state *st = state_get(env, &provider_sdt);
	struct sdt_event *ev = st->late.data[st->present];

	if (!glob_match(desc->name, ev->name) || !glob_match(desc->mod, ev->group))
		return NULL;
	if (!ev->late)
		ev->late = probes_add_private(env->probes, &provider_sdt, provider_sdt.name,
					      ev->group, "", ev->name, (uintptr_t)ev);
	probe_list_add(out, ev->late);
	return NULL;
}

const struct provider_arrivals sdt_arrivals = {
	.match_new = sdt_match_new,
	.free = arrivals_keep,
	.modules =
		&(const struct module_arrivals){
			.wants = sdt_wants_modules,
			.came = sdt_module_came,
		},
};

static void sdt_close(void *state)
{
	struct sdt_state *st = state;

	vec_deinit(&st->list);
	strbuf_deinit(&st->events);
}

const struct provider provider_sdt = {
	.name = "sdt",
	.is_shared = true, /* dlib/sdt.d */
	PROVIDER_IDS(sdt),
	.attr = {ATTR_EEI, ATTR_PPU, ATTR_PPU, ATTR_PPI, ATTR_PPI},
	.concerns = sdt_concerns,
	.collect = sdt_collect,
	.provide = sdt_provide,
	.close = sdt_close,
	.hint = sdt_hint,
	.arg_types = sdt_arg_types,
	.points = sdt_points,
};
