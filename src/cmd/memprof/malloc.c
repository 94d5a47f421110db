/* SPDX-License-Identifier: MIT */
/*
 * Blocks of malloc that are alive, by who has asked for them.
 *
 * Every file of the process that defines malloc() or free() is an allocator: the C library, one
 * that replaces it, the program itself. Where one function calls another one (realloc() malloc(),
 * the C library's a replacement's), the block is counted once, because it is known by its address.
 *
 * The result of a function is seen at its return instructions in glibc, where most functions have
 * such. A function that ends with a jump into another one has none: those of glibc that align, and
 * any of other allocators. For these the kernel replaces the return address (a source "returned",
 * guide/own-provider.md). An exception must not pass such a return, so of operators of C++ that do
 * not call malloc() the return instructions are probed (operators.c).
 *
 * With -r, a Poisson sample of the bytes that are asked for is followed: a block is in it with the
 * probability 1 - exp(-bytes / rate), and stands for bytes divided by that. Who is in the sample is
 * decided in the process, where glibc's functions are relayed (native/native.h, sample()). Blocks
 * whose address no return instruction of glibc has are left out there, because frees of them would
 * have to be seen, too: one more kind of block, and all frees would be handed to the kernel.
 *
 * With --by, the key is who has called the function, which the process finds without the kernel; so
 * it keeps what is alive by itself, if all probes have the results at return instructions. Blocks
 * of glibc for which there is none are counted, and told.
 *
 * Who has called operator new is noted at its entry (self->site), and taken by the function that is
 * called there, which clears it when it has made the block, or has failed. An operator of a library
 * of C++ always calls one; others may have a block elsewhere, and clear it when they return. With
 * --module, the calls in the module note their own addresses, and only a block whose function is
 * entered within SITE_STACK bytes of stack from there is followed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "memprof.h"
#include "base/text.h"
#include "operators.h"

#define NMODULES_MAX 32
#define SITE_STACK   128 /* bytes of stack that operators new take until they call malloc() */

/* clang-format off */
static const struct request {
	const char *name, *bytes; /* the function, what it is asked for */
	bool is_result_seen;	  /* in glibc, at its return instructions */
	const char *more;	  /* what else is done at its entry */
} requests[] = {
	{ "malloc",         "arg0",        true,  "" },
	/* it ends with a jump into memset() where the memory is not zero yet */
	{ "calloc",         "arg0 * arg1", false, "" },
	{ "realloc",        "arg1",        true,  " self->old = arg0; self->at = timestamp;" },
	{ "memalign",       "arg1",        false, "" },
	{ "aligned_alloc",  "arg1",        false, "" },
	{ "valloc",         "arg0",        false, "" },
	{ "pvalloc",        "arg0",        false, "" },
	/* it stores the address where arg0 points to, and returns 0 */
	{ "posix_memalign", "arg2",        true,  " self->to = arg0;" },
};
/* clang-format on */
#define NREQUESTS (sizeof(requests) / sizeof(requests[0]))

/* A file of the process: with functions that it defines, or, for --module, that it calls. */
struct allocator {
	char *module;
	bool has[NREQUESTS], has_free, has_new, has_operator[NOPERATORS];
	bool lacks_free;	    /* nobody in the process gives blocks back */
	struct operators operators; /* of an allocator */
};

struct allocators {
	struct allocator list[NMODULES_MAX];
	uint32_t n;
	uint32_t nodd;	    /* with names that no probe description can have, or too many */
	bool has_operators; /* there are probes of operators new */
	bool has_results;   /* there are probes of what operators new of allocators return */
	bool has_throw;	    /* the process has a function that throws exceptions */
	struct allocators *callers; /* of --module; NULL: calls of all modules are meant */
};

static struct allocator *allocator_get(struct allocators *a, const char *module)
{
	for (uint32_t i = 0; i < a->n; i++)
		if (strcmp(a->list[i].module, module) == 0)
			return &a->list[i];
	if (a->n == NMODULES_MAX || !module_is_plain(module)) {
		a->nodd++;
		return NULL;
	}
	a->list[a->n].module = mem_check(strdup(module));
	return &a->list[a->n++];
}

static void function_note(const char *module, const char *function, void *arg)
{
	struct allocator *a = allocator_get(arg, module);

	if (!a)
		return;
	if (strcmp(function, "free") == 0)
		a->has_free = true;
	for (size_t i = 0; i < NREQUESTS; i++)
		if (strcmp(function, requests[i].name) == 0)
			a->has[i] = true;
}

