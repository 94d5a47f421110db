/* What the two sides of the reader (reader.h) share: requests, and their answers. */
#pragma once

#include "reader/reader.h"

/*
 * A request lies in memory that both sides share; a byte over the socket says that it is there,
 * with a descriptor if the request needs one. A byte comes back with the answer; when a file was
 * opened by a name, with a descriptor.
 */
enum reader_op {
	READER_OPEN_PATH, /* path; with the root's descriptor, or none */
	READER_OPEN_MAPPING,
	READER_REOPEN, /* with the file's descriptor */
	READER_STAT,
	READER_READ,
};

#define READER_PATH_SIZE 4200

struct reader_area {
	enum reader_op op;
	uint64_t pid;
	taddr start, end;
	uint64_t off;
	size_t size;
	char path[READER_PATH_SIZE];
	/* the answer */
	int sys; /* errno, 0 = done */
	struct stat st;
	size_t n;
	bool is_closing; /* the file that was open before is being closed */
	char data[READER_CHUNK];
};

/* The life of the reader, in its own process: reader_run.c. Only async-signal-safe calls. */
NORETURN void reader_run(struct reader_area *area, int sock, pid_t parent);

/* Both sides: one byte, with a descriptor unless fd is -1. */
bool reader_send(int sock, int fd);
/* *ret_fd is -1 if no descriptor came. False: the other side is gone. */
bool reader_receive(int sock, int *ret_fd);
