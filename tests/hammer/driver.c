/* SPDX-License-Identifier: MIT */
/*
 * Patches the entries and exits of all functions of a module in a running process, counts, takes
 * all of it back, and begins again.
 *
 * driver [-c CYCLES] [-t SECONDS] [-m MS] [-e] [-f] [-r] [-n THREADS] PID MODULE
 *   -c, -t  ends after so many cycles, or seconds
 *   -m      milliseconds that windows stay in place in a cycle
 *   -e      entries only
 *   -f      bodies call a function that counts, instead of counting themselves
 *   -r      bodies are relays, which such a function has execute their slots
 *   -n      threads that may be in a function when its windows come and go
 * Prints one line with what was done, and one for each function whose entries and returns differ by
 * more than the threads of all cycles, although all of its exits have windows.
 * Exit status: 0, 1 if such a function was found, 2 after an error, 3 if the process has ended.
 */
#include "arch/arch.h"
#include "files/gate.h"
#include "flow/flow.h"
#include "image/insn.h"
#include "patch/patch.h"
#include "patch/stub.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <signal.h>
#include <sys/rseq.h>
#include <time.h>

#define FILE_MAX   (1ull << 30)
#define MODULE_MAX (1ull << 30) /* bytes of memory */
#define STUB_ALIGN 16
#define CPUS_MAX   64
#define SHOWN	   20
#define RETRIES	   100
#define RETRY_MS   20

struct opts {
	pid_t pid;
	const char *module;
	uint32_t cycles, seconds, ms, threads;
	bool entries_only, calls, relays;
};

/* A function: its sites are sites[first..first + n), the first one its entry. */
struct function {
	taddr addr;
	uint64_t size;
	uint32_t first, n;
	bool is_whole; /* entry and all exits have windows, in each cycle */
};

struct module {
	char path[512];
	int64_t bias;
	taddr lo, hi; /* of its mappings */
	struct flow *flow;
	VEC(struct function) functions;
	flow_sites sites;
	struct flow_plan plan;
};

static atomic_int interrupted;

static void interrupt_note(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* ---- the module ------------------------------------------------------------------------------ */

/* The distance of the executable mapping at start, of the file from off on, from its addresses. */
static bool bias_find(int fd, taddr start, uint64_t off, int64_t *ret)
{
	Elf *elf;
	GElf_Phdr ph;
	size_t n = 0;
	bool found = false;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_getphdrnum(elf, &n) < 0)
		n = 0;
	for (size_t i = 0; i < n && !found; i++) {
		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
		    !(ph.p_flags & PF_X) || (ph.p_offset & ~0xfffull) != off)
			continue;
		*ret = (int64_t)(start - (ph.p_vaddr & ~0xfffull));
		found = true;
	}
	elf_end(elf);
	return found;
}

/*
 * Finds the mappings of the first file whose path contains the name. Returns a descriptor of it.
 * Node.js maps a part of its file again, far away: that is left out.
 */
static struct err *module_find(const struct opts *o, struct module *m, int *ret_fd)
{
	char name[64], line[1024], code[128] = "";
	CLEANUP(file) FILE *f = NULL;
	taddr code_start = 0;
	uint64_t code_off = 0;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/maps", o->pid);
	f = fopen(name, "re");
	if (!f)
		return err_sys(errno, "cannot open '%s'", name);
	while (fgets(line, sizeof(line), f)) {
		unsigned long lo, hi, off;
		char perms[8], path[512] = "";

		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %511[^\n]", &lo, &hi, perms, &off, path) <
			    5 ||
		    path[0] != '/' || !strstr(path, o->module) ||
		    (m->path[0] && strcmp(m->path, path) != 0) ||
		    (m->lo && lo - m->lo > MODULE_MAX))
			continue;
		memcpy(m->path, path, sizeof(path));
		m->lo = m->lo ? m->lo : lo;
		m->hi = hi;
		if (perms[2] == 'x' && !code[0]) {
			snprintf(code, sizeof(code), "/proc/%d/map_files/%lx-%lx", o->pid, lo, hi);
			code_start = lo;
			code_off = off;
		}
	}
	if (!code[0])
		return err_new("process %d maps no code of '%s'", o->pid, o->module);
	fd = open(code, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(errno, "cannot open '%s'", code);
	if (!bias_find(fd, code_start, code_off, &m->bias)) {
		close(fd);
		return err_new("'%s' has no segment of the code in memory", m->path);
	}
	*ret_fd = fd;
	return NULL;
}

