/* SPDX-License-Identifier: MIT */
/*
 * Property: for random expressions, the kernel, the DIF interpreter and machine code in this
 * process give the same value, or the same fault at the same place.
 *
 * Expressions are built with types in mind (numbers and strings), so that most of them do
 * something: all arithmetic, comparisons and control flow, variables of all scopes, arrays, scratch
 * memory, loads of user and kernel memory good and bad, every subroutine in the kernel. A batch of
 * clauses, one expression each, is one program run once; the interpreter runs the same expressions
 * in the same order. Every third batch has only what the compiler to machine code takes
 * (src/native), and runs there, too.
 *
 * Usage: kernel_vs_interp [SEED [ROUNDS]]; a failure names the seed of its round and prints the
 * DIFO.
 */
#include "../unit/tap.h"

#include "exprs.h"
#ifdef __x86_64__
#include "../unit/native/run.h"
#else
struct nrun;
#endif
#include "dif/interp.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#define BATCH 40

/* ---- the interpreter's surroundings --------------------------------------------------------- */

static struct dif_machine *machine;

static bool load_kernel(void *ctx, uint64_t addr, void *buf, uint32_t size)
{
	(void)ctx, (void)addr, (void)buf, (void)size;
	return false;
}

static bool load_user(void *ctx, uint64_t addr, void *buf, uint32_t size)
{
	uint64_t base = (uintptr_t)user;

	(void)ctx;
	if (addr < base || addr - base > USER_SIZE || size > USER_SIZE - (addr - base))
		return false;
	memcpy(buf, user + (addr - base), size);
	return true;
}

/* This process and its ancestors, as /proc has them. */
static bool progenyof(void *ctx, int32_t pid)
{
	long p = getpid(), up;

	(void)ctx;
	for (; p > 0 && p != pid; p = up) {
		CLEANUP(file) FILE *f = NULL;
		char path[64];

		(void)snprintf(path, sizeof(path), "/proc/%ld/stat", p);
		f = fopen(path, "re");
		up = 0;
		if (!f || fscanf(f, "%*d (%*[^)]) %*c %ld", &up) != 1)
			break;
	}
	return p == pid; /* the first process is its own parent's child: pid 0 */
}

static char comm[17];

static enum dif_fault builtin(void *ctx, uint32_t id, uint64_t index, uint64_t *ret)
{
	(void)ctx, (void)index;
	switch (id) {
	case DIF_VAR_PID: *ret = (uint64_t)getpid(); break;
	case DIF_VAR_TID: *ret = (uint64_t)syscall(SYS_gettid); break;
	case DIF_VAR_UID: *ret = getuid(); break;
	case DIF_VAR_GID: *ret = getgid(); break;
	case DIF_VAR_ID: *ret = 100; break;
	case DIF_VAR_EXECNAME: *ret = dif_machine_string(machine, comm); break;
	case DIF_VAR_ZONENAME: *ret = 0; return DIF_FAULT_ILLOP;
	default: *ret = 0;
	}
	return DIF_FAULT_NONE;
}

/* ---- comparing ------------------------------------------------------------------------------ */

static bool is_own_address(uint64_t v)
{
	return v > UINT32_MAX && v - (uintptr_t)user > USER_SIZE + 64;
}

static bool check_fault(const struct rt_rec *rec, const struct dif_result *want, uint32_t clause)
{
	const struct rt_rec_fault *f = (const struct rt_rec_fault *)(const void *)rec;

	if (rec->clause != RT_REC_FAULT || f->fault.clause != clause) {
		printf("# no fault, want kind %d at %u\n", want->fault, want->offset);
		return false;
	}
	if (f->fault.kind != want->fault || f->fault.offset != (int)want->offset ||
	    f->fault.action != 1 ||
	    (!is_own_address(want->fault_value) && f->fault.value != want->fault_value)) {
		printf("# fault kind %u at %d of action %u value 0x%llx, want kind %d at %u value "
		       "0x%llx\n",
		       f->fault.kind, f->fault.offset, f->fault.action,
		       (unsigned long long)f->fault.value, want->fault, want->offset,
		       (unsigned long long)want->fault_value);
		return false;
	}
	return true;
}

static bool check_string(const struct rt_rec *rec, const struct rec_field *f, uint64_t want)
{
	char text[STRSIZE] = "";
	struct rt_str s;
	uint32_t len;

	if (f->kind == REC_COMM)
		return strcmp((const char *)rec + f->off, comm) == 0;
	if (f->kind == REC_STRID)
		return true; /* known when the layout is made */
	memcpy(&s, (const char *)rec + f->off, sizeof(s));
	if (s.len == UINT32_MAX || !want) {
		if (s.len != UINT32_MAX || want)
			printf("# length 0x%x, want a text at 0x%llx\n", s.len,
			       (unsigned long long)want);
		return s.len == UINT32_MAX && !want;
	}
	if (!dif_machine_text(machine, want, text, &len) || len != s.len ||
	    memcmp((const char *)rec + s.off, text, len) != 0) {
		printf("# text '%.*s', want '%s'\n", (int)s.len, (const char *)rec + s.off, text);
		return false;
	}
	return true;
}

