/* Programs that tell when processes change their code. */
#include "bpf/follow.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>

#include "base/vec.h"
#include "arch/arch.h"
#include "keeper/keeper.h"
#include "bpf/engine.h"

#define RING_SIZE 65536u
#define FLAG_BORN (1u << 7) /* a child that has not run yet */

/* Stack of the programs. */
enum {
	STACK_PID = -4,
	STACK_STATE = -8,
	STACK_VALUE = -16, /* where the struct herd_member is that was found */
	STACK_WORD = -24,
	STACK_STRUCT = -32,
	STACK_NEW = -48, /* struct herd_member */
};

struct follow {
	struct rt_pidns ns; /* whose numbers processes have */
	/* of group_leader and start_boottime in struct task_struct */
	uint32_t leader_off, start_off;
	int64_t boot_offset;			  /* proc_boot_offset() */
	int procs_fd, ring_fd;			  /* process id -> struct herd_member; events */
	int exec_fd, linker_fd, fork_fd, born_fd; /* programs */
	int exec_link, fork_link, born_link;
	struct ring_buffer *ring;
	VEC(struct follow_event) events; /* read, not given out yet */
};

/* ---- maps ----------------------------------------------------------------------------------- */

static struct err *map_make(uint32_t type, const char *name, uint32_t value_size, uint32_t n,
			    int *ret_fd)
{
	union bpf_attr attr = {.map_type = type,
			       .key_size = value_size ? 4 : 0,
			       .value_size = value_size,
			       .max_entries = n};
	int fd;

	(void)snprintf(attr.map_name, sizeof(attr.map_name), "%s", name);
	fd = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
	if (fd < 0)
		return err_sys(errno, "cannot create the BPF map '%s'", name);
	*ret_fd = fd;
	return NULL;
}

struct err *follow_add(struct follow *f, const struct proc_id *id, uint32_t flags)
{
	uint32_t key = (uint32_t)id->pid;
	struct herd_member value = {flags, key, id->start};
	union bpf_attr attr = {
		.map_fd = (uint32_t)f->procs_fd,
		.key = (uint64_t)(uintptr_t)&key,
		.value = (uint64_t)(uintptr_t)&value,
	};

	if (sys_bpf(BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)))
		return err_sys(errno, "cannot follow process %d", (int)id->pid);
	return NULL;
}

void follow_leave(const struct follow *f, pid_t pid)
{
	uint32_t key = (uint32_t)pid;
	union bpf_attr attr = {.map_fd = (uint32_t)f->procs_fd, .key = (uint64_t)(uintptr_t)&key};

	(void)sys_bpf(BPF_MAP_DELETE_ELEM, &attr, sizeof(attr)); /* it is there */
}

/* ---- programs ------------------------------------------------------------------------------- */

typedef VEC(struct bpf_insn) insn_vec;

static void emit(insn_vec *v, uint8_t code, int dst, int src, int off, int32_t imm)
{
	vec_push(v, (struct bpf_insn){.code = code,
				      .dst_reg = (uint8_t)(dst & 15),
				      .src_reg = (uint8_t)(src & 15),
				      .off = (int16_t)off,
				      .imm = imm});
}

