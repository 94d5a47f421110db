/* SPDX-License-Identifier: MIT */
/*
 * Objects of Perl 5.30 to 5.42: what was blessed, and the lines that need new arenas.
 *
 * Perl_sv_clear() frees a value, and in a loop, without another call of itself, all that only this
 * value leads to. Of these, hashes and code are given to functions of their own. Arrays and scalars
 * are not: those that go with what holds them count until their memory is used again.
 *
 * perl inlines the code that takes a value's head from the list of free ones, so values are not
 * seen one by one. Perl_more_sv() makes a new arena when the list is empty: a page of 4,080 bytes,
 * one head of 24 bytes for itself and 169 to hand out, of which it returns the first. The arena is
 * known by its own head, because the values are freed.
 *
 * Facts    sv.h, hv.h, op.h, Perl_more_sv() and Perl_sv_clear() in sv.c of Perl 5.30 to 5.42: what
 *          a reference leads to is at 16 of its head; the name of a package is in the part of its
 *          hash that few hashes have, behind the body from 5.36 on, else behind the elements. The
 *          first word of an operation leads to the next one. Where perl is built with threads, as
 *          Debian's is, the interpreter is the first argument of functions, PL_op its second word,
 *          and there is the variable PL_thr_key.
 */
#include <string.h>

#include "objects.h"

enum { BLESS, CLEAR, HASH_UNDEF, CODE_UNDEF, MORE, LEAVE, EXIT, FAILURE, DESTRUCT, WITH_AUX };

static const char *const functions[] = {
	[BLESS] = "Perl_sv_bless",
	[CLEAR] = "Perl_sv_clear",
	[HASH_UNDEF] = "Perl_hv_undef_flags",
	[CODE_UNDEF] = "Perl_cv_undef",
	[MORE] = "Perl_more_sv",
	/* the end: these leave scopes, which frees variables, before perl_destruct() is called */
	[LEAVE] = "Perl_pp_leave",
	[EXIT] = "Perl_my_exit",
	[FAILURE] = "Perl_my_failure_exit",
	[DESTRUCT] = "perl_destruct",
	/* from 5.36 on: the extended part of a hash is behind its body */
	[WITH_AUX] = "Perl_hv_auxalloc",
	[WITH_AUX + 1] = NULL,
};

#define ARENA_VALUES 169
#define CLASS_ARENA  1

struct variables {
	bool has_threads;
	uint64_t op; /* the address of PL_op, which a perl without threads has; 0: there is none */
};

static bool variable_note(const char *name, uint64_t addr, void *arg)
{
	struct variables *v = arg;

	if (strcmp(name, "PL_op") == 0)
		v->op = addr;
	v->has_threads |= strcmp(name, "PL_thr_key") == 0;
	return !v->has_threads;
}

static void bless_add(struct objects *o, int first)
{
	/* has one of 0x2000000: the package's hash has the part with its name */
	strbuf_addf(&o->d, "\npid$target:%s:%s:entry\n/!ended/\n{\n", o->module, functions[BLESS]);
	strbuf_addf(&o->d,
		    "\tthis->object = *(uint64_t *)copyin(arg%d + 16, 8);\n"
		    "\tthis->class = (uint64_t)arg%d;\n",
		    first, first + 1);
	strbuf_addf(&o->d, "\t@objects[lfile, lline, this->class] = %s;\n\t@hits = count();\n}\n",
		    o->m->is_created ? "sum(1)" : "live(this->object, 1)");
	strbuf_addf(&o->d,
		    "\npid$target:%s:%s:entry\n/this->class && !known[this->class] &&\n"
		    "    *(uint32_t *)copyin(this->class + 12, 4) & 0x2000000/\n{\n"
		    "\tthis->body = *(uint64_t *)copyin(this->class, 8);\n",
		    o->module, functions[BLESS]);
	strbuf_adds(&o->d, o->has[WITH_AUX]
				   ? "\tthis->aux = this->body + 32;\n"
				   : "\tthis->aux = *(uint64_t *)copyin(this->class + 16, 8) +\n"
				     "\t    8 * *(uint64_t *)copyin(this->body + 24, 8) + 8;\n");
	strbuf_adds(&o->d, "\tthis->name = *(uint64_t *)copyin(this->aux, 8);\n"
			   "\tthis->name = *(uint32_t *)copyin(this->aux + 28, 4) ?\n"
			   "\t    *(uint64_t *)copyin(this->name, 8) : this->name;\n"
			   "\t@names[this->class, copyinstr(this->name + 8)] = count();\n"
			   "\tknown[this->class] = 1;\n}\n");
}

