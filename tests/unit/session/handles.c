/* SPDX-License-Identifier: MIT */
/* Many handles in one process, two of them at once: each gives everything back. */
#include <dirent.h>
#include <malloc.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "dtrace.h"
#include "tap.h"

#define ROUNDS 50
#define WARM   5 /* rounds after which caches of the process are filled */
#define CALLS  100

static const char program[] =
	"BEGIN { printf(\"begin\"); }\n"
	"syscall::getppid:entry /pid == $pid/ { self->t = timestamp; @n = count(); }\n"
	"syscall::getppid:return /self->t/ { @q[execname] = quantize(timestamp - self->t); a[tid, execname] = 1; self->t = 0; }\n"
	"profile-97 { @p[execname] = count(); }\n"
	"END { printa(\"n %@d\", @n); clear(@n); }\n";

static char name[] = "handles";
static char *args[] = {name, NULL};

static uint32_t fds_count(void)
{
	DIR *d = opendir("/proc/self/fd");
	uint32_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		(void)closedir(d);
	return n;
}

/* Mappings of files and of kernel objects: what lies in anonymous memory is malloc()'s affair. */
static uint32_t maps_count(void)
{
	CLEANUP(file) FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	uint32_t n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += strchr(line, '/') || strstr(line, "anon_inode");
	return n;
}

static dtrace_hdl_t *start(void)
{
	int error;
	dtrace_hdl_t *h = dtrace_open(DTRACE_VERSION, 0, &error);
	dtrace_prog_t *p;

	if (!h)
		return NULL;
	(void)dtrace_setopt(h, "quiet", NULL);
	(void)dtrace_setopt(h, "bufsize", "64k");
	(void)dtrace_setopt(h, "defaultargs", NULL);
	p = dtrace_program_strcompile(h, program, DTRACE_PROBESPEC_NAME, 0, 1, args);
	if (p && dtrace_program_exec(h, p, NULL) == 0 && dtrace_go(h) == 0)
		return h;
	printf("# %s\n", dtrace_errmsg(h, dtrace_errno(h)));
	dtrace_close(h);
	return NULL;
}

static void call(uint32_t n)
{
	while (n--)
		(void)syscall(SYS_getppid);
}

/* Stops and closes; true when the output is that of BEGIN and END with want calls in between. */
static bool finish(dtrace_hdl_t *h, uint32_t want)
{
	char expected[64], *text = NULL;
	size_t len = 0;
	FILE *fp = open_memstream(&text, &len);
	bool is_good = dtrace_stop(h) == 0 &&
		       dtrace_work(h, fp, NULL, NULL, NULL) == DTRACE_WORKSTATUS_DONE &&
		       dtrace_aggregate_print(h, fp, NULL) == 0;

	(void)fclose(fp);
	(void)snprintf(expected, sizeof(expected), "beginn %u", want);
	if (!strstr(text, expected)) {
		printf("# '%.60s', want '%s'\n", text, expected);
		is_good = false;
	}
	dtrace_close(h);
	free(text);
	return is_good;
}

static bool run_once(void)
{
	dtrace_hdl_t *h = start();

	if (!h)
		return false;
	call(CALLS);
	return finish(h, CALLS);
}

/* Opened, compiled, run and closed at different times, each sees its own calls. */
static bool run_two(void)
{
	dtrace_hdl_t *a = start(), *b;

	if (!a)
		return false;
	call(CALLS);
	b = start();
	if (!b)
		return finish(a, CALLS) && false;
	call(CALLS);
	return finish(a, 2 * CALLS) && (call(CALLS), finish(b, 2 * CALLS));
}

/* Closed at every stage of its life. */
static bool close_early(void)
{
	int error;
	dtrace_hdl_t *h = dtrace_open(DTRACE_VERSION, 0, &error);
	dtrace_prog_t *p;

	dtrace_close(h);
	h = dtrace_open(DTRACE_VERSION, 0, &error);
	p = dtrace_program_strcompile(h, "BEGIN { nothing; }", DTRACE_PROBESPEC_NAME, 0, 1, args);
	dtrace_close(h);
	if (p)
		return false;
	h = dtrace_open(DTRACE_VERSION, 0, &error);
	p = dtrace_program_strcompile(h, program, DTRACE_PROBESPEC_NAME, 0, 1, args);
	dtrace_close(h);
	if (!p)
		return false;
	h = start();
	dtrace_close(h);
	h = dtrace_open(DTRACE_VERSION, 0, &error);
	if (dtrace_proc_create(h, "sleep 1000") != 0)
		return false;
	dtrace_close(h); /* ends the target: it has not run yet */
	return true;
}

static void check_leaks(bool (*func)(void), uint32_t rounds, const char *what)
{
	uint32_t fds = 0, maps = 0, good = 0;
	size_t heap = 0;

	for (uint32_t i = 0; i < rounds; i++) {
		if (i == WARM) {
			fds = fds_count();
			maps = maps_count();
			heap = mallinfo2().uordblks;
		}
		good += func();
	}
	is_int(good, rounds, what);
	is_int(fds_count(), fds, "descriptors");
	ok(maps_count() <= maps + 4, "mappings: %u at first, %u at last", maps, maps_count());
	/*
	 * free chunks that malloc() caches by thread count as used: the leak checker is more exact
	 */
	ok(mallinfo2().uordblks <= heap + (192 << 10), "heap: %zu bytes at first, %zu at last",
	   heap, mallinfo2().uordblks);
}

int main(void)
{
	check_leaks(run_once, ROUNDS, "one handle after the other");
	check_leaks(run_two, WARM + 5, "two handles at once");
	check_leaks(close_early, WARM + 5, "closed early");
	while (waitpid(-1, NULL, WNOHANG) > 0)
		ok(false, "a child was not waited for");
	return tap_done();
}