/* Whether flow_exits() has all ways out of the function. */
static bool function_is_closed(const struct flow *f, const struct function *fn, uint32_t nexits)
{
	const uint8_t *code =
		fn->size <= UINT32_MAX ? flow_code(f, fn->addr, (uint32_t)fn->size) : NULL;
	struct insns s;
	uint32_t n = 0;
	bool closed = code != NULL;

	if (!code)
		return false;
	insns_decode(code, (uint32_t)fn->size, false, &s);
	closed = s.list.len != 0 && !s.is_partial;
	for (uint32_t i = 0; i < s.list.len; i++) {
		const struct insn *in = &s.list.data[i];
		bool outside = in->target < 0 || (uint64_t)in->target >= fn->size;

		switch (in->kind) {
		case INSN_RET: n++; break;
		case INSN_JMP: n += outside; break;
		case INSN_JCC: closed = closed && !outside; break;
		case INSN_JMP_TAIL:
		case INSN_JMP_TABLE: closed = false; break;
		case INSN_PLAIN:
		case INSN_NOP5:
		case INSN_STOP: break;
		}
	}
	insns_deinit(&s);
	return closed && n == nexits;
}

struct collecting {
	struct module *m;
	const struct opts *o;
};

static void function_add(void *ctx, uint64_t addr, uint64_t size)
{
	struct collecting *c = ctx;
	struct module *m = c->m;
	struct function fn = {.addr = addr, .size = size, .first = m->sites.len};

	vec_push(&m->sites, (struct flow_site){.addr = addr, .kind = FLOW_ENTRY});
	if (!c->o->entries_only)
		flow_exits(m->flow, addr, &m->sites);
	fn.n = m->sites.len - fn.first;
	vec_push(&m->functions, fn);
}

static struct err *module_plan(const struct opts *o, struct module *m)
{
	struct collecting c = {.m = m, .o = o};
	CLEANUP(fd) int fd = -1;
	struct gate_file *file;
	struct err *e = module_find(o, m, &fd);

	if (e)
		return e;
	file = gate_file_of(fd);
	e = flow_create(file, FILE_MAX, &m->flow);
	gate_file_close(file);
	if (e)
		return e;
	flow_each(m->flow, function_add, &c);
	e = flow_plan(m->flow, m->sites.data, m->sites.len, NULL, &m->plan);
	if (e)
		return e;
	for (uint32_t i = 0; i < m->functions.len; i++) {
		struct function *fn = &m->functions.data[i];

		fn->is_whole = fn->n > 1 && function_is_closed(m->flow, fn, fn->n - 1);
		for (uint32_t k = 0; k < fn->n; k++)
			if (m->plan.lacks[fn->first + k] != FLOW_FITS)
				fn->is_whole = false;
	}
	return NULL;
}

/* ---- stubs and counters ---------------------------------------------------------------------- */

/* Counters: one word a site and CPU, those of a CPU 1 << shift bytes. */
struct counters {
	uint8_t shift;
	uint32_t ncpus; /* a power of 2 */
};

static struct counters counters_size(const struct module *m)
{
	struct counters c = {.shift = 12, .ncpus = 1};

	while ((1ull << c.shift) < m->sites.len * 8ull)
		c.shift++;
	while (c.ncpus < CPUS_MAX && c.ncpus < (uint32_t)sysconf(_SC_NPROCESSORS_CONF))
		c.ncpus *= 2;
	return c;
}

/*
 * lock incq counters(,%rsi,8), without an absolute address: the function of -f and -r. It returns
 * the address of the counters, which relays take for true.
 */
static uint32_t func_write(uint8_t *buf, taddr at, taddr counters)
{
	uint8_t code[] = {0x48, 0x8d, 0x05, 0,	  0,	0, 0, /* lea counters(%rip), %rax */
			  0x89, 0xf6,			      /* mov %esi, %esi */
			  0xf0, 0x48, 0xff, 0x04, 0xf0,	      /* lock incq (%rax,%rsi,8) */
			  0xb9, 0xff, 0xff, 0xff, 0xff,	      /* mov $-1, %ecx */
			  0xf7, 0xd9,			      /* neg %ecx: the flags are others */
			  0xc3};
	int32_t d = (int32_t)(counters - (at + 7));

	memcpy(code + 3, &d, 4);
	memcpy(buf, code, sizeof(code));
	return ROUND_UP((uint32_t)sizeof(code), STUB_ALIGN);
}

struct made {
	VEC(struct patch_window) windows;
	VEC(uint32_t) plans; /* by window: its index in the plan */
	uint32_t nrefused;
	uint64_t size;
	uint8_t *slots; /* of -r: one a site */
};