static void clear_add(struct objects *o, int first)
{
	strbuf_addf(&o->d, "\npid$target:%s:%s:entry", o->module, functions[CLEAR]);
	if (o->has[CODE_UNDEF]) /* "undef &code" calls another function */
		strbuf_addf(&o->d, ",\npid$target:%s:%s:entry", o->module, functions[CODE_UNDEF]);
	strbuf_addf(&o->d, "\n/!ended/\n{\n\tdead(arg%d);\n}\n", first);
	if (o->has[HASH_UNDEF]) /* "undef %hash" has no flags, and leaves it an object */
		strbuf_addf(
			&o->d,
			"\npid$target:%s:%s:entry\n/!ended && (uint32_t)arg%d/\n{\n\tdead(arg%d);\n}\n",
			o->module, functions[HASH_UNDEF], first + 1, first);
}

/* The last operation of the program leaves its file's scope, and no other follows it. */
static void leave_add(struct objects *o, const struct variables *v)
{
	if (!o->has[LEAVE] || (!v->has_threads && !v->op))
		return;
	strbuf_addf(&o->d,
		    "\npid$target:%s:%s:entry\n/!ended/\n{\n\tthis->op = *(uint64_t *)copyin(",
		    o->module, functions[LEAVE]);
	if (v->has_threads)
		strbuf_adds(&o->d, "arg0 + 8");
	else
		strbuf_addf(&o->d, "0x%llx", (unsigned long long)v->op);
	strbuf_adds(&o->d, ", 8);\n\tended = *(uint64_t *)copyin(this->op, 8) == 0;\n}\n");
}

static bool perl_program_make(struct objects *o)
{
	struct variables v = {0};
	int first;

	(void)variables_find(o->m->pid, o->module, variable_note, &v);
	first = v.has_threads ? 1 : 0;
	class_name_note(o, CLASS_ARENA, "values (1 of 169 seen)");
	strbuf_adds(&o->d, memprof_d_objects_perl);
	if (o->has[MORE])
		strbuf_addf(&o->d,
			    "\nprovider memprof {\n"
			    "\tprobe arena(uintptr_t value) = pid:%s:%s:returned (arg1);\n};\n",
			    o->module, functions[MORE]);
	bless_add(o, first);
	if (o->has[MORE])
		strbuf_addf(
			&o->d,
			"\nmemprof$target:::arena\n/!ended && arg0/\n{\n"
			"\t@objects[lfile, lline, (uint64_t)%d] = %s%d);\n\t@hits = count();\n}\n",
			CLASS_ARENA, o->m->is_created ? "sum(" : "live(arg0 - 24, ", ARENA_VALUES);
	if (!o->m->is_created && o->has[CLEAR])
		clear_add(o, first);
	leave_add(o, &v);
	for (size_t i = EXIT; i <= DESTRUCT; i++)
		if (o->has[i])
			strbuf_addf(&o->d, "\npid$target:%s:%s:entry\n{\n\tended = 1;\n}\n",
				    o->module, functions[i]);
	return true;
}

const struct runtime runtime_perl = {
	.name = "Perl",
	.functions = functions,
	.program_make = perl_program_make,
};
