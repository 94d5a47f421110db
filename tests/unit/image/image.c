/* SPDX-License-Identifier: MIT */
/*
 * Images: a file is opened and read once for all who ask, is another image when it was replaced or
 * overwritten, costs what its limit says, and what was forgotten is read again.
 */
#include "image/image.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "base/err.h"
#include "files/gate.h"
#include "files/mapping.h"
#include "image/debugfile.h"
#include "image/dwarf.h"
#include "image/elfsym.h"
#include "image/funcs.h"
#include "image/object.h"
#include "target/maps.h"
#include "tap.h"

#define LIMIT ((uint64_t)64 << 20)

static struct gate *gate;
static char dir[] = "/tmp/image-XXXXXX", path[64], other[64], self[4096], cmd[8192];

static void file_copy(const char *from, const char *to)
{
	(void)snprintf(cmd, sizeof(cmd), "cp %s %s", from, to);
	if (system(cmd) != 0)
		exit(1);
}

/* Where the code of this program is mapped. */
static struct mapping self_mapping(struct proc_maps *maps)
{
	struct err *e = proc_maps_read(getpid(), maps);
	const struct proc_map *m = e ? NULL : proc_maps_find(maps, (taddr)(uintptr_t)&self_mapping);

	if (!m)
		exit(1);
	return proc_map_mapping(getpid(), m);
}

static struct mapping named(const char *name)
{
	return (struct mapping){.path = name, .has_root = true, .root = -1};
}

static struct debug_search search_of(uint64_t limit)
{
	return (struct debug_search){.path = "/nowhere",
				     .root = -1,
				     .dirs = dir,
				     .limit = limit,
				     .gate = gate};
}

static struct image *open_named(struct image_set *s, const char *name)
{
	struct mapping m = named(name);
	struct image *i = image_open(s, gate, &m);

	if (!i)
		exit(1);
	return i;
}

/* Each of these would have opened and read the file for itself. */
static void test_once(void)
{
	struct image_set *s = image_set_create();
	struct debug_search where = search_of(LIMIT);
	struct object_symbol sym;
	struct proc_maps maps;
	struct mapping m = self_mapping(&maps);
	struct image *names = image_open(s, gate, &m), *helper = image_open(s, gate, &m);

	ok(names && names == helper, "one file is one image");
	is_int(names->refs, 2, "for two users");
	ok(image_syms_read(names, &where) && names->syms->syms.len, "symbols by address");
	ok(image_syms_read(helper, &where) && s->nread == 1, "they are read once");
	image_pin(helper);
	ok(object_symbol(image_object(helper, LIMIT), "main", &sym), "a symbol by its name");
	ok(image_object(helper, LIMIT) == helper->object && s->nread == 2, "from one table");
	image_unpin(helper);
	image_put(helper);
	ok(names->opened != NULL, "the file is open for the first user");
	for (int i = 0; i < 1000; i++)
		image_put(image_open(s, gate, &m));
	is_int(s->nopened, 1, "for a thousand processes, the file was opened once");
	is_int(s->nopen, 1, "and is one descriptor");
	image_put(names);
	is_int(s->nopen + (names->opened != NULL), 0, "without users it is closed");
	names = image_open(s, gate, &m);
	ok(names == helper && s->nopened == 2, "and is the same image when it is opened again");
	ok(names->object && s->nread == 2, "that knows what was looked up by name");
	image_put(names);
	proc_maps_deinit(&maps);
	image_set_destroy(s);
}

static void test_identity(void)
{
	struct image_set *s = image_set_create();
	struct debug_search where = search_of(LIMIT);
	struct image *a, *b;
	struct stat st;
	struct mapping m;

	file_copy(self, path);
	a = open_named(s, path);
	ok(link(path, other) == 0, "a second name");
	b = open_named(s, other);
	ok(a == b, "a file with two names is one image");
	image_put(b);
	ok(image_syms_read(a, &where) && a->syms->syms.len, "its symbols");
	(void)unlink(path);
	file_copy("/bin/true", path);
	b = open_named(s, path);
	ok(a != b, "another file with the path is another image");
	ok(image_syms_read(b, &where) && a->syms->syms.len, "the first one keeps what it knows");
	image_put(b);
	/* the same inode, with other contents: by the inode of a mapping, it is found open */
	if (stat(other, &st) != 0)
		exit(1);
	m = (struct mapping){.inode = {st.st_dev, st.st_ino},
			     .path = other,
			     .has_root = true,
			     .root = -1};
	b = image_open(s, gate, &m);
	ok(a == b, "found by its inode");
	image_put(b);
	file_copy("/bin/true", other);
	b = image_open(s, gate, &m);
	ok(b && a != b, "a file that was overwritten is another image");
	image_put(b);
	image_set_shed(s, NULL);
	s->max_bytes = 0;
	image_set_shed(s, NULL);
	ok(a->syms->is_shed && !image_syms_read(a, &where),
	   "what was shed is not read again from other contents");
	image_put(a);
	(void)unlink(path);
	(void)unlink(other);
	image_set_destroy(s);
}

