/* SPDX-License-Identifier: MIT */
/*
 * A process that has ended, as its files say: this one is described as if it had, and its memory is
 * compared with what the process has.
 */
#include <string.h>
#include <unistd.h>

#include "files/gate.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "target/maps.h"
#include "target/target.h"
#include "tap.h"

static const char text[64] = "what the file has";
static volatile uint64_t unchanged = 0x1122334455667788, changed = 0x99;
static const char *volatile written = text + 8; /* in data that stays writable */
static volatile uint64_t empty;
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

static void test_memory(struct target *ended, struct target *t)
{
	const struct proc_map *relro = proc_maps_find(target_maps(ended), (taddr)(uintptr_t)table);
	const struct proc_map *program = target_program(ended), *own = target_program(t);
	uint64_t value = 0;

	changed++;
	ok(is_same(ended, text, sizeof(text)), "constants");
	ok(is_same(ended, (const void *)(uintptr_t)&files_list, 32), "code");
	ok(is_same(ended, (const volatile void *)table, sizeof(table)),
	   "addresses that the dynamic linker has written");
	ok(is_same(ended, &written, sizeof(written)), "the same in data that may be written");
	ok(relro && !relro->is_write, "what it protects cannot be written");
	ok(is_same(ended, &unchanged, sizeof(unchanged)), "data that nobody has changed");
	ok(target_read(ended, (taddr)(uintptr_t)&changed, &value, 8) && value == 0x99,
	   "data that was changed is what it was");
	ok(!is_same(ended, &empty, sizeof(empty)) || !empty, "zeroed memory");
	ok(!target_read(ended, (taddr)(uintptr_t)&value, &value, 8), "there is no stack");
	ok(program && own &&
		   proc_map_is_same_file(own, &(struct proc_map){.dev = program->dev,
								 .ino = program->ino}),
	   "the program");
	ok(target_proc(ended) == 0, "it is no process");
}

static void test_refused(const struct file_opts *files, struct target_ended_file *list, uint32_t n)
{
	const struct target_ended_file first = list[0];

	list[0].ino++;
	ok(!target_ended(1, files, list, n), "another file has the path");
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

int main(void)
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

	if (ok(!target_live_open(getpid(), g, &t), "a process")) {
		n = files_list(t, list);
		ended = target_ended(getpid(), &files, list, n);
		if (ok(n > 1 && ended, "its %u files", n))
			test_memory(ended, t);
		target_close(ended);
		test_refused(&files, list, n);
		target_close(t);
	}
	image_set_destroy(images);
	gate_destroy(g);
	return tap_done();
}
