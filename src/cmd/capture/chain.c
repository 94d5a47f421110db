/* SPDX-License-Identifier: MIT */
/*
 * Programs that are started: the one that core_pattern named before us, which gets the same core
 * and its own arguments, and the analyser.
 *
 * Facts    core(5) and fs/coredump.c, format_corename(): the pattern is split at spaces, then each
 *          word is expanded.
 */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "cmd/capture/capture.h"

#define WORDS_MAX 32
#define SLOW_MS	  10000 /* so long we hold the core's end for the former program */

extern char **environ;

static char words_text[8192];
static char *words[WORDS_MAX + 1];
static size_t words_len;
static bool words_full;

static void word_bytes(const char *data, size_t len)
{
	if (len >= sizeof(words_text) - words_len) {
		words_full = true;
		return;
	}
	memcpy(words_text + words_len, data, len);
	words_len += len;
	words_text[words_len] = 0;
}

static void word_number(u64 n)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	word_bytes(text, strlen(text));
}

/* Names with '!' in place of '/', as the kernel writes them. */
static void word_name(const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		word_bytes(data[i] == '/' ? "!" : data + i, 1);
}

static void specifier_add(char c, const struct process *p)
{
	const char *slash = memrchr(p->exe, '/', p->exe_len);
	struct utsname host;

	switch (c) {
	case '%': word_bytes("%", 1); break;
	case 'P': word_number(p->pid); break;
	case 'I': word_number(p->tid); break;
	case 'p': word_number(p->ns_pid ? p->ns_pid : p->pid); break;
	case 'i': word_number(p->ns_tid ? p->ns_tid : p->tid); break;
	case 'u': word_number(p->uid); break;
	case 'g': word_number(p->gid); break;
	case 's': word_number((u64)p->signal); break;
	case 't': word_number(time_real() / NS_PER_S); break;
	case 'd': word_number((u64)MAX(p->dumpable, 0)); break;
	case 'c': word_number(p->core_limit); break;
	case 'h':
		if (uname(&host) == 0)
			word_name(host.nodename, strlen(host.nodename));
		break;
	case 'e': word_name(p->comm, p->comm_len); break;
	case 'f':
		if (slash)
			word_name(slash + 1, p->exe_len - (size_t)(slash + 1 - p->exe));
		break;
	case 'E': word_name(p->exe, p->exe_len); break;
	case 'F':
		if (p->pidfd >= 0)
			word_bytes("3", 1);
		break;
	default: break; /* as the kernel does with those that it does not know */
	}
}

/* The words of the former pattern; false: there is none, or it does not fit. */
static bool words_make(const struct config *c, const struct process *p)
{
	u32 n = 0;

	words_len = 0;
	words_full = false;
	for (const char *at = c->chain; *at;) {
		at += strspn(at, " \t");
		if (!*at)
			break;
		if (n == WORDS_MAX)
			return false;
		words[n++] = words_text + words_len;
		word_bytes("", 0);
		for (; *at && *at != ' ' && *at != '\t'; at++) {
			if (*at == '%' && at[1])
				specifier_add(*++at, p);
			else
				word_bytes(at, 1);
		}
		if (words_full)
			return false;
		words_len++; /* its NUL */
	}
	words[n] = NULL;
	return n > 0;
}

/* Moves descriptors to where the former program has them from the kernel, and becomes it. */
static void words_become(int in, int pidfd)
{
	alarm(0);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGALRM, SIG_DFL);
	umask(022);
	if (pidfd >= 0 && pidfd != 3 && dup2(pidfd, 3) < 0)
		pidfd = -1;
	if (pidfd == 3)
		fcntl(3, F_SETFD, 0);
	if (dup2(in, 0) < 0)
		return;
	close(1);
	close(2);
	/* All of ours are closed by the call: they have FD_CLOEXEC. */
	execve(words[0], words, environ);
	say("cannot start the former program '%s': %s", words[0], strerror(errno));
}

void chain_become(const struct config *c, const struct process *p)
{
	if (words_make(c, p))
		words_become(p->in, p->pidfd);
}

/* Plays the head, then lets the kernel's pipe flow into the former program's. */
static void core_play(const struct process *p, const struct head *h, int to)
{
	static char buf[64 << 10];
	ssize_t n;

	if (write_all(to, head_bytes, h->len))
		return;
	while ((n = splice(p->in, NULL, to, NULL, 1 << 20, 0)) > 0 || (n < 0 && errno == EINTR))
		;
	if (n == 0 || errno != EINVAL)
		return;
	while ((n = read(p->in, buf, sizeof(buf))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0 && write_all(to, buf, (size_t)n))
			return;
}

static void player_run(const struct process *p, const struct head *h)
{
	int ends[2], pidfd;
	pid_t child;

	alarm(0);
	signal(SIGALRM, SIG_DFL);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	child = fork();
	if (child == 0) {
		words_become(ends[0], p->pidfd);
		_exit(1);
	}
	close(ends[0]);
	if (child < 0)
		return;
	core_play(p, h, ends[1]);
	close(ends[1]);
	/*
	 * With core_pipe_limit the kernel keeps the process until we close, and the program relies
	 * on that.
	 */
	pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	if (pidfd >= 0)
		poll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1, SLOW_MS);
}

void chain_start(const struct config *c, struct process *p, const struct head *h)
{
	if (words_make(c, p)) {
		pid_t child = fork();

		if (child == 0) {
			player_run(p, h);
			_exit(0);
		}
		if (child < 0)
			say("cannot start the former program: %s", strerror(errno));
	}
	process_release(p);
}

/*
 * An flock() belongs to the open file: the analyser has the entry's from its first instruction on,
 * and no other analyser can take the entry before. Whatever else of ours has the descriptor, the
 * lock is given up where no analyser runs.
 */
void analyser_start(const struct config *c, const struct entry *e, int container)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	static char name[] = "fathom-crash", verb[] = "analyse";
	static char option[] = "--store", second[] = "--config", third[] = "--entry=3",
		    fourth[] = "--container=4";
	static char store[sizeof(c->store)], entry[CRASH_ID_SIZE];
	char *args[] = {name, option, store, second, (char *)c->path,
			verb, entry,  third, NULL,   NULL};
	char *env[] = {path, NULL};
	pid_t child;
	int null, dir;

	child = c->analyser[0] && access(c->analyser, X_OK) == 0 ? fork() : -1;
	if (child < 0)
		flock(e->dir, LOCK_UN); /* the timer's run finds the capture */
	if (child > 0)
		waitpid(child, NULL, 0);
	if (child != 0)
		return;
	/* A child of its own session, whose parent ends at once. */
	if (setsid() < 0 || fork() != 0)
		_exit(0);
	alarm(0);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGALRM, SIG_DFL);
	memcpy(store, c->store, sizeof(store));
	memcpy(entry, e->id, strlen(e->id) + 1);
	null = open("/dev/null", O_RDWR);
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	/* none of the two is closed by the other one's new number */
	dir = fcntl(e->dir, F_DUPFD, 5);
	container = container >= 0 ? fcntl(container, F_DUPFD, 5) : -1;
	if (container >= 0 && dup2(container, 4) == 4)
		args[8] = fourth;
	if (dup2(dir, 3) == 3) {
		syscall(SYS_close_range, args[8] ? 5 : 4, ~0u, 0);
		execve(c->analyser, args, env);
	}
	say("cannot start %s: %s", c->analyser, strerror(errno));
	flock(3, LOCK_UN);
	_exit(1);
}
