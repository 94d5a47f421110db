/* SPDX-License-Identifier: MIT */
/*
 * Finds offsets of members of kernel structures in the kernel's BTF.
 *
 * The file has some 5 MB, and a session that should start in milliseconds needs two or three
 * members of it. So no names are hashed, and the struct is found in the pass over the file that
 * opening it takes anyway.
 *
 * Facts    Linux include/uapi/linux/btf.h.
 */
#include "kernel/kernel.h"

#include <errno.h>
#include <pthread.h>

#include "arch/arch.h"
#include "base/vec.h"
#include "kernel/btf.h"
#include "rt/abi.h"

#define MAX_NAME  128u
#define MAX_DEPTH 16 /* of nested anonymous members, and of typedefs of typedefs */

/*
 * The struct or union without const, volatile and typedef, behind a pointer if is_pointer; NULL for
 * other types.
 */
static const struct btf_type *type_struct(const struct btf_file *f, uint32_t id, bool is_pointer)
{
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		const struct btf_type *t = btf_file_type(f, id);

		if (!t)
			return NULL;
		switch (BTF_INFO_KIND(t->info)) {
		case BTF_KIND_STRUCT:
		case BTF_KIND_UNION: return is_pointer ? NULL : t;
		case BTF_KIND_PTR:
			if (!is_pointer)
				return NULL;
			is_pointer = false;
			id = t->type;
			break;
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_CONST:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_TYPE_TAG: id = t->type; break;
		default: return NULL;
		}
	}
	return NULL;
}

/* ---- looking up ------------------------------------------------------------------------- */

struct member {
	uint32_t type;
	uint32_t bits; /* from the start of the struct */
	bool is_bitfield;
};

/* Finds a member of t, a struct or union, also within anonymous members. */
static bool member_find(const struct btf_file *f, const struct btf_type *t, const char *name,
			int depth, struct member *ret)
{
	const struct btf_member *m = (const struct btf_member *)(t + 1);
	bool has_sizes = BTF_INFO_KFLAG(t->info);

	for (uint32_t i = 0; i < BTF_INFO_VLEN(t->info); i++) {
		uint32_t bits = has_sizes ? BTF_MEMBER_BIT_OFFSET(m[i].offset) : m[i].offset;
		const struct btf_type *inner;

		if (m[i].name_off) {
			if (strcmp(btf_file_str(f, m[i].name_off), name) != 0)
				continue;
			*ret = (struct member){m[i].type, bits,
					       has_sizes && BTF_MEMBER_BITFIELD_SIZE(m[i].offset)};
			return true;
		}
		inner = depth < MAX_DEPTH ? type_struct(f, m[i].type, false) : NULL;
		if (inner && member_find(f, inner, name, depth + 1, ret)) {
			ret->bits += bits;
			return true;
		}
	}
	return false;
}

/*
 * path: member names separated by dots, or by arrows; behind an arrow the offset counts from the
 * struct to which the member points.
 */
static struct err *path_find(const struct btf_file *f, const char *strct, const struct btf_type *t,
			     const char *path, uint32_t *ret_off)
{
	uint32_t bits = 0;

	for (const char *rest = path; *rest;) {
		const char *end = rest + strcspn(rest, ".-");
		bool is_arrow = strncmp(end, "->", 2) == 0;
		char name[MAX_NAME];
		struct member m;

		(void)snprintf(name, sizeof(name), "%.*s", (int)(end - rest), rest);
		if (!t || !member_find(f, t, name, 0, &m))
			return err_new("this kernel's 'struct %s' has no member '%s'", strct, path);
		if (m.is_bitfield)
			return err_new("member '%s' of 'struct %s' is a bit-field", path, strct);
		bits = is_arrow ? 0 : bits + m.bits;
		rest = *end ? end + 1 + is_arrow : end;
		t = *rest ? type_struct(f, m.type, is_arrow) : NULL;
	}
	*ret_off = bits / 8;
	return NULL;
}

/* The struct of the last lookup, kept open for further paths. */
struct lookup {
	struct btf_file *file; /* NULL: it is not open */
	const char *strct;
	uint32_t id;
};

static struct err *lookup_open(struct lookup *l, const char *strct)
{
	struct err *e = btf_file_open_for(BTF_KERNEL, BTF_FIND_STRUCT | BTF_FIND_UNION, strct,
					  &l->file, &l->id);

	l->strct = strct;
	if (e && err_get_sys(e))
		return err_hint(e, "the kernel must be built with CONFIG_DEBUG_INFO_BTF");
	if (!e && !l->id)
		e = err_new("this kernel has no 'struct %s'", strct);
	return e;
}

static void lookup_close(struct lookup *l)
{
	btf_file_close(l->file);
	l->file = NULL;
}

/* The answers hold for the process: the kernel does not change while we run. */
struct answer {
	char *name; /* "struct.path" */
	uint32_t off;
};
static VEC(struct answer) answers;
static pthread_mutex_t answers_lock = PTHREAD_MUTEX_INITIALIZER;