/* The function is found by its name, and listed by this or another name that it has. */
static void new_note(const char *module, const char *function, void *arg)
{
	struct allocator *a = allocator_get(arg, module);

	if (a)
		a->has_new = true;
}

static bool is_glibc(const struct allocator *a)
{
	return strcmp(a->module, "libc.so.6") == 0;
}

static bool is_allocator(const struct allocator *a)
{
	return a->has[0] && (a->has_free || a->lacks_free);
}

/* A library of C++, whose operators new call malloc() or aligned_alloc(). */
static bool is_cxx_library(const struct allocator *a)
{
	return strncmp(a->module, "libstdc++.so", strlen("libstdc++.so")) == 0;
}

/* Whether --module means the file. */
static bool is_caller(const struct allocators *all, const struct allocator *a)
{
	for (uint32_t i = 0; all->callers && i < all->callers->n; i++)
		if (strcmp(all->callers->list[i].module, a->module) == 0)
			return true;
	return false;
}

/*
 * Whether callers of the operators new of a file are noted. Those of a library that brings an
 * allocator do not call its malloc(), nor need those of the program, if they have a pool: they are
 * noted if the program is the allocator, and with --module of the program, which sees its calls.
 */
static bool has_sites(const struct allocators *all, const struct allocator *a)
{
	bool is_library = strstr(a->module, ".so");

	return is_library ? !is_allocator(a) : is_allocator(a) || is_caller(all, a);
}

static bool has_operator_any(const struct allocator *a)
{
	bool has = a->has_new;

	for (size_t k = 0; k < NOPERATORS; k++)
		has |= a->has_operator[k];
	return has;
}

/*
 * Whether an operator new is, or may call, one of a file in which callers are not noted. In a
 * library of C++, that of an array calls that of an object, and a nothrow one another one.
 */
static bool is_operator_of(const struct allocators *all, const struct allocator *a, size_t number)
{
	for (size_t k = 0; k < NOPERATORS; k++)
		if (a->has_operator[k] && !has_sites(all, a) && !(k & ~number) &&
		    !((k ^ number) & OPERATOR_ALIGNED))
			return true;
	return false;
}

/* Whether notes of the callers of an operator new might be left to somebody else. */
static bool is_operator_lacking(const struct allocators *all, size_t number)
{
	bool is_lacking = false;

	for (uint32_t i = 0; i < all->n; i++)
		is_lacking |= is_operator_of(all, &all->list[i], number);
	return is_lacking;
}

/* Whether calls of --module are not noted because of the operators new of a file. */
static bool has_lost_calls(const struct allocators *all, const struct allocator *a)
{
	for (uint32_t i = 0; all->callers && i < all->callers->n; i++)
		for (size_t k = 0; k < NOPERATORS; k++)
			if (all->callers->list[i].has_operator[k] && is_operator_of(all, a, k))
				return true;
	return false;
}

static bool is_calloc(const struct request *r)
{
	return strcmp(r->name, "calloc") == 0;
}

/* Whether the process itself decides what is done with a block of glibc. */
static bool is_decided_there(const struct memprof *m)
{
	return m->rate || m->by;
}

/* Whether return probes have the result of a function, or, of calloc(), what it is made of. */
static bool is_result_seen(const struct memprof *m, const struct allocator *a,
			   const struct request *r)
{
	return is_glibc(a) && (r->is_result_seen || (is_decided_there(m) && is_calloc(r)));
}

/* Whether blocks of the function are followed: all, or those that the process can note. */
static bool is_followed(const struct memprof *m, const struct allocator *a, size_t k)
{
	return a->has[k] && (!is_decided_there(m) || !is_glibc(a) ||
			     (is_result_seen(m, a, &requests[k]) &&
			      strcmp(requests[k].name, "posix_memalign") != 0));
}

/* Probes that the functions of an allocator have come back, where no return instruction tells. */
static void provider_add(const struct memprof *m, struct strbuf *d, const struct allocators *a)
{
	strbuf_adds(d, "provider memprof {\n");
	for (uint32_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < NREQUESTS; k++)
			if (is_allocator(&a->list[i]) && is_followed(m, &a->list[i], k) &&
			    !is_result_seen(m, &a->list[i], &requests[k]))
				strbuf_addf(d,
					    "\tprobe r%u_%s(uintptr_t result) ="
					    " pid:%s:%s:returned (arg1);\n",
					    i, requests[k].name, a->list[i].module,
					    requests[k].name);
	for (uint32_t i = 0; i < a->n; i++)
		operators_declare(d, &a->list[i].operators, a->list[i].module, i);
	strbuf_adds(d, "};\n");
}

