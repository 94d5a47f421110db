/* SPDX-License-Identifier: MIT */
/*
 * Frames of a language: where threads find their innermost one (struct blob_frames).
 *
 * Code in the process reads them without a look at what is mapped (native/rt/site.c), so all that
 * the runtime's helper says of them is compared with the process first, while it is held:
 *
 * - The thread-local variable is at one distance from the thread block in all threads, and near it:
 *   it belongs to a library that was there when the program began, and each thread has it from its
 *   first instruction on. Variables of other libraries are made when a thread first uses them.
 * - The frames of each thread that has a context lie in its stack, and fill it from the innermost
 *   one to its end.
 * - The place of its innermost frame is one that the session can name.
 *
 * That tells nothing of later threads: one that has ended may keep the address of a context which
 * was freed, and still call functions of the C library. So a context is read only where the runtime
 * itself uses that of the thread: in its own file, in functions that hold its lock.
 *
 * Facts    the dynamic thread vector: ELF Handling For Thread-Local Storage, 3 and 4.4; its entries
 *          have 16 bytes in glibc, and all bits set where a block was not made yet.
 */
#include <sys/uio.h>

#include "arch/arch.h"
#include "inproc/impl.h"
#include "target/halt.h"

#define NEAR_MAX   65536 /* bytes of the variables of libraries that are there at the start */
#define VECTOR_AT  8	 /* in the thread block */
#define ENTRY_SIZE 16u
#define MODULE_MAX 4096u
#define OFFSET_MAX 4096u /* in a context, or a frame: such numbers are small */
#define WORDS_MAX  (1u << 28)

struct checking {
	struct inproc *p;
	struct inproc_frames said;
	struct blob_frames found;
	bool has_offset;    /* some thread has the variable */
	uint32_t ncontexts; /* threads that have a context */
};

static bool word_read(const struct checking *c, uint64_t addr, uint64_t *ret)
{
	struct iovec to = {ret, sizeof(*ret)};
	struct iovec from = {(void *)(uintptr_t)addr, sizeof(*ret)}; /* an address of the process */

	return addr % sizeof(*ret) == 0 &&
	       process_vm_readv(c->p->opts.pid, &to, 1, &from, 1, 0) == (ssize_t)sizeof(*ret);
}

static bool is_said_well(const struct inproc_frames *f)
{
	const uint32_t offsets[] = {f->frames.stack, f->frames.words, f->frames.top,
				    f->frames.size,  f->frames.code,  f->frames.at};
	bool is_good = f->module && f->module < MODULE_MAX && f->frames.size && f->frames.depth;

	for (uint32_t i = 0; i < ARRAY_LEN(offsets); i++)
		is_good = is_good && offsets[i] < OFFSET_MAX && offsets[i] % 8 == 0;
	return is_good && f->frames.code < f->frames.size && f->frames.at < f->frames.size;
}

/* Finds the variable of a thread; why not, or NULL. */
static const char *variable_find(struct checking *c, uint64_t block)
{
	uint64_t vector, module;
	int64_t off;

	if (!word_read(c, block + VECTOR_AT, &vector) ||
	    !word_read(c, vector + ENTRY_SIZE * c->said.module, &module) || !module || !~module)
		return "read lines of a runtime whose thread-local variables are made late";
	off = (int64_t)(module + c->said.variable - block);
	if (off >= 0 || off < -NEAR_MAX || off % 8 || (c->has_offset && off != c->found.context))
		return "read lines of a runtime whose thread-local variables have no fixed place";
	c->found.context = off;
	c->has_offset = true;
	return NULL;
}

static bool session_knows(const struct checking *c, uint64_t code, uint64_t at)
{
	const struct inproc_sites *s = &c->p->opts.sites;
	const struct ndata_site *site = s->site(s->ctx, c->p->opts.pid, code, at, true);

	return site && site->line;
}

