/* SPDX-License-Identifier: MIT */
/*
 * A core file of a 64-bit process: what it had mapped, its memory, its threads with their
 * registers, its auxiliary vector, and the signal that ended it.
 *
 * Nothing in the file is trusted: what it claims is bounded before it is read, and what is damaged
 * is left out, or refused where nothing is left without it.
 *
 * Owns     the file, and the files that memory is read from.
 * Facts    Linux fs/binfmt_elf.c (notes: those of the first thread, then of the process, then of
 *          the other threads), include/uapi/linux/elfcore.h. gcore writes the same notes in another
 *          order.
 */
#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <sys/procfs.h>
#include <sys/stat.h>

#include "base/str.h"
#include "files/gate.h"
#include "files/mapping.h"
#include "target/seekable.h"
#include "target/target_impl.h"
#include "target/unpack.h"

#define SEGMENTS_MAX 65536u
#define NOTES_MAX    (64u << 20)
#define FILES_MAX    4096u
#define THREADS_MAX  65536u
#define OPEN_MAX     1024 /* files that memory is read from */
#define AUXV_MAX     1024 /* bytes */

#ifndef NT_SIGINFO
#define NT_SIGINFO 0x53494749
#endif

static const struct target_ops core_ops;

struct segment {
	taddr start, end;
	uint64_t off, in_file; /* bytes of it that the core file has */
	bool is_exec, is_write;
};

/* Where the file has the contents of a note. */
struct place {
	uint64_t off;
	uint32_t size; /* 0: there is no such note */
};

struct thread {
	pid_t tid;
	struct arch_regs regs;
	struct place basic, vector; /* NT_PRFPREG, arch.elf.vector_note */
};

struct core {
	struct target t; /* its maps have the numbers of the segments */
	struct gate_file *file;
	int fd;			 /* the file's descriptor, if it is ours; else -1 */
	char *damage;		 /* what is wrong with the compressed stream; NULL: nothing */
	struct seekable *packed; /* file has what was unpacked of it; NULL: it has all */
	struct target_who who;
	VEC(struct thread) threads;
	bool has_signal;
	siginfo_t signal;
	uint8_t auxv[AUXV_MAX];
	size_t auxv_size;
	VEC(struct segment) segments;  /* ascending, as the kernel writes them */
	VEC(struct gate_file *) files; /* by number of the map's file; NULL: not opened */
};

static struct core *core_of(struct target *t)
{
	return (struct core *)t;
}

static void range_add(struct core *c, const struct segment *s)
{
	vec_push(&c->segments, *s);
	vec_push(&c->t.maps.maps, (struct proc_map){.start = s->start,
						    .end = s->end,
						    .path = "",
						    .in_core = s->in_file,
						    .is_exec = s->is_exec,
						    .is_write = s->is_write});
}

static bool bytes_read(struct core *c, void *to, size_t size, uint64_t off)
{
	return !(c->packed && !seekable_need(c->packed, off, size)) &&
	       gate_file_read(c->file, to, size, off) == (ssize_t)size;
}

/* ---- notes ----------------------------------------------------------------------------------- */

static void status_read(struct core *c, const uint8_t *desc, size_t size)
{
	struct elf_prstatus st;
	struct thread t = {0}; /* an architecture fills only the words it has */

	if (size < sizeof(st) || c->threads.len >= THREADS_MAX)
		return;
	memcpy(&st, desc, sizeof(st));
	t.tid = st.pr_pid;
	if (arch.regs_of_core(&st.pr_reg, sizeof(st.pr_reg), &t.regs))
		vec_push(&c->threads, t);
}

static void info_read(struct core *c, const uint8_t *desc, size_t size)
{
	struct elf_prpsinfo info;
	struct target_who *w = &c->who;

	if (size < sizeof(info))
		return;
	memcpy(&info, desc, sizeof(info));
	w->pid = info.pr_pid;
	w->ppid = info.pr_ppid;
	w->uid = info.pr_uid;
	w->gid = info.pr_gid;
	(void)snprintf(w->name, sizeof(w->name), "%.*s", (int)sizeof(info.pr_fname), info.pr_fname);
	(void)snprintf(w->args, sizeof(w->args), "%.*s", (int)sizeof(info.pr_psargs),
		       info.pr_psargs);
}

