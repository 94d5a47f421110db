/* SPDX-License-Identifier: MIT */
/*
 * The reader: a process of ours that opens and reads files which may never answer, and memory of
 * processes, which may be pages of such files.
 *
 * A file system may be served by a program (FUSE) or by another machine (NFS). When the server
 * stops, a process that opens, reads, stats or even closes one of its files waits in the kernel,
 * and often cannot be killed. The tracer must not wait, so it leaves such files to the reader, and
 * waits for the reader's answer only until a deadline. A reader that does not answer is given up:
 * it gets SIGKILL, ends when the file system lets it, and another reader is made.
 *
 * The reader has none of the tracer's descriptors, only the capabilities that reading takes
 * (CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE), no way to get others, and a filter
 * that allows only the few system calls it needs. It does not interpret a byte of what it reads.
 * It takes no signal from the terminal, and ends when the tracer does, in whatever way.
 *
 * Cost     0.4 ms to make a reader; 15 us a request, and the copy of what is read.
 * Owns     the process. A reader that was given up and cannot end yet is not waited for.
 * Errors   errno values: those of the file system; ETIMEDOUT: no answer in time; EPIPE: the reader
 *          was killed. After ETIMEDOUT or EPIPE only reader_destroy() may be called.
 * Threads  one thread at a time.
 */
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include "base/base.h"

#define READER_CHUNK (1u << 20) /* bytes of one request, at most */

struct reader;

struct reader *reader_create(void); /* returns NULL with errno when it fails */
/*
 * Ends the reader. Returns 0; or its process id if a file system still holds it, for a later
 * reader_reap(). NULL is allowed.
 */
pid_t reader_destroy(struct reader *r);
/* Returns true if the process has ended, and is no zombie any more. */
bool reader_reap(pid_t pid);

/*
 * The next three functions open a file, as the one file that the reader has open. *ret_fd is a
 * descriptor of the file that can be used only to find it again (O_PATH). deadline: ns of
 * now_ns().
 */
/* Opens a path below a root directory (-1: our own), without leaving it. */
MUST_CHECK int reader_open_path(struct reader *r, int root, const char *path, uint64_t deadline,
				int *ret_fd, struct stat *ret);
/* Opens the file that a process has mapped at [start, end). */
MUST_CHECK int reader_open_mapping(struct reader *r, uint64_t pid, taddr start, taddr end,
				   uint64_t deadline, int *ret_fd, struct stat *ret);
/* Opens a file again by the descriptor that one of the two functions above has returned. */
MUST_CHECK int reader_reopen(struct reader *r, int fd, uint64_t deadline);

/* Returns the size and identity of the file that is open now. */
MUST_CHECK int reader_stat(struct reader *r, uint64_t deadline, struct stat *ret);
/* Reads at most READER_CHUNK bytes; *ret_n is less than size only at the end of the file. */
MUST_CHECK int reader_read(struct reader *r, uint64_t off, void *to, size_t size, uint64_t deadline,
			   size_t *ret_n);
/*
 * Reads memory of a process, as process_vm_readv() does, at most READER_CHUNK bytes; the file that
 * is open stays open.
 */
MUST_CHECK int reader_memory(struct reader *r, uint64_t pid, taddr addr, void *to, size_t size,
			     uint64_t deadline, size_t *ret_n);
/*
 * How long the reader and the calling thread have had a CPU, or have waited for one, since the last
 * call, in ns: time that no file system's server is to blame for. Where a hypervisor takes the CPU
 * away, the kernel counts that as time in which they had it. 0 where the kernel does not count.
 */
uint64_t reader_runnable_ns(struct reader *r);
/*
 * Returns true if the request that was not answered in time waits for the close of the file that
 * was open before.
 */
bool reader_is_closing(const struct reader *r);

/*
 * Whether the file of a descriptor, which may be one of O_PATH, is one to read, and its status.
 * Returns 0, EINVAL or another errno. It is to be a regular file that somebody has written. Those
 * of /proc, of tracefs and their like are regular ones, too; the kernel makes their contents when
 * they are read, and with effects: /proc/kmsg and trace_pipe give each message to one reader only,
 * a resource of a PCI device is its registers. Async-signal-safe; the file's server may be asked.
 */
int reader_found_check(int fd, struct stat *ret);
/*
 * Opens the file of a descriptor of O_PATH to read it, without waiting for a fifo or a lease. The
 * caller makes sure that it is a regular file: opening a device or a fifo has effects. Returns -1
 * with errno. Async-signal-safe.
 */
int reader_fd_open(int fd);
