/* SPDX-License-Identifier: MIT */
/*
 * The least that a probe of a kernel function costs here: an empty BPF program, until standard
 * input ends.
 *
 *     kfloor fentry|fexit FUNCTION
 *     kfloor multi|multi-return FUNCTION...
 *     kfloor all
 *
 * fentry, fexit: called from the function's first instruction, and at its return. multi,
 * multi-return: one link to the functions (kprobe_multi); all: to each function of the kernel and
 * its modules, which needs Linux 6.5. Prints READY when the program is in place.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int refused(const char *what)
{
	perror(what);
	return 1;
}

#define FUNCTIONS     "/sys/kernel/tracing/available_filter_functions_addrs"
#define MAX_FUNCTIONS 200000

/* Reads the addresses of all functions; their number. */
static __u32 functions_read(unsigned long *addrs)
{
	FILE *f = fopen(FUNCTIONS, "re");
	char line[512], name[256];
	__u32 n = 0;

	while (f && n < MAX_FUNCTIONS && fgets(line, sizeof(line), f))
		n += sscanf(line, "%lx %255s", &addrs[n], name) == 2 &&
		     strncmp(name, "__ftrace_invalid_address__", 26) != 0;
	if (f)
		fclose(f);
	return n;
}

static int attach_all(const char *way, const char **funcs, int n)
{
	const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	static unsigned long addrs[MAX_FUNCTIONS];
	bool is_all = strcmp(way, "all") == 0, is_multi = is_all || strncmp(way, "multi", 5) == 0;
	enum bpf_attach_type at = is_multi		      ? BPF_TRACE_KPROBE_MULTI
				  : strcmp(way, "fexit") == 0 ? BPF_TRACE_FEXIT
							      : BPF_TRACE_FENTRY;
	int id = is_multi ? 0 : libbpf_find_vmlinux_btf_id(funcs[0], at), prog;
	LIBBPF_OPTS(bpf_prog_load_opts, load, .expected_attach_type = at,
		    .attach_btf_id = id > 0 ? (__u32)id : 0);
	LIBBPF_OPTS(bpf_link_create_opts, link);

	prog = bpf_prog_load(is_multi ? BPF_PROG_TYPE_KPROBE : BPF_PROG_TYPE_TRACING, "floor",
			     "GPL", code, sizeof(code) / sizeof(code[0]), &load);
	if (prog < 0)
		return -1;
	if (!is_multi)
		return bpf_raw_tracepoint_open(NULL, prog);
	link.kprobe_multi.cnt = is_all ? functions_read(addrs) : (__u32)n;
	if (is_all)
		link.kprobe_multi.addrs = addrs;
	else
		link.kprobe_multi.syms = funcs;
	link.kprobe_multi.flags = strcmp(way, "multi-return") == 0 ? BPF_F_KPROBE_MULTI_RETURN : 0;
	return bpf_link_create(prog, 0, at, &link);
}

int main(int argc, char **argv)
{
	if (argc < 2 || (argc == 2) != (strcmp(argv[1], "all") == 0))
		return 2;
	if (attach_all(argv[1], (const char **)argv + 2, argc - 2) < 0)
		return refused(argv[1]);
	puts("READY");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
