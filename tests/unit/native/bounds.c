/* SPDX-License-Identifier: MIT */
/*
 * What machine code in a process may do (native.h): its instructions, its stack, threads and signal
 * handlers in the middle of it; and which clauses are taken at all. Prints what a firing costs.
 */
#include "tap.h"

#include "prog.h"

#include <Zydis/Zydis.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

/* ---- instructions ---------------------------------------------------------------------------- */

/* A program with everything that there is code for. */
static const char everything[] =
	"int g; int a[int, string]; self int s; self char c[int];\n"
	"pid1:a.out:f:entry /arg0 > 3 && probefunc != \"x\"/ { this->x = arg1 / arg2 + (arg3 % 7); "
	"g = this->x << (arg4 & 3); self->s = g * 3; a[g, probefunc] = 1; self->c[1] = 2; "
	"@c = count(); @s[arg0] = sum(g); @v[tid, probefunc] = avg(arg1); @d = stddev(arg0); "
	"@i = min(arg0); @x[cpu] = max(arg1); @q[probename] = quantize(arg0, arg1); "
	"@l = lquantize(arg0, 0, 100, 7); @n = llquantize(arg0, 10, 0, 6, 20); "
	"printf(\"%d %d %s\", arg0, timestamp, probemod); if (arg1) { trace(~arg1); } else { "
	"trace(a[1, \"y\"] + self->c[1]); } trace(ucaller); trace(uregs[3]); "
	"trace(htonl(arg0)); }\n"
	"pid1:a.out:f:return { trace(arg1 - self->s); @[ufunc(ucaller)] = count(); exit(arg0); }";

static bool is_general(ZydisRegister r)
{
	ZydisRegisterClass c = ZydisRegisterGetClass(r);

	return r == ZYDIS_REGISTER_NONE || c == ZYDIS_REGCLASS_GPR8 || c == ZYDIS_REGCLASS_GPR16 ||
	       c == ZYDIS_REGCLASS_GPR32 || c == ZYDIS_REGCLASS_GPR64 ||
	       c == ZYDIS_REGCLASS_FLAGS || c == ZYDIS_REGCLASS_IP;
}

/*
 * Addresses begin at the stack, the frame, the data part, a row, the code itself, or a value that a
 * function of the blob has found (rax, rcx, rsi); or in the thread block.
 */
static bool is_allowed_base(const ZydisDecodedOperand *o)
{
	switch ((int)o->mem.base) {
	case ZYDIS_REGISTER_RSP:
	case ZYDIS_REGISTER_R13:
	case ZYDIS_REGISTER_R14:
	case ZYDIS_REGISTER_R15:
	case ZYDIS_REGISTER_RIP:
	case ZYDIS_REGISTER_RAX:
	case ZYDIS_REGISTER_RCX:
	case ZYDIS_REGISTER_RSI: return true;
	case ZYDIS_REGISTER_NONE: return o->mem.segment == ZYDIS_REGISTER_FS;
	default: return false;
	}
}

static bool insn_is_allowed(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *ops)
{
	if (insn->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPNE) ||
	    insn->meta.category == ZYDIS_CATEGORY_STRINGOP ||
	    insn->meta.category == ZYDIS_CATEGORY_SYSCALL ||
	    insn->meta.category == ZYDIS_CATEGORY_INTERRUPT ||
	    insn->meta.category == ZYDIS_CATEGORY_IO)
		return false;
	for (uint32_t k = 0; k < insn->operand_count; k++) {
		bool is_access = ops[k].type == ZYDIS_OPERAND_TYPE_MEMORY &&
				 ops[k].mem.type != ZYDIS_MEMOP_TYPE_AGEN;

		if (ops[k].type == ZYDIS_OPERAND_TYPE_REGISTER && !is_general(ops[k].reg.value))
			return false;
		if (is_access && !is_allowed_base(&ops[k]))
			return false;
	}
	return true;
}