/* Whether the kernel dumps a process for a signal: signal(7). */
static bool is_dumped_for(int sig)
{
	static const uint8_t list[] = {SIGQUIT, SIGILL,	 SIGTRAP, SIGABRT, SIGBUS,
				       SIGFPE,	SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS};

	return sig > 0 && sig < 128 && memchr(list, sig, sizeof(list));
}

/*
 * The first one is of the thread that was dumped first. gcore writes those by which its debugger
 * has stopped the threads.
 */
static void signal_read(struct core *c, const uint8_t *desc, size_t size)
{
	if (size < sizeof(c->signal) || c->has_signal)
		return;
	memcpy(&c->signal, desc, sizeof(c->signal));
	c->has_signal = is_dumped_for(c->signal.si_signo);
}

static void auxv_read(struct core *c, const uint8_t *desc, size_t size)
{
	c->auxv_size = MIN(size, sizeof(c->auxv));
	memcpy(c->auxv, desc, c->auxv_size);
}

/* gcore leaves code out that a file has: only the note says that it was mapped. */
static void code_add(struct core *c, const uint64_t *range)
{
	const struct segment s = {.start = range[0], .end = range[1], .is_exec = true};

	if (s.end <= s.start || c->segments.len >= SEGMENTS_MAX)
		return;
	for (uint32_t i = 0; i < c->segments.len; i++)
		if (c->segments.data[i].start < s.end && s.start < c->segments.data[i].end)
			return;
	range_add(c, &s);
}

/* The file of a segment, and from where in it. */
static void map_fill(struct core *c, const uint64_t *range, uint64_t page, const char *path,
		     uint32_t number)
{
	for (uint32_t i = 0; i < c->t.maps.maps.len; i++) {
		struct proc_map *m = &c->t.maps.maps.data[i];

		if (m->start < range[0] || m->end > range[1])
			continue;
		m->path = arena_strdup(c->t.maps.arena, path);
		m->off = range[2] * page + (m->start - range[0]);
		m->file = number;
		m->is_shared = strcmp(path, "/dev/zero (deleted)") == 0;
	}
}

/*
 * NT_FILE: the number of entries, the size of a page, three words an entry (start, end, page of the
 * file), then the names. Equal names get one number, which stands for the inode.
 */
static void files_read(struct core *c, const uint8_t *desc, size_t size)
{
	const char *names[FILES_MAX];
	uint64_t head[2], n;
	uint32_t nnames = 0, k;
	const char *name;

	if (size < sizeof(head))
		return;
	memcpy(head, desc, sizeof(head));
	if ((size - sizeof(head)) / 24 < head[0] || !c->segments.len)
		return;
	n = MIN(head[0], (uint64_t)FILES_MAX);
	name = (const char *)desc + sizeof(head) + 24 * head[0];
	for (uint64_t i = 0; i < n; i++) {
		size_t room = (size_t)((const char *)desc + size - name), len = strnlen(name, room);
		uint64_t range[3];

		if (len == room)
			return;
		for (k = 0; k < nnames && strcmp(names[k], name) != 0; k++)
			;
		if (k == nnames)
			names[nnames++] = name;
		memcpy(range, desc + sizeof(head) + 24 * i, sizeof(range));
		code_add(c, range);
		map_fill(c, range, head[1], name, k + 1);
		name += len + 1;
	}
}

/* Notes of other registers stand behind the first one of their thread. */
static void registers_place(struct core *c, uint32_t type, const struct place *at)
{
	struct thread *t = c->threads.len ? vec_last(&c->threads) : NULL;

	if (t && type == NT_PRFPREG && !t->basic.size)
		t->basic = *at;
	else if (t && type == arch.elf.vector_note && !t->vector.size)
		t->vector = *at;
}

