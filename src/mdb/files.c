/* SPDX-License-Identifier: MIT */
/* Commands about files that the process has open, and libraries that it has loaded. */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/text.h"
#include "mdb/impl.h"

#define LIBS_MAX  4096
#define PHDRS_MAX 256

/* ---- open files ------------------------------------------------------------------------------ */

typedef VEC(int) numbers;

static int by_number(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The numbers of the descriptors, ascending; an error if they cannot be listed. */
static struct err *descriptors_list(pid_t pid, numbers *ret)
{
	struct dirent *d;
	char path[64], *end;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return err_sys(errno, "cannot list the open files of process %d", (int)pid);
	while ((d = readdir(dir))) {
		long n = strtol(d->d_name, &end, 10);

		if (end != d->d_name && !*end && n >= 0 && n <= INT_MAX)
			vec_push(ret, (int)n);
	}
	(void)closedir(dir);
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), by_number);
	return NULL;
}

/*
 * The kind of a file, without a request to the server of its file system, which may not answer.
 * An object of the kernel has no type of file: its name says what it is, "anon_inode:[eventpoll]".
 */
static const char *kind_of(const char *path)
{
	CLEANUP(fd) int fd = open(path, O_PATH | O_CLOEXEC);
	struct statx st;

	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) != 0)
		return "?";
	switch (st.stx_mode & S_IFMT) {
	case S_IFREG: return "file";
	case S_IFDIR: return "directory";
	case S_IFCHR: return "char";
	case S_IFBLK: return "block";
	case S_IFIFO: return "pipe";
	case S_IFSOCK: return "socket";
	case S_IFLNK: return "link";
	default: return "kernel";
	}
}

static void descriptor_row(struct mdb *m, pid_t pid, int number)
{
	static const char *const modes[] = {"r", "w", "rw", "-"};
	char path[64], line[128], name[PATH_MAX + 1];
	unsigned int flags = O_ACCMODE;
	long long offset = 0;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)pid, number);
	{
		CLEANUP(file) FILE *info = fopen(path, "re");

		while (info && fgets(line, sizeof(line), info)) {
			(void)sscanf(line, "pos: %lld", &offset);
			(void)sscanf(line, "flags: %o", &flags);
		}
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, number);
	n = readlink(path, name, sizeof(name) - 1);
	if (n < 0)
		return;
	name[n] = '\0';
	emit_row(&m->out);
	emit_value(&m->out, (uint64_t)number);
	emit_int(&m->out, "fd", number, 6);
	emit_str(&m->out, "type", kind_of(path), -9);
	emit_str(&m->out, "mode", modes[flags & O_ACCMODE], -4);
	emit_int(&m->out, "offset", offset, 12);
	emit_str(&m->out, "name", name, 1);
	emit_end(&m->out);
}

struct err *cmd_files(struct mdb *m, const struct call *c)
{
	pid_t pid = target_proc(m->t);
	numbers list = {0};
	struct err *e;

	if (!pid)
		return err_hint(err_new("a core file does not have the list of open files"),
				"mdb -p PID shows those of a process");
	e = descriptors_list(pid, &list);
	if (!e)
		emit_say(&m->out, "%6s %-9s %-4s %12s %s\n", "FD", "TYPE", "MODE", "OFFSET",
			 "NAME");
	for (uint32_t i = 0; i < list.len && !m->is_interrupted; i++)
		descriptor_row(m, pid, list.data[i]);
	vec_deinit(&list);
	return e;
}

/* ---- libraries ------------------------------------------------------------------------------- */

static uint64_t aux_value(struct mdb *m, uint64_t type)
{
	Elf64_auxv_t auxv[64] = {0};
	size_t n = target_auxv(m->t, auxv, sizeof(auxv)) / sizeof(*auxv);

	for (size_t i = 0; i < n && auxv[i].a_type != AT_NULL; i++)
		if (auxv[i].a_type == type)
			return auxv[i].a_un.a_val;
	return 0;
}

/* The address of the program's dynamic section, by its program headers in memory; 0: none. */
static taddr dynamic_find(struct mdb *m)
{
	uint64_t at = aux_value(m, AT_PHDR), n = MIN(aux_value(m, AT_PHNUM), (uint64_t)PHDRS_MAX);
	uint64_t bias = 0, dynamic = 0;
	Elf64_Phdr ph;

	for (uint64_t i = 0; i < n && mdb_read(m, at + i * sizeof(ph), &ph, sizeof(ph)); i++) {
		if (ph.p_type == PT_PHDR)
			bias = at - ph.p_vaddr;
		if (ph.p_type == PT_DYNAMIC)
			dynamic = ph.p_vaddr;
	}
	return dynamic ? dynamic + bias : 0;
}

/* The list of what is loaded: the dynamic linker puts its address into DT_DEBUG. <link.h> */
static struct err *libs_begin(struct mdb *m, taddr *ret)
{
	taddr at = dynamic_find(m), debug = 0;
	Elf64_Dyn dyn;

	if (!at)
		return err_new("the program has no dynamic section: it is static, or its headers "
			       "are not in the target's memory");
	for (uint32_t i = 0; i < 1024 && mdb_read(m, at + i * sizeof(dyn), &dyn, sizeof(dyn)) &&
			     dyn.d_tag != DT_NULL;
	     i++)
		if (dyn.d_tag == DT_DEBUG)
			debug = dyn.d_un.d_ptr;
	if (!debug)
		return err_new("the dynamic linker has not run yet, or there is none");
	return mdb_read(m, debug + 8, ret, sizeof(*ret)) /* r_map of struct r_debug */
		       ? NULL
		       : err_new("the list of libraries at 0x%" PRIx64 " cannot be read", debug);
}

/* Begin of struct link_map: <link.h> */
struct lib {
	uint64_t bias, name, dynamic, next;
};

static void lib_row(struct mdb *m, const struct lib *l, bool is_program)
{
	const struct proc_map *program = is_program ? target_program(m->t) : NULL;
	struct strbuf name = {0};
	char c = 1;

	while (name.len < PATH_MAX && mdb_read(m, l->name + name.len, &c, 1) && c)
		strbuf_addc(&name, c);
	if (!name.len && program) /* its name is empty in the list */
		strbuf_adds(&name, program->path);
	emit_row(&m->out);
	emit_value(&m->out, l->bias);
	emit_addr(&m->out, "base", l->bias, 16);
	emit_addr(&m->out, "dynamic", l->dynamic, 16);
	emit_bytes(&m->out, "path", strbuf_text(&name), name.len, 1);
	emit_end(&m->out);
	strbuf_deinit(&name);
}

struct err *cmd_libs(struct mdb *m, const struct call *c)
{
	taddr at = 0;
	struct err *e = libs_begin(m, &at);
	struct lib l;

	if (e)
		return e;
	emit_say(&m->out, "%16s %16s %s\n", "BASE", "DYNAMIC", "PATH");
	for (uint32_t i = 0; at && !m->is_interrupted; i++, at = l.next) {
		if (i == LIBS_MAX)
			return err_new("the list of libraries has no end");
		if (!mdb_read(m, at, &l, sizeof(l)))
			return err_new("the list of libraries is damaged: 0x%" PRIx64
				       " cannot be read",
				       at);
		lib_row(m, &l, i == 0);
	}
	return NULL;
}
