/* SPDX-License-Identifier: MIT */
/*
 * Which clauses with live() or dead() stay in the kernel, though a process could run them.
 *
 * Rows that clear() and trunc() leave out are deleted in the kernel's table. In that of a process
 * nobody but the process itself gives a slot back, at the dead() of its address: the tracer would
 * race with the next live() there. So objects that nobody gives back would fill it, and nothing
 * would be followed any more. At the end of a session that does no harm, nor does livecheck: of
 * what it leaves out a runtime uses the address again, and with it the slot.
 *
 * All clauses about what is alive in a process are in one engine. Code that comes later goes to
 * the kernel (live/late.c), so nothing may come: also a library that is there at the start may be
 * closed, and opened again. The program stays, and so do the C library and those that the program
 * says it needs: the dynamic linker never closes these.
 */
#include <fcntl.h>
#include <gelf.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/hashmap.h"
#include "base/text.h"
#include "files/gate.h"
#include "session/live/division.h"
#include "session/match/together.h"

/* Entries of a dynamic section; the largest programs have some hundred. */
#define DYNAMIC_MAX 4096u

static bool is_only_end(const struct session_clause *sc)
{
	return sc->n == 1 && !sc->is_open && strcmp(sc->probes[0]->prov, "dtrace") == 0 &&
	       strcmp(sc->probes[0]->name, "END") == 0;
}

static bool act_forgets(const struct prog_act *act)
{
	return (act->kind == ACT_CLEAR || act->kind == ACT_TRUNC) && act->naggs &&
	       act->aggs[0]->func == AGGFUNC_LIVE;
}

static bool clause_forgets(const struct prog_clause *c)
{
	bool forgets = false;

	for (uint32_t i = 0; i < c->nacts; i++)
		forgets |= act_forgets(&c->acts[i]);
	return forgets;
}

const char *division_alive_lack(const struct division *d)
{
	const struct match *m = d->live->match;
	bool forgets = false;

	for (uint32_t i = 0; i < m->clauses.len; i++)
		forgets |= clause_counts(&m->clauses.data[i]) &&
			   !is_only_end(&m->clauses.data[i]) &&
			   clause_forgets(m->clauses.data[i].clause);
	return forgets ? "the kernel gives back what goes without dead()" : NULL;
}

static bool is_c_library(const char *mod)
{
	static const char *const names[] = {"libc.so", "libc.musl-", "ld-musl-", "ld-linux"};

	return strcmp(mod, "libc") == 0 || text_begins(mod, names, ARRAY_LEN(names));
}

/* Whether a process of the session runs a program of this name. */
static bool is_program(const struct division *d, const char *mod)
{
	bool is_one = strcmp(mod, "a.out") == 0;
	char link[64], path[PATH_MAX];

	for (uint32_t i = 0; i < d->processes.len && !is_one; i++) {
		ssize_t n;

		(void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)d->processes.data[i].pid);
		n = readlink(link, path, sizeof(path) - 1);
		if (n <= 0)
			continue;
		path[n] = '\0';
		is_one = strcmp(basename(path), mod) == 0;
	}
	return is_one;
}

/* ---- libraries that stay --------------------------------------------------------------------- */

/* A text of a string table; NULL: it has none there, or a longer one than any path. */
static const char *text_at(const Elf_Data *texts, uint64_t off)
{
	const char *text;

	if (!texts || !texts->d_buf || off >= texts->d_size)
		return NULL;
	text = (const char *)texts->d_buf + off;
	return memchr(text, '\0', MIN(texts->d_size - off, (size_t)PATH_MAX)) ? text : NULL;
}

/* The section that says what a file needs; NULL: none does, or it has too many entries. */
static Elf_Data *dynamic_read(struct gate_elf *g, Elf_Data **ret_texts)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while (g->elf && (scn = elf_nextscn(g->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_DYNAMIC)
			break;
	if (!scn || sh.sh_size > DYNAMIC_MAX * sizeof(Elf64_Dyn) || sh.sh_flags & SHF_COMPRESSED)
		return NULL;
	*ret_texts = gate_data(g, elf_getscn(g->elf, sh.sh_link));
	return gate_data(g, scn);
}

bool dynamic_find(struct gate_file *file, int64_t tag, const char *text, struct strbuf *ret)
{
	bool is_found = false;
	Elf_Data *data, *texts = NULL;
	struct gate_elf g;
	GElf_Dyn dyn;

	gate_elf_open(file, GATE_LIMIT_DEFAULT, &g);
	data = dynamic_read(&g, &texts);
	for (int i = 0; data && !is_found && i < (int)DYNAMIC_MAX && gelf_getdyn(data, i, &dyn) &&
			dyn.d_tag != DT_NULL;
	     i++) {
		const char *name = dyn.d_tag == tag ? text_at(texts, dyn.d_un.d_val) : NULL;

		is_found = name && (!text || strcmp(name, text) == 0);
		if (is_found && ret)
			strbuf_adds(ret, name);
	}
	gate_elf_close(&g);
	return is_found;
}

/* The file of a module that the session probes; NULL: none is. */
static struct gate_file *module_find(const struct division *d, const char *mod)
{
	const struct match *m = d->live->match;

	for (uint32_t i = 0; i < m->units.len; i++)
		for (uint32_t k = 0; k < m->units.data[i]->points.len; k++) {
			const struct place_code *code = m->units.data[i]->points.data[k].code;

			for (uint32_t j = 0; code && j < code->sites.len; j++) {
				const struct place_file *f = code->sites.data[j].file;

				if (f && f->opened && strcmp(f->name, mod) == 0)
					return f->opened;
			}
		}
	return NULL;
}

/* The program of a process, as the process sees its files; NULL: it cannot be read. */
static struct gate_file *program_open(const struct division *d, pid_t pid)
{
	char link[64], path[PATH_MAX];
	struct gate_file *f;
	ssize_t n;
	int root;

	(void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return NULL;
	path[n] = '\0';
	(void)snprintf(link, sizeof(link), "/proc/%d/root", (int)pid);
	root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return NULL;
	f = gate_open_path(d->live->names->file_opts.gate, root, path);
	(void)close(root);
	return f;
}

/* Whether the programs of all processes of the session say that they need the library. */
static bool library_is_needed(const struct division *d, const char *mod)
{
	struct gate_file *library = module_find(d, mod);
	struct strbuf name = {0};
	bool is_needed = library && dynamic_find(library, DT_SONAME, NULL, &name);

	for (uint32_t i = 0; i < d->processes.len && is_needed; i++) {
		struct gate_file *program = program_open(d, d->processes.data[i].pid);

		is_needed = program && dynamic_find(program, DT_NEEDED, strbuf_text(&name), NULL);
		gate_file_close(program);
	}
	strbuf_deinit(&name);
	return is_needed;
}

/* The same; each library is looked at once. */
static bool is_needed(const struct division *d, const char *mod)
{
	uintptr_t known = (uintptr_t)hashmap_find(d->libraries, mod, strlen(mod));

	if (!known) {
		known = 1 + library_is_needed(d, mod);
		hashmap_set(d->libraries, mod, strlen(mod), (void *)known);
	}
	return known == 2;
}

bool division_may_get_more(const struct division *d, uint32_t clause)
{
	const struct session_clause *sc = &d->live->match->clauses.data[clause];
	const char *mod = sc->clause->desc.mod;

	if (!sc->is_open)
		return false;
	if (!sc->n || !*mod || !glob_is_literal(mod))
		return true;
	return clause_is_about_alive(sc->clause) && !is_c_library(mod) && !is_program(d, mod) &&
	       !is_needed(d, mod);
}
