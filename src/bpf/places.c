/* SPDX-License-Identifier: MIT */
/*
 * The kinds of places, in the table at the end: how a program finds the key of its probe, where the
 * arguments are, how the program is attached.
 */
#include "arch/arch.h"
#include "bpf/attach.h"
#include "bpf/entry.h"
#include "bpf/engine.h"

#define PERF_REGS 0 /* struct bpf_perf_event_data begins with the registers */

/*
 * Linux include/linux/errno.h: codes that become EINTR, or a restart, before user space sees them
 */
static const int restart_codes[] = {512, 513, 514, 516};
#define CODE_INTR 4
#define MAX_ERRNO 4095

/* ---- system calls ---------------------------------------------------------------------------- */

static bool reads_compat(const struct entry *en)
{
	return en->g->env->kfields->task_thread_info_status != UINT32_MAX;
}

/* r7 = the task, if the kernel gives typed pointers; else it is read where it is needed. */
static void task_load(struct entry *en)
{
	if (!en->g->env->use_task_btf)
		return;
	em_helper(&en->g->e, HELPER_GET_CURRENT_TASK_BTF);
	em_mov(&en->g->e, R7, R0);
}

/* r0 != 0 if the task is in a 32-bit system call */
static void compat_load(struct entry *en)
{
	struct emitter *e = &en->g->e;
	uint32_t off = en->g->env->kfields->task_thread_info_status;

	if (en->g->env->use_task_btf) {
		em_load(e, 4, R0, R7, (int32_t)off);
	} else {
		em_helper(e, BPF_FUNC_get_current_task);
		em_mov(e, R3, R0);
		em_alu_imm(e, BPF_ADD, R3, (int32_t)off);
		em_imm(e, R2, 4);
		em_addr(e, R1, R10, (uint32_t)FRAME_TMP);
		em_helper(e, BPF_FUNC_probe_read_kernel);
		em_load(e, 4, R0, R10, FRAME_TMP);
	}
	em_alu_imm(e, BPF_AND, R0, (int32_t)arch.compat_status);
}

static void emit_compat_key(struct gen *g, const struct cold *c)
{
	struct emitter *e = &g->e;

	em_mov32(e, R8, R8);
	em_jmp_imm(e, BPF_JGE, R8, RT_SYS_MAX, c->action);
	em_alu_imm(e, BPF_ADD, R8, RT_SYS_COMPAT);
	em_ja(e, c->back);
}

static void emit_abi_key(struct gen *g, const struct cold *c)
{
	struct emitter *e = &g->e;

	if (arch.nr_abi_bit)
		em_alu_imm(e, BPF_AND, R8, (int32_t)~arch.nr_abi_bit);
	em_jmp_imm(e, BPF_JGE, R8, RT_SYS_MAX, c->action);
	em_ja(e, c->back);
}

/* For few keys: leaves unless r8 is one of them. */
static void keys_compare(struct entry *en)
{
	struct gen *g = en->g;
	const struct unit *u = g->u;

	for (uint32_t i = 0; i + 1 < u->nprobes; i++)
		em_jmp_imm(&g->e, BPF_JEQ, R8, (int32_t)u->probes[i].key, en->selected);
	em_jmp_imm(&g->e, BPF_JNE, R8, (int32_t)u->probes[u->nprobes - 1].key, en->missed);
	em_here(&g->e, en->selected);
}

/* Makes a key of the system call number in r8: the numbers of 32-bit calls mean other calls. */
static void sys_key(struct entry *en, bool has_task)
{
	struct gen *g = en->g;
	struct emitter *e = &g->e;
	uint32_t known = em_label(e);
	bool early = en->has_one_probe && !en->has_compat && !sys_has_variants(en->g->u->probes);

	if (early)
		keys_compare(en);
	if (!has_task)
		task_load(en);
	if (reads_compat(en)) {
		compat_load(en);
		em_jmp_imm(e, BPF_JNE, R0, 0,
			   en->has_compat ? gen_cold(g, (struct cold){.emit = emit_compat_key,
								      .action = en->missed,
								      .back = known})
					  : en->missed);
	}
	if (!early)
		em_jmp_imm(e, BPF_JGE, R8, RT_SYS_MAX,
			   gen_cold(g, (struct cold){.emit = emit_abi_key,
						     .action = en->missed,
						     .back = known}));
	em_here(e, known);
	sys_add_variant(en);
	if (!early && en->has_one_probe)
		keys_compare(en);
}

