/* SPDX-License-Identifier: MIT */
/*
 * Symbols of files, found by .gnu.hash and in tables without hashes: the same as a walk over all
 * symbols finds, whatever .gnu.hash says. Of several symbols of a name, it is the first one that
 * other files see; where none is, the name is ambiguous.
 */
#include "image/object.h"

#include <fcntl.h>
#include <gelf.h>
#include <link.h>

#include "base/hashmap.h"
#include "files/gate.h"
#include "tap.h"

#define LIMIT (64u << 20)

struct all {
	struct hashmap *first; /* name -> what it stands for */
	struct known {
		struct object_symbol sym;
		bool is_global;
	} * list;
	uint32_t n, max;
};

static void known_add(struct all *all, const char *name, const GElf_Sym *s)
{
	struct known *k = hashmap_finds(all->first, name);
	struct known now = {{.addr = s->st_value,
			     .size = s->st_size,
			     .is_tls = GELF_ST_TYPE(s->st_info) == STT_TLS},
			    GELF_ST_BIND(s->st_info) != STB_LOCAL};

	if (!k) {
		k = &all->list[all->n++];
		*k = now;
		hashmap_sets(all->first, name, k);
	} else if (!k->is_global && now.is_global) {
		*k = now;
	} else if (!k->is_global && !k->sym.is_ambiguous && k->sym.addr != now.sym.addr) {
		k->sym = (struct object_symbol){.is_ambiguous = true};
	}
}

static void table_walk(Elf *elf, uint32_t type, struct all *all)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn))) {
		Elf_Data *d;
		GElf_Sym s;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != type)
			continue;
		d = elf_getdata(scn, NULL);
		for (int i = 0; d && gelf_getsym(d, i, &s) && all->n < all->max; i++) {
			const char *name = elf_strptr(elf, sh.sh_link, s.st_name);
			unsigned kind = GELF_ST_TYPE(s.st_info);

			if (name && *name && s.st_shndx != SHN_UNDEF && kind != STT_SECTION &&
			    kind != STT_FILE)
				known_add(all, name, &s);
		}
	}
}

static void all_read(const char *path, struct all *all)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf;

	(void)elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	*all = (struct all){.first = hashmap_create(), .max = 100000};
	all->list = xcalloc(all->max, sizeof(*all->list));
	table_walk(elf, SHT_DYNSYM, all);
	table_walk(elf, SHT_SYMTAB, all);
	(void)elf_end(elf);
	(void)close(fd);
}

static struct object *object_make(const char *path, struct gate_file **ret)
{
	*ret = gate_file_of(open(path, O_RDONLY | O_CLOEXEC));
	return object_read(*ret, LIMIT);
}

/* Counts the names for which the object has another answer. */
static int others_count(struct object *o, const struct all *all)
{
	const struct known *known;
	const void *name;
	size_t pos = 0, len;
	int n = 0;

	while ((known = hashmap_next(all->first, &pos, &name, &len))) {
		CLEANUP(free) char *text = strndup(name, len);
		const struct object_symbol *want = &known->sym;
		struct object_symbol got;

		if (!object_symbol(o, text, &got) || got.addr != want->addr ||
		    got.size != want->size || got.is_tls != want->is_tls ||
		    got.is_ambiguous != want->is_ambiguous) {
			printf("# %s\n", text);
			n++;
		}
	}
	return n;
}

/* Names that are said to be asked for have the same answers. */
static void expected_check(const char *what, const char *path, const struct all *all)
{
	static const char *names[OBJECT_EXPECTED];
	struct gate_file *f;
	struct object *o = object_make(path, &f);
	struct object_symbol s;
	const void *name;
	size_t pos = 0, len;
	uint32_t n = 0;

	names[n++] = "nothing|no_such_symbol_here";
	while (n < OBJECT_EXPECTED - 1 && hashmap_next(all->first, &pos, &name, &len))
		names[n++] = strndup(name, len);
	object_expect(o, names, n);
	ok(!object_symbol(o, "nothing", &s), "%s: an expected one that is not there", what);
	is_int(others_count(o, all), 0, "the same symbols if some are expected");
	ok(!object_has(o, "nothing|no_such_symbol_here"), "none of two that were expected");
	ok(object_has(o, names[n - 1]), "one that was expected");
	object_destroy(o);
	gate_file_close(f);
	for (uint32_t i = 1; i < n; i++)
		free((void *)names[i]);
}

