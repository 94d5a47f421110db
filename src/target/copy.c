/* SPDX-License-Identifier: MIT */
/*
 * Copies a process: stops it, writes its memory and registers to a sparse core file, and lets it
 * go.
 *
 * What is copied is decided by page. The kernel marks in /proc/PID/pagemap which pages of a private
 * mapping are the process's own: those that it has written to. They are copied, whatever the
 * mapping allows now. All other pages of a mapping of a file are those of the file, and are read
 * from there later; of each file, the first page is copied, because of its build id. Of shared
 * memory, only code without a file is copied.
 *
 *     pages of a mapping of a file   F C C F F F C      C: own, F: of the file
 *     segments                      |0|2,     |1|      copied pages; the rest follows from the file
 *
 * A mapping without a file is one segment with holes, which cost no room, up to its end, unless a
 * hole is so large that the file could not have it. While the process stands still, only memory,
 * registers and notes are read; headers are written when it runs on.
 *
 * Facts    Linux Documentation/admin-guide/mm/pagemap.rst; fs/binfmt_elf.c (the order of notes: of
 *          the first thread, of the process, of the other threads).
 */
#include "target/copy.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/procfs.h>
#include <sys/uio.h>

#include "base/str.h"
#include "files/gate.h"
#include "target/scratch.h"
#include "target/target_impl.h"

#define PAGE	     4096u
#define PAGES_READ   (1u << 16)		 /* entries of pagemap at once */
#define CHUNK	     (1u << 20)		 /* bytes of memory at once */
#define HOLE_MAX     ((uint64_t)1 << 30) /* of a segment without a file */
#define SEGMENTS_MAX 60000u		 /* fewer than PN_XNUM */
#define RUNS_MAX     (1u << 24)
#define VECTOR_MAX   65536u /* bytes of floating point and vector registers */
#define FILE_MAX     4096u  /* entries of NT_FILE */

#define PAGE_OWN(entry) ((entry) >> 62 && !((entry) >> 61 & 1)) /* in memory or swapped */

struct segment {
	taddr start, end;
	uint64_t copied; /* bytes from its start that the core file has */
	uint64_t off;	 /* where */
	uint32_t map;
};

/* Pages to copy, of one segment. */
struct run {
	taddr start, end;
	uint32_t segment;
};

struct copying {
	struct target *t;
	VEC(struct segment) segments;
	VEC(struct run) runs;
	struct strbuf notes;
	const siginfo_t *why; /* NULL: no signal */
	struct scratch to;
	uint64_t size; /* of the core file */
	uint64_t bytes;
	uint32_t nthreads;
	bool is_narrow;
};

/* ---- which pages ----------------------------------------------------------------------------- */

static struct segment *segment_begin(struct copying *c, uint32_t map, taddr start, taddr end)
{
	vec_push(&c->segments, (struct segment){.start = start, .end = end, .map = map});
	return vec_last(&c->segments);
}

/*
 * Adds pages that are to be copied: to the segment of the mapping, or as the begin of the next one,
 * where what lies between them belongs to the file, or is a large hole.
 */
static void pages_add(struct copying *c, uint32_t i, taddr start, taddr end)
{
	const struct proc_map *m = &target_maps(c->t)->maps.data[i];
	struct segment *s = vec_last(&c->segments);
	taddr have = s->start + s->copied;
	struct run *last = c->runs.len ? vec_last(&c->runs) : NULL;
	bool is_apart = start > have && (proc_map_has_file(m) || start - have > HOLE_MAX);

	if (is_apart && start > s->start) {
		s->end = start;
		s = segment_begin(c, i, start, m->end);
	}
	if (last && last->segment == c->segments.len - 1 && last->end >= start)
		last->end = MAX(last->end, end);
	else
		vec_push(&c->runs, (struct run){start, end, c->segments.len - 1});
	s->copied = MAX(s->copied, end - s->start);
}

/* Shared memory that has code and no file: some runtimes write their code at another address. */
static bool is_shared_code(const struct proc_map *m)
{
	return m->is_shared && m->is_exec && strncmp(m->path, "/memfd:", 7) == 0;
}

/*
 * Marks the pages of shared code that are in memory, by this mapping or by another one of the file:
 * reading the others would give the process memory for them.
 */
