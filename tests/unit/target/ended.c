/* SPDX-License-Identifier: MIT */
/*
 * A process that has ended, as its files say: this one is described as if it had, and its memory is
 * compared with what the process has.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files/gate.h"
#include "files/mapping.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "image/object.h"
#include "target/maps.h"
#include "target/target.h"
#include "tap.h"

static const char text[64] = "what the file has";
static volatile uint64_t unchanged = 0x1122334455667788, changed = 0x99;
static const char *volatile written = text + 8; /* in data that stays writable */
static volatile uint64_t empty;			/* which has no bytes in the file */
extern char edata; /* of the linker: the end of the data that the file has */
static const char *const table[] = {text, text + 4}; /* which the dynamic linker protects */

/* The files of which the process has mapped code. */
static uint32_t files_list(struct target *t, struct target_ended_file *ret)
{
	const struct proc_maps *maps = target_maps(t);
	const struct proc_map *program = target_program(t);
	uint32_t n = 0;

	for (int turn = 0; turn < 2; turn++)
		for (uint32_t i = 0; i < maps->maps.len && n < TARGET_ENDED_FILES; i++) {
			const struct proc_map *m = &maps->maps.data[i];

			if (m->is_exec && proc_map_has_file(m) && m->path[0] == '/' &&
			    proc_map_is_same_file(m, program) == !turn)
				ret[n++] = (struct target_ended_file){m->path, m->dev, m->ino,
								      m->start, m->off};
		}
	return n;
}

/* Whether both have the same bytes there. */
static bool is_same(struct target *ended, const volatile void *p, size_t size)
{
	char bytes[64];

	return target_read(ended, (taddr)(uintptr_t)p, bytes, size) &&
	       !memcmp(bytes, (const void *)(uintptr_t)p, size);
}

/* Where the last page of the file's data ends, there is nothing but memory of the process. */
static bool empty_is_right(struct target *ended)
{
	const uintptr_t page = 4096, end = ((uintptr_t)&edata + page - 1) & ~(page - 1);
	uint64_t value = 1;
	bool is_read = target_read(ended, (taddr)(uintptr_t)&empty, &value, sizeof(value));

	return (uintptr_t)&empty < end ? is_read && !value : !is_read;
}

/*
 * A word of the C library that the linker fills by a symbol, which the program may have a copy of.
 */
static void test_symbol(struct target *ended)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	const void *at = libc ? dlsym(libc, "stdin") : NULL;
	uint64_t value;

	ok(!libc || (at && !target_read(ended, (taddr)(uintptr_t)at, &value, sizeof(value))),
	   "an address that depends on a symbol");
	if (libc)
		(void)dlclose(libc);
}

/* So many relocations are looked at that whoever made the file cannot keep the reader busy. */
static void test_bound(const struct file_opts *files, const struct target_ended_file *list,
		       uint32_t n)
{
	struct target *ended = target_ended(getpid(), files, list, n);
	const char *const *const at = table;
	uint32_t nreads = 0;

	while (ended && nreads < 1000000 && is_same(ended, (const void *)at, sizeof(*at)))
		nreads++;
	ok(nreads && nreads < 1000000, "reads come to an end");
	ok(ended && !is_same(ended, (const void *)at, sizeof(*at)), "and stay there");
	target_close(ended);
}

static void test_relocations(struct image_set *images, struct gate *g, const char *path)
{
	const struct mapping m = {.path = path, .has_root = true, .root = -1};
	struct image *image = image_open(images, g, &m);
	struct object *o = NULL;
	uint8_t bytes[8] = {0};
	uint64_t left = 1;
	const struct object_bytes none = {.addr = 0, .size = 8, .bytes = bytes, .left = &left};

	if (!ok(image, "the program's file"))
		return;
	image_pin(image);
	o = image_object(image, 64 << 20);
	ok(o && !object_relocate(o, &none) && !left, "it has more relocations than one");
	left = 1000000;
	ok(o && object_relocate(o, &none) && left && left < 1000000, "and fewer than a million");
	image_unpin(image);
	image_put(image);
}

