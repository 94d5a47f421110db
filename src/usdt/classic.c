/* SPDX-License-Identifier: MIT */
/* Replaces the calls of probes in objects by probes. */
#include "usdt/classic.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "usdt/note_write.h"

#define CALL_PREFIX "__dtrace_"
#define TEST_PREFIX "__dtraceenabled_"

/* ---- names ----------------------------------------------------------------------------------- */

struct providers {
	const struct usdt_provider *list;
	uint32_t n;
};

/* A probe's index counts the probes of all providers before it. */
static bool probe_at(const struct providers *ps, uint32_t index,
		     const struct usdt_provider **ret_provider, const struct usdt_probe **ret_probe)
{
	for (uint32_t i = 0; i < ps->n; index -= ps->list[i++].nprobes)
		if (index < ps->list[i].nprobes) {
			*ret_provider = &ps->list[i];
			*ret_probe = &ps->list[i].probes[index];
			return true;
		}
	return false;
}

static bool probe_find(const struct providers *ps, const char *name, uint32_t *ret_index)
{
	const struct usdt_provider *pv;
	const struct usdt_probe *p;

	for (uint32_t i = 0; probe_at(ps, i, &pv, &p); i++) {
		size_t len = strlen(pv->name);

		if (strncmp(name, pv->name, len) == 0 && strncmp(name + len, "___", 3) == 0 &&
		    strcmp(name + len + 3, p->cname) == 0) {
			*ret_index = i;
			return true;
		}
	}
	return false;
}

static struct err *probe_missing(const struct providers *ps, const char *path, const char *name)
{
	const char *sep = strstr(name, "___");
	int len = (int)(sep - name);

	for (uint32_t i = 0; i < ps->n; i++)
		if (strlen(ps->list[i].name) == (size_t)len &&
		    strncmp(ps->list[i].name, name, (size_t)len) == 0)
			return err_hint(err_new("'%s' calls probe %s, which provider %.*s does not "
						"declare",
						path, sep + 3, len, name),
					"declare it: probe %s(...);", sep + 3);
	return err_hint(err_new("'%s' calls probe %s of provider %.*s, which is not declared", path,
				sep + 3, len, name),
			"pass only objects with probes of the providers in this file, or declare "
			"provider %.*s, too",
			len, name);
}

/* A symbol that stands for a probe or a test. */
struct reference {
	uint32_t symbol, probe;
	bool is_test;
	bool is_called; /* a relocation remains that refers to it */
	uint32_t nsites;
	uint32_t counter; /* symbol, once there are sites */
};

typedef VEC(struct reference) references;

/* Finds the symbols of probes that a file does not define. */
static struct err *references_find(struct elfedit *e, const char *path, const struct providers *ps,
				   references *ret)
{
	const char *name;
	GElf_Sym sym;
	size_t scn;

	for (uint32_t i = 1; elfedit_symbol(e, i, &sym, &scn, &name); i++) {
		struct reference r = {.symbol = i};

		if (scn || strncmp(name, "__dtrace", 8) != 0)
			continue;
		r.is_test = strncmp(name, TEST_PREFIX, strlen(TEST_PREFIX)) == 0;
		if (!r.is_test && strncmp(name, CALL_PREFIX, strlen(CALL_PREFIX)) != 0)
			continue;
		name += strlen(r.is_test ? TEST_PREFIX : CALL_PREFIX);
		if (!strstr(name, "___"))
			continue; /* another function */
		if (!probe_find(ps, name, &r.probe))
			return probe_missing(ps, path, name);
		vec_push(ret, r);
	}
	return NULL;
}

static struct reference *reference_of(references *refs, uint32_t symbol)
{
	for (uint32_t i = 0; i < refs->len; i++)
		if (refs->data[i].symbol == symbol)
			return &refs->data[i];
	return NULL;
}

/* ---- calls ----------------------------------------------------------------------------------- */

struct site {
	struct reference *ref;
	size_t scn, group; /* the section of the code, and its group or 0 */
	uint64_t off;
	bool is_tail;
};

struct object {
	struct elfedit e;
	references refs;
	VEC(struct site) sites;
};

/* Returns the group that a section is a member of, or 0. */
static size_t group_of(struct elfedit *e, size_t member)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(e->elf, scn))) {
		Elf_Data *d;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_GROUP ||
		    !(d = elf_getdata(scn, NULL)))
			continue;
		for (size_t i = 1; i < d->d_size / sizeof(Elf32_Word); i++)
			if (((const Elf32_Word *)d->d_buf)[i] == member)
				return elf_ndxscn(scn);
	}
	return 0;
}

