/* SPDX-License-Identifier: MIT */
/*
 * Operators of C++ of an allocator: what they return is seen at return instructions, because an
 * exception must not pass a return address that the kernel has replaced.
 *
 * An operator new that throws nothing (nothrow) is seen when it has come back, as malloc() is. Any
 * other one may end with a jump into another function, as where a list of free blocks is empty (a
 * tail). All return instructions to which such jumps lead are probed, too. A function there may
 * also be called by others: what it returns is the operator's result if the stack pointer is what
 * it was when the operator was entered. Where the file has no name for the function, a return in it
 * is found by the bytes that follow (guide/own-provider.md).
 *
 * The file is the traced process's: whatever it says is bounded, and no name of it that could be
 * more than a name gets into the program.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "files/gate.h"
#include "image/ehframe.h"
#include "image/elfplt.h"
#include "image/insn.h"
#include "memprof.h"
#include "operators.h"

#define CODE_MAX      16384u /* bytes of a function */
#define FUNCTIONS_MAX 256u   /* that are followed */
#define TAILS_MAX     64u
#define SEARCHES_MAX  256u	   /* of the code for bytes */
#define SEARCHED_MAX  (1ull << 29) /* bytes of it, in all files: one or two seconds */
#define NAMES_MAX     64u	   /* of one address */
#define TAIL_STEP     8u
#define CALL_LEN      5u /* call rel32 */
#define CALL_OPCODE   0xe8

const char *const operators_new[] = {
	"_Znwm",
	"_Znam",
	"_ZnwmRKSt9nothrow_t",
	"_ZnamRKSt9nothrow_t",
	"_ZnwmSt11align_val_t",
	"_ZnamSt11align_val_t",
	"_ZnwmSt11align_val_tRKSt9nothrow_t",
	"_ZnamSt11align_val_tRKSt9nothrow_t",
};

/* Operators delete and delete[]: plain, sized, nothrow, aligned, and those combined. */
static const char *const operators_delete[NDELETES] = {
	"_ZdlPv",
	"_ZdaPv",
	"_ZdlPvm",
	"_ZdaPvm",
	"_ZdlPvRKSt9nothrow_t",
	"_ZdaPvRKSt9nothrow_t",
	"_ZdlPvSt11align_val_t",
	"_ZdaPvSt11align_val_t",
	"_ZdlPvmSt11align_val_t",
	"_ZdaPvmSt11align_val_t",
	"_ZdlPvSt11align_val_tRKSt9nothrow_t",
	"_ZdaPvSt11align_val_tRKSt9nothrow_t",
};

/* A function of the file that has a name. */
struct function {
	uint64_t addr, size;
	const char *name;
};

/* A stub of the procedure linkage table. */
struct plt {
	uint64_t addr, func; /* func 0: of another file */
	const char *name;
};

struct reading {
	struct gate_elf g;
	const uint8_t *file;
	size_t size;
	plt_words words;
	VEC(struct function) functions; /* by address */
	VEC(struct plt) stubs;
	unwind_fdes frames;	  /* where functions and their parts end, by address */
	VEC(uint64_t) seen, todo; /* functions, by address */
	bool is_quiet;		  /* the operator at hand throws nothing: its ways are not wanted */
	uint32_t nsearches;
	uint64_t *nsearched; /* bytes, in this file and others */
	bool (*is_followed)(const char *name);
	struct operators *ret;
};

/* ---- the file -------------------------------------------------------------------------------- */

static int function_compare(const void *pa, const void *pb)
{
	const struct function *a = pa, *b = pb;

	return (a->addr > b->addr) - (a->addr < b->addr);
}

static int frame_compare(const void *pa, const void *pb)
{
	const struct unwind_fde *a = pa, *b = pb;

	return (a->addr > b->addr) - (a->addr < b->addr);
}

static void symbols_read(struct reading *r, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *d = gate_data(&r->g, scn);
	GElf_Sym sym;

	for (int i = 1; d && gelf_getsym(d, i, &sym); i++) {
		const char *name;

		if (GELF_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_UNDEF)
			continue;
		name = gate_text(&r->g, sh->sh_link, sym.st_name);
		if (name && *name)
			vec_push(&r->functions,
				 ((struct function){sym.st_value, sym.st_size, name}));
	}
}

static void stub_note(void *ctx, uint64_t addr, uint64_t size, const struct plt_word *w)
{
	struct reading *r = ctx;

	(void)size;
	vec_push(&r->stubs, ((struct plt){addr, w->func, w->name}));
}

