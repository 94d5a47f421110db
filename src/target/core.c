/* SPDX-License-Identifier: MIT */
/* Reads core files. */
#include "target/core.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/procfs.h>
#include <unistd.h>

#include "base/str.h"
#include "files/gate.h"

#define SEGMENTS_MAX 65536u
#define NOTES_MAX    (64u << 20)
#define FILES_MAX    4096u
#define OPEN_MAX     1024 /* files that memory is read from */

_Static_assert(sizeof(((struct elf_prstatus *)0)->pr_reg) / 8 > 21, "fs_base");

struct segment {
	taddr start, end;
	uint64_t off, in_file; /* bytes of it that the core file has */
	bool is_exec, is_write;
};

struct core {
	int fd;
	struct gate *gate;
	struct proc_maps maps;
	struct core_thread thread;
	bool has_thread;
	VEC(struct segment) segments;  /* ascending, as the kernel writes them */
	VEC(struct gate_file *) files; /* by number of the map's file; NULL: not opened */
};

static void range_add(struct core *c, const struct segment *s)
{
	vec_push(&c->segments, *s);
	vec_push(&c->maps.maps, (struct proc_map){.start = s->start,
						  .end = s->end,
						  .path = "",
						  .is_exec = s->is_exec,
						  .is_write = s->is_write});
}

static bool bytes_read(int fd, void *to, size_t size, uint64_t off)
{
	return off <= INT64_MAX - size && pread(fd, to, size, (off_t)off) == (ssize_t)size;
}

/* ---- notes ----------------------------------------------------------------------------------- */

static void status_read(struct core *c, const uint8_t *desc, size_t size)
{
	struct elf_prstatus st;
	uint64_t regs[22];

	if (c->has_thread || size < sizeof(st))
		return;
	memcpy(&st, desc, sizeof(st));
	memcpy(regs, &st.pr_reg, sizeof(regs));
	memcpy(c->thread.regs, regs, sizeof(c->thread.regs));
	c->thread.thread_pointer = regs[21];
	c->thread.tid = st.pr_pid;
	c->has_thread = true;
}

static void info_read(struct core *c, const uint8_t *desc, size_t size)
{
	struct elf_prpsinfo info;

	if (size < sizeof(info))
		return;
	memcpy(&info, desc, sizeof(info));
	c->thread.pid = info.pr_pid;
	c->thread.ppid = info.pr_ppid;
	c->thread.uid = info.pr_uid;
	c->thread.gid = info.pr_gid;
	memcpy(c->thread.name, info.pr_fname, sizeof(info.pr_fname));
	memcpy(c->thread.args, info.pr_psargs, sizeof(info.pr_psargs));
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

/* The file of a segment, and from where in it; names: which names had which number. */
static void map_fill(struct core *c, const uint64_t *range, uint64_t page, const char *path,
		     uint64_t number)
{
	for (uint32_t i = 0; i < c->maps.maps.len; i++) {
		struct proc_map *m = &c->maps.maps.data[i];

		if (m->start < range[0] || m->end > range[1])
			continue;
		m->path = arena_strdup(c->maps.arena, path);
		m->off = range[2] * page + (m->start - range[0]);
		m->ino = number;
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
	uint64_t head[2], n, nnames = 0, k;
	const char *name;

	if (size < sizeof(head))
		return;
	memcpy(head, desc, sizeof(head));
	n = MIN(head[0], (uint64_t)FILES_MAX);
	if ((size - sizeof(head)) / 24 < n || !c->segments.len)
		return;
	name = (const char *)desc + sizeof(head) + 24 * n;
	for (uint64_t i = 0; i < n; i++) {
		size_t room = (size_t)((const char *)desc + size - name), len = strnlen(name, room);
		uint64_t range[3];

		if (len == room)
			return;
		for (k = 0; k < nnames && strcmp(names[k], name) != 0; k++)
			;
		if (k == nnames && nnames < ARRAY_LEN(names))
			names[nnames++] = name;
		memcpy(range, desc + sizeof(head) + 24 * i, sizeof(range));
		code_add(c, range);
		map_fill(c, range, head[1], name, k + 1);
		name += len + 1;
	}
}

static void notes_read(struct core *c, uint64_t off, uint64_t size)
{
	CLEANUP(free) uint8_t *all = size <= NOTES_MAX ? xmalloc(size + 1) : NULL;
	uint64_t at = 0;

	if (!all || !bytes_read(c->fd, all, size, off))
		return;
	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr n;
		uint64_t name, desc;

		memcpy(&n, all + at, sizeof(n));
		name = at + sizeof(n);
		desc = name + ((n.n_namesz + 3ull) & ~3ull);
		if (desc > size || n.n_descsz > size - desc)
			return;
		if (n.n_type == NT_PRSTATUS)
			status_read(c, all + desc, n.n_descsz);
		else if (n.n_type == NT_PRPSINFO)
			info_read(c, all + desc, n.n_descsz);
		else if (n.n_type == NT_FILE)
			files_read(c, all + desc, n.n_descsz);
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
	Elf64_Ehdr eh;

	if (!bytes_read(c->fd, &eh, sizeof(eh), 0) || memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh.e_type != ET_CORE)
		return err_new("'%s' is no core file", path);
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_phentsize != sizeof(*ph) ||
	    eh.e_phnum >= SEGMENTS_MAX - 1)
		return err_new("'%s' is no core file of a 64-bit process", path);
	ph = xmalloc((size_t)eh.e_phnum * sizeof(*ph) + 1);
	if (!bytes_read(c->fd, ph, (size_t)eh.e_phnum * sizeof(*ph), eh.e_phoff))
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
	qsort(c->maps.maps.data, c->maps.maps.len, sizeof(*c->maps.maps.data), map_by_start);
	return c->has_thread ? NULL
			     : err_new("the core file '%s' has no registers of a thread", path);
}

static void stale_mark(struct core *c);

struct err *core_open(const char *path, struct gate *gate, struct core **ret)
{
	struct core *c = xcalloc(1, sizeof(*c));
	struct err *e;

	c->gate = gate;
	c->maps.arena = arena_create();
	c->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	e = c->fd < 0 ? err_sys(errno, "cannot open the core file '%s'", path)
		      : headers_read(c, path);
	if (e) {
		core_close(c);
		return e;
	}
	stale_mark(c);
	*ret = c;
	return NULL;
}

void core_close(struct core *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->files.len; i++)
		gate_file_close(c->files.data[i]);
	vec_deinit(&c->files);
	vec_deinit(&c->segments);
	proc_maps_deinit(&c->maps);
	if (c->fd >= 0)
		(void)close(c->fd);
	free(c);
}

