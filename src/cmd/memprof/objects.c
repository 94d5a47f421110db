/* SPDX-License-Identifier: MIT */
/*
 * Objects of Ruby that are alive, or were created, by file, line and class.
 *
 * A class is known by its address where the object is made; its name, if it is built in, by the
 * library's variables, which are read at once from a process that runs, and told by one of -c when
 * its program begins. Other classes are printed as an address.
 *
 * The slots of plain objects (T_OBJECT) are handed out by a static function. They are only counted,
 * by the interpreter's probe object-create, which new() of every class fires.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "memprof.h"

/* Functions that hand out a slot, and which argument is the class. */
static const struct {
	const char *name;
	int class_arg;
} slots[] = {
	{"rb_newobj_of", 0},
	{"rb_wb_protected_newobj_of", 0},
	{"rb_wb_unprotected_newobj_of", 0},
	{"rb_ec_wb_protected_newobj_of", 1},
};
#define NSLOTS (sizeof(slots) / sizeof(slots[0]))
/* Ruby has some sixty such classes; a file of the process may say anything. */
#define NAMES_MAX    256
#define NAME_MAX_LEN 64
/* With the last one the others have the class first, as Ruby 2.7 to 3.2 have. */
#define SLOT_EC (NSLOTS - 1)

struct name {
	uint64_t class;
	char *text;
};

struct objects {
	struct memprof *m;
	char *module; /* that has the functions; NULL: none */
	bool has[NSLOTS], has_str_free, has_ary_free, has_run;
	struct strbuf d;
	int mem_fd;
	struct name *names;
	size_t nnames;
	size_t nvariables;
	uint32_t nodd; /* functions of files whose names cannot stand in a program */
	uint64_t nnew; /* calls of new() that make an object */
};

static void function_note(const char *module, const char *function, void *arg)
{
	struct objects *o = arg;

	if (!o->module && !module_is_plain(module)) {
		o->nodd++;
		return;
	}
	if (!o->module)
		o->module = mem_check(strdup(module));
	if (strcmp(module, o->module) != 0)
		return;
	for (size_t i = 0; i < NSLOTS; i++)
		if (strcmp(function, slots[i].name) == 0)
			o->has[i] = true;
	o->has_str_free |= strcmp(function, "rb_str_free") == 0;
	o->has_ary_free |= strcmp(function, "rb_ary_free") == 0;
	o->has_run |= strcmp(function, "ruby_run_node") == 0;
}

static void name_add(struct objects *o, uint64_t class, const char *text)
{
	for (size_t i = 0; i < o->nnames; i++)
		if (o->names[i].class == class)
			return;
	if (o->nnames == NAMES_MAX)
		return; /* the class is printed as an address */
	o->names = mem_check(realloc(o->names, (o->nnames + 1) * sizeof(*o->names)));
	o->names[o->nnames++] = (struct name){class, mem_check(strdup(text))};
}

