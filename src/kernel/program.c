/* SPDX-License-Identifier: MIT */
/* Loads whole programs of the run-time library. */
#include "kernel/program.h"

#include <errno.h>

#include "kernel/linker.h"

#define LICENSE "Dual MIT/GPL"
#define PREFIX	"prog_"

struct err *program_load(const char *name, enum program_kind kind, const int fds[MAP_NCLASSES],
			 int *ret_fd)
{
	union bpf_attr attr = {
		.prog_type =
			kind == PROGRAM_CODE ? BPF_PROG_TYPE_KPROBE : BPF_PROG_TYPE_RAW_TRACEPOINT,
		.expected_attach_type = kind == PROGRAM_CODE && feat_has(FEAT_UPROBE_MULTI)
						? ATTACH_UPROBE_MULTI
						: 0,
		.license = (uint64_t)(uintptr_t)LICENSE,
	};
	struct linked l;
	struct err *e = link_program(name, fds, &l);
	int fd;

	if (e)
		return e;
	(void)snprintf(attr.prog_name, sizeof(attr.prog_name), "%s", name + strlen(PREFIX));
	attr.insns = (uint64_t)(uintptr_t)l.insns.data;
	attr.insn_cnt = l.insns.len;
	if (l.btf_fd >= 0) {
		attr.prog_btf_fd = (uint32_t)l.btf_fd;
		attr.func_info = (uint64_t)(uintptr_t)l.funcs.data;
		attr.func_info_rec_size = sizeof(struct bpf_func_info);
		attr.func_info_cnt = l.funcs.len;
	}
	fd = sys_bpf_load(&attr, sizeof(attr));
	if (fd < 0)
		e = err_sys(errno, "the kernel refused the program '%s'", name + strlen(PREFIX));
	else
		*ret_fd = fd;
	linked_deinit(&l);
	return e;
}
