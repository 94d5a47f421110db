/* Names in processes. */
#include "sym/usym.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/auxv.h>

#include "sym/elfsym.h"

#define FDS_MAX 128 /* of files not read yet; further ones are opened when they are needed */

struct ufile {
	char *path;
	const char *object; /* in path */
	int fd;		    /* -1: not open */
	bool is_read;
	struct elf_syms *syms; /* NULL: none could be read */
};

struct umap {
	taddr start, end;
	uint64_t off; /* in the file */
	struct ufile *file;
	bool is_exec;
};

typedef VEC(struct umap) umap_vec;

struct uproc {
	uint64_t pid;
	uint64_t tick; /* when the mappings were read; 0 = never */
	umap_vec maps; /* ascending; do not overlap */
};

/* ---- files ---------------------------------------------------------------------------------- */

static bool is_vdso(const struct ufile *f)
{
	return strcmp(f->path, "[vdso]") == 0;
}

static int open_at(uint64_t pid, const char *fmt, ...) PRINTF_LIKE(2, 3);
static int open_at(uint64_t pid, const char *fmt, ...)
{
	char path[4200];
	int n = snprintf(path, sizeof(path), "/proc/%" PRIu64 "/", pid);
	va_list ap;

	va_start(ap, fmt);
	n += vsnprintf(path + n, sizeof(path) - (size_t)n, fmt, ap);
	va_end(ap);
	return (size_t)n < sizeof(path) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
}

/* The very file that is mapped, if the kernel shows it; else what has its name there, then here. */
static int file_open(const struct ufile *f, uint64_t pid, const struct umap *m)
{
	int fd = open_at(pid, "map_files/%" PRIx64 "-%" PRIx64, m->start, m->end);

	if (fd < 0)
		fd = open_at(pid, "root%s", f->path);
	if (fd < 0)
		fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd;
}

static void file_keep_open(struct usyms *u, struct ufile *f, uint64_t pid, const struct umap *m)
{
	if (f->fd >= 0 || f->is_read || is_vdso(f) || u->nfds >= FDS_MAX)
		return;
	f->fd = file_open(f, pid, m);
	u->nfds += f->fd >= 0;
}

/* The kernel gives all processes of our kind the same one. */
static struct elf_syms *read_vdso(void)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);

	return image ? elf_syms_read_memory(image, 2 * (size_t)sysconf(_SC_PAGESIZE)) : NULL;
}

static void file_read(struct usyms *u, struct ufile *f, uint64_t pid, const struct umap *m)
{
	if (f->is_read)
		return;
	f->is_read = true;
	if (is_vdso(f)) {
		f->syms = read_vdso();
		return;
	}
	if (f->fd < 0)
		f->fd = file_open(f, pid, m);
	else
		u->nfds--;
	if (f->fd < 0)
		return;
	f->syms = elf_syms_read(f->fd);
	(void)close(f->fd);
	f->fd = -1;
}

/* path: as /proc says, cut of " (deleted)". */
static struct ufile *file_get(struct usyms *u, const char *dev_inode, const char *path)
{
	char key[4200];
	int len = snprintf(key, sizeof(key), "%s %s", dev_inode, path);
	struct ufile *f;
	const char *slash;

	if (len < 0 || (size_t)len >= sizeof(key))
		return NULL;
	f = hashmap_find(u->files, key, (size_t)len);
	if (f)
		return f;
	f = xcalloc(1, sizeof(*f));
	f->path = xstrdup(path);
	slash = strrchr(f->path, '/');
	f->object = slash ? slash + 1 : f->path;
	f->fd = -1;
	hashmap_set(u->files, key, (size_t)len, f);
	return f;
}

/* ---- mappings ------------------------------------------------------------------------------- */

/* "START-END PERMS OFFSET DEV INODE      PATH"; false for memory that no file stands behind. */
static bool parse_map(struct usyms *u, char *line, struct umap *ret)
{
	static const char deleted[] = " (deleted)";
	char perms[8], dev[32], key[64];
	unsigned long inode;
	int at = 0;
	size_t len;
	char *path;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %31s %lu %n", &ret->start,
		   &ret->end, perms, &ret->off, dev, &inode, &at) < 6 ||
	    !at)
		return false;
	path = line + at;
	len = strcspn(path, "\n");
	path[len] = '\0';
	if (path[0] != '/' && strcmp(path, "[vdso]") != 0)
		return false;
	if (len > sizeof(deleted) && strcmp(path + len - (sizeof(deleted) - 1), deleted) == 0)
		path[len - (sizeof(deleted) - 1)] = '\0';
	(void)snprintf(key, sizeof(key), "%s %lu", dev, inode);
	ret->is_exec = perms[2] == 'x';
	ret->file = file_get(u, key, path);
	return ret->file != NULL;
}

static bool overlaps(const umap_vec *maps, const struct umap *m)
{
	for (uint32_t i = 0; i < maps->len; i++)
		if (m->start < maps->data[i].end && maps->data[i].start < m->end)
			return true;
	return false;
}

