/* SPDX-License-Identifier: MIT */
/*
 * A process with a thread that maps a file over the head of its region while the process maps the
 * data, which takes long, and that then waits for a child of vfork(), where nothing stops it. The
 * file stays as it is, and what was mapped is unmapped as soon as that is possible.
 */
#include "tap.h"

#ifdef __x86_64__

#include <sys/stat.h>

#include "files/gate.h"
#include "patch/patch.h"
#include "patch/victim.h"

#define DATA_SIZE (96u << 20) /* all of it gets pages when it is mapped */
#define FILE_SIZE (1u << 16)

static struct gate *gate;
static int file; /* open for reading */

/* The mapping of memory without a name that has these rights and that size; 0: any size. */
static bool map_find(pid_t pid, const char *rights, unsigned long size, unsigned long *from,
		     unsigned long *to)
{
	char path[64], line[512];
	bool is_there = false;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	while (f && !is_there && fgets(line, sizeof(line), f))
		is_there = strstr(line, rights) && strstr(line, "/dev/zero") &&
			   sscanf(line, "%lx-%lx", from, to) == 2 && (!size || *to - *from == size);
	if (f)
		(void)fclose(f);
	return is_there;
}

static void *swap_thread(void *arg)
{
	unsigned long from, to;

	while (!map_find(getpid(), "r--s", 0, &from, &to))
		;
	if (mmap((void *)from, to - from, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
		_exit(5);
	if (!vfork()) {
		shared->handling = 1;
		while (!shared->go)
			(void)usleep(1000);
		_exit(0);
	}
	shared->done = 1;
	return arg;
}

static void swap_run(void)
{
	pthread_t t;

	if (mlockall(MCL_FUTURE))
		_exit(4);
	(void)pthread_create(&t, NULL, swap_thread, NULL);
	shared->is_ready = 1;
	(void)victim_thread(NULL);
	(void)pthread_join(t, NULL);
}

static void *child_end_thread(void *arg)
{
	(void)await(&shared->handling, 1);
	(void)usleep(1000000);
	shared->go = 1;
	return arg;
}

static void file_verify(void)
{
	static uint8_t bytes[FILE_SIZE];
	bool is_same = pread(file, bytes, sizeof(bytes), 0) == sizeof(bytes);

	for (uint32_t i = 0; i < sizeof(bytes); i++)
		is_same &= bytes[i] == 'A';
	ok(is_same, "no byte of the file has changed");
}

/* False: the thread came too late. waits: dtrace waits until the child has ended. */
static bool swap_try(bool waits)
{
	pid_t pid = victim_start(swap_run);
	struct patch_opts o = victim_opts(gate, NULL);
	struct patch *p = NULL;
	unsigned long from, to;
	bool in_time, is_said, is_there;
	struct err *e;
	pthread_t t;

	(void)await(&shared->is_ready, 1);
	o.data_size = DATA_SIZE;
	o.busy_ns = waits ? 60000000000 : 3000000000;
	if (waits)
		(void)pthread_create(&t, NULL, child_end_thread, NULL);
	e = patch_open(pid, &o, &p);
	in_time = e && strstr(err_text(e), "has put another file in its place");
	is_said = e && strstr(err_text(e), "keeps memory for nothing");
	is_there = map_find(pid, "rw-s", DATA_SIZE, &from, &to);
	printf("# %s\n", e ? err_text(e) : "it was entered");
	if (in_time)
		ok(is_said == is_there && !(waits && is_there), "what stays, if any, is said");
	shared->go = 1;
	if (waits)
		(void)pthread_join(t, NULL);
	patch_close(p);
	file_verify();
	ok(calls_await(500) && await(&shared->done, 1), "the process runs on");
	is_int(victim_end(pid), 0, "and ends as it would");
	err_destroy(e);
	return in_time;
}

static void test_swap(bool waits)
{
	bool done = false;

	for (int i = 0; i < 10 && !done; i++)
		done = swap_try(waits);
	ok(done, "the thread was in time once");
}

static void file_make(void)
{
	char path[] = "/tmp/swapped.XXXXXX", bytes[FILE_SIZE];
	int fd = mkstemp(path);

	memset(bytes, 'A', sizeof(bytes));
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || file < 0 || write(fd, bytes, sizeof(bytes)) != sizeof(bytes) || unlink(path))
		BUG("no file");
	(void)close(fd);
}

int main(void)
{
	if (geteuid()) {
		printf("1..0 # SKIP needs privilege\n");
		return 0;
	}
	gate = gate_create();
	file_make();
	test_swap(true);
	test_swap(false);
	gate_destroy(gate);
	return tap_done();
}

#else

int main(void)
{
	printf("1..0 # SKIP windows are made for x86-64 only\n");
	return 0;
}

#endif
