/*
 * Which system calls the running kernel has.
 *
 * tracefs has one event for every call that the kernel was built with: exact, and read in a
 * millisecond. Where it cannot be read (no privilege, no CONFIG_FTRACE_SYSCALLS) the names of
 * functions in BTF tell which calls exist in this version; those left out of the configuration are
 * in there too, and calls without arguments are not. /proc/kallsyms knows no more and takes 40 ms.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/btf.h>

#include "arch/arch.h"
#include "provider/providers.h"
#include "provider/syscalls.h"

static const char event_prefix[] = "sys_enter_";
static char present; /* what names maps to: any address will do */

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
	(void)closedir(dir); /* only read */
	return names;
}

/* Adds the system call functions among the NUL-separated strings; returns the bytes it is done
 * with. */
static size_t names_from_strings(struct hashmap *names, const char *data, size_t len)
{
	size_t done = 0, prefix_len = strlen(arch.sys_prefix);

	while (done < len) {
		const char *end = memchr(data + done, '\0', len - done);

		if (!end)
			break;
		if (strncmp(data + done, arch.sys_prefix, prefix_len) == 0)
			hashmap_sets(names, data + done + prefix_len, &present);
		done = (size_t)(end - data) + 1;
	}
	return done;
}

/* Reads the string section of BTF piece by piece: all of it at once would be two megabytes. */
static struct hashmap *names_from_btf(void)
{
	CLEANUP(fd) int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
	struct btf_header hdr;
	char buf[16384];
	size_t have = 0;
	off_t pos, end;
	struct hashmap *names;

	if (fd < 0 || pread(fd, &hdr, sizeof(hdr), 0) != sizeof(hdr) || hdr.magic != BTF_MAGIC)
		return NULL;
	names = hashmap_create();
	pos = (off_t)hdr.hdr_len + hdr.str_off;
	end = pos + hdr.str_len;
	while (pos < end && have < sizeof(buf)) {
		size_t want = MIN(sizeof(buf) - have, (size_t)(end - pos)), done;
		ssize_t got = pread(fd, buf + have, want, pos);

		if (got <= 0)
			break;
		pos += got;
		have += (size_t)got;
		done = names_from_strings(names, buf, have);
		have -= done;
		memmove(buf, buf + done, have);
	}
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
