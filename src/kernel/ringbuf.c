/* SPDX-License-Identifier: MIT */
/* Reads a BPF ring buffer (ringbuf.h). */
#include "kernel/ringbuf.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEADER 8

/* The size of the data; 0 with errno. */
static size_t data_size(int map_fd)
{
	struct bpf_map_info info = {0};
	union bpf_attr attr = {0};

	attr.info.bpf_fd = (uint32_t)map_fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uint64_t)(uintptr_t)&info;
	return syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) ? 0 : info.max_entries;
}

int ringbuf_map(int map_fd, bool gives_up, struct ringbuf *ret)
{
	struct ringbuf r = {.page = (size_t)sysconf(_SC_PAGESIZE), .size = data_size(map_fd)};
	uint8_t *writers;
	void *page;
	int sys;

	if (!r.size)
		return errno;
	page = mmap(NULL, r.page, gives_up ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, map_fd,
		    0);
	if (page == MAP_FAILED)
		return errno;
	r.read = page;
	writers = mmap(NULL, r.page + 2 * r.size, PROT_READ, MAP_SHARED, map_fd, (off_t)r.page);
	if (writers == MAP_FAILED) {
		sys = errno;
		(void)munmap(page, r.page);
		return sys;
	}
	r.written = (const uint64_t *)(const void *)writers;
	r.data = writers + r.page;
	*ret = r;
	return 0;
}

void ringbuf_unmap(struct ringbuf *r)
{
	if (!r->read)
		return;
	(void)munmap(r->read, r->page);
	(void)munmap((void *)(uintptr_t)r->written, r->page + 2 * r->size);
	*r = (struct ringbuf){0};
}

uint64_t ringbuf_begin(const struct ringbuf *r)
{
	return __atomic_load_n(r->read, __ATOMIC_ACQUIRE);
}

const void *ringbuf_next(const struct ringbuf *r, uint64_t *pos, uint32_t *ret_len)
{
	while (*pos < __atomic_load_n(r->written, __ATOMIC_ACQUIRE)) {
		const uint8_t *at = r->data + (*pos & (r->size - 1));
		uint32_t header =
			__atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE);
		uint32_t len = header & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		if (header & BPF_RINGBUF_BUSY_BIT)
			return NULL;
		*pos += (HEADER + (uint64_t)len + 7) & ~7ull;
		if (header & BPF_RINGBUF_DISCARD_BIT)
			continue;
		*ret_len = len;
		return at + HEADER;
	}
	return NULL;
}

void ringbuf_give_up(const struct ringbuf *r, uint64_t pos)
{
	__atomic_store_n(r->read, pos, __ATOMIC_RELEASE);
}
