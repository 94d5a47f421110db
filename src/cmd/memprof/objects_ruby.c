/* SPDX-License-Identifier: MIT */
/*
 * Objects of Ruby: functions that hand out slots, and which argument of these is the class.
 *
 * A class that is built in has its name from the library's variables, which are read at once from a
 * process that runs, and told by one of -c when its program begins. Classes of the program have it
 * from the debugger (objects_names.c) where the process follows its objects by itself, else from
 * the interpreter's probe object-create, which new() fires before it has the object. Others are
 * printed as an address.
 *
 * Where the code is one that objects_ruby_code.c knows, all objects are seen in registers, by
 * probes that jump: the process itself keeps what is alive, by the place of its innermost frame
 * (lfile, lline). A program of -c is held when its interpreter begins to take itself down.
 *
 * Elsewhere the slots of plain objects (T_OBJECT) are seen where new() is about to call
 * initialize(), and where rb_obj_alloc() has made one for dup(), clone() or Marshal.load().
 *
 * No function that has a name frees plain objects: option livecheck.
 *
 * Facts    flags, of which the low 5 bits are the type (T_OBJECT is 1), then the class: struct
 *          RBasic; super at 16: struct RClass; of Ruby 2.7 to 3.2.
 */
#include <stdio.h>
#include <string.h>

#include "objects_ruby.h"
#include "privilege/privilege.h"

enum {
	SLOT_EC, /* with this one the others have the class first, as Ruby 2.7 to 3.2 have */
	SLOT_OF,
	SLOT_PROTECTED,
	SLOT_UNPROTECTED,
	NSLOTS,
	STR_FREE = NSLOTS,
	ARY_FREE,
	RUN,
	INITIALIZE,
	ALLOCATE,
	FINALIZE,
};

static const char *const functions[] = {
	[SLOT_EC] = "rb_ec_wb_protected_newobj_of",
	[SLOT_OF] = "rb_newobj_of",
	[SLOT_PROTECTED] = "rb_wb_protected_newobj_of",
	[SLOT_UNPROTECTED] = "rb_wb_unprotected_newobj_of",
	[STR_FREE] = "rb_str_free",
	[ARY_FREE] = "rb_ary_free",
	[RUN] = "ruby_run_node",
	[INITIALIZE] = "rb_obj_call_init_kw",
	[ALLOCATE] = "rb_obj_alloc",
	[FINALIZE] = "ruby_sig_finalize",
	[FINALIZE + 1] = NULL,
};

/*
 * One of so many objects is counted for the rate of allocations: those whose address has zeros in
 * these bits. Slots are five words long, so all bits are as often 0 as 1. A power of two.
 */
#define COUNTED_OF 128

/* Ruby has some sixty such classes; a file of the process may say anything. */
#define NAMES_MAX    256
#define NAME_MAX_LEN 64

struct variables {
	struct objects *o;
	struct memory_words words;
	char *names[NAMES_MAX];
};

