/* SPDX-License-Identifier: MIT */
/* Commands about the language: help, lists, pipes, walks, files of commands. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "image/image.h"
#include "mdb/impl.h"

#define FILE_MAX  (16u << 20) /* bytes of a file of commands */
#define DEPTH_MAX 16

struct err *cmd_quit(struct mdb *m, const struct call *c)
{
	m->is_over = true;
	return NULL;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void dcmd_row(struct mdb *m, const struct dcmd *d)
{
	emit_row(&m->out);
	emit_say(&m->out, "%s", *d->name == '$' ? "" : "::");
	emit_str(&m->out, "name", d->name, *d->name == '$' ? -14 : -12);
	emit_str(&m->out, "what", d->what, 1);
	emit_str(&m->out, "synopsis", d->synopsis, 0);
	emit_end(&m->out);
}

static void alias_row(struct mdb *m, const struct dcmd_alias *a)
{
	struct strbuf what = {0};

	strbuf_addf(&what, "another name of ::%s", a->of);
	emit_row(&m->out);
	emit_say(&m->out, "::");
	emit_str(&m->out, "name", a->name, -12);
	emit_str(&m->out, "what", strbuf_text(&what), 1);
	emit_str(&m->out, "synopsis", dcmd_find(a->of)->synopsis, 0);
	emit_end(&m->out);
	strbuf_deinit(&what);
}

struct err *cmd_dcmds(struct mdb *m, const struct call *c)
{
	for (uint32_t i = 0; i < ndcmds; i++)
		dcmd_row(m, &dcmds[i]);
	for (uint32_t i = 0; i < ndcmd_aliases; i++)
		alias_row(m, &dcmd_aliases[i]);
	return NULL;
}

struct err *cmd_walkers(struct mdb *m, const struct call *c)
{
	for (uint32_t i = 0; i < nwalkers; i++) {
		emit_row(&m->out);
		emit_str(&m->out, "name", walkers[i].name, -12);
		emit_str(&m->out, "what", walkers[i].what, 1);
		emit_end(&m->out);
	}
	return NULL;
}

struct err *cmd_formats(struct mdb *m, const struct call *c)
{
	for (uint32_t i = 0; i < nformats; i++) {
		const char letter[2] = {formats[i].letter};

		emit_row(&m->out);
		emit_str(&m->out, "letter", letter, -2);
		emit_str(&m->out, "what", formats[i].what, 1);
		emit_end(&m->out);
	}
	return NULL;
}

struct err *cmd_help(struct mdb *m, const struct call *c)
{
	const char *name = c->argc ? c->argv[0] : NULL;
	const struct dcmd *d = NULL;

	if (!name) {
		emit_say(
			&m->out,
			"A command is [ADDRESS[,COUNT]] ::NAME [WORDS] [| ::NAME ...] [! SHELL "
			"COMMAND].\n"
			"Numbers are hexadecimal; 0t begins a decimal one. ADDRESS/X prints memory, "
			"NUMBER=D a number.\n\n"
			"::dcmds      lists the commands\n"
			"::walkers    lists what ::walk walks\n"
			"::formats    lists the letters of / and =\n"
			"::help NAME  explains one command\n"
			"$q           ends the debugger\n");
		return NULL;
	}
	d = dcmd_find(strncmp(name, "::", 2) == 0 ? name + 2 : name);
	if (!d)
		return err_hint(err_new("there is no command '%s'", name), "::dcmds lists them");
	dcmd_row(m, d);
	emit_end(&m->out);
	emit_say(&m->out, "usage: %s\n", d->synopsis);
	return NULL;
}

/* ---- pipes ----------------------------------------------------------------------------------- */

static void value_row(struct mdb *m, uint64_t value)
{
	emit_row(&m->out);
	emit_value(&m->out, value);
	emit_addr(&m->out, "value", value, 1);
	emit_end(&m->out);
}

/* Computes the words as one expression, in which "." is the address of the call. */
static struct err *words_eval(struct mdb *m, const struct call *c, uint64_t *ret)
{
	struct expr_env env = mdb_expr_env(m);
	struct strbuf text = {0};
	struct err *e;

	env.dot = c->addr;
	for (uint32_t i = 0; i < c->argc; i++) {
		strbuf_adds(&text, i ? " " : "");
		strbuf_adds(&text, c->argv[i]);
	}
	e = expr_eval(strbuf_text(&text), &env, ret);
	strbuf_deinit(&text);
	return e;
}

struct err *cmd_grep(struct mdb *m, const struct call *c)
{
	uint64_t value;
	struct err *e = words_eval(m, c, &value);