static void note_read(struct core *c, uint32_t type, const uint8_t *desc, const struct place *at)
{
	size_t size = at->size;

	switch (type) {
	case NT_PRSTATUS: status_read(c, desc, size); break;
	case NT_PRPSINFO: info_read(c, desc, size); break;
	case NT_SIGINFO: signal_read(c, desc, size); break;
	case NT_AUXV: auxv_read(c, desc, size); break;
	case NT_FILE: files_read(c, desc, size); break;
	default: registers_place(c, type, at); break;
	}
}

static void notes_read(struct core *c, uint64_t off, uint64_t size)
{
	CLEANUP(free) uint8_t *all = size <= NOTES_MAX ? xmalloc(size + 1) : NULL;
	uint64_t at = 0;

	if (!all || !bytes_read(c, all, size, off))
		return;
	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;
		uint64_t name, desc;

		memcpy(&n, all + at, sizeof(n));
		name = at + sizeof(n);
		desc = name + ((n.n_namesz + 3ull) & ~3ull);
		if (desc > size || n.n_descsz > size - desc)
			return;
		note_read(c, n.n_type, all + desc, &(struct place){off + desc, n.n_descsz});
		at = MIN(desc + ((n.n_descsz + 3ull) & ~3ull), size);
	}
}

/* ---- segments -------------------------------------------------------------------------------- */

static void segment_add(struct core *c, const Elf64_Phdr *ph)
{
	const struct segment *last = c->segments.len ? vec_last(&c->segments) : NULL;
	struct segment s = {.start = ph->p_vaddr,
			    .end = ph->p_vaddr + ph->p_memsz,
			    .off = ph->p_offset,
			    .in_file = MIN(ph->p_filesz, ph->p_memsz),
			    .is_exec = ph->p_flags & PF_X,
			    .is_write = ph->p_flags & PF_W};

	if (s.end <= s.start || (last && s.start < last->end))
		return;
	range_add(c, &s);
}

static int by_start(const void *a, const void *b)
{
	const struct segment *s = a, *t = b;

	return s->start < t->start ? -1 : s->start > t->start;
}

static int map_by_start(const void *a, const void *b)
{
	const struct proc_map *s = a, *t = b;

	return s->start < t->start ? -1 : s->start > t->start;
}

static struct err *headers_read(struct core *c, const char *path)
{
	CLEANUP(free) Elf64_Phdr *ph = NULL;
	struct target_cut cut;
	Elf64_Ehdr eh;

	if (!bytes_read(c, &eh, sizeof(eh), 0) || memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh.e_type != ET_CORE)
		return err_new("'%s' is no core file", path);
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_phentsize != sizeof(*ph) ||
	    eh.e_phnum >= SEGMENTS_MAX - 1)
		return err_new("'%s' is no core file of a 64-bit process", path);
	if (eh.e_machine != arch.elf.machine)
		return err_new("'%s' is a core file of another processor", path);
	ph = xmalloc((size_t)eh.e_phnum * sizeof(*ph) + 1);
	if (!bytes_read(c, ph, (size_t)eh.e_phnum * sizeof(*ph), eh.e_phoff))
		return err_new("the core file '%s' is damaged", path);
	for (uint32_t i = 0; i < eh.e_phnum; i++)
		if (ph[i].p_type == PT_LOAD)
			segment_add(c, &ph[i]);
	for (uint32_t i = 0; i < eh.e_phnum; i++)
		if (ph[i].p_type == PT_NOTE)
			notes_read(c, ph[i].p_offset, ph[i].p_filesz);
	if (!c->segments.len)
		return err_new("the core file '%s' has no memory", path);
	qsort(c->segments.data, c->segments.len, sizeof(*c->segments.data), by_start);
	qsort(c->t.maps.maps.data, c->t.maps.maps.len, sizeof(*c->t.maps.maps.data), map_by_start);
	return c->threads.len ? NULL
			      : err_new("the core file '%s' has no registers of a thread%s", path,
					target_core_cut(&c->t, &cut) ? ": it is cut" : "");
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool core_mapping(const struct target *t, const struct proc_map *m, struct mapping *ret)
{
	(void)t;
	*ret = (struct mapping){.path = m->path, .has_root = true, .root = -1};
	errno = m->is_stale ? ESTALE : ENOENT;
	return m->file && m->path[0] == '/' && !m->is_stale;
}