static void emit_mov(insn_vec *v, int dst, int src)
{
	emit(v, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

static void emit_imm(insn_vec *v, int dst, int32_t imm)
{
	emit(v, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm);
}

static void emit_alu(insn_vec *v, int op, int dst, int32_t imm)
{
	emit(v, (uint8_t)(BPF_ALU64 | BPF_K | op), dst, 0, 0, imm);
}

static void emit_call(insn_vec *v, int helper)
{
	emit(v, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

static void emit_map(insn_vec *v, int dst, int fd)
{
	emit(v, BPF_LD | BPF_DW | BPF_IMM, dst, BPF_PSEUDO_MAP_FD, 0, fd);
	emit(v, 0, 0, 0, 0, 0);
}

static void emit_return(insn_vec *v)
{
	emit_imm(v, BPF_REG_0, 0);
	emit(v, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* r0 = 0: return. */
static void emit_return_if_none(insn_vec *v)
{
	emit(v, BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, 2, 0);
	emit_return(v);
}

/* r0 = the word of size bytes at r0 + off; what cannot be read is 0 */
static void emit_read(insn_vec *v, uint32_t off, int size)
{
	emit_mov(v, BPF_REG_3, BPF_REG_0);
	emit_alu(v, BPF_ADD, BPF_REG_3, (int32_t)off);
	emit_imm(v, BPF_REG_2, size);
	emit_mov(v, BPF_REG_1, BPF_REG_10);
	emit_alu(v, BPF_ADD, BPF_REG_1, STACK_WORD);
	emit_call(v, BPF_FUNC_probe_read_kernel);
	emit(v, (uint8_t)(BPF_LDX | BPF_MEM | (size == 4 ? BPF_W : BPF_DW)), BPF_REG_0, BPF_REG_10,
	     STACK_WORD, 0);
}

/* Fills in the jump at insn, which goes to what comes next. */
static void emit_land(insn_vec *v, uint32_t insn)
{
	v->data[insn].off = (int16_t)(v->len - insn - 1);
}

/*
 * r0 = the process of the task at r0, in the namespace whose numbers we have; 0: it is not in there
 */
static void emit_number(insn_vec *v, const struct rt_pidns *ns)
{
	uint32_t number = ns->pid_numbers + ns->level * RT_UPID_SIZE, is_deep, is_ours, end;

	emit_read(v, ns->task_leader, 8);
	emit_read(v, ns->task_pid, 8);
	emit(v, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, BPF_REG_0, STACK_STRUCT, 0);
	emit_read(v, ns->pid_level, 4);
	is_deep = v->len;
	emit(v, BPF_JMP | BPF_JLT | BPF_K, BPF_REG_0, 0, 0, (int32_t)ns->level);
	emit(v, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_10, STACK_STRUCT, 0);
	emit_read(v, number + 8, 8); /* struct upid: number, namespace */
	emit(v, BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, 0, 0, (int32_t)ns->ns);
	emit(v, 0, 0, 0, 0, (int32_t)(ns->ns >> 32));
	is_ours = v->len;
	emit(v, BPF_JMP | BPF_JNE | BPF_X, BPF_REG_0, BPF_REG_1, 0, 0);
	emit(v, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_10, STACK_STRUCT, 0);
	emit_read(v, number, 4);
	end = v->len;
	emit(v, BPF_JMP | BPF_JA, 0, 0, 0, 0);
	emit_land(v, is_deep);
	emit_land(v, is_ours);
	emit_imm(v, BPF_REG_0, 0);
	emit_land(v, end);
}

/* r0 = the process that runs */
static void emit_own_number(insn_vec *v, const struct rt_pidns *ns)
{
	if (ns->level) {
		emit_call(v, BPF_FUNC_get_current_task);
		emit_number(v, ns);
		return;
	}
	emit_call(v, BPF_FUNC_get_current_pid_tgid);
	emit_alu(v, BPF_RSH, BPF_REG_0, 32);
}

/* r0 = when the task at r0 began, in ticks */
static void emit_start(insn_vec *v, const struct follow *f)
{
	emit_read(v, f->start_off, 8);
	emit(v, BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, 0, 0, (int32_t)f->boot_offset);
	emit(v, 0, 0, 0, 0, (int32_t)(f->boot_offset >> 32));
	emit(v, BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_0, BPF_REG_1, 0, 0);
	emit_alu(v, BPF_DIV, BPF_REG_0, PROC_TICK_NS);
}

/* dst = a field of the struct herd_member that was found */
static void emit_known(insn_vec *v, int size, int dst, size_t off)
{
	emit(v, BPF_LDX | BPF_MEM | BPF_DW, dst, BPF_REG_10, STACK_VALUE, 0);
	emit(v, (uint8_t)(BPF_LDX | BPF_MEM | size), dst, dst, (int)off, 0);
}

/* Returns for a process that has the number of one that has ended, which is forgotten. */
static void emit_check_same(insn_vec *v, const struct follow *f)
{
	uint32_t is_same;

	emit_call(v, BPF_FUNC_get_current_task);
	emit_read(v, f->leader_off, 8);
	emit_start(v, f);
	emit_known(v, BPF_DW, BPF_REG_1, offsetof(struct herd_member, start));
	is_same = v->len;
	emit(v, BPF_JMP | BPF_JEQ | BPF_X, BPF_REG_0, BPF_REG_1, 0, 0);
	emit_map(v, BPF_REG_1, f->procs_fd);
	emit_mov(v, BPF_REG_2, BPF_REG_10);
	emit_alu(v, BPF_ADD, BPF_REG_2, STACK_PID);
	emit_call(v, BPF_FUNC_map_delete_elem);
	emit_return(v);
	emit_land(v, is_same);
}

/* r6 = context, r7 = process id, r8 = its flags; returns for a process that nobody has added. */
static void emit_find_process(insn_vec *v, const struct follow *f)
{
	emit_mov(v, BPF_REG_6, BPF_REG_1);
	emit_own_number(v, &f->ns);
	emit_mov(v, BPF_REG_7, BPF_REG_0);
	emit(v, BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, BPF_REG_7, STACK_PID, 0);
	emit_map(v, BPF_REG_1, f->procs_fd);
	emit_mov(v, BPF_REG_2, BPF_REG_10);
	emit_alu(v, BPF_ADD, BPF_REG_2, STACK_PID);
	emit_call(v, BPF_FUNC_map_lookup_elem);
	emit_return_if_none(v);
	emit(v, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, BPF_REG_0, STACK_VALUE, 0);
	emit(v, BPF_LDX | BPF_MEM | BPF_W, BPF_REG_8, BPF_REG_0,
	     offsetof(struct herd_member, flags), 0);
}

/* Returns when none of the flags is set in r8. */
static void emit_check_flags(insn_vec *v, uint32_t flags)
{
	emit(v, BPF_JMP | BPF_JSET | BPF_K, BPF_REG_8, 0, 2, (int32_t)flags);
	emit_return(v);
}

/* The cookie says where the linker's state is; returns unless that is 0, or cannot be read. */
static void emit_check_state(insn_vec *v)
{
	emit_mov(v, BPF_REG_1, BPF_REG_6);
	emit_call(v, BPF_FUNC_get_attach_cookie);
	emit(v, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 10, 0);
	emit(v, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_3, BPF_REG_6, (int)arch.pc, 0);
	emit(v, BPF_ALU64 | BPF_ADD | BPF_X, BPF_REG_3, BPF_REG_0, 0, 0);
	emit_imm(v, BPF_REG_2, 4);
	emit_mov(v, BPF_REG_1, BPF_REG_10);
	emit_alu(v, BPF_ADD, BPF_REG_1, STACK_STATE);
	emit_call(v, BPF_FUNC_probe_read_user); /* what cannot be read is zeros */
	emit(v, BPF_LDX | BPF_MEM | BPF_W, BPF_REG_0, BPF_REG_10, STACK_STATE, 0);
	emit(v, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 2, 0);
	emit_return(v);
}

/*
 * r9 = the event, with room for what is still to be told; without room it is as if nothing had
 * happened.
 */
static void emit_event(insn_vec *v, const struct follow *f, enum follow_kind kind)
{
	emit_map(v, BPF_REG_1, f->ring_fd);
	emit_imm(v, BPF_REG_2, sizeof(struct follow_event));
	emit_imm(v, BPF_REG_3, 0);
	emit_call(v, BPF_FUNC_ringbuf_reserve);
	emit_return_if_none(v);
	emit_mov(v, BPF_REG_9, BPF_REG_0);
	emit(v, BPF_STX | BPF_MEM | BPF_W, BPF_REG_9, BPF_REG_7, offsetof(struct follow_event, pid),
	     0);
	emit(v, BPF_ST | BPF_MEM | BPF_W, BPF_REG_9, 0, offsetof(struct follow_event, kind), kind);
	emit_imm(v, BPF_REG_0, 0);
	if (kind == FOLLOW_EXEC) { /* the old number is one of the first namespace, in any case */
		emit_call(v, BPF_FUNC_get_current_pid_tgid);
		emit_alu(v, BPF_RSH, BPF_REG_0, 32);
		emit(v, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_6, 8, 0);
		emit(v, BPF_ALU64 | BPF_SUB | BPF_X, BPF_REG_0, BPF_REG_1, 0, 0);
	}
	emit(v, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_9, BPF_REG_0,
	     offsetof(struct follow_event, is_other), 0);
	emit_known(v, BPF_W, BPF_REG_0, offsetof(struct herd_member, root));
	emit(v, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_9, BPF_REG_0,
	     offsetof(struct follow_event, root), 0);
	emit_known(v, BPF_DW, BPF_REG_0, offsetof(struct herd_member, start));
	emit(v, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_9, BPF_REG_0,
	     offsetof(struct follow_event, start), 0);
}

static void emit_tell(insn_vec *v)
{
	emit_mov(v, BPF_REG_1, BPF_REG_9);
	emit_imm(v, BPF_REG_2, BPF_RB_FORCE_WAKEUP);
	emit_call(v, BPF_FUNC_ringbuf_submit);
	emit_return(v);
}

/* The signal goes first: the reader's SIGCONT must come behind it. */
static void emit_stop_and_tell(insn_vec *v)
{
	emit(v, BPF_JMP | BPF_JSET | BPF_K, BPF_REG_8, 0, 1, FOLLOW_STOPS);
	emit(v, BPF_JMP | BPF_JA, 0, 0, 2, 0);
	emit_imm(v, BPF_REG_1, SIGSTOP);
	emit_call(v, BPF_FUNC_send_signal);
	emit_tell(v);
}

/* A process has executed, or its libraries have changed. */
static void emit_code_change(insn_vec *v, const struct follow *f, enum follow_kind kind)
{
	emit_find_process(v, f);
	if (kind == FOLLOW_MAPPED)
		emit_check_state(v);
	emit_check_same(v, f);
	emit_event(v, f, kind);
	emit_stop_and_tell(v);
}

/* In the parent, before the child can run: the child is added, unless it is a thread. */
static void emit_fork(insn_vec *v, const struct follow *f, uint32_t tgid_off)
{
	emit_find_process(v, f);
	emit_check_flags(v, FOLLOW_FORKS);
	emit_check_same(v, f);
	emit(v, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_6, 8, 0);
	if (f->ns.level)
		emit_number(v, &f->ns);
	else
		emit_read(v, tgid_off, 4);
	emit(v, BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, BPF_REG_0, STACK_PID, 0);
	emit(v, BPF_JMP | BPF_JNE | BPF_X, BPF_REG_0, BPF_REG_7, 2, 0);
	emit_return(v);
	emit_alu(v, BPF_OR, BPF_REG_8, FOLLOW_STOPS | FOLLOW_OUTLIVES | FLAG_BORN);
	emit(v, BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, BPF_REG_8,
	     STACK_NEW + (int)offsetof(struct herd_member, flags), 0);
	emit_known(v, BPF_W, BPF_REG_0, offsetof(struct herd_member, root));
	emit(v, BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, BPF_REG_0,
	     STACK_NEW + (int)offsetof(struct herd_member, root), 0);
	emit(v, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_6, 8, 0);
	emit_start(v, f);
	emit(v, BPF_STX | BPF_MEM | BPF_DW, BPF_REG_10, BPF_REG_0,
	     STACK_NEW + (int)offsetof(struct herd_member, start), 0);
	emit_map(v, BPF_REG_1, f->procs_fd);
	emit_mov(v, BPF_REG_2, BPF_REG_10);
	emit_alu(v, BPF_ADD, BPF_REG_2, STACK_PID);
	emit_mov(v, BPF_REG_3, BPF_REG_10);
	emit_alu(v, BPF_ADD, BPF_REG_3, STACK_NEW);
	emit_imm(v, BPF_REG_4, BPF_ANY);
	emit_call(v, BPF_FUNC_map_update_elem);
	emit_return_if_none(v);
	emit_event(v, f, FOLLOW_FULL);
	emit_tell(v);
}

/* In the child: its first return from the kernel, with the 0 that fork() gives it. */
static void emit_born(insn_vec *v, const struct follow *f)
{
	emit(v, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_1, 8, 0);
	emit(v, BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 2, 0);
	emit_return(v);
	emit_find_process(v, f);
	emit_check_flags(v, FLAG_BORN);
	emit_check_same(v, f);
	emit_event(v, f, FOLLOW_CHILD);
	emit_alu(v, BPF_AND, BPF_REG_8, (int32_t)~FLAG_BORN);
	emit(v, BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_10, STACK_VALUE, 0);
	emit(v, BPF_STX | BPF_MEM | BPF_W, BPF_REG_1, BPF_REG_8, 0, 0);
	emit_stop_and_tell(v);
}

/* v: its code, which is freed. */
static struct err *prog_load(insn_vec *v, enum place_kind kind, int *ret_fd)
{
	union bpf_attr attr = {
		.prog_type = place_prog_type(kind),
		.expected_attach_type = place_attach_type(kind),
		.license = (uint64_t)(uintptr_t) "Dual MIT/GPL",
		.prog_name = "fathom_follow",
	};
	int fd;

	attr.insns = (uint64_t)(uintptr_t)v->data;
	attr.insn_cnt = v->len;
	fd = sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
	vec_deinit(v);
	if (fd < 0)
		return err_sys(errno, "the kernel refused the program that follows processes");
	*ret_fd = fd;
	return NULL;
}

/* ---- links ---------------------------------------------------------------------------------- */

static struct err *follow_execs(struct follow *f)
{
	insn_vec v = {0};
	struct err *e;

	emit_code_change(&v, f, FOLLOW_EXEC);
	e = prog_load(&v, PLACE_SYS_ENTER, &f->exec_fd);
	return e ? e : attach_raw_tracepoint(f->exec_fd, "sched_process_exec", &f->exec_link);
}

struct err *follow_forks(struct follow *f)
{
	insn_vec fork = {0}, born = {0};
	uint32_t tgid_off = 0;
	struct err *e = kfield_offset("task_struct", "tgid", &tgid_off);

	if (e)
		return e;
	emit_fork(&fork, f, tgid_off);
	emit_born(&born, f);
	e = prog_load(&fork, PLACE_SYS_ENTER, &f->fork_fd);
	if (!e)
		e = prog_load(&born, PLACE_SYS_EXIT, &f->born_fd);
	else
		vec_deinit(&born);
	if (!e)
		e = attach_raw_tracepoint(f->born_fd, "sys_exit", &f->born_link);
	return e ? e : attach_raw_tracepoint(f->fork_fd, "sched_process_fork", &f->fork_link);
}

static struct err *load_linker(struct follow *f)
{
	insn_vec v = {0};

	if (f->linker_fd >= 0)
		return NULL;
	emit_code_change(&v, f, FOLLOW_MAPPED);
	return prog_load(&v, PLACE_UPROBE, &f->linker_fd);
}

struct err *follow_linker(struct follow *f, struct keeper *k, pid_t pid, int file_fd, uint64_t off,
			  int64_t state)
{
	uint64_t cookie = (uint64_t)state;
	const struct uprobe_sites site = {&off, &cookie, 1};
	struct err *e = load_linker(f);

	if (e)
		return e;
	if (!feat_has(FEAT_UPROBE_MULTI))
		return keeper_uprobe(k, f->linker_fd, file_fd, pid, off, cookie);
	return keeper_uprobe_multi(k, f->linker_fd, file_fd, feat_has(FEAT_UPROBE_TGID) ? pid : 0,
				   &site);
}

/* ---- reading -------------------------------------------------------------------------------- */

static int add_event(void *ctx, void *data, size_t size)
{
	struct follow *f = ctx;

	if (size >= sizeof(struct follow_event))
		vec_push(&f->events, *(const struct follow_event *)data);
	return 0;
}

bool follow_read(struct follow *f, struct follow_event *ret)
{
	if (!f->events.len)
		(void)ring_buffer__consume(f->ring); /* add_event() refuses nothing */
	if (!f->events.len)
		return false;
	*ret = f->events.data[0];
	memmove(f->events.data, f->events.data + 1, --f->events.len * sizeof(*f->events.data));
	return true;
}

int follow_procs(const struct follow *f)
{
	return f->procs_fd;
}

int follow_fd(const struct follow *f)
{
	return f->ring_fd;
}

/* ---- beginning and end ---------------------------------------------------------------------- */

static struct err *ring_open(struct follow *f)
{
	f->ring = ring_buffer__new(f->ring_fd, add_event, f, NULL);
	return f->ring ? NULL : err_sys(errno, "cannot map the events of processes");
}

struct err *follow_create(uint32_t max, const struct rt_pidns *ns, struct follow **ret_follow)
{
	struct follow *f = xcalloc(1, sizeof(*f));
	struct err *e;

	f->ns = *ns;
	f->boot_offset = proc_boot_offset();
	f->procs_fd = f->ring_fd = f->exec_fd = f->linker_fd = f->exec_link = -1;
	f->fork_fd = f->born_fd = f->fork_link = f->born_link = -1;
	e = kfield_offset("task_struct", "group_leader", &f->leader_off);
	if (!e)
		e = kfield_offset("task_struct", "start_boottime", &f->start_off);
	if (!e)
		e = map_make(BPF_MAP_TYPE_HASH, "followed", sizeof(struct herd_member), max,
			     &f->procs_fd);
	if (!e)
		e = map_make(BPF_MAP_TYPE_RINGBUF, "follow", 0, RING_SIZE, &f->ring_fd);
	if (!e)
		e = ring_open(f);
	if (!e)
		e = follow_execs(f);
	if (e) {
		follow_destroy(f);
		return e;
	}
	*ret_follow = f;
	return NULL;
}

static void fds_close(const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
}

void follow_destroy(struct follow *f)
{
	if (!f)
		return;
	if (f->procs_fd >= 0)
		herd_release(f->procs_fd);
	ring_buffer__free(f->ring);
	fds_close((const int[]){f->exec_link, f->fork_link, f->born_link, f->exec_fd, f->fork_fd,
				f->born_fd, f->linker_fd, f->procs_fd, f->ring_fd},
		  9);
	vec_deinit(&f->events);
	free(f);
}
