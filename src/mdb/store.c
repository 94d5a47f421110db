/* SPDX-License-Identifier: MIT */
/* Lists the core files that systemd-coredump has kept. */
#include "mdb/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>

#include "base/text.h"
#include "base/vec.h"
#include "mdb/out.h"

#define FILES_MAX 100000u
#define FIELDS	  4 /* behind the name of the command */

struct kept {
	char *file; /* its name in the directory */
	char comm[65];
	uint64_t time_us, pid, uid, signal; /* signal 0: not known */
	uint64_t size;
};
typedef VEC(struct kept) keeps;

static void keeps_free(keeps *all)
{
	for (uint32_t i = 0; i < all->len; i++)
		free(all->data[i].file);
	vec_deinit(all);
}

static bool number_parse(const char *text, size_t len, uint64_t max, uint64_t *ret)
{
	uint64_t n = 0;

	if (!len)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9' || n > (max - (uint64_t)(text[i] - '0')) / 10)
			return false;
		n = 10 * n + (uint64_t)(text[i] - '0');
	}
	*ret = n;
	return true;
}

/* The length of a name without the ending of a compression. */
static size_t name_len(const char *name)
{
	static const char *const endings[] = {".zst", ".lz4", ".xz", ".gz"};
	size_t len = strlen(name);

	for (uint32_t i = 0; i < ARRAY_LEN(endings); i++) {
		size_t n = strlen(endings[i]);

		if (len > n && strcmp(name + len - n, endings[i]) == 0)
			return len - n;
	}
	return len;
}

/* Parses core.COMM.UID.BOOT.PID.TIME from the end, because COMM may have dots. */
static bool name_parse(const char *name, struct kept *ret)
{
	size_t end = name_len(name), at = end, dots[FIELDS], comm = strlen("core.");

	if (strncmp(name, "core.", comm) != 0)
		return false;
	for (uint32_t i = FIELDS; i--;) {
		do {
			if (at-- <= comm)
				return false;
		} while (name[at] != '.');
		dots[i] = at;
	}
	(void)snprintf(ret->comm, sizeof(ret->comm), "%.*s", (int)MIN(dots[0] - comm, (size_t)64),
		       name + comm);
	return number_parse(name + dots[0] + 1, dots[1] - dots[0] - 1, UINT32_MAX, &ret->uid) &&
	       number_parse(name + dots[2] + 1, dots[3] - dots[2] - 1, INT32_MAX, &ret->pid) &&
	       number_parse(name + dots[3] + 1, end - dots[3] - 1, INT64_MAX, &ret->time_us);
}

/* Reads an attribute of the file that a descriptor of O_PATH stands for; its length, 0: none. */
static size_t attribute_read(int fd, const char *name, char *to, size_t size)
{
	char path[64], full[64];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	(void)snprintf(full, sizeof(full), "user.coredump.%s", name);
	n = getxattr(path, full, to, size - 1);
	to[MAX(n, 0)] = '\0';
	return (size_t)MAX(n, 0);
}

static void attributes_read(int fd, struct kept *k)
{
	char text[65];
	size_t n = attribute_read(fd, "signal", text, sizeof(text));

	(void)number_parse(text, n, 127, &k->signal); /* else it stays 0 */
	if (attribute_read(fd, "comm", text, sizeof(text)))
		memcpy(k->comm, text, sizeof(k->comm));
}

/* Adds the file if it is a core file by its name. */
static void kept_add(int folder, const char *name, keeps *all)
{
	struct kept k = {0};
	CLEANUP(fd) int fd = -1;
	struct stat st;

	if (!name_parse(name, &k))
		return;
	fd = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return;
	attributes_read(fd, &k);
	k.file = xstrdup(name);
	k.size = (uint64_t)st.st_size;
	vec_push(all, k);
}

static int by_time(const void *a, const void *b)
{
	const struct kept *k = a, *l = b;

	if (k->time_us != l->time_us)
		return k->time_us < l->time_us ? 1 : -1;
	return strcmp(k->file, l->file);
}

/* Reads the directory, the newest first; the caller calls keeps_free(), also after an error. */
static struct err *keeps_read(const char *folder, keeps *ret)
{
	DIR *dir = opendir(folder);
	struct dirent *d;

	*ret = (keeps){0};
	if (!dir)
		return err_hint(err_sys(errno, "cannot read '%s'", folder),
				"systemd-coredump keeps core files in %s; -D names another "
				"directory",
				STORE_FOLDER);
	while (ret->len < FILES_MAX && (d = readdir(dir)))
		kept_add(dirfd(dir), d->d_name, ret);
	(void)closedir(dir);
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), by_time);
	return NULL;
}

static char *path_of(const char *folder, const char *file)
{
	char *path;

	if (asprintf(&path, "%s/%s", folder, file) < 0)
		oom();
	return path;
}

struct err *store_find(const char *folder, pid_t pid, char **ret_path)
{
	struct err *e;
	keeps all;

	*ret_path = NULL;
	e = keeps_read(folder, &all);
	for (uint32_t i = 0; i < all.len && !*ret_path; i++)
		if (all.data[i].pid == (uint64_t)pid)
			*ret_path = path_of(folder, all.data[i].file);
	if (!e && !*ret_path)
		e = err_hint(err_new("'%s' has no core file of process %d", folder, (int)pid),
			     "mdb -l lists what there is");
	keeps_free(&all);
	return e;
}

/* ---- the list -------------------------------------------------------------------------------- */

static void time_emit(struct out *o, uint64_t time_us)
{
	time_t seconds = (time_t)(time_us / 1000000);
	char text[64] = "-";
	struct tm tm;

	if (localtime_r(&seconds, &tm))
		(void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	emit_str(o, "time", text, -19);
	emit_int(o, "time-us", (int64_t)time_us, 0);
}

static void signal_emit(struct out *o, uint64_t signal)
{
	const char *name = signal ? sigabbrev_np((int)signal) : NULL;
	char text[16] = "-";

	if (name)
		(void)snprintf(text, sizeof(text), "SIG%s", name);
	else if (signal)
		(void)snprintf(text, sizeof(text), "%d", (int)signal);
	emit_str(o, "signal-name", text, -9);
	emit_int(o, "signal", (int64_t)signal, 0);
}

struct err *store_list(const char *folder, struct out *o)
{
	struct err *e;
	keeps all;

	e = keeps_read(folder, &all);
	if (!e && !all.len)
		emit_say(o, "there is no core file in '%s'\n", folder);
	else if (!e)
		emit_say(o, "%-19s %10s %10s %-9s %-15s %10s %s\n", "TIME", "PID", "UID", "SIGNAL",
			 "COMMAND", "KB", "FILE");
	for (uint32_t i = 0; i < all.len; i++) {
		const struct kept *k = &all.data[i];
		CLEANUP(free) char *path = path_of(folder, k->file);

		emit_row(o);
		time_emit(o, k->time_us);
		emit_int(o, "pid", (int64_t)k->pid, 10);
		emit_int(o, "uid", (int64_t)k->uid, 10);
		signal_emit(o, k->signal);
		emit_str(o, "command", k->comm, -15);
		emit_say(o, "%10" PRIu64 " ", (k->size + 1023) / 1024);
		emit_int(o, "size", (int64_t)k->size, 0);
		emit_str(o, "file", path, 1);
		emit_end(o);
	}
	keeps_free(&all);
	return e;
}
