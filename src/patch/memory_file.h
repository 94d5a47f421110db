/* SPDX-License-Identifier: MIT */
/*
 * Files in memory that a process has made for us, opened for writing.
 *
 * Between a call that makes such a file and our open(), other threads of the process run: one of
 * them can have put another file there, which the process may only read and we may write. So a file
 * is looked at before it is opened for writing, by a descriptor that can do nothing with it, and
 * what was looked at is what is opened.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

#define MEMORY_FILE_ANY UINT64_MAX

/*
 * Opens the file that a link of /proc leads to (map_files, fd), for reading and writing; the caller
 * owns *ret_fd, which is -1 with an error. It is refused with EDT_NOTSUP unless it lies in the
 * kernel's own memory file system, has no name, has `size` bytes (MEMORY_FILE_ANY: any number), and
 * belongs to the user as whom the thread tid makes files (0: to anybody).
 */
MUST_CHECK struct err *memory_file_open(const char *path, pid_t tid, uint64_t size, int *ret_fd);
