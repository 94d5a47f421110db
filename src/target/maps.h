/* SPDX-License-Identifier: MIT */
/*
 * The mappings of a process, read once from /proc/PID/maps.
 *
 * Owns     the paths, until proc_maps_deinit(). A file from proc_map_open() is the caller's.
 * Errors   struct err *: no such process, not permitted. A kernel thread has no mappings at all.
 */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "files/file_id.h"

struct gate;
struct gate_file;
struct mapping; /* files/mapping.h */

struct proc_map {
	taddr start, end;
	uint64_t off; /* in the file */
	uint64_t dev, ino;
	uint32_t file;	  /* of a core file, which knows no inodes: the file's number; 0: none */
	uint64_t in_core; /* of a core file: bytes of the mapping that it has */
	const char *path; /* without " (deleted)"; "" for memory without a file */
	bool is_exec, is_write, is_shared;
	bool is_stale; /* of a core file: the path leads to another version of the file now */
};

/* Whether it is memory of a file, of this file, and whether both are of the same file. */
static inline bool proc_map_has_file(const struct proc_map *m)
{
	return m->ino || m->file;
}
static inline bool proc_map_is_of(const struct proc_map *m, const struct file_inode *f)
{
	return file_inode_equal(&(struct file_inode){m->dev, m->ino}, f);
}
static inline bool proc_map_is_same_file(const struct proc_map *a, const struct proc_map *b)
{
	return proc_map_is_of(a, &(struct file_inode){b->dev, b->ino}) && a->file == b->file;
}

struct proc_maps {
	VEC(struct proc_map) maps; /* ascending */
	struct arena *arena;
};

/* An error if /proc is mounted, but shows the process ids of another PID namespace than our own. */
MUST_CHECK struct err *proc_check_numbers(void);
MUST_CHECK struct err *proc_maps_read(pid_t pid, struct proc_maps *ret);
void proc_maps_copy(const struct proc_maps *from, struct proc_maps *ret);
/*
 * Calls func for each mapping from which a process executes a file's code and in which the kernel
 * places uprobes: it is executable, private and read-only. The path is valid during the call.
 * Kernel threads have no such mapping.
 */
MUST_CHECK struct err *proc_code_each(pid_t pid, void (*func)(void *ctx, const struct proc_map *m),
				      void *ctx);
bool proc_map_is_code(const struct proc_map *m);
void proc_maps_deinit(struct proc_maps *m);
/* Takes " (deleted)" off a path that the kernel has written; returns the path. */
char *proc_path_strip(char *path);
/* Parses one line of the file, which it changes; false if the line is malformed. */
bool proc_map_parse(char *line, struct arena *a, struct proc_map *ret);
/*
 * Opens the very file that is mapped (files/mapping.h); NULL and errno if that fails.
 */
struct gate_file *proc_map_open(struct gate *g, pid_t pid, const struct proc_map *m);
/* Says what mapping_open() is to open for a mapping of a process; the path stays that of m. */
struct mapping proc_map_mapping(pid_t pid, const struct proc_map *m);
/* Returns the executable mapping that contains offset off of the file f; NULL if there is none. */
const struct proc_map *proc_maps_find_off(const struct proc_maps *m, const struct file_inode *f,
					  uint64_t off);
const struct proc_map *proc_maps_find(const struct proc_maps *m, taddr addr);
