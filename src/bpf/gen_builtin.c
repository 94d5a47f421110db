/* SPDX-License-Identifier: MIT */
/* Built-in variables: a table with one row each. */
#include "bpf/gen.h"

void gen_timestamp(struct gen *g)
{
	struct emitter *e = &g->e;
	uint32_t have = em_label(e);

	gen_mach_load(g, 8, R0, offsetof(struct rt_mach, timestamp));
	em_jmp_imm(e, BPF_JNE, R0, 0, have);
	em_helper(e, BPF_FUNC_ktime_get_ns);
	gen_mach_store(g, 8, offsetof(struct rt_mach, timestamp), R0);
	em_here(e, have);
}

#define BYTES(c) ((uint64_t)(c)*0x0101010101010101u)

/*
 * Zeroes the bytes of word behind its first NUL, if it has one; r4 is then not 0 (zero_bytes() in
 * rt/rt.h). Destroys r5.
 */
static void text_word_end(struct gen *g, int word)
{
	struct emitter *e = &g->e;

	em_imm(e, R5, BYTES(1));
	em_mov(e, R4, word);
	em_alu_reg(e, BPF_SUB, R4, R5);
	em_mov(e, R5, word);
	em_alu_imm(e, BPF_XOR, R5, -1);
	em_alu_reg(e, BPF_AND, R4, R5);
	em_imm(e, R5, BYTES(0x80));
	em_alu_reg(e, BPF_AND, R4, R5);
	em_mov(e, R5, R4);
	em_neg(e, R5);
	em_alu_reg(e, BPF_AND, R5, R4);
	em_alu_imm(e, BPF_RSH, R5, 7);
	em_alu_imm(e, BPF_SUB, R5, 1);
	em_alu_reg(e, BPF_AND, word, R5);
}

/*
 * The two words of the name are read from the task. The helper copies it with functions for texts
 * of any length, which takes 90 ns (Linux 6.18).
 */
static void comm_read(struct gen *g, uint32_t off)
{
	struct emitter *e = &g->e;
	int32_t comm = (int32_t)g->env->kfields->task_comm;
	uint32_t store = em_label(e), is_long = em_label(e);

	em_helper(e, HELPER_GET_CURRENT_TASK_BTF);
	em_load(e, 8, R1, R0, comm);
	em_load(e, 8, R2, R0, comm + 8);
	text_word_end(g, R1);
	em_jmp_imm(e, BPF_JEQ, R4, 0, is_long);
	em_imm(e, R2, 0);
	em_ja(e, store);
	em_here(e, is_long);
	text_word_end(g, R2);
	em_here(e, store);
	em_mov(e, R3, R2); /* stores at far offsets may use r2 */
	gen_mach_store(g, 8, off, R1);
	gen_mach_store(g, 8, off + 8, R3);
}

void gen_comm(struct gen *g, uint32_t off)
{
	if (g->env->kfields->task_comm % 8 == 0) {
		comm_read(g, off);
		return;
	}
	/* Linux 6.1 leaves the bytes after the name as they were. */
	em_store_imm(&g->e, 8, R9, (int32_t)off, 0);
	em_store_imm(&g->e, 8, R9, (int32_t)off + 8, 0);
	em_addr(&g->e, R1, R9, off);
	em_imm(&g->e, R2, 16);
	em_helper(&g->e, BPF_FUNC_get_current_comm);
}

/* b->arg: number of the argument */
static void emit_arg(struct gen *g, const struct builtin_gen *b)
{
	gen_mach_load(g, 8, R0, (uint32_t)offsetof(struct rt_mach, arg) + 8 * b->arg);
}

static void emit_mach_u32(struct gen *g, const struct builtin_gen *b)
{
	gen_mach_load(g, 4, R0, b->arg);
}

static void emit_errno(struct gen *g, const struct builtin_gen *b)
{
	gen_mach_load(g, 4, R0, b->arg);
	em_extend(&g->e, R0, 4, true);
}

static void emit_curthread(struct gen *g, const struct builtin_gen *b)
{
	em_helper(&g->e, BPF_FUNC_get_current_task);
}

static void emit_timestamp(struct gen *g, const struct builtin_gen *b)
{
	gen_timestamp(g);
}

static void emit_walltimestamp(struct gen *g, const struct builtin_gen *b)
{
	gen_timestamp(g);
	em_map_value(&g->e, R1, MAP_REF(MAP_CONTROL, 0), offsetof(struct rt_control, wall_offset));
	em_load(&g->e, 8, R1, R1, 0);
	em_alu_reg(&g->e, BPF_ADD, R0, R1);
}

