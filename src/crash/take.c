/* SPDX-License-Identifier: MIT */
/* Captures a process that is held. */
#include "crash/take.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "crash/entries.h"
#include "crash/format.h"
#include "files/gate.h"
#include "image/build_id.h"
#include "target/copy.h"
#include "target/maps.h"
#include "target/target.h"

#define FILE_MAX    (4u << 20) /* bytes of a file of /proc */
#define FDS_MAX	    20000u
#define THREADS_MAX 10000u

struct taking {
	const struct crash_take *what;
	pid_t pid;
	int dir;	   /* of the entry */
	int proc;	   /* /proc/PID */
	struct strbuf out; /* the file `capture` */
	uint32_t nthreads;
};

/*
 * Writes a file of an entry that has not got its name yet. Nothing is waited for that concerns the
 * disk: the process stands still.
 */
static struct err *file_write(int dir, const char *name, const char *text, size_t len)
{
	CLEANUP(fd)
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		return err_sys(errno, "cannot write '%s'", name);
	return NULL;
}

/* ---- files of /proc -------------------------------------------------------------------------- */

/* Reads a file of /proc, as far as FILE_MAX goes; false: it cannot be read. */
static bool proc_read(int dir, const char *name, struct strbuf *ret)
{
	CLEANUP(fd) int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = -1;

	while (fd >= 0 && ret->len < FILE_MAX) {
		n = read(fd, strbuf_room(ret, 65536), 65536);
		if (n <= 0)
			break;
		strbuf_wrote(ret, (size_t)n);
	}
	return n >= 0;
}

static struct err *proc_files_copy(struct taking *t, int to)
{
	static const char *const names[] = {CRASH_PROC_FILES};
	struct err *e = NULL;

	for (uint32_t i = 0; i < ARRAY_LEN(names) && !e; i++) {
		struct strbuf text = {0};

		if (proc_read(t->proc, names[i], &text))
			e = file_write(to, names[i], strbuf_text(&text), text.len);
		strbuf_deinit(&text);
	}
	return e;
}

/* Adds a field of a line: escapes are those of a value. */
static void field_add(struct strbuf *out, const char *text)
{
	struct strbuf line = {0};

	pair_write(&line, "", text); /* "=", the text, a line feed */
	strbuf_add(out, line.data + 1, line.len - 2);
	strbuf_deinit(&line);
}

static void link_add(struct strbuf *out, int dir, const char *name)
{
	char target[4200];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);

	target[MAX(n, (ssize_t)0)] = '\0';
	field_add(out, target);
}

/* The value of a line "KEY:\tVALUE" of a text; length 0: it has none. */
static const char *line_value(const struct strbuf *text, const char *key, size_t *ret_len)
{
	size_t len = strlen(key);
	const char *at = strbuf_text(text);

	while (at && *at && !(strncmp(at, key, len) == 0 && at[len] == ':')) {
		at = strchr(at, '\n');
		at += at != NULL;
	}
	at = at && *at ? at + len + 1 : "";
	at += strspn(at, "\t ");
	*ret_len = strcspn(at, "\n");
	return at;
}

static struct err *descriptors_copy(struct taking *t, int to)
{
	int fd = openat(t->proc, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct strbuf out = {0};
	struct dirent *d;
	struct err *e;
	uint32_t n = 0;

	while (dir && n < FDS_MAX && (d = readdir(dir))) {
		struct strbuf info = {0};
		char name[300];
		size_t len;
		const char *text;

		if (d->d_name[0] == '.')
			continue;
		n++;
		(void)snprintf(name, sizeof(name), "fdinfo/%s", d->d_name);
		(void)proc_read(t->proc, name, &info);
		strbuf_addf(&out, "%s\t", d->d_name);
		link_add(&out, dirfd(dir), d->d_name);
		text = line_value(&info, "pos", &len);
		strbuf_addf(&out, "\t%.*s", (int)len, text);
		text = line_value(&info, "flags", &len);
		strbuf_addf(&out, "\t%.*s\n", (int)len, text);
		strbuf_deinit(&info);
	}
	if (dir)
		(void)closedir(dir);
	else if (fd >= 0)
		(void)close(fd);
	e = file_write(to, CRASH_PROC_FD, strbuf_text(&out), out.len);
	strbuf_deinit(&out);
	return e;
}

/* Adds the first line of a file of a thread. */
static void thread_field(struct taking *t, struct strbuf *out, pid_t tid, const char *file)
{
	struct strbuf text = {0};
	char name[64];

	(void)snprintf(name, sizeof(name), "task/%d/%s", (int)tid, file);
	if (proc_read(t->proc, name, &text) && text.len) {
		text.data[strcspn(text.data, "\n")] = '\0';
		field_add(out, strcmp(text.data, "0") == 0 ? "" : text.data);
	}
	strbuf_deinit(&text);
}

static void thread_add(struct taking *t, struct strbuf *out, pid_t tid)
{
	struct target_who who;

	if (!target_who(t->what->held, tid, &who))
		return;
	t->nthreads++;
	strbuf_addf(out, "%d\t%c\t", (int)tid, who.state ? who.state : '?');
	thread_field(t, out, tid, "comm");
	strbuf_addc(out, '\t');
	thread_field(t, out, tid, "syscall");
	strbuf_addc(out, '\t');
	thread_field(t, out, tid, "wchan");
	strbuf_addc(out, '\n');
}

/* The thread that it is about comes first. */
static struct err *threads_copy(struct taking *t, int to)
{
	struct strbuf out = {0};
	target_tids tids = {0};
	struct err *e;

