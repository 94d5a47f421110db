/* SPDX-License-Identifier: MIT */
/*
 * PID namespaces: which one is ours.
 *
 * The helpers of the kernel's side give numbers of the first namespace. In another one the number
 * is read from the task: struct pid has one for each level, from the first namespace down to the
 * task's own, each with the namespace's address. Our own level and address are asked for once, by a
 * program that runs here.
 */
#include "kernel/pidns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "kernel/insn.h"
#include "kernel/kernel.h"

#define FIRST_INO 0xeffffffcu /* Linux include/uapi/linux/nsfs.h, PID_NS_INIT_INO */
/* Linux include/uapi/linux/pidfd.h, PIDFD_GET_PID_NAMESPACE */
#define PIDFD_GET_NS _IO(0xff, 6)
/* Linux include/linux/pid.h, struct upid: the number, then the namespace */
#define UPID_NS 8

/* ---- which one ------------------------------------------------------------------------------ */

/*
 * Without /proc newer kernels tell through a pidfd; where neither does, it is the first one that is
 * assumed. *ret_ino: what identifies the namespace; 0: that is not known.
 */
static bool is_first(ino_t *ret_ino)
{
	CLEANUP(fd) int pidfd = -1, ns = -1;
	struct stat st;

	*ret_ino = 0;
	if (stat("/proc/self/ns/pid", &st) == 0) {
		*ret_ino = st.st_ino;
		return st.st_ino == FIRST_INO;
	}
	pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	ns = pidfd < 0 ? -1 : ioctl(pidfd, PIDFD_GET_NS, 0);
	return ns < 0 || fstat(ns, &st) != 0 || st.st_ino == FIRST_INO;
}

/* ---- what the kernel's side reads ----------------------------------------------------------- */

/* The size bytes at r3 go to the stack at off; what cannot be read is zeros. */
/* clang-format off */
#define INSNS_READ(size, at)                                                                       \
	INSN_MOV(R1, R10), INSN_ADD_IMM(R1, at), INSN_MOV_IMM(R2, size),                           \
	INSN_CALL(BPF_FUNC_probe_read_kernel)
/* clang-format on */

enum { AT_PID = -8, AT_LEVEL = -16, AT_NS = -24 };

/*
 * A program that returns, as its first argument says: our level, the lower, the upper half of our
 * namespace's address.
 */
static struct err *asker_load(const struct rt_pidns *ns, int *ret_fd)
{
	const struct bpf_insn insns[] = {
		INSN_LOAD(BPF_DW, R6, R1, 0),
		INSN_CALL(BPF_FUNC_get_current_task),
		INSN_MOV(R3, R0),
		INSN_ADD_IMM(R3, ns->task_pid),
		INSNS_READ(8, AT_PID),
		INSN_LOAD(BPF_DW, R3, R10, AT_PID),
		INSN_ADD_IMM(R3, ns->pid_level),
		INSNS_READ(4, AT_LEVEL),
		INSN_LOAD(BPF_W, R0, R10, AT_LEVEL),
		INSN_JMP_IMM(BPF_JNE, R6, 0, 1),
		INSN_EXIT,
		INSN_ALU_IMM(BPF_MUL, R0, RT_UPID_SIZE),
		INSN_LOAD(BPF_DW, R3, R10, AT_PID),
		INSN_ADD(R3, R0),
		INSN_ADD_IMM(R3, ns->pid_numbers + UPID_NS),
		INSNS_READ(8, AT_NS),
		INSN_LOAD(BPF_DW, R0, R10, AT_NS),
		INSN_JMP_IMM(BPF_JEQ, R6, 1, 1),
		INSN_ALU_IMM(BPF_RSH, R0, 32),
		INSN_MOV32(R0, R0),
		INSN_EXIT,
	};

	*ret_fd = insns_load(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, insns, ARRAY_LEN(insns),
			     "fathom_pidns");
	return *ret_fd < 0 ? err_sys(errno, "the kernel refused a program") : NULL;
}

static struct err *find_fields(struct rt_pidns *ns)
{
	const struct {
		const char *strct, *path;
		uint32_t *off;
	} fields[] = {
		{"task_struct", "group_leader", &ns->task_leader},
		{"task_struct", "thread_pid", &ns->task_pid},
		{"task_struct", "real_parent", &ns->task_parent},
		{"pid", "level", &ns->pid_level},
		{"pid", "numbers", &ns->pid_numbers},
	};
	struct err *e = NULL;

	for (size_t i = 0; i < ARRAY_LEN(fields) && !e; i++)
		e = kfield_offset(fields[i].strct, fields[i].path, fields[i].off);
	return e;
}

/* Asks the kernel about a namespace that is not the first one. */
static struct err *pidns_ask(struct rt_pidns *ret)
{
	struct rt_pidns ns = {0};
	CLEANUP(fd) int fd = -1;
	uint32_t low = 0, high = 0;
	int sys = 0;
	struct err *e = find_fields(&ns);

	if (!e)
		e = asker_load(&ns, &fd);
	if (!e && (sys = prog_ask(fd, 0, &ns.level)) == 0 && (sys = prog_ask(fd, 1, &low)) == 0)
		sys = prog_ask(fd, 2, &high);
	if (!e && sys)
		e = err_sys(sys, "the kernel refused to run a program");
	if (e)
		return err_wrap(e, "cannot find out the PID namespace of dtrace");
	ns.ns = (uint64_t)high << 32 | low;
	*ret = ns;
	return NULL;
}

struct err *pidns_find(struct rt_pidns *ret)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct rt_pidns known;
	static ino_t known_ino; /* of the namespace that `known` describes; 0: of none */
	struct err *e = NULL;
	ino_t ino;

	*ret = (struct rt_pidns){0};
	if (is_first(&ino))
		return NULL;
	(void)pthread_mutex_lock(&lock);
	if (!ino || ino != known_ino) {
		known_ino = 0;
		e = pidns_ask(&known);
		if (!e)
			known_ino = ino;
	}
	if (!e)
		*ret = known;
	(void)pthread_mutex_unlock(&lock);
	return e;
}
