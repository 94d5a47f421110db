/* SPDX-License-Identifier: MIT */
/* Runs D scripts over a core. */
#include "crash/scripts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/str.h"
#include "crash/store.h"
#include "dtrace.h"

#define SCRIPTS_MAX 32u
#define SCRIPT_SIZE (64u << 10)
#define OUTPUT_SIZE (64u << 10)
#define SECONDS	    10

void crash_scripts_free(struct crash_scripts *s)
{
	for (uint32_t i = 0; i < s->list.len; i++)
		free(s->list.data[i]);
	vec_deinit(&s->list);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int name_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_script(const char *name)
{
	size_t len = strlen(name);

	return name[0] != '.' && len > 2 && strcmp(name + len - 2, ".d") == 0;
}

static bool is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static void script_read(int dir, const char *name, struct crash_scripts *ret)
{
	CLEANUP(fd) int fd = crash_file_open(dir, name);
	struct strbuf text = {0};
	struct err *e = NULL;

	if (fd < 0 || !is_ours(fd))
		return;
	e = crash_file_read(dir, name, SCRIPT_SIZE, &text);
	if (!e) {
		/* "#!/usr/sbin/dtrace -s": the numbers of lines stay */
		if (text.len > 1 && text.data[0] == '#' && text.data[1] == '!')
			memset(text.data, ' ', strcspn(text.data, "\n"));
		vec_push(&ret->list, xstrdup(name));
		vec_push(&ret->list, xstrdup(strbuf_text(&text)));
	}
	err_destroy(e); /* it is as if it were not there */
	strbuf_deinit(&text);
}

void crash_scripts_read(const char *folder, struct crash_scripts *ret)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	VEC(char *) names = {0};
	struct dirent *d;
	DIR *dir;

	*ret = (struct crash_scripts){0};
	if (fd < 0 || !is_ours(fd) || !(dir = fdopendir(fd))) {
		cleanup_fd(&fd);
		return;
	}
	while ((d = readdir(dir)))
		if (is_script(d->d_name))
			vec_push(&names, xstrdup(d->d_name));
	if (names.len)
		qsort(names.data, names.len, sizeof(*names.data), name_compare);
	for (uint32_t i = 0; i < names.len; i++) {
		if (i < SCRIPTS_MAX)
			script_read(dirfd(dir), names.data[i], ret);
		free(names.data[i]);
	}
	vec_deinit(&names);
	(void)closedir(dir);
}

/* ---- running --------------------------------------------------------------------------------- */

static int text_put(FILE *to, const char *text)
{
	(void)fputs(text, to);
	return DTRACE_HANDLE_OK;
}

static int notice_tell(dtrace_hdl_t *dtp, const char *msg, void *arg)
{
	return text_put(arg, msg);
}

static int fault_tell(const dtrace_errdata_t *fault, void *arg)
{
	return text_put(arg, fault->dteda_msg);
}

static int drop_tell(const dtrace_dropdata_t *drop, void *arg)
{
	return text_put(arg, drop->dtdda_msg);
}

static bool program_run(dtrace_hdl_t *h, const char *text, int core, FILE *to)
{
	dtrace_workstatus_t status = DTRACE_WORKSTATUS_OKAY;
	char path[32], name[] = "crash";
	char *args[] = {name, NULL};
	dtrace_prog_t *prog;

	(void)snprintf(path, sizeof(path), "/dev/fd/%d", core);
	(void)dtrace_handle_notice(h, notice_tell, to);
	(void)dtrace_handle_err(h, fault_tell, to);
	(void)dtrace_handle_drop(h, drop_tell, to);
	if (dtrace_setopt(h, "quiet", NULL) != 0 || dtrace_core(h, path) != 0)
		return false;
	prog = dtrace_program_strcompile(h, text, DTRACE_PROBESPEC_NAME, 0, 1, args);
	if (!prog || dtrace_program_exec(h, prog, NULL) != 0 || dtrace_go(h) != 0)
		return false;
	while (status == DTRACE_WORKSTATUS_OKAY) {
		dtrace_sleep(h);
		status = dtrace_work(h, to, NULL, NULL, NULL);
	}
	return status == DTRACE_WORKSTATUS_DONE && dtrace_aggregate_print(h, to, NULL) == 0;
}

NORETURN static void script_main(const char *text, int core, int out)
{
	FILE *to = fdopen(out, "w");
	dtrace_hdl_t *h;
	int error;

	if (!to)
		_exit(1);
	(void)alarm(SECONDS); /* whose signal ends it */
	h = dtrace_open(DTRACE_VERSION, DTRACE_O_NODEV, &error);
	if (!h)
		(void)fprintf(to, "%s\n", dtrace_open_errmsg());
	else if (!program_run(h, text, core, to))
		(void)fprintf(to, "%s\n", dtrace_errmsg(h, dtrace_errno(h)));
	(void)fflush(to);
	_exit(0);
}

/* What the script prints, or what is wrong with it. */
static char *script_run(const char *text, int core)
{
	CLEANUP(fd) int fd = memfd_create("crash script", MFD_CLOEXEC);
	char *out = xcalloc(1, OUTPUT_SIZE + 64);
	int status = 0;
	ssize_t n = 0;
	pid_t pid;

	pid = fd < 0 ? -1 : fork();
	if (pid == 0)
		script_main(text, core, fd_take(&fd));
	if (pid < 0) {
		(void)snprintf(out, OUTPUT_SIZE, "cannot make a process for it\n");
		return out;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	n = pread(fd, out, OUTPUT_SIZE, 0);
	n = MAX(n, (ssize_t)0);
	if (WIFSIGNALED(status))
		(void)snprintf(out + n, 64, "\n(the script was ended by signal %d)\n",
			       WTERMSIG(status));
	else if (n == OUTPUT_SIZE)
		(void)snprintf(out + n, 64, "\n(what follows is left out)\n");
	return out;
}

void crash_scripts_run(struct crash_scripts *s, int core)
{
	for (uint32_t i = 0; i + 1 < s->list.len; i += 2) {
		char *text = s->list.data[i + 1];

		s->list.data[i + 1] = script_run(text, core);
		free(text);
	}
	vec_push(&s->list, NULL);
}