/* What test_pause() opens while symbols are read. */
struct opener {
	struct image_set *s;
	uint32_t ncalls;
};

static void other_files_open(void *ctx)
{
	struct opener *o = ctx;
	struct object_symbol sym;
	struct image *i = open_named(o->s, o->ncalls++ % 2 ? "/bin/true" : "/bin/false");

	image_pin(i);
	(void)object_symbol(image_object(i, LIMIT), "main", &sym);
	image_unpin(i);
	image_put(i);
}

static void test_pause(void)
{
	struct image_set *s = image_set_create();
	struct debug_search where = search_of(LIMIT);
	struct opener o = {.s = s};
	struct image *a, *b;

	file_copy(self, path);
	file_copy(self, other);
	a = open_named(s, path);
	b = open_named(s, other);
	ok(image_syms_read(a, &where) && a->syms->syms.len > 384, "symbols of a large file");
	s->pause = (struct image_pause){other_files_open, &o};
	s->max_open = 1;
	ok(image_syms_read(b, &where) && b->syms->syms.len == a->syms->syms.len,
	   "the same, while other files are opened, and this one is closed for them");
	ok(o.ncalls > 2 && !b->opened, "which was often");
	image_put(a);
	image_put(b);
	(void)unlink(path);
	(void)unlink(other);
	image_set_destroy(s);
}

static void test_bound(void)
{
	struct image_set *s = image_set_create();
	struct debug_search where = search_of(LIMIT);
	struct object_symbol sym;
	struct image *a, *b;
	uint64_t extra = 0, size;

	file_copy(self, path);
	file_copy(self, other);
	a = open_named(s, path);
	b = open_named(s, other);
	(void)image_syms_read(a, &where);
	size = s->bytes;
	ok(size && size == a->bytes, "a table is counted");
	s->max_bytes = size + size / 2;
	(void)image_syms_read(b, &where);
	ok(a->syms->is_shed && !b->syms->is_shed, "of two tables, the older one is shed");
	is_int(s->bytes, b->bytes, "and is counted no more");
	ok(image_syms_read(a, &where) && a->syms->syms.len && b->syms->is_shed, "it is read again");
	image_set_account(s, &extra, size);
	image_set_shed(s, NULL);
	ok(a->syms->is_shed, "what is kept elsewhere counts, too");
	image_set_account(s, &extra, 0);
	is_int(s->bytes, 0, "until it is freed");

	/* symbols by name: shed as the others, unless somebody has pointers into them */
	image_pin(a);
	for (int i = 0; i < 10; i++) /* the table of hashes */
		(void)object_symbol(image_object(a, LIMIT), i % 2 ? "main" : "image_open", &sym);
	s->max_bytes = 0;
	image_charge(b);
	ok(a->object != NULL, "what is pinned stays");
	image_unpin(a);
	image_charge(b);
	ok(!a->object, "what was found by name is shed, too");
	image_pin(a);
	ok(object_symbol(image_object(a, LIMIT), "image_open", &sym), "and found again");
	image_unpin(a);

	s->max_open = 2;
	image_put(open_named(s, "/bin/true"));
	ok(s->nopen == 1 && s->nclosed == 1, "the file that was used least recently is closed");
	ok(a->is_closed != b->is_closed, "it is known that its time had not come");
	image_put(a);
	image_put(b);
	is_int(s->nopen, 0, "no file is open");
	(void)unlink(path);
	(void)unlink(other);
	image_set_destroy(s);
}

/* Functions are read once for all probes, stay while one points to them, and are in the bound. */
static void test_functions(void)
{
	struct image_set *s = image_set_create();
	struct debug_search where = search_of(LIMIT);
	struct image *a, *b;
	const struct err *why;
	const struct funcs *first;
	uint64_t size;

	file_copy(self, path);
	a = open_named(s, path);
	b = open_named(s, path);
	ok(image_funcs_hold(a, &where, &why) && funcs_find(a->funcs, "main"), "functions");
	first = a->funcs;
	ok(image_funcs_hold(b, &where, &why) && b->funcs == first && s->nread == 1,
	   "are read once for two users");
	ok(text_at(&a->text, funcs_find(first, "main")->off, 1) != NULL, "their code");
	image_funcs_rest(b);
	size = s->bytes;
	ok(size >= funcs_size(first) + a->text.cap && a->text.cap, "both are counted");
	s->max_bytes = 0;
	image_set_shed(s, NULL);
	ok(a->funcs == first && s->bytes == size, "what is held is not shed");
	image_funcs_rest(a);
	image_set_shed(s, NULL);
	ok(!a->funcs && !a->text.data && !s->bytes, "what nobody holds is, with the code");
	ok(image_funcs_hold(a, &where, &why) && funcs_find(a->funcs, "main") && s->nread == 2,
	   "and read again");
	image_funcs_rest(a);
	image_set_shed(s, NULL);
	file_copy("/bin/true", path);
	ok(!image_funcs_hold(a, &where, &why) && why && strstr(err_text(why), "overwritten"),
	   "but not from other contents");
	image_put(b);
	image_put(a);

	/* a file without code is refused, and looked at once */
	(void)snprintf(cmd, sizeof(cmd), "echo text > %s", path);
	if (system(cmd) != 0)
		exit(1);
	a = open_named(s, path);
	s->nread = 0;
	ok(!image_funcs_hold(a, &where, &why) && why, "a text has no functions");
	ok(!image_funcs_hold(a, &where, &why) && why && s->nread == 1, "as is known then");
	image_put(a);
	is_int(s->bytes, 0, "nothing is left");
	(void)unlink(path);
	image_set_destroy(s);
}