/* Adds the description of the probe that has the function's result. */
static void result_add(const struct memprof *m, struct strbuf *d, const struct allocator *a,
		       uint32_t number, size_t k)
{
	const struct request *r = &requests[k];

	if (is_result_seen(m, a, r))
		strbuf_addf(d, "pid$target:%s:%s:return\n", a->module, r->name);
	else
		strbuf_addf(d, "memprof$target:::r%u_%s\n", number, r->name);
}

/*
 * The key of a row, in *b; is_back: the thread is in the caller again. Callers of operators new are
 * noted, and with --module all callers.
 */
static const char *key_text(const struct memprof *m, const struct allocators *all, bool is_back,
			    struct strbuf *b)
{
	const char *caller = is_back ? "uregs[R_RIP]" : "ucaller";

	if (m->by == BY_STACK)
		return "jstack()";
	strbuf_adds(b, m->by == BY_CALLER ? "uaddr(" : "usym(");
	if (all->callers)
		strbuf_adds(b, "self->site)");
	else if (all->has_operators)
		strbuf_addf(b, "self->site ? self->site : %s)", caller);
	else
		strbuf_addf(b, "%s)", caller);
	return strbuf_text(b);
}

/*
 * glibc's calloc() ends with a return, or with a jump into memset(address, 0, size), where the
 * return probe has no result: a size that fits tells that from a calloc() that has failed.
 */
#define CALLOC_RESULT "(arg1 ? arg1 : uregs[R_RDI])"
#define CALLOC_IS_THERE                                                                            \
	"(arg1 || (!uregs[R_RSI] && uregs[R_RDX] && uregs[R_RDX] <= self->bytes + 64))"

/*
 * Counts a block for -x maxrate. Where the process counts by itself, and nobody has asked for a
 * rate, a thread does so for 64 of them at once, because that is a twentieth of what a block costs
 * there; the rate matters only if the kernel has to do the work.
 */
static const char *hit_text(const struct memprof *m, const struct allocator *a)
{
	if (!m->by)
		return "@hits = count();";
	if (!is_glibc(a) || m->has_maxrate)
		return "@hits = sum(1);";
	return "if (!(++self->hits & 63)) { @hits = sum(64); }";
}

/* The function was called by the module of --module, itself or by an operator new. */
#define SITE_IS_CALLER "self->site && self->sp - uregs[R_SP] <= %u"

/*
 * An operator new that is probed may have its block from a function that is followed, and return an
 * address within it: the block counts once, as that function's. A smaller one is for itself.
 */
static const char *operator_end(const struct allocators *all)
{
	return all->has_results
		       ? "\n\tself->entered = self->bytes >= self->size ? 0 : self->entered;"
		       : "";
}

/* The block of the call has been made. */
static const char *site_end(const struct allocators *all)
{
	return all->has_operators || all->callers ? " self->site = 0;" : "";
}

/* The entry of a function of which blocks are followed: how many bytes are asked for. */
static void entry_add(struct strbuf *d, const struct allocators *all, const struct allocator *a,
		      const struct request *r)
{
	strbuf_addf(d, "\npid$target:%s:%s:entry\n{\n", a->module, r->name);
	if (all->callers)
		strbuf_addf(d,
			    "\tself->site = " SITE_IS_CALLER " ? self->site : 0;\n"
			    "\tself->bytes = self->site ? %s : 0;%s%s\n}\n\n",
			    SITE_STACK, r->bytes, r->more,
			    strcmp(r->name, "realloc") == 0 ? " self->asked = arg1;" : "");
	else
		strbuf_addf(d, "\tself->bytes = %s;%s\n}\n\n", r->bytes, r->more);
}

/*
 * A call that has failed is over, too: who has called operator new may be left by a jump, or an
 * exception. So is one that asks for nothing, of which no block is followed. A realloc() of nothing
 * may jump into malloc(), which is no end of it; no operator calls it.
 */
static void failure_add(const struct memprof *m, struct strbuf *d, const struct allocators *all,
			uint32_t number, size_t k, const char *is_there)
{
	const struct request *r = &requests[k];
	bool is_realloc = strcmp(r->name, "realloc") == 0;
	bool is_stored = strcmp(r->name, "posix_memalign") == 0;

	if (!all->callers && (!all->has_operators || is_realloc))
		return;
	result_add(m, d, &all->list[number], number, k);
	strbuf_addf(d, "/(%s%s%s)%s/\n{\n\tself->site = 0;\n}\n\n", is_stored ? "(int)" : "!",
		    is_there, all->callers ? " || !self->bytes" : "",
		    is_realloc ? " && self->old" : "");
}