static void sys_enter_key(struct entry *en)
{
	em_load(&en->g->e, 8, R8, R6, 8);
	sys_key(en, false);
}

void sys_load_regs(struct entry *en)
{
	struct emitter *e = &en->g->e;

	em_mov(e, R1, R7);
	em_helper(e, HELPER_TASK_PT_REGS);
	em_mov(e, R7, R0);
}

static void sys_exit_key(struct entry *en)
{
	struct emitter *e = &en->g->e;

	task_load(en);
	if (en->g->env->use_task_btf) {
		em_mov(e, R1, R7);
		em_helper(e, HELPER_TASK_PT_REGS);
		em_load(e, 8, R8, R0, (int32_t)arch.sys_nr);
	} else {
		em_load(e, 8, R3, R6, 0);
		em_alu_imm(e, BPF_ADD, R3, (int32_t)arch.sys_nr);
		em_imm(e, R2, 8);
		em_addr(e, R1, R10, (uint32_t)FRAME_TMP);
		em_helper(e, BPF_FUNC_probe_read_kernel);
		em_load(e, 8, R8, R10, FRAME_TMP);
	}
	sys_key(en, true);
}

uint32_t sys_args_used(const struct entry *en)
{
	return en->g->needs.args & en->ops->args_filled;
}

static void args_copy(struct entry *en, const uint32_t *offs, int base, uint32_t base_off,
		      uint32_t size)
{
	for (uint32_t k = 0; k < 6; k++) {
		if (!(sys_args_used(en) >> k & 1))
			continue;
		em_load(&en->g->e, size, R1, base, (int32_t)(base_off + offs[k]));
		gen_mach_store(en->g, 8, ARG_OFF(k), R1);
	}
}

/* Reads all registers with arguments, which lie next to each other, in one read. */
static void args_read(struct entry *en, const uint32_t *offs, uint32_t size)
{
	struct gen *g = en->g;
	struct emitter *e = &g->e;
	uint32_t from = UINT32_MAX, to = 0;

	for (uint32_t k = 0; k < 6; k++) {
		if (!(sys_args_used(en) >> k & 1))
			continue;
		from = MIN(from, offs[k]);
		to = MAX(to, offs[k] + 8);
	}
	em_load(e, 8, R3, R6, 0);
	if (from)
		em_alu_imm(e, BPF_ADD, R3, (int32_t)from);
	em_imm(e, R2, to - from);
	em_addr(e, R1, R9, g->mach->spill_off);
	em_helper(e, BPF_FUNC_probe_read_kernel);
	args_copy(en, offs, R9, g->mach->spill_off - from, size);
}

static void args_fill_from(struct entry *en, const uint32_t *offs, uint32_t size)
{
	if (en->g->env->use_task_btf)
		args_copy(en, offs, R7, 0, size);
	else
		args_read(en, offs, size);
}

static void sys_enter_args(struct entry *en)
{
	struct emitter *e = &en->g->e;
	uint32_t compat = em_label(e), done = em_label(e);

	if (!sys_args_used(en))
		return;
	if (en->g->env->use_task_btf)
		sys_load_regs(en);
	if (en->has_compat) {
		entry_key_load(en, R1);
		em_jmp_imm(e, BPF_JGE, R1, RT_SYS_COMPAT, compat);
	}
	args_fill_from(en, arch.sys_args, 8);
	if (!en->has_compat)
		return;
	em_ja(e, done);
	em_here(e, compat);
	args_fill_from(en, arch.compat_args, 4);
	em_here(e, done);
}

/* ---- results --------------------------------------------------------------------------------- */

