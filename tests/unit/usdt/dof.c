/* SPDX-License-Identifier: MIT */
/* DOF that describes providers: what is written can be read, what is damaged is refused. */
#include "usdt/dof.h"
#include "tap.h"

static const struct usdt_arg args[] = {
	{.text = "int", .size = 4},
	{.text = "struct conn *", .size = 8},
	{.text = "string", .size = 8},
};
static const char *const xargs[] = {"conninfo_t *", "int"};
static const uint32_t map[] = {1, 0};
static const struct usdt_probe probes[] = {
	{.name = "idle", .cname = "idle"},
	{.name = "request-start",
	 .cname = "request__start",
	 .args = args,
	 .nargs = 3,
	 .xargs = xargs,
	 .map = map,
	 .nxargs = 2},
};
static const struct usdt_provider providers[] = {
	{.name = "first", .attrs = {0x05050500, 1, 2, 3, 4}, .probes = probes, .nprobes = 1},
	{.name = "second", .attrs = {5, 6, 7, 8, 9}, .probes = probes, .nprobes = 2},
};

static bool is_damaged; /* what the last index said */

static bool found_in(const uint8_t *bytes, size_t size, const char *provider, const char *probe,
		     struct arena *a, struct dof_probe_info *ret)
{
	struct dof_index *ix = dof_index_create(bytes, size);
	bool is_found = dof_index_find(ix, provider, probe, a, ret);

	is_damaged = dof_index_is_damaged(ix);
	dof_index_destroy(ix);
	return is_found;
}

static void test_round(struct arena *a)
{
	struct dof_image d = {0};
	struct dof_probe_info p;

	dof_write(providers, 1, true, &d);
	dof_write(providers + 1, 1, false, &d); /* as a linker joins two objects */
	ok(found_in(d.bytes.data, d.bytes.len, "second", "request-start", a, &p), "found");
	is_int(p.nargs, 3, "arguments");
	is_str(p.args[1], "struct conn *", "type of an argument");
	is_int(p.nxargs, 2, "translated arguments");
	is_str(p.xargs[0], "conninfo_t *", "type it is translated to");
	ok(p.map[0] == 1 && p.map[1] == 0, "which argument is translated");
	is_int(p.attrs[4], 9, "attributes");
	ok(found_in(d.bytes.data, d.bytes.len, "first", "idle", a, &p) && !p.nargs &&
		   p.attrs[0] == 0x05050500,
	   "a probe without arguments");
	ok(!found_in(d.bytes.data, d.bytes.len, "first", "request-start", a, &p),
	   "not another provider's probe");
	ok(!is_damaged, "a probe that is not described is no damage");
	ok(!found_in(NULL, 0, "first", "idle", a, &p) && !is_damaged, "nothing");
	dof_image_deinit(&d);
}

/* Whatever byte is changed or cut off: an answer, and no access outside (AddressSanitizer). */
static void test_damage(struct arena *a)
{
	struct dof_image d = {0};
	struct dof_probe_info p;
	uint32_t found = 0, silent = 0;

	dof_write(providers, 2, true, &d);
	for (uint32_t i = 0; i < d.bytes.len; i++) {
		uint8_t *cut = xmalloc(i + 1);

		memcpy(cut, d.bytes.data, i);
		found += found_in(cut, i, "second", "request-start", a, &p);
		silent += i > 0 && !is_damaged;
		free(cut);
	}
	is_int(found, 0, "what is cut off is refused");
	is_int(silent, 0, "what is cut off counts as damaged");
	for (uint32_t i = 0; i < d.bytes.len; i++)
		for (uint32_t bit = 0; bit < 8; bit++) {
			d.bytes.data[i] ^= (uint8_t)(1u << bit);
			found += found_in(d.bytes.data, d.bytes.len, "second", "request-start", a,
					  &p);
			d.bytes.data[i] ^= (uint8_t)(1u << bit);
		}
	ok(found > 0, "most bytes do not matter to one probe");
	dof_image_deinit(&d);
}

int main(void)
{
	struct arena *a = arena_create();

	test_round(a);
	test_damage(a);
	arena_destroy(a);
	return tap_done();
}
