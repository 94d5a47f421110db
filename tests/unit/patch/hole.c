/* SPDX-License-Identifier: MIT */
/* Where a region has room: between the mappings of a process, and below its stack. */
#include "patch/hole.h"

#include "patch/patch.h"
#include "tap.h"

#define MB	 (1ull << 20)
#define GB	 (1ull << 30)
#define SIZE	 (16 * MB)
#define LIBRARY	 0x7f0000000000ull
#define LIBRARY2 (LIBRARY + 8 * MB) /* the last one below the stack */

/* Everything below the library is reserved, but for a hole; the stack is so far above. */
static taddr find(uint64_t hole, uint64_t stack, const char *top, uint64_t size)
{
	struct proc_map list[] = {
		{.start = 0x1000, .end = LIBRARY - 512 * MB - hole, .path = ""},
		{.start = LIBRARY - 512 * MB, .end = LIBRARY, .path = ""},
		{.start = LIBRARY, .end = LIBRARY + 4 * MB, .path = "/lib/libmore.so"},
		{.start = LIBRARY2, .end = LIBRARY2 + MB, .path = "/lib/ld.so"},
		{.start = LIBRARY2 + MB + stack, .end = 0x7fffffff0000, .path = top},
		{.start = 0xffffffffff600000, .end = 0xffffffffff601000, .path = "[vsyscall]"},
	};
	struct proc_maps maps = {.maps = {.data = list, .len = ARRAY_LEN(list)}};

	return hole_find(&maps, size, LIBRARY, LIBRARY + 4 * MB);
}

static void test_between(void)
{
	is_int(find(64 * MB, 64 * MB, "", SIZE), LIBRARY2 + 2 * MB, "the nearest hole");
	is_int(find(64 * MB, 8 * MB, "", SIZE), LIBRARY - 512 * MB - SIZE - MB,
	       "if it is large enough");
	is_int(find(8 * MB, 8 * MB, "", SIZE), 0, "none is");
	is_int(find(64 * MB, 64 * MB, "", PATCH_REACH), 0, "nothing is as large as that");
}

static void test_stack(void)
{
	is_int(find(64 * MB, 100 * GB, "[stack]", SIZE), LIBRARY - 512 * MB - SIZE - MB,
	       "another hole is better than one below the stack");
	is_int(find(8 * MB, 100 * GB, "[stack]", SIZE), LIBRARY2 + 2 * MB,
	       "but that is taken if there is no other");
	is_int(find(8 * MB, GB + MB + SIZE, "[stack]", SIZE), LIBRARY2 + 2 * MB, "as near as a GB");
	is_int(find(8 * MB, GB + MB + SIZE - 4096, "[stack]", SIZE), 0, "and no nearer");
	is_int(find(8 * MB, 64 * MB, "[stack]", SIZE), 0, "nor in a small one");
}

int main(void)
{
	test_between();
	test_stack();
	return tap_done();
}