void gen_read_kernel_u64(struct gen *g, uint32_t off)
{
	struct emitter *e = &g->e;

	em_mov(e, R3, R0);
	em_alu_imm(e, BPF_ADD, R3, (int32_t)off);
	em_imm(e, R2, 8);
	em_addr(e, R1, R10, (uint32_t)FRAME_TMP);
	em_helper(e, BPF_FUNC_probe_read_kernel);
	em_load(e, 8, R0, R10, FRAME_TMP);
}

static void emit_vtimestamp(struct gen *g, const struct builtin_gen *b)
{
	gen_vtimestamp(g);
}

void gen_pid_tgid(struct gen *g)
{
	if (g->env->pidns.level)
		gen_rt(g, "rt_pid_tgid");
	else
		em_helper(&g->e, BPF_FUNC_get_current_pid_tgid);
}

static void emit_pid(struct gen *g, const struct builtin_gen *b)
{
	gen_pid_tgid(g);
	em_alu_imm(&g->e, BPF_RSH, R0, 32);
}

static void emit_tid(struct gen *g, const struct builtin_gen *b)
{
	gen_pid_tgid(g);
	em_mov32(&g->e, R0, R0);
}

static void emit_uid(struct gen *g, const struct builtin_gen *b)
{
	em_helper(&g->e, BPF_FUNC_get_current_uid_gid);
	em_mov32(&g->e, R0, R0);
}

static void emit_gid(struct gen *g, const struct builtin_gen *b)
{
	em_helper(&g->e, BPF_FUNC_get_current_uid_gid);
	em_alu_imm(&g->e, BPF_RSH, R0, 32);
}

static void emit_ppid(struct gen *g, const struct builtin_gen *b)
{
	const struct kfields *kf = g->env->kfields;

	if (g->env->pidns.level) {
		gen_rt(g, "rt_ppid");
		return;
	}
	if (kf->task_real_parent == UINT32_MAX || kf->task_tgid == UINT32_MAX) {
		gen_fail(g, "ppid: this kernel's task fields are unknown");
		return;
	}
	em_helper(&g->e, BPF_FUNC_get_current_task);
	gen_read_kernel_u64(g, kf->task_real_parent);
	gen_read_kernel_u64(g, kf->task_tgid);
	em_mov32(&g->e, R0, R0);
}

static void emit_execname(struct gen *g, const struct builtin_gen *b)
{
	struct emitter *e = &g->e;
	uint32_t have = em_label(e);

	gen_mach_load(g, 4, R0, offsetof(struct rt_mach, has_comm));
	em_jmp_imm(e, BPF_JNE, R0, 0, have);
	gen_comm(g, offsetof(struct rt_mach, comm));
	em_store_imm(e, 4, R9, offsetof(struct rt_mach, has_comm), 1);
	em_here(e, have);
	gen_mach_load(g, 8, R0, offsetof(struct rt_mach, self));
	em_alu_imm(e, BPF_ADD, R0, offsetof(struct rt_mach, comm));
}

static void emit_name(struct gen *g, const struct builtin_gen *b)
{
	gen_mach_load(g, 4, R0, (uint32_t)offsetof(struct rt_mach, names) + 4 * b->arg);
	gen_mach_load(g, 8, R1, offsetof(struct rt_mach, strtab));
	em_alu_reg(&g->e, BPF_ADD, R0, R1);
}

/* probeprov in a session with probes whose provider's name ends with the process id. */
static void emit_provider(struct gen *g, const struct builtin_gen *b)
{
	gen_mach_load(g, 4, R2, (uint32_t)offsetof(struct rt_mach, names));
	gen_rt(g, "rt_provider");
}

static void emit_stack_var(struct gen *g, const struct builtin_gen *b)
{
	gen_stack_var(g, b->arg);
}

static void emit_lang(struct gen *g, const struct builtin_gen *b)
{
	gen_lang_var(g, b->arg);
}

static void emit_task_text(struct gen *g, const struct builtin_gen *b)
{
	gen_task_text(g, b->arg);
}

static void emit_zero(struct gen *g, const struct builtin_gen *b)
{
	em_imm(&g->e, R0, 0);
}

static void need_nothing(struct needs *n, const struct builtin_gen *b)
{
	(void)n, (void)b;
}

static void need_timestamp(struct needs *n, const struct builtin_gen *b)
{
	n->timestamp = true;
}

static void need_vtimestamp(struct needs *n, const struct builtin_gen *b)
{
	n->timestamp = n->tls = true;
}

static void need_epid(struct needs *n, const struct builtin_gen *b)
{
	n->epid = n->probe_idx = true;
}

static void need_probe(struct needs *n, const struct builtin_gen *b)
{
	n->probe = true;
}

static void need_scratch(struct needs *n, const struct builtin_gen *b)
{
	n->scratch = n->faults = true;
}

