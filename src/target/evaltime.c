/* SPDX-License-Identifier: MIT */
/* Runs a held process on to the moment at which probes are to be placed. */
#include "target/evaltime.h"

#include <errno.h>

#include "arch/arch.h"
#include "target/breakpoint.h"
#include "target/link_map.h"
#include "target/maps.h"
#include "target/rtld.h"
#include "target/target.h"
#include "target/tracees.h"

/* A process on its way. */
struct way {
	struct target *target;
	struct tracees *threads;
	struct target_aux aux;
	const struct arch_trap *trap; /* what breakpoints are made of */
	bool is_main_unknown;
};

static struct err *ptrace_failed(const struct way *t, const char *what)
{
	return err_sys(errno, "cannot %s process %d", what, (int)t->threads->pid);
}

static struct breakpoint breakpoint_make(const struct way *t, const struct arch_trap *trap)
{
	return (struct breakpoint){.target = t->target, .trap = trap};
}

/* Runs the process until it reaches addr, executes or ends. */
static struct err *run_to(struct way *t, taddr addr)
{
	struct breakpoint b = breakpoint_make(t, t->trap);
	struct err *e =
		breakpoint_set(&b, t->threads->hit ? t->threads->hit : t->threads->pid, addr);

	return e ? e : tracees_run(t->threads, &b, 1);
}

/* False if the process has executed another program, or has ended, before that moment. */
static bool is_there(const struct way *t)
{
	return t->threads->hit != 0;
}

/* ---- the trap -------------------------------------------------------------------------------- */

/*
 * Tries whether the first kind of trap stops this process, before it has executed anything: the
 * second kind stands behind it.
 */
static struct err *trap_choose(struct way *t)
{
	struct breakpoint two[2] = {breakpoint_make(t, &arch.traps[0]),
				    breakpoint_make(t, &arch.traps[1])};
	struct err *e;
	uint64_t pc;

	t->trap = &arch.traps[0];
	if (!arch.reg_read(t->threads->pid, arch.pc, &pc))
		return ptrace_failed(t, "read the registers of");
	e = breakpoint_set(&two[0], t->threads->pid, pc);
	if (e)
		return e;
	e = breakpoint_set(&two[1], t->threads->pid, pc + 1);
	if (e) {
		err_destroy(breakpoint_clear(&two[0],
					     t->threads->pid)); /* the first error is reported */
		return e;
	}
	e = tracees_run(t->threads, two, 2);
	if (e || !is_there(t) || t->threads->hit_at == 0)
		return e;
	t->trap = &arch.traps[1];
	return arch.reg_write(t->threads->pid, arch.pc, pc)
		       ? NULL
		       : ptrace_failed(t, "set the registers of");
}

/* ---- the moments ----------------------------------------------------------------------------- */

/*
 * Runs until every object is mapped and relocated, and no initialiser has run. The dynamic linker
 * calls the hook several times: each time, the process runs out of it before the breakpoint is set
 * once more, so no instruction has to be stepped over.
 */
static struct err *run_to_preinit(struct way *t)
{
	const struct target_aux *aux = &t->aux;
	uint64_t entry, hook = rtld_symbol(t->target, aux->base, "_dl_debug_state", &entry);
	uint64_t debug = rtld_symbol(t->target, aux->base, "_r_debug", &entry);
	taddr state_at = aux->base + debug + link_map_state_off(aux->is_narrow);

	if (!hook)
		return run_to(t, aux->entry);
	for (;;) {
		struct err *e = run_to(t, aux->base + hook);
		uint32_t state = 0;
		taddr back;

		if (e || !is_there(t))
			return e;
		if (debug && !target_read(t->target, state_at, &state, sizeof(state)))
			return NULL;
		if (!state)
			return NULL;
		if (!arch.call_return(t->threads->hit, aux->is_narrow, &back))
			return ptrace_failed(t, "read the stack of");
		e = run_to(t, back);
		if (e || !is_there(t))
			return e;
	}
}

/* Returns where the object whose file name begins with prefix is mapped; 0 if none is. */
static taddr object_base(struct target *t, const char *prefix)
{
	const struct proc_maps *m = target_maps(t);
	struct err *e = target_refresh(t);

	err_destroy(e); /* it has ended: there is what it had */
	for (uint32_t i = 0; i < m->maps.len; i++) {
		const char *slash = strrchr(m->maps.data[i].path, '/');

		if (slash && strncmp(slash + 1, prefix, strlen(prefix)) == 0)
			return m->maps.data[i].start;
	}
	return 0;
}

/*
 * Runs to main() of a stripped program: the address that its entry point passes to the C library.
 */
static struct err *run_to_given_main(struct way *t)
{
	taddr libc = object_base(t->target, "libc.so"), main_addr;
	uint64_t entry, start = 0;
	struct err *e;

	if (libc)
		start = rtld_symbol(t->target, libc, "__libc_start_main", &entry);
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

static struct err *run_to_main(struct way *t)
{
	const struct target_aux *aux = &t->aux;
	uint64_t entry, value = rtld_symbol(t->target, aux->entry, "main", &entry);
	struct err *e = aux->base ? run_to(t, aux->entry) : NULL;

	if (e || !is_there(t))
		return e;
	if (value)
		return run_to(t, aux->entry - entry + value);
	return run_to_given_main(t);
}

/* Runs the program that the process has just executed to the moment `when`. */
static struct err *run_to_moment(struct way *t, enum proc_when when)
{
	struct err *e = target_refresh(t->target);

	if (!e)
		e = target_aux(t->target, &t->aux);
	/* A program without a dynamic linker has no initialisers of shared objects. */
	if (e || when == PROC_EXEC || (when != PROC_MAIN && !t->aux.base))
		return e;
	if (!t->trap)
		e = trap_choose(t);
	else
		t->threads->hit = t->threads->pid;
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
	struct way t = {.threads = threads};
	struct err *e = target_held_open(threads->pid, g, &t.target);

	t.trap = is_int3 ? &arch.traps[1] : NULL;
	*ret = (struct evaltime){0};
	if (e)
		return e;
	do {
		threads->hit = 0;
		threads->has_executed = false;
		e = run_to_moment(&t, when);
		ret->nexecs += threads->has_executed;
	} while (!e && threads->has_executed);
	ret->is_main_unknown = t.is_main_unknown;
	target_close(t.target);
	return e;
}
