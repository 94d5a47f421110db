/* SPDX-License-Identifier: MIT */
/* Lines of /proc/PID/maps, our own mappings. */
#include "target/maps.h"
#include "target/search.h"
#include "files/gate.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static bool parse(struct arena *a, const char *text, struct proc_map *ret)
{
	return proc_map_parse(arena_strdup(a, text), a, ret);
}

static void test_lines(void)
{
	struct arena *a = arena_create();
	struct proc_map m;

	ok(parse(a, "7f00-7fff r-xp 00001000 fe:01 42       /usr/lib/a b.so (deleted)\n", &m),
	   "a mapping");
	is_str(m.path, "/usr/lib/a b.so", "its path, without the mark");
	is_int(m.off, 0x1000, "its offset");
	is_int(m.ino, 42, "its inode");
	ok(m.is_exec && !m.is_write && !m.is_shared, "its rights");
	memset(&m, 1, sizeof(m));
	ok(parse(a, "7f00-7fff r-xp 00001000 fe:01 42 /x\n", &m) && !m.is_stale,
	   "of a process, a path leads to no other version of the file");
	ok(parse(a, "7f00-7fff rw-s 00000000 00:05 7 /dev/zero\n", &m) && m.is_shared && m.is_write,
	   "a shared one");
	ok(parse(a, "7f00-7fff rw-p 00000000 00:00 0 \n", &m) && !*m.path, "memory without a file");
	ok(parse(a, "7f00-7fff r-xp 00000000 00:00 0 [vdso]", &m), "no newline");
	is_str(m.path, "[vdso]", "a name that is no path");
	ok(!parse(a, "", &m) && !parse(a, "xyz", &m) && !parse(a, "7f00-7f00 r-xp 0 0:0 0 ", &m) &&
		   !parse(a, "7f00-7fff r- 0 0:0 0 /x", &m) && !parse(a, "7f00-7fff r-xp", &m),
	   "lines that are none");
	arena_destroy(a);
}

static void test_self(void)
{
	struct proc_maps m = {0};
	struct err *e = proc_maps_read(getpid(), &m);
	const struct proc_map *at = proc_maps_find(&m, (taddr)(uintptr_t)&test_self);
	struct gate *g = gate_create();
	struct gate_file *f;

	ok(!e && at && at->is_exec, "our own code is found");
	f = at ? proc_map_open(g, getpid(), at) : NULL;
	ok(f != NULL, "its file can be opened");
	gate_file_close(f);
	gate_destroy(g);
	ok(proc_maps_find_off(&m, &(struct file_inode){at->dev, at->ino}, at->off) == at,
	   "and found by the place in the file");
	ok(!proc_maps_find_off(&m, &(struct file_inode){at->dev + 1, at->ino}, at->off),
	   "but not by the number of its inode on another device");
	ok(!proc_maps_find(&m, 1), "nothing is mapped at 1");
	proc_maps_deinit(&m);
	e = proc_maps_read(999999999, &m);
	ok(err_get_sys(e) == ESRCH, "a process that is not there");
	err_destroy(e);
}

/* ---- all processes -------------------------------------------------------------------------- */

#define CHILDREN 40 /* enough for several threads */

struct seen {
	pid_t pids[CHILDREN], last;
	uint32_t nmaps[CHILDREN]; /* of each child */
	uint32_t nback;		  /* how often a child was reported after a later one */
	const char *names[2];	  /* of one file: what children of even and of odd number map */
	uint32_t nnamed;	  /* children whose mapping of it has the name that they use */
};

static void map_count(void *ctx, pid_t pid, const struct proc_map *m)
{
	struct seen *s = ctx;

	for (uint32_t i = 0; i < CHILDREN; i++)
		if (s->pids[i] == pid && proc_map_is_code(m)) {
			s->nmaps[i]++;
			s->nnamed += strcmp(m->path, s->names[i % 2]) == 0;
			s->nback += pid < s->last;
			s->last = pid;
		}
}

