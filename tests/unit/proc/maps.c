/* Lines of /proc/PID/maps, our own mappings. */
#include "proc/maps.h"
#include "sym/gate.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>

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
	ok(proc_maps_find_off(&m, at->dev, at->ino, at->off) == at,
	   "and found by the place in the file");
	ok(!proc_maps_find(&m, 1), "nothing is mapped at 1");
	proc_maps_deinit(&m);
	e = proc_maps_read(999999999, &m);
	ok(err_get_sys(e) == ESRCH, "a process that is not there");
	err_destroy(e);
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
	test_memfd();
	return tap_done();
}