	if (!e && value)
		value_row(m, c->addr);
	return e;
}

struct err *cmd_map(struct mdb *m, const struct call *c)
{
	uint64_t value;
	struct err *e = words_eval(m, c, &value);

	if (!e)
		value_row(m, value);
	return e;
}

/* ---- walks ----------------------------------------------------------------------------------- */

static struct err *walk_threads(struct mdb *m, const struct call *c)
{
	for (uint32_t i = 0; i < m->tids.len; i++)
		value_row(m, (uint64_t)m->tids.data[i]);
	return NULL;
}

static struct err *walk_mappings(struct mdb *m, const struct call *c)
{
	const struct proc_maps *maps = target_maps(m->t);

	for (uint32_t i = 0; i < maps->maps.len; i++)
		value_row(m, maps->maps.data[i].start);
	return NULL;
}

static struct err *walk_objects(struct mdb *m, const struct call *c)
{
	for (uint32_t i = 0; i < m->objects.len; i++)
		value_row(m, m->objects.data[i].start);
	return NULL;
}

/* The symbols of the object at the address, or of all. */
static struct err *walk_symbols(struct mdb *m, const struct call *c)
{
	for (uint32_t i = 0; i < m->objects.len && !m->is_interrupted; i++) {
		const struct mdb_object *o = &m->objects.data[i];

		if (c->has_addr && o != mdb_object_at(m, c->addr))
			continue;
		(void)mdb_symbol_at(m, o, o->start); /* opens the table */
		if (o->image && o->image->syms)
			elf_syms_fill(o->image->syms);
		for (uint32_t k = 0; o->image && o->image->syms && k < o->image->syms->syms.len;
		     k++)
			value_row(m, o->image->syms->syms.data[k].addr + o->bias);
	}
	return NULL;
}

const struct walker walkers[] = {
	{"arena", "the arenas of malloc", walk_arenas},
	{"busy", "the memory of malloc's busy chunks, of the arena at the address, or of all",
	 walk_busy},
	{"chunk", "the memory of malloc's chunks, of the arena at the address, or of all",
	 walk_chunks},
	{"frame", "the addresses of the native frames of the chosen thread", walk_frames},
	{"freed", "the memory of malloc's freed chunks, of the arena at the address, or of all",
	 walk_freed},
	{"mapping", "the begins of what is mapped", walk_mappings},
	{"object", "the begins of the files that are mapped", walk_objects},
	{"symbol", "the addresses of the symbols of the object at the address, or of all",
	 walk_symbols},
	{"thread", "the ids of the threads", walk_threads},
};
const uint32_t nwalkers = ARRAY_LEN(walkers);

struct err *cmd_walk(struct mdb *m, const struct call *c)
{
	for (uint32_t i = 0; i < nwalkers; i++)
		if (strcmp(walkers[i].name, c->argv[0]) == 0)
			return walkers[i].walk(m, c);
	return err_hint(err_new("there is no walker '%s'", c->argv[0]), "::walkers lists them");
}

/* ---- files of commands ----------------------------------------------------------------------- */

static struct err *source_read(const char *path, struct strbuf *ret)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) != 0)
		return err_sys(errno, "cannot read '%s'", path);
	if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX)
		return err_new("'%s' is no file of commands", path);
	do {
		n = read(fd, strbuf_room(ret, 65536), 65536);
		if (n > 0)
			strbuf_wrote(ret, (size_t)n);
	} while (n > 0 && ret->len <= FILE_MAX);
	return n < 0 ? err_sys(errno, "cannot read '%s'", path) : NULL;
}

/* The commands of the file are executed as if they stood in its place. */
struct err *cmd_source(struct mdb *m, const struct call *c)
{
	struct out outer = m->out;
	struct strbuf text = {0};
	struct err *e = m->depth < DEPTH_MAX ? source_read(c->argv[0], &text)
					     : err_new("files of commands are too deep");

	if (!e) {
		m->out = (struct out){.is_json = outer.is_json};
		m->depth++;
		(void)run_text(m, strbuf_text(&text)); /* what failed was told */
		m->depth--;
		emit_deinit(&m->out);
		m->out = outer;
	}
	strbuf_deinit(&text);
	return e;
}