/* For a failed call: sets errno, and its result to -1. r1 = the raw result */
static void emit_failed_call(struct gen *g, const struct cold *c)
{
	struct emitter *e = &g->e;
	uint32_t store = em_label(e), restart = em_label(e);

	em_neg(e, R1);
	for (uint32_t k = 0; k < ARRAY_LEN(restart_codes); k++)
		em_jmp_imm(e, BPF_JEQ, R1, restart_codes[k], restart);
	em_ja(e, store);
	em_here(e, restart);
	em_imm(e, R1, CODE_INTR);
	em_here(e, store);
	gen_mach_store(g, 4, offsetof(struct rt_mach, err), R1);
	em_imm(e, R1, UINT64_MAX);
	em_ja(e, c->back);
}

static void result_store(struct gen *g)
{
	for (uint32_t k = 0; k < 2; k++)
		if (g->needs.args >> k & 1)
			gen_mach_store(g, 8, ARG_OFF(k), R1);
}

/* is_raw: arg0 and arg1 are the result as the kernel returns it */
static void result_fill(struct entry *en, bool is_raw)
{
	struct gen *g = en->g;
	struct emitter *e = &g->e;
	uint32_t native = em_label(e), done = em_label(e);

	if (!(g->needs.args & 3) && !g->needs.err)
		return;
	em_load(e, 8, R1, R6, 8);
	if (en->has_compat) {
		entry_key_load(en, R2);
		em_alu_imm(e, BPF_AND, R2, RT_SYS_COMPAT);
		em_jmp_imm(e, BPF_JEQ, R2, 0, native);
		em_extend(e, R1, 4, true);
	}
	em_here(e, native);
	if (is_raw)
		result_store(g);
	em_store_imm(e, 4, R9, offsetof(struct rt_mach, err), 0);
	em_jmp_imm(e, BPF_JGT, R1, -MAX_ERRNO - 1,
		   gen_cold(g, (struct cold){.emit = emit_failed_call, .back = done}));
	em_here(e, done);
	if (!is_raw)
		result_store(g);
}

static void sys_exit_args(struct entry *en)
{
	result_fill(en, false);
}

static void sys_exit_raw_args(struct entry *en)
{
	result_fill(en, true);
}

/* ---- other kinds ----------------------------------------------------------------------------- */

static void test_run_key(struct entry *en)
{
	em_load(&en->g->e, 8, R8, R6, 0);
	if (en->has_one_probe)
		keys_compare(en);
}

void cookie_key(struct entry *en)
{
	struct emitter *e = &en->g->e;

	em_mov(e, R1, R6);
	em_helper(e, HELPER_GET_ATTACH_COOKIE);
	em_mov(e, R8, R0);
	if (en->has_one_probe)
		keys_compare(en);
}

/* FRAME_VAL keeps the cookie, which has the offset of the instruction. */
static void uprobe_key(struct entry *en)
{
	struct emitter *e = &en->g->e;

	em_mov(e, R1, R6);
	em_helper(e, HELPER_GET_ATTACH_COOKIE);
	em_store(e, 8, R10, FRAME_VAL, R0);
	em_mov32(e, R8, R0);
}

/* The tracepoint or event itself is the only probe of such a unit. */
static void rawtp_key(struct entry *en)
{
	em_imm(&en->g->e, R8, 0);
	if (en->has_one_probe)
		em_here(&en->g->e, en->selected);
}

/* argN is parameter N; the kernel refuses a program that reads more parameters than there are. */
static void rawtp_args(struct entry *en)
{
	for (uint32_t k = 0; k < 10; k++) {
		if (!(en->g->needs.args >> k & 1))
			continue;
		if (k < en->g->u->place.nargs) {
			em_load(&en->g->e, 8, R1, R6, (int32_t)(8 * k));
			gen_mach_store(en->g, 8, ARG_OFF(k), R1);
		} else {
			em_store_imm(&en->g->e, 8, R9, (int32_t)ARG_OFF(k), 0);
		}
	}
}

/* r1 = the address of a field's data: the context is the record */
static void field_address(struct emitter *e, const struct place_field *f)
{
	em_mov(e, R1, R6);
	if (f->kind == PLACE_FIELD_ADDRESS) {
		em_alu_imm(e, BPF_ADD, R1, f->off);
		return;
	}
	em_load(e, 4, R2, R6, f->off);
	em_alu_imm(e, BPF_AND, R2, UINT16_MAX);
	if (f->kind == PLACE_FIELD_REL_LOC)
		em_alu_imm(e, BPF_ADD, R2, f->off + 4);
	em_alu_reg(e, BPF_ADD, R1, R2);
}

