/* SPDX-License-Identifier: MIT */
/*
 * Finds out what this kernel can do and what this process may do.
 *
 * To add a feature: 1. a line in features.def; 2. a probing function and its row in `probes` below;
 * 3. a test in tests/unit/kernel/feat.c, with the feature present and forced absent.
 *
 * Facts    numbers of helpers and commands: Linux include/uapi/linux/bpf.h.
 *          CAP_BPF and CAP_PERFMON: Linux v5.8 ("bpf, capability: Introduce CAP_BPF").
 */
#include "kernel/confine.h"
#include "kernel/kernel.h"

#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "arch/arch.h"
#include "kernel/btf_blob.h"
#include "kernel/capabilities.h"
#include "kernel/insn.h"
#include "kernel/btf.h"

#define LOCKDOWN_PATH "/sys/kernel/security/lockdown"

/* ---- probing functions: 0 or an errno value --------------------------------------------- */

static int prog_try_as(enum bpf_prog_type type, uint32_t attach_type, const struct bpf_insn *insns,
		       uint32_t ninsns, int *ret_fd)
{
	int fd = insns_load(type, attach_type, insns, ninsns, "");

	if (fd < 0)
		return errno;
	*ret_fd = fd;
	return 0;
}

static int prog_try(enum bpf_prog_type type, const struct bpf_insn *insns, uint32_t ninsns,
		    int *ret_fd)
{
	return prog_try_as(type, 0, insns, ninsns, ret_fd);
}

static int probe_bpf(void)
{
	struct bpf_insn insns[] = {INSNS_RETURN(0)};
	CLEANUP(fd) int fd = -1;

	return prog_try(BPF_PROG_TYPE_RAW_TRACEPOINT, insns, ARRAY_LEN(insns), &fd);
}

static int probe_btf(void)
{
	return access(BTF_KERNEL, R_OK) ? errno : 0;
}

static int probe_ringbuf(void)
{
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_RINGBUF,
			       .max_entries = (uint32_t)sysconf(_SC_PAGESIZE)};
	CLEANUP(fd) int fd = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));

	return fd < 0 ? errno : 0;
}

static int probe_task_storage(void)
{
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_TASK_STORAGE,
			       .key_size = 4,
			       .value_size = 8,
			       .map_flags = BPF_F_NO_PREALLOC};
	struct btf_blob b = {0};
	CLEANUP(fd) int btf = -1;
	CLEANUP(fd) int fd = -1;
	struct err *e;

	attr.btf_key_type_id = btf_blob_int(&b, "int", 4, true);
	attr.btf_value_type_id = btf_blob_int(&b, "u64", 8, false);
	e = btf_blob_load(&b, &btf);
	btf_blob_deinit(&b);
	if (e) {
		int sys = err_get_sys(e);

		err_destroy(e);
		return sys;
	}
	attr.btf_fd = (uint32_t)btf;
	fd = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
	return fd < 0 ? errno : 0;
}

static int probe_task_btf(void)
{
	struct bpf_insn insns[] = {
		INSN_CALL(BPF_FUNC_get_current_task_btf),
		INSN_MOV(R1, R0),
		INSN_CALL(BPF_FUNC_task_pt_regs),
		INSNS_RETURN(0),
	};
	CLEANUP(fd) int fd = -1;

	return prog_try(BPF_PROG_TYPE_RAW_TRACEPOINT, insns, ARRAY_LEN(insns), &fd);
}

/* The program never runs; a kernel that is locked down, or lacks the helper, refuses to load it. */
static int probe_write_user(void)
{
	struct bpf_insn insns[] = {
		INSN_MOV_IMM(R1, 0),  INSN_MOV(R2, R10),
		INSN_ADD_IMM(R2, -8), INSN_STORE_IMM(BPF_DW, R2, 0, 0),
		INSN_MOV_IMM(R3, 8),  INSN_CALL(BPF_FUNC_probe_write_user),
		INSNS_RETURN(0),
	};
	CLEANUP(fd) int fd = -1;

	return prog_try(BPF_PROG_TYPE_RAW_TRACEPOINT, insns, ARRAY_LEN(insns), &fd);
}