static void own_count(void *ctx, const struct proc_map *m)
{
	(*(uint32_t *)ctx) += m->path[0] == '/';
}

/* Children have what we have mapped, and one file more. */
static bool search_is_exact(struct seen *s, uint32_t n)
{
	bool is_exact = true;

	memset(s->nmaps, 0, sizeof(s->nmaps));
	s->last = 0;
	s->nback = 0;
	s->nnamed = 0;
	proc_search(map_count, s);
	for (uint32_t i = 0; i < CHILDREN; i++)
		is_exact &= s->nmaps[i] == n;
	return is_exact;
}

/* Maps a page of the file as code. */
static void code_map(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(1);
	(void)close(fd);
}

static void test_search(void)
{
	char name[] = "/tmp/unit_maps.XXXXXX", other[sizeof(name) + 1];
	struct seen s = {.names = {name, other}};
	cpu_set_t before, one;
	uint32_t n = 0;
	int ready[2];
	struct err *e;

	(void)close(mkstemp(name));
	(void)snprintf(other, sizeof(other), "%s2", name);
	ok(!truncate(name, 4096) && !link(name, other), "a file of two names");
	ok(!pipe2(ready, O_CLOEXEC), "a pipe");
	for (uint32_t i = 0; i < CHILDREN; i++) {
		s.pids[i] = fork();
		if (s.pids[i] == 0) {
			code_map(s.names[i % 2]);
			(void)!write(ready[1], "", 1);
			(void)pause();
			_exit(0);
		}
	}
	for (uint32_t i = 0; i < CHILDREN; i++)
		(void)!read(ready[0], &(char){0}, 1);
	(void)close(ready[0]);
	(void)close(ready[1]);
	e = proc_code_each(s.pids[0], own_count, &n);
	ok(!e && n > 1, "a child has our code");
	err_destroy(e);
	ok(search_is_exact(&s, n), "all code of all children is found");
	ok(s.nback == 0, "in the order of processes");
	is_int(s.nnamed, CHILDREN, "each with the name that the process uses");
	(void)sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&one);
	for (int cpu = 0; !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, &before))
			CPU_SET(cpu, &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
	ok(search_is_exact(&s, n), "the same on one CPU, without threads");
	(void)sched_setaffinity(0, sizeof(before), &before);
	(void)kill(s.pids[7], SIGKILL);
	(void)waitpid(s.pids[7], NULL, 0);
	ok(!search_is_exact(&s, n) && s.nmaps[7] == 0 && s.nmaps[8] == n,
	   "a process that has ended is skipped");
	(void)unlink(name);
	(void)unlink(other);
	for (uint32_t i = 0; i < CHILDREN; i++)
		if (i != 7) {
			(void)kill(s.pids[i], SIGKILL);
			(void)waitpid(s.pids[i], NULL, 0);
		}
}

/* A file that has no name any more. */
static void test_memfd(void)
{
	int fd = memfd_create("code", 0);
	struct gate *g = gate_create();
	struct gate_file *got;
	struct proc_maps m = {0};
	struct err *e;
	void *p;

	ok(ftruncate(fd, 4096) == 0, "a file without a name");
	p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	(void)close(fd);
	e = proc_maps_read(getpid(), &m);
	err_destroy(e);
	got = proc_map_open(g, getpid(), proc_maps_find(&m, (taddr)(uintptr_t)p));
	if (!got && (errno == EPERM || errno == EACCES))
		ok(true, "map_files # SKIP needs privilege");
	else
		ok(got != NULL, "is opened through its mapping");
	gate_file_close(got);
	gate_destroy(g);
	proc_maps_deinit(&m);
	(void)munmap(p, 4096);
}

int main(void)
{
	test_lines();
	test_self();
	test_search();
	test_memfd();
	return tap_done();
}