/* with_address: rows have the address of the block as their first key. */
static void request_add(const struct memprof *m, struct strbuf *d, const struct allocators *all,
			uint32_t number, size_t k, bool with_address)
{
	const struct allocator *a = &all->list[number];
	struct strbuf key = {0};
	const char *before = with_address ? "(uint64_t)" : "", *behind = with_address ? ", " : "";
	const struct request *r = &requests[k];
	bool is_jump = m->by && is_glibc(a) && is_calloc(r);
	const char *result = is_jump ? CALLOC_RESULT : is_result_seen(m, a, r) ? "arg1" : "arg0";
	const char *text = key_text(m, all, !is_result_seen(m, a, r), &key);

	entry_add(d, all, a, r);
	failure_add(m, d, all, number, k, is_jump ? CALLOC_IS_THERE : result);
	result_add(m, d, a, number, k);
	/*
	 * Another thread may have the old block as soon as it is free, before realloc() returns:
	 * then the block is younger than the call. A realloc() that fails leaves the block.
	 */
	if (strcmp(r->name, "realloc") == 0) {
		strbuf_addf(d,
			    "/self->old && (%s || !self->%s)/\n{\n"
			    "\tdead(self->old, self->at);\n}\n\n",
			    result, all->callers ? "asked" : "bytes");
		result_add(m, d, a, number, k);
		strbuf_adds(d, "{\n\tself->old = 0;\n\tself->at = 0;\n}\n\n");
		result_add(m, d, a, number, k);
	}
	if (strcmp(r->name, "posix_memalign") == 0)
		strbuf_addf(d,
			    "/self->bytes && self->to && !(int)%s/\n{\n"
			    "\tthis->block = *(uintptr_t *)copyin(self->to, 8);\n"
			    "\t@bytes[%s%s%s%s] = live(this->block, self->bytes);\n"
			    "\t%s%s\n\tself->bytes = 0;%s\n\tself->to = 0;\n}\n",
			    result, before, with_address ? "this->block" : "", behind, text,
			    hit_text(m, a), operator_end(all), site_end(all));
	else
		strbuf_addf(d,
			    "/self->bytes && %s/\n{\n"
			    "\t@bytes[%s%s%s%s] = live(%s, self->bytes);\n"
			    "\t%s%s\n\tself->bytes = 0;%s\n}\n",
			    is_jump ? CALLOC_IS_THERE : result, before, with_address ? result : "",
			    behind, text, result, hit_text(m, a), operator_end(all), site_end(all));
	strbuf_deinit(&key);
}

/*
 * Bytes for which a sample stands, n / (1 - exp(-n / rate)), exact to 1 %: a series in x = n / rate
 * (in units of 1/1024) below 4; there the block stands for 1.9 % more than itself, at 5 for 0.7 %.
 */
static void weight_add(struct strbuf *d, const char *bytes, uint64_t rate)
{
	strbuf_addf(d,
		    "\tthis->n = (uint64_t)(%s);\n"
		    "\tthis->times = this->n / %" PRIu64 ";\n"
		    "\tthis->x = this->times < 4 ? this->n * 1024 / %" PRIu64 " : 4096;\n"
		    "\tthis->x2 = this->x * this->x / 1024;\n"
		    "\tthis->x4 = this->x2 * this->x2 / 1024;\n"
		    "\tself->bytes = this->times >= 5 ? this->n :\n"
		    "\t    this->times >= 4 ? this->n + this->n / 80 : %" PRIu64
		    " * (1024 + this->x / 2 + this->x2 / 12 -\n"
		    "\t    this->x4 / 720 + this->x4 * this->x2 / 1024 / 30240) / 1024;\n",
		    bytes, rate, rate, rate);
}

/*
 * A block whose realloc() begins is followed no more, and what that returns is in the sample or
 * not, as a new block: one that stays where it is because realloc() fails is lost to the sample.
 */
