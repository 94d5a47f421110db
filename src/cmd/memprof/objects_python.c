/* SPDX-License-Identifier: MIT */
/*
 * Objects of CPython 3.8 to 3.11: where the interpreter sets the number of references of a new
 * object to 1.
 *
 * Compilers inline the functions that make objects, and free lists hand out objects without calling
 * any, so that no set of functions sees all objects. But each of them goes through
 * _Py_NewReference(), and each inlined copy of that asks the exported variable
 * _Py_tracemalloc_config.tracing before the number of references is set:
 *
 *     8b 15 da c6 53 00       mov    _Py_tracemalloc_config+4(%rip),%edx
 *     85 d2                   test   %edx,%edx
 *     75 56                   jne    to the call for tracemalloc
 *     48 c7 00 01 00 00 00    movq   $1,(%rax)          the probe; rax is the object
 *
 * So the code is searched for instructions that read this variable. From there on it is decoded
 * instruction by instruction, along the way without tracemalloc, until the store. In Debian's
 * python3.11 there are 209 such places. Other readers of the variable have no such store.
 *
 * Facts    CPython 3.8 to 3.11 Include/internal/pycore_object.h, Objects/object.c; 3.12 has the
 *          variable in _PyRuntime. Intel SDM vol. 2, 2.1.3 (ModR/M), "MOV", "CMP", "Jcc".
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arch/text.h"
#include "objects.h"
#include "privilege/privilege.h"

enum { DEALLOC, FINALIZE };

static const char *const functions[] = {
	[DEALLOC] = "_Py_Dealloc",
	[FINALIZE] = "Py_FinalizeEx",
	[FINALIZE + 1] = NULL,
};

#define TRACING_AT   4	  /* in _Py_tracemalloc_config */
#define SITES_MAX    2048 /* there are some two hundred */
#define INSNS_MAX    16	  /* between the instructions in question; eleven are the most */
#define NREGISTERS   16
#define STORE_SIZE   7
#define MODRM_RIP    5 /* of ModR/M without the register: an address behind the instruction */
#define MODRM_SIB    4
#define MODRM_OFFSET 5

static const char *const registers[NREGISTERS] = {
	"RAX", "RCX", "RDX", "RBX", "RSP", "RBP", "RSI", "RDI",
	"R8",  "R9",  "R10", "R11", "R12", "R13", "R14", "R15",
};

struct sites {
	uint64_t tracing; /* the variable's address; 0: there is none */
	uint64_t addrs[SITES_MAX];
	uint8_t registers[SITES_MAX];
	size_t n;
};

static bool variable_note(const char *name, uint64_t addr, void *arg)
{
	if (strcmp(name, "_Py_tracemalloc_config") != 0)
		return true;
	((struct sites *)arg)->tracing = addr + TRACING_AT;
	return false;
}

/* Whether the instruction is "movq $1,(register)". */
static bool is_store(const uint8_t *code, size_t len, uint8_t *ret_register)
{
	uint8_t base, extension, mod;
	size_t at = 3;

	if (len < STORE_SIZE || (code[0] & 0xfe) != 0x48 || code[1] != 0xc7 || code[2] & 0x38)
		return false;
	base = code[2] & 7;
	extension = (code[0] & 1) << 3;
	mod = code[2] >> 6;
	if (base == MODRM_SIB) {
		if ((code[at++] & 0x3f) != 0x24) /* an index */
			return false;
	}
	if (mod == 1) {
		if (code[at++])
			return false;
	} else if (mod || base == MODRM_OFFSET) {
		return false;
	}
	if (len != at + 4 || memcmp(code + at, "\1\0\0\0", 4) != 0)
		return false;
	*ret_register = base | extension;
	return true;
}

/* Whether it jumps if the variable is 0, or if it is not. */
static bool is_jump(const uint8_t *code, size_t len, bool *ret_if_zero)
{
	uint8_t op = len == 2 ? code[0] : len == 6 && code[0] == 0x0f ? code[1] - 0x10 : 0;

	*ret_if_zero = op == 0x74;
	return op == 0x74 || op == 0x75;
}

/* Follows the code from an instruction that reads the variable. */
static void site_follow(struct sites *s, const uint8_t *code, size_t size, uint64_t addr, size_t at)
{
	struct strbuf text = {0};
	bool is_past_jump = false, if_zero;

	for (uint32_t i = 0; i < INSNS_MAX && at < size; i++) {
		struct insn_text t = insn_text_add(&text, code + at, size - at, addr + at);
		const uint8_t *insn = code + at;

		if (!t.len)
			break;
		if (is_past_jump && is_store(insn, t.len, &s->registers[s->n])) {
			s->addrs[s->n++] = addr + at;
			break;
		}
		at += t.len;
		if (!is_jump(insn, t.len, &if_zero))
			continue;
		if (is_past_jump || !t.has_address)
			break;
		is_past_jump = true;
		if (if_zero)
			at = t.address - addr;
	}
	strbuf_deinit(&text);
}