static void need_err(struct needs *n, const struct builtin_gen *b)
{
	n->err = true;
}

static void need_comm(struct needs *n, const struct builtin_gen *b)
{
	n->comm = true;
}

static void need_ctx(struct needs *n, const struct builtin_gen *b)
{
	n->ctx = true;
}

static void need_lang(struct needs *n, const struct builtin_gen *b)
{
	n->ctx = n->lang = true;
	need_scratch(n, b);
}

static void need_name(struct needs *n, const struct builtin_gen *b)
{
	n->names |= 1u << b->arg;
}

static void need_provider(struct needs *n, const struct builtin_gen *b)
{
	need_name(n, b);
	need_scratch(n, b);
}

static void need_arg(struct needs *n, const struct builtin_gen *b)
{
	n->args |= 1u << b->arg;
}

#define M(field) offsetof(struct rt_mach, field)
#define ARG(n)	 [DIF_VAR_ARG0 - DIF_VAR_CURTHREAD + (n)] = {emit_arg, false, (n), need_arg}
#define B(id)	 [DIF_VAR_##id - DIF_VAR_CURTHREAD]

static const struct builtin_gen builtins[] = {
	/* clang-format off */
	/* variable          code             clobbers  arg      needs */
	B(CURTHREAD)     = {emit_curthread,     true,  0,        need_nothing},
	B(TIMESTAMP)     = {emit_timestamp,     true,  0,        need_timestamp},
	B(VTIMESTAMP)    = {emit_vtimestamp,    true,  0,        need_vtimestamp},
	B(WALLTIMESTAMP) = {emit_walltimestamp, true,  0,        need_timestamp},
	B(IPL)           = {emit_zero,          false, 0,        need_nothing},
	B(EPID)          = {emit_mach_u32,      false, M(epid),  need_epid},
	B(ID)            = {emit_mach_u32,      false, M(probe), need_probe},
	ARG(0), ARG(1), ARG(2), ARG(3), ARG(4), ARG(5), ARG(6), ARG(7), ARG(8), ARG(9),
	B(STACKDEPTH)    = {emit_stack_var,     true,  DIF_VAR_STACKDEPTH,  need_ctx},
	B(CALLER)        = {emit_stack_var,     true,  DIF_VAR_CALLER,      need_ctx},
	B(USTACKDEPTH)   = {emit_stack_var,     true,  DIF_VAR_USTACKDEPTH, need_ctx},
	B(UCALLER)       = {emit_stack_var,     true,  DIF_VAR_UCALLER,     need_ctx},
	B(PROBEPROV)     = {emit_name,          false, 0,        need_name},
	B(PROBEMOD)      = {emit_name,          false, 1,        need_name},
	B(PROBEFUNC)     = {emit_name,          false, 2,        need_name},
	B(PROBENAME)     = {emit_name,          false, 3,        need_name},
	B(PID)           = {emit_pid,           true,  0,        need_nothing},
	B(TID)           = {emit_tid,           true,  0,        need_nothing},
	B(PPID)          = {emit_ppid,          true,  0,        need_nothing},
	B(UID)           = {emit_uid,           true,  0,        need_nothing},
	B(GID)           = {emit_gid,           true,  0,        need_nothing},
	B(EXECNAME)      = {emit_execname,      true,  0,        need_comm},
	B(ERRNO)         = {emit_errno,         false, M(err),   need_err},
	B(CPU)           = {emit_mach_u32,      false, M(cpu),   need_nothing},
	B(CWD)           = {emit_task_text,     true,  DIF_VAR_CWD,         need_scratch},
	B(ROOT)          = {emit_task_text,     true,  DIF_VAR_ROOT,        need_scratch},
	B(LFILE)         = {emit_lang,          true,  RT_LANG_FILE,        need_lang},
	B(LLINE)         = {emit_lang,          true,  RT_LANG_LINE,        need_lang},
	B(LFUNC)         = {emit_lang,          true,  RT_LANG_FUNC,        need_lang},
	B(EXECARGS)      = {emit_task_text,     true,  DIF_VAR_EXECARGS,    need_scratch},
	/* clang-format on */
};

const struct builtin_gen *builtin_gen_find(const struct layout *l, uint32_t id)
{
	static const struct builtin_gen provider = {emit_provider, true, 0, need_provider};
	uint32_t k = id - DIF_VAR_CURTHREAD;

	if (id == DIF_VAR_PROBEPROV && l->opts.has_pids)
		return &provider;
	if (id < DIF_VAR_CURTHREAD || k >= ARRAY_LEN(builtins) || !builtins[k].emit)
		return NULL;
	return &builtins[k];
}
