/* SPDX-License-Identifier: MIT */
/*
 * Properties of the current process that are read through structures of the kernel: files, paths,
 * arguments, registers.
 */
#include <inttypes.h>

#include "arch/arch.h"
#include "bpf/gen.h"
#include "bpf/engine.h"
#include "kernel/task_own.h"

/* Four members, whose offsets are passed to a run-time function in one word (rt/task.c). */
struct offsets {
	struct {
		const char *strct, *path; /* NULL: not used */
	} of[4];
};

/* clang-format off */
static const struct offsets of_getf = {
	{{"task_struct", "files"}, {"files_struct", "fdt"}, {"fdtable", "max_fds"}, {"fdtable", "fd"}}};
static const struct offsets of_dentry = {{{"dentry", "d_parent"},
					  {"dentry", "d_name.name"},
					  {"dentry", "d_name.len"},
					  {"dentry", "d_hash.pprev"}}};
static const struct offsets of_mount = {{{"vfsmount", "mnt_root"},
					 {"mount", "mnt"},
					 {"mount", "mnt_parent"},
					 {"mount", "mnt_mountpoint"}}};
static const struct offsets of_path = {
	{{"task_struct", "fs"}, {"fs_struct", "root"}, {"path", "mnt"}, {"path", "dentry"}}};
static const struct offsets of_cwd = {{{"task_struct", "fs"}, {"fs_struct", "pwd"}}};
static const struct offsets of_root = {{{"task_struct", "fs"}, {"fs_struct", "root"}}};
static const struct offsets of_args = {
	{{"task_struct", "mm"}, {"mm_struct", "arg_start"}, {"mm_struct", "arg_end"}}};

/* Packs the offsets into *ret; false after gen_fail() for a member that this kernel lacks. */
static bool offsets_pack(struct gen *g, const char *what, const struct offsets *o, uint64_t *ret)
{
	*ret = 0;
	for (uint32_t i = 0; i < ARRAY_LEN(o->of) && o->of[i].strct; i++) {
		uint32_t off;
		struct err *e = kfield_offset(o->of[i].strct, o->of[i].path, &off);

		if (!e && off > UINT16_MAX)
			e = err_new("'%s' of 'struct %s' lies too far in it", o->of[i].path,
				    o->of[i].strct);
		if (e) {
			gen_fail(g, "%s: %s", what, err_text(e));
			err_destroy(e);
			return false;
		}
		*ret |= (uint64_t)off << (16 * i);
	}
	return true;
}
/* clang-format on */

void gen_task_own(struct gen *g, uint32_t otherwise)
{
	struct task_own_args own;
	struct err *e = task_own_find(g->env->own_uid, g->env->own_gid, g->env->own_userns, &own);

	if (e) {
		gen_fail(g, "privileges: %s", err_text(e));
		err_destroy(e);
		return;
	}
	em_imm(&g->e, R1, 0); /* no machine state has been claimed yet */
	em_imm(&g->e, R2, own.task);
	em_imm(&g->e, R3, own.memory);
	em_imm(&g->e, R4, own.inum);
	em_imm(&g->e, R5, own.who);
	em_call_rt(&g->e, "rt_task_own");
	em_jmp_imm(&g->e, BPF_JEQ, R0, 0, otherwise);
}

void gen_getf(struct gen *g, const struct dif_at *at)
{
	uint64_t of;

	if (!offsets_pack(g, "getf", &of_getf, &of))
		return;
	ra_loc_args(g, at->reads, 1);
	em_imm(&g->e, R3, of);
	gen_rt(g, "rt_getf");
}

/* r0 = the text of the struct path at r2, or 0 after a fault */
static void path_text_emit(struct gen *g, const char *what)
{
	uint64_t dentry, mount, path;

	if (!offsets_pack(g, what, &of_dentry, &dentry) ||
	    !offsets_pack(g, what, &of_mount, &mount) || !offsets_pack(g, what, &of_path, &path))
		return;
	em_imm(&g->e, R3, dentry);
	em_imm(&g->e, R4, mount);
	em_imm(&g->e, R5, path);
	gen_rt(g, "rt_d_path");
}

void gen_d_path(struct gen *g, const struct dif_at *at)
{
	ra_loc_args(g, at->reads, 1);
	path_text_emit(g, "d_path");
	at_check_rt(g, at);
}

/* r0 = the text of a path in the task's struct fs_struct */
static void task_path_emit(struct gen *g, const char *what, const struct offsets *o)
{
	struct emitter *e = &g->e;
	uint64_t of;

	if (!offsets_pack(g, what, o, &of))
		return;
	em_helper(e, BPF_FUNC_get_current_task);
	gen_read_kernel_u64(g, of & UINT16_MAX);
	em_mov(e, R2, R0);
	em_alu_imm(e, BPF_ADD, R2, (int32_t)(of >> 16));
	path_text_emit(g, what);
}

void gen_task_text(struct gen *g, uint32_t var)
{
	uint64_t of;

	switch (var) {
	case DIF_VAR_CWD: task_path_emit(g, "cwd", &of_cwd); return;
	case DIF_VAR_ROOT: task_path_emit(g, "root", &of_root); return;
	default: break; /* DIF_VAR_EXECARGS */
	}
	if (!offsets_pack(g, "execargs", &of_args, &of))
		return;
	em_imm(&g->e, R2, of);
	gen_rt(g, "rt_execargs");
}

/* r0 = a register, from its member of the task */
static void task_reg_emit(struct gen *g, const struct arch_task_reg *reg)
{
	uint32_t off;
	struct err *e = kfield_offset("task_struct", reg->field, &off);

	if (e) {
		gen_fail(g, "uregs[%" PRIu32 "]: %s", reg->index, err_text(e));
		err_destroy(e);
		return;
	}
	em_helper(&g->e, BPF_FUNC_get_current_task);
	gen_read_kernel_u64(g, off);
	if (reg->size < 8)
		em_extend(&g->e, R0, reg->size, false);
}

/* For registers that are members of the task: jumps to done with the value in r0. */
static void task_regs_emit(struct gen *g, const struct ra_loc *index, uint32_t done)
{
	for (const struct arch_task_reg *reg = arch.task_regs; reg->field; reg++) {
		uint32_t next = em_label(&g->e);

		if (index->kind == RA_CONST && index->value != reg->index)
			continue;
		em_jmp_imm(&g->e, BPF_JNE, ra_loc_use(g, index, R1), (int32_t)reg->index, next);
		task_reg_emit(g, reg);
		em_ja(&g->e, done);
		em_here(&g->e, next);
	}
}

void gen_uregs(struct gen *g, const struct dif_at *at)
{
	uint32_t done = em_label(&g->e);

	if (!feat_has(FEAT_TASK_BTF)) {
		gen_fail(g, "uregs[]: this kernel lacks %s", feat_what(FEAT_TASK_BTF));
		return;
	}
	task_regs_emit(g, &at->reads[0], done);
	ra_loc_load(g, R2, &at->reads[0]);
	em_imm(&g->e, R3, arch.uregs[0]);
	em_imm(&g->e, R4, arch.uregs[1]);
	em_imm(&g->e, R5, arch.uregs[2]);
	gen_rt(g, "rt_uregs");
	at_check_rt(g, at);
	em_here(&g->e, done);
	ra_loc_put(g, &at->writes[0], R0);
}
