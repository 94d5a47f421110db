/*
 * The provider of the probes that programs define themselves (USDT; providers.md, 20).
 *
 * The notes in a program or library give the instruction of each probe, its provider, and where its
 * arguments are when the instruction is reached. The process id is appended to the provider's name:
 * "myapp123". All instructions with the same module, function and name are one probe. If a probe
 * has a counter, the kernel increments it while the probe is traced, and the program tests the
 * counter (MYAPP_NAME_ENABLED()).
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>

#include "base/hashmap.h"
#include "d/diag.h"
#include "proc/fastnop.h"
#include "d/import_dwarf.h"
#include "provider/usdt.h"
#include "sym/debugfile.h"

/* ---- probes ---------------------------------------------------------------------------------- */

/* Returns the number of these operands; equal operands have the same number. */
static uint32_t operands_number(struct usdt_state *st, const struct usdt_operands *o)
{
	for (uint32_t i = 0; i < st->operands.len; i++)
		if (memcmp(st->operands.data[i], o, sizeof(*o)) == 0)
			return i;
	vec_push(&st->operands, xmalloc(sizeof(*o)));
	*st->operands.data[st->operands.len - 1] = *o;
	return st->operands.len - 1;
}

struct usdt_probe_data *usdt_probe_create(struct probes *ps, struct usdt_state *st,
					  struct usdt_object *o)
{
	struct usdt_probe_data *d = xcalloc(1, sizeof(*d));

	d->object = o;
	d->key = probes_code_key(ps);
	d->code.pid = d->code.at = o->target->pid;
	d->code.is_exact = true;
	vec_push(&st->probes, d);
	return d;
}

/* Returns the probe of the object that a note belongs to; the first note creates it. */
static struct probe *probe_get(struct probes *ps, struct usdt_state *st, struct usdt_object *o,
			       const struct usdt_note *note, const char *func)
{
	const char *prov =
		arena_printf(probes_arena(ps), "%s%d", note->provider, (int)o->target->pid);
	struct usdt_probe_data *d;
	struct probe *pr;

	for (uint32_t i = 0; i < o->probes.len; i++) {
		pr = o->probes.data[i];
		if (strcmp(pr->name, note->name) == 0 && strcmp(pr->func, func) == 0 &&
		    strcmp(pr->prov, prov) == 0)
			return pr;
	}
	d = usdt_probe_create(ps, st, o);
	d->note = note;
	d->spot = UPROBE_USDT;
	pr = probes_add_as(ps, &provider_usdt, prov, o->file->file.name, func, note->name,
			   (uint64_t)(uintptr_t)d);
	vec_push(&o->probes, pr);
	return pr;
}

/* nops: NULL if the kernel optimizes no nops */
static void site_add(struct probes *ps, struct usdt_state *st, struct usdt_object *o,
		     const struct usdt_note *note, struct gate_elf *g, struct fastnop *nops)
{
	const struct func *fn = funcs_at(o->file->funcs, note->pc);
	struct usdt_operands operands;
	struct usdt_probe_data *d;
	uint32_t number;
	uint64_t off;

	if (!funcs_off(o->file->funcs, note->pc, &off))
		return; /* the note is wrong: its address is not in code */
	usdt_note_operands(g, note, o->file->file.is_32bit, &operands);
	number = operands_number(st, &operands);
	if (nops)
		off += fastnop_skip(nops, o->file->funcs, &o->file->text, off);
	d = usdt_probe(probe_get(ps, st, o, note, fn ? fn->name : ""));
	if (!d->operands)
		d->operands = st->operands.data[number];
	vec_push(&d->code.sites, (struct place_site){.file = &o->file->file,
						     .off = off,
						     .rel = number,
						     .operands = st->operands.data[number],
						     .counter_off = note->counter_off});
}

static int by_pc(const void *pa, const void *pb)
{
	const struct usdt_note *a = pa, *b = pb;

	return (a->pc > b->pc) - (a->pc < b->pc);
}

static void object_destroy(struct usdt_object *o)
{
	usdt_kinds_destroy(o->kinds);
	usdt_notes_deinit(&o->notes);
	vec_deinit(&o->probes);
	free(o);
}

struct usdt_object *usdt_object_add(struct usdt_state *st, struct pid_target *t,
				    struct pid_object *file)
{
	struct usdt_object *o = xcalloc(1, sizeof(*o));