static void test_instructions(void)
{
	struct nx *x = nx_of(everything);
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;
	uint32_t n = 0, calls = 0, wrong = 0;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (uint32_t off = 0; off < x->run->code.consts; off += insn.length, n++) {
		const uint8_t *at = x->run->code.bytes + off;

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, at, x->run->code.consts - off,
							 &insn, ops))) {
			printf("# no instruction at 0x%x\n", off);
			wrong++;
			break;
		}
		if (!insn_is_allowed(&insn, ops)) {
			printf("# forbidden instruction at 0x%x\n", off);
			wrong++;
		}
		if (insn.mnemonic == ZYDIS_MNEMONIC_CALL) {
			uint64_t to = x->run->target.code + off + insn.length + ops[0].imm.value.u -
				      x->run->target.blob;
			bool is_entry = false;

			for (uint32_t k = 0; k < BLOB_NFUNCS; k++)
				is_entry |= to == blob_entries[k];
			calls++;
			wrong += !is_entry;
		}
	}
	ok(n > 500 && !wrong, "%u instructions, all of them allowed", n);
	ok(calls > 20, "%u calls, all of functions of the blob", calls);
	ok(x->run->code.stack <= NATIVE_STACK_MAX, "%u bytes of stack are said to be used",
	   x->run->code.stack);
	for (uint32_t i = 0; i < 100; i++) {
		nx_fire(x, i % 2 ? SITE_F_RETURN : SITE_F_ENTRY, i, 1000 * i);
	}
	ok(x->run->stack_used <= x->run->code.stack && x->run->stack_used > 200,
	   "%u bytes are used", x->run->stack_used);
	ok(x->run->has_saved_all, "no other register is changed than those that are said");
	printf("# %zu bytes of code, %u of constants\n", (size_t)x->run->code.consts,
	       (uint32_t)x->run->code.size - x->run->code.consts);
	nx_destroy(x);
}

/* ---- threads and signals --------------------------------------------------------------------- */

#define NTHREADS 4
#define NFIRINGS 20000u
#define STACK	 16384u

static const char shared[] =
	"pid1:a.out:f:entry { @c = count(); @k[arg0] = sum(arg1); @a[arg0] = avg(arg1); "
	"self->n++; @q = quantize(arg1); trace(arg0); }";

uint64_t native_call(struct native_frame *frame, uint64_t site, void *func, uint64_t n);

static void *func_of(struct nx *x)
{
	return (void *)(uintptr_t)(x->run->target.code + x->run->code.entries[SITE_F_ENTRY].func);
}

static void *thread_run(void *arg)
{
	struct nx *x = arg;
	char *stack = xcalloc(1, STACK);
	struct native_frame *f = (void *)(stack + STACK - 512);

	for (uint32_t i = 0; i < NFIRINGS; i++) {
		*f = (struct native_frame){.rdi = i % 3,
					   .rsi = 2,
					   .rsp = (uintptr_t)(stack + STACK - 64)};
		(void)native_call(f, x->run->code.entries[SITE_F_ENTRY].site, func_of(x), 1);
	}
	free(stack);
	return NULL;
}

static volatile sig_atomic_t nhandled;

/* Signals go to one thread, because the handler has one stack. */
static void *thread_run_handling(void *arg)
{
	sigset_t alarms;

	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	(void)thread_run(arg);
	while (!nhandled)
		(void)sched_yield();
	return NULL;
}

static struct nx *handled;
static char handler_stack[STACK] __attribute__((aligned(64)));

static void handler(int sig)
{
	struct native_frame *f = (void *)(handler_stack + STACK - 512);

	(void)sig;
	*f = (struct native_frame){.rdi = nhandled % 3,
				   .rsi = 2,
				   .rsp = (uintptr_t)(handler_stack + STACK - 64)};
	(void)native_call(f, handled->run->code.entries[SITE_F_ENTRY].site, func_of(handled), 1);
	nhandled++;
}

static int64_t keyed_sum(struct nx *x, uint32_t agg, uint32_t word)
{
	const struct agg_layout *al = &x->layout->aggs[agg - 1];
	int64_t sum = 0, v;

	for (int64_t k = 0; k < 3; k++) {
		char key[32] = {0};

		memcpy(key, &(uint64_t){al->owner}, al->owner ? 8 : 0);
		memcpy(key + al->keys[0].off, &k, 8);
		if (nrun_agg(x->run, agg, key, word, &v))
			sum += v;
	}
	return sum;
}

