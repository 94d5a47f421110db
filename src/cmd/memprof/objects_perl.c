/* SPDX-License-Identifier: MIT */
/*
 * Objects of Perl 5.30 to 5.42: what was blessed, exactly, and the lines that need new arenas.
 *
 * perl inlines the code that takes a value's head from the list of free ones, so values are not
 * seen one by one. Perl_more_sv() makes a new arena when the list is empty: a page of 4,080 bytes,
 * one head of 24 bytes for itself and 169 to hand out, of which it returns the first. The arena is
 * known by its own head, because the values are freed.
 *
 * Facts    sv.h, hv.h, Perl_more_sv() in sv.c of Perl 5.30 to 5.42: what a reference leads to is at
 *          16 of its head; the name of a package is in the part of its hash that few hashes have,
 *          behind the body from 5.36 on, else behind the elements. Where perl is built with
 *          threads, as Debian's is, the interpreter is the first argument of functions, and there
 *          is the variable PL_thr_key.
 */
#include <string.h>

#include "objects.h"

enum { BLESS, CLEAR, MORE, DESTRUCT, WITH_AUX };

static const char *const functions[] = {
	[BLESS] = "Perl_sv_bless",
	[CLEAR] = "Perl_sv_clear",
	[MORE] = "Perl_more_sv",
	[DESTRUCT] = "perl_destruct",
	/* from 5.36 on: the extended part of a hash is behind its body */
	[WITH_AUX] = "Perl_hv_auxalloc",
	[WITH_AUX + 1] = NULL,
};

#define ARENA_VALUES 169
#define CLASS_ARENA  1

static bool threads_note(const char *name, uint64_t addr, void *arg)
{
	(void)addr;
	*(bool *)arg |= strcmp(name, "PL_thr_key") == 0;
	return !*(bool *)arg;
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

static bool perl_program_make(struct objects *o)
{
	bool has_threads = false;
	int first;

	(void)variables_find(o->m->pid, o->module, threads_note, &has_threads);
	first = has_threads ? 1 : 0;
	class_add(o, CLASS_ARENA, "values (1 of 169 seen)");
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
		strbuf_addf(&o->d, "\npid$target:%s:%s:entry\n/!ended/\n{\n\tdead(arg%d);\n}\n",
			    o->module, functions[CLEAR], first);
	if (o->has[DESTRUCT])
		strbuf_addf(&o->d, "\npid$target:%s:%s:entry\n{\n\tended = 1;\n}\n", o->module,
			    functions[DESTRUCT]);
	return true;
}

const struct runtime runtime_perl = {
	.name = "Perl",
	.functions = functions,
	.program_make = perl_program_make,
};