static void request_add_sampled(const struct memprof *m, struct strbuf *d,
				const struct allocator *a, uint32_t number, size_t k)
{
	const struct request *r = &requests[k];
	bool is_jump = is_glibc(a) && is_calloc(r);
	bool is_stored = strcmp(r->name, "posix_memalign") == 0;
	const char *result = is_jump ? CALLOC_RESULT : is_result_seen(m, a, r) ? "arg1" : "arg0";
	const char *is_there = is_jump ? CALLOC_IS_THERE : result;
	const char *address = is_stored ? "*(uintptr_t *)copyin(self->to, 8)" : result;

	strbuf_addf(d, "\npid$target:%s:%s:entry\n/sample(%s, %" PRIu64 ")/\n{\n", a->module,
		    r->name, r->bytes, m->rate);
	weight_add(d, r->bytes, m->rate);
	strbuf_addf(d, "%s}\n\n", is_stored ? "\tself->to = arg0;\n" : "");
	if (strcmp(r->name, "realloc") == 0)
		strbuf_addf(d,
			    "pid$target:%s:realloc:entry\n/arg0 && followed(arg0)/\n{\n"
			    "\tdead(arg0);\n}\n\n",
			    a->module);
	result_add(m, d, a, number, k);
	strbuf_addf(d, "/sampled(%s)/\n{\n\tif (self->bytes && %s%s) {\n", result,
		    is_stored ? "self->to && !(int)" : "", is_there);
	strbuf_addf(d,
		    "\t\t@bytes[jstack()] = live(%s, self->bytes);\n\t\t@hits = count();\n\t}\n"
		    "\tself->bytes = 0;\n}\n",
		    address);
}

/*
 * A block with an alignment of its own. glibc has malloc() make it, where it is followed, if the
 * alignment is no more than malloc's. posix_memalign() fails if it is no power of two, or less than
 * a pointer's size, and calls nobody then.
 */
static void unfollowed_add(struct strbuf *d, const struct allocators *all,
			   const struct allocator *a, size_t k)
{
	const char *name = requests[k].name;
	bool is_stored = strcmp(name, "posix_memalign") == 0;
	bool is_page = strcmp(name, "valloc") == 0 || strcmp(name, "pvalloc") == 0;

	strbuf_addf(d, "\npid$target:%s:%s:entry\n/%s", a->module, name,
		    is_page	? "1"
		    : is_stored ? "arg1 > 16 && !(arg1 & (arg1 - 1))"
				: "arg0 > 16");
	if (all->callers)
		strbuf_addf(d, " && " SITE_IS_CALLER, SITE_STACK);
	strbuf_addf(d, "/\n{\n\t@others = sum(%s);%s\n}\n", requests[k].bytes, site_end(all));
	if (is_stored && (all->callers || all->has_operators))
		strbuf_addf(d,
			    "\npid$target:%s:%s:entry\n/arg1 != 8 && arg1 != 16/\n"
			    "{\n\tself->site = 0;\n}\n",
			    a->module, name);
}

/*
 * Who has called an operator new, which may call another one. With --module, the stack pointer is
 * that of the call.
 */
static void operator_add(struct strbuf *d, const struct allocators *all, const struct allocator *a,
			 const char *name)
{
	strbuf_addf(d,
		    "\npid$target:%s:%s:entry\n%s{\n"
		    "\tself->site = " SITE_IS_CALLER " ? self->site : %s;\n"
		    "\tself->sp = uregs[R_SP]%s;\n}\n",
		    a->module, name, all->callers ? "/self->site/\n" : "", SITE_STACK,
		    all->callers ? "0" : "ucaller", all->callers ? " + 8" : "");
	if (!is_cxx_library(a))
		strbuf_addf(d, "\npid$target:%s:%s:return\n/arg1/\n{\n\tself->site = 0;\n}\n",
			    a->module, name);
}

static void operators_add(struct strbuf *d, const struct allocators *all)
{
	for (uint32_t i = 0; i < all->n && all->has_operators; i++)
		for (size_t k = 0; k < NOPERATORS; k++)
			if (has_sites(all, &all->list[i]) && all->list[i].has_operator[k] &&
			    !is_operator_lacking(all, k))
				operator_add(d, all, &all->list[i], operators_new[k]);
}

/*
 * A call notes where it is. In a file with operators new of its own, it may stand in such a one,
 * whose call has the note: it is less deep in the stack.
 */
static void call_add(struct strbuf *d, const struct allocator *caller, const char *name,
		     bool has_own_operators)
{
	strbuf_addf(d, "\npid$target:%s:%s:call\n", caller->module, name);
	if (has_own_operators)
		strbuf_addf(d, "/!self->site || self->sp - uregs[R_SP] - 1 >= %u/\n", SITE_STACK);
	strbuf_adds(d, "{\n\tself->site = ucaller;\n\tself->sp = uregs[R_SP];\n}\n");
}

static bool has_own_operators(const struct allocators *all, const struct allocator *caller)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (strcmp(all->list[i].module, caller->module) == 0)
			return has_operator_any(&all->list[i]);
	return false;
}

