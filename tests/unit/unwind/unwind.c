/* SPDX-License-Identifier: MIT */
/*
 * The tables of a process's files: which are loaded, by one opening of each file, shared with who
 * has it open already; and what walks ask for.
 */
#include "unwind/unwind.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "files/gate.h"
#include "files/mapping.h"
#include "image/debugfile.h"
#include "image/image.h"
#include "target/maps.h"
#include "fake_tables.h"
#include "tap.h"

static struct fake fake;
static uint32_t ndenied;

static void on_notice(void *ctx, const char *msg)
{
	(void)ctx;
	printf("# %s\n", msg);
}

static void on_denied(void *ctx, uint64_t pid)
{
	(void)ctx, (void)pid;
	ndenied++;
}

static void on_between(void *ctx, bool is_nested)
{
	(void)ctx, (void)is_nested;
}

static const struct proc_map *code_of(const struct proc_maps *maps, const void *code)
{
	return proc_maps_find(maps, (taddr)(uintptr_t)code);
}

/* How many files this process executes code of. */
static uint32_t nfiles(const struct proc_maps *maps)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *m = &maps->maps.data[i];
		bool is_new = m->is_exec && proc_map_has_file(m);

		for (uint32_t k = 0; is_new && k < i; k++)
			is_new = !maps->maps.data[k].is_exec ||
				 !proc_map_is_same_file(&maps->maps.data[k], m);
		n += is_new;
	}
	return n;
}

/* What a walk asks for: its key says which file the kernel has seen, whatever its number. */
static struct rt_ureq request_of(const struct image *i, const struct proc_map *m)
{
	return (struct rt_ureq){
		.key = {.ino = i->id.ino + 1000000,
			.size = i->id.size,
			.mtime = (uint64_t)i->id.mtime,
			.dev = (uint64_t)major(i->id.dev) << 20 | minor(i->id.dev)},
		.pid = (uint64_t)getpid(),
		.start = m->start,
		.end = m->end,
	};
}

static void requests_check(struct unwinds *u, const struct image *i, const struct proc_map *m)
{
	struct rt_ureq req = request_of(i, m);
	struct rt_ufile seen;
	uint32_t ntrees = fake.ntrees;

	unwinds_request(u, &req);
	ok(fake_read(&fake, &req.key, &seen) && seen.nlevels && fake.ntrees == ntrees,
	   "a request by another key gets the rows that are there");
	req = request_of(i, m);
	req.key.ino++;
	req.key.mtime++;
	unwinds_request(u, &req);
	ok(!fake_read(&fake, &req.key, &seen) || !seen.nlevels,
	   "one of another time does not: the process maps another file by now");
	req = request_of(i, m);
	req.key.ino += 2;
	req.end = req.start + 1;
	req.start = 0;
	unwinds_request(u, &req);
	ok(!fake_read(&fake, &req.key, &seen) || !seen.nlevels, "nor one of no mapping");
	is_int(ndenied, 0, "nothing was denied");
}

/* ---- files that were tried before ------------------------------------------------------------ */

#define NO_PID 4194304 /* beyond the largest one, Linux include/linux/threads.h */

/* Writes this program, and so many bytes behind it, into the file. */
static bool program_write(int fd, off_t more)
{
	CLEANUP(fd) int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;
	off_t at = 0;

	if (from < 0 || fstat(from, &st) != 0 || ftruncate(fd, 0) != 0 ||
	    lseek(fd, 0, SEEK_SET) != 0)
		return false;
	while (at < st.st_size)
		if (sendfile(fd, from, &at, (size_t)(st.st_size - at)) <= 0)
			return false;
	return ftruncate(fd, st.st_size + more) == 0;
}

/* Maps the file as code, and has the tables of this process loaded; how many came. */
static uint32_t map_load(struct unwinds *u, int fd)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	uint32_t ntrees = fake.ntrees;

	unwinds_load_process(u, getpid());
	(void)munmap(at, 4096);
	return fake.ntrees - ntrees;
}

/* Has the table of the file loaded for a process that has ended: it cannot be opened. */
static uint32_t ended_load(struct unwinds *u, int fd)
{
	struct proc_map map = {.start = 4096, .end = 8192, .is_exec = true, .path = "/nonexistent"};
	struct proc_maps maps = {0};
	uint32_t ntrees = fake.ntrees;
	struct stat st;

	if (fstat(fd, &st) != 0)
		return 1;
	map.dev = st.st_dev;
	map.ino = st.st_ino;
	vec_push(&maps.maps, map);
	unwinds_load_maps(u, NO_PID, &maps);
	vec_deinit(&maps.maps);
	return fake.ntrees - ntrees;
}

static void test_again(struct unwinds *u)
{
	char path[] = "/tmp/unwind.XXXXXX";
	CLEANUP(fd) int fd = mkstemp(path);

	if (!ok(fd >= 0 && program_write(fd, 0), "a file"))
		return;
	is_int((int)ended_load(u, fd), 0, "of a process that has ended, it cannot be opened");
	is_int((int)map_load(u, fd), 1, "for the next one it is tried again");
	is_int((int)map_load(u, fd), 0, "and read once");
	ok(program_write(fd, 8), "another program gets its inode");
	is_int((int)map_load(u, fd), 1, "whose table is loaded, too");
	(void)unlink(path);
}

int main(void)
{
	static const struct unwind_hooks hooks = {.notice = on_notice,
						  .denied = on_denied,
						  .between = on_between};
	struct gate *g = gate_create();
	struct image_set *images = image_set_create();
	struct file_opts files = {.gate = g, .limit = GATE_LIMIT_DEFAULT, .images = images};
	struct image *own = NULL;
	struct proc_maps maps;
	const struct proc_map *m;
	struct unwinds *u;
	struct mapping at;

	fake.control.epoch = 100;
	fake.public =
		(struct stack_tables){.ops = &fake_ops, .ctx = &fake, .control = &fake.control};
	if (!ok(!proc_maps_read(getpid(), &maps) && (m = code_of(&maps, on_between)), "mappings"))
		return tap_done();
	at = proc_map_mapping(getpid(), m);
	own = image_open(images, g, &at); /* as names have it */
	if (!ok(own && images->nopened == 1, "this program is open"))
		return tap_done();
	u = unwinds_create(&fake.public, 64 << 20, &files, &hooks);
	is_int(fake.ntrees, 1, "the rows of the vDSO are there at once");
	unwinds_load_process(u, getpid());
	is_int(fake.ntrees, 1 + nfiles(&maps), "then those of all files that the process executes");
	is_int((int)images->nopened, (int)nfiles(&maps),
	       "each was opened once; this program, not again");
	unwinds_load_process(u, getpid());
	ok(fake.ntrees == 1 + nfiles(&maps) && !unwinds_load_next(u),
	   "files that are known are done");
	requests_check(u, own, m);
	test_again(u);
	unwinds_destroy(u);
	ok(own->opened && own->refs == 1, "who had it open still has");
	image_put(own);
	proc_maps_deinit(&maps);
	image_set_destroy(images);
	gate_destroy(g);
	return tap_done();
}