/* Compares what is said of frames with those of a context. */
static bool context_check(struct checking *c, uint64_t context)
{
	const struct blob_frames *f = &c->found;
	uint64_t stack, words, frame, end, code = 0, at = 0;

	if (!word_read(c, context + f->stack, &stack) ||
	    !word_read(c, context + f->words, &words) || !word_read(c, context + f->top, &frame))
		return false;
	if (!stack && !frame)
		return true; /* it has no stack yet, or not any more */
	if (stack % 8 || frame % 8 || words > WORDS_MAX || words * 8 < f->size)
		return false;
	end = stack + words * 8;
	if (frame < stack || frame > end - f->size || (end - frame) % f->size)
		return false;
	c->ncontexts++;
	for (uint32_t i = 0; i < f->depth && frame < end - f->size && !at; i++, frame += f->size)
		if (!word_read(c, frame + f->code, &code) ||
		    (code && !word_read(c, frame + f->at, &at)))
			return false;
	return !at || session_knows(c, code, at);
}

static const char *thread_check(struct checking *c, const struct halt_thread *t)
{
	struct arch_regs regs;
	uint64_t context;
	const char *why;

	if (!t->is_stopped || !arch.regs_read(t->tid, &regs))
		return "read lines of a runtime, one of whose threads does not stop";
	if (!regs.thread_pointer) /* it has not begun: it will get the block of all others */
		return NULL;
	why = variable_find(c, regs.thread_pointer);
	if (why)
		return why;
	if (!word_read(c, regs.thread_pointer + (uint64_t)c->found.context, &context))
		return "read lines of a runtime whose thread-local variables cannot be read";
	if (context && !context_check(c, context))
		return "read lines of a runtime whose frames are not where they should be";
	return NULL;
}

void inproc_frames_find(struct inproc *p, const struct halt *h)
{
	const struct inproc_sites *s = &p->opts.sites;
	struct checking c = {.p = p};

	p->frames = (struct blob_frames){0};
	p->no_frames = "read lines of a language whose frames are not known";
	if (!s->find || !s->find(s->ctx, p->opts.pid, &c.said, &p->no_frames))
		return;
	c.found = c.said.frames;
	p->no_frames = is_said_well(&c.said) ? NULL : "read lines of a runtime of odd numbers";
	for (uint32_t i = 0; i < h->threads.len && !p->no_frames; i++)
		p->no_frames = thread_check(&c, &h->threads.data[i]);
	if (!p->no_frames && (!c.has_offset || (!c.ncontexts && !c.said.is_proven)))
		p->no_frames = "read lines of a runtime that runs in no thread yet";
	if (p->no_frames)
		return;
	p->frames = c.found;
	p->said = c.said;
}

/* Whether a place is in the runtime's file, and in a function there that uses the context. */
static bool is_inside(const struct inproc *p, const struct place_site *s)
{
	const struct proc_map *runtime = proc_maps_find(&p->maps, p->said.inside);
	const struct proc_map *map;
	uint64_t at;

	if (!runtime || !proc_map_has_file(runtime) || !proc_map_is_of(runtime, &s->file->inode))
		return false;
	map = proc_maps_find_off(&p->maps, &s->file->inode, s->off);
	if (!map)
		return false;
	at = map->start + (s->off - map->off);
	for (uint32_t i = 0; i < p->said.nunlocked; i++)
		if (at - p->said.unlocked[i].addr < MAX(p->said.unlocked[i].size, 1u))
			return false;
	return true;
}

const char *inproc_frames_lack(const struct inproc *p, const struct unit *u, uint32_t i)
{
	for (uint32_t k = 0; k < u->nprobes; k++) {
		const struct place_code *code = u->probes[k].code;

		for (uint32_t j = 0;
		     code && u->probes[k].mask[i / 64] >> (i % 64) & 1 && j < code->sites.len; j++)
			if (!is_inside(p, &code->sites.data[j]))
				return "read lines of a language outside of its runtime";
	}
	return NULL;
}