/* Links to a bad descriptor: a kernel with such links says EBADF. */
static int probe_perf_link(void)
{
	struct bpf_insn insns[] = {INSNS_RETURN(0)};
	union bpf_attr attr = {.link_create.target_fd = UINT32_MAX,
			       .link_create.attach_type = BPF_PERF_EVENT};
	CLEANUP(fd) int prog = -1;
	CLEANUP(fd) int link = -1;
	int sys = prog_try(BPF_PROG_TYPE_PERF_EVENT, insns, ARRAY_LEN(insns), &prog);

	if (sys)
		return sys;
	attr.link_create.prog_fd = (uint32_t)prog;
	link = sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
	return link >= 0 || errno == EBADF ? 0 : errno;
}

/* Links with an array that cannot be read: a kernel with such links says EFAULT. */
static int probe_uprobe_multi(void)
{
	struct bpf_insn insns[] = {INSNS_RETURN(0)};
	CLEANUP(fd) int prog = -1;
	CLEANUP(fd) int link = -1;
	int sys = prog_try_as(BPF_PROG_TYPE_KPROBE, ATTACH_UPROBE_MULTI, insns, ARRAY_LEN(insns),
			      &prog);

	if (sys)
		return sys;
	link = uprobe_multi_try(prog, "/proc/self/exe", 0);
	return link >= 0 || errno == EFAULT ? 0 : errno;
}

/* A kernel that turns a 5-byte nop into a call has a system call for it, which says ENXIO here. */
static int probe_uprobe_nop5(void)
{
	return arch.nr_uprobe && syscall(arch.nr_uprobe) < 0 && errno == ENXIO ? 0 : ENOSYS;
}

struct tgid_test {
	int prog, sys;
};

/*
 * Links with the id of a thread that is not the first of its process: ESRCH if only processes
 * count.
 */
static void *tgid_thread(void *arg)
{
	struct tgid_test *t = arg;
	CLEANUP(fd) int link = uprobe_multi_try(t->prog, "/proc/self/exe", gettid());

	t->sys = link < 0 && errno == ESRCH ? 0 : EINVAL;
	return NULL;
}

static int probe_uprobe_tgid(void)
{
	struct bpf_insn insns[] = {INSNS_RETURN(0)};
	CLEANUP(fd) int prog = -1;
	struct tgid_test t;
	pthread_t thread;
	int sys = prog_try_as(BPF_PROG_TYPE_KPROBE, ATTACH_UPROBE_MULTI, insns, ARRAY_LEN(insns),
			      &prog);

	if (sys)
		return sys;
	t = (struct tgid_test){.prog = prog};
	sys = pthread_create(&thread, NULL, tgid_thread, &t);
	if (sys)
		return sys;
	(void)pthread_join(thread, NULL); /* cannot fail for a thread of ours */
	return t.sys;
}

static int probe_kprobe(void)
{
	return access(KPROBE_PMU "/type", R_OK) ? errno : 0;
}

/* A kernel with such links says EFAULT, as with those of uprobes. */
static int probe_kprobe_multi(void)
{
	struct bpf_insn insns[] = {INSNS_RETURN(0)};
	union bpf_attr attr = {.link_create.attach_type = ATTACH_KPROBE_MULTI,
			       .link_create.kprobe_multi = {.cnt = 1, .addrs = 1}};
	CLEANUP(fd) int prog = -1;
	CLEANUP(fd) int link = -1;
	int sys = prog_try_as(BPF_PROG_TYPE_KPROBE, ATTACH_KPROBE_MULTI, insns, ARRAY_LEN(insns),
			      &prog);

	if (sys)
		return sys;
	attr.link_create.prog_fd = (uint32_t)prog;
	link = sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
	return link >= 0 || errno == EFAULT ? 0 : errno;
}