	target_threads(t->what->held, &tids);
	thread_add(t, &out, t->what->tid);
	for (uint32_t i = 0; i < tids.len && t->nthreads < THREADS_MAX; i++)
		if (tids.data[i] != t->what->tid)
			thread_add(t, &out, tids.data[i]);
	vec_deinit(&tids);
	e = file_write(to, CRASH_PROC_TASK, strbuf_text(&out), out.len);
	strbuf_deinit(&out);
	return e;
}

/*
 * Copies the end of what descriptor 2 is, if that is a file that can be read without harm. Others
 * may share the descriptors and put another file there, so that it is found once.
 */
static struct err *log_copy(struct taking *t)
{
	char path[64], text[CRASH_LOG_BYTES];
	CLEANUP(fd) int fd = -1;
	struct stat st;
	ssize_t n = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/2", (int)t->pid);
	fd = open(path, O_PATH | O_CLOEXEC);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || !gate_identity(path, &st) ||
	    !gate_is_dev_harmless(target_gate(t->what->held), st.st_dev) || fstat(fd, &st) != 0 ||
	    !S_ISREG(st.st_mode))
		return NULL;
	{
		CLEANUP(fd) int log = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

		if (log >= 0)
			n = pread(log, text, sizeof(text),
				  MAX(st.st_size - (off_t)sizeof(text), (off_t)0));
	}
	return n > 0 ? file_write(t->dir, CRASH_FILE_LOG, text, (size_t)n) : NULL;
}

static struct err *proc_copy(struct taking *t)
{
	CLEANUP(fd) int to = -1;
	struct err *e;

	if (mkdirat(t->dir, CRASH_FILE_PROC, 0700) != 0)
		return err_sys(errno, "cannot make '%s'", CRASH_FILE_PROC);
	to = openat(t->dir, CRASH_FILE_PROC, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0)
		return err_sys(errno, "cannot open '%s'", CRASH_FILE_PROC);
	e = proc_files_copy(t, to);
	if (!e)
		e = descriptors_copy(t, to);
	if (!e)
		e = threads_copy(t, to);
	return e ? e : log_copy(t);
}

/* ---- the file `capture` ---------------------------------------------------------------------- */

static void link_key(struct taking *t, const char *key, const char *name)
{
	strbuf_addf(&t->out, "%s=", key);
	link_add(&t->out, t->proc, name);
	strbuf_addc(&t->out, '\n');
}

/* Ids of containers are runs of 64 hexadecimal digits in the path of the control group. */
static void cgroup_keys(struct taking *t)
{
	struct strbuf text = {0};
	const char *at;
	char *line = NULL;

	(void)proc_read(t->proc, "cgroup", &text);
	at = strncmp(strbuf_text(&text), "0::", 3) == 0 ? strbuf_text(&text)
							: strstr(strbuf_text(&text), "\n0::");
	if (at) {
		at = strstr(at, "0::") + 3;
		line = strndup(at, strcspn(at, "\n"));
	}
	if (line) {
		pair_write(&t->out, CRASH_KEY_CGROUP, line);
		for (const char *c = line; *c;) {
			size_t n = strspn(c, "0123456789abcdef");

			if (n == 64) {
				strbuf_addf(&t->out, "%s=%.64s\n", CRASH_KEY_CONTAINER, c);
				break;
			}
			c += MAX(n, (size_t)1);
		}
	}
	free(line);
	strbuf_deinit(&text);
}