/* Returns a symbol by which a note can refer to the code of a section; 0: there is none. */
static uint32_t code_symbol(struct elfedit *e, size_t code, bool is_group, uint64_t *ret_value)
{
	uint32_t found = 0;
	const char *name;
	GElf_Sym sym;
	size_t scn;

	for (uint32_t i = 1; elfedit_symbol(e, i, &sym, &scn, &name); i++) {
		if (scn != code)
			continue;
		/* Another file's definition may replace a weak one; a group, only as one. */
		if (found || (GELF_ST_BIND(sym.st_info) == STB_WEAK && !is_group))
			if (GELF_ST_TYPE(sym.st_info) != STT_SECTION)
				continue;
		found = i;
		*ret_value = sym.st_value;
		if (GELF_ST_TYPE(sym.st_info) == STT_SECTION)
			break;
	}
	return found;
}

static bool reloc_get(Elf_Data *d, const GElf_Shdr *sh, int index, const Elf_Data *code,
		      GElf_Rela *ret)
{
	GElf_Rel rel;
	int32_t addend;

	if (sh->sh_type == SHT_RELA)
		return gelf_getrela(d, index, ret);
	if (!gelf_getrel(d, index, &rel))
		return false;
	*ret = (GElf_Rela){.r_offset = rel.r_offset, .r_info = rel.r_info};
	if (code && code->d_size >= 4 && rel.r_offset <= code->d_size - 4) {
		memcpy(&addend, (const char *)code->d_buf + rel.r_offset, sizeof(addend));
		ret->r_addend = addend;
	}
	return true;
}

/* Makes a relocation one that does nothing. */
static bool reloc_drop(Elf_Data *d, const GElf_Shdr *sh, int index, GElf_Rela r)
{
	GElf_Rel rel = {.r_offset = r.r_offset, .r_info = GELF_R_INFO(0, arch.sites->reloc_none)};

	r.r_info = rel.r_info;
	r.r_addend = 0;
	(void)elf_flagdata(d, ELF_C_SET, ELF_F_DIRTY);
	return sh->sh_type == SHT_RELA ? gelf_update_rela(d, index, &r) != 0
				       : gelf_update_rel(d, index, &rel) != 0;
}

/* Replaces the call that a relocation belongs to; without success the call remains. */
static void call_handle(struct object *o, struct reference *ref, Elf_Data *relocs,
			const GElf_Shdr *sh, int index, const GElf_Rela *r, Elf_Data *code,
			bool is_code)
{
	enum arch_call kind = ARCH_CALL_NONE;
	struct site s = {.ref = ref, .scn = sh->sh_info};

	if (code && is_code && !ref->is_test)
		kind = arch.sites->find(code->d_buf, code->d_size, r->r_offset,
					(uint32_t)GELF_R_TYPE(r->r_info), r->r_addend,
					o->e.is_32bit, &s.off);
	s.group = kind ? group_of(&o->e, s.scn) : 0;
	if (!kind || !code_symbol(&o->e, s.scn, s.group != 0, &(uint64_t){0}) ||
	    !reloc_drop(relocs, sh, index, *r)) {
		ref->is_called = true;
		return;
	}
	arch.sites->replace(code->d_buf, s.off, kind);
	(void)elf_flagdata(code, ELF_C_SET, ELF_F_DIRTY);
	s.is_tail = kind == ARCH_CALL_TAIL;
	ref->nsites++;
	vec_push(&o->sites, s);
}

static void relocs_walk(struct object *o, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Scn *target = elf_getscn(o->e.elf, sh->sh_info);
	Elf_Data *relocs = elf_getdata(scn, NULL), *code;
	GElf_Shdr target_sh;
	bool is_code;
	GElf_Rela r;

	if (!relocs || !sh->sh_entsize || !target || !gelf_getshdr(target, &target_sh))
		return;
	code = target_sh.sh_type == SHT_PROGBITS ? elf_getdata(target, NULL) : NULL;
	if (code && !code->d_buf)
		code = NULL;
	is_code = target_sh.sh_flags & SHF_EXECINSTR;
	for (int i = 0; reloc_get(relocs, sh, i, code, &r); i++) {
		struct reference *ref = reference_of(&o->refs, (uint32_t)GELF_R_SYM(r.r_info));

		if (ref)
			call_handle(o, ref, relocs, sh, i, &r, code, is_code);
	}
}