/*
 * The calls of the modules of --module. An operator that is not probed, and has its memory
 * elsewhere, would leave the note of its call to somebody else: then its calls are not noted.
 */
static void calls_add(struct strbuf *d, const struct allocators *all)
{
	const struct allocators *callers = all->callers;

	for (uint32_t i = 0; callers && i < callers->n; i++) {
		const struct allocator *c = &callers->list[i];
		bool has_own = has_own_operators(all, c);

		for (size_t k = 0; k < NREQUESTS; k++)
			if (c->has[k])
				call_add(d, c, requests[k].name, has_own);
		for (size_t k = 0; k < NOPERATORS; k++)
			if (c->has_operator[k] && !is_operator_lacking(all, k))
				call_add(d, c, operators_new[k], has_own);
	}
}

/* The entry of an operator new of an allocator. */
static void operator_entry_add(struct strbuf *d, const char *probe, const void *arg)
{
	const struct memprof *m = arg;

	if (!m->rate) {
		strbuf_addf(d,
			    "\n%s\n{\n\tself->size = arg0;\n"
			    "\tself->entered = uregs[R_SP];\n}\n",
			    probe);
		return;
	}
	strbuf_addf(d, "\n%s\n{\n\tself->entered = 0;\n}\n\n%s\n/sample(arg0, %" PRIu64 ")/\n{\n",
		    probe, probe, m->rate);
	weight_add(d, "arg0", m->rate);
	strbuf_adds(d, "\tself->size = self->bytes;\n\tself->bytes = 0;\n"
		       "\tself->entered = uregs[R_SP];\n}\n");
}

static void program_add(const struct memprof *m, struct strbuf *d, const struct allocators *a,
			bool with_address)
{
	provider_add(m, d, a);
	if (a->has_operators || a->callers)
		strbuf_adds(d, "\nself uint64_t site, sp;\n");
	if (a->has_results)
		strbuf_adds(d, "\nself uint64_t size, entered;\n");
	if (a->has_results && a->has_throw)
		strbuf_adds(d, "\npid$target::__cxa_throw:entry\n{\n\tself->entered = 0;\n}\n");
	calls_add(d, a);
	operators_add(d, a);
	for (uint32_t i = 0; i < a->n; i++) {
		if (!is_allocator(&a->list[i]))
			continue;
		for (size_t k = 0; k < NREQUESTS; k++)
			if (m->rate && is_followed(m, &a->list[i], k))
				request_add_sampled(m, d, &a->list[i], i, k);
			else if (!m->rate && is_followed(m, &a->list[i], k))
				request_add(m, d, a, i, k, with_address);
			else if (m->by && a->list[i].has[k])
				unfollowed_add(d, a, &a->list[i], k);
		operators_trace(d, &a->list[i].operators, a->list[i].module, i, operator_entry_add,
				m);
		if (a->list[i].has_free)
			strbuf_addf(d,
				    "\npid$target:%s:free:entry\n/arg0%s/\n{\n\tdead(arg0);\n}\n",
				    a->list[i].module, m->rate ? " && followed(arg0)" : "");
	}
	strbuf_adds(d, "\nEND\n{\n\ttrunc(@hits);\n}\n");
}

/* The module of an operator, or of calls of it, is noted in arg. */
struct operator_note {
	struct allocators *a;
	size_t number;
};

static void operator_note(const char *module, const char *function, void *arg)
{
	const struct operator_note *n = arg;
	struct allocator *a = allocator_get(n->a, module);

	(void)function;
	if (a)
		a->has_operator[n->number] = true;
}

static void operators_find(struct memprof *m, struct allocators *a)
{
	char what[64];

	for (size_t k = 0; k < NOPERATORS; k++) {
		struct operator_note n = {a, k};

		(void)snprintf(what, sizeof(what), "pid$target::%s:entry", operators_new[k]);
		functions_find(m, what, operator_note, &n);
	}
}

/* A pattern, that stands for one name: a function that is not called is no error then. */
static void call_describe(struct strbuf *ret, const struct memprof *m, const char *function)
{
	strbuf_addf(ret, "%spid$target:%s:[%c]%s:call", ret->len ? "," : "", m->module, *function,
		    function + 1);
}

