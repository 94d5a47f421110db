/* SPDX-License-Identifier: MIT */
/* BTF files against libbpf's reading of them: the kernel's, a made-up module's, damaged ones. */
#include "tap.h"

#include <bpf/btf.h>
#include <fcntl.h>
#include <linux/bpf.h>

#include "kernel/btf.h"

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

static char tmp[] = "/tmp/btf_test.XXXXXX";

static char *file_make(const char *name, const void *data, size_t size)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s/%s", tmp, name) < 0)
		oom();
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ok(fd >= 0 && write(fd, data, size) == (ssize_t)size, "made %s", name);
	(void)close(fd);
	return path;
}

static struct btf_file *file_open(const char *path, const struct btf_file *base)
{
	struct btf_file *f = NULL;
	struct err *e = btf_file_open(path, base, &f);

	if (e)
		printf("# %s\n", err_text(e));
	err_destroy(e);
	return f;
}

/* Every type, byte by byte, and its name. */
static void test_kernel(const struct btf *want, struct btf_file *f)
{
	uint32_t n = btf__type_cnt(want), bad = 0;
	int32_t id;

	is_int(btf_file_end(f), n, "number of types");
	for (uint32_t i = 1; i < n; i++) {
		const struct btf_type *a = btf__type_by_id(want, i), *b = btf_file_type(f, i);

		bad += !b || memcmp(a, b, sizeof(*a)) != 0 ||
		       strcmp(btf__name_by_offset(want, a->name_off),
			      btf_file_str(f, b->name_off)) != 0;
	}
	is_int(bad, 0, "types equal");
	ok(!btf_file_type(f, 0) && !btf_file_type(f, n) && !btf_file_type(f, UINT32_MAX),
	   "no type");
	is_str(btf_file_str(f, UINT32_MAX), "", "no string");
	id = btf__find_by_name_kind(want, "task_struct", BTF_KIND_STRUCT);
	is_int(btf_file_find(f, BTF_FIND_STRUCT, "task_structure", 11), id, "a struct by name");
	is_int(btf_file_find(f, BTF_FIND_TYPEDEF, "task_struct", 11), 0, "... not as a typedef");
	id = btf__find_by_name_kind(want, "u32", BTF_KIND_TYPEDEF);
	is_int(btf_file_find(f, BTF_FIND_TYPEDEF, "u32", 3), id, "a typedef by name");
	id = btf__find_by_name_kind(want, "schedule", BTF_KIND_FUNC);
	is_int(btf_file_find_symbol(f, "schedule", 8), id, "a function by name");
	is_int(btf_file_find(f, BTF_FIND_STRUCT, "no such struct", 14), 0, "an unknown name");
	is_int(btf_file_find(f, BTF_FIND_STRUCT, "", 0), 0, "no name");
}

/* The types one after the other, and one that is met while the file is opened. */
static void test_walk(const char *path, struct btf_file *f)
{
	struct btf_walk all = {.file = f, .kinds = UINT32_MAX}, w = {.file = f};
	struct btf_file *g = NULL;
	uint32_t id = 1, bad = 0, found = 0, missed = 0;
	const struct btf_type *t;
	struct err *e;

	for (; (t = btf_walk_next(&all)); id++)
		bad += t != btf_file_type(f, id) || all.id != id;
	is_int(bad, 0, "a walk meets the types that their ids give");
	is_int(id, btf_file_end(f), "... and all of them");
	w.kinds = BTF_FIND_ENUM | 1u << BTF_KIND_FUNC_PROTO;
	all = (struct btf_walk){.file = f, .kinds = UINT32_MAX};
	while ((t = btf_walk_next(&all)))
		if (w.kinds >> BTF_INFO_KIND(t->info) & 1)
			missed += btf_walk_next(&w) != t || w.id != all.id;
	is_int(missed, 0, "a walk through some kinds meets all types of these kinds");
	ok(!btf_walk_next(&w), "... and no others");
	e = btf_file_open_for(path, BTF_FIND_STRUCT, "task_struct", &g, &found);
	ok(!e, "opened for a struct");
	is_int(found, btf_file_find(f, BTF_FIND_STRUCT, "task_struct", 11), "its id");
	id = btf_file_end(f) - 1;
	ok(btf_file_type(g, id) &&
		   memcmp(btf_file_type(g, id), btf_file_type(f, id), sizeof(struct btf_type)) == 0,
	   "the last type, behind what opening has read");
	ok(!btf_file_type(g, id + 1), "there are no more");
	btf_file_close(g);
	e = btf_file_open_for(path, BTF_FIND_STRUCT, "no such struct", &g, &found);
	ok(!e && !found, "there is none");
	btf_file_close(g);
}

static void test_enumerators(struct btf_file *f)
{
	int64_t val = -1;
	uint32_t id = btf_file_find_enumerator(f, "BPF_MAP_TYPE_RINGBUF", 20, &val);

	ok(id && BTF_INFO_KIND(btf_file_type(f, id)->info) == BTF_KIND_ENUM, "enumeration found");
	is_int(val, BPF_MAP_TYPE_RINGBUF, "its constant");
	is_int(btf_file_find_enumerator(f, "BPF_MAP_TYPE_RINGB", 18, &val), 0, "part of a name");
	is_int(btf_file_find_enumerator(f, "task_struct", 11, &val), 0,
	       "a name that is no constant");
}

