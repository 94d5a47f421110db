/* SPDX-License-Identifier: MIT */
/* The requests and answers that the two sides of the reader (reader.h) exchange. */
#pragma once

#include "files/reader.h"

/*
 * A request lies in memory that both sides share. The tracer sends a byte over the socket when the
 * request is there, with a descriptor if the request needs one. The reader sends a byte back when
 * the answer is there, with a descriptor if it has opened a file by path or mapping.
 */
enum reader_op {
	READER_OPEN_PATH, /* has a path, and the root's descriptor unless the root is our own */
	READER_OPEN_MAPPING,
	READER_REOPEN, /* has the file's descriptor */
	READER_STAT,
	READER_READ,
	READER_MEMORY, /* of process pid at start */
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

/* Both sides send one byte, with a descriptor unless fd is -1. */
bool reader_send(int sock, int fd);
/* *ret_fd is -1 if no descriptor came. Returns false if the other side is gone. */
bool reader_receive(int sock, int *ret_fd);
