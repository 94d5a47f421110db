/* SPDX-License-Identifier: MIT */
/*
 * The least that probes cost here: an empty BPF program on instructions of a file, in all processes
 * that map it, or on a timer of each CPU, until standard input ends.
 *
 *     floor FILE FUNCTION|OFFSET[@COUNTER]...
 *     floor -t HZ
 *
 * COUNTER is the offset of the probe's counter in the file. Prints READY when the program is in
 * place; at its end, the milliseconds that placing and removing took, and those of CPU time.
 */
#include <bpf/bpf.h>
#include <ctype.h>
#include <fcntl.h>
#include <gelf.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SITES_MAX 256

/* File offset of a function; 0: none. */
static unsigned long offset_of(const char *path, const char *name)
{
	int fd = open(path, O_RDONLY);
	Elf *elf = elf_version(EV_CURRENT) != EV_NONE ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh, text;
	GElf_Sym sym;

	while (elf && (scn = elf_nextscn(elf, scn))) {
		Elf_Data *data = elf_getdata(scn, NULL);

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_SYMTAB)
			continue;
		for (int i = 0; gelf_getsym(data, i, &sym); i++)
			if (strcmp(elf_strptr(elf, sh.sh_link, sym.st_name), name) == 0 &&
			    gelf_getshdr(elf_getscn(elf, sym.st_shndx), &text))
				return sym.st_value - text.sh_addr + text.sh_offset;
	}
	return 0;
}

struct cost {
	double wall, cpu; /* milliseconds */
};

static double ms_of(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* Adds the time now (sign 1), or takes it off (-1): what is between the two calls remains. */
static void cost_add(struct cost *sum, int sign)
{
	sum->wall += sign * ms_of(CLOCK_MONOTONIC);
	sum->cpu += sign * ms_of(CLOCK_PROCESS_CPUTIME_ID);
}

static const struct bpf_insn code[] = {
	{.code = BPF_ALU64 | BPF_MOV | BPF_K},
	{.code = BPF_JMP | BPF_EXIT},
};

/* Says that the program is in place, and waits until standard input ends. */
static void input_wait(void)
{
	char c;

	printf("READY\n");
	(void)fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
}

/* Each CPU that is online has a timer of its own; the end of the process closes them. */
static int timers_run(unsigned long hz)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .size = sizeof(attr),
				       .sample_period = 1000000000 / hz};
	int prog = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, NULL, "GPL", code, 2, NULL);

	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		int fd =
			(int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd >= 0 && (ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog) != 0 ||
				ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) != 0)) {
			perror("floor");
			return 1;
		}
	}
	input_wait();
	return 0;
}

int main(int argc, char **argv)
{
	LIBBPF_OPTS(bpf_prog_load_opts, load,
		    .expected_attach_type = 48 /* BPF_TRACE_UPROBE_MULTI */);
	struct { /* union bpf_attr, link_create of uprobe_multi: younger than Debian's headers */
		__u32 prog_fd, target_fd, attach_type, flags;
		__u64 path, offsets, ref_ctr_offsets, cookies;
		__u32 cnt, multi_flags, pid, pad;
	} link = {.attach_type = 48};
	unsigned long offs[SITES_MAX], counters[SITES_MAX] = {0};
	struct cost cost = {0};
	int fd;

	if (argc == 3 && strcmp(argv[1], "-t") == 0)
		return timers_run(strtoul(argv[2], NULL, 10));
	if (argc < 3 || argc > SITES_MAX + 2)
		return 2;
	link.cnt = (__u32)argc - 2;
	for (int i = 2; i < argc; i++) {
		offs[i - 2] = isdigit((unsigned char)*argv[i]) ? strtoul(argv[i], NULL, 0)
							       : offset_of(argv[1], argv[i]);
		if (!offs[i - 2])
			return 2;
		if (strchr(argv[i], '@')) {
			counters[i - 2] = strtoul(strchr(argv[i], '@') + 1, NULL, 0);
			link.ref_ctr_offsets = (__u64)(unsigned long)counters;
		}
	}
	link.path = (__u64)(unsigned long)argv[1];
	link.offsets = (__u64)(unsigned long)offs;
	link.prog_fd = (__u32)bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", code, 2, &load);
	cost_add(&cost, -1);
	fd = (int)syscall(321 /* bpf() */, BPF_LINK_CREATE, &link, sizeof(link));
	cost_add(&cost, 1);
	if (fd < 0) {
		perror("floor");
		return 1;
	}
	input_wait();
	cost_add(&cost, -1);
	(void)close(fd);
	cost_add(&cost, 1);
	printf("%.3f %.3f\n", cost.wall, cost.cpu);
	return 0;
}