/* A string that cannot be read when it is recorded is a fault without offset. */
static bool is_unreadable(const struct rec_field *f, uint64_t addr)
{
	char text[STRSIZE];
	uint32_t len;

	return f->kind == REC_STR && addr && !dif_machine_text(machine, addr, text, &len);
}

/*
 * After a store that cannot read what it should copy, the variable is the old one here, empty
 * there: the rest of the round says nothing.
 */
static bool is_store_fault(const struct difo *d, const struct dif_result *r)
{
	enum dif_op op = DIF_INSN_OP(d->code[r->offset / sizeof(dif_insn)]);

	return r->fault && (dif_op_form(op) == DIF_FORM_STV);
}

/* Whether the record of an engine is what the interpreter says. */
static bool check_record(struct gx *x, const struct difo *d, uint32_t clause,
			 const struct rt_rec *rec, struct dif_result want)
{
	const struct clause_layout *cl = &x->layout->clauses[clause];
	const struct rec_field *f = &cl->acts[0].fields[0];
	int64_t got;

	if (!rec) {
		printf("# no record\n");
		return false;
	}
	if (want.fault)
		return check_fault(rec, &want, clause);
	if (is_unreadable(f, want.value)) {
		want = (struct dif_result){.fault = DIF_FAULT_BADADDR,
					   .fault_value = want.value,
					   .offset = (uint32_t)-1};
		return check_fault(rec, &want, clause);
	}
	if (rec->clause != clause) {
		const struct rt_rec_fault *rf = (const struct rt_rec_fault *)(const void *)rec;

		printf("# record of clause %u kind %u offset %d\n", rec->clause, rf->fault.kind,
		       rf->fault.offset);
		return false;
	}
	if (d->ret.kind == DIF_KIND_STRING)
		return check_string(rec, f, want.value);
	memcpy(&got, (const char *)rec + f->off, 8);
	if ((uint64_t)got != want.value)
		printf("# value 0x%llx, want 0x%llx\n", (unsigned long long)got,
		       (unsigned long long)want.value);
	return (uint64_t)got == want.value;
}

static bool check_one(struct gx *x, struct nrun *const native[2], const struct difo *d,
		      uint32_t clause, bool *ret_stop)
{
	const struct rt_rec *rec = gx_record(x, NULL);
	struct dif_result want;

	dif_machine_begin_clause(machine);
	want = dif_run(machine, d);
	*ret_stop = is_store_fault(d, &want);
	if (!check_record(x, d, clause, rec, want))
		return false;
#ifdef __x86_64__
	for (uint32_t k = 0; k < 2 && native[k]; k++)
		if (!check_record(x, d, clause, nrun_record(native[k], NULL), want)) {
			printf("# of machine code in the process%s\n", k ? ", shuffled" : "");
			return false;
		}
#endif
	return true;
}

/* ---- the clauses as machine code ------------------------------------------------------------- */

#ifdef __x86_64__
/* Fires the clauses of the unit once, at the entry of a function whose arguments are 0. */
static struct nrun *native_run(struct gx *x, const struct unit *u, uint32_t shuffle)
{
	static const struct native_site site;
	static const struct native_frame frame;
	struct nrun_opts opts = {.shuffle = shuffle};
	static struct unit nu;
	struct nrun *r;
	struct err *e;

	nu = *u;
	nu.place.kind = PLACE_UPROBE;
	nu.probes[0].spot = SPOT_ENTRY;
	r = nrun_create(x->layout, &nu, &site, 1, &opts, &e);
	if (!r) {
		printf("Bail out! %s\n", err_text(e));
		exit(1);
	}
	nrun_fire(r, 0, &frame);
	if (!r->has_saved_all || r->stack_used > NATIVE_STACK_MAX) {
		printf("Bail out! %u bytes of stack, vector registers %s\n", r->stack_used,
		       r->has_saved_all ? "kept" : "changed");
		exit(1);
	}
	return r;
}
#else
static struct nrun *native_run(struct gx *x, const struct unit *u, uint32_t shuffle)
{
	return NULL;
}

static void nrun_destroy(struct nrun *r)
{
}
#endif

/* ---- rounds --------------------------------------------------------------------------------- */

static void print_difo(const struct difo *d)
{
	struct strbuf out = {0};
	char *line, *save = NULL, *text;

	difo_print(d, &out);
	text = xstrdup(strbuf_text(&out));
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		printf("# %s\n", line);
	free(text);
	strbuf_deinit(&out);
}

