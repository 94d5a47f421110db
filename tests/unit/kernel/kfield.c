/* SPDX-License-Identifier: MIT */
/*
 * Kernel structure offsets against facts: the C library's own layouts of structs that are ABI, and
 * libbpf's reading of the same BTF.
 */
#include "tap.h"

#include <bpf/btf.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "kernel/kernel.h"

static uint32_t offset(const char *strct, const char *path)
{
	uint32_t off = UINT32_MAX;
	struct err *e = kfield_offset(strct, path, &off);

	if (e)
		printf("# %s\n", err_text(e));
	err_destroy(e);
	return off;
}

static void is_refused(const char *strct, const char *path, const char *want)
{
	uint32_t off = 77;
	struct err *e = kfield_offset(strct, path, &off);

	is_str(e ? err_text(e) : "no error", want, want);
	is_int(off, 77, "result untouched");
	err_destroy(e);
}

/* The path in libbpf's view, without anonymous members: UINT32_MAX when not there. */
static uint32_t btf_offset(const struct btf *btf, const char *strct, const char *member)
{
	const struct btf_type *t =
		btf__type_by_id(btf, (uint32_t)btf__find_by_name_kind(btf, strct, BTF_KIND_STRUCT));
	const struct btf_member *m = btf_members(t);

	for (uint32_t i = 0; i < btf_vlen(t); i++)
		if (strcmp(btf__name_by_offset(btf, m[i].name_off), member) == 0)
			return btf_member_bit_offset(t, i) / 8;
	return UINT32_MAX;
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static long peak_kb(void)
{
	struct rusage ru;

	(void)getrusage(RUSAGE_SELF, &ru);
	return ru.ru_maxrss;
}

static const struct kfields_needs all = {.parent = true, .compat = true, .comm = true}, none;

static void test_cost(void)
{
	struct kfields kf;
	long before = peak_kb();
	uint64_t start = cpu_ns();
	struct err *e = kfields_fill(&kf, &all);
	uint64_t first = cpu_ns() - start, again;

	ok(!e, "kfields_fill");
	err_destroy(e);
	start = cpu_ns();
	e = kfields_fill(&kf, &all);
	again = cpu_ns() - start;
	err_destroy(e);
	printf("# first %.2f ms, again %.3f ms, %ld KB more\n", (double)first / 1e6,
	       (double)again / 1e6, peak_kb() - before);
	ok(again < first / 2, "the second time is remembered");
	ok(peak_kb() - before < 8192, "memory");
	e = kfields_fill(&kf, &none);
	ok(!e && kf.task_real_parent == UINT32_MAX && kf.task_thread_info_status == UINT32_MAX,
	   "what is not needed is unknown");
}

static void test_btf(void)
{
	static const char *const task[] = {"real_parent", "tgid",   "pid",  "comm",
					   "mm",	  "signal", "files"};
	struct btf *btf = btf__load_vmlinux_btf();
	struct kfields kf;
	struct err *e = kfields_fill(&kf, &all);

	ok(btf && !e, "libbpf reads it");
	for (size_t i = 0; i < ARRAY_LEN(task); i++)
		is_int(offset("task_struct", task[i]), btf_offset(btf, "task_struct", task[i]),
		       task[i]);
	is_int(kf.task_tgid, btf_offset(btf, "task_struct", "tgid"), "kfields.tgid");
	is_int(kf.task_comm, btf_offset(btf, "task_struct", "comm"), "kfields.comm");
	is_int(kf.task_real_parent, btf_offset(btf, "task_struct", "real_parent"),
	       "kfields.real_parent");
	is_int(offset("task_struct", "se.sum_exec_runtime"),
	       btf_offset(btf, "task_struct", "se") +
		       btf_offset(btf, "sched_entity", "sum_exec_runtime"),
	       "a member of a member");
	is_int(kf.task_thread_info_status, btf_offset(btf, "thread_info", "status"),
	       "kfields.status: thread_info is the first member");
	/* the last structs of the file, so that reading to the end is tried */
	for (uint32_t id = btf__type_cnt(btf) - 1, n = 0; id > 1 && n < 5; id--) {
		const struct btf_type *t = btf__type_by_id(btf, id);
		const char *name = btf__name_by_offset(btf, t->name_off);

		if (!btf_is_struct(t) || !*name || btf_vlen(t) == 0 || btf_kflag(t) ||
		    btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT) != (int)id)
			continue;
		const char *member = btf__name_by_offset(btf, btf_members(t)->name_off);

		if (*member)
			is_int(offset(name, member), btf_offset(btf, name, member), name);
		n++;
	}
	btf__free(btf);
}

int main(void)
{
	if (!feat_has(FEAT_BTF)) {
		printf("1..0 # SKIP this kernel lacks %s\n", feat_what(FEAT_BTF));
		return 0;
	}
	test_cost();
	/* ABI: layouts known without BTF */
	is_int(offset("__kernel_timespec", "tv_nsec"), 8, "__kernel_timespec.tv_nsec");
	is_int(offset("path", "dentry"), 8, "path.dentry, a pointer after a pointer");
	is_int(offset("list_head", "prev"), sizeof(void *), "list_head.prev");
	/* anonymous: dentry's name hash and length are in a union in struct qstr */
	is_int(offset("qstr", "len"), 4, "qstr.len, in an anonymous struct in an anonymous union");
	is_int(offset("dentry", "d_name.len"), (long long)offset("dentry", "d_name") + 4,
	       "a path through it");
	test_btf();
	is_refused("no_such_struct", "a", "this kernel has no 'struct no_such_struct'");
	is_refused("task_struct", "nosuch",
		   "this kernel's 'struct task_struct' has no member 'nosuch'");
	is_refused("task_struct", "se.nosuch",
		   "this kernel's 'struct task_struct' has no member 'se.nosuch'");
	is_refused("task_struct", "pid.x",
		   "this kernel's 'struct task_struct' has no member 'pid.x'");
	is_refused("task_struct", "in_execve",
		   "member 'in_execve' of 'struct task_struct' is a bit-field");
	return tap_done();
}