/* The file of a mapping, kept open for its memory. */
static struct gate_file *file_of(struct core *c, const struct proc_map *m)
{
	if (!m->file || m->file > OPEN_MAX || m->is_stale)
		return NULL;
	while (c->files.len < m->file)
		vec_push(&c->files, NULL);
	if (!c->files.data[m->file - 1])
		c->files.data[m->file - 1] = target_open_map(&c->t, m);
	return c->files.data[m->file - 1];
}

/* ---- files that have changed ----------------------------------------------------------------- */

#define ID_MAX	     64	  /* bytes of a build id that are compared */
#define ID_NOTES_MAX 4096 /* bytes of notes that are searched for it */
#define ID_PHDRS_MAX 128

/* The start of an ELF file: of segment i of the core file, or, if file is set, of that file. */
struct start {
	struct core *c;
	uint32_t i;
	struct gate_file *file;
};

static bool start_read(const struct start *s, uint64_t off, void *to, size_t size)
{
	const struct segment *seg;

	if (s->file)
		return gate_file_read(s->file, to, size, off) == (ssize_t)size;
	seg = &s->c->segments.data[s->i];
	return size <= seg->in_file && off <= seg->in_file - size &&
	       bytes_read(s->c, to, size, seg->off + off);
}

/* Finds the build id in notes; returns its size, 0 = there is none. */
static size_t id_find(const uint8_t *notes, size_t size, uint8_t ret[ID_MAX])
{
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;
		uint64_t name = at + sizeof(n), desc;

		memcpy(&n, notes + at, sizeof(n));
		desc = name + ((n.n_namesz + 3ull) & ~3ull);
		if (desc > size || n.n_descsz > size - desc)
			return 0;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    memcmp(notes + name, ELF_NOTE_GNU, n.n_namesz) == 0 && n.n_descsz <= ID_MAX) {
			memcpy(ret, notes + desc, n.n_descsz);
			return n.n_descsz;
		}
		at = MIN(desc + ((n.n_descsz + 3ull) & ~3ull), size);
	}
	return 0;
}

static bool start_is_elf(const struct start *s)
{
	char ident[SELFMAG];

	return start_read(s, 0, ident, sizeof(ident)) && memcmp(ident, ELFMAG, SELFMAG) == 0;
}

/* Returns the size of the build id of the ELF file that begins there; 0 = it is not known. */
static size_t id_read(const struct start *s, uint8_t ret[ID_MAX])
{
	uint8_t notes[ID_NOTES_MAX];
	Elf64_Ehdr eh;
	size_t size = 0;

	if (!start_read(s, 0, &eh, sizeof(eh)) || memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_phentsize != sizeof(Elf64_Phdr))
		return 0;
	for (uint32_t i = 0; i < MIN((uint32_t)eh.e_phnum, ID_PHDRS_MAX) && !size; i++) {
		Elf64_Phdr ph;

		if (!start_read(s, eh.e_phoff + i * sizeof(ph), &ph, sizeof(ph)))
			return 0;
		if (ph.p_type == PT_NOTE && ph.p_filesz <= sizeof(notes) &&
		    start_read(s, ph.p_offset, notes, ph.p_filesz))
			size = id_find(notes, ph.p_filesz, ret);
	}
	return size;
}

/*
 * Marks the mappings of files that have another build id than the core file says. The start of an
 * ELF file is in core files as a rule, because of the build id. Files are compared by the mapping
 * of their start, which comes before their other ones.
 */
