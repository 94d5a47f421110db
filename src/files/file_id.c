/* SPDX-License-Identifier: MIT */
/* The identity of a file. */
#include "files/file_id.h"

#include "files/gate.h"

_Static_assert(sizeof(struct file_id) == 5 * 8 && sizeof(struct file_inode) == 2 * 8, "padding");

struct file_id file_id_of(const struct gate_file *f)
{
	const struct stat *st = gate_file_stat(f);

	return (struct file_id){.dev = st->st_dev,
				.ino = st->st_ino,
				.size = (uint64_t)st->st_size,
				.mtime = st->st_mtim.tv_sec,
				.mtime_ns = st->st_mtim.tv_nsec};
}

bool file_id_equal(const struct file_id *a, const struct file_id *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

bool file_inode_equal(const struct file_inode *a, const struct file_inode *b)
{
	return a->ino == b->ino && a->dev == b->dev;
}