static void test_memory(struct target *ended, struct target *t)
{
	const struct proc_map *relro = proc_maps_find(target_maps(ended), (taddr)(uintptr_t)table);
	const struct proc_map *program = target_program(ended), *own = target_program(t);
	uint64_t value = 0;

	changed++;
	empty = 7;
	ok(is_same(ended, text, sizeof(text)), "constants");
	ok(is_same(ended, (const void *)(uintptr_t)&files_list, 32), "code");
	ok(is_same(ended, (const volatile void *)table, sizeof(table)),
	   "addresses that the dynamic linker has written");
	ok(is_same(ended, &written, sizeof(written)), "the same in data that may be written");
	ok(relro && !relro->is_write, "what it protects cannot be written");
	ok(is_same(ended, &unchanged, sizeof(unchanged)), "data that nobody has changed");
	ok(target_read(ended, (taddr)(uintptr_t)&changed, &value, 8) && value == 0x99,
	   "data that was changed is what it was");
	ok(empty_is_right(ended), "memory of which the file has nothing");
	ok(!target_read(ended, (taddr)(uintptr_t)&value, &value, 8), "there is no stack");
	ok(program && own &&
		   proc_map_is_same_file(own, &(struct proc_map){.dev = program->dev,
								 .ino = program->ino}),
	   "the program");
	test_symbol(ended);
	ok(target_has_ended(ended) && !target_has_ended(t), "it has ended, the other one has not");
	ok(target_proc(ended) == 0, "it is no process");
}

static void test_refused(const struct file_opts *files, struct target_ended_file *list, uint32_t n)
{
	const struct target_ended_file first = list[0];

	list[0].ino++;
	ok(!target_ended(1, files, list, n), "another file has the path");
	list[0] = first;
	list[0].dev++;
	ok(!target_ended(1, files, list, n), "another file with the same number has the path");
	list[0] = first;
	list[0].path = "/nonexistent/file";
	ok(!target_ended(1, files, list, n), "there is no such file");
	list[0] = first;
	list[0].off = (uint64_t)1 << 40;
	ok(!target_ended(1, files, list, n), "the file has no code there");
	list[0] = first;
	list[1] = first;
	ok(!target_ended(1, files, list, 2), "two files at the same place");
	ok(!target_ended(1, files, list, 0), "no file");
}

/* Files that somebody else may have written are not believed. */
static void test_distrust(const struct file_opts *files, const struct target_ended_file *list,
			  uint32_t n)
{
	static const mode_t modes[] = {0720, 0702};
	struct target *ended;

	for (int i = 0; i < 2; i++)
		ok(chmod(list[0].path, modes[i]) == 0 && !target_ended(1, files, list, n),
		   "a file of mode %o", (unsigned int)modes[i]);
	ok(chmod(list[0].path, 0700) == 0, "its mode before");
	if (geteuid() == 0) {
		ok(chown(list[0].path, 1234, 0) == 0 && !target_ended(1, files, list, n),
		   "a file of another user");
		ok(chown(list[0].path, 0, 0) == 0, "its owner before");
	}
	ended = target_ended(1, files, list, n);
	ok(ended, "a file that nobody else can write");
	target_close(ended);
}

/* Makes the program's file one that only its user can write, whoever has built it. */
static int copy_exec(char *name)
{
	const char *dir = getenv("TMPDIR");
	char path[PATH_MAX];
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to;
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/ended.XXXXXX", dir ? dir : "/tmp");
	to = mkstemp(path);
	if (from < 0 || to < 0 || fstat(from, &st) != 0)
		return 1;
	for (ssize_t n = 1; n > 0;)
		n = sendfile(to, from, NULL, (size_t)st.st_size);
	if (fchmod(to, 0700) == 0 && close(to) == 0)
		execl(path, name, path, (char *)NULL);
	perror(path);
	(void)unlink(path);
	return 1;
}

int main(int argc, char **argv)
{
	struct gate *g = gate_create();
	struct image_set *images = image_set_create();
	const struct file_opts files = {.debug_dirs = "",
					.limit = 64 << 20,
					.gate = g,
					.images = images};
	struct target_ended_file list[TARGET_ENDED_FILES];
	struct target *t = NULL, *ended;
	uint32_t n;

	if (argc < 2)
		return copy_exec(argv[0]);
	if (ok(!target_live_open(getpid(), g, &t), "a process")) {
		n = files_list(t, list);
		ended = target_ended(getpid(), &files, list, n);
		if (ok(n > 1 && ended, "its %u files", n))
			test_memory(ended, t);
		target_close(ended);
		test_bound(&files, list, n);
		test_relocations(images, g, list[0].path);
		test_distrust(&files, list, n);
		test_refused(&files, list, n);
		target_close(t);
	}
	image_set_destroy(images);
	gate_destroy(g);
	(void)unlink(argv[1]);
	return tap_done();
}
