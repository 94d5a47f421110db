/* SPDX-License-Identifier: MIT */
/* Writes a core into a container. */
#include "crash/into.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/apart.h"
#include "crash/format.h"

#define PATIENCE_MS 20000 /* file systems of a container can be served by it */
#define COPY_BYTES  (1u << 20)

enum { WROTE, NO_RIGHTS, NO_FOLDER, NO_FILE, NO_ROOM };
static const char *const faults[] = {
	[NO_RIGHTS] = "the rights of root cannot be given up",
	[NO_FOLDER] = "it is no directory there that the process could have opened",
	[NO_FILE] = "the process could not have made a file there",
	[NO_ROOM] = "the file cannot be written",
};

/* False: some right could not be given up. Who is root in the container is so without rights. */
static bool rights_drop(uid_t uid, gid_t gid)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	return setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
	       setresuid(uid, uid, uid) == 0 && syscall(SYS_capset, &head, none) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0;
}

/* Copies what is no hole. */
static bool data_copy(int from, int to, off_t size)
{
	char *buf = xmalloc(COPY_BYTES);

	for (off_t at = 0; at < size;) {
		off_t data = lseek(from, at, SEEK_DATA);
		ssize_t n;

		if (data < 0 && errno == ENXIO)
			break;
		at = MAX(at, data);
		n = pread(from, buf, (size_t)MIN(size - at, (off_t)COPY_BYTES), at);
		if (n <= 0 || pwrite(to, buf, (size_t)n, at) != n)
			return false;
		at += n;
	}
	return ftruncate(to, size) == 0; /* the end of this process frees the rest */
}

static int file_write(const struct crash_into *in, const char *name, off_t size)
{
	struct open_how how = {.flags = O_DIRECTORY | O_RDONLY | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	int folder = (int)syscall(SYS_openat2, in->root, in->folder, &how, sizeof(how)), to;

	if (folder < 0)
		return NO_FOLDER;
	to = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return NO_FILE;
	if (data_copy(in->core, to, size))
		return WROTE;
	(void)unlinkat(folder, name, 0);
	return NO_ROOM;
}

NORETURN static void writer_main(const struct crash_into *in, const char *name, off_t size)
{
	const int kept[] = {in->core, in->root};
	sigset_t none;
	uid_t uid = (uid_t)pairs_int(in->capture, CRASH_KEY_EUID, -1);
	gid_t gid = (gid_t)pairs_int(in->capture, CRASH_KEY_EGID, -1);

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setsid();
	descriptors_close(kept, 2, NULL, 0);
	if (!rights_drop(uid, gid))
		_exit(NO_RIGHTS);
	_exit(file_write(in, name, size));
}

/* Waits for the writer, whatever holds it; one that cannot be ended is left to itself. */
static struct err *writer_await(pid_t pid, const char *folder)
{
	CLEANUP(fd) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd end = {.fd = pidfd, .events = POLLIN};
	int status = 0;

	if (poll(&end, 1, PATIENCE_MS) <= 0) {
		(void)kill(pid, SIGKILL);
		(void)poll(&end, 1, PATIENCE_MS / 10);
		(void)waitpid(pid, NULL, WNOHANG);
		return err_new("'%s' in the container did not answer in time", folder);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) >= (int)ARRAY_LEN(faults))
		return err_new("what writes into '%s' of the container has died", folder);
	return WEXITSTATUS(status) == WROTE
		       ? NULL
		       : err_new("'%s' in the container: %s", folder, faults[WEXITSTATUS(status)]);
}

struct err *crash_into_container(const struct crash_into *in, char **ret_name)
{
	const char *limit_text = pairs_find(in->capture, CRASH_KEY_CORE_LIMIT);
	uint64_t limit = limit_text ? strtoull(limit_text, NULL, 10) : 0;
	CLEANUP(free) char *name = NULL;
	struct stat st;
	struct err *e;
	pid_t pid;

	if (pairs_int(in->capture, CRASH_KEY_DUMPABLE, -1) != 1 ||
	    pairs_int(in->capture, CRASH_KEY_EUID, -1) < 0 ||
	    pairs_int(in->capture, CRASH_KEY_EGID, -1) < 0)
		return err_new("the process was not to be dumped for its user");
	if (fstat(in->core, &st) != 0 || !S_ISREG(st.st_mode))
		return err_new("there is no core");
	if (limit < (uint64_t)st.st_size)
		return err_new("the process's limit of core files (ulimit -c) is %" PRIu64 " bytes",
			       limit);
	if (asprintf(&name, "core.%" PRId64 ".%" PRId64,
		     pairs_int(in->capture, CRASH_KEY_NS_PID, 0),
		     pairs_int(in->capture, CRASH_KEY_TIME, 0) / 1000000000) < 0)
		oom();
	(void)fflush(NULL);
	pid = fork();
	if (pid < 0)
		return err_sys(errno, "cannot make a process");
	if (pid == 0)
		writer_main(in, name, st.st_size);
	e = writer_await(pid, in->folder);
	if (e)
		return e;
	*ret_name = name;
	name = NULL;
	return NULL;
}
