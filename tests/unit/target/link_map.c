/* SPDX-License-Identifier: MIT */
/* The list of our own objects, and lists that are damaged. */
#include "target/link_map.h"
#include "tap.h"

#include <link.h>

static bool own_read(void *ctx, uint64_t addr, void *buf, uint32_t size)
{
	uint32_t *nreads = ctx;

	++*nreads;
	if (addr < 4096)
		return false;
	memcpy(buf, (const void *)(uintptr_t)addr, size);
	return true;
}

static void test_own(void)
{
	taddr debug = (taddr)(uintptr_t)&_r_debug;
	uint32_t nreads = 0, nobjects = 0, nfound = 0;

	for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
		nfound += link_map_find(own_read, &nreads, debug, m->l_addr) == (taddr)(uintptr_t)m;
		nobjects++;
	}
	ok(nobjects > 2, "there are objects");
	is_int(nfound, nobjects, "each is found");
	ok(!link_map_find(own_read, &nreads, debug, 12345), "another one is not");
	ok(!link_map_find(own_read, &nreads, 8, 0), "there is no list");
}

static void test_damaged(void)
{
	struct link_map two[2] = {{.l_addr = 4096, .l_next = &two[1]},
				  {.l_addr = 8192, .l_next = two}};
	struct r_debug debug = {.r_map = two};
	taddr at = (taddr)(uintptr_t)&debug;
	uint32_t nreads = 0;

	ok(link_map_find(own_read, &nreads, at, 8192) == (taddr)(uintptr_t)&two[1], "the second");
	nreads = 0;
	ok(!link_map_find(own_read, &nreads, at, 1), "a list without an end");
	ok(nreads < 10000, "is cut");
	two[1].l_next = (struct link_map *)16;
	ok(!link_map_find(own_read, &nreads, at, 1), "a list that leads nowhere");
}

/* The C library's description of a member, and an object that has it. */
static void test_tls_module(void)
{
	struct {
		struct link_map map;
		uint64_t module;
	} objects[2] = {{.map = {.l_addr = 4096, .l_next = &objects[1].map}, .module = 3},
			{.map = {.l_addr = 8192}, .module = 7}};
	const uint32_t member[] = {64, 1, offsetof(__typeof__(objects[0]), module)};
	struct r_debug debug = {.r_map = &objects[0].map};
	taddr at = (taddr)(uintptr_t)&debug, of = (taddr)(uintptr_t)member;
	uint32_t nreads = 0;

	is_int((long long)link_map_tls_module(own_read, &nreads, at, of, 8192), 7, "the module");
	is_int((long long)link_map_tls_module(own_read, &nreads, at, of, 1), 0, "of no object");
	is_int((long long)link_map_tls_module(own_read, &nreads, at, 8, 8192), 0,
	       "without a description");
}

int main(void)
{
	test_own();
	test_damaged();
	test_tls_module();
	is_int((long long)link_map_state_off(false), offsetof(struct r_debug, r_state),
	       "the state of 64-bit processes");
	is_int((long long)link_map_state_off(true), 12, "of 32-bit ones");
	return tap_done();
}