static void test_module(struct btf *want_base, struct btf_file *base)
{
	struct btf *want = btf__new_empty_split(want_base);
	int32_t base_id = btf__find_by_name_kind(want_base, "list_head", BTF_KIND_STRUCT), id;
	struct btf_file *f;
	uint32_t size;
	const void *raw;
	char *path;
	int64_t val;

	id = btf__add_struct(want, "of_the_module", 24);
	btf__add_field(want, "list_of_it", base_id, 0, 0);
	btf__add_enum(want, "module_enum", 4);
	btf__add_enum_value(want, "MODULE_ONE", 1);
	raw = btf__raw_data(want, &size);
	path = file_make("module", raw, size);
	f = file_open(path, base);
	ok(f != NULL, "opened the module's");
	is_int(btf_file_end(f), btf__type_cnt(want), "types of both");
	is_int(btf_file_find(f, BTF_FIND_STRUCT, "of_the_module", 13), id,
	       "a struct of the module");
	is_int(btf_file_find(f, BTF_FIND_STRUCT, "list_head", 9), 0,
	       "a struct of the kernel is not the module's");
	is_str(btf_file_str(f, btf_file_type(f, (uint32_t)base_id)->name_off), "list_head",
	       "a type of the kernel seen through the module");
	is_str(btf_file_str(f, btf_file_type(f, (uint32_t)id)->name_off), "of_the_module",
	       "a name");
	ok(btf_file_find_enumerator(f, "MODULE_ONE", 10, &val) && val == 1, "a constant");
	btf_file_close(f);
	btf__free(want);
	(void)unlink(path);
	free(path);
}

/* No prefix and no single changed byte may do more than be refused. */
static void test_damage(void)
{
	struct btf *b = btf__new_empty();
	struct err *e = NULL;
	struct btf_file *f = NULL;
	uint32_t size, refused = 0;
	const void *raw;
	char *copy, *path;
	int64_t val;

	btf__add_int(b, "int", 4, BTF_INT_SIGNED);
	btf__add_struct(b, "s", 8);
	btf__add_field(b, "a", 1, 0, 0);
	btf__add_field(b, "b", 1, 32, 0);
	btf__add_enum(b, "e", 4);
	btf__add_enum_value(b, "ONE", 1);
	raw = btf__raw_data(b, &size);
	copy = xmalloc(size);
	if (asprintf(&path, "%s/damaged", tmp) < 0)
		oom();
	for (uint32_t i = 0; i < size * 2; i++) {
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		uint32_t len = i < size ? i : size;

		memcpy(copy, raw, size);
		if (i >= size)
			copy[i - size] = (char)(copy[i - size] ^ 0xff);
		if (write(fd, copy, len) != (ssize_t)len)
			break;
		(void)close(fd);
		e = btf_file_open(path, NULL, &f);
		refused += e != NULL;
		if (!e) {
			for (uint32_t id = 0; id <= btf_file_end(f); id++)
				if (btf_file_type(f, id))
					(void)btf_file_str(f, btf_file_type(f, id)->name_off);
			(void)btf_file_find(f, BTF_FIND_STRUCT, "s", 1);
			(void)btf_file_find_enumerator(f, "ONE", 3, &val);
			btf_file_close(f);
		}
		err_destroy(e);
	}
	ok(refused >= size, "%u of %u damaged files refused", refused, size * 2);
	e = btf_file_open("/nonexistent", NULL, &f);
	is_str(e ? err_text(e) : "", "cannot read '/nonexistent': No such file or directory",
	       "no file");
	err_destroy(e);
	(void)unlink(path);
	free(path);
	free(copy);
	btf__free(b);
}

/* A file that is not mapped but read: a copy that does not lie in sysfs. */
static void test_reading(const struct btf *want)
{
	uint32_t size;
	const void *data = btf__raw_data(want, &size);
	char *path = file_make("copy", data, size);
	struct btf_file *f = file_open(path, NULL);

	ok(f != NULL, "opened a copy");
	test_kernel(want, f);
	test_walk(path, f);
	btf_file_close(f);
	(void)unlink(path);
	free(path);
}

int main(void)
{
	struct btf *want = btf__parse(KERNEL_BTF, NULL);
	struct btf_file *f;

	if (!mkdtemp(tmp))
		return 1;
	if (want) {
		f = file_open(KERNEL_BTF, NULL);
		ok(f != NULL, "opened the kernel's");
		test_kernel(want, f);
		test_walk(KERNEL_BTF, f);
		test_enumerators(f);
		test_module(want, f);
		btf_file_close(f);
		test_reading(want);
		btf__free(want);
	}
	test_damage();
	(void)rmdir(tmp);
	return tap_done();
}
