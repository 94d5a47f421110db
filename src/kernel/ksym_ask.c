/* SPDX-License-Identifier: MIT */
/*
 * Asks the kernel for a symbol, by a program that runs once. Reading /proc/kallsyms to its end
 * takes some 50 ms.
 *
 * Facts    Linux v5.16 ("bpf: Add bpf_kallsyms_lookup_name helper"): for programs of type syscall.
 *          The helper knows the symbols of the kernel and of its modules, as /proc/kallsyms does,
 *          and looks at those of the kernel first. What such a program writes to its context is
 *          copied back to attr.test.ctx_in.
 */
#include "kernel/kernel.h"

#include <errno.h>

#include "kernel/insn.h"

/* A stack has 512 bytes. A longer name is looked up in /proc/kallsyms. */
#define NAME_MAX_SIZE 256

int ksym_ask(const char *name, uint64_t *ret_addr)
{
	struct bpf_insn insns[NAME_MAX_SIZE / 4 + 13];
	char text[NAME_MAX_SIZE] = "";
	uint64_t addr = 0;
	uint32_t n = 0, size = (uint32_t)strlen(name) + 1;
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SYSCALL,
		.prog_flags = BPF_F_SLEEPABLE,
		.insns = (uint64_t)(uintptr_t)insns,
		.license = (uint64_t)(uintptr_t) "Dual MIT/GPL",
	};
	CLEANUP(fd) int fd = -1;

	if (size > sizeof(text))
		return ENAMETOOLONG;
	memcpy(text, name, size);
	for (uint32_t i = 0; i < size; i += 4) {
		int32_t word;

		memcpy(&word, text + i, 4);
		insns[n++] = INSN_STORE_IMM(BPF_W, R10, (int)i - NAME_MAX_SIZE - 8, word);
	}
	insns[n++] = INSN_MOV(R6, R1);
	insns[n++] = INSN_STORE_IMM(BPF_DW, R10, -8, 0);
	insns[n++] = INSN_MOV(R1, R10);
	insns[n++] = INSN_ADD_IMM(R1, -NAME_MAX_SIZE - 8);
	insns[n++] = INSN_MOV_IMM(R2, (int)size);
	insns[n++] = INSN_MOV_IMM(R3, 0);
	insns[n++] = INSN_MOV(R4, R10);
	insns[n++] = INSN_ADD_IMM(R4, -8);
	insns[n++] = INSN_CALL(BPF_FUNC_kallsyms_lookup_name);
	insns[n++] = INSN_NEG(R0);
	insns[n++] = INSN_LOAD(BPF_DW, R1, R10, -8);
	insns[n++] = INSN_STORE(BPF_DW, R6, 0, R1);
	insns[n++] = INSN_EXIT;
	attr.insn_cnt = n;
	fd = sys_bpf_load(&attr, sizeof(attr));
	if (fd < 0)
		return errno;
	attr = (union bpf_attr){.test = {.prog_fd = (uint32_t)fd,
					 .ctx_in = (uint64_t)(uintptr_t)&addr,
					 .ctx_size_in = sizeof(addr)}};
	if (sys_bpf(BPF_PROG_TEST_RUN, &attr, sizeof(attr)))
		return errno;
	*ret_addr = addr;
	return (int)attr.test.retval;
}
