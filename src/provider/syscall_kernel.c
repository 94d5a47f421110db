/* SPDX-License-Identifier: MIT */
/*
 * Finds out which system calls the running kernel has.
 *
 * tracefs has an event for every call that the kernel was built with; reading them takes a
 * millisecond. Where tracefs cannot be read (no privilege, no CONFIG_FTRACE_SYSCALLS), the names of
 * functions in BTF tell which calls exist in this version; they include calls that the
 * configuration leaves out, and lack calls without arguments. /proc/kallsyms has no more, and takes
 * 40 ms.
 */
#include <dirent.h>
#include <fcntl.h>

#include "arch/arch.h"
#include "provider/providers.h"
#include "provider/syscalls.h"
#include "kernel/btf.h"

static const char event_prefix[] = "sys_enter_";
static char present; /* value of all entries in names */

static struct hashmap *names_from_tracefs(void)
{
	CLEANUP(fd) int fd = tracefs_open_dir("events/syscalls");
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct hashmap *names;
	struct dirent *d;

	if (!dir)
		return NULL;
	(void)fd_take(&fd); /* closedir() closes it */
	names = hashmap_create();
	while ((d = readdir(dir)))
		if (strncmp(d->d_name, event_prefix, sizeof(event_prefix) - 1) == 0)
			hashmap_sets(names, d->d_name + sizeof(event_prefix) - 1, &present);
	(void)closedir(dir); /* nothing was written */
	return names;
}

static struct hashmap *names_from_btf(void)
{
	struct btf_file *f = NULL;
	struct err *e = btf_file_open(BTF_KERNEL, NULL, &f);
	struct hashmap *names = e ? NULL : hashmap_create();
	size_t size = 0, len;
	const char *s = e ? NULL : btf_file_strs(f, &size), *end = s ? s + size : NULL;
	char prefix[32] = ""; /* begins with the NUL of the string before */

	len = 1 + (size_t)snprintf(prefix + 1, sizeof(prefix) - 1, "%s", arch.sys_prefix);
	for (; s && (s = memmem(s, (size_t)(end - s), prefix, len)); s += len)
		hashmap_sets(names, s + len, &present);
	btf_file_close(f);
	err_destroy(e); /* without BTF every call of the table is listed */
	return names;
}

void syscall_kernel_init(struct syscall_kernel *k)
{
	*k = (struct syscall_kernel){.names = names_from_tracefs()};
	if (!k->names || !hashmap_count(k->names)) {
		hashmap_destroy(k->names);
		k->names = names_from_btf();
		k->is_btf = true;
	}
	k->has_compat = access(arch.compat_knob, F_OK) == 0;
}

void syscall_kernel_deinit(struct syscall_kernel *k)
{
	hashmap_destroy(k->names);
	k->names = NULL;
}

bool syscall_kernel_has(const struct syscall_kernel *k, const struct syscall_row *row)
{
	if (row->nr64 < 0)
		return k->has_compat; /* the i386 table has not changed since long before 6.1 */
	if (!k->names)
		return !(row->flags & SYSF_NEW);
	if (k->is_btf && row->types && !*row->types && !(row->flags & SYSF_NEW))
		return true;
	return hashmap_finds(k->names, row->tracefs) != NULL;
}
