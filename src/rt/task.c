/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: files, paths, arguments and registers of the current process.
 *
 * Generated code packs the offsets of members of kernel structures into words, four offsets of 16
 * bits in each. The comment above each function lists the members in order; bpf/gen_task.c reads
 * their offsets from the kernel's BTF.
 */
#include "arch/machine/regs.h"
#include "rt/rt.h"

#define NAME_MAX  255 /* Linux include/uapi/linux/limits.h */
#define MAX_STEPS 1024

INLINE u64 offset_unpack(u64 packed, u32 i)
{
	return packed >> (16 * i) & 0xffff;
}

/* Returns the 8 bytes at a kernel address; 0 if the address cannot be read. */
INLINE u64 word_at(u64 addr)
{
	u64 word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), addr);
	return word;
}

/* Returns the 4 bytes at a kernel address; 0 if the address cannot be read. */
INLINE u64 half_at(u64 addr)
{
	u32 half = 0;

	bpf_probe_read_kernel(&half, sizeof(half), addr);
	return half;
}

/* ---- files ------------------------------------------------------------------------------ */

/*
 * Returns the address of the struct file of a descriptor of the current process, 0 if the process
 * has no such descriptor (Linux include/linux/fdtable.h).
 *
 * of: task_struct.files, files_struct.fdt, fdtable.max_fds, fdtable.fd
 */
u64 rt_getf(struct rt_mach *m, u64 fd, u64 of)
{
	u64 files, table;

	if (!m)
		return 0;
	files = word_at(bpf_get_current_task() + offset_unpack(of, 0));
	table = files ? word_at(files + offset_unpack(of, 1)) : 0;
	if (!table || fd >= half_at(table + offset_unpack(of, 2)))
		return 0;
	return word_at(word_at(table + offset_unpack(of, 3)) + fd * 8);
}

/* ---- paths ------------------------------------------------------------------------------ */

/*
 * The names of a path are found from its end to its beginning: from a directory entry to its
 * parent, and from the root of a mount to where that is mounted (Linux fs/d_path.c,
 * prepend_path()). The path is therefore climbed twice: first to compute its length, then to write
 * each name at its position, as far as the string reaches.
 *
 *     dent: dentry.d_parent, d_name.name, d_name.len, d_hash.pprev
 *     mnt:  vfsmount.mnt_root; mount.mnt, mnt_parent, mnt_mountpoint
 *     task: task_struct.fs, fs_struct.root, path.mnt, path.dentry
 */
struct path_work {
	u64 of_dent, of_mnt;
	u64 dentry, mnt, root_dentry, root_mnt;
	u64 top;
	u64 is_writing;
	u64 len; /* of the names so far; in the second climb, of the names still to be written */
};

/* Counts or writes '/' and the name of one directory entry. */
static NOINLINE long path_name(char *p, struct path_work *w, u64 dentry)
{
	u64 n = half_at(dentry + offset_unpack(w->of_dent, 2)),
	    name = word_at(dentry + offset_unpack(w->of_dent, 1));
	u64 size = cfg.strsize, top = w->top, at;

	if (n > NAME_MAX)
		n = NAME_MAX;
	if (!w->is_writing) {
		w->len += n + 1;
		return 0;
	}
	at = w->len - (n + 1);
	w->len = at;
	OPAQUE(at);
	if (at >= size - 1) /* behind the string's end, or below 0 after a rename in between */
		return 0;
	if (n > size - 2 - at)
		n = size - 2 - at;
	OPAQUE(n);
	if (at > size || n > NAME_MAX || top > cfg.scratch_size)
		return 1;
	p[top + at] = '/';
	bpf_probe_read_kernel(p + top + at + 1, n, name);
	return 0;
}

static long path_step(u64 it, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct path_work *w = WORK(p, struct path_work);
	u64 dentry = w->dentry, mnt = w->mnt, parent, root, mount, up;

	if (dentry == w->root_dentry && mnt == w->root_mnt)
		return 1;
	parent = word_at(dentry + offset_unpack(w->of_dent, 0));
	root = word_at(mnt + offset_unpack(w->of_mnt, 0));
	if (dentry != root && dentry != parent && parent) {
		w->dentry = parent;
		return path_name(p, w, dentry);
	}
	mount = mnt - offset_unpack(w->of_mnt, 1);
	up = word_at(mount + offset_unpack(w->of_mnt, 2));
	if (dentry != root || !up ||
	    up == mount) /* the topmost mount, or one that is not mounted */
		return 1;
	w->dentry = word_at(mount + offset_unpack(w->of_mnt, 3));
	w->mnt = up + offset_unpack(w->of_mnt, 1);
	return 0;
}

INLINE void path_climb(char *p, struct path_work *w, u64 dentry, u64 mnt, u64 is_writing)
{
	w->dentry = dentry;
	w->mnt = mnt;
	w->is_writing = is_writing;
	loop_run(MAX_STEPS, path_step, p);
}

/* Appends as much of text as fits behind the n characters at offset top; returns the new length. */
INLINE u64 path_append(char *p, u64 top, u64 n, const char *text, u32 len)
{
#pragma clang loop unroll(full)
	for (u32 i = 0; i < len; i++) {
		u64 at = n + i, base = top;

		OPAQUE(at);
		/*
		 * The compared register must be the one that is used: Linux 6.1 does not track
		 * copies.
		 */
		OPAQUE(base);
		if (at >= cfg.strsize - 1 || at >= cfg.strsize || base > cfg.scratch_size)
			return at;
		p[base + at] = text[i];
	}
	return n + len;
}