static void shared_mark(struct copying *c, int pagemap, const struct proc_map *m, taddr at,
			uint64_t *entries, uint64_t n)
{
	const struct proc_maps *maps = target_maps(c->t);
	CLEANUP(free) uint64_t *others = xcalloc(n, sizeof(*others));
	uint64_t off = m->off + (at - m->start);

	for (uint64_t k = 0; k < n; k++)
		entries[k] = entries[k] >> 62 ? 1ull << 63 : 0;
	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *o = &maps->maps.data[i];
		uint64_t from = MAX(off, o->off),
			 to = MIN(off + n * PAGE, o->off + (o->end - o->start));
		ssize_t got;

		if (o == m || !proc_map_is_same_file(o, m) || from >= to)
			continue;
		got = pread(pagemap, others, (to - from) / PAGE * sizeof(*others),
			    (off_t)((o->start + (from - o->off)) / PAGE * sizeof(*others)));
		for (uint64_t k = 0; got > 0 && k < (uint64_t)got / sizeof(*others); k++)
			if (others[k] >> 62)
				entries[(from - off) / PAGE + k] = 1ull << 63;
	}
}

/* Finds the pages of a mapping that are the process's own. */
static void mapping_scan(struct copying *c, int pagemap, uint32_t i)
{
	const struct proc_map *m = &target_maps(c->t)->maps.data[i];
	CLEANUP(free) uint64_t *entries = xmalloc(PAGES_READ * sizeof(*entries));
	uint64_t n;

	for (taddr at = m->start; at < m->end && c->runs.len < RUNS_MAX; at += n * PAGE) {
		size_t want = (size_t)MIN((m->end - at) / PAGE, (uint64_t)PAGES_READ);
		ssize_t got = pread(pagemap, entries, want * sizeof(*entries),
				    (off_t)(at / PAGE * sizeof(*entries)));

		n = got > 0 ? (uint64_t)got / sizeof(*entries) : 0;
		if (!n)
			return;
		if (m->is_shared)
			shared_mark(c, pagemap, m, at, entries, n);
		for (uint64_t k = 0, first; k < n; k++) {
			for (first = k; k < n && PAGE_OWN(entries[k]); k++)
				;
			if (k > first)
				pages_add(c, i, at + first * PAGE, at + k * PAGE);
		}
	}
}

/*
 * What follows the last page of a mapping without a file is zeros, as the holes before it are; of a
 * segment, the core file has them too, if they are not too many.
 */
static void tail_add(struct copying *c)
{
	struct segment *s = vec_last(&c->segments);

	if (s->copied && s->end - s->start - s->copied <= HOLE_MAX)
		s->copied = s->end - s->start;
}

/* The mapping at which the text of /proc/PID/smaps is now, if the line begins one. */
static void smaps_line(const struct proc_maps *maps, const char *line, uint32_t *at, uint8_t *own)
{
	unsigned long long start, end, kb;

	if (sscanf(line, "%llx-%llx ", &start, &end) == 2) {
		while (*at < maps->maps.len && maps->maps.data[*at].start < start)
			(*at)++;
	} else if (*at < maps->maps.len && (sscanf(line, "Anonymous: %llu kB", &kb) == 1 ||
					    sscanf(line, "Swap: %llu kB", &kb) == 1)) {
		own[*at] |= kb > 0;
	}
}

/*
 * Sets own for mappings that have pages of the process's own: most have none, and the large ones
 * are reservations, whose entries in pagemap take long to read.
 */
static bool smaps_read(const struct copying *c, uint8_t *own)
{
	CLEANUP(file) FILE *f = NULL;
	CLEANUP(free) char *line = NULL;
	size_t cap = 0;
	uint32_t at = 0;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/smaps", (int)target_pid(c->t));
	f = fopen(path, "re");
	while (f && getline(&line, &cap, f) > 0)
		smaps_line(target_maps(c->t), line, &at, own);
	return f;
}