/* The kernel has this function for tests of such programs. The program is not attached. */
static int probe_fentry(void)
{
	static const char func[] = "bpf_fentry_test1";
	struct bpf_insn insns[] = {INSNS_RETURN(0)};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_TRACING,
		.expected_attach_type = BPF_TRACE_FENTRY,
		.insns = (uint64_t)(uintptr_t)insns,
		.insn_cnt = ARRAY_LEN(insns),
		.license = (uint64_t)(uintptr_t) "Dual MIT/GPL",
	};
	struct btf_file *btf = NULL;
	struct err *e = btf_file_open(BTF_KERNEL, NULL, &btf);
	CLEANUP(fd) int fd = -1;

	if (!e)
		attr.attach_btf_id = btf_file_find_symbol(btf, func, strlen(func));
	btf_file_close(btf);
	err_destroy(e);
	if (!attr.attach_btf_id)
		return ENOENT;
	fd = sys_bpf_load(&attr, sizeof(attr));
	return fd < 0 ? errno : 0;
}

/* the BTF id of bpf_rdonly_cast(), as long as the kernel has FEAT_READ_CAST */
static uint32_t read_cast_id;

/*
 * Reads an odd address through the function. Linux v6.17 ("bpf: allow void* cast using
 * bpf_rdonly_cast()"); before, the function wants the id of a type, of whose members it reads.
 */
static int probe_read_cast(void)
{
	struct btf_file *f = NULL;
	CLEANUP(fd) int fd = -1;
	uint32_t id = 0;
	struct err *e =
		btf_file_open_for(BTF_KERNEL, 1u << BTF_KIND_FUNC, "bpf_rdonly_cast", &f, &id);
	struct bpf_insn insns[] = {
		INSN_LOAD(BPF_DW, R1, R1, 0), INSN_MOV_IMM(R2, 0), INSN_CALL_KERNEL(id),
		INSN_LOAD(BPF_DW, R0, R0, 1), INSNS_RETURN(0),
	};

	err_destroy(e);
	btf_file_close(f);
	if (!id)
		return ENOENT;
	read_cast_id = id;
	return prog_try(BPF_PROG_TYPE_RAW_TRACEPOINT, insns, ARRAY_LEN(insns), &fd);
}

static int probe_test_run(void)
{
	struct bpf_insn insns[] = {INSNS_RETURN(0)};
	CLEANUP(fd) int prog = -1;
	int sys = prog_try(BPF_PROG_TYPE_RAW_TRACEPOINT, insns, ARRAY_LEN(insns), &prog);
	uint32_t value;

	return sys ? sys : prog_ask(prog, 0, &value);
}

/*
 * A tail call from a function, of which the kernel wants to know the type: the kernel needs a
 * compiler for this processor that can do it.
 */
static int probe_tail_call(void)
{
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_PROG_ARRAY,
			       .key_size = 4,
			       .value_size = 4,
			       .max_entries = 1};
	CLEANUP(fd) int map = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
	CLEANUP(fd) int types = -1;
	CLEANUP(fd) int fd = -1;
	struct bpf_insn insns[] = {
		INSN_CALL_FUNC(2),  INSNS_RETURN(0),	 INSN_IMM64_LOW(R2, BPF_PSEUDO_MAP_FD, map),
		INSN_IMM64_HIGH(0), INSN_MOV_IMM(R3, 0), INSN_CALL(BPF_FUNC_tail_call),
		INSNS_RETURN(0),
	};
	struct bpf_func_info funcs[2] = {{.insn_off = 0}, {.insn_off = 3}};
	struct btf_blob b = {0};
	uint32_t proto;
	struct err *e;

	if (map < 0)
		return errno;
	proto = btf_blob_proto(&b, btf_blob_int(&b, "u64", 8, false), NULL, 0);
	funcs[0].type_id = btf_blob_func(&b, "entry", proto, true);
	funcs[1].type_id = btf_blob_func(&b, "jump", proto, false);
	e = btf_blob_load(&b, &types);
	btf_blob_deinit(&b);
	if (e) {
		int sys = err_get_sys(e);

		err_destroy(e);
		return sys;
	}
	attr = (union bpf_attr){.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
				.insns = (uint64_t)(uintptr_t)insns,
				.insn_cnt = ARRAY_LEN(insns),
				.license = (uint64_t)(uintptr_t) "GPL",
				.prog_btf_fd = (uint32_t)types,
				.func_info = (uint64_t)(uintptr_t)funcs,
				.func_info_rec_size = sizeof(funcs[0]),
				.func_info_cnt = ARRAY_LEN(funcs)};
	fd = sys_bpf_load(&attr, sizeof(attr));
	return fd < 0 ? errno : 0;
}