static void event_args(struct entry *en)
{
	const struct place_event *ev = en->g->u->probes[0].event;
	struct emitter *e = &en->g->e;

	for (uint32_t k = 0; k < PLACE_MAX_FIELDS; k++) {
		const struct place_field *f = &ev->fields[k];

		if (!(en->g->needs.args >> k & 1))
			continue;
		if (k >= ev->nfields) {
			em_imm(e, R1, 0);
		} else if (f->kind == PLACE_FIELD_NUMBER) {
			em_load(e, f->size, R1, R6, f->off);
			em_extend(e, R1, f->size, f->is_signed);
		} else {
			field_address(e, f);
		}
		gen_mach_store(en->g, 8, ARG_OFF(k), R1);
	}
}

static void args_none(struct entry *en)
{
	(void)en;
}

/*
 * arg0 = PC in the kernel, arg1 = PC in user mode; one of them is 0. A session that may not read
 * the kernel gets 0 for the former.
 */
static void perf_args(struct entry *en)
{
	struct gen *g = en->g;
	struct emitter *e = &g->e;
	uint32_t user = em_label(e), done = em_label(e);

	if (!(g->needs.args & 3))
		return;
	em_load(e, 8, R1, R6, PERF_REGS + (int32_t)arch.pc);
	em_load(e, 8, R2, R6, PERF_REGS + (int32_t)arch.mode);
	em_alu_imm(e, BPF_AND, R2, (int32_t)arch.user_mode);
	em_imm(e, R0, 0);
	em_jmp_imm(e, BPF_JNE, R2, 0, user);
	gen_mach_store(g, 8, ARG_OFF(0), g->l->opts.reads_own ? R0 : R1);
	gen_mach_store(g, 8, ARG_OFF(1), R0);
	em_ja(e, done);
	em_here(e, user);
	gen_mach_store(g, 8, ARG_OFF(0), R0);
	gen_mach_store(g, 8, ARG_OFF(1), R1);
	em_here(e, done);
}

/* ---- arguments of functions ------------------------------------------------------------------ */

void entry_args_fill(struct entry *en, uint32_t used, const uint32_t *regs, uint32_t n)
{
	struct emitter *e = &en->g->e;
	uint32_t last = NFUNC_ARGS - 1;

	for (uint32_t k = 0; k < n; k++) {
		if (!(used >> k & 1))
			continue;
		em_load(e, 8, R1, R6, (int32_t)regs[k]);
		gen_mach_store(en->g, 8, ARG_OFF(k), R1);
	}
	if (!(used >> n))
		return;
	while (!(used >> last & 1))
		last--;
	em_load(e, 8, R3, R6, (int32_t)arch.sp);
	em_alu_imm(e, BPF_ADD, R3, (int32_t)arch.stack_args);
	em_imm(e, R2, 8 * (last + 1 - n));
	em_addr(e, R1, R9, ARG_OFF(n));
	em_helper(e, en->traits->is_in_process ? BPF_FUNC_probe_read_user
					       : BPF_FUNC_probe_read_kernel);
	/* the helper zeroes its destination if it fails */
}

static void uprobe_entry_args(struct entry *en, uint32_t used)
{
	entry_args_fill(en, used, arch.func_args, ARRAY_LEN(arch.func_args));
}

/*
 * A call has not pushed its return address yet: arguments on the stack begin where the stack
 * pointer is. At a jump, the caller's return address is there, as at an entry.
 */