/* Lists segments and the pages to copy. */
static struct err *pages_find(struct copying *c)
{
	const struct proc_maps *maps = target_maps(c->t);
	CLEANUP(free) uint8_t *own = xcalloc(maps->maps.len + 1, 1);
	CLEANUP(fd) int pagemap = -1;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)target_pid(c->t));
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	if (pagemap < 0 || !smaps_read(c, own))
		return err_sys(errno, "cannot see which pages process %d has",
			       (int)target_pid(c->t));
	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *m = &maps->maps.data[i];
		bool has_file = proc_map_has_file(m);

		if (strcmp(m->path, "[vsyscall]") == 0 || strncmp(m->path, "[vvar", 5) == 0)
			continue;
		(void)segment_begin(c, i, m->start, m->end);
		if (strcmp(m->path, "[vdso]") == 0)
			pages_add(c, i, m->start, m->end);
		else if (has_file && !m->off && gate_is_dev_harmless(c->t->gate, m->dev))
			pages_add(c, i, m->start, MIN(m->start + PAGE, m->end));
		if (m->is_shared ? is_shared_code(m) : own[i])
			mapping_scan(c, pagemap, i);
		if (!has_file && !m->is_shared)
			tail_add(c);
	}
	if (c->segments.len > SEGMENTS_MAX || c->runs.len >= RUNS_MAX)
		return err_new("the memory of process %d is in too many pieces",
			       (int)target_pid(c->t));
	return NULL;
}

/* ---- notes ----------------------------------------------------------------------------------- */

static void note_add(struct copying *c, const char *name, uint32_t type, const void *desc,
		     size_t size)
{
	Elf64_Nhdr n = {(uint32_t)strlen(name) + 1, (uint32_t)size, type};

	strbuf_add(&c->notes, (const char *)&n, sizeof(n));
	strbuf_add(&c->notes, name, n.n_namesz);
	strbuf_pad(&c->notes, '\0', -n.n_namesz % 4);
	strbuf_add(&c->notes, desc, size);
	strbuf_pad(&c->notes, '\0', -n.n_descsz % 4);
}

/* A thread that waits in the kernel and does not stop is left out: it has no registers. */
static void thread_add(struct copying *c, pid_t tid, const struct target_who *who)
{
	int signal = c->why ? c->why->si_signo : 0; /* as the kernel says it of all threads */
	struct elf_prstatus st = {.pr_info.si_signo = signal,
				  .pr_cursig = (short)signal,
				  .pr_pid = tid,
				  .pr_ppid = who->ppid,
				  .pr_fpvalid = 1};
	CLEANUP(free) uint8_t *vector = xmalloc(VECTOR_MAX);
	size_t n = target_regs_note(c->t, tid, NT_PRSTATUS, &st.pr_reg, sizeof(st.pr_reg));
	elf_fpregset_t fp;

	if (n != sizeof(st.pr_reg)) {
		c->is_narrow |= n != 0;
		return;
	}
	c->nthreads++;
	note_add(c, "CORE", NT_PRSTATUS, &st, sizeof(st));
	if (target_regs_note(c->t, tid, NT_PRFPREG, &fp, sizeof(fp)) == sizeof(fp))
		note_add(c, "CORE", NT_PRFPREG, &fp, sizeof(fp));
	n = target_regs_note(c->t, tid, arch.elf.vector_note, vector, VECTOR_MAX);
	if (n)
		note_add(c, "LINUX", arch.elf.vector_note, vector, n);
}

static void process_add(struct copying *c, const struct target_who *who)
{
	struct elf_prpsinfo info = {.pr_pid = who->pid,
				    .pr_ppid = who->ppid,
				    .pr_uid = who->uid,
				    .pr_gid = who->gid,
				    .pr_sname = who->state ? who->state : 'R'};
	uint8_t auxv[4096];
	size_t n = target_auxv(c->t, auxv, sizeof(auxv));

	memcpy(info.pr_fname, who->name, MIN(sizeof(info.pr_fname) - 1, strlen(who->name)));
	memcpy(info.pr_psargs, who->args, MIN(sizeof(info.pr_psargs) - 1, strlen(who->args)));
	note_add(c, "CORE", NT_PRPSINFO, &info, sizeof(info));
	if (c->why)
		note_add(c, "CORE", NT_SIGINFO, c->why, sizeof(*c->why));
	if (n)
		note_add(c, "CORE", NT_AUXV, auxv, n);
}

/* NT_FILE: the number of entries, the size of a page, entries, then names. */
static void files_add(struct copying *c)
{
	const struct proc_maps *maps = target_maps(c->t);
	uint64_t head[2] = {0, PAGE};
	struct strbuf desc = {0}, names = {0};

	strbuf_add(&desc, (const char *)head, sizeof(head));
	for (uint32_t i = 0; i < maps->maps.len && head[0] < FILE_MAX; i++) {
		const struct proc_map *m = &maps->maps.data[i];
		uint64_t entry[3] = {m->start, m->end, m->off / PAGE};

		if (!proc_map_has_file(m) || m->path[0] != '/')
			continue;
		head[0]++;
		strbuf_add(&desc, (const char *)entry, sizeof(entry));
		strbuf_add(&names, m->path, strlen(m->path) + 1);
	}
	memcpy(desc.data, head, sizeof(head));
	strbuf_add(&desc, strbuf_text(&names), names.len);
	note_add(c, "CORE", NT_FILE, desc.data, desc.len);
	strbuf_deinit(&desc);
	strbuf_deinit(&names);
}

