/* SPDX-License-Identifier: MIT */
/* Elements of BPF maps: read, set, deleted; a map of constants. Needs CAP_BPF. */
#include "kernel/map.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

struct value {
	uint64_t a, b;
};

static void test_elements(int fd)
{
	uint64_t key = 0x100000007, other = 7;
	struct value v = {1, 1};

	ok(!map_get(fd, &key, &v), "an element that was not set is not there");
	is_int((int64_t)v.a, 1, "and the value is left alone");
	is_int(map_put(fd, &key, &(struct value){3, 5}), 0, "an element is set");
	ok(map_get(fd, &key, &v) && v.a == 3 && v.b == 5, "and read, whole");
	ok(!map_get(fd, &other, &v), "all of the key counts");
	is_int(map_put(fd, &key, &(struct value){8, 9}), 0, "it is set again");
	ok(map_get(fd, &key, &v) && v.a == 8 && v.b == 9, "the last value stays");
	map_remove(fd, &key);
	ok(!map_get(fd, &key, &v), "it is deleted");
	map_remove(fd, &key);
	is_int(map_put(fd, &key, &v), 0, "deleting twice does no harm");
}

/* The map has room for two, and one is there. */
static void test_full(int fd)
{
	uint64_t second = 2, third = 3;
	struct value v = {0};
	struct err *e;

	is_int(map_put(fd, &second, &v), 0, "the last free element");
	is_int(map_put(fd, &third, &v), E2BIG, "a full map says so by the errno");
	e = map_set(fd, "few", &third, &v);
	ok(e && strstr(err_text(e), "'few'"), "the error names the map: %s", e ? err_text(e) : "");
	is_int(e ? err_get_sys(e) : 0, E2BIG, "and keeps the errno");
	err_destroy(e);
	map_remove(fd, &second);
	e = map_set(fd, "few", &third, &v);
	ok(!e, "a deleted element makes room");
	err_destroy(e);
}

static void test_const(void)
{
	const struct value want = {11, 12};
	struct value v = {0};
	uint32_t zero = 0;
	int fd = -1;
	struct err *e = map_create_const("constants", &want, sizeof(want), &fd);

	ok(!e, "a map of constants");
	err_destroy(e);
	ok(map_get(fd, &zero, &v) && v.a == 11 && v.b == 12, "has its value");
	is_int(map_put(fd, &zero, &v), EPERM, "which nobody changes any more");
	(void)close(fd);
}

static void test_refused(void)
{
	const struct map_spec spec = {BPF_MAP_TYPE_HASH, "no_key", 0, 8, 1, .option = "aggsize"};
	int fd = -1;
	struct err *e = map_create(&spec, &fd);

	ok(e && strstr(err_text(e), "'no_key'"), "a refused map: %s", e ? err_text(e) : "");
	ok(e && strstr(err_get_hint(e), "aggsize"), "the hint names the option to lower");
	is_int(fd, -1, "there is no descriptor");
	err_destroy(e);
}

int main(void)
{
	const struct map_spec spec = {BPF_MAP_TYPE_HASH,    "few", sizeof(uint64_t),
				      sizeof(struct value), 2,	   .flags = 0};
	int fd = -1;
	struct err *e = map_create(&spec, &fd);

	if (e && err_get_sys(e) == EPERM) {
		printf("1..0 # SKIP bpf(2) is refused: %s\n", err_text(e));
		err_destroy(e);
		return 0;
	}
	ok(!e, "a map is made");
	err_destroy(e);
	test_elements(fd);
	test_full(fd);
	(void)close(fd);
	ok(!map_get(fd, &(uint64_t){1}, &(struct value){0}), "nothing is read from a closed map");
	test_const();
	test_refused();
	return tap_done();
}
