/* SPDX-License-Identifier: MIT */
/*
 * The machine below a xenstored that runs without a hypervisor: preloaded, it answers what the
 * daemon asks of Xen's libraries.
 *
 * A domain's ring is the file ring-DOMAIN of the folder XEN_STUB, and its event channel has number
 * 100 + DOMAIN. Who plays a guest maps the ring, and writes the channel's number (32 bits) to the
 * FIFO "to" to notify the daemon; the daemon's own notifications come out of the FIFO "from". Ring
 * 0 is that of the kernel of domain 0.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RING_SIZE 4096
#define CHANNELS  100u

static int file_open(const char *name, int flags)
{
	int (*real)(const char *, int, ...) =
		(int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", getenv("XEN_STUB"), name);
	return real(path, flags, 0600);
}

static int ring_open(uint32_t domain)
{
	char name[32];
	int fd;

	(void)snprintf(name, sizeof(name), "ring-%u", domain);
	fd = file_open(name, O_RDWR | O_CREAT);
	if (fd >= 0 && ftruncate(fd, RING_SIZE))
		abort();
	return fd;
}

static void *ring_map(uint32_t domain)
{
	int fd = ring_open(domain);
	void *ring = mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	close(fd);
	return ring == MAP_FAILED ? NULL : ring;
}

static int channels(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = file_open("to", O_RDWR | O_NONBLOCK);
	return fd;
}

/* ---- libxenctrl ---- */

void *xc_interface_open(void *logger, void *other, unsigned flags)
{
	return malloc(1);
}

int xc_interface_close(void *xc)
{
	free(xc);
	return 0;
}

/* The first member of what is told of a domain is its number, the others say that it lives. */
int xc_domain_getinfo(void *xc, uint32_t first, unsigned max, void *info)
{
	memset(info, 0, 64);
	memcpy(info, &first, sizeof(first));
	return 1;
}

/* The same since Xen 4.18, where the number has 16 bits. */
int xc_domain_getinfo_single(void *xc, uint32_t domain, void *info)
{
	uint16_t number = (uint16_t)domain;

	memset(info, 0, 64);
	memcpy(info, &number, sizeof(number));
	return 0;
}

/* ---- libxenevtchn ---- */

void *xenevtchn_open(void *logger, unsigned flags)
{
	return malloc(1);
}

void *xenevtchn_fdopen(void *logger, int fd, unsigned flags)
{
	return malloc(1);
}

int xenevtchn_fd(void *xce)
{
	return channels();
}

int xenevtchn_bind_interdomain(void *xce, uint32_t domain, uint32_t port)
{
	return (int)(CHANNELS + domain);
}

int xenevtchn_bind_virq(void *xce, unsigned virq)
{
	return 1;
}

int xenevtchn_unbind(void *xce, uint32_t port)
{
	return 0;
}

int xenevtchn_notify(void *xce, uint32_t port)
{
	static int fd = -1;

	if (fd < 0)
		fd = file_open("from", O_RDWR | O_NONBLOCK);
	return write(fd, &port, sizeof(port)) == sizeof(port) ? 0 : -1;
}

int xenevtchn_pending(void *xce)
{
	uint32_t port;

	return read(channels(), &port, sizeof(port)) == sizeof(port) ? (int)port : -1;
}

int xenevtchn_unmask(void *xce, uint32_t port)
{
	return 0;
}

/* ---- libxengnttab ---- */

void *xengnttab_open(void *logger, unsigned flags)
{
	return malloc(1);
}

int xengnttab_close(void *xgt)
{
	free(xgt);
	return 0;
}

int xengnttab_set_max_grants(void *xgt, uint32_t n)
{
	return 0;
}

void *xengnttab_map_grant_ref(void *xgt, uint32_t domain, uint32_t ref, int prot)
{
	return ring_map(domain);
}

int xengnttab_unmap(void *xgt, void *ring, uint32_t n)
{
	return munmap(ring, RING_SIZE);
}

/* ---- what the kernel of domain 0 tells in /proc/xen ---- */

int open(const char *path, int flags, ...)
{
	int (*real)(const char *, int, ...) =
		(int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, int) : 0;
	va_end(ap);
	if (strcmp(path, "/proc/xen/xsd_port") == 0)
		return file_open("port", O_RDONLY);
	if (strcmp(path, "/proc/xen/xsd_kva") == 0)
		return ring_open(0);
	return real(path, flags, mode);
}