static void reason_print(const struct flow_window *w, const char *why)
{
	printf("no stub at %#lx:", (unsigned long)w->addr);
	for (uint32_t i = 0; i < w->len; i++)
		printf(" %02x", w->old[i]);
	printf(": %s\n", why);
}

static struct stub_body body_make(const struct opts *o, const struct module *m, struct patch *p,
				  const struct flow_window *w, uint32_t site)
{
	const struct flow_site *fs = &m->sites.data[site];
	struct stub_body b = {
		.kind = o->relays  ? STUB_RELAY
			: o->calls ? STUB_CALL
				   : STUB_COUNT,
		.is_exit = fs->kind == FLOW_EXIT,
		.counter = patch_data_addr(p) + site * 8ull,
		.func = patch_code_addr(p),
		.site = site,
		/* rax and rcx, and any others */
		.destroys = 3u << 10 | (site * 0x9e3779b1u >> 17),
		.reads = site * 0x85ebca77u >> 14,
		.pc = fs->addr + (uint64_t)m->bias,
	};

	if (o->relays) {
		b.slot = patch_relays_addr(p) + (uint64_t)site * STUB_SLOT_SIZE;
		b.pushed = fs->kind == FLOW_ENTRY ? w->pushed : 0;
	}
	return b;
}

/* Makes the slots of the window's bodies; false: one is too far from the stub. */
static bool slots_make(const struct flow_window *w, const struct stub_body *bodies,
		       const struct stub *s, taddr code, struct made *made)
{
	for (uint32_t k = 0; k < w->nbodies; k++)
		if (!arch.stubs->slot_make(bodies[k].slot, code + s->goes_on[k],
					   made->slots + (uint64_t)bodies[k].site * STUB_SLOT_SIZE))
			return false;
	return true;
}

static struct err *stubs_make(const struct opts *o, struct module *m, struct patch *p,
			      const struct counters *c, struct made *made)
{
	struct stub_env env = {.switch_addr = patch_switch_addr(p),
			       .cpu_mask = c->ncpus - 1,
			       .cpu_shift = c->shift};
	uint64_t size = patch_code_size(p);
	CLEANUP(free) uint8_t *code = xmalloc(size);
	taddr base = patch_code_addr(p), counters = patch_data_addr(p);
	int64_t rseq;

	env.cpu = STUB_CPU_THREAD;
	if (patch_rseq_offset(p, &rseq)) {
		env.cpu = STUB_CPU_RSEQ;
		env.rseq_cpu = (int32_t)rseq;
	}
	memset(code, 0xcc, size);
	made->size = func_write(code, base, counters);
	for (uint32_t i = 0; i < m->plan.windows.len; i++) {
		const struct flow_window *w = &m->plan.windows.data[i];
		struct stub_body bodies[FLOW_BODIES_MAX];
		struct patch_window pw;
		struct stub s;
		const char *why;

		for (uint32_t k = 0; k < w->nbodies; k++)
			bodies[k] = body_make(o, m, p, w, w->bodies[k].site);
		if (made->size + STUB_SIZE_MAX > size)
			return err_new("the stubs do not fit into %lu bytes", (unsigned long)size);
		env.code = base + made->size;
		why = stub_make(w, m->bias, &env, bodies, code + made->size, STUB_SIZE_MAX, &s);
		if (why) {
			if (made->nrefused++ < SHOWN)
				reason_print(w, why);
			continue;
		}
		if (o->relays && !slots_make(w, bodies, &s, env.code, made))
			return err_new("a slot is too far from its stub");
		stub_window(w, m->bias, &s, env.code, &pw);
		vec_push(&made->windows, pw);
		vec_push(&made->plans, i);
		made->size += ROUND_UP((uint64_t)s.size, STUB_ALIGN);
	}
	if (o->relays) {
		struct err *e =
			patch_relays_write(p, made->slots, (size_t)m->sites.len * STUB_SLOT_SIZE);

		if (e)
			return e;
	}
	return patch_code_write(p, 0, code, made->size);
}

/* ---- cycles ---------------------------------------------------------------------------------- */

struct totals {
	uint32_t cycles, nshown;
	uint32_t retries, row; /* stops that were tried again; of them in a row */
	uint32_t states[PATCH_BEYOND + 1];
	double write_ms, write_max_ms, back_ms, back_max_ms;
};

static double now_ms(void)
{
	return (double)now_ns() / 1e6;
}

/*
 * A thread that waits for a child of vfork() cannot be stopped, and one that waits for a CPU takes
 * its time: such a failure is tried again.
 */