static void file_check(const char *what, const char *path, const struct all *all)
{
	struct gate_file *f;
	struct object *o = object_make(path, &f);
	struct object_symbol s;

	ok(all->n > 100, "%s: %u symbols", what, all->n);
	is_int(others_count(o, all), 0, "the same symbols");
	ok(!object_symbol(o, "no_such_symbol_here", &s), "one that is not there");
	ok(!object_has(o, "no_such_symbol_here|nor_this_one"), "none of two");
	object_rest(o);
	is_int(others_count(o, all), all->n > OBJECT_KEPT ? (int)all->n - OBJECT_KEPT : 0,
	       "the same after the file was closed, as many as are kept");
	object_wake(o, f);
	ok(!object_symbol(o, "nor_this_one", &s), "one more that is not there");
	object_destroy(o);
	gate_file_close(f);
}

/* Writes a copy whose section .gnu.hash is changed; with mode 0 it is none any more. */
static void copy_make(const char *from, const char *to, uint32_t mode)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct stat st;
	CLEANUP(free) char *image = NULL;
	Elf64_Ehdr *eh;
	Elf64_Shdr *sh;

	(void)fstat(in, &st);
	image = xmalloc((size_t)st.st_size);
	ok(read(in, image, (size_t)st.st_size) == st.st_size, "read %s", from);
	eh = (Elf64_Ehdr *)image;
	sh = (Elf64_Shdr *)(image + eh->e_shoff);
	for (uint32_t i = 0; i < eh->e_shnum; i++) {
		uint32_t *w = (uint32_t *)(image + sh[i].sh_offset);

		if (sh[i].sh_type != SHT_GNU_HASH)
			continue;
		if (!mode)
			sh[i].sh_type = SHT_PROGBITS;
		else
			w[mode - 1] = 0xfffffff0;
	}
	ok(write(out, image, (size_t)st.st_size) == st.st_size, "written");
	(void)close(in);
	(void)close(out);
}

static void libc_path(char *path, size_t size)
{
	struct link_map *m = _r_debug.r_map;

	for (; m; m = m->l_next)
		if (strstr(m->l_name, "libc.so"))
			(void)snprintf(path, size, "%s", m->l_name);
}

int main(void)
{
	char libc[4096] = "", copy[] = "/tmp/unit_object.XXXXXX";
	struct all own, lib;
	struct gate_file *f;
	struct object *o;
	struct object_symbol s;

	libc_path(libc, sizeof(libc));
	all_read("/proc/self/exe", &own);
	all_read(libc, &lib);
	file_check("own program", "/proc/self/exe", &own);
	file_check("C library", libc, &lib);
	expected_check("own program", "/proc/self/exe", &own);
	expected_check("C library", libc, &lib);

	o = object_make("/proc/self/exe", &f);
	ok(object_has(o, "nothing|object_read"), "a name of the other table");
	object_destroy(o);
	gate_file_close(f);
	o = object_make(libc, &f);
	ok(object_has(o, "nothing|getppid"), "a name that the dynamic linker knows");
	object_destroy(o);
	gate_file_close(f);

	(void)close(mkstemp(copy));
	copy_make(libc, copy, 0);
	file_check("without hashes", copy, &lib);
	for (uint32_t mode = 1; mode <= 3; mode++) { /* buckets, first symbol, words */
		copy_make(libc, copy, mode);
		o = object_make(copy, &f);
		for (uint32_t i = 0; i < 10; i++)
			(void)object_symbol(o, i % 2 ? "getppid" : "nothing", &s);
		ok(!object_has(o, "no_such_symbol_here"), "damaged at word %u", mode - 1);
		object_destroy(o);
		gate_file_close(f);
	}
	(void)unlink(copy);
	hashmap_destroy(own.first);
	hashmap_destroy(lib.first);
	free(own.list);
	free(lib.list);
	return tap_done();
}
