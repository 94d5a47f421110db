/* SPDX-License-Identifier: MIT */
/* Kernel types in the type table, against libbpf's view of the same BTF and against the C
 * compiler's. */
#include "tap.h"

#include <bpf/btf.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "d/types/import.h"

static struct types *t;
static struct arena *a;

static type_id find(const char *name)
{
	return types_find(t, name, strlen(name));
}

/* Size and members with their places; 1 when something differs. */
static uint32_t sou_differs(const struct btf *b, const struct btf_type *bt, type_id id)
{
	const struct type_info *info = type_get(t, id);
	const struct btf_member *bm = btf_members(bt);
	uint32_t vlen = btf_vlen(bt);

	if (info->size != bt->size || info->nmembers != vlen || !info->is_complete)
		return 1;
	for (uint32_t i = 0; i < vlen; i++) {
		const struct type_member *m = &info->members[i];
		int64_t size = btf__resolve_size(b, bm[i].type);

		if (strcmp(m->name, btf__name_by_offset(b, bm[i].name_off)) != 0 ||
		    m->bit_off != btf_member_bit_offset(bt, i) ||
		    m->bit_size != btf_member_bitfield_size(bt, i) ||
		    (size >= 0 && type_size(t, m->type) != (uint32_t)size)) {
			printf("# %s.%s: size %u, want %lld\n", info->name, m->name,
			       type_size(t, m->type), (long long)size);
			return 1;
		}
	}
	return 0;
}

/* As scripts ask: the tag is mentioned, then looked into. */
static void test_all_structs(const struct btf *b)
{
	uint32_t n = 0, bad = 0;

	for (uint32_t i = 1; i < btf__type_cnt(b); i++) {
		const struct btf_type *bt = btf__type_by_id(b, i);
		const char *tag = btf__name_by_offset(b, bt->name_off);
		type_id id;

		if (!btf_is_struct(bt) || !*tag ||
		    btf__find_by_name_kind(b, tag, BTF_KIND_STRUCT) != (int32_t)i)
			continue;
		id = types_find_tag(t, TK_STRUCT, tag);
		if (!id)
			id = type_forward(t, TK_STRUCT, tag);
		n++;
		bad += !type_complete(t, id) || sou_differs(b, bt, id);
	}
	ok(n > 1000, "%u structs imported", n);
	is_int(bad, 0, "all as libbpf sees them");
}

static void is_member(const char *tag, const char *name, size_t off, size_t size)
{
	type_id id = types_find_tag(t, TK_STRUCT, tag);
	const struct type_member *m;
	uint32_t bits = 0;

	if (!id)
		id = type_forward(t, TK_STRUCT, tag);
	ok(type_complete(t, id), "struct %s", tag);
	m = type_find_member(t, id, name, &bits);
	is_int(m ? bits / 8 : UINT32_MAX, off, name);
	is_int(m ? type_size(t, m->type) : 0, size, "its size");
}

