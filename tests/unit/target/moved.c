/* SPDX-License-Identifier: MIT */
/*
 * A target's files, mapped elsewhere: addresses move with their files, and what was changed is told
 * from what was not.
 */
#include <string.h>
#include <unistd.h>

#include "files/gate.h"
#include "image/image.h"
#include "target/maps.h"
#include "target/target.h"
#include "tap.h"

static const char text[64] = "what the file has";
static volatile uint64_t unchanged = 0x1122334455667788, changed = 0x99;
static volatile uint64_t empty;
static const char *const table[] = {text, text + 4}; /* which the dynamic linker writes */

static const struct proc_map *map_of(struct target *t, const volatile void *p)
{
	const struct proc_map *m = proc_maps_find(target_maps(t), (taddr)(uintptr_t)p);

	for (uint32_t i = 0; m && i < target_maps(t)->maps.len; i++)
		if (&target_maps(t)->maps.data[i] == m)
			return m;
	return NULL;
}

/* Where an address of the program lies in `moved`; 0: nowhere. */
static taddr moved_addr(struct target *t, struct target *moved, const volatile void *p)
{
	const struct proc_map *origin = map_of(t, p);

	for (uint32_t i = 0; origin && i < target_maps(moved)->maps.len; i++) {
		const struct proc_map *m = &target_maps(moved)->maps.data[i];

		if (proc_map_is_same_file(m, origin) && m->off == origin->off &&
		    m->is_exec == origin->is_exec && m->is_write == origin->is_write)
			return m->start + ((taddr)(uintptr_t)p - origin->start);
	}
	return 0;
}

static void test_memory(struct target *t, struct target *moved)
{
	taddr at = moved_addr(t, moved, text);
	char read[sizeof(text)] = "";
	uint64_t value = 0;

	ok(at && target_moved_file(at - (taddr)(uintptr_t)text) == 0,
	   "the program is the first file");
	ok(target_read(moved, at, read, sizeof(read)) && !memcmp(read, text, sizeof(text)),
	   "its constants are in the file");
	at = moved_addr(t, moved, (const volatile void *)table);
	ok(target_read(moved, at, &value, 8) && value == moved_addr(t, moved, text),
	   "addresses in it move with it");
	at = moved_addr(t, moved, &unchanged);
	ok(target_read(moved, at, &value, 8) && value == unchanged, "data that nobody has changed");
	changed++;
	at = moved_addr(t, moved, &changed);
	ok(target_read(moved, at, &value, 8) && value != changed && value != changed - 1,
	   "what was changed is neither");
	ok(!target_read(moved, (taddr)(uintptr_t)text, &value, 8), "nothing is at the old place");
	ok(!target_read(moved, (taddr)(uintptr_t)&value, &value, 8), "there is no stack");
	at = moved_addr(t, moved, &empty);
	ok(!at || !target_read(moved, at, &value, 8) || value != empty + 1, "nor zeroed memory");
}

static void test_images(struct target *t, struct target *moved)
{
	struct image_set *s = image_set_create();
	const struct proc_map *program = target_program(moved), *own = target_program(t);
	struct image *a, *b;

	ok(program && own && proc_map_is_same_file(program, own), "the program");
	a = target_image(moved, s, program);
	b = target_image(t, s, own);
	ok(a && a == b, "has the same image");
	ok(target_moved_asked(moved) & 1, "which is noted");
	image_put(a);
	image_put(b);
	image_set_destroy(s);
}

static void test_distances(void)
{
	is_int((int)target_moved_file(3ull << TARGET_MOVED_SHIFT), 2, "the distance of file 2");
	ok(target_moved_file(0) == UINT32_MAX && target_moved_file(4096) == UINT32_MAX &&
		   target_moved_file((1ull << TARGET_MOVED_SHIFT) + 1) == UINT32_MAX &&
		   target_moved_file(-(1ull << TARGET_MOVED_SHIFT)) == UINT32_MAX,
	   "other distances are of none");
}

int main(void)
{
	struct gate *g = gate_create();
	struct target *t = NULL, *moved;

	if (ok(!target_live_open(getpid(), g, &t), "a process")) {
		moved = target_moved(t);
		test_memory(t, moved);
		test_images(t, moved);
		test_distances();
		target_close(moved);
		target_close(t);
	}
	gate_destroy(g);
	return tap_done();
}
