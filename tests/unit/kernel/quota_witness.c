/* SPDX-License-Identifier: MIT */
/* What a witness says of a session that is killed, and that it ends whatever becomes of that. */
#include "kernel/quota_witness.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define OVERDRAWN "it took too much\n"
#define STOPPED	  "it was stopped\n"

/* Begins a session with a witness, whose standard error is `out`, and kills it; a pidfd of that. */
static int session_kill(struct witness_area *a, int out, int control)
{
	pid_t child = fork();
	int status, fd;

	if (child == 0) {
		(void)dup2(out, STDERR_FILENO);
		witness_begin(a, control);
		(void)raise(SIGSTOP);
		_exit(0);
	}
	(void)waitpid(child, &status, WUNTRACED);
	fd = (int)syscall(SYS_pidfd_open, a->pid, 0);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, &status, 0);
	return fd;
}

static void ends(struct witness_area *a, int witness)
{
	struct pollfd end = {.fd = witness, .events = POLLIN};

	ok(witness >= 0 && poll(&end, 1, 60000 * tap_patience()) == 1, "the witness ends");
	if (!end.revents)
		(void)kill(a->pid, SIGKILL);
	(void)close(witness);
}

/* The control map has pages; counters are two words. */
static int control_make(uint64_t taken, uint64_t most)
{
	const uint64_t words[] = {taken, most};
	int fd = memfd_create("control", MFD_CLOEXEC);

	(void)!ftruncate(fd, 4096);
	(void)!pwrite(fd, words, sizeof(words), 0);
	return fd;
}

static struct witness_area *area_make(void)
{
	struct witness_area *a = witness_area_create();

	(void)snprintf(a->overdrawn, sizeof(a->overdrawn), "%s", OVERDRAWN);
	(void)snprintf(a->stopped, sizeof(a->stopped), "%s", STOPPED);
	a->stopped_ns = 1;
	a->control_size = 4096;
	a->most_off = sizeof(uint64_t);
	a->ncounters = 1;
	return a;
}

static void says(const char *what, const char *wanted, uint64_t taken, bool is_wound, bool is_over)
{
	struct witness_area *a = area_make();
	int fds[2], control = control_make(taken, 100);
	char text[128];
	ssize_t n;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0) {
		ok(false, "a pipe");
		return;
	}
	atomic_store(&a->wound_at, is_wound ? now_ns() : 0);
	atomic_store(&a->is_over, is_over);
	ends(a, session_kill(a, fds[1], control));
	n = read(fds[0], text, sizeof(text) - 1);
	text[MAX(n, 0)] = '\0';
	is_str(text, wanted, what);
	a->pid = 0; /* a child of the session's */
	witness_end(a);
	(void)close(fds[0]);
	(void)close(fds[1]);
	(void)close(control);
}

/* Nobody reads what it would write. */
static void test_blocked(void)
{
	struct witness_area *a = area_make();
	int fds[2], control = control_make(1, 100), flags;
	char page[4096] = {0};

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0) {
		ok(false, "a pipe");
		return;
	}
	while (write(fds[1], page, sizeof(page)) > 0)
		;
	flags = fcntl(fds[1], F_GETFL);
	(void)fcntl(fds[1], F_SETFL, flags & ~O_NONBLOCK);
	atomic_store(&a->wound_at, now_ns());
	ends(a, session_kill(a, fds[1], control));
	a->pid = 0;
	witness_end(a);
	(void)close(fds[0]);
	(void)close(fds[1]);
	(void)close(control);
}

int main(void)
{
	says("a counter is above its most", OVERDRAWN, 101, true, false);
	says("it was stopped", STOPPED, 100, true, false);
	says("killed by somebody", "", 100, false, false);
	says("it has said why itself", "", 101, true, true);
	test_blocked();
	return tap_done();
}