static void stale_mark(struct core *c)
{
	for (uint32_t i = 0; i < c->t.maps.maps.len; i++) {
		const struct proc_map *m = &c->t.maps.maps.data[i];
		struct start then = {.c = c, .i = i}, now = {.c = c};
		uint8_t a[ID_MAX], b[ID_MAX];
		size_t size;

		if (m->off || !m->file || m->is_stale || m->path[0] != '/')
			continue;
		size = id_read(&then, a);
		now.file = size ? file_of(c, m) : NULL;
		if (!now.file || (id_read(&now, b) == size && memcmp(a, b, size) == 0))
			continue;
		for (uint32_t k = 0; k < c->t.maps.maps.len; k++)
			c->t.maps.maps.data[k].is_stale |= c->t.maps.maps.data[k].file == m->file;
	}
}

struct err *target_core_set_program(struct target *t, const char *path)
{
	const struct proc_map *program = target_program(t);
	CLEANUP(free) char *whole = realpath(path, NULL);
	CLEANUP(gate_file)
	struct gate_file *file = whole ? gate_open_path(t->gate, -1, whole) : NULL;
	struct core *c = core_of(t);
	struct start then = {.c = c};
	struct start now = {.file = file};
	uint8_t a[ID_MAX], b[ID_MAX];
	size_t size;

	if (!file)
		return errno == EINVAL ? err_new("'%s' is no program", path)
				       : err_sys(errno, "cannot open the program '%s'", path);
	size = id_read(&now, b);
	if (!size && !start_is_elf(&now))
		return err_new("'%s' is no program", path);
	if (!program || !program->file)
		return err_new("the core file does not say which program it was");
	then.i = (uint32_t)(program - t->maps.maps.data);
	if (id_read(&then, a) != size || memcmp(a, b, size) != 0)
		return err_new("'%s' is not the program of the core file: its build id is another "
			       "one",
			       path);
	for (uint32_t i = 0; i < t->maps.maps.len; i++) {
		struct proc_map *m = &t->maps.maps.data[i];

		if (m->file != program->file || m == program)
			continue;
		m->path = arena_strdup(t->maps.arena, whole);
		m->is_stale = false;
	}
	t->maps.maps.data[then.i].path = arena_strdup(t->maps.arena, whole);
	t->maps.maps.data[then.i].is_stale = false;
	if (program->file <= c->files.len) {
		gate_file_close(c->files.data[program->file - 1]);
		c->files.data[program->file - 1] = NULL;
	}
	return NULL;
}

/* ---- memory ---------------------------------------------------------------------------------- */

bool target_core_cut(const struct target *t, struct target_cut *ret)
{
	const struct core *c = (const struct core *)t;
	uint64_t end;

	*ret = (struct target_cut){0};
	if (t->ops != &core_ops)
		return false;
	ret->damage = c->damage;
	end = (uint64_t)gate_file_stat(c->file)->st_size;
	for (uint32_t i = 0; i < c->segments.len; i++) {
		const struct segment *s = &c->segments.data[i];
		uint64_t have = s->off < end ? MIN(s->in_file, end - s->off) : 0;

		if (have < s->in_file && ret->have == ret->want)
			ret->from = s->start + have;
		ret->have += have;
		ret->want += s->in_file;
	}
	return ret->have < ret->want || ret->damage;
}

/* Reads from one segment. */
static bool segment_read(struct core *c, uint32_t i, taddr addr, void *dst, size_t size)
{
	const struct segment *s = &c->segments.data[i];
	const struct proc_map *m = &c->t.maps.maps.data[i];
	uint64_t at = addr - s->start;
	struct gate_file *f;

	if (at + size <= s->in_file)
		return bytes_read(c, dst, size, s->off + at);
	f = file_of(c, m);
	return f && gate_file_read(f, dst, size, m->off + at) == (ssize_t)size;
}

static bool core_read(struct target *t, taddr addr, void *dst, size_t size)
{
	struct core *c = core_of(t);

	while (size) {
		const struct proc_map *m = proc_maps_find(&t->maps, addr);
		uint32_t i = m ? (uint32_t)(m - t->maps.maps.data) : 0;
		size_t n = m ? (size_t)MIN((uint64_t)size, m->end - addr) : 0;

		if (m && addr - m->start < m->in_core) /* the rest may be in a file */
			n = MIN(n, (size_t)(m->in_core - (addr - m->start)));
		if (!m || !segment_read(c, i, addr, dst, n))
			return false;
		addr += n;
		dst = (char *)dst + n;
		size -= n;
	}
	return true;
}