static void uprobe_call_args(struct entry *en, uint32_t used)
{
	const uint32_t n = ARRAY_LEN(arch.func_args);
	struct emitter *e = &en->g->e;
	uint32_t last = NFUNC_ARGS - 1, is_call = em_label(e);

	entry_args_fill(en, used & ((1u << n) - 1), arch.func_args, n);
	if (!(used >> n))
		return;
	while (!(used >> last & 1))
		last--;
	em_load(e, 8, R3, R6, (int32_t)arch.sp);
	em_load(e, 8, R2, R10, FRAME_VAL);
	em_jmp_imm(e, BPF_JSGE, R2, 0, is_call);
	em_alu_imm(e, BPF_ADD, R3, (int32_t)arch.stack_args);
	em_here(e, is_call);
	em_imm(e, R2, 8 * (last + 1 - n));
	em_addr(e, R1, R9, ARG_OFF(n));
	em_helper(e, BPF_FUNC_probe_read_user); /* zeroes its destination if it fails */
}

static void uprobe_entry_go_args(struct entry *en, uint32_t used)
{
	entry_args_fill(en, used, arch.go_args, ARRAY_LEN(arch.go_args));
}

static void uprobe_entry_stack_args(struct entry *en, uint32_t used)
{
	entry_args_fill(en, used, NULL, 0);
}

/* Reads arguments of 4 bytes from the stack, then widens them in place from the last one on. */
static void uprobe_entry32_args(struct entry *en, uint32_t used)
{
	struct emitter *e = &en->g->e;
	uint32_t n = NFUNC_ARGS;

	while (!(used >> (n - 1) & 1))
		n--;
	em_load(e, 4, R3, R6, (int32_t)arch.sp);
	em_alu_imm(e, BPF_ADD, R3, (int32_t)arch.stack_args_32);
	em_imm(e, R2, 4 * n);
	em_addr(e, R1, R9, ARG_OFF(0));
	em_helper(e, BPF_FUNC_probe_read_user); /* zeroes its destination if it fails */
	while (n--) {
		em_load(e, 4, R1, R9, (int32_t)(ARG_OFF(0) + 4 * n));
		gen_mach_store(en->g, 8, ARG_OFF(n), R1);
	}
}

void args_zero(struct entry *en, uint32_t used)
{
	for (uint32_t k = 0; k < NFUNC_ARGS; k++)
		if (used >> k & 1)
			em_store_imm(&en->g->e, 8, R9, (int32_t)ARG_OFF(k), 0);
}

/* arg0 is the offset of the return; the next arguments are the n words of the value. */
static void return_args_fill(struct entry *en, uint32_t used, const uint32_t *regs, uint32_t n)
{
	struct emitter *e = &en->g->e;

	em_load(e, 8, R2, R10, FRAME_VAL);
	if (used & 1) {
		em_mov(e, R1, R2);
		em_alu_imm(e, BPF_LSH, R1, 1);
		em_alu_imm(e, BPF_ARSH, R1, 33);
		gen_mach_store(en->g, 8, ARG_OFF(0), R1);
	}
	for (uint32_t k = 1; k <= n; k++) {
		uint32_t is_value = em_label(e);

		if (!(used >> k & 1))
			continue;
		em_load(e, 8, R1, R6, (int32_t)regs[k - 1]);
		em_jmp_imm(e, BPF_JSGE, R2, 0, is_value);
		em_imm(e, R1, 0);
		em_here(e, is_value);
		gen_mach_store(en->g, 8, ARG_OFF(k), R1);
	}
	args_zero(en, used & ~((2u << n) - 1));
}

static void uprobe_return_args(struct entry *en, uint32_t used)
{
	return_args_fill(en, used, &arch.func_value, 1);
}

static void uprobe_return_go_args(struct entry *en, uint32_t used)
{
	return_args_fill(en, used, arch.go_args, ARRAY_LEN(arch.go_args));
}

static void uprobe_return_none_args(struct entry *en, uint32_t used)
{
	return_args_fill(en, used, NULL, 0);
}

/* ---- arguments of programs' own probes ------------------------------------------------------- */

typedef VEC(const struct place_site *) site_vec;

/* R3 = the address from which thread-local memory of the current thread counts. */
static void operand_thread_base(struct gen *g)
{
	uint32_t off;
	struct err *e = kfield_offset("task_struct", arch.thread_base, &off);

	if (e)
		gen_fail(g, "arguments in thread-local memory: %s", err_text(e));
	else {
		em_helper(&g->e, BPF_FUNC_get_current_task);
		gen_read_kernel_u64(g, off);
		em_mov(&g->e, R3, R0);
	}
	err_destroy(e);
}