/* The chosen thread is the first one, and the notes of the process stand behind it. */
static struct err *notes_make(struct copying *c, pid_t chosen)
{
	target_tids tids = {0};
	struct target_who who;

	if (!target_who(c->t, chosen, &who))
		return err_new("process %d has ended", (int)target_pid(c->t));
	thread_add(c, chosen, &who);
	process_add(c, &who);
	files_add(c);
	target_threads(c->t, &tids);
	for (uint32_t i = 0; i < tids.len; i++)
		if (tids.data[i] != chosen)
			thread_add(c, tids.data[i], &who);
	vec_deinit(&tids);
	if (c->is_narrow)
		return err_new("process %d has words of 32 bits", (int)who.pid);
	return c->nthreads ? NULL
			   : err_new("process %d has not stopped: it waits in the kernel, where "
				     "nothing interrupts it",
				     (int)who.pid);
}

/* ---- the file -------------------------------------------------------------------------------- */

static uint64_t headers_size(const struct copying *c)
{
	return sizeof(Elf64_Ehdr) + ((uint64_t)c->segments.len + 1) * sizeof(Elf64_Phdr);
}

/* Decides where in the file each segment is: behind headers and notes. */
static void file_plan(struct copying *c)
{
	uint64_t at = (headers_size(c) + c->notes.len + PAGE - 1) / PAGE * PAGE;

	for (uint32_t i = 0; i < c->segments.len; i++) {
		c->segments.data[i].off = at;
		at += c->segments.data[i].copied;
	}
	c->size = at;
}

/* Memory without any rights, such as a page that guards a stack, needs the other way. */
static bool memory_read(struct copying *c, int mem, taddr at, void *to, size_t size)
{
	struct iovec here = {to, size}, there = {(void *)(uintptr_t)at, size};

	return process_vm_readv(target_pid(c->t), &here, 1, &there, 1, 0) == (ssize_t)size ||
	       (mem >= 0 && pread(mem, to, size, (off_t)at) == (ssize_t)size);
}

/* Copies a part of a run. Pages that cannot be read, for want of memory for them, stay zeros. */
static struct err *chunk_copy(struct copying *c, int mem, uint8_t *buf, taddr at, size_t size,
			      uint64_t off)
{
	if (!memory_read(c, mem, at, buf, size)) {
		memset(buf, 0, size);
		for (size_t k = 0; k < size; k += PAGE)
			if (!memory_read(c, mem, at + k, buf + k, PAGE))
				memset(buf + k, 0, PAGE);
	}
	c->bytes += size;
	return scratch_write(&c->to, buf, size, off);
}

static struct err *memory_copy(struct copying *c)
{
	CLEANUP(free) uint8_t *buf = xmalloc(CHUNK);
	CLEANUP(fd) int mem = -1;
	struct err *e = NULL;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)target_pid(c->t));
	mem = open(path, O_RDONLY | O_CLOEXEC);
	for (uint32_t i = 0; i < c->runs.len && !e; i++) {
		const struct run *r = &c->runs.data[i];
		const struct segment *s = &c->segments.data[r->segment];
		size_t n;

		for (taddr at = r->start; at < r->end && !e; at += n) {
			n = (size_t)MIN(r->end - at, (uint64_t)CHUNK);
			e = chunk_copy(c, mem, buf, at, n, s->off + (at - s->start));
		}
	}
	return e;
}

