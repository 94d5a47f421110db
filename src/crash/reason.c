/* SPDX-License-Identifier: MIT */
/* Says in words why a process has died. */
#include "crash/reason.h"

#include <inttypes.h>

#include "target/maps.h"

#define STACK_REACH                                                                                \
	(256u << 10) /* bytes that a frame may be larger than what is left of the stack */

struct code {
	int signal, code;
	const char *name, *what; /* what: NULL, or without the address */
};

static const struct code codes[] = {
	{SIGSEGV, SEGV_MAPERR, "SEGV_MAPERR", NULL},
	{SIGSEGV, SEGV_ACCERR, "SEGV_ACCERR", NULL},
	{SIGSEGV, SEGV_BNDERR, "SEGV_BNDERR", "a bound check has failed"},
	{SIGSEGV, SEGV_PKUERR, "SEGV_PKUERR", "its protection key forbids the access"},
	{SIGSEGV, SI_KERNEL, "SI_KERNEL",
	 "the instruction is not allowed, or its address is none that a processor can have"},
	{SIGBUS, BUS_ADRALN, "BUS_ADRALN", "the address is not aligned"},
	{SIGBUS, BUS_ADRERR, "BUS_ADRERR", NULL},
	{SIGBUS, BUS_OBJERR, "BUS_OBJERR", "the hardware has reported an error"},
	{SIGBUS, BUS_MCEERR_AR, "BUS_MCEERR_AR", "the memory at the address is broken"},
	{SIGBUS, BUS_MCEERR_AO, "BUS_MCEERR_AO", "broken memory was found"},
	{SIGILL, ILL_ILLOPC, "ILL_ILLOPC", "the instruction does not exist"},
	{SIGILL, ILL_ILLOPN, "ILL_ILLOPN", "the instruction is not valid"},
	{SIGILL, ILL_PRVOPC, "ILL_PRVOPC", "the instruction is privileged"},
	{SIGFPE, FPE_INTDIV, "FPE_INTDIV", "an integer was divided by zero"},
	{SIGFPE, FPE_INTOVF, "FPE_INTOVF", "an integer has overflowed"},
	{SIGFPE, FPE_FLTDIV, "FPE_FLTDIV", "a floating point number was divided by zero"},
	{SIGFPE, FPE_FLTOVF, "FPE_FLTOVF", "a floating point number has overflowed"},
	{SIGFPE, FPE_FLTUND, "FPE_FLTUND", "a floating point number has underflowed"},
	{SIGFPE, FPE_FLTINV, "FPE_FLTINV", "an operation on floating point numbers is not valid"},
	{SIGTRAP, TRAP_BRKPT, "TRAP_BRKPT", "a breakpoint was hit, and nobody traces the process"},
	{SIGTRAP, TRAP_TRACE, "TRAP_TRACE",
	 "a single step has ended, and nobody traces the process"},
	{SIGTRAP, SI_KERNEL, "SI_KERNEL", "a breakpoint was hit, and nobody traces the process"},
	{SIGSYS, 1, "SYS_SECCOMP", NULL},
};

static const struct code *code_find(const siginfo_t *si)
{
	for (uint32_t i = 0; i < ARRAY_LEN(codes); i++)
		if (codes[i].signal == si->si_signo && codes[i].code == si->si_code)
			return &codes[i];
	return NULL;
}

void signal_name_add(struct strbuf *out, int signal)
{
	const char *name = sigabbrev_np(signal);

	if (name)
		strbuf_addf(out, "SIG%s", name);
	else
		strbuf_addf(out, "signal %d", signal);
}

const char *signal_code_name(const siginfo_t *si)
{
	const struct code *c = code_find(si);

	if (c)
		return c->name;
	switch (si->si_code) {
	case SI_USER: return "SI_USER";
	case SI_KERNEL: return "SI_KERNEL";
	case SI_QUEUE: return "SI_QUEUE";
	case SI_TIMER: return "SI_TIMER";
	case SI_TKILL: return "SI_TKILL";
	default: return NULL;
	}
}

bool reason_is_overflow(const siginfo_t *si, const struct reason_of *of)
{
	uint64_t at = (uint64_t)(uintptr_t)si->si_addr;
	const struct proc_map *above = NULL, *in;

	if (si->si_signo != SIGSEGV || si->si_code <= 0 || si->si_code == SI_KERNEL || !of->sp ||
	    !of->maps)
		return false;
	if (at + STACK_REACH < of->sp || at > of->sp + STACK_REACH)
		return false;
	in = proc_maps_find(of->maps, at);
	if (in && in->is_write)
		return false;
	/* the stack is the mapping that begins behind the address */
	for (uint32_t i = 0; i < of->maps->maps.len && !above; i++)
		if (of->maps->maps.data[i].start > at)
			above = &of->maps->maps.data[i];
	return above && above->is_write && !proc_map_has_file(above) && of->sp < above->end &&
	       of->sp + STACK_REACH > above->start;
}

static void fault_add(struct strbuf *out, const siginfo_t *si, const struct reason_of *of)
{
	uint64_t at = (uint64_t)(uintptr_t)si->si_addr;
	const struct proc_map *map = of->maps ? proc_maps_find(of->maps, at) : NULL;

	if (reason_is_overflow(si, of)) {
		strbuf_addf(out, "the stack has overflowed: address 0x%" PRIx64, at);
		return;
	}
	strbuf_addf(out, "address 0x%" PRIx64 " ", at);
	if (si->si_signo == SIGBUS) {
		strbuf_adds(out, "is behind the end of what is mapped there");
	} else if (si->si_code == SEGV_MAPERR) {
		strbuf_adds(out, "is not mapped");
	} else {
		strbuf_addf(out, "does not allow the access: it is mapped %s%s",
			    map && map->is_write ? "writable" : "read-only, or not at all readable",
			    map && map->is_exec ? ", executable" : "");
	}
	if (map && *map->path)
		strbuf_addf(out, " (%s)", map->path);
}

void reason_add(struct strbuf *out, const siginfo_t *si, const struct reason_of *of)
{
	const struct code *c = code_find(si);

	if (si->si_signo == SIGSYS && c) {
		strbuf_addf(out, "a seccomp filter has refused system call %d", si->si_syscall);
	} else if (c && c->what) {
		strbuf_adds(out, c->what);
		if (c->code != SI_KERNEL)
			strbuf_addf(out, ", at address 0x%" PRIx64,
				    (uint64_t)(uintptr_t)si->si_addr);
	} else if (c) {
		fault_add(out, si, of);
	} else if (si->si_code <= 0 && si->si_code != SI_TIMER) {
		if (si->si_pid == of->pid)
			strbuf_adds(out, si->si_signo == SIGABRT && si->si_code == SI_TKILL
						 ? "the process has called abort()"
						 : "the process has sent it to itself");
		else
			strbuf_addf(out, "sent by process %d of user %u", (int)si->si_pid,
				    (unsigned)si->si_uid);
	} else {
		strbuf_addf(out, "code %d", si->si_code);
	}
}
