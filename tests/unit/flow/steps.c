/* SPDX-License-Identifier: MIT */
/*
 * What the processor says of the marks of libc: a child calls functions of it one instruction after
 * the other, and where control arrives that does not come from the instruction before must be
 * marked, and in no window.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <regex.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "files/gate.h"
#include "flow/impl.h"
#include "image/segments.h"
#include "target/maps.h"
#include "tap.h"

#define STEPS_MAX 60000

struct stepped {
	struct flow *f;
	taddr start, end;
	uint64_t bias;
	uint8_t *inside; /* a byte for each of the code: a jump of a window would be here */
	uint32_t narrivals, nunmarked, nlost, nentered, nsteps;
};

static int number_compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* What the child does. */
static void work(void)
{
	int numbers[] = {5, 3, 9, 1, 7, 2};
	char text[256], copy[256];
	struct tm tm = {.tm_year = 126, .tm_mday = 1};
	regmatch_t match[2];
	jmp_buf back;
	regex_t re;

	(void)snprintf(text, sizeof(text), "%5d|%-8s|%#llx|%.3f|%c|%%", 42, "left", 255ull, 1.5,
		       'c');
	qsort(numbers, ARRAY_LEN(numbers), sizeof(*numbers), number_compare);
	(void)sscanf("17 word 2.5", "%d %255s %*f", numbers, text);
	numbers[0] = (int)strtol("0x1f", NULL, 0) + (int)strtod("12.75e1", NULL);
	(void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &tm);
	for (size_t n = 1; n < sizeof(text); n += 37) {
		memmove(copy, text, n);
		(void)memcmp(copy, text, n);
		(void)memchr(copy, 'z', n);
	}
	(void)fnmatch("*.[ch]", "flow.c", FNM_PATHNAME);
	if (regcomp(&re, "a(b|c)*d", REG_EXTENDED) == 0) {
		(void)regexec(&re, "xabcbd", 2, match, 0);
		regfree(&re);
	}
	if (!setjmp(back))
		longjmp(back, 1);
	free(realloc(malloc(100), 5000));
}

/* Reads the libc of this process, and plans for all its entries and exits. */
static bool libc_read(struct stepped *s)
{
	uint64_t at = (uintptr_t)(void *)fnmatch;
	struct image_segments segments;
	const struct proc_map *m;
	struct proc_maps maps;
	struct gate_file *file;
	struct gate_elf g;
	struct err *e;
	int fd;

	if (proc_maps_read(getpid(), &maps))
		return false;
	m = proc_maps_find(&maps, at);
	fd = m ? open(m->path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return false;
	s->start = m->start;
	s->end = m->end;
	file = gate_file_of(fd);
	gate_elf_open(file, GATE_LIMIT_DEFAULT, &g);
	segments_read(&segments, g.elf);
	ok(segments_bias(&segments, m->start, m->off, true, &s->bias), "where libc is");
	gate_elf_close(&g);
	segments_deinit(&segments);
	e = flow_create(file, GATE_LIMIT_DEFAULT, &s->f);
	gate_file_close(file);
	(void)close(fd);
	proc_maps_deinit(&maps);
	ok(!e, "its code was read");
	return !e;
}

struct sites {
	const struct flow *f;
	flow_sites list;
};

static void sites_add(void *ctx, uint64_t addr, uint64_t size)
{
	struct sites *s = ctx;

	vec_push(&s->list, (struct flow_site){addr, FLOW_ENTRY});
	flow_exits(s->f, addr, &s->list);
}

static void windows_note(struct stepped *s)
{
	struct sites sites = {.f = s->f};
	struct flow_plan p;

	flow_each(s->f, sites_add, &sites);
	if (flow_plan(s->f, sites.list.data, sites.list.len, &(struct flow_opts){.at_entry = true},
		      &p))
		exit(1);
	s->inside = xcalloc(1, s->end - s->start);
	for (uint32_t i = 0; i < p.windows.len; i++) {
		const struct flow_window *w = &p.windows.data[i];
		uint64_t at = w->addr + s->bias - s->start;

		for (uint32_t k = 1; k < w->jump; k++)
			s->inside[at + k] = 1;
		for (uint32_t k = 0; w->pad && k < FLOW_JUMP; k++)
			s->inside[w->pad + s->bias - s->start + k] = 1;
	}
	ok(p.windows.len > 5000, "%u windows", p.windows.len);
	flow_plan_deinit(&p);
	vec_deinit(&sites.list);
}

/* Control is at pc, and was at the one before. */
static void step_check(struct stepped *s, uint64_t before, uint64_t pc)
{
	const struct flow_func *fn;
	uint8_t entry;

	s->nsteps++;
	if (pc < s->start || pc >= s->end || pc == before)
		return;
	if (before >= s->start && before < s->end) {
		entry = insn_at(s->f, before - s->bias);
		if (before + insn_size(entry) == pc)
			return;
		/* a virtual machine executes these for the processor, and the next one with them */
		if (memcmp(flow_code(s->f, before - s->bias, 2), "\x0f\xa2", 2) == 0)
			return;
	}
	s->narrivals++;
	s->nentered += s->inside[pc - s->start];
	s->nlost += !insn_at(s->f, pc - s->bias);
	fn = func_in(s->f->funcs.data, s->f->funcs.len, pc - s->bias);
	if (!is_marked(area_at(s->f, pc - s->bias), pc - s->bias) &&
	    !(fn && (fn->flags & FUNC_LOST)) && !s->nunmarked++)
		printf("# %#lx is not marked\n", (unsigned long)(pc - s->bias));
}

static void child_step(struct stepped *s, pid_t pid)
{
	struct user_regs_struct regs;
	uint64_t before;
	int status;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) != 0)
		return;
	before = regs.rip;

	for (uint32_t i = 0; i < STEPS_MAX; i++) {
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0 ||
		    waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
		    ptrace(PTRACE_GETREGS, pid, NULL, &regs) != 0)
			return;
		step_check(s, before, regs.rip);
		before = regs.rip;
	}
}

int main(void)
{
	struct stepped s = {0};
	int status = 0;
	pid_t pid;

	if (!libc_read(&s))
		return tap_done();
	windows_note(&s);
	pid = fork();
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(1);
		(void)raise(SIGSTOP);
		work();
		_exit(0);
	}
	if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		child_step(&s, pid);
		ok(s.narrivals > 1000, "%u steps, control arrived at %u places", s.nsteps,
		   s.narrivals);
		is_int(s.nlost, 0, "each of them an instruction");
		is_int(s.nunmarked, 0, "each of them marked");
		is_int(s.nentered, 0, "none of them in a window");
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, &status, 0);
	} else {
		ok(true, "nothing may be traced here # SKIP ptrace");
	}
	free(s.inside);
	flow_destroy(s.f);
	return tap_done();
}