/* What the file has no blocks for is zeros, and what it has not at all is missing. */
static taddr core_touched(struct target *t, taddr addr, taddr end)
{
	struct core *c = core_of(t);
	const struct proc_map *m = proc_maps_find(&t->maps, addr);
	const struct segment *s = m ? &c->segments.data[m - t->maps.maps.data] : NULL;
	uint64_t at = s ? addr - s->start : 0;
	off_t next;

	if (!s || at >= s->in_file)
		return end;
	next = c->packed ? (off_t)seekable_data(c->packed, s->off + at, s->off + s->in_file)
			 : lseek(gate_file_fd(c->file), (off_t)(s->off + at), SEEK_DATA);
	if (next < 0)
		return errno == ENXIO ? end : addr;
	if ((uint64_t)next >= s->off + s->in_file)
		return end;
	return MIN(s->start + ((uint64_t)next - s->off), end);
}

/* ---- the target ------------------------------------------------------------------------------ */

static const struct thread *thread_find(const struct core *c, pid_t tid)
{
	for (uint32_t i = 0; i < c->threads.len; i++)
		if (c->threads.data[i].tid == tid)
			return &c->threads.data[i];
	return NULL;
}

static bool core_who(struct target *t, pid_t tid, struct target_who *ret)
{
	struct core *c = core_of(t);

	*ret = c->who;
	ret->tid = ret->inner = tid;
	return thread_find(c, tid);
}

static size_t core_auxv(struct target *t, void *to, size_t size)
{
	size_t n = MIN(core_of(t)->auxv_size, size);

	memcpy(to, core_of(t)->auxv, n);
	return n;
}

static bool core_signal(struct target *t, siginfo_t *ret)
{
	*ret = core_of(t)->signal;
	return core_of(t)->has_signal;
}

/* The auxiliary vector says where the program begins; else it is what is mapped first. */
static const struct proc_map *core_program(struct target *t)
{
	const struct proc_map *m = NULL;
	struct target_aux aux;
	struct err *e = target_aux(t, &aux);

	if (!e)
		m = target_file_at(t, aux.entry);
	err_destroy(e); /* the core file has no such note */
	return m ? m : t->maps.maps.data;
}

static void core_threads(struct target *t, target_tids *ret)
{
	struct core *c = core_of(t);

	for (uint32_t i = 0; i < c->threads.len; i++)
		vec_push(ret, c->threads.data[i].tid);
}

static struct err *core_regs(struct target *t, pid_t tid, struct arch_regs *ret)
{
	const struct thread *th = thread_find(core_of(t), tid);

	if (!th)
		return err_new("the core file has no thread %d", (int)tid);
	*ret = th->regs;
	return NULL;
}

static size_t core_note(struct target *t, pid_t tid, uint32_t type, void *to, size_t size)
{
	const struct thread *th = thread_find(core_of(t), tid);
	struct place at = {0};

	if (th && type == NT_PRFPREG)
		at = th->basic;
	else if (th && type == arch.elf.vector_note)
		at = th->vector;
	size = MIN(size, (size_t)at.size);
	return bytes_read(core_of(t), to, size, at.off) ? size : 0;
}

static void core_close(struct target *t)
{
	struct core *c = core_of(t);

	for (uint32_t i = 0; i < c->files.len; i++)
		gate_file_close(c->files.data[i]);
	vec_deinit(&c->files);
	vec_deinit(&c->segments);
	vec_deinit(&c->threads);
	gate_file_close(c->file);
	if (c->fd >= 0)
		(void)close(c->fd);
	seekable_close(c->packed);
	free(c->damage);
}