static int by_start(const void *pa, const void *pb)
{
	const struct umap *a = pa, *b = pb;

	return a->start < b->start ? -1 : a->start > b->start;
}

static bool is_same(const umap_vec *a, const umap_vec *b)
{
	for (uint32_t i = 0; i < a->len && a->len == b->len; i++)
		if (a->data[i].start != b->data[i].start || a->data[i].end != b->data[i].end ||
		    a->data[i].off != b->data[i].off || a->data[i].file != b->data[i].file)
			return false;
	return a->len == b->len;
}

static void proc_read(struct usyms *u, struct uproc *p)
{
	CLEANUP(file) FILE *f = NULL;
	CLEANUP(free) char *line = NULL;
	umap_vec maps = {0};
	size_t cap = 0;
	struct umap m;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/maps", p->pid);
	f = fopen(path, "re");
	while (f && getline(&line, &cap, f) > 0) {
		if (!parse_map(u, line, &m))
			continue;
		if (m.is_exec)
			file_keep_open(u, m.file, p->pid, &m);
		vec_push(&maps, m);
	}
	if (!maps.len || is_same(&maps, &p->maps)) {
		vec_deinit(&maps); /* gone, a kernel thread, or nothing new */
		return;
	}
	for (uint32_t i = 0, n = maps.len; i < p->maps.len; i++) {
		umap_vec now = {maps.data, n, n};

		if (!overlaps(&now, &p->maps.data[i]))
			vec_push(&maps, p->maps.data[i]);
	}
	qsort(maps.data, maps.len, sizeof(*maps.data), by_start);
	vec_deinit(&p->maps);
	p->maps = maps;
}

static struct uproc *proc_get(struct usyms *u, uint64_t pid)
{
	struct uproc *p = hashmap_find(u->procs, &pid, sizeof(pid));

	if (!p) {
		p = xcalloc(1, sizeof(*p));
		p->pid = pid;
		hashmap_set(u->procs, &pid, sizeof(pid), p);
	}
	if (p->tick != u->tick) {
		p->tick = u->tick;
		proc_read(u, p);
	}
	return p;
}

static const struct umap *map_find(const struct uproc *p, taddr addr)
{
	uint32_t lo = 0, hi = p->maps.len;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (p->maps.data[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < p->maps.len && p->maps.data[lo].start <= addr ? &p->maps.data[lo] : NULL;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* The function at addr, whose address in the file is *ret_vaddr; NULL when it is unknown. */
static const struct elf_func *func_find(struct usyms *u, uint64_t pid, const struct umap *m,
					taddr addr, uint64_t *ret_vaddr)
{
	file_read(u, m->file, pid, m);
	if (!m->file->syms || !elf_syms_addr(m->file->syms, addr - m->start + m->off, ret_vaddr))
		return NULL;
	return elf_syms_find(m->file->syms, *ret_vaddr);
}

bool usyms_find(struct usyms *u, uint64_t pid, taddr addr, struct sym_name *ret)
{
	const struct umap *m = map_find(proc_get(u, pid), addr);
	const struct elf_func *f;
	uint64_t vaddr;

	*ret = (struct sym_name){0};
	if (!m)
		return false;
	ret->object = m->file->object;
	f = func_find(u, pid, m, addr, &vaddr);
	if (f) {
		ret->name = f->name;
		ret->off = vaddr - f->addr;
	}
	return true;
}

/* The lowest address of the file whose mapping m is. */
static taddr object_start(const struct uproc *p, const struct umap *m)
{
	for (uint32_t i = 0; i < p->maps.len; i++)
		if (p->maps.data[i].file == m->file)
			return p->maps.data[i].start;
	return m->start;
}

taddr usyms_start(struct usyms *u, uint64_t pid, taddr addr, bool of_object)
{
	const struct uproc *p = proc_get(u, pid);
	const struct umap *m = map_find(p, addr);
	const struct elf_func *f;
	uint64_t vaddr;

	if (!m)
		return addr;
	if (of_object)
		return object_start(p, m);
	f = func_find(u, pid, m, addr, &vaddr);
	return f ? addr - (vaddr - f->addr) : addr;
}

void usyms_see(struct usyms *u, uint64_t pid)
{
	(void)proc_get(u, pid);
}

/* ---- the whole ------------------------------------------------------------------------------ */

void usyms_init(struct usyms *u)
{
	*u = (struct usyms){hashmap_create(), hashmap_create(), 1, 0};
}

void usyms_deinit(struct usyms *u)
{
	struct uproc *p;
	struct ufile *f;
	size_t pos = 0;

	while ((p = hashmap_next(u->procs, &pos, NULL, NULL))) {
		vec_deinit(&p->maps);
		free(p);
	}
	pos = 0;
	while ((f = hashmap_next(u->files, &pos, NULL, NULL))) {
		if (f->fd >= 0)
			(void)close(f->fd);
		elf_syms_destroy(f->syms);
		free(f->path);
		free(f);
	}
	hashmap_destroy(u->procs);
	hashmap_destroy(u->files);
}