/*
 * Each held process tries hlt itself (target/evaltime.c), which costs less than a process made for
 * that; it is a feature here so that tests can force it absent.
 */
static int probe_hlt(void)
{
	return 0;
}

/* ---- the table -------------------------------------------------------------------------- */

/* clang-format off */
static const struct {
	const char *name;
	int (*probe)(void); /* 0, or why not: an errno value */
} probes[FEAT_NFEATURES] = {
	[FEAT_BPF]	    = {"BPF",	       probe_bpf},
	[FEAT_BTF]	    = {"BTF",	       probe_btf},
	[FEAT_RINGBUF]	    = {"RINGBUF",      probe_ringbuf},
	[FEAT_TASK_STORAGE] = {"TASK_STORAGE", probe_task_storage},
	[FEAT_TASK_BTF]	    = {"TASK_BTF",     probe_task_btf},
	[FEAT_WRITE_USER]   = {"WRITE_USER",   probe_write_user},
	[FEAT_PERF_LINK]    = {"PERF_LINK",    probe_perf_link},
	[FEAT_UPROBE_MULTI] = {"UPROBE_MULTI", probe_uprobe_multi},
	[FEAT_UPROBE_TGID]  = {"UPROBE_TGID",  probe_uprobe_tgid},
	[FEAT_UPROBE_NOP5]  = {"UPROBE_NOP5",  probe_uprobe_nop5},
	[FEAT_KPROBE]	    = {"KPROBE",       probe_kprobe},
	[FEAT_KPROBE_MULTI] = {"KPROBE_MULTI", probe_kprobe_multi},
	[FEAT_FENTRY]	    = {"FENTRY",       probe_fentry},
	[FEAT_READ_CAST]    = {"READ_CAST",    probe_read_cast},
	[FEAT_TEST_RUN]	    = {"TEST_RUN",     probe_test_run},
	[FEAT_TAIL_CALL]    = {"TAIL_CALL",    probe_tail_call},
	[FEAT_HLT]	    = {"HLT",	       probe_hlt},
};
/* clang-format on */

/* The answers hold for the process: neither the kernel nor our privileges change while we run. */
static struct {
	bool is_asked, is_absent;
	int sys;
} answers[FEAT_NFEATURES];
/* also held while the kernel is asked */
static pthread_mutex_t answers_lock = PTHREAD_MUTEX_INITIALIZER;

static bool env_has(const char *list, const char *name)
{
	size_t len = strlen(name);

	while (list && *list) {
		const char *end = strchrnul(list, ',');

		if ((size_t)(end - list) == len && strncasecmp(list, name, len) == 0)
			return true;
		list = *end ? end + 1 : end;
	}
	return false;
}

/* To be called with answers_lock held. */
static void answer_make(enum feature f)
{
	if (answers[f].is_asked)
		return;
	answers[f].is_asked = true;
	if (env_has(trusted_getenv("FATHOM_NO_FEATURE"), probes[f].name))
		answers[f].is_absent = true;
	else
		answers[f].sys = probes[f].probe();
}

/* 0 when the kernel has the feature, else the errno of the refusal; ENOTSUP when forced absent. */
static int feat_ask(enum feature f)
{
	int sys;

	(void)pthread_mutex_lock(&answers_lock);
	answer_make(f);
	sys = answers[f].is_absent ? ENOTSUP : answers[f].sys;
	(void)pthread_mutex_unlock(&answers_lock);
	return sys;
}

bool feat_has(enum feature f)
{
	return feat_ask(f) == 0;
}

uint32_t feat_read_cast(void)
{
	return feat_has(FEAT_READ_CAST) ? read_cast_id : 0;
}