static struct answer *answer_find(const char *strct, const char *path)
{
	size_t len = strlen(strct);

	for (uint32_t i = 0; i < answers.len; i++) {
		const char *name = answers.data[i].name;

		if (strncmp(name, strct, len) == 0 && name[len] == '.' &&
		    strcmp(name + len + 1, path) == 0)
			return &answers.data[i];
	}
	return NULL;
}

/* Opens l for the first path that is not known yet. To be called with answers_lock held. */
static struct err *offset_find(struct lookup *l, const char *strct, const char *path,
			       uint32_t *ret_off)
{
	struct answer *known = answer_find(strct, path);
	struct err *e = NULL;
	struct answer new = {0};
	size_t size = strlen(strct) + strlen(path) + 2;

	if (known) {
		*ret_off = known->off;
		return NULL;
	}
	if (!l->file)
		e = lookup_open(l, strct);
	if (!e)
		e = path_find(l->file, strct, btf_file_type(l->file, l->id), path, &new.off);
	if (e)
		return e;
	new.name = xmalloc(size);
	(void)snprintf(new.name, size, "%s.%s", strct, path);
	vec_push(&answers, new);
	*ret_off = new.off;
	return NULL;
}

struct err *kfield_offset(const char *strct, const char *path, uint32_t *ret_off)
{
	struct lookup l = {0};
	struct err *e;

	(void)pthread_mutex_lock(&answers_lock);
	e = offset_find(&l, strct, path, ret_off);
	(void)pthread_mutex_unlock(&answers_lock);
	lookup_close(&l);
	return e;
}

/* What needs a field; architectures may lack the optional ones. */
enum need { NEED_PARENT, NEED_COMPAT, NEED_COMM };

/* clang-format off */
static const struct {
	size_t field; /* in struct kfields */
	const char *path;
	enum need need;
	bool is_optional;
} task_fields[] = {
	{offsetof(struct kfields, task_real_parent),	    "real_parent",	   NEED_PARENT,	 false},
	{offsetof(struct kfields, task_tgid),		    "tgid",		   NEED_PARENT,	 false},
	{offsetof(struct kfields, task_pid),		    "pid",		   NEED_PARENT,	 false},
	{offsetof(struct kfields, task_thread_info_status), "thread_info.status",  NEED_COMPAT,	 true},
	{offsetof(struct kfields, task_comm),		    "comm",		   NEED_COMM,	 true},
};
/* clang-format on */

struct err *kfields_fill(struct kfields *kf, const struct kfields_needs *needs)
{
	const bool needed[] = {[NEED_PARENT] = needs->parent,
			       [NEED_COMPAT] = needs->compat,
			       [NEED_COMM] = needs->comm};
	struct lookup l = {0};
	struct err *e = NULL;

	(void)pthread_mutex_lock(&answers_lock);
	for (size_t i = 0; i < ARRAY_LEN(task_fields) && !e; i++) {
		uint32_t off = UINT32_MAX;

		if (needed[task_fields[i].need])
			e = offset_find(&l, "task_struct", task_fields[i].path, &off);
		if (e && task_fields[i].is_optional) {
			err_destroy(e);
			e = NULL;
		}
		memcpy((char *)kf + task_fields[i].field, &off, sizeof(off));
	}
	(void)pthread_mutex_unlock(&answers_lock);
	lookup_close(&l);
	return e;
}

/* ---- fields for walks of user stacks -------------------------------------------------------- */

#define THREAD_BASE "" /* stands for arch.thread_base */
/* clang-format off */
#define UFIELD(field, strct, ...) {offsetof(struct rt_ukernel, field), strct, {__VA_ARGS__}}
/* clang-format on */

/*
 * Paths are tried in order: names change from kernel to kernel. Rows of one struct stand together.
 */
