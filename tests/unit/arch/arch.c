/* SPDX-License-Identifier: MIT */
/* What an architecture says of itself agrees: struct arch, its headers, its tables. */
#include "arch/arch.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/machine/regs.h"
#include "arch/rule.h"
#include "arch/machine.h"
#include "provider/syscalls.h"
#include "tap.h"

/* ---- headers and table ----------------------------------------------------------------------- */

static void test_registers(void)
{
	const struct arch_unwind *u = &arch.unwind;
	uint64_t saved = 0;

	is_int(arch.nregs, FRAME_NREGS, "words of struct pt_regs");
	ok(arch.nregs <= ARCH_NREGS_MAX, "they fit into struct arch_regs");
	is_int(arch.sp, 8 * FRAME_SP, "stack pointer");
	is_int(arch.pc, 8 * FRAME_PC, "next instruction");
	is_int(u->words[u->sp], FRAME_SP, "stack pointer of rows");
	is_int(u->words[u->fp], FRAME_FP, "frame pointer of rows");
	ok(u->ra < u->nregs, "the return address is a column of rows");
	is_int(u->ra_off == 0, FRAME_RA_ABOVE_FP, "where rows have the return address");
	for (uint32_t reg = 0; reg < u->nregs; reg++) {
		ok(u->words[reg] < arch.nregs, "register %u is a word", reg);
		if (!u->saved[reg])
			continue;
		is_int(u->words[reg], FRAME_SAVED_WORD(u->saved[reg] - 1u), "which rules have");
		saved |= 1ull << u->words[reg];
	}
	is_int(saved, FRAME_SAVED_WORDS, "all registers of rules");
	ok(FRAME_NSAVED <= RULE_NSAVED, "rules have room for them");
	for (uint32_t i = 0; i < 36; i++) {
		uint32_t word = arch.uregs[i / 12] >> (5 * (i % 12)) & 31;

		if (word != 31 && word >= arch.nregs)
			ok(false, "uregs[%u] is word %u", i, word);
	}
}

static void test_names(void)
{
	const struct machine *m = machine_here();
	uint32_t off = 0, size = 0, part_off, part_size;

	ok(arch.register_find(m->registers[0], strlen(m->registers[0]), &off, &size) && size == 8 &&
		   off < 8 * arch.nregs,
	   "a register has a name");
	ok(arch.register_find(m->registers[2], strlen(m->registers[2]), &off, &size), "another");
	if (*m->registers[1])
		ok(arch.register_find(m->registers[1], strlen(m->registers[1]), &part_off,
				      &part_size) &&
			   part_off == off && part_size < size,
		   "and a part of it, too");
	ok(!arch.register_find("no", 2, &off, &size), "what is none has none");
}

/* ---- registers of threads -------------------------------------------------------------------- */

static void test_core(void)
{
	uint64_t pr_reg[ARCH_NREGS_MAX];
	struct arch_regs r = {0};
	bool same = true;

	for (uint32_t i = 0; i < ARCH_NREGS_MAX; i++)
		pr_reg[i] = 100 + i;
	ok(arch.regs_of_core(pr_reg, sizeof(pr_reg), &r), "registers of a core file");
	for (uint32_t i = 0; i < arch.nregs; i++)
		same &= r.words[i] == 100 + i;
	ok(same, "are words of struct pt_regs");
	ok(!arch.regs_of_core(pr_reg, 64, &r), "there may be too few");
}

/* One register is what it is among all, and the child's thread pointer is the parent's. */
static void test_thread(void)
{
	pid_t child = fork();
	struct arch_regs r;
	uint64_t sp = 0;
	int status;

	if (child == 0) {
		(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		(void)raise(SIGSTOP);
		_exit(0);
	}
	(void)waitpid(child, &status, 0);
	if (!arch.regs_read(child, &r)) {
		ok(true, "threads of %s cannot run here # SKIP", arch.name);
	} else {
		ok(arch.reg_read(child, arch.sp, &sp) && sp == r.words[FRAME_SP],
		   "one register, and all");
		ok(r.thread_pointer == (uint64_t)(uintptr_t)__builtin_thread_pointer(),
		   "the thread pointer, as the parent has it");
		ok(r.words[FRAME_PC] >> arch.user_bits == 0, "an address of a process");
	}
	(void)kill(child, SIGKILL);
	(void)waitpid(child, &status, 0);
	ok(!arch.regs_read(child, &r), "a process that has ended has none");
}

/* ---- conventions ----------------------------------------------------------------------------- */

static void test_conventions(void)
{
	const struct machine *m = machine_here();

	is_int(arch.tls_distance(8, 24, 8), m->tls[0], "a thread-local variable");
	is_int(arch.tls_distance(8, 24, 64), m->tls[1], "aligned");
	is_int(arch.tls_distance(0, 24, 0), m->tls[2], "not aligned");
	is_int(arch.stack_args, m->stack_args, "arguments in memory");
	ok(arch.stack_args_32 || !arch.elf.machine_32, "and in that of 32-bit programs");
	is_int(syscall_find("read")->nr64, m->read_nr, "a number of a system call");
	ok(!syscall_find("no_such_call"), "others have none");
}

int main(void)
{
	if (!machine_here()) {
		ok(false, "tests/unit/arch/machine.h has no row for %s", arch.name);
		return tap_done();
	}
	test_registers();
	test_names();
	test_core();
	test_thread();
	test_conventions();
	return tap_done();
}