	*o = (struct usdt_object){.target = t, .file = file};
	vec_push(&st->objects, o);
	return o;
}

/* Reads the notes of a file that the process has mapped, and registers their probes. */
static void object_read(struct probes *ps, struct usdt_state *st, struct pid_target *t,
			struct pid_object *file)
{
	struct fastnop nops = {0};
	struct usdt_object *o;
	struct gate_elf g;

	if (pid_object_open_file(t, file))
		return;
	o = xcalloc(1, sizeof(*o));
	*o = (struct usdt_object){.target = t, .file = file};
	gate_elf_open(file->file.opened, probes_files(ps)->limit, &g);
	usdt_notes_read(&g, &o->notes);
	if (o->notes.is_cut)
		probes_notice(ps, "some notes about probes in '%s' cannot be read",
			      file->file.name);
	if (!o->notes.list.len || pid_object_open(t, file)) {
		object_destroy(o);
	} else {
		vec_push(&st->objects, o);
		qsort(o->notes.list.data, o->notes.list.len, sizeof(*o->notes.list.data), by_pc);
		for (uint32_t i = 0; i < o->notes.list.len; i++)
			site_add(ps, st, o, &o->notes.list.data[i], &g,
				 feat_has(FEAT_UPROBE_NOP5) ? &nops : NULL);
		fastnop_deinit(&nops);
	}
	gate_elf_close(&g);
}

/* ---- processes ------------------------------------------------------------------------------- */

static bool is_known(const struct usdt_state *st, pid_t pid)
{
	for (uint32_t i = 0; i < st->pids.targets.len; i++)
		if (st->pids.targets.data[i]->pid == pid)
			return true;
	return false;
}

static struct err *process_read(struct probes *ps, struct usdt_state *st, pid_t pid)
{
	struct pid_target *t;
	struct err *e;

	if (is_known(st, pid))
		return NULL;
	e = pid_target_get(ps, &st->pids, pid, &t);
	for (uint32_t i = 0; !e && i < t->objects.len; i++)
		object_read(ps, st, t, t->objects.data[i]);
	return e;
}

/*
 * Reads the notes of all processes. Processes that end meanwhile, and those whose memory we have no
 * right to read, are skipped.
 */
static void processes_read(struct probes *ps, struct usdt_state *st)
{
	DIR *dir = st->are_all_read ? NULL : opendir("/proc");
	struct dirent *d;

	st->are_all_read = true;
	while (dir && (d = readdir(dir))) {
		pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);

		if (pid > 0 && pid != getpid())
			err_destroy(process_read(ps, st, pid));
	}
	if (dir)
		(void)closedir(dir); /* the directory was only read */
}

/* Returns where the process id begins in a provider's name such as "myapp123"; else its end. */
static const char *number_at(const char *prov)
{
	const char *p = prov + strlen(prov);

	while (p > prov && isdigit((unsigned char)p[-1]))
		p--;
	return p;
}

static bool is_other_provider(const char *pattern)
{
	for (uint32_t i = 0; provider_list[i]; i++)
		if (provider_list[i] != &provider_usdt &&
		    glob_match(pattern, provider_list[i]->name))
			return true;
	return false;
}

/*
 * True for names such as "myapp123" and for patterns. A pattern that matches another provider does
 * not stand for programs as well, because the notes of all processes would have to be read.
 */
static bool usdt_concerns(const struct provider *pv, const struct probe_desc *desc)
{
	const char *number = number_at(desc->prov);
	char head[64];

	(void)pv;
	if (!*desc->prov || is_other_provider(desc->prov))
		return false;
	if (!*number)
		return !glob_is_literal(desc->prov);
	if (number == desc->prov || (size_t)(number - desc->prov) >= sizeof(head))
		return false;
	(void)snprintf(head, sizeof(head), "%.*s", (int)(number - desc->prov), desc->prov);
	return !is_other_provider(head);
}

static struct err *processes_of(struct probes *ps, struct usdt_state *st,
				const struct probe_desc *desc)
{
	const char *number = number_at(desc->prov);
	unsigned long n = strtoul(number, NULL, 10);
	struct err *e = NULL;
	pid_t pid;

	if (*number)
		return n && n <= INT32_MAX ? process_read(ps, st, (pid_t)n) : NULL;
	for (uint32_t i = 0; (pid = probes_process(ps, i)) && !e; i++)
		e = process_read(ps, st, pid);
	if (!probes_process(ps, 0))
		processes_read(ps, st);
	return e;
}

