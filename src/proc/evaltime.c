/* Runs a held process on to the moment at which probes are to be placed. */
#include "proc/evaltime.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "arch/arch.h"
#include "proc/maps.h"
#include "proc/rtld.h"

struct target {
	struct gate *gate;
	pid_t pid;
	bool has_ended;
	int status;
};

/* ---- breakpoints ----------------------------------------------------------------------------- */

static struct err *ptrace_failed(const struct target *t, const char *what)
{
	return err_sys(errno, "cannot %s process %d", what, (int)t->pid);
}

static struct err *breakpoint_set(const struct target *t, taddr addr)
{
	return arch.stop_set(t->pid, addr) ? NULL : ptrace_failed(t, "set a breakpoint in");
}

static void breakpoint_clear(const struct target *t)
{
	if (!t->has_ended)
		(void)arch.stop_set(t->pid, 0); /* only setting a breakpoint can fail */
}

/* Continues the process to its next stop, and passes on the signals that it receives. */
static struct err *run_to_stop(struct target *t)
{
	int sig = 0;

	for (;;) {
		int got;

		if (ptrace(PTRACE_CONT, t->pid, NULL, (void *)(long)sig) != 0)
			return ptrace_failed(t, "continue");
		do
			got = waitpid(t->pid, &t->status, 0);
		while (got < 0 && errno == EINTR);
		if (got < 0)
			return ptrace_failed(t, "wait for");
		t->has_ended = !WIFSTOPPED(t->status);
		if (t->has_ended)
			return NULL;
		sig = WSTOPSIG(t->status);
		if (sig == SIGTRAP)
			return NULL;
		if (sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU)
			/* signals that would stop the process are dropped until it is started */
			sig = 0;
	}
}

/* Runs the process until it reaches addr or ends. */
static struct err *run_to(struct target *t, taddr addr)
{
	struct err *e = breakpoint_set(t, addr);

	while (!e && !t->has_ended) {
		e = run_to_stop(t);
		if (!e && !t->has_ended && arch.stop_hit(t->pid))
			break;
	}
	breakpoint_clear(t);
	return e;
}

/* ---- the places ------------------------------------------------------------------------------ */

/* Runs until every object is mapped and relocated, and no initialiser has run. */
static struct err *run_to_preinit(struct target *t, const struct aux *aux)
{
	uint64_t entry, hook = proc_symbol(t->gate, t->pid, aux->base, "_dl_debug_state", &entry);
	uint64_t debug = proc_symbol(t->gate, t->pid, aux->base, "_r_debug", &entry);
	uint64_t state_at =
		aux->base + debug + (aux->is_narrow ? RTLD_STATE_OFF32 : RTLD_STATE_OFF);

	if (!hook)
		return run_to(t, aux->entry);
	while (!t->has_ended) {
		struct err *e = run_to(t, aux->base + hook);
		long state;

		if (e || t->has_ended)
			return e;
		errno = 0;
		state = debug ? ptrace(PTRACE_PEEKDATA, t->pid, state_at, NULL) : 0;
		if (errno || (int)state == 0)
			return NULL;
	}
	return NULL;
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
	uint64_t entry, start;
	struct user_regs_struct regs;
	struct iovec iov = {&regs, sizeof(regs)};
	taddr main_addr;
	taddr libc = object_base(t->pid, "libc.so");
	struct err *e;

	start = libc ? proc_symbol(t->gate, t->pid, libc, "__libc_start_main", &entry) : 0;
	if (!start)
		return NULL;
	e = run_to(t, libc + start);
	if (e || t->has_ended)
		return e;
	if (ptrace(PTRACE_GETREGSET, t->pid, NT_PRSTATUS, &iov) != 0)
		return ptrace_failed(t, "read the registers of");
	memcpy(&main_addr, (const char *)&regs + arch.func_args[0], sizeof(main_addr));
	return run_to(t, main_addr);
}

static struct err *run_to_main(struct target *t, const struct aux *aux)
{
	uint64_t entry, value = proc_symbol(t->gate, t->pid, aux->entry, "main", &entry);
	struct err *e = aux->base ? run_to(t, aux->entry) : NULL;

	if (e || t->has_ended)
		return e;
	if (value)
		return run_to(t, aux->entry - entry + value);
	return run_to_given_main(t);
}

struct err *evaltime_run(struct gate *g, pid_t pid, enum proc_when when, bool *ret_ended,
			 int *ret_status)
{
	struct target t = {.pid = pid, .gate = g};
	struct aux aux;
	struct err *e = when == PROC_EXEC ? NULL : proc_aux_read(pid, &aux);

	if (!e)
		switch (when) {
		case PROC_EXEC: break;
		case PROC_PREINIT: e = aux.base ? run_to_preinit(&t, &aux) : NULL; break;
		case PROC_POSTINIT: e = aux.base ? run_to(&t, aux.entry) : NULL; break;
		case PROC_MAIN: e = run_to_main(&t, &aux); break;
		}
	*ret_ended = t.has_ended;
	*ret_status = t.status;
	return e;
}