/* Every subroutine that both sides have is called, or there is a reason. */
static void test_coverage(void)
{
	for (uint32_t s = 0; dif_subr_name(s); s++) {
		bool is_covered = false;

		for (uint32_t i = 0; i < ARRAY_LEN(calls) && dif_subr_is_interpreted(s); i++)
			is_covered |= calls[i].subr == s;
		for (uint32_t i = 0; i < ARRAY_LEN(memory_calls); i++)
			is_covered |= memory_calls[i] == s;
		for (uint32_t i = 0; i < ARRAY_LEN(not_compared); i++)
			is_covered |= not_compared[i].subr == s;
		ok(is_covered, "%s is compared, or has a test of its own", dif_subr_name(s));
	}
}

static void test_frequency(void)
{
	for (uint32_t s = 0; dif_subr_name(s); s++) {
		bool is_other = false;

		for (uint32_t i = 0; i < ARRAY_LEN(not_compared); i++)
			is_other |= not_compared[i].subr == s;
		if (!is_other)
			ok(ncalls[s] >= 5, "%s was called in %u places", dif_subr_name(s),
			   ncalls[s]);
	}
}

static uint32_t run_round(uint64_t seed)
{
	struct gx *x = gx_create();
	struct exprs e = {.x = x};
	struct difo *difos[BATCH];
	uint32_t failed = 0;
	bool stop = false;
	struct dif_env env = dif_env_none;
	struct dif_machine_opts mopts = {.strsize = STRSIZE, .scratch_size = 1 << 20};
	struct nrun *native[2] = {NULL, NULL};
	struct unit u;
	struct err *err;

	rng = seed * 0x9e3779b97f4a7c15ull + 1;
	x->opts.strsize = STRSIZE;
	x->shuffle = rnd(3) ? 0 : 1 + rnd(1000);
	e.is_native = seed % 3 == 0;
	make_variables(&e);
	for (uint32_t i = 0; i < BATCH; i++) {
		bool is_string = rnd(4) == 0 && !e.is_native;
		struct prog_clause *c = gx_clause(x, 1);

		difos[i] = random_difo(&e, is_string);
		err = difo_verify(difos[i], DIF_MAX_REGS);
		if (err) {
			print_difo(difos[i]);
			printf("Bail out! invalid DIF: %s\n", err_text(err));
			exit(1);
		}
		gx_act(x, c, ACT_TRACE, difos[i], is_string ? DATUM_STRING : DATUM_INT);
	}
	gx_finish(x);
	u = gx_unit(x, PLACE_TEST_RUN, 0, BATCH);
	gx_probe(x, &u, 0);
	gx_run(x, gx_load(x, &u), 0);
	for (uint32_t k = 0; k < 2 && e.is_native; k++)
		native[k] = native_run(x, &u, k ? 1 + rnd(1000) : 0);

	env.load_kernel = load_kernel;
	env.load_user = load_user;
	env.progenyof = progenyof;
	env.builtin = builtin;
	machine = dif_machine_create(&env, &mopts);
	dif_machine_begin_firing(machine, 1);
	for (uint32_t i = 0; i < BATCH && !failed && !stop; i++) {
		if (check_one(x, native, difos[i], i, &stop))
			continue;
		failed++;
		printf("# seed %llu clause %u shuffle %u\n", (unsigned long long)seed, i,
		       x->shuffle);
		print_difo(difos[i]);
	}
	dif_machine_destroy(machine);
	for (uint32_t k = 0; k < 2 && native[k]; k++)
		nrun_destroy(native[k]);
	gx_destroy(x);
	return failed;
}

static void make_user_memory(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED || mprotect(p + page, (size_t)page, PROT_NONE))
		exit(1);
	user = p + page - USER_SIZE;
	rng = 42;
	for (uint32_t i = 0; i < USER_SIZE; i++)
		user[i] = rnd(6) ? "/.a,bc0129x "[rnd(12)] : (char)(rnd(2) ? 0 : rnd(256));
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint64_t rounds = argc > 2 ? strtoull(argv[2], NULL, 0) : argc > 1 ? 1 : 60;
	CLEANUP(file) FILE *f = fopen("/proc/self/comm", "re");
	uint32_t failed = 0;

	gx_skip();
	if (!f || fscanf(f, "%16[^\n]", comm) != 1)
		return 1;
	make_user_memory();
	test_coverage();
	for (uint64_t i = 0; i < rounds && failed < 3; i++)
		failed += run_round(seed + i);
	ok(failed == 0, "%llu random expressions", (unsigned long long)rounds * BATCH);
	if (rounds >= 60)
		test_frequency();
	return tap_done();
}