/* rb_cString is String. */
static bool variable_note(const char *name, uint64_t addr, void *arg)
{
	struct variables *v = arg;

	if (strncmp(name, "rb_c", 4) != 0 || name[4] < 'A' || name[4] > 'Z' ||
	    strnlen(name, NAME_MAX_LEN) == NAME_MAX_LEN ||
	    name[strspn(name, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")])
		return true;
	v->names[v->words.n] = mem_check(strdup(name + 4));
	v->words.addrs[v->words.n++] = addr;
	return v->words.n < NAMES_MAX;
}

/*
 * In a process of -c the variables are not set yet: the program reads them, for @names. False: no
 * probe can be placed, which was said.
 */
static bool names_make(struct objects *o)
{
	struct variables v = {.o = o};
	bool is_stuck;

	v.words.addrs = mem_check(calloc(NAMES_MAX, sizeof(*v.words.addrs)));
	(void)variables_find(o->m->pid, o->module, variable_note, &v);
	if (!o->m->command && !memory_words_read(o->m->pid, &v.words) && !v.words.is_stuck)
		say("names of built-in classes could not be read: a file system or process that may "
		    "not answer serves memory of process %d",
		    (int)o->m->pid);
	for (size_t i = 0; i < v.words.n; i++) {
		if (o->m->command)
			strbuf_addf(&o->d,
				    "\t@names[*(uint64_t *)copyin(0x%llx, 8), \"%s\"] = count();\n",
				    (unsigned long long)v.words.addrs[i], v.names[i]);
		else if (v.words.values[i])
			class_name_note(o, v.words.values[i], v.names[i]);
		free(v.names[i]);
	}
	is_stuck = v.words.is_stuck;
	memory_words_deinit(&v.words);
	if (is_stuck)
		say("objects of process %d cannot be followed: its memory does not answer, which a "
		    "file system or process serves, and a probe would wait for it without end",
		    (int)o->m->pid);
	return !is_stuck;
}

static void create_note(const char *module, const char *function, void *arg)
{
	(void)module;
	(void)function;
	*(bool *)arg = true;
}

/* Adds the action that follows a new object, with its line and class as the key. */
static void object_add(struct objects *o, const char *class, const char *object)
{
	strbuf_addf(&o->d, "{\n\t@objects[lfile, lline, %s] = ", class);
	if (o->m->is_created)
		strbuf_adds(&o->d, "sum(1)");
	else
		strbuf_addf(&o->d, "live(%s, 1)", object);
	if (o->m->has_maxrate)
		strbuf_adds(&o->d, ";\n\t@hits = sum(1);\n}\n");
	else
		strbuf_addf(&o->d, ";\n\tif (!(%s & %d)) { @own = sum(%d); }\n}\n", object,
			    8 * (COUNTED_OF - 1), COUNTED_OF);
}

/*
 * All objects by probes of which a process can take care itself: no memory is read, nobody's return
 * address is replaced, and names of classes are left to others (names_add()).
 */
static void own_objects_add(struct objects *o, const struct ruby_code *code)
{
	const char *sep = "\n";

	for (size_t i = 0; i < NSLOTS; i++)
		if (o->has[i])
			strbuf_addf(&o->d,
				    "\npid$target:%s:%s:entry\n{\n\tself->class = arg%d;\n}\n",
				    o->module, functions[i], i == SLOT_EC ? 1 : 0);
	for (size_t i = 0; i < NSLOTS; i++)
		if (o->has[i]) {
			strbuf_addf(&o->d, "%spid$target:%s:%s:return", sep, o->module,
				    functions[i]);
			sep = ",\n";
		}
	strbuf_adds(&o->d, "\n/self->class && arg1/\n");
	object_add(o, "self->class", "arg1");
	for (size_t i = 0; i < sizeof(code->plain) / sizeof(code->plain[0]); i++) {
		const struct ruby_place *p = &code->plain[i];
		char class[32], object[32];

		(void)snprintf(class, sizeof(class), "(uint64_t)uregs[R_%s]", p->class);
		(void)snprintf(object, sizeof(object), "uregs[R_%s]", p->object);
		strbuf_addf(&o->d, "\npid$target:%s:-:%llx\n", o->module,
			    (unsigned long long)p->addr);
		object_add(o, class, object);
	}
}

/* Adds the slots of all but plain objects, whose class is known before they are handed out. */
static void slots_add(struct objects *o)
{
	struct strbuf *d = &o->d;
	const char *sep = "\n";

	for (size_t i = 0; i < NSLOTS; i++)
		if (o->has[i])
			strbuf_addf(d, "\npid$target:%s:%s:entry\n{\n\tself->class = arg%d;\n}\n",
				    o->module, functions[i], i == SLOT_EC ? 1 : 0);
	for (size_t i = 0; i < NSLOTS; i++)
		if (o->has[i]) {
			strbuf_addf(d, "%smemprof$target:::slot%zu", sep, i);
			sep = ",\n";
		}
	strbuf_addf(d,
		    "\n/self->class && arg0/\n{\n\t@objects[lfile, lline, self->class] = %s;\n"
		    "\t@hits = count();\n}\n",
		    o->m->is_created ? "sum(1)" : "live(arg0, 1)");
}

/*
 * Adds, at a probe whose arg0 is a new object of any kind, what names its class, and the object, if
 * it is a plain one.
 */
static void new_object_add(struct objects *o, const char *probe)
{
	strbuf_addf(&o->d,
		    "\n%s\n/arg0 > 4096 && !(arg0 & 7)/\n{\n"
		    "\tthis->kind = *(uint64_t *)copyin(arg0, 8) & 0x1f;\n"
		    "\tthis->class = *(uint64_t *)copyin(arg0 + 8, 8);\n}\n",
		    probe);
	strbuf_addf(&o->d,
		    "\n%s\n/this->kind == 1 && this->class/\n{\n"
		    "\t@objects[lfile, lline, this->class] = %s;\n"
		    "\t@hits = count();\n}\n",
		    probe, o->m->is_created ? "sum(1)" : "live(arg0, 1)");
	strbuf_addf(&o->d,
		    "\n%s\n/this->class && self->is_named && !known[this->class]/\n{\n"
		    "\t@names[this->class, self->name] = count();\n\tknown[this->class] = 1;\n}\n",
		    probe);
	strbuf_addf(&o->d, "\n%s\n{\n\tself->is_named = 0;\n\tself->name = 0;\n}\n", probe);
}

static void plain_add(struct objects *o)
{
	bool has_create = false;
	char probe[512];

	functions_find(o->m, "ruby$target:::object-create", create_note, &has_create);
	if (has_create)
		strbuf_adds(&o->d, "\nruby$target:::object-create\n{\n"
				   "\tself->name = copyinstr(arg0);\n\tself->is_named = 1;\n}\n");
	if (o->has[INITIALIZE]) {
		(void)snprintf(probe, sizeof(probe), "pid$target:%s:%s:entry", o->module,
			       functions[INITIALIZE]);
		new_object_add(o, probe);
	}
	if (o->has[ALLOCATE])
		new_object_add(o, "memprof$target:::allocated");
}

/* The provider whose probes fire when functions have come back, however they end. */
static void provider_add(struct objects *o)
{
	struct strbuf *d = &o->d;

	strbuf_adds(d, "\nprovider memprof {\n");
	for (size_t i = 0; i < NSLOTS; i++)
		if (o->has[i])
			strbuf_addf(
				d,
				"\tprobe slot%zu(uintptr_t object) = pid:%s:%s:returned (arg1);\n",
				i, o->module, functions[i]);
	if (o->has[ALLOCATE])
		strbuf_addf(d, "\tprobe allocated(uintptr_t object) = pid:%s:%s:returned (arg1);\n",
			    o->module, functions[ALLOCATE]);
	strbuf_adds(d, "};\n");
}

/*
 * A program of -c is held when the interpreter begins to take itself down, so that objects can be
 * checked once more, and all lines and names be read. Right behind that function it ends a garbage
 * collection that has begun, by which the code of the program itself is freed, and its lines with
 * it. memprof lets it go (session.c).
 */
static void hold_add(struct objects *o)
{
	if (!o->m->command || !o->has[FINALIZE])
		return;
	session_prefer(o->m, "destructive", NULL);
	strbuf_addf(&o->d, "\npid$target:%s:%s:entry\n{\n\t@held = count();\n\tstop();\n}\n",
		    o->module, functions[FINALIZE]);
	o->m->is_held = true;
}

static bool ruby_program_make(struct objects *o)
{
	struct strbuf *d = &o->d;
	struct ruby_code code;
	/* the places of plain objects are addresses without symbols, and jumps are the owner's */
	bool is_own = levels_has(LEVEL_PROC_OWNER) && ruby_code_find(o, functions, NSLOTS, &code),
	     ret = true;

	o->reads_names = is_own;
	strbuf_adds(d, memprof_d_objects_ruby);
	if (is_own) {
		session_prefer(o->m, "inproc", "auto");
		session_prefer(o->m, "liveorder", NULL);
		own_objects_add(o, &code);
		hold_add(o);
	} else {
		provider_add(o);
		slots_add(o);
	}
	if (!is_own)
		plain_add(o);
	for (size_t i = STR_FREE; i <= ARY_FREE; i++)
		if (!o->m->is_created && o->has[i])
			strbuf_addf(d, "\npid$target:%s:%s:entry\n{\n\tdead(arg0);\n}\n", o->module,
				    functions[i]);
	if (o->m->command && o->has[RUN])
		strbuf_addf(d, "\npid$target:%s:%s:entry\n{\n", o->module, functions[RUN]);
	if (!o->m->command || o->has[RUN])
		ret = names_make(o);
	if (o->m->command && o->has[RUN])
		strbuf_adds(d, "}\n");
	return ret;
}

static void ruby_end(struct objects *o)
{
	if (!o->has[INITIALIZE])
		say("plain objects of classes of the program are not in the rows: '%s' has no "
		    "function rb_obj_call_init_kw()",
		    o->module);
}

const struct runtime runtime_ruby = {
	.name = "Ruby",
	.functions = functions,
	.program_make = ruby_program_make,
	.end = ruby_end,
};