const char *feat_what(enum feature f)
{
	static const char *const what[FEAT_NFEATURES] = {
#define FEAT(name, text) [FEAT_##name] = text,
#include "kernel/features.def"
#undef FEAT
	};

	return what[f];
}

struct err *feat_explain(enum feature f, struct err *e)
{
	int sys = e ? feat_ask(f) : 0;

	if (sys != EINVAL && sys != ENOTSUP && sys != EOPNOTSUPP && sys != ENOSYS)
		return e;
	err_destroy(e);
	return err_hint(err_new("this kernel lacks %s", feat_what(f)),
			"Linux 6.1 or newer is needed");
}

void feat_force_absent(enum feature f, bool absent)
{
	(void)pthread_mutex_lock(&answers_lock);
	answer_make(f);
	answers[f].is_absent = absent;
	(void)pthread_mutex_unlock(&answers_lock);
}

/* ---- kernel_check ----------------------------------------------------------------------- */

bool kernel_has_cap(unsigned int cap)
{
	struct capability_sets sets;

	if (!capabilities_read(&sets))
		return true; /* the capabilities are unknown: the kernel will decide */
	return ((capabilities_are_held() ? sets.permitted : sets.effective) &
		capability_bit(cap)) != 0;
}

static bool lockdown_is(const char *level)
{
	CLEANUP(file) FILE *f = fopen(LOCKDOWN_PATH, "re");
	char line[128] = "", want[32];

	(void)snprintf(want, sizeof(want), "[%s]", level);
	return f && fgets(line, sizeof(line), f) && strstr(line, want);
}

static struct err *bpf_refused(int sys)
{
	struct err *e = confined_err("bpf(2)", sys);

	if (e)
		return e;
	if (sys == ENOSYS)
		return err_hint(err_new("this kernel has no bpf(2)"),
				"it must be built with CONFIG_BPF_SYSCALL");
	if (sys == EPERM || sys == EACCES) {
		e = err_new("the kernel refuses BPF programs although the capabilities are there");
		return err_hint(e, "a security module forbids bpf(2), or a container's manager: "
				   "run on the host, or allow it");
	}
	if (sys == ENOTSUP)
		return err_hint(err_new("this kernel lacks %s", feat_what(FEAT_BPF)),
				"Linux 6.1 or newer is needed");
	return err_sys(sys, "cannot load a BPF program");
}

static struct err *caps_check(void)
{
	bool is_admin = kernel_has_cap(CAP_SYS_ADMIN);
	const char *missing = NULL;

	if (!is_admin && !kernel_has_cap(CAP_BPF))
		missing = kernel_has_cap(CAP_PERFMON) ? "CAP_BPF" : "CAP_BPF and CAP_PERFMON";
	else if (!is_admin && !kernel_has_cap(CAP_PERFMON))
		missing = "CAP_PERFMON";
	if (!missing)
		return NULL;
	return err_hint(err_new("this process may not trace: it lacks %s", missing), "%s",
			confined_caps_hint());
}

struct err *kernel_check(void)
{
	struct err *e = caps_check();
	int sys;

	if (e)
		return e;
	sys = feat_ask(FEAT_BPF);
	if (sys)
		return bpf_refused(sys);
	if (lockdown_is("confidentiality"))
		return err_hint(
			err_new("kernel lockdown is at 'confidentiality': reading kernel memory is "
				"forbidden"),
			"boot with lockdown=integrity or without lockdown");
	if (!feat_has(FEAT_BTF))
		return err_hint(
			err_new("this kernel lacks %s", feat_what(FEAT_BTF)),
			"it must be built with CONFIG_DEBUG_INFO_BTF, and /sys be mounted; a "
			"container gets it by -v /sys/kernel/btf:/sys/kernel/btf:ro");
	sys = feat_ask(FEAT_RINGBUF);
	if (sys)
		return err_hint(err_new("this kernel lacks %s", feat_what(FEAT_RINGBUF)),
				sys == ENOMEM
					? "the memory limit of this control group may be too low"
					: "Linux 6.1 or newer is needed");
	return NULL;
}