/* R3 = the address of an operand in memory. */
static void operand_address(struct entry *en, const struct usdt_operand *o)
{
	struct emitter *e = &en->g->e;

	em_imm(e, R3, 0);
	if (o->is_thread)
		operand_thread_base(en->g);
	if (o->has_index) {
		em_load(e, 8, R1, R6, (int32_t)o->index);
		em_alu_imm(e, BPF_MUL, R1, o->scale);
		em_alu_reg(e, BPF_ADD, R3, R1);
	}
	if (o->has_base) {
		em_load(e, 8, R1, R6, (int32_t)o->base);
		em_alu_reg(e, BPF_ADD, R3, R1);
	}
	em_imm(e, R1, (uint64_t)o->disp);
	em_alu_reg(e, BPF_ADD, R3, R1);
	if (o->is_32bit)
		em_extend(e, R3, 4, false);
}

/* A register, whole or a part of it: parts lie at its offset, or one byte behind. */
static void operand_register(struct emitter *e, const struct usdt_operand *o)
{
	uint32_t part = o->base % 8;

	em_load(e, 8, R1, R6, (int32_t)(o->base - part));
	if (part)
		em_alu_imm(e, BPF_RSH, R1, 8 * (int32_t)part);
	em_extend(e, R1, o->size, o->is_signed);
}

static void operand_fill(struct entry *en, const struct usdt_operand *o, uint32_t k)
{
	struct emitter *e = &en->g->e;

	switch ((enum usdt_operand_kind)o->kind) {
	case USDT_OPERAND_NONE: em_imm(e, R1, 0); break;
	case USDT_OPERAND_CONST:
		em_imm(e, R1, (uint64_t)o->disp);
		em_extend(e, R1, o->size, o->is_signed);
		break;
	case USDT_OPERAND_REGISTER: operand_register(e, o); break;
	case USDT_OPERAND_ADDRESS:
		operand_address(en, o);
		em_mov(e, R1, R3);
		em_extend(e, R1, o->size, o->is_signed);
		break;
	case USDT_OPERAND_MEMORY:
		operand_address(en, o);
		em_imm(e, R2, o->size);
		em_addr(e, R1, R9, ARG_OFF(k));
		em_helper(e, BPF_FUNC_probe_read_user); /* leaves zeros when it cannot */
		em_load(e, o->size, R1, R9, (int32_t)ARG_OFF(k));
		em_extend(e, R1, o->size, o->is_signed);
		break;
	}
	gen_mach_store(en->g, 8, ARG_OFF(k), R1);
}

static void operands_fill(struct entry *en, uint32_t used, const struct usdt_operands *ops)
{
	static const struct usdt_operand none = {.kind = USDT_OPERAND_NONE};

	for (uint32_t k = 0; k < NFUNC_ARGS; k++)
		if (used >> k & 1)
			operand_fill(en, k < ops->n ? &ops->list[k] : &none, k);
}

static int by_operands(const void *pa, const void *pb)
{
	const struct place_site *const *a = pa, *const *b = pb;

	return ((*a)->rel > (*b)->rel) - ((*a)->rel < (*b)->rel);
}

/* The sites of the unit, one of each kind of operands, in the order of their numbers. */
static site_vec operands_collect(const struct unit *u)
{
	site_vec all = {0};
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->nprobes; i++)
		for (uint32_t k = 0;
		     u->probes[i].spot == SPOT_USDT && k < u->probes[i].code->sites.len; k++)
			vec_push(&all, &u->probes[i].code->sites.data[k]);
	if (all.len)
		qsort(all.data, all.len, sizeof(*all.data), by_operands);
	for (uint32_t i = 0; i < all.len; i++)
		if (!n || all.data[n - 1]->rel != all.data[i]->rel)
			all.data[n++] = all.data[i];
	all.len = n;
	return all;
}

