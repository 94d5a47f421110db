/* SPDX-License-Identifier: MIT */
/*
 * The file behind a mapping: it is found by the mapping, by its path, in our own root directory and
 * by way of the parent, and never is another file taken for it.
 */
#include "files/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "files/gate.h"
#include "target/maps.h"
#include "tap.h"

#define NOBODY 100000000 /* beyond the process ids that the kernel gives out */

static char dir[] = "/tmp/mapping-XXXXXX", one[64], two[64];

static void text_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		exit(1);
}

/* Maps the file here, and says what is mapped. *ret_maps owns the path. */
static struct mapping file_map(const char *path, struct proc_maps *ret_maps)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	struct err *e = p == MAP_FAILED ? err_new("mmap") : proc_maps_read(getpid(), ret_maps);
	const struct proc_map *m = e ? NULL : proc_maps_find(ret_maps, (taddr)(uintptr_t)p);

	if (!m)
		exit(1);
	return proc_map_mapping(getpid(), m);
}

static bool opens(struct gate *g, const struct mapping *m, const char *text)
{
	CLEANUP(gate_file) struct gate_file *f = mapping_open(g, m);
	char buf[16] = "";

	return f && gate_file_read(f, buf, sizeof(buf) - 1, 0) >= 0 && strcmp(buf, text) == 0;
}

static bool is_refused(struct gate *g, const struct mapping *m, int sys)
{
	CLEANUP(gate_file) struct gate_file *f = mapping_open(g, m);

	if (!f && errno != sys)
		printf("# errno %d\n", errno);
	return !f && errno == sys;
}

static void test_mapping(struct gate *g)
{
	struct proc_maps maps;
	struct mapping m, other;

	text_write(one, "first");
	m = file_map(one, &maps);
	ok(opens(g, &m, "first"), "a file that is mapped");
	text_write(two, "second");
	ok(rename(two, one) == 0 && opens(g, &m, "first"), "another file has the path by now");
	other = m;
	other.inode.ino += 1u << 31;
	ok(is_refused(g, &other, ESTALE), "something else is mapped at the address");
	m.end = 0;
	ok(is_refused(g, &m, ESTALE), "without the mapping, the file at the path is another one");
	m.inode.ino = 0;
	ok(opens(g, &m, "second"), "unless the inode is not known");
	m.path = "[heap]";
	m.inode.ino = 1;
	ok(is_refused(g, &m, ENOENT), "memory without a file");
	proc_maps_deinit(&maps);
}

static void test_path(struct gate *g)
{
	struct proc_maps maps;
	struct mapping m;
	struct stat st;

	text_write(one, "text");
	m = file_map(one, &maps);
	m.end = 0;
	ok(opens(g, &m, "text"), "by the path alone");
	if (stat(one, &st) != 0)
		exit(1);
	m.since = st.st_ctim.tv_sec;
	ok(opens(g, &m, "text"), "a file that has not changed since it was seen");
	m.since--;
	ok(is_refused(g, &m, ESTALE), "a file that has changed since");
	m.since = 0;
	m.has_root = true;
	m.root = -1;
	ok(opens(g, &m, "text"), "in our own root directory");
	m.root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ok(is_refused(g, &m, ENOENT), "in a root directory that has no such path");
	(void)close(m.root);
	proc_maps_deinit(&maps);
}

/* A process that has ended: only here and where its parent is are its files found. */
static void test_ended(struct gate *g)
{
	struct proc_maps maps;
	struct mapping m;

	text_write(one, "text");
	m = file_map(one, &maps);
	m.pid = NOBODY;
	ok(opens(g, &m, "text"), "a process that has ended had a file of our own root directory");
	m.inode.dev++;
	ok(is_refused(g, &m, ENOENT), "there, a file of another device is another one");
	m.inode.dev--;
	(void)unlink(one);
	ok(is_refused(g, &m, ENOENT), "the file is gone");
	m.parent = (uint64_t)getpid();
	ok(opens(g, &m, "text"), "its parent still maps it");
	m.parent = NOBODY + 1;
	ok(is_refused(g, &m, ENOENT), "the parent has ended, too");
	proc_maps_deinit(&maps);
}

int main(void)
{
	struct gate *g = gate_create();

	if (!mkdtemp(dir))
		return 1;
	(void)snprintf(one, sizeof(one), "%s/one", dir);
	(void)snprintf(two, sizeof(two), "%s/two", dir);
	test_mapping(g);
	test_path(g);
	test_ended(g);
	(void)unlink(one);
	(void)rmdir(dir);
	gate_destroy(g);
	return tap_done();
}
