/* SPDX-License-Identifier: MIT */
/*
 * All windows of a file, each executed beside its stub from random states (steps.h).
 *
 * windows FILE [STATES [PART]]: of PART windows one is tried, a fixed one, and all that have a
 * tail; 0: those that are of the file's own probes. Prints a line for each that differs, and at the
 * end how many were tried; exits with 1 if one differed. A window may destroy the process that
 * tries it, so that is a child; when it dies, the window is named and the next one tried.
 */
#include "steps.h"

#include "files/gate.h"
#include "flow/flow.h"
#include "usdt/note.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define FILE_MAX  (1ull << 30)
#define SLACK	  (64ull << 20) /* data behind the code, that it refers to */
#define REPORTS	  20
#define CHILD_MAX 4000 /* windows that one child tries */

struct shared {
	uint32_t next; /* the window that is being tried */
	uint32_t tried, skipped, states, faults, bodies, tails, failed;
	char why[1024];
};

struct work {
	const struct flow_plan *plan;
	const struct flow_site *sites;
	uint32_t states, part;
	taddr lo, hi;
};

static uint32_t window_exit(const struct work *k, const struct flow_window *w)
{
	for (uint32_t i = 0; i < w->nbodies; i++)
		if (k->sites[w->bodies[i].site].kind == FLOW_EXIT)
			return w->bodies[i].off;
	return w->len;
}

static bool window_is_own(const struct work *k, const struct flow_window *w)
{
	for (uint32_t i = 0; i < w->nbodies; i++)
		if (k->sites[w->bodies[i].site].kind == FLOW_NOP)
			return true;
	return false;
}

static void window_print(const struct flow_window *w, const char *why)
{
	printf("%#lx:", (unsigned long)w->addr);
	for (uint32_t i = 0; i < w->len; i++)
		printf(" %02x", w->old[i]);
	printf(": %s\n", why);
	fflush(stdout);
}

/* The child: tries windows from sh->next on. */
static void windows_try(const struct work *k, struct shared *sh)
{
	struct steps *s = steps_create(k->lo, k->hi);
	uint32_t begin = sh->next;

	for (; sh->next < k->plan->windows.len && sh->next - begin < CHILD_MAX; sh->next++) {
		const struct flow_window *w = &k->plan->windows.data[sh->next];
		struct stub_body bodies[FLOW_BODIES_MAX] = {0};
		struct stub_window sw = {.addr = w->addr,
					 .code = w->old,
					 .len = w->len,
					 .nins = w->nins,
					 .ins = w->ins,
					 .nbodies = w->nbodies,
					 .bodies = bodies,
					 .has_red_zone = w->has_red_zone,
					 .has_flags = w->has_flags,
					 .tail = w->tail.addr,
					 .tail_code = w->tail.old,
					 .tail_ins = w->tail.ins,
					 .tail_len = w->tail.len,
					 .tail_nins = w->tail.nins};
		struct steps_result r;

		for (uint32_t i = 0; i < w->nbodies; i++) {
			bodies[i].off = w->bodies[i].off;
			bodies[i].has_tail = w->bodies[i].has_tail;
		}
		if (k->part ? (w->addr >> 1) % k->part != 0 && !w->tail.len : !window_is_own(k, w))
			continue;
		steps_try(s, &sw, window_exit(k, w), k->states, w->addr, &r);
		sh->tried++;
		sh->skipped += r.is_skipped;
		sh->states += r.states;
		sh->faults += r.faults;
		sh->bodies += r.bodies;
		sh->tails += r.tails;
		if (r.why[0]) {
			if (sh->failed++ < REPORTS)
				window_print(w, r.why);
		}
	}
}

static void work_run(const struct work *k, struct shared *sh)
{
	while (sh->next < k->plan->windows.len) {
		pid_t child = fork();
		int status;

		if (!child) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			windows_try(k, sh);
			_exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) != child)
			BUG("cannot wait for the child");
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			continue;
		if (sh->failed++ < REPORTS)
			window_print(&k->plan->windows.data[sh->next], "it ends the process");
		sh->next++;
	}
}

struct collected {
	const struct flow *f;
	flow_sites sites;
	VEC(uint64_t) nops;
	taddr lo, hi;
};

static int by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Adds the file's own probes. */
static void nops_add(struct collected *c, struct gate_file *file)
{
	struct usdt_notes notes;
	struct gate_elf g;

	gate_elf_open(file, FILE_MAX, &g);
	usdt_notes_read(&g, &notes);
	gate_elf_close(&g);
	for (uint32_t i = 0; i < notes.list.len; i++) {
		vec_push(&c->sites, (struct flow_site){notes.list.data[i].pc, FLOW_NOP});
		vec_push(&c->nops, notes.list.data[i].pc);
	}
	if (c->nops.len)
		qsort(c->nops.data, c->nops.len, sizeof(*c->nops.data), by_address);
	usdt_notes_deinit(&notes);
}

static void function_add(void *ctx, uint64_t addr, uint64_t size)
{
	struct collected *c = ctx;
	struct flow_site entry = {.addr = addr, .kind = FLOW_ENTRY};

	c->lo = c->sites.len ? MIN(c->lo, addr) : addr;
	c->hi = MAX(c->hi, addr + size);
	vec_push(&c->sites, entry);
	flow_exits(c->f, addr, &c->sites);
}

static struct err *file_run(const char *path, uint32_t states, uint32_t part, uint32_t *ret_failed)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct shared *sh =
		mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct collected c = {0};
	struct flow_plan plan = {0};
	struct gate_file *file;
	struct work k;
	struct flow *f = NULL;
	struct err *e;

	if (fd < 0 || sh == MAP_FAILED)
		return err_sys(errno, "cannot open '%s'", path);
	file = gate_file_of(fd);
	e = flow_create(file, FILE_MAX, &f);
	if (!e) {
		c.f = f;
		flow_each(f, function_add, &c);
		nops_add(&c, file);
	}
	gate_file_close(file);
	if (e)
		return e;
	e = flow_plan(f, c.sites.data, c.sites.len,
		      &(struct flow_opts){.nops = c.nops.data, .nnops = c.nops.len}, &plan);
	if (!e) {
		k = (struct work){.plan = &plan,
				  .sites = c.sites.data,
				  .states = states,
				  .part = part,
				  .lo = c.lo,
				  .hi = c.hi + SLACK};
		work_run(&k, sh);
		printf("%s: %u windows, %u tried (%u left out), %u states, %u faults, "
		       "%u bodies, %u tails, %u failed\n",
		       path, plan.windows.len, sh->tried, sh->skipped, sh->states, sh->faults,
		       sh->bodies, sh->tails, sh->failed);
		*ret_failed = sh->failed + (sh->tried == 0);
	}
	flow_plan_deinit(&plan);
	vec_deinit(&c.sites);
	vec_deinit(&c.nops);
	flow_destroy(f);
	munmap(sh, sizeof(*sh));
	return e;
}

int main(int argc, char **argv)
{
	uint32_t failed = 0;
	struct err *e;

	if (argc < 2 || argc > 4) {
		fprintf(stderr, "usage: windows FILE [STATES [PART]]\n");
		return 2;
	}
	e = file_run(argv[1], argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 4,
		     argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1, &failed);
	if (e) {
		fprintf(stderr, "windows: %s\n", err_text(e));
		err_destroy(e);
		return 2;
	}
	return failed != 0;
}