/* Finds the calls in the modules of --module. */
static void callers_find(struct memprof *m, struct allocators *callers)
{
	struct strbuf what = {0};

	for (size_t k = 0; k < NREQUESTS; k++)
		call_describe(&what, m, requests[k].name);
	functions_find(m, what.data, function_note, callers);
	strbuf_deinit(&what);
	for (size_t k = 0; k < NOPERATORS; k++) {
		struct operator_note n = {callers, k};

		call_describe(&what, m, operators_new[k]);
		functions_find(m, what.data, operator_note, &n);
		strbuf_deinit(&what);
	}
	if (callers->n)
		return;
	say("no call of malloc(), of its like, or of operator new is seen in a file '%s' of the "
	    "process",
	    m->module);
	fputs("hint: the file must be loaded when tracing begins; calls through pointers are not "
	      "seen\n",
	      stderr);
	session_close(m);
	exit(E_ERROR);
}

static void requests_describe(struct strbuf *ret, const char *provider)
{
	strbuf_addf(ret, "%s::free:entry", provider);
	for (size_t i = 0; i < NREQUESTS; i++)
		strbuf_addf(ret, ",%s::%s:entry", provider, requests[i].name);
}

/*
 * Whether there is an allocator. A static program that never calls free() has none: if no file has
 * both functions, those with malloc() are meant.
 */
static bool allocators_check(struct allocators *a)
{
	bool has_any = false;

	for (uint32_t i = 0; i < a->n; i++)
		has_any |= is_allocator(&a->list[i]);
	for (uint32_t i = 0; i < a->n && !has_any; i++)
		a->list[i].lacks_free = a->list[i].has[0];
	for (uint32_t i = 0; i < a->n; i++)
		has_any |= is_allocator(&a->list[i]);
	return has_any;
}

static bool is_request(const char *name)
{
	for (size_t i = 0; i < NREQUESTS; i++)
		if (strcmp(name, requests[i].name) == 0)
			return true;
	return false;
}

/* An exception that an operator new throws is no return of it. */
static void throw_note(const char *module, const char *function, void *arg)
{
	struct allocators *a = arg;

	(void)module, (void)function;
	a->has_throw = true;
}

/* Finds the operators of an allocator; false: they are not followed. */
static bool operators_find_in(const struct memprof *m, struct allocator *a, uint64_t *nsearched)
{
	if (m->by || m->module || m->way->is_look || !a->has_new || !is_allocator(a) ||
	    !operators_read(m->pid, a->module, is_request, nsearched, &a->operators))
		return false;
	a->operators.is_sampled = m->rate != 0;
	if (a->operators.is_partial)
		say("blocks of operators new of '%s' that come from unknown functions are not "
		    "followed",
		    a->module);
	return true;
}

static void allocators_find(struct memprof *m, struct allocators *a)
{
	struct strbuf what = {0};
	uint64_t nsearched = 0;
	bool has_any;

	requests_describe(&what, "pid$target");
	functions_find(m, what.data, function_note, a);
	strbuf_deinit(&what);
	functions_find(m, "pid$target::_Znwm:entry", new_note, a);
	has_any = allocators_check(a);
	if (m->by || m->module)
		operators_find(m, a);
	if (m->module) {
		a->callers = mem_check(calloc(1, sizeof(*a->callers)));
		callers_find(m, a->callers);
	}
	for (uint32_t i = 0; i < a->n; i++) {
		for (size_t k = 0; k < NOPERATORS; k++)
			a->has_operators |= a->list[i].has_operator[k] &&
					    has_sites(a, &a->list[i]) && !is_operator_lacking(a, k);
		if (operators_find_in(m, &a->list[i], &nsearched)) {
			a->has_results |= operators_are_probed(&a->list[i].operators);
			continue;
		}
		if (has_lost_calls(a, &a->list[i]))
			say("what '%s' asks operators new of '%s' for is not followed", m->module,
			    a->list[i].module);
		else if (is_allocator(&a->list[i]) && has_operator_any(&a->list[i]))
			say("operators new of '%s' that do not call its malloc() are not followed",
			    a->list[i].module);
	}
	if (a->has_results)
		functions_find(m, "pid$target::__cxa_throw:entry", throw_note, a);
	if (a->nodd)
		say("%u function%s of libraries with odd names %s not followed", a->nodd,
		    PLURAL(a->nodd), WORD_FOR(a->nodd, "is", "are"));
	if (has_any)
		return;
	fputs("memprof: process has no file with the functions malloc() and free(), by their "
	      "symbols\nhint: memprof without a word shows what grows, whatever the allocator\n",
	      stderr);
	session_close(m);
	exit(E_ERROR);
}