static bool is_over(struct err **e, struct patch *p, struct totals *t)
{
	struct timespec pause = {.tv_nsec = RETRY_MS * 1000000};

	if (!*e || (p && patch_is_gone(p)) || ++t->row > RETRIES)
		return true;
	t->retries++;
	if (getenv("HAMMER_VERBOSE"))
		fprintf(stderr, "driver: again: %s\n", err_text(*e));
	err_destroy(*e);
	*e = NULL;
	nanosleep(&pause, NULL);
	return false;
}

/* A site of the function had no window for a while: its entries and returns may differ. */
static void function_part(struct module *m, uint32_t site)
{
	uint32_t lo = 0, hi = m->functions.len;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (m->functions.data[mid].first <= site)
			lo = mid + 1;
		else
			hi = mid;
	}
	m->functions.data[lo - 1].is_whole = false;
}

static void states_count(const struct made *made, const enum patch_state *states, struct module *m,
			 struct totals *t)
{
	for (uint32_t i = 0; i < made->windows.len; i++) {
		taddr addr = made->windows.data[i].addr - (uint64_t)m->bias;
		const struct flow_window *w = &m->plan.windows.data[made->plans.data[i]];

		t->states[states[i]]++;
		if (states[i] != PATCH_IN && !t->cycles && t->nshown++ < SHOWN)
			printf("state %d: %#lx\n", states[i], (unsigned long)addr);
		for (uint32_t k = 0; states[i] != PATCH_IN && k < w->nbodies; k++)
			function_part(m, w->bodies[k].site);
	}
}

static void time_add(double begin, double *sum, double *max)
{
	double ms = now_ms() - begin;

	*sum += ms;
	*max = MAX(*max, ms);
}

static struct err *cycle_run(const struct opts *o, struct patch *p, const struct made *made,
			     struct module *m, enum patch_state *states, struct totals *t)
{
	struct timespec pause = {.tv_sec = o->ms / 1000, .tv_nsec = o->ms % 1000 * 1000000};
	double begin = now_ms();
	struct err *e;

	t->row = 0;
	do {
		e = patch_write(p, made->windows.data, made->windows.len, &interrupted, states);
		if (e) /* some may be in place, and would have other bytes than the file */
			err_destroy(patch_take_back_all(p));
	} while (!is_over(&e, p, t));
	if (e)
		return e;
	time_add(begin, &t->write_ms, &t->write_max_ms);
	states_count(made, states, m, t);
	/* Windows are written in batches: only now all of them are in place. */
	e = patch_switch(p, true);
	if (e)
		return e;
	nanosleep(&pause, NULL);
	e = patch_switch(p, false);
	if (e)
		return e;
	begin = now_ms();
	t->row = 0;
	do
		e = patch_take_back_all(p);
	while (!is_over(&e, p, t));
	if (e)
		return e;
	time_add(begin, &t->back_ms, &t->back_max_ms);
	t->cycles++;
	return NULL;
}

static struct err *cycles_run(const struct opts *o, struct patch *p, const struct made *made,
			      struct module *m, struct totals *t)
{
	CLEANUP(free) enum patch_state *states = xcalloc(made->windows.len + 1, sizeof(*states));
	double end = now_ms() + o->seconds * 1e3;

	while (!interrupted && !patch_is_gone(p) && (!o->cycles || t->cycles < o->cycles) &&
	       (!o->seconds || now_ms() < end)) {
		struct err *e = cycle_run(o, p, made, m, states, t);

		if (e)
			return patch_is_gone(p) ? (err_destroy(e), NULL) : e;
	}
	return NULL;
}

static uint64_t counter_read(struct patch *p, const struct counters *c, uint32_t site)
{
	uint64_t sum = 0, v;

	for (uint32_t cpu = 0; cpu < c->ncpus; cpu++)
		if (patch_data_read(p, ((uint64_t)cpu << c->shift) + site * 8ull, &v, 8))
			sum += v;
	return sum;
}

