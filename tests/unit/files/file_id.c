/* SPDX-License-Identifier: MIT */
/* The identity of a file: other names are the same file, other contents are another one. */
#include "files/file_id.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "files/gate.h"
#include "tap.h"

static char dir[] = "/tmp/file-id-XXXXXX", one[64], two[64];

static void text_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		exit(1);
}

/* Sets the time of the last change of the contents. */
static void time_set(const char *path, int64_t ns)
{
	const struct timespec ts[] = {{.tv_nsec = UTIME_OMIT}, {ns / 1000000000, ns % 1000000000}};

	if (utimensat(AT_FDCWD, path, ts, 0) != 0)
		exit(1);
}

static struct file_id id_of(struct gate *g, const char *path)
{
	CLEANUP(gate_file) struct gate_file *f = gate_open_path(g, -1, path);

	if (!f)
		exit(1);
	return file_id_of(f);
}

/* Whether the file that the path leads to now is the one of an identity. */
static bool is_same(struct gate *g, const char *path, const struct file_id *before)
{
	struct file_id now = id_of(g, path);

	return file_id_equal(&now, before);
}

static void test_names(struct gate *g)
{
	struct file_id id;

	text_write(one, "text");
	id = id_of(g, one);
	is_int(id.size, 4, "the size");
	ok(is_same(g, one, &id), "a file that is opened again");
	ok(link(one, two) == 0 && is_same(g, two, &id), "the file has another name");
	ok(chmod(one, 0600) == 0 && is_same(g, one, &id), "others have other rights");
	ok(unlink(one) == 0 && is_same(g, two, &id), "the first name is gone");
	ok(rename(two, one) == 0 && is_same(g, one, &id), "it was renamed");
}

static void test_contents(struct gate *g)
{
	struct file_id id;

	time_set(one, 1000000000000);
	id = id_of(g, one);
	time_set(one, 1000000000001);
	ok(!is_same(g, one, &id), "contents that are a nanosecond newer are others");
	time_set(one, 1000000000000);
	ok(is_same(g, one, &id), "the time was set back");
	text_write(one, "text and more");
	time_set(one, 1000000000000);
	ok(!is_same(g, one, &id), "contents of another size are others");
	text_write(two, "text");
	time_set(two, 1000000000000);
	ok(rename(two, one) == 0 && !is_same(g, one, &id), "another file has the path");
}

/* An open file shows its identity of when it was opened, until it is asked for again. */
static void test_refresh(struct gate *g)
{
	CLEANUP(gate_file) struct gate_file *f = gate_open_path(g, -1, one);
	struct file_id id = file_id_of(f), now;

	text_write(one, "overwritten");
	now = file_id_of(f);
	ok(file_id_equal(&id, &now), "the identity stays that of the opening");
	ok(gate_file_refresh(f), "the status is read again");
	now = file_id_of(f);
	ok(!file_id_equal(&id, &now) && now.ino == id.ino, "the same inode has other contents");
}

static void test_inodes(void)
{
	const struct file_inode a = {.dev = 5, .ino = 7}, same = {.dev = 5, .ino = 7};
	const struct file_inode moved = {.dev = 6, .ino = 7}, next = {.dev = 5, .ino = 8};

	ok(file_inode_equal(&a, &same), "an inode of a mapping is a number");
	ok(!file_inode_equal(&a, &moved), "on one device");
	ok(!file_inode_equal(&a, &next), "as others are on it");
}

int main(void)
{
	struct gate *g = gate_create();

	if (!mkdtemp(dir))
		return 1;
	(void)snprintf(one, sizeof(one), "%s/one", dir);
	(void)snprintf(two, sizeof(two), "%s/two", dir);
	test_names(g);
	test_contents(g);
	test_refresh(g);
	test_inodes();
	(void)unlink(one);
	(void)rmdir(dir);
	gate_destroy(g);
	return tap_done();
}