static int stub_compare(const void *pa, const void *pb)
{
	const struct plt *a = pa, *b = pb;

	return (a->addr > b->addr) - (a->addr < b->addr);
}

static void file_read(struct reading *r)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(r->g.elf, scn)))
		if (gelf_getshdr(scn, &sh) &&
		    (sh.sh_type == SHT_DYNSYM || sh.sh_type == SHT_SYMTAB))
			symbols_read(r, scn, &sh);
	if (r->functions.len)
		qsort(r->functions.data, r->functions.len, sizeof(*r->functions.data),
		      function_compare);
	if (!unwind_fdes_read(&r->g, &r->frames))
		r->ret->is_partial = true;
	if (r->frames.len)
		qsort(r->frames.data, r->frames.len, sizeof(*r->frames.data), frame_compare);
	plt_words_read(&r->g, &r->words);
	plt_stubs_each(&r->g, &r->words, stub_note, r);
	if (r->stubs.len)
		qsort(r->stubs.data, r->stubs.len, sizeof(*r->stubs.data), stub_compare);
}

/* The code at an address, and how many bytes of its segment follow; NULL: there is none. */
static const uint8_t *code_at(const struct reading *r, uint64_t addr, uint64_t *ret_size)
{
	GElf_Phdr ph;
	size_t n;

	if (elf_getphdrnum(r->g.elf, &n) != 0)
		return NULL;
	for (size_t i = 0; i < n && i <= INT16_MAX; i++) {
		uint64_t off = gelf_getphdr(r->g.elf, (int)i, &ph) ? addr - ph.p_vaddr : UINT64_MAX;

		if (off == UINT64_MAX || ph.p_type != PT_LOAD || !(ph.p_flags & PF_X) ||
		    off >= ph.p_filesz || ph.p_offset > r->size ||
		    ph.p_filesz > r->size - ph.p_offset)
			continue;
		*ret_size = ph.p_filesz - off;
		return r->file + ph.p_offset + off;
	}
	return NULL;
}