#define IS_MEMBER(tag, name)                                                                       \
	is_member(#tag, #name, offsetof(struct tag, name), sizeof(((struct tag *)0)->name))

/* Structs of the kernel's interface, which cannot change. */
static void test_abi(void)
{
	IS_MEMBER(perf_event_attr, sample_period); /* in an anonymous union */
	IS_MEMBER(perf_event_attr, sig_data);
	IS_MEMBER(stat, st_size);
	IS_MEMBER(rusage, ru_nvcsw);
}

static void test_names(void)
{
	type_id id = find("u32");
	int64_t val = -1;
	bool is_percpu;

	ok(id && type_resolve(t, id) == TYPE_UINT, "typedef u32");
	ok(find("u32") == id, "imported once");
	ok(find("vmlinux`u32") && type_resolve(t, find("vmlinux`u32")) == TYPE_UINT,
	   "of the kernel");
	ok(!find("nosuch`u32") && !find("vmlinux`nosuch_t") && !find("nosuch_t"), "unknown names");
	ok(find("size_t") == TYPE_SIZE, "D's own names first");
	id = types_find_tag(t, TK_STRUCT, "vmlinux`file");
	ok(id && type_complete(t, id), "struct vmlinux`file");
	is_str(type_name(t, id, a), "struct file", "its name");
	id = types_find_tag(t, TK_ENUM, "pid_type");
	ok(id && type_size(t, id) == 4 && type_get(t, id)->nenums >= 4, "enum pid_type");
	ok(types_import_enumerator(t, "PIDTYPE_SID", &val) == id && val == 3,
	   "constant PIDTYPE_SID");
	ok(!types_import_enumerator(t, "PIDTYPE_NOSUCH", &val), "no such constant");
	id = types_import_symbol(t, NULL, "schedule", &is_percpu);
	ok(type_kind(t, id) == TK_FUNC && !is_percpu && type_is_void(t, type_get(t, id)->ref),
	   "void schedule()");
	id = types_import_symbol(t, "vmlinux", "runqueues", &is_percpu);
	ok(type_kind(t, id) == TK_STRUCT && is_percpu, "struct rq runqueues of each CPU");
	ok(!types_import_symbol(t, "nosuch", "schedule", &is_percpu), "an unknown module");
}

/* A struct that D text has mentioned is the kernel's; one it has defined is not. */
static void test_shadow(void)
{
	struct type_member m = {.name = "mine", .type = TYPE_INT};
	type_id own, task, p;
	uint32_t off;

	own = type_define_sou(t, TK_STRUCT, "mm_struct", &m, 1);
	task = type_forward(t, TK_STRUCT, "task_struct");
	ok(type_complete(t, task), "completed");
	p = type_find_member(t, task, "mm", &off)->type;
	ok(type_kind(t, p) == TK_PTR && type_deref(t, p) != own,
	   "the kernel's mm_struct is another");
	ok(type_complete(t, type_deref(t, p)) && type_size(t, type_deref(t, p)) > 100,
	   "with its own size");
	ok(types_find_tag(t, TK_STRUCT, "mm_struct") == own, "D text's is found");
	p = type_find_member(t, task, "real_parent", &off)->type;
	ok(type_deref(t, p) == task || type_same(t, type_deref(t, p), task),
	   "a task's parent is a task");
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void fresh(const char *dir, struct btf_import **ret)
{
	*ret = btf_import_create(dir);
	t = types_create(256);
	types_set_importer(t, btf_import_interface(*ret));
}

static void end(struct btf_import *im)
{
	types_destroy(t);
	btf_import_destroy(im);
}

static void test_lazy(void)
{
	struct btf_import *im;
	uint64_t start = cpu_ns();
	type_id id;

	fresh(BTF_DIR, &im);
	id = type_forward(t, TK_STRUCT, "task_struct");
	ok(!types_find_tag(t, TK_STRUCT, "file") && find("size_t") && !btf_import_is_used(im),
	   "nothing is read for a tag or a known name");
	ok(type_complete(t, id) && btf_import_is_used(im), "read when looked into");
	id = type_define_typedef(t, "last", TYPE_INT); /* ids count up */
	ok(id < 2000, "%u types", id);
	printf("# first struct after %llu us\n", (unsigned long long)(cpu_ns() - start) / 1000);
	end(im);
}

static void test_module(struct btf *base)
{
	char dir[] = "/tmp/import_test.XXXXXX", cmd[256];
	struct btf *b = btf__new_empty_split(base);
	struct btf_import *im;
	const void *raw;
	uint32_t size;
	int64_t val;
	type_id id;
	int fd;

	btf__add_typedef(b, "of_module_t", btf__add_struct(b, "of_module", 16));
	btf__add_field(b, "task",
		       btf__add_ptr(b,
				    btf__find_by_name_kind(base, "task_struct", BTF_KIND_STRUCT)),
		       0, 0);
	if (!mkdtemp(dir))
		return;
	(void)snprintf(cmd, sizeof(cmd), "%s/vmlinux", dir);
	ok(symlink(BTF_DIR "/vmlinux", cmd) == 0, "a folder of files");
	(void)snprintf(cmd, sizeof(cmd), "%s/fakemod", dir);
	(void)btf__add_enum(b, "fake", 4);
	(void)btf__add_enum_value(b, "FAKE_TWO", 2);
	raw = btf__raw_data(b, &size);
	fd = open(cmd, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ok(fd >= 0 && write(fd, raw, size) == (ssize_t)size, "a module's");
	(void)close(fd);
	fresh(dir, &im);
	ok(find("of_module_t") != TYPE_NONE, "a name of a module, found in all");
	ok(find("fakemod`of_module_t") == find("of_module_t"), "and in that module");
	ok(!find("vmlinux`of_module_t") && !find("fakemod`u32"), "but not elsewhere");
	id = type_forward(t, TK_STRUCT, "of_module");
	ok(type_complete(t, id) && type_size(t, id) == 16, "a struct of a module");
	ok(type_complete(t, type_deref(t, type_get(t, id)->members[0].type)),
	   "and one of the kernel in it");
	ok(types_import_enumerator(t, "FAKE_TWO", &val) && val == 2, "a constant");
	end(im);
	(void)unlink(cmd);
	(void)snprintf(cmd, sizeof(cmd), "%s/vmlinux", dir);
	(void)unlink(cmd);
	fresh(dir, &im);
	ok(!find("u32") && types_import_trouble(t), "without a kernel's: %s",
	   types_import_trouble(t));
	end(im);
	(void)rmdir(dir);
	btf__free(b);
}

int main(void)
{
	struct btf *b = btf__parse(BTF_DIR "/vmlinux", NULL);
	struct btf_import *im;

	if (!b) {
		printf("1..0 # SKIP no BTF\n");
		return 0;
	}
	a = arena_create();
	test_lazy();
	fresh(BTF_DIR, &im);
	test_names();
	test_abi();
	test_all_structs(b);
	end(im);
	fresh(BTF_DIR, &im);
	test_shadow();
	end(im);
	test_module(b);
	arena_destroy(a);
	btf__free(b);
	return tap_done();
}
