/* SPDX-License-Identifier: MIT */
/* Which CPUs are online, and which come and go. */
#include <linux/filter.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/vec.h"
#include "kernel/kernel.h"
#include "kernel/uevents.h"

/* Reads a list such as "0-3,8". Returns how many there are; 0 with errno if there is no list. */
static uint32_t list_read(const char *path, uint32_t **ret_cpus)
{
	CLEANUP(file) FILE *f = fopen(path, "re");
	uint32_t *cpus = NULL, n = 0, cap = 0;
	unsigned int lo, hi;

	while (f && fscanf(f, "%u", &lo) == 1) {
		if (fscanf(f, "-%u", &hi) != 1)
			hi = lo;
		for (unsigned int cpu = lo; cpu <= hi; cpu++) {
			cpus = vec_grow(cpus, &cap, n + 1, sizeof(*cpus));
			cpus[n++] = cpu;
		}
		if (fgetc(f) != ',')
			break;
	}
	*ret_cpus = cpus;
	return n;
}

uint32_t cpus_online(uint32_t **ret_cpus)
{
	return list_read("/sys/devices/system/cpu/online", ret_cpus);
}

void cpus_mark_online(bool *online, uint32_t ncpus)
{
	CLEANUP(free) uint32_t *cpus = NULL;
	uint32_t n = cpus_online(&cpus);

	for (uint32_t i = 0; i < n; i++)
		if (cpus[i] < ncpus)
			online[cpus[i]] = true;
	for (uint32_t i = 0; n == 0 && i < ncpus; i++)
		online[i] = true;
}

uint32_t cpus_possible(void)
{
	CLEANUP(free) uint32_t *cpus = NULL;

	return list_read("/sys/devices/system/cpu/possible", &cpus);
}

/* Reports of other objects do not wake the reader: only "onli..." and "offl..." arrive. */
static struct sock_filter about_cpus[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x6f6e6c69, 1, 0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x6f66666c, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	BPF_STMT(BPF_RET | BPF_K, 0),
};

int cpus_listen(void)
{
	struct sock_fprog filter = {ARRAY_LEN(about_cpus), about_cpus};
	CLEANUP(fd) int fd = uevents_listen();

	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter));
	return fd_take(&fd);
}

bool cpus_next(int fd, struct cpu_event *ret)
{
	char text[4096], more;
	enum uevent got;

	*ret = (struct cpu_event){0};
	while ((got = uevents_next(fd, text, sizeof(text))) == UEVENT_READ)
		if (sscanf(text, "online@/devices/system/cpu/cpu%u%c", &ret->cpu, &more) == 1 ||
		    sscanf(text, "offline@/devices/system/cpu/cpu%u%c", &ret->cpu, &more) == 1)
			return true;
	ret->is_lost = true;
	return got == UEVENT_LOST;
}