static const struct target_ops core_ops = {
	.close = core_close,
	.proc = target_proc_none,
	.who = core_who,
	.auxv = core_auxv,
	.signal = core_signal,
	.maps_now = target_maps_same,
	.read = core_read,
	.touched = core_touched,
	.mapping = core_mapping,
	.program = core_program,
	.threads = core_threads,
	.regs = core_regs,
	.note = core_note,
};

/* Names the memory of the vDSO, which no note names. */
static void vdso_name(struct core *c)
{
	struct target_aux aux;
	struct err *e = target_aux(&c->t, &aux);

	for (uint32_t i = 0; !e && i < c->t.maps.maps.len; i++) {
		struct proc_map *m = &c->t.maps.maps.data[i];

		if (m->start == aux.vdso && m->is_exec && !m->file)
			m->path = "[vdso]";
	}
	err_destroy(e);
}

/* Returns the descriptor that "/dev/fd/3" names; -1: the path is another one. */
static int path_descriptor(const char *path)
{
	static const char folder[] = "/dev/fd/";
	char *end;
	long fd;

	if (strncmp(path, folder, sizeof(folder) - 1) != 0 ||
	    !isdigit((unsigned char)path[sizeof(folder) - 1]))
		return -1;
	fd = strtol(path + sizeof(folder) - 1, &end, 10);
	return *end || fd > INT_MAX ? -1 : (int)fd;
}

/*
 * Opens a path below our root directory: below that, the gate opens. A descriptor is not opened
 * again, because whoever has handed it on may have the right to and we not.
 */
static struct gate_file *path_open(struct gate *g, const char *path)
{
	CLEANUP(free) char *whole = NULL;
	char folder[PATH_MAX];
	int fd = path_descriptor(path);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) != 0)
		return NULL;
	if (fd >= 0 && S_ISREG(st.st_mode))
		return gate_file_of(fd);
	errno = EINVAL;
	if (fd >= 0)
		return NULL;
	if (path[0] == '/')
		return gate_open_path(g, -1, path);
	if (!getcwd(folder, sizeof(folder)))
		return NULL;
	if (asprintf(&whole, "%s/%s", folder, path) < 0)
		oom();
	return gate_open_path(g, -1, whole);
}

/* Replaces the file by what is packed in it, if it is compressed. */
static struct err *core_unpacked_use(struct core *c, const char *path)
{
	struct err *e = seekable_open(c->file, &c->packed);

	if (e)
		return err_wrap(e, "cannot unpack '%s'", path);
	if (!c->packed)
		e = core_unpack(c->file, path, &c->fd, &c->damage);
	if (e || (!c->packed && c->fd < 0))
		return e;
	gate_file_close(c->file);
	c->file = gate_file_of(c->packed ? seekable_fd(c->packed) : c->fd);
	return NULL;
}

static struct core *core_create(struct gate *g)
{
	struct core *c = xcalloc(1, sizeof(*c));

	c->t = (struct target){.ops = &core_ops, .gate = g, .maps.arena = arena_create()};
	c->fd = -1;
	return c;
}

/* Reads what the file says. e: it could not be opened. */
static struct err *core_finish(struct core *c, const char *path, struct err *e, struct target **ret)
{
	if (!e)
		e = headers_read(c, path);
	if (e) {
		target_close(&c->t);
		return e;
	}
	c->t.pid = c->who.pid;
	vdso_name(c);
	stale_mark(c);
	*ret = &c->t;
	return NULL;
}

struct err *target_core_of(int fd, const char *name, struct gate *g, struct target **ret)
{
	struct core *c = core_create(g);

	c->fd = fd;
	c->file = gate_file_of(fd);
	return core_finish(c, name, NULL, ret);
}

struct err *target_core_open(const char *path, struct gate *g, struct target **ret)
{
	struct core *c = core_create(g);
	struct err *e;

	c->file = path_open(g, path);
	if (!c->file && errno == EINVAL) /* no regular file */
		e = err_new("'%s' is no core file", path);
	else
		e = !c->file ? err_sys(errno, "cannot open the core file '%s'", path)
			     : core_unpacked_use(c, path);
	return core_finish(c, path, e, ret);
}