/* r2 = number of the operands: finds the code that fills the arguments by halves. */
static void operands_switch(struct entry *en, uint32_t used, const site_vec *all, uint32_t from,
			    uint32_t to, uint32_t done)
{
	struct emitter *e = &en->g->e;
	uint32_t middle = from + (to - from) / 2, upper = em_label(e);

	if (to - from == 1) {
		operands_fill(en, used, all->data[from]->operands);
		em_ja(e, done);
		return;
	}
	em_jmp_imm(e, BPF_JGE, R2, (int32_t)all->data[middle]->rel, upper);
	operands_switch(en, used, all, from, middle, done);
	em_here(e, upper);
	operands_switch(en, used, all, middle, to, done);
}

/* The cookie says which operands the site has. */
static void usdt_args(struct entry *en, uint32_t used)
{
	struct emitter *e = &en->g->e;
	site_vec all = operands_collect(en->g->u);
	uint32_t done = em_label(e);

	args_zero(en, used); /* what cannot be read stays 0 */
	em_load(e, 8, R2, R10, FRAME_VAL);
	em_alu_imm(e, BPF_LSH, R2, 1);
	em_alu_imm(e, BPF_RSH, R2, 33);
	operands_switch(en, used, &all, 0, all.len, done);
	em_here(e, done);
	vec_deinit(&all);
}

static void (*const spot_args[SPOT_COUNT])(struct entry *en, uint32_t used) = {
	[SPOT_ENTRY] = uprobe_entry_args,
	[SPOT_ENTRY32] = uprobe_entry32_args,
	[SPOT_ENTRY_STACK] = uprobe_entry_stack_args,
	[SPOT_ENTRY_GO] = uprobe_entry_go_args,
	[SPOT_ENTRY_NONE] = args_zero,
	[SPOT_RETURN] = uprobe_return_args,
	[SPOT_RETURN_GO] = uprobe_return_go_args,
	[SPOT_RETURN_NONE] = uprobe_return_none_args,
	[SPOT_RETURNED] = uprobe_return_args,
	[SPOT_INSN] = args_zero,
	[SPOT_CALL] = uprobe_call_args,
	[SPOT_USDT] = usdt_args,
};

/* Fills the arguments by where in functions the unit's probes are; usually that is the same. */
static void uprobe_args(struct entry *en)
{
	struct emitter *e = &en->g->e;
	uint32_t used = en->g->needs.args & en->ops->args_filled, spots = 0;
	uint32_t done = em_label(e);

	if (!used)
		return;
	for (uint32_t i = 0; i < en->g->u->nprobes; i++)
		spots |= 1u << en->g->u->probes[i].spot;
	for (uint32_t spot = 0; spot < SPOT_COUNT; spot++) {
		uint32_t next = em_label(e);

		if (!(spots >> spot & 1))
			continue;
		if (spots >> (spot + 1)) {
			em_load(e, 4, R1, R8, offsetof(struct rt_dispatch, spot));
			em_jmp_imm(e, BPF_JNE, R1, (int32_t)spot, next);
		}
		spot_args[spot](en, used);
		if (spots >> (spot + 1))
			em_ja(e, done);
		em_here(e, next);
	}
	em_here(e, done);
}

/* ---- the table ------------------------------------------------------------------------------- */

/*
 * The arguments that a kind fills: all of a function or tracepoint, those of a system call, its
 * result.
 */
#define ARGS_ALL    0x3ff
#define ARGS_CALL   0x3f
#define ARGS_RESULT 0x3