static void build_id_key(struct taking *t)
{
	const struct proc_map *m = target_program(t->what->held);
	CLEANUP(gate_file) struct gate_file *file = m ? target_open_map(t->what->held, m) : NULL;
	struct gate_elf elf;
	struct build_id id;

	gate_elf_open(file, GATE_LIMIT_DEFAULT, &elf);
	if (build_id_read(&id, &elf)) {
		strbuf_addf(&t->out, "%s=", CRASH_KEY_EXE_BUILD_ID);
		build_id_add(&t->out, &id, 0);
		strbuf_addc(&t->out, '\n');
	}
	gate_elf_close(&elf);
}

/* The real, effective, saved and file system ids of a process. */
struct ids {
	unsigned long of[4];
};

static struct ids ids_read(const struct strbuf *text, const char *name)
{
	struct ids i = {{0}};
	size_t len;

	(void)sscanf(line_value(text, name, &len), "%lu %lu %lu %lu", &i.of[0], &i.of[1], &i.of[2],
		     &i.of[3]);
	return i;
}

static bool ids_are_equal(const struct ids *i)
{
	return i->of[0] == i->of[1] && i->of[0] == i->of[2] && i->of[0] == i->of[3];
}

/*
 * Whether its own user could have the process dumped: it has no other ids, and files of /proc that
 * belong to root where that is forbidden are its own. -1: that is not certain. Facts: proc(5),
 * prctl(2), PR_SET_DUMPABLE.
 */
static int dumpable_find(const struct taking *t, const struct ids *uids, const struct ids *gids)
{
	struct stat st;

	return ids_are_equal(uids) && ids_are_equal(gids) &&
			       fstatat(t->proc, "maps", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			       st.st_uid == uids->of[1]
		       ? 1
		       : -1;
}

static void status_keys(struct taking *t)
{
	struct strbuf text = {0};
	struct ids uids, gids;
	const char *value;
	size_t len;

	(void)proc_read(t->proc, "status", &text);
	value = line_value(&text, "NSpid", &len);
	for (size_t i = 0; i < len; i++)
		if (value[i] == '\t') {
			value += i + 1;
			len -= i + 1;
			i = (size_t)-1;
		}
	strbuf_addf(&t->out, "%s=%.*s\n", CRASH_KEY_NS_PID, (int)len, value);
	uids = ids_read(&text, "Uid");
	gids = ids_read(&text, "Gid");
	pair_write_int(&t->out, CRASH_KEY_UID, (int64_t)uids.of[0]);
	pair_write_int(&t->out, CRASH_KEY_GID, (int64_t)gids.of[0]);
	pair_write_int(&t->out, CRASH_KEY_EUID, (int64_t)uids.of[1]);
	pair_write_int(&t->out, CRASH_KEY_EGID, (int64_t)gids.of[1]);
	pair_write_int(&t->out, CRASH_KEY_DUMPABLE, dumpable_find(t, &uids, &gids));
	strbuf_deinit(&text);
}

/* Field 22 stands behind the name, which may have anything in it. */
static void start_key(struct taking *t)
{
	struct strbuf text = {0};
	unsigned long long start = 0;
	const char *end;

	(void)proc_read(t->proc, "stat", &text);
	end = strrchr(strbuf_text(&text), ')');
	if (end)
		(void)sscanf(end + 1,
			     " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			     "%*d %*d %*d %llu",
			     &start);
	pair_write_int(&t->out, CRASH_KEY_START, (int64_t)start);
	strbuf_deinit(&text);
}

static void signal_keys(struct taking *t)
{
	const siginfo_t *why = t->what->why;

	pair_write_int(&t->out, CRASH_KEY_SIGNAL, why ? why->si_signo : 0);
	if (!why)
		return;
	pair_write_int(&t->out, CRASH_KEY_SI_CODE, why->si_code);
	switch (why->si_signo) {
	case SIGSEGV:
	case SIGBUS:
	case SIGILL:
	case SIGFPE:
	case SIGTRAP:
		strbuf_addf(&t->out, "%s=0x%" PRIxPTR "\n", CRASH_KEY_SI_ADDR,
			    (uintptr_t)why->si_addr);
		break;
	}
}

static void capture_make(struct taking *t, const char *id, uint64_t time_ns,
			 const struct target_copied *stats)
{
	struct rlimit core = {0};
	struct target_who who;

	pair_write_int(&t->out, CRASH_KEY_FORMAT, CRASH_FORMAT);
	pair_write(&t->out, CRASH_KEY_ID, id);
	pair_write_int(&t->out, CRASH_KEY_PID, t->pid);
	pair_write_int(&t->out, CRASH_KEY_TID, t->what->tid);
	pair_write_int(&t->out, CRASH_KEY_TIME, (int64_t)time_ns);
	start_key(t);
	signal_keys(t);
	if (prlimit(t->pid, RLIMIT_CORE, NULL, &core) == 0)
		strbuf_addf(&t->out, "%s=%" PRIu64 "\n", CRASH_KEY_CORE_LIMIT,
			    (uint64_t)core.rlim_cur);
	status_keys(t);
	link_key(t, CRASH_KEY_EXE, "exe");
	if (target_who(t->what->held, t->what->tid, &who))
		pair_write(&t->out, CRASH_KEY_COMM, who.name);
	link_key(t, CRASH_KEY_CWD, "cwd");
	cgroup_keys(t);
	build_id_key(t);
	pair_write(&t->out, CRASH_KEY_KEEP, "heap");
	pair_write(&t->out, CRASH_KEY_KEPT, "heap");
	pair_write(&t->out, CRASH_KEY_WAY, t->what->way);
	pair_write_int(&t->out, CRASH_KEY_THREADS, t->nthreads);
	pair_write_int(&t->out, CRASH_KEY_THREADS_COPIED, t->nthreads);
	pair_write_int(&t->out, CRASH_KEY_BYTES_COPIED, (int64_t)stats->bytes);
	pair_write_int(&t->out, CRASH_KEY_HOLES, 0);
	pair_write_int(&t->out, CRASH_KEY_WAITED, (int64_t)(now_ns() - t->what->held_ns));
	pair_write_int(&t->out, CRASH_KEY_COUNT_ONLY, 0);
}

/* ---- the entry ------------------------------------------------------------------------------- */

static uint64_t time_now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Makes the directory of an entry, under the name that it has while it is filled. */
static struct err *entry_make(const struct crash_store *s, struct taking *t, uint64_t time_ns,
			      char hidden[CRASH_ID_SIZE])
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	char stamp[32] = "";
	uint32_t random;
	struct tm tm;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return err_sys(errno, "there are no random numbers");
	if (gmtime_r(&seconds, &tm))
		(void)strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &tm);
	(void)snprintf(hidden, CRASH_ID_SIZE, ".%s-%d-%06x", stamp, (int)t->pid,
		       (unsigned)random & 0xffffffu);
	if (mkdirat(s->fd, hidden, 0700) != 0)
		return err_sys(errno, "cannot make a directory in '%s'", s->path);
	t->dir = openat(s->fd, hidden, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (t->dir < 0 || flock(t->dir, LOCK_EX | LOCK_NB) != 0)
		return err_sys(errno, "cannot open a directory of '%s'", s->path);
	return NULL;
}