static void test_shared(void)
{
	struct itimerval often = {{0, 100}, {0, 100}}, never = {0};
	struct sigaction sa = {.sa_handler = handler};
	pthread_t threads[NTHREADS];
	sigset_t alarms;
	struct nx *x = nx_of(shared);
	uint64_t n = 0, all;
	int64_t v;

	handled = x;
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (uint32_t i = 0; i < NTHREADS; i++)
		pthread_create(&threads[i], NULL, i ? thread_run : thread_run_handling, x);
	for (uint32_t i = 0; i < NTHREADS; i++)
		pthread_join(threads[i], NULL);
	setitimer(ITIMER_REAL, &never, NULL);
	all = NTHREADS * NFIRINGS + (uint64_t)nhandled;
	ok(nhandled > 0, "%d firings in signal handlers", (int)nhandled);
	ok(nrun_agg(x->run, 1, NULL, 0, &v) && (uint64_t)v == all, "count() has lost nothing");
	is_int(keyed_sum(x, 2, 0), 2 * all, "nor has sum() with keys");
	is_int(keyed_sum(x, 3, 0), all, "nor avg(), its count");
	is_int(keyed_sum(x, 3, 1), 2 * all, "and its sum");
	ok(nrun_agg(x->run, 4, NULL, 65, &v) && (uint64_t)v == all, "nor a histogram");
	while (nrun_record(x->run, NULL))
		n++;
	is_int(n + nrun_drops(x->run).drops, all, "records are there or counted as dropped");
	nx_destroy(x);
}

/* ---- what is taken --------------------------------------------------------------------------- */

static const struct {
	const char *body, *why; /* NULL: it is taken */
} takings[] = {
	{"{ @[probefunc] = count(); }", NULL},
	{"/arg0 > 1/ { trace(timestamp); }", NULL},
	{"/probefunc == \"f\"/ { trace(1); }", NULL},
	{"{ @[ufunc(arg0)] = count(); printa(@); }", NULL},
	{"{ self->x[probefunc] = timestamp; }", NULL},
	{"{ trace(copyinstr(arg0)); }", "string"},
	{"{ trace(*(int *)arg0); }", "pointer"},
	{"{ ustack(); }", "stack"},
	{"{ @[stack()] = count(); }", "stack"},
	{"{ trace(execname); }", "execname"},
	{"{ trace(vtimestamp); }", "vtimestamp"},
	{"{ trace(arg6); }", "seventh"},
	{"{ speculate(speculation()); trace(1); }", "speculation"},
	{"{ trace(strlen(probefunc)); }", "function"},
	{"{ self->s = probefunc; }", "number"},
	{"/probefunc < \"g\"/ { trace(1); }", "order"},
	{"{ trace(uid); }", "kernel"},
	{"{ trace(rand()); }", "function"},
	{"{ trace(uregs[18]); }", "register"},
	{"{ stop(); }", "acts on"},
	{"{ @[probefunc] = live(arg0, 1); }", NULL},
	{"{ @[ustack()] = live(arg0, 1); }", "stack"},
	{"{ dead(arg0); }", NULL},
	{"{ printf(\"%s\", strjoin(probefunc, \"x\")); }", "string"},
};

static void test_takes(void)
{
	for (uint32_t i = 0; i < ARRAY_LEN(takings); i++) {
		char text[256];
		struct nx *x;
		const char *why = NULL;
		bool is_taken;

		snprintf(text, sizeof(text), "pid1:a.out:f:entry %s", takings[i].body);
		x = nx_create(text);
		nx_lay_out(x);
		is_taken = native_takes(&x->unit, x->layout, &why);
		if (takings[i].why)
			ok(!is_taken && why && strstr(why, takings[i].why), "%s: %s",
			   takings[i].body, is_taken ? "taken" : why);
		else
			ok(is_taken, "%s %s", takings[i].body, why ? why : "is taken");
		is_int(native_takes(&x->unit, NULL, &why) || !is_taken, 1, "without a layout, too");
		nx_destroy(x);
	}
}

