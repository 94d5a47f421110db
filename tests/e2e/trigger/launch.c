/* SPDX-License-Identifier: MIT */
/*
 * Starts a program that may go on only when a tracer has looked at its file: launch FROM FILE
 * COMMAND...
 *
 * FROM is copied to FILE, or to a file without a name ("memfd"); COMMAND is run ("memfd": that
 * file). $TRACER is the process whose open() of a file counts, or that of its children. The program
 * reads a byte from descriptor $LAUNCH_FROM: its own file was opened. It may write a path to
 * $LAUNCH_TO and read a byte (that file is watched) and another (it was opened): so it works in
 * namespaces where it could not see who does that. Exit status: that of COMMAND.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 30000

static void fail(const char *what)
{
	perror(what);
	exit(99);
}

/* The copy, open for reading: what is open for writing cannot be executed. */
static int copy_of(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), file;
	int out = strcmp(to, "memfd") ? open(to, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755)
				      : memfd_create("n", MFD_CLOEXEC);
	char path[64];

	if (in < 0 || out < 0)
		fail(from);
	while (sendfile(out, in, NULL, 1 << 20) > 0)
		;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", out);
	file = open(path, O_RDONLY | O_CLOEXEC);
	close(in);
	close(out);
	return file;
}

static int watch(const char *path)
{
	int fan = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC);

	if (fan < 0 || fanotify_mark(fan, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, path) != 0)
		fail(path);
	return fan;
}

/* The tracer leaves some files to a process of its own. */
static int parent_of(int pid)
{
	char path[64], line[256];
	int parent = -1;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "PPid: %d", &parent) == 1)
			break;
	if (f)
		fclose(f);
	return parent;
}

static int is_opened_by(const struct fanotify_event_metadata *events, ssize_t len, int pid)
{
	int yes = 0;

	for (; FAN_EVENT_OK(events, len); events = FAN_EVENT_NEXT(events, len)) {
		yes |= events->pid == pid || parent_of(events->pid) == pid;
		if (events->fd >= 0)
			close(events->fd);
	}
	return yes;
}

static void wait_opened(int fan, int pid)
{
	struct fanotify_event_metadata events[64];
	struct pollfd p = {.fd = fan, .events = POLLIN};
	ssize_t len;

	do {
		if (poll(&p, 1, PATIENCE_MS) <= 0)
			fail("the tracer does not look at the file");
		len = read(fan, events, sizeof(events));
	} while (len > 0 && !is_opened_by(events, len, pid));
	close(fan);
}

static void tell(int fd)
{
	if (write(fd, "", 1) != 1)
		exit(99); /* the program has ended */
}

/* Does not return. */
static void run(int file, char **argv, int from, int to)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%d", from);
	setenv("LAUNCH_FROM", text, 1);
	(void)snprintf(text, sizeof(text), "%d", to);
	setenv("LAUNCH_TO", text, 1);
	if (strcmp(argv[0], "memfd") == 0)
		fexecve(file, argv, environ);
	else
		execvp(argv[0], argv);
	fail(argv[0]);
}

int main(int argc, char **argv)
{
	const char *tracer = getenv("TRACER");
	int pid = tracer ? atoi(tracer) : 0;
	int to_child[2], from_child[2], file, fan, status;
	char path[4096];
	ssize_t n;

	if (argc < 4 || !pid || pipe(to_child) || pipe(from_child))
		fail("launch");
	file = copy_of(argv[1], argv[2]);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	fan = watch(path);
	if (fork() == 0) {
		close(to_child[1]);
		close(from_child[0]);
		run(file, argv + 3, to_child[0], from_child[1]);
	}
	close(to_child[0]);
	close(from_child[1]);
	wait_opened(fan, pid);
	tell(to_child[1]);
	while ((n = read(from_child[0], path, sizeof(path) - 1)) > 0) {
		path[n] = '\0';
		fan = watch(path);
		tell(to_child[1]);
		wait_opened(fan, pid);
		tell(to_child[1]);
	}
	wait(&status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}
