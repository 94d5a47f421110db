/* SPDX-License-Identifier: MIT */
#include "child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/base.h"

/* Maps the file as the dynamic linker would: from its start, executable. */
static char file_map(const char *path, void **at, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	*at = MAP_FAILED;
	if (fd >= 0 && fstat(fd, &st) == 0) {
		*size = (size_t)st.st_size;
		*at = mmap(NULL, *size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	}
	if (fd >= 0)
		(void)close(fd);
	return *at == MAP_FAILED ? '-' : '+';
}

/* A request is a path, or "" to unmap; the answer is one byte. */
static void child_serve(int hear, int tell)
{
	char path[4096];
	void *at = MAP_FAILED;
	size_t size = 0;

	while (read(hear, path, sizeof(path)) > 0) {
		char answer = *path		      ? file_map(path, &at, &size)
			      : munmap(at, size) == 0 ? '+'
						      : '-';

		if (write(tell, &answer, 1) != 1)
			break;
	}
	_exit(0);
}

bool child_begin(struct child *c)
{
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
		return false;
	(void)fflush(stdout);
	c->pid = fork();
	if (!c->pid) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)close(to[1]);
		(void)close(from[0]);
		child_serve(to[0], from[1]);
	}
	(void)close(to[0]);
	(void)close(from[1]);
	c->tell = to[1];
	c->hear = from[0];
	return c->pid > 0;
}

static bool child_ask(const struct child *c, const char *path)
{
	char answer = '-';

	return write(c->tell, path, strlen(path) + 1) > 0 && read(c->hear, &answer, 1) == 1 &&
	       answer == '+';
}

bool child_map(const struct child *c, const char *path)
{
	return child_ask(c, path);
}

bool child_unmap(const struct child *c)
{
	return child_ask(c, "");
}

void child_end(struct child *c)
{
	(void)close(c->tell);
	(void)close(c->hear);
	(void)waitpid(c->pid, NULL, 0);
}

bool program_copy(const char *path)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	struct stat st;
	off_t at = 0;
	bool is_done = from >= 0 && to >= 0 && fstat(from, &st) == 0;

	while (is_done && at < st.st_size)
		is_done = sendfile(to, from, &at, (size_t)(st.st_size - at)) > 0;
	if (from >= 0)
		(void)close(from);
	if (to >= 0)
		(void)close(to);
	return is_done;
}