const struct proc_maps *core_maps(const struct core *c)
{
	return &c->maps;
}

const struct core_thread *core_thread(const struct core *c)
{
	return &c->thread;
}

/* ---- files that have changed ----------------------------------------------------------------- */

#define ID_MAX	     64	  /* bytes of a build id that are compared */
#define ID_NOTES_MAX 4096 /* bytes of notes that are searched for it */
#define ID_PHDRS_MAX 128

/* The start of an ELF file: of segment i of the core file, or, if file is set, of that file. */
struct start {
	const struct core *c;
	uint32_t i;
	struct gate_file *file;
};

static bool start_read(const struct start *s, uint64_t off, void *to, size_t size)
{
	const struct segment *seg = &s->c->segments.data[s->i];

	if (s->file)
		return gate_file_read(s->file, to, size, off) == (ssize_t)size;
	return size <= seg->in_file && off <= seg->in_file - size &&
	       bytes_read(s->c->fd, to, size, seg->off + off);
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

static struct gate_file *file_of(struct core *c, const struct proc_map *m);

/*
 * Marks the mappings of files that have another build id than the core file says. The start of an
 * ELF file is in core files as a rule, because of the build id. Files are compared by the mapping
 * of their start, which comes before their other ones.
 */
static void stale_mark(struct core *c)
{
	for (uint32_t i = 0; i < c->maps.maps.len; i++) {
		const struct proc_map *m = &c->maps.maps.data[i];
		struct start then = {.c = c, .i = i}, now = {.c = c};
		uint8_t a[ID_MAX], b[ID_MAX];
		size_t size;

		if (m->off || !m->ino || m->is_stale || m->path[0] != '/')
			continue;
		size = id_read(&then, a);
		now.file = size ? file_of(c, m) : NULL;
		if (!now.file || (id_read(&now, b) == size && memcmp(a, b, size) == 0))
			continue;
		for (uint32_t k = 0; k < c->maps.maps.len; k++)
			c->maps.maps.data[k].is_stale |= c->maps.maps.data[k].ino == m->ino;
	}
}

/* ---- memory ---------------------------------------------------------------------------------- */

static struct gate_file *file_of(struct core *c, const struct proc_map *m)
{
	if (!m->ino || m->ino > OPEN_MAX || m->is_stale)
		return NULL;
	while (c->files.len < m->ino)
		vec_push(&c->files, NULL);
	if (!c->files.data[m->ino - 1])
		c->files.data[m->ino - 1] = gate_open_path(c->gate, -1, m->path);
	return c->files.data[m->ino - 1];
}

/* Reads from one segment; the maps have the numbers of the segments. */
static bool segment_read(struct core *c, uint32_t i, taddr addr, void *dst, size_t size)
{
	const struct segment *s = &c->segments.data[i];
	const struct proc_map *m = &c->maps.maps.data[i];
	uint64_t at = addr - s->start;
	struct gate_file *f;

	if (at + size <= s->in_file)
		return bytes_read(c->fd, dst, size, s->off + at);
	f = file_of(c, m);
	return f && gate_file_read(f, dst, size, m->off + at) == (ssize_t)size;
}

bool core_read(struct core *c, taddr addr, void *dst, size_t size)
{
	uint32_t low = 0, high = c->segments.len;

	while (low < high) {
		uint32_t mid = (low + high) / 2;
		const struct segment *s = &c->segments.data[mid];
		size_t n;

		if (addr < s->start) {
			high = mid;
		} else if (addr >= s->end) {
			low = mid + 1;
		} else {
			n = (size_t)MIN((uint64_t)size, s->end - addr);
			return segment_read(c, mid, addr, dst, n) &&
			       (n == size || core_read(c, addr + n, (char *)dst + n, size - n));
		}
	}
	return false;
}