/* The process is not needed any more, but for the list of its mappings. */
static struct err *headers_write(struct copying *c, const struct proc_maps *maps)
{
	uint32_t n = c->segments.len + 1;
	CLEANUP(free) Elf64_Phdr *ph = xcalloc(n, sizeof(*ph));
	Elf64_Ehdr eh = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				     EV_CURRENT},
			 .e_type = ET_CORE,
			 .e_machine = arch.elf.machine,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(eh),
			 .e_ehsize = sizeof(eh),
			 .e_phentsize = sizeof(*ph),
			 .e_phnum = (uint16_t)n};
	struct err *e;

	ph[0] = (Elf64_Phdr){.p_type = PT_NOTE,
			     .p_offset = headers_size(c),
			     .p_filesz = c->notes.len,
			     .p_align = 4};
	for (uint32_t i = 0; i < c->segments.len; i++) {
		const struct segment *s = &c->segments.data[i];
		const struct proc_map *m = &maps->maps.data[s->map];

		ph[i + 1] = (Elf64_Phdr){.p_type = PT_LOAD,
					 .p_flags = PF_R | (m->is_exec ? (Elf64_Word)PF_X : 0) |
						    (m->is_write ? (Elf64_Word)PF_W : 0),
					 .p_offset = s->off,
					 .p_vaddr = s->start,
					 .p_filesz = s->copied,
					 .p_memsz = s->end - s->start,
					 .p_align = PAGE};
	}
	e = scratch_write(&c->to, &eh, sizeof(eh), 0);
	if (!e)
		e = scratch_write(&c->to, ph, n * sizeof(*ph), sizeof(eh));
	if (!e)
		e = scratch_write(&c->to, strbuf_text(&c->notes), c->notes.len, headers_size(c));
	return e ? e : scratch_end(&c->to, c->size);
}

/* Does what the process has to stand still for. */
static struct err *process_read(struct copying *c, pid_t tid)
{
	struct err *e = notes_make(c, tid);

	if (!e)
		e = pages_find(c);
	if (e)
		return e;
	file_plan(c);
	return memory_copy(c);
}

static void copying_deinit(struct copying *c)
{
	vec_deinit(&c->segments);
	vec_deinit(&c->runs);
	strbuf_deinit(&c->notes);
}

/* Copies what the process has to stand still for; headers are written later. */
static struct err *held_copy(struct copying *c, pid_t tid, struct proc_maps *maps)
{
	struct err *e = process_read(c, tid);

	proc_maps_copy(target_maps(c->t), maps);
	return e;
}

/* Ends the copy, and opens it if there was no error. */
static struct err *copy_end(struct copying *c, pid_t tid, struct proc_maps *maps, pid_t pid,
			    struct gate *g, struct err *e, struct target **ret)
{
	CLEANUP(free) char *name = NULL;

	if (!e)
		e = headers_write(c, maps);
	proc_maps_deinit(maps);
	copying_deinit(c);
	if (e) {
		scratch_close(&c->to);
		return err_wrap(e, "cannot copy process %d", (int)tid);
	}
	if (asprintf(&name, "copy of process %d", (int)pid) < 0)
		oom();
	return target_core_of(fd_take(&c->to.fd), name, g, ret);
}

struct err *target_save_held(struct target *held, pid_t tid, const siginfo_t *why, const char *path,
			     struct target_copied *stats)
{
	struct copying c = {.t = held, .to.fd = -1, .why = why};
	struct err *e = scratch_create(path, &c.to);

	if (!e)
		e = process_read(&c, tid);
	if (!e)
		e = headers_write(&c, target_maps(held));
	stats->bytes = c.bytes;
	copying_deinit(&c);
	if (!e) {
		(void)close(c.to.fd);
		return NULL;
	}
	scratch_close(&c.to);
	return err_wrap(e, "cannot copy process %d", (int)target_pid(held));
}

struct err *target_copy(pid_t tid, const char *path, struct gate *g, struct target_copied *stats,
			struct target **ret)
{
	struct copying c = {.to.fd = -1};
	struct proc_maps maps = {0};
	struct err *e = scratch_create(path, &c.to);
	uint64_t begin = now_ns();
	pid_t pid = tid;

	if (!e)
		e = target_hold(tid, g, &c.t);
	if (!e) {
		e = held_copy(&c, tid, &maps);
		pid = target_pid(c.t);
		target_close(c.t);
		stats->stopped_ns = now_ns() - begin;
		stats->bytes = c.bytes;
	}
	return copy_end(&c, tid, &maps, pid, g, e, ret);
}

struct err *target_copy_held(struct target *held, pid_t tid, struct gate *g, struct target **ret)
{
	struct copying c = {.to.fd = -1, .t = held};
	struct proc_maps maps = {0};
	struct err *e = scratch_create(NULL, &c.to);

	if (!e)
		e = held_copy(&c, tid, &maps);
	return copy_end(&c, tid, &maps, target_pid(held), g, e, ret);
}