static void test_debug_held(void)
{
	struct image_set *s = image_set_create();
	struct debug_search where = search_of(LIMIT);
	struct proc_maps maps;
	struct mapping m = self_mapping(&maps);
	struct image *i = image_open(s, gate, &m);

	if (!ok(i && image_dwarf(i, &where), "debug information"))
		return;
	image_dwarf_hold(i);
	s->max_bytes = 0;
	image_set_shed(s, NULL);
	ok(i->dwarf && s->bytes, "is not shed while types are made of it");
	image_dwarf_rest(i);
	image_set_shed(s, NULL);
	ok(!i->dwarf && !s->bytes, "but later");
	ok(image_dwarf(i, &where) != NULL, "and opened again");
	image_put(i);
	proc_maps_deinit(&maps);
	image_set_destroy(s);
}

/* A file that claims more than the limit: it costs the limit, and once. */
static void test_limit(void)
{
	struct image_set *s = image_set_create();
	struct debug_search where = search_of(4096);
	struct mapping m = named(path);
	struct image *a, *b;

	file_copy(self, path);
	a = image_open(s, gate, &m);
	b = image_open(s, gate, &m);
	ok(image_syms_read(a, &where) && image_syms_read(b, &where), "two users of a large file");
	ok(a->syms->is_cut && s->bytes <= 2 * 4096 && s->nread == 1,
	   "it was read once, up to the limit: %llu bytes", (unsigned long long)s->bytes);
	image_put(a);
	image_put(b);
	(void)unlink(path);
	image_set_destroy(s);
}

static void test_edges(void)
{
	struct image_set *s = image_set_create();
	struct debug_search where = search_of(LIMIT);
	struct mapping m = named("/nowhere/at/all");
	struct image *i = image_open(s, gate, &m), *vdso = image_of_vdso(s);

	ok(!i && errno == ENOENT, "a file that is not there");
	ok(image_syms_read(vdso, &where), "the vDSO, which has no file");
	i = image_of_vdso(s);
	ok(i == vdso, "is one image, too");
	image_put(i);
	i = open_named(s, "/bin/true");
	i->notes[IMAGE_CARRIED] = &m;
	image_put(i);
	i = open_named(s, "/bin/true");
	ok(i->notes[IMAGE_CARRIED] == &m, "what was noted stays for the next process");
	image_set_unnote(s, IMAGE_CARRIED);
	ok(!i->notes[IMAGE_CARRIED], "until it is forgotten");
	image_put(vdso);
	image_set_destroy(s);
	ok(i->opened && image_syms_read(i, &where), "an image outlives its set");
	image_put(i);
}

/* Files of a month: those that nobody maps any more are forgotten. */
static void test_month(void)
{
	struct image_set *s = image_set_create();
	size_t most = 0;

	for (uint32_t n = 0; n < 20000; n++) {
		FILE *f = fopen(path, "we");

		if (!f || fprintf(f, "file %u", n) < 0 || fclose(f) != 0)
			exit(1);
		image_put(open_named(s, path));
		(void)unlink(path);
		most = MAX(most, hashmap_count(s->by_id));
	}
	ok(most < 5000, "at most %zu images of 20000 files", most);
	is_int(s->nopen, 0, "none is open");
	is_int(s->nunused, hashmap_count(s->by_id), "all are without users");
	image_set_destroy(s);
}

int main(void)
{
	gate = gate_create();
	if (!mkdtemp(dir) || readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0)
		return 1;
	(void)snprintf(path, sizeof(path), "%s/one", dir);
	(void)snprintf(other, sizeof(other), "%s/two", dir);
	test_once();
	test_identity();
	test_pause();
	test_bound();
	test_functions();
	test_debug_held();
	test_limit();
	test_edges();
	test_month();
	(void)rmdir(dir);
	gate_destroy(gate);
	return tap_done();
}