/* rb_cString is String. In a process of -c it is not set yet: a probe tells it later. */
static bool variable_note(const char *name, uint64_t addr, void *arg)
{
	struct objects *o = arg;
	uint64_t class;

	if (strncmp(name, "rb_c", 4) != 0 || name[4] < 'A' || name[4] > 'Z' ||
	    strnlen(name, NAME_MAX_LEN) == NAME_MAX_LEN ||
	    name[strspn(name, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")])
		return true;
	if (o->m->command)
		strbuf_addf(&o->d, "\t@names[*(uint64_t *)copyin(0x%llx, 8), \"%s\"] = count();\n",
			    (unsigned long long)addr, name + 4);
	else if (pread(o->mem_fd, &class, sizeof(class), (off_t)addr) == sizeof(class) && class)
		name_add(o, class, name + 4);
	return ++o->nvariables < NAMES_MAX;
}

static const char *class_name(uint64_t class, void *arg)
{
	const struct objects *o = arg;

	for (size_t i = 0; i < o->nnames; i++)
		if (o->names[i].class == class)
			return o->names[i].text;
	return NULL;
}

/* Keys are a class and its name; class 0 counts the calls of new(). */
static void name_note(const dtrace_aggdata_t *row, void *arg)
{
	const dtrace_datum_t *k = row->dtada_keys;
	struct objects *o = arg;
	dtrace_aggvalue_t value;
	char *text;

	if (row->dtada_nkeys != 2 || k[1].dtd_kind != DTRACE_DATUM_STRING)
		return;
	if (!k[0].dtd_value) {
		if (dtrace_aggvalue(row, DTRACE_CPUALL, &value) == 0)
			o->nnew = (uint64_t)value.dtav_value;
		return;
	}
	text = mem_check(strndup(k[1].dtd_bytes, k[1].dtd_size));
	name_add(o, k[0].dtd_value, text);
	free(text);
}

static void program_make(struct objects *o, bool has_create)
{
	struct strbuf *d = &o->d;
	const char *sep = "";

	strbuf_adds(d, memprof_d_objects_ruby);
	strbuf_adds(d, "provider memprof {\n");
	for (size_t i = 0; i < NSLOTS; i++)
		if (o->has[i])
			strbuf_addf(
				d,
				"\tprobe slot%zu(uintptr_t object) = pid:%s:%s:returned (arg1);\n",
				i, o->module, slots[i].name);
	strbuf_adds(d, "};\n");
	for (size_t i = 0; i < NSLOTS; i++)
		if (o->has[i])
			strbuf_addf(d, "\npid$target:%s:%s:entry\n{\n\tself->class = arg%d;\n}\n",
				    o->module, slots[i].name, slots[i].class_arg);
	if (has_create)
		strbuf_adds(d, "\nruby$target:::object-create\n{\n"
			       "\t@names[(uint64_t)0, \"new\"] = count();\n}\n");
	strbuf_addc(d, '\n');
	for (size_t i = 0; i < NSLOTS; i++)
		if (o->has[i]) {
			strbuf_addf(d, "%smemprof$target:::slot%zu", sep, i);
			sep = ",\n";
		}
	strbuf_addf(d,
		    "\n/self->class && arg0/\n{\n\t@objects[lfile, lline, self->class] = %s;\n"
		    "\t@hits = count();\n}\n",
		    o->m->is_created ? "sum(1)" : "live(arg0, 1)");
	if (!o->m->is_created && o->has_str_free)
		strbuf_addf(d, "\npid$target:%s:rb_str_free:entry\n{\n\tdead(arg0);\n}\n",
			    o->module);
	if (!o->m->is_created && o->has_ary_free)
		strbuf_addf(d, "\npid$target:%s:rb_ary_free:entry\n{\n\tdead(arg0);\n}\n",
			    o->module);
	if (o->m->command && o->has_run) {
		strbuf_addf(d, "\npid$target:%s:ruby_run_node:entry\n{\n", o->module);
		(void)variables_find(o->m->pid, o->module, variable_note, o);
		strbuf_adds(d, "}\n");
	}
}

static void create_note(const char *module, const char *function, void *arg)
{
	(void)module;
	(void)function;
	*(bool *)arg = true;
}

static void names_read(struct objects *o)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)o->m->pid);
	o->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (o->mem_fd < 0)
		return;
	(void)variables_find(o->m->pid, o->module, variable_note, o);
	(void)close(o->mem_fd);
}

int objects_run(struct memprof *m)
{
	struct objects o = {.m = m};
	struct tracing t = {.agg = "objects",
			    .is_objects = true,
			    .hits = "hits",
			    .names = "names",
			    .name_note = name_note,
			    .class_name = class_name,
			    .arg = &o,
			    .nothing = m->is_created ? "no object was created"
						     : "no object was created that is alive"};
	struct strbuf what = {0};
	bool has_create = false;
	int status;

	if (m->flame)
		say_fatal(m, "objects have a place, and no stack: there is no --flame of them");
	session_open(m);
	strbuf_adds(&what, "pid$target::rb_str_free:entry,pid$target::rb_ary_free:entry,"
			   "pid$target::ruby_run_node:entry");
	for (size_t i = 0; i < NSLOTS; i++)
		strbuf_addf(&what, ",pid$target::%s:entry", slots[i].name);
	functions_find(m, what.data, function_note, &o);
	if (o.nodd)
		say("%u functions of libraries with odd names are not followed", o.nodd);
	if (!o.has[SLOT_EC]) {
		say("process %d has no Ruby 2.7 to 3.2 whose objects can be followed: there is no "
		    "function rb_ec_wb_protected_newobj_of()",
		    (int)m->pid);
		fputs("hint: other languages are not there yet; memprof without a word shows what "
		      "grows\n",
		      stderr);
		session_close(m);
		free(o.module);
		strbuf_deinit(&what);
		return E_ERROR;
	}
	functions_find(m, "ruby$target:::object-create", create_note, &has_create);
	if (!m->command)
		names_read(&o);
	program_make(&o, has_create);
	t.d = o.d.data;
	status = session_run(m, &t);
	if (o.nnew)
		say("%llu objects were made by new(): those that are no strings, arrays or other "
		    "classes of the interpreter are not in the rows",
		    (unsigned long long)o.nnew);
	for (size_t i = 0; i < o.nnames; i++)
		free(o.names[i].text);
	free(o.names);
	free(o.module);
	strbuf_deinit(&o.d);
	strbuf_deinit(&what);
	return status;
}