/* The first function at or behind an address; NULL: none. */
static const struct function *function_from(const struct reading *r, uint64_t addr)
{
	uint32_t lo = 0, hi = r->functions.len;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (r->functions.data[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->functions.len ? &r->functions.data[lo] : NULL;
}

/* How many bytes of its function, or part of one, follow an address; 0: that is not known. */
static uint64_t bytes_left(const struct reading *r, uint64_t addr)
{
	uint32_t lo = 0, hi = r->frames.len;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (r->frames.data[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || addr - r->frames.data[lo - 1].addr >= r->frames.data[lo - 1].size)
		return 0;
	return r->frames.data[lo - 1].size - (addr - r->frames.data[lo - 1].addr);
}

/* Whether a name may stand in a description. */
static bool name_is_plain(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_')
			return false;
	return *name && strlen(name) < 100;
}

/* The functions at an address: names of one, of which not more than NAMES_MAX count. */
static const struct function *functions_at(const struct reading *r, uint64_t addr, uint32_t *ret_n)
{
	const struct function *f = function_from(r, addr);
	uint64_t left = f ? (uint64_t)(r->functions.data + r->functions.len - f) : 0;

	for (*ret_n = 0; *ret_n < MIN(left, NAMES_MAX) && f[*ret_n].addr == addr;)
		++*ret_n;
	return f;
}

static const char *name_at(const struct reading *r, uint64_t addr)
{
	uint32_t n;
	const struct function *f = functions_at(r, addr, &n);

	for (uint32_t i = 0; i < n; i++)
		if (name_is_plain(f[i].name))
			return f[i].name;
	return NULL;
}

/* ---- ways ------------------------------------------------------------------------------------ */

/* Whether a function by one of its names is seen by itself: requests, and other operators new. */
static bool is_seen(const struct reading *r, uint64_t addr)
{
	uint32_t n;
	const struct function *f = functions_at(r, addr, &n);

	for (uint32_t i = 0; i < n; i++) {
		if (r->is_followed(f[i].name))
			return true;
		for (size_t k = 0; k < NOPERATORS; k++)
			if (strcmp(f[i].name, operators_new[k]) == 0)
				return true;
	}
	return false;
}

/* Where control arrives at an address: behind a stub of the linkage table; 0: in another file. */
static uint64_t target_of(struct reading *r, uint64_t addr, const char **ret_name)
{
	const struct plt wanted = {.addr = addr};
	const struct plt *stub = r->stubs.len ? bsearch(&wanted, r->stubs.data, r->stubs.len,
							sizeof(wanted), stub_compare)
					      : NULL;

	*ret_name = stub ? stub->name : NULL;
	return stub ? stub->func : addr;
}

static void way_add(struct reading *r, uint64_t addr)
{
	const char *name;
	uint64_t to = target_of(r, addr, &name);

	if (r->is_quiet)
		return;
	if (!to) {
		r->ret->is_partial |= !name || !r->is_followed(name);
		return;
	}
	for (uint32_t i = 0; i < r->seen.len; i++)
		if (r->seen.data[i] == to)
			return;
	if (is_seen(r, to))
		return;
	if (r->seen.len == FUNCTIONS_MAX) {
		r->ret->is_partial = true;
		return;
	}
	vec_push(&r->seen, to);
	vec_push(&r->todo, to);
}

/* How often the bytes are in the code of the file: 0, 1, or more (2). */
static uint32_t bytes_count(struct reading *r, const uint8_t *bytes, size_t n)
{
	uint32_t count = 0;
	size_t nph, left = r->size; /* segments do not overlap in a file that a linker has made */
	GElf_Phdr ph;

	if (elf_getphdrnum(r->g.elf, &nph) != 0)
		return 0;
	for (size_t i = 0; i < nph && i <= INT16_MAX; i++) {
		const uint8_t *begin, *at, *end;

		if (!gelf_getphdr(r->g.elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
		    !(ph.p_flags & PF_X) || ph.p_offset > r->size ||
		    ph.p_filesz > r->size - ph.p_offset || ph.p_filesz > left)
			continue;
		left -= ph.p_filesz;
		begin = at = r->file + ph.p_offset;
		end = at + ph.p_filesz;
		while (count < 2 && (at = memmem(at, (size_t)(end - at), bytes, n))) {
			count++;
			at++;
		}
		*r->nsearched += (uint64_t)((at ? at : end) - begin);
	}
	return count;
}

static bool is_known(const struct reading *r, const uint8_t *code, uint32_t n)
{
	for (uint32_t i = 0; i < r->ret->ntails; i++)
		if (r->ret->tails[i].nbytes == n && memcmp(r->ret->tails[i].bytes, code, n) == 0)
			return true;
	return false;
}

static struct tail *tail_new(struct reading *r)
{
	if (r->ret->ntails == TAILS_MAX) {
		r->ret->is_partial = true;
		return NULL;
	}
	if (!r->ret->tails)
		r->ret->tails = mem_check(calloc(TAILS_MAX, sizeof(*r->ret->tails)));
	return &r->ret->tails[r->ret->ntails++];
}

/* A return in a function without a name: as few bytes as tell it from all others. */
static void return_add(struct reading *r, uint64_t addr, const uint8_t *code, uint64_t size)
{
	const struct function *next = function_from(r, addr + 1);

	/* they must end before the next function that has a name */
	size = next ? MIN(size, next->addr - addr) : size;
	for (uint32_t n = TAIL_STEP; n <= TAIL_BYTES && n <= size; n += TAIL_STEP) {
		struct tail *t;

		if (r->ret->ntails == TAILS_MAX || r->nsearches == SEARCHES_MAX ||
		    *r->nsearched >= SEARCHED_MAX)
			break;
		r->nsearches++;
		if (bytes_count(r, code, n) != 1)
			continue;
		t = is_known(r, code, n) ? NULL : tail_new(r);
		if (t) {
			memcpy(t->bytes, code, n);
			t->nbytes = n;
		}
		return;
	}
	r->ret->is_partial = true;
}

static void tail_add_named(struct reading *r, const char *name)
{
	struct tail *t = tail_new(r);

	if (t)
		t->name = mem_check(strdup(name));
}

/* What is known of the ends of a function. */
struct ends {
	bool returns, calls; /* it has a return; and calls a function that is followed */
};

/* Notes the functions to which one jumps, and its returns where it has no name. */
static struct ends function_read(struct reading *r, uint64_t addr, const char *name)
{
	struct ends ret = {0};
	uint64_t left, size = MIN(bytes_left(r, addr), CODE_MAX);
	const uint8_t *code = code_at(r, addr, &left);
	struct insns s;

	if (!code || !size) {
		r->ret->is_partial = true;
		return ret;
	}
	r->ret->is_partial |= !r->is_quiet && bytes_left(r, addr) > CODE_MAX;
	size = MIN(size, left);
	insns_follow(code, (uint32_t)size, false, &s);
	for (uint32_t i = 0; i < s.list.len; i++) {
		const struct insn *in = &s.list.data[i];
		const char *called;
		int32_t distance;
		uint64_t to;

		r->ret->is_partial |= in->kind == INSN_JMP_TAIL && !r->is_quiet;
		if (in->kind == INSN_RET && !name)
			return_add(r, addr + in->off, code + in->off, left - in->off);
		ret.returns |= in->kind == INSN_RET;
		if ((in->kind == INSN_JMP || in->kind == INSN_JCC) &&
		    (in->target < 0 || (uint64_t)in->target >= size))
			way_add(r, addr + (uint64_t)in->target);
		if (in->kind != INSN_PLAIN || in->len != CALL_LEN || code[in->off] != CALL_OPCODE)
			continue;
		memcpy(&distance, code + in->off + 1, sizeof(distance));
		to = target_of(r, addr + in->off + CALL_LEN + (uint64_t)(int64_t)distance, &called);
		ret.calls |= (called && r->is_followed(called)) || (to && is_seen(r, to));
	}
	insns_deinit(&s);
	return ret;
}

static void news_read(struct reading *r)
{
	for (size_t k = 0; k < NOPERATORS; k++)
		for (uint32_t i = 0; i < r->functions.len; i++) {
			const struct function *f = &r->functions.data[i];
			struct ends ends;

			if (strcmp(f->name, operators_new[k]) != 0 || r->ret->news[k].is_there)
				continue;
			r->is_quiet = k & OPERATOR_NOTHROW;
			ends = function_read(r, f->addr, f->name);
			r->is_quiet = false;
			r->ret->news[k] =
				(struct operator_new){true, ends.returns, ends.calls, f->addr};
		}
}

static void deletes_read(struct reading *r)
{
	for (size_t k = 0; k < NDELETES; k++)
		for (uint32_t i = 0; i < r->functions.len; i++)
			r->ret->has_delete[k] |=
				strcmp(r->functions.data[i].name, operators_delete[k]) == 0;
}

bool operators_read(pid_t pid, const char *module, bool (*is_followed)(const char *name),
		    uint64_t *nsearched, struct operators *ret)
{
	struct reading r = {.is_followed = is_followed, .ret = ret, .nsearched = nsearched};
	char *file = module_copy(pid, module, &r.size);

	*ret = (struct operators){0};
	if (!file)
		return false;
	r.file = (const uint8_t *)file;
	gate_elf_memory(file, r.size, GATE_LIMIT_DEFAULT, &r.g);
	if (r.g.elf && gelf_getclass(r.g.elf) == ELFCLASS64) {
		file_read(&r);
		ret->is_known = true;
		news_read(&r);
		deletes_read(&r);
		while (r.todo.len) {
			uint64_t addr = r.todo.data[--r.todo.len];
			const char *name = name_at(&r, addr);

			if (function_read(&r, addr, name).returns && name)
				tail_add_named(&r, name);
		}
	}
	vec_deinit(&r.words);
	vec_deinit(&r.functions);
	vec_deinit(&r.stubs);
	vec_deinit(&r.frames);
	vec_deinit(&r.seen);
	vec_deinit(&r.todo);
	gate_elf_close(&r.g);
	free(file);
	return ret->is_known;
}

void operators_deinit(struct operators *o)
{
	for (uint32_t i = 0; i < o->ntails; i++)
		free(o->tails[i].name);
	free(o->tails);
	*o = (struct operators){0};
}

bool operators_have_bytes(const struct operators *o)
{
	for (uint32_t i = 0; i < o->ntails; i++)
		if (!o->tails[i].name)
			return true;
	return false;
}

/* ---- the program ----------------------------------------------------------------------------- */

bool operator_is_probed(const struct operators *o, size_t k)
{
	return o->news[k].is_there && !(o->is_sampled && o->news[k].calls);
}

bool operators_are_probed(const struct operators *o)
{
	for (size_t k = 0; k < NOPERATORS; k++)
		if (operator_is_probed(o, k))
			return true;
	return false;
}

static bool is_alias(const struct operators *o, size_t k)
{
	for (size_t i = 0; i < k; i++)
		if (operator_is_probed(o, i) && o->news[i].addr == o->news[k].addr)
			return true;
	return false;
}

void operators_declare(struct strbuf *d, const struct operators *o, const char *module,
		       uint32_t number)
{
	for (size_t k = 0; k < NOPERATORS; k++)
		if (k & OPERATOR_NOTHROW && operator_is_probed(o, k) && !is_alias(o, k))
			strbuf_addf(d,
				    "\tprobe q%u_%zu(uintptr_t result) = pid:%s:%s:returned"
				    " (arg1);\n",
				    number, k, module, operators_new[k]);
	for (uint32_t i = 0; i < o->ntails; i++) {
		const struct tail *t = &o->tails[i];

		if (t->name)
			continue;
		strbuf_addf(d, "\tprobe o%u_%u() = pid:%s:memprof_tail-", number, i, module);
		for (uint32_t k = 0; k < t->nbytes; k++)
			strbuf_addf(d, "%02x", t->bytes[k]);
		strbuf_adds(d, ":entry ();\n");
	}
}

/* sp: what the stack pointer was at the entry */
static void result_add(struct strbuf *d, const char *result, const char *sp)
{
	strbuf_addf(d,
		    "\n/%s && self->entered == %s/\n{\n"
		    "\t@bytes[jstack()] = live(%s, self->size);\n"
		    "\t@hits = count();\n\tself->entered = 0;\n}\n",
		    result, sp, result);
}

/* The same of operators that throw nothing: one that returns 0 has failed, and is over, too. */
static void quiet_result_add(struct strbuf *d)
{
	/* the return address is off the stack */
	strbuf_adds(d, "\n/self->entered == uregs[R_SP] - 8/\n{\n\tif (arg0) {\n"
		       "\t\t@bytes[jstack()] = live(arg0, self->size);\n"
		       "\t\t@hits = count();\n\t}\n\tself->entered = 0;\n}\n");
}

/* The results of the operators of a module: at their own returns, and those of tails. */
static void results_add(struct strbuf *d, const struct operators *o, const char *module,
			uint32_t number)
{
	const char *before = "";

	for (size_t k = 0; k < NOPERATORS; k++)
		if (!(k & OPERATOR_NOTHROW) && operator_is_probed(o, k) && o->news[k].returns) {
			strbuf_addf(d, "%s\npid$target:%s:%s:return", before, module,
				    operators_new[k]);
			before = ",";
		}
	for (uint32_t i = 0; i < o->ntails; i++)
		if (o->tails[i].name) {
			strbuf_addf(d, "%s\npid$target:%s:%s:return", before, module,
				    o->tails[i].name);
			before = ",";
		}
	if (*before)
		result_add(d, "arg1", "uregs[R_SP]"); /* arg1 is 0 at a jump */
	before = "";
	for (size_t k = 0; k < NOPERATORS; k++)
		if (k & OPERATOR_NOTHROW && operator_is_probed(o, k) && !is_alias(o, k)) {
			strbuf_addf(d, "%s\nmemprof$target:::q%u_%zu", before, number, k);
			before = ",";
		}
	if (*before)
		quiet_result_add(d);
	before = "";
	for (uint32_t i = 0; i < o->ntails; i++)
		if (!o->tails[i].name) {
			strbuf_addf(d, "%s\nmemprof$target:::o%u_%u", before, number, i);
			before = ",";
		}
	if (*before)
		result_add(d, "uregs[R_RAX]", "uregs[R_SP]");
}

void operators_trace(struct strbuf *d, const struct operators *o, const char *module,
		     uint32_t number,
		     void (*entry_add)(struct strbuf *d, const char *probe, const void *arg),
		     const void *arg)
{
	char probe[300];

	for (size_t k = 0; k < NOPERATORS; k++) {
		if (!operator_is_probed(o, k) || is_alias(o, k))
			continue;
		(void)snprintf(probe, sizeof(probe), "pid$target:%s:%s:entry", module,
			       operators_new[k]);
		entry_add(d, probe, arg);
	}
	results_add(d, o, module, number);
	for (size_t k = 0; k < NDELETES; k++)
		if (o->has_delete[k])
			strbuf_addf(d, "\npid$target:%s:%s:entry\n/arg0%s/\n{\n\tdead(arg0);\n}\n",
				    module, operators_delete[k],
				    o->is_sampled ? " && followed(arg0)" : "");
}