static void code_search(const uint8_t *code, size_t size, uint64_t addr, void *arg)
{
	struct sites *s = arg;

	for (size_t i = 2; i + 5 <= size && s->n < SITES_MAX; i++) {
		bool is_compare = code[i - 2] == 0x83 && code[i - 1] == (0x38 | MODRM_RIP);
		int32_t offset;

		if (!is_compare && (code[i - 2] != 0x8b || (code[i - 1] & 0xc7) != MODRM_RIP))
			continue;
		memcpy(&offset, code + i, sizeof(offset));
		if (addr + i + 4 + is_compare + (uint64_t)(int64_t)offset == s->tracing)
			site_follow(s, code, size, addr, i - 2);
	}
}

/* A clause for all places that have the object in the same register. */
static void clause_add(struct objects *o, const struct sites *s, uint8_t number)
{
	const char *sep = "\n";

	for (size_t i = 0; i < s->n; i++) {
		if (s->registers[i] != number)
			continue;
		strbuf_addf(&o->d, "%spid$target:a.out:-:%llx", sep,
			    (unsigned long long)s->addrs[i]);
		sep = ",\n";
	}
	if (*sep == '\n')
		return;
	strbuf_addf(&o->d,
		    "\n/!ended/\n{\n\tthis->class = *(uint64_t *)copyin(uregs[R_%s] + 8, 8);\n"
		    "\t@objects[lfile, lline, this->class] = ",
		    registers[number]);
	if (o->m->is_created)
		strbuf_adds(&o->d, "sum(1)");
	else
		strbuf_addf(&o->d, "live(uregs[R_%s], 1)", registers[number]);
	strbuf_adds(&o->d, ";\n\t@hits = count();\n}\n");
}

static void program_add(struct objects *o, const struct sites *s)
{
	const char *sep = "\n";

	strbuf_adds(&o->d, memprof_d_objects_python);
	for (uint8_t r = 0; r < NREGISTERS; r++)
		clause_add(o, s, r);
	for (size_t i = 0; i < s->n; i++) {
		strbuf_addf(&o->d, "%spid$target:a.out:-:%llx", sep,
			    (unsigned long long)s->addrs[i]);
		sep = ",\n";
	}
	strbuf_adds(&o->d, "\n/this->class && !known[this->class]/\n{\n"
			   "\t@names[this->class,"
			   " copyinstr(*(uint64_t *)copyin(this->class + 24, 8))] = count();\n"
			   "\tknown[this->class] = 1;\n}\n");
	if (!o->m->is_created)
		strbuf_adds(&o->d, "\npid$target:a.out:_Py_Dealloc:entry\n/!ended/\n"
				   "{\n\tdead(arg0);\n}\n");
}

/* Whether the module is the program itself, not a library. */
static bool is_program(const struct objects *o)
{
	char path[64], name[4096];
	const char *base;
	ssize_t len;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)o->m->pid);
	len = readlink(path, name, sizeof(name) - 1);
	if (len < 0)
		return false;
	name[len] = '\0';
	base = strrchr(name, '/');
	return base && strcmp(base + 1, o->module) == 0;
}

/* NULL: all places are known where objects are made; else the reason. */
static const char *sites_find(struct objects *o, struct sites *s)
{
	if (!is_program(o))
		return "it is a library; only a Python that is all in its program can be followed";
	(void)variables_find(o->m->pid, o->module, variable_note, s);
	if (!s->tracing || !o->has[FINALIZE])
		return "it has no variable _Py_tracemalloc_config, which CPython 3.8 to 3.11 have";
	(void)code_find(o->m->pid, o->module, code_search, s);
	return !s->n		   ? "no code is found in it that makes objects"
	       : s->n == SITES_MAX ? "it has too much code that makes objects"
				   : NULL;
}

static bool python_program_make(struct objects *o)
{
	struct sites *s = mem_check(calloc(1, sizeof(*s)));
	const char *why = sites_find(o, s);

	/* the sites are addresses of code, in a program without symbols */
	if (!why)
		levels_need(o->m, LEVEL_USER | LEVEL_PROC | LEVEL_PROC_OWNER,
			    "memprof objects of Python");
	if (why) {
		say("objects of '%s' cannot be followed: %s", o->module, why);
		fputs("hint: memprof without a word shows what grows\n", stderr);
	} else {
		program_add(o, s);
	}
	free(s);
	return !why;
}

const struct runtime runtime_python = {
	.name = "Python",
	.functions = functions,
	.program_make = python_program_make,
};