/* A name that is longer than strsize is cut where it is compared, and nowhere else. */
static void test_long_names(void)
{
	static const struct {
		const char *text;
		bool is_taken;
	} rows[] = {
		{"pid1:a.out:f:entry { @[probemod] = count(); }", true},
		{"pid1:a.out:f:entry { @[probemod, probefunc] = count(); trace(probemod); }", true},
		{"pid1:a.out:f:entry /probemod == \"x\"/ { @ = count(); }", false},
		{"pid1:a.out:f:entry /probefunc == \"f\"/ { @[probemod] = count(); }", true},
		{"pid1:a.out:f:entry { a[probemod] = 1; @[probemod] = count(); }", false},
	};

	for (uint32_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct nx *x = nx_create(rows[i].text);
		const char *why = "";

		x->opts.strsize = 4;
		nx_lay_out(x);
		ok(native_takes(&x->unit, x->layout, &why) == rows[i].is_taken, "%s %s",
		   rows[i].text, why);
		nx_destroy(x);
	}
}

static void test_errors(void)
{
	struct nx *x = nx_create("pid1:a.out:f:entry { trace(1 / arg0); }");
	const char *why = "";

	nx_lay_out(x);
	ok(native_takes(&x->unit, x->layout, &why), "a clause that may fault is taken");
	x->unit.error_clauses = x->unit.clauses;
	x->unit.nerror_clauses = 1;
	ok(!native_takes(&x->unit, x->layout, &why) && strstr(why, "ERROR"), "%s", why);
	x->unit.nerror_clauses = 0;
	x->unit.probes[0].spot = SPOT_ENTRY32;
	ok(!native_takes(&x->unit, x->layout, &why) && strstr(why, "32-bit"), "%s", why);
	x->unit.place.kind = PLACE_TIMER;
	ok(!native_takes(&x->unit, x->layout, &why), "%s", why);
	nx_destroy(x);
}

static void test_reads(void)
{
	struct nx *x = nx_create("pid1:a.out:f:entry { trace(arg0 + uregs[12]); }\n"
				 "pid1:a.out:g:entry { trace(uregs[10]); }\n"
				 "pid1:a.out:f:return { trace(uregs[10] + arg1); }");
	struct native_reads r;

	nx_lay_out(x);
	r = native_reads_of(&x->unit, 0);
	ok(r.args == 5 && !r.regs, "an argument, and the register of another one");
	r = native_reads_of(&x->unit, 2);
	ok(!r.args && r.regs, "a register that no argument is in");
	r = native_reads_of(&x->unit, 1);
	ok(!r.args && !r.regs, "at a return all registers are those of the site");
	nx_destroy(x);
}

/* ---- cost ------------------------------------------------------------------------------------ */

static void test_cost(void)
{
	static const char *const bodies[] = {
		"{ @ = count(); }",
		"/arg0 == 1/ { @ = count(); }",
		"{ @[probefunc] = count(); }",
		"{ @[arg1] = sum(arg1); }",
		"{ @ = quantize(arg1); }",
		"{ @[probefunc] = quantize(arg1); }",
		"{ printf(\"%d %d %s\", arg0, arg1, probefunc); }",
		"{ self->ts = timestamp; }",
	};

	for (uint32_t i = 0; i < ARRAY_LEN(bodies); i++) {
		struct native_frame f = {.rsi = 7};
		uint64_t least = UINT64_MAX;
		char text[256];
		struct nx *x;

		snprintf(text, sizeof(text), "pid1:a.out:f:entry %s", bodies[i]);
		x = nx_create(text);
		nx_lay_out(x);
		nx_make(x, &(struct nrun_opts){.bufsize = 1 << 20});
		for (uint32_t k = 0; k < 20; k++) {
			least = MIN(least, nrun_time(x->run, SITE_F_ENTRY, &f, 5000));
			while (nrun_record(x->run, NULL))
				;
		}
		printf("# %6.1f ns  %s\n", (double)least / 5000, bodies[i]);
		ok(least / 5000 < 2000, "a firing takes no microseconds");
		nx_destroy(x);
	}
}

int main(void)
{
	test_instructions();
	test_shared();
	test_takes();
	test_long_names();
	test_errors();
	test_reads();
	test_cost();
	return tap_done();
}