static void calls_replace(struct object *o)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(o->e.elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_link == o->e.symtab &&
		    (sh.sh_type == SHT_REL || sh.sh_type == SHT_RELA))
			relocs_walk(o, scn, &sh);
}

/* ---- notes ----------------------------------------------------------------------------------- */

static void counter_name(const struct providers *ps, uint32_t index, struct strbuf *out)
{
	const struct usdt_provider *pv;
	const struct usdt_probe *p;

	strbuf_clear(out);
	if (probe_at(ps, index, &pv, &p))
		strbuf_addf(out, "%s_%s_semaphore", pv->name, p->cname);
}

/* The symbol that nobody refers to any more becomes that of the counter. */
static void counters_refer(struct object *o, const struct providers *ps)
{
	struct strbuf name = {0};

	for (uint32_t i = 0; i < o->refs.len; i++) {
		struct reference *r = &o->refs.data[i];

		if (!r->nsites)
			continue;
		counter_name(ps, r->probe, &name);
		r->counter = r->symbol;
		if (r->is_called)
			r->counter =
				elfedit_symbol_add(&o->e, strbuf_text(&name), 0,
						   (GElf_Sym){.st_info = ELF64_ST_INFO(STB_GLOBAL,
										       STT_NOTYPE),
							      .st_other = STV_HIDDEN});
		else
			elfedit_symbol_rename(&o->e, r->symbol, strbuf_text(&name));
	}
	strbuf_deinit(&name);
}

static void site_note(struct object *o, const struct providers *ps, const struct site *s,
		      uint32_t base, struct note_section *notes)
{
	struct note_site note = {.counter = s->ref->counter};
	uint64_t value = 0;

	note.symbol = code_symbol(&o->e, s->scn, s->group != 0, &value);
	note.off = (int64_t)(s->off - value);
	/* Behind a jump the return address is on top of the stack. */
	note.stack_of_args = !s->is_tail ? 0 : o->e.is_32bit ? 4 : 8;
	if (probe_at(ps, s->ref->probe, &note.provider, &note.probe))
		note_section_add(&o->e, notes, &note, base);
}

/* A linker that drops a group drops the notes in it; so there is one section for each group. */
static void notes_write(struct object *o, const struct providers *ps)
{
	uint32_t base = note_base_symbol(&o->e);

	for (uint32_t i = 0; i < o->sites.len; i++) {
		size_t group = o->sites.data[i].group;
		struct note_section notes = {0};
		bool is_done = false;

		for (uint32_t k = 0; k < i; k++)
			is_done |= o->sites.data[k].group == group;
		for (uint32_t k = i; k < o->sites.len && !is_done; k++)
			if (o->sites.data[k].group == group)
				site_note(o, ps, &o->sites.data[k], base, &notes);
		if (!is_done)
			note_section_finish(&o->e, &notes, group);
	}
}

/* ---- files ----------------------------------------------------------------------------------- */

/* False with errno. A full disk takes a part first, and fails with the next write. */
static bool write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0)
			return false;
		data += n;
		size -= (size_t)n;
	}
	return true;
}

static struct err *file_copy(const char *path, int to)
{
	CLEANUP(fd) int from = open(path, O_RDONLY | O_CLOEXEC);
	char buf[65536];
	struct stat st;
	ssize_t n = -1;

	if (from < 0 || fstat(from, &st) != 0 || fchmod(to, st.st_mode & 07777) != 0)
		return err_sys(errno, "cannot read the object file '%s'", path);
	while ((n = read(from, buf, sizeof(buf))) > 0)
		if (!write_all(to, buf, (size_t)n))
			break;
	return n ? err_sys(errno, "cannot copy the object file '%s'", path) : NULL;
}

/* Changes the copy of an object; *ret_has_sites says whether it differs from the object. */
static struct err *object_change(int fd, const char *path, const struct providers *ps,
				 struct classic *c, bool *ret_has_sites)
{
	struct object o = {0};
	struct err *e = elfedit_open(fd, true, path, &o.e);

	if (e)
		return e;
	e = references_find(&o.e, path, ps, &o.refs);
	if (!e && o.refs.len)
		calls_replace(&o);
	*ret_has_sites = !e && o.sites.len;
	if (*ret_has_sites) {
		counters_refer(&o, ps);
		notes_write(&o, ps);
		e = elfedit_finish(&o.e, path);
	}
	for (uint32_t i = 0; !e && i < o.refs.len; i++) {
		const struct reference *r = &o.refs.data[i];

		if (r->is_called)
			c->wants[r->probe] |= r->is_test ? CLASSIC_TEST : CLASSIC_PROBE;
		c->has_any |= r->is_called;
	}
	elfedit_close(&o.e);
	vec_deinit(&o.refs);
	vec_deinit(&o.sites);
	return e;
}

