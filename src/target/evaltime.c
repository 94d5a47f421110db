/* SPDX-License-Identifier: MIT */
/* Runs a held process on to the moment at which probes are to be placed. */
#include "target/evaltime.h"

#include <errno.h>
#include <sys/ptrace.h>

#include "arch/arch.h"
#include "target/breakpoint.h"
#include "target/maps.h"
#include "target/rtld.h"
#include "target/tracees.h"

struct target {
	struct gate *gate;
	struct tracees *threads;
	pid_t pid;
	struct aux aux;
	const struct arch_trap *trap; /* what breakpoints are made of */
	bool is_main_unknown;
};

static struct err *ptrace_failed(const struct target *t, const char *what)
{
	return err_sys(errno, "cannot %s process %d", what, (int)t->pid);
}

static struct breakpoint breakpoint_make(const struct target *t, const struct arch_trap *trap)
{
	return (struct breakpoint){.pid = t->pid, .gate = t->gate, .trap = trap};
}

/* Runs the process until it reaches addr, executes or ends. */
static struct err *run_to(struct target *t, taddr addr)
{
	struct breakpoint b = breakpoint_make(t, t->trap);
	struct err *e = breakpoint_set(&b, t->threads->hit ? t->threads->hit : t->pid, addr);

	return e ? e : tracees_run(t->threads, &b, 1);
}

/* False if the process has executed another program, or has ended, before it came to the place. */
static bool is_there(const struct target *t)
{
	return t->threads->hit != 0;
}

/* ---- the trap -------------------------------------------------------------------------------- */

/*
 * Tries whether the first kind of trap stops this process, before it has executed anything: the
 * second kind stands behind it.
 */
static struct err *trap_choose(struct target *t)
{
	struct breakpoint two[2] = {breakpoint_make(t, &arch.traps[0]),
				    breakpoint_make(t, &arch.traps[1])};
	struct err *e;
	uint64_t pc;

	t->trap = &arch.traps[0];
	if (!arch.reg_read(t->pid, arch.pc, &pc))
		return ptrace_failed(t, "read the registers of");
	e = breakpoint_set(&two[0], t->pid, pc);
	if (e)
		return e;
	e = breakpoint_set(&two[1], t->pid, pc + 1);
	if (e) {
		err_destroy(breakpoint_clear(&two[0], t->pid)); /* the first error is reported */
		return e;
	}
	e = tracees_run(t->threads, two, 2);
	if (e || !is_there(t) || t->threads->hit_at == 0)
		return e;
	t->trap = &arch.traps[1];
	return arch.reg_write(t->pid, arch.pc, pc) ? NULL
						   : ptrace_failed(t, "set the registers of");
}

/* ---- the places ------------------------------------------------------------------------------ */

/*
 * Runs until every object is mapped and relocated, and no initialiser has run. The dynamic linker
 * calls the hook several times: each time, the process runs out of it before the breakpoint is set
 * once more, so no instruction has to be stepped over.
 */
static struct err *run_to_preinit(struct target *t)
{
	const struct aux *aux = &t->aux;
	uint64_t entry, hook = proc_symbol(t->gate, t->pid, aux->base, "_dl_debug_state", &entry);
	uint64_t debug = proc_symbol(t->gate, t->pid, aux->base, "_r_debug", &entry);
	uint64_t state_at =
		aux->base + debug + (aux->is_narrow ? RTLD_STATE_OFF32 : RTLD_STATE_OFF);

	if (!hook)
		return run_to(t, aux->entry);
	for (;;) {
		struct err *e = run_to(t, aux->base + hook);
		taddr back;
		long state;

		if (e || !is_there(t))
			return e;
		errno = 0;
		state = debug ? ptrace(PTRACE_PEEKDATA, t->threads->hit, state_at, NULL) : 0;
		if (errno || (int)state == 0)
			return NULL;
		if (!arch.call_return(t->threads->hit, aux->is_narrow, &back))
			return ptrace_failed(t, "read the stack of");
		e = run_to(t, back);
		if (e || !is_there(t))
			return e;
	}
}

/* Returns where the object whose file name begins with prefix is mapped; 0 if none is. */
static taddr object_base(pid_t pid, const char *prefix)
{
	struct proc_maps m;
	struct err *e = proc_maps_read(pid, &m);
	taddr base = 0;

	if (e) {
		err_destroy(e);
		return 0;
	}
	for (uint32_t i = 0; i < m.maps.len && !base; i++) {
		const char *slash = strrchr(m.maps.data[i].path, '/');

		if (slash && strncmp(slash + 1, prefix, strlen(prefix)) == 0)
			base = m.maps.data[i].start;
	}
	proc_maps_deinit(&m);
	return base;
}

/*
 * Runs to main() of a stripped program: the address that its entry point passes to the C library.
 */
static struct err *run_to_given_main(struct target *t)
{
	taddr libc = object_base(t->pid, "libc.so"), main_addr;
	uint64_t entry, start = 0;
	struct err *e;

	if (libc)
		start = proc_symbol(t->gate, t->pid, libc, "__libc_start_main", &entry);
	if (!start) {
		t->is_main_unknown = true;
		return NULL;
	}
	e = run_to(t, libc + start);
	if (e || !is_there(t))
		return e;
	if (!arch.call_argument(t->threads->hit, t->aux.is_narrow, &main_addr))
		return ptrace_failed(t, "read the registers of");
	return run_to(t, main_addr);
}

static struct err *run_to_main(struct target *t)
{
	const struct aux *aux = &t->aux;
	uint64_t entry, value = proc_symbol(t->gate, t->pid, aux->entry, "main", &entry);
	struct err *e = aux->base ? run_to(t, aux->entry) : NULL;

	if (e || !is_there(t))
		return e;
	if (value)
		return run_to(t, aux->entry - entry + value);
	return run_to_given_main(t);
}

/* Runs the program that the process has just executed to the place. */
static struct err *run_to_place(struct target *t, enum proc_when when)
{
	struct err *e = proc_aux_read(t->pid, &t->aux);

	/* A program without a dynamic linker has no initialisers of shared objects. */
	if (e || when == PROC_EXEC || (when != PROC_MAIN && !t->aux.base))
		return e;
	if (!t->trap)
		e = trap_choose(t);
	else
		t->threads->hit = t->pid;
	if (e || !is_there(t))
		return e;
	switch (when) {
	case PROC_EXEC: return NULL;
	case PROC_PREINIT: return run_to_preinit(t);
	case PROC_POSTINIT: return run_to(t, t->aux.entry);
	case PROC_MAIN: return run_to_main(t);
	}
	BUG("evaltime %d", (int)when);
}

struct err *evaltime_run(struct tracees *threads, struct gate *g, enum proc_when when, bool is_int3,
			 struct evaltime *ret)
{
	struct target t = {.pid = threads->pid, .gate = g, .threads = threads};
	struct err *e;

	t.trap = is_int3 ? &arch.traps[1] : NULL;
	*ret = (struct evaltime){0};
	do {
		threads->hit = 0;
		threads->has_executed = false;
		e = run_to_place(&t, when);
		ret->nexecs += threads->has_executed;
	} while (!e && threads->has_executed);
	ret->is_main_unknown = t.is_main_unknown;
	return e;
}