/* clang-format off */
const struct place_ops place_table[PLACE_NKINDS] = {
	[PLACE_TEST_RUN] = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.key = test_run_key,
		.args = args_none,
		.is_on_stack = true,
	},
	[PLACE_SYS_ENTER] = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.key = sys_enter_key,
		.args = sys_enter_args,
		.args_filled = ARGS_CALL,
		.is_on_stack = true,
		.attach = attach_tracepoint,
	},
	[PLACE_SYS_EXIT] = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.key = sys_exit_key,
		.args = sys_exit_args,
		.args_filled = ARGS_RESULT,
		.fills_err = true,
		.is_on_stack = true,
		.attach = attach_tracepoint,
	},
	[PLACE_TIMER] = {
		.prog_type = BPF_PROG_TYPE_PERF_EVENT,
		.key = cookie_key,
		.args = perf_args,
		.args_filled = ARGS_RESULT,
		.attach = attach_timers,
	},
	[PLACE_COUNTER] = {
		.prog_type = BPF_PROG_TYPE_PERF_EVENT,
		.key = cookie_key,
		.args = perf_args,
		.args_filled = ARGS_RESULT,
		.attach = attach_timers,
	},
	[PLACE_SYS_ENTER_VIEW] = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.key = sys_enter_key,
		.args = sys_view_args,
		.args_filled = ARGS_CALL,
		.is_on_stack = true,
		.has_key_late = true,
		.attach = attach_tracepoint,
	},
	[PLACE_SYS_EXIT_VIEW] = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.key = sys_exit_key,
		.args = sys_exit_args,
		.args_filled = ARGS_RESULT,
		.fills_err = true,
		.is_on_stack = true,
		.attach = attach_tracepoint,
	},
	[PLACE_SYS_EXIT_RAW] = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.key = sys_exit_key,
		.args = sys_exit_raw_args,
		.args_filled = ARGS_RESULT,
		.fills_err = true,
		.is_on_stack = true,
		.attach = attach_tracepoint,
	},
	[PLACE_UPROBE] = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.key = uprobe_key,
		.args = uprobe_args,
		.args_filled = ARGS_ALL,
		.multi_type = ATTACH_UPROBE_MULTI,
		.multi_feature = FEAT_UPROBE_MULTI,
		.attach = attach_uprobes,
	},
	[PLACE_KFUNC] = {
		.prog_type = BPF_PROG_TYPE_KPROBE,
		.key = kfunc_key,
		.args = kfunc_args,
		.args_filled = ARGS_ALL,
		.multi_type = ATTACH_KPROBE_MULTI,
		.multi_feature = FEAT_KPROBE_MULTI,
		.faster = PLACE_KFUNC_FEW,
		.attach = attach_kfuncs,
	},
	[PLACE_KFUNC_FEW] = {
		.prog_type = BPF_PROG_TYPE_TRACING,
		.key = cookie_key,
		.args = kfunc_few_args,
		.args_filled = ARGS_ALL,
		.is_on_stack = true,
		.has_trampoline = true,
		.suits = kfunc_few_suits,
		.target = kfunc_few_target,
		.attach = attach_kfuncs_few,
	},
	[PLACE_RAWTP] = {
		.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.key = rawtp_key,
		.args = rawtp_args,
		.args_filled = ARGS_ALL,
		.is_on_stack = true,
		.attach = attach_tracepoint,
	},
	[PLACE_EVENT] = {
		.prog_type = BPF_PROG_TYPE_TRACEPOINT,
		.key = rawtp_key,
		.args = event_args,
		.args_filled = ARGS_ALL,
		.is_traced = true,
		.attach = attach_event,
	},
};
/* clang-format on */

enum bpf_prog_type place_prog_type(enum place_kind kind)
{
	return place_table[kind].prog_type;
}

uint32_t place_attach_type(enum place_kind kind)
{
	const struct place_ops *ops = &place_table[kind];

	return ops->multi_type && feat_has(ops->multi_feature) ? ops->multi_type : 0;
}

enum place_kind place_preferred(const struct unit *u)
{
	enum place_kind faster = place_table[u->place.kind].faster;

	return faster && place_table[faster].suits(u) ? faster : u->place.kind;
}

uint32_t place_nprogs(const struct unit *u)
{
	return place_table[u->place.kind].target ? u->nprobes : 1;
}

struct err *place_target(const struct unit *u, uint32_t i, struct prog_target *ret)
{
	const struct place_ops *ops = &place_table[u->place.kind];

	*ret = (struct prog_target){.attach_type = place_attach_type(u->place.kind)};
	return ops->target ? ops->target(u, i, ret) : NULL;
}

struct err *unit_attach(const struct unit *u, const int *progs, const struct attach_opts *opts,
			struct attachments *ret)
{
	const struct place_ops *ops = &place_table[u->place.kind];

	return ops->attach ? ops->attach(u, progs, opts, ret) : NULL;
}