/* Replaces the file that the path leads to: symbolic links stay. */
static struct err *object_replace(const char *path, const struct providers *ps, struct classic *c)
{
	CLEANUP(free) char *real = realpath(path, NULL), *temp = NULL;
	bool has_sites = false;
	struct err *e;
	int fd;

	if (!real)
		return err_sys(errno, "cannot open the object file '%s'", path);
	if (asprintf(&temp, "%s.XXXXXX", real) < 0)
		oom();
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return err_hint(err_sys(errno, "cannot replace the calls of probes in '%s'", path),
				"its folder has to be writable");
	e = file_copy(path, fd);
	if (!e)
		e = object_change(fd, path, ps, c, &has_sites);
	(void)close(fd);
	if (!e && has_sites && rename(temp, real) != 0)
		e = err_sys(errno, "cannot replace the object file '%s'", path);
	if (e || !has_sites)
		(void)unlink(temp);
	return e;
}

/*
 * gcc's objects for link-time optimisation have the calls in a form that only gcc reads, and a list
 * of the functions that are called: name, NUL, and more.
 */
static struct err *lto_check(struct elfedit *e, const char *path, const struct providers *ps)
{
	size_t names;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(e->elf, &names) != 0)
		return NULL;
	while ((scn = elf_nextscn(e->elf, scn))) {
		const char *name =
			gelf_getshdr(scn, &sh) ? elf_strptr(e->elf, names, sh.sh_name) : NULL;
		Elf_Data *d;

		if (!name || strncmp(name, ".gnu.lto_.symtab", 16) != 0)
			continue;
		d = elf_getdata(scn, NULL);
		for (uint32_t i = 0; d && d->d_buf && i < ps->n; i++) {
			struct strbuf want = {0};
			bool has;

			strbuf_addf(&want, CALL_PREFIX "%s___", ps->list[i].name);
			has = memmem(d->d_buf, d->d_size, want.data, want.len);
			strbuf_deinit(&want);
			if (has)
				return err_hint(err_new("'%s' is an object for link-time "
							"optimisation, where calls of probes "
							"cannot be replaced",
							path),
						"compile it with -fno-lto, or with a header that "
						"this dtrace -h has made");
		}
	}
	return NULL;
}

/* Says whether an object refers to functions of probes at all, and whether all are known. */
static struct err *object_look(const char *path, const struct providers *ps, bool *ret_has_any)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	references refs = {0};
	struct elfedit edit;
	struct err *e;

	*ret_has_any = false;
	if (fd < 0)
		return err_sys(errno, "cannot open the object file '%s'", path);
	if (object_is_bitcode(fd))
		return NULL;
	e = elfedit_open(fd, false, path, &edit);
	if (e)
		return e;
	e = references_find(&edit, path, ps, &refs);
	if (!e)
		e = lto_check(&edit, path, ps);
	*ret_has_any = refs.len > 0;
	vec_deinit(&refs);
	elfedit_close(&edit);
	return e;
}

static bool kind_is_known(struct object_kind kind)
{
	return arch.sites &&
	       kind.machine == (kind.is_32bit ? arch.elf.machine_32 : arch.elf.machine);
}

struct err *classic_replace(char *const *paths, int n, struct object_kind kind,
			    const struct usdt_provider *providers, uint32_t nproviders,
			    struct classic *ret)
{
	const struct providers ps = {providers, nproviders};
	CLEANUP(free) bool *has_any = xcalloc((size_t)n + 1, sizeof(*has_any));
	struct err *e = NULL;
	size_t nprobes = 0;

	for (uint32_t i = 0; i < nproviders; i++)
		nprobes += providers[i].nprobes;
	*ret = (struct classic){.wants = xcalloc(nprobes + 1, 1)};
	for (int i = 0; i < n && !e; i++) {
		e = object_look(paths[i], &ps, &has_any[i]);
		if (!e && has_any[i] && !kind_is_known(kind))
			e = err_hint(err_new("'%s' calls probes, and calls can be replaced only in "
					     "objects for this machine",
					     paths[i]),
				     "compile it with a header that this dtrace -h has made");
	}
	for (int i = 0; i < n && !e; i++)
		if (has_any[i])
			e = object_replace(paths[i], &ps, ret);
	return e;
}

void classic_deinit(struct classic *c)
{
	free(c->wants);
}