INLINE u64 path_text(char *p, struct path_work *w, u64 dentry, u64 mnt, u64 is_deleted)
{
	static const char deleted[10] = " (deleted)";
	u64 top = w->top, n;

	w->len = 0;
	path_climb(p, w, dentry, mnt, 0);
	n = w->len;
	if (n)
		path_climb(p, w, dentry, mnt, 1);
	else
		n = path_append(p, top, 0, "/", 1);
	if (is_deleted)
		n = path_append(p, top, n, deleted, sizeof(deleted));
	return n < cfg.strsize - 1 ? n : cfg.strsize - 1;
}

/* Writes the path of a struct path, as the current process sees it, to a new string. */
u64 rt_d_path(struct rt_mach *m, u64 path, u64 of_dent, u64 of_mnt, u64 of_task)
{
	struct path_work *w;
	u64 dentry, mnt, top, fs, root, n;
	char *p;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p || !scratch_top(m, &top) || !string_take(m, top))
		return 0;
	if (bpf_probe_read_kernel(&mnt, 8, path + offset_unpack(of_task, 2)) ||
	    bpf_probe_read_kernel(&dentry, 8, path + offset_unpack(of_task, 3)))
		return fault(m, FAULT_BADADDR, path);
	w = WORK(p, struct path_work);
	w->of_dent = of_dent;
	w->of_mnt = of_mnt;
	w->top = top;
	fs = word_at(bpf_get_current_task() + offset_unpack(of_task, 0));
	root = fs + offset_unpack(of_task, 1);
	w->root_mnt = fs ? word_at(root + offset_unpack(of_task, 2)) : 0;
	w->root_dentry = fs ? word_at(root + offset_unpack(of_task, 3)) : 0;
	p[top] = 0;
	if (word_at(dentry + offset_unpack(of_dent, 0)) == dentry &&
	    word_at(mnt + offset_unpack(of_mnt, 0)) != dentry) { /* a pipe or a socket: no path */
		bpf_probe_read_kernel_str(p + top, cfg.strsize,
					  word_at(dentry + offset_unpack(of_dent, 1)));
		return m->scratch + top;
	}
	n = path_text(p, w, dentry, mnt,
		      !word_at(dentry + offset_unpack(of_dent, 3)) &&
			      word_at(mnt + offset_unpack(of_mnt, 0)) != dentry);
	OPAQUE(n);
	OPAQUE(top);
	if (n < cfg.strsize && top <= cfg.scratch_size)
		p[top + n] = 0;
	return m->scratch + top;
}

/* ---- arguments -------------------------------------------------------------------------- */

struct args_work {
	u64 top;
};

static long args_step(u64 i, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	u64 top = WORK(p, struct args_work)->top;

	if (i >= cfg.strsize || top > cfg.scratch_size)
		return 1;
	if (p[top + i] == 0)
		p[top + i] = ' ';
	return 0;
}

/*
 * Returns a string of the arguments with which the current process was executed, with blanks
 * between them.
 *
 * of: task_struct.mm, mm_struct.arg_start, arg_end
 */
u64 rt_execargs(struct rt_mach *m, u64 of)
{
	u64 mm, start, n, top;
	char *p;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p || !scratch_top(m, &top) || !string_take(m, top))
		return 0;
	p[top] = 0;
	mm = word_at(bpf_get_current_task() + offset_unpack(of, 0));
	start = mm ? word_at(mm + offset_unpack(of, 1)) : 0;
	n = start ? word_at(mm + offset_unpack(of, 2)) - start : 0;
	if (n == 0) /* kernel threads have no arguments */
		return m->scratch + top;
	if (n > cfg.strsize)
		n = cfg.strsize;
	OPAQUE(n);
	if (n > cfg.strsize || bpf_probe_read_user(p + top, n, start))
		return m->scratch + top;
	WORK(p, struct args_work)->top = top;
	loop_run(n - 1, args_step, p);
	n--;
	OPAQUE(n);
	if (n < cfg.strsize)
		p[top + n] = 0;
	return m->scratch + top;
}

/* ---- registers -------------------------------------------------------------------------- */

#define PT_REGS_BITS 5 /* size of an entry of the table: the index of a word in struct pt_regs */
#define PT_REGS_NONE 31
#define PER_WORD     12

u64 rt_uregs(struct rt_mach *m, u64 index, u64 t0, u64 t1, u64 t2)
{
	u64 word, regs, value = 0;

	if (!m)
		return 0;
	if (index >= 3 * PER_WORD)
		return fault(m, FAULT_ILLOP, 0);
	word = index < PER_WORD ? t0 : index < 2 * PER_WORD ? t1 : t2;
	word = word >> (index % PER_WORD * PT_REGS_BITS) & PT_REGS_NONE;
	if (word == PT_REGS_NONE)
		return fault(m, FAULT_ILLOP, 0);
	if (word == FRAME_PC && m->pc) /* the site of a relay */
		return m->pc;
	regs = bpf_task_pt_regs(bpf_get_current_task_btf());
	if (bpf_probe_read_kernel(&value, sizeof(value), regs + word * 8))
		return fault(m, FAULT_BADADDR, regs + word * 8);
	return value;
}
