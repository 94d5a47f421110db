/* SPDX-License-Identifier: MIT */
/*
 * Runs dtrace for tests of ustack helpers: met DTRACE ARGUMENTS...
 *
 * A process has frames of its language some time after its first stack: how long after depends on
 * the machine. When dtrace says in its lines of the option debug that it knows the helpers of
 * process PID, the files met.PID and met are made in the folder $MET, or in the current one:
 * unmet.PID and unmet if no helper applies to the process. A traced program makes its first stack,
 * waits until its file is there, and goes on. The files are made when dtrace sleeps for a while:
 * until then, it may be loading unwind tables of what the process has mapped. What dtrace says
 * besides is passed on, with its other lines of the option debug if that is among the arguments.
 * Exit status: that of dtrace.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int folder = AT_FDCWD;

static void file_make(const char *name)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0) {
		perror(name);
		exit(99);
	}
	close(fd);
}

/* Do all threads of the process sleep, or has it ended? */
static int sleeps(pid_t pid)
{
	char path[64], text[512];
	struct dirent *d;
	int all = 1;
	DIR *tasks;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && (d = readdir(tasks))) {
		int fd, n;
		char *state;

		(void)snprintf(path, sizeof(path), "%.16s/stat", d->d_name);
		fd = openat(dirfd(tasks), path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : (int)read(fd, text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = '\0';
		state = strrchr(text, ')');
		all &= !state || strncmp(state, ") S", 3) == 0 || strncmp(state, ") Z", 3) == 0;
		if (fd >= 0)
			close(fd);
	}
	if (tasks)
		closedir(tasks);
	return all;
}

static void sleep_wait(pid_t pid)
{
	int times = 0;

	for (int i = 0; i < 1000 && times < 10; i++) {
		times = sleeps(pid) ? times + 1 : 0;
		usleep(10000);
	}
}

/* Returns whether the line is there because of this program only. */
static int line_heed(pid_t tracer, const char *line, int debugs)
{
	const char *said = strstr(line, "ustack helpers of process ");
	char name[32];
	const char *made = "met";
	int pid;

	if (strncmp(line, "libdtrace DEBUG ", 16) != 0)
		return 0;
	if (!said || sscanf(said, "ustack helpers of process %d:", &pid) != 1)
		return !debugs;
	sleep_wait(tracer);
	if (strstr(said, ": none"))
		made = "unmet";
	(void)snprintf(name, sizeof(name), "%s.%d", made, pid);
	file_make(name);
	file_make(made);
	return 1;
}

int main(int argc, char **argv)
{
	int ends[2], status = 0, debugs = 0;
	char *line = NULL;
	size_t size = 0;
	FILE *said;
	pid_t pid;

	if (getenv("MET"))
		folder = open(getenv("MET"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (argc < 2 || pipe2(ends, O_CLOEXEC) != 0)
		return 99;
	for (int i = 2; i < argc; i++)
		debugs |= strcmp(argv[i], "debug") == 0;
	pid = fork();
	if (pid == 0) {
		(void)dup2(ends[1], STDERR_FILENO);
		(void)setenv("DTRACE_DEBUG", "1", 1);
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(99);
	}
	close(ends[1]);
	said = fdopen(ends[0], "re");
	while (said && getline(&line, &size, said) >= 0)
		if (!line_heed(pid, line, debugs))
			(void)fputs(line, stderr);
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}
