/* SPDX-License-Identifier: MIT */
/*
 * The protocol between the tracer (reader.c) and the reader's process (reader_run.c), which reads
 * files of file systems that may hang.
 *
 * Owns     the tracer maps struct reader_area, which both share, and owns the socket's two ends; a
 *          descriptor that is sent belongs to its receiver.
 * Errors   errno in reader_area.sys; 0: the request succeeded.
 * Threads  one request at a time, of the thread that works. The reader was cloned while other
 *          threads may have held locks, so it makes only async-signal-safe calls.
 */
#pragma once

#include "files/reader.h"

/*
 * A request lies in memory that both sides share. The tracer sends a byte over the socket when the
 * request is there, with a descriptor if the request needs one. The reader sends a byte back when
 * the answer is there, with a descriptor if it has opened a file by path or mapping.
 */
enum reader_op {
	READER_OPEN_PATH,    /* has a path, and the root's descriptor unless the root is our own */
	READER_OPEN_MAPPING, /* of process pid, at [start, end) */
	READER_REOPEN,	     /* has the file's descriptor */
	READER_STAT,	     /* of the file that is open: st is the answer */
	READER_READ,   /* size bytes at off of the file that is open: data and n are the answer */
	READER_MEMORY, /* size bytes of process pid at start: as READER_READ */
};

#define READER_PATH_SIZE 4200

struct reader_area {
	enum reader_op op;
	uint64_t pid;
	taddr start, end;
	uint64_t off;
	size_t size;
	char path[READER_PATH_SIZE];
	/* The answer begins here. */
	int sys; /* errno, 0 = done */
	struct stat st;
	size_t n;
	bool is_closing; /* the file that was open before is being closed */
	char data[READER_CHUNK];
};

/*
 * Serves requests in the reader's process until it ends (reader_run.c). Makes only
 * async-signal-safe calls.
 */
NORETURN void reader_run(struct reader_area *area, int sock, pid_t parent);

/* Both sides send one byte, with a descriptor unless fd is -1. False: the other side is gone. */
bool reader_send(int sock, int fd);
/* *ret_fd is -1 if no descriptor came. Returns false if the other side is gone. */
bool reader_receive(int sock, int *ret_fd);