static bool balance_print(const struct opts *o, const struct module *m, struct patch *p,
			  const struct counters *c, const struct totals *t, const struct made *made)
{
	uint64_t entries = 0, exits = 0, allowed = (uint64_t)o->threads * (t->cycles + 1);
	uint32_t hit = 0, equal = 0, unequal = 0;

	for (uint32_t i = 0; i < m->functions.len; i++) {
		const struct function *fn = &m->functions.data[i];
		uint64_t in = counter_read(p, c, fn->first), out = 0;

		for (uint32_t k = 1; k < fn->n; k++)
			out += counter_read(p, c, fn->first + k);
		entries += in;
		exits += out;
		hit += in || out;
		if (!fn->is_whole || !(in || out))
			continue;
		if ((in > out ? in - out : out - in) <= allowed) {
			equal++;
			continue;
		}
		if (unequal++ < SHOWN)
			printf("differs: %#lx: %lu entries, %lu returns\n", (unsigned long)fn->addr,
			       (unsigned long)in, (unsigned long)out);
	}
	printf("%s: %u functions, %u windows (%u without a stub, %lu KiB), %u cycles; "
	       "in %u, held %u, differs %u, refused %u, beyond %u; write %.1f ms (most %.1f), "
	       "back %.1f (%.1f), %u stops again; %lu entries, %lu returns in %u functions; "
	       "equal %u, not %u%s\n",
	       m->path, m->functions.len, made->windows.len, made->nrefused,
	       (unsigned long)made->size >> 10, t->cycles, t->states[PATCH_IN],
	       t->states[PATCH_HELD], t->states[PATCH_DIFFERS], t->states[PATCH_REFUSED],
	       t->states[PATCH_BEYOND], t->write_ms / MAX(t->cycles, 1u), t->write_max_ms,
	       t->back_ms / MAX(t->cycles, 1u), t->back_max_ms, t->retries, (unsigned long)entries,
	       (unsigned long)exits, hit, equal, unequal,
	       patch_is_gone(p) ? "; the process has ended" : "");
	return unequal == 0;
}

static struct err *hammer_run(const struct opts *o, int *ret_status)
{
	struct module m = {0};
	struct patch *p = NULL;
	struct made made = {0};
	struct totals t = {0};
	struct patch_opts po;
	struct counters c;
	struct gate *gate = gate_create();
	struct err *e = module_plan(o, &m);

	if (e)
		goto out;
	c = counters_size(&m);
	po = (struct patch_opts){
		.near_lo = m.lo,
		.near_hi = m.hi,
		.code_size = m.plan.windows.len * (o->relays  ? 384ull
						   : o->calls ? 256ull
							      : 160ull) +
			     65536,
		.slots = o->relays ? m.sites.len : 0,
		.data_size = (uint64_t)c.ncpus << c.shift,
		.windows = m.plan.windows.len,
		.gate = gate,
	};
	do
		e = patch_open(o->pid, &po, &p);
	while (!is_over(&e, p, &t));
	if (!e && patch_relays_lack(p))
		e = err_new("no relays: %s", patch_relays_lack(p));
	if (e)
		goto out;
	made.slots = xcalloc(MAX(m.sites.len, 1u), STUB_SLOT_SIZE);
	e = stubs_make(o, &m, p, &c, &made);
	if (!e)
		e = cycles_run(o, p, &made, &m, &t);
	if (!e) {
		*ret_status = balance_print(o, &m, p, &c, &t, &made) ? 0 : 1;
		if (patch_is_gone(p))
			*ret_status = 3;
	}
out:
	patch_close(p);
	gate_destroy(gate);
	flow_plan_deinit(&m.plan);
	flow_destroy(m.flow);
	vec_deinit(&m.functions);
	vec_deinit(&m.sites);
	vec_deinit(&made.windows);
	vec_deinit(&made.plans);
	free(made.slots);
	return e;
}

int main(int argc, char **argv)
{
	struct opts o = {.ms = 50, .threads = 8};
	int status = 2, c;
	struct err *e;

	while ((c = getopt(argc, argv, "c:t:m:n:efr")) != -1) {
		uint32_t n = optarg ? (uint32_t)strtoul(optarg, NULL, 10) : 0;

		switch (c) {
		case 'c': o.cycles = n; break;
		case 't': o.seconds = n; break;
		case 'm': o.ms = n; break;
		case 'n': o.threads = n; break;
		case 'e': o.entries_only = true; break;
		case 'f': o.calls = true; break;
		case 'r': o.relays = true; break;
		default: return 2;
		}
	}
	if (argc - optind != 2) {
		fprintf(stderr, "usage: driver [options] PID MODULE\n");
		return 2;
	}
	if (!o.cycles && !o.seconds)
		o.cycles = 1;
	o.pid = (pid_t)strtol(argv[optind], NULL, 10);
	o.module = argv[optind + 1];
	signal(SIGINT, interrupt_note);
	signal(SIGTERM, interrupt_note);
	e = hammer_run(&o, &status);
	if (e) {
		fprintf(stderr, "driver: %s\n", err_text(e));
		err_destroy(e);
		return 2;
	}
	return status;
}
