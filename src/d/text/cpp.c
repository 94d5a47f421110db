/* SPDX-License-Identifier: MIT */
/*
 * Runs the C preprocessor as a child process.
 *
 * The script is a memory file on the child's standard input, so that dtrace serves only one pipe:
 * nothing can block on a full pipe, and a child that does not read cannot end dtrace by SIGPIPE.
 * The child's messages go to dtrace's standard error, as in other DTraces.
 */
#include "d/text/cpp.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "arch/arch.h"
#include "d/text/list.h"
#include "d/text/source.h"
#include "dtrace.h"

/* Linux 105ff5339f49 ("mm/memfd: add MFD_NOEXEC_SEAL and MFD_EXEC"), v6.3 */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

/* ---- arguments ------------------------------------------------------------------------------- */

typedef LIST(const char *) arg_list;

/* The macros of d-language.md 1.10, row Linux. */
static void args_add_predefined(struct arena *a, arg_list *l)
{
	const char *const defines[] =
	{ "-D__unix",
	  "-D__SVR4",
	  "-D__SUNW_D=1",
#if defined(__LP64__)
	  "-D__SUNW_D_64",
#else
	  "-D__SUNW_D_32",
#endif
	  arch.cpp,
	  /* With __GNUC__ the C library's headers use syntax that D does not have. */
	  "-U__GNUC__",
	  "-D__signed__=signed",
	};
	struct utsname uts;
	const char *sys = uname(&uts) == 0 ? uts.sysname : "Linux";

	list_push(a, l, "-D__linux");
	list_push(a, l, arena_printf(a, "-D__%s", sys));
	for (size_t i = 0; i < ARRAY_LEN(defines); i++)
		list_push(a, l, defines[i]);
}

static const char *conformance_arg(char stdc)
{
	switch (stdc) {
	case 's': return "-traditional-cpp";
	case 'a':
	case 'c':
	case 't': return "-std=c99";
	default: return NULL;
	}
}

static const char *const *args_make(struct arena *a, const struct cpp_opts *opts)
{
	arg_list l = {0};

	list_push(a, &l, opts->path ? opts->path : "cpp");
	args_add_predefined(a, &l);
	for (uint32_t i = 0; i < opts->nargs; i++)
		list_push(a, &l, opts->args[i]);
	list_push(a, &l,
		  arena_printf(a, "-D__SUNW_D_VERSION=0x%08x",
			       opts->d_version ? opts->d_version : D_VERSION_NEWEST));
	if (conformance_arg(opts->stdc))
		list_push(a, &l, conformance_arg(opts->stdc));
	/* the input is /dev/stdin, so without -iquote #include "..." would look in /dev */
	list_push(a, &l, "-iquote");
	list_push(a, &l, opts->dir ? opts->dir : ".");
	list_push(a, &l, "/dev/stdin");
	list_push(a, &l, NULL);
	return l.data;
}

/* ---- input, output --------------------------------------------------------------------------- */

static struct err *write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(errno, "cannot hand the script to the preprocessor");
		text += n;
		len -= (size_t)n;
	}
	return NULL;
}

/*
 * Makes a memory file of the script, positioned at its start. A leading '#!' line is replaced by an
 * empty line, so that line numbers stay.
 */
static MUST_CHECK struct err *input_make(const char *text, size_t len, int *ret_fd)
{
	CLEANUP(fd) int fd = memfd_create("d-script", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
	struct err *e;

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("d-script", MFD_CLOEXEC);
	if (fd < 0)
		return err_sys(errno, "cannot hand the script to the preprocessor");
	if (len >= 2 && text[0] == '#' && text[1] == '!') {
		const char *nl = memchr(text, '\n', len);
		size_t skip = nl ? (size_t)(nl - text) : len;

		text += skip;
		len -= skip;
	}
	e = write_all(fd, text, len);
	if (e)
		return e;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_sys(errno, "cannot rewind the script for the preprocessor");
	*ret_fd = fd_take(&fd);
	return NULL;
}

static MUST_CHECK struct err *output_read(int fd, struct strbuf *out)
{
	char buf[16384];

	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(errno, "cannot read from the preprocessor");
		if (n == 0)
			return NULL;
		if (out->len + (size_t)n > SOURCE_MAX)
			return err_new("the preprocessor's output is larger than %u MiB",
				       SOURCE_MAX >> 20);
		strbuf_add(out, buf, (size_t)n);
	}
}

/* ---- the child ------------------------------------------------------------------------------- */

static struct err *spawn_error(int sys, const char *path)
{
	int code = sys == ENOENT		    ? EDT_CPPENT
		   : sys == EAGAIN || sys == ENOMEM ? EDT_CPPFORK
						    : EDT_CPPEXEC;
	struct err *e = sys == ENOENT	      ? err_new("Preprocessor not found")
			: code == EDT_CPPFORK ? err_sys(sys, "Failed to fork preprocessor")
					      : err_sys(sys, "Failed to exec preprocessor");

	if (sys == ENOENT)
		e = err_hint(e, "install '%s', or name another one with -x cpppath", path);
	return err_code(e, code);
}

static MUST_CHECK struct err *child_start(const struct cpp_opts *opts, int in, int out,
					  pid_t *ret_pid)
{
	struct arena *a = arena_create();
	const char *const *argv = args_make(a, opts);
	posix_spawn_file_actions_t actions;
	int sys = posix_spawn_file_actions_init(&actions);

	if (!sys)
		sys = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	if (!sys)
		sys = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (!sys)
		sys = posix_spawnp(ret_pid, argv[0], &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	arena_destroy(a);
	return sys ? spawn_error(sys, opts->path ? opts->path : "cpp") : NULL;
}

static MUST_CHECK struct err *child_wait(pid_t pid)
{
	int status = 0;
	pid_t got;

	do
		got = waitpid(pid, &status, 0);
	while (got < 0 && errno == EINTR);
	/* With SIGCHLD ignored the kernel keeps no status; a failed child has left no output. */
	if (got < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
		return NULL;
	return err_code(err_new("Preprocessor failed to process input program"), EDT_CPPERR);
}

/* The first of two errors; the other is destroyed. Either may be NULL. */
static struct err *first_error(struct err *a, struct err *b)
{
	if (a)
		err_destroy(b);
	return a ? a : b;
}

struct err *cpp_run(const struct cpp_opts *opts, const char *text, size_t len,
		    struct strbuf *ret_out)
{
	CLEANUP(fd) int in = -1;
	int pipe_fds[2];
	struct strbuf out = {0};
	struct err *e = input_make(text, len, &in);
	pid_t pid;

	if (e)
		return err_code(e, EDT_CPPERR);
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return err_code(err_sys(errno, "cannot make a pipe for the preprocessor"),
				EDT_CPPERR);
	e = child_start(opts, in, pipe_fds[1], &pid);
	close(pipe_fds[1]);
	if (e) {
		close(pipe_fds[0]);
		return e;
	}
	e = output_read(pipe_fds[0], &out);
	/*
	 * Closed before the child is waited for: a child that still writes then gets an error
	 * instead of blocking for ever.
	 */
	close(pipe_fds[0]);
	if (e)
		e = err_code(e, EDT_CPPERR);
	e = first_error(e, child_wait(pid));
	if (!e && out.len) {
		cpp_drop_functions(out.data, out.len);
		strbuf_add(ret_out, out.data, out.len);
	}
	strbuf_deinit(&out);
	return e;
}
