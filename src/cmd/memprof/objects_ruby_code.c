/* SPDX-License-Identifier: MIT */
/*
 * Code of Ruby in which objects are handed out, so that probes see them without the kernel.
 *
 * The functions that hand out slots have their results at their return instructions, unless they
 * end with a jump into another function.
 *
 * The slot of a plain object is taken by a function without a name (rb_class_allocate_instance),
 * from the thread's list of free ones or by another function. The flags of such an object stand
 * nowhere else in the code, and its class is in a register that calls keep:
 *
 *     48 c7 02 01 20 00 00    movq $0x2001,(%rdx)
 *     48 89 5a 08             mov  %rbx,8(%rdx)
 *                             the first place: rdx is the object, rbx its class
 *     48 89 df                mov  %rbx,%rdi
 *     be 01 20 00 00          mov  $0x2001,%esi
 *     e8 70 fb ff ff          call
 *                             the second place: rax is the object
 *
 * Facts    T_OBJECT is 1, ROBJECT_EMBED 0x2000 in Ruby 3.0 and 3.1. Intel SDM vol. 2, 2.1.3
 *          (ModR/M), "MOV".
 */
#include <string.h>

#include "arch/text.h"
#include "objects_ruby.h"

#define NEAR_MAX     1024  /* bytes from the first place to the second one */
#define CODE_MAX     16384 /* of a function that hands out slots: one of Ruby has some hundreds */
#define NAMES_MAX    8
#define MODRM_SIB    4
#define MODRM_OFFSET 5
#define REX_W	     0x48
#define REX_R	     4
#define REX_B	     1
#define REGISTER_SP  4
#define REGISTER_RDI 7
#define REGISTER_RAX 0
#define FLAGS	     "\x01\x20\x00\x00"
#define FLAGS_SIZE   4

static const char *const registers[] = {
	"RAX", "RCX", "RDX", "RBX", "RSP", "RBP", "RSI", "RDI",
	"R8",  "R9",  "R10", "R11", "R12", "R13", "R14", "R15",
};

/* Registers that a function leaves as they were: RBX, RBP, R12 to R15. */
static bool is_kept(uint8_t reg)
{
	return reg == 3 || reg == 5 || reg >= 12;
}

/* Whether a place is that behind "movq $flags,(object)" and "mov class,8(object)". */
static bool is_stored(const uint8_t *code, size_t size, struct ruby_place *ret, size_t *ret_len)
{
	uint8_t object, class;

	if (size < 11 || (code[0] & ~REX_B) != REX_W || code[1] != 0xc7 || code[2] & 0xf8 ||
	    code[2] == MODRM_SIB || code[2] == MODRM_OFFSET ||
	    memcmp(code + 3, FLAGS, FLAGS_SIZE) != 0)
		return false;
	object = (uint8_t)(code[2] | (code[0] & REX_B) << 3);
	if ((code[7] & ~(REX_B | REX_R)) != REX_W || (code[7] & REX_B) != (code[0] & REX_B) ||
	    code[8] != 0x89 || (code[9] & 0xc7) != (0x40 | code[2]) || code[10] != 8)
		return false;
	class = (uint8_t)((code[9] >> 3 & 7) | (code[7] & REX_R) << 1);
	if (!is_kept(class))
		return false;
	ret->object = registers[object];
	ret->class = registers[class];
	*ret_len = 11;
	return true;
}

/* Whether it is that behind "mov class,%rdi", "mov $flags,%esi" and a call. */
static bool is_called(const uint8_t *code, size_t size, struct ruby_place *ret, size_t *ret_len)
{
	uint8_t class;

	if (size < 13 || (code[0] & ~REX_R) != REX_W || code[1] != 0x89 ||
	    (code[2] & 0xc7) != (0xc0 | REGISTER_RDI) || code[3] != 0xbe ||
	    memcmp(code + 4, FLAGS, FLAGS_SIZE) != 0 || code[8] != 0xe8)
		return false;
	class = (uint8_t)((code[2] >> 3 & 7) | (code[0] & REX_R) << 1);
	if (!is_kept(class))
		return false;
	ret->object = registers[REGISTER_RAX];
	ret->class = registers[class];
	*ret_len = 13;
	return true;
}

struct plain_search {
	struct ruby_code *to;
	uint32_t nstored, ncalled;
};

static void plain_search(const uint8_t *code, size_t size, uint64_t addr, void *arg)
{
	struct plain_search *s = arg;
	struct ruby_place place;
	size_t len;

	for (size_t i = 0; i < size; i++) {
		bool is_first = is_stored(code + i, size - i, &place, &len);

		if (!is_first && !is_called(code + i, size - i, &place, &len))
			continue;
		place.addr = addr + i + len;
		s->to->plain[is_first ? 0 : 1] = place;
		s->nstored += is_first;
		s->ncalled += !is_first;
	}
}

/* Whether there is one place of each kind, near each other, with the class in one register. */
static bool plain_find(const struct objects *o, struct ruby_code *ret)
{
	struct plain_search s = {.to = ret};
	const struct ruby_place *p = ret->plain;
	uint64_t apart;

	if (!code_find(o->m->pid, o->module, plain_search, &s) || s.nstored != 1 || s.ncalled != 1)
		return false;
	apart = p[0].addr < p[1].addr ? p[1].addr - p[0].addr : p[0].addr - p[1].addr;
	return apart <= NEAR_MAX && strcmp(p[0].class, p[1].class) == 0;
}

/* ---- ends of functions ----------------------------------------------------------------------- */

struct ends {
	const char *const *names;
	size_t n, nreturning;
	bool is_seen[NAMES_MAX]; /* a name of a hostile file is there often */
};

/* Whether all ways out of the code are returns: no jump leads out of it, or where is not known. */
static bool is_returning(const uint8_t *code, size_t size, uint64_t addr)
{
	struct strbuf text = {0};
	bool ret = size > 0 && size <= CODE_MAX;

	for (size_t at = 0; at < size && ret;) {
		struct insn_text t = insn_text_add(&text, code + at, size - at, addr + at);
		bool is_jump = t.len && text.len && text.data[0] == 'j';

		strbuf_clear(&text);
		if (!t.len || (is_jump && (!t.has_address || t.address - addr >= size)))
			ret = false;
		at += t.len;
	}
	strbuf_deinit(&text);
	return ret;
}

static bool end_note(const char *name, const uint8_t *code, size_t size, uint64_t addr, void *arg)
{
	struct ends *e = arg;

	for (size_t i = 0; i < e->n; i++) {
		if (e->is_seen[i] || strcmp(name, e->names[i]) != 0)
			continue;
		e->is_seen[i] = true;
		e->nreturning += is_returning(code, size, addr);
	}
	return true;
}

bool ruby_code_find(const struct objects *o, const char *const *slots, size_t n,
		    struct ruby_code *ret)
{
	struct ends e = {.names = slots, .n = n};
	size_t nslots = 0;

	if (n > NAMES_MAX)
		BUG("too many functions hand out slots: %zu", n);
	for (size_t i = 0; i < n; i++)
		nslots += o->has[i];
	return plain_find(o, ret) && functions_read(o->m->pid, o->module, end_note, &e) &&
	       e.nreturning == nslots;
}