static void allocators_deinit(struct allocators *a)
{
	for (uint32_t i = 0; i < a->n; i++) {
		operators_deinit(&a->list[i].operators);
		free(a->list[i].module);
	}
	if (a->callers)
		allocators_deinit(a->callers);
	free(a->callers);
	*a = (struct allocators){0};
}

/* ---- allocators that come later -------------------------------------------------------------- */

/* The watch while malloc is traced: the process may open libraries, and execute programs. */
struct watch {
	struct memprof *m;
	struct allocators known; /* those that are followed, and others that were told */
	uint64_t files;		 /* which files with code the process had */
};

/* FNV-1a */
static uint64_t text_hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3;
	return h;
}

/* A number that differs when other files are mapped with their code; 0: the process has ended. */
static uint64_t files_sum(pid_t pid)
{
	char path[32], *line = NULL;
	uint64_t sum = 0;
	size_t size = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	while (f && getline(&line, &size, f) > 0) {
		const char *name = strchr(line, '/'), *rights = strchr(line, ' ');

		if (name && rights && rights + 3 < name && rights[3] == 'x')
			sum += text_hash(name);
	}
	free(line);
	if (f)
		(void)fclose(f);
	return sum;
}

static bool is_known(const struct allocators *known, const char *module)
{
	for (uint32_t i = 0; i < known->n; i++)
		if (strcmp(known->list[i].module, module) == 0 && is_allocator(&known->list[i]))
			return true;
	return false;
}

/* Says which allocators have come since: the program that runs has no probes for them. */
static void allocators_watch(void *arg)
{
	struct watch *w = arg;
	struct allocators now = {0};
	struct strbuf what = {0};
	uint64_t files = files_sum(w->m->pid);
	char provider[32];

	if (!files || files == w->files)
		return;
	(void)snprintf(provider, sizeof(provider), "pid%d", (int)w->m->pid);
	requests_describe(&what, provider);
	if (functions_find_later(what.data, function_note, &now, NULL))
		w->files = files;
	strbuf_deinit(&what);
	for (uint32_t i = 0; i < now.n; i++) {
		struct allocator *a =
			is_allocator(&now.list[i]) && !is_known(&w->known, now.list[i].module)
				? allocator_get(&w->known, now.list[i].module)
				: NULL;

		if (!a)
			continue;
		a->has_free = a->has[0] = true;
		say("'%s', which has come later, has a malloc() whose blocks are not followed\n"
		    "hint: memprof malloc -p %d, begun now, follows them",
		    a->module, (int)w->m->pid);
	}
	allocators_deinit(&now);
}

static void program_make(struct memprof *m, bool with_address, struct allocators *ret_a,
			 struct strbuf *ret_d)
{
	allocators_find(m, ret_a);
	strbuf_adds(ret_d, memprof_d_malloc);
	program_add(m, ret_d, ret_a, with_address);
}

void malloc_program_make(struct memprof *m, bool with_address, struct strbuf *ret_d)
{
	struct allocators a = {0};

	program_make(m, with_address, &a, ret_d);
	allocators_deinit(&a);
}

/* Bytes of blocks that are not followed, whether they were freed or not. */
static void others_note(const dtrace_aggdata_t *row, void *arg)
{
	struct watch *w = arg;
	dtrace_aggvalue_t value;

	if (dtrace_aggvalue(row, DTRACE_CPUALL, &value) == 0)
		w->m->unfollowed = value.dtav_value;
}

int malloc_run(struct memprof *m)
{
	struct watch w = {.m = m};
	struct tracing t = {.agg = "bytes",
			    .count = m->rate ? "SAMPLES" : "BLOCKS",
			    .hits = "hits",
			    .watch = allocators_watch,
			    .arg = &w,
			    .nothing = "nothing was asked for that was not given back",
			    .hint = "only malloc() and its like are followed: memprof without a "
				    "word shows what grows, whatever the allocator"};
	struct strbuf d = {0};
	char size[32];
	int status;

	m->is_inproc = true;
	session_open(m);
	w.files = files_sum(m->pid);
	program_make(m, false, &w.known, &d);
	t.d = d.data;
	for (uint32_t i = 0; i < w.known.n; i++)
		t.may_come |= operators_have_bytes(&w.known.list[i].operators);
	if (m->by) {
		t.names = "others";
		t.name_note = others_note;
	}
	status = session_run(m, &t);
	if (m->unfollowed) {
		size_text(size, sizeof(size), m->unfollowed);
		say("%s that memalign() and its like were asked for are not followed", size);
	}
	strbuf_deinit(&d);
	allocators_deinit(&w.known);
	return status;
}