static bool field_matches(const char *pattern, const char *text)
{
	return !*pattern || glob_match(pattern, text);
}

static struct err *usdt_collect(struct probes *ps, const struct provider *pv,
				const struct probe_desc *desc, struct probe_list *out)
{
	const struct declared_source_fns *declared = probes_declared(ps);
	struct usdt_state *st = probes_state(ps, pv, sizeof(*st));
	struct err *e = declared->define ? declared->define(declared->ctx, desc) : NULL;

	if (!e)
		e = processes_of(ps, st, desc);
	if (!e)
		usdt_code_add(ps, st);
	for (uint32_t i = 0; !e && i < st->objects.len; i++) {
		const struct usdt_object *o = st->objects.data[i];

		if (*desc->mod && !pid_object_matches(o->file, desc->mod))
			continue;
		for (uint32_t k = 0; k < o->probes.len; k++) {
			struct probe *pr = o->probes.data[k];

			if (glob_match(desc->prov, pr->prov) &&
			    field_matches(desc->func, pr->func) &&
			    field_matches(desc->name, pr->name))
				probe_list_add(out, pr);
		}
	}
	return e;
}

static const char *usdt_hint(struct probes *ps, const struct provider *pv,
			     const struct probe_desc *desc)
{
	const struct declared_source_fns *declared = probes_declared(ps);
	struct usdt_state *st = probes_state(ps, pv, sizeof(*st));
	const char *names[64], *near;
	uint32_t n = 0;

	if (!usdt_concerns(pv, desc))
		return NULL;
	for (uint32_t i = 0; i < st->objects.len; i++)
		for (uint32_t k = 0; k < st->objects.data[i]->probes.len; k++) {
			const struct probe *pr = st->objects.data[i]->probes.data[k];

			if (glob_match(desc->prov, pr->prov) && n < ARRAY_LEN(names))
				names[n++] = pr->name;
		}
	if (declared->code_hint) {
		const char *why = declared->code_hint(declared->ctx, desc);

		if (why)
			return why;
	}
	near = n && *desc->name ? diag_nearest(desc->name, names, n) : NULL;
	if (near)
		return arena_printf(probes_arena(ps), "did you mean '%s'?", near);
	if (n)
		return arena_printf(probes_arena(ps), "dtrace -ln '%s:::' lists what there is",
				    desc->prov);
	if (*number_at(desc->prov))
		return arena_printf(probes_arena(ps),
				    "the process has no probes of its own of this provider");
	return NULL;
}

/* ---- the provider ---------------------------------------------------------------------------- */

static uint32_t usdt_points(const struct probe *pr, struct probe_point *ret)
{
	const struct usdt_probe_data *d = usdt_probe(pr);

	ret[0] = (struct probe_point){.place = {.kind = PLACE_UPROBE},
				      .key = d->key,
				      .tgid = (uint32_t)d->code.pid,
				      .spot = d->spot,
				      .code = &d->code};
	return 1;
}

static void usdt_close(void *state)
{
	struct usdt_state *st = state;

	for (uint32_t i = 0; i < st->probes.len; i++) {
		vec_deinit(&st->probes.data[i]->code.sites);
		free(st->probes.data[i]);
	}
	for (uint32_t i = 0; i < st->operands.len; i++)
		free(st->operands.data[i]);
	for (uint32_t i = 0; i < st->objects.len; i++)
		object_destroy(st->objects.data[i]);
	for (uint32_t i = 0; i < st->pids.targets.len; i++)
		pid_target_destroy(st->pids.targets.data[i]);
	dwarf_import_destroy(st->types);
	hashmap_destroy(st->debug_types);
	vec_deinit(&st->probes);
	vec_deinit(&st->operands);
	vec_deinit(&st->objects);
	vec_deinit(&st->pids.targets);
	vec_deinit(&st->ncodes);
}

const struct provider provider_usdt = {
	.name = "usdt",
	.attr = {ATTR_EEI, ATTR_PPU, ATTR_PPU, ATTR_EEI, ATTR_PPU},
	.concerns = usdt_concerns,
	.collect = usdt_collect,
	.close = usdt_close,
	.hint = usdt_hint,
	.attrs = usdt_attrs,
	.arg_types = usdt_arg_types,
	.arg_type = usdt_arg_type,
	.arg_refused = usdt_arg_refused,
	.points = usdt_points,
};