static const struct {
	size_t field; /* in struct rt_ukernel */
	const char *strct;
	const char *paths[3];
} walk_fields[] = {
	/* clang-format off */
	UFIELD(task_flags,   "task_struct",    "flags"),
	UFIELD(task_mm,	     "task_struct",    "mm"),
	UFIELD(task_tls,     "task_struct",    THREAD_BASE),
	UFIELD(mm_root,	     "task_struct",    "mm->mm_mt.ma_root"),
	UFIELD(mm_vdso,	     "task_struct",    "mm->context.vdso"),
	UFIELD(mm_arg_start, "task_struct",    "mm->arg_start"),
	UFIELD(mm_map_count, "task_struct",    "mm->map_count"),
	UFIELD(mm_exec_vm,   "task_struct",    "mm->exec_vm"),
	UFIELD(file_inode,   "task_struct",    "mm->exe_file->f_inode"),
	UFIELD(file_dentry,  "task_struct",    "mm->exe_file->f_path.dentry"),
	UFIELD(dentry_name,  "task_struct",    "mm->exe_file->f_path.dentry->d_name.name"),
	UFIELD(file_mode,    "task_struct",    "mm->exe_file->f_mode"),
	UFIELD(dentry_inode, "task_struct",    "mm->exe_file->f_path.dentry->d_inode"),
	UFIELD(inode_sb,     "task_struct",    "mm->exe_file->f_inode->i_sb"),
	UFIELD(inode_ino,    "task_struct",    "mm->exe_file->f_inode->i_ino"),
	UFIELD(inode_size,   "task_struct",    "mm->exe_file->f_inode->i_size"),
	UFIELD(inode_mtime,  "task_struct",    "mm->exe_file->f_inode->i_mtime_sec",
					       "mm->exe_file->f_inode->__i_mtime.tv_sec",
					       "mm->exe_file->f_inode->i_mtime.tv_sec"),
	UFIELD(sb_dev,	     "task_struct",    "mm->exe_file->f_inode->i_sb->s_dev"),
	UFIELD(task_utask,   "task_struct",    "utask"),
	UFIELD(utask_vaddr,  "task_struct",    "utask->vaddr"),
	UFIELD(utask_xol,    "task_struct",    "utask->xol_vaddr"),
	UFIELD(mm_xol,	     "task_struct",    "mm->uprobes_state.xol_area"),
	UFIELD(xol_vaddr,    "task_struct",    "mm->uprobes_state.xol_area->vaddr"),
	UFIELD(utask_calls,  "task_struct",    "utask->return_instances"),
	UFIELD(call_stack,   "task_struct",    "utask->return_instances->stack"),
	UFIELD(call_return,  "task_struct",    "utask->return_instances->orig_ret_vaddr"),
	UFIELD(call_next,    "task_struct",    "utask->return_instances->next"),
	UFIELD(task_leader,  "task_struct",    "group_leader"),
	UFIELD(task_start,   "task_struct",    "start_boottime"),
	UFIELD(vma_start,    "vm_area_struct", "vm_start"),
	UFIELD(vma_end,	     "vm_area_struct", "vm_end"),
	UFIELD(vma_pgoff,    "vm_area_struct", "vm_pgoff"),
	UFIELD(vma_file,     "vm_area_struct", "vm_file"),
	UFIELD(vma_flags,    "vm_area_struct", "vm_flags"),
	UFIELD(range_slot,   "maple_node",     "mr64.slot"),
	UFIELD(range_meta,   "maple_node",     "mr64.meta"),
	UFIELD(arange_slot,  "maple_node",     "ma64.slot"),
	UFIELD(arange_meta,  "maple_node",     "ma64.meta"),
	UFIELD(backing_dentry, "backing_file", "user_path.dentry"),
	/* clang-format on */
};

static struct err *walk_field_find(struct lookup *l, size_t i, uint32_t *ret)
{
	struct err *e = NULL;

	for (size_t k = 0; k < ARRAY_LEN(walk_fields[i].paths) && walk_fields[i].paths[k]; k++) {
		const char *path = walk_fields[i].paths[k];
		struct err *first = e;

		e = offset_find(l, walk_fields[i].strct, *path ? path : arch.thread_base, ret);
		if (!e) {
			err_destroy(first);
			return NULL;
		}
		if (first) {
			err_destroy(e);
			e = first;
		}
	}
	return e;
}

/* Kernels without CONFIG_UPROBES lack the first two, those before 6.7 the third. */
static bool is_field_optional(const char *const *paths)
{
	return strncmp(paths[0], "utask", strlen("utask")) == 0 ||
	       strncmp(paths[0], "mm->uprobes_state", strlen("mm->uprobes_state")) == 0 ||
	       strncmp(paths[0], "user_path", strlen("user_path")) == 0;
}

struct err *kfields_walk(struct rt_ukernel *ret)
{
	struct rt_ukernel k = {0};
	struct lookup l = {0};
	struct err *e = NULL;

	(void)pthread_mutex_lock(&answers_lock);
	for (size_t i = 0; i < ARRAY_LEN(walk_fields) && !e; i++) {
		uint32_t off = 0;

		if (i && strcmp(walk_fields[i].strct, walk_fields[i - 1].strct) != 0)
			lookup_close(&l);
		e = walk_field_find(&l, i, &off);
		if (e && is_field_optional(&walk_fields[i].paths[0])) {
			err_destroy(e);
			e = NULL;
			off = 0;
		}
		memcpy((char *)&k + walk_fields[i].field, &off, sizeof(off));
	}
	(void)pthread_mutex_unlock(&answers_lock);
	lookup_close(&l);
	if (!e && (k.range_slot != 128 || k.range_meta >= 256 || k.arange_slot != 80 ||
		   k.arange_meta >= 256))
		e = err_new("this kernel's 'struct maple_node' has another size");
	if (!e && ret)
		*ret = k;
	return e;
}