static struct err *entry_fill(const struct crash_store *s, struct taking *t, const char *hidden,
			      uint64_t time_ns)
{
	struct target_copied stats = {0};
	CLEANUP(free) char *folder = path_join(s->path, hidden);
	CLEANUP(free) char *core = path_join(folder, CRASH_FILE_CORE);
	struct err *e = proc_copy(t);

	if (!e)
		e = target_save_held(t->what->held, t->what->tid, t->what->why, core, &stats);
	if (e)
		return e;
	capture_make(t, hidden + 1, time_ns, &stats);
	e = file_write(t->dir, CRASH_FILE_CAPTURE, strbuf_text(&t->out), t->out.len);
	if (!e && renameat(s->fd, hidden, s->fd, hidden + 1) != 0)
		e = err_sys(errno, "cannot rename '%s'", folder);
	return e;
}

struct err *crash_take(const struct crash_store *s, const struct crash_take *what, char *ret_id)
{
	struct taking t = {.what = what, .pid = target_pid(what->held), .dir = -1, .proc = -1};
	uint64_t time_ns = time_now_ns();
	char hidden[CRASH_ID_SIZE] = "", path[64];
	struct err *e = NULL;

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)t.pid);
	t.proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t.proc < 0)
		e = err_sys(errno, "cannot read '%s'", path);
	if (!e)
		e = entry_make(s, &t, time_ns, hidden);
	if (!e)
		e = entry_fill(s, &t, hidden, time_ns);
	if (!e)
		(void)snprintf(ret_id, CRASH_ID_MAX + 1, "%s", hidden + 1);
	else if (*hidden)
		(void)crash_tree_remove(s->fd, hidden);
	if (t.dir >= 0)
		(void)close(t.dir);
	if (t.proc >= 0)
		(void)close(t.proc);
	strbuf_deinit(&t.out);
	return e ? err_wrap(e, "cannot capture process %d", (int)t.pid) : NULL;
}
