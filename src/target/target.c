/* SPDX-License-Identifier: MIT */
/* What holds for all kinds of target. */
#include "target/target_impl.h"

#include <elf.h>
#include <errno.h>

#include "files/mapping.h"
#include "image/image.h"

void target_close(struct target *t)
{
	if (!t)
		return;
	t->ops->close(t);
	proc_maps_deinit(&t->maps);
	free(t);
}

bool target_has_ended(const struct target *t)
{
	return t->has_ended;
}

/* ---- fillers --------------------------------------------------------------------------------- */

pid_t target_proc_none(const struct target *t)
{
	(void)t;
	return 0;
}

bool target_who_none(struct target *t, pid_t tid, struct target_who *ret)
{
	(void)t;
	(void)tid;
	*ret = (struct target_who){0};
	return false;
}

size_t target_auxv_none(struct target *t, void *to, size_t size)
{
	(void)t;
	(void)to;
	(void)size;
	return 0;
}

struct err *target_maps_same(struct target *t, struct proc_maps *ret)
{
	proc_maps_copy(&t->maps, ret);
	return NULL;
}

void target_threads_none(struct target *t, target_tids *ret)
{
	(void)t;
	(void)ret;
}

bool target_signal_none(struct target *t, siginfo_t *ret)
{
	(void)t;
	(void)ret;
	return false;
}

struct err *target_regs_none(struct target *t, pid_t tid, struct arch_regs *ret)
{
	(void)ret;
	return err_new("thread %d of process %d is not held", (int)tid, (int)t->pid);
}

taddr target_touched_all(struct target *t, taddr addr, taddr end)
{
	(void)t;
	return MIN(addr, end);
}

size_t target_note_none(struct target *t, pid_t tid, uint32_t type, void *to, size_t size)
{
	(void)t;
	(void)tid;
	(void)type;
	(void)to;
	(void)size;
	return 0;
}

/* ---- what it is ------------------------------------------------------------------------------ */

pid_t target_pid(const struct target *t)
{
	return t->pid;
}

struct gate *target_gate(const struct target *t)
{
	return t->gate;
}

pid_t target_proc(const struct target *t)
{
	return t->ops->proc(t);
}

bool target_who(struct target *t, pid_t tid, struct target_who *ret)
{
	return t->ops->who(t, tid, ret);
}

bool target_signal(struct target *t, siginfo_t *ret)
{
	return t->ops->signal(t, ret);
}

size_t target_auxv(struct target *t, void *to, size_t size)
{
	return t->ops->auxv(t, to, size);
}

static void aux_take(struct target_aux *ret, uint64_t type, uint64_t value)
{
	if (type == AT_ENTRY)
		ret->entry = value;
	if (type == AT_BASE)
		ret->base = value;
	if (type == AT_SYSINFO_EHDR)
		ret->vdso = value;
}

/*
 * The auxiliary vector has words of the process's size. A vector of 32-bit words that is read as
 * 64-bit words contains no AT_ENTRY, so it is then read again.
 */
struct err *target_aux(struct target *t, struct target_aux *ret)
{
	union {
		Elf64_auxv_t wide[64];
		Elf32_auxv_t narrow[128];
	} av;
	size_t size = t->ops->auxv(t, &av, sizeof(av));

	*ret = (struct target_aux){0};
	if (!size)
		return err_new("the auxiliary vector of process %d cannot be read", (int)t->pid);
	ret->is_written = size >= sizeof(av.wide[0]) && av.wide[0].a_type != AT_NULL;
	for (size_t i = 0; i < size / sizeof(av.wide[0]); i++)
		aux_take(ret, av.wide[i].a_type, av.wide[i].a_un.a_val);
	if (ret->entry)
		return NULL;
	*ret = (struct target_aux){.is_narrow = true, .is_written = ret->is_written};
	for (size_t i = 0; i < size / sizeof(av.narrow[0]); i++)
		aux_take(ret, av.narrow[i].a_type, av.narrow[i].a_un.a_val);
	return NULL;
}

/* ---- memory and files ------------------------------------------------------------------------ */

const struct proc_maps *target_maps(const struct target *t)
{
	return &t->maps;
}

struct err *target_maps_now(struct target *t, struct proc_maps *ret)
{
	return t->ops->maps_now(t, ret);
}

struct err *target_refresh(struct target *t)
{
	struct proc_maps now;
	struct err *e = target_maps_now(t, &now);

	if (e)
		return e;
	proc_maps_deinit(&t->maps);
	t->maps = now;
	return NULL;
}

bool target_read(struct target *t, taddr addr, void *dst, size_t size)
{
	return t->ops->read(t, addr, dst, size);
}

taddr target_touched(struct target *t, taddr addr, taddr end)
{
	return addr < end ? t->ops->touched(t, addr, end) : end;
}

struct gate_file *target_open_map(struct target *t, const struct proc_map *m)
{
	struct mapping at;

	return t->ops->mapping(t, m, &at) ? mapping_open(t->gate, &at) : NULL;
}

struct image *target_image(struct target *t, struct image_set *s, const struct proc_map *m)
{
	struct mapping at;

	return t->ops->mapping(t, m, &at) ? image_open(s, t->gate, &at) : NULL;
}

const struct proc_map *target_file_at(const struct target *t, taddr addr)
{
	const struct proc_map *at = proc_maps_find(&t->maps, addr);

	if (!at || !proc_map_has_file(at))
		return NULL;
	for (uint32_t i = 0; i < t->maps.maps.len; i++)
		if (proc_map_is_same_file(&t->maps.maps.data[i], at))
			return &t->maps.maps.data[i];
	return NULL;
}

const struct proc_map *target_program(struct target *t)
{
	errno = 0;
	return t->ops->program(t);
}

/* ---- threads --------------------------------------------------------------------------------- */

void target_threads(struct target *t, target_tids *ret)
{
	t->ops->threads(t, ret);
}

struct err *target_regs(struct target *t, pid_t tid, struct arch_regs *ret)
{
	return t->ops->regs(t, tid, ret);
}

size_t target_regs_note(struct target *t, pid_t tid, uint32_t type, void *to, size_t size)
{
	return type ? t->ops->note(t, tid, type, to, size) : 0;
}
